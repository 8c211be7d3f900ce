"""JSON rows are read strictly, and the quick way for plain rows gives what the careful one gives."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_eval.datasets.problems import Mistake
from cortex_eval.datasets.strict_json import decode, decode_from

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.just('":')
ROWS = st.dictionaries(st.text() | st.just('a":b'), SCALARS | st.lists(SCALARS, max_size=3), max_size=5)


def told(read, *given):
    """What is read, with the kinds of its values, or what is said of it."""
    try:
        value = read(*given)
    except Mistake as mistake:
        return mistake.message
    value = value[0] if isinstance(value, tuple) else value
    return [(key, type(each), each) for key, each in value.items()]


@given(row=ROWS, spaces=st.booleans(), as_ascii=st.booleans())
def test_a_row_is_the_same_read_quickly_or_carefully(row, spaces, as_ascii):
    text = json.dumps(row, separators=None if spaces else (",", ":"), ensure_ascii=as_ascii)

    assert told(decode, text) == told(decode_from, text, 0)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"a":1,"a":2}', "'a' is there twice"),
        ('{"a": "x", "b": 1, "a": "x"}', "'a' is there twice"),
        ('{"a":18446744073709551616}', "more than 64 bits"),
        ('{"a":-9223372036854775809}', "more than 64 bits"),
        ('{"a":1e400}', "Infinity"),
        ('{"a":NaN}', "NaN"),
    ],
)
def test_what_json_does_not_hold_is_told_of_plain_rows_too(text, says):
    with pytest.raises(Mistake, match=says):
        decode(text)


def test_the_largest_whole_numbers_are_read_exactly():
    assert decode('{"a":18446744073709551615,"b":-9223372036854775808}') == {"a": 2**64 - 1, "b": -(2**63)}
