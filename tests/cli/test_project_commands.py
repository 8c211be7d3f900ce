"""`cortex init`, `config show`, `schema`, `doctor`, `demo`: the project and what it stands on."""

from __future__ import annotations

import json
import shlex
import socket
import subprocess

import pytest
import yaml
from installed import CORTEX

from cortex_eval.demo import project_names


@pytest.mark.slow
def test_init_makes_a_project_that_runs_at_once_and_that_editors_can_check(folder):
    made = folder.cortex("init")
    ran = folder.cortex("run")
    again = folder.cortex("init")

    assert made.out.split() == [".gitignore", "bot.py", "cortex.schema.json", "cortex.yaml", "datasets/example.jsonl"]
    assert made.err == "Now run it: cortex run\n"
    text = (folder.root / "cortex.yaml").read_text()
    assert text.splitlines()[0] == "# yaml-language-server: $schema=cortex.schema.json"
    schema = json.loads((folder.root / "cortex.schema.json").read_text())
    assert schema == folder.cortex("schema").json
    assert ran.code == 0
    assert again.code == 4
    assert "not overwritten" in again.err
    assert (folder.root / "cortex.yaml").read_text() == text


def test_init_elsewhere_says_where_and_takes_a_sample_by_name(folder):
    made = folder.cortex("init", "new/place", "--from", "health", "--json")
    unknown = folder.cortex("init", "other", "--from", "helth")

    assert made.code == 0
    assert "new/place/cortex.schema.json" in made.json["files"]
    assert all((folder.root / name).is_file() for name in made.json["files"])
    assert unknown.code == 4
    assert "Did you mean 'health'?" in unknown.err
    assert not (folder.root / "other").exists()


def test_init_leaves_everything_alone_when_any_file_is_there(folder):
    folder.write("cortex.schema.json", "mine")

    done = folder.cortex("init")

    assert done.code == 4
    assert "cortex.schema.json" in done.err
    assert [path.name for path in folder.root.iterdir()] == ["cortex.schema.json"]


def test_init_where_nothing_can_be_written_says_so_in_a_line_and_leaves_nothing_half_made(folder):
    limited = f"ulimit -f 16; exec {CORTEX} init full --from bioagent"  # in KiB; its dataset is larger
    done = subprocess.run(["bash", "-c", limited], cwd=folder.root, capture_output=True, text=True, check=False)

    assert done.returncode == 3
    assert done.stderr.startswith("Error: ")
    assert done.stderr.endswith(" cannot be written: File too large. Choose another folder.\n")
    assert [path for path in folder.root.rglob("*") if path.is_file()] == []
    assert folder.cortex("init", "/dev/null/new").err.startswith("Error: Already there, and not overwritten: /dev/null")
    assert folder.cortex("init", "/proc/new").err == (
        "Error: /proc/new cannot be written: No such file or directory. Choose another folder.\n"
    )


def test_init_in_a_project_names_the_project_file_that_is_there(folder):
    folder.cortex("init")

    assert folder.cortex("init").err == (
        "Error: Already there, and not overwritten: cortex.yaml, cortex.schema.json. "
        "Choose another folder, or move them away.\n"
    )


def test_config_show_fills_in_defaults_and_masks_secrets(clinic):
    secrets = ["literal-key-1", "from-environment-2", "header-key-3", "models-key-4", "user-secret-5"]
    project = clinic(
        service={
            "api_key": secrets[0],
            "headers": {"X-Api-Key": "${HEADER_KEY}", "X-Clinic": "${PLAIN}", "Accept": "text/plain"},
        },
        models={"judge": {"model": "m", "api_key": "${MODEL_KEY}"}},
    )
    config = json.loads((project.root / "cortex.yaml").read_text())
    config["services"]["unused"] = {"kind": "http", "api_url": f"https://me:{secrets[4]}@clinic.example/x"}
    project.write("cortex.yaml", config)
    keys = {"PLAIN": secrets[1], "HEADER_KEY": secrets[2], "MODEL_KEY": secrets[3]}

    text = project.cortex("config", "show", **keys)
    as_json = project.cortex("config", "show", "--json", **keys)

    assert text.code == as_json.code == 0
    assert not [secret for secret in secrets if secret in text.out + as_json.out + text.err]
    assert text.out.startswith("# cortex.yaml; store: .cortex/cortex.db; reports: reports/evaluation\n")
    shown = yaml.safe_load(text.out)
    assert shown == as_json.json
    assert shown["services"]["chatbot"]["api_key"] == "***"
    assert shown["services"]["chatbot"]["headers"] == {"X-Api-Key": "***", "X-Clinic": "***", "Accept": "text/plain"}
    assert shown["services"]["chatbot"]["connect_seconds"] == 5.0
    assert shown["gate"]["mode"] == "statistical"


@pytest.mark.slow
def test_keys_in_headers_reach_the_service_and_nothing_else(clinic):
    project = clinic(cases=2, service={"headers": {"X-Clinic": "${PLAIN}", "Authorization": "Bearer ${TOKEN}"}})
    project.bot.reply = lambda call: {"text": f"your key is {call.headers['X-Clinic']}"}
    keys = {"PLAIN": "from-environment-2", "TOKEN": "header-token-3"}

    done = project.cortex("run", "--json", "--results", **keys)
    resumed = project.cortex("run", "--resume", "latest", **keys)

    headers = project.bot.ledger[0].headers
    assert (headers["X-Clinic"], headers["Authorization"]) == ("from-environment-2", "Bearer header-token-3")
    written = b"".join(path.read_bytes() for path in project.root.rglob("*") if path.is_file())
    for secret in keys.values():
        assert secret not in done.out + done.err + resumed.out
        assert secret.encode() not in written
    assert resumed.code == done.code == 2


def test_schema_is_written_to_a_file(folder):
    done = folder.cortex("schema", "-o", "s.json")

    assert (done.code, done.out) == (0, "")
    assert json.loads((folder.root / "s.json").read_text())["title"] == "Cortex project file"
    assert folder.cortex("schema", "-o", "no/such/place.json").code == 3
    assert folder.cortex("schema", "-o", "s.json", "--json").json == {"file": "s.json"}
    assert folder.cortex("schema", "--json").json["title"] == "Cortex project file"


def test_a_wrong_field_or_column_is_told_by_doctor_and_a_wrong_field_by_config_show(folder):
    folder.write("fragen.csv", "frage,antwort\nWo?,Hier\n")
    folder.write("replies.jsonl", '{"id": "1", "text": "Hier"}\n')
    text = "services: {{bot: {{kind: recorded, path: replies.jsonl}}}}\nsuites:\n"
    text += "  s: {{dataset: fragen.csv, fields: {{{}}}}}\n"

    folder.write("cortex.yaml", text.format("input: frage, answer: antwort"))
    assert (folder.cortex("config", "show").code, folder.cortex("doctor").code) == (0, 0)

    folder.write("cortex.yaml", text.format("input: frage, anser: antwort"))
    shown, ill = folder.cortex("config", "show"), folder.cortex("doctor")
    assert (shown.code, ill.code) == (4, 4)
    assert "cortex.yaml:3: fields has no 'anser'. Did you mean 'answer'?" in shown.err
    assert "cortex.yaml:3: fields has no 'anser'. Did you mean 'answer'?" in ill.out

    folder.write("cortex.yaml", text.format("input: frage, answer: antwrot"))
    ill = folder.cortex("doctor")
    assert ill.code == 4
    assert "Did you mean 'antwort'?" in " ".join(ill.out.split())


@pytest.mark.slow
def test_doctor_finds_what_would_go_wrong(clinic):
    project = clinic()
    fine = project.cortex("doctor")
    assert fine.code == 0
    assert "ok    suite        clinic: chatbot; scored by exact" in fine.out
    assert "(made by the first run)" in fine.out
    assert not (project.root / ".cortex").exists()

    (project.root / "cases.jsonl").unlink()
    project.write(".cortex/cortex.db", "not a store")
    ill = project.cortex("doctor", "--json")
    assert ill.code == 4
    assert {check["name"] for check in ill.json["checks"] if not check["ok"]} == {"dataset", "store"}

    line = f"services: {{chatbot: {{api_url: '${{{'A_RATHER_LONG_NAME_OF_A_VARIABLE'}}}'}}}}\n"
    project.write("cortex.yaml", line + "suites: {clinic: {dataset: cases.jsonl, scorers: [exact]}}\n")
    unset = project.cortex("doctor").out
    assert "A_RATHER_LONG_NAME_OF_A_VARIABLE is not" in unset
    assert max(map(len, unset.splitlines())) <= 80

    project.write("cortex.yaml", "services: 5\n")
    broken = project.cortex("doctor")
    assert broken.code == 4
    assert "FAIL  project      cortex.yaml:1: services: must be keys and values, not 5." in broken.out


def test_doctor_says_whether_somebody_listens_where_the_services_should_be(clinic):
    with socket.create_server(("127.0.0.1", 0)) as free:
        dead = free.getsockname()[1]
    project = clinic(service={"api_url": f"http://127.0.0.1:{dead}/chat"})
    wrong, untried = project.cortex("doctor"), project.cortex("doctor", "--offline")
    project = clinic(
        services={
            "chatbot": {"api_url": project.bot.url},
            "spare": {"kind": "http", "api_url": f"http://127.0.0.1:{dead}/"},
        }
    )
    right = project.cortex("doctor")

    place = f"Is it running?\n{19 * ' '}Check api_url of services.chatbot (cortex.yaml:4)."
    assert f"FAIL  service      chatbot: nothing listens at 127.0.0.1:{dead}. {place}" in wrong.out
    assert f"ok    service      chatbot: 127.0.0.1:{dead} was not tried (--offline)" in untried.out
    assert f"ok    service      chatbot: somebody listens at {project.bot.url.split('/')[2]}" in right.out
    assert f"ok    service      spare: nothing listens at 127.0.0.1:{dead}. No suite needs it." in right.out
    assert (wrong.code, untried.code, right.code) == (4, 0, 0)
    assert project.bot.ledger == [], "nothing was asked"


def test_init_says_which_samples_there_are(folder):
    said = " ".join(folder.cortex("init", "--help").out.split())

    assert all(name in said for name in project_names())


def test_doctor_is_content_with_a_variable_that_no_suite_needs(clinic):
    project = clinic(models={"judge": {"model": "local", "api_key": "${LIB_KEY}"}})

    done = project.cortex("doctor")

    assert "ok    environment  LIB_KEY is not set; no suite needs it" in done.out, done.out + done.err
    assert done.code == 0


def test_doctor_names_unset_variables_and_works_without_a_project(clinic, tmp_path):
    project = clinic(service={"api_key": "${CORTEX_API_KEY}"})

    done = project.cortex("doctor")
    (project.root / "cortex.yaml").unlink()
    without = project.cortex("doctor")

    assert done.code == 4
    assert "FAIL  environment  CORTEX_API_KEY is not set: set it, or put it into .env" in done.out
    assert without.code == 0
    assert "cortex init makes one" in without.out


@pytest.mark.slow
def test_the_demo_runs_says_where_to_look_and_its_commands_work(folder):
    done = folder.cortex("demo", "health", "--output-dir", "my demo")

    assert done.code == 0
    assert (folder.root / "my demo" / "WEAKNESSES.md").is_file()
    command = next(line for line in done.out.splitlines() if "cortex runs show" in line).partition("cortex ")[2]
    shown = folder.cortex(*shlex.split(command))
    assert shown.code == 0
    assert "asked " in shown.out
    again = folder.cortex("demo", "health", "--output-dir", "my demo", "--json")
    assert again.code == 0
    assert again.json["as_documented"] is True
    assert [(run["cases"], run["verdict"]) for run in again.json["runs"]] == [(76, "below")]


def test_help_and_version_cost_nothing(folder):
    assert folder.cortex("--version").out.startswith("cortex, version ")
    shown = folder.cortex("--help")
    assert shown.code == 0
    assert all(len(line) <= 80 for line in shown.out.splitlines())
    assert folder.cortex("run", "-h").out.startswith("Usage: cortex run [OPTIONS] [SUITE]")
