"""The majority vote on the same objects: what every answer is compared with."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._typing import Array
from ..algebra.membership import membership
from ..answer.extension import matching_labels
from ..answer.labelling import top_classes
from ..answer.outcome import Outcome
from ..answer.rule import mean_votes
from .counting import open_rows

MAJORITY = "MajorityVote"  # the method that is the majority vote itself


@dataclass(frozen=True, eq=False)
class Majority:
    """The majority vote on each distinct row, in the classes of another answer.

    Attributes
    ----------
    proba : array of shape (n_rows, n_classes)
        Shares of the votes.
    classes : array of shape (n_rows,)
        The number of the class that most votes name, -1 for one that the other answer does not have.
    """

    proba: Array
    classes: Array

    @property
    def tied(self) -> Array:
        """Return the rows on which two classes or more have the most votes."""
        return (self.proba >= self.proba.max(axis=1, keepdims=True) - 1e-9).sum(axis=1) > 1


def majority(outcome: Outcome) -> Majority | None:
    """Return the majority vote on the objects of an answer.

    Parameters
    ----------
    outcome : Consensus
        The answer.

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
