"""The coverage matrix: what a dataset tries out, and what nobody does."""

from __future__ import annotations

import pytest
from made_results import made_report, made_result, simple_results

from cortex_eval.analysis import KINDS, coverage_of
from cortex_eval.analysis.coverage import Coverages
from cortex_eval.core import Case, Expected, InputError, Turn


def case(number, *turns, **fields):
    made = tuple(Turn(text=f"question {i}", **each) for i, each in enumerate(turns))
    return Case(id=f"c{number}", turns=made, **fields)


def wants(intent, **entities):
    return {"expected": Expected(intent=intent, entities=entities or None)}


CASES = [
    case(0, wants("SEARCH", disease="flu", organ="lung"), category="data"),
    case(1, wants("search"), category="edge_cases"),
    case(2, wants("SEARCH"), {**wants("SHOW"), "requires_context": True}, category="multi_turn"),
    case(3, wants("SHOW", sizes=["a", "b"]), context={"previous": "x"}),
    case(4, wants("HELP"), tags=("adversarial",)),
    case(5, {}, category="data"),
]


def test_every_turn_is_counted_in_each_kind_that_it_is_of():
    found = coverage_of(CASES)

    assert (found.by, found.cases, found.turns) == ("intent", 6, 7)
    assert {name: [row.turns, *(row.counts[kind] for kind in KINDS)] for name, row in found.rows.items()} == {
        #          turns, single, multi, context, entities, edge
        "SEARCH": [3, 2, 1, 0, 1, 1],
        "SHOW": [2, 1, 1, 2, 1, 0],
        "HELP": [1, 1, 0, 0, 0, 1],
        "(none)": [1, 1, 0, 0, 0, 0],
    }
    assert found.rows["HELP"].gaps == ("multi_turn", "context", "entity_heavy")
    assert (found.gaps, found.cells) == (1 + 1 + 3 + 4, 20)


def test_without_intents_the_rows_are_categories():
    found = coverage_of([case(0, {}, category="a"), case(1, {}, {}, category="a"), case(2, {}, category="b")])

    assert found.by == "category"
    assert found.rows["a"].counts["multi_turn"] == 2
    assert list(found.rows) == ["a", "b"]


def test_history_makes_a_single_turn_one_of_several_with_context():
    before = (Turn(text="Hello"), Turn(text="Hi", role="assistant"))
    found = coverage_of([case(0, {}, category="a", history=before)])

    assert found.rows["a"].counts == dict(zip(KINDS, (0, 1, 1, 0, 0), strict=True))


def test_nothing_to_make_rows_of_is_told():
    with pytest.raises(InputError, match="None of the 1 cases expects an intent or states a category"):
        coverage_of([case(0, {})])
    with pytest.raises(InputError, match="expects an intent, so"):
        coverage_of([case(0, {}, category="a")], by="intent")


def test_a_report_has_the_matrix_of_the_cases_that_were_played():
    rows = [made_result(each, i, repeat=repeat) for i, each in enumerate(CASES[:2]) for repeat in range(2)]

    report = made_report(rows)

    assert report.coverage == coverage_of(CASES[:2])
    assert report.to_dict()["coverage"]["rows"]["SEARCH"]["gaps"] == ["multi_turn", "context"]


def test_a_report_of_plain_questions_has_none():
    report = made_report(simple_results(3))

    assert report.coverage is None
    assert "coverage" not in report.to_dict()


def test_too_many_different_intents_are_counted_and_not_kept(monkeypatch):
    monkeypatch.setattr("cortex_eval.analysis.coverage.CELLS_KEPT", 2)
    found = coverage_of([case(i, wants(f"I{i}")) for i in range(5)])

    assert (found.turns, found.left_out, len(found.rows)) == (5, 3, 2)


def test_what_a_question_says_is_not_taken_for_what_it_is():
    counted = Coverages()
    counted.add(b'{"id":"1","turns":[{"text":"is \\"intent\\": a \\"text\\": key?"}],"category":"a"}', "a")

    assert counted.summed().rows["a"].counts["single_turn"] == 1
