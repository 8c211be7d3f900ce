"""The sample agent with its planted fault on and off: the gate names what broke, and lets the mended one go."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cortex_eval.analysis import Report
from cortex_eval.config import Request, load_project, make_plans
from cortex_eval.demo import copy_project
from cortex_eval.demo.bioagent import BioAgent
from cortex_eval.demo.listening import Version
from cortex_eval.engine import execute
from cortex_eval.outcome import find_baseline, name_run, report_on
from cortex_eval.reports import render_console, render_html, render_markdown
from cortex_eval.storage import Store


@pytest.mark.slow
async def test_the_planted_fault_is_a_regression_with_its_category_and_without_it_the_exit_code_is_0(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_project("bioagent", tmp_path / "bioagent")

    async def play(version: Version, baseline: str | None = None) -> Report:
        with BioAgent(version=version) as agent:
            monkeypatch.setenv("CORTEX_DEMO_URL", agent.url)
            (plan,) = make_plans(load_project(tmp_path / "bioagent" / "cortex.yaml"), Request(baseline=baseline))
            gate = replace(plan.gate, mode="statistical")
            return await execute(replace(plan, gate=gate), store)

    first = await play("1")
    assert (first.gate.verdict, first.exit_code) == ("passed", 0)
    name_run(store, first, "main")

    broken = await play("2", "main")
    assert (broken.gate.verdict, broken.exit_code) == ("regressed", 1)
    assert {each.name for each in broken.regressions} >= {"intent", "tool", "pass_rate"}
    assert {each.worst_category for each in broken.regressions} == {"error_handling"}
    assert all((each.p_value or 1) < 0.001 and (each.high or 0) < 0 for each in broken.regressions)
    for rendered in (render_console(broken), render_markdown(broken), render_html(broken)):
        assert "error_handling" in rendered
    assert "Worst: error_handling" in " ".join(render_console(broken).split())

    mended = await play("1", "main")
    assert (mended.gate.verdict, mended.exit_code) == ("inconclusive", 0)
    said = " ".join(render_console(mended).split())
    assert "No metric is known to be worse than main; in 315 cases a drop of pass_rate by 0.04 or more" in said
    assert 0.02 < (mended.gate.smallest_detectable_drop or 0) < 0.05

    strict = replace(
        make_plans(load_project(tmp_path / "bioagent" / "cortex.yaml"), Request())[0].gate, baseline="main"
    )
    assert strict.mode == "strict"
    for run, code in ((broken, 1), (mended, 0)):
        report = report_on(store, run.run.id, strict, find_baseline(store, strict, "bioagent", run.run))
        assert (report.gate.verdict, report.exit_code) == ("regressed" if code else "passed", code)
