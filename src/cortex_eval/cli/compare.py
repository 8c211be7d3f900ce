"""`cortex compare`: runs case by case, with what differs by more than chance."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Literal

import click

from cortex_eval.analysis import compare_runs
from cortex_eval.cli.options import NamedChoice, advised, config_option, json_option, open_project, out, print_json
from cortex_eval.cli.shown import gate_of, has_colour
from cortex_eval.core import InputError, RunRecord
from cortex_eval.reports import render_versus_console, render_versus_markdown
from cortex_eval.storage import Store

RUNS_LOOKED_AT = 100
"""The newest runs, among which earlier ones of the same system are sought."""


@click.command()
@click.argument("run_ids", metavar="RUN_A RUN_B [RUN_C]...", nargs=-1, required=True)
@click.option(
    "-f",
    "--format",
    "form",
    type=NamedChoice(["text", "markdown"]),
    default="text",
    show_default=True,
    help="How the comparison is printed.",
)
@config_option
@json_option
def compare(run_ids: tuple[str, ...], form: Literal["text", "markdown"], config: Path | None, as_json: bool) -> int:
    """Compare runs case by case, each with the first: what differs by more than chance, what broke, what is flaky.

    A run is named by its id, its beginning, latest, latest~1, or by the baseline that it is.
    Exit code 1 when a later run is worse than RUN_A by more than is allowed and by more than chance, or when a critical
    case broke; 3 when no case was scored in both; else 0.
    """
    if len(run_ids) < 2:
        raise InputError(f"compare needs two runs or more, such as: {advised('cortex compare latest~1 latest')}")
    with open_project(config) as here:
        store = here.store
        runs = _named(store, run_ids)
        found = compare_runs(
            runs,
            lambda run, with_cases: store.results.read(run.id, with_cases=with_cases),
            gate=gate_of(runs[-1]),
            earlier=store.runs.all(limit=RUNS_LOOKED_AT),
            read_some=lambda run, ordinals: store.results.read_at(run.id, ordinals),
            read_again=lambda run: store.results.read(run.id, with_cases=False, asked_again=True),
        )
    if as_json:
        print_json(found.to_dict())
    elif form == "markdown":
        out(render_versus_markdown(found), nl=False)
    else:
        out(render_versus_console(found, colour=has_colour()), nl=False)
    return found.exit_code


def _named(store: Store, names: Sequence[str]) -> list[RunRecord]:
    """The runs of these names; that of a baseline comes before the beginning of an id.

    Where several suites have a baseline of a name, it is that of the other runs.
    """
    kept: dict[str, dict[str, str | None]] = {}
    for each in store.baselines.all():
        if each.name in names and not (each.name.startswith("latest") or store.history.is_own(each.name)):
            kept.setdefault(each.name, {})[each.suite] = each.run_id
    plain = {name: store.runs.find(name) for name in names if name not in kept}
    suites = {run.suite for run in plain.values()} or set.intersection(*(set(each) for each in kept.values()))
    return [plain[name] if name in plain else _of_baseline(store, name, kept[name], suites) for name in names]


def _of_baseline(store: Store, name: str, kept: Mapping[str, str | None], suites: Collection[str]) -> RunRecord:
    """The run that is the baseline of this name; an InputError when there is none, or more than one."""
    fitting = {suite: run_id for suite, run_id in kept.items() if suite in suites}
    if len(fitting) != 1:
        there = ", ".join(f"{run_id or 'figures'} of {suite}" for suite, run_id in kept.items())
        why = "could be meant of several suites" if fitting or not suites else f"is none of {' and '.join(suites)}"
        raise InputError(f"The baseline {name!r} {why}: it is {there}. Name a run instead.")
    ((suite, run_id),) = fitting.items()
    if run_id is None or not store.history.is_own(run_id):
        raise InputError(
            f"Of the baseline {name!r} of {suite} only figures are in this store, and runs are compared case by case. "
            "Name a run instead."
        )
    return store.runs.find(run_id)
