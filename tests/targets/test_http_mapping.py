"""Describing a service in the project file: mistakes are told at once, and paths lead where they say."""

from __future__ import annotations

import pytest

from cortex_eval.core import Case, InputError, TargetError, Turn
from cortex_eval.targets import Conversation, targets
from cortex_eval.targets.mapping import Path, compile_paths, read_plain_reply, read_reply, remarks_on
from cortex_eval.targets.replies import reply_from_returned

MISTAKES: list[tuple[dict[str, object], str]] = [
    ({"body": {"q": "{question}"}}, "no placeholder {question}"),
    ({"body": ["{inputs}"]}, "Did you mean 'input'"),
    ({"reply": {"intent": "$.intent"}}, "say where the text is"),
    ({"reply": {"text": "answer"}}, "is not a path"),
    ({"reply": {"text": "$.a[x]"}}, "is not a path"),
    ({"reply": {"text": "$.a", "txt": "$.b"}}, "Did you mean 'text'"),
    ({"reply": {"text": "$.a / 2"}}, "can be divided"),
    ({"reply": {"text": "$.a", "confidence": "$.b / 0"}}, "by more than 0"),
    ({"headers": {"X": "two\nlines"}}, "headers.X"),
    ({"headers": {"Bad Name": "x"}}, "headers.Bad Name"),
    ({"method": "DELETE"}, "method"),
]


@pytest.mark.parametrize(("given_settings", "told"), MISTAKES)
def test_mistakes_in_a_mapping_are_told_before_anything_runs(given_settings, told):
    with pytest.raises(InputError) as caught:
        targets.build("http", {"api_url": "http://host/", **given_settings})

    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$", {"a": [{"b": "x"}, {"c": "y"}], "s": "text", "d e": {"*": 1}}),
        ("$.s", "text"),
        ("$.a[0].b", "x"),
        ("$.a[*].b", ["x"]),
        ("$['d e']['*']", 1),
    ],
)
def test_paths_lead_to_what_they_name(path, found):
    body = {"a": [{"b": "x"}, {"c": "y"}], "s": "text", "d e": {"*": 1}}
    assert Path(path, field="f").find(body) == found


@pytest.mark.parametrize("path", ["$.x", "$.s[0]", "$.s.t", "$.a[2]", "$.a.b", "$.s[*]", "$[0]"])
def test_paths_that_lead_nowhere_say_so(path):
    with pytest.raises(KeyError):
        Path(path, field="f").find({"a": [{"b": "x"}, {"c": "y"}], "s": "text"})


BUBBLES = {
    "out": [["a", "A lost book must be paid for."], ["b", "Ask at the desk."]],
    "said": [{"type": "t", "body": "Hello."}, {"type": "t", "body": "How are you?"}],
    "texts": ["One.", "Two."],
    "guess": {"pct": 93, "share": 0.93},
}


def read(**reply: str):
    return read_reply(BUBBLES, compile_paths(reply, field="reply"), where="http://desk/ask")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("$.out[*][1]", "A lost book must be paid for.\nAsk at the desk."),
        ("$.said[*].body", "Hello.\nHow are you?"),
        ("$.texts[*]", "One.\nTwo."),
    ],
)
def test_texts_that_a_wildcard_leads_to_are_joined_by_newlines(path, text):
    assert read(text=path).text == text


@pytest.mark.parametrize(
    ("field", "path", "told"),
    [
        ("text", "$.out", "at one of it ($.out[0][1]), or at the texts in it ($.out[*][1]), which are then joined"),
        ("text", "$.out[*]", "Point reply.text at the texts in it ($.out[*][1]), which are then joined by newlines"),
        ("text", "$.said", "at one of it ($.said[0].body), or at the texts in it ($.said[*].body)"),
        ("text", "$.guess", "Point reply.text of the project file at another field."),
        ("intent", "$.texts", "Point reply.intent at one of it, such as $.texts[0]."),
        ("intent", "$.guess", "Point reply.intent of the project file at another field, or leave it out."),
        ("confidence", "$.texts[0]", "reply.confidence must be a number, and $.texts[0] is a text"),
    ],
)
def test_a_value_of_the_wrong_type_names_the_field_the_path_and_a_remedy(field, path, told):
    with pytest.raises(TargetError) as caught:
        read(**{"text": "$.texts[0]", field: path})

    assert caught.value.kind == "wrong_type"
    assert f"reply.{field} must be" in str(caught.value)
    assert f"{path} is" in str(caught.value)
    assert told in str(caught.value)


def test_a_confidence_out_of_range_is_an_error_that_says_how_to_divide_it():
    with pytest.raises(TargetError, match=r'93.*write reply: \{confidence: "\$\.guess\.pct / 100"\}') as caught:
        read(text="$.texts[0]", confidence="$.guess.pct")

    assert caught.value.kind == "wrong_type"
    assert read(text="$.texts[0]", confidence="$.guess.pct / 100").confidence == pytest.approx(0.93)
    assert read(text="$.texts[0]", confidence="$.guess.share").confidence == 0.93


@pytest.mark.parametrize("wrong", [-0.1, 1.01, 93])
def test_no_service_states_a_confidence_that_is_none(wrong):
    with pytest.raises(TargetError, match="from 0 to 1"):
        read_plain_reply({"text": "Yes.", "confidence": wrong}, where="http://desk/ask")
    with pytest.raises(TargetError, match="from 0 to 1"):
        reply_from_returned({"text": "Yes.", "confidence": wrong}, whose="bot.answer")


ANSWER = {"answer": "Hello.", "sources": ["a.pdf"], "nlu": {"intent": "greet"}, "list": [{"text": "x"}], "none": []}


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("$.sorces", "$ has ['answer', 'list', 'nlu', 'none', 'sources']. Did you mean $.sources?"),
        ("$.sorces[*].text", "$ has ['answer', 'list', 'nlu', 'none', 'sources']. Did you mean $.sources[*].text?"),
        ("$.zzzz", "$ has ['answer', 'list', 'nlu', 'none', 'sources']."),
        ("$.sources[*].text", "$.sources[*] is a text, with nothing in it. Write $.sources[*]"),
        ("$.list.text", "$.list is a list. Write $.list[*].text"),
        ("$.list[*].txt", "$.list[*] has ['text']. Did you mean $.list[*].text?"),
        ("$.sources[3]", "$.sources has 1 in it, counted from 0."),
        ("$.nlu[*]", "$.nlu is no list, but has ['intent']."),
        ("$.answer[0]", "$.answer is a text, with nothing in it. Write $.answer"),
    ],
)
def test_a_path_at_which_no_reply_had_anything_is_told_with_what_is_there(path, why):
    paths = compile_paths({"text": "$.answer", "contexts": path}, field="reply")

    for _ in range(5):
        assert not remarks_on(paths, paths)  # a few may be without
        read_reply(ANSWER, paths, where="bot")

    assert remarks_on(paths, paths) == [f"reply.contexts: no reply had anything at {path}: {why}"]
    assert not remarks_on(paths, {"text": "$.answer"})  # nobody wrote it


@pytest.mark.parametrize("path", ["$.none", "$.none[*].text", "$.none[0]", "$.sources[*]", "$.list[*].text"])
def test_a_path_to_an_empty_list_or_to_something_is_not_told(path):
    paths = compile_paths({"text": "$.answer", "contexts": path}, field="reply")

    for _ in range(9):
        read_reply(ANSWER, paths, where="bot")

    assert not remarks_on(paths, paths)


def test_a_path_that_found_something_once_is_not_told():
    paths = compile_paths({"text": "$.answer", "intent": "$.nlu.intent"}, field="reply")

    for answer in [{"answer": "No."}] * 4 + [ANSWER] + [{"answer": "No."}] * 9:
        read_reply(answer, paths, where="bot")

    assert not remarks_on(paths, paths)


@pytest.mark.parametrize("kind", ["http", "agent", "translation"])
async def test_a_target_tells_of_paths_that_somebody_wrote_and_of_no_others(kind, scripted_service):
    bot = scripted_service({"answer": "Hello."})
    settings = {"api_url": bot.url, "reply": {"text": "$.answer", "intent": "$.itent"}}
    languages = {"target_language": "hi"} if kind == "translation" else {}
    target = targets.build(kind, settings | languages)

    async with target:
        for _ in range(5):
            await target.ask(Conversation.at(Case(id="c", turns=(Turn(text="Hi"),)), 0, [], session_id="s"))

    assert target.remarks() == ["reply.intent: no reply had anything at $.itent: $ has ['answer']."]


async def test_a_rag_service_tells_of_parts_of_a_passage_that_none_had(scripted_service):
    bot = scripted_service({"answer": "Hello.", "hits": [{"chunk": {"body": "It is open."}}]})
    settings = {"reply": {"contexts": "$.hits"}, "passage": {"text": "$.chunk.boddy"}}
    target = targets.build("rag", {"api_url": bot.url, **settings})

    async with target:
        for _ in range(5):
            await target.ask(Conversation.at(Case(id="c", turns=(Turn(text="Hi"),)), 0, [], session_id="s"))

    why = "$.chunk has ['body']. Did you mean $.chunk.body?"
    assert target.remarks() == [f"passage.text: no reply had anything at $.chunk.boddy: {why}"]
