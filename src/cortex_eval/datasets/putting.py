"""What single values of a row do to the draft of its case, where the plain way of a field is not enough."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cortex_eval.datasets import values
from cortex_eval.datasets.draft import Draft
from cortex_eval.datasets.problems import Mistake


def put_answer(draft: Draft, key: str, value: Any) -> None:  # Any: JSON
    """A good answer; the list of them may also be one for each turn."""
    if "answer" in draft.expected or draft.answers:
        draft.metadata[key] = value
    elif type(value) is str:
        if not value.isspace():
            draft.expected["answer"] = value
    elif isinstance(value, list | tuple):
        draft.answers = values.texts(value, key)
    elif values.is_number(value):
        draft.expected["answer"] = values.name(value, key)
    elif key == "ideal_completions_data" and isinstance(value, Mapping):
        _put_ideal_completion(draft, key, value)
    else:
        raise values.wrong(key, "text or a list of texts", value)


def put_choice(draft: Draft, key: str, value: Any) -> None:  # Any: JSON
    """A good answer beside `choices`: a number would be the place of one."""
    if values.is_number(value):
        raise Mistake(f"{key} is {value}, the place of one of the choices. Write its text, or its letter.", field=key)
    put_answer(draft, key, value)


def put_answers(draft: Draft, key: str, value: Any) -> None:  # Any: JSON
    """Answers that are all good: a list of texts, or as SQuAD writes them; other people's `answers` are metadata."""
    answers = values.answers(value, key)
    if answers is None or "answers" in draft.expected:
        draft.metadata[key] = value
    elif draft.answers or "answer" in draft.expected or key.startswith("expected"):
        draft.expected["answers"] = answers
    else:
        draft.answers = answers


def _put_ideal_completion(draft: Draft, key: str, value: Mapping[str, Any]) -> None:  # Any: JSON
    rest = {name: held for name, held in value.items() if name != "ideal_completion" and held not in (None, [], "")}
    if rest:
        draft.metadata[key] = rest
    answer = value.get("ideal_completion")
    if answer is not None:
        draft.expected["answer"] = values.text(answer, f"{key}.ideal_completion")


def put_context(draft: Draft, key: str, value: Any) -> None:  # Any: JSON
    """An object is sent along with each request; anything else is passages."""
    if isinstance(value, Mapping):
        if value:
            draft.case["context"] = values.mapping(value, key)
    else:
        put_passages(draft, key, value)


def put_passages(draft: Draft, key: str, value: Any) -> None:  # Any: JSON
    """Source texts; those under a second name are only kept."""
    passages = values.texts(value, key)
    if "passages" in draft.case:
        draft.metadata[key] = value
    elif passages:
        draft.case["passages"] = passages


def put_tier(draft: Draft, key: str, value: Any) -> None:  # Any: JSON
    """How hard a case is; a word of another scale is only kept."""
    if "tier" in draft.case:
        draft.metadata[key] = value
        return
    if key != "tier" and isinstance(value, str) and not values.is_tier(value):
        draft.metadata[key] = value  # a scale of its own
        return
    tier = values.tier(value, key)
    if tier is not None:
        draft.case["tier"] = tier
        if isinstance(value, str) and not value.strip().isdecimal():
            draft.metadata[key] = value  # the word itself is kept


def put_expert(draft: Draft, key: str, value: Any) -> None:  # Any: JSON
    """What one expert says, from a column of its own."""
    number = int(key.rpartition("_")[2])
    label = values.name(value, key)
    if label is not None:
        draft.expert_columns[number] = label


def put_mapping(draft: Draft, key: str, value: Any) -> None:  # Any: JSON
    """Metadata: an object adds its values to it."""
    if isinstance(value, Mapping):
        draft.metadata.update(values.mapping(value, key))
    else:
        draft.metadata[key] = value
