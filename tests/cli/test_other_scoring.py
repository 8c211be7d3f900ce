"""The same bot where an extra is installed and where it is not: what is scored in another way is not compared."""

from __future__ import annotations

import json
import re

import pytest
from installed import Folder

from cortex_eval.scoring import can_embed
from cortex_eval.testing import ScriptedService

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not can_embed(), reason="the extra `embed` is not installed"),
]
SAID = {
    "What is the dose of insulin?": "The amount of this hormone is set by your physician.",
    "How do I treat a fever?": "Drink water, rest, and use a pain reliever.",
    "Can I eat before a blood test?": "No, stay without meals for some hours beforehand.",
    "Where is the pharmacy?": "The drugstore is downstairs.",
}
WITHOUT_EMBED = 'import sys\nsys.modules.update(dict.fromkeys(("onnx", "onnxruntime")))\n'


def answer(call):
    return {"text": SAID[call.json["query"]]}


def desk(folder, bot, *suites, **gate):
    rows = [{"id": f"q{n}", "input": question} for n, question in enumerate(SAID)]
    folder.write("cases.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    suite = {"dataset": "cases.jsonl", "scorers": ["relevance", "safety"]}
    folder.write("bare/sitecustomize.py", WITHOUT_EMBED)
    folder.write(
        "cortex.yaml",
        {
            "services": {"chatbot": {"api_url": bot.url}},
            "suites": dict.fromkeys(suites or ("desk",), suite),
            "gate": {"thresholds": {"pass_rate": 0.0}, "mode": "strict", **gate},
        },
    )


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """A baseline with the model, runs without it, and the baseline scored anew; with what each command said."""
    folder = Folder(tmp_path_factory.mktemp("desk"))
    bare = {"PYTHONPATH": str(folder.root / "bare")}
    with ScriptedService.in_thread(answer) as bot:
        desk(folder, bot, baseline="main")
        folder.cortex("run")
        base = folder.cortex("baseline", "set", "latest", "--name", "main", "--json").json["run"]
        said = {"base": base, "ci": folder.cortex("ci", "--baseline", "main", **bare)}
        said["comment"] = (folder.root / "reports/evaluation/pr_comment.md").read_text(encoding="utf-8")
        page = max(folder.root.glob("reports/evaluation/report_*.html"), key=lambda each: each.stat().st_mtime_ns)
        said["page"] = page.read_text(encoding="utf-8")
        said["report"] = folder.cortex("runs", "show", "latest", "--json").json
        said["compared"] = folder.cortex("compare", "main", "latest")
        said["markdown"] = folder.cortex("compare", "main", "latest", "-f", "markdown").out
        said["doctor"] = folder.cortex("doctor", **bare), folder.cortex("doctor")
        calls = len(bot.ledger)
        said["rescored"] = folder.cortex("rescore", base, **bare)
        said["calls"] = len(bot.ledger) - calls
        folder.cortex("baseline", "set", "latest", "--name", "main")
        said["again"] = folder.cortex("run", "--baseline", "main", **bare)
    return said


def flat(text):
    return " ".join(text.split())


def test_the_same_bot_without_the_model_is_inconclusive_and_no_regression(told):
    said = flat(told["ci"].out)

    assert told["ci"].code == 0
    assert (
        "INCONCLUSIVE relevance is scored in another way than in main: shared words (without cortex-eval[embed]) "
        "instead of the embedding model. Not compared for that: relevance, pass_rate, overall_score. To compare: "
        "install cortex-eval[embed] here, or score the replies of main as here, with cortex rescore, and set it again."
    ) in said
    assert f"Score the baseline in the same way: cortex rescore {told['base']}" in said
    assert "Then: cortex baseline set latest --name main" in said
    assert max(map(len, told["ci"].out.splitlines())) <= 80


def test_the_comment_the_page_and_the_report_say_the_same(told):
    assert re.search(r"\| `relevance` \| \S+ \| .* \| not compared \|", told["comment"])
    assert re.search(r"\| `safety` \| \S+ \| .* \| 0.00", told["comment"])
    assert f"- Score the baseline in the same way: `cortex rescore {told['base']}`" in told["comment"]
    assert "? other scoring" in told["page"]
    assert "not compared" in told["page"]
    change = told["report"]["baseline_comparison"]["relevance"]
    assert change["diff"] is None
    assert "instead of the embedding model" in change["not_compared"]
    assert told["report"]["regressions"] == []
    assert told["report"]["run"]["manifest"]["scored_by"] == {"relevance": "shared words (without cortex-eval[embed])"}


def test_compare_takes_the_name_of_a_baseline_and_cannot_tell(told):
    said = flat(told["compared"].out)

    assert told["compared"].code == 0
    assert f"A {told['base']}" in said
    assert re.search(r"relevance 0\.\d+ 0\.\d+ – not compared", said)
    assert "CANNOT TELL Not compared, for B is not scored as A is: relevance, pass_rate, overall_score." in said
    assert f"Score A in the same way: cortex rescore {told['base']}" in said
    assert "| not compared |" in told["markdown"]


def test_a_baseline_that_is_scored_in_the_same_way_without_a_call_is_compared_again(told):
    assert told["calls"] == 0
    assert "Make it the baseline: cortex baseline set " in flat(told["rescored"].out)
    assert told["again"].code == 0
    assert "PASSED" in told["again"].out
    assert "No regression against main." in flat(told["again"].out)


def test_doctor_warns_of_a_scorer_that_falls_back_to_words(told):
    bare, whole = told["doctor"]

    assert bare.code == whole.code == 0
    line = next(line for line in bare.out.splitlines() if " embed " in line)
    assert line.startswith("warn")
    assert "relevance of desk falls back to shared words." in flat(bare.out)
    assert "not comparable with those of runs that have it" in flat(bare.out)
    assert re.search(r"^ok    embed +installed", whole.out, re.MULTILINE)


def test_a_baseline_of_several_suites_is_that_of_the_other_run(tmp_path):
    folder = Folder(tmp_path)
    with ScriptedService.in_thread(answer) as bot:
        desk(folder, bot, "desk", "night")
        ids = {}
        for suite in ("desk", "night"):
            folder.cortex("run", suite)
            ids[suite] = folder.cortex("baseline", "set", "latest", "--name", "main", "--json").json["run"]
        folder.cortex("baseline", "set", ids["desk"], "--name", "old")

        right = folder.cortex("compare", "main", ids["night"], "--json")
        both = folder.cortex("compare", "old", "main", "--json")
        several = folder.cortex("compare", "main", "main")
        none = folder.cortex("compare", "old", ids["night"])

    assert [each["id"] for each in right.json["runs"]] == [ids["night"], ids["night"]]
    assert [each["id"] for each in both.json["runs"]] == [ids["desk"], ids["desk"]]
    assert (several.code, none.code) == (4, 4)
    assert several.err == (
        f"Error: The baseline 'main' could be meant of several suites: it is {ids['desk']} of desk, "
        f"{ids['night']} of night. Name a run instead.\n"
    )
    assert none.err == f"Error: The baseline 'old' is none of night: it is {ids['desk']} of desk. Name a run instead.\n"


def test_of_a_baseline_of_figures_compare_says_that_it_needs_a_run(tmp_path):
    folder = Folder(tmp_path)
    with ScriptedService.in_thread(answer) as bot:
        desk(folder, bot)
        folder.cortex("run")
    folder.write("baseline.json", {"overall_intent_accuracy": 0.9})
    folder.cortex("baseline", "import", "baseline.json", "--name", "elsewhere", "--suite", "desk")

    done = folder.cortex("compare", "elsewhere", "latest")

    assert done.code == 4
    assert "Of the baseline 'elsewhere' of desk only figures are in this store" in done.err
