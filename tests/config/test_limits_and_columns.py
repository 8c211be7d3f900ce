"""What a newcomer gets wrong is told before anything is asked, and what was advised works."""

from __future__ import annotations

from pathlib import Path

import pytest
from written import plans_of, problems_of

from cortex_eval.config import Request, load_project, make_plans

BOT = "services:\n  bot: {kind: http, api_url: 'http://127.0.0.1:1/'}\n"
SUITE = "suites:\n  s: {dataset: d.csv, scorers: [exact]}\n"


def said(tmp_path: Path, text: str) -> str:
    return "\n".join(map(str, problems_of(tmp_path, text)))


@pytest.mark.parametrize(
    ("thresholds", "message"),
    [
        ("pas_rate: 0.9", "gate.thresholds.pas_rate: there is no such figure. Did you mean 'pass_rate'?"),
        ("exat: 0.9", "gate.thresholds.exat: there is no such figure. Did you mean 'exact'?"),
        (
            "safty: 1",
            "safty: there is no such figure. Did you mean 'safety'? This suite has no such scorer. It has: exact.",
        ),
        ("pass_rate: 90", "gate.thresholds.pass_rate: must be a number from 0 to 1 (0.9 for 90 %), not 90."),
    ],
)
def test_a_limit_that_no_run_could_meet_is_told_before_the_run(tmp_path: Path, thresholds: str, message: str) -> None:
    assert message in said(tmp_path, BOT + SUITE + f"gate: {{thresholds: {{{thresholds}}}}}\n")


def test_limits_of_every_known_name_are_taken(tmp_path: Path) -> None:
    limits = "{exact: 0.9, pass_rate: 0.8, overall_score: 0.7, max_latency_ms: 5000, intent_accuracy: 0.7}"
    [plan] = plans_of(tmp_path, BOT + SUITE + f"gate: {{thresholds: {limits}}}\n")

    assert plan.gate.thresholds["max_latency_ms"] == 5000


def test_the_seeds_regression_tolerance_becomes_the_allowed_drop(tmp_path: Path) -> None:
    [plan] = plans_of(tmp_path, BOT + SUITE + "gate: {thresholds: {exact: 0.5, regression_tolerance: 0.04}}\n")

    assert plan.gate.thresholds == {"exact": 0.5}
    assert plan.gate.regression["exact"].drop == plan.gate.regression["pass_rate"].drop == 0.04
    assert plan.gate.regression["latency_ms"].rise == 100


def test_a_misspelt_shared_key_of_a_scorer_or_service_is_offered(tmp_path: Path) -> None:
    scorer = said(tmp_path, BOT + "metrics: {exact: {critcal: true}}\n" + SUITE)
    service = said(tmp_path, BOT.replace("}", ", timeout_second: 3}") + SUITE)

    assert "Did you mean 'critical'?" in scorer
    assert "Did you mean 'timeout_seconds'?" in service


@pytest.mark.parametrize("block", ["0.5", "true", "[a]"])
def test_a_scorer_that_is_no_block_is_told(tmp_path: Path, block: str) -> None:
    assert "metrics.accuracy: must be keys and values" in said(
        tmp_path, BOT + f"metrics: {{accuracy: {block}}}\nsuites: {{s: {{dataset: d}}}}\n"
    )


def test_a_misspelt_passing_threshold_is_offered(tmp_path: Path) -> None:
    text = BOT + "metrics: {pasing_threshold: 0.7}\nsuites: {s: {dataset: d}}\n"

    [told] = problems_of(tmp_path, text)

    assert "Did you mean 'passing_threshold'?" in told


def test_a_limit_for_a_scorer_that_the_suite_does_not_have_says_so(tmp_path: Path) -> None:
    [told] = problems_of(tmp_path, BOT + SUITE + "gate: {thresholds: {faithfulness: 0.8}}\n")

    limit = "gate.thresholds.faithfulness"
    assert told == f"cortex.yaml:5: {limit}: this suite has no scorer 'faithfulness'. It has: exact."


def test_a_list_of_known_figures_names_each_once(tmp_path: Path) -> None:
    suite = SUITE.replace("[exact]", "[intent, entities, tool]")
    [told] = problems_of(tmp_path, BOT + suite + "gate: {thresholds: {zzzzzz: 0.8}}\n")

    names = told.partition("Known: ")[2].rstrip(".").split(", ")
    assert len(names) > 5
    assert len(names) == len(set(names))


def test_a_dataset_that_is_not_there_is_told_with_its_place_and_the_one_that_was_meant(tmp_path: Path) -> None:
    (tmp_path / "cases.csv").write_text("id,input\na,Hello?\n", encoding="utf-8")
    text = BOT.replace("1/", "1/', timeout_second: '3") + SUITE.replace("d.csv", "data/case.csv")

    missing, typo = problems_of(tmp_path, text, checks_dataset=True)[::-1]
    [near] = problems_of(tmp_path, BOT + SUITE.replace("d.csv", "case.csv"), checks_dataset=True)

    assert missing == "cortex.yaml:4: suites.s.dataset: there is no file data/case.csv."
    assert "Did you mean 'timeout_seconds'?" in typo
    assert near == "cortex.yaml:4: suites.s.dataset: there is no file case.csv. Did you mean 'cases.csv'?"
    plans_of(tmp_path, BOT + SUITE)  # whoever only scores stored replies needs no file


def test_weights_say_which_of_the_four_scorers_run(tmp_path: Path) -> None:
    two = BOT + "metrics: {metric_weights: {accuracy: 0.5, safety: 0.5}}\nsuites: {s: {dataset: d}}\n"
    [plan] = plans_of(tmp_path, two)
    [default] = plans_of(tmp_path, BOT + "suites: {s: {dataset: d}}\n")

    assert [each.name for each in plan.scorers] == ["accuracy", "safety"]
    assert [each.name for each in default.scorers] == ["accuracy", "relevance", "safety", "performance"]


def test_columns_and_encoding_come_from_the_suite_and_from_the_command(tmp_path: Path) -> None:
    text = BOT + "suites:\n  s: {dataset: d.csv, encoding: windows-1252, fields: {input: Frage}, scorers: [exact]}\n"
    [plan] = plans_of(tmp_path, text)
    [asked] = make_plans(
        load_project(tmp_path / "cortex.yaml"), Request(suite="s", fields={"category": "Thema"}, encoding="latin-1")
    )

    assert (plan.dataset.encoding, dict(plan.dataset.fields)) == ("windows-1252", {"input": "Frage"})
    assert (asked.dataset.encoding, dict(asked.dataset.fields)) == ("latin-1", {"input": "Frage", "category": "Thema"})


def test_figures_of_the_whole_run_can_have_limits(tmp_path: Path) -> None:
    limits = "{max_ece: 0.1, macro_f1: 0.8, max_p95_latency_ms: 2000, exact.weighted_f1: 0.7, entity_recall: 0.5}"
    [plan] = plans_of(tmp_path, BOT + SUITE + f"gate: {{thresholds: {limits}}}\n")

    assert plan.gate.thresholds["max_ece"] == 0.1
    assert "gate.thresholds.max_ecee: there is no such figure. Did you mean 'ece'?" in said(
        tmp_path, BOT + SUITE + "gate: {thresholds: {max_ecee: 0.1}}\n"
    )


def test_what_is_hoped_for_is_read_by_tier_and_overall(tmp_path: Path) -> None:
    hoped = "{overall: {exact: 0.9, max_llm_usage_rate: 0.15}, tiers: {1: {exact: 0.95}, 2: {}}}"
    [plan] = plans_of(tmp_path, BOT + SUITE + f"gate: {{expectations: {hoped}}}\n")

    assert plan.gate.expectations is not None
    assert plan.gate.expectations.overall == {"exact": 0.9, "max_llm_usage_rate": 0.15}
    assert plan.gate.expectations.tiers == {"1": {"exact": 0.95}, "2": {}}
    [silent] = plans_of(tmp_path, BOT + SUITE)
    assert silent.gate.expectations is None


@pytest.mark.parametrize(
    ("hoped", "message"),
    [
        ("{overall: {exat: 0.9}}", "gate.expectations.overall.exat: there is no such figure. Did you mean 'exact'?"),
        ("{tiers: {1: {exact: 90}}}", "gate.expectations.tiers.1.exact: must be a number from 0 to 1"),
        ("{tier: {}}", "Did you mean 'tiers'?"),
    ],
)
def test_a_hope_for_what_does_not_exist_is_told(tmp_path: Path, hoped: str, message: str) -> None:
    assert message in said(tmp_path, BOT + SUITE + f"gate: {{expectations: {hoped}}}\n")
