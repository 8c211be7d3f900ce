"""Every benchmark in one go: prints a table, and writes it to results.md beside this file.

usage: run.py [NAME …]        without names: all of them, and results.md is written anew
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from judging import judging
from measuring import HERE, PYTHON, Finding, with_byte_code
from resume import resume
from startup import core_install, starting
from throughput import memory, with_latency, without_latency


def text_scores() -> list[Finding]:
    """The seed's `accuracy` beside nltk's sentence BLEU plus the `rouge` package, on the same 500 pairs."""
    command = [PYTHON, str(HERE / "text_scores.py"), "--findings"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # apart: it imports a lot
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    return [Finding(row[0], row[1], row[2], {"yes": True, "no": False}.get(row[3])) for row in rows]


MEASURES: dict[str, tuple[str, Callable[[], list[Finding]]]] = {
    "latency": ("10,000 cases, 100 at once, a service that takes 50 ms (best of 3)", with_latency),
    "throughput": ("10,000 cases, 500 at once, a service that answers at once (best of 3)", without_latency),
    "judging": ("1,000 cases with one judge call each, 50 calls at once, 50 ms for either (best of 3)", judging),
    "memory": ("100,000 cases, 100 at once, a service that answers at once (once)", memory),
    "text": ("`accuracy` beside nltk's sentence BLEU plus `rouge`, 500 pairs (median of 3)", text_scores),
    "start": ("Starting (median of 7)", starting),
    "install": ("Installing (once)", core_install),
    "resume": ("Going on with a run of 10,000 cases that was killed half-way (once)", resume),
}


def main(names: Sequence[str]) -> int:
    unknown = [name for name in names if name not in MEASURES]
    if unknown:
        print(f"There is no benchmark {unknown[0]!r}. There are: {', '.join(MEASURES)}.", file=sys.stderr)
        return 4
    load = os.getloadavg()[0]
    began = time.monotonic()
    sections: list[tuple[str, list[Finding]]] = []
    with with_byte_code():
        for name in names or MEASURES:
            title, measure = MEASURES[name]
            print(f"\n{title}", flush=True)
            sections.append((title, measure()))
            for finding in sections[-1][1]:
                print("  " + _line(finding), flush=True)
    findings = [finding for _, each in sections for finding in each]
    missed = [finding for finding in findings if finding.met is False]
    print(f"\n{_summary(findings)} Took {time.monotonic() - began:.0f} s.")
    if not names:
        (HERE / "results.md").write_text(_page(sections, load), encoding="utf-8")
    return 2 if missed else 0


def _line(finding: Finding) -> str:
    mark = {True: "met", False: "MISSED", None: ""}[finding.met]
    return f"{finding.what:52} {finding.found:28} {finding.limit:10} {mark}".rstrip()


def _summary(findings: Sequence[Finding]) -> str:
    with_limit = [finding for finding in findings if finding.met is not None]
    met = sum(bool(finding.met) for finding in with_limit)
    return f"{met} of {len(with_limit)} limits met."


def _page(sections: Sequence[tuple[str, list[Finding]]], load: float) -> str:
    today = datetime.now(UTC).date()
    machine = f"{platform.system()} on {platform.machine()}, {os.cpu_count()} CPUs, load {load:.1f} when it began"
    summary = _summary([finding for _, each in sections for finding in each])
    lines = [
        "# Benchmarks",
        "",
        f"Written by `make bench` on {today}: Python {platform.python_version()}, {machine}.",
        f"{summary} What is measured, and how, is in [docs/speed.md](../docs/speed.md).",
    ]
    for title, findings in sections:
        lines += ["", f"## {title}", "", "| measure | found | limit | met |", "|---|---|---|---|"]
        for each in findings:
            met = {True: "yes", False: "**no**", None: ""}[each.met]
            lines.append(f"| {each.what} | {each.found} | {each.limit} | {met} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
