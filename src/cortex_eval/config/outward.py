"""How a plan calls out: the limits, patience and budget that the project file gives it, and the hosts that it names."""

from __future__ import annotations

from decimal import Decimal
from urllib.parse import urlsplit

from cortex_eval.config.model import ExecutionModel, ServiceModel
from cortex_eval.config.project import Project
from cortex_eval.net import BREAK_AFTER, TIMEOUT_S, Budget, Limits, Patience


def patience_with(execution: ExecutionModel, service: ServiceModel, *, is_remote: bool) -> Patience:
    """How a service is waited for; what runs on this machine cannot be down."""
    return Patience(
        timeout_s=service.timeout_seconds or TIMEOUT_S,
        retries=execution.retry_count,
        retry_delay_s=execution.retry_delay_seconds,
        requests_per_minute=service.requests_per_minute,
        tokens_per_minute=service.tokens_per_minute,
        break_after=BREAK_AFTER if is_remote else None,
        pause_limit_s=execution.pause_limit_seconds,
    )


def limits_of(service: ServiceModel) -> Limits:
    """What one call to a service may take."""
    usual = Limits()
    # Who allows one attempt 90 seconds means it, also when nothing comes for 80 of them.
    idle_s = service.idle_seconds or service.timeout_seconds or usual.idle_s
    is_never_first = idle_s is not None and idle_s >= (service.timeout_seconds or TIMEOUT_S)
    return Limits(connect_s=service.connect_seconds, idle_s=None if is_never_first else idle_s)


def budget_of(execution: ExecutionModel) -> Budget:
    """What a run may spend."""
    usd = execution.budget_usd
    return Budget(
        usd=None if usd is None else Decimal(str(usd)), calls=execution.budget_calls, tokens=execution.budget_tokens
    )


def address_at(project: Project, service: str) -> str:
    """Which setting holds the address of a service, and where it stands; empty when none does."""
    for block in ("services", "targets"):
        for key in ("api_url", "base_url"):
            place = (block, service, key)
            if (line := project.document.lines.get(place)) is not None:
                return f"{key} of {block}.{service} ({project.document.file_of(place).name}:{line})"
    return ""


def named_hosts(project: Project) -> tuple[str, ...]:
    """Every host whose address is written in the project file."""
    services = [each.settings.get(key) for each in project.model.services.values() for key in ("api_url", "base_url")]
    urls = [*services, *(each.base_url for each in project.model.models.values())]
    hosts = {urlsplit(url).hostname for url in urls if isinstance(url, str)}
    return tuple(sorted(host for host in hosts if host))
