"""How much of what was said did the speech system hear?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from cortex_eval.core import Case, Reply, Score
from cortex_eval.scoring.base import scorers
from cortex_eval.scoring.word_errors import WordErrors, count_errors, list_edits, variants
from cortex_eval.scoring.words import spoken_words

NO_KEYWORDS = "No keywords were asked for."
NO_REFERENCE = "There is no transcript to compare with."
EDITS_KEPT = 50
_FIRST_AUDIO = ("time_to_first_audio_ms", "first_audio_ms")


@scorers.register("speech")
@dataclass(frozen=True, slots=True)
class Speech:
    """Word error rate of the transcript; characters, keywords and the time to the first sound beside it."""

    casefold: bool = True
    """Upper and lower case are the same."""
    ignore_punctuation: bool = True
    """Punctuation marks do not count, in any script; apostrophes inside words stay."""
    keywords: tuple[str, ...] = ()
    """Words that must be heard, such as `fifteen|15`; empty: the case's checklist, else `keywords` of its metadata."""
    of: Literal["reply", "heard", "spoken"] = "reply"
    """The reply against the expected answer; what a voice line says that it heard against what the caller said; or
    what was heard of its voice against the text that it says it spoke."""
    by: Literal["words", "keywords"] = "words"
    """The value is 1 − WER, or the share of the keywords that were heard."""

    def score_batch(self, pairs: Sequence[tuple[Case, Reply]]) -> list[Score]:
        """1 − WER, at least 0, or the recall of keywords for each reply; None when there is nothing to compare with."""
        return [self._one(case, reply) for case, reply in pairs]

    def _one(self, case: Case, reply: Reply) -> Score:
        compared = _COMPARED[self.of](case, reply)
        if isinstance(compared, str):
            return Score(name="speech", value=None, reason=compared, evidence=_first_audio(reply) or None)
        references, said = compared
        heard = self._words(said)
        evidence = {**self._keywords_heard(case, heard), **_first_audio(reply)}
        if self.by == "keywords":
            return _by_keywords(evidence)
        texts = [text for reference in references for text in variants(reference)]
        wanted = [found for found in map(self._words, texts) if found]
        if not wanted:
            return Score(name="speech", value=None, reason=NO_REFERENCE, evidence=evidence or None)
        reference = min(wanted, key=lambda each: _rate(count_errors(each, heard)))
        errors = count_errors(reference, heard)
        edits = list_edits(reference, heard)
        wer = _rate(errors)
        return Score(
            name="speech",
            value=max(0.0, 1 - wer),
            reason=_reason(errors, wer, evidence),
            evidence={
                "wer": wer,
                "cer": _rate(count_errors(" ".join(reference), " ".join(heard))),
                "words": errors.words,
                "substituted": errors.substituted,
                "deleted": errors.deleted,
                "inserted": errors.inserted,
                "edits": None if edits is None else [each._asdict() for each in edits[:EDITS_KEPT]],
                **evidence,
            },
            measure=wer,
            unit="WER",
            direction="lower",
        )

    def _words(self, text: str) -> list[str]:
        return spoken_words(text, casefold=self.casefold, ignore_punctuation=self.ignore_punctuation)

    def _keywords_heard(self, case: Case, heard: Sequence[str]) -> dict[str, Any]:  # Any: JSON
        of_reply = case.expected.checklist if self.of == "reply" else ()  # the checklist is of the reply
        keywords = self.keywords or of_reply or _listed(case.metadata.get("keywords"))
        spellings = {keyword: [self._words(each) for each in keyword.split("|")] for keyword in keywords}
        wanted = {keyword: [each for each in found if each] for keyword, found in spellings.items() if any(found)}
        if not wanted:
            return {}
        missing = [
            keyword for keyword, found in wanted.items() if not any(_is_phrase_of(each, heard) for each in found)
        ]
        return {"keywords": {"recall": 1 - len(missing) / len(wanted), "wanted": len(wanted), "missing": missing}}


class _Compared(NamedTuple):
    references: tuple[str, ...]
    said: str


def _of_reply(case: Case, reply: Reply) -> _Compared:
    return _Compared(case.expected.references, reply.text if reply.transcript is None else reply.transcript)


def _of_heard(case: Case, reply: Reply) -> _Compared | str:
    heard = reply.metadata.get("heard")
    if not isinstance(heard, str):
        return "The service does not say what it heard."
    return _Compared((case.input, *_listed_texts(case.metadata.get("also_said"))), heard)


def _of_spoken(case: Case, reply: Reply) -> _Compared | str:  # noqa: ARG001  # as the others
    stated = reply.metadata.get("stated_text")
    if not isinstance(stated, str) or reply.transcript is None:
        return "The service does not say what it spoke, or did not speak."
    return _Compared((stated,), reply.transcript)


_COMPARED = {"reply": _of_reply, "heard": _of_heard, "spoken": _of_spoken}


def _listed_texts(value: object) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(map(str, value)) if isinstance(value, list | tuple) else ()


def _is_phrase_of(phrase: Sequence[str], heard: Sequence[str]) -> bool:
    size = len(phrase)
    return any(list(heard[i : i + size]) == list(phrase) for i in range(len(heard) - size + 1))


def _listed(value: object) -> tuple[str, ...]:
    """The keywords of a dataset's column: a list, or one text with commas."""
    if isinstance(value, str):
        return tuple(each.strip() for each in value.split(",") if each.strip())
    if isinstance(value, Iterable) and not isinstance(value, Mapping):
        return tuple(str(each) for each in value if str(each).strip())
    return ()


def _first_audio(reply: Reply) -> dict[str, Any]:  # Any: JSON
    """When the first sound came, if the target said so."""
    for name in _FIRST_AUDIO:
        value = reply.metadata.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return {"time_to_first_audio_ms": value}
    has_audio = any(each.media_type.startswith("audio/") for each in reply.attachments)
    if has_audio and reply.first_token_ms is not None:
        return {"time_to_first_audio_ms": reply.first_token_ms}
    return {}


def _by_keywords(evidence: Mapping[str, Any]) -> Score:
    """The recall of the keywords as the score."""
    found = evidence.get("keywords")
    if found is None:
        return Score(name="speech", value=None, reason=NO_KEYWORDS, evidence=dict(evidence) or None)
    missing = found["missing"]
    return Score(
        name="speech",
        value=found["recall"],
        reason=f"Keywords not heard: {', '.join(missing)}."
        if missing
        else f"All {found['wanted']} keywords were heard.",
        evidence=dict(evidence),
        measure=found["recall"],
        unit="recall",
    )


def _rate(errors: WordErrors) -> float:
    assert errors.rate is not None, "references without words are left out before"
    return errors.rate


def _reason(errors: WordErrors, wer: float, evidence: Mapping[str, Any]) -> str:
    if not errors.errors:
        told = f"Every one of the {errors.words} words was heard."
    else:
        told = (
            f"WER {wer:.2f}: of {errors.words} words {errors.substituted} were heard as others and {errors.deleted} "
            f"were missed; {errors.inserted} were added."
        )
    missing = evidence.get("keywords", {}).get("missing")
    return f"{told} Keywords not heard: {', '.join(missing)}." if missing else told
