"""Rows are recognised by their keys, in every shape that people already have."""

import pytest

from cortex_eval.core import Case, Criterion, InputError, ToolCall
from cortex_eval.datasets import cases_from


def case_of(row, **options):
    (case,) = cases_from([row], **options)
    return case


@pytest.mark.parametrize("name", ["input", "question", "query", "scenario", "user_input", "prompt", "inputs", "text"])
def test_every_name_of_the_input_is_read(name):
    assert case_of({"id": "1", name: "Hello?"}).input == "Hello?"


@pytest.mark.parametrize(
    "name",
    [
        "expected.answer",
        "ground_truth",
        "idealOutput",
        "ideal_output",
        "expected_output",
        "reference",
        "ideal",
        "target",
        "answer",
        "expected",
    ],
)
def test_every_name_of_the_answer_is_read(name):
    assert case_of({"input": "q", name: "So it is."}).expected.answer == "So it is."


@pytest.mark.parametrize("name", ["id", "case_id", "qid", "prompt_id", "dialogue_id"])
def test_every_name_of_the_id_is_read_and_is_text(name):
    assert case_of({name: 42, "input": "q"}).id == "42"


def test_a_healthcare_row_has_question_ground_truth_and_context():
    case = case_of({"id": "p1", "question": "Dose?", "ground_truth": "500 mg", "context": {"age": 40}})

    assert (case.id, case.input, case.expected.answer, case.context) == ("p1", "Dose?", "500 mg", {"age": 40})


@pytest.mark.parametrize("name", ["context", "passages", "retrieved_contexts", "retrieval_context", "contexts"])
def test_context_that_is_text_is_passages(name):
    assert case_of({"input": "q", name: ["One.", "Two."]}).passages == ("One.", "Two.")
    assert case_of({"input": "q", name: "One."}).passages == ("One.",)


def test_an_agent_row_has_intent_entities_and_tool():
    case = case_of(
        {
            "id": "data_discovery_001",
            "query": "find RNA-seq data for breast cancer",
            "expected_intent": "DATA_SEARCH",
            "expected_entities": {"data_type": "RNA-seq", "disease": "breast cancer"},
            "expected_tool": "search_data",
        }
    )

    assert case.expected.intent == "DATA_SEARCH"
    assert case.expected.entities == {"data_type": "RNA-seq", "disease": "breast cancer"}
    assert case.expected.tool == "search_data"


def test_expected_tools_are_calls_in_order():
    case = case_of({"input": "q", "expected_tools": ["search", {"name": "load", "arguments": {"id": 1}}]})

    assert case.expected.tools == (ToolCall(name="search"), ToolCall(name="load", arguments={"id": 1}))


def test_turns_keep_their_own_expectations():
    case = case_of(
        {
            "id": "multi_turn_001",
            "description": "Complete data discovery workflow",
            "turns": [
                {"query": "search for ATAC-seq", "expected_intent": "DATA_SEARCH", "expected_entities": {"t": "ATAC"}},
                {
                    "query": "the first one",
                    "expected_intent": "DATA_DESCRIBE",
                    "requires_context": True,
                    "expected_entities": {},
                },
                {"query": "download it", "expected_intent": "DATA_DOWNLOAD", "requires_context": True, "note": "last"},
            ],
        }
    )

    assert [turn.text for turn in case.turns] == ["search for ATAC-seq", "the first one", "download it"]
    assert [turn.requires_context for turn in case.turns] == [False, True, True]
    assert case.turns[1].expected.entities == {}
    assert case.turns[2].expected.entities is None
    assert case.description == "Complete data discovery workflow"
    assert case.metadata == {"turns": {"2": {"note": "last"}}}


def test_turns_may_be_plain_texts_with_one_reference_each():
    case = case_of({"turns": ["One?", "Two?"], "reference": ["1", "2"]})

    assert [turn.expected.answer for turn in case.turns] == ["1", "2"]


def test_several_answers_to_one_question_are_all_good():
    assert case_of({"input": "q", "ground_truth": ["a", "b"]}).expected.references == ("a", "b")


def test_a_prakriti_row_has_label_tier_and_category():
    case = case_of(
        {
            "id": 1,
            "scenario": "Dry skin.",
            "ground_truth_prakriti": "Vata",
            "complexity_level": "Medium",
            "query_type": "Diagnostic",
        }
    )

    assert (case.expected.label, case.tier, case.category) == ("Vata", 2, "Diagnostic")
    assert case.metadata == {"complexity_level": "Medium"}


def test_a_complexity_of_another_scale_stays_a_word():
    case = case_of({"input": "q", "complexity_level": "Hair-raising"})

    assert case.tier is None
    assert case.metadata == {"complexity_level": "Hair-raising"}


@pytest.mark.parametrize(
    ("experts", "label", "disputed"),
    [
        (["Vata", "Vata", "Pitta"], "Vata", False),
        (["Vata-Pitta", "vata pitta", "Kapha"], "Vata-Pitta", False),
        (["Vata", "Pitta", "Kapha"], None, True),
        (["Vata", None, "Vata"], "Vata", False),
        (["Vata", None, "Pitta"], None, True),
        (["Vata", "Vata", "Pitta", "Pitta"], None, True),
    ],
)
def test_the_majority_of_the_experts_is_the_label_and_disputes_are_set_aside(experts, label, disputed):
    columns = {f"expert_{n}": value for n, value in enumerate(experts, start=1)}
    for row in ({"input": "q", **columns}, {"input": "q", "experts": experts}):
        case = case_of(row)
        assert (case.expected.label, case.is_disputed) == (label, disputed)
        assert case.experts == tuple(experts)


def test_a_label_against_the_majority_is_a_problem():
    with pytest.raises(InputError, match="majority of the experts says 'Vata'"):
        case_of({"input": "q", "label": "Pitta", "experts": ["Vata", "Vata", "Pitta"]})


def test_ideal_output_of_an_evaluation_case_with_context():
    case = case_of({"input": "How do I reset my password?", "idealOutput": "Go to settings.", "context": {"k": [1]}})

    assert (case.expected.answer, case.context) == ("Go to settings.", {"k": [1]})


@pytest.mark.parametrize("name", ["messages", "prompt", "inputs", "input"])
def test_all_but_the_last_message_of_the_user_is_history(name):
    case = case_of(
        {
            name: [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": "Hello!"},
                {"role": "user", "content": [{"type": "text", "text": "Dose?"}]},
            ]
        }
    )

    assert case.input == "Dose?"
    assert [(turn.role, turn.text) for turn in case.history] == [
        ("system", "Be brief."),
        ("user", "Hi"),
        ("assistant", "Hello!"),
    ]


def test_the_assistants_last_message_is_the_expected_answer():
    case = case_of({"messages": [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "4"}]})

    assert (case.input, case.expected.answer, case.history) == ("2+2?", "4", ())


def test_an_answer_of_its_own_counts_more_than_the_assistants_message():
    said = [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "5"}]

    assert case_of({"messages": said, "answer": "4"}).expected.answer == "4"


def test_turns_of_both_sides_are_played_with_the_others_as_answers():
    case = case_of(
        {
            "turns": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": "Hello!"},
                {"role": "user", "content": "Bye"},
            ]
        }
    )

    assert [(turn.text, turn.expected.answer) for turn in case.turns] == [("Hi", "Hello!"), ("Bye", None)]
    assert [turn.role for turn in case.history] == ["system"]


def test_an_expectation_of_another_kind_lands_in_metadata():
    assert case_of({"input": "q", "expected": {"sql": "select 1"}}).metadata == {"expected.sql": "select 1"}


def test_a_rubric_has_points_and_tags():
    case = case_of({"input": "q", "rubrics": [{"criterion": "c", "points": -5, "tags": ["axis:x"]}, "plain"]})

    assert case.expected.rubric == (Criterion(criterion="c", points=-5, tags=("axis:x",)), Criterion(criterion="plain"))


def test_slots_that_repeat_become_a_list_and_word_tags_are_not_tags_of_the_case():
    case = case_of(
        {
            "text": "a b",
            "intent": "Add",
            "tokens": ["a", "b"],
            "tags": ["O", "B-x"],
            "entities": [{"slot": "x", "value": "1"}, {"slot": "y", "value": "2"}, {"slot": "x", "value": "3"}],
        }
    )

    assert case.expected.entities == {"x": ["1", "3"], "y": "2"}
    assert case.tags == ()
    assert case.metadata["tags"] == ["O", "B-x"]


def test_everything_else_lands_in_metadata():
    case = case_of({"input": "q", "owner": "me", "metadata": {"a": 1}, "metadata.b": 2})

    assert case.metadata == {"owner": "me", "a": 1, "b": 2}


def test_a_second_name_for_the_same_field_lands_in_metadata():
    case = case_of({"query": "second", "input": "first", "answer": "late", "ground_truth": "early"})

    assert (case.input, case.expected.answer) == ("first", "early")
    assert case.metadata == {"query": "second", "answer": "late"}


def test_a_field_mapping_overrides_what_would_be_recognised():
    fields = {"input": "my_column", "expected.answer": "other", "metadata.asked": "question"}
    case = case_of({"my_column": "q", "question": "not this", "other": "a", "answer": "nor this"}, fields=fields)

    assert (case.input, case.expected.answer) == ("q", "a")
    assert case.metadata == {"asked": "not this", "answer": "nor this"}


def test_a_field_mapping_is_checked():
    with pytest.raises(InputError, match=r"no 'expected.anwser'. Did you mean 'expected.answer'\?"):
        cases_from([], fields={"expected.anwser": "x"})
    with pytest.raises(InputError, match=r"'my_colum' for the input, which is not there.*Did you mean 'my_column'\?"):
        list(cases_from([{"my_column": "q"}], fields={"input": "my_colum"}))
    with pytest.raises(InputError, match=r"'anser' for expected.answer, which is not there. Did you mean 'answer2'\?"):
        list(cases_from([{"input": "q", "answer2": "a"}], fields={"expected.answer": "anser"}))


def test_a_field_mapping_may_use_any_name_of_a_field_but_only_one():
    fields = {"question": "Frage", "answer": "Antwort"}

    case = case_of({"Frage": "q", "Antwort": "a"}, fields=fields)

    assert (case.input, case.expected.answer) == ("q", "a")
    with pytest.raises(InputError, match="fields names input twice, as 'a' and as 'b'"):
        cases_from([], fields={"input": "a", "question": "b"})


def test_a_made_id_is_stable_and_twins_get_different_ones():
    rows = [{"input": "same"}, {"input": "other"}, {"input": "same"}, {"input": "same"}]
    ids = [case.id for case in cases_from(rows)]

    assert ids == [case.id for case in cases_from(rows)]
    assert len(ids[0]) == 12
    assert ids[2:] == [f"{ids[0]}-2", f"{ids[0]}-3"]
    assert ids[1] != ids[0]


def test_question_ids_may_repeat_but_case_ids_may_not():
    assert [case.id for case in cases_from([{"qid": "7", "input": "a"}, {"qid": "7", "input": "b"}])] == ["7", "7-2"]
    with pytest.raises(InputError, match="more than once"):
        list(cases_from([{"case_id": "7", "input": "a"}, {"case_id": "7", "input": "b"}]))


def test_python_values_may_be_cases_and_dictionaries():
    given = Case.of("Why?", "So.", id="a", category="c")

    assert next(iter(cases_from([given, {"id": "b", "question": "How?"}]))) == given
    with pytest.raises(InputError, match="x is NaN"):
        list(cases_from([{"input": "q", "x": float("nan")}]))
    with pytest.raises(InputError, match="Case or a dictionary"):
        list(cases_from(["q"]))  # type: ignore[list-item]
    with pytest.raises(InputError, match="no cases"):
        list(cases_from([]))
    with pytest.raises(InputError, match="JSON"):
        list(cases_from([{"input": "q", "x": object()}]))


@pytest.mark.parametrize(
    ("case", "told"),
    [
        (Case.of("Why?", 5, id="a"), "turns[0].expected.answer: Expected `str | null`, got `int`."),  # type: ignore[arg-type]  # Python does not mind
        (Case.of("Why?", "So.", id="a", tags="critical"), "tags: Expected `array`, got `str`."),
        (Case.of("Why?", "So.", id="a", tier="basic"), "tier: Expected `int | null`, got `str`."),
        (Case.of(None, "So.", id="a"), "turns[0].text: Expected `str`, got `null`."),  # type: ignore[arg-type]  # as above
        (Case.of("Why?", "So.", id="a", context={"n": 2**70}), "Integer exceeds 64-bit range."),
        (Case.of("Why\ud800", "So.", id="a"), "str is not valid UTF-8: surrogates not allowed."),
    ],
)
def test_a_case_from_python_with_a_value_of_the_wrong_type_is_refused_in_one_line(case, told):
    with pytest.raises(InputError) as raised:
        list(cases_from([case]))

    assert str(raised.value) == f"case 'a' cannot be stored: {told}"


def test_a_case_made_without_an_id_gets_the_one_of_a_row_with_the_same_content():
    rows = [{"question": "Who?", "ground_truth": "Emma"}, {"question": "Why?"}, {"question": "Q", "category": "c"}]
    cases = [Case.of("Who?", "Emma"), Case.of("Why?"), Case.of("Q", category="c")]

    assert [each.id for each in cases_from(rows)] == [each.id for each in cases]
    assert [each.id for each in cases_from(cases)] == [each.id for each in cases]
    assert Case.of("Who?", "Emma", id="mine").id == "mine"


def test_the_same_case_twice_without_an_id_is_two_cases_as_it_is_for_rows():
    once = Case.of("Who?", "Emma")

    assert [each.id for each in cases_from([once, once])] == [once.id, f"{once.id}-2"]
