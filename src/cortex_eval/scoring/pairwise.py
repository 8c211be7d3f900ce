"""Is the reply better than another one? A win counts only if it survives the swap."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from cortex_eval.core import Case, InputError, JudgeError, Reply, Score, TargetError, to_json
from cortex_eval.llm import Completion
from cortex_eval.scoring.base import scorers
from cortex_eval.scoring.bench import Bench
from cortex_eval.scoring.injection import suspicion
from cortex_eval.scoring.judging import Given, ModelScorer, Question, evidence_of_several
from cortex_eval.scoring.jury import all_answers, all_given, majority
from cortex_eval.scoring.prompt import shipped_prompt
from cortex_eval.scoring.verdict import JudgeVerdict, choice_schema, read_choice
from cortex_eval.targets import Conversation, Target, targets

WINNERS = {"first": 1.0, "second": 0.0, "tie": 0.5}
FORM = '{"reason": "what decides it, in one to three sentences", "winner": "first", "second" or "tie"}'
_SAID = {1.0: "this reply", 0.0: "the other one", 0.5: "neither"}


@scorers.register("pairwise")
@dataclass(kw_only=True)
class Pairwise(ModelScorer):
    """1 when the reply is better than the other answer in both orders, 0 when it is worse in both, else 0.5.

    The other answer is the expected one, or the one that was recorded for this case.
    """

    version: ClassVar[str] = "1"

    recorded: Path | None = None
    """A file of replies to compare with, as for a target of the kind `recorded`."""
    _others: Target | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.recorded is not None and not self.recorded.is_file():
            raise InputError(f"recorded: there is no file {self.recorded}.")

    @property
    def fingerprint(self) -> str:
        """Changes with the models, their parameters, the prompt and the file of recorded replies."""
        held = "" if self.recorded is None else hashlib.sha256(self.recorded.read_bytes()).hexdigest()
        return to_json([self.identity(shipped_prompt("pairwise")[0]), held], sort_keys=True).decode()

    async def open(self, bench: Bench) -> None:
        """Be ready to judge, with the recorded replies at hand."""
        await super().open(bench)
        if self.recorded is not None:
            self._others = await targets.build("recorded", {"path": str(self.recorded)}).__aenter__()

    async def close(self) -> None:
        """Let go of the recorded replies."""
        if self._others is not None:
            await self._others.__aexit__(None, None, None)
            self._others = None
        await super().close()

    async def score(self, case: Case, reply: Reply) -> Score:
        """The verdict of both orders; None when there is nothing to compare with."""
        try:
            other = await self._other(case, reply)
        except TargetError as error:
            return Score(name="pairwise", value=None, reason=f"There is no other reply: {error}")
        if not other:
            return Score(name="pairwise", value=None, reason="The case has no expected answer to compare with.")
        if other.strip() == reply.text.strip():
            return Score(name="pairwise", value=0.5, reason="Both answers are the same.", evidence={"flipped": False})
        questions = _in_both_orders(case.input, reply.text, other)
        heard = await all_answers([self.ask(each, _read, elect=_elect) for each in questions])
        return _to_score(heard, reply)

    def characters(self, case: Case, replies: Sequence[Reply]) -> list[int]:
        """How much text a model would be told in each call for this score; empty: it would not be asked."""
        return self.characters_of(self.questions(case, replies))

    def questions(self, case: Case, replies: Sequence[Reply]) -> list[Question]:
        """Two, one for each order; a recorded reply is taken to be as long as the one that is judged."""
        reply = replies[-1]
        other = reply.text if self.recorded is not None else case.expected.answer
        return _in_both_orders(case.input, reply.text, other) if other else []

    async def _other(self, case: Case, reply: Reply) -> str | None:
        if self._others is None:
            return case.expected.answer
        turns = Conversation.at(case, case.turn, [reply] * case.turn, session_id="")
        return (await self._others.ask(turns)).text


class _Order(NamedTuple):
    winner: float
    """1: this reply, 0: the other one, 0.5: neither."""
    reason: str


def _in_both_orders(asked: str, answer: str, other: str) -> list[Question]:
    prompt, schema = shipped_prompt("pairwise")[0], choice_schema("winner", tuple(WINNERS))
    orders = ({"first": answer, "second": other}, {"first": other, "second": answer})
    return [Question(prompt, {"input": asked, **order}, schema, FORM) for order in orders]


def _read(answer: Completion) -> JudgeVerdict:
    return read_choice(answer.text, "winner", WINNERS, finish_reason=answer.finish_reason)


def _elect(verdicts: Sequence[JudgeVerdict], asked: int) -> JudgeVerdict | None:
    """A jury of which no majority prefers one answer, prefers neither."""
    elected = majority(verdicts, asked)
    if elected is None and len(verdicts) == asked:
        return JudgeVerdict(0.5, "The jury has no majority for either answer.")
    return elected


def _to_score(heard: Sequence[Given[JudgeVerdict] | JudgeError], reply: Reply) -> Score:
    given = all_given(heard)
    there, back = given
    orders = (
        _Order(there.verdict.value, there.verdict.reason),
        _Order(1 - back.verdict.value, back.verdict.reason),
    )
    is_same = orders[0].winner == orders[1].winner
    # Zheng et al. 2023 (MT-Bench), section 3.4: a win that does not survive the swap is a tie.
    value = orders[0].winner if is_same else 0.5
    is_flipped = {orders[0].winner, orders[1].winner} == {0.0, 1.0}
    return Score(
        name="pairwise",
        value=value,
        reason=_reason(orders, is_same=is_same),
        source="judge",
        measure=_flip_rate(given, is_flipped=is_flipped),
        unit="flip rate",
        direction="lower",
        evidence={
            **evidence_of_several([each.evidence for each in given]),
            **suspicion((reply,)),
            "flipped": is_flipped,
            "flip_rate": _flip_rate(given, is_flipped=is_flipped),
            "orders": [
                {"prefers": _SAID[order.winner], "reason": order.reason, **_jury(each)}
                for order, each in zip(orders, given, strict=True)
            ],
        },
    )


def _reason(orders: Sequence[_Order], *, is_same: bool) -> str:
    if is_same:
        return f"In both orders the judge prefers {_SAID[orders[0].winner]}: {orders[0].reason}".strip()
    first, second = (_SAID[each.winner] for each in orders)
    return f"Shown first, the judge prefers {first}; shown second, {second}. That is no win for either."


def _flip_rate(given: Sequence[Given[JudgeVerdict]], *, is_flipped: bool) -> float:
    """The share of models that prefer the answer in the same place, whichever it is."""
    juries = [{one["model"]: one.get("value") for one in each.evidence.get("jury", ())} for each in given]
    flips = [
        juries[0][name] == juries[1][name] != 0.5
        for name in juries[0]
        if None not in (juries[0][name], juries[1][name])
    ]
    return sum(flips) / len(flips) if flips else float(is_flipped)


def _jury(given: Given[JudgeVerdict]) -> dict[str, Any]:
    return {key: given.evidence[key] for key in ("jury", "agreement") if key in given.evidence}
