"""What came of a run: its report, made from what the store holds, and the baseline that it may become."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cortex_eval import analysis, reports
from cortex_eval.core import InputError, RunRecord
from cortex_eval.sofar import See, SoFar
from cortex_eval.storage import Store

if TYPE_CHECKING:  # a run begins without them: what is used of `analysis` is imported when it is used
    from cortex_eval.analysis import Baseline, GateSettings, Report, StoredRun

ANCHOR = "anchor"
"""The name of a pinned baseline that every gate of its suite looks at without being told to."""


def find_baseline(
    store: Store,
    gate: GateSettings,
    suite: str,
    run: RunRecord | None = None,
    *,
    config: Path | str | None = None,
) -> Baseline | None:
    """What a run of this suite is held against; one that was asked for and is not there is an InputError.

    A run goes on without one that only the project file names. With a finished `run`, what that one was held against,
    though the baseline may have been made or moved since. `config` is the project file that was named, for the advice.
    """
    compared = run.summary if run is not None else {}
    config = config or (run.manifest.get("request", {}).get("config") if run is not None else None)
    if run is not None and run.is_settled and compared.get("baseline") is None:
        return None
    found = _named(store, gate.baseline, suite, compared.get("baseline"))
    if found is None and gate.baseline is not None and gate.auto is None and not gate.may_lack_baseline:
        raise _unknown(store, gate.baseline, suite, config)
    anchor = _named(store, gate.anchor, suite, compared.get("anchor"))
    if anchor is None and gate.anchor is not None and not gate.may_lack_baseline:
        raise _unknown(store, gate.anchor, suite, config)
    if gate.anchor is None and found is not None:
        kept = store.baselines.find(ANCHOR, suite)
        anchor = _named(store, ANCHOR, suite, compared.get("anchor")) if kept and kept.get("pinned") else None
    if found is None or anchor is None or found.name == anchor.name:
        return found or anchor
    is_same = found.run_id is not None and found.run_id == anchor.run_id
    return found if is_same else replace(found, anchor=anchor)


def _unknown(store: Store, name: str, suite: str, config: Path | str | None) -> InputError:
    names = [each.name for each in store.baselines.all() if each.suite == suite]
    there = f"There are: {', '.join(names)}." if names else "There are none yet."
    made = next((run.id for run in store.runs.all(limit=100, suite=suite) if run.status == "completed"), None)
    how = reports.with_project(f"cortex baseline set {made or 'RUN'} --name {name}", config)
    first = "" if made else ", after a run without --baseline"
    return InputError(f"There is no baseline {name!r} for {suite}. {there} Make it{first}: {how}.")


def _missing_notes(store: Store, gate: GateSettings, baseline: Baseline | None, run: RunRecord) -> Iterator[str]:
    """What the gate names and nobody had made yet."""
    is_there = baseline is not None and baseline.name == gate.baseline
    if gate.baseline is not None and not is_there and gate.auto is None:
        how = reports.with_config(f"cortex baseline set {run.id} --name {gate.baseline}", run)
        yield (
            f"There is no baseline {gate.baseline} for {run.suite} yet, so that this run was compared with nothing. "
            f"Make it the baseline: {how}"
        )
    if gate.anchor is not None and store.baselines.find(gate.anchor, run.suite) is None:
        how = reports.with_config(f"cortex baseline set RUN --name {gate.anchor} --anchor", run)
        yield f"There is no anchor {gate.anchor} for {run.suite} yet. Make one: {how}"


def _unanswered_notes(run: RunRecord) -> Iterator[str]:
    """That a run scores the replies of another one, which has not got them all."""
    if unanswered := run.manifest.get("unanswered"):
        asked = run.cases * run.repeats
        yield (
            f"Run {run.manifest['parent']}, whose replies these are, has none to {unanswered:,} of {asked:,} "
            f"{'cases' if run.repeats == 1 else 'askings'}: nothing of them was scored."
        )


def _named(store: Store, name: str | None, suite: str, then: Mapping[str, Any] | None) -> Baseline | None:
    """The baseline of this name as it is, or as it was when a run was compared with it."""
    if name is None:
        return None
    kept = store.baselines.find(name, suite)
    has_moved = then is not None and then["name"] == name and (kept or {}).get("run_id") != then["run_id"]
    if then is not None and has_moved and (stored := _stored(store, then["run_id"])) is not None:
        return replace(
            analysis.read_baseline(stored.run.summary, name=name), timestamp=then["timestamp"], stored=stored
        )
    if kept is None:
        return None
    baseline = analysis.read_baseline(kept, name=name)
    return replace(baseline, stored=_stored(store, baseline.run_id))


def _stored(store: Store, run_id: str | None) -> StoredRun | None:
    """The run of this very id, if it is in this store."""
    if run_id is None or not store.history.is_own(run_id):
        return None
    return analysis.StoredRun(
        store.runs.find(run_id),
        lambda with_cases: store.results.read(run_id, with_cases=with_cases),
        partial(store.results.read_at, run_id),
    )


def report_on(
    store: Store,
    run_id: str,
    gate: GateSettings,
    baseline: Baseline | None = None,
    *,
    is_partial: bool = False,
    see: See = None,
    so_far: SoFar | None = None,
) -> Report:
    """The report of a run as the store holds it, judged by a gate; `see` is shown every result on the way.

    `so_far` is what of it was summed up while it went on.
    """
    from cortex_eval.past import look_back
    from cortex_eval.reask import second_looks

    run = store.runs.find(run_id)
    is_partial = is_partial or bool(run.manifest.get("unanswered"))
    report = analysis.summarise(
        run,
        partial(store.results.read, run.id),
        sums=(so_far or SoFar(store, run, gate, see)).complete(),
        gate=gate,
        passing_threshold=run.manifest["passing_threshold"],
        baseline=baseline,
        second_looks=second_looks(store, run, gate, baseline) if baseline else (),
        is_partial=is_partial,
        read_at=partial(store.results.read_at, run.id),
    )
    stability, trend = look_back(store, report, is_partial=is_partial)
    notes = (*report.notes, *_missing_notes(store, gate, baseline, run), *_unanswered_notes(run))
    return replace(report, stability=stability, trend=trend, notes=notes)


def settled(store: Store, report: Report, gate: GateSettings) -> Report:
    """The report of a run that was just let go of, with the time of that; a release may be the baseline from now on."""
    run = store.runs.find(report.run.id)
    trend, finished = report.trend, run.finished or report.timestamp
    if trend is not None and trend.points:
        own = replace(trend.points[-1], finished=run.finished or trend.points[-1].finished)
        trend = replace(trend, points=(*trend.points[:-1], own))
    return move_baseline(store, replace(report, run=run, timestamp=finished, trend=trend), gate)


def name_run(store: Store, report: Report, name: str, *, is_pinned: bool = False) -> Mapping[str, Any]:  # Any: JSON
    """Make a completed run what later ones of its suite are held against; gives what is kept of it."""
    if report.run.status != "completed":
        raise InputError(f"Run {report.run.id} is {report.run.status}: only a completed run can be a baseline.")
    if unanswered := report.run.manifest.get("unanswered"):
        parent = report.run.manifest["parent"]
        how = " && ".join(
            reports.with_config(f"cortex {each} {parent}", report.run) for each in ("run --resume", "rescore")
        )
        raise InputError(
            f"Run {report.run.id} lacks {unanswered} replies that run {parent} had not got: only a whole run can be a "
            f"baseline. Ask for them and score it again: {how}"
        )
    if not report.metrics:
        raise InputError(f"Run {report.run.id} scored nothing: it cannot be a baseline.")
    return keep_baseline(store, name, report.run.suite, analysis.baseline_of(report), is_pinned=is_pinned)


def keep_baseline(
    store: Store, name: str, suite: str, document: Mapping[str, Any], *, is_pinned: bool = False
) -> Mapping[str, Any]:  # Any: JSON
    """Keep figures under a name; what is pinned is replaced only by what is to be pinned."""
    before = store.baselines.find(name, suite) or {}
    if before.get("pinned") and not is_pinned:
        raise InputError(
            f"{name!r} is the anchor of {suite} and stays where it is. Choose another --name, or move it with --anchor."
        )
    kept = {**document, "suite": suite, **({"pinned": True} if is_pinned else {})}
    run_id = analysis.read_baseline(document, name=name).run_id
    store.baselines.keep(name, suite, run_id, kept)
    return kept


def move_baseline(store: Store, report: Report, gate: GateSettings) -> Report:
    """Make a released run the baseline where the project asks for that; the report then says so.

    Only a whole run that the gate let through: never a sample, a partial one, or one that was only scored anew.
    """
    run = report.run
    release = run.manifest.get("release")
    is_whole = run.status == "completed" and run.cases == run.dataset.cases and run.manifest.get("parent") is None
    if gate.auto != "on-release" or gate.baseline is None or not release or not is_whole or report.exit_code != 0:
        return report
    told = f"This run is the baseline {gate.baseline} now: {release}."
    if (store.baselines.find(gate.baseline, run.suite) or {}).get("pinned"):
        told = f"The baseline {gate.baseline} is an anchor, and stays where it is though this is a release."
    else:
        keep_baseline(store, gate.baseline, run.suite, analysis.baseline_of(report))
    return replace(report, notes=(*report.notes, told))
