"""Several models judge the same: who is elected, how far they agree, what all of them used together."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal, Protocol, TypeVar

from cortex_eval.core import JudgeError, Unavailable
from cortex_eval.scoring.verdict import JudgeVerdict

T = TypeVar("T")


class _Asked(Protocol):
    @property
    def evidence(self) -> Mapping[str, Any]: ...  # Any: JSON


Paid = TypeVar("Paid", bound=_Asked)
Ties = Literal["error", "pass", "fail"]
"""What becomes of a verdict that has no majority: an error, or the best or the worst that was given."""
Elect = Callable[[Sequence[T], int], T | None]
"""From the verdicts that were given, and the number of models that were asked, to the one that counts, if any."""


def ballot_of(verdict: object) -> Any:  # Any: whatever a judge's verdict is worth
    """What a verdict counts for in a vote."""
    return getattr(verdict, "value", verdict)


def majority(verdicts: Sequence[T], asked: int) -> T | None:
    """The first verdict with the value that more than half of all models gave; those that gave none count as well.

    So an absent model never changes a verdict: it can only leave it open.
    """
    votes = Counter(ballot_of(each) for each in verdicts)
    winner = next((value for value, count in votes.items() if 2 * count > asked), None)
    return None if winner is None else next(each for each in verdicts if ballot_of(each) == winner)


def middle(verdicts: Sequence[JudgeVerdict], asked: int) -> JudgeVerdict | None:
    """For numbers: the median, with the reason of the verdict that is nearest to it; needs every model."""
    if len(verdicts) < asked:
        return None
    ordered = sorted(each.value for each in verdicts)
    value = (ordered[(asked - 1) // 2] + ordered[asked // 2]) / 2  # the `statistics` module takes long to import
    nearest = min(verdicts, key=lambda each: abs(each.value - value))
    return JudgeVerdict(value, nearest.reason)


def break_tie(verdicts: Sequence[T], ties: Ties) -> T | None:
    """The best or the worst verdict, as the setting says; None: that is an error."""
    if ties == "error" or not verdicts:
        return None
    return (max if ties == "pass" else min)(verdicts, key=ballot_of)


def agreement(verdicts: Sequence[object], asked: int) -> float:
    """The share of all models that gave the commonest verdict."""
    votes = Counter(ballot_of(each) for each in verdicts)
    return max(votes.values(), default=0) / asked


def used_together(evidence: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Tokens, cost and calls of several verdicts; of those that were kept only when all were."""
    asked = [each for each in evidence if not each["cached"]] or list(evidence)
    tokens = [each["tokens"] for each in asked]
    costs = [each["cost"] for each in asked]
    currencies = {each["currency"] for each in costs if each is not None}
    is_known = None not in costs and len(currencies) == 1
    return {
        "tokens": None if None in tokens else {key: sum(each[key] for each in tokens) for key in ("input", "output")},
        "cost": {
            "amount": str(sum((Decimal(each["amount"]) for each in costs), Decimal())),
            "currency": currencies.pop(),
        }
        if is_known
        else None,
        "attempts": sum(each["attempts"] for each in asked),
        "cached": all(each["cached"] for each in evidence),
    }


async def all_answers(asking: Sequence[Coroutine[Any, Any, T]]) -> list[T | JudgeError]:
    """What came of each, in order; they are asked at the same time.

    When nothing more can be asked, those on their way still get their answers, which are paid for and kept; then
    `Unavailable` is raised.
    """
    found: list[Any] = [None] * len(asking)  # Any: T or JudgeError; each place is filled below
    stopped: list[Unavailable] = []

    async def answer(place: int, coroutine: Coroutine[Any, Any, T]) -> None:
        try:
            found[place] = await coroutine
        except JudgeError as error:
            found[place] = error
        except Unavailable as reason:
            stopped.append(reason)

    if len(asking) == 1:  # a task of its own would gain nothing
        await answer(0, asking[0])
    else:
        try:
            async with asyncio.TaskGroup() as group:
                for place, each in enumerate(asking):
                    group.create_task(answer(place, each))
        except (
            ExceptionGroup
        ) as errors:  # the store cannot be read, or a bug: whoever catches it looks for the plain one
            raise errors.exceptions[0] from None
    if stopped:
        raise stopped[0]
    return found


def all_given(heard: Sequence[Paid | JudgeError]) -> list[Paid]:
    """Every answer; the first error when there is one. The other verdicts are kept, and not asked for again."""
    for each in heard:
        if isinstance(each, JudgeError):
            raise paid_error(each, heard) from each
    return [each for each in heard if not isinstance(each, JudgeError)]


def paid_error(error: JudgeError, heard: Sequence[_Asked | JudgeError]) -> JudgeError:
    """The error, with what all took who were asked: nothing else will tell what their verdicts cost."""
    used = used_by_all(heard)
    if used is None or used["cached"]:
        return JudgeError(str(error), kind=error.kind, attempts=_unanswered(heard))
    return JudgeError(str(error), kind=error.kind, attempts=used["attempts"], evidence=used)


def used_by_all(heard: Sequence[_Asked | JudgeError]) -> dict[str, Any] | None:  # Any: JSON
    """Tokens, cost and calls of all who were asked, of those in error too; None when nobody answered."""
    answered = [each.evidence for each in heard if each.evidence is not None]
    if not answered:
        return None
    used = used_together(answered)
    return {**used, "attempts": used["attempts"] + _unanswered(heard)}


def _unanswered(heard: Sequence[_Asked | JudgeError]) -> int:
    """Calls to models that never answered."""
    return sum(each.attempts for each in heard if isinstance(each, JudgeError) and each.evidence is None)
