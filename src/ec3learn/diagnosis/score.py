"""How often an answer is right by labels that the method did not see: hidden or other ones.

scikit-learn is imported where it is used: it takes longer than a small answer.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.stats import binomtest

from .._checks import InputError
from .._text import count, percent
from .._typing import Array
from ..answer.solution import Solution, Solved, solution_of
from ..votes import Votes
from .labels import HARD, given_labels, label_weights, read_labels, taught_labels
from .metrics import LEAST_LABELS, is_majority, majority, object_weights, wilson_interval

FOLDS = 5
BINS = 10  # of confidence, in the calibration curve
UNLIKELY = 0.05  # a p-value below which a difference is not put down to chance
TOO_SURE = 0.05  # overconfident: the mean confidence is that far above the interval


class Solver(Protocol):
    """A method that can be asked again."""

    admits_known: bool

    def solve(self, votes: Votes, known: Any = None) -> Solved:
        """Solve votes with some known labels."""
        ...


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


@dataclass(frozen=True)
class Difference:
    """Where two answers differ: how often only the first, and only the second, is right."""

    first: int
    second: int

    @property
    def p_value(self) -> float:
        """How likely equally good answers are to differ this much (McNemar's exact test)."""
        n = self.first + self.second
        return 1.0 if n == 0 else float(binomtest(self.first, n).pvalue)

    @property
    def inconclusive(self) -> bool:
        """Whether they differ, but no more than by chance."""
        return self.first != self.second and self.p_value > UNLIKELY


@dataclass(frozen=True, eq=False, repr=False)
class Score:
    """How good an answer is by labels that the method did not see, beside the majority vote.

    Where objects were drawn with unequal chances, each counts for as many as it stands for.
    """

    cross_validated: bool  # by known labels that were hidden in turn, not by others
    n_labels: float  # how many objects, by their weights
    n_even: float  # how many labels of an even draw they are worth
    consensus: Quality
    majority: Quality | None  # None where the method is the majority vote
    difference: Difference | None
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
        return wilson_interval(self.accuracy * self.n_even, self.n_even)

    @property
    def overconfident(self) -> bool:
        """Whether the mean confidence is clearly above the share that is right."""
        return self.consensus.confidence > self.interval[1] + TOO_SURE

    @property
    def basis(self) -> str:
        """By how many labels it was found, in words."""
        verb, noun = (
            ("Cross-validated on", "known label")
            if self.cross_validated
            else ("Judged by", "true label")
        )
        return f"{verb} {count(round(self.n_labels), noun)}"

    def __repr__(self) -> str:
        low, high = self.interval
        interval = f"95 % interval {percent(low)} to {percent(high)}"
        text = f"{self.basis}: {percent(self.accuracy)} correct ({interval})"
        if self.difference is None or self.by_majority is None:
            return text
        unsure = " (inconclusive)" if self.difference.inconclusive else ""
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
            "p_value": None if self.difference is None else self.difference.p_value,
        }


def judge(outcome: Solved, truth: Any) -> Score | None:
    """Judge an answer by true labels; objects whose labels the method was given are left out.

    Parameters
    ----------
    outcome : Consensus
        The answer.
    truth : array with missing values, dict of object -> label, or pair (objects, labels)
        The true labels; a table that `ask` made says how their objects were drawn.

    Returns
    -------
    Score or None
        None where the method was given all of these labels, or they were chosen for being hard.
    """
    outcome = solution_of(outcome)
    labels = read_labels(outcome, truth, "truth").only(~given_labels(outcome))
    weights = label_weights(outcome, labels)
    if weights is None or not object_weights(outcome) @ weights:
        return None
    proba, classes = outcome.proba, outcome.expand(outcome.row_classes)
    return _score(outcome, labels.codes, weights, proba, classes, cross_validated=False)


def not_judged(outcome: Solved, truth: Any) -> InputError:
    """The error that true labels do not show how good an answer is."""
    outcome = solution_of(outcome)
    if read_labels(outcome, truth, "truth").only(~given_labels(outcome)).any:
        return InputError("truth", phrase=HARD)
    return InputError("truth", "must hold a label that the method was not given", came="none")


def cross_validate(outcome: Solved, method: Solver) -> Score | None:
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
    outcome = solution_of(outcome)
    if outcome.known is None or not enough_known(outcome):
        return None
    return score_of_hidden(outcome, *cross_fit(outcome, method))


def enough_known(outcome: Solution) -> bool:
    """Whether there are known labels enough, drawn at random, to cross-validate by."""
    weights = label_weights(outcome, taught_labels(outcome))
    if weights is None or (weights > 0).sum() < 2:
        return False
    return bool(object_weights(outcome) @ (weights > 0) >= LEAST_LABELS)


def cross_fit(outcome: Solution, method: Solver) -> tuple[Array, Array]:
    """The class probabilities and classes of objects by answers that did not see their labels.

    A method that takes no known labels solves once for all folds.
    """
    votes, codes = outcome.require_votes("cross-validation"), taught_labels(outcome).codes
    labelled = np.random.default_rng(0).permutation(np.flatnonzero(codes >= 0))
    proba, classes = outcome.proba.copy(), outcome.expand(outcome.row_classes).copy()
    solution: Solution | None = None
    for fold in range(min(FOLDS, len(labelled))):
        hidden = labelled[fold::FOLDS]
        if solution is None or method.admits_known:
            known = np.full(len(codes), None, dtype=object)
            shown = np.setdiff1d(labelled, hidden)
            known[shown] = votes.classes[codes[shown]]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the answer for all objects has given them already
                answer = method.solve(votes, known) if method.admits_known else method.solve(votes)
            solution = answer.solution
        proba[hidden] = solution.proba[hidden]
        classes[hidden] = solution.expand(solution.row_classes)[hidden]
    return proba, classes


def score_of_hidden(outcome: Solution, proba: Array, classes: Array) -> Score:
    """The score of answers in which no label has a part in the answer of its own object."""
    labels = taught_labels(outcome)
    weights = label_weights(outcome, labels)
    assert weights is not None
    return _score(outcome, labels.codes, weights, proba, classes, cross_validated=True)


def _score(
    outcome: Solution,
    codes: Array,
    weights: Array,
    proba: Array,
    classes: Array,
    *,
    cross_validated: bool,
) -> Score:
    judged = np.flatnonzero(weights > 0)
    truth, times = codes[judged], object_weights(outcome)[judged]
    weight, classes = times * weights[judged], classes[judged]
    their_quality, difference = None, None
    theirs = None if is_majority(outcome) else majority(outcome)
    if theirs is not None:
        row = judged if outcome.index is None else outcome.index[judged]
        ours, right = classes == truth, theirs.share_right(row, truth)
        # A vote for a class that the answer does not have is wrong: it counts as one more class.
        padded = np.pad(theirs.proba[row], ((0, 0), (0, 1)))
        their_classes = np.where(theirs.classes[row] < 0, len(outcome.classes), theirs.classes[row])
        their_quality = quality(padded, their_classes, truth, weight, right)
        difference = Difference(
            round(float(weight @ (ours * (1 - right)))), round(float(weight @ (right * ~ours)))
        )
    confusion = np.zeros((len(outcome.classes),) * 2)
    np.add.at(confusion, (truth, classes), weight)
    return Score(
        cross_validated,
        float(times.sum()),
        float(weight.sum() ** 2 / (weight @ weights[judged])),
        quality(proba[judged], classes, truth, weight),
        their_quality,
        difference,
        confusion,
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
    bins = _calibration(proba.max(axis=1), right, weight)
    return Quality(
        accuracy=float(np.average(right, weights=weight)),
        confidence=float(np.average(proba[rows, labels], weights=weight)),
        log_loss=float(np.average(losses, weights=weight)),
        f_score=float(f_score),
        auc=float(np.mean(areas)) if areas else None,
        calibration=bins,
        calibration_error=sum(n * abs(sure - hits) for sure, hits, n in bins) / float(weight.sum()),
    )


def _calibration(sure: Array, right: Array, weight: Array) -> list[tuple[float, float, float]]:
    bins = np.minimum((sure * BINS + 1e-9).astype(np.int64), BINS - 1)
    columns = [np.bincount(bins, weights=weight * values) for values in (sure, right, 1)]
    table = np.column_stack(columns)[columns[2] > 0]
    return [(sums / n, hits / n, n) for sums, hits, n in table.tolist()]
