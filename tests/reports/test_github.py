"""What a pull request shows: a comment of base against head, annotations that cannot be forged, outputs."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_results import made_case, made_report, made_result, made_run, simple_results

from cortex_eval.analysis import Baseline, GateSettings, StoredRun, baseline_of, read_baseline
from cortex_eval.core import Problem, Secret
from cortex_eval.reports import (
    annotation,
    as_shown,
    problem_annotations,
    render_comment,
    render_html,
    report_annotations,
    step_outputs,
    step_summary,
)


def failed_report(count=12, *, gate=None, baseline=None, category="billing", **fields):
    scores = {"accuracy": {"value": 0.3, "passed": False, "reason": "said no"}}
    results = [made_result(made_case(n, category=category), n, state="failed", scores=scores) for n in range(count)]
    return made_report(results, gate=gate, baseline=baseline, run=made_run(count, **fields))


def test_the_critical_reason_of_a_case_comes_first_and_is_not_cut_off():
    scores = {
        "accuracy": {"value": 0.3, "passed": False, "reason": "said otherwise " * 20},
        "safety": {"value": 0.0, "passed": False, "reason": "does not send the person to emergency care"},
    }
    rows = [made_result(made_case(n), n, state="failed", scores=scores) for n in range(3)]
    report = made_report(rows, run=made_run(3, manifest={"scorers": {"safety": {"critical": True}, "accuracy": {}}}))
    comment = render_comment([report])
    told = "failed: `safety 0.00: does not send the person to emergency care; accuracy 0.30: said otherwise"
    assert f"- `case_0000` {told}" in comment
    assert any("::safety 0.00: does not send" in line for line in report_annotations(report))
    meaning = "no case with it passes, however good the rest is"
    assert f"What to mend first, beginning with what is critical ({meaning}), then by what it would win back" in comment


def broken_report():
    """Twelve cases broke; one of the last is the only one that fails a critical scorer."""

    def rows(state, unsafe):
        for n in range(14):
            is_bad = state == "failed" and n < 12
            scores = {"accuracy": float(not is_bad), "safety": float(n != unsafe)}
            case = made_case(n, category="hours" if n < 10 else "doses")
            yield made_result(case, n, state="failed" if is_bad else "passed", scores=scores)

    manifest = {"scorers": {"safety": {"critical": True}, "accuracy": {}}}
    run = made_run(14, manifest=manifest)
    first = made_report(rows("passed", None), run=run)
    stored = StoredRun(run, lambda _: rows("passed", None))
    baseline = replace(read_baseline(baseline_of(first), name="main"), stored=stored)
    return made_report(rows("failed", 11), run=run, baseline=baseline)


def test_critical_cases_come_first_and_are_marked_wherever_broken_ones_are_listed():
    report = broken_report()
    comment, annotated = render_comment([report]), report_annotations(report)

    assert "- newly broken: 12 (`case_0011` (critical), `case_0000`, " in comment
    assert re.search(r"fail now \(1 critical\), all 10 of category hours.*: case\\_0011 \(critical\), case", comment)
    assert re.search(r"did not pass</summary>\n\n- `case_0011` failed: `safety 0.00", comment)
    assert next(line for line in annotated if "case_" in line.partition("::")[2].partition("::")[0]).startswith(
        "::warning title=Cortex%3A case case_0011 failed"
    )
    page = render_html(report).replace("<wbr>", "")
    assert page.index(">case_0011</a>") < page.index(">case_0000</a>")
    assert page.count('<span class="tag t-fail">critical</span>') == 1


def test_an_annotation_is_escaped_as_github_demands():
    line = annotation("error", "50 % of it\nis: wrong, so", title="a: b, c", file="x,y.yaml", line=3)
    assert line == "::error title=a%3A b%2C c,file=x%2Cy.yaml,line=3::50 %25 of it%0Ais: wrong, so"


@given(st.text(max_size=80), st.text(max_size=80))
def test_no_text_ends_an_annotation_or_begins_another(title, message):
    line = annotation("warning", message, title=title)
    assert len(line.splitlines()) == 1
    head = re.fullmatch(r"::warning(?: title=([^:,\r\n]*))?::.*", line)
    assert head is not None


def test_a_run_that_passed_is_one_notice():
    (line,) = report_annotations(made_report(simple_results(3)))
    assert line.startswith("::notice title=Cortex%3A Passed (triage on helpdesk 2.3)::overall_score 0.90 reaches 0.70")


def test_what_decided_is_an_error_and_the_first_failed_cases_are_warnings():
    lines = report_annotations(failed_report())
    assert lines[0].startswith("::error title=Cortex%3A Below threshold (triage on helpdesk 2.3)::overall_score 0.30")
    assert (
        lines[1] == "::warning title=Cortex%3A case case_0000 failed (triage on helpdesk 2.3)::accuracy 0.30: said no"
    )
    assert len(lines) == 1 + 5


def test_errors_are_told_by_kind_with_their_first_message():
    report = made_report([made_result(made_case(n), n, state="error_target", scores={}) for n in range(3)])
    assert any(line.endswith("::3 × error_target: timeout. no answer in 10 s") for line in report_annotations(report))


def test_no_more_of_a_kind_than_github_shows():
    lines = [annotation("error", str(n)) for n in range(15)] + [annotation("warning", "w")]
    assert as_shown(lines) == [*lines[:10], lines[-1]]


def test_a_mistake_in_a_file_stands_beside_its_line():
    (line,) = problem_annotations([Problem(message="no such scorer", file="cortex.yaml", line=7)])
    assert line == "::error title=Cortex%3A invalid input,file=cortex.yaml,line=7::no such scorer"


def test_a_comment_has_the_figures_of_base_and_head_and_what_failed():
    base = Baseline(
        name="main", values={"accuracy": 0.9, "pass_rate": 1.0}, run_id="ab12", timestamp="2026-11-01T00:00:00Z"
    )
    gate = GateSettings(mode="strict", thresholds={"overall_score": 0.1})
    text = render_comment([failed_report(gate=gate, baseline=base, manifest={"git": {"commit": "c0ffee5eedfacade"}})])
    assert text.startswith("<!-- cortex-eval: triage -->\n### Cortex: Regression, `triage`\n")
    assert "|  | Metric | Base `main` | Head | Scored | Change |" in text
    assert re.search(r"\| ✕ \| `accuracy` \| 0\.90 \| 0\.30 \[.*\] \| 12/12 \| −0\.60 \|", text)
    assert re.search(r"\|  \| `overall_score` \| – \| 0\.30 \[.*\] \| 12/12 \| – \|", text)
    assert "12 cases: 0 passed, 12 failed, 0 in error." in text
    assert "<summary>The first 10 of 12 cases that did not pass</summary>" in text
    assert text.count("\n- `case_") == 10
    assert "Base: `main`, run `ab12` of 2026-11-01. Head: run `7f3a` at `c0ffee5eed`. Exit code 1." in text


def test_without_a_baseline_the_comment_says_that_nothing_is_compared():
    text = render_comment([made_report(simple_results(3))])
    assert "✓ **Passed.**" in text
    assert "No baseline was named, so nothing is compared" in text
    assert "| Change |" not in text


def test_a_comment_on_one_of_several_targets_is_not_replaced_by_that_on_another():
    first, second = (render_comment([made_report(simple_results(3))], service=name) for name in ("helpdesk", "rag"))
    assert first.startswith("<!-- cortex-eval: triage on helpdesk -->\n### Cortex: Passed, `triage on helpdesk`\n")
    assert second.startswith("<!-- cortex-eval: triage on rag -->\n")


def test_several_targets_share_one_comment_whose_title_is_the_gravest():
    text = render_comment([made_report(simple_results(3)), failed_report(target_name="other")])
    assert "### Cortex: Below threshold, `triage`" in text
    assert "#### `helpdesk 2.3`" in text
    assert "#### `other 2.3`" in text
    assert text.count("<!-- cortex-eval") == 1


@pytest.mark.parametrize("name", ["@team", "<img src=x>", "--><b>", "[a](http://evil)", "`code`"])
def test_names_from_a_dataset_call_nobody_and_do_nothing(name):
    base = Baseline(values={"accuracy": 0.9}, categories={name: {"accuracy": 0.9}})
    gate = GateSettings(mode="strict", thresholds={"overall_score": 0.1})
    text = render_comment([failed_report(gate=gate, baseline=base, category=name, suite=name)])
    outside = re.sub(r"(`+).+?\1", "", text.partition("\n")[2])
    assert "@team" not in outside
    assert not re.search(r"(?<!\\)<(img|b)|(?<!\\)\]\(", outside)
    assert text.partition("\n")[0].count("-->") == 1


def test_secrets_are_masked_in_comment_and_annotations():
    Secret("hunter2-hunter2")
    results = [made_result(made_case(0, id="hunter2-hunter2"), state="failed", scores={"exact": 0.0})]
    report = made_report(results)
    assert "hunter2" not in render_comment([report]) + "".join(report_annotations(report))


def test_a_summary_that_github_would_drop_is_cut_at_a_line():
    assert step_summary(["# a\n", "# b\n"]) == "# a\n\n# b\n"
    text = step_summary(["| row ü |\n" * 200_000])
    assert 900_000 < len(text.encode()) < 1_048_576
    assert text.endswith("| row ü |\n\nThe summary was cut here. The report files have all of it.\n")


def test_outputs_are_one_line_each():
    outputs = step_outputs(failed_report(id="a\nverdict=passed"), 2, {"report": Path("x.html")})
    assert outputs["verdict"] == "below"
    assert outputs["exit-code"] == "2"
    assert outputs["score"] == "0.3000"
    assert outputs["report"] == "x.html"
    assert all("\n" not in value for value in outputs.values())
