"""Services over HTTP: what is sent, what is read, and a named error for everything else that a service can do."""

from __future__ import annotations

import importlib
import json
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_eval.asking import ask_target
from cortex_eval.core import Case, InputError, Reply, Secret, TargetError, ToolCall, Turn
from cortex_eval.net import Line, Patience, check_url
from cortex_eval.targets import Conversation, Target, targets
from cortex_eval.testing import (
    Answer,
    ScriptedService,
    cut,
    drip,
    garbled,
    gzip_bomb,
    huge,
    login_page,
    redirect,
    reset,
)
from laws import tried

HELLO = Case.of("Hello?", id="hello", context={"channel": "web"}, category="greeting", language="en", passages=("p",))


def first_turn(case: Case = HELLO) -> Conversation:
    return Conversation.at(case, 0, [], session_id="session-1")


async def ask(kind: str, url: str, turns: Conversation | None = None, **given):
    target = targets.build(kind, {"api_url": url, **given})
    async with target:
        return await target.ask(turns or first_turn())


async def failure(url: str, kind: str = "chatbot", **given) -> TargetError:
    with pytest.raises(TargetError) as caught:
        await ask(kind, url, **given)
    return caught.value


async def test_a_chatbot_gets_the_seeds_request(scripted_service):
    bot = scripted_service({"text": "Hi."})

    reply = await ask("chatbot", bot.url + "chat", api_key=Secret("k-1234567"), test_user_id="tester-7")

    (call,) = bot.ledger
    assert (call.method, call.path) == ("POST", "/chat")
    assert call.json == {"query": "Hello?", "context": {"channel": "web"}, "user_id": "tester-7"}
    assert call.headers["Authorization"] == "Bearer k-1234567"
    assert call.headers["Content-Type"] == "application/json"
    assert call.headers["Idempotency-Key"] == "session-1-0"
    assert call.headers["X-Session-Id"] == "session-1"
    assert reply.text == "Hi."


async def test_a_chatbot_may_give_more_than_text(scripted_service):
    bot = scripted_service(
        {"text": "Hi.", "intent": "greet", "entities": {"who": "you"}, "confidence": 1, "contexts": ["a", {"b": 1}],
         "tool_calls": ["look", {"name": "find", "arguments": {"q": 1}}], "llm_invoked": True, "other": 5,
         "label": None}
    )  # fmt: skip

    reply = await ask("chatbot", bot.url)

    assert (reply.intent, reply.entities, reply.confidence, reply.llm_invoked) == ("greet", {"who": "you"}, 1.0, True)
    assert reply.contexts == ("a", '{"b":1}')
    assert reply.tool_calls == (ToolCall(name="look"), ToolCall(name="find", arguments={"q": 1}))
    assert reply.raw["other"] == 5


async def test_a_template_is_filled_with_what_the_request_needs(scripted_service):
    bot = scripted_service({"choices": [{"message": {"content": "Hi."}}], "docs": [{"t": "a"}, {}, {"t": "b"}]})
    body = {
        "q": "{input}", "said": "User {user_id} says: {input}", "all": "{messages}", "where": ["{session_id}", 7, True],
        "about": {"case": "{case_id}", "ctx": "{context}", "as text": "context {context}", "sources": "{passages}"},
        "n": "{turn_number}", "lang": "{language}/{category}",
    }  # fmt: skip

    reply = await ask(
        "http", bot.url, body=body, reply={"text": "$.choices[0].message.content", "contexts": "$.docs[*].t"}
    )

    assert bot.ledger[0].json == {
        "q": "Hello?", "said": "User eval-tester says: Hello?", "all": [{"role": "user", "content": "Hello?"}],
        "where": ["session-1", 7, True],
        "about": {"case": "hello", "ctx": {"channel": "web"}, "as text": 'context {"channel":"web"}', "sources": ["p"]},
        "n": 1, "lang": "en/greeting",
    }  # fmt: skip
    assert (reply.text, reply.contexts) == ("Hi.", ("a", "b"))


@pytest.mark.parametrize("text", ["{{7*7}}", "${HOME}", "{input}", "{context}", "<script>alert(1)</script>", "=1+1"])
async def test_du20_what_a_case_says_is_sent_byte_for_byte(scripted_service, text):
    bot = scripted_service({"text": "ok"})

    await ask("http", bot.url, first_turn(Case.of(text, id="x")), body={"q": "{input}", "more": "He said: {input}"})

    assert bot.ledger[0].json == {"q": text, "more": f"He said: {text}"}


@pytest.fixture(scope="module")
def echoing():
    with ScriptedService.in_thread(lambda call: {"text": call.json["q"], "more": call.json["more"]}) as bot:
        yield bot


@tried(60)
@given(text=st.text(st.characters(exclude_categories=["Cs"]), min_size=1) | st.from_regex(r"\{[a-z_]{1,12}\}"))
async def test_any_text_arrives_as_it_is_and_comes_back_as_it_is(echoing, text):
    reply = await ask(
        "http", echoing.url, first_turn(Case.of(text, id="x")), body={"q": "{input}", "more": "{case_id}: {input}"},
        reply={"text": "$.text", "transcript": "$.more"},
    )  # fmt: skip

    assert (reply.text, reply.transcript) == (text, f"x: {text}")


async def test_other_methods_and_headers(scripted_service):
    bot = scripted_service({"text": "ok"})

    await ask("http", bot.url, method="PUT", headers={"X-Team": "blue"})
    await ask(
        "http", bot.url, method="GET", headers={"Authorization": "Basic abcdefgh"}, api_key=Secret("not-this-one")
    )

    put, get = bot.ledger
    assert (put.method, put.headers["X-Team"]) == ("PUT", "blue")
    assert (get.method, get.body, get.headers["Authorization"]) == ("GET", b"", "Basic abcdefgh")


async def test_tr01_a_login_page_is_no_answer_and_its_beginning_is_kept(scripted_service):
    error = await failure(scripted_service(login_page()).url)

    assert (error.kind, error.transient) == ("not_json", False)
    assert "Please sign in" in str(error)


async def test_tr01_what_is_quoted_is_short_and_redacted(scripted_service):
    Secret("a-key-that-leaks")
    error = await failure(scripted_service("<p>a-key-that-leaks</p>" + "x" * 5_000).url)

    assert "a-key-that-leaks" not in str(error)
    assert len(str(error)) < 300


@pytest.mark.parametrize("body", [b"", b"  \n", b"\xef\xbb\xbf"])
async def test_tr02_an_empty_body_is_an_error(scripted_service, body):
    assert (await failure(scripted_service(body).url)).kind == "empty"


async def test_tr02_a_missing_field_is_named_with_what_was_there_instead(scripted_service):
    bot = scripted_service({"answer": "Hi.", "id": 1})

    plain, mapped = await failure(bot.url), await failure(bot.url, "http", reply={"text": "$.result.text"})

    assert (plain.kind, mapped.kind) == ("missing_field", "missing_field")
    assert "no 'text'" in str(plain)
    assert "['answer', 'id']" in str(plain)
    assert "$.result.text" in str(mapped)


@pytest.mark.parametrize(
    "body",
    [{"text": None}, {"text": 5}, {"text": ["a"]}, {"text": "a", "confidence": "high"}, {"text": "", "intent": 1}],
)
async def test_a_field_of_the_wrong_type_is_an_error_and_not_a_guess(scripted_service, body):
    assert (await failure(scripted_service(body).url)).kind == "wrong_type"


@pytest.mark.parametrize("body", ["[]", "7", '"text"', "null", "true"])
async def test_json_that_is_no_object_has_no_text(scripted_service, body):
    bot = scripted_service(Answer(body=body.encode()))

    assert (await failure(bot.url)).kind == "missing_field"
    assert (await failure(bot.url, "http")).kind == "missing_field"


@pytest.mark.parametrize(
    ("status", "kind", "transient"),
    [(400, "status", False), (401, "auth", False), (403, "auth", False), (404, "status", False), (408, "status", True),
     (429, "rate_limited", True), (500, "status", True), (502, "status", True), (503, "status", True),
     (201, "status", False)],
)  # fmt: skip
async def test_every_other_status_is_an_error_that_says_whether_to_try_again(scripted_service, status, kind, transient):
    error = await failure(scripted_service(Answer(status=status, body=b'{"text": "no"}')).url)

    assert (error.kind, error.transient) == (kind, transient)
    assert str(status) in str(error)


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
async def test_tr07_a_redirect_is_not_followed_and_the_key_stays_at_home(scripted_service, code):
    elsewhere = scripted_service({"text": "Hi."})
    bot = scripted_service(redirect(elsewhere.url, code))

    error = await failure(bot.url, api_key=Secret("home-key-123"))

    assert error.kind == "redirect"
    assert elsewhere.ledger == []
    assert len(bot.ledger) == 1


async def test_tr08_an_answer_of_50_mb_is_given_up_at_the_limit(scripted_service):
    bot = scripted_service(huge())

    error = await failure(bot.url)

    assert (error.kind, error.transient) == ("too_large", False)
    assert bot.ledger[0].sent < 25 * 1024 * 1024, "the rest was not read"


async def test_tr08_an_answer_that_says_how_large_it_is_is_not_read_at_all(scripted_service):
    bot = scripted_service(Answer(body=b'{"text": "' + b"a" * (6 * 1024 * 1024) + b'"}'))

    assert (await failure(bot.url)).kind == "too_large"


async def test_tr06_a_packed_answer_counts_as_what_it_unpacks_to(scripted_service):
    bot = scripted_service(gzip_bomb(256 * 1024 * 1024))

    assert (await failure(bot.url)).kind == "too_large"


async def test_tr10_invalid_utf_8_is_read_with_marks_and_a_flag(scripted_service):
    reply = await ask("http", scripted_service(garbled("café")).url, reply={"text": "$.response"})

    assert reply.text == "caf�"
    assert "marks" in reply.metadata["encoding"]


@pytest.mark.parametrize(
    ("declared", "encoded", "noted"),
    [
        ("latin-1", "utf-8", "utf-8, though latin-1 was declared"),
        ("latin-1", "latin-1", "latin-1"),
        ("utf-16", "utf-16", "utf-16"),
        ("no-such-charset", "utf-8", "utf-8, though no-such-charset was declared"),
        ("idna", "utf-8", "utf-8, though idna was declared"),
        ("utf-8", "utf-8", None),
        ("UTF-8", "utf-8", None),
    ],
)
async def test_tr10_the_bytes_decide_then_the_declaration(scripted_service, declared, encoded, noted):
    answer = Answer(body='{"text": "café"}'.encode(encoded), content_type=f"application/json; charset={declared}")

    reply = await ask("chatbot", scripted_service(answer).url)

    assert (reply.text, reply.metadata.get("encoding")) == ("café", noted)


async def test_tr10_half_an_emoji_as_javascript_writes_it_is_read_with_a_mark(scripted_service):
    reply = await ask("chatbot", scripted_service(Answer(body=b'{"text": "Fine \\ud83d"}')).url)

    assert reply.text == "Fine ?"
    assert reply.metadata["encoding"]


@pytest.mark.parametrize("body", [b'{"text": NaN}', b"{'text': 'a'}", b'{"text": "a"} {}', b'"text": "a"}'])
async def test_what_is_nearly_json_is_not_json(scripted_service, body):
    assert (await failure(scripted_service(Answer(body=body)).url)).kind == "not_json"


async def test_p15_an_answer_that_is_cut_short_is_no_answer(scripted_service):
    said = {"text": "The whole truth."}
    for framing in ("length", "chunked"):
        for after in (1, 10, len(json.dumps(said)) - 3):
            error = await failure(scripted_service(cut(after, said, framing=framing)).url)
            assert (error.kind, error.transient) == ("truncated", True)


async def test_f12_a_torn_connection_and_a_closed_port_are_worth_another_try(scripted_service):
    torn = await failure(scripted_service(reset()).url)
    bot = scripted_service({"text": "a"})
    bot.from_thread(bot.go_down())
    closed = await failure(bot.url)

    assert [(each.kind, each.transient) for each in (torn, closed)] == [("connection", True)] * 2
    assert "127.0.0.1" in str(closed)
    assert str(torn).endswith(" closed the connection without an answer.")  # it was reached


async def test_f17_a_slow_drip_does_not_outlive_the_time_limit(scripted_service):
    target = targets.build("chatbot", {"api_url": scripted_service(drip(every_s=0.02)).url})
    started = time.monotonic()
    async with target:
        with pytest.raises(TargetError, match=r"No reply within 0\.3 s") as caught:
            await ask_target(Line(patience=Patience(timeout_s=0.3, retries=0)), target, first_turn())

    assert caught.value.kind == "timeout"
    assert time.monotonic() - started < 2  # it would drip for ever


BAD_URLS = [
    "file:///etc/passwd", "ftp://host/x", "host.example/chat", "//host/chat", "http://", "https:///x", "http://[::1/x",
    "http://host:99999/", "http://host:x/", "javascript:alert(1)", "", "http:host",
]  # fmt: skip


@pytest.mark.parametrize("url", BAD_URLS)
@pytest.mark.parametrize("kind", ["chatbot", "http"])
def test_cf11_what_is_no_http_address_is_refused_before_anything_runs(url, kind):
    with pytest.raises(InputError, match="must begin with http"):
        targets.build(kind, {"api_url": url})


@pytest.mark.parametrize(
    "url", ["http://me:hunter22@host/", "https://:hunter22@host/", "me:hunter22@host/chat", "file://me:hunter22@h/x",
            "http://me:hunter22@host:99999/"]
)  # fmt: skip
def test_cf11_a_password_in_an_address_is_refused_and_not_repeated(url):
    with pytest.raises(InputError, match="api_key") as caught:
        check_url(url)

    assert "hunter22" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["http://host", "https://host:8443/a?b=c", "http://127.0.0.1:1/@bot", "http://[::1]:80/"]
)
def test_plain_addresses_are_fine(url):
    check_url(url)


async def test_a_key_in_the_query_is_not_shown(scripted_service):
    error = await failure(scripted_service({"oops": 1}).url + "chat?key=hunter22")

    assert "hunter22" not in str(error)
    assert "/chat" in str(error)


async def test_no_cookie_goes_from_one_call_to_the_next(scripted_service):
    bot = scripted_service(Answer(body=b'{"text": "a"}', headers={"Set-Cookie": "session=abc"}))
    target = targets.build("chatbot", {"api_url": bot.url})
    async with target:
        await target.ask(first_turn())
        await target.ask(first_turn())

    assert all("Cookie" not in call.headers for call in bot.ledger)


async def test_a_target_of_ones_own_posts_json(scripted_service):
    @dataclass
    class Helpdesk(Target):
        url: str

        async def ask(self, turns: Sequence[Turn]) -> Reply:
            body = await self.post(self.url, {"messages": [turn.text for turn in turns]}, headers={"X-A": "b"})
            return Reply(text=body["answer"])

    bot = scripted_service({"answer": "Hi."})
    async with Helpdesk(bot.url) as target:
        assert await target.ask(first_turn()) == Reply(text="Hi.")
    assert (bot.ledger[0].json, bot.ledger[0].headers["X-A"]) == ({"messages": ["Hello?"]}, "b")


async def test_the_clock_of_the_first_call_starts_when_the_client_is_loaded(scripted_service, monkeypatch):
    target = targets.build("chatbot", {"api_url": scripted_service({"text": "Yes."}).url})
    is_loaded, ask = threading.Event(), target.ask

    def load(name: str) -> object:
        time.sleep(0.2)
        is_loaded.set()
        return importlib.import_module(name)

    async def asked(turns: Conversation) -> Reply:
        assert is_loaded.is_set()
        return await ask(turns)

    monkeypatch.setattr("cortex_eval.targets.base.import_module", load)
    monkeypatch.setattr(target, "ask", asked)
    async with target:
        reply = await ask_target(Line(), target, first_turn())

    assert reply.text == "Yes."
