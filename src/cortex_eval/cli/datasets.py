"""`cortex datasets`: look at, check, convert and compare datasets."""

from __future__ import annotations

from pathlib import Path

import click

from cortex_eval.cli.options import config_option, cut, hint, json_option, open_store, print_json, table
from cortex_eval.core import InputError, to_json
from cortex_eval.datasets import compare_datasets, read_cases, validate_file, write_cases

file_argument = click.argument("file", type=click.Path(path_type=Path))
fields_option = click.option(
    "--field", "fields", multiple=True, metavar="NAME=COLUMN", help="A column with another name, such as input=frage."
)
encoding_option = click.option("--encoding", help="Of a text file that is not UTF-8.")


def _mapping(fields: tuple[str, ...]) -> dict[str, str]:
    pairs = [field.partition("=") for field in fields]
    for name, equals, column in pairs:
        if not equals or not name or not column:
            raise InputError(f"--field takes NAME=COLUMN, such as input=question, not {name!r}.")
    return {name: column for name, _, column in pairs}


@click.group()
def datasets() -> None:
    """Look at, check, convert and compare datasets."""


@datasets.command("list")
@config_option
@json_option
def list_datasets(config: Path | None, as_json: bool) -> None:
    """Every dataset that was imported or run, newest first."""
    with open_store(config) as store:
        found = store.datasets.all()
    if as_json:
        print_json(found)
    elif not found:
        hint("There are no datasets yet. Import one: cortex datasets import FILE")
    else:
        rows = [[each.name, each.version[:8], str(each.cases), each.created[:16].replace("T", " ")] for each in found]
        click.echo(table(rows, header=["name", "version", "cases", "imported"]))


@datasets.command()
@file_argument
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True)
@fields_option
@encoding_option
@json_option
def show(file: Path, limit: int, fields: tuple[str, ...], encoding: str | None, as_json: bool) -> None:
    """The cases of a file as Cortex understands them."""
    reader = read_cases(file, fields=_mapping(fields), encoding=encoding)
    cases = list(reader)  # all of it: a mistake further down is told as well
    if as_json:
        print_json({"version": reader.version, "cases": cases[:limit]})
        return
    rows = [[case.id, case.category or "–", cut(case.input, 44)] for case in cases[:limit]]
    click.echo(table(rows, header=["id", "category", "input"]))
    hint(f"{len(cases)} cases, version {reader.version[:8]}" + (f"; {limit} shown" if len(cases) > limit else ""))


@datasets.command("import")
@file_argument
@click.option("--name", help="What to call it (default: the file's name).")
@fields_option
@encoding_option
@config_option
def import_dataset(
    file: Path, name: str | None, fields: tuple[str, ...], encoding: str | None, config: Path | None
) -> None:
    """Keep a dataset in the store, all of it or nothing."""
    reader = read_cases(file, fields=_mapping(fields), encoding=encoding)
    with open_store(config) as store:
        _, version = store.datasets.keep(name or file.name, reader, file=str(file))
    click.echo(f"{name or file.name}: {reader.cases} cases, version {version[:8]}")


@datasets.command()
@click.argument("name", metavar="NAME|FILE")
@click.argument("output", type=click.Path(path_type=Path))
@config_option
def export(name: str, output: Path, config: Path | None) -> None:
    """Write a dataset to OUTPUT in the format of its ending: .jsonl, .json, .csv, .yaml, .parquet."""
    if Path(name).is_file():
        count = write_cases(read_cases(name), output)
    else:
        with open_store(config) as store:
            count = write_cases(store.datasets.cases_of(name), output)
    click.echo(f"{output}: {count} cases")


@datasets.command()
@file_argument
@fields_option
@encoding_option
@json_option
def validate(file: Path, fields: tuple[str, ...], encoding: str | None, as_json: bool) -> int:
    """Check a dataset file and tell every mistake with its line. Exit code 4 when there is one."""
    found = validate_file(file, fields=_mapping(fields), encoding=encoding)
    if as_json:
        print_json(found.to_json())
    else:
        for problem in found.problems:
            click.echo(str(problem), err=True)
        if found.version is not None:
            click.echo(f"{file}: {found.cases} cases, version {found.version[:8]}")
    return 0 if found.ok else 4


@datasets.command()
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@json_option
def diff(old: Path, new: Path, as_json: bool) -> None:
    """Which cases were added, removed or changed from OLD to NEW."""
    found = compare_datasets(old, new)
    if as_json:
        click.echo(to_json(found.to_json()).decode())
        return
    for mark, ids in (("+", found.added), ("-", found.removed)):
        for case_id in ids:
            click.echo(f"{mark} {case_id}")
    for changed in found.changed:
        click.echo(f"~ {changed.id}  {', '.join(changed.fields)}")
    click.echo(f"{len(found.added)} added, {len(found.removed)} removed, {len(found.changed)} changed")
