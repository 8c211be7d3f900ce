"""A scorer that `metric_weights` forgets weighs nothing: the plan says so before the run begins."""

from __future__ import annotations

import pytest
from written import plans_of

BOT = "targets: {bot: {kind: http, api_url: 'http://127.0.0.1:1/'}}\n"


def plan(tmp_path, metrics, scorers="[exact, contains]"):
    text = f"{BOT}metrics: {metrics}\nsuites: {{s: {{dataset: d, target: bot, scorers: {scorers}}}}}\n"
    return plans_of(tmp_path, text)[0]


def lacking(found):
    return [each.name for each in found.scorers if each.lacks_weight]


def test_a_scorer_without_a_weight_is_told_with_what_to_do(tmp_path):
    found = plan(tmp_path, "{metric_weights: {exact: 1}}")

    (note,) = found.notes
    assert note == (
        "contains has no weight in metric_weights: it is shown and does not count. "
        "Give it one (0: only shown), or make it critical: true."
    )
    assert ([each.weight for each in found.scorers], lacking(found)) == ([1.0, 0.0], ["contains"])


def test_several_are_told_in_one_note(tmp_path):
    found = plan(tmp_path, "{metric_weights: {exact: 1}}", "[exact, contains, f1, bleu]")

    (note,) = found.notes
    assert note.startswith("contains, f1 and bleu have no weight in metric_weights: they are shown and do not count. ")


@pytest.mark.parametrize(
    "metrics",
    [
        "{metric_weights: {exact: 1, contains: 0}}",
        "{metric_weights: {exact: 1}, contains: {weight: 0}}",
        "{metric_weights: {exact: 1}, contains: {critical: true}}",
        "{contains: {critical: false}}",
    ],
)
def test_nothing_is_said_where_somebody_decided_or_all_count_alike(tmp_path, metrics):
    assert plan(tmp_path, metrics).notes == ()


def test_it_changes_nothing_that_makes_results_comparable(tmp_path):
    forgotten = plan(tmp_path, "{metric_weights: {exact: 1}}")
    written = plan(tmp_path, "{metric_weights: {exact: 1, contains: 0}}")

    assert forgotten.identity() == written.identity()
