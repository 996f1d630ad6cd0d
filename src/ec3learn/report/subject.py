"""A consensus, the labels it is judged by, and what several sections of a report ask for."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from .._typing import Array
from ..answer.solution import Solution
from ..diagnosis.contested import close_calls
from ..diagnosis.labels import given_labels, measuring, read_labels, taught_labels
from ..diagnosis.metrics import (
    are_counts,
    given_weights,
    majority,
    object_weights,
    open_rows,
    row_weights,
)
from ..votes.labels import plain

Facts = dict[str, Any]


class Subject:
    """A consensus, the labels it is judged by, and what several sections ask for."""

    def __init__(self, consensus: Solution, truth: Any = None) -> None:
        self.consensus, self.truth = consensus, truth
        self.votes, self.has_objects = consensus.votes, consensus.has_objects
        self.names = [str(plain(label)) for label in consensus.classes]
        self.distinct = any(
            note.kind == "distinct rows" for note in consensus.notes
        )  # objects are distinct rows
        self.true_labels = read_labels(consensus, truth, "truth")  # the labels to judge by
        self.given = given_labels(consensus)  # objects whose labels the method was given
        self.judged = self.true_labels.only(~self.given)  # labels that the method was not given
        labels = (self.judged, taught_labels(consensus))
        self.chosen = self.has_objects and any(
            measuring(consensus, each) is None for each in labels
        )  # labels that measure nothing
        self.majority = majority(consensus)
        nothing: Array = np.zeros(0)
        self.weight = (
            object_weights(consensus) if self.has_objects else nothing
        )  # how many objects each object counts for
        self.row_weight = (
            row_weights(consensus) if self.has_objects else nothing
        )  # the same for distinct rows
        self.whole = not self.has_objects or are_counts(
            given_weights(consensus)
        )  # weights say how often an object occurs
        self.open_rows = (
            open_rows(consensus) if self.has_objects else nothing
        )  # rows that the method had to answer
        self.open_weight = self.row_weight * self.open_rows
        self.total, self.n_open = float(self.weight.sum()), float(self.open_weight.sum())
        self.all_given = (
            consensus.n_objects > 0 and not self.open_rows.any()
        )  # all labels were given and held fixed

    @cached_property
    def class_shares(self) -> Array:
        """The share of the objects that got each class."""
        consensus = self.consensus
        counts = np.bincount(
            consensus.row_classes, weights=consensus.row_counts, minlength=len(self.names)
        )
        return counts / max(float(counts.sum()), 1e-300)

    @cached_property
    def confidence(self) -> Array:
        """The probability of the class of each distinct row."""
        return np.asarray(self.consensus.row_proba.max(axis=1, initial=0.0))

    @cached_property
    def mean_confidence(self) -> float:
        """The mean confidence of the objects the method had to answer."""
        return float(self.open_weight @ self.confidence) / max(self.n_open, 1e-300)

    @cached_property
    def n_close(self) -> float:
        """How many objects are close calls."""
        return float(self.row_weight @ close_calls(self.consensus))


def largest(values: Array, n: int) -> Array:
    """The places of the largest values, largest first, equal ones in their order."""
    return np.argsort(-values, kind="stable")[:n]
