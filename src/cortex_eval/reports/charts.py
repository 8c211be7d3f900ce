"""Which charts a report has, as Vega-Lite specifications; no text of a target or a dataset ever gets into one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cortex_eval.analysis import Confidence, Latency, Report, Trend
from cortex_eval.reports.charts_draw import ACCENT, CARD, FAIL, INK, LINE, PASS, SOFT, Chart, Spec
from cortex_eval.reports.words import moment, number

WIDTH, HEIGHT = 420, 170
THIRD_WIDTH = 280
"""Of a chart that stands beside two others: drawn wider, its words would be too small to read there."""
RUNS_DRAWN = 40
"""The newest runs of a trend; the table has them all."""
LABEL_PX, LINE_PX = 34, 14
"""What a short label takes in a chart: its width, its height."""
_HALF_OPEN = 1e-9

_CONFIG: Spec = {
    "font": "sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": SOFT,
        "titleColor": SOFT,
        "domainColor": LINE,
        "tickColor": LINE,
        "gridColor": LINE,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "tickSize": 4,
        "labelPadding": 4,
    },
    "axisX": {"grid": False},
    "axisY": {"domain": False, "ticks": False, "tickCount": 4},
    "text": {"fontSize": 12, "color": SOFT},
}


def charts_of(report: Report) -> dict[str, Chart]:
    """Every chart that this report has something to draw for, by name."""
    charts: dict[str, Chart | None] = {
        "latency": latency_chart(report.latency_ms),
        "reliability": reliability_chart(report.confidence),
        "confidence": confidence_chart(report.confidence),
        "trend": trend_chart(report.trend, _pass_limit(report)),
        "stability": stability_chart(report.trend),
        "speed": speed_chart(report.trend),
    }
    return {name: chart for name, chart in charts.items() if chart is not None}


def latency_chart(latency: Latency) -> Chart | None:
    """The histogram of times, with the percentiles on it; none when there is one bin, or one would not see it."""
    if len(latency.bins) < 2 or latency.p50 is None or latency.p95 is None or latency.p99 is None:
        return None
    bars = [{"a": each.low, "b": each.high, "n": each.count} for each in latency.bins]
    step = latency.bins[0].high - latency.bins[0].low
    top = latency.bins[-1].low + step  # what is beyond shares the last bar
    bars[-1]["b"] = top
    marks = [("p50", latency.p50), ("p95", latency.p95), ("p99", latency.p99)]
    lines: list[dict[str, Any]] = [{"x": min(value, top), "name": name} for name, value in marks]  # Any: as in _points
    most = max(each.count for each in latency.bins)
    per_px = (top - latency.bins[0].low) / WIDTH
    labels = _labels([(str(each["name"]), each["x"]) for each in lines], per_px)
    x: Spec = {"field": "a", "type": "quantitative", "title": "milliseconds", "scale": {"zero": False, "nice": False}}
    edges = [each["a"] for each in bars][:: -(-len(bars) // 8)]  # at most eight labels
    x["axis"] = {"values": edges, "format": ",.3~f"}  # 7.5 is not 8
    layers: list[Spec] = [
        {
            "data": {"values": bars},
            "mark": {"type": "bar", "color": ACCENT, "opacity": 0.75, "binSpacing": 1},
            "encoding": {
                "x": {**x, "bin": {"binned": True, "step": step}},
                "x2": {"field": "b"},
                "y": {"field": "n", "type": "quantitative", "title": "replies"},
            },
        },
        {
            "data": {"values": lines},
            "mark": {"type": "rule", "color": INK, "strokeDash": [4, 3]},
            "encoding": {"x": {"field": "x", "type": "quantitative"}},
        },
        {
            "data": {"values": [{"x": place, "name": name, "y": most * 1.16} for name, place in labels]},
            "mark": {"type": "text", "align": "left", "dx": 4, "color": INK},
            "encoding": {
                "x": {"field": "x", "type": "quantitative"},
                "y": {"field": "y", "type": "quantitative"},
                "text": {"field": "name"},
            },
        },
    ]
    told = ", ".join(f"{name} {number(value, 'ms')}" for name, value in marks)
    text = f"A histogram of the time to a reply. {told}."
    return Chart(title="Time to a reply", text=text, spec=_spec(layers))


def _labels(lines: Sequence[tuple[str, float]], per_px: float) -> list[tuple[str, float]]:
    """Names of lines and where they stand: right of the line; those too close to each other share a place, and so
    stand right of the last of them, on no line."""
    labels: list[tuple[str, float]] = []
    for name, place in lines:
        if labels and (place - labels[-1][1]) / per_px < LABEL_PX * (1 + labels[-1][0].count(",")):
            labels[-1] = (f"{labels[-1][0]}, {name}", place)
        else:
            labels.append((name, place))
    return labels


def reliability_chart(confidence: Confidence | None) -> Chart | None:
    """Stated confidence against how often it was right, with intervals; on the diagonal the two agree."""
    if confidence is None or len(confidence.bins) < 2:
        return None
    points = [
        {"x": each.mean_confidence, "y": each.accuracy, "low": each.accuracy_low, "high": each.accuracy_high}
        for each in confidence.bins
    ]
    share: Spec = {"type": "quantitative", "scale": {"domain": [0, 1]}}
    x: Spec = {**share, "field": "x", "title": "stated confidence", "axis": {"format": ".1f", "grid": True}}
    y: Spec = {**share, "field": "y", "title": "share that was right", "axis": {"format": ".1f"}}
    layers: list[Spec] = [
        {
            "data": {"values": [{"x": 0, "y": 0}, {"x": 1, "y": 1}]},
            "mark": {"type": "line", "color": SOFT, "strokeDash": [4, 4], "strokeWidth": 1},
            "encoding": {"x": x, "y": y},
        },
        {
            "data": {"values": points},
            "mark": {"type": "rule", "color": ACCENT, "strokeWidth": 5, "opacity": 0.3},
            "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}},
        },
        {
            "data": {"values": points},
            "mark": {"type": "line", "color": ACCENT, "strokeWidth": 1.5},
            "encoding": {"x": x, "y": y},
        },
        {
            "data": {"values": points},
            "mark": {"type": "point", "filled": True, "color": ACCENT, "opacity": 1, "size": 55},
            "encoding": {"x": x, "y": y},
        },
    ]
    text = (
        f"Replies say {confidence.mean:.2f} on average and are right in {confidence.accuracy:.2f}. "
        "Points below the diagonal are overconfident, points above it too modest."
    )
    return Chart(title="Stated confidence against how often it was right", text=text, spec=_spec(layers, height=220))


def confidence_chart(confidence: Confidence | None) -> Chart | None:
    """How many replies state which confidence."""
    if confidence is None or not confidence.histogram:
        return None
    steps = len(confidence.histogram)
    bars = [{"a": place / steps, "b": (place + 1) / steps, "n": n} for place, n in enumerate(confidence.histogram)]
    layer: Spec = {
        "data": {"values": bars},
        "mark": {"type": "bar", "color": ACCENT, "opacity": 0.75, "binSpacing": 1},
        "encoding": {
            "x": {
                "field": "a",
                "type": "quantitative",
                "bin": {"binned": True, "step": 1 / steps},
                "title": "stated confidence",
                "scale": {"domain": [0, 1]},
                "axis": {"format": ".1f"},
            },
            "x2": {"field": "b"},
            "y": {"field": "n", "type": "quantitative", "title": "replies"},
        },
    }
    low = sum(confidence.histogram[: steps // 2])
    text = f"{confidence.n:,} replies state a confidence; {low:,} of them say less than 0.5."
    return Chart(title="How the stated confidence spreads", text=text, spec=_spec([layer], height=220))


def trend_chart(trend: Trend | None, limit: float | None = None) -> Chart | None:
    """The pass rate over the runs with its interval; broken where the dataset changed."""
    points = _points(trend, "pass_rate")
    if len(points) < 2:
        return None
    for each in points:
        each["low"], each["high"] = each["low"] or each["y"], each["high"] or each["y"]
    x = _run_axis(points)
    y = _share_axis([value for each in points for value in (each["low"], each["high"])], limit)
    layers: list[Spec] = [
        {
            "mark": {"type": "area", "color": ACCENT, "opacity": 0.15},
            "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, "detail": _PART},
        },
        {
            "mark": {"type": "line", "color": ACCENT, "strokeWidth": 2},
            "encoding": {"x": x, "y": y, "detail": _PART},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 40, "opacity": 1, "color": ACCENT},
            "encoding": {"x": x, "y": y},
        },
        _last_point(points[-1], x, y, FAIL if limit is not None and points[-1]["y"] < limit - _HALF_OPEN else ACCENT),
    ]
    if limit is not None:
        layers.append(_limit_line(limit, y))
    first, last = points[0], points[-1]
    text = f"{len(points)} runs, from {first['day']} to {last['day']}: {first['y']:.2f} at first, {last['y']:.2f} now."
    return Chart(title="Pass rate over the runs", text=text, spec=_spec(layers, values=points, width=THIRD_WIDTH))


def stability_chart(trend: Trend | None) -> Chart | None:
    """The share of cases whose verdict is that of the run before, run by run, with the flaky ones."""
    points = _points(trend, "stability")
    if not points:
        return None
    axis = _run_axis(points)
    y: Spec = {"field": "y", "type": "quantitative", "title": None, "scale": {"domain": [0, 1]}}
    layers: list[Spec] = [
        {
            "mark": {"type": "bar", "color": PASS, "size": min(26, THIRD_WIDTH * 0.6 / len(points))},
            "encoding": {"x": axis, "y": y},
        },
    ]
    flaky = [each for each in points if each["flaky"]]
    if flaky:
        layers.append(
            {
                "data": {"values": flaky},
                "mark": {"type": "text", "dy": 10, "color": CARD, "fontWeight": "bold"},
                "encoding": {"x": axis, "y": y, "text": {"field": "flaky"}},
            }
        )
    last = points[-1]
    text = f"In the last run {last['y']:.0%} of the cases have the verdict of the run before."
    return Chart(title="Test stability", text=text, spec=_spec(layers, values=points, width=THIRD_WIDTH))


def speed_chart(trend: Trend | None) -> Chart | None:
    """The median and the 95th percentile of the time to a reply over the runs."""
    median, slow = _points(trend, "latency_p50"), _points(trend, "latency_p95")
    if len(median) < 2 or len(slow) < 2:
        return None
    y: Spec = {"field": "y", "type": "quantitative", "title": "milliseconds"}
    layers: list[Spec] = []
    gap_px = (slow[-1]["y"] - median[-1]["y"]) / (max(each["y"] for each in slow) or 1) * HEIGHT
    apart = max(0.0, (LINE_PX - gap_px) / 2)
    for name, points, dash, dy in (("p50", median, [1, 0], apart), ("p95", slow, [5, 3], -apart)):
        line = {"type": "line", "color": ACCENT, "strokeWidth": 2, "strokeDash": dash}
        label = {"type": "text", "align": "left", "dx": 7, "dy": dy, "color": INK}
        encoding: Spec = {"x": _run_axis(median), "y": y}
        layers.append({"data": {"values": points}, "mark": line, "encoding": {**encoding, "detail": _PART}})
        layers.append(
            {
                "data": {"values": [{**points[-1], "name": name}]},
                "mark": label,
                "encoding": {**encoding, "text": {"field": "name"}},
            }
        )
    text = f"p50 is {number(median[-1]['y'], 'ms')} now, p95 {number(slow[-1]['y'], 'ms')}."
    return Chart(title="Time to a reply over the runs", text=text, spec=_spec(layers, width=THIRD_WIDTH))


_PART: Spec = {"field": "part", "type": "nominal"}


def _points(trend: Trend | None, name: str) -> list[dict[str, Any]]:  # Any: numbers and short texts
    """The newest runs that have this figure; imported ones count, quick samples and partial runs do not."""
    if trend is None:
        return []
    points: list[dict[str, Any]] = []
    part = 0
    for place, point in enumerate(trend.points):
        part += trend.starts_anew(place)
        value = getattr(point, name)
        if value is None or point.is_partial:
            continue
        day = moment(point.finished)
        points.append(
            {
                "x": place,
                "y": value,
                "low": point.low,
                "high": point.high,
                "part": part,
                "flaky": point.flaky,
                "day": f"{day.day} {day:%b}",
                "label": f"{day.day} {day:%b}",
                "time": f"{day:%H:%M}",
            }
        )
    drawn = points[-RUNS_DRAWN:]
    if drawn and drawn[0]["day"] == drawn[-1]["day"]:  # then the day tells nothing apart
        for each in drawn:
            each["day"], each["label"] = f"{each['day']}, {each['time']}", each["time"]
    return drawn


def _run_axis(points: Sequence[dict[str, Any]]) -> Spec:  # Any: as in _points
    """One step a run; the first and the last say their day, or their time where the day is the same."""
    first, last = points[0], points[-1]
    axis = {
        "values": [first["x"], last["x"]],
        "labelExpr": f"datum.value == {first['x']} ? '{first['label']}' : '{last['label']}'",
        "ticks": False,
    }
    scale = {"nice": False, "zero": False, "padding": 20}
    return {"field": "x", "type": "quantitative", "title": None, "scale": scale, "axis": axis}


def _share_axis(values: Sequence[float], limit: float | None) -> Spec:
    low = min([*values, *([limit] if limit is not None else [])])
    start = max(0.0, (int(low * 10) - 1) / 10) if low >= 0.3 else 0.0
    axis = {"format": ".1f" if start < 0.7 else ".2f"}
    return {"field": "y", "type": "quantitative", "title": None, "scale": {"domain": [start, 1]}, "axis": axis}


def _last_point(point: dict[str, Any], x: Spec, y: Spec, colour: str) -> Spec:  # Any: as in _points
    return {
        "data": {"values": [point]},
        "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1, "color": colour, "stroke": CARD},
        "encoding": {"x": x, "y": y},
    }


def _limit_line(limit: float, y: Spec) -> Spec:
    values = {"values": [{"y": limit, "told": f"gate {limit:.2f}"}]}
    rule: Spec = {"mark": {"type": "rule", "color": FAIL, "strokeDash": [4, 4]}, "encoding": {"y": y}}
    label: Spec = {
        "mark": {"type": "text", "align": "left", "dy": 10, "x": 4},
        "encoding": {"y": y, "text": {"field": "told"}},
    }
    return {"data": values, "layer": [rule, label]}


def _pass_limit(report: Report) -> float | None:
    limits = (check.limit for check in report.gate.checks if check.name == "pass_rate")
    return next((limit for limit in limits if limit is not None), None)


def _spec(
    layers: list[Spec],
    *,
    width: int = WIDTH,
    height: int = HEIGHT,
    values: list[dict[str, Any]] | None = None,  # Any: as in _points
) -> Spec:
    spec: Spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "width": width,
        "height": height,
        "background": None,
        "padding": 4,
        "config": _CONFIG,
        "layer": layers,
    }
    return {**spec, "data": {"values": values}} if values is not None else spec
