"""Intents as people wrote them: scorers compare them in one spelling, and nobody can search a dataset for that."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import orjson

from cortex_eval.analysis.patterns_replay import Key

if TYPE_CHECKING:
    from cortex_eval.analysis.classification import Classified
    from cortex_eval.analysis.coverage import Coverage

LABELLED = ("intent_confusion", "pair")
"""Types of faults whose names end in an expected and a found intent."""
_SEPARATORS = re.compile(r"[\s\-\u2010-\u2015_\u203f\u2040./:\\]+")


def one_spelling(name: str) -> str:
    """The name as the scorer of intents compares it: *data-search*, *Data Search* → `DATA_SEARCH`."""
    return _SEPARATORS.sub("_", unicodedata.normalize("NFKC", name).upper()).strip("_")


def stated_intent(reply: bytes | None) -> str:
    """The intent in a stored reply, as the target spelt it; empty: none."""
    if reply is None or b'"intent"' not in reply:
        return ""
    intent = orjson.loads(reply).get("intent")
    return intent if isinstance(intent, str) else ""


def written_names(in_dataset: Iterable[str], stated: Mapping[str, str]) -> dict[str, str]:
    """The spelling of each intent: that of the dataset, the commonest if there are several, else the target's."""
    spellings: dict[str, Counter[str]] = {}
    for name in in_dataset:
        spellings.setdefault(one_spelling(name), Counter())[name] += 1
    return {**stated, **{plain: max(sorted(each), key=each.__getitem__) for plain, each in spellings.items()}}


def respelt(key: Key, names: Mapping[str, str]) -> Key:
    """The name of a fault with its intents as they were written."""
    if key[0] not in LABELLED:
        return key
    return (*key[:2], *(names.get(label, label) for label in key[2:]))


def respelt_details(details: Counter[str], names: Mapping[str, str]) -> Counter[str]:
    """The same of what is counted beside faults, such as `FINES → LOANS`."""
    found: Counter[str] = Counter()
    for detail, count in details.items():
        found[" → ".join(names.get(part, part) for part in detail.split(" → "))] += count
    return found


def respelt_classes(
    found: Mapping[str, Classified], coverage: Coverage | None, stated: Mapping[str, str], kinds: Mapping[str, str]
) -> dict[str, Classified]:
    """The figures by class of every scorer, those of intents under the names that the dataset has for them.

    `stated` are the target's own names for others; `kinds` those of the scorers.
    """
    known = coverage.rows if coverage is not None and coverage.by == "intent" else ()
    names = written_names(known, stated)
    return {
        scorer: _renamed(each, names) if kinds.get(scorer, scorer) == "intent" else each
        for scorer, each in found.items()
    }


def _renamed(found: Classified, names: Mapping[str, str]) -> Classified:
    return replace(
        found,
        classes={names.get(name, name): figures for name, figures in found.classes.items()},
        confusion={
            names.get(name, name): {names.get(other, other): count for other, count in row.items()}
            for name, row in found.confusion.items()
        },
    )
