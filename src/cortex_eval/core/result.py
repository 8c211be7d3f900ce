"""What came back: replies and what scorers say of them."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Literal, NamedTuple

from msgspec import Struct, field

from cortex_eval.core.case import Attachment, ToolCall

State = Literal["passed", "failed", "error_target", "error_judge", "pending", "cancelled"]
RunStatus = Literal["pending", "running", "paused", "completed", "failed", "cancelled"]
Level = Literal["turn", "case", "run"]
Direction = Literal["higher", "lower"]
Source = Literal["code", "judge", "human"]
PARSE_WARNING_MS = 1000.0
TOTAL_WARNING_MS = 5000.0
"""A reply that took longer is warned of (seed 003 §4.4)."""
RATE = "rate"
"""The unit of a measure that the scorer is named for: a share of 0..1, which reports then show instead of the value."""


class Money(Struct, frozen=True, kw_only=True):
    """An amount with its currency and the price table that it was reckoned by."""

    amount: Decimal
    currency: str = "USD"
    price_table: str = ""


class Usage(Struct, frozen=True, kw_only=True):
    """Tokens and cost of one reply; an unknown price is None, never 0."""

    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cost: Money | None = None


class Span(Struct, frozen=True, kw_only=True):
    """One step inside the system under test, as it reported it."""

    name: str
    start_ms: float = 0.0
    duration_ms: float = 0.0
    attributes: Mapping[str, Any] = field(default_factory=dict)


class Reply(Struct, frozen=True, kw_only=True):
    """What the target answered to one turn."""

    text: str = ""
    intent: str | None = None
    entities: Mapping[str, Any] | None = None
    tool: str | None = None
    arguments: Mapping[str, Any] | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    label: str | None = None
    confidence: float | None = None
    llm_invoked: bool | None = None
    contexts: tuple[str, ...] = ()
    """The passages that the target says it used."""
    citations: tuple[str, ...] = ()
    language: str | None = None
    transcript: str | None = None
    parse_time_ms: float | None = None
    total_time_ms: float | None = None
    """Of the attempt that succeeded, as seen from here; waiting for a slot or a retry is not in it."""
    waited_ms: float | None = None
    """Before that attempt: for a limit, for a retry, for the target to come back; None: not at all."""
    first_token_ms: float | None = None
    attempts: int = 1
    finish_reason: str | None = None
    model: str | None = None
    usage: Usage | None = None
    attachments: tuple[Attachment, ...] = ()
    spans: tuple[Span, ...] = ()
    cached: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)
    raw: Any = None  # Any: the target's own payload, kept as it came


class Score(Struct, frozen=True, kw_only=True):
    """What one scorer says about one reply."""

    name: str
    value: float | None
    """0.0 is worst, 1.0 is best; None: this scorer has nothing to say about this case."""
    passed: bool | None = None
    """None: the engine decides by the scorer's threshold."""
    reason: str = ""
    evidence: Any = None  # Any: findings, spans, pairs; whatever JSON can hold
    measure: float | None = None
    """The natural figure behind the value (ms, WER, Flesch …)."""
    unit: str = ""
    """Of the measure; see `RATE`."""
    direction: Direction = "higher"
    """Of the measure."""
    level: Level = "turn"
    source: Source = "code"
    version: str = "1"
    fingerprint: str = ""
    """Changes when the scorer's code version, settings or prompt change."""


class Failure(NamedTuple):
    """Why there is no reply, or no verdict."""

    kind: str
    message: str
    attempts: int = 0
    """Calls that were made for a verdict; 0: none, or it is a reply that is missing, whose result has them."""
    evidence: Mapping[str, Any] | None = None  # Any: JSON
    """Tokens, cost and attempts of judges that answered, but not with a verdict; None: none did."""


class ResultKey(NamedTuple):
    """What makes a result unique."""

    run_id: str
    case_id: str
    repeat: int
    turn: int
    attempt: int
