"""What `cortex judges` finds and shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
from cortex_eval.cli.judged_text import BY_CHANCE, HEADER, calibration_text, figure_row
from cortex_eval.cli.options import counted, cut, table
from cortex_eval.core import InputError
from cortex_eval.scoring import judge_names, prompt_facts
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
    label_column: tuple[str, ...] = ()
    score_column: str = ""
    drawn: Drawn = "unknown"
    tuned: Tuned = "unknown"

    def read_labels(self) -> Labels:
        """What people said."""
        return read_labels(self.labels, positive=self.positive, span=self.label_range, columns=self.label_column)


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
    columns = (asked.score_column,) if asked.score_column else ()
    scale = "the scores are: --score-range"
    scores = read_labels(asked.scores, positive=asked.positive, span=asked.score_range, columns=columns, scale=scale)
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


def _word_facts(found: Words) -> dict[str, Any]:  # Any: JSON
    plain = found._asdict()
    interval = found.accuracy_interval
    return {**plain, "kappa": found.kappa and found.kappa._asdict(), "accuracy_interval": interval and list(interval)}


def words_text(name: str, found: Words) -> str:
    """A comparison of kinds as people read it."""
    low, high = found.accuracy_interval or (None, None)
    kappa, total = found.kappa, found.n + found.not_found
    shown = Figure(value=None) if kappa is None else Figure(value=kappa.value, low=kappa.low, high=kappa.high)
    rows = [
        figure_row("accuracy", Figure(value=found.accuracy, low=low, high=high, n=found.n), total),
        figure_row("kappa", replace(shown, n=found.n), total, BY_CHANCE),
    ]
    kinds = [cut(each, 24) for each in found.kinds]
    cells = [[kind, *map(str, line)] for kind, line in zip(kinds, found.table, strict=True)]
    left = {"without a score": found.not_found - found.disputed, "on which people disagree": found.disputed}
    out = ", ".join(f"{count} {why}" for why, count in left.items() if count)
    return "\n".join(
        [
            f"{name} against {counted(found.n, 'label')}" + (f"; left out: {out}" if out else ""),
            "",
            table(rows, header=HEADER, right=(1, 3)),
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
