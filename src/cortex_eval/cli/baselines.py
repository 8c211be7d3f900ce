"""`cortex baseline`: the runs, and the figures made elsewhere, that later runs are held against."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from cortex_eval.analysis import Report, read_baseline
from cortex_eval.cli.options import (
    advised,
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
from cortex_eval.cli.shown import report_of
from cortex_eval.core import InputError, RunRecord, redact_bytes, to_json
from cortex_eval.outcome import ANCHOR, keep_baseline, name_run
from cortex_eval.reports import from_here, own_name, verdict_words, with_config, write_atomically, write_shared

BASELINE_FILE = "baseline.json"
suite_option = click.option("--suite", default="", help="Of this suite (default: the newest one).")
anchor_option = click.option(
    "--anchor", is_flag=True, help=f"Pin it (default name: {ANCHOR}): it never moves by itself."
)


@click.group()
def baseline() -> None:
    """Name a run as what later ones are compared with."""


@baseline.command("set")
@click.argument("run_id", metavar="RUN")
@click.option("--name", help="What to call it (default: default).")
@anchor_option
@output_option
@config_option
@json_option
def set_baseline(
    run_id: str, name: str | None, anchor: bool, output_dir: Path | None, config: Path | None, as_json: bool
) -> None:
    """Make RUN the baseline of its suite."""
    name = name or (ANCHOR if anchor else "default")
    with open_project(config) as here:
        made = report_of(here.store, run_id)
        path = (output_dir or here.output_dir) / BASELINE_FILE
        make_folder(path.parent)  # before anything is kept
        before = here.store.baselines.find(name, made.run.suite)
        kept = name_run(here.store, made, name, is_pinned=anchor)
        path = write_baseline(kept, path.parent, made.run.suite, here.suites)
    if as_json:
        print_json({"name": name, "suite": made.run.suite, "run": made.run.id, "file": str(path)})
        return
    out(f"Run {made.run.id} is the {'anchor' if anchor else 'baseline'} {name!r} of {made.run.suite}.")
    if before is not None and before.get("run_id") != made.run.id:
        out(f"It replaces run {before['run_id']}." if before.get("run_id") else "It replaces figures made elsewhere.")
    if remark := _what_it_was(made):
        hint(remark)
    hint(f"Written: {from_here(path)}")
    for advice in _how_to_compare(made.run, name, config, anchor=anchor):
        hint(advice)


def _what_it_was(report: Report) -> str:
    """That a run which did not reach its limits, or lacks results, is what later ones have to match; empty: it did."""
    verdict, totals = report.gate.verdict, report.totals
    if verdict in ("below", "error"):
        what = f"This run did not pass its gate ({verdict_words(report).title.lower()})"
    elif totals.errors:
        what = f"{totals.errors:,} of {totals.cases:,} cases of this run ended in an error"
    else:
        return ""
    return f"{what}: later runs are held against what it reached, and need be no better."


def write_baseline(kept: Mapping[str, Any], folder: Path, suite: str, suites: Collection[str]) -> Path:  # Any: JSON
    """Write the baseline of a suite, and give the file that no other suite of the project replaces."""
    content = redact_bytes(to_json(kept))
    return write_shared(folder / BASELINE_FILE, content, own=own_name(suite, suites))[0]


def _meant(config: Path | None, suite: str | None = None) -> str | None:
    """The baseline that the project file compares a suite with, or all of them; None: it names none."""
    from cortex_eval.config import DEFAULT_FILES, load_project

    if config is None and not any(Path(name).is_file() for name in DEFAULT_FILES):
        return None
    model = load_project(config, keep_problems=True).model
    own = model.suites[suite].gate if suite is not None and suite in model.suites else None
    return (own or model.gate).baseline


def _how_to_compare(run: RunRecord, name: str, config: Path | None, *, anchor: bool) -> Iterator[str]:
    """What to do so that later runs are compared with it."""
    if anchor and name == ANCHOR:
        yield "Every run that is compared with a baseline is held against it too."
    elif anchor:
        yield f"Hold runs against it too with `gate: {{anchor: {name}}}` in the project file."
    else:
        yield f"Compare: {with_config(f'cortex run {run.suite} --baseline {name}', run)}"
        meant = _meant(config, run.suite)
        if meant is not None and meant != name:
            how = advised(f"cortex baseline set {run.id} --name {shlex.quote(meant)}")
            yield f"Without --baseline, runs of {run.suite} are compared with {meant!r} (gate.baseline). Make it: {how}"


@baseline.command("show")
@click.argument("name", default="default")
@suite_option
@config_option
@json_option
def show_baseline(name: str, suite: str, config: Path | None, as_json: bool) -> None:
    """The figures of a baseline."""
    with open_project(config) as here:
        found = _found(here.store, name, suite)
    if as_json:
        print_json(found)
    else:
        out(_text(name, found))


@baseline.command("list")
@config_option
@json_option
def list_baselines(config: Path | None, as_json: bool) -> None:
    """Every baseline."""
    with open_project(config) as here:
        rows = here.store.baselines.all()
    if as_json:
        print_json([dict(zip(("name", "suite", "run", "created", "pinned"), row, strict=True)) for row in rows])
    elif not rows:
        name = _meant(config)
        naming = f" --name {shlex.quote(name)}" if name and name != "default" else ""
        hint(f"There are no baselines yet. Make one: {advised(f'cortex baseline set latest{naming}')}")
    else:
        shown = [
            [cut(row.name, 20), cut(row.suite, 20), row.run_id or "–", when(row.created), "anchor" * row.is_pinned]
            for row in rows
        ]
        out(table(shown, header=["name", "suite", "run", "set (UTC)", ""]))


@baseline.command("export")
@click.argument("name", default="default")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The file to write (default: print it).")
@suite_option
@config_option
@json_option
def export_baseline(name: str, output: Path | None, suite: str, config: Path | None, as_json: bool) -> None:
    """Write a baseline as a `baseline.json`, for another store or another tool."""
    with open_project(config) as here:
        found = {key: value for key, value in _found(here.store, name, suite).items() if key != "pinned"}
    if output is None:
        print_json(found)
        return
    make_folder(output.parent, option="--output")
    write_atomically(output, [to_json(found)], option="--output")
    if as_json:
        print_json({"name": name, "suite": found.get("suite"), "file": str(output)})
    hint(f"Written: {from_here(output)}")


@baseline.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--name", help="What to call it (default: default).")
@click.option("--suite", default="", help="Its suite (default: the one that it names, or the only one there is).")
@anchor_option
@config_option
@json_option
def import_baseline(file: Path, name: str | None, suite: str, anchor: bool, config: Path | None, as_json: bool) -> None:
    """Take a `baseline.json` that was made elsewhere: ours, a report file, or one with only the overall figures."""
    name = name or (ANCHOR if anchor else "default")
    document = _read(file, name)
    figures = len(read_baseline(document, name=name).values)
    suite = suite or str(document.get("suite") or "") or _only_suite(config, file)
    with open_project(config, create=True) as here:
        keep_baseline(here.store, name, suite, document, is_pinned=anchor)
    if as_json:
        print_json({"name": name, "suite": suite, "figures": figures})
    else:
        out(f"{file} is the {'anchor' if anchor else 'baseline'} {name!r} of {suite}: {figures} figures.")


def _read(file: Path, name: str) -> dict[str, Any]:  # Any: JSON, checked here
    import orjson

    try:
        document = orjson.loads(file.read_bytes())
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror or error}.") from error
    except orjson.JSONDecodeError as error:
        raise InputError(f"{file}:{error.lineno}: this is not JSON: {error.msg}.") from error
    read_baseline(document, name=name, source=str(file))
    return {key: value for key, value in document.items() if key not in ("results", "test_results")}


def _only_suite(config: Path | None, file: Path) -> str:
    """The suite that must be meant."""
    from cortex_eval.config import load_project

    suites = load_project(config, keep_problems=True).model.suites
    if len(suites) != 1:
        raise InputError(f"{file} names no suite. Name it: --suite {next(iter(suites), 'NAME')}")
    return next(iter(suites))


def _found(store: Any, name: str, suite: str) -> dict[str, Any]:  # Any: the Store, and JSON
    found = store.baselines.find(name, suite)
    if found is None:
        how = advised(f"cortex baseline set RUN --name {name}")
        whose = f" of {suite}" if suite else ""
        raise InputError(f"There is no baseline {name!r}{whose}. Make one: {how}")
    return dict(found)


def _text(name: str, kept: Mapping[str, Any]) -> str:  # Any: JSON
    """A baseline as people read it."""
    values, metrics = read_baseline(kept, name=name).values, kept.get("metrics") or {}
    rows = []
    for figure, value in values.items():
        found = metrics.get(figure)
        each: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
        interval = "" if each.get("low") is None else f"[{each['low']:.3f}, {each['high']:.3f}]"
        scored = f"{each['scored']}/{each['total']}" if "scored" in each else "–"
        rows.append([figure, f"{each.get('mean', value):.3f}", interval, scored])
    made = f", {when(str(kept['timestamp']))} UTC" if kept.get("timestamp") else ""
    what = f"Baseline {name!r} of {kept.get('suite') or '–'}: run {kept.get('run_id') or '–'}{made}"
    how = advised("cortex baseline set RUN --anchor")
    pinned = f"\nIt is an anchor: it moves only with `{how}`." if kept.get("pinned") else ""
    return f"{what}{pinned}\n\n{table(rows, header=['figure', 'mean', 'interval', 'scored'], right=(1, 3))}"
