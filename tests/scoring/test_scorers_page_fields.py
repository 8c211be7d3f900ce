"""The page on scorers lists every field that a scorer of one's own can use."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec import structs

from cortex_eval.core import Case, Expected, Reply, Turn

PAGE = (Path(__file__).parents[2] / "docs" / "scorers.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("### What a scorer sees")[2].partition("```python")[0]


@pytest.mark.parametrize("kind", [Case, Turn, Expected, Reply], ids=lambda kind: kind.__name__)
def test_every_field_is_in_a_table(kind: type) -> None:
    named = set(re.findall(r"`([a-z_]+)`", SECTION))

    assert {each.name for each in structs.fields(kind)} <= named


def test_the_tables_name_nothing_that_is_not_there() -> None:
    tables = dict(zip(("case", "expected", "reply"), SECTION.split("\n| of ")[1:], strict=True))

    for name, kind in (("case", Case), ("expected", Expected), ("reply", Reply)):
        firsts = [line.split("|")[1] for line in tables[name].splitlines() if line.startswith("| `")]
        fields = re.findall(r"`([a-z_]+)`", " ".join(firsts))
        assert fields
        assert [each for each in fields if not hasattr(kind, each)] == []
