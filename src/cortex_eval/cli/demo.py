"""`cortex demo`: the main job on embedded sample services, with nothing to set up."""

from __future__ import annotations

import time
from pathlib import Path

import click

from cortex_eval.cli.demo_stage import Stage
from cortex_eval.cli.options import NamedChoice, json_option, print_json
from cortex_eval.core import InputError
from cortex_eval.demo import (
    FAULTS,
    REGRESSION,
    SAMPLES,
    TOUR,
    WELCOME,
    comparison_lines,
    heading,
    last_lines,
    suite_lines,
    surprise_lines,
    whole_lines,
    wrapped,
)

FOLDER = Path("cortex-demo")
BEFORE = "version-1"
"""The baseline that the last act of the tour is held against."""


@click.command()
@click.argument("name", required=False, metavar="[NAME]", type=NamedChoice(sorted(SAMPLES)))
@click.option("--output-dir", type=click.Path(path_type=Path), help="Where it goes (default: cortex-demo[/NAME]).")
@click.option("--serve", is_flag=True, help="Run nothing: keep the sample services up until Ctrl-C.")
@click.option("--port", type=click.IntRange(1, 65535), help="With --serve: listen on this port (and the next ones).")
@click.option("--fault", type=click.Choice(list(FAULTS)), help="With --serve: what is to go wrong, to try patience.")
@click.option("--version", type=click.Choice(["1", "2"]), help="Of the services: 2 has a planted regression.")
@json_option
def demo(
    name: str | None,
    output_dir: Path | None,
    serve: bool,
    port: int | None,
    fault: str | None,
    version: str | None,
    as_json: bool,
) -> int:
    """Take a tour of the sample projects in two minutes, or run one of them whole: on loopback, without any key.

    NAME is adversarial, ayurveda, bioagent, health, healthcare or support-agent.

    The services have planted weaknesses, so some cases fail: that is the point. Exit code 0 when what fails is what
    WEAKNESSES.md of the project lists, 1 when it is not.
    """
    folder = output_dir or (FOLDER / name if name else FOLDER)
    if serve:
        from cortex_eval.cli.demo_serving import keep_up

        return keep_up(name, folder, version=version or "1", port=port or 0, fault=fault, as_json=as_json)
    if port or fault:
        raise InputError("--port and --fault are for services that are kept up. Add --serve, or leave them out.")
    if name is None:
        if version:
            raise InputError("--version is of one project: name it, such as cortex demo bioagent --version 2")
        return _take_tour(folder, as_json=as_json)
    return _run_whole(name, folder, version=version or "1", as_json=as_json)


def _run_whole(name: str, folder: Path, *, version: str, as_json: bool) -> int:
    """Every suite of one project, each with its whole summary."""
    stage = Stage(is_silent=as_json)
    list(stage.play(name, folder, SAMPLES[name].suites, version=version, in_full=True))
    stage.say("\n" + "\n".join(whole_lines(folder, stage.played)))
    if as_json:
        print_json(stage.document())
    return stage.exit_code


def _take_tour(folder: Path, *, as_json: bool) -> int:
    """A suite or more of every project, each in a few lines, and a release that breaks something."""
    started, stage = time.monotonic(), Stage(is_silent=as_json)
    stage.say("\n".join(wrapped(WELCOME, "")))
    for number, act in enumerate(TOUR, 1):
        stage.say(f"\n{heading(number, act)}\n")
        for played in stage.play(act.project, folder / act.project, act.suites, sampled=act.sampled):
            stage.say("\n".join(suite_lines(played)))
    stage.say(f"\n{heading(len(TOUR) + 1, REGRESSION)}\n")
    root = folder / REGRESSION.project
    (played,) = stage.play(REGRESSION.project, root, REGRESSION.suites, version="2", baseline=BEFORE)
    versus = stage.compare_versions(REGRESSION.project, root)
    stage.say("\n".join([*comparison_lines(versus, played), *surprise_lines(played)]))
    stage.say("\n" + "\n".join(last_lines(folder, stage.played, seconds=time.monotonic() - started)))
    if as_json:
        print_json({**stage.document(), "comparison": versus.to_dict()})
    return stage.exit_code
