"""Every mistake in a project file is told at once, with its line and the nearest valid key."""
# ruff: noqa: E501  # a file and what is said about it stand in one line

from __future__ import annotations

from contextlib import suppress

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from written import DESIGN_BLOCK, plans_of, problems_of

from cortex_eval.config import load_project
from cortex_eval.core import InputError
from laws import tried

BOT = "services:\n  bot: {kind: http, api_url: 'http://127.0.0.1:1/'}\n"
SUITE = "suites:\n  s: {dataset: d.jsonl, scorers: [exact]}\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("servises: {}\n", "cortex.yaml:1: there is no key 'servises'. Did you mean 'services'?"),
        (BOT + "metrics:\n  passing_treshold: 0.7\n", "cortex.yaml:4: there is no key 'metrics.passing_treshold'. Did you mean 'passing_threshold'?"),
        (BOT + "gate:\n  treshold: 1\n", "cortex.yaml:4: there is no key 'gate.treshold'. Did you mean 'thresholds'?"),
        (BOT + "suites:\n  s:\n    dataset: d\n    scorer: [exact]\n", "cortex.yaml:6: there is no key 'suites.s.scorer'. Did you mean 'scorers'?"),
        (BOT + "suites:\n  s:\n    service: bot\n", "cortex.yaml:4: suites.s.dataset is missing."),
        (BOT + "gate: {regression: {exact: {dorp: 1}}}\n", "cortex.yaml:3: there is no key 'gate.regression.exact.dorp'. Did you mean 'drop'?"),
        (BOT + "services:\n  bot: {kind: http}\n" + SUITE, "cortex.yaml:1: 'services' is given twice (again on line 3)."),
        (BOT + "targets: {}\n", "cortex.yaml:3: 'services' and 'targets' are the same key; use one of them."),
        (BOT + "suites: {s: {dataset: d, service: bot, target: bot}}\n", "cortex.yaml:3: 'service' and 'target' are the same key; use one of them."),
        (BOT + "database: mysql://u:hunter22@db/x\n", "cortex.yaml:3: a store is a file or a postgresql:// URL, not mysql://. Write database: .cortex/cortex.db, or database: postgresql://user@host/name."),
        (BOT + "database: {type: postgresql}\n", "cortex.yaml:3: a PostgreSQL store needs its url, such as postgresql://user:${PASSWORD}@host:5432/name."),
        ("services:\n  bot: {api_url: 'http://127.0.0.1:1/'}\n" + SUITE, "cortex.yaml:2: services.bot: say what it is, such as `kind: http`."),
        ("services:\n  bot: {kind: htttp}\n" + SUITE, "cortex.yaml:2: services.bot: There is no kind of target 'htttp'. Did you mean 'http'?"),
        ("services:\n  bot:\n    kind: http\n    api_ulr: x\n" + SUITE, "cortex.yaml:4: services.bot has no setting 'api_ulr'. Did you mean 'api_url'?"),
        (BOT + "suites:\n  s:\n    dataset: d\n    scorers:\n      - exakt\n", "cortex.yaml:7: suites.s.scorers.0: There is no scorer 'exakt'. Did you mean 'exact'?"),
        (BOT + "suites:\n  s:\n    dataset: d\n    scorers:\n      - regex:\n          patern: x\n", "cortex.yaml:8: suites.s.scorers.0.regex has no setting 'patern'. Did you mean 'pattern'?"),
        (BOT + "a: !!python/object/apply:os.system [ls]\n", "cortex.yaml:3: "),
        (BOT + "? [a, b]\n: 1\n", "cortex.yaml:3: a key must be a plain word."),
        (BOT + "scorers: [exact]\n", "cortex.yaml:3: there is no key 'scorers'. Did you mean 'suites.NAME.scorers'?"),
        (BOT + "dataset: d.jsonl\n", "cortex.yaml:3: there is no key 'dataset'. Did you mean 'suites.NAME.dataset'?"),
        (BOT + "retry_cont: 1\n", "cortex.yaml:3: there is no key 'retry_cont'. Did you mean 'execution.retry_count'?"),
        (BOT + "suites: {s: {dataset: d, at_once: 3}}\n", "cortex.yaml:3: there is no key 'suites.s.at_once'. Did you mean 'execution.max_concurrent_tests'?"),
        (BOT + "suites:\n  s:\n    dataset: d\n    fields: {inptu: q}\n", "cortex.yaml:6: fields has no 'inptu'. Did you mean 'input'?"),
        (BOT + "suites: {s: {dataset: {path: d, fields: {inptu: q}}}}\n", "cortex.yaml:3: fields has no 'inptu'. Did you mean 'input'?"),
        ("services: {bot: {kind: http, url: '${NOT_SET_ANYWHERE}'}}\n" + SUITE, "cortex.yaml:1: services.bot has no setting 'url'. Did you mean 'api_url'?"),
        (BOT + "suites:\n  s: {dataset: d}\n  other:\n    dataset: d\n    fields: {input: q, anser: a}\n", "cortex.yaml:7: fields has no 'anser'. Did you mean 'answer'?"),
        (BOT + "suites:\n  s:\n    dataset: d\n    fields: {answer: a, ground_truth: b}\n", "cortex.yaml:6: fields names expected.answer twice, as 'a' and as 'b'."),
        (BOT + "gate: {treshold: '${NOT_SET_ANYWHERE}'}\n", "cortex.yaml:3: there is no key 'gate.treshold'. Did you mean 'thresholds'?"),
        ("services:\n  bot:\n    kind: http\n   api_url: x\n", "cortex.yaml:4: column 4: not valid YAML: this line is not indented like those that it belongs to."),
        (BOT + "---\n" + SUITE, "cortex.yaml:3: column 1: not valid YAML: a project file is one document, and here begins a second one."),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_line_and_what_to_do(tmp_path, text, said):
    found = problems_of(tmp_path, text, suite="s")

    assert [each for each in found if each.startswith(said)], found
    assert "hunter22" not in "".join(found)


def test_mistakes_of_all_kinds_are_told_together(tmp_path):
    found = problems_of(
        tmp_path,
        """
services: {bot: {kind: http, api_url: 'ftp://x', timeout_seconds: soon}}
execution: {retry_cont: 1, max_concurrent_tests: "${MANY}"}
suites: {s: {dataset: d, scorers: [exact, {regex: {pattern: 'a('}}, {exact2: {kind: exact, weight: -1}}]}}
plugins: [gone.py]
""",
        suite="s",
    )

    assert [each.split(": ")[0] for each in found] == [
        "cortex.yaml:2",
        "cortex.yaml:3",
        "cortex.yaml:3",
        "cortex.yaml:5",
    ]
    found = problems_of(
        tmp_path,
        """
services: {bot: {kind: http, api_url: 'ftp://x', timeout_seconds: soon}}
execution: {retry_cont: 1}
suites: {s: {dataset: d, scorers: [exact, {regex: {pattern: 'a('}}, {exact2: {kind: exact, weight: -1}}]}}
""",
        suite="s",
    )
    assert [each.split(": ")[0] for each in found] == [
        *["cortex.yaml:2"] * 2,
        "cortex.yaml:3",
        *["cortex.yaml:4"] * 2,
    ]


@pytest.mark.parametrize("suite", ["{dataset: d}", "{dataset: d, scorers: [safty]}", "{dataset: d, scorers: [exact]}"])
def test_a_block_of_metrics_that_no_scorer_reads_is_told_once(tmp_path, suite):
    text = BOT + "metrics:\n  safty: {critical: true}\nsuites:\n  s: " + suite + "\n"

    assert problems_of(tmp_path, text, suite="s") == [
        "cortex.yaml:4: metrics.safty: there is no scorer 'safty'. Did you mean 'safety'?"
    ]


def test_a_mistake_in_the_included_metrics_names_that_file(tmp_path):
    (tmp_path / "metrics_config.yaml").write_text(
        "# scorers\nmetrics:\n  exact: {weight: much}\n  passing_threshold: ${HOW_MUCH}\n"
    )

    found = problems_of(tmp_path, BOT + SUITE)

    assert found == [
        "metrics_config.yaml:3: metrics.exact.weight: must be a number from 0 to 1e+09, not 'much'.",
        "metrics_config.yaml:4: the environment variable HOW_MUCH is not set. Set it, or put it into .env.",
    ]


def test_blocks_of_a_whole_document_load_and_only_what_is_used_must_be_complete(tmp_path, monkeypatch):
    monkeypatch.setenv("CORTEX_API_KEY", "key-12345")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    (plan,) = plans_of(tmp_path, DESIGN_BLOCK, dataset=tmp_path / "d.jsonl", service="chatbot")

    assert plan.target.kind == "chatbot"
    assert plan.target_version == "2.3"
    assert plan.gate.thresholds["max_latency_ms"] == 5000
    assert {each.name: each.critical for each in plan.scorers}["safety"] is True
    found = problems_of(tmp_path, DESIGN_BLOCK, suite="ayurveda")
    assert "cortex.yaml:22: there is no service 'ayurmind'. Known: bio, chatbot, rag, vanilla." in found
    assert any(each.startswith("cortex.yaml:5: services.vanilla: api_key:") for each in found), "and the other mistakes"
    used = problems_of(tmp_path, DESIGN_BLOCK, dataset=tmp_path / "d.jsonl", service="vanilla")
    assert used == [
        "cortex.yaml:5: services.vanilla: api_key: openai needs a key. Set OPENAI_API_KEY, or name another variable: api_key: ${VARIABLE}."
    ]
    monkeypatch.setenv("OPENAI_API_KEY", "key-67890")
    (plan,) = plans_of(tmp_path, DESIGN_BLOCK, dataset=tmp_path / "d.jsonl", service="vanilla")
    assert plan.target.kind == "chat"


def test_keys_of_ones_own_hold_what_anchors_name(tmp_path):
    (tmp_path / "d.jsonl").write_text('{"input": "q"}\n')
    own = "x-shared: &shared {kind: http, api_url: 'http://127.0.0.1:1/'}\nx-more: ${NOT_SET_ANYWHERE}\n"

    (plan,) = plans_of(tmp_path, own + "services: {bot: {<<: *shared}}\n" + SUITE, suite="s")

    assert plan.target_name == "bot"


def test_what_a_merge_brings_may_be_said_otherwise(tmp_path):
    text = (
        "services:\n  one: &usual {kind: http, api_url: 'http://127.0.0.1:1/'}\n"
        "  two: {<<: *usual, api_url: 'http://127.0.0.1:2/'}\n  three: {api_url: 'http://127.0.0.1:3/', <<: *usual}\n"
    )
    plans = [plans_of(tmp_path, text + SUITE, service=name)[0] for name in ("one", "two", "three")]

    assert [plan.target.api_url[-2] for plan in plans] == ["1", "2", "3"]


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
keys = st.sampled_from(
    ["services", "targets", "execution", "models", "metrics", "gate", "suites", "database", "plugins", "dashboard", "x"]
)


@tried(150)
@given(document=st.dictionaries(keys, anything, max_size=5))
def test_whatever_a_file_holds_it_loads_or_says_what_is_wrong(tmp_path, document):
    path = tmp_path / "cortex.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")

    with suppress(InputError):
        load_project(path)


@tried(150)
@example(data=b"a: [1\n")
@example(data=b"a: 'open\n")
@given(data=st.binary(max_size=60) | st.text(alphabet="{}[]:-&*!|>'\"#%@`,? \n\tab<~1", max_size=60).map(str.encode))
def test_whatever_bytes_a_file_holds_it_loads_or_says_what_is_wrong(tmp_path, data):
    path = tmp_path / "cortex.yaml"
    path.write_bytes(data)

    with suppress(InputError):
        load_project(path)
