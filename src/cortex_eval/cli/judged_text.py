"""A scorer against people, as `cortex judges calibrate` prints it."""

from __future__ import annotations

from cortex_eval.analysis import Agreement, AmongPeople, Calibration, Figure
from cortex_eval.cli.options import counted, cut, table
from cortex_eval.stats import Corrected

WIDTH = 80
LONGEST_NAME = 18
MOST_PAIRS = 16
HEADER = ["", "value", "95 % interval", "items", ""]
BY_CHANCE = "Cohen's; 0: as by chance"
NOTES = {
    "precision": "of what it passes, people pass",
    "recall": "of what people pass, it passes",
    "specificity": "of what people fail, it fails",
}


def calibration_text(name: str, found: Calibration) -> str:
    """A comparison as people read it, at most 80 columns wide where names allow."""
    halfway = "disputed" if found.raters > 1 else "halfway"
    disputed = f", {found.disputed} {halfway}" if found.disputed else ""
    raters = f" of {found.raters} raters" if found.raters > 1 else ""
    lines = [f"{name} against {counted(found.labelled, 'label')}{raters}{disputed}", ""]
    rows = [*_agreement_rows(found), *_bias_rows(found)]
    lines += [table(rows, header=HEADER, right=(1, 3)), ""]
    if found.among is not None:
        lines += [*_among_lines(found.among, found.labelled), ""]
    means = [
        _mean_row("by the scorer", found.by_judge, _items(found.by_judge)),
        _mean_row("by people", found.by_people, _items(found.by_people)),
        *_corrected_rows(found),
    ]
    lines += [table(means, header=["score", "mean", "95 % interval", ""], right=(1,)), ""]
    signs = {"met": "yes", "stated": "you say so", "unknown": "not known", "not_met": "NO"}
    told = [f"{each.name}: {signs[each.state]}. {each.note}" for each in found.conditions]
    if found.best is not None:
        told.append("The best threshold was chosen on these labels: check it on others.")
    lines += [_wrapped(each, indent=2) for each in (*told, *found.notes)]
    last = [_wrapped(_as_a_person(found.among))] if found.among is not None else []
    return "\n".join([*lines, "", *last, _wrapped(_verdict(found))])


def figure_row(name: str, figure: Figure, total: int, note: str = "") -> list[str]:
    """One figure, with the items that it rests on and all there are."""
    return [*_mean_row(name, figure, "")[:3], f"{figure.n}/{total}", note]


def _agreement_rows(found: Calibration) -> list[list[str]]:
    total, clear = found.labelled, found.labelled - found.disputed
    rows = []
    if found.raters > 1:
        alpha = Figure(value=found.people_agree, n=found.rated_twice)
        rows.append(figure_row("among people", alpha, total, "Krippendorff's alpha"))
    kappa = found.kappa
    if kappa is None:
        rows.append(figure_row("kappa", Figure(value=None, n=clear), total, "undefined: all say the same"))
    else:
        rows.append(
            figure_row("kappa", Figure(value=kappa.value, low=kappa.low, high=kappa.high, n=clear), total, BY_CHANCE)
        )
    rows.append(figure_row("AC1", Figure(value=found.ac1, n=clear), total, "Gwet's; for lopsided labels"))
    rows += [
        figure_row("F1" if each == "f1" else each, figure, total, NOTES.get(each, ""))
        for each, figure in found.figures.items()
    ]
    rows += [
        figure_row(each, Figure(value=value, n=total), total, "correlation")
        for each, value in found.correlation.items()
    ]
    return rows


def _bias_rows(found: Calibration) -> list[list[str]]:
    rows = []
    if found.bias is not None and found.bias.value is not None:
        row = figure_row("bias", found.bias, found.labelled, _kindness(found.bias))
        rows.append([row[0], f"{found.bias.value:+.3f}", *row[2:]])
    if found.best is not None:
        best = Figure(value=found.best["threshold"], n=found.labelled - found.disputed)
        rows.append(figure_row("best threshold", best, found.labelled, f"kappa {found.best['kappa']:.3f}"))
    return rows


def _kindness(bias: Figure) -> str:
    """What a bias means; nothing, when its interval holds 0."""
    if bias.low is None or bias.high is None:
        return "too few items to tell"
    if bias.low <= 0 <= bias.high:
        return "no bias can be seen"
    return "too kind" if bias.low > 0 else "too strict"


def _among_lines(among: AmongPeople, total: int) -> list[str]:
    together = "majority" if among.measure == "kappa" else "mean"
    rows = []
    for each in among.pairs[:MOST_PAIRS]:
        row = figure_row(_who(each, together), each.agreement, total)
        rows.append([*row[:4], str(each.same)])
    lines = [table(rows, header=["who with whom", among.measure, "95 % interval", "items", "same"], right=(1, 3, 4))]
    if len(among.pairs) > MOST_PAIRS:
        lines.append(f"{len(among.pairs) - MOST_PAIRS} more pairs: --json")
    return lines


def _who(pair: Agreement, together: str) -> str:
    first, second = (cut(each, LONGEST_NAME) for each in (pair.first or "judge", pair.second or together))
    return f"{first} – {second}"


def _as_a_person(among: AmongPeople) -> str:
    """Whether the judge is as good as a person, in one sentence."""
    found = among.difference
    if found is None or found.value is None or among.with_people is None or among.between_people is None:
        return "Whether the judge is as good as a person cannot be said: too few items were rated by two people."
    interval = "" if found.low is None else f" [{found.low:+.2f}, {found.high:+.2f}]"
    shown = (
        f"it agrees with one of them {among.with_people:.2f}, they with each other {among.between_people:.2f} "
        f"({among.measure}; difference {found.value:+.2f}{interval}, {counted(found.n, 'item')})."
    )
    opening = {
        "better": "The judge agrees with people more than they do among themselves",
        "as_good": "The judge is as good as a person",
        "worse": "The judge is not as good as a person",
        "unknown": f"Whether the judge is as good as a person cannot be said from {counted(found.n, 'item')}",
    }
    return f"{opening[among.verdict]}: {shown}"


def _corrected_rows(found: Calibration) -> list[list[str]]:
    if found.corrected is None:
        return [["corrected", "–", "", "see below"]]
    rows = [_mean_row("corrected", _interval(found.corrected), "by prediction-powered inference")]
    if found.tuned is not None and found.tuned.unlabelled:
        note = f"the scorer weighs {found.tuned.weight:.2f} (PPI++)"
        rows.append(_mean_row("corrected, weighed", _interval(found.tuned), note))
    return rows


def _interval(found: Corrected) -> Figure:
    return Figure(value=found.value, low=found.low, high=found.high)


def _verdict(found: Calibration) -> str:
    best = found.tuned or found.corrected
    if best is None:
        failed = [each.note for each in found.conditions if each.state == "not_met"]
        return f"There is no corrected score. {' '.join(failed) or 'There are too few labels, or too few other items.'}"
    shown = f"{best.value:.3f} [{best.low:.3f}, {best.high:.3f}]"
    if found.is_sound:
        return f"Corrected score: {shown}."
    return f"Corrected score: {shown}, if what is not known above is so."


def _items(figure: Figure | None) -> str:
    return "" if figure is None else counted(figure.n, "item")


def _mean_row(name: str, figure: Figure | None, note: str) -> list[str]:
    if figure is None or figure.value is None:
        return [name, "–", "", note]
    interval = "" if figure.low is None else f"[{figure.low:.3f}, {figure.high:.3f}]"
    return [name, f"{figure.value:.3f}", interval, note]


def _wrapped(text: str, *, indent: int = 0) -> str:
    from textwrap import fill

    before = " " * indent
    return fill(text, WIDTH, initial_indent=before, subsequent_indent=f"{before}  " if indent else "")
