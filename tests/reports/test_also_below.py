"""A run that ended in an error says which limits it missed as well: the verdict would hide them."""

import pytest
from made_results import made_case, made_report, made_result, made_run, simple_results

from cortex_eval.analysis import GateSettings
from cortex_eval.reports import render_comment, render_console, render_html, render_markdown, report_annotations

LIMITS = GateSettings(thresholds={"pass_rate": 0.8, "accuracy": 0.95})
TOLD = "Also below: pass_rate 0.33 is under 0.80; accuracy 0.53 is under 0.95."


def half_failed(gate=LIMITS, **given):
    rows = [
        made_result(made_case(0), 0, scores={"accuracy": 1.0}),
        *(made_result(made_case(n), n, state="failed", scores={"accuracy": 0.3}) for n in (1, 2)),
        made_result(made_case(3), 3, state="error_target", scores={}),
    ]
    return made_report(rows, gate=gate, **given)


def test_the_limits_that_were_missed_follow_the_error_on_every_surface():
    report = half_failed()

    plain = [" ".join(each.split()) for each in (render_console(report), render_html(report))]
    marked = [each.replace("\\", "") for each in (render_markdown(report), render_comment([report]))]

    assert report.exit_code == 3
    for text in (*plain, *marked):
        assert "1 of 4 cases ended in an error (allowed none). " + TOLD in text
    annotations = report_annotations(report)
    assert sum(each.startswith("::error") for each in annotations) == 3


def test_a_time_that_is_too_long_is_missed_and_not_below():
    report = half_failed(GateSettings(thresholds={"pass_rate": 0.8, "p95_latency_ms": 1}))

    assert "Also missed: pass_rate 0.33 is under 0.80" in " ".join(render_console(report).split())


@pytest.mark.parametrize(
    "report",
    [
        half_failed(GateSettings(thresholds={"pass_rate": 0.1})),
        half_failed(run=made_run(9), is_partial=True),
        made_report([made_result(made_case(0), 0, state="error_target", scores={})], gate=LIMITS),
        made_report(simple_results(3), gate=GateSettings(thresholds={"pass_rate": 0.8})),
    ],
    ids=["all met", "a part of the run", "nothing was scored", "passed"],
)
def test_nothing_is_said_where_no_limit_was_missed_or_nothing_is_known_yet(report):
    assert "Also" not in render_console(report)
