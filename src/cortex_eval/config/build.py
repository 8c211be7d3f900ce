"""Making plans: services become targets, metrics become scorers; every mistake is told at once."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from cortex_eval.analysis import Allowance, Expectations, GateSettings, Quarantined
from cortex_eval.config.limits import RATES, wrong_limit
from cortex_eval.config.mistakes import NOT_SCORERS
from cortex_eval.config.model import ExpectationsModel, ServiceModel, SuiteModel, keys_of
from cortex_eval.config.models import budget_notes, unpriced_models
from cortex_eval.config.outward import address_at, budget_of, limits_of, named_hosts, patience_with
from cortex_eval.config.places import Problems
from cortex_eval.config.plan import Plan
from cortex_eval.config.project import Project, all_problems, from_root, mask_service, unset_variables
from cortex_eval.config.request import Request, find_dataset, find_selection, find_suite, missing_dataset
from cortex_eval.config.scorers import find_blocks, plan_scorers
from cortex_eval.core import InputError, KeyPath, Problem, Secret, check_settings, did_you_mean, is_secret
from cortex_eval.targets import Target, targets


def make_plans(project: Project, request: Request) -> list[Plan]:
    """A plan for each target that the request names; raises InputError with everything that is wrong."""
    problems = Problems(project.document)
    problems.found += project.problems
    try:
        name, suite = find_suite(project, request)
        services = _services(project, request, name, suite, problems)
    except InputError as error:
        raise all_problems(project.problems or error.problems) from None
    used: list[KeyPath] = [(key, service) for key in ("services", "targets") for service in services]
    blocks = find_blocks(project, name, suite)
    used += [("execution",), ("gate",), ("suites", name), *(("metrics", key) for key in (*NOT_SCORERS, *blocks))]
    problems.found += unset_variables(project.document, *used)
    problems.found += missing_dataset(project, request, name, suite)
    if any(each.field.startswith("plugins") for each in problems.found):
        raise all_problems(problems.found)  # what a plugin would have registered is not missed
    built_targets = {service: _target(project, service, problems) for service in services}
    planned, threshold, notes = plan_scorers(project, blocks, suite, problems)
    try:
        gate = make_gate(project, name, suite, request, list(blocks))
    except InputError as error:
        problems.found += error.problems
    for built in filter(None, built_targets.values()):
        problems.found += unpriced_models(project, built, planned)
    if problems.found:
        raise all_problems(problems.found)
    execution = project.model.execution
    dataset, selection = find_dataset(project, request, suite), find_selection(project, request, suite)
    plans = []
    for service in services:
        model = project.model.services[service]
        target = built_targets[service]
        assert target is not None
        target.asked_from(dataset.path)
        plans.append(
            Plan(
                suite=name,
                dataset=dataset,
                target=target,
                target_name=service,
                target_version=None if model.version is None else str(model.version),
                target_settings=mask_service(project.document, service, model.settings),
                address_at=address_at(project, service),
                scorers=planned,
                passing_threshold=threshold,
                at_once=request.at_once or execution.max_concurrent_tests,
                repeats=request.repeats or suite.repeat,
                patience=patience_with(execution, model, is_remote=target.is_remote),
                limits=limits_of(model),
                budget=budget_of(execution),
                is_offline=request.is_offline,
                is_release=request.is_release,
                named_hosts=named_hosts(project),
                gate=gate,
                selection=selection,
                changed_since=request.changed_since,
                request={
                    **request.as_asked(),
                    "service": service,
                    "config": project.path if project.is_named else None,
                },
                fix_locations=project.model.fix_locations,
                notes=(*project.notes, *notes, *budget_notes(project, target, service)),
            )
        )
    return plans


def _services(project: Project, request: Request, suite_name: str, suite: SuiteModel, problems: Problems) -> list[str]:
    """The services that are asked for; one that is not there is a problem, and the others are looked at."""
    known = project.model.services
    if request.service is not None:
        wanted = [request.service]
    elif suite.services or suite.service:
        wanted = list(suite.services) or [str(suite.service)]
    elif "chatbot" in known or not known:
        wanted = ["chatbot"]
    elif len(known) == 1:
        wanted = list(known)
    else:
        raise InputError(f"{project.path}: name one of the services with --service: {', '.join(known)}.")
    for name in wanted:
        if name not in known:
            message = f"there is no service {name!r}. {did_you_mean(name, known)}"
            places = [path for path in project.document.lines if path[:2] == ("suites", suite_name) and len(path) > 2]
            written = [path for path in places if project.document.value_at(path) == name]
            if request.service is not None or not written:
                problems.found.append(Problem(file=str(project.path), message=message))
            else:
                problems.found.append(project.document.problem(written[0], message))
    return [name for name in wanted if name in known]


def _target(project: Project, name: str, problems: Problems) -> Target | None:
    key = "targets" if "targets" in project.document.values else "services"
    service = project.model.services[name]
    kind = service.kind or (name if name in targets else None)
    if kind is None:
        guess = "python" if "call" in service.settings else "http"
        problems.found.append(
            problems.document.problem((key, name), f"{key}.{name}: say what it is, such as `kind: {guess}`.")
        )
        return None
    with problems.at(key, name):
        settings = {name: _secret(name, value) for name, value in service.settings.items()}
        checked = check_settings(targets.find(kind), settings, owner=f"{key}.{name}", also=keys_of(ServiceModel))
        cls = targets.find(kind)
        if "directory" in inspect.signature(cls).parameters:
            checked.setdefault("directory", str(project.root))
        return cls(**from_root(checked, project.root))
    return None


def _secret(key: str, value: Any) -> Any:
    if not is_secret(key) or not isinstance(value, str):
        return value
    if not value or value != value.strip() or any(each.isspace() for each in value):
        raise InputError(
            f"{key}: the key is empty or contains whitespace (a trailing line end?). It is not shown here."
        )
    return Secret(value)


def make_gate(project: Project, name: str, suite: SuiteModel, request: Request, known: Sequence[str]) -> GateSettings:
    """The gate of a suite; a limit that no run could meet is an InputError, before anything is asked."""
    model = suite.gate or project.model.gate
    path: KeyPath = ("suites", name, "gate") if suite.gate else ("gate",)
    thresholds = dict(model.thresholds)
    tolerance = thresholds.pop("regression_tolerance", None)  # seed 003 §8.3
    problems = [
        project.document.problem((*path, "thresholds", metric), message)
        for metric, limit in thresholds.items()
        if (message := wrong_limit(metric, limit, known))
    ]
    problems += _wrong_expectations(project, path, model.expectations, known)
    problems += _wrong_quarantine(project, name, suite)
    if model.auto and not (request.baseline or model.baseline):
        message = "gate.auto: say which baseline is to move, such as `baseline: main`."
        problems.append(project.document.problem((*path, "auto"), message))
    if problems:
        raise InputError(problems)
    regression = dict(GateSettings().regression)
    if tolerance is not None:
        rates = [each for each in ("intent_accuracy", "tool_accuracy", *RATES, *known) if each != "entity_f1"]
        regression |= {each: Allowance(drop=tolerance, high=max(tolerance, 0.05)) for each in rates}
    regression |= {each: Allowance(drop=it.drop, rise=it.rise, high=it.high) for each, it in model.regression.items()}
    return GateSettings(
        mode=model.mode,
        level=model.level,
        thresholds=thresholds,
        regression=regression,
        max_error_rate=model.max_error_rate,
        inconclusive=model.inconclusive,
        baseline=request.baseline or model.baseline,
        may_lack_baseline=request.baseline is None and bool(model.baseline or model.anchor),
        anchor=model.anchor,
        auto=model.auto,
        quarantine=tuple(
            Quarantined(case=each.case, reason=each.reason, until=each.until) for each in suite.quarantine
        ),
        fail_under=request.fail_under,
        shared_in=str(project.path) if suite.gate is None and len(project.model.suites) > 1 else "",
        expectations=_expectations(model.expectations),
    )


def _wrong_quarantine(project: Project, name: str, suite: SuiteModel) -> list[Problem]:
    """Every entry of the list without a reason, or until a day that is none."""
    problems = []
    for place, each in enumerate(suite.quarantine):
        path: KeyPath = ("suites", name, "quarantine", place)
        if not each.reason.strip():
            problems.append(project.document.problem((*path, "reason"), "quarantine: say why, in `reason`."))
        if each.until is not None and not _is_day(each.until):
            message = f"quarantine: until must be a day such as 2026-12-31, not {each.until!r}."
            problems.append(project.document.problem((*path, "until"), message))
    return problems


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _expectations(model: ExpectationsModel | None) -> Expectations | None:
    return None if model is None else Expectations(overall=model.overall, tiers=model.tiers)


def _wrong_expectations(
    project: Project, gate: KeyPath, model: ExpectationsModel | None, known: Sequence[str]
) -> list[Problem]:
    """Every expectation of a figure that does not exist, or that no figure could meet."""
    if model is None:
        return []
    scopes: list[tuple[KeyPath, Mapping[str, float]]] = [(("overall",), model.overall or {})]
    scopes += [(("tiers", tier), limits) for tier, limits in (model.tiers or {}).items()]
    return [
        project.document.problem((*gate, "expectations", *scope, metric), message)
        for scope, limits in scopes
        for metric, limit in limits.items()
        if (message := wrong_limit(metric, limit, known, of=".".join(("gate.expectations", *map(str, scope)))))
    ]
