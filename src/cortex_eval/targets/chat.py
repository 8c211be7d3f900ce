"""A bare language model as the system under test: what was said becomes messages, the answer becomes a reply."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, ClassVar, Self

import orjson

from cortex_eval.core import InputError, Range, Reply, Secret, TargetError, Turn, to_json
from cortex_eval.llm import Asked, Completion, Message, Model, ModelSettings, Prices, Tool, make_model
from cortex_eval.net import Guard
from cortex_eval.targets.base import Target, targets
from cortex_eval.targets.conversation import Conversation
from cortex_eval.targets.mapping import check_template, fill_template, sendable


@targets.register("chat")
@dataclass
class Chat(Target):
    """A model of OpenAI, Anthropic or Gemini, of any OpenAI-compatible server, or from a GGUF file."""

    kind: ClassVar[str] = "chat"
    is_remote: ClassVar[bool] = True

    model: str
    """Such as `openai:gpt-4.1-mini`, `anthropic:…`, `gemini:…`, `local:model.gguf`; any name with a base_url."""
    base_url: str | None = None
    api_key: Secret | None = None
    system: str | None = None
    """Said before everything else."""
    prompt: str | None = None
    """What the user's turn becomes, such as `Sources: {passages} Question: {input}`; None: the turn as it is."""
    temperature: Annotated[float, Range(0, 2)] | None = None
    max_tokens: Annotated[int, Range(1, 10_000_000)] | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    stream: bool = True
    """Whether the answer is taken piece by piece, which tells the time to the first token."""
    tools: tuple[Tool, ...] = ()
    json_schema: Mapping[str, Any] | Path | None = None
    """The answer must be JSON of this schema, written here or in a file."""
    prices: Prices | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the request, in the service's own words."""
    test_user_id: str = "eval-tester"
    directory: str = "."

    def __post_init__(self) -> None:
        if self.prompt is not None:
            check_template(self.prompt, field="prompt")
        self._schema = _read_schema(self.json_schema)
        self._model = make_model(self.model_settings)

    @property
    def model_settings(self) -> ModelSettings:
        """The model as people name it."""
        return ModelSettings(
            model=self.model,
            base_url=self.base_url,
            api_key=self.api_key,
            prices=self.prices,
            stream=self.stream,
            directory=self.directory,
        )

    @property
    def fingerprint(self) -> str:
        """Changes with the schema, when that is in a file."""
        return to_json(self._schema, sort_keys=True).decode() if isinstance(self.json_schema, Path) else ""

    @property
    def hosts(self) -> tuple[str, ...]:
        """Whom it will call, beside this machine."""
        return (self._model.host,) if self._model.host else ()

    @property
    def llm(self) -> Model:
        """The model behind it."""
        return self._model

    async def __aenter__(self) -> Self:
        self._model.read_attachment = self._read_attachment
        # In a thread: a model from a file takes its time to load.
        await asyncio.to_thread(self._model.open, self._guard or Guard(), self._limits)
        return await super().__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._model.close()
        await super().__aexit__(kind, error, trace)

    async def ask(self, turns: Conversation) -> Reply:
        """Send all that was said; the reply holds the answer with its tokens, its cost and its calls of tools."""
        asked = Asked(
            messages=self._messages(turns),
            schema=self._schema,
            tools=self.tools,
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            seed=self.seed,
            stop=self.stop,
            extra=self.extra,
        )
        return _reply(await self._model.complete(asked, idempotency_key=turns.idempotency_key))

    def characters(self, turns: Conversation) -> int:
        """How much text it would send to have this turn answered, tools and schema included."""
        beside = [each for each in (self.tools, self._schema) if each]
        try:
            messages = self._messages(turns)
        except TargetError:  # it will not be sent
            return 0
        return sum(len(each.text) for each in messages) + sum(len(to_json(each)) for each in beside)

    def _messages(self, turns: Conversation) -> tuple[Message, ...]:
        messages = [] if self.system is None else [Message(role="system", text=self.system)]
        messages += [_message(turn) for turn in turns.turns[:-1]]
        now = turns.turns[-1]
        text = now.text
        if self.prompt is not None:
            filled = fill_template(self.prompt, sendable(turns, user_id=self.test_user_id))
            text = filled if isinstance(filled, str) else to_json(filled).decode()
        return (*messages, Message(role="user", text=text, attachments=now.attachments))


def _message(turn: Turn) -> Message:
    if turn.role == "tool":  # a turn does not know which call it answers, and no service takes a result without one
        return Message(role="user", text=f"Result of a tool:\n{turn.text}")
    return Message(role=turn.role, text=turn.text, attachments=turn.attachments)


def _reply(answer: Completion) -> Reply:
    first = answer.tool_calls[0] if answer.tool_calls else None
    return Reply(
        text=answer.text,
        tool=first.name if first else None,
        arguments=first.arguments if first else None,
        tool_calls=answer.tool_calls,
        llm_invoked=True,
        model=answer.model,
        finish_reason=answer.finish_reason,
        usage=answer.usage,
        first_token_ms=answer.first_token_ms,
        metadata={"parameters": answer.parameters},
        raw=answer.raw,
    )


def _read_schema(given: Mapping[str, Any] | Path | None) -> Mapping[str, Any] | None:
    if not isinstance(given, Path):
        return given
    try:
        read = orjson.loads(given.read_bytes())
    except OSError as error:
        raise InputError(f"json_schema: {given} cannot be read: {error.strerror}.") from error
    except orjson.JSONDecodeError as error:
        raise InputError(f"json_schema: {given} is not JSON: {error}.") from error
    if not isinstance(read, dict):
        raise InputError(f"json_schema: {given} must hold an object.")
    return read
