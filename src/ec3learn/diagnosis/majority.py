"""What every answer is measured with: how many objects each object counts for, and the majority vote on them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._typing import Array
from ..algebra.membership import membership
from ..answer.extension import matching_labels
from ..answer.outcome import Outcome, top_classes
from ..answer.rule import mean_votes

MAJORITY = "MajorityVote"  # the method that is the majority vote itself


def given_weights(outcome: Outcome) -> Array:
    """Return the weight of each object as it was given, 1 where none was."""
    votes, n_rows = outcome.votes, len(outcome.row_proba)
    if votes is not None:
        return np.ones(outcome.n_objects) if votes.sample_weight is None else votes.sample_weight
    members = np.ones(n_rows) if outcome.index is None else np.bincount(outcome.index, minlength=n_rows)
    return outcome.expand(outcome.row_counts / np.maximum(members, 1))


def are_counts(weights: Array) -> bool:
    """Return whether all weights are integers: then they say how often each object occurs."""
    return bool((weights == np.round(weights)).all())


def object_weights(outcome: Outcome) -> Array:
    """Return how many objects each object counts for.

    Weights that are no counts are scaled to add up to the number of objects, so that noise can be judged by them.
    """
    weights = given_weights(outcome)
    return weights if are_counts(weights) else weights * (len(weights) / max(float(weights.sum()), 1e-300))


def row_weights(outcome: Outcome) -> Array:
    """Return how many objects each distinct row counts for."""
    weights = object_weights(outcome)
    return weights if outcome.index is None else np.bincount(outcome.index, weights=weights, minlength=len(outcome.row_proba))


def open_rows(outcome: Outcome) -> Array:
    """Return which distinct rows the method had to answer: all but those whose known label was held fixed."""
    known = outcome.known
    if known is None or not known.fixed:
        return np.ones(len(outcome.row_proba), dtype=bool)
    return ~known.labelled


# ---- the majority vote ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Majority:
    """The majority vote on each distinct row, in the classes of another answer."""

    proba: Array  # rows x classes: shares of the votes
    classes: Array  # the number of the class that most votes name, -1 for one that the other answer does not have

    @property
    def tied(self) -> Array:
        """Return the rows on which two classes or more have the most votes."""
        return (self.proba >= self.proba.max(axis=1, keepdims=True) - 1e-9).sum(axis=1) > 1


def majority(outcome: Outcome) -> Majority | None:
    """Return the majority vote on the objects of an answer.

    Returns
    -------
    Majority or None
        None where there are no votes, or no objects.

    Examples
    --------
    >>> from ec3learn import EC3, Votes
    >>> consensus = EC3().solve(Votes.from_labels({"a": [0, 1, 1], "b": [0, 1, 0], "c": [1, 1, 0]}))
    >>> consensus.expand(majority(consensus).classes)
    array([0, 1, 0])
    """
    if outcome.votes is None or not outcome.has_objects:
        return None
    votes = replace(outcome.votes, prior=None).hardened()
    shares, unanswered, _ = mean_votes(votes, membership(votes), votes.weights, None, hard=True)
    if not (votes.counts @ ~unanswered):  # no vote that counts
        return None
    number = matching_labels(votes.classes, outcome.classes)
    proba = np.zeros((len(shares), len(outcome.classes)))
    proba[:, number[number >= 0]] = shares[:, number >= 0]
    return Majority(proba, number[top_classes(shares, votes.counts @ shares)])


def is_majority(outcome: Outcome) -> bool:
    """Return whether an answer is the majority vote itself."""
    return outcome.made_by == MAJORITY


def changed_rows(outcome: Outcome, votes: Majority) -> Array:
    """Return the distinct rows whose label differs from the majority vote's, but for those whose known label was held fixed."""
    return open_rows(outcome) & (outcome.row_classes != votes.classes)
