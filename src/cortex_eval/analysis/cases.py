"""What of each case two runs are compared by: its scores, its verdicts, where it belongs."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from typing import Any

import orjson

from cortex_eval.analysis.likeness import ALIKE, Unlike
from cortex_eval.analysis.rows import figure_of, is_named_for_its_measure
from cortex_eval.core import CRITICAL_TAG, RATE, Result, RunRecord

_ASKED = ("turns", "history", "context", "passages")
"""What of a case is asked and hoped for; its labels may change and it stays the same case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFigures:
    """One case of one run: every metric as a number, and whether it passed each time."""

    case_id: str
    cluster: str
    """Its `cluster_id`, else its own id: the turns of a conversation are never independent of each other."""
    ordinal: int = 0
    """Its place in the dataset of its run."""
    category: str | None = None
    tier: int | None = None
    language: str | None = None
    tags: tuple[str, ...] = ()
    values: Mapping[str, float] = field(default_factory=dict)
    """Each metric, averaged over turns and repeats; what was not scored is absent. Among them `overall_score`,
    `pass_rate` (the share of repeats that passed), `latency_ms` and `llm_usage_rate`."""
    by_turn: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    """Of a conversation: the metrics that were scored turn by turn, each turn averaged over repeats."""
    passes: tuple[bool, ...] = ()
    """One verdict for each repeat that has one."""
    error: bool = False
    """Whether the target or a judge gave no answer in any repeat."""
    fails: frozenset[str] = frozenset()
    """Scorers that it failed, in any turn and repeat."""
    is_critical: bool = False
    """It is tagged `critical`."""
    fails_critical: frozenset[str] = frozenset()
    """Scorers that it failed and that are named as critical, or found a rule of severity critical broken."""
    is_grave: bool = False
    """It is tagged `critical`, or breaks a rule of severity critical."""
    fingerprint: str = ""
    """Of what is asked and expected; empty when the results were read without their cases."""
    asked_again: tuple[bool, ...] = ()
    """The verdicts of asking once more, as critical cases that broke are; in none of the figures."""
    less_is_better: frozenset[str] = frozenset()
    """Scorers that are reported by a rate of which less is better, such as `hallucination_rate`."""

    @property
    def verdict(self) -> bool | None:
        """Passed or failed in every repeat; None when the repeats do not agree or there is none."""
        return self.passes[0] if len(set(self.passes)) == 1 else None

    def turns(self, name: str) -> Mapping[int, float]:
        """A metric by turn; what is scored once for the whole case stands at the first one."""
        if (found := self.by_turn.get(name)) is not None:
            return found
        return {0: self.values[name]} if name in self.values else {}

    @property
    def is_mixed(self) -> bool:
        """Whether it passed in some repeats and failed in others."""
        return len(set(self.passes)) > 1


def case_figures(results: Iterable[Result], *, critical_scorers: Collection[str] = ()) -> dict[str, CaseFigures]:
    """The figures of every case by its id, from results that come case by case, as the store gives them.

    Only numbers are kept. A repeat with an error has no verdict: an error is never a score.
    """
    return {
        case_id: _figures(list(rows), critical_scorers) for case_id, rows in groupby(results, key=attrgetter("case_id"))
    }


def same_cases(a: Mapping[str, CaseFigures], b: Mapping[str, CaseFigures]) -> list[tuple[CaseFigures, CaseFigures]]:
    """The cases that both runs have with equal content."""
    return [(a[case_id], b[case_id]) for case_id in a if case_id in b and _is_same(a[case_id], b[case_id])]


def _is_same(a: CaseFigures, b: CaseFigures) -> bool:
    return not a.fingerprint or not b.fingerprint or a.fingerprint == b.fingerprint


def is_newly_broken(before: CaseFigures, now: CaseFigures, unlike: Unlike = ALIKE) -> bool:
    """Passed in every repeat before, failed in every repeat now.

    Where the two runs did not come to their verdicts in the same way, a scorer that is the same in both must say so
    too: it fails what it did not fail before.
    """
    if before.verdict is not True or now.verdict is not False:
        return False
    return not unlike.totals or any(
        _is_worse(name, before, now) for name in now.fails - before.fails if name not in unlike.scorers
    )


def breaks_what_is_critical(before: CaseFigures, now: CaseFigures, unlike: Unlike = ALIKE) -> bool:
    """Newly broken, and tagged `critical` or failing something critical that it was scored by and did not fail before.

    A critical scorer that only the later run has, or that is another one there, says nothing of what changed.
    """
    if not is_newly_broken(before, now, unlike):
        return False
    newly_failed = now.fails_critical - before.fails_critical
    return now.is_critical or any(name in before.values and name not in unlike.scorers for name in newly_failed)


def _is_worse(name: str, before: CaseFigures, now: CaseFigures) -> bool:
    """Whether a score fell: with another threshold, the same one may fail that passed before."""
    was, is_now = before.values.get(name), now.values.get(name)
    if was is None or is_now is None:
        return False
    return is_now > was if name in now.less_is_better else is_now < was


def critical_scorers(run: RunRecord) -> list[str]:
    """Those that a case must not fail, however well it scores otherwise."""
    return [name for name, planned in (run.manifest.get("scorers") or {}).items() if planned.get("critical")]


def _figures(rows: list[Result], critical_scorers: Collection[str]) -> CaseFigures:
    first = rows[0]
    scored: dict[str, dict[int, list[float]]] = {}
    fails: set[str] = set()
    fails_critical: set[str] = set()
    is_grave = CRITICAL_TAG in first.tags
    for row in rows:
        for name, value, score in _values(row):
            scored.setdefault(name, {}).setdefault(row.turn, []).append(value)
            if score.get("passed") is False:
                fails.add(name)
                breaks_rule = _breaks_critical_rule(score)
                is_grave |= breaks_rule
                fails_critical |= {name} if breaks_rule or name in critical_scorers else set()
    turns = {name: {turn: _mean(found) for turn, found in each.items()} for name, each in scored.items()}
    values = {name: _mean(each.values()) for name, each in turns.items()}
    overall, passes, has_error = _outcomes(rows)
    if overall is not None:
        values["overall_score"] = overall
    if passes:
        values["pass_rate"] = _mean(passes)
    return CaseFigures(
        case_id=first.case_id,
        cluster=first.cluster_id if first.cluster_id is not None else first.case_id,
        ordinal=first.ordinal,
        category=first.category,
        tier=first.tier,
        language=first.language,
        tags=first.tags,
        values=values,
        by_turn={name: each for name, each in turns.items() if any(turn > 0 for turn in each)},
        passes=passes,
        error=has_error,
        fails=frozenset(fails),
        is_critical=CRITICAL_TAG in first.tags,
        fails_critical=frozenset(fails_critical),
        is_grave=is_grave,
        fingerprint=case_fingerprint(first.case_json) if first.case_json is not None else "",
        less_is_better=frozenset(name for row in rows for name in _rates_to_lower(row)),
    )


def case_fingerprint(case_json: bytes) -> str:
    """Changes with what is asked and expected, not with a case's labels such as its category and tags."""
    case = orjson.loads(case_json)
    asked = {name: case[name] for name in _ASKED if case.get(name)}
    return hashlib.blake2b(orjson.dumps(asked, option=orjson.OPT_SORT_KEYS), digest_size=8).hexdigest()


def _values(row: Result) -> Iterator[tuple[str, float, Mapping[str, Any]]]:  # Any: JSON
    """Name, value and score of everything that was measured in one row; what is no scorer's has an empty score."""
    if len(row.scores_json) > 2:
        for name, score in orjson.loads(row.scores_json).items():
            if (value := figure_of(score)) is not None:
                yield name, value, score
    if row.latency_ms is not None and row.state != "error_target":
        yield "latency_ms", row.latency_ms, {}
    if row.reply_json is not None and b'"llm_invoked"' in row.reply_json:
        invoked = orjson.loads(row.reply_json).get("llm_invoked")
        if invoked is not None:
            yield "llm_usage_rate", float(invoked), {}


def _breaks_critical_rule(score: Mapping[str, Any]) -> bool:  # Any: JSON
    evidence = score.get("evidence")
    findings = evidence.get("findings") if isinstance(evidence, Mapping) else None
    return any(each.get("severity") == "critical" for each in findings or () if isinstance(each, Mapping))


def _rates_to_lower(row: Result) -> Iterator[str]:
    if f'"unit":"{RATE}"'.encode() in row.scores_json:
        for name, score in orjson.loads(row.scores_json).items():
            if is_named_for_its_measure(score) and score.get("direction") == "lower":
                yield name


def _outcomes(rows: list[Result]) -> tuple[float | None, tuple[bool, ...], bool]:
    """The overall score, averaged over turns and then repeats; the verdict of each repeat; whether any had an error."""
    overall: list[float] = []
    passes: list[bool] = []
    has_error = False
    for _, repeat in groupby(rows, key=attrgetter("repeat")):
        turns = list(repeat)
        if any(row.state.startswith("error") for row in turns):
            has_error = True
            continue
        if any(row.state in ("pending", "cancelled") for row in turns):
            continue
        if found := [row.overall for row in turns if row.overall is not None]:
            overall.append(_mean(found))
        if decided := [row.passed for row in turns if row.passed is not None]:
            passes.append(all(decided))
    return (_mean(overall) if overall else None), tuple(passes), has_error


def _mean(values: Collection[float]) -> float:
    return sum(values) / len(values)
