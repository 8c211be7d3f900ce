"""Has a sentence the details of a checklist's item: its numbers, its *not*, its *left* and not *right*?"""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache

from cortex_eval.scoring.facts import missing_in_digits, numbers_of, opposed
from cortex_eval.scoring.negation import has_negation, is_content, tokens_of, verdict
from cortex_eval.scoring.quantities import read_quantities
from cortex_eval.scoring.quantities_changed import changed_amount
from cortex_eval.scoring.quantities_equal import as_written
from cortex_eval.scoring.words import words

_DIGIT_AND_LETTER = re.compile(r"(?<=\d)(?=[^\W\d_])")
_AT_LEAST = re.compile(r"\bat least \d+\b", re.IGNORECASE)
# What says *not* in another word.
_AGAINST_TEXT = """
    dangerous harmful contraindicated stop stops stopped refrain instead against risk risks risky bad wrong only unless
    rather less low free off until prevent prevents interact interacts interaction warn warns warning caution skip hold
"""
_AGAINST = frozenset(_AGAINST_TEXT.split())
_PREPOSITIONS_TEXT = "about at by during from in into of on through under via with within"
_BEFORE_NOUNS_TEXT = "a an any her his its my our that the their these this those your"
_PREPOSITIONS, _BEFORE_NOUNS = frozenset(_PREPOSITIONS_TEXT.split()), frozenset(_BEFORE_NOUNS_TEXT.split())


def spaced(text: str) -> str:
    """The text with its numbers apart from their units: *4g* is *4 g*."""
    return _DIGIT_AND_LETTER.sub(" ", text)


def as_in(item: str, sentence: str) -> str:
    """The sentence with its quantities as the item writes them: *4 g* for 4000 mg."""
    return as_written(spaced(sentence), (spaced(item),))


def has_details(item: str, sentence: str, reply: str) -> bool:
    """Whether a sentence that has the words of an item says the same, and not another number or the opposite."""
    said = verdict(item, [sentence])
    if said == "denies" or opposed(words(item), words(sentence)):
        return False
    if said == "is denied" and not _is_a_thing(item, sentence):
        return False
    if has_negation(item) and not _denies(sentence):
        return False
    return changed_amount(item, [sentence]) is None and _has_numbers(item, sentence, reply)


def _is_a_thing(item: str, sentence: str) -> bool:
    """Whether the item is something that is spoken of there: *the list* in *must not be in the list* is not denied."""
    first = next((word for word in tokens_of(item) if is_content(word)), "")
    said = [word for word in tokens_of(sentence) if word not in _BEFORE_NOUNS]
    return first in said and said[max(0, said.index(first) - 1)] in _PREPOSITIONS


def _has_numbers(item: str, sentence: str, reply: str) -> bool:
    """Whether the item's numbers in digits are there, or elsewhere while the sentence has no others of their kind."""
    missing = missing_in_digits(_without_counts(item), numbers_of([sentence]))
    if not missing:
        return True
    units = {each.unit for each in read_quantities(sentence)}
    has_others = any(each.unit in units for text in missing for each in read_quantities(text))
    return not has_others and not missing_in_digits(" , ".join(missing), _numbers_of(reply))


def _without_counts(item: str) -> str:
    """The item without what tells how much the reply must name: *at least 2 side effects*."""
    found = _AT_LEAST.search(item)
    if found is None or any(each.unit for each in read_quantities(item[found.start() :])[:1]):
        return item
    return _AT_LEAST.sub(" ", item)


def _denies(sentence: str) -> bool:
    said = words(sentence)
    return has_negation(sentence) or any(word in _AGAINST or word.startswith("un") for word in said)


@lru_cache(maxsize=16)  # every item of a checklist is looked for in one reply
def _numbers_of(reply: str) -> dict[Decimal, set[str | None]]:
    return numbers_of([reply])
