"""What may be wrong with cases that passed, in a sentence each: it stands beside every verdict."""

from __future__ import annotations

from cortex_eval.analysis import Overruled, Report

SCORERS_NAMED = 3
CASES_NAMED = 2


def let_through_sentence(report: Report) -> str:
    """Such as `2 cases passed although a scorer failed them: safety 2 (weight 0.2; …). …`; empty: there are none."""
    found = report.let_through
    if found is None:
        return ""
    one = found.count == 1
    lead = f"{'1 case' if one else f'{found.count:,} cases'} passed although a scorer failed {'it' if one else 'them'}"
    named = found.scorers[:SCORERS_NAMED]
    more = len(found.scorers) - len(named)
    rest = f" and {more} more {'scorer' if more == 1 else 'scorers'}" if more else ""
    which = "the scorer" if len(found.scorers) == 1 else "these scorers"
    weight = "a weight" if all(each.lacks_weight for each in found.scorers) else "more weight"
    how = f"To have such cases fail, give {which} critical: true, or {weight}"
    return f"{lead}: {', '.join(map(_told, named))}{rest}. {how}"


def _told(each: Overruled) -> str:
    weight = "no weight in metric_weights" if each.lacks_weight else f"weight {each.weight:.2g}"
    first, *others = each.cases[:CASES_NAMED]
    if each.is_grave and each.finding:
        reason = each.finding.rstrip(".")
        cases = f"{first}: {reason[:1].lower()}{reason[1:]}"
    else:
        cases = f"{'e.g. ' if each.count > CASES_NAMED else ''}{', '.join((first, *others))}"
    return f"{each.scorer} {each.count:,} ({weight}; {cases})"


def passed_numbers_sentence(report: Report) -> str:
    """That replies passed which state another number than the expected answer, with the first of them; or empty."""
    found = report.passed_numbers
    if found is None:
        return ""
    one = found.count == 1
    first = found.cases[0]
    lead = (
        f"{'1 reply' if one else f'{found.count:,} replies'} passed and {'states' if one else 'state'} another number"
    )
    example = f"{first.case} (expected {first.expected}, said {first.said})"
    return f"{lead} than expected: {example}{'' if one else ' and others'}; see cortex analyze"
