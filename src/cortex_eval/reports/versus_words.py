"""What a comparison of runs says in words, the same in every rendering."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cortex_eval.analysis import (
    NO_CATEGORY,
    CaseChange,
    CategoryChange,
    Comparison,
    GateSettings,
    PairedMetric,
    Repeats,
    Versus,
    allowed_worsening,
    broken_words,
    case_name,
    chance,
    rounded_up,
)
from cortex_eval.core import RunRecord
from cortex_eval.reports.words import Step, number, plural, with_config

CATEGORIES_NAMED = 3
METRICS_NAMED = 4
CASES_NAMED = 3
WORDS_BEFORE = 24
"""Characters of two replies that are shown before what differs."""
ADJUSTED = (
    "p is adjusted for all that was tested together (Holm), and is of a change either way: twice that of a "
    "statistical gate, which asks only whether it got worse."
)


def run_label(place: int) -> str:
    """A, B, C … for the runs in the order in which they were named."""
    return chr(ord("A") + place) if place < 26 else f"run {place + 1}"


def system(run: RunRecord) -> str:
    """The target with its version."""
    return " ".join(part for part in (run.target_name, run.target_version) if part)


def unit_of(metric: PairedMetric) -> str:
    """Of its figures; empty for shares."""
    return "ms" if metric.name == "latency_ms" else ""


def figure(metric: PairedMetric, value: float | None) -> str:
    """One of the two means."""
    return number(value, unit_of(metric)) if value is None or unit_of(metric) else f"{value:.{_decimals(metric)}f}"


def change(metric: PairedMetric, value: float | None) -> str:
    """A difference with its sign."""
    if value is None:
        return "–"
    places = 0 if unit_of(metric) else _decimals(metric)
    text = f"{abs(value):,.{places}f}"
    sign = "" if float(text.replace(",", "")) == 0 else "+" if value > 0 else "−"
    return sign + text


def interval(metric: PairedMetric) -> str:
    """The interval of the difference in brackets; empty when it is not known."""
    if metric.low is None or metric.high is None:
        return ""
    return f"[{change(metric, metric.low)}, {change(metric, metric.high)}]"


def p_text(p_value: float | None) -> str:
    """An adjusted p-value as people write it, short enough for a table."""
    return "" if p_value is None else chance(p_value).removeprefix("adjusted ")


def outcome(metric: PairedMetric, found: Comparison) -> str:
    """The verdict on one metric in a word or two; new critical failures are never called chance."""
    critical = found.changes.new_critical
    broken = [each for each in critical if metric.name == "pass_rate" or metric.name in each.fails_critical]
    if broken and not metric.is_regression:
        return f"{len(broken):,} new critical"
    if metric.is_telling:
        return f"{metric.verdict}, {p_text(metric.adjusted_p)}"
    if metric.verdict in ("worse", "better"):
        return _within_allowed(metric)
    return "cannot tell" if metric.verdict == "may be chance" and critical else _untold(metric)


def category_outcome(row: CategoryChange, found: Comparison) -> str:
    """The verdict on one category, and how many of its cases changed theirs; critical ones are never called chance."""
    critical = sum((each.category or NO_CATEGORY) == row.category for each in found.changes.new_critical)
    said = [row.metric.verdict if row.metric.verdict in ("worse", "better") else _untold(row.metric)]
    said = [each for each in said if not critical or each == "worse"]
    said += [critical_count(f"{row.newly_broken} broken", row.newly_broken, critical)] if row.newly_broken else []
    said += [f"{row.newly_fixed} fixed"] if row.newly_fixed else []
    return ", ".join(said)


def critical_count(counted: str, count: int, critical: int) -> str:
    """So many cases, and how many of them are critical."""
    if not critical:
        return counted
    return (
        f"{counted}, {'all ' if count > 1 else ''}critical"
        if critical == count
        else f"{counted} ({critical:,} critical)"
    )


def verdict_sentences(versus: Versus) -> list[str]:
    """What came of it, run by run: the numbers, what is allowed, and what could have been seen."""
    sentences = [
        sentence for place, found in enumerate(versus.comparisons, 1) for sentence in _critical(found, run_label(place))
    ]
    if versus.verdict == "new critical failures":
        sentences.append(f"Exit code {versus.exit_code} for that; by the figures over all cases: {versus.by_figures}.")
    for place, found in enumerate(versus.comparisons, 1):
        label = run_label(place)
        said = [_nothing(found, label)] if found.is_empty else [*_not_compared(found, label)]
        said += [*_worse(found, label), *_within(found, label), *_better(found, label)]
        if not any((found.is_empty, found.regressions, found.regressed_categories)) and not any(
            metric.is_telling for metric in found.metrics.values()
        ):
            said += _unseen(found, label)
        sentences += [*said, *_by_the_strict_gate(versus, found, label)]
    return sentences


def _by_the_strict_gate(versus: Versus, found: Comparison, label: str) -> Iterator[str]:
    """That the gate of these runs does not ask how sure a drop is, and would stop a release that this lets through."""
    drops = versus.strict_drops(found)
    if drops and versus.exit_code == 0:
        named = "; ".join(
            f"{_moves(each)} (allowed {number(each.allowed, unit_of(each))})" for each in drops[:METRICS_NAMED]
        )
        rest = f"; and {len(drops) - METRICS_NAMED} more" if len(drops) > METRICS_NAMED else ""
        yield f"The gate of {label} is strict (gate.mode) and would stop it, chance or not: {named}{rest}."


def _not_compared(found: Comparison, label: str) -> Iterator[str]:
    """Which metrics nothing is told of; a note says why."""
    if found.not_compared:
        yield f"Not compared, for {label} is not scored as A is: {', '.join(found.not_compared)}."


def steps(versus: Versus) -> Iterator[Step]:
    """What a reader can do next."""
    for run, found in zip(versus.runs[1:], versus.comparisons, strict=True):
        if found.is_empty and (found.errors_a or found.errors_b):
            down = versus.runs[0] if found.errors_a >= found.errors_b else run
            yield Step("See the errors", with_config(f"cortex runs show {down.id} --failed", down))
            return
    for run, found in zip(versus.runs[1:], versus.comparisons, strict=True):
        if found.not_compared:
            yield Step("Score A in the same way", with_config(f"cortex rescore {versus.runs[0].id}", run))
            yield Step("Then", with_config(f"cortex compare latest {run.id}", run))
            if found.unlike.extra:
                yield Step(f"Or install {found.unlike.extra}, and run again", with_config("cortex run", run))
            break
    for run, found in zip(versus.runs[1:], versus.comparisons, strict=True):
        if found.newly_broken:
            yield Step("See what failed", with_config(f"cortex runs show {run.id} --failed", run))
            break


def repeat_sentence(label: str, repeats: Repeats) -> str:
    """What asking again showed."""
    return (
        f"{label}, asked {repeats.k} times: pass@{repeats.k} {repeats.pass_at_k:.2f}, "
        f"pass^{repeats.k} {repeats.pass_hat_k:.2f}"
        + ("" if repeats.within_variance is None else f", variance within cases {repeats.within_variance:.3f}")
    )


def reply_shown(text: str | None) -> str:
    """A reply of a case, or a word for none."""
    return "(no answer)" if text is None else text or "(no text)"


def replies_shown(change: CaseChange, width: int) -> tuple[str, str]:
    """What was replied then and now; of two that begin alike for so long, from shortly before where they part."""
    was, now = (" ".join(reply_shown(text).split()) for text in (change.reply_before, change.reply_after))
    parts = (place for place, (one, other) in enumerate(zip(was, now, strict=False)) if one != other)
    alike = next(parts, min(len(was), len(now)))
    if alike < width - WORDS_BEFORE or was == now:
        return was, now
    begin = was.find(" ", alike - WORDS_BEFORE, alike) + 1 or alike - WORDS_BEFORE  # not every language parts its words
    return f"…{was[begin:]}", f"…{now[begin:]}"


def bounds_sentences(found: Comparison) -> list[str]:
    """Which metrics have scores in one run only, in one sentence; none where there is nothing to compare."""
    lost = [each for each in found.metrics.values() if each.only_a + each.only_b]
    if found.is_empty or not lost:
        return []
    known = any(each.worst is not None and each.best is not None for each in lost)
    ends = ", and what the change would be with them, at worst and at best" if known else ""
    return [f"Scored in one run only{ends}: {'; '.join(map(_bounds, lost))}."]


def _bounds(metric: PairedMetric) -> str:
    """Where a metric lies if what only one run scored had gone as badly or as well as can be."""
    counted = f"{metric.name} {metric.only_a + metric.only_b:,}"
    if metric.worst is None or metric.best is None:
        return counted
    return f"{counted} ({change(metric, metric.worst)} to {change(metric, metric.best)})"


def _within_allowed(metric: PairedMetric) -> str:
    return f"within {number(metric.allowed, unit_of(metric))}"


def _untold(metric: PairedMetric) -> str:
    """Of what is neither worse nor better: only what is the same in every pair is no difference."""
    if metric.verdict == "no difference seen":
        return _within_allowed(metric) if metric.differing else "no difference"
    return metric.verdict if metric.verdict in ("may be chance", "not compared") else "not known"


def _critical(found: Comparison, label: str) -> Iterator[str]:
    """Which cases fail now that must not: no p-value speaks for them."""
    broken, flaky = found.changes.new_critical, found.changes.flaky_critical
    if broken:
        failures = f"{len(broken):,} new critical {plural('failure', len(broken))} in {label}"
        yield f"{failures}, a regression whatever the chance: {_named(broken)}."
    if flaky:
        what = f"{len(flaky):,} critical {plural('case', len(flaky))} failed in {label} and passed when asked again"
        yield f"{what}, which is flaky and no regression: {_named(flaky)}."


def _named(cases: Sequence[CaseChange]) -> str:
    """The first of them by their questions."""
    more = len(cases) - CASES_NAMED
    return ", ".join(map(case_name, cases[:CASES_NAMED])) + (f" and {more:,} more" if more > 0 else "")


def _nothing(found: Comparison, label: str) -> str:
    """Why there is nothing to compare."""
    counts = [
        f"{name} has {count:,} {plural('error', count)}"
        for name, count in (("A", found.errors_a), (label, found.errors_b))
        if count
    ]
    cases = f"{found.cases:,} {plural('case', found.cases)}"
    why = f"{' and '.join(counts)} in {cases}" if counts else f"the {cases} have no score in one of them, or in both"
    return f"No case was scored in both A and {label}: {why}."


def _worse(found: Comparison, label: str) -> Iterator[str]:
    if found.regressions:
        yield f"{label}: {_listed(found.regressions)}."
    elif found.regressed_categories:
        yield f"{label} is worse in part of the cases."
    named = found.regressed_categories[:CATEGORIES_NAMED]
    if named:
        parts = "; ".join(
            f"{each.category} {figure(each.metric, each.metric.a)} → {figure(each.metric, each.metric.b)}"
            for each in named
        )
        noun = "category" if len(named) == 1 else "categories"
        yield f"{noun.capitalize()} that got worse in {named[0].metric.name}: {parts}."
    if (found.regressions or named) and found.newly_broken:
        count = len(found.newly_broken)
        yield f"{count:,} {plural('case', count)} newly broken, {len(found.newly_fixed):,} fixed."
    elif sum(each.is_critical for each in found.newly_broken) < len(found.newly_broken):  # else they are named already
        yield f"{broken_words(found.changes, 'A')}."


def _within(found: Comparison, label: str) -> Iterator[str]:
    small = [
        each
        for each in found.metrics.values()
        if each.verdict == "worse" and each.is_telling and not each.is_regression
    ]
    if small:
        yield f"{label} is worse by no more than is allowed: {_listed(small)}."


def _better(found: Comparison, label: str) -> Iterator[str]:
    improved = [each for each in found.metrics.values() if each.verdict == "better" and each.is_telling]
    if improved:
        yield f"{label} is better: {_listed(improved)}."


def _unseen(found: Comparison, label: str) -> Iterator[str]:
    """What a comparison that saw nothing could have seen."""
    compared = {name: each for name, each in found.metrics.items() if each.is_compared}
    if found.not_compared and all(map(unit_of, compared.values())):
        return  # nothing but times is left
    yield _what_differs(found, label)
    name = next((each for each in ("pass_rate", "overall_score") if each in compared), None)
    metric = compared[name] if name else next(iter(compared.values()), None)
    if metric is None:
        return
    way = "drop" if metric.direction == "higher" else "rise"
    size = metric.smallest_detectable
    seen = f"a {way} of {metric.name} by {rounded_up(size)} or more" if size else f"no {way} of {metric.name}"
    sentence = (
        f"In {found.cases:,} {plural('case', found.cases)} a statistical gate would see {seen}, four times in five"
    )
    if metric.more_cases_needed and metric.cases_needed and metric.allowed is not None:
        allowed = number(metric.allowed, unit_of(metric))
        sentence += f"; to see the allowed {allowed} ({_source(metric)}) takes {metric.cases_needed:,} cases"
    yield f"{sentence}."


def _source(metric: PairedMetric) -> str:
    """Where the allowance comes from."""
    default = allowed_worsening(GateSettings(), {metric.name: metric.direction}).get(metric.name)
    return "gate.regression, by default" if metric.allowed == default else "of your gate"


def _what_differs(found: Comparison, label: str) -> str:
    doubtful = [each for each in found.metrics.values() if each.verdict == "may be chance"]
    if doubtful:
        first = [each for each in doubtful if each.name == "pass_rate"] or doubtful
        if found.changes.new_critical:
            return f"{label}: {_moved(first[0])}, which so few changes alone do not prove."
        rest = f", as may what differs in {len(doubtful) - 1} more" if len(doubtful) > 1 else ""
        return f"{label}: {_moved(first[0])}, which may be chance{rest}."
    if all(not each.differing for each in found.metrics.values() if not unit_of(each)):
        is_whole = not any(each.only_a or each.only_b for each in found.metrics.values())
        others = "In what is compared, " if found.not_compared else ""
        return f"{others}A and {label} score the same in every case{'' if is_whole else ' that both scored'}."
    return f"A and {label} differ by no more than is allowed, so far as the intervals reach."


def _listed(metrics: Sequence[PairedMetric]) -> str:
    rest = len(metrics) - METRICS_NAMED
    return "; ".join(map(_moved, metrics[:METRICS_NAMED])) + (f"; and {rest} more" if rest > 0 else "")


def _moves(metric: PairedMetric) -> str:
    word = "rose" if (metric.diff or 0.0) > 0 else "fell"
    return f"{metric.name} {word} {figure(metric, metric.a)} → {figure(metric, metric.b)}"


def _moved(metric: PairedMetric) -> str:
    allowed = (
        f", allowed {number(metric.allowed, unit_of(metric))}" if metric.verdict == "worse" and metric.allowed else ""
    )
    return f"{_moves(metric)} ({chance(metric.adjusted_p)}{allowed})"


def _decimals(metric: PairedMetric) -> int:
    narrow = metric.low is not None and metric.high is not None and metric.high - metric.low < 0.01
    return 3 if narrow or (metric.diff is not None and 0 < abs(metric.diff) < 0.005) else 2
