"""The pytest plugin, in real sessions of pytest: checks, suites as tests, workers, and silence where nobody asks."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

DOCS = Path(__file__).parents[1] / "docs"
CASES = [
    {"id": "greeting", "input": "hello", "expected": {"answer": "HELLO"}, "category": "talk"},
    {"id": "farewell", "input": "bye", "expected": {"answer": "See you"}, "category": "talk"},
    {"id": "sum", "input": "one", "expected": {"answer": "ONE"}, "category": "maths"},
]
BOT = """
from pathlib import Path

def answer(question):
    with Path(__file__).with_name("asked.txt").open("a") as file:
        file.write(question + "\\n")
    return question.upper()

def polite(question):
    return "See you"
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project of three cases, of which the bot gets two right and the other service one."""
    document = {
        "services": {"bot": {"kind": "python", "call": "bot:answer"}, "host": {"kind": "python", "call": "bot:polite"}},
        "suites": {
            "talk": {"dataset": "cases.jsonl", "service": "bot", "scorers": ["exact"]},
            "both": {"dataset": "cases.jsonl", "services": ["bot", "host"], "scorers": ["exact"]},
        },
        "gate": {"thresholds": {"pass_rate": 0.6}},
    }
    pytester.path.joinpath("cortex.yaml").write_text(json.dumps(document), "utf-8")
    pytester.path.joinpath("cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in CASES), "utf-8")
    pytester.path.joinpath("bot.py").write_text(BOT, "utf-8")
    pytester.makeini("[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n")
    return pytester


def asked(project: pytest.Pytester) -> list[str]:
    path = project.path / "asked.txt"
    return path.read_text("utf-8").split() if path.exists() else []


def played(project: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return project.runpytest_subprocess("-p", "no:hypothesispytest", *arguments, timeout=120)


def test_it_is_found_by_pytest_under_its_name() -> None:
    (found,) = (each for each in entry_points(group="pytest11") if each.value.startswith("cortex_eval"))
    assert (found.name, found.value) == ("cortex", "cortex_eval.pytest_plugin")


def test_loading_it_imports_nothing_else_of_cortex_and_nothing_heavy() -> None:
    code = "import pytest, sys; old = {*sys.modules}; import cortex_eval.pytest_plugin; print(*{*sys.modules} - old)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"cortex_eval", "cortex_eval.pytest_plugin", "cortex_eval.pytest_plugin.hooks"}


@pytest.mark.slow
def test_nothing_is_said_or_imported_where_no_test_uses_it(project: pytest.Pytester) -> None:
    project.makepyfile("import sys\ndef test_plain():\n    assert 'cortex_eval.engine' not in sys.modules")
    result = played(project, "--strict-markers")
    result.assert_outcomes(passed=1)
    assert "cortex" not in result.stdout.str().replace("cortex-", "").partition("collected")[2]


@pytest.mark.slow
def test_a_check_passes_fails_and_errs_as_its_case_does(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest
        from cortex_eval import Case, InputError, TargetError

        CASE = Case.of("hello", "HELLO", id="greeting")

        def test_right(cortex):
            outcome = cortex.check(CASE, target=str.upper, scorers=["exact"], threshold=0.8)
            assert (outcome.score, outcome.reply.text, outcome.scores) == (1.0, "HELLO", {"exact": 1.0})

        def test_wrong(cortex):
            cortex.check(CASE, target=lambda text: "no\\x1b[31m", scorers=["exact"], threshold=0.8)

        def test_a_row_will_do(cortex):
            cortex.check({"question": "a", "ground_truth": "A"}, target=str.upper, scorers=["exact"], repeats=2)

        def test_silence_is_not_a_failure(cortex):
            def down(text):
                raise RuntimeError("out to lunch")
            with pytest.raises(TargetError, match="has no verdict.*out to lunch"):
                cortex.check(CASE, target=down, scorers=["exact"])

        def test_one_case_at_a_time(cortex):
            with pytest.raises(InputError, match="takes one case"):
                cortex.check("cases.jsonl", target=str.upper, scorers=["exact"])

        async def test_in_a_running_loop(cortex):
            async def answer(text):
                return text.upper()
            await cortex.check_async(CASE, target=answer, scorers=["exact"])
            cortex.check(CASE, target=answer, scorers=["exact"])
        """
    )
    result = played(project)
    result.assert_outcomes(passed=5, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*AssertionError: case 'greeting' did not pass",
            "*asked     hello",
            "*expected  HELLO",
            r"*replied   no\x1b*31m",
            "*exact 0.00: The reply is not the expected answer 'HELLO'.",
            "*= cortex =*",
            "6 cases checked: mean score 0.80, lowest 0.00 in *::test_wrong; 1 without a score",
        ]
    )
    assert not (project.path / ".cortex").exists()


SUITE_TESTS = """
import pytest

@pytest.mark.cortex(suite="talk")
def test_the_gate():
    pass

@pytest.mark.cortex(suite="talk")
def test_each(cortex_case):
    assert cortex_case.reply.text == cortex_case.case.input.upper()

@pytest.mark.cortex(suite="talk", check=False)
def test_the_report(cortex_report):
    assert cortex_report.totals.passed == 2
    assert len(list(cortex_report.results)) == 3
"""


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_a_suite_is_played_once_for_all_its_tests_and_workers(
    project: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    project.makepyfile(SUITE_TESTS)
    result = played(project, "-rA", *workers)
    result.assert_outcomes(passed=4, failed=1)
    assert sorted(asked(project)) == ["bye", "hello", "one"]
    text = result.stdout.str()
    for test in ("test_the_gate[bot]", "test_each[greeting]", "test_each[sum]", "test_the_report[bot]"):
        assert re.search(rf"PASSED .*::{re.escape(test)}", text), test
    assert "FAILED" in text
    assert "case 'farewell' did not pass" in text
    assert "During handling" not in text
    assert re.search(r"talk on bot: passed, score 0\.67 \[.*\], 2 of 3 cases passed \(run \w+\)", text)
    assert "3 cases checked: mean score 0.67, lowest 0.00 in" in text


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_cases_of_a_category_are_taken_from_the_run_of_the_whole_suite(
    project: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    project.makepyfile(
        """
        import pytest

        @pytest.mark.cortex(suite="talk", category="maths")
        def test_maths(cortex_case):
            pass

        @pytest.mark.cortex(suite="talk", fail_under=0.1)
        def test_the_gate():
            pass

        @pytest.mark.cortex(suite="talk", limit=1)
        def test_first(cortex_case):
            pass
        """
    )
    played(project, *workers).assert_outcomes(passed=3)
    assert sorted(asked(project)) == ["bye", "hello", "one"]


@pytest.mark.slow
def test_cases_that_several_tests_choose_are_played_together(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest

        @pytest.mark.cortex(suite="talk", category="maths")
        def test_maths(cortex_case):
            pass

        @pytest.mark.cortex(suite="talk", limit=1)
        def test_first(cortex_case):
            pass
        """
    )
    result = played(project)
    result.assert_outcomes(passed=2)
    assert sorted(set(asked(project))) == sorted(asked(project))
    assert len(set(re.findall(r"run (\w{8})", result.stdout.str()))) == 1


@pytest.mark.slow
def test_only_the_chosen_cases_are_asked(project: pytest.Pytester) -> None:
    project.makepyfile(SUITE_TESTS)
    result = played(project, "-k", "greeting or sum")
    result.assert_outcomes(passed=2, deselected=3)
    assert sorted(asked(project)) == ["hello", "one"]


@pytest.mark.slow
def test_a_gate_that_is_not_met_fails_with_the_words_of_the_run(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest

        @pytest.mark.cortex("both", fail_under=0.9)
        def test_gate():
            pass

        @pytest.mark.cortex("both", category="maths")
        def test_maths(cortex_case):
            pass
        """
    )
    result = played(project, "-rA")
    result.assert_outcomes(passed=1, failed=3)
    text = result.stdout.str()
    assert re.search(r"BELOW THRESHOLD +overall_score 0\.67 is under 0\.90", text)
    assert "See them: cortex runs show" in text
    assert re.search(r"PASSED .*test_maths\[bot-sum\]", text)
    assert re.search(r"FAILED .*test_maths\[host-sum\]", text)


@pytest.mark.slow
def test_variables_may_be_set_by_a_fixture(project: pytest.Pytester) -> None:
    text = (project.path / "cortex.yaml").read_text("utf-8").replace("bot:answer", "${THE_BOT}")
    (project.path / "cortex.yaml").write_text(text, "utf-8")
    project.makepyfile(
        """
        import os
        import pytest

        @pytest.fixture(scope="session", autouse=True)
        def bot():
            os.environ["THE_BOT"] = "bot:answer"

        @pytest.mark.cortex(suite="talk", category=["maths"])
        def test_each(cortex_case):
            assert cortex_case.passed
        """
    )
    played(project).assert_outcomes(passed=1)


@pytest.mark.slow
def test_what_is_wrong_with_a_check_is_told_at_its_line_and_nothing_of_the_inside(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        def test_case(cortex):
            cortex.check("hello", target=str.upper, scorers=["exact"])

        def test_row(cortex):
            cortex.check({"x": 1}, target=str.upper, scorers=["exact"])

        def test_target(cortex):
            cortex.check({"input": "hello"}, target="bot", scorers=["exact"])

        async def test_scorers(cortex):
            await cortex.check_async({"input": "hello"}, target=str.upper, scorers="exact")

        def test_nothing_to_compare_with(cortex):
            cortex.check({"id": "greeting", "input": "hello"}, target=str.upper, scorers=["exact"])
        """
    )
    result = played(project)
    result.assert_outcomes(failed=5)
    result.stdout.fnmatch_lines(
        [
            "E *InputError: cortex.check() takes one case: *",
            "E *InputError: no field holds the input *",
            "E *InputError: target must be a function of the question, *",
            "E *InputError: scorers must be a list, *",
            "E *InputError: No scorer has anything to say about case 'greeting' (exact: There is no expected *).",
        ]
    )
    assert "cortex_eval/" not in result.stdout.str()
    assert "no running event loop" not in result.stdout.str()


@pytest.mark.slow
def test_a_mistake_is_told_in_a_line(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_keyword="import pytest\n@pytest.mark.cortex(suit='talk')\ndef test_a(): pass",
        test_name="import pytest\n@pytest.mark.cortex(suite='walk')\ndef test_a(): pass",
        test_unmarked="def test_a(cortex_case): pass",
    )
    result = played(project, "--continue-on-collection-errors")
    result.assert_outcomes(errors=3)
    result.stdout.fnmatch_lines_random(
        [
            "pytest.mark.cortex has no 'suit'. Did you mean 'suite'?",
            "*there is no suite 'walk'. Did you mean 'talk'?",
            "*InputError: cortex_case and cortex_report need the mark: @pytest.mark.cortex(suite='NAME').",
        ]
    )


@pytest.mark.slow
def test_a_target_that_is_down_is_told_once_and_is_never_a_score(project: pytest.Pytester) -> None:
    (project.path / "bot.py").write_text("def answer(text):\n    raise RuntimeError('down')\n", "utf-8")
    project.makepyfile(SUITE_TESTS.replace("check=False", "check=True"))
    result = played(project, "-k", "each")
    assert result.parseoutcomes().get("passed", 0) == 0
    result.stdout.fnmatch_lines(["*3 without a score*"])


@pytest.mark.slow
def test_the_examples_of_the_page_run(project: pytest.Pytester) -> None:
    page = (DOCS / "pytest.md").read_text("utf-8")
    examples = re.findall(r"(?ms)^```python no-run\n(.*?)^```", page)
    assert len(examples) >= 3
    for number, example in enumerate(examples):
        project.path.joinpath(f"test_example_{number}.py").write_text(example, "utf-8")
    text = (project.path / "cortex.yaml").read_text("utf-8").replace('"talk"', '"triage"').replace("See you", "BYE")
    (project.path / "cortex.yaml").write_text(text, "utf-8")
    cases = (project.path / "cases.jsonl").read_text("utf-8").replace("See you", "BYE")
    (project.path / "cases.jsonl").write_text(cases, "utf-8")
    result = played(project)
    assert result.ret == 0, result.stdout.str()
    assert result.parseoutcomes()["passed"] >= len(examples)
