"""Suites of the project as tests: played once in a session, whatever the number of tests and workers."""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path
from typing import NamedTuple

import pytest

from cortex_eval.analysis import Report
from cortex_eval.config import DEFAULT_FILES, Outline, Plan, Project, Request, load_project, make_plans, outline
from cortex_eval.core import CortexError, InputError, RunRecord, TargetError, did_you_mean
from cortex_eval.datasets import Selection
from cortex_eval.engine import execute
from cortex_eval.outcome import find_baseline, report_on
from cortex_eval.pytest_plugin.checks import CaseOutcome, outcomes
from cortex_eval.reports import verdict_words, visible
from cortex_eval.storage import Store

_SEVERAL = {"category", "tier", "tag", "language"}
"""What a mark may name one or several of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a mark asks for."""

    suite: str | None = None
    config: str | None = None
    service: str | None = None
    quick: bool = False
    category: tuple[str, ...] = ()
    tier: tuple[int, ...] = ()
    tag: tuple[str, ...] = ()
    language: tuple[str, ...] = ()
    limit: int | None = None
    repeat: int | None = None
    baseline: str | None = None
    fail_under: float | None = None

    def request(self) -> Request:
        """The same, as the command line would ask for it."""
        selection = Selection(
            categories=self.category, tiers=self.tier, tags=self.tag, languages=self.language, limit=self.limit
        )
        return Request(
            suite=self.suite,
            service=self.service,
            selection=selection,
            is_quick=self.quick,
            repeats=self.repeat,
            baseline=self.baseline,
            fail_under=self.fail_under,
        )

    def of_all_cases(self) -> Asked:
        """The same, of every case of the suite."""
        return replace(self, quick=False, category=(), tier=(), tag=(), language=(), limit=None)

    def asks_as(self, other: Asked) -> bool:
        """Whether a case gets the same reply and the same scores either way: neither choice nor gate matters to it."""
        mine, others = (replace(each.of_all_cases(), baseline=None, fail_under=None) for each in (self, other))
        return mine == others


class Played(NamedTuple):
    """A suite that was played in this session."""

    run_id: str
    plan: Plan
    project: Project
    is_whole: bool
    """Whether every case of the suite was chosen."""


OUTLINES = pytest.StashKey[dict[Asked, Outline]]()
SHARED = pytest.StashKey[dict[tuple[Asked, int, bool], tuple["Item", tuple[str, ...] | None]]]()
PLAYED = pytest.StashKey[dict[str, Played | CortexError]]()


class Item(NamedTuple):
    """What one test stands for."""

    asked: Asked
    place: int
    """Of the target among those of the suite."""
    case_id: str | None
    """None: all of them."""


def make_items(metafunc: pytest.Metafunc, mark: pytest.Mark) -> None:
    """One test per target, or per target and case where the test asks for `cortex_case`."""
    by_case = "cortex_case" in metafunc.fixturenames
    try:
        asked = read_mark(mark)
        found = _outline(metafunc.config, asked)
    except CortexError as error:
        raise pytest.Collector.CollectError(str(error)) from None
    several = len(found.services) > 1
    items, ids = [], []
    for place, service in enumerate(found.services):
        for case_id in found.case_ids if by_case else [None]:
            items.append(Item(asked, place, case_id))
            parts = [service if several or case_id is None else "", case_id or ""]
            ids.append("-".join(filter(None, parts)) or found.suite)
    fixture = "cortex_case" if by_case else "cortex_report"
    if fixture not in metafunc.fixturenames:
        metafunc.fixturenames.append(fixture)
    metafunc.parametrize(fixture, items, indirect=True, ids=ids)


def read_mark(mark: pytest.Mark) -> Asked:
    """What the mark says; raises InputError for what no suite has."""
    given = dict(mark.kwargs)
    given.pop("check", None)
    if mark.args:
        given.setdefault("suite", mark.args[0])
    known = [each.name for each in fields(Asked)]
    for name in given:
        if name not in known:
            raise InputError(f"pytest.mark.cortex has no {name!r}. {did_you_mean(name, [*known, 'check'])}")
    for name in _SEVERAL & given.keys():
        given[name] = (given[name],) if isinstance(given[name], str | int) else tuple(given[name])
    return Asked(**given)


def played_case(test: pytest.Item, item: object) -> CaseOutcome:
    """How the case of this test went; the suite is played when the first of its tests asks."""
    item = _marked(item)
    played = _played(test, item)
    with Store(played.project.store) as store:
        run = store.runs.find(played.run_id)
        found = outcomes(store.results.read(run.id, where="c.case_id=?", parameters=(item.case_id,)))
    test.user_properties.append(("cortex_run", _line(run, is_whole=played.is_whole)))
    if not found:
        raise TargetError(f"Case {item.case_id!r} was not played: run {run.id} is {run.status}. {visible(run.paused)}")
    test.user_properties.append(("cortex_score", found[0].score))
    return found[0]


@contextmanager
def played_report(test: pytest.Item, item: object) -> Iterator[Report]:
    """The report of the suite of this test; its results can be read while inside."""
    played = _played(test, _marked(item))
    gate = played.plan.gate
    with Store(played.project.store) as store:
        run = store.runs.find(played.run_id)
        baseline = find_baseline(store, gate, run.suite, run)
        test.user_properties.append(("cortex_run", _line(run, is_whole=played.is_whole)))
        yield report_on(store, run.id, gate, baseline, is_partial=run.status != "completed")


def judge(test: pytest.Function) -> None:
    """Fail a marked test whose case, or whose suite, did not pass; `check=False` leaves that to its body."""
    mark = test.get_closest_marker("cortex")
    asks_for = test.funcargs.keys()
    if mark is None or (not mark.kwargs.get("check", True) and asks_for & {"cortex_case", "cortex_report"}):
        return
    case, report = test.funcargs.get("cortex_case"), test.funcargs.get("cortex_report")
    if isinstance(case, CaseOutcome):
        if (said := case.complaint) is not None:
            pytest.fail(str(said), pytrace=False)
    elif isinstance(report, Report):
        _judge_report(report)
    else:  # the test asks for neither, and has nothing but its mark
        with played_report(test, test.callspec.params["cortex_report"]) as found:
            _judge_report(found)


def _judge_report(report: Report) -> None:
    if report.exit_code:
        words = verdict_words(report)
        steps = "\n".join(f"{step.label}: {step.command}" for step in words.steps)
        pytest.fail(f"{words.title.upper()}  {visible(words.sentence)}\n{steps}", pytrace=False)


def _marked(item: object) -> Item:
    if not isinstance(item, Item):
        raise InputError("cortex_case and cortex_report need the mark: @pytest.mark.cortex(suite='NAME').")
    return item


def _project(config: pytest.Config, asked: Asked) -> Project:
    """The project file of the folder that pytest works in, unless the mark names another."""
    root = config.rootpath
    if asked.config is None and root == Path.cwd():
        return load_project(keep_problems=True)
    if asked.config is not None:
        return load_project(root / asked.config, keep_problems=True)
    found = next((root / name for name in DEFAULT_FILES if (root / name).is_file()), root / DEFAULT_FILES[0])
    return load_project(found, keep_problems=True)


def _outline(config: pytest.Config, asked: Asked) -> Outline:
    known = config.stash.setdefault(OUTLINES, {})
    if asked not in known:
        known[asked] = outline(_project(config, asked), asked.request())
    return known[asked]


def _played(test: pytest.Item, item: Item) -> Played:
    """The run of this test's suite, which is carried out once: by the first test, of the first worker, that asks."""
    shared = test.config.stash.setdefault(SHARED, {})
    place = (item.asked, item.place, item.case_id is None)
    if place not in shared:  # a session of many cases is looked through once, not once for each of them
        found_item = _shared(test, item)
        shared[place] = found_item, _wanted(test, found_item)
    item, wanted = shared[place]
    key = hashlib.sha256(repr((astuple(item.asked), item.place, wanted)).encode()).hexdigest()[:16]
    known = test.config.stash.setdefault(PLAYED, {})
    if key not in known:
        try:
            known[key] = _play(test.config, item, wanted, key)
        except CortexError as error:
            known[key] = error  # told to every test of the suite, and tried only once
    found = known[key]
    if isinstance(found, CortexError):
        raise found
    return found


def _shared(test: pytest.Item, item: Item) -> Item:
    """The item whose run has the case of this one: a suite that some test looks at, or else every case asked for."""
    if item.case_id is None:
        return item
    suites = [each for each in _items(test.session) if each.case_id is None and each.place == item.place]
    whole = [each for each in suites if each.asked == each.asked.of_all_cases() and each.asked.asks_as(item.asked)]
    alike = [each for each in suites if each.asked == item.asked]
    return next(iter(whole + alike), item._replace(asked=item.asked.of_all_cases()))


def _wanted(test: pytest.Item, item: Item) -> tuple[str, ...] | None:
    """The cases that tests of this session ask for; None: all of them, or the suite as a whole."""
    if item.case_id is None:
        return None
    chosen = {
        each.case_id
        for each in _items(test.session)
        if each.case_id is not None and each.place == item.place and each.asked.of_all_cases() == item.asked
    }
    return None if chosen >= set(_outline(test.config, item.asked).case_ids) else tuple(sorted(chosen))


def _items(session: pytest.Session) -> Iterator[Item]:
    """What every test of this session stands for."""
    for test in session.items:
        params = getattr(getattr(test, "callspec", None), "params", {})
        yield from (each for each in params.values() if isinstance(each, Item))


def _play(config: pytest.Config, item: Item, wanted: tuple[str, ...] | None, key: str) -> Played:
    project = _project(config, item.asked)  # afresh: a fixture may have set its variables since
    plan = make_plans(project, item.asked.request())[item.place]
    if wanted is not None:
        gate = replace(plan.gate, baseline=None, anchor=None)
        plan = replace(plan, selection=Selection(case_ids=wanted, seed=plan.selection.seed), gate=gate)
    with _alone(config, key) as record, Store(project.store) as store:
        if record is not None and record.is_file():
            run_id = record.read_text("ascii")
        else:
            run_id = asyncio.run(execute(plan, store)).run.id
            if record is not None:
                record.write_text(run_id, "ascii")
    return Played(run_id, plan, project, wanted is None)


@contextmanager
def _alone(config: pytest.Config, key: str) -> Iterator[Path | None]:
    """Under xdist, one worker at a time; gives the file in which the first of them says what it played."""
    if not hasattr(config, "workerinput"):
        yield None
        return
    import fcntl

    # xdist gives each worker a folder of its own, and those of a session one parent.
    folder = Path(config.getoption("basetemp") or tempfile.mkdtemp()).parent
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"cortex-{key}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # let go when the file is closed, or its process dies
        yield folder / f"cortex-{key}.run"


def _line(run: RunRecord, *, is_whole: bool) -> str:
    """A run as the summary of a session shows it."""
    target = " ".join(filter(None, (run.target_name, run.target_version)))
    totals, gate = run.summary.get("totals", {}), run.summary.get("gate", {})
    parts = [str(gate["verdict"])] if is_whole and "verdict" in gate else []
    score = run.summary.get("metrics", {}).get("overall_score")
    if score:
        interval = "" if score["low"] is None else f" [{score['low']:.2f}, {score['high']:.2f}]"
        parts.append(f"score {score['mean']:.2f}{interval}")
    parts.append(f"{totals['passed']} of {totals['cases']} cases passed" if totals else run.status)
    return visible(f"{run.suite} on {target}: {', '.join(parts)} (run {run.id})")
