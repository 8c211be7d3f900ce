"""What came before: the history of a suite and a target, how steady verdicts are, and history made elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from cortex_eval import analysis
from cortex_eval.core import RunRecord
from cortex_eval.storage import FinishedRun, OutsideRun, Store, now

if TYPE_CHECKING:
    from cortex_eval.analysis import PastRun, Report, Stability, Trend, TrendPoint

RUNS_LOOKED_BACK = 30
"""Runs in the trend of a report."""
WORST_FIRST: tuple[Literal["error", "pending", "failed", "passed"], ...] = ("error", "pending", "failed", "passed")


class Appearance(NamedTuple):
    """What became of a case in a run."""

    run: str
    target: str
    finished: str
    outcome: Literal["passed", "failed", "error", "pending"]
    """The worst of its turns and repeats; `pending`: it was not judged."""


class Kept(NamedTuple):
    """A run made elsewhere, and what became of it."""

    past: PastRun
    outcome: Literal["new", "richer", "known", "own"]
    """`richer`: more is known of it than before; `own`: it is a run of this store."""


def look_back(store: Store, report: Report, *, is_partial: bool = False) -> tuple[Stability | None, Trend]:
    """How steady the verdicts of this run are, and the runs that led to it: one query of what is kept of each."""
    run = report.run
    earlier = store.history.finished(suite=run.suite, target=run.target_name, before=run.id, limit=RUNS_LOOKED_BACK)
    points = [_point(each) for each in earlier]
    before = next((each for each, point in zip(earlier, points, strict=True) if point.is_whole), None)
    stability = _stability(store, run, before, {each.case_id for each in report.quarantine})
    finished = run.finished or now()
    status = run.status if is_partial else "completed"  # as it will be in a moment
    own = analysis.point_of_report(replace(report, stability=stability).to_dict(), finished=finished, status=status)
    outside = store.history.imported(suite=run.suite, target=run.target_name, until=finished, limit=RUNS_LOOKED_BACK)
    past = _in_order([*points, *_imported(outside)])[-RUNS_LOOKED_BACK + 1 :]
    return stability, analysis.Trend(suite=run.suite, target=run.target_name, points=(*past, own))


def _stability(
    store: Store, run: RunRecord, before: FinishedRun | None, set_aside: AbstractSet[str]
) -> Stability | None:
    """What is in quarantine counts here as little as anywhere else."""
    undecided = store.history.undecided_cases(run.id) - set_aside if run.repeats > 1 else None
    if before is None:
        return None if undecided is None else analysis.Stability(against="", compared=0, same=0, flaky=len(undecided))
    found = store.history.compare_verdicts(run.id, before.id, without=set_aside)
    was = before.summary["run"]["manifest"]
    is_same = before.summary["run"]["dataset"]["version"] == run.dataset.version
    is_same = is_same and not analysis.target_changes(was, run.manifest)
    is_same = is_same and not analysis.scorer_changes(was, run.manifest)
    flaky = undecided if not is_same else found.changed | (undecided or frozenset())
    return analysis.Stability(
        against=before.id,
        compared=found.compared,
        same=found.compared - len(found.changed),
        flaky=None if flaky is None else len(flaky),
    )


def appearances_of(store: Store, cases: Sequence[str], *, suite: str, last: int) -> dict[str, list[Appearance]]:
    """What became of these cases in the last finished runs of a suite, newest first."""
    found: dict[str, list[Appearance]] = {each: [] for each in cases}
    where = f"c.case_id IN ({','.join('?' * len(found))})"
    for run in store.history.finished(suite=suite, limit=last) if found else ():
        states: dict[str, set[str]] = {}
        for result in store.results.read(run.id, with_cases=False, where=where, parameters=list(found)):
            states.setdefault(result.case_id, set()).add(result.state.partition("_")[0])
        for case, seen in states.items():
            worst = next(each for each in WORST_FIRST if each in seen)
            found[case].append(Appearance(run.id, run.target, run.finished, worst))
    return found


def trends_of(store: Store, *, suite: str = "", target: str = "", last: int = RUNS_LOOKED_BACK) -> list[Trend]:
    """The last runs of every suite and target that the store knows, by name."""
    lines: dict[tuple[str, str], list[TrendPoint]] = {}
    for each in store.history.finished(suite=suite, target=target):
        lines.setdefault((each.suite, each.target), []).append(_point(each))
    for point in _imported(store.history.imported(suite=suite, target=target)):
        lines.setdefault((point.suite, point.target), []).append(point)
    return [
        analysis.Trend(suite=suite, target=target, points=tuple(_in_order(points)[-last:]))
        for (suite, target), points in sorted(lines.items())
    ]


def import_history(store: Store, files: Sequence[Path], *, suite: str = "", target: str = "") -> list[Kept]:
    """Keep the runs that these files tell of, all or none; the same file a second time changes nothing."""
    known = {each[:3]: analysis.past_run(each.body) for each in store.history.imported()}
    kept: dict[tuple[str, str, str], Kept] = {}
    for past in analysis.read_history(files, suite=suite, target=target):
        point = past.point
        place = (point.suite, point.target, point.run_id)
        there = kept[place].past if place in kept else known.get(place)
        if store.history.is_own(point.run_id):
            kept[place] = Kept(past, "own")
        elif there is None or past.wealth > there.wealth:
            kept[place] = Kept(past, "new" if place not in known else "richer")
        elif place not in kept:
            kept[place] = Kept(there, "known")
    fresh = [each.past for each in kept.values() if each.outcome in ("new", "richer")]
    points = [(past, past.point) for past in fresh]
    store.history.keep([OutsideRun(p.suite, p.target, p.run_id, p.finished, past.to_body()) for past, p in points])
    return list(kept.values())


def _point(run: FinishedRun) -> TrendPoint:
    return analysis.point_of_report(run.summary, finished=run.finished, status=run.status)


def _imported(runs: Sequence[OutsideRun]) -> list[TrendPoint]:
    """The points of imported runs, newest first; verdicts are compared with those of the imported run before."""
    past = [analysis.past_run(each.body) for each in runs]
    points = []
    for place, each in enumerate(past):
        same_line = (older for older in past[place + 1 :] if older.point.target == each.point.target)
        before = next((older for older in same_line if older.point.suite == each.point.suite), None)
        shared = each.verdicts.keys() & before.verdicts.keys() if before and each.point.stability is None else ()
        if before and shared:
            same = sum(each.verdicts[name] == before.verdicts[name] for name in shared)
            points.append(replace(each.point, stability=same / len(shared), compared=len(shared)))
        else:
            points.append(each.point)
    return points


def _in_order(points: Iterable[TrendPoint]) -> list[TrendPoint]:
    return sorted(points, key=lambda point: point.finished)
