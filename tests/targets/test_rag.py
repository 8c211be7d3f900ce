"""RAG services over HTTP: what they are asked, and what is read of answers in the shapes that people have."""

from __future__ import annotations

from typing import Any

import pytest

from cortex_eval.core import Case, InputError, Reply, Secret, TargetError, Turn
from cortex_eval.net import Guard, Limits
from cortex_eval.scoring import scorers
from cortex_eval.targets import Conversation, PythonTarget, targets
from cortex_eval.testing import Answer

GINGER = Case(id="ginger", turns=(Turn(text="Does ginger help?"),), context={"ward": "4"})
FULL = {
    "answer": "Ginger eases nausea.[1]",
    "passages": [
        {"id": "p1", "text": "Ginger eases nausea.", "source": "Handbook", "score": 7.25},
        {"id": "p2", "text": "Peppermint calms the stomach.", "source": "Leaflet", "score": 2},
    ],
    "citations": ["p1"],
}


def turn() -> Conversation:
    return Conversation.at(GINGER, 0, [], session_id="session-1")


async def ask(url: str, **given: Any) -> Reply:
    async with targets.build("rag", {"api_url": url, **given}) as target:
        target.connect_by(Guard(), Limits(idle_s=0.3))
        return await target.ask(turn())


async def failure(url: str, **given: Any) -> TargetError:
    with pytest.raises(TargetError) as caught:
        await ask(url, **given)
    return caught.value


async def test_answer_passages_scores_and_citations_are_read(scripted_service):
    bot = scripted_service({**FULL, "confidence": 0.8, "own": 7})

    reply = await ask(bot.url)

    assert (reply.text, reply.confidence) == ("Ginger eases nausea.[1]", 0.8)
    assert reply.contexts == ("Ginger eases nausea.", "Peppermint calms the stomach.")
    assert reply.citations == ("p1",)
    assert reply.metadata["passages"] == [
        {"id": "p1", "source": "Handbook", "score": 7.25},
        {"id": "p2", "source": "Leaflet", "score": 2.0},
    ]
    assert reply.raw["own"] == 7


async def test_the_request_holds_what_the_original_design_sends_and_the_session(scripted_service):
    bot = scripted_service(FULL)

    await ask(bot.url + "rag", api_key=Secret("k-1234567"), test_user_id="u1")

    (call,) = bot.ledger
    assert (call.method, call.path) == ("POST", "/rag")
    assert call.json == {
        "query": "Does ginger help?",
        "context": {"ward": "4"},
        "user_id": "u1",
        "session_id": "session-1",
    }
    assert call.headers["Authorization"] == "Bearer k-1234567"


@pytest.mark.parametrize(
    ("answer", "text", "contexts", "citations"),
    [
        ({"response": "Yes.", "contexts": ["One.", "Two."]}, "Yes.", ("One.", "Two."), ()),
        ({"text": "Yes.", "sources": ["One."]}, "Yes.", ("One.",), ()),
        ({"answer": "Yes.", "contexts": "One."}, "Yes.", ("One.",), ()),
        ({"answer": "Yes.", "documents": [{"content": "One.", "id": 4}]}, "Yes.", ("One.",), ()),
        (
            {"result": "Yes.", "source_documents": [{"page_content": "One.", "metadata": {"source": "a.pdf"}}]},
            "Yes.",
            ("One.",),
            (),
        ),
        (
            {"response": "Yes.", "source_nodes": [{"node": {"id_": "n1", "text": "One."}, "score": 0.8}]},
            "Yes.",
            ("One.",),
            (),
        ),
        ({"answer": "Yes.", "contexts": ["One."], "sources": ["a.pdf"]}, "Yes.", ("One.",), ("a.pdf",)),
        ({"answer": "Yes.", "sources": [{"title": "Handbook"}]}, "Yes.", (), ("Handbook",)),
        ({"answer": "Yes.", "sources": "a.pdf, b.pdf"}, "Yes.", (), ("a.pdf, b.pdf",)),
        ({"answer": "Yes.", "passages": ["One."], "citations": [1, {"id": "p1"}]}, "Yes.", ("One.",), ("1", "p1")),
        ({"answer": "Nothing found.", "passages": [], "citations": None}, "Nothing found.", (), ()),
        ({"answer": "I cannot say."}, "I cannot say.", (), ()),
    ],
)
async def test_the_usual_shapes_of_answers_are_read_without_a_mapping(
    scripted_service, answer, text, contexts, citations
):
    reply = await ask(scripted_service(answer).url)

    assert (reply.text, reply.contexts, reply.citations) == (text, contexts, citations)


async def test_source_and_score_are_found_where_frameworks_put_them(scripted_service):
    nodes = [{"node": {"id_": "n1", "text": "One.", "metadata": {}}, "score": 0.8}]
    documents = [{"page_content": "One.", "metadata": {"source": "a.pdf", "id": "d7"}}]

    from_nodes = await ask(scripted_service({"response": "Yes.", "source_nodes": nodes}).url)
    from_documents = await ask(scripted_service({"result": "Yes.", "source_documents": documents}).url)

    assert from_nodes.metadata["passages"] == [{"id": "n1", "source": None, "score": 0.8}]
    assert from_documents.metadata["passages"] == [{"id": "d7", "source": "a.pdf", "score": None}]


async def test_an_answer_of_another_shape_is_mapped(scripted_service):
    bot = scripted_service(
        {
            "data": {
                "reply": {"markdown": "Yes."},
                "hits": [{"chunk": {"body": "One."}, "key": "k1", "link": "https://a.example", "sim": 0.5}],
                "notes": [{"ref": "k1"}, {"ref": "k9"}],
            }
        }
    )

    reply = await ask(
        bot.url,
        body={"q": "{input}", "k": 3},
        reply={"text": "$.data.reply.markdown", "contexts": "$.data.hits", "citations": "$.data.notes[*].ref"},
        passage={"text": "$.chunk.body", "id": "$.key", "source": "$.link", "score": "$.sim"},
    )

    assert bot.ledger[0].json == {"q": "Does ginger help?", "k": 3}
    assert (reply.text, reply.contexts, reply.citations) == ("Yes.", ("One.",), ("k1", "k9"))
    assert reply.metadata["passages"] == [{"id": "k1", "source": "https://a.example", "score": 0.5}]


async def test_what_is_read_is_what_the_grounding_scorers_look_at(scripted_service):
    reply = await ask(scripted_service({**FULL, "answer": "Saffron cures diabetes within three weeks.[1]"}).url)

    [score] = scorers.build("faithfulness", {"use_embeddings": False}).score_batch([(GINGER, reply)])

    assert score.value == 0.0
    assert score.evidence["claims"][0]["label"] == "hallucinated"


@pytest.mark.parametrize("body", [b'{"passages": ["One."]}', b"{}", b"[]", b'"Yes."', b"null"])
async def test_an_answer_without_an_answer_is_a_target_error(scripted_service, body):
    error = await failure(scripted_service(Answer(body=body)).url)

    assert error.kind == "missing_field"
    assert "gave no answer" in str(error)


async def test_a_mapped_path_that_leads_nowhere_is_named(scripted_service):
    error = await failure(scripted_service(FULL).url, reply={"text": "$.data.answer"})

    assert error.kind == "missing_field"
    assert "$.data.answer" in str(error)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"answer": None}, "text"),
        ({"answer": ["Yes."]}, "text"),
        ({"passages": 3}, "a passage"),
        ({"passages": [["One."]]}, "a passage"),
        ({"passages": [{"text": 3}]}, "the text of a passage"),
        ({"confidence": "high"}, "confidence"),
    ],
)
async def test_a_part_of_another_kind_is_a_target_error_that_names_it(scripted_service, wrong, named):
    error = await failure(scripted_service({**FULL, **wrong}).url)

    assert error.kind == "wrong_type"
    assert f"as {named}" in str(error) or f"reply.{named} must be" in str(error)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"reply": {"contxts": "$.a"}}, "Did you mean 'contexts'"),
        ({"reply": {"contexts": "a.b"}}, "is not a path"),
        ({"passage": {"txt": "$.a"}}, "Did you mean 'text'"),
        ({"passage": {"text": "a"}}, "is not a path"),
        ({"body": {"q": "{query}"}}, "no placeholder"),
        ({"api_url": "rag.example.org"}, "must begin with http"),
    ],
)
def test_settings_that_cannot_work_are_told_before_anything_is_asked(settings, message):
    with pytest.raises(InputError, match=message):
        targets.build("rag", {"api_url": "http://127.0.0.1:9/", **settings})


async def test_a_python_callable_may_give_passages_as_texts_or_objects():
    def answer(question: str) -> dict[str, Any]:
        return {"answer": "Yes.", "passages": ["One.", {"text": "Two.", "id": "p2"}], "citations": ["p2"]}

    async with PythonTarget.of(answer) as target:
        reply = await target.ask(turn())

    assert (reply.text, reply.contexts, reply.citations) == ("Yes.", ("One.", "Two."), ("p2",))
