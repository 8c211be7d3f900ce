"""The list of cases in the HTML report: every case can be found, and what is heavy is packed until it is opened."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import orjson

from cortex_eval.analysis import CaseChange, Report, SetAside, asked_at, critical_scorers
from cortex_eval.core import Result, language_name, redact, redact_bytes
from cortex_eval.reports.html_cases import (
    NOT_GRAVE,
    PROBLEMS,
    STATES,
    ShownCase,
    case_body,
    case_html,
    state_of,
    with_mark,
)
from cortex_eval.reports.html_parts import in_attribute
from cortex_eval.reports.text import as_html, cut, visible
from cortex_eval.reports.words import plural, with_config

PLAIN_SHOWN = 100
"""Cases that are on the page as they are, so that they read without JavaScript and print."""
PLAIN_SIGNS = 500_000
LISTED = 20_000
"""Cases in the list; of more, those with a problem first."""
LIST_BYTES = 5_000_000
PACKED_BYTES = 7_500_000
"""All three together keep the file below 15 MB, whatever is in the cases."""
LISTED_AFTER_A_QUICK_RUN = 2_000
"""Of those with a problem, and of those that passed: `cortex report` lists them all."""
PACKED_AFTER_A_QUICK_RUN = 300
"""Of those with a problem; as many again of what is critical."""
SAMPLE_AFTER_A_QUICK_RUN = 20
"""Of those that passed."""
PACK = 100
"""Cases packed together: opening one unpacks them all, which takes some milliseconds."""
ASKED_SHOWN = 120
PASSED_ON_PAPER = 50
"""Cases up to which those that passed are printed too, a line each; of more, only those that did not pass."""


@dataclass(slots=True)
class _Line:
    """One case in the list."""

    number: int
    """Of its case in the dataset."""
    order: tuple[int, int, float, int]
    """What is gravest first, then by state, score and place in the dataset."""
    text: bytes
    """As JSON, without its end."""
    place: int = -1
    """Among the packed cases."""


class ListedCases:
    """What the page holds of the cases: a line of each, and the talk of as many as there is room for.

    Only a quick page is made from what went by while the figures were added up. It has the talk of the cases that
    failed and of a few others; with `is_full`, of all of them. `critical` are the scorers that no case may fail.
    """

    def __init__(self, *, is_full: bool = False, critical: Collection[str] = ()) -> None:
        self.is_full = is_full
        self.critical = critical
        self.seen = 0
        self.packed = 0
        self.packs: list[str] = []
        self.plain: list[tuple[tuple[int, int, float, int], str, str]] = []
        """The order, the id and the whole of those that are on the page as they are."""
        self._problems: list[_Line] = []
        self._others: list[_Line] = []
        self._held: list[tuple[ShownCase, str, _Line]] = []
        self._rows: list[Result] = []
        self._waiting: list[str] = []
        self._list_bytes = self._plain_signs = self._packed_bytes = 0

    def add(self, result: Result) -> None:
        """Note one result; those of a case come one after the other."""
        if self._rows and self._rows[0].case_id != result.case_id:
            self._close_case()
        self._rows.append(result)

    def finish(self) -> None:
        """Nothing more comes: those that passed take the room that is left."""
        if self._rows:
            self._close_case()
        sample = PLAIN_SHOWN if self.is_full else SAMPLE_AFTER_A_QUICK_RUN
        for case, said, line in self._held[: max(0, LISTED - len(self._problems))]:
            if self._has_room():
                self._show(case, said, line)
            elif sample and self._packed_bytes < PACKED_BYTES:
                sample -= 1
                self._pack(case, line)
        self._held = []
        self._close_pack()

    @property
    def lines(self) -> list[_Line]:
        """What is critical first, the gravest before the others, then what else has a problem, by score."""
        lines = [*self._problems, *self._others[: max(0, LISTED - len(self._problems))]]
        return sorted(lines, key=lambda each: each.order)

    def _close_case(self) -> None:
        rows, self._rows = self._rows, []
        self.seen += 1
        state = state_of(rows)
        is_problem = state in PROBLEMS
        kept = self._problems if is_problem else self._others
        most = LISTED if self.is_full else LISTED_AFTER_A_QUICK_RUN
        if len(kept) >= most or self._list_bytes > LIST_BYTES:
            return
        case = ShownCase(rows, state, critical=self.critical)
        said = cut(redact(asked_at(case.telling)[0] or ""), ASKED_SHOWN)
        line = self._line(case, said)
        kept.append(line)
        self._list_bytes += len(line.text)
        if is_problem and self._has_room():
            self._show(case, said, line)
        elif not is_problem and len(self._held) < PLAIN_SHOWN:
            self._held.append((case, said, line))
        elif self.is_full:
            if self._packed_bytes < (PACKED_BYTES if is_problem else PACKED_BYTES * 0.8):
                self._pack(case, line)
        elif is_problem and self.packed < PACKED_AFTER_A_QUICK_RUN * (1 + (line.order[0] < NOT_GRAVE)):
            self._pack(case, line)

    def _has_room(self) -> bool:
        return len(self.plain) < PLAIN_SHOWN and self._plain_signs < PLAIN_SIGNS

    def _show(self, case: ShownCase, said: str, line: _Line) -> None:
        shown = case_html(case, said, number_in_run=line.number)
        self.plain.append((line.order, case.rows[0].case_id, shown))
        self._plain_signs += len(shown)

    def _pack(self, case: ShownCase, line: _Line) -> None:
        line.place = self.packed
        self.packed += 1
        self._waiting.append(case_body(case))
        if len(self._waiting) == PACK:
            self._close_pack()

    def _close_pack(self) -> None:
        if self._waiting:
            self.packs.append(base64.b64encode(zlib.compress(orjson.dumps(self._waiting), 1)).decode())
            self._packed_bytes += len(self.packs[-1])
            self._waiting = []

    def _line(self, case: ShownCase, said: str) -> _Line:
        first, score, slowest = case.rows[0], case.overall, case.slowest_ms
        state = STATES.index(case.state)
        number = first.ordinal + 1
        row = [number, first.case_id, state, None if score is None else round(score, 3), first.category, first.tier]
        row += [first.language, said, None if slowest is None else round(slowest)]
        text = orjson.dumps(row)
        if not text.isascii() or b"\\" in text:  # something in it may not be visible
            text = orjson.dumps([visible(each) if isinstance(each, str) else each for each in row])
        text = redact_bytes(text).replace(b"<", b"\\u003c")  # nothing in it can end the element that it stands in
        # Its end comes with its place. The copy is needed too: orjson gives back four kilobytes, however short it is.
        order = (case.gravity, state, score if score is not None else 0.0, number)
        return _Line(number, order, text[:-1])


def cases_section(report: Report, noted: ListedCases | None = None) -> Iterator[str]:
    """The cases, failed and errored first, with filters, in pieces; `noted` is what went by, for a quick page."""
    cases = noted
    if cases is None:
        cases = ListedCases(is_full=True, critical=critical_scorers(report.run))
        for result in report.open_results():
            cases.add(result)
    cases.finish()
    if not cases.seen:
        yield '<section id="cases"><h2>Cases</h2><p class="empty">This run has no results.</p></section>'
        return
    lines = cases.lines
    yield f'<section id="cases"><h2>Cases</h2>{_filters(report)}{_notes(report, cases, len(lines))}<div id="list">'
    quarantined = {each.case_id for each in report.quarantine}
    for number, (order, case_id, shown) in enumerate(sorted(cases.plain, key=lambda each: each[0])):
        if case_id in quarantined:
            shown = with_mark(shown)
        is_open = number == 0 and STATES[order[1]] in PROBLEMS
        yield shown.replace("<details", "<details open", 1) if is_open else shown
    yield '</div><p class="empty" id="no-case" hidden>No case fits these filters. '
    yield '<button type="button" id="show-all">Show all cases</button></p>'
    yield '<p class="note num" id="shown" role="status" hidden></p><button type="button" id="further" hidden></button>'
    yield from _data(lines, cases.packs)
    yield _ids("newly-broken", report.case_changes.newly_broken if report.case_changes else ())
    yield _ids("quarantined", report.quarantine)
    yield "</section>"


def _data(lines: list[_Line], packs: list[str]) -> Iterator[str]:
    """What the script lists and opens; data blocks are not run by a browser."""
    yield '<script type="application/json" id="case-list">['
    for start in range(0, len(lines), 500):
        rows = [b"%b,%d]" % (line.text, line.place) for line in lines[start : start + 500]]
        yield ("," if start else "") + b",\n".join(rows).decode()
    yield ']</script><script type="application/json" id="case-bodies">['
    for number, pack in enumerate(packs):
        yield f'{"," if number else ""}"{pack}"'
    yield "]</script>"


def _ids(name: str, cases: Sequence[CaseChange | SetAside]) -> str:
    """The cases of the filter of that name, as the list spells them."""
    ids = redact_bytes(orjson.dumps([visible(each.case_id) for each in cases])).replace(b"<", b"\\u003c").decode()
    return f'<script type="application/json" id="{name}">{ids}</script>' if cases else ""


def _filters(report: Report) -> str:
    totals, aside = report.totals, len(report.quarantine)
    labels = [("", "All", totals.cases + aside), ("failed", "Failed", totals.failed)]
    labels += [("error", "Errors", totals.errors), ("passed", "Passed", totals.passed)]
    broken = report.case_changes.newly_broken if report.case_changes else ()
    if broken:
        labels.insert(2, ("broken", "Newly broken", len(broken)))
    if aside:  # these have no other filter: the figures beside the others are those of the report
        labels.append(("quarantine", "Quarantine", aside))
    chips = "".join(
        f'<button type="button" value="{value}" aria-pressed="{str(not value).lower()}">{label} {count:,}</button>'
        for value, label, count in labels
    )
    picks = ""
    for name, groups in (("category", report.categories), ("tier", report.tiers), ("language", report.languages)):
        if len(groups) > 1:
            named = ((each, language_name(each) if name == "language" else each) for each in groups)
            options = "".join(
                f'<option value="{in_attribute(each)}">{as_html(shown)}</option>' for each, shown in named
            )
            every = f'<option value="">{name.title()}: all</option>'
            picks += f'<select name="{name}" aria-label="{name.title()}">{every}{options}</select>'
    orders = (("", "problems first"), ("score", "lowest score"), ("slow", "slowest"), ("run", "as in the dataset"))
    options = "".join(f'<option value="{value}">Order: {label}</option>' for value, label in orders)
    order = f'<select name="order" aria-label="Order">{options}</select>'
    search = '<input type="search" placeholder="Search the cases ( / )" aria-label="Search the cases">'
    return f'<div class="filters num" id="filters" role="search" hidden>{chips}{picks}{order}{search}</div>'


def _notes(report: Report, cases: ListedCases, listed: int) -> str:
    """What is not here, and where it is; honest to those without JavaScript too."""
    notes = ""
    if len(cases.plain) < cases.seen:
        notes += (
            f'<p class="note no-js">Without JavaScript this page shows {len(cases.plain)} of {cases.seen:,} cases, '
            "failed and errored ones first. All of them are in the JSON file beside it.</p>"
        )
    if listed < cases.seen:
        notes += (
            f'<p class="note">{listed:,} of {cases.seen:,} cases are listed, failed and errored ones first. '
            "All of them are in the JSON file beside this page.</p>"
        )
    opened = len(cases.plain) + cases.packed
    if opened < listed:
        here = f"{opened:,} {plural('case', opened)} can be opened, failed and errored ones first"
        command = as_html(with_config(f"cortex report {report.run.id}", report.run))
        rest = (
            f"{here}; the others are too large for one page and are in the JSON file beside it."
            if cases.is_full
            else f"The run was quick, and so was making this page: {here}. All, and charts: <code>{command}</code>"
        )
        notes += f'<p class="note">{rest}</p>'
    totals = report.totals
    if cases.seen > PASSED_ON_PAPER and totals.passed and totals.failed + totals.errors:
        passed = f"{totals.passed:,} that passed {'is' if totals.passed == 1 else 'are'}"
        notes += f'<p class="note paper" id="on-paper">Those that did not pass. The {passed} on the page itself.</p>'
    return notes
