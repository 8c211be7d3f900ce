"""A service that never answered and where nobody listens: a wrong address is told soon, an outage is waited for."""

from __future__ import annotations

import asyncio
import re
import socket

import pytest
from made_lines import Service, all_of, down, line

from cortex_eval.core import Reply, TargetError, Unavailable
from cortex_eval.net import JsonClient, Line, Patience, patience

WHERE = "api_url of services.bot (cortex.yaml:2)"


def nobody() -> TargetError:
    error = TargetError("127.0.0.1:9 refuses connections.", kind="connection", transient=True)
    error.is_nobody_there = True
    return error


@pytest.fixture
def soon(monkeypatch):
    monkeypatch.setattr(patience, "UNREACHED_S", 0.2)
    monkeypatch.setattr(patience, "PROBE_SOON_S", 0.02)


def patient(**given: object) -> Line:
    return line(pause_limit_s=600, probe_every_s=30, **given)


async def ended_by(to_bot: Line, service: Service) -> Unavailable:
    answers = await all_of(to_bot, service, 40)
    (reason,) = {each for each in answers if isinstance(each, Unavailable)}
    return reason


async def test_an_address_where_nobody_ever_listened_is_told_soon_with_what_to_check(soon):
    to_bot = Line("bot", patient().patience, where=WHERE)

    async with asyncio.timeout(5):
        reason = await ended_by(to_bot, Service(lambda _number: nobody()))

    assert reason.kind == "target_unreachable"
    told = "127.0.0.1:9 refuses connections, and no call was ever answered. Is it running? "
    assert str(reason) == f"{told}Check api_url of services.bot (cortex.yaml:2)."


async def test_where_no_setting_is_known_it_says_to_check_the_address(soon):
    reason = await ended_by(patient(), Service(lambda _number: nobody()))

    assert str(reason).endswith("Is it running? Check the address of bot.")


async def test_a_service_that_is_just_starting_is_waited_for(soon):
    service = Service(lambda number: nobody() if number <= 14 else Reply(text="up"))
    to_bot = patient()

    async with asyncio.timeout(5):
        answers = await all_of(to_bot, service, 40)

    assert not any(isinstance(each, Unavailable) for each in answers)
    assert (to_bot.openings, to_bot.recoveries) == (1, 1)


@pytest.mark.parametrize("first", [Reply(text="ok"), TargetError("503", kind="status", transient=True)])
async def test_F14_a_service_that_answered_before_is_waited_for_as_long_as_is_allowed(soon, first):
    await stays_down(patient(), Service(lambda number: first if number == 1 else nobody()))


async def test_F14_so_is_one_that_answered_an_earlier_part_of_the_run(soon):
    to_bot = Line("bot", patient().patience, was_heard=True)

    await stays_down(to_bot, Service(lambda _number: nobody()))


async def test_F14_so_is_one_that_fails_in_another_way_than_by_not_being_there(soon):
    await stays_down(patient(), Service(lambda _number: down()))


async def stays_down(to_bot: Line, service: Service) -> None:
    for _ in range(10):
        await asyncio.gather(to_bot.call(service), return_exceptions=True)
    calls = [asyncio.create_task(to_bot.call(service)) for _ in range(15)]
    while not to_bot.is_down:
        await asyncio.sleep(0)
    await asyncio.wait(calls, timeout=0.4)
    assert "for 10 min more" in to_bot.waits
    assert not any(call.done() and isinstance(call.exception(), Unavailable) for call in calls)
    for call in calls:
        call.cancel()
    await asyncio.wait(calls)


@pytest.mark.parametrize(
    ("said", "first"),
    [
        (" It said: 'KeyError: message'", ": KeyError: message"),
        (" It said: 'Error. Then a page which is longer than a line is wide.'", ": Error. Then a page whic…"),
        (" It said: ''", ""),
        ("", ""),
    ],
)
async def test_what_is_waited_for_says_its_reason_first_and_briefly_with_what_the_service_said(said, first):
    said = TargetError(f"clinic.test answered 503.{said}", kind="status", transient=True)
    to_bot = line(break_after=1, pause_limit_s=600, retry_delay_s=30, probe_every_s=30)
    call = asyncio.create_task(to_bot.call(Service(lambda _number: said)))
    while not to_bot.note:
        await asyncio.sleep(0)

    told = to_bot.waits

    reason, _, waits = told.partition("; ")
    assert reason == f"clinic.test answered 503{first}"
    assert re.fullmatch(r"trying again in (29|30) s, for 10 min more", waits), told
    call.cancel()
    await asyncio.wait([call])


async def test_a_key_that_is_refused_is_told_in_whole_sentences():
    service = Service(lambda _number: TargetError("It said: 'invalid api key'", kind="auth"))

    reason = await ended_by(line(), service)

    assert str(reason) == "It said: 'invalid api key'. 5 calls in a row were refused."


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_port_where_nobody_listens_refuses_connections(host):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    client = JsonClient()

    with pytest.raises(TargetError) as caught:
        await client.post(f"http://{host}:{port}/chat", {})
    await client.close()

    assert str(caught.value) == f"{host}:{port} refuses connections."
    assert (caught.value.kind, caught.value.transient, caught.value.is_nobody_there) == ("connection", True, True)


async def test_F19_a_name_that_does_not_resolve_is_named():
    client = JsonClient()

    with pytest.raises(TargetError) as caught:
        await client.post("http://no-such-clinic.invalid/chat", {})
    await client.close()

    assert str(caught.value) == "no-such-clinic.invalid does not resolve. There is no such name, or no name service."
    assert (caught.value.kind, caught.value.transient, caught.value.is_nobody_there) == ("connection", True, True)


def test_the_usual_patience_is_longer_than_that_for_an_address_where_nobody_is():
    assert patience.PROBE_SOON_S < patience.UNREACHED_S <= 30 < Patience().pause_limit_s
