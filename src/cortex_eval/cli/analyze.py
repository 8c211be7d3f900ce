"""`cortex analyze`: why cases fail, what to mend first, and what a change did about it."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cortex_eval import reports
from cortex_eval.cli.options import config_option, hint, json_option, open_project, out, output_option, print_json
from cortex_eval.cli.shown import report_of

if TYPE_CHECKING:
    from cortex_eval.analysis import Diagnosis, Failures, PatternChange, Report
    from cortex_eval.core import RunRecord
    from cortex_eval.storage import Store


@click.command()
@click.argument("run_id", metavar="RUN")
@click.option("--after", metavar="RUN_B", help="A later run: what became of the patterns of RUN.")
@click.option("-f", "--format", "form", type=click.Choice(["text", "markdown"]), default="text", show_default=True)
@output_option
@config_option
@json_option
def analyze(
    run_id: str, after: str | None, form: str, output_dir: Path | None, config: Path | None, as_json: bool
) -> None:
    """Why the cases of RUN fail: patterns by what a fix would win back, confusions, and where it fails more often.

    RUN is an id, the beginning of one, or `latest`. The analysis is written to error_analysis_….md as well. With
    --after, it is that of RUN_B, and says which patterns a change removed, added, shrank or grew.
    """
    with open_project(config) as here:
        report = _located(report_of(here.store, after or run_id), config)
        since = here.store.runs.find(run_id).id if after else ""
        changes = _changes(here.store, since, report) if after else None
        shown = reports.render_analysis_markdown if form == "markdown" else reports.render_analysis
        path = reports.write_artifacts(report, output_dir or here.output_dir, ("analysis",))[0]
        if changes is not None:
            reports.write_atomically(
                path, [reports.render_analysis_markdown(report, changes, since=since).encode("utf-8", "replace")]
            )
        if as_json:
            print_json(_document(report, changes, since))
        else:
            out(shown(report, changes, since=since), nl=False)
    hint(f"Written: {reports.from_here(path)}")


def _located(report: Report, config: Path | None) -> Report:
    """The report with the places that the project file names now, if there is one."""
    from cortex_eval.analysis import locate
    from cortex_eval.config import DEFAULT_FILES, load_project

    if config is None and not any(Path(name).is_file() for name in DEFAULT_FILES):
        return report
    locations = load_project(config, keep_problems=True).model.fix_locations
    return replace(report, patterns=locate(report.patterns, locations)) if locations else report


def _changes(store: Store, since: str, report: Report) -> tuple[PatternChange, ...]:
    from cortex_eval.analysis import compare_patterns

    before, after = (_diagnosed(store, run) for run in (store.runs.find(since), report.run))
    return compare_patterns(*before, *after)


def _diagnosed(store: Store, run: RunRecord) -> tuple[Failures, Diagnosis]:
    from cortex_eval.analysis import Failures, diagnose

    failures = Failures(run, keep_played=True)
    for _ in failures.noting(store.results.read_at(run.id, store.runs.numbers(run.id)[2])):
        pass
    return failures, diagnose(failures)


def _document(report: Report, changes: tuple[PatternChange, ...] | None, since: str) -> dict[str, Any]:  # Any: JSON
    document: dict[str, Any] = {
        "run": report.run.id,
        "cases": report.totals.cases,
        "failed": report.totals.failed,
        "errors": report.totals.errors,
        "patterns": [pattern.to_dict() for pattern in report.patterns],
        "confusions": [asdict(pair) for pair in report.confusions],
        "slices": [each.to_dict() for each in report.slices],
        "passed_numbers": None if report.passed_numbers is None else asdict(report.passed_numbers),
    }
    if changes is not None:
        document |= {"before": since, "changes": [each.to_dict() for each in changes]}
    return document
