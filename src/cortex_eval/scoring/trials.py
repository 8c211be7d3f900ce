"""Judges on trial: cases whose verdict is known, and replies that try to talk their judge round."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import orjson

from cortex_eval.core import Case, Criterion, Expected, JudgeError, Reply, Score, Turn
from cortex_eval.net import Outside
from cortex_eval.scoring.base import PlannedScorer, Scorer, scorers
from cortex_eval.scoring.bench import JudgeModel
from cortex_eval.scoring.function import plan_scorer
from cortex_eval.scoring.jury import all_answers
from cortex_eval.scoring.opening import opened
from cortex_eval.scoring.prompt import shipped_prompt, shipped_text
from cortex_eval.scoring.run import run_scorer

if TYPE_CHECKING:  # whoever imports the room need not load the clients of LLM services
    from cortex_eval.scoring.judging import ModelScorer

JUDGES: dict[str, tuple[str, dict[str, str]]] = {
    "faithfulness": ("faithfulness_judge", {}),
    "faithfulness_plain": ("faithfulness_judge", {"method": "plain"}),
    "pairwise": ("pairwise", {}),
    "relevance": ("relevance_judge", {}),
    "rubric": ("rubric", {}),
}
"""The judges' prompts that come with Cortex, each in a file, with cases in another; and who asks them."""


class Trial(NamedTuple):
    """A case whose verdict is known."""

    id: str
    case: Case
    reply: Reply
    verdict: float


class Attack(NamedTuple):
    """Words that a reply could hold to get a better verdict than it deserves."""

    id: str
    kind: str
    reply: Reply
    """A wrong reply with the words in it."""
    case: Case


class Outcome(NamedTuple):
    """What a judge made of one trial."""

    id: str
    is_right: bool
    """False also when it gave no verdict."""
    value: float | None
    why: str
    """Its reason, or its error."""


class Attacked(NamedTuple):
    """What came of one attack."""

    id: str
    kind: str
    succeeded: bool | None
    """The wrong reply passed. None: the judge gave no verdict, or lets this reply pass without any attack."""
    is_suspected: bool
    """The words were noticed, whatever the verdict."""
    why: str


class PromptFacts(NamedTuple):
    """A prompt that comes with Cortex."""

    name: str
    judge: str
    """The scorer that asks it."""
    version: str
    hash: str
    """As with each score."""
    cases: int


def prompt_facts() -> list[PromptFacts]:
    """Every prompt with its version."""
    from cortex_eval.scoring.judging import prompt_hash

    return [
        PromptFacts(name, judge, prompt.version, prompt_hash(prompt), len(read_trials(name)))
        for name, (judge, _) in JUDGES.items()
        for prompt in shipped_prompt(name)[:1]
    ]


def judge_names() -> list[str]:
    """Every registered scorer that asks a language model."""
    from cortex_eval.scoring.judging import ModelScorer

    return [name for name in scorers if issubclass(scorers.find(name), ModelScorer)]


@cache
def read_trials(prompt: str) -> tuple[Trial, ...]:
    """The cases of a prompt."""
    return tuple(
        Trial(id=row["id"], case=_case(row), reply=Reply(text=row["answer"]), verdict=float(row["verdict"]))
        for row in _rows("cases", f"{prompt}.jsonl")
    )


@cache
def read_attacks() -> tuple[Attack, ...]:
    """The attacks, each on the next of a few wrong replies."""
    rows = _rows("injections.jsonl")
    wrong = [row for row in rows if "answer" in row]
    attacks = [row for row in rows if "words" in row]
    found = []
    for number, row in enumerate(attacks):
        about = wrong[number % len(wrong)]
        text = row["words"].replace("{answer}", about["answer"])
        found.append(Attack(id=row["id"], kind=row["kind"], reply=Reply(text=text), case=_case(about)))
    return tuple(found)


def wrong_replies() -> list[Trial]:
    """What the attacks are put into, without them."""
    rows = [row for row in _rows("injections.jsonl") if "answer" in row]
    return [Trial(id=row["id"], case=_case(row), reply=Reply(text=row["answer"]), verdict=0.0) for row in rows]


async def run_trials(
    chosen: JudgeModel, prompts: Sequence[str] = tuple(JUDGES), *, outside: Outside | None = None
) -> dict[str, list[Outcome]]:
    """What this model makes of every case of these prompts."""
    async with _at_work([_judge(each) for each in prompts], chosen, outside) as planned:
        return {
            prompt: await _tried(judge, read_trials(prompt)) for prompt, judge in zip(prompts, planned, strict=True)
        }


async def run_attacks(
    chosen: JudgeModel,
    attacks: Sequence[Attack] | None = None,
    *,
    prompt: str = "faithfulness",
    outside: Outside | None = None,
) -> list[Attacked]:
    """What comes of every attack on this model. A wrong reply that passes anyway is no success of an attack."""
    attacks = read_attacks() if attacks is None else attacks
    async with _at_work([_judge(prompt)], chosen, outside) as [planned]:
        plain = await _tried(planned, wrong_replies())
        caught = {trial.case.id for trial, each in zip(wrong_replies(), plain, strict=True) if each.is_right}
        heard = await all_answers([_verdict(planned, each.case, each.reply) for each in attacks])
    return [_attacked(each, said, each.case.id in caught) for each, said in zip(attacks, heard, strict=True)]


def _attacked(attack: Attack, said: Score | JudgeError, is_caught: bool) -> Attacked:
    if isinstance(said, JudgeError):
        return Attacked(attack.id, attack.kind, None, False, f"{said.kind}: {said}")
    is_suspected = bool((said.evidence or {}).get("injection_suspected"))
    succeeded = bool(said.passed) if is_caught and said.value is not None else None
    return Attacked(attack.id, attack.kind, succeeded, is_suspected, said.reason)


async def _tried(planned: PlannedScorer, trials: Sequence[Trial]) -> list[Outcome]:
    heard = await all_answers([_verdict(planned, each.case, each.reply) for each in trials])
    return [_outcome(trial, said) for trial, said in zip(trials, heard, strict=True)]


def _outcome(trial: Trial, said: Score | JudgeError) -> Outcome:
    if isinstance(said, JudgeError):
        return Outcome(trial.id, False, None, f"{said.kind}: {said}")
    is_right = said.value is not None and abs(said.value - trial.verdict) < 0.5
    return Outcome(trial.id, is_right, said.value, said.reason)


async def _verdict(planned: PlannedScorer, case: Case, reply: Reply) -> Score:
    return await run_scorer(planned, case, (reply,) if planned.level == "case" else reply, passing_threshold=0.5)


@asynccontextmanager
async def _at_work(
    judges: Sequence[ModelScorer], chosen: JudgeModel, outside: Outside | None
) -> AsyncIterator[list[PlannedScorer]]:
    """The judges with this model, as a run has them; the model is opened once for all."""
    for judge in judges:
        judge.model = chosen.name
        judge.use_model(chosen)
    planned = [plan_scorer(cast("Scorer", judge), name=f"judge {at}") for at, judge in enumerate(judges)]
    async with opened(planned, outside or Outside()):
        yield planned


def _judge(prompt: str) -> ModelScorer:
    name, settings = JUDGES[prompt]
    return cast("ModelScorer", scorers.build(name, settings))


def _case(row: dict[str, Any]) -> Case:
    rubric = (Criterion(criterion=row["criterion"]),) if "criterion" in row else ()
    turn = Turn(text=row["input"], expected=Expected(answer=row.get("other"), rubric=rubric))
    return Case(id=row["id"], turns=(turn,), passages=tuple(row.get("passages", ())))


def _rows(*path: str) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in shipped_text(*path).split("\n") if line.strip()]
