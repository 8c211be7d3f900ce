"""`cortex ci`: a run as a build wants it, with every artifact and what GitHub shows beside it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from cortex_eval.analysis import Report
from cortex_eval.cli.baselines import write_baseline
from cortex_eval.cli.options import adviser, check_store, existing, hint, make_folder, out
from cortex_eval.cli.run import check_baseline, play_plans, read_request
from cortex_eval.cli.run import run as run_command
from cortex_eval.config import Plan, Project, load_project, make_plans
from cortex_eval.core import InputError, redact
from cortex_eval.outcome import name_run
from cortex_eval.reports import (
    COMMENT_FILE,
    SUMMARY_FILE,
    annotation,
    as_shown,
    from_here,
    own_name,
    problem_annotations,
    render_comment,
    render_markdown,
    report_annotations,
    step_outputs,
    step_summary,
    write_atomically,
    write_shared,
)
from cortex_eval.storage import Store

FORMATS = ("html", "json", "jsonl", "csv", "markdown", "junit")
NOT_HERE = ("resume", "dry_run", "suites", "all_suites")
"""Options of `cortex run` that a build has no use for."""


@click.command(params=[each for each in run_command.params if each.name not in NOT_HERE])
@click.argument("suite", required=False)
@click.option("--set-baseline", metavar="NAME", help="Make the run this baseline when it passes.")
@click.option(
    "--comment",
    type=click.Path(path_type=Path),
    help="Where the comment goes (default: pr_comment.md with the reports).",
)
def ci(**given: Any) -> int:
    """Run a suite, judge it, and write all that a build needs.

    Writes every report, JUnit XML and a Markdown comment of base against head; on GitHub also the job's summary,
    annotations and outputs. The whole suite is run, unless --quick is given.

    Exit codes are those of `cortex run`: 0 passed, 1 regression, 2 below minimum, 3 execution error, 4 invalid input.
    """
    with _github(as_json=given["as_json"]) as build:
        project = load_project(given["config"], keep_problems=True)
        check_store(project)
        advise = adviser(given["config"])
        with existing(project.store, create=True) as place, Store(place, advise=advise) as store:
            plans = [_first_time(plan, store, given) for plan in make_plans(project, read_request(store, given))]
            check_baseline(plans, store)
            _check_new_baseline(plans, store, given["set_baseline"])
            if given["comment"]:
                make_folder(given["comment"].parent, option="--comment")  # before any call is paid for
            finish = partial(_finish, build, project, store, given)
            return play_plans(project, plans, store, given, formats=FORMATS, is_thorough=True, finish=finish)


class _Build:
    """What is told to GitHub, if it is GitHub that runs this."""

    def __init__(self, *, as_json: bool) -> None:
        self.is_github = os.environ.get("GITHUB_ACTIONS") == "true"
        self.say = hint if as_json else out  # stdout holds nothing but the JSON then
        self.lines: list[str] = []

    def append(self, variable: str, text: str) -> None:
        """Add to the file that this variable names, if it names one."""
        path = os.environ.get(variable)
        if not path:
            return
        try:
            with Path(path).open("a", encoding="utf-8", errors="replace") as file:
                file.write(redact(text))
        except OSError as error:
            hint(f"{variable}: {path} cannot be written: {error.strerror or error}.")


@contextmanager
def _github(*, as_json: bool) -> Iterator[_Build]:
    """While inside, nothing that is printed is taken for a command to the build; annotations come at the end."""
    build = _Build(as_json=as_json)
    token = secrets.token_hex(16)
    if build.is_github:
        build.say(f"::stop-commands::{token}")
    try:
        yield build
    except InputError as error:
        build.lines += problem_annotations(error.problems)
        raise
    finally:
        if build.is_github:
            build.say("\n".join([f"::{token}::", *as_shown(build.lines)]))


def _first_time(plan: Plan, store: Store, given: dict[str, Any]) -> Plan:
    """A baseline that this very command is to set need not be there yet."""
    name = plan.gate.baseline
    if name is None or name != given["set_baseline"] or store.baselines.find(name, plan.suite) is not None:
        return plan
    hint(f"There is no baseline {name!r} for {plan.suite} yet: this run is compared with nothing, and starts it.")
    return replace(plan, gate=replace(plan.gate, baseline=None))


def _check_new_baseline(plans: Sequence[Plan], store: Store, name: str | None) -> None:
    """Whether the run may become this baseline, before anything is asked."""
    if name and (store.baselines.find(name, plans[0].suite) or {}).get("pinned"):
        raise InputError(f"--set-baseline: {name!r} is an anchor, and stays where it is. Choose another name.")
    if name and len(plans) > 1:
        names = ", ".join(plan.target_name for plan in plans)
        raise InputError(f"--set-baseline: a baseline is of one target. Name one with --service: {names}.")


def _finish(
    build: _Build,
    project: Project,
    store: Store,
    given: dict[str, Any],
    reports: Sequence[Report],
    written: Sequence[Path],
) -> None:
    """Write what a build wants beside the reports, and tell it."""
    folder = given["output_dir"] or project.output_dir
    suites = project.model.suites
    comment = _write_comment(reports, folder, suites, service=given["service"], path=given["comment"])
    hint(f"Comment: {from_here(comment)}")
    code, worst = max((report.exit_code, -place) for place, report in enumerate(reports))
    worst = -worst
    if given["set_baseline"] and code == 0:
        report, name = reports[0], given["set_baseline"]
        write_baseline(name_run(store, report, name), folder, report.run.suite, suites)
        hint(f"Run {report.run.id} is the baseline {name!r} of {report.run.suite} now.")
    if build.is_github:
        build.lines += [line for report in reports for line in report_annotations(report)]
        build.lines += [annotation("notice", each) for each in _unsaid(given, code)]
    build.append("GITHUB_STEP_SUMMARY", step_summary(_documents(reports, written)))
    files = {"report": _of(worst, written, ".html"), "junit": _of(worst, written, ".xml")}
    outputs = step_outputs(reports[worst], code, {**files, "comment": comment, "folder": folder})
    build.append("GITHUB_OUTPUT", "".join(f"{name}={value}\n" for name, value in outputs.items()))


def _write_comment(
    reports: Sequence[Report], folder: Path, suites: Collection[str], *, service: str | None, path: Path | None
) -> Path:
    """Write the comment where it is wanted, else with the reports; gives the file that no other command replaces."""
    content = render_comment(reports, service=service).encode("utf-8", "replace")
    if path is not None:
        write_atomically(path, [content], option="--comment")
        return path
    return write_shared(folder / COMMENT_FILE, content, own=own_name(reports[0].run.suite, suites, service))[0]


def _unsaid(given: dict[str, Any], code: int) -> list[str]:
    name = given["set_baseline"]
    return [f"The baseline {name!r} stays as it was: the run did not pass."] if name and code else []


def _documents(reports: Sequence[Report], written: Sequence[Path]) -> list[str]:
    """What the job's summary holds: all targets beside each other, then each."""
    summary = [path.read_text("utf-8") for path in written if path.name == SUMMARY_FILE]
    return [*summary, *map(render_markdown, reports)]


def _of(place: int, written: Sequence[Path], suffix: str) -> Path:
    """The file of this kind of the run at this place."""
    return [path for path in written if path.suffix == suffix][place]
