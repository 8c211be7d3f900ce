"""How fast a run is beside a loop that only sends and receives, and how much memory it takes."""

from __future__ import annotations

from typing import NamedTuple

from measuring import Finding, Took, best_and_median, repeat, run_bare, run_cortex, service

FEW, MANY, VERY_MANY = 2_000, 10_000, 100_000
LATENCY_MS = 50
ROUNDS = 3


class Side(NamedTuple):
    """One side of a comparison, at two sizes; the best of all rounds counts, because noise only ever adds."""

    few: list[Took]
    many: list[Took]

    @property
    def wall_s(self) -> float:
        return min(each.wall_s for each in self.many)

    @property
    def cpu_ms_per_case(self) -> float:
        """CPU of one further case."""
        spent = min(each.cpu_s for each in self.many) - min(each.cpu_s for each in self.few)
        return spent / (MANY - FEW) * 1000

    @property
    def rate(self) -> float:
        """Cases a second, the whole process."""
        return MANY / self.wall_s

    @property
    def further_rate(self) -> float:
        """Cases a second, start and end of the process left out."""
        return (MANY - FEW) / (self.wall_s - min(each.wall_s for each in self.few))


class Compared(NamedTuple):
    """Both sides, and what a call took in the service meanwhile."""

    ours: Side
    bare: Side
    took_ms: float


def _both_sides(*, latency_ms: float, at_once: int) -> Compared:
    with service(latency_ms) as running:
        ours_few, bare_few, ours_many, bare_many = repeat(
            ROUNDS,
            [
                lambda: run_cortex(running, cases=FEW, at_once=at_once),
                lambda: run_bare(running, cases=FEW, at_once=at_once),
                lambda: run_cortex(running, cases=MANY, at_once=at_once),
                lambda: run_bare(running, cases=MANY, at_once=at_once),
            ],
        )
    return Compared(Side(ours_few, ours_many), Side(bare_few, bare_many), running.took_ms)


def with_latency() -> list[Finding]:
    """10,000 cases at 100 at once against a service that takes 50 ms."""
    ours, bare, took_ms = _both_sides(latency_ms=LATENCY_MS, at_once=100)
    ideal_s = MANY * LATENCY_MS / 1000 / 100
    share, cpu = ours.wall_s / ideal_s, ours.cpu_ms_per_case / bare.cpu_ms_per_case
    return [
        Finding(f"wall time of the run ÷ {ideal_s:g} s", f"{share:.2f} ×", "≤ 1.2 ×", share <= 1.2),
        Finding("… in seconds", best_and_median([each.wall_s for each in ours.many])),
        Finding("… of the bare loop", best_and_median([each.wall_s for each in bare.many])),
        Finding("… that a call took in the service, on average", f"{took_ms:.1f} ms"),
        Finding("CPU of a further case ÷ the bare loop's", f"{cpu:.2f} ×", "≤ 2.5 ×", cpu <= 2.5),
        Finding("… in milliseconds", f"{ours.cpu_ms_per_case:.3f}, bare {bare.cpu_ms_per_case:.3f}"),
    ]


def without_latency() -> list[Finding]:
    """10,000 cases at 500 at once against a service that answers at once."""
    ours, bare, _ = _both_sides(latency_ms=0, at_once=500)
    share = ours.rate / bare.rate
    return [
        Finding("cases a second, whole process ÷ the bare loop's", f"{share:.2f} ×", "≥ 0.5 ×", share >= 0.5),
        Finding("… in cases a second", f"{ours.rate:,.0f}, bare {bare.rate:,.0f}"),
        Finding("… without start and end ÷ the bare loop's", f"{ours.further_rate / bare.further_rate:.2f} ×"),
        Finding("… in cases a second", f"{ours.further_rate:,.0f}, bare {bare.further_rate:,.0f}"),
    ]


def memory() -> list[Finding]:
    """100,000 cases beside 10,000, at 100 at once, no latency; the peak of the whole process."""
    with service() as running:
        small = run_cortex(running, cases=MANY, at_once=100)
        large = run_cortex(running, cases=VERY_MANY, at_once=100)
    growth = large.peak_mb / small.peak_mb
    cpu_ms = (large.cpu_s - small.cpu_s) / (VERY_MANY - MANY) * 1000
    return [
        Finding("peak memory ÷ that at 10,000 cases", f"{growth:.2f} ×", "≤ 1.3 ×", growth <= 1.3),
        Finding("peak memory", f"{large.peak_mb:.0f} MB", "≤ 150 MB", large.peak_mb <= 150),
        Finding("… at 10,000 cases", f"{small.peak_mb:.0f} MB"),
        Finding("time for 100,000 cases", f"{large.wall_s:.1f} s"),
        Finding("CPU of a further case, 10,000 to 100,000", f"{cpu_ms:.3f} ms"),
    ]
