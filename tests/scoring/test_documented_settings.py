"""The pages of scorers name every setting, and none that does not exist."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from cortex_eval.scoring import scorers

DOCS = Path(__file__).parents[2] / "docs"
TABLE = re.compile(r"\| setting \| default \|.*?\n\|[-|]+\n((?:\|.*\n)+)")
ANOTHER_SCORERS = {"faithfulness": {"model", "models"}}
"""Settings by which a scorer becomes the judge of the same name."""


def sections(page: str) -> list[tuple[str, str]]:
    parts = re.split(r"^## ", (DOCS / page).read_text("utf-8"), flags=re.MULTILINE)[1:]
    return [(name.strip(), text) for name, _, text in (each.partition("\n") for each in parts)]


@pytest.mark.parametrize("page", ["scorers-grounding.md", "scorers-health.md", "scorers-dialogue.md"])
def test_the_tables_of_settings_are_those_of_the_code(page):
    known = [(name, text) for name, text in sections(page) if name in scorers]
    assert known

    for name, text in known:
        table = TABLE.search(text)
        rows = table[1].splitlines() if table else []
        told = {setting for row in rows for setting in re.findall(r"`(\w+)`", row.split("|")[1])}
        settings = {each.name for each in fields(scorers.find(name)) if each.init}
        assert told == settings | ANOTHER_SCORERS.get(name, set()), name
