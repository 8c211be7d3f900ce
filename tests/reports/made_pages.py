"""Reports with something to show in every section, and a browser to look at their pages with."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

import pytest
from made_results import FINISHED, made_case, made_report, made_result

from cortex_eval.analysis import Report, Stability, Trend, TrendPoint
from cortex_eval.core import Expected, Reply

LABELS = ("BILL_FIND", "BILL_PAY", "VISIT_BOOK")


def full_report(count: int = 60, *, fails_every: int = 6) -> Report:
    """Categories, tiers, languages, intents, confidences, latencies and a history; every so many cases fail."""
    rows = []
    for number in range(count):
        is_bad = number % fails_every == 1
        expected = LABELS[number % 3]
        found = LABELS[(number + 1) % 3] if is_bad else expected
        case = made_case(
            number,
            (f"Question {number}: क्या मेरा बिल आ गया?" if number % 5 == 0 else f"Question {number}: where is my bill?",),
            category=("billing", "visits")[number % 2],
            tier=1 + number % 3,
            language="hi" if number % 5 == 0 else "en",
            expected=Expected(answer="Your bill is in your inbox.", intent=expected),
        )
        text = "Your bill is in the cellar." if is_bad else "Your bill is in your inbox."
        scores = {
            "intent": {
                "value": float(not is_bad),
                "passed": not is_bad,
                "reason": f"The intent is {found}.",
                "evidence": {"expected_label": expected, "found_label": found},
            },
            "accuracy": {
                "value": 0.4 if is_bad else 0.9,
                "passed": not is_bad,
                "reason": f"Reason number {number}.",
                "evidence": {"bleu": 0.31, "matched": ["bill", "inbox"]},
            },
        }
        reply = Reply(text=text, intent=found, confidence=0.5 + number % 50 / 100, total_time_ms=100.0 + 7 * number)
        state = "failed" if is_bad else "passed"
        rows.append(made_result(case, number, state=state, scores=scores, reply=reply))
    report = made_report(rows)
    return replace(
        report, trend=made_trend(), stability=Stability(against="r5", compared=count, same=count - 3, flaky=2)
    )


def made_trend(runs: int = 6) -> Trend:
    """So many runs, each a little better, the last one the report's own."""
    points = [
        TrendPoint(
            run_id=f"r{number}" if number < runs - 1 else "7f3a",
            finished=f"2026-11-{number + 1:02}T09:00:00Z" if number < runs - 1 else FINISHED,
            dataset_version="a" if number < 2 else "b",
            pass_rate=0.80 + 0.01 * number,
            low=0.7,
            high=0.9,
            latency_p50=200.0,
            latency_p95=400.0,
            stability=None if number == 0 else 0.95,
            flaky=number % 3,
        )
        for number in range(runs)
    ]
    return Trend(suite="triage", target="helpdesk", points=tuple(points))


@contextmanager
def browser_page(**context):
    """A page of a real browser that notes what it asks for and complains of; skips where there is none."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as tool:
        try:
            browser = tool.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        except playwright.Error as error:
            pytest.skip(f"no browser here: {error}")
        page = browser.new_context(**context).new_page()
        noted: list[str] = []
        page.on("request", lambda request: noted.append(request.url) if not _is_inside(request.url) else None)
        page.on("pageerror", lambda error: noted.append(str(error)))
        page.on("console", lambda message: noted.append(message.text))
        yield page
        browser.close()
    assert noted == []


def _is_inside(url: str) -> bool:
    return url.startswith(("file:", "data:", "blob:"))
