"""What `cortex run --dry-run` shows of a run that is not made."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from cortex_eval.analysis import rounded_up
from cortex_eval.cli.options import counted, cut
from cortex_eval.reports import money, visible

if TYPE_CHECKING:  # its room is imported when it is needed
    from cortex_eval.estimate import Estimate, Limit, Side, Taken

WIDTH = 80
LABELS = 10
"""Columns of the labels on the left."""


def estimate_text(planned: Estimate) -> str:
    """The plan as people read it: what would be asked, what that takes, and what it could show."""
    times = f" {planned.repeats} times" if planned.repeats > 1 else ""
    cases = f"{planned.cases:,} of {counted(planned.of, 'case')}{times}"
    lines = [cut(f"{visible(planned.dataset)} ({cases}) → {visible(planned.target)}", WIDTH)]
    for label, text in _rows(planned):
        first = f"  {label.ljust(LABELS)}"
        lines += textwrap.wrap(
            text, WIDTH, initial_indent=first, subsequent_indent=" " * len(first), break_on_hyphens=False
        )
    return "\n".join(lines)


def _rows(planned: Estimate) -> Iterator[tuple[str, str]]:
    yield "scorers", visible(", ".join(planned.scorers))
    if planned.reused is not None:
        yield "reused", visible(_reused(planned.reused))
    yield "calls", _calls(planned)
    yield "cost", _both(planned, _cost)
    if planned.asked.tokens or planned.judged.tokens:
        yield "tokens", _both(planned, _tokens)
    for whose, side in (("target", planned.asked), ("judges", planned.judged)):
        if side.by:
            yield "", f"{whose}: by {side.by}"
    yield "time", _time(planned)
    yield "hosts", _hosts(planned)
    for each in planned.budgets:
        yield "budget", _budget(each, planned.asked.calls + planned.judged.calls)
    yield "can show", _visible(planned)


def _reused(taken: Taken) -> str:
    """What a run since another one takes over, and what it asks all the same."""
    if not taken.cases:
        return f"nothing of run {taken.run}: {taken.why}; every case is asked"
    reasons = {"changed": taken.changed, "new": taken.new, "without a whole answer then": taken.unanswered}
    asked = f"{sum(reasons.values()):,} asked: {listed}" if (listed := _listed(reasons)) else "none is asked"
    how = f"scored again ({taken.why})" if taken.why else "with their verdicts"
    scored = f" ({taken.unjudged:,} without one then: scored)" if taken.unjudged and not taken.why else ""
    return f"{counted(taken.cases, 'case')} of run {taken.run}, {how}{scored}; {asked}"


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)


def _calls(planned: Estimate) -> str:
    judged = planned.judged
    if not planned.asked.calls and not judged.calls:
        return "none"
    text = f"{planned.asked.calls:,} to the target"
    if judged.calls:
        text += f", {judged.calls:,} to judges"
        text += f" (at most {judged.at_most:,}, when verdicts cannot be read)" if judged.at_most > judged.calls else ""
    return f"{text}; retries not counted, nor what the cache may spare"


def _both(planned: Estimate, show: Callable[[Side], str]) -> str:
    """The same of the target and of judges, if there are any."""
    if not planned.judged.calls:
        return show(planned.asked)
    return f"target {show(planned.asked)}, judges {show(planned.judged)}"


def _cost(side: Side) -> str:
    if side.cost_usd is None:
        return "not known"
    return f"about {money(side.cost_usd)}" if side.calls else "none"


def _tokens(side: Side) -> str:
    if side.tokens is None:
        return "not known"
    return f"about {side.tokens:,}" if side.calls else "none"


def _time(planned: Estimate) -> str:
    judges = ", judges not counted" if planned.judged.calls else ""
    if not planned.asked.calls:
        return f"no call to the target to wait for{judges}"
    if planned.seconds is None or planned.latency_ms is None:
        return (
            f"not known; at 1 s a call about {_duration(planned.seconds_at_1s)} ({planned.at_once:,} at once{judges})"
        )
    mean = f"by the mean of {planned.latency_ms:,.0f} ms in run {planned.by_run}"
    return f"about {_duration(planned.seconds)} ({mean}, {planned.at_once:,} at once{judges})"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s" if seconds >= 1 else "1 s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _hosts(planned: Estimate) -> str:
    if not planned.hosts:
        return "none that Cortex would call itself"
    refusal = "--offline refuses it" if planned.is_offline else "--offline would refuse it"
    said = {None: "", "offline": f"; {refusal}", "forbidden_address": "; refused: link-local or cloud metadata"}
    return ", ".join(
        visible(f"{each.host} ({', '.join(each.who)}{said.get(each.refused, '')})") for each in planned.hosts
    )


def _budget(budget: Limit, calls: int) -> str:
    limit = money(budget.limit) if budget.name == "budget_usd" else f"{budget.limit:,}"
    if budget.expected is None:
        return f"{budget.name} {limit}: not known whether that is enough"
    if budget.stops_after_calls is None:
        return f"{budget.name} {limit} is enough"
    about = "" if budget.name == "budget_calls" else "about "
    return f"{budget.name} {limit} would stop it after {about}{budget.stops_after_calls:,} of {calls:,} calls"


def _visible(planned: Estimate) -> str:
    """Which fall of the pass rate could not be told from chance; how that is reckoned is in the documentation."""
    found = planned.visible
    apart = f" ({found.pairs:,} of them independent)" if found.pairs < planned.cases else ""
    cases = f"with {counted(planned.cases, 'case')}{apart}"
    terms = f"(against {found.against}; pass rate before: {found.pass_rate:.2f}, {found.pass_rate_of})"
    if found.drop is None:
        return f"{cases}, no drop of the pass rate can be told from chance {terms}"
    points = counted(round(100 * float(rounded_up(found.drop))), "point")
    return f"{cases}, a drop of the pass rate by less than {points} cannot be told from chance {terms}"
