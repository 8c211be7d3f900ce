"""What is asked and what is hoped for: a case, its turns, its expectations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct, field, structs

from cortex_eval.core.plain import content_id, to_json, to_plain

Role = Literal["system", "user", "assistant", "tool"]


class ToolCall(Struct, frozen=True, kw_only=True):
    """A tool that was called, or should be."""

    name: str
    arguments: Mapping[str, Any] | None = None
    """None: the arguments do not matter (expected) or are not known (actual)."""


CRITICAL_TAG = "critical"
"""A case with this tag must not break."""


class Criterion(Struct, frozen=True, kw_only=True):
    """One line of a rubric; negative points are for what must not be there."""

    criterion: str
    points: float = 1.0
    tags: tuple[str, ...] = ()


class CaseCheck(Struct, frozen=True, kw_only=True):
    """One thing that must hold of a reply, and that needs no judge; docs/scorers.md has the types."""

    type: str
    """Such as `contains`; with `not_` before it, the reply must not."""
    value: Any = None  # Any: a text, a number, a list of texts or a JSON Schema, as the type says
    threshold: float | None = None
    """How much is enough, for types that measure; None: the type's own."""
    weight: float = 1.0
    """Share in the score; 0: shown, not counted."""
    name: str = ""
    """What reports call it; empty: by type and value."""
    case_sensitive: bool = False
    """False: upper and lower case are the same."""


class Attachment(Struct, frozen=True, kw_only=True):
    """Bytes that belong to a turn or a reply; they lie beside the store under their SHA-256."""

    sha256: str
    media_type: str
    size: int
    name: str = ""


class Expected(Struct, frozen=True, kw_only=True):
    """What a good reply holds; None and empty mean that nothing is expected of that kind."""

    answer: str | None = None
    answers: tuple[str, ...] = ()
    """Further answers that are as good as `answer`."""
    intent: str | None = None
    entities: Mapping[str, Any] | None = None
    """None: not looked at. An empty mapping: no entity is the right answer."""
    tool: str | None = None
    tools: tuple[ToolCall, ...] = ()
    """The whole sequence of calls, with arguments, when it matters."""
    label: str | None = None
    """A class, such as a Prakriti; the majority of the experts when there are several."""
    checklist: tuple[str, ...] = ()
    rubric: tuple[Criterion, ...] = ()
    checks: tuple[CaseCheck, ...] = ()

    @property
    def references(self) -> tuple[str, ...]:
        """Every accepted answer."""
        return ((self.answer,) if self.answer is not None else ()) + self.answers


NOTHING_EXPECTED = Expected()


class Turn(Struct, frozen=True, kw_only=True):
    """One thing said in a conversation."""

    text: str
    role: Role = "user"
    expected: Expected = NOTHING_EXPECTED
    """Of the reply to this turn."""
    requires_context: bool = False
    """The turn cannot be understood without the ones before it."""
    attachments: tuple[Attachment, ...] = ()


class Case(Struct, frozen=True, kw_only=True):
    """One conversation to play, usually of a single turn.

    A scorer that looks at one turn gets the case *at* that turn: `case.input` and `case.expected` are that turn's.
    """

    id: str
    turns: tuple[Turn, ...]
    """What the user says, in order; each is sent to the target and answered."""
    history: tuple[Turn, ...] = ()
    """What was said before the first turn that is played."""
    context: Mapping[str, Any] = field(default_factory=dict)
    """Goes along with every request."""
    passages: tuple[str, ...] = ()
    """Source texts that a grounded reply may rest on."""
    category: str | None = None
    tier: int | None = None
    """1 basic … 5 expert."""
    language: str | None = None
    tags: tuple[str, ...] = ()
    parallel_of: str | None = None
    """The id of the same case in another language."""
    cluster_id: str | None = None
    """Cases that share it are not independent of each other."""
    split: str | None = None
    source: str | None = None
    experts: tuple[str | None, ...] = ()
    """One label per expert; `expected.label` is their majority."""
    is_disputed: bool = False
    """The experts found no majority: the case is set aside where the label counts."""
    description: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    turn: int = 0
    """Where this case stands."""

    @property
    def input(self) -> str:
        """What the user says at this turn."""
        return self.turns[self.turn].text

    @property
    def expected(self) -> Expected:
        """What a good reply to this turn holds."""
        return self.turns[self.turn].expected

    @property
    def requires_context(self) -> bool:
        """Whether this turn cannot be understood without the ones before it."""
        return self.turns[self.turn].requires_context

    def at(self, turn: int) -> Case:
        """The same case, standing at another turn."""
        return self if turn == self.turn else structs.replace(self, turn=turn)

    @classmethod
    def of(cls, text: str, answer: str | None = None, *, id: str | None = None, **fields: Any) -> Case:  # noqa: A002  # Any: Case's own fields
        """A case of one turn with a known good answer, the shortest way to write one in Python.

        Without an id it gets the one that a row of this content would get.
        """
        case = cls(id=id or "", turns=(Turn(text=text, expected=Expected(answer=answer)),), **fields)
        return case if id is not None else structs.replace(case, id=case.content_id)

    @property
    def content_id(self) -> str:
        """The id that a row of this content gets when it has none."""
        plain = to_plain(self.at(0))
        assert isinstance(plain, dict)
        return content_id(to_json({name: held for name, held in plain.items() if name != "id"}, sort_keys=True))
