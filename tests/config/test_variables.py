"""`${VARIABLES}` in a project file: from the environment, from `.env`, with a default, and what happens without."""

from __future__ import annotations

import pytest
from written import plans_of, problems_of

from cortex_eval.config import load_project
from cortex_eval.core import InputError

PROJECT = """
services:
  bot:
    {kind: http, api_url: "http://${HOST}:${PORT:-8080}/chat", api_key: "${BOT_KEY:-none-set}", timeout_seconds: "%s"}
  other: {kind: http, api_url: "${OTHER_URL}", api_key: "${OTHER_KEY}", timeout_seconds: "${OTHER_TIMEOUT}"}
suites:
  s: {dataset: d.jsonl, service: bot, scorers: [exact]}
  t: {dataset: "${OTHER_DATA}", service: other, repeat: "${OTHER_REPEAT}", scorers: [exact]}
"""


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    monkeypatch.setenv("HOST", "clinic.example")


def test_variables_and_defaults_are_filled_in(tmp_path):
    (plan,) = plans_of(tmp_path, PROJECT % "${LIMIT:-2.5}", suite="s")

    assert plan.target.api_url == "http://clinic.example:8080/chat"
    assert plan.target.api_key.reveal() == "none-set"
    assert plan.patience.timeout_s == 2.5


def test_a_variable_that_must_be_quoted_and_is_not_is_told_so(tmp_path):
    (found,) = problems_of(tmp_path, "services:\n  bot: {kind: http, timeout_seconds: ${LIMIT}}\n")

    assert found.startswith("cortex.yaml:2: column ")
    assert found.endswith("Inside of { } and [ ], put ${VARIABLE} in quotes.")


def test_a_number_that_is_written_as_text_is_not_taken_for_one(tmp_path):
    (found,) = problems_of(tmp_path, PROJECT % "5", suite="s")

    assert "services.bot.timeout_seconds: must be a number from 0.001 to 3600, not '5'." in found


def test_a_file_of_variables_is_read_and_the_environment_wins(tmp_path, monkeypatch):
    (tmp_path / ".env").write_text(
        "# keys\nexport BOT_KEY='from file'\nHOST=elsewhere\nPORT=\"9090\"  \nLIMIT=7 # seconds\nNOT A LINE\n"
    )
    monkeypatch.setenv("BOT_KEY", "from-environment")

    (plan,) = plans_of(tmp_path, PROJECT % "${LIMIT}", suite="s")

    assert plan.target.api_url == "http://clinic.example:9090/chat"
    assert plan.target.api_key.reveal() == "from-environment"
    assert plan.patience.timeout_s == 7


def test_a_file_of_variables_that_is_no_text_is_named(tmp_path):
    (tmp_path / ".env").write_bytes(b"KEY=\xff\xfe\n")

    with pytest.raises(InputError, match=r"\.env is not UTF-8"):
        plans_of(tmp_path, PROJECT % "${LIMIT:-1}", suite="s")


def test_an_unset_variable_matters_only_to_what_is_used(tmp_path):
    assert len(plans_of(tmp_path, PROJECT % "${LIMIT:-1}", suite="s")) == 1
    load_project(tmp_path / "cortex.yaml")

    found = problems_of(tmp_path, PROJECT % "${SOON}", suite="t")

    assert {each.split(" is not set")[0] for each in found} == {
        f"cortex.yaml:{line}: the environment variable {name}"
        for line, name in [
            (5, "OTHER_URL"),
            (5, "OTHER_KEY"),
            (5, "OTHER_TIMEOUT"),
            (8, "OTHER_DATA"),
            (8, "OTHER_REPEAT"),
        ]
    }


@pytest.mark.parametrize("block", ["database: {path: '${WHERE}'}", "plugins: ['${WHERE}']", "output_dir: ${WHERE}"])
def test_what_every_command_needs_must_be_set(tmp_path, block):
    assert any(
        "WHERE is not set" in each for each in problems_of(tmp_path, PROJECT % "${LIMIT:-1}" + block + "\n", suite="s")
    )


def test_a_value_is_not_expanded_twice_nor_outside_of_the_file(tmp_path, monkeypatch):
    monkeypatch.setenv("BOT_KEY", "${HOST}")

    (plan,) = plans_of(tmp_path, PROJECT % "${LIMIT:-1}", suite="s")

    assert plan.target.api_key.reveal() == "${HOST}"


@pytest.mark.parametrize("written", ["version: 2.10", "version: '2.10'", "version: ${V}"])
def test_a_version_is_text_however_it_looks(tmp_path, monkeypatch, written):
    monkeypatch.setenv("V", "2.10")
    text = f"services:\n  bot:\n    kind: http\n    api_url: http://x/\n    {written}\n"

    (plan,) = plans_of(tmp_path, text, dataset=tmp_path / "d.jsonl", service="bot")

    assert plan.target_version == "2.10"


def test_a_key_of_digits_stays_text(tmp_path, monkeypatch):
    monkeypatch.setenv("BOT_KEY", "0123456")
    text = "services:\n  bot:\n    kind: http\n    api_url: http://x/\n    api_key: ${BOT_KEY}\n"

    (plan,) = plans_of(tmp_path, text, dataset=tmp_path / "d.jsonl", service="bot")

    assert plan.target.api_key.reveal() == "0123456"


def test_a_key_that_is_written_out_is_warned_about_and_one_from_the_environment_is_not(tmp_path, monkeypatch):
    monkeypatch.setenv("BOT_KEY", "key-from-outside")
    text = "services:\n  a:\n    kind: http\n    api_key: written-out\n  b: {kind: http, api_key: '${BOT_KEY}'}\n"
    (tmp_path / "cortex.yaml").write_text(text)

    (note,) = load_project(tmp_path / "cortex.yaml").notes

    assert (
        note == f"{tmp_path}/cortex.yaml:4: services.a.api_key is written out. Use ${{VARIABLE}} and keep it in .env."
    )
