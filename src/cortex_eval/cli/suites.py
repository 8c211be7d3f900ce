"""Several suites in one command: which, whether what was asked for suits them all, and what came of each."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cortex_eval import reports
from cortex_eval.cli.options import counted
from cortex_eval.config import Plan, Project, Request, make_plans, outline
from cortex_eval.core import InputError, Problem

if TYPE_CHECKING:  # loaded with the report
    from cortex_eval.analysis import Report

WIDTH = 80
WIDEST_NAME = 36
"""In columns; longer names of suites have a line of their own."""
OF_ONE_SUITE = {
    "dataset": "--dataset is that of one run, and suites have their own",
    "failed_of": "--failed-of names a run, which is one of a single suite",
    "changed_since": "--changed-since names a run, which is one of a single suite",
}


def named_suites(project: Project, given: Mapping[str, Any]) -> list[str | None]:
    """The suites that are to be run, by name; [None]: none is named. InputError when that makes no sense."""
    named: Sequence[str] = given["suites"]
    if given["all_suites"]:
        if named:
            raise InputError(f"--all-suites runs {named[0]} too: leave out either that option or the names.")
        named = list(project.model.suites)
        if not named and not project.problems:
            raise InputError(f"{project.path} has no suites. Name a dataset with --dataset FILE.")
    twice = next((name for name in named if list(named).count(name) > 1), None)
    if twice is not None:
        raise InputError(f"The suite {twice} is named twice. Ask its cases more often with --repeat.")
    for option, why in OF_ONE_SUITE.items():
        if given[option] and (len(named) > 1 or given["all_suites"]):
            raise InputError(f"{why}: name one suite at most.")
    return list(named) or [None]


def plan_suites(project: Project, requests: Sequence[Request]) -> list[Plan]:
    """The plans of all requests, one after the other; whatever is wrong with any of them is told before any is run."""
    plans: list[Plan] = []
    problems: list[Problem] = []
    for request in requests:
        try:
            plans += make_plans(project, request)
        except InputError as error:
            problems += error.problems
        else:
            problems += _mistakes(project, request) if len(requests) > 1 else []
    if problems:
        raise InputError(list(dict.fromkeys(problems)))
    return plans


def _mistakes(project: Project, request: Request) -> list[Problem]:
    """What is wrong with the cases of a suite, which would otherwise be told when its turn comes."""
    try:
        outline(project, request)
    except InputError as error:
        where = f"{request.suite}: "
        return [each if each.file else replace(each, message=where + each.message) for each in error.problems]
    return []


def suite_lines(made: Sequence[Report], exit_code: int) -> str:
    """Every suite with its verdict, its run and what to look at next, and whose the exit code is."""
    names = [_name(report, made) for report in made]
    words = [reports.verdict_words(report) for report in made]
    wide, titles = max(map(reports.width_of, names)), max(len(each.title) for each in words)
    lines = [f"{counted(len({report.run.suite for report in made}), 'suite')} run", ""]
    for name, each, report in zip(names, words, made, strict=True):
        label = f"  {name}{' ' * (wide - reports.width_of(name))}  "
        if wide > WIDEST_NAME:
            lines.append(f"  {name}")
            label = "    "
        label += f"{each.title.upper().ljust(titles)}  "
        indent, told = " " * reports.width_of(label), f"{reports.visible(each.sentence)} Run {report.run.id}."
        lines += _wrapped(told, label, indent)
        if few := reports.few_cases(report):
            lines += _wrapped(f"{few}.", indent, indent)
        if report.exit_code:
            lines.append(indent + reports.with_config(f"cortex analyze {report.run.id}", report.run))
    worst = [name for name, report in zip(names, made, strict=True) if report.exit_code == exit_code]
    lines += ["", *_wrapped(f"Exit code {exit_code}" + (f", by {', '.join(worst)}." if exit_code else "."), "", "  ")]
    return "\n".join(lines)


def _wrapped(text: str, first: str, others: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=others, break_long_words=False)


def _name(report: Report, made: Sequence[Report]) -> str:
    is_one_of_several = sum(each.run.suite == report.run.suite for each in made) > 1
    return reports.visible(f"{report.run.suite} → {report.run.target_name}" if is_one_of_several else report.run.suite)
