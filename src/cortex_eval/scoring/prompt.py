"""Prompts of judges: versioned text with named places, filled in one pass with data that is fenced off."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from cortex_eval.core import Case, InputError, Reply, did_you_mean, to_json

PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
FIELD = re.compile(r"\{([a-z_]+)(\.[\w.-]+)\}")
"""One field of something, which a judge's prompt cannot name."""
PART = "\n---\n"
OF_THE_REPLY = ("answer", "contexts", "conversation", "tool_calls")
"""Placeholders that show the judge something of what it judges."""
KNOWN = (*OF_THE_REPLY, "category", "checklist", "context", "expected", "input", "language", "passages", "rubric")
MAY_BE_EMPTY = ("answer", "category", "context", "language", "tool_calls")
"""The rest must be there: without an expected answer nobody can be compared with it."""

_VERSION = re.compile(r"version: *(\S+) *\n---\n")


@dataclass(frozen=True, slots=True)
class Template:
    """A text with places such as `{answer}`."""

    text: str
    version: str = ""
    """As its file says in the first line; empty: it has none but its hash."""

    @property
    def names(self) -> tuple[str, ...]:
        """The places in it, each once."""
        return _names(self.text)

    @property
    def digest(self) -> str:
        """Changes with the text."""
        return _digest(self.text)

    def fill(self, values: Mapping[str, str]) -> str:
        """The text with its places filled; what is filled in is not looked at again."""
        return PLACEHOLDER.sub(lambda found: values[found[1]], self.text)


class Fenced(NamedTuple):
    """Data between marks that nobody could know before."""

    fence: str
    values: dict[str, str]


def read_template(text: str, *, field: str, known: Collection[str] = KNOWN) -> Template:
    """The template that somebody wrote, a `version:` line before its text included; `InputError` when it is no good."""
    text = text.replace("\r\n", "\n").removeprefix("\ufeff")
    version = _VERSION.match(text)
    template = Template(text[version.end() :] if version else text, version[1] if version else "")
    for name in template.names:
        if name not in known:
            raise InputError(f"{field}: there is no placeholder {{{name}}}. {did_you_mean(name, known)}")
    for head, rest in FIELD.findall(template.text):
        if head in known or head == "metadata":
            whole = "{context}" if head == "metadata" else f"{{{head}}}"
            raise InputError(
                f"{field}: a judge's prompt cannot name {{{head}{rest}}}. Write {whole}, which is sent whole."
            )
    return template


def read_template_file(path: Path, *, field: str) -> Template:
    """The template in a file."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InputError(f"{field}: {path} cannot be read: {reason}.") from error
    return read_template(text, field=field)


@cache
def shipped_prompt(name: str) -> tuple[Template, ...]:
    """The parts of a prompt that comes with Cortex, each with its version."""
    text = shipped_text(f"{name}.md")
    version = _VERSION.match(text)
    assert version is not None, f"{name}.md must begin with its version"
    return tuple(Template(part.strip(), version[1]) for part in text[version.end() :].split(PART))


def shipped_text(*path: str) -> str:
    """A file that lies beside the prompts."""
    from importlib.resources import files  # a hundredth of a second, for those who judge

    return files("cortex_eval.scoring").joinpath("prompts", *path).read_text(encoding="utf-8")


def fence_off(values: Mapping[str, str]) -> Fenced:
    """The values between marks with a code that is new in every call, so that no data can hold its own end."""
    fence = secrets.token_hex(8)
    return Fenced(
        fence,
        {name: f'\n<data-{fence} name="{name}">\n{value}\n</data-{fence}>\n' for name, value in values.items()},
    )


def values_of(case: Case, replies: Sequence[Reply], names: Sequence[str]) -> dict[str, str]:
    """What goes into these places for a case and its replies so far, the last of which is judged.

    What is not there is an empty text.
    """
    reply = replies[-1]
    expected = case.expected
    makers = {
        "answer": lambda: reply.text,
        "category": lambda: case.category or "",
        "checklist": lambda: listed(expected.checklist),
        "context": lambda: to_json(case.context).decode() if case.context else "",
        "contexts": lambda: listed(reply.contexts),
        "conversation": lambda: conversation(case, replies),
        "expected": lambda: listed(expected.references),
        "input": lambda: case.input,
        "language": lambda: case.language or "",
        "passages": lambda: listed(case.passages),
        "rubric": lambda: listed([f"{line.criterion} ({line.points:+g})" for line in expected.rubric]),
        "tool_calls": lambda: to_json(reply.tool_calls).decode() if reply.tool_calls else "",
    }
    return {name: makers[name]() for name in names}


# Asked for with every verdict, of the same few prompts.
@lru_cache(256)
def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(PLACEHOLDER.findall(text)))


@lru_cache(256)
def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def listed(items: Sequence[str]) -> str:
    """One text as it is, several with numbers."""
    return items[0] if len(items) == 1 else "\n\n".join(f"[{number}] {item}" for number, item in enumerate(items, 1))


def conversation(case: Case, replies: Sequence[Reply]) -> str:
    """All that was said, from before the first turn to the last reply."""
    said = [(turn.role, turn.text) for turn in case.history]
    for turn, reply in zip(case.turns, replies, strict=False):
        said += [(turn.role, turn.text), ("assistant", reply.text)]
    return "\n\n".join(f"{role}: {text}" for role, text in said)
