"""Plugins and Python targets that misbehave, through the command."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.slow  # each starts the command; together they take long


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "plugin scorers.py: there is no file scorers.py."),
        (
            "import nonsense_that_is_not_there",
            "ModuleNotFoundError: No module named 'nonsense_that_is_not_there' (scorers.py:1)",
        ),
        ("x = 1\n\nraise ValueError('not today\\nor ever')", "ValueError: not today (scorers.py:3)"),
        ("def broken(:", "SyntaxError"),
        ("import sys\nsys.exit(0)", "SystemExit: 0 (scorers.py:2)"),
        ("from cortex_eval import scorers\nscorers.find('exactt')", "Did you mean 'exact'?"),
    ],
    ids=["missing", "import", "raises", "syntax", "exit", "input-error"],
)
def test_PL01_a_plugin_that_cannot_be_loaded_is_named_with_its_first_error(clinic, content, said):
    project = clinic(
        plugins=["scorers.py"], suites={"clinic": {"dataset": "cases.jsonl", "scorers": ["of_the_plugin"]}}
    )
    if content is not None:
        project.write("scorers.py", content)

    done = project.cortex("run")

    assert (done.code, done.out) == (4, "")
    assert "cortex.yaml:" in done.err
    assert "plugin scorers.py" in done.err
    assert said in done.err
    assert "or ever" not in done.err
    assert project.bot.ledger == []


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("gone:answer", "gone"),
        ("bot:nothing", "nothing"),
        ("bot", "'module:function' or 'file.py:function'"),
    ],
)
def test_PL01_a_callable_that_is_not_there_is_told_before_the_first_case(folder, call, said):
    folder.write("bot.py", "def answer(text):\n    return text\n")
    folder.write("cases.jsonl", '{"id": "1", "input": "Hello?"}\n')
    folder.write(
        "cortex.yaml",
        {
            "services": {"bot": {"kind": "python", "call": call}},
            "suites": {"s": {"dataset": "cases.jsonl", "service": "bot", "scorers": ["exact"]}},
        },
    )

    done = folder.cortex("run")

    assert (done.code, done.out) == (4, "")
    assert said in done.err


BOT = """
import os, sys, time

def answer(text):
    if text == "none": return None
    if text == "coroutine":
        async def later(): return "x"
        return later()
    if text == "raise": raise RuntimeError("out of order")
    if text == "exit": sys.exit(0)
    if text == "interrupt": raise KeyboardInterrupt
    if text == "die": os._exit(7)
    if text == "block": time.sleep(3600)
    return text
"""
KINDS = {
    "none": "bad_return",
    "coroutine": "bad_return",
    "raise": "raised",
    "exit": "raised",
    "interrupt": "raised",
    "die": "crashed",
    "block": "timeout",
}


def test_PL02_PL03_PL04_whatever_a_python_target_does_the_other_cases_finish(folder):
    folder.write("bot.py", BOT)
    inputs = [*KINDS, *(f"fine {number}" for number in range(20))]
    folder.write(
        "cases.jsonl",
        "".join(json.dumps({"id": each, "input": each, "expected": {"answer": each}}) + "\n" for each in inputs),
    )
    folder.write(
        "cortex.yaml",
        {
            "services": {"bot": {"kind": "python", "call": "bot:answer", "timeout_seconds": 1}},
            "execution": {"retry_count": 0, "max_concurrent_tests": 3},
            "suites": {"s": {"dataset": "cases.jsonl", "service": "bot", "scorers": ["exact"]}},
        },
    )

    done = folder.cortex("run", "--json", "--results")

    assert done.code == 3
    rows = {row["case_id"]: row for row in done.json["results"]}
    assert {row["state"] for name, row in rows.items() if name.startswith("fine")} == {"passed"}
    assert {name: rows[name]["error"]["kind"] for name in KINDS} == KINDS
    assert {rows[name]["state"] for name in KINDS} == {"error_target"}
    assert done.json["totals"]["errors"] == len(KINDS)
