"""The HTML report: one file, safe, readable, verdict first."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest
from made_results import made_case, made_report, made_result, made_run, simple_results

from cortex_eval.analysis import GateSettings, read_baseline
from cortex_eval.core import Secret
from cortex_eval.reports import render_html

ATTACKS = (
    "<img src=x onerror=alert(1)>",
    "[x](javascript:alert(1))",
    "![](http://evil/?q)",
    "</script><script>alert(3)",
)


class _Page(HTMLParser):
    """Collects tags, attributes and text, and checks that tags close in order."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.text, self._open = [], [], [], []
        self.feed(page)
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in ("meta", "link", "input", "wbr", "rect", "br"):
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def _attacked():
    everywhere = " ".join(ATTACKS)
    case = made_case(0, (everywhere,), id=everywhere, category=everywhere, language=everywhere, tags=(everywhere,))
    scores = {everywhere: {"value": 0.1, "passed": False, "reason": everywhere}}
    other = made_result(made_case(1, category="b", language="en"), 1)
    return made_report([made_result(case, 0, state="failed", scores=scores, text=everywhere), other])


def test_the_page_is_one_file_that_reaches_for_nothing():
    page = _Page(render_html(made_report(simple_results(3))))
    addresses = [(tag, value) for tag, name, value in page.attributes if name in ("src", "href", "action", "srcset")]
    outside = [(tag, value) for tag, value in addresses if tag != "a" or not value.startswith("#")]
    assert outside == [("link", "data:,")]
    assert not {"iframe", "object", "embed", "img", "form", "base"} & set(page.tags)


def test_the_policy_allows_just_the_style_and_script_of_the_page():
    text = render_html(made_report(simple_results(1)))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        content = re.search(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    page = _Page(text)
    assert not [name for _, name, _ in page.attributes if name == "style" or name.startswith("on")]


def test_tr09_foreign_text_is_text_wherever_it_stands():
    text = render_html(_attacked())
    page = _Page(text)
    data = [value for tag, name, value in page.attributes if (tag, name) == ("script", "type")]
    assert page.tags.count("script") - data.count("application/json") == 1  # data blocks are not run
    assert "img" not in page.tags
    shown = "".join(page.text)
    for attack in ATTACKS:
        assert attack in shown


def test_hidden_characters_are_shown_as_marked_escapes():
    row = made_result(made_case(0), 0, text="abc\u202edef\u200b", state="failed", scores={"accuracy": 0.1})
    text = render_html(made_report([row]))
    assert "\u202e" not in text
    assert '<span class="esc">\\u202e</span>' in text


def test_the_verdict_comes_before_the_figures_and_the_figures_before_the_cases():
    rows = [made_result(made_case(i), i, scores={"intent": float(i > 1)}) for i in range(10)]
    report = made_report(rows, baseline=read_baseline({"overall_intent_accuracy": 0.9}, name="main"))
    text = render_html(report)
    places = [text.index(part) for part in ("✕ Regression", 'class="cards', "<h2>Regressions", "<h2>Gate", "<h2>Cases")]
    assert places == sorted(places)
    assert "▼ 0.10" in text


def test_failed_and_errored_cases_come_first():
    rows = [
        made_result(made_case(0), 0),
        made_result(made_case(1), 1, state="failed", scores={"accuracy": 0.2}),
        made_result(made_case(2), 2, state="error_target", scores={}),
    ]
    states = re.findall(r'class="case" data-state="(\w+)"', render_html(made_report(rows)))
    assert states == ["error", "failed", "passed"]


def test_what_failed_comes_first_and_the_page_says_where_the_rest_is():
    rows = [*simple_results(590), *[_failed(i) for i in range(590, 600)]]
    text = render_html(made_report(rows))
    states = re.findall(r'class="case" data-state="(\w+)"', text)
    assert len(states) == 100
    assert states[:10] == ["failed"] * 10
    assert "Without JavaScript this page shows 100 of 600 cases" in text
    assert render_html(made_report([_failed(i) for i in range(600)])).count('data-state="failed"') == 100
    assert "Without JavaScript" not in render_html(made_report(simple_results(100)))


def _failed(number):
    return made_result(made_case(number), number, state="failed", scores={"accuracy": 0.1})


def test_every_turn_of_a_conversation_is_shown_with_its_scores():
    case = made_case(0, ("first", "second", "third"))
    rows = [made_result(case, 0, turn=t, text=f"reply {t}") for t in range(3)]
    text = render_html(made_report(rows))
    assert [f"Turn {t}" in text for t in (1, 2, 3, 4)] == [True, True, True, False]
    assert all(part in text for part in ("second", "reply 2"))


def test_a_very_long_reply_is_cut_and_says_so():
    text = render_html(made_report([made_result(made_case(0), 0, text="x" * 50_000)]))
    assert "30,000 more characters in the JSON file" in text
    assert len(text) < 21_000 + len(render_html(made_report([made_result(made_case(0), 0)])))


def test_no_secret_is_on_the_page():
    secret = Secret("pa<ss>word-77")
    text = render_html(made_report([made_result(made_case(0), 0, text=f"{secret.reveal()} it is")]))
    assert "word-77" not in text


def test_a_run_without_results_still_has_a_page():
    text = render_html(made_report([], gate=GateSettings()))
    assert "Nothing was scored" in text
    assert "This run has no results" in text


def test_scorers_without_a_number_have_a_card_and_a_note():
    scores = {"accuracy": {"value": None, "reason": "No <b>answer</b>."}, "relevance": 0.9}
    run = made_run(2, manifest={"scorers": {"accuracy": {"weight": 1.0, "critical": False}}})
    text = render_html(made_report([made_result(made_case(i), i, scores=scores) for i in range(2)], run=run))
    assert 'Accuracy</h3><div class="v">–</div><div class="d flat">0/2 · does not apply</div>' in text
    assert "accuracy applied to none of the 2 cases: No &lt;b&gt;answer&lt;/b&gt;." in text


def test_errors_are_told_with_their_first_message():
    rows = [made_result(made_case(i), i, state="error_target", scores={}) for i in range(2)]
    text = render_html(made_report(rows))
    assert "<td class=n>2</td><td>no answer in 10 s</td>" in text
    assert "<code>cortex runs show 7f3a --failed</code>" in text
    assert "<code>cortex run --resume 7f3a</code>" in text


def test_regressions_stand_in_the_verdict_when_something_else_decides():
    baseline = read_baseline({"metrics": {"accuracy": 0.9}}, name="main")
    text = render_html(made_report([_failed(i) for i in range(4)], baseline=baseline))
    assert "<p>Worse than main too: accuracy fell 0.90 → 0.10 (allowed 0.02).</p>" in text
    assert "No regression against main." in render_html(made_report(simple_results(4), baseline=baseline))


@pytest.mark.parametrize(
    ("score", "shown"),
    [
        ({"measure": 6.216, "unit": "ms", "reason": "The reply took 6 ms."}, "The reply took 6 ms."),
        ({"measure": 1234.5, "unit": "ms", "reason": "Took 1,234 ms."}, "Took 1,234 ms."),
        ({"measure": 6.216, "unit": "ms", "reason": "Under 16 ms."}, "6.22 ms. Under 16 ms."),
        ({"measure": 6.216, "unit": "ms", "reason": "6 turns."}, "6.22 ms; 6 turns."),
        ({"measure": 3, "unit": "items", "reason": "3 of 8 items are there."}, "3 of 8 items are there."),
        ({"measure": 3.66, "unit": "grade", "reason": "Grade 3.7 (low)."}, "Grade 3.7 (low)."),
        ({"measure": 0.5, "reason": "chrF 0.50 of 1"}, "chrF 0.50 of 1"),
        ({"measure": 1234.5678, "unit": "ms"}, "1,235 ms"),
    ],
)
def test_a_measure_is_shown_only_where_the_reason_does_not_have_it(score, shown):
    row = made_result(made_case(0), 0, scores={"performance": {"value": 1.0, **score}})
    assert f"<td>{shown}</td>" in render_html(made_report([row]))


def test_the_latency_card_names_what_it_draws():
    rows = [made_result(made_case(i), i, latency_ms=100.0 * (i + 1)) for i in range(4)]
    text = render_html(made_report(rows, gate=GateSettings(thresholds={"max_latency_ms": 500})), charts=False)
    card = re.search(r"<h3[^>]*>Mean latency</h3>.*?</div></div>", text)[0]
    assert '<div class="v">250 ms</div>' in card
    assert 'aria-label="250 ms, 95 % interval' in card
    assert "p50 250 ms · p95 385 ms · limit 500 ms" in card


def test_limits_on_latency_say_whether_they_are_of_the_mean_or_of_the_slowest_in_twenty():
    rows = [made_result(made_case(i), i, latency_ms=100.0 * (i + 1)) for i in range(4)]
    limits = {"max_latency_ms": 500, "max_p95_latency_ms": 300}
    text = render_html(made_report(rows, gate=GateSettings(thresholds=limits)), charts=False)
    assert "Mean latency, at most" in text
    assert "p95 of latency, at most" in text
    assert "p95_latency_ms 385 is above the limit of 300 (over 4 of 4 replies)" in text


@pytest.mark.slow
def test_tr09_a_browser_shows_the_text_runs_no_foreign_script_and_asks_for_nothing(tmp_path):
    playwright = pytest.importorskip("playwright.sync_api")
    page_file = tmp_path / "report.html"
    page_file.write_text(render_html(_attacked()), encoding="utf-8")
    requests, errors, dialogs = [], [], []
    with playwright.sync_playwright() as tool:
        try:
            browser = tool.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        except playwright.Error as error:
            pytest.skip(f"no browser here: {error}")
        page = browser.new_page(viewport={"width": 360, "height": 800})
        page.on("request", lambda request: requests.append(request.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text))
        page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
        page.goto(page_file.as_uri())

        reply = page.locator("details.case .say:not(.u)").first.inner_text()
        assert all(attack in reply for attack in ATTACKS)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        page.get_by_role("button", name="Passed 1").click()
        assert page.locator("details.case:visible").count() == 1
        assert page.evaluate("location.hash") == "#state=passed"
        page.get_by_role("searchbox").fill("nothing like this")
        assert page.locator("#no-case").is_visible()
        browser.close()
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
    assert (errors, dialogs) == ([], [])


@pytest.mark.slow
def test_the_page_reads_without_javascript(tmp_path):
    playwright = pytest.importorskip("playwright.sync_api")
    page_file = tmp_path / "report.html"
    page_file.write_text(render_html(made_report([_failed(0), made_result(made_case(1), 1)])), encoding="utf-8")
    with playwright.sync_playwright() as tool:
        try:
            browser = tool.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        except playwright.Error as error:
            pytest.skip(f"no browser here: {error}")
        page = browser.new_context(java_script_enabled=False).new_page()
        page.goto(page_file.as_uri())
        assert not page.locator("#filters").is_visible()
        page.locator("details.case summary").nth(1).click()
        assert page.locator("details.case .say").nth(2).is_visible()
        browser.close()
