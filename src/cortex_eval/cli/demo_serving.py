"""`cortex demo --serve`: the sample services kept up, each with a project that is ready to be run against it."""

from __future__ import annotations

import asyncio
import shlex
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cortex_eval.cli.demo_stage import prepare
from cortex_eval.cli.options import out, print_json
from cortex_eval.core import InputError, StorageError
from cortex_eval.demo import FAULTS, KEY, SAMPLES, put_fault

ENVIRONMENT_FILE = ".env"


@dataclass(frozen=True, slots=True, kw_only=True)
class Up:
    """A sample service that is up, and the project that talks to it."""

    project: str
    url: str
    config: Path

    @property
    def urls(self) -> list[str]:
        """Everything that can be asked there."""
        return [f"{self.url}{path}" for path in SAMPLES[self.project].paths]

    def command(self, suite: str) -> str:
        """What runs a suite against it, from any folder."""
        return f"cortex run {suite} --config {shlex.quote(str(self.config))}"

    def facts(self) -> dict[str, Any]:  # Any: JSON
        """What machines are told."""
        commands = [self.command(suite) for suite in SAMPLES[self.project].suites]
        return {"project": self.project, "urls": self.urls, "config": str(self.config), "commands": commands}


def keep_up(name: str | None, folder: Path, *, version: str, port: int, fault: str | None, as_json: bool) -> int:
    """Start the service of one project, or of all, and wait for Ctrl-C or SIGTERM; nothing is read from stdin."""
    if name and not SAMPLES[name].service:
        raise InputError(f"The replies of {name} are recorded: there is nothing to serve. Run it: cortex demo {name}")
    names = [name] if name else [each for each, sample in SAMPLES.items() if sample.service]
    with ExitStack() as running:
        up = []
        for place, each in enumerate(names):
            root = folder if name else folder / each
            prepare(each, root)
            url = _start(running, each, version=version, port=port + place if port else 0, fault=fault)
            _write_environment(root, url)
            up.append(Up(project=each, url=url, config=(root / "cortex.yaml").resolve()))
        asyncio.run(_wait(up, version=version, fault=fault, as_json=as_json))
    return 0


def _start(running: ExitStack, name: str, *, version: str, port: int, fault: str | None) -> str:
    try:
        service = running.enter_context(SAMPLES[name].start(version=version, port=port))
    except (OSError, OverflowError) as error:  # OverflowError: beyond the last port there is
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"Port {port} cannot be listened on: {reason}. Choose another one with --port.") from error
    assert service is not None, "only projects with a service are served"
    if fault:
        put_fault(service, fault)
    return service.url


def _write_environment(folder: Path, url: str) -> None:
    """Put the address and a key into the project's .env, and leave what else is in it."""
    path, ours = folder / ENVIRONMENT_FILE, {"CORTEX_DEMO_URL": url, "CORTEX_API_KEY": KEY}
    try:
        kept = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        kept = [line for line in kept if line.partition("=")[0].removeprefix("export ").strip() not in ours]
        lines = [*kept, *(f"{name}={value}" for name, value in ours.items())]
        path.touch(mode=0o600)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror}.") from error


async def _wait(up: list[Up], *, version: str, fault: str | None, as_json: bool) -> None:
    """Say what is up once a signal would be heeded, and wait for one."""
    asked_to_end = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, asked_to_end.set)
    if as_json:
        print_json({"version": version, "fault": fault, "services": [each.facts() for each in up]})
    else:
        out("\n".join(_shown(up, version=version, fault=fault)))
    await asked_to_end.wait()


def _shown(up: list[Up], *, version: str, fault: str | None) -> Iterator[str]:
    yield f"Sample services, version {version}, on this machine only. Ctrl-C ends them."
    if fault:
        yield f"Fault: {FAULTS[fault]}."
    yield ""
    for each in up:
        for place, url in enumerate(each.urls):
            yield f"  {'' if place else each.project:<15} {url}"
    yield "\nRun against them from another terminal, in any folder:"
    for each in up:
        suites = SAMPLES[each.project].suites
        for suite in suites if len(up) == 1 else suites[:1]:
            yield f"  {each.command(suite)}"
    yield "\nAny word is a key. Address and key are in .env beside each cortex.yaml."
