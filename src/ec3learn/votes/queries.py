"""Questions about votes that other rooms ask: who said what, how often, in numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._checks import InputError, InputIndexError
from .._text import arg
from .._typing import Array
from .labels import Label, is_fraction, kind_of, plain

if TYPE_CHECKING:
    from .votes import Votes

FEW_OBJECTS = 50  # so few may all have different labels


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
    for m, shares in votes.stores.soft_tables.items():
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


def entries_of(votes: Votes, models: Array) -> tuple[Array, Array, Array, Array]:
    """What some models said: of each entry the model's place among them, row, group, share."""
    none = np.empty(0, dtype=np.int64)
    parts = [(none, none, none, np.empty(0))]
    for place, m in enumerate(models.tolist()):
        rows, groups, shares = _entries_of_model(votes, m)
        parts.append((np.full(len(rows), place), rows, groups, shares))
    owner, row, group, share = (np.concatenate(column) for column in zip(*parts, strict=True))
    return owner, row, group, share


def _entries_of_model(votes: Votes, m: int) -> tuple[Array, Array, Array]:
    offsets, tables = votes.models.offsets, votes.stores.soft_tables
    if m in votes.stores.hard:
        codes = votes.stores.hard[m]
        rows = np.flatnonzero(codes != votes.models[m].n_groups)
        return rows, offsets[m] + codes[rows], np.ones(len(rows))
    if m in tables:
        rows, codes = np.nonzero(tables[m])
        return rows, offsets[m] + codes, tables[m][rows, codes]
    by_group = votes.stores.by_group
    starts = by_group.indptr[offsets[m] : offsets[m + 1] + 1]
    entries = slice(starts[0], starts[-1])
    groups = np.repeat(np.arange(offsets[m], offsets[m + 1]), np.diff(starts))
    return by_group.indices[entries], groups, by_group.data[entries]


def votes_per_model(votes: Votes) -> Array:
    """How many objects each base model said something about."""
    stores, models, per_row = votes.stores, votes.models, objects_per_row(votes)
    totals = np.zeros(len(models))
    for m, codes in stores.hard.items():
        voted = codes != models[m].n_groups
        totals[m] = np.count_nonzero(voted) if votes.index is None else per_row[voted].sum()
    if stores.soft is not None:
        for model in stores.soft.models:
            totals[model.number] = stores.soft.table[:, model.cover] @ per_row
    if stores.sparse is not None:
        owner = models.group_model[stores.sparse.indices]
        weight = stores.sparse.data * np.repeat(per_row, np.diff(stores.sparse.indptr))
        # Shares of one vote add up to 1 but for rounding.
        totals += np.round(np.bincount(owner, weights=weight, minlength=len(models)), 6)
    return totals


def objects_per_row(votes: Votes) -> Array:
    """How many objects have each distinct row."""
    if votes.sample_weight is None:
        return votes.counts
    if votes.index is None:
        return np.ones(votes.n_rows)
    return np.bincount(votes.index, minlength=votes.n_rows).astype(np.float64)


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
    graded = np.array([model.kind == "grader" for model in votes.models], dtype=bool)
    return bool((graded & (votes.weights > 0)).any())


def require_labels(votes: Votes, argument: str) -> Votes:
    """The votes; fractions are refused, and texts and names: hardly any of them is said twice."""
    came, fractions = "", [label for label in votes.classes.tolist() if is_fraction(label)]
    if fractions:
        came = f"the fractional number {fractions[0]!r}"
    elif votes.n_classes > FEW_OBJECTS // 2 and votes.counts.sum() >= FEW_OBJECTS:
        _, row, _, share = entries_of(votes, np.flatnonzero(votes.models.is_classifier))
        n_votes = float(votes.counts[row] @ share)
        if votes.n_classes > n_votes / 2:
            came = f"{votes.n_classes:,} different ones in {n_votes:,.0f} votes"
    if came:
        leave_out = f"Leave out texts, names and measurements, pass {arg('scale')} with answers"
        raise InputError(
            argument,
            "must hold labels of classes",
            came=came,
            remedy=f"{leave_out} that have an order, or name the {arg('classes')}.",
        )
    return votes
