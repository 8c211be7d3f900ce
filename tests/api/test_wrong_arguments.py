"""What is wrong in a call from Python is told in one line, before anything is asked or stored."""

from __future__ import annotations

import pytest

from cortex_eval import Case, InputError, Target, Turn, evaluate, evaluate_async
from cortex_eval.storage import Store

CASES = [{"id": "1", "input": "Why?", "answer": "So."}]


def never(question: str) -> str:
    raise AssertionError(f"nothing may be asked: {question}")


def told_of(tmp_path, **given):
    """The one line that is said of a call, which must leave nothing behind."""
    store = tmp_path / "kept.db"
    with pytest.raises(InputError) as raised:
        evaluate(**{"cases": CASES, "target": never, "scorers": ["exact"], "store": store, **given})
    assert not store.exists()
    assert "\n" not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize(
    ("cases", "shown"),
    [
        (None, "None"),
        (5, "5"),
        (b"x", "b'x'"),
        ({"input": "Why?"}, "{'input': 'Why?'}"),
        (Case.of("Why?", "So.", id="1"), "Case(id='1'"),
    ],
)
def test_cases_that_are_no_list_are_refused(tmp_path, cases, shown):
    told = told_of(tmp_path, cases=cases)

    assert told.startswith(f"cases must be a list of cases or rows, or the path of a dataset file, not {shown}")


@pytest.mark.parametrize("case_id", ["", "  "])
def test_a_case_without_an_id_is_refused(tmp_path, case_id):
    cases = [Case(id=case_id, turns=(Turn(text="Why?"),))]

    assert told_of(tmp_path, cases=cases) == "row 1 is a case without an id."


@pytest.mark.parametrize("target", ["bot", 5, None, Target])
def test_a_target_that_cannot_be_called_is_refused(tmp_path, target):
    assert told_of(tmp_path, target=target).startswith(
        "target must be a function of the question, or a Target object, not "
    )


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"name": 5}, "name: must be text, not 5."),
        ({"version": 2}, "version: must be text, not 2."),
        ({"resume": 5}, "resume: must be text, not 5."),
        ({"fields": "input"}, "fields: must be keys and values, not 'input'."),
        ({"fields": {"input": 5}}, "fields.input: must be text, not 5."),
        ({"fields": {"inptu": "Frage"}}, "fields has no 'inptu'. Did you mean 'input'?"),
        ({"scorers": [{"exact": 5}]}, "The settings of the scorer 'exact' must be keys and values, not 5."),
    ],
)
def test_an_option_of_the_wrong_type_is_told_by_its_name(tmp_path, given, told):
    assert told_of(tmp_path, **given) == told


def test_a_store_that_is_no_path_is_told():
    with pytest.raises(InputError, match=r"^store: must be text or a path, not 5\.$"):
        evaluate(CASES, never, ["exact"], store=5)  # type: ignore[arg-type]  # Python does not mind


def test_a_file_with_a_mistake_leaves_no_run_and_no_dataset_behind(tmp_path):
    path = tmp_path / "cases.jsonl"
    path.write_text('{"input": "Why?"}\n{"input": "How?", "tier": 9}\n')

    with pytest.raises(InputError, match="2: tier must be 1 to 5"):
        evaluate(path, never, ["exact"], store=tmp_path / "kept.db")

    with Store(tmp_path / "kept.db") as kept:
        assert (kept.runs.all(), kept.datasets.all()) == ([], [])


async def test_it_is_told_in_a_running_loop_as_well():
    with pytest.raises(InputError, match=r"^target must be a function"):
        await evaluate_async(CASES, "bot", ["exact"], store=None)  # type: ignore[arg-type]  # as above
    with pytest.raises(InputError, match=r"^target must be a function"):
        evaluate(CASES, "bot", ["exact"], store=None)  # type: ignore[arg-type]  # as above


def in_parts(question: str):
    yield question


async def in_parts_by_and_by(question: str):
    yield question


@pytest.mark.parametrize("target", [in_parts, in_parts_by_and_by])
def test_a_target_that_gives_its_text_in_parts_is_told_what_to_return(target):
    (result,) = evaluate(CASES, target, ["exact"], store=None).results

    assert result.error is not None
    assert result.error.message.endswith("gave back a generator. Put its parts together, and return the text.")
