"""A quick run against a real target: its report is about the whole dataset."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from made_plans import plan_for

from cortex_eval.analysis import GateSettings, Quarantined
from cortex_eval.core import Case
from cortex_eval.datasets import Selection, quick
from cortex_eval.engine import execute
from cortex_eval.storage import Store
from cortex_eval.targets import PythonTarget


def dataset() -> list[Case]:
    """40 easy cases that the bot gets right and 10 hard ones that it does not."""
    easy = [Case.of(f"Question {n}", f"Answer {n}", id=f"e{n}", category="easy", tier=1 + n % 2) for n in range(40)]
    return easy + [Case.of(f"Riddle {n}", f"Solution {n}", id=f"h{n}", category="hard") for n in range(10)]


async def test_a_quick_run_is_weighted_to_the_mix_that_its_manifest_states(store: Store):
    plan = plan_for(PythonTarget.of(lambda query: query.replace("Question", "Answer")), dataset())

    whole = await execute(plan, store)
    sample = await execute(replace(plan, selection=quick(Selection(seed=5))), store)

    assert sample.run.manifest["selection"]["strata"] == {
        "easy": {"of": 40, "chosen": 2},
        "hard": {"of": 10, "chosen": 2},
    }
    assert sample.totals.cases == 4
    assert sample.totals.pass_rate == pytest.approx(whole.totals.pass_rate) == pytest.approx(0.8)
    assert sample.trend is not None
    assert [(point.is_quick, point.is_partial, point.cases) for point in sample.trend.points] == [
        (False, False, 50),
        (True, False, 4),
    ]
    assert sample.trend.points[-1].finished == sample.run.finished
    assert sample.stability is not None
    assert (sample.stability.compared, sample.stability.same) == (4, 4)


async def test_a_trend_follows_the_runs_of_one_suite_and_target_and_says_how_steady_they_are(store: Store):
    answers = {"Question 1": "Answer 1"}
    target = PythonTarget.of(lambda query: answers.get(query, "?"))
    plan = plan_for(target, [Case.of(f"Question {n}", f"Answer {n}", id=str(n)) for n in range(4)], target_version="1")

    first = await execute(plan, store)
    answers["Question 2"] = "Answer 2"
    second = await execute(plan, store)
    other = await execute(replace(plan, target_name="else"), store)

    assert first.stability is None
    assert second.stability is not None
    assert (second.stability.against, second.stability.share, second.stability.flaky) == (first.run.id, 0.75, 1)
    assert [point.run_id for point in second.trend.points] == [first.run.id, second.run.id]
    assert [point.stability for point in second.trend.points] == [None, 0.75]
    assert len(other.trend.points) == 1
    kept = store.runs.find(second.run.id).summary
    assert "trend" not in kept, "each run keeps only what is its own"
    assert kept["stability"]["same"] == 3
    assert [point["run_id"] for point in second.to_dict()["trend"]["points"]] == [first.run.id, second.run.id]


async def test_changed_verdicts_of_a_target_that_may_have_changed_are_not_called_flaky(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)  # no clean commit says that the code is the same
    answers: dict[str, str] = {}
    target = PythonTarget.of(lambda query: answers.get(query, "?"))
    plan = plan_for(target, [Case.of("Question 1", "Answer 1", id="1")])

    await execute(plan, store)
    answers["Question 1"] = "Answer 1"
    second = await execute(plan, store)

    assert second.stability is not None
    assert (second.stability.same, second.stability.flaky) == (0, None)


async def test_cases_in_quarantine_are_not_among_the_verdicts_that_are_compared(store: Store):
    answers = {"Question 1": "Answer 1"}
    target = PythonTarget.of(lambda query: answers.get(query, "?"))
    cases = [Case.of(f"Question {n}", f"Answer {n}", id=str(n)) for n in range(4)]
    gate = GateSettings(quarantine=(Quarantined(case="2", reason="flaky"), Quarantined(case="1", reason="slow")))
    plan = plan_for(target, cases, target_version="1", gate=gate)

    await execute(plan, store)
    answers["Question 2"] = "Answer 2"
    second = await execute(plan, store)

    assert second.stability is not None
    assert (second.stability.compared, second.stability.same, second.stability.flaky) == (2, 2, 0)


async def test_repeats_of_a_case_in_quarantine_may_disagree(store: Store):
    told = iter(["Answer 1", "?"])
    gate = GateSettings(quarantine=(Quarantined(case="1", reason="flaky"),))
    cases = [Case.of("Q", "Answer 1", id="1")]

    report = await execute(plan_for(PythonTarget.of(lambda query: next(told)), cases, repeats=2, gate=gate), store)

    assert report.stability is not None
    assert report.stability.flaky == 0


async def test_repeats_that_disagree_are_flaky_in_the_first_run_already(store: Store):
    told = iter(["Answer 1", "?"])
    plan = plan_for(PythonTarget.of(lambda query: next(told)), [Case.of("Q", "Answer 1", id="1")], repeats=2)

    report = await execute(plan, store)

    assert report.stability is not None
    assert (report.stability.flaky, report.stability.share) == (1, None)
