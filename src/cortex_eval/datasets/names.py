"""The names that rows are recognised by: each canonical field with the names that people already use for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher, get_close_matches

from cortex_eval.core import InputError, Problem, did_you_mean
from cortex_eval.datasets.problems import quoted

ALSO_READ: dict[str, tuple[str, ...]] = {
    "id": ("case_id", "test_id", "qid", "prompt_id", "dialogue_id"),
    "turns": (),
    "messages": (),
    "input": ("question", "query", "scenario", "user_input", "prompt", "inputs", "text"),
    "expected": (),
    "expected.answer": (
        "ground_truth",
        "idealOutput",
        "ideal_output",
        "expected_output",
        "expected_answer",
        "reference",
        "ideal",
        "ideal_completions_data",
        "target",
        "answer",
    ),
    "expected.answers": ("expected_answers",),
    "expected.intent": ("expected_intent", "intent"),
    "expected.entities": ("expected_entities", "entities"),
    "expected.tool": ("expected_tool",),
    "expected.tools": ("expected_tools",),
    "expected.label": ("ground_truth_prakriti", "expected_label", "label"),
    "expected.checklist": ("expected_checklist", "checklist"),
    "expected.rubric": ("expected_rubric", "rubric", "rubrics"),
    "experts": (),
    "is_disputed": (),
    "requires_context": (),
    "history": (),
    "context": (),
    "passages": ("retrieved_contexts", "retrieval_context", "contexts"),
    "category": ("query_type",),
    "tier": ("complexity_level",),
    "language": (),
    "tags": ("example_tags",),
    "parallel_of": (),
    "cluster_id": (),
    "split": (),
    "source": (),
    "description": (),
    "attachments": (),
    "metadata": (),
}
"""Canonical field → other names of it; when a row holds several, the first one counts and the rest is metadata."""

CANONICAL: dict[str, str] = {name: field for field, others in ALSO_READ.items() for name in (field, *others)}
"""Any known name → its canonical field."""

RANK: dict[str, int] = {name: rank for rank, name in enumerate(CANONICAL)}

BORROWED_IDS = ("qid", "prompt_id", "dialogue_id")
"""Ids of questions, prompts and dialogues: several cases may share one, unlike `id` and `case_id`."""

ASKING: tuple[str, ...] = ("turns", "messages", "input", *ALSO_READ["input"])
"""One of these must be there: what the user says."""

TIERS: dict[str, int] = {
    "simple": 1,
    "basic": 1,
    "medium": 2,
    "standard": 2,
    "complex": 3,
    "advanced": 4,
    "expert": 5,
}
ROLES: dict[str, str] = {
    "user": "user",
    "human": "user",
    "system": "system",
    "developer": "system",
    "assistant": "assistant",
    "ai": "assistant",
    "bot": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
}


def check_fields(fields: Mapping[str, str]) -> dict[str, str]:
    """The mapping of canonical fields to columns that a project file states; an unknown field is an InputError."""
    for field, column in fields.items():
        if field not in ALSO_READ and not field.startswith("metadata."):
            raise InputError(
                Problem(message=f"fields has no {field!r}. {did_you_mean(field, ALSO_READ)}", field=f"fields.{field}")
            )
        if not isinstance(column, str) or not column:
            raise InputError(
                Problem(message=f"fields.{field} names a column, not {quoted(column)}.", field=f"fields.{field}")
            )
    return dict(fields)


def offer(column: str, columns: Sequence[str]) -> str:
    """A sentence that offers the nearest column; empty when none is near."""
    near = get_close_matches(column, columns, n=1)
    return f"Did you mean {near[0]!r}?" if near else ""


def nearest_asking(keys: Sequence[str]) -> tuple[str, str] | None:
    """The key that comes nearest to a name of the input, and that name."""
    pairs = [(SequenceMatcher(None, key.casefold(), name).ratio(), key, name) for key in keys for name in ASKING]
    best = max(pairs, default=(0.0, "", ""))
    return (best[1], best[2]) if best[0] >= 0.6 else None
