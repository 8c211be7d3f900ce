"""Checks of single cases: played, scored, and failed like any assertion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from cortex_eval.analysis import Report, result_row
from cortex_eval.api import TargetLike, evaluate, evaluate_async
from cortex_eval.config import ScorerLike
from cortex_eval.core import Case, CortexError, InputError, JudgeError, Reply, Result, TargetError, short_repr
from cortex_eval.reports import missed_scores, outcome_of, visible

LONGEST_SHOWN = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseOutcome:
    """How one case went."""

    case_id: str
    passed: bool
    score: float | None
    """The mean over its turns and repeats; None: nothing with a weight applied to it, or there was an error."""
    results: tuple[Result, ...]
    """One for each turn and repeat."""
    outcome: str
    """passed, failed, error or skipped; skipped: the run ended before it."""

    @property
    def case(self) -> Case:
        """The case, at its last turn."""
        return self.results[-1].case

    @property
    def reply(self) -> Reply | None:
        """The last reply; None when there was none."""
        return self.results[-1].reply

    @property
    def scores(self) -> dict[str, float | None]:
        """The value of each scorer at the last turn that has one."""
        found: dict[str, float | None] = {}
        for result in self.results:
            found |= {name: score["value"] for name, score in result.scores.items() if "value" in score}
        return found

    @property
    def why(self) -> str:
        """What was said, and which scorers it missed, in lines."""
        return "\n".join(line for result in self.results for line in _lines(result, is_only=len(self.results) == 1))

    @property
    def complaint(self) -> AssertionError | CortexError | None:
        """AssertionError when the case failed, TargetError or JudgeError when there is no verdict; None: it passed."""
        if self.passed:
            return None
        if self.outcome == "failed":
            return AssertionError(f"case {self.case_id!r} did not pass\n{self.why}")
        found = next((each.error for each in self.results if each.error), None)
        said = f"{found.kind}: {found.message}" if found else self.outcome
        is_judge = any(each.state == "error_judge" for each in self.results)
        return (JudgeError if is_judge else TargetError)(f"Case {self.case_id!r} has no verdict: {visible(said)}")


class Checker:
    """What the fixture `cortex` gives."""

    def __init__(self, properties: list[tuple[str, object]]) -> None:
        self._properties = properties

    def check(
        self,
        case: Case | Mapping[str, Any],
        *,
        target: TargetLike,
        scorers: Sequence[ScorerLike],
        threshold: float = 0.7,
        **settings: Any,
    ) -> CaseOutcome:
        """Play one case, and fail the test when its score is under the threshold or a critical scorer is not met.

        `case` is a `Case` or a row as a dataset file would hold it; `settings` are those of `evaluate()`, such as
        `repeats=3` or `timeout_s=10`. A target that does not answer is a TargetError, a judge a JudgeError.
        """
        __tracebackhide__ = True
        rows, kept = [_checked(case)], {"store": None, **settings}
        try:
            report = evaluate(rows, target, scorers, passing_threshold=threshold, **kept)
        except CortexError as error:
            raise error.with_traceback(None) from None  # the line of the test is enough
        return self._judged(report)

    async def check_async(
        self,
        case: Case | Mapping[str, Any],
        *,
        target: TargetLike,
        scorers: Sequence[ScorerLike],
        threshold: float = 0.7,
        **settings: Any,
    ) -> CaseOutcome:
        """The same in the event loop of the test: for targets that hold on to it, such as an open session."""
        __tracebackhide__ = True
        rows, kept = [_checked(case)], {"store": None, **settings}
        try:
            report = await evaluate_async(rows, target, scorers, passing_threshold=threshold, **kept)
        except CortexError as error:
            raise error.with_traceback(None) from None  # see above
        return self._judged(report)

    def _judged(self, report: Report) -> CaseOutcome:
        __tracebackhide__ = True
        (outcome,) = outcomes(report.open_results())
        self._properties.append(("cortex_score", outcome.score))
        if (complaint := outcome.complaint or _not_judged(outcome)) is not None:
            raise complaint
        return outcome


def outcomes(results: Iterable[Result]) -> list[CaseOutcome]:
    """How each case went, from results that come case by case."""
    return [_outcome(case_id, tuple(rows)) for case_id, rows in groupby(results, key=lambda each: each.case_id)]


def summary_lines(said: Mapping[str, Sequence[tuple[str, Any]]]) -> list[str]:
    """What the terminal shows at the end of a session, from the properties that each test left behind."""
    told = [(test, name, value) for test, properties in said.items() for name, value in properties]
    runs = sorted({str(value) for _, name, value in told if name == "cortex_run"})
    scored = [(value, test) for test, name, value in told if name == "cortex_score"]
    values = sorted(each for each in scored if each[0] is not None)
    if not scored:
        return runs
    line = f"{len(scored)} {'case' if len(scored) == 1 else 'cases'} checked"
    if values:
        line += f": mean score {sum(value for value, _ in values) / len(values):.2f}"
    if len(values) > 1:
        line += f", lowest {values[0][0]:.2f} in {values[0][1]}"
    if len(values) < len(scored):
        line += f"; {len(scored) - len(values)} without a score"
    return [*runs, line]


def _outcome(case_id: str, rows: tuple[Result, ...]) -> CaseOutcome:
    outcome = outcome_of(list(rows))
    values = [row.overall for row in rows if row.overall is not None]
    has_score = bool(values) and outcome in ("passed", "failed")
    return CaseOutcome(
        case_id=case_id,
        passed=outcome == "passed",
        score=sum(values) / len(values) if has_score else None,
        results=rows,
        outcome=outcome,
    )


def _not_judged(outcome: CaseOutcome) -> InputError | None:
    """A test that looks at nothing must not pass."""
    if any(value is not None for value in outcome.scores.values()):
        return None
    scored = (pair for each in outcome.results for pair in each.scores.items())
    said = sorted({f"{name}: {str(score.get('reason') or 'nothing').rstrip('.')}" for name, score in scored})
    return InputError(f"No scorer has anything to say about case {outcome.case_id!r} ({'; '.join(said)}).")


def _checked(case: Case | Mapping[str, Any]) -> Case | Mapping[str, Any]:
    __tracebackhide__ = True
    if not isinstance(case, Case | Mapping):
        raise InputError(f"cortex.check() takes one case: a Case or a mapping with 'input', not {short_repr(case)}.")
    return case


def _lines(result: Result, *, is_only: bool) -> list[str]:
    row = result_row(result)
    lines = [] if is_only else [f"turn {result.turn + 1}, repeat {result.repeat + 1}: {result.state}"]
    lines.append(f"  asked     {_short(row['input'] or '')}")
    if row["expected"].get("answer"):
        lines.append(f"  expected  {_short(row['expected']['answer'])}")
    if row["reply"] is not None:
        lines.append(f"  replied   {_short(row['reply']['text'])}")
    lines += [f"  {_short(missed)}" for missed in missed_scores(row["scores"])]
    if result.overall is not None:
        lines.append(f"  overall   {result.overall:.2f}")
    return lines


def _short(text: str) -> str:
    line = " ".join(visible(text).split())
    return line if len(line) <= LONGEST_SHOWN else line[: LONGEST_SHOWN - 1] + "…"
