"""The sample projects in the package, and how one becomes a folder of the user's."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path, PurePosixPath

from cortex_eval.core import InputError, did_you_mean


def project_names() -> tuple[str, ...]:
    """The sample projects that can be copied, sorted."""
    return tuple(sorted(folder.name for folder in _projects().iterdir() if folder.is_dir()))


def copy_project(name: str, destination: Path) -> list[Path]:
    """Copy a sample project into a folder, which is made when absent; the files written, sorted.

    Nothing is written when a file of the project is already there: `InputError` names them all.
    """
    if name not in project_names():
        raise InputError(f"There is no sample project {name!r}. {did_you_mean(name, project_names())}")
    sources = {destination / path: source for path, source in _files(_projects() / name, PurePosixPath())}
    places = {place for path in sources for place in (path, *path.parents)}
    taken = sorted(place for place in places if place.exists() and (place in sources or not place.is_dir()))
    if taken:
        names = ", ".join(str(path) for path in taken)
        raise InputError(f"Already there, and not overwritten: {names}. Choose another folder, or move them away.")
    for path, source in sources.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(source.read_bytes())
    return sorted(sources)


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
