"""Replies that stand in the dataset itself, beside the cases: as Ragas and DeepEval write them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cortex_eval.core import Case, TargetError, shorten
from cortex_eval.targets.replies import canonical_name

ANSWERING = frozenset(("text", "intent", "entities", "tool", "arguments", "tool_calls", "label", "transcript"))
"""Parts of a reply that are an answer; passages, times and the like alone are none."""

CONTEXTS_OF = "contexts_of"
"""In the metadata of a reply, `case`: its contexts are the passages of the case, which the row holds only once."""


def row_of(case: Case, fields: Mapping[str, str]) -> dict[str, Any]:  # Any: what the dataset holds
    """What a case holds of a reply: columns that it does not use itself, and the passages that were retrieved.

    A column that is read as what is expected is none of them: a system's answer is never held against itself.
    `TargetError` when there is no answer.
    """
    columns = frozenset(fields.values())
    row = {
        name: held
        for name, held in case.metadata.items()
        if name in columns or name in ("reply", "error") or canonical_name(name)
    }
    meant = {canonical_name(name) for name in row}
    meant |= {part for part, column in fields.items() if column in row}
    if meant.isdisjoint(ANSWERING) and not {"reply", "error"} & row.keys():
        raise _no_answer(case)
    if "contexts" not in meant and case.passages:
        row["contexts"] = list(case.passages)
        held = row.get("metadata")
        row["metadata"] = {**(held if isinstance(held, Mapping) else {}), CONTEXTS_OF: "case"}
    return row


def _no_answer(case: Case) -> TargetError:
    told = f"The row of case {case.id!r} holds no answer beside what is expected."
    if case.metadata:
        others = shorten(", ".join(map(repr, case.metadata)))
        told += f" If it is in one of {others}, name it: fields: {{text: COLUMN}}."
    return TargetError(told, kind="not_recorded")
