"""The JSON Schema of the project file: it takes what loads, and refuses what does not."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Any

import pytest
import yaml
from written import DESIGN_BLOCK, SEED_BLOCK

from cortex_eval.config import project_schema

SCHEMA = project_schema()
TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}
KNOWN = {
    *("$ref", "anyOf", "type", "properties", "additionalProperties", "required", "items", "enum", "const"),
    "patternProperties",
    *("minimum", "maximum", "pattern", "title", "description", "default", "$defs", "$schema"),
}


def fits(value: Any, schema: Any) -> bool:
    """Whether a value fits a schema that uses no more than the words above."""
    assert set(schema) <= KNOWN, sorted(set(schema) - KNOWN)
    if "$ref" in schema:
        return fits(value, SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]])
    if "anyOf" in schema:
        return any(fits(value, each) for each in schema["anyOf"])
    if "enum" in schema:
        return value in schema["enum"]
    if "const" in schema:
        return value == schema["const"]
    kind = schema.get("type")
    if kind is not None and (not isinstance(value, TYPES[kind]) or (isinstance(value, bool) and kind != "boolean")):
        return False
    if isinstance(value, (int, float)) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        return False
    if isinstance(value, str) and "pattern" in schema and not re.search(schema["pattern"], value):
        return False
    if isinstance(value, list):
        return all(fits(each, schema.get("items", {})) for each in value)
    if isinstance(value, dict):
        return _fits_object(value, schema)
    return True


def _fits_object(value: dict[str, Any], schema: Any) -> bool:
    properties, rest = schema.get("properties", {}), schema.get("additionalProperties", {})
    patterns = schema.get("patternProperties", {})
    return set(schema.get("required", ())) <= set(value) and all(
        fits(each, properties[key]) if key in properties else rest is not False and (rest is True or fits(each, rest))
        for key, each in value.items()
        if not any(re.search(pattern, key) for pattern in patterns)
    )


SAMPLES = sorted(
    file
    for folder in (files("cortex_eval.demo") / "projects").iterdir()
    for file in folder.rglob("*.yaml")
    if file.parent.name != "datasets"
)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_sample_projects_fit(path):
    assert fits(yaml.safe_load(path.read_text(encoding="utf-8")), SCHEMA)


@pytest.mark.parametrize("text", [SEED_BLOCK, DESIGN_BLOCK, "execution: {retry_count: '${RETRIES:-2}'}", "x-own: [1]"])
def test_documented_blocks_fit(text):
    assert fits(yaml.safe_load(text), SCHEMA)


@pytest.mark.parametrize(
    "text",
    [
        "servises: {}",
        "execution: {max_concurent_tests: 3}",
        "execution: {retry_count: two}",
        "execution: {max_concurrent_tests: 0}",
        "gate: {mode: lenient}",
        "suites: {s: {service: bot}}",
        "suites: {s: {dataset: d, scorers: exact}}",
        "plugins: clinic.py",
    ],
)
def test_mistakes_do_not_fit(text):
    assert not fits(yaml.safe_load(text), SCHEMA)


def test_every_key_is_explained_or_plain():
    assert SCHEMA["$schema"].startswith("https://json-schema.org/")
    assert {"services", "targets", "suites", "gate", "metrics"} <= set(SCHEMA["properties"])
    assert (
        SCHEMA["$defs"]["SuiteModel"]["properties"]["target"] == SCHEMA["$defs"]["SuiteModel"]["properties"]["service"]
    )
