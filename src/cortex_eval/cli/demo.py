"""`cortex demo`: the main job on an embedded service, with nothing to set up."""

from __future__ import annotations

import os
from pathlib import Path

import click

from cortex_eval.cli.options import hint, json_option
from cortex_eval.cli.playing import play
from cortex_eval.cli.project import make_project
from cortex_eval.config import Request, load_project, make_plans
from cortex_eval.demo import HealthChatbot, project_names
from cortex_eval.storage import Store


@click.command()
@click.argument("name", default="health", type=click.Choice([each for each in project_names() if each != "starter"]))
@click.option("--output-dir", type=click.Path(path_type=Path), default=Path("cortex-demo"), show_default=True)
@click.option("--serve", is_flag=True, help="Keep the sample service up after the run.")
@json_option
def demo(name: str, output_dir: Path, serve: bool, as_json: bool) -> int:
    """Copy a sample project, start its sample service on loopback, run it, and say where to look.

    The service has planted weaknesses, so some cases fail: that is the point. A demo that ran exits with 0.
    """
    if not (output_dir / "cortex.yaml").is_file():
        make_project(name, output_dir)
    with HealthChatbot() as bot:
        os.environ["CORTEX_DEMO_URL"], os.environ["CORTEX_API_KEY"] = bot.url, "demo-key"
        hint(f"Sample health chatbot on {bot.url}, questions in {output_dir / 'datasets'}.\n")
        code = _run(output_dir / "cortex.yaml", as_json=as_json)
        hint(f"\nThe weaknesses that were planted: {output_dir / 'WEAKNESSES.md'}")
        if serve:
            shown = f"Still up: export CORTEX_DEMO_URL={bot.url} CORTEX_API_KEY=demo-key (Ctrl-C ends it)"
            click.echo(shown, err=True)  # not as a hint, which would mask the key
            click.pause(info="", err=True)
    return code if code > 2 else 0


def _run(config: Path, *, as_json: bool) -> int:
    project = load_project(config)
    with Store(project.store) as store:
        return play(make_plans(project, Request()), store, output_dir=project.output_dir, as_json=as_json)
