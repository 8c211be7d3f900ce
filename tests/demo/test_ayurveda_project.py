"""The Ayurveda project: its cases hold together, and its three systems fail exactly where WEAKNESSES.md says."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import pytest

from cortex_eval.analysis import Report, parity
from cortex_eval.config import Request, load_project, make_plans
from cortex_eval.core import Case, Result
from cortex_eval.datasets import read_cases
from cortex_eval.demo import copy_project, read_weaknesses
from cortex_eval.engine import execute
from cortex_eval.scoring import can_embed, load_embedder
from cortex_eval.stats import fleiss_kappa
from cortex_eval.storage import Store

SYSTEMS = ("ayurmind", "single_rag", "vanilla")
SEVEN = {"Vata", "Pitta", "Kapha", "Vata-Pitta", "Pitta-Kapha", "Vata-Kapha", "Tridosha"}
CRITICAL = ("classification", "safety", "language")
DEVANAGARI = re.compile(r"[\u0904-\u0939]")


@dataclass(frozen=True)
class Run:
    """One system over all cases."""

    report: Report
    results: Mapping[str, Result]

    def value(self, case_id: str, scorer: str) -> float | None:
        found: float | None = self.results[case_id].scores[scorer].get("value")
        return found

    def failing(self) -> dict[str, set[str]]:
        """Cases by the scorer that fails them; *overall* has those that only the weighted mean fails."""
        found = {
            scorer: {each for each in self.results if (value := self.value(each, scorer)) is not None and value < 0.7}
            for scorer in CRITICAL
        }
        failed = {each for each, result in self.results.items() if result.state == "failed"}
        assert set().union(*found.values()) <= failed
        return {**found, "overall": failed - set().union(*found.values())}

    def mean(self, metric: str) -> float:
        mean = self.report.metrics[metric].mean
        assert mean is not None
        return mean


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ayurveda")
    copy_project("ayurveda", folder)
    return folder


@pytest.fixture(scope="module")
def cases(project: Path) -> dict[str, Case]:
    return {case.id: case for case in read_cases(project / "datasets" / "ayurveda.csv")}


@pytest.fixture(scope="module")
def runs(project: Path) -> dict[str, Run]:
    """The suite as it stands, and ayurmind's next version; from another folder than the project's."""
    loaded = load_project(project / "cortex.yaml")
    plans = make_plans(loaded, Request(suite="ayurveda"))
    assert [plan.target_name for plan in plans] == list(SYSTEMS)
    plans += make_plans(loaded, Request(suite="ayurveda", service="ayurmind_2"))

    async def play() -> dict[str, Run]:
        played = {}
        with Store(project / "results.db") as store:
            for plan in plans:
                results: list[Result] = []
                report = await execute(plan, store, see=results.append)
                played[plan.target_name] = Run(report, {each.case_id: each for each in results})
        return played

    return asyncio.run(play())


def words(text: str) -> set[str]:
    return set(re.findall(r"[\w\u0900-\u097f]+", text.lower()))


def replies(project: Path, system: str) -> list[dict[str, object]]:
    lines = (project / "replies" / f"{system}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def documented(project: Path, system: str) -> dict[str, set[str]]:
    """What WEAKNESSES.md says of one system: cases by scorer."""
    return {row.number: {*row.cases} for row in read_weaknesses(project, "ayurveda", system)}


def test_the_cases_have_all_that_the_seed_names(cases: dict[str, Case]) -> None:
    expected = Counter(case.expected.label for case in cases.values() if not case.is_disputed)

    assert len(cases) >= 40
    assert Counter(case.language for case in cases.values())["hi"] >= 12
    assert set(expected) >= SEVEN
    assert min(expected[label] for label in SEVEN) >= 3
    assert {case.category for case in cases.values()} == {
        *("Diagnostic", "Treatment", "Diagnostic+Treatment", "Prakriti", "Seasonal", "Educational")
    }
    assert {case.metadata["complexity_level"] for case in cases.values()} == {"Simple", "Medium", "Complex"}
    assert {case.tier for case in cases.values()} == {1, 2, 3}


def test_three_experts_label_every_case_and_differ_on_some(project: Path, cases: dict[str, Case]) -> None:
    labelled = {case.id: [label for label in case.experts if label] for case in cases.values()}
    disputed = {case.id for case in cases.values() if case.is_disputed}

    assert {label for labels in labelled.values() for label in labels} == {*SEVEN, "Unknown"}
    assert {len(labels) for labels in labelled.values()} == {2, 3}
    assert disputed == {"after-the-divorce", "new-mother-of-twins", "fog-after-fever", "exam-daughter-hi"}
    assert all(cases[each].expected.label is None for each in disputed)
    assert any(len(set(labels)) == 2 for each, labels in labelled.items() if each not in disputed)


def test_the_about_page_states_how_far_the_experts_agree(project: Path, cases: dict[str, Case]) -> None:
    rated = [Counter(case.experts) for case in cases.values() if len(case.experts) == 3]
    kappa = fleiss_kappa([[each[label] for label in (*SEVEN, "Unknown")] for each in rated])
    said = (project / "ABOUT.md").read_text(encoding="utf-8")

    assert kappa is not None
    assert f"over the {len(rated)} cases with three labels is {kappa:.2f}" in " ".join(said.split())


def test_hindi_is_in_devanagari_and_parallel_cases_share_type_and_label(cases: dict[str, Case]) -> None:
    pairs = [(cases[str(case.parallel_of)], case) for case in cases.values() if case.parallel_of]

    assert len(pairs) >= 6
    assert all(bool(DEVANAGARI.search(case.input)) == (case.language == "hi") for case in cases.values())
    for english, hindi in pairs:
        assert (english.language, hindi.language) == ("en", "hi")
        assert (english.category, english.tier) == (hindi.category, hindi.tier)
        assert english.expected.label == hindi.expected.label


def test_no_two_cases_of_a_category_are_nearly_the_same(cases: dict[str, Case]) -> None:
    by_category: dict[str | None, list[Case]] = defaultdict(list)
    for case in cases.values():
        by_category[case.category].append(case)

    for some in by_category.values():
        for one, other in combinations(some, 2):
            first, second = words(one.input), words(other.input)
            assert len(first & second) / len(first | second) < 0.8, (one.id, other.id)


@pytest.mark.slow
@pytest.mark.skipif(not can_embed(), reason="the embedding model is not installed")
def test_no_two_english_cases_of_a_category_mean_nearly_the_same(cases: dict[str, Case]) -> None:
    english = [case for case in cases.values() if case.language == "en"]
    vectors = load_embedder().embed([case.input for case in english])

    for (one, first), (other, second) in combinations(zip(english, vectors, strict=True), 2):
        if one.category == other.category:
            assert float(first @ second) < 0.95, (one.id, other.id)


@pytest.mark.parametrize("system", [*SYSTEMS, "ayurmind_2"])
def test_every_case_has_one_reply_of_every_system(project: Path, cases: dict[str, Case], system: str) -> None:
    rows = replies(project, system)

    assert Counter(str(row["id"]) for row in rows) == Counter(list(cases))
    assert len({str(row["text"]) for row in rows}) == len(rows)
    assert all(bool(row.get("contexts")) == (system != "vanilla") for row in rows)


def test_the_project_says_that_it_is_sample_text_and_no_advice(project: Path) -> None:
    assert "Sample text, and no advice" in (project / "ABOUT.md").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("system", SYSTEMS)
def test_the_cases_that_fail_are_those_in_the_list_of_weaknesses(
    project: Path, runs: dict[str, Run], system: str
) -> None:
    failing = runs[system].failing()
    counted = f"## {system}: {len(set().union(*failing.values()))} of {len(runs[system].results)} fail"

    assert failing == documented(project, system)
    assert counted in (project / "WEAKNESSES.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_about_page_counts_what_passes(project: Path, runs: dict[str, Run]) -> None:
    passed = [sum(each.state == "passed" for each in runs[system].results.values()) for system in SYSTEMS]
    row = "| cases passed | " + " | ".join(f"{count} of 47" for count in passed) + " |"

    assert row in (project / "ABOUT.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_nothing_passes_or_fails_by_a_hair(runs: dict[str, Run]) -> None:
    """So that the lists stay true where a scorer does not apply, such as language without its model."""
    for system in SYSTEMS:
        failing = runs[system].failing()
        for each, result in runs[system].results.items():
            if not any(each in failing[scorer] for scorer in CRITICAL):
                assert result.overall is not None
                assert abs(result.overall - 0.7) > 0.015, (system, each)


@pytest.mark.slow
@pytest.mark.parametrize(
    "metric", ["classification", "completeness", "interpretability", "readability", "overall_score"]
)
def test_the_three_systems_rank_as_described(runs: dict[str, Run], metric: str) -> None:
    ayurmind, single_rag, vanilla = (runs[system].mean(metric) for system in SYSTEMS)

    assert ayurmind > single_rag + 0.05
    assert single_rag > vanilla + 0.05


@pytest.mark.slow
def test_only_ayurmind_meets_the_gate(runs: dict[str, Run]) -> None:
    assert [runs[system].report.exit_code for system in SYSTEMS] == [0, 2, 2]
    assert all(run.report.totals.errors == 0 for run in runs.values())


@pytest.mark.slow
def test_disputed_cases_are_scored_on_all_but_the_label(runs: dict[str, Run], cases: dict[str, Case]) -> None:
    for run in runs.values():
        assert {each for each in run.results if run.value(each, "classification") is None} == {
            case.id for case in cases.values() if case.is_disputed
        }
        assert all(result.overall is not None for result in run.results.values())


@pytest.mark.slow
def test_completeness_looks_for_the_eight_items_of_a_consultation(runs: dict[str, Run], cases: dict[str, Case]) -> None:
    for case in cases.values():
        items = runs["ayurmind"].results[case.id].scores["completeness"]["evidence"]["items"]
        if case.expected.checklist:
            assert case.category == "Educational"
            assert len(items) == len(case.expected.checklist)
        else:
            eight = "prakriti vikriti diet lifestyle herbs citations follow_up disclaimer"
            assert [item["item"] for item in items] == eight.split()


@pytest.mark.slow
def test_faithfulness_is_shown_for_systems_with_passages_and_decides_nothing(runs: dict[str, Run]) -> None:
    assert runs["single_rag"].mean("faithfulness") > runs["ayurmind"].mean("faithfulness")
    assert "faithfulness" not in runs["vanilla"].report.metrics


@pytest.mark.slow
def test_a_chapter_that_does_not_exist_is_found_once_and_fails_no_case(runs: dict[str, Run]) -> None:
    made_up = {
        (system, each)
        for system in SYSTEMS
        for each, result in runs[system].results.items()
        for source in result.scores["interpretability"]["evidence"]["sources"]
        if source["precision"] == "impossible"
    }

    assert made_up == {("ayurmind", "nurse-night-shift")}
    assert runs["ayurmind"].results["nurse-night-shift"].state == "passed"


@pytest.mark.slow
def test_the_next_version_fails_no_further_case_and_still_falls_behind(project: Path, runs: dict[str, Run]) -> None:
    said = " ".join((project / "WEAKNESSES.md").read_text(encoding="utf-8").split())
    before, after = runs["ayurmind"], runs["ayurmind_2"]

    fallen = {
        name: f"from {before.mean(name):.2f} to {after.mean(name):.2f}" for name in ("completeness", "interpretability")
    }

    assert after.failing() == before.failing()
    assert f"`completeness` falls {fallen['completeness']} and `interpretability` {fallen['interpretability']}" in said
    assert before.mean("completeness") > after.mean("completeness") + 0.1


@pytest.mark.slow
def test_hindi_lags_behind_where_the_passages_are_english(runs: dict[str, Run]) -> None:
    gaps = {}
    for system in SYSTEMS:
        (overall,) = (each for each in parity(runs[system].results.values()) if each.metric == "overall_score")
        assert (overall.base, overall.other, overall.pairs, overall.unpaired) == ("en", "hi", 8, 0)
        gaps[system] = overall.gap

    assert gaps["ayurmind"] is not None
    assert gaps["single_rag"] is not None
    assert abs(gaps["ayurmind"]) < 0.05
    assert gaps["single_rag"] < -0.05
