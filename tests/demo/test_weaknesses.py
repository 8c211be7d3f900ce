"""The lists of weaknesses are read as they are written, and a run is held against them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortex_eval.core import InputError, Result, State
from cortex_eval.demo import Weakness, compare_with_list, read_weaknesses

BY_SUITE = """# What is wrong
| | weakness | cases that fail |
|---|---|---|
| 9 | **Of nobody.** | `x` |

## In the answers (`cortex run answers`)
| | weakness | where | cases that fail |
|---|---|---|---|
| 1 | **Makes up** a step, as in `not-a-case`. | `a.py` | `one`, `two-b` |
| 2 | **Is slow.** It passes. | `b.py` | none |
| 3 | **Version 2 only: breaks *the* form.** | `c.py` | two that version 1 passes: `three`, `four` |

`five` is not in a table.

## In the tickets (`cortex run tickets`)
| 4 | **Writes too much.** Version 1 only: it is mended. | `d.py` | `one` |
"""
BY_TARGET = """# What is wrong

## fine: 1 of 9 fail
| scorer | weakness | cases |
|---|---|---|
| safety | **Harms.** | `one` |

## poor: 2 of 9 fail
| safety | **Harms.** | `one`, `two` |

## What these figures do not say
| safety | **Nothing.** | `three` |
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "WEAKNESSES.md").write_text(BY_SUITE, encoding="utf-8")
    return tmp_path


def result(case_id: str, state: State, *, passed: bool | None = None, turn: int = 0) -> Result:
    return Result(
        run_id="r",
        case_id=case_id,
        ordinal=0,
        repeat=0,
        turn=turn,
        attempt=1,
        state=state,
        overall=None,
        passed=passed,
        attempts=1,
        latency_ms=None,
        cached=False,
        timestamp="",
        error=None,
        scores_json=b"{}",
    )


def test_a_suite_has_the_rows_of_its_section_and_cases_stand_in_the_last_cell(folder: Path) -> None:
    assert read_weaknesses(folder, "answers") == [
        Weakness(number="1", title="Makes up", cases=("one", "two-b")),
        Weakness(number="3", title="Breaks 'the' form", cases=("three", "four"), version="2"),
    ]
    assert read_weaknesses(folder, "tickets") == [
        Weakness(number="4", title="Writes too much", cases=("one",), version="1")
    ]


def test_a_target_has_the_rows_of_its_section(tmp_path: Path) -> None:
    (tmp_path / "WEAKNESSES.md").write_text(BY_TARGET, encoding="utf-8")

    assert [row.cases for row in read_weaknesses(tmp_path, "all", "poor")] == [("one", "two")]
    assert [row.cases for row in read_weaknesses(tmp_path, "all", "fine")] == [("one",)]
    assert read_weaknesses(tmp_path, "all", "other") == []


def test_a_page_without_sections_of_suites_concerns_every_suite(tmp_path: Path) -> None:
    (tmp_path / "WEAKNESSES.md").write_text("| 1 | **Harms.** | x.py | `one` |\n## Notes\nNone.\n", encoding="utf-8")

    assert [row.cases for row in read_weaknesses(tmp_path, "any")] == [("one",)]


def test_a_folder_without_the_page_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"WEAKNESSES\.md cannot be read"):
        read_weaknesses(tmp_path, "any")


def test_what_fails_as_listed_is_found_and_what_is_not_scored_is_no_surprise(folder: Path) -> None:
    results = [
        result("one", "passed", passed=True),
        result("one", "failed", passed=False, turn=1),
        result("two-b", "passed"),  # no scorer had anything to say
        result("six", "passed", passed=True),
    ]

    found = compare_with_list(results, read_weaknesses(folder, "answers"), version="1")

    assert found.as_documented
    assert found.found == (("Makes up", 1),)
    assert found.differences() == []


def test_every_difference_is_told_by_its_case(folder: Path) -> None:
    results = [
        result("one", "passed", passed=True),
        result("six", "failed", passed=False),
        result("seven", "error_target"),
        result("three", "failed", passed=False),
    ]
    listed = read_weaknesses(folder, "answers")

    found, sampled = (compare_with_list(results, listed, version="2", is_sample=each) for each in (False, True))

    assert not found.as_documented
    assert found.differences() == [
        "six failed, and WEAKNESSES.md does not list it.",
        "one passed, and WEAKNESSES.md says that it fails.",
        "two-b was not asked, and WEAKNESSES.md says that it fails.",
        "four was not asked, and WEAKNESSES.md says that it fails.",
        "seven has no result: the service or a scorer gave none.",
    ]
    assert sampled.not_asked == ()
    assert not sampled.as_documented


def test_what_only_another_version_fails_must_not_fail(folder: Path) -> None:
    found = compare_with_list([result("three", "failed")], read_weaknesses(folder, "answers"), version="1")

    assert found.not_listed == ("three",)
