"""`cortex compare`: runs case by case, with what differs by more than chance."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from cortex_eval.analysis import compare_runs
from cortex_eval.cli.options import NamedChoice, advised, config_option, json_option, open_project, out, print_json
from cortex_eval.cli.shown import gate_of, has_colour
from cortex_eval.core import InputError
from cortex_eval.reports import render_versus_console, render_versus_markdown

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

    Exit code 1 when a later run is worse than RUN_A by more than is allowed and by more than chance; 3 when no case was
    scored in both; else 0.
    """
    if len(run_ids) < 2:
        raise InputError(f"compare needs two runs or more, such as: {advised('cortex compare latest~1 latest')}")
    with open_project(config) as here:
        store = here.store
        runs = [store.runs.find(name) for name in run_ids]
        found = compare_runs(
            runs,
            lambda run, with_cases: store.results.read(run.id, with_cases=with_cases),
            gate=gate_of(runs[-1]),
            earlier=store.runs.all(limit=RUNS_LOOKED_AT),
            read_some=lambda run, ordinals: store.results.read_at(run.id, ordinals),
        )
    if as_json:
        print_json(found.to_dict())
    else:
        out(
            render_versus_markdown(found) if form == "markdown" else render_versus_console(found, colour=has_colour()),
            nl=False,
        )
    return found.exit_code
