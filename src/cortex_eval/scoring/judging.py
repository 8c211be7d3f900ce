"""What every LLM judge does: ask its model about fenced data, read the answer strictly, ask again, or say why not."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

import orjson

from cortex_eval.core import InputError, JudgeError, Range, TargetError, Usage, to_json
from cortex_eval.llm import Asked, Completion, Message, ModelSettings
from cortex_eval.scoring.bench import Bench, JudgeModel, Seat
from cortex_eval.scoring.jury import (
    Elect,
    Ties,
    agreement,
    all_answers,
    ballot_of,
    break_tie,
    majority,
    paid_error,
    used_by_all,
    used_together,
)
from cortex_eval.scoring.prompt import Template, fence_off, shipped_prompt

T = TypeVar("T")
LARGEST_ANSWER = 32_768
"""Tokens beyond which an answer that was cut is not asked for again with more room."""


class Question(NamedTuple):
    """What a judge wants to know."""

    prompt: Template
    values: Mapping[str, str]
    """What goes into its places; all of it is fenced off as data."""
    schema: Mapping[str, Any]
    form: str
    """The same as the schema in words, for models that nobody holds to a schema."""


class Given(NamedTuple, Generic[T]):
    """A verdict, and how it came about."""

    verdict: T
    evidence: dict[str, Any]  # Any: JSON


class _Said(NamedTuple):
    """An answer as it is kept: what is needed to read it again."""

    text: str
    model: str
    """As the service names it."""
    attempts: int
    """Calls that were made for it."""
    parameters: dict[str, Any]  # Any: JSON
    """As they were sent."""
    tokens: dict[str, int] | None
    cost: dict[str, str] | None


@dataclass(kw_only=True)
class ModelScorer:
    """The seam for scorers that ask a language model: a subclass puts a `Question` to `ask` and makes a score of it.

    Its fields are settings that all of them have. It is opened before the first reply and serves one run at a time.
    """

    model: str = "judge"
    """A name under `models:`, or a model itself, such as `openai:gpt-4.1-mini`."""
    models: tuple[str, ...] = ()
    """A jury in place of `model`: all of them are asked, and what more than half of them say counts."""
    ties: Ties = "error"
    """What becomes of a verdict without a majority."""
    temperature: Annotated[float, Range(0, 2)] | None = 0.0
    """None: not sent, for models that do not take it."""
    max_tokens: Annotated[int, Range(16, LARGEST_ANSWER)] = 1024
    """Of the answer, thinking included."""
    attempts: Annotated[int, Range(1, 10)] = 2
    """How often the model is asked until its verdict can be read."""
    _chosen: dict[str, JudgeModel] = field(default_factory=dict, init=False, repr=False, compare=False)
    _seats: tuple[Seat, ...] = field(default=(), init=False, repr=False, compare=False)

    @property
    def model_names(self) -> tuple[str, ...]:
        """The models that it asks, as its settings name them."""
        return self.models or (self.model,)

    def use_model(self, chosen: JudgeModel) -> None:
        """Say what the name of a model stands for."""
        self._chosen[chosen.name] = chosen

    def chosen(self, name: str = "") -> JudgeModel:
        """The model of this name, or the first one that is asked; `InputError` when only its name is known."""
        name = name or self.model_names[0]
        if name not in self._chosen and ":" in name:
            self._chosen[name] = JudgeModel(name=name, settings=ModelSettings(model=name))
        if name not in self._chosen:
            raise InputError(
                f"model: there is no {name!r} under models:. "
                f"Add models: {{{name}: {{model: …}}}}, or name a model such as openai:gpt-4.1-mini."
            )
        return self._chosen[name]

    def jury(self) -> tuple[JudgeModel, ...]:
        """Every model that is asked; `InputError` when one is named twice, or is only a name."""
        if len(set(self.models)) < len(self.models):
            raise InputError(f"models: a jury has no use for the same model twice: {', '.join(self.models)}.")
        return tuple(self.chosen(name) for name in self.model_names)

    async def open(self, bench: Bench) -> None:
        """Be ready to judge."""
        self._seats = tuple([await bench.seat(each) for each in self.jury()])

    async def close(self) -> None:
        """The bench closes its models."""
        self._seats = ()

    async def ask(self, question: Question, read: Callable[[Completion], T], *, elect: Elect[T] = majority) -> Given[T]:
        """What the model says, as `read` understands it; an answer that was kept is not asked for again.

        Of a jury, what `elect` makes of its verdicts. `JudgeError` when there is none, or none that can be read after
        as many attempts as allowed.
        """
        assert self._seats, "a judge is opened before it is asked"
        if len(self._seats) == 1:
            return await self._ask_one(self._seats[0], question, read)
        heard = await all_answers([self._ask_one(seat, question, read) for seat in self._seats])
        given = [each for each in heard if not isinstance(each, JudgeError)]
        verdicts = [each.verdict for each in given]
        elected = elect(verdicts, len(heard))
        if elected is None:
            for error in (each for each in heard if isinstance(each, JudgeError)):
                raise paid_error(error, heard) from error
            elected = break_tie(verdicts, self.ties)
        if elected is None:
            votes = ", ".join(str(ballot_of(each)) for each in verdicts)
            told = f"The jury has no majority: {votes}. What becomes of ties is a setting."
            raise paid_error(JudgeError(told, kind="no_majority"), heard)
        return Given(elected, self._evidence_of_all(question, heard))

    async def _ask_one(self, seat: Seat, question: Question, read: Callable[[Completion], T]) -> Given[T]:
        key = self._key(question, seat)
        for said in _read_kept(await seat.find(key)):
            with suppress(JudgeError):  # kept by a version that read it otherwise: it is asked again
                return Given(read(Completion(text=said.text)), _evidence(question, said, is_cached=True))
        verdict, said = await self._ask(seat, question, read)
        seat.keep(key, to_json(said._asdict()))
        return Given(verdict, _evidence(question, said, is_cached=False))

    async def _ask(self, seat: Seat, question: Question, read: Callable[[Completion], T]) -> tuple[T, _Said]:
        used: list[Usage | None] = []
        calls, room, asked_times = 0, self.max_tokens, 0
        while True:
            fence, asked = self._compose(question, room)
            try:
                called = await seat.call(asked, idempotency_key=fence)
            except TargetError as error:
                told = f"The judge did not answer: {error}"
                calls += error.attempts
                raise JudgeError(told, kind=error.kind, attempts=calls, evidence=_spent(used, calls)) from error
            asked_times += 1
            calls += called.attempts
            used.append(called.answer.usage)
            try:
                verdict = read(called.answer)
            except JudgeError as error:
                if asked_times >= self.attempts:
                    often = f" Asked {asked_times} times." if asked_times > 1 else ""
                    told, spent = f"{error}{often}", _spent(used, calls)
                    raise JudgeError(told, kind=error.kind, attempts=calls, evidence=spent) from error
                if error.kind == "truncated":
                    room = min(2 * room, LARGEST_ANSWER)
            else:
                answer = called.answer
                model = answer.model or seat.model.name
                return verdict, _Said(answer.text, model, calls, {**answer.parameters}, _tokens(used), _cost(used))

    def _compose(self, question: Question, max_tokens: int) -> tuple[str, Asked]:
        """The request, with marks that are new each time."""
        fence, values = fence_off(question.values)
        frame, closing = shipped_prompt("judge")
        marks = {"fence": fence, "form": question.form}
        return fence, Asked(
            messages=(
                Message(role="system", text=frame.fill(marks)),
                Message(role="user", text=f"{question.prompt.fill(values).strip()}\n\n{closing.fill(marks)}"),
            ),
            schema=question.schema,
            temperature=self.temperature,
            max_tokens=max_tokens,
        )

    def characters_of(self, questions: Sequence[Question]) -> list[int]:
        """How much text one model would be told to have each of these questions answered, its schema included."""
        asked = [(self._compose(each, self.max_tokens)[1].messages, each.schema) for each in questions]
        return [sum(len(each.text) for each in told) + len(to_json(schema)) for told, schema in asked]

    def _key(self, question: Question, seat: Seat) -> str:
        """Changes with the model, its parameters and every word that it is asked but for the marks."""
        about = self._about(question.prompt, seat.chosen)
        asked = [about, dict(question.values), question.schema, question.form]
        return hashlib.sha256(to_json(["verdict/1", *asked], sort_keys=True)).hexdigest()

    def identity(self, *prompts: Template) -> Any:  # Any: JSON
        """What decides a verdict beside the reply: models, parameters and prompts."""
        about = [self._about(prompt, each) for prompt in prompts for each in self.jury()]
        return about[0] if len(about) == 1 else [*about, self.ties]

    def _about(self, prompt: Template, chosen: JudgeModel) -> dict[str, Any]:
        return {
            "model": chosen.settings.model,
            "base_url": chosen.settings.base_url,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "prompt": prompt_hash(prompt),
        }

    def _evidence_of_all(self, question: Question, heard: Sequence[Given[T] | JudgeError]) -> dict[str, Any]:
        given = [each for each in heard if not isinstance(each, JudgeError)]
        return {
            "model": ", ".join(each.evidence["model"] for each in given),
            "prompt": _prompt_evidence(question.prompt),
            "parameters": given[0].evidence["parameters"],
            **(used_by_all(heard) or {}),
            "jury": [
                {"model": name, "error": each.kind}
                if isinstance(each, JudgeError)
                else {"model": name, "value": ballot_of(each.verdict), "reason": getattr(each.verdict, "reason", "")}
                for name, each in zip(self.model_names, heard, strict=True)
            ],
            "agreement": agreement([each.verdict for each in given], len(heard)),
        }


def _evidence(question: Question, said: _Said, *, is_cached: bool) -> dict[str, Any]:
    return {
        "model": said.model,
        "prompt": _prompt_evidence(question.prompt),
        "parameters": said.parameters,
        "tokens": said.tokens,
        "cost": said.cost,
        "attempts": said.attempts,
        "cached": is_cached,
    }


def evidence_of_several(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What several verdicts for one score stand on: as that of one, with what all of them used together."""
    if len(found) == 1:
        return dict(found[0])
    together = {key: found[0][key] for key in ("model", "prompt", "parameters")} | used_together(found)
    if "agreement" in found[0]:
        together["agreement"] = sum(each["agreement"] for each in found) / len(found)
    return together


def _prompt_evidence(prompt: Template) -> dict[str, str]:
    return {"version": prompt_version(prompt), "hash": prompt_hash(prompt)}


@lru_cache(256)
def prompt_version(prompt: Template) -> str:
    """The version of what a model is told: of our words around the prompt, and of the prompt if it has one."""
    ours = f"judge/{shipped_prompt('judge')[0].version}"
    return f"{ours} {prompt.version}" if prompt.version else ours


@lru_cache(256)
def prompt_hash(prompt: Template) -> str:
    """Changes with any word that a model is told beside the data."""
    parts = [each.digest for each in (*shipped_prompt("judge"), prompt)]
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()[:16]


def _read_kept(kept: bytes | None) -> tuple[_Said, ...]:
    """The answer that was kept, if there is one and it is whole."""
    try:
        return () if kept is None else (_Said(**orjson.loads(kept)),)
    except (orjson.JSONDecodeError, TypeError):
        return ()


def _spent(used: Sequence[Usage | None], calls: int) -> dict[str, Any] | None:  # Any: JSON
    """What calls took that led to no verdict; None when none of them was answered."""
    if not used:
        return None
    return {"tokens": _tokens(used), "cost": _cost(used), "attempts": calls, "cached": False}


def _tokens(used: Sequence[Usage | None]) -> dict[str, int] | None:
    known = [each for each in used if each is not None]
    if len(known) < len(used):
        return None
    return {"input": sum(each.input_tokens for each in known), "output": sum(each.output_tokens for each in known)}


def _cost(used: Sequence[Usage | None]) -> dict[str, str] | None:
    """What all calls for a verdict cost together; None when that of one is not known."""
    costs = [each.cost for each in used if each is not None and each.cost is not None]
    if len(costs) < len(used):
        return None
    return {"amount": str(sum((each.amount for each in costs), Decimal())), "currency": costs[0].currency}
