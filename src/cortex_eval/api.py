"""Cortex from Python: evaluate a callable in a script, a notebook or a test."""

from __future__ import annotations

import asyncio
import inspect
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import Any, ParamSpec

from cortex_eval.analysis import Report
from cortex_eval.config import (
    DEFAULT_STORE,
    DatasetSource,
    Models,
    Plan,
    ScorerLike,
    read_gate,
    read_options,
    read_scorers,
)
from cortex_eval.core import Case, InputError, did_you_mean, short_repr
from cortex_eval.datasets import Selection, cases_from
from cortex_eval.engine import execute
from cortex_eval.net import BREAK_AFTER, Patience
from cortex_eval.storage import Store
from cortex_eval.targets import PythonTarget, Target

P = ParamSpec("P")
CasesLike = str | Path | Iterable[Case | Mapping[str, Any]]
TargetLike = Target | Callable[..., Any]


def _checked(evaluating: Callable[P, Coroutine[Any, Any, Report]]) -> Callable[P, Coroutine[Any, Any, Report]]:
    """The same, with an option that is not known told in our words."""

    @wraps(evaluating)
    async def checked(*args: P.args, **kwargs: P.kwargs) -> Report:
        _check_call(evaluating, "evaluate_async", args, kwargs)
        return await evaluating(*args, **kwargs)

    return checked


@_checked
async def evaluate_async(
    cases: CasesLike,
    target: TargetLike,
    scorers: Sequence[ScorerLike],
    *,
    models: Models | None = None,
    at_once: int = 10,
    repeats: int = 1,
    passing_threshold: float = 0.7,
    timeout_s: float = 30.0,
    retries: int = 0,
    thresholds: Mapping[str, float] | None = None,
    gate: Mapping[str, Any] | None = None,
    baseline: str | None = None,
    name: str = "evaluate",
    version: str | None = None,
    fields: Mapping[str, str] | None = None,
    store: str | Path | None = DEFAULT_STORE,
    resume: str | None = None,
) -> Report:
    """Play the cases against the target and score every reply.

    `cases` is a dataset file, or cases, or rows as a dataset file would hold them; `fields` names columns that are
    called otherwise. `target` is a function of the question (sync or async) or a `Target`. `scorers` holds what
    `scorers:` of a project file may, functions marked with `@scorer`, or scorer objects; `models` and `gate` are
    its blocks of those names, and `baseline` a run with a name in the store. Everything is kept in
    `store`; with None it is forgotten with the report.
    """
    planned = read_scorers(scorers, models)
    names = [each.name for each in planned]
    options = read_options(
        names,
        at_once=at_once,
        repeats=repeats,
        passing_threshold=passing_threshold,
        timeout_s=timeout_s,
        retries=retries,
        thresholds={} if thresholds is None else thresholds,
        baseline=baseline,
        name=name,
        version=version,
        fields={} if fields is None else fields,
        store=store,
        resume=resume,
    )
    asked = _asked(target)
    dataset, notes = _dataset(cases, options.fields)
    if isinstance(dataset, DatasetSource):
        asked.asked_from(dataset.path)
    plan = Plan(
        suite=name,
        dataset=dataset,
        target=asked,
        target_name=_name_of(target),
        target_version=version,
        scorers=planned,
        passing_threshold=options.passing_threshold,
        at_once=options.at_once,
        repeats=options.repeats,
        patience=Patience(
            timeout_s=options.timeout_s,
            retries=options.retries,
            break_after=BREAK_AFTER if asked.is_remote else None,
        ),
        gate=read_gate(gate, names, thresholds=options.thresholds, baseline=baseline),
        selection=Selection(),
        notes=notes,
    )
    kept = Store(store) if store is not None else _temporary_store()
    with kept:
        return await execute(plan, kept, resume=resume)


def _blocking(asynchronous: Callable[P, Coroutine[Any, Any, Report]]) -> Callable[P, Report]:
    """The same for code that is not async; where a loop is already running, in a thread with a loop of its own."""

    @wraps(asynchronous)
    def blocking(*args: P.args, **kwargs: P.kwargs) -> Report:
        _check_call(asynchronous, "evaluate", args, kwargs)
        run = partial(asyncio.run, asynchronous(*args, **kwargs))
        return _in_a_thread(run) if _is_loop_running() else run()

    blocking.__name__ = blocking.__qualname__ = "evaluate"
    return blocking


evaluate = _blocking(evaluate_async)


def _is_loop_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _check_call(function: Callable[..., Any], called: str, args: tuple[Any, ...], options: Mapping[str, Any]) -> None:
    """Tell what is wrong with a call under the name that was called; the values are looked at later."""
    signature = inspect.signature(function)
    for name in options:
        if name not in signature.parameters:
            raise InputError(f"{called}() has no option {name!r}. {did_you_mean(name, signature.parameters)}")
    try:
        signature.bind(*args, **options)
    except TypeError as error:
        raise TypeError(f"{called}(): {error}") from None


def _in_a_thread(work: Callable[[], Report]) -> Report:
    """Run in a thread with a loop of its own, as this one's is taken; errors come back here."""
    outcome: list[Report | BaseException] = []

    def run() -> None:
        try:
            outcome.append(work())
        except BaseException as error:  # noqa: BLE001  # handed to the caller below
            outcome.append(error)

    thread = threading.Thread(target=run, name="cortex-evaluate")
    thread.start()
    thread.join()
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]


def _asked(target: TargetLike) -> Target:
    if isinstance(target, Target):
        return target
    if not callable(target) or (isinstance(target, type) and issubclass(target, Target)):
        raise InputError(f"target must be a function of the question, or a Target object, not {short_repr(target)}.")
    return PythonTarget.of(target)


def _dataset(cases: CasesLike, fields: Mapping[str, str]) -> tuple[DatasetSource | list[Case], tuple[str, ...]]:
    """The dataset, and what was noted where it is read already."""
    if isinstance(cases, (str, Path)):
        return DatasetSource(path=Path(cases), fields=fields), ()
    if isinstance(cases, (Case, Mapping, bytes)) or not isinstance(cases, Iterable):
        wanted = "a list of cases or rows, or the path of a dataset file"
        raise InputError(f"cases must be {wanted}, not {short_repr(cases)}.")
    reader = cases_from(cases, fields=fields)
    return list(reader), reader.notes


def _name_of(target: TargetLike) -> str:
    if isinstance(target, Target):
        return target.kind or type(target).__name__
    return str(getattr(target, "__name__", type(target).__name__))


def _temporary_store() -> Store:
    folder = tempfile.mkdtemp(prefix="cortex-")
    store = Store(Path(folder) / "cortex.db")
    # The report reads its results from here: the folder lives as long as it does.
    weakref.finalize(store.results, shutil.rmtree, folder, ignore_errors=True)
    return store
