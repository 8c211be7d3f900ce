"""What several commands share: options, the project, the store, and how answers are printed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from cortex_eval.core import to_json

F = TypeVar("F", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print machine-readable JSON.")
config_option = click.option(
    "--config",
    type=click.Path(path_type=Path),
    help="The project file (default: cortex.yaml, else config/config.yaml).",
)
output_option = click.option(
    "--output-dir", type=click.Path(path_type=Path), help="Where reports go (default: reports/evaluation)."
)


@contextmanager
def open_store(config: Path | None) -> Iterator[Any]:  # Any: the Store; its room is imported when it is needed
    """The store of the project in this folder, or the default one when there is no project file."""
    from cortex_eval.config import DEFAULT_FILES, DEFAULT_STORE, load_project
    from cortex_eval.storage import Store

    has_project = config is not None or any(Path(name).is_file() for name in DEFAULT_FILES)
    path = load_project(config).store_path if has_project else Path(DEFAULT_STORE)
    with Store(path) as store:
        yield store


def print_json(value: object) -> None:
    """One JSON document on stdout."""
    click.echo(to_json(value).decode())


def hint(text: str) -> None:
    """Something useful that is not the result: on stderr."""
    click.echo(text, err=True)


def cut(text: str, width: int) -> str:
    """A text in one line of at most this width."""
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 1] + "…"


def table(rows: list[list[str]], *, header: list[str]) -> str:
    """Aligned columns; the last one is not padded."""
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    lines = []
    for row in [header, *rows]:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
