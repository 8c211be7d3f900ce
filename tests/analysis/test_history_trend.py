"""A trend is drawn from what runs were, and says where it breaks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cortex_eval.analysis import (
    Stability,
    Trend,
    TrendFigure,
    TrendPoint,
    point_of_report,
    scorer_changes,
    target_changes,
)
from cortex_eval.core import InputError
from cortex_eval.reports import check_metric, render_trend


def document(**manifest: object) -> dict[str, object]:
    """As the store keeps it of a run."""
    return {
        "timestamp": "2026-01-01T00:00:00+00:00",
        "run": {
            "id": "abcd1234",
            "suite": "clinic",
            "status": "completed",
            "dataset": {"name": "cases.jsonl", "version": "v1", "cases": 10},
            "target": {"name": "bot", "kind": "http", "version": "2.3"},
            "manifest": {"git": {"commit": "c0ffee", "branch": "main", "dirty": True}, **manifest},
        },
        "totals": {"cases": 10, "turns": 10, "passed": 8, "failed": 1, "errors": 1, "pass_rate": 0.89},
        "metrics": {"pass_rate": {"mean": 0.89, "low": 0.5, "high": 0.98, "scored": 9, "total": 10, "unit": ""}},
        "latency_ms": {"p50": 10.0, "p95": 30.0},
        "stability": {"against": "ffff", "compared": 8, "same": 6, "flaky": None},
    }


def test_a_point_holds_what_the_report_said():
    point = point_of_report(document(), finished="2026-01-02T00:00:00+00:00")

    assert (point.finished[:10], point.git_commit, point.git_branch, point.git_dirty) == (
        "2026-01-02",
        "c0ffee",
        "main",
        True,
    )
    assert (point.pass_rate, point.low, point.high, point.overall_score) == (0.89, 0.5, 0.98, None)
    assert (point.stability, point.compared, point.flaky, point.error_rate) == (0.75, 8, None, 0.1)
    assert point.is_whole


@pytest.mark.parametrize(
    ("selection", "status", "is_quick", "is_partial"),
    [
        ({"matching": 10, "of": 10, "chosen": 10}, "completed", False, False),
        ({"matching": 10, "of": 10, "chosen": 4}, "completed", True, False),
        ({"matching": 4, "of": 10, "chosen": 4}, "completed", False, True),
        ({"matching": 10, "of": 10, "chosen": 1, "strata": {}}, "completed", False, True),  # --limit 1
        ({"matching": 10, "of": 10, "chosen": 10}, "cancelled", False, True),
    ],
)
def test_quick_and_partial_runs_are_marked(selection, status, is_quick, is_partial):
    point = point_of_report(document(selection=selection), status=status)

    assert (point.is_quick, point.is_partial) == (is_quick, is_partial)
    assert point.is_whole == (not is_quick and not is_partial)


def points(*values: float | None, versions: str = "", **fields: object) -> Trend:
    made = [
        TrendPoint(
            run_id=f"run{n:05}",
            finished=f"2026-01-{n + 1:02}T12:00:00+00:00",
            dataset_version=versions[n : n + 1],
            cases=20,
            pass_rate=value,
            metrics={} if value is None else {"pass_rate": TrendFigure(value, value / 2, (1 + value) / 2)},
            **fields,
        )
        for n, value in enumerate(values)
    ]
    return Trend(suite="clinic", target="bot", points=tuple(made))


def test_the_line_breaks_where_the_dataset_became_another_one():
    trend = points(0.5, 0.6, 0.7, versions="aab")

    assert [trend.starts_anew(place) for place in range(3)] == [False, False, True]
    text = render_trend(trend)
    assert "▁▅│█" in text
    assert text.index("the dataset is another one") > text.index("run00001")
    assert text.index("the dataset is another one") < text.index("run00002")


def test_the_line_breaks_where_scoring_changed():
    trend = points(0.5, 0.6, 0.7, versions="aaa")
    made = [replace(point, scoring=scoring) for point, scoring in zip(trend.points, ("", "x", "y"), strict=True)]
    trend = replace(trend, points=tuple(made))

    assert [trend.why_anew(place) for place in range(3)] == ["", "", "scored in another way"]
    text = render_trend(trend)
    assert "▁▅│█" in text
    assert "  scorers or passing_threshold differ from here on: not one line with what is above" in text


def test_another_passing_threshold_is_another_scoring():
    kept = {"scorers": {"exact": {"version": "1"}}, "passing_threshold": 0.7}
    manifests = (kept, dict(reversed(kept.items())), {**kept, "passing_threshold": 0.5}, {})
    made = [point_of_report(document(**manifest)) for manifest in manifests]
    first, same, other, unknown = (each.scoring for each in made)

    assert first == same != other
    assert unknown == ""


def test_a_try_out_is_not_where_a_line_begins():
    trend = points(1.0, 0.6, 0.7)
    trend = replace(trend, points=(replace(trend.points[0], is_partial=True), *trend.points[1:]))

    (line,) = [line for line in render_trend(trend).splitlines() if line.startswith("  pass_rate ")]
    assert line.split() == ["pass_rate", "0.600", "→", "0.700", "·▁█"]


def test_a_table_fits_80_columns_and_keeps_what_matters():
    wide = points(
        *(n / 30 for n in range(30)),
        latency_p50=123456.0,
        latency_p95=987654.0,
        errors=12345,
        stability=0.995,
        overall_score=0.5,
        git_commit="0123456789",
        git_branch="a-branch-with-a-name-that-goes-on-and-on-and-on-and-on-and-on-and-on-and-on-and-on",
        git_dirty=True,
        is_partial=True,
        source="imported",
    )

    text = render_trend(wide)

    assert max(map(len, text.splitlines())) <= 80
    assert "p: not every case; i: imported; *: files differed from the commit" in text
    assert "0123456*" in text


def test_what_is_not_known_is_a_gap_and_not_zero():
    text = render_trend(points(0.5, None, 1.0))

    assert "▁·█" in text
    assert "0.00" not in text


def test_one_figure_alone_has_its_interval_and_an_unknown_one_is_refused():
    trend = points(0.5, 0.7)

    assert "0.35–0.85" in render_trend(trend, metric="pass_rate")
    with pytest.raises(InputError, match="Did you mean 'pass_rate'"):
        check_metric([trend], "pass_rat")


def manifest(*, version: str | None = "1", kind: str = "http", commit: str = "", dirty: bool = False, **target: object):
    git = {"commit": commit, "dirty": dirty} if commit else {}
    return {"target": {"name": "bot", "kind": kind, "version": version, "settings": target}, "git": git}


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        (manifest(), manifest(), ""),
        (manifest(version="1"), manifest(version="2"), "version was 1 and is 2"),
        (manifest(url="a"), manifest(url="b"), "other settings"),
        (manifest(version=None), manifest(version=None), "states no version"),
        (manifest(version=None, commit="a"), manifest(version=None, commit="a"), "states no version"),
        (manifest(version=None, kind="python"), manifest(version=None, kind="python"), "not at a commit"),
        (
            manifest(version=None, kind="python", commit="a"),
            manifest(version=None, kind="python", commit="a", dirty=True),
            "not at a commit",
        ),
        (
            manifest(version=None, kind="python", commit="a"),
            manifest(version=None, kind="python", commit="b"),
            "another commit",
        ),
        (
            manifest(version=None, kind="python", commit="a"),
            manifest(version=None, kind="python", commit="a"),
            "",
        ),
    ],
)
def test_a_target_is_the_same_only_when_that_is_known(before, now, said):
    found = target_changes(before, now)

    assert said in found
    assert bool(found) == bool(said)


def test_scorers_are_the_same_when_version_settings_and_threshold_are():
    before = {"scorers": {"exact": {"fingerprint": "a"}, "bleu": {"fingerprint": "b"}}, "passing_threshold": 0.7}

    assert scorer_changes(before, before) == ""
    assert scorer_changes(before, {**before, "scorers": {"exact": {"fingerprint": "c"}}}) == "changed: bleu, exact"
    assert scorer_changes(before, {**before, "passing_threshold": 0.8}) == "the passing threshold changed"


def test_stability_of_nothing_is_not_known():
    assert Stability(against="a", compared=0, same=0).share is None
    assert Stability(against="a", compared=4, same=3).share == 0.75
