"""A citation that points nowhere is found, by id and by number; what cannot be looked up is no mistake."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_eval import evaluate
from cortex_eval.core import Case, InputError, Reply, Score, to_json
from cortex_eval.scoring import scorers
from cortex_eval.scoring.cited import Citations

CASE = Case.of("Is ginger safe?", id="1")
PASSAGES = (
    "Ginger eases nausea in early pregnancy, as several trials have shown.",
    "Adults take 250 mg a day. Charaka Samhita 1.2 advises less than that.",
    "Large doses may thin the blood and should be avoided before surgery.",
)
NAMED = {"passages": [{"id": "d1", "source": "WHO monograph"}, {"id": "d2", "source": None}, {"id": "d3"}]}


async def score(text: str = "", case: Case = CASE, settings: dict[str, Any] | None = None, **parts: Any) -> Score:
    reply = Reply(text=text, **{"contexts": PASSAGES, **parts})
    return await Citations(**settings or {}).score(case, reply)


async def test_an_id_that_was_never_retrieved_is_named():
    found = await score("Ginger helps.", citations=("d1", "d99"), metadata=NAMED)

    assert found.value == 0.5
    assert found.reason == "1 of 2 citations is not among the 3 passages retrieved: d99."
    assert found.evidence["nowhere"] == ["d99"]
    assert found.evidence["citations"][0] == {"citation": "d1", "in": "field", "retrieved": True, "passage": 1}
    assert found.evidence["retrieved"] == {"of": "reply", "count": 3, "names": ["d1", "d2", "d3"]}
    to_json(found.evidence)


async def test_a_number_beyond_the_passages_is_named():
    found = await score("Ginger helps [1]. It is quite safe [9].")

    assert (found.value, found.evidence["nowhere"]) == (0.5, ["[9]"])


async def test_when_everything_is_there_the_value_is_one():
    found = await score(
        "Ginger helps [1][2]. It thins the blood [3].", citations=("D2", "who  monograph"), metadata=NAMED
    )

    assert found.value == 1.0
    assert found.reason == "All 5 citations are among the 3 passages retrieved."


@pytest.mark.parametrize(
    ("text", "nowhere"),
    [
        ("It helps [2, 7].", ["[7]"]),
        ("It helps [2-4].", ["[4]"]),
        ("It helps [^1] and more [^8].", ["[8]"]),
        ("यह मदद करता है [१]। यह सुरक्षित है [५]।", ["[5]"]),
        ("It helps [doc2] much [doc8].", ["[doc8]"]),
        ("It helps (passage 3). It is safe (passages 3 and 4).", ["[4]"]),
        ("It helps [d3]. It is safe [d4, d1].", ["[d4]"]),
        ("It helps (source: Charaka Samhita 1.2). It cools (source: Sushruta 3).", ["(source: Sushruta 3)"]),
        ("It helps (source: WHO monograph, page 7).", []),
        ("It helps (sources: 1, 4).", ["[4]"]),
        ("It helps【2†a】 and more【8†a】.", ["【8†a】"]),
        ("It helps【4:0†handbook.pdf】.", ["【4:0†handbook.pdf】"]),
        ("It helps [1]. It helps [1] again [1]. It is safe [9].", ["[9]"]),
    ],
)  # fmt: skip
async def test_marks_are_read_as_people_and_models_write_them(text, nowhere):
    found = await score(text, metadata=NAMED)

    assert found.evidence["nowhere"] == nowhere


@pytest.mark.parametrize(
    "text",
    [
        "Ginger helps.",
        "Take one [with food] each day (in the morning).",
        "Sources:\n[1] WHO monograph\n[9] Charaka",
        "The doses are: [2, 9]",
        "I do not know.",
        "",
    ],
)
async def test_a_reply_that_cites_nothing_has_no_value(text):
    assert (await score(text, metadata=NAMED)).value is None


async def test_each_thing_counts_once_however_it_is_cited():
    found = await score("Helps [d1], and again [d1]. Yes [1] and [1].", citations=("d1", "1", "d1"), metadata=NAMED)

    assert [each["citation"] for each in found.evidence["citations"]] == ["d1", "1"]


async def test_where_citations_are_required_a_claim_without_one_is_zero_and_a_refusal_is_not():
    required = {"required": True}

    assert (await score("Ginger cures nausea.", settings=required)).value == 0.0
    assert (await score("I cannot answer that.", settings=required)).value is None
    assert (await score("Ginger cures nausea [1].", settings=required)).value == 1.0


async def test_a_target_may_count_from_zero():
    text = "Ginger helps [0]. It thins the blood [2]. It is safe [3]."

    assert (await score(text, settings={"first_number": 0})).evidence["nowhere"] == ["[3]"]
    assert (await score(text)).evidence["nowhere"] == ["[0]"]
    with pytest.raises(InputError, match="first_number"):
        scorers.build("citations", {"first_number": 2})


async def test_the_passages_of_the_case_are_what_numbers_count_when_the_target_says_nothing():
    found = await score("Ginger helps [2]. It is safe [4].", Case.of("?", id="1", passages=PASSAGES), contexts=())

    assert found.value == 0.5
    assert found.reason == "1 of 2 citations is not among the 3 passages of the case: [4]."


async def test_what_cannot_be_looked_up_is_neither_right_nor_wrong():
    nothing = await score("Ginger helps [1].", contexts=())
    without_ids = await score("Ginger helps [1].", citations=("d99",))
    only_ids = await score("Ginger helps.", citations=("d99", "17"))

    assert nothing.value is None
    assert "What was retrieved is not known" in nothing.reason
    assert without_ids.value == 1.0
    assert without_ids.evidence["citations"][0]["retrieved"] is None
    assert "Not looked up: d99; the passages came without ids." in without_ids.reason
    assert only_ids.value is None
    assert "the passages came without ids" in only_ids.reason


async def test_a_quotation_given_apart_is_found_in_its_passage():
    found = await score(citations=("Large doses may thin the blood", "Small doses may thin the hair"), metadata=NAMED)

    assert found.evidence["nowhere"] == ["Small doses may thin the hair"]


async def test_the_address_of_a_mark_is_held_against_those_of_the_passages():
    text = "It helps [1](https://who.int/a). It is safe [2](https://who.int/z)."
    sources = {"passages": [{"source": "https://who.int/a"}, {"source": "https://who.int/b"}, {}]}

    assert (await score(text, metadata=sources)).evidence["nowhere"] == ["[2](https://who.int/z)"]
    assert (await score(text, metadata=NAMED)).value == 1.0  # no passage has an address: the numbers count


@pytest.mark.parametrize(
    "parts",
    [
        {"metadata": {"retrieved_context_ids": ["d1", "d2", "d3"]}},
        {"contexts": ("d1", "d2", "d3")},
        {"contexts": tuple(to_json({"id": f"d{n}", "text": t}).decode() for n, t in enumerate(PASSAGES, 1))},
    ],
    ids=["ragas", "only ids", "objects"],
)
async def test_ids_are_found_wherever_a_target_leaves_them(parts):
    found = await score("Ginger helps [d2].", citations=("d1", "d99"), **parts)

    assert found.evidence["nowhere"] == ["d99"]


async def test_a_long_reply_with_many_marks_is_read_in_good_time():
    text = " ".join(f"Ginger eases nausea in trial {n} [{n % 5 + 1}]." for n in range(2000))

    assert (await score(text)).evidence["nowhere"] == ["[4]", "[5]"]


@given(st.text(alphabet="[]()【】†:,;-^ 019dsourceपृ१\n.", max_size=60), st.lists(st.text(max_size=8), max_size=3))
async def test_whatever_is_written_the_value_is_a_share_of_what_was_looked_up(text, citations):
    found = await score(text, citations=tuple(citations), metadata=NAMED)

    rows = found.evidence["citations"] if found.evidence else []
    looked_up = [row["retrieved"] for row in rows if row["retrieved"] is not None]
    assert found.value == (pytest.approx(sum(looked_up) / len(looked_up)) if looked_up else None)


def test_a_run_catches_made_up_citations_of_a_python_function():
    def answer(question: str) -> dict[str, Any]:
        return {
            "answer": "Ginger eases nausea [1]. It is safe [9].",
            "passages": [{"id": "d1", "text": PASSAGES[0]}, {"id": "d2", "text": PASSAGES[1]}],
            "citations": ["d2", "d99"],
        }

    report = evaluate([{"question": "Is ginger safe?"}], target=answer, scorers=["citations"], store=None)

    (result,) = report.results
    score = result.scores["citations"]
    assert (score["value"], score["passed"]) == (0.5, False)
    assert score["evidence"]["nowhere"] == ["d99", "[9]"]


def test_a_wrong_name_offers_the_right_one():
    with pytest.raises(InputError, match="citations"):
        scorers.find("citation")
    with pytest.raises(InputError, match="required"):
        scorers.build("citations", {"require": True})
