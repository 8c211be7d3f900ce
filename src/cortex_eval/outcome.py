"""What came of a run: its report, made from what the store holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from cortex_eval.analysis import Baseline, GateSettings, Report, read_baseline, summarise
from cortex_eval.core import InputError, Result
from cortex_eval.storage import Store


def find_baseline(store: Store, name: str | None, suite: str) -> Baseline | None:
    """The baseline of this name; a name that is not there is an InputError, before any case is asked."""
    if name is None:
        return None
    kept = store.baselines.find(name, suite)
    if kept is None:
        raise InputError(f"There is no baseline {name!r} for {suite}. Make one: cortex baseline set RUN --name {name}.")
    return read_baseline(kept, name=name)


def report_on(
    store: Store,
    run_id: str,
    gate: GateSettings,
    baseline: Baseline | None = None,
    *,
    is_partial: bool = False,
    see: Callable[[Result], None] | None = None,
) -> Report:
    """The report of a run as the store holds it, judged by a gate; `see` is shown every result on the way."""
    run = store.runs.find(run_id)
    results = partial(store.results.read, run.id)
    report = summarise(
        run,
        results if see is None else partial(_shown, results, see),
        gate=gate,
        passing_threshold=run.manifest["passing_threshold"],
        baseline=baseline,
        is_partial=is_partial,
    )
    return replace(report, open_results=results)


def _shown(results: Callable[[], Iterator[Result]], see: Callable[[Result], None]) -> Iterator[Result]:
    for result in results():
        see(result)
        yield result
