"""Which cases a plan would ask and judge, and which it would take over from an earlier run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from cortex_eval.config import Plan
from cortex_eval.core import RunRecord
from cortex_eval.datasets import CaseRow
from cortex_eval.estimate.figures import Taken
from cortex_eval.manifest import describe_run, plain, read_rows
from cortex_eval.reuse import plan_reuse
from cortex_eval.scoring import PlannedScorer
from cortex_eval.storage import Store


class Work(NamedTuple):
    """What there is to do."""

    ordinals: Sequence[int]
    """Places of the chosen cases."""
    of: int
    """Cases in the dataset."""
    pairs: int
    """Cases that say something on their own: clusters, where cases belong to one."""
    repeats: int
    calls: int
    """To the target: one for each turn of a case that is asked."""
    longest: int
    """Turns of the longest conversation that is asked: one comes after the other."""
    kept: Kept | None
    """None: nothing is taken over."""
    taken: Taken | None
    """The same in figures, and why it is no more; None: the plan is not one since another run."""
    notes: tuple[str, ...]
    """What the reader of the dataset noted, such as columns that are probably misspelt."""

    def asked(self, ordinal: int) -> int:
        """How often the target is asked for each turn of a case."""
        return 0 if self.kept and ordinal in self.kept.unjudged else self.repeats

    def judged(self, ordinal: int, judge: PlannedScorer) -> int:
        """How often a judge is asked about each turn, or the end, of a case.

        One that is what it was has said its verdict on a reply that is taken over: it is kept, or in the cache.
        """
        if self.kept and ordinal in self.kept.unjudged and self.kept.judges.get(judge.name) == judge.fingerprint:
            return self.kept.unjudged[ordinal]
        return self.repeats


class Kept(NamedTuple):
    """What is taken over from an earlier run."""

    unjudged: Mapping[int, int]
    """Place of each case → how many of its repeats have no verdict there."""
    judges: Mapping[str, str]
    """Scorers of that run by name, with their fingerprints."""


def plan_work(plan: Plan, store: Store) -> Work:
    """The work of a plan; nothing is kept."""
    turns: list[int] = []
    clusters: dict[int, str] = {}
    reader = read_rows(plan.dataset)

    def counted() -> Iterator[CaseRow]:
        for row in reader.rows():
            turns.append(row.turns)
            if row.cluster_id is not None:
                clusters[row.ordinal] = row.cluster_id
            yield row

    chosen = plan.selection.choose(counted())
    pairs = len({clusters.get(ordinal, ordinal) for ordinal in chosen.ordinals})
    kept, taken = None, None
    if plan.changed_since is not None:
        kept, taken = _take_over(plan, store, store.runs.find(plan.changed_since), chosen.ordinals)
    work = Work(chosen.ordinals, chosen.total, pairs, plan.repeats, 0, 0, kept, taken, reader.notes)
    asked = [(turns[each], times) for each in chosen.ordinals if (times := work.asked(each))]
    calls, longest = sum(many * times for many, times in asked), max((many for many, _ in asked), default=0)
    return work._replace(calls=calls, longest=longest)


def _take_over(plan: Plan, store: Store, earlier: RunRecord, ordinals: Sequence[int]) -> tuple[Kept | None, Taken]:
    """What a run would take over, found as the run finds it."""
    chosen = set(ordinals)
    unjudged = store.history.unjudged(store.runs.numbers(earlier.id)[0], plan.repeats)
    without_verdict: dict[int, int] = {}

    def looked_up() -> Iterator[CaseRow]:
        for row in (row for row in read_rows(plan.dataset).rows() if row.ordinal in chosen):
            if row.id in unjudged:
                without_verdict[row.ordinal] = unjudged[row.id]
            yield row

    reuse = plan_reuse(
        store,
        earlier,
        manifest=plain(describe_run(plan, selection={}, parent=None)),
        dataset=looked_up(),
        ordinals=ordinals,
        repeats=plan.repeats,
    )
    kept = None
    if reuse.results is not None:
        scorers = earlier.manifest.get("scorers", {})
        kept = Kept(
            unjudged={ordinal: without_verdict.get(ordinal, 0) for ordinal in reuse.results.ordinals},
            judges={name: each.get("fingerprint", "") for name, each in scorers.items()},
        )
    unsettled = sum(map(bool, kept.unjudged.values())) if kept else 0
    return kept, Taken(**reuse.described, unjudged=unsettled)
