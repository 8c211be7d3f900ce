"""Overlap of two texts: BLEU, ROUGE, chrF, token F1 and edit similarity, each equal to its reference library.

sacrebleu's own sentence score keeps every line it ever saw and takes twice as long as BLEU and ROUGE-L here together.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from cortex_eval.scoring.words import has_indic_script, squad_words, words

MAX_ORDER = 4

# The rules of mteval-v13a, as in sacrebleu's tokenizer_re.py.
_13A_RULES = (
    (re.compile(r"([\{-\~\[-\` -\&\(-\+\:-\@\/])"), r" \1 "),
    (re.compile(r"([^0-9])([\.,])"), r"\1 \2 "),
    (re.compile(r"([\.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),
)
_ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))


class Overlap(NamedTuple):
    """How much of one text is in another, both 0..1."""

    bleu: float
    rouge: float


def bleu(hypothesis: str, reference: str) -> float:
    """Sentence BLEU of sacrebleu (effective order, exponential smoothing), 0..1.

    Tokenised by 13a, or by `intl` when either text has an Indic script: 13a glues the danda to its word.
    """
    split = _tokens_intl if has_indic_script(hypothesis) or has_indic_script(reference) else _tokens_13a
    return _bleu_of_tokens(split(hypothesis), split(reference))


def rouge_l(hypothesis: str, reference: str) -> float:
    """ROUGE-L F of rouge-score without stemming, 0..1, with words of any script."""
    from rapidfuzz.distance import LCSseq  # imported late: 40 ms

    found, wanted = words(hypothesis), words(reference)
    if not found or not wanted:
        return 0.0
    # F of precision lcs/found and recall lcs/wanted is 2·lcs/(found + wanted).
    return 2 * LCSseq.similarity(found, wanted) / (len(found) + len(wanted))


def rouge_n(hypothesis: str, reference: str, n: int) -> float:
    """ROUGE-N F of rouge-score without stemming, 0..1, with words of any script: phrases of n words in common."""
    found, wanted = _ngrams(words(hypothesis), n - 1), _ngrams(words(reference), n - 1)
    return _f_of_counts(found, wanted)


def token_f1(hypothesis: str, reference: str) -> float:
    """F1 of the words in common, 0..1, as SQuAD reckons it (Rajpurkar et al. 2016), with words of any script.

    Where one text has no words left, it is 1 if neither has, else 0 (the rule of SQuAD 2.0).
    """
    found, wanted = squad_words(hypothesis), squad_words(reference)
    if not found or not wanted:
        return float(found == wanted)
    return _f_of_counts(found, wanted)


def edit_similarity(hypothesis: str, reference: str) -> float:
    """1 − Levenshtein distance / length of the longer text, by character; 1 for two empty texts."""
    from rapidfuzz.distance import Levenshtein  # imported late: 40 ms

    return float(Levenshtein.normalized_similarity(hypothesis, reference))


def overlap(hypothesis: str, reference: str) -> Overlap:
    """Both scores of one pair."""
    return Overlap(bleu(hypothesis, reference), rouge_l(hypothesis, reference))


def chrf(hypothesis: str, reference: str) -> float:
    """chrF2 of sacrebleu (characters up to six, no words), 0..1."""
    score: float = _chrf_metric().sentence_score(hypothesis, [reference]).score
    return min(1.0, score / 100)


def _f_of_counts(found: Sequence[object], wanted: Sequence[object]) -> float:
    """F of what two lists have in common, each item as often as it stands in both."""
    common = (Counter(found) & Counter(wanted)).total()
    return 2 * common / (len(found) + len(wanted)) if common else 0.0


def _tokens_13a(line: str) -> list[str]:
    line = line.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    if "&" in line:
        for entity, char in _ENTITIES:
            line = line.replace(entity, char)
    tokens: list[str] = []
    # The rules never look past a space, so that each run between spaces can be split by itself, and remembered.
    for run in line.split():
        if run.isalnum():
            tokens.append(run)
        else:
            tokens.extend(_split_13a(run))
    return tokens


@lru_cache(maxsize=8192)
def _split_13a(run: str) -> tuple[str, ...]:
    run = f" {run} "
    for pattern, spaced in _13A_RULES:
        run = pattern.sub(spaced, run)
    return tuple(run.split())


def _tokens_intl(line: str) -> list[str]:
    line = line.rstrip()
    for pattern, spaced in _intl_rules():
        line = pattern.sub(spaced, line)
    return line.split()


@cache
def _intl_rules() -> tuple[tuple[Any, str], ...]:  # Any: compiled patterns of `regex`, which has no public type
    import regex  # type: ignore[import-untyped]  # has no types; `re` knows no \p{P}

    # The rules of mteval-v14, as in sacrebleu's tokenizer_intl.py.
    return (
        (regex.compile(r"(\P{N})(\p{P})"), r"\1 \2 "),
        (regex.compile(r"(\p{P})(\P{N})"), r" \1 \2"),
        (regex.compile(r"(\p{S})"), r" \1 "),
    )


def _bleu_of_tokens(found: list[str], wanted: list[str]) -> float:
    matches = _matching_ngrams(found, wanted)
    if not matches[0]:
        return 0.0
    logs, halvings = 0.0, 0
    order = min(MAX_ORDER, len(found))  # effective order: a text of two words has no 3-grams to miss
    for n in range(order):
        total = len(found) - n
        if matches[n]:
            logs += math.log(matches[n] / total)
        else:
            halvings += 1  # NIST smoothing, method 3 of Chen and Cherry 2014
            logs -= math.log(2**halvings * total)
    brevity = 1 - len(wanted) / len(found) if len(found) < len(wanted) else 0.0
    return min(1.0, math.exp(brevity + logs / order))


def _matching_ngrams(found: list[str], wanted: list[str]) -> list[int]:
    matches = [0] * MAX_ORDER
    for n in range(MAX_ORDER):
        theirs, ours = _ngrams(found, n), _ngrams(wanted, n)
        distinct, known = set(theirs), set(ours)
        common = distinct & known
        if not common:
            break  # no longer n-gram can match either
        if len(distinct) == len(theirs) or len(known) == len(ours):
            matches[n] = len(common)  # where one side holds each n-gram once, a match counts once
        else:
            counts, limits = Counter(theirs), Counter(ours)
            matches[n] = sum([min(counts[gram], limits[gram]) for gram in common])
    return matches


def _ngrams(tokens: list[str], n: int) -> Sequence[object]:
    if n == 0:
        return tokens
    return list(zip(*[tokens[i:] for i in range(n + 1)], strict=False))


@cache
def _chrf_metric() -> Any:  # Any: sacrebleu is untyped
    from sacrebleu.metrics.chrf import CHRF  # imported late: 130 ms

    return CHRF()
