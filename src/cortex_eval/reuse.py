"""What a run need not ask again: cases, target and scorers that are what they were in an earlier run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from cortex_eval import analysis
from cortex_eval.core import RunRecord
from cortex_eval.datasets import CaseRow
from cortex_eval.storage import Reused, Store


class Reuse(NamedTuple):
    """What is taken over from an earlier run, and what that rests on."""

    results: Reused | None
    """None: nothing."""
    described: Mapping[str, Any]
    """For the manifest: which run, how many cases of each kind, and why."""


def plan_reuse(
    store: Store,
    earlier: RunRecord,
    *,
    manifest: Mapping[str, Any],  # Any: JSON
    dataset: int | Iterable[CaseRow],
    ordinals: Sequence[int],
    repeats: int,
) -> Reuse:
    """What a new run of these cases can take over from an earlier one; `manifest` is the new run's.

    Replies are taken over when the target is known to be the same and the case is the same to the letter; verdicts
    too when the scorers are the same. A case that was not answered whole then is asked. `dataset` is a number in the
    store, or the rows of one that is not kept.
    """
    nothing = dict.fromkeys(("cases", "changed", "new", "unanswered"), 0)
    if why := analysis.target_changes(earlier.manifest, manifest):
        return Reuse(None, {"run": earlier.id, **nothing, "why": why})
    earlier_no, _, _ = store.runs.numbers(earlier.id)
    if isinstance(dataset, int):
        states = store.history.standing(earlier_no, dataset, repeats)
    else:
        states = store.history.standing_of(dataset, earlier_no, repeats)
    chosen = {ordinal: states.get(ordinal, "new") for ordinal in ordinals}
    same = [ordinal for ordinal, state in chosen.items() if state == "same"]
    why = analysis.scorer_changes(earlier.manifest, manifest)
    counts = {name: sum(state == name for state in chosen.values()) for name in ("changed", "new", "unanswered")}
    if not same:
        why = "no case of it is the same and was answered whole"
    described = {"run": earlier.id, "cases": len(same), **counts, "why": why}
    return Reuse(Reused(earlier_no, same, with_verdicts=not why) if same else None, described)
