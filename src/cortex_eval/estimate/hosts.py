"""Whom a plan would call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cortex_eval.config import AsksModel, IsModel, Plan
from cortex_eval.core import TargetError
from cortex_eval.estimate.figures import Host
from cortex_eval.net import Guard, host_of

if TYPE_CHECKING:
    from cortex_eval.llm import ModelSettings


def hosts_of(plan: Plan) -> Iterator[Host]:
    """Whom the target and the judges would call by themselves; what foreign code calls is its own affair."""
    found: dict[str, list[str]] = {}
    if isinstance(url := getattr(plan.target, "api_url", None), str):
        found[host_of(url)] = [plan.target_name]
    elif isinstance(plan.target, IsModel):
        found[_host_of_model(plan.target.model_settings)] = [plan.target_name]
    for judge in plan.scorers:
        if isinstance(judge.scorer, AsksModel):
            for chosen in judge.scorer.jury():
                found.setdefault(_host_of_model(chosen.settings), []).append(chosen.name)
    guard = Guard(is_offline=True, named=plan.named_hosts)
    for host, who in found.items():
        refused = None
        try:
            guard.pass_on(f"https://{host}/")
        except TargetError as error:
            refused = error.kind
        if host:  # else a model in this process
            yield Host(host, tuple(dict.fromkeys(who)), refused)


def _host_of_model(settings: ModelSettings) -> str:
    from cortex_eval.llm import make_model

    return host_of(settings.base_url) if settings.base_url else make_model(settings).host
