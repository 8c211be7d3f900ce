"""Thirty planted secrets come back from a talkative service in every encoding, and none of them is kept or shown."""

from __future__ import annotations

import base64
import html
import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from installed import Done, Folder

from cortex_eval.cli.options import hint, out, print_json
from cortex_eval.core import Secret
from cortex_eval.testing import Answer, Call, ScriptedService
from warm_command import run_command, run_installed

IN_ENVIRONMENT = {
    "MAIN_API_KEY": "sk-live-51Hx9Qk3LmNpRsTuVwXyZ0aB",
    "CLINIC_KEY": "k3y-Zq7!",
    "SLASH_TOKEN": "aws/Xy+9k2/PqL8+vB3=",
    "PERCENT_SECRET": "100%25off%2Fnow-77",
    "QUOTE_SECRET": 'say"quote"-in-7\'s',
    "BACK_SECRET": "back\\slash\\\\path-31",
    "AMP_SECRET": "a&b<c>d&amp;e-4242",
    "UMLAUT_SECRET": "tür-schlüssel-größe-9",
    "EMOJI_SECRET": "ключ🔑от-двери-17",
    "TENANT_CODE": "tenant-7f3a-9b1c",
    "BODY_TOKEN": "body-tok-Ab3/Cd5+Ef7",
}
IN_DOTENV = {
    "BASE64_KEY": "QUJDREVGR0hJSktMTU5PUFFS",
    "PADDED_KEY": "dG9rZW4tZm9yLXRoZS1jbGluaWM=",
    "JWT_TOKEN": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJudXJzZSJ9.c2lnbmF0dXJl-Xy_z",
    "HEX_KEY": "9f86d081884c7d659a2feaa0c55ad015",
    "UUID_KEY": "6f1c2e9a-77b4-4a53-9c1d-0e8f5a2b3c4d",
    "SHORT_PASS": "p4s5W0rd",
    "BLANK_PASS": "correct horse 7 battery",
    "LONG_KEY": "L0ng-" + "".join(f"{number:02x}Zz" for number in range(100)),
    "TILDE_KEY": "~!@#$^*()_-=[]|:;,.?5",
    "HINDI_KEY": "चाबी-नंबर-बारह-12",
}
IN_FILE = {
    "X-Literal-Api-Key": "literal-key-000111222",
    "X-Word-Token": "hunter42",
    "Cookie": "s3ss10n/cookie+77=x",
}
BEARER = "first-half-77aa second-half-88bb"
BASIC = "pa55:w/o+rd=9"
DATABASE = "db-p@ss/w0rd-5%"
OF_PYTHON = {"ONLY_PYTHON_KEY": "only-the-function-knows-1", "OTHER_PYTHON_TOKEN": "other/fn+tok=77"}
MISSPELT = "written-in-a-wrong-place-8"
SECRETS = [
    *IN_ENVIRONMENT.values(),
    *IN_DOTENV.values(),
    *IN_FILE.values(),
    *(BEARER, BASIC, DATABASE, *OF_PYTHON.values(), MISSPELT),
]

Encode = Callable[[str], str]
ENCODINGS: dict[str, Encode] = {
    "plain": str,
    "url": lambda text: f"{quote(text, safe='')} {quote_plus(text)} {quote(text)} {lower_escapes(text)}",
    "base64": lambda text: " ".join(
        encode(before + text.encode() + b"@x").decode()
        for before in (b"", b":", b"u:", b"me:")
        for encode in (base64.b64encode, base64.urlsafe_b64encode)
    ),
    "json": lambda text: f"{json.dumps(text)} {json.dumps(json.dumps(text))} {escaped(text)}".replace("/", "\\/"),
    "hex": lambda text: f"{text.encode().hex()} {text.encode().hex().upper()}",
    "html": lambda text: html.escape(text) + " " + "".join(f"&#{ord(each)};" for each in text),
}


def lower_escapes(text: str) -> str:
    return re.sub("%..", lambda found: found[0].lower(), quote(text, safe=""))


def escaped(text: str) -> str:
    units = text.encode("utf-16-be")
    return "".join(f"\\u{units[at] * 256 + units[at + 1]:04x}" for at in range(0, len(units), 2))


def forms(secret: str) -> Iterator[tuple[str, bytes]]:
    """What must not be found: the secret in each encoding, made by other means than those that mask it."""
    raw = secret.encode()
    yield "plain", raw
    if len(raw) >= 15:
        yield "two thirds", secret[: len(secret) * 2 // 3].encode()
    yield "json", json.dumps(secret)[1:-1].encode()
    yield "json, all", escaped(secret).encode()
    yield from (("url", each.encode()) for each in (quote(secret, safe=""), quote_plus(secret), lower_escapes(secret)))
    yield "html", html.escape(secret).encode()
    yield from (("hex", each) for each in (raw.hex().encode(), raw.hex().upper().encode()))
    for before in range(3):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            whole = encode(b"\0" * before + raw)[: (before + len(raw)) // 3 * 4]
            yield "base64", whole[4 if before else 0 :]


FORMS = [(secret, name, form) for secret in SECRETS for name, form in forms(secret)]


def hits(data: bytes, secrets: Iterable[str] = SECRETS) -> list[tuple[str, str, bytes]]:
    """Each secret that is there, in which encoding, and what stands around it."""
    among, found = set(secrets), []
    for secret, name, form in FORMS:
        at = data.find(form) if secret in among else -1
        if at >= 0:
            found.append((secret, name, data[max(0, at - 40) : at + 80]))
    return found


def talk(call: Call) -> Any:  # Any: what the service may say
    """A service that gives away every secret: the case says how and in which encoding."""
    how, _, encoding = call.json["input"].partition(" ")
    said = [ENCODINGS[encoding](secret) for secret in SECRETS]
    text = " | ".join(said)
    if how == "reply":
        return {
            "text": text,
            "intent": said[0],
            "debug": {"headers": {str(name): value for name, value in call.headers.items()}, "said": said},
        }
    if how == "names":
        return {"text": "fine", "entities": dict.fromkeys(said, 1), "more": [{key: {"key": text} for key in said}]}
    if how == "nothing":
        return dict.fromkeys(said, True)
    if how == "wrong":
        return {"text": {"is": said}}
    if how == "page":
        return Answer(body=f"<html>{html.escape(text)}</html>".encode(), content_type="text/html; charset=utf-8")
    if how == "moved":
        return Answer(status=302, headers={"Location": f"http://127.0.0.1:1/?key={quote(text)}"}, body=text.encode())
    number = int(encoding == "hex") * 3
    body = "x" * 170 + " " + text if encoding in ("json", "html") else " ".join(reversed(said))
    return Answer(status={"down": 500, "bad": 400, "who": 401}[how], body=body[number:].encode())


SPY = """
import os
from pathlib import Path

def cmdlines():
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            yield (folder / "cmdline").read_bytes()
        except OSError:
            pass

def answer(text):
    seen = Path(os.environ["SEEN"])
    seen.joinpath("cmdlines").write_bytes(b"\\n".join(cmdlines()))
    seen.joinpath("environ").write_bytes(Path("/proc/self/environ").read_bytes())
    keys = os.environ["ONLY_PYTHON_KEY"] + " " + os.environ["OTHER_PYTHON_TOKEN"]
    if text.startswith("reply"):
        print(keys)
        return {"text": keys, "metadata": {keys: keys}}
    if text.startswith("wrong"):
        return {"text": ["y" * 60 + keys]}
    raise ValueError("z" * 160 + keys)
"""
HOWS = ("reply", "names", "nothing", "wrong", "page", "moved", "bad")


def write_project(folder: Folder, url: str) -> None:
    cases = [f"{how} {encoding}" for how in HOWS for encoding in ENCODINGS]
    cases += ["down plain", "down url", "down base64", "who hex"]
    rows = [{"id": case, "input": case, "expected": {"answer": "fine"}} for case in cases]
    folder.write("cases.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    folder.write("few.jsonl", "".join(json.dumps(row) + "\n" for row in rows if row["id"].endswith("plain")))
    folder.write("spy.py", SPY)
    folder.write(".env", "".join(f"{name}='{value}'\n" for name, value in IN_DOTENV.items()))
    named = [
        name for name in (*IN_ENVIRONMENT, *IN_DOTENV) if name not in ("MAIN_API_KEY", "TENANT_CODE", "BODY_TOKEN")
    ]
    headers = {f"X-{name.title().replace('_', '-')}": f"${{{name}}}" for name in named}
    headers |= {"X-Tenant": "${TENANT_CODE}", "Authorization": f"Token {BEARER}", **IN_FILE}
    headers["X-Upstream-Authorization"] = "Basic " + base64.b64encode(f"nurse:{BASIC}".encode()).decode()
    bot = {
        "kind": "http",
        "api_url": url,
        "api_key": "${MAIN_API_KEY}",
        "version": "1",
        "headers": {**headers, "X-Api-Key": "${MAIN_API_KEY}"},
        "reply": {"text": "$.text", "entities": "$.entities"},
        "body": {"input": "{input}", "auth": {"token": "${BODY_TOKEN}"}},
    }
    document = {
        "services": {"bot": bot, "spy": {"kind": "python", "call": "spy:answer"}},
        "execution": {"retry_count": 0, "pause_limit_seconds": 0},
        "aggregation": {
            "token": MISSPELT,
            "source": f"postgresql://nurse:{quote(DATABASE, safe='')}@db.example.org/clinic",
        },
        "suites": {
            "all": {"dataset": "cases.jsonl", "service": "bot", "scorers": ["exact"]},
            "spied": {"dataset": "few.jsonl", "service": "spy", "scorers": ["exact"]},
        },
    }
    folder.write("cortex.yaml", document)
    wrong = {**bot, "method": "POST", "password": MISSPELT, "timeout_seconds": "x" * 60 + IN_DOTENV["UUID_KEY"]}
    folder.write("wrong.yaml", {**document, "services": {"bot": wrong}})


def cortex(folder: Folder, arguments: Sequence[str], given: Mapping[str, str]) -> Done:
    """Like `Folder.cortex`, but tracebacks are welcome: they are searched too."""
    run = run_installed if arguments[0] == "run" else run_command  # a run is seen by the processes that it starts
    done = run(arguments, cwd=folder.root, env=folder.environment(**given))
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def all_commands(cortex: Callable[..., Done]) -> Iterator[tuple[str, Done]]:
    for line in (
        "run all",
        "run all --json --results",
        "runs show latest --failed",
        "runs show latest --failed --json",
        "run spied --json --results",
        "runs list",
        "report latest -f all",
        "rescore latest --json --results",
        "baseline set latest",
        "baseline show --json",
        "config show",
        "config show --json",
        "doctor",
        "doctor --json",
        "run all --dry-run --json",
        "datasets export cases.jsonl exported.json",
        "run all --config wrong.yaml",
        "--debug config show --config wrong.yaml",
        "doctor --config wrong.yaml --json",
    ):
        yield line, cortex(*line.split())
    listed = cortex("runs", "list", "--json")
    yield "runs list --json", listed
    for run in (each["id"] for each in listed.json):
        yield f"report {run} -f all", cortex("report", run, "-f", "all")
        yield f"report {run} as seed003", cortex("report", run, "-f", "json", "--dialect", "seed003", "--json")


def left_on_disk(root: Path) -> Iterator[tuple[str, bytes]]:
    """Every file but those that the user wrote, and every value of the store, as a page may end within one."""
    own = {"cortex.yaml", "wrong.yaml", ".env", "spy.py", "cases.jsonl", "few.jsonl"}
    for path in root.rglob("*"):
        if path.is_file() and path.relative_to(root).as_posix() not in own:
            yield str(path), path.read_bytes()
    with closing(sqlite3.connect(root / ".cortex" / "cortex.db")) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        for table in tables:
            for row in connection.execute(f"SELECT * FROM {table}"):
                values = [value if isinstance(value, bytes) else str(value).encode() for value in row]
                yield table, b"\n".join(values)


@pytest.mark.slow
def test_P25_thirty_planted_secrets_are_nowhere_in_any_encoding(folder: Folder, tmp_path: Path):
    seen = tmp_path / "seen"
    seen.mkdir()
    with ScriptedService.in_thread(talk) as bot:
        write_project(folder, bot.url)
        given = {**IN_ENVIRONMENT, **OF_PYTHON, "SEEN": str(seen)}
        done = list(all_commands(lambda *arguments: cortex(folder, arguments, given)))
        ledger = list(bot.ledger)

    assert len(SECRETS) == len(set(SECRETS)) == 30
    travelled = "\n".join(f"{name}: {value}" for call in ledger for name, value in call.headers.items())
    travelled += b"\n".join(call.body for call in ledger).decode()
    missing = [secret for secret in SECRETS if secret not in travelled]
    assert set(missing) == {BASIC, DATABASE, MISSPELT, *OF_PYTHON.values()}, "all others travelled in the clear"

    shown = [(line, *hit) for line, each in done for text in (each.out, each.err) for hit in hits(text.encode())]
    assert shown == []
    assert [(name, *hit) for name, data in left_on_disk(folder.root) for hit in hits(data)] == []

    assert hits(seen.joinpath("cmdlines").read_bytes()) == []
    inherited = [*IN_ENVIRONMENT.values(), *OF_PYTHON.values()]
    others = [secret for secret in SECRETS if secret not in inherited]
    assert hits(seen.joinpath("environ").read_bytes(), others) == [], "a worker has the environment and nothing else"

    check_that_it_could_fail(dict(done), folder.root, len(ledger))


def check_that_it_could_fail(done: dict[str, Done], root: Path, calls: int) -> None:
    """The commands did their work, on the very replies that held the secrets, and the masks are in their place."""
    assert calls >= len(HOWS) * len(ENCODINGS)
    rows = {row["case_id"]: row for row in done["run all --json --results"].json["results"]}
    for encoding in ENCODINGS:
        reply = rows[f"reply {encoding}"]["reply"]
        assert reply["text"].count("***") >= 30
        assert rows[f"reply {encoding}"]["state"] == "failed"
        assert "***" in rows[f"bad {encoding}"]["error"]["message"]
        assert all("***" in key for key in rows[f"names {encoding}"]["reply"]["entities"])
    assert {row["error"]["kind"] for row in rows.values() if row["error"]} >= {
        *("status", "auth", "not_json", "missing_field", "wrong_type", "redirect")
    }
    spied = {row["case_id"]: row for row in done["run spied --json --results"].json["results"]}
    assert spied["reply plain"]["reply"]["text"] == "*** ***"
    assert "*** *** (spy.py:" in spied["bad plain"]["error"]["message"]
    assert "***" in done["runs show latest --failed"].out
    assert done["config show"].out.count("***") >= 25
    assert "${VARIABLE}" in done["run all"].err, "keys that are written out are told of"
    assert "chmod 600" in done["run all"].err, "and so is a file of keys that others can read"
    assert "Traceback" in done["--debug config show --config wrong.yaml"].err
    assert "timeout_seconds" in done["run all --config wrong.yaml"].err
    names = {path.suffix for path in root.joinpath("reports").rglob("*")}
    assert names >= {".html", ".md", ".json", ".csv", ".jsonl"}
    assert all(b"***" in path.read_bytes() for path in root.joinpath("reports").rglob("evaluation_*.json"))


def test_P25_the_scan_finds_each_secret_in_each_encoding():
    for secret in SECRETS:
        for name, encode in ENCODINGS.items():
            assert secret in {found for found, *_ in hits(f"<p>{encode(secret)}</p>".encode())}, (secret, name)


def test_P25_whatever_a_command_prints_is_masked(capsys: pytest.CaptureFixture[str]):
    Secret('prin"ted-9')

    out('a result with prin"ted-9')
    hint("a hint with prin%22ted-9")
    print_json({'prin"ted-9': ['prin"ted-9']})

    assert capsys.readouterr() == ('a result with ***\n{"***":["***"]}\n', "a hint with ***\n")
