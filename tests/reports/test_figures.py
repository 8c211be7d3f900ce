"""What a run shows beside its metrics, on the terminal and in Markdown."""

from __future__ import annotations

from made_results import made_case, made_report, made_result, simple_results

from cortex_eval.core import RATE, Expected, Reply
from cortex_eval.reports import csv_chunks, render_console, render_markdown

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
    assert "languages hi against en: overall_score" in said
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
