"""The report as Markdown, for pull requests and chat."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from cortex_eval.analysis import Group, Report, Unscored, result_row
from cortex_eval.core import language_label, redact
from cortex_eval.reports.calls import call_rows
from cortex_eval.reports.error_analysis_markdown import top_fixes_markdown
from cortex_eval.reports.markdown_figures import coverage_table, figure_tables
from cortex_eval.reports.set_aside import set_aside_markdown
from cortex_eval.reports.text import as_code, as_plain
from cortex_eval.reports.words import (
    figure_rows,
    interval_of,
    main_metric,
    mean_of,
    number,
    plural,
    sign_of,
    target_label,
    unscored_remark,
    verdict_words,
    worst_first,
)

CASES_SHOWN = 20


def render_markdown(report: Report) -> str:
    """The report as one Markdown text; foreign text stands in code spans, where nothing in it is active."""
    words = verdict_words(report)
    totals = report.totals
    counted = f"{totals.cases} {plural('case', totals.cases)}, {totals.turns} {plural('turn', totals.turns)}"
    lines = [
        f"# {words.title}: {as_code(report.run.suite)} on {as_code(target_label(report))}",
        "",
        f"{as_plain(' '.join((words.sentence, *words.beside)))} Exit code {report.exit_code}.",
        "",
        f"Run {as_code(report.run.id)} · {report.timestamp} · dataset {as_code(report.run.dataset.name)}",
        "",
        f"{counted}: {totals.passed} passed, {totals.failed} failed, {totals.errors} in error",
        "",
        *_metric_table(report),
        *_check_table(report),
        *_regression_table(report),
        *set_aside_markdown(report),
        *_group_table(report, "Category", dict(report.categories)),
        *_group_table(report, "Tier", dict(report.tiers)),
        *_group_table(report, "Language", dict(report.languages)),
        *_group_table(report, "Tag", dict(report.tags)),
        *figure_tables(report),
        *coverage_table(report.coverage),
        *top_fixes_markdown(report),
        *_call_table(report),
        *_case_table(report),
        *(f"- {step.label}: `{step.command}`" for step in words.steps),
    ]
    return redact("\n".join(lines) + "\n")


def _metric_table(report: Report) -> list[str]:
    rows = figure_rows(report)
    if not rows:
        return ["Nothing was scored.", ""]
    lines = ["| Metric | Mean | 95 % interval | Scored | Errors |", "|---|---:|---|---:|---:|"]
    for name, metric in rows:
        if isinstance(metric, Unscored):
            figures = ("–", "" if metric.errors else unscored_remark(metric), f"0/{metric.total}")
        else:
            figures = (mean_of(metric), interval_of(metric), f"{metric.scored}/{metric.total}")
        lines.append(f"| {' | '.join((as_code(name), *figures, str(metric.errors)))} |")
    notes = [line for note in report.notes for line in ("", as_code(note, 500))]
    return [*lines, *notes, ""]


def _check_table(report: Report) -> list[str]:
    lines = ["## Gate", "", "| | Check | Why |", "|---|---|---|"]
    lines += [
        f"| {sign_of(check, report)} | {as_code(check.name)} | {as_plain(check.reason)} |"
        for check in report.gate.checks
    ]
    return [*lines, ""]


def _regression_table(report: Report) -> list[str]:
    if not report.regressions:
        return []
    lines = ["## Regressions", "", "| Metric | Severity | Baseline | Now | Change | Worst category |"]
    lines.append("|---|---|---:|---:|---:|---|")
    for each in report.regressions:
        unit = report.metrics[each.name].unit
        sign = "+" if each.diff > 0 else "−"
        cells = [as_code(each.name), each.severity, number(each.baseline, unit), number(each.current, unit)]
        cells += [sign + number(abs(each.diff), unit), as_code(each.worst_category) if each.worst_category else "–"]
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""]


def _group_table(report: Report, title: str, groups: dict[str, Group]) -> list[str]:
    name = main_metric(report)
    if len(groups) < 2 or name is None:
        return []
    lines = [f"## By {title.lower()}", "", f"| {title} | {name} | 95 % interval | Cases | Failed | Errors |"]
    lines.append("|---|---:|---|---:|---:|---:|")
    for group_name, group in worst_first(report, groups):
        metric, totals = group.metrics.get(name), group.totals
        label = language_label(group_name) if title == "Language" else group_name
        cells = [as_code(label), mean_of(metric) if metric else "–", interval_of(metric) if metric else ""]
        cells += [str(totals.cases), str(totals.failed), str(totals.errors)]
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""]


def _call_table(report: Report) -> list[str]:
    rows = [f"| {row.label} | {as_plain(row.figure)} | {as_plain(row.remark)} |" for row in call_rows(report)]
    return ["## Calls", "", "| | | |", "|---|---:|---|", *rows, ""] if rows else []


def _case_table(report: Report) -> list[str]:
    rows = list(islice(_problem_rows(report), CASES_SHOWN))
    if not rows:
        return []
    aside = sum(each.outcome in ("failed", "error") for each in report.quarantine)  # listed too, with a mark
    bad = report.totals.failed + report.totals.errors + aside
    lines = ["## Failed and in error", "", "| Case | State | Input | Reply | Why |", "|---|---|---|---|---|", *rows]
    if bad > CASES_SHOWN:
        lines += ["", f"The first {CASES_SHOWN} turns; {bad} cases failed or ended in an error. The JSON file has all."]
    return [*lines, ""]


def _problem_rows(report: Report) -> Iterator[str]:
    quarantined = {each.case_id for each in report.quarantine}
    for result in report.open_results():
        if result.passed is True or result.state in ("passed", "pending", "cancelled"):
            continue
        row = result_row(result)
        if row["error"]:
            why = f"{row['error']['kind']}: {row['error']['message']}"
        else:
            missed = [
                f"{name}: {score.get('reason', '')}"
                for name, score in row["scores"].items()
                if score.get("passed") is False
            ]
            why = "; ".join(missed) or f"overall {number(result.overall)}"
        said = row["reply"]["text"] if row["reply"] else ""
        cells = (
            as_code(result.case_id),
            f"{result.state} (in quarantine)" if result.case_id in quarantined else result.state,
            as_code(row["input"] or "", 120),
            as_code(said, 120),
            as_code(why, 120),
        )
        yield f"| {' | '.join(cells)} |"
