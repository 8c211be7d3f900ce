"""The HTML report on paper, in a real browser: what a reader of paper needs, on few sheets."""

import re
from dataclasses import replace

import pytest
from made_pages import browser_page, full_report

from cortex_eval.analysis import Pattern
from cortex_eval.reports import render_html

pytestmark = pytest.mark.slow

PRINT = "dispatchEvent(new Event('beforeprint'))"
SIZE = "each => getComputedStyle(each).fontSize"


def _pattern(number):
    return Pattern(
        type="confusion",
        title=f"Pattern {number}",
        count=2,
        cases=(f"case_{2 * number + 1:04}",),
        root_cause="r",
        action="Mend it",
        gain=0.01,
    )


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    """A page of 300 cases of which 150 failed: 100 of these are on it as they are, and 50 are packed."""
    path = tmp_path_factory.mktemp("paper") / "report.html"
    report = replace(full_report(300, fails_every=2), patterns=tuple(map(_pattern, range(6))))
    path.write_text(render_html(report, charts=False), encoding="utf-8")
    return path


def _opened(page, page_file):
    page.goto(page_file.as_uri())
    page.locator("html.paper-ready").wait_for()


def test_every_failed_case_is_whole_on_paper_those_that_were_packed_too(page_file):
    with browser_page() as page:
        _opened(page, page_file)
        page.evaluate(PRINT)
        page.emulate_media(media="print")
        assert page.locator("details.case:visible").count() == 150
        assert page.locator("details.case .say.u:visible").count() == 150
        assert page.locator("details.case .scores td:visible", has_text="Reason number").count() == 150


def test_of_many_cases_those_that_passed_are_on_paper_only_when_asked_for(page_file):
    with browser_page() as page:
        _opened(page, page_file)
        page.emulate_media(media="print")
        page.evaluate(PRINT)
        assert page.locator("details.case[data-state=passed]").count() == 0
        assert page.locator("#on-paper").inner_text() == (
            "Those that did not pass. The 150 that passed are on the page itself."
        )
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        page.emulate_media(media="screen")
        assert not page.locator("#on-paper").is_visible()
        page.get_by_role("button", name="Passed 150").click()
        page.evaluate(PRINT)
        page.emulate_media(media="print")
        assert page.locator("details.case[data-state=passed]:visible").count() == 150
        assert not page.locator("#on-paper").is_visible()


def test_without_javascript_the_first_hundred_are_printed_and_none_that_passed(page_file):
    with browser_page(java_script_enabled=False) as page:
        page.goto(page_file.as_uri())
        page.emulate_media(media="print")
        assert page.locator("details.case:visible").count() == 100
        assert page.locator("#on-paper").is_visible()


@pytest.mark.parametrize("has_script", [True, False])
def test_of_few_cases_those_that_passed_are_a_line(tmp_path, has_script):
    path = tmp_path / "report.html"
    path.write_text(render_html(full_report(30), charts=False), encoding="utf-8")
    with browser_page(java_script_enabled=has_script) as page:
        page.goto(path.as_uri())
        page.emulate_media(media="print")
        assert page.locator("details.case[data-state=passed] .ask:visible").count() == 25
        assert page.locator("details.case[data-state=passed] .say:visible").count() == 0


def test_further_patterns_are_set_as_the_first_ones_and_shorter(page_file):
    with browser_page() as page:
        _opened(page, page_file)
        page.evaluate(PRINT)
        page.emulate_media(media="print")
        first, further = page.locator("#fixes > .fix"), page.locator("#fixes > .more > .fix")
        assert (first.count(), further.count()) == (3, 3)
        assert further.first.locator("p").first.evaluate(SIZE) == first.first.locator("p").first.evaluate(SIZE)
        assert further.first.bounding_box()["height"] < first.first.bounding_box()["height"] / 2


def test_a_hundred_and_fifty_failed_cases_fit_on_few_sheets(page_file):
    with browser_page() as page:
        _opened(page, page_file)
        sheets = len(re.findall(rb"/Type /Page\b", page.pdf(format="A4")))
        assert 8 <= sheets <= 18


def test_more_failed_cases_than_are_printed_are_said_with_their_number(tmp_path):
    path = tmp_path / "report.html"
    path.write_text(render_html(full_report(1010, fails_every=2), charts=False), encoding="utf-8")
    with browser_page() as page:
        _opened(page, path)
        page.evaluate(PRINT)
        page.emulate_media(media="print")
        assert page.locator("details.case").count() == 500
        assert page.locator("#shown").inner_text() == "500 of 505 cases"
        assert page.locator("#shown").is_visible()
