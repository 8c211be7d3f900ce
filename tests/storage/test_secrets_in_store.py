"""No secret is ever on disk: not in the store, not in its log, in no encoding."""

from __future__ import annotations

import base64
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest

from cortex_eval.analysis import GateSettings
from cortex_eval.config import Plan
from cortex_eval.core import Case, Secret, Turn
from cortex_eval.engine import execute
from cortex_eval.net import Patience
from cortex_eval.scoring import plan_scorer, scorer
from cortex_eval.targets import targets
from cortex_eval.testing import Answer

KEY = 'sk-live/7+ "q" ü-0042'
HEADER = "tok/9+8=zz-secret"


def encodings(secret: str) -> dict[str, bytes]:
    return {
        "plain": secret.encode(),
        "url": quote(secret, safe="").encode(),
        "base64": base64.b64encode(secret.encode()).rstrip(b"="),
        "hex": secret.encode().hex().encode(),
        "json": secret.replace('"', '\\"').encode(),
        "json, escaped": secret.replace('"', '\\"').encode("ascii", "backslashreplace").replace(b"\\xfc", b"\\u00fc"),
    }


def echo_the_key(call):
    """A service that gives away what it was sent, in its reply or in its error."""
    said = call.headers["Authorization"].removeprefix("Bearer "), call.headers["X-Api-Key"]
    text = " ".join(each.decode() for secret in said for each in encodings(secret).values())
    if call.json["input"] == "fail":
        return Answer(status=400, body=text.encode(), content_type="text/plain; charset=utf-8")
    if call.json["input"] == "page":
        return Answer(body=f"<html>{text}</html>".encode(), content_type="text/html; charset=utf-8")
    return {"text": text, "debug": {"headers": {str(k): v for k, v in call.headers.items()}, said[0]: 1}}


@scorer(name="talkative")
def talkative(case: Case, reply) -> float:
    if case.id == "judge":
        raise ValueError(f"the judge was called with {HEADER}")
    return 1.0


def files_of(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.name, path.read_bytes()


@pytest.mark.parametrize("version", [None, "1"], ids=["not cached", "cached"])
async def test_p25_a_secret_in_request_reply_and_error_is_nowhere_on_disk(scripted_service, file_store, version):
    bot, store = scripted_service(echo_the_key), file_store
    settings = {
        "api_url": bot.url,
        "api_key": Secret(KEY),
        "headers": {"X-Api-Key": HEADER},
        "reply": {"text": "$.text"},
        "body": {"input": "{input}"},
    }
    asked = [Case.of(text, id=text) for text in ("echo", "fail", "page", "judge")]
    plan = Plan(
        suite="suite",
        dataset=asked,
        target=targets.build("http", settings),
        target_name="bot",
        target_version=version,
        target_settings=settings,
        scorers=(plan_scorer(talkative),),
        patience=Patience(retries=0),
        gate=GateSettings(),
    )

    report = await execute(plan, store)
    report = await execute(plan, store)
    store.baselines.keep("main", "suite", report.run.id, {"said": KEY, "config": report.run.manifest})

    assert len(bot.ledger) == (8 if version is None else 6), (
        "errors are asked for again, replies only without a version"
    )
    found = [
        (name, secret, encoding)
        for name, data in files_of(store.path.parent)
        for secret in (KEY, HEADER)
        for encoding, form in encodings(secret).items()
        if form in data
    ]
    assert found == []
    names = {name for name, _ in files_of(store.path.parent)}
    assert {"cortex.db", "cortex.db-wal"} <= names, "the log was searched too"
    with closing(sqlite3.connect(store.path)) as connection:
        stored = connection.execute("SELECT count(*) FROM cortex_results WHERE instr(CAST(reply AS TEXT), '***')")
        assert stored.fetchone()[0] >= 2


async def test_p25_scorers_and_later_turns_see_a_reply_as_it_was_kept(scripted_service, file_store):
    seen = []

    @scorer(name="reads")
    def reads(case: Case, reply) -> float:
        seen.append(reply.text)
        return 1.0

    bot = scripted_service(lambda call: {"text": f"{call.json['said'][-1]['content']}: {KEY}", "raw": {KEY: 1}})
    settings = {
        "api_url": bot.url,
        "api_key": Secret(KEY),
        "body": {"said": "{messages}"},
    }
    plan = Plan(
        suite="suite",
        dataset=[Case(id="two", turns=(Turn(text="one"), Turn(text="two")))],
        target=targets.build("http", settings),
        target_name="bot",
        scorers=(plan_scorer(reads),),
        gate=GateSettings(),
    )

    await execute(plan, file_store)

    assert sorted(seen) == ["one: ***", "two: ***"]
    assert bot.ledger[-1].json["said"][1] == {"role": "assistant", "content": "one: ***"}
