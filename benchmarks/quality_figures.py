"""Figures of ours beside those that public libraries and papers give for the same data."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NamedTuple

from quality_data import DATA, DIMENSIONS, read_lines, summeval

from cortex_eval.scoring.overlap import chrf, rouge_l
from cortex_eval.scoring.words import words
from cortex_eval.stats import (
    cohen_kappa,
    cross_table,
    fleiss_kappa,
    krippendorff_alpha,
    pearson,
    randolph_kappa,
    spearman,
)

CLOSE = 1e-6


class Equality(NamedTuple):
    """A figure of ours beside the published one; None: undefined."""

    name: str
    ours: float | None
    theirs: float | None
    tolerance: float = CLOSE

    @property
    def is_met(self) -> bool:
        """Whether the two are the same, as far as the published one is printed."""
        if self.ours is None or self.theirs is None:
            return self.ours is self.theirs
        return abs(self.ours - self.theirs) <= self.tolerance


def equalities() -> list[Equality]:
    """Everything in `expected/` and `agreement_tables/` that we compute by the same definition."""
    expected: dict[str, Any] = json.loads((DATA / "expected" / "reference_values.json").read_text(encoding="utf-8"))
    return [*_of_summeval(expected["summeval"]), *_of_other_sets(expected), *_of_tables()]


def counts(rows: Sequence[Sequence[Hashable]]) -> list[list[float]]:
    """For each item how many raters chose each category."""
    known = sorted({each for row in rows for each in row}, key=str)
    return [[float(Counter(row)[each]) for each in known] for row in rows]


def _of_summeval(expected: dict[str, Any]) -> Iterator[Equality]:
    summaries = summeval()
    # rouge-score drops every letter that is not ASCII; for its figures we must do so too.
    pairs = [(_ascii(each.text), _ascii(each.references[0])) for each in summaries]
    ours, rouge = [rouge_l(*pair) for pair in pairs], [_rouge_of_their_arithmetic(*pair) for pair in pairs]
    yield Equality("SummEval, mean ROUGE-L", sum(ours) / len(ours), expected["mean_rougeL_f"])
    furthest = max(abs(one - other) for one, other in zip(ours, rouge, strict=True))
    yield Equality("SummEval, ROUGE-L by the other arithmetic, largest difference", furthest, 0.0)
    raw = list(read_lines(DATA / "summeval" / "summaries.jsonl"))
    for name in DIMENSIONS:
        theirs = expected["by_dimension"][name]
        ratings = [[each[name] for each in row["expert_annotations"]] for row in raw]
        mean = [sum(row) / len(row) for row in ratings]
        levels = [1, 2, 3, 4, 5]
        first, second = [row[0] for row in ratings], [row[1] for row in ratings]
        yield Equality(f"SummEval {name}, Fleiss", fleiss_kappa(counts(ratings)), theirs["fleiss_kappa_experts"])
        for scale in ("nominal", "ordinal", "interval"):
            yield Equality(
                f"SummEval {name}, alpha {scale}",
                krippendorff_alpha(ratings, scale),
                theirs[f"alpha_{scale}"],
            )
        table = cross_table(first, second, levels)
        yield Equality(f"SummEval {name}, Cohen", _value(cohen_kappa(table)), theirs["cohen_kappa_experts_1_2"])
        yield Equality(
            f"SummEval {name}, Cohen quadratic",
            _value(cohen_kappa(table, weights="quadratic")),
            theirs["cohen_quadratic_experts_1_2"],
        )
        yield from _correlations(f"SummEval {name}, ROUGE-L", rouge, mean, theirs["rougeL_f_vs_expert_mean"])


def _of_other_sets(expected: dict[str, Any]) -> Iterator[Equality]:
    rows = list(read_lines(DATA / "indicmt_eval_hi" / "hindi_mqm.jsonl"))
    scores = [chrf(row["translation"], row["ref"]) for row in rows]
    ratings = [float(row["mqm_norm_score"]) for row in rows]
    yield from _correlations("IndicMT-Eval Hindi, chrF", scores, ratings, expected["indicmt_eval_hi"]["chrf_vs_mqm"])
    sentences = [
        [each["response"] for each in part["responses"]]
        for row in read_lines(DATA / "qags" / "mturk_cnndm.jsonl")
        for part in row["summary_sentences"]
    ]
    yield Equality("QAGS, Fleiss", fleiss_kappa(counts(sentences)), expected["qags"]["fleiss_kappa"])
    with (DATA / "kqa" / "nli_three_physicians.csv").open(encoding="utf-8", newline="") as file:
        labels = [[row["label_0"], row["label_1"], row["label_2"]] for row in csv.DictReader(file)]
    yield Equality("K-QA, Fleiss", fleiss_kappa(counts(labels)), expected["kqa_nli"]["fleiss_kappa"])


def _of_tables() -> Iterator[Equality]:
    for table in json.loads((DATA / "agreement_tables" / "tables.json").read_text(encoding="utf-8")):
        for key, figure in _figures_of(table):
            yield Equality(
                f"{table['name']}, {key}", figure(), table["expected"][key], max(CLOSE, table.get("tolerance") or CLOSE)
            )


def _figures_of(table: dict[str, Any]) -> list[tuple[str, Callable[[], float | None]]]:
    data = table["data"]
    by_layout: dict[str, list[tuple[str, Callable[[], float | None]]]] = {
        "subject_by_category_counts": [
            ("fleiss_kappa", lambda: fleiss_kappa(data)),
            ("randolph_free_marginal_kappa", lambda: randolph_kappa(data)),
        ],
        "subject_by_rater_labels": [("fleiss_kappa", lambda: fleiss_kappa(counts(data)))],
        "two_rater_confusion_counts": [
            ("cohen_kappa", lambda: _value(cohen_kappa(data))),
            ("weighted_linear_kappa", lambda: _value(cohen_kappa(data, weights="linear"))),
        ],
        "coder_by_unit_with_missing": [
            ("alpha_nominal", lambda: krippendorff_alpha(list(zip(*data, strict=True)))),
            ("alpha_interval", lambda: krippendorff_alpha(list(zip(*data, strict=True)), "interval")),
        ],
        "subject_by_rater_scores_1_to_6": [
            ("cohen_kappa_raters_2_3_unweighted", lambda: _of_raters(data, "none")),
            ("cohen_kappa_raters_2_3_linear_observed_levels", lambda: _of_raters(data, "linear")),
            ("cohen_kappa_raters_2_3_quadratic_observed_levels", lambda: _of_raters(data, "quadratic")),
        ],
    }
    return [(key, figure) for key, figure in by_layout[table["layout"]] if key in table["expected"]]


def _of_raters(data: Sequence[Sequence[int]], weights: Any) -> float | None:  # Any: one of the three kinds
    return _value(cohen_kappa(cross_table([row[1] for row in data], [row[2] for row in data]), weights=weights))


def _correlations(
    name: str, ours: Sequence[float], people: Sequence[float], theirs: dict[str, float]
) -> Iterator[Equality]:
    yield Equality(f"{name}, Pearson", pearson(ours, people), theirs["pearson"])
    yield Equality(f"{name}, Spearman", spearman(ours, people), theirs["spearman"])


def _rouge_of_their_arithmetic(hypothesis: str, reference: str) -> float:
    """ROUGE-L by way of precision and recall: their rounding breaks ties of equal scores, and Spearman shows that."""
    from rapidfuzz.distance import LCSseq

    found, wanted = words(hypothesis), words(reference)
    common = LCSseq.similarity(found, wanted)
    precision, recall = common / len(found), common / len(wanted)
    return 2 * precision * recall / (precision + recall) if common else 0.0


def _ascii(text: str) -> str:
    return "".join(char if char.isascii() else " " for char in text)


def _value(kappa: Any) -> float | None:  # Any: a Kappa, or None
    return None if kappa is None else float(kappa.value)
