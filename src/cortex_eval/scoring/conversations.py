"""Does the agent hold a conversation: keep its context, ask back, stay on the subject, recover from a failure?"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

from cortex_eval.core import Case, Level, Range, Reply, Score, shorten
from cortex_eval.scoring.base import scorers
from cortex_eval.scoring.cues import clarifying_words, correction_words, failure_words
from cortex_eval.scoring.dialogue import Entities, Intent, Tool
from cortex_eval.scoring.pairs import Pair, flatten, squeeze, squeeze_name
from cortex_eval.scoring.words import words

NOT_RETAINED = "Context not retained from previous turn"
"""Seed 003 §5.2's words; the error analysis knows the pattern by them."""


@scorers.register("context_retention")
@dataclass(frozen=True, slots=True)
class ContextRetention:
    """Share of the turns that need context on which the agent still had it."""

    level: ClassVar[Level] = "case"

    check_carried: bool = False
    """True: the entities must be the expected ones that earlier turns brought up, not just any."""

    async def score_case(self, case: Case, replies: Sequence[Reply]) -> Score:
        """0..1; None when no turn needs context, or the target states neither entities nor intents."""
        needy = [turn for turn, each in enumerate(case.turns[: len(replies)]) if each.requires_context]
        if not needy:
            return Score(name="context_retention", value=None, reason="No turn needs what was said before.")
        if all(reply.entities is None and reply.intent is None for reply in replies):
            reason = "The target states neither entities nor intents, so that what it remembers cannot be seen."
            return Score(name="context_retention", value=None, reason=reason)
        shares = [self._share(case, replies, turn) for turn in needy]
        lost = [turn + 1 for turn, share in zip(needy, shares, strict=True) if share == 0]
        evidence = [
            {"turn": turn, "retained": share, **({"error": NOT_RETAINED} if share == 0 else {})}
            for turn, share in zip(needy, shares, strict=True)
        ]
        value = sum(shares) / len(shares)
        if lost:
            reason = f"{NOT_RETAINED} (turn {', '.join(map(str, lost))})."
        elif value < 1:
            reason = "Some of the entities that earlier turns brought up were lost."
        else:
            reason = f"Context was retained on {_counted(len(needy), 'turn that needs', 'turns that need')} it."
        return Score(name="context_retention", value=value, reason=reason, evidence={"turns": evidence})

    def _share(self, case: Case, replies: Sequence[Reply], turn: int) -> float:
        if not flatten(replies[turn].entities):
            return 0.0
        carried = carried_share(case, replies, turn) if self.check_carried else None
        return 1.0 if carried is None else carried


@scorers.register("clarification")
@dataclass(frozen=True, slots=True)
class Clarification:
    """1 when the agent asks back where it must: on turns that cannot be answered without more."""

    level: ClassVar[Level] = "case"

    categories: tuple[str, ...] = ("ambiguous",)
    """Categories whose cases need a clarifying question."""
    tags: tuple[str, ...] = ("ambiguous", "clarification")
    """Tags that say so of a case."""
    intents: tuple[str, ...] = ("clarify", "clarification", "ask_clarification", "disambiguate")
    """Intents that are a clarifying question, whether expected or stated."""

    async def score_case(self, case: Case, replies: Sequence[Reply]) -> Score:
        """The share of such turns that were answered with a clarifying question; None when there are none."""
        turns = [turn for turn in self._ambiguous_turns(case) if turn < len(replies)]
        if not turns:
            return Score(name="clarification", value=None, reason="Nothing here needs a clarifying question.")
        asked = {turn: self._asked_by(replies[turn]) for turn in turns}
        silent = [turn + 1 for turn in turns if not asked[turn]]
        evidence = {"turns": [{"turn": turn, "asked": asked[turn] or None} for turn in turns]}
        if silent:
            where = f" (turn {', '.join(map(str, silent))})" if len(case.turns) > 1 else ""
            reason = f"The question is ambiguous, and the reply does not ask back{where}."
        else:
            reason = f"The reply asks back: {shorten(asked[turns[0]], 120)!r}."
        value = 1 - len(silent) / len(turns)
        return Score(name="clarification", value=value, reason=reason, evidence=evidence)

    def _ambiguous_turns(self, case: Case) -> list[int]:
        marks = {turn: mark for turn in range(len(case.turns)) if (mark := self._mark(case, turn)) is not None}
        if marks:
            return [turn for turn, mark in marks.items() if mark]
        is_ambiguous = (
            case.metadata.get("requires_clarification") is True
            or (case.category is not None and squeeze_name(case.category) in set(map(squeeze_name, self.categories)))
            or not set(map(squeeze_name, case.tags)).isdisjoint(map(squeeze_name, self.tags))
        )
        return [0] if is_ambiguous else []  # the first turn is asked about; the following ones answer

    def _mark(self, case: Case, turn: int) -> bool | None:
        mark = _turn_metadata(case, turn).get("requires_clarification")
        if isinstance(mark, bool):
            return mark
        intent = case.turns[turn].expected.intent
        return True if intent is not None and self._is_clarifying(intent) else None

    def _asked_by(self, reply: Reply) -> str:
        for name in (reply.intent, reply.tool):
            if name and self._is_clarifying(name):
                return name
        if reply.metadata.get("needs_clarification") is True:
            return "needs_clarification"
        return clarifying_words(reply.text)

    def _is_clarifying(self, name: str) -> bool:
        return squeeze_name(name) in set(map(squeeze_name, self.intents))


class _Trouble(NamedTuple):
    turn: int
    why: str


@scorers.register("recovery")
@dataclass(frozen=True, slots=True)
class Recovery:
    """Share of the turns after a failure, or with a correction, that are answered well."""

    level: ClassVar[Level] = "case"

    right_from: Annotated[float, Range(0, 1)] = 0.7
    """Intent, entities and tool of a turn are right from this score on."""

    async def score_case(self, case: Case, replies: Sequence[Reply]) -> Score:
        """0..1; None when nothing failed and nobody corrected anything."""
        troubles = [each async for each in self._troubles(case, replies)]
        if not troubles:
            return Score(name="recovery", value=None, reason="Nothing failed, and nothing was corrected.")
        wrong = {each.turn: await self._wrong(case, replies, each.turn) for each in troubles}
        value = sum(not each for each in wrong.values()) / len(wrong)
        evidence = {
            "turns": [
                {"turn": turn, "after": why, "recovered": not wrong[turn], "why": wrong[turn]} for turn, why in troubles
            ]
        }
        failed = [f"turn {turn + 1}: {why}" for turn, why in wrong.items() if why]
        reason = (
            f"Not recovered: {'; '.join(failed)}."
            if failed
            else f"Recovered on {_counted(len(wrong), 'turn', 'turns')} after a failure or with a correction."
        )
        return Score(name="recovery", value=value, reason=reason, evidence=evidence)

    async def _troubles(self, case: Case, replies: Sequence[Reply]) -> AsyncIterator[_Trouble]:
        for turn in range(len(replies)):
            mark = _turn_metadata(case, turn).get("recovery")
            if mark is False:
                continue
            if mark is True:
                yield _Trouble(turn, "marked in the dataset")
            elif why := await self._failed_before(case, replies, turn):
                yield _Trouble(turn, why)
            elif (turn or case.history) and (said := correction_words(case.turns[turn].text)):
                yield _Trouble(turn, f"the user says {said!r}")

    async def _failed_before(self, case: Case, replies: Sequence[Reply], turn: int) -> str:
        """What was wrong with the reply before this turn; empty when nothing is known to be."""
        if turn == 0:
            before = case.history[-1] if case.history else None
            said = failure_words(before.text) if before is not None and before.role == "assistant" else ""
            return f"the reply before said {said!r}" if said else ""
        why = await self._wrong(case, replies, turn - 1, alone=True)
        return f"the reply before: {why}" if why else ""

    async def _wrong(self, case: Case, replies: Sequence[Reply], turn: int, *, alone: bool = False) -> str:
        """What is wrong with a reply: by what is expected of it, else by its words; empty when nothing is."""
        at, reply = case.at(turn), replies[turn]
        for score in (
            await Intent().score(at, reply),
            await Entities().score(at, reply),
            await Tool().score(at, reply),
        ):
            if score.value is not None and score.value < self.right_from:
                return score.reason.removesuffix(".")
        expected = at.expected
        if expected.intent is not None or expected.entities is not None or expected.tool or expected.tools:
            return ""
        if said := failure_words(reply.text):
            return f"it says {said!r}"
        if not reply.text.strip():
            is_parser = reply.intent or reply.entities or reply.tool or reply.tool_calls or reply.label
            return "" if is_parser else "it is empty"
        if not alone and turn and words(reply.text) == words(replies[turn - 1].text):
            return "it repeats the reply before"
        return ""


def carried_share(case: Case, replies: Sequence[Reply], turn: int) -> float | None:
    """How much of what earlier turns brought up is still there; None when nothing need be.

    The share of the turn's expected entities that were known before, or, where none are expected on a turn that needs
    context, 1 when any known value is among the reply's entities or words.
    """
    known = {_spelt(pair) for pair in _known_before(case, replies, turn)}
    if not known:
        return None
    reply, at = replies[turn], case.turns[turn]
    given = {_spelt(pair) for pair in flatten(reply.entities)}
    said = squeeze(reply.text)
    wanted = {_spelt(pair) for pair in flatten(at.expected.entities)} & known
    if wanted:
        held = wanted & given if reply.entities else {pair for pair in wanted if pair[1] in said}
        return len(held) / len(wanted)
    if not at.requires_context:
        return None
    values = {value for _, value in known}
    return float(any(value in values for _, value in given) or any(value in said for value in values))


def _known_before(case: Case, replies: Sequence[Reply], turn: int) -> Iterator[Pair]:
    for earlier, reply in zip(case.turns[:turn], replies[:turn], strict=True):
        yield from flatten(earlier.expected.entities)
        yield from flatten(reply.entities)
    previous = case.context.get("previous_entities")
    if isinstance(previous, Mapping):
        yield from flatten(previous)


def _spelt(pair: Pair) -> tuple[str, str]:
    return squeeze_name(pair.key), squeeze(pair.value)


def _turn_metadata(case: Case, turn: int) -> Mapping[str, Any]:
    """What a dataset says of one turn beside the known fields; of a case of one turn, also what it says of the case."""
    turns = case.metadata.get("turns")
    own = turns.get(str(turn)) if isinstance(turns, Mapping) else None
    if isinstance(own, Mapping):
        return own
    return case.metadata if len(case.turns) == 1 else {}


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
