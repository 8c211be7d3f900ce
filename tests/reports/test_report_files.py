"""Artifacts on disk: names, atomicity, refusals."""

import subprocess
import sys
from dataclasses import replace

import orjson
import pytest
from made_results import made_report, made_run, simple_results

from cortex_eval.core import InputError, StorageError
from cortex_eval.reports import own_name, rows_owner, safe_name, write_artifacts, write_atomically, write_shared


class Killed(BaseException):
    """Stands for a kill: nothing in the code may catch it."""


def _report(count=3, **fields):
    return made_report(simple_results(count), run=made_run(count, **fields))


def test_the_files_have_the_promised_names(tmp_path):
    paths = write_artifacts(_report(), tmp_path / "new" / "folder", ("json", "html", "markdown", "csv", "jsonl"))
    assert [path.name for path in paths] == [
        "evaluation_20261115_091400.json",
        "report_20261115_091400.html",
        "evaluation_20261115_091400.md",
        "evaluation_20261115_091400.csv",
        "results_helpdesk.jsonl",
    ]
    assert all(path.stat().st_size for path in paths)
    assert sorted(path.name for path in paths[0].parent.iterdir()) == sorted(path.name for path in paths)


def test_rows_are_the_targets_where_a_folder_has_one_suite_and_say_their_suite_where_it_has_several():
    report = _report(suite="triage")
    assert [rows_owner(report, suites) for suites in ((), ("triage",))] == ["helpdesk", "helpdesk"]
    assert [rows_owner(report, suites) for suites in (("triage", "voice"), ("voice",))] == ["triage_helpdesk"] * 2
    assert rows_owner(_report(suite="helpdesk"), ("helpdesk", "voice")) == "helpdesk"


def test_a_file_that_suites_share_has_a_copy_that_stays(tmp_path):
    suites = ("triage", "voice")
    shared = tmp_path / "baseline.json"
    assert write_shared(shared, b"alone", own=own_name("triage", ["triage"])) == [shared]
    kept, latest = write_shared(shared, b"first", own=own_name("triage", suites))
    write_shared(shared, b"second", own=own_name("voice", suites))
    assert (kept.name, kept.read_bytes()) == ("baseline_triage.json", b"first")
    assert (latest, latest.read_bytes()) == (shared, b"second")


def test_the_own_name_of_a_file_says_what_tells_it_from_others():
    assert own_name("triage", ["triage"]) == own_name("triage", []) == ""
    assert own_name("triage", ["triage"], "helpdesk") == "helpdesk"
    assert own_name("triage", ["triage", "voice"], "helpdesk") == "triage_helpdesk"
    assert own_name("voice", ["triage", "voice"], "voice") == "voice"
    assert own_name("../x", ["triage"]) == "x"


def test_a_page_of_the_same_second_says_its_target_once(tmp_path):
    write_artifacts(_report(id="run-a", suite="triage"), tmp_path, ["html"])
    (page,) = write_artifacts(_report(id="run-b", suite="triage", target_name="rag"), tmp_path, ["html"])
    assert page.name == "report_20261115_091400_triage_rag.html"


def test_times_are_named_in_utc(tmp_path):
    (path,) = write_artifacts(_report(finished="2026-11-15T05:14:00+05:30"), tmp_path, ["json"])
    assert path.name == "evaluation_20261114_234400.json"


def test_another_run_of_the_same_second_is_left_alone(tmp_path):
    (first,) = write_artifacts(_report(id="run-a"), tmp_path, ["json"])
    (second,) = write_artifacts(_report(id="run-b", target_name="rag"), tmp_path, ["json"])
    (third,) = write_artifacts(_report(id="run-c", target_name="rag"), tmp_path, ["json"])
    assert [path.name for path in (first, second, third)] == [
        "evaluation_20261115_091400.json",
        "evaluation_20261115_091400_rag.json",
        "evaluation_20261115_091400_rag_2.json",
    ]
    assert orjson.loads(first.read_bytes())["run"]["id"] == "run-a"


def test_a_runs_own_files_are_replaced(tmp_path):
    (first,) = write_artifacts(_report(1), tmp_path, ["json"])
    (again,) = write_artifacts(_report(2), tmp_path, ["json"])
    assert first == again
    assert len(orjson.loads(again.read_bytes())["results"]) == 2


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("helpdesk", "helpdesk"),
        ("../../etc/passwd", "etc-passwd"),
        ("a b/c", "a-b-c"),
        ("हिन्दी", "target-8c4e35eb"),
        ("दवा 2", "2-79c2fce9"),
        ("a" * 61, "a" * 60 + "-aa1abe92"),
        ("", "target"),
    ],
)
def test_a_targets_name_cannot_leave_the_folder(name, safe):
    assert safe_name(name) == safe


def test_p08_a_kill_while_writing_leaves_the_old_file_or_the_new_one(tmp_path):
    path = tmp_path / "evaluation.json"
    old, new = b"old" * 1000, [b"%03d," % i * 100 for i in range(100)]
    for point in range(len(new) + 1):
        path.write_bytes(old)

        def chunks(stop=point):
            for number, chunk in enumerate(new):
                if number == stop:
                    raise Killed
                yield chunk

        if point < len(new):
            with pytest.raises(Killed):
                write_atomically(path, chunks())
            assert path.read_bytes() == old
        else:
            write_atomically(path, chunks())
            assert path.read_bytes() == b"".join(new)
        assert list(tmp_path.iterdir()) == [path]


def test_p08_a_kill_while_writing_a_first_file_leaves_none(tmp_path):
    report = _report(600)

    def broken():
        rows = list(report.results)
        yield from rows[:400]
        raise Killed

    with pytest.raises(Killed):
        write_artifacts(replace(report, open_results=broken), tmp_path, ["json"])
    assert list(tmp_path.iterdir()) == []


def test_p08_a_dead_writers_leftover_does_not_disturb_the_next(tmp_path):
    code = (
        "import os, sys; from pathlib import Path; from cortex_eval.reports import write_atomically\n"
        "chunks = (os.kill(os.getpid(), 9) if i == 50 else b'x' * 9000 for i in range(100))\n"
        "write_atomically(Path(sys.argv[1]) / 'a.json', chunks)"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path], check=False)
    assert done.returncode == -9
    assert not (tmp_path / "a.json").exists()
    write_atomically(tmp_path / "a.json", [b"whole"])
    assert (tmp_path / "a.json").read_bytes() == b"whole"


def test_files_are_for_their_owner_only(tmp_path):
    (path,) = write_artifacts(_report(), tmp_path, ["json"])
    assert path.stat().st_mode & 0o077 == 0


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(StorageError, match=r"taken.*cannot be written.*--output-dir"):
        write_artifacts(_report(), tmp_path / "taken", ["json"])


def test_an_unknown_format_offers_the_nearest(tmp_path):
    with pytest.raises(InputError, match="Did you mean 'markdown'"):
        write_artifacts(_report(), tmp_path, ["markdwn"])
    assert list(tmp_path.iterdir()) == []


def _page(folder, **fields):
    (path,) = write_artifacts(_report(1, **fields), folder, ["html"], charts=False)
    return path.name


def test_pages_of_one_suite_and_target_have_the_plain_name(tmp_path):
    assert _page(tmp_path, id="run-a") == "report_20261115_091400.html"
    assert _page(tmp_path, id="run-b", finished="2026-11-15T10:00:00Z") == "report_20261115_100000.html"


def test_a_page_says_its_suite_and_target_in_a_folder_with_pages_of_others(tmp_path):
    first = _page(tmp_path, id="run-a")
    voice = {"suite": "voice line", "target_name": "phone"}

    assert _page(tmp_path, id="run-b", finished="2026-11-15T10:00:00Z", **voice) == (
        "report_20261115_100000_voice-line_phone.html"
    )
    assert _page(tmp_path, id="run-c", finished="2026-11-15T11:00:00Z", suite="helpdesk") == (
        "report_20261115_110000_helpdesk.html"
    )
    assert _page(tmp_path, id="run-a") == first  # its own is replaced
    assert len(list(tmp_path.iterdir())) == 3


def test_pages_of_several_targets_of_one_suite_are_told_apart(tmp_path):
    _page(tmp_path, id="run-a")

    assert _page(tmp_path, id="run-b", finished="2026-11-15T10:00:00Z", target_name="rag").endswith("_rag.html")
