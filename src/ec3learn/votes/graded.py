"""Votes with answers on a scale, for methods that need votes for classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from .._typing import Array
from .derived import merge_equal_rows
from .models import BaseModel, Models
from .shares import normalised

if TYPE_CHECKING:
    from .votes import Votes

ROUNDING = 1e-9  # by which a position may miss the border of a class


def as_class_votes(votes: Votes) -> Votes:
    """The votes with each answer on a scale replaced by the class that it stands for (`Scale`)."""
    meaning = {
        m: class_shares(model.positions, votes.n_classes)
        for m, model in enumerate(votes.models)
        if model.positions is not None
    }
    if not meaning:
        return votes
    hard, tables = dict(votes.stores.hard), dict(votes.stores.soft)
    models, entries = list(votes.models), votes.stores.sparse
    for m, shares in meaning.items():
        if m in tables:  # what was put on answers outside the order is left out
            tables[m] = normalised(tables[m] @ shares)
        if m in hard:  # the last row is that of a missing vote
            tables[m] = np.vstack([shares, np.zeros(votes.n_classes)])[hard.pop(m)]
        models[m] = BaseModel(models[m].name, "classifier", votes.classes)
    if entries is not None:
        sizes = [model.n_groups for model in votes.models]
        blocks = [meaning.get(m, sparse.identity(size)) for m, size in enumerate(sizes)]
        entries = sparse.csr_array(entries @ sparse.block_diag(blocks, "csr"))
    stores = votes.stores.with_tables(hard, tables, entries)
    return merge_equal_rows(replace(votes, models=Models(models), stores=stores))


def class_shares(positions: Array, n_classes: int) -> Array:
    """The vote that each answer stands for, answers x classes, by its position; zeros are no vote.

    With t = position x n_classes the answer falls into class floor(t); on a border (t an integer
    strictly inside) it is half a vote for the class on either side.
    """
    shares = np.zeros((len(positions), n_classes))
    ordered = np.flatnonzero(~np.isnan(positions))
    t = positions[ordered] * n_classes
    for side in (-ROUNDING, ROUNDING):
        cell = np.clip(np.floor(t + side).astype(np.int64), 0, n_classes - 1)
        shares[ordered, cell] += 0.5
    return shares


def shares_between(positions: Array, n_classes: int) -> Array:
    """Each answer as shares of the two classes that it lies between; zeros without an order."""
    apart = np.abs(positions[:, None] * (n_classes - 1) - np.arange(n_classes))
    return np.nan_to_num(np.maximum(1 - apart, 0.0))


def group_meaning(votes: Votes) -> sparse.csr_array:
    """The vote that each group stands for, groups x classes; rows of zeros are no vote.

    An answer on a scale is shared between the two classes it lies between, in proportion.
    """
    return _group_votes(votes, shares_between)


def group_ballot(votes: Votes) -> sparse.csr_array:
    """The same where votes are counted: an answer on a scale counts for the class it falls into."""
    return _group_votes(votes, class_shares)


def _group_votes(votes: Votes, shares_of: Callable[[Array, int], Array]) -> sparse.csr_array:
    classes = votes.models.group_class
    named = np.flatnonzero(classes >= 0)
    rows, columns, shares = [named], [classes[named]], [np.ones(len(named))]
    for m, model in enumerate(votes.models):
        if model.positions is not None:
            answers = sparse.coo_array(shares_of(model.positions, votes.n_classes))
            rows.append(answers.coords[0] + votes.models.offsets[m])
            columns.append(answers.coords[1])
            shares.append(answers.data)
    entries = np.concatenate(shares), (np.concatenate(rows), np.concatenate(columns))
    return sparse.csr_array(entries, shape=(votes.models.n_groups, votes.n_classes))
