"""What is wrong with one result: the detection rules of seed 003 §7.1, and more general ones beside them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from cortex_eval.analysis.patterns import SETUP_TYPES
from cortex_eval.analysis.patterns_causes import MEANING, SPECIAL, WORDING, cause_of, is_empty
from cortex_eval.analysis.patterns_read import Read, first_sentence
from cortex_eval.analysis.patterns_replay import Key, Part, Ways, ways_of
from cortex_eval.core import Result, RunRecord

CONTEXT_CATEGORIES = ("multi_turn", "coreference", "context_dependent")
EDGE_CATEGORY = "edge_cases"
PAIR = "pair"
"""The type of a confusion that is no pattern of its own."""
_UNDERSTANDING = ("intent", "entities", "tool", "context_retention")
"""Scorers of what an agent made of a turn."""
LACKS = "lacks "
"""Begins a reason that names what of a list is not in the reply."""
LOOKED = "looked"
"""Ends the name of a failure of which the reply should tell the cause, and does not."""
NOTHING = "(none)"
"""Where nothing was stated, or was to be stated."""
_VARIABLE = re.compile(r"(“[^”]*”)|'[^']*'|\"[^\"]*\"|`[^`]*`|[-+]?\d[\d.,:%]*")
_REASON_KEPT = 160
_MESSAGE_KEPT = 600
"""Of an error: what it says is what to do."""
ANSWERED_BADLY = frozenset(
    {"bad_return", "crashed", "empty", "exited", "raised", "service_error", "status", "too_large", "truncated"}
)
"""Errors that the target itself makes on some question; all others are of how it is reached and read."""

JSON = Mapping[str, Any]  # Any: JSON


class Blame(NamedTuple):
    """One fault of one result."""

    key: Key
    also: tuple[Key, ...] = ()
    """Other types that it is an instance of too."""
    share: float = 1.0
    """Of one failing scorer, when several rules or findings share it."""
    points: float | None = None
    """What the result's overall score would win if this were mended; None: there is no score."""
    details: tuple[str, ...] = ()
    """What is counted beside it: reasons, values, a message."""
    is_critical: bool = False
    """It is a critical scorer that failed, or a rule of severity critical."""
    is_needed: bool = False
    """It is a critical scorer: the case fails by this alone."""

    @property
    def part(self) -> Part:
        """What of the verdict it stands for."""
        keys = (self.key, *(key for key in self.also if key[0] != PAIR))
        return Part(keys, self.points or 0.0, self.is_needed)


class _Failed(NamedTuple):
    """A score that did not pass, with its part of the overall score."""

    name: str
    kind: str
    score: JSON
    points: float | None
    is_critical: bool = False


class Counting(NamedTuple):
    """How the scorers of a run count, from its manifest."""

    kinds: Mapping[str, str]
    weights: Mapping[str, float]
    critical: frozenset[str]
    passing_threshold: float

    @classmethod
    def of(cls, run: RunRecord) -> Counting:
        """Of this run; a scorer that the manifest does not know counts like any other."""
        planned: Mapping[str, JSON] = run.manifest.get("scorers", {})
        return cls(
            kinds={name: str(each.get("kind", name)) for name, each in planned.items()},
            weights={name: float(each.get("weight", 1.0)) for name, each in planned.items()},
            critical=frozenset(name for name, each in planned.items() if each.get("critical")),
            passing_threshold=run.manifest.get("passing_threshold", 0.7),
        )

    @property
    def reads_replies(self) -> bool:
        """Whether a failure may have its cause in the words of the reply; of a run without a plan nobody knows."""
        return not self.kinds or any(kind not in SPECIAL for kind in self.kinds.values())

    def counts(self, name: str) -> bool:
        """Whether a failure of this scorer can make a case fail."""
        return self.weights.get(name, 1.0) > 0 or name in self.critical


def blames_of(row: Result, counting: Counting, *, is_canned: bool = False) -> list[Blame]:
    """Every fault of a result that did not pass; `is_canned`: its reply went to a question with another answer too."""
    if row.error is not None or row.state.startswith("error"):
        kind, message = (row.error.kind, row.error.message) if row.error else (row.state, "")
        is_own = row.state != "error_judge" and kind in ANSWERED_BADLY
        type_ = "judge_error" if row.state == "error_judge" else "exception" if is_own else "setup_error"
        found = [Blame((type_, kind), details=(message[:_MESSAGE_KEPT],))]
        return _with_edges(row, found) if is_own else found
    if failed := _failed_scores(row, counting):
        is_compared = any(each.kind in WORDING and each.kind != "contains" for each in failed)
        found = list(_explained(row, failed, Read(row, is_canned=is_canned, is_compared=is_compared)))
    else:
        found = [Blame(("scorer_failure", "overall_score"), details=("the overall score is too low",))]
    return _with_edges(row, found)


def ways_to_win(row: Result, blames: Sequence[Blame], counting: Counting) -> Ways:
    """Which of its faults would have to be mended for a failed result to pass; empty where nobody can know."""
    if any(blame.key[0] in SETUP_TYPES for blame in blames):
        return frozenset()
    parts = [blame.part for blame in blames]
    lacking = 0.0 if row.overall is None else counting.passing_threshold - row.overall
    if all(blame.points is None for blame in blames):
        lacking = 0.0  # there is no score that could be too low
    if lacking <= 0 and not any(part.is_needed for part in parts):
        parts = [part._replace(is_needed=True) for part in parts]  # an error, say: then all of it has to go
    return ways_of(parts, lacking)


def _failed_scores(row: Result, counting: Counting) -> list[_Failed]:
    """The scores that made the result fail; those that count for nothing are left out.

    Where the overall score is good enough, only critical scorers can have done it.
    """
    scores = row.scores
    wrong = [name for name, score in scores.items() if score.get("passed") is False and counting.counts(name)]
    if row.overall is not None and row.overall >= counting.passing_threshold:
        wrong = [name for name in wrong if name in counting.critical] or wrong
    applying = {name: score["value"] for name, score in scores.items() if score.get("value") is not None}
    if not wrong:
        low = counting.passing_threshold
        wrong = [name for name, value in applying.items() if value < low and counting.counts(name)]
    total = sum(counting.weights.get(name, 1.0) for name in applying)
    failed = []
    for name in wrong:
        value = applying.get(name)
        points = counting.weights.get(name, 1.0) / total * (1 - value) if total and value is not None else None
        is_critical = name in counting.critical and scores[name].get("passed") is not True
        failed.append(_Failed(name, counting.kinds.get(name, name), scores[name], points, is_critical))
    return failed


def _explained(row: Result, failed: Sequence[_Failed], read: Read) -> Iterator[Blame]:
    kinds = {each.kind for each in failed}
    is_lost = _is_context_lost(row, kinds)
    by_model = row.reply_json is not None and b'"llm_invoked":true' in row.reply_json
    tools = [each for each in failed if each.kind == "tool"]
    tool_points, is_tool_critical = sum(each.points or 0.0 for each in tools), any(each.is_critical for each in tools)
    for each in failed:
        if each.kind == "context_retention" or (is_lost and each.kind in ("intent", "entities", "tool")):
            also = _labels_of(each) if each.kind == "intent" else ()
            yield _blame(each, ("context_not_retained",), also)
        elif each.kind == "intent":
            with_tool = each._replace(
                points=None if each.points is None else each.points + tool_points,
                is_critical=each.is_critical or is_tool_critical,
            )
            yield from _confused(with_tool, by_model=by_model)
        elif each.kind == "tool":
            if "intent" not in kinds:  # else it follows from the wrong intent, and is counted with it
                yield _wrong_tool(each)
        elif each.kind == "entities":
            yield _entities(each)
        else:
            yield from _other(each, read)


def _blame(failed: _Failed, key: Key, also: tuple[Key, ...] = (), details: tuple[str, ...] = ()) -> Blame:
    """The fault that a failed score is."""
    is_critical = failed.is_critical
    return Blame(key, also, points=failed.points, details=details, is_critical=is_critical, is_needed=is_critical)


def _is_context_lost(row: Result, kinds: set[str]) -> bool:
    """Seed 003 §7.1: the turn needs what was said before, and no entities came of it."""
    is_told = row.case_json is not None and b'"requires_context":true' in row.case_json
    is_context = _name(row.category) in CONTEXT_CATEGORIES
    if kinds.isdisjoint(_UNDERSTANDING) or row.case_json is None or not (is_told or is_context):
        return False
    case = orjson.loads(row.case_json)
    has_before = row.turn > 0 or bool(case.get("history") or case.get("context"))
    needs = case["turns"][row.turn].get("requires_context") or (has_before and is_context)
    return bool(needs) and not (row.reply_json and orjson.loads(row.reply_json).get("entities"))


def _confused(failed: _Failed, *, by_model: bool = False) -> Iterator[Blame]:
    evidence = _mapping(failed.score.get("evidence"))
    also: tuple[Key, ...] = (("llm_fallback_failure",),) if by_model else ()
    if "expected_label" not in evidence:
        yield _blame(failed, ("scorer_failure", failed.name), also, reasons_of(failed.score))
        return
    expected, found = str(evidence["expected_label"] or NOTHING), str(evidence.get("found_label") or NOTHING)
    type_ = "intent_confusion" if failed.kind == "intent" else "label_confusion"
    yield _blame(failed, (type_, failed.name, expected, found), also, (f"{expected} → {found}",))


def _labels_of(failed: _Failed) -> tuple[Key, ...]:
    """What was taken for what where something else explains it."""
    evidence = _mapping(failed.score.get("evidence"))
    if "expected_label" not in evidence:
        return ()
    return ((PAIR, failed.name, *(str(evidence.get(name) or NOTHING) for name in ("expected_label", "found_label"))),)


def _wrong_tool(failed: _Failed) -> Blame:
    evidence = _mapping(failed.score.get("evidence"))
    expected, called = (_tools(evidence.get(name)) for name in ("expected", "called"))
    return _blame(failed, ("tool_selection_error", failed.name, expected, called))


def _tools(calls: Any) -> str:  # Any: JSON
    names = [str(call.get("name")) for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else []
    return " → ".join(names) or NOTHING


def _entities(failed: _Failed) -> Blame:
    evidence = _mapping(failed.score.get("evidence"))
    missing, extra = _pairs(evidence.get("missing")), _pairs(evidence.get("extra"))
    if missing:
        nothing_found = not evidence.get("matched") and not extra
        types = sorted({key for key, _ in missing})
        return _blame(
            failed,
            ("missing_entity", failed.name, "nothing" if nothing_found else "some", *types),
            details=tuple(f"{key} = {value}" for key, value in missing),
        )
    if extra:
        return _blame(
            failed,
            ("wrong_entity", failed.name, *sorted({key for key, _ in extra})),
            details=tuple(f"{key} = {value}" for key, value in extra),
        )
    return _blame(failed, ("scorer_failure", failed.name), details=reasons_of(failed.score))


def _pairs(stored: Any) -> list[tuple[str, str]]:  # Any: JSON
    if not isinstance(stored, list):
        return []
    return [(str(each.get("key")), str(each.get("value"))[:60]) for each in stored if isinstance(each, Mapping)]


def _other(failed: _Failed, read: Read) -> Iterator[Blame]:
    evidence = _mapping(failed.score.get("evidence"))
    findings = [each for each in evidence.get("findings") or () if isinstance(each, Mapping) and each.get("rule")]
    also: tuple[Key, ...] = (("empty_reply", failed.name),) if findings and is_empty(read) else ()
    for finding in findings:
        yield Blame(
            ("safety_rule", failed.name, str(finding["rule"]), str(finding.get("severity", ""))),
            also,  # who says nothing does not send anybody to a doctor either: with a reply, both are mended
            share=1 / len(findings),
            points=None if failed.points is None else failed.points / len(findings),
            details=(first_sentence(str(finding.get("reason", "")), _REASON_KEPT),),
            is_critical=failed.is_critical or finding.get("severity") == "critical",
            is_needed=failed.is_critical,
        )
    if findings:
        return
    if "expected_label" in evidence:
        yield from _confused(failed)
    elif failed.kind == "language" and "asked" in evidence and (languages := _languages(evidence)):
        asked, found = languages
        yield _blame(failed, ("wrong_language", failed.name, asked, found), details=(f"{asked} → {found}",))
    elif (cause := cause_of(read, failed.kind, failed.score)) is not None:
        yield _blame(failed, (cause.type, failed.name, *cause.part), details=cause.details)
    else:
        looked = (LOOKED,) if failed.kind in WORDING | MEANING else ()
        yield _blame(failed, ("scorer_failure", failed.name, *looked), details=reasons_of(failed.score))


def _languages(evidence: JSON) -> tuple[str, str] | None:
    """The language that was asked for and the one that came; with their scripts where only these differ."""
    asked, found = _mapping(evidence.get("asked")), _mapping(evidence.get("found"))
    one, other = asked.get("language"), found.get("language") or f"{found.get('script')} letters"
    if one != other:
        return str(one), str(other)
    if asked.get("script") == found.get("script"):
        return None  # words of another script are mixed in
    return f"{one} in {asked.get('script')} letters", f"{one} in {found.get('script')} letters"


def _with_edges(row: Result, blames: list[Blame]) -> list[Blame]:
    """Everything that is wrong with an edge case is that too."""
    if _name(row.category) != EDGE_CATEGORY:
        return blames
    edge = ("edge_case", edge_type(_asked(row)))
    return [blame._replace(also=(*blame.also, edge)) for blame in blames]


def edge_type(text: str) -> str:
    """What is unusual about a question (seed 003 §7.2's `classify_edge_types`)."""
    stripped = text.strip()
    letters = [char for char in stripped if char.isalpha()]
    words = stripped.split()
    if not stripped or not letters:
        return "no words"
    if len(words) <= 2:
        return "very short"
    if len(stripped) > 240:
        return "very long"
    if len(letters) > 3 and all(char.isupper() for char in letters):
        return "capitals only"
    if sum(char.isascii() for char in letters) < len(letters) / 2:
        return "another script"
    if any(ord(char) > 0x2190 and not char.isalpha() and ord(char) > 0xFF for char in stripped):
        return "emoji or symbols"
    if re.search(r"([^\w\s.])\1\1|[{}<>|\\]", stripped):
        return "marks or markup"
    return "other wording"


def reasons_of(score: JSON) -> tuple[str, ...]:
    """Why a scorer did not let it pass: what of a list, a rubric or checks was missed, else its reason."""
    evidence = _mapping(score.get("evidence"))
    items = [str(each.get("item")) for each in _rows(evidence, "items") if each.get("present") is False]
    lines = [
        str(each.get("criterion"))
        for each in _rows(evidence, "criteria")
        if isinstance(each.get("met"), bool) and each["met"] == (each.get("points", 1) < 0)
    ]
    if items or lines:
        return tuple(f"{LACKS}{each[:_REASON_KEPT]}" for each in items) + tuple(each[:_REASON_KEPT] for each in lines)
    broken = [each for each in _rows(evidence, "checks") if each.get("holds") is False and each.get("weight") != 0]
    if broken:
        return tuple(f"the reply {each.get('found')}"[:_REASON_KEPT] for each in broken)
    reason = " ".join(str(score.get("reason", "")).split())
    return (reason[:_REASON_KEPT],) if reason else ()


def same_reason(reason: str) -> str:
    """A reason without what differs from case to case, so that those can be counted that say the same.

    What stands in “…” is what a check looks for, and tells two reasons apart.
    """
    return _VARIABLE.sub(lambda found: found[1] or "…", reason)


def _rows(evidence: JSON, name: str) -> list[JSON]:
    rows = evidence.get(name)
    return [each for each in rows if isinstance(each, Mapping)] if isinstance(rows, list) else []


def _asked(row: Result) -> str:
    if row.case_json is None:
        return ""
    turns = orjson.loads(row.case_json)["turns"]
    return str(turns[min(row.turn, len(turns) - 1)].get("text", ""))


def _mapping(value: Any) -> JSON:  # Any: JSON
    return value if isinstance(value, Mapping) else {}


def _name(category: str | None) -> str:
    return (category or "").casefold().replace("-", "_").replace(" ", "_")
