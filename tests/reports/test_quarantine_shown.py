"""Cases in quarantine in every form of a report: shown and marked, and among no figure and no failure."""

import re

import pytest
from lxml import etree
from made_pages import browser_page
from made_results import made_case, made_report, made_result, made_run

from cortex_eval.analysis import GateSettings, Quarantined
from cortex_eval.reports import (
    ListedCases,
    compare_systems,
    junit_chunks,
    render_comment,
    render_html,
    render_markdown,
    report_annotations,
)

FAILED = {"accuracy": {"value": 0.2, "passed": False, "reason": "said no"}}
CHIPS = ["All 12", "Failed 2", "Errors 0", "Passed 9", "Quarantine 1"]


def made_results(count=12):
    """Three cases that failed, the others passed."""
    return [
        made_result(made_case(n), n, state="failed", scores=FAILED)
        if n < 3
        else made_result(made_case(n), n, scores={"accuracy": 0.9})
        for n in range(count)
    ]


def report_of(results, *names, **fields):
    listed = tuple(Quarantined(case=name, reason='waits for "T-1" & <T-2>') for name in names)
    run = made_run(len(results), **fields)
    return made_report(results, gate=GateSettings(quarantine=listed, fail_under=0.99), run=run)


@pytest.fixture
def report():
    """Twelve cases: two that failed, one that failed in quarantine, nine that passed."""
    return report_of(made_results(), "case_0001")


def test_in_junit_a_case_in_quarantine_is_skipped_with_its_reason(report):
    root = etree.fromstring(b"".join(junit_chunks(report)))

    (case,) = root.findall(".//testcase[@name='case_0001']")
    assert case.find("failure") is None
    assert case.find("skipped").get("message") == 'in quarantine: waits for "T-1" & <T-2>'
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("12", "2", "0")
    (suite,) = root
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["12", "2", "0", "1"]


def test_in_junit_an_error_in_quarantine_is_no_error():
    results = made_results()
    results[0] = made_result(made_case(0), 0, state="error_target", scores={})
    root = etree.fromstring(b"".join(junit_chunks(report_of(results, "case_0000"))))
    assert (root.get("errors"), len(root.findall(".//error")), len(root.findall(".//skipped"))) == ("0", 0, 1)


def test_a_pull_request_names_it_in_a_line_and_not_among_those_that_did_not_pass(report):
    comment = render_comment([report])

    assert "1 case in quarantine did not decide: `case_0001` (failed)" in comment.splitlines()
    assert "2 cases that did not pass" in comment
    listed = comment[comment.index("<details>") :]
    assert re.findall(r"- `(\w+)` failed", listed) == ["case_0000", "case_0002"]
    assert not any("case case_0001 failed" in line for line in report_annotations(report))
    assert any("case case_0002 failed" in line for line in report_annotations(report))


def test_a_pull_request_without_a_quarantine_says_nothing_of_one():
    assert "quarantine" not in render_comment([report_of(made_results())])


def test_a_pull_request_counts_many_in_quarantine():
    names = [f"case_{n:04}" for n in range(11)]
    comment = render_comment([report_of(made_results(), *names)])
    assert "11 cases in quarantine did not decide: `case_0000` (failed), `case_0001` (failed)," in comment
    assert "`case_0009` (passed) and 1 more\n" in comment


def test_the_markdown_report_marks_it_among_those_that_failed(report):
    section = render_markdown(report).partition("## Failed and in error")[2]
    states = dict(re.findall(r"\| `(case_\w+)` \| ([^|]+) \|", section))
    assert states == {"case_0000": "failed", "case_0001": "failed (in quarantine)", "case_0002": "failed"}


@pytest.mark.parametrize("is_quick", [False, True])
def test_the_page_marks_its_row_and_has_a_filter_of_its_own(report, is_quick):
    noted = ListedCases() if is_quick else None
    for result in report.open_results() if noted else ():
        noted.add(result)

    text = render_html(report, charts=False, noted=noted)

    rows = re.findall(r'<details[^>]* class="case".*?</summary>|<details class="case".*?</summary>', text, re.DOTALL)
    assert len(rows) == 12
    assert [re.search(r"case_\w+", row)[0] for row in rows if ">quarantine</span>" in row] == ["case_0001"]
    assert re.findall(r'<button type="button" value="\w*" aria-pressed="\w+">([^<]+)</button>', text) == CHIPS
    assert '<script type="application/json" id="quarantined">["case_0001"]</script>' in text


def test_a_page_without_a_quarantine_has_no_filter_for_it():
    assert "Quarantine " not in render_html(report_of(made_results()), charts=False)


def test_several_targets_are_compared_without_it():
    right = [made_result(made_case(n), n, scores={"accuracy": 0.9}) for n in range(12)]
    both = [report_of(rows, "case_0001", target_name=name) for name, rows in (("a", made_results()), ("b", right))]
    assert compare_systems(both).shared == 11


@pytest.mark.slow
def test_in_a_browser_every_filter_shows_as_many_rows_as_it_says(tmp_path):
    results = made_results(130)  # the last ones are not on the page as they are: the script makes their rows
    path = tmp_path / "report.html"
    path.write_text(render_html(report_of(results, "case_0001", "case_0129"), charts=False), encoding="utf-8")
    with browser_page() as page:
        page.goto(path.as_uri())
        for value, name, count in (
            ("failed", "Failed", 2),
            ("passed", "Passed", 126),
            ("quarantine", "Quarantine", 2),
            ("", "All", 130),
        ):
            page.get_by_role("button", name=f"{name} {count}", exact=True).click()
            shown = page.locator("#shown").inner_text()
            assert re.search(r"of (\d+)", shown)[1] == str(count), value
            if value == "quarantine":
                rows = page.locator("details.case summary").all_inner_texts()
                assert len(rows) == 2
                assert all("quarantine" in row for row in rows)
