"""Files are read in every form that people keep cases in, and the same content has the same version in each."""

import json

import pytest

from cortex_eval.core import Case, to_json
from cortex_eval.datasets import cases_from, dataset_version, read_cases, validate_file


def test_the_stored_form_is_what_to_json_writes(tmp_path):
    path = tmp_path / "a.jsonl"
    rows = [
        {"id": "1", "question": "q", "ground_truth": "a", "tags": [], "context": {}, "requires_context": False},
        {"id": "2", "turns": [{"query": "a", "expected_entities": {}}, {"query": "b", "requires_context": True}]},
        {"id": "3", "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}], "tier": 3},
        {"id": "4", "input": "q", "rubric": [{"criterion": "c", "points": 1}], "experts": ["a", "a", None], "n": 1.5},
    ]
    path.write_text("\n".join(map(json.dumps, rows)))

    for row in read_cases(path).rows():
        assert json.loads(row.json) == json.loads(to_json(row.case))


def test_categories_of_a_dictionary_are_named_by_its_keys(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(
        json.dumps(
            {
                "DATA_DISCOVERY_CONVERSATIONS": [
                    {"id": "1", "query": "a"},
                    {"id": "2", "query": "b", "category": "own"},
                ],
                "EDGE_CASE_CONVERSATIONS": [{"id": "3", "query": "c"}],
                "job_management": [{"id": "4", "query": "d"}],
                "test": [{"id": "5", "query": "e"}],
            },
            indent=1,
        )
    )

    found = [(case.id, case.category, case.split) for case in read_cases(path)]

    assert found == [
        ("1", "data_discovery", None),
        ("2", "own", None),
        ("3", "edge_cases", None),
        ("4", "job_management", None),
        ("5", None, "test"),
    ]


def test_splits_of_pairs_are_text_and_intent(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"oos_val": [["how much", "oos"]], "train": [["hi", "greet"]]}')

    found = [(case.split, case.input, case.expected.intent) for case in read_cases(path)]

    assert found == [("oos_val", "how much", "oos"), ("train", "hi", "greet")]


@pytest.mark.parametrize(
    "content", ['{"name": "n", "cases": [{"input": "q"}], "tags": []}', '{"input": "q"}', '[{"input": "q"}]']
)
@pytest.mark.parametrize("name", ["a.json", "a.yaml"])
def test_a_list_a_holder_and_a_single_case_are_read(tmp_path, content, name):
    path = tmp_path / name
    path.write_text(content)

    assert [case.input for case in read_cases(path)] == ["q"]


def test_words_of_yaml_stay_words(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text(
        "- {input: yes, expected: no, when: 2024-01-02, n: 012, big: 1_000, t: true, f: 1.5, z: ~, o: 0x1F}\n"
    )

    (case,) = read_cases(path)

    assert (case.input, case.expected.answer) == ("yes", "no")
    assert case.metadata == {"when": "2024-01-02", "n": 12, "big": "1_000", "t": True, "f": 1.5, "o": "0x1F"}


def test_cells_hold_lists_and_objects_as_json(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        "input,expected_entities,tags,context,tier,requires_context,expected.answers,note\n"
        '[not json,"{""a"": 1}",x; y,[1] a passage,2,yes,"[""b""]",{also not\n'
        'q,,"[""p, q""]","[""one"", ""two""]",,,,\n'
    )

    first, second = read_cases(path)

    assert first.input == "[not json"
    assert first.expected.entities == {"a": 1}
    assert first.tags == ("x", "y")
    assert first.passages == ("[1] a passage",)
    assert (first.tier, first.requires_context, first.expected.answers) == (2, True, ("b",))
    assert first.metadata == {"note": "{also not"}
    assert second.tags == ("p, q",)
    assert second.passages == ("one", "two")
    assert (second.tier, second.metadata) == (None, {})


def test_a_cell_that_should_be_json_and_is_not_is_told(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('input,expected_entities\nq,"{a: 1}"\n')

    (problem,) = validate_file(path).problems

    assert (problem.code, problem.line, problem.field) == ("invalid_json", 2, "expected_entities")


def test_lines_are_those_of_the_file_also_after_cells_of_several_lines(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('id,input\n1,"a\nb\nc"\n\n2,""\n3,d\r\n4,""\n')

    assert [problem.line for problem in validate_file(path).problems] == [6, 8]


def test_jsonl_is_split_at_newlines_only(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"input": "a\u2028b\u0085c"}\n{"input": "d"}\r\n', encoding="utf-8", newline="")

    assert [case.input for case in read_cases(path)] == ["a\u2028b\u0085c", "d"]


def test_tabs_and_old_line_ends_are_read(tmp_path):
    (tmp_path / "a.tsv").write_text("id\tinput\n1\ta, b\n")
    (tmp_path / "b.csv").write_bytes(b"id,input\r1,a\r2,b\r")

    assert [case.input for case in read_cases(tmp_path / "a.tsv")] == ["a, b"]
    assert [row.line for row in read_cases(tmp_path / "b.csv").rows()] == [2, 3]


def test_the_same_content_has_the_same_version_in_every_format(tmp_path):
    (tmp_path / "a.csv").write_text("id,question,ground_truth,tier,owner\n1,Why?,So.,2,me\n2,How?,,,\n")
    (tmp_path / "a.jsonl").write_text(
        '{"tier": 2, "owner": "me", "id": 1, "input": "Why?", "expected": {"answer": "So."}}\n'
        '{"id": "2", "query": "How?"}\n'
    )
    (tmp_path / "a.yaml").write_text("- {id: 1, input: Why?, ideal: So., tier: 2, owner: me}\n- {id: 2, input: How?}\n")
    versions = {validate_file(tmp_path / f"a.{ending}").version for ending in ("csv", "jsonl", "yaml")}

    assert len(versions) == 1
    assert versions == {dataset_version(read_cases(tmp_path / "a.csv"))}


def test_the_version_depends_on_content_and_order():
    one, two = Case.of("a", id="1"), Case.of("b", id="2")

    assert dataset_version([one, two]) != dataset_version([two, one])
    assert dataset_version([one]) != dataset_version([Case.of("a ", id="1")])


def test_a_reader_is_gone_through_once():
    reader = cases_from([{"input": "q"}])
    list(reader)

    with pytest.raises(RuntimeError, match="once"):
        list(reader)
