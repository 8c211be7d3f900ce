"""Cortex from Python: in a script, in a running loop, in a test."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from cortex_eval import Case, InputError, Reply, Score, TargetError, evaluate, evaluate_async, scorer
from cortex_eval.storage import Store

ROWS = [
    {"id": "capital", "question": "What is the capital of France?", "ground_truth": "Paris", "category": "cities"},
    {"id": "river", "question": "Which river runs through it?", "ground_truth": "The Seine", "category": "rivers"},
]


def bot(question: str) -> str:
    return "It is Paris." if "capital" in question else "The Rhine"


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_function_is_evaluated_and_everything_is_kept(tmp_path: Path) -> None:
    report = evaluate(ROWS, target=bot, scorers=["contains"])

    assert report.metrics["contains"].mean == 0.5
    assert (report.totals.passed, report.totals.failed, report.totals.errors) == (1, 1, 0)
    assert not report.passed
    assert report.exit_code == 2
    assert report.by("category")["cities"].totals.pass_rate == 1.0
    with Store(tmp_path / ".cortex" / "cortex.db") as store:
        [run] = store.runs.all()
        assert run.id == report.run.id
        assert run.target_name == "bot"


def test_it_works_where_a_loop_is_already_running() -> None:
    async def cell_of_a_notebook() -> float:
        return evaluate(ROWS, target=bot, scorers=["contains"]).metrics["contains"].mean

    assert asyncio.run(cell_of_a_notebook()) == 0.5


async def test_it_can_be_awaited() -> None:
    async def async_bot(question: str) -> str:
        await asyncio.sleep(0)
        return bot(question)

    report = await evaluate_async(ROWS, target=async_bot, scorers=["contains"], at_once=2)

    assert report.metrics["contains"].scored == 2


def test_without_a_store_results_live_as_long_as_the_report(tmp_path: Path) -> None:
    report = evaluate(ROWS, target=bot, scorers=["contains"], store=None)

    assert [(each.case_id, each.reply.text) for each in report.results] == [
        ("capital", "It is Paris."),
        ("river", "The Rhine"),
    ]
    assert list(tmp_path.iterdir()) == []


def test_scorers_come_as_names_settings_functions_and_objects() -> None:
    @scorer
    def is_polite(case: Case, reply: Reply) -> bool:
        return "please" in reply.text

    @scorer(threshold=0.1)
    async def length(case: Case, reply: Reply) -> Score:
        return Score(name="length", value=min(1.0, len(reply.text) / 20), reason=f"{len(reply.text)} characters")

    report = evaluate(
        ROWS, target=bot, scorers=["contains", {"regex": {"pattern": "Paris|Rhine"}}, is_polite, length], store=None
    )

    assert report.metrics["regex"].mean == 1.0
    assert report.metrics["is_polite"].mean == 0.0
    assert set(report.metrics) >= {"contains", "regex", "is_polite", "length", "pass_rate", "overall_score"}


def test_a_target_that_raises_is_an_error_and_the_others_finish() -> None:
    def fragile(question: str) -> str:
        if "capital" in question:
            raise RuntimeError("no map here")
        return "The Seine"

    report = evaluate(ROWS, target=fragile, scorers=["contains"], store=None)

    [broken, fine] = report.results
    assert broken.state == "error_target"
    assert "no map here" in broken.error.message
    assert broken.overall is None
    assert fine.state == "passed"
    assert report.exit_code == 3


def test_a_scorer_that_raises_is_an_error_and_never_a_score() -> None:
    @scorer
    def confused(case: Case, reply: Reply) -> float:
        raise TargetError("not what it is for")

    report = evaluate(ROWS[:1], target=bot, scorers=["contains", confused], store=None)

    [result] = report.results
    assert result.state == "error_judge"
    assert result.overall is None
    assert "value" not in result.scores["confused"]
    assert "confused" not in report.metrics
    assert report.exit_code == 3


def test_repeats_are_asked_separately_and_counted_by_case() -> None:
    asked: list[str] = []

    def counting(question: str) -> str:
        asked.append(question)
        return bot(question)

    report = evaluate(ROWS, target=counting, scorers=["contains"], repeats=3, store=None)

    assert len(asked) == 6
    assert report.totals.cases == 2
    assert report.totals.turns == 6


def test_a_dataset_file_is_taken_by_its_path(tmp_path: Path) -> None:
    file = tmp_path / "cases.csv"
    file.write_text("question,ground_truth\nWhat is the capital of France?,Paris\n", encoding="utf-8")

    assert evaluate(file, target=bot, scorers=["contains"], store=None).metrics["contains"].mean == 1.0


@pytest.mark.parametrize(
    ("scorers", "message"),
    [
        ([], "at least one scorer"),
        (["contians"], "Did you mean 'contains'"),
        (["contains", "contains"], "Two scorers are called 'contains'"),
        ([{"regex": {"patern": "x"}}], "Did you mean 'pattern'"),
    ],
)
def test_mistakes_are_told_before_anything_is_asked(scorers: list[object], message: str) -> None:
    def never(question: str) -> str:
        raise AssertionError("asked all the same")

    with pytest.raises(InputError, match=message):
        evaluate(ROWS, target=never, scorers=scorers, store=None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"thresholds": {"pass_rate": 70}},
            "thresholds.pass_rate: must be a number from 0 to 1 (0.9 for 90 %), not 70.",
        ),
        ({"thresholds": {"pass_rte": 0.7}}, "thresholds.pass_rte: there is no such figure. Did you mean 'pass_rate'?"),
        ({"thresholds": {"exact": 0.7}}, "thresholds.exact: this suite has no scorer 'exact'. It has: contains."),
        ({"thresholds": 0.7}, "thresholds: must be keys and values, not 0.7."),
        ({"passing_threshold": 70}, "passing_threshold: must be a number from 0 to 1, not 70."),
        ({"at_once": 0}, "at_once: must be a whole number from 1 to 10000, not 0."),
        ({"repeats": -1}, "repeats: must be a whole number from 1 to 1000, not -1."),
        ({"retries": -1}, "retries: must be a whole number from 0 to 100, not -1."),
        ({"timeout_s": 0}, "timeout_s: must be a number from 0.001 to 3600, not 0."),
        ({"threshold": {"pass_rate": 0.7}}, "evaluate() has no option 'threshold'. Did you mean 'thresholds'?"),
        ({"concurrency": 3}, "evaluate() has no option 'concurrency'. Known: at_once, baseline, cases,"),
    ],
)
def test_options_that_no_run_can_have_are_refused_before_anything_is_asked_or_stored(
    tmp_path: Path, options: dict[str, object], message: str
) -> None:
    def never(question: str) -> str:
        raise AssertionError("asked all the same")

    with pytest.raises(InputError) as error:
        evaluate(ROWS, target=never, scorers=["contains"], **options)

    assert message in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_every_wrong_option_is_told_at_once() -> None:
    with pytest.raises(InputError) as error:
        evaluate(ROWS, target=bot, scorers=["contains"], at_once=0, repeats=0, thresholds={"pass_rate": "high", "x": 1})

    assert [each.field for each in error.value.problems] == [
        "at_once",
        "repeats",
        "thresholds.pass_rate",
        "thresholds.x",
    ]


async def test_a_wrong_call_is_told_under_the_name_that_was_called() -> None:
    with pytest.raises(InputError, match=r"^evaluate_async\(\) has no option 'concurrency'"):
        await evaluate_async(ROWS, target=bot, scorers=["contains"], concurrency=3)
    with pytest.raises(TypeError, match=r"^evaluate\(\): missing a required argument: 'scorers'"):
        evaluate(ROWS, target=bot)


def test_limits_that_a_run_can_meet_are_taken() -> None:
    limits = {"pass_rate": 0.5, "max_latency_ms": 5000, "contains": 0.5}

    assert evaluate(ROWS[:1], target=bot, scorers=["contains"], thresholds=limits, store=None).passed


def test_a_printed_report_names_the_commonest_error() -> None:
    def broken(question: str) -> str:
        return str(1 / 0)

    report = evaluate(ROWS[:1], target=broken, scorers=["contains"], store=None)

    said = "error: 0 of 1 case passed, 1 in error (raised: ZeroDivisionError: division by zero (test_evaluate.py:"
    assert said in str(report)
    assert " in broken)), run" in str(report)


def test_a_printed_report_names_the_first_cases_that_did_not_pass() -> None:
    rows = [{"id": f"c{n}", "question": f"Question number {n}, which is long?", "ground_truth": "x"} for n in range(5)]

    failed = evaluate(rows, target=bot, scorers=["contains"], store=None)
    passed = evaluate(ROWS[:1], target=bot, scorers=["contains"], store=None)

    names = ", ".join(f"c{n} 'Question number {n}, which…'" for n in range(3))
    assert str(failed).endswith(f"; not passed: {names} and 2 more)")
    assert "not passed" not in str(passed)


def test_a_misspelt_column_is_noted_in_the_report_of_a_file_and_of_rows(tmp_path: Path) -> None:
    said = "column 'anser' is not known and is kept as metadata. Did you mean 'answer'?"
    file = tmp_path / "cases.csv"
    file.write_text("question,anser\nWhat is the capital of France?,Paris\n", encoding="utf-8")

    from_file = evaluate(file, target=bot, scorers=["contains"], store=None)
    from_rows = evaluate([{"question": "Why?", "anser": "So."}], target=bot, scorers=["contains"], store=None)

    assert f"{file}: the {said}" in from_file.notes
    assert f"The {said}" in from_rows.notes


def test_two_cases_with_one_id_are_refused_and_nothing_is_stored() -> None:
    with pytest.raises(InputError, match="more than once"):
        evaluate([ROWS[0], ROWS[0]], target=bot, scorers=["contains"])

    with Store(Path(".cortex/cortex.db")) as store:
        assert store.runs.all() == []
        assert store.datasets.all() == []


def test_importing_it_imports_nothing_heavy() -> None:
    code = (
        "import sys, cortex_eval; "
        "print([name for name in ('aiohttp', 'pydantic', 'numpy', 'sqlalchemy', 'yaml') if name in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
