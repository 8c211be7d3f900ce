"""`cortex quarantine`: the cases of a suite that are asked and shown, and do not decide for now."""

from __future__ import annotations

import shlex
import textwrap
import unicodedata
from collections.abc import Sequence
from datetime import date
from difflib import get_close_matches
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import click

from cortex_eval.cli.options import (
    advised,
    adviser,
    config_option,
    counted,
    cut,
    existing,
    hint,
    json_option,
    out,
    print_json,
)
from cortex_eval.config import Project, append_item, dataset_of, load_project, remove_item
from cortex_eval.core import InputError, did_you_mean
from cortex_eval.manifest import read_rows
from cortex_eval.past import Appearance, appearances_of
from cortex_eval.reports import visible, width_of
from cortex_eval.storage import Store, now

WIDTH = 80
WIDEST_ID = 24
LAST_RUNS = 10
STEADY_RUNS = 5
"""So many runs without a failure, and a case may be steady again."""
NOT_IN_A_LINE = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Kinds of letters: controls and line breaks, and halves of letters that are none."""

suite_option = click.option("--suite", metavar="NAME", help="The suite (default: the only one that has the case).")


class Entry(NamedTuple):
    """A case in quarantine, and what is known of it."""

    suite: str
    case: str
    reason: str
    until: str | None
    ended: bool
    """Its last day is over: it decides again."""
    in_dataset: bool
    runs: Sequence[Appearance]
    """The last ones, newest first."""


@click.group()
def quarantine() -> None:
    """Keep a case from deciding for a while, and see which ones are kept."""


@quarantine.command("list")
@click.option("--suite", metavar="NAME", help="Only of this suite.")
@click.option("--last", type=click.IntRange(min=1), default=LAST_RUNS, show_default=True, help="So many runs back.")
@config_option
@json_option
def list_quarantine(suite: str | None, last: int, config: Path | None, as_json: bool) -> None:
    """Who is in quarantine, until when, and how they did."""
    project = load_project(config)
    with existing(project.store) as place, Store(place, advise=adviser(config)) as store:
        found = [each for name in _suites(project, suite) for each in _entries(project, store, name, last)]
    if as_json:
        print_json([{**each._asdict(), "runs": [run._asdict() for run in each.runs]} for each in found])
    elif not found:
        hint(f"No case is in quarantine. Put one there: {advised('cortex quarantine add CASE --reason TEXT')}")
    else:
        out("\n\n".join(_text(name, list(each)) for name, each in groupby(found, key=lambda entry: entry.suite)))
        for each in found:
            if why := _why_off(each):
                hint(f"{visible(each.case)} {why}. Take it off: {_removing(project, each)}")


@quarantine.command("add")
@click.argument("case")
@click.option("--reason", required=True, help="Why, for everybody who reads a report.")
@click.option("--until", metavar="DATE", help="The last day, such as 2026-12-31 (default: until it is taken off).")
@suite_option
@config_option
@json_option
def add_case(case: str, reason: str, until: str | None, suite: str | None, config: Path | None, as_json: bool) -> None:
    """Put CASE in quarantine: asked and shown, but without a say."""
    item = _item(case, reason, until)
    project = load_project(config)
    name = _suite_with(project, case, suite)
    _check_not_there(project, name, case)
    line = append_item(project.path, ("suites", name, "quarantine"), item)
    if as_json:
        print_json({"suite": name, **item, "file": str(project.path), "line": line})
        return
    out(f"{visible(case)} is in quarantine in {name}{f' until {until}' if until else ''}: it does not decide.")
    hint(f"Written: {project.path}, line {line}. See all: {advised('cortex quarantine list')}")


@quarantine.command("remove")
@click.argument("case")
@suite_option
@config_option
@json_option
def remove_case(case: str, suite: str | None, config: Path | None, as_json: bool) -> None:
    """Take CASE off the list: it decides again."""
    project = load_project(config)
    name, numbers = _listed(project, case, suite)
    for number in reversed(numbers):
        remove_item(project.path, ("suites", name, "quarantine"), number, holds={"case": case})
    if as_json:
        print_json({"suite": name, "case": case, "file": str(project.path)})
    else:
        out(f"{visible(case)} is no longer in quarantine in {name}.")
        hint(f"Written: {project.path}")


def _suites(project: Project, suite: str | None) -> list[str]:
    """The suite of this name, or all."""
    known = project.model.suites
    if not known:
        raise InputError(f"{project.path} has no suites: a quarantine belongs to one.")
    if suite is not None and suite not in known:
        raise InputError(f"{project.path}: there is no suite {suite!r}. {did_you_mean(suite, known)}")
    return [suite] if suite is not None else list(known)


def _ids(project: Project, suite: str) -> list[str]:
    source = dataset_of(project, suite)
    assert source is not None, "the suite is there"
    return [row.id for row in read_rows(source).rows()]


def _entries(project: Project, store: Store, suite: str, last: int) -> list[Entry]:
    listed = project.model.suites[suite].quarantine
    if not listed:
        return []
    known, today = set(_ids(project, suite)), now()[:10]
    runs = appearances_of(store, [each.case for each in listed], suite=suite, last=last)
    return [
        Entry(
            suite=suite,
            case=each.case,
            reason=each.reason,
            until=each.until,
            ended=each.until is not None and each.until < today,
            in_dataset=each.case in known,
            runs=runs[each.case],
        )
        for each in listed
    ]


def _item(case: str, reason: str, until: str | None) -> dict[str, str]:
    """The entry, when it can be one."""
    reason = reason.strip()
    if not reason:
        raise InputError("--reason: say why, for everybody who reads a report.")
    for name, text in (("CASE", case), ("--reason", reason)):
        if not text or "${" in text or any(unicodedata.category(letter) in NOT_IN_A_LINE for letter in text):
            raise InputError(f"{name} must be a line of text without ${{…}}, not {text!r}.")
    if until is None:
        return {"case": case, "reason": reason}
    try:
        day = date.fromisoformat(until).isoformat()
    except ValueError:
        day = ""
    if day != until:
        raise InputError(f"--until must be a day such as 2026-12-31, not {until!r}.")
    if until < now()[:10]:
        raise InputError(f"--until {until} is over already. Name the last day of the quarantine.")
    return {"case": case, "reason": reason, "until": until}


def _suite_with(project: Project, case: str, suite: str | None) -> str:
    """The suite of this name, which must have the case; else the only one that has it."""
    names = _suites(project, suite)
    having, near, unread = [], list[str](), list[InputError]()
    for name in names:
        try:
            ids = _ids(project, name)
        except InputError as error:
            unread.append(error)
            continue
        having += [name] * (case in ids)
        near += get_close_matches(case, ids, n=1)
    if len(having) == 1:
        return having[0]
    if having:
        raise InputError(f"Several suites have a case {case!r}: {', '.join(having)}. Name one with --suite.")
    if unread:  # it may be there
        raise unread[0]
    advice = did_you_mean(case, near) if near else "CASE is the id of a case in the dataset."
    who = f"{names[0]} has no case" if len(names) == 1 else "No suite has a case"
    raise InputError(f"{who} {case!r}. {advice}")


def _check_not_there(project: Project, suite: str, case: str) -> None:
    there = next((each for each in project.model.suites[suite].quarantine if each.case == case), None)
    if there is not None:
        end = f"until {there.until}" if there.until else "without a last day"
        raise InputError(f"{case!r} is in quarantine in {suite} already, {end}. To change that, remove it first.")


def _listed(project: Project, case: str, suite: str | None) -> tuple[str, list[int]]:
    """The suite whose list has the case, and its places there: people may have written it twice."""
    lists = {name: [each.case for each in project.model.suites[name].quarantine] for name in _suites(project, suite)}
    having = [name for name, cases in lists.items() if case in cases]
    if len(having) == 1:
        return having[0], [number for number, each in enumerate(lists[having[0]]) if each == case]
    if having:
        raise InputError(f"{case!r} is in quarantine in {', '.join(having)}. Name one with --suite.")
    known = [each for cases in lists.values() for each in cases]
    advice = did_you_mean(case, known) if known else "No case is."
    raise InputError(f"{case!r} is not in quarantine{f' in {suite}' if suite else ''}. {advice}")


def _text(suite: str, entries: Sequence[Entry]) -> str:
    """The list of a suite as people read it."""
    lines = [f"{visible(suite)}: {counted(len(entries), 'case')} in quarantine", ""]
    names = [cut(each.case, WIDEST_ID) for each in entries]
    wide = max(map(width_of, names))
    for name, each in zip(names, entries, strict=True):
        label, indent = f"  {name}{' ' * (wide - width_of(name))}  ", " " * (wide + 4)
        lines += textwrap.wrap(f"{_end(each)}; {_seen(each)}", WIDTH, initial_indent=label, subsequent_indent=indent)
        lines += textwrap.wrap(visible(each.reason), WIDTH, initial_indent=indent, subsequent_indent=indent)
    return "\n".join(lines)


def _end(entry: Entry) -> str:
    if entry.until is None:
        return "without a last day"
    return f"ended after {entry.until}" if entry.ended else f"until {entry.until}"


def _seen(entry: Entry) -> str:
    """What became of it in the last runs."""
    if not entry.in_dataset:
        return "no case of the dataset"
    if not entry.runs:
        return "in none of the last runs"
    count, passed = len(entry.runs), sum(each.outcome == "passed" for each in entry.runs)
    if count == 1:
        return f"{_became(entry.runs[0])} in its last run"
    if passed == count:
        return f"passed in all of its last {count} runs"
    return f"passed in {passed} of its last {count} runs, {_became(entry.runs[0])} in the newest"


def _became(seen: Appearance) -> str:
    return {"error": "an error", "pending": "not judged"}.get(seen.outcome, seen.outcome)


def _why_off(entry: Entry) -> str:
    """Why it need not be on the list any more; empty: it may."""
    if not entry.in_dataset:
        return "is no case of the dataset"
    if entry.ended:
        return "decides again"
    is_steady = len(entry.runs) >= STEADY_RUNS and all(each.outcome == "passed" for each in entry.runs)
    return "did not fail in its last runs" if is_steady else ""


def _removing(project: Project, entry: Entry) -> str:
    lists = [{each.case for each in suite.quarantine} for suite in project.model.suites.values()]
    is_shared = sum(entry.case in cases for cases in lists) > 1
    suite = f" --suite {shlex.quote(entry.suite)}" if is_shared else ""
    if entry.case.startswith("-"):
        return f"{advised(f'cortex quarantine remove{suite}')} -- {shlex.quote(entry.case)}"
    return advised(f"cortex quarantine remove {shlex.quote(entry.case)}{suite}")
