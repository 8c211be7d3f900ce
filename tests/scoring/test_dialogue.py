import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_eval.core import Case, Expected, InputError, Reply, ToolCall, Turn
from cortex_eval.scoring import can_embed, plan_scorer, run_scorer, scorers
from cortex_eval.scoring.dialogue import Entities, Intent, Tool
from cortex_eval.scoring.pairs import flatten, squeeze, squeeze_name

DATA = Path(__file__).parents[3] / "shared/data"
VALUES = st.one_of(st.text(max_size=12), st.integers(), st.booleans(), st.none(), st.floats(allow_nan=False))
NESTED = st.dictionaries(st.text(min_size=1, max_size=6), VALUES | st.lists(VALUES, max_size=3), max_size=5)


def case(**expected: object) -> Case:
    return Case(id="1", turns=(Turn(text="?", expected=Expected(**expected)),))


@pytest.mark.parametrize("found", ["DATA_SEARCH", "data_search", "data-search", "Data Search", " data.search "])
async def test_an_intent_is_the_same_in_any_case_and_with_any_separator(found):
    score = await Intent().score(case(intent="DATA_SEARCH"), Reply(intent=found))

    assert score.value == 1


async def test_a_wrong_or_missing_intent_is_zero_and_none_expected_is_not_applicable():
    wrong = await Intent().score(case(intent="DATA_SEARCH"), Reply(intent="DATA_SCAN"))
    missing = await Intent().score(case(intent="DATA_SEARCH"), Reply(text="Hello"))
    unasked = await Intent().score(case(answer="Hello"), Reply(intent="GREETING"))

    assert (wrong.value, missing.value, unasked.value) == (0, 0, None)
    assert wrong.reason == "The intent is DATA_SCAN; expected DATA_SEARCH."
    assert wrong.evidence == {"expected_label": "DATA_SEARCH", "found_label": "DATA_SCAN"}
    assert missing.evidence["found_label"] is None


async def test_a_near_intent_gets_the_credit_of_the_map_and_only_in_its_direction():
    near = plan_scorer("intent", settings={"near": {"data-search": {"Data Scan": 0.5}}})

    forth = await run_scorer(near, case(intent="DATA_SEARCH"), Reply(intent="DATA_SCAN"))
    back = await run_scorer(near, case(intent="DATA_SCAN"), Reply(intent="DATA_SEARCH"))

    assert (forth.value, forth.passed, back.value) == (0.5, False, 0)
    assert "near" in forth.reason


async def test_stating_no_intent_is_right_where_the_question_is_out_of_scope():
    score = await Intent().score(case(intent="oos"), Reply(text="I cannot help with that."))

    named = await Intent().score(case(intent="oos"), Reply(intent="out of scope"))
    other = await Intent().score(case(intent="oos"), Reply(intent="GREETING"))

    assert (score.value, named.value, other.value) == (1, 1, 0)
    assert score.evidence == named.evidence == {"expected_label": None, "found_label": None}


def test_a_credit_outside_0_to_1_and_a_wrong_match_are_told_before_the_run():
    with pytest.raises(InputError, match=r"intent\.near\.a\.b must be a number from 0 to 1, not 2"):
        scorers.build("intent", {"near": {"a": {"b": 2}}})
    with pytest.raises(InputError, match=r"entities\.match: must be 'exact' or 'normalised' or 'semantic'"):
        scorers.build("entities", {"match": "fuzzy"})


async def test_the_example_of_seed_003_has_its_precision_recall_and_f1():
    # Seed 003 §4.2.3
    expected = {"data_type": "RNA-seq", "disease": "breast cancer"}

    score = await Entities(match="exact").score(case(entities=expected), Reply(entities={"data_type": "rna-SEQ"}))

    assert score.evidence["precision"] == 1
    assert score.evidence["recall"] == 0.5
    assert score.value == pytest.approx(0.67, abs=0.004)
    assert score.evidence["missing"] == [{"key": "disease", "value": "breast cancer"}]
    assert score.reason == "1 of 2 expected entities found; missing: disease = breast cancer."


@pytest.mark.parametrize(
    ("expected", "found", "value", "precision", "recall"),
    [
        ({}, {}, 1, 1, 1),
        ({}, None, 1, 1, 1),
        ({}, {"a": "x"}, 0, 0, None),
        ({"a": "x"}, {}, 0, None, 0),
        ({"a": "x"}, None, 0, None, 0),
        ({"a": "x", "b": None, "c": ""}, {"a": "X", "d": []}, 1, 1, 1),
        ({"a": ["x", "y"]}, {"a": "y"}, 2 / 3, 1, 0.5),
        ({"a": {"b": 8}}, {"a": {"b": "8"}}, 1, 1, 1),
        ({"n": 8.0, "on": True}, {"n": 8, "on": "true"}, 1, 1, 1),
    ],
)
async def test_nothing_expected_and_nothing_found_is_right_and_undefined_is_not_zero(
    expected, found, value, precision, recall
):
    score = await Entities().score(case(entities=expected), Reply(entities=found))

    assert score.value == pytest.approx(value)
    assert (score.evidence["precision"], score.evidence["recall"]) == (precision, recall)


async def test_without_a_word_on_entities_they_are_not_looked_at():
    assert (await Entities().score(case(intent="x"), Reply(entities={"a": "b"}))).value is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("RNA-seq", "RNAseq"),
        ("RNA-seq", "rna seq"),
        ("COVID-19", "covid 19"),
        ("Alzheimer's disease", "alzheimers disease"),
        ("p.m.", "PM"),
        ("IL–2", "IL-2"),
        ("सीने में दर्द", "सीने  में दर्द"),
        ("१२ mg", "12mg"),
        ("क़लम", "क़लम"),
        ("ﬁber", "fiber"),
        ("東京", "東京"),
    ],
)
def test_spellings_of_one_value_are_the_same(one, other):
    assert squeeze(one) == squeeze(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2.5", "25"),
        ("1-2", "12"),
        ("-5", "5"),
        ("CD4+", "CD4"),
        ("C#", "C"),
        ("2 5", "25"),
        ("दर्द", "दद"),
        ("1,5", "15"),
    ],
)
def test_values_that_differ_in_more_than_spelling_stay_different(one, other):
    assert squeeze(one) != squeeze(other)


async def test_exact_matching_knows_case_only():
    expected, found = case(entities={"data_type": "RNA-seq"}), Reply(entities={"Data_Type": "RNAseq"})

    assert (await Entities(match="exact").score(expected, found)).value == 0
    assert (await Entities().score(expected, found)).value == 1


async def test_aliases_name_other_words_for_a_value():
    scorer = Entities(aliases={"myocardial infarction": ("heart attack", "MI")})

    score = await scorer.score(case(entities={"disease": "Heart Attack"}), Reply(entities={"disease": "MI"}))

    assert score.value == 1


@pytest.mark.skipif(not can_embed(), reason="the extra `embed` is not installed")
async def test_semantic_matching_takes_other_words_and_never_another_number():
    scorer = Entities(match="semantic")

    same = await scorer.score(
        case(entities={"disease": "breast cancer"}), Reply(entities={"disease": "breast carcinoma"})
    )
    other = await scorer.score(case(entities={"disease": "breast cancer"}), Reply(entities={"disease": "lung cancer"}))
    number = await scorer.score(case(entities={"cpu": "8 threads"}), Reply(entities={"cpu": "16 threads"}))
    key = await scorer.score(case(entities={"tissue": "tumor"}), Reply(entities={"disease": "tumour"}))

    assert (same.value, other.value, number.value, key.value) == (1, 0, 0, 0)
    assert same.evidence["matched"] == [{"key": "disease", "expected": "breast cancer", "found": "breast carcinoma"}]
    assert same.evidence["method"] == "semantic"


async def test_semantic_matching_falls_back_to_spellings_and_says_so(monkeypatch):
    monkeypatch.setattr("cortex_eval.scoring.dialogue.can_embed", lambda: False)
    expected = case(entities={"a": "RNA-seq", "b": "tumor"})

    score = await Entities(match="semantic").score(expected, Reply(entities={"a": "RNAseq", "b": "tumour"}))

    assert score.value == 0.5
    assert "Spellings were compared" in score.reason
    assert score.evidence["method"] == "normalised"


@given(one=NESTED, other=NESTED)
def test_f1_is_symmetric_in_range_and_1_for_the_same(one, other):
    matches = Entities()._by_spelling(flatten(one), flatten(other))
    back = Entities()._by_spelling(flatten(other), flatten(one))

    assert len(matches.matched) == len(back.matched)
    assert len(matches.missing) == len(back.extra)
    assert not Entities()._by_spelling(flatten(one), flatten(one)).missing


@given(st.text(st.sampled_from("aB1 -_.,'+दर्आ東é"), max_size=20))
def test_squeezing_twice_changes_nothing_more(text):
    assert squeeze(squeeze(text)) == squeeze(text)
    assert squeeze_name(squeeze_name(text)) == squeeze_name(text)


@given(st.text())
def test_any_text_can_be_squeezed(text):
    assert isinstance(squeeze(text), str)
    assert isinstance(squeeze_name(text), str)


async def test_a_tool_is_looked_at_only_where_one_is_expected():
    right = await Tool().score(case(tool="search_data"), Reply(tool="search-data"))
    wrong = await Tool().score(case(tool="search_data"), Reply(tool="scan_data"))
    none = await Tool().score(case(tool="search_data"), Reply(text="Hello"))
    unasked = await Tool().score(case(intent="x"), Reply(tool="search_data"))

    assert (right.value, wrong.value, none.value, unasked.value) == (1, 0, 0, None)
    assert wrong.reason == "The tool is scan_data; expected search_data."
    assert none.reason == "The tool is none; expected search_data."


async def test_an_expected_tool_may_be_among_the_calls_unless_the_reply_names_another():
    calls = (ToolCall(name="search_data"), ToolCall(name="summarise"))

    listed = await Tool().score(case(tool="summarise"), Reply(tool_calls=calls))
    named = await Tool().score(case(tool="summarise"), Reply(tool="search_data", tool_calls=calls))

    assert (listed.value, named.value) == (1, 0)


async def test_none_is_a_tool_that_can_be_expected():
    assert (await Tool().score(case(tool="none"), Reply(text="Hello"))).value == 1
    assert (await Tool().score(case(tool="none"), Reply(tool="search"))).value == 0


A, B = ToolCall(name="a", arguments={"x": 1}), ToolCall(name="b")


@pytest.mark.parametrize(
    ("called", "settings", "value"),
    [
        ((A, B), {}, 1),
        ((B, A), {}, 0),
        ((B, A), {"order": "any"}, 1),
        ((A,), {}, 0),
        ((A,), {"partial_credit": True}, 0.5),
        ((A, B, B), {}, 0),
        ((A, B, B), {"allow_extra": True}, 1),
        ((A, B, B), {"partial_credit": True}, 2 / 3),
        ((ToolCall(name="a", arguments={"x": 2}), B), {}, 0),
        ((ToolCall(name="a", arguments={"x": 2}), B), {"arguments": False}, 1),
        ((ToolCall(name="a", arguments={"x": "1"}), B), {}, 1),
        ((ToolCall(name="a", arguments={"x": "1"}), B), {"match": "exact"}, 0),
        ((ToolCall(name="a", arguments={"x": 1.0}), B), {"match": "exact"}, 1),
        ((ToolCall(name="a", arguments={"x": True}), B), {"match": "exact"}, 0),
        ((ToolCall(name="a", arguments={"x": 1, "y": 2}), B), {}, 0),
        ((ToolCall(name="a", arguments={"x": 1, "y": 2}), B), {"allow_extra": True}, 1),
        ((ToolCall(name="a"), B), {}, 0),
        ((), {}, 0),
    ],
)
async def test_a_sequence_is_compared_call_by_call(called, settings, value):
    score = await Tool(**settings).score(case(tools=(A, B)), Reply(tool_calls=called))

    assert score.value == pytest.approx(value)
    assert (score.value == 1) == score.reason.startswith("Every expected call")


async def test_a_reply_with_one_tool_and_its_arguments_is_a_sequence_of_one():
    score = await Tool().score(case(tools=(A,)), Reply(tool="A", arguments={"x": 1}))

    assert score.value == 1


async def test_calls_that_fit_several_expectations_are_shared_out_as_well_as_can_be():
    any_x, x1 = ToolCall(name="a"), ToolCall(name="a", arguments={"x": 1})
    x2 = ToolCall(name="a", arguments={"x": 2})

    score = await Tool(order="any").score(case(tools=(any_x, x1)), Reply(tool_calls=(x1, x2)))

    assert score.value == 1


async def test_nested_arguments_are_compared_all_through():
    wanted = ToolCall(name="a", arguments={"where": {"city": "San Jose", "seats": [1, 2]}})
    same = ToolCall(name="a", arguments={"where": {"seats": [1, 2], "city": "san  jose"}})
    other = ToolCall(name="a", arguments={"where": {"seats": [2, 1], "city": "San Jose"}})

    assert (await Tool().score(case(tools=(wanted,)), Reply(tool_calls=(same,)))).value == 1
    assert (await Tool().score(case(tools=(wanted,)), Reply(tool_calls=(other,)))).value == 0


@pytest.mark.skipif(not (DATA / "snips").exists(), reason="the SNIPS sample is not here")
async def test_gold_replies_are_right_on_snips_and_damaged_ones_lose_what_was_taken():
    rows = [json.loads(line) for line in (DATA / "snips/test.jsonl").read_text("utf-8").split("\n")[:200] if line]
    whole = damaged = 0.0
    for row in rows:
        gold: dict[str, list[str]] = {}
        for entity in row["entities"]:
            gold.setdefault(entity["slot"], []).append(entity["value"])
        expected = case(intent=row["intent"], entities=gold)
        first = next(iter(gold))
        whole += (
            await Entities().score(expected, Reply(entities={k: [v.upper() for v in vs] for k, vs in gold.items()}))
        ).value
        lost = await Entities().score(expected, Reply(entities={k: v for k, v in gold.items() if k != first}))
        assert lost.value < 1
        damaged += lost.value
        assert (await Intent().score(expected, Reply(intent=row["intent"].lower()))).value == 1
    assert whole == len(rows)
    assert 0.2 < damaged / len(rows) < 0.9


@pytest.mark.skipif(not (DATA / "bfcl").exists(), reason="the BFCL sample is not here")
async def test_accepted_answers_of_bfcl_are_right_in_their_order_and_any_other_only_by_setting():
    lines = (DATA / "bfcl/possible_answer/parallel.jsonl").read_text("utf-8").split("\n")
    for line in [each for each in lines if each][:60]:
        calls = tuple(
            ToolCall(
                name=name, arguments={key: accepted[0] for key, accepted in arguments.items() if accepted[0] != ""}
            )
            for answer in json.loads(line)["ground_truth"]
            for name, arguments in answer.items()
        )
        expected = case(tools=calls)
        assert (await Tool(match="exact").score(expected, Reply(tool_calls=calls))).value == 1
        if len(calls) > 1:
            assert (await Tool().score(expected, Reply(tool_calls=calls[1:]))).value == 0
            assert (await Tool(order="any").score(expected, Reply(tool_calls=calls[::-1]))).value == 1
