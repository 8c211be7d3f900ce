import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_eval.core import Case, Expected, Reply, Turn
from cortex_eval.datasets import cases_from
from cortex_eval.scoring import can_embed, plan_scorer, run_scorer
from cortex_eval.scoring.coherence import Coherence
from cortex_eval.scoring.conversations import NOT_RETAINED, Clarification, ContextRetention, Recovery, carried_share
from cortex_eval.scoring.cues import clarifying_words, correction_words, failure_words

DATA = Path(__file__).parents[3] / "shared/data"
needs_model = pytest.mark.skipif(not can_embed(), reason="the extra `embed` is not installed")


def talk(*turns: str | Turn, **fields: object) -> Case:
    return Case(id="1", turns=tuple(Turn(text=turn) if isinstance(turn, str) else turn for turn in turns), **fields)


ATAC = talk(
    Turn(text="search for ATAC-seq datasets", expected=Expected(entities={"data_type": "ATAC-seq"})),
    Turn(text="show me details of the first one", requires_context=True, expected=Expected(entities={})),
    Turn(text="download it to my workspace", requires_context=True),
)
"""Seed 003 §3.2."""


def parsed(*entities: dict[str, str] | None) -> list[Reply]:
    return [Reply(intent="X", entities=each) for each in entities]


async def test_a_turn_that_needs_context_and_has_no_entities_has_lost_it():
    kept = {"data_type": "ATAC-seq"}

    whole = await ContextRetention().score_case(ATAC, parsed(kept, kept, kept))
    half = await ContextRetention().score_case(ATAC, parsed(kept, {}, kept))
    none = await ContextRetention().score_case(ATAC, parsed(kept, None, {"data_type": None}))

    assert (whole.value, half.value, none.value) == (1, 0.5, 0)
    assert half.reason == "Context not retained from previous turn (turn 2)."
    assert half.evidence["turns"][0] == {"turn": 1, "retained": 0.0, "error": NOT_RETAINED}
    assert whole.reason == "Context was retained on 2 turns that need it."


async def test_context_is_not_looked_at_where_it_is_not_needed_or_cannot_be_seen():
    plain = await ContextRetention().score_case(talk("a", "b"), parsed({}, {}))
    chatbot = await ContextRetention().score_case(ATAC, [Reply(text="Here you are.")] * 3)

    assert plain.value is None
    assert chatbot.value is None
    assert "neither entities nor intents" in chatbot.reason


async def test_with_check_carried_any_entity_is_not_enough():
    wanted = Expected(entities={"data_type": "ATAC-seq", "tissue": "liver"})
    case = talk(ATAC.turns[0], Turn(text="only liver", requires_context=True, expected=wanted))
    replies = parsed({"data_type": "ATAC-seq"}, {"tissue": "liver"})

    assert (await ContextRetention().score_case(case, replies)).value == 1
    assert (await ContextRetention(check_carried=True).score_case(case, replies)).value == 0
    held = parsed({"data_type": "ATACseq"}, {"tissue": "liver", "data_type": "atac seq"})
    assert (await ContextRetention(check_carried=True).score_case(case, held)).value == 1


async def test_the_level_of_these_scorers_is_the_conversation():
    planned = plan_scorer("context_retention")

    score = await run_scorer(planned, ATAC, parsed({"data_type": "ATAC-seq"}, {}, {}))

    assert (score.level, score.value, score.passed) == ("case", 0, False)


def test_what_was_known_before_is_carried_as_entity_or_in_words():
    case = talk(ATAC.turns[0], Turn(text="and then?", requires_context=True), "thanks")

    assert carried_share(case, parsed({"data_type": "ATAC-seq"}, {"data_type": "ATACseq"}), 1) == 1
    assert carried_share(case, [Reply(), Reply(text="The ATAC-seq data is ready.")], 1) == 1
    assert carried_share(case, [Reply(), Reply(text="It is ready.")], 1) == 0
    assert carried_share(case, [Reply(), Reply(text="…")], 0) is None
    assert carried_share(case, [Reply(), Reply(), Reply()], 2) is None


@pytest.mark.parametrize(
    "text",
    [
        "Which dataset do you mean?",
        "What kind of analysis?",
        "RNA-seq or ATAC-seq?",
        "Departure city?",
        "Could you clarify which tissue you need?",
        "Please specify the organism.",
        "I need more information to help.",
        "Sure. Let me know which file to use.",
        "आप किस अंग के बारे में पूछ रहे हैं?",
        "कृपया मुझे बताएं कि दर्द कहाँ है।",
        "您是指哪一个？",
        "هل تقصد الصداع؟",
    ],
)
def test_a_question_back_is_recognised(text):
    assert clarifying_words(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Here is the data.",
        "Here is the data. Is there anything else I can help you with?",
        "Done! Does that help?",
        "What is diabetes? Diabetes is a disease of the metabolism.",
        "How can I help you?",
    ],
)
def test_courtesies_and_headings_are_no_questions_back(text):
    assert not clarifying_words(text)


@pytest.mark.parametrize(
    "case",
    [
        talk("I need some data", category="ambiguous"),
        talk("I need some data", tags=("Clarification",)),
        talk("I need some data", metadata={"requires_clarification": True}),
        talk(Turn(text="I need some data", expected=Expected(intent="ASK-CLARIFICATION"))),
    ],
)
async def test_an_ambiguous_case_must_get_a_question_back(case):
    asks = await Clarification().score_case(case, [Reply(text="What kind of data do you need?")])
    acts = await Clarification().score_case(case, [Reply(text="Here are 500 datasets.")])
    states = await Clarification().score_case(case, [Reply(intent="clarify")])

    assert (asks.value, acts.value, states.value) == (1, 0, 1)
    assert "does not ask back" in acts.reason
    assert asks.evidence["turns"][0]["asked"] == "what kind of data do you need?"


async def test_where_nothing_is_ambiguous_nobody_need_ask():
    assert (await Clarification().score_case(talk("Find RNA-seq"), [Reply(text="Which one?")])).value is None


async def test_in_a_conversation_marks_on_turns_say_where_to_ask():
    (case,) = cases_from(
        [
            {
                "id": "a",
                "category": "ambiguous",
                "turns": [{"query": "find RNA-seq data"}, {"query": "run the thing", "requires_clarification": True}],
            }
        ]
    )
    here, ask = Reply(text="Here it is."), Reply(text="Which workflow should I run?")

    assert (await Clarification().score_case(case, [here, ask])).value == 1
    assert (await Clarification().score_case(case, [ask, here])).value == 0


async def test_a_turn_after_a_wrong_reply_that_is_answered_well_is_a_recovery():
    expected = Expected(intent="DATA_SEARCH")
    case = talk(Turn(text="find data", expected=expected), Turn(text="search it please", expected=expected))
    right, wrong = Reply(intent="DATA_SEARCH"), Reply(intent="JOB_CANCEL")

    recovered = await Recovery().score_case(case, [wrong, right])
    lost = await Recovery().score_case(case, [wrong, wrong])
    smooth = await Recovery().score_case(case, [right, right])

    assert (recovered.value, lost.value, smooth.value) == (1, 0, None)
    assert lost.reason == "Not recovered: turn 2: The intent is JOB_CANCEL; expected DATA_SEARCH."


@pytest.mark.parametrize(
    "said",
    [
        "No, I meant the liver data",
        "That's not what I asked for.",
        "it failed again",
        "I got an error",
        "use 16 threads instead",
        "नहीं, मेरा मतलब यकृत से था",
        "यह गलत है",
    ],
)
async def test_a_correction_by_the_user_is_to_be_recovered_from(said):
    case = talk("Find the data", said)

    well = await Recovery().score_case(case, [Reply(text="Here is mouse data."), Reply(text="Here is liver data.")])
    same = await Recovery().score_case(case, [Reply(text="Here is mouse data."), Reply(text="here is mouse data")])
    sorry = await Recovery().score_case(case, [Reply(text="Here."), Reply(text="Sorry, I don't understand.")])
    empty = await Recovery().score_case(case, [Reply(text="Here."), Reply(text=" ")])

    assert (well.value, same.value, sorry.value, empty.value) == (1, 0, 0, 0)


@pytest.mark.parametrize(
    "said",
    [
        "No thanks, that is all.",
        "No, that's it.",
        "No.",
        "Now the liver data",
        "nothing more",
        "Thank you!",
        "नहीं, धन्यवाद",
    ],
)
def test_other_turns_correct_nothing(said):
    assert not correction_words(said)


def test_admissions_of_failure_are_recognised():
    assert failure_words("Sorry, I couldn’t understand that.")
    assert failure_words("क्षमा करें, मैं समझ नहीं पाया।")
    assert failure_words("Error: no such file")
    assert not failure_words("The standard error of the mean is 0.3.")
    assert not failure_words("")


async def test_a_failure_before_the_first_turn_counts_and_a_mark_overrules_words():
    history = (Turn(text="hello"), Turn(text="Something went wrong.", role="assistant"))
    after = await Recovery().score_case(talk("hello again", history=history), [Reply(text="Hello, what can I do?")])
    marked = talk("a", "no, the other one", metadata={"turns": {"1": {"recovery": False}}})

    assert after.value == 1
    assert (await Recovery().score_case(marked, [Reply(text="x"), Reply(text="x")])).value is None


@given(st.lists(st.text(max_size=40), min_size=1, max_size=4), st.data())
async def test_whatever_is_said_the_values_stay_in_range(said, data):
    case = talk(*said, category="ambiguous")
    replies = [Reply(text=data.draw(st.text(max_size=40))) for _ in said]

    for scorer in (ContextRetention(), Clarification(), Recovery(), Coherence(use_embedding_similarity=False)):
        score = await scorer.score_case(case, replies)
        assert score.value is None or 0 <= score.value <= 1


async def test_a_single_turn_is_no_conversation():
    assert (await Coherence().score_case(talk("Hello"), [Reply(text="Hi")])).value is None


LIVER = talk("Which tests show a liver disease?", "And how long do they take?")


@needs_model
async def test_replies_to_the_point_are_more_coherent_than_replies_from_elsewhere():
    to_the_point = [
        Reply(text="Blood tests of liver enzymes show a liver disease."),
        Reply(text="The liver blood tests take about a day."),
    ]
    elsewhere = [
        Reply(text="Our restaurant opens at six."),
        Reply(text="The train to Geneva leaves from platform four."),
    ]

    good = await Coherence().score_case(LIVER, to_the_point)
    bad = await Coherence().score_case(LIVER, elsewhere)

    assert good.value > 0.7  # seed 003's target for tier 4
    assert bad.value < 0.2
    assert good.evidence["method"] == "embedding"
    assert "fall-back" not in good.reason


async def test_without_the_model_words_are_compared_and_the_reason_says_so(monkeypatch):
    monkeypatch.setattr("cortex_eval.scoring.coherence.can_embed", lambda: False)

    score = await Coherence().score_case(LIVER, [Reply(text="Liver tests"), Reply(text="A banana is yellow")])

    assert "lexical fall-back" in score.reason
    assert score.evidence["method"] == "lexical"
    assert score.value == 0.5


async def test_hindi_is_compared_by_words():
    case = talk("सीने में दर्द है", "दर्द कब से है?")

    score = await Coherence().score_case(case, [Reply(text="सीने में दर्द गंभीर है"), Reply(text="दर्द कल से है")])

    assert "another script" in score.reason
    assert score.value > 0.5


async def test_a_bot_that_repeats_itself_is_not_coherent():
    same = [Reply(text="Which tests show a liver disease?")] * 2

    score = await Coherence(use_embedding_similarity=False).score_case(LIVER, same)

    assert [turn["subject"] for turn in score.evidence["turns"]] == [1.0, 0.0]


async def test_carried_entities_count_for_half_and_alone_where_there_is_no_text():
    kept, lost = parsed(*[{"data_type": "ATAC-seq"}] * 3), parsed({"data_type": "ATAC-seq"}, {}, {})

    assert (await Coherence().score_case(ATAC, kept)).value == 1
    assert (await Coherence().score_case(ATAC, lost)).value == 0
    spoken = [Reply(text="ATAC-seq datasets", entities=each.entities) for each in lost]
    half = await Coherence(use_embedding_similarity=False, carried_weight=0.25).score_case(ATAC, spoken)
    assert half.evidence["carried"] == 1  # the words carry it
    assert half.value == pytest.approx(0.75 * half.evidence["subject"] + 0.25, abs=1e-3)


def dialogues() -> list[tuple[Case, list[Reply]]]:
    rows = [
        json.loads(line)
        for line in (DATA / "schema_guided_dialogue/dev_dialogues.jsonl").read_text("utf-8").split("\n")
        if line
    ]
    return [(case, gold(case)) for case in cases_from(rows)]


def gold(case: Case) -> list[Reply]:
    return [
        Reply(text=turn.expected.answer or "", intent=turn.expected.intent, entities=turn.expected.entities)
        for turn in case.turns
    ]


def share_won(better: Sequence[float], worse: Sequence[float]) -> float:
    return sum(a > b for a, b in zip(better, worse, strict=True)) / len(better)


@needs_model
@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "schema_guided_dialogue").exists(), reason="the dialogues are not here")
async def test_real_dialogues_are_more_coherent_than_ones_with_replies_of_others():
    played = dialogues()[:12]
    pool = [reply.text for _, replies in played for reply in replies]
    generator = random.Random(0)
    real, mixed = [], []
    for case, replies in played:
        real.append((await Coherence().score_case(case, [Reply(text=each.text) for each in replies])).value)
        others = [Reply(text=generator.choice(pool)) for _ in replies]
        mixed.append((await Coherence().score_case(case, others)).value)

    assert share_won(real, mixed) > 0.85


@pytest.mark.skipif(not (DATA / "schema_guided_dialogue").exists(), reason="the dialogues are not here")
async def test_an_agent_that_forgets_the_state_of_real_dialogues_loses_carried_entities():
    scorer = ContextRetention(check_carried=True)
    for case, replies in dialogues()[:30]:
        needy = Case(id=case.id, turns=tuple(_needing(turn, place) for place, turn in enumerate(case.turns)))
        forgetful = [
            Reply(intent=reply.intent, entities=dict(list((reply.entities or {}).items())[-1:])) for reply in replies
        ]
        right, wrong = await scorer.score_case(needy, replies), await scorer.score_case(needy, forgetful)
        assert right.value == 1
        assert wrong.value < 1


def _needing(turn: Turn, place: int) -> Turn:
    return Turn(text=turn.text, expected=turn.expected, requires_context=place > 0 and bool(turn.expected.entities))
