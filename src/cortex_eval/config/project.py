"""A project: its file found, read and checked as a whole, with every mistake told at once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any

from cortex_eval.config.document import ENVIRONMENT_FILE, Document, read_document, read_environment
from cortex_eval.config.mistakes import check_document, unknown_scorers, wrong_fields
from cortex_eval.config.model import ProjectModel
from cortex_eval.config.plugins import load_plugins
from cortex_eval.core import InputError, KeyPath, Problem, hide_password, is_secret, redact
from cortex_eval.storage import Location, parse_location, shown_location

DEFAULT_FILES = ("cortex.yaml", "config/config.yaml")
DEFAULT_STORE = ".cortex/cortex.db"
MASK = "***"
ALWAYS_USED: tuple[KeyPath, ...] = (("database",), ("plugins",), ("output_dir",), ("dashboard",))


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project file that was read and found good in itself; what a run needs of it is checked by `make_plans`."""

    document: Document
    model: ProjectModel
    root: Path
    """Relative paths in the project file start here."""
    store: Location = field(repr=False)
    """A file, or the URL of a database, which may hold a password: show it with `shown_location`."""
    output_dir: Path
    notes: tuple[str, ...] = field(default=())
    """What the user should know, though it is no mistake."""
    problems: tuple[Problem, ...] = ()
    """What is wrong with the file, when it was asked to be kept; `make_plans` tells it with what it finds itself."""
    is_named: bool = False
    """Whether somebody named the file, so that the same must be done in later commands."""

    @property
    def path(self) -> Path:
        """The project file."""
        return self.document.path


def load_project(path: Path | None = None, *, keep_problems: bool = False) -> Project:
    """The project of this folder, or the one whose file is named; raises InputError with all that is wrong.

    With `keep_problems` the project carries them instead, as far as the file can be read at all.
    """
    is_named = path is not None
    if path is None:
        path = next((Path(name) for name in DEFAULT_FILES if Path(name).is_file()), Path(DEFAULT_FILES[0]))
    root = path.parent.parent if path.parent.name == "config" else path.parent
    environment = read_environment(root)
    document = read_document(path, environment)
    beside = path.parent / "metrics_config.yaml"
    if beside.is_file():
        document.include("metrics", read_document(beside, environment))
    model, problems = check_document(document)
    problems += unset_variables(document, *ALWAYS_USED) + wrong_fields(document, model)
    from_plugins = load_plugins(document, model.plugins, root)
    problems += from_plugins or unknown_scorers(document)  # what a plugin would have registered is not missed
    store, more = _store(document, model, root)
    problems += more
    if problems and not keep_problems:
        raise all_problems(problems)
    return Project(
        document=document,
        model=model,
        root=root,
        store=store,
        output_dir=root / model.output_dir,
        notes=(*_notes(document, model), *_open_secrets(root)),
        problems=tuple(problems),
        is_named=is_named,
    )


def from_root(settings: Mapping[str, Any], root: Path) -> dict[str, Any]:
    """Settings with their relative paths starting at the project."""
    return {key: root / value if isinstance(value, Path) else value for key, value in settings.items()}


def all_problems(problems: Iterable[Problem]) -> InputError:
    """One error for all of them, each once, in the order of the file."""
    return InputError(sorted(dict.fromkeys(problems), key=lambda each: (each.file, each.line or 0)))


def unset_variables(document: Document, *places: KeyPath) -> list[Problem]:
    """A problem for each unset variable at or below these places."""
    return [
        document.problem(path, f"the environment variable {name} is not set. Set it, or put it into .env.")
        for path, name in document.unset.items()
        if any(path[: len(place)] == place for place in places)
    ]


def resolved(project: Project) -> dict[str, Any]:
    """The project with defaults filled in and secrets masked."""
    values = _plain(project.model)
    hidden = {("services", *path[1:]) for path in _hidden(project.document)}
    masked = _mask(values, (), hidden)
    assert isinstance(masked, dict)
    return masked


def _plain(value: Any) -> Any:  # Any: a model, or what it holds
    """A model as it would be written, without what is not set."""
    if is_dataclass(value) and not isinstance(value, type):
        plain: dict[str, Any] = {}
        for each in fields(value):
            held = getattr(value, each.name)
            if each.metadata.get("rest"):
                plain |= _plain(held)
            elif held is not None:
                plain[each.name] = _plain(held)
        return plain
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, (list, tuple)) else value


def mask_service(document: Document, name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a service without what must not be shown."""
    masked = _mask(dict(settings), (), {path[2:] for path in _hidden(document) if path[1] == name})
    assert isinstance(masked, dict)
    return masked


def _hidden(document: Document) -> set[KeyPath]:
    """Headers that came from the environment: they are keys by any name."""
    return {path for path in document.from_environment if len(path) == 4 and path[2] == "headers"}


def _mask(value: Any, path: KeyPath, hidden: set[KeyPath]) -> Any:  # Any: JSON
    if path and ((is_secret(path[-1]) and value) or path in hidden):
        return MASK
    if path[:1] == ("database",) and isinstance(value, str):
        return shown_location(value)
    if isinstance(value, dict):
        return {key: _mask(each, (*path, key), hidden) for key, each in value.items()}
    if isinstance(value, list):
        return [_mask(each, (*path, number), hidden) for number, each in enumerate(value)]
    return redact(hide_password(value)) if isinstance(value, str) else value


def _store(document: Document, model: ProjectModel, root: Path) -> tuple[Location, list[Problem]]:
    database = model.database
    if isinstance(database, str):
        written: str | None = database
    elif database.type == "postgresql" and not (database.url or "").startswith("postgres"):
        problem = "a PostgreSQL store needs its url, such as postgresql://user:${PASSWORD}@host:5432/name."
        return root / DEFAULT_STORE, [document.problem(("database",), problem)]
    else:
        written = database.url or database.path
    try:
        return parse_location(written or DEFAULT_STORE, root), []
    except InputError as error:
        return root / DEFAULT_STORE, [document.problem(("database",), str(error))]


def _open_secrets(root: Path) -> list[str]:
    file = root / ENVIRONMENT_FILE
    if os.name != "posix" or not file.is_file() or not file.stat().st_mode & 0o077:
        return []
    return [f"{file} can be read by other users of this machine. Make it yours alone: chmod 600 {file}"]


def _notes(document: Document, model: ProjectModel) -> list[str]:
    notes = []
    for path in document.lines:
        if path and is_secret(path[-1]) and path not in document.from_environment and path not in document.unset:
            value = document.value_at(path)
            if isinstance(value, str) and value:
                place = f"{document.file_of(path)}:{document.line_of(path)}"
                name = ".".join(map(str, path))
                notes.append(f"{place}: {name} is written out. Use ${{VARIABLE}} and keep it in .env.")
    if model.execution.engine == "ray":
        notes.append("execution.engine: ray is not there yet; the run is local.")
    return notes
