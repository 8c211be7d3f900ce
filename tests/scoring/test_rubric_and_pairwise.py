"""Weighted criteria and comparisons in both orders."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judges_at_work import judged_by, score_by, shown

from cortex_eval.core import Case, Criterion, Expected, InputError, JudgeError, Reply, Turn
from cortex_eval.datasets import read_cases
from cortex_eval.scoring import run_scorer
from cortex_eval.scoring.pairwise import Pairwise
from cortex_eval.scoring.rubric import Rubric, points_won

HEALTHBENCH = Path(__file__).parents[3] / "shared" / "data" / "healthbench_sample" / "judge_responses.jsonl"


def case_with(*points: float, **fields) -> Case:
    rubric = tuple(Criterion(criterion=f"Criterion {at}.", points=each) for at, each in enumerate(points))
    return Case(id="1", turns=(Turn(text="Hello?", expected=Expected(rubric=rubric)),), **fields)


def meets(*numbers: int):
    def says(seen: dict[str, str]) -> dict[str, str]:
        is_met = any(seen["criterion"] == f"Criterion {each}." for each in numbers)
        return {"reason": "So it is.", "met": "yes" if is_met else "no"}

    return says


# Rubrics


async def test_points_of_what_is_met_over_the_positive_points():
    score = await score_by(Rubric(), case_with(5, 3, -4), Reply(text="Hi."), meets(0, 2))

    assert (score.value, score.measure) == (pytest.approx(1 / 8), pytest.approx(1 / 8))
    assert score.reason == "2 of 3 criteria met, 0.12 of the points that could be won. Costliest: “Criterion 2.” (-4)."
    assert [each["met"] for each in score.evidence["criteria"]] == [True, False, True]
    assert score.evidence["attempts"] == 3


async def test_a_score_below_zero_is_zero_and_its_measure_says_how_far_below():
    score = await score_by(Rubric(), case_with(2, -6), Reply(text="Hi."), meets(1))

    assert (score.value, score.measure) == (0.0, -3.0)


@pytest.mark.parametrize("points", [(), (-2.0,)], ids=["no rubric", "nothing to win"])
async def test_a_rubric_without_points_to_win_does_not_apply_and_nobody_is_asked(points):
    async with judged_by(Rubric(), meets(0)) as (planned, [model]):
        score = await run_scorer(planned, case_with(*points), (Reply(text="Hi."),))

    assert (score.value, model.ledger) == (None, [])


async def test_the_whole_conversation_is_shown_and_criteria_of_all_turns_and_settings_count_once():
    line = Criterion(criterion="Criterion 0.", points=1)
    turns = (Turn(text="One?", expected=Expected(rubric=(line,))), Turn(text="Two?", expected=Expected(rubric=(line,))))
    case = Case(id="1", turns=turns, history=(Turn(text="Before."),))
    rubric = Rubric(criteria=(Criterion(criterion="Criterion 1.", points=2),))

    async with judged_by(rubric, meets(0)) as (planned, [model]):
        score = await run_scorer(planned, case.at(1), (Reply(text="First."), Reply(text="Second.")))

    assert score.value == pytest.approx(1 / 3)
    assert len(model.ledger) == 2
    assert shown(model.ledger[0])["conversation"].endswith("user: Two?\n\nassistant: Second.")


async def test_one_criterion_without_a_verdict_is_an_error_and_the_others_are_not_asked_again(store):
    def says(seen):
        return "What?" if seen["criterion"] == "Criterion 1." and is_broken else {"reason": "", "met": "yes"}

    is_broken = True
    async with judged_by(Rubric(attempts=1), says, cache=store.cache) as (planned, [model]):
        with pytest.raises(JudgeError):
            await run_scorer(planned, case_with(1, 1, 1), (Reply(text="Hi."),))
        await store.flush()
        is_broken = False
        score = await run_scorer(planned, case_with(1, 1, 1), (Reply(text="Hi."),))

    assert score.value == 1.0
    assert len(model.ledger) == 4
    assert (score.evidence["attempts"], score.evidence["cached"]) == (1, False)  # what was paid for this time


def test_a_criterion_without_words_or_points_is_told_before_the_run():
    with pytest.raises(InputError, match="points that are not 0"):
        Rubric(criteria=(Criterion(criterion="Kind.", points=0),))


@given(st.lists(st.tuples(st.floats(-10, 10), st.booleans()), max_size=20))
def test_no_rubric_gives_more_than_all_its_points(lines):
    points, met = [each[0] for each in lines], [each[1] for each in lines]
    won = points_won(points, met)

    assert won is None if not any(each > 0 for each in points) else won <= 1 + 1e-9
    if won is not None and all(is_met == (each > 0) for each, is_met in lines if each):
        assert won == pytest.approx(1)


@pytest.mark.skipif(not HEALTHBENCH.exists(), reason="the public data sets are not beside the repository")
async def test_recorded_verdicts_of_healthbench_give_the_recorded_scores():
    rows = [json.loads(line) for line in HEALTHBENCH.read_text("utf-8").split("\n") if line]
    for row in rows:
        said = ast.literal_eval(row["responses"])
        won = points_won([each["points"] for each in said], [each["response_dict"]["criteria_met"] for each in said])
        assert won == pytest.approx(row["score"], abs=1e-6)


@pytest.mark.skipif(not HEALTHBENCH.exists(), reason="the public data sets are not beside the repository")
async def test_a_conversation_of_healthbench_is_read_judged_and_scored_as_recorded():
    row = json.loads(HEALTHBENCH.read_text("utf-8").split("\n")[0])
    said = ast.literal_eval(row["responses"])
    met = {line["criterion"]: each["response_dict"] for line, each in zip(row["rubrics"], said, strict=True)}
    case = next(iter(read_cases(HEALTHBENCH, skip_invalid=True)))
    assert [each.criterion for each in case.expected.rubric] == list(met)

    def says(seen):
        found = met[seen["criterion"]]
        return {"reason": found["explanation"], "met": "yes" if found["criteria_met"] else "no"}

    score = await score_by(Rubric(), case, Reply(text=row["prompt_response"][-1]["content"]), says)

    assert score.measure == pytest.approx(row["score"], abs=1e-6)


# Pairs


CASE = Case.of("Where?", "At the clinic.", id="1")


def prefers(text: str):
    """A judge who knows what it likes, wherever it stands."""

    def says(seen: dict[str, str]) -> dict[str, str]:
        return {"reason": f"{text} is better.", "winner": "first" if seen["first"] == text else "second"}

    return says


def always(word: str):
    return lambda seen: {"reason": "It is there.", "winner": word}


@pytest.mark.parametrize(("liked", "value"), [("At home.", 1.0), ("At the clinic.", 0.0)])
async def test_a_preference_that_survives_the_swap_counts(liked, value):
    async with judged_by(Pairwise(), prefers(liked)) as (planned, [model]):
        score = await run_scorer(planned, CASE, Reply(text="At home."))

    assert (score.value, score.measure, score.evidence["flipped"]) == (value, 0.0, False)
    assert [shown(call)["first"] for call in model.ledger] != [shown(call)["second"] for call in model.ledger]
    assert {shown(call)["first"] for call in model.ledger} == {"At home.", "At the clinic."}


@pytest.mark.parametrize("place", ["first", "second"])
async def test_a_judge_that_likes_a_place_decides_nothing_and_the_flip_is_counted(place):
    score = await score_by(Pairwise(), CASE, Reply(text="At home."), always(place))

    assert (score.value, score.measure, score.unit, score.evidence["flipped"]) == (0.5, 1.0, "flip rate", True)
    assert "no win for either" in score.reason


async def test_a_tie_in_one_order_is_no_win_and_no_flip():
    def says(seen):
        return {"reason": "", "winner": "first" if seen["first"] == "At home." else "tie"}

    score = await score_by(Pairwise(), CASE, Reply(text="At home."), says)

    assert (score.value, score.evidence["flipped"]) == (0.5, False)


async def test_the_same_text_is_a_tie_and_nobody_is_asked():
    async with judged_by(Pairwise(), always("first")) as (planned, [model]):
        score = await run_scorer(planned, CASE, Reply(text="At the clinic. "))

    assert (score.value, model.ledger) == (0.5, [])


async def test_without_another_answer_it_does_not_apply():
    score = await score_by(Pairwise(), Case.of("Where?", id="1"), Reply(text="Here."), always("first"))

    assert score.value is None


async def test_a_recorded_reply_can_be_what_is_compared_with(tmp_path):
    path = tmp_path / "old.jsonl"
    path.write_text(json.dumps({"id": "1", "text": "At sea."}) + "\n", encoding="utf-8")

    async with judged_by(Pairwise(recorded=path), prefers("At home.")) as (planned, [model]):
        score = await run_scorer(planned, CASE, Reply(text="At home."))
        unknown = await run_scorer(planned, Case.of("Where?", "x", id="2"), Reply(text="At home."))

    assert score.value == 1.0
    assert {shown(call)["second"] for call in model.ledger} == {"At sea.", "At home."}
    assert unknown.value is None
    assert "no reply for case '2'" in unknown.reason


def test_a_file_that_is_not_there_is_told_before_the_run(tmp_path):
    with pytest.raises(InputError, match="there is no file"):
        Pairwise(recorded=tmp_path / "gone.jsonl")


async def test_the_flip_rate_of_a_jury_is_the_share_of_models_that_flip():
    models = prefers("At home."), prefers("At home."), always("first")

    score = await score_by(Pairwise(), CASE, Reply(text="At home."), *models)

    assert (score.value, score.measure) == (1.0, pytest.approx(1 / 3))
    assert len(score.evidence["orders"][0]["jury"]) == 3


async def test_a_jury_that_is_split_prefers_neither():
    score = await score_by(Pairwise(), CASE, Reply(text="At home."), prefers("At home."), prefers("At the clinic."))

    assert (score.value, score.evidence["flipped"]) == (0.5, False)
