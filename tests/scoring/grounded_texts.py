"""Passages in English and Hindi, and scores of answers against them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from cortex_eval.core import Case, Reply, Score
from cortex_eval.scoring import can_embed
from cortex_eval.scoring.grounding import Faithfulness, HallucinationRate

METHODS = [
    False,
    pytest.param(True, marks=pytest.mark.skipif(not can_embed(), reason="the extra `embed` is not installed")),
]
"""By words alone, and by meaning where that can be."""
GINGER = (
    (
        "Ginger is the root of Zingiber officinale. It eases nausea in early pregnancy. Adults take 250 mg of dried "
        "ginger four times a day. People who take warfarin should not use ginger without asking their doctor."
    ),
    "Turmeric contains curcumin. Curcumin is poorly absorbed; black pepper raises its absorption.",
)
HEART = (
    (
        "The clinic in Baker Street opened in 1987 and has 40 beds. Its director is Anna Keller. It treats patients "
        "with heart failure and does not treat children. Visits are free on Mondays."
    ),
)
ADRAK = (
    (
        "अदरक पाचन में सहायक है। यह मतली को कम करता है। वयस्क प्रतिदिन 2 ग्राम सूखी अदरक ले सकते हैं। "
        "रक्त पतला करने वाली दवा लेने वाले लोग डॉक्टर से पूछे बिना अदरक न लें।"
    ),
)
GULAB = ("त्रिफला तीन फलों से बनता है: आंवला, हरड़ और बहेड़ा। इसे रात में गर्म पानी के साथ लिया जाता है। यह कब्ज में लाभ देता है।",)


def case(passages: Sequence[str] = (), **fields: Any) -> Case:
    return Case.of("What should I know?", None, id="1", passages=passages, **fields)


def score(scorer: Faithfulness | HallucinationRate, answer: str, passages: Sequence[str] = (), **fields: Any) -> Score:
    """What the scorer says of an answer to a case with these passages."""
    return scorer.score_batch([(case(passages, **fields), Reply(text=answer))])[0]
