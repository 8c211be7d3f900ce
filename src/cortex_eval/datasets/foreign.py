"""Rows as other tools write them, brought into the shape that rows have here: boxes are opened, instructions joined."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cortex_eval.datasets.names import ASKING, CANONICAL
from cortex_eval.datasets.promptfoo import expectations, with_checks

ASKING_BOXES = ("vars", "item", "inputs", "input")
"""Keys whose object holds what is asked: promptfoo, OpenAI evals, LangSmith and MLflow, Braintrust and Phoenix."""
_BOXES = (*ASKING_BOXES, "outputs", "expectations")
TO_OPEN = frozenset((*_BOXES, "instruction"))
"""Keys whose values may make another row of a row."""


def opened(row: Mapping[str, Any], named: Iterable[str]) -> Mapping[str, Any]:  # Any: JSON, here and below
    """The row with what lies in boxes as columns; `named` are those that `fields` names, `box.name` among them."""
    paths = [column for column in named if "." in column and column not in row]
    if paths:
        row = {**row, **{path: held for path in paths if (held := _inside(row, path)) is not None}}
    if isinstance(row.get("instruction"), str) and row.keys().isdisjoint(("question", "messages")):
        row = _joined(row, named)
    row = with_checks(row, named)
    has_outputs = isinstance(row.get("inputs"), dict)  # elsewhere they are what a system gave
    for box in _BOXES:
        if not isinstance(row.get(box), dict) or box in named:
            continue
        if has_outputs if box == "outputs" else box == "expectations" or not _asks(row):
            row = _unpacked(row, box)
    return row


def asking_inside(row: Mapping[str, Any]) -> str | None:
    """A place in an object of the row that seems to hold what is asked, as `fields` would name it."""
    objects = ((key, held) for key, held in row.items() if isinstance(held, dict))
    return next((f"{key}.{name}" for key, held in objects for name in held if name in ASKING), None)


def squad_rows(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The questions of an article as SQuAD nests them: paragraphs, and in each the questions about it."""
    for paragraph in row["paragraphs"]:
        questions = paragraph.get("qas") if isinstance(paragraph, dict) else None
        for question in questions if isinstance(questions, list) else [paragraph]:
            if isinstance(question, dict) and question is not paragraph:
                shared = {key: held for key, held in paragraph.items() if key != "qas"}
                title = {"title": row["title"]} if "title" in row else {}
                yield {**title, **shared, **question}
            else:
                yield {"paragraphs": question}


def _asks(row: Mapping[str, Any]) -> bool:
    """Whether a row says outside of any box what is asked."""
    return any(row.get(name) and not isinstance(row[name], dict) for name in ASKING)


def _inside(row: Mapping[str, Any], path: str) -> Any:
    held: Any = row
    for name in path.split("."):
        held = held.get(name) if isinstance(held, dict) else None
    return held


def _joined(row: Mapping[str, Any], named: Iterable[str]) -> Mapping[str, Any]:
    """Alpaca: the instruction with its input is what is asked, and the output is the answer, unless a model gave it."""
    if not {"instruction", "input"}.isdisjoint(named):
        return row
    found = {key: held for key, held in row.items() if key != "instruction"}
    asked = row["instruction"], found.get("input") or ""
    if isinstance(asked[1], str):
        found["input"] = "\n\n".join(filter(str.strip, asked))
    if "output" in found and "output" not in named and found.keys().isdisjoint(("generator", "model")):
        found.setdefault("expected.answer", found.pop("output"))
    return found


def _unpacked(row: Mapping[str, Any], box: str) -> Mapping[str, Any]:
    """What is in a box under the names that are known; the rest as `box.name`."""
    inner: dict[str, Any] = row[box]
    found = {key: held for key, held in row.items() if key != box}
    for key, held in inner.items():
        found[key if key in CANONICAL and key not in found else f"{box}.{key}"] = held
    only = next(iter(inner)) if len(inner) == 1 else None
    if only is not None and only not in CANONICAL and isinstance(inner[only], str):
        meant = "input" if box in ASKING_BOXES else "expected.answer"
        if meant == "expected.answer" or found.keys().isdisjoint(ASKING):
            found.setdefault(meant, found.pop(f"{box}.{only}"))
    if box == "vars" and isinstance(row.get("assert"), list):
        for key, held in expectations(row["assert"], inner).items():
            found.setdefault(key, held)
    return found
