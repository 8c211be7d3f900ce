"""From the entries under `models:` to the models that judges ask."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from cortex_eval.config.model import ModelModel
from cortex_eval.config.project import Project, unset_variables
from cortex_eval.core import InputError, KeyPath, Problem, Secret, check_settings, did_you_mean
from cortex_eval.net import BREAK_AFTER, TIMEOUT_S, Patience
from cortex_eval.scoring import JudgeModel


@runtime_checkable
class AsksModel(Protocol):
    """A scorer that asks a language model, which its settings name."""

    model: str

    def chosen(self) -> JudgeModel:
        """The model that it asks."""

    def use_model(self, chosen: JudgeModel) -> None:
        """Say what the name stands for."""


def give_model(scorer: AsksModel, project: Project) -> list[Problem]:
    """Tell a judge what the name of its model stands for; gives back what is wrong with the entry of that name.

    `InputError` when there is no such entry, and the name is no model either.
    """
    from cortex_eval.llm import make_model  # projects without judges need not load it

    written = project.document.values.get("models")
    if not isinstance(written, dict) or scorer.model not in written:
        if isinstance(written, dict) and written and ":" not in scorer.model:
            raise InputError(
                f"model: there is no {scorer.model!r} under models:. {did_you_mean(scorer.model, map(str, written))}"
            )
        make_model(scorer.chosen().settings)
        return []
    place: KeyPath = ("models", scorer.model)
    problems = unset_variables(project.document, place)
    entry = project.model.models.get(scorer.model)
    if problems or entry is None:  # an entry that could not be read has been told
        return problems or list(project.problems)
    try:
        chosen = _judge_model(scorer.model, entry, project)
        make_model(chosen.settings)
    except InputError as error:
        return [_placed(each, place, project) for each in error.problems]
    scorer.use_model(chosen)
    return []


def _judge_model(name: str, entry: ModelModel, project: Project) -> JudgeModel:
    from cortex_eval.llm import ModelSettings, Prices

    key = entry.api_key
    if key is not None and (not key or any(each.isspace() for each in key)):
        raise InputError(
            "api_key: the key is empty or contains whitespace (a trailing line end?). It is not shown here."
        )
    prices = None if entry.prices is None else Prices(**check_settings(Prices, entry.prices, owner="prices"))
    execution = project.model.execution
    return JudgeModel(
        name=name,
        settings=ModelSettings(
            model=entry.model,
            base_url=entry.base_url,
            api_key=None if key is None else Secret(key),
            prices=prices,
            directory=str(project.root),
        ),
        patience=Patience(
            timeout_s=entry.timeout_seconds or TIMEOUT_S,
            retries=execution.retry_count,
            retry_delay_s=execution.retry_delay_seconds,
            requests_per_minute=entry.requests_per_minute,
            tokens_per_minute=entry.tokens_per_minute,
            break_after=None if entry.model.startswith("local:") else BREAK_AFTER,
            waits_out=False,
        ),
    )


def _placed(problem: Problem, place: KeyPath, project: Project) -> Problem:
    """A problem at the key that its message begins with."""
    key = problem.message.partition(" ")[0].rstrip(":").partition(".")[0]
    path = (*place, key) if (*place, key) in project.document.lines else place
    return project.document.problem(path, f"{'.'.join(map(str, place))}.{problem.message}")
