"""Is the reply in the language and the script that were asked for?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from cortex_eval.core import LANGUAGES, Case, Range, Reply, Score, language_name
from cortex_eval.scoring.base import scorers
from cortex_eval.scoring.detect import (
    HOW_TO_INSTALL,
    SCRIPT_OF,
    Detected,
    can_detect,
    count_scripts,
    detect_language,
)

NOTHING_ASKED = "The case names no language, and that of the question cannot be told."
NO_WORDS = "The reply has no words, only numbers or signs."

_ISO_SCRIPTS = {
    "latn": "Latin",
    "deva": "Devanagari",
    "arab": "Arabic",
    "cyrl": "Cyrillic",
    "beng": "Bengali",
    "guru": "Gurmukhi",
    "hans": "Han",
    "hant": "Han",
}
_ALIKE = (frozenset({"no", "nb", "nn", "da"}), frozenset({"id", "ms"}), frozenset({"hr", "sr", "bs", "sh"}))
"""Languages that the model cannot tell apart in a few sentences."""


class Asked(NamedTuple):
    """What the reply should be in."""

    language: str
    script: str


@scorers.register("language")
@dataclass(frozen=True, slots=True)
class Language:
    """1 when the reply is in the asked language and script, 0 otherwise; the share of other scripts is the measure."""

    language: str | None = None
    """A code such as `hi` or `hi-Latn`, or an English name; None: the case's language, else the question's."""
    max_mixed: Annotated[float, Range(0, 1)] = 0.3
    """So large a share of the words may be in another script: names and terms often are."""
    any_script: bool = False
    """Hindi in Latin letters is Hindi too."""

    @property
    def fingerprint(self) -> str:
        """Scores differ with and without the model."""
        return "model" if can_detect() else "rules"

    @property
    def scores_by(self) -> str:
        """The model that detects languages, or rules."""
        return "the detecting model" if can_detect() else "rules (without cortex-eval[language])"

    def score_batch(self, pairs: Sequence[tuple[Case, Reply]]) -> list[Score]:
        """1 or 0 for each reply; None when no language is asked for, or it cannot be told."""
        return [self._one(case, reply) for case, reply in pairs]

    def _one(self, case: Case, reply: Reply) -> Score:
        asked = self._asked(case)
        if asked is None:
            return Score(name="language", value=None, reason=NOTHING_ASKED)
        if not reply.text.strip():
            return Score(name="language", value=0.0, reason="The reply is empty.")
        found = detect_language(reply.text)
        if found is None:
            return Score(name="language", value=None, reason=NO_WORDS)
        scripts = count_scripts(reply.text)
        script = found.script if self.any_script else asked.script
        mixed = 1 - _in_script(scripts, script) / scripts.total()
        value, reason = self._judge(asked, found, mixed)
        evidence: dict[str, Any] = {  # Any: JSON
            "asked": asked._asdict(),
            "found": {"language": found.language, "script": found.script, "by": found.method},
            "mixed": mixed,
            "words_by_script": dict(scripts.most_common()),
        }
        return Score(
            name="language",
            value=value,
            reason=reason,
            evidence=evidence,
            measure=mixed,
            unit="share of words in another script",
            direction="lower",
        )

    def _asked(self, case: Case) -> Asked | None:
        code = self.language or case.language
        if code:
            return read_language(code)
        found = detect_language(case.input)
        return None if found is None or found.language is None else Asked(found.language, found.script)

    def _judge(self, asked: Asked, found: Detected, mixed: float) -> tuple[float | None, str]:
        if not self.any_script and not _same_script(found.script, asked.script):
            return 0.0, _told(asked, found)
        if found.language is not None and not _same_language(asked.language, found):
            return 0.0, _told(asked, found)
        if mixed > self.max_mixed:
            return 0.0, f"{mixed:.0%} of the words are not in {asked.script}; at most {self.max_mixed:.0%} may be."
        if found.language is not None or asked.language in found.others:
            share = f"; {mixed:.0%} of it is in another script" if mixed else ""
            return 1.0, f"The reply is in {language_name(asked.language)} ({found.script}), as asked{share}."
        if found.is_short:
            return 1.0, f"The script is {found.script}, as asked; the text is too short to tell the language."
        if found.method == "model":
            return None, f"The language of this {found.script} text cannot be told."
        return None, f"Rules alone cannot tell which language this {found.script} text is in: {HOW_TO_INSTALL}"


def _told(asked: Asked, found: Detected) -> str:
    shown = language_name(found.language) if found.language else "an unknown language"
    wanted = language_name(asked.language)
    return f"The reply is in {shown} ({found.script}); {wanted} ({asked.script}) was asked for."


def read_language(code: str) -> Asked:
    """The language and script that a code (`hi`, `hi-Latn`, `en_IN`) or an English name stands for."""
    code = code.strip().casefold()
    language, *rest = LANGUAGES.get(code, code).replace("_", "-").split("-")
    script = next((_ISO_SCRIPTS[part] for part in rest if part in _ISO_SCRIPTS), SCRIPT_OF.get(language, "Latin"))
    return Asked(language, script)


def _same_language(asked: str, found: Detected) -> bool:
    candidates = {found.language, *found.others}
    return asked in candidates or any(asked in alike and candidates & alike for alike in _ALIKE)


def _same_script(found: str, asked: str) -> bool:
    return found == asked or {found, asked} == {"Han", "Kana"}


def _in_script(scripts: Counter[str], script: str) -> int:
    return scripts["Han"] + scripts["Kana"] if script in ("Han", "Kana") else scripts[script]
