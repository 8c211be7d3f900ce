"""Files that belong to cases: named by their path beside the dataset, pinned by what is in them."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import os
from pathlib import Path

import pytest

from cortex_eval.config import DatasetSource, Plan
from cortex_eval.core import Attachment, Case, InputError, TargetError
from cortex_eval.datasets import MAX_ATTACHMENT_BYTES, cases_from, read_attached, read_cases, write_cases
from cortex_eval.engine import execute
from cortex_eval.scoring import plan_scorer
from cortex_eval.storage import Store
from cortex_eval.targets import PythonTarget, targets
from cortex_eval.testing import speak_openai

SOUND = b"RIFF, more or less"
DIGEST = hashlib.sha256(SOUND).hexdigest()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data" / "calls").mkdir(parents=True)
    (tmp_path / "data" / "calls" / "1.wav").write_bytes(SOUND)
    (tmp_path / "secret.wav").write_bytes(b"not for sending")
    return tmp_path / "data"


def written(folder: Path, *attachments: object, name: str = "calls.json") -> Path:
    file = folder / name
    file.write_text(json.dumps([{"id": "1", "input": "Hello?", "attachments": list(attachments)}]))
    return file


@pytest.mark.parametrize(
    "given", ["calls/1.wav", {"path": "calls/1.wav"}, {"path": "./calls/1.wav", "media_type": "audio/x"}]
)
def test_a_path_is_pinned_by_what_the_file_holds(folder, given):
    [case] = read_cases(written(folder, given))

    [attached] = case.turns[0].attachments
    wanted = given if isinstance(given, str) else given["path"]
    media_type = "audio/wav" if isinstance(given, str) else given.get("media_type", "audio/wav")
    assert attached == Attachment(sha256=DIGEST, media_type=media_type, size=len(SOUND), name=wanted)
    assert read_attached(attached, folder) == SOUND


def test_turns_and_cells_may_name_files_too(folder):
    file = folder / "calls.jsonl"
    file.write_text(json.dumps({"id": "1", "turns": [{"input": "a", "attachments": ["calls/1.wav"]}, "b"]}))
    [case] = read_cases(file)
    with (folder / "calls.csv").open("w", newline="") as sheet:
        csv.writer(sheet).writerows([["id", "input", "attachments"], ["1", "a", '["calls/1.wav"]']])
    [from_cell] = read_cases(folder / "calls.csv")

    assert [len(turn.attachments) for turn in case.turns] == [1, 0]
    assert from_cell.turns[0].attachments == case.turns[0].attachments


def test_another_recording_is_another_version_of_the_dataset(folder):
    def version() -> str:
        reader = read_cases(written(folder, "calls/1.wav"))
        list(reader)
        return reader.version

    before = version()
    (folder / "calls" / "1.wav").write_bytes(b"RIFF, another")

    assert version() != before


def test_what_is_written_reads_back_equal(folder):
    cases = list(read_cases(written(folder, "calls/1.wav")))

    for name in ("out.jsonl", "out.csv", "out.yaml"):
        write_cases(cases, folder / name)
        assert list(read_cases(folder / name)) == cases


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("../secret.wav", "must lie in the folder of the dataset"),
        ("calls/../../secret.wav", "must lie in the folder of the dataset"),
        ("{root}/secret.wav", "must lie in the folder of the dataset"),
        ("link.wav", "must lie in the folder of the dataset"),
        ("calls", "there is no such file"),
        ("calls/2.wav", "there is no such file"),
        ("pipe", "there is no such file"),
        ("large.wav", f"at most {MAX_ATTACHMENT_BYTES:,} are read"),
        ({"media_type": "audio/wav"}, "sha256 must be text"),
        (7, "must be an object"),
    ],
)
def test_what_cannot_be_attached_is_told_with_its_row(folder, given, says):
    (folder / "link.wav").symlink_to(folder.parent / "secret.wav")
    os.mkfifo(folder / "pipe")
    with (folder / "large.wav").open("wb") as large:
        large.truncate(MAX_ATTACHMENT_BYTES + 1)
    if isinstance(given, str):
        given = given.replace("{root}", str(folder.parent))

    with pytest.raises(InputError) as caught:
        list(read_cases(written(folder, given)))

    assert says in str(caught.value)
    assert caught.value.problems[0].field.startswith("attachments")


def test_a_file_that_changed_since_is_not_sent(folder):
    [case] = read_cases(written(folder, "calls/1.wav"))
    [attached] = case.turns[0].attachments
    (folder / "calls" / "1.wav").write_bytes(b"something else")

    with pytest.raises(TargetError, match="not the file that the dataset was read with") as caught:
        read_attached(attached, folder)

    assert caught.value.kind == "attachment"


@pytest.mark.parametrize("name", ["", "../secret.wav", "gone.wav"])
def test_a_case_from_elsewhere_cannot_reach_further_either(folder, name):
    attached = Attachment(sha256=DIGEST, media_type="audio/wav", size=1, name=name)

    with pytest.raises(TargetError) as caught:
        read_attached(attached, folder)

    assert caught.value.kind == "attachment"


async def test_a_picture_beside_the_dataset_goes_to_the_model(folder, scripted_service):
    (folder / "rash.png").write_bytes(SOUND)
    file = written(folder, "rash.png")
    model = scripted_service(speak_openai("A rash."))
    target = targets.build("chat", {"model": "any", "base_url": f"{model.url}v1"})
    plan = Plan(
        suite="s", dataset=DatasetSource(path=file), target=target, target_name="t", scorers=(plan_scorer("exact"),)
    )

    with Store(folder / "store.db") as store:
        report = await execute(plan, store)

    [result] = report.results
    assert result.reply is not None
    assert result.reply.text == "A rash."
    assert base64.b64encode(SOUND) in model.ledger[0].body


def test_a_plan_finds_them_beside_its_dataset(folder, monkeypatch):
    file = written(folder, "calls/1.wav")
    [case] = read_cases(file)
    [attached] = case.turns[0].attachments

    def plan(dataset: DatasetSource | list[Case]) -> Plan:
        target = PythonTarget(call=lambda text: text)
        return Plan(suite="s", dataset=dataset, target=target, target_name="t", scorers=(plan_scorer("exact"),))

    assert plan(DatasetSource(path=file)).read_attachment(attached) == SOUND
    monkeypatch.chdir(folder)
    assert plan(list(cases_from([{"input": "a", "attachments": ["calls/1.wav"]}]))).read_attachment(attached) == SOUND
