"""`cortex quarantine`: who does not decide for now is told, put there and taken off."""

from __future__ import annotations

import json
import shlex

import pytest
from installed import right_answers

PROJECT = """# our bot
services: {{chatbot: {{api_url: "{url}"}}}}
execution: {{retry_count: 0}}
suites:
  clinic:            # the main one
    dataset: cases.jsonl
    scorers: [exact]   # more to come

  visits: {{dataset: visits.jsonl, scorers: [exact]}}
output_dir: reports
"""


@pytest.fixture
def project(clinic):
    """A project with two suites, as people write it; c0 is in both, v1 in one."""
    made = clinic(cases=4)
    visits = [{"id": name, "input": f"{name}?", "expected": {"answer": "Yes."}} for name in ("c0", "v1")]
    made.write("visits.jsonl", "".join(json.dumps(row) + "\n" for row in visits))
    made.write("cortex.yaml", PROJECT.format(url=made.bot.url))
    return made


def text_of(project) -> str:
    return (project.root / "cortex.yaml").read_text()


def test_a_case_put_in_quarantine_no_longer_decides_and_taken_off_it_does(project):
    project.bot.reply = lambda call: {"text": "No."} if "Question 2" in call.json["query"] else right_answers(call)
    before = text_of(project)
    assert project.cortex("run", "clinic", "--fail-under", "0.9").code == 2

    done = project.cortex("quarantine", "add", "c2", "--reason", "asks for today's date, T-1", "--until", "2999-12-31")

    assert (done.code, done.out) == (0, "c2 is in quarantine in clinic until 2999-12-31: it does not decide.\n")
    assert "Written: cortex.yaml, line 9." in done.err
    added = '    quarantine:\n      - {case: c2, reason: "asks for today\'s date, T-1", until: 2999-12-31}\n'
    assert text_of(project) == before.replace("# more to come\n", "# more to come\n" + added)
    assert project.cortex("run", "clinic", "--fail-under", "0.9").code == 0
    assert project.cortex("quarantine", "remove", "c2").out == "c2 is no longer in quarantine in clinic.\n"
    assert text_of(project) == before


def test_the_list_says_until_when_how_they_did_and_what_can_be_taken_off(project):
    outcomes = iter("fpfpp")

    def answer(call):
        is_wrong = "Question 2" in call.json["query"] and next(outcomes) == "f"
        return {"text": "No."} if is_wrong else right_answers(call)

    project.bot.reply = answer
    for _ in range(5):
        project.cortex("run", "clinic")
    entries = [
        {"case": "c2", "reason": "asks for the date of today, and so its answer is another one on every day, T-123"},
        {"case": "c1", "reason": "was flaky", "until": "2999-12-31"},
        {"case": "c3", "reason": "was flaky", "until": "2020-01-01"},
        {"case": "gone", "reason": "is old"},
    ]
    suites = {"clinic": {"dataset": "cases.jsonl", "scorers": ["exact"], "quarantine": entries}}
    project.write("cortex.yaml", {"services": {"chatbot": {"api_url": project.bot.url}}, "suites": suites})

    done = project.cortex("quarantine", "list")
    found = {each["case"]: each for each in project.cortex("quarantine", "list", "--last", "2", "--json").json}

    assert done.out == (
        "clinic: 4 cases in quarantine\n\n"
        "  c2    without a last day; passed in 3 of its last 5 runs, passed in the newest\n"
        "        asks for the date of today, and so its answer is another one on every\n"
        "        day, T-123\n"
        "  c1    until 2999-12-31; passed in all of its last 5 runs\n"
        "        was flaky\n"
        "  c3    ended after 2020-01-01; passed in all of its last 5 runs\n"
        "        was flaky\n"
        "  gone  without a last day; no case of the dataset\n"
        "        is old\n"
    )
    assert done.err.splitlines() == [
        "c1 did not fail in its last runs. Take it off: cortex quarantine remove c1",
        "c3 decides again. Take it off: cortex quarantine remove c3",
        "gone is no case of the dataset. Take it off: cortex quarantine remove gone",
    ]
    assert [run["outcome"] for run in found["c2"]["runs"]] == ["passed", "passed"]
    assert (found["c3"]["ended"], found["gone"]["in_dataset"], found["gone"]["runs"]) == (True, False, [])


def test_a_case_of_several_suites_needs_the_name_of_one(project):
    assert project.cortex("quarantine", "add", "v1", "--reason", "flaky", "--json").json["suite"] == "visits"
    done = project.cortex("quarantine", "add", "c0", "--reason", "flaky")
    assert (done.code, done.err) == (
        4,
        "Error: Several suites have a case 'c0': clinic, visits. Name one with --suite.\n",
    )
    for suite in ("clinic", "visits"):
        assert project.cortex("quarantine", "add", "c0", "--reason", "flaky", "--suite", suite).code == 0
    assert "in quarantine in clinic, visits. Name one with --suite" in project.cortex("quarantine", "remove", "c0").err
    assert project.cortex("quarantine", "remove", "c0", "--suite", "visits").code == 0
    assert [each["case"] for each in project.cortex("quarantine", "list", "--json").json] == ["c0", "v1"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("add", "case-v1", "--reason", "x", "--suite", "visits"), "visits has no case 'case-v1'. CASE is the id of"),
        (("add", "v11", "--reason", "x"), "No suite has a case 'v11'. Did you mean 'v1'?"),
        (("add", "v1", "--reason", " "), "--reason: say why"),
        (("add", "v1", "--reason", "two\nlines"), "--reason must be a line of text"),
        (("add", "v1", "--reason", "x", "--until", "soon"), "--until must be a day such as 2026-12-31, not 'soon'."),
        (("add", "v1", "--reason", "x", "--until", "2020-01-01"), "--until 2020-01-01 is over already."),
        (("add", "v1", "--reason", "x", "--suite", "vists"), "there is no suite 'vists'. Did you mean 'visits'?"),
        (("remove", "v1"), "'v1' is not in quarantine. No case is."),
    ],
)
def test_what_cannot_be_is_told_in_one_line_and_the_file_stays(project, arguments, said):
    before = text_of(project)

    done = project.cortex("quarantine", *arguments)

    assert (done.code, done.out) == (4, "")
    assert said in done.err
    assert len(done.err.splitlines()) == 1
    assert text_of(project) == before


def test_a_file_in_another_form_is_refused_with_what_to_write(project):
    text = text_of(project).replace("  visits: {", "  visits: &v {") + "plugins: []\n"
    project.write("cortex.yaml", text.replace("output_dir", "  more: *v\noutput_dir"))
    before = text_of(project)

    done = project.cortex("quarantine", "add", "v1", "--reason", "x", "--suite", "visits")

    assert done.code == 4
    assert 'is not changed from here. Add it by hand: - {case: v1, reason: "x"}' in done.err
    assert text_of(project) == before
    twice = project.cortex("quarantine", "list")
    assert (twice.code, twice.out) == (0, "")
    assert "No case is in quarantine." in twice.err


def test_the_failed_cases_of_a_run_are_marked_and_compare_leaves_them_out(project):
    project.cortex("run", "clinic")
    project.bot.reply = lambda call: {"text": "No."} if "Question 2" in call.json["query"] else right_answers(call)
    project.cortex("quarantine", "add", "c2", "--reason", "asks for today's date")
    project.cortex("run", "clinic")

    failed = project.cortex("runs", "show", "latest", "--failed").out.splitlines()
    compared = project.cortex("compare", "latest~1", "latest")
    document = project.cortex("compare", "latest~1", "latest", "--json").json

    assert "c2  failed  0.00  (in quarantine)" in failed
    assert compared.code == 0
    assert "1 case in quarantine is in none of these figures: c2: asks for today's date." in " ".join(
        compared.out.split()
    )
    assert (document["cases"], document["newly_broken"]) == (3, [])


def test_compare_takes_the_quarantine_of_the_last_run_that_still_held_then(project):
    project.cortex("run", "clinic")
    project.bot.reply = lambda call: {"text": "No."} if "Question 2" in call.json["query"] else right_answers(call)
    listed = [{"case": "c2", "reason": "was flaky", "until": "2020-01-01"}]
    suites = {"clinic": {"dataset": "cases.jsonl", "scorers": ["exact"], "quarantine": listed}}
    project.write("cortex.yaml", {"services": {"chatbot": {"api_url": project.bot.url}}, "suites": suites})
    project.cortex("run", "clinic")

    document = project.cortex("compare", "latest~1", "latest", "--json").json

    assert [each["case_id"] for each in document["newly_broken"]] == ["c2"]
    assert not any("quarantine" in note for note in document["notes"])


def test_a_case_that_is_listed_twice_is_taken_off_whole(project):
    twice = [{"case": "c1", "reason": "x"}, {"case": "c2", "reason": "y"}, {"case": "c1", "reason": "z"}]
    suites = {"clinic": {"dataset": "cases.jsonl", "scorers": ["exact"], "quarantine": twice}}
    project.write("cortex.yaml", {"services": {"chatbot": {"api_url": project.bot.url}}, "suites": suites})

    assert project.cortex("quarantine", "remove", "c1").code == 0

    assert [each["case"] for each in project.cortex("quarantine", "list", "--json").json] == ["c2"]


def test_a_reason_may_be_written_in_any_script(project):
    reason = "क्\u200dष की जाँच, می\u200cخواهم 👩\u200d⚕️, 5\u00a0mg"

    assert project.cortex("quarantine", "add", "v1", "--reason", reason).code == 0

    assert project.cortex("quarantine", "list", "--json").json[0]["reason"] == reason


def test_a_dataset_that_cannot_be_read_is_told_when_no_other_suite_has_the_case(project):
    project.write("cases.jsonl", "{")

    done = project.cortex("quarantine", "add", "c2", "--reason", "x")

    assert done.code == 4
    assert "cases.jsonl" in done.err
    assert project.cortex("quarantine", "add", "v1", "--reason", "x").code == 0


def test_the_advice_to_take_a_case_off_can_be_typed_as_it_stands(project):
    entries = [{"case": "-it's old", "reason": "x"}]
    suite = {"scorers": ["exact"], "quarantine": entries}
    suites = {"our clinic": {**suite, "dataset": "cases.jsonl"}, "visits": {**suite, "dataset": "visits.jsonl"}}
    project.write("cortex.yaml", {"services": {"chatbot": {"api_url": project.bot.url}}, "suites": suites})

    advice = project.cortex("quarantine", "list").err.splitlines()[0].partition("Take it off: cortex ")[2]

    assert project.cortex(*shlex.split(advice)).code == 0
    assert [each["suite"] for each in project.cortex("quarantine", "list", "--json").json] == ["visits"]
