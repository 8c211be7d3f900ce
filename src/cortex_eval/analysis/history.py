"""Reads evaluation history that was made elsewhere: evaluation and baseline files, and rows of a history database."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from cortex_eval.analysis.names import SEED_METRICS
from cortex_eval.analysis.trend import TrendFigure, TrendPoint, point_fields, point_of_report, read_point
from cortex_eval.core import InputError, Problem, short_repr, to_json
from cortex_eval.stats import estimate, percentile, wilson

OUR_SCHEMA = "cortex.report/"
NAMES = {each.metric: (each.overall, each.setting) for each in SEED_METRICS} | {
    "latency_ms": ("overall_avg_latency_ms", "avg_latency_ms")
}
"""Metric → what evaluation files call it, and what rows of a history database call it."""
LOWER = ("latency_ms", "llm_usage_rate")
_TEXTS = ("run_id", "git_commit", "git_branch")


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRun:
    """A run that was made elsewhere."""

    point: TrendPoint
    verdicts: Mapping[str, bool] = field(default_factory=dict)
    """Test → whether it was right, where the file says so of each."""

    @property
    def wealth(self) -> tuple[int, int, int]:
        """How much is known of it: of two tellings of one run the richer is kept."""
        return len(self.verdicts), len(self.point.metrics), self.point.cases or 0

    def to_body(self) -> dict[str, Any]:  # Any: JSON
        """As the store keeps it; `past_run` gives it back."""
        return {"point": point_fields(self.point), "verdicts": dict(self.verdicts)}


def past_run(body: Mapping[str, Any]) -> PastRun:  # Any: JSON
    """The run that `PastRun.to_body` wrote."""
    return PastRun(point=read_point(body["point"]), verdicts=body.get("verdicts") or {})


def read_history(files: Sequence[Path], *, suite: str = "", target: str = "") -> list[PastRun]:
    """The runs that these files tell of, oldest first; `InputError` names file and field of everything that is wrong.

    Each file is a report of Cortex, an evaluation or a baseline of the shapes in docs/history.md, or rows of a history
    database as JSON lines, which may lie in several files. `suite` and `target` are those of runs that state none.
    """
    problems: list[Problem] = []
    told = [each for path in files for each in _told(path, problems)]
    rows: dict[str, _Rows] = {}
    found: list[PastRun] = []
    for each in told:
        if "test_id" in each.document or ("category" in each.document and "run_id" in each.document):
            rows.setdefault(str(each.text("run_id", required=True)), _Rows()).add(each)
    for each in told:
        if str(each.document.get("schema", "")).startswith(OUR_SCHEMA):
            found += _own_report(each)
        elif "test_id" not in each.document and "category" not in each.document:
            found.append(_evaluation(each, rows.pop(str(each.document.get("run_id")), None)))
    found += [_only_rows(each) for each in rows.values()]
    if problems:
        raise InputError(problems)
    placed = [replace(each, point=_placed(each.point, suite, target)) for each in found]
    return sorted(placed, key=lambda each: each.point.finished)


def _placed(point: TrendPoint, suite: str, target: str) -> TrendPoint:
    if not (point.suite or suite):
        raise InputError(f"Run {point.run_id} does not say of which suite it is. Say it: --suite NAME.")
    return replace(point, suite=point.suite or suite, target=point.target or target)


class _Told:
    """One object of a file, and what is wrong with it."""

    def __init__(self, document: Mapping[str, Any], file: str, line: int | None, problems: list[Problem]) -> None:
        self.document, self.file, self.line, self.problems = document, file, line, problems

    def wrong(self, name: str, message: str) -> None:
        """Note a mistake in one field."""
        self.problems.append(Problem(file=self.file, line=self.line, field=name, message=f"{name} {message}"))

    def number(self, *names: str, most: float | None = None) -> float | None:
        """The first of these fields that is there, as a number from 0 to `most`."""
        for name in names:
            value = self.document.get(name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                self.wrong(name, f"must be a number, not {short_repr(value)}.")
            elif value < 0 or (most is not None and value > most):
                limits = "0 or more" if most is None else f"from 0 to {most:g}"
                self.wrong(name, f"must be {limits}, not {value:g}.")
            else:
                return float(value)
            return None
        return None

    def flag(self, name: str) -> bool:
        """A field that holds true or false, or 1 or 0 as databases write it."""
        value = self.document.get(name)
        if not isinstance(value, bool) and value not in (0, 1):
            self.wrong(name, "is missing." if value is None else f"must be true or false, not {short_repr(value)}.")
        return bool(value)

    def text(self, name: str, *, required: bool = False) -> str:
        """A field that holds a text; '' when it is not there."""
        value = self.document.get(name)
        if value is not None and not isinstance(value, str):
            self.wrong(name, f"must be a text, not {short_repr(value)}.")
        elif not value and required:
            self.wrong(name, "is missing.")
        return value if isinstance(value, str) else ""

    def time(self, name: str = "timestamp") -> str:
        """A moment as the store keeps it; without a zone it is taken for UTC."""
        value = self.text(name, required=True)
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            if value:
                self.wrong(name, f"must be a time such as 2025-12-04T16:55:00, not {short_repr(value)}.")
            return ""
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return moment.astimezone(UTC).isoformat(timespec="milliseconds")

    def objects(self, name: str) -> Iterator[tuple[str, _Told]]:
        """The objects in a field that holds a list or a mapping of them, by place or key; text is read as JSON."""
        value = self.document.get(name)
        if isinstance(value, str):
            try:
                value = orjson.loads(value)
            except orjson.JSONDecodeError:
                self.wrong(name, f"must be JSON, not {short_repr(value)}.")
                return
        if value is not None and not isinstance(value, (list, dict)):
            self.wrong(name, f"must be a list or an object, not {short_repr(value)}.")
            return
        pairs = enumerate(value or ()) if isinstance(value, list) else (value or {}).items()
        for key, each in pairs:
            if isinstance(each, dict):
                yield str(key), _Within(self, f"{name}.{key}", each)
            else:
                self.wrong(f"{name}.{key}", f"must be an object, not {short_repr(each)}.")


class _Within(_Told):
    """An object inside another one: its fields are told with their path."""

    def __init__(self, outer: _Told, path: str, document: Mapping[str, Any]) -> None:
        super().__init__(document, outer.file, outer.line, outer.problems)
        self.path = path

    def wrong(self, name: str, message: str) -> None:
        super().wrong(f"{self.path}.{name}", message)


def _told(path: Path, problems: list[Problem]) -> Iterator[_Told]:
    """The objects of a file: one, a list of them, or one per line."""
    try:
        data = path.read_bytes()
    except OSError as error:
        problems.append(Problem(file=str(path), message=f"cannot be read: {error.strerror}."))
        return
    lines: list[tuple[int | None, bytes]] = [(None, data)]
    if path.suffix in (".jsonl", ".ndjson"):
        lines = [(number, line) for number, line in enumerate(data.splitlines(), 1) if line.strip()]
    for number, line in lines:
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            problems.append(Problem(file=str(path), line=number, message=f"is not JSON: {error}."))
            continue
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, dict):
                yield _Told(each, str(path), number, problems)
            else:
                message = f"holds {short_repr(each)} where a run should be, which is an object."
                problems.append(Problem(file=str(path), line=number, message=message))


@dataclass(slots=True)
class _Rows:
    """What a history database says of one run beside its own row."""

    results: list[_Told] = field(default_factory=list)
    categories: list[_Told] = field(default_factory=list)

    def add(self, told: _Told) -> None:
        """One more row."""
        (self.results if "test_id" in told.document else self.categories).append(told)


def _own_report(told: _Told) -> list[PastRun]:
    """A report file of ours; what it says of its run was checked when it was written, but it may have been cut."""
    try:
        point = point_of_report(told.document, source="imported")
    except (KeyError, TypeError, AttributeError) as error:
        told.wrong("report", f"is not whole: {error} is missing or is not what a report has there.")
        return []
    set_aside = {row.text("case_id") for _, row in told.objects("quarantine")}
    verdicts: dict[str, bool] = {}
    for _, row in told.objects("results"):
        case_id, state = row.text("case_id"), row.document.get("state")
        if case_id and case_id not in set_aside and state in ("passed", "failed"):
            verdicts[case_id] = verdicts.get(case_id, True) and state == "passed"
    return [PastRun(point=point, verdicts=verdicts)]


def _evaluation(told: _Told, rows: _Rows | None) -> PastRun:
    """A run with the figures of seed 003's evaluation or baseline file, or a row of its history database."""
    finished, total = told.time(), told.number("total_tests")
    results = [row for _, row in told.objects("test_results")] + (rows.results if rows else [])
    categories = [row for _, row in told.objects("category_metrics")] or (rows.categories if rows else [])
    figures = {}
    for name, spelled in NAMES.items():
        is_rate = not name.endswith("_ms")
        value = told.number(*spelled, most=1 if is_rate else None)
        if value is not None:
            unit, direction = "" if is_rate else "ms", "lower" if name in LOWER else "higher"
            figures[name] = TrendFigure(value, unit=unit, direction=direction)  # type: ignore[arg-type]  # of two words
    if not figures and not results:
        told.wrong("overall_intent_accuracy", "is missing, and so are all other figures of an evaluation.")
    run_id, commit, branch = (told.text(name) for name in _TEXTS)
    errors = [row.number("error_count") for row in categories]
    point = TrendPoint(
        run_id=run_id or f"imported-{finished[:19].replace('-', '').replace(':', '').replace('T', '-')}",
        finished=finished,
        git_commit=commit,
        git_branch=branch,
        cases=None if total is None else int(total),
        errors=int(sum(each or 0 for each in errors)) if errors else None,
        source="imported",
        metrics=_with_intervals(figures, total),
    )
    return _with_results(point, results)


def _with_intervals(figures: Mapping[str, TrendFigure], total: float | None) -> dict[str, TrendFigure]:
    """The intent accuracy is a rate over all tests, so its interval is known; of the others only the mean is."""
    found = dict(figures)
    intent = found.get("intent")
    if intent is not None and total and (interval := wilson(intent.mean * total, total)):
        found["intent"] = intent._replace(low=interval.low, high=interval.high)
    return found


def _only_rows(rows: _Rows) -> PastRun:
    """A run of which only single results are there, or only its categories."""
    first = (rows.results or rows.categories)[0]
    if not rows.results:
        first.wrong("run_id", f"{first.document.get('run_id')} has no figures beside its categories.")
    point = TrendPoint(run_id=first.text("run_id"), finished=first.time(), source="imported")
    return _with_results(point, rows.results)


def _with_results(point: TrendPoint, rows: Sequence[_Told]) -> PastRun:
    """A run with what its single results add: verdicts, pass rate, percentiles, intervals."""
    if not rows:
        return PastRun(point=point)
    verdicts = {row.text("test_id", required=True): _is_right(row) for row in rows}
    named = sorted((row.text("test_id"), row.text("query")) for row in rows)
    rate = wilson(sum(verdicts.values()), len(verdicts))
    assert rate is not None
    times = sorted(
        value
        for row in rows
        if (value := row.number("total_time_ms", "parse_time_ms")) is not None and not _failed(row)
    )
    known = dict(point.metrics)
    said = {
        "intent": [float(row.flag("intent_correct")) for row in rows],
        "entities": [value for row in rows if (value := row.number("entity_f1", most=1)) is not None],
    }
    for name, values in said.items():
        found = estimate(values, resample=False)
        if found.mean is not None:
            known[name] = TrendFigure(known[name].mean if name in known else found.mean, found.low, found.high)
    return PastRun(
        verdicts=verdicts,
        point=replace(
            point,
            dataset_version=f"tests-{hashlib.sha256(to_json(named)).hexdigest()[:12]}",
            cases=len(verdicts) if point.cases is None else point.cases,
            errors=_count(map(_failed, rows), "error", rows) if point.errors is None else point.errors,
            pass_rate=sum(verdicts.values()) / len(verdicts),
            low=rate.low,
            high=rate.high,
            latency_p50=percentile(times, 0.50),
            latency_p95=percentile(times, 0.95),
            flaky=_count((bool(row.document.get("is_flaky")) for row in rows), "is_flaky", rows),
            metrics=known,
        ),
    )


def _count(are: Iterable[bool], name: str, rows: Sequence[_Told]) -> int | None:
    """How many are; None when no row has the field that says so."""
    return sum(are) if any(name in row.document for row in rows) else None


def _failed(row: _Told) -> bool:
    return bool(row.document.get("error"))


def _is_right(row: _Told) -> bool:
    """Seed 003 has no verdict of its own: a test is right when its intent is, and its tool where one was expected."""
    has_tool = row.document.get("expected_tool") is not None
    tool_is_right = bool(row.document.get("tool_correct", True)) or not has_tool
    return bool(row.document.get("intent_correct")) and tool_is_right and not _failed(row)
