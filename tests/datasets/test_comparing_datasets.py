"""What changed between two datasets is told by case and field."""

import json

from cortex_eval.core import Case, Expected, Turn
from cortex_eval.datasets import ChangedCase, compare_datasets, read_cases


def test_added_removed_and_changed_cases_are_told(tmp_path):
    (tmp_path / "old.csv").write_text("id,question,ground_truth,tier\n1,Why?,So.,1\n2,How?,Thus.,\n3,When?,Now.,\n")
    (tmp_path / "new.jsonl").write_text(
        '{"id": "1", "input": "Why?", "expected": {"answer": "So!"}, "tier": 2}\n'
        '{"id": "2", "input": "How?", "expected": {"answer": "Thus."}}\n'
        '{"id": "4", "input": "Who?"}\n'
    )

    diff = compare_datasets(tmp_path / "old.csv", tmp_path / "new.jsonl")

    assert diff.added == ("4",)
    assert diff.removed == ("3",)
    assert diff.changed == (ChangedCase(id="1", fields=("expected.answer", "tier")),)
    assert (diff.unchanged, diff.is_reordered, diff.is_same) == (1, False, False)
    assert json.loads(json.dumps(diff.to_json()))["changed"] == [{"id": "1", "fields": ["expected.answer", "tier"]}]


def test_turns_are_looked_into():
    old = Case(id="1", turns=(Turn(text="a"), Turn(text="b", expected=Expected(intent="X"))))
    new = Case(id="1", turns=(Turn(text="a"), Turn(text="b", expected=Expected(intent="Y")), Turn(text="c")))

    (changed,) = compare_datasets([old], [new]).changed

    assert changed.fields == ("turns[1].expected.intent", "turns[2]")


def test_the_same_cases_in_another_order_are_reordered_not_changed():
    one, two = Case.of("a", id="1"), Case.of("b", id="2")

    diff = compare_datasets([one, two], [two, one])

    assert (diff.changed, diff.unchanged, diff.is_reordered, diff.is_same) == ((), 2, True, False)


def test_a_dataset_equals_itself_in_another_format(tmp_path):
    (tmp_path / "a.csv").write_text("id,question,b,a\n1,Why?,x,y\n")
    (tmp_path / "a.yaml").write_text("- {a: y, b: x, question: Why?, id: 1}\n")

    diff = compare_datasets(read_cases(tmp_path / "a.csv"), tmp_path / "a.yaml")

    assert diff.is_same
    assert (diff.added, diff.removed, diff.changed) == ((), (), ())
