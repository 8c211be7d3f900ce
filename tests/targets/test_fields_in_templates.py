"""One field of a case in a prompt or a body: filled in, or told."""

from __future__ import annotations

import pytest

from cortex_eval import Case, InputError, TargetError, evaluate
from cortex_eval.targets import Conversation, targets
from cortex_eval.testing import asked_text, speak_openai

CASE = Case.of(
    "Ibuprofen?", context={"age": 7, "patient": {"name": "Ann"}}, metadata={"clinic": "North", "a.b": 1, "Room No": 3}
)
AT = Conversation.at(CASE, 0, [], session_id="s")


async def test_fields_of_context_and_metadata_are_filled_in(scripted_service):
    service = scripted_service({"text": "Yes."})
    body = {
        "age": "{context.age}",
        "text": "{input} for {context.patient.name}, {context.age}, at {metadata.clinic}",
        "dotted": "{metadata.a.b}",
        "blank": "{metadata.Room No}",
        "all": "{metadata}",
    }
    async with targets.build("http", {"api_url": service.url, "body": body}) as target:
        await target.ask(AT)

    assert service.ledger[0].json == {
        "age": 7,
        "text": "Ibuprofen? for Ann, 7, at North",
        "dotted": 1,
        "blank": 3,
        "all": {"clinic": "North", "a.b": 1, "Room No": 3},
    }


async def test_a_prompt_of_a_model_takes_them_too(scripted_service):
    service = scripted_service(speak_openai("Yes."))
    settings = {"model": "m", "base_url": service.url, "prompt": "For a child of {context.age}: {input}"}
    async with targets.build("chat", settings) as target:
        await target.ask(AT)

    assert asked_text(service.ledger[0]) == "For a child of 7: Ibuprofen?"


def test_a_case_without_the_field_is_in_error_and_the_others_are_asked(scripted_service):
    service = scripted_service({"text": "Yes."})
    target = targets.build("http", {"api_url": service.url, "body": {"q": "{input} {context.age}"}})
    rows = [{"id": "1", "input": "A?", "context": {"age": 7}}, {"id": "2", "input": "B?", "context": {"sex": "f"}}]

    first, second = evaluate(rows, target, ["language"], store=None).results

    assert (first.error, second.state, second.error.kind) == (None, "error_target", "bad_request")
    assert second.error.message == ("The request needs {context.age}, and the case has no 'age' there. It has: 'sex'.")
    assert [call.json for call in service.ledger] == [{"q": "A? 7"}]


async def test_a_case_that_cannot_be_sent_costs_no_estimate(scripted_service):
    target = targets.build("chat", {"model": "m", "base_url": "http://127.0.0.1:9", "prompt": "{metadata.age} {input}"})

    assert target.characters(AT) == 0
    with pytest.raises(TargetError, match=r"\{metadata\.age\}"):
        await target.ask(AT)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("{passages.first}", "body: {passages} has no fields; only {context.…} and {metadata.…} have."),
        ("{contxt.age}", "body: there is no placeholder {contxt.age}. Did you mean 'context'?"),
    ],
)
def test_fields_of_anything_else_are_refused_at_the_door(body, told):
    with pytest.raises(InputError) as error:
        targets.build("http", {"api_url": "http://127.0.0.1:9", "body": {"q": body}})

    assert str(error.value) == told


def test_text_of_a_case_is_never_expanded(scripted_service):
    service = scripted_service({"text": "Yes."})
    target = targets.build("http", {"api_url": service.url, "body": {"q": "{input}"}})

    evaluate([{"input": "What is {context.age}?", "context": {"age": 7}}], target, ["language"], store=None)

    assert service.ledger[0].json == {"q": "What is {context.age}?"}
