"""Fits the parameters of `faithfulness` and `hallucination_rate`, and writes src/cortex_eval/scoring/grounding.json.

usage: fit_grounding.py [--cache FILE]      the signs of the training rows are kept there: embedding them takes minutes

Nothing of RAGTruth, QAGS or K-QA is looked at here; of HaluEval the questions of fold 0 are used, and `quality.py`
measures on fold 1.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import pickle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from quality_data import DATA, fold, halueval

from cortex_eval.scoring.support import Question, compare_meanings, look_up

OUT = Path(__file__).parents[1] / "src" / "cortex_eval" / "scoring" / "grounding.json"
VERSION = "1"

# Replies written from a passage, and what people (where marked *, a rule) said of each; and how many rows of each
# source are taken.
SOURCES = {
    "begin_wow_cmu": 800,
    "faithdial_audit_wow_cmu": 600,
    "q2_wow": 597,
    "mtrag_human": 95,
    "wice_claim": 600,
    "fever_binary_nli": 1400,
    "covidqa_statements": 500,  # *
    "clapnq_sentences": 600,  # *
}
# Pairs of sentences, for what a negation, an opposite, a number or a name means: those that speak of the same matter.
PAIRS = {"mnli_dev": 900, "snli_counterfactual": 500}
SAME_MATTER = 0.5

WORDS = (
    "contained", "window", "sentence", "absent", "foreign", "triples", "quoted", "quoted_shortly",
    "numbers", "numbers_aside", "names", "names_aside", "denied", "denied_there", "opposed",
)  # fmt: skip
MEANING = ("cosine", "least", "mean")
AGAINST = {"absent", "foreign", "numbers", "numbers_aside", "names", "names_aside", "denied", "denied_there", "opposed"}
"""Signs that can only speak against a claim; all others can only speak for it."""
RIDGE = 0.3
PER_CLASS = 150.0
"""At most so much weight for the supported rows of one source, and as much for the others."""
STEPS = 20_000
Array = npt.NDArray[np.float64]


class Row(NamedTuple):
    """A claim of the training rows with its signs."""

    source: str
    passage: str
    is_supported: bool
    figures: dict[str, float]


def training_rows() -> list[Row]:
    """The claims of all sources, with their signs; whole passages at a time, in the order of their hash."""
    kept: list[tuple[str, str, bool, Question]] = []
    for source, count in (SOURCES | PAIRS).items():
        with gzip.open(DATA / "nli_train" / f"{source}.jsonl.gz", "rt", encoding="utf-8", newline="\n") as file:
            rows = [json.loads(line) for line in file]
        rows.sort(key=lambda row: hashlib.sha256(row["premise"].encode()).hexdigest())
        for row in rows[:count]:
            asked, claim = _apart(row["claim"]) if source == "covidqa_statements" else ("", row["claim"])
            question = Question(claim, (row["premise"],), asked)
            kept.append((source, row["premise"], row["label"] == "supported", question))
    for answer in halueval():
        if fold(answer.question) == 0:
            question = Question(answer.text, answer.passages, answer.question)
            kept.append(("halueval", answer.passages[0], answer.is_supported, question))
    return [
        Row(source, passage, is_supported, figures)
        for (source, passage, is_supported, _), figures in zip(kept, _signs([each[3] for each in kept]), strict=True)
        if figures and (source not in PAIRS or figures["sentence"] >= SAME_MATTER)
    ]


def _apart(claim: str) -> tuple[str, str]:
    """A question and its answer, where the claim is both: `Who came? Anna.`"""
    lead = 'The answer to the question "'
    head, mark, rest = claim.removeprefix(lead).partition('?" is: ' if claim.startswith(lead) else "? ")
    return (head + "?", rest) if mark and rest.strip() else ("", claim)


def _signs(questions: list[Question], batch: int = 64) -> list[dict[str, float] | None]:
    found: list[dict[str, float] | None] = []
    for start in range(0, len(questions), batch):
        looked_up = [look_up(question) for question in questions[start : start + batch]]
        compare_meanings([each for each in looked_up if each is not None])
        found += [each.signs.figures if each is not None else None for each in looked_up]
        print(f"\r{len(found)} of {len(questions)}", end="", flush=True)
    print()
    return found


def weights_of(rows: list[Row]) -> Array:
    """Each source alike, up to a limit, and in each the supported as much as the others: the prior is one half."""
    counts: dict[tuple[str, bool], int] = {}
    for row in rows:
        key = (row.source, row.is_supported)
        counts[key] = counts.get(key, 0) + 1
    return np.array(
        [
            min(PER_CLASS, *(counts.get((row.source, each), 0) for each in (True, False)))
            / counts[row.source, row.is_supported]
            for row in rows
        ]
    )


def fit(x: Array, y: Array, weights: Array, signs: list[int]) -> tuple[float, Array]:
    """Logistic regression with a ridge and the sign of each weight given: intercept and weights."""
    columns = np.column_stack([np.ones(len(x)), x])
    ridge = np.array([0.0, *[RIDGE] * x.shape[1]])
    low = np.array([-np.inf, *(0.0 if sign > 0 else -np.inf for sign in signs)])
    high = np.array([np.inf, *(np.inf if sign > 0 else 0.0 for sign in signs)])
    # Accelerated projected gradient (Beck & Teboulle 2009); the loss is convex, so that there is one answer.
    step = 1 / (np.linalg.norm(columns * np.sqrt(weights)[:, None], 2) ** 2 / 4 + RIDGE)
    beta = ahead = np.zeros(columns.shape[1])
    momentum = 1.0
    for _ in range(STEPS):
        error = weights * (1 / (1 + np.exp(-columns @ ahead)) - y)
        new = np.clip(ahead - step * (columns.T @ error + ridge * ahead), low, high)
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = new + (momentum - 1) / following * (new - beta)
        beta, momentum = new, following
    return float(beta[0]), beta[1:]


def fit_claims(rows: list[Row], names: tuple[str, ...]) -> dict[str, Any]:
    """The probability of a claim from its signs."""
    x = np.array([[row.figures[name] for name in names] for row in rows])
    y = np.array([float(row.is_supported) for row in rows])
    intercept, weights = fit(x, y, weights_of(rows), [-1 if name in AGAINST else 1 for name in names])
    kept = {name: round(float(each), 4) for name, each in zip(names, weights, strict=True) if abs(each) >= 0.005}
    return {"intercept": round(intercept, 4), "weights": kept}


def fit_answers(rows: list[Row], chances: Array) -> dict[str, dict[str, float]]:
    """How the logits of the chances lie for supported claims and for the others: a logistic distribution each."""
    chosen = np.array([row.source in SOURCES for row in rows])
    is_supported = np.array([row.is_supported for row in rows])
    weights, logits = weights_of(rows), np.log(chances / (1 - chances))
    found = {}
    for name, group in (("supported", chosen & is_supported), ("unsupported", chosen & ~is_supported)):
        mean = np.average(logits[group], weights=weights[group])
        deviation = np.sqrt(np.average((logits[group] - mean) ** 2, weights=weights[group]))
        # The standard deviation of a logistic distribution is its scale times pi over the root of three.
        found[name] = {"mean": round(float(mean), 4), "scale": round(float(deviation * np.sqrt(3) / np.pi), 4)}
    return found


def chances_of(rows: list[Row], fitted: dict[str, Any]) -> Array:
    """The fitted probability of each row."""
    scores = [
        fitted["intercept"] + sum(weight * row.figures[name] for name, weight in fitted["weights"].items())
        for row in rows
    ]
    chances: Array = 1 / (1 + np.exp(-np.array(scores)))
    return chances


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path)
    cache: Path | None = parser.parse_args().cache
    if cache and cache.is_file():
        rows: list[Row] = [Row(*each) for each in pickle.loads(cache.read_bytes())]  # our own file
    else:
        rows = training_rows()
        if cache:
            cache.write_bytes(pickle.dumps([tuple(row) for row in rows]))
    claims = {"lexical": fit_claims(rows, WORDS), "embedding": fit_claims(rows, WORDS + MEANING)}
    # The answers are fitted on claims by a fit that did not see their passages, so that it does not flatter itself.
    seen = [row for row in rows if fold(row.passage, 3) != 0]
    unseen = [row for row in rows if fold(row.passage, 3) == 0]
    apart = fit_claims(seen, WORDS + MEANING)
    answers = fit_answers(unseen, chances_of(unseen, apart))
    counts = {name: sum(row.source == name for row in rows) for name in (*SOURCES, *PAIRS, "halueval")}
    parameters = {
        "version": VERSION,
        "fitted": {
            "by": "benchmarks/fit_grounding.py",
            "how": "Logistic regression with a ridge of 0.3 and given signs; sources and classes weigh alike. The "
            "answers: how the logits of the chances lie for supported and unsupported claims (logistic "
            "distributions, by their moments), on claims of passages that the claims' fit had not seen.",
            "rows": counts,
            "not_used": "RAGTruth, QAGS, K-QA; HaluEval but for the questions whose hash is even",
        },
        "claims": claims,
        "answers": answers,
    }
    OUT.write_text(json.dumps(parameters, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(json.dumps({"claims": claims, "answers": answers}, indent=1))


if __name__ == "__main__":
    main()
