"""A language model judges the reply by a prompt of yours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import ClassVar

from cortex_eval.core import Case, InputError, Level, Reply, Score, shorten, to_json
from cortex_eval.llm import Completion
from cortex_eval.scoring.base import scorers
from cortex_eval.scoring.injection import suspicion
from cortex_eval.scoring.judging import ModelScorer, Question
from cortex_eval.scoring.jury import Elect, majority, middle
from cortex_eval.scoring.prompt import (
    MAY_BE_EMPTY,
    OF_THE_REPLY,
    Template,
    read_template,
    read_template_file,
    values_of,
)
from cortex_eval.scoring.verdict import FORMS, JudgeVerdict, Scale, read_verdict, verdict_schema


@scorers.register("judge")
@dataclass(kw_only=True)
class Judge(ModelScorer):
    """1 when the model says that the reply passes, 0 when it fails; or the number that it gives.

    A prompt that names `{conversation}` judges the whole conversation, once, after its last turn.
    """

    version: ClassVar[str] = "1"

    prompt: str = ""
    """What to judge, with places such as `{input}` and `{answer}` that are filled in."""
    prompt_file: Path | None = None
    """The same, in a file."""
    scale: Scale = "binary"
    _template: Template = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if bool(self.prompt.strip()) == (self.prompt_file is not None):
            raise InputError("prompt: say what to judge, here or in a prompt_file; one of the two.")
        if self.prompt_file is not None:
            self._template = read_template_file(self.prompt_file, field="prompt_file")
        else:
            self._template = read_template(self.prompt, field="prompt")
        if not set(self._template.names) & {*OF_THE_REPLY}:
            is_path = self.prompt.strip().endswith((".md", ".txt")) and "\n" not in self.prompt.strip()
            hint = "Is it a file? Then name it under prompt_file." if is_path else "Write {answer} where it belongs."
            where = "prompt_file" if self.prompt_file else "prompt"
            raise InputError(f"{where}: nothing of the reply is in {shorten(self._template.text, 60)!r}. {hint}")

    @property
    def level(self) -> Level:
        """What it looks at."""
        return "case" if "conversation" in self._template.names else "turn"

    @property
    def fingerprint(self) -> str:
        """Changes with the model, its parameters, and every word that it is told beside the data."""
        return to_json([self.identity(self._template), self.scale], sort_keys=True).decode()

    async def score(self, case: Case, reply: Reply) -> Score:
        """The model's verdict on one reply."""
        return await self.score_case(case, (reply,))

    async def score_case(self, case: Case, replies: Sequence[Reply]) -> Score:
        """The model's verdict on the last reply, or on the conversation that it ends."""
        question = self._question(case, replies)
        missing = _missing(question)
        if missing:
            return Score(name="judge", value=None, reason=f"The case has no {missing[0]}, which the prompt names.")
        elect: Elect[JudgeVerdict] = middle if self.scale == "score" else majority
        given = await self.ask(question, partial(_read, self.scale), elect=elect)
        shown = replies if self.level == "case" else replies[-1:]
        return Score(
            name="judge",
            value=given.verdict.value,
            reason=given.verdict.reason,
            source="judge",
            evidence={**given.evidence, **suspicion(shown)},
        )

    def characters(self, case: Case, replies: Sequence[Reply]) -> list[int]:
        """How much text a model would be told in each call for this score; empty: it would not be asked."""
        return self.characters_of(self.questions(case, replies))

    def questions(self, case: Case, replies: Sequence[Reply]) -> list[Question]:
        """The one question; none when the case lacks what the prompt names."""
        question = self._question(case, replies)
        return [] if _missing(question) else [question]

    def _question(self, case: Case, replies: Sequence[Reply]) -> Question:
        values = values_of(case, replies, self._template.names)
        return Question(self._template, values, verdict_schema(self.scale), FORMS[self.scale])


def _missing(question: Question) -> list[str]:
    """What the prompt names and the case does not have."""
    return [name for name, value in question.values.items() if not value and name not in MAY_BE_EMPTY]


def _read(scale: Scale, answer: Completion) -> JudgeVerdict:
    return read_verdict(answer.text, scale, finish_reason=answer.finish_reason)
