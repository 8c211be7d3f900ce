"""Work survives `kill -9`, no case is paid twice beyond those in flight, and nobody can tell from the report."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import sqlite3
import statistics
import subprocess
import time
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest

from cortex_eval.testing import Call, ScriptedService, hang

AT_ONCE = 32
MOMENTARY = (
    {"id", "timestamp", "started", "finished", "created", "owner"}  # another run at another time
    | {"latency_ms", "total_time_ms", "overall_avg_latency_ms", "avg_total_time_ms", "waited_ms"}  # of every call
    | {"run_id", "latency_p50", "latency_p95"}  # of the points of the trend
    | {"hosts", "calls", "metadata"}  # calls that were cut off, and the marks of those that were made again
)


class Stored(NamedTuple):
    """What the store held when somebody looked."""

    replies: dict[tuple[str, int], tuple[str, bytes]]
    """By case and turn: when the reply was committed, and its bytes."""
    states: dict[tuple[str, int], str]


REPLIES = """SELECT c.case_id, r.turn, r.timestamp, r.reply, r.state FROM cortex_results r
    JOIN cortex_runs u ON u.no=r.run_no
    JOIN cortex_cases c ON c.dataset_no=u.dataset_no AND c.ordinal=r.ordinal WHERE r.reply IS NOT NULL"""


def fetch(store: Path | str, sql: str) -> list[tuple[Any, ...]]:
    """What somebody else sees in a store; nothing when it is not there yet."""
    if isinstance(store, str):
        with psycopg.connect(store) as connection, suppress(psycopg.errors.UndefinedTable):
            return connection.execute(sql).fetchall()
        return []
    if not store.exists():
        return []
    with closing(sqlite3.connect(store)) as connection, suppress(sqlite3.OperationalError):
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return connection.execute(sql).fetchall()
    return []


def look_into(store: Path | str) -> Stored:
    rows = fetch(store, REPLIES)
    replies = {(case, turn): (timestamp, reply) for case, turn, timestamp, reply, _ in rows}
    return Stored(replies, {(case, turn): state for case, turn, _, _, state in rows})


def has_a_run(store: Path | str) -> bool:
    return bool(fetch(store, "SELECT id FROM cortex_runs"))


def wait_for_calls(bot: ScriptedService, count: int, process: subprocess.Popen[str]) -> None:
    """Return when this many calls have come; a process that makes none says where it is."""
    try:
        bot.wait_for_calls(count, timeout_s=20)
    except TimeoutError as error:
        process.send_signal(signal.SIGABRT)
        pytest.fail(f"{error}\n{process.communicate()[1]}")


def kill(process: subprocess.Popen[str], bot: ScriptedService) -> None:
    """SIGKILL, and return when the service has noticed that nobody is there any more."""
    process.kill()
    process.communicate()

    async def all_have_hung_up() -> None:
        while bot.in_flight:  # a count, not an event: what is waited for is the loop itself
            await asyncio.sleep(0)

    bot.from_thread(all_have_hung_up())


def timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: timeless(each) for key, each in value.items() if key not in MOMENTARY}
    return [timeless(each) for each in value] if isinstance(value, list) else value


def answer(call: Call) -> dict[str, str]:
    number = int(call.json["query"].split()[1])
    return {"text": f"Answer {number}" if number % 7 else "I do not know."}


def rows(count: int) -> list[dict[str, str]]:
    return [{"id": str(n), "input": f"Question {n}", "ground_truth": f"Answer {n}"} for n in range(count)]


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
@pytest.mark.parametrize(
    ("cases", "kills"),
    [
        pytest.param(2_000, 20, marks=pytest.mark.slow),
        pytest.param(10_000, 100, marks=pytest.mark.soak),
    ],
)
def test_p01_p02_p03_f01_a_run_killed_again_and_again_loses_nothing_and_ends_as_if_it_had_not_been(
    cases, kills, database, scripted_service, make_project, request
):
    blocks = {"database": request.getfixturevalue("postgres_url")} if database == "postgres" else {}
    bot = scripted_service(answer, latency_s=0.01)
    service = {"kind": "chatbot", "api_url": bot.url}
    execution = {"max_concurrent_tests": AT_ONCE}
    project = make_project(rows(cases), service, execution=execution, **blocks)
    store = blocks.get("database", project.store_path)
    dice = random.Random(20_250_101)
    most_calls = int(cases * 0.85 / kills)
    in_flight_at_kills, seen, first_calls_s = 0, Stored({}, {}), []

    for number in range(kills):
        before = len(bot.ledger)
        resume = ["--resume", "latest"] if has_a_run(store) else []
        process, started = project.start("run", *resume), time.monotonic()
        if number % 5 == 0:
            with suppress(subprocess.TimeoutExpired):  # wherever it is in its early life
                process.wait(timeout=dice.uniform(0.02, 0.6))
        else:
            wait_for_calls(bot, before + 1, process)
            first_calls_s.append(time.monotonic() - started)
            wait_for_calls(bot, before + dice.randint(1, most_calls), process)
        assert process.poll() is None, process.communicate()
        kill(process, bot)

        now = look_into(store)
        lost = [key for key in seen.replies if now.replies.get(key) != seen.replies[key]]
        assert lost == [], f"changed or gone after kill {number + 1}"
        asked = {call.json["query"].split()[1] for call in bot.ledger[before:]}
        in_flight = {case for case in asked if (case, 0) not in now.replies}
        assert len(in_flight) <= AT_ONCE
        in_flight_at_kills, seen = in_flight_at_kills + len(in_flight), now

    finished = project.cortex("run", "--resume", "latest", "--json", "--results")
    assert finished.returncode == 0, finished.stderr
    final = look_into(store)
    assert {key: final.replies[key] for key in seen.replies} == seen.replies
    assert len(final.replies) == cases

    calls = Counter(call.json["query"] for call in bot.ledger)
    assert len(calls) == cases
    assert calls.total() - cases <= in_flight_at_kills
    keys = {(call.json["query"], call.headers["Idempotency-Key"]) for call in bot.ledger}
    marked = [case for (case, _), (_, reply) in final.replies.items() if b'"may_repeat":true' in reply]
    assert {query.split()[1] for query, count in calls.items() if count > 1} <= set(marked)
    assert len(marked) <= kills * AT_ONCE * 2
    assert len(keys) == cases, "a call that is repeated has the Idempotency-Key of the first one"

    if cases == 10_000:
        assert statistics.median(first_calls_s) <= 1.0, "from the start of the process to its first new call"

    other = make_project(rows(cases), service, execution=execution, name="uninterrupted")
    uninterrupted = other.cortex("run", "--json", "--results")
    assert timeless(json.loads(finished.stdout)) == timeless(json.loads(uninterrupted.stdout))


SCORER = '''
import asyncio
from dataclasses import dataclass
from pathlib import Path

from cortex_eval.core import Score
from cortex_eval.scoring import scorers


@scorers.register("held_up")
@dataclass(frozen=True)
class HeldUp:
    """Says nothing before a file is there."""

    until: str

    async def score(self, case, reply):
        while not Path(self.until).exists():
            await asyncio.sleep(0.01)
        return Score(name="held_up", value=1.0)
'''


def wait_for_replies(path: Path, count: int) -> None:
    while len(look_into(path).replies) < count:
        pass  # the store tells nobody when a row is committed


@pytest.mark.slow
def test_p04_f02_a_reply_stored_before_the_kill_is_scored_and_never_asked_for_again(
    scripted_service, make_project, tmp_path
):
    bot = scripted_service(answer)
    scorer = {"held_up": {"until": str(tmp_path / "go")}}
    project = make_project(
        rows(12), {"kind": "chatbot", "api_url": bot.url}, scorers=[scorer], plugins=["held_up.py"],
        execution={"max_concurrent_tests": 3},
    )  # fmt: skip
    (project.root / "held_up.py").write_text(SCORER, encoding="utf-8")

    for _ in range(3):
        arguments = ["--resume", "latest"] if project.store_path.exists() else []
        process = project.start("run", *arguments)
        bot.wait_for_calls(12)
        wait_for_replies(project.store_path, 12)
        kill(process, bot)
        assert set(look_into(project.store_path).states.values()) == {"pending"}
    (tmp_path / "go").touch()
    done = project.cortex("run", "--resume", "latest", "--json")

    assert json.loads(done.stdout)["totals"]["passed"] == 12
    assert len(bot.ledger) == 12, "no reply was asked for twice"


@pytest.mark.slow
def test_a_conversation_killed_in_the_middle_goes_on_with_the_next_turn(scripted_service, make_project):
    def second_turn_hangs(call: Call) -> Any:
        if call.json["input"] == "And on Sunday?":
            return hang()
        return {"text": "From nine to five.", "intent": "hours", "entities": {"place": "clinic"}}

    bot = scripted_service(second_turn_hangs)
    body = {"input": "{input}", "session": "{session_id}", "context": "{context}", "messages": "{messages}"}
    reply = {"text": "$.text", "intent": "$.intent", "entities": "$.entities"}
    turns = [{"input": "When are you open?"}, {"input": "And on Sunday?"}, {"input": "Thanks."}]
    project = make_project(
        [{"id": "hours", "turns": turns, "context": {"channel": "web"}}],
        {"kind": "http", "api_url": bot.url, "body": body, "reply": reply},
        scorers=["performance"],
    )

    process = project.start("run")
    bot.wait_for_calls(2)
    kill(process, bot)
    bot.reply = {"text": "Closed.", "intent": "hours"}
    done = project.cortex("run", "--resume", "latest", "--json")

    assert done.returncode == 0, done.stderr
    inputs = [call.json["input"] for call in bot.ledger]
    assert inputs == ["When are you open?", "And on Sunday?", "And on Sunday?", "Thanks."]
    first, cut_off, again, last = bot.ledger
    assert again.json == cut_off.json
    assert again.headers["Idempotency-Key"] == cut_off.headers["Idempotency-Key"]
    assert again.json["context"] == {
        "channel": "web",
        "previous_query": "When are you open?",
        "previous_intent": "hours",
        "previous_entities": {"place": "clinic"},
        "turn_number": 1,
    }
    assert [each["content"] for each in again.json["messages"]] == [
        "When are you open?", "From nine to five.", "And on Sunday?",
    ]  # fmt: skip
    assert {call.json["session"] for call in bot.ledger} == {first.json["session"]}
    assert last.json["context"]["previous_query"] == "And on Sunday?"


@pytest.mark.slow
def test_p08_a_run_killed_before_its_first_call_can_be_started_again(scripted_service, make_project):
    """Wherever the first process dies, the next one finds a store that it can use, or none."""
    bot = scripted_service(answer)
    project = make_project(rows(3), {"kind": "chatbot", "api_url": bot.url})
    for delay_s in (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4):
        process = project.start("run")
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=delay_s)
        kill(process, bot)

        done = project.cortex("run")
        assert done.returncode == 2, done.stderr
        for file in project.store_path.parent.iterdir():
            file.unlink()
