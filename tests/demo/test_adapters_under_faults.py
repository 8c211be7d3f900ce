"""Every adapter against its sample service with every fault switch: a reply or a named error, never a score from it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pytest

from cortex_eval.config import Request, load_project, make_plans
from cortex_eval.core import Case, Reply, Result, Secret, TargetError
from cortex_eval.demo.bioagent import BioAgent
from cortex_eval.demo.healthcare import HealthcareServices
from cortex_eval.demo.listening import Listening
from cortex_eval.demo.service import HealthChatbot
from cortex_eval.demo.support import SupportAgent
from cortex_eval.demo.voice_line import VoiceLine
from cortex_eval.engine import execute
from cortex_eval.net import Guard, Limits
from cortex_eval.storage import Store
from cortex_eval.targets import Conversation, read_wav, targets
from cortex_eval.testing import (
    Answer,
    Call,
    ToneListener,
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
    status,
    too_many_requests,
)

MIB = 1024 * 1024


@dataclass(frozen=True)
class Adapter:
    """An adapter, its sample service, and a question that is answered well."""

    kind: str
    start: Callable[[], Listening]
    question: str
    path: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    case: dict[str, Any] = field(default_factory=dict)


KEY = {"api_key": "${CORTEX_API_KEY}"}
SUPPORT = {"body": {"input": "{input}"}, "reply": {"text": "$.answer", "contexts": "$.passages[*].text"}}
TONES = {"speak": "cortex_eval.testing:ToneSpeaker", "hear": "cortex_eval.testing:ToneListener"}
ADAPTERS = {
    "chatbot": Adapter("chatbot", HealthcareServices, "My nose is blocked and I sneeze.", "/chat", settings=KEY),
    "health": Adapter("chatbot", HealthChatbot, "My nose is blocked and I sneeze.", settings=KEY),
    "rag": Adapter("rag", HealthcareServices, "May I put butter on a burn?", "/rag"),
    "translation": Adapter(
        "translation",
        HealthcareServices,
        "Are you pregnant?",
        "/translate",
        case={"source_language": "en", "target_language": "hi"},
    ),
    "agent": Adapter("agent", BioAgent, "find RNA-seq data for asthma"),
    "support": Adapter("http", SupportAgent, "I forgot my password.", settings=SUPPORT),
    "voice": Adapter(
        "voice", lambda: VoiceLine(speak=TONES["speak"], hear=TONES["hear"]), "What time do you close?", settings=TONES
    ),
}
"""By what is asked; the voice line speaks and hears in tones, which are quick."""
FIRST = ("chatbot", "voice")
"""One that sends JSON and one that sends sound: `make check` tries these, `make test` all."""
FIRST_AND_THE_REST = [name if name in FIRST else pytest.param(name, marks=pytest.mark.slow) for name in ADAPTERS]


def said(text: str) -> Answer:
    """A well-formed answer that every adapter would read, to be spoilt on its way."""
    return Answer(body=orjson.dumps(dict.fromkeys(("text", "answer", "translation"), text)))


FAULTS: dict[str, tuple[Answer, str, bool]] = {
    "a login page": (login_page(), "not_json", False),
    "a redirect": (redirect("http://127.0.0.1:9/"), "redirect", False),
    "too many requests": (too_many_requests(), "rate_limited", True),
    "too many requests, with a date": (too_many_requests(retry_after_s=2, as_date=True), "rate_limited", True),
    "a service that is down": (status(503, retry_after="1"), "status", True),
    "a server error": (status(500), "status", True),
    "a bad request": (status(400), "status", False),
    "nothing there": (status(404), "status", False),
    "no access": (status(401), "auth", False),
    "a torn connection": (reset(), "connection", True),
    "half an answer, by its length": (cut(9, said("Yes.")), "truncated", True),
    "half an answer, in chunks": (cut(9, said("Yes."), framing="chunked"), "truncated", True),
    "half an answer, unnoticed": (cut(9, said("Yes."), framing="close"), "truncated", True),
    "silence": (hang(), "timeout", True),
    "a trickle": (drip(every_s=1.0), "timeout", True),
    "far too much": (huge(8 * MIB), "too_large", False),
    "far too much, packed": (gzip_bomb(16 * MIB), "too_large", False),
    "no JSON at all": (Answer(body=b"Yes."), "not_json", False),
    "an empty body": (Answer(), "empty", False),
    "the wrong type": (Answer(body=b'{"text": 3, "answer": 3, "translation": 3}'), "wrong_type", False),
    "other fields": (Answer(body=b'{"ok": true}'), "missing_field", False),
}
WAITED_FOR = ("too many requests", "too many requests, with a date", "a service that is down")
"""In a run these are no errors of a case: it waits, and asks again."""
LATIN = said("caf\u00e9").body.decode().encode("latin-1")
READ_ANYWAY: dict[str, tuple[Answer, str]] = {
    "a slow trickle that ends": (drip(said("Yes."), every_s=0.001, endless=False), "Yes."),
    "another encoding": (Answer(body=LATIN, content_type="application/json; charset=latin-1"), "caf\u00e9"),
    "another encoding than it says": (Answer(body=LATIN, content_type="application/json; charset=utf-8"), "caf\ufffd"),
    "no content type": (Answer(body=said("Yes.").body, content_type=""), "Yes."),
}
"""What looks wrong and holds an answer all the same."""


@pytest.fixture(autouse=True)
def _key_and_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CORTEX_API_KEY", "any-key")
    monkeypatch.chdir(tmp_path)  # where sound is kept


async def ask(name: str, url: str, *, idle_s: float = 0.3) -> Reply:
    adapter = ADAPTERS[name]
    settings = {**adapter.settings, "api_url": url}
    if "api_key" in settings:
        settings["api_key"] = Secret("any-key")
    case = Case.of(adapter.question, id="c1", metadata=adapter.case)
    async with targets.build(adapter.kind, settings) as target:
        target.connect_by(Guard(), Limits(idle_s=idle_s))
        turns = await target.prepare(Conversation.at(case, 0, [], session_id="s1"))
        return await target.complete(turns, await target.ask(turns))


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("kind", FIRST_AND_THE_REST)
async def test_a_fault_is_a_named_error_and_the_next_call_is_answered(kind: str, fault: str) -> None:
    adapter, (answer, error_kind, is_transient) = ADAPTERS[kind], FAULTS[fault]
    with adapter.start() as sample:
        assert sample.service is not None
        sample.service.reply = answer

        with pytest.raises(TargetError) as caught:
            await ask(kind, sample.url + adapter.path, idle_s=0.1 if error_kind == "timeout" else 0.3)
        sample.service.reply = sample.answer
        reply = await ask(kind, sample.url + adapter.path)

    assert (caught.value.kind, caught.value.transient) == (error_kind, is_transient)
    assert reply.text
    assert len(sample.service.ledger) == 2


@pytest.mark.parametrize("oddity", READ_ANYWAY)
@pytest.mark.parametrize("kind", FIRST_AND_THE_REST)
async def test_an_oddity_that_holds_an_answer_is_read(kind: str, oddity: str) -> None:
    with ADAPTERS[kind].start() as sample:
        assert sample.service is not None
        sample.service.reply = READ_ANYWAY[oddity][0]
        reply = await ask(kind, sample.url + ADAPTERS[kind].path)

    assert reply.text == READ_ANYWAY[oddity][1]
    assert ("encoding" in reply.metadata) == ("encoding" in oddity)


@pytest.mark.parametrize(("kind", "read"), [(name, name in ("rag", "translation")) for name in ADAPTERS])
async def test_the_garbled_answer_of_another_service_is_read_where_its_words_are_known(kind: str, read: bool) -> None:
    with ADAPTERS[kind].start() as sample:
        assert sample.service is not None
        sample.service.reply = garbled()
        if read:
            reply = await ask(kind, sample.url + ADAPTERS[kind].path)
            assert reply.text == "caf\ufffd"
            assert "marks in place" in reply.metadata["encoding"]
        else:
            with pytest.raises(TargetError) as caught:
                await ask(kind, sample.url + ADAPTERS[kind].path)
            assert caught.value.kind == "missing_field"


def questions(kind: str, names: Iterable[str]) -> list[dict[str, Any]]:
    """One case for each fault, and as many that meet none; the question is another each time."""
    adapter = ADAPTERS[kind]
    texts = [text for name in names for text in (f"{name}: {adapter.question}", f"not {name}: {adapter.question}")]
    return [
        {"id": text.partition(":")[0], "input": text, "expected": {"answer": "Yes."}, **adapter.case} for text in texts
    ]


async def play(kind: str, folder: Path, url: str, rows: list[dict[str, Any]], **execution: Any) -> list[Result]:
    adapter = ADAPTERS[kind]
    (folder / "cases.json").write_text(json.dumps(rows), encoding="utf-8")
    document = {
        "services": {
            "bot": {"kind": adapter.kind, "api_url": url + adapter.path, "idle_seconds": 0.3, **adapter.settings}
        },
        "suites": {"s": {"dataset": "cases.json", "service": "bot", "scorers": ["rouge", "performance"]}},
        "execution": {"max_concurrent_tests": 1, "retry_count": 0, "retry_delay_seconds": 0, **execution},
    }
    (folder / "cortex.yaml").write_text(json.dumps(document), encoding="utf-8")
    [plan] = make_plans(load_project(folder / "cortex.yaml"), Request(suite="s", is_offline=True))
    with Store(folder / "s.db") as store:
        return list((await execute(plan, store)).results)


def asked_in(call: Call) -> str:
    """The question, by whatever name a service calls it, or as it sounds."""
    if call.json is None:
        return ToneListener().hear(read_wav(call.body)).text
    return next(str(call.json[name]) for name in ("query", "text", "input") if name in call.json)


class Alternating:
    """A fault, a good answer, a fault, a good answer: so that no run of failures looks like a service that is down."""

    def __init__(self, sample: Listening, names: Iterable[str]) -> None:
        self.sample, self.left = sample, list(names)
        self.met: dict[str, str] = {}
        self._is_good = False

    def __call__(self, call: Call) -> Any:
        asked = asked_in(call)
        self._is_good = not self._is_good
        if self._is_good or not self.left:
            return self.sample.answer(call)
        fault = self.left.pop()
        self.met[asked.partition(":")[0]] = fault
        return FAULTS[fault][0]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ADAPTERS)
async def test_in_a_run_an_error_is_kept_with_its_kind_and_is_never_a_score(kind: str, tmp_path: Path) -> None:
    names = [name for name in FAULTS if name not in WAITED_FOR]
    with ADAPTERS[kind].start() as sample:
        assert sample.service is not None
        sample.service.reply = alternating = Alternating(sample, names)
        results = await play(kind, tmp_path, sample.url, questions(kind, names))

    assert len(alternating.met) == len(names)
    for result in results:
        fault = alternating.met.get(result.case_id)
        if fault is None:
            assert (result.state in ("passed", "failed"), result.error) == (True, None)
            assert set(result.scores) == {"rouge", "performance"}
        else:
            assert (result.state, result.error and result.error.kind) == ("error_target", FAULTS[fault][1]), fault
            assert (result.reply, dict(result.scores), result.overall, result.passed) == (None, {}, None, None)


@pytest.mark.parametrize("kind", FIRST_AND_THE_REST)
async def test_a_run_against_a_service_that_stumbles_now_and_then_has_every_reply(kind: str, tmp_path: Path) -> None:
    rows = questions(kind, ["a", "b", "c"])
    with ADAPTERS[kind].start() as sample:
        assert sample.service is not None
        busy = one_in(3, too_many_requests(retry_after_s=0), otherwise=sample.answer)
        sample.service.reply = at_random(0.2, status(503, retry_after="0"), otherwise=busy, seed=1)
        results = await play(kind, tmp_path, sample.url, rows, retry_count=5)

    assert len(results) == len(rows)
    assert all(result.error is None and result.scores for result in results)
    assert len(sample.service.ledger) > len(rows)
