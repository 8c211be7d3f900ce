"""The HTML report in words that a stranger understands: what is meant, in which run, without codes."""

import base64
import hashlib
import re
from dataclasses import replace

import pytest
from made_pages import full_report, made_trend
from made_results import made_case, made_report, made_result, simple_results

from cortex_eval.analysis import Parity, Pattern, Regression
from cortex_eval.core import changed
from cortex_eval.reports import render_html
from cortex_eval.reports.charts_draw import can_draw
from cortex_eval.reports.html_parts import ended, label_of, signed, with_code
from cortex_eval.reports.meanings import HOW_TO_READ, meanings_of
from cortex_eval.scoring import scorer, scorers

needs_charts = pytest.mark.skipif(not can_draw(), reason="needs the extra `charts`")


def _page(report):
    return render_html(report, charts=False)


def _planned(report, **kinds):
    """The report, as of a run with these scorers, by name and kind."""
    plan = {name: {"kind": kind} for name, kind in kinds.items()}
    return replace(report, run=changed(report.run, manifest={**report.run.manifest, "scorers": plan}))


def _scored(*names):
    scores = {name: {"value": 1.0, "passed": True} for name in names}
    return made_report([made_result(made_case(0), 0, scores=scores)])


def test_a_suite_named_as_its_target_is_named_once():
    report = made_report(simple_results(1))
    same = replace(report, run=changed(report.run, suite=report.run.target_name))
    assert f"<h1>{report.run.suite} on {report.run.target_name}" in _page(report)
    assert f"<h1>{report.run.target_name}" in _page(same)


def test_scorers_say_what_they_mean_in_their_own_words():
    text = _page(_planned(_scored("accuracy", "quick"), accuracy="accuracy", quick="performance"))
    for name, kind in (("Accuracy", "accuracy"), ("Quick", "performance")):
        words = scorers.find(kind).__doc__.partition(".")[0].replace("'", "&#x27;")
        assert f"<dt>{name}:</dt> <dd>{words}." in text
        assert f'<h3 title="{words}.">{name}</h3>' in text


def test_a_scorer_whose_file_is_not_loaded_has_no_words_and_a_card():
    report = _planned(_scored("mine"), mine="a_scorer_of_theirs")
    assert "mine" not in meanings_of(report)
    assert "<h3>Mine</h3>" in _page(report)


def test_scorers_of_one_kind_are_explained_together_and_settings_are_set_as_code():
    text = _page(_planned(_scored("polite", "no_secrets"), polite="regex", no_secrets="regex"))
    assert text.count("<dt>Polite, No secrets:</dt>") == 1
    assert "<code>should_match: false</code>" in text
    assert with_code("one ` alone") == "one ` alone"


def test_times_and_the_use_of_language_models_are_explained_too():
    told = meanings_of(full_report(6))
    assert "half of them took less than p50" in told["latency_ms"]
    assert "half within (p50)</dt>" in _page(full_report(6))


def test_checks_and_regressions_are_named_as_their_cards_are():
    fell = Regression(
        name="intent",
        metric="intent",
        severity="high",
        baseline=0.9,
        current=0.8,
        diff=-0.1,
        allowed=0.02,
        worst_category=None,
    )
    report = replace(made_report(simple_results(4)), regressions=(fell,))
    report = replace(report, metrics={**report.metrics, "intent": report.metrics["pass_rate"]})
    check = replace(report.gate.checks[0], name="regression.intent_accuracy", ok=False)
    text = _page(replace(report, gate=replace(report.gate, checks=(check,))))
    assert "<th scope=row>Not worse: Intent accuracy</th>" in text
    assert "<th scope=row>Intent accuracy</th>" in text
    assert "The checks that decide whether the run passes." in text


@pytest.mark.parametrize("kind", list(scorers))
def test_every_scorer_has_words(kind):
    assert meanings_of(_planned(_scored("one"), one=kind))["one"].endswith(".")


def test_a_scorer_that_is_a_function_has_its_own_words(monkeypatch):
    monkeypatch.setattr(scorers, "_classes", dict(scorers._classes))  # for this test only

    @scorer(name="keeps_not")
    def keeps_not(case, reply):
        """1 when a negation is kept. The rest is for whoever reads the code."""
        return True

    @scorer(name="says_nothing")
    def says_nothing(case, reply):
        return True

    report = _planned(_scored("one", "two"), one="keeps_not", two="says_nothing")
    assert meanings_of(report)["one"] == "1 when a negation is kept."
    assert "two" not in meanings_of(report)


def test_brackets_are_explained_below_the_first_figures():
    text = _page(full_report(12))
    assert text.index('class="cards') < text.index(HOW_TO_READ) < text.index('id="gate"')


def test_a_column_of_groups_is_not_taken_for_a_scorer_of_that_name():
    rows = [
        made_result(made_case(place, language=code), place, scores={"language": {"value": 1.0, "passed": True}})
        for place, code in enumerate(("en", "hi"))
    ]
    text = _page(_planned(made_report(rows), language="language"))
    assert "<th scope=col>Language</th>" in text


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("entities", "Entity F1"),
        ("entity_f1", "Entity F1"),
        ("f1", "F1"),
        ("llm_calls", "LLM calls"),
        ("safety", "Safety"),
        ("My Scorer", "My Scorer"),
    ],
)
def test_a_metric_has_one_spelling(name, shown):
    assert label_of(name) == shown


@pytest.mark.parametrize(
    ("sentence", "shown"),
    [("It is so", "It is so."), ("“It is so.”", "“It is so.”"), ("Is it (so)?", "Is it (so)?"), ("a (b)", "a (b).")],
)
def test_a_sentence_has_one_end(sentence, shown):
    assert ended(sentence) == shown


def test_a_title_that_is_a_sentence_is_quoted_without_its_end():
    pattern = Pattern(
        type="x", title="One", count=1, cases=(), root_cause="r", action="a", needs=("The rule is broken (twice).",)
    )
    text = _page(replace(made_report(simple_results(2)), patterns=(pattern,)))
    assert "“The rule is broken (twice)”.</p>" in text


def test_evidence_names_what_is_there_and_leaves_out_what_is_empty():
    finding = {"rule": "insulin", "words": "", "reason": "It is needed for life.", "where": "reply"}
    scores = {"safety": {"value": 0.0, "passed": False, "reason": "1 finding", "evidence": {"findings": [finding]}}}
    text = _page(made_report([made_result(made_case(0), 0, state="failed", scores=scores)]))
    assert "<li><b>rule</b> insulin · <b>reason</b> It is needed for life. · <b>where</b> reply</li>" in text


def test_languages_have_names_and_the_filter_keeps_their_codes():
    text = _page(full_report(12))
    assert "<th scope=row>Hindi</th>" in text
    assert '<option value="hi">Hindi</option>' in text
    assert "language Hindi" in text


def test_languages_are_compared_where_there_are_pairs_enough_and_else_in_a_sentence():
    found = Parity(
        metric="safety", base="en", other="hi", pairs=4, unpaired=0, base_mean=0.9, other_mean=0.7, gap=-0.2, low=-0.3,
        high=-0.1,
    )  # fmt: skip
    report = made_report(simple_results(4))
    assert "▼ −0.20 <span" in _page(replace(report, parity=(found,)))
    few = _page(replace(report, parity=(replace(found, pairs=1),)))
    assert "Only 1 case of this run is there in two languages: too few to compare them." in few
    assert "▼ −0.20" not in few


def test_what_no_case_tries_is_a_sentence_and_not_a_column():
    rows = [made_result(made_case(place, category=f"c{place}"), place) for place in range(2)]
    text = _page(made_report(rows))
    assert "No case at all: multi-turn, needs context, many entities, edge cases." in text
    assert "All turns are of one kind: single turn." in text
    assert 'aria-label="Coverage"' not in text


def test_a_share_is_told_in_percent():
    score = {"value": 0.0, "passed": False, "measure": 1.0, "unit": "share of words in another script", "reason": "No."}
    text = _page(made_report([made_result(made_case(0), 0, state="failed", scores={"language": score})]))
    assert "100 % of words in another script. No." in text


def test_tr09_every_sheet_of_paper_names_the_run_and_a_name_cannot_leave_its_place():
    report = made_report(simple_results(1))
    evil = replace(report, run=changed(report.run, suite='x"; } </style><script>alert(1)</script>'))
    text = _page(evil)
    styles = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    assert len(styles) == 2
    assert re.fullmatch(r'@page \{ @top-left \{ content: "[^"<>{};]*"; \} \}', styles[1])
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    for style in styles:
        assert base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() in policy
    plain = re.findall(r'content: "([^"]*)"', re.findall(r"<style>(.*?)</style>", _page(report), re.DOTALL)[1])[0]
    shown = re.sub(r"\\([0-9a-f]+) ", lambda found: chr(int(found[1], 16)), plain)
    assert shown.startswith(report.run.suite)
    assert f"run {report.run.id}" in shown


def test_the_columns_of_the_runs_are_explained_below_them():
    trend = _page(full_report(12)).partition("<h2>Over the runs</h2>")[2].partition("</section>")[0]
    heads = re.findall(r"<th scope=col[^>]*>([^<]+)</th>", trend)
    told = re.findall(r"<dt>([^<]+):</dt> <dd>[^<]+</dd>", trend)
    assert told == heads[1:]


@pytest.mark.parametrize(
    ("step", "shown"),
    [(100.0, "0 to 100 ms"), (2.5, "2.5 to 5.0 ms"), (0.5, "0.5 to 1.0 ms"), (0.05, "0.05 to 0.10 ms")],
)
def test_the_edges_of_times_are_as_exact_as_they_are_and_no_more(step, shown):
    report = full_report(12)
    bins = tuple(replace(report.latency_ms.bins[0], low=step * n, high=step * (n + 1), count=3) for n in range(4))
    text = _page(replace(report, latency_ms=replace(report.latency_ms, bins=bins)))
    assert f"<th scope=row>{shown}</th>" in text


@pytest.mark.parametrize(
    ("value", "shown"), [(-0.001, "0.00"), (0.0, "0.00"), (0.004, "0.00"), (-0.25, "−0.25"), (0.25, "+0.25")]
)
def test_a_difference_that_rounds_to_nothing_has_no_sign(value, shown):
    assert signed(value) == shown


def test_one_case_is_shown_as_it_and_what_keeps_cases_from_a_result_is_not_in_the_colour_of_a_gain():
    rows = [made_result(made_case(0), 0, state="error_target", scores={}), *simple_results(3)]
    pattern = Pattern(type="words", title="One", count=1, cases=("case_0001",), root_cause="?", action="Look", gain=0.1)
    text = _page(replace(made_report(rows), patterns=(*made_report(rows).patterns, pattern)))
    fixes = text.partition("<h2>Fix these first</h2>")[2]
    assert ">Show it</a>" in fixes
    assert "Show them" not in text
    broken = [made_result(made_case(number), number, state="error_target", scores={}) for number in range(3)]
    setup = _page(made_report(broken)).partition("<h2>Mend the set-up first</h2>")[2].partition("</section>")[0]
    assert '<div class="gain critical">3<span>cases</span></div>' in setup


def test_every_section_that_stands_far_down_has_a_link_at_the_top():
    broken = [made_result(made_case(number), number, state="error_target", scores={}) for number in range(3)]
    links = _page(made_report(broken)).partition('aria-label="On this page">')[2].partition("</nav>")[0]
    assert '<a href="#setup">Set-up</a>' in links


def test_thousands_of_cases_are_told_apart_in_a_card():
    text = _page(made_report(simple_results(1_200)))
    assert "1,200/1,200" in text
    assert "1200/1200" not in text


def test_the_button_for_colours_says_which_it_has():
    button = re.search(r'<button[^>]*id="theme"[^>]*>([^<]*)<', _page(full_report(12)))
    assert button[1] == "Colours: auto"
    assert "aria-label" not in button[0]  # it would hide the state from those who hear the page


def test_precision_and_recall_are_explained_where_they_stand():
    classes = _page(full_report(12)).partition("<summary>Precision and recall by class</summary>")[2]
    told = re.match(r'<p class="note">([^<]+)</p>', classes)
    assert all(f"{word}: " in told[1] for word in ("Precision", "Recall", "F1"))


@pytest.mark.slow
@needs_charts
@pytest.mark.parametrize("flaky", [0, 2])
def test_the_caption_of_stability_speaks_of_numbers_only_where_there_are_some(flaky):
    trend = made_trend()
    points = tuple(replace(each, flaky=flaky) for each in trend.points)
    text = render_html(replace(full_report(12), trend=replace(trend, points=points)))
    assert ("the number in it counts flaky cases" in text) is bool(flaky)
