"""What a run shows beside its metrics, on the terminal and in Markdown."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from made_results import made_case, made_report, made_result, simple_results

from cortex_eval.analysis import KINDS, Coverage, CoverageRow
from cortex_eval.core import RATE, Expected, Reply
from cortex_eval.reports import coverage_sentence, csv_chunks, render_console, render_html, render_markdown
from cortex_eval.reports.figures import confidence_sentence

LABELS = {"grounded": 1, "paraphrased": 0, "inferred": 0, "hallucinated": 1}
HALLUCINATED = {
    "value": 0.5,
    "measure": 0.5,
    "unit": RATE,
    "direction": "lower",
    "evidence": {"state": "claims", "labels": LABELS},
}


def turns(count=60):
    rows = []
    for i in range(count):
        intent, found = "ab"[i % 2], "ab"[(i + (i % 4 == 0)) % 2]
        case = made_case(
            i,
            tier=1 + i % 2,
            category="data",
            tags=("smoke", "night"),
            language="hi" if i % 2 else "en",
            parallel_of=f"case_{i - 1:04}" if i % 2 else None,
            expected=Expected(intent=intent),
        )
        scores = {
            "intent": {"value": float(intent == found), "evidence": {"expected_label": intent, "found_label": found}}
        }
        reply = Reply(
            text="x", confidence=0.95, llm_invoked=i % 2 == 0, parse_time_ms=2e3, total_time_ms=100.0 + 100 * i
        )
        rows.append(made_result(case, i, scores={**scores, "hallucination_rate": HALLUCINATED}, reply=reply))
    return rows


def test_the_terminal_says_each_figure_in_a_line_or_two_within_its_width():
    text = render_console(made_report(turns()))

    said = " ".join(text.split())
    assert "latency p50 3,050, p95 5,705, p99 5,941 ms" in said
    assert "60 of 60 parsings over 1,000 ms (100 % [94, 100])" in said
    assert "confidence ECE 0.20, more than chance shows" in said
    assert "too sure of itself" in said
    assert "n 60" in said
    assert "mistaken intent: macro F1 0.73 over 2 classes; a as b 15 of 30" in said
    assert "claims hallucination_rate: 60 of 120 hallucinated (50 %" in said
    assert "languages Hindi (hi) against English (en): overall_score" in said
    assert "not met" in said
    assert "llm_usage_rate 0.50 (≤ 0.15)" in said
    assert "coverage 8 of 10 cells empty (2 intents × 5 ways to ask)" in said
    assert all(len(line) <= 80 for line in text.splitlines())


def test_markdown_has_a_table_for_each():
    text = render_markdown(made_report(turns()))

    assert "| all cases | `llm_usage_rate` | 0.50 | [0.38, 0.62] | ≤ 0.15 | 60/60 | not met |" in text
    assert "| tier 1 | `intent_accuracy` | 0.50 |" in text
    assert "## Latency" in text
    assert "| `a` | `b` | 15/30 | 0.50 |" in text
    assert "## Languages beside each other" in text
    assert "| `intent` | `English (en)` " in text
    assert "| `Hindi (hi)` | " in text[text.index("## By language") :]
    assert "| `a` | 30 | 30 | gap | gap | gap | gap |" in text
    assert "## By tag" in text
    assert "| `smoke` |" in text
    assert "60 of 120 hallucinated" in text
    assert "| 0.95–0.95 | 0.95 | 0.75 |" in text


def test_a_run_that_has_none_of_it_says_none_of_it():
    report = made_report(simple_results(3))
    text, markdown = render_console(report), render_markdown(report)

    for word in ("confidence", "mistaken", "languages", "hoped for", "coverage", "claims"):
        assert word not in text
    for title in ("## Hoped for", "## Confidence", "## Coverage", "## Claims", "## By tag"):
        assert title not in markdown


def test_foreign_names_do_nothing_in_markdown():
    rows = [made_result(made_case(0, expected=Expected(intent="a|b](x)<i>")), 0, scores={"intent": 1.0})]

    text = render_markdown(made_report(rows))

    assert "`a\\|b](x)<i>`" in text


def test_a_row_of_a_rate_shows_the_rate():
    text = b"".join(csv_chunks(made_report(turns(2)))).decode()

    assert text.splitlines()[0].endswith("intent,hallucination_rate")
    assert text.splitlines()[1].endswith(",0.5")


@pytest.mark.parametrize(("ece", "chance"), [(0.0313, 0.0306), (0.0313, 0.03129), (0.20, 0.07), (0.0306, 0.0313)])
def test_two_figures_that_are_compared_are_told_apart(ece, chance):
    confidence = made_report(turns()).confidence
    told = confidence_sentence(replace(confidence, ece=ece, ece_if_calibrated_high=chance))

    said, limit = re.match(r"ECE ([\d.]+), .*?\((?:up to )?([\d.]+)\)", told).groups()

    assert (float(said) > float(limit)) == (ece > chance), told
    assert said != limit


def test_one_class_and_one_intent_are_not_several():
    case = made_case(0, expected=Expected(intent="greet"))
    score = {"intent": {"value": 1.0, "evidence": {"expected_label": "greet", "found_label": "greet"}}}
    report = made_report([made_result(case, 0, scores=score)])
    row = CoverageRow(turns=1, counts=dict.fromkeys(KINDS, 1))

    assert "over 1 class;" in render_console(report)
    assert "1 class." in render_markdown(report)
    assert coverage_sentence(Coverage(by="intent", cases=1, turns=1, rows={"greet": row})).startswith("1 intent, tried")
    assert coverage_sentence(Coverage(by="category", cases=1, turns=1, rows={"talk": row})).startswith("1 category, ")
    assert coverage_sentence(Coverage(by="intent", cases=2, turns=2, rows={"a": row, "b": row})).startswith(
        "2 intents, each"
    )


def test_the_page_names_every_metric_in_words():
    report = made_report(
        [made_result(made_case(i), i, scores={"context_retention": 1.0, "intent": 1.0}) for i in range(2)]
    )

    page = render_html(report, charts=False)

    assert "<h3>Context retention</h3>" in page
    assert "<h3>Intent accuracy</h3>" in page
