"""What the terminal and a pull request show."""

from dataclasses import replace
from functools import partial

import pytest
from made_results import made_case, made_report, made_result, made_run, simple_results

from cortex_eval.analysis import GateSettings, read_baseline
from cortex_eval.core import Failure
from cortex_eval.reports import render_console, render_html, render_markdown

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
    rows = [made_result(made_case(n), n, state="failed", scores={"accuracy": 0.1}) for n in range(2)]
    lines = render_console(made_report(rows, run=run)).splitlines()
    assert lines[-1] == f"  cortex runs show {run.id} --failed"


def test_a_command_at_the_end_of_a_note_is_not_broken_either():
    command = "cortex baseline set 7f3a --name main --config a/longer/path/to/a/project/cortex.yaml"
    notes = ("A short one: cortex run", f"There is no baseline main for triage yet. Make it the baseline: {command}")
    lines = render_console(replace(made_report(simple_results(9)), notes=notes)).splitlines()

    assert "  A short one: cortex run" in lines
    assert f"    {command}" in lines


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
    lines = render_console(made_report(rows)).splitlines()
    place = lines.index("  1 case without a result. Mend the set-up first:")
    assert lines[place + 1] == "  1 error_target: timeout   no answer in 10 s"
    assert "ERROR  1 of 4 cases ended in an error (allowed none)." in lines
    assert lines[-2] == "Run 7f3a saved. See what happened: cortex runs show 7f3a --failed"
    assert lines[-1] == "Ask again what is missing: cortex run --resume 7f3a"


def test_what_an_error_says_to_do_is_told_in_full_and_within_the_width():
    message = "helpdesk answered 401: check api_key, or headers, of the service. It said: 'who are you, and what for?'"
    row = made_result(made_case(0), 0, state="error_target", scores={}, error=Failure("auth", message))
    text = render_console(made_report([row]))
    assert message in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80
    assert "points" not in text


def test_a_long_error_message_is_cut_after_some_lines():
    rows = [
        made_result(made_case(i), i, state="error_target", scores={}, error=Failure("not_json", "\x1b<html>\n" * 80))
        for i in range(12)
    ]
    text = render_console(made_report(rows))
    (line,) = [line for line in text.splitlines() if "error_target: not_json" in line]
    assert line.startswith("  12 error_target: not_json   \\x1b<html> \\x1b<html>")
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.endswith("…") for line in lines[lines.index(line) : lines.index(line) + 9])


def test_beside_the_failed_cases_it_says_where_the_page_is_instead_of_how_to_see_them():
    for rows in (
        [_failed(i) for i in range(4)],
        [*simple_results(3), made_result(made_case(3), 3, state="error_target", scores={})],
        [*simple_results(3), _failed(3)],
    ):
        text = render_console(made_report(rows), failed_are_shown=True)
        assert "--failed" not in text
        assert "cortex report 7f3a" in text


def _failed(number):
    return made_result(made_case(number), number, scores={"accuracy": 0.1}, state="failed")


def _with_gaps():
    scores = {
        "accuracy": {"value": None, "reason": "No [expected](http://evil) answer."},
        "raises": {"error": {"kind": "raised", "message": "The scorer 'raises' raised TypeError."}},
        "relevance": 0.9,
    }
    scorers = {name: {"weight": 0.5, "critical": False} for name in ("accuracy", "relevance")}
    run = made_run(12, manifest={"scorers": scorers})
    return made_report([made_result(made_case(i), i, scores=scores) for i in range(12)], run=run)


def test_scorers_without_a_number_have_a_row_and_a_note():
    text = render_console(_with_gaps())
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "accuracy – 0/12 does not apply" in lines
    assert "raises – 0/12 12 errors" in lines
    told = " ".join(lines)
    assert "accuracy applied to none of the 12 cases: No [expected](http://evil) answer. Its weight went" in told
    assert "raises gave no answer on 12 of 12 results: The scorer 'raises' raised TypeError." in told
    assert told.index("overall_score 0.90") < told.index("applied to none") < told.index("PASSED")


def test_markdown_has_scorers_without_a_number_and_their_notes_as_code():
    text = render_markdown(_with_gaps())
    assert "| `accuracy` | – | does not apply | 0/12 | 0 |" in text
    assert "| `raises` | – |  | 0/12 | 12 |" in text
    assert "\n`accuracy applied to none of the 12 cases: No [expected](http://evil) answer." in text


def test_regressions_are_told_when_something_else_decides():
    baseline = read_baseline({"metrics": {"accuracy": 0.9, "pass_rate": 1.0}}, name="main")
    report = made_report([_failed(i) for i in range(4)], baseline=baseline)
    assert report.gate.verdict == "below"
    drops = "accuracy fell 0.90 → 0.10 (allowed 0.02); pass_rate fell 1.00 → 0.00 (allowed 0.02)."
    said = " ".join(render_console(report).split())
    assert f"Worse than main too: {drops}" in said
    assert said.count("Worse than") == 1
    assert "Worse than main too: accuracy fell" in render_markdown(report)


def test_a_pass_says_that_nothing_regressed_only_where_something_was_compared():
    kept = read_baseline({"metrics": {"accuracy": 0.9}})
    text = render_console(made_report(simple_results(4), baseline=kept))
    assert "PASSED  overall_score 0.90 reaches 0.70. No regression against default." in text
    other = read_baseline({"metrics": {"another": 0.9}})
    assert "No regression" not in render_console(made_report(simple_results(4), baseline=other))
    assert "No regression" not in render_console(made_report(simple_results(4)))


def test_scores_that_differ_by_rounding_are_printed_like_equal_ones():
    rows = [made_result(made_case(i), i, scores={"cosine": v, "exact": 1.0}) for i, v in enumerate((1.0, 0.9999998))]
    lines = [" ".join(line.split()) for line in render_console(made_report(rows)).splitlines()]
    assert "cosine 1.00 [0.22, 1.00] 2/2" in lines
    assert "exact 1.00 [0.34, 1.00] 2/2" in lines


def test_a_passed_run_says_the_number_and_the_limit():
    assert "PASSED  overall_score 0.90 reaches 0.70." in render_console(made_report(simple_results(4)))


@pytest.mark.parametrize("render", [render_console, render_markdown, partial(render_html, charts=False)])
def test_a_pass_on_few_cases_says_how_little_that_shows(render):
    said = "2 cases: the pass rate may be anywhere from 0.34 to 1.00."

    assert said in render(made_report(simple_results(2)))
    assert made_report(simple_results(2)).exit_code == 0
    assert "may be anywhere" not in render(made_report(simple_results(40)))
    assert "may be anywhere" not in render(made_report(simple_results(2, value=0.1, state="failed")))


@pytest.mark.parametrize(("passed", "failed", "is_told"), [(8, 0, True), (9, 0, False), (20, 5, True), (25, 5, False)])
def test_few_is_when_the_interval_of_the_pass_rate_spans_three_tenths(passed, failed, is_told):
    rows = [*simple_results(passed + failed)]
    rows[passed:] = [
        made_result(made_case(n), n, state="failed", scores={"accuracy": 0.4}) for n in range(passed, passed + failed)
    ]
    report = made_report(rows, gate=GateSettings(thresholds={"pass_rate": 0.5}))

    assert report.gate.verdict == "passed"
    assert ("may be anywhere" in render_console(report)) is is_told


def test_limits_that_hold_for_every_suite_are_named_with_the_place_of_ones_own():
    limits = {"thresholds": {"pass_rate": 0.9}}
    rows = simple_results(4, value=0.1, state="failed")

    def told(**gate: str) -> str:
        run = made_run(4, manifest={"gate": {**limits, **gate}})
        return " ".join(render_console(made_report(rows, run=run, gate=GateSettings(**limits))).split())

    assert (
        "By gate.thresholds of shop/cortex.yaml, for every suite without a gate of its own (suites.triage.gate)."
        in told(shared_in="shop/cortex.yaml")
    )
    assert "gate.thresholds" not in told()


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
