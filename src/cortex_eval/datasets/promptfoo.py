"""What promptfoo's files say: checks of single cases, and configurations, which are more than a dataset."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

_TO_EQUAL = ("equals", "similar", "factuality")
_TO_HOLD = ("contains", "icontains", "contains-all", "icontains-all")
_TO_JUDGE = ("llm-rubric", "g-eval")
_TO_LOOK_FOR = {
    "equals": "equals",
    "contains": "contains",
    "contains-all": "contains_all",
    "contains-any": "contains_any",
    "icontains": "contains",
    "icontains-all": "contains_all",
    "icontains-any": "contains_any",
    "starts-with": "starts_with",
    "ends-with": "ends_with",
    "regex": "regex",
    "is-json": "is_json",
    "contains-json": "contains_json",
    "word-count": "max_words",
    "latency": "max_latency_ms",
    "cost": "max_cost_usd",
    "similar": "similar",
    "levenshtein": "levenshtein",
}
"""Their types that need neither code nor a judge, and ours."""
_STRICT = ("equals", "contains", "contains-all", "contains-any", "starts-with", "ends-with")
"""Those that tell upper from lower case."""
_OTHERS = (
    *("javascript", "python", "answer-relevance", "context-faithfulness", "context-recall", "context-relevance"),
    *("model-graded-closedqa", "rouge-n", "bleu", "moderation", "classifier", "is-refusal", "webhook"),
)
_OLD_NAMES = {"grade": "llm-rubric", "fn": "javascript", "eval": "javascript"}
COLUMN = "__expected"
"""Columns that begin like this hold checks, one in each."""
DEFAULT_TEST = "defaultTest"
_LISTS = ("contains-all", "contains-any", "icontains-all", "icontains-any")
_TEMPLATE = r"\{\{\s*([\w.-]+)\s*\}\}"


def expectations(checks: Iterable[Any], variables: Mapping[str, Any]) -> dict[str, Any]:  # Any: JSON, here and below
    """What checks say of a good reply, with the variables of their test; those that run code or a model are kept."""
    told: dict[str, list[Any]] = {f"expected.{name}": [] for name in ("answer", "checklist", "rubric", "checks")}
    for check in _each(checks):
        kind, value = check["type"], _filled(check.get("value"), variables)
        texts = [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)]
        if kind in _TO_EQUAL:
            told["expected.answer"] += texts
        elif kind in _TO_HOLD:
            told["expected.checklist"] += texts
        elif kind in _TO_JUDGE:
            told["expected.rubric"] += texts
        told["expected.checks"] += _looked_for({**check, "value": value})
    found: dict[str, Any] = {key: held for key, held in told.items() if held}
    if "expected.answer" in found:
        found["expected.answer"] = found["expected.answer"][0]
    return found


def unread_checks(row: Mapping[str, Any], checks: Any) -> list[str]:
    """Types of a row's checks that say nothing here: they run code, or a model, or need what is elsewhere."""
    held = row.get("vars")
    variables = held if isinstance(held, dict) else row
    by_others = (*_TO_JUDGE, "factuality")
    return [
        check["type"]
        for check in _each(checks if isinstance(checks, list) else ())
        if check["type"] not in by_others
        and not _looked_for({**check, "value": _filled(check.get("value"), variables)})
    ]


def tell_unread(counts: Mapping[str, int]) -> str:
    """What to say of them, once for a dataset."""
    told = ", ".join(f"{count} × {kind}" for kind, count in counts.items())
    return f"Checks of promptfoo that nothing here looks at: {told}. They are kept in metadata; see docs/migrate.md."


def _each(checks: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """The checks, those of a set one by one; a set of which only a part must hold stays whole, and is none of ours."""
    for check in checks:
        if not isinstance(check, dict) or not isinstance(check.get("type"), str):
            continue
        inner = check.get("assert")
        if check["type"] == "assert-set" and isinstance(inner, list) and check.get("threshold") is None:
            yield from _each(inner)
        else:
            yield check


def _looked_for(check: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What a check becomes under `expected.checks`: nothing, one, or two for a range of words."""
    kind, value, threshold = check["type"].removeprefix("not-"), check.get("value"), check.get("threshold")
    kind = kind.partition(":")[0] if kind.startswith("similar:") else kind
    ours = _TO_LOOK_FOR.get(kind)
    if ours is None or check.get("transform") is not None or _is_elsewhere(value):
        return []
    made: dict[str, Any] = {"type": ours, "value": value}
    if kind in ("latency", "cost"):
        made["value"] = threshold
    elif kind in ("is-json", "contains-json") and value not in (None, ""):
        if kind == "contains-json" or not isinstance(value, dict):
            return []  # a schema for JSON inside a text, or one that is written as a text
        made["type"] = "json_schema"
    elif kind in _LISTS and isinstance(value, str):
        made["value"] = [each.strip() for each in value.split(",")]
    elif kind in ("similar", "levenshtein") and threshold is not None:
        made["threshold"] = threshold
    if kind in _STRICT and (kind != "equals" or isinstance(value, str)):
        made["case_sensitive"] = True
    is_not = check["type"].startswith("not-")
    found = _word_counts(value, is_not=is_not) if kind == "word-count" else [made]
    shared: dict[str, Any] = {"name": check["metric"]} if isinstance(check.get("metric"), str) else {}
    weight = check.get("weight")
    if weight is not None:
        shared["weight"] = weight / len(found) if len(found) > 1 and isinstance(weight, int | float) else weight
    elif len(found) > 1:
        shared["weight"] = 1 / len(found)
    return [{**each, **shared, "type": f"{'not_' if is_not else ''}{each['type']}"} for each in found]


def _word_counts(value: Any, *, is_not: bool) -> list[dict[str, Any]]:
    """A number of words is a limit on both sides; that it is *not* in a range cannot be said by two checks."""
    limits = value if isinstance(value, dict) else {"min": value, "max": value}
    found = [{"type": f"{end}_words", "value": limits[end]} for end in ("min", "max") if limits.get(end) is not None]
    return [] if is_not and len(found) > 1 else found


def _filled(value: Any, variables: Mapping[str, Any]) -> Any:
    """A value with the variables of its test in their places: `{{city}}`."""
    if isinstance(value, list):
        return [_filled(each, variables) for each in value]
    if not isinstance(value, str) or "{{" not in value:
        return value

    def put(found: re.Match[str]) -> str:
        held = variables.get(found[1])
        return str(held) if isinstance(held, str | int | float) and not isinstance(held, bool) else found[0]

    return re.sub(_TEMPLATE, put, value)


def _is_elsewhere(value: Any) -> bool:
    """Whether a value is in a file, or a template that is still to be filled."""
    texts = [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)]
    return any(each.startswith("file://") or "{{" in each or "{%" in each for each in texts)


def with_checks(row: Mapping[str, Any], named: Iterable[str]) -> Mapping[str, Any]:
    """The row with its columns of checks as the list `assert`, and with what they say of a good reply."""
    columns = [key for key in row if key.startswith(COLUMN) and key not in named]
    if not columns:
        return row
    found = {key: held for key, held in row.items() if key not in columns}
    checks = [_check(row[key]) for key in columns if isinstance(row[key], str) and row[key].strip()]
    return {**expectations(checks, found), **found, "assert": checks} if checks else found


def _check(cell: str) -> dict[str, Any]:
    """`contains: text`, `similar(0.8): text`, `is-json`; a text without the name of a check is the whole answer."""
    read = _checks().fullmatch(cell.strip())
    if read is None:
        return {"type": "equals", "value": cell}
    kind = _OLD_NAMES.get(read["type"], read["type"])
    check: dict[str, Any] = {"type": kind}
    if read["value"] is not None:
        value = read["value"].strip()
        is_list = kind.removeprefix("not-") in _LISTS
        check["value"] = [each.strip() for each in value.split(",")] if is_list else value
    if read["threshold"]:
        check["threshold"] = float(read["threshold"])
    return check


@cache
def _checks() -> re.Pattern[str]:
    """How a check is written in a cell; few files have any."""
    names = "|".join((*_TO_LOOK_FOR, "factuality", *_TO_JUDGE, *_OTHERS, *_OLD_NAMES))
    number = r"\d+(?:\.\d+)?"
    return re.compile(rf"(?P<type>(?:not-)?(?:{names}))(?:\((?P<threshold>{number})\))?(?::(?P<value>.*))?", re.DOTALL)


def is_configuration(document: Mapping[str, Any]) -> bool:
    """Whether this is all of an evaluation: its prompts and who answers them, with or beside its tests."""
    return "prompts" in document and not document.keys().isdisjoint(("providers", "targets"))


def with_default(default: Any, test: Any) -> Any:
    """A test with the variables and checks that `defaultTest` gives to all; nothing else of it is read."""
    if not isinstance(default, dict) or not isinstance(test, dict):
        return test
    merged = dict(test)
    checks = [each["assert"] for each in (default, test) if isinstance(each.get("assert"), list)]
    if checks:
        merged["assert"] = [check for each in checks for check in each]
    variables = [each["vars"] for each in (default, test) if isinstance(each.get("vars"), dict)]
    if variables:
        merged["vars"] = {name: held for each in variables for name, held in each.items()}
    return merged


def why_no_dataset(document: Mapping[str, Any]) -> str:
    """What to say of a configuration whose tests are not in it; empty when they are."""
    tests = document.get("tests")
    if isinstance(tests, list) and tests and all(isinstance(each, dict) for each in tests):
        return ""
    elsewhere = next((each for each in (tests if isinstance(tests, list) else [tests]) if isinstance(each, str)), "")
    advice = f"Check the file of its tests, {elsewhere}" if elsewhere else "Put its tests into a file of their own"
    return f"this is a promptfoo configuration, no dataset. {advice}; docs/migrate.md says what becomes of the rest."


ONLY_TESTS = (
    "This is a promptfoo configuration: only its tests are read, with what defaultTest says of all of them. "
    "docs/migrate.md says what becomes of prompts and providers."
)
