"""What is written as JSON reads back equal, and only what is not at its default is written."""

from __future__ import annotations

import copy
import pickle
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct, field, json

from cortex_eval.core import (
    Attachment,
    Case,
    CaseCheck,
    Criterion,
    Expected,
    Money,
    Reply,
    Result,
    Score,
    Secret,
    Span,
    ToolCall,
    Turn,
    Usage,
    case_from_json,
    case_from_mapping,
    changed,
    codec,
    expected_from_mapping,
    read_back,
    reply_from_json,
    reply_to_json,
    score_from_mapping,
    to_json,
    usage_from_mapping,
)

if TYPE_CHECKING:
    from fractions import Fraction


class Bill(Struct):
    amount: Fraction | None = None
    lines: list[str] = field(default_factory=list)
    count: int = 0


class Due(Struct, kw_only=True):
    amount: Fraction | None
    count: int = 0


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
maybe_text = st.none() | texts
numbers = st.floats(allow_nan=False, allow_infinity=False) | st.none()
counts = st.integers(0, 2**53)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
mappings = st.dictionaries(texts, json_values, max_size=3)


def tuples_of(item, most=3):
    return st.lists(item, max_size=most).map(tuple)


tool_calls = st.builds(ToolCall, name=texts, arguments=st.none() | mappings)
attachments = st.builds(Attachment, sha256=texts, media_type=texts, size=counts, name=texts)
expectations = st.builds(
    Expected,
    answer=maybe_text,
    answers=tuples_of(texts),
    intent=maybe_text,
    entities=st.none() | mappings,
    tool=maybe_text,
    tools=tuples_of(tool_calls),
    label=maybe_text,
    checklist=tuples_of(texts),
    rubric=tuples_of(st.builds(Criterion, criterion=texts, points=st.floats(-9, 9), tags=tuples_of(texts))),
    checks=tuples_of(st.builds(CaseCheck, type=texts, value=json_values, threshold=numbers, weight=st.floats(0, 9))),
)
turns = st.builds(
    Turn,
    text=texts,
    role=st.sampled_from(["system", "user", "assistant", "tool"]),
    expected=expectations,
    requires_context=st.booleans(),
    attachments=tuples_of(attachments, 2),
)
cases = st.builds(
    Case,
    id=texts,
    turns=st.lists(turns, min_size=1, max_size=3).map(tuple),
    history=tuples_of(turns, 2),
    context=mappings,
    passages=tuples_of(texts),
    category=maybe_text,
    tier=st.none() | st.integers(1, 5),
    language=maybe_text,
    tags=tuples_of(texts),
    parallel_of=maybe_text,
    cluster_id=maybe_text,
    split=maybe_text,
    source=maybe_text,
    experts=tuples_of(maybe_text),
    is_disputed=st.booleans(),
    description=texts,
    metadata=mappings,
)
money = st.builds(Money, amount=st.decimals(allow_nan=False, allow_infinity=False), currency=texts, price_table=texts)
usages = st.builds(
    Usage,
    input_tokens=counts,
    cached_tokens=counts,
    output_tokens=counts,
    reasoning_tokens=counts,
    cost=st.none() | money,
)
replies = st.builds(
    Reply,
    text=texts,
    intent=maybe_text,
    entities=st.none() | mappings,
    tool=maybe_text,
    arguments=st.none() | mappings,
    tool_calls=tuples_of(tool_calls),
    label=maybe_text,
    confidence=numbers,
    llm_invoked=st.none() | st.booleans(),
    contexts=tuples_of(texts),
    citations=tuples_of(texts),
    total_time_ms=numbers,
    first_token_ms=numbers,
    attempts=st.integers(1, 9),
    finish_reason=maybe_text,
    model=maybe_text,
    usage=st.none() | usages,
    attachments=tuples_of(attachments, 2),
    spans=tuples_of(st.builds(Span, name=texts, start_ms=st.floats(0, 9), duration_ms=st.floats(0, 9)), 2),
    cached=st.booleans(),
    metadata=mappings,
    raw=json_values,
)


@given(case=cases)
def test_a_case_reads_back_equal(case):
    assert case_from_json(to_json(case)) == case


@given(reply=replies)
def test_a_reply_reads_back_equal(reply):
    assert reply_from_json(to_json(reply)) == reply


@given(reply=replies)
def test_a_stored_reply_and_its_payload_are_the_whole_reply(reply):
    body, raw = reply_to_json(reply)

    assert (orjson.loads(raw) if raw is not None else None) == reply.raw
    assert reply_from_json(body) == changed(reply, raw=None)


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=3)
    | st.binary(max_size=2)
    | st.decimals()
    | st.builds(object),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.tuples(inner)
        | st.dictionaries(st.text(max_size=2) | st.integers(), inner, max_size=2)
        | st.builds(Usage, input_tokens=inner, cost=inner)
        | st.builds(Money, amount=inner)
        | st.builds(ToolCall, name=inner, arguments=inner)
        | st.builds(Turn, text=inner, expected=inner)
    ),
    max_leaves=4,
)
"""What Python code may put into a field, whatever its type says."""


@given(kind=st.sampled_from([Case, Reply]), data=st.data())
def test_a_value_with_anything_in_it_is_refused_or_reads_back_for_good(kind, data):
    given = {"id": "a", "turns": (Turn(text="Hello?"),)} if kind is Case else {}
    fields = data.draw(st.dictionaries(st.sampled_from(kind.__struct_fields__), anything, max_size=3))
    value = kind(**{**given, **fields})

    try:
        kept, size = read_back(kind, value)
    except (TypeError, ValueError):
        return

    assert size == len(to_json(value))
    assert read_back(kind, kept)[0] == kept or "nan" in repr(kept).casefold()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (Case.of("Why?", 5, id="a"), "turns[0].expected.answer: Expected `str | null`, got `int`"),  # type: ignore[arg-type]  # that is the point
        (Reply(contexts="all"), "contexts: Expected `array`, got `str`"),  # type: ignore[arg-type]  # as above
    ],
)
def test_what_does_not_belong_into_a_field_is_told_with_its_place(value, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        read_back(type(value), value)


def test_a_stored_reply_with_fields_that_cannot_be_read_is_the_reply_without_them():
    stored = b'{"text":"Hi.","intent":7,"usage":{"cost":{"amount":"0.0***"}},"model":"m","of_a_later_version":1}'

    assert reply_from_json(stored) == Reply(text="Hi.", model="m")


@given(expected=expectations)
def test_an_expectation_reads_back_equal(expected):
    assert expected_from_mapping(orjson.loads(to_json(expected))) == expected


@given(value=st.none() | st.floats(0, 1), reason=texts, evidence=json_values, passed=st.none() | st.booleans())
def test_a_score_reads_back_equal(value, reason, evidence, passed):
    score = Score(name="exact", value=value, reason=reason, evidence=evidence, passed=passed)

    assert score_from_mapping("exact", orjson.loads(to_json(score))) == score


def test_only_what_is_not_at_its_default_is_written():
    assert to_json(Case.of("Hello?", id="a")) == b'{"id":"a","turns":[{"text":"Hello?"}]}'
    assert to_json(Reply(text="Hi.")) == b'{"text":"Hi."}'


def test_money_is_written_exactly():
    usage = Usage(cost=Money(amount=Decimal("0.1000000000000000055511151231257827")))

    assert reply_from_json(to_json(Reply(usage=usage))).usage == usage


def test_a_secret_is_written_masked_and_a_path_as_text():
    assert to_json({"key": Secret("open sesame"), "file": Path("a/b")}) == b'{"key":"***","file":"a/b"}'


def test_what_is_no_value_of_ours_cannot_be_written():
    with pytest.raises(TypeError, match="not JSON serializable: object"):
        to_json({"what": object()})


def test_a_result_gives_its_case_at_its_turn_and_its_reply_and_scores():
    case = Case(id="a", turns=(Turn(text="one"), Turn(text="two")))
    result = Result(
        run_id="r", case_id="a", ordinal=0, repeat=0, turn=1, attempt=0, state="passed", overall=1.0, passed=True,
        attempts=1, latency_ms=1.0, cached=False, timestamp="", error=None, scores_json=b'{"exact":{"value":1.0}}',
        reply_json=to_json(Reply(text="Yes.")), case_json=to_json(case),
    )  # fmt: skip

    assert (result.case.input, result.reply, result.scores) == ("two", Reply(text="Yes."), {"exact": {"value": 1.0}})
    assert result.key == ("r", "a", 0, 1, 0)


@pytest.mark.parametrize(
    ("value", "fields"),
    [
        (Reply(text="Hello", attempts=2, metadata={"a": 1}), {"total_time_ms": 1.5, "waited_ms": None}),
        (Case.of("Where?", "Here", id="1"), {"category": "places"}),
        (Score(name="exact", value=1.0), {}),
    ],
)
def test_a_changed_value_differs_in_these_fields_alone(value, fields) -> None:
    made = changed(value, **fields)

    held = {name: getattr(value, name) for name in type(value).__struct_fields__}
    assert made == type(value)(**{**held, **fields})
    assert made is not value
    assert type(made) is type(value)


def test_a_field_that_is_not_there_cannot_be_changed() -> None:
    with pytest.raises(TypeError, match="colour"):
        changed(Reply(), colour="red")


@pytest.mark.parametrize("value", [Reply(text="Hello"), Case.of("Where?", "Here", id="1"), Score(name="a", value=1.0)])
def test_a_value_stays_as_it_is(value) -> None:
    with pytest.raises(AttributeError):
        setattr(value, type(value).__struct_fields__[0], "other")


@given(case=cases, reply=replies)
def test_a_value_that_was_copied_or_went_to_another_process_is_equal(case, reply):
    for value in (case, reply):
        assert pickle.loads(pickle.dumps(value)) == copy.deepcopy(value) == copy.copy(value) == value


def test_values_share_nothing_that_can_be_changed():
    first, second = Case.of("a", id="1"), Case.of("b", id="2")

    assert first.context is not second.context
    assert Reply().metadata is not Reply().metadata


def test_a_value_cannot_be_changed_and_a_changed_one_is_another():
    reply = Reply(text="Yes.")

    with pytest.raises(AttributeError):
        reply.text = "No."  # type: ignore[misc]  # that is the point
    assert (changed(reply, text="No.").text, reply.text) == ("No.", "Yes.")
    with pytest.raises(TypeError, match="txet"):
        changed(reply, txet="No.")


def test_a_struct_of_a_plugin_may_name_types_that_only_a_type_checker_imports():
    assert to_json(Bill(count=2)) == b'{"count":2}'
    assert to_json(Bill(lines=["a"])) == b'{"lines":["a"]}'
    assert to_json(Due(amount=None)) == b'{"amount":null}'


def test_what_reads_values_is_made_by_one_thread_at_a_time(monkeypatch):
    inside: list[int] = []
    peaks: list[int] = []

    def make(kind: type) -> json.Decoder[Any]:
        inside.append(1)
        peaks.append(len(inside))
        threading.Event().wait(0.01)  # msgspec looks the types up meanwhile, in Python: others get their turn
        inside.pop()
        return json.Decoder(kind)

    monkeypatch.setattr(codec, "_made", {})
    monkeypatch.setattr(codec, "json", SimpleNamespace(Decoder=make))
    reads = [
        lambda: reply_from_json(b"{}"),
        lambda: case_from_json(b'{"id":"a","turns":[]}'),
        lambda: case_from_mapping({"id": "a", "turns": []}),
        lambda: expected_from_mapping({}),
        lambda: usage_from_mapping({}),
    ]
    with ThreadPoolExecutor(10) as pool:
        for done in [pool.submit(read) for read in reads * 2]:
            done.result()

    assert peaks == [1] * 4, "once for each of Reply, Case, Expected and Usage, and never two at once"
