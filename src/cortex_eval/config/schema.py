"""The JSON Schema of the project file, for editors; made from the same classes that read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from cortex_eval.config.mistakes import OWN_KEYS
from cortex_eval.config.model import ProjectModel
from cortex_eval.core import Range

FROM_ENVIRONMENT = {"type": "string", "pattern": r"^\$\{.*\}$"}
"""What an editor should also accept where a number is due."""
_PLAIN = {bool: "boolean", int: "integer", float: "number", str: "string", NoneType: "null"}


def project_schema() -> dict[str, Any]:
    """The JSON Schema of the project file."""
    definitions: dict[str, Any] = {}
    root = _object(ProjectModel, definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Cortex project file",
        **root,
        "patternProperties": {f"^{OWN_KEYS}": {}},
        "$defs": definitions,
    }


def _schema(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:  # Any: a type, or what typing makes of one
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        schema = _schema(arguments[0], definitions)
        for limits in (each for each in arguments[1:] if isinstance(each, Range)):
            schema |= {"minimum": limits.low, "maximum": limits.high}
        return {"anyOf": [schema, FROM_ENVIRONMENT]}
    if origin in (Union, UnionType):
        return {"anyOf": [_schema(each, definitions) for each in arguments]}
    if origin is Literal:
        return {"enum": list(arguments)}
    kind = origin or hint
    if kind in _PLAIN:
        return {"type": _PLAIN[kind]}
    if is_dataclass(kind):
        assert isinstance(kind, type)
        if kind.__name__ not in definitions:
            definitions[kind.__name__] = {}  # claimed before it is made: a class may hold itself
            definitions[kind.__name__] = _object(kind, definitions)
        return {"$ref": f"#/$defs/{kind.__name__}"}
    if isinstance(kind, type) and issubclass(kind, Mapping):
        return {"type": "object", "additionalProperties": _schema(arguments[1], definitions)}
    if isinstance(kind, type) and issubclass(kind, Sequence):
        return {"type": "array", "items": _schema(arguments[0], definitions)}
    return {}


def _object(kind: type, definitions: dict[str, Any]) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    properties: dict[str, Any] = {}
    required: list[str] = []
    is_open = False
    for each in fields(kind):
        if each.metadata.get("rest"):
            is_open = True
            continue
        schema = _schema(hints[each.name], definitions)
        if "description" in each.metadata:
            schema["description"] = each.metadata["description"]
        properties[each.name] = schema
        if "alias" in each.metadata:
            properties[each.metadata["alias"]] = schema
        if each.default is MISSING and each.default_factory is MISSING:
            required.append(each.name)
    return {
        "type": "object",
        "description": (kind.__doc__ or "").strip(),
        "properties": properties,
        "required": required,
        "additionalProperties": is_open,
    }
