"""An environment that is not right, or not there: keys, stores, networks."""

from __future__ import annotations

import re
import sqlite3

import pytest

pytestmark = pytest.mark.slow  # each starts the command; together they take long

WATCH = """
import sys

def note(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        address = arguments[1] if event in ("socket.connect", "socket.sendto") else arguments[0]
        with open({log!r}, "a") as file:
            file.write(f"{{event}} {{address!r}}\\n")
        host = address[0] if isinstance(address, tuple) else address
        if host not in ("127.0.0.1", "::1", "localhost", None):
            raise OSError("there is no network in this test")

sys.addaudithook(note)
"""
"""A `sitecustomize` that notes every address which the process wants to reach, and lets it reach loopback only."""


@pytest.mark.parametrize("key", ["abc-123\n", " abc-123", "abc 123", "abc-123\t", ""], ids=repr)
def test_EN01_a_key_with_whitespace_is_refused_and_not_shown(clinic, key):
    project = clinic(service={"api_key": "${THE_KEY}"})

    done = project.cortex("run", THE_KEY=key)

    assert (done.code, done.out) == (4, "")
    assert "services.chatbot.api_key" in done.err
    assert "contains whitespace" in done.err
    assert "abc" not in done.err
    assert project.bot.ledger == []


def test_a_key_of_digits_is_sent_as_it_is(clinic):
    project = clinic(cases=1)
    project.write(
        "cortex.yaml",
        f"services:\n  chatbot:\n    api_url: {project.bot.url}\n    api_key: ${{CLINIC_KEY}}\n"
        "suites: {clinic: {dataset: cases.jsonl, scorers: [exact]}}\n",
    )

    done = project.cortex("run", CLINIC_KEY="0012345678")

    assert done.code == 0
    assert project.bot.ledger[0].headers["Authorization"] == "Bearer 0012345678"
    written = [path.read_bytes() for path in project.root.rglob("*") if path.is_file()]
    assert not any(b"0012345678" in each for each in written)


def broken_store(project, kind):
    path = project.root / ".cortex" / "cortex.db"
    if kind == "read-only":
        path.chmod(0o400)
    elif kind == "not a database":
        path.write_bytes(b"This is a shopping list.\n" * 100)
    elif kind == "another database":
        path.unlink()
        with sqlite3.connect(path) as other:
            other.execute("CREATE TABLE shopping (item TEXT)")
        other.close()
    else:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    return path


@pytest.mark.parametrize("kind", ["read-only", "not a database", "another database", "cut in half"])
def test_EN03_a_store_that_cannot_be_used_is_named_and_left_as_it_is(clinic, kind):
    project = clinic(cases=1)
    assert project.cortex("run").code == 0
    path = broken_store(project, kind)
    before = path.read_bytes()

    for command in (("run",), ("runs", "list")):
        done = project.cortex(*command)
        assert (done.code, done.out) == (3, "")
        assert ".cortex/cortex.db" in done.err
        assert "cp .cortex/cortex.db .cortex/cortex.db.backup" in done.err
    assert path.read_bytes() == before
    assert len(project.bot.ledger) == 1


def test_EN04_a_store_of_a_newer_version_names_both_and_is_left_as_it_is(clinic):
    project = clinic(cases=1)
    project.cortex("run")
    path = project.root / ".cortex" / "cortex.db"
    with sqlite3.connect(path) as store:
        store.execute("UPDATE alembic_version SET version_num='0099'")
    store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()
    before = path.read_bytes()

    done = project.cortex("run")

    assert (done.code, done.out) == (4, "")
    assert "0099" in done.err
    assert re.search(r"this program knows \d{4}", done.err)
    assert path.read_bytes() == before


def test_EN05_the_demo_and_its_report_reach_for_nothing_but_loopback(folder):
    log = folder.root / "addresses.txt"
    folder.write("watch/sitecustomize.py", WATCH.format(log=str(log)))

    done = folder.cortex("demo", "health", PYTHONPATH=str(folder.root / "watch"))

    assert done.code == 0, done.err
    addresses = set(log.read_text().splitlines())
    assert any("127.0.0.1" in each for each in addresses)
    outside = [each for each in addresses if not re.search(r"'(127\.0\.0\.1|localhost|::1)'", each)]
    assert outside == []
    (page,) = (folder.root / "cortex-demo" / "health" / "reports" / "evaluation").glob("report_*.html")
    text = page.read_text(encoding="utf-8")
    hosts = set(re.findall(r"(?:https?:)?//([\w.-]+\.[a-z]{2,}|\d+\.\d+\.\d+\.\d+)", text))
    assert hosts <= {"www.w3.org", "127.0.0.1"}
    loaded = re.findall(r"<(?:script|link|iframe|img|object|embed)[^>]+?(?:src|href|data)=[\"']([^\"']*)", text)
    assert [each for each in loaded if not each.startswith("data:")] == []
