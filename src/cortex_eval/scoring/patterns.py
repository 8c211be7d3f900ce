"""Patterns as people write them in rule files and checklists: compiled by RE2, so that a search takes linear time."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from cortex_eval.core import did_you_mean

_META = frozenset("\\^$.|?*+()[]{}")
_OUTSIDE = r"[^\p{L}\p{M}\p{N}]"
_QUOTES = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "\u00a0": " "})
_NAMED = re.compile(r"@\{(\w+)\}")
_NUKTA, _NASALS = "\u093c", "[\u0901\u0902]"
_MAY_HAVE_NUKTA = re.compile(f"([\u0915-\u0917\u091c\u0921\u0922\u092b]){_NUKTA}?")
_HINDI_CLASS = re.compile("\\[[^\\]]*[\u0900-\u0963]")


class PatternError(ValueError):
    """A pattern that does not compile, or that names a list which is not there."""


class Found(NamedTuple):
    """Where a pattern was found."""

    start: int
    end: int
    words: str
    """What matters of it: the first group, or all."""


class Pattern:
    """Some patterns as one; finds whichever comes first. Upper and lower case are the same."""

    __slots__ = ("_compiled",)

    def __init__(self, sources: Sequence[str]) -> None:
        self._compiled = _compile(tuple(sources))

    def finds(self, text: str) -> bool:
        """Whether any of them is in the text."""
        return self._compiled.search(text) is not None

    def first(self, text: str) -> Found | None:
        """The first place where one of them is."""
        return next(self._each(text), None)

    def spans(self, text: str) -> list[Found]:
        """Every place where one of them is, in order."""
        return list(self._each(text))

    def _each(self, text: str) -> Iterator[Found]:
        for match in self._compiled.finditer(text):
            words = next((group for group in match.groups() if group), match.group())
            yield Found(match.start(), match.end(), words)


def plain(text: str) -> str:
    """The text as patterns see it: in Unicode NFC, with straight quotes and no hard spaces."""
    return unicodedata.normalize("NFC", text).translate(_QUOTES)


def expand(sources: Sequence[str], lists: Mapping[str, Sequence[str]]) -> list[str]:
    """The patterns with `@name` replaced by the list of that name, and `@{name}` by any one of it."""
    return [each for source in sources for each in _expand(source, lists, ())]


def _expand(source: str, lists: Mapping[str, Sequence[str]], inside: tuple[str, ...]) -> list[str]:
    if source.startswith("@") and not source.startswith("@{"):
        return [
            each for one in _listed(source[1:], lists, inside) for each in _expand(one, lists, (*inside, source[1:]))
        ]
    pieces = _NAMED.split(source)  # text, name, text, name, … text
    for i in range(1, len(pieces), 2):
        one_of = [
            each for one in _listed(pieces[i], lists, inside) for each in _expand(one, lists, (*inside, pieces[i]))
        ]
        pieces[i] = f"(?:{'|'.join(one_of)})"
    return ["".join(pieces)]


def _listed(name: str, lists: Mapping[str, Sequence[str]], inside: tuple[str, ...]) -> Sequence[str]:
    if name in inside:
        raise PatternError(f"the list {name!r} stands for itself")
    if name not in lists:
        raise PatternError(f"there is no list {name!r}. {did_you_mean(name, list(lists))}")
    return lists[name]


@lru_cache(maxsize=1024)  # rules share their lists
def _compile(sources: tuple[str, ...]) -> Any:  # Any: re2 is untyped
    import re2  # linear time: rules come from files and replies from anywhere

    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    try:
        return re2.compile("|".join(map(_as_regex, sources)), options)
    except re2.error:
        pass
    for source in sources:  # one by one: an error must name its own pattern
        try:
            re2.compile(_as_regex(source), options)
        except re2.error as error:
            what = error.args[0] if error.args else error
            raise PatternError(what.decode() if isinstance(what, bytes) else str(what)) from None
    raise PatternError("the patterns are too large together")


def _in_any_spelling(source: str) -> str:
    """Hindi dots come and go: ज़रूरत is जरूरत, साँस is सांस; the text itself stays as it was written."""
    if _HINDI_CLASS.search(source):
        return source  # [कख]: what stands in brackets is single characters
    return re.sub(_NASALS, _NASALS, _MAY_HAVE_NUKTA.sub(rf"(?:\1{_NUKTA}?)", source))


def _as_regex(source: str) -> str:
    source = unicodedata.normalize("NFC", source)
    if _META.isdisjoint(source):  # a plain phrase: whole words of any script, spaces of any width
        phrase = r"\s+".join(map(_in_any_spelling, source.split()))
        return rf"(?:^|{_OUTSIDE})({phrase})(?:$|{_OUTSIDE})"
    return f"(?:{_in_any_spelling(source)})"
