"""Charts: drawn by the library in a process of their own, in the page's colours, readable without eyes."""

import re
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from made_pages import full_report, made_trend

from cortex_eval.analysis import Latency, LatencyBin
from cortex_eval.reports import charts_draw, render_html
from cortex_eval.reports.charts import charts_of, latency_chart, speed_chart, stability_chart, trend_chart
from cortex_eval.reports.charts_draw import Chart, Drawing, can_draw

needs_library = pytest.mark.skipif(not can_draw(), reason="needs the extra `charts`")
SPREADS = (1000.0, 960.0, 951.0)
"""How far p99 lies from a p95 of 950 ms."""
BAD = Chart(title="Bad", text="Bad.", spec={"mark": {"type": "no-such-mark"}})
FAR = Chart(
    title="Far",
    text="Far.",
    spec={"data": {"url": "http://127.0.0.1:9/data.json"}, "mark": "bar", "encoding": {"x": {"field": "a"}}},
)


def close_percentiles(p99):
    bins = tuple(LatencyBin(low=100.0 * step, high=100.0 * (step + 1), count=10 - step) for step in range(10))
    return latency_chart(Latency(mean=400.0, p50=300.0, p95=950.0, p99=p99, bins=bins))


def lines_that_end_together():
    trend = made_trend()
    points = [replace(each, latency_p50=500.0, latency_p95=510.0) for each in trend.points]
    return speed_chart(replace(trend, points=tuple(points)))


@pytest.fixture(scope="module")
def drawn():
    """Every chart of these tests, good and bad, drawn by one process: starting it takes longest."""
    made = charts_of(full_report())
    made |= {f"p99 {p99}": close_percentiles(p99) for p99 in SPREADS}
    return Drawing({**made, "bad": BAD, "far": FAR, "together": lines_that_end_together()}).collect()


@needs_library
def test_every_chart_of_a_report_is_drawn_in_the_colours_of_the_page(drawn):
    charts = charts_of(full_report())
    assert set(charts) == {"latency", "reliability", "confidence", "trend", "stability", "speed"}
    for name in charts:
        svg = drawn[name]
        root = ElementTree.fromstring(svg)
        assert root.get("role") == "img"
        assert root.get("aria-labelledby") == f"{name}-title {name}-text"
        assert [child.text for child in root][:2] == [charts[name].title, charts[name].text]
        colours = {value for each in root.iter() for key in ("fill", "stroke") if (value := each.get(key))}
        assert all(colour.startswith("var(--") or colour in ("none", "transparent") for colour in colours)
        assert not re.search(
            r"\sstyle=|\son\w+=|href|<script|<image|http", svg.replace("http://www.w3.org/2000/svg", "")
        )


@needs_library
def test_a_chart_is_drawn_once(drawn, monkeypatch):
    charts = charts_of(full_report())

    def refuse(*_args, **_kwargs):
        raise AssertionError("nothing is left to draw")

    monkeypatch.setattr(charts_draw, "_start", refuse)
    assert Drawing(charts).collect() == {name: drawn[name] for name in charts}


@needs_library
def test_a_chart_that_cannot_be_drawn_costs_that_chart_alone(drawn):
    assert "bad" not in drawn
    assert {*charts_of(full_report()), "together"} <= set(drawn)


@needs_library
def test_a_chart_fetches_nothing(drawn):
    assert "far" not in drawn or "mark-rect" not in drawn["far"]


def test_a_page_without_the_library_has_the_numbers_and_says_how_to_get_charts(monkeypatch):
    monkeypatch.setattr("cortex_eval.reports.html.can_draw", lambda: False)
    text = render_html(full_report())
    assert 'class="drawn"' not in text
    assert "pip install &#x27;cortex-eval[charts]&#x27;" in text
    for label in ("Reliability", "Distribution", "Histogram", "Runs"):
        assert f'aria-label="{label}"' in text


def test_a_worker_that_dies_costs_the_charts_and_not_the_page(monkeypatch):
    def start(_specs):
        return subprocess.Popen([sys.executable, "-c", "raise SystemExit(9)"], stdout=subprocess.PIPE)

    monkeypatch.setattr(charts_draw, "_start", start)
    monkeypatch.setattr(charts_draw, "_cache", {})
    monkeypatch.setattr("cortex_eval.reports.html.can_draw", lambda: True)
    text = render_html(full_report(7))
    assert 'class="drawn"' not in text
    assert "<h2>Cases</h2>" in text


def test_charts_can_be_left_out():
    text = render_html(full_report(), charts=False)
    assert 'class="drawn"' not in text
    assert "cortex-eval[charts]" not in text


def test_a_first_run_has_no_trend():
    assert trend_chart(made_trend(1)) is None
    assert stability_chart(made_trend(1)) is None
    assert trend_chart(None) is None


def test_a_trend_breaks_where_the_dataset_changed():
    chart = trend_chart(made_trend())
    assert [each["part"] for each in chart.spec["data"]["values"]] == [0, 0, 1, 1, 1, 1]
    assert chart.text == "6 runs, from 1 Nov to 15 Nov: 0.80 at first, 0.85 now."


def _labels(svg):
    """Where the percentiles are written, in pixels."""
    places = re.findall(r'translate\(([\d.]+),([-\d.]+)\)"[^>]*>(p\d\d(?:, p\d\d)*)<', svg)
    return {name: (float(x), float(y)) for x, y, name in places}


def _lines(svg):
    """Where the lines of the percentiles stand, in pixels."""
    return [float(x) for x in re.findall(r'translate\(([\d.]+),[-\d.]+\)"[^>]*stroke-dasharray', svg)]


@needs_library
@pytest.mark.parametrize("p99", SPREADS)
def test_the_labels_of_the_percentiles_lie_on_no_line_and_not_on_each_other(drawn, p99):
    found, lines = _labels(drawn[f"p99 {p99}"]), _lines(drawn[f"p99 {p99}"])

    assert ", ".join(found) == "p50, p95, p99"
    assert len(lines) == 3
    for name, (start, _) in found.items():
        assert not [line for line in lines if start <= line < start + 7 * len(name)], (name, lines)
    for (left, _), (right, _) in pairwise(found.values()):
        assert right - left >= 30, found


@needs_library
def test_the_labels_of_two_lines_that_end_together_stand_above_each_other(drawn):
    found = _labels(drawn["together"])

    assert found["p50"][1] - found["p95"][1] >= 12


def test_runs_of_one_day_are_told_apart_by_their_time():
    days = [replace(each, finished=f"2026-11-15T0{place}:30:00Z") for place, each in enumerate(made_trend().points)]
    chart = trend_chart(replace(made_trend(), points=tuple(days)))
    assert chart.text.startswith("6 runs, from 15 Nov, 00:30 to 15 Nov, 05:30")
    labels = chart.spec["layer"][0]["encoding"]["x"]["axis"]["labelExpr"]
    assert "'00:30'" in labels
    assert "'05:30'" in labels


@needs_library
def test_the_edges_of_narrow_bars_are_not_rounded():
    bins = tuple(LatencyBin(low=7.5 * step, high=7.5 * (step + 1), count=3) for step in range(4))
    chart = latency_chart(Latency(mean=12.0, p50=12.0, p95=25.0, p99=29.0, bins=bins))
    words = re.findall(r"<text[^>]*>([^<]+)</text>", Drawing({"latency": chart}).collect()["latency"])
    assert {"0", "7.5", "15", "22.5"} <= set(words)
