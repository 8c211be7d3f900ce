"""How long a target is waited for and how often it is asked again."""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass, field
from typing import Any

import pytest

from cortex_eval.asking import ask_target
from cortex_eval.core import Case, InputError, JudgeError, Reply, StorageError, TargetError
from cortex_eval.net import Line, Patience
from cortex_eval.net.patience import LONGEST_DELAY_S
from cortex_eval.targets import Conversation, Target

HELLO = Conversation.at(Case.of("Hello?", id="a"), 0, [], session_id="s")


@dataclass
class Scripted(Target):
    """Does one thing after the other: an error is raised, a number is slept, anything else is the reply."""

    script: list[Any]
    asked: list[float] = field(default_factory=list)

    async def ask(self, turns: Conversation) -> Reply:
        self.asked.append(time.perf_counter())
        step = self.script[min(len(self.asked), len(self.script)) - 1]
        if isinstance(step, BaseException):
            raise step
        if isinstance(step, float):
            await asyncio.sleep(step)
            return Reply(text="late")
        return Reply(text=step)


def unavailable() -> TargetError:
    return TargetError("not now", kind="status", transient=True)


async def test_tr04_a_failure_that_may_pass_is_tried_again():
    target = Scripted([unavailable(), unavailable(), "Hi."])

    reply = await ask_target(Line(patience=Patience(retries=2, retry_delay_s=0.001)), target, HELLO)

    assert (reply.text, reply.attempts) == ("Hi.", 3)


async def test_tr04_only_the_attempt_that_succeeded_is_timed():
    target = Scripted([unavailable(), "Hi."])

    reply = await ask_target(Line(patience=Patience(retries=1, retry_delay_s=0.3)), target, HELLO)

    assert reply.total_time_ms < 100
    assert target.asked[1] - target.asked[0] > 0.2


async def test_after_the_last_attempt_the_error_says_how_many_there_were():
    target = Scripted([unavailable()])

    with pytest.raises(TargetError, match="not now") as caught:
        await ask_target(Line(patience=Patience(retries=2, retry_delay_s=0.001)), target, HELLO)

    assert (caught.value.attempts, len(target.asked)) == (3, 3)


async def test_what_will_not_pass_by_itself_is_not_tried_again():
    target = Scripted([TargetError("bad request", kind="status")])

    with pytest.raises(TargetError) as caught:
        await ask_target(Line(patience=Patience(retries=5)), target, HELLO)

    assert (caught.value.attempts, len(target.asked)) == (1, 1)


async def test_f16_a_target_that_hangs_is_given_up_within_a_tenth_of_the_limit():
    started = time.perf_counter()

    with pytest.raises(TargetError, match=r"No reply within 1 s") as caught:
        await ask_target(Line(patience=Patience(timeout_s=1.0, retries=0)), Scripted([60.0]), HELLO)

    assert 1.0 <= time.perf_counter() - started < 1.1
    assert (caught.value.kind, caught.value.transient) == ("timeout", True)


async def test_each_attempt_has_the_whole_limit():
    target = Scripted([0.2, "Hi."])

    reply = await ask_target(Line(patience=Patience(timeout_s=0.1, retries=1, retry_delay_s=0.0)), target, HELLO)

    assert (reply.text, reply.attempts) == ("Hi.", 2)


@pytest.mark.parametrize("error", [ValueError("oops"), SystemExit(0), JudgeError("not yours"), TimeoutError("mine")])
async def test_pl02_pl03_whatever_foreign_code_raises_is_a_target_error(error):
    with pytest.raises(TargetError):
        await ask_target(Line(patience=Patience(retries=0)), Scripted([error]), HELLO)


@pytest.mark.parametrize("error", [StorageError("full"), InputError("no such file")])
async def test_what_is_not_the_targets_trouble_goes_through(error):
    with pytest.raises(type(error)):
        await ask_target(Line(patience=Patience(retries=3)), Scripted([error]), HELLO)


async def test_being_cancelled_is_not_an_error_of_the_target():
    task = asyncio.ensure_future(ask_target(Line(patience=Patience()), Scripted([60.0]), HELLO))
    await asyncio.sleep(0)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


def test_waits_grow_with_jitter_and_have_a_limit():
    patience = Patience(retry_delay_s=1.0, dice=random.Random(1))
    waits = [[patience.delay_s(attempt) for _ in range(200)] for attempt in range(1, 12)]

    for attempt, drawn in enumerate(waits):
        middle = min(2.0**attempt, LONGEST_DELAY_S)
        assert 0.75 * middle <= min(drawn) < max(drawn) <= 1.25 * middle
        assert len(set(drawn)) > 100
