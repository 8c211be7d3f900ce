"""Which classes are taken for which: the confusion matrix, and precision, recall and F1 of each class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cortex_eval.core import Result
from cortex_eval.stats import wilson

NO_LABEL = "(none)"
"""Where a reply gave no label, or none was to be given."""
OTHER = "(other)"
LABELS_KEPT = 500
"""Found labels kept apart per scorer: a target that invents a label for every case would fill the memory."""

Pairs = Mapping[tuple[str | None, str | None], int]
"""Results by expected and found label; None: no label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassFigures:
    """How one class fared; what is undefined is None."""

    expected: int
    found: int
    correct: int
    precision: float | None
    """None: it was never found."""
    recall: float | None
    """None: it was never expected."""
    f1: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Averages:
    """Means over the classes that were expected; a class that was never found is not in the precision."""

    precision: float | None
    recall: float
    f1: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Classified:
    """How one scorer's labels were found, over the results that it scored."""

    scored: int
    correct: int
    accuracy: float
    low: float
    high: float
    """The 95 % interval of the accuracy, results taken for independent."""
    macro: Averages
    """Every class counts the same."""
    weighted: Averages
    """Every class counts by how often it was expected."""
    classes: Mapping[str, ClassFigures]
    confusion: Mapping[str, Mapping[str, int]]
    """Expected label → found label → results; what never came is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MistakenPair:
    """One label that was taken for another, and how often."""

    expected: str
    found: str
    count: int
    of: int
    """Results that expected the first."""
    low: float
    high: float
    """The 95 % interval of the share that was confused."""


class Confusions:
    """Notes the labels of each result that goes by; only counts are kept."""

    def __init__(self) -> None:
        self._pairs: dict[str, Counter[tuple[str | None, str | None]]] = {}
        self._labels: dict[str, set[str]] = {}

    def note(self, row: Result, scores: Mapping[str, dict[str, Any]], reply: object = None) -> None:  # noqa: ARG002
        """Add one result: those of its scores whose evidence has an expected and a found label."""
        if b'"expected_label"' not in row.scores_json:
            return
        for name, score in scores.items():
            evidence = score.get("evidence")
            if score.get("value") is None or not isinstance(evidence, Mapping) or "expected_label" not in evidence:
                continue
            expected, found = evidence["expected_label"], evidence.get("found_label")
            if all(label is None or isinstance(label, str) for label in (expected, found)):
                self._pairs.setdefault(name, Counter())[expected, self._kept(name, expected, found)] += 1

    def summed(self) -> dict[str, Classified]:
        """The figures of every scorer that gives labels."""
        return {name: classify(pairs) for name, pairs in self._pairs.items()}

    def _kept(self, name: str, expected: str | None, found: str | None) -> str | None:
        if found is None or found == expected:
            return found
        labels = self._labels.setdefault(name, set())
        if found not in labels and len(labels) >= LABELS_KEPT:
            return OTHER
        labels.add(found)
        return found


def classify(pairs: Pairs) -> Classified:
    """The figures of these counts, of which there must be at least one."""
    scored = sum(pairs.values())
    correct = sum(count for (expected, found), count in pairs.items() if expected == found)
    interval = wilson(correct, scored)
    assert interval is not None, "there is something to classify"
    expected_counts, found_counts, right = Counter[str](), Counter[str](), Counter[str]()
    confusion: dict[str, dict[str, int]] = {}
    named = Counter[tuple[str, ...]]()
    for pair, count in pairs.items():
        named[tuple(NO_LABEL if each is None else each for each in pair)] += count  # a label may be spelt so too
    for (expected, found), count in sorted(named.items()):
        expected_counts[expected] += count
        found_counts[found] += count
        right[expected] += count if found == expected else 0
        confusion.setdefault(expected, {})[found] = count
    # No label is a class only where it was to be given.
    names = [*sorted(expected_counts), *sorted(found_counts.keys() - expected_counts.keys() - {NO_LABEL})]
    classes = {name: _figures(expected_counts[name], found_counts[name], right[name]) for name in names}
    real = [each for each in classes.values() if each.expected]
    return Classified(
        scored=scored,
        correct=correct,
        accuracy=correct / scored,
        low=interval.low,
        high=interval.high,
        macro=_averages(real, [1] * len(real)),
        weighted=_averages(real, [each.expected for each in real]),
        classes=classes,
        confusion=confusion,
    )


def mistaken_pairs(found: Classified, *, limit: int = 5) -> list[MistakenPair]:
    """The most frequent mistakes, each beside how often the label was expected."""
    pairs = [
        (count, expected, taken)
        for expected, row in found.confusion.items()
        for taken, count in row.items()
        if taken != expected
    ]
    shown = []
    for count, expected, taken in sorted(pairs, key=lambda each: (-each[0], each[1:]))[:limit]:
        of = found.classes[expected].expected
        interval = wilson(count, of)
        assert interval is not None, "this label was expected at least once"
        shown.append(
            MistakenPair(expected=expected, found=taken, count=count, of=of, low=interval.low, high=interval.high)
        )
    return shown


def classified(results: Iterable[Result]) -> dict[str, Classified]:
    """The same figures by scorer, of any results."""
    found = Confusions()
    for result in results:
        found.note(result, result.scores)
    return found.summed()


def _figures(expected: int, found: int, correct: int) -> ClassFigures:
    return ClassFigures(
        expected=expected,
        found=found,
        correct=correct,
        precision=correct / found if found else None,
        recall=correct / expected if expected else None,
        f1=2 * correct / (expected + found),
    )


def _averages(classes: list[ClassFigures], weights: list[int]) -> Averages:
    def mean(pairs: list[tuple[float, int]]) -> float | None:
        total = sum(weight for _, weight in pairs)
        return sum(value * weight for value, weight in pairs) / total if total else None

    both = list(zip(classes, weights, strict=True))
    recall = mean([(each.recall, weight) for each, weight in both if each.recall is not None])
    f1 = mean([(each.f1, weight) for each, weight in both])
    assert recall is not None, "every one of these classes was expected"
    assert f1 is not None, "every one of these classes was expected"
    precision = mean([(each.precision, weight) for each, weight in both if each.precision is not None])
    return Averages(precision=precision, recall=recall, f1=f1)
