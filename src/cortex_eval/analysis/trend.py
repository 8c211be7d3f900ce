"""How a suite did against one target over its runs: the values that tables and charts are drawn from."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple

import orjson

from cortex_eval.core import Direction

PointSource = Literal["cortex", "imported"]
LOCAL_KINDS = ("python", "command", "recorded")
"""Targets whose replies are decided by files of the project."""


class TrendFigure(NamedTuple):
    """One metric of one run."""

    mean: float
    low: float | None = None
    high: float | None = None
    """Of the 95 % interval; None: its spread is not known."""
    unit: str = ""
    direction: Direction = "higher"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stability:
    """How many verdicts of a run are those of the run before."""

    against: str
    """The run before: the newest earlier one of the same suite and target that played every case to its end."""
    compared: int
    """Cases with a verdict in both runs."""
    same: int
    """Of these, the ones with the same verdict."""
    flaky: int | None = None
    """Cases with different verdicts although nothing had changed: between repeats, and, when target, scorers and cases
    are those of the run before, between the two runs. None: neither could be looked at."""

    @property
    def share(self) -> float | None:
        """Share of the same verdicts; None when there was nothing to compare."""
        return self.same / self.compared if self.compared else None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendPoint:
    """One run in the history of a suite and a target. What is not known is None or '', never 0."""

    run_id: str
    finished: str
    """ISO 8601."""
    suite: str = ""
    target: str = ""
    target_version: str | None = None
    git_commit: str = ""
    git_branch: str = ""
    git_dirty: bool | None = None
    """Whether files differed from the commit."""
    dataset_version: str = ""
    """Points of different versions are not one line: the questions were others."""
    scoring: str = ""
    """Of the scorers and the passing threshold: points of different ones are not one line either; '': not known."""
    cases: int | None = None
    pass_rate: float | None = None
    low: float | None = None
    high: float | None = None
    """Of the pass rate."""
    overall_score: float | None = None
    overall_low: float | None = None
    overall_high: float | None = None
    latency_p50: float | None = None
    latency_p95: float | None = None
    """In ms."""
    errors: int | None = None
    """Cases that ended in an error."""
    stability: float | None = None
    """Share of the cases whose verdict is that of the run before; None: there was none to compare with."""
    compared: int | None = None
    """Cases that `stability` rests on."""
    flaky: int | None = None
    """Cases with different verdicts although nothing had changed (see `Stability.flaky`)."""
    is_quick: bool = False
    """A sample of the suite; its figures are weighted to the full mix."""
    is_partial: bool = False
    """Not every case of the suite, or stopped before its end: not comparable with whole runs."""
    source: PointSource = "cortex"
    """`imported`: read from a file that was made elsewhere."""
    metrics: Mapping[str, TrendFigure] = field(default_factory=dict)
    """Every metric by its name in a report."""

    @property
    def error_rate(self) -> float | None:
        """Share of the cases that ended in an error."""
        return self.errors / self.cases if self.cases and self.errors is not None else None

    @property
    def is_whole(self) -> bool:
        """Whether it played every case of the suite to its end."""
        return not self.is_quick and not self.is_partial


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """The runs of one suite against one target, oldest first; in a report the last one is the report's own run."""

    suite: str
    target: str
    points: tuple[TrendPoint, ...]

    def starts_anew(self, place: int) -> bool:
        """Whether the line breaks before this point, because it is not comparable with the one before."""
        return bool(self.why_anew(place))

    def why_anew(self, place: int) -> str:
        """Why the line breaks before this point: other cases, or scored in another way; empty when it does not."""
        if place == 0:
            return ""
        before, now = self.points[place - 1], self.points[place]
        if before.dataset_version != now.dataset_version:
            return "other dataset"
        is_known = bool(before.scoring and now.scoring)
        return "scored in another way" if is_known and before.scoring != now.scoring else ""

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The metrics that some point has, in the order in which they are met, newest point first."""
        return tuple(dict.fromkeys(name for point in reversed(self.points) for name in point.metrics))

    def to_dict(self) -> dict[str, Any]:  # Any: JSON
        """As the report file holds it."""
        points = [point_fields(point) | {"starts_anew": self.starts_anew(n)} for n, point in enumerate(self.points)]
        return {"suite": self.suite, "target": self.target, "points": points}


def point_fields(point: TrendPoint) -> dict[str, Any]:  # Any: JSON
    """A point as JSON holds it; `read_point` gives it back."""
    metrics = {name: figure._asdict() for name, figure in point.metrics.items()}
    return asdict(point) | {"metrics": metrics}


def read_point(fields: Mapping[str, Any]) -> TrendPoint:  # Any: JSON
    """The point that `point_fields` wrote; fields of a later version are left out."""
    known = {name: value for name, value in fields.items() if name in TrendPoint.__dataclass_fields__}
    metrics = {name: TrendFigure(**figure) for name, figure in known.pop("metrics", {}).items()}
    return TrendPoint(**known, metrics=metrics)


def point_of_report(
    document: Mapping[str, Any],  # Any: JSON
    *,
    finished: str | None = None,
    status: str | None = None,
    source: PointSource = "cortex",
) -> TrendPoint:
    """The point of a report file, or of what the store keeps of a run; `finished` and `status` as known by now."""
    run, totals, metrics = document["run"], document["totals"], document["metrics"]
    manifest = run.get("manifest") or {}
    git, chosen = manifest.get("git") or {}, manifest.get("selection") or {}
    passes, overall = metrics.get("pass_rate") or {}, metrics.get("overall_score") or {}
    latency, stability = document.get("latency_ms") or {}, document.get("stability") or {}
    is_sample = chosen.get("chosen", 0) < chosen.get("matching", 0)
    is_drawn = chosen.get("strata") != {}  # else the first cases only, as for a try-out with --limit
    is_filtered = chosen.get("matching", 0) < chosen.get("of", 0) or (is_sample and not is_drawn)
    compared = stability.get("compared")
    return TrendPoint(
        run_id=run["id"],
        suite=run["suite"],
        target=run["target"]["name"],
        target_version=run["target"].get("version"),
        finished=finished or run.get("finished") or document["timestamp"],
        git_commit=git.get("commit", ""),
        git_branch=git.get("branch", ""),
        git_dirty=git.get("dirty"),
        dataset_version=run["dataset"]["version"],
        scoring=_scoring(manifest),
        cases=totals["cases"],
        pass_rate=totals.get("pass_rate"),
        low=passes.get("low"),
        high=passes.get("high"),
        overall_score=totals.get("overall_score"),
        overall_low=overall.get("low"),
        overall_high=overall.get("high"),
        latency_p50=latency.get("p50"),
        latency_p95=latency.get("p95"),
        errors=totals.get("errors"),
        stability=stability["same"] / compared if compared else None,
        compared=compared,
        flaky=stability.get("flaky"),
        is_quick=is_sample and is_drawn,
        is_partial=is_filtered or (status or run.get("status")) != "completed",
        source=source,
        metrics={name: _figure(each) for name, each in metrics.items()},
    )


def _scoring(manifest: Mapping[str, Any]) -> str:  # Any: JSON
    """A short name for the scorers and the passing threshold of a run; empty when they are not known."""
    if not manifest.get("scorers"):
        return ""
    told = orjson.dumps([manifest["scorers"], manifest.get("passing_threshold")], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(told).hexdigest()[:12]


def _figure(metric: Mapping[str, Any]) -> TrendFigure:  # Any: JSON
    return TrendFigure(**{name: metric[name] for name in TrendFigure._fields if name in metric})


def target_changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:  # Any: manifests
    """Why replies of one run cannot be taken for those that the other's target would give; '' when they can.

    The same settings are not enough: a service may be another one tomorrow. It is known to be the same when it states
    its version, or when it is code of this project and both runs were made at the same commit without any change.
    """
    was, is_now = dict(before.get("target") or {}), dict(now.get("target") or {})
    for name in ("name", "kind", "version"):
        if was.get(name) != is_now.get(name):
            return f"the target's {name} was {was.get(name) or 'not stated'} and is {is_now.get(name) or 'not stated'}"
    if was != is_now:
        return "the target has other settings"
    if is_now.get("version") is not None:
        return ""
    if is_now.get("kind") not in LOCAL_KINDS:
        return f"{is_now.get('name')} states no version, so nobody can tell whether it is still the same"
    commits = [(each.get("git") or {}) for each in (before, now)]
    if not all(each.get("commit") and each.get("dirty") is False for each in commits):
        return f"{is_now.get('name')} states no version, and its code is not at a commit without changes"
    return "" if commits[0]["commit"] == commits[1]["commit"] else "the code is at another commit"


def scorer_changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:  # Any: manifests
    """Why verdicts of one run cannot be taken for those of the other's scorers; '' when they can."""
    was, is_now = before.get("scorers") or {}, now.get("scorers") or {}
    changed = sorted(name for name in {*was, *is_now} if was.get(name) != is_now.get(name))
    if changed:
        return f"changed: {', '.join(changed)}"
    if before.get("passing_threshold") != now.get("passing_threshold"):
        return "the passing threshold changed"
    return ""
