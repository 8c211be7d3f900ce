"""Results that failed for a known reason, and what is found in them."""

from __future__ import annotations

from typing import Any

from made_results import made_case, made_result

from cortex_eval.analysis import Pattern, Report
from cortex_eval.core import Expected, Result

WRONG = {"value": 0.0, "passed": False}


def confused(number: int, expected: str, found: str | None, **fields: Any) -> Result:
    """A failed result in which one intent was taken for another."""
    case = fields.pop("case", None) or made_case(number, expected=Expected(intent=expected))
    evidence = {"expected_label": expected, "found_label": found}
    scores = {"intent": {**WRONG, "evidence": evidence}, **fields.pop("scores", {})}
    return made_result(case, number, state="failed", scores=scores, **fields)


def passed(number: int, **fields: Any) -> Result:
    return made_result(made_case(number, **fields), number, scores={"intent": 1.0})


def entity_failure(number: int, missing: dict[str, str], *, matched: bool = False, **fields: Any) -> Result:
    evidence = {
        "missing": [{"key": key, "value": value} for key, value in missing.items()],
        "extra": [],
        "matched": [{"key": "tissue", "expected": "liver", "found": "liver"}] if matched else [],
    }
    case = fields.pop("case", None) or made_case(number)
    return made_result(case, number, state="failed", scores={"entities": {**WRONG, "evidence": evidence}}, **fields)


def only(report: Report, type_: str) -> Pattern:
    (found,) = [each for each in report.patterns if each.type == type_]
    return found


def types(report: Report) -> list[str]:
    return [each.type for each in report.patterns]
