"""Questions about votes that other rooms ask: who said what, how often, in numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from .._checks import InputError, InputIndexError
from .._text import arg
from .._typing import Array
from .derived import row_of_objects
from .labels import Label, kind_of, plain

if TYPE_CHECKING:
    from .votes import Votes

FEW_OBJECTS = 50  # so few may all have different labels
FRACTION = re.compile(r"\s*[+-]?\d*\.\d*[1-9]\d*\s*")


def votes_on(votes: Votes, i: int) -> dict[int, Label | dict[Label, float]]:
    """What was said about object i, by the number of each model that said something."""
    if kind_of(i) != "int" or not -votes.n_objects <= i < votes.n_objects:
        raise InputIndexError(
            "i", f"must be the number of an object, from 0 to {votes.n_objects - 1}", got=i
        )
    row, models = int(i if votes.index is None else votes.index[i]), votes.models
    answers: dict[int, Any] = {
        m: plain(models[m].labels[codes[row]])
        for m, codes in votes.stores.hard.items()
        if codes[row] < models[m].n_groups
    }
    for m, shares in votes.stores.soft.items():
        if shares[row].any():
            labels = map(plain, models[m].labels)
            answers[m] = dict(zip(labels, shares[row].round(12).tolist(), strict=True))
    if votes.stores.sparse is not None:
        entries = slice(*votes.stores.sparse.indptr[row : row + 2])
        groups, parts = votes.stores.sparse.indices[entries], votes.stores.sparse.data[entries]
        for group, share in zip(groups.tolist(), parts.tolist(), strict=True):
            m = int(models.group_model[group])
            label = plain(models[m].labels[group - models.offsets[m]])
            answers[m] = label if share == 1 else {**answers.get(m, {}), label: share}
    return dict(sorted(answers.items()))


def soft_shares(votes: Votes) -> tuple[Array, Array]:
    """The shares of all soft models side by side, and the group of each column."""
    tables = sorted(votes.stores.soft.items())
    groups = np.flatnonzero(np.isin(votes.models.group_model, [m for m, _ in tables]))
    return np.hstack([table for _, table in tables]), groups


def votes_per_model(votes: Votes, per_row: Array | None = None) -> Array:
    """How many objects each base model said something about, or other numbers summed over rows."""
    stores, models = votes.stores, votes.models
    per_row = objects_per_row(votes) if per_row is None else per_row
    totals = np.zeros(len(models))
    for m, codes in stores.hard.items():
        totals[m] = per_row @ (codes != models[m].n_groups)
    for m, shares in stores.soft.items():
        totals[m] = (per_row @ shares).sum().round(6)  # shares of a vote miss 1 by rounding
    if stores.sparse is not None:
        sums = stores.sparse.T @ per_row
        totals += np.bincount(models.group_model, weights=sums, minlength=len(models)).round(6)
    return totals


def objects_per_row(votes: Votes) -> Array:
    """How many objects have each distinct row."""
    if votes.sample_weight is None:
        return votes.counts
    return np.bincount(row_of_objects(votes), minlength=votes.n_rows).astype(np.float64)


def n_alike(votes: Votes) -> Array:
    """How many objects each distinct row stands for; whole sample weights count as repetitions."""
    weights = votes.sample_weight
    is_count = weights is None or bool((weights == weights.round()).all())
    return votes.counts if is_count else objects_per_row(votes)


def has_clusterings(votes: Votes) -> bool:
    """Whether there are clusterings with a weight above 0."""
    return bool((~votes.models.is_voter & (votes.weights > 0)).any())


def has_graders(votes: Votes) -> bool:
    """Whether voters with a weight above 0 answer on a scale."""
    is_grader = votes.models.is_voter & ~votes.models.is_classifier
    return bool((is_grader & (votes.weights > 0)).any())


def require_labels(votes: Votes, argument: str) -> Votes:
    """The votes; fractions are refused, and texts and names: hardly any of them is said twice."""
    came, fractions = "", [x for x in votes.classes.tolist() if FRACTION.fullmatch(str(x))]
    if fractions:
        came = f"the fractional number {fractions[0]!r}"
    elif votes.n_classes > FEW_OBJECTS // 2 and votes.counts.sum() >= FEW_OBJECTS:
        n_votes = float(votes_per_model(votes, votes.counts)[votes.models.is_classifier].sum())
        if votes.n_classes > n_votes / 2:
            came = f"{votes.n_classes:,} different ones in {n_votes:,.0f} votes"
    if came:
        raise InputError(
            argument,
            "must hold labels of classes",
            came=came,
            remedy=f"Leave out texts, names and measurements, pass {arg('scale')} with answers "
            f"that have an order, or name the {arg('classes')}.",
        )
    return votes
