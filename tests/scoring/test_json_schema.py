"""A reply is JSON of the asked form, or the places that do not fit are told."""

import json
from pathlib import Path
from typing import Any

import pytest

from cortex_eval.core import Case, InputError, Reply
from cortex_eval.scoring import scorers

SCHEMA = {
    "type": "object",
    "properties": {"steps": {"type": "array", "items": {"$ref": "#/$defs/step"}}},
    "required": ["steps"],
    "$defs": {"step": {"type": "string", "minLength": 1}},
}


@pytest.mark.parametrize(
    ("text", "value", "said"),
    [
        ('{"steps": ["Open settings"]}', 1.0, "fits the schema"),
        ('{"steps": ["Open settings", 3]}', 0.0, "$['steps'][1]: 3 is not of type"),
        ("{}", 0.0, '"steps" is a required property'),
        ("Open settings.", 0.0, "not JSON"),
        ("", 0.0, "not JSON"),
        ('{"steps": [NaN]}', 0.0, "not JSON"),
    ],
)
async def test_a_reply_fits_or_its_first_misfit_is_named(text: str, value: float, said: str) -> None:
    score = await scorers.build("json_schema", {"schema": SCHEMA}).score(Case.of("How?", id="1"), Reply(text=text))

    assert score.value == value
    assert said in score.reason


@pytest.mark.parametrize("reference", ["http://127.0.0.1:1/x", "file:///etc/passwd", "other.json#/a"])
def test_a_reference_that_leads_outside_is_refused_and_not_fetched(reference: str) -> None:
    with pytest.raises(InputError, match="leads outside"):
        scorers.build("json_schema", {"schema": {"properties": {"a": {"items": {"$ref": reference}}}}})


def test_what_is_no_schema_is_told() -> None:
    with pytest.raises(InputError, match="not a JSON Schema"):
        scorers.build("json_schema", {"schema": {"type": "objct"}})


DRAFT_7 = {"$schema": "http://json-schema.org/draft-07/schema#"}
SUITE = Path(__file__).parents[3] / "shared" / "data" / "json_schema_suite" / "draft7"


def suite_groups() -> list[tuple[str, Any]]:
    return [
        (file.stem, group) for file in sorted(SUITE.glob("*.json")) for group in json.loads(file.read_text("utf-8"))
    ]


@pytest.mark.skipif(not SUITE.is_dir(), reason="../shared/data/json_schema_suite is not there")
async def test_the_public_suite_is_judged_as_it_says_and_what_would_be_fetched_is_refused() -> None:
    judged = refused = 0
    wrong = []
    for name, group in suite_groups():
        schema = DRAFT_7 | group["schema"] if isinstance(group["schema"], dict) else group["schema"]
        try:
            scorer = scorers.build("json_schema", {"schema": schema})
        except InputError as error:
            refused += len(group["tests"])
            wrong += [] if "leads outside" in str(error) and name == "refRemote" else [f"{name}: {error}"]
            continue
        for test in group["tests"]:
            judged += 1
            score = await scorer.score(Case.of("Well?", id="1"), Reply(text=json.dumps(test["data"])))
            if score.value != float(test["valid"]):
                wrong.append(f"{name}: {group['description']}: {test['description']}")

    assert wrong == []
    assert (judged, refused) == (904, 23)
