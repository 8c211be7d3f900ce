"""A project: its file found, read and checked as a whole, with every mistake told at once."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from cortex_eval.config.document import Document, KeyPath, read_document, read_environment
from cortex_eval.config.model import ProjectModel
from cortex_eval.core import InputError, Problem, did_you_mean, short_repr, shorten

DEFAULT_FILES = ("cortex.yaml", "config/config.yaml")
DEFAULT_STORE = ".cortex/cortex.db"
MASK = "***"
SECRET_NAMES = ("api_key", "token", "password", "secret")


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project file that was read and found good in itself; what a run needs of it is checked by `make_plans`."""

    document: Document
    model: ProjectModel
    root: Path
    """Relative paths in the project file start here."""
    store_path: Path
    output_dir: Path
    notes: tuple[str, ...] = field(default=())
    """What the user should know, though it is no mistake."""

    @property
    def path(self) -> Path:
        """The project file."""
        return self.document.path

    def values_at(self, *path: str) -> Any:
        """The values as written at this place; None when nothing is there."""
        here: Any = self.document.values
        for key in path:
            here = here.get(key) if isinstance(here, dict) else None
        return here


def load_project(path: Path | None = None) -> Project:
    """The project of this folder, or the one whose file is named; raises InputError with all that is wrong."""
    if path is None:
        path = next((Path(name) for name in DEFAULT_FILES if Path(name).is_file()), Path(DEFAULT_FILES[0]))
    root = path.parent.parent if path.parent.name == "config" else path.parent
    document = read_document(path, read_environment(root))
    _include_metrics(document, root)
    model = _validate(document)
    _load_plugins(document, model, root)
    store_path, problems = _store_path(document, model, root)
    problems += _unused_keys(document)
    if problems:
        raise InputError(problems)
    return Project(
        document=document,
        model=model,
        root=root,
        store_path=store_path,
        output_dir=root / model.output_dir,
        notes=tuple(_notes(document, model)),
    )


def unset_variables(document: Document, *places: KeyPath) -> list[Problem]:
    """A problem for each unset variable at or below these places."""
    return [
        document.problem(path, f"the environment variable {name} is not set. Set it, or put it into .env.")
        for path, name in document.unset.items()
        if any(path[: len(place)] == place for place in places)
    ]


def resolved(project: Project) -> dict[str, Any]:
    """The project with defaults filled in and secrets masked."""
    values = project.model.model_dump(mode="json", exclude_none=True)
    masked = _mask(values)
    assert isinstance(masked, dict)
    return masked


def project_schema() -> dict[str, Any]:
    """The JSON Schema of the project file."""
    schema = ProjectModel.model_json_schema(by_alias=False)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "Cortex project file"
    schema["properties"]["targets"] = schema["properties"]["services"]
    suite = schema["$defs"]["SuiteModel"]["properties"]
    suite["target"], suite["targets"] = suite["service"], suite["services"]
    return schema


def _mask(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: MASK if key in SECRET_NAMES and each else _mask(each) for key, each in value.items()}
    return [_mask(each) for each in value] if isinstance(value, list) else value


def _include_metrics(document: Document, root: Path) -> None:
    """Lay a `metrics_config.yaml` beside the project file under its `metrics`; the project file wins."""
    beside = document.path.parent / "metrics_config.yaml"
    if not beside.is_file():
        return
    included = read_document(beside, read_environment(root)).values
    included = included.get("metrics", included)
    own = document.values.get("metrics")
    document.values["metrics"] = {**included, **(own or {})}


def _validate(document: Document) -> ProjectModel:
    try:
        return ProjectModel.model_validate(document.values)
    except ValidationError as error:
        raise InputError(validation_problems(document, error, ProjectModel)) from error


def validation_problems(
    document: Document, error: ValidationError, model: type[BaseModel], start: KeyPath = ()
) -> list[Problem]:
    """Pydantic's findings as problems with file, line and the nearest valid key."""
    problems: dict[tuple[KeyPath, str], Problem] = {}
    for each in error.errors():
        path = start + _written_path(each["loc"], document, start)
        where = ".".join(map(str, path))
        if each["type"] == "extra_forbidden":
            key = str(each["loc"][-1])
            message = f"there is no key {where!r}. {did_you_mean(key, _known_keys(model, each['loc'][:-1]))}"
        elif each["type"] == "missing":
            message = f"{where} is missing."
        else:
            message = f"{where}: {_wording(each['msg'])}, not {shorten(short_repr(each['input']))}."
        problems[path, message] = document.problem(path, message)
    return list(problems.values())


def _wording(message: str) -> str:
    return message.replace("Input should be", "must be").replace("Value error, ", "")


def _written_path(loc: tuple[int | str, ...], document: Document, start: KeyPath) -> KeyPath:
    """The path as written: pydantic adds the branches of unions, and uses aliases or names as it likes."""
    path: KeyPath = ()
    for number, key in enumerate(loc):
        is_last = number == len(loc) - 1
        for candidate in _spellings(key):
            if (*start, *path, candidate) in document.lines or (is_last and candidate == key and not _is_branch(key)):
                path = (*path, candidate)
                break
    return path


def _is_branch(key: str | int) -> bool:
    return isinstance(key, str) and (
        key in ("str", "int", "float", "bool", "none") or "[" in key or key.endswith("Model")
    )


def _spellings(key: str | int) -> tuple[str | int, ...]:
    twins = {"services": "targets", "targets": "services", "service": "target", "target": "service"}
    return (key, twins[key]) if isinstance(key, str) and key in twins else (key,)


def _known_keys(model: type[BaseModel], loc: tuple[int | str, ...]) -> list[str]:
    """The keys that are valid at a place, found by walking the models."""
    here: Any = model
    for key in loc:
        if isinstance(here, type) and issubclass(here, BaseModel):
            info = here.model_fields.get(str(key)) or next(
                (each for each in here.model_fields.values() if each.alias == key), None
            )
            here = _model_in(info) if info else here
    if not (isinstance(here, type) and issubclass(here, BaseModel)):
        return []
    return [*here.model_fields, *(info.alias for info in here.model_fields.values() if info.alias)]


def _model_in(info: FieldInfo) -> Any:
    """The model inside an annotation such as `dict[str, Model]` or `Model | None`."""
    waiting: list[Any] = [info.annotation]
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return kind
        waiting += getattr(kind, "__args__", ())
    return None


def _load_plugins(document: Document, model: ProjectModel, root: Path) -> None:
    problems: list[Problem] = []
    for number, name in enumerate(model.plugins):
        try:
            _load_plugin(name, root)
        except InputError as error:
            problems.append(document.problem(("plugins", number), f"plugin {name}: {error}"))
        except Exception as error:  # noqa: BLE001  # a plugin is foreign code
            first = f"{type(error).__name__}: {error}".splitlines()[0]
            problems.append(document.problem(("plugins", number), f"plugin {name} cannot be loaded: {shorten(first)}"))
    if problems:
        raise InputError(problems)


def _load_plugin(name: str, root: Path) -> None:
    if not name.endswith(".py"):
        importlib.import_module(name)
        return
    file = root / name
    if not file.is_file():
        raise InputError(f"there is no file {file}.")
    spec = importlib.util.spec_from_file_location(f"cortex_plugin_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)


def _store_path(document: Document, model: ProjectModel, root: Path) -> tuple[Path, list[Problem]]:
    database = model.database
    if isinstance(database, str):
        url, path = (database, None) if "://" in database else (None, database)
    else:
        url, path = database.url, database.path
        if database.type == "postgresql" and url is None:
            url = "postgresql://"
    if url is not None and not url.startswith("sqlite:///"):
        problem = "only SQLite stores are supported by this version; give database.path, a file."
        return root / DEFAULT_STORE, [document.problem(("database",), problem)]
    if url is not None:
        path = url.removeprefix("sqlite:///")
    return root / (path or DEFAULT_STORE), []


def _unused_keys(document: Document) -> list[Problem]:
    values = document.values
    if "services" in values and "targets" in values:
        return [document.problem(("targets",), "'services' and 'targets' are the same key; use one of them.")]
    return []


def _notes(document: Document, model: ProjectModel) -> list[str]:
    notes = []
    for path in document.lines:
        if path and path[-1] in SECRET_NAMES and path not in document.from_environment and path not in document.unset:
            value: Any = document.values
            for key in path:
                value = value[key]
            if isinstance(value, str) and value:
                place = f"{document.path}:{document.line_of(path)}"
                notes.append(
                    f"{place}: {'.'.join(map(str, path))} is written out. Use ${{VARIABLE}} and keep it in .env."
                )
    if model.execution.budget_usd is not None:
        notes.append("execution.budget_usd is read, but no target of this version reports costs: nothing is stopped.")
    if model.execution.engine == "ray":
        notes.append("execution.engine: ray is not there yet; the run is local.")
    return notes
