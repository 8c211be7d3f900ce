"""Whether somebody listens at an address is found out without sending anything."""

from __future__ import annotations

import socket

import pytest

from cortex_eval.net import knock


def test_somebody_who_listens_is_found_and_is_sent_nothing():
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(5)

        found = knock(f"http://127.0.0.1:{server.getsockname()[1]}/chat")

        with server.accept()[0] as visitor:
            visitor.settimeout(5)
            assert visitor.recv(10) == b""
    assert found == ""


def test_a_port_where_nobody_listens_is_told():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

    assert knock(f"http://127.0.0.1:{port}/chat") == f"nothing listens at 127.0.0.1:{port}"
    assert knock(f"http://localhost:{port}/chat") == f"nothing listens at localhost:{port}"


@pytest.mark.parametrize("host", ["no-such-clinic.invalid", "x" * 80])
def test_a_name_that_nobody_has_is_told(host):
    assert knock(f"https://{host}/") == f"{host} does not resolve"


@pytest.mark.parametrize("url", ["http://127.0.0.1:99999/", "file:///etc/passwd", "chat", "http://me:key@127.0.0.1/"])
def test_what_is_no_address_is_told_without_a_password(url):
    assert knock(url).startswith("the address must ")
    assert "key@" not in knock(url)


def test_somebody_who_does_not_answer_the_door_is_given_up_in_time(monkeypatch):
    def hangs(_self: object, _address: object) -> None:
        raise TimeoutError

    monkeypatch.setattr(socket.socket, "connect", hangs)

    assert knock("http://127.0.0.1:9/") == "127.0.0.1:9 cannot be reached within 2 s"


def test_a_metadata_address_is_never_knocked_at(monkeypatch):
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("it was"))
    leads = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("169.254.169.254", 80))]

    assert "link-local" in knock("http://169.254.169.254/")
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: leads)
    assert "link-local" in knock("http://clinic.test/")
