"""Recall and precision of what was retrieved, against published examples and by their laws."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_eval import evaluate
from cortex_eval.core import Case, InputError, Reply, Score, to_json
from cortex_eval.scoring import scorers
from cortex_eval.scoring.retrieval import ContextPrecision, ContextRecall, average_precision, overlap
from cortex_eval.targets import RecordedTarget

CAPITAL = "Paris is the capital of France."
LANDMARK = "The Eiffel Tower is one of the most famous landmarks in Paris."
GATE = "The Brandenburg Gate is located in Berlin."
XQUAD = Path(__file__).parents[2].parent / "shared" / "data" / "xquad_enhi" / "xquad_en_hi.jsonl"


def case(*passages: str, **metadata: Any) -> Case:
    return Case.of("Where is it?", id="1", passages=passages, metadata=metadata)


async def recall(wanted: Case, reply: Reply, **settings: Any) -> Score:
    return await ContextRecall(**settings).score(wanted, reply)


async def precision(wanted: Case, reply: Reply, **settings: Any) -> Score:
    return await ContextPrecision(**settings).score(wanted, reply)


async def test_recall_of_ragas_example():
    # docs.ragas.io, Context Recall, NonLLMContextRecall: one of the two reference contexts is retrieved.
    score = await recall(case(CAPITAL, LANDMARK), Reply(contexts=(CAPITAL,)))

    assert score.value == 0.5
    assert score.reason.startswith("1 of 2 wanted passages were retrieved; missing: The Eiffel Tower")
    assert [row["retrieved"] for row in score.evidence["wanted"]] == [True, False]
    to_json(score.evidence)


async def test_precision_of_ragas_example():
    # docs.ragas.io, Context Precision, NonLLMContextPrecisionWithReference: 0.9999999999, with 1e-10 in the divisor.
    score = await precision(case(CAPITAL, LANDMARK), Reply(contexts=("The Eiffel Tower is located in Paris.",)))

    assert score.value == 1.0


async def test_an_unwanted_passage_costs_only_before_a_wanted_one():
    # docs.ragas.io, Context Precision: the Brandenburg Gate behind leaves it at 1, before it makes it 1/2.
    behind = await precision(case(LANDMARK), Reply(contexts=(LANDMARK, GATE)))
    before = await precision(case(LANDMARK), Reply(contexts=(GATE, LANDMARK)))

    assert (behind.value, before.value) == (1.0, 0.5)
    assert before.reason == "1 of 2 retrieved passages were wanted, at rank 2."


async def test_recall_by_ids_of_ragas_example():
    # docs.ragas.io, IDBasedContextRecall and IDBasedContextPrecision; the latter is a plain share there, ranked here.
    wanted = case(reference_context_ids=["doc_1", "doc_4", "doc_5", "doc_6"])

    three = await recall(wanted, Reply(contexts=("doc_1", "doc_2", "doc_3")))
    four = await precision(wanted, Reply(contexts=("doc_1", "doc_2", "doc_3", "doc_4")))

    assert (three.value, three.evidence["by"]) == (0.25, "ids")
    assert four.value == (1 / 1 + 2 / 4) / 2


@pytest.mark.parametrize(
    ("relevant", "value"),
    [
        ([True, False, True, False, False, True], (1 + 2 / 3 + 3 / 6) / 3),
        ([False, True, True], (1 / 2 + 2 / 3) / 2),
        ([False, False, False], 0.0),
        ([], 0.0),
    ],
)
def test_average_precision_by_hand(relevant, value):
    assert average_precision(relevant) == pytest.approx(value, abs=1e-12)


@given(st.lists(st.booleans(), max_size=12))
def test_average_precision_is_in_range_and_best_when_all_wanted_ones_stand_first(relevant):
    best = average_precision(sorted(relevant, reverse=True))

    assert 0 <= average_precision(relevant) <= best
    assert best == float(any(relevant))


@given(st.permutations([CAPITAL, LANDMARK, GATE, "Rome lies on the Tiber, a river of central Italy."]))
def test_recall_does_not_depend_on_the_order(contexts):
    compared = ContextRecall().compare(case(CAPITAL, LANDMARK), Reply(contexts=tuple(contexts[:3])))

    assert sum(compared.found) == len({CAPITAL, LANDMARK} & set(contexts[:3]))


@pytest.mark.parametrize(
    ("wanted", "retrieved", "is_same"),
    [
        (CAPITAL, "It is known that PARIS is the capital  of France, and has been for long.", True),
        ("Paris", "The capital is Paris.", True),  # a short wanted text stands in it
        ("The capital of France is Paris, on the Seine, with two million people.", "Paris", False),
        (LANDMARK, GATE, False),
        (CAPITAL, "Paris is warm.", False),  # a word or two in common are an accident
        ("अदरक मतली को कम करता है और पाचन सुधारता है।", "पाचन सुधारता है और अदरक मतली को कम करता है", True),
        (CAPITAL, "", False),
    ],
)
async def test_when_two_texts_are_the_same_passage(wanted, retrieved, is_same):
    assert (overlap(wanted, retrieved) >= 0.5) is is_same


async def test_a_higher_overlap_asks_for_chunks_that_are_cut_alike():
    wanted = case("Ginger eases nausea, warms the stomach, aids digestion, thins blood and tastes sharp.")
    reply = Reply(contexts=("Ginger eases nausea, warms the stomach, and it grows well beside rivers of Kerala.",))

    assert (await recall(wanted, reply)).value == 1.0
    assert (await recall(wanted, reply, min_overlap=0.9)).value == 0.0


async def test_ids_go_before_texts_where_both_sides_have_them():
    reply = Reply(contexts=(CAPITAL, GATE), metadata={"passages": [{"id": "p1"}, {"id": "p2", "source": "Berlin.pdf"}]})

    by_ids = await recall(case(CAPITAL, reference_context_ids=["P2"]), reply)
    by_source = await recall(case(CAPITAL, wanted_files="berlin.pdf; rome.pdf"), reply, ids="wanted_files")
    by_text = await recall(case(CAPITAL, reference_context_ids=["P2"]), Reply(contexts=(CAPITAL, GATE)))
    ids_as_passages = await recall(case("p1", "p7"), reply)

    assert (by_ids.value, by_ids.evidence["by"]) == (1.0, "ids")
    assert by_source.value == 0.5
    assert (by_text.value, by_text.evidence["by"]) == (1.0, "text")
    assert (ids_as_passages.value, ids_as_passages.evidence["by"]) == (0.5, "ids")


async def test_reference_contexts_of_the_dataset_go_before_its_passages():
    wanted = case(GATE, reference_contexts=[CAPITAL])

    assert (await recall(wanted, Reply(contexts=(CAPITAL,)))).value == 1.0


@pytest.mark.parametrize("score", [recall, precision])
async def test_what_is_not_known_is_not_zero(score):
    unknown_wanted = await score(case(), Reply(contexts=(CAPITAL,)))
    unknown_found = await score(case(CAPITAL), Reply())
    no_common_ground = await score(case(CAPITAL), Reply(contexts=("d1", "d2")))

    assert (unknown_wanted.value, unknown_found.value, no_common_ground.value) == (None, None, None)
    assert "does not say what should be retrieved" in unknown_wanted.reason
    assert "does not say what was retrieved" in unknown_found.reason
    assert "cannot be compared" in no_common_ground.reason


@pytest.mark.parametrize("score", [recall, precision])
async def test_for_a_target_that_always_tells_nothing_retrieved_is_zero(score):
    assert (await score(case(CAPITAL), Reply(), required=True)).value == 0.0
    assert (await score(case(), Reply(), required=True)).value is None


def test_settings_are_checked_and_names_are_offered():
    with pytest.raises(InputError, match="min_overlap"):
        scorers.build("context_recall", {"min_overlap": 1.5})
    with pytest.raises(InputError, match="context_precision"):
        scorers.find("context_precison")


def test_a_run_scores_what_a_rag_function_retrieved():
    rows = [
        {"question": "The capital?", "passages": [CAPITAL, LANDMARK], "answer": "Paris"},
        {"question": "Anything?", "answer": "No"},
    ]
    report = evaluate(
        rows,
        target=lambda question: {"answer": "Paris.", "contexts": [GATE, CAPITAL]},
        scorers=["context_recall", "context_precision"],
        store=None,
    )

    first, second = report.results
    assert {name: score["value"] for name, score in first.scores.items()} == {
        "context_recall": 0.5,
        "context_precision": 0.5,
    }
    assert {score["value"] for score in second.scores.values()} == {None}


@pytest.mark.skipif(not XQUAD.exists(), reason="the shared data is not here")
@pytest.mark.parametrize("language", ["en", "hi"])
def test_the_figures_of_the_page_hold_on_xquad(language):
    rows = [json.loads(line) for line in XQUAD.read_text(encoding="utf-8").splitlines()]
    texts = [(row["title"], row[f"context_{language}"]) for row in rows]
    halves, shifted, same_article = [], [], []
    for place, (title, text) in enumerate(texts):
        tokens, other = text.split(), texts[place - 7][1].split()
        middle = len(tokens) // 2
        halves.append(overlap(text, " ".join(tokens[:middle])))
        shifted.append(overlap(text, " ".join([*tokens[middle:], *other[:middle]])))
        same_article += [overlap(text, each) for name, each in texts if name == title and each != text]

    assert min(halves) == 1.0
    assert sum(value >= 0.5 for value in shifted) / len(shifted) > 0.9
    assert max(same_article) < 0.5


@pytest.mark.parametrize("name", ["context_recall", "context_precision"])
def test_what_was_retrieved_is_not_compared_with_itself(name):
    sample = {"user_input": "Where is it?", "response": "In Paris.", "retrieved_contexts": [CAPITAL, LANDMARK]}

    alone, with_reference, with_ids = evaluate(
        [
            sample,
            {**sample, "user_input": "Where?", "reference_contexts": [LANDMARK]},
            {**sample, "user_input": "And?", "reference_context_ids": ["d1"], "retrieved_contexts": ["d1", "d2"]},
        ],
        RecordedTarget(),
        [name],
        store=None,
    ).results

    assert alone.scores[name]["value"] is None
    assert "reference_contexts" in alone.scores[name]["reason"]
    assert with_reference.scores[name]["value"] is not None
    assert with_ids.scores[name]["value"] is not None


async def test_a_target_that_finds_exactly_the_passages_of_the_case_is_scored():
    assert (await recall(case(CAPITAL, LANDMARK), Reply(contexts=(CAPITAL, LANDMARK)))).value == 1
