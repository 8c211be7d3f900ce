"""HTTPS: a certificate that cannot be verified is an error with its reason, and nothing is sent."""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme

from cortex_eval.testing import speak_openai

YESTERDAY = datetime.now(UTC) - timedelta(days=1)
CASES = [{"id": str(n), "input": f"Question {n}", "ground_truth": "Yes."} for n in range(3)]


def served_with(*certificate: trustme.Blob, key: trustme.Blob, folder: Path) -> ssl.SSLContext:
    chain = folder / "chain.pem"
    chain.write_bytes(key.bytes() + b"".join(each.bytes() for each in certificate))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain)
    return context


def issued(authority: trustme.CA, folder: Path, name: str = "127.0.0.1", **given: datetime) -> ssl.SSLContext:
    leaf = authority.issue_cert(name, **given)
    return served_with(*leaf.cert_chain_pems, key=leaf.private_key_pem, folder=folder)


def self_signed(_authority: trustme.CA, folder: Path) -> ssl.SSLContext:
    alone = trustme.CA()
    return served_with(alone.cert_pem, key=alone.private_key_pem, folder=folder)


SERVED: dict[str, tuple[Callable[[trustme.CA, Path], ssl.SSLContext], str]] = {
    "self-signed": (self_signed, "self-signed certificate"),
    "unknown issuer": (lambda _, folder: issued(trustme.CA(), folder), "certificate"),
    "expired": (
        lambda authority, folder: issued(
            authority, folder, not_before=YESTERDAY - timedelta(days=9), not_after=YESTERDAY
        ),
        "certificate has expired",
    ),
    "wrong host": (
        lambda authority, folder: issued(authority, folder, "clinic.example"),
        "certificate is not valid for '127.0.0.1'",
    ),
}


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> trustme.CA:
    """An authority that the command trusts."""
    made = trustme.CA()
    made.cert_pem.write_to_path(tmp_path / "authority.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    return made


def test_TR11_a_certificate_that_can_be_verified_is_accepted(scripted_service, make_project, authority, tmp_path):
    bot = scripted_service({"text": "Yes."}, tls=issued(authority, tmp_path))

    done = make_project(CASES, {"kind": "chatbot", "api_url": bot.url}).cortex("run", "--json")

    assert done.returncode == 0, done.stderr
    assert bot.url.startswith("https://")
    assert len(bot.ledger) == 3


@pytest.mark.parametrize(
    "served", ["expired", *(pytest.param(name, marks=pytest.mark.slow) for name in SERVED if name != "expired")]
)
def test_TR11_a_bad_certificate_is_an_error_with_its_reason_and_nothing_is_sent(
    scripted_service, make_project, authority, tmp_path, served
):
    make_context, reason = SERVED[served]
    bot = scripted_service({"text": "Yes."}, tls=make_context(authority, tmp_path))
    project = make_project(
        CASES, {"kind": "chatbot", "api_url": bot.url, "api_key": "key-0123456789"}, execution={"retry_count": 3}
    )

    done = project.cortex("run", "--json", "--results")

    assert done.returncode == 3, done.stderr
    report = json.loads(done.stdout)
    assert [each["state"] for each in report["results"]] == ["error_target"] * 3
    assert {each["error"]["kind"] for each in report["results"]} == {"tls"}
    assert [each["error"]["message"] for each in report["results"] if reason not in each["error"]["message"]] == []
    assert {each["attempts"] for each in report["results"]} == {1}, "it is not tried again"
    assert report["run"]["manifest"]["calls"]["made"] == 3
    assert all("the certificate was refused" in each["error"]["message"] for each in report["results"])
    assert bot.ledger == [], "no request without a verified certificate"


@pytest.mark.slow
def test_TR11_a_judge_with_a_bad_certificate_is_not_asked_either(scripted_service, make_project, authority, tmp_path):
    bot = scripted_service({"text": "Yes."})
    model = scripted_service(
        speak_openai('{"reason": "It is.", "verdict": "pass"}'), tls=self_signed(authority, tmp_path)
    )
    project = make_project(
        CASES,
        {"kind": "chatbot", "api_url": bot.url},
        scorers=[{"tone": {"kind": "judge", "prompt": "Polite? {answer}"}}],
        models={"judge": {"model": "m1", "base_url": model.url, "api_key": "key-0123456789"}},
    )

    done = project.cortex("run", "--json", "--results")

    assert done.returncode == 3, done.stderr
    results = json.loads(done.stdout)["results"]
    assert {(each["state"], each["error"]["kind"]) for each in results} == {("error_judge", "tls")}
    assert model.ledger == []


@pytest.mark.slow
def test_TR11_a_port_that_does_not_speak_tls_is_no_certificate(scripted_service, make_project):
    bot = scripted_service({"text": "Yes."})
    project = make_project(CASES, {"kind": "chatbot", "api_url": bot.url.replace("http:", "https:")})

    done = project.cortex("run", "--json", "--results")

    assert done.returncode == 3
    [(kind, message)] = {
        (each["error"]["kind"], each["error"]["message"]) for each in json.loads(done.stdout)["results"]
    }
    assert kind == "tls"
    assert "no secure connection: " in message
    assert bot.ledger == []
