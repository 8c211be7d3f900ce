"""What a pull request and a build page show: a comment of base against head, annotations, outputs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Literal

from cortex_eval.analysis import OVERALL_NAMES, Change, Report, Unscored, chance, result_row
from cortex_eval.core import Problem, Result, redact
from cortex_eval.reports.error_analysis import CRITICAL, top_fixes, top_patterns
from cortex_eval.reports.junit import cases_of, missed_scores, outcome_of
from cortex_eval.reports.text import as_code, as_plain, cut, visible
from cortex_eval.reports.though_passed import let_through_sentence
from cortex_eval.reports.words import (
    ADJUSTED_P,
    TITLES,
    figure_rows,
    interval_of,
    mean_of,
    missed_limits,
    number,
    plural,
    scoring_steps,
    target_label,
    telling_checks,
    verdict_words,
    with_config,
)

COMMENT_FILE = "pr_comment.md"
CASES_SHOWN = 10
CASES_ANNOTATED = 5
MOST_ANNOTATIONS = 10
"""Of one kind: GitHub shows no more of a step."""
LONGEST_SUMMARY = 1_000_000
"""Bytes; GitHub takes 1 MiB of a step and drops the whole of a longer one."""
Kind = Literal["error", "warning", "notice"]


def annotation(kind: Kind, message: str, *, title: str = "", file: str = "", line: int | None = None) -> str:
    """A workflow command that GitHub shows beside the build, and beside the line of a file if one is named."""
    found = {"title": title, "file": file, "line": str(line) if line else ""}
    properties = ",".join(f"{name}={_property(visible(value))}" for name, value in found.items() if value)
    return f"::{kind}{f' {properties}' if properties else ''}::{_data(visible(message))}"


def report_annotations(report: Report) -> list[str]:
    """What of a run deserves an annotation: the checks that decided, errors, and the first cases that failed."""
    where = f"{report.run.suite} on {target_label(report)}"
    title = f"Cortex: {TITLES[report.gate.verdict]} ({where})"
    if report.gate.verdict == "passed":
        passed = annotation("notice", verdict_words(report).sentence, title=title)
        let_through = let_through_sentence(report)
        return [passed, *([annotation("warning", f"{let_through}.", title=title)] if let_through else [])]
    kind: Kind = "error" if report.exit_code else "warning"
    decisive = [*telling_checks(report), *missed_limits(report)]
    found = [annotation(kind, check.reason, title=title) for check in decisive]
    broken = (check for check in report.gate.checks if check.name == "newly_broken")
    found += [annotation("warning", check.reason, title=f"Cortex: newly broken ({where})") for check in broken]
    found += [
        annotation("warning", f"{count} × {name}. {report.error_messages.get(name, '')}", title=f"Cortex: {where}")
        for name, count in report.error_kinds.items()
    ]
    failed = (each for each in _bad_cases(report) if each[1] == "failed")
    return found + [
        annotation("warning", why, title=f"Cortex: case {name} failed ({where})")
        for name, _, why in islice(failed, CASES_ANNOTATED)
    ]


def as_shown(annotations: Sequence[str]) -> list[str]:
    """The annotations without those that GitHub would drop: it shows only so many of a kind."""
    kinds = [line.removeprefix("::").partition(" ")[0].partition(":")[0] for line in annotations]
    return [line for place, line in enumerate(annotations) if kinds[:place].count(kinds[place]) < MOST_ANNOTATIONS]


def problem_annotations(problems: Sequence[Problem]) -> list[str]:
    """Mistakes in the project file or a dataset, each beside its line."""
    return [
        annotation("error", each.message, title="Cortex: invalid input", file=each.file, line=each.line)
        for each in problems
    ]


def comment_marker(subject: str) -> str:
    """The hidden first line by which a later build finds its comment and replaces it."""
    return f"<!-- cortex-eval: {_data(visible(subject)).replace('--', '-%2D')} -->"


def render_comment(reports: Sequence[Report], *, service: str | None = None) -> str:
    """A comment for a pull request: the verdict, every metric beside the baseline's, what broke and what failed.

    `service` is the one that was chosen out of several: another one's comment does not replace this one.
    """
    suite = reports[0].run.suite
    subject = f"{suite} on {service}" if service and service != suite else suite
    worst = max(reports, key=lambda report: report.exit_code)
    lines = [comment_marker(subject), f"### Cortex: {TITLES[worst.gate.verdict]}, {as_code(subject)}", ""]
    for report in reports:
        if len(reports) > 1:
            lines += [f"#### {as_code(target_label(report))}", ""]
        lines += _comment_on(report)
    return redact("\n".join(lines) + "\n")


def step_summary(documents: Sequence[str]) -> str:
    """Markdown texts as one job summary, cut at a line where GitHub would drop all of it."""
    text = "\n".join(documents)
    data = text.encode()
    if len(data) <= LONGEST_SUMMARY:
        return text
    kept = data[:LONGEST_SUMMARY].decode(errors="ignore").rpartition("\n")[0]
    return f"{kept}\n\nThe summary was cut here. The report files have all of it.\n"


def step_outputs(report: Report, exit_code: int, files: Mapping[str, Path]) -> dict[str, str]:
    """What later steps of a build can use, by name: one line each; of several targets, the one that did worst."""
    score, rate = report.totals.overall_score, report.totals.pass_rate
    found = {
        "verdict": report.gate.verdict,
        "exit-code": str(exit_code),
        "score": "" if score is None else f"{score:.4f}",
        "pass-rate": "" if rate is None else f"{rate:.4f}",
        "run": report.run.id,
        **{name: str(path) for name, path in files.items()},
    }
    return {name: " ".join(visible(value).split()) for name, value in found.items()}


def _comment_on(report: Report) -> Iterator[str]:
    words = verdict_words(report)
    sign = {0: "✓"}.get(report.exit_code, "✕") if report.gate.verdict != "inconclusive" else "?"
    yield f"{sign} **{words.title}.** {_said(words.sentence)}"
    yield ""
    yield from (f"- {_said(sentence)}" for sentence in words.beside)
    if words.beside:
        yield ""
    for step in scoring_steps(report):
        yield f"- {_said(step.label)}: `{with_config(step.command, report.run)}`"
    if any(scoring_steps(report)):
        yield ""
    yield from _figures(report)
    yield from _changed(report)
    yield from _broken(report)
    yield from _fixes(report)
    yield _provenance(report)
    yield ""


def _figures(report: Report) -> Iterator[str]:
    """Every metric of the run, with the baseline's before it where there is a baseline."""
    compared = report.baseline_comparison or {}
    worse = {each.name for each in report.regressions}
    base = [f"Base {as_code(report.baseline.name)}"] if report.baseline else []
    change = ["Change"] if report.baseline else []
    yield f"| {' | '.join(['', 'Metric', *base, 'Head', 'Scored', *change])} |"
    yield f"|---|---|{'---:|' * len(base)}---:|---:|{'---:|' * len(change)}"
    for name, metric in figure_rows(report):
        if isinstance(metric, Unscored):
            head, scored, unit = "–", f"0/{metric.total}", ""
        else:
            head, unit = f"{mean_of(metric)} {interval_of(metric)}".rstrip(), metric.unit
            scored = f"{metric.scored}/{metric.total}"
        found = compared.get(OVERALL_NAMES.get(name, name))
        was = [number(found.baseline if found else None, unit)] if base else []
        diff = [_signed(found.diff if found else None, unit) + _spread(found, unit)] if base else []
        diff = ["not compared"] if found is not None and found.not_compared else diff
        yield f"| {' | '.join(['✕' if name in worse else '', as_code(name), *was, head, scored, *diff])} |"
    if any(change.p_value is not None for change in compared.values()):
        yield ""
        yield ADJUSTED_P
    if report.baseline is None:
        yield ""
        command = with_config("cortex ci --baseline NAME", report.run)
        yield f"No baseline was named, so nothing is compared: `{command}`."
    yield ""


def _spread(found: Change | None, unit: str) -> str:
    """How sure a change is, over the cases that both runs have: the numbers of the gate."""
    if found is None or found.low is None or found.p_value is None:
        return ""
    return f" [{_signed(found.low, unit)}, {_signed(found.high, unit)}], {chance(found.p_value)}"


def _changed(report: Report) -> Iterator[str]:
    found = report.case_changes
    if found is None:
        return
    of = report.baseline.cases if report.baseline else None
    yield "Case by case:" if of is None else f"Case by case, over {of} {plural('case', of)} of both:"
    yield ""
    kinds = (("broken", found.newly_broken), ("fixed", found.newly_fixed), ("in error", found.newly_in_error))
    for name, changes in kinds:
        shown = ", ".join(
            as_code(each.case_id, 80) + " (critical)" * each.is_critical for each in changes[:CASES_SHOWN]
        )
        rest = f" and {len(changes) - CASES_SHOWN} more" if len(changes) > CASES_SHOWN else ""
        yield f"- newly {name}: {len(changes)}" + (f" ({shown}{rest})" if changes else "")
    yield ""


def _fixes(report: Report) -> Iterator[str]:
    fixes = top_fixes(report) if report.exit_code else []
    if fixes:
        is_critical = any(each.is_critical for each in top_patterns(report))
        order = f"beginning with what is critical ({CRITICAL}), then by" if is_critical else "by"
        yield f"What to mend first, {order} what it would win back of the pass rate:"
        yield ""
    for place, fix in enumerate(fixes, 1):
        where = f" in {as_code(fix.where)}" if fix.where else ""
        yield f"{place}. {_said(fix.action.rstrip('.'))}{where}: {fix.gain}, {fix.cases}"
    if fixes:
        yield ""


def _broken(report: Report) -> Iterator[str]:
    totals = report.totals
    bad = totals.failed + totals.errors
    counted = f"{totals.cases} {plural('case', totals.cases)}"
    yield f"{counted}: {totals.passed} passed, {totals.failed} failed, {totals.errors} in error."
    yield ""
    yield from _set_aside(report)
    if not bad:
        return
    shown = f"The first {CASES_SHOWN} of {bad}" if bad > CASES_SHOWN else str(bad)
    yield f"<details><summary>{shown} {plural('case', bad)} that did not pass</summary>"
    yield ""
    for name, outcome, why in islice(_bad_cases(report), CASES_SHOWN):
        yield f"- {as_code(name)} {'in error' if outcome == 'error' else 'failed'}: {as_code(why)}"
    yield ""
    yield "</details>"
    yield ""


def _set_aside(report: Report) -> Iterator[str]:
    found = report.quarantine
    if found:
        told = ", ".join(f"{as_code(each.case_id, 80)} ({each.outcome})" for each in found[:CASES_SHOWN])
        rest = f" and {len(found) - CASES_SHOWN} more" if len(found) > CASES_SHOWN else ""
        yield f"{len(found)} {plural('case', len(found))} in quarantine did not decide: {told}{rest}"
        yield ""


def _bad_cases(report: Report) -> Iterator[tuple[str, str, str]]:
    """Each case that did not pass: its id, what became of it, and why; critical ones first, none in quarantine."""
    aside = {each.case_id for each in report.quarantine}
    critical = {each.scorer for each in report.critical_failures}
    first = {case for each in report.critical_failures for case in each.cases}
    first |= {each.case_id for each in report.case_changes.new_critical} if report.case_changes else set()
    first -= aside
    found = (rows for rows in cases_of(report) if rows[0].case_id in first)
    others = (rows for rows in cases_of(report) if rows[0].case_id not in first and rows[0].case_id not in aside)
    for rows in chain(islice(found, len(first)), others):  # a million results are not read to find the first ten
        outcome = outcome_of(rows)
        if outcome in ("failed", "error"):
            yield rows[0].case_id, outcome, cut(_why(rows, outcome, critical), 200)


def _why(rows: Sequence[Result], outcome: str, critical: Collection[str]) -> str:
    """The first error, or what was missed: by critical scorers first, for a long line is cut."""
    for row in rows:
        if outcome == "error" and row.error is not None:
            return f"{row.error.kind}: {row.error.message}"
        if outcome == "failed" and row.state == "failed":
            scores = result_row(row)["scores"]
            missed = missed_scores(
                {name: scores[name] for name in sorted(scores, key=lambda each: each not in critical)}
            )
            return "; ".join(missed) or f"overall {number(row.overall)}"
    return outcome


def _provenance(report: Report) -> str:
    commit = str(report.run.manifest.get("git", {}).get("commit", ""))[:10]
    head = f"Head: run {as_code(report.run.id)}" + (f" at {as_code(commit)}" if commit else "")
    if report.baseline is None:
        return f"{head}. Exit code {report.exit_code}."
    run = f", run {as_code(report.baseline.run_id)}" if report.baseline.run_id else ""
    when = f" of {report.baseline.timestamp[:10]}" if report.baseline.timestamp else ""
    return f"Base: {as_code(report.baseline.name)}{run}{when}. {head}. Exit code {report.exit_code}."


def _said(sentence: str) -> str:
    """A sentence of ours in which nobody is called by name: `@somebody` would send them a message."""
    return as_plain(sentence).replace("@", "@<!-- -->")


def _signed(value: float | None, unit: str) -> str:
    if value is None:
        return "–"
    if float(f"{value:.{0 if unit else 2}f}") == 0:
        return number(0.0, unit)
    return f"{'+' if value > 0 else '−'}{number(abs(value), unit)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
