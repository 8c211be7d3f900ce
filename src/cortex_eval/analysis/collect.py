"""Adds up a stream of results in one pass: only numbers are kept, never a case or a reply."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

import orjson

from cortex_eval.analysis.report import TokenUse
from cortex_eval.core import Result

ERRORS_SHOWN = 20
"""Error messages kept per category; their count is always exact."""
REASONS_KEPT = 20
"""Different reasons counted per scorer that did not apply: one that names the case in its own would fill the memory."""


class Series:
    """The values of one metric, and the cluster of each."""

    __slots__ = ("clusters", "errors", "first_error", "is_case_level", "not_applicable", "reasons", "values")

    def __init__(self) -> None:
        self.values = array("d")
        self.clusters = array("q")
        self.errors = 0
        self.first_error = ""
        self.not_applicable = 0
        self.reasons: dict[str, int] = {}
        self.is_case_level = False

    def add(self, value: float, cluster: int) -> None:
        """One more value."""
        self.values.append(value)
        self.clusters.append(cluster)

    def add_unscored(self, score: dict[str, Any]) -> None:
        """A score without a value: its scorer failed, or had nothing to say."""
        if (error := score.get("error")) is not None:
            self.errors += 1
            self.first_error = self.first_error or str(error.get("message") or error.get("kind", ""))
            return
        self.not_applicable += 1
        self.is_case_level |= score.get("level") == "case"
        reason = str(score.get("reason", ""))
        if reason in self.reasons or len(self.reasons) < REASONS_KEPT:
            self.reasons[reason] = self.reasons.get(reason, 0) + 1

    def merge(self, other: Series) -> None:
        """Take over another part's values."""
        self.values.extend(other.values)
        self.clusters.extend(other.clusters)
        self.errors += other.errors
        self.first_error = self.first_error or other.first_error
        self.not_applicable += other.not_applicable
        for reason, count in other.reasons.items():
            self.reasons[reason] = self.reasons.get(reason, 0) + count
        self.is_case_level |= other.is_case_level


class Mean:
    """A running sum and count."""

    __slots__ = ("count", "total")

    def __init__(self) -> None:
        self.total = 0.0
        self.count = 0

    def add(self, value: float) -> None:
        """One more value."""
        self.total += value
        self.count += 1

    @property
    def value(self) -> float | None:
        """The mean; None of nothing."""
        return self.total / self.count if self.count else None


_COUNTS = ("cases", "turns", "places", "passed", "failed", "errors", "pending", "error_rows", "intent_correct")
_MEANS = ("intent", "entities", "precision", "recall", "tool", "confidence", "parse_ms", "total_ms", "llm_invoked")


class Tally:
    """Everything counted over some cases: one category, tier and language together, or the merged whole."""

    __slots__ = (*_COUNTS, *_MEANS, "error_list", "series")

    def __init__(self) -> None:
        self.cases = self.turns = self.passed = self.failed = self.errors = self.pending = 0
        self.places = 0
        """Turns of cases, repeats not counted."""
        self.error_rows = 0
        self.intent_correct = 0
        self.intent, self.entities, self.precision, self.recall, self.tool = Mean(), Mean(), Mean(), Mean(), Mean()
        self.confidence, self.parse_ms, self.total_ms, self.llm_invoked = Mean(), Mean(), Mean(), Mean()
        self.series: dict[str, Series] = {}
        self.error_list: list[dict[str, Any]] = []

    def merge(self, other: Tally) -> None:
        """Take over another part's counts and values."""
        for name in _COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in _MEANS:
            mine, theirs = getattr(self, name), getattr(other, name)
            mine.total += theirs.total
            mine.count += theirs.count
        for name, series in other.series.items():
            self.series_of(name).merge(series)
        self.error_list.extend(other.error_list[: ERRORS_SHOWN - len(self.error_list)])

    def series_of(self, name: str) -> Series:
        """The values of a metric, begun when first asked for."""
        found = self.series.get(name)
        if found is None:
            found = self.series[name] = Series()
        return found


_PASSED, _FAILED = {"value": 1.0}, {"value": 0.0}

Key = tuple[str | None, int | None, str | None]


class Use:
    """Tokens and money of many calls."""

    def __init__(self) -> None:
        self.tokens = {"input_tokens": 0, "cached_tokens": 0, "output_tokens": 0, "reasoning_tokens": 0}
        self.cost: dict[str, Decimal] = {}
        self.replies = 0
        self.unpriced = 0

    def add(self, usage: Mapping[str, Any]) -> None:
        """Count one reply."""
        self.replies += 1
        for name in self.tokens:
            self.tokens[name] += usage.get(name, 0)
        cost = usage.get("cost")
        if cost is None:
            self.unpriced += 1
        else:
            currency = cost.get("currency", "USD")
            self.cost[currency] = self.cost.get(currency, Decimal(0)) + Decimal(cost["amount"])

    def summed(self) -> TokenUse | None:
        """All of it; None when no reply stated anything."""
        if not self.replies:
            return None
        cost = {currency: str(amount) for currency, amount in self.cost.items()} or None
        return TokenUse(replies=self.replies, cost=cost, unpriced=self.unpriced, **self.tokens)


def judge_usages(scores: Mapping[str, Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """What each verdict of a judge took that was asked for and not found in the cache."""
    for score in scores.values():
        evidence = score.get("evidence")
        if score.get("source") == "judge" and isinstance(evidence, dict) and not evidence.get("cached"):
            tokens = evidence.get("tokens") or {}
            yield {
                "input_tokens": tokens.get("input", 0),
                "output_tokens": tokens.get("output", 0),
                "cost": evidence.get("cost"),
                "calls": evidence.get("attempts", 1),
            }


class Collector:
    """Takes results, contiguous by case, and keeps their numbers by (category, tier, language)."""

    def __init__(self) -> None:
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
        key = (first.category, first.tier, first.language)
        tally = self.tallies.get(key)
        if tally is None:
            tally = self.tallies[key] = Tally()
        cluster = self._next_cluster
        if first.cluster_id is not None:
            cluster = self._clusters.setdefault(first.cluster_id, cluster)
            self.has_clusters = True
        self._next_cluster += 1
        tally.cases += 1
        if len(rows) == 1:
            self._add_only_row(tally, first, cluster)
        else:
            self.has_clusters = True
            self._add_rows(tally, rows, cluster)

    def _add_only_row(self, tally: Tally, row: Result, cluster: int) -> None:
        """The usual case of one turn, asked once: no averaging is needed."""
        scores = self._add_row(tally, row)
        lost = row.state == "error_target"
        if row.latency_ms is not None and not lost:
            scores["latency_ms"] = {"value": row.latency_ms}
        if lost or row.state == "error_judge":
            tally.errors += 1
        elif row.passed is None:
            tally.pending += row.state == "pending" or row.state == "cancelled"
        elif row.passed:
            tally.passed += 1
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
            for name, score in self._add_row(tally, row).items():
                place = (name, row.turn)
                value = score.get("value")
                if value is not None:
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
        _add_outcome(tally, rows, cluster)

    def _add_row(self, tally: Tally, row: Result) -> dict[str, dict[str, Any]]:
        """What counts row by row, whatever the repeats; gives the scores for the rest."""
        tally.turns += 1
        state = row.state
        has_error = state == "error_target" or state == "error_judge"
        if row.latency_ms is not None and state != "error_target":
            self.latencies.append(row.latency_ms)
            tally.total_ms.total += row.latency_ms
            tally.total_ms.count += 1
        if row.cached:
            self.cache_hits += 1
        elif row.attempts and state != "pending" and state != "cancelled":
            self.asked += 1
            if row.attempts == 1 and state != "error_target":
                self.first_attempt += 1
        reply = row.reply_json
        if reply is not None and (
            b'"usage"' in reply or b'"confidence"' in reply or b'"llm_invoked"' in reply or b'"parse_time_ms"' in reply
        ):
            llm_invoked = self._add_reply(tally, orjson.loads(reply), is_cached=row.cached)
        else:
            llm_invoked = None
        scores: dict[str, dict[str, Any]] = orjson.loads(row.scores_json) if len(row.scores_json) > 2 else {}
        if "intent" in scores or "entities" in scores or "tool" in scores:
            _add_seed_scores(tally, scores)
        if b'"source":"judge"' in row.scores_json:
            for usage in judge_usages(scores):
                self.judge_use.add(usage)
        if has_error:
            kind = f"{state}: {row.error.kind}" if row.error else state
            self.error_kinds[kind] = self.error_kinds.get(kind, 0) + 1
            if row.error and kind not in self.error_messages:
                self.error_messages[kind] = row.error.message
            _add_error(tally, row, scores)
        if llm_invoked is not None:  # a rate like those of scorers: averaged over repeats, with an interval
            scores["llm_usage_rate"] = {"value": 1.0 if llm_invoked else 0.0}
        return scores

    def _add_reply(self, tally: Tally, reply: dict[str, Any], *, is_cached: bool) -> bool | None:
        """Confidence, times, tokens and money; gives whether the target used its language model, if it said so."""
        llm_invoked: bool | None = reply.get("llm_invoked")
        if llm_invoked is not None:
            tally.llm_invoked.add(1.0 if llm_invoked else 0.0)
        if (confidence := reply.get("confidence")) is not None:
            tally.confidence.add(confidence)
        if (parse_ms := reply.get("parse_time_ms")) is not None:
            tally.parse_ms.add(parse_ms)
        if (usage := reply.get("usage")) is not None and not is_cached:  # that one was paid for before
            self.target_use.add(usage)
        return llm_invoked


def _add_outcome(tally: Tally, rows: list[Result], cluster: int) -> None:
    """Passed, failed, error or pending for a case of several rows, and its mean overall score."""
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


def _add_seed_scores(tally: Tally, scores: dict[str, dict[str, Any]]) -> None:
    intent = scores.get("intent", {})
    if (value := intent.get("value")) is not None:
        tally.intent.add(value)
        tally.intent_correct += value >= 1.0
    tool = scores.get("tool", {})
    if (value := tool.get("value")) is not None:
        tally.tool.add(value)
    entities = scores.get("entities", {})
    if (value := entities.get("value")) is not None:
        tally.entities.add(value)
        evidence = entities.get("evidence")
        if isinstance(evidence, dict):
            for name, mean in (("precision", tally.precision), ("recall", tally.recall)):
                if isinstance(found := evidence.get(name), (int, float)):
                    mean.add(found)


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
        tally.intent.count += 1
    if expects_tool and scores.get("tool", {}).get("value") is None:
        tally.tool.count += 1
