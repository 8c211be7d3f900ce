"""The words of a comparison: what is no difference, what is within the allowance, and whose allowance it is."""

from __future__ import annotations

import re

import pytest
from made_results import made_case, made_result, made_run

from cortex_eval.analysis import Allowance, GateSettings, Quarantined, compare_runs
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


def unsafe(number, severity, state="failed"):
    findings = [{"rule": "chest-pain", "severity": severity, "reason": "Send them to a hospital."}]
    scores = {"accuracy": 0.9, "safety": {"value": 0.0, "passed": False, "evidence": {"findings": findings}}}
    return made_result(made_case(number, category="red flags"), number, state=state, scores=scores)


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

    assert (found.verdict, found.by_figures, found.exit_code) == ("new critical failures", "cannot tell", 1)
    assert row(found, "safety").endswith("  3 new critical")
    assert re.search(r"\n  pass_rate .*\]  3 new critical\n", shown)
    assert "  red flags  1.00  0.40  −0.60  3 broken, all critical\n" in shown
    assert "  Newly broken: 3, all critical\n  case_0000  safety 1.00 → 0.00\n" in shown
    said = " ".join(shown.split())
    told = "3 new critical failures in B, a regression whatever the chance: case_0000, case_0001, case_0002."
    figures = "Exit code 1 for that; by the figures over all cases: cannot tell."
    assert f"NEW CRITICAL FAILURES {told} {figures} B: pass_rate fell" in said
    assert "chance" not in said.replace("whatever the chance", "")
    assert max(map(len, shown.splitlines())) <= 80
    markdown = render_versus_markdown(found)
    assert markdown.startswith(f"## New critical failures\n\n{told.replace('_', chr(92) + '_')} {figures}")
    assert "\nExit code 1. " in markdown
    document = found.to_dict()
    assert document["newly_broken"][0]["fails_critical"] == ["safety"]
    outcome = [document[name] for name in ("verdict", "by_figures", "exit_code")]
    assert outcome == ["new critical failures", "cannot tell", 1]


TAGGED = made_case(
    0, texts=("I have had chest pain since this morning, and my left arm is numb. What now?",), tags=("critical",)
)


def with_tagged(gate=GATE, *, before="passed", now="failed", again=(), at="2026-11-01T10:00:00Z"):
    """Two runs of twelve cases; the first is critical, and was asked again with these outcomes."""
    good = [made_result(made_case(n), n) for n in range(1, 12)]
    rows = {name: [made_result(TAGGED, state=state), *good] for name, state in (("a", before), ("b", now))}
    asked_again = [made_result(TAGGED, repeat=1 + n, state=state) for n, state in enumerate(again)]
    return compare_runs(
        [made_run(12, id=name, started=at) for name in "ab"],
        lambda run, _: iter(rows[run.id]),
        gate=gate,
        read_some=lambda run, _: iter(rows[run.id]),
        read_again=lambda run: iter(asked_again if run.id == "b" else ()),
    )


@pytest.mark.parametrize("again", [(), ("failed", "failed"), ("error_target", "failed")])
def test_a_critical_case_that_stays_broken_is_a_regression_and_named_by_its_question(again):
    found = with_tagged(again=again)

    assert (found.verdict, found.by_figures, found.exit_code) == ("new critical failures", "cannot tell", 1)
    shown = render_versus_console(found)
    said = " ".join(shown.split())
    named = "“I have had chest pain since this…” (case_0000)"
    assert f"1 new critical failure in B, a regression whatever the chance: {named}. Exit code 1 for that;" in said
    assert max(map(len, shown.splitlines())) <= 80
    assert "“I have had chest pain since this…” (case\\_0000). Exit code 1" in render_versus_markdown(found)


def test_a_critical_case_that_passed_when_it_was_asked_again_is_flaky_as_for_the_gate():
    found = with_tagged(again=("failed", "passed"))

    assert (found.verdict, found.exit_code) == ("cannot tell", 0)
    shown = render_versus_console(found)
    said = " ".join(shown.split())
    assert "CANNOT TELL 1 critical case failed in B and passed when asked again, which is flaky and no regress" in said
    assert "(asked again: passed 1 of 2)" in said
    assert "Flaky: 1, critical case_0000 failed, and passed 1 of 2 when asked again" in said
    assert "new critical" not in said
    assert max(map(len, shown.splitlines())) <= 80
    assert "(asked again: passed 1 of 2)" in render_versus_markdown(found)
    (broken,) = found.to_dict()["newly_broken"]
    assert (broken["asked_again"], broken["is_flaky"]) == ([False, True], True)


@pytest.mark.parametrize(("until", "code"), [("2026-12-31", 0), ("2026-10-31", 1)])
def test_a_critical_case_in_quarantine_decides_nothing_while_that_holds(until, code):
    gate = GateSettings(quarantine=(Quarantined(case="case_0000", reason="T-1", until=until),))

    assert with_tagged(gate).exit_code == code


def test_a_critical_case_that_failed_before_or_ended_in_an_error_is_no_new_failure():
    assert with_tagged(before="failed").exit_code == 0
    assert with_tagged(now="error_target").exit_code == 0


def test_a_case_that_broke_a_critical_rule_only_before_is_no_new_critical_failure():
    before = unsafe(0, "critical", state="passed")
    now = made_result(made_case(0, category="red flags"), 0, state="failed", scores={"accuracy": 0.1, "safety": 1.0})

    found = compared([before, *safe(12)[1:]], [now, *safe(12)[1:]])

    assert [each.case_id for each in found.comparisons[0].newly_broken] == ["case_0000"]
    assert (found.verdict, found.exit_code) == ("cannot tell", 0)


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


def test_of_replies_that_begin_alike_the_line_shows_where_they_part():
    begin = "Adults can take one or two tablets of 500 mg every four to six hours, and no more than eight in a day."
    rows = {
        "a": [made_result(made_case(0), text=f"{begin} Ask your doctor first if you have a liver disease.")],
        "b": [made_result(made_case(0), state="failed", text=begin)],
    }
    versus = compare_runs(
        [made_run(1, id="a"), made_run(1, id="b")],
        lambda run, _: iter(rows[run.id]),
        gate=GATE,
        read_some=lambda run, _: iter(rows[run.id]),
    )

    shown, table = render_versus_console(versus), render_versus_markdown(versus)

    assert "    was: …than eight in a day. Ask your doctor first if you have a liver diseas…\n" in shown
    assert "    now: …than eight in a day.\n" in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert "| `…than eight in a day. Ask your doctor first if you have a liver disease.` |" in table


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


def test_a_strict_gate_that_would_stop_what_may_be_chance_is_told_with_its_reason():
    a, b = played([15] * 8), played([15] * 8, failed=(3,))

    strict, statistical = compared(a, b, GateSettings(mode="strict")), compared(a, b)

    told = (
        "The gate of B is strict (gate.mode) and would stop it, chance or not: accuracy fell 0.90 → 0.80 (allowed 0.02)"
    )
    for render in (render_versus_console, render_versus_markdown):
        assert told in " ".join(render(strict).replace("\\_", "_").split())
        assert "strict (gate.mode)" not in render(statistical)
    assert (strict.verdict, strict.exit_code) == ("cannot tell", 0)
    assert strict.to_dict()["strict_drops"] == ["accuracy", "pass_rate", "overall_score"]
    assert statistical.to_dict()["strict_drops"] == []


def test_a_strict_gate_says_nothing_of_what_is_within_its_allowance():
    wide = {name: Allowance(drop=0.5) for name in ("accuracy", "pass_rate", "overall_score")}
    found = compared(played([15] * 8), played([15] * 8, failed=(3,)), GateSettings(mode="strict", regression=wide))

    assert found.to_dict()["strict_drops"] == []
    assert "strict (gate.mode)" not in render_versus_console(found)
