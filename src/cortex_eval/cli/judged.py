"""What `cortex judges` finds and shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from cortex_eval.analysis import (
    Calibration,
    Drawn,
    Figure,
    Item,
    Labels,
    Scored,
    Tuned,
    Words,
    calibrate,
    compare_words,
    read_labels,
    scored_items,
)
from cortex_eval.cli.options import counted, cut, table
from cortex_eval.core import InputError
from cortex_eval.scoring import judge_names, prompt_facts
from cortex_eval.stats import Corrected
from cortex_eval.storage import Store


class Shown(NamedTuple):
    """One answer for machines and for people."""

    facts: dict[str, Any]  # Any: JSON
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What is compared, as the options of the command say it."""

    labels: Path
    scorer: str | None = None
    scores: Path | None = None
    threshold: float | None = None
    positive: tuple[str, ...] = ()
    label_range: tuple[float, float] = (0.0, 1.0)
    score_range: tuple[float, float] = (0.0, 1.0)
    label_column: str = ""
    score_column: str = ""
    drawn: Drawn = "unknown"
    tuned: Tuned = "unknown"

    def read_labels(self) -> Labels:
        """What people said."""
        return read_labels(self.labels, positive=self.positive, span=self.label_range, value=self.label_column)


def compare_run(store: Store, run_id: str, asked: Comparison) -> Shown:
    """A scorer of a stored run against people."""
    if asked.scores is not None:
        raise InputError("--scores: the scores are those of the RUN, or of a file; leave one of the two out.")
    if not asked.scorer:
        raise InputError("--scorer: say which scorer of the run is compared.")
    run = store.runs.find(run_id)
    scored = scored_items(store.results.read(run.id, with_cases=False), asked.scorer)
    found = _calibrate(scored, asked.read_labels(), asked)
    about = {"run": run.id, "suite": run.suite, "scorer": asked.scorer, "labels_file": str(asked.labels)}
    return Shown({**about, **found.to_dict()}, calibration_text(f"{asked.scorer} of run {run.id}", found))


def compare_file(asked: Comparison) -> Shown:
    """A file of scores against people; words are compared with words."""
    if asked.scores is None:
        raise InputError("Name a RUN and its --scorer, or a file with --scores.")
    labels = asked.read_labels()
    scores = read_labels(asked.scores, positive=asked.positive, span=asked.score_range, value=asked.score_column)
    about = {"scores_file": str(asked.scores), "labels_file": str(asked.labels)}
    if not labels.is_numeric or not scores.is_numeric:
        said = {item: _word(by_rater) for item, by_rater in scores.ratings.items()}
        words = compare_words(said, labels)
        return Shown({**about, **_word_facts(words)}, words_text(asked.scores.name, words))
    scored = [Scored(item, _only(item, by_rater)) for item, by_rater in scores.ratings.items()]
    found = _calibrate(scored, labels, asked)
    return Shown({**about, **found.to_dict()}, calibration_text(asked.scores.name, found))


def _calibrate(scored: Sequence[Scored], labels: Labels, asked: Comparison) -> Calibration:
    return calibrate(scored, labels, threshold=asked.threshold, drawn=asked.drawn, tuned=asked.tuned)


def _only(item: Item, by_rater: Any) -> float:
    values = list(by_rater.values())
    if len(values) != 1:
        raise InputError(f"--scores: {item.id!r} has {len(values)} scores; a judge gives one.")
    return float(values[0])


def _word(by_rater: Any) -> str:
    value = next(iter(by_rater.values()))
    return value if isinstance(value, str) else f"{value:g}"


def calibration_text(name: str, found: Calibration) -> str:
    """A comparison as people read it."""
    disputed = f", {found.disputed} disputed" if found.disputed else ""
    raters = f" of {found.raters} raters" if found.raters > 1 else ""
    lines = [f"{name} against {counted(found.labelled, 'label')}{raters}{disputed}", ""]
    rows = [*_agreement_rows(found), *_bias_rows(found)]
    lines += [table(rows, header=["", "value", "95 % interval", ""], right=(1,)), ""]
    means = [
        _row("by the scorer", found.by_judge, _items(found.by_judge)),
        _row("by people", found.by_people, _items(found.by_people)),
        *_corrected_rows(found),
    ]
    lines += [table(means, header=["score", "mean", "95 % interval", ""], right=(1,)), ""]
    signs = {"met": "yes", "stated": "you say so", "unknown": "not known", "not_met": "NO"}
    lines += [f"  {each.name}: {signs[each.state]}. {each.note}" for each in found.conditions]
    lines += [f"  {each}" for each in found.notes]
    return "\n".join([*lines, "", _verdict(found)])


def _agreement_rows(found: Calibration) -> list[list[str]]:
    rows = []
    if found.raters > 1:
        alpha = Figure(value=found.people_agree)
        rows.append(_row("people among themselves", alpha, "Krippendorff's alpha, interval"))
    kappa = found.kappa
    shown = Figure(value=None) if kappa is None else Figure(value=kappa.value, low=kappa.low, high=kappa.high)
    rows.append(_row("kappa", shown, "Cohen's; 0: as by chance"))
    rows.append(_row("AC1", Figure(value=found.ac1), "Gwet's; holds when nearly all items are of one kind"))
    notes = {"precision": "of what it passes, people pass", "recall": "of what people pass, it passes"}
    rows += [
        _row("F1" if each == "f1" else each, figure, notes.get(each, "")) for each, figure in found.figures.items()
    ]
    rows += [_row(each, Figure(value=value), "correlation") for each, value in found.correlation.items()]
    return rows


def _bias_rows(found: Calibration) -> list[list[str]]:
    rows = []
    if found.bias is not None and found.bias.value is not None:
        value = found.bias.value
        row = _row("bias", found.bias, "too kind" if value > 0 else "too strict" if value < 0 else "")
        rows.append([row[0], f"{value:+.3f}", *row[2:]])
    if found.best is not None:
        note = f"kappa {found.best['kappa']:.3f}, chosen on these labels: check it on others"
        rows.append(_row("best threshold", Figure(value=found.best["threshold"]), note))
    return rows


def _corrected_rows(found: Calibration) -> list[list[str]]:
    if found.corrected is None:
        return [["corrected", "–", "", "see below"]]
    rows = [_row("corrected", _interval(found.corrected), "by prediction-powered inference")]
    if found.tuned is not None and found.tuned.unlabelled:
        note = f"the same, the scorer weighing {found.tuned.weight:.2f} (PPI++)"
        rows.append(_row("corrected, weighed", _interval(found.tuned), note))
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


def _row(name: str, figure: Figure | None, note: str) -> list[str]:
    if figure is None or figure.value is None:
        return [name, "–", "", note]
    interval = "" if figure.low is None else f"[{figure.low:.3f}, {figure.high:.3f}]"
    return [name, f"{figure.value:.3f}", interval, note]


def _word_facts(found: Words) -> dict[str, Any]:  # Any: JSON
    plain = found._asdict()
    interval = found.accuracy_interval
    return {**plain, "kappa": found.kappa and found.kappa._asdict(), "accuracy_interval": interval and list(interval)}


def words_text(name: str, found: Words) -> str:
    """A comparison of kinds as people read it."""
    low, high = found.accuracy_interval or (None, None)
    kappa = found.kappa
    shown = Figure(value=None) if kappa is None else Figure(value=kappa.value, low=kappa.low, high=kappa.high)
    rows = [
        _row("accuracy", Figure(value=found.accuracy, low=low, high=high), ""),
        _row("kappa", shown, "Cohen's; 0: as by chance"),
    ]
    kinds = [cut(each, 24) for each in found.kinds]
    cells = [[kind, *map(str, line)] for kind, line in zip(kinds, found.table, strict=True)]
    return "\n".join(
        [
            f"{name} against {counted(found.n, 'label')}; {found.not_found} have no score, or no majority",
            "",
            table(rows, header=["", "value", "95 % interval", ""], right=(1,)),
            "",
            table(cells, header=["scored ↓ people →", *kinds], right=tuple(range(1, len(kinds) + 1))),
        ]
    )


def judge_facts(config: Path | None) -> dict[str, Any]:  # Any: JSON
    """Judges, prompts, and the models of the project in this folder, if there is one."""
    from cortex_eval.config import DEFAULT_FILES, load_project

    models: dict[str, str] = {}
    if config is not None or any(Path(name).is_file() for name in DEFAULT_FILES):
        project = load_project(config, keep_problems=True)
        models = {name: entry.model for name, entry in project.model.models.items()}
    return {"judges": judge_names(), "prompts": [each._asdict() for each in prompt_facts()], "models": models}


def judges_text(facts: dict[str, Any]) -> str:  # Any: JSON
    """The same as people read it."""
    prompts = [
        [each["name"], each["judge"], each["version"], each["hash"], str(each["cases"])] for each in facts["prompts"]
    ]
    models = [[name, model] for name, model in facts["models"].items()]
    shown = (
        table(models, header=["model", "stands for"])
        if models
        else "No models: name one under models: in the project file."
    )
    header = ["prompt", "asked by", "version", "hash", "cases"]
    return f"Judges: {', '.join(facts['judges'])}\n\n{table(prompts, header=header, right=(4,))}\n\n{shown}"
