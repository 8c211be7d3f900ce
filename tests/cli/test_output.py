"""What the command prints, and where: results on stdout, the rest on stderr, nothing that a pipe cannot take."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios
from datetime import UTC, datetime

import pytest
from installed import CORTEX

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x9b]")
HINDI = "बुखार में क्या करना चाहिए?"
REPLY = "आराम करें और पानी पिएँ।"


def evaluation_file(project):
    (path,) = (project.root / "reports" / "evaluation").glob("evaluation_*.json")
    return json.loads(path.read_text(encoding="utf-8"))


def on_a_terminal(project, *arguments, columns=80, **environment):
    """What a terminal of this width is sent, with control codes."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    running = subprocess.Popen(
        [CORTEX, *arguments],
        cwd=project.root,
        env=project.environment(TERM="xterm", **environment),
        stdin=subprocess.DEVNULL,
        stdout=child,
        stderr=child,
    )
    os.close(child)
    said = b""
    while True:
        try:
            part = os.read(parent, 65536)
        except OSError:  # Linux's way to say that the other end is closed
            break
        if not part:
            break
        said += part
    os.close(parent)
    return running.wait(timeout=60), said.decode("utf-8")


def test_results_go_to_stdout_and_hints_to_stderr(clinic):
    project = clinic(service={"api_key": "written-out-key"})

    done = project.cortex("run")

    assert "overall_score" in done.out
    assert done.out.rstrip().splitlines()[-1].startswith("Run ")
    assert "\n\n\n" not in done.out
    assert "Report: reports/evaluation/report_" not in done.out
    assert "Report: reports/evaluation/report_" in done.err
    assert "Note: cortex.yaml:" in done.err
    assert "written-out-key" not in done.out + done.err


@pytest.mark.slow
def test_json_is_the_evaluation_file_without_its_results(clinic):
    project = clinic()

    plain = project.cortex("run", "--json")
    written = evaluation_file(project)
    again = project.cortex("runs", "show", "latest", "--json")

    assert len(written.pop("results")) == 4
    assert plain.json == written == again.json
    assert plain.json["schema"] == "cortex.report/1"
    assert plain.out.count("\n") == 1


@pytest.mark.slow
def test_json_with_results_is_the_evaluation_file(clinic):
    project = clinic()

    done = project.cortex("run", "--json", "--results")

    assert done.json == evaluation_file(project)
    assert {row["case_id"] for row in done.json["results"]} == {"c0", "c1", "c2", "c3"}


def test_results_without_json_are_refused(clinic):
    project = clinic()

    done = project.cortex("run", "--results")

    assert (done.code, done.out) == (4, "")
    assert project.bot.ledger == []


@pytest.mark.slow
def test_several_targets_give_a_list_of_reports_and_the_gravest_code(clinic):
    project = clinic()
    config = json.loads((project.root / "cortex.yaml").read_text())
    config["services"]["other"] = {"kind": "http", "api_url": f"{project.bot.url}other", "reply": {"text": "$.oops"}}
    config["suites"]["clinic"]["services"] = ["chatbot", "other"]
    config["dashboard"] = {"output_path": "board/dashboard.html"}
    project.write("cortex.yaml", config)

    done = project.cortex("run", "--json")

    assert done.code == 3
    assert [(each["run"]["target"]["name"], each["gate"]["exit_code"]) for each in done.json] == [
        ("chatbot", 0),
        ("other", 3),
    ]
    boards = {path.name for path in (project.root / "board").iterdir()}
    assert boards == {"dashboard_chatbot.html", "dashboard_other.html"}


def test_CL05_a_closed_pipe_shows_no_traceback_and_keeps_the_exit_code(clinic):
    project = clinic(reply={"text": "No."})
    for shell in (f"'{CORTEX}' run | head -1; exit ${{PIPESTATUS[0]}}", f"'{CORTEX}' runs list 2>&1 | true"):
        done = subprocess.run(
            ["bash", "-c", shell],
            cwd=project.root,
            env=project.environment(),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert "Traceback" not in done.stderr
        assert "BrokenPipe" not in done.stderr
        if "head" in shell:
            assert done.returncode == 2
            assert done.stdout == "cases.jsonl (4 cases) → chatbot\n"
            assert len(list((project.root / "reports" / "evaluation").glob("*.html"))) == 1


def in_a_shell(project, line):
    """What a shell makes of this line, where `cortex` is the command."""
    line = f'cortex() {{ {CORTEX} "$@"; }}; {line}'
    return subprocess.run(
        ["bash", "-c", line], cwd=project.root, env=project.environment(), capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_CL05_a_stream_that_is_closed_changes_no_exit_code_and_no_result(clinic, closed):
    project = clinic(cases=1, dashboard={"include_charts": False})

    run = in_a_shell(project, f"cortex run {closed}")
    unknown = in_a_shell(project, f"cortex runs show nope {closed}")
    unanswered = in_a_shell(project, f"cortex runs delete latest {closed} </dev/null")

    assert [each.returncode for each in (run, unknown, unanswered)] == [0, 4, 130]
    assert not any("Traceback" in each.stdout + each.stderr for each in (run, unknown, unanswered))
    assert project.cortex("runs", "list", "--json").json[0]["verdict"] == "passed", "nothing was printed into the store"


def test_CL05_a_full_disk_behind_stdout_is_one_line_and_exit_code_3(clinic):
    project = clinic(cases=1, dashboard={"include_charts": False})

    for command in ("run", "runs list --json", "--version"):
        done = in_a_shell(project, f"cortex {command} >/dev/full")
        assert done.returncode == 3
        assert done.stderr.startswith("Error: What was to be printed cannot be written: No space left on device. ")
        assert done.stderr.count("\n") == 1
    assert project.cortex("runs", "list", "--json").json[0]["verdict"] == "passed"


@pytest.mark.slow
@pytest.mark.parametrize("environment", [{}, {"NO_COLOR": "1"}, {"TERM": "dumb"}, {"FORCE_COLOR": "1"}])
def test_CL06_without_a_terminal_there_are_no_control_codes(clinic, environment):
    done = clinic().cortex("run", **environment)

    assert done.code == 0
    assert CONTROL.search(done.out + done.err) is None


@pytest.mark.slow
def test_CL06_a_terminal_gets_colour_unless_it_does_not_want_it(clinic):
    project = clinic()

    code, said = on_a_terminal(project, "run")
    assert code == 0
    assert "\x1b[1;32mPASSED\x1b[0m" in said

    code, said = on_a_terminal(project, "runs", "show", "latest", NO_COLOR="1")
    assert code == 0
    assert "\x1b[1;" not in said
    assert "PASSED" in said


@pytest.mark.slow
def test_CL06_progress_fits_a_window_of_40_columns(clinic):
    project = clinic(cases=40)
    project.bot.latency_s = 0.05

    code, said = on_a_terminal(project, "run", columns=40)

    assert code == 0
    bars = [part.partition("\r")[0].partition("\n")[0] for part in said.split("\r\x1b[K")[1:]]
    assert any("/40" in bar for bar in bars)
    shown = [bar for bar in bars if "/40" in bar]
    assert max(map(len, shown)) <= 40


def test_a_small_window_breaks_nothing_when_it_is_only_told_by_the_environment(clinic):
    done = clinic().cortex("run", COLUMNS="40", LINES="10")

    assert done.code == 0
    assert "overall_score" in done.out


@pytest.mark.slow
def test_EN06_hindi_is_right_in_the_c_locale_and_times_are_utc(clinic):
    project = clinic(reply={"text": REPLY})
    project.write("cases.jsonl", json.dumps({"id": "h1", "input": HINDI, "expected": {"answer": "कुछ और"}}) + "\n")
    settings = {"LANG": "C", "LC_ALL": "C", "TZ": "Pacific/Kiritimati"}
    before = datetime.now(UTC)

    ran = project.cortex("run", "--json", "--results", **settings)
    shown = project.cortex("runs", "show", "latest", "--failed", **settings)

    after = datetime.now(UTC)
    assert project.bot.ledger[0].json["query"] == HINDI
    (row,) = ran.json["results"]
    assert (row["input"], row["reply"]["text"]) == (HINDI, REPLY)
    assert f"asked     {HINDI}" in shown.out
    assert f"replied   {REPLY}" in shown.out
    for stored in (row["timestamp"], ran.json["timestamp"], ran.json["run"]["started"], ran.json["run"]["finished"]):
        assert stored.endswith("+00:00")
        assert before.timestamp() - 1 <= datetime.fromisoformat(stored).timestamp() <= after.timestamp() + 1
    (report,) = (project.root / "reports" / "evaluation").glob("report_*.html")
    assert report.name[7:15] in (f"{before:%Y%m%d}", f"{after:%Y%m%d}")


def test_EN06_a_terminal_that_cannot_show_a_letter_gets_an_escape(clinic):
    project = clinic(reply={"text": REPLY})

    done = project.cortex("run", PYTHONIOENCODING="latin-1")

    assert done.code == 2
    assert "cases.jsonl (4 cases) \\u2192 chatbot" in done.out


@pytest.mark.slow
def test_what_a_target_says_cannot_steer_the_terminal(clinic):
    project = clinic(reply={"text": "\x1b]0;owned\x07\x1b[2J right\u202eleft"})
    project.cortex("run")

    code, said = on_a_terminal(project, "runs", "show", "latest", "--failed")

    assert code == 0
    assert "\\x1b]0;owned\\x07" in said
    assert "\x1b]0" not in said
    assert "\x1b[2J" not in said
    assert "\u202e" not in said


def test_an_error_is_one_line_and_debug_shows_where_it_came_from(folder):
    plain = folder.cortex("run")
    debug = subprocess.run(
        [CORTEX, "--debug", "run"], cwd=folder.root, capture_output=True, text=True, timeout=60, check=False
    )

    assert plain.code == debug.returncode == 4
    assert plain.err.count("\n") == 1
    assert "Traceback" in debug.stderr
