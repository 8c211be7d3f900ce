"""From the entries under `models:` to the models that judges ask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable
from urllib.parse import urlsplit

from cortex_eval.config.model import ModelModel
from cortex_eval.config.project import Project, unset_variables
from cortex_eval.core import InputError, KeyPath, Problem, Secret, check_settings, did_you_mean
from cortex_eval.net import BREAK_AFTER, TIMEOUT_S, Patience, is_loopback
from cortex_eval.scoring import JudgeModel, PlannedScorer
from cortex_eval.targets import Conversation, Target

if TYPE_CHECKING:  # projects without models need not load it
    from cortex_eval.llm import ModelSettings


@runtime_checkable
class AsksModel(Protocol):
    """A scorer that asks one language model or several, which its settings name."""

    @property
    def model_names(self) -> tuple[str, ...]:
        """The models that it asks; empty: it can do without."""

    def chosen(self, name: str = "") -> JudgeModel:
        """The model of this name, or the first one."""

    def jury(self) -> tuple[JudgeModel, ...]:
        """Every model that it asks."""

    def use_model(self, chosen: JudgeModel) -> None:
        """Say what the name stands for."""


@runtime_checkable
class IsModel(Protocol):
    """A target that is a bare language model."""

    @property
    def model_settings(self) -> ModelSettings:
        """The model as people name it."""

    def characters(self, turns: Conversation) -> int:
        """How much text it would send to have this turn answered."""


def unpriced_models(project: Project, target: Target, scorers: Sequence[PlannedScorer]) -> list[Problem]:
    """A problem for each language model whose cost nobody could count, when `budget_usd` is to limit it.

    One that runs on this machine has no price by the call, and is none of a money budget's business.
    """
    if project.model.execution.budget_usd is None:
        return []
    asked = [target.model_settings] if isinstance(target, IsModel) else []
    judges = [each.scorer for each in scorers if isinstance(each.scorer, AsksModel)]
    asked += [chosen.settings for judge in judges for chosen in judge.jury()]
    if not asked:
        return []
    from cortex_eval.llm import prices_of

    names = dict.fromkeys(each.model for each in asked if prices_of(each) is None and not _runs_here(each))
    return [
        project.document.problem(
            ("execution", "budget_usd"),
            f"execution.budget_usd: the price of {name!r} is not known, so nobody could count what it costs. Name its "
            "prices: {input: …, output: …} per million tokens (0 for one that costs nothing), or limit budget_tokens.",
        )
        for name in names
    ]


def _runs_here(settings: ModelSettings) -> bool:
    host = urlsplit(settings.base_url or "").hostname
    return settings.model.startswith("local:") or (host is not None and is_loopback(host))


def budget_notes(project: Project, target: Target, name: str) -> list[str]:
    """What a money budget does not see."""
    if project.model.execution.budget_usd is None or isinstance(target, IsModel):
        return []
    return [f"budget_usd: the cost of {name} is counted only as far as its replies state it (usage.cost)."]


def give_model(scorer: AsksModel, project: Project) -> list[Problem]:
    """Tell a judge what the names of its models stand for; gives back what is wrong with the entries of those names.

    `InputError` when there is no such entry, and the name is no model either.
    """
    return [problem for name in scorer.model_names for problem in _give_model(name, scorer, project)]


def _give_model(name: str, scorer: AsksModel, project: Project) -> list[Problem]:
    from cortex_eval.llm import make_model  # projects without judges need not load it

    written = project.document.values.get("models")
    if not isinstance(written, dict) or name not in written:
        if isinstance(written, dict) and written and ":" not in name:
            raise InputError(f"model: there is no {name!r} under models:. {did_you_mean(name, map(str, written))}")
        make_model(scorer.chosen(name).settings)
        return []
    chosen, problems = named_model(name, project)
    if chosen is not None:
        scorer.use_model(chosen)
    return problems


def named_model(name: str, project: Project) -> tuple[JudgeModel | None, list[Problem]]:
    """What an entry under `models:` stands for, or what is wrong with it."""
    from cortex_eval.llm import make_model

    place: KeyPath = ("models", name)
    problems = unset_variables(project.document, place)
    entry = project.model.models.get(name)
    if problems or entry is None:  # an entry that could not be read has been told
        return None, problems or list(project.problems)
    try:
        chosen = _judge_model(name, entry, project)
        make_model(chosen.settings)
    except InputError as error:
        return None, [_placed(each, place, project) for each in error.problems]
    return chosen, []


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
