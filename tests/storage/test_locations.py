"""Where a store is, as people write it and as it is shown: never with a password."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_runs import begin

from cortex_eval.core import Failure, InputError, redact
from cortex_eval.storage import Slot, Store, is_url, parse_location, shown_location


@pytest.mark.parametrize(
    ("written", "place"),
    [
        ("a/b.db", Path("/project/a/b.db")),
        ("sqlite:///a/b.db", Path("/project/a/b.db")),
        ("sqlite:////abs/b.db", Path("/abs/b.db")),
        ("postgresql://me@host/name", "postgresql://me@host/name"),
        ("postgres://host", "postgres://host"),
    ],
)
def test_a_location_is_a_file_or_a_url(written, place):
    assert parse_location(written, Path("/project")) == place
    assert is_url(place) == isinstance(place, str)


@pytest.mark.parametrize("written", ["mysql://me:hunter22@host/x", "postgresql://me:hunter22@host:port/x"])
def test_what_is_neither_is_refused_without_its_password(written):
    with pytest.raises(InputError) as caught:
        parse_location(written)
    assert "hunter22" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:s3s%40me-42@host:5432/name?sslmode=require", "postgresql://me:***@host:5432/name"),
        ("postgresql://me@host/name", "postgresql://me@host/name"),
        ("postgresql://host/name?password=s3s%40me-42", "postgresql://host/name"),
    ],
)
def test_P25_a_url_is_shown_without_password_and_query(url, shown):
    assert shown_location(url) == shown
    assert str(Store(url)) == shown


def test_P25_a_password_in_a_url_is_masked_wherever_a_text_leaves():
    Store("postgresql://me:p%40ss-word-77@host/name")

    assert redact("it said p@ss-word-77 and p%40ss-word-77") == "it said *** and ***"


async def test_a_text_with_a_nul_is_the_same_on_both_databases(store):
    run = begin(store)
    place = Slot(store.runs.numbers(run)[0], 0, 0, 0, 0)
    await store.results.save_error(place, Failure("status", "bad \0 byte"), attempts=1)
    store.baselines.keep("a\0b", "s", None, {"n": 1})

    (result,) = store.results.read(run)
    assert result.error.message == "bad \N{REPLACEMENT CHARACTER} byte"
    assert [name for name, *_ in store.baselines.all()] == ["a\N{REPLACEMENT CHARACTER}b"]
    with pytest.raises(InputError, match="There is no run"):
        store.runs.find("\0")
