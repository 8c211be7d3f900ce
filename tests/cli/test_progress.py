"""What is said while a run goes on: only what is worth something."""

from __future__ import annotations

import asyncio
import time

import pytest

from cortex_eval.cli import progress as progress_line
from cortex_eval.cli.progress import bar, describe, show
from cortex_eval.control import Progress


def going(done: int, total: int, *, seconds: float, **fields: object) -> Progress:
    return Progress(total=total, done=done, started=time.monotonic() - seconds, **fields)


def test_before_the_first_case_is_done_there_is_no_rate_and_no_time_left():
    assert describe(going(0, 6, seconds=20)) == "0/6  0:20 so far  0 errors"
    assert describe(going(0, 6, seconds=83, in_flight=6)) == "0/6  6 in flight  1:23 so far  0 errors"


@pytest.mark.parametrize(
    ("done", "seconds", "pace"),
    [(1000, 20, "50/s"), (30, 20, "1.5/s"), (10, 20, "2.0 s per case"), (1, 20, "20 s per case")],
)
def test_the_rate_is_in_cases_a_second_or_in_seconds_a_case_and_never_zero(done, seconds, pace):
    assert f"  {pace}  " in describe(going(done, 5000, seconds=seconds))


def test_the_time_left_is_told_once_enough_cases_are_done_to_guess_it():
    assert "left" not in describe(going(1, 6, seconds=20))
    assert "left" not in describe(going(9, 5000, seconds=9))
    assert describe(going(3, 6, seconds=30)).endswith("0:30 left")
    assert describe(going(10, 5000, seconds=10)).endswith("1:23:10 left")


def test_what_an_earlier_part_of_the_run_did_says_nothing_about_the_time_left():
    assert "left" not in describe(going(501, 5000, seconds=5, done_before=500))


def test_what_is_waited_for_fits_a_window_of_80_columns_and_a_pipe_says_the_same():
    told = "127.0.0.1:8799 refuses connections; trying again in 18 s, for 10 min more"
    progress = going(0, 30, seconds=5, waits_for=lambda: told)

    assert bar(progress, 80) == describe(progress) == f"0/30  {told}"


def test_where_there_is_no_room_the_errors_give_way_and_then_the_end_of_what_is_waited_for():
    told = "127.0.0.1:8799 refuses connections; trying again in 18 s, for 10 min more"
    progress = going(12, 30, seconds=5, errors=3, waits_for=lambda: told)

    assert describe(progress) == f"12/30  3 errors  {told}"
    assert bar(progress, 81) == f"12/30  {told}"
    assert bar(progress, 60) == "12/30  127.0.0.1:8799 refuses connections; trying again in…"


async def test_in_a_pipe_lines_of_progress_say_whose_they_are(monkeypatch, capsys):
    monkeypatch.setattr(progress_line, "LINE_EVERY_S", 0.0)
    shown = asyncio.create_task(show(going(0, 6, seconds=20, in_flight=6), label="  voice: "))

    while not (said := capsys.readouterr().err):  # what is waited for is the printing itself
        await asyncio.sleep(0)
    shown.cancel()

    assert said.splitlines()[0] == "  voice: 0/6  6 in flight  0:20 so far  0 errors"
