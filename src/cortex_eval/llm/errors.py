"""What a model's service says when it does not answer: what passes by itself, and what no waiting will mend."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import orjson

from cortex_eval.core import TargetError, shorten

# The services' own words, from their lists of errors, in lower case; numbers are HTTP statuses told inside a body.
NO_USE = frozenset(
    {
        "insufficient_quota",
        "billing_error",
        "billing_hard_limit_reached",
        "billing_not_active",
        "credit_balance_too_low",
        "invalid_api_key",
        "api_key_invalid",
        "authentication_error",
        "permission_error",
        "permission_denied",
        "unauthenticated",
        "account_deactivated",
        "access_terminated",
        "401",
        "402",
        "403",
    }
)
"""Asking again with this key is in vain, as with a wrong one."""
TOO_FAST = frozenset({"rate_limit_exceeded", "rate_limit_error", "resource_exhausted", "too_many_requests", "429"})
PASSING = frozenset(
    {
        "overloaded_error",
        "overloaded",
        "api_error",
        "server_error",
        "internal_server_error",
        "internalservererror",
        "internal",
        "timeout_error",
        "unavailable",
        "service_unavailable",
        "deadline_exceeded",
        "408",
        "500",
        "502",
        "503",
        "504",
        "529",
    }
)
EMPTY_PURSE = re.compile(
    r"(?i)credit balance is too low|exceeded your current quota, please check your plan and billing"
)
DELAY = re.compile(r"(\d{1,6}(?:\.\d{1,9})?)s")


def error_said(said: Any, *, host: str, is_midway: bool = False) -> TargetError:
    """The error that a service told inside a 200 answer, or in the middle of a stream.

    What is not known to be the request's own fault passes by itself when it came in the middle: the request was taken.
    """
    words = set(_words(said))
    message = said.get("message") if isinstance(said, dict) else said
    text = shorten(message if isinstance(message, str) else orjson.dumps(said, default=str).decode())
    where = "in the middle of its answer" if is_midway else "in place of an answer"
    if words & NO_USE or EMPTY_PURSE.search(text):
        return TargetError(f"{host} refused {where}: {text!r}", kind="auth")
    if words & TOO_FAST:
        return TargetError(
            f"{host} asked to slow down {where}: {text!r}",
            kind="rate_limited",
            transient=True,
            retry_after_s=_delay_s(said),
        )
    is_passing = bool(words & PASSING) or (is_midway and not any(word.startswith("invalid") for word in words))
    return TargetError(f"{host} told of an error {where}: {text!r}", kind="service_error", transient=is_passing)


def explain(error: TargetError, *, host: str) -> TargetError:
    """The same failure with what the service's own words say about it: an empty purse is not a passing 429."""
    if error.status is None or not error.body:
        return error
    try:
        body = orjson.loads(error.body)
    except orjson.JSONDecodeError:
        return error
    said = _inside(body)
    text = shorten(str(said.get("message", "")) if isinstance(said, dict) else str(said))
    words = set(_words(said))
    if error.kind != "auth" and (words & NO_USE or EMPTY_PURSE.search(text)):
        told = TargetError(
            f"{host} answered {error.status}: check the key, its plan and its billing. It said: {text!r}", kind="auth"
        )
        told.status, told.body = error.status, error.body
        return told
    if error.kind == "rate_limited" and error.retry_after_s is None:
        error.retry_after_s = _delay_s(said)
    return error


def _inside(body: Any) -> Any:
    """What stands under `error`; Gemini wraps it in a list when it streams."""
    if isinstance(body, list) and body:
        body = body[0]
    return body.get("error", body) if isinstance(body, dict) else body


def _words(said: Any) -> Iterator[str]:
    if not isinstance(said, dict):
        return
    for name in ("code", "type", "status"):
        if isinstance(said.get(name), (str, int)):
            yield str(said[name]).lower()
    for detail in _details(said):
        if isinstance(detail.get("reason"), str):  # Gemini: {"@type": "…ErrorInfo", "reason": "API_KEY_INVALID"}
            yield detail["reason"].lower()


def _delay_s(said: Any) -> float | None:
    """Gemini names its wait in the body: {"@type": "…RetryInfo", "retryDelay": "34s"}."""
    for detail in _details(said):
        found = DELAY.fullmatch(str(detail.get("retryDelay", "")))
        if found:
            return float(found[1])
    return None


def _details(said: Any) -> list[dict[str, Any]]:
    details = said.get("details") if isinstance(said, dict) else None
    return [each for each in details if isinstance(each, dict)] if isinstance(details, list) else []
