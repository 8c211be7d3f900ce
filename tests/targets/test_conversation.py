"""What goes along with each turn: all that was said, what the turn before found, the session, and a key for retries."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cortex_eval.asking import session_of
from cortex_eval.core import Case, Reply, Turn, changed
from cortex_eval.targets import Conversation

TALK = Case(
    id="talk",
    turns=(Turn(text="Find RNA-seq data"), Turn(text="Only human", requires_context=True), Turn(text="Thanks")),
    history=(Turn(text="Welcome!", role="assistant"),),
    context={"user": "a"},
)
REPLIES = [
    Reply(text="Found 3.", intent="data_discovery", entities={"assay": "RNA-seq"}),
    Reply(text="Found 1.", intent="data_discovery"),
]


def test_the_first_turn_carries_the_cases_own_context():
    turns = Conversation.at(TALK, 0, [], session_id="s")

    assert turns.text == "Find RNA-seq data"
    assert [(turn.role, turn.text) for turn in turns] == [("assistant", "Welcome!"), ("user", "Find RNA-seq data")]
    assert turns.context == {"user": "a"}


def test_seed_003_a_later_turn_is_told_of_the_one_before_it():
    second = Conversation.at(TALK, 1, REPLIES[:1], session_id="s")
    third = Conversation.at(TALK, 2, REPLIES, session_id="s")

    assert second.context == {
        "user": "a",
        "previous_query": "Find RNA-seq data",
        "previous_intent": "data_discovery",
        "previous_entities": {"assay": "RNA-seq"},
        "turn_number": 1,
    }
    assert third.context["previous_query"] == "Only human"
    assert (third.context["previous_entities"], third.context["turn_number"]) == ({}, 2)


def test_a_later_turn_holds_all_that_was_said():
    third = Conversation.at(TALK, 2, REPLIES, session_id="s")

    assert [(turn.role, turn.text) for turn in third] == [
        ("assistant", "Welcome!"),
        ("user", "Find RNA-seq data"),
        ("assistant", "Found 3."),
        ("user", "Only human"),
        ("assistant", "Found 1."),
        ("user", "Thanks"),
    ]
    assert (len(third), third[-1].text, third.case.turn, third.case.input) == (6, "Thanks", 2, "Thanks")


def test_the_case_itself_is_not_changed_by_what_a_turn_carries():
    Conversation.at(TALK, 1, REPLIES[:1], session_id="s")

    assert TALK.context == {"user": "a"}


def test_a_session_is_the_same_when_it_is_resumed_and_different_from_every_other_one():
    sessions = [session_of(run, place, repeat) for run in ("r1", "r2") for place in (0, 1) for repeat in (0, 1)]

    assert len(set(sessions)) == 8
    assert session_of("r1", 0, 0) == sessions[0]


def test_the_key_for_retries_is_one_per_turn():
    keys = [Conversation.at(TALK, n, REPLIES[:n], session_id="s").idempotency_key for n in range(3)]

    assert keys == ["s-0", "s-1", "s-2"]


CONVERSATION = st.tuples(st.sampled_from(["7f3a", "b001"]), st.integers(0, 11), st.integers(0, 11))


@given(one=CONVERSATION, other=CONVERSATION)
def test_two_conversations_share_a_session_only_when_they_are_the_same(one, other):
    assert (session_of(*one) == session_of(*other)) == (one == other)


def test_p23_a_cache_key_changes_with_everything_but_the_session():
    asked = Conversation.at(TALK, 1, REPLIES[:1], session_id="s")
    key = asked.cache_key("f", 0)
    others = [
        asked.cache_key("g", 0),
        asked.cache_key("f", 1),
        Conversation.at(TALK, 1, [changed(REPLIES[0], text="Found 4.")], session_id="s").cache_key("f", 0),
        Conversation.at(TALK, 1, [changed(REPLIES[0], intent="other")], session_id="s").cache_key("f", 0),
        Conversation.at(changed(TALK, context={"user": "b"}), 1, REPLIES[:1], session_id="s").cache_key("f", 0),
        Conversation.at(changed(TALK, passages=("p",)), 1, REPLIES[:1], session_id="s").cache_key("f", 0),
        Conversation.at(TALK, 0, [], session_id="s").cache_key("f", 0),
    ]

    assert len({key, *others}) == len(others) + 1
    assert Conversation.at(TALK, 1, REPLIES[:1], session_id="another run's").cache_key("f", 0) == key
