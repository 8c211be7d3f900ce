"""Is the reply JSON of the form that a schema describes?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import orjson

from cortex_eval.core import Case, InputError, Reply, Score, shorten
from cortex_eval.scoring.base import scorers

MISTAKES_SHOWN = 5


@scorers.register("json_schema")
@dataclass(frozen=True, slots=True)
class JsonSchema:
    """1 when the reply is JSON and fits the schema, 0 otherwise; what does not fit is in the evidence."""

    version: ClassVar[str] = "1"

    schema: Mapping[str, Any]
    """A JSON Schema. References stay inside it: nothing is fetched."""
    _validator: Any = field(init=False, repr=False, compare=False)  # Any: jsonschema_rs has no public type for it

    def __post_init__(self) -> None:
        import jsonschema_rs

        for reference in _references(self.schema):
            if not reference.startswith("#"):
                raise InputError(
                    f"schema: the reference {shorten(reference)!r} leads outside, and nothing is fetched. "
                    "Put it under $defs and refer to it as '#/$defs/…'."
                )
        try:
            object.__setattr__(self, "_validator", jsonschema_rs.validator_for(dict(self.schema)))
        except ValueError as error:
            first = str(error).splitlines()[0]
            raise InputError(f"schema: this is not a JSON Schema: {shorten(first)}.") from error

    async def score(self, case: Case, reply: Reply) -> Score:  # noqa: ARG002  # the seam's signature
        """1 or 0, with the places that do not fit."""
        try:
            value = orjson.loads(reply.text)
        except orjson.JSONDecodeError as error:
            return Score(name="json_schema", value=0.0, reason=f"The reply is not JSON: {shorten(str(error), 100)}.")
        wrong = [
            {"place": "$" + "".join(f"[{each!r}]" for each in error.instance_path), "message": shorten(error.message)}
            for error, _ in zip(self._validator.iter_errors(value), range(MISTAKES_SHOWN), strict=False)
        ]
        if not wrong:
            return Score(name="json_schema", value=1.0, reason="The reply fits the schema.")
        reason = f"{wrong[0]['place']}: {wrong[0]['message']}."
        return Score(name="json_schema", value=0.0, reason=reason, evidence=wrong)


def _references(schema: object) -> Iterator[str]:
    if isinstance(schema, Mapping):
        for key, value in schema.items():
            if key in ("$ref", "$dynamicRef", "$recursiveRef") and isinstance(value, str):
                yield value
            else:
                yield from _references(value)
    elif isinstance(schema, (list, tuple)):
        for each in schema:
            yield from _references(each)
