"""What a target retrieved for a reply: the passages in their order, and the names that a citation may call them by."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import orjson

from cortex_eval.core import Case, Reply

NAMES = ("id", "passage_id", "chunk_id", "doc_id", "document_id", "id_", "node_id")
SOURCES = ("source", "url", "uri", "title", "file_name", "filename", "file")
"""Under which a passage that is an object has its names: its own first, then that of what it is from."""
TEXTS = ("text", "content", "page_content", "passage", "chunk", "snippet", "body")
INSIDE = ("node", "document", "doc", "metadata")
"""Objects that a passage may be wrapped in, or keep its source in."""


class Retrieved(NamedTuple):
    """Passages by their place, from 0; of some only the text is known, of others only the names."""

    texts: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]
    """Of each passage, as `folded` gives them; empty: no passage has one."""
    of: Literal["reply", "case"]
    """Who says so: the target, or the dataset for a target that says nothing."""

    @property
    def size(self) -> int:
        """How many passages there are."""
        return max(len(self.texts), len(self.names))

    def named(self, name: str) -> int | None:
        """The place of the first passage of this name, in any case; None: there is none."""
        wanted = folded(name)
        return next((place for place, names in enumerate(self.names) if wanted in names), None)


def retrieved_for(case: Case, reply: Reply) -> Retrieved:
    """What the target says that it used; of one that says nothing, the passages of the case.

    Names are those in the reply's metadata (`passages`, or `retrieved_context_ids`), or of passages that are objects.
    The payload as it came is not looked at: it is not there when a run is scored anew.
    """
    listed = _listed_names(reply.metadata)
    if not reply.contexts and not listed:
        return _named_by_themselves(Retrieved(case.passages, (), "case"))
    opened = [_opened(each) for each in reply.contexts]
    texts = tuple(text for text, _ in opened)
    names = listed or tuple(names for _, names in opened)
    return _named_by_themselves(Retrieved(texts, names if any(names) else (), "reply"))


def folded(name: str) -> str:
    """A name as it is compared: NFC, in lower case, without spaces around it."""
    return " ".join(unicodedata.normalize("NFC", name).casefold().split())


def names_in(value: Any) -> tuple[str, ...]:  # Any: JSON
    """Several names as people write them: a list, also as JSON in a cell, or a text with ; or , between them."""
    if isinstance(value, str):
        if value.lstrip().startswith("["):
            try:
                return names_in(orjson.loads(value))
            except orjson.JSONDecodeError:
                pass
        value = value.replace(";", ",").split(",")
    elif not isinstance(value, list | tuple):
        value = [value]
    return tuple(name for name in map(_name, value) if name)


def are_names(texts: Sequence[str]) -> bool:
    """Whether these are no texts but names of texts: single words such as d1, handbook.pdf or an address."""
    return bool(texts) and all(len(text.split()) == 1 and text.strip()[-1] not in ".!?।" for text in texts)


def _listed_names(metadata: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    listed = metadata.get("passages")
    if isinstance(listed, list | tuple) and any(isinstance(each, Mapping) for each in listed):
        names = tuple(_names_of(each) if isinstance(each, Mapping) else () for each in listed)
        return names if any(names) else ()
    return tuple((name,) for name in names_in(metadata.get("retrieved_context_ids", ())))


def _named_by_themselves(found: Retrieved) -> Retrieved:
    """The same, with names as names where a target gives them instead of texts."""
    if found.names or not are_names(found.texts):
        return found
    return found._replace(texts=(), names=tuple((folded(text),) for text in found.texts))


def _opened(context: str) -> tuple[str, tuple[str, ...]]:
    """Text and names of a passage; one that came as an object is its JSON."""
    if context.startswith("{"):
        try:
            value = orjson.loads(context)
        except orjson.JSONDecodeError:
            return context, ()
        text = next((value[key] for key in TEXTS if isinstance(value.get(key), str)), context)
        return text, _names_of(value)
    return context, ()


def _names_of(item: Mapping[str, Any]) -> tuple[str, ...]:
    holders = [item, *(item[key] for key in INSIDE if isinstance(item.get(key), Mapping))]
    found = (_name(holder.get(key)) for key in (*NAMES, *SOURCES) for holder in holders)
    return tuple(dict.fromkeys(name for name in found if name))


def _name(value: Any) -> str:  # Any: JSON
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    return folded(str(value))
