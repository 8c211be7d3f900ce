"""The scripted service answers, fails and remembers as it is told to."""

from __future__ import annotations

import asyncio
import urllib.error
import urllib.request
from email.utils import parsedate_to_datetime

import aiohttp
import pytest

from cortex_eval.testing import (
    Answer,
    Call,
    ScriptedService,
    answers_by,
    at_random,
    cut,
    drip,
    garbled,
    gzip_bomb,
    hang,
    huge,
    login_page,
    one_in,
    redirect,
    reset,
    sequence,
    status,
    too_many_requests,
)

ASK = {"query": "Is it open?"}


async def post(bot: ScriptedService, body: object = ASK, *, timeout_s: float = 5.0) -> tuple[int, bytes]:
    limit = aiohttp.ClientTimeout(total=timeout_s)
    async with (
        aiohttp.ClientSession(timeout=limit) as session,
        session.post(bot.url + "chat", json=body, allow_redirects=False) as response,
    ):
        return response.status, await response.read()


async def test_what_was_asked_comes_back_and_the_ledger_has_it():
    async with ScriptedService() as bot:
        assert await post(bot) == (200, b'{"response":"Is it open?"}')

    (call,) = bot.ledger
    assert (call.method, call.path, call.json, call.number) == ("POST", "/chat", ASK, 1)
    assert call.headers["content-type"] == "application/json"
    assert (call.answered, call.status) == (True, 200)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"response": "नमस्ते"}, (200, '{"response":"नमस्ते"}'.encode())),
        ("plain words", (200, b"plain words")),
        (503, (503, b'{"error":"Service Unavailable"}')),
        ([1, 2], (200, b"[1,2]")),
        (Answer(status=201, body=b"{}"), (201, b"{}")),
    ],
)
async def test_a_fixed_value_is_the_answer_to_every_call(said, expected):
    async with ScriptedService(reply=said) as bot:
        assert [await post(bot), await post(bot)] == [expected, expected]


async def test_a_function_decides_by_the_call_even_when_it_is_async():
    async def by_number(call: Call) -> object:
        return {"n": call.number}

    async with ScriptedService(reply=by_number) as bot:
        assert [(await post(bot))[1], (await post(bot))[1]] == [b'{"n":1}', b'{"n":2}']


async def test_a_sequence_ends_with_its_last_answer():
    async with ScriptedService(reply=sequence(500, 500, {"response": "ok"})) as bot:
        assert [(await post(bot))[0] for _ in range(4)] == [500, 500, 200, 200]


async def test_answers_are_found_by_a_part_of_the_request():
    script = answers_by("context.case_id", {"a": {"response": "A"}}, otherwise=404)
    async with ScriptedService(reply=script) as bot:
        assert await post(bot, {"context": {"case_id": "a"}}) == (200, b'{"response":"A"}')
        assert (await post(bot, {"context": {"case_id": "b"}}))[0] == 404
        assert (await post(bot, ["no object"]))[0] == 404


async def test_every_third_call_meets_the_fault():
    async with ScriptedService(reply=one_in(3, 503)) as bot:
        assert [(await post(bot))[0] for _ in range(6)] == [200, 200, 503, 200, 200, 503]


async def test_a_flapping_service_flaps_the_same_way_for_the_same_seed():
    async def statuses() -> list[int]:
        async with ScriptedService(reply=at_random(0.5, 503, seed=7)) as bot:
            return [(await post(bot))[0] for _ in range(20)]

    first = await statuses()
    assert first == await statuses()
    assert set(first) == {200, 503}


async def test_calls_at_the_same_time_are_counted():
    async with ScriptedService(latency_s=0.05) as bot:
        async with asyncio.TaskGroup() as group:
            for _ in range(5):
                group.create_task(post(bot))
        assert (bot.peak_in_flight, bot.in_flight, bot.answered) == (5, 0, 5)


async def test_f12_a_torn_connection_gives_no_answer():
    async with ScriptedService(reply=reset()) as bot:
        with pytest.raises(aiohttp.ClientConnectionError):
            await post(bot)
        assert not bot.ledger[0].answered


async def test_f12_a_service_that_is_down_refuses_and_comes_back_on_the_same_port():
    async with ScriptedService() as bot:
        before = bot.url
        await bot.go_down()
        with pytest.raises(aiohttp.ClientConnectorError):
            await post(bot)
        await bot.come_back()
        assert (await post(bot))[0] == 200
        assert bot.url == before


async def test_f15_retry_after_is_given_in_seconds_as_a_date_or_not_at_all():
    assert too_many_requests(retry_after_s=2).headers == {"Retry-After": "2"}
    assert parsedate_to_datetime(too_many_requests(retry_after_s=2, as_date=True).headers["Retry-After"]).tzinfo
    assert too_many_requests().headers == {}
    async with ScriptedService(reply=too_many_requests()) as bot:
        assert (await post(bot))[0] == 429


async def test_f16_a_hanging_call_sends_nothing_and_does_not_hold_up_leaving():
    async with ScriptedService(reply=hang()) as bot:
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(_fails(post(bot)))
            await bot.calls_arrived(1)
            await bot.go_down()
        assert waiting.result()
        assert (bot.ledger[0].answered, bot.ledger[0].sent) == (False, 0)


async def _fails(work) -> bool:
    with pytest.raises(aiohttp.ClientError):
        await work
    return True


async def test_f17_a_drip_goes_on_for_ever():
    async with ScriptedService(reply=drip(every_s=0.01)) as bot:
        with pytest.raises(TimeoutError):
            await post(bot, timeout_s=0.4)
        assert bot.ledger[0].sent > 1


async def test_a_drip_with_an_end_arrives_whole():
    async with ScriptedService(reply=drip({"response": "slow"}, every_s=0.001, endless=False)) as bot:
        assert await post(bot) == (200, b'{"response":"slow"}')


@pytest.mark.parametrize("framing", ["length", "chunked"])
async def test_f18_a_cut_can_be_noticed(framing):
    async with ScriptedService(reply=cut(5, {"response": "hello"}, framing=framing)) as bot:
        with pytest.raises(aiohttp.ClientPayloadError):
            await post(bot)
        assert (bot.ledger[0].answered, bot.ledger[0].sent) == (False, 5)


async def test_f18_a_cut_without_framing_is_only_seen_in_the_text():
    async with ScriptedService(reply=cut(5, {"response": "hello"}, framing="close")) as bot:
        assert await post(bot) == (200, b'{"res')


async def test_tr01_tr07_tr10_wrong_pages_redirects_and_bad_bytes():
    async with ScriptedService(reply=login_page()) as bot:
        assert b"<form>" in (await post(bot))[1]
        bot.reply = redirect("http://192.0.2.1/")
        assert (await post(bot))[0] == 302
        bot.reply = garbled()
        with pytest.raises(UnicodeDecodeError):
            (await post(bot))[1].decode()
        bot.reply = status(503, retry_after="7")
        assert (await post(bot))[0] == 503


async def test_tr06_a_small_body_unpacks_to_a_large_one():
    bomb = gzip_bomb(64 * 1024 * 1024)
    assert len(bomb.body) < 100_000
    async with (
        ScriptedService(reply=bomb) as bot,
        aiohttp.ClientSession() as session,
        session.post(bot.url) as response,
    ):
        unpacked = await response.content.read(1024 * 1024)
        assert unpacked.startswith(b'{"response": "aaa')
        response.close()


async def test_tr08_a_huge_body_is_sent_no_further_than_it_is_read():
    async with ScriptedService(reply=huge(50_000_000)) as bot, aiohttp.ClientSession() as session:
        async with session.post(bot.url) as response:
            await response.content.readexactly(100_000)
            response.close()
        await bot.go_down()
        assert 100_000 <= bot.ledger[0].sent < 50_000_000


async def test_a_huge_body_is_valid_json_of_exactly_its_size():
    async with ScriptedService(reply=huge(200_000)) as bot:
        _, body = await post(bot)
    assert len(body) == 200_000
    assert body.startswith(b'{"response": "')
    assert body.endswith(b'a"}')


def test_it_serves_code_that_is_not_async():
    with ScriptedService.in_thread(reply={"response": "hi"}) as bot:
        with urllib.request.urlopen(bot.url) as response:
            assert response.read() == b'{"response":"hi"}'
        bot.wait_for_calls(1)
        bot.from_thread(bot.go_down())
        with pytest.raises(urllib.error.URLError):
            urllib.request.urlopen(bot.url)


def test_waiting_for_calls_that_do_not_come_ends():
    with ScriptedService.in_thread() as bot, pytest.raises(TimeoutError, match="0 calls arrived"):
        bot.wait_for_calls(1, timeout_s=0.01)
