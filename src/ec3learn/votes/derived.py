"""Other votes from votes: some of their rows, equal rows merged, soft votes made whole."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .._typing import Array
from .distinct import Codes, distinct_rows, one_of_each, row_numbers
from .layout import SoftShares, vote_numbers, whole_votes
from .reading import smallest_uint

if TYPE_CHECKING:
    from .votes import Votes

TIE = 1e-12  # shares that differ by less are equal but for rounding


# ---- rows ----------------------------------------------------------------------------------------


def only_rows(votes: Votes, rows: Array) -> Votes:
    """Some of the distinct rows with their weights, each as one object."""
    return with_rows(votes, rows, None)


def with_rows(votes: Votes, rows: Array, index: Array | None) -> Votes:
    """Some of the distinct rows, and the number of each object's row among them."""
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
    return recounted(with_rows(votes, votes.index, None), votes.sample_weight)


def spread_over(votes: Votes, index: Array, object_ids: Array | None = None) -> Votes:
    """The same distinct rows for other objects: the row of each, and their names."""
    moved = replace(votes, n_objects=len(index), index=index, object_ids=object_ids)
    return recounted(moved, None)


def split_by(votes: Votes, codes: Array) -> tuple[Votes, Array]:
    """Split rows whose objects differ in `codes` (integers from -1); and each row's code."""
    if votes.index is None:
        return votes, codes
    packed = distinct_rows([(votes.index, votes.n_rows), (codes + 1, int(codes.max()) + 2)])
    if packed is None:
        return by_object(votes), codes
    (rows, code), index, _ = packed
    split = recounted(with_rows(votes, rows, index), votes.sample_weight)
    return split, code.astype(np.int64) - 1


def merge_equal_rows(votes: Votes) -> Votes:
    """The votes with one row for those that are equal; as they are if that saves little."""
    stores = votes.stores
    if votes.n_rows == 0 or stores.soft is not None or votes.prior is not None:
        return votes
    columns: list[Codes] = [
        (codes, votes.models[m].n_groups + 1) for m, codes in stores.hard.items()
    ]
    most = votes.n_rows
    if stores.sparse is not None:
        columns.append(row_numbers(stores.sparse))
        most //= 2
    packed = distinct_rows(columns)
    if packed is None or len(packed[2]) > most:
        return votes
    _, number, counts = packed
    rows, index = one_of_each(number, len(counts)), number[row_of_objects(votes)]
    return recounted(with_rows(votes, rows, index), votes.sample_weight)


# ---- models --------------------------------------------------------------------------------------


def unweighted(votes: Votes) -> Votes:
    """The votes with weight 1 for each base model with a weight above 0; objects keep theirs."""
    equal = (votes.weights > 0).astype(np.float64)
    return votes if np.array_equal(equal, votes.weights) else replace(votes, weights=equal)


def without_clusterings(votes: Votes) -> tuple[Votes, Array] | None:
    """The votes as if clusterings had said nothing, and which of the merged rows each row is now.

    None where no rows are equal.
    """
    silent = {m: model.n_groups for m, model in enumerate(votes.models) if not model.is_voter}
    nothing = {
        m: np.full(votes.n_rows, size, dtype=smallest_uint(size + 1)) for m, size in silent.items()
    }
    tables = {m: table for m, table in votes.stores.soft_tables.items() if m not in silent}
    hard = dict(sorted((votes.stores.hard | nothing).items()))
    stores = replace(votes.stores, hard=hard, soft=SoftShares.of(tables))
    rows = replace(only_rows(votes, np.arange(votes.n_rows)), stores=stores, object_ids=None)
    merged = merge_equal_rows(recounted(rows, votes.counts))
    if merged.index is None or merged.n_rows == votes.n_rows:
        return None
    index = merged.index[row_of_objects(votes)]
    objects = spread_over(merged, index, votes.object_ids)
    return recounted(objects, votes.sample_weight), merged.index


def hardened(votes: Votes) -> Votes:
    """The votes with each soft one replaced by its most probable class or answer, shared on a tie.

    Clusterings stay as they are.
    """
    stores = votes.stores
    if stores.is_hard:
        return votes
    tables = stores.soft_tables
    for m, shares in tables.items():
        if votes.models[m].is_voter:
            top = (shares > 0) & (shares >= shares.max(axis=1, keepdims=True) - TIE)
            tables[m] = top / np.maximum(top.sum(axis=1, keepdims=True), 1)
    entries = stores.sparse
    if entries is not None and not (entries.data == 1).all():
        vote = vote_numbers(entries, votes.models)
        largest = np.maximum.reduceat(entries.data, np.flatnonzero(np.diff(vote, prepend=-1)))
        top = entries.copy()
        top.data = (entries.data >= largest[vote] - TIE).astype(np.float64)
        top.eliminate_zeros()
        entries = whole_votes(top, votes.models)
    return replace(votes, stores=stores.with_tables(stores.hard, tables, entries))
