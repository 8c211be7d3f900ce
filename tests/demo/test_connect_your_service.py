"""The page on connecting a service of one's own is true: its examples are played against services of that shape."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from cortex_eval.config import Request, load_project, make_plans
from cortex_eval.core import Reply
from cortex_eval.engine import execute
from cortex_eval.storage import Store
from cortex_eval.testing import ScriptedService

PAGE = (Path(__file__).parents[2] / "docs" / "connect-your-service.md").read_text("utf-8")


class Example(NamedTuple):
    """One section of the page."""

    request: Any
    answer: Any
    project: str


def example(heading: str) -> Example:
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    found = dict(re.findall(r"^```([a-z ]+)\n(.*?)^```", section, re.MULTILINE | re.DOTALL))
    return Example(json.loads(found["json request"]), json.loads(found["json answer"]), found["yaml"])


SECTIONS: dict[str, tuple[dict[str, Any], Reply]] = {
    "A chatbot": (
        {"input": "When is the clinic open?", "language": "en"},
        Reply(text="Monday to Friday, 9 to 17.", intent="opening_hours", confidence=0.93),
    ),
    "A RAG service": (
        {"input": "How long do I cool a burn?", "context": {"ward": "4"}},
        Reply(
            text="Cool it under running water for 20 minutes [1].",
            contexts=("Cool a burn under running water for 20 minutes.",),
            citations=("fa-12",),
            metadata={"passages": [{"id": "fa-12", "source": "first-aid.pdf", "score": 0.83}]},
        ),
    ),
    "A translator": (
        {"input": "Are you pregnant?"},
        Reply(
            text="क्या आप गर्भवती हैं?",
            model="nmt-7",
            metadata={"source_language": "en", "target_language": "hi"},
        ),
    ),
    "An agent": (
        {"input": "find RNA-seq data for asthma"},
        Reply(
            text="Searching.",
            intent="DATA_SEARCH",
            entities={"data_type": "RNA-seq", "disease": "asthma"},
            tool="search_data",
            arguments={"disease": "asthma"},
            confidence=0.97,
            llm_invoked=False,
            parse_time_ms=12.5,
        ),
    ),
}
"""The case that is asked, and all that must be read of the answer on the page."""
READ = (
    "text",
    "intent",
    "entities",
    "tool",
    "arguments",
    "confidence",
    "llm_invoked",
    "contexts",
    "citations",
    "model",
)


@pytest.mark.parametrize("heading", SECTIONS)
async def test_the_service_of_the_page_is_asked_as_shown_and_read_as_shown(
    heading: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown, (case, expected) = example(heading), SECTIONS[heading]
    (tmp_path / "cortex.yaml").write_text(shown.project, "utf-8")
    (tmp_path / "cases.json").write_text(json.dumps([{"id": "c1", "expected": {"answer": "?"}, **case}]), "utf-8")

    with ScriptedService.in_thread(shown.answer) as service, Store(tmp_path / "s.db") as store:
        monkeypatch.setenv("CLINIC_URL", service.url.rstrip("/"))
        monkeypatch.setenv("CORTEX_API_KEY", "any-key-1")
        [plan] = make_plans(load_project(tmp_path / "cortex.yaml"), Request(is_offline=True))
        [result] = (await execute(plan, store)).results

    [call] = service.ledger
    assert without_session(call.json) == without_session(shown.request)
    assert call.path == yaml.safe_load(shown.project)["services"].popitem()[1]["api_url"].removeprefix("${CLINIC_URL}")
    assert result.reply is not None
    assert {name: getattr(result.reply, name) for name in READ} == {name: getattr(expected, name) for name in READ}
    assert dict(result.reply.metadata) == dict(expected.metadata)
    assert result.reply.parse_time_ms == expected.parse_time_ms
    assert result.error is None


def without_session(body: dict[str, Any]) -> dict[str, Any]:
    """A session is another in every run."""
    return {key: value for key, value in body.items() if key != "conversation"}


async def test_a_wrong_path_is_told_as_the_page_promises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = example("A chatbot")
    (tmp_path / "cortex.yaml").write_text(shown.project.replace("$.data.messages[0].body", "$.data.text"), "utf-8")
    (tmp_path / "cases.json").write_text('[{"id": "c1", "input": "Hello?", "language": "en"}]', "utf-8")

    with ScriptedService.in_thread(shown.answer) as service, Store(tmp_path / "s.db") as store:
        monkeypatch.setenv("CLINIC_URL", service.url.rstrip("/"))
        monkeypatch.setenv("CORTEX_API_KEY", "any-key-1")
        [plan] = make_plans(load_project(tmp_path / "cortex.yaml"), Request(is_offline=True))
        [result] = (await execute(plan, store)).results

    assert result.error is not None
    assert result.error.kind == "missing_field"
    assert "$.data.text" in result.error.message
    assert "data" in result.error.message
