"""The sample projects: what is in them holds together, and they can be copied without harm."""

from __future__ import annotations

import importlib.util
import json
import re
from collections import Counter, defaultdict
from importlib.resources import files
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml

from cortex_eval.core import Case, InputError
from cortex_eval.demo import SAMPLES, copy_project, project_names, read_weaknesses


@pytest.fixture
def health(tmp_path: Path) -> Path:
    copy_project("health", tmp_path)
    return tmp_path


@pytest.fixture
def starter(tmp_path: Path) -> Path:
    copy_project("starter", tmp_path)
    return tmp_path


def read(path: Path) -> list[Case]:
    from cortex_eval.datasets import read_cases

    return list(read_cases(path))


def words(text: str) -> set[str]:
    return set(re.findall(r"[\w\u0900-\u097f]+", text.lower()))


def test_the_names_of_the_projects_are_known() -> None:
    assert project_names() == (
        "adversarial",
        "ayurveda",
        "bioagent",
        "health",
        "healthcare",
        "starter",
        "support-agent",
    )
    assert {*SAMPLES, "starter"} == set(project_names())


def test_a_project_is_copied_whole(tmp_path: Path) -> None:
    written = copy_project("health", tmp_path / "new" / "folder")

    assert [path.relative_to(tmp_path / "new" / "folder").as_posix() for path in written] == [
        "WEAKNESSES.md",
        "config/config.yaml",
        "config/healthcare_rules.json",
        "cortex.yaml",
        "datasets/health_questions.jsonl",
        "datasets/patient_inquiries.json",
    ]
    assert all(path.stat().st_size for path in written)


def test_nothing_is_written_when_a_file_is_already_there(tmp_path: Path) -> None:
    (tmp_path / "datasets").mkdir()
    (tmp_path / "cortex.yaml").write_text("mine")
    (tmp_path / "datasets" / "example.jsonl").write_text("mine too")

    with pytest.raises(InputError) as error:
        copy_project("starter", tmp_path)

    assert "cortex.yaml" in str(error.value)
    assert "example.jsonl" in str(error.value)
    assert (tmp_path / "cortex.yaml").read_text() == "mine"
    assert not (tmp_path / "bot.py").exists()


@pytest.mark.parametrize("place", ["here", "here/datasets"])
def test_a_file_where_a_folder_should_be_is_named(tmp_path: Path, place: str) -> None:
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).write_text("a file")

    with pytest.raises(InputError, match=re.escape(str(tmp_path / place))):
        copy_project("starter", tmp_path / "here")


def test_an_unknown_project_offers_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Did you mean 'health'"):
        copy_project("helth", tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_the_health_dataset_loads_with_all_that_a_report_breaks_down_by(health: Path) -> None:
    cases = read(health / "datasets" / "health_questions.jsonl")
    languages, categories = Counter(case.language for case in cases), Counter(case.category for case in cases)

    assert len(cases) >= 48
    assert len({case.id for case in cases}) == len(cases)
    assert languages["hi"] >= 8
    assert languages["en"] >= 48
    assert len(categories) == 8
    assert min(categories.values()) >= 4
    assert {case.tier for case in cases} == {1, 2, 3, 4, 5}
    assert all(case.tags for case in cases)
    assert all(turn.expected.answer for case in cases for turn in case.turns)


def test_hindi_cases_are_in_devanagari(health: Path) -> None:
    for case in read(health / "datasets" / "health_questions.jsonl"):
        for turn in case.turns:
            in_devanagari = bool(re.search(r"[\u0900-\u097f]", turn.text))
            assert in_devanagari == (case.language == "hi"), case.id
            assert bool(re.search(r"[\u0900-\u097f]", turn.expected.answer or "")) == in_devanagari, case.id


def test_conversations_say_which_turns_need_the_ones_before(health: Path) -> None:
    conversations = [case for case in read(health / "datasets" / "health_questions.jsonl") if len(case.turns) > 1]

    assert len(conversations) >= 6
    assert all([turn.requires_context for turn in case.turns] == [False, True] for case in conversations)


def test_parallel_cases_point_at_cases_in_another_language(health: Path) -> None:
    cases = {case.id: case for case in read(health / "datasets" / "health_questions.jsonl")}
    parallels = [case for case in cases.values() if case.parallel_of]

    assert len(parallels) >= 3
    assert all(cases[str(case.parallel_of)].language != case.language for case in parallels)


def test_no_two_questions_of_a_category_are_nearly_the_same(health: Path) -> None:
    by_category: dict[str | None, list[Case]] = defaultdict(list)
    for case in read(health / "datasets" / "health_questions.jsonl"):
        by_category[case.category].append(case)

    for cases in by_category.values():
        for one, other in combinations(cases, 2):
            first, second = words(one.input), words(other.input)
            assert len(first & second) / len(first | second) < 0.8, (one.id, other.id)


def test_the_dataset_in_the_older_shape_holds_the_same_cases(health: Path) -> None:
    rows = json.loads((health / "datasets" / "patient_inquiries.json").read_text(encoding="utf-8"))
    cases = {case.id: case for case in read(health / "datasets" / "health_questions.jsonl")}
    same = [row for row in rows if row["id"] in cases]

    assert len(rows) >= 12
    assert all(set(row) == {"id", "question", "ground_truth", "context"} for row in rows)
    assert len(same) >= 12
    for row in same:
        assert row["question"] == cases[row["id"]].input
        assert row["ground_truth"] == cases[row["id"]].expected.answer
    assert [case.id for case in read(health / "datasets" / "patient_inquiries.json")] == [row["id"] for row in rows]


@pytest.mark.parametrize("name", ["cortex.yaml", "config/config.yaml"])
def test_the_health_project_names_no_address_and_no_key(health: Path, name: str) -> None:
    services = yaml.safe_load((health / name).read_text(encoding="utf-8"))["services"]

    assert all(service["api_url"] == "${CORTEX_DEMO_URL}" for service in services.values())
    assert all(service["api_key"] == "${CORTEX_API_KEY}" for service in services.values())


def test_both_health_project_files_score_alike(health: Path) -> None:
    new, old = (
        yaml.safe_load((health / name).read_text(encoding="utf-8"))["metrics"]
        for name in ("cortex.yaml", "config/config.yaml")
    )

    assert new["safety"].pop("critical") is True
    assert new == old


def test_the_starter_bot_answers_all_but_the_two_instructive_cases(starter: Path) -> None:
    spec = importlib.util.spec_from_file_location("starter_bot", starter / "bot.py")
    assert spec is not None
    assert spec.loader is not None
    bot: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bot)

    cases = read(starter / "datasets" / "example.jsonl")
    shared = {}
    for case in cases:
        wanted, said = words(case.expected.answer or ""), words(bot.answer(case.input))
        shared[case.id] = len(wanted & said) / len(wanted)

    assert len(cases) == 8
    assert {case_id for case_id, share in shared.items() if share < 0.5} == {"sunday", "print-late"}


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_every_suite_of_a_demo_has_a_list_of_weaknesses_whose_cases_are_in_its_dataset(name: str) -> None:
    folder = Path(str(files("cortex_eval.demo") / "projects" / name))
    suites = yaml.safe_load((folder / "cortex.yaml").read_text(encoding="utf-8"))["suites"]

    for suite in SAMPLES[name].suites:
        ids = {case.id for case in read(folder / suites[suite]["dataset"])}
        for target in suites[suite].get("services", [suites[suite].get("service", "")]):
            rows = read_weaknesses(folder, suite, target)
            assert rows, (suite, target)
            assert {case for row in rows for case in row.cases} <= ids, (suite, target)


@pytest.mark.parametrize("name", [name for name, sample in SAMPLES.items() if sample.service])
def test_every_service_has_two_versions_and_the_second_has_something_planted(name: str) -> None:
    sample = SAMPLES[name]
    folder = Path(str(files("cortex_eval.demo") / "projects" / name))
    for version in ("1", "2"):
        with sample.start(version=version) as service:
            assert service is not None
            assert service.url.startswith("http://127.0.0.1:")

    rows = [row for suite in sample.suites for row in read_weaknesses(folder, suite)]
    assert sample.versions["2"] in {row.version for row in rows}
    assert {row.version for row in rows} <= {None, *sample.versions.values()}
