"""The history of a suite as a terminal shows it: a line of little bars, and a table of its runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from cortex_eval.analysis import Trend, TrendFigure, TrendPoint, metric_name
from cortex_eval.core import InputError, did_you_mean
from cortex_eval.reports.text import cut, visible

WIDTH = 80
BARS = "▁▂▃▄▅▆▇█"
NO_VALUE, BREAK = "·", "│"
MARKS = {"q": "a sample, weighted to the full mix", "p": "not every case", "i": "imported"}
ANEW = {"other dataset": "the dataset is another one", "scored in another way": "scorers or passing_threshold differ"}
OF_POINTS = ("stability", "error_rate", "flaky", "latency_p50", "latency_p95")
"""Figures of a run that are no metrics of its report."""


class _Column(NamedTuple):
    title: str
    cell: Callable[[TrendPoint], str]
    is_number: bool = False


def render_trend(trend: Trend, *, metric: str | None = None) -> str:
    """One suite and target as text of at most 80 columns; with `metric`, of that figure alone."""
    lines = [_header(trend), "", *_bars(trend, _figures(trend, metric)), ""]
    lines += _table(trend, metric)
    marks = {mark for point in trend.points for mark in _marks(point)}
    legend = [f"{mark}: {meaning}" for mark, meaning in MARKS.items() if mark in marks]
    if any(point.git_dirty for point in trend.points):
        legend.append("*: files differed from the commit")
    return "\n".join([*lines, *(["", f"  {'; '.join(legend)}"] if legend else [])])


def figure_at(point: TrendPoint, name: str) -> TrendFigure | None:
    """A figure of a run by its name in a report, in the project file, or among `OF_POINTS`; None: it has none."""
    if name in OF_POINTS:
        value = getattr(point, name)
        unit = "ms" if name.startswith("latency") else "cases" if name == "flaky" else ""
        return None if value is None else TrendFigure(float(value), unit=unit)
    if name == "pass_rate" and name not in point.metrics and point.pass_rate is not None:
        return TrendFigure(point.pass_rate, point.low, point.high)
    return point.metrics.get(metric_name(name, point.metrics))


def check_metric(trends: Sequence[Trend], name: str) -> None:
    """Raise InputError that offers the nearest name when no run has this figure."""
    known = {*OF_POINTS, "pass_rate", *(each for trend in trends for each in trend.metric_names)}
    if not any(figure_at(point, name) for trend in trends for point in trend.points):
        raise InputError(f"No run has a figure {name!r}. {did_you_mean(name, known)}")


def sparkline(trend: Trend, values: Sequence[float | None]) -> str:
    """The values as little bars from the lowest to the highest; a stroke where the dataset became another one."""
    known = [value for value in values if value is not None]
    if not known:
        return ""
    low, spread = min(known), max(known) - min(known)
    bars = ""
    for place, value in enumerate(values):
        bars += BREAK if trend.starts_anew(place) else ""
        if value is None:
            bars += NO_VALUE
        else:
            bars += BARS[round((value - low) / spread * (len(BARS) - 1))] if spread > 1e-9 else BARS[3]
    return bars


def _header(trend: Trend) -> str:
    days = [point.finished[:10] for point in trend.points]
    count = f"{len(trend.points)} {'run' if len(trend.points) == 1 else 'runs'}"
    span = days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
    return cut(f"{visible(trend.suite)} → {visible(trend.target)}   {count}, {span}", WIDTH)


def _figures(trend: Trend, metric: str | None) -> list[str]:
    if metric is not None:
        return [metric]
    names = ["overall_score", "pass_rate", "latency_p95", "error_rate", "stability"]
    if not any(figure_at(point, name) for point in trend.points for name in names[:2]):
        names[:0] = list(trend.metric_names[:3])
    return [name for name in names if any(figure_at(point, name) for point in trend.points)]


def _bars(trend: Trend, names: Sequence[str]) -> Iterator[str]:
    """From the first to the last value of each figure, and the way between; over whole runs, if there are any."""
    width = max((len(name) for name in names), default=0)
    has_whole = any(point.is_whole for point in trend.points)
    for name in names:
        figures = [figure_at(point, name) if point.is_whole or not has_whole else None for point in trend.points]
        known = [figure for figure in figures if figure is not None]
        if not known:  # only samples have it
            continue
        ends = [_number(each) for each in (known[0], known[-1])]
        span = f"{ends[0]} → {ends[1]}" if len(known) > 1 else ends[0]
        bars = sparkline(trend, [each.mean if each else None for each in figures])
        yield cut(f"  {visible(name).ljust(width)}  {span.ljust(17)}  {bars}", WIDTH)


def _number(figure: TrendFigure) -> str:
    if figure.unit == "ms":
        return f"{figure.mean:,.0f} ms"
    return f"{figure.mean:.0f}" if figure.unit == "cases" else f"{figure.mean:.3f}"


def _table(trend: Trend, metric: str | None) -> Iterator[str]:
    """The runs, newest last, by the first choice of columns that fits; a break is told between two of them."""
    for choice in _choices(metric):
        columns = [each for each in choice if any(each.cell(point) not in ("", "–") for point in trend.points)]
        cells = [[column.cell(point) for column in columns] for point in trend.points]
        widths = [max(len(column.title), *(len(row[place]) for row in cells)) for place, column in enumerate(columns)]
        if sum(widths) + 2 * (len(widths) - 1) <= WIDTH:
            break
    yield _row([column.title for column in columns], widths, columns)
    branch = ""
    for place, (point, row) in enumerate(zip(trend.points, cells, strict=True)):
        if point.git_branch and point.git_branch != branch:
            branch = point.git_branch
            yield cut(f"  on branch {visible(branch)}", WIDTH)
        if why := trend.why_anew(place):
            yield f"  {ANEW[why]} from here on: not one line with what is above"
        yield _row(row, widths, columns)


def _row(cells: Sequence[str], widths: Sequence[int], columns: Sequence[_Column]) -> str:
    padded = [
        cell.rjust(width) if column.is_number else cell.ljust(width)
        for cell, width, column in zip(cells, widths, columns, strict=True)
    ]
    return cut("  ".join(padded).rstrip(), WIDTH)


def _choices(metric: str | None) -> list[list[_Column]]:
    """Columns, first choice first: what fits least goes first."""
    run = _Column("run", lambda point: cut(visible(point.run_id), 8))
    day = _Column("finished", lambda point: point.finished[:10])
    commit = _Column("commit", lambda point: f"{point.git_commit[:7]}{'*' if point.git_dirty else ''}" or "–")
    cases = _Column("cases", lambda point: f"{_count(point.cases)}{_marks(point)}", is_number=True)
    if metric is not None:
        moment = _Column("finished (UTC)", lambda point: point.finished[:16].replace("T", " "))
        value = _Column(
            cut(visible(metric), 20),
            lambda point: _number(found) if (found := figure_at(point, metric)) else "–",
            is_number=True,
        )
        interval = _Column("95 %", lambda point: _interval(figure_at(point, metric)))
        return [[run, moment, commit, cases, value, interval]]
    score = _Column("score", lambda point: _rate(point.overall_score), is_number=True)
    passes = _Column("pass", lambda point: _rate(point.pass_rate), is_number=True)
    interval = _Column("95 %", lambda point: _interval(figure_at(point, "pass_rate")))
    both = _Column("p50/95 ms", lambda p: f"{_ms(p.latency_p50)}/{_ms(p.latency_p95)}", is_number=True)
    p95 = _Column("p95 ms", lambda point: _ms(point.latency_p95), is_number=True)
    errors = _Column("err", lambda point: _count(point.errors), is_number=True)
    same = _Column("same", lambda point: _percent(point.stability), is_number=True)
    first = [run, day, commit, cases, score, passes, interval]
    return [[*first, both, errors, same], [*first, p95, errors, same], [*first[:-1], p95, errors, same]]


def _marks(point: TrendPoint) -> str:
    flags = (("q", point.is_quick), ("p", point.is_partial), ("i", point.source == "imported"))
    return "".join(mark for mark, is_so in flags if is_so)


def _count(value: int | None) -> str:
    return "–" if value is None else str(value)


def _rate(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"


def _ms(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.0f}" if value < 10_000 else f"{value / 1000:.0f}k"


def _interval(figure: TrendFigure | None) -> str:
    if figure is None or figure.low is None or figure.high is None:
        return ""
    form = ",.0f" if figure.unit == "ms" else ".2f"
    return f"{figure.low:{form}}–{figure.high:{form}}"
