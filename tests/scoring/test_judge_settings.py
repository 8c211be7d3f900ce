"""What is told of a judge's settings before anything is asked, what its fingerprint knows, and other judges' door."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from clinic_judge import CASE, PROMPT, REPLY, at_work, judge_at, score_with, sequence_of, told

from cortex_eval.core import Case, InputError, JudgeError, Reply, Score, Secret
from cortex_eval.llm import Completion, ModelSettings
from cortex_eval.scoring import JudgeModel, plan_scorer, run_scorer, scorers
from cortex_eval.scoring.judge import Judge
from cortex_eval.scoring.judging import ModelScorer, Question
from cortex_eval.scoring.prompt import Template
from cortex_eval.scoring.verdict import read_object

# The door for other judges


@dataclass(kw_only=True)
class Claims(ModelScorer):
    """Share of the claims that are true, by a form of its own."""

    async def score(self, case: Case, reply: Reply) -> Score:
        question = Question(Template("Which claims are true? {answer}"), {"answer": reply.text}, {}, '{"claims": […]}')
        given = await self.ask(question, self._read)
        return Score(name="claims", value=given.verdict, source="judge", evidence=given.evidence)

    def _read(self, said: Completion) -> float:
        claims = read_object(said.text, finish_reason=said.finish_reason).get("claims")
        if not isinstance(claims, list) or not claims:
            raise JudgeError("There are no claims.", kind="wrong_type")
        return sum(claims) / len(claims)


async def test_another_judge_needs_only_its_question_and_how_to_read_the_answer(model, store):
    model.reply = sequence_of("Let me see.", '{"claims": []}', '{"claims": [true, true, false, true]}')
    judge = Claims(attempts=3)
    judge.use_model(judge_at(model).chosen())

    for is_cached in (False, True):
        async with at_work(judge, cache=store.cache) as [planned]:
            score = await run_scorer(planned, CASE, REPLY)
        await store.flush()
        assert (score.value, score.evidence["attempts"], score.evidence["cached"]) == (0.75, 3, is_cached)

    assert len(model.ledger) == 3


# What is told before anything is asked


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "prompt: say what to judge"),
        ({"prompt": "Rate {answer} at {context.age}."}, r"prompt: a judge's prompt cannot name \{context\.age\}"),
        ({"prompt": "Rate {anwser}."}, r"prompt: there is no placeholder \{anwser\}. Did you mean 'answer'\?"),
        ({"prompt": "Is {input} a question?"}, r"nothing of the reply is in .* Write \{answer\}"),
        ({"prompt": "prompts/tone.md"}, "Is it a file"),
        ({"prompt": "{answer}", "scale": "stars"}, "judge.scale: must be 'binary' or 'score'"),
        ({"prompt": "{answer}", "attempts": 0}, "judge.attempts: must be a whole number from 1 to 10"),
        ({"prompt": "{answer}", "prompt_file": "x.md"}, "prompt: say what to judge"),
        ({"prompt_file": "not-there.md"}, "prompt_file: .*not-there.md cannot be read"),
    ],
)
def test_a_wrong_setting_is_told_with_what_to_do(settings, message):
    with pytest.raises(InputError, match=message):
        scorers.build("judge", settings)


def test_a_judge_whose_model_nobody_named_is_told_so():
    with pytest.raises(InputError, match="model: there is no 'judge' under models:"):
        plan_scorer("judge", settings={"prompt": PROMPT})


def test_json_in_a_prompt_is_no_placeholder():
    Judge(prompt='Answer {"like": "this"} or { } about {answer}.')


async def test_a_prompt_may_be_a_file_with_a_version(model, tmp_path):
    path = tmp_path / "tone.md"
    path.write_text("version: tone-3\n---\nIs it polite?\n{answer}\n", encoding="utf-8")

    score = await score_with(judge_at(model, prompt="", prompt_file=path))

    assert score.evidence["prompt"]["version"] == "judge/1 tone-3"
    user = told(model.ledger[0])[1]
    assert user.startswith("Is it polite?")
    assert "tone-3" not in user


async def test_the_fingerprint_knows_model_parameters_and_every_word_of_the_prompt(model, tmp_path):
    path = tmp_path / "tone.md"

    def fingerprint(text: str = "Polite? {answer}", name: str = "m1", key: str = "key-1", **settings) -> str:
        path.write_text(text, encoding="utf-8")
        judge = Judge(prompt_file=path, **settings)
        chosen = ModelSettings(model=name, base_url=model.url, api_key=Secret(key))
        judge.use_model(JudgeModel(name="judge", settings=chosen))
        return plan_scorer(judge).fingerprint

    others = [
        fingerprint("Rude? {answer}"),
        fingerprint(name="m2"),
        fingerprint(temperature=1.0),
        fingerprint(max_tokens=99),
        fingerprint(scale="score"),
    ]

    assert len({fingerprint(), *others}) == 6
    assert fingerprint() == fingerprint(key="key-2")
