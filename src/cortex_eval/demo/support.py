"""A sample support agent on loopback: it answers from its help pages and files a ticket, with planted faults in both.

It is a sample: there is no Marigold, no person reads the tickets, and it is wrong on purpose in the ways that
WEAKNESSES.md of the project `support-agent` lists, so that a report has something to find.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from cortex_eval.demo.listening import Listening, Version
from cortex_eval.testing import Answer, Call

_WORD = re.compile(r"[a-z0-9]+")
_FLOOR = 4.5
"""A best page below this is no answer: one rare word in common is not enough."""
_BESIDE = 0.75
"""A second page is shown beside the best one from this share of its score on."""
_LONG = 60
"""Words; a longer question is taken into the ticket with everything that was found (planted, weakness 6)."""
_ANGRY = re.compile(r"!!|\b(?:third|fourth|fifth|tenth) time\b|\b(?:ridiculous|useless|joke)\b", re.IGNORECASE)
_RUDE = "Once more, slowly, since you obviously did not read the help page:\n"
_HEEDED = ("device",)
"""What the agent reads of a case's context; `sign_in` is not among it (planted, weakness 3)."""
_DECLINES = (
    "I am sorry, I did not find an answer to that in our help pages. I have handed your question to the help desk, "
    "and a person writes back to you within one working day."
)
_ABOUT = {
    "service": "support-agent",
    "sample": True,
    "about": "The sample support agent of Cortex. Some of its answers are wrong on purpose. POST {input, context}.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HelpPage:
    """A help page, what the agent says when it finds it, and what the ticket says of it."""

    id: str
    intent: str
    priority: str
    handoff: bool
    passage: str
    answer: str
    added: str
    """Planted: a step that the agent makes up."""
    terms: frozenset[str]
    """Words that people ask with, and those of the title; they count double."""
    words: frozenset[str]


class _Ranked(NamedTuple):
    score: float
    page: HelpPage


class SupportAgent(Listening):
    """The sample support agent, on loopback while it is entered.

    `with SupportAgent() as agent: agent.url`. Version 2 is version 1 with a new prompt: its tone is mended, and its
    tickets break their schema.
    """

    noun = "sample support agent"
    path = "ask"

    def answer(self, call: Call) -> Answer | dict[str, Any]:  # Any: JSON
        """What it says to one call: `{answer, passages, ticket, intent, confidence, version}`."""
        if call.method != "POST":
            return {**_ABOUT, "version": self.version}
        body = call.json if isinstance(call.json, dict) else {}
        question, context = body.get("input"), body.get("context")
        if not isinstance(question, str) or not question.strip():
            message = {"error": "The body needs an 'input' that is a text with something in it."}
            return Answer(status=400, body=json.dumps(message).encode())
        return reply_to(question, context if isinstance(context, dict) else {}, version=self.version)


def reply_to(question: str, context: dict[str, Any], *, version: Version = "1") -> dict[str, Any]:  # Any: JSON
    """The agent's whole reply; the same question always gets the same one."""
    told = " ".join(str(context[key]) for key in _HEEDED if key in context)
    best, *others = _ranked(f"{question} {told}")
    if best.score < _FLOOR:
        ticket = _ticket(question, None, (), version)
        return _reply(_DECLINES, (), ticket, intent="unknown", confidence=0.1, version=version)
    pages = (best.page, *(each.page for each in others[:1] if each.score >= _BESIDE * best.score))
    text = f"{best.page.answer} {best.page.added}".rstrip()  # planted: weakness 1
    # Planted: who is angry is scolded (weakness 4); the new prompt of version 2 forbids it.
    if version == "1" and _ANGRY.search(question):
        text = _RUDE + text
    confidence = round(best.score / (best.score + others[0].score), 2)
    ticket = _ticket(question, best.page, pages, version)
    return _reply(text, pages, ticket, intent=best.page.intent, confidence=confidence, version=version)


def _reply(
    text: str, pages: tuple[HelpPage, ...], ticket: str, *, intent: str, confidence: float, version: Version
) -> dict[str, Any]:  # Any: JSON
    return {
        "answer": text,
        "passages": [{"id": page.id, "text": page.passage} for page in pages],
        "ticket": ticket,
        "intent": intent,
        "confidence": confidence,
        "version": version,
    }


def _ticket(question: str, page: HelpPage | None, pages: tuple[HelpPage, ...], version: Version) -> str:
    """The ticket as the agent writes it: JSON as text, for another program to read."""
    intent, priority, handoff, article = "unknown", '"normal"', True, "null"
    if page is not None:
        intent, priority, handoff, article = page.intent, f'"{page.priority}"', page.handoff, f'"{page.id}"'
    if version == "2" and priority == '"high"':
        priority = "1"  # planted: the new prompt made a number of it (weakness 7)
    summary = question
    if len(question.split()) > _LONG:
        summary = " ".join((question, *(each.passage for each in pages)))  # planted: weakness 6
    # Planted: the text is glued together, not written by a JSON library; a quotation mark breaks it (weakness 5).
    return (
        f'{{"intent": "{intent}", "summary": "{summary}", "priority": {priority}, '
        f'"handoff": {str(handoff).lower()}, "article": {article}}}'
    )


def _ranked(query: str) -> list[_Ranked]:
    """Every page with the weight of the words that it shares with the question, the best first."""
    asked = words_of(query)
    pages, weights = _library()
    scores = [sum(weights[word] * (2 if word in page.terms else 1) for word in asked & page.words) for page in pages]
    return sorted((_Ranked(score, page) for score, page in zip(scores, pages, strict=True)), key=lambda r: -r.score)


def words_of(text: str) -> frozenset[str]:
    """The words that are looked for: lower case, no stop words, plurals as singulars."""
    plain = text.lower().replace("e-mail", "email").replace("sign-in", "sign in")
    found = (word for word in _WORD.findall(plain) if word not in _data()["stop_words"].split())
    return frozenset(word[:-1] if len(word) > 3 and word.endswith("s") and word[-2] != "s" else word for word in found)


class _Library(NamedTuple):
    pages: tuple[HelpPage, ...]
    weights: dict[str, float]
    """Of a word: the fewer pages have it, the more."""


@cache
def _library() -> _Library:
    pages = tuple(_page(row) for row in _data()["articles"])
    seen = [word for page in pages for word in page.words]
    return _Library(pages, {word: math.log(1 + len(pages) / seen.count(word)) for word in set(seen)})


def _page(row: dict[str, Any]) -> HelpPage:  # Any: JSON of our own
    terms = words_of(f"{row['title']} {row['terms']}")
    return HelpPage(
        id=row["id"],
        intent=row["intent"],
        priority=row["priority"],
        handoff=row.get("handoff", False),
        passage=row["passage"],
        answer=row["answer"],
        added=row.get("added", ""),
        terms=terms,
        words=terms | words_of(row["passage"]),
    )


@cache
def _data() -> dict[str, Any]:  # Any: JSON of our own
    text = files(__package__).joinpath("support_articles.json").read_text(encoding="utf-8")
    read: dict[str, Any] = json.loads(text)
    return read
