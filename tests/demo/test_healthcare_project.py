"""The sample services of the clinic and their project: they fail where WEAKNESSES.md says so, and nowhere else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from played_projects import (
    Played,
    cases_of,
    copied,
    ids_in_row,
    play_suite,
    play_with_faults,
    too_alike_in_meaning,
    too_alike_in_words,
    weaknesses_of,
)

from cortex_eval.config import Request, load_project, make_plans
from cortex_eval.core import Case
from cortex_eval.demo.healthcare import HealthcareServices
from cortex_eval.demo.listening import Version
from cortex_eval.demo.retrieval import load_library
from cortex_eval.demo.translator import has_apertium
from cortex_eval.engine import execute
from cortex_eval.scoring import can_embed
from cortex_eval.storage import Store

DATASETS = {
    "chatbot": "patient_inquiries.json",
    "rag": "clinical_scenarios.json",
    "translation": "multilingual_tests.json",
}
CASES = {suite: {case.id: case for case in cases_of("healthcare", file)} for suite, file in DATASETS.items()}
ALL: list[Case] = [case for cases in CASES.values() for case in cases.values()]
FAIL_IN: dict[str, dict[Version, tuple[int, ...]]] = {
    "chatbot": {"1": (1, 2, 3, 4), "2": (1, 2, 3, 4, 5)},
    "rag": {"1": (6, 7, 8, 9, 11), "2": (6, 7, 8, 9, 10, 11)},
    "translation": {"1": (12, 13, 14, 15), "2": (12, 13, 14, 15, 16)},
}
"""Rows of WEAKNESSES.md by suite and version; row 17 is that of the Spanish cases."""

needs_embed = pytest.mark.skipif(not can_embed(), reason="relevance and faithfulness need the extra 'embed'")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return copied("healthcare", tmp_path)


@pytest.fixture
def no_apertium(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))


def listed(*rows: int) -> set[str]:
    """The cases in these rows of the chatbot, the RAG service and the translator; the voice line has its own."""
    sections = re.split(r"^## ", weaknesses_of("healthcare"), flags=re.MULTILINE)
    text = "".join(each for each in sections if re.match(r"In the (?:chatbot|RAG service|translator)", each))
    return set().union(*(ids_in_row(text, row, {case.id for case in ALL}) for row in rows))


async def play(
    project: Path, suite: str, monkeypatch: pytest.MonkeyPatch, version: Version = "1", **which: Any
) -> Played:
    with HealthcareServices(version=version) as clinic:
        monkeypatch.setenv("CORTEX_DEMO_URL", clinic.url)
        monkeypatch.setenv("CORTEX_API_KEY", "any-key")
        return await play_suite(project, suite, **which)


@pytest.mark.slow
@needs_embed
@pytest.mark.parametrize(("version", "shown"), [("1", "25 of the 30 cases pass on version 1"), ("2", "and 21 on")])
async def test_the_chatbot_fails_where_the_list_says(
    project: Path, monkeypatch: pytest.MonkeyPatch, version: Version, shown: str
) -> None:
    played = await play(project, "chatbot", monkeypatch, version)

    assert played.failed == listed(*FAIL_IN["chatbot"][version])
    assert played.failed_by("language") == listed(3)
    assert played.verdict == "below", "a missed red flag does not pass, however many cases do"
    assert len(played.results) - len(played.failed) == int(re.findall(r"\d+", shown)[0])
    assert shown in weaknesses_of("healthcare")


@pytest.mark.slow
@needs_embed
@pytest.mark.parametrize(
    ("version", "verdict", "shown"),
    [("1", "below", "29 of the 40 cases pass on version 1"), ("2", "below", "and 23 on")],
)
async def test_the_rag_service_fails_where_the_list_says(
    project: Path, monkeypatch: pytest.MonkeyPatch, version: Version, verdict: str, shown: str
) -> None:
    played = await play(project, "rag", monkeypatch, version)

    assert played.failed == listed(*FAIL_IN["rag"][version])
    assert played.failed_by("cited") == listed(8)
    assert played.failed_by("language") == listed(9)
    assert played.failed_by("urgent") == listed(11)
    if version == "1":
        assert {r.case_id for r in played.results if r.scores["retrieval"]["value"] < 1} == listed(7)
    assert played.verdict == verdict
    assert len(played.results) - len(played.failed) == int(re.findall(r"\d+", shown)[0])
    assert shown in weaknesses_of("healthcare")


@pytest.mark.usefixtures("no_apertium")
@pytest.mark.parametrize(("version", "verdict", "passed"), [("1", "passed", 28), ("2", "below", 23)])
async def test_the_translator_fails_where_the_list_says_and_skips_spanish_in_sight(
    project: Path, monkeypatch: pytest.MonkeyPatch, version: Version, verdict: str, passed: int
) -> None:
    played = await play(project, "translation", monkeypatch, version)
    spanish = [result for result in played.results if result.case_id.startswith("es-")]

    assert played.failed == listed(*FAIL_IN["translation"][version])
    assert played.failed_by("negation") == listed(13) | ({"hi-report-normal"} if version == "2" else set())
    assert played.verdict == verdict
    assert len(spanish) == 10
    assert {result.passed for result in spanish} == {None}
    assert all("not installed" in result.scores["translation"]["reason"] for result in spanish)
    assert all(result.reply is not None and result.reply.metadata["engine"] == "none" for result in spanish)
    assert len(played.results) - len(spanish) - len(played.failed) == passed
    shown = f"{passed} pass on version 1" if version == "1" else f"and {passed} on version 2"
    assert shown in weaknesses_of("healthcare")


@pytest.mark.slow
@pytest.mark.skipif(not has_apertium(), reason="Apertium is not installed: apt-get install apertium-eng-spa")
async def test_with_apertium_spanish_is_translated_and_scored(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played = await play(project, "translation", monkeypatch)

    assert played.failed == listed(*FAIL_IN["translation"]["1"], 17)
    assert all(result.passed is not None for result in played.results)


@pytest.mark.usefixtures("no_apertium")
async def test_chrf_on_hindi_is_in_the_report(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with HealthcareServices() as clinic, Store(project / "t.db") as store:
        monkeypatch.setenv("CORTEX_DEMO_URL", clinic.url)
        [plan] = make_plans(load_project(project / "cortex.yaml"), Request(suite="translation", is_offline=True))
        report = await execute(plan, store)

    hindi = report.languages["hi"].metrics["translation"]
    chrf = [result.scores["translation"] for result in report.results if result.case_id.startswith("hi-")]
    assert {score["unit"] for score in chrf} == {"chrF"}
    assert (hindi.scored, hindi.total) == (37, 37)
    assert hindi.mean == pytest.approx(sum(score["measure"] for score in chrf) / 3700)
    assert (report.metrics["translation"].scored, report.metrics["translation"].total) == (37, 47)
    assert "translation" not in report.languages["es"].metrics  # undefined is not zero


async def test_a_fault_can_be_put_in_front_of_all_of_them(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with HealthcareServices() as clinic:
        assert clinic.service is not None
        monkeypatch.setenv("CORTEX_DEMO_URL", clinic.url)
        played = await play_with_faults(project, "translation", clinic, case_ids=["hi-fever", "hi-walk"])

    assert played.failed == set()
    assert len(clinic.service.ledger) == 3


async def test_each_service_has_its_path_and_an_unknown_one_is_told() -> None:
    with HealthcareServices(version="2") as clinic:
        async with aiohttp.ClientSession(headers={"Authorization": "Bearer k"}) as session:

            async def post(path: str, **body: Any) -> tuple[int, dict[str, Any]]:
                async with session.post(f"{clinic.url}/{path}", json=body) as response:
                    return response.status, await response.json()

            chat = await post("chat", query="Hello, good morning!")
            without_key = await session.post(
                f"{clinic.url}/chat", json={"query": "Hello!"}, headers={"Authorization": ""}
            )
            without_query = await post("chat")
            rag = await post("rag", query="How long do I cool a burn?")
            translated = await post("translate", text="Are you pregnant?", source_language="en", target_language="hi")
            unknown = await post("talk")
            async with session.get(clinic.url) as response:
                about = await response.json()

    assert (chat[0], without_key.status, without_query[0]) == (200, 401, 400)
    assert "Hello" in chat[1]["text"]
    assert (rag[1]["citations"], rag[1]["version"]) == (["hl-12"], "2")
    assert translated[1]["translation"] == "क्या आप गर्भवती हैं?"
    assert unknown[0] == 404
    assert "/rag" in unknown[1]["error"]
    assert (about["sample"], about["version"]) == (True, "2")


def test_the_datasets_have_the_names_and_fields_of_the_original_design(project: Path) -> None:
    for suite in ("chatbot", "rag"):
        rows = json.loads((project / "datasets" / DATASETS[suite]).read_text(encoding="utf-8"))
        assert all({"id", "question", "ground_truth", "context"} <= set(row) for row in rows)
    assert all(case.expected.references for case in ALL)


def test_there_are_enough_cases_in_both_languages() -> None:
    ids = {case.id for case in ALL}

    assert len(ALL) == len(ids) >= 60
    for suite in ("chatbot", "rag"):
        languages = [case.language for case in CASES[suite].values()]
        assert languages.count("hi") >= 8
        assert languages.count("en") >= 20
    assert sum(case.language == "hi" for case in CASES["translation"].values()) >= 30
    assert {case.tier for case in ALL} == {1, 2, 3, 4, 5}


def test_hindi_is_in_devanagari() -> None:
    for case in ALL:
        answers = " ".join(case.expected.references)
        assert bool(re.search(r"[\u0900-\u097f]", answers)) == (case.language == "hi"), case.id
        if case.id not in CASES["translation"]:
            assert bool(re.search(r"[\u0900-\u097f]", case.input)) == (case.language == "hi"), case.id


def test_what_cases_point_at_is_there() -> None:
    known = {text.id for text in load_library()._texts} | {"none"}

    assert all(case.metadata["wanted_passage"] in known for case in CASES["rag"].values())
    for cases in CASES.values():
        assert all(case.parallel_of in cases for case in cases.values() if case.parallel_of)
    assert sum(case.parallel_of is not None for case in ALL) >= 6


def test_no_two_questions_of_a_category_are_nearly_the_same() -> None:
    for suite, cases in CASES.items():
        for language in ("en", "hi", "es"):
            assert too_alike_in_words(case for case in cases.values() if case.language == language) == [], suite


@pytest.mark.slow
@needs_embed
def test_no_two_questions_of_a_category_mean_nearly_the_same() -> None:
    for cases in CASES.values():
        assert too_alike_in_meaning(cases.values()) == []


def test_the_project_names_no_address_and_no_key(project: Path) -> None:
    services = yaml.safe_load((project / "cortex.yaml").read_text(encoding="utf-8"))["services"]

    assert {"chatbot", "rag", "translation"} <= set(services)
    assert all(service["api_url"].startswith("${CORTEX_DEMO_URL}/") for service in services.values())
    assert services["chatbot"]["api_key"] == "${CORTEX_API_KEY}"
