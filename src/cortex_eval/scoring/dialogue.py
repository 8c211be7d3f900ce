"""Did the agent understand the turn: its intent, its entities, the tool to call?"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from cortex_eval.core import Case, InputError, Range, Reply, Score, ToolCall, shorten
from cortex_eval.scoring.base import scorers
from cortex_eval.scoring.embedding import HOW_TO_INSTALL, can_embed, load_embedder, words_for_method
from cortex_eval.scoring.pairs import Pair, flatten, fold, numbers_in, squeeze, squeeze_name, value_text
from cortex_eval.scoring.words import share_of_latin

LATIN_NEEDED = 0.8
"""Share of Latin letters from which a value is taken to be in the embedding model's script."""


@scorers.register("intent")
@dataclass(frozen=True, slots=True)
class Intent:
    """1 when the reply states the expected intent, 0 otherwise."""

    near: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Expected intent → other intent → the credit for it, 0..1."""
    no_intent: tuple[str, ...] = ("none", "no_intent", "oos", "out_of_scope")
    """Names for having no intent: stating one of them, or nothing, is all the same."""

    def __post_init__(self) -> None:
        for expected, others in self.near.items():
            for other, credit in others.items():
                if not 0 <= credit <= 1:
                    raise InputError(f"intent.near.{expected}.{other} must be a number from 0 to 1, not {credit:g}.")

    async def score(self, case: Case, reply: Reply) -> Score:
        """1, 0 or the credit for a near intent; None when no intent is expected."""
        if case.expected.intent is None:
            return Score(name="intent", value=None, reason="No intent is expected.")
        expected = squeeze_name(case.expected.intent)
        found = squeeze_name(reply.intent) if reply.intent else ""
        labels = {"expected_label": self._label(expected), "found_label": self._label(found)}
        if labels["expected_label"] == labels["found_label"]:
            stated = f"The intent is {shorten(reply.intent or '', 60)}" if found else "The reply states no intent"
            return Score(name="intent", value=1.0, reason=f"{stated}, as expected.", evidence=labels)
        if not found:
            reason = f"The reply states no intent; expected {case.expected.intent}."
            return Score(name="intent", value=0.0, reason=reason, evidence=labels)
        credit = self._credit(expected, found)
        note = f" It is near, for a credit of {credit:g}." if credit else ""
        reason = f"The intent is {shorten(reply.intent or '', 60)}; expected {case.expected.intent}.{note}"
        return Score(name="intent", value=credit, reason=reason, evidence=labels)

    def _label(self, name: str) -> str | None:
        return None if not name or name in set(map(squeeze_name, self.no_intent)) else name

    def _credit(self, expected: str, found: str) -> float:
        for name, others in self.near.items():
            if squeeze_name(name) == expected:
                return max((credit for other, credit in others.items() if squeeze_name(other) == found), default=0.0)
        return 0.0


class _Matches(NamedTuple):
    matched: list[tuple[Pair, Pair]]
    """Expected and found."""
    missing: list[Pair]
    extra: list[Pair]
    note: str = ""
    """Why meanings were not compared, when they should have been."""


@scorers.register("entities")
@dataclass(frozen=True, slots=True)
class Entities:
    """F1 of the extracted (key, value) pairs against the expected ones."""

    version: ClassVar[str] = "1"

    match: Literal["exact", "normalised", "semantic"] = "normalised"
    """When two values are the same."""
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Value → other words for it."""
    semantic_threshold: Annotated[float, Range(0, 1)] = 0.8
    """With `match: semantic`, the cosine from which two values mean the same."""

    @property
    def fingerprint(self) -> str:
        """Whether meanings can be compared here."""
        return "embedding" if self.match == "semantic" and can_embed() else ""

    @property
    def scores_by(self) -> str:
        """The embedding model, or words; empty: spelling, everywhere."""
        return words_for_method(wants_meanings=True, has_model=can_embed()) if self.match == "semantic" else ""

    async def score(self, case: Case, reply: Reply) -> Score:
        """F1; None when the case says nothing of entities."""
        if case.expected.entities is None:
            return Score(name="entities", value=None, reason="Nothing is said of the entities to expect.")
        expected, found = flatten(case.expected.entities), flatten(reply.entities)
        matches = self._by_spelling(expected, found)
        if self.match == "semantic" and matches.missing and matches.extra:
            matches = await asyncio.to_thread(self._by_meaning, matches, case.language or "")
        return _entities_score(matches, self.match)

    def _by_spelling(self, expected: Sequence[Pair], found: Sequence[Pair]) -> _Matches:
        aliases = {self._spelt(other): self._spelt(name) for name, others in self.aliases.items() for other in others}

        def one_spelling(pair: Pair) -> tuple[str, str]:
            value = self._spelt(pair.value)
            key = fold(pair.key) if self.match == "exact" else squeeze_name(pair.key)
            return key, aliases.get(value, value)

        wanted = {one_spelling(pair): pair for pair in reversed(expected)}
        given = {one_spelling(pair): pair for pair in reversed(found)}
        return _Matches(
            matched=[(wanted[each], given[each]) for each in reversed(wanted) if each in given],
            missing=[wanted[each] for each in reversed(wanted) if each not in given],
            extra=[given[each] for each in reversed(given) if each not in wanted],
        )

    def _spelt(self, value: str) -> str:
        return fold(value) if self.match == "exact" else squeeze(value)

    def _by_meaning(self, matches: _Matches, language: str) -> _Matches:
        """Pairs of one key whose values are close in meaning and have the same numbers, the closest first."""
        if not can_embed():
            return matches._replace(note=f"the embedding model is not installed: {HOW_TO_INSTALL}")
        if language and not language.casefold().startswith("en"):
            return matches._replace(note=f"the embedding model reads English only, and the language is {language}")
        pairs = [
            (wanted, given)
            for wanted in matches.missing
            for given in matches.extra
            if squeeze_name(wanted.key) == squeeze_name(given.key) and _can_compare(wanted.value, given.value)
        ]
        if not pairs:
            return matches
        texts = list(dict.fromkeys(pair.value for both in pairs for pair in both))
        vectors = dict(zip(texts, load_embedder().embed(texts), strict=True))
        scored = [(float(vectors[wanted.value] @ vectors[given.value]), wanted, given) for wanted, given in pairs]
        matched, missing, extra = list(matches.matched), list(matches.missing), list(matches.extra)
        for cosine, wanted, given in sorted(scored, key=lambda each: -each[0]):
            if cosine >= self.semantic_threshold and wanted in missing and given in extra:
                matched.append((wanted, given))
                missing.remove(wanted)
                extra.remove(given)
        return _Matches(matched, missing, extra)


@scorers.register("tool")
@dataclass(frozen=True, slots=True)
class Tool:
    """1 when the expected tool, or the whole sequence of calls, was called; 0 otherwise."""

    order: Literal["strict", "any"] = "strict"
    """Whether the calls of a sequence must come in its order."""
    match: Literal["exact", "normalised"] = "normalised"
    """When two arguments are the same."""
    arguments: bool = True
    """False: only names are compared, also where arguments are expected."""
    allow_extra: bool = False
    """True: calls and arguments beside the expected ones do no harm."""
    partial_credit: bool = False
    """True: the share of the sequence that was called, not 1 or 0."""
    no_tool: tuple[str, ...] = ("none", "no_tool")
    """Expected tools that mean: none is to be called."""

    async def score(self, case: Case, reply: Reply) -> Score:
        """1 or 0, or a share with partial credit; None when no tool is expected."""
        expected = case.expected.tools
        if not expected and case.expected.tool is None:
            return Score(name="tool", value=None, reason="No tool is expected.")
        called = _calls(reply)
        shown = {"called": [_shown_call(call) for call in called]}
        if not expected:
            return self._score_one(case.expected.tool or "", reply, called, shown)
        pairs = self._matched(expected, called)
        missing = [_shown_call(call) for place, call in enumerate(expected) if place not in pairs]
        extra = [_shown_call(call) for place, call in enumerate(called) if place not in pairs.values()]
        evidence = {"expected": [_shown_call(call) for call in expected], **shown, "missing": missing, "extra": extra}
        wrong_extra = len(extra) if not self.allow_extra else 0
        is_right = not missing and not wrong_extra
        value = len(pairs) / (len(expected) + wrong_extra) if self.partial_credit else float(is_right)
        return Score(name="tool", value=value, reason=self._reason(evidence, len(pairs), is_right), evidence=evidence)

    def _score_one(self, name: str, reply: Reply, called: Sequence[ToolCall], shown: dict[str, Any]) -> Score:
        """Seed 003's way: one tool by its name; the tool that the reply names counts before the calls it lists."""
        expected = squeeze_name(name)
        evidence = {"expected": [{"name": name}], **shown}
        if expected in set(map(squeeze_name, self.no_tool)):
            made = ", ".join(shorten(call.name, 60) for call in called)
            reason = f"No tool was to be called; called: {made}." if called else "No tool was called, as expected."
            return Score(name="tool", value=0.0 if called else 1.0, reason=reason, evidence=evidence)
        names = [reply.tool] if reply.tool else [call.name for call in called]
        if expected in map(squeeze_name, names):
            return Score(name="tool", value=1.0, reason=f"The tool is {name}, as expected.", evidence=evidence)
        found = ", ".join(shorten(each, 60) for each in names) or "none"
        return Score(name="tool", value=0.0, reason=f"The tool is {found}; expected {name}.", evidence=evidence)

    def _matched(self, expected: Sequence[ToolCall], called: Sequence[ToolCall]) -> dict[int, int]:
        """Place in the expected sequence → place among the calls, as many as possible."""
        fits = [[self._is_same(wanted, given) for given in called] for wanted in expected]
        return _in_order(fits) if self.order == "strict" else _in_any_order(fits)

    def _is_same(self, wanted: ToolCall, given: ToolCall) -> bool:
        if squeeze_name(wanted.name) != squeeze_name(given.name):
            return False
        if not self.arguments or wanted.arguments is None:
            return True
        given_arguments = given.arguments or {}
        if not self.allow_extra and set(given_arguments) - set(wanted.arguments):
            return False
        return all(
            name in given_arguments and _is_equal(value, given_arguments[name], self.match)
            for name, value in wanted.arguments.items()
        )

    def _reason(self, evidence: Mapping[str, Any], matched: int, is_right: bool) -> str:
        total = len(evidence["expected"])
        if is_right:
            return f"Every expected call was made ({total})."
        parts = [f"{matched} of {total} expected calls were made"]
        if self.order == "strict" and total > 1:
            parts[0] += " in their order"
        for words, calls in (("missing", evidence["missing"]), ("not expected", evidence["extra"])):
            if calls:
                parts.append(f"{words}: {', '.join(shorten(_call_text(call), 80) for call in calls[:5])}")
        return "; ".join(parts) + "."


def _entities_score(matches: _Matches, method: str) -> Score:
    true, missing, extra = len(matches.matched), matches.missing, matches.extra
    expected, found = true + len(missing), true + len(extra)
    f1 = 2 * true / (expected + found) if expected + found else 1.0
    nothing = not expected and not found
    evidence: dict[str, Any] = {  # Any: JSON
        # Precision of nothing extracted and recall of nothing expected are undefined, which is not 0.
        "precision": true / found if found else 1.0 if nothing else None,
        "recall": true / expected if expected else 1.0 if nothing else None,
        "f1": f1,
        "method": "normalised" if matches.note else method,
        "matched": [{"key": each.key, "expected": each.value, "found": other.value} for each, other in matches.matched],
        "missing": [each._asdict() for each in missing],
        "extra": [each._asdict() for each in extra],
    }
    if nothing:
        reason = "No entity was to be found, and none was."
    else:
        parts = [f"{true} of {expected} expected {'entity' if expected == 1 else 'entities'} found"]
        for words, pairs in (("missing", missing), ("not expected", extra)):
            if pairs:
                parts.append(f"{words}: {', '.join(f'{each.key} = {shorten(each.value, 60)}' for each in pairs[:5])}")
        reason = "; ".join(parts) + "."
    if matches.note:
        reason += f" Spellings were compared, not meanings: {matches.note}."
    return Score(name="entities", value=f1, reason=reason, evidence=evidence)


def _can_compare(one: str, other: str) -> bool:
    # An embedding hardly tells 8 threads from 16 threads.
    is_latin = all((share_of_latin(text) or 0) >= LATIN_NEEDED for text in (one, other))
    return is_latin and numbers_in(one) == numbers_in(other)


def _calls(reply: Reply) -> tuple[ToolCall, ...]:
    if reply.tool_calls:
        return reply.tool_calls
    return (ToolCall(name=reply.tool, arguments=reply.arguments),) if reply.tool else ()


def _shown_call(call: ToolCall) -> dict[str, Any]:
    return {"name": call.name} if call.arguments is None else {"name": call.name, "arguments": dict(call.arguments)}


def _call_text(call: Mapping[str, Any]) -> str:
    inside = ", ".join(f"{name}={value_text(value)}" for name, value in call.get("arguments", {}).items())
    return f"{call['name']}({inside})"


def _is_equal(wanted: Any, given: Any, match: str) -> bool:  # Any: JSON
    if isinstance(wanted, Mapping) and isinstance(given, Mapping):
        return set(wanted) == set(given) and all(_is_equal(each, given[name], match) for name, each in wanted.items())
    if isinstance(wanted, list | tuple) and isinstance(given, list | tuple):
        return len(wanted) == len(given) and all(map(lambda a, b: _is_equal(a, b, match), wanted, given))
    if isinstance(wanted, Mapping | list | tuple) or isinstance(given, Mapping | list | tuple):
        return False
    if match == "exact":
        return bool(wanted == given) and isinstance(wanted, bool) == isinstance(given, bool)
    return squeeze(value_text(wanted)) == squeeze(value_text(given))


def _in_order(fits: Sequence[Sequence[bool]]) -> dict[int, int]:
    """The longest common sequence."""
    rows, columns = len(fits), len(fits[0]) if fits else 0
    best = [[0] * (columns + 1) for _ in range(rows + 1)]
    for i in reversed(range(rows)):
        for j in reversed(range(columns)):
            best[i][j] = best[i + 1][j + 1] + 1 if fits[i][j] else max(best[i + 1][j], best[i][j + 1])
    pairs, i, j = {}, 0, 0
    while i < rows and j < columns:
        if fits[i][j]:
            pairs[i] = j
            i, j = i + 1, j + 1
        elif best[i + 1][j] >= best[i][j + 1]:
            i += 1
        else:
            j += 1
    return pairs


def _in_any_order(fits: Sequence[Sequence[bool]]) -> dict[int, int]:
    """The largest matching, by augmenting paths: an earlier choice gives way where it can have another call."""
    taken: dict[int, int] = {}

    def place(i: int, seen: set[int]) -> bool:
        for j, is_fit in enumerate(fits[i]):
            if is_fit and j not in seen:
                seen.add(j)
                if j not in taken or place(taken[j], seen):
                    taken[j] = i
                    return True
        return False

    for i in range(len(fits)):
        place(i, set())
    return {i: j for j, i in taken.items()}
