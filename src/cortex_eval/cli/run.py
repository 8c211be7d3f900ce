"""`cortex run` and `cortex rescore`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from cortex_eval.cli.options import (
    advised,
    adviser,
    check_store,
    config_option,
    encoding_option,
    existing,
    field_mapping,
    fields_option,
    hint,
    json_option,
    note,
    out,
    output_option,
    print_json,
)
from cortex_eval.cli.playing import play
from cortex_eval.cli.shown import is_resumable, print_report, report_of
from cortex_eval.cli.suites import named_suites, plan_suites
from cortex_eval.config import Plan, Project, Request, load_project, make_plans
from cortex_eval.core import InputError, RunRecord, did_you_mean
from cortex_eval.datasets import Selection
from cortex_eval.manifest import read_rows
from cortex_eval.outcome import find_baseline
from cortex_eval.scoring import scorers
from cortex_eval.storage import Store

NOT_WITH_RESUME = (
    *("suites", "all_suites", "dataset", "service", "category", "tier", "tag", "language", "case_ids", "limit"),
    *("quick", "repeat", "failed_of", "changed_since", "dry_run", "fields", "encoding", "release"),
)
"""What a run was asked for is kept with it."""
OPTIONS = {"suites": "SUITE", "all_suites": "--all-suites"}
"""As they are typed, where that does not follow from the name."""


def _share(_ctx: click.Context, _param: click.Parameter, value: float | None) -> float | None:
    if value is not None and not 0 <= value <= 1:
        raise click.BadParameter(f"must be a number from 0 to 1 (0.9 for 90 %), not {value:g}.")
    return value


@click.command()
@click.argument("suites", nargs=-1, metavar="[SUITE]...")
@click.option("--all-suites", is_flag=True, help="Every suite of the project file, one after the other.")
@config_option
@click.option("--dataset", type=click.Path(path_type=Path), help="A dataset file: CSV, JSONL, JSON, YAML, Parquet.")
@fields_option
@encoding_option
@click.option("--service", "--target", "service", help="The service to test (default: chatbot, or the only one).")
@click.option("--category", multiple=True, help="Only cases of this category; may be given again.")
@click.option("--tier", multiple=True, type=click.IntRange(1, 5), help="Only cases of this tier.")
@click.option("--tag", multiple=True, help="Only cases with this tag.")
@click.option("--language", multiple=True, help="Only cases in this language.")
@click.option("--case", "case_ids", multiple=True, help="Only the case with this id.")
@click.option("--limit", type=click.IntRange(min=1), help="At most this many cases.")
@click.option("--quick", is_flag=True, help="A small sample with something of every category.")
@click.option("--repeat", type=click.IntRange(1, 1000), help="Ask every case this often.")
@click.option("--failed-of", metavar="RUN", help="Only the cases that did not pass in that run.")
@click.option("--changed-since", metavar="RUN", help="Ask only what changed since that run; reuse the rest of it.")
@click.option(
    "--resume",
    metavar="[RUN]",
    is_flag=False,
    flag_value="latest",
    help="Go on with a run that was stopped (alone: the latest one).",
)
@click.option("--concurrency", type=click.IntRange(1, 10_000), help="Cases in flight at once.")
@click.option("--baseline", metavar="NAME", help="Compare with this baseline.")
@click.option("--release", is_flag=True, help="With gate.auto: this is a release, and the baseline from now on.")
@click.option("--fail-under", type=float, callback=_share, help="Exit with 2 when the overall score is lower.")
@output_option
@click.option("--offline", is_flag=True, help="Call nobody but loopback and the hosts that the project file names.")
@click.option("--dry-run", is_flag=True, help="Print what would be done, and do nothing.")
@json_option
@click.option("--results", "with_results", is_flag=True, help="With --json: every result too.")
def run(**given: Any) -> int:
    """Play a dataset against a target, score every reply, judge the run.

    SUITE is a name under `suites:` in the project file, and may be left out when there is only one; or name a
    dataset with --dataset. Several suites are run one after the other, and the gravest exit code is the command's.

    Exit codes: 0 passed, 1 regression, 2 below minimum, 3 execution error, 4 invalid input, 130/143 stopped.
    """
    if given["with_results"] and not given["as_json"]:
        how = advised("cortex runs show RUN --failed")
        raise InputError(f"--results goes with --json. To see the cases that failed: {how}")
    project = load_project(given["config"], keep_problems=True)
    check_store(project)
    advise = adviser(given["config"])
    with existing(project.store, create=not given["dry_run"]) as place, Store(place, advise=advise) as store:
        if given["resume"]:
            return _resume(project, store, given)
        requests = [read_request(store, {**given, "suite": name}) for name in named_suites(project, given)]
        plans = plan_suites(project, requests)
        check_baseline(plans, store)
        if given["dry_run"]:
            return _describe(plans, store, as_json=given["as_json"])
        return play_plans(project, plans, store, given)


@click.command()
@click.argument("run_id", metavar="RUN")
@config_option
@output_option
@click.option("--offline", is_flag=True, help="Call nobody but loopback and the hosts that the project file names.")
@json_option
@click.option("--results", "with_results", is_flag=True, help="With --json: every result too.")
@click.option("--scorer", multiple=True, hidden=True)  # many look for it: they are told where scorers are named
def rescore(run_id: str, **given: Any) -> int:
    """Score the stored replies of RUN with the scorers of the project file as it is now; the target is not called."""
    project = load_project(given["config"], keep_problems=True)
    check_store(project)
    with existing(project.store) as place, Store(place, advise=adviser(given["config"])) as store:
        record = store.runs.find(run_id)
        if given["scorer"]:
            raise _named_elsewhere(project, record, given["scorer"])
        plans = make_plans(project, _request_of(record, given))
        return play_plans(project, plans, store, given, rescore=record.id)


def _named_elsewhere(project: Project, record: RunRecord, names: Sequence[str]) -> InputError:
    """What is said of scorers that are named on the command line: a gate holds for those of its suite."""
    known = {*scorers, *project.model.metrics}
    for name in names:
        if name not in known:
            return InputError(f"--scorer: there is no scorer {name!r}. {did_you_mean(name, scorers)}")
    where = f"scorers of suites.{record.suite}" if record.suite in project.model.suites else "metrics"
    return InputError(
        "--scorer: scorers are named in the project file, so that its gate holds for them. "
        f"Add {', '.join(names)} to {where} ({project.path}), and then: {advised(f'cortex rescore {record.id}')}"
    )


def play_plans(project: Project, plans: list[Any], store: Store, given: dict[str, Any], **how: Any) -> int:
    """Carry out the plans as the options say; `how` goes to `play` as it is."""
    dashboard = project.model.dashboard.output_path
    return play(
        plans,
        store,
        output_dir=given["output_dir"] or project.output_dir,
        dashboard=project.root / dashboard if dashboard else None,
        as_json=given["as_json"],
        with_results=given["with_results"],
        charts=project.model.dashboard.include_charts,
        suites=project.model.suites,
        **how,
    )


def check_baseline(plans: Sequence[Plan], store: Store) -> None:
    """Raise InputError when a baseline that was asked for is not there; mistakes in the dataset are told first."""
    _check_release(plans)
    try:
        for plan in plans:
            find_baseline(store, plan.gate, plan.suite, config=plan.request.get("config"))
    except InputError:
        for plan in plans:
            for _ in read_rows(plan.dataset).rows():
                pass
        raise


def _check_release(plans: Sequence[Plan]) -> None:
    """--release moves a baseline where the gate says so: InputError when none does, a hint for those that do not."""
    idle = list(dict.fromkeys(plan.suite for plan in plans if plan.is_release and plan.gate.auto is None))
    if not idle:
        return
    how = "The project file says which baseline a release moves, such as `gate: {baseline: main, auto: on-release}`."
    told = f"--release moves no baseline of {', '.join(idle)}. {how}"
    if all(plan.gate.auto is None for plan in plans):
        raise InputError(
            f"{told} Or leave it out, and name the run afterwards: {advised('cortex baseline set latest')}"
        )
    hint(told)


def read_request(store: Store, given: dict[str, Any]) -> Request:
    """What the options ask for."""
    failed = None
    if given["failed_of"]:
        failed = frozenset(store.results.failed_cases(store.runs.find(given["failed_of"]).id))
        if not failed:
            raise InputError(f"Every case of run {given['failed_of']} passed: there is nothing to run.")
    return Request(
        suite=given["suite"],
        dataset=given["dataset"],
        fields=field_mapping(given["fields"]),
        encoding=given["encoding"],
        service=given["service"],
        selection=Selection(
            categories=given["category"],
            tiers=given["tier"],
            tags=given["tag"],
            languages=given["language"],
            case_ids=given["case_ids"],
            failed_of=failed,
            limit=given["limit"],
        ),
        is_quick=given["quick"],
        changed_since=store.runs.find(given["changed_since"]).id if given["changed_since"] else None,
        repeats=given["repeat"],
        at_once=given["concurrency"],
        baseline=given["baseline"],
        fail_under=given["fail_under"],
        is_offline=given["offline"],
        is_release=given["release"],
        checks_dataset=True,
    )


def _request_of(record: RunRecord, given: dict[str, Any] | None = None) -> Request:
    """What the run was asked for, with what may change when it goes on."""
    asked, gate = record.manifest.get("request", {}), record.manifest.get("gate", {})
    given = given or {}
    return Request(
        suite=asked.get("suite"),
        dataset=Path(asked["dataset"]) if asked.get("dataset") else None,
        service=asked.get("service"),
        fields=asked.get("fields") or {},
        encoding=asked.get("encoding"),
        repeats=asked.get("repeats"),
        at_once=given.get("concurrency"),
        is_offline=bool(given.get("offline")),
        baseline=given.get("baseline") or (None if gate.get("may_lack_baseline") else gate.get("baseline")),
        fail_under=gate.get("fail_under") if given.get("fail_under") is None else given["fail_under"],
    )


def _resume(project: Project, store: Store, given: dict[str, Any]) -> int:
    extra = [name for name in NOT_WITH_RESUME if given[name]]
    if extra:
        name = OPTIONS.get(extra[0], "--" + extra[0].removesuffix("_ids").removesuffix("s").replace("_", "-"))
        raise InputError(f"--resume goes on with what the run was asked for; leave {name} out, or start a new run.")
    record = _find_resumable(project, store, given["resume"])
    if record.is_settled:
        hint(_why_nothing_is_left(record))
        print_report(report_of(store, record.id), as_json=given["as_json"], with_results=given["with_results"])
        return record.exit_code or 0
    return play_plans(project, make_plans(project, _request_of(record, given)), store, given, resume=record.id)


def _why_nothing_is_left(record: RunRecord) -> str:
    parent = record.manifest.get("parent")
    if not record.manifest.get("unanswered"):
        return f"Run {record.id} is finished: nothing is left to do."
    return (
        f"Run {record.id} only scores replies of run {parent}, and asks nobody. Ask for those that are missing: "
        f"{advised(f'cortex run --resume {parent}')}, and then: {advised(f'cortex rescore {parent}')}"
    )


def _find_resumable(project: Project, store: Store, name: str) -> RunRecord:
    try:
        return store.runs.find(name)
    except InputError as error:
        if name in project.model.suites:
            how = advised("cortex run --resume")
            raise InputError(f"--resume takes a run, and {name!r} is a suite. The latest run: {how}") from None
        open_runs = [each.id for each in store.runs.all(limit=100) if is_resumable(each)][:5]
        listed = f"Runs that can be resumed: {', '.join(open_runs)}." if open_runs else "No run is waiting for that."
        raise InputError(f"{error} {listed}") from None


def _describe(plans: list[Any], store: Store, *, as_json: bool) -> int:
    """What a run would do."""
    from cortex_eval.cli.planned import estimate_text
    from cortex_eval.estimate import estimate_run

    estimates = [estimate_run(plan, store) for plan in plans]
    for remark in dict.fromkeys(remark for each in estimates for remark in each.notes):
        note(remark)
    if as_json:
        documents = [each.to_dict() for each in estimates]
        print_json(documents[0] if len(documents) == 1 else documents)
    else:
        is_one = len({each.suite for each in estimates}) == 1
        out("\n\n".join(("" if is_one else f"{each.suite}\n") + estimate_text(each) for each in estimates))
    return 0
