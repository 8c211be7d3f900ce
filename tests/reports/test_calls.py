"""The account of a run's calls, as terminal, Markdown, page and file tell it."""

from decimal import Decimal

import pytest
from made_results import made_case, made_report, made_result, made_run, simple_results

from cortex_eval.core import Money, Reply, Usage
from cortex_eval.reports import money, render_console, render_html, render_markdown

PUT_DOWN = {
    "hosts": {"api.example:443": 9, "127.0.0.1:8080": 3},
    "calls": {"made": 12, "may_repeat": 1, "outages": 2, "waited_s": 75.25},
}


def _paid(number, cost="0.0125", **fields):
    price = None if cost is None else Money(amount=Decimal(cost))
    usage = Usage(input_tokens=1000, output_tokens=50, cached_tokens=200, cost=price)
    return made_result(made_case(number), number, reply=Reply(text="Hello.", total_time_ms=9.0, usage=usage), **fields)


def _judged(number, cost):
    evidence = {"tokens": {"input": 300, "output": 20}, "cost": cost, "attempts": 1, "cached": False}
    score = {"value": 1.0, "passed": True, "source": "judge", "evidence": evidence}
    return made_result(made_case(number), number, scores={"tone": score})


def _report(rows, **manifest):
    return made_report(rows, run=made_run(len(rows), manifest={**PUT_DOWN, **manifest}))


def test_a_run_without_trouble_or_costs_says_nothing_of_calls_in_the_terminal():
    calm = {"made": 4, "may_repeat": 0, "outages": 0, "waited_s": 0.2}
    text = render_console(made_report(simple_results(4), run=made_run(4, manifest={"calls": calm, "hosts": {}})))

    assert "call" not in text
    assert "call" not in render_console(made_report(simple_results(4)))


def test_the_terminal_tells_retries_waiting_outages_repeats_and_costs_in_a_sentence():
    rows = [_paid(0), _paid(1, attempts=3), *simple_results(2)]

    text = " ".join(render_console(_report(rows)).split())

    assert (
        "12 calls: 3/4 answered at the first attempt; waited 19 s a turn on average; 2 outages; "
        "1 may be repeats; cost: target $0.025" in text
    )


def test_a_price_that_is_not_known_is_unknown_and_not_zero():
    rows = [_paid(0, cost=None), _judged(1, {"amount": "0.002", "currency": "USD"}), _judged(2, None)]

    text = " ".join(render_console(_report(rows)).split())
    page = render_markdown(_report(rows))

    assert "cost: target unknown, judge $0.0020" in text
    assert "| Cost of the target | unknown | 1,000 tokens in (200 of them cached), 50 out, in 1 reply |" in page
    judged = "600 tokens in, 40 out, in 2 verdicts asked for; 1 of them without a known price"
    assert f"| Cost of judges | $0.0020 | {judged} |" in page


def test_markdown_and_page_have_the_same_account():
    report = _report([_paid(0), *simple_results(3)])

    account = render_markdown(report).partition("## Calls")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in account.splitlines() if line.startswith("| ") and " | " in line]
    told = {row[0]: row[1:] for row in rows if len(row) == 3}
    page = render_html(report, charts=False)

    assert told["Calls made"][0] == "12"
    assert told["Answered at the first attempt"] == ["4/4", "100.0 % of the turns asked"]
    assert told["Waited"][0] == "19 s a turn on average"
    assert told["Waited"][1].endswith("1 min 15 s summed over all calls, which wait side by side")
    assert told["Outages"][0] == "2"
    assert told["Calls that may be repeats"][0] == "1"
    assert told["Hosts contacted"] == ["2", "api.example:443 (9), 127.0.0.1:8080 (3)"]
    section = page.partition("<h2>Calls</h2>")[2].partition("</section>")[0]
    for label, (figure, remark) in told.items():
        assert f"<th scope=row>{label}</th><td class=n>{figure}</td><td>{remark}</td>" in section
    assert section.count("<tr>") == 8


def test_what_a_killed_part_called_is_the_least_and_is_said_to_be():
    report = _report(simple_results(4), calls={**PUT_DOWN["calls"], "at_least": True})

    assert "at least 12 calls: waited 19 s" in " ".join(render_console(report).split())
    remark = "to the target and to judges, retries included; of a part of the run that was killed, only those with"
    assert f"| Calls made | at least 12 | {remark}" in render_markdown(report)
    assert "at least 12" in render_html(report)
    assert report.to_dict()["calls"]["at_least"] is True


def test_a_host_cannot_put_markup_into_the_page():
    page = render_html(_report(simple_results(1), hosts={"<img src=x>:80": 1}))

    assert "<img src=x>" not in page
    assert "&lt;img src=x&gt;:80 (1)" in page


def test_the_file_has_calls_and_hosts_and_null_for_what_nobody_put_down():
    document = _report(simple_results(4)).to_dict()

    assert document["calls"] == {
        "asked": 4,
        "answered_first": 4,
        "made": 12,
        "at_least": False,
        "may_repeat": 1,
        "outages": 2,
        "waited_s": 75.25,
    }
    assert document["hosts"] == PUT_DOWN["hosts"]
    killed = made_report(simple_results(4)).to_dict()
    assert killed["hosts"] is None
    assert killed["calls"]["made"] is None
    assert killed["calls"]["asked"] == 4


def test_a_run_that_scores_anothers_replies_has_asked_and_paid_for_none():
    report = _report([_paid(0)], parent="abcd1234", calls={"made": 0})

    assert report.to_dict()["calls"]["asked"] == 0
    assert "| Cost of the target | none | the replies are those of run abcd1234 |" in render_markdown(report)
    assert "cost" not in render_console(report)


def test_what_came_from_the_cache_is_not_paid_for_again():
    rows = [_paid(0), _paid(1, cached=True)]

    used = made_report(rows).to_dict()["usage"]["target"]

    assert (used["replies"], used["cost"]) == (1, {"USD": "0.0125"})


@pytest.mark.parametrize(
    ("amount", "shown"),
    [("0", "$0.00"), ("0.000126", "$0.00013"), ("0.5", "$0.50"), ("12.345", "$12.34"), ("1234567.8", "$1,234,567.80")],
)
def test_money_has_cents_and_below_a_cent_two_digits(amount, shown):
    assert money(Decimal(amount)) == shown


def test_money_of_another_currency_names_it():
    assert money("3", "EUR") == "3.00 EUR"


def test_a_paused_run_says_so_first_and_how_to_go_on():
    paused = {"kind": "target_auth", "message": "helpdesk answered 401."}
    run = made_run(9, status="paused", manifest={**PUT_DOWN, "paused": paused})

    text = render_console(made_report(simple_results(4), run=run, is_partial=True))

    assert "triage.jsonl (4 of 9 cases) → helpdesk 2.3" in text
    assert "ERROR  Paused: target_auth: helpdesk answered 401. (only 4 of 9 cases were" in text
    assert text.rstrip().endswith("When that is mended, go on: cortex run --resume 7f3a")


def test_waiting_that_rounds_to_nothing_is_not_told_in_the_terminal_and_never_shown_as_zero():
    calls = {"made": 40, "may_repeat": 0, "outages": 1, "waited_s": 1.2}
    report = made_report(simple_results(40), run=made_run(40, manifest={"calls": calls, "hosts": {}}))

    assert "40 calls: 1 outage\n" in render_console(report)
    assert "| Waited | under 0.1 s a turn on average |" in render_markdown(report)


def test_no_waiting_has_no_sum():
    calm = {"made": 4, "may_repeat": 0, "outages": 0, "waited_s": 0.0}
    page = render_html(made_report(simple_results(4), run=made_run(4, manifest={"calls": calm})), charts=False)

    assert "<td>for limits, retries and a target that is down</td>" in page
