"""Is the translation close to the expected one, and did its numbers, units and names survive?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from cortex_eval.core import Case, Reply, Score
from cortex_eval.scoring.base import scorers
from cortex_eval.scoring.names import is_named, names
from cortex_eval.scoring.overlap import bleu, chrf
from cortex_eval.scoring.quantities import Quantity, read_quantities, spoken_numbers
from cortex_eval.scoring.ter import ter
from cortex_eval.scoring.words import words

SHOWN = 5
"""So many lost or added things stand in the reason; all of them are in the evidence."""


@scorers.register("translation")
@dataclass(frozen=True, slots=True)
class Translation:
    """chrF against the expected translation; BLEU, TER, length, numbers, units, names, untranslated words beside it."""

    strict_numbers: bool = False
    """A lost, added or changed number or unit fails the score, whatever its value."""

    def score_batch(self, pairs: Sequence[tuple[Case, Reply]]) -> list[Score]:
        """chrF of each reply, 0..1; None without an expected translation, with what the source alone can tell."""
        return [self._one(case, reply) for case, reply in pairs]

    def _one(self, case: Case, reply: Reply) -> Score:
        references = [each for each in case.expected.references if each.strip()]
        if not reply.text.strip():
            value = 0.0 if references else None
            return Score(name="translation", value=value, reason="The reply is empty.")
        reference = max(references, key=lambda each: chrf(reply.text, each), default=None)
        figures = _figures(case.input, reference, reply.text)
        value = figures.get("chrf")
        trouble = _trouble(figures)
        closeness = "There is no expected translation to compare with."
        if value is not None:
            closeness = f"chrF {value:.2f}, BLEU {figures['bleu']:.2f}, TER {figures['ter']:.2f}."
        numbers_changed = bool(figures["numbers"]["lost"] or figures["numbers"]["added"] or figures["units"]["lost"])
        return Score(
            name="translation",
            value=value,
            passed=False if self.strict_numbers and numbers_changed and value is not None else None,
            reason=" ".join([closeness, *trouble]),
            evidence=figures,
            measure=None if value is None else 100 * value,
            unit="" if value is None else "chrF",
        )


class NumbersKept(NamedTuple):
    """What became of the numbers of a text, each as it was written."""

    wanted: int
    lost: list[str]
    added: list[str]
    units_wanted: int
    units_lost: list[str]
    """Numbers that are there, with another unit or none."""


def compare_numbers(source: str, reference: str | None, reply: str) -> NumbersKept:
    """Numbers of the reference (without one: of the source) that the reply lost, and those that it made up.

    A number may be written as a word in the reply. A unit counts where its number is there.
    """
    wanted = read_quantities(source if reference is None else reference)
    found = read_quantities(reply)
    values = {each.value for each in found} | spoken_numbers(reply)
    known = {each.value for each in wanted} | {each.value for each in read_quantities(source)} | spoken_numbers(source)
    known |= spoken_numbers(reference or "")
    units = {(each.value, each.unit) for each in found}
    measured = [each for each in wanted if each.unit and each.value in values]
    return NumbersKept(
        len(_distinct(wanted)),
        [each.text for each in _distinct(wanted) if each.value not in values],
        [each.text for each in _distinct(found) if each.value not in known],
        len(measured),
        [each.text for each in measured if (each.value, each.unit) not in units],
    )


def untranslated_share(source: str, reference: str | None, reply: str) -> float | None:
    """The share of the reply's words that stand in the source as they are; None when the reply has no words.

    Not counted: numbers, names, and words that the reference leaves as they are too.
    """
    found = [word for word in words(reply) if not word.isnumeric()]
    if not found:
        return None
    allowed = set(words(reference or "")) | {word for name in names(source) for word in words(name)}
    left = set(words(source)) - allowed
    return sum(word in left for word in found) / len(found)


def _figures(source: str, reference: str | None, reply: str) -> dict[str, Any]:  # Any: JSON
    figures: dict[str, Any] = {}
    if reference is not None:
        wanted = words(reference)
        figures = {
            "chrf": chrf(reply, reference),
            "bleu": bleu(reply, reference),
            "ter": ter(reply, reference),
            "length_ratio": len(words(reply)) / len(wanted) if wanted else None,
        }
    kept = compare_numbers(source, reference, reply)
    figures["numbers"] = {
        "kept": _share(kept.wanted, len(kept.lost)),
        "wanted": kept.wanted,
        "lost": kept.lost,
        "added": kept.added,
    }
    figures["units"] = {
        "kept": _share(kept.units_wanted, len(kept.units_lost)),
        "wanted": kept.units_wanted,
        "lost": kept.units_lost,
    }
    wanted_names = _wanted_names(source, reference)
    lost = [name for name in wanted_names if not is_named(name, reply)]
    figures["names"] = {"kept": _share(len(wanted_names), len(lost)), "wanted": len(wanted_names), "lost": lost}
    figures["untranslated"] = untranslated_share(source, reference, reply)
    return figures


def _wanted_names(source: str, reference: str | None) -> list[str]:
    """Names of the source that the reference keeps; without capitals in the source, those of the reference."""
    found = names(source) or names(reference or "")
    return found if reference is None else [name for name in found if is_named(name, reference)]


def _share(wanted: int, lost: int) -> float | None:
    return 1 - lost / wanted if wanted else None


def _distinct(found: Sequence[Quantity]) -> list[Quantity]:
    """One of each number, in order."""
    by_value: dict[Decimal, Quantity] = {}
    for each in found:
        by_value.setdefault(each.value, each)
    return list(by_value.values())


def _trouble(figures: dict[str, Any]) -> list[str]:  # Any: JSON
    told = []
    for what, items in (
        ("Numbers lost", figures["numbers"]["lost"]),
        ("Numbers added", figures["numbers"]["added"]),
        ("Units lost", figures["units"]["lost"]),
        ("Names lost", figures["names"]["lost"]),
    ):
        if items:
            more = f" and {len(items) - SHOWN} more" if len(items) > SHOWN else ""
            told.append(f"{what}: {', '.join(items[:SHOWN])}{more}.")
    share = figures["untranslated"]
    if share:
        told.append(f"{share:.0%} of its words stand in the source as they are.")
    return told
