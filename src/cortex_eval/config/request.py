"""What somebody asks a project to run: which suite, which of its cases, which dataset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from cortex_eval.config.model import SuiteModel
from cortex_eval.config.plan import DatasetSource
from cortex_eval.config.project import Project
from cortex_eval.core import InputError, Problem, did_you_mean
from cortex_eval.datasets import CaseRow, Selection, near_file, quick, read_cases


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What somebody asks a project to run."""

    suite: str | None = None
    dataset: Path | None = None
    service: str | None = None
    selection: Selection = field(default_factory=Selection)
    is_quick: bool = False
    changed_since: str | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    encoding: str | None = None
    repeats: int | None = None
    at_once: int | None = None
    baseline: str | None = None
    fail_under: float | None = None
    is_offline: bool = False
    is_release: bool = False
    checks_dataset: bool = False
    """Whether a dataset that is not there is told with the mistakes of the project file."""

    def as_asked(self) -> dict[str, Any]:
        """What a resume must ask for again."""
        names = ("suite", "dataset", "service", "fields", "encoding", "repeats")
        return {name: getattr(self, name) for name in names}


class Outline(NamedTuple):
    """A suite by name: its targets and its cases."""

    suite: str
    services: tuple[str, ...]
    """An empty name: the project's default."""
    case_ids: tuple[str, ...]
    """Those that the request chooses, in the order of the dataset."""


def outline(project: Project, request: Request) -> Outline:
    """The targets and cases that a request names; raises InputError when there is no such suite or no such case."""
    name, suite = find_suite(project, request)
    services = [request.service] if request.service else suite.services or [suite.service or ""]
    source = find_dataset(project, request, suite)
    ids: list[str] = []

    def counted() -> Iterator[CaseRow]:
        for row in read_cases(source.path, fields=source.fields, encoding=source.encoding).rows():
            ids.append(row.id)
            yield row

    chosen = find_selection(project, request, suite).choose(counted())
    return Outline(name, tuple(services), tuple(ids[ordinal] for ordinal in sorted(chosen.ordinals)))


def find_suite(project: Project, request: Request) -> tuple[str, SuiteModel]:
    """The suite that a request names, or means."""
    suites = project.model.suites
    if request.suite is not None:
        if request.suite not in suites:
            raise InputError(
                f"{project.path}: there is no suite {request.suite!r}. {did_you_mean(request.suite, suites)}"
            )
        return request.suite, suites[request.suite]
    if request.dataset is not None:
        return request.dataset.stem, SuiteModel(dataset=str(request.dataset))
    if len(suites) == 1:
        return next(iter(suites.items()))
    hint = f"Name a suite: {', '.join(suites)}." if suites else "Name a dataset with --dataset FILE."
    raise InputError(f"{project.path} does not say what to run. {hint}")


def find_selection(project: Project, request: Request, suite: SuiteModel) -> Selection:
    """The cases that a request asks for."""
    selection = replace(request.selection, seed=project.model.execution.seed)
    return quick(selection, per_category=suite.quick.per_category) if request.is_quick else selection


def dataset_of(project: Project, suite: str) -> DatasetSource | None:
    """The dataset of the suite of this name; None when there is no such suite."""
    if suite not in project.model.suites:
        return None
    return find_dataset(project, Request(suite=suite), project.model.suites[suite])


def missing_dataset(project: Project, request: Request, name: str, suite: SuiteModel) -> list[Problem]:
    """A problem at the place in the project file that names a dataset which is not there."""
    path = find_dataset(project, request, suite).path
    if not request.checks_dataset or request.dataset is not None or path.exists():
        return []
    message = f"suites.{name}.dataset: there is no file {path}.{near_file(path)}"
    return [project.document.problem(("suites", name, "dataset"), message)]


def find_dataset(project: Project, request: Request, suite: SuiteModel) -> DatasetSource:
    """The dataset that a request names, or that its suite does."""
    fields, encoding = {**suite.fields, **request.fields}, request.encoding or suite.encoding
    if request.dataset is not None:
        return DatasetSource(path=request.dataset, fields=fields, encoding=encoding)
    if isinstance(suite.dataset, str):
        return DatasetSource(path=project.root / suite.dataset, fields=fields, encoding=encoding)
    named = suite.dataset
    return DatasetSource(
        path=project.root / named.path, fields={**named.fields, **fields}, encoding=encoding or named.encoding
    )
