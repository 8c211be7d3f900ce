"""A judge, or any scorer, against people: agreement, bias, the threshold that fits, and the score corrected by them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

from cortex_eval.analysis.judge_quality_figures import Figure, clusters_of, mean_of, shares_of
from cortex_eval.analysis.judge_quality_people import MOST_PEOPLE, AmongPeople, Rated, among_people
from cortex_eval.analysis.labels import Item, Labels
from cortex_eval.core import InputError, Result, did_you_mean
from cortex_eval.stats import (
    Confusion,
    Corrected,
    Kappa,
    best_threshold,
    cohen_kappa,
    confusion_of,
    gwet_ac1,
    krippendorff_alpha,
    pearson,
    ppi_mean,
    ppi_mean_of_drawn,
    spearman,
)

Drawn = Literal["random", "chosen", "unknown"]
Tuned = Literal["no", "yes", "unknown"]
State = Literal["met", "stated", "unknown", "not_met"]
FEW = 30
"""Labels below which a normal interval is not to be trusted."""
NAMELESS = "(no name)"
HARDLY_CHANCE = 2.576
"""Standard errors: the normal quantile at 0.995."""


class Scored(NamedTuple):
    """One item of a run, as a scorer sees it."""

    item: Item
    value: float | None
    """None: not applicable, or in error."""
    passed: bool | None = None
    cluster: Hashable = None
    """Items that share it are not independent; None: it stands alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """Something without which the corrected score would mean nothing."""

    name: str
    state: State
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How a scorer compares with people."""

    items: int
    """Scored by the scorer."""
    labelled: int
    """Of these, with a label."""
    not_found: int
    """Labels of items that the run does not have, or that the scorer did not score."""
    disputed: int
    """Items that people neither pass nor fail, their mean being 0.5: they are in no yes-or-no figure."""
    raters: int
    people_agree: float | None
    """Krippendorff's alpha of the raters; None with one rater, or when it is undefined."""
    rated_twice: int
    """Items that it rests on: those that two people rated, or more."""
    among: AmongPeople | None
    """The judge with each person, and people with each other; None with one rater, or with a crowd."""
    threshold: float | None
    """At or above which the scorer passes an item; None: as the run decided."""
    kappa: Kappa | None
    ac1: float | None
    confusion: Confusion | None
    figures: Mapping[str, Figure]
    """accuracy, precision, recall, specificity, f1."""
    bias: Figure | None
    correlation: Mapping[str, float | None]
    """pearson and spearman, when people gave more than two different values."""
    best: Mapping[str, float] | None
    """threshold and kappa, chosen on these labels."""
    by_judge: Figure | None
    by_people: Figure | None
    corrected: Corrected | None
    tuned: Corrected | None
    """The same with the weight of the judge that makes the interval narrowest."""
    conditions: Sequence[Condition]
    notes: Sequence[str]

    @property
    def is_sound(self) -> bool:
        """Whether the corrected score may be relied on."""
        return self.corrected is not None and all(each.state in ("met", "stated") for each in self.conditions)

    def to_dict(self) -> dict[str, Any]:  # Any: JSON
        """Everything, for machines."""
        plain = asdict(self)
        for name in ("kappa", "confusion", "corrected", "tuned"):
            found = getattr(self, name)
            plain[name] = None if found is None else found._asdict()
        if self.among is not None:
            plain["among"]["verdict"] = self.among.verdict
        return {**plain, "is_sound": self.is_sound}


class _Pair(NamedTuple):
    scored: Scored
    judged: float
    people: float


def scored_items(results: Iterable[Result], scorer: str) -> list[Scored]:
    """What a scorer of a run said, item by item; `InputError` when the run has no such scorer."""
    found: list[Scored] = []
    known: set[str] = set()
    count = 0
    for result in results:
        count += 1
        scores = result.scores
        known |= scores.keys()
        score = scores.get(scorer)
        if score is None:
            continue
        cluster = result.cluster_id or result.case_id
        item = Item(result.case_id, result.turn, result.repeat)
        found.append(Scored(item, score.get("value"), score.get("passed"), cluster))
    if not found and count:
        raise InputError(f"--scorer: the run has no {scorer!r}. {did_you_mean(scorer, known)}")
    return found


def calibrate(
    scored: Sequence[Scored],
    labels: Labels,
    *,
    threshold: float | None = None,
    drawn: Drawn = "unknown",
    tuned: Tuned = "unknown",
) -> Calibration:
    """Compare what a scorer said with what people said of some of the same items."""
    if not labels.is_numeric:
        raise InputError(
            "The labels are words. Say which of them mean pass with --positive, or compare words with words (--scores)."
        )
    sound = [each for each in scored if each.value is not None]
    ratings = _find_labels(sound, labels)
    pairs = [
        _Pair(each, float(each.value or 0.0), _mean(list(ratings[each.item].values())))
        for each in sound
        if each.item in ratings
    ]
    if not pairs:
        raise InputError("No label belongs to an item that was scored. Do the ids of both files agree?")
    clear = [each for each in pairs if each.people != 0.5]
    judged = [_passes(each.scored, each.judged, threshold) for each in clear]
    people = [each.people > 0.5 for each in clear]
    confusion = confusion_of(judged, people) if clear else None
    rest = [each for each in sound if each.item not in ratings]
    conditions = _conditions(pairs, rest, labels, len(ratings), drawn=drawn, tuned=tuned)
    may_correct = all(each.state != "not_met" for each in conditions)
    by_hand = [list(by_rater.values()) for by_rater in ratings.values()]
    fit = best_threshold([each.judged for each in clear], people)
    return Calibration(
        items=len(sound),
        labelled=len(pairs),
        not_found=len(labels.ratings) - len(ratings),
        disputed=len(pairs) - len(clear),
        raters=len(labels.raters),
        people_agree=krippendorff_alpha(by_hand, "interval") if len(labels.raters) > 1 else None,
        rated_twice=sum(len(each) > 1 for each in by_hand),
        among=_among(pairs, ratings, threshold),
        threshold=threshold,
        kappa=cohen_kappa(confusion.table) if confusion else None,
        ac1=gwet_ac1(_counts(judged, people)) if clear else None,
        confusion=confusion,
        figures=shares_of(confusion) if confusion else {},
        bias=mean_of([each.judged - each.people for each in pairs], [each.scored.cluster for each in pairs], False),
        correlation=_correlation(pairs),
        best={"threshold": fit.threshold, "kappa": fit.kappa} if fit else None,
        by_judge=mean_of([float(each.value or 0.0) for each in sound], [each.cluster for each in sound]),
        by_people=mean_of([each.people for each in pairs], [each.scored.cluster for each in pairs]),
        corrected=_corrected(pairs, rest, labels, weight=1.0) if may_correct else None,
        tuned=_corrected(pairs, rest, labels, weight=None) if may_correct and not labels.probabilities else None,
        conditions=conditions,
        notes=_notes(pairs, scored, sound, clear=len(clear), labels=labels),
    )


def _among(
    pairs: Sequence[_Pair], ratings: Mapping[Item, Mapping[str, float]], threshold: float | None
) -> AmongPeople | None:
    rated = [
        Rated(
            each.judged,
            _passes(each.scored, each.judged, threshold),
            each.people,
            {name or NAMELESS: value for name, value in ratings[each.scored.item].items()},
            each.scored.cluster,
        )
        for each in pairs
    ]
    return among_people(rated, sorted({name for each in rated for name in each.by_person}))


def _find_labels(sound: Sequence[Scored], labels: Labels) -> dict[Item, Mapping[str, float]]:
    """The labels by the items that they speak of; `InputError` when one could mean several."""
    by_id: dict[str, list[Item]] = {}
    for each in sound:
        by_id.setdefault(each.item.id, []).append(each.item)
    found: dict[Item, Mapping[str, float]] = {}
    for label, by_rater in labels.ratings.items():
        fitting = [
            item
            for item in by_id.get(label.id, ())
            if label.turn in (None, item.turn) and label.repeat in (None, item.repeat)
        ]
        if len(fitting) > 1:
            raise InputError(
                f"The label of {label.id!r} could mean {len(fitting)} turns or repeats. "
                "Add a column turn or repeat (from 0)."
            )
        for item in fitting:
            if item in found:
                raise InputError(
                    f"{item.id!r} is labelled with its turn or repeat and without. Write all its labels in one way."
                )
            found[item] = {rater: float(value) for rater, value in by_rater.items()}
    return found


def _probability(item: Item, labels: Labels) -> float:
    known = labels.probabilities
    for each in (item, Item(item.id, item.turn), Item(item.id, None, item.repeat), Item(item.id)):
        if each in known:
            return known[each]
    return 1.0  # it has no label: its probability does not enter


def _passes(scored: Scored, value: float, threshold: float | None) -> bool:
    if threshold is None and scored.passed is not None:
        return scored.passed
    return value >= (0.5 if threshold is None else threshold)


def _corrected(
    pairs: Sequence[_Pair], rest: Sequence[Scored], labels: Labels, *, weight: float | None
) -> Corrected | None:
    clusters = [each.scored.cluster for each in pairs]
    others = [each.cluster for each in rest]
    if not rest:  # nothing is left to infer
        own = mean_of([each.people for each in pairs], clusters)
        bias = _mean([each.judged - each.people for each in pairs])
        assert own.value is not None
        if own.low is None or own.high is None:
            return None
        return Corrected(own.value, own.low, own.high, bias, 0.0, len(pairs), 0)
    if labels.probabilities:
        items = [*((each.scored.item, each.judged, each.people) for each in pairs)]
        everything = [*items, *((each.item, float(each.value or 0.0), None) for each in rest)]
        return ppi_mean_of_drawn(
            [each[1] for each in everything],
            [each[2] for each in everything],
            [_probability(each[0], labels) for each in everything],
            clusters=clusters_of([*clusters, *others]),
        )
    return ppi_mean(
        [each.people for each in pairs],
        [each.judged for each in pairs],
        [float(each.value or 0.0) for each in rest],
        weight=weight,
        clusters=clusters_of(clusters),
        unlabelled_clusters=clusters_of(others),
    )


def _conditions(
    pairs: Sequence[_Pair], rest: Sequence[Scored], labels: Labels, found: int, *, drawn: Drawn, tuned: Tuned
) -> list[Condition]:
    lost = len(labels.ratings) - found
    state: State
    where = (
        "Every label is of an item of this run." if not lost else f"{lost} labels are of no scored item of this run."
    )
    conditions = [Condition(name="from this run", state="met" if not lost else "unknown", note=where)]
    if labels.probabilities:
        state, note = "stated", "The file says with which probability each item was drawn."
    elif not rest:
        state, note = "met", "Every item has a label: people's own mean is the answer."
    else:
        states: dict[Drawn, tuple[State, str]] = {
            "random": ("stated", "You say that the items were drawn at random."),
            "chosen": ("not_met", "The items were chosen, not drawn: the labels do not speak for the others."),
            "unknown": ("unknown", "Were the items drawn at random from this run? Then say --drawn random."),
        }
        state, note = states[drawn]
        if drawn != "chosen" and (doubt := _doubt(pairs, rest)):
            state, note = "unknown", f"{note} {doubt}"
    conditions.append(Condition(name="drawn by chance", state=state, note=note))
    used: dict[Tuned, tuple[State, str]] = {
        "no": ("stated", "You say that these labels were not used to tune the judge."),
        "yes": ("not_met", "These labels were used to tune the judge: they make it look better than it is."),
        "unknown": (
            "unknown",
            "Were these labels used to choose the prompt, the model or a threshold? If not: --tuned no.",
        ),
    }
    if not rest:
        used |= dict.fromkeys(used, ("met", "No matter: nothing is inferred from the judge."))
    conditions.append(Condition(name="not used to tune", state=used[tuned][0], note=used[tuned][1]))
    return conditions


def _doubt(pairs: Sequence[_Pair], rest: Sequence[Scored]) -> str:
    """Whether the scorer's own scores tell the labelled items from the others."""
    first, second = [each.judged for each in pairs], [float(each.value or 0.0) for each in rest]
    if len(first) < 2 or len(second) < 2:
        return ""
    means = _mean(first), _mean(second)
    error = math.sqrt(_variance(first) / len(first) + _variance(second) / len(second))
    if abs(means[0] - means[1]) <= HARDLY_CHANCE * error:
        return ""
    return f"But labelled items score {means[0]:.2f} on average and the others {means[1]:.2f}, which is hardly chance."


def _notes(
    pairs: Sequence[_Pair], scored: Sequence[Scored], sound: Sequence[Scored], *, clear: int, labels: Labels
) -> list[str]:
    notes = []
    if clear < len(pairs):
        why = "as many people say pass as fail" if len(labels.raters) > 1 else "the label is halfway"
        notes.append(
            f"Left out of the yes-or-no figures (kappa to F1, best threshold): {len(pairs) - clear} of {len(pairs)} "
            f"items, because {why}. The bias, the correlations and the means have them."
        )
    if len(pairs) < FEW:
        notes.append(f"{len(pairs)} labels are few: below {FEW} the intervals are narrower than they should be.")
    if len(sound) < len(scored):
        notes.append(
            f"{len(scored) - len(sound)} items have no score (not applicable, or in error) and are left aside."
        )
    if len(labels.raters) > MOST_PEOPLE:
        notes.append(f"{len(labels.raters)} raters are a crowd: beyond {MOST_PEOPLE}, no two are compared.")
    if labels.unread:
        notes.append(f"Not read as labels: {', '.join(labels.unread)}. If they are: --label-column, once for each.")
    return notes


def _correlation(pairs: Sequence[_Pair]) -> dict[str, float | None]:
    judged, people = [each.judged for each in pairs], [each.people for each in pairs]
    if len(set(people)) <= 2:
        return {}
    return {"pearson": pearson(judged, people), "spearman": spearman(judged, people)}


def _counts(judged: Sequence[bool], people: Sequence[bool]) -> list[list[int]]:
    return [[one + other, 2 - one - other] for one, other in zip(judged, people, strict=True)]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _variance(values: Sequence[float]) -> float:
    mean = _mean(values)
    return math.fsum((each - mean) ** 2 for each in values) / (len(values) - 1)
