"""All the ways in which a secret may be written, as patterns that RE2 finds in a single pass.

Every character may stand as it is or escaped for a URL, for JSON or for HTML, in any mixture and any number of times
over: encoders differ in what they leave alone. Base64 and hex write the whole in other letters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

_BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_PADDING = r"(?i:=|%(?:25)*3d|\\+u003d){0,2}"
_CONTROL = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f"}
_NAMED = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}
_RUNS = re.compile(r"\s+|\S")
_LOST = "\ufffd".encode()
"""What letters become when bytes are read in the wrong encoding."""


def spellings(value: str, *, in_clear: bool = True) -> Iterator[bytes]:
    """Patterns over bytes (RE2, Latin-1) that together find a value however it is written, or but for in clear."""
    raw = value.encode("utf-8", "surrogatepass")
    if in_clear:
        yield "".join(_blanks(each) if each.isspace() else _character(each) for each in _RUNS.findall(value)).encode(
            "latin-1"
        )
    yield f"(?i:{raw.hex()})".encode()
    for before in range(3):
        yield _in_base64(raw, before).encode("latin-1")


def _blanks(run: str) -> str:
    """Blanks and line ends, which may have been made others where a text was folded or put into one line."""
    return f"(?:{'|'.join(map(_character, sorted(set(run))))}|\\s)+"


@cache
def _character(character: str) -> str:
    """One character, plain or escaped."""
    raw = character.encode("utf-8", "surrogatepass")
    plain = re.escape(raw.decode("latin-1"))
    if character == "\\":
        plain = r"\\+"  # each time that it is escaped there are twice as many
    elif character.isascii() and not character.isalnum():
        plain = rf"\\*{plain}"  # \/ and \"
    ways = [
        "".join(f"%(?:25)*{byte:02x}" for byte in raw),  # 25 is the % of a % that was escaped again
        rf"\\+(?:{'|'.join(_after_backslash(character, raw))})",
        f"&(?:amp;)*(?:{'|'.join(_names(character))});",
    ]
    if character == " ":
        ways.append(r"\+")
    lost = "" if character.isascii() else f"|(?:{_LOST.decode('latin-1')})+"
    return f"(?:{plain}|(?i:{'|'.join(ways)}){lost})"  # the letters of escapes have no case, those of the value do


def _after_backslash(character: str, raw: bytes) -> Iterator[str]:
    code = ord(character)
    if code < 0x100:
        yield f"x{code:02x}"
    if code < 0x10000:
        yield f"u{code:04x}"
    else:
        high, low = divmod(code - 0x10000, 0x400)
        yield rf"u{0xD800 + high:04x}\\+u{0xDC00 + low:04x}"
    yield f"U{code:08x}"
    if code > 0x7F:
        yield r"\\+".join(f"x{byte:02x}" for byte in raw)  # as Python shows bytes
    if character in _CONTROL:
        yield _CONTROL[character]


def _names(character: str) -> Iterator[str]:
    yield f"#0*{ord(character)}"
    yield f"#x0*{ord(character):x}"
    if character in _NAMED:
        yield _NAMED[character]


def _in_base64(raw: bytes, before: int) -> str:
    """The bytes in base64 when so many other bytes stand before them in their first group of three.

    The first and the last letter also hold bits of what stands around them: any letter that fits will do, and the first
    may have gone with what was masked before it.
    """
    bits = "?" * (2 * before) + "".join(f"{byte:08b}" for byte in raw)
    bits += "?" * (-len(bits) % 6)
    first, *others = (_letters(bits[start : start + 6]) for start in range(0, len(bits), 6))
    return first + ("?" if before else "") + "".join(others) + _PADDING


@cache
def _letters(bits: str) -> str:
    """The letters of base64, also as URLs have them, whose bits are these; `?` is either."""
    fits = re.compile(bits.replace("?", "[01]"))
    found = "".join(letter for value, letter in enumerate(_BASE64) if fits.fullmatch(f"{value:06b}"))
    plain = f"[{re.escape(found.replace('+', '+-').replace('/', '/_'))}]"
    escaped = "|".join(_character(letter) for letter in found if letter in "+/")
    return f"(?:{plain}|{escaped})" if escaped else plain
