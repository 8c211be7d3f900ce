"""A project whose callables the tests of this room ask."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from my_bots import BOT


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    """A directory with `my_bot.py`, which thread isolation imports here and which is forgotten again."""
    (tmp_path / "my_bot.py").write_text(BOT, "utf-8")
    yield tmp_path
    sys.modules.pop("my_bot", None)
