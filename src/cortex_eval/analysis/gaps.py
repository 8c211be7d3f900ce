"""What scorers left unsaid: those that never applied or never answered, with the reason, so that none vanishes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cortex_eval.analysis.report import Metric, Unscored
from cortex_eval.analysis.tally import Series, Tally
from cortex_eval.core import RunRecord, redact

_REASON_SHOWN = 300


def unscored_of(tally: Tally, run: RunRecord) -> dict[str, Unscored]:
    """The scorers that gave no number in the whole run: those that failed, and of the others those that count.

    One that does not count only because `metric_weights` forgot it is among them.
    """
    weights = _weights(run)
    found = {}
    for name, series in tally.series.items():
        if len(series.values) or not (series.errors or name in weights):
            continue
        found[name] = Unscored(
            total=tally.cases if series.is_case_level else tally.places,
            errors=series.errors,
            reason=_cut(series.first_error if series.errors else _usual_reason(series)),
        )
    return found


def gap_notes(
    tally: Tally, run: RunRecord, metrics: Mapping[str, Metric], unscored: Mapping[str, Unscored]
) -> Iterator[str]:
    """A sentence for each scorer that never applied, and for each that failed at least once."""
    weights = _weights(run)
    for name, series in tally.series.items():
        if series.errors:
            total = metrics[name].total if name in metrics else unscored[name].total
            of = _counted(tally, total, "result" if total == tally.turns else "turn")
            yield f"{name} gave no answer on {series.errors:,} of {of}: {_sentence(_cut(series.first_error))}"
        elif name in unscored:
            each = unscored[name]
            note = f"{name} applied to none of the {_counted(tally, each.total, 'turn')}"
            note += f": {_sentence(each.reason)}" if each.reason else "."
            moved = weights[name] > 0 and "overall_score" in metrics
            yield note + (" Its weight went to the others." if moved else "")


def _weights(run: RunRecord) -> dict[str, float]:
    """The weights of the scorers that can change a verdict, or should, as the run was planned."""
    planned = run.manifest.get("scorers")
    if not isinstance(planned, Mapping):
        return {}
    forgotten = run.manifest.get("unweighted", ())
    return {
        name: float(each.get("weight") or 0)
        for name, each in planned.items()
        if isinstance(each, Mapping) and (each.get("weight") or each.get("critical") or name in forgotten)
    }


def _usual_reason(series: Series) -> str:
    return max(series.reasons, key=lambda reason: series.reasons[reason], default="")


def _counted(tally: Tally, total: int, noun: str) -> str:
    noun = "case" if noun == "turn" and total == tally.cases else noun
    return f"{total:,} {noun}" if total == 1 else f"{total:,} {noun}s"


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def _cut(text: str) -> str:
    text = " ".join(redact(text).split())  # before the cut: half a secret is not recognised as one
    return text if len(text) <= _REASON_SHOWN else text[: _REASON_SHOWN - 1] + "…"
