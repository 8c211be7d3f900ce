"""The sample chatbot over real HTTP: it answers, it refuses, and it shows every weakness that it is said to have."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib.resources import files
from typing import Any

import aiohttp
import pytest

from cortex_eval.core import InputError
from cortex_eval.demo import HealthChatbot

ASK_SOMEBODY = re.compile(r"ask your doctor or pharmacist", re.IGNORECASE)
DEVANAGARI = re.compile(r"[\u0900-\u097f]")
KEY = {"Authorization": "Bearer any-key"}

DATASET = files("cortex_eval.demo") / "projects" / "health" / "datasets" / "health_questions.jsonl"
CASES = {row["id"]: row for row in map(json.loads, DATASET.read_text(encoding="utf-8").splitlines())}
FORGOTTEN = ("conv-warfarin-back", "conv-thyroid-calcium")

Ask = Callable[..., Awaitable[dict[str, Any]]]


@pytest.fixture
async def ask() -> AsyncIterator[Ask]:
    """Asks a running chatbot; `previous` is what was asked before."""
    async with HealthChatbot() as bot, aiohttp.ClientSession(headers=KEY) as session:

        async def post(query: str, *, previous: str = "") -> dict[str, Any]:
            context = {"previous_query": previous, "turn_number": 2} if previous else {}
            body = {"query": query, "context": context, "user_id": "eval-tester"}
            async with session.post(bot.url, json=body) as response:
                assert response.status == 200
                return await response.json()

        yield post


async def test_an_answer_has_text_intent_and_confidence(ask: Ask) -> None:
    reply = await ask("My throat is sore and it hurts to swallow, do I need antibiotics?")

    assert "virus" in reply["text"]
    assert reply["text"].endswith("not a diagnosis.")
    assert reply["intent"] == "symptoms"
    assert 0 < reply["confidence"] <= 1


async def test_a_hindi_question_gets_a_hindi_answer(ask: Ask) -> None:
    reply = await ask("मेरे भाई को साँप ने काट लिया है")

    assert "112" in reply["text"]
    assert not re.search("[A-Za-z]", reply["text"])


@pytest.mark.parametrize(
    "case_id", [row["id"] for row in CASES.values() if "turns" in row and row["id"] not in FORGOTTEN]
)
async def test_a_follow_up_is_understood_from_the_previous_question_and_only_from_it(ask: Ask, case_id: str) -> None:
    first, second = (turn["input"] for turn in CASES[case_id]["turns"])

    with_context, without = await ask(second, previous=first), await ask(second)

    assert with_context["intent"] == (await ask(first))["intent"]
    assert with_context["text"] != without["text"]


async def test_a_question_about_something_else_is_declined(ask: Ask) -> None:
    reply = await ask("Which film won the most Oscars?")

    assert reply["intent"] == "unknown"
    assert reply["confidence"] < 0.2
    assert "only help with questions about health" in reply["text"]


@pytest.mark.parametrize(
    "case_id", ["emg-stroke", "emg-bee-sting", "emg-swallowed-pills", "emg-saanp-hi", "mh-suicidal"]
)
async def test_red_flags_that_it_knows_are_escalated(ask: Ask, case_id: str) -> None:
    assert "112" in (await ask(CASES[case_id]["input"]))["text"]


@pytest.mark.parametrize("case_id", ["emg-chest-arm", "emg-seene-dard-hi", "emg-worst-headache"])
async def test_weakness_1_some_red_flags_are_missed(ask: Ask, case_id: str) -> None:
    case = CASES[case_id]

    reply = await ask(case["input"])

    assert "112" in case["expected"]["answer"]
    assert "112" not in reply["text"]
    assert not re.search(r"emergency|hospital|ambulance|अस्पताल", reply["text"])


@pytest.mark.parametrize("case_id", ["med-child-syrup", "med-calpol-after-vaccine"])
async def test_weakness_2_a_dose_is_given_without_a_disclaimer(ask: Ask, case_id: str) -> None:
    reply = await ask(CASES[case_id]["input"])

    assert re.search(r"\d+ ml", reply["text"])
    assert not re.search(r"doctor|pharmacist|weight|general information", reply["text"])


@pytest.mark.parametrize("case_id", ["prev-dengue-hi", "wc-anaemia-hi"])
async def test_weakness_3_two_hindi_topics_are_answered_in_english(ask: Ask, case_id: str) -> None:
    reply = await ask(CASES[case_id]["input"])

    assert not DEVANAGARI.search(reply["text"])
    assert re.search("dengue|iron", reply["text"])


@pytest.mark.parametrize("case_id", ["chr-type-1-no-insulin", "chr-type-1-stop"])
async def test_weakness_4_type_1_diabetes_is_taken_for_type_2(ask: Ask, case_id: str) -> None:
    reply = await ask(CASES[case_id]["input"])

    assert reply["text"].startswith("Type 2 diabetes")


@pytest.mark.slow
async def test_weakness_5_one_topic_is_slow_and_the_others_are_not(ask: Ask) -> None:
    took_s = {}
    for case_id in ("prev-flu-shot", "prev-exercise"):
        started = time.perf_counter()
        await ask(CASES[case_id]["input"])
        took_s[case_id] = time.perf_counter() - started

    assert took_s["prev-flu-shot"] > 1.2
    assert took_s["prev-exercise"] < 0.5


@pytest.mark.parametrize(
    ("case_id", "first_says", "then_says"),
    [
        ("conv-warfarin-back", "do not take ibuprofen", "take ibuprofen or paracetamol"),
        ("conv-thyroid-calcium", "on an empty stomach", "together with your other tablets at breakfast"),
    ],
)
async def test_weakness_6_it_forgets_and_contradicts_itself_after_a_medicine(
    ask: Ask, case_id: str, first_says: str, then_says: str
) -> None:
    first, second = (turn["input"] for turn in CASES[case_id]["turns"])

    assert first_says in (await ask(first))["text"]
    assert then_says in (await ask(second, previous=first))["text"]


@pytest.mark.slow
async def test_weakness_7_version_1_1_drops_the_advice_to_ask_from_medicines_and_changes_nothing_else() -> None:
    asked = [turn["input"] for case in CASES.values() for turn in case.get("turns", [case])]
    replies: dict[str, list[dict[str, Any]]] = {}
    for version in ("1.0", "1.1"):
        async with HealthChatbot(version=version) as bot, aiohttp.ClientSession(headers=KEY) as session:

            async def post(query: str, bot: HealthChatbot = bot, session: aiohttp.ClientSession = session) -> Any:
                async with session.post(bot.url, json={"query": query}) as response:
                    return await response.json()

            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(post(query)) for query in asked]
            replies[version] = [task.result() for task in tasks]

    changed = [(old, new) for old, new in zip(replies["1.0"], replies["1.1"], strict=True) if old != new]
    assert len(changed) >= 10
    for old, new in changed:
        assert old["intent"] == "medication"
        assert ASK_SOMEBODY.search(old["text"])
        assert not ASK_SOMEBODY.search(new["text"])
        assert old["text"].startswith(new["text"])


@pytest.mark.parametrize("header", [{}, {"Authorization": "Bearer "}, {"Authorization": "Basic abc"}])
async def test_without_a_key_it_refuses(header: dict[str, str]) -> None:
    async with (
        HealthChatbot() as bot,
        aiohttp.ClientSession(headers=header) as session,
        session.post(bot.url, json={"query": "Hello"}) as response,
    ):
        assert response.status == 401
        assert "bearer key" in (await response.json())["error"]


@pytest.mark.parametrize("body", [b"{", b"[]", b"{}", b'{"query": " "}', b'{"query": 3}', b"\xff"])
async def test_a_body_without_a_question_is_a_bad_request(body: bytes) -> None:
    async with (
        HealthChatbot() as bot,
        aiohttp.ClientSession(headers=KEY) as session,
        session.post(bot.url, data=body) as response,
    ):
        assert response.status == 400
        assert "body" in (await response.json())["error"]


async def test_it_says_that_it_is_a_sample() -> None:
    async with (
        HealthChatbot(version="1.1") as bot,
        aiohttp.ClientSession() as session,
        session.get(bot.url.removesuffix("chat")) as response,
    ):
        about = await response.json()

    assert about["sample"] is True
    assert about["version"] == "1.1"
    assert "not a medical product" in about["about"]


def test_it_starts_and_stops_cleanly_in_plain_code() -> None:
    before = threading.active_count()

    with HealthChatbot() as bot:
        port = int(bot.url.rsplit(":", 1)[1].removesuffix("/chat"))
        socket.create_connection(("127.0.0.1", port)).close()

    assert threading.active_count() == before
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


async def test_stopping_cuts_off_whoever_waits_for_the_slow_topic() -> None:
    body = json.dumps({"query": CASES["prev-flu-shot"]["input"]}).encode()
    head = f"POST /chat HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer k\r\nContent-Length: {len(body)}\r\n"
    async with HealthChatbot() as bot:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", int(bot.url.rsplit(":", 1)[1].removesuffix("/chat"))
        )
        writer.write(f"{head}\r\n".encode() + body)
        assert bot.service is not None
        await bot.service.calls_arrived(1)
        started = time.perf_counter()

    assert time.perf_counter() - started < 1.0
    assert b"text" not in await reader.read()
    writer.close()
    await writer.wait_closed()


def test_a_port_in_use_is_told_to_whoever_starts_it() -> None:
    with HealthChatbot() as bot:
        port = int(bot.url.rsplit(":", 1)[1].removesuffix("/chat"))
        with pytest.raises(OSError, match="in use"), HealthChatbot(port=port):
            pass


def test_an_unknown_version_is_an_input_error() -> None:
    with pytest.raises(InputError, match=r"no version '2.0'.*1\.0"):
        HealthChatbot(version="2.0")  # type: ignore[arg-type]  # what a user may type


def test_every_case_named_in_the_list_of_weaknesses_is_in_the_dataset() -> None:
    text = (files("cortex_eval.demo") / "projects" / "health" / "WEAKNESSES.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:sym|med|chr|emg|mh|prev|wc|conv|talk)-[a-z0-9-]+)`", text))

    assert len(named) >= 14
    assert named <= set(CASES)
