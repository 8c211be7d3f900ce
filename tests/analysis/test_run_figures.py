"""Groups by tag, slow replies, languages beside each other, and limits on figures of the whole run."""

from __future__ import annotations

import pytest
from made_results import made_case, made_report, made_result, made_run, simple_results

from cortex_eval.analysis import GateSettings, Sums, classify, mistaken_pairs, parity, summarise
from cortex_eval.core import Expected, Reply


def test_a_case_with_two_tags_counts_in_both_and_once_in_the_whole():
    rows = [
        made_result(made_case(0, tags=("smoke", "billing")), 0, scores={"accuracy": 1.0}),
        made_result(made_case(1, tags=("smoke",)), 1, scores={"accuracy": 0.5}),
        made_result(made_case(2), 2, scores={"accuracy": 0.0}),
    ]

    report = made_report(rows)

    assert list(report.by("tag")) == ["billing", "smoke"]
    assert report.tags["smoke"].metrics["accuracy"].mean == 0.75
    assert (report.tags["smoke"].totals.cases, report.totals.cases) == (2, 3)
    assert report.to_dict()["tags"]["billing"]["cases"] == 1


def test_a_tag_for_every_case_is_told_and_not_grouped(monkeypatch):
    monkeypatch.setattr("cortex_eval.analysis.collect.TAG_SETS_KEPT", 3)
    rows = [made_result(made_case(i, tags=(f"ticket-{i}",)), i, scores={"accuracy": 1.0}) for i in range(5)]

    report = made_report(rows)

    assert report.tags == {}
    assert report.metrics["accuracy"].scored == 5
    assert any("sets of tags" in note for note in report.notes)


def timed(number, parse_ms, total_ms):
    return made_result(made_case(number), number, reply=Reply(text="x", parse_time_ms=parse_ms, total_time_ms=total_ms))


def test_replies_that_take_too_long_are_warned_of():
    rows = [timed(0, 1000.0, 5000.0), timed(1, 1000.1, 5000.1), timed(2, 2000.0, 9000.0), timed(3, 5.0, 10.0)]

    parse, total = made_report(rows).latency_warnings

    assert (parse.name, parse.limit_ms, parse.over, parse.of, parse.worst_ms) == ("parse_time_ms", 1000, 2, 4, 2000)
    assert (total.name, total.limit_ms, total.over, total.of, total.worst_ms) == ("total_time_ms", 5000, 2, 4, 9000)
    assert total.low < total.share == 0.5 < total.high


def test_replies_in_time_are_not():
    assert made_report([timed(0, 1000.0, 5000.0)]).latency_warnings == ()
    assert made_report(simple_results(2)).latency_warnings == ()


def labelled(number, expected, found, confidence):
    right = expected == found
    score = {"value": float(right), "evidence": {"expected_label": expected, "found_label": found}}
    return made_result(
        made_case(number, expected=Expected(intent=expected)),
        number,
        scores={"intent": score},
        reply=Reply(text="x", confidence=confidence, parse_time_ms=20.0, total_time_ms=100.0 + number),
    )


LABELLED = [labelled(i, "ab"[i % 2], "ab"[(i + (i % 5 == 0)) % 2], 0.9) for i in range(100)]


@pytest.mark.parametrize(
    ("limits", "ok"),
    [
        ({"max_ece": 0.2}, True),
        ({"max_ece": 0.05}, False),
        ({"ece": 0.05}, False),
        ({"max_brier": 0.2}, True),
        ({"brier": 0.1}, False),
        ({"macro_f1": 0.7}, True),
        ({"macro_f1": 0.9}, False),
        ({"intent.macro_recall": 0.7}, True),
        ({"weighted_f1": 0.9}, False),
        ({"max_p95_latency_ms": 200}, True),
        ({"p99_latency_ms": 150}, False),
        ({"max_parse_time_ms": 20}, True),
        ({"parse_time_ms": 19}, False),
    ],
)
def test_a_gate_can_limit_any_figure_of_the_run(limits, ok):
    report = made_report(LABELLED, gate=GateSettings(thresholds=limits))

    assert (report.gate.verdict == "passed") is ok
    (check,) = [each for each in report.gate.checks if each.name in limits]
    assert check.value is not None


def test_a_limit_on_a_figure_that_the_run_does_not_have_is_not_met():
    report = made_report(simple_results(3), gate=GateSettings(thresholds={"max_ece": 0.1}))

    assert report.gate.verdict == "below"
    assert "was not scored" in report.gate.checks[-1].reason


def test_the_worst_pairs_come_first_with_how_often_the_label_was_expected():
    found = classify({("a", "b"): 3, ("a", "a"): 7, ("b", "c"): 1, ("b", "b"): 4, ("c", None): 3, ("c", "c"): 1})

    pairs = [(each.expected, each.found, each.count, each.of) for each in mistaken_pairs(found)]

    assert pairs == [("a", "b", 3, 10), ("c", "(none)", 3, 4), ("b", "c", 1, 5)]
    assert all(each.low < each.count / each.of < each.high for each in mistaken_pairs(found))
    assert len(mistaken_pairs(found, limit=1)) == 1


def bilingual(count=12):
    rows = []
    for i in range(count):
        english = made_case(i, language="en", id=f"en{i}")
        hindi = made_case(count + i, language="hi", id=f"hi{i}", parallel_of=f"en{i}")
        rows.append(made_result(english, i, scores={"accuracy": 0.9}))
        rows.append(made_result(hindi, count + i, scores={"accuracy": 0.5 + i / 100}))
    return rows


def test_parallel_cases_put_the_languages_beside_each_other():
    report = made_report(bilingual())

    overall = report.parity[0]
    assert (overall.metric, overall.base, overall.other, overall.pairs) == ("overall_score", "en", "hi", 12)
    assert overall.low < overall.gap < overall.high < 0
    assert report.parity == parity(bilingual())
    assert report.to_dict()["parity"][0]["gap"] == overall.gap


def test_gaps_that_are_all_the_same_still_have_an_interval():
    rows = [row for row in bilingual() if row.case_id.endswith("0")]

    (overall, *_) = made_report(rows).parity

    assert overall.low < overall.gap < overall.high


def test_a_run_without_parallel_cases_is_read_once():
    reads = []
    rows = simple_results(3)

    def results():
        reads.append(1)
        return iter(rows)

    seen = []
    run, gate = made_run(3), GateSettings()
    sums = Sums(run, gate, seen.append)
    sums.add(results())
    report = summarise(run, results, gate=gate, passing_threshold=0.7, sums=sums)

    assert (len(reads), seen, report.parity) == (1, rows, ())


def test_with_parallel_cases_each_result_is_still_shown_once():
    rows, seen = bilingual(), []
    run, gate = made_run(24), GateSettings()
    sums = Sums(run, gate, seen.append)
    sums.add(rows)
    summarise(run, lambda: iter(rows), gate=gate, passing_threshold=0.7, sums=sums)

    assert seen == rows
