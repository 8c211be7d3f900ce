"""`cortex datasets`: look at, check, convert and compare datasets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from cortex_eval.analysis import KINDS, Rows, coverage_of
from cortex_eval.cli.options import (
    advised,
    config_option,
    counted,
    cut,
    encoding_option,
    field_mapping,
    fields_option,
    hint,
    json_option,
    open_project,
    out,
    print_json,
    table,
    when,
)
from cortex_eval.core import Case, Expected, InputError
from cortex_eval.datasets import CaseReader, compare_datasets, read_cases, validate_file, write_cases
from cortex_eval.reports import COVERAGE_COLUMNS, coverage_sentence

file_argument = click.argument("file", type=click.Path(path_type=Path))


@click.group()
def datasets() -> None:
    """Look at, check, convert and compare datasets."""


@datasets.command("list")
@config_option
@json_option
def list_datasets(config: Path | None, as_json: bool) -> None:
    """Every dataset that was imported or run, newest first."""
    with open_project(config) as here:
        found = here.store.datasets.all()
    if as_json:
        print_json(found)
    elif not found:
        hint(f"There are no datasets yet. Import one: {advised('cortex datasets import FILE')}")
    else:
        rows = [[cut(each.name, 40), each.version[:8], f"{each.cases:,}", when(each.created)] for each in found]
        out(table(rows, header=["name", "version", "cases", "imported (UTC)"], right=(2,)))


@datasets.command()
@click.argument("name", metavar="NAME|FILE")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True)
@fields_option
@encoding_option
@config_option
@json_option
def show(
    name: str, limit: int, fields: tuple[str, ...], encoding: str | None, config: Path | None, as_json: bool
) -> None:
    """The cases of a file, or of a dataset in the store, as Cortex understands them."""
    with _cases(name, fields, encoding, config) as found:
        cases = list(found)  # all of it: a mistake further down is told as well
    notes = found.notes if isinstance(found, CaseReader) else ()
    if as_json:
        print_json({"name": name, "total": len(cases), "cases": cases[:limit], "notes": notes})
        return
    rows = [
        [cut(case.id, 20), cut(case.category or "–", 14), str(len(case.turns)), cut(case.input, 36)]
        for case in cases[:limit]
    ]
    out(table(rows, header=["id", "category", "turns", "input"], right=(2,)))
    hint(counted(len(cases), "case") + (f"; {limit} shown, more with --limit" if len(cases) > limit else ""))
    hint(_described(cases))
    for note in notes:
        hint(note)


def _described(cases: list[Case]) -> str:
    """How many cases say what is expected, and which columns were only kept beside them."""
    nothing = Expected()
    expecting = sum(any(turn.expected != nothing for turn in case.turns) for case in cases)
    kept = sorted({key for case in cases for key in case.metadata})
    others = f"; kept as metadata: {', '.join(kept[:8])}{' …' if len(kept) > 8 else ''}" if kept else ""
    return f"{expecting:,} of them say what is expected{others}"


@datasets.command("import")
@file_argument
@click.option("--name", help="What to call it (default: the file's name).")
@fields_option
@encoding_option
@config_option
@json_option
def import_dataset(
    file: Path, name: str | None, fields: tuple[str, ...], encoding: str | None, config: Path | None, as_json: bool
) -> None:
    """Keep a dataset in the store, all of it or nothing."""
    reader = read_cases(file, fields=field_mapping(fields), encoding=encoding)
    with open_project(config, create=True) as here:
        _, version = here.store.datasets.keep(name or file.name, reader, file=str(file))
    if as_json:
        print_json({"name": name or file.name, "version": version, "cases": reader.cases, "notes": reader.notes})
    else:
        out(f"{name or file.name}: {counted(reader.cases, 'case')}, version {version[:8]}")
        for note in reader.notes:
            hint(note)


@datasets.command()
@click.argument("name", metavar="NAME|FILE")
@click.argument("output", type=click.Path(path_type=Path))
@fields_option
@encoding_option
@config_option
@json_option
def export(
    name: str, output: Path, fields: tuple[str, ...], encoding: str | None, config: Path | None, as_json: bool
) -> None:
    """Write a dataset to OUTPUT in the format of its ending: .jsonl, .json, .csv, .yaml, .parquet."""
    with _cases(name, fields, encoding, config) as cases:
        count = write_cases(cases, output)
    if as_json:
        print_json({"file": str(output), "cases": count})
    else:
        out(f"{output}: {counted(count, 'case')}")


@datasets.command()
@click.argument("name", metavar="FILE|SUITE|NAME")
@click.option("--by", type=click.Choice(["intent", "category"]), help="What the rows are (default: what there is).")
@fields_option
@encoding_option
@config_option
@json_option
def coverage(
    name: str, by: Rows | None, fields: tuple[str, ...], encoding: str | None, config: Path | None, as_json: bool
) -> None:
    """What a dataset tries out: intents by turns, context, entities and edge cases, with the gaps."""
    with _cases(name, fields, encoding, config, may_be_suite=True) as cases:
        found = coverage_of(cases, by=by)
    if as_json:
        print_json({"name": name, **found.to_dict()})
        return
    rows = [
        [
            cut(row_name, 30),
            f"{row.turns:,}",
            *(f"{row.counts[kind]:,}" if row.counts[kind] else "gap" for kind in KINDS),
        ]
        for row_name, row in found.rows.items()
    ]
    out(table(rows, header=[found.by, "turns", *COVERAGE_COLUMNS], right=tuple(range(1, 2 + len(KINDS)))))
    hint(f"{counted(found.cases, 'case')}: {coverage_sentence(found)}")


@contextmanager
def _cases(
    name: str, fields: tuple[str, ...], encoding: str | None, config: Path | None, *, may_be_suite: bool = False
) -> Iterator[Iterable[Case]]:
    """The cases of a file, or else of the suite of this name, or else of the dataset of this name in the store."""
    if Path(name).exists() or fields or encoding:
        yield read_cases(name, fields=field_mapping(fields), encoding=encoding)
        return
    if may_be_suite and (of_suite := _of_suite(name, config)) is not None:
        yield of_suite
        return
    with open_project(config) as here:
        try:
            yield here.store.datasets.cases_of(name)
        except InputError as error:
            raise InputError(f"There is no file {name!r}, and no such dataset in the store. {_known(error)}") from None


def _of_suite(name: str, config: Path | None) -> Iterable[Case] | None:
    from cortex_eval.config import DEFAULT_FILES, dataset_of, load_project

    if config is None and not any(Path(each).is_file() for each in DEFAULT_FILES):
        return None
    source = dataset_of(load_project(config, keep_problems=True), name)
    return None if source is None else read_cases(source.path, fields=source.fields, encoding=source.encoding)


def _known(error: InputError) -> str:
    return str(error).partition(". ")[2]


@datasets.command()
@file_argument
@fields_option
@encoding_option
@json_option
def validate(file: Path, fields: tuple[str, ...], encoding: str | None, as_json: bool) -> int:
    """Check a dataset file and tell every mistake with its line. Exit code 4 when there is one."""
    found = validate_file(file, fields=field_mapping(fields), encoding=encoding)
    if as_json:
        print_json(found.to_json())
    else:
        for problem in found.problems:
            hint(str(problem))
        if found.version is not None:
            out(f"{file}: {counted(found.cases, 'case')}, version {found.version[:8]}")
        else:
            hint(f"{file}: {counted(len(found.problems), 'mistake')}.")
        for note in found.notes:
            hint(note)
    return 0 if found.ok else 4


@datasets.command()
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@json_option
def diff(old: Path, new: Path, as_json: bool) -> None:
    """Which cases were added, removed or changed from OLD to NEW."""
    found = compare_datasets(old, new)
    if as_json:
        print_json(found.to_json())
        return
    for mark, ids in (("+", found.added), ("-", found.removed)):
        for case_id in ids:
            out(f"{mark} {cut(case_id, 70)}")
    for changed in found.changed:
        out(f"~ {cut(changed.id, 40)}  {', '.join(changed.fields)}")
    out(f"{len(found.added):,} added, {len(found.removed):,} removed, {len(found.changed):,} changed")
