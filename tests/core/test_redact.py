"""A secret is taken out of every text that leaves, however it is written there, and nothing else is."""

from __future__ import annotations

import base64
import html
import json
import re
import sys
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

import orjson
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from cortex_eval.core import (
    Reply,
    Secret,
    hide_header,
    hide_password,
    is_likely_secret,
    redact,
    redact_bytes,
    reply_from_json,
    short_repr,
    shorten,
    to_json,
)

redact_module = sys.modules["cortex_eval.core.redact"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.fixture(autouse=True)
def no_other_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    forget(monkeypatch)


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redact_module, "_known", redact_module._KnownSecrets())


def test_a_secret_does_not_print_itself():
    secret = Secret("correct horse")

    assert (str(secret), repr(secret), f"{secret}", to_json([secret])) == ("***", "***", "***", b'["***"]')
    assert secret.reveal() == "correct horse"
    assert secret == Secret("correct horse")
    assert secret != "correct horse"
    assert "correct horse" not in repr({"key": secret})


def escaped(text: str, form: str) -> str:
    """Every character as JSON's \\uXXXX or the like."""
    units = text.encode("utf-16-be")
    return "".join(form.format(units[at] * 256 + units[at + 1]) for at in range(0, len(units), 2))


ENCODINGS = {
    "plain": str,
    "url": lambda text: quote(text, safe=""),
    "url, slashes kept": quote,
    "url, lower case": lambda text: re.sub("%..", lambda found: found[0].lower(), quote(text, safe="")),
    "url, every character": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    "url, twice": lambda text: quote(quote(text, safe=""), safe=""),
    "form": quote_plus,
    "json": lambda text: json.dumps({"said": text}),
    "json, unescaped": lambda text: json.dumps({"said": text}, ensure_ascii=False),
    "json, slashes escaped": lambda text: json.dumps(text).replace("/", "\\/"),
    "json, every character": lambda text: escaped(text, "\\u{:04x}"),
    "JSON, every character": lambda text: escaped(text, "\\u{:04X}"),
    "json in json": lambda text: json.dumps(json.dumps(text)),
    "json in json in json": lambda text: json.dumps({"log": json.dumps(json.dumps([text]))}),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64, without padding": lambda text: base64.b64encode(text.encode()).decode().rstrip("="),
    "base64, for URLs": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    "base64, then for a URL": lambda text: quote(base64.b64encode(text.encode()).decode(), safe=""),
    "base64 in json with \\/": lambda text: base64.b64encode(text.encode()).decode().replace("/", "\\/"),
    "base64, 1 byte before": lambda text: base64.b64encode(f":{text}".encode()).decode(),
    "base64, 2 bytes before": lambda text: base64.b64encode(f"u:{text}".encode()).decode(),
    "base64, in the middle": lambda text: base64.b64encode(f"user:{text}@host".encode()).decode(),
    "base64, in the middle, for URLs": lambda text: base64.urlsafe_b64encode(f'{{"k":"{text}"}}'.encode()).decode(),
    "hex": lambda text: text.encode().hex(),
    "HEX": lambda text: text.encode().hex().upper(),
    "html": html.escape,
    "html, numbers": lambda text: "".join(f"&#{ord(each)};" for each in text),
    "html, hex numbers": lambda text: "".join(f"&#x{ord(each):X};" for each in text),
    "html, twice": lambda text: html.escape(html.escape(text)),
    "repr": repr,
    "repr of bytes": lambda text: repr(text.encode()),
    "ascii": ascii,
}
VALUES = {
    "short": "k3y-Zq7!",
    "marks": "sk-live/9+8 7=",
    "quotes": 'tür"\\schlüssel',
    "word": "plainword77",
    "usual": "sk_0123456789abcdef",
    "html": "a<b>&c'd\"e-77",
    "percent": "100%25+%2F==",
    "emoji": "ключ🔑9",
    "like base64": "QUJDREVGR0hJSktMTU5PUA==",
    "lines": "-----BEGIN KEY-----\nMIIB\t+/\n-----END-----",
    "four": "zK9~",
}


@pytest.mark.parametrize("encode", ENCODINGS.values(), ids=ENCODINGS)
@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_p25_a_secret_is_found_in_every_encoding(encode, value):
    Secret(value)
    text = encode(value)

    for kept in (redact(f"before {text} after"), orjson.loads(redact_bytes(to_json({"said": [text]})))["said"][0]):
        assert "***" in kept
        assert value not in kept
        rest = re.sub(r"before |after|\s|said|log|html|[{}\[\]\\\"':,]", "", kept)
        assert len(rest) <= len("***") + 20, f"more than what stood around it is left: {kept!r}"


@given(value=st.text(min_size=4, max_size=30), before=st.binary(max_size=9), after=st.binary(max_size=9))
@example(value="0000", before=b"", after=b"")
def test_p25_nothing_of_a_secret_is_left_in_base64(value, before, after):
    assume(value.encode("utf-8", "replace").decode() == value)
    with pytest.MonkeyPatch.context() as patch:
        forget(patch)
        Secret(value)
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            text = encode(before + value.encode() + after).decode()

            kept = redact(text)

            assert "***" in kept
            left = sum(len(part.rstrip("=")) for part in kept.split("***"))
            assert left <= len(encode(before).rstrip(b"=")) + len(encode(after).rstrip(b"="))


def test_words_that_only_look_like_part_of_a_secret_stay():
    Secret("sk-live-1234")

    assert redact("sk-live is a prefix, 1234 a number") == "sk-live is a prefix, 1234 a number"
    assert redact("SK-LIVE-1234") == "SK-LIVE-1234"
    assert redact("50 % of patients & <b>others</b> \\ more") == "50 % of patients & <b>others</b> \\ more"


def test_a_value_too_short_to_be_a_secret_blanks_nothing_out():
    Secret("abc")

    assert redact("abc") == "abc"


def test_of_two_secrets_the_longer_one_is_taken_whole():
    Secret("key-1")
    Secret("key-12345")

    assert redact("it is key-12345.") == "it is ***."


def test_a_key_file_is_found_whole():
    key = "".join(f"{number:04x}/+\n" for number in range(900))
    Secret(key)

    for text in (key, json.dumps(key), quote(key), key.encode().hex(), base64.b64encode(b"x" + key.encode()).decode()):
        kept = redact(f"before {text} after")
        assert len(kept) < 250
        assert not re.search(r"[0-9A-Fa-f/+=]{12}", kept)


def test_a_hundred_secrets_are_all_found():
    values = [f"sk-{number:03}-{number * 7919:x}-xyz" for number in range(100)]
    for value in values:
        Secret(value)

    assert set(redact(" ".join(values)).split()) == {"***"}
    assert set(redact(" ".join(value.encode().hex() for value in values)).split()) == {"***"}


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


@pytest.mark.parametrize("encode", [str, quote_plus, lambda text: text.encode().hex()])
def test_a_short_secret_that_is_no_word_is_masked_as_a_key(encode):
    Secret("k3y-Zq7!")

    assert orjson.loads(redact_bytes(to_json({f"X {encode('k3y-Zq7!')}": 1}))) == {"X ***": 1}


@given(value=JSON, secret=st.text(min_size=4, max_size=12))
@example(value="\nsecret12", secret="nsecret12")
@example(value={"a": 'b","c'}, secret='","c')
@example(value="\\", secret="\\\\\\\\")
def test_what_was_json_is_still_json_and_the_secret_is_in_none_of_its_texts(value, secret):
    assume(secret.encode("utf-8", "replace").decode() == secret)
    with pytest.MonkeyPatch.context() as patch:
        forget(patch)
        Secret(secret)

        kept = orjson.loads(redact_bytes(to_json(value)))

    assume("***" not in secret and secret not in "***")
    assert all(secret not in text for text in _texts(kept))


@given(text=st.text(), secret=st.text(min_size=4, max_size=12))
def test_a_secret_in_a_text_is_seen_through_the_escapes_of_json(text, secret):
    assume((secret + text).encode("utf-8", "replace").decode() == secret + text)
    with pytest.MonkeyPatch.context() as patch:
        forget(patch)
        Secret(secret)

        assert b"***" in redact_bytes(to_json({"said": text + secret}))


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
    assert short_repr(["x" * 70 + "0123456789" * 3]) == "['" + "x" * 70 + "***']"


def test_a_quotation_holds_nothing_that_no_file_can_hold():
    assert shorten("half a character: \ud83d") == "half a character: ?"


@pytest.mark.parametrize(
    ("header", "hidden"),
    [
        ("Bearer one-token-77", ["one-token-77"]),
        ("ApiKey first-part1 second-part2", ["first-part1 second-part2", "first-part1", "second-part2"]),
        ("Basic " + base64.b64encode(b"nurse:open sesame").decode(), ["open sesame", "bnVyc2U6b3BlbiBzZXNhbWU="]),
        ("session=s3ss10n-0042; theme=dark", ["s3ss10n-0042"]),
        ("kx7-plain", ["kx7-plain"]),
    ],
)
def test_whatever_a_header_holds_in_the_way_of_keys_is_hidden(header, hidden):
    hide_header(header)

    assert [redact(f"<{each}>") for each in [header, *hidden]] == ["<***>"] * (1 + len(hidden))
    assert redact("Bearer ApiKey Basic nurse dark session theme") == "Bearer ApiKey Basic nurse dark session theme"


@pytest.mark.parametrize("password", ["p4ss-word", "p%40ss%2Fw0rd"])
def test_the_password_of_an_address_is_hidden_wherever_it_turns_up(password):
    assert hide_password(f"postgresql://me:{password}@db.example.org/x") == "postgresql://***@db.example.org/x"

    assert redact(f"user me, password {password}") == "user me, password ***"
    assert redact("p@ss/w0rd" if "%" in password else password) == "***"
    assert hide_password("http://example.org/a?b=c@d") == "http://example.org/a?b=c@d"


@pytest.mark.parametrize(
    ("name", "is_likely"),
    [
        *((name, True) for name in ("OPENAI_API_KEY", "CLINIC_KEY", "DB_PASS", "GITHUB_TOKEN", "X-Auth", "APIKEY")),
        *((name, False) for name in ("PATH", "HOME", "MONKEY", "X-Tenant", "KEYBOARD", "TOKENIZERS_PARALLELISM")),
    ],
)
def test_names_of_variables_and_headers_that_hold_keys_are_known(name, is_likely):
    assert is_likely_secret(name) is is_likely
