"""The sample projects in the package, and how one becomes a folder of the user's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path, PurePosixPath

from cortex_eval.core import InputError, StorageError, did_you_mean


def project_names() -> tuple[str, ...]:
    """The sample projects that can be copied, sorted."""
    return tuple(sorted(folder.name for folder in _projects().iterdir() if folder.is_dir()))


def copy_project(name: str, destination: Path) -> list[Path]:
    """Copy a sample project into a folder, which is made when absent; the files written, sorted.

    Nothing is written when a file of the project is already there: `InputError` names them all. Nothing is left behind
    when one cannot be written: `StorageError` says why.
    """
    if name not in project_names():
        raise InputError(f"There is no sample project {name!r}. {did_you_mean(name, project_names())}")
    sources = {destination / path: source for path, source in _files(_projects() / name, PurePosixPath())}
    with all_or_none(destination) as written:
        places = {place for path in sources for place in (path, *path.parents)}
        taken = sorted(place for place in places if os.path.lexists(place) and (place in sources or not place.is_dir()))
        if taken:
            names = ", ".join(str(path) for path in taken)
            raise InputError(f"Already there, and not overwritten: {names}. Choose another folder, or move them away.")
        for path, source in sources.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            written.append(path)
            path.write_bytes(source.read_bytes())
    return sorted(written)


@contextmanager
def all_or_none(folder: Path) -> Iterator[list[Path]]:
    """Takes the files that are written in it; when one of them cannot be, all are removed: `StorageError`."""
    written: list[Path] = []
    try:
        yield written
    except OSError as error:
        for path in written:
            with suppress(OSError):
                path.unlink()
        reason = error.strerror or type(error).__name__
        raise StorageError(f"{error.filename or folder} cannot be written: {reason}. Choose another folder.") from error


def _projects() -> Traversable:
    return files("cortex_eval.demo") / "projects"


def _files(folder: Traversable, inside: PurePosixPath) -> Iterator[tuple[PurePosixPath, Traversable]]:
    for entry in folder.iterdir():
        if entry.name == "__pycache__":  # left by whoever imported a project's Python file in place
            continue
        if entry.is_dir():
            yield from _files(entry, inside / entry.name)
        else:
            yield inside / entry.name, entry
