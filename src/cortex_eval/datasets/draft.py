"""A case in the making: what the keys of a row have said so far, and how it all comes together."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from cortex_eval.datasets.problems import Mistake, quoted

_SEPARATORS = re.compile(r"[\s_\-/+]+")
NO_TOOL = "none"
"""The expected tool of a case in which none may be called."""
_LAST_TURN = ("requires_context", "attachments")


class Draft:
    """What is known of a row; `finish` makes the canonical mapping, as `to_json` would write the case."""

    __slots__ = ("answers", "case", "expected", "expert_columns", "metadata", "turns")

    def __init__(self) -> None:
        self.turns: list[dict[str, Any]] = []  # Any: JSON, here and below
        self.case: dict[str, Any] = {}
        self.expected: dict[str, Any] = {}
        self.metadata: dict[str, Any] = {}
        self.answers: list[str] = []
        """Several answers under one name: all are good, or one for each turn."""
        self.expert_columns: dict[int, str] = {}

    def finish(self) -> dict[str, Any]:
        """The canonical mapping of this row."""
        if not self.turns:
            raise Mistake("the input is empty: there is nothing to ask.", field="input", code="empty_input")
        case, last = self.case, self.turns[-1]
        if self.answers:
            self._share_answers()
        if self.expert_columns or "experts" in case:
            self._agree()
        if self.expected.get("tools") == []:  # no call is the right one
            del self.expected["tools"]
            self.expected.setdefault("tool", NO_TOOL)
        if self.expected:
            last["expected"] = {**last.get("expected", {}), **self.expected}
        for name in _LAST_TURN:
            if name in case:
                last[name] = case.pop(name)
        case["turns"] = self.turns
        if self.metadata:
            case["metadata"] = self.metadata
        return case

    def _share_answers(self) -> None:
        if len(self.turns) > 1 and len(self.answers) == len(self.turns):
            for turn, answer in zip(self.turns, self.answers, strict=True):
                if answer.strip():
                    turn["expected"] = {**turn.get("expected", {}), "answer": answer}
            return
        answers = [answer for answer in self.answers if answer.strip()]
        if answers:
            self.expected["answer"], *others = answers
            others += self.expected.get("answers", [])
            if others:
                self.expected["answers"] = others

    def _agree(self) -> None:
        """The majority of the experts is the label; without one the case is set aside."""
        if self.expert_columns:
            given = self.expert_columns
            self.case["experts"] = [given.get(number) for number in range(1, max(given) + 1)]
        experts = self.case["experts"]
        label = agreed_label(experts)
        stated = self.expected.get("label")
        if label is not None and stated is not None and _folded(label) != _folded(stated):
            raise Mistake(
                f"the label is {quoted(stated)}, but the majority of the experts says {quoted(label)}.",
                field="expected.label",
                code="label_conflict",
            )
        if label is None and any(each is not None for each in experts):
            self.case["is_disputed"] = True
            if self.expected.pop("label", None) is not None:
                self.metadata["stated_label"] = stated
        elif label is not None:
            self.expected["label"] = stated or label


def agreed_label(experts: Sequence[str | None]) -> str | None:
    """The label that more than half of those experts gave who gave one, in the spelling that came first."""
    given = [label for label in experts if label is not None]
    if not given:
        return None
    folded, votes = Counter(map(_folded, given)).most_common(1)[0]
    if votes * 2 <= len(given):
        return None
    return next(label for label in given if _folded(label) == folded)


def _folded(label: str) -> str:
    return _SEPARATORS.sub("-", label.strip().casefold())
