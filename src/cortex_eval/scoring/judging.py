"""What every LLM judge does: ask its model about fenced data, read the answer strictly, ask again, or say why not."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

import orjson

from cortex_eval.core import InputError, JudgeError, Range, TargetError, Usage, to_json
from cortex_eval.llm import Asked, Completion, Message, ModelSettings
from cortex_eval.scoring.bench import Bench, JudgeModel, Seat
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
    temperature: Annotated[float, Range(0, 2)] | None = 0.0
    """None: not sent, for models that do not take it."""
    max_tokens: Annotated[int, Range(16, LARGEST_ANSWER)] = 1024
    """Of the answer, thinking included."""
    attempts: Annotated[int, Range(1, 10)] = 2
    """How often the model is asked until its verdict can be read."""
    _chosen: JudgeModel | None = field(default=None, init=False, repr=False, compare=False)
    _seat: Seat | None = field(default=None, init=False, repr=False, compare=False)

    def use_model(self, chosen: JudgeModel) -> None:
        """Say what the name of its model stands for."""
        self._chosen = chosen

    def chosen(self) -> JudgeModel:
        """The model that is asked; `InputError` when only its name is known."""
        if self._chosen is None and ":" in self.model:
            self._chosen = JudgeModel(name=self.model, settings=ModelSettings(model=self.model))
        if self._chosen is None:
            raise InputError(
                f"model: there is no {self.model!r} under models:. "
                f"Add models: {{{self.model}: {{model: …}}}}, or name a model such as openai:gpt-4.1-mini."
            )
        return self._chosen

    async def open(self, bench: Bench) -> None:
        """Be ready to judge."""
        self._seat = await bench.seat(self.chosen())

    async def close(self) -> None:
        """The bench closes its models."""
        self._seat = None

    async def ask(self, question: Question, read: Callable[[Completion], T]) -> Given[T]:
        """What the model says, as `read` understands it; an answer that was kept is not asked for again.

        `JudgeError` when there is none, or none that can be read after as many attempts as allowed.
        """
        seat = self._seat
        assert seat is not None, "a judge is opened before it is asked"
        key = self._key(question)
        for said in _read_kept(await seat.find(key)):
            with suppress(JudgeError):  # kept by a version that read it otherwise: it is asked again
                return Given(read(Completion(text=said.text)), self._evidence(question, said, is_cached=True))
        verdict, said = await self._ask(seat, question, read)
        seat.keep(key, to_json(said._asdict()))
        return Given(verdict, self._evidence(question, said, is_cached=False))

    async def _ask(self, seat: Seat, question: Question, read: Callable[[Completion], T]) -> tuple[T, _Said]:
        used: list[Usage | None] = []
        calls, room, asked_times = 0, self.max_tokens, 0
        while True:
            fence, asked = self._compose(question, room)
            try:
                called = await seat.call(asked, idempotency_key=fence)
            except TargetError as error:
                raise JudgeError(f"The judge did not answer: {error}", kind=error.kind) from error
            asked_times += 1
            calls += called.attempts
            used.append(called.answer.usage)
            try:
                verdict = read(called.answer)
            except JudgeError as error:
                if asked_times >= self.attempts:
                    often = f" Asked {asked_times} times." if asked_times > 1 else ""
                    raise JudgeError(f"{error}{often}", kind=error.kind) from error
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

    def _key(self, question: Question) -> str:
        """Changes with the model, its parameters and every word that it is asked but for the marks."""
        asked = [self.identity(question.prompt), dict(question.values), question.schema, question.form]
        return hashlib.sha256(to_json(["verdict/1", *asked], sort_keys=True)).hexdigest()

    def identity(self, prompt: Template) -> dict[str, Any]:
        """What decides a verdict beside the reply: model, parameters and prompt."""
        return {
            "model": self.chosen().settings.model,
            "base_url": self.chosen().settings.base_url,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "prompt": prompt_hash(prompt),
        }

    def _evidence(self, question: Question, said: _Said, *, is_cached: bool) -> dict[str, Any]:
        return {
            "model": said.model,
            "prompt": {"version": prompt_version(question.prompt), "hash": prompt_hash(question.prompt)},
            "parameters": said.parameters,
            "tokens": said.tokens,
            "cost": said.cost,
            "attempts": said.attempts,
            "cached": is_cached,
        }


def prompt_version(prompt: Template) -> str:
    """The version of what a model is told: of our words around the prompt, and of the prompt if it has one."""
    ours = f"judge/{shipped_prompt('judge')[0].version}"
    return f"{ours} {prompt.version}" if prompt.version else ours


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
