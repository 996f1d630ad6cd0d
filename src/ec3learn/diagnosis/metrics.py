"""What every answer is measured with: the weights of its objects, the majority vote, and measures of how good it is.

The measures take plain arrays: classes are numbers there, and objects count by weights.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import binomtest, norm

from .._checks import InputTypeError
from .._typing import Array
from ..algebra.linear import sample_rows
from ..algebra.membership import membership
from ..answer.extension import matching_labels
from ..answer.rule import mean_votes
from ..answer.solution import Solution, Solved, solution_of, top_classes
from ..votes import Votes, as_class_votes, hardened, has_graders, only_rows

CLEARLY = 0.99  # of random votes do better than what is called worse than chance
Z95 = float(norm.ppf(0.975))
UNLIKELY = 0.05  # a p-value below which a difference is not put down to chance
BINS = 10  # of confidence, in the calibration curve
MAJORITY = "MajorityVote"  # the method that is the majority vote itself


def require_votes(votes: Any) -> None:
    """Refuse what are no votes, such as the answer that was made from them."""
    if not isinstance(votes, Votes):
        remedy = (
            "Make one with Votes.from_labels; an answer has its own as consensus.solution.votes."
        )
        raise InputTypeError("votes", "must be a Votes", came=type(votes).__name__, remedy=remedy)


def given_weights(outcome: Solution) -> Array:
    """Return the weight of each object as it was given, 1 where none was."""
    votes, n_rows = outcome.votes, len(outcome.row_proba)
    if votes is not None:
        return np.ones(outcome.n_objects) if votes.sample_weight is None else votes.sample_weight
    members = (
        np.ones(n_rows) if outcome.index is None else np.bincount(outcome.index, minlength=n_rows)
    )
    return outcome.expand(outcome.row_counts / np.maximum(members, 1))


def are_counts(weights: Array) -> bool:
    """Return whether all weights are integers: then they say how often each object occurs."""
    return bool((weights == np.round(weights)).all())


def object_weights(outcome: Solution) -> Array:
    """Return how many objects each object counts for.

    Weights that are no counts are scaled to add up to the number of objects, so that noise can be
    judged by them.
    """
    weights = given_weights(outcome)
    return weights * _scale(weights)


def counted_votes(votes: Votes) -> Votes:
    """Return votes whose objects count for as many objects as in `object_weights`."""
    weights = votes.sample_weight
    if weights is None or are_counts(weights):
        return votes
    scale = _scale(weights)
    return replace(votes, sample_weight=weights * scale, counts=votes.counts * scale)


def _scale(weights: Array) -> float:
    return 1.0 if are_counts(weights) else len(weights) / max(float(weights.sum()), 1e-300)


def row_weights(outcome: Solution) -> Array:
    """Return how many objects each distinct row counts for."""
    weights = object_weights(outcome)
    return (
        weights
        if outcome.index is None
        else np.bincount(outcome.index, weights=weights, minlength=len(outcome.row_proba))
    )


def sampled(counts: Array, size: int, kept: Array | None = None) -> tuple[Array, Array, float]:
    """Return some distinct rows, how often each counts in a sample of about `size`, and how many times the sample all rows are.

    Rows that are rare in the table are as rare in the sample. No row counts more often than it does
    in the table: otherwise a sample would be evidence for more objects than it holds.
    """
    rows, weights = sample_rows(counts, size, kept)
    times = float(
        np.divide(weights, counts[rows], out=np.ones(len(rows)), where=counts[rows] > 0).max(
            initial=1.0
        )
    )
    return rows, weights / times, times


def open_rows(outcome: Solution) -> Array:
    """Return which distinct rows the method had to answer: all but those whose known label was held fixed."""
    known = outcome.known
    if known is None or not known.fixed:
        return np.ones(len(outcome.row_proba), dtype=bool)
    return ~known.labelled


def votes_per_row(votes: Votes, counted: Array) -> Array:
    """Return how many votes each distinct row has, of the groups that are `counted`."""
    groups = membership(votes)
    return groups.gather(counted[groups.order].astype(np.float64))


# ---- the majority vote ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Majority:
    """The majority vote on each distinct row, in the classes of another answer."""

    proba: Array  # rows x classes: shares of the votes
    classes: Array  # the number of the class that most votes name, -1 for one that the other answer does not have

    @property
    def tied(self) -> Array:
        """Return the rows on which two classes or more have the most votes."""
        return self._most_votes.sum(axis=1) > 1

    def share_right(self, rows: Array, truth: Array) -> Array:
        """How far the vote on some rows is right: tied classes share."""
        most = self._most_votes[rows]
        right = most[np.arange(len(rows)), truth] & (self.classes[rows] >= 0)
        return right / most.sum(axis=1)

    @property
    def _most_votes(self) -> Array:
        return self.proba >= self.proba.max(axis=1, keepdims=True) - 1e-9


def majority(outcome: Solved) -> Majority | None:
    """Return the majority vote on the objects of an answer.

    Returns
    -------
    Majority or None
        None where there are no votes, or no objects.

    Examples
    --------
    >>> from ec3learn import EC3, Votes
    >>> consensus = EC3().solve(Votes.from_labels({"a": [0, 1, 1], "b": [0, 1, 0], "c": [1, 1, 0]}))
    >>> consensus.solution.expand(majority(consensus).classes)
    array([0, 1, 0])
    """
    outcome = solution_of(outcome)
    if outcome.votes is None or not outcome.has_objects:
        return None
    votes, merged = replace(outcome.votes, prior=None), None
    if has_graders(
        votes
    ):  # their class votes make some rows equal, which are merged: so each row is one object here
        rows = replace(
            only_rows(votes, np.arange(votes.n_rows)), sample_weight=votes.counts, object_ids=None
        )
        votes = as_class_votes(rows)
        merged = votes.index
    votes = hardened(votes)
    shares, unanswered, _ = mean_votes(votes, membership(votes), votes.weights, None, hard=True)
    if not (votes.counts @ ~unanswered):  # no vote that counts
        return None
    mass = votes.counts @ shares
    shares = shares if merged is None else shares[merged]
    number = matching_labels(votes.classes, outcome.classes)
    proba = np.zeros((len(shares), len(outcome.classes)))
    proba[:, number[number >= 0]] = shares[:, number >= 0]
    return Majority(proba, number[top_classes(shares, mass)])


def is_majority(outcome: Solution) -> bool:
    """Return whether an answer is the majority vote itself."""
    return outcome.made_by == MAJORITY


def changed_rows(outcome: Solution, votes: Majority) -> Array:
    """The distinct rows whose label differs from the one that most votes name; known labels that were held fixed do not."""
    return open_rows(outcome) & ~votes.tied & (outcome.row_classes != votes.classes)


def changed_share(solution: Solution, votes: Majority | None) -> float | None:
    """The share of labels that differ from those of the majority vote, of those that were not held fixed."""
    weight = row_weights(solution)
    total = float(weight @ open_rows(solution))
    if votes is None or is_majority(solution) or total <= 0:
        return None
    return float(weight @ changed_rows(solution, votes)) / total


# ---- one answer, by true classes -----------------------------------------------------------------


@dataclass(frozen=True)
class Quality:
    """How good one answer is."""

    accuracy: float
    confidence: float  # the mean probability of the labels
    log_loss: float  # of the probabilities, none below 1e-12
    f_score: float  # averaged over classes
    auc: float | None  # the mean over classes; None where only one occurs
    calibration: list[
        tuple[float, float, float]
    ]  # by bin of confidence: its mean, the share that is right, and how many objects
    calibration_error: float  # the mean gap between confidence and the share that is right


def quality(
    proba: Array, labels: Array, truth: Array, weight: Array, right: Array | None = None
) -> Quality:
    """Judge class probabilities and labels by the true classes.

    Parameters
    ----------
    proba : array of shape (n_objects, n_classes)
        The class probabilities.
    labels, truth : arrays of shape (n_objects,)
        The number of the class that each object got, and of the one it has.
    weight : array of shape (n_objects,)
        How many objects each counts for.
    right : array of shape (n_objects,)
        How far each label is right, where that is not all or nothing.
    """
    right, n = labels == truth if right is None else right, float(weight.sum())
    bins = calibration(proba.max(axis=1), right, weight)
    error = sum(n * abs(sure - share) for sure, share, n in bins) / n
    several = len(np.unique(truth[weight > 0])) > 1
    sure = proba[np.arange(len(labels)), labels]
    return Quality(
        accuracy=float(weight @ right) / n,
        confidence=float(weight @ sure) / n,
        log_loss=log_loss(proba, truth, weight),
        f_score=macro_f(labels, truth, proba.shape[1], weight),
        auc=mean_auc(proba, truth, weight) if several else None,
        calibration=bins,
        calibration_error=float(error),
    )


def mean_auc(proba: Array, truth: Array, weight: Array | None = None) -> float:
    """Return the area under the ROC curve of each class against all others, averaged over the classes that occur.

    scikit-learn's `roc_auc_score` refuses a class that does not occur, and takes 5 times as long
    with 20,000 objects and three classes, 30 times with 500.

    Parameters
    ----------
    proba : array of shape (n_objects, n_classes)
        Class probabilities, or any scores: only their order matters.
    truth : array of shape (n_objects,)
        The number of each object's class.
    weight : array of shape (n_objects,), optional
        How many objects each counts for.

    Returns
    -------
    float
        0.5, as by chance, where only one class occurs.

    Examples
    --------
    >>> import numpy as np
    >>> mean_auc(np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]]), np.array([0, 0, 1]))
    1.0
    """
    areas = []
    for z in range(proba.shape[1]):
        values, place = np.unique(proba[:, z], return_inverse=True)
        mine = truth == z
        own = np.bincount(
            place, weights=mine if weight is None else weight * mine, minlength=len(values)
        )
        other = np.bincount(place, weights=weight, minlength=len(values)) - own
        if own.any() and other.any():
            below = np.cumsum(other) - other / 2  # a tie is half a win
            # Without weights all sums are multiples of 1/2, hence exact: the result does not depend
            # on their order.
            areas.append((own * below).sum() / (own.sum() * other.sum()))
    return float(np.mean(areas)) if areas else 0.5


def log_loss(proba: Array, truth: Array, weight: Array) -> float:
    """Return the mean of -log of the probability of the true class."""
    return float(weight @ log_losses(proba, truth) / weight.sum())


def log_losses(proba: Array, truth: Array) -> Array:
    """Return -log of the probability of the true class of each object."""
    return np.asarray(-np.log(np.maximum(proba[np.arange(len(truth)), truth], 1e-12)))


def confusion(labels: Array, truth: Array, n_classes: int, weight: Array) -> Array:
    """Return how many objects of each class (rows) got each label (columns)."""
    pairs = truth * n_classes + labels
    return np.bincount(pairs, weights=weight, minlength=n_classes * n_classes).reshape(
        n_classes, n_classes
    )


def macro_f(labels: Array, truth: Array, n_classes: int, weight: Array | None = None) -> float:
    """Return the F score, averaged over the classes that occur in the truth.

    scikit-learn's `f1_score` takes 40 times as long with 20,000 objects, and a search for offsets
    asks hundreds of times.

    Examples
    --------
    >>> import numpy as np
    >>> macro_f(np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1]), n_classes=3)
    0.7333333333333334
    """
    same = labels == truth
    right = np.bincount(truth[same], None if weight is None else weight[same], n_classes)
    true = np.bincount(truth, weight, n_classes)
    total = true + np.bincount(labels, weight, n_classes)
    occurs = true > 0
    return float(np.mean(2 * right[occurs] / total[occurs]))


def calibration(confidence: Array, right: Array, weight: Array) -> list[tuple[float, float, float]]:
    """Return for each bin of confidence that occurs its mean confidence, the share that is right, and the number of objects."""
    bins = np.minimum((confidence * BINS + 1e-9).astype(np.int64), BINS - 1)
    n, sure, correct = (
        np.bincount(bins, weights=weight * values, minlength=BINS)
        for values in (1, confidence, right)
    )
    return [
        (float(sure[b] / n[b]), float(correct[b] / n[b]), float(n[b])) for b in np.flatnonzero(n)
    ]


# ---- two answers ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Difference:
    """Where two answers differ: how often only the first is right, and how often only the second.

    Examples
    --------
    >>> import numpy as np
    >>> Difference.of(np.array([True, True, False]), np.array([True, False, True]), np.array([1, 4, 3]))
    Difference(first=4, second=3)
    """

    first: int
    second: int

    @classmethod
    def of(cls, first: Array, second: Array, weight: Array) -> Difference:
        """Count from how far each answer is right on each object."""
        return cls(
            round(float(weight @ (first * (1.0 - second)))),
            round(float(weight @ (second * (1.0 - first)))),
        )

    @property
    def p_value(self) -> float:
        """Return how likely two equally good answers are to differ this much or more (McNemar's exact test)."""
        n = self.first + self.second
        return 1.0 if n == 0 else float(binomtest(self.first, n).pvalue)

    @property
    def inconclusive(self) -> bool:
        """Return whether they differ, but no more than by chance."""
        return self.first != self.second and self.p_value > UNLIKELY

    @property
    def second_is_better(self) -> bool:
        """Return whether the second answer is right more often, beyond chance."""
        return self.second > self.first and self.p_value <= UNLIKELY


def wilson_interval(right: float, n: float) -> tuple[float, float]:
    """Return the 95 % interval of a share (Wilson's).

    Examples
    --------
    >>> [round(end, 3) for end in wilson_interval(8, 10)]
    [0.49, 0.943]
    """
    share = min(
        round(right / max(n, 1e-300), 12), 1.0
    )  # sums of weights may miss 0 and 1 by rounding
    low, high = wilson_ends(share, max(round(n), 1))
    return (0.0 if share == 0 else low), (1.0 if share == 1 else high)


def wilson_ends(share: Any, n: Any) -> tuple[Any, Any]:
    """Return both ends for one share or an array of them.

    In closed form: scipy's test takes milliseconds, and there may be thousands of voters.
    """
    z2 = Z95**2
    middle, half = share + z2 / (2 * n), (z2 * (share * (1 - share) / n + z2 / (4 * n**2))) ** 0.5
    return (middle - half) / (1 + z2 / n), (middle + half) / (1 + z2 / n)


@dataclass(frozen=True)
class Kappa:
    """Cohen's kappa: 0 for random votes with the same class frequencies, 1 for votes that always agree.

    The kappa of random votes is below -`noise` once in a hundred times, and above `noise` as often.
    """

    kappa: float
    noise: float


def kappa(said: Array, number: Array) -> Kappa | None:
    """Return Cohen's kappa of a classifier and an answer, and how large it is by chance.

    Parameters
    ----------
    said : array
        How many objects of each class of the answer (columns) it put into each of its classes
        (rows).
    number : array
        Which class of the answer each of its classes is, -1 for none.

    Returns
    -------
    Kappa or None
        None where the answer has only one class there, so that chance alone would always agree.
    """
    n_classes = said.shape[1]
    table = np.zeros((n_classes + 1, n_classes + 1))  # the last class: none of the answer's
    np.add.at(table[:, :-1], number, said)
    n = float(table.sum())
    ours, theirs = table.sum(axis=0) / n, table.sum(axis=1) / n
    if ours.max() > 1 - 1e-12:
        return None
    by_chance = float(ours @ theirs)
    # The variance of kappa for random votes: Fleiss, Cohen and Everitt (1969).
    variance = max(by_chance + by_chance**2 - float((ours * theirs) @ (ours + theirs)), 0.0) / n
    return Kappa(cohen_kappa(table), float(norm.ppf(CLEARLY) * np.sqrt(variance)) / (1 - by_chance))


def cohen_kappa(table: Array, apart: Array | None = None) -> float:
    """Return Cohen's kappa of a contingency table, labels x labels; NaN where chance alone would always agree.

    It may be weighted by how far two labels are `apart`, labels x labels; by default 0 or 1.

    Examples
    --------
    >>> import numpy as np
    >>> cohen_kappa(np.array([[30, 10], [10, 30]]))
    0.5
    """
    n = float(table.sum())
    apart = (
        1 - np.eye(len(table))
        if apart is None
        else apart / max(float(apart.max(initial=0.0)), 1e-300)
    )
    by_chance = float(table.sum(axis=1) @ apart @ table.sum(axis=0)) / n**2 if n else 0.0
    return 1 - float((apart * table).sum()) / n / by_chance if by_chance > 1e-12 else float("nan")


def normalised_mutual_information(counts: Array) -> float:
    """Return the mutual information of rows and columns of a contingency table over the mean of their entropies."""
    return shared_information(
        entropy(counts.sum(axis=1)), entropy(counts.sum(axis=0)), entropy(counts.ravel())
    )


def shared_information(one: float, other: float, both: float) -> float:
    """Return the normalised mutual information from two entropies and that of the pairs; 1 where both are constant."""
    mean = (one + other) / 2
    return 1.0 if mean == 0 else min(1.0, max(0.0, (one + other - both) / mean))


def entropy(counts: Array) -> float:
    """Return the entropy of the shares that counts have; 0 where there are none."""
    shares = counts[counts > 0] / max(float(counts.sum()), 1e-300)
    return float(-(shares * np.log(shares)).sum())
