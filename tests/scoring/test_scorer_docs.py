import re
from pathlib import Path

import pytest

import cortex_eval.scoring as scoring
from cortex_eval.scoring import scorers

PAGES = sorted((Path(__file__).parents[2] / "docs").glob("scorers*.md"))
DOCS = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
NAMES = sorted(scorers._modules)  # the built-in ones: other tests register their own


@pytest.mark.parametrize("name", NAMES)
def test_every_scorer_has_its_section_and_every_setting_is_named_in_it(name):
    from dataclasses import fields

    section = DOCS.split(f"\n## {name}\n")[1].split("\n## ")[0]

    for setting in fields(scorers.find(name)):
        if setting.init:
            assert f"`{setting.name}`" in section


@pytest.mark.parametrize("example", re.findall(r"```python\n(.*?)```", DOCS, re.DOTALL))
def test_the_examples_run(example):
    exec(compile(example, "scorers.md", "exec"), {"__name__": "docs_example"})


def test_the_example_of_a_rules_file_is_valid(tmp_path):
    from cortex_eval.scoring.safety import Safety

    path = tmp_path / "rules.json"
    path.write_text(re.search(r"\n## safety\n.*?```json\n(.*?)```", DOCS, re.DOTALL)[1], encoding="utf-8")

    assert Safety(path).fingerprint


def test_the_room_exports_what_it_says_and_in_order():
    assert all(hasattr(scoring, name) for name in scoring.__all__)
    assert (
        sorted(scoring.__all__, key=lambda name: (not name.isupper(), not name[0].isupper(), name)) == scoring.__all__
    )
