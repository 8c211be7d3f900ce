"""One attempt at a call: whatever goes wrong with it is an error of its case, and says what it was."""

from __future__ import annotations

import asyncio
from typing import Never

import pytest

from cortex_eval.core import Reply, TargetError
from cortex_eval.net.attempt import attempt_once

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
        await attempt_once(never, 0.01)

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
        await attempt_once(raising(error), FOR_EVER_S)

    assert str(caught.value) == told
    assert (caught.value.kind, caught.value.transient) == ("timeout", True)


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit("x"), asyncio.CancelledError("x")])
async def test_what_foreign_code_raises_is_an_error_of_the_case(error):
    with pytest.raises(TargetError, match=f"The target raised {type(error).__name__}: x") as caught:
        await attempt_once(raising(error), FOR_EVER_S)

    assert (caught.value.kind, caught.value.transient) == ("raised", False)


async def test_who_is_cancelled_stays_so():
    task = asyncio.create_task(attempt_once(never, FOR_EVER_S))
    await asyncio.sleep(0)

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
