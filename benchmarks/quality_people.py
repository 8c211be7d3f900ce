"""How well scorers rank what people judged: areas under the ROC curve on grounding sets, Spearman on summaries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from quality_data import DIMENSIONS, Answer, Summary, fold, halueval, kqa, qags, ragtruth, summeval

from cortex_eval.core import Case, Expected, Reply, Turn
from cortex_eval.scoring.claims import take_apart
from cortex_eval.scoring.embedding import MiniLM, Tokens, load_embedder
from cortex_eval.scoring.grounding import Faithfulness, calibrated_minimum, ground
from cortex_eval.scoring.overlap import bleu, chrf, rouge_l
from cortex_eval.scoring.summary import Summary as SummaryScorer
from cortex_eval.scoring.summary import matched
from cortex_eval.scoring.support import EmbeddedSupport
from cortex_eval.scoring.words import words
from cortex_eval.stats import spearman


class Ranking(NamedTuple):
    """How well supported answers are ranked above the others on one set: areas under the ROC curve."""

    name: str
    scored: int
    supported: int
    plain: float | None
    """Share of the answer's words in the passages."""
    by_words: float | None
    by_meaning: float | None


class Agreement(NamedTuple):
    """Summary-level Spearman of a scorer with the experts, by dimension."""

    name: str
    by_dimension: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Over the dimensions."""
        return sum(self.by_dimension) / len(self.by_dimension)


def auroc(values: Sequence[float], labels: Sequence[bool]) -> float | None:
    """The chance that a supported one has the higher value, ties counting half; None when all are alike."""
    good = np.array([value for value, label in zip(values, labels, strict=True) if label])
    bad = np.sort([value for value, label in zip(values, labels, strict=True) if not label])
    if not len(good) or not len(bad):
        return None
    below, upto = np.searchsorted(bad, good, "left"), np.searchsorted(bad, good, "right")
    return float((below + upto).sum() / 2 / len(good) / len(bad))


def containment(answer: Answer) -> float:
    """The share of the answer's words that are in the passages."""
    claimed, known = words(answer.text), set(words(" ".join(answer.passages)))
    return sum(word in known for word in claimed) / max(1, len(claimed))


def values_of(answers: Sequence[Answer], *, use_embeddings: bool, batch: int = 32) -> list[float | None]:
    """What `faithfulness` gives each answer."""
    scorer, found = Faithfulness(use_embeddings=use_embeddings), []
    for start in range(0, len(answers), batch):
        pairs = [
            (Case.of(each.question, None, id="1", passages=each.passages), Reply(text=each.text))
            for each in answers[start : start + batch]
        ]
        found += [score.value for score in scorer.score_batch(pairs)]
    return found


class Judged(NamedTuple):
    """A set with the values of both methods."""

    name: str
    answers: list[Answer]
    by_words: list[float | None]
    by_meaning: list[float | None]

    def ranking(self, name: str, keep: Callable[[Answer], bool] = lambda _: True) -> Ranking:
        """The areas over the answers kept; those without a value (refusals) are left out of all three."""
        rows = [
            (answer, one, other)
            for answer, one, other in zip(self.answers, self.by_words, self.by_meaning, strict=True)
            if one is not None and other is not None and keep(answer)
        ]
        labels = [answer.is_supported for answer, _, _ in rows]
        return Ranking(
            name,
            len(rows),
            sum(labels),
            auroc([containment(answer) for answer, _, _ in rows], labels),
            auroc([one for _, one, _ in rows], labels),
            auroc([other for _, _, other in rows], labels),
        )


def judged_sets() -> list[Judged]:
    """All grounding sets, scored by words and by meaning."""
    sets = {
        "RAGTruth QA, answers": ragtruth(),
        "HaluEval QA, answers (fold 1)": [each for each in halueval() if fold(each.question) == 1],
        "QAGS CNN/DM, sentences": qags(whole=False),
        "QAGS CNN/DM, summaries": qags(whole=True),
        "K-QA, statements": kqa(),
    }
    found = []
    for name, answers in sets.items():
        print(f"  {name} …", flush=True)
        found.append(
            Judged(name, answers, values_of(answers, use_embeddings=False), values_of(answers, use_embeddings=True))
        )
    return found


def bands(judged: Judged) -> list[Ranking]:
    """The same by the number of claims in the answer."""
    counts = [len(take_apart(answer.text).claims) for answer in judged.answers]
    low, high = (int(np.quantile(counts, share)) for share in (1 / 3, 2 / 3))
    lengths = {
        f"{judged.name}: up to {low} claims": (0, low),
        f"{judged.name}: {low + 1} to {high} claims": (low + 1, high),
        f"{judged.name}: more than {high} claims": (high + 1, 10**6),
    }
    return [
        judged.ranking(name, lambda answer, a=a, b=b: a <= len(take_apart(answer.text).claims) <= b)  # type: ignore[misc]  # a and b of this turn
        for name, (a, b) in lengths.items()
        if a <= b
    ]


class Reliability(NamedTuple):
    """Of the answers with a value in a range, how many people found supported."""

    low: float
    high: float
    answers: int
    supported: int
    mean_claims: float


def reliability(judged: Judged) -> list[Reliability]:
    """Value against people, in the ranges that the scorer names: none, unlikely, likely, full."""
    found = []
    for low, high in ((0.0, 0.0), (0.0, 0.5), (0.5, 1.0), (1.0, 1.0)):
        rows = [
            answer
            for answer, value in zip(judged.answers, judged.by_meaning, strict=True)
            if value is not None and (value == low if low == high else low < value < high or (value == 0.5 == low))
        ]
        claims = [len(take_apart(answer.text).claims) for answer in rows]
        mean = sum(claims) / len(claims) if claims else 0.0
        found.append(Reliability(low, high, len(rows), sum(answer.is_supported for answer in rows), mean))
    return found


def by_document(summaries: Sequence[Summary], values: Sequence[float], name: str) -> Agreement:
    """The mean over documents of the Spearman over its systems; a document on which all are alike is left out."""
    groups: dict[str, list[int]] = {}
    for i, summary in enumerate(summaries):
        groups.setdefault(summary.document, []).append(i)
    means = []
    for dimension in DIMENSIONS:
        found = [
            spearman([values[i] for i in group], [summaries[i].ratings[dimension] for i in group])
            for group in groups.values()
        ]
        known = [each for each in found if each is not None]
        means.append(sum(known) / len(known))
    return Agreement(name, tuple(means))


def agreements() -> list[Agreement]:
    """SummEval: every embedded scorer that can be applied to a summary, its source and its references."""
    summaries = summeval()
    values: dict[str, list[float]] = {
        "`rouge`, first reference": [rouge_l(each.text, each.references[0]) for each in summaries],
        "`rouge`, best of 11 references": [_best(rouge_l, each) for each in summaries],
        "`bleu`, best of 11 references": [_best(bleu, each) for each in summaries],
        "`chrf`, best of 11 references": [_best(chrf, each) for each in summaries],
        "plain containment in the source": [
            containment(Answer(question="", passages=(each.source,), text=each.text, is_supported=True))
            for each in summaries
        ],
    }
    values |= _by_meaning(summaries)
    return [by_document(summaries, each, name) for name, each in values.items()]


def _best(measure: Callable[[str, str], float], summary: Summary) -> float:
    return max(measure(summary.text, reference) for reference in summary.references)


def _by_meaning(summaries: Sequence[Summary]) -> dict[str, list[float]]:
    embedder = load_embedder()
    assert isinstance(embedder, MiniLM)
    texts = list(dict.fromkeys(text for each in summaries for text in (each.text, each.source, *each.references)))
    tokens: dict[str, Tokens] = {}
    for start in range(0, len(texts), 128):
        part = texts[start : start + 128]
        tokens |= dict(zip(part, embedder.embed_tokens(part), strict=True))

    def cosine(one: str, other: str) -> float:
        return float(tokens[one].whole @ tokens[other].whole)

    def greedy(one: str, other: str) -> float:
        return matched(tokens[one], tokens[other])

    pairs = [
        (Case(id="1", turns=(Turn(text="", expected=Expected()),), passages=(each.source,)), Reply(text=each.text))
        for each in summaries
    ]
    grounded = ground(pairs, EmbeddedSupport())
    support = [sum(each.probability for each in found.supported) / max(1, len(found.supported)) for found in grounded]
    best_match = [_best(greedy, each) for each in summaries]
    return {
        "cosine with the first reference": [cosine(each.text, each.references[0]) for each in summaries],
        "`relevance` (cosine, best of 11 references)": [_best(cosine, each) for each in summaries],
        "cosine with the source": [cosine(each.text, each.source) for each in summaries],
        "word pieces matched, first reference": [greedy(each.text, each.references[0]) for each in summaries],
        "word pieces matched, best of 11 references": best_match,
        "word pieces matched, source": [greedy(each.text, each.source) for each in summaries],
        "mean support of the claims in the source": support,
        "`faithfulness` to the source": [
            calibrated_minimum([each.probability for each in found.supported]) if found.supported else 0.0
            for found in grounded
        ],
        "`summary`, best of 11 references": _summaries(summaries),
    }


def _summaries(summaries: Sequence[Summary]) -> list[float]:
    pairs = [
        (
            Case(
                id="1",
                turns=(Turn(text="", expected=Expected(answer=each.references[0], answers=each.references[1:])),),
                passages=(each.source,),
            ),
            Reply(text=each.text),
        )
        for each in summaries
    ]
    scores = [
        score for start in range(0, len(pairs), 32) for score in SummaryScorer().score_batch(pairs[start : start + 32])
    ]
    return [0.0 if each.value is None else each.value for each in scores]
