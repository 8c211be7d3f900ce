"""Several targets on the same cases: every metric beside each other, and which of them is best by more than chance."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from cortex_eval.analysis import CaseFigures, Metric, PairedMetric, Report, case_figures, compare_cases
from cortex_eval.core import Direction, InputError, redact
from cortex_eval.reports.files import own_name, write_shared
from cortex_eval.reports.text import as_code
from cortex_eval.reports.words import TITLES, figure_rows, interval_of, mean_of, number, plural, target_label
from cortex_eval.stats import holm

SUMMARY_FILE = "evaluation_summary_report.md"
LEVEL = 0.05
NO_CATEGORY = "(none)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Two targets in one metric."""

    a: int
    b: int
    """Their places among the targets."""
    found: PairedMetric
    adjusted_p: float | None
    """By Holm, over all pairs of targets that were tested together in this metric."""

    @property
    def better(self) -> int | None:
        """The place of the one that is better by more than chance; None when that cannot be said."""
        worsening = self.found.worsening
        if worsening is None or self.adjusted_p is None or self.adjusted_p > LEVEL:
            return None
        return self.a if worsening > 0 else self.b if worsening < 0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Systems:
    """Several targets beside each other."""

    reports: tuple[Report, ...]
    labels: tuple[str, ...]
    metrics: tuple[str, ...]
    """Every metric that any of them has."""
    differences: Mapping[str, tuple[Difference, ...]]
    """By metric, every pair of targets."""
    by_category: Mapping[str, Mapping[str, tuple[Difference, ...]]]
    """By category and metric."""
    shared: int
    """Cases that all of them have, with equal content."""

    def best(self, metric: str, category: str | None = None) -> int | None:
        """The target that is better than every other by more than chance; None when there is none."""
        found = self.differences if category is None else self.by_category.get(category, {})
        wins = [each.better for each in found.get(metric, ())]
        needed = len(self.reports) - 1
        return next((place for place in range(len(self.reports)) if wins.count(place) == needed), None)


def compare_systems(reports: Sequence[Report]) -> Systems:
    """Compare the runs of several targets pair by pair, two-sided, over the cases that both of a pair have.

    Cases in quarantine are left out. Runs without a common case are put beside each other, and no difference between
    them is known.
    """
    if len(reports) < 2:
        raise InputError("A summary across targets needs at least two runs.")
    aside = {each.case_id for report in reports for each in report.quarantine}
    figures = [case_figures(row for row in report.open_results() if row.case_id not in aside) for report in reports]
    metrics = tuple(dict.fromkeys(name for report in reports for name, _ in figure_rows(report)))
    directions = _directions(reports)
    shared = [
        case_id
        for case_id, first in figures[0].items()
        if all(case_id in each and each[case_id].fingerprint == first.fingerprint for each in figures)
    ]
    categories = sorted({figures[0][case_id].category or NO_CATEGORY for case_id in shared})
    parts = {name: [_of_category(each, name) for each in figures] for name in categories} if len(categories) > 1 else {}
    return Systems(
        reports=tuple(reports),
        labels=_labels(reports),
        metrics=metrics,
        differences=_tested_together({"": _pairs(figures, directions)})[""],
        by_category=_tested_together({name: _pairs(part, directions) for name, part in parts.items()}),
        shared=len(shared),
    )


def write_systems(reports: Sequence[Report], folder: Path, suites: Collection[str] = ()) -> list[Path]:
    """Write the summary across the targets of these runs into a folder that is there, and give its path.

    With several `suites` in the project file there are two: one of this suite alone, and the latest one's.
    """
    text = render_systems(compare_systems(reports)).encode("utf-8", "replace")
    is_one = len({report.run.suite for report in reports}) == 1
    own = own_name(reports[0].run.suite, suites) if is_one else ""
    return write_shared(folder / SUMMARY_FILE, text, own=own)


def render_systems(systems: Systems) -> str:
    """The summary as one Markdown text; a target is marked as best only where that is more than chance."""
    suites = list(dict.fromkeys(report.run.suite for report in systems.reports))
    lines = [
        f"# Evaluation summary: {', '.join(map(as_code, suites))}",
        "",
        _verdict(systems),
        "",
        *_target_table(systems),
        "## Every metric",
        "",
        *_metric_table(systems, None),
        *_difference_table(systems),
        *_category_tables(systems),
        *_method(systems),
    ]
    return redact("\n".join(lines) + "\n")


def _directions(reports: Iterable[Report]) -> dict[str, Direction]:
    return {name: metric.direction for report in reports for name, metric in report.metrics.items()}


def _of_category(figures: Mapping[str, CaseFigures], name: str) -> dict[str, CaseFigures]:
    return {case_id: each for case_id, each in figures.items() if (each.category or NO_CATEGORY) == name}


def _pairs(
    figures: Sequence[Mapping[str, CaseFigures]], directions: Mapping[str, Direction]
) -> list[tuple[int, int, Mapping[str, PairedMetric]]]:
    return [
        (a, b, compare_cases(figures[a], figures[b], directions=directions, level=LEVEL).metrics)
        for a, b in combinations(range(len(figures)), 2)
    ]


def _tested_together(
    groups: Mapping[str, list[tuple[int, int, Mapping[str, PairedMetric]]]],
) -> dict[str, dict[str, tuple[Difference, ...]]]:
    """The pairs of each group by metric; in a metric, the pairs of all groups are one family for Holm."""
    found: dict[str, dict[str, tuple[Difference, ...]]] = {name: {} for name in groups}
    names = dict.fromkeys(metric for pairs in groups.values() for _, _, metrics in pairs for metric in metrics)
    for metric in names:
        cells = [(group, a, b, each[metric]) for group, pairs in groups.items() for a, b, each in pairs]
        adjusted = holm([cell.p_value for *_, cell in cells])
        for (group, a, b, cell), p in zip(cells, adjusted, strict=True):
            difference = Difference(a=a, b=b, found=cell, adjusted_p=p)
            found[group][metric] = (*found[group].get(metric, ()), difference)
    return found


def _labels(reports: Sequence[Report]) -> tuple[str, ...]:
    """The targets by name, with what tells them apart where that is the same."""
    names = [report.run.target_name for report in reports]
    if len(set(names)) < len(names):
        names = [target_label(report) for report in reports]
    if len(set(names)) < len(names):
        names = [f"{name} ({report.run.id})" for name, report in zip(names, reports, strict=True)]
    return tuple(names)


def _verdict(systems: Systems) -> str:
    metric = next((name for name in ("overall_score", "pass_rate") if name in systems.metrics), None)
    if metric is None:
        return "Nothing was scored that all targets could be ranked by."
    best = systems.best(metric)
    if best is None:
        return f"By {as_code(metric)}, no target is better than every other by more than chance."
    mean = systems.reports[best].metrics[metric]
    return (
        f"**{as_code(systems.labels[best])} is best** by {as_code(metric)}: {mean_of(mean)} {interval_of(mean)}, "
        "better than every other target by more than chance."
    )


def _target_table(systems: Systems) -> list[str]:
    lines = [
        "| Target | Version | Run | Verdict | Cases | Passed | Failed | In error |",
        "|---|---|---|---|" + "---:|" * 4,
    ]
    for label, report in zip(systems.labels, systems.reports, strict=True):
        run, totals = report.run, report.totals
        cells = [as_code(label), as_code(run.target_version) if run.target_version else "–", as_code(run.id)]
        cells += [TITLES[report.gate.verdict]]
        cells += map(str, (totals.cases, totals.passed, totals.failed, totals.errors))
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""]


def _metric_table(systems: Systems, category: str | None) -> list[str]:
    lines = [f"| Metric | {' | '.join(map(as_code, systems.labels))} |", "|---|" + "---|" * len(systems.labels)]
    for name in systems.metrics:
        figures = [_metric_of(report, category, name) for report in systems.reports]
        if category is not None and not any(figures):
            continue
        best = systems.best(name, category)
        cells = [_cell(figure, is_best=place == best) for place, figure in enumerate(figures)]
        lines.append(f"| {as_code(name)} | {' | '.join(cells)} |")
    return [*lines, ""]


def _metric_of(report: Report, category: str | None, name: str) -> Metric | None:
    if category is None:
        return report.metrics.get(name)
    group = report.categories.get(category)
    return group.metrics.get(name) if group else None


def _cell(metric: Metric | None, *, is_best: bool) -> str:
    if metric is None:
        return "–"
    mean = f"**{mean_of(metric)}**" if is_best else mean_of(metric)
    parts = [mean, interval_of(metric), f"{metric.scored}/{metric.total}", "**best**" if is_best else ""]
    return " ".join(part for part in parts if part)


def _difference_table(systems: Systems) -> list[str]:
    lines = ["## Differences", "", "| Metric | Pair | Difference | 95 % interval | p (Holm) | Pairs | Better |"]
    lines.append("|---|---|---:|---|---:|---:|---|")
    for metric, differences in systems.differences.items():
        for each in differences:
            found = each.found
            if found.diff is None:
                continue
            pair = f"{as_code(systems.labels[each.b])} − {as_code(systems.labels[each.a])}"
            unit = "ms" if metric == "latency_ms" else ""
            interval = "" if found.low is None else f"[{_signed(found.low, unit)}, {_signed(found.high, unit)}]"
            better = "not known" if each.better is None else as_code(systems.labels[each.better])
            cells = [
                as_code(metric),
                pair,
                _signed(found.diff, unit),
                interval,
                p_words(each.adjusted_p),
                str(found.pairs),
            ]
            lines.append(f"| {' | '.join([*cells, better])} |")
    return [*lines, ""]


def _signed(value: float | None, unit: str) -> str:
    if value is None:
        return "–"
    shown = number(abs(value), unit)
    return shown if float(f"{value:.{0 if unit else 2}f}") == 0 else f"{'+' if value > 0 else '−'}{shown}"


def p_words(value: float | None) -> str:
    """A p-value as people read it."""
    if value is None:
        return "–"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _category_tables(systems: Systems) -> list[str]:
    lines = []
    for category in systems.by_category:
        cases = max(report.categories[category].totals.cases for report in systems.reports)
        lines += [f"## {as_code(category)}, {cases} {plural('case', cases)}", "", *_metric_table(systems, category)]
    return lines


def _method(systems: Systems) -> list[str]:
    counted = f"{systems.shared} {plural('case', systems.shared)}"
    pairs = len(systems.reports) * (len(systems.reports) - 1) // 2
    test = (
        "- Each pair of targets is tested by sign-flip permutation of the differences per cluster, two-sided; Holm's "
        f"adjustment is over the {pairs} {plural('pair', pairs)} of a metric, by category over the pairs of all "
        f"categories. The level is {LEVEL:g}."
    )
    mark = (
        "- **best** is a target that is better than every other by that test. Where nobody is marked, the cases do "
        "not tell them apart; the highest mean is then not a finding."
    )
    return [
        "## How this was compared",
        "",
        f"- Targets are compared case by case over the {counted} that all of them have with equal content.",
        test,
        mark,
        "- Brackets are 95 % intervals of each figure alone, followed by scored/total. What was not scored is a dash.",
    ]
