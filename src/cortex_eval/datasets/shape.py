"""From a row as people write it to a case: the shape is recognised by its keys, once for every set of keys."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from difflib import get_close_matches
from typing import Any, NamedTuple

from cortex_eval.core import did_you_mean
from cortex_eval.datasets import values
from cortex_eval.datasets.dialogue import is_dialogue, read_dialogue, read_messages
from cortex_eval.datasets.draft import Draft
from cortex_eval.datasets.foreign import TO_OPEN, asking_inside, opened
from cortex_eval.datasets.names import (
    ALSO_READ,
    MAYBE_ANSWERS,
    RANK,
    canonical,
    check_fields,
    is_borrowed_id,
    nearly_known,
    nothing_asks,
    offer,
    rank,
)
from cortex_eval.datasets.problems import MAX_COLUMNS, Mistake, Problems, quoted
from cortex_eval.datasets.promptfoo import tell_unread, unread_checks
from cortex_eval.datasets.putting import (
    put_answer,
    put_answers,
    put_choice,
    put_context,
    put_expert,
    put_mapping,
    put_passages,
    put_tier,
)

_MAX_PLANS = 1000
_EXPERT = re.compile(r"expert_(\d+)")
_STRUCTURED: dict[str, values.Read] = {
    "expected.entities": values.entities,
    "expected.tools": values.tools,
    "expected.checklist": values.texts,
    "expected.rubric": values.rubric,
    "expected.checks": values.checks,
    "experts": values.labels,
    "tags": values.words,
    "history": values.messages,
    "attachments": values.attachments,
}
_PLAIN: dict[str, values.Read] = {
    "expected.intent": values.name,
    "expected.tool": values.name,
    "expected.label": values.name,
    "is_disputed": values.flag,
    "requires_context": values.flag,
    "description": values.text,
}
_OF_A_TURN = ("input", "requires_context", "attachments")
Put = Callable[[Draft, str, Any], None]  # Any: JSON, as people write it


class Step(NamedTuple):
    """What happens with one key of a row."""

    key: str
    put: Put


class Plan(NamedTuple):
    """How rows with one set of keys are read."""

    steps: tuple[Step, ...]
    asks: frozenset[str]
    """The keys that may hold what the user says."""
    boxes: tuple[str, ...]
    """The keys for which a row has to be opened first."""


class Shapes:
    """Reads rows; remembers the plan for each set of keys it has met."""

    def __init__(self, *, fields: Mapping[str, str] | None = None, cells: bool = False, of_turns: bool = False) -> None:
        self._fields = check_fields(fields or {})
        self._columns = frozenset(self._fields.values())
        self._cells = cells
        """The rows hold cells: lists and objects come as JSON text."""
        self._of_turns = of_turns
        """The rows are turns of one case: what belongs to a whole case is metadata there."""
        self._plans: dict[tuple[str, ...], Plan] = {}
        self._found: set[str] = set()
        """The columns named by fields that some row had."""
        self._unread_checks: Counter[str] = Counter()
        """By type: checks of another tool that say nothing here."""

    def read(self, row: Mapping[str, Any], line: int | None, problems: Problems) -> dict[str, Any] | None:
        """The row as a canonical mapping, without an id if it has none; None when it is not valid, which is noted."""
        if len(row) > MAX_COLUMNS:
            message = f"the row has {len(row)} fields; at most {MAX_COLUMNS} are read."
            problems.add(message, code="too_large", line=line)
            return None
        given = row
        row, plan = self._opened(row)
        if "assert" in row and row is not given:
            self._unread_checks.update(unread_checks(given, row["assert"]))
        if not plan.asks:
            self._nothing_asks(row, line, problems)
            return None
        draft = Draft()
        before = len(problems)
        is_told = False
        for key, put in plan.steps:
            value = row[key]
            if value is None or value == "":
                continue
            try:
                put(draft, key, value)
            except Mistake as mistake:
                problems.add(mistake.message, code=mistake.code, line=line, field=mistake.field or key)
                is_told = is_told or key in plan.asks
        if is_told and not draft.turns:
            return None  # that nothing asks is no second mistake
        try:
            case = draft.finish()
        except Mistake as mistake:
            problems.add(mistake.message, code=mistake.code, line=line, field=mistake.field)
            return None
        return case if len(problems) == before else None

    def own_id(self, row: Mapping[str, Any]) -> str | None:  # Any: JSON
        """The id that the authors of a row gave it, whatever else is wrong with the row."""
        draft = Draft()
        row, plan = self._opened(row)
        for key, put in plan.steps:
            if put is _put_id and not is_borrowed_id(key) and row[key] not in (None, ""):
                with suppress(Mistake):  # told already
                    put(draft, key, row[key])
        found: str | None = draft.case.get("id")
        return found

    def borrows_id(self, row: Mapping[str, Any]) -> bool:  # Any: JSON
        """Whether the id of a row is one that its authors did not mean for single cases."""
        return is_borrowed_id(next(key for key, put in self._opened(row)[1].steps if put is _put_id))

    def how_to_leave_ids_out(self) -> str:
        """The mapping that keeps the column of the ids from being taken for one, if there is such a column."""
        steps = (step for plan in self._plans.values() for step in plan.steps)
        column = next((step.key for step in steps if step.put is _put_id), None)
        return f", with fields: {{metadata.{column}: {column}}}" if column else ""

    def check_fields_found(self, problems: Problems) -> None:
        """Every column that `fields` names was in some row; to be asked at the end."""
        for field, column in self._fields.items():
            if self._plans and column not in self._found and field != "input":
                columns = sorted({key for keys in self._plans for key in keys})
                message = f"fields names {column!r} for {field}, which is not there. {offer(column, columns)}"
                problems.add(message, code="missing_column", field=column)

    def notes(self) -> tuple[str, ...]:
        """What of the rows nobody looks at; to be asked at the end."""
        return (tell_unread(self._unread_checks),) if self._unread_checks else ()

    def misspelt(self) -> dict[str, str]:
        """Columns that are kept as metadata, each with the known name that it is nearly; to be asked at the end."""
        mapped = {column: field for field, column in self._fields.items()}
        return nearly_known({key: self._role(key, keys, mapped) for key in keys} for keys in self._plans)

    def maybe_answer(self) -> str | None:
        """A column that is kept as metadata and may hold the good answers; to be asked at the end."""
        columns = {key for keys in self._plans for key in keys}
        return next((name for name in MAYBE_ANSWERS if name in columns - self._columns), None)

    def plan(self, keys: tuple[str, ...]) -> Plan:
        """How rows with these keys are read."""
        plan = self._plans.get(keys)
        if plan is None:
            plan = self._made_plan(keys)
            if len(self._plans) < _MAX_PLANS:  # rows that each have keys of their own must not fill the memory
                self._plans[keys] = plan
        return plan

    def _opened(self, row: Mapping[str, Any]) -> tuple[Mapping[str, Any], Plan]:  # Any: JSON
        """The row with the columns that lie in its boxes, and how it is read."""
        plan = self._plans.get(tuple(row))
        if plan is not None:
            for key in plan.boxes:
                if isinstance(row[key], dict) or key == "instruction":
                    break
            else:
                return row, plan
        row = opened(row, self._columns)
        return row, self.plan(tuple(row))

    def _made_plan(self, keys: tuple[str, ...]) -> Plan:
        mapped = {column: field for field, column in self._fields.items()}
        self._found.update(mapped.keys() & set(keys))
        roles = [(key, self._role(key, keys, mapped)) for key in keys]
        # What fields names comes first; then the canonical name before the other names of a field.
        roles.sort(key=lambda pair: (pair[0] not in mapped, RANK.get(pair[1], len(RANK)), rank(pair[0])))
        steps = tuple(Step(key, _put(role, key, self._cells)) for key, role in roles)
        asks = frozenset(key for key, role in roles if role in ("turns", "messages", "input"))
        has_paths = any("." in column for column in self._columns)
        return Plan(steps, asks, keys if has_paths else tuple(key for key in keys if key in TO_OPEN))

    def _role(self, key: str, keys: tuple[str, ...], mapped: Mapping[str, str]) -> str:
        if key in mapped:
            return mapped[key]
        field = canonical(key)
        if field in self._fields or (key == "tags" and "tokens" in keys):  # tags beside tokens: one per word
            return "metadata.*"
        if self._of_turns and field not in _OF_A_TURN and not field.startswith("expected"):
            return "metadata.*"
        if field == "expected.answer" and "choices" in keys:
            return "expected.choice"
        if field:
            return field
        if _EXPERT.fullmatch(key):
            return "experts.*"
        return key if key.startswith("metadata.") else "metadata.*"

    def _nothing_asks(self, row: Mapping[str, Any], line: int | None, problems: Problems) -> None:  # Any: JSON
        keys = tuple(row)
        if problems.is_repeated(("missing", keys)):
            return
        message = nothing_asks(keys, self._fields.get("input"), inside=asking_inside(row))
        problems.add(message, code="missing_column", line=1 if self._cells else line, field="input")


def _put(role: str, key: str, cells: bool) -> Put:
    """The function that puts the value of this role into a draft."""
    if role.startswith("metadata."):
        return _put_metadata(role, key)
    if role in _SPECIAL:
        return _in_cell(_SPECIAL[role]) if cells and role in _JSON_CELLS else _SPECIAL[role]
    read = _STRUCTURED.get(role)
    if read is not None and cells:
        read = values.from_cell(read)
    read = read or _PLAIN.get(role, values.name)
    if role.startswith("expected."):
        return _put_expected(role.removeprefix("expected."), read)
    return _put_case(role, read)


def _put_case(name: str, read: values.Read) -> Put:
    def put(draft: Draft, key: str, value: Any) -> None:  # Any: JSON
        if name in draft.case:
            draft.metadata[key] = value
            return
        held = read(value, key)
        if held is not None and held != [] and held is not False:
            draft.case[name] = held

    return put


def _put_expected(name: str, read: values.Read) -> Put:
    def put(draft: Draft, key: str, value: Any) -> None:  # Any: JSON
        if name in draft.expected:
            draft.metadata[key] = value
            return
        held = read(value, key)
        if held is not None and (held != [] or name == "tools"):
            draft.expected[name] = held

    return put


def _put_metadata(role: str, key: str) -> Put:
    name = key if role == "metadata.*" else role.removeprefix("metadata.")

    def put(draft: Draft, _key: str, value: Any) -> None:  # Any: JSON
        draft.metadata[name] = value

    return put


def _put_input(draft: Draft, key: str, value: Any) -> None:  # Any: JSON
    if draft.turns:
        draft.metadata[key] = value
    elif type(value) is str:
        if value.isspace():
            raise Mistake(f"{key} is blank: there is nothing to ask.", field=key, code="empty_input")
        draft.turns = [{"text": value}]
    elif isinstance(value, list):
        read_messages(draft, key, value)
    else:
        raise values.wrong(key, "text or a list of messages", value)


def _put_messages(draft: Draft, key: str, value: Any) -> None:  # Any: JSON
    if draft.turns:
        draft.metadata[key] = value
    else:
        read_messages(draft, key, value)


def _put_turns(draft: Draft, key: str, value: Any) -> None:  # Any: JSON
    if not isinstance(value, list | tuple) or not value:
        raise values.wrong(key, "a list of turns", value)
    if is_dialogue(value):
        read_dialogue(draft, key, value)
        return
    for index, each in enumerate(value):
        draft.turns.append(_turn(draft, f"{key}[{index}]", each))


def _turn(draft: Draft, place: str, value: Any) -> dict[str, Any]:  # Any: JSON
    if isinstance(value, str):
        value = {"input": value}
    row = values.mapping(value, place)
    part = Draft()
    for key, put in _turns.plan(tuple(row)).steps:
        if row[key] is None or row[key] == "":
            continue
        try:
            put(part, key, row[key])
        except Mistake as mistake:
            raise Mistake(
                f"{place}.{mistake.message}", field=f"{place}.{mistake.field or key}", code=mistake.code
            ) from None
    if len(part.turns) != 1:
        found = ", ".join(map(quoted, value))
        raise Mistake(f"{place} has no input, only {found}.", field=f"{place}.input", code="empty_input")
    if part.metadata:
        draft.metadata.setdefault("turns", {})[place[place.index("[") + 1 : -1]] = part.metadata
    turn: dict[str, Any] = part.finish()["turns"][0]  # Any: JSON
    return turn


def _put_expectation(draft: Draft, key: str, value: Any) -> None:  # Any: JSON
    if not isinstance(value, Mapping):
        put_answer(draft, key, value)
        return
    for name, held in value.items():
        field = f"{key}.{name}"
        if held is None or held == "":
            continue
        put = _EXPECTATION.get(str(name))
        if put is not None:
            put(draft, field, held)
        elif get_close_matches(str(name), _EXPECTATION, cutoff=0.8):  # a slip of the pen would cost the ground truth
            raise Mistake(f"{field} is not an expectation. {did_you_mean(str(name), _EXPECTATION)}", field=field)
        else:
            draft.metadata[field] = held


def _in_cell(put: Put) -> Put:
    def put_cell(draft: Draft, key: str, value: Any) -> None:  # Any: JSON
        try:
            held = values.json_cell(value, key)
        except Mistake:
            if canonical(key) not in ("context", "passages", "expected"):
                raise
            held = value  # a passage may well begin with a bracket
        put(draft, key, held)

    return put_cell


_put_id = _put_case("id", values.name)
_SPECIAL: dict[str, Put] = {
    "id": _put_id,
    "input": _put_input,
    "messages": _put_messages,
    "turns": _put_turns,
    "expected": _put_expectation,
    "expected.answer": put_answer,
    "expected.answers": put_answers,
    "expected.choice": put_choice,
    "context": put_context,
    "passages": put_passages,
    "tier": put_tier,
    "experts.*": put_expert,
    "metadata": put_mapping,
}
_JSON_CELLS = {"messages", "turns", "expected", "expected.answers", "context", "passages", "metadata"}
_EXPECTATION: dict[str, Put] = {
    field.removeprefix("expected."): _put(field, field, cells=False)
    for field in ALSO_READ
    if field.startswith("expected.")
}
_turns = Shapes(of_turns=True)
