"""The tour of `cortex demo`: which suites it plays, and how each is shown in a few lines of at most 80 columns."""

from __future__ import annotations

import shlex
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cortex_eval.analysis import Metric, PairedMetric, Report, Versus
from cortex_eval.demo.weaknesses import WEAKNESSES_FILE, Findings
from cortex_eval.reports import from_here, verdict_words, visible

WELCOME = (
    "A tour of Cortex in two minutes. Every service is a sample on this machine, with faults that were planted; a good "
    "evaluation finds them."
)
WIDTH = 80
_INDENT, _DEEPER = "  ", "    "
_SHOWN = 4
"""Weaknesses and cases that are named before "and so many more"."""
_SYSTEM_WIDTH = 19
_SYSTEM_ROWS = ("overall_score", "classification", "completeness", "interpretability", "safety")
_OVERALL_FIELDS = {
    "overall_intent_accuracy": "intent",
    "overall_entity_f1": "entities",
    "overall_tool_accuracy": "tool",
    "overall_avg_latency_ms": "latency_ms",
    "overall_llm_usage_rate": "llm_usage_rate",
}
"""The fields of the bioinformatics agent's report file, and the metric with the interval of each."""


_NEXT = (
    ("cortex demo NAME", "one project whole"),
    ("cortex demo NAME --serve", "its services kept up, to run against"),
    ("cortex init --from NAME my-own", "a copy, to make it your own"),
)
_NEXT_THERE = (
    ("cortex compare latest~1 latest", "what version 2 broke, case by case"),
    ("cortex analyze latest", "why cases fail, and what to mend first"),
    ("cortex trend", "how it did over its runs"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One project of the tour."""

    project: str
    title: str
    shows: str
    suites: tuple[str, ...]
    sampled: tuple[str, ...] = ()
    """Suites of which a case of each category is enough here."""


TOUR = (
    Act(
        project="healthcare",
        title="Healthcare: the services of a small clinic",
        shows="A chatbot, a RAG service, a translator and a telephone line, asked in English and Hindi. The calls are "
        "really spoken and really heard.",
        suites=("chatbot", "rag", "translation", "voice"),
        sampled=("voice",),
    ),
    Act(
        project="ayurveda",
        title="Ayurveda: three systems side by side",
        shows="The same 47 cases, labelled by three experts, for several agents, one agent with retrieval, and a bare "
        "model. The replies are recorded: nothing is called.",
        suites=("ayurveda",),
    ),
    Act(
        project="bioagent",
        title="Bioagent: what an agent understands",
        shows="315 conversations in twelve categories: intents, entities, tools, and what is remembered between turns.",
        suites=("bioagent",),
    ),
    Act(
        project="support-agent",
        title="Support agent: answers that must rest on help pages",
        shows="Faithfulness, relevance and tone, judged offline: no key, no language model.",
        suites=("support",),
    ),
    Act(
        project="adversarial",
        title="Adversarial: 76 attacks for any target",
        shows="Prompt injection, jailbreaks, fishing for patient data, tricks with letters; here against the health "
        "chatbot.",
        suites=("adversarial",),
    ),
)
REGRESSION = Act(
    project="bioagent",
    title="And a new version: bioagent 2 against bioagent 1",
    shows="The same conversations again. Does the release break something that one would not notice by chatting?",
    suites=("bioagent",),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What came of one suite of a sample project."""

    project: str
    suite: str
    version: str
    reports: tuple[Report, ...]
    """One for each target."""
    findings: tuple[Findings, ...]
    """What failed of each, beside what was planted."""
    files: tuple[Path, ...]

    @property
    def as_documented(self) -> bool:
        """Whether it failed where it is documented to, and nowhere else."""
        return all(each.as_documented for each in self.findings)

    def facts(self) -> list[dict[str, Any]]:  # Any: JSON
        """What machines are told, target by target."""
        return [
            {
                "project": self.project,
                "suite": self.suite,
                "target": report.run.target_name,
                "version": self.version,
                "run": report.run.id,
                "verdict": report.gate.verdict,
                "cases": report.totals.cases,
                "passed": report.totals.passed,
                "failed": report.totals.failed,
                "errors": report.totals.errors,
                "overall_score": report.totals.overall_score,
                "planted": [{"weakness": title, "failed": count} for title, count in found.found],
                "as_documented": found.as_documented,
                "differences": found.differences(),
            }
            for report, found in zip(self.reports, self.findings, strict=True)
        ]


def heading(number: int, act: Act) -> str:
    """What is coming, and what it shows."""
    return "\n".join([f"{number}  {act.title}", *wrapped(act.shows, "   ")])


def suite_lines(played: Played) -> list[str]:
    """What came of a suite, in a few lines."""
    if len(played.reports) > 1:
        page, lines = played.files[-1], _side_by_side(played)
    else:
        page = next(_pages([played]))
        (report,), (found,) = played.reports, played.findings
        lines = [f"{_INDENT}{played.suite:<12} {_title(report):<15}  {_passed(report)}"]
        for said in (*_why_not(report), *_of_this_suite(played.suite, report), *_planted(found)):
            lines += wrapped(said, _DEEPER)
    return [*lines, *surprise_lines(played), f"{_DEEPER}{from_here(page)}"]


def _why_not(report: Report) -> Iterator[str]:
    """What the gate did not let through."""
    if report.gate.verdict != "passed":
        yield visible(verdict_words(report).sentence)


def _passed(report: Report) -> str:
    totals = report.totals
    return f"{totals.passed}/{totals.passed + totals.failed} passed, score {_with_interval(report, 'overall_score')}"


def _of_this_suite(suite: str, report: Report) -> Iterator[str]:
    """What one looks for in this suite in particular."""
    if suite == "translation" and "hi" in report.languages:
        chrf = report.languages["hi"].metrics["translation"]
        yield f"chrF on Hindi: {100 * chrf.mean:.0f} {_interval(chrf, 100)} over {chrf.scored} texts."
    if suite == "voice":
        yield f"Words misheard (WER), call by call: {', '.join(_misheard(report))}."
    if suite == "bioagent":
        yield from _overall_fields(report)
    if report.run.cases < report.run.dataset.cases:
        yield f"A sample of {report.run.cases} of {report.run.dataset.cases} cases."
    yield from _unscored(report)


def _unscored(report: Report) -> Iterator[str]:
    """Cases that no scorer could say anything about, and why."""
    reasons = Counter(
        next((str(score.get("reason", "")) for score in result.scores.values()), "")
        for result in report.results
        if result.state == "passed" and result.passed is None
    )
    for reason, count in reasons.items():
        yield f"{count} not scored: {visible(reason).rstrip('.')}."


def _misheard(report: Report) -> Iterator[str]:
    for result in report.results:
        rate = result.scores.get("heard", {}).get("measure")
        yield f"{result.case_id.removeprefix('vl-')} {'–' if rate is None else f'{100 * rate:.0f} %'}"


def _overall_fields(report: Report) -> Iterator[str]:
    for name, metric in _OVERALL_FIELDS.items():
        if name not in report.overall:
            continue
        value = report.overall[name]
        shown = f"{value:.0f}" if name.endswith("_ms") else f"{value:.2f}"
        found = report.metrics.get(metric)
        yield f"{name:<24} {shown:>5} {_interval(found) if found else ''}".rstrip()


def _planted(found: Findings) -> Iterator[str]:
    if not found.found:
        return
    told = [f"{title[:1].lower()}{title[1:]} ({count})" for title, count in found.found[:_SHOWN]]
    rest = len(found.found) - _SHOWN
    more = f"; and {rest} more" if rest > 0 else ""
    yield f"Planted, and found: {visible('; '.join(told))}{more}."


def surprise_lines(played: Played) -> list[str]:
    """What was not as documented; nothing when all was."""
    lines: list[str] = []
    for report, found in zip(played.reports, played.findings, strict=True):
        if not found.as_documented:
            lines += wrapped(f"NOT AS DOCUMENTED  {report.run.target_name}: {_differing(found)}.", _DEEPER)
    return lines


def _differing(found: Findings) -> str:
    told = [each.rstrip(".") for each in found.differences()]
    rest = len(told) - _SHOWN
    return visible("; ".join(told[:_SHOWN])) + (f"; and {rest} more" if rest > 0 else "")


def _side_by_side(played: Played) -> list[str]:
    reports = played.reports
    rows = [
        ("", [report.run.target_name for report in reports]),
        ("verdict", [_title(report) for report in reports]),
        ("passed", [f"{report.totals.passed}/{report.totals.cases}" for report in reports]),
        ("failed as planted", [_as_planted(*each) for each in zip(reports, played.findings, strict=True)]),
    ]
    rows += [(name, [_with_interval(report, name) for report in reports]) for name in _SYSTEM_ROWS]
    return [
        f"{_INDENT}{name:<18}{''.join(f'{cell:<{_SYSTEM_WIDTH}}' for cell in cells)}".rstrip() for name, cells in rows
    ]


def _as_planted(report: Report, found: Findings) -> str:
    return f"{report.totals.failed - len(found.not_listed)}/{report.totals.failed}"


def comparison_lines(versus: Versus, played: Played) -> list[str]:
    """What `cortex compare` found, in a few lines: what got worse, and where; and the page that shows it."""
    (found,) = versus.comparisons
    lines = [f"{_INDENT}{each.name:<15} {_change(each)}" for each in found.regressions]
    lines += [
        f"{_INDENT}{part.category:<15} {part.metric.name} {_change(part.metric)}, {part.newly_broken} cases broken"
        for part in found.regressed_categories
    ]
    broken = ", ".join(part.category for part in found.regressed_categories)
    words = f"{versus.verdict.upper()}  {len(found.newly_broken)} cases fail that version 1 passed"
    words += f", most of them in {broken}. " if broken else ". "
    lines += wrapped(f"{words}A build that compares stops here: exit code {versus.exit_code}.", _INDENT)
    return [*lines, f"{_DEEPER}{from_here(next(_pages([played])))}"]


def _change(metric: PairedMetric) -> str:
    if metric.a is None or metric.b is None:
        return "–"
    spread = "" if metric.low is None or metric.high is None else f"  [{metric.low:+.2f}, {metric.high:+.2f}]"
    return f"{metric.a:.2f} → {metric.b:.2f}{spread}".replace("-", "−")


def last_lines(folder: Path, played: Iterable[Played], *, seconds: float) -> list[str]:
    """Whether all of it was as documented, where the reports are, and what to try next."""
    everything = list(played)
    odd = [each for each in everything if not each.as_documented]
    failed = sum(report.totals.failed for each in everything for report in each.reports)
    if odd:
        names = ", ".join(f"{each.project} ({each.suite})" for each in odd)
        verdict = f"NOT AS DOCUMENTED  {names}. What differs from {WEAKNESSES_FILE} stands above."
    else:
        verdict = f"AS DOCUMENTED  {failed} cases failed, and a {WEAKNESSES_FILE} lists every one of them."
    return [
        f"Done in {seconds:.0f} s. The pages of all runs, to open in a browser:",
        *dict.fromkeys(f"  {from_here(path.parent / 'report_*.html')}" for path in _pages(everything)),
        "",
        "Next, for example:",
        *_aligned(_NEXT),
        f"  cd {shlex.quote(from_here(folder / REGRESSION.project))}",
        *_aligned(_NEXT_THERE),
        "",
        *wrapped(verdict, ""),
    ]


def _pages(played: Iterable[Played]) -> Iterator[Path]:
    return (path for each in played for path in each.files if path.suffix == ".html")


def _aligned(rows: Sequence[tuple[str, str]]) -> list[str]:
    return [f"  {command:<33} {what}" for command, what in rows]


def whole_lines(folder: Path, played: Sequence[Played]) -> list[str]:
    """Whether a project that was run whole failed as documented, and what did not."""
    lines: list[str] = []
    for each in played:
        for report, found in zip(each.reports, each.findings, strict=True):
            if not found.as_documented:
                lines += [
                    f"  {each.suite} → {report.run.target_name}",
                    *(f"    {said}" for said in found.differences()),
                ]
    failed = sum(report.totals.failed for each in played for report in each.reports)
    cases = sum(report.totals.cases for each in played for report in each.reports)
    listed = from_here(folder / WEAKNESSES_FILE)
    verdict = f"AS DOCUMENTED  {failed} of {cases} cases fail, and {listed} lists every one of them."
    if lines:
        verdict = f"NOT AS DOCUMENTED  What differs from {listed} stands above."
    return [*lines, *wrapped(verdict, "")]


def wrapped(text: str, indent: str) -> list[str]:
    """A sentence in lines that fit."""
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


def _title(report: Report) -> str:
    return verdict_words(report).title.upper()


def _with_interval(report: Report, name: str) -> str:
    metric = report.metrics.get(name)
    return "–" if metric is None else f"{metric.mean:.2f} {_interval(metric)}".rstrip()


def _interval(metric: Metric, scale: float = 1.0) -> str:
    if metric.low is None or metric.high is None:
        return ""
    places = 0 if metric.unit or scale > 1 else 2
    return f"[{scale * metric.low:.{places}f}, {scale * metric.high:.{places}f}]"
