"""`cortex demo`: the main job on embedded sample services, with nothing to set up."""

from __future__ import annotations

import os
from pathlib import Path

import click

from cortex_eval.cli.options import hint, json_option
from cortex_eval.cli.playing import play
from cortex_eval.cli.project import make_project
from cortex_eval.config import Request, load_project, make_plans
from cortex_eval.demo import SAMPLES, SampleService
from cortex_eval.storage import Store


@click.command()
@click.argument("name", default="health", type=click.Choice(sorted(SAMPLES)))
@click.option("--output-dir", type=click.Path(path_type=Path), help="Where it goes (default: cortex-demo[-NAME]).")
@click.option("--serve", is_flag=True, help="Keep the sample service up after the run.")
@json_option
def demo(name: str, output_dir: Path | None, serve: bool, as_json: bool) -> int:
    """Copy a sample project, start its sample service on loopback, run it, and say where to look.

    The service has planted weaknesses, so some cases fail: that is the point. A demo that ran exits with 0.
    """
    folder = output_dir or Path("cortex-demo" if name == "health" else f"cortex-demo-{name}")
    if not (folder / "cortex.yaml").is_file():
        make_project(name, folder)
    with SAMPLES[name].start() as service:
        _announce(service, folder)
        codes = [_run(folder / "cortex.yaml", suite, as_json=as_json) for suite in SAMPLES[name].suites]
        hint(f"\nThe weaknesses that were planted: {folder / 'WEAKNESSES.md'}")
        if serve and service is not None:
            shown = f"Still up: export CORTEX_DEMO_URL={service.url} CORTEX_API_KEY=demo-key (Ctrl-C ends it)"
            click.echo(shown, err=True)  # not as a hint, which would mask the key
            click.pause(info="", err=True)
    return max((code for code in codes if code > 2), default=0)


def _announce(service: SampleService | None, folder: Path) -> None:
    if service is None:
        hint(f"Recorded replies, nothing is called; cases in {folder / 'datasets'}.\n")
        return
    os.environ["CORTEX_DEMO_URL"], os.environ["CORTEX_API_KEY"] = service.url, "demo-key"
    hint(f"Sample service on {service.url}, cases in {folder / 'datasets'}.\n")


def _run(config: Path, suite: str | None, *, as_json: bool) -> int:
    project = load_project(config)
    with Store(project.store) as store:
        plans = make_plans(project, Request(suite=suite))
        return play(plans, store, output_dir=project.output_dir, as_json=as_json)
