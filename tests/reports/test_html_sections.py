"""What the sections of the HTML report say."""

import base64
import random
import re
import zlib
from dataclasses import replace

import orjson
import pytest
from made_pages import full_report
from made_results import made_case, made_report, made_result, made_run, simple_results

from cortex_eval.analysis import (
    GateSettings,
    PassedNumber,
    PassedNumbers,
    Pattern,
)
from cortex_eval.core import CaseCheck, Expected, Reply, Secret, changed
from cortex_eval.reports import ListedCases, html_chunks, is_quick_run, render_html
from cortex_eval.reports import html_list as listing


def _page(report, **how):
    return render_html(report, charts=False, **how)


def _lines(text):
    return orjson.loads(re.search(r'id="case-list">(.*?)</script>', text, re.DOTALL)[1])


def _bodies(text):
    packs = orjson.loads(re.search(r'id="case-bodies">(.*?)</script>', text, re.DOTALL)[1])
    return [body for pack in packs for body in orjson.loads(zlib.decompress(base64.b64decode(pack)))]


def _pattern(**fields):
    known = {"type": "confusion", "title": "A is taken for B", "count": 2, "cases": ("case_0001", "a,b <c>")}
    known |= {"root_cause": "few words", "action": "Add <words>", "location": "parser.py", "gain": 0.034}
    return Pattern(**{**known, **fields})


def test_the_fixes_come_before_the_tables_with_what_they_win_back():
    others = [_pattern(title=f"Pattern {n}", cases=(f"x{n}",), gain=0.01 / n) for n in range(1, 5)]
    text = _page(replace(full_report(12), patterns=(_pattern(priority="high"), *others)))
    assert text.index("<h2>Fix these first") < text.index("<h2>By category")
    assert '<div class="gain">+3.4<span>points</span></div>' in text
    assert "Add &lt;words&gt; in <code>parser.py</code>" in text
    assert "2 more patterns" in text


def test_what_is_critical_says_how_many_cases_fail_by_it_and_not_that_mending_it_wins_nothing():
    rule = _pattern(type="safety_rule", title="Rule heart-attack of safety is broken", gain=0.0, is_critical=True)
    text = _page(replace(full_report(12), patterns=(rule, _pattern())))
    fixes = text[text.index("<h2>Fix these first") : text.index("<h2>By category")]
    assert '<div class="gain critical">2<span>cases</span></div>' in fixes
    assert "Critical: no case with it passes, however good the rest is." in fixes
    assert ">0<span>points" not in fixes


def test_of_the_failed_cases_those_that_are_critical_come_first():
    rows = [
        made_result(made_case(0), 0, scores={"accuracy": 0.1}, state="failed"),
        made_result(made_case(1, tags=("critical",)), 1, scores={"accuracy": 0.6}, state="failed"),
        made_result(made_case(2), 2, scores={"accuracy": 0.2}, state="failed"),
    ]
    listed = ListedCases(is_full=True)
    for row in rows:
        listed.add(row)
    listed.finish()
    assert [line.number for line in listed.lines] == [2, 1, 3]


def _two_kinds_of_failures():
    """Case 0 is in error, 1 fails by what is not critical, 2 by a critical scorer; 3 passed."""
    lost = {"value": 0.5, "passed": False, "reason": "The negation is lost."}
    kept = {"value": 1.0, "passed": True}
    bad = {"value": 0.1, "passed": False}
    return [
        made_result(made_case(0), 0, state="error_target"),
        made_result(made_case(1), 1, scores={"accuracy": bad, "negation": kept}, state="failed"),
        made_result(made_case(2), 2, scores={"accuracy": kept, "negation": lost}, state="failed"),
        made_result(made_case(3), 3, scores={"accuracy": kept, "negation": kept}),
    ]


@pytest.mark.parametrize("is_quick", [False, True])
def test_a_case_that_fails_a_critical_scorer_is_the_first_of_all_and_open(is_quick):
    planned = {"accuracy": {"weight": 1.0, "critical": False}, "negation": {"weight": 1.0, "critical": True}}
    rows = _two_kinds_of_failures()
    report = made_report(rows, run=made_run(len(rows), manifest={"scorers": planned}))
    noted = ListedCases(critical=["negation"]) if is_quick else None
    for row in rows if noted else ():
        noted.add(row)
    text = _page(report, noted=noted)
    assert [line[0] for line in _lines(text)] == [3, 1, 2, 4]
    assert re.findall(r'<details open class="case" data-state="failed" id="(c\d+)"', text) == ["c3"]


def test_of_critical_failures_those_that_break_the_gravest_rule_come_first():
    def broken(*severities):
        return {"value": 0.0, "passed": False, "evidence": {"findings": [{"severity": each} for each in severities]}}

    fine, kept = {"value": 1.0, "passed": True}, {"value": 1.0, "passed": True, "evidence": {"findings": []}}
    told = [
        ({"language": fine, "safety": kept}, 0.0),
        ({"language": {"value": 0.0, "passed": False, "evidence": ["any"]}, "safety": kept}, 0.1),
        ({"language": fine, "safety": broken("low", "high")}, 0.2),
        ({"language": fine, "safety": broken("critical")}, 0.3),
    ]
    listed = ListedCases(is_full=True, critical=["language", "safety"])
    for place, (scores, overall) in enumerate(told):
        listed.add(changed(made_result(made_case(place), place, scores=scores, state="failed"), overall=overall))
    listed.finish()
    assert [line.number for line in listed.lines] == [4, 3, 2, 1]


def test_without_a_critical_scorer_errors_come_before_failures():
    assert [line[0] for line in _lines(_page(made_report(_two_kinds_of_failures())))] == [1, 2, 3, 4]


def test_a_quick_page_opens_a_critical_case_that_came_after_many_failures():
    rows = [made_result(made_case(n), n, scores={"accuracy": 0.1}, state="failed") for n in range(420)]
    rows.append(made_result(made_case(420, tags=("critical",)), 420, scores={"accuracy": 0.1}, state="failed"))
    noted = ListedCases()
    for row in rows:
        noted.add(row)
    lines = _lines(_page(made_report(rows), noted=noted))
    assert lines[0][0] == 421
    assert lines[0][-1] >= 0  # its place among the packed cases
    assert sum(line[-1] < 0 for line in lines) == 120  # a hundred are on the page itself


def test_numbers_to_look_at_can_be_jumped_to_when_there_are_some():
    report = full_report(12)
    assert 'href="#numbers"' not in _page(report)
    wrong = PassedNumber(case="a", question="How much?", expected="500", said="5000")
    text = _page(replace(report, passed_numbers=PassedNumbers(count=1, cases=(wrong,))))
    assert '<a href="#numbers">Look at the numbers</a>' in text


def test_a_fix_leads_to_its_cases_and_an_id_cannot_leave_the_link():
    text = _page(replace(full_report(12), patterns=(_pattern(cases=("a,b", '"><img src=x>')),)))
    assert 'href="#ids=a%252Cb,%2522%253E%253Cimg%2520src%253Dx%253E">Show them</a>' in text


def test_tiers_say_what_was_hoped_for_and_whether_it_came():
    text = _page(full_report(60))
    tiers = text[text.index("<h2>By tier") :]
    assert re.search(r"Intent accuracy ≥ 0\.95 <span class=\"tag t-(warn|fail)\">", tiers)


def test_the_confusion_matrix_has_the_counts_and_the_worst_pairs():
    text = _page(full_report(60))
    matrix = re.search(r'aria-label="Confusion matrix">.*?</table>', text)[0]
    assert sum(map(int, re.findall(r'class="wrong s\d">(\d+)', matrix))) == 10
    assert sum(map(int, re.findall(r'class="right s\d">(\d+)', matrix))) == 50


def test_many_classes_are_cut_to_those_that_are_confused_most():
    rows = []
    for number in range(300):
        label = f"L{number % 30:02}"
        found = "L00" if number % 30 == 7 else label
        evidence = {"expected_label": label, "found_label": found}
        scores = {"intent": {"value": float(found == label), "passed": True, "evidence": evidence}}
        rows.append(made_result(made_case(number), number, scores=scores))
    text = _page(made_report(rows))
    assert "The 16 of 30 classes that are confused most." in text
    matrix = re.search(r'aria-label="Confusion matrix">.*?</table>', text)[0]
    assert "L07" in matrix


def test_confidence_is_judged_in_words():
    assert "<h2>Can its confidence be trusted?" in _page(full_report(60))
    assert "Can its confidence" not in _page(made_report(simple_results(5)))


def test_the_history_is_there_only_after_a_second_run():
    report = full_report(12)
    assert "9 of 12 cases have the verdict that they had in run r5. 2 cases flaky." in _page(report)
    assert "Over the runs" not in _page(replace(report, trend=None))


def test_the_checks_of_a_case_are_listed_in_words():
    checks = (CaseCheck(type="not_contains", value="ibuprofen"), CaseCheck(type="is_json"))
    row = made_result(made_case(0, expected=Expected(checks=checks)), state="failed")

    assert "<b>Expected checks</b> <bdi>not contains ibuprofen · is json</bdi>" in _page(made_report([row]))


def test_differences_are_marked_where_a_case_failed_and_not_where_it_passed():
    text = _page(full_report(12))
    failed = re.search(r'data-state="failed".*?</details>', text, re.DOTALL)[0]
    assert "Your bill is in <del>the cellar</del>." in failed
    assert "Your bill is in <ins>your inbox</ins>." in failed
    assert "<b>Expected intent</b> <bdi><ins>BILL_PAY</ins></bdi> <b>got</b> <bdi><del>VISIT_BOOK</del></bdi>" in failed
    passed = text[text.index('data-state="passed"') : text.index("</section>", text.index('data-state="passed"'))]
    assert "<ins>" not in passed.partition("<script")[0]


def test_evidence_is_one_click_away_and_what_does_not_apply_is_one_line():
    scores = {
        "safety": {"value": 0.0, "passed": False, "reason": "1 finding", "evidence": {"rules": [{"id": "R<1>"}]}},
        "recovery": {"value": None, "reason": "Nothing went wrong."},
    }
    text = _page(made_report([made_result(made_case(0), 0, state="failed", scores=scores)]))
    assert "<details class=ev><summary>Evidence</summary><ul><li><b>rules</b> <ol><li><b>id</b> R&lt;1&gt;</li>" in text
    assert "Does not apply: Recovery (Nothing went wrong.)" in text


def test_a_judge_that_was_asked_more_than_once_says_so_beside_its_score_or_its_error():
    def asked(**told):
        return {"value": 1.0, "passed": True, "source": "judge", "evidence": {"model": "m", **told}}

    scores = {
        "tone": asked(attempts=3),
        "calm": asked(attempts=1),
        "lost": {"error": {"kind": "status", "message": "The judge did not answer.", "attempts": 2}},
        "plain": {"value": 1.0, "passed": True, "evidence": {"attempts": 9}},
    }
    page = render_html(made_report([made_result(made_case(0), 0, state="failed", scores=scores)]))

    assert all(f"<th scope=row>{name.title()}" in page for name in scores)
    told = {name: page.partition(f"<th scope=row>{name.title()}")[2].partition("</th>")[0] for name in scores}
    assert "3 attempts" in told["tone"]
    assert "2 attempts" in told["lost"]
    assert "attempts" not in told["calm"] + told["plain"]


@pytest.mark.parametrize("expected", [None, "Every eight hours."])
@pytest.mark.parametrize(("text", "told"), [("", "(an empty reply)"), (" \n\t ", "(a blank reply)")])
def test_a_reply_without_a_word_is_seen_to_be_one(text, told, expected):
    case = made_case(0, expected=Expected(answer=expected))
    page = _page(made_report([made_result(case, 0, state="failed", text=text)]))

    assert f'<p class="say"><span class=soft>{told}</span></p>' in page


def test_passages_that_a_reply_used_are_shown():
    reply = Reply(text="x", contexts=("One <passage>.", "Two."))
    text = _page(made_report([made_result(made_case(0), 0, reply=reply)]))
    assert "2 passages that it used" in text
    assert "<li>One &lt;passage&gt;.</li>" in text


def test_every_case_is_in_the_list_and_can_be_opened():
    text = _page(full_report(450))
    lines = _lines(text)
    assert {line[1] for line in lines} == {f"case_{n:04}" for n in range(450)}
    assert [line[2] for line in lines] == sorted(line[2] for line in lines)  # problems first
    bodies = _bodies(text)
    assert len(bodies) == 350
    for line in lines:
        if line[9] >= 0:
            assert f"Reason number {int(line[1][5:])}." in bodies[line[9]]
        else:
            assert f'id="c{line[0]}"' in text


def test_a_quick_page_is_made_from_what_went_by_and_says_what_it_lacks():
    report = full_report(450)
    noted = ListedCases()
    for result in report.open_results():
        noted.add(result)
    text = _page(replace(report, open_results=lambda: pytest.fail("read again")), noted=noted)
    assert len(_lines(text)) == 450
    assert "120 cases can be opened, failed and errored ones first. All, and charts: <code>cortex report 7f3a" in text
    assert text == _page(report, noted=noted)  # a dashboard is made from the same


def test_a_run_is_quick_when_it_took_less_than_the_page_is_worth():
    report = made_report(simple_results(1))
    took = lambda s: replace(report, run=changed(report.run, manifest={"calls": {"took_s": s}}))  # noqa: E731
    assert is_quick_run(took(9.0))
    assert not is_quick_run(took(11.0))
    assert not is_quick_run(report)


def test_more_cases_than_fit_are_said_with_their_number(monkeypatch):
    monkeypatch.setattr(listing, "LISTED", 120)
    monkeypatch.setattr(listing, "PACKED_BYTES", 0)
    report = full_report(240, fails_every=2)
    text = _page(report)
    lines = _lines(text)
    assert len(lines) == 120
    assert all(line[2] == 1 for line in lines)  # all that failed, and none of the others in their place
    assert "120 of 240 cases are listed, failed and errored ones first." in text
    assert "100 cases can be opened, failed and errored ones first; the others are too large for one page" in text


def test_what_is_packed_holds_no_markup_of_others_and_no_secret():
    secret = Secret("hunter-&-gatherer-key")
    attack = f"</script><img src=x> \u202e {secret.reveal()}"
    case = made_case(900, (attack,), id=attack, category=attack, expected=Expected(answer=attack))
    scores = {"accuracy": {"value": 0.1, "passed": False, "reason": attack}}
    bad = made_result(case, 900, state="failed", scores=scores, text=attack)
    text = _page(made_report([*[_failed(n) for n in range(120)], bad]))
    everything = text + "".join(_bodies(text))
    assert "<img" not in everything
    assert "hunter" not in everything
    assert "\u202e" not in everything
    assert "&lt;img src=x&gt;" in "".join(_bodies(text))
    assert any(line[1].startswith("</script><img src=x> \\u202e ***") for line in _lines(text))


def _failed(number):
    return made_result(made_case(number), number, state="failed", scores={"accuracy": 0.1})


def test_the_pieces_are_the_page():
    report = full_report(30)
    assert b"".join(html_chunks(report, charts=False)).decode() == _page(report)


def test_checks_that_are_all_met_are_folded_away():
    report = made_report(simple_results(5), gate=GateSettings(thresholds={"pass_rate": 0.5}))
    assert "checks, all met</summary>" in _page(report)
    assert "all met" not in _page(made_report([_failed(0)], gate=GateSettings(thresholds={"pass_rate": 0.5})))


@pytest.mark.slow
def test_ten_thousand_cases_stay_under_fifteen_megabytes_with_every_case_in_the_list():
    text = _page(full_report(10_000))
    assert len(text.encode()) < 15_000_000
    assert len(_lines(text)) == 10_000
    assert len(_bodies(text)) == 9_900


@pytest.mark.slow
def test_cases_that_are_large_do_not_make_the_file_large():
    sample = random.Random(1)
    words = [f"{sample.getrandbits(32):x}" for _ in range(5_000)]
    rows = []
    for number in range(600):
        text = " ".join(sample.choices(words, k=4_000))
        case = made_case(number, (text,), expected=Expected(answer=text))
        rows.append(made_result(case, number, state="failed", scores={"accuracy": 0.1}, text=text))
    text = _page(made_report(rows))
    assert len(text.encode()) < 15_000_000
    assert len(_lines(text)) == 600
    assert "the others are too large for one page" in text


def test_a_score_is_told_on_one_scale_and_what_does_not_apply_once():
    scores = {
        "translation": {
            "value": 0.05,
            "passed": False,
            "measure": 5.12,
            "unit": "chrF",
            "reason": "chrF 0.05, TER 1.2.",
        },
        "negation": {"value": None, "reason": "The scorer does not apply."},
        "names": {"value": None, "reason": "The case names nobody."},
    }
    text = _page(made_report([made_result(made_case(0), 0, scores=scores, state="failed")]))
    assert "<td>chrF 0.05, TER 1.2.</td>" in text
    assert "Does not apply: Negation; Names (The case names nobody.)</p>" in text
