"""What a run called and what that took, in the words that every rendering shares."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from cortex_eval.analysis import Calls, Report, TokenUse
from cortex_eval.reports.words import plural

WORTH_TELLING_S = 1.0
"""Waiting shorter than this is not told in the terminal."""
LEAST_SHOWN_S = 0.05
"""What is less would read 0.0 s."""
HOSTS_SHOWN = 20


class CallRow(NamedTuple):
    """One line of the account."""

    label: str
    figure: str
    remark: str = ""


def money(amount: Decimal | str, currency: str = "USD") -> str:
    """A sum as people read it: cents, and below a cent two digits that are not 0."""
    exact = Decimal(amount)
    decimals = max(2, 1 - exact.adjusted()) if exact else 2
    shown = f"{exact:,.{min(decimals, 10)}f}"
    return f"${shown}" if currency == "USD" else f"{shown} {currency}"


def cost_of(*used: TokenUse | None) -> str | None:
    """What these cost together, by currency; None when nothing is known of it."""
    total: dict[str, Decimal] = {}
    for use in used:
        for currency, amount in (use.cost or {}).items() if use else ():
            total[currency] = total.get(currency, Decimal(0)) + Decimal(amount)
    return " + ".join(money(amount, currency) for currency, amount in total.items()) or None


def calls_sentence(report: Report) -> str:
    """The account in a sentence; empty when all went by itself and nothing is known of costs."""
    calls, parts = report.calls, []
    if calls.answered_first < calls.asked:
        parts.append(f"{calls.answered_first:,}/{calls.asked:,} answered at the first attempt")
    if calls.waited_s is not None and calls.waited_s >= WORTH_TELLING_S and _a_turn(calls) >= LEAST_SHOWN_S:
        parts.append(f"waited {_waited(calls)}")
    if calls.outages:
        parts.append(f"{calls.outages:,} {plural('outage', calls.outages)}")
    if calls.may_repeat:
        parts.append(f"{calls.may_repeat:,} may be repeats")
    sides = [("target", None if _is_rescored(report) else report.target_usage), ("judge", report.judge_usage)]
    costs = [f"{name} {_price(use)}" for name, use in sides if use is not None]
    if costs:
        parts.append(f"cost: {', '.join(costs)}")
    if not parts:
        return ""
    made = "" if calls.made is None else f"{_made(calls)} {plural('call', calls.made)}: "
    return f"{made}{'; '.join(parts)}"


def call_rows(report: Report) -> list[CallRow]:
    """The account line by line; empty when nobody was asked for anything and nothing was put down."""
    rows = [*_call_rows(report), *_use_rows(report)]
    hosts = report.hosts or {}
    shown = [f"{host} ({count:,})" for host, count in sorted(hosts.items(), key=lambda each: -each[1])[:HOSTS_SHOWN]]
    if len(hosts) > HOSTS_SHOWN:
        shown.append(f"and {len(hosts) - HOSTS_SHOWN:,} more")
    if rows and report.hosts is not None:
        rows.append(CallRow("Hosts contacted", f"{len(hosts):,}", ", ".join(shown)))
    return rows


def _call_rows(report: Report) -> Iterator[CallRow]:
    calls = report.calls
    if calls.made is not None:
        cut_off = "; of a part of the run that was killed, only those with a result are known" if calls.at_least else ""
        yield CallRow("Calls made", _made(calls), f"to the target and to judges, retries included{cut_off}")
    if calls.asked:
        share = f"{calls.answered_first / calls.asked:.1%} of the turns asked".replace("%", " %")
        yield CallRow("Answered at the first attempt", f"{calls.answered_first:,}/{calls.asked:,}", share)
    if report.cache_hits:
        yield CallRow("From the cache", f"{report.cache_hits:,}", "replies that were not asked for again")
    if calls.waited_s is not None:
        remark = "for limits, retries and a target that is down"
        if calls.waited_s > 0 and calls.asked > 1:  # many wait at once: the sum may be longer than the run
            remark += f"; {_duration(calls.waited_s)} summed over all calls, which wait side by side"
        yield CallRow("Waited", _waited(calls), remark)
    if calls.outages is not None:
        yield CallRow("Outages", f"{calls.outages:,}", "times that the target was down")
    if calls.may_repeat:
        remark = "an earlier part of the run, which was cut off, may have made them already"
        yield CallRow("Calls that may be repeats", f"{calls.may_repeat:,}", remark)


def _made(calls: Calls) -> str:
    return f"at least {calls.made:,}" if calls.at_least else f"{calls.made:,}"


def _use_rows(report: Report) -> Iterator[CallRow]:
    if _is_rescored(report):
        parent = report.run.manifest["parent"]
        yield CallRow("Cost of the target", "none", f"the replies are those of run {parent}")
    elif report.target_usage is not None or report.asked:
        yield _use_row("Cost of the target", report.target_usage, "reply", "replies")
    if report.judge_usage is not None:
        yield _use_row("Cost of judges", report.judge_usage, "verdict asked for", "verdicts asked for")


def _use_row(label: str, use: TokenUse | None, one: str, several: str) -> CallRow:
    if use is None:
        return CallRow(label, "unknown", f"no {one} states its tokens")
    cached = f" ({use.cached_tokens:,} of them cached)" if use.cached_tokens else ""
    noun = one if use.replies == 1 else several
    remark = f"{use.input_tokens:,} tokens in{cached}, {use.output_tokens:,} out, in {use.replies:,} {noun}"
    if use.unpriced and use.cost is not None:
        remark += f"; {use.unpriced:,} of them without a known price"
    return CallRow(label, _price(use), remark)


def _price(use: TokenUse) -> str:
    return cost_of(use) or "unknown"


def _is_rescored(report: Report) -> bool:
    return report.run.manifest.get("parent") is not None


def _a_turn(calls: Calls) -> float:
    """Seconds: turns wait beside each other, and their sum would be longer than the run."""
    return (calls.waited_s or 0.0) / max(calls.asked, 1)


def _waited(calls: Calls) -> str:
    return _duration(_a_turn(calls)) + (" a turn on average" if calls.asked > 1 else "")


def _duration(seconds: float) -> str:
    if 0 < seconds < LEAST_SHOWN_S:
        return "under 0.1 s"
    if seconds < 60:
        return f"{seconds:.1f} s" if 0 < seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes:,} min {rest} s"
