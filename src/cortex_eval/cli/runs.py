"""`cortex runs` and `cortex report`: what is kept of earlier runs."""

from __future__ import annotations

from collections.abc import Collection
from importlib.util import find_spec
from pathlib import Path

import click

from cortex_eval.analysis import Report
from cortex_eval.cli.options import (
    NamedChoice,
    advised,
    config_option,
    counted,
    hint,
    json_option,
    make_folder,
    open_project,
    out,
    output_option,
    print_json,
)
from cortex_eval.cli.shown import (
    check_cases,
    print_cases,
    print_report,
    report_of,
    run_facts,
    run_table,
)
from cortex_eval.cli.trend import forget, import_runs
from cortex_eval.core import InputError
from cortex_eval.reports import Dialect, from_here, rows_owner, write_artifacts, write_systems

FORMATS = ("html", "markdown", "json", "csv", "jsonl", "junit", "parquet")

run_argument = click.argument("run_id", metavar="RUN")


@click.group()
def runs() -> None:
    """List, show, import, cancel and delete runs. RUN is an id, the beginning of one, or `latest`."""


runs.add_command(import_runs)
runs.add_command(forget)


@runs.command("list")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True)
@click.option("--suite", default="", help="Only runs of this suite.")
@config_option
@json_option
def list_runs(limit: int, suite: str, config: Path | None, as_json: bool) -> None:
    """Runs, newest first."""
    with open_project(config) as here:
        facts = [run_facts(run) for run in here.store.runs.all(limit=limit, suite=suite)]
    if as_json:
        print_json(facts)
    elif not facts:
        start = f"There are no runs yet. Start one: {advised('cortex run')}"
        hint(f"There are no runs of {suite} yet." if suite else start)
    else:
        out(run_table(facts))


@runs.command()
@run_argument
@click.option("--failed", is_flag=True, help="Show the cases that did not pass.")
@click.option("--replies", is_flag=True, help="Show every case with its reply, passed or not.")
@click.option("--case", "cases", multiple=True, metavar="ID", help="Show this case whole; may be given again.")
@config_option
@json_option
def show(run_id: str, failed: bool, replies: bool, cases: tuple[str, ...], config: Path | None, as_json: bool) -> None:
    """What came of a run, and with an option what was asked and answered."""
    with open_project(config) as here:
        report = report_of(here.store, run_id)
        check_cases(here.store, report.run, cases)
        is_listed = failed or replies or bool(cases)
        if is_listed and as_json:
            document = report.to_dict(results=True)
            rows = [row for row in document["results"] if not failed or row["state"] != "passed"]
            print_json({**document, "results": [row for row in rows if not cases or row["case_id"] in cases]})
            return
        if not cases:
            print_report(report, as_json=as_json, failed_are_shown=failed)
        if is_listed:  # last, where a terminal shows them
            print_cases(here.store, report, failed=failed, only=cases)


@runs.command()
@run_argument
@config_option
@json_option
def cancel(run_id: str, config: Path | None, as_json: bool) -> None:
    """Stop a run that is going on; what it has done stays."""
    with open_project(config) as here:
        record = here.store.runs.find(run_id)
        if record.status in ("completed", "cancelled", "failed"):
            raise InputError(f"Run {record.id} is already {record.status}.")
        at_once = here.store.runs.request_cancel(record.id)
    if as_json:
        print_json({"id": record.id, "cancelled": at_once})
    else:
        out(f"Run {record.id} {'is cancelled' if at_once else 'is asked to stop'}.")


@runs.command()
@run_argument
@click.option("--yes", is_flag=True, help="Do not ask.")
@config_option
@json_option
def delete(run_id: str, yes: bool, config: Path | None, as_json: bool) -> None:
    """Remove a run and its results for good."""
    with open_project(config) as here:
        record = here.store.runs.find(run_id)
        if not yes:
            _ask(f"Delete run {record.id} ({record.suite}, {counted(record.cases, 'case')})?")
        here.store.runs.delete(record.id)
    if as_json:
        print_json({"id": record.id, "deleted": True})
    else:
        out(f"Run {record.id} is deleted.")


def _ask(question: str) -> None:
    """End the command unless the answer is yes."""
    try:
        click.confirm(question, abort=True, err=True)
    except click.Abort:
        hint("\nNothing is deleted. Where nobody can answer, add --yes.")
        raise


@click.command()
@click.argument("run_ids", metavar="RUN...", nargs=-1, required=True)
@click.option(
    "-f",
    "--format",
    "formats",
    multiple=True,
    type=NamedChoice([*FORMATS, "summary", "all"]),
    help="May be given again; summary puts several runs beside each other.",
)
@click.option("--dialect", type=click.Choice(["cortex", "seed003"]), default="cortex", show_default=True)
@output_option
@config_option
@json_option
def report(
    run_ids: tuple[str, ...],
    formats: tuple[str, ...],
    dialect: Dialect,
    output_dir: Path | None,
    config: Path | None,
    as_json: bool,
) -> None:
    """Write reports of runs: html, markdown, json, csv, jsonl, junit, parquet, or all of them.

    With several runs, `-f summary` (and `-f all`) writes how their targets compare.
    """
    with open_project(config) as here:
        made = [report_of(here.store, run_id) for run_id in run_ids]
        folder = output_dir or here.output_dir
        files = write_reports(
            made, folder, formats or ("html",), dialect=dialect, charts=here.charts, suites=here.suites
        )
    if as_json:
        ids = [each.run.id for each in made]
        print_json({"run": ids[0], "runs": ids, "files": [str(path) for path in files]})
    else:
        out("\n".join(map(from_here, files)))


def write_reports(
    made: list[Report],
    folder: Path,
    formats: tuple[str, ...],
    *,
    dialect: Dialect,
    charts: bool = True,
    suites: Collection[str] = (),
) -> list[Path]:
    """Write each run in each format, and all of them beside each other when `summary` is among them.

    Runs of the same suite and target have their ids in the names of their result rows: else the last one's would stay.
    """
    wanted = [each for each in (FORMATS if "all" in formats else formats) if each != "summary"]
    if "all" in formats and find_spec("pyarrow") is None:
        wanted.remove("parquet")
        hint("Without parquet: pip install 'cortex-eval[parquet]'")
    if "summary" in formats and len(made) < 2:
        raise InputError("-f summary puts runs beside each other: name at least two.")
    make_folder(folder)
    files: list[Path] = []
    sharing = {*suites, *(each.run.suite for each in made)}
    owners = [rows_owner(each, sharing) for each in made]
    for each, owner in zip(made, owners, strict=True):
        whose = owner if owners.count(owner) == 1 else f"{owner}_{each.run.id}"
        files += write_artifacts(each, folder, wanted, dialect=dialect, charts=charts, rows_of=whose)
    if "summary" in formats or ("all" in formats and len(made) > 1):
        files += write_systems(made, folder, suites)
    return files
