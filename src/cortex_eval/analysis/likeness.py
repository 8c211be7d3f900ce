"""Which figures of two runs cannot be compared, because they were not scored in the same way."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from cortex_eval.core import RunRecord

TOTALS = ("overall_score", "pass_rate")
"""What all scorers of a run make together."""
Described = Mapping[str, Any]  # Any: JSON of a manifest
_WANTED = re.compile(r"\(without (cortex-eval\[[\w-]+\])\)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlike:
    """What differs in how two runs were scored; nothing, where that is not known of one of them."""

    scorers: Mapping[str, str] = field(default_factory=dict)
    """Scorers of both runs that are not the same in both, with what differs: `version 2 instead of 1`."""
    totals: bool = False
    """Whether the verdicts of cases, and with them `overall_score` and `pass_rate`, are not comparable."""
    others: tuple[str, ...] = ()
    """What else than these scorers makes the verdicts of cases something else: `exact was added`."""
    extra: str = ""
    """What is to be installed so that the later run is scored as the first: `cortex-eval[embed]`; empty: nothing."""

    @property
    def metrics(self) -> frozenset[str]:
        """The metrics that are not compared."""
        return frozenset((*self.scorers, *(TOTALS if self.totals else ())))

    def words(self, against: str) -> str:
        """What differs from the run that is called so, in a sentence without its end."""
        told = [f"{name}: {how}" for name, how in self.scorers.items()]
        if len(told) == 1:
            told = [told[0].replace(":", f" is scored in another way than in {against}:", 1)]
        elif told:
            told = [f"scorers that are not those of {against}: {'; '.join(told)}"]
        if not self.others:
            return told[0] if told else ""
        return "; ".join([*told, f"cases do not pass and fail as in {against}: {', '.join(self.others)}"])


ALIKE = Unlike()


def unlike(before: RunRecord, now: RunRecord) -> Unlike:
    """What cannot be compared between these runs.

    A metric, when the version, the settings, the method or the threshold of its scorer are not the same in both. The
    totals, when that scorer has a weight or is critical, when one that does was added or removed, or when weights, what
    is critical or the passing threshold changed.
    """
    was, is_now = before.manifest.get("scorers"), now.manifest.get("scorers")
    if not was or not is_now:
        return ALIKE
    changed = {
        name: how for name in was if name in is_now and (how := _how_it_differs(name, before.manifest, now.manifest))
    }
    has_part = any(_counts(was[name]) or _counts(is_now[name]) for name in changed)
    others = tuple(_other_totals(before.manifest, now.manifest, is_told=has_part))
    wanted = [_WANTED.search(_scored_by(now.manifest, name)) for name in changed]
    return Unlike(
        scorers=changed,
        totals=has_part or bool(others),
        others=others,
        extra=next((found[1] for found in wanted if found), ""),
    )


def _how_it_differs(name: str, before: Described, now: Described) -> str:
    """What differs of a scorer that both runs have; empty when it is the same."""
    was, is_now = before["scorers"][name], now["scorers"][name]
    by_then, by_now = _scored_by(before, name), _scored_by(now, name)
    for field_name, words in (("kind", ""), ("version", "version "), ("threshold", "threshold ")):
        if was.get(field_name) != is_now.get(field_name):
            now_said, then_said = (_said(each.get(field_name)) for each in (is_now, was))
            return f"{words}{now_said} instead of {then_said}"
    if was.get("fingerprint") == is_now.get("fingerprint"):
        return ""
    if by_then and by_now and by_then != by_now:
        return f"{by_now} instead of {by_then}"
    is_known = "scored_by" in before and "scored_by" in now  # runs of an earlier Cortex do not say it
    return "other settings" if is_known else "other settings, or another method"


def _scored_by(manifest: Described, name: str) -> str:
    return str((manifest.get("scored_by") or {}).get(name, ""))


def _other_totals(before: Described, now: Described, *, is_told: bool) -> Iterator[str]:
    """What else makes the totals something else; weights, only where nothing else explains them."""
    was, is_now = before["scorers"], now["scorers"]
    added = [name for name in is_now if name not in was and _counts(is_now[name])]
    removed = [name for name in was if name not in is_now and _counts(was[name])]
    if added:
        yield f"{_listed(added)} {'was' if len(added) == 1 else 'were'} added"
    if removed:
        yield f"{_listed(removed)} {'was' if len(removed) == 1 else 'were'} removed"
    for name in [name for name in is_now if name in was]:
        if bool(was[name].get("critical")) != bool(is_now[name].get("critical")):
            yield f"{name} is {'critical now' if is_now[name].get('critical') else 'no longer critical'}"
        weights = [float(each.get("weight") or 0) for each in (was[name], is_now[name])]
        if not (is_told or added or removed) and not math.isclose(*weights, abs_tol=1e-9):
            yield f"{name} has weight {weights[1]:g} instead of {weights[0]:g}"
    limits = (now.get("passing_threshold"), before.get("passing_threshold"))
    if limits[0] != limits[1]:
        yield f"passing_threshold is {_said(limits[0])} instead of {_said(limits[1])}"


def _counts(planned: Described) -> bool:
    """Whether a scorer has a part in the verdict of a case."""
    return bool(planned.get("weight") or planned.get("critical"))


def _said(value: object) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _listed(names: Collection[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
