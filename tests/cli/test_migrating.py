"""What `docs/migrate.md` promises: somebody else's cases and answers run with nothing but a project file."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
AYURMIND = REPOSITORY.parent / "shared" / "data" / "ayurmind_eval"
PAGE = (REPOSITORY / "docs/migrate.md").read_text("utf-8")
EXAMPLES = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
PROMPTFOO, DEEPEVAL, INSPECT = EXAMPLES[1:]
CODE = re.findall(r"^```python.*?\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
IN_PLACE_OF_CODE = next(code for code in CODE if "def fits_the_screen" in code)
FROM_A_LOG = next(code for code in CODE if "log.json" in code)


@pytest.mark.slow
@pytest.mark.skipif(not AYURMIND.is_dir(), reason="../shared/data/ayurmind_eval is not there")
def test_recorded_answers_of_three_systems_run_by_writing_only_a_project_file(tmp_path):
    shutil.copytree(AYURMIND, tmp_path / "ayurmind")
    written = EXAMPLES[0]
    (tmp_path / "ayurmind" / "cortex.yaml").write_text(written, "utf-8")
    cortex = Path(sys.executable).with_name("cortex")

    done = subprocess.run(
        [cortex, "run", "--json", "--offline"], cwd=tmp_path / "ayurmind", capture_output=True, text=True, check=False
    )

    assert done.returncode == 2, done.stderr
    reports = json.loads(done.stdout)
    assert [each["run"]["target"]["name"] for each in reports] == ["ayurmind", "single_rag", "vanilla"]
    for report in reports:
        assert report["totals"]["cases"] == 16
        assert report["totals"]["errors"] == 0
        assert set(report["metrics"]) >= {"classification", "completeness", "safety", "readability"}
        assert "latency_ms" not in report["metrics"], "the files state no times"
    right = {each["run"]["target"]["name"]: each["metrics"]["classification"]["mean"] for each in reports}
    assert right == {"ayurmind": 1 / 16, "single_rag": 8 / 16, "vanilla": 1 / 16}


PROMPTFOO_TESTS = """
prompts: ["Answer in one sentence: {{question}}"]
providers: [openai:chat:gpt-4.1-mini]
tests:
  - vars: {question: Who wrote Emma?}
    assert:
      - {type: icontains, value: jane austen}
      - {type: not-contains, value: Brontë}
      - {type: llm-rubric, value: polite}
  - vars: {question: Who wrote Ulysses?}
    assert: [{type: contains-any, value: [Joyce, Homer]}, {type: word-count, value: {max: 3}}]
  - vars: {question: What is new?}
    assert: [{type: javascript, value: output.length}]
  - vars: {question: Hello?}
"""


def test_the_project_file_of_promptfoo_users_can_be_planned(folder, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-a-test-1")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-of-a-test-2")
    folder.write("cortex.yaml", PROMPTFOO)
    folder.write("promptfooconfig.yaml", PROMPTFOO_TESTS)
    assert folder.cortex("datasets", "export", "promptfooconfig.yaml", "tests.jsonl").code == 0

    done = folder.cortex("run", "questions", "--dry-run")

    assert done.code == 0, done.err
    assert "checks, rubric, relevance" in done.out


def test_what_promptfoo_asserts_of_single_tests_is_checked_as_it_stands(folder):
    folder.write("bot.py", "def answer(question):\n    return 'It was Jane Austen, or James Joyce.'\n")
    folder.write("mine.py", IN_PLACE_OF_CODE)
    folder.write("promptfooconfig.yaml", PROMPTFOO_TESTS)
    folder.write(
        "cortex.yaml",
        "services: {bot: {kind: python, call: 'bot.py:answer'}}\nplugins: [mine.py]\n"
        "suites: {s: {dataset: promptfooconfig.yaml, scorers: [checks, fits_the_screen]}}\n",
    )

    done = folder.cortex("run")

    shown = folder.cortex("runs", "show", "latest", "--replies", "--json").json["results"]
    found = {each["input"]: each["scores"] for each in shown}
    assert [found["Who wrote Emma?"]["checks"][key] for key in ("value", "passed")] == [1.0, True]
    assert found["Who wrote Ulysses?"]["checks"]["value"] == 0.5
    assert found["Who wrote Ulysses?"]["checks"]["passed"] is False
    assert found["Who wrote Ulysses?"]["checks"]["reason"] == (
        "The reply has 7 words, more than 3; 1 of 2 checks hold."
    )
    assert found["What is new?"]["checks"].get("value") is None
    assert found["What is new?"]["fits_the_screen"]["value"] == 1.0
    assert "nothing here looks at: 1 × javascript." in " ".join(done.out.split())


def test_test_cases_of_deepeval_are_scored_as_they_were_recorded(folder):
    call = {"name": "find_order", "input_parameters": {"nr": 7}}
    rows = [
        {
            "id": "refund",
            "input": "What if these shoes don't fit?",
            "actual_output": "You have 30 days to get a full refund.",
            "expected_output": "You have 30 days to return them.",
            "retrieval_context": ["All customers have 30 days to get a full refund at no extra cost."],
            "tools_called": [call],
            "expected_tools": [call],
        },
        {"id": "hello", "input": "Hello", "actual_output": "Bye.", "tools_called": [call], "expected_tools": []},
    ]
    folder.write("test_cases.json", json.dumps(rows))
    folder.write("cortex.yaml", DEEPEVAL.replace("[correctness, ", "["))  # no model is asked here

    folder.cortex("run", "--offline")

    shown = folder.cortex("runs", "show", "latest", "--replies", "--json").json["results"]
    scores = {each["case_id"]: each["scores"] for each in shown}
    assert (scores["refund"]["tool"]["value"], scores["hello"]["tool"]["value"]) == (1.0, 0.0)
    assert scores["refund"]["faithfulness"]["value"] > 0.5
    folder.write("cortex.yaml", DEEPEVAL.replace("openai:gpt-4.1-mini", 'x", base_url: "http://127.0.0.1:9'))
    assert folder.cortex("run", "--dry-run").code == 0


def test_the_answers_of_an_inspect_log_are_scored_anew(folder):
    def sample(number, epoch, said):
        output = {"choices": [{"message": {"role": "assistant", "content": said}}]}
        asked = [{"role": "user", "content": f"Question {number}?"}]
        return {"id": number, "epoch": epoch, "input": asked, "target": "yes", "output": output}

    log = {"samples": [sample(1, 1, "yes"), sample(1, 2, "no"), sample(2, 1, "Oh yes."), sample(2, 2, "yes")]}
    folder.write("log.json", json.dumps(log))
    folder.write("convert.py", FROM_A_LOG)
    subprocess.run([sys.executable, "convert.py"], cwd=folder.root, check=True)
    folder.write("cortex.yaml", INSPECT.replace("repeat: 1", "repeat: 2"))

    report = folder.cortex("run", "--json").json

    assert report["totals"]["errors"] == 0
    assert report["metrics"]["contains"]["mean"] == 0.75


def test_the_scorers_that_the_page_names_are_there():
    done = subprocess.run(
        [sys.executable, "-c", "from cortex_eval.scoring import scorers; print(*scorers)"],
        capture_output=True,
        text=True,
        check=True,
    )
    linked = re.findall(r"\[`(\w+)`\]\(scorers[\w-]*\.md#(\w+)\)", PAGE)

    assert len(linked) > 30
    assert [name for name, place in linked if name not in done.stdout.split() or name != place] == []
