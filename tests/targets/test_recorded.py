"""Recorded replies are found by case id, and a file that is wrong is told of line by line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cortex_eval.asking import ask_target
from cortex_eval.core import Case, InputError, Reply, TargetError, Turn
from cortex_eval.net import Line
from cortex_eval.targets import Conversation, targets
from cortex_eval.targets.recorded import RecordedTarget

AYURMIND = Path(__file__).parents[2].parent / "shared" / "data" / "ayurmind_eval"


def about(case_id: str, turn: int = 0) -> Conversation:
    case = Case(id=case_id, turns=(Turn(text="one"), Turn(text="two"))).at(turn)
    return Conversation(turns=case.turns[: turn + 1], case=case)


def written(path: Path, *rows: object) -> RecordedTarget:
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n", "utf-8")
    return RecordedTarget(path=str(path))


async def test_a_reply_is_found_by_its_case_id(tmp_path):
    target = written(
        tmp_path / "a.jsonl",
        {"id": "1", "text": "first", "contexts": ["p"], "intent": "ask", "confidence": 0.5},
        {"id": 2, "text": "second", "model": "m", "run": "x"},
    )
    async with target:
        assert await target.ask(about("2")) == Reply(text="second", model="m", metadata={"run": "x"})
        assert await target.ask(about("1")) == Reply(text="first", contexts=("p",), intent="ask", confidence=0.5)


async def test_a_case_that_was_not_recorded_is_a_target_error(tmp_path):
    async with written(tmp_path / "a.jsonl", {"id": "1", "text": "x"}) as target:
        with pytest.raises(TargetError, match=r"no reply for case '9'") as caught:
            await target.ask(about("9"))

    assert caught.value.kind == "not_recorded"


async def test_the_time_of_a_reply_is_the_recorded_one_and_never_that_of_reading_the_file(tmp_path):
    target = written(tmp_path / "a.jsonl", {"id": "1", "text": "x", "latency_ms": 812.5}, {"id": "2", "text": "y"})
    async with target:
        timed, untimed = [await ask_target(Line(), target, about(case)) for case in "12"]

    assert (timed.total_time_ms, untimed.total_time_ms) == (812.5, None)


async def test_turns_have_their_own_rows(tmp_path):
    target = written(
        tmp_path / "a.jsonl",
        {"id": "1", "turn": 0, "text": "zero"},
        {"id": "1", "turn": 1, "repeat": 0, "text": "one"},
        {"id": "2", "text": "always"},
    )
    async with target:
        texts = [(await target.ask(about(case, turn))).text for case in "12" for turn in (0, 1)]

    assert texts == ["zero", "one", "always", "always"]


async def test_a_line_separator_inside_a_reply_ends_no_line(tmp_path):
    async with written(tmp_path / "a.jsonl", {"id": "1", "text": "a\u2028b\x85c"}, {"id": "2", "text": "d"}) as target:
        assert (await target.ask(about("1"))).text == "a\u2028b\x85c"
        assert (await target.ask(about("2"))).text == "d"


async def test_a_byte_order_mark_blank_lines_and_a_long_last_line_are_read(tmp_path):
    path = tmp_path / "a.jsonl"
    long = "नमस्ते " * 20_000
    path.write_text(f'\ufeff{{"id": "1", "text": "x"}}\r\n\r\n{json.dumps({"id": "2", "text": long})}', "utf-8")
    async with RecordedTarget(path=str(path)) as target:
        assert (await target.ask(about("1"))).text == "x"
        assert (await target.ask(about("2"))).text == long


async def test_fields_name_the_columns(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"nr": 7, "bot_said": "x", "response": "other", "docs": [{"page_content": "p"}]}\n', "utf-8")
    settings = {"path": str(path), "fields": {"id": "nr", "text": "bot_said", "contexts": "docs"}}
    async with targets.build("recorded", settings) as target:
        assert await target.ask(about("7")) == Reply(text="x", contexts=("p",))


async def test_an_unknown_field_offers_the_nearest(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": 7, "text": "x"}\n', "utf-8")

    with pytest.raises(InputError, match="Did you mean 'contexts'"):
        await RecordedTarget(path=str(path), fields={"context": "docs"}).check()


async def test_our_own_result_rows_are_replayed_errors_included(tmp_path):
    target = written(
        tmp_path / "results.jsonl",
        {"case_id": "1", "turn": 0, "repeat": 0, "input": "q", "reply": {"text": "x", "tool": "t"}, "error": None},
        {"case_id": "2", "turn": 0, "repeat": 0, "reply": None, "error": {"kind": "timeout", "message": "No reply"}},
    )
    async with target:
        assert await target.ask(about("1")) == Reply(text="x", tool="t")
        with pytest.raises(TargetError, match="Recorded: No reply") as caught:
            await target.ask(about("2"))

    assert caught.value.kind == "timeout"


async def test_csv_cells_are_read_as_what_a_reply_has_there(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        "id,response,sources,confidence,llm_invoked,entities\n"
        '1,"a, b","[""p"",""q""]",0.5,true,"{""k"": 1}"\n'
        "2,c,p,,,\n",
        "utf-8",
    )
    async with RecordedTarget(path=str(path)) as target:
        assert await target.ask(about("1")) == Reply(
            text="a, b", contexts=("p", "q"), confidence=0.5, llm_invoked=True, entities={"k": 1}
        )
        assert await target.ask(about("2")) == Reply(text="c", contexts=("p",))


@pytest.mark.parametrize(
    "document",
    [
        [{"id": "1", "text": "x"}],
        {"results": [{"case_id": "1", "response": "x"}]},
        {"1": "x"},
        {"1": {"answer": "x"}},
    ],
)
async def test_json_holds_a_list_or_replies_by_id(tmp_path, document):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(document), "utf-8")
    async with RecordedTarget(path=str(path)) as target:
        assert (await target.ask(about("1"))).text == "x"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "2", "text": ', "not JSON"),
        ('["2"]', "must be an object"),
        ('{"text": "x"}', r"no 'id' or 'case_id'.*it has text"),
        ('{"id": 1.5, "text": "x"}', r"whole number, not 1\.5"),
        ('{"id": "2", "turn": -1, "text": "x"}', "turn must be a whole number from 0 on"),
        ('{"id": "2", "text": 3}', "'text' as int 3"),
        ('{"id": "2", "note": "no reply"}', "holds nothing of a reply"),
        ('{"id": "2", "text": "x", "confidence": NaN}', "NaN is not a number"),
        ('{"id": "2", "id": "3", "text": "x"}', "the key 'id' is there twice"),
        ('{"id": "1", "text": "again"}', "case '1' is here a second time"),
        ('{"id": "2", "text": ' + "[" * 100_000, "nested too deep"),
    ],
)
async def test_a_line_that_is_wrong_is_an_input_error_with_its_place(tmp_path, line, message):
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"id": "1", "text": "x"}}\n{line}\n', "utf-8")

    with pytest.raises(InputError, match=message) as caught:
        await RecordedTarget(path=str(path)).check()

    assert (caught.value.problems[0].file, caught.value.problems[0].line) == (str(path), 2)


async def test_bytes_that_are_not_utf8_are_told_of(tmp_path):
    for name in ("a.jsonl", "a.json", "a.csv"):
        (tmp_path / name).write_bytes(b'{"id": "1", "text": "caf\xe9"}')
        with pytest.raises(InputError, match="not UTF-8"):
            await RecordedTarget(path=str(tmp_path / name)).check()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.jsonl", "", "there is no reply in it"),
        ("a.json", "3", "must hold a list"),
        ("a.json", '[{"id": 1}\n', "a.json:2: this is not JSON"),
        ("a.csv", "id,text\n1,a,b\n", r"a\.csv:2: the row does not have 2 cells"),
        ("a.csv", 'id,text\n1,"a\n', r"a\.csv:\d: "),
        ("a.txt", "x", "no known format"),
    ],
)
async def test_a_file_that_is_no_recording_is_an_input_error(tmp_path, name, text, message):
    (tmp_path / name).write_text(text, "utf-8")

    with pytest.raises(InputError, match=message):
        await RecordedTarget(path=str(tmp_path / name)).check()


async def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"no file .*nowhere\.jsonl"):
        await RecordedTarget(path=str(tmp_path / "nowhere.jsonl")).check()


async def test_a_file_that_changes_while_it_is_used_gives_no_wrong_reply(tmp_path):
    path = tmp_path / "a.jsonl"
    async with written(path, {"id": "1", "text": "x"}, {"id": "2", "text": "y"}) as target:
        path.write_text('{"id": "8", "text": "x"}\n{"id": "9", "text": "y"}\n', "utf-8")
        with pytest.raises(TargetError, match="was changed"):
            await target.ask(about("2"))


@pytest.mark.skipif(not AYURMIND.is_dir(), reason="the AyurMind data is not here")
@pytest.mark.parametrize("system", ["ayurmind", "single_agent_rag", "vanilla_llm"])
async def test_the_results_of_ayurmind_are_read_as_they_are(system):
    path = AYURMIND / "results" / f"results_{system}.jsonl"
    rows = [json.loads(line) for line in path.read_bytes().split(b"\n") if line]
    async with RecordedTarget(path=str(path)) as target:
        for row in rows:
            reply = await target.ask(about(row["case_id"]))
            assert (reply.text, reply.label) == (row["response"], row["predicted_prakriti"])
            assert len(reply.contexts) == len(row["sources"])
