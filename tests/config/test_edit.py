"""A list in a project file is changed, and nothing else in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex_eval.config.edit import append_item, remove_item
from cortex_eval.core import InputError

PLACE = ("suites", "triage", "quarantine")
ITEM = {"case": "t-17", "reason": 'asks for today\'s date, T-1: "now"', "until": "2026-12-31"}
WRITTEN = '{case: t-17, reason: "asks for today\'s date, T-1: \\"now\\"", until: 2026-12-31}'

BLOCK = """# our bot
services: {bot: {api_url: "http://127.0.0.1:1/"}}   # local

suites:
  triage:   # the main one
    dataset: cases.jsonl
    scorers: [exact]  # more to come
    # the end of triage

  other:
    dataset: other.jsonl
"""
LISTED = """suites:
  triage:
    quarantine:   # flaky ones
      # the first
      - {case: a, reason: "x"}
      - case: b
        reason: |
          long

      # after b
    dataset: cases.jsonl
"""
FLOW = """suites: {triage: {dataset: c, quarantine: [{case: a, reason: x}, {case: b, reason: y}]}, o: {dataset: d}}
"""
AS_JSON = json.dumps({"suites": {"triage": {"dataset": "cases.jsonl", "scorers": ["exact"]}}}, indent=2)
ANCHORED = """common: &common [exact]
suites:
  triage:
    dataset: cases.jsonl
    scorers: *common
  other: {dataset: o.jsonl, scorers: *common}
"""
OPEN_END = "suites:\n  triage:\n    dataset: cases.jsonl"


def project(folder: Path, text: str) -> Path:
    path = folder / "cortex.yaml"
    path.write_bytes(text.encode())
    return path


def listed(path: Path) -> list[str]:
    return [each["case"] for each in yaml.safe_load(path.read_text())["suites"]["triage"].get("quarantine") or []]


def test_a_list_is_made_at_the_end_of_its_suite_and_all_else_stays(tmp_path: Path):
    path = project(tmp_path, BLOCK)

    line = append_item(path, PLACE, ITEM)

    added = f"    quarantine:\n      - {WRITTEN}\n"
    comment = "    # the end of triage\n"
    assert path.read_text() == BLOCK.replace(comment, added + comment)
    assert path.read_text().splitlines()[line - 1] == f"      - {WRITTEN}"


def test_an_item_goes_behind_the_last_one_in_its_form(tmp_path: Path):
    path = project(tmp_path, LISTED)

    line = append_item(path, PLACE, ITEM)

    text = path.read_text()
    assert text.replace(f"      - {WRITTEN}\n", "") == LISTED
    assert text.splitlines()[line - 1] == f"      - {WRITTEN}"
    assert listed(path) == ["a", "b", "t-17"]


def test_between_brackets_an_item_has_plain_keys_as_those_around_it(tmp_path: Path):
    path = project(tmp_path, FLOW)

    append_item(path, PLACE, ITEM)

    assert path.read_text() == FLOW.replace("reason: y}", f"reason: y}}, {WRITTEN}")
    path = project(tmp_path, "suites: {triage: {dataset: c}}\n")
    append_item(path, PLACE, {"case": "no", "reason": "a, b", "until": "2026-12-31"})
    append_item(path, PLACE, {"case": "c2, c3", "reason": "x"})
    first, second = '{case: "no", reason: "a, b", until: 2026-12-31}', '{case: "c2, c3", reason: "x"}'
    assert path.read_text() == f"suites: {{triage: {{dataset: c, quarantine: [{first}, {second}]}}}}\n"


def test_between_brackets_an_item_is_json_where_all_else_is(tmp_path: Path):
    for text in (FLOW, AS_JSON, FLOW.replace("[{case: a, reason: x}, {case: b, reason: y}]", "[]")):
        path = project(tmp_path, text)
        before = listed(path)

        append_item(path, PLACE, ITEM)

        assert listed(path) == [*before, "t-17"]
    assert json.loads(AS_JSON)["suites"]["triage"] == {"dataset": "cases.jsonl", "scorers": ["exact"]}
    path = project(tmp_path, AS_JSON)
    append_item(path, PLACE, ITEM)
    assert json.loads(path.read_text())["suites"]["triage"]["quarantine"] == [ITEM]
    assert f'\n      "quarantine": [{json.dumps(ITEM)}]\n' in path.read_text(), (
        "in a line of its own, as its neighbours"
    )


@pytest.mark.parametrize("text", [BLOCK, LISTED, FLOW, AS_JSON, ANCHORED, OPEN_END, BLOCK.replace("\n", "\r\n")])
def test_an_item_that_is_added_and_removed_leaves_the_file_as_it_was(tmp_path: Path, text: str):
    path = project(tmp_path, text)
    before = listed(path)

    append_item(path, PLACE, ITEM)
    assert listed(path) == [*before, "t-17"]
    remove_item(path, PLACE, len(before))

    assert path.read_bytes() == text.encode()


@pytest.mark.parametrize("text", [LISTED, FLOW])
def test_each_item_can_be_taken_off_and_then_the_list(tmp_path: Path, text: str):
    for first in (0, 1):
        path = project(tmp_path, text)
        remove_item(path, PLACE, first)
        assert listed(path) == [["b"], ["a"]][first]
        remove_item(path, PLACE, 0)
        assert listed(path) == []
        assert all(
            comment in path.read_text() for comment in ("# flaky ones", "# the first", "# after b") if text == LISTED
        )


@pytest.mark.parametrize(
    "text",
    [
        "suites:\n  triage:\n    dataset: c\n    quarantine:\n",
        "suites:\n  triage:\n    quarantine:   # none yet\n    dataset: c\n",
        "suites:\n  triage:\n    dataset: c\n    quarantine:\n    - {case: a, reason: x}\n",
        "suites:\n  triage:\n    dataset: c\n    quarantine: [\n      {case: a, reason: x},  # why\n    ]\n",
        "suites:\n  triage:\n    dataset: c\n    quarantine: [\n      {case: a, reason: x}\n    ]\n",
        "\ufeffsuites:\n  triage:\n    dataset: c\n",
    ],
)
def test_other_forms_are_understood(tmp_path: Path, text: str):
    path = project(tmp_path, text)
    before = [each["case"] for each in yaml.safe_load(text)["suites"]["triage"].get("quarantine") or []]

    append_item(path, PLACE, ITEM)

    found = yaml.safe_load(path.read_bytes())["suites"]["triage"]
    assert [each["case"] for each in found["quarantine"]] == [*before, "t-17"]
    assert found["dataset"] == "c"


@pytest.mark.parametrize(
    "text",
    [
        "suites:\n  triage: &t\n    dataset: c\n  other: *t\n",
        "base: &base {quarantine: [{case: a, reason: x}]}\nsuites:\n  triage:\n    <<: *base\n    dataset: c\n",
        "suites:\n  triage:\n    dataset: c\n    quarantine: ~\n",
        "suites:\n  triage:\n    dataset: c\n    quarantine: none\n",
        "suites: {}\n",
    ],
)
def test_what_is_not_understood_is_refused_in_one_line_and_left_alone(tmp_path: Path, text: str):
    path = project(tmp_path, text)

    with pytest.raises(InputError, match=r"suites\.triage\.quarantine is written in a way .* Add it by hand: - \{case"):
        append_item(path, PLACE, ITEM)

    assert path.read_text() == text
    assert [each.name for each in tmp_path.iterdir()] == ["cortex.yaml"]


def test_a_comment_between_items_in_brackets_is_not_lost(tmp_path: Path):
    text = "suites:\n  triage:\n    quarantine: [\n      {case: a, reason: x},  # why\n      {case: b, reason: x}]\n"
    path = project(tmp_path, text)

    with pytest.raises(InputError, match="Take it off by hand"):
        remove_item(path, PLACE, 0)

    assert path.read_text() == text


def test_the_file_keeps_its_rights_and_a_link_stays_one(tmp_path: Path):
    real = project(tmp_path, BLOCK)
    real.chmod(0o640)
    link = tmp_path / "link.yaml"
    link.symlink_to(real)

    append_item(link, PLACE, ITEM)

    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert listed(real) == ["t-17"]


@settings(max_examples=40)
@given(
    case=st.text(min_size=1, max_size=12), reason=st.text(min_size=1, max_size=30), text=st.sampled_from([BLOCK, FLOW])
)
def test_whatever_is_added_is_read_back(tmp_path_factory, case: str, reason: str, text: str):
    path = project(tmp_path_factory.mktemp("p"), text)
    item = {"case": case, "reason": reason}

    append_item(path, PLACE, item)

    assert yaml.safe_load(path.read_text())["suites"]["triage"]["quarantine"][-1] == item
