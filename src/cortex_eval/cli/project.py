"""`cortex init`, `config`, `schema` and `doctor`: the project and what it stands on."""

from __future__ import annotations

from pathlib import Path

import click

from cortex_eval.cli.options import config_option, hint, json_option, print_json
from cortex_eval.core import InputError


@click.command()
@click.argument("folder", metavar="DIR", default=".", type=click.Path(path_type=Path))
@click.option("--from", "name", default="starter", show_default=True, help="The sample project to copy.")
def init(folder: Path, name: str) -> None:
    """Make a project in DIR (default: here) that runs at once."""
    from cortex_eval.demo import copy_project

    written = copy_project(name, folder)
    for path in written:
        click.echo(str(path))
    hint("Now run it: " + (f"cd {folder} && " if folder != Path() else "") + "cortex run")


@click.group()
def config() -> None:
    """Show the project file as it is understood."""


@config.command("show")
@config_option
@json_option
def show_config(config: Path | None, as_json: bool) -> None:
    """The project with defaults filled in and secrets masked."""
    from cortex_eval.config import load_project, resolved

    project = load_project(config)
    values = resolved(project)
    if as_json:
        print_json(values)
        return
    import yaml

    click.echo(f"# {project.path}; store: {project.store_path}; reports: {project.output_dir}")
    click.echo(yaml.safe_dump(values, sort_keys=False, allow_unicode=True).rstrip())


@click.command()
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write it to this file.")
def schema(output: Path | None) -> None:
    """Print the JSON Schema of the project file, for editors."""
    import orjson

    from cortex_eval.config import project_schema

    text = orjson.dumps(project_schema(), option=orjson.OPT_INDENT_2).decode()
    if output is None:
        click.echo(text)
        return
    try:
        output.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{output} cannot be written: {error.strerror}.") from error


@click.command()
@config_option
@json_option
def doctor(config: Path | None, as_json: bool) -> int:
    """Check that everything Cortex needs is there: packages, project file, store, dataset files."""
    from cortex_eval.cli.health import examine

    found = examine(config)
    if as_json:
        print_json({"ok": all(each.ok for each in found), "checks": found})
    else:
        for each in found:
            click.echo(f"{'ok  ' if each.ok else 'FAIL'}  {each.name:<12} {each.message}")
    return 0 if all(each.ok for each in found) else 4
