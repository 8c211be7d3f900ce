"""What is said while a run goes on: only what is worth something."""

from __future__ import annotations

import time

import pytest

from cortex_eval.cli.progress import bar, describe
from cortex_eval.control import Progress


def going(done: int, total: int, *, seconds: float, **fields: object) -> Progress:
    return Progress(total=total, done=done, started=time.monotonic() - seconds, **fields)


def test_before_the_first_case_is_done_there_is_no_rate_and_no_time_left():
    assert describe(going(0, 6, seconds=20)) == "0/6  0 errors"


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


def test_what_is_waited_for_stands_where_a_narrow_window_still_shows_it():
    told = "trying again in 12 s, for 10 min more: http://127.0.0.1:8080/ask could not be reached: refused"
    shown = bar(going(0, 12, seconds=5, waits_for=lambda: told), 80)

    assert len(shown) < 80
    assert "waiting: trying again in 12 s, for 10 min more" in shown
