"""Tool calls as models and libraries write them are read from replies, whichever box they come in."""

from __future__ import annotations

import pytest

from cortex_eval.core import TargetError, ToolCall
from cortex_eval.targets.mapping import compile_paths, read_plain_reply, read_reply
from cortex_eval.targets.replies import reply_from_mapping

BOOK = ToolCall(name="book", arguments={"day": "Monday"})
SHAPES = {
    "ours": {"name": "book", "arguments": {"day": "Monday"}},
    "OpenAI": {"id": "c1", "type": "function", "function": {"name": "book", "arguments": '{"day": "Monday"}'}},
    "OpenAI responses": {"type": "function_call", "call_id": "c1", "name": "book", "arguments": '{"day": "Monday"}'},
    "Anthropic": {"type": "tool_use", "id": "t1", "name": "book", "input": {"day": "Monday"}},
    "Gemini": {"functionCall": {"name": "book", "args": {"day": "Monday"}}},
    "LangChain": {"name": "book", "args": {"day": "Monday"}, "id": "c1", "type": "tool_call"},
    "DeepEval": {"name": "book", "input_parameters": {"day": "Monday"}},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_call_of_a_service_or_a_function_is_read_in_every_shape(shape):
    answer = {"text": "Done.", "tool_calls": [SHAPES[shape]]}

    assert read_plain_reply(answer, where="the bot").tool_calls == (BOOK,)
    assert reply_from_mapping(answer, whose="bot").tool_calls == (BOOK,)


def test_calls_can_be_pointed_at_inside_their_box():
    paths = compile_paths({"text": "$.text", "tool_calls": "$.tool_calls[*].function"}, field="reply")

    reply = read_reply({"text": "Done.", "tool_calls": [SHAPES["OpenAI"]]}, paths, where="the bot")

    assert reply.tool_calls == (BOOK,)


@pytest.mark.parametrize(
    ("sent", "arguments"),
    [('{"q": 1}', {"q": 1}), ("", {}), ("{q: 1", {"_unparsed": "{q: 1"}), (None, None), ({"q": 1}, {"q": 1})],
)
def test_arguments_that_are_json_in_a_text_are_read_and_other_text_is_kept_as_the_wrong_one_it_is(sent, arguments):
    reply = read_plain_reply({"text": "", "tool_calls": [{"name": "find", "arguments": sent}]}, where="x")

    assert reply.tool_calls == (ToolCall(name="find", arguments=arguments),)


@pytest.mark.parametrize("call", [{"id": 1}, 5, {"name": "book", "arguments": [1]}, {"name": 5}])
def test_what_is_no_call_is_an_error_that_shows_it(call):
    with pytest.raises(TargetError, match="tool_calls must be names, or objects") as told:
        read_plain_reply({"text": "", "tool_calls": [call]}, where="the bot")
    assert str(call)[:8] in str(told.value)
    with pytest.raises(TargetError, match=r"Give names, or \{name, arguments\}"):
        reply_from_mapping({"text": "", "tool_calls": [call]}, whose="bot")
