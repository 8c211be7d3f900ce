"""The names that rows are recognised by: each canonical field with the names that people already use for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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

REAL_WORDS = frozenset({"content", "contents", "idea", "inference", "preference", "sources"})
"""Names that come near to a known one and mean something else."""

MAX_LOOKED_AT = 1000
"""Unknown names of one dataset that are compared with the known ones: rows may each bring their own."""

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


def nothing_asks(keys: Sequence[str], named: str | None) -> str:
    """What to say of a row in which nothing holds the input; `named` is the column that was to hold it."""
    found = ", ".join(quoted(key, 40) for key in keys[:20]) + (", …" if len(keys) > 20 else "")
    if named is not None:
        return f"fields names {named!r} for the input, which is not there. Found: {found}. {offer(named, keys)}"
    if len(keys) == 1 and any(mark in keys[0] for mark in ";\t|"):
        return f"there is only the column {found}: the cells must be separated by commas."
    near = nearest_asking(keys)
    hint = f"Did you mean {near[1]!r} by {near[0]!r}? " if near else ""
    return (
        f"no field holds the input (such as input, question or query). Found: {found}. {hint}"
        f"Rename it, or name it: fields: {{input: {near[0] if near else 'your_column'}}}."
    )


def nearly_known(rows: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Unknown columns that are probably misspelt, each with the name that may be meant.

    A row is a set of columns with the field of each. A column is not taken for a field that its row has already.
    """
    found: dict[str, str] = {}
    looked_at: dict[str, str | None] = {}
    for fields in rows:
        taken = set(fields.values())
        for column in (column for column, field in fields.items() if field == "metadata.*"):
            if column not in looked_at and len(looked_at) < MAX_LOOKED_AT:
                looked_at[column] = _near(column)
            near = looked_at.get(column)
            if near is not None and taken.isdisjoint(_meanings(CANONICAL[near])):
                found[column] = near
    return found


def _meanings(field: str) -> set[str]:
    """The fields that hold the same: the block that it may stand in, and for the input whole conversations."""
    return {field, field.partition(".")[0], *(ASKING[:3] if field in ASKING else ())}


def _near(column: str) -> str | None:
    """The known name that a column is within one or two slips of, if there is one."""
    plain = _plain(column)
    if column in CANONICAL or len(plain) <= 3 or plain in REAL_WORDS or any(each.isdigit() for each in plain):
        return None
    # In a short name two other letters make another word: level is not label.
    slips = {
        name: count
        for name in CANONICAL
        if len(name) > 3 and (count := _slips(plain, _plain(name))) <= (1 if len(name) < 8 else 2)
    }
    return min(slips, key=slips.__getitem__, default=None)


def _plain(name: str) -> str:
    return name.strip().casefold().replace(" ", "_").replace("-", "_")


def _slips(one: str, other: str) -> int:
    """Letters left out, added, changed or swapped with the next one from one name to another; 3 stands for more.

    The ratio of `difflib` would not do here: it takes expected_text for expected_intent.
    """
    from rapidfuzz.distance import OSA  # a run whose columns are all known does not need it

    return OSA.distance(one, other, score_cutoff=2)
