"""What a pattern is called and what would mend it: title, action, priority and the figures in a line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from cortex_eval.analysis.patterns import Priority
from cortex_eval.analysis.patterns_blame import LACKS, LOOKED, NOTHING
from cortex_eval.analysis.patterns_gather import Entry
from cortex_eval.analysis.patterns_groups import Group
from cortex_eval.analysis.patterns_replay import Key
from cortex_eval.core import language_name

SHOWN = 3
"""Values, pairs or reasons named in one line."""

_EDGES: Mapping[str, str] = {
    "no words": "Ask back when a question has no words in it",
    "very short": "Ask back when a question of one or two words can mean several things",
    "very long": "Find what is asked for in long questions before the rest is read",
    "capitals only": "Turn questions in capitals into lower case before they are read",
    "another script": "Transliterate questions in another script, or add patterns in it",
    "emoji or symbols": "Take emoji and symbols out of questions before they are read",
    "marks or markup": "Take markup and repeated marks out of questions before they are read",
}
"""What to do about unusual questions, by what is unusual (`edge_type`)."""
_ERRORS: Mapping[str, str] = {
    "bad_return": "Make the target return what Cortex can read for these questions too",
    "crashed": "Find out why the process of the target crashes on these questions, and mend that",
    "empty": "Find out why the target sends nothing back for these questions, and make it answer",
    "exited": "Find out why the program of the target ends with an error on these questions, and mend that",
    "raised": "Find the exception that these questions raise in the code of the target, and mend its cause",
    "service_error": "Look up in the log of the target which error it reports for these questions, and mend that",
    "status": "Look up in the log of the target why it answers these questions with an HTTP error, and mend that",
    "too_large": "Make the target send shorter replies to these questions: they are over the limit of size",
    "truncated": "Find out why the target breaks off in the middle of these replies, and mend that",
}
"""What to do about errors that the target makes itself, by their kind."""


class _Faults(NamedTuple):
    """What a pattern is made of."""

    keys: Sequence[Key]
    entries: Mapping[Key, Entry]
    details: Counter[str]
    name: str
    """The entity type or the scorer that it is about; empty: neither."""

    @property
    def commonest(self) -> str:
        """What is said most often; empty when nothing is."""
        return self.details.most_common(1)[0][0] if self.details else ""

    def as_it_was(self, reason: str) -> str:
        """A reason with the figures of the first case that it was said of."""
        examples = (self.entries[key].examples for key in self.keys)
        return next((each[reason] for each in examples if reason in each), reason)


class Words(NamedTuple):
    """What is said of a pattern."""

    title: str
    action: str
    priority: Priority
    evidence: str = ""
    about: tuple[str, ...] = ()
    severity: str = ""
    """Of the safety rule that it is about; empty: it is about none."""


def confusion_words(type_: str, group: Group, counts: Mapping[tuple[str, str], int]) -> Words:
    """Of labels or tools that are taken for others; the action is seed 003 §7.4's for intents."""
    noun = {"intent_confusion": "intent", "label_confusion": "label", "tool_selection_error": "tool"}[type_]
    first = group.pairs[0]
    others = list(dict.fromkeys(pair[1 if group.side == "expected" else 0] for pair in group.pairs))
    many = named(others)
    if group.side == "expected":
        title = f"{group.name} is taken for {many}" if group.name != NOTHING else f"No {noun} is right, and got {many}"
    else:
        verb = "is" if len(others) == 1 else "are"
        title = f"{many} {verb} taken for {group.name}" if group.name != NOTHING else f"No {noun} is found for {many}"
    counts = {pair: counts[pair] for pair in group.pairs}
    about = tuple(name for name in (group.name, *others) if name != NOTHING)[:20]
    priority: Priority = "medium" if type_ == "tool_selection_error" else "high"
    return Words(title, _confusion_action(type_, noun, first), priority, pairs_line(counts), about)


def pairs_line(counts: Mapping[tuple[str, str], int]) -> str:
    """The commonest pairs with how many cases show them."""
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    line = ", ".join(f"{expected} → {found} {count}" for (expected, found), count in ordered[:SHOWN])
    more = len(ordered) - SHOWN
    return line + (f" and {more} more {'pair' if more == 1 else 'pairs'}" if more > 0 else "")


def _confusion_action(type_: str, noun: str, pair: tuple[str, str]) -> str:
    expected, found = pair
    if type_ == "tool_selection_error":
        if expected == NOTHING:
            return f"Do not call {found} where no tool is needed"
        return f"Map the intent to {expected}" + (f", not to {found}" if found != NOTHING else ": no tool is called")
    if expected == NOTHING:
        return f"Turn down questions that are out of scope, or ask back, and do not take them for {found}"
    if found == NOTHING:
        return f"Add patterns for {expected}: no {noun} is found for its questions"
    return f"Add distinctive patterns for {expected} vs {found}"


def words_of(type_: str, keys: Sequence[Key], entries: Mapping[Key, Entry], *, name: str = "") -> Words:
    """Of every other pattern; `name`: the entity type or the scorer that it is about."""
    details: Counter[str] = Counter()
    for key in keys:
        details.update(entries[key].details)
    return _WORDS[type_](_Faults(keys, entries, details, name))


def named(names: Sequence[str]) -> str:
    """Some names in a line, with how many more there are."""
    more = len(names) - SHOWN
    listed = list(names[:SHOWN])
    if more > 0:
        return f"{', '.join(listed)} and {more} more"
    return " and ".join(listed) if len(listed) < 3 else f"{', '.join(listed[:-1])} and {listed[-1]}"


def counted(counts: Counter[str], shown: int = SHOWN) -> str:
    """The commonest of these with how often they came up."""
    return ", ".join(f"{text} ({count})" for text, count in counts.most_common(shown))


def _context(_: _Faults) -> Words:
    return Words(
        "What was said before is lost",
        "Carry the entities of earlier turns over to turns that refer to them",
        "high",
        evidence="turns that need context, with none of its entities",
    )


def _fallback(of: _Faults) -> Words:
    return Words(
        "The language model was asked, and got the intent wrong",
        "Give the model the intents with an example each, and let it say that it does not know",
        "medium",
        evidence=f"most often: {counted(of.details)}" if of.details else "",
        about=("llm",),
    )


def _edge(of: _Faults) -> Words:
    kinds = Counter({key[1]: len(of.entries[key].cases) for key in of.keys})
    commonest = kinds.most_common(1)[0][0]
    return Words(
        "Unusual questions are not understood",
        _EDGES.get(commonest, "Read some of these questions, and make the target understand them"),
        "medium",
        evidence=counted(kinds),
        about=("edge_cases",),
    )


def _exception(of: _Faults) -> Words:
    kind = of.keys[0][1]
    return Words(
        f"The target gives no reply: {kind}",
        _ERRORS.get(kind, f"Find out why the target answers these questions with the error {kind}, and mend that"),
        "high",
        evidence=f"most often: {of.commonest}" if of.commonest else "",
        about=(kind,),
    )


def _setup(of: _Faults) -> Words:
    """What the error itself says: it knows best what to do."""
    kind = of.keys[0][1]
    return Words(f"The target could not be asked or read: {kind}", _said(of, kind), "high", about=(kind,))


def _judge(of: _Faults) -> Words:
    kind = of.keys[0][1]
    action = f"{_said(of, kind)} Then score the replies again; the target is not asked anew."
    return Words(f"A scorer gives no verdict: {kind}", action, "high", about=(kind,))


def _said(of: _Faults, kind: str) -> str:
    words = of.commonest or f"It ended in {kind}"
    return words if words.endswith((".", "!", "?", "'", '"')) else f"{words}."


def _language(of: _Faults) -> Words:
    asked, found = map(_spoken, of.keys[0][2:4])
    return Words(
        f"Replies are in {found}, and should be in {asked}",
        f"Answer in the language that is asked for: {asked}, not {found}",
        "high",
        about=(of.keys[0][2], *(key[1] for key in of.keys)),
    )


def _spoken(language: str) -> str:
    """`Hindi in Latin letters` for `hi in Latin letters`."""
    code, gap, letters = language.partition(" ")
    return f"{language_name(code)}{gap}{letters}"


def _tool(of: _Faults) -> Words:
    return Words(
        "The intent is right, and the tool is not",
        "Compare the tool that each intent calls with the one that is expected",
        "medium",
        evidence=pairs_line({(key[2], key[3]): len(of.entries[key].cases) for key in of.keys}),
    )


def _missing(of: _Faults) -> Words:
    values: Counter[str] = Counter()
    for detail, count in of.details.items():
        key, _, value = detail.partition(" = ")
        if key == of.name:
            values[value] += count
    empty = len({case for key in of.keys if key[2] == "nothing" for case in of.entries[key].cases})
    parts = [f"most missed: {counted(values)}" if values else ""]
    parts.append(f"nothing at all was extracted in {empty}" if empty else "")
    return Words(
        f"The entity {of.name} is not extracted",
        f"Add regex for '{of.name}' extraction",
        "high",
        evidence="; ".join(filter(None, parts)),
        about=(of.name,),
    )


def _wrong(of: _Faults) -> Words:
    return Words(
        f"The entity {of.name} is extracted where it does not belong",
        f"Extract '{of.name}' only where the question states it",
        "medium",
        evidence=f"most often: {counted(of.details)}",
        about=(of.name,),
    )


def _safety(of: _Faults) -> Words:
    _type, scorer, rule, severity = of.keys[0]
    return Words(
        f"Rule {rule} of {scorer} is broken",
        f"Make replies keep the rule {rule}" + (f": {of.commonest}" if of.commonest else ""),
        "high" if severity in ("critical", "high") else "medium",
        about=(rule, scorer),
        severity=severity,
    )


def _scorer(of: _Faults) -> Words:
    once = [key for key in of.keys if key[0] != "scorer_failure"]
    if len(once) == len(of.keys):
        title, evidence = f"{of.name} fails in {len(of.keys)} further ways", "such as " + _examples(once, of.details)
        action = f"Read the cases that fail {of.name}: no two of them fail alike"
        return Words(title, action, "medium", evidence, (of.name,))
    example = of.as_it_was(of.commonest)
    such_as = "" if example == of.commonest else ", such as"
    title = f"{of.name} fails{such_as}: {example}" if of.commonest else f"{of.name} fails"
    most = of.details.most_common(SHOWN)
    evidence = " / ".join(f"{count} × {of.as_it_was(text)}" for text, count in most)
    return Words(title, _scorer_action(of), "medium", evidence, (of.name,))


def _scorer_action(of: _Faults) -> str:
    """What to begin with: what is missed most, or what the scorer says most often; else that nothing can be told."""
    if of.commonest.startswith(LACKS):
        missed = Counter({text.removeprefix(LACKS): count for text, count in of.details.items()})
        return f"Make replies say what they miss most: {counted(missed)}"
    cases = len({case for key in of.keys for case in of.entries[key].cases})
    count, example = min(of.details[of.commonest], cases), of.as_it_was(of.commonest)
    is_looked = any(LOOKED in key for key in of.keys)
    if of.commonest and 3 * count >= cases and not (is_looked and example != of.commonest):
        return f"Mend first what {of.name} says of {count} of {cases} cases: {example}"
    says = (
        f"the reasons of {of.name} do not say what is wrong with most of them"
        if of.commonest
        else f"{of.name} gives no reason"
    )
    return f"Read some of these {cases} cases: {says}" + (
        ", and the replies show no cause that can be counted" if is_looked else ""
    )


def _examples(keys: Sequence[Key], details: Counter[str]) -> str:
    if keys[0][0].endswith("_confusion"):
        return ", ".join(f"{key[2]} → {key[3]}" for key in keys[:SHOWN])
    return ", ".join(list(details)[:SHOWN])


_WORDS: Mapping[str, Callable[[_Faults], Words]] = {
    "context_not_retained": _context,
    "llm_fallback_failure": _fallback,
    "edge_case": _edge,
    "exception": _exception,
    "judge_error": _judge,
    "setup_error": _setup,
    "wrong_language": _language,
    "tool_selection_error": _tool,
    "missing_entity": _missing,
    "wrong_entity": _wrong,
    "safety_rule": _safety,
    "scorer_failure": _scorer,
}
