"""How often a law is tried: as often as it asks for in `make test`, a few times in `make check`."""

from __future__ import annotations

from hypothesis import HealthCheck, settings


def tried(times: int) -> settings:
    """Settings for a law that wants so many examples; each of them uses the same fixtures."""
    few = settings.get_profile("quick").max_examples
    is_quick = settings.default is not None and settings.default.max_examples == few
    return settings(
        max_examples=min(times, few) if is_quick else times,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
