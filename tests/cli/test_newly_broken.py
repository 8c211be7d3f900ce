"""A category that broke: the verdict, the comparison and the page say so, whatever a test can show of a few cases."""

from __future__ import annotations

import json
import re

import pytest
from installed import Folder

from cortex_eval.testing import ScriptedService

pytestmark = pytest.mark.slow
ROWS = [
    {"id": f"{category[0]}{number}", "category": category, "input": f"{category} {number}?"}
    for category, count in (("loans", 3), ("hours", 3), ("cards", 3), ("fines", 3))
    for number in range(count)
]


def right(call):
    return {"text": f"Answer to {call.json['query']}"}


def without_fines(call):
    return {"text": "No idea."} if call.json["query"].startswith("fines") else right(call)


def project(root, bot, **gate):
    folder = Folder(root)
    rows = [{**row, "expected": {"answer": f"Answer to {row['input']}"}} for row in ROWS]
    folder.write("cases.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    document = {
        "services": {"chatbot": {"api_url": bot.url}},
        "suites": {"desk": {"dataset": "cases.jsonl", "scorers": ["exact"]}},
        "gate": {"thresholds": {"pass_rate": 0.7}, "baseline": "default", **gate},
    }
    folder.write("cortex.yaml", document)
    return folder


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Four runs: the first, one as the first, one without fines, and that one by `cortex ci`; and what was said."""
    with ScriptedService.in_thread(right) as bot:
        folder = project(tmp_path_factory.mktemp("desk"), bot)
        said = {"first": folder.cortex("run"), "set": folder.cortex("baseline", "set", "latest", "--name", "default")}
        said["same"] = folder.cortex("run")
        bot.reply = without_fines
        said["broken"] = folder.cortex("run")
        said["ci"] = folder.cortex("ci")
        said["json"] = folder.cortex("runs", "show", "latest", "--json")
        said["compared"] = folder.cortex("compare", "latest~2", "latest")
        said["alike"] = folder.cortex("compare", "latest~3", "latest~2")
        said["planned"] = folder.cortex("run", "--dry-run")
        said["folder"] = folder
        return said


def words(done):
    return " ".join(done.out.split())


def test_a_first_run_goes_on_without_the_baseline_that_the_project_names_and_says_how_to_make_it(told):
    first = words(told["first"])

    assert told["first"].code == told["set"].code == 0
    assert "PASSED pass_rate 1.00 reaches 0.70." in first
    assert "There is no baseline default for desk yet, so that this run was compared with nothing." in first
    assert re.search(r"Make it the baseline: cortex baseline set \w+ --name default", first)


def test_a_category_that_broke_wholly_is_named_in_the_verdict_with_what_to_do(told):
    said = words(told["broken"])

    assert told["broken"].code == 0
    assert (
        "INCONCLUSIVE 3 cases that passed in default fail now, all 3 of category fines: f0, f1, f2. No metric" in said
    )
    assert "To stop a release here, write inconclusive: fail or mode: strict under gate:, or tag the cases" in said
    assert max(map(len, told["broken"].out.splitlines())) <= 80


def test_a_run_as_its_baseline_points_to_no_failures(told):
    said = told["same"].out

    assert "INCONCLUSIVE  No metric is known to be worse than default" in said
    assert "--failed" not in said
    assert re.search(r"^Run \w+ saved\.$", said, re.MULTILINE)


def test_the_page_lists_the_cases_that_broke_and_marks_what_may_be_chance_as_open(told):
    page = max((told["folder"].root / "reports").rglob("*.html")).read_text("utf-8")

    assert "<h2>Newly broken</h2>" in page
    assert '<a href="#ids=f0">f0</a>' in page
    assert '<button type="button" value="broken" aria-pressed="false">Newly broken 3</button>' in page
    assert '<script type="application/json" id="newly-broken">["f0","f1","f2"]</script>' in page
    gate = page[page.index('id="gate"') :]
    rows = dict(re.findall(r"<tr><th scope=row>([^<]*(?:<wbr>[^<]*)*)</th><td>(.*?)</td>", gate))
    marks = {name.replace("<wbr>", ""): mark for name, mark in rows.items()}
    assert "? may be chance" in marks["Not worse: Pass rate"]
    assert "? too few cases" in marks["Enough evidence"]
    assert "✓ yes" in marks["Pass rate"]


def test_terminal_page_comment_and_plan_have_one_set_of_numbers(told):
    report, comment = told["json"].json, next(told["folder"].root.rglob("pr_comment.md")).read_text("utf-8")
    change = report["baseline_comparison"]["pass_rate"]
    (noise,) = [each for each in report["gate"]["checks"] if each["name"] == "noise.pass_rate"]
    (evidence,) = [each for each in report["gate"]["checks"] if each["name"] == "evidence"]
    p = f"adjusted p {change['p_value']:.2f}"

    assert p in noise["reason"]
    assert re.search(rf"`pass_rate` .*, {p} \|", comment)
    seen, needed = re.search(
        r"by ([\d.]+) or more would be seen, to see the allowed 0.02 takes ([\d,]+) cases", evidence["reason"]
    ).groups()
    said = words(told["compared"])
    assert f"a statistical gate would see a drop of pass_rate by {seen} or more" in said
    assert f"to see the allowed 0.02 (gate.regression, by default) takes {needed} cases." in said
    assert f"a drop of the pass rate by less than {round(100 * float(seen))} points cannot" in words(told["planned"])


def test_cases_without_ids_are_named_with_their_question_in_the_verdict_and_on_the_page(tmp_path):
    long = "fines for a book that came back late because of the snow?"
    with ScriptedService.in_thread(right) as bot:
        folder = project(tmp_path, bot)
        asked = ["hours 1?", "fines 1?", long]
        rows = [{"input": each, "expected": {"answer": f"Answer to {each}"}} for each in asked]
        folder.write("cases.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        folder.cortex("run")
        folder.cortex("baseline", "set", "latest")
        bot.reply = without_fines
        broken = folder.cortex("run")

    assert re.search(r"“fines 1\?” \([0-9a-f]{12}\)", words(broken))
    assert re.search(r"“fines for a book that came back late…” \([0-9a-f]{12}\)", words(broken))
    assert max(map(len, broken.out.splitlines())) <= 80
    page = max((tmp_path / "reports").rglob("*.html")).read_text("utf-8")
    table = page.partition("<h2>Newly broken</h2>")[2].partition("</table>")[0]
    for head in ("Question", "Reply before", "Reply now"):
        assert f"<th scope=col>{head}</th>" in table
    said = f"<td class=said>{long}</td><td class=said>Answer to {long}</td><td class=said>No idea.</td>"
    assert said in table


def test_what_may_be_chance_is_not_called_no_difference(told):
    doubtful, alike = told["compared"], told["alike"]

    assert (doubtful.code, alike.code) == (0, 0)
    assert "CANNOT TELL 3 cases that passed in A fail now, all 3 of category fines: f0, f1, f2." in words(doubtful)
    (row,) = [line for line in doubtful.out.splitlines() if line.split()[:1] == ["pass_rate"] and "[" in line]
    assert row.endswith("may be chance")
    assert "NO DIFFERENCE SEEN A and B score the same in every case." in words(alike)
    (row,) = [line for line in alike.out.splitlines() if line.split()[:1] == ["pass_rate"]]
    assert row.endswith("no difference")


def test_a_baseline_that_was_asked_for_must_be_there_but_other_mistakes_come_first(told, tmp_path):
    folder = told["folder"]
    missing = folder.cortex("run", "--baseline", "main")
    (tmp_path / "bad").mkdir()
    with ScriptedService.in_thread(right) as bot:
        fresh = project(tmp_path / "bad", bot)
        none = fresh.cortex("run", "--baseline", "main")
        fresh.write("cases.jsonl", '{"id": "a"}\n')
        bad = fresh.cortex("run", "--baseline", "main")

    assert missing.code == none.code == bad.code == 4
    newest = next(each["id"] for each in folder.cortex("runs", "list", "--json").json if each["status"] == "completed")
    assert (
        f"There is no baseline 'main' for desk. There are: default. Make it: cortex baseline set {newest} --name main."
        in missing.err
    )
    assert "There are none yet. Make it, after a run without --baseline: cortex baseline set RUN" in none.err
    assert "baseline" not in bad.err
    assert "cases.jsonl:1" in bad.err


def test_doctor_says_that_the_baseline_is_not_made_and_where_nothing_can_be_written(tmp_path):
    with ScriptedService.in_thread(right) as bot:
        folder = project(tmp_path, bot)
        folder.write("reports", "a file where the folder should be")
        folder.write(".cortex", "the same")
        done, ran = folder.cortex("doctor"), folder.cortex("run")

    said = " ".join(done.out.split())
    assert "desk: default, not made yet, so runs are compared with nothing: cortex baseline set latest" in said
    assert re.search(r"reports/evaluation: \S*reports is not a folder", said)
    assert re.search(r"\.cortex/cortex\.db \(made by the first run\): \S*\.cortex is not a folder", said)
    assert done.code != 0
    assert ran.code == 3
    assert "The store .cortex/cortex.db cannot be made:" in ran.err
    assert "backup" not in ran.err
