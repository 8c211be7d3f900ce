"""A second look at critical cases that broke: they are asked again, so that chance is not taken for a fault."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from cortex_eval import analysis
from cortex_eval.core import Result, RunRecord
from cortex_eval.storage import Store

if TYPE_CHECKING:
    from cortex_eval.analysis import Baseline, CaseFigures, GateSettings, SecondLook, StoredRun

TIMES = 2
"""How often such a case is asked again."""
MOST = 50
"""Cases that are asked again: where more broke at once, the rest will not change the verdict."""
_FAILED = """EXISTS (SELECT 1 FROM cortex_results f
    WHERE f.run_no=r.run_no AND f.ordinal=r.ordinal AND f.state='failed')"""
"""Every result of the cases of which one failed."""
_READ_AT_ONCE = 500


class Again(NamedTuple):
    """One more asking of a case."""

    ordinal: int
    repeat: int
    """Beyond the repeats of the run."""
    body: bytes
    """The case."""

    @property
    def place(self) -> tuple[int, int]:
        """Where its result goes."""
        return self.ordinal, self.repeat


def second_looks(store: Store, run: RunRecord, gate: GateSettings, baseline: Baseline | None) -> tuple[SecondLook, ...]:
    """The critical cases that broke, with the verdicts of asking again; those that passed again come first."""
    found = _broken(store, run, gate, baseline)
    if not found:
        return ()
    again = analysis.case_figures(store.results.read(run.id, with_cases=False, asked_again=True))
    looks = [
        analysis.SecondLook(
            case_id=case_id,
            category=each.category,
            against=against,
            passes=again[case_id].passes if case_id in again else (),
        )
        for case_id, (each, against) in found.items()
    ]
    return tuple(sorted(looks, key=lambda each: each.is_broken))


def cases_to_ask_again(
    store: Store,
    run: RunRecord,
    gate: GateSettings,
    baseline: Baseline | None,
    there: Container[tuple[int, int]],
) -> list[Again]:
    """Every further asking that the critical cases that broke are due, whether or not it has been done.

    A run that scores the replies of another one asks nobody: for it, those of which something is `there`.
    """
    broken = list(_broken(store, run, gate, baseline))[:MOST]
    if not broken:
        return []
    cases = {row.case_id: (row.ordinal, row.case_json or b"") for row in _results(store, run, broken, with_cases=True)}
    due = (
        Again(ordinal, run.repeats + time, body)
        for ordinal, body in map(cases.__getitem__, broken)
        for time in range(TIMES)
    )
    may_ask = run.manifest.get("parent") is None
    return [each for each in due if may_ask or each.place in there]


def _broken(
    store: Store, run: RunRecord, gate: GateSettings, baseline: Baseline | None
) -> dict[str, tuple[CaseFigures, str]]:
    """Critical cases that passed in the baseline, or else in the anchor, and failed here; with the name of that.

    They are those of `breaks_what_is_critical`, as in `cortex compare`.
    """
    pasts = [(each.name, each.stored) for each in (baseline, baseline and baseline.anchor) if each is not None]
    known = [(name, stored) for name, stored in pasts if stored is not None]
    if not known:
        return {}
    rows = store.results.read(run.id, with_cases=any(_is_other(stored, run) for _, stored in known), where=_FAILED)
    now = analysis.case_figures(rows, critical_scorers=analysis.critical_scorers(run))
    moment = run.started or run.created
    quarantined = {each.case for each in gate.quarantine if each.holds_at(moment)}
    failed = {
        name: each
        for name, each in now.items()
        if (each.is_critical or each.fails_critical) and each.verdict is False and name not in quarantined
    }
    found: dict[str, tuple[CaseFigures, str]] = {}
    for name, stored in known if failed else ():
        rows = _results(store, stored.run, failed, with_cases=_is_other(stored, run))
        was = analysis.case_figures(rows, critical_scorers=analysis.critical_scorers(stored.run))
        other = analysis.unlike(stored.run, run)
        for before, each in analysis.same_cases(was, failed):
            if analysis.breaks_what_is_critical(before, each, other):
                found.setdefault(each.case_id, (each, name))
    return {case_id: found[case_id] for case_id in failed if case_id in found}


def _is_other(stored: StoredRun, run: RunRecord) -> bool:
    return stored.run.dataset.version != run.dataset.version


def _results(store: Store, run: RunRecord, case_ids: Iterable[str], *, with_cases: bool) -> Iterator[Result]:
    """The results of these cases."""
    wanted = list(case_ids)
    for start in range(0, len(wanted), _READ_AT_ONCE):
        some = wanted[start : start + _READ_AT_ONCE]
        where = f"c.case_id IN ({','.join('?' * len(some))})"
        yield from store.results.read(run.id, with_cases=with_cases, where=where, parameters=some)
