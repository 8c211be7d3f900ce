"""The HTML report in a real browser: filters, search, keys, colours, paper, and without JavaScript."""

import re
from dataclasses import replace

import pytest
from made_pages import browser_page, full_report
from made_results import made_case, made_report, made_result

from cortex_eval.analysis import Pattern
from cortex_eval.reports import render_html

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    """A page of 450 cases, of which 100 are on it as they are and 350 are packed; 75 failed."""
    pattern = Pattern(
        type="confusion",
        title="One is taken for another",
        count=2,
        cases=("case_0001", "case_0007"),
        root_cause="few words",
        action="Add words",
        gain=0.02,
    )
    path = tmp_path_factory.mktemp("page") / "report.html"
    report = replace(full_report(450), patterns=(pattern,))
    path.write_text(render_html(report), encoding="utf-8")
    return path


def _shown(page):
    return page.locator("details.case:visible")


def _waits_for(page, count):
    expect = pytest.importorskip("playwright.sync_api").expect
    expect(page.locator("details.case")).to_have_count(count)  # the page lets nobody evaluate strings, so none is


def test_chips_and_lists_filter_and_their_state_is_in_the_address(page_file):
    with browser_page(viewport={"width": 1200, "height": 900}) as page:
        page.goto(page_file.as_uri())
        assert _shown(page).count() == 50
        page.get_by_role("button", name="Show 50 more").click()
        assert _shown(page).count() == 100
        page.get_by_role("button", name="Failed 75").click()
        page.get_by_role("combobox", name="Tier").select_option("2")
        assert page.locator("#shown").inner_text() == "50 of 75 cases"
        page.get_by_role("combobox", name="Language").select_option("hi")
        assert page.locator("#shown").inner_text() == "15 of 15 cases"
        assert page.evaluate("location.hash") == "#state=failed&tier=2&language=hi"
        page.reload()
        assert page.locator("#shown").inner_text() == "15 of 15 cases"


def test_search_finds_what_is_packed_and_its_case_opens(page_file):
    with browser_page() as page:
        page.goto(page_file.as_uri())
        page.get_by_role("searchbox").fill("reason number 443.")
        _waits_for(page, 1)
        page.locator("details.case summary").first.click()
        assert page.get_by_text("Reason number 443.").is_visible()
        page.get_by_role("searchbox").fill("no such words anywhere")
        page.locator("#no-case").wait_for()


def test_cases_can_be_put_in_another_order(page_file):
    with browser_page() as page:
        page.goto(page_file.as_uri())
        page.get_by_role("combobox", name="Order").select_option("slow")
        assert page.locator("details.case code").first.inner_text() == "case_0449"
        page.get_by_role("combobox", name="Order").select_option("run")
        assert page.locator("details.case code").first.inner_text() == "case_0000"


def test_a_fix_shows_its_cases(page_file):
    with browser_page() as page:
        page.goto(page_file.as_uri())
        page.get_by_role("link", name="Show them").click()
        _waits_for(page, 2)
        assert page.locator("details.case code").all_inner_texts() == ["case_0001", "case_0007"]
        page.get_by_role("button", name="All 450").click()
        assert _shown(page).count() == 50


def test_the_keyboard_is_enough(page_file):
    with browser_page() as page:
        page.goto(page_file.as_uri())
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the cases"
        focused = "[...document.querySelectorAll('details.case')].findIndex(e => e.contains(document.activeElement))"
        page.keyboard.press("j")
        page.keyboard.press("j")
        assert page.evaluate(focused) == 1
        page.keyboard.press("Enter")
        assert page.locator("details.case").nth(1).evaluate("each => each.open")
        page.keyboard.press("k")
        assert page.evaluate(focused) == 0
        page.keyboard.press("/")
        assert page.evaluate("document.activeElement.type") == "search"
        page.keyboard.type("j?")
        assert page.get_by_role("searchbox").input_value() == "j?"
        page.keyboard.press("Tab")
        page.keyboard.press("?")
        assert page.get_by_role("dialog").is_visible()
        page.keyboard.press("Escape")
        assert not page.get_by_role("dialog").is_visible()


def test_colours_follow_the_system_until_a_reader_chooses(page_file):
    ink = "getComputedStyle(document.body).color"
    with browser_page(color_scheme="dark") as page:
        page.goto(page_file.as_uri())
        dark = page.evaluate(ink)
        page.get_by_role("button", name="Colours").click()
        assert page.get_by_role("button", name="Colours").inner_text() == "Colours: light"
        light = page.evaluate(ink)
        assert light != dark
        page.get_by_role("button", name="Colours").click()
        assert page.evaluate(ink) == dark
        page.emulate_media(media="print")
        assert page.evaluate(ink) == light


def test_marks_are_readable_in_light_and_dark(page_file):
    for scheme in ("light", "dark"):
        with browser_page(color_scheme=scheme) as page:
            page.goto(page_file.as_uri())
            for kind in (
                "ins",
                "del",
                ".tag.t-fail",
                ".sub",
                ".verdict b",
                ".confusion .wrong",
                ".confusion .right.s4",
            ):
                assert page.locator(kind).first.evaluate(CONTRAST) >= 4.5, (scheme, kind)
            soft = page.locator(".sub").first.evaluate("each => getComputedStyle(each).color")
            assert page.get_by_role("searchbox").evaluate(PLACEHOLDER) == soft


def test_without_javascript_the_first_cases_read_and_the_page_says_that_there_are_more(page_file):
    with browser_page(java_script_enabled=False) as page:
        page.goto(page_file.as_uri())
        assert page.locator("details.case").count() == 100
        assert page.get_by_text("Without JavaScript this page shows 100 of 450 cases").is_visible()
        assert not page.locator("#filters").is_visible()
        assert not page.locator("#theme").is_visible()
        page.locator("details.case > summary").nth(1).click()
        assert page.locator("details.case .say").nth(2).is_visible()


def _is_read(page, state, part):
    """Whether this part of all cases of that state can be seen."""
    parts = page.locator(f'details.case[data-state="{state}"] {part}').all()[:20]
    assert parts
    seen = {each.is_visible() for each in parts}
    assert len(seen) == 1
    return seen == {True}


@pytest.mark.parametrize("has_script", [True, False])
def test_on_paper_what_failed_is_open_and_in_brief(page_file, has_script):
    with browser_page(java_script_enabled=has_script) as page:
        page.goto(page_file.as_uri())
        if has_script:
            page.evaluate("dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print")
        assert _is_read(page, "failed", ".say")
        assert _is_read(page, "failed", ".want:not(.also)")
        assert _is_read(page, "failed", ".scores td")
        assert not _is_read(page, "failed", ".want.also")  # the reason says it
        assert not _is_read(page, "failed", ".ev")
        for kind in ("#filters", ".jumps", "#theme", "#further"):
            assert not page.locator(kind).is_visible()


def test_paper_has_more_cases_than_the_screen_and_leaves_the_screen_as_it_was(page_file):
    with browser_page() as page:
        page.goto(page_file.as_uri())
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.locator("details.case").count() == 75
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert page.locator("details.case").count() == 50
        assert page.locator("details.case").evaluate_all("all => all.filter(each => each.open).length") == 1


def test_evidence_that_the_reader_opened_is_on_paper_too(page_file):
    with browser_page() as page:
        page.goto(page_file.as_uri())
        page.locator(".ev > summary").first.click()
        page.emulate_media(media="print")
        assert page.locator(".ev").first.is_visible()
        assert not page.locator(".ev").nth(1).is_visible()


@pytest.mark.parametrize("has_script", [True, False])
def test_thirty_cases_fit_on_a_few_numbered_sheets(tmp_path, has_script):
    path = tmp_path / "report.html"
    path.write_text(render_html(full_report(30), charts=False), encoding="utf-8")
    with browser_page(java_script_enabled=has_script) as page:
        page.goto(path.as_uri())
        sheets = len(re.findall(rb"/Type /Page\b", page.pdf(format="A4")))
        assert 2 <= sheets <= 8
        assert "counter(page)" in page.locator("style").first.inner_html()


def test_names_are_whole_and_lines_go_through_on_a_narrow_screen(tmp_path):
    path = tmp_path / "report.html"
    path.write_text(render_html(full_report(30), charts=False), encoding="utf-8")
    with browser_page(viewport={"width": 390, "height": 800}) as page:
        page.goto(path.as_uri())
        rows = page.locator("#confusions table:not(.confusion) tbody tr:visible").all()
        assert rows
        for row in rows:  # a name may break after an underscore, and nowhere else
            for cell in row.locator("th, td").all():
                lines = cell.evaluate(LINES)
                assert all(line.endswith("_") for line in lines[:-1]), lines
        assert page.locator("table").first.evaluate("each => getComputedStyle(each).borderCollapse") == "separate"


@pytest.mark.parametrize("width", [360, 820, 1200])
def test_the_page_never_scrolls_sideways(page_file, width):
    with browser_page(viewport={"width": width, "height": 800}) as page:
        page.goto(page_file.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_name_without_a_gap_never_makes_the_page_scroll_sideways(tmp_path):
    rows = [made_result(made_case(place, category="x" * (90 + place)), place, state="failed") for place in range(2)]
    path = tmp_path / "report.html"
    path.write_text(render_html(made_report(rows), charts=False), encoding="utf-8")
    with browser_page(viewport={"width": 390, "height": 800}) as page:
        page.goto(path.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


PLACEHOLDER = "each => getComputedStyle(each, '::placeholder').color"
LINES = """cell => {
  const lines = new Map(), range = document.createRange();
  const walk = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode())
    for (let place = 0; place < node.length; place++) {
      range.setStart(node, place);
      range.setEnd(node, place + 1);
      const top = Math.round(range.getBoundingClientRect().top);
      lines.set(top, (lines.get(top) ?? "") + node.data[place]);
    }
  return [...lines.values()];
}"""
CONTRAST = """each => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const light = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    if (!a) return null;
    const part = (v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  let below = each, back = null;
  while (back === null) { back = light(getComputedStyle(below).backgroundColor); below = below.parentElement; }
  const [high, low] = [light(getComputedStyle(each).color), back].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
}"""
