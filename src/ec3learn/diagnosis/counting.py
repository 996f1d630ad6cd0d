"""How many objects an object, or a distinct row, counts for, and which rows the method had to answer."""

from __future__ import annotations

import numpy as np

from .._typing import Array
from ..answer.outcome import Outcome


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
