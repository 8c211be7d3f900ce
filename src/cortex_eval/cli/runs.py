"""`cortex runs`, `cortex report` and `cortex baseline`: what is kept of earlier runs."""

from __future__ import annotations

from pathlib import Path

import click

from cortex_eval.analysis import baseline_of
from cortex_eval.cli.options import config_option, cut, hint, json_option, open_store, output_option, print_json, table
from cortex_eval.cli.shown import failed_lines, report_of, run_facts
from cortex_eval.core import InputError, to_json
from cortex_eval.reports import Dialect, render_console, write_artifacts, write_atomically

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
    with open_store(config) as store:
        facts = [run_facts(run) for run in store.runs.all(limit=limit, suite=suite)]
    if as_json:
        print_json(facts)
    elif not facts:
        hint("There are no runs yet. Start one: cortex run")
    else:
        columns = ("id", "started", "suite", "target", "status", "cases", "score", "verdict")
        click.echo(table([[each[name] for name in columns] for each in facts], header=list(columns)))


@runs.command()
@run_argument
@click.option("--failed", is_flag=True, help="Show the cases that did not pass.")
@config_option
@json_option
def show(run_id: str, failed: bool, config: Path | None, as_json: bool) -> None:
    """What came of a run."""
    with open_store(config) as store:
        report = report_of(store, run_id)
        if as_json:
            print_json(report.to_dict(results=failed))
            return
        if failed:
            for line in failed_lines(store, report.run):
                click.echo(line)
        click.echo(render_console(report))


@runs.command()
@run_argument
@config_option
def cancel(run_id: str, config: Path | None) -> None:
    """Stop a run that is going on; what it has done stays."""
    with open_store(config) as store:
        record = store.runs.find(run_id)
        if record.status in ("completed", "cancelled", "failed"):
            raise InputError(f"Run {record.id} is already {record.status}.")
        at_once = store.runs.request_cancel(record.id)
    click.echo(f"Run {record.id} {'is cancelled' if at_once else 'is asked to stop'}.")


@runs.command()
@run_argument
@click.option("--yes", is_flag=True, help="Do not ask.")
@config_option
def delete(run_id: str, yes: bool, config: Path | None) -> None:
    """Remove a run and its results for good."""
    with open_store(config) as store:
        record = store.runs.find(run_id)
        if not yes:
            click.confirm(f"Delete run {record.id} ({record.suite}, {record.cases} cases)?", abort=True, err=True)
        store.runs.delete(record.id)
    click.echo(f"Run {record.id} is deleted.")


@click.command()
@run_argument
@click.option(
    "-f", "--format", "formats", multiple=True, type=click.Choice([*FORMATS, "all"]), help="May be given again."
)
@click.option("--dialect", type=click.Choice(["cortex", "seed003"]), default="cortex", show_default=True)
@output_option
@config_option
def report(
    run_id: str, formats: tuple[str, ...], dialect: Dialect, output_dir: Path | None, config: Path | None
) -> None:
    """Write reports of a run: html, markdown, json, csv, jsonl, or all of them."""
    wanted = tuple(FORMATS) if "all" in formats else (formats or ("html",))
    with open_store(config) as store:
        made = report_of(store, run_id)
        folder = output_dir or Path("reports/evaluation")
        for path in write_artifacts(made, folder, wanted, dialect=dialect):
            click.echo(str(path))


@click.group()
def baseline() -> None:
    """Name a run as what later ones are compared with."""


@baseline.command("set")
@run_argument
@click.option("--name", default="default", show_default=True)
@output_option
@config_option
def set_baseline(run_id: str, name: str, output_dir: Path | None, config: Path | None) -> None:
    """Make RUN the baseline of its suite."""
    with open_store(config) as store:
        made = report_of(store, run_id)
        if made.run.status != "completed":
            raise InputError(f"Run {made.run.id} is {made.run.status}: only a completed run can be a baseline.")
        store.baselines.keep(name, made.run.suite, made.run.id, baseline_of(made))
        folder = output_dir or Path("reports/evaluation")
        path = folder / "baseline.json"
        write_atomically(path, [to_json(baseline_of(made))])
    click.echo(f"Run {made.run.id} is the baseline {name!r} of {made.run.suite}.")
    hint(f"Written: {path}. Compare: cortex run {made.run.suite} --baseline {name}")


@baseline.command("show")
@click.argument("name", default="default")
@click.option("--suite", default="", help="Of this suite (default: the newest one).")
@config_option
@json_option
def show_baseline(name: str, suite: str, config: Path | None, as_json: bool) -> None:
    """The figures of a baseline."""
    with open_store(config) as store:
        found = store.baselines.find(name, suite)
    if found is None:
        raise InputError(f"There is no baseline {name!r}. Make one: cortex baseline set RUN --name {name}")
    if as_json:
        print_json(found)
        return
    rows = [[key, cut(str(value), 50)] for key, value in found.items() if not isinstance(value, dict)]
    rows += [[key, f"{value['mean']:.3f}"] for key, value in found.get("metrics", {}).items()]
    click.echo(table(rows, header=["figure", "value"]))


@baseline.command("list")
@config_option
@json_option
def list_baselines(config: Path | None, as_json: bool) -> None:
    """Every baseline."""
    with open_store(config) as store:
        found = [dict(zip(("name", "suite", "run", "created"), row, strict=True)) for row in store.baselines.all()]
    if as_json:
        print_json(found)
    elif not found:
        hint("There are no baselines yet. Make one: cortex baseline set latest")
    else:
        click.echo(table([[str(cell) for cell in each.values()] for each in found], header=list(found[0])))
