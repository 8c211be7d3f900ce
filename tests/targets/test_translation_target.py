"""Translation services over HTTP: which languages are asked for, and where the translation is found."""

from __future__ import annotations

from typing import Any

import pytest

from cortex_eval.core import Case, InputError, Reply, TargetError, Turn
from cortex_eval.net import Guard, Limits
from cortex_eval.targets import Conversation, targets
from cortex_eval.targets.translation import Languages, languages_of
from cortex_eval.testing import Answer


def case(**fields: Any) -> Case:
    return Case(id="c1", turns=(Turn(text="Take one tablet."),), **fields)


TO_HINDI = case(metadata={"source_language": "en", "target_language": "hi"}, language="hi")


async def ask(url: str, asked: Case = TO_HINDI, **given: Any) -> Reply:
    async with targets.build("translation", {"api_url": url, **given}) as target:
        target.connect_by(Guard(), Limits(idle_s=0.3))
        return await target.ask(Conversation.at(asked, 0, [], session_id="session-1"))


async def failure(url: str, asked: Case = TO_HINDI, **given: Any) -> TargetError:
    with pytest.raises(TargetError) as caught:
        await ask(url, asked, **given)
    return caught.value


async def test_text_and_languages_are_sent_and_the_translation_is_read(scripted_service):
    bot = scripted_service({"translation": "एक गोली लें।", "metadata": {"engine": "table"}, "own": 1})

    reply = await ask(bot.url)

    assert bot.ledger[0].json == {"text": "Take one tablet.", "source_language": "en", "target_language": "hi"}
    assert reply.text == "एक गोली लें।"
    assert reply.metadata == {"engine": "table", "source_language": "en", "target_language": "hi"}
    assert reply.raw["own"] == 1


@pytest.mark.parametrize(
    "answer",
    [
        {"translation": "हाँ।"},
        {"translated_text": "हाँ।"},
        {"translatedText": "हाँ।"},
        {"translations": [{"detected_source_language": "EN", "text": "हाँ।"}]},
        {"data": {"translations": [{"translatedText": "हाँ।"}]}},
        [{"translations": [{"text": "हाँ।", "to": "hi"}]}],
        {"text": "हाँ।"},
        {"text": "Yes.", "translation": "हाँ।"},
    ],
)
async def test_the_usual_shapes_of_answers_are_read_without_a_mapping(scripted_service, answer):
    assert (await ask(scripted_service(answer).url)).text == "हाँ।"


async def test_a_service_of_another_shape_and_with_other_codes_is_described(scripted_service):
    bot = scripted_service({"outputs": [{"hyp": "हाँ।"}], "engine": {"name": "nmt-2"}})

    reply = await ask(
        bot.url,
        body={"inputs": ["{input}"], "from": "{source_language}", "to": "{target_language}"},
        codes={"hi": "hin_Deva", "en": "eng_Latn"},
        reply={"text": "$.outputs[0].hyp", "model": "$.engine.name"},
    )

    assert bot.ledger[0].json == {"inputs": ["Take one tablet."], "from": "eng_Latn", "to": "hin_Deva"}
    assert (reply.text, reply.model) == ("हाँ।", "nmt-2")
    assert reply.metadata["target_language"] == "hi"


@pytest.mark.parametrize(
    ("asked", "settings", "expected"),
    [
        (case(metadata={"source_language": "en", "target_language": "hi"}), {}, Languages("en", "hi")),
        (case(metadata={"source_lang": "en", "tgt_lang": "hi"}), {}, Languages("en", "hi")),
        (case(context={"target_language": "hi"}, language="en"), {}, Languages("en", "hi")),
        (case(metadata={"target_language": "es"}), {"target": "hi", "source": "en"}, Languages("en", "es")),
        (case(language="en"), {"target": "hi"}, Languages("en", "hi")),
        (case(language="hi"), {"source": "en"}, Languages("en", "hi")),
        (case(language="hi"), {"target": "hi"}, Languages("", "hi")),
        (case(), {"target": "hi"}, Languages("", "hi")),
    ],
)
def test_the_languages_are_those_of_the_case_or_else_of_the_service(asked, settings, expected):
    assert languages_of(asked, **settings) == expected


@pytest.mark.parametrize("asked", [case(), case(language="en"), case(metadata={"target_language": " "})])
async def test_a_case_without_a_language_to_translate_into_is_an_error_and_nothing_is_asked(scripted_service, asked):
    bot = scripted_service({"translation": "हाँ।"})

    error = await failure(bot.url, asked)

    assert error.kind == "no_language"
    assert "target_language" in str(error)
    assert bot.ledger == []


@pytest.mark.parametrize("body", [b'{"score": 1}', b"{}", b"[]", b'"x"', b"null"])
async def test_an_answer_without_a_translation_is_a_target_error(scripted_service, body):
    error = await failure(scripted_service(Answer(body=body)).url)

    assert error.kind == "missing_field"
    assert "gave no translation" in str(error)


@pytest.mark.parametrize("wrong", [None, 3, ["हाँ।"], {"hi": "हाँ।"}])
async def test_a_translation_that_is_no_text_is_a_target_error(scripted_service, wrong):
    assert (await failure(scripted_service({"translation": wrong}).url)).kind == "wrong_type"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"body": {"q": "{target_langauge}"}}, "Did you mean 'target_language'"),
        ({"reply": {"txt": "$.a"}}, "Did you mean 'text'"),
        ({"api_url": "translate.example.org"}, "must begin with http"),
    ],
)
def test_settings_that_cannot_work_are_told_before_anything_is_asked(settings, message):
    with pytest.raises(InputError, match=message):
        targets.build("translation", {"api_url": "http://127.0.0.1:9/", **settings})
