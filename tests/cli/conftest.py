"""Folders and projects for the command."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from installed import Clinic, Folder, clinic_rows, right_answers

from cortex_eval.testing import ScriptedService

sys.path.insert(0, str(Path(__file__).parents[1] / "config"))  # for the project files that both rooms' tests use


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Together they take minutes; `make check` has `test_every_command.py`."""
    for item in items:
        if item.path.parent == Path(__file__).parent and {"folder", "clinic"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    root = tmp_path / "project"
    root.mkdir()
    return Folder(root)


@pytest.fixture
def clinic(folder: Folder) -> Iterator[Callable[..., Clinic]]:
    """Makes the project: `clinic(cases=4, reply={"text": "No."}, gate={…})`; blocks go into the project file."""
    with ScriptedService.in_thread(right_answers) as bot:

        def make(*, cases: int = 4, reply: Any = right_answers, service: Any = None, **blocks: Any) -> Clinic:
            bot.reply = reply
            folder.write("cases.jsonl", "".join(json.dumps(row) + "\n" for row in clinic_rows(cases)))
            settings = {"api_url": bot.url, "api_key": "${CLINIC_KEY:-clinic-key-1}", **(service or {})}
            document = {
                "services": {"chatbot": settings},
                "execution": {"retry_count": 0, "max_concurrent_tests": 4},
                "suites": {"clinic": {"dataset": "cases.jsonl", "scorers": ["exact"]}},
                **blocks,
            }
            folder.write("cortex.yaml", document)
            return Clinic(folder.root, bot)

        yield make
