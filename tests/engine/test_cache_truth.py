"""The cache never lies: nothing that was no whole answer comes from it, and any changed input misses it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from made_plans import plan_for

from cortex_eval.config import Plan, Request, load_project, make_plans
from cortex_eval.core import Attachment, Case, Reply, Turn, changed
from cortex_eval.engine import execute
from cortex_eval.targets import Conversation, Target, targets
from cortex_eval.targets.mapping import SENDABLE
from cortex_eval.testing import Call, ModelReply, cut, sequence, speak_openai, status

CASE = Case(id="a", turns=(Turn(text="q"),))
CASE_CHANGES: dict[str, Any] = {
    "id": "b",
    "turns": (Turn(text="other"),),
    "history": (Turn(text="before", role="assistant"),),
    "context": {"user": "b"},
    "passages": ("text",),
    "category": "c",
    "tier": 2,
    "language": "hi",
    "tags": ("t",),
    "metadata": {"patient": "7"},
}
NOT_TOLD = {"parallel_of", "cluster_id", "split", "source", "experts", "is_disputed", "description", "turn"}
"""What a case knows for its evaluation only, or what changes with the turn that is asked."""


class Whole(Target):
    """A service of somebody's own, which is told all that it wants of a case."""

    kind = "whole"
    is_remote = True

    def __init__(self) -> None:
        self.asked = 0

    async def ask(self, turns: Conversation) -> Reply:
        self.asked += 1
        return Reply(text="a")


def test_P23_every_field_of_a_case_is_an_input_or_is_not_told():
    assert set(Case.__struct_fields__) == {*CASE_CHANGES, *NOT_TOLD}


@pytest.mark.parametrize("field", CASE_CHANGES)
async def test_P23_whatever_of_a_case_changes_the_service_is_asked_again(store, field):
    bot = Whole()
    other = changed(CASE, **{field: CASE_CHANGES[field]})
    for asked, calls in ((CASE, 1), (CASE, 1), (other, 2), (other, 2), (CASE, 2)):
        await execute(plan_for(bot, [asked], scorers=["performance"], target_version="1"), store)
        assert bot.asked == calls


async def test_P23_another_attachment_is_another_question(store):
    bot = Whole()
    for sha, calls in (("0" * 64, 1), ("1" * 64, 2), ("0" * 64, 2)):
        attached = Attachment(sha256=sha, media_type="image/png", size=1)
        case = changed(CASE, turns=(Turn(text="q", attachments=(attached,)),))
        await execute(plan_for(bot, [case], scorers=["performance"], target_version="1"), store)
        assert bot.asked == calls


async def test_P23_whatever_a_request_of_the_project_file_names_misses_when_it_changes(scripted_service, store):
    """The body sends every placeholder there is, so a new one that the key does not know is found here."""
    bot = scripted_service({"text": "a"})
    settings = {"api_url": bot.url, "body": {name: f"{{{name}}}" for name in SENDABLE}}
    plan = plan_for(targets.build("http", settings), [CASE], scorers=["performance"], target_version="1")
    asked = [changed(CASE, **{field: value}) for field, value in CASE_CHANGES.items()]
    asked.append(changed(CASE, turns=(Turn(text="q"), Turn(text="q"))))
    for case in (CASE, *asked):
        await execute(replace(plan, dataset=[case]), store)

    bodies = [{key: value for key, value in call.json.items() if key != "session_id"} for call in bot.ledger]
    distinct = {json.dumps(body, sort_keys=True) for body in bodies}
    assert {name for name in SENDABLE if len({str(body.get(name)) for body in bodies}) > 1} == {*SENDABLE} - {
        "session_id",
        "user_id",
    }
    assert len(distinct) >= len(SENDABLE) - 2


def plan_of(folder: Path, service: dict[str, Any]) -> Plan:
    document = {
        "services": {"bot": service},
        "suites": {"s": {"dataset": "c.jsonl", "service": "bot", "scorers": ["exact"]}},
    }
    (folder / "c.jsonl").write_text('{"input": "q"}\n')
    (folder / "cortex.yaml").write_text(json.dumps(document))
    [plan] = make_plans(load_project(folder / "cortex.yaml"), Request())
    return plan


HTTP = {"kind": "http", "version": "1", "api_url": "http://127.0.0.1:1/"}
CHAT = {"kind": "chat", "version": "1", "model": "m", "base_url": "http://127.0.0.1:1/"}
SETTINGS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "chatbot": (
        {**HTTP, "kind": "chatbot"},
        {"api_url": "http://127.0.0.1:2/", "test_user_id": "u", "headers": {"X-Team": "blue"}},
    ),
    "http": (
        HTTP,
        {
            "api_url": "http://127.0.0.1:2/",
            "method": "PUT",
            "headers": {"X-Team": "blue"},
            "body": {"q": "{input}"},
            "reply": {"text": "$.answer"},
            "test_user_id": "u",
        },
    ),
    "chat": (
        CHAT,
        {
            "model": "m2",
            "base_url": "http://127.0.0.1:2/",
            "system": "Be kind.",
            "prompt": "Now: {input}",
            "temperature": 0.5,
            "max_tokens": 7,
            "seed": 1,
            "stop": ["x"],
            "stream": False,
            "tools": [{"name": "look"}],
            "json_schema": {"type": "object"},
            "prices": {"input": 1, "output": 1},
            "extra": {"top_p": 0.1},
            "test_user_id": "u",
        },
    ),
}
NO_INPUT = {"api_key", "directory"}
"""A key is never part of a key; the folder is where relative paths begin."""


@pytest.mark.parametrize("kind", SETTINGS)
def test_P23_every_setting_of_a_target_changes_the_key_and_its_secret_does_not(tmp_path, kind):
    service, changes = SETTINGS[kind]
    names = {field.name for field in fields(targets.find(kind)) if field.init}  # type: ignore[arg-type]
    assert names == {*changes, *NO_INPUT} & names, "a new setting belongs into this test"

    plain = plan_of(tmp_path, service).target_fingerprint
    prints = {name: plan_of(tmp_path, {**service, name: value}).target_fingerprint for name, value in changes.items()}
    prints["version"] = plan_of(tmp_path, {**service, "version": "2"}).target_fingerprint

    assert plain not in prints.values()
    assert len(set(prints.values())) == len(prints)
    keys = {plan_of(tmp_path, {**service, "api_key": f"key-{n}-0123456789"}).target_fingerprint for n in range(2)}
    assert len(keys) == 1, "nothing of a secret is in a key"


def test_P23_a_schema_in_a_file_counts_by_its_content(tmp_path):
    (tmp_path / "s.json").write_text('{"type": "object"}')
    before = plan_of(tmp_path, {**CHAT, "json_schema": "s.json"})
    (tmp_path / "s.json").write_text('{"type": "array"}')
    after = plan_of(tmp_path, {**CHAT, "json_schema": "s.json"})

    assert before.target_fingerprint != after.target_fingerprint
    assert before.identity() != after.identity(), "and such a run is not resumed"


def cached(path: Path) -> list[bytes]:
    with closing(sqlite3.connect(path)) as connection:
        return [body for (body,) in connection.execute("SELECT body FROM cortex_cache")]


def chat_plan(url: str, *, retries: int = 0, **settings: Any) -> Plan:
    given = {"model": "m", "base_url": url, **settings}
    plan = plan_for(targets.build("chat", given), [CASE], scorers=["performance"], retries=retries, target_version="1")
    return replace(plan, target_settings=given)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("finish", ["length", "content_filter"])
async def test_P23_an_answer_that_the_model_did_not_end_is_not_kept(scripted_service, store, finish, stream):
    said = speak_openai(ModelReply(text="Take one tablet and", finish=finish))
    bot = scripted_service(said)
    for _ in range(2):
        report = await execute(chat_plan(bot.url, stream=stream), store)
        assert report.totals.errors == 0

    assert len(bot.ledger) == 2
    assert cached(store.path) == []


async def test_P23_a_cut_answer_is_not_kept_and_the_whole_one_after_it_is(scripted_service, store):
    whole = speak_openai("Take one tablet.")

    def cut_once(call: Call) -> Any:
        return cut(80, whole(call), framing="chunked") if call.number == 1 else whole(call)

    bot = scripted_service(cut_once)
    for _ in range(2):
        report = await execute(chat_plan(bot.url, retries=1), store)
    [result] = store.results.read(report.run.id)

    assert (len(bot.ledger), report.cache_hits, result.reply.text) == (2, 1, "Take one tablet.")


@pytest.mark.parametrize("bad", [status(503), status(400), {"text": ""}, {"nothing": 1}, "<html>", b"", b'{"text": "a'])
async def test_P23_no_error_and_nothing_empty_or_partial_is_kept(scripted_service, store, bad):
    bot = scripted_service(sequence(bad, {"text": "whole"}))
    plan = plan_for(bot.url, [CASE], scorers=["performance"], target_version="1")

    await execute(plan, store)
    assert cached(store.path) == []
    report = await execute(plan, store)

    [result] = store.results.read(report.run.id)
    assert (result.reply.text, result.cached, len(bot.ledger)) == ("whole", False, 2)


TALK = Case(id="talk", turns=(Turn(text="one"), Turn(text="two"), Turn(text="three")))


class Sessions:
    """A service that remembers what was said in each session, and is lost when it has not heard the beginning."""

    def __init__(self) -> None:
        self.heard: dict[str, list[str]] = {}
        self.fails_at = ""
        self.number = 0

    def __call__(self, call: Call) -> Any:
        query, session = call.json["query"], call.headers["X-Session-Id"]
        if query == self.fails_at:
            return status(400)
        heard = self.heard.setdefault(session, [])
        heard.append(query)
        self.number += 1
        return {"text": f"{self.number}: {' '.join(heard)}"}


def cut_off_before_the_last_turn(path: Path) -> None:
    """What the second run leaves behind when it is killed there."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM cortex_results WHERE run_no=2 AND turn=2")
        connection.execute("UPDATE cortex_results SET state='pending', scores=NULL, overall=NULL, passed=NULL")
        connection.execute("UPDATE cortex_runs SET status='paused', finished=NULL, summary=NULL WHERE no=2")


def told(store: Any, run_id: str) -> list[tuple[str, bool]]:
    return [(each.reply.text.partition(": ")[2], each.cached) for each in store.results.read(run_id)]


async def test_P23_a_conversation_whose_end_is_not_in_the_cache_is_asked_from_its_beginning(scripted_service, store):
    service = Sessions()
    service.fails_at = "two"
    bot = scripted_service(service)
    plan = plan_for(bot.url, [TALK], scorers=["performance"], target_version="1")
    broken = await execute(plan, store)
    assert (broken.totals.errors, len(cached(store.path))) == (1, 1), "the first turn is kept"

    service.fails_at = ""
    mended = await execute(plan, store)
    again = await execute(plan, store)

    whole = ["one", "one two", "one two three"]
    assert told(store, mended.run.id) == [(text, False) for text in whole], "the service knew what it was asked about"
    assert told(store, again.run.id) == [(text, True) for text in whole]
    assert (mended.cache_hits, again.cache_hits) == (0, 3)


async def test_P23_another_ending_of_a_conversation_is_not_tied_to_a_cached_beginning(scripted_service, store):
    bot = scripted_service(Sessions())
    plan = plan_for(bot.url, [TALK], scorers=["performance"], target_version="1")
    await execute(plan, store)
    other = changed(TALK, turns=(*TALK.turns[:2], Turn(text="other")))

    second = await execute(replace(plan, dataset=[other]), store)

    assert told(store, second.run.id) == [("one", False), ("one two", False), ("one two other", False)]


async def test_P23_what_a_killed_run_had_from_the_cache_is_asked_again_when_the_rest_is_not_there(
    scripted_service, store
):
    """Two of three turns came from the cache, then came the end; meanwhile somebody emptied the cache."""
    bot = scripted_service(Sessions())
    plan = plan_for(bot.url, [TALK], scorers=["performance"], target_version="1")
    await execute(plan, store)
    run = (await execute(plan, store)).run
    cut_off_before_the_last_turn(store.path)
    with closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute("DELETE FROM cortex_cache")

    resumed = await execute(plan, store, resume=run.id)

    assert told(store, resumed.run.id) == [("one", False), ("one two", False), ("one two three", False)]
    assert len({call.headers["X-Session-Id"] for call in bot.ledger}) == 2


async def test_P23_what_a_killed_run_had_from_the_cache_stays_when_the_rest_is_there_too(scripted_service, store):
    bot = scripted_service(Sessions())
    plan = plan_for(bot.url, [TALK], scorers=["performance"], target_version="1")
    await execute(plan, store)
    run = (await execute(plan, store)).run
    cut_off_before_the_last_turn(store.path)

    resumed = await execute(plan, store, resume=run.id)

    assert told(store, resumed.run.id) == [("one", True), ("one two", True), ("one two three", True)]
    assert len(bot.ledger) == 3
