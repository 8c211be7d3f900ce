"""What became of single cases in the last runs of their suite."""

from __future__ import annotations

from dataclasses import replace

from made_plans import cases, plan_for

from cortex_eval.core import TargetError
from cortex_eval.engine import execute
from cortex_eval.past import appearances_of
from cortex_eval.storage import Store
from cortex_eval.targets import PythonTarget


async def test_the_worst_of_a_cases_repeats_counts_newest_run_first_and_only_where_it_was_played(store: Store):
    asked: list[str] = []

    def answer(query: str) -> str:
        asked.append(query)
        if query == "Question 2":
            raise TargetError("out of order")
        is_wrong = query == "Question 1" and asked.count(query) == 2
        return "Wrong" if is_wrong else query.replace("Question", "Answer")

    plan = plan_for(PythonTarget.of(answer), cases(3), repeats=2)
    first = await execute(plan, store)
    second = await execute(replace(plan, dataset=cases(2)), store)
    other = await execute(replace(plan, suite="other"), store)

    found = appearances_of(store, ["1", "2", "9"], suite="suite", last=5)

    assert other.run.id not in {each.run for seen in found.values() for each in seen}
    assert [(each.run, each.outcome) for each in found["1"]] == [(second.run.id, "passed"), (first.run.id, "failed")]
    assert [(each.run, each.target, each.outcome) for each in found["2"]] == [(first.run.id, "bot", "error")]
    assert found["9"] == []
    assert [len(seen) for seen in appearances_of(store, ["1"], suite="suite", last=1).values()] == [1]
    assert appearances_of(store, [], suite="suite", last=5) == {}
