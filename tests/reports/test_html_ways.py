"""Ways through the HTML report in a real browser: from a link to its case, by keyboard, from right to left."""

from dataclasses import replace

import pytest
from made_pages import browser_page, full_report
from made_results import made_case, made_report, made_result

from cortex_eval.analysis import BaselineLabel, CaseChange, Changes, Pattern
from cortex_eval.core import Expected
from cortex_eval.reports import ListedCases, render_html

pytestmark = pytest.mark.slow

ODD = "visit 7, 50 % & <b>"
"""A case whose name has everything in it that an address cuts or escapes."""


def _result(number, *, case_id=None, text="In the cellar.", state="failed", question="Where is my bill?", **fields):
    case = made_case(number, (question,), **({"id": case_id} if case_id else {}), **fields)
    scores = {"accuracy": {"value": 0.1 if state == "failed" else 0.9, "passed": state == "passed", "reason": text}}
    return made_result(case, number, state=state, scores=scores, text=text)


def _change(case_id):
    return CaseChange(case_id=case_id, category=None, why="accuracy 1.00 → 0.10")


def _written(tmp_path, report, **how):
    path = tmp_path / "report.html"
    path.write_text(render_html(report, charts=False, **how), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def broken_page(tmp_path):
    rows = [_result(number, case_id=ODD if number == 7 else None) for number in range(12)]
    changes = Changes(newly_broken=(_change("case_0003"), _change(ODD)), newly_fixed=(), flaky=(), newly_in_error=())
    pattern = Pattern(type="words", title="Odd names", count=2, cases=(ODD, "case_0002"), root_cause="?", action="Look")
    report = replace(made_report(rows), case_changes=changes, baseline=BaselineLabel(name="main"), patterns=(pattern,))
    return _written(tmp_path, report)


IN_FOCUS = "document.activeElement.closest('details.case')?.querySelector('code').textContent"


def _is_in_view(page):
    return page.locator("details.case").first.evaluate(
        "each => each.getBoundingClientRect().top >= 0 && each.getBoundingClientRect().top < innerHeight"
    )


@pytest.mark.parametrize("name", ["case_0003", ODD])
def test_a_newly_broken_case_opens_with_the_focus_on_it_as_often_as_its_link_is_followed(broken_page, name):
    with browser_page(viewport={"width": 1200, "height": 700}) as page:
        page.goto(broken_page)
        for _ in range(2):
            page.locator("#broken").get_by_role("link", name=name, exact=True).click()
            page.locator("#shown", has_text="1 of 1 case, chosen by a link").wait_for()
            assert page.locator("details.case").evaluate_all("all => all.map(each => each.open)") == [True]
            assert page.evaluate(IN_FOCUS) == name
            assert _is_in_view(page)
            page.keyboard.press("Enter")
            page.evaluate("scrollTo(0, 0)")


def test_an_address_with_a_case_opens_it_and_one_that_is_torn_does_no_harm(broken_page):
    with browser_page() as page:
        page.goto(broken_page + "#ids=case_0003")
        assert page.evaluate(IN_FOCUS) == "case_0003"
        page.goto("about:blank")
        page.goto(broken_page + "#ids=50%25")
        page.get_by_text("No case fits these filters.").wait_for()
        page.get_by_role("button", name="Show all cases").click()
        assert page.locator("details.case").count() == 12
        assert page.evaluate("document.activeElement.type") == "search"


def test_a_fix_shows_its_cases_whatever_they_are_called(broken_page):
    with browser_page() as page:
        page.goto(broken_page)
        page.get_by_role("link", name="Show them").click()
        page.locator("#shown", has_text="2 of 2 cases").wait_for()
        assert page.locator("details.case > summary code").all_inner_texts() == ["case_0002", ODD]
        assert page.evaluate(IN_FOCUS) == "case_0002"


def test_escape_closes_the_case_that_one_is_in(broken_page):
    with browser_page() as page:
        page.goto(broken_page)
        page.keyboard.press("j")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        second = page.locator("details.case").nth(1)
        assert second.evaluate("each => each.open")
        page.keyboard.press("Escape")
        assert not second.evaluate("each => each.open")
        assert page.evaluate(IN_FOCUS) == second.locator("code").inner_text()


def test_a_quick_page_opens_the_first_case_of_its_list(tmp_path):
    rows = [_result(number) for number in range(110)]
    rows += [_result(110, case_id="grave", tags=("critical",))]
    noted = ListedCases()
    for row in rows:
        noted.add(row)
    with browser_page() as page:
        page.goto(_written(tmp_path, made_report(rows), noted=noted))
        assert page.locator("details.case[open] > summary code").all_inner_texts() == ["grave"]


def test_what_scrolls_inside_itself_can_be_reached_with_the_keyboard_and_has_a_name(tmp_path):
    address = _written(tmp_path, full_report(30))
    with browser_page(viewport={"width": 390, "height": 800}) as page:
        page.goto(address)
        groups = page.get_by_role("region", name="By category")
        groups.focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_function("() => document.activeElement.scrollLeft > 0")
        page.set_viewport_size({"width": 1200, "height": 800})
        assert page.locator("#by-category .scroll[tabindex]").count() == 0


def test_a_reply_of_many_pages_scrolls_beside_its_scores(tmp_path):
    rows = [_result(0, text="Take one tablet a day. " * 2_000)]
    with browser_page(viewport={"width": 1200, "height": 800}) as page:
        page.goto(_written(tmp_path, made_report(rows)))
        reply = page.get_by_role("region", name="The reply")
        assert reply.bounding_box()["height"] <= 600
        page.emulate_media(media="print")
        assert page.locator(".say").nth(1).bounding_box()["height"] > 1_000


ARABIC = "الجرعة 5 mg مرتين"
"""Dose 5 mg twice: set from the left, the number leaves its unit."""
BEGINS_AT_THE_RIGHT = """each => {
  const range = document.createRange(), walk = document.createTreeWalker(each, NodeFilter.SHOW_TEXT);
  let node = walk.nextNode();
  while (!node.data.includes("مرتين")) node = walk.nextNode();
  const left = (word) => {
    range.setStart(node, node.data.indexOf(word));
    range.setEnd(node, node.data.indexOf(word) + word.length);
    return range.getBoundingClientRect().left;
  };
  return left("الجرعة") > left("مرتين");
}"""


def test_what_is_written_from_the_right_reads_from_the_right(tmp_path):
    row = _result(0, text=ARABIC, question=ARABIC, expected=Expected(answer=ARABIC))
    with browser_page(viewport={"width": 1200, "height": 800}) as page:
        page.goto(_written(tmp_path, made_report([row])))
        for kind in (".ask", ".say.u", ".say:not(.u)", ".want", ".scores td:last-child"):
            assert page.locator(f"details.case {kind}").first.evaluate(BEGINS_AT_THE_RIGHT), kind


def test_a_link_to_a_section_keeps_the_filters(broken_page):
    with browser_page() as page:
        page.goto(broken_page)
        page.get_by_role("searchbox").fill("case_0003")
        page.get_by_role("link", name="Gate").click()
        page.wait_for_function("() => location.hash === '#q=case_0003'")
        assert page.locator("#gate").evaluate("each => each.getBoundingClientRect().top < innerHeight")
        page.reload()
        page.locator("#shown", has_text="1 of 1 case").wait_for()


def test_a_category_with_what_cannot_be_seen_in_its_name_can_be_filtered(tmp_path):
    rows = [_result(number, category=("bill\u00ading", "visits")[number % 2]) for number in range(6)]
    with browser_page() as page:
        page.goto(_written(tmp_path, made_report(rows)))
        page.get_by_role("combobox", name="Category").select_option(label=r"bill\xading")
        assert page.locator("#shown").inner_text() == "3 of 3 cases"
