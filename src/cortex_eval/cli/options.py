"""What several commands share: options, the project, the store, and how answers are printed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from cortex_eval.core import InputError, StorageError, redact, redact_bytes, to_json
from cortex_eval.reports import in_a_line, width_of

if TYPE_CHECKING:  # its room is imported when it is needed
    from cortex_eval.config import Project
    from cortex_eval.storage import Location

json_option = click.option("--json", "as_json", is_flag=True, help="Print machine-readable JSON.")
config_option = click.option(
    "--config",
    type=click.Path(path_type=Path),
    help="The project file (default: cortex.yaml, else config/config.yaml).",
)
output_option = click.option(
    "--output-dir", type=click.Path(path_type=Path), help="Where reports go (default: output_dir of the project file)."
)


class NamedChoice(click.Choice[str]):
    """One of some names; the error for another offers the one that is meant, also for a short form such as `md`."""

    def get_invalid_choice_message(self, value: str, ctx: click.Context | None) -> str:
        """What is wrong, the names that there are, and the nearest."""
        names = [str(each) for each in self.choices]
        near = get_close_matches(value, names, n=1, cutoff=0.6) or [
            each for each in names if value and each[0] == value[0] and _is_within(value, each)
        ]
        said = super().get_invalid_choice_message(value, ctx)
        return f"{said} Did you mean {near[0]!r}?" if near else said


def _is_within(short: str, name: str) -> bool:
    """Whether a name has these letters in this order."""
    letters = iter(name)
    return all(letter in letters for letter in short)


class Opened(NamedTuple):
    """The store of a project, and where its reports go."""

    store: Any  # the Store; its room is imported when it is needed
    output_dir: Path
    charts: bool = True
    """Whether pages have them, as `dashboard:` says."""
    suites: Collection[str] = ()


fields_option = click.option(
    "--field", "fields", multiple=True, metavar="NAME=COLUMN", help="A column with another name, such as input=frage."
)
encoding_option = click.option("--encoding", help="Of a text file that is not UTF-8.")


@contextmanager
def open_project(config: Path | None, *, create: bool = False) -> Iterator[Opened]:
    """The store of the project in this folder, or the default one when there is no project file.

    A store that is not there is made only with `create`: whoever just looks finds an empty one and leaves no file. Of
    mistakes in the project file only those count that concern the store.
    """
    from cortex_eval.config import DEFAULT_FILES, DEFAULT_OUTPUT, DEFAULT_STORE, load_project
    from cortex_eval.storage import Store

    location: Location = Path(DEFAULT_STORE)
    output_dir, charts, suites = Path(DEFAULT_OUTPUT), True, frozenset[str]()
    if config is not None or any(Path(name).is_file() for name in DEFAULT_FILES):
        project = load_project(config, keep_problems=True)
        check_store(project)
        location, output_dir = project.store, project.output_dir
        charts, suites = project.model.dashboard.include_charts, frozenset(project.model.suites)
    with existing(location, create=create) as place, Store(place, advise=adviser(config)) as store:
        yield Opened(store, output_dir, charts, suites)


def check_store(project: Project) -> None:
    """Raise InputError when the project file does not say well where things are kept: nothing is opened then."""
    problems = [each for each in project.problems if each.field.startswith(("database", "output_dir"))]
    if problems:
        raise InputError(problems)


@contextmanager
def existing(location: Location, *, create: bool = False) -> Iterator[Location]:
    """The place of a store if there is one or if it may be made, else that of one which is forgotten afterwards."""
    if create or not isinstance(location, Path) or location.exists():
        yield location
        return
    with TemporaryDirectory(prefix="cortex-") as folder:
        yield Path(folder) / "cortex.db"


def make_folder(folder: Path, *, option: str = "--output-dir") -> None:
    """Make a folder that files can be written to, or say why that cannot be, and with which option to name another."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise StorageError(f"{folder} cannot be written to: {reason}. Choose another folder with {option}.") from error


def out(text: str, *, nl: bool = True) -> None:
    """A result: on stdout, without secrets."""
    _echo(redact(text), nl=nl)


def _echo(text: str, *, nl: bool = True) -> None:
    """When the reader has gone (`| head -1`), the command still ends with its own exit code."""
    try:
        click.echo(text, nl=nl)
    except BrokenPipeError:
        # Python would complain once more when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def hint(text: str) -> None:
    """Something useful that is not the result: on stderr, without secrets."""
    try:
        click.echo(redact(text), err=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def note(text: str) -> None:
    """A remark, as a hint; a terminal gets it in lines, but for a command, which stays in one piece."""
    said = f"Note: {text}"
    if sys.stderr.isatty() and "cortex " not in text:
        from textwrap import fill

        said = fill(said, 80, break_long_words=False, break_on_hyphens=False)
    hint(said)


def advised(command: str) -> str:
    """A command that is advised, with the project file that was named for this one."""
    context = click.get_current_context(silent=True)
    return adviser(context.params.get("config") if context else None)(command)


def adviser(config: Path | None) -> Callable[[str], str]:
    """What puts this project file, if one was named, into commands that are advised; for any thread."""

    def name(command: str) -> str:
        from cortex_eval.reports import with_project  # loads what a run does not begin with

        return with_project(command, config)

    return name


def print_json(value: object) -> None:
    """One JSON document on stdout, without secrets."""
    _echo(redact_bytes(to_json(value)).decode())


def cut(text: str, width: int) -> str:
    """A text in one line of at most this width, with control and invisible characters as escapes."""
    return in_a_line(text, width)


def cut_at_word(text: str, width: int) -> str:
    """`cut`, and never inside a word, unless that is half of the text."""
    whole, shown = cut(text, sys.maxsize), cut(text, width)
    if shown == whole:
        return shown
    kept = shown.removesuffix("…")
    before = kept.rpartition(" ")[0] if whole[len(kept)] != " " else kept
    return (before if 2 * len(before) > len(kept) else kept).rstrip(" ,;:([") + "…"


def counted(count: int, noun: str) -> str:
    """A number with its noun."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def when(stored: str) -> str:
    """A stored time as tables show it."""
    return stored[:16].replace("T", " ")


def table(rows: list[list[str]], *, header: list[str], right: tuple[int, ...] = ()) -> str:
    """Aligned columns, those of numbers to the right; the last one is not padded."""
    widths = [max(width_of(row[column]) for row in [header, *rows]) for column in range(len(header))]
    lines = []
    for row in [header, *rows]:
        cells = []
        for column, (cell, width) in enumerate(zip(row, widths, strict=True)):
            pad = " " * (width - width_of(cell))
            cells.append(pad + cell if column in right else cell + pad)
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def field_mapping(fields: tuple[str, ...]) -> dict[str, str]:
    """What `--field` was given, as canonical field to column."""
    pairs = [field.partition("=") for field in fields]
    for name, equals, column in pairs:
        if not equals or not name or not column:
            raise InputError(f"--field takes NAME=COLUMN, such as input=question, not {name!r}.")
    return {name: column for name, _, column in pairs}
