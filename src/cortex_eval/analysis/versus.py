"""Two or more stored runs, each against the first: what is compared, what is not, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Literal

from cortex_eval.analysis.cases import CaseFigures, case_figures, critical_scorers
from cortex_eval.analysis.changes import CaseChange, with_words
from cortex_eval.analysis.gate_settings import GateSettings
from cortex_eval.analysis.likeness import unlike
from cortex_eval.analysis.numbers import TOLERANCE
from cortex_eval.analysis.paired import Comparison, PairedMetric, compare_cases, judge_together
from cortex_eval.analysis.quarantine import Quarantine
from cortex_eval.analysis.report import Metric
from cortex_eval.core import Direction, InputError, Result, RunRecord

FiguresVerdict = Literal[
    "nothing to compare", "worse", "within allowance", "better", "cannot tell", "no difference seen"
]
VersusVerdict = Literal["new critical failures"] | FiguresVerdict
ReadResults = Callable[[RunRecord, bool], Iterable[Result]]
"""The results of a run, case by case; with their cases or without."""
ReadSome = Callable[[RunRecord, Sequence[int]], Iterable[Result]]
"""The same of the cases at these places of its dataset, with their cases."""
ReadAgain = Callable[[RunRecord], Iterable[Result]]
"""The results of asking cases of a run once more, beyond its repeats."""
EARLIER_RUNS = 3
"""Of the same system, that are looked at for flaky cases."""
_LESS_IS_BETTER = ("latency_ms", "llm_usage_rate")
_LAST = ("pass_rate", "overall_score", "latency_ms", "llm_usage_rate")


@dataclass(frozen=True, slots=True, kw_only=True)
class Versus:
    """Runs beside the first of them."""

    runs: tuple[RunRecord, ...]
    comparisons: tuple[Comparison, ...]
    """One for each run after the first; all that was tested was adjusted together."""
    notes: tuple[str, ...]
    """What a reader must know of what was compared."""
    level: float
    is_strict: bool = False
    """The gate of the last run counts every drop beyond its allowance, whether or not it may be chance."""

    def strict_drops(self, found: Comparison) -> list[PairedMetric]:
        """What this gate would block a release for although nobody can tell whether it is chance."""
        if not self.is_strict:
            return []
        judged = [each for each in found.metrics.values() if each.allowed is not None and each.worsening is not None]
        return [each for each in judged if not each.is_regression and _is_beyond(each)]

    @property
    def verdict(self) -> VersusVerdict:
        """What the figures say; but new critical failures, where the figures do not stop a release by themselves."""
        found = self.by_figures
        is_broken = any(each.changes.new_critical for each in self.comparisons)
        return "new critical failures" if is_broken and found not in ("nothing to compare", "worse") else found

    @property
    def by_figures(self) -> FiguresVerdict:
        """Nothing to compare where no case of a run was scored in the first too, which comes before all else.

        Worse where any run is; better where none is and any metric of any run improved.

        What may be chance in any metric cannot be told, nor can anything but worse where one could not be compared;
        only what is the same, or surely within what is allowed, is no difference.
        """
        if any(each.is_empty for each in self.comparisons):
            return "nothing to compare"
        if any(each.regressions or each.regressed_categories for each in self.comparisons):
            return "worse"
        if any(each.not_compared for each in self.comparisons):
            return "cannot tell"
        found = {metric.verdict for each in self.comparisons for metric in each.metrics.values() if metric.is_telling}
        if "worse" in found:
            return "within allowance"
        if "better" in found:
            return "better"
        compared = (metric for each in self.comparisons for metric in each.metrics.values())
        return "cannot tell" if any(each.verdict == "may be chance" for each in compared) else "no difference seen"

    @property
    def exit_code(self) -> int:
        """3 when there is nothing to compare; 1 when a later run is worse, by more than is allowed and than chance.

        1 too when a critical case broke, as in the gate of a run: no chance excuses that.
        """
        return {"nothing to compare": 3, "worse": 1, "new critical failures": 1}.get(self.verdict, 0)

    def to_dict(self) -> dict[str, Any]:  # Any: JSON
        """The comparison as JSON holds it; of more than two runs, the second stands at the top and all below."""
        names = [_label(place) for place in range(len(self.runs))]
        documents = [
            {
                "a": names[0],
                "b": name,
                **_document(each),
                "strict_drops": [drop.name for drop in self.strict_drops(each)],
            }
            for name, each in zip(names[1:], self.comparisons, strict=True)
        ]
        several = {"comparisons": documents} if len(documents) > 1 else {}
        return {
            "runs": [{"name": name, **_facts(run)} for name, run in zip(names, self.runs, strict=True)],
            **documents[0],
            **several,
            "level": self.level,
            "notes": list(self.notes),
            "verdict": self.verdict,
            "by_figures": self.by_figures,
            "exit_code": self.exit_code,
        }


def compare_runs(
    runs: Sequence[RunRecord],
    read: ReadResults,
    *,
    gate: GateSettings,
    earlier: Sequence[RunRecord] = (),
    read_some: ReadSome | None = None,
    read_again: ReadAgain | None = None,
) -> Versus:
    """Every run after the first against the first, two-sided, with Holm's adjustment over all of it.

    `gate` says how much worse a metric may get and at which level. Among `earlier` runs, those of a system that states
    the same version, on the same dataset, show which cases are flaky. Cases that the gate has in
    quarantine, at the time of the last run, are in none of the figures. With `read_some`, the first cases of each list
    have what was asked and replied. With `read_again`, a critical case that broke and passed when it was asked again
    is flaky and no failure.
    """
    first, *others = runs
    aside = Quarantine(gate.quarantine, runs[-1])
    with_cases = any(run.dataset.version != first.dataset.version for run in others)
    a = case_figures(aside.passing(read(first, with_cases)), critical_scorers=critical_scorers(first))
    comparisons: list[Comparison] = []
    notes: list[str] = []
    for place, run in enumerate(others, 1):
        b = case_figures(aside.passing(read(run, with_cases)), critical_scorers=critical_scorers(run))
        b = _asked_again(b, read_again(run)) if read_again else b
        directions = directions_of(a, b)
        history = _history(first, run, a, b, read, earlier)
        allowed = allowed_worsening(gate, directions)
        found = compare_cases(
            a,
            b,
            directions=directions,
            level=gate.level,
            allowed=allowed,
            history=history,
            unlike=unlike(first, run),
        )
        if not found.cases:
            raise InputError(
                f"Runs {first.id} and {run.id} have no case in common, so there is nothing to compare: "
                f"{first.dataset.name} and {run.dataset.name}."
            )
        comparisons.append(_told(found, first, run, read_some) if read_some else found)
        notes += _notes(first, run, found, _label(place))
    return Versus(
        runs=tuple(runs),
        comparisons=adjusted_together(comparisons) if len(others) > 1 else tuple(comparisons),
        notes=(*_states(runs), *notes, *_set_aside(aside)),
        level=gate.level,
        is_strict=gate.mode == "strict",
    )


def _is_beyond(metric: PairedMetric) -> bool:
    return (metric.worsening or 0.0) > (metric.allowed or 0.0) + TOLERANCE


def _asked_again(figures: dict[str, CaseFigures], results: Iterable[Result]) -> dict[str, CaseFigures]:
    """The figures of a run, with the verdicts of asking cases once more."""
    again = {name: each for name, each in case_figures(results).items() if name in figures}
    return figures | {name: replace(figures[name], asked_again=each.passes) for name, each in again.items()}


def _told(found: Comparison, first: RunRecord, run: RunRecord, read_some: ReadSome) -> Comparison:
    """The comparison with what was said in the cases that changed."""
    told = with_words(found.changes, partial(read_some, first), partial(read_some, run))
    return replace(
        found,
        newly_broken=told.newly_broken,
        newly_fixed=told.newly_fixed,
        flaky=told.flaky,
        newly_in_error=told.newly_in_error,
    )


def allowed_worsening(gate: GateSettings, directions: Mapping[str, Direction]) -> dict[str, float]:
    """How much worse each metric may get; a metric that the gate does not judge is absent."""
    allowed = {}
    for name, direction in directions.items():
        unit = "ms" if name == "latency_ms" else ""
        metric = Metric(mean=0.0, low=None, high=None, scored=0, total=0, unit=unit, direction=direction)
        allowance = gate.allowance(metric, name)
        limit = (allowance.drop if direction == "higher" else allowance.rise) if allowance else None
        if limit is not None:
            allowed[name] = limit
    return allowed


def directions_of(*figures: Mapping[str, CaseFigures]) -> dict[str, Direction]:
    """Every metric of any run, scorers first, and which way each is better."""
    names = dict.fromkeys(name for each in figures for case in each.values() for name in case.values)
    ordered = [name for name in names if name not in _LAST] + [name for name in _LAST if name in names]
    lower = {*_LESS_IS_BETTER, *(name for each in figures for case in each.values() for name in case.less_is_better)}
    return {name: "lower" if name in lower else "higher" for name in ordered}


def adjusted_together(comparisons: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """The same comparisons with Holm's adjustment over the metrics of all of them, and over all their categories."""
    level, alternative = comparisons[0].level, comparisons[0].alternative

    def judged(parts: Sequence[Sequence[PairedMetric]]) -> Iterator[list[PairedMetric]]:
        found = iter(judge_together([each for part in parts for each in part], level=level, alternative=alternative))
        for part in parts:
            yield [next(found) for _ in part]

    metrics = judged([list(each.metrics.values()) for each in comparisons])
    categories = judged([[part.metric for part in each.categories] for each in comparisons])
    return tuple(
        replace(
            each,
            metrics={metric.name: metric for metric in whole},
            categories=tuple(replace(old, metric=new) for old, new in zip(each.categories, parts, strict=True)),
        )
        for each, whole, parts in zip(comparisons, metrics, categories, strict=True)
    )


def _history(
    first: RunRecord,
    run: RunRecord,
    a: Mapping[str, CaseFigures],
    b: Mapping[str, CaseFigures],
    read: ReadResults,
    earlier: Sequence[RunRecord],
) -> list[list[Mapping[str, CaseFigures]]]:
    """Runs of one unchanged system each: only a stated version says that a system did not change.

    None whose verdicts were made in another way: they may differ for that alone.
    """
    same_system = _system(first) == _system(run)
    groups = []
    for one, figures in ((first, a), (run, b))[same_system:]:
        if one.target_version is None:
            continue
        found = [
            case_figures(read(each, False))
            for each in [each for each in earlier if _is_like(each, one) and each not in (first, run)][:EARLIER_RUNS]
        ]
        groups.append([*found, *([] if same_system else [figures])])
    return groups


def _system(run: RunRecord) -> tuple[object, ...]:
    return run.target_name, run.target_kind, run.target_version, run.dataset.version, run.status


def _is_like(run: RunRecord, one: RunRecord) -> bool:
    return _system(run) == _system(one) and not unlike(run, one).totals


def _states(runs: Sequence[RunRecord]) -> Iterator[str]:
    """What is to be known of each run on its own."""
    for place, run in enumerate(runs):
        selection = run.manifest.get("selection") or {}
        if run.status != "completed":
            yield f"{_label(place)} is {run.status} and not complete: what it has not asked is not compared."
        elif run.manifest.get("unanswered"):
            yield f"{_label(place)} scores the replies of a run that is not complete: what has none is not compared."
        if selection.get("probabilities"):
            chosen = f"{selection.get('chosen', run.cases):,} of {selection.get('matching', run.dataset.cases):,} cases"
            yield f"{_label(place)} is a sample of {chosen}: only these are compared."


def _set_aside(quarantine: Quarantine) -> Iterator[str]:
    """Which cases were left out; how they went is in the report of each run."""
    found = [f"{each.case_id}: {each.reason}" for each in quarantine.set_aside()]
    if found:
        count = "1 case in quarantine is" if len(found) == 1 else f"{len(found):,} cases in quarantine are"
        yield f"{count} in none of these figures: {'; '.join(found)}."


def _notes(first: RunRecord, run: RunRecord, found: Comparison, label: str) -> Iterator[str]:
    """What is to be known of a pair of runs."""
    uncompared = [
        f"{count:,} {words}"
        for count, words in (
            (found.changed, "changed"),
            (found.only_a, "only in A"),
            (found.only_b, f"only in {label}"),
        )
        if count
    ]
    if first.dataset.version != run.dataset.version:
        rest = f"; {', '.join(uncompared)}" if uncompared else ""
        yield f"The datasets of A and {label} differ: {found.cases:,} cases are the same in both{rest}."
    elif uncompared:
        yield f"{found.cases:,} cases are in both A and {label}; {', '.join(uncompared)}."
    if found.newly_in_error:
        yield (
            f"{len(found.newly_in_error):,} of them had a verdict in A and ended in an error in {label}: "
            "they count neither as broken nor as passed."
        )
    if found.not_compared:
        yield f"In {label} {found.unlike.words('A')}. Not compared for that: {', '.join(found.not_compared)}."


def _label(place: int) -> str:
    """A, B, C … for the runs in the order in which they were named."""
    return chr(ord("A") + place) if place < 26 else f"run {place + 1}"


def _facts(run: RunRecord) -> dict[str, Any]:  # Any: JSON
    return {
        "id": run.id,
        "suite": run.suite,
        "status": run.status,
        "target": run.target_name,
        "target_version": run.target_version,
        "dataset": {"name": run.dataset.name, "version": run.dataset.version},
        "started": run.started or run.created,
        "git": run.manifest.get("git") or {},
    }


def _document(found: Comparison) -> dict[str, Any]:  # Any: JSON
    return {
        "cases": found.cases,
        "only_a": found.only_a,
        "only_b": found.only_b,
        "changed": found.changed,
        "errors_a": found.errors_a,
        "errors_b": found.errors_b,
        "not_compared": {"metrics": list(found.not_compared), "why": found.unlike.words("A")},
        "metrics": {name: _metric(each) for name, each in found.metrics.items()},
        "categories": [
            {
                "category": each.category,
                "metric": each.metric.name,
                **_metric(each.metric),
                "newly_broken": each.newly_broken,
                "newly_fixed": each.newly_fixed,
            }
            for each in found.categories
        ],
        **{
            name: list(map(_change, getattr(found, name)))
            for name in ("newly_broken", "newly_fixed", "flaky", "newly_in_error")
        },
        "repeats": {
            "a": asdict(found.repeats_a) if found.repeats_a else None,
            "b": asdict(found.repeats_b) if found.repeats_b else None,
        },
    }


def _metric(metric: PairedMetric) -> dict[str, Any]:  # Any: JSON
    left_out = ("name", "noise", "per_case", "is_compared")
    fields = {name: value for name, value in asdict(metric).items() if name not in left_out}
    return {**fields, "cases_needed": metric.cases_needed, "is_regression": metric.is_regression}


def _change(change: CaseChange) -> dict[str, Any]:  # Any: JSON
    fields = {name: value for name, value in asdict(change).items() if name not in ("ordinal_a", "ordinal_b")}
    return {
        **fields,
        "passes_a": list(change.passes_a),
        "passes_b": list(change.passes_b),
        "asked_again": list(change.asked_again),
        "fails_critical": list(change.fails_critical),
    }
