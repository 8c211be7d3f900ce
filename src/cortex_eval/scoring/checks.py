"""Does what was said of this one case hold? Texts, forms and limits that no judge is needed for."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, ClassVar, NamedTuple

import orjson

from cortex_eval.core import Case, CaseCheck, InputError, Reply, Score, did_you_mean, shorten
from cortex_eval.datasets import Compiled, compile_pattern, compile_schema
from cortex_eval.scoring.base import scorers
from cortex_eval.scoring.embedding import can_embed, words_for_method
from cortex_eval.scoring.json_form import misfits
from cortex_eval.scoring.overlap import edit_similarity
from cortex_eval.scoring.similarity import Closeness, Pair, compare
from cortex_eval.scoring.structure import search_in_thread
from cortex_eval.scoring.text import normalise
from cortex_eval.scoring.words import spoken_words

NOT = "not_"
SIMILAR_AT = 0.75
EDIT_SIMILAR_AT = 0.8
MOST_CHANGES = 5
"""Characters; promptfoo's, as is 0.75."""
_SHOWN = 60
_FIRST_PLACES = 1000
"""Brackets at which JSON inside a text is looked for."""


class Finding(NamedTuple):
    """What is so of a reply, whether or not it should be."""

    is_so: bool | None
    """Whether the check's type holds, `not_` aside; None: it cannot be known of this reply."""
    said: str
    """What is so, to follow *The reply*; where it cannot be known, why, as a sentence."""


class _Looked(NamedTuple):
    check: CaseCheck
    holds: bool | None
    said: str


@scorers.register("checks")
@dataclass(frozen=True, slots=True)
class Checks:
    """The share of the checks of a case that hold, by their weights; it passes when all do."""

    version: ClassVar[str] = "1"
    threshold: ClassVar[float] = 1.0
    """This and the next: where the project file says nothing."""
    critical: ClassVar[bool] = True

    @property
    def fingerprint(self) -> str:
        """What `similar` goes by here."""
        return "embedding" if can_embed() else "lexical"

    @property
    def scores_by(self) -> str:
        """What `similar` goes by: the embedding model, or words."""
        return f"checks of the type similar by {words_for_method(wants_meanings=True, has_model=can_embed())}"

    async def score(self, case: Case, reply: Reply) -> Score:
        """0..1; None for a case without checks, or where none of them can be known."""
        return (await asyncio.to_thread(self.score_batch, [(case, reply)]))[0]

    def score_batch(self, pairs: Sequence[tuple[Case, Reply]]) -> list[Score]:
        """One score for each pair; all texts whose meanings are compared are embedded together."""
        close = iter(compare([_pair(check, *pair) for pair in pairs for check in _similar_ones(pair[0])]))
        return [_score([_look(check, reply, close) for check in case.expected.checks]) for case, reply in pairs]


def _similar_ones(case: Case) -> Iterator[CaseCheck]:
    return (check for check in case.expected.checks if check.type.removeprefix(NOT) == "similar")


def _pair(check: CaseCheck, case: Case, reply: Reply) -> Pair:
    return Pair(reply.text, tuple(_texts(check)), (case.language, reply.language))


def _look(check: CaseCheck, reply: Reply, close: Iterator[Closeness]) -> _Looked:
    base = check.type.removeprefix(NOT)
    if base == "similar":
        found = _similar(check, reply, next(close))
    elif base in LOOKS:
        found = LOOKS[base](check, reply)
    else:
        raise InputError(f"there is no check {shorten(check.type)!r}. {did_you_mean(base, ('similar', *LOOKS))}")
    holds = None if found.is_so is None else found.is_so != check.type.startswith(NOT)
    return _Looked(check, holds, found.said)


def _score(looked: Sequence[_Looked]) -> Score:
    if not looked:
        return Score(name="checks", value=None, reason="The case has no checks.")
    counted = [each for each in looked if each.holds is not None and each.check.weight > 0]
    total = math.fsum(each.check.weight for each in counted)
    return Score(
        name="checks",
        value=math.fsum(each.check.weight for each in counted if each.holds) / total if counted else None,
        reason=_reason(looked, counted),
        evidence={"checks": [_row(each) for each in looked]},
    )


def _row(looked: _Looked) -> dict[str, Any]:  # Any: evidence is JSON
    check, holds, said = looked
    weight = {} if check.weight == 1 else {"weight": check.weight}
    return {"check": _label(check), "holds": holds, "found": said, **weight}


def _reason(looked: Sequence[_Looked], counted: Sequence[_Looked]) -> str:
    """The first check that does not hold, and how many do."""
    broken = [each for each in counted if not each.holds]
    unknown = [each for each in looked if each.holds is None]
    aside = f" {len(unknown)} cannot be told: {unknown[0].said}" if unknown else ""
    if not counted:
        return f"No check applies.{aside}"
    if not broken:
        told = "The check holds" if len(counted) == 1 else f"All {len(counted)} checks hold"
        return f"{told}.{aside}"
    check, _, said = broken[0]
    first = f"{check.name}: the reply {said}" if check.name else f"The reply {said}"
    others = f"; {len(counted) - len(broken)} of {len(counted)} checks hold" if len(counted) > 1 else ""
    return f"{first}{others}.{aside}"


def _label(check: CaseCheck) -> str:
    """What a check asks, in a few words."""
    kind = check.type.replace("_", " ")
    if check.name or check.value is None:
        return check.name or kind
    value = check.value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, list | tuple):
        shown = ", ".join(map(str, value))
    else:
        shown = orjson.dumps(value).decode() if isinstance(value, Mapping | bool) else str(value)
    return f"{kind}: {shorten(shown, _SHOWN)}"


def _texts(check: CaseCheck) -> list[str]:
    return [str(each) for each in (check.value if isinstance(check.value, list | tuple) else [check.value])]


def _quoted(texts: Iterable[str], joint: str = ", ") -> str:
    return joint.join(f"“{shorten(each, _SHOWN)}”" for each in texts)


def _contains(check: CaseCheck, reply: Reply, *, all_of: bool) -> Finding:
    text, wanted = _folded(reply.text, check), _texts(check)
    found = [each for each in wanted if _folded(each, check) in text]
    missing = [each for each in wanted if each not in found]
    if not missing or (found and not all_of):
        return Finding(True, f"contains {_quoted(found)}")
    return Finding(False, f"does not contain {_quoted(missing, ', ' if all_of else ' or ')}")


def _equals(check: CaseCheck, reply: Reply) -> Finding:
    if isinstance(check.value, str):
        is_so = _folded(reply.text, check) == _folded(check.value, check)
        return Finding(is_so, f"{'is' if is_so else 'is not'} {_quoted([check.value])}")
    try:
        is_so = orjson.loads(reply.text) == check.value
    except orjson.JSONDecodeError:
        return Finding(False, "is not JSON")
    return Finding(
        is_so, f"{'is' if is_so else 'is not'} the JSON {shorten(orjson.dumps(check.value).decode(), _SHOWN)}"
    )


def _at_an_end(check: CaseCheck, reply: Reply, *, begins: bool) -> Finding:
    text, wanted = _folded(reply.text, check), _folded(str(check.value), check)
    is_so = text.startswith(wanted) if begins else text.endswith(wanted)
    verb = "begin" if begins else "end"
    return Finding(is_so, f"{f'{verb}s' if is_so else f'does not {verb}'} with {_quoted([str(check.value)])}")


def _regex(check: CaseCheck, reply: Reply) -> Finding:
    match = search_in_thread(_compiled(check.value), check.value, reply.text)
    shown = f"the pattern {shorten(check.value, _SHOWN)}"
    if match is None:
        return Finding(False, f"does not match {shown}")
    return Finding(True, f"matches {shown} with {shorten(match.group(), _SHOWN)!r}")


def _is_json(_: CaseCheck, reply: Reply) -> Finding:
    try:
        orjson.loads(reply.text)
    except orjson.JSONDecodeError as error:
        return Finding(False, f"is not JSON ({shorten(str(error), _SHOWN)})")
    return Finding(True, "is JSON")


def _contains_json(_: CaseCheck, reply: Reply) -> Finding:
    from json import JSONDecoder

    place, read = -1, JSONDecoder().raw_decode
    for _attempt in range(_FIRST_PLACES):
        starts = [at for at in (reply.text.find("{", place + 1), reply.text.find("[", place + 1)) if at >= 0]
        if not starts:
            break
        place = min(starts)
        try:
            end = read(reply.text, place)[1]
        except (ValueError, RecursionError):
            continue
        return Finding(True, f"contains JSON: {shorten(reply.text[place:end], _SHOWN)}")
    return Finding(False, "contains no JSON object or list")


def _json_schema(check: CaseCheck, reply: Reply) -> Finding:
    try:
        value = orjson.loads(reply.text)
    except orjson.JSONDecodeError as error:
        return Finding(False, f"is not JSON ({shorten(str(error), _SHOWN)})")
    wrong = misfits(_validator(orjson.dumps(check.value)), value)
    if not wrong:
        return Finding(True, "fits the JSON Schema")
    return Finding(False, f"does not fit the JSON Schema at {wrong[0]['place']}: {wrong[0]['message']}")


def _words(check: CaseCheck, reply: Reply, *, at_most: bool) -> Finding:
    count, limit = len(spoken_words(reply.text, ignore_punctuation=False)), int(check.value)
    sign = "less than" if count < limit else "more than" if count > limit else "just"
    return Finding(count <= limit if at_most else count >= limit, f"has {count:,} words, {sign} {limit:,}")


def _latency(check: CaseCheck, reply: Reply) -> Finding:
    took, limit = reply.total_time_ms, check.value
    if took is None:
        return Finding(None, "the time of the reply is not known.")
    is_so = took <= limit
    return Finding(is_so, f"took {took:,.0f} ms, {'at most' if is_so else 'more than'} {limit:,.0f} ms")


def _cost(check: CaseCheck, reply: Reply) -> Finding:
    cost = reply.usage.cost if reply.usage is not None else None
    if cost is None or cost.currency != "USD":
        return Finding(None, "the cost of the reply in USD is not known.")
    is_so = float(cost.amount) <= check.value
    return Finding(is_so, f"cost ${cost.amount:f}, {'at most' if is_so else 'more than'} ${check.value:g}")


def _similar(check: CaseCheck, reply: Reply, close: Closeness) -> Finding:
    value = close.value if reply.text.strip() and close.value is not None else 0.0
    return _near(check, value, SIMILAR_AT, f" by {close.method}")


def _edit_similarity(check: CaseCheck, reply: Reply) -> Finding:
    text = normalise(reply.text)
    value = max(edit_similarity(text, normalise(each)) for each in _texts(check))
    return _near(check, value, EDIT_SIMILAR_AT, " by character")


def _near(check: CaseCheck, value: float, usual: float, by: str) -> Finding:
    limit = usual if check.threshold is None else check.threshold
    is_so = value >= limit - 1e-9
    said = f"is {value:.2f} like {_quoted(_texts(check), ' or ')}{by}, {'at least' if is_so else 'less than'} {limit:g}"
    return Finding(is_so, said)


def _levenshtein(check: CaseCheck, reply: Reply) -> Finding:
    from rapidfuzz.distance import Levenshtein  # imported late: 40 ms

    count = min(Levenshtein.distance(reply.text.strip(), each.strip()) for each in _texts(check))
    limit = MOST_CHANGES if check.threshold is None else check.threshold
    is_so = count <= limit
    from_ = f"characters away from {_quoted(_texts(check), ' or ')}"
    return Finding(is_so, f"is {count:,} {from_}, {'at most' if is_so else 'more than'} {limit:g}")


def _folded(text: str, check: CaseCheck) -> str:
    """In NFC, with single spaces, in one case unless the check tells them apart."""
    return normalise(text, casefold=not check.case_sensitive)


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> Compiled:
    return compile_pattern(pattern)


@lru_cache(maxsize=1024)
def _validator(schema: bytes) -> Any:  # Any: jsonschema_rs has no public type for it
    return compile_schema(orjson.loads(schema))


LOOKS: Mapping[str, Callable[[CaseCheck, Reply], Finding]] = {
    "contains": partial(_contains, all_of=True),
    "contains_all": partial(_contains, all_of=True),
    "contains_any": partial(_contains, all_of=False),
    "equals": _equals,
    "starts_with": partial(_at_an_end, begins=True),
    "ends_with": partial(_at_an_end, begins=False),
    "regex": _regex,
    "is_json": _is_json,
    "contains_json": _contains_json,
    "json_schema": _json_schema,
    "min_words": partial(_words, at_most=False),
    "max_words": partial(_words, at_most=True),
    "max_latency_ms": _latency,
    "max_cost_usd": _cost,
    "edit_similarity": _edit_similarity,
    "levenshtein": _levenshtein,
}
"""What looks for each type; `similar` is looked at for many replies together."""
