"""What the terminal and a pull request show."""

import pytest
from made_results import made_case, made_report, made_result, made_run, simple_results

from cortex_eval.analysis import GateSettings, read_baseline
from cortex_eval.reports import render_console, render_markdown

ATTACKS = ("<img src=x onerror=alert(1)>", "[x](javascript:alert(1))", "![](http://evil/?q)")


def _triage(fallen=True):
    rows = [
        made_result(
            made_case(i, category="billing" if i < 20 else "login"),
            i,
            scores={"intent": 0.0 if fallen and i < 6 else 1.0},
            state="failed" if fallen and i < 6 else "passed",
        )
        for i in range(50)
    ]
    document = {
        "overall_intent_accuracy": 0.94,
        "category_metrics": {"billing": {"intent_accuracy": 0.94}, "login": {"intent_accuracy": 0.94}},
    }
    return made_report(rows, baseline=read_baseline(document, name="main"))


def test_the_terminal_shows_figures_first_and_the_verdict_last():
    text = render_console(_triage())
    lines = text.splitlines()
    assert lines[0] == "triage.jsonl (50 cases) → helpdesk 2.3"
    assert "  intent            0.88  [0.76, 0.94]   50/50" in lines
    assert lines[-3].startswith("REGRESSION  intent_accuracy fell 0.94 → 0.88 (allowed 0.02).")
    assert "Worst: billing, 6 failed" in " ".join(lines[-3:])
    assert lines[-1] == "Run 7f3a saved. See them: cortex runs show 7f3a --failed"


@pytest.mark.parametrize("gate", [GateSettings(), GateSettings(thresholds={"a_metric_with_a_very_long_name" * 3: 0.5})])
def test_nothing_is_wider_than_eighty_columns(gate):
    rows = [
        made_result(made_case(i, category=f"category {i} " + "x" * 60), i, scores={"y" * 90: 0.5}) for i in range(12)
    ]
    text = render_console(made_report(rows, gate=gate))
    assert max(map(len, text.splitlines())) <= 80
    assert "… and 4 more categories" in text


def test_a_command_is_never_broken_over_two_lines():
    run = made_run(2, id="0192f0c1-2b4e-7c3d-9a51-6f7e8d9c0b1a")
    lines = render_console(made_report(simple_results(2, 0.1), run=run)).splitlines()
    assert lines[-1] == f"  cortex runs show {run.id} --failed"


def test_categories_come_worst_first():
    text = render_console(_triage())
    assert text.index("  billing") < text.index("  login")


def test_colour_only_when_asked_and_never_the_only_sign():
    report = _triage()
    assert "\x1b" not in render_console(report)
    coloured = render_console(report, colour=True)
    assert "\x1b[1;31mREGRESSION\x1b[0m" in coloured


def test_errors_are_told_with_their_kinds():
    rows = [*simple_results(3), made_result(made_case(3), 3, state="error_target", scores={})]
    text = render_console(made_report(rows))
    assert "1 case without a result (1 error_target: timeout)" in text
    assert "ERROR  1 of 4 cases ended in an error (allowed none)." in text


def test_a_passed_run_says_the_number_and_the_limit():
    assert "PASSED  overall_score 0.90 reaches 0.70." in render_console(made_report(simple_results(4)))


def test_names_cannot_send_control_codes_to_the_terminal():
    rows = [made_result(made_case(i, category=f"\x1b[2Jx{i}"), i) for i in range(2)]
    assert "\x1b" not in render_console(made_report(rows))


def test_markdown_opens_with_the_verdict_and_holds_the_tables():
    text = render_markdown(_triage())
    assert text.startswith("# Regression: `triage` on `helpdesk 2.3`")
    assert "| `intent` | 0.88 | [0.76, 0.94] | 50/50 | 0 |" in text
    assert "| `intent` | high | 0.94 | 0.88 | −0.06 | `billing` |" in text
    assert "## By category" in text
    assert "## Failed and in error" in text
    assert "Exit code 1." in text


@pytest.mark.parametrize("attack", ATTACKS)
def test_tr09_replies_stay_inside_code_spans(attack):
    row = made_result(made_case(0), 0, state="failed", scores={"accuracy": 0.1}, text=attack)
    text = render_markdown(made_report([row]))
    assert f"`{attack}`" in text
