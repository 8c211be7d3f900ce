"""Datasets as other people publish them load without a flag; the files lie beside the repository."""

import base64
import json
from json import JSONDecodeError
from pathlib import Path

import pytest

from cortex_eval.datasets import cases_from, read_cases, read_rows, validate_file, write_cases
from cortex_eval.datasets.problems import Mistake
from cortex_eval.datasets.strict_json import decode

DATA = Path(__file__).parents[3] / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the public datasets are not here")


def rows_of(name):
    path = DATA / name
    return [json.loads(line) for line in path.read_bytes().decode().split("\n") if line]


def test_ayurveda_cases_have_labels_tiers_and_categories():
    cases = list(read_cases(DATA / "ayurmind_eval/evaluation_cases.csv"))

    assert len(cases) == 16
    assert cases[3].expected.label == "Vata-Pitta"
    assert (cases[3].tier, cases[3].category) == (2, "Diagnostic")
    assert cases[3].metadata["expected_agents"] == "prakriti+dosha"


def test_clinc_has_splits_and_intents():
    raw = json.loads((DATA / "clinc150/data_full.json").read_text())
    cases = list(read_cases(DATA / "clinc150/data_full.json"))

    assert len(cases) == sum(map(len, raw.values()))
    assert [[case.input, case.expected.intent] for case in cases] == [pair for split in raw.values() for pair in split]
    assert {case.split for case in cases} == set(raw)
    assert len({case.id for case in cases}) == len(cases)


@pytest.mark.parametrize("part", ["train", "valid", "test"])
def test_snips_slots_are_entities(part):
    raw = rows_of(f"snips/{part}.jsonl")
    cases = list(read_cases(DATA / f"snips/{part}.jsonl"))

    for row, case in zip(raw, cases, strict=True):
        flat = {
            (slot, each)
            for slot, value in (case.expected.entities or {}).items()
            for each in (value if isinstance(value, list) else [value])
        }
        assert flat == {(pair["slot"], pair["value"]) for pair in row["entities"]}
        assert (case.id, case.input, case.expected.intent) == (row["id"], row["text"], row["intent"])


def test_medquad_questions_have_answers():
    raw = rows_of("medquad/medquad_qa.jsonl")
    cases = list(read_cases(DATA / "medquad/medquad_qa.jsonl"))

    assert [case.input for case in cases] == [row["question"] for row in raw]
    assert [case.expected.answer for case in cases] == [row["answer"] for row in raw]
    assert cases[0].source == raw[0]["source"]
    assert cases[0].metadata["focus"] == raw[0]["focus"]


def test_healthbench_has_history_rubric_and_ideal_completion():
    raw = rows_of("healthbench_sample/judge_responses.jsonl")
    cases = list(read_cases(DATA / "healthbench_sample/judge_responses.jsonl"))

    for row, case in zip(raw, cases, strict=True):
        said = [*(turn.text for turn in case.history), case.input]
        assert said == [message["content"] for message in row["prompt"]]
        assert case.id == row["prompt_id"]
        assert [(c.criterion, c.points, list(c.tags)) for c in case.expected.rubric] == [
            (line["criterion"], line["points"], line["tags"]) for line in row["rubrics"]
        ]
        assert case.expected.answer == ((row["ideal_completions_data"] or {}).get("ideal_completion") or None)
        assert case.tags == tuple(row["example_tags"])


def test_schema_guided_dialogues_are_played_turn_by_turn():
    raw = rows_of("schema_guided_dialogue/dev_dialogues.jsonl")
    cases = list(read_cases(DATA / "schema_guided_dialogue/dev_dialogues.jsonl"))

    for row, case in zip(raw, cases, strict=True):
        assert case.id == row["dialogue_id"]
        users = [turn for turn in row["turns"] if turn["speaker"] == "USER"]
        answers = [turn["utterance"] for turn in row["turns"] if turn["speaker"] == "SYSTEM"]
        assert [turn.text for turn in case.turns] == [turn["utterance"] for turn in users]
        assert [turn.expected.answer for turn in case.turns][: len(answers)] == answers
        for turn, user in zip(case.turns, users, strict=True):
            state = user["frames"][0]["state"]
            assert turn.expected.intent == (None if state["active_intent"] == "NONE" else state["active_intent"])
            assert set(turn.expected.entities or {}) == set(state["slot_values"])


@pytest.mark.parametrize("name", sorted(path.stem for path in (DATA / "csv_spectrum/csvs").glob("*.csv")))
def test_csv_spectrum_is_read_as_its_authors_say(name):
    told = json.loads((DATA / f"csv_spectrum/json/{name}.json").read_text())
    if name == "location_coordinates":  # its JSON is one object with another phone number: a mistake of the collection
        told = [{**told, "Contact Phone Number": "2095257564"}]
    if name == "newlines_crlf":  # the copy of the CSV has plain newlines
        told = json.loads(json.dumps(told).replace("\\r\\n", "\\n"))

    assert [row.values for row in read_rows(DATA / f"csv_spectrum/csvs/{name}.csv")] == told


def content_of(row):
    if row["content_base64"] is None:  # too long to list
        assert row["name"] == "n_structure_100000_opening_arrays.json"
        return b"[" * 100_000
    return base64.b64decode(row["content_base64"])


@pytest.mark.parametrize("expect", ["accept", "reject"])
def test_json_test_suite_is_accepted_and_rejected_as_it_says(expect):
    wrong = []
    for row in rows_of("json_test_suite/test_parsing.jsonl"):
        if row["expect"] != expect:
            continue
        try:
            decode(content_of(row).decode())
            accepted = True
        except (Mistake, JSONDecodeError, UnicodeDecodeError) as error:
            # Repeated keys are JSON to the letter; here they are a mistake on purpose.
            accepted = isinstance(error, Mistake) and error.code == "duplicate_key"
        if accepted != (expect == "accept"):
            wrong.append(row["name"])
    assert wrong == []


def test_json_test_suite_never_breaks_the_reader_of_files(tmp_path):
    for row in rows_of("json_test_suite/test_parsing.jsonl"):
        path = tmp_path / "a.json"
        path.write_bytes(content_of(row))
        found = validate_file(path)
        assert not found.ok, row["name"]  # none of them is a dataset
        assert found.problems[0].code


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "json", "yaml", "parquet"])
def test_naughty_strings_come_back_as_they_went(tmp_path, ending):
    strings = [text for text in json.loads((DATA / "naughty_strings/blns.json").read_text()) if text.strip()]
    cases = list(cases_from({"input": text, "expected": text, "note": text} for text in strings))
    path = tmp_path / f"a.{ending}"

    write_cases(cases, path)

    assert list(read_cases(path)) == cases
    assert [case.input for case in cases] == strings
