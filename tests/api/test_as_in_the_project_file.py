"""Python takes scorers, models and gates as the project file does, read by the same code."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortex_eval import Case, InputError, Reply, evaluate, scorer
from cortex_eval.analysis import baseline_of
from cortex_eval.outcome import keep_baseline
from cortex_eval.storage import Store
from cortex_eval.testing import speak_openai

ROWS = [{"id": "1", "question": "Where?", "ground_truth": "At the clinic"}]
PASS = '{"reason": "It is.", "verdict": "pass"}'


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def bot(question: str) -> str:
    return "At the clinic, please."


def test_a_critical_scorer_fails_the_case_whatever_the_others_say():
    scorers = ["contains", {"short": {"kind": "regex", "pattern": "^.{1,5}$", "critical": True, "weight": 0}}]

    report = evaluate(ROWS, bot, scorers, store=None)

    assert {"contains", "short"} <= set(report.metrics)
    [result] = report.results
    assert (result.overall, result.state) == (1.0, "failed")


def test_threshold_and_weight_stand_beside_the_settings():
    loose = {"mine": {"kind": "rouge", "threshold": 0.1, "weight": 3}}

    [result] = evaluate(ROWS, bot, [loose, {"exact": {"weight": 1}}], store=None).results

    assert result.scores["mine"]["passed"] is True
    assert result.overall == pytest.approx(0.75 * result.scores["mine"]["value"])


def test_a_function_of_ones_own_takes_its_place_by_its_name():
    @scorer
    def shouts(case: Case, reply: Reply) -> bool:
        return reply.text.isupper()

    [result] = evaluate(ROWS, bot, ["contains", {"shouts": {"critical": True, "weight": 0}}], store=None).results

    assert result.state == "failed"


def test_the_same_scorers_weigh_the_same_in_python_and_in_the_project_file():
    scorers = ["rouge", {"accuracy": None}]
    named = ["accuracy", "safety"]

    def weights(chosen):
        return evaluate(ROWS, bot, chosen, store=None).run.manifest["scorers"]

    assert {name: each["weight"] for name, each in weights(scorers).items()} == {"rouge": 1.0, "accuracy": 1.0}
    assert {name: each["weight"] for name, each in weights(named).items()} == {"accuracy": 0.4, "safety": 0.2}


def test_a_judge_on_a_host_of_ones_own_is_asked(scripted_service, monkeypatch):
    monkeypatch.setenv("MY_JUDGE_KEY", "judge-key-0123456789")
    service = scripted_service(speak_openai(PASS))
    models = {"mine": {"model": "m1", "base_url": service.url, "api_key": "${MY_JUDGE_KEY}"}}
    tone = {"tone": {"kind": "judge", "prompt": "Polite? {answer}", "model": "mine"}}

    report = evaluate(ROWS, bot, [tone], models=models, store=None)

    assert report.metrics["tone"].mean == 1.0
    [call] = service.ledger
    assert call.json["model"] == "m1"
    assert call.headers["Authorization"] == "Bearer judge-key-0123456789"


def test_a_jury_of_two_models_is_asked(scripted_service):
    services = [scripted_service(speak_openai(PASS)), scripted_service(speak_openai(PASS))]
    models = {f"m{n}": {"model": "m", "base_url": each.url} for n, each in enumerate(services)}
    tone = {"tone": {"kind": "judge", "prompt": "Polite? {answer}", "models": ["m0", "m1"]}}

    report = evaluate(ROWS, bot, [tone], models=models, store=None)

    assert report.metrics["tone"].mean == 1.0
    assert [len(each.ledger) for each in services] == [1, 1]


TONE = {"tone": {"kind": "judge", "prompt": "Polite? {answer}"}}


@pytest.mark.parametrize(
    ("scorers", "options", "told"),
    [
        ([{"safety": {"critcal": True}}], {}, "scorers.safety has no setting 'critcal'. Did you mean 'critical'?"),
        ([{"x": {"kind": "regx", "pattern": "a"}}], {}, "scorers.x: There is no scorer 'regx'. Did you mean 'regex'?"),
        ([{"exact": {"weight": -1}}], {}, "scorers.exact.weight: must be a number from 0 to 1e+09, not -1."),
        ([{"exact": {"critical": "yes"}}], {}, "scorers.exact.critical: must be true or false, not 'yes'."),
        ([TONE], {"models": {"judge": {"model": "mine"}}}, "models.judge.model: 'mine' does not say whose"),
        ([TONE], {"models": {"judge": {"base_url": "http://x"}}}, "models.judge.model is missing"),
        ([TONE], {"models": {"judg": {"model": "m"}}}, "there is no 'judge' under models:. Did you mean 'judg'?"),
        ([TONE], {"models": 5}, "models: must be keys and values, not 5."),
        (
            [TONE],
            {"models": {"judge": {"model": "m", "base_url": "http://x", "api_key": "${NOT_SET_ANYWHERE}"}}},
            "the environment variable NOT_SET_ANYWHERE is not set.",
        ),
        (["exact"], {"gate": {"mode": "strct"}}, "gate.mode: must be 'statistical' or 'strict', not 'strct'."),
        (["exact"], {"gate": {"thresholds": {"pass_rte": 1}}}, "gate.thresholds.pass_rte: there is no such figure."),
        (["exact"], {"baseline": 5}, "baseline: must be text, not 5."),
    ],
)
def test_what_is_wrong_is_told_as_of_the_project_file_before_anything_is_asked(scorers, options, told):
    def never(question: str) -> str:
        raise AssertionError("asked all the same")

    with pytest.raises(InputError) as error:
        evaluate(ROWS, never, scorers, store=None, **options)

    assert told in str(error.value)
    assert "\n" not in str(error.value)
    assert not str(error.value).startswith(".")


def test_everything_that_is_wrong_with_scorers_is_told_at_once():
    with pytest.raises(InputError) as error:
        evaluate(ROWS, bot, [{"exact": {"casefld": True}}, "contians"], store=None)

    assert [each.field for each in error.value.problems] == ["scorers.exact.casefld", "scorers.contians"]


def test_a_run_is_held_against_a_baseline_of_its_store():
    rows = [{"id": str(n), "question": f"Where, {n}?", "ground_truth": "clinic"} for n in range(30)]
    store = Path("kept.db")
    first = evaluate(rows, bot, ["contains"], store=store)
    with Store(store) as opened:
        keep_baseline(opened, "main", "evaluate", baseline_of(first))

    same = evaluate(rows, bot, ["contains"], store=store, baseline="main")
    worse = evaluate(rows, lambda question: "No idea.", ["contains"], store=store, gate={"baseline": "main"})

    assert (same.exit_code, worse.exit_code) == (0, 2)
    assert worse.case_changes is not None
    with pytest.raises(InputError, match="no baseline"):
        evaluate(rows, bot, ["contains"], store=store, baseline="mian")


def test_a_gate_is_the_block_of_the_project_file_with_thresholds_beside_it():
    gate = {"mode": "strict", "thresholds": {"contains": 0.5}}

    report = evaluate(ROWS, bot, ["contains"], store=None, gate=gate, thresholds={"pass_rate": 0.9})

    checks = {each["name"] for each in report.to_dict()["gate"]["checks"]}
    assert {"contains", "pass_rate"} <= checks
