"""Cases that broke, were mended, fell into error, or cannot be relied on, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from cortex_eval.analysis.cases import CaseFigures, breaks_what_is_critical, is_newly_broken
from cortex_eval.analysis.likeness import ALIKE, Unlike
from cortex_eval.analysis.verdict import stays_broken
from cortex_eval.core import Direction, Reply, Result, redact

Pair = tuple[CaseFigures, CaseFigures]
History = Sequence[Sequence[Mapping[str, CaseFigures]]]
"""Groups of runs, each group of one unchanged system: within it the verdicts of a case should agree."""
ReadAt = Callable[[Sequence[int]], Iterable[Result]]
"""The results of one run, with their cases, of the cases at these places of its dataset."""
WITH_WORDS = 60
"""Cases of each list of which is read what was asked and replied."""
_STATED = ("intent", "label", "tool", "transcript")
_REASONS = 3
_SAME = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseChange:
    """One case that broke, was mended, or cannot be relied on."""

    case_id: str
    category: str | None
    why: str
    passes_a: tuple[bool, ...] = ()
    passes_b: tuple[bool, ...] = ()
    asked_again: tuple[bool, ...] = ()
    """Of the later run: the verdicts of asking it once more, where that was done."""
    is_critical: bool = False
    """It is tagged `critical`, or fails what is critical: of a case that broke or was mended, in one run and not in
    the other."""
    is_flaky: bool = False
    """Its verdicts did not agree among repeats, or in earlier runs of the same system."""
    fails_critical: tuple[str, ...] = ()
    """Of the later run: critical scorers that it fails, and scorers that found a rule of severity critical broken."""
    is_grave: bool = False
    """It is tagged `critical`, or breaks a rule of severity critical in one of the runs."""
    ordinal_a: int = 0
    ordinal_b: int = 0
    """Its place in the dataset of each run."""
    question: str | None = None
    """What was asked, at the turn that changed; None: not read."""
    reply_before: str | None = None
    reply_after: str | None = None
    """What was replied there in each run; None: not read, or there was no answer."""


class BrokenCategory(NamedTuple):
    """A category with cases that passed before and fail now."""

    category: str
    broken: int
    passed_before: int

    @property
    def is_whole(self) -> bool:
        """Whether every case of it that passed before fails now."""
        return self.broken == self.passed_before


class Changes(NamedTuple):
    """The cases of a comparison whose verdicts are worth a look."""

    newly_broken: tuple[CaseChange, ...]
    newly_fixed: tuple[CaseChange, ...]
    flaky: tuple[CaseChange, ...]
    newly_in_error: tuple[CaseChange, ...]
    broken_categories: tuple[BrokenCategory, ...] = ()
    """Those that broke wholly first, then by how many of their cases broke; empty when no case states a category."""

    @property
    def new_critical(self) -> tuple[CaseChange, ...]:
        """Critical cases that broke: each is a regression, whatever the chance, as it is for the gate of a run."""
        return tuple(each for each in self.newly_broken if each.is_critical and stays_broken(each.asked_again))

    @property
    def flaky_critical(self) -> tuple[CaseChange, ...]:
        """Critical cases that failed and passed when they were asked again: they are told, and decide nothing."""
        return tuple(each for each in self.newly_broken if each.is_critical and not stays_broken(each.asked_again))

    def to_dict(self) -> dict[str, Any]:  # Any: JSON
        """As the report file holds it."""
        kinds = {"newly_broken": self.newly_broken, "newly_fixed": self.newly_fixed}
        kinds["newly_in_error"] = self.newly_in_error
        return {kind: [_document(each) for each in found] for kind, found in kinds.items()}


def _document(change: CaseChange) -> dict[str, Any]:  # Any: JSON
    return {name: getattr(change, name) for name in ("case_id", "category", "why", "is_critical", "is_flaky")}


def case_changes(
    pairs: Sequence[Pair], directions: Mapping[str, Direction], history: History = (), *, unlike: Unlike = ALIKE
) -> Changes:
    """What became of the verdict of each case.

    Broken and fixed ask for the same verdict in every repeat of a run; where repeats disagree, or earlier runs of the
    same system did, a case is flaky. One that earlier runs call flaky and that broke is in both lists, never hidden.
    What only a scorer says that is `unlike` that of the other run is neither broken nor fixed.
    """
    directions = {name: way for name, way in directions.items() if name not in unlike.scorers}
    broken, fixed, flaky, in_error = [], [], [], []
    for a, b in pairs:
        unsteady = _unsteady(a, b, history)
        if unsteady:
            flaky.append(_change(a, b, "; ".join(unsteady), is_flaky=True))
        if is_newly_broken(a, b, unlike):
            why, is_critical = _moved(a, b, directions, worse=True), breaks_what_is_critical(a, b, unlike)
            broken.append(_change(a, b, why, is_flaky=bool(unsteady), is_critical=is_critical))
        elif is_newly_broken(b, a, unlike):
            why, is_critical = _moved(a, b, directions, worse=False), breaks_what_is_critical(b, a, unlike)
            fixed.append(_change(a, b, why, is_flaky=bool(unsteady), is_critical=is_critical))
        elif b.error and not b.passes and a.passes:
            in_error.append(_change(a, b, f"{_passed(a.passes)} before, no answer now", is_flaky=bool(unsteady)))
    return Changes(
        newly_broken=_ordered(broken),
        newly_fixed=_ordered(fixed),
        flaky=_ordered(flaky),
        newly_in_error=_ordered(in_error),
        broken_categories=_broken_categories(pairs, unlike),
    )


def with_words(changes: Changes, read_a: ReadAt, read_b: ReadAt) -> Changes:
    """The same with what was asked and replied in the first cases of each list; only these are read."""
    lists = (changes.newly_broken, changes.newly_fixed, changes.flaky, changes.newly_in_error)
    shown = [each for found in lists for each in found[:WITH_WORDS]]
    if not shown:
        return changes
    a = _by_ordinal(read_a(sorted({each.ordinal_a for each in shown})))
    b = _by_ordinal(read_b(sorted({each.ordinal_b for each in shown})))

    def told(found: tuple[CaseChange, ...]) -> tuple[CaseChange, ...]:
        first = (_with_words(each, a.get(each.ordinal_a, []), b.get(each.ordinal_b, [])) for each in found[:WITH_WORDS])
        return (*first, *found[WITH_WORDS:])

    broken, fixed, flaky, in_error = map(told, lists)
    return changes._replace(newly_broken=broken, newly_fixed=fixed, flaky=flaky, newly_in_error=in_error)


def _by_ordinal(results: Iterable[Result]) -> dict[int, list[Result]]:
    found: dict[int, list[Result]] = {}
    for result in results:
        found.setdefault(result.ordinal, []).append(result)
    return found


def _with_words(change: CaseChange, before: Sequence[Result], after: Sequence[Result]) -> CaseChange:
    """Of the first turn that failed now, else then, else that had no answer: that is the one to look at."""
    rows = [*after, *before]
    if not rows:
        return change
    looked_at = next((row for row in rows if row.passed is False), None)
    looked_at = looked_at or next((row for row in rows if row.state != "passed"), rows[0])
    was, now = (_of_turn(found, looked_at) for found in (before, after))
    with_stated = was is not None and now is not None and was.text.strip() == now.text.strip()
    return replace(
        change,
        question=redact(looked_at.case.input),
        reply_before=_said(was, with_stated=with_stated),
        reply_after=_said(now, with_stated=with_stated),
    )


def _of_turn(rows: Sequence[Result], looked_at: Result) -> Reply | None:
    """The reply of a run at that turn: the very one that is looked at, else that of the first repeat with one."""
    if any(row is looked_at for row in rows):
        return looked_at.reply
    return next((row.reply for row in rows if row.turn == looked_at.turn and row.reply_json), None)


def _said(reply: Reply | None, *, with_stated: bool) -> str | None:
    """The text; where it shows no difference, with what else the reply states."""
    if reply is None:
        return None
    stated = ", ".join(f"{name}: {value}" for name in _STATED if (value := getattr(reply, name)) is not None)
    text = reply.text.strip()
    if not stated or (text and not with_stated):
        return redact(text)
    return redact(f"{text} ({stated})" if text else stated)


def _broken_categories(pairs: Sequence[Pair], unlike: Unlike) -> tuple[BrokenCategory, ...]:
    passed = Counter(b.category for a, b in pairs if a.verdict is True)
    broken = Counter(b.category for a, b in pairs if is_newly_broken(a, b, unlike))
    found = [BrokenCategory(name, count, passed[name]) for name, count in broken.items() if name is not None]
    return tuple(sorted(found, key=lambda each: (not each.is_whole, -each.broken, each.category)))


def _ordered(changes: list[CaseChange]) -> tuple[CaseChange, ...]:
    """What is critical first, of that the gravest; then by category, the one with most of them first."""
    counts = Counter(each.category for each in changes)

    def rank(each: CaseChange) -> tuple[bool, bool, int, str, str]:
        return not each.is_critical, not each.is_grave, -counts[each.category], each.category or "", each.case_id

    return tuple(sorted(changes, key=rank))


def _is_critical(case: CaseFigures) -> bool:
    return case.is_critical or bool(case.fails_critical)


def _change(a: CaseFigures, b: CaseFigures, why: str, *, is_flaky: bool, is_critical: bool | None = None) -> CaseChange:
    return CaseChange(
        case_id=b.case_id,
        category=b.category,
        why=why,
        passes_a=a.passes,
        passes_b=b.passes,
        asked_again=b.asked_again,
        is_critical=_is_critical(a) or _is_critical(b) if is_critical is None else is_critical,
        fails_critical=tuple(sorted(b.fails_critical)),
        is_grave=a.is_grave or b.is_grave,
        is_flaky=is_flaky,
        ordinal_a=a.ordinal,
        ordinal_b=b.ordinal,
    )


def _unsteady(a: CaseFigures, b: CaseFigures, history: History) -> list[str]:
    """Why a case cannot be relied on; empty when nothing says so."""
    found = [f"{_passed(run.passes)} in {name}" for name, run in (("A", a), ("B", b)) if run.is_mixed]
    if b.verdict is False and not stays_broken(b.asked_again):
        found.append(f"failed, and {_passed(b.asked_again)} when asked again")
    for group in history:
        verdicts = [run[a.case_id].verdict for run in group if a.case_id in run]
        if {True, False} <= set(verdicts):
            found.append(f"passed in {verdicts.count(True)} of {len(verdicts)} runs of the same version")
    return found


def _passed(passes: Sequence[bool]) -> str:
    return f"passed {sum(passes)} of {len(passes)}"


def _moved(a: CaseFigures, b: CaseFigures, directions: Mapping[str, Direction], *, worse: bool) -> str:
    """The scores that went the same way as the verdict: critical ones first, then those that moved most."""
    moves = []
    for name, direction in directions.items():
        was, now = a.values.get(name), b.values.get(name)
        if name in ("pass_rate", "overall_score", "latency_ms") or was is None or now is None:
            continue
        gain = (now - was) * (1 if direction == "higher" else -1)
        if (gain < -_SAME) if worse else (gain > _SAME):
            is_other = name not in (b if worse else a).fails_critical
            moves.append((is_other, -abs(gain), f"{name} {was:.2f} → {now:.2f}"))
    shown = [text for *_, text in sorted(moves, key=lambda each: each[:2])[:_REASONS]]
    return ", ".join(shown) or ("passed, then failed" if worse else "failed, then passed")
