"""Entities as (key, value) pairs, and when two values written differently are the same."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple


class Pair(NamedTuple):
    """One entity, as it was written."""

    key: str
    """Names of nested mappings are joined by dots."""
    value: str


def flatten(entities: Mapping[str, Any] | None) -> list[Pair]:  # Any: JSON
    """The pairs of a mapping: each value of a list is a pair of its own; what has no value is no entity."""
    return list(dict.fromkeys(_pairs(entities or {}, "")))


def fold(text: str) -> str:
    """The text without differences of case, of spaces and of Unicode form."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


@lru_cache(maxsize=16_384)
def squeeze(text: str) -> str:
    """The text without differences of case, hyphens, spaces and apostrophes: *RNA-seq*, *RNA seq* and *RNAseq* are one.

    What parts two digits stays (2.5 is not 25, 1-2 is not 12), as do signs that mean something (CD4+, −5, C#).
    """
    text = unicodedata.normalize("NFKC", text).casefold()
    if not text.isascii():
        # Again after casefold, which may take composed letters apart; १२ is 12 in another script.
        text = "".join(str(unicodedata.digit(char, char)) for char in unicodedata.normalize("NFKC", text))
    for pattern, stands_for in _squeezing():
        text = pattern.sub(stands_for, text)
    return text.strip()


def squeeze_name(text: str) -> str:
    """A name of an intent, a tool or an entity in one spelling: *data-search*, *Data Search* → `DATA_SEARCH`."""
    pattern = _name_separators()
    name: str = pattern.sub("_", unicodedata.normalize("NFKC", text).upper())
    return name.strip("_")


def value_text(value: object) -> str:
    """A value of JSON as text: 8 and 8.0 are the same."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def numbers_in(text: str) -> list[str]:
    """The numbers of a text, in order."""
    found: list[str] = _numbers().findall(squeeze(text))
    return found


def _pairs(value: Any, key: str) -> Iterator[Pair]:  # Any: JSON
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from _pairs(each, f"{key}.{name}" if key else str(name))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _pairs(each, key)
    elif value is not None and (text := value_text(value).strip()):
        yield Pair(key, text)


@cache
def _squeezing() -> tuple[tuple[Any, str], ...]:  # Any: compiled patterns of `regex`, which has no public type
    import regex  # type: ignore[import-untyped]  # has no types; `re` knows no \p{M}

    parting = r"[\s\p{Pd}\p{Pc}]+"
    return (
        (regex.compile(r"\p{Cf}|['\"’‘“”`´]|[.,;:](?!\p{N})"), ""),
        (regex.compile(rf"(?<=[\p{{L}}\p{{M}}]){parting}(?=[\p{{L}}\p{{M}}\p{{N}}])"), ""),
        (regex.compile(rf"(?<=\p{{N}}){parting}(?=\p{{L}})"), ""),
        (regex.compile(r"\p{Pd}"), "-"),
        (regex.compile(r"\s+"), " "),
    )


@cache
def _name_separators() -> Any:  # Any: as above
    import regex

    return regex.compile(r"[\s\p{Pd}\p{Pc}./:\\]+")


@cache
def _numbers() -> Any:  # Any: as above
    import regex

    return regex.compile(r"\p{N}+(?:[.,]\p{N}+)*")
