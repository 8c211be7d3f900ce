"""Rows of JSONL and JSON files, in all the arrangements that people use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from json import JSONDecodeError
from pathlib import Path
from typing import Any

from cortex_eval.datasets.csv_rows import RawRow
from cortex_eval.datasets.foreign import squad_rows
from cortex_eval.datasets.names import ASKING
from cortex_eval.datasets.opening import text_lines, whole_text
from cortex_eval.datasets.problems import MAX_CELL_BYTES, Mistake, Problems, is_too_long, quoted
from cortex_eval.datasets.promptfoo import DEFAULT_TEST, ONLY_TESTS, is_configuration, why_no_dataset, with_default
from cortex_eval.datasets.strict_json import decode, decode_from

CASE_LISTS = ("cases", "test_cases", "tests", "goldens", "examples", "data", "rows")
"""Keys of a JSON object that hold the cases themselves; any other key names a category or a split."""
_SPLIT = re.compile(r"(?:\w+_)?(?:train|training|val|valid|validation|dev|test)")
_CATEGORIES = {"edge_case": "edge_cases"}
_NOT_LINES = "a JSONL file has one object in each line, and here begins a list, or more than one line. Name it .json."
_BLANK = re.compile(r"[ \t\r\n]*")


def read_jsonl(path: Path, encoding: str | None, problems: Problems) -> Iterator[RawRow]:
    """One row per line; a broken line is left out and noted."""
    for line, text in enumerate(text_lines(path, encoding, problems), start=1):
        try:
            row = decode(text)
            if line == 1 and type(row) is list:
                raise problems.stop(_NOT_LINES, code="invalid_json", line=line)
            if type(row) is not dict:
                raise Mistake(f'a row is an object such as {{"input": …}}, not {quoted(row)}.', code="wrong_value")
            if len(text) > MAX_CELL_BYTES // 4:
                check_sizes(row)
        except JSONDecodeError as error:
            if line == 1 and (text.strip() == "{" or text.startswith("[")):
                raise problems.stop(_NOT_LINES, code="invalid_json", line=line) from error
            if text.strip():
                problems.add(_spoken(error, text), code="invalid_json", line=line)
        except Mistake as mistake:
            problems.add(mistake.message, code=mistake.code, line=line, field=mistake.field)
        else:
            yield RawRow(line, row)


def read_json(path: Path, encoding: str | None, problems: Problems) -> Iterator[RawRow]:
    """The rows of a list, of `{cases: […]}`, of a dictionary of categories or splits, or a single case."""
    text = whole_text(path, encoding, problems)
    try:
        yield from _document(text, problems)
    except JSONDecodeError as error:
        hint = ""
        if error.msg == "Extra data":
            hint = " A file with one object per line is JSONL: name it .jsonl."
        raise problems.stop(_spoken(error, text) + hint, code="invalid_json", line=error.lineno) from error
    except Mistake as mistake:
        raise problems.stop(mistake.message, code=mistake.code, line=mistake.line, field=mistake.field) from mistake


def _document(text: str, problems: Problems) -> Iterator[RawRow]:
    walk = _Walk(text, problems)
    if walk.here == "[":
        for line, value in walk.elements():
            yield from as_row(line, value, problems)
        walk.must_be_over()
        return
    value, _ = decode_from(text, walk.place)
    if not isinstance(value, dict):
        raise Mistake(f"a dataset is a list of cases, not {quoted(value)}.", code="wrong_value")
    check_configuration(value, problems)
    # Once more, now that its keys are known, for the line of every case.
    chosen = {} if is_one_case(value) else chosen_lists(value)
    default = value.get(DEFAULT_TEST) if is_configuration(value) else None
    for key in walk.named_values():
        if key in chosen:
            for line, each in walk.elements():
                yield from as_row(line, with_default(default, each), problems, chosen[key])
        else:
            walk.skip_value()
    walk.must_be_over()
    if is_one_case(value):
        yield from as_row(1, value, problems)


def check_configuration(document: dict[str, Any], problems: Problems) -> None:  # Any: JSON
    """A whole evaluation of promptfoo is read for its tests, which is noted; one without them is a mistake."""
    if is_configuration(document):
        if why := why_no_dataset(document):
            raise Mistake(why, code="not_a_dataset")
        problems.notes.append(ONLY_TESTS)


def is_one_case(document: dict[str, Any]) -> bool:  # Any: JSON
    """Whether a document is a case itself rather than a holder of cases."""
    if any(isinstance(document.get(key), list) for key in CASE_LISTS):
        return False
    if any(isinstance(document.get(key), list) for key in ("turns", "messages")):
        return True
    if any(isinstance(document.get(key), str) for key in ASKING):
        return True
    return not any(isinstance(each, list) for each in document.values())


def chosen_lists(document: dict[str, Any]) -> dict[str, str | None]:  # Any: JSON
    """Which keys of a document hold cases, each with its heading; None: the key says nothing about its cases."""
    named = [key for key in CASE_LISTS if isinstance(document.get(key), list)]
    if named:
        return {named[0]: None}
    return {key: key for key, value in document.items() if isinstance(value, list)}


def as_row(line: int, value: object, problems: Problems, heading: str | None = None) -> Iterator[RawRow]:
    """A row out of one element of a list: an object, or a pair of text and intent."""
    said = _said_by(heading) if heading else {}
    if isinstance(value, list) and len(value) == 2 and all(isinstance(each, str) for each in value):
        value = {"text": value[0], "intent": value[1]}
        said = {"split": heading} if heading else {}
    if not isinstance(value, dict):
        message = f'a case is an object such as {{"input": …}}, not {quoted(value)}.'
        problems.add(message, code="wrong_value", line=line)
        return
    try:
        check_sizes(value)
    except Mistake as mistake:
        problems.add(mistake.message, code=mistake.code, line=line, field=mistake.field)
        return
    for name, word in said.items():
        if value.get(name) is None:
            value[name] = word
    if isinstance(value.get("paragraphs"), list):
        yield from (RawRow(line, row) for row in squad_rows(value))
    else:
        yield RawRow(line, value)


def check_sizes(value: object) -> None:
    """No text in a row is larger than a cell may be."""
    stack: list[tuple[object, str]] = [(value, "")]
    while stack:
        held, path = stack.pop()
        if isinstance(held, str):
            if is_too_long(held):
                raise Mistake(f"{path or 'a text'} is larger than 1 MiB.", field=path, code="too_large")
        elif isinstance(held, dict):
            stack.extend((each, f"{path}.{key}" if path else str(key)) for key, each in held.items())
        elif isinstance(held, list):
            stack.extend((each, f"{path}[{index}]") for index, each in enumerate(held))


class _Walk:
    """A place in a JSON text that moves forward over lists and objects, and knows its line."""

    def __init__(self, text: str, problems: Problems) -> None:
        self._text = text
        self._problems = problems
        self._line = 1
        self._counted = 0
        self.place = 0
        self._move(0)

    @property
    def here(self) -> str:
        """The character at this place; empty at the end."""
        return self._text[self.place : self.place + 1]

    def elements(self) -> Iterator[tuple[int, Any]]:  # Any: JSON
        """Each element of the list that begins here, with its line; one that is not strict JSON is noted only."""
        self._move(self.place + 1)
        if self.here == "]":
            self._move(self.place + 1)
            return
        while True:
            line = self._line_here()
            try:
                value, end = decode_from(self._text, self.place)
            except Mistake as mistake:
                mistake.line = line
                if mistake.end is None:
                    raise
                self._problems.add(mistake.message, code=mistake.code, line=line, field=mistake.field)
                is_last = self._step(mistake.end, "]")
            else:
                is_last = self._step(end, "]")
                yield line, value
            if is_last:
                return

    def named_values(self) -> Iterator[str]:
        """Each key of the object that begins here; the caller moves over its value before asking for the next."""
        self._move(self.place + 1)
        while self.here != "}":
            key, end = decode_from(self._text, self.place)
            self._move(end)
            self._move(self.place + 1)  # over the colon: the object was read before
            yield key
            if self.here == ",":
                self._move(self.place + 1)
        self._move(self.place + 1)

    def skip_value(self) -> None:
        """Move over the value that begins here."""
        self._move(decode_from(self._text, self.place)[1])

    def must_be_over(self) -> None:
        """Nothing may follow."""
        if self.here:
            raise JSONDecodeError("Extra data", self._text, self.place)

    def _step(self, end: int, closing: str) -> bool:
        """Move over the comma or the closing bracket after an element; whether it was the last one."""
        self._move(end)
        mark = self.here
        if mark not in (",", closing):
            raise JSONDecodeError("Expecting ',' delimiter", self._text, self.place)
        self._move(self.place + 1)
        return mark == closing

    def _line_here(self) -> int:
        self._line += self._text.count("\n", self._counted, self.place)
        self._counted = self.place
        return self._line

    def _move(self, place: int) -> None:
        blank = _BLANK.match(self._text, place)
        self.place = blank.end() if blank else place


def _said_by(key: str) -> dict[str, str]:
    name = key.casefold()
    if _SPLIT.fullmatch(name):
        return {"split": key}
    category = name.removesuffix("_conversations")
    return {"category": _CATEGORIES.get(category, category)}


def _spoken(error: JSONDecodeError, text: str) -> str:
    around = text[max(0, error.pos - 15) : error.pos + 15].strip()
    before, after = text[: error.pos].rstrip(), text[error.pos :].lstrip()
    if before.endswith(",") and after[:1] in ("}", "]"):
        reason = "a comma before a closing bracket"
    elif error.msg == "Extra data" and after.rstrip() == ",":
        reason = "a comma after the last bracket"
    else:
        reason = error.msg.removesuffix(" at")
    return f"this is not valid JSON: {reason} at column {error.colno}, near {quoted(around)}."
