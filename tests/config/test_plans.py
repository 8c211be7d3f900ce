"""From a project file to plans: suites, several targets, scorers with settings, plugins."""

from __future__ import annotations

import pytest
from written import CITATIONS, FUNCTIONS, HELPDESK, SEED_BLOCK, forget_plugins, plans_of, problems_of

from cortex_eval.config import Request, load_project, make_plans

BOTS = """
targets:
  one: {kind: http, api_url: "http://127.0.0.1:1/"}
  two: {kind: http, api_url: "http://127.0.0.1:2/"}
"""


def test_targets_and_services_are_the_same_key(tmp_path):
    first = plans_of(tmp_path, BOTS + "suites: {s: {dataset: d, targets: [one], scorers: [exact]}}\n")
    renamed = BOTS.replace("targets", "services") + "suites: {s: {dataset: d, services: [one], scorers: [exact]}}\n"
    second = plans_of(tmp_path, renamed)
    third = plans_of(tmp_path, BOTS + "suites: {s: {dataset: d, target: one, scorers: [exact]}}\n")

    assert [plan.identity() for plan in first] == [plan.identity() for plan in second]
    assert first[0].identity() == third[0].identity()


def test_a_suite_with_several_targets_is_a_plan_for_each(tmp_path):
    plans = plans_of(tmp_path, BOTS + "suites: {s: {dataset: d, targets: [two, one], scorers: [exact]}}\n")

    assert [plan.target_name for plan in plans] == ["two", "one"]
    assert len({plan.target_fingerprint for plan in plans}) == 2


def test_a_block_of_metrics_that_no_scorer_reads_is_a_mistake_also_when_the_suite_names_its_scorers(tmp_path):
    text = BOTS + "metrics: {accurcy: {critical: true}}\nsuites: {s: {dataset: d, target: one, scorers: [exact]}}\n"

    (told,) = problems_of(tmp_path, text)

    assert "metrics.accurcy: there is no scorer 'accurcy'. Did you mean 'accuracy'?" in told


def test_scorers_take_settings_weights_and_other_names(tmp_path):
    text = (
        BOTS
        + """
metrics:
  exact: {ignore_punctuation: true, weight: 3}
  unused: {kind: contains}
suites:
  s:
    dataset: d
    target: one
    passing_threshold: 0.9
    scorers:
      - exact
      - polite: {kind: regex, pattern: please, ignore_case: true, critical: true, threshold: 1}
      - {shouts: {kind: regex, pattern: "!!", should_match: false, weight: 0}}
"""
    )
    (plan,) = plans_of(tmp_path, text)

    named = {each.name: each for each in plan.scorers}
    assert {name: each.kind for name, each in named.items()} == {"exact": "exact", "polite": "regex", "shouts": "regex"}
    assert named["exact"].scorer.ignore_punctuation is True
    assert (named["exact"].weight, named["polite"].weight, named["shouts"].weight) == (3, 1, 0)
    assert (named["polite"].critical, named["polite"].threshold) == (True, 1)
    assert named["shouts"].scorer.should_match is False
    assert plan.passing_threshold == 0.9


def test_without_a_suite_the_scorers_are_the_seeds_four_and_what_is_configured(tmp_path):
    (plan,) = plans_of(
        tmp_path, BOTS + "metrics: {exact: {}, passing_threshold: 0.5}\n", dataset=tmp_path / "d.csv", service="one"
    )

    assert [each.name for each in plan.scorers] == ["accuracy", "relevance", "safety", "performance", "exact"]
    assert plan.passing_threshold == 0.5
    assert plan.dataset.path == tmp_path / "d.csv"


def test_a_dataset_block_names_columns_and_encoding(tmp_path):
    dataset = "{path: a.csv, fields: {input: frage}, encoding: latin-1}"
    (plan,) = plans_of(tmp_path, BOTS + f"suites: {{s: {{target: one, scorers: [exact], dataset: {dataset}}}}}\n")

    assert (plan.dataset.path, plan.dataset.fields, plan.dataset.encoding) == (
        tmp_path / "a.csv",
        {"input": "frage"},
        "latin-1",
    )


def test_a_suite_has_its_own_gate_and_quick_sample(tmp_path):
    text = (
        BOTS
        + """
gate: {mode: strict, thresholds: {pass_rate: 0.9}}
suites:
  s: {dataset: d, target: one, scorers: [exact], gate: {thresholds: {exact: 0.5}}, quick: {per_category: 7}, repeat: 3}
  t: {dataset: d, target: one, scorers: [exact]}
"""
    )
    (own,) = plans_of(tmp_path, text, suite="s", is_quick=True)
    (shared,) = plans_of(tmp_path, text, suite="t", fail_under=0.4, baseline="main", repeats=2, at_once=3)

    assert own.gate.thresholds == {"exact": 0.5}
    assert own.selection.per_category == 7
    assert own.repeats == 3
    assert (shared.gate.mode, shared.gate.thresholds) == ("strict", {"pass_rate": 0.9})
    assert (shared.gate.fail_under, shared.gate.baseline, shared.repeats, shared.at_once) == (0.4, "main", 2, 3)


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ({"suite": "tt"}, "there is no suite 'tt'"),
        ({}, "Name a suite: s, t."),
        ({"dataset": "d.csv"}, "name one of the services with --service: one, two."),
        ({"suite": "s", "service": "on"}, "there is no service 'on'. Did you mean 'one'?"),
    ],
)
def test_what_to_run_must_be_clear(tmp_path, request_, said):
    if "dataset" in request_:
        request_ = {"dataset": tmp_path / request_["dataset"]}
    text = BOTS + "suites: {s: {dataset: d}, t: {dataset: d}}\n"

    (found,) = problems_of(tmp_path, text, **request_)

    assert said in found


def test_the_seeds_block_loads_to_the_letter_and_paths_start_at_the_project(tmp_path, monkeypatch):
    monkeypatch.setenv("CORTEX_API_KEY", "seed-key-1")
    (tmp_path / "config").mkdir()
    path = tmp_path / "config" / "config.yaml"
    path.write_text(SEED_BLOCK)
    (tmp_path / "config" / "metrics_config.yaml").write_text(
        "accuracy: {bleu_weight: 1.0, rouge_weight: 0.0}\nexact: {}\n"  # the project file wins; exact is added
    )

    project = load_project(path)
    (plan,) = make_plans(project, Request(dataset=tmp_path / "datasets" / "patient_inquiries.json"))

    assert project.root == tmp_path
    assert project.store == tmp_path / "reports" / "results.db"
    assert plan.target_name == "chatbot"
    assert plan.patience.timeout_s == 10
    assert (plan.patience.retries, plan.patience.retry_delay_s, plan.at_once) == (2, 1, 5)
    assert {each.name: each.weight for each in plan.scorers} == {
        "accuracy": 0.4,
        "relevance": 0.3,
        "safety": 0.2,
        "performance": 0.1,
        "exact": 0.0,
    }
    assert plan.scorers[0].settings == {"bleu_weight": 0.4, "rouge_weight": 0.6}
    (rag,) = make_plans(project, Request(dataset=tmp_path / "d.json", service="rag"))
    assert (rag.target.kind, rag.patience.timeout_s) == ("rag", 15)


def test_plugins_bring_scorers_and_targets(tmp_path, monkeypatch):
    forget_plugins(monkeypatch)
    (tmp_path / "scorers").mkdir()
    (tmp_path / "scorers" / "clinic.py").write_text(CITATIONS)
    (tmp_path / "helpdesk.py").write_text(HELPDESK)
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    (tmp_path / "words.py").write_text("POLITE = ('please', 'thank')\n")
    text = """
services: {desk: {kind: helpdesk, url: "http://127.0.0.1:1/"}}
plugins: [scorers/clinic.py, helpdesk, functions.py]
suites:
  s:
    dataset: d
    service: desk
    scorers: [{named_sources: {required: [Handbook, Policy 7]}}, is_polite, is_short, {kind_words: {kind: is_polite}}]
"""

    (plan,) = plans_of(tmp_path, text)

    assert plan.target.kind == "helpdesk"
    assert [each.name for each in plan.scorers] == ["named_sources", "is_polite", "is_short", "kind_words"]
    assert plan.scorers[0].scorer.required == ("Handbook", "Policy 7")
    assert plan.scorers[2].threshold == 0.25
    missing = text.replace("[Handbook, Policy 7]", "7")
    assert "suites.s.scorers.0.named_sources.required" in problems_of(tmp_path, missing)[0]


def test_a_plan_says_which_setting_holds_the_address_of_its_target(tmp_path):
    first, second = plans_of(tmp_path, BOTS + "suites: {s: {dataset: d, targets: [one, two], scorers: [exact]}}\n")
    model = "services: {m: {kind: chat, model: local, base_url: 'http://127.0.0.1:1/v1'}}\n"
    (chat,) = plans_of(tmp_path, model + "suites: {s: {dataset: d, service: m, scorers: [exact]}}\n")
    own = "services: {f: {kind: command, command: [cat]}}\n"
    (program,) = plans_of(tmp_path, own + "suites: {s: {dataset: d, service: f, scorers: [exact]}}\n")

    assert first.address_at.startswith("api_url of targets.one (")
    assert second.address_at == first.address_at.replace("one", "two").replace(":3)", ":4)")
    assert chat.address_at.startswith("base_url of services.m (")
    assert program.address_at == ""
