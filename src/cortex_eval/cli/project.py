"""`cortex init`, `config`, `schema` and `doctor`: the project and what it stands on."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

import click

from cortex_eval.cli.options import config_option, hint, json_option, out, print_json
from cortex_eval.core import InputError, StorageError

HELP_FROM = "The sample project to copy: adversarial, ayurveda, bioagent, health, healthcare, starter or support-agent."
INDENT = 19 * " "
"""Of what doctor says, behind the first line."""
SCHEMA_FILE = "cortex.schema.json"
"""Beside the project file, which names it in its first line."""


@click.command()
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
@click.option("--from", "name", default="starter", show_default=True, help=HELP_FROM)
@json_option
def init(folder: Path, name: str, as_json: bool) -> None:
    """Make a project in DIR (default: here) that runs at once."""
    written = make_project(name, folder)
    if as_json:
        print_json({"project": name, "files": [str(path) for path in written]})
        return
    out("\n".join(map(str, written)))
    if name == "starter":
        hint("Now run it: " + (f"cd {folder} && " if folder != Path() else "") + "cortex run")
    else:
        hint(f"Now run it, with its sample service: cortex demo {name} --output-dir {folder}")


def make_project(name: str, folder: Path) -> list[Path]:
    """Copy a sample project, and lay the schema beside it that lets editors check and complete the project file."""
    from cortex_eval.config import project_schema
    from cortex_eval.demo import all_or_none, copy_project

    project_file, schema_file, ignored = folder / "cortex.yaml", folder / SCHEMA_FILE, folder / ".gitignore"
    with all_or_none(folder) as written:
        if taken := [str(path) for path in (project_file, schema_file) if path.exists()]:
            raise InputError(
                f"Already there, and not overwritten: {', '.join(taken)}. Choose another folder, or move them away."
            )
        written += [*copy_project(name, folder), schema_file]
        _write_schema(schema_file, project_schema())
        text = project_file.read_text(encoding="utf-8")
        project_file.write_text(f"# yaml-language-server: $schema={SCHEMA_FILE}\n{text}", encoding="utf-8")
        if not ignored.exists():
            written.append(ignored)
            ignored.write_text(".cortex/\nreports/\n.env\n", encoding="utf-8")
    return sorted(written)


def _write_schema(path: Path, schema: dict[str, Any]) -> None:  # Any: JSON
    import orjson

    path.write_bytes(orjson.dumps(schema, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


@click.group()
def config() -> None:
    """Show the project file as it is understood."""


@config.command("show")
@config_option
@json_option
def show_config(config: Path | None, as_json: bool) -> None:
    """The project with defaults filled in and secrets masked."""
    from cortex_eval.config import load_project, resolved
    from cortex_eval.storage import shown_location

    project = load_project(config)
    values = resolved(project)
    if as_json:
        print_json(values)
        return
    import yaml

    out(f"# {project.path}; store: {shown_location(project.store)}; reports: {project.output_dir}")
    out(yaml.safe_dump(values, sort_keys=False, allow_unicode=True), nl=False)


@click.command()
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write it to this file.")
@json_option
def schema(output: Path | None, as_json: bool) -> None:
    """Print the JSON Schema of the project file, for editors."""
    from cortex_eval.config import project_schema

    if output is None:
        print_json(project_schema())
    else:
        try:
            _write_schema(output, project_schema())
        except OSError as error:
            raise StorageError(f"{output} cannot be written: {error.strerror}.") from error
        if as_json:
            print_json({"file": str(output)})
        hint(f"Written: {output}. First line of the project file: # yaml-language-server: $schema={output}")


@click.command()
@click.option("--judges", is_flag=True, help="Try the project's models as judges, on cases whose verdict is known.")
@click.option("--injections", is_flag=True, help="With --judges: also on replies that try to talk their judge round.")
@click.option("--offline", is_flag=True, help="Do not try whether somebody listens at the addresses of the services.")
@click.option("--model", default="", help="With --judges: only this model (default: all under models:).")
@config_option
@json_option
def doctor(judges: bool, injections: bool, offline: bool, model: str, config: Path | None, as_json: bool) -> int:
    """Check that everything Cortex needs is there: packages, project file, store, dataset files, services."""
    from cortex_eval.cli.health import examine, examine_judges

    is_for_judges = judges or injections or bool(model)
    if is_for_judges:
        found = examine_judges(config, model, with_attacks=injections)
    else:
        found = examine(config, is_offline=offline)
    if as_json:
        print_json({"ok": all(each.ok for each in found), "checks": found})
    else:
        for each in found:
            message = f"\n{INDENT}".join(_lines(each.message))
            sign = "FAIL" if not each.ok else "warn" if each.is_warning else "ok  "
            out(f"{sign}  {each.name:<12} {message}")
    return 0 if all(each.ok for each in found) else 4


def _lines(message: str) -> list[str]:
    """What doctor says, in lines that fit; a command is not broken over two, for then it cannot be copied."""
    width = 80 - len(INDENT)
    lines: list[str] = []
    for line in message.splitlines():
        told, *command = re.split(r"(?<=:) (?=(?:cortex|pip) )", line, maxsplit=1) if len(line) > width else [line]
        lines += [*textwrap.wrap(told, width, break_long_words=False, break_on_hyphens=False), *command]
    return lines
