"""Carrying out plans from the command line: signals, progress, artifacts, and what is printed in the end."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

from cortex_eval import analysis, reports
from cortex_eval.cli import progress as progress_line
from cortex_eval.cli.options import hint, make_folder, print_json
from cortex_eval.cli.shown import print_report
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
PAUSE_S = 0.005
LOADED_MEANWHILE = {
    "analysis": (
        *("Classified", "Coverage", "Confidence", "Expectation", "Hallucination", "Parity", "Pattern", "Trend", "Gate"),
        *("Report", "judge_usages", "Figures", "decide", "Failures", "diagnose", "summarise", "compare_patterns"),
    ),
    "reports": (
        *("verdict_words", "ResultLines", "ListedCases", "money", "render_console", "html_chunks", "write_artifacts"),
    ),
}
"""Names of what a report is made with, each with the files behind it; the smallest first."""
RUN_FORMATS = ("html", "json", "jsonl")
SEVERITY = (0, 1, 2, 3)
"""When several targets differ, the gravest exit code is the command's: 3 before 2 before 1."""


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
    is_thorough: bool = False,
    is_quiet: bool = False,
    finish: Callable[[Sequence[Report], Sequence[Path]], None] | None = None,
) -> int:
    """Carry out the plans one after the other, print and write what came of them, and give the exit code.

    `finish` is shown all reports and files once the last run has come to its end. `is_thorough`: the page has charts
    and every conversation even after a quick run, which takes a second more. `is_quiet`: what came of them is left for
    `finish` to print.
    """
    show, tell = (_keep, _keep) if is_quiet else (partial(print_report, as_json=False), hint)
    for folder in {output_dir, *([dashboard.parent] if dashboard else [])}:
        make_folder(folder)  # before any call is paid for
    for note in dict.fromkeys(note for plan in plans for note in plan.notes):
        hint(f"Note: {note}")
    if rescore is None:
        _check_ways_out(plans)
    made: list[Report] = []
    files: list[Path] = []
    documents = []
    for number, plan in enumerate(plans, 1):
        with _Noted() as noted:
            report, stopped_by = asyncio.run(_play(plan, store, resume=resume, rescore=rescore, see=noted.add))
            if report is None:
                return 128 + _also_stopped(stopped_by, plans[number:])
            cases = noted.take_cases()
            glance = cases if reports.is_quick_run(report) and not is_thorough else None
            del cases
            wanted = _with_analysis(formats, report)
            written = reports.write_artifacts(
                report, output_dir, wanted, lines=noted.lines, charts=charts, noted=glance
            )
        if dashboard is not None:
            reports.write_atomically(
                _own(dashboard, plan, plans), reports.html_chunks(report, charts=charts, noted=glance)
            )
        if as_json:
            documents.append(report.to_dict(results=with_results))
        else:
            show(report)
        page = next((path for path in written if path.suffix == ".html"), None)
        tell(f"Report: {page}" if page else f"Written: {', '.join(map(str, written))}")
        if stopped_by is not None and plans[number:]:
            return 128 + _also_stopped(stopped_by, plans[number:])
        made.append(report)
        files += written
    if len(made) > 1:
        files.append(reports.write_systems(made, output_dir))
        tell(f"All targets beside each other: {files[-1]}")
    if as_json:
        print_json(documents[0] if len(documents) == 1 else documents)
    if finish is not None:
        finish(made, files)
    return max((report.exit_code for report in made), key=SEVERITY.index)


def _keep(_said: object) -> None:
    """Print nothing."""


class _Noted:
    """What goes by while the figures are made: lines for the files, and cases for a quick page."""

    def __init__(self) -> None:
        self._kept = ExitStack()

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
        return reports.ListedCases()

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


def _own(dashboard: Path, plan: Plan, plans: Sequence[Plan]) -> Path:
    """The dashboard of this plan: with several targets, each has its own."""
    if len(plans) == 1:
        return dashboard
    return dashboard.with_name(f"{dashboard.stem}_{reports.safe_name(plan.target_name)}{dashboard.suffix}")


def _also_stopped(signal_number: int | None, rest: Sequence[Plan]) -> int:
    assert signal_number is not None, "a run without a report was stopped by a signal"
    if rest:
        hint(f"Not begun: {', '.join(plan.target_name for plan in rest)}.")
    return signal_number


async def _play(
    plan: Plan, store: Store, *, resume: str | None, rescore: str | None, see: Callable[[Result], None]
) -> tuple[Report | None, int | None]:
    """The report, if the run came to its end, and the first signal that asked it to stop, if one did."""
    stop, progress = Stop(), Progress()
    received: list[int] = []

    def ask_to_stop(number: int) -> None:
        received.append(number)
        stop.request("signal")
        if len(received) == 1:
            hint(
                f"\nStopping. {progress.in_flight} calls in flight may take up to {stop.grace_s:g} s; "
                "press Ctrl-C again to stop at once."
            )

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ask_to_stop, number)
    shown = asyncio.create_task(progress_line.show(progress))
    loading = asyncio.create_task(_load_reporting(progress))
    try:
        report = await execute(plan, store, progress=progress, stop=stop, resume=resume, rescore=rescore, see=see)
    except StorageError:
        if progress.run_id:
            hint(f"Go on when it is mended: cortex run --resume {progress.run_id}")
        raise
    finally:
        for task in (shown, loading):
            task.cancel()
        await asyncio.wait([shown, loading])
    stopped_by = received[0] if received else None
    if stopped_by is not None and progress.done < progress.total:
        hint(f"Stopped: {progress.done:,} of {progress.total:,} cases are done and kept.")
        hint(f"Go on: {reports.with_config(f'cortex run --resume {progress.run_id}', report.run)}")
        if stop.halt.is_set():  # all is on disk; a scorer that blocks a thread would still hold up the end
            os._exit(128 + stopped_by)
        return None, stopped_by
    return report, stopped_by


async def _load_reporting(progress: Progress) -> None:
    """Load what makes the report while calls are waited for: later, everybody would wait for it.

    Piece by piece, so that calls in flight do not seem slower than they are; a short run loads it at its end.
    """
    while not progress.in_flight and not progress.done:  # noqa: ASYNC110  # plain numbers, for whoever looks
        await asyncio.sleep(0.01)
    if progress.total >= LONG_ENOUGH:
        for room, names in LOADED_MEANWHILE.items():
            for name in names:
                await asyncio.to_thread(getattr, {"analysis": analysis, "reports": reports}[room], name)
                await asyncio.sleep(PAUSE_S)
