"""What a target is asked: all that was said, the carried context, the session."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, overload

from cortex_eval.core import Case, Reply, Turn, to_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation(Sequence[Turn]):
    """All that was said so far, ending with the user's turn that wants a reply.

    It is a sequence of turns, and knows what else goes along with the request.
    """

    turns: tuple[Turn, ...]
    case: Case
    """The case, standing at the turn that is asked."""
    context: Mapping[str, Any] = field(default_factory=dict)
    """The case's own; from the second turn on also previous_query, previous_intent, previous_entities, turn_number."""
    session_id: str = ""
    """The same for all turns of one conversation, different for every other one."""
    idempotency_key: str = ""
    """The same whenever this very turn is asked again."""
    repeat: int = 0
    """Which time it is that the case is asked in this run, from 0."""

    @classmethod
    def at(cls, case: Case, turn: int, replies: Sequence[Reply], *, session_id: str) -> Self:
        """The conversation up to a turn, with the replies to the turns before it."""
        said: tuple[Turn, ...] = case.history
        for earlier, reply in zip(case.turns[:turn], replies, strict=True):
            said += (earlier, Turn(role="assistant", text=reply.text))
        return cls(
            turns=(*said, case.turns[turn]),
            case=case.at(turn),
            context=_carried(case, turn, replies),
            session_id=session_id,
            idempotency_key=f"{session_id}-{turn}",
        )

    def cache_key(self, fingerprint: str, repeat: int) -> str:
        """Changes with the target's settings and version, with anything that a request may hold, and with the repeat.

        A target of one's own may send whatever it finds in the case. Only the session is left out: it is new in every
        run.
        """
        case = self.case
        said = [[turn.role, turn.text, turn.attachments] for turn in self.turns]
        about = [case.id, case.turn, case.category, case.language, case.passages, case.tier, case.tags, case.metadata]
        return hashlib.sha256(to_json([fingerprint, said, self.context, about, repeat], sort_keys=True)).hexdigest()

    @property
    def text(self) -> str:
        """What the user says now."""
        return self.turns[-1].text

    def __len__(self) -> int:
        return len(self.turns)

    @overload
    def __getitem__(self, index: int) -> Turn: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Turn, ...]: ...
    def __getitem__(self, index: int | slice) -> Turn | tuple[Turn, ...]:
        return self.turns[index]


def _carried(case: Case, turn: int, replies: Sequence[Reply]) -> dict[str, Any]:
    # Seed 003 §5.2: what a turn is told of the one before it.
    if turn == 0:
        return dict(case.context)
    before = replies[turn - 1]
    return {
        **case.context,
        "previous_query": case.turns[turn - 1].text,
        "previous_intent": before.intent,
        "previous_entities": dict(before.entities or {}),
        "turn_number": turn,
    }
