"""Ctrl-C while the command is still loading, and help that nobody reads."""

from __future__ import annotations

import signal
import subprocess

import pytest

INTERRUPTS = """
import os, signal

class Gone:
    def __del__(self):  # an exception here is lost, as it is in places of Python's own import
        os.kill(os.getpid(), signal.SIGINT)

Gone()
"""


@pytest.fixture
def project(make_project):
    made = make_project(
        [{"id": "1", "input": "Hello?"}], {"kind": "python", "call": "bot:answer"}, plugins=["plugin.py"]
    )
    (made.root / "bot.py").write_text("def answer(text):\n    return text\n", encoding="utf-8")
    (made.root / "plugin.py").write_text(INTERRUPTS, encoding="utf-8")
    return made


def test_an_interrupt_while_a_run_is_loaded_ends_it_at_once_without_a_word(project):
    running = project.start("run")
    out, err = running.communicate(timeout=60)

    assert (running.returncode, out, err) == (130, "", "")


def test_an_interrupt_that_is_ignored_stays_so(project):
    ignoring = lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)  # noqa: E731  # as nohup and `&` do
    done = subprocess.run(
        [project.command, "run", "--dry-run"],
        cwd=project.root,
        preexec_fn=ignoring,  # no thread of ours holds a lock that it takes
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0


@pytest.mark.parametrize("asked", ["--help", "run --help", "--version"])
def test_help_that_nobody_reads_is_no_failure(project, asked):
    shell = f"'{project.command}' {asked} | head -0; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, timeout=60, check=False)

    assert (done.returncode, done.stderr) == (0, "")
