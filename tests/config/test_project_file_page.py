"""The page on the project file: its examples load and make plans, and it names every key."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest
from written import forget_plugins

from cortex_eval.config import Request, load_project, make_plans
from cortex_eval.config import model as keys
from cortex_eval.config.outward import limits_of, patience_with

PAGE = (Path(__file__).parents[2] / "docs" / "project-file.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
PLUGIN = re.search(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
MODELS = [each for name, each in vars(keys).items() if name.endswith("Model")]


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A folder with all that the examples name; what plugins register is forgotten afterwards."""
    assert PLUGIN is not None
    (tmp_path / "scorers").mkdir()
    (tmp_path / "scorers" / "clinic.py").write_text(PLUGIN[1])
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "healthcare_rules.json").write_text('{"rules": []}')
    (tmp_path / "replies.jsonl").write_text('{"id": "1", "text": "Yes."}\n')
    monkeypatch.setenv("CORTEX_API_KEY", "key-12345")
    monkeypatch.setenv("TEAM_KEY", "key-67890")
    forget_plugins(monkeypatch)
    return tmp_path


@pytest.mark.parametrize("text", EXAMPLES, ids=lambda text: text.split(":")[0].strip("# "))
def test_an_example_loads_and_every_suite_in_it_can_be_planned(root, text):
    (root / "cortex.yaml").write_text(text, encoding="utf-8")

    project = load_project(root / "cortex.yaml")

    for name in project.model.suites:
        assert make_plans(project, Request(suite=name))
    if "metrics:" in text:
        assert make_plans(project, Request(dataset=root / "cases.jsonl"))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_key_is_on_the_page(model):
    words = {word for span in re.findall(r"`([^`\n]+)`", PAGE) for word in re.split(r"\W+", span)}

    written = [each.name for each in fields(model) if not each.metadata.get("rest")]  # others are a kind's own settings
    assert [name for name in written if name not in words] == []


@pytest.mark.parametrize("model", [keys.ServiceModel, keys.ExecutionModel], ids=lambda model: model.__name__)
def test_the_defaults_on_the_page_are_those_of_the_code(model):
    shown = dict(re.findall(r"^\| `(\w+)` \| .*\(default: ([\d.]+)\) \|$", PAGE, re.MULTILINE))
    numbers = {each.name: each.default for each in fields(model) if type(each.default) in (int, float)}

    assert numbers
    assert {name: float(shown[name]) for name in numbers} == numbers


def test_a_service_is_given_as_long_as_the_page_says():
    execution, service = keys.ExecutionModel(), keys.ServiceModel()

    assert patience_with(execution, service, is_remote=True).timeout_s == 120
    assert limits_of(service).idle_s == 30
    assert limits_of(keys.ServiceModel(idle_seconds=40, timeout_seconds=90)).idle_s == 40
    for given in (keys.ServiceModel(timeout_seconds=90), keys.ServiceModel(idle_seconds=90, timeout_seconds=90)):
        assert limits_of(given).idle_s is None  # the attempt as a whole ends no later
    assert "(default: 120)" in PAGE
    assert "(default: `timeout_seconds` when that is given, else 30)" in PAGE
