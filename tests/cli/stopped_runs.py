"""Runs that are stopped while their service holds its answers back."""

from __future__ import annotations

import asyncio
import signal
import subprocess

from cortex_eval.testing import ScriptedService


def tell_to_stop(running: subprocess.Popen[str], number: signal.Signals = signal.SIGINT) -> None:
    """Send the signal, and return when the command has said that it is stopping."""
    running.send_signal(number)
    assert running.stderr is not None
    while "Stopping" not in (line := running.stderr.readline()):
        assert line, "it ended without a word about stopping"


def stop_and_let_go(
    running: subprocess.Popen[str],
    bot: ScriptedService,
    gate: asyncio.Event,
    number: signal.Signals = signal.SIGINT,
) -> tuple[str, str]:
    """Stop the command, then let the bot answer what waits at the gate; what it printed until its end."""
    tell_to_stop(running, number)

    async def let_go() -> None:
        gate.set()

    bot.from_thread(let_go())
    return running.communicate(timeout=60)
