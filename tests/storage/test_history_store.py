"""What trends and reuse rest on is the same on both databases."""

from __future__ import annotations

import pytest
from made_runs import PASSED, begin, play, states

from cortex_eval.core import Case, Failure, Reply
from cortex_eval.datasets import cases_from
from cortex_eval.scoring import Judged
from cortex_eval.storage import OutsideRun, Reused, Slot, Store, this_process

FAILED = Judged("failed", 0.0, False, b"{}", None)


async def judged(store: Store, verdicts: str, *, repeats: int = 1, **summary: object) -> str:
    """A finished run with a verdict per case and repeat: p passed, f failed, e no reply."""
    count = len(verdicts) // repeats
    dataset_no, _ = store.datasets.keep("d", cases_from([Case.of(f"Question {n}", id=f"c{n}") for n in range(count)]))
    run = store.runs.create(
        suite="s", target=("bot", "http", None), dataset_no=dataset_no, ordinals=range(count), repeats=repeats,
        manifest={}, owner=this_process(),
    )  # fmt: skip
    run_no = store.runs.numbers(run)[0]
    for place, verdict in enumerate(verdicts):
        slot = Slot(run_no, place % count, place // count, 0, 0)
        if verdict == "e":
            await store.results.save_error(slot, Failure("timeout", "no answer"), attempts=1)
            continue
        await store.results.save_reply(slot, Reply(text=verdict))
        store.results.save_verdict(slot, PASSED if verdict == "p" else FAILED)
    await store.flush(run)
    store.runs.finish(run, "completed", summary=summary)
    return run


async def test_verdicts_are_compared_where_both_runs_have_one(store: Store):
    before, after = await judged(store, "ppfe"), await judged(store, "pffpp")

    found = store.history.compare_verdicts(after, before)

    assert (found.compared, found.changed) == (3, {"c1"})


async def test_repeats_that_disagree_are_found_and_errors_are_no_verdict(store: Store):
    run = await judged(store, "pppf" + "pfef", repeats=2)

    assert store.history.undecided_cases(run) == {"c1"}


async def test_repeats_without_a_verdict_are_counted_by_case(store: Store):
    run_no = store.runs.numbers(await judged(store, "pepf" + "pfef" + "eppp", repeats=3))[0]

    assert store.history.unjudged(run_no, 3) == {"c0": 1, "c1": 1, "c2": 1}
    assert store.history.unjudged(run_no, 1) == {"c1": 1}


async def test_finished_runs_come_newest_first_and_before_a_given_one(store: Store):
    made = [await judged(store, "p", number=n) for n in range(3)]
    begin(store, 1)

    assert [each.id for each in store.history.finished(suite="s", target="bot")] == made[::-1]
    assert [each.summary["number"] for each in store.history.finished(before=made[2])] == [1, 0]
    assert len(store.history.finished(limit=2)) == 2
    assert store.history.finished(suite="other") == []


def test_imported_runs_are_kept_once_and_can_be_forgotten(store: Store):
    run = OutsideRun("s", "bot", "run_1", "2025-01-01T00:00:00.000+00:00", {"a": 1})
    later = run._replace(run_id="run_2", finished="2025-02-01T00:00:00.000+00:00")

    store.history.keep([run, later])
    store.history.keep([run._replace(body={"a": 2})])

    assert store.history.imported(suite="s") == [later, run._replace(body={"a": 2})]
    assert store.history.imported(until="2025-01-15") == [run._replace(body={"a": 2})]
    assert store.history.forget("run_1") == 1
    assert store.history.forget("run_1") == 0
    assert store.history.imported(target="bot") == [later]


def test_an_import_that_fails_on_the_way_leaves_nothing(store: Store):
    good = OutsideRun("s", "bot", "run_1", "2025-01-01", {"a": 1})

    with pytest.raises(TypeError):
        store.history.keep([good, good._replace(run_id="run_2", body={"a": object()})])

    assert store.history.imported() == []


async def test_results_of_unchanged_cases_are_taken_over_to_their_new_places(store: Store):
    first = begin(store, 3)
    await play(store, first, range(3))
    first_no = store.runs.numbers(first)[0]
    other = [Case.of("New", id="new"), Case.of("Question 2", id="c2"), Case.of("Other", id="c1")]
    dataset_no, _ = store.datasets.keep("d", cases_from(other))

    assert store.history.standing(first_no, dataset_no, 1) == {1: "same", 2: "changed"}
    assert store.history.standing(first_no, dataset_no, 2) == {1: "unanswered", 2: "changed"}
    for repeats in (1, 2):
        rows = cases_from(other).rows()
        kept = store.history.standing(first_no, dataset_no, repeats)
        assert store.history.standing_of(rows, first_no, repeats) == kept, "kept or not, cases stand the same"
    run = store.runs.create(
        suite="s", target=("bot", "http", None), dataset_no=dataset_no, ordinals=range(3), repeats=1, manifest={},
        owner=this_process(), reused=Reused(first_no, [1], with_verdicts=True),
    )  # fmt: skip

    assert states(store, run) == [(1, "passed", "Reply 2")]
    (result,) = store.results.read(run)
    assert (result.reused, result.cached, result.overall) == (True, True, 1.0)
