"""Services that answer from passages (`rag`): the answer, the passages with their scores, and what is cited."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from cortex_eval.core import InputError, Reply, Secret, TargetError, changed, did_you_mean, short_repr, to_json
from cortex_eval.net import check_url, parse_json, shown
from cortex_eval.targets.base import Target, targets
from cortex_eval.targets.conversation import Conversation
from cortex_eval.targets.http import noted, request_headers, travelling
from cortex_eval.targets.mapping import (
    Path,
    check_template,
    compile_paths,
    fill_template,
    read_reply,
    remarks_on,
    sendable,
)

ANSWERS = ("answer", "response", "text", "result", "output", "output_text", "generated_text")
"""Where the answer is looked for, in this order."""
PASSAGES = (
    "contexts",
    "passages",
    "documents",
    "source_documents",
    "retrieved_contexts",
    "retrieval_context",
    "source_nodes",
    "chunks",
    "sources",
)
"""Where the passages are looked for; one that holds texts comes before one that holds only names."""
CITED = ("citations", "references", "cited", "sources")
STATED = ("intent", "confidence", "language", "model", "finish_reason")
"""What else is read under its own name."""
INSIDE = ("node", "document", "doc", "metadata")
"""Objects that a passage may be wrapped in, or keep its source in."""
OF_A_PASSAGE: Mapping[str, tuple[str, ...]] = {
    "text": ("text", "content", "page_content", "passage", "chunk", "snippet", "body"),
    "id": ("id", "passage_id", "chunk_id", "doc_id", "document_id", "id_", "node_id"),
    "source": ("source", "url", "uri", "title", "file_name", "filename", "file"),
    "score": ("score", "similarity", "relevance_score", "relevance"),
}
"""The parts of a passage, and what else they are called."""


class Passage(NamedTuple):
    """One passage as the service gave it; what it did not say is None."""

    text: str | None
    id: str | None
    source: str | None
    score: float | None

    @property
    def name(self) -> str | None:
        """What a citation would call it."""
        return self.id or self.source


@targets.register("rag")
@dataclass
class RagTarget(Target):
    """A service that takes `query`, `context`, `user_id`, `session_id` and gives an answer with its passages.

    The texts of the passages become the reply's contexts, in their order; what else is known of them stands in its
    metadata under `passages`.
    """

    kind: ClassVar[str] = "rag"
    is_remote: ClassVar[bool] = True

    api_url: str
    api_key: Secret | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = field(
        default_factory=lambda: {
            "query": "{input}",
            "context": "{context}",
            "user_id": "{user_id}",
            "session_id": "{session_id}",
        }
    )
    """A JSON template, as of `http`. Any: whatever JSON can be."""
    reply: Mapping[str, str] = field(default_factory=dict)
    """Reply field to path, such as `text: $.data.answer`; what is not named is looked for in the usual places."""
    passage: Mapping[str, str] = field(default_factory=dict)
    """Part of a passage (text, id, source, score) to path inside it, such as `text: $.chunk.body`."""
    test_user_id: str = "eval-tester"

    def __post_init__(self) -> None:
        check_url(self.api_url)
        check_template(self.body, field="body")
        self._headers = request_headers(self.headers, self.api_key)
        self._paths = compile_paths({name: f"$.{name}" for name in STATED} | dict(self.reply), field="reply")
        for name in self.passage:
            if name not in OF_A_PASSAGE:
                raise InputError(f"passage: a passage has no {name!r}. {did_you_mean(name, OF_A_PASSAGE)}")
        self._inner = {name: Path(path, field=f"passage.{name}") for name, path in self.passage.items()}

    def remarks(self) -> list[str]:
        """Paths of `reply` and `passage` at which no answer had anything."""
        return remarks_on(self._paths, self.reply) + remarks_on(self._inner, self.passage)

    async def ask(self, turns: Conversation) -> Reply:
        """Fill the template, send it, read answer, passages and citations."""
        body = to_json(fill_template(self.body, sendable(turns, user_id=self.test_user_id)))
        headers = travelling(self._headers, turns)
        parsed = parse_json(self.api_url, await self._open_client().send("POST", self.api_url, body, headers=headers))
        return noted(self._read(parsed.value, shown(self.api_url)), parsed.encoding)

    def _read(self, answer: Any, where: str) -> Reply:  # Any: JSON
        plain = {name: path for name, path in self._paths.items() if name not in ("contexts", "citations")}
        text = plain.get("text") or _usual_place(answer, where)
        said = read_reply(answer, {**plain, "text": text}, where=where)
        passages, found_at = self._passages(answer, where)
        return changed(
            said,
            contexts=tuple(each.text for each in passages if each.text is not None),
            citations=self._citations(answer, passages, found_at, where),
            metadata={"passages": [_known(each) for each in passages]} if passages else {},
        )

    def _passages(self, answer: Any, where: str) -> tuple[list[Passage], str]:  # Any: JSON
        """The passages, and under which name they were; of several names the first that holds texts."""
        if "contexts" in self._paths:
            return self._all(_at(self._paths["contexts"], answer), where), ""
        named_only: tuple[list[Passage], str] = ([], "")
        for name in PASSAGES:
            value = answer.get(name) if isinstance(answer, dict) else None
            if not value or (name == "sources" and isinstance(value, str)):  # "a.pdf, b.pdf" names no passage
                continue
            passages = self._all(value, where)
            if any(each.text is not None for each in passages):
                return passages, name
            named_only = named_only if named_only[0] else (passages, name)
        return named_only

    def _all(self, value: Any, where: str) -> list[Passage]:  # Any: JSON
        if value is None:
            return []
        return [self._passage(each, where) for each in (value if isinstance(value, list) else [value])]

    def _passage(self, item: Any, where: str) -> Passage:  # Any: JSON
        if isinstance(item, str):
            return Passage(item, None, None, None)
        if not isinstance(item, dict):
            raise _wrong("a passage", item, where)
        parts = {name: self._part(name, item) for name in OF_A_PASSAGE}
        text, score = parts["text"], parts["score"]
        if text is not None and not isinstance(text, str):
            raise _wrong("the text of a passage", text, where)
        is_number = isinstance(score, int | float) and not isinstance(score, bool)
        return Passage(text, _name(parts["id"]), _name(parts["source"]), float(score) if is_number else None)

    def _part(self, name: str, item: dict[str, Any]) -> Any:  # Any: JSON
        if name in self._inner:
            return _at(self._inner[name], item)
        for holder in (item, *(item[key] for key in INSIDE if isinstance(item.get(key), dict))):
            for word in OF_A_PASSAGE[name]:
                if holder.get(word) is not None and not isinstance(holder[word], dict):
                    return holder[word]
        return None

    def _citations(self, answer: Any, passages: list[Passage], found_at: str, where: str) -> tuple[str, ...]:
        """What the service says that it cites; a passage that is only named is a citation too."""
        names = [each.name for each in passages if each.text is None and each.name is not None]
        if "citations" in self._paths:
            value = _at(self._paths["citations"], answer)
        else:
            keys = (key for key in CITED if key != found_at and isinstance(answer, dict))
            value = next((answer[key] for key in keys if answer.get(key)), None)
        return tuple(dict.fromkeys([*names, *self._cited(value, where)]))

    def _cited(self, value: Any, where: str) -> Iterable[str]:  # Any: JSON
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict):
                each = self._passage(item, where)
                name = each.name or each.text
            else:
                name = _name(item)
            if name is not None:
                yield name


def _usual_place(answer: Any, where: str) -> Path:  # Any: JSON
    for name in ANSWERS:
        if isinstance(answer, dict) and name in answer:
            return Path(f"$.{name}", field="reply.text")
    found = sorted(answer) if isinstance(answer, dict) else type(answer).__name__
    raise TargetError(
        f"{where} gave no answer; it gave {short_repr(found, 200)}. "
        "Say under reply: where it is, such as text: $.data.answer.",
        kind="missing_field",
    )


def _at(path: Path, value: Any) -> Any:  # Any: JSON
    try:
        return path.find(value)
    except KeyError:
        return None


def _name(value: Any) -> str | None:  # Any: JSON
    """A name as text; numbers count the passages in many services."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return str(value) or None


def _known(passage: Passage) -> dict[str, Any]:  # Any: JSON
    """All but the text, which is among the contexts."""
    return {"id": passage.id, "source": passage.source, "score": passage.score}


def _wrong(what: str, value: Any, where: str) -> TargetError:  # Any: JSON
    return TargetError(f"{where} gave {short_repr(value)} as {what}, which cannot be that.", kind="wrong_type")
