"""`cortex judges` and `cortex doctor --judges`, run to their end."""

from __future__ import annotations

import asyncio
import json

import pytest

from cortex_eval.testing import ScriptedService, speak_openai

MODELS = {"judge": {"model": "m1", "base_url": "http://127.0.0.1:1/v1"}}


def test_list_shows_judges_prompts_with_versions_and_models(folder):
    folder.write("cortex.yaml", {"models": MODELS})

    plain, machine = folder.cortex("judges", "list"), folder.cortex("judges", "list", "--json")

    assert plain.code == machine.code == 0
    assert "faithfulness_plain" in plain.out
    assert machine.json["models"] == {"judge": "m1"}
    assert {each["name"] for each in machine.json["prompts"]} >= {"faithfulness", "relevance", "rubric", "pairwise"}
    assert all(each["version"] and each["hash"] for each in machine.json["prompts"])


def test_a_file_of_scores_is_compared_with_labels(folder):
    rows = [(f"c{at}", at % 3 != 0, at % 2) for at in range(60)]
    folder.write("scores.csv", "id,score\n" + "".join(f"{id_},{int(score)}\n" for id_, score, _ in rows))
    folder.write("labels.csv", "id,label\n" + "".join(f"{id_},{label}\n" for id_, _, label in rows[:40]))

    done = folder.cortex("judges", "calibrate", "--scores", "scores.csv", "--labels", "labels.csv")
    machine = folder.cortex(
        "judges", "calibrate", "--scores", "scores.csv", "--labels", "labels.csv",
        "--drawn", "random", "--tuned", "no", "--json",
    )  # fmt: skip

    assert done.code == machine.code == 0
    for word in ("kappa", "F1", "precision", "recall", "bias", "best threshold", "chosen on these labels", "corrected"):
        assert word in done.out
    assert done.out.rstrip().endswith("if what is not known above is so.")
    assert machine.json["is_sound"] is True
    assert (machine.json["items"], machine.json["labelled"]) == (60, 40)


def test_words_are_compared_with_words(folder):
    folder.write("scores.csv", "id,score\na,refused\nb,answered\nc,answered\n")
    folder.write("labels.csv", "id,label\na,refused\nb,answered\nc,refused\n")

    done = folder.cortex("judges", "calibrate", "--scores", "scores.csv", "--labels", "labels.csv", "--json")

    assert (done.json["accuracy"], done.json["kinds"]) == (pytest.approx(2 / 3), ["answered", "refused"])
    assert done.json["kappa"]["value"] == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Name a RUN and its --scorer"),
        (["latest"], "--scorer: say which scorer"),
        (["latest", "--scorer", "x", "--scores", "labels.csv"], "leave one of the two out"),
    ],
)
def test_what_is_missing_is_told(folder, arguments, message):
    folder.write("labels.csv", "id,label\na,1\n")

    done = folder.cortex("judges", "calibrate", *arguments, "--labels", "labels.csv")

    assert done.code == 4
    assert message in done.err


def test_a_scorer_of_a_stored_run_is_compared_with_people(clinic):
    project = clinic(cases=20)
    assert project.cortex("run").code == 0
    project.write("labels.csv", "id,label\n" + "".join(f"c{at},{at % 5 != 0:d}\n" for at in range(15)))
    compare = ("judges", "calibrate", "latest", "--labels", "labels.csv")

    done = project.cortex(*compare, "--scorer", "exact", "--json")
    wrong = project.cortex(*compare, "--scorer", "exakt")

    assert done.code == 0, done.err
    assert (done.json["scorer"], done.json["items"], done.json["labelled"]) == ("exact", 20, 15)
    assert done.json["bias"]["value"] == pytest.approx(0.2)
    assert done.json["conditions"][0]["state"] == "met"
    assert wrong.code == 4
    assert "'exact'" in wrong.err


async def test_doctor_tries_the_models_as_judges_and_says_right_of_total(folder):
    content = json.dumps({"reason": "Fine.", "verdict": "pass", "score": 1, "met": "yes", "winner": "first"})
    async with ScriptedService(speak_openai(content)) as model:
        folder.write("cortex.yaml", {"models": {"judge": {"model": "m1", "base_url": model.url}}})
        done = await asyncio.to_thread(folder.cortex, "doctor", "--judges")
        machine = await asyncio.to_thread(folder.cortex, "doctor", "--judges", "--injections", "--json")
        unknown = await asyncio.to_thread(folder.cortex, "doctor", "--model", "juge")

    assert done.code == 4  # a judge that passes everything is none
    assert "judge: relevance 1: 3/6 [0.19, 0.81] right" in done.out
    assert "judge: rubric 1: 3/6" in done.out
    assert [each["name"] for each in machine.json["checks"]] == ["judge"] * 5 + ["injection"]
    # It passes every reply without any attack, so that no attack shows anything: not known, which is not well.
    assert "not one of 52 attacks could be judged" in machine.json["checks"][-1]["message"]
    assert not machine.json["checks"][-1]["ok"]
    assert unknown.code == 4
    assert "'judge'" in unknown.err


def test_doctor_without_models_says_what_to_do(folder):
    folder.write("cortex.yaml", {})

    done = folder.cortex("doctor", "--judges")

    assert done.code == 4
    assert "name one under models:" in done.out


def sheets(folder, labelled: int = 40) -> list[str]:
    """A judge and two experts who all see the same, now and then otherwise; gives the command that compares them."""
    rows = [
        (f"c{at}", at % 2, at % 2 ^ (at % 8 == 7), at % 2 ^ (at % 10 == 9), at % 2 ^ (at % 9 == 8)) for at in range(60)
    ]
    folder.write("scores.csv", "id,score\n" + "".join(f"{id_},{judge}\n" for id_, _, judge, _, _ in rows))
    people = "".join(f"{id_},What of {id_}?,{a},{b}\n" for id_, _, _, a, b in rows[:labelled])
    folder.write("labels.csv", f"id,question,dr_a,dr_b\n{people}")
    return ["judges", "calibrate", "--scores", "scores.csv", "--labels", "labels.csv"]


def test_two_experts_in_columns_are_shown_beside_the_judge_in_eighty_columns(folder):
    done = folder.cortex(*sheets(folder))

    assert done.code == 0, done.err
    for pair in ("judge – majority", "judge – dr_a", "judge – dr_b", "dr_a – dr_b"):
        assert pair in done.out
    assert "as good as a person" in done.out
    assert max(map(len, done.out.splitlines())) <= 80
    kappa = next(line for line in done.out.splitlines() if line.startswith("kappa"))
    assert "32/40" in kappa
    assert "Left out of the yes-or-no figures" in done.out


def test_a_bias_whose_interval_holds_zero_is_not_called_kind_or_strict(folder):
    command = sheets(folder)
    unsure = folder.cortex(*command).out
    folder.write("labels.csv", "id,label\n" + "".join(f"c{at},0\n" for at in range(60)))
    kind = folder.cortex(*command).out

    assert "no bias can be seen" in unsure
    assert "too kind" not in unsure
    assert "too kind" in kind


def test_words_that_people_dispute_are_told_apart_from_those_without_a_score(folder):
    folder.write("scores.csv", "id,score\na,refused\nb,answered\nc,answered\n")
    folder.write("labels.csv", "id,x,y\na,refused,refused\nb,answered,refused\nd,answered,answered\n")

    done = folder.cortex("judges", "calibrate", "--scores", "scores.csv", "--labels", "labels.csv")

    assert "against 1 label; left out: 1 without a score, 1 on which people disagree" in done.out
    assert "1/3" in done.out


async def test_a_run_whose_judge_gives_no_verdict_says_what_that_cost(clinic):
    async with ScriptedService(speak_openai("I will not say.")) as model:
        project = clinic(
            cases=3,
            models={"judge": {"model": "m1", "base_url": model.url, "prices": {"input": 1, "output": 1}}},
            suites={
                "clinic": {
                    "dataset": "cases.jsonl",
                    "scorers": [{"judge": {"prompt": "Polite? {answer}", "attempts": 2}}],
                }
            },
        )
        done = await asyncio.to_thread(project.cortex, "run", "--json")

    assert len(model.ledger) == 6
    assert done.json["usage"]["judge"]["cost"] == {"USD": str(6 * 0.000019)}
