"""The words and numbers that every rendering shares, so that none says what another does not."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from cortex_eval.analysis import MAY_BE_CHANCE, Check, Group, Metric, Report, Unscored, Verdict
from cortex_eval.core import RunRecord
from cortex_eval.reports.critical import critical_sentence, passed_all_the_same
from cortex_eval.reports.though_passed import let_through_sentence, passed_numbers_sentence

TITLES: dict[Verdict, str] = {
    "passed": "Passed",
    "regressed": "Regression",
    "below": "Below threshold",
    "error": "Error",
    "inconclusive": "Inconclusive",
}
ADJUSTED_P = (
    "Adjusted p: how often so large a change for the worse would come by chance if nothing had changed, made larger "
    "for all the metrics that are tested together (Holm)."
)
HOW_TO_STOP = (
    "Whether that is chance cannot be told, and the exit code is 0. To stop a release here, write inconclusive: fail "
    "or mode: strict under gate:, or tag the cases that must not break as critical"
)
WIDE_INTERVAL = 0.3
"""A pass whose pass rate may lie anywhere in so wide an interval, or a wider one, proves little."""
LIMITS_NAMED = 3
"""Limits that were missed beside errors, in a sentence; the gate's table has all."""
REASONS_NAMED = 3
"""Metrics or categories that are worse or perhaps are, in a sentence; the gate's table has all."""
TO_MEND = ("target_unreachable", "target_unusable", "target_auth")
"""Why a run paused that does not pass by itself."""
CRITICAL_BROKEN = "regression.critical"
_RUN_FIGURES = ("pass_rate", "overall_score", "latency_ms", "llm_usage_rate")


class Step(NamedTuple):
    """What a reader can do next."""

    label: str
    command: str


class VerdictWords(NamedTuple):
    """A verdict in words."""

    title: str
    sentences: tuple[str, ...]
    """What happened, the number and the limit; of a pass also that critical cases failed all the same."""
    beside: tuple[str, ...]
    """What did not decide and should be seen: critical cases that are flaky, what got worse or perhaps did."""
    steps: tuple[Step, ...]

    @property
    def sentence(self) -> str:
        """All of what happened, one after the other."""
        return " ".join(self.sentences)


def verdict_words(report: Report, *, failed_are_shown: bool = False) -> VerdictWords:
    """The verdict as every rendering says it; `failed_are_shown`: the reader sees the failed cases beside it."""
    beside = tuple(f"{sentence}." for sentence in _beside(report))
    steps = tuple(Step(label, with_config(command, report.run)) for label, command in _steps(report, failed_are_shown))
    return VerdictWords(TITLES[report.gate.verdict], tuple(_sentences(report)), beside, steps)


def _beside(report: Report) -> Iterator[str]:
    """What did not decide and should be seen: how little a pass says, what failed that must not, flaky cases."""
    checks = report.gate.checks
    if few := few_cases(report):
        yield few
    if shared := _shared_limits(report):
        yield shared
    if critical := critical_sentence(report):
        yield critical
    yield from filter(None, (let_through_sentence(report), passed_numbers_sentence(report)))
    yield from (f"Flaky: {check.reason}" for check in checks if check.name == "flaky")
    if report.gate.verdict != "regressed":
        drops = [
            check.reason
            for check in checks
            if not check.ok and check.name.startswith("regression.") and not _is_told(check, report)
        ]
        if drops:
            yield f"Worse than {_baseline_name(report)} too: {_named(drops)}"
    if report.gate.verdict in ("regressed", "error"):  # otherwise it is among what made the verdict
        yield from (check.reason for check in checks if check.name.removeprefix("anchor.") == "scoring")
    noise = [check.reason.removesuffix(MAY_BE_CHANCE) for check in checks if check.name.startswith("noise.")]
    if noise:
        yield f"Perhaps worse, perhaps chance: {_named(noise)}"
    if report.gate.verdict != "regressed":
        parts = [check.reason for check in checks if check.name.startswith(("category.", "anchor.category."))]
        if parts:
            yield f"{'A category is' if len(parts) == 1 else 'Categories are'} worse: {_named(parts)}"
    if report.gate.verdict == "inconclusive" and report.exit_code == 0 and (noise or _broken(report)):
        yield HOW_TO_STOP


def _named(reasons: Sequence[str]) -> str:
    """The first few in one sentence, and how many more there are."""
    rest = f"; and {len(reasons) - REASONS_NAMED} more" if len(reasons) > REASONS_NAMED else ""
    return f"{'; '.join(reasons[:REASONS_NAMED])}{rest}"


def few_cases(report: Report) -> str:
    """That the cases of a pass are too few to show much; empty when they are not."""
    rate = report.metrics.get("pass_rate")
    if report.gate.verdict != "passed" or rate is None or rate.low is None or rate.high is None:
        return ""
    if rate.high - rate.low < WIDE_INTERVAL:
        return ""
    return f"{counted_cases(report)}: the pass rate may be anywhere from {rate.low:.2f} to {rate.high:.2f}"


def _shared_limits(report: Report) -> str:
    """Where limits stand that a run missed, when they are those of all suites; empty otherwise."""
    gate = report.run.manifest.get("gate", {})
    missed = {check.name for check in report.gate.checks if not check.ok}
    if report.gate.verdict != "below" or not gate.get("shared_in") or not missed & {*gate.get("thresholds", {})}:
        return ""
    own = f"suites.{report.run.suite}.gate"
    return f"By gate.thresholds of {gate['shared_in']}, for every suite without a gate of its own ({own})"


def _steps(report: Report, failed_are_shown: bool) -> Iterator[Step]:
    run, totals, verdict = report.run.id, report.totals, report.gate.verdict
    has_trouble = totals.failed > 0 or totals.errors > 0
    if verdict == "passed" and not has_trouble:
        yield Step("Compare later runs with it", f"cortex baseline set {run}{_naming(report)}")
    elif failed_are_shown:
        yield Step("Have it as a page", f"cortex report {run}")
    elif has_trouble:
        label = {"passed": "See what failed", "error": "See what happened"}.get(verdict, "See them")
        yield Step(label, f"cortex runs show {run} --failed")
    yield from scoring_steps(report)
    if report.run.status == "paused":
        is_to_mend = (report.run.manifest.get("paused") or {}).get("kind") in TO_MEND
        yield Step("When that is mended, go on" if is_to_mend else "Go on", f"cortex run --resume {run}")
    elif (parent := report.run.manifest.get("parent")) and _lacks_replies(report):
        yield Step(f"Ask again what run {parent} lacks", f"cortex run --resume {parent}")
        yield Step("Then", f"cortex rescore {parent}")
    elif verdict == "error" or totals.errors:
        yield Step("Ask again what is missing", f"cortex run --resume {run}")
        if any(kind.startswith("error_judge") for kind in report.error_kinds):
            yield Step("With another judge or prompt, and no new call to the target", f"cortex rescore {run}")


def _lacks_replies(report: Report) -> bool:
    """Whether there are cases without a reply, which a run that scores those of another one cannot get."""
    kinds = report.error_kinds
    return bool(report.run.manifest.get("unanswered")) or any(kind.startswith("error_target") for kind in kinds)


def scoring_steps(report: Report) -> Iterator[Step]:
    """How to have a baseline that is scored as the run is; nothing where it is already."""
    held = (("baseline", "scoring", report.baseline, ""), ("anchor", "anchor.scoring", report.anchor, " --anchor"))
    for what, check, past, option in held:
        if past is None or past.run_id is None or all(each.name != check for each in report.gate.checks):
            continue
        name = f"--name {shlex.quote(past.name)}{option}"
        if report.run.manifest.get("parent") == past.run_id:
            yield Step(f"Make it the {what}", f"cortex baseline set {report.run.id} {name}")
        else:
            yield Step(f"Score the {what} in the same way", f"cortex rescore {past.run_id}")
            yield Step("Then", f"cortex baseline set latest {name}")


def _naming(report: Report) -> str:
    """The option that makes a run the baseline that its gate names; empty where that is the default one."""
    name = report.run.manifest.get("gate", {}).get("baseline")
    return f" --name {shlex.quote(name)}" if name and name != "default" else ""


def _baseline_name(report: Report) -> str:
    return report.baseline.name if report.baseline else "the baseline"


def with_config(command: str, run: RunRecord) -> str:
    """The command with the project file that the run was started with, if it was named then."""
    return with_project(command, run.manifest.get("request", {}).get("config"))


def with_project(command: str, config: Path | str | None) -> str:
    """The command with this project file; None: nobody named one, and it is found without."""
    return f"{command} --config {shlex.quote(_found_from_here(str(config)))}" if config else command


def from_here(path: Path) -> str:
    """The path as it is printed, so that it can be opened: relative in this folder and below it, else absolute."""
    whole, here = Path(os.path.abspath(path)), Path.cwd()  # noqa: PTH100  # without following links
    return str(whole.relative_to(here) if whole.is_relative_to(here) else whole)


def _found_from_here(config: str) -> str:
    """The path as it leads to the file from this folder: whoever went into the project is in one of its folders now."""
    parts = Path(config).parts
    tails = (Path(*parts[dropped:]) for dropped in range(len(parts)))
    return next((str(tail) for tail in tails if tail.is_file()), config)


def _sentences(report: Report) -> list[str]:
    telling = telling_checks(report)
    words = [_as_sentence(check, report) for check in telling[:3]]
    if report.run.status == "paused" and report.run.paused:
        words[:1] = [f"Paused: {''.join(words[:1])}"]
    if len(telling) > 3:
        words[-1] += f" And {len(telling) - 3} more."
    if missed := missed_limits(report):
        words.append(f"{_also(missed)}.")
    worst = next((each for each in report.regressions if each.worst_category is not None), None)
    if report.gate.verdict == "regressed" and worst is not None:
        failed = worst.worst_category_failed or 0
        words.append(f"Worst: {worst.worst_category}, {failed} failed {plural('case', failed)}.")
    compared = (report.baseline_comparison or {}).values()
    if report.gate.verdict == "passed" and any(change.current is not None for change in compared):
        words.append(f"No regression against {_baseline_name(report)}.")
    if critical := passed_all_the_same(report):
        words.append(critical)
    broken = _broken(report)
    if broken is None or any(check.name == CRITICAL_BROKEN and check.value == broken.value for check in telling):
        return words  # nothing broke, or what broke is critical, and the cases are named already
    told = broken_sentence(report)
    return [told, *words] if report.gate.verdict == "inconclusive" else [*words, told]


def _is_told(check: Check, report: Report) -> bool:
    """Whether these critical cases are all of the newly broken ones, which are named beside the verdict."""
    broken = _broken(report)
    return check.name == CRITICAL_BROKEN and broken is not None and broken.value == check.value


def _as_sentence(check: Check, report: Report) -> str:
    """A reason with a capital letter and a full stop; the name of a metric stays as the project file spells it."""
    reason = check.reason.rstrip(".")
    first = reason.partition(" ")[0]
    is_name = "_" in first or first.endswith(":") or first in {*report.metrics, *report.unscored, check.name}
    return f"{reason if is_name else reason[:1].upper() + reason[1:]}."


def broken_sentence(report: Report) -> str:
    """The cases that passed in the baseline and fail now, as the verdict says it; empty when there are none."""
    broken = _broken(report)
    return _as_sentence(broken, report) if broken else ""


def _broken(report: Report) -> Check | None:
    """The cases that passed in the baseline and fail now, if there are such."""
    return next((check for check in report.gate.checks if check.name == "newly_broken"), None)


def telling_checks(report: Report) -> list[Check]:
    """The checks that made the verdict: those that failed first, or those that had a limit to reach."""
    verdict = report.gate.verdict
    failed = [check for check in report.gate.checks if not check.ok]
    if verdict == "error":
        return [check for check in failed if check.name == "complete" or check.name.startswith("error_rate")]
    if verdict == "passed":
        not_told = ("error_rate", "regression", "noise")
        return [
            check for check in report.gate.checks if check.limit is not None and not check.name.startswith(not_told)
        ]
    is_drop = verdict == "regressed"
    return [
        check
        for check in failed
        if check.name.startswith("regression.") == is_drop and not check.name.startswith("error_rate")
    ]


def missed_limits(report: Report) -> list[Check]:
    """The limits that a whole run missed beside its errors, which decide before them."""
    checks = report.gate.checks
    is_part = any(check.name == "complete" and not check.ok for check in checks)
    if report.gate.verdict != "error" or is_part or not report.totals.passed + report.totals.failed:
        return []
    others = ("error_rate", "regression.", "noise.")
    return [each for each in checks if not each.ok and not each.is_open and not each.name.startswith(others)]


def _also(missed: Sequence[Check]) -> str:
    reasons = []
    for check in missed[:LIMITS_NAMED]:
        reason, _, remark = check.reason.partition("; ")
        reasons.append(f"{reason} ({remark})" if remark else reason)
    rest = f"; and {len(missed) - LIMITS_NAMED} more" if len(missed) > LIMITS_NAMED else ""
    is_below = all(" is under " in check.reason for check in missed)
    return f"Also {'below' if is_below else 'missed'}: {'; '.join(reasons)}{rest}"


def sign_of(check: Check, report: Report) -> str:
    """Whether a check is met; a question mark for what is neither met nor missed."""
    if check.is_open and (check.ok or report.exit_code == 0):
        return "?"
    return "✓" if check.ok else "✕"


def counted_cases(report: Report) -> str:
    """How many cases there are results of, and of how many where that is not all."""
    there, planned = report.totals.cases, report.run.cases - len(report.quarantine)
    of = f" of {planned:,}" if there < planned else ""
    return f"{there:,}{of} {plural('case', planned if of else there)}"


def plural(noun: str, count: int) -> str:
    """The noun in the number that the count asks for."""
    return noun if count == 1 else f"{noun}s"


def number(value: float | None, unit: str = "") -> str:
    """A figure as people read it: a score with two decimals, milliseconds whole, a dash for what is not known."""
    if value is None:
        return "–"
    return f"{value:,.0f} {unit}" if unit else f"{value:.2f}"


def mean_of(metric: Metric) -> str:
    """The mean, with a third decimal only when the interval is narrow enough to deserve it."""
    if metric.unit:
        return number(metric.mean, metric.unit)
    return f"{metric.mean:.{_decimals(metric)}f}"


def interval_of(metric: Metric) -> str:
    """The interval in brackets; empty when it is not known."""
    if metric.low is None or metric.high is None:
        return ""
    if metric.unit:
        return f"[{metric.low:,.0f}, {metric.high:,.0f}]"
    decimals = _decimals(metric)
    return f"[{metric.low:.{decimals}f}, {metric.high:.{decimals}f}]"


def _decimals(metric: Metric) -> int:
    return 3 if metric.low is not None and metric.high is not None and metric.high - metric.low < 0.01 else 2


def figure_rows(report: Report) -> list[tuple[str, Metric | Unscored]]:
    """Every scorer, those without a number after the others, and then the figures of the run."""
    ends = [(name, metric) for name, metric in report.metrics.items() if name in _RUN_FIGURES]
    scorers = [(name, metric) for name, metric in report.metrics.items() if name not in _RUN_FIGURES]
    return [*scorers, *report.unscored.items(), *ends]


def unscored_remark(unscored: Unscored) -> str:
    """Why a scorer has no number, in a word or two."""
    return f"{unscored.errors:,} {plural('error', unscored.errors)}" if unscored.errors else "does not apply"


def main_metric(report: Report) -> str | None:
    """The metric that groups are ranked by."""
    return next((name for name in ("overall_score", "pass_rate") if name in report.metrics), None)


def worst_first(report: Report, groups: dict[str, Group]) -> list[tuple[str, Group]]:
    """The groups from the lowest mean up; those without a mean come first, for nothing is known of them."""
    name = main_metric(report)

    def rank(each: tuple[str, Group]) -> float:
        metric = each[1].metrics.get(name or "")
        return metric.mean if metric else -1.0

    return sorted(groups.items(), key=rank)


def moment(timestamp: str) -> datetime:
    """A stored time, in UTC."""
    read = datetime.fromisoformat(timestamp)
    return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)


def target_label(report: Report) -> str:
    """The target with its version."""
    return " ".join(part for part in (report.run.target_name, report.run.target_version) if part)
