"""Public sets with the judgement of people, for `quality.py`; they lie beside the repository, not in it."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[2] / "shared" / "data"
DIMENSIONS = ("coherence", "consistency", "fluency", "relevance")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer (or a single claim) with its passages, and whether people found it supported."""

    question: str
    passages: tuple[str, ...]
    text: str
    is_supported: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A summary with its source, its references and the mean rating of three experts by dimension."""

    document: str
    text: str
    source: str
    references: tuple[str, ...]
    ratings: dict[str, float]


def read_lines(path: Path) -> Iterator[dict[str, Any]]:  # Any: JSON
    """The objects of a JSONL file; some of their strings hold other line separators."""
    with path.open(encoding="utf-8", newline="\n") as file:
        for line in file:
            if line.strip():
                yield json.loads(line)


def fold(text: str, folds: int = 2) -> int:
    """To which fold a text belongs, by its hash: the same on every machine."""
    return int(hashlib.sha256(text.encode()).hexdigest(), 16) % folds


def ragtruth() -> list[Answer]:
    """RAG answers of six models; supported: without a span that an annotator marked."""
    return [
        Answer(
            question=row["question"],
            passages=tuple(part for part in row["passages"].split("\n\n") if part.strip()),
            text=row["response"],
            is_supported=not row["labels"],
        )
        for row in read_lines(DATA / "ragtruth" / "qa_responses_with_passages.jsonl")
    ]


def halueval() -> list[Answer]:
    """The right and the hallucinated answer to each question."""
    return [
        Answer(
            question=row["question"], passages=(row["knowledge"],), text=row[key], is_supported=key == "right_answer"
        )
        for row in read_lines(DATA / "halueval" / "qa_one_turn.jsonl")
        for key in ("right_answer", "hallucinated_answer")
    ]


def qags(*, whole: bool) -> list[Answer]:
    """Sentences of summaries by the majority of three workers; `whole`: summaries, supported when each sentence is."""
    found = []
    for row in read_lines(DATA / "qags" / "mturk_cnndm.jsonl"):
        parts = [
            (
                part["sentence"],
                2 * sum(each["response"] == "yes" for each in part["responses"]) > len(part["responses"]),
            )
            for part in row["summary_sentences"]
        ]
        if whole:
            parts = [(" ".join(text for text, _ in parts), all(supported for _, supported in parts))]
        found += [
            Answer(question="", passages=(row["article"],), text=text, is_supported=supported)
            for text, supported in parts
        ]
    return found


def kqa() -> list[Answer]:
    """Physicians' statements held against LLM answers; supported: two of three physicians say that it is entailed."""
    with (DATA / "kqa" / "nli_three_physicians.csv").open(encoding="utf-8", newline="") as file:
        return [
            Answer(
                question="",
                passages=(row["answer"],),
                text=row["claim"],
                is_supported=row["majority_label"] == "Entailment",
            )
            for row in csv.DictReader(file)
        ]


def summeval() -> list[Summary]:
    """600 summaries of 50 articles by 12 systems."""
    documents = {row["id"]: row for row in read_lines(DATA / "summeval" / "documents.jsonl")}
    return [
        Summary(
            document=row["id"],
            text=row["summary"],
            source=documents[row["id"]]["source"],
            references=tuple(documents[row["id"]]["references"]),
            ratings={
                name: sum(each[name] for each in row["expert_annotations"]) / len(row["expert_annotations"])
                for name in DIMENSIONS
            },
        )
        for row in read_lines(DATA / "summeval" / "summaries.jsonl")
    ]
