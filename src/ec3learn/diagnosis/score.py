"""How often an answer is right by labels that the method did not see: known labels hidden in turn, or others."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .._checks import InputError
from .._text import count, percent
from .._typing import Array
from ..answer.solution import Solution, Solved, solution_of
from ..votes import Votes
from .labels import HARD, given_labels, label_weights, read_labels, taught_labels
from .metrics import LEAST_LABELS, is_majority, majority, object_weights, wilson_interval
from .quality import Difference, Quality, quality

FOLDS = 5
TOO_SURE = 0.05  # by how much a mean confidence is above the interval of the accuracy, to be called overconfident


class Solver(Protocol):
    """A method that can be asked again."""

    admits_known: bool

    def solve(self, votes: Votes, known: Any = None) -> Solved:
        """Solve votes with some known labels."""
        ...


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
        text = f"{self.basis}: {percent(self.accuracy)} correct (95 % interval {percent(low)} to {percent(high)})"
        if self.difference is None or self.by_majority is None:
            return text
        return f"{text}, {percent(self.by_majority)} by majority vote{' (inconclusive)' if self.difference.inconclusive else ''}"

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
    """Hide a fifth of the known labels at a time, let the method solve again, and count which hidden labels come out right.

    None says that there are fewer than 20 known labels that were drawn at random.

    Examples
    --------
    >>> from ec3learn import EC3, Votes
    >>> votes = Votes.from_labels({"a": [0, 1] * 20, "b": [0, 1] * 20, "c": [1] * 40})
    >>> print(cross_validate(EC3().solve(votes, known=[0, 1] * 10 + [None] * 20), EC3()))
    Cross-validated on 20 known labels: 100.0 % correct (95 % interval 83.9 % to 100.0 %), 100.0 %
    by majority vote
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
    """The class probabilities and the class of each object, where it is labelled by an answer that did not see its label."""
    votes, codes = outcome.require_votes("cross-validation"), taught_labels(outcome).codes
    fold_of = np.full(len(codes), -1)
    objects = np.random.default_rng(0).permutation(np.flatnonzero(codes >= 0))
    fold_of[objects] = np.arange(len(objects)) % FOLDS
    proba, classes = outcome.proba.copy(), outcome.expand(outcome.row_classes).copy()
    for hidden, answer in held_out_answers(method, votes, codes, fold_of):
        proba[hidden] = answer.proba[hidden]
        classes[hidden] = answer.expand(answer.row_classes)[hidden]
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
        right = theirs.share_right(row, truth)
        # A vote for a class that the answer does not have is wrong: it counts as one more class.
        padded = np.pad(theirs.proba[row], ((0, 0), (0, 1)))
        their_classes = np.where(theirs.classes[row] < 0, len(outcome.classes), theirs.classes[row])
        their_quality = quality(padded, their_classes, truth, weight, right)
        difference = Difference.of(classes == truth, right, weight)
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


def held_out_answers(
    method: Solver, votes: Votes, codes: Array, fold_of: Array
) -> Iterator[tuple[Array, Solution]]:
    """Solve once per fold without its labels: the fold's objects, and the answer.

    `codes` has the number of each object's class and `fold_of` that of its fold, -1 for none. A
    method that takes no known labels solves once for all folds.
    """
    answer = None
    for fold in range(int(fold_of.max()) + 1):
        known = np.full(len(codes), None, dtype=object)
        shown = np.flatnonzero((codes >= 0) & (fold_of != fold))
        known[shown] = votes.classes[codes[shown]]
        if answer is None or method.admits_known:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the answer for all objects has given them already
                answer = method.solve(votes, known) if method.admits_known else method.solve(votes)
        yield np.flatnonzero(fold_of == fold), answer.solution
