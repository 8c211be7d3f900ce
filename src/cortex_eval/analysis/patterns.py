"""Why cases fail: the values that an error analysis is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from cortex_eval.analysis.patterns_causes import REPLY_TYPES

Priority = Literal["high", "medium", "low"]

CASES_KEPT = 50
"""Ids kept with a pattern; its count is always exact."""
ROOT_CAUSE_MAP: Mapping[str, str] = {
    "intent_confusion": "Intent patterns need more distinctive keywords",
    "missing_entity": "Entity extraction regex patterns incomplete",
    "context_not_retained": "Conversation context not maintained between turns",
    "edge_case": "Input normalization not handling non-standard formats",
    "exception": "Error handling incomplete for edge inputs",
}
"""Seed 003 §7.3, word for word."""
OTHER_CAUSES: Mapping[str, str] = {
    "llm_fallback_failure": "The language model that is asked when the rules find nothing is wrong as well",
    "tool_selection_error": "The intent is understood, and the wrong tool belongs to it",
    "label_confusion": "The classes are not told apart by what the question says",
    "wrong_entity": "Entity extraction takes up what does not belong to the question",
    "safety_rule": "The reply breaks a rule of the safety file",
    "judge_error": "A scorer gave no verdict: this is no fault of the target",
    "setup_error": "The call came to no reply that could be read: this says nothing about the answers",
    "wrong_language": "The reply does not follow the language of the question or of the expected answer",
    "scorer_failure": "Not seen from outside: only the scorer's own reasons tell",
    "empty_reply": "The target sends no text, or it is not read from what it sends",
    "cut_off": "The reply reached the limit of tokens of the model",
    "refusal": "The target lacks the knowledge or the permission to answer, or hands the question on",
    "canned_reply": "A fallback answers too early, or one text is found for too many questions",
    "repeats_question": "The question is handed back in place of an answer",
    "wrong_number": "The target has other figures than the expected answers, or leaves them out",
    "opposite_answer": "The target has it the other way round, or takes the question for its opposite",
    "too_short": "The reply leaves out most of what is expected",
    "too_long": "The reply says much more than is expected",
    "missing_text": "The reply leaves out what it is expected to name",
    "other_wording": "The scorer compares wording, and these replies are put differently",
    "other_answer": "The target takes the question for another one, or finds other knowledge",
    "partial_answer": "The reply leaves out a part of what is expected, or says something else in its place",
    "unsupported_number": "The target makes numbers up, or has them from elsewhere",
    "unsupported_claim": "The target adds what its passages do not say, or was given the wrong ones",
    "language_gap": "One language is served worse than the others",
    "question_length": "Questions of this length are served worse than the others",
}
"""Of the two types that the seed has no cause for, and of ours."""

SETUP_TYPES = ("setup_error", "judge_error")
SEVERITIES = ("critical", "high", "medium", "low")
"""Of safety rules, the gravest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CriticalFailure:
    """Cases that failed by a critical scorer or a rule of severity critical, or that are tagged as critical."""

    name: str
    """Of the rule, the scorer, or the tag."""
    scorer: str
    """Empty: it is a tag, and the cases may have failed by anything."""
    reason: str
    """What the rule says, or the scorer most often; empty: nothing."""
    count: int
    """Cases."""
    cases: tuple[str, ...]
    """At most 50."""
    is_rule: bool = False
    severity: str = ""
    """Of the rule; empty: it is none, or states none."""

    @property
    def gravity(self) -> int:
        """0 is the gravest; what states no severity comes last."""
        return gravity(self.severity)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfusedPair:
    """One thing that was taken for another."""

    expected: str
    actual: str
    count: int
    """Cases."""
    cases: tuple[str, ...] = ()
    """At most 50."""
    scorer: str = "intent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """One reason for which cases fail, and what would mend it."""

    type: str
    """One of the seven of seed 003 §7.1, or one of ours such as `safety_rule` and `scorer_failure`."""
    title: str
    """What is wrong, in a line."""
    count: int
    """Cases that show it."""
    cases: tuple[str, ...]
    """Their ids, at most 50 of them, in the order of the dataset."""
    root_cause: str
    action: str
    location: str | None = None
    """Where to mend it, from `fix_locations:` of the project file."""
    priority: Priority = "medium"
    gain: float = 0.0
    """What a fix alone would win back of the pass rate, found by replaying the verdicts: a share of all cases."""
    share: float = 0.0
    """Its share of the failures, of all cases: one that fails for several reasons counts for each by a part."""
    needs: tuple[str, ...] = ()
    """Where a fix alone wins nothing: the titles of the patterns that would have to be mended with it."""
    joint_gain: float = 0.0
    """What is won when these are mended too."""
    is_critical: bool = False
    """It is about a critical scorer, or a rule of severity critical: it comes first whatever it wins back."""
    severity: str = ""
    """Of the safety rule that is broken; empty: it is about none."""
    score_gain: float | None = None
    """What it would win back of the overall score; None: not known, as of cases without a score."""
    evidence: str = ""
    """One line: the figures behind it."""
    confusions: tuple[ConfusedPair, ...] = ()
    """What was taken for what, where labels were compared; most frequent first."""
    about: tuple[str, ...] = ()
    """The intents, entity types, tools, rules, scorers and the category that it is about, for `fix_locations:`."""

    @property
    def is_setup(self) -> bool:
        """Whether it is about how the target or a scorer is reached: mended first, and no points."""
        return self.type in SETUP_TYPES

    @property
    def gravity(self) -> int:
        """0 is the gravest; what states no severity comes last."""
        return gravity(self.severity)

    def to_dict(self) -> dict[str, Any]:
        """As an object of the report file."""
        return {
            "type": self.type,
            "title": self.title,
            "count": self.count,
            "cases": list(self.cases),
            "root_cause": self.root_cause,
            "suggestion": {"action": self.action, "location": self.location, "priority": self.priority},
            "gain": self.gain,
            "share": self.share,
            "needs": list(self.needs),
            "joint_gain": self.joint_gain,
            "critical": self.is_critical,
            "severity": self.severity,
            "score_gain": self.score_gain,
            "evidence": self.evidence,
            "confusions": [asdict(pair) for pair in self.confusions],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """Cases that share something and fail more often than the rest, beyond what chance would do."""

    facts: tuple[tuple[str, str], ...]
    """What they share, such as `("entity", "software")`; two when both together say more than each alone."""
    cases: int
    failed: int
    rate: float
    low: float
    high: float
    """The 95 % interval of the rate (Wilson)."""
    rest_rate: float
    """Of all other cases."""
    p_value: float
    """One-sided, after Holm over all slices that were looked at."""
    gain: float
    """What the pass rate would win if these failed no more often than the rest: a share of all cases."""
    unit: Literal["cases", "turns"] = "cases"
    same_as: tuple[str, ...] = ()
    """Other facts that hold for nearly the same cases."""

    @property
    def title(self) -> str:
        """What they share, in words."""
        return " and ".join(f"{name} {value}" for name, value in self.facts)

    def to_dict(self) -> dict[str, Any]:
        """As an object of the report file."""
        return {**asdict(self), "facts": [{"name": name, "value": value} for name, value in self.facts]}


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedNumber:
    """A reply that passed, and has another number in the place of one of the expected answer."""

    case: str
    question: str
    expected: str
    """The number with its unit, as it is written."""
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedNumbers:
    """Cases that passed and whose numbers somebody should look at."""

    count: int
    """Cases."""
    cases: tuple[PassedNumber, ...]
    """At most 50 of them, in the order of the dataset."""


def gravity(severity: str) -> int:
    """The place of a severity, the gravest first."""
    return SEVERITIES.index(severity) if severity in SEVERITIES else len(SEVERITIES)


def percent(share: float) -> str:
    """A share as people read it."""
    return "none" if share == 0 else "under 1 %" if share < 0.005 else f"{100 * share:.0f} %"


def locate(patterns: tuple[Pattern, ...], locations: Mapping[str, str]) -> tuple[Pattern, ...]:
    """The patterns with the places that `fix_locations:` names for them.

    The most particular entry counts: an intent, entity type, tool, rule, scorer or category before a root cause, and
    that before a type. Case and `-`, `_` and spaces in names make no difference.
    """
    known = {_plain(name): path for name, path in locations.items()}
    return tuple(
        replace(each, location=next((known[name] for name in _names_of(each) if name in known), None))
        for each in patterns
    )


def _names_of(pattern: Pattern) -> list[str]:
    general = ("scorer_failure",) if pattern.type in REPLY_TYPES else ()
    return [_plain(name) for name in (*pattern.about, pattern.root_cause, pattern.type, *general)]


def _plain(name: str) -> str:
    return " ".join(name.replace("-", " ").replace("_", " ").casefold().split())
