"""Foreign text made safe to look at: what cannot be seen is shown as an escape, what could act is made inert."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from itertools import accumulate
from unicodedata import category, east_asian_width

from cortex_eval.core import redact

_HIDDEN = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters, save tab and newline
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u2800\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff9-\uffff"  # bidi controls, blanks without width, fillers
    "\ud800-\udfff\ue000-\uf8ff"  # half characters, private use
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff\U000f0000-\U0010ffff"  # tags: text that only machines read
    "]"
)
_JOINS = re.compile(
    "(?<=[\u0900-\u0dff])[\u200c\u200d]"  # joiners shape Indic letters, and are part of the word there
    "|(?<=[\u2600-\u27bf\ufe0f\U0001f000-\U0001faff])\u200d"  # and hold composed emoji together
)


def visible(text: str) -> str:
    """The text without secrets, and with control, bidi and invisible characters as escapes such as `\\u202e`."""
    text = redact(text)
    if text.isascii() and text.isprintable():
        return text
    return _replace_hidden(text, _escape)


def as_html(text: str) -> str:
    """The text, without secrets, as HTML that shows it and does nothing else; hidden characters are marked escapes."""
    text = redact(text)
    if text.isascii() and text.isprintable():
        return html.escape(text)
    # a hidden character survives html.escape, so it can be marked afterwards
    return _replace_hidden(html.escape(text), lambda found: f'<span class="esc">{_escape(found)}</span>')


def name_as_html(text: str) -> str:
    """A name as HTML that may break after an underscore on narrow screens."""
    return as_html(text).replace("_", "_<wbr>")


def as_code(text: str, width: int = 200) -> str:
    """The text as a Markdown code span on one line, in which no link, image, mention or tag is active."""
    line = " ".join(visible(text).split())
    line = cut(line, width)
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") or not line else ""
    return f"{fence}{pad}{line}{pad}{fence}".replace("|", "\\|")  # a bare | would end a table cell even in code


def as_plain(sentence: str) -> str:
    """A sentence of ours as Markdown; it may hold a metric's or category's name, whose marks must not act."""
    sentence = visible(sentence)
    for mark in "\\`*_[]<>|":
        sentence = sentence.replace(mark, "\\" + mark)
    return sentence


def cut(text: str, width: int) -> str:
    """The text, with an ellipsis at its end where it was too long."""
    return text if len(text) <= width else text[: width - 1] + "…"


def in_a_line(text: str, width: int) -> str:
    """A text in one line of at most this many columns, with control and invisible characters as escapes."""
    text = visible(" ".join(text.split()))
    if width_of(text) <= width:
        return text
    room = sum(columns < width for columns in accumulate(map(_columns, text)))  # and one for the ellipsis
    return text[:room].rstrip() + "…"


def width_of(text: str) -> int:
    """Columns that a text takes on a terminal: marks above and below a letter take none, wide letters two."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(letter: str) -> int:
    return 0 if category(letter) in ("Mn", "Me", "Cf") else 2 if east_asian_width(letter) in "WF" else 1


def _replace_hidden(text: str, shown: Callable[[str], str]) -> str:
    text = text.replace("\r\n", "\n")
    kept = {found.start() for found in _JOINS.finditer(text)}
    return _HIDDEN.sub(lambda found: found[0] if found.start() in kept else shown(found[0]), text)


def _escape(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
