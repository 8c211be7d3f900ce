"""A secret is taken out of every text that leaves, however it is written there, and nothing else is."""

from __future__ import annotations

import base64
import json
import re
import sys
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

import orjson
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cortex_eval.core import Reply, Secret, redact, redact_bytes, reply_from_json, shorten, to_json
from cortex_eval.core import redact as redact_module

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.fixture(autouse=True)
def no_other_secrets(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    known = _known()
    forms, encoded = known.forms, known.encoded
    known.forms, known.encoded = (), ()
    yield
    known.forms, known.encoded = forms, encoded


def _known():
    return sys.modules[redact_module.__module__]._known


def test_a_secret_does_not_print_itself():
    secret = Secret("correct horse")

    assert (str(secret), repr(secret), f"{secret}", to_json([secret])) == ("***", "***", "***", b'["***"]')
    assert secret.reveal() == "correct horse"
    assert secret == Secret("correct horse")
    assert secret != "correct horse"
    assert "correct horse" not in repr({"key": secret})


ENCODINGS = {
    "plain": str,
    "url": lambda text: quote(text, safe=""),
    "url, lower case": lambda text: re.sub("%..", lambda found: found[0].lower(), quote(text, safe="")),
    "form": quote_plus,
    "json": lambda text: json.dumps({"said": text}),
    "json, unescaped": lambda text: json.dumps({"said": text}, ensure_ascii=False),
    "json in json": lambda text: json.dumps(json.dumps(text)),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64, for URLs": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    "basic authorization": lambda text: base64.b64encode(f"me:{text}".encode()).decode(),
    "basic authorization, other name": lambda text: base64.b64encode(f"user:{text}".encode()).decode(),
    "hex": lambda text: text.encode().hex(),
    "HEX": lambda text: text.encode().hex().upper(),
}


@pytest.mark.parametrize("encode", ENCODINGS.values(), ids=ENCODINGS)
@pytest.mark.parametrize("value", ["sk-live/9+8 7=", 'tür"\\schlüssel', "plainword77", "sk_0123456789abcdef"])
def test_p25_a_secret_is_found_in_every_encoding(encode, value):
    Secret(value)
    text = encode(value)

    assert "***" in redact(f"before {text} after")
    assert text not in redact(f"before {text} after")
    assert value not in redact(text)
    assert value.encode() not in redact_bytes(to_json({"said": text, "list": [text]}))
    assert encode(value)[4:] not in redact(text)


def test_words_that_only_look_like_part_of_a_secret_stay():
    Secret("sk-live-1234")

    assert redact("sk-live is a prefix, 1234 a number") == "sk-live is a prefix, 1234 a number"


def test_a_value_too_short_to_be_a_secret_blanks_nothing_out():
    Secret("abc")

    assert redact("abc") == "abc"


@pytest.mark.parametrize("value", ["text", "intent", "2024", "true", "null", "attempts", "12.5"])
def test_a_secret_that_is_a_word_of_ours_leaves_the_stored_reply_readable(value):
    Secret(value)
    reply = Reply(text=f"It said {value}.", intent="ask", confidence=12.5, attempts=2, raw={"year": 2024, "ok": True})

    kept = reply_from_json(redact_bytes(to_json(reply)))

    assert kept.text == "It said ***."
    assert (kept.confidence, kept.raw) == (12.5, {"year": 2024, "ok": True})


def test_a_long_secret_is_masked_as_a_key_and_as_a_number_too():
    Secret("987654321098")

    kept = orjson.loads(redact_bytes(to_json({"987654321098": 1, "account": 987654321098, "list": [[987654321098]]})))

    assert kept == {"***": 1, "account": "***", "list": [["***"]]}


@given(value=JSON, secret=st.text(min_size=4, max_size=12))
def test_what_was_json_is_still_json_and_the_secret_is_in_none_of_its_texts(value, secret):
    assume(secret.encode("utf-8", "replace").decode() == secret)
    known = _known()
    known.forms, known.encoded = (), ()
    Secret(secret)

    kept = orjson.loads(redact_bytes(to_json(value)))

    assume("***" not in secret and secret not in "***")
    assert all(secret not in text for text in _texts(kept))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)


def test_a_quotation_is_redacted_before_it_is_cut():
    Secret("0123456789" * 3)

    assert shorten("x" * 190 + "0123456789" * 3) == "x" * 190 + "***"
    assert len(shorten("y" * 500)) == 200


def test_a_quotation_holds_nothing_that_no_file_can_hold():
    assert shorten("half a character: \ud83d") == "half a character: ?"
