"""`cortex runs`, `cortex report` and `cortex baseline`: what is kept of earlier runs."""

from __future__ import annotations

from pathlib import Path

import click

from cortex_eval.analysis import baseline_of
from cortex_eval.cli.options import (
    config_option,
    cut,
    hint,
    json_option,
    make_folder,
    open_project,
    out,
    output_option,
    print_json,
    table,
    when,
)
from cortex_eval.cli.shown import baseline_text, failed_lines, print_report, report_of, run_facts, run_table
from cortex_eval.core import InputError, redact_bytes, to_json
from cortex_eval.reports import Dialect, with_config, write_artifacts, write_atomically

FORMATS = ("html", "markdown", "json", "csv", "jsonl")

run_argument = click.argument("run_id", metavar="RUN")


@click.group()
def runs() -> None:
    """List, show, cancel and delete runs. RUN is an id, the beginning of one, or `latest`."""


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
        hint(f"There are no runs of {suite} yet." if suite else "There are no runs yet. Start one: cortex run")
    else:
        out(run_table(facts))


@runs.command()
@run_argument
@click.option("--failed", is_flag=True, help="Show the cases that did not pass.")
@config_option
@json_option
def show(run_id: str, failed: bool, config: Path | None, as_json: bool) -> None:
    """What came of a run."""
    with open_project(config) as here:
        report = report_of(here.store, run_id)
        if failed and as_json:
            document = report.to_dict(results=True)
            rows = [row for row in document["results"] if row["state"] != "passed"]
            print_json({**document, "results": rows})
            return
        for line in failed_lines(here.store, report.run) if failed else ():
            out(line)
        print_report(report, as_json=as_json, failed_are_shown=failed)


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
            click.confirm(f"Delete run {record.id} ({record.suite}, {record.cases} cases)?", abort=True, err=True)
        here.store.runs.delete(record.id)
    if as_json:
        print_json({"id": record.id, "deleted": True})
    else:
        out(f"Run {record.id} is deleted.")


@click.command()
@run_argument
@click.option(
    "-f", "--format", "formats", multiple=True, type=click.Choice([*FORMATS, "all"]), help="May be given again."
)
@click.option("--dialect", type=click.Choice(["cortex", "seed003"]), default="cortex", show_default=True)
@output_option
@config_option
@json_option
def report(
    run_id: str,
    formats: tuple[str, ...],
    dialect: Dialect,
    output_dir: Path | None,
    config: Path | None,
    as_json: bool,
) -> None:
    """Write reports of a run: html, markdown, json, csv, jsonl, or all of them."""
    wanted = tuple(FORMATS) if "all" in formats else (formats or ("html",))
    with open_project(config) as here:
        made = report_of(here.store, run_id)
        files = write_artifacts(made, output_dir or here.output_dir, wanted, dialect=dialect)
    if as_json:
        print_json({"run": made.run.id, "files": [str(path) for path in files]})
    else:
        out("\n".join(map(str, files)))


@click.group()
def baseline() -> None:
    """Name a run as what later ones are compared with."""


@baseline.command("set")
@run_argument
@click.option("--name", default="default", show_default=True)
@output_option
@config_option
@json_option
def set_baseline(run_id: str, name: str, output_dir: Path | None, config: Path | None, as_json: bool) -> None:
    """Make RUN the baseline of its suite."""
    with open_project(config) as here:
        made = report_of(here.store, run_id)
        if made.run.status != "completed":
            raise InputError(f"Run {made.run.id} is {made.run.status}: only a completed run can be a baseline.")
        kept = baseline_of(made)
        path = (output_dir or here.output_dir) / "baseline.json"
        make_folder(path.parent)
        write_atomically(path, [redact_bytes(to_json(kept))])
        here.store.baselines.keep(name, made.run.suite, made.run.id, kept)
    if as_json:
        print_json({"name": name, "suite": made.run.suite, "run": made.run.id, "file": str(path)})
        return
    out(f"Run {made.run.id} is the baseline {name!r} of {made.run.suite}.")
    hint(f"Written: {path}")
    hint(f"Compare: {with_config(f'cortex run {made.run.suite} --baseline {name}', made.run)}")


@baseline.command("show")
@click.argument("name", default="default")
@click.option("--suite", default="", help="Of this suite (default: the newest one).")
@config_option
@json_option
def show_baseline(name: str, suite: str, config: Path | None, as_json: bool) -> None:
    """The figures of a baseline."""
    with open_project(config) as here:
        found = here.store.baselines.find(name, suite)
    if found is None:
        raise InputError(f"There is no baseline {name!r}. Make one: cortex baseline set RUN --name {name}")
    if as_json:
        print_json(found)
    else:
        out(baseline_text(name, found))


@baseline.command("list")
@config_option
@json_option
def list_baselines(config: Path | None, as_json: bool) -> None:
    """Every baseline."""
    with open_project(config) as here:
        rows = here.store.baselines.all()
    if as_json:
        print_json([dict(zip(("name", "suite", "run", "created"), row, strict=True)) for row in rows])
    elif not rows:
        hint("There are no baselines yet. Make one: cortex baseline set latest")
    else:
        shown = [[cut(name, 20), cut(suite, 20), run or "–", when(created)] for name, suite, run, created in rows]
        out(table(shown, header=["name", "suite", "run", "set (UTC)"]))
