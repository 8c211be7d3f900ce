"""The words of a comparison: what is no difference, what is within the allowance, and whose allowance it is."""

from __future__ import annotations

import re

import pytest
from made_results import made_case, made_result, made_run

from cortex_eval.analysis import Allowance, GateSettings, compare_runs
from cortex_eval.core import Reply
from cortex_eval.reports import render_versus_console, render_versus_markdown

GATE = GateSettings()


def played(latencies, failed=()):
    """The results of a run whose cases took so long."""
    return [
        made_result(
            made_case(n),
            n,
            reply=Reply(text="In your inbox.", total_time_ms=float(latency)),
            **({"state": "failed", "scores": {"accuracy": 0.1}} if n in failed else {}),
        )
        for n, latency in enumerate(latencies)
    ]


def compared(a, b, gate=GATE):
    runs = [made_run(len(a), id="a"), made_run(len(b), id="b")]
    return compare_runs(runs, lambda run, _: iter({"a": a, "b": b}[run.id]), gate=gate)


def row(versus, name):
    (found,) = [line for line in render_versus_console(versus).splitlines() if line.split()[:1] == [name]]
    return found


@pytest.mark.parametrize("cases", [5, 40])
def test_a_change_of_latency_within_the_allowance_is_told_alike_whether_or_not_the_test_sees_it(cases):
    found = compared(played([15 + n % 3 for n in range(cases)]), played([8 + n % 2 for n in range(cases)]))

    metric = found.comparisons[0].metrics["latency_ms"]
    assert metric.high < 0
    assert metric.verdict == ("better" if cases == 40 else "no difference seen")
    assert row(found, "latency_ms").endswith("  within 100 ms")
    assert found.verdict == "no difference seen"


def test_only_what_is_the_same_in_every_case_is_called_no_difference():
    found = compared(played([15] * 8), played([15] * 8))

    assert row(found, "latency_ms").endswith("  no difference")
    assert row(found, "pass_rate").endswith("  no difference")


@pytest.mark.parametrize(
    ("gate", "source"),
    [
        (GateSettings(mode="strict"), "0.02 (gate.regression, by default)"),
        (GateSettings(regression={"pass_rate": Allowance(drop=0.05)}), "0.05 (of your gate)"),
    ],
)
def test_what_could_be_seen_is_of_a_statistical_gate_and_says_where_the_allowance_is_from(gate, source):
    shown = render_versus_console(compared(played([15] * 12), played([15] * 12, failed={3}), gate))

    assert max(map(len, shown.splitlines())) <= 80
    said = " ".join(shown.split())
    assert "In 12 cases a statistical gate would see a drop of pass_rate by " in said
    assert f"four times in five; to see the allowed {source} takes " in said


def test_cases_that_one_run_did_not_score_are_not_said_to_score_the_same():
    lost = [*played([15] * 7), made_result(made_case(7), 7, state="error_target", scores={})]

    said = " ".join(render_versus_console(compared(played([15] * 8), lost)).split())

    assert "NO DIFFERENCE SEEN A and B score the same in every case that both scored." in said


def unsafe(number, severity):
    findings = [{"rule": "chest-pain", "severity": severity, "reason": "Send them to a hospital."}]
    scores = {"accuracy": 0.9, "safety": {"value": 0.0, "passed": False, "evidence": {"findings": findings}}}
    return made_result(made_case(number, category="red flags"), number, state="failed", scores=scores)


def safe(count):
    return [made_result(made_case(n, category="red flags" if n < 5 else "other"), n, scores=GOOD) for n in range(count)]


GOOD = {"accuracy": 0.9, "safety": 1.0}


def critical_scorers(a, b, **critical):
    """The two runs, with these scorers named as critical."""
    manifest = {"scorers": {name: {"critical": is_critical} for name, is_critical in critical.items()}}
    runs = [made_run(len(a), id=name, manifest=manifest) for name in "ab"]
    return compare_runs(runs, lambda run, _: iter({"a": a, "b": b}[run.id]), gate=GATE)


@pytest.mark.parametrize(("severity", "is_critical"), [("critical", False), ("low", True)])
def test_new_critical_failures_are_told_whatever_the_chance(severity, is_critical):
    a, b = safe(12), [unsafe(n, severity) if n < 3 else each for n, each in enumerate(safe(12))]

    found = critical_scorers(a, b, accuracy=False, safety=is_critical)
    shown = render_versus_console(found)

    assert (found.verdict, found.exit_code) == ("cannot tell", 0)
    assert row(found, "safety").endswith("  3 new critical")
    assert re.search(r"\n  pass_rate .*\]  3 new critical\n", shown)
    assert "  red flags  1.00  0.40  −0.60  3 broken, all critical\n" in shown
    assert "  Newly broken: 3, all critical\n  case_0000  safety 1.00 → 0.00\n" in shown
    said = " ".join(shown.split())
    told = "3 new critical failures in B, whatever the chance: case_0000, case_0001, case_0002."
    assert f"NEW CRITICAL FAILURES {told} By the figures over all cases: cannot tell. B: pass_rate fell" in said
    assert "chance" not in said.replace("whatever the chance", "")
    assert max(map(len, shown.splitlines())) <= 80
    markdown = render_versus_markdown(found)
    assert markdown.startswith(f"## New critical failures\n\n{told.replace('_', chr(92) + '_')} By the figures")
    assert found.to_dict()["newly_broken"][0]["fails_critical"] == ["safety"]


def test_what_is_not_critical_may_still_be_chance():
    b = [unsafe(n, "low") if n < 3 else each for n, each in enumerate(safe(12))]

    shown = render_versus_console(critical_scorers(safe(12), b, safety=False))

    assert "3 broken" in shown
    assert "may be chance, 3 broken" in shown
    assert "critical" not in shown


def test_the_gravest_cases_come_before_what_else_is_critical():
    def wrong(number):
        return made_result(made_case(number), number, state="failed", scores={"accuracy": 0.1, "safety": 1.0})

    plain = [made_result(made_case(n), n, scores=GOOD) for n in range(12)]
    b = [wrong(0), wrong(1), unsafe(2, "critical"), *plain[3:]]

    found = critical_scorers(plain, b, accuracy=True, safety=True).comparisons[0]

    assert [each.case_id for each in found.newly_broken] == ["case_0002", "case_0000", "case_0001"]
    assert [each.is_grave for each in found.newly_broken] == [True, False, False]
    assert "NEW CRITICAL FAILURES  3 new critical failures in B" in render_versus_console(
        critical_scorers(plain, b, accuracy=True, safety=True)
    )


def test_what_one_run_did_not_score_is_said_once_for_all_metrics():
    lost = [*safe(10), *(made_result(made_case(n), n, state="error_target", scores={}) for n in (10, 11))]

    found = compared([made_result(made_case(n), n, scores=GOOD) for n in range(12)], lost)
    said = " ".join(render_versus_console(found).split())

    assert said.count("cored in one run only") == 1
    assert (
        "Scored in one run only, and what the change would be with them, at worst and at best: "
        "accuracy 2 (−0.15 to +0.02); safety 2 (−0.17 to 0.00);"
    ) in said
    assert render_versus_markdown(found).count("cored in one run only") == 1


def test_what_was_asked_and_replied_is_shown_in_a_line_and_acts_nowhere():
    case = made_case(0, texts=("\x1b[31mred\u202e\nor | `code`? <b>" + " long" * 40,))
    rows = {"a": [made_result(case, text="At eight.")], "b": [made_result(case, state="failed", text="")]}
    runs = [made_run(1, id="a"), made_run(1, id="b")]
    versus = compare_runs(
        runs, lambda run, _: iter(rows[run.id]), gate=GATE, read_some=lambda run, _: iter(rows[run.id])
    )

    shown, table = render_versus_console(versus), render_versus_markdown(versus)

    lines = shown.splitlines()
    place = next(number for number, line in enumerate(lines) if line.startswith("    \\x1b[31mred\\u202e or | `code`?"))
    assert lines[place + 1 : place + 3] == ["    was: At eight.", "    now: (no text)"]
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in shown + table
    (row_of_case,) = [line for line in table.splitlines() if line.startswith("| `case_0000`")]
    assert "``\\x1b[31mred\\u202e or \\| `code`?" in row_of_case
