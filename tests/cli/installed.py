"""The command in a folder of its own, and a clinic's bot to run it against."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from cortex_eval.testing import Call, ScriptedService
from warm_command import COMMAND, run_command, run_installed

CORTEX = COMMAND
HIDDEN = ("CORTEX_", "NO_COLOR", "COLUMNS", "LINES", "LC_", "LANG", "TZ", "FORCE_COLOR")
"""Settings of whoever runs the tests that must not reach the command."""


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @classmethod
    def of(cls, done: subprocess.CompletedProcess[bytes]) -> Self:
        result = cls(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))
        assert "Traceback" not in result.err, result.err
        return result

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Folder:
    """A working directory with the command."""

    root: Path

    def write(self, name: str, content: str | bytes | object) -> Path:
        """A file: text and bytes as they are, everything else as JSON (which is YAML too)."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1), encoding="utf-8")
        return path

    def environment(self, **extra: str) -> dict[str, str]:
        return {name: value for name, value in os.environ.items() if not name.startswith(HIDDEN)} | extra

    def cortex(self, *arguments: str, stdin: str = "", **environment: str) -> Done:
        """`cortex …`, run to its end. Whatever happens, it shows no traceback."""
        env = self.environment(**environment)
        return Done.of(run_command(arguments, cwd=self.root, env=env, stdin=stdin.encode()))

    def installed(self, *arguments: str, stdin: str = "", **environment: str) -> Done:
        """The installed command, started as people start it, and run to its end."""
        env = self.environment(**environment)
        return Done.of(run_installed(arguments, cwd=self.root, env=env, stdin=stdin.encode()))

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """`cortex …`, going on while the test does."""
        return subprocess.Popen(
            [CORTEX, *arguments],
            cwd=self.root,
            env=self.environment(**environment),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )


def right_answers(call: Call) -> dict[str, str]:
    """A bot that answers as the cases of `clinic_rows` expect."""
    return {"text": f"Answer to {call.json['query']}"}


def clinic_rows(count: int) -> list[dict[str, Any]]:
    return [
        {
            "id": f"c{number}",
            "input": f"Question {number}?",
            "expected": {"answer": f"Answer to Question {number}?"},
            "category": "visit" if number % 2 else "billing",
            "tier": 1 + number % 3,
            "language": "hi" if number % 4 == 0 else "en",
            "tags": ["smoke"] if number < 2 else [],
        }
        for number in range(count)
    ]


@dataclass(frozen=True)
class Clinic(Folder):
    """A project with one suite, `clinic`, against a scripted bot."""

    bot: ScriptedService

    def is_asked(self) -> list[str]:
        """The questions that reached the bot, in order."""
        return [call.json["query"] for call in self.bot.ledger]
