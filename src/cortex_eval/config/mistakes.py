"""What pydantic finds wrong in a project file, said in our words: file, line, key, and the nearest valid one."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from cortex_eval.config.document import Document, KeyPath, is_secret
from cortex_eval.config.model import ProjectModel, ScorerModel, WeightsModel
from cortex_eval.core import Problem, did_you_mean, short_repr, shorten

NOT_SCORERS = ("metric_weights", "passing_threshold")
TWINS = {"services": "targets", "service": "target"}
"""Pairs of keys that mean the same."""
_OTHER_SPELLING = {**TWINS, **{second: first for first, second in TWINS.items()}}
_WANTED = {
    "bool_type": "true or false",
    "dict_type": "keys and values",
    "float_type": "a number",
    "int_type": "a whole number",
    "list_type": "a list",
    "model_type": "keys and values",
    "string_type": "text",
}


class Checked(NamedTuple):
    """A project file as far as it could be understood, and what is wrong with it."""

    model: ProjectModel
    problems: list[Problem]


def check_document(document: Document) -> Checked:
    """Read the values into the model, leaving out what is wrong, so that later steps can find more mistakes.

    A value that is wrong only because its variable is not set is left out without a word: whether that matters depends
    on what is run.
    """
    problems = _said_twice(document)
    values = deepcopy(document.values)
    for first, second in _twins(values):
        _remove(values, (*first[:-1], second))
    problems += _metrics_problems(document)
    told = False
    while True:
        try:
            return Checked(ProjectModel.model_validate(values), problems)
        except ValidationError as error:
            found = [
                each for each in validation_problems(document, error, ProjectModel) if not _is_unset(document, each)
            ]
            problems += [] if told else found
            told = True  # what comes up after a removal is its consequence
            places = {_keyed_place(values, _written_path(each["loc"], document, ())) for each in error.errors()}
            for place in sorted(places, key=len, reverse=True):
                _remove(values, place)


def validation_problems(
    document: Document, error: ValidationError, model: type[BaseModel], start: KeyPath = ()
) -> list[Problem]:
    """Pydantic's findings as problems with file, line and the nearest valid key."""
    problems: dict[KeyPath, Problem] = {}
    wanted: dict[KeyPath, list[str]] = {}
    errors = [(start + _written_path(each["loc"], document, start), each) for each in error.errors()]
    for path, each in errors:
        where = ".".join(map(str, path))
        if each["type"] == "extra_forbidden":
            known = _known_keys(model, each["loc"][:-1])
            message = f"there is no key {where!r}. {did_you_mean(str(each['loc'][-1]), known)}"
        elif each["type"] == "missing":
            message = f"{where} is missing."
        elif each["type"] in _WANTED and any(
            len(other) > len(path) and other[: len(path)] == path for other, _ in errors
        ):
            continue  # another branch of a union fits better, and says what is wrong inside
        else:
            wordings = wanted.setdefault(path, [])
            wordings += [wording for wording in [_wording(each)] if wording not in wordings]
            message = f"{where}: must be {' or '.join(wordings)}, not {_found(path, each['input'])}."
        problems[path] = document.problem(path, message)
    return list(problems.values())


def _is_unset(document: Document, problem: Problem) -> bool:
    return any(problem.field == ".".join(map(str, path)) for path in document.unset)


def _said_twice(document: Document) -> list[Problem]:
    return [
        document.problem((*path[:-1], second), f"{path[-1]!r} and {second!r} are the same key; use one of them.")
        for path, second in _twins(document.values)
    ]


def _twins(values: dict[str, Any]) -> list[tuple[KeyPath, str]]:
    suites = values.get("suites")
    blocks: list[tuple[KeyPath, Any]] = [((), values)]
    blocks += [(("suites", name), suite) for name, suite in suites.items()] if isinstance(suites, dict) else []
    return [
        ((*place, first), second)
        for place, block in blocks
        for first, second in TWINS.items()
        if isinstance(block, dict) and first in block and second in block
    ]


def _metrics_problems(document: Document) -> list[Problem]:
    """What is wrong in `metrics` whichever scorer it is for; their own settings are checked when they are used."""
    metrics = document.values.get("metrics")
    if not isinstance(metrics, dict):
        return []
    problems: list[Problem] = []
    blocks: list[tuple[KeyPath, type[BaseModel], Any]] = [
        (("metrics",), WeightsModel, {key: metrics[key] for key in NOT_SCORERS if key in metrics})
    ]
    blocks += [(("metrics", name), ScorerModel, metrics[name] or {}) for name in metrics if name not in NOT_SCORERS]
    for path, model, block in blocks:
        try:
            model.model_validate(block)
        except ValidationError as error:
            problems += validation_problems(document, error, model, path)
    return [each for each in problems if not _is_unset(document, each)]


def _wording(error: ErrorDetails) -> str:
    if error["type"] == "literal_error":
        return str(error.get("ctx", {}).get("expected", ""))
    wanted = _WANTED.get(error["type"]) or error["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    return wanted.removeprefix("must be ")


def _found(path: KeyPath, value: object) -> str:
    return "what is there (it is not shown)" if path and is_secret(path[-1]) else shorten(short_repr(value))


def _keyed_place(values: dict[str, Any], path: KeyPath) -> KeyPath:
    """The nearest thing at or around this place that has a key: a whole list, for one of its items."""
    here: Any = values
    place: KeyPath = ()
    for number, key in enumerate(path, 1):
        if isinstance(here, dict) and key in here:
            place = path[:number]
            here = here[key]
        elif isinstance(here, list) and isinstance(key, int) and key < len(here):
            here = here[key]
        else:
            break
    assert place, "a mistake lies in a key that is there"
    return place


def _remove(values: dict[str, Any], place: KeyPath) -> None:
    here: Any = values
    for key in place[:-1]:
        here = here[key]
    del here[place[-1]]


def _written_path(loc: tuple[int | str, ...], document: Document, start: KeyPath) -> KeyPath:
    """The path as written: pydantic adds the branches of unions, and uses aliases or names as it likes."""
    path: KeyPath = ()
    for number, key in enumerate(loc):
        is_last = number == len(loc) - 1
        for candidate in (key, _OTHER_SPELLING.get(str(key), key)):
            if (*start, *path, candidate) in document.lines or (is_last and candidate == key and not _is_branch(key)):
                path = (*path, candidate)
                break
    return path


def _is_branch(key: str | int) -> bool:
    return isinstance(key, str) and (
        key in ("str", "int", "float", "bool", "none") or "[" in key or key.endswith("Model")
    )


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


def _model_in(info: FieldInfo) -> Any:  # Any: a model class, or None
    """The model inside an annotation such as `dict[str, Model]` or `Model | None`."""
    waiting: list[Any] = [info.annotation]
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return kind
        waiting += getattr(kind, "__args__", ())
    return None
