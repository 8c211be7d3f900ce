"""What WEAKNESSES.md of a sample project says will fail, and whether a run failed like that."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cortex_eval.core import InputError, Result

WEAKNESSES_FILE = "WEAKNESSES.md"
_SECTION = re.compile(r"^## ", re.MULTILINE)
_SUITE = re.compile(r"`cortex run ([\w-]+)`")
_TARGET = re.compile(r"(\w+): \d+ of \d+ fail$")
_CELLS = re.compile(r"(?<!\\)\|")
_ONLY_IN = re.compile(r"Version ([\d.]+) only:? ?")
_TITLE = re.compile(r"\*\*(.+?)\*\*")
_CASE = re.compile(r"`([\w-]+)`")


@dataclass(frozen=True, slots=True, kw_only=True)
class Weakness:
    """One row of a table: what is wrong, and the cases that fail because of it."""

    number: str
    """The first cell: a number, or the scorer that finds it."""
    title: str
    cases: tuple[str, ...]
    version: str | None = None
    """The only version of the service that has it; None: every one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What a run failed, beside what was planted."""

    found: tuple[tuple[str, int], ...]
    """Planted weaknesses by title, and how many of their cases failed; none that failed nothing."""
    not_listed: tuple[str, ...] = ()
    """Cases that failed though no row names them."""
    passed_anyway: tuple[str, ...] = ()
    """Cases that a row names, and that passed."""
    not_asked: tuple[str, ...] = ()
    """Cases that a row names, and that the run did not have."""
    in_error: tuple[str, ...] = ()

    @property
    def as_documented(self) -> bool:
        """Whether all that failed was planted, and all that was planted failed."""
        return not (self.not_listed or self.passed_anyway or self.not_asked or self.in_error)

    def differences(self) -> list[str]:
        """What is not as documented, a sentence each."""
        told = (
            (self.not_listed, f"failed, and {WEAKNESSES_FILE} does not list it"),
            (self.passed_anyway, f"passed, and {WEAKNESSES_FILE} says that it fails"),
            (self.not_asked, f"was not asked, and {WEAKNESSES_FILE} says that it fails"),
            (self.in_error, "has no result: the service or a scorer gave none"),
        )
        return [f"{case} {words}." for cases, words in told for case in cases]


def read_weaknesses(folder: Path, suite: str, target: str = "") -> list[Weakness]:
    """The rows that concern a suite and, where the page goes by targets, a target of it.

    A section concerns the suite that its heading runs (`cortex run rag`) or the target that it counts the failures of
    (`vanilla: 40 of 47 fail`); a page without such headings concerns every suite. The cases stand in the last cell.
    """
    path = folder / WEAKNESSES_FILE
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror}. It says which cases fail on purpose; copy the project anew into "
            "another folder with --output-dir."
        ) from error
    parts = _SECTION.split(text)
    headings = [part.partition("\n")[0] for part in parts]
    concerned = [_SUITE.findall(each) + _TARGET.findall(each) for each in headings]
    if any(concerned):
        parts = [part for part, names in zip(parts, concerned, strict=True) if {suite, target} & {*names}]
    return [row for part in parts for row in weaknesses_in(part)]


def weaknesses_in(text: str) -> Iterator[Weakness]:
    """The rows of all tables in a text that name a weakness and, in their last cell, cases."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in _CELLS.split(line)][1:-1]
        title = _TITLE.search(line)
        if len(cells) < 3 or not title or not (cases := _CASE.findall(cells[-1])):
            continue
        only = _ONLY_IN.search(line)
        words = _ONLY_IN.sub("", title[1]).replace("*", "'").rstrip(".:, ")
        yield Weakness(
            number=cells[0],
            title=words[:1].upper() + words[1:],
            cases=tuple(cases),
            version=only[1] if only else None,
        )


def compare_with_list(
    results: Iterable[Result], listed: Sequence[Weakness], *, version: str, is_sample: bool = False
) -> Findings:
    """What failed beside what was planted in this version; of a sample, cases that were not asked are no surprise.

    A case that no scorer could say anything about, such as one for an engine that is not installed, is none either.
    """
    asked: set[str] = set()
    failed: set[str] = set()
    passed: set[str] = set()
    in_error: set[str] = set()
    for result in results:
        asked.add(result.case_id)
        if result.state == "failed":
            failed.add(result.case_id)
        elif result.state != "passed":
            in_error.add(result.case_id)
        elif result.passed:
            passed.add(result.case_id)
    planted = [each for each in listed if each.version in (None, version)]
    named = dict.fromkeys(case for each in planted for case in each.cases)
    return Findings(
        found=tuple((each.title, hits) for each in planted if (hits := len(failed & {*each.cases}))),
        not_listed=tuple(sorted(failed - {*named})),
        passed_anyway=tuple(case for case in named if case in passed - failed - in_error),
        not_asked=() if is_sample else tuple(case for case in named if case not in asked),
        in_error=tuple(sorted(in_error - failed)),
    )
