"""What the HTML report says of the verdict, the gate and the baseline."""

from dataclasses import replace
from functools import partial

from made_pages import full_report
from made_results import made_report, simple_results

from cortex_eval.analysis import BaselineLabel, Change, Check, CriticalFailure
from cortex_eval.analysis.verdict import SecondLook, SetAside
from cortex_eval.reports import render_html, verdict_words

_page = partial(render_html, charts=False)


def test_a_comparison_shows_how_sure_it_is_only_where_cases_were_paired():
    report = full_report(12)
    strict = Change(baseline=0.9, current=0.8, diff=-0.1, improved=False)
    paired = replace(strict, low=-0.15, high=-0.05, p_value=0.0004, smallest_detectable=0.03, pairs=12)
    label = BaselineLabel(name="<main>", run_id="6b02")
    text = _page(replace(report, baseline=label, baseline_comparison={"accuracy": paired}))
    assert "<h2>Against &lt;main&gt;</h2>" in text
    assert '<td class="n down">▼ 0.10 <span class="flat">[−0.15, −0.05]</span></td><td class=n>&lt; 0.001</td>' in text
    text = _page(replace(report, baseline=label, baseline_comparison={"accuracy": strict}))
    assert "Would be seen" not in text


def test_critical_cases_that_broke_and_quarantined_ones_are_named():
    broken = SecondLook(case_id="a<1>", category="billing", against="main", passes=(False, False))
    flaky = SecondLook(case_id="b", category=None, against="main", passes=(True, False))
    aside = SetAside(case_id="q1", category=None, outcome="failed", reason="waits for <ticket>", until="2026-12-01")
    text = _page(replace(full_report(12), second_looks=(broken, flaky), quarantine=(aside,)))
    assert 'a&lt;1&gt;</a></th><td><span class="tag t-fail">✕ broken</span></td><td>0 of 2 passed</td>' in text
    assert "! flaky</span></td><td>1 of 2 passed</td>" in text
    assert "q1</th><td>failed</td><td>waits for &lt;ticket&gt;</td><td>2026-12-01</td>" in text


def _with_checks(report, *checks, verdict="regressed"):
    made = tuple(Check(name=name, value=value, limit=0.0, ok=False, reason=reason) for name, value, reason in checks)
    return replace(report, gate=replace(report.gate, verdict=verdict, exit_code=1, checks=made))


MANY = (
    ("regression.critical", 2, "2 critical cases that passed in main failed, 3 times of 3: a, b"),
    ("regression.intent", -0.1, "intent fell 0.90 → 0.80 (allowed 0.02)"),
    ("regression.tool", -0.1, "tool_accuracy fell 0.90 → 0.80 (allowed 0.02)"),
    ("regression.pass_rate", -0.1, "pass_rate fell 0.90 → 0.80 (allowed 0.02)"),
    ("newly_broken", 2, "2 cases that passed in main fail now (all critical), 2 of 9 in category x: a, b"),
)


def test_a_regression_in_many_metrics_has_a_line_for_each_and_says_once_what_broke():
    report = _with_checks(full_report(12), *MANY)
    verdict = _page(report).partition('aria-label="Verdict"')[2].partition("</section>")[0]
    assert (
        "<p>2 critical cases that passed in main failed, 3 times of 3: a, b.</p>"
        "<ul><li>intent fell 0.90 → 0.80 (allowed 0.02).</li>"
        "<li>tool_accuracy fell 0.90 → 0.80 (allowed 0.02). And 1 more.</li></ul>"
    ) in verdict
    assert "fail now" not in verdict


def test_cases_that_broke_and_are_not_critical_are_told_beside_those_that_are():
    broken = ("newly_broken", 3, "3 cases that passed in main fail now (2 critical): a, b, c")
    sentence = verdict_words(_with_checks(full_report(12), *MANY[:-1], broken)).sentence
    assert sentence.endswith("3 cases that passed in main fail now (2 critical): a, b, c.")


def test_the_gate_calls_a_check_by_what_is_met_or_not():
    gate = _page(_with_checks(full_report(12), *MANY)).partition('id="gate"')[2].partition("</section>")[0]
    assert "<th scope=row>Not worse: critical cases</th>" in gate
    assert "<th scope=row>Not worse: Intent accuracy</th>" in gate
    assert "Regression" not in gate


def test_a_pass_with_critical_failures_is_not_shown_as_all_clear():
    report = made_report(simple_results(4))
    failure = CriticalFailure(name="negation", scorer="negation", reason="", count=1, cases=("a",))
    assert 'class="verdict v-pass"' in _page(report)
    assert 'class="verdict v-warn" aria-label="Verdict"><b>✓ Passed</b>' in _page(
        replace(report, critical_failures=(failure,))
    )


def test_critical_cases_that_were_asked_again_lead_to_what_was_said():
    look = SecondLook(case_id="a,b", category=None, against="main", passes=(False, False))
    assert '<a href="#ids=a%252Cb">a,b</a>' in _page(replace(full_report(12), second_looks=(look,)))
