"""What was asked and replied in cases whose verdict changed: of the right turn, of few cases, and never invented."""

from __future__ import annotations

from itertools import groupby

from made_results import made_case, made_result, made_run

from cortex_eval.analysis import GateSettings, compare_runs
from cortex_eval.core import Reply


def compared(before, after, asked_for=None, **settings):
    """The comparison of two runs with these results; the places that were read for words go to `asked_for`."""
    rows = {"a": before, "b": after}
    count = len({row.case_id for row in before})
    runs = [made_run(count, id=name, **settings) for name in rows]

    def read_some(run, ordinals):
        if asked_for is not None:
            asked_for[run.id] = list(ordinals)
        return [row for row in rows[run.id] if row.ordinal in ordinals]

    versus = compare_runs(runs, lambda run, _: iter(rows[run.id]), gate=GateSettings(), read_some=read_some)
    return versus.comparisons[0], versus


def said(change):
    return change.question, change.reply_before, change.reply_after


def one(number=0, *, failed=False, texts=("Where is my bill?",), **fields):
    state = "failed" if failed else "passed"
    scores = {"accuracy": 0.0 if failed else 1.0}
    return made_result(made_case(number, texts=texts), number, **{"state": state, "scores": scores, **fields})


def test_a_broken_and_a_mended_case_have_the_question_and_both_replies():
    before = [one(0, text="In your inbox."), one(1, failed=True, text="No idea.")]
    after = [one(0, failed=True, text="No idea."), one(1, text="In your inbox.")]

    found, versus = compared(before, after)

    assert said(found.newly_broken[0]) == ("Where is my bill?", "In your inbox.", "No idea.")
    assert said(found.newly_fixed[0]) == ("Where is my bill?", "No idea.", "In your inbox.")
    document = versus.to_dict()["newly_broken"][0]
    assert (document["question"], document["reply_before"], document["reply_after"]) == said(found.newly_broken[0])
    assert "ordinal_a" not in document


def test_of_a_conversation_the_turn_that_failed_is_told():
    texts = ("Where is my bill?", "And the one of May?")
    before = [one(texts=texts, turn=turn, text=f"then {turn}") for turn in (0, 1)]
    after = [one(texts=texts, turn=turn, text=f"now {turn}", failed=turn == 1) for turn in (0, 1)]

    broken, _ = compared(before, after)
    mended, _ = compared(after, before)

    assert said(broken.newly_broken[0]) == ("And the one of May?", "then 1", "now 1")
    assert said(mended.newly_fixed[0]) == ("And the one of May?", "now 1", "then 1")


def test_the_reply_that_failed_is_told_though_another_repeat_had_an_error():
    before = [one(repeat=repeat, text="In your inbox.") for repeat in (0, 1)]
    after = [one(repeat=0, state="error_target"), one(repeat=1, failed=True, text="No idea.")]

    found, _ = compared(before, after, repeats=2)

    assert said(found.newly_broken[0]) == ("Where is my bill?", "In your inbox.", "No idea.")


def test_where_the_texts_are_the_same_what_the_replies_state_is_told():
    before, after = Reply(text="Done.", intent="refill"), Reply(text="Done.", intent="cancel")
    silent = Reply(intent="refill", tool="book")

    same, _ = compared([one(reply=before)], [one(reply=after, failed=True)])
    blank, _ = compared([one(reply=silent)], [one(reply=Reply(text="No idea."), failed=True)])

    assert said(same.newly_broken[0])[1:] == ("Done. (intent: refill)", "Done. (intent: cancel)")
    assert said(blank.newly_broken[0])[1:] == ("intent: refill, tool: book", "No idea.")


def test_a_case_without_an_answer_now_has_no_reply_and_not_an_empty_one():
    found, _ = compared([one(0), one(1)], [one(0, state="error_target"), one(1)])

    assert said(found.newly_in_error[0]) == ("Where is my bill?", "It is in your inbox.", None)


def test_only_the_first_cases_are_read_and_the_rest_have_no_words():
    asked_for = {}
    count = 200
    before = [one(number) for number in range(count)]
    after = [one(number, failed=number % 2 == 0) for number in range(count)]

    found, versus = compared(before, after, asked_for)

    assert asked_for["a"] == asked_for["b"] == list(range(0, 120, 2))
    known = [each.question is not None for each in found.newly_broken]
    assert [(key, len(list(group))) for key, group in groupby(known)] == [(True, 60), (False, 40)]
    assert len(versus.to_dict()["newly_broken"]) == 100


def test_where_nothing_changed_nothing_is_read():
    asked_for = {}

    compared([one(0)], [one(0)], asked_for)

    assert asked_for == {}


def test_cases_that_stand_elsewhere_in_another_version_of_the_dataset_are_found():
    before = [one(0, text="zero"), one(1, text="one")]
    after = [
        made_result(made_case(1), 0, state="failed", scores={"accuracy": 0.0}, text="broken"),
        made_result(made_case(0), 1, scores={"accuracy": 1.0}, text="zero"),
    ]

    found, _ = compared(before, after)

    assert [each.case_id for each in found.newly_broken] == ["case_0001"]
    assert said(found.newly_broken[0])[1:] == ("one", "broken")
