"""How often an answer is right, by labels that the method did not see: cross-validated on known labels, or by others.

And what each base model adds: the AUC on held-out labels with and without it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from sklearn.base import clone

from .._checks import InputError
from .._text import arg, count, percent
from .._typing import Array
from ..algebra.trust import LEAST_LABELS
from ..answer.mixtures import PanelRule
from ..answer.solution import Solution, Solved, solution_of
from ..votes import Votes
from ..votes.encoding import known_codes
from .metrics import (
    Difference,
    Quality,
    are_counts,
    confusion,
    is_majority,
    majority,
    mean_auc,
    object_weights,
    quality,
    wilson_interval,
)

FOLDS, LEAST_KNOWN = 5, 20
TOO_SURE = 0.05  # by how much a mean confidence is above the interval of the accuracy, to be called overconfident


class Solver(Protocol):
    """A method that can be asked again."""

    admits_known: bool

    def solve(self, votes: Votes, known: Any = None) -> Solved:
        """Solve votes with some known labels."""
        ...


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Score:
    """How often an answer is right by labels that the method did not see, and how often the majority vote is."""

    n_labels: float  # how many objects, by their weights
    accuracy: float
    confidence: (
        float | None
    )  # mean probability of the labels that were given instead; None where hiding labels would change it
    log_loss: float | None  # of the probabilities, none below 1e-12
    by_majority: float | None = (
        None  # None where the method is the majority vote, which has no difference either
    )
    difference: Difference | None = None
    by: ClassVar[tuple[str, str]]  # how it was found, and the noun for labels

    @property
    def interval(self) -> tuple[float, float]:
        """Return the 95 % interval of the accuracy (Wilson's)."""
        return wilson_interval(self.accuracy * self.n_labels, self.n_labels)

    @property
    def overconfident(self) -> bool:
        """Return whether the mean confidence is clearly above the share that is right."""
        return self.confidence is not None and bool(self.confidence > self.interval[1] + TOO_SURE)

    @property
    def found(self) -> str:
        """Return by how many labels it was found, in words."""
        verb, noun = self.by
        return f"{verb} {count(round(self.n_labels), noun)}"

    def __repr__(self) -> str:
        low, high = self.interval
        text = f"{self.found}: {percent(self.accuracy)} correct (95 % interval {percent(low)} to {percent(high)})"
        if self.difference is None or self.by_majority is None:
            return text
        return f"{text}, {percent(self.by_majority)} by majority vote{' (inconclusive)' if self.difference.inconclusive else ''}"

    def as_dict(self) -> dict[str, Any]:
        """Return the same for machines."""
        return {
            "labels": self.n_labels,
            "consensus": self.accuracy,
            "interval": list(self.interval),
            "confidence": self.confidence,
            "log_loss": self.log_loss,
            "majority": self.by_majority,
            "p_value": None if self.difference is None else self.difference.p_value,
        }


# ---- cross-validated on known labels -------------------------------------------------------------


class HeldOut(Score):
    """How often a method is right about known labels that were hidden from it in turn."""

    by = "Cross-validated on", "known label"


def held_out(outcome: Solved, method: Solver) -> HeldOut | None:
    """Hide a fifth of the known labels at a time, let the method solve again, and count which hidden labels come out right.

    None says that there are fewer than 20 known labels. A panel, or a prior, is calibrated on 30
    labels or more: with 31 to 37, fewer are hidden at a time, so that 30 are left. With just 30
    that is impossible, and confidence and log_loss are None.

    Examples
    --------
    >>> from ec3learn import EC3, Votes
    >>> votes = Votes.from_labels({"a": [0, 1] * 20, "b": [0, 1] * 20, "c": [1] * 40})
    >>> print(held_out(EC3().solve(votes, known=[0, 1] * 10 + [None] * 20), EC3()))
    Cross-validated on 20 known labels: 100.0 % correct (95 % interval 83.9 % to 100.0 %), 100.0 % by majority vote
    """
    outcome = solution_of(outcome)
    if outcome.known is None:
        return None
    votes, codes, weight = (
        outcome.require_votes("held_out"),
        outcome.expand(outcome.known.codes),
        object_weights(outcome),
    )
    objects = np.random.default_rng(0).permutation(np.flatnonzero(codes >= 0))
    if weight[objects].sum() < LEAST_KNOWN or len(objects) < 2:
        return None
    fold_of = np.full(len(codes), -1)
    calibrates = isinstance(outcome.rule, PanelRule) or votes.prior is not None
    fold_of[objects], alike = _folds(
        weight[objects] if are_counts(weight) else np.ones(len(objects)), calibrates
    )
    right, sure, of_true = (
        np.zeros(len(codes), dtype=bool),
        np.zeros(len(codes)),
        np.zeros(len(codes)),
    )
    for hidden, answer in held_out_answers(method, votes, codes, fold_of):
        right[hidden] = answer.expand(answer.row_classes)[hidden] == codes[hidden]
        sure[hidden], of_true[hidden] = (
            answer.proba[hidden].max(axis=1),
            answer.proba[hidden, codes[hidden]],
        )
    theirs = None if is_majority(outcome) else majority(outcome)
    their_right = None if theirs is None else (outcome.expand(theirs.classes) == codes)[objects]
    fields = _scored(right[objects], sure[objects], of_true[objects], their_right, weight[objects])
    return HeldOut(**(fields if alike else fields | {"confidence": None, "log_loss": None}))


def _folds(times: Array, calibrates: bool) -> tuple[Array, bool]:
    """Return the fold of each label, and whether methods calibrate without any fold if they do with all labels."""
    number, total = np.arange(len(times)), float(times.sum())
    if not calibrates or total < LEAST_LABELS:
        return number % FOLDS, True
    for n_folds in range(FOLDS, LEAST_LABELS + 2):
        if total - np.bincount(number % n_folds, times).max() >= LEAST_LABELS:
            return number % n_folds, True
    return number % FOLDS, False


def _scored(
    right: Array, sure: Array, of_true: Array, their_right: Array | None, weight: Array
) -> dict[str, Any]:
    """Return the fields of a `Score`.

    They follow from the objects on which the answer is right, how sure it is, the probability it
    gives to the true class, and the objects on which the majority vote is right.
    """
    total = float(weight.sum())
    fields = {
        "n_labels": total,
        "accuracy": float(weight @ right) / total,
        "confidence": float(weight @ sure) / total,
    }
    fields["log_loss"] = -float(weight @ np.log(np.maximum(of_true, 1e-12))) / total
    if their_right is None:
        return fields
    return fields | {
        "by_majority": float(weight @ their_right) / total,
        "difference": Difference.of(right, their_right, weight),
    }


def held_out_answers(
    method: Solver, votes: Votes, codes: Array, fold_of: Array
) -> Iterator[tuple[Array, Solution]]:
    """Solve once per fold without its labels, and return the fold's objects and the answer.

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


# ---- judged by labels the method was not given ---------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Judgement(Score):
    """How good an answer is by labels that the method was not given, beside the majority vote."""

    n_objects: int
    consensus: Quality
    majority: Quality | None
    confusion: (
        Array  # classes x classes: objects by their true class (rows) and by the answer (columns)
    )

    by = "Judged by", "true label"


def judge(outcome: Solved, truth: Any) -> Judgement | None:
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
    """
    outcome = solution_of(outcome)
    codes = true_codes(outcome, truth)
    given = given_labels(outcome)
    judged, weight = np.flatnonzero((codes >= 0) & ~given), object_weights(outcome)
    truth, weight = codes[judged], weight[judged]
    if not weight.any():
        return None
    row = judged if outcome.index is None else outcome.index[judged]
    ours, theirs = outcome.row_classes[row], None if is_majority(outcome) else majority(outcome)
    their_quality = their_right = None
    if theirs is not None:
        # A vote for a class that the answer does not have is wrong: it counts as one more class.
        padded = np.pad(theirs.proba[row], ((0, 0), (0, 1)))
        their_classes = np.where(theirs.classes[row] < 0, len(outcome.classes), theirs.classes[row])
        their_quality, their_right = (
            quality(padded, their_classes, truth, weight),
            their_classes == truth,
        )
    return Judgement(
        n_objects=len(judged),
        consensus=quality(outcome.row_proba[row], ours, truth, weight),
        majority=their_quality,
        confusion=confusion(ours, truth, len(outcome.classes), weight),
        **_scored(
            ours == truth,
            outcome.row_proba[row, ours],
            outcome.row_proba[row, truth],
            their_right,
            weight,
        ),
    )


def given_labels(outcome: Solution) -> Array:
    """Return which objects' labels the method was given."""
    return (
        np.zeros(outcome.n_objects, dtype=bool)
        if outcome.known is None
        else outcome.expand(outcome.known.labelled)
    )


def true_codes(outcome: Solution, truth: Any, argument: str = "truth") -> Array:
    """Return the class of each object by the labels to judge by, -1 where there is none."""
    if truth is None:
        return np.full(outcome.n_objects, -1)
    if not outcome.has_objects:
        raise InputError(
            argument,
            phrase=f"{arg(argument)} needs objects to judge, and this consensus was loaded from a file without them",
            remedy="Save it with objects=True, or judge the answer of extend(votes).",
        )
    return known_codes(truth, outcome.classes, outcome.n_objects, outcome.object_ids, argument)


# ---- what each base model adds -------------------------------------------------------------------


def drop_one_auc(method: Any, votes: Votes, codes: Array, fold_of: Array) -> list[float | None]:
    """Return by how much the AUC on held-out labels falls when a base model is left out, for each of them.

    Parameters
    ----------
    method : Method
        What to solve with, once per fold for all base models and for all but each one.
    votes : Votes
        The votes on all objects.
    codes : array of shape (n_objects,)
        The number of each object's class, -1 where its label is not known.
    fold_of : array of shape (n_objects,)
        The fold in which each label is hidden, -1 for objects without one.

    Returns
    -------
    list of float or None
        None for the only classifier, which cannot be left out.

    Examples
    --------
    >>> import numpy as np
    >>> from ec3learn import SoftVote, Votes
    >>> truth = np.array([0, 1, 0, 1])
    >>> votes = Votes.from_labels({"good": truth, "liar": 1 - truth, "fair": [0, 1, 0, 0]})
    >>> drop_one_auc(SoftVote(), votes, truth, np.array([0, 0, 1, 1]))
    [0.5, -0.25, 0.25]
    """
    with_all = _held_out_auc(method, votes, codes, fold_of)
    classifiers = [
        model.name
        for model, votes_for in zip(votes.models, votes.models.is_classifier, strict=True)
        if votes_for
    ]
    adds: list[float | None] = []
    for model in votes.models:
        if [model.name] == classifiers:
            adds.append(None)
        else:
            others = _without(method, model.name, classifiers)
            adds.append(with_all - _held_out_auc(others, votes.drop(model.name), codes, fold_of))
    return adds


def _held_out_auc(method: Any, votes: Votes, codes: Array, fold_of: Array) -> float:
    proba = np.empty((len(codes), votes.n_classes))
    for hidden, answer in held_out_answers(method, votes, codes, fold_of):
        proba[hidden] = answer.proba[hidden]
    labelled = np.flatnonzero(fold_of >= 0)
    return mean_auc(proba[labelled], codes[labelled])


def _without(method: Any, name: str, classifiers: Sequence[str]) -> Any:
    """Return the method, and those it asks, without the weight of one base model; if no other had one, all others are equal."""
    params = method.get_params(deep=False)
    changes: dict[str, Any] = {}
    for asked in ("members", "towards"):
        if isinstance(params.get(asked), list):
            changes[asked] = [_without(member, name, classifiers) for member in params[asked]]
        elif hasattr(params.get(asked), "get_params"):
            changes[asked] = _without(params[asked], name, classifiers)
    weights = params.get("weights")
    if weights is not None and not isinstance(weights, str):
        given = (
            weights
            if isinstance(weights, Mapping)
            else dict(zip(classifiers, weights, strict=True))
        )
        rest = {own: weight for own, weight in given.items() if own != name}
        changes["weights"] = rest if any(rest.values()) else "equal"
    return clone(method).set_params(**changes) if changes else method
