"""Several targets beside each other: the best is marked only where that is more than chance."""

import pytest
from made_results import made_case, made_report, made_result, made_run

from cortex_eval.core import InputError, Secret
from cortex_eval.reports import compare_systems, render_systems, write_systems


def a_report(name, values, *, run_id=None, categories=("visit", "billing"), state=None, **fields):
    """A run of one scorer, `exact`, with these values case by case; None is an error."""
    results = []
    for number, value in enumerate(values):
        case = made_case(number, category=categories[number % len(categories)])
        outcome = "error_target" if value is None else "passed" if value >= 0.5 else "failed"
        scores = {} if value is None else {"exact": value}
        results.append(made_result(case, number, state=outcome, scores=scores))
    run = made_run(len(values), id=run_id or f"run-{name}", target_name=name, target_version=None, **fields)
    return made_report(results, run=run)


GOOD, FAIR, BAD = [1.0] * 40, [1.0] * 30 + [0.0] * 10, [0.0] * 40


def test_a_target_that_beats_every_other_is_best():
    systems = compare_systems([a_report("a", GOOD), a_report("b", FAIR), a_report("c", BAD)])
    assert systems.best("exact") == 0
    assert systems.best("pass_rate") == 0
    text = render_systems(systems)
    assert "**`a` is best** by `overall_score`: 1.00" in text
    assert "| `exact` | **1.00** [0.91, 1.00] 40/40 **best** | 0.75 " in text


def test_the_highest_mean_is_not_best_when_chance_would_do():
    almost = [1.0] * 38 + [0.0] * 2
    systems = compare_systems([a_report("a", GOOD), a_report("b", almost)])
    assert systems.best("exact") is None
    text = render_systems(systems)
    assert "no target is better than every other by more than chance" in text
    assert "**best** |" not in text


def test_the_best_must_beat_all_of_them_and_not_only_the_worst():
    systems = compare_systems([a_report("a", GOOD), a_report("b", GOOD), a_report("c", BAD)])
    assert systems.best("exact") is None


def test_pairs_are_adjusted_together():
    """Six cases of 40 are significant alone (p = 0.031), and no longer so among three pairs."""
    less = [1.0] * 34 + [0.0] * 6
    alone = compare_systems([a_report("a", GOOD), a_report("b", less)])
    among = compare_systems([a_report("a", GOOD), a_report("b", less), a_report("c", less)])
    assert alone.best("exact") == 0
    assert among.best("exact") is None
    assert among.differences["exact"][0].adjusted_p == pytest.approx(3 * 2 / 2**6)


def test_less_is_better_where_the_metric_says_so():
    slow = a_report("slow", GOOD)
    fast = made_report(
        [made_result(made_case(n, category="x"), n, scores={"exact": 1.0}, latency_ms=20.0 + n) for n in range(40)],
        run=made_run(40, id="run-fast", target_name="fast"),
    )
    systems = compare_systems([slow, fast])
    assert systems.best("latency_ms") == 1


def test_an_error_is_no_score_and_the_pairs_are_those_that_both_scored():
    systems = compare_systems([a_report("a", [None] * 10 + [1.0] * 30), a_report("b", FAIR)])
    (difference,) = systems.differences["exact"]
    assert difference.found.pairs == 30
    assert "| `exact` | 1.00 [0.89, 1.00] 30/40" in render_systems(systems).replace("**", "").replace(" best", "")


def test_a_metric_that_one_of_them_lacks_is_a_dash_and_nobody_is_best_in_it():
    other = made_report(
        [made_result(made_case(n, category="visit"), n, scores={"safety": 1.0}) for n in range(40)],
        run=made_run(40, id="run-b", target_name="b"),
    )
    systems = compare_systems([a_report("a", BAD, categories=("visit",)), other])
    assert systems.best("safety") is None
    assert "| `safety` | – | 1.00 [0.91, 1.00] 40/40 |" in render_systems(systems)


def test_every_category_has_its_table_and_its_own_tests():
    half = [1.0, 0.0] * 20
    systems = compare_systems([a_report("a", GOOD), a_report("b", half)])
    assert list(systems.by_category) == ["billing", "visit"]
    assert systems.best("exact", "billing") == 0
    assert systems.best("exact", "visit") is None
    assert "## `billing`, 20 cases" in render_systems(systems)


def test_two_runs_of_one_target_are_told_apart():
    systems = compare_systems([a_report("a", GOOD, run_id="r1"), a_report("a", BAD, run_id="r2")])
    assert systems.labels == ("a (r1)", "a (r2)")


def test_runs_without_a_common_case_are_beside_each_other_and_not_compared():
    other = made_report(
        [made_result(made_case(n, id=f"other-{n}"), n) for n in range(5)], run=made_run(5, id="r2", target_name="b")
    )
    systems = compare_systems([a_report("a", GOOD), other])
    assert systems.shared == 0
    assert systems.best("overall_score") is None
    assert "over the 0 cases" in render_systems(systems)


def test_one_run_is_not_enough():
    with pytest.raises(InputError, match="at least two runs"):
        compare_systems([a_report("a", GOOD)])


def test_names_do_nothing_in_the_text_and_secrets_are_masked():
    Secret("hunter2-hunter2")
    text = render_systems(compare_systems([a_report("[x](javascript:1)|", GOOD), a_report("hunter2-hunter2", BAD)]))
    assert "`[x](javascript:1)\\|`" in text
    assert "hunter2" not in text


def test_the_file_has_the_name_of_the_seed(tmp_path):
    (path,) = write_systems([a_report("a", GOOD), a_report("b", BAD)], tmp_path)
    assert path == tmp_path / "evaluation_summary_report.md"
    assert path.read_text("utf-8").startswith("# Evaluation summary: `triage`\n")


def test_with_several_suites_in_the_project_each_keeps_its_own_file(tmp_path):
    triage = [a_report("a", GOOD), a_report("b", BAD)]
    voice = [a_report("a", GOOD, suite="voice"), a_report("b", BAD, suite="voice")]

    own, plain = write_systems(triage, tmp_path, ["triage", "voice"])
    write_systems(voice, tmp_path, ["triage", "voice"])

    assert (own.name, plain.name) == ("evaluation_summary_report_triage.md", "evaluation_summary_report.md")
    assert own.read_text("utf-8").startswith("# Evaluation summary: `triage`\n")
    assert plain.read_text("utf-8").startswith("# Evaluation summary: `voice`\n")
    assert plain.read_bytes() == (tmp_path / "evaluation_summary_report_voice.md").read_bytes()
