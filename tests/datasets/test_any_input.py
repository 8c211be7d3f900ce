"""Whatever a file holds, it is read or told: no other error ever comes out."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_eval.core import InputError, to_json
from cortex_eval.datasets import cases_from, dataset_version, validate_file
from cortex_eval.datasets.names import CANONICAL
from laws import tried

pieces = st.sampled_from(
    [
        '"',
        ",",
        "\n",
        "\r",
        "\r\n",
        "[",
        "]",
        "{",
        "}",
        ":",
        " ",
        "- ",
        "&a",
        "*a",
        "!!x",
        "input",
        "id",
        "turns",
        "<<",
        "\\u0000",
        "NaN",
        "1e999",
        "\ufeff",
        "\0",
        "क",
        "'=",
        "|",
        ">",
        "#",
        "%",
        "---\n",
        "...",
        "?",
        "@",
    ]
)
scribbles = st.lists(pieces, max_size=30).map("".join)
words = st.sampled_from(
    [
        "input",
        "text",
        "role",
        "user",
        "content",
        "name",
        "slot",
        "value",
        "criterion",
        "points",
        "speaker",
        "utterance",
        "",
        " ",
        "1",
        "x",
        "Vata",
    ]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | words,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(words | st.sampled_from(sorted(CANONICAL)), inner, max_size=3)
    ),
    max_leaves=6,
)
rows = st.dictionaries(st.sampled_from([*CANONICAL, "expert_1", "expert_2", "note", "tokens"]), values, max_size=5)


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "json", "yaml", "parquet"])
@tried(150)
@given(
    content=st.binary(max_size=60)
    | scribbles.map(str.encode)
    | scribbles.map(lambda text: ("input,id\n" + text).encode())
)
def test_any_bytes_are_read_or_told(tmp_path, ending, content):
    path = tmp_path / f"a.{ending}"
    path.write_bytes(content)

    found = validate_file(path)

    assert found.ok == (not found.problems)
    json.dumps(found.to_json())


@tried(150)
@given(st.lists(rows, max_size=3))
def test_any_rows_are_read_or_told_and_the_stored_form_is_that_of_the_case(given_rows):
    reader = cases_from(given_rows)
    try:
        read = list(reader.rows())
    except InputError:
        return
    cases = [row.case for row in read]
    for row, case in zip(read, cases, strict=True):
        assert json.loads(row.json) == json.loads(to_json(case))
        assert all(turn.text.strip() for turn in case.turns)
    assert reader.version == dataset_version(cases)


@tried(150)
@given(row=rows)
def test_a_row_in_a_file_is_the_same_as_in_python(tmp_path, row):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(row))

    try:
        expected = list(cases_from([row]))
    except InputError:
        assert not validate_file(path).ok
    else:
        assert validate_file(path).version == dataset_version(expected)
