"""Voice lines scored: what they heard, what they said, and whether it was understood."""

import pytest

from cortex_eval.core import Attachment, Case, Expected, Reply, Turn
from cortex_eval.scoring import scorers

SOUND = (Attachment(sha256="0" * 64, media_type="audio/wav", size=1),)
REPLY = Reply(
    text="I have noted 50 units.",
    transcript="I have noted 50 units.",
    attachments=SOUND,
    first_token_ms=210.0,
    metadata={"heard": "I take 15 units at night", "stated_text": "I have noted fifty units."},
)


def score(reply: Reply = REPLY, *, checklist: tuple[str, ...] = (), metadata: dict | None = None, **settings):
    expected = Expected(answer="I have noted fifteen units.", checklist=checklist)
    turns = (Turn(text="I take fifteen units at night.", expected=expected),)
    case = Case(id="1", turns=turns, metadata=metadata or {})
    return scorers.build("speech", settings).score_batch([(case, reply)])[0]


def test_the_reply_is_compared_with_the_answer_and_not_with_what_the_service_heard():
    found = score()

    assert found.measure == pytest.approx(1 / 5)
    assert found.evidence["edits"] == [{"kind": "substituted", "wanted": "fifteen", "heard": "50"}]
    assert found.evidence["time_to_first_audio_ms"] == 210.0


def test_what_the_service_heard_is_compared_with_what_the_caller_said():
    assert score(of="heard").measure == pytest.approx(1 / 6)
    assert score(of="heard", metadata={"also_said": "I take 15 units at night."}).measure == 0
    assert score(of="heard", metadata={"also_said": ["Hm?", "I take 15 units at night."]}).measure == 0


def test_what_was_heard_of_its_voice_is_compared_with_what_it_says_it_said():
    found = score(of="spoken")

    assert (found.measure, found.value) == (pytest.approx(1 / 5), pytest.approx(4 / 5))


@pytest.mark.parametrize(("of", "says"), [("heard", "does not say what it heard"), ("spoken", "did not speak")])
def test_a_service_that_does_not_say_so_has_no_score(of, says):
    found = score(Reply(text="Hello", transcript="Hello"), of=of)

    assert found.value is None
    assert says in found.reason


def test_the_value_may_be_the_recall_of_keywords_and_alternatives_count_as_one():
    found = score(checklist=("noted", "fifteen units|15 units", "units|unit"), by="keywords")

    assert (found.value, found.measure, found.unit) == (pytest.approx(2 / 3), pytest.approx(2 / 3), "recall")
    assert found.reason == "Keywords not heard: fifteen units|15 units."
    assert found.evidence["keywords"]["missing"] == ["fifteen units|15 units"]
    assert score(checklist=("fifty units|50 units",), by="keywords").reason == "All 1 keywords were heard."
    assert score(by="keywords").value is None


def test_keywords_of_what_was_heard_are_those_of_the_metadata():
    found = score(of="heard", by="keywords", checklist=("ambulance",), metadata={"keywords": ["fifteen|15", "night"]})

    assert found.value == 1.0


@pytest.mark.parametrize("keywords", [("|",), ("a|",), ("|a",)])
def test_empty_alternatives_are_nothing(keywords):
    found = score(by="keywords", keywords=keywords)

    assert found.value in (None, 0.0)
