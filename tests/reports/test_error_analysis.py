"""The error analysis as text and Markdown, and the top fixes in every report."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from made_results import made_case, made_report, made_result, made_run

from cortex_eval.analysis import GateSettings, PassedNumber, PassedNumbers, Pattern, PatternChange, Report, Slice
from cortex_eval.core import Failure, Result, changed
from cortex_eval.reports import (
    render_analysis,
    render_analysis_markdown,
    render_comment,
    render_console,
    render_html,
    render_markdown,
    report_annotations,
    top_fixes,
    verdict_words,
    write_artifacts,
)
from cortex_eval.reports.html_insights import fixes_section


def pattern(title: str = "A is taken for B", *, cases: tuple[str, ...] = ("a", "b"), **fields: Any) -> Pattern:
    row = {"type": "intent_confusion", "count": len(cases), "root_cause": "Too alike", "action": "Mend it", "gain": 0.1}
    return Pattern(**{**row, "title": title, "cases": cases, **fields})


def failing(*patterns: Pattern) -> Report:
    rows = [made_result(made_case(i), i, state="failed", scores={"accuracy": 0.0}) for i in range(3)]
    return replace(made_report(rows), patterns=patterns)


def change(**fields: Any) -> PatternChange:
    row = {"type": "exception", "title": "It times out", "effect": "added", "before": 0, "after": 9}
    more = {"new_cases": (), "gone_cases": (), "p_value": 0.004, "may_be_noise": False}
    return PatternChange(**{**row, **more, **fields})


def test_the_top_fixes_are_the_first_three_that_are_not_for_the_same_cases():
    report = failing(
        pattern("One", gain=0.3),
        pattern("The same again", gain=0.29),
        pattern("Two", cases=("c", "d"), gain=0.2, location="src/x.py"),
        pattern("Three", cases=("e",), gain=0.1),
        pattern("Four", cases=("f",), gain=0.05),
    )

    fixes = top_fixes(report)

    assert [fix.title for fix in fixes] == ["One", "Two", "Three"]
    assert fixes[1] == ("Mend it", "src/x.py", "+20.0 points", "2 cases", "Two")


def test_every_report_shows_the_top_fixes_and_a_good_run_shows_none():
    report = failing(pattern(action="Tell A from B", location="src/parser.py", gain=0.054))
    good = made_report([made_result(made_case(0), 0)])

    assert "+5.4 points  Tell A from B (2 cases, src/parser.py)" in render_console(report)
    assert "| 1 | Tell A from B | `src/parser.py` | +5.4 points | 2 cases |" in render_markdown(report)
    assert "fixes" not in render_console(good)
    assert "fixes" not in render_markdown(good)


def test_the_analysis_fits_a_terminal_and_says_cause_fix_place_and_cases():
    long = pattern("A very long title " * 10, location="src/parser.py", evidence="A → B 2", cases=("x" * 60, "y" * 60))

    text = render_analysis(failing(long))

    assert max(map(len, text.splitlines())) <= 80
    for words in (
        "likely cause Too alike",
        "fix          Mend it",
        "where        src/parser.py",
        "seen         A → B 2",
        "x" * 60,
    ):
        assert words in text
    assert text.endswith("--failed\n")


def test_errors_of_the_set_up_are_told_apart_in_full_and_are_no_fix():
    says = "desk answered 401: check api_key, or headers, of the service. It said: " + "'who are you?' " * 10
    broken = pattern("No answer", type="setup_error", cases=("e", "f", "g"), action=says, gain=0.0, about=("auth",))
    report = failing(broken, pattern("A is taken for B"))

    text, markdown, page = render_analysis(report), render_analysis_markdown(report), fixes_section(report)

    assert [fix.title for fix in top_fixes(report)] == ["A is taken for B"]
    assert text.index("Mend the set-up first") < text.index(" 1. A is taken for B")
    assert " ".join(says.split()) in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80
    assert markdown.index("## Mend the set-up first") < markdown.index("## Top fixes")
    assert page.index("Mend the set-up first") < page.index("Fix these first")


def test_a_fix_that_wins_nothing_alone_says_with_what_it_does():
    report = failing(pattern(gain=0.0, needs=("C is lost",), joint_gain=0.25))

    text = render_analysis(report)
    assert "intent_confusion · 2 cases · medium priority · only with others" in text
    assert "  1 (+25.0 points) with “C is lost”\n" in text
    assert "| 1 | “C is lost” | +25.0 points |" in render_analysis_markdown(report)
    assert "+25.0 points with “C is lost”" in fixes_section(report)
    assert "only with others  Mend it (2 cases)" in render_console(report)


def test_what_is_critical_says_so_and_never_that_it_wins_nothing():
    rule = {"type": "safety_rule", "action": "Keep the rule chest-pain", "is_critical": True}
    report = failing(
        pattern("Rule chest-pain is broken", gain=0.0, needs=("C is lost",), joint_gain=0.25, **rule),
        pattern("Rule dosage is broken", gain=0.02, cases=("c",), **rule),
        pattern("C is lost", cases=("d", "e"), is_critical=True),
    )

    text, markdown, console = render_analysis(report), render_analysis_markdown(report), render_console(report)

    assert "safety_rule · critical · 2 cases\n" in text
    assert "safety_rule · critical · 1 case · +2.0 points\n" in text
    assert "intent_confusion · critical · 2 cases · +10.0 points\n" in text
    meaning = "no case with it passes, however good the rest is"
    assert f"of the pass rate (“critical”: {meaning})." in " ".join(text.split())
    assert f"- Critical, 2 cases: {meaning}\n" in markdown
    assert "| 1 | Keep the rule chest-pain | – | critical | 2 cases |" in markdown
    assert f"(“critical”: {meaning}) critical Keep the rule chest-pain (2 cases)" in " ".join(console.split())
    assert "critical, +2.0 points  Keep the rule chest-pain (1 case)\n" in console
    assert "critical, +10.0 points  Mend it (2 cases)\n" in console
    assert "+0" not in text + markdown + console


def test_a_lesser_rule_of_a_critical_scorer_says_its_severity_once():
    rule = {"type": "safety_rule", "gain": 0.0, "is_critical": True}
    report = failing(
        pattern("Rule chest-pain is broken", severity="critical", **rule),
        pattern("Rule no-advice is broken", cases=("c",), severity="medium", evidence="language hi 1 of 1", **rule),
    )

    text, markdown = render_analysis(report), render_analysis_markdown(report)

    assert "safety_rule · critical · 2 cases\n" in text
    assert "safety_rule · critical scorer · severity medium · 1 case\n" in text
    assert "seen         language hi 1 of 1\n" in text
    assert "- Type: `safety_rule`, critical scorer, severity medium\n" in markdown
    assert "- Seen: language hi 1 of 1\n" in markdown
    for shown in (text, markdown):
        assert shown.count("severity") == 1
        assert "ikely cause" not in shown, "the title says it"


def test_partners_are_named_once_for_all_that_need_them():
    needy = {"gain": 0.0, "needs": ("C is lost",)}
    report = failing(
        pattern("One", joint_gain=0.3, cases=("a",), **needy),
        pattern("Two", joint_gain=0.2, cases=("b",), **needy),
        pattern("C is lost", gain=0.0, needs=("One",), joint_gain=0.3, cases=("c",)),
    )

    text, markdown = render_analysis(report), render_analysis_markdown(report)

    assert text.count("“C is lost”") == markdown.count("“C is lost”") == 1
    assert "\n  1 (+30.0 points), 2 (+20.0 points) with 3, “C is lost”\n" in text
    assert "with “One”" not in text, "the same pair, told the other way round"
    assert "| 1, 2 | “C is lost” | +30.0 points, +20.0 points |" in markdown


def test_what_is_not_shown_names_the_pattern_that_wins_most():
    report = failing(*(pattern(f"Pattern {n}", cases=(f"c{n}",), gain=0.01 * (n == 11)) for n in range(12)))

    assert "… and 2 more patterns (“Pattern 11” +1.0 points), in the file and with --json" in render_analysis(report)


def test_replies_without_a_verdict_are_scored_again_with_the_project_file_of_the_run():
    rows = [made_result(made_case(0), 0, state="error_judge", scores={}, error=Failure("bad_verdict", "no JSON"))]
    report = made_report(rows, run=made_run(1, manifest={"request": {"config": "shop/cortex.yaml"}}))

    command = "cortex rescore 7f3a --config shop/cortex.yaml"
    assert f"\n    {command}\n" in render_analysis(report)
    assert f"`{command}`" in render_analysis_markdown(report)


def test_a_slice_names_its_language():
    found = Slice(
        facts=(("language", "hi"),), cases=9, failed=8, rate=0.9, low=0.6, high=1, rest_rate=0, p_value=0.001, gain=0.1
    )
    report = replace(failing(pattern()), slices=(found,))

    assert "elsewhere: language Hindi (hi)" in " ".join(render_analysis(report).split())
    assert "| `language Hindi (hi)` |" in render_analysis_markdown(report)


def unsafe(number: int, *findings: tuple[str, str, str]) -> Result:
    told = [{"rule": rule, "severity": severity, "reason": reason} for rule, severity, reason in findings]
    scores = {"safety": {"value": 0.0, "passed": False, "evidence": {"findings": told}}}
    return made_result(made_case(number), number, state="failed", scores=scores)


def mostly_safe(*rows: Result, critical: tuple[str, ...] = (), **thresholds: float) -> Report:
    safe = [made_result(made_case(i), i, scores={"safety": 1.0}) for i in range(len(rows), 30)]
    run = made_run(30, manifest={"scorers": {"safety": {"critical": "safety" in critical}}})
    return made_report([*rows, *safe], run=run, gate=GateSettings(thresholds={"pass_rate": 0.7, **thresholds}))


HEART = ("heart-attack", "critical", "Send them to a hospital.")


def test_critical_failures_stand_beside_a_verdict_that_passed():
    report = mostly_safe(unsafe(0, HEART), unsafe(1, HEART))

    assert report.passed
    told = "Critical: 2 cases break rule heart-attack of safety (Send them to a hospital): case_0000, case_0001."
    assert told in verdict_words(report).beside
    for shown in (render_console(report), render_markdown(report), "".join(render_html(report))):
        assert "2 cases break rule heart-attack" in shown.replace("\\", "")
    assert report.to_dict()["critical_failures"][0]["cases"] == ("case_0000", "case_0001")


def test_a_pass_says_that_critical_cases_failed_and_what_would_forbid_it():
    report = mostly_safe(unsafe(0, HEART), unsafe(1, HEART, ("dose", "critical", "Ask for the weight.")))

    told = "2 critical cases failed all the same: no limit of this gate forbids that."
    stop = "To stop a release there, write thresholds: {safety: 1.0}."
    assert verdict_words(report).sentence.endswith(f"reaches 0.70. {told} {stop}")
    pages = render_console(report), render_markdown(report), render_comment([report]), "".join(render_html(report))
    for shown in (*pages, *report_annotations(report)):
        assert f"{told} {stop}" in " ".join(shown.split())
    assert f"✓ **Passed.** pass\\_rate 0.93 reaches 0.70. {told}" in pages[2]


@pytest.mark.parametrize(
    ("rows", "thresholds"),
    [((unsafe(0, HEART),), {"safety": 0.9}), ((unsafe(0, HEART),), {"pass_rate": 1.0}), ((), {})],
)
def test_nothing_more_is_said_where_a_limit_looks_at_it_or_the_run_did_not_pass(rows, thresholds):
    assert "all the same" not in verdict_words(mostly_safe(*rows, **thresholds)).sentence


def test_where_cases_pass_with_less_than_the_best_score_the_limit_is_that_every_case_passes():
    scorers = {"faithfulness": {"critical": True, "threshold": 0.4}}
    rows = [made_result(made_case(i), i, scores={"faithfulness": 0.8}) for i in range(1, 30)]
    low = {"faithfulness": {"value": 0.1, "passed": False, "reason": "invented"}}
    rows.insert(0, made_result(made_case(0), 0, state="failed", scores=low))
    report = made_report(
        rows, run=made_run(30, manifest={"scorers": scorers}), gate=GateSettings(thresholds={"pass_rate": 0.7})
    )

    told = "1 critical case failed all the same: no limit of this gate forbids that."
    assert f"{told} To stop a release there, write thresholds: {{pass_rate: 1.0}}." in verdict_words(report).sentence


def test_what_failed_that_must_not_is_told_gravest_first_and_with_every_reason():
    long = "The reply gives a dose " + "and more " * 20
    lesser, dose = ("no-advice", "medium", "Advise them."), ("dose", "high", long)
    report = mostly_safe(
        unsafe(0, lesser), unsafe(1, lesser), unsafe(2, lesser, dose), unsafe(3, HEART), critical=("safety",)
    )

    (told,) = (each for each in verdict_words(report).beside if each.startswith("Critical: "))
    first, second, third = told.split("; ")
    assert first == "Critical: 1 case breaks rule heart-attack of safety (Send them to a hospital): case_0003"
    assert second.startswith("1 case breaks rule dose of safety (The reply gives a dose and more")
    assert second.endswith(("and…): case_0002", "more…): case_0002"))
    assert third == "3 cases break rule no-advice of safety (Advise them): case_0000, case_0001, case_0002."


def test_a_run_without_failures_has_nothing_to_explain():
    text = render_analysis(made_report([made_result(made_case(0), 0)]))

    assert "Every case passed: there is nothing to explain." in text


@pytest.mark.parametrize(
    ("passed", "told"),
    [(0, "No case has a verdict: there is nothing to explain."), (2, "2 of 300 cases have a verdict: passed, all of")],
)
def test_a_run_that_was_cut_off_is_not_said_to_have_passed(passed, told):
    report = made_report([made_result(made_case(n), n) for n in range(passed)])

    assert told in render_analysis(replace(report, run=changed(report.run, cases=300)))


def test_failures_that_share_nothing_are_told_apart_from_none():
    assert "3 of 3 cases did not pass. No two fail for the same reason." in render_analysis(failing())


def test_what_a_change_did_is_said_with_what_may_be_noise():
    changes = (change(), change(title="A is taken for B", effect="shrank", before=4, after=3, may_be_noise=True))

    text = render_analysis(failing(pattern()), changes, since="7f3a")
    markdown = render_analysis_markdown(failing(pattern()), changes, since="7f3a")

    assert "Since run 7f3a\n  new    0 → 9 cases: It times out" in text
    assert "shrank 4 → 3 cases, may be noise: A is taken for B" in text
    assert "| new | It times out | 0 | 9 | 0.004 |  |" in markdown
    assert "| shrank | A is taken for B | 4 | 3 | 0.004 | may be noise |" in markdown


def test_a_change_that_moved_nothing_says_so():
    text = render_analysis(failing(pattern()), (change(effect="same", before=9, p_value=None),), since="7f3a")

    assert "Every pattern is as it was." in text


def test_foreign_text_does_nothing_in_markdown_nor_on_a_terminal():
    nasty = pattern("<script>alert(1)</script> [x](http://evil) \x1b[31m", cases=("`a|b`",))

    markdown, text = render_analysis_markdown(failing(nasty)), render_analysis(failing(nasty))

    assert "<script>" not in markdown.replace("\\<script\\>", "")
    assert "\\[x\\](http" in markdown
    assert "\x1b" not in text + markdown


def test_the_file_is_named_as_in_the_seed_and_names_its_run(tmp_path):
    (path,) = write_artifacts(failing(pattern()), tmp_path, ["analysis"])

    assert path.name == "error_analysis_20261115_091400.md"
    assert "Run `7f3a`" in path.read_text(encoding="utf-8")


def test_replies_that_passed_with_another_number_are_listed_in_every_analysis(tmp_path):
    wrong = PassedNumber(case="dose<1>", question="How much | may I take? " * 9, expected="500 mg", said="650 mg")
    passed = made_report([made_result(made_case(0))])
    report = replace(passed, passed_numbers=PassedNumbers(count=12, cases=(wrong,) * 11))

    text, markdown, page = render_analysis(report), render_analysis_markdown(report), "".join(render_html(report))

    assert "Every case passed.\n" in text
    assert "Passed, but look at the numbers\n  12 replies passed and state another number than" in text
    assert "  dose<1>: expected 500 mg, said 650 mg\n      How much | may I take?" in text
    assert "  … and 2 more, in the file and with --json\n" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "## Passed, but look at the numbers\n\n12 replies passed" in markdown
    assert markdown.count("| `500 mg` | `650 mg` |") == 11
    assert "And 1 more.\n" in markdown
    assert 'id="numbers"' in page
    assert page.count("<td>500 mg</td><td>650 mg</td>") == 11
    assert "dose<1>" not in page
    for shown in (render_analysis(passed), render_analysis_markdown(passed), "".join(render_html(passed))):
        assert "look at the numbers" not in shown


def test_points_of_fixes_for_the_same_cases_are_said_to_overlap():
    shared = failing(pattern("One", cases=("a", "b", "c")), pattern("Two", cases=("c", "d", "e"), gain=0.05))
    apart = failing(pattern("One", cases=("a", "b")), pattern("Two", cases=("b", "c"), gain=0.0))
    words = "Points overlap: a case may count for several fixes, and is won back once"

    for render in (render_analysis, render_analysis_markdown, render_console, fixes_section):
        assert words in " ".join(render(shared).split()), render
        assert words not in " ".join(render(apart).split()), render
