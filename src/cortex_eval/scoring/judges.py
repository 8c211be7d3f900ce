"""Judges that come with their prompts: is the reply faithful to its context, does it address the question?"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, ClassVar, Literal, NamedTuple

from cortex_eval.core import Case, JudgeError, Reply, Score, shorten, to_json
from cortex_eval.llm import Completion
from cortex_eval.scoring.base import scorers
from cortex_eval.scoring.claims import Claim, take_apart
from cortex_eval.scoring.grounding import LABELS, Sources, sources_of
from cortex_eval.scoring.injection import suspicion
from cortex_eval.scoring.judging import Given, ModelScorer, Question, evidence_of_several
from cortex_eval.scoring.jury import all_answers, all_given, middle
from cortex_eval.scoring.prompt import Template, listed, shipped_prompt
from cortex_eval.scoring.verdict import (
    FORMS,
    JudgeVerdict,
    Scale,
    no_verdict,
    read_object,
    read_verdict,
    read_worth,
    verdict_schema,
)
from cortex_eval.scoring.words import content_words

CLAIMS_AT_ONCE = 12
"""In one question; an answer with more of them takes several."""
LONGEST_QUOTE = 1_000
SUPPORTED = {"yes": 1.0, "no": 0.0}
NOT_JUDGED = {
    "refusal": "The reply says that it does not know, and claims nothing.",
    "advice": "The reply only gives standing advice, such as to see a doctor, and claims nothing.",
    "no_claim": "The reply claims nothing.",
    "empty": "The reply is empty.",
}


class _Judged(NamedTuple):
    """What a model says of one claim."""

    value: float
    reason: str
    quote: str


class _Claims(NamedTuple):
    """What a model says of the claims in one question."""

    value: float
    """1 when all of them are supported, else 0."""
    claims: tuple[_Judged, ...]


@scorers.register("faithfulness_judge")
@dataclass(kw_only=True)
class FaithfulnessJudge(ModelScorer):
    """1 when the context supports every claim of the reply, 0 when it does not support one of them.

    With `method: plain` the model gives one number from 0 to 1 for the whole reply.
    """

    version: ClassVar[str] = "2"

    method: Literal["claims", "plain"] = "claims"

    @property
    def fingerprint(self) -> str:
        """Changes with the models, their parameters, and every word that they are told beside the data."""
        return to_json([self.identity(self._prompt), self.method], sort_keys=True).decode()

    @property
    def _prompt(self) -> Template:
        return shipped_prompt("faithfulness" if self.method == "claims" else "faithfulness_plain")[0]

    async def score(self, case: Case, reply: Reply) -> Score:
        """The verdict on one reply; None when it claims nothing, or when there is no context."""
        if not sources_of(case, reply).all:
            return Score(name="faithfulness", value=None, reason="There is no context to compare the reply with.")
        state = take_apart(reply.text).state
        if state != "claims":
            return Score(name="faithfulness", value=None, reason=NOT_JUDGED[state], evidence={"state": state})
        questions = self.questions(case, (reply,))
        if self.method == "plain":
            given = await self.ask(questions[0], partial(_read_scale, "score"), elect=middle)
            return _score("faithfulness", given, reply)
        claims = take_apart(reply.text).claims
        read = [partial(_read_claims, len(part)) for part in _parts(claims)]
        heard = await all_answers([self.ask(*each) for each in zip(questions, read, strict=True)])
        return self._of_claims(claims, heard, case, reply)

    def characters(self, case: Case, replies: Sequence[Reply]) -> list[int]:
        """How much text a model would be told in each call for this score; empty: it would not be asked."""
        return self.characters_of(self.questions(case, replies))

    def questions(self, case: Case, replies: Sequence[Reply]) -> list[Question]:
        """One for the whole reply, or one for every dozen claims."""
        reply = replies[-1]
        context, taken = sources_of(case, reply).all, take_apart(reply.text)
        if not context or taken.state != "claims":
            return []
        if self.method == "plain":
            values = {"input": case.input, "retrieved_context": listed(context), "agent_output": reply.text}
            return [Question(self._prompt, values, verdict_schema("score"), FORMS["score"])]
        shared = {"input": case.input, "context": listed(context), "answer": reply.text}
        return [
            Question(self._prompt, {**shared, "claims": _numbered(part)}, _schema(len(part)), _form(len(part)))
            for part in _parts(taken.claims)
        ]

    def _of_claims(
        self, claims: Sequence[Claim], heard: Sequence[Given[_Claims] | JudgeError], case: Case, reply: Reply
    ) -> Score:
        given = all_given(heard)
        judged = [claim for each in given for claim in each.verdict.claims]
        sources = sources_of(case, reply)
        shown = [_shown(claim, said, sources) for claim, said in zip(claims, judged, strict=True)]
        wrong = [each for each in shown if each["label"] == "hallucinated"]
        share = 1 - len(wrong) / len(shown)
        reason = (
            f"{len(wrong)} of {len(shown)} claims not supported by the context: "
            f"“{shorten(wrong[0]['claim'], 120)}” {wrong[0]['reason']}"
            if wrong
            else f"The context supports all {len(shown)} claims."
        )
        return Score(
            name="faithfulness",
            value=0.0 if wrong else 1.0,
            reason=reason.strip(),
            source="judge",
            measure=share,
            unit="of claims",
            evidence={
                **evidence_of_several([each.evidence for each in given]),
                **suspicion((reply,)),
                "state": "claims",
                "method": "judge",
                "labels": {label: sum(each["label"] == label for each in shown) for label in LABELS},
                "claims": shown,
            },
        )


@scorers.register("relevance_judge")
@dataclass(kw_only=True)
class RelevanceJudge(ModelScorer):
    """1 when the reply addresses the question that was asked, 0 when not."""

    version: ClassVar[str] = "1"

    @property
    def fingerprint(self) -> str:
        """Changes with the models, their parameters, and every word that they are told beside the data."""
        return to_json(self.identity(shipped_prompt("relevance")[0]), sort_keys=True).decode()

    async def score(self, case: Case, reply: Reply) -> Score:
        """The verdict on one reply; an empty one is 0, and nobody is asked."""
        questions = self.questions(case, (reply,))
        if not questions:
            return Score(name="relevance", value=0.0, reason="The reply is empty.")
        return _score("relevance", await self.ask(questions[0], partial(_read_scale, "binary")), reply)

    def characters(self, case: Case, replies: Sequence[Reply]) -> list[int]:
        """How much text a model would be told in each call for this score; empty: it would not be asked."""
        return self.characters_of(self.questions(case, replies))

    def questions(self, case: Case, replies: Sequence[Reply]) -> list[Question]:
        """One, unless the reply is empty."""
        if not replies[-1].text.strip():
            return []
        values = {"input": case.input, "answer": replies[-1].text}
        return [Question(shipped_prompt("relevance")[0], values, verdict_schema("binary"), FORMS["binary"])]


def _score(name: str, given: Given[JudgeVerdict], reply: Reply) -> Score:
    return Score(
        name=name,
        value=given.verdict.value,
        reason=given.verdict.reason,
        source="judge",
        evidence={**given.evidence, **suspicion((reply,))},
    )


def _read_scale(scale: Scale, answer: Completion) -> JudgeVerdict:
    return read_verdict(answer.text, scale, finish_reason=answer.finish_reason)


def _parts(claims: Sequence[Claim]) -> list[Sequence[Claim]]:
    return [claims[start : start + CLAIMS_AT_ONCE] for start in range(0, len(claims), CLAIMS_AT_ONCE)]


def _numbered(claims: Sequence[Claim]) -> str:
    return "\n".join(f"[claim_{number}] {claim.text}" for number, claim in enumerate(claims, 1))


@cache  # the same object each time, so that a model need look at it only once
def _schema(claims: int) -> Mapping[str, Any]:
    """One key for each claim: a list could be too short, or too long."""
    one = {
        "type": "object",
        "properties": {
            "quote": {"type": "string", "description": "The words of the context that decide it, or empty."},
            "reason": {"type": "string", "description": "What decides it, in one short sentence."},
            "supported": {"type": "string", "enum": list(SUPPORTED)},
        },
        "required": ["quote", "reason", "supported"],
        "additionalProperties": False,
    }
    names = [f"claim_{number}" for number in range(1, claims + 1)]
    return {
        "type": "object",
        "properties": dict.fromkeys(names, one),
        "required": names,
        "additionalProperties": False,
    }


def _form(claims: int) -> str:
    one = (
        '{"quote": "the words of the context that decide it, or empty", '
        '"reason": "what decides it, in one short sentence", "supported": "yes" or "no"}'
    )
    return "{" + ", ".join(f'"claim_{number}": {one}' for number in range(1, claims + 1)) + "}"


def _read_claims(claims: int, answer: Completion) -> _Claims:
    found = read_object(answer.text, finish_reason=answer.finish_reason)
    names = [f"claim_{number}" for number in range(1, claims + 1)]
    if sorted(found) != sorted(names):
        raise no_verdict("wrong_type", f"it must speak of {claims} claims", answer.text)
    judged = []
    for name in names:
        said = found[name]
        quote = said.get("quote", "") if isinstance(said, dict) else None
        if not isinstance(quote, str):
            raise no_verdict("wrong_type", f"{name} is not judged in the form that was asked for", answer.text)
        verdict = read_worth(said, "supported", SUPPORTED, answer.text)
        judged.append(_Judged(verdict.value, verdict.reason, quote.strip()[:LONGEST_QUOTE]))
    return _Claims(min(each.value for each in judged), tuple(judged))


def _shown(claim: Claim, said: _Judged, sources: Sources) -> dict[str, Any]:
    """As the scorer `faithfulness` shows a claim when it asks no model."""
    place = _find_quote(said.quote, sources)
    label = "hallucinated"
    if said.value:
        # A quote that is not in the context is no evidence, though the model may still be right.
        is_same = place is not None and content_words(claim.text) <= content_words(said.quote)
        label = "inferred" if place is None else "grounded" if is_same else "paraphrased"
    return {
        "claim": claim.text,
        "start": claim.start,
        "end": claim.end,
        "label": label,
        "support": said.value,
        "reason": said.reason,
        "quote": said.quote,
        "evidence": place,
    }


def _find_quote(quote: str, sources: Sources) -> dict[str, Any] | None:
    """Where the words of a quote stand in a row, whatever spaces and capitals are between them."""
    words = quote.strip(" .…\"'“”").split()
    if not words:
        return None
    pattern = re.compile(r"\s+".join(map(re.escape, words)), re.IGNORECASE)
    for place, texts in (("passage", sources.passages), ("document", sources.documents)):
        for number, text in enumerate(texts):
            if found := pattern.search(text):
                return {"in": place, "number": number, "start": found.start(), "end": found.end(), "text": found[0]}
    return None
