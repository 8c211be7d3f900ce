"""`cortex demo --serve`: services that stay up until a signal, and projects that are ready to run against them."""

from __future__ import annotations

import json
import shlex
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from installed import Folder

from cortex_eval.demo import FAULTS, SAMPLES, put_fault


@contextmanager
def served(folder: Folder, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """`cortex demo … --serve`, and the lines that it shows once it is up."""
    process = folder.start("demo", *arguments, "--serve")
    try:
        assert process.stdout is not None
        lines: list[str] = []
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            if "beside each cortex.yaml" in line:
                break
        else:
            raise AssertionError(process.communicate()[1])
        yield process, lines
    finally:
        process.kill()
        process.communicate()


def ask(url: str, **body: str) -> dict[str, object]:
    sent = Request(url, json.dumps(body).encode(), {"Authorization": "Bearer any", "Content-Type": "application/json"})
    with urlopen(sent) as response:
        found: dict[str, object] = json.load(response)
        return found


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@pytest.mark.slow
def test_a_service_is_kept_up_run_against_from_another_folder_and_ended_with_ctrl_c(folder, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    elsewhere = Folder(tmp_path / "elsewhere")
    folder.write("my demo/.env", "OTHER=kept\nCORTEX_DEMO_URL=http://127.0.0.1:9/old\n")
    port = free_port()

    with served(folder, "support-agent", "--port", str(port), "--output-dir", "my demo") as (process, lines):
        url = f"http://127.0.0.1:{port}/ask"
        assert f"  support-agent   {url}" in lines
        assert "password" in str(ask(url, input="I forgot my password.")["answer"]).lower()
        (command,) = (line.strip() for line in lines if line.startswith("  cortex run tickets "))
        done = elsewhere.cortex(*shlex.split(command)[1:], "--json")
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=30)

    assert done.code == 0, done.err
    assert (done.json["totals"]["cases"], done.json["totals"]["passed"]) == (56, 51)
    assert (process.returncode, told) == (0, "")
    environment = (folder.root / "my demo" / ".env").read_text("utf-8")
    assert environment == f"OTHER=kept\nCORTEX_DEMO_URL={url}\nCORTEX_API_KEY=demo-key\n"
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


def test_every_service_is_up_with_its_regression_and_its_fault_and_sigterm_ends_them(folder):
    with served(folder, "--version", "2", "--fault", "down") as (process, lines):
        urls = [line.split()[-1] for line in lines if "http://" in line]
        for url in urls:
            with pytest.raises(HTTPError, match="503"):
                urlopen(url)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)

    assert process.returncode == 0
    assert lines[0].startswith("Sample services, version 2,")
    assert f"Fault: {FAULTS['down']}." in lines
    assert len(urls) == sum(len(sample.paths) for sample in SAMPLES.values() if sample.service)
    assert sum(line.startswith("  cortex run ") for line in lines) == 5
    assert all(
        (folder.root / "cortex-demo" / name / ".env").is_file() for name, each in SAMPLES.items() if each.service
    )


def test_version_2_says_that_it_is_and_machines_are_told_in_json(folder):
    process = folder.start("demo", "bioagent", "--serve", "--version", "2", "--json")
    try:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        (service,) = said["services"]
        with urlopen(service["urls"][0]) as response:
            about = json.load(response)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    finally:
        process.kill()

    assert process.returncode == 0
    assert (said["version"], about["version"]) == ("2", "2")
    assert service["commands"] == [f"cortex run bioagent --config {service['config']}"]


def test_a_port_that_is_taken_or_does_not_exist_is_told(folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = folder.cortex("demo", "health", "--serve", "--port", str(taken.getsockname()[1]))
    beyond = folder.cortex("demo", "--serve", "--port", "65535")

    assert (done.code, beyond.code) == (4, 4)
    assert "Choose another one with --port" in done.err
    assert "Choose another one with --port" in beyond.err


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_that_is_offered_can_be_put_in_front_of_a_service(fault):
    with SAMPLES["bioagent"].start() as agent:
        assert agent is not None
        assert agent.service is not None
        before = (agent.service.reply, agent.service.latency_s)
        put_fault(agent, fault)

        assert (agent.service.reply, agent.service.latency_s) != before
