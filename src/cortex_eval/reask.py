"""A second look at critical cases that broke: they are asked again, so that chance is not taken for a fault."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cortex_eval import analysis
from cortex_eval.core import CRITICAL_TAG, RunRecord
from cortex_eval.storage import Store

if TYPE_CHECKING:
    from cortex_eval.analysis import Baseline, CaseFigures, GateSettings, SecondLook, StoredRun

TIMES = 2
"""How often such a case is asked again."""
MOST = 50
"""Cases that are asked again: where more broke at once, the rest will not change the verdict."""
_IS_CRITICAL = "c.tags LIKE ?"
_TAGGED = (f'%"{CRITICAL_TAG}"%',)


class Again(NamedTuple):
    """One more asking of a case."""

    ordinal: int
    repeat: int
    """Beyond the repeats of the run."""
    body: bytes
    """The case."""


def second_looks(store: Store, run: RunRecord, gate: GateSettings, baseline: Baseline | None) -> tuple[SecondLook, ...]:
    """The critical cases that broke, with the verdicts of asking again; those that passed again come first."""
    found = _broken(store, run, gate, baseline)
    if not found:
        return ()
    rows = store.results.read(run.id, with_cases=False, where=_IS_CRITICAL, parameters=_TAGGED, asked_again=True)
    again = analysis.case_figures(rows)
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


def cases_to_ask_again(store: Store, run: RunRecord, gate: GateSettings, baseline: Baseline | None) -> list[Again]:
    """Every further asking that the critical cases that broke are due, whether or not it has been done."""
    broken = list(_broken(store, run, gate, baseline))[:MOST]
    if not broken:
        return []
    rows = store.results.read(run.id, where=_IS_CRITICAL, parameters=_TAGGED)
    cases = {row.case_id: (row.ordinal, row.case_json or b"") for row in rows}
    return [
        Again(ordinal, run.repeats + time, body)
        for ordinal, body in map(cases.__getitem__, broken)
        for time in range(TIMES)
    ]


def _broken(
    store: Store, run: RunRecord, gate: GateSettings, baseline: Baseline | None
) -> dict[str, tuple[CaseFigures, str]]:
    """Critical cases that passed in the baseline, or else in the anchor, and failed here; with the name of that."""
    pasts = [(each.name, each.stored) for each in (baseline, baseline and baseline.anchor) if each is not None]
    known = [(name, stored) for name, stored in pasts if stored is not None]
    if not known:
        return {}
    now = _figures(store, run, with_cases=any(_is_other(stored, run) for _, stored in known))
    moment = run.started or run.created
    quarantined = {each.case for each in gate.quarantine if each.holds_at(moment)}
    failed = {
        name: each
        for name, each in now.items()
        if each.is_critical and each.verdict is False and name not in quarantined
    }
    found: dict[str, tuple[CaseFigures, str]] = {}
    for name, stored in known if failed else ():
        was = _figures(store, stored.run, with_cases=_is_other(stored, run))
        for case_id, each in failed.items():
            before = was.get(case_id)
            is_same = before is not None and (not before.fingerprint or before.fingerprint == each.fingerprint)
            if before is not None and is_same and before.verdict is True:
                found.setdefault(case_id, (each, name))
    return found


def _is_other(stored: StoredRun, run: RunRecord) -> bool:
    return stored.run.dataset.version != run.dataset.version


def _figures(store: Store, run: RunRecord, *, with_cases: bool) -> dict[str, CaseFigures]:
    rows = store.results.read(run.id, with_cases=with_cases, where=_IS_CRITICAL, parameters=_TAGGED)
    return analysis.case_figures(rows)
