# the ids of the reliability promises keep their capitals
"""What is written reads back equal, and a file is whole or absent."""

import csv
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_eval.core import Attachment, Case, CaseCheck, Criterion, Expected, InputError, StorageError, ToolCall, Turn
from cortex_eval.datasets import dataset_version, neutralised, read_cases, restored, write_cases
from cortex_eval.datasets import parquet_rows as parquet_module
from laws import tried

ENDINGS = ["csv", "tsv", "jsonl", "json", "yaml", "parquet"]

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1).filter(str.strip)
cells = st.sampled_from(["=1+1", "'=1", "''-2", " \t=x", "\r\n", '"', ",", "a\rb", "[", "{}", "null", "'", "-", "1.0"])
names = texts | cells.filter(str.strip)
plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
mappings = st.dictionaries(texts, plain, max_size=3)
lists = st.lists(names, max_size=3).map(tuple)
expectations = st.builds(
    Expected,
    answer=st.none() | names,
    answers=lists,
    intent=st.none() | names,
    entities=st.none() | mappings,
    tool=st.none() | names,
    tools=st.lists(st.builds(ToolCall, name=texts, arguments=st.none() | mappings), max_size=2).map(tuple),
    label=st.none() | names,
    checklist=lists,
    rubric=st.lists(st.builds(Criterion, criterion=names, points=st.floats(-10, 10), tags=lists), max_size=2).map(
        tuple
    ),
    checks=st.lists(
        st.builds(
            CaseCheck,
            type=st.sampled_from(["contains", "not_contains", "starts_with", "equals"]),
            value=names,
            weight=st.floats(0, 9),
            name=st.just("") | names,
            case_sensitive=st.booleans(),
        ),
        max_size=2,
    ).map(tuple),
)
attached = st.builds(Attachment, sha256=texts, media_type=texts, size=st.integers(0, 9), name=st.just("") | texts)
turns = st.builds(
    Turn,
    text=names,
    expected=expectations,
    requires_context=st.booleans(),
    attachments=st.lists(attached, max_size=1).map(tuple),
)
said = st.builds(
    Turn,
    text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    role=st.sampled_from(["user", "assistant", "system", "tool"]),
)
some_cases = st.builds(
    Case,
    id=names,
    turns=st.lists(turns, min_size=1, max_size=3).map(tuple),
    history=st.lists(said, max_size=2).map(tuple),
    context=mappings,
    passages=lists,
    category=st.none() | names,
    tier=st.none() | st.integers(1, 5),
    language=st.none() | names,
    tags=lists,
    parallel_of=st.none() | names,
    cluster_id=st.none() | names,
    split=st.none() | names,
    source=st.none() | names,
    description=st.just("") | names,
    metadata=mappings,
)


@tried(60)
@given(cases=st.lists(some_cases, min_size=1, max_size=3, unique_by=lambda case: case.id))
def test_what_is_written_reads_back_equal(tmp_path, cases):
    for ending in ENDINGS:  # making up the cases takes longer than all six
        path = tmp_path / f"cases.{ending}"

        assert write_cases(cases, path) == len(cases), ending

        reader = read_cases(path)
        assert list(reader) == cases, ending
        assert reader.version == dataset_version(cases), ending


@given(names)
def test_no_cell_begins_like_a_formula_and_every_cell_is_restored_exactly(text):
    written = neutralised(text)

    assert not written.lstrip().startswith(("=", "+", "-", "@"))
    assert written[0] not in "\t\r"
    assert restored(written) == text


def test_D17_RV06_formulas_are_neutralised_in_csv_and_come_back(tmp_path):
    path = tmp_path / "a.csv"
    dangerous = ["=1+1", "+1", "-1", "@x", "\t=1", "\r=1", "  =1", "'=1", "' =1", "'quoted'"]
    cases = [Case.of(text, text, id=text) for text in dangerous]

    write_cases(cases, path)

    with path.open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    assert [row[0] for row in rows] == [f"'{text}" for text in dangerous[:-1]] + ["'quoted'"]
    assert list(read_cases(path)) == cases


def test_disputed_cases_come_back_disputed(tmp_path):
    source, copy = tmp_path / "a.csv", tmp_path / "b.csv"
    source.write_text("id,input,expert_1,expert_2,expert_3\n1,q,Vata,Pitta,Kapha\n2,r,Vata,,Vata\n")
    cases = list(read_cases(source))

    write_cases(cases, copy)

    assert list(read_cases(copy)) == cases
    assert [case.is_disputed for case in cases] == [True, False]


def test_json_files_are_written_in_the_canonical_shape(tmp_path):
    path = tmp_path / "a.json"
    two = Case(id="2", turns=(Turn(text="a"), Turn(text="b", requires_context=True, expected=Expected(intent="X"))))

    write_cases([Case.of("Why?", "So.", id="1", tier=2), two], path)

    assert json.loads(path.read_text()) == [
        {"id": "1", "input": "Why?", "expected": {"answer": "So."}, "tier": 2},
        {"id": "2", "turns": [{"input": "a"}, {"input": "b", "expected": {"intent": "X"}, "requires_context": True}]},
    ]


def test_a_csv_has_only_the_columns_that_are_used(tmp_path):
    path = tmp_path / "a.csv"

    write_cases([Case.of("Why?", id="1"), Case.of("How?", "So.", id="2", category="c")], path)

    assert path.read_text().splitlines()[0] == "id,input,expected.answer,category"


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_failed_export_leaves_the_old_file_and_nothing_else(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    path.write_bytes(b"old")

    def breaking():
        yield Case.of("Why?", id="1")
        raise RuntimeError("the source broke")

    with pytest.raises(RuntimeError, match="the source broke"):
        write_cases(breaking(), path)

    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_parquet_without_its_extra_names_it(tmp_path, monkeypatch):
    import builtins

    real = builtins.__import__

    def without_pyarrow(name, *rest, **more):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without_pyarrow)
    (tmp_path / "a.parquet").write_bytes(b"PAR1")

    with pytest.raises(InputError, match=r"cortex-eval\[parquet\]"):
        list(read_cases(tmp_path / "a.parquet"))
    with pytest.raises(InputError, match=r"cortex-eval\[parquet\]"):
        write_cases([Case.of("q", id="1")], tmp_path / "b.parquet")


def test_parquet_with_lists_and_structs_is_read(tmp_path):
    arrow = parquet_module.pyarrow()
    rows = [
        {"id": 1, "question": "q", "contexts": ["a", "b"], "expected_entities": {"x": "1", "y": None}, "n": 1.5},
        {"id": 2, "question": "r", "contexts": None, "expected_entities": None, "n": None},
    ]
    arrow.parquet.write_table(arrow.Table.from_pylist(rows), tmp_path / "a.parquet")

    first, second = read_cases(tmp_path / "a.parquet")

    assert (first.id, first.passages, first.expected.entities, first.metadata) == (
        "1",
        ("a", "b"),
        {"x": "1"},
        {"n": 1.5},
    )
    assert (second.passages, second.expected.entities, second.metadata) == ((), None, {})


def test_a_cut_parquet_file_is_told(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and then nothing")

    with pytest.raises(InputError, match="Parquet file cannot be read"):
        list(read_cases(tmp_path / "a.parquet"))


def test_a_place_that_cannot_be_written_is_told(tmp_path):
    with pytest.raises(StorageError, match="cannot be written: No such file"):
        write_cases([Case.of("q", id="1")], tmp_path / "nowhere" / "a.jsonl")


def test_a_secret_or_a_long_name_of_a_column_is_cut_in_problems(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"input": "q", "metadata": {"k" * 5000: "\0"}}))

    with pytest.raises(InputError) as caught:
        list(read_cases(path))

    assert len(caught.value.problems[0].field) == 200
