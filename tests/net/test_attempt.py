"""One attempt at a call: whatever goes wrong with it is an error of its case, and says what it was."""

from __future__ import annotations

import asyncio
from typing import Never

import pytest

from cortex_eval.core import Reply, TargetError
from cortex_eval.net.attempt import attempt_once
from cortex_eval.net.deadlines import Deadlines

FOR_EVER_S = 3600.0


async def never() -> Reply:
    """A service that does not answer."""
    await asyncio.Event().wait()
    return Reply()


def raising(error: BaseException):
    async def attempt() -> Never:
        raise error

    return attempt


async def test_what_does_not_come_in_time_names_the_setting():
    with pytest.raises(TargetError, match=r"^No reply within 0\.01 s \(timeout_seconds\)\.$") as caught:
        await attempt_once(never, Deadlines(0.01))

    assert (caught.value.kind, caught.value.transient) == ("timeout", True)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (TimeoutError("the database is slow"), "The target raised TimeoutError: the database is slow"),
        (TimeoutError(), "The target raised TimeoutError"),
    ],
)
async def test_a_time_limit_of_the_targets_own_is_not_taken_for_ours(error, told):
    with pytest.raises(TargetError) as caught:
        await attempt_once(raising(error), Deadlines(FOR_EVER_S))

    assert str(caught.value) == told
    assert (caught.value.kind, caught.value.transient) == ("timeout", True)


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit("x"), asyncio.CancelledError("x")])
async def test_what_foreign_code_raises_is_an_error_of_the_case(error):
    with pytest.raises(TargetError, match=f"The target raised {type(error).__name__}: x") as caught:
        await attempt_once(raising(error), Deadlines(FOR_EVER_S))

    assert (caught.value.kind, caught.value.transient) == ("raised", False)


async def test_who_is_cancelled_stays_so():
    task = asyncio.create_task(attempt_once(never, Deadlines(FOR_EVER_S)))
    await asyncio.sleep(0)

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


async def test_one_limit_holds_for_each_of_many_calls_that_begin_at_different_times():
    limit, ended = Deadlines(0.1), {}
    began = asyncio.get_running_loop().time()

    async def call(number: int) -> None:
        try:
            await attempt_once(never if number % 2 else quick, limit)
        except TargetError as error:
            ended[number] = (error.kind, asyncio.get_running_loop().time() - began)

    async with asyncio.TaskGroup() as group:
        for number in range(6):
            group.create_task(call(number))
            await asyncio.sleep(0.02)

    assert {number: kind for number, (kind, _) in ended.items()} == {1: "timeout", 3: "timeout", 5: "timeout"}
    assert all(took >= 0.1 + 0.02 * number for number, (_, took) in ended.items())


async def quick() -> Reply:
    return Reply(text="ok")


async def test_a_call_that_ran_out_of_time_and_says_something_else_leaves_its_task_as_it_was():
    async def turns_it_into_an_error() -> Never:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise TargetError("torn down", kind="connection") from None
        raise AssertionError

    task = asyncio.current_task()
    with pytest.raises(TargetError, match="torn down"):
        await attempt_once(turns_it_into_an_error, Deadlines(0.01))

    assert task.cancelling() == 0
    await asyncio.sleep(0)


async def test_who_is_cancelled_just_when_the_time_is_over_stays_so():
    limit = Deadlines(0.02)
    task = asyncio.create_task(attempt_once(never, limit))
    await asyncio.sleep(0)
    asyncio.get_running_loop().call_later(0.02, task.cancel)

    with pytest.raises((asyncio.CancelledError, TargetError)) as caught:
        await task

    assert isinstance(caught.value, TargetError) == (task.cancelling() == 0)
