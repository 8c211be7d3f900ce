"""Adds up a stream of results in one pass: only numbers are kept, never a case or a reply."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import orjson

from cortex_eval.analysis.coverage import Coverages
from cortex_eval.analysis.let_through import LetThroughs
from cortex_eval.analysis.rows import is_named_for_its_measure
from cortex_eval.analysis.tally import ERRORS_SHOWN, Mean, Series, Tally
from cortex_eval.analysis.usage import Use, judge_usages
from cortex_eval.core import Result

TAG_SETS_KEPT = 500
"""Different sets of tags counted apart; with a tag of its own on every case there would be a group for each."""

Scores = Mapping[str, dict[str, Any]]


class Observer(Protocol):
    """Looks at every result as it goes by, and keeps numbers only."""

    def note(self, row: Result, scores: Scores, reply: Mapping[str, Any] | None) -> None:
        """Note one result, its scores and its reply already read; only one with evidence, or more than text, is shown.

        The reply is None where it states nothing but its text and its time.
        """


_PASSED, _FAILED = {"value": 1.0}, {"value": 0.0}

Key = tuple[str | None, int | None, str | None, tuple[str, ...]]


class Collector:
    """Takes results, contiguous by case, and keeps their numbers by (category, tier, language, tags)."""

    def __init__(self, let_through: LetThroughs, observers: Sequence[Observer] = ()) -> None:
        self.let_through = let_through
        self.tallies: dict[Key, Tally] = {}
        self.latencies = array("d")
        self.asked = 0
        self.first_attempt = 0
        self.cache_hits = 0
        self.error_kinds: dict[str, int] = {}
        self.error_messages: dict[str, str] = {}
        self.target_use = Use()
        self.judge_use = Use()
        self.has_clusters = False
        """Whether any two values may share a cluster."""
        self.coverages = Coverages()
        self.has_pairs = False
        """Whether any case is parallel to another."""
        self.with_checks = 0
        """Cases with checks of their own."""
        self.tag_sets: set[tuple[str, ...]] = set()
        self.has_too_many_tags = False
        self._observers = observers
        self._clusters: dict[str, int] = {}
        self._next_cluster = 0

    def read(self, results: Iterable[Result]) -> None:
        """Add up all results."""
        rows: list[Result] = []
        case_id = None
        for result in results:
            if result.case_id != case_id:
                if rows:
                    self._add_case(rows)
                case_id = result.case_id
                rows = [result]
            else:
                rows.append(result)
        if rows:
            self._add_case(rows)

    def _add_case(self, rows: list[Result]) -> None:
        first = rows[0]
        key = (first.category, first.tier, first.language, self._tags(first) if first.tags else ())
        tally = self.tallies.get(key)
        if tally is None:
            tally = self.tallies[key] = Tally()
        cluster = self._next_cluster
        if first.cluster_id is not None:
            cluster = self._clusters.setdefault(first.cluster_id, cluster)
            self.has_clusters = True
        self._next_cluster += 1
        tally.cases += 1
        if first.case_json is not None:
            self.coverages.add(first.case_json, first.category, first.tags)
            self.has_pairs = self.has_pairs or b'"parallel_of"' in first.case_json
            self.with_checks += b'"checks":[{"type":' in first.case_json
        if len(rows) == 1:
            self._add_only_row(tally, first, cluster)
        else:
            self.has_clusters = True
            self._add_rows(tally, rows, cluster)

    def _tags(self, row: Result) -> tuple[str, ...]:
        if row.tags not in self.tag_sets:
            if len(self.tag_sets) >= TAG_SETS_KEPT:
                self.has_too_many_tags = True
                return ()
            self.tag_sets.add(row.tags)
        return row.tags

    def _add_only_row(self, tally: Tally, row: Result, cluster: int) -> None:
        """The usual case of one turn, asked once: no averaging is needed."""
        scores = self._add_row(tally, row, cluster)
        lost = row.state == "error_target"
        if row.latency_ms is not None and not lost:
            scores["latency_ms"] = {"value": row.latency_ms}
        if lost or row.state == "error_judge":
            tally.errors += 1
        elif row.passed is None:
            tally.pending += row.state == "pending" or row.state == "cancelled"
        elif row.passed:
            tally.passed += 1
            self.let_through.look_at(row, scores)
            scores["pass_rate"] = _PASSED
        else:
            tally.failed += 1
            scores["pass_rate"] = _FAILED
        if row.overall is not None:
            scores["overall_score"] = {"value": row.overall}
        tally.places += 1
        for name, score in scores.items():
            series = tally.series.get(name)
            if series is None:
                series = tally.series_of(name)
            value = score.get("value")
            if value is not None:
                if "measure" in score and is_named_for_its_measure(score):
                    value, series.direction = score["measure"], score.get("direction", "higher")
                series.values.append(value)
                series.clusters.append(cluster)
                if "level" in score:
                    series.is_case_level = score["level"] == "case"
            else:
                series.add_unscored(score)

    def _add_rows(self, tally: Tally, rows: list[Result], cluster: int) -> None:
        """A conversation, or a case asked several times: repeats are averaged turn by turn."""
        values: dict[tuple[str, int], Mean] = {}
        unscored: dict[tuple[str, int], dict[str, Any]] = {}
        for row in rows:
            for name, score in self._add_row(tally, row, cluster).items():
                place = (name, row.turn)
                value = score.get("value")
                if value is not None:
                    if "measure" in score and is_named_for_its_measure(score):
                        value, tally.series_of(name).direction = score["measure"], score.get("direction", "higher")
                    values.setdefault(place, Mean()).add(value)
                    if score.get("level") == "case":
                        tally.series_of(name).is_case_level = True
                elif "error" not in unscored.get(place, {}):
                    unscored[place] = score
            if row.latency_ms is not None and row.state != "error_target":
                values.setdefault(("latency_ms", row.turn), Mean()).add(row.latency_ms)
        tally.places += len({row.turn for row in rows})
        for (name, _), mean in values.items():
            tally.series_of(name).add(mean.total / mean.count, cluster)
        for (name, turn), score in unscored.items():
            if (name, turn) not in values:
                tally.series_of(name).add_unscored(score)
        if _add_outcome(tally, rows, cluster):
            self.let_through.add(rows[0], [row.scores for row in rows if b'"passed":false' in row.scores_json])

    def _add_row(self, tally: Tally, row: Result, cluster: int) -> dict[str, dict[str, Any]]:
        """What counts row by row, whatever the repeats; gives the scores for the rest."""
        tally.turns += 1
        state = row.state
        has_error = state == "error_target" or state == "error_judge"
        if row.latency_ms is not None and state != "error_target":
            self.latencies.append(row.latency_ms)
            if not has_error:
                tally.total_ms.add(row.latency_ms)
        self._add_call(row)
        scores: dict[str, dict[str, Any]] = orjson.loads(row.scores_json) if len(row.scores_json) > 2 else {}
        reply = row.reply_json
        read: dict[str, Any] | None = None
        llm_invoked = None
        if reply is not None and (
            b'"usage"' in reply or b'"confidence"' in reply or b'"llm_invoked"' in reply or b'"parse_time_ms"' in reply
        ):
            read = orjson.loads(reply)
            llm_invoked = self._add_reply(tally, read, is_cached=row.cached)
            if not has_error:
                _add_of_reply(tally, read, cluster)
        if read is not None or b'"evidence"' in row.scores_json:  # the others have nothing to look at
            for observer in self._observers:
                observer.note(row, scores, read)
        if "intent" in scores or "entities" in scores or "tool" in scores:
            _add_seed_scores(tally, scores, None if has_error else cluster)
        if (b'"source":"judge"' in row.scores_json or b'"cost":' in row.scores_json) and not row.reused:
            for usage in judge_usages(scores):
                self.judge_use.add(usage)
        if has_error:
            self._add_error(tally, row, scores)
        if llm_invoked is not None:  # a rate like those of scorers: averaged over repeats, with an interval
            scores["llm_usage_rate"] = {"value": 1.0 if llm_invoked else 0.0}
        return scores

    def _add_call(self, row: Result) -> None:
        if row.cached:
            self.cache_hits += 1
        elif row.attempts and row.state != "pending" and row.state != "cancelled":
            self.asked += 1
            if row.attempts == 1 and row.state != "error_target":
                self.first_attempt += 1

    def _add_error(self, tally: Tally, row: Result, scores: dict[str, dict[str, Any]]) -> None:
        kind = f"{row.state}: {row.error.kind}" if row.error else row.state
        self.error_kinds[kind] = self.error_kinds.get(kind, 0) + 1
        if row.error and kind not in self.error_messages:
            self.error_messages[kind] = row.error.message
        _add_error(tally, row, scores)

    def _add_reply(self, tally: Tally, reply: dict[str, Any], *, is_cached: bool) -> bool | None:
        """Tokens and money; gives whether the target used its language model, if it said so."""
        llm_invoked: bool | None = reply.get("llm_invoked")
        if llm_invoked is not None:
            tally.llm_invoked.add(1.0 if llm_invoked else 0.0)
        if (usage := reply.get("usage")) is not None and not is_cached:  # that one was paid for before
            self.target_use.add(usage)
        return llm_invoked


def _add_outcome(tally: Tally, rows: list[Result], cluster: int) -> bool:
    """Passed, failed, error or pending for a case of several rows, and its mean overall score; gives whether passed."""
    repeats: dict[int, list[Result]] = {}
    for row in rows:
        repeats.setdefault(row.repeat, []).append(row)
    overall, passes = Mean(), Mean()
    has_error = is_pending = False
    for turns in repeats.values():
        if any(row.state.startswith("error") for row in turns):
            has_error = True
            continue
        if any(row.state in ("pending", "cancelled") for row in turns):
            is_pending = True
            continue
        scored = [row.overall for row in turns if row.overall is not None]
        if scored:
            overall.add(sum(scored) / len(scored))
        decided = [row.passed for row in turns if row.passed is not None]
        if decided:
            passes.add(1.0 if all(decided) else 0.0)
    if overall.value is not None:
        tally.series_of("overall_score").add(overall.value, cluster)
    if passes.value is not None:
        tally.series_of("pass_rate").add(passes.value, cluster)
    if has_error:
        tally.errors += 1
    elif is_pending:
        tally.pending += 1
    elif passes.value is not None:
        tally.passed += passes.value == 1.0
        tally.failed += passes.value < 1.0
    return passes.value == 1.0 and not has_error and not is_pending


def _add_of_reply(tally: Tally, reply: dict[str, Any], cluster: int) -> None:
    """What the seed averages over results without an error (its §4.5), of what a reply states."""
    if (confidence := reply.get("confidence")) is not None:
        tally.confidence.add(confidence)
    if (parse_ms := reply.get("parse_time_ms")) is not None:
        _beside(tally, "parse_time_ms").add(parse_ms, cluster)


def _add_seed_scores(tally: Tally, scores: dict[str, dict[str, Any]], cluster: int | None) -> None:
    """Full hits of intents and tools, and the parts of the entities' F1, which count only without an error."""
    intent = scores.get("intent", {})
    if (value := intent.get("value")) is not None:
        tally.intent.add(value)
        tally.intent_hits.add(1.0 if value >= 1.0 else 0.0)
    tool = scores.get("tool", {})
    if (value := tool.get("value")) is not None:
        tally.tool.add(value)
        tally.tool_hits.add(1.0 if value >= 1.0 else 0.0)
    entities = scores.get("entities", {})
    if (value := entities.get("value")) is not None and cluster is not None:
        tally.entities.add(value)
        evidence = entities.get("evidence")
        if isinstance(evidence, dict):
            for name, part in (("precision", "entity_precision"), ("recall", "entity_recall")):
                if isinstance(found := evidence.get(name), (int, float)):
                    _beside(tally, part).add(found, cluster)


def _beside(tally: Tally, name: str) -> Series:
    found = tally.beside.get(name)
    if found is None:
        found = tally.beside[name] = Series()
    return found


def _add_error(tally: Tally, row: Result, scores: dict[str, dict[str, Any]]) -> None:
    """A target error is not correct: it counts among the results whose intent or tool was looked for."""
    tally.error_rows += 1
    if len(tally.error_list) < ERRORS_SHOWN:
        kind, message = (row.error.kind, row.error.message) if row.error else (row.state, "")
        tally.error_list.append({"case_id": row.case_id, "turn": row.turn, "kind": kind, "message": message})
    expects_intent, expects_tool = True, False
    if row.case_json is not None:
        expected = orjson.loads(row.case_json)["turns"][row.turn].get("expected", {})
        expects_intent = expected.get("intent") is not None
        expects_tool = expected.get("tool") is not None or bool(expected.get("tools"))
    if expects_intent and scores.get("intent", {}).get("value") is None:
        tally.intent.add(0.0)
        tally.intent_hits.add(0.0)
        tally.intent_missed += 1
    if expects_tool and scores.get("tool", {}).get("value") is None:
        tally.tool.add(0.0)
        tally.tool_hits.add(0.0)
        tally.tool_missed += 1
