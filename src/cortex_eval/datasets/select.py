"""Which cases of a dataset a run plays, in which order, and how likely each was to be among them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

from cortex_eval.core import Case, InputError, Problem, did_you_mean

QUICK_PER_CATEGORY = 2
_NO_CATEGORY = ""


class CaseFacts(Protocol):
    """What a case is selected by; a `CaseRow` and a stored case both have it."""

    @property
    def ordinal(self) -> int:
        """Place in the dataset."""

    @property
    def id(self) -> str:
        """Of the case."""

    @property
    def category(self) -> str | None:
        """Of the case."""

    @property
    def tier(self) -> int | None:
        """Of the case."""

    @property
    def language(self) -> str | None:
        """Of the case."""

    @property
    def tags(self) -> tuple[str, ...]:
        """Of the case."""


class Facts(NamedTuple):
    """The plainest `CaseFacts`."""

    ordinal: int
    id: str
    category: str | None = None
    tier: int | None = None
    language: str | None = None
    tags: tuple[str, ...] = ()


class Stratum(NamedTuple):
    """One part of a sample that was drawn part by part."""

    of: int
    """Cases that matched."""
    chosen: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The outcome of a selection."""

    ordinals: list[int]
    """Places in the dataset, in the order in which they are played."""
    probabilities: Mapping[str, float]
    """Category → how likely a matching case of it was to be chosen. Cases without one: ''. Empty: all were."""
    strata: Mapping[str, Stratum] = field(default_factory=dict)
    """Category → how many matched and how many of them were drawn; empty when nothing was drawn by category."""
    matching: int
    """Cases that fitted, before any sampling."""
    total: int
    """Cases in the dataset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What to play; empty means everything. Within a field any value fits, across fields all must."""

    categories: tuple[str, ...] = ()
    tiers: tuple[int, ...] = ()
    tags: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    case_ids: tuple[str, ...] = ()
    failed_of: frozenset[str] | None = None
    """Ids of the cases that failed in another run; None: not asked for."""
    limit: int | None = None
    """At most so many cases, drawn at random."""
    per_category: int | None = None
    """At most so many cases of each category, spread over its tiers and languages: a quick run."""
    seed: int = 0

    def __post_init__(self) -> None:
        problems = [
            Problem(message=f"{name} must be 1 or more, not {value}.", field=name)
            for name, value in (("limit", self.limit), ("per_category", self.per_category))
            if value is not None and value < 1
        ]
        problems += [
            Problem(message=f"a tier is 1 to 5, not {tier}.", field="tier") for tier in self.tiers if not 1 <= tier <= 5
        ]
        if problems:
            raise InputError(problems)

    @property
    def is_everything(self) -> bool:
        """Whether every case is played."""
        return self == Selection(seed=self.seed)

    def matches(self, case: CaseFacts | Case) -> bool:
        """Whether a case fits, before any sampling."""
        return (
            (not self.categories or case.category in self.categories)
            and (not self.tiers or case.tier in self.tiers)
            and (not self.languages or case.language in self.languages)
            and (not self.tags or not set(self.tags).isdisjoint(case.tags))
            and (not self.case_ids or case.id in self.case_ids)
            and (self.failed_of is None or case.id in self.failed_of)
        )

    def choose(self, cases: Iterable[CaseFacts]) -> Chosen:
        """The cases to play, shuffled; `InputError` when a name is not in the dataset or nothing fits."""
        known = _Known(self)
        strata: dict[str, list[_Place]] = {}
        total = 0
        for case in cases:
            total += 1
            known.note(case)
            if self.matches(case):
                place = _Place(case.tier or 0, case.language or "", case.ordinal)
                strata.setdefault(case.category or _NO_CATEGORY, []).append(place)
        known.check()
        matching = sum(map(len, strata.values()))
        if total and not matching:
            raise InputError(Problem(message=f"No case fits: {self.described()}.", code="nothing_selected"))
        return self._drawn(strata, matching=matching, total=total)

    def everything(self, total: int) -> Chosen:
        """All of a dataset, shuffled, for a selection that asks for nothing less: the cases need not be looked at."""
        assert self.is_everything
        ordinals = list(range(total))
        random.Random(self.seed).shuffle(ordinals)  # noqa: S311  # see `_drawn`
        return Chosen(ordinals=ordinals, probabilities={}, matching=total, total=total)

    def described(self) -> str:
        """The selection in words."""
        parts = [
            f"{noun} {', '.join(map(str, values))}"
            for noun, values in (
                ("category", self.categories),
                ("tier", self.tiers),
                ("tag", self.tags),
                ("language", self.languages),
                ("case", self.case_ids),
            )
            if values
        ]
        if self.failed_of is not None:
            parts.append(f"one of {len(self.failed_of)} failed cases")
        return " and ".join(parts) or "every case"

    def _drawn(self, strata: dict[str, list[_Place]], *, matching: int, total: int) -> Chosen:
        rng = random.Random(self.seed)  # noqa: S311  # a fair order that can be had again, not a secret
        shares: dict[str, float] = {}
        category_of: dict[int, str] = {}
        ordinals: list[int] = []
        for category in sorted(strata):  # not in the order of the file: moved rows must not change the draw of others
            held = strata[category]
            take = len(held) if self.per_category is None else min(self.per_category, len(held))
            drawn = [each.ordinal for each in (held if take == len(held) else _spread(held, take, rng))]
            ordinals += drawn
            shares[category] = take / len(held)
            if self.per_category is not None:
                category_of |= dict.fromkeys(drawn, category)
        rng.shuffle(ordinals)
        if self.limit is not None and self.limit < len(ordinals):
            shares = {category: share * self.limit / len(ordinals) for category, share in shares.items()}
            del ordinals[self.limit :]
        drawn_of = Counter(category_of[ordinal] for ordinal in ordinals) if category_of else {}
        sizes = {name: Stratum(len(held), drawn_of[name]) for name, held in sorted(strata.items())} if drawn_of else {}
        return Chosen(ordinals=ordinals, probabilities=shares, strata=sizes, matching=matching, total=total)


class _Place(NamedTuple):
    """A case by what a draw is spread over."""

    tier: int
    language: str
    ordinal: int


def _spread(held: list[_Place], take: int, rng: random.Random) -> list[_Place]:
    """So many of these, each as likely as the others, and tiers and languages in about their shares.

    Every k-th of the cases in the order of tier and language, from a random start (systematic sampling; Cochran 1977,
    ch. 8); chance decides among equals.
    """
    ordered = sorted(held, key=lambda each: (each.tier, each.language, rng.random()))
    step = len(ordered) / take
    start = rng.random() * step
    return [ordered[min(int(start + number * step), len(ordered) - 1)] for number in range(take)]


def quick(selection: Selection | None = None, *, per_category: int = QUICK_PER_CATEGORY) -> Selection:
    """The same selection as a quick run: a few cases of each category, spread over its tiers and languages."""
    return replace(selection or Selection(), per_category=per_category)


@dataclass(slots=True)
class _Known:
    """The names that a dataset knows, gathered only as far as the selection asks for names."""

    selection: Selection
    names: dict[str, set[str]] = field(default_factory=dict)

    def note(self, case: CaseFacts) -> None:
        """Remember the names of a case."""
        asked = self.selection
        if asked.categories and case.category is not None:
            self.names.setdefault("category", set()).add(case.category)
        if asked.tiers and case.tier is not None:
            self.names.setdefault("tier", set()).add(str(case.tier))
        if asked.languages and case.language is not None:
            self.names.setdefault("language", set()).add(case.language)
        if asked.tags:
            self.names.setdefault("tag", set()).update(case.tags)
        if asked.case_ids:
            self.names.setdefault("case", set()).add(case.id)

    def check(self) -> None:
        """Every name that was asked for is there; `InputError` offers the nearest for each that is not."""
        asked = self.selection
        problems = [
            Problem(
                message=f"The dataset has no {noun} {value!r}. {_near(str(value), self.names.get(noun, set()))}",
                field=noun,
                code="unknown_name",
            )
            for noun, values in (
                ("category", asked.categories),
                ("tier", asked.tiers),
                ("tag", asked.tags),
                ("language", asked.languages),
                ("case", asked.case_ids),
            )
            for value in values
            if str(value) not in self.names.get(noun, set())
        ]
        if problems:
            raise InputError(problems)


def _near(name: str, known: set[str]) -> str:
    if len(known) <= 20:
        return did_you_mean(name, known)
    near = did_you_mean(name, known)
    return near if near.startswith("Did you mean") else f"There are {len(known):,} others."
