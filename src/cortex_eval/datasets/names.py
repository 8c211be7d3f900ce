"""The names that rows are recognised by: each canonical field with the names that people already use for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

from cortex_eval.core import InputError, Problem, did_you_mean
from cortex_eval.datasets.problems import quoted

ALSO_READ: dict[str, tuple[str, ...]] = {
    "id": ("case_id", "test_id", "qid", "prompt_id", "dialogue_id"),
    "turns": (),
    "messages": ("conversations", "conversation"),
    "input": ("question", "query", "scenario", "user_input", "prompt", "inputs", "instruction", "text"),
    "expected": (),
    "expected.answer": (
        "ground_truth",
        "ground_truths",
        "idealOutput",
        "ideal_output",
        "expected_output",
        "expectedOutput",
        "expected_response",
        "expected_answer",
        "reference",
        "ideal",
        "ideal_completions_data",
        "target",
        "answer",
    ),
    "expected.answers": ("expected_answers", "answers"),
    "expected.intent": ("expected_intent", "intent"),
    "expected.entities": ("expected_entities", "entities"),
    "expected.tool": ("expected_tool",),
    "expected.tools": ("expected_tools", "reference_tool_calls"),
    "expected.label": ("ground_truth_prakriti", "expected_label", "label"),
    "expected.checklist": ("expected_checklist", "checklist", "expected_facts"),
    "expected.rubric": ("expected_rubric", "rubric", "rubrics"),
    "expected.checks": ("expected_checks", "checks"),
    "experts": (),
    "is_disputed": (),
    "requires_context": (),
    "history": (),
    "context": (),
    "passages": ("retrieved_contexts", "retrieval_context", "retrievalContext", "contexts"),
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


def canonical(column: str) -> str:
    """The field that a column means, also when it is written as a heading (`Ground Truth`, `QUESTION`); "" if none."""
    return CANONICAL.get(column) or CANONICAL.get(_plain(column), "")


def asking_columns(columns: Iterable[str]) -> list[str]:
    """Those that hold the question by their names, the likeliest first."""
    return sorted((each for each in columns if canonical(each) == "input"), key=rank)


def is_borrowed_id(column: str) -> bool:
    """Whether a column holds ids that several cases may share."""
    return _plain(column) in BORROWED_IDS


def rank(column: str) -> tuple[int, bool]:
    """The order among the names of one field: the canonical one first, one that is written as a heading after it."""
    return RANK.get(column, RANK.get(_plain(column), len(RANK))), column not in RANK


RANK: dict[str, int] = {name: rank for rank, name in enumerate(CANONICAL)}

BORROWED_IDS = ("qid", "prompt_id", "dialogue_id")
"""Ids of questions, prompts and dialogues: several cases may share one, unlike `id` and `case_id`."""

ASKING: tuple[str, ...] = ("turns", "messages", *ALSO_READ["messages"], "input", *ALSO_READ["input"])
"""One of these must be there: what the user says."""

MAYBE_ANSWERS = ("completion", "response", "output", "chosen", "golden_answer", "correct_answer", "reference_answer")
"""Columns that hold a good answer in some files and the reply of a system in others: nobody can tell from the name."""

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
    "gpt": "assistant",
    "ai": "assistant",
    "bot": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
}


def check_fields(fields: Mapping[str, str]) -> dict[str, str]:
    """The mapping of canonical fields to columns that somebody states, in any of the names of a field.

    An unknown field, or one that is named twice, is an InputError.
    """
    found: dict[str, str] = {}
    for name, column in fields.items():
        field = name if str(name).startswith("metadata.") else canonical(str(name))
        if not field:
            message = f"fields has no {name!r}. {_meant(str(name), column)}"
        elif not isinstance(column, str) or not column:
            message = f"fields.{name} names a column, not {quoted(column)}."
        elif field in found:
            message = f"fields names {field} twice, as {found[field]!r} and as {column!r}."
        else:
            found[field] = column
            continue
        raise InputError(Problem(message=message, field=f"fields.{name}"))
    return found


def _meant(name: str, column: object) -> str:
    """What may be meant by an unknown field and its column."""
    if isinstance(column, str) and canonical(column):
        return f"The field comes first, then its column: fields: {{{column}: {name}}}."
    return offer(_plain(name), tuple(CANONICAL)) or did_you_mean(name, ALSO_READ)


def offer(column: str, columns: Sequence[str]) -> str:
    """A sentence that offers the nearest column; empty when none is near."""
    near = get_close_matches(column, columns, n=1)
    return f"Did you mean {near[0]!r}?" if near else ""


def nearest_asking(keys: Sequence[str]) -> tuple[str, str] | None:
    """The key that comes nearest to a name of the input, and that name."""
    unknown = [key for key in keys if not canonical(key)]
    for key in unknown:
        near = _near(key)
        if near in ASKING:
            return key, near
    words = ((key, name) for key in unknown for name in ASKING if name in re.split(r"[^a-z]+", _plain(key)))
    return next(words, None)


def nothing_asks(keys: Sequence[str], named: str | None, *, inside: str | None = None) -> str:
    """What to say of a row in which nothing holds the input; `named` is the column that was to hold it.

    `inside` is a place in an object that may hold it.
    """
    found = ", ".join(quoted(key, 40) for key in keys[:20]) + (", …" if len(keys) > 20 else "")
    if named is not None:
        return f"fields names {named!r} for the input, which is not there. Found: {found}. {offer(named, keys)}"
    if len(keys) == 1 and "," in keys[0]:
        return f"there is only the column {found}: the cells must be separated by tabs, or the file be named .csv."
    near = nearest_asking(keys)
    hint = f"Did you mean {near[1]!r} by {near[0]!r}? " if near else ""
    return (
        f"no field holds the input (such as input, question or query). Found: {found}. {hint}"
        f"Rename it, or name it: fields: {{input: {near[0] if near else inside or 'your_column'}}}."
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
    return {field, field.partition(".")[0], *(("turns", "messages", "input") if field in ASKING else ())}


def _near(column: str) -> str | None:
    """The known name that a column is within one or two slips of, if there is one."""
    plain = _plain(column)
    if canonical(column) or len(plain) <= 3 or plain in REAL_WORDS or any(each.isdigit() for each in plain):
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
