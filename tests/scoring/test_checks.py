"""Checks of single cases: what each type looks for, what is said of it, and how they become one score."""

from decimal import Decimal

import pytest

from cortex_eval import evaluate
from cortex_eval.core import Case, CaseCheck, Expected, JudgeError, Money, Reply, Turn, Usage
from cortex_eval.scoring import plan_scorer, run_scorer
from cortex_eval.scoring.checks import Checks
from cortex_eval.scoring.embedding import can_embed

SCHEMA = {"type": "object", "required": ["monday"]}


def case(*checks: CaseCheck, **fields) -> Case:
    return Case(id="1", turns=(Turn(text="?", expected=Expected(checks=checks)),), **fields)


def scored(reply: Reply | str, *checks: CaseCheck, **fields):
    reply = Reply(text=reply) if isinstance(reply, str) else reply
    return Checks().score_batch([(case(*checks, **fields), reply)])[0]


@pytest.mark.parametrize(
    ("kind", "value", "reply", "holds", "found"),
    [
        ("contains", "112", "Call 112.", True, "contains “112”"),
        ("contains", "emergency", "An EMERGENCY", True, "contains “emergency”"),
        ("contains", "two  words", "two\nwords", True, "contains “two  words”"),
        ("contains", "112", "Rest.", False, "does not contain “112”"),
        ("contains_all", ["a", "b", "c"], "a", False, "does not contain “b”, “c”"),
        ("contains_any", ["112", "911"], "Dial 911", True, "contains “911”"),
        ("contains_any", ["112", "911"], "Rest", False, "does not contain “112” or “911”"),
        ("equals", "yes", " Yes\n", True, "is “yes”"),
        ("equals", "yes", "Yes.", False, "is not “yes”"),
        ("equals", {"a": [1]}, '{"a": [1]}', True, 'is the JSON {"a":[1]}'),
        ("equals", {"a": [1]}, "a", False, "is not JSON"),
        ("starts_with", "Dear", "dear Sir", True, "begins with “Dear”"),
        ("starts_with", "Dear", "My dear", False, "does not begin with “Dear”"),
        ("ends_with", "you.", "Thank you. ", True, "ends with “you.”"),
        ("regex", r"\d+ mg", "take 400 mg", True, r"matches the pattern \d+ mg with '400 mg'"),
        ("regex", r"\d+ MG", "take 400 mg", False, r"does not match the pattern \d+ MG"),
        ("regex", r"दर्द", "सीने में दर्द", True, "matches the pattern दर्द with 'दर्द'"),
        ("is_json", None, "[1]", True, "is JSON"),
        ("contains_json", None, 'Here {not} it is: {"a": 1}!', True, 'contains JSON: {"a": 1}'),
        ("contains_json", None, "none {here}", False, "contains no JSON object or list"),
        ("json_schema", SCHEMA, '{"monday": 1}', True, "fits the JSON Schema"),
        ("max_words", 3, "one two, three", True, "has 3 words, just 3"),
        ("max_words", 3, "don't count two-part words", False, "has 4 words, more than 3"),
        ("min_words", 5, "我胸口疼", False, "has 4 words, less than 5"),
        ("edit_similarity", ["Take it with food"], "take it with foot", True, None),
        ("edit_similarity", ["Take it with food"], "no", False, None),
        ("levenshtein", ["abc"], "abcdefgh", True, "is 5 characters away from “abc”, at most 5"),
        ("levenshtein", ["abc"], "abcdefghi", False, "is 6 characters away from “abc”, more than 5"),
    ],
)
def test_a_type_says_whether_it_holds_and_what_was_found(kind, value, reply, holds, found):
    plain = scored(reply, CaseCheck(type=kind, value=value))
    turned = scored(reply, CaseCheck(type=f"not_{kind}", value=value))

    (row,) = plain.evidence["checks"]
    assert (row["holds"], plain.value) == (holds, float(holds))
    assert found is None or row["found"] == found
    assert turned.value == 1 - plain.value
    assert turned.evidence["checks"][0]["found"] == row["found"]


@pytest.mark.parametrize("kind", ["is_json", "json_schema"])
def test_a_reply_that_is_no_json_says_so(kind):
    assert "is not JSON (" in scored("{", CaseCheck(type=kind, value=SCHEMA)).reason


def test_a_schema_that_is_not_met_names_the_place():
    score = scored('{"tuesday": 1}', CaseCheck(type="json_schema", value=SCHEMA))

    assert score.reason == 'The reply does not fit the JSON Schema at $: "monday" is a required property.'


def test_upper_and_lower_case_count_where_the_check_says_so():
    assert scored("paris", CaseCheck(type="contains", value="Paris", case_sensitive=True)).value == 0
    assert scored("paris", CaseCheck(type="equals", value="Paris", case_sensitive=True)).value == 0


@pytest.mark.parametrize(("took_ms", "value"), [(2000.0, 1.0), (2345.6, 0.0)])
def test_a_limit_of_time_is_held_against_the_time_of_the_reply(took_ms, value):
    score = scored(Reply(text="a", total_time_ms=took_ms), CaseCheck(type="max_latency_ms", value=2000))

    assert score.value == value
    assert value or score.reason == "The reply took 2,346 ms, more than 2,000 ms."


@pytest.mark.parametrize(("amount", "value"), [("0.01", 1.0), ("0.0101", 0.0)])
def test_a_limit_of_money_is_held_against_what_the_reply_cost(amount, value):
    usage = Usage(cost=Money(amount=Decimal(amount)))

    assert scored(Reply(text="a", usage=usage), CaseCheck(type="max_cost_usd", value=0.01)).value == value


def test_what_cannot_be_known_does_not_count():
    unknown = CaseCheck(type="max_cost_usd", value=0.01)

    alone = scored("112", unknown)
    beside = scored("112", CaseCheck(type="contains", value="112"), unknown)
    turned = scored("112", CaseCheck(type="not_max_latency_ms", value=5))

    assert (alone.value, turned.value, beside.value) == (None, None, 1.0)
    assert beside.reason == "The check holds. 1 cannot be told: the cost of the reply in USD is not known."


def test_a_case_without_checks_does_not_apply():
    score = scored("a")

    assert (score.value, score.passed, score.reason) == (None, None, "The case has no checks.")


def test_the_value_is_the_weighted_share_and_the_reason_names_the_first_that_does_not_hold():
    score = scored(
        "Take ibuprofen.",
        CaseCheck(type="contains", value="112", weight=2, name="emergency number"),
        CaseCheck(type="not_contains", value="ibuprofen"),
        CaseCheck(type="max_words", value=10),
        CaseCheck(type="is_json", weight=0),
    )

    assert score.value == 0.25
    assert score.reason == "emergency number: the reply does not contain “112”; 1 of 3 checks hold."
    assert [(row["check"], row["holds"]) for row in score.evidence["checks"]] == [
        ("emergency number", False),
        ("not contains: ibuprofen", False),
        ("max words: 10", True),
        ("is json", False),
    ]


async def test_all_must_hold_unless_the_user_sets_a_threshold():
    asked = case(*(CaseCheck(type="contains", value=each) for each in "abcd"))
    reply = Reply(text="a b c")

    strict = await run_scorer(plan_scorer("checks"), asked, reply)
    lenient = await run_scorer(plan_scorer("checks", threshold=0.75), asked, reply)

    assert (strict.value, strict.passed, lenient.passed) == (0.75, False, True)


async def test_D20_a_pattern_that_takes_too_long_is_an_error_and_no_score():
    asked = case(CaseCheck(type="regex", value=r"(?<!x)(a|aa)+$"))

    with pytest.raises(JudgeError, match="took longer than 250 ms") as caught:
        await run_scorer(plan_scorer("checks"), asked, Reply(text="a" * 60 + "!"))

    assert caught.value.kind == "regex_timeout"


def test_a_million_brackets_are_given_up_on():
    assert scored("[" * 1_000_000, CaseCheck(type="contains_json")).value == 0


@pytest.mark.skipif(not can_embed(), reason="the extra embed is not installed")
def test_similar_goes_by_meaning_and_says_so():
    near, far = (
        scored(text, CaseCheck(type="similar", value=["At most 4 g in 24 hours.", "No more than 4 g a day."]))
        for text in ("You may take up to 4 g every 24 hours.", "The clinic opens at nine.")
    )

    assert (near.value, far.value) == (1.0, 0.0)
    assert " by meaning, less than 0.75" in far.reason


def test_similar_goes_by_words_where_the_model_cannot_read_and_says_so():
    score = scored("सीने में दर्द", CaseCheck(type="similar", value=["सीने में दर्द है"], threshold=0.5))

    assert score.value == 1.0
    assert "lexical fall-back: the embedding model reads English only" in score.evidence["checks"][0]["found"]


def test_many_replies_are_scored_together_each_by_its_own_checks():
    similar = CaseCheck(type="similar", value=["दर्द"], threshold=0.9)
    pairs = [(case(similar), Reply(text="दर्द")), (case(), Reply(text="x")), (case(similar), Reply(text="बुखार"))]

    assert [score.value for score in Checks().score_batch(pairs)] == [1.0, None, 0.0]


def test_a_run_with_checks_fails_by_them_and_leaves_other_cases_alone():
    cases = [
        {"id": "a", "question": "My chest hurts.", "checks": [{"contains": "112"}, {"max_words": 20}]},
        {"id": "b", "question": "Hello?", "answer": "Hello!"},
    ]

    report = evaluate(cases, lambda _: "Hello!", ["checks", "exact"], store=None)

    assert (report.metrics["checks"].scored, report.metrics["checks"].mean) == (1, 0.5)
    assert report.metrics["exact"].mean == 1.0
