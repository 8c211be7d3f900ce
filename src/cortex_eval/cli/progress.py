"""What is seen while a run goes on: a bar on a terminal, plain lines elsewhere; on stderr."""

from __future__ import annotations

import asyncio
import shutil
import sys
import time
from contextlib import suppress

from cortex_eval.cli.options import cut_at_word
from cortex_eval.control import Progress
from cortex_eval.core import redact

BAR_EVERY_S = 0.2
LINE_EVERY_S = 10.0
ENOUGH_DONE = 10
"""Cases after which the time left can be guessed; half of them are enough of a short run."""


async def show(progress: Progress, *, label: str = "") -> None:
    """Show how far the run is until this is cancelled; `label` tells its lines from those of somebody else."""
    is_terminal = sys.stderr.isatty()
    try:
        while True:
            await asyncio.sleep(BAR_EVERY_S if is_terminal else LINE_EVERY_S)
            if is_terminal:
                _write("\r\x1b[K" + bar(progress, shutil.get_terminal_size().columns))
            else:
                _write(f"{label}{describe(progress)}\n")
    finally:
        if is_terminal:
            _write("\r\x1b[K")


def bar(progress: Progress, columns: int) -> str:
    """A bar with the figures beside it, never wider than the window."""
    words = describe(progress)
    if len(words) >= columns and (waits_for := progress.waits_for()):
        before = f"{_counted(progress)}  "
        return before + cut_at_word(waits_for, columns - 1 - len(before))
    width = min(30, columns - len(words) - 4)
    if width < 5 or not progress.total:
        return words[: columns - 1]
    full = round(width * progress.done / progress.total)
    return f"[{'#' * full}{'-' * (width - full)}] {words}"


def describe(progress: Progress) -> str:
    """Cases done, rate, errors, cost and time left, in words; while something is waited for, that and what it is."""
    if waits_for := progress.waits_for():
        errors = [_errors(progress)] if progress.errors else []
        return "  ".join([_counted(progress), *errors, redact(waits_for)])
    elapsed_s = time.monotonic() - progress.started
    done_here = progress.done - progress.done_before
    rate = done_here / elapsed_s if elapsed_s > 0 else 0.0
    parts = [_counted(progress)]
    if done_here:
        parts.append(_pace(rate))
    else:  # something moves, however long the first one takes
        parts += [f"{progress.in_flight:,} in flight"] * bool(progress.in_flight)
        parts.append(f"{_clock(elapsed_s)} so far")
    parts.append(_errors(progress))
    if progress.cost_usd is not None:
        parts.append(f"${progress.cost_usd:.2f}")
    if progress.total > progress.done and done_here >= min(ENOUGH_DONE, progress.total / 2):
        parts.append(f"{_clock((progress.total - progress.done) / rate)} left")
    return "  ".join(parts)


def _counted(progress: Progress) -> str:
    return f"{progress.done:,}/{progress.total:,}"


def _errors(progress: Progress) -> str:
    return f"{progress.errors:,} error{'' if progress.errors == 1 else 's'}"


def _pace(rate: float) -> str:
    """Cases a second, or seconds a case where those are few."""
    if rate >= 1:
        return f"{rate:.0f}/s" if rate >= 10 else f"{rate:.1f}/s"
    return f"{1 / rate:.0f} s per case" if rate <= 0.1 else f"{1 / rate:.1f} s per case"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _write(text: str) -> None:
    with suppress(BrokenPipeError):  # nobody looks any more; the run goes on
        sys.stderr.write(text)
        sys.stderr.flush()
