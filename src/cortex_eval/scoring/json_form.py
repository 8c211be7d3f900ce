"""Is the reply JSON: of the form that a schema describes, of at most so many tokens?"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar

import orjson

from cortex_eval.core import Case, InputError, Range, Reply, Score, shorten
from cortex_eval.datasets import compile_schema
from cortex_eval.scoring.base import scorers
from cortex_eval.scoring.words import words

MISTAKES_SHOWN = 5


@scorers.register("json_schema")
@dataclass(frozen=True, slots=True)
class JsonSchema:
    """1 when the reply is JSON and fits the schema, 0 otherwise; what does not fit is in the evidence."""

    version: ClassVar[str] = "1"

    schema: Mapping[str, Any] | bool
    """A JSON Schema. References stay inside it: nothing is fetched."""
    _validator: Any = field(init=False, repr=False, compare=False)  # Any: jsonschema_rs has no public type for it

    def __post_init__(self) -> None:
        try:
            validator = compile_schema(self.schema)
        except InputError as error:
            raise InputError(f"schema: {error}") from error
        object.__setattr__(self, "_validator", validator)

    async def score(self, case: Case, reply: Reply) -> Score:  # noqa: ARG002  # the seam's signature
        """1 or 0, with the places that do not fit."""
        try:
            value = orjson.loads(reply.text)
        except orjson.JSONDecodeError as error:
            return Score(name="json_schema", value=0.0, reason=f"The reply is not JSON: {shorten(str(error), 100)}.")
        wrong = misfits(self._validator, value)
        if not wrong:
            return Score(name="json_schema", value=1.0, reason="The reply fits the schema.")
        reason = f"{wrong[0]['place']}: {wrong[0]['message']}."
        return Score(name="json_schema", value=0.0, reason=reason, evidence=wrong)


def misfits(validator: Any, value: object) -> list[dict[str, str]]:  # Any: jsonschema_rs has no public type for it
    """The first places of a value that do not fit its schema, each with what is wrong there."""
    return [
        {"place": "$" + "".join(f"[{each!r}]" for each in error.instance_path), "message": shorten(error.message)}
        for error, _ in zip(validator.iter_errors(value), range(MISTAKES_SHOWN), strict=False)
    ]


@scorers.register("json_limit")
@dataclass(frozen=True, slots=True)
class JsonLimit:
    """1 when the reply is JSON and has at most so many tokens, 0 otherwise."""

    version: ClassVar[str] = "1"

    max_tokens: Annotated[int, Range(1, 10_000_000)]
    """Words and punctuation marks; with a `tokenizer`, what that counts."""
    tokenizer: Path | None = None
    """The `tokenizer.json` of the model that wrote the reply."""
    _count: Callable[[str], int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        count = count_marks if self.tokenizer is None else _load_tokenizer(self.tokenizer)
        object.__setattr__(self, "_count", count)

    @property
    def fingerprint(self) -> str:
        """Changes with the tokenizer."""
        return "" if self.tokenizer is None else hashlib.sha256(self.tokenizer.read_bytes()).hexdigest()

    async def score(self, case: Case, reply: Reply) -> Score:  # noqa: ARG002  # the seam's signature
        """1 or 0, with the number of tokens."""
        tokens = self._count(reply.text)
        counted = f"{tokens:,} tokens, {self.max_tokens:,} allowed"
        try:
            orjson.loads(reply.text)
        except orjson.JSONDecodeError as error:
            value, reason = 0.0, f"The reply is not JSON: {shorten(str(error), 100)} ({counted})."
        else:
            value = 1.0 if tokens <= self.max_tokens else 0.0
            reason = f"The reply is JSON of {counted}."
        return Score(name="json_limit", value=value, reason=reason, measure=tokens, unit="tokens", direction="lower")


def count_marks(text: str) -> int:
    """Words, and marks that are neither letters nor digits; scripts without spaces count by character."""
    return len(words(text)) + len(_mark_pattern().findall(text))


@cache
def _mark_pattern() -> Any:  # Any: a compiled pattern of `regex`, which has no public type
    import regex  # type: ignore[import-untyped]  # has no types; knows what a mark of any script is

    return regex.compile(r"[\p{P}\p{S}]")


def _load_tokenizer(path: Path) -> Callable[[str], int]:
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise InputError("tokenizer: this needs the extra embed: pip install 'cortex-eval[embed]'.") from error
    if not path.is_file():
        raise InputError(f"tokenizer: there is no file {path}.")
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises plain exceptions for whatever is wrong with the file
        raise InputError(f"tokenizer: {path} is not a tokenizer.json: {shorten(str(error), 100)}.") from error
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)
