"""How often an answer is right, by labels that the method did not see: cross-validated on known labels, or by others."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .._checks import InputError
from .._text import count, percent
from .._typing import Array
from ..answer.outcome import Outcome
from ..votes import Votes
from ..votes.encoding import known_codes
from .counting import object_weights
from .majority import is_majority, majority
from .metrics import Difference, Quality, confusion, quality, wilson_interval

FOLDS, LEAST_KNOWN = 5, 20
TOO_SURE = 0.05  # by how much a mean confidence is above the interval of the accuracy, to be called overconfident


class Solver(Protocol):
    """A method that can be asked again."""

    admits_known: bool

    def solve(self, votes: Votes, known: Any = None) -> Outcome:
        """Solve votes with some known labels."""
        ...


# ---- cross-validated on known labels -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class HeldOut:
    """How often a method is right about known labels that were hidden from it in turn."""

    n_labels: float
    accuracy: float
    confidence: float  # mean probability of the labels that were given instead
    majority: float | None  # how often the majority vote is right on them; None where the method is the majority vote
    difference: Difference | None

    @property
    def interval(self) -> tuple[float, float]:
        """Return the 95 % interval of the accuracy (Wilson's)."""
        return wilson_interval(self.accuracy * self.n_labels, self.n_labels)

    @property
    def overconfident(self) -> bool:
        """Return whether the mean confidence is clearly above the share that is right."""
        return self.confidence > self.interval[1] + TOO_SURE

    def __str__(self) -> str:
        by = f"Cross-validated on {count(round(self.n_labels), 'known label')}"
        return _in_words(by, self.accuracy, self.interval, self.majority, self.difference)

    def as_dict(self) -> dict[str, Any]:
        """Return the same for machines."""
        return {
            "labels": self.n_labels,
            "consensus": self.accuracy,
            "interval": list(self.interval),
            "majority": self.majority,
            "p_value": None if self.difference is None else self.difference.p_value,
        }


def held_out(outcome: Outcome, method: Solver) -> HeldOut | None:
    """Hide a fifth of the known labels at a time, solve again, and count which of the hidden labels come out right.

    Parameters
    ----------
    outcome : Consensus
        The answer.
    method : Method
        What made it.

    Returns
    -------
    HeldOut or None
        None with fewer than 20 known labels.

    Examples
    --------
    >>> from ec3learn import EC3, Votes
    >>> votes = Votes.from_labels({"a": [0, 1] * 20, "b": [0, 1] * 20, "c": [1] * 40})
    >>> print(held_out(EC3().solve(votes, known=[0, 1] * 10 + [None] * 20), EC3()))
    Cross-validated on 20 known labels: 100.0 % correct (95 % interval 83.9 % to 100.0 %), 100.0 % by majority vote
    """
    if outcome.known is None:
        return None
    votes, codes, weight = outcome.require_votes("held_out"), outcome.expand(outcome.known.codes), object_weights(outcome)
    objects = np.random.default_rng(0).permutation(np.flatnonzero(codes >= 0))
    total = float(weight[objects].sum())
    if total < LEAST_KNOWN or len(objects) < 2:
        return None
    fold_of = np.full(len(codes), -1)
    fold_of[objects] = np.arange(len(objects)) % FOLDS
    right, sure = np.zeros(len(codes), dtype=bool), np.zeros(len(codes))
    for hidden, answer in held_out_answers(method, votes, codes, fold_of):
        right[hidden] = answer.expand(answer.row_classes)[hidden] == codes[hidden]
        sure[hidden] = answer.confidence[hidden]
    theirs = None if is_majority(outcome) else majority(outcome)
    share = difference = None
    if theirs is not None:
        their_right = outcome.expand(theirs.classes) == codes
        share = float(weight[objects] @ their_right[objects]) / total
        difference = Difference.of(right[objects], their_right[objects], weight[objects])
    return HeldOut(total, float(weight @ right) / total, float(weight[objects] @ sure[objects]) / total, share, difference)


def held_out_answers(method: Solver, votes: Votes, codes: Array, fold_of: Array) -> Iterator[tuple[Array, Outcome]]:
    """Solve once per fold without its labels; return the fold's objects and the answer.

    Parameters
    ----------
    method : Method
        What to solve with. One that takes no known labels solves once for all folds.
    votes : Votes
        The votes on all objects.
    codes : array of shape (n_objects,)
        The number of each object's class, -1 where its label is not known.
    fold_of : array of shape (n_objects,)
        The number of each object's fold, -1 for none.

    Yields
    ------
    (array, Consensus)
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
        yield np.flatnonzero(fold_of == fold), answer


# ---- judged by labels the method was not given -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Judgement:
    """How good an answer is by labels that the method was not given, beside the majority vote."""

    n_labels: float  # how many objects, by their weights
    n_objects: int
    consensus: Quality
    confidence: float  # mean probability of the labels that were given
    majority: Quality | None  # None where the method is the majority vote
    difference: Difference | None
    confusion: Array  # classes x classes: objects by their true class (rows) and by the answer (columns)

    @property
    def interval(self) -> tuple[float, float]:
        """Return the 95 % interval of the accuracy (Wilson's)."""
        return wilson_interval(self.consensus.accuracy * self.n_labels, self.n_labels)

    @property
    def overconfident(self) -> bool:
        """Return whether the mean confidence is clearly above the share that is right."""
        return self.confidence > self.interval[1] + TOO_SURE

    def __str__(self) -> str:
        by = f"Judged by {count(round(self.n_labels), 'true label')}"
        share = None if self.majority is None else self.majority.accuracy
        return _in_words(by, self.consensus.accuracy, self.interval, share, self.difference)

    def as_dict(self) -> dict[str, Any]:
        """Return the same for machines."""
        return {
            "labels": self.n_labels,
            "consensus": self.consensus.accuracy,
            "interval": list(self.interval),
            "majority": None if self.majority is None else self.majority.accuracy,
            "p_value": None if self.difference is None else self.difference.p_value,
        }


def judge(outcome: Outcome, truth: Any) -> Judgement | None:
    """Judge an answer by true labels; objects whose labels the method was given are left out.

    Parameters
    ----------
    outcome : Consensus
        The answer.
    truth : array with missing values, dict of object -> label, or pair (objects, labels)
        The true labels.

    Returns
    -------
    Judgement or None
        None where the method was given all of these labels.

    Examples
    --------
    >>> from ec3learn import EC3, Votes
    >>> judge(EC3().solve(Votes.from_labels({"a": [0, 1, 1, 0], "b": [0, 1, 1, 0]})), [0, 1, 1, 1]).consensus.accuracy
    0.75
    """
    codes = true_codes(outcome, truth)
    given = given_labels(outcome)
    judged, weight = np.flatnonzero((codes >= 0) & ~given), object_weights(outcome)
    truth, weight = codes[judged], weight[judged]
    if not weight.any():
        return None
    row = judged if outcome.index is None else outcome.index[judged]
    ours, theirs = outcome.row_classes[row], None if is_majority(outcome) else majority(outcome)
    their_quality = difference = None
    if theirs is not None:
        # A vote for a class that the answer does not have is wrong: it counts as one more class.
        padded = np.pad(theirs.proba[row], ((0, 0), (0, 1)))
        their_classes = np.where(theirs.classes[row] < 0, len(outcome.classes), theirs.classes[row])
        their_quality = quality(padded, their_classes, truth, weight)
        difference = Difference.of(ours == truth, their_classes == truth, weight)
    return Judgement(
        float(weight.sum()),
        len(judged),
        quality(outcome.row_proba[row], ours, truth, weight),
        float(weight @ outcome.row_proba[row, ours]) / float(weight.sum()),
        their_quality,
        difference,
        confusion(ours, truth, len(outcome.classes), weight),
    )


def _in_words(
    by: str, accuracy: float, interval: tuple[float, float], by_majority: float | None, difference: Difference | None
) -> str:
    """Return how often an answer is right, and how often the majority vote, in one line."""
    low, high = interval
    text = f"{by}: {percent(accuracy)} correct (95 % interval {percent(low)} to {percent(high)})"
    if difference is None or by_majority is None:
        return text
    return f"{text}, {percent(by_majority)} by majority vote{' (inconclusive)' if difference.inconclusive else ''}"


def given_labels(outcome: Outcome) -> Array:
    """Return which objects' labels the method was given."""
    return np.zeros(outcome.n_objects, dtype=bool) if outcome.known is None else outcome.expand(outcome.known.labelled)


def true_codes(outcome: Outcome, truth: Any) -> Array:
    """Return the class of each object by the labels to judge by, -1 where there is none."""
    if truth is None:
        return np.full(outcome.n_objects, -1)
    if not outcome.has_objects:
        raise InputError(
            "truth",
            "needs objects to judge",
            phrase="truth needs objects to judge, and this consensus was loaded from a file without them",
            remedy="Leave truth out.",
        )
    return known_codes(truth, outcome.classes, outcome.n_objects, outcome.object_ids, "truth")
