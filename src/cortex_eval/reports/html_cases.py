"""One case of the HTML report: the conversation on the left, the scores with their reasons on the right."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

from cortex_eval.analysis import figure_of, gravity, result_row
from cortex_eval.core import CRITICAL_TAG, Result, language_name, redact
from cortex_eval.reports.html_diff import compare_values, mark_differences, plain
from cortex_eval.reports.html_parts import label_of
from cortex_eval.reports.text import as_html, cut, name_as_html
from cortex_eval.reports.words import number, plural

CaseState = Literal["error", "failed", "other", "passed"]

TEXT_SHOWN = 20_000
"""Characters of one text; the rest is in the JSON file."""
EVIDENCE_SHOWN = 12
"""Entries of one list of evidence."""
STATES: Sequence[CaseState] = ("error", "failed", "other", "passed")
"""In the order in which they are listed; what is critical comes before all of them."""
PROBLEMS = ("error", "failed")
TAGS = {
    "error": ("t-warn", "! error"),
    "failed": ("t-fail", "✕ failed"),
    "other": ("t-none", "– no verdict"),
    "passed": ("t-pass", "✓ passed"),
}
NOT_GRAVE = gravity("") + 1
NOT_APPLIED = "The scorer does not apply."
"""What a function that gives no score is taken to say."""
_GRAVE = b'"severity":"critical"'
_SAID_BY_THE_REASON = frozenset({"expected_label", "found_label", "state"})


class ShownCase:
    """One case with its results: one per turn and repeat."""

    __slots__ = ("_critical", "overall", "rows", "state")

    def __init__(self, rows: list[Result], state: CaseState | None = None, *, critical: Collection[str] = ()) -> None:
        """`critical` are the scorers that no case may fail."""
        self.rows = rows
        self._critical = critical
        self.state = state or state_of(rows)
        self.overall = None if self.state == "error" else _mean([row.overall for row in rows])

    @property
    def gravity(self) -> int:
        """0 is the gravest: it did not pass, and is tagged as critical or breaks a rule of severity critical.

        Then comes what fails a critical scorer, by the severity of the rules that it breaks; `NOT_GRAVE` is all else.
        """
        if self.state not in PROBLEMS:
            return NOT_GRAVE
        if CRITICAL_TAG in self.rows[0].tags or any(_GRAVE in row.scores_json for row in self.rows):
            return 0
        if not self._critical:
            return NOT_GRAVE
        return min(_gravity_of(row, self._critical) for row in self.rows)

    @property
    def telling(self) -> Result:
        """The first result that did not pass, or the first one."""
        if self.state == "passed":
            return self.rows[0]
        return next((row for row in self.rows if row.passed is False or row.error), self.rows[0])

    @property
    def slowest_ms(self) -> float | None:
        """The longest time to a reply."""
        return max((row.latency_ms for row in self.rows if row.latency_ms is not None), default=None)


def _gravity_of(row: Result, critical: Collection[str]) -> int:
    """The worst that critical scorers say of one result: the severity of a rule, or that it fails by no rule."""
    if row.passed:
        return NOT_GRAVE
    scores = row.scores
    failed = (scores[name] for name in critical if scores.get(name, {}).get("passed") is False)
    return min((gravity(severity) for score in failed for severity in _severities(score)), default=NOT_GRAVE)


def _severities(score: Mapping[str, Any]) -> list[str]:
    """Of the rules that a score found broken; an empty one where it goes by no rules."""
    evidence = score.get("evidence")
    findings = evidence.get("findings") if isinstance(evidence, Mapping) else None
    broken = findings if isinstance(findings, list) else []
    return [str(each.get("severity")) for each in broken if isinstance(each, Mapping)] or [""]


def state_of(rows: Sequence[Result]) -> CaseState:
    """What became of a case; an error is neither passed nor failed."""
    if len(rows) == 1 and rows[0].passed is not None:
        return "passed" if rows[0].passed else "failed"
    states = {row.state for row in rows}
    if "error_target" in states or "error_judge" in states:
        return "error"
    verdicts = {row.passed for row in rows}
    return "failed" if False in verdicts else "passed" if True in verdicts else "other"


def _mean(values: Sequence[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if there else None


def case_html(case: ShownCase, said: str, *, number_in_run: int) -> str:
    """The whole case; `said` is the line that stands for it."""
    state = case.state
    kind, label = TAGS[state]
    return (
        f'<details class="case" data-state="{state}" id="c{number_in_run}">'
        f'<summary><span class="tag {kind}">{label}</span><code>{as_html(case.rows[0].case_id)}</code>'
        f'<span class="ask">{as_html(said)}</span><span class="n num">{number(case.overall)}</span></summary>'
        f"{case_body(case)}</details>"
    )


def with_mark(shown: str) -> str:
    """What `case_html` made, for a case in quarantine: with a mark before what was asked."""
    return shown.replace('<span class="ask">', '<span class="ask"><span class="tag t-none">quarantine</span> ', 1)


def case_body(case: ShownCase) -> str:
    """What opens below the line of a case."""
    return _labels(case.rows[0]) + "".join(_turn(row, case) for row in case.rows)


def _labels(first: Result) -> str:
    parts = [
        f"{name} {as_html(str(value))}"
        for name, value in (
            ("tier", first.tier),
            ("language", language_name(first.language) if first.language else None),
        )
        if value is not None
    ]
    if first.category is not None:
        parts.insert(0, f"category <bdi>{as_html(first.category)}</bdi>")
    parts += [f"<bdi>{as_html(tag)}</bdi>" for tag in first.tags]
    return f'<div class="labels">{" · ".join(parts)}</div>' if parts else ""


def _turn(result: Result, case: ShownCase) -> str:
    row = result_row(result)
    heading = ""
    if len(case.rows) > 1:
        repeat = f", repeat {result.repeat + 1}" if case.rows[-1].repeat else ""
        heading = f"<h4>Turn {result.turn + 1}{repeat}</h4>"
    facts = [number(result.latency_ms, "ms")] if result.latency_ms is not None else []
    if (stated := (row["reply"] or {}).get("confidence")) is not None:
        facts.append(f"confidence {stated:.2f}" if isinstance(stated, float) else f"confidence {as_html(str(stated))}")
    if result.attempts > 1:
        facts.append(f"{result.attempts} attempts")
    if result.cached:
        facts.append("from the cache")
    below = f'<p class="note num">{" · ".join(facts)}</p>' if facts else ""
    scores = f'<div class="scores">{_scores(row["scores"])}{below}</div>'
    return f'<div class="turnset">{heading}<div>{_talk(row, result)}</div>{scores}</div>'


def _talk(row: Mapping[str, Any], result: Result) -> str:
    """What was asked, what came, and what was expected instead, with the differences marked where it did not pass."""
    reply, expected = row["reply"], row["expected"]
    parts = [f'<p class="say u">{_shown(row["input"] or "")}</p>']
    wanted = expected.get("answer")
    marked = None
    if reply is not None:
        text = reply["text"]
        if result.passed is False and isinstance(wanted, str) and max(len(text), len(wanted)) <= TEXT_SHOWN:
            marked = mark_differences(redact(wanted), redact(text))
        shown = marked.actual if marked else _shown(text)
        if not text.strip():
            shown = f"<span class=soft>({'a blank reply' if text else 'an empty reply'})</span>"
        parts.append(f'<p class="say">{shown}</p>')
    if (error := row["error"]) is not None:
        parts.append(f'<p class="say e">No result: {as_html(error["kind"])}. {_shown(error["message"])}</p>')
    if wanted is not None:
        shown = marked.expected if marked else _shown(plain(wanted))
        parts.append(f"<p class=want><b>Expected</b> <bdi>{shown}</bdi></p>")
    parts += [_wanted(name, value, reply or {}) for name, value in expected.items() if name != "answer"]
    if reply is not None and reply["contexts"]:
        parts.append(_passages(reply["contexts"]))
    return "".join(parts)


def _wanted(name: str, value: Any, reply: Mapping[str, Any]) -> str:  # Any: whatever JSON holds
    label = f"<b>Expected {as_html(name)}</b>"
    if name == "checks":
        asked = (f"{each['type'].replace('_', ' ')} {plain(each.get('value', ''))}" for each in value)
        value = " · ".join(map(str.strip, asked))
    if name not in reply or reply[name] == value:
        return f'<p class="want also">{label} <bdi>{_shown(plain(value))}</bdi></p>'
    expected, got = compare_values(_masked(value), _masked(reply[name]))
    return f'<p class="want also">{label} <bdi>{expected}</bdi> <b>got</b> <bdi>{got}</bdi></p>'


def _masked(value: Any) -> Any:  # Any: whatever JSON holds
    if isinstance(value, str):
        return cut(redact(value), TEXT_SHOWN)
    if isinstance(value, Mapping):
        return {key: _masked(each) for key, each in value.items()}
    return [_masked(each) for each in value] if isinstance(value, list) else value


def _passages(contexts: Sequence[Any]) -> str:  # Any: a target may give more than texts
    items = "".join(f"<li>{_shown(plain(each))}</li>" for each in contexts[:EVIDENCE_SHOWN])
    count = len(contexts)
    title = f"{count} {plural('passage', count)} that it used"
    return f"<details class=ev><summary>{title}</summary><ol>{items}</ol></details>"


def _scores(scores: Mapping[str, Mapping[str, Any]]) -> str:
    if not scores:
        return '<p class="note">Nothing was scored.</p>'
    rows, absent = "", []
    for name, score in scores.items():
        if score.get("value") is None and "error" not in score:
            reason = str(score.get("reason", ""))
            reason = "" if reason == NOT_APPLIED else reason  # the line begins with it
            absent.append(f"{name_as_html(label_of(name))}{f' ({_shown(reason)})' if reason else ''}")
            continue
        judge = " <span class=by>judge</span>" if score.get("source") == "judge" else ""
        if (calls := _attempts_at(score)) > 1:
            judge += f" <span class=by>{calls} attempts</span>"
        rows += (
            f"<tr><th scope=row>{name_as_html(label_of(name))}{judge}</th><td>{_score_tag(score)}</td>"
            f"<td>{_shown(_reason(score))}{_evidence(score.get('evidence'))}</td></tr>"
        )
    below = f'<p class="note">Does not apply: {"; ".join(absent)}</p>' if absent else ""
    if not rows:
        return below
    head = "<thead><tr><th scope=col>Scorer</th><th scope=col>Score</th><th scope=col>Why</th></tr></thead>"
    return f'<div class="scroll"><table class="num">{head}<tbody>{rows}</tbody></table></div>{below}'


def _score_tag(score: Mapping[str, Any]) -> str:
    if "error" in score:
        return '<span class="tag t-warn">! error</span>'
    passed = score.get("passed")
    kind, mark = ("t-none", "") if passed is None else ("t-pass", "✓ ") if passed else ("t-fail", "✕ ")
    return f'<span class="tag {kind}">{mark}{number(figure_of(score))}</span>'


def _attempts_at(score: Mapping[str, Any]) -> int:
    """How often a judge was asked for this score, or for the error in its place; 0: it is not known, or no judge's."""
    told = score.get("error") or (score.get("evidence") if score.get("source") == "judge" else None)
    attempts = told.get("attempts", 0) if isinstance(told, Mapping) else 0
    return attempts if isinstance(attempts, int) else 0


def _reason(score: Mapping[str, Any]) -> str:
    error = score.get("error")
    if isinstance(error, Mapping):
        return f"{error.get('kind', 'error')}: {error.get('message', '')}"
    reason = str(score.get("reason", ""))
    measure, unit = score.get("measure"), str(score.get("unit", ""))
    if measure is None or _says(reason, measure, unit):
        return reason
    if unit.startswith("share of "):
        measured = f"{100 * measure:.0f} % {unit.removeprefix('share ')}"
    else:
        measured = (f"{measure:,.0f}" if abs(measure) >= 100 else f"{measure:.3g}") + f" {unit}".rstrip()
    return f"{measured}{'. ' if reason[0].isupper() else '; '}{reason}" if reason else measured


def _says(reason: str, measure: float, unit: str) -> bool:
    """Whether the reason has the measure and its unit in it, rounded in one of the usual ways, or as a share of 1."""
    if unit.casefold() not in reason.casefold():
        return False
    forms = [(measure, form) for form in ("g", ".0f", ",.0f", ".1f", ".2f", ".3f", ".3g")]
    forms += [(measure / 100, form) for form in (".2f", ".3f")]  # chrF 5.12 and chrF 0.05 are the same
    for value, form in forms:
        shown = format(value, form)
        place = reason.find(shown)
        while place >= 0:
            before, after = reason[max(place - 1, 0) : place], reason[place + len(shown) :]
            if _ENDS.match(after) and not _JOINED.match(before):
                return True
            place = reason.find(shown, place + 1)
    return False


_ENDS = re.compile(r"(?!\d|[.,]\d)")
_JOINED = re.compile(r"[\w.,]")


def _evidence(evidence: Any) -> str:  # Any: whatever JSON holds
    """What a scorer rests on, one click away; nothing where the reason says it all."""
    if isinstance(evidence, Mapping):
        evidence = {name: value for name, value in evidence.items() if name not in _SAID_BY_THE_REASON}
    if not _has_content(evidence):
        return ""
    return f"<details class=ev><summary>Evidence</summary>{_entries(evidence)}</details>"


def _entries(value: Any) -> str:  # Any: whatever JSON holds
    if isinstance(value, Mapping):
        items = [
            f"<li><b>{as_html(str(name).replace('_', ' '))}</b> "
            f"{_entries(each) if _is_nested(each) else _shown(plain(each))}</li>"
            for name, each in value.items()
            if _has_content(each)
        ]
        return f"<ul>{''.join(items)}</ul>"
    if isinstance(value, list) and _is_nested(value):
        items = [f"<li>{_entry(each)}</li>" for each in value[:EVIDENCE_SHOWN]]
        if len(value) > EVIDENCE_SHOWN:
            items.append(f"<li>and {len(value) - EVIDENCE_SHOWN:,} more, in the JSON file</li>")
        return f"<ol>{''.join(items)}</ol>"
    return f"<p>{_shown(plain(value))}</p>"


def _entry(value: Any) -> str:  # Any: whatever JSON holds
    """One of several things on a line: its parts by name, those that say nothing left out."""
    if not isinstance(value, Mapping):
        return _shown(plain(value))
    parts = (
        f"<b>{as_html(str(name).replace('_', ' '))}</b> {_shown(plain(each))}"
        for name, each in value.items()
        if _has_content(each)
    )
    return " · ".join(parts) or "nothing"


def _is_nested(value: Any) -> bool:  # Any: whatever JSON holds
    return (isinstance(value, Mapping) and len(value) > 0) or (
        isinstance(value, list) and any(isinstance(each, Mapping | list) for each in value)
    )


def _has_content(value: Any) -> bool:  # Any: whatever JSON holds
    return value is not None and value not in ("", [], {})


def _shown(text: str) -> str:
    text = redact(text)
    if len(text) <= TEXT_SHOWN:
        return as_html(text)
    left = len(text) - TEXT_SHOWN
    more = f"… {left:,} more {plural('character', left)} in the JSON file"
    return f'{as_html(text[:TEXT_SHOWN])}<span class="soft">{more}</span>'
