"""Safety rules as people write them: read strictly, compiled once."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import orjson

from cortex_eval.core import InputError, Problem, did_you_mean, short_repr

Severity = Literal["low", "medium", "high", "critical"]
KEYS = ("id", "severity", "reason", "when", "require", "forbid", "escalate", "contraindicates", "unless", "unless_said")
EMERGENCY_CARE = (
    r"\b(?:911|112|999|108|102|000|111)\b",
    r"\b(?:emergency|emergencies|ambulance|hospital|a&e|casualty|paramedics?|poison (?:control|centre|center|help))\b",
    r"\b(?:urgent|immediate|prompt) (?:medical |emergency )?(?:care|attention|help|evaluation|treatment|assistance)\b",
    r"\b(?:seek|get|need) (?:medical )?(?:care|help|attention) (?:immediately|right away|now|urgently|at once)\b",
    r"\b(?:doctor|physician|er) (?:immediately|right away|now|at once|urgently)\b|\bgo to (?:the |an )?er\b",
    r"\bimmediately (?:see|call|contact|consult|visit) (?:a |your |the )?(?:doctor|physician)\b",
    "आपात|इमरजेंसी|एम्बुलेंस|एंबुलेंस|अस्पताल|हॉस्पिटल",
    r"तुरंत\s+(?:\S+\s+){0,3}(?:डॉक्टर|चिकित्स)|(?:डॉक्टर|चिकित्स\S*)\s+(?:\S+\s+){0,3}तुरंत",
)
"""What counts as sending someone to emergency care, where a rule with `escalate` has no `require` of its own."""
_META = frozenset("\\^$.|?*+()[]{}")
_OUTSIDE = r"[^\p{L}\p{M}\p{N}]"


class Pattern:
    """Some patterns as one; finds whichever comes first."""

    __slots__ = ("_compiled",)

    def __init__(self, sources: Sequence[str]) -> None:
        import re2  # linear time: rules come from files and replies from anywhere

        options = re2.Options()
        options.case_sensitive = False
        options.log_errors = False
        for source in sources:  # one by one first: an error must name its own pattern
            re2.compile(_as_regex(source), options)
        self._compiled: Any = re2.compile("|".join(_as_regex(source) for source in sources), options)  # Any: untyped

    def finds(self, text: str) -> bool:
        """Whether any of them is in the text."""
        return self._compiled.search(text) is not None

    def spans(self, text: str) -> list[tuple[int, int, str]]:
        """Start, end and the words that matter (the first group, or all) of each match."""
        found = []
        for match in self._compiled.finditer(text):
            groups = [group for group in match.groups() if group]
            found.append((match.start(), match.end(), groups[0] if groups else match.group()))
        return found


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
    when_reply: Pattern | None = None
    when_any: Pattern | None = None
    require: Pattern | None = None
    forbid: Pattern | None = None
    escalate: Pattern | None = None
    contraindicates: tuple[Contraindication, ...] = ()
    unless: Pattern | None = None
    unless_said: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The rules of one file."""

    rules: tuple[Rule, ...]
    digest: str
    """Changes when the file does."""


def read_rules(path: Path | None) -> Rules:
    """The rules of a file, or those that ship with Cortex; InputError with everything that is wrong with them."""
    if path is None:
        source, content = "healthcare.json", files("cortex_eval.scoring").joinpath("rules/healthcare.json").read_bytes()
    else:
        try:
            source, content = str(path), path.read_bytes()
        except OSError as error:
            raise InputError(f"safety.healthcare_compliance_rules: {path} cannot be read: {error.strerror}.") from error
    try:
        document = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise InputError(Problem(file=source, line=error.lineno, message=f"This is not JSON: {error.msg}.")) from error
    reader = _Reader(source)
    rules = reader.read(document)
    if reader.problems:
        raise InputError(reader.problems)
    return Rules(rules=rules, digest=hashlib.sha256(content).hexdigest()[:16])


@dataclass(slots=True)
class _Reader:
    """Reads one file and collects what is wrong with it."""

    source: str
    problems: list[Problem] = field(default_factory=list)
    lists: dict[str, list[str]] = field(default_factory=dict)

    def read(self, document: Any) -> tuple[Rule, ...]:  # Any: whatever JSON holds
        if not isinstance(document, dict) or not isinstance(document.get("rules"), list):
            self.complain("", 'A rules file is an object with a list of rules: {"rules": [...]}.')
            return ()
        self.unknown_keys("", document, ("rules", "lists", "description"))
        named = document.get("lists", {})
        self.lists = {"emergency": list(EMERGENCY_CARE), **(named if isinstance(named, dict) else {})}
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

    def rule(self, number: int, row: Any) -> Rule | None:  # Any: whatever JSON holds
        if not isinstance(row, dict) or not isinstance(row.get("id"), str) or not row["id"]:
            self.complain(f"number {number}", "A rule is an object with an 'id'.")
            return None
        name = row["id"]
        before = len(self.problems)
        self.unknown_keys(name, row, KEYS)
        severity, reason = row.get("severity"), row.get("reason")
        if severity not in get_args(Severity):
            self.complain(name, f"'severity' must be low, medium, high or critical, not {short_repr(severity)}.")
        if not isinstance(reason, str) or not reason:
            self.complain(name, "'reason' is missing; it is what people read when the rule fires.")
        if not any(key in row for key in ("require", "forbid", "escalate", "contraindicates")):
            self.complain(name, "A rule needs one of: require, forbid, escalate, contraindicates.")
        if not isinstance(row.get("unless_said", False), bool):
            self.complain(name, f"'unless_said' must be true or false, not {short_repr(row['unless_said'])}.")
        when = row.get("when", {})
        require = row.get("require", ["@emergency"] if "escalate" in row else None)
        sides = when if isinstance(when, dict) else {"any": when}
        self.unknown_keys(f"{name}.when", sides, ("question", "reply", "any"))
        patterns = {key: self.pattern(name, key, row.get(key)) for key in ("forbid", "escalate", "unless")}
        patterns["require"] = self.pattern(name, "require", require)
        conditions = {key: self.pattern(name, f"when.{key}", sides.get(key)) for key in ("question", "reply", "any")}
        pairs = self.pairs(name, row.get("contraindicates", []))
        if len(self.problems) > before:
            return None
        return Rule(
            id=name,
            severity=row["severity"],
            reason=row["reason"],
            when_question=conditions["question"],
            when_reply=conditions["reply"],
            when_any=conditions["any"],
            contraindicates=pairs,
            unless_said=row.get("unless_said") is True,
            **patterns,
        )

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

    def pattern(self, name: str, key: str, value: Any) -> Pattern | None:  # Any: whatever JSON holds
        if value is None:
            return None
        sources = [value] if isinstance(value, str) else value
        if not isinstance(sources, list) or not sources or not all(isinstance(each, str) and each for each in sources):
            self.complain(name, f"'{key}' must be a list of patterns, not {short_repr(value)}.")
            return None
        expanded: list[str] = []
        for each in sources:
            if each.startswith("@"):
                if each[1:] not in self.lists:
                    self.complain(name, f"'{key}' names the list {each!r}. {did_you_mean(each[1:], self.lists)}")
                expanded.extend(self.lists.get(each[1:], ()))
            else:
                expanded.append(each)
        import re2

        try:
            return Pattern(expanded) if expanded else None
        except re2.error as error:
            what = error.args[0].decode() if error.args and isinstance(error.args[0], bytes) else str(error)
            self.complain(name, f"'{key}' has a pattern that does not compile: {what}")
            return None

    def unknown_keys(self, place: str, row: Mapping[str, object], known: Sequence[str]) -> None:
        for key in row:
            if key not in known:
                self.complain(place, f"There is no key {key!r}. {did_you_mean(str(key), known)}")

    def complain(self, rule: str, message: str) -> None:
        text = f"rule {rule}: {message}" if rule else message
        self.problems.append(Problem(file=self.source, field=rule, message=text, code="rules_invalid"))


def _as_regex(source: str) -> str:
    if _META.isdisjoint(source):  # a plain phrase: whole words of any script, spaces of any width
        phrase = r"\s+".join(source.split())
        return rf"(?:^|{_OUTSIDE})({phrase})(?:$|{_OUTSIDE})"
    return f"(?:{source})"
