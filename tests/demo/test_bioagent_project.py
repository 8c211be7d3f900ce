"""The sample project `bioagent`: what its dataset covers, what the agent gets wrong, and what the gate makes of it."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from http.client import HTTPConnection
from importlib.resources import files
from itertools import combinations
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
import yaml

from cortex_eval.analysis import Report, baseline_of
from cortex_eval.config import Request, load_project, make_plans
from cortex_eval.core import Case, Expected, InputError
from cortex_eval.datasets import read_cases
from cortex_eval.demo import copy_project, read_weaknesses
from cortex_eval.demo.bioagent import BioAgent
from cortex_eval.demo.bioagent_parser import TOOLS, Heard, parse
from cortex_eval.demo.listening import Version
from cortex_eval.engine import execute
from cortex_eval.storage import Store

PROJECT = Path(str(files("cortex_eval.demo") / "projects" / "bioagent"))
CATEGORIES = {
    "data_discovery": 15,
    "workflow_generation": 10,
    "job_management": 10,
    "education": 10,
    "error_handling": 10,
    "context_dependent": 10,
    "parameter_extraction": 10,
    "cross_domain": 10,
    "multi_turn": 5,
    "coreference": 5,
    "ambiguous": 5,
    "edge_cases": 10,
}
"""Seed 003 §2.2: how many of each there were; there are at least as many here."""
ANYTHING = "single multi context heavy edge"
COVERAGE = {
    "DATA_SEARCH": ANYTHING,
    "DATA_DESCRIBE": ANYTHING,
    "DATA_DOWNLOAD": "single multi context heavy",
    "DATA_SCAN": "single heavy",
    "WORKFLOW_GENERATE": ANYTHING,
    "WORKFLOW_CONFIGURE": "single multi context heavy",
    "JOB_SUBMIT": "single multi context heavy",
    "JOB_STATUS": "single multi context edge",
    "JOB_CANCEL": "single multi context",
    "EXPLAIN": "single heavy",
    "TUTORIAL": "single",
    "TROUBLESHOOT": "single multi context heavy",
}
"""The cells that seed 003 §3.4 ticks."""
HEAVY = 3


@cache
def cases() -> tuple[Case, ...]:
    return tuple(read_cases(PROJECT / "datasets" / "bioagent.yaml"))


def count(expected: Expected) -> int:
    """How many entities are expected; those of a list count one by one."""
    values = (expected.entities or {}).values()
    return sum(len(value) if isinstance(value, list | tuple) else 1 for value in values)


def cells(case: Case) -> Iterator[tuple[str | None, str]]:
    """The cells of the coverage matrix that a case is in."""
    for turn in case.turns:
        intent = turn.expected.intent
        yield intent, "multi" if len(case.turns) > 1 else "single"
        if turn.requires_context:
            yield intent, "context"
        if count(turn.expected) >= HEAVY:
            yield intent, "heavy"
        if case.category == "edge_cases":
            yield intent, "edge"


def words(text: str) -> set[str]:
    return set(re.findall(r"[\w\u0900-\u097f]+", text.lower()))


def by_category() -> dict[str | None, list[Case]]:
    found: dict[str | None, list[Case]] = defaultdict(list)
    for case in cases():
        found[case.category].append(case)
    return found


def listed(version: Version) -> set[str]:
    """The cases that WEAKNESSES.md says fail."""
    rows = [row for row in read_weaknesses(PROJECT, "bioagent") if row.version in (None, version)]
    return {case for row in rows for case in row.cases}


def test_there_are_200_conversations_in_twelve_categories_and_five_tiers() -> None:
    sizes = Counter(case.category for case in cases())

    assert len(cases()) >= 200
    assert len({case.id for case in cases()}) == len(cases())
    assert set(sizes) == set(CATEGORIES)
    assert all(sizes[name] >= least for name, least in CATEGORIES.items())
    assert {case.tier for case in cases()} == {1, 2, 3, 4, 5}
    assert sum(len(case.turns) > 1 for case in cases()) >= 25
    assert max(len(case.turns) for case in cases()) >= 5


def test_every_ticked_cell_of_the_coverage_matrix_is_covered() -> None:
    matrix = Counter(cell for case in cases() for cell in cells(case))

    missing = [
        (intent, cell) for intent, ticked in COVERAGE.items() for cell in ticked.split() if not matrix[intent, cell]
    ]

    assert not missing
    assert matrix["DEBUG", "single"]


def test_a_conversation_is_of_the_tier_that_its_make_up_says() -> None:
    for case in cases():
        entities, is_plain = count(case.expected), len(case.turns) == 1 and not case.requires_context
        intents = {turn.expected.intent for turn in case.turns}
        fits = {
            1: is_plain and entities == 0,
            2: is_plain and 1 <= entities < HEAVY,
            3: not is_plain or entities >= HEAVY,
            4: len(case.turns) > 1 or "CLARIFY" in intents,
            5: case.category in ("cross_domain", "edge_cases") or bool(intents & {"TROUBLESHOOT", "DEBUG"}),
        }
        assert fits[case.tier or 0], case.id


def test_hindi_cases_are_in_devanagari_and_there_are_twenty() -> None:
    hindi = [case for case in cases() if case.language == "hi"]

    assert len(hindi) >= 20
    assert {case.language for case in cases()} == {"en", "hi"}
    for case in cases():
        for turn in case.turns:
            assert bool(re.search(r"[\u0900-\u097f]", turn.text)) == (case.language == "hi"), case.id


def test_parallel_cases_expect_the_same_intent_in_another_language() -> None:
    known = {case.id: case for case in cases()}
    parallels = [case for case in cases() if case.parallel_of]

    assert len(parallels) >= 10
    for case in parallels:
        other = known[str(case.parallel_of)]
        assert other.language != case.language
        assert [turn.expected.intent for turn in other.turns] == [turn.expected.intent for turn in case.turns]


def test_intents_and_tools_are_those_that_the_agent_has() -> None:
    for case in cases():
        for turn in case.turns:
            assert turn.expected.intent in {*TOOLS, "CLARIFY", "OUT_OF_SCOPE"}, case.id
            if turn.expected.tools:
                assert {call.name for call in turn.expected.tools} <= set(TOOLS.values()), case.id
                assert turn.expected.tools[0].name == TOOLS[turn.expected.intent], case.id
            else:
                assert turn.expected.tool == TOOLS.get(turn.expected.intent, "none"), case.id


def test_cases_of_the_hard_categories_really_are_such() -> None:
    groups = by_category()

    assert all(any(turn.requires_context for turn in case.turns) for case in groups["coreference"])
    assert all(any(turn.requires_context for turn in case.turns) for case in groups["context_dependent"])
    assert all(case.turns[0].expected.intent == "CLARIFY" for case in groups["ambiguous"])
    assert all(case.tags for case in groups["edge_cases"])
    assert len({tag for case in groups["edge_cases"] for tag in case.tags}) >= 12
    assert all(count(turn.expected) >= 2 for case in groups["parameter_extraction"] for turn in case.turns)
    assert all(len(case.turns) > 1 for case in groups["multi_turn"])


def test_entities_are_varied() -> None:
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for case in cases():
        for name, value in (case.turns[0].expected.entities or {}).items():
            seen[name].update(map(str, value if isinstance(value, list | tuple) else [value]))

    assert len(seen) >= 20
    for name, least in {"data_type": 15, "disease": 18, "organism": 10, "software": 20, "accession": 15}.items():
        assert len(seen[name]) >= least, name
        most, times = seen[name].most_common(1)[0]
        assert times <= seen[name].total() / 3, (name, most)


def test_no_two_conversations_of_a_category_are_nearly_the_same() -> None:
    for group in by_category().values():
        for one, other in combinations(group, 2):
            first, second = words(one.input), words(other.input)
            assert first | second == set() or len(first & second) / len(first | second) <= 0.8, (one.id, other.id)


@pytest.mark.slow
def test_no_two_english_conversations_of_a_category_mean_nearly_the_same() -> None:
    from cortex_eval.scoring import can_embed, load_embedder

    if not can_embed():
        pytest.skip("meanings need the extra 'embed'")
    for group in by_category().values():
        english = [case for case in group if case.language == "en"]
        vectors = load_embedder().embed([" ".join(turn.text for turn in case.turns) for case in english])
        for (i, one), (j, other) in combinations(enumerate(english), 2):
            assert float(vectors[i] @ vectors[j]) < 0.95, (one.id, other.id)


def test_the_gate_is_the_seeds() -> None:
    gate = yaml.safe_load((PROJECT / "cortex.yaml").read_text(encoding="utf-8"))["gate"]

    assert gate["thresholds"] == {
        "intent_accuracy": 0.70,
        "entity_f1": 0.50,
        "tool_accuracy": 0.80,
        "max_latency_ms": 5000,
    }
    assert gate["regression"]["intent_accuracy"] == {"drop": 0.02, "high": 0.05}
    assert gate["regression"]["entity_f1"] == {"drop": 0.05, "high": 0.10}
    assert gate["regression"]["tool_accuracy"] == {"drop": 0.02, "high": 0.05}
    assert gate["regression"]["latency_ms"] == {"rise": 100, "high": 200}


async def play(
    project: Path, store: Store, version: Version, monkeypatch: pytest.MonkeyPatch, baseline: str | None = None
) -> tuple[Report, set[str]]:
    """The report of a whole run, and the cases that failed in it."""
    failed: set[str] = set()
    with BioAgent(version=version) as agent:
        monkeypatch.setenv("CORTEX_DEMO_URL", agent.url)
        (plan,) = make_plans(load_project(project / "cortex.yaml"), Request(baseline=baseline))
        report = await execute(
            plan, store, see=lambda result: failed.add(result.case_id) if result.state != "passed" else None
        )
    return report, failed


@pytest.mark.slow
async def test_the_cases_that_fail_are_those_listed_and_version_2_is_a_regression(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_project("bioagent", tmp_path / "bioagent")

    first, failed = await play(tmp_path / "bioagent", store, "1", monkeypatch)
    store.baselines.keep("main", first.run.suite, first.run.id, baseline_of(first))
    second, failed_later = await play(tmp_path / "bioagent", store, "2", monkeypatch, baseline="main")

    assert failed == listed("1")
    assert failed_later == listed("2")
    assert (first.gate.verdict, second.gate.verdict) == ("passed", "regressed")
    assert {each.name for each in second.regressions} >= {"intent", "tool"}
    assert (first.totals.errors, second.totals.errors) == (0, 0)
    assert f"{first.totals.passed} of the {first.totals.cases} conversations pass on version 1" in said_in_the_list()
    assert f"and {second.totals.passed} on version 2" in said_in_the_list()
    check_seed_figures(first)


def said_in_the_list() -> str:
    return " ".join((PROJECT / "WEAKNESSES.md").read_text(encoding="utf-8").split())


def check_seed_figures(report: Report) -> None:
    """What seed 003 §2.4 has in a report is there, and is believable."""
    assert set(report.category_metrics) == set(CATEGORIES)
    assert 0.85 <= report.overall["overall_intent_accuracy"] <= 0.95
    assert 0.8 <= report.overall["overall_entity_f1"] < 1
    assert 0.8 <= report.overall["overall_tool_accuracy"] < 1
    assert 0 < report.overall["overall_llm_usage_rate"] < 0.2
    assert {"context_retention", "clarification", "coherence"} <= set(report.metrics)
    assert report.confidence is not None
    assert report.confidence.brier < 0.25
    assert set(report.tiers) == {"1", "2", "3", "4", "5"}


def test_the_agent_answers_the_same_whenever_it_is_asked_the_same() -> None:
    heard = Heard("DATA_SEARCH", {"data_type": "ATAC-seq"})

    assert parse("download the first one", heard) == parse("download the first one", heard)
    assert parse("download the first one", heard).entities == {"data_type": "ATAC-seq", "selection": "first"}
    assert heard.entities == {"data_type": "ATAC-seq"}


@pytest.mark.parametrize("context", [None, [], {"previous_query": 3}, {"previous_query": "x", "previous_entities": 1}])
def test_a_context_of_another_shape_does_no_harm(context: Any) -> None:
    reply = asked({"query": "download GSE48213", "context": context})

    assert (reply["intent"], reply["entities"], reply["tool"]) == (
        "DATA_DOWNLOAD",
        {"accession": "GSE48213"},
        "download_data",
    )
    assert reply["llm_invoked"] is False


def test_what_its_rules_do_not_know_is_stated_as_a_call_of_its_model_with_less_confidence() -> None:
    clear, unclear = asked({"query": "cancel job 77120"}), asked({"query": "serch for atac-seq datsets"})

    assert (clear["llm_invoked"], unclear["llm_invoked"]) == (False, True)
    assert clear["confidence"] > unclear["confidence"]
    assert unclear["intent"] == "DATA_SEARCH"


def test_a_number_without_end_is_answered_too() -> None:
    assert asked({"query": f"cancel job {'9' * 200}"})["intent"] == "JOB_CANCEL"


@pytest.mark.parametrize("body", [{}, [], {"query": " "}, {"query": 3}])
def test_a_body_without_a_query_is_a_bad_request(body: Any) -> None:
    assert "query" in asked(body, status=400)["error"]


def test_it_says_that_it_is_a_sample() -> None:
    with BioAgent(version="2") as agent, urlopen(agent.url) as response:
        about = json.loads(response.read())

    assert about["sample"] is True
    assert about["version"] == "2"


def test_an_unknown_version_is_an_input_error() -> None:
    with pytest.raises(InputError, match="no version '3'"):
        BioAgent(version="3")  # type: ignore[arg-type]  # what a user may type


def asked(body: Any, *, status: int = 200) -> Any:  # Any: JSON
    """What the running agent answers to a body."""
    with BioAgent() as agent:
        port = urlsplit(agent.url).port
        connection = HTTPConnection("127.0.0.1", port)
        connection.request("POST", "/parse", json.dumps(body), {"Content-Type": "application/json"})
        with closing(connection), connection.getresponse() as response:
            assert response.status == status
            return json.loads(response.read())
