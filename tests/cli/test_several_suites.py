"""Several suites in one command: one after the other, each with its own report, and the gravest exit code."""

from __future__ import annotations

import asyncio
import json

import pytest
import yaml
from installed import clinic_rows, right_answers
from stopped_runs import stop_and_let_go

from cortex_eval.testing import Answer


@pytest.fixture
def project(clinic):
    """Three suites: one that passes, one that is below its limit, and one with two targets that passes."""
    made = clinic(cases=3)
    made.write("visits.jsonl", "".join(json.dumps({**row, "category": "v"}) + "\n" for row in clinic_rows(5)[3:]))
    bot = {"kind": "chatbot", "api_url": made.bot.url}
    document = {
        "services": {"chatbot": bot, "second": bot},
        "execution": {"retry_count": 0},
        "suites": {
            "clinic": {"dataset": "cases.jsonl", "scorers": ["exact"], "service": "chatbot"},
            "visits": {
                "dataset": "visits.jsonl",
                "scorers": ["exact"],
                "service": "chatbot",
                "gate": {"thresholds": {"pass_rate": 0.9}},
            },
            "both": {"dataset": "cases.jsonl", "scorers": ["exact"], "services": ["chatbot", "second"]},
        },
    }
    made.write("cortex.yaml", document)
    made.bot.reply = lambda call: {"text": "No."} if "Question 4" in call.json["query"] else right_answers(call)
    return made


def files_in(project, suite: str) -> set[str]:
    folder = project.root / "reports" / "evaluation" / suite
    return {path.name.partition("_")[0] + path.suffix for path in folder.iterdir()}


def test_suites_run_one_after_the_other_and_the_gravest_exit_code_is_the_commands(project):
    done = project.cortex("run", "visits", "clinic")

    assert done.code == 2
    assert [question.partition("?")[0] for question in sorted(project.is_asked()[:2])] == ["Question 3", "Question 4"]
    assert done.out.startswith("visits, 1 of 2\nvisits.jsonl (2 cases) → chatbot\n")
    assert "\n\nclinic, 2 of 2\ncases.jsonl (3 cases) → chatbot\n" in done.out
    clinic, visits = (each["id"] for each in project.cortex("runs", "list", "--json").json)
    assert done.out.endswith(
        "\n2 suites run\n\n"
        f"  visits  BELOW THRESHOLD  pass_rate 0.50 is under 0.90. Run {visits}.\n"
        f"                           cortex analyze {visits}\n"
        f"  clinic  PASSED           overall_score 1.00 reaches 0.70. Run {clinic}.\n"
        "                           3 cases: the pass rate may be anywhere from 0.44 to\n"
        "                           1.00.\n\n"
        "Exit code 2, by visits.\n"
    )
    assert all(len(line) <= 80 for line in done.out.splitlines())
    assert {"report.html", "evaluation.json", "results.jsonl"} <= files_in(project, "visits") & files_in(
        project, "clinic"
    )
    assert project.cortex("run", "clinic", "--output-dir", "alone").code == 0
    assert (project.root / "alone" / "results_clinic_chatbot.jsonl").is_file(), "one suite has no folder of its own"


def rows_in(project, name: str) -> list[str]:
    lines = (project.root / "reports" / "evaluation" / name).read_text("utf-8").splitlines()
    return [json.loads(line)["case_id"] for line in lines]


def test_a_suite_does_not_replace_the_result_rows_of_another_one_with_the_same_target(project):
    assert project.cortex("run", "clinic").code == 0
    assert project.cortex("run", "visits").code == 2
    assert project.cortex("ci", "clinic", "--case", "c1").code == 0
    assert project.cortex("report", "latest~1", "-f", "jsonl").out == (
        "reports/evaluation/results_visits_chatbot.jsonl\n"
    )

    assert rows_in(project, "results_clinic_chatbot.jsonl") == ["c1"], "the next run of the same suite replaces them"
    assert rows_in(project, "results_visits_chatbot.jsonl") == ["c3", "c4"]
    assert not (project.root / "reports" / "evaluation" / "results_chatbot.jsonl").exists()


def test_runs_of_one_suite_that_are_reported_together_have_their_rows_each(project):
    for case in ("c0", "c1"):
        project.cortex("run", "clinic", "--case", case)

    written = project.cortex("report", "latest~1", "latest", "-f", "jsonl").out.split()

    assert [rows_in(project, path.rpartition("/")[2]) for path in written] == [["c0"], ["c1"]]


def test_suites_whose_names_have_no_latin_letter_have_a_folder_each(project):
    document = yaml.safe_load((project.root / "cortex.yaml").read_text("utf-8"))
    suites = document["suites"]
    document["suites"] = {"निदान": suites["clinic"], "दवा": suites["visits"]}
    project.write("cortex.yaml", document)

    project.cortex("run", "--all-suites")

    assert [len(list(path.glob("results_*"))) for path in (project.root / "reports" / "evaluation").iterdir()] == [1, 1]


def test_all_suites_are_run_and_several_targets_stand_beside_each_other_in_their_suite(project):
    done = project.cortex("run", "--all-suites")

    assert done.code == 2
    assert [line.split()[:3] for line in done.out.splitlines() if "PASSED  " in line and line.startswith("  ")] == [
        ["clinic", "PASSED", "overall_score"],
        ["both", "→", "chatbot"],
        ["both", "→", "second"],
    ]
    assert "3 suites run" in done.out
    assert "All targets beside each other: reports/evaluation/both/evaluation_summary_report.md" in done.err
    assert [each["run"]["suite"] for each in project.cortex("run", "--all-suites", "--json").json] == [
        "clinic",
        "visits",
        "both",
        "both",
    ]


def test_a_run_that_broke_is_graver_than_one_below_its_limit(project):
    project.bot.reply = lambda call: Answer(500) if "Question 0" in call.json["query"] else {"text": "No."}

    done = project.cortex("run", "clinic", "visits")

    assert done.code == 3
    assert "Exit code 3, by clinic." in done.out


def test_what_would_be_run_is_told_suite_by_suite(project):
    done = project.cortex("run", "--all-suites", "--dry-run")

    heads = [line for line in done.out.splitlines() if line and not line.startswith(" ")]
    assert [head for head in heads if "→" not in head] == ["clinic", "visits", "both", "both"]
    assert project.bot.ledger == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("clinic", "visits", "--resume", "latest"), "leave SUITE out, or start a new run"),
        (("--all-suites", "--resume", "latest"), "leave --all-suites out, or start a new run"),
        (("clinic", "visits", "--dataset", "cases.jsonl"), "--dataset is that of one run"),
        (("clinic", "visits", "--failed-of", "latest"), "--failed-of names a run"),
        (("--all-suites", "--changed-since", "latest"), "--changed-since names a run"),
        (("clinic", "--all-suites"), "--all-suites runs clinic too"),
        (("clinic", "clinic"), "The suite clinic is named twice."),
        (("clinic", "vists"), "there is no suite 'vists'. Did you mean 'visits'?"),
        (("--all-suites", "--category", "v"), "clinic: The dataset has no category 'v'."),
        (("--all-suites", "--baseline", "main"), "There is no baseline 'main' for clinic."),
    ],
)
def test_what_makes_no_sense_for_several_suites_is_refused_before_anything_is_asked(project, arguments, said):
    done = project.cortex("run", *arguments)

    assert (done.code, done.out) == (4, "")
    assert said in done.err
    assert project.bot.ledger == []


def test_a_mistake_in_the_last_dataset_is_told_before_the_first_is_run(project):
    project.write("visits.jsonl", '{"id": "a"}\n')

    done = project.cortex("run", "clinic", "visits")

    assert done.code == 4
    assert "visits.jsonl:1" in done.err
    assert project.bot.ledger == []


def test_the_dashboard_of_each_suite_has_its_own_name(project):
    config = json.loads((project.root / "cortex.yaml").read_text())
    project.write("cortex.yaml", {**config, "dashboard": {"output_path": "pages/board.html"}})

    project.cortex("run", "--all-suites")

    assert sorted(path.name for path in (project.root / "pages").iterdir()) == [
        "board_both_chatbot.html",
        "board_both_second.html",
        "board_clinic.html",
        "board_visits.html",
    ]


def test_when_one_is_stopped_the_others_are_not_begun_and_are_named(project):
    gate = asyncio.Event()

    async def reply(call):
        if call.number > 1:
            await gate.wait()
        return right_answers(call)

    project.bot.reply = reply
    running = project.start("run", "--all-suites", "--concurrency", "1")
    project.bot.wait_for_calls(2)
    _, err = stop_and_let_go(running, project.bot, gate)

    assert running.returncode == 130
    assert "Not begun: visits, both → chatbot, both → second." in err
    assert "Go on: cortex run --resume " in err
    assert len(project.bot.ledger) == 2


def test_suites_with_long_names_are_told_in_lines_that_can_be_read(project):
    document = json.loads((project.root / "cortex.yaml").read_text())
    long_name = "questions-of-patients-about-their-medicines-in-all-languages"
    document["suites"] = {long_name: document["suites"]["both"], "visits": document["suites"]["visits"]}
    project.write("cortex.yaml", document)

    done = project.cortex("run", "--all-suites")

    few = f"{' ' * 21}3 cases: the pass rate may be anywhere from 0.44 to 1.00.\n"
    clinic, second, visits = [each["id"] for each in project.cortex("runs", "list", "--json").json][::-1]
    assert done.out.endswith(
        "\n2 suites run\n\n"
        f"  {long_name} → chatbot\n"
        f"    PASSED           overall_score 1.00 reaches 0.70. Run {clinic}.\n"
        f"{few}"
        f"  {long_name} → second\n"
        f"    PASSED           overall_score 1.00 reaches 0.70. Run {second}.\n"
        f"{few}"
        "  visits\n"
        f"    BELOW THRESHOLD  pass_rate 0.50 is under 0.90. Run {visits}.\n"
        f"                     cortex analyze {visits}\n\n"
        "Exit code 2, by visits.\n"
    )


def text_in(project, path: str) -> str:
    return (project.root / path).read_text(encoding="utf-8")


def with_two_summaries(project, **settings):
    """The project with a second suite of two targets, and these settings."""
    document = json.loads(text_in(project, "cortex.yaml"))
    document["suites"]["twice"] = {**document["suites"]["both"], "dataset": "visits.jsonl"}
    document["dashboard"] = {"include_charts": False}
    project.write("cortex.yaml", {**document, **settings})
    return project


def test_suites_that_are_run_one_by_one_into_a_folder_keep_their_summaries(project):
    with_two_summaries(project)

    told = [project.cortex("run", suite, "--output-dir", "out").err for suite in ("both", "twice")]

    assert "All targets beside each other: out/evaluation_summary_report_both.md\n" in told[0]
    of_both, of_twice, latest = (
        text_in(project, f"out/evaluation_summary_report{own}.md") for own in ("_both", "_twice", "")
    )
    assert of_both.startswith("# Evaluation summary: `both`\n")
    assert of_twice.startswith("# Evaluation summary: `twice`\n")
    assert latest == of_twice


def test_suites_that_are_built_one_by_one_keep_their_comments_and_baselines(project):
    with_two_summaries(project)
    for suite in ("clinic", "both"):
        given = ("--service", "second") if suite == "both" else ()
        done = project.cortex("ci", suite, "--output-dir", "out", "--set-baseline", "main", *given)
        assert done.code == 0, done.err
    assert "Comment: out/pr_comment_both_second.md\n" in done.err
    assert text_in(project, "out/pr_comment_clinic.md").startswith("<!-- cortex-eval: clinic -->")
    assert text_in(project, "out/pr_comment_both_second.md").startswith("<!-- cortex-eval: both on second -->")
    assert text_in(project, "out/pr_comment.md") == text_in(project, "out/pr_comment_both_second.md")
    runs = {each["suite"]: each["id"] for each in project.cortex("runs", "list", "--json").json}
    kept = {own: json.loads(text_in(project, f"out/baseline{own}.json"))["run_id"] for own in ("_clinic", "_both", "")}
    assert kept == {"_clinic": runs["clinic"], "_both": runs["both"], "": runs["both"]}


def test_a_baseline_that_is_set_by_hand_has_a_file_of_its_suite(project):
    for suite in ("clinic", "both"):
        project.cortex("run", suite, "--output-dir", "out")
        done = project.cortex("baseline", "set", "latest", "--output-dir", "out", "--json")
    assert done.json["file"] == "out/baseline_both.json"
    assert text_in(project, "out/baseline.json") == text_in(project, "out/baseline_both.json")
    assert json.loads(text_in(project, "out/baseline_clinic.json"))["run_id"] != done.json["run"]


def test_the_dashboard_of_a_suite_stays_when_another_one_is_run(project):
    with_two_summaries(project, dashboard={"output_path": "pages/board.html", "include_charts": False})
    pages = []
    for suite in ("clinic", "visits"):
        project.cortex("run", suite)
        pages.append(text_in(project, f"pages/board_{suite}.html"))
    assert text_in(project, "pages/board_clinic.html") == pages[0]
    assert text_in(project, "pages/board.html") == pages[1]
