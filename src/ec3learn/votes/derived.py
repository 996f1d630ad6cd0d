"""Other votes from votes: some of their rows, equal rows merged, soft votes made whole."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .._typing import Array
from .distinct import Codes, distinct_rows, row_numbers
from .layout import smallest_uint, vote_numbers, whole_votes

if TYPE_CHECKING:
    from .votes import Votes

TIE = 1e-12  # shares that differ by less are equal but for rounding


# ---- rows ----------------------------------------------------------------------------------------


def only_rows(votes: Votes, rows: Array, index: Array | None = None) -> Votes:
    """Some of the distinct rows, each as one object, or with each object's row among them."""
    return replace(
        votes,
        n_objects=len(rows if index is None else index),
        counts=votes.counts[rows],
        index=index,
        stores=votes.stores.take(rows),
        prior=None if votes.prior is None else votes.prior.take(rows),
    )


def recounted(votes: Votes, sample_weight: Array | None) -> Votes:
    """The votes with these weights of objects, and with them the weight of each row."""
    if votes.index is not None:
        sums = np.bincount(votes.index, weights=sample_weight, minlength=votes.n_rows)
        counts = sums.astype(np.float64)
    else:
        counts = ones(votes.n_objects) if sample_weight is None else sample_weight
    return replace(votes, sample_weight=sample_weight, counts=counts)


def ones(n: int) -> Array:
    """Ones that take no memory."""
    return np.broadcast_to(np.float64(1.0), (n,))


def row_of_objects(votes: Votes) -> Array:
    """The number of each object's row."""
    return np.arange(votes.n_objects) if votes.index is None else votes.index


def by_object(votes: Votes) -> Votes:
    """The votes with one row per object."""
    if votes.index is None:
        return votes
    return recounted(only_rows(votes, votes.index), votes.sample_weight)


def spread_over(votes: Votes, index: Array, object_ids: Array | None = None) -> Votes:
    """The same distinct rows for other objects: the row of each, and their names."""
    return recounted(
        replace(votes, n_objects=len(index), index=index, object_ids=object_ids), sample_weight=None
    )


def split_by(votes: Votes, codes: Array) -> tuple[Votes, Array]:
    """Split rows whose objects differ in `codes` (integers from -1); and each row's code."""
    if votes.index is None:
        return votes, codes
    packed = distinct_rows([(votes.index, votes.n_rows), (codes + 1, int(codes.max()) + 2)])
    if packed is None:
        return by_object(votes), codes
    objects, index, _ = packed
    split = only_rows(votes, votes.index[objects], index)
    return recounted(split, votes.sample_weight), codes[objects]


def merge_equal_rows(votes: Votes) -> Votes:
    """The votes with one row for those that are equal; as they are if that saves little."""
    stores = votes.stores
    if votes.n_rows == 0 or stores.soft or votes.prior is not None:
        return votes
    columns: list[Codes] = [
        (codes, votes.models[m].n_groups + 1) for m, codes in stores.hard.items()
    ]
    if stores.sparse is not None:
        columns.append(row_numbers(stores.sparse))
    packed = distinct_rows(columns)
    if packed is None or (stores.sparse is not None and len(packed[0]) > votes.n_rows // 2):
        return votes
    rows, number, _ = packed
    return recounted(only_rows(votes, rows, number[row_of_objects(votes)]), votes.sample_weight)


# ---- models --------------------------------------------------------------------------------------


def unweighted(votes: Votes) -> Votes:
    """The votes with weight 1 for each base model with a weight above 0; objects keep theirs."""
    equal = (votes.weights > 0).astype(np.float64)
    return votes if np.array_equal(equal, votes.weights) else replace(votes, weights=equal)


def without_clusterings(votes: Votes) -> tuple[Votes, Array] | None:
    """The votes as if clusterings had said nothing, and which of the merged rows each row is now.

    None where no rows are equal.
    """
    hard, soft = dict(votes.stores.hard), dict(votes.stores.soft)
    for m in np.flatnonzero(~votes.models.is_voter).tolist():
        soft.pop(m, None)
        size = votes.models[m].n_groups
        hard[m] = np.full(votes.n_rows, size, dtype=smallest_uint(size + 1))
    stores = replace(votes.stores, hard=dict(sorted(hard.items())), soft=soft)
    merged = merge_equal_rows(replace(votes, stores=stores))
    if merged.n_rows == votes.n_rows:
        return None
    rows = np.zeros(votes.n_rows, dtype=np.int64)
    rows[row_of_objects(votes)] = row_of_objects(merged)
    return merged, rows


def hardened(votes: Votes) -> Votes:
    """The votes with each soft one replaced by its most probable class or answer, shared on a tie.

    Clusterings stay as they are.
    """
    stores, tables, entries = votes.stores, dict(votes.stores.soft), votes.stores.sparse
    if stores.is_hard:
        return votes
    for m, shares in tables.items():
        if votes.models[m].is_voter:
            top = (shares > 0) & (shares >= shares.max(axis=1, keepdims=True) - TIE)
            tables[m] = top / np.maximum(top.sum(axis=1, keepdims=True), 1)
    if entries is not None and not (entries.data == 1).all():
        vote = vote_numbers(entries, votes.models)
        largest = np.maximum.reduceat(entries.data, np.flatnonzero(np.diff(vote, prepend=-1)))
        entries = entries.copy()
        entries.data = (entries.data >= largest[vote] - TIE).astype(np.float64)
        entries.eliminate_zeros()
        entries = whole_votes(entries, votes.models)
    return replace(votes, stores=stores.with_tables(stores.hard, tables, entries))
