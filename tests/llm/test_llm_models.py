"""From the name of a model to the model: whose it is, where it is asked, and with which key."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortex_eval.core import InputError, Secret, check_settings, redact
from cortex_eval.llm import ModelSettings, make_model
from cortex_eval.llm.anthropic import AnthropicModel
from cortex_eval.llm.gemini import GeminiModel
from cortex_eval.llm.openai import OpenAIModel

HTTP = OpenAIModel | AnthropicModel | GeminiModel
VARIABLES = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY")


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def made(model: str, **settings: object) -> HTTP:
    found = make_model(ModelSettings(model=model, **settings))  # type: ignore[arg-type]  # as a test words it
    assert isinstance(found, HTTP)
    return found


def key_of(model: HTTP) -> str | None:
    return model.service.key.reveal() if model.service.key else None


@pytest.mark.parametrize(
    ("model", "variable", "kind", "host"),
    [
        ("openai:gpt-4.1-mini", "OPENAI_API_KEY", OpenAIModel, "api.openai.com"),
        ("anthropic:claude-haiku-4-5", "ANTHROPIC_API_KEY", AnthropicModel, "api.anthropic.com"),
        ("gemini:gemini-2.5-flash", "GEMINI_API_KEY", GeminiModel, "generativelanguage.googleapis.com"),
        ("gemini:gemini-2.5-flash", "GOOGLE_API_KEY", GeminiModel, "generativelanguage.googleapis.com"),
    ],
)
def test_a_provider_is_asked_at_its_own_address_with_the_key_of_its_usual_variable(
    monkeypatch: pytest.MonkeyPatch, model: str, variable: str, kind: type, host: str
) -> None:
    with pytest.raises(InputError, match=rf"api_key: .* needs a key\. Set .*{variable}"):
        make_model(ModelSettings(model=model))
    monkeypatch.setenv(variable, "key-from-the-environment\n")

    found = made(model)

    assert isinstance(found, kind)
    assert (found.host, found.name) == (host, model.partition(":")[2])
    assert key_of(found) == "key-from-the-environment"
    assert redact("it is key-from-the-environment") == "it is ***"


def test_the_key_of_the_environment_goes_to_no_other_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-for-openai-alone")

    for url in (
        "http://127.0.0.1:8080/v1",
        "https://gateway.example.org/v1",
        "https://api.openai.com.example.org/v1",
        "http://api.openai.com/v1",  # not encrypted: not the provider's own address
        "https://api.openai.com:8443/v1",
    ):
        assert key_of(made("openai:gpt-4.1-mini", base_url=url)) is None, url
    assert key_of(made("openai:gpt-4.1-mini", base_url="https://API.openai.com/v1/")) == "key-for-openai-alone"


def test_a_key_of_the_settings_is_taken_before_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-for-openai-alone")

    assert key_of(made("openai:gpt-4.1-mini", api_key=Secret("key-of-the-settings"))) == "key-of-the-settings"


def test_a_key_with_whitespace_inside_is_refused_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "two words")

    with pytest.raises(InputError, match="OPENAI_API_KEY contains whitespace") as raised:
        make_model(ModelSettings(model="openai:gpt-4.1-mini"))
    assert "two words" not in str(raised.value)


@pytest.mark.parametrize(
    ("model", "base_url", "asked_at"),
    [
        ("openai:m", "http://127.0.0.1:8080", "http://127.0.0.1:8080/v1"),
        ("openai:m", "http://127.0.0.1:8080/", "http://127.0.0.1:8080/v1"),
        ("openai:m", "http://127.0.0.1:8080/api/v2/", "http://127.0.0.1:8080/api/v2"),
        ("openai:m", "http://127.0.0.1:8080/v1/chat/completions", "http://127.0.0.1:8080/v1"),
        ("anthropic:m", "http://127.0.0.1:8080", "http://127.0.0.1:8080/v1"),
        ("anthropic:m", "http://127.0.0.1:8080/v1/messages", "http://127.0.0.1:8080/v1"),
        ("gemini:m", "http://127.0.0.1:8080", "http://127.0.0.1:8080/v1beta"),
        ("qwen2.5:0.5b", "http://127.0.0.1:11434", "http://127.0.0.1:11434/v1"),
        ("meta/llama-3", "http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"),
    ],
)
def test_the_address_of_another_server_may_be_written_as_people_copy_it(
    model: str, base_url: str, asked_at: str
) -> None:
    found = made(model, base_url=base_url)

    assert found.service.base_url == asked_at
    assert found.service.model == (model.partition(":")[2] if model.endswith(":m") else model)


@pytest.mark.parametrize(
    ("model", "base_url", "said"),
    [
        ("gpt-4.1-mini", None, "does not say whose model it is. Write openai:NAME"),
        ("opanai:gpt-4.1-mini", None, "Did you mean 'openai'"),
        ("ollama:llama3.1", None, 'write {model: "llama3.1", base_url: "http://127.0.0.1:11434/v1"}.'),
        ("LM-Studio:qwen3:8b", None, 'write {model: "qwen3:8b", base_url: "http://127.0.0.1:1234/v1"}.'),
        ("vllm:m", None, ":8000/v1"),
        ("llama.cpp:m", None, ":8080/v1"),
        ("openai:", None, "names no model"),
        (" ", None, "model: is empty"),
        ("m", "127.0.0.1:8080", "base_url must begin with http"),
        ("m", "http://me:pass@127.0.0.1:8080", "must not hold a user name or password"),
        ("m", "http://127.0.0.1/v1?key=abc", "a query is not sent on"),
        ("local:m.gguf", "http://127.0.0.1/", "a local model runs in this process"),
        ("local:nowhere.gguf", None, "there is no file"),
    ],
)
def test_what_names_no_model_says_what_to_write(model: str, base_url: str | None, said: str) -> None:
    with pytest.raises(InputError) as raised:
        make_model(ModelSettings(model=model, base_url=base_url))
    assert said in str(raised.value)
    assert "pass" not in str(raised.value).replace("password", "")


def test_a_local_model_begins_at_the_directory_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf").write_bytes(b"GGUF")

    found = make_model(ModelSettings(model="local:tiny.gguf", directory=str(tmp_path)))

    assert (found.name, found.host) == ("tiny", "")


def test_the_settings_can_be_read_from_a_project_file() -> None:
    read = check_settings(
        ModelSettings,
        {"model": "openai:m", "api_key": Secret("some-secret-key"), "prices": {"input": 1, "output": 2.5}},
        owner="judge",
    )
    assert read["prices"].output == 2.5
    with pytest.raises(InputError, match=r"judge\.prices\.output is missing"):
        check_settings(ModelSettings, {"model": "openai:m", "prices": {"input": 1}}, owner="judge")
    with pytest.raises(InputError, match="from 0 to"):
        check_settings(ModelSettings, {"model": "m", "prices": {"input": -1, "output": 1}}, owner="judge")
