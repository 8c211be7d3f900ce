"""Sample projects played as `cortex run` plays them, and what every one of them must hold to."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from importlib.resources import files
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from cortex_eval.config import Request, load_project, make_plans
from cortex_eval.core import Case, Result
from cortex_eval.datasets import Selection, read_cases
from cortex_eval.demo import copy_project, weaknesses_in
from cortex_eval.demo.listening import Listening
from cortex_eval.engine import execute
from cortex_eval.storage import Store
from cortex_eval.testing import one_in, status

TOO_ALIKE_IN_WORDS = 0.8
TOO_ALIKE_IN_MEANING = 0.95


class Played(NamedTuple):
    """What came of one suite."""

    results: list[Result]
    verdict: str

    @property
    def failed(self) -> set[str]:
        assert all(result.error is None for result in self.results)
        return {result.case_id for result in self.results if result.state != "passed"}

    def failed_by(self, scorer: str) -> set[str]:
        """The cases in which this scorer says 0."""
        return {result.case_id for result in self.results if result.scores[scorer].get("value") == 0}


async def play_suite(root: Path, suite: str, *, case_ids: Iterable[str] = (), at_once: int | None = None) -> Played:
    """A suite of the project in this folder, against whatever its variables name."""
    project = load_project(root / "cortex.yaml")
    selection = Selection(case_ids=tuple(case_ids))
    [plan] = make_plans(project, Request(suite=suite, selection=selection, at_once=at_once, is_offline=True))
    plan = replace(plan, patience=replace(plan.patience, retry_delay_s=0.01))  # nobody is in need of a rest
    with Store(root / f"{suite}.db") as store:
        report = await execute(plan, store)
        return Played(list(report.results), report.gate.verdict)


async def play_with_faults(root: Path, suite: str, service: Listening, *, case_ids: Iterable[str]) -> Played:
    """The same, one case at a time, while the sample service is unavailable at every second call."""
    assert service.service is not None
    service.service.reply = one_in(2, status(503, retry_after="0"), otherwise=service.answer)
    return await play_suite(root, suite, case_ids=case_ids, at_once=1)


def copied(name: str, folder: Path) -> Path:
    """A fresh copy of a sample project."""
    copy_project(name, folder / "project")
    return folder / "project"


def cases_of(name: str, dataset: str) -> list[Case]:
    return list(read_cases(Path(str(files("cortex_eval.demo") / "projects" / name / "datasets" / dataset))))


def weaknesses_of(name: str) -> str:
    return (files("cortex_eval.demo") / "projects" / name / "WEAKNESSES.md").read_text(encoding="utf-8")


def ids_in_row(text: str, number: int, ids: Iterable[str]) -> set[str]:
    """The cases that a row of a table of weaknesses names."""
    [row] = [each for each in weaknesses_in(text) if each.number == str(number)]
    return {*row.cases} & {*ids}


def too_alike_in_words(cases: Iterable[Case]) -> list[tuple[str, str]]:
    """Pairs of one category whose first questions are nearly the same set of words."""
    return [
        (one.id, other.id)
        for one, other in _pairs(cases)
        if len(_words(one) & _words(other)) / len(_words(one) | _words(other)) > TOO_ALIKE_IN_WORDS
    ]


def too_alike_in_meaning(cases: Iterable[Case]) -> list[tuple[str, str]]:
    """Pairs of one category, in English, whose first questions mean nearly the same to the house's embedder."""
    from cortex_eval.scoring.embedding import load_embedder

    english = [case for case in cases if case.language in (None, "en")]
    vectors = dict(zip((case.id for case in english), load_embedder().embed([c.input for c in english]), strict=True))
    return [
        (one.id, other.id)
        for one, other in _pairs(english)
        if float(vectors[one.id] @ vectors[other.id]) >= TOO_ALIKE_IN_MEANING
    ]


def _words(case: Case) -> set[str]:
    return set(re.findall(r"[\w\u0900-\u097f]+", case.input.lower()))


def _pairs(cases: Iterable[Case]) -> Iterable[tuple[Case, Case]]:
    by_category: dict[str | None, list[Case]] = defaultdict(list)
    for case in cases:
        by_category[case.category].append(case)
    for together in by_category.values():
        yield from combinations(together, 2)
