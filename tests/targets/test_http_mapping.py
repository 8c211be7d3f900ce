"""Describing a service in the project file: mistakes are told at once, and paths lead where they say."""

from __future__ import annotations

import pytest

from cortex_eval.core import InputError
from cortex_eval.targets import targets
from cortex_eval.targets.mapping import Path

MISTAKES: list[tuple[dict[str, object], str]] = [
    ({"body": {"q": "{question}"}}, "no placeholder {question}"),
    ({"body": ["{inputs}"]}, "Did you mean 'input'"),
    ({"reply": {"intent": "$.intent"}}, "say where the text is"),
    ({"reply": {"text": "answer"}}, "is not a path"),
    ({"reply": {"text": "$.a[x]"}}, "is not a path"),
    ({"reply": {"text": "$.a", "txt": "$.b"}}, "Did you mean 'text'"),
    ({"headers": {"X": "two\nlines"}}, "headers.X"),
    ({"headers": {"Bad Name": "x"}}, "headers.Bad Name"),
    ({"method": "DELETE"}, "method"),
]


@pytest.mark.parametrize(("given_settings", "told"), MISTAKES)
def test_mistakes_in_a_mapping_are_told_before_anything_runs(given_settings, told):
    with pytest.raises(InputError) as caught:
        targets.build("http", {"api_url": "http://host/", **given_settings})

    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$", {"a": [{"b": "x"}, {"c": "y"}], "s": "text", "d e": {"*": 1}}),
        ("$.s", "text"),
        ("$.a[0].b", "x"),
        ("$.a[*].b", ["x"]),
        ("$['d e']['*']", 1),
    ],
)
def test_paths_lead_to_what_they_name(path, found):
    body = {"a": [{"b": "x"}, {"c": "y"}], "s": "text", "d e": {"*": 1}}
    assert Path(path, field="f").find(body) == found


@pytest.mark.parametrize("path", ["$.x", "$.s[0]", "$.s.t", "$.a[2]", "$.a.b", "$.s[*]", "$[0]"])
def test_paths_that_lead_nowhere_say_so(path):
    with pytest.raises(KeyError):
        Path(path, field="f").find({"a": [{"b": "x"}, {"c": "y"}], "s": "text"})
