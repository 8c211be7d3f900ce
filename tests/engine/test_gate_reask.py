"""Critical cases that broke are asked twice more: broken every time is a regression, now and then is flaky."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace

import pytest
from made_plans import cases, plan_for, rows

from cortex_eval.analysis import GateSettings, Quarantined, baseline_of
from cortex_eval.control import Progress, Stop
from cortex_eval.core import changed
from cortex_eval.engine import execute
from cortex_eval.outcome import find_baseline, report_on
from cortex_eval.scoring import plan_scorer
from cortex_eval.testing import Answer, hang

GATE = GateSettings(baseline="main", thresholds={"pass_rate": 0.1})


def critical(count=8, tagged=(3,)):
    return [changed(case, tags=("critical",)) if n in tagged else case for n, case in enumerate(cases(count))]


def failing(numbers, *, recovers_at=None):
    """Right, but for these questions; from which time of asking on they are right again."""
    asked: dict[str, int] = {}

    def answer(call):
        query = call.json["query"]
        asked[query] = asked.get(query, 0) + 1
        is_wrong = int(query.split()[-1]) in numbers and (recovers_at is None or asked[query] < recovers_at)
        return {"text": "No." if is_wrong else query.replace("Question", "Answer")}

    return answer


async def played(store, bot, reply, asked=None, *, gate=GATE, **fields):
    bot.reply = reply
    return await execute(plan_for(bot.url, asked or critical(), gate=gate, **fields), store)


@pytest.fixture
async def bot(store, scripted_service):
    """A bot that answered every question right in the run that is the baseline."""
    service = scripted_service(failing(()))
    first = await played(store, service, failing(()), gate=GateSettings())
    store.baselines.keep("main", "suite", first.run.id, baseline_of(first))
    return service


def check(report, name):
    return next(each for each in report.gate.checks if each.name == name)


async def test_a_critical_case_that_stays_broken_is_a_regression(store, bot):
    before = len(bot.ledger)

    report = await played(store, bot, failing({3}))

    assert [each.json["query"] for each in bot.ledger[before:]].count("Question 3") == 3
    assert (report.gate.verdict, report.exit_code) == ("regressed", 1)
    (look,) = report.second_looks
    assert (look.case_id, look.passes, look.is_broken, look.against) == ("3", (False, False), True, "main")
    told = "a critical case that passed in main failed, 3 times of 3: 3"
    assert check(report, "regression.critical").reason == told


async def test_one_that_passes_when_it_is_asked_again_is_flaky_and_shown_first(store, bot):
    report = await played(store, bot, failing({3}, recovers_at=3))

    assert report.gate.verdict == "inconclusive"  # eight cases show nothing
    assert report.second_looks[0].passes in ((False, True), (True, False))
    flaky = check(report, "flaky")
    assert flaky.ok
    assert flaky.reason == "critical, failed, and passed when asked again: 3 (1 of 2)"
    after_limits = [each.name for each in report.gate.checks if each.name not in ("error_rate", "pass_rate")]
    assert after_limits[0] == "flaky"


async def test_a_critical_case_without_an_id_of_its_own_is_named_by_its_question(store, scripted_service):
    asked = [changed(case, id=f"{n:012x}", tags=("critical",)) for n, case in enumerate(cases(4))]
    service = scripted_service(failing(()))
    first = await played(store, service, failing(()), asked, gate=GateSettings())
    store.baselines.keep("main", "suite", first.run.id, baseline_of(first))

    broken = await played(store, service, failing({2}), asked)
    flaky = await played(store, service, failing({2}, recovers_at=2), asked)

    assert re.search(
        r"failed, 3 times of 3: “Question 2” \([0-9a-f]{12}\)$", check(broken, "regression.critical").reason
    )
    assert re.search(r": “Question 2” \([0-9a-f]{12}\) \(2 of 2\)$", check(flaky, "flaky").reason)


async def test_asking_again_is_kept_and_changes_no_figure(store, bot):
    report = await played(store, bot, failing({3}, recovers_at=2))

    kept = [row for row in rows(store, "run_no, ordinal, repeat, state") if row[0] == 2 and row[2] > 0]
    assert [row[1:] for row in kept] == [(3, 1, "passed"), (3, 2, "passed")]
    assert (report.totals.cases, report.totals.passed, report.totals.turns) == (8, 7, 8)
    assert [each.repeat for each in report.results] == [0] * 8
    again = report_on(store, report.run.id, GATE, find_baseline(store, GATE, "suite", report.run))
    assert (again.second_looks, again.gate) == (report.second_looks, report.gate)
    assert store.results.failed_cases(report.run.id) == ["3"]


async def test_neither_an_ordinary_case_nor_one_that_failed_before_is_asked_again(store, bot):
    before = len(bot.ledger)
    report = await played(store, bot, failing({1, 2}))
    assert len(bot.ledger) - before == 8
    assert report.second_looks == ()

    broken_long_ago = await played(store, bot, failing({3}), gate=GateSettings())
    store.baselines.keep("main", "suite", broken_long_ago.run.id, baseline_of(broken_long_ago))
    before = len(bot.ledger)
    assert (await played(store, bot, failing({3}))).second_looks == ()
    assert len(bot.ledger) - before == 8


async def test_a_case_that_was_tagged_only_after_the_baseline_is_asked_again_too(store, bot):
    report = await played(store, bot, failing({1, 3}), critical(tagged=(1,)))

    assert [(each.case_id, each.is_broken) for each in report.second_looks] == [("1", True)]
    assert report.gate.verdict == "regressed"


async def test_a_case_that_newly_fails_a_critical_scorer_is_as_good_as_tagged(store, scripted_service):
    service = scripted_service(failing(()))
    scored = {"scorers": (plan_scorer("exact", critical=True), "contains")}
    first = await played(store, service, failing(()), cases(8), gate=GateSettings(), **scored)
    store.baselines.keep("main", "suite", first.run.id, baseline_of(first))

    broken = await played(store, service, failing({3}), cases(8), **scored)
    flaky = await played(store, service, failing({3}, recovers_at=2), cases(8), **scored)

    assert [(each.case_id, each.passes) for each in broken.second_looks] == [("3", (False, False))]
    assert (broken.gate.verdict, broken.exit_code) == ("regressed", 1)
    assert [each.is_critical for each in broken.case_changes.newly_broken] == [True]
    assert flaky.second_looks[0].passes == (True, True)
    assert flaky.gate.verdict == "inconclusive"


async def test_a_critical_scorer_that_the_baseline_did_not_have_says_nothing_of_a_change(store, bot):
    strict = {"scorers": ("exact", plan_scorer("regex", settings={"pattern": "Answer [0-6]"}, critical=True))}

    report = await played(store, bot, failing(()), cases(8), **strict)

    assert [each.case_id for each in report.results if each.passed is False] == ["7"]
    assert (report.case_changes.newly_broken, report.second_looks) == ((), ())
    assert report.gate.verdict == "inconclusive"
    assert "cases do not pass and fail as in main: regex was added" in check(report, "scoring").reason


async def test_a_critical_case_that_only_a_changed_scorer_fails_is_not_asked_again_and_another_is(store, bot):
    stricter = ("exact", plan_scorer("regex", settings={"pattern": "Answer [0-5]"}, critical=True))
    looser = plan_scorer("regex", settings={"pattern": "Answer"}, critical=True)
    first = await played(store, bot, failing(()), gate=GateSettings(), scorers=("exact", looser))
    store.baselines.keep("main", "suite", first.run.id, baseline_of(first))

    report = await played(store, bot, failing({3}), critical(8, tagged=(3, 7)), scorers=stricter)

    assert [each.case_id for each in report.results if each.passed is False] == ["3", "6", "7"]
    assert [each.case_id for each in report.second_looks] == ["3"]
    assert (report.gate.verdict, report.exit_code) == ("regressed", 1)


async def test_without_a_baseline_nothing_is_asked_again(store, bot):
    before = len(bot.ledger)
    await played(store, bot, failing({3}), gate=GateSettings())
    assert len(bot.ledger) - before == 8


async def test_the_cache_does_not_answer_for_the_target(store, scripted_service):
    service = scripted_service(failing(()))
    first = await played(store, service, failing(()), target_version="1", gate=GateSettings())
    store.baselines.keep("main", "suite", first.run.id, baseline_of(first))
    await played(store, service, failing({3}), target_version="2", repeats=3, gate=GateSettings())
    before = len(service.ledger)

    report = await played(store, service, failing({3}), target_version="2")

    assert len(service.ledger) - before == 2, "everything but the second look is in the cache"
    assert report.second_looks[0].passes == (False, False)


async def test_a_call_that_fails_is_no_verdict_and_excuses_nothing(store, bot):
    wrong = failing({3})

    def dies_afterwards(call):
        asked = sum(each.json["query"] == "Question 3" for each in bot.ledger)
        return Answer(status=400, body=b"{}") if asked > 2 else wrong(call)

    report = await played(store, bot, dies_afterwards)

    assert report.totals.errors == 0
    assert report.second_looks[0].passes == ()
    assert report.gate.verdict == "regressed"


async def test_a_stop_during_the_second_look_leaves_it_for_the_resume(store, bot):
    wrong, stop = failing({3}), Stop(grace_s=0.0)
    asked = critical()

    def stops(call):
        if sum(each.json["query"] == "Question 3" for each in bot.ledger) == 3:  # the baseline's, this run's, again
            loop.call_soon_threadsafe(stop.request, "signal")
        return wrong(call)

    loop = asyncio.get_running_loop()
    bot.reply = stops
    plan = plan_for(bot.url, asked, gate=GATE, at_once=1)
    stopped = await execute(plan, store, stop=stop)
    assert stopped.run.status == "paused"
    assert stopped.gate.verdict == "error"
    bot.reply = wrong
    before, progress = len(bot.ledger), Progress()

    report = await execute(plan, store, resume=stopped.run.id, progress=progress)

    assert {each.json["query"] for each in bot.ledger[before:]} == {"Question 3"}
    assert report.second_looks[0].passes == (False, False)
    assert report.gate.verdict == "regressed"
    assert progress.done == progress.total == 10


async def test_a_case_in_quarantine_is_not_looked_at_again(store, bot):
    gate = replace(GATE, quarantine=(Quarantined(case="3", reason="the clock of the bot"),))
    before = len(bot.ledger)

    report = await played(store, bot, failing({3}), gate=gate)

    assert len(bot.ledger) - before == 8
    assert report.second_looks == ()
    assert [(each.case_id, each.outcome) for each in report.quarantine] == [("3", "failed")]


async def test_rescoring_uses_the_second_look_that_is_stored(store, bot):
    report = await played(store, bot, failing({3}, recovers_at=2))
    before = len(bot.ledger)

    rescored = await execute(plan_for(bot.url, critical(), gate=GATE), store, rescore=report.run.id)

    assert len(bot.ledger) == before
    assert rescored.second_looks[0].passes == (True, True)


async def test_rescoring_a_run_without_a_second_look_comes_to_its_end_without_one(store, bot):
    report = await played(store, bot, failing({3}), gate=GateSettings())
    before = len(bot.ledger)

    rescored = await execute(plan_for(bot.url, critical(), gate=GATE), store, rescore=report.run.id)

    assert len(bot.ledger) == before
    assert (rescored.run.status, "unanswered" in rescored.run.manifest) == ("completed", False)
    assert rescored.second_looks[0].passes == ()
    assert rescored.gate.verdict == "regressed"


async def test_second_looks_that_may_have_been_under_way_when_a_run_was_cut_off_are_marked(store, bot):
    wrong = failing({3, 5})
    bot.reply = lambda call: hang() if len(bot.ledger) >= 8 + 8 + 2 else wrong(call)
    plan = plan_for(bot.url, critical(tagged=(3, 5)), gate=GATE, at_once=1)
    run = asyncio.ensure_future(execute(plan, store))
    await bot.calls_arrived(8 + 8 + 2)  # the baseline's, this run's, one second look, and one in flight
    await store.flush()
    run.cancel()
    await asyncio.wait([run])
    bot.reply = wrong

    report = await execute(plan, store, resume=store.runs.all()[0].id)

    again = store.results.read(report.run.id, asked_again=True)
    marked = [(each.case_id, each.repeat) for each in again if each.reply.metadata.get("may_repeat")]
    assert marked == [("3", 2)]
    assert report.run.manifest["calls"]["may_repeat"] == 1


async def test_second_looks_that_cannot_have_begun_when_a_run_was_cut_off_are_not_marked(store, bot):
    wrong = failing({3})
    bot.reply = lambda call: hang() if len(bot.ledger) >= 8 + 8 else wrong(call)
    plan = plan_for(bot.url, critical(), gate=GATE, at_once=1)
    run = asyncio.ensure_future(execute(plan, store))
    await bot.calls_arrived(8 + 8)
    await store.flush()
    run.cancel()
    await asyncio.wait([run])
    bot.reply = wrong

    report = await execute(plan, store, resume=store.runs.all()[0].id)

    assert len(report.second_looks[0].passes) == 2
    assert report.run.manifest["calls"]["may_repeat"] == 1, "the last case, which was in flight"
    again = store.results.read(report.run.id, asked_again=True)
    assert not any(each.reply.metadata.get("may_repeat") for each in again)
