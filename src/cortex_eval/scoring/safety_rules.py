"""Safety rules as people write them: read strictly, compiled once."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast, get_args

import orjson

from cortex_eval.core import InputError, Problem, did_you_mean, short_repr
from cortex_eval.scoring.patterns import Pattern, PatternError, expand
from cortex_eval.scoring.safety_doses import Limit

Severity = Literal["low", "medium", "high", "critical"]
Checksum = Literal["verhoeff", "luhn"]
SHIPPED = ("escalation", "advice", "treatment", "contraindications", "poisons", "privacy")
"""The files of the shipped rules, in order; what they share stands in `rules/lists.json`."""
WORDS = ("lists", "denial", "assent", "doses")
"""The files of words by which rules of anybody are read."""
KEYS = (
    *("id", "severity", "reason", "when", "require", "forbid", "escalate", "contraindicates", "unless"),
    *("unless_said", "as_said", "checksum", "limits"),
)
LIMIT_KEYS = ("substance", "name", "at_once_mg", "daily_mg", "tablet_mg", "source")


class Contraindication(NamedTuple):
    """What must not be suggested to whom."""

    substance: Pattern
    condition: Pattern


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule; an absent part does not apply."""

    id: str
    severity: Severity
    reason: str
    when_question: Pattern | None = None
    when_or_without: Pattern | None = None
    """The rule also applies to a question that has none of these."""
    when_reply: Pattern | None = None
    when_any: Pattern | None = None
    require: Pattern | None = None
    forbid: Pattern | None = None
    escalate: Pattern | None = None
    contraindicates: tuple[Contraindication, ...] = ()
    substances: Pattern | None = None
    """Every substance of the pairs: most replies name none of them."""
    unless: Pattern | None = None
    unless_said: bool = False
    as_said: bool = False
    """A match of `forbid` has its own *no*: denials take nothing back."""
    checksum: Checksum | None = None
    """A match of `forbid` counts only if its digits pass this test."""
    limits: tuple[Limit, ...] = ()
    """How much of which medicine the reply may advise."""
    dosed: Pattern | None = None
    """Every medicine of the limits."""

    @property
    def only_escalates(self) -> bool:
        """Whether the rule has nothing to say without a red flag."""
        return self.escalate is not None and self.forbid is None and not self.contraindicates and not self.limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The rules of one file, and of those it includes."""

    rules: tuple[Rule, ...]
    digest: str
    """Changes when a file does."""


def read_rules(path: Path | None) -> Rules:
    """The rules of a file, or those that ship with Cortex; InputError with everything that is wrong with them."""
    if path is None:
        return shipped_rules()
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"safety.healthcare_compliance_rules: {path} cannot be read: {error.strerror}.") from error
    document = _parse(content, str(path))
    reader = _Reader(str(path), lists=_shipped_lists())
    own = reader.read(document)
    if reader.problems:
        raise InputError(reader.problems)
    digest = hashlib.sha256(b"".join(map(_shipped, WORDS)) + content)
    if document.get("include") != "healthcare":
        return Rules(rules=own, digest=digest.hexdigest()[:16])
    digest.update(shipped_rules().digest.encode())
    ids = {rule.id for rule in own}
    kept = tuple(rule for rule in shipped_rules().rules if rule.id not in ids)
    return Rules(rules=kept + own, digest=digest.hexdigest()[:16])


@cache
def shipped_rules() -> Rules:
    """The rules that ship with Cortex."""
    digest = hashlib.sha256(b"".join(map(_shipped, WORDS)))
    rules: list[Rule] = []
    for name in SHIPPED:
        content = _shipped(name)
        digest.update(content)
        reader = _Reader(f"{name}.json", lists=_shipped_lists())
        rules += reader.read(_parse(content, f"{name}.json"))
        assert not reader.problems, reader.problems
    return Rules(rules=tuple(rules), digest=digest.hexdigest()[:16])


def _shipped(name: str) -> bytes:
    return files("cortex_eval.scoring").joinpath(f"rules/{name}.json").read_bytes()


def _shipped_lists() -> dict[str, list[str]]:
    return cast("dict[str, list[str]]", orjson.loads(_shipped("lists"))["lists"])


def _parse(content: bytes, source: str) -> Any:  # Any: whatever JSON holds
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise InputError(Problem(file=source, line=error.lineno, message=f"This is not JSON: {error.msg}.")) from error


@dataclass(slots=True)
class _Reader:
    """Reads one file and collects what is wrong with it."""

    source: str
    lists: dict[str, list[str]]
    problems: list[Problem] = field(default_factory=list)

    def read(self, document: Any) -> tuple[Rule, ...]:  # Any: whatever JSON holds
        if not isinstance(document, dict) or not isinstance(document.get("rules"), list):
            self.complain("", 'A rules file is an object with a list of rules: {"rules": [...]}.')
            return ()
        self.unknown_keys("", document, ("rules", "lists", "include", "description"))
        if document.get("include", "healthcare") != "healthcare":
            self.complain("", f"'include' can only be \"healthcare\", not {short_repr(document['include'])}.")
        self.read_lists(document.get("lists", {}))
        rules: list[Rule] = []
        seen: set[str] = set()
        for number, row in enumerate(document["rules"], start=1):
            rule = self.rule(number, row)
            if rule is None:
                continue
            if rule.id in seen:
                self.complain(rule.id, "There are two rules of this id.")
            seen.add(rule.id)
            rules.append(rule)
        return tuple(rules)

    def read_lists(self, named: Any) -> None:  # Any: whatever JSON holds
        if not isinstance(named, dict):
            self.complain("", f"'lists' must hold lists of patterns by name, not {short_repr(named)}.")
            return
        for name, values in named.items():
            if isinstance(values, list) and all(isinstance(each, str) and each for each in values):
                self.lists[name] = values
            else:
                self.complain("", f"The list {name!r} must be a list of patterns, not {short_repr(values)}.")

    def rule(self, number: int, row: Any) -> Rule | None:  # Any: whatever JSON holds
        if not isinstance(row, dict) or not isinstance(row.get("id"), str) or not row["id"]:
            self.complain(f"number {number}", "A rule is an object with an 'id'.")
            return None
        name = row["id"]
        before = len(self.problems)
        self.check_values(name, row)
        when = row.get("when", {})
        require = row.get("require", ["@emergency"] if "escalate" in row else None)
        sides = when if isinstance(when, dict) else {"any": when}
        self.unknown_keys(f"{name}.when", sides, ("question", "or_without", "reply", "any"))
        patterns = {key: self.pattern(name, key, row.get(key)) for key in ("forbid", "escalate", "unless")}
        patterns["require"] = self.pattern(name, "require", require)
        conditions = {f"when_{key}": self.pattern(name, f"when.{key}", value) for key, value in sides.items()}
        pairs = self.pairs(name, row.get("contraindicates", []))
        limits = self.limits(name, row.get("limits", []))
        if len(self.problems) > before:
            return None
        return Rule(
            id=name,
            severity=row["severity"],
            reason=row["reason"],
            contraindicates=pairs,
            substances=self.substances(row.get("contraindicates", [])),
            dosed=self.substances(row.get("limits", [])) if limits else None,
            unless_said=row.get("unless_said") is True,
            as_said=row.get("as_said") is True,
            checksum=row.get("checksum"),
            limits=limits,
            **patterns,
            **conditions,
        )

    def check_values(self, name: str, row: Mapping[str, Any]) -> None:  # Any: whatever JSON holds
        """Complain of everything in a rule that is no pattern and not what it should be."""
        self.unknown_keys(name, row, KEYS)
        severity, reason, checksum = row.get("severity"), row.get("reason"), row.get("checksum")
        if severity not in get_args(Severity):
            self.complain(name, f"'severity' must be low, medium, high or critical, not {short_repr(severity)}.")
        if not isinstance(reason, str) or not reason:
            self.complain(name, "'reason' is missing; it is what people read when the rule fires.")
        if not any(key in row for key in ("require", "forbid", "escalate", "contraindicates", "limits")):
            self.complain(name, "A rule needs one of: require, forbid, escalate, contraindicates, limits.")
        if checksum is not None and checksum not in get_args(Checksum):
            self.complain(name, f"'checksum' must be verhoeff or luhn, not {short_repr(checksum)}.")
        for key in ("unless_said", "as_said"):
            if not isinstance(row.get(key, False), bool):
                self.complain(name, f"'{key}' must be true or false, not {short_repr(row[key])}.")

    def pairs(self, name: str, rows: Any) -> tuple[Contraindication, ...]:  # Any: whatever JSON holds
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            self.complain(name, "'contraindicates' is a list of {substance: [...], condition: [...]}.")
            return ()
        pairs = []
        for row in rows:
            self.unknown_keys(f"{name}.contraindicates", row, ("substance", "condition"))
            substance = self.pattern(name, "contraindicates.substance", row.get("substance", []))
            condition = self.pattern(name, "contraindicates.condition", row.get("condition", []))
            if substance and condition:
                pairs.append(Contraindication(substance, condition))
        return tuple(pairs)

    def limits(self, name: str, rows: Any) -> tuple[Limit, ...]:  # Any: whatever JSON holds
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            self.complain(name, f"'limits' is a list of {{{', '.join(LIMIT_KEYS)}}}.")
            return ()
        limits = []
        for row in rows:
            self.unknown_keys(f"{name}.limits", row, LIMIT_KEYS)
            substance = self.pattern(name, "limits.substance", row.get("substance", []))
            amounts = {key: row.get(key) for key in LIMIT_KEYS if key.endswith("_mg")}
            wrong = [
                key for key, mg in amounts.items() if isinstance(mg, bool) or not isinstance(mg, int | float) or mg <= 0
            ]
            wrong += [key for key in ("name", "source") if not isinstance(row.get(key), str) or not row[key]]
            for key in wrong:
                kind = "a number above 0" if key.endswith("_mg") else "a text"
                self.complain(name, f"'limits.{key}' must be {kind}, not {short_repr(row.get(key))}.")
            if substance and not wrong:
                limits.append(
                    Limit(substance=substance, name=row["name"], source=row["source"], **cast("Any", amounts))
                )
        return tuple(limits)

    def substances(self, rows: Sequence[Mapping[str, Any]]) -> Pattern | None:  # Any: patterns that were read before
        named = [row["substance"] for row in rows]
        sources = [each for some in named for each in ([some] if isinstance(some, str) else some)]
        return Pattern(expand(sources, self.lists)) if sources else None

    def pattern(self, name: str, key: str, value: Any) -> Pattern | None:  # Any: whatever JSON holds
        if value is None:
            return None
        sources = [value] if isinstance(value, str) else value
        if not isinstance(sources, list) or not sources or not all(isinstance(each, str) and each for each in sources):
            self.complain(name, f"'{key}' must be a list of patterns, not {short_repr(value)}.")
            return None
        try:
            return Pattern(expand(sources, self.lists))
        except PatternError as error:
            self.complain(name, f"'{key}' has a pattern that does not compile: {error}")
            return None

    def unknown_keys(self, place: str, row: Mapping[str, object], known: Sequence[str]) -> None:
        for key in row:
            if key not in known:
                self.complain(place, f"There is no key {key!r}. {did_you_mean(str(key), known)}")

    def complain(self, rule: str, message: str) -> None:
        text = f"rule {rule}: {message}" if rule else message
        self.problems.append(Problem(file=self.source, field=rule, message=text, code="rules_invalid"))
