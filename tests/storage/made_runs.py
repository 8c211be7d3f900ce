"""Runs for store tests: begun in a moment, written to, counted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from cortex_eval.core import Case, Reply, StorageError
from cortex_eval.datasets import cases_from
from cortex_eval.scoring import Judged
from cortex_eval.storage import Slot, Store, this_process

PASSED = Judged("passed", 1.0, True, b'{"exact":{"value":1.0}}', None)


def begin(store: Store, cases: int = 3, *, owner: str = "") -> str:
    """A run over so many cases, held by this store."""
    dataset_no, _ = store.datasets.keep("d", cases_from([Case.of(f"Question {n}", id=f"c{n}") for n in range(cases)]))
    return store.runs.create(
        suite="s", target=("bot", "http", None), dataset_no=dataset_no, ordinals=range(cases), repeats=1, manifest={},
        owner=owner or this_process(),
    )  # fmt: skip


async def play(store: Store, run: str, ordinals: Iterable[int], *, at_once: int = 8) -> None:
    """Save a reply and a verdict for each case, some at a time, as the engine does."""
    run_no = (await asyncio.to_thread(store.runs.numbers, run))[0]  # waits when the database is away
    waiting = iter(ordinals)

    async def slot() -> None:
        for ordinal in waiting:
            place = Slot(run_no, ordinal, 0, 0, 0)
            await store.results.save_reply(place, Reply(text=f"Reply {ordinal}"))
            store.results.save_verdict(place, PASSED)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(slot())
    except* StorageError as errors:
        raise errors.exceptions[0] from None
    await store.flush(run)


def states(store: Store, run: str) -> list[tuple[int, str, str]]:
    """Every result of a run: its case, its state, its reply."""
    return [(each.ordinal, each.state, each.reply.text if each.reply else "") for each in store.results.read(run)]


def all_passed(cases: int) -> list[tuple[int, str, str]]:
    """What `states` gives when every case was played."""
    return [(n, "passed", f"Reply {n}") for n in range(cases)]


def elsewhere(store: Store, run: str, *, lease_s: float, owner: str = "elsewhere:1:1") -> None:
    """Make a run look as if a process on another host held it, with so much of its lease left."""
    clock = store._db.clock
    sql = f"UPDATE cortex_runs SET status='running', owner=?, epoch=epoch+1, lease_until={clock}+? WHERE id=?"
    store._db.change(lambda tx: tx.fetch(sql, (owner, lease_s, run)))
