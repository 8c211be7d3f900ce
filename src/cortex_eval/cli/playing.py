"""Carrying out plans from the command line: signals, progress, artifacts, and what is printed in the end."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from cortex_eval import reports
from cortex_eval.cli import progress as progress_line
from cortex_eval.cli.options import advised, hint, make_folder, note, out, print_json
from cortex_eval.cli.shown import print_report
from cortex_eval.cli.suites import suite_lines
from cortex_eval.config import Plan
from cortex_eval.control import Progress, Stop
from cortex_eval.core import InputError, Result, StorageError
from cortex_eval.engine import execute
from cortex_eval.storage import Store

if TYPE_CHECKING:  # see `_load_reporting`
    from cortex_eval.analysis import Report
    from cortex_eval.reports import ListedCases, ResultLines

LONG_ENOUGH = 300
"""Cases from which on something is loaded meanwhile."""
LOADING_SHARE = 6
"""Loading pauses this much longer than it takes: calls go on meanwhile."""
LOADED_MEANWHILE = {
    "analysis": (
        *("Classified", "Coverage", "Confidence", "Expectation", "Hallucination", "Parity", "Pattern", "Trend", "Gate"),
        *(
            "Report",
            "judge_usages",
            "Figures",
            "decide",
            "Failures",
            "Sums",
            "diagnose",
            "summarise",
            "compare_patterns",
        ),
    ),
    "reports": (
        *("verdict_words", "ResultLines", "ListedCases", "money", "render_console", "html_chunks", "write_artifacts"),
    ),
    "past": ("look_back",),
}
"""Names of what a report is made with, each with the files behind it; the smallest first."""
CAUSES = ("scoring", ("content_words", "read_quantities", "stems", "take_apart", "count_scripts"))
"""What reads replies that failed."""
RUN_FORMATS = ("html", "json", "jsonl")
SEVERITY = (0, 1, 2, 3)
"""When several runs differ, the gravest exit code is the command's: 3 before 2 before 1."""


def play(
    plans: Sequence[Plan],
    store: Store,
    *,
    output_dir: Path,
    dashboard: Path | None = None,
    as_json: bool = False,
    with_results: bool = False,
    resume: str | None = None,
    rescore: str | None = None,
    formats: Sequence[str] = RUN_FORMATS,
    charts: bool = True,
    suites: Collection[str] = (),
    is_thorough: bool = False,
    is_quiet: bool = False,
    again: str = "",
    finish: Callable[[Sequence[Report], Sequence[Path]], None] | None = None,
) -> int:
    """Carry out the plans one after the other, print and write what came of them, and give the exit code.

    `suites` are those of the project file: with several, the file that the next run replaces says whose it is. `finish`
    is shown all reports and files once the last run has come to its end. `is_thorough`: the page has charts and every
    conversation even after a quick run, which takes a second more. `is_quiet`: what came of them is left for `finish`
    to print. `again`: the command that begins anew, where a run that was stopped cannot be resumed.
    """
    show, tell = (_keep, _keep) if is_quiet else (partial(print_report, as_json=False), hint)
    folders = {plan.suite: _folder(output_dir, plan, plans) for plan in plans}
    is_told = len(folders) > 1 and not as_json and not is_quiet
    for folder in {*folders.values(), *([dashboard.parent] if dashboard else [])}:
        make_folder(folder)  # before any call is paid for
    for remark in dict.fromkeys(remark for plan in plans for remark in plan.notes):
        note(remark)
    if rescore is None:
        _check_ways_out(plans)
    made: list[Report] = []
    files: list[Path] = []
    documents = []
    for number, plan in enumerate(plans, 1):
        if is_told:
            out("\n" * (number > 1) + f"{reports.visible(_label(plan, plans))}, {number} of {len(plans)}")
        with _Noted([each.name for each in plan.scorers if each.critical]) as noted:
            report, stopped_by = asyncio.run(
                _play(plan, store, resume=resume, rescore=rescore, see=noted.add, is_quiet=is_quiet, again=again)
            )
            if report is None:
                return 128 + _also_stopped(stopped_by, plans, number)
            folder, sharing = folders[plan.suite], () if len(folders) > 1 else suites
            boards = _boards(dashboard, plan, plans, sharing) if dashboard else []
            pages = _Pages(folder, formats, charts, is_thorough, boards, sharing)
            written = pages.write(report, noted)
        if as_json:
            documents.append(report.to_dict(results=with_results))
        else:
            show(report)
        tell("\n".join(_said_after(plan, written)))
        if stopped_by is not None and plans[number:]:
            return 128 + _also_stopped(stopped_by, plans, number)
        made.append(report)
        files += written
    files += _beside_each_other(made, folders, suites, tell)
    code = max((report.exit_code for report in made), key=SEVERITY.index)
    if as_json:
        print_json(documents[0] if len(documents) == 1 else documents)
    elif is_told:
        out(f"\n{suite_lines(made, code)}")
    if finish is not None:
        finish(made, files)
    return code


def _said_after(plan: Plan, written: Sequence[Path]) -> Iterator[str]:
    """What follows the report of a run: what its replies showed of the settings, and where the files are."""
    for remark in plan.target.remarks():
        yield f"Note: {plan.target_name}: {remark}"
    page = next((path for path in written if path.suffix == ".html"), None)
    yield f"Report: {reports.from_here(page)}" if page else f"Written: {', '.join(map(reports.from_here, written))}"


class _Pages(NamedTuple):
    """Where the files of a run go, and which are wanted."""

    folder: Path
    formats: Sequence[str]
    charts: bool
    is_thorough: bool
    boards: Sequence[Path]
    """Where the page goes too: the same in each."""
    sharing: Collection[str]
    """The suites whose files are in this folder."""

    def write(self, report: Report, noted: _Noted) -> list[Path]:
        """Write them; gives their paths, without the dashboards'."""
        cases = noted.take_cases()
        glance = cases if reports.is_quick_run(report) and not self.is_thorough else None
        del cases
        wanted = _with_analysis(self.formats, report)
        whose = reports.rows_owner(report, self.sharing)
        written = reports.write_artifacts(
            report, self.folder, wanted, lines=noted.lines, charts=self.charts, noted=glance, rows_of=whose
        )
        for board in self.boards[:1]:
            reports.write_atomically(board, reports.html_chunks(report, charts=self.charts, noted=glance))
        for board in self.boards[1:]:
            reports.write_atomically(board, [self.boards[0].read_bytes()])
        return written


def _beside_each_other(
    made: Sequence[Report], folders: Mapping[str, Path], suites: Collection[str], tell: Callable[[str], None]
) -> Iterator[Path]:
    """Write the summary of every suite with several targets."""
    for suite, folder in folders.items():
        of_suite = [report for report in made if report.run.suite == suite]
        if len(of_suite) > 1:
            written = reports.write_systems(of_suite, folder, () if len(folders) > 1 else suites)
            tell(f"All targets beside each other: {reports.from_here(written[0])}")
            yield from written


def _folder(output_dir: Path, plan: Plan, plans: Sequence[Plan]) -> Path:
    """Where the files of a plan go: with several suites, each has a folder of its own."""
    is_one = all(each.suite == plan.suite for each in plans)
    return output_dir if is_one else output_dir / reports.safe_name(plan.suite)


def _label(plan: Plan, plans: Sequence[Plan]) -> str:
    """What tells a plan from the others: its suite, its target, or both."""
    if all(each.suite == plan.suite for each in plans):
        return plan.target_name
    is_alone = sum(each.suite == plan.suite for each in plans) == 1
    return plan.suite if is_alone else f"{plan.suite} → {plan.target_name}"


def _keep(_said: object) -> None:
    """Print nothing."""


class _Noted:
    """What goes by while the figures are made: lines for the files, and cases for a quick page."""

    def __init__(self, critical: Collection[str]) -> None:
        self._kept = ExitStack()
        self._critical = critical

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._kept.close()

    @cached_property
    def lines(self) -> ResultLines:
        """Begun with the first result: until then nothing of this is loaded."""
        return self._kept.enter_context(reports.ResultLines())

    @cached_property
    def cases(self) -> ListedCases:
        """The same."""
        return reports.ListedCases(critical=self._critical)

    def add(self, result: Result) -> None:
        """Note one result."""
        self.lines.add(result)
        self.cases.add(result)

    def take_cases(self) -> ListedCases:
        """The cases, which are then the caller's: a long run has many, and its page is made from all there is."""
        cases = self.cases
        del self.cases
        return cases


def _with_analysis(formats: Sequence[str], report: Report) -> Sequence[str]:
    """The formats of a run, and why cases failed where some did."""
    return (*formats, "analysis") if report.patterns else formats


def _check_ways_out(plans: Sequence[Plan]) -> None:
    """Offline, a plan that would call somebody who may not be called is refused before anything is stored."""
    if not any(plan.is_offline for plan in plans):
        return
    from cortex_eval.estimate import hosts_of

    refused = {host.host: host for plan in plans for host in hosts_of(plan) if host.refused}
    if refused:
        listed = ", ".join(f"{host} ({', '.join(each.who)})" for host, each in refused.items())
        raise InputError(
            f"--offline would not let this run call {listed}: the project file names no such address. "
            "Write it as api_url or base_url, choose another service, or leave --offline out."
        )


def _boards(dashboard: Path, plan: Plan, plans: Sequence[Plan], suites: Collection[str]) -> list[Path]:
    """The dashboards of this plan: each suite and target has its own; the one without a name is the latest one's."""
    target = [plan.target_name] if sum(each.suite == plan.suite for each in plans) > 1 else []
    names = [[plan.suite, *target]] if {plan.suite} != {*suites, *(each.suite for each in plans)} else []
    names += [target] if all(each.suite == plan.suite for each in plans) else []
    return [
        dashboard.with_name("_".join([dashboard.stem, *map(reports.safe_name, parts)]) + dashboard.suffix)
        for parts in names
    ]


def _also_stopped(signal_number: int | None, plans: Sequence[Plan], begun: int) -> int:
    assert signal_number is not None, "a run without a report was stopped by a signal"
    if plans[begun:]:
        hint(f"Not begun: {', '.join(_label(plan, plans) for plan in plans[begun:])}.")
    return signal_number


async def _play(
    plan: Plan,
    store: Store,
    *,
    resume: str | None,
    rescore: str | None,
    see: Callable[[Result], None],
    is_quiet: bool,
    again: str,
) -> tuple[Report | None, int | None]:
    """The report, if the run came to its end, and the first signal that asked it to stop, if one did."""
    stop, progress = Stop(), Progress()
    received: list[int] = []

    def ask_to_stop(number: int) -> None:
        received.append(number)
        stop.request("signal")
        if len(received) == 1:
            hint(
                f"\nStopping: {progress.in_flight} calls in flight have {stop.grace_s:g} s. Ctrl-C again stops at once."
            )

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ask_to_stop, number)
    shown = asyncio.create_task(progress_line.show(progress, label=f"  {plan.suite}: " if is_quiet else ""))
    loading = asyncio.create_task(_load_reporting(progress))
    try:
        report = await execute(plan, store, progress=progress, stop=stop, resume=resume, rescore=rescore, see=see)
    except StorageError:
        if progress.run_id:
            hint(f"Go on when it is mended: {again or advised(f'cortex run --resume {progress.run_id}')}")
        raise
    finally:
        for task in (shown, loading):
            task.cancel()
        await asyncio.wait([shown, loading])
    stopped_by = received[0] if received else None
    if stopped_by is not None and progress.done < progress.total:
        hint(f"Stopped: {progress.done:,} of {progress.total:,} cases are done and kept.")
        resume_it = reports.with_config(f"cortex run --resume {progress.run_id}", report.run)
        hint(f"Begin again: {again}" if again else f"Go on: {resume_it}")
        if stop.halt.is_set():  # all is on disk; a scorer that blocks a thread would still hold up the end
            os._exit(128 + stopped_by)
        return None, stopped_by
    return report, stopped_by


async def _load_reporting(progress: Progress) -> None:
    """Load what makes the report while calls are waited for: later, everybody would wait for it.

    Piece by piece, so that calls in flight do not seem slower than they are; a short run loads it at its end.
    """
    while not progress.in_flight and not progress.done:  # noqa: ASYNC110  # plain numbers, for whoever looks
        await asyncio.sleep(0.005)
    if progress.total >= LONG_ENOUGH:
        for room, names in LOADED_MEANWHILE.items():
            await _load(room, names, progress)
        if progress.failed:
            await _load(*CAUSES, progress)


async def _load(room: str, names: Sequence[str], progress: Progress) -> None:
    for name in names:
        started = time.monotonic()
        await asyncio.to_thread(getattr, import_module(f"cortex_eval.{room}"), name)
        if progress.done:  # until the first answer, everybody waits anyway
            await asyncio.sleep(LOADING_SHARE * (time.monotonic() - started))
