"""Is the case put into the right class, such as a Prakriti?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import permutations
from typing import Any, ClassVar, NamedTuple

from cortex_eval.core import Case, InputError, Reply, Score, shorten
from cortex_eval.scoring.base import scorers
from cortex_eval.scoring.pairs import squeeze

_DOSHAS = {
    "Vata": ("vata", "vaata", "vatha", "वात"),
    "Pitta": ("pitta", "पित्त"),
    "Kapha": ("kapha", "kaph", "कफ"),
}
_OTHER_TRIDOSHA = ("tridosha", "tridoshic", "tri-doshic", "sama", "sama prakriti", "त्रिदोष")
_BESIDE = ("dosha", "prakriti", "prakruti", "constitution", "type", "dominant", "predominant", "दोष", "प्रकृति")
"""Words that stand beside a class and are no part of it: *Vata dosha*, *Pitta type*."""


def _prakriti() -> dict[str, tuple[str, ...]]:
    """Seed 002's seven classes, the doshas of a dual type in either order, in English and Hindi."""
    classes: dict[str, tuple[str, ...]] = dict(_DOSHAS)
    for one, other in (("Vata", "Pitta"), ("Pitta", "Kapha"), ("Vata", "Kapha")):
        orders = permutations((one, other))
        spelt = (
            f"{a}{mark}{b}"
            for first, second in orders
            for a in _DOSHAS[first]
            for b in _DOSHAS[second]
            for mark in ("-", "")
        )
        classes[f"{one}-{other}"] = tuple(spelt)
    all_three = tuple(
        "-".join((a, b, c))
        for first, second, third in permutations(_DOSHAS)
        for a in _DOSHAS[first]
        for b in _DOSHAS[second]
        for c in _DOSHAS[third]
    )
    return {**classes, "Tridosha": _OTHER_TRIDOSHA + all_three}


PRAKRITI: Mapping[str, tuple[str, ...]] = _prakriti()
"""Class → other spellings of it."""


class _Found(NamedTuple):
    label: str | None
    source: str | None
    mentions: tuple[str, ...] = ()


@scorers.register("classification")
@dataclass(frozen=True, slots=True)
class Classification:
    """1 when the reply gives the expected label, 0 otherwise; cases on which the experts differ are set aside."""

    version: ClassVar[str] = "1"

    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Label → other spellings of it; empty: the seven Prakriti classes."""
    from_text: bool = True
    """Whether the label is looked for in the text of a reply that does not state it apart."""
    no_label: tuple[str, ...] = ("unknown", "none", "undetermined")
    """Names for having no label: giving one of them, or nothing, is all the same."""
    _by_spelling: Mapping[str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        labels = self.labels or PRAKRITI
        by_spelling: dict[str, str] = {}
        for label, others in labels.items():
            for spelling in (label, *others):
                known = by_spelling.setdefault(label_key(spelling), label)
                if known != label:
                    raise InputError(f"classification.labels: {spelling!r} stands for {known!r} and for {label!r}.")
        object.__setattr__(self, "_by_spelling", by_spelling)

    async def score(self, case: Case, reply: Reply) -> Score:
        """1 or 0; None without an expected label, and for a disputed case."""
        if case.is_disputed:
            reason = "Set aside: the experts differ on this case."
            return Score(name="classification", value=None, reason=reason)
        if case.expected.label is None:
            return Score(name="classification", value=None, reason="No label is expected.")
        expected = self._canonical(case.expected.label)
        found = self._find(reply)
        wanted = None if self._is_none(expected) else expected
        evidence = {
            "expected_label": wanted,
            "found_label": found.label,
            "source": found.source,
            "mentions": list(found.mentions),
        }
        is_right = found.label == wanted or (found.label and wanted and label_key(found.label) == label_key(wanted))
        value = 1.0 if is_right else 0.0
        return Score(name="classification", value=value, reason=_reason(expected, found, value), evidence=evidence)

    def _is_none(self, label: str) -> bool:
        return not label or label_key(label) in set(map(label_key, self.no_label))

    def _canonical(self, label: str) -> str:
        return self._by_spelling.get(label_key(label), " ".join(label.split()))

    def _find(self, reply: Reply) -> _Found:
        if reply.label is not None:
            label = self._canonical(reply.label)
            return _Found(None if self._is_none(label) else label, "label", (reply.label,))
        if not self.from_text or not reply.text.strip():
            return _Found(None, None)
        if label_key(reply.text) in self._by_spelling:
            return _Found(self._canonical(reply.text), "text", (reply.text.strip(),))
        return _label_in(reply.text, self._by_spelling)


@lru_cache(maxsize=16_384)
def label_key(label: str) -> str:
    """A label in one spelling: *vata pitta*, *Vata+Pitta* and *VATA-PITTA dosha* are one."""
    parts = [part for part in _separators().split(label.casefold()) if part]
    kept = [part for part in parts if part not in _BESIDE] or parts
    return " ".join(map(squeeze, kept))


def _label_in(text: str, by_spelling: Mapping[str, str]) -> _Found:
    """The label that a text gives, by three rules, the first that yields exactly one label.

    1. Labels behind words that announce a verdict (*prakriti:*, *constitution is*, *classified as*).
    2. All labels in the text. Those that are denied or stand in a list (*Vata, Pitta or Kapha*) count for neither rule.
    3. Otherwise none: a text that names several classes has not decided.
    """
    folded = text.casefold()
    pattern = _label_pattern(tuple(sorted(by_spelling, key=len, reverse=True)))
    mentions, announced = [], []
    for found in _outside_lists(folded, list(pattern.finditer(folded))):
        label = by_spelling.get(label_key(found[0]))
        before = folded[max(0, found.start() - 60) : found.start()]
        if label is None or _denying().search(before):
            continue
        mentions.append(label)
        if _announcing().search(before):
            announced.append(label)
    named = tuple(dict.fromkeys(mentions))
    for labels in (announced, mentions):
        if len(set(labels)) == 1:
            return _Found(labels[0], "text", named)
    return _Found(None, "text" if named else None, named)


def _outside_lists(text: str, found: list[Any]) -> Iterator[Any]:  # Any: matches of `regex`
    """The matches without those that stand in a list of alternatives, or of three and more."""
    start = 0
    while start < len(found):
        end = start + 1
        gaps = []
        while end < len(found) and (gap := _listing().fullmatch(text, found[end - 1].end(), found[end].start())):
            gaps.append(gap[0])
            end += 1
        joined = " ".join([*gaps, *(each[0] for each in found[start:end])]).split()
        is_list = len(gaps) > 1 or (gaps and not {"and", "or", "vs", "versus", "या", "और"}.isdisjoint(joined))
        if not is_list:
            yield from found[start:end]
        start = end


def _reason(expected: str, found: _Found, value: float) -> str:
    where = ", found in the text" if found.source == "text" else ""
    if found.label is not None:
        named = f"The class is {shorten(found.label, 60)}"
        return f"{named}, as expected{where}." if value else f"{named}{where}; expected {expected}."
    if value:
        return "The reply gives no class, as expected."
    if len(found.mentions) > 1:
        several = ", ".join(found.mentions[:7])
        return f"The reply names several classes ({several}) and decides on none; expected {expected}."
    said = f" (it says {shorten(found.mentions[0], 60)!r})" if found.source == "label" and found.mentions else ""
    return f"The reply gives no class{said}; expected {expected}."


@cache
def _separators() -> Any:  # Any: compiled patterns of `regex`, here and below
    import regex  # type: ignore[import-untyped]  # has no types; `re` knows no \p{Pd}

    return regex.compile(r"[\s\p{Pd}\p{Pc}/+&,.:;()*\"']+|\band\b|(?<![\p{L}\p{M}])(?:और|एवं)(?![\p{L}\p{M}])")


@lru_cache(maxsize=64)
def _label_pattern(spellings: tuple[str, ...]) -> Any:
    """Any of the spellings, whole words only; between the parts of one, what people write there."""
    import regex

    between = r"(?:\s*[\p{Pd}/+&]\s*|\s+(?:and|और)\s+|\s+)"
    parts = "|".join(between.join(map(regex.escape, each.split())) for each in spellings)
    return regex.compile(rf"(?<![\p{{L}}\p{{M}}\p{{N}}])(?:{parts})(?![\p{{L}}\p{{M}}\p{{N}}])")


@cache
def _announcing() -> Any:
    import regex

    noun = r"(?:prakriti|prakruti|constitution\w*|dosha|body type|class|classification|category|label|diagnosis|type)"
    return regex.compile(
        rf"\b{noun}\W{{0,4}}(?:\s*\([^)]*\))?\W{{0,4}}(?:is|as|appears to be|seems to be|would be|may be|could be|=|:)"
        r"[\s*_\"']*(?:(?:most likely|likely|primarily|predominantly|probably|a|an|the|of)\s+)*[\s*_\"']*$|"
        r"\b(?:classified as|assessed as|diagnosed as|dominant in|you are (?:a|an|primarily|predominantly))[\s*_\"']*$|"
        r"(?:प्रकृति|दोष)\s*(?:है|:)?\s*$"
    )


@cache
def _denying() -> Any:
    import regex

    return regex.compile(
        r"(?:\b(?:not|no|never|neither|nor|without|rather than|instead of)\b|n't)(?:\s+(?!but\b)[\p{L}'-]+){0,2}\s*$"
    )


@cache
def _listing() -> Any:
    """What stands between two items of a list: a comma or *or*, and before it a word such as *type*."""
    import regex

    return regex.compile(
        r"(?:\s+\p{L}+)?(?:\s*,\s*(?:and |or |और |या )?(?:an? )?|\s+(?:or|vs\.?|versus|या)\s+(?:an? )?)"
    )
