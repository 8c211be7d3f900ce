"""Gates over stored runs: what a run is held against, what a report made again says, and how a release moves it."""

from __future__ import annotations

import subprocess
from dataclasses import replace

import pytest
from made_plans import cases, plan_for, right

from cortex_eval.analysis import Allowance, GateSettings
from cortex_eval.cli.shown import gate_of, report_of
from cortex_eval.core import InputError
from cortex_eval.datasets import Selection
from cortex_eval.engine import execute
from cortex_eval.outcome import ANCHOR, find_baseline, keep_baseline, name_run

GATE = GateSettings(
    thresholds={"pass_rate": 0.1},
    regression={
        "pass_rate": Allowance(drop=0.5),
        **dict.fromkeys(("exact", "overall_score", "latency_ms"), Allowance()),
    },
    baseline="main",
)
ON_RELEASE = replace(GATE, auto="on-release")


def wrong(call):
    return {"text": "No idea."}


@pytest.fixture
def play(store, scripted_service):
    bot = scripted_service(right)

    async def played(*, reply=right, gate=GATE, only=(), is_release=False):
        bot.reply = reply
        plan = plan_for(bot.url, cases(20), gate=gate, is_release=is_release)
        return await execute(replace(plan, selection=Selection(case_ids=only)), store)

    return played


def kept(store):
    return {each.name: each.run_id for each in store.baselines.all()}


async def test_a_run_is_held_against_the_stored_cases_of_its_baseline(store, play):
    first = await play(gate=replace(GATE, baseline=None))
    name_run(store, first, "main")

    same, worse = await play(), await play(reply=wrong, gate=replace(GATE, thresholds={"pass_rate": 0.0}))

    assert (same.gate.verdict, same.baseline.cases, same.baseline.run_id) == ("passed", 20, first.run.id)
    assert worse.gate.verdict == "regressed"
    assert worse.regressions[0].p_value == pytest.approx(0.5**20)


async def test_a_report_that_is_made_again_says_what_the_run_was_compared_with_though_the_baseline_moved(store, play):
    first = await play(gate=replace(GATE, baseline=None))
    name_run(store, first, "main")
    second = await play()
    name_run(store, second, "main")

    again = report_of(store, second.run.id)

    assert again.baseline == second.baseline
    assert again.baseline.run_id == first.run.id
    assert again.gate == second.gate
    assert gate_of(again.run) == GATE


async def test_the_anchor_is_found_by_its_name_and_by_the_gate(store, play):
    first = await play(gate=replace(GATE, baseline=None))
    second = await play(gate=replace(GATE, baseline=None))
    name_run(store, second, "main")
    assert (await play()).anchor is None

    name_run(store, first, ANCHOR)
    assert (await play()).anchor is None, "only what is pinned is an anchor"
    name_run(store, first, ANCHOR, is_pinned=True)
    name_run(store, first, "v1", is_pinned=True)
    found = await play()
    assert (found.baseline.name, found.anchor.name, found.anchor.cases) == ("main", ANCHOR, 20)
    assert (await play(gate=replace(GATE, anchor="v1"))).anchor.name == "v1"
    alone = await play(gate=replace(GATE, baseline=None, anchor="v1"))
    assert (alone.baseline.name, alone.anchor) == ("v1", None)
    name_run(store, first, "main")
    assert (await play()).anchor is None, "it is the baseline itself"


async def test_what_is_not_there_is_told_before_anything_is_asked(store, play):
    with pytest.raises(InputError, match="There is no baseline 'main' for suite"):
        await play()
    with pytest.raises(InputError, match="There is no baseline 'v1' for suite"):
        await play(gate=replace(GATE, baseline=None, anchor="v1"))
    assert store.runs.all() == []


async def test_an_anchor_is_replaced_only_by_an_anchor(store, play):
    first = await play(gate=replace(GATE, baseline=None))
    name_run(store, first, "v1", is_pinned=True)
    with pytest.raises(InputError, match="'v1' is the anchor of suite and stays where it is"):
        name_run(store, first, "v1")
    assert store.baselines.all()[0].is_pinned


async def test_figures_without_their_run_are_compared_by_the_strict_rule(store, play):
    keep_baseline(store, "main", "suite", {"metrics": {"pass_rate": 0.9}, "run_id": "gone"})
    found = find_baseline(store, GATE, "suite")
    assert (found.run_id, found.stored) == ("gone", None)
    report = await play()
    assert (report.gate.verdict, report.baseline.cases) == ("passed", None)
    assert "mode" in [check.name for check in report.gate.checks]


async def test_a_deleted_run_leaves_its_figures(store, play):
    first = await play(gate=replace(GATE, baseline=None))
    name_run(store, first, "main")
    store.runs.delete(first.run.id)
    report = await play()
    assert (report.gate.verdict, report.baseline.cases) == ("passed", None)


async def test_only_a_whole_release_that_is_let_through_becomes_the_baseline(store, play):
    first = await play(gate=ON_RELEASE, is_release=True)
    assert kept(store) == {"main": first.run.id}, "the first release starts it"
    assert "This run is the baseline main now: --release." in first.notes

    await play(gate=ON_RELEASE)
    await play(gate=GATE, is_release=True)
    await play(gate=ON_RELEASE, is_release=True, only=("1", "2"))
    regressed = await play(gate=ON_RELEASE, is_release=True, reply=wrong)
    assert (regressed.exit_code, kept(store)) == (2, {"main": first.run.id})

    last = await play(gate=ON_RELEASE, is_release=True)
    assert kept(store) == {"main": last.run.id}
    assert last.baseline.run_id == first.run.id


async def test_a_release_never_moves_an_anchor(store, play):
    first = await play(gate=replace(GATE, baseline=None))
    name_run(store, first, "main", is_pinned=True)
    second = await play(gate=ON_RELEASE, is_release=True)
    assert kept(store) == {"main": first.run.id}
    assert "The baseline main is an anchor, and stays where it is though this is a release." in second.notes


async def test_a_variable_and_a_tag_at_a_clean_commit_say_that_it_is_a_release(store, play, tmp_path, monkeypatch):
    def git(*arguments):
        who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    async def becomes_baseline():
        report = await play(gate=ON_RELEASE)
        return kept(store).get("main") == report.run.id

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CORTEX_RELEASE", raising=False)
    assert not await becomes_baseline(), "there is no repository"
    (tmp_path / "agent.py").write_text("print()")
    git("init")
    git("add", "agent.py")
    git("commit", "-m", "first")
    assert not await becomes_baseline()
    monkeypatch.setenv("CORTEX_RELEASE", "2.1")
    assert await becomes_baseline()
    git("tag", "v3")
    monkeypatch.setenv("CORTEX_RELEASE", "0")
    assert not await becomes_baseline(), "it is said to be none"
    monkeypatch.delenv("CORTEX_RELEASE")
    assert await becomes_baseline()
    (tmp_path / "agent.py").write_text("print(1)")
    assert not await becomes_baseline(), "what ran is not what the tag stands for"
