"""Expected beside actual: what differs is marked word by word, in any script."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from cortex_eval.reports.text import as_html

WORDS_COMPARED = 1_500
"""Longer texts are shown without marks: nobody reads them word by word."""
LEAST_IN_COMMON = 0.25
"""Of the longer text's words. Below it, nearly everything would be marked, which marks nothing."""

# Blanks and marks part words; nothing else does, so that Devanagari keeps its vowel signs. Scripts that write without
# blanks are compared sign by sign. 1,000.50 and don't are one word each. Blanks go with the word before them.
_MARKS = r".,;:!?()\[\]{}<>\"'“”‘’«»…।॥،؛؟、。！？"
_SIGNS = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORDS = re.compile(rf"^\s+|(?:[{_MARKS}]|[{_SIGNS}]|[^\s{_MARKS}{_SIGNS}]+(?:[.,:'’][^\s{_MARKS}{_SIGNS}]+)*)\s*")


class Marked(NamedTuple):
    """Two texts as HTML with their differences marked."""

    expected: str
    actual: str
    share: float
    """How much of the longer text the two have in common, in words."""


class Run(NamedTuple):
    """Some text that is the same in both, or is not."""

    text: str
    is_common: bool


def mark_differences(expected: str, actual: str) -> Marked | None:
    """Both texts with `ins` around what is missing and `del` around what was not expected.

    None: they are the same, are too long, or have too little in common for marks to help.
    """
    wanted, got = words_of(expected), words_of(actual)
    if max(len(wanted), len(got)) > WORDS_COMPARED:
        return None
    keys, others = _keys(wanted), _keys(got)
    if keys == others:
        return None
    pairs = common_places(keys, others)
    longest = max(sum(map(_is_word, keys)), sum(map(_is_word, others)), 1)
    share = sum(_is_word(keys[first]) for first, _ in pairs) / longest
    if share < LEAST_IN_COMMON:
        return None
    return Marked(
        "".join(_html(runs_of(wanted, {first for first, _ in pairs}), "ins")),
        "".join(_html(runs_of(got, {second for _, second in pairs}), "del")),
        share,
    )


def words_of(text: str) -> list[str]:
    """The text in pieces, words and marks with the blanks behind them; joined, they are the text."""
    return _WORDS.findall(text)


def common_places(first: Sequence[str], second: Sequence[str]) -> list[tuple[int, int]]:
    """The places of a longest common subsequence, in order."""
    # Hyyrö 2004, bit-parallel: a row of the table is one whole number, in which a 0 is where the length grows.
    masks: dict[str, int] = {}
    for place, word in enumerate(first):
        masks[word] = masks.get(word, 0) | 1 << place
    full = (1 << len(first)) - 1
    row, rows = full, []
    for word in second:
        matched = row & masks.get(word, 0)
        row = ((row + matched) | (row - matched)) & full
        rows.append(row)
    pairs = []
    left, right = len(first), len(second)
    while left and right:
        if rows[right - 1] >> (left - 1) & 1:
            left -= 1
        elif right > 1 and not rows[right - 2] >> (left - 1) & 1:
            right -= 1
        else:
            left, right = left - 1, right - 1
            pairs.append((left, right))
    return pairs[::-1]


def runs_of(words: Sequence[str], common: set[int]) -> Iterator[Run]:
    """The words joined to runs of what is common and what is not."""
    start = 0
    for place in range(1, len(words) + 1):
        if place == len(words) or (place in common) != (start in common):
            yield Run("".join(words[start:place]), start in common)
            start = place


def compare_values(expected: Any, actual: Any) -> tuple[str, str]:  # Any: whatever JSON holds
    """Two values as HTML, what differs marked: names whole, mappings key by key."""
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        wanted = [_pair(key, value, actual.get(key) == value, "ins") for key, value in expected.items()]
        got = [_pair(key, value, expected.get(key) == value, "del") for key, value in actual.items()]
        return ", ".join(wanted) or "nothing", ", ".join(got) or "nothing"
    if expected == actual:
        return as_html(plain(expected)), as_html(plain(actual))
    return f"<ins>{as_html(plain(expected))}</ins>", f"<del>{as_html(plain(actual))}</del>"


def plain(value: Any) -> str:  # Any: whatever JSON holds
    """A value as people write it: a list with commas, a mapping as `key = value`."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return ", ".join(f"{key} = {plain(each)}" for key, each in value.items()) or "nothing"
    if isinstance(value, list | tuple):
        return ", ".join(map(plain, value)) or "nothing"
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1_000 else f"{value:,.0f}"
    if value is None:
        return "nothing"
    return ("yes" if value else "no") if isinstance(value, bool) else orjson.dumps(value).decode()


def _pair(key: Any, value: Any, is_same: bool, tag: str) -> str:  # Any: whatever JSON holds
    shown = as_html(f"{key} = {plain(value)}")
    return shown if is_same else f"<{tag}>{shown}</{tag}>"


def _html(runs: Iterator[Run], tag: str) -> Iterator[str]:
    for run in runs:
        core = run.text.rstrip()
        if run.is_common or not core:
            yield as_html(run.text)
        else:  # the blanks behind it are not marked
            yield f"<{tag}>{as_html(core)}</{tag}>{as_html(run.text[len(core) :])}"


def _keys(words: Sequence[str]) -> list[str]:
    """What words are compared by: their case and how their letters are put together do not matter."""
    return [
        word.rstrip().lower() if word.isascii() else unicodedata.normalize("NFC", word.rstrip()).casefold()
        for word in words
    ]


def _is_word(key: str) -> bool:
    return key.isalnum() or any(map(str.isalnum, key))
