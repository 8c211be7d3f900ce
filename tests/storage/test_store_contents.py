"""Datasets, runs, results and baselines: kept whole or not at all, and found again."""

from __future__ import annotations

import re

import pytest

from cortex_eval.core import Case, Failure, InputError, Reply, Turn, to_json
from cortex_eval.datasets import cases_from
from cortex_eval.scoring import Judged
from cortex_eval.storage import Slot, Store, this_process
from cortex_eval.storage.owner import is_alive

CASES = [Case.of(f"Question {n}", id=f"c{n}", category="ab"[n % 2], tags=("t",)) for n in range(6)]


def keep(store: Store, cases=CASES, name: str = "d.jsonl") -> int:
    return store.datasets.keep(name, cases_from(cases))[0]


def begin(store: Store, *, dataset_no: int | None = None, suite: str = "s", owner: str = "", **fields) -> str:
    number = keep(store) if dataset_no is None else dataset_no
    return store.runs.create(
        suite=suite, target=("bot", "http", None), dataset_no=number, ordinals=[3, 1, 2], repeats=1, manifest={"a": 1},
        owner=owner or this_process(), **fields,
    )  # fmt: skip


def slot(store: Store, run: str, ordinal: int, *, turn: int = 0, attempt: int = 0) -> Slot:
    return Slot(store.runs.numbers(run)[0], ordinal, 0, turn, attempt)


PASSED = Judged("passed", 1.0, True, b'{"exact":{"value":1.0}}', None)


def test_the_same_content_under_the_same_name_is_kept_once(store):
    assert keep(store) == keep(store)
    assert keep(store, name="other.jsonl") != keep(store)
    assert keep(store, CASES[:3]) != keep(store)
    assert [(each.name, each.cases) for each in store.datasets.all()] == [
        ("d.jsonl", 3), ("other.jsonl", 6), ("d.jsonl", 6),
    ]  # fmt: skip


def test_a_dataset_with_a_mistake_in_it_leaves_nothing_behind(store):
    with pytest.raises(InputError):
        store.datasets.keep("d", cases_from([*CASES, CASES[0]]))

    assert store.datasets.all() == []


def test_cases_come_back_in_the_order_asked_for(store):
    number = keep(store)

    assert [ordinal for ordinal, _ in store.datasets.case_bodies(number, [4, 0, 2])] == [4, 0, 2]
    assert list(store.datasets.cases_of("d.jsonl")) == CASES
    assert [facts.category for facts in store.datasets.case_facts(number)] == list("ababab")


def test_an_unknown_dataset_offers_the_nearest_one(store):
    keep(store)

    with pytest.raises(InputError, match=r"no dataset 'd.json'. Did you mean 'd.jsonl'\?"):
        list(store.datasets.cases_of("d.json"))


def test_a_run_is_found_by_id_by_prefix_and_as_the_latest(store):
    first, second = begin(store), begin(store)

    assert store.runs.find(first).id == store.runs.find(first[:7]).id == first
    assert store.runs.find("latest").id == second
    assert store.runs.numbers(first)[2].tolist() == [3, 1, 2]
    assert [run.id for run in store.runs.all()] == [second, first]


def test_an_unknown_run_lists_what_there_is_and_a_prefix_of_two_is_refused(store, monkeypatch):
    with pytest.raises(InputError, match="There are no runs yet"):
        store.runs.find("latest")
    dataset = keep(store)
    ids = iter(["abcd0001", "abcd0002"])
    monkeypatch.setattr("secrets.token_hex", lambda _: next(ids))
    begin(store, dataset_no=dataset)
    begin(store, dataset_no=dataset)

    with pytest.raises(InputError, match="More than one run begins with 'abcd'"):
        store.runs.find("abcd")
    told = "There is no run 'zzz'. Newest first: abcd0002, abcd0001. All of them: cortex runs list."
    with pytest.raises(InputError, match=re.escape(told)):
        store.runs.find("zzz")
    with pytest.raises(InputError, match="Did you mean 'abcd0002'"):
        store.runs.find("abcde0002")


def test_an_unknown_run_names_the_newest_and_says_where_all_are(store, monkeypatch):
    dataset = keep(store)
    ids = iter([f"{9 - number}{number}ab" for number in range(8)])
    monkeypatch.setattr("secrets.token_hex", lambda _: next(ids))
    made = [begin(store, dataset_no=dataset) for _ in range(8)]

    with pytest.raises(InputError, match=r"The newest 5 are 27ab, 36ab, 45ab, 54ab, 63ab\. All of them: cortex runs"):
        store.runs.find("nope")
    assert len(made) == 8


async def test_f10_a_reply_saved_again_is_one_row_with_the_first_reply(store):
    run = begin(store)
    for text in ("first", "second"):
        await store.results.save_reply(slot(store, run, 1), Reply(text=text))

    assert [each.reply.text for each in store.results.read(run)] == ["first"]


async def test_a_verdict_completes_its_row_and_leaves_the_reply_alone(store):
    run = begin(store)
    await store.results.save_reply(slot(store, run, 1), Reply(text="Yes.", attempts=2, total_time_ms=5.0))
    (before,) = store.results.read(run)
    store.results.save_verdict(slot(store, run, 1), PASSED)
    await store.flush()
    (after,) = store.results.read(run)

    assert (before.state, before.passed, before.scores) == ("pending", None, {})
    assert (after.state, after.passed, after.overall, after.scores) == ("passed", True, 1.0, {"exact": {"value": 1.0}})
    assert (after.reply, after.timestamp, after.attempts, after.latency_ms) == (
        before.reply, before.timestamp, 2, 5.0,
    )  # fmt: skip


async def test_p05_only_the_last_attempt_is_read_and_the_earlier_one_stays(store):
    run = begin(store)
    await store.results.save_error(slot(store, run, 1), Failure("timeout", "too slow"), attempts=3)
    assert store.results.failed_cases(run) == ["c1"]
    await store.results.save_reply(slot(store, run, 1, attempt=1), Reply(text="Yes."))
    store.results.save_verdict(slot(store, run, 1, attempt=1), PASSED)
    await store.flush()

    (result,) = store.results.read(run)
    assert (result.attempt, result.state, result.error) == (1, "passed", None)
    assert store.results.failed_cases(run) == []
    number = store.runs.numbers(run)[0]
    assert store.results.stored_turns(number) == {(1, 0): {0: ("passed", 1)}}
    assert store._db.fetch("SELECT count(*) FROM cortex_results") == [(2,)]


async def test_results_are_read_by_case_repeat_and_turn_whatever_came_first(store):
    talk = Case(id="talk", turns=(Turn(text="one"), Turn(text="two")))
    run = begin(store, dataset_no=keep(store, [*CASES, talk]))
    for ordinal, turn in ((6, 1), (2, 0), (6, 0)):
        await store.results.save_reply(slot(store, run, ordinal, turn=turn), Reply(text=f"{ordinal}.{turn}"))

    results = list(store.results.read(run))
    assert [(each.case_id, each.turn, each.case.input) for each in results] == [
        ("c2", 0, "Question 2"), ("talk", 0, "one"), ("talk", 1, "two"),
    ]  # fmt: skip
    assert [each.case_json for each in store.results.read(run, with_cases=False)] == [None] * 3


async def test_deleting_a_run_deletes_its_results_and_nothing_else(store):
    first, second = begin(store), begin(store)
    for run in (first, second):
        await store.results.save_reply(slot(store, run, 1), Reply(text="Yes."))
        store.runs.pause(run)
    store.runs.delete(first)

    assert [run.id for run in store.runs.all()] == [second]
    assert len(list(store.results.read(second))) == 1
    assert store._db.fetch("SELECT count(*) FROM cortex_results") == [(1,)]
    assert store._db.fetch("SELECT count(*) FROM cortex_cases") == [(6,)]


def test_a_finished_run_has_no_owner_and_keeps_its_summary(store):
    run = begin(store)
    store.runs.finish(run, "completed", summary={"totals": {"errors": 0}}, exit_code=2, manifest={"b": 2})
    found = store.runs.find(run)

    assert (found.status, found.owner, found.exit_code, found.manifest) == ("completed", "", 2, {"b": 2})
    assert found.finished is not None
    assert found.is_settled


def test_the_owner_of_a_run_is_known_to_live_or_not():
    mine = this_process()

    assert is_alive(mine, is_leased=False)
    assert not is_alive("", is_leased=True)
    assert not is_alive("nonsense", is_leased=True)
    assert not is_alive(mine.rpartition(":")[0] + ":1", is_leased=True), "another process has that number now"
    assert is_alive("elsewhere:1:1", is_leased=True), "what another host does is known by its lease alone"
    assert not is_alive("elsewhere:1:1", is_leased=False)


def test_a_baseline_is_found_by_name_and_suite_and_the_newest_wins(store):
    store.baselines.keep("main", "a", None, {"n": 1})
    store.baselines.keep("main", "b", None, {"n": 2})
    store.baselines.keep("main", "a", None, {"n": 3})

    assert (store.baselines.find("main", "a"), store.baselines.find("main", "b")) == ({"n": 3}, {"n": 2})
    assert store.baselines.find("other") is None
    assert [row[:2] for row in store.baselines.all()] == [("main", "a"), ("main", "b")]


async def test_the_cache_gives_back_what_was_kept_last(store):
    for text in ("one", "two"):
        store.cache.keep("key", "reply", to_json(Reply(text=text)))
    await store.flush()

    assert store.cache.find("key") == b'{"text":"two"}'
    assert store.cache.find("other") is None
