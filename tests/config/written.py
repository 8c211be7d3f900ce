"""Project files as text: written down, loaded, and what is said about them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from cortex_eval.config import Plan, Request, load_project, make_plans
from cortex_eval.core import InputError
from cortex_eval.scoring import scorers
from cortex_eval.targets import targets

SEED_BLOCK = """\
# config/config.yaml
services:
  chatbot:
    api_url: "https://cortex-api.example.com/chat"
    api_key: "${CORTEX_API_KEY}"  # Use environment variable
    timeout_seconds: 10

  rag:
    api_url: "https://cortex-api.example.com/rag"
    api_key: "${CORTEX_API_KEY}"
    timeout_seconds: 15

execution:
  max_concurrent_tests: 5
  retry_count: 2
  retry_delay_seconds: 1

metrics:
  accuracy:
    bleu_weight: 0.4
    rouge_weight: 0.6

  relevance:
    use_embedding_similarity: true
    embedding_model: "sentence-transformers/all-MiniLM-L6-v2"

  safety:
    healthcare_compliance_rules: "./config/healthcare_rules.json"

  performance:
    response_time_threshold_ms: 1000

  metric_weights:
    accuracy: 0.4
    relevance: 0.3
    safety: 0.2
    performance: 0.1

  passing_threshold: 0.7

database:
  type: "sqlite"
  path: "./reports/results.db"

dashboard:
  template_path: "./src/reporting/templates/dashboard.html"
  output_path: "./reports/dashboard.html"
  include_charts: true
"""
"""The configuration that the healthcare framework documents, to the letter."""

DESIGN_BLOCK = """\
services:                      # "targets" is the same key
  chatbot: {api_url: "https://clinic.example/chat", api_key: "${CORTEX_API_KEY}", timeout_seconds: 10, test_user_id: eval-tester, version: "2.3"}
  rag:     {api_url: "https://clinic.example/rag",  api_key: "${CORTEX_API_KEY}"}
  bio:     {kind: python, call: "my_agent:parse"}
  vanilla: {kind: chat, model: "openai:gpt-4.1-mini"}
execution: {max_concurrent_tests: 10, retry_count: 2, retry_delay_seconds: 1, pause_limit_seconds: 600, engine: local, budget_usd: 5}
models:    {judge: {base_url: "http://127.0.0.1:8080/v1", model: local, api_key: "${OPENAI_API_KEY}"}}
metrics:                       # scorer settings, weights, threshold, as in the seed
  accuracy: {bleu_weight: 0.4, rouge_weight: 0.6}          # 0.5 / 0.5 when not given
  safety: {healthcare_compliance_rules: ./config/healthcare_rules.json, critical: true}
  metric_weights: {accuracy: 0.4, relevance: 0.3, safety: 0.2, performance: 0.1}
  passing_threshold: 0.7
gate:
  mode: statistical            # or strict: the seed's plain thresholds
  level: 0.05
  thresholds: {intent_accuracy: 0.70, entity_f1: 0.50, tool_accuracy: 0.80, max_latency_ms: 5000, pass_rate: 0.8}
  regression: {intent_accuracy: {drop: 0.02, high: 0.05}, entity_f1: {drop: 0.05, high: 0.10}, tool_accuracy: {drop: 0.02, high: 0.05}, latency_ms: {rise: 100, high: 200}}
  max_error_rate: 0.0
  inconclusive: warn           # or fail
suites:                        # named runs: cortex run bioagent
  bioagent: {dataset: datasets/bioagent.yaml, service: bio, scorers: [intent, entities, tool, coherence], quick: {per_category: 2}}
  ayurveda: {dataset: datasets/ayurveda.csv, services: [ayurmind, vanilla, single_rag], scorers: [...]}   # a matrix of targets
database:  {type: sqlite, path: ./reports/results.db}       # default .cortex/cortex.db; or a URL: postgresql://…
"""  # noqa: E501  # as it is documented
"""Every block that a project file can have."""


CITATIONS = '''"""Does the reply name the sources it should?"""

from dataclasses import dataclass

from cortex_eval import Case, Reply, Score, scorers


@scorers.register("named_sources")
@dataclass(frozen=True, slots=True)
class NamedSources:
    """Share of the required sources that appear in the reply."""

    required: tuple[str, ...]

    async def score(self, case: Case, reply: Reply) -> Score:
        if not self.required:
            return Score(name="named_sources", value=None, reason="no sources were required")
        missing = [s for s in self.required if s.casefold() not in reply.text.casefold()]
        return Score(
            name="named_sources",
            value=1 - len(missing) / len(self.required),
            reason=f"missing: {', '.join(missing)}" if missing else "every source is named",
        )
'''
HELPDESK = '''"""A target in one file."""

from collections.abc import Sequence
from dataclasses import dataclass

from cortex_eval import Reply, Target, TargetError, Turn
from cortex_eval.targets import targets


@targets.register("helpdesk")
@dataclass
class Helpdesk(Target):
    """A bot that takes `messages` and gives back `answer`."""

    url: str

    async def ask(self, turns: Sequence[Turn]) -> Reply:
        messages = [{"role": turn.role, "content": turn.text} for turn in turns]
        body = await self.post(self.url, {"messages": messages})  # Target.post: JSON in and out, or TargetError
        try:
            return Reply(text=body["answer"])
        except KeyError as error:
            raise TargetError(f"{self.url} gave no 'answer'; it gave {sorted(body)}.") from error
'''
FUNCTIONS = '''"""Scorers as functions, with a helper beside them."""

from cortex_eval import Case, Reply, scorer
from words import POLITE


@scorer
def is_polite(case: Case, reply: Reply) -> bool:
    return any(word in reply.text for word in POLITE)


@scorer(name="is_short", threshold=0.25)
def short(case: Case, reply: Reply) -> float:
    return min(1.0, 20 / max(1, len(reply.text)))
'''
"""The style guide's scorer and target in one file, and scorers as functions."""


def plans_of(root: Path, text: str, **request: Any) -> list[Plan]:
    """The plans that a project file of this text makes."""
    path = root / "cortex.yaml"
    path.write_text(text, encoding="utf-8")
    return make_plans(load_project(path, keep_problems=True), Request(**request))


def problems_of(root: Path, text: str, **request: Any) -> list[str]:
    """What is said about a project file of this text, without its folder."""
    with pytest.raises(InputError) as error:
        plans_of(root, text, **request)
    return [str(each).replace(f"{root}/", "") for each in error.value.problems]


def forget_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """What plugins register from now on is forgotten after the test."""
    for registry in (scorers, targets):
        for name in registry:
            registry.find(name)  # built-ins register when they are first imported, which happens once
        monkeypatch.setattr(registry, "_classes", dict(registry._classes))
    monkeypatch.setattr(sys, "path", [*sys.path])
