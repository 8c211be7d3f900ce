"""JSON Schemas as each service takes them."""

from __future__ import annotations

from typing import Any

from cortex_eval.llm.schemas import for_anthropic, for_gemini, is_strict
from cortex_eval.scoring.verdict import choice_schema

VERDICT: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Verdict",
    "type": "object",
    "properties": {
        "score": {"type": "integer", "minimum": 1, "maximum": 5},
        "reason": {"type": ["string", "null"], "minLength": 1, "description": "Why."},
        "kind": {"enum": ["good", "bad"]},
        "exact": {"const": "yes"},
        "number": {"type": "integer", "enum": [1, 2]},
        "spans": {"type": "array", "items": {"$ref": "#/$defs/span"}, "minItems": 2, "uniqueItems": True},
        "maybe": {"anyOf": [{"$ref": "#/$defs/span"}, {"type": "null"}]},
        "either": {"oneOf": [{"type": "string"}, {"type": "number"}]},
        "title": {"type": "string", "format": "email"},
    },
    "required": ["score", "reason"],
    "additionalProperties": False,
    "$defs": {
        "span": {"type": "object", "properties": {"text": {"type": "string"}, "inner": {"$ref": "#/$defs/span"}}},
    },
}


def test_a_schema_is_strict_when_no_object_is_open_and_all_is_required() -> None:
    inner = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    closed = {**inner, "additionalProperties": False}

    assert is_strict(closed)
    assert not is_strict(inner)
    assert not is_strict({**closed, "required": []})
    assert not is_strict({**closed, "properties": {"a": inner}})
    assert not is_strict({"type": "array", "items": inner})
    assert not is_strict(VERDICT)


def test_anthropic_gets_closed_objects_without_limits_and_keeps_properties_of_any_name() -> None:
    made = for_anthropic(VERDICT)

    assert "$schema" not in made
    assert made["properties"]["score"] == {"type": "integer"}
    assert made["properties"]["reason"] == {"type": ["string", "null"], "description": "Why."}
    assert made["properties"]["title"] == {"type": "string", "format": "email"}, "a property, not the keyword"
    assert made["properties"]["spans"]["minItems"] == 1
    assert made["properties"]["either"] == {"anyOf": [{"type": "string"}, {"type": "number"}]}
    assert made["additionalProperties"] is False
    assert made["$defs"]["span"]["additionalProperties"] is False
    assert made["required"] == ["score", "reason"]
    assert VERDICT["properties"]["score"]["minimum"] == 1, "what was given is left alone"


def test_gemini_gets_its_subset_with_references_in_place() -> None:
    made = for_gemini(VERDICT)
    properties = made["properties"]

    assert made.keys() <= {"type", "title", "properties", "propertyOrdering", "required"}
    assert made["type"] == "OBJECT"
    assert properties["score"] == {"type": "INTEGER", "minimum": 1, "maximum": 5}
    assert properties["reason"] == {"type": "STRING", "nullable": True, "minLength": 1, "description": "Why."}
    assert properties["kind"] == {"type": "STRING", "enum": ["good", "bad"]}
    assert properties["exact"] == {"type": "STRING", "enum": ["yes"]}
    assert properties["number"] == {"type": "INTEGER"}, "its enums are of text only"
    held = {"text": {"type": "STRING"}, "inner": {"type": "OBJECT"}}
    span = {"type": "OBJECT", "properties": held, "propertyOrdering": ["text", "inner"]}
    assert properties["spans"] == {"type": "ARRAY", "minItems": 2, "items": span}
    assert properties["maybe"] == {**span, "nullable": True}
    assert properties["either"] == {"anyOf": [{"type": "STRING"}, {"type": "NUMBER"}]}
    assert properties["title"] == {"type": "STRING"}


def test_gemini_is_told_the_order_of_properties_so_that_the_reason_comes_before_the_verdict() -> None:
    rubric = choice_schema("met", ("yes", "no"))
    assert for_gemini(rubric)["propertyOrdering"] == ["reason", "met"]
    own = {**rubric, "propertyOrdering": ["met", "reason"]}
    assert for_gemini(own)["propertyOrdering"] == ["met", "reason"]
