"""What goes along with each turn of a conversation: all that was said, the carried context, the session."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from cortex_eval.core import Case, Reply, Turn, changed, to_json
from cortex_eval.net import Line, Place
from cortex_eval.targets.base import Conversation, Target


def conversation_at(case: Case, turn: int, replies: Sequence[Reply], *, session_id: str) -> Conversation:
    """The conversation up to a turn, with the replies to the turns before it."""
    said: list[Turn] = list(case.history)
    for earlier, reply in zip(case.turns[:turn], replies, strict=True):
        said += [earlier, Turn(role="assistant", text=reply.text)]
    said.append(case.turns[turn])
    return Conversation(
        turns=tuple(said),
        case=case.at(turn),
        context=_carried(case, turn, replies),
        session_id=session_id,
        idempotency_key=f"{session_id}-{turn}",
    )


async def ask_target(line: Line, target: Target, turns: Conversation, place: Place | None = None) -> Reply:
    """The reply with its time, its waiting and the number of attempts; errors as in `Line.call`."""
    ready = await target.prepare(turns)
    called = await line.call(lambda: target.ask(ready), place)
    reply = await target.complete(turns, called.answer)
    return changed(
        reply,
        total_time_ms=round(called.elapsed_ms, 3) if target.takes_time else reply.total_time_ms,
        waited_ms=round(called.waited_ms, 3) or None,
        attempts=called.attempts,
    )


def session_of(run_id: str, ordinal: int, repeat: int) -> str:
    """The session of one conversation: the same when it is resumed, different from every other one."""
    return f"{run_id}-{ordinal}-{repeat}"


def cache_key(fingerprint: str, turns: Conversation, repeat: int) -> str:
    """Changes with the target's settings and version, with anything that a request may hold, and with the repeat.

    A target of one's own may send whatever it finds in the case. Only the session is left out: it is new in every run.
    """
    case = turns.case
    said = [[turn.role, turn.text, turn.attachments] for turn in turns]
    about = [case.id, case.turn, case.category, case.language, case.passages, case.tier, case.tags, case.metadata]
    return hashlib.sha256(to_json([fingerprint, said, turns.context, about, repeat], sort_keys=True)).hexdigest()


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
