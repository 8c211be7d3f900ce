import asyncio
import math
import threading

import pytest

from cortex_eval.core import (
    Case,
    InputError,
    JudgeError,
    Reply,
    Score,
    Secret,
    StorageError,
    TargetError,
    Turn,
    Unavailable,
)
from cortex_eval.scoring import Batcher, FunctionScorer, PlannedScorer, plan_scorer, run_scorer, scorer, scorers
from cortex_eval.scoring.text import Contains

CASE = Case.of("Where?", "At the clinic", id="1")
REPLY = Reply(text="At the clinic.")


async def run(function, reply=REPLY, case=CASE, **fields) -> Score:
    return await run_scorer(plan_scorer(function, **fields), case, reply)


async def test_a_function_is_a_scorer_and_stays_a_function():
    @scorer
    def names_a_clinic(case: Case, reply: Reply) -> bool:
        """Is there a clinic?"""
        return "clinic" in reply.text

    score = await run(names_a_clinic)

    assert names_a_clinic(CASE, REPLY) is True
    assert names_a_clinic.__name__ == "names_a_clinic"
    assert names_a_clinic.__doc__ == "Is there a clinic?"
    assert (score.name, score.value, score.passed, score.level) == ("names_a_clinic", 1.0, True, "turn")
    assert score.fingerprint


async def test_a_decorated_function_can_be_named_in_a_project_file():
    @scorer(name="short-reply", threshold=0.5)
    async def shortness(case, reply):
        return 0.6

    planned = plan_scorer("short-reply")
    score = await run_scorer(planned, CASE, REPLY)

    assert "short-reply" in scorers
    assert planned.threshold == 0.5
    assert (score.name, score.value, score.passed) == ("short-reply", 0.6, True)
    with pytest.raises(InputError, match="no setting 'limit'"):
        scorers.build("short-reply", {"limit": 3})


@pytest.mark.parametrize(
    ("answer", "value", "passed"),
    [(True, 1, True), (False, 0, False), (0.7, 0.7, True), (0.69, 0.69, False), (1, 1, True), (None, None, None)],
)
async def test_what_a_function_gives_back_becomes_a_score(answer, value, passed):
    score = await run(lambda case, reply: answer)

    assert (score.value, score.passed) == (value, passed)


@pytest.mark.parametrize("answer", [True, False])
async def test_a_yes_or_no_says_whose_it_is(answer):
    def is_short(case, reply):
        return answer

    assert (await run(is_short)).reason == f"is_short returned {answer}."


async def test_numbers_of_numpy_are_numbers():
    import numpy as np

    assert (await run(lambda case, reply: np.bool_(True))).value == 1
    assert (await run(lambda case, reply: np.float32(0.5))).value == 0.5
    assert type((await run(lambda case, reply: np.float64(0.5))).value) is float


@pytest.mark.parametrize("answer", ["good", 1.5, -0.1, math.nan, math.inf, [1], 2, {"value": 1}])
async def test_anything_else_is_an_error_and_not_a_score(answer):
    with pytest.raises(JudgeError, match="gave back") as caught:
        await run(lambda case, reply: answer)

    assert caught.value.kind == "bad_score"


@pytest.mark.parametrize(
    ("score", "message"),
    [
        (Score(name="x", value=math.nan), "gave the value nan"),
        (Score(name="x", value=1.2), "gave the value 1.2"),
        (Score(name="x", value="1"), "gave the value '1'"),
        (Score(name="x", value=True), "gave the value True"),
        (Score(name="x", value=1.0, measure=math.inf), "measured inf"),
        (Score(name="x", value=1.0, evidence=object()), "JSON cannot hold"),
    ],
)
async def test_a_score_that_is_none_is_an_error(score, message):
    with pytest.raises(JudgeError, match=message):
        await run(lambda case, reply: score)


async def test_a_function_that_raises_is_a_judge_error_that_names_it_and_hides_secrets():
    secret = Secret("hunter2hunter2")

    @scorer
    def broken(case, reply):
        raise ValueError(f"no key {secret.reveal()}")

    with pytest.raises(JudgeError, match="The scorer 'broken' raised ValueError: no key") as caught:
        await run(broken)

    assert caught.value.kind == "crashed"
    assert isinstance(caught.value.__cause__, ValueError)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("error", "kind", "expected"),
    [
        (JudgeError("no verdict", kind="refused"), "refused", JudgeError),
        (TargetError("gone", kind="timeout"), "timeout", JudgeError),
        (StorageError("disk full"), "storage", StorageError),
        (Unavailable("nothing left to spend", kind="budget"), "budget", Unavailable),
        (asyncio.CancelledError(), "crashed", JudgeError),
        (SystemExit(0), "crashed", JudgeError),
    ],
)
async def test_errors_with_a_meaning_keep_it(error, kind, expected):
    def fails(case, reply):
        raise error

    with pytest.raises(expected) as caught:
        await run(fails)

    assert getattr(caught.value, "kind", None) == kind


async def test_a_run_that_is_cancelled_is_cancelled_inside_a_scorer_too():
    has_begun = asyncio.Event()

    async def waits(case, reply):
        has_begun.set()
        await asyncio.Event().wait()

    task = asyncio.ensure_future(run(waits))
    await has_begun.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_blocking_function_runs_in_a_thread_and_others_on_the_loop():
    @scorer(blocking=True)
    def waits(case, reply):
        return threading.current_thread() is not threading.main_thread()

    @scorer
    def quick(case, reply):
        return threading.current_thread() is threading.main_thread()

    assert (await run(waits)).value == 1
    assert (await run(quick)).value == 1


async def test_a_function_of_level_case_gets_every_reply():
    @scorer(level="case")
    def kept_short(case, replies):
        return len(replies) == 2

    case = Case(id="1", turns=(Turn(text="a"), Turn(text="b")))
    score = await run_scorer(plan_scorer(kept_short), case, [REPLY, REPLY])

    assert (score.value, score.level) == (1, "case")


def test_wrong_arguments_of_the_decorator_are_input_errors():
    with pytest.raises(InputError, match="from 0 to 1"):
        scorer(threshold=70)
    with pytest.raises(InputError, match="'turn' or 'case'"):
        scorer(level="run")
    with pytest.raises(InputError, match="async"):

        @scorer(blocking=True)
        async def both(case, reply): ...


@pytest.mark.parametrize(
    ("function", "level", "message"),
    [
        (
            lambda reply: True,
            "turn",
            "@scorer: own(reply) does not take a case and its reply; write def own(case, reply).",
        ),
        (lambda: True, "case", "@scorer: own() does not take a case and its replies; write def own(case, replies)."),
        (lambda case, reply, context: True, "turn", "own(case, reply, context) does not take"),
        (lambda case, reply, *, limit: True, "turn", "limit) does not take"),
    ],
)
def test_a_function_with_other_parameters_is_refused_before_anything_is_asked(function, level, message):
    function.__name__ = "own"

    with pytest.raises(InputError) as caught:
        scorer(level=level)(function)
    with pytest.raises(InputError):
        plan_scorer(function)

    assert message in str(caught.value)
    assert "own" not in scorers


@pytest.mark.parametrize("function", [lambda *both: True, lambda case, reply, limit=3: True])
def test_a_function_that_can_be_called_with_two_is_a_scorer(function):
    function.__name__ = "takes_two"

    assert scorer(function).name == "takes_two"


def test_a_function_cannot_take_the_name_of_a_built_in_scorer_but_can_be_defined_again():
    with pytest.raises(InputError, match="There already is a scorer 'accuracy'"):

        @scorer
        def accuracy(case, reply):
            return True

    for answer in (True, False):
        again = scorer(name="defined-again")(lambda case, reply, answer=answer: answer)
    assert scorers.build("defined-again", {}) is again


def test_the_fingerprint_follows_the_code_of_the_function_and_the_settings():
    first = plan_scorer(FunctionScorer(lambda case, reply: True, name="f"))
    second = plan_scorer(FunctionScorer(lambda case, reply: not True, name="f"))

    assert first.fingerprint != second.fingerprint
    assert plan_scorer(Contains(("a",))).fingerprint != plan_scorer(Contains(("b",))).fingerprint


def test_an_object_that_is_no_scorer_is_an_input_error():
    with pytest.raises(InputError, match="is not a scorer"):
        plan_scorer(42)
    with pytest.raises(InputError, match="Did you mean 'accuracy'"):
        plan_scorer("acuracy")


async def test_a_score_carries_the_name_and_threshold_of_its_plan():
    planned = plan_scorer("contains", name="says clinic", settings={"values": ["clinic"]}, threshold=1.0)

    score = await run_scorer(planned, CASE, REPLY)

    assert (score.name, score.passed, score.version) == ("says clinic", True, "1")
    assert score.fingerprint == planned.fingerprint


class Lengths:
    """A batch scorer with a ledger."""

    def __init__(self, bad: str = "") -> None:
        self.bad = bad
        self.batches: list[int] = []
        self.at_once = 0
        self.most_at_once = 0
        self.started = threading.Event()
        self.go = threading.Event()
        self.go.set()

    def score_batch(self, pairs):
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        self.started.set()
        self.go.wait(5)
        self.batches.append(len(pairs))
        self.at_once -= 1
        if self.bad and any(reply.text == self.bad for _, reply in pairs):
            raise ValueError("bad reply")
        return [Score(name="lengths", value=len(reply.text) / 1000) for _, reply in pairs]


def plan(kind: Lengths) -> PlannedScorer:
    return PlannedScorer(name="lengths", scorer=kind, kind="lengths")


async def test_replies_are_scored_in_batches_one_at_a_time_and_each_gets_its_own_score():
    lengths = Lengths()
    async with asyncio.TaskGroup() as group:
        batcher = Batcher(plan(lengths), group)
        tasks = [group.create_task(batcher.score(CASE, Reply(text="x" * i))) for i in range(200)]

    assert [task.result().value for task in tasks] == [i / 1000 for i in range(200)]
    assert sum(lengths.batches) == 200
    assert max(lengths.batches) == 64
    assert lengths.most_at_once == 1


async def test_what_comes_during_a_batch_waits_for_the_next():
    lengths = Lengths()
    lengths.go.clear()
    async with asyncio.TaskGroup() as group:
        batcher = Batcher(plan(lengths), group)
        group.create_task(batcher.score(CASE, REPLY))
        await asyncio.to_thread(lengths.started.wait, 5)
        for _ in range(5):
            group.create_task(batcher.score(CASE, REPLY))
        await asyncio.sleep(0)
        lengths.go.set()

    assert lengths.batches == [1, 5]


async def test_one_bad_reply_does_not_cost_the_others_their_score():
    lengths = Lengths(bad="bad")

    async def outcome(batcher: Batcher, text: str) -> object:
        try:
            return (await batcher.score(CASE, Reply(text=text))).value
        except JudgeError as error:
            return str(error)

    async with asyncio.TaskGroup() as group:
        batcher = Batcher(plan(lengths), group)
        tasks = [group.create_task(outcome(batcher, text)) for text in ("a", "bad", "abc")]

    first, second, third = [task.result() for task in tasks]
    assert (first, third) == (0.001, 0.003)
    assert second.startswith("The scorer 'lengths' raised ValueError: bad reply (")
    assert second.endswith(" in score_batch)"), "where in the scorer's own code"


async def test_a_batch_scorer_that_loses_scores_is_an_error():
    class Forgetful:
        def score_batch(self, pairs):
            return []

    async with asyncio.TaskGroup() as group:
        batcher = Batcher(PlannedScorer(name="f", scorer=Forgetful(), kind="f"), group)
        with pytest.raises(JudgeError, match="0 scores for 1 replies"):
            await batcher.score(CASE, REPLY)


async def test_a_waiter_that_is_cancelled_leaves_the_others_alone():
    lengths = Lengths()
    lengths.go.clear()
    async with asyncio.TaskGroup() as group:
        batcher = Batcher(plan(lengths), group)
        running = group.create_task(batcher.score(CASE, REPLY))
        await asyncio.to_thread(lengths.started.wait, 5)
        given_up = group.create_task(batcher.score(CASE, REPLY))
        other = group.create_task(batcher.score(CASE, REPLY))
        await asyncio.sleep(0)
        given_up.cancel()
        running.cancel()
        await asyncio.sleep(0)
        lengths.go.set()

    assert given_up.cancelled()
    assert running.cancelled()
    assert other.result().value == pytest.approx(len(REPLY.text) / 1000)
    assert lengths.batches == [1, 1]


async def test_cancelling_the_group_leaves_nobody_waiting():
    lengths = Lengths()
    lengths.go.clear()

    async def play() -> None:
        async with asyncio.TaskGroup() as group:
            batcher = Batcher(plan(lengths), group)
            for _ in range(3):
                group.create_task(batcher.score(CASE, REPLY))

    whole = asyncio.create_task(play())
    await asyncio.to_thread(lengths.started.wait, 5)
    whole.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(whole, 5)
    lengths.go.set()


async def test_a_batch_scorer_can_be_run_alone():
    score = await run_scorer(plan(Lengths()), CASE, REPLY)

    assert score.value == pytest.approx(len(REPLY.text) / 1000)
