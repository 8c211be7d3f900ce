"""Carrying out plans from the command line: signals, progress, artifacts, and what is printed in the end."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from cortex_eval.analysis import Report
from cortex_eval.cli import progress as progress_line
from cortex_eval.cli.options import hint, print_json
from cortex_eval.config import Plan
from cortex_eval.control import Progress, Stop
from cortex_eval.engine import execute
from cortex_eval.reports import render_console, render_html, write_artifacts, write_atomically
from cortex_eval.storage import Store

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
) -> int:
    """Carry out the plans one after the other, print and write what came of them, and give the exit code."""
    for note in dict.fromkeys(note for plan in plans for note in plan.notes):
        hint(f"Note: {note}")
    codes, documents = [], []
    for plan in plans:
        report, signal_number = asyncio.run(_play(plan, store, resume=resume, rescore=rescore))
        if signal_number is not None:
            return 128 + signal_number
        written = write_artifacts(report, output_dir, ("html", "json", "jsonl"))
        if dashboard is not None:
            write_atomically(dashboard, [render_html(report).encode("utf-8", "replace")])
        if as_json:
            documents.append(report.to_dict(results=with_results))
        else:
            click.echo(render_console(report, colour=_has_colour()))
        page = next((path for path in written if path.suffix == ".html"), None)
        hint(f"Report: {page}" if page else f"Written: {', '.join(map(str, written))}")
        codes.append(report.exit_code)
    if as_json:
        print_json(documents[0] if len(documents) == 1 else documents)
    return max(codes, key=SEVERITY.index)


async def _play(plan: Plan, store: Store, *, resume: str | None, rescore: str | None) -> tuple[Report, int | None]:
    """The report, and the signal that ended the run early, if one did."""
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
    try:
        report = await execute(plan, store, progress=progress, stop=stop, resume=resume, rescore=rescore)
    finally:
        shown.cancel()
        await asyncio.wait([shown])
    if received and progress.done < progress.total:
        hint(f"Stopped: {progress.done:,} of {progress.total:,} cases are done and kept.")
        hint(f"Go on: cortex run --resume {progress.run_id}")
        return report, received[0]
    return report, None


def _has_colour() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ
