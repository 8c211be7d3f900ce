"""JSON Schemas as each service takes them: what it does not know is left out, never sent to be refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]

NOT_FOR_ANTHROPIC = frozenset(
    {
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "maxItems",
        "uniqueItems",
        "contains",
        "minProperties",
        "maxProperties",
        "propertyNames",
        "patternProperties",
        "dependentRequired",
        "if",
        "then",
        "else",
        "not",
        "$schema",
        "$id",
        "$comment",
        "examples",
        "title",
    }
)
FOR_GEMINI = frozenset(
    {
        "title",
        "description",
        "maxItems",
        "minItems",
        "required",
        "minProperties",
        "maxProperties",
        "minLength",
        "maxLength",
        "pattern",
        "minimum",
        "maximum",
        "propertyOrdering",
        "default",
    }
)
"""Keywords that mean the same in its subset of OpenAPI 3.0."""
FORMATS_OF_GEMINI = frozenset({"date-time", "enum", "int32", "int64", "float", "double"})
BRANCHES = ("anyOf", "oneOf", "allOf")


def is_strict(schema: object) -> bool:
    """Whether OpenAI's strict mode takes it: no object may have other properties, and all of them are required."""
    if isinstance(schema, Mapping):
        properties = schema.get("properties")
        if schema.get("type") == "object" or isinstance(properties, Mapping):
            names = set(properties) if isinstance(properties, Mapping) else set()
            if schema.get("additionalProperties") is not False or names != set(schema.get("required", ())):
                return False
        return all(is_strict(each) for key, each in schema.items() if key not in ("enum", "const", "default"))
    return all(is_strict(each) for each in schema) if isinstance(schema, (list, tuple)) else True


def for_anthropic(schema: Any) -> Any:
    """Without limits on numbers and lengths, and with every object closed, as its JSON output wants it."""
    if isinstance(schema, (list, tuple)):
        return [for_anthropic(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    found: dict[str, Any] = {}
    for key, value in schema.items():
        if key in ("properties", "$defs", "definitions") and isinstance(value, Mapping):
            found[key] = {name: for_anthropic(each) for name, each in value.items()}
        elif key in ("enum", "const", "default", "required"):
            found[key] = value
        elif key == "oneOf":
            found["anyOf"] = for_anthropic(value)
        elif key == "minItems":
            found[key] = min(value, 1)
        elif key not in NOT_FOR_ANTHROPIC:
            found[key] = for_anthropic(value)
    if found.get("type") == "object" or "properties" in found:
        found["additionalProperties"] = False
    return found


def for_gemini(schema: Schema) -> dict[str, Any]:
    """In the subset of OpenAPI 3.0 that Gemini takes: references are put in place, null becomes `nullable`."""
    return _gemini(schema, schema, ())


def _gemini(schema: Schema, root: Schema, inside: tuple[str, ...]) -> dict[str, Any]:
    if "$ref" in schema:
        name = str(schema["$ref"])
        if name in inside:
            return {"type": "OBJECT"}  # it has no word for what contains itself
        others = {key: value for key, value in schema.items() if key != "$ref"}
        return _gemini({**_find(name, root), **others}, root, (*inside, name))
    found = {key: schema[key] for key in FOR_GEMINI if key in schema}
    found |= _kind(schema)
    if schema.get("format") in FORMATS_OF_GEMINI:
        found["format"] = schema["format"]
    if "const" in schema or "enum" in schema:
        found |= _choices(schema)
    if isinstance(schema.get("properties"), Mapping):
        found["properties"] = {name: _gemini(each, root, inside) for name, each in schema["properties"].items()}
        # Else it may write them in the order of the alphabet: a verdict `met` before the reason that leads to it.
        found.setdefault("propertyOrdering", list(schema["properties"]))
    if isinstance(schema.get("items"), Mapping):
        found["items"] = _gemini(schema["items"], root, inside)
    return found | _branches(schema, root, inside)


def _kind(schema: Schema) -> dict[str, Any]:
    kinds = schema.get("type")
    kinds = [kinds] if isinstance(kinds, str) else [str(each) for each in kinds or ()]
    plain = [each.upper() for each in kinds if each != "null"]
    found: dict[str, Any] = {"nullable": True} if "null" in kinds or schema.get("nullable") else {}
    if len(plain) == 1:
        found["type"] = plain[0]
    elif plain:
        found["anyOf"] = [{"type": each} for each in plain]
    return found


def _choices(schema: Schema) -> dict[str, Any]:
    choices = [schema["const"]] if "const" in schema else list(schema["enum"])
    texts = [each for each in choices if isinstance(each, str)]
    found: dict[str, Any] = {"nullable": True} if None in choices else {}
    if texts and len(texts) == len([each for each in choices if each is not None]):
        return found | {"type": "STRING", "enum": texts}
    return found  # its enums are of text only


def _branches(schema: Schema, root: Schema, inside: tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key in BRANCHES:
        branches = schema.get(key)
        if not isinstance(branches, (list, tuple)):
            continue
        plain = [each for each in branches if each != {"type": "null"}]
        if len(plain) < len(branches):
            found["nullable"] = True
        read = [_gemini(each, root, inside) for each in plain]
        if len(read) == 1:
            found = read[0] | found
        elif read and key != "allOf":
            found["anyOf"] = read
    return found


def _find(reference: str, root: Schema) -> Schema:
    place: Any = root
    for step in reference.removeprefix("#").strip("/").split("/"):
        place = place.get(step.replace("~1", "/").replace("~0", "~"), {}) if isinstance(place, Mapping) else {}
    return place if isinstance(place, Mapping) else {}
