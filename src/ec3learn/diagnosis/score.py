"""How often an answer is right by labels that the method did not see: hidden or other ones.

scikit-learn is imported where it is used: it takes longer than a small answer.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np
from scipy import sparse

from .._checks import InputError
from .._text import count, percent
from .._typing import Array
from ..algebra.membership import entries
from ..answer.solution import Solution, Solved, solution_of
from ..votes.labels import plain
from .labels import HARD, Labels, given_labels, measuring, read_labels, taught_labels
from .metrics import (
    LEAST_LABELS,
    are_counts,
    given_weights,
    is_majority,
    majority,
    object_weights,
    wilson_interval,
)

if TYPE_CHECKING:
    from ..methods import Method


@dataclass(frozen=True)
class Quality:
    """How good one answer is."""

    accuracy: float
    confidence: float  # the mean probability of the labels
    log_loss: float  # of the probabilities, none below 1e-12
    f_score: float  # averaged over classes
    auc: float | None  # of each class against all others, averaged; None where only one occurs
    calibration: list[tuple[float, float, float]]  # by bin: confidence, share right, objects
    calibration_error: float  # the mean gap between confidence and the share that is right


@dataclass(frozen=True, eq=False, repr=False)
class Score:
    """How good an answer is by labels that the method did not see, beside the majority vote."""

    cross_validated: bool  # by known labels that were hidden in turn, not by others
    n_labels: float  # how many objects, by their weights
    consensus: Quality
    majority: Quality | None  # None where the method is the majority vote
    wins: tuple[int, int]  # objects on which only the answer, or only the majority vote, is right
    confusion: Array  # classes x classes: objects by their true class and by the answer

    @property
    def accuracy(self) -> float:
        """The share of objects with the right label."""
        return self.consensus.accuracy

    @property
    def by_majority(self) -> float | None:
        """The share that the majority vote has right."""
        return None if self.majority is None else self.majority.accuracy

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the accuracy (Wilson's)."""
        return wilson_interval(self.accuracy * self.n_labels, self.n_labels)

    @property
    def p_value(self) -> float:
        """How likely equally good answers are to differ this much (McNemar's exact test)."""
        from scipy.stats import binomtest  # it takes longer to load than a small answer

        return float(binomtest(self.wins[0], sum(self.wins)).pvalue) if any(self.wins) else 1.0

    @property
    def inconclusive(self) -> bool:
        """Whether it differs from the majority vote, but no more than by chance."""
        return self.wins[0] != self.wins[1] and self.p_value > 0.05

    @property
    def overconfident(self) -> bool:
        """Whether the mean confidence is clearly above the share that is right."""
        return self.consensus.confidence > self.interval[1] + 0.05

    @property
    def basis(self) -> str:
        """By how many labels it was found, in words."""
        if self.cross_validated:
            return f"Cross-validated on {count(round(self.n_labels), 'known label')}"
        return f"Judged by {count(round(self.n_labels), 'true label')}"

    def __repr__(self) -> str:
        low, high = self.interval
        interval = f"95 % interval {percent(low)} to {percent(high)}"
        text = f"{self.basis}: {percent(self.accuracy)} correct ({interval})"
        if self.by_majority is None:
            return text
        unsure = " (inconclusive)" if self.inconclusive else ""
        return f"{text}, {percent(self.by_majority)} by majority vote{unsure}"

    def as_dict(self) -> dict[str, Any]:
        """The same for machines."""
        return {
            "labels": self.n_labels,
            "consensus": self.accuracy,
            "interval": list(self.interval),
            "confidence": self.consensus.confidence,
            "log_loss": self.consensus.log_loss,
            "majority": self.by_majority,
            "p_value": None if self.majority is None else self.p_value,
        }


def judge(consensus: Solved, truth: Any) -> Score | None:
    """Judge an answer by true labels; objects whose labels the method was given are left out.

    Parameters
    ----------
    consensus : Consensus
        The answer.
    truth : array with missing values, dict of object -> label, or pair (objects, labels)
        The true labels; a table that `ask` made says how their objects were found.

    Returns
    -------
    Score or None
        None where the method was given all of these labels, or they were chosen for being hard.
    """
    solution = solution_of(consensus)
    labels = read_labels(solution, truth, "truth").only(~given_labels(solution))
    return score_of(solution, labels, solution.proba, solution.expand(solution.row_classes))


def not_judged(consensus: Solved, truth: Any) -> InputError:
    """The error that true labels do not show how good an answer is."""
    solution = solution_of(consensus)
    if read_labels(solution, truth, "truth").only(~given_labels(solution)).n:
        return InputError("truth", phrase=HARD)
    return InputError("truth", "must hold a label that the method was not given", came="none")


def cross_validate(consensus: Solved, method: Method) -> Score | None:
    """Hide a fifth of the known labels at a time, solve again, and count which come out right.

    None says that there are fewer than 20 known labels that were drawn at random.

    Examples
    --------
    >>> from ec3learn import EC3, Votes
    >>> votes = Votes.from_labels({"a": [0, 1] * 20, "b": [0, 1] * 20, "c": [1] * 40})
    >>> known = [0, 1] * 10 + [None] * 20
    >>> score = cross_validate(EC3().solve(votes, known=known), EC3())
    >>> str(score).split(", ")[0]
    'Cross-validated on 20 known labels: 100.0 % correct (95 % interval 83.9 % to 100.0 %)'
    """
    solution = solution_of(consensus)
    labels = taught_labels(solution)
    drawn = measuring(solution, labels)
    if drawn is None or object_weights(solution) @ (drawn.codes >= 0) < LEAST_LABELS:
        return None
    solution = _one_by_one(solution, np.flatnonzero(labels.codes >= 0))
    fitted = cross_fit(solution, method)
    return score_of(solution, taught_labels(solution), *fitted, cross_validated=True)


def _one_by_one(solution: Solution, labelled: Array) -> Solution:
    """The same with each labelled object as often as its weight says, so that folds can share it.

    A lazy table has each distinct row once; this makes its folds those of the table in memory.
    """
    votes, weights = solution.require_votes("cross-validation"), given_weights(solution)
    if not are_counts(weights) or (weights[labelled] == 1).all():
        return solution
    times, each = np.ones(len(weights), dtype=np.int64), weights.copy()
    times[labelled], each[labelled] = weights[labelled], 1.0
    objects = np.repeat(np.arange(len(weights)), times)
    row_of, chances = solution.expand(np.arange(votes.n_rows))[objects], solution.label_chances
    each, chances = each[objects], None if chances is None else chances[objects]
    votes = replace(
        votes, n_objects=len(objects), index=row_of, sample_weight=each, object_ids=None
    )
    return replace(solution, votes=votes, index=row_of, label_chances=chances, object_ids=None)


def cross_fit(solution: Solution, method: Method) -> tuple[Array, Array]:
    """The class probabilities and classes of objects by answers that did not see their labels."""
    votes, codes = solution.require_votes("cross-validation"), taught_labels(solution).codes
    labels = np.array([*votes.classes, None], dtype=object)  # the last one for a code of -1
    labelled = _shuffled(solution, np.flatnonzero(codes >= 0), codes)
    proba, classes = solution.proba.copy(), solution.expand(solution.row_classes).copy()
    for fold in range(5):
        hidden, shown = labelled[fold::5], codes.copy()
        shown[hidden] = -1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the answer for all objects has given them already
            fitted = method.solve(votes, labels[shown]).solution
        proba[hidden] = fitted.proba[hidden]
        classes[hidden] = fitted.expand(fitted.row_classes)[hidden]
    return proba, classes


def _shuffled(solution: Solution, objects: Array, codes: Array) -> Array:
    """Objects in an order that follows from their classes and votes, whatever order they came in.

    Every fifth of them has each class and each set of votes in its share.
    """
    votes = solution.require_votes("cross-validation")
    said = [f"{model.name}: {plain(label)}" for model in votes.models for label in model.labels]
    mark = np.array([crc32(text.encode()) for text in said]) / 2**32
    class_mark = np.array([crc32(str(plain(label)).encode()) for label in solution.classes])
    row_mark = solution.expand((entries(votes) @ mark).round(6))
    return objects[np.lexsort((row_mark[objects], class_mark[codes[objects]]))]


def score_of(
    solution: Solution,
    labels: Labels,
    proba: Array,
    classes: Array,
    *,
    cross_validated: bool = False,
) -> Score | None:
    """The score of probabilities and classes in which the labels had no part; None without any."""
    drawn, times = measuring(solution, labels), object_weights(solution)
    if drawn is None or not times @ (drawn.codes >= 0):
        return None
    judged = np.flatnonzero(drawn.codes >= 0)
    truth, classes, weight = drawn.codes[judged], classes[judged], times[judged]
    theirs, wins = None, (0, 0)
    vote = None if is_majority(solution) else majority(solution)
    if vote is not None:
        rows = solution.expand(np.arange(len(solution.row_proba)))[judged]
        ours, right = classes == truth, vote.share_of(rows, truth)
        # A vote for a class that the answer does not have is wrong: it counts as one more class.
        padded = np.pad(vote.proba[rows], ((0, 0), (0, 1)))
        theirs = quality(padded, vote.classes[rows], truth, weight, right)
        wins = round(float(weight @ (ours * (1 - right)))), round(float(weight @ (right * ~ours)))
    shape = (len(solution.classes),) * 2
    return Score(
        cross_validated,
        float(weight.sum()),
        quality(proba[judged], classes, truth, weight),
        theirs,
        wins,
        sparse.coo_array((weight, (truth, classes)), shape=shape).toarray(),
    )


def quality(
    proba: Array, labels: Array, truth: Array, weight: Array, right: Array | None = None
) -> Quality:
    """Judge class probabilities and labels by the true classes; objects count by their weight.

    `right` says how far each label is right, where that is not all or nothing.
    """
    from sklearn.metrics import f1_score, roc_auc_score

    right = labels == truth if right is None else right
    rows, classes = np.arange(len(labels)), np.unique(truth[weight > 0])
    areas = [
        roc_auc_score(truth == z, proba[:, z], sample_weight=weight)
        for z in (classes if len(classes) > 1 else [])
    ]
    f_score = f1_score(
        truth, labels, labels=classes, average="macro", sample_weight=weight, zero_division=0.0
    )
    losses = -np.log(np.maximum(proba[rows, truth], 1e-12))
    sure = proba.max(axis=1)
    place = np.minimum((sure * 10 + 1e-9).astype(np.int64), 9)
    sums = [np.bincount(place, weights=weight * values) for values in (sure, right, 1)]
    bins = [(p / n, hits / n, n) for p, hits, n in np.transpose(sums).tolist() if n > 0]
    return Quality(
        accuracy=float(np.average(right, weights=weight)),
        confidence=float(np.average(proba[rows, labels], weights=weight)),
        log_loss=float(np.average(losses, weights=weight)),
        f_score=float(f_score),
        auc=float(np.mean(areas)) if areas else None,
        calibration=bins,
        calibration_error=sum(n * abs(sure - hits) for sure, hits, n in bins) / float(weight.sum()),
    )
