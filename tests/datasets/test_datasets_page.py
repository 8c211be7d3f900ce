"""Every dataset on the page about datasets loads."""

import re
from pathlib import Path

import pytest

import cortex_eval.datasets
from cortex_eval.datasets import read_cases
from cortex_eval.datasets.names import ALSO_READ

PAGE = (Path(__file__).parents[2] / "docs" / "datasets.md").read_text()
BLOCKS = re.findall(r"^```(jsonl|csv|yaml dataset|json dataset)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_there_are_examples_of_every_text_format():
    assert {kind.split()[0] for kind, _ in BLOCKS} == {"jsonl", "csv", "yaml", "json"}


@pytest.mark.parametrize(("kind", "content"), BLOCKS)
def test_an_example_loads_and_nothing_of_it_is_unknown(tmp_path, kind, content):
    path = tmp_path / f"example.{kind.split()[0]}"
    path.write_text(content)

    for case in read_cases(path):
        assert set(case.metadata) <= {"complexity_level"}


def test_every_name_that_is_read_is_on_the_page():
    missing = {
        name
        for field, others in ALSO_READ.items()
        for name in others
        if f"`{name}`" not in PAGE and not name.startswith(("expected_", "ideal_completions"))
    }
    assert missing == set()


def test_the_room_exports_what_it_says():
    names = cortex_eval.datasets.__all__

    assert list(names) == sorted(names, key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    assert all(hasattr(cortex_eval.datasets, name) for name in names)
