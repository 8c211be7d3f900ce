"""Sheets of labels as people make them: a column for each expert, a row for each label, and mistakes told once."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortex_eval.analysis import Item, read_labels
from cortex_eval.core import InputError


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "labels.csv"
    path.write_text(text, encoding="utf-8")
    return path


def ratings_of(path: Path, **how) -> dict[str, dict[str, float | str]]:
    return {item.id: dict(each) for item, each in read_labels(path, **how).ratings.items()}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id,dr_a,dr_b\na,1,0\nb,0,0\n", {"a": {"dr_a": 1.0, "dr_b": 0.0}, "b": {"dr_a": 0.0, "dr_b": 0.0}}),
        ("id,expert_1,expert_2\na,pass,fail\n", {"a": {"expert_1": 1.0, "expert_2": 0.0}}),
        ("ID,Anna Müller,Ben\na,yes,No\n", {"a": {"Anna Müller": 1.0, "Ben": 0.0}}),
        ("id,expert,label\na,Anna,1\na,Ben,0\n", {"a": {"Anna": 1.0, "Ben": 0.0}}),
        ("Case ID,Annotator,Rating\na,Anna,1\n", {"a": {"Anna": 1.0}}),
        ("id,question,dr_a,comment\na,Is it 1?,1,7\n", {"a": {"dr_a": 1.0}}),
        ("id,kind_of_case,dr_a,dr_b\na,fever,1,0\n", {"a": {"dr_a": 1.0, "dr_b": 0.0}}),
    ],
)  # fmt: skip
def test_every_natural_shape_is_read(tmp_path, text, expected):
    assert ratings_of(write(tmp_path, text)) == expected


def test_an_empty_cell_of_a_person_is_no_rating_and_an_empty_row_no_item(tmp_path):
    path = write(tmp_path, "id,dr_a,dr_b\na,1,\nb,,\nc,0,1\n")

    assert ratings_of(path) == {"a": {"dr_a": 1.0}, "c": {"dr_a": 0.0, "dr_b": 1.0}}


def test_words_of_several_people_are_read_and_positive_makes_verdicts_of_them(tmp_path):
    path = write(tmp_path, "id,dr_a,dr_b\na,refused,answered\nb,answered,answered\n")

    assert ratings_of(path)["a"] == {"dr_a": "refused", "dr_b": "answered"}
    assert ratings_of(path, positive=["answered"])["a"] == {"dr_a": 0.0, "dr_b": 1.0}


def test_the_columns_of_people_can_be_named(tmp_path):
    path = write(tmp_path, "id,dr_a,dr_b,age\na,1,0,45\n")

    with pytest.raises(InputError, match="the label '45' is not from 0 to 1"):
        read_labels(path)
    found = read_labels(path, columns=["dr_a", "dr_b"])

    assert found.ratings == {Item("a"): {"dr_a": 1.0, "dr_b": 0.0}}
    assert found.unread == ("age",)
    with pytest.raises(InputError, match=r"no column 'dr_c'. Did you mean 'dr_b'"):
        read_labels(path, columns=["dr_a", "dr_c"])


def test_a_label_column_is_read_as_before_and_others_that_could_be_labels_are_named(tmp_path):
    found = read_labels(write(tmp_path, "id,label,dr_b\na,1,0\n"))

    assert found.ratings == {Item("a"): {"": 1.0}}
    assert found.unread == ("dr_b",)


def test_a_mistake_of_forty_rows_is_told_once_with_its_count_and_first_lines(tmp_path):
    text = "id,label\n" + "".join(f"c{at},{at + 5}\n" for at in range(40)) + "x,\ny,\n"

    with pytest.raises(InputError) as found:
        read_labels(write(tmp_path, text))

    scale, empty = found.value.problems
    assert "'5' is not from 0 to 1" in scale.message
    assert scale.message.endswith("So it is in 40 rows: lines 2, 3, 4 and 37 more.")
    assert (scale.line, empty.line) == (2, 42)
    assert empty.message.endswith("So it is in 2 rows: lines 42, 43.")


def test_wrong_columns_are_one_mistake(tmp_path):
    with pytest.raises(InputError, match="or id and a column for each person; it has nr, dr_a") as found:
        read_labels(write(tmp_path, "nr,dr_a\n" + "1,1\n" * 40))

    assert len(found.value.problems) == 1


@pytest.mark.parametrize(
    ("text", "message"), [("id,label\n,1\n", "the id is empty"), ("id,label\n", "no labels in it")]
)
def test_a_row_without_an_id_and_a_sheet_without_rows_are_told(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read_labels(write(tmp_path, text))


def test_a_scale_without_extent_is_refused(tmp_path):
    with pytest.raises(InputError, match="not from 3 to 3"):
        read_labels(write(tmp_path, "id,label\na,3\n"), span=(3, 3))
