"""`cortex datasets`: list, show, import, export, validate, diff, coverage."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.slow  # each starts the command; together they take long

ROWS = [
    {"id": "a", "input": "Why?", "expected": {"answer": "So."}, "category": "x"},
    {"id": "b", "input": "बुखार में क्या करें?", "expected": {"answer": "आराम करें।"}, "language": "hi", "category": "y"},
    {"id": "c", "turns": [{"input": "Hello?"}, {"input": "And now?", "expected": {"answer": "Goodbye."}}]},
]
JSONL = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS)

REFUSED = {
    "DU01-empty": ("a.csv", b"", "dataset_empty"),
    "DU01-list": ("a.json", b"[]", "dataset_empty"),
    "DU02": ("a.csv", b"id,qestion\n1,Why?\n", "Did you mean 'question'"),
    "DU03": ("a.csv", b"id,input\n1,a\n1,b\n", "duplicate_id"),
    "DU04": ("a.csv", b'id,input\n2,"open\n' + b"3,x\n" * 50, "unclosed_quote"),
    "DU05": ("a.csv", b"id,input\n1,a,b\n", "the row has 3 cells, the header has 2"),
    "DU06": ("a.csv", b"id,input,input\n1,a,b\n", "the column 'input' is there twice"),
    "DU08": ("a.csv", b"id,input\n1,It\x92s late\n", "byte 13 (0x92) is not UTF-8"),
    "DU10": ("a.csv", b"id,input\n1,a\x00b\n", "NUL"),
    "DU11": ("a.jsonl", b'{"id": "1", "input": "a"}\n{"id": "2", "input\n', '"line": 2'),
    "DU12": ("a.json", b'[{"id": "1", "input": "a", "x": NaN}]', "NaN"),
    "DU13": ("a.json", b'[{"id": "1", "id": "2", "input": "a"}]', "the key 'id' is there twice"),
    "DU14": ("a.json", b"[" * 100_000, "too_deep"),
    "DU15": ("a.yaml", b'- !!python/object/apply:os.system ["touch owned"]\n', "is not read: a dataset is plain data"),
    "DU16": (
        "a.yaml",
        b"a: &a [x,x,x,x,x,x,x,x,x]\n"
        + b"".join(b"%c: &%c [%s]\n" % (98 + n, 98 + n, b",".join([b"*%c" % (97 + n)] * 9)) for n in range(8)),
        "alias_limit",
    ),
    "DU17": ("a.csv", b"\x89PNG\r\n\x1a\n" + b"\x00" * 50, "this is a PNG image, not CSV"),
}


@pytest.mark.parametrize(("name", "content", "said"), REFUSED.values(), ids=REFUSED)
def test_validate_tells_what_is_wrong_with_a_file_and_exits_with_4(folder, name, content, said):
    folder.write(name, content)

    done = folder.cortex("datasets", "validate", name, "--json")

    assert done.code == 4
    assert done.json["ok"] is False
    assert {"file", "line", "field", "message"} <= set(done.json["errors"][0])
    assert done.json["errors"][0]["file"].endswith(name)
    assert said in json.dumps(done.json["errors"][0])
    assert not (folder.root / "owned").exists()
    assert not (folder.root / ".cortex").exists()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("DU07.csv", "\ufeffid,input\n1,Why?\n".encode()),
        ("DU07-utf16.csv", b"\xff\xfe" + "id,input\n1,Why?\n".encode("utf-16-le")),
        ("DU09.jsonl", json.dumps({"id": "1", "input": "x" * 200_000}).encode()),
    ],
)
def test_validate_takes_what_spreadsheets_write(folder, name, content):
    folder.write(name, content)

    done = folder.cortex("datasets", "validate", name)

    assert done.code == 0
    assert done.out.startswith(f"{name}: 1 case, version ")


def test_validate_says_each_mistake_with_its_place_on_stderr(folder):
    folder.write("a.jsonl", '{"id": "1"}\n{"id": "2", "input": "x"}\n{"id": "2", "input": "y"}\n')

    done = folder.cortex("datasets", "validate", "a.jsonl")
    gone = folder.cortex("datasets", "validate", "gone.jsonl")

    assert (done.code, done.out, gone.code) == (4, "", 4)
    assert "a.jsonl:1: " in done.err
    assert "'2'" in done.err
    assert "gone.jsonl" in gone.err


def test_a_misspelt_column_is_told_wherever_a_file_is_read_and_changes_no_exit_code(clinic):
    project = clinic(reply={"text": "So."})
    project.write("cases.csv", "question,anser\nWhy?,So.\n")
    note = "cases.csv: the column 'anser' is not known and is kept as metadata. Did you mean 'answer'?"

    checked = project.cortex("datasets", "validate", "cases.csv")
    shown = project.cortex("datasets", "show", "cases.csv")
    planned = project.cortex("run", "--dataset", "cases.csv", "--dry-run")
    ran = project.cortex("run", "--dataset", "cases.csv", "--json")
    imported = project.cortex("datasets", "import", "cases.csv", "--name", "other")

    assert checked.code == imported.code == shown.code == planned.code == 0
    assert note in shown.err.splitlines()
    assert any(line.startswith("Note: ") and line.endswith(note) for line in planned.err.splitlines())
    assert project.cortex("datasets", "show", "cases.csv", "--json").json["notes"] == [note]
    (told,) = project.cortex("run", "--dataset", "cases.csv", "--dry-run", "--json").json["notes"]
    assert told.endswith(note)
    assert note in checked.err.splitlines()
    assert "No case says what is expected" in checked.err
    assert note in imported.err.splitlines()
    assert any(each.endswith(note) for each in ran.json["notes"])


def test_DU20_text_is_shown_and_sent_byte_for_byte(clinic):
    project = clinic(reply={"text": "ok"})
    texts = ["{{7*7}}", "${HOME}", "<script>alert(1)</script>", "=1+1", "$(touch owned)", "{input}"]
    rows = "".join(json.dumps({"id": str(number), "input": text}) + "\n" for number, text in enumerate(texts))
    project.write("cases.jsonl", rows)

    project.cortex("run")

    assert sorted(project.is_asked()) == sorted(texts)


def test_a_dataset_is_imported_listed_shown_and_exported(folder):
    folder.write("cases.jsonl", JSONL)
    assert (
        folder.cortex("datasets", "list").err == "There are no datasets yet. Import one: cortex datasets import FILE\n"
    )
    assert not (folder.root / ".cortex").exists()  # whoever just looks leaves nothing behind

    imported = folder.cortex("datasets", "import", "cases.jsonl", "--name", "triage", "--json")
    again = folder.cortex("datasets", "import", "cases.jsonl", "--name", "triage")
    listed = folder.cortex("datasets", "list", "--json")
    shown = folder.cortex("datasets", "show", "triage")
    exported = folder.cortex("datasets", "export", "triage", "out.yaml")

    assert imported.json["cases"] == 3
    assert again.out == f"triage: 3 cases, version {imported.json['version'][:8]}\n"
    (entry,) = listed.json
    assert (entry["name"], entry["cases"], entry["version"]) == ("triage", 3, imported.json["version"])
    lines = shown.out.splitlines()
    assert [line.split()[0] for line in lines] == ["id", "a", "b", "c"]
    assert "बुखार में क्या करें?" in lines[2]
    assert shown.err == "3 cases\n3 of them say what is expected\n"
    assert exported.out == "out.yaml: 3 cases\n"
    assert folder.cortex("datasets", "diff", "cases.jsonl", "out.yaml", "--json").json["changed"] == []


def test_show_takes_a_file_a_limit_and_other_column_names(folder):
    folder.write("frage.csv", "nr,frage\n1,Warum?\n2,Wie?\n")

    limited = folder.cortex(
        "datasets", "show", "frage.csv", "--field", "id=nr", "--field", "input=frage", "--limit", "1"
    )
    as_json = folder.cortex("datasets", "show", "frage.csv", "--field", "id=nr", "--field", "input=frage", "--json")
    wrong = folder.cortex("datasets", "show", "frage.csv", "--field", "input")
    unknown = folder.cortex("datasets", "show", "triage")

    assert limited.out.splitlines()[-1].split() == ["1", "–", "1", "Warum?"]
    assert limited.err.startswith("2 cases; 1 shown, more with --limit\n0 of them say what is expected")
    assert [case["id"] for case in as_json.json["cases"]] == ["1", "2"]
    assert wrong.code == unknown.code == 4
    assert "NAME=COLUMN" in wrong.err
    assert "There is no file 'triage', and no such dataset in the store." in unknown.err


def test_diff_shows_what_was_added_removed_and_changed(folder):
    folder.write("old.jsonl", JSONL)
    folder.write("new.jsonl", JSONL.replace('"So."', '"Thus."').replace('"id": "c"', '"id": "d"'))

    done = folder.cortex("datasets", "diff", "old.jsonl", "new.jsonl")

    assert done.code == 0
    assert done.out == "+ d\n- c\n~ a  expected.answer\n1 added, 1 removed, 1 changed\n"


def test_export_converts_between_formats_and_refuses_an_unknown_one(folder):
    folder.write("cases.jsonl", JSONL)

    for ending in ("csv", "json", "yaml", "parquet", "jsonl"):
        done = folder.cortex("datasets", "export", "cases.jsonl", f"out.{ending}")
        assert (done.code, done.out) == (0, f"out.{ending}: 3 cases\n")
        assert folder.cortex("datasets", "diff", "cases.jsonl", f"out.{ending}", "--json").json["unchanged"] == 3
    refused = folder.cortex("datasets", "export", "cases.jsonl", "out.docx")
    assert refused.code == 4
    assert not (folder.root / "out.docx").exists()


def test_coverage_shows_the_matrix_of_a_file_a_suite_or_a_kept_dataset(folder):
    folder.write("a.jsonl", JSONL)
    folder.write("cortex.yaml", "suites:\n  talk: {dataset: a.jsonl}\n")

    told = folder.cortex("datasets", "coverage", "a.jsonl")
    as_json = folder.cortex("datasets", "coverage", "talk", "--json")
    nothing = folder.cortex("datasets", "coverage", "a.jsonl", "--by", "intent")
    unknown = folder.cortex("datasets", "coverage", "tlak")

    assert told.code == 0
    assert told.out.splitlines()[0].split() == ["category", "turns", "single", "multi", "context", "entities", "edge"]
    assert told.out.splitlines()[1].split() == ["x", "1", "1", "gap", "gap", "gap", "gap"]
    assert "cells empty" in told.err
    assert as_json.json["rows"]["(none)"] == {
        "turns": 2, "single_turn": 0, "multi_turn": 2, "context": 0, "entity_heavy": 0, "edge_case": 0,
        "gaps": ["single_turn", "context", "entity_heavy", "edge_case"],
    }  # fmt: skip
    assert (nothing.code, unknown.code) == (4, 4)
    assert "expects an intent" in nothing.err
