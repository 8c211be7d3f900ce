"""A list in a project file is changed, and nothing else in it."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex_eval.config.edit import append_item, remove_item
from cortex_eval.core import InputError, StorageError

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

    assert path.read_text() == FLOW.replace("reason: y}", f"reason: y}},\n  {WRITTEN}")
    path = project(tmp_path, "suites: {triage: {dataset: c}}\n")
    append_item(path, PLACE, {"case": "no", "reason": "a, b", "until": "2026-12-31"})
    append_item(path, PLACE, {"case": "c2, c3", "reason": "x"})
    first, second = '{case: "no", reason: "a, b", until: 2026-12-31}', '{case: "c2, c3", reason: "x"}'
    assert path.read_text() == (
        f"suites: {{triage: {{dataset: c,\n  quarantine: [\n    {first},\n    {second}\n  ]}}}}\n"
    )


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
    assert f'\n      "quarantine": [\n        {json.dumps(ITEM)}\n      ]\n' in path.read_text(), "in lines of its own"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("quarantine: []\n", "quarantine:\n"),
        ("quarantine: [ ]   # none yet\n", "quarantine:   # none yet\n"),
        ("quarantine: [{case: a, reason: x}, {case: b, reason: y},]\n", "quarantine:\n{a}{b}"),
        ("quarantine: [{case: a, reason: x},{case: b, reason: y}] # two\n", "quarantine: # two\n{a}{b}"),
    ],
)
def test_a_list_in_brackets_gets_a_line_for_each_item(tmp_path: Path, before: str, after: str):
    path = project(tmp_path, f"suites:\n  triage:\n    {before}    dataset: c\n")

    line = append_item(path, PLACE, ITEM)

    lines = {"a": "      - {case: a, reason: x}\n", "b": "      - {case: b, reason: y}\n"}
    listed_now = after.format_map(lines) + f"      - {WRITTEN}\n"
    assert path.read_text() == f"suites:\n  triage:\n    {listed_now}    dataset: c\n"
    assert path.read_text().splitlines()[line - 1] == f"      - {WRITTEN}"


@pytest.mark.parametrize("comma", ["", ","])
def test_between_brackets_a_comment_stays_with_the_item_that_it_is_about(tmp_path: Path, comma: str):
    text = (
        f"suites:\n  triage:\n    quarantine: [\n      {{case: a, reason: x}}{comma}  # why a\n    ]\n    dataset: c\n"
    )
    path = project(tmp_path, text)

    line = append_item(path, PLACE, ITEM)

    lines = path.read_text().splitlines()
    assert lines[3:6] == ["      {case: a, reason: x},  # why a", f"      {WRITTEN}{comma}", "    ]"]
    assert line == 5
    remove_item(path, PLACE, 1, holds=ITEM)
    assert path.read_text() == text.replace("}  #", "},  #")


@pytest.mark.parametrize("text", [BLOCK, LISTED, FLOW, AS_JSON, ANCHORED, OPEN_END, BLOCK.replace("\n", "\r\n")])
def test_an_item_that_is_added_and_removed_leaves_the_file_as_it_was(tmp_path: Path, text: str):
    path = project(tmp_path, text)
    before = listed(path)

    append_item(path, PLACE, ITEM)
    assert listed(path) == [*before, "t-17"]
    remove_item(path, PLACE, len(before), holds=ITEM)

    assert path.read_bytes() == text.encode()


@pytest.mark.parametrize("text", [LISTED, FLOW])
def test_each_item_can_be_taken_off_and_then_the_list(tmp_path: Path, text: str):
    for first in (0, 1):
        path = project(tmp_path, text)
        remove_item(path, PLACE, first, holds={"case": "ab"[first]})
        assert listed(path) == [["b"], ["a"]][first]
        remove_item(path, PLACE, 0, holds={})
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
        remove_item(path, PLACE, 0, holds={})

    assert path.read_text() == text


@pytest.mark.parametrize("suite", ["on", "no", "1", "2026-01-01", "1e3", "~"])
def test_a_suite_may_have_any_name_that_a_project_file_allows(tmp_path: Path, suite: str):
    path = project(tmp_path, f"fix_locations:\n  2026-99-99: x\nsuites:\n  {suite}:\n    dataset: c\n")

    append_item(path, ("suites", suite, "quarantine"), ITEM)
    assert path.read_text().endswith(f"    dataset: c\n    quarantine:\n      - {WRITTEN}\n")
    remove_item(path, ("suites", suite, "quarantine"), 0, holds=ITEM)

    assert path.read_text().endswith(f"  {suite}:\n    dataset: c\n")


@pytest.mark.parametrize(
    "case", ["2026-01-01", "2026-99-99", "0x1f", "1_000", "12:30", "null", "a'b\"c\\", "# x", "- y", "=", "<<"]
)
def test_an_id_that_looks_like_something_else_stays_text(tmp_path: Path, case: str):
    path = project(tmp_path, BLOCK)

    append_item(path, PLACE, {"case": case, "reason": case})

    assert yaml.safe_load(path.read_text())["suites"]["triage"]["quarantine"] == [{"case": case, "reason": case}]


def test_letters_that_are_joined_stay_readable_and_what_cannot_be_seen_is_escaped(tmp_path: Path):
    path = project(tmp_path, BLOCK)

    append_item(path, PLACE, {"case": "क्\u200dष", "reason": "turned\u202e round"})

    assert '{case: "क्\u200dष", reason: "turned\\u202e round"}' in path.read_text()


def test_an_item_that_somebody_added_meanwhile_is_not_added_twice(tmp_path: Path):
    path = project(tmp_path, BLOCK)
    append_item(path, PLACE, ITEM)
    text = path.read_text()

    with pytest.raises(InputError, match=r"suites\.triage\.quarantine has 't-17' already\."):
        append_item(path, PLACE, {"case": "t-17", "reason": "another"})

    assert path.read_text() == text


@pytest.mark.parametrize(("number", "case"), [(0, "b"), (2, "c")])
def test_a_list_that_is_another_by_now_loses_nothing(tmp_path: Path, number: int, case: str):
    path = project(tmp_path, LISTED)

    with pytest.raises(InputError, match="was changed by somebody else meanwhile"):
        remove_item(path, PLACE, number, holds={"case": case})

    assert path.read_text() == LISTED


def test_an_item_whose_name_is_a_variable_can_be_taken_off(tmp_path: Path):
    path = project(tmp_path, LISTED.replace("case: a", 'case: "${FLAKY}"'))

    remove_item(path, PLACE, 0, holds={"case": "t-1"})

    assert listed(path) == ["b"]


def test_a_file_that_is_no_longer_yaml_is_left_alone(tmp_path: Path):
    path = project(tmp_path, "suites: [")

    with pytest.raises(InputError, match="was changed by somebody else meanwhile"):
        append_item(path, PLACE, ITEM)

    assert path.read_text() == "suites: ["


def test_many_at_once_are_all_there_in_the_end(tmp_path: Path):
    path = project(tmp_path, BLOCK)
    names = [f"c{number}" for number in range(12)]

    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(lambda name: append_item(path, PLACE, {"case": name, "reason": "x"}), names))

    assert sorted(listed(path)) == sorted(names)


def test_a_file_that_is_read_only_stays_as_it_is(tmp_path: Path):
    path = project(tmp_path, BLOCK)
    path.chmod(0o444)

    with pytest.raises(StorageError, match=r"cortex\.yaml is read-only\. Nothing was changed\."):
        append_item(path, PLACE, ITEM)

    assert path.read_text() == BLOCK


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
