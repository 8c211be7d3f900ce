"""Services that translate (`translation`): which languages are asked for, and where the translation is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from cortex_eval.core import Case, Reply, Secret, TargetError, changed, short_repr, to_json
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

USUAL_PLACES = (
    "$.translation",
    "$.translated_text",
    "$.translatedText",
    "$.translations[0].text",
    "$.translations[0].translatedText",
    "$.data.translations[0].translatedText",
    "$[0].translations[0].text",
    "$.response",
    "$.output",
    "$.text",
)
"""Where the translation is looked for, in this order; `text` is last: some services give the source back in it."""
SOURCE_KEYS = ("source_language", "source_lang", "src_lang")
TARGET_KEYS = ("target_language", "target_lang", "tgt_lang")
"""Columns of a dataset, or keys of a case's context, that name a language."""
LANGUAGES = ("source_language", "target_language")
"""Placeholders of this kind of target, beside those of `http`."""


class Languages(NamedTuple):
    """What is translated, and into what."""

    source: str
    """Empty: not known; the service has to find out."""
    target: str


@targets.register("translation")
@dataclass
class TranslationTarget(Target):
    """A service that takes `text`, `source_language`, `target_language` and gives the translation.

    The languages are those of the case, else those of the settings; see `languages_of`.
    """

    kind: ClassVar[str] = "translation"
    is_remote: ClassVar[bool] = True

    api_url: str
    api_key: Secret | None = None
    source_language: str | None = None
    """For cases that name none."""
    target_language: str | None = None
    codes: Mapping[str, str] = field(default_factory=dict)
    """What the service calls a language, where that is not what the dataset calls it: `hi: hin_Deva`."""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = field(
        default_factory=lambda: {
            "text": "{input}",
            "source_language": "{source_language}",
            "target_language": "{target_language}",
        }
    )
    """A JSON template, as of `http`, with two placeholders more. Any: whatever JSON can be."""
    reply: Mapping[str, str] = field(default_factory=dict)
    """Reply field to path, such as `text: $.result.hindi`; without it the usual places are tried."""
    test_user_id: str = "eval-tester"

    def __post_init__(self) -> None:
        check_url(self.api_url)
        check_template(self.body, field="body", also=LANGUAGES)
        self._headers = request_headers(self.headers, self.api_key)
        self._paths = compile_paths(self.reply, field="reply")
        self._usual = [Path(place, field="reply.text") for place in USUAL_PLACES]

    def remarks(self) -> list[str]:
        """Paths of `reply` at which no answer had anything."""
        return remarks_on(self._paths, self.reply)

    async def ask(self, turns: Conversation) -> Reply:
        """Send the text with its languages; read the translation, and what the service says about it."""
        languages = languages_of(turns.case, source=self.source_language, target=self.target_language)
        values = sendable(turns, user_id=self.test_user_id) | {
            "source_language": self.codes.get(languages.source, languages.source),
            "target_language": self.codes.get(languages.target, languages.target),
        }
        body = to_json(fill_template(self.body, values))
        headers = travelling(self._headers, turns)
        parsed = parse_json(self.api_url, await self._open_client().send("POST", self.api_url, body, headers=headers))
        return noted(self._read(parsed.value, languages, shown(self.api_url)), parsed.encoding)

    def _read(self, answer: Any, languages: Languages, where: str) -> Reply:  # Any: JSON
        said = read_reply(answer, {"text": self._place(answer, where), **self._paths}, where=where)
        stated = answer.get("metadata") if isinstance(answer, dict) else None
        asked = {"source_language": languages.source, "target_language": languages.target}
        return changed(said, metadata={**(stated if isinstance(stated, dict) else {}), **asked})

    def _place(self, answer: Any, where: str) -> Path:  # Any: JSON
        if "text" in self._paths:
            return self._paths["text"]
        for path in self._usual:
            try:
                path.find(answer)
            except KeyError:
                continue
            return path
        found = sorted(answer) if isinstance(answer, dict) else type(answer).__name__
        raise TargetError(
            f"{where} gave no translation; it gave {short_repr(found, 200)}. "
            "Say under reply: where it is, such as text: $.result.text.",
            kind="missing_field",
        )


def languages_of(case: Case, *, source: str | None = None, target: str | None = None) -> Languages:
    """What the case is to be translated from and into; `TargetError` when nobody names the target language.

    Columns `source_language` and `target_language` (or keys of the context) come first, then what is given here. The
    case's own `language` fills the place that is still empty: the target's when the source is known, or the source's.
    """
    source, target = _named(case, SOURCE_KEYS) or source, _named(case, TARGET_KEYS) or target
    if target is None and source is not None and case.language != source:
        target = case.language
    elif source is None and case.language != target:
        source = case.language
    if target is None:
        raise TargetError(
            f"Case {case.id!r} names no language to translate into. "
            "Add a column target_language to the dataset, or target_language to the service.",
            kind="no_language",
        )
    return Languages(source or "", target)


def _named(case: Case, keys: tuple[str, ...]) -> str | None:
    for kept in (case.metadata, case.context):
        for key in keys:
            if isinstance(value := kept.get(key), str) and value.strip():
                return value.strip()
    return None
