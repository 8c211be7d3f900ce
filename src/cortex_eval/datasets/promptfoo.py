"""What promptfoo's files say: checks of single cases, and configurations, which are more than a dataset."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

_TO_EQUAL = ("equals", "similar", "factuality")
_TO_HOLD = ("contains", "icontains", "contains-all", "icontains-all")
_TO_JUDGE = ("llm-rubric", "g-eval")
_OTHERS = (
    *("contains-any", "icontains-any", "contains-json", "is-json", "starts-with", "regex", "javascript", "python"),
    *("answer-relevance", "context-faithfulness", "context-recall", "context-relevance", "model-graded-closedqa"),
    *("cost", "latency", "levenshtein", "rouge-n", "bleu", "moderation", "classifier", "is-refusal", "webhook"),
)
_OLD_NAMES = {"grade": "llm-rubric", "fn": "javascript", "eval": "javascript"}
COLUMN = "__expected"
"""Columns that begin like this hold checks, one in each."""
_LISTS = ("contains-all", "contains-any", "icontains-all", "icontains-any")


def expectations(checks: Iterable[Any]) -> dict[str, Any]:  # Any: JSON, here and below
    """What checks say of a good reply; those that compute something are only kept."""
    told: dict[str, list[str]] = {"expected.answer": [], "expected.checklist": [], "expected.rubric": []}
    for check in checks:
        if not isinstance(check, dict):
            continue
        kind, value = check.get("type"), check.get("value")
        texts = [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)]
        if kind in _TO_EQUAL:
            told["expected.answer"] += texts
        elif kind in _TO_HOLD:
            told["expected.checklist"] += texts
        elif kind in _TO_JUDGE:
            told["expected.rubric"] += texts
    found: dict[str, Any] = {key: held for key, held in told.items() if held}
    if "expected.answer" in found:
        found["expected.answer"] = found["expected.answer"][0]
    return found


def with_checks(row: Mapping[str, Any], named: Iterable[str]) -> Mapping[str, Any]:
    """The row with its columns of checks as the list `assert`, and with what they say of a good reply."""
    columns = [key for key in row if key.startswith(COLUMN) and key not in named]
    if not columns:
        return row
    found = {key: held for key, held in row.items() if key not in columns}
    checks = [_check(row[key]) for key in columns if isinstance(row[key], str) and row[key].strip()]
    return {**expectations(checks), **found, "assert": checks} if checks else found


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
    names = "|".join((*_TO_EQUAL, *_TO_HOLD, *_TO_JUDGE, *_OTHERS, *_OLD_NAMES))
    number = r"\d+(?:\.\d+)?"
    return re.compile(rf"(?P<type>(?:not-)?(?:{names}))(?:\((?P<threshold>{number})\))?(?::(?P<value>.*))?", re.DOTALL)


def is_configuration(document: Mapping[str, Any]) -> bool:
    """Whether this is all of an evaluation: its prompts and who answers them, with or beside its tests."""
    return "prompts" in document and not document.keys().isdisjoint(("providers", "targets"))


def why_no_dataset(document: Mapping[str, Any]) -> str:
    """What to say of a configuration whose tests are not in it; empty when they are."""
    tests = document.get("tests")
    if isinstance(tests, list) and tests and all(isinstance(each, dict) for each in tests):
        return ""
    elsewhere = next((each for each in (tests if isinstance(tests, list) else [tests]) if isinstance(each, str)), "")
    advice = f"Check the file of its tests, {elsewhere}" if elsewhere else "Put its tests into a file of their own"
    return f"this is a promptfoo configuration, no dataset. {advice}; docs/migrate.md says what becomes of the rest."


ONLY_TESTS = (
    "This is a promptfoo configuration: only its tests are read. "
    "docs/migrate.md says what becomes of prompts, providers, defaultTest and checks."
)
