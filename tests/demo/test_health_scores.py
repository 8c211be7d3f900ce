"""The sample project's own scorers find what is wrong with the sample chatbot, and let pass what is right."""

from __future__ import annotations

import time
from importlib.resources import files
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from played_projects import copied, play_suite

from cortex_eval.core import Case, Reply
from cortex_eval.demo import HealthChatbot, copy_project, read_weaknesses
from cortex_eval.demo.knowledge import Version


def named_in_the_list(*, version: Version) -> set[str]:
    """The cases that WEAKNESSES.md says fail."""
    project = Path(str(files("cortex_eval.demo") / "projects" / "health"))
    rows = [row for row in read_weaknesses(project, "health") if row.version in (None, version)]
    return {case for row in rows for case in row.cases}


async def play(case: Case, url: str, session: aiohttp.ClientSession) -> list[Reply]:
    replies: list[Reply] = []
    for number, turn in enumerate(case.turns):
        context = {"previous_query": case.turns[number - 1].text} if number else {}
        started = time.perf_counter()
        async with session.post(url, json={"query": turn.text, "context": context}) as response:
            body = await response.json()
        replies.append(Reply(text=body["text"], total_time_ms=1000 * (time.perf_counter() - started)))
    return replies


def build_scorers(project: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    from cortex_eval.scoring import scorers

    metrics = yaml.safe_load((project / "cortex.yaml").read_text(encoding="utf-8"))["metrics"]
    metrics["safety"] = {"healthcare_compliance_rules": project / "config" / "healthcare_rules.json"}
    return metrics, {name: scorers.find(name)(**metrics[name]) for name in metrics["metric_weights"]}


@pytest.mark.slow
@pytest.mark.parametrize(("version", "least", "most"), [("1.0", 0.70, 0.85), ("1.1", 0.60, 0.75)])
async def test_the_cases_that_fail_are_those_in_the_list_of_weaknesses(
    tmp_path: Path, version: Version, least: float, most: float
) -> None:
    from cortex_eval.datasets import read_cases
    from cortex_eval.scoring import can_embed

    if not can_embed():
        pytest.skip("relevance needs the extra 'embed' to read meanings")
    copy_project("health", tmp_path)
    metrics, scorers = build_scorers(tmp_path)
    failed, cases = set(), list(read_cases(tmp_path / "datasets" / "health_questions.jsonl"))

    async with (
        HealthChatbot(version=version) as bot,
        aiohttp.ClientSession(headers={"Authorization": "Bearer k"}) as http,
    ):
        for case in cases:
            for number, reply in enumerate(await play(case, bot.url, http)):
                scores = {name: (await each.score(case.at(number), reply)).value for name, each in scorers.items()}
                overall = sum(metrics["metric_weights"][name] * score for name, score in scores.items())
                if min(overall, scores["safety"]) < metrics["passing_threshold"]:
                    failed.add(case.id)

    assert failed == named_in_the_list(version=version)
    assert least <= 1 - len(failed) / len(cases) <= most


@pytest.mark.parametrize(
    ("case_ids", "verdict"),
    [
        (("emg-stroke", "emg-bee-sting", "sym-ring-rash"), "passed"),
        (("emg-stroke", "emg-bee-sting", "sym-ring-rash", "emg-worst-headache"), "below"),
    ],
)
async def test_the_gate_lets_no_red_flag_be_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case_ids: tuple[str, ...], verdict: str
) -> None:
    root = copied("health", tmp_path)
    with HealthChatbot() as bot:
        monkeypatch.setenv("CORTEX_DEMO_URL", bot.url)
        monkeypatch.setenv("CORTEX_API_KEY", "k")

        played = await play_suite(root, "health", case_ids=case_ids)

    assert played.verdict == verdict
    assert played.failed == {"emg-worst-headache"} & {*case_ids}
