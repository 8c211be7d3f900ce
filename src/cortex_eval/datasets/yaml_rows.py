"""Rows of a YAML file, without tags, alias bombs or words that turn into booleans."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from cortex_eval.datasets.csv_rows import RawRow
from cortex_eval.datasets.json_rows import as_row, check_configuration, chosen_lists, is_one_case
from cortex_eval.datasets.opening import whole_text
from cortex_eval.datasets.problems import MAX_ALIASES, MAX_DEPTH, MAX_FILE_BYTES, Mistake, Problems, quoted
from cortex_eval.datasets.promptfoo import DEFAULT_TEST, is_configuration, with_default
from cortex_eval.datasets.strict_json import check_numbers

_PREFIX = "tag:yaml.org,2002:"
_TAGS = {_PREFIX + name for name in ("str", "int", "float", "bool", "null", "map", "seq")}


def read_yaml(path: Path, encoding: str | None, problems: Problems) -> Iterator[RawRow]:
    """The rows of a YAML file: a list, `cases: […]`, a dictionary of categories or splits, or a single case."""
    import yaml  # a tenth of a second that `import cortex_eval` must not pay

    text = whole_text(path, encoding, problems)
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise problems.stop("the file holds a NUL byte.", code="nul_byte", line=line)
    try:
        _check_events(text)
        root = yaml.compose(text, Loader=_loader())
        if root is None:
            return
        yield from _rows(root, problems)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = ", ".join(part for part in (error.context, error.problem) if part)
        message = f"this is not valid YAML: {reason}."
        raise problems.stop(message, code="invalid_yaml", line=mark.line + 1 if mark else None) from error
    except yaml.YAMLError as error:
        raise problems.stop(f"this is not valid YAML: {error}.", code="invalid_yaml") from error
    except Mistake as mistake:
        raise problems.stop(mistake.message, code=mistake.code, line=mistake.line, field=mistake.field) from mistake


def _rows(root: Any, problems: Problems) -> Iterator[RawRow]:  # Any: a yaml node
    if root.id == "sequence":
        for node in root.value:
            yield from _row(node, problems)
        return
    if root.id != "mapping":
        raise Mistake(f"a dataset is a list of cases, not {quoted(root.value)}.", code="wrong_value")
    # Only the outline is built here, so that each case can be told its own line.
    outline: dict[str, Any] = {  # Any: only the kind of value matters
        key.value: _listed(node) if node.id == "sequence" else node.value if node.id == "scalar" else None
        for key, node in root.value
        if key.id == "scalar"
    }
    check_configuration(outline, problems)
    if is_one_case(outline):
        yield from _row(root, problems)
        return
    chosen = chosen_lists(outline)
    default = _default_test(root) if is_configuration(outline) else None
    for key, sequence in root.value:
        if key.id == "scalar" and key.value in chosen:
            for node in sequence.value:
                yield from _row(node, problems, chosen[key.value], default)


def _default_test(root: Any) -> Any:  # Any: a yaml node; JSON
    """What promptfoo says of every test of a configuration."""
    return next((_plain(node) for key, node in root.value if key.id == "scalar" and key.value == DEFAULT_TEST), None)


def _listed(sequence: Any) -> list[Any]:  # Any: a yaml node; only the kind of what is listed matters, and its text
    return [each.value if each.id == "scalar" else {} if each.id == "mapping" else [] for each in sequence.value]


def _row(
    node: Any,  # Any: a yaml node
    problems: Problems,
    heading: str | None = None,
    default: Any = None,  # Any: JSON
) -> Iterator[RawRow]:
    line = node.start_mark.line + 1
    try:
        value = with_default(default, _plain(node))
        check_numbers(value)
    except Mistake as mistake:
        problems.add(mistake.message, code=mistake.code, line=mistake.line or line, field=mistake.field)
        return
    yield from as_row(line, value, problems, heading)


def _check_events(text: str) -> None:
    """Depth, tags and aliases are counted before anything is built: an alias counts with all it stands for."""
    import yaml  # see read_yaml

    known: dict[str, _Weight] = {}
    stack: list[_Weight] = [_Weight()]
    for event in yaml.parse(text, Loader=_loader()):
        line = event.start_mark.line + 1
        tag = getattr(event, "tag", None)
        if tag and tag not in _TAGS:
            raise _at(line, f"the tag {quoted(tag)} is not read: a dataset is plain data.", "yaml_tag")
        if isinstance(event, yaml.AliasEvent):
            stack[-1].add(known.get(str(event.anchor), _Weight()), aliases=1)
        elif isinstance(event, yaml.ScalarEvent):
            stack[-1].size += len(event.value)
            if event.anchor:
                known[event.anchor] = _Weight(size=len(event.value))
        elif isinstance(event, yaml.CollectionStartEvent):
            stack.append(_Weight(anchor=event.anchor))
        elif isinstance(event, yaml.CollectionEndEvent):
            done = stack.pop()
            stack[-1].add(done)
            if done.anchor:
                known[done.anchor] = done
        if len(stack) > MAX_DEPTH + 1:
            raise _at(line, f"lists and mappings are nested more than {MAX_DEPTH} deep.", "too_deep")
        if stack[-1].aliases > MAX_ALIASES or stack[-1].size > MAX_FILE_BYTES:
            raise _at(
                line, f"the aliases stand for more than {MAX_ALIASES:,} copies, or for too much text.", "alias_limit"
            )


class _Weight:
    """How many aliases and how much text a node stands for once every alias is followed."""

    __slots__ = ("aliases", "anchor", "size")

    def __init__(self, *, size: int = 0, anchor: str | None = None) -> None:
        self.aliases = 0
        self.size = size
        self.anchor = anchor

    def add(self, other: _Weight, *, aliases: int = 0) -> None:
        self.aliases += other.aliases + aliases
        self.size += other.size


def _plain(node: Any, path: str = "") -> Any:  # Any: a yaml node in, JSON out
    """What a node holds, as JSON would."""
    if node.id == "scalar":
        return _scalar(node, path)
    if node.id == "sequence":
        return [_plain(each, f"{path}[{index}]") for index, each in enumerate(node.value)]
    found: dict[str, Any] = {}  # Any: JSON
    merged: dict[str, Any] = {}  # Any: JSON
    for key, value in node.value:
        line = key.start_mark.line + 1
        if key.id != "scalar":
            raise _at(line, "a key is a word, not a list or a mapping.", "wrong_value", path)
        name: str = key.value
        if name == "<<" and not key.style:
            for part in value.value if value.id == "sequence" else [value]:
                merged = {**_plain(part, path), **merged} if part.id == "mapping" else merged
            continue
        if name in found:
            raise _at(
                line, f"the key {quoted(name)} is there twice.", "duplicate_key", f"{path}.{name}" if path else name
            )
        found[name] = _plain(value, f"{path}.{name}" if path else name)
    return {**merged, **found}


def _scalar(node: Any, path: str) -> Any:  # Any: a yaml node in, a plain value out
    kind = node.tag.removeprefix(_PREFIX)
    text: str = node.value
    try:
        if kind == "int":
            return int(text)
        if kind == "float":
            return float(text.casefold().replace(".inf", "inf").replace(".nan", "nan"))
    except ValueError:
        raise _at(node.start_mark.line + 1, f"{quoted(text)} is not a number.", "wrong_value", path) from None
    if kind == "bool":
        return text.casefold() == "true"
    return None if kind == "null" else text


def _at(line: int, message: str, code: str, field: str = "") -> Mistake:
    mistake = Mistake(message, code=code, field=field)
    mistake.line = line
    return mistake


@cache
def _loader() -> Any:  # Any: a class made at run time, because yaml is imported late
    """YAML 1.2 words: `yes`, `no`, `on` and dates stay text, as in JSON."""
    import yaml  # see read_yaml

    base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    loader: Any = type("DatasetLoader", (base,), {"yaml_implicit_resolvers": {}})  # Any: see above
    for name, pattern, first in (
        ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
        ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
        ("int", r"[-+]?[0-9]+", list("-+0123456789")),
        ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", list("-+.0123456789")),
        ("float", r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", list("-+.")),
    ):
        loader.add_implicit_resolver(_PREFIX + name, re.compile(rf"^(?:{pattern})$"), first)
    return loader
