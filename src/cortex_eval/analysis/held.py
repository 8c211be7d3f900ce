"""A run held against a baseline: what came of it, and what the gate says of that."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from cortex_eval.analysis.likeness import ALIKE, Unlike
from cortex_eval.analysis.names import SETTING_NAMES
from cortex_eval.analysis.numbers import TOLERANCE, apart, chance, number, rounded_up, signed
from cortex_eval.analysis.verdict import BaselineLabel, Change, Check, Regression, SecondLook

if TYPE_CHECKING:  # a run without a baseline has nothing to compare
    from cortex_eval.analysis.changes import BrokenCategory, CaseChange, Changes
    from cortex_eval.analysis.paired import Comparison, PairedMetric

NAMED = 3
"""Metrics, and cases, that a sentence names; the rest are counted."""
MAY_BE_CHANCE = ", which may be chance"
MADE_ID = re.compile("[0-9a-f]{12}")
"""The id of a case that came without one, made of its content: it tells a reader nothing."""
WORDS_SHOWN = 40
"""Characters of the question of such a case."""
_FIRST = ("pass_rate", "overall_score")
"""Metrics that people know best: what can be seen is told of these, where it is to be told of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A run beside one baseline."""

    label: BaselineLabel
    is_anchor: bool = False
    comparison: Mapping[str, Change] = field(default_factory=dict)
    regressions: tuple[Regression, ...] = ()
    noise: tuple[Regression, ...] = ()
    """Worse by more than is allowed, but perhaps by chance alone."""
    paired: Comparison | None = None
    """Case by case; None: only figures were compared, or nothing."""
    changes: Changes | None = None
    """What became of the verdict of each case; None: the cases of the baseline are not known."""
    is_strict: bool = False
    """Whether the difference alone decided, whatever its chance."""
    remark: str = ""
    """What a reader must know of how it was compared."""
    why_not: str = ""
    """Why it could not be compared at all."""
    unlike: Unlike = ALIKE
    """How the two runs differ in how they were scored."""
    not_compared: tuple[str, ...] = ()
    """Metrics that the gate judges and that could not be compared for that."""

    @property
    def name(self) -> str:
        """The baseline as sentences name it."""
        return f"the anchor {self.label.name}" if self.is_anchor else self.label.name

    @property
    def prefix(self) -> str:
        """Before the name of a metric in the names of checks."""
        return "anchor." if self.is_anchor else ""


class Lacking(NamedTuple):
    """A metric of which a drop as large as is allowed would too often go unseen."""

    held: Held
    metric: PairedMetric


def comparison_checks(held: Sequence[Held], looks: Sequence[SecondLook]) -> list[Check]:
    """What the gate says of all that a run was held against; a flaky critical case comes first."""
    broken = [change for each in held if each.changes is not None for change in each.changes.newly_broken]
    checks = [*_second_look_checks(looks, {change.case_id: _short_name(change) for change in broken})]
    for each in held:
        checks += _checks_of(each)
    checks += _evidence_checks(held)
    worse = any(each.regressions for each in held) or any(look.is_broken for look in looks)
    if held and not worse and all(each.is_strict for each in held):
        which = "metric that was compared" if any(each.not_compared for each in held) else "metric"
        reason = f"no {which} is worse than the baseline by more than is allowed"
        checks.append(Check(name="regression", value=None, limit=None, ok=True, reason=reason))
    return checks


def smallest_detectable_drop(held: Sequence[Held]) -> float | None:
    """A drop of the pass rate of this size would be seen four times in five; None: none would, or nothing is compared.

    Where there is no pass rate it is of the overall score, else of the rate of which least can be seen.
    """
    found = [metric for _, metric in _judged(held) if metric.name != "latency_ms"]
    known = next((name for name in _FIRST if any(metric.name == name for metric in found)), None)
    sizes = [metric.smallest_detectable for metric in found if known in (None, metric.name)]
    return max((size for size in sizes if size is not None), default=None) if None not in sizes else None


def _judged(held: Sequence[Held]) -> list[Lacking]:
    """Every metric that was compared case by case and could have been significant or not."""
    return [
        Lacking(each, metric)
        for each in held
        if each.paired is not None and not each.is_strict
        for metric in each.paired.metrics.values()
        if metric.pairs and metric.allowed is not None
    ]


def lacking(held: Sequence[Held]) -> list[Lacking]:
    """The metrics with too few cases, those that people know best first."""
    found = [
        each
        for each in _judged(held)
        if each.metric.noise is not None  # else two runs with equal latencies, from a recording or the cache
        and not 0 < (each.metric.smallest_detectable or 0.0) <= (each.metric.allowed or 0.0) + TOLERANCE
    ]
    rank = {name: place for place, name in enumerate(_FIRST)}
    return sorted(found, key=lambda each: rank.get(each.metric.name, len(_FIRST)))


def _second_look_checks(looks: Sequence[SecondLook], names: Mapping[str, str]) -> Iterator[Check]:
    """What asking again showed; `names` has what readers know the cases by."""

    def named(look: SecondLook) -> str:
        return names.get(look.case_id, look.case_id)

    flaky = [each for each in looks if not each.is_broken]
    broken = [each for each in looks if each.is_broken]
    if flaky:
        told = ", ".join(f"{named(each)} ({sum(each.passes)} of {len(each.passes)})" for each in flaky[:NAMED])
        reason = f"critical, failed, and passed when asked again: {told}{_more(flaky)}"
        yield Check(name="flaky", value=len(flaky), limit=None, ok=True, reason=reason)
    if broken:
        told = ", ".join(map(named, broken[:NAMED]))
        again = max(len(each.passes) for each in broken)
        times = f", {again + 1} times of {again + 1}" if again else ""
        cases = "a critical case that passed" if len(broken) == 1 else f"{len(broken)} critical cases that passed"
        reason = f"{cases} in {broken[0].against} failed{times}: {told}{_more(broken)}"
        yield Check(name="regression.critical", value=len(broken), limit=0, ok=False, reason=reason)


def _checks_of(held: Held) -> Iterator[Check]:
    """How one comparison was made, and one check for each metric that it judged."""
    if held.why_not:
        reason = f"not compared with {held.name}: {held.why_not}"
        yield Check(name=f"{held.prefix}evidence", value=None, limit=None, ok=False, reason=reason)
    if held.not_compared:
        reason = _scoring_words(held)
        yield Check(name=f"{held.prefix}scoring", value=None, limit=None, ok=False, reason=reason)
    if held.changes is not None and held.changes.newly_broken:
        count = len(held.changes.newly_broken)
        reason = broken_words(held.changes, held.name)
        yield Check(name=f"{held.prefix}newly_broken", value=count, limit=None, ok=True, reason=reason)
    if held.remark:
        yield Check(name=f"{held.prefix}mode", value=None, limit=None, ok=True, reason=held.remark)
    if held.paired is not None:
        yield Check(name=f"{held.prefix}baseline", value=held.paired.cases, limit=None, ok=True, reason=_scope(held))
    metrics = held.paired.metrics if held.paired is not None and not held.is_strict else {}
    for found in held.regressions:
        yield _drop_check(found, held, metrics.get(found.name), kind="regression", ok=False)
    for found in held.noise:
        yield _drop_check(found, held, metrics.get(found.name), kind="noise", ok=True)
    told = {each.name for each in (*held.regressions, *held.noise)}
    for metric in metrics.values():
        if metric.name not in told and metric.pairs:
            yield _still_check(metric, held)
    for part in held.paired.regressed_categories if held.paired is not None and not held.is_strict else ():
        was, now = apart(part.metric.a or 0.0, part.metric.b or 0.0)
        how = f"{part.metric.name} of the category {part.category} fell {was} → {now} against {held.name}"
        reason = f"{how} ({chance(part.metric.adjusted_p)}), {part.newly_broken} newly broken"
        name = f"{held.prefix}category.{part.category}"
        yield Check(name=name, value=part.metric.diff, limit=None, ok=True, reason=reason)


def _scoring_words(held: Held) -> str:
    """What is not compared for how it was scored, why, and how to make it comparable."""
    names = ", ".join(SETTING_NAMES.get(name, name) for name in held.not_compared)
    install = f"install {held.unlike.extra} here, or " if held.unlike.extra else ""
    how = f"{install}score the replies of {held.name} as here, with cortex rescore, and set it again"
    return f"{held.unlike.words(held.name)}. Not compared for that: {names}. To compare: {how}"


def broken_words(changes: Changes, against: str) -> str:
    """The cases that passed before and fail now, in a sentence: the critical ones first, and marked.

    A category that broke wholly comes before the cases.
    """
    count = len(changes.newly_broken)
    cases = f"1 case that passed in {against} fails" if count == 1 else f"{count:,} cases that passed in {against} fail"
    parts = [_broken_part(each) for each in changes.broken_categories[:NAMED]]
    rest = len(changes.broken_categories) - NAMED
    more = f" and {rest} more {'category' if rest == 1 else 'categories'}" if rest > 0 else ""
    where = f", {', '.join(parts)}{more}" if parts else ""
    critical = sum(each.is_critical for each in changes.newly_broken)
    how_many = "" if count == 1 else "all " if critical == count else f"{critical:,} "
    marked = f" ({how_many}critical)" if critical else ""
    named = ", ".join(
        _short_name(each) + (" (critical)" if each.is_critical and critical < count else "")
        for each in changes.newly_broken[:NAMED]
    )
    return f"{cases} now{marked}{where}: {named}{_more(changes.newly_broken)}"


def _short_name(change: CaseChange) -> str:
    """The id, which somebody chose; one that was made of the content with the question."""
    return case_name(change) if MADE_ID.fullmatch(change.case_id) else change.case_id


def case_name(change: CaseChange) -> str:
    """The first words of the question, with the id; the id alone where the question was not read."""
    if not change.question:
        return change.case_id
    words = " ".join(change.question.split())
    if len(words) > WORDS_SHOWN:
        begun = words[: WORDS_SHOWN - 1]
        whole = begun.rpartition(" ")[0]
        words = f"{whole if 2 * len(whole) > len(begun) else begun}…"  # not every language parts its words
    return f"“{words}” ({change.case_id})"


def _broken_part(part: BrokenCategory) -> str:
    if not part.is_whole:
        return f"{part.broken:,} of {part.passed_before:,} in category {part.category}"
    return f"all {part.broken:,} of category {part.category}" if part.broken > 1 else f"the one of {part.category}"


def _scope(held: Held) -> str:
    """Which cases were compared, and which were not."""
    found = held.paired
    assert found is not None
    run = f" (run {held.label.run_id})" if held.label.run_id else ""
    parts = [
        f"{count:,} {words}"
        for count, words in (
            (found.changed, "with other content"),
            (found.only_a, "only there"),
            (found.only_b, "only here"),
        )
        if count
    ]
    rest = f"; not compared: {', '.join(parts)}" if parts else ""
    flaky = f"; flaky among them: {_listed([each.case_id for each in found.flaky])}" if found.flaky else ""
    return f"{found.cases:,} {'case is' if found.cases == 1 else 'cases are'} in {held.name}{run} too{rest}{flaky}"


def _drop_check(found: Regression, held: Held, metric: PairedMetric | None, *, kind: str, ok: bool) -> Check:
    name = SETTING_NAMES.get(found.name, found.name)
    rose = found.diff > 0
    was, now = apart(found.baseline, found.current)
    against = f" against {held.name}" if held.is_anchor else ""
    sure = f"{chance(found.p_value)}, " if found.p_value is not None or metric is not None else ""
    reason = f"{name} {'rose' if rose else 'fell'} {was} → {now}{against} ({sure}allowed {number(found.allowed)})"
    limit = found.allowed if rose else -found.allowed
    reason += _bounds(metric) + (MAY_BE_CHANCE if ok else "")
    return Check(name=f"{kind}.{held.prefix}{name}", value=found.diff, limit=limit, ok=ok, reason=reason)


def _still_check(metric: PairedMetric, held: Held) -> Check:
    """A metric that is not worse by more than is allowed, and how large a change would have been seen."""
    name = SETTING_NAMES.get(metric.name, metric.name)
    way, back = ("drop", -1) if metric.direction == "higher" else ("rise", 1)
    interval = "" if metric.low is None or metric.high is None else f" [{signed(metric.low)}, {signed(metric.high)}]"
    change = f"{signed(metric.diff or 0.0)}{interval}"
    limit = metric.allowed if metric.allowed is None else back * metric.allowed
    seen = f"a {way} of {rounded_up(metric.smallest_detectable)}" if metric.smallest_detectable else f"no {way}"
    allowed = "" if metric.allowed is None else f" (allowed {number(metric.allowed)})"
    reason = f"{name} {number(metric.a or 0.0)} → {number(metric.b or 0.0)}, {change}{allowed}; {seen} would be seen"
    reason += _bounds(metric)
    return Check(name=f"regression.{held.prefix}{name}", value=metric.diff, limit=limit, ok=True, reason=reason)


def _bounds(metric: PairedMetric | None) -> str:
    """How much better or worse it may be for what one of the runs did not score."""
    if metric is None or not (metric.only_a or metric.only_b) or metric.worst is None or metric.best is None:
        return ""
    count = metric.only_a + metric.only_b
    return f"; {count:,} scored in one run only: {signed(metric.worst)} at worst, {signed(metric.best)} at best"


def _evidence_checks(held: Sequence[Held]) -> Iterator[Check]:
    """Whether there are enough cases to see a drop as large as is allowed, in every metric that is judged."""
    found = lacking(held)
    if not found:
        return
    first = found[0]
    metric, way = first.metric, "drop" if first.metric.direction == "higher" else "rise"
    name = SETTING_NAMES.get(metric.name, metric.name)
    count = first.held.paired.cases if first.held.paired else 0
    is_worse = any(each.regressions for each in held)
    which = "metric that was compared" if any(each.not_compared for each in held) else "metric"
    start = "" if is_worse else f"no {which} is known to be worse than {first.held.name}; "
    size = metric.smallest_detectable
    seen = f"a {way} of {name} by {rounded_up(size)} or more" if size else f"no {way} of {name}"
    needed, allowed = metric.cases_needed, number(metric.allowed or 0.0)
    wanted = f"no number of cases shows every {way} beyond the allowed {allowed}"
    wanted = f"to see the allowed {allowed} takes {needed:,} cases" if needed else wanted
    names = list(dict.fromkeys(SETTING_NAMES.get(each.metric.name, each.metric.name) for each in found))
    others = f"; {_listed(names[1:])} need{'s' * (len(names) == 2)} more cases too" if names[1:] else ""
    reason = f"{start}in {count:,} {'case' if count == 1 else 'cases'} {seen} would be seen, {wanted}{others}"
    yield Check(name="evidence", value=size, limit=metric.allowed, ok=False, reason=reason)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED]) + _more(names)


def _more(names: Sequence[object]) -> str:
    return f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
