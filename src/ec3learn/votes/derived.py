"""Other votes from votes: some of their rows, equal rows merged, soft votes made whole."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from .._typing import Array
from .distinct import distinct_entries, distinct_rows
from .layout import SoftShares, entries_of_votes
from .reading import Column, smallest_uint

if TYPE_CHECKING:
    from .votes import Votes


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
    """Split distinct rows whose objects differ in `codes` (integers from -1); and each row's code."""
    if votes.index is None:
        return votes, codes
    columns = [
        number_column(votes.index, votes.n_rows),
        number_column(codes + 1, int(codes.max()) + 2),
    ]
    packed = distinct_rows(columns)
    if packed is None:
        return by_object(votes), codes
    (rows, code), index, _ = packed
    split = recounted(with_rows(votes, rows, index), votes.sample_weight)
    return split, code.astype(np.int64) - 1


def merge_equal_rows(votes: Votes) -> Votes:
    """Merge equal rows; of a crowd if that halves them, with soft votes or a prior not at all."""
    if votes.stores.soft is not None or votes.prior is not None:
        return votes
    entries = votes.stores.sparse
    columns = [
        number_column(codes, votes.models[m].n_groups + 1) for m, codes in votes.stores.hard.items()
    ]
    most = votes.n_rows
    if entries is not None:
        columns.append(distinct_entries(entries))
        most //= 2
        if columns[-1].n_codes > most:
            return votes
    packed = distinct_rows(columns)
    if packed is None or len(packed[2]) > most:
        return votes
    _, number, counts = packed
    rows = np.empty(len(counts), dtype=np.int64)
    rows[number] = np.arange(votes.n_rows)
    index = number if votes.index is None else number[votes.index]
    return recounted(with_rows(votes, rows, index), votes.sample_weight)


def number_column(codes: Array, n: int) -> Column:
    """Numbers from 0 to n - 1 as a column."""
    return Column("", codes, 0, np.arange(n))


# ---- models --------------------------------------------------------------------------------------


def unweighted(votes: Votes) -> Votes:
    """The votes with weight 1 for each base model that has a weight above 0; objects keep theirs."""
    equal = (votes.weights > 0).astype(np.float64)
    return votes if np.array_equal(equal, votes.weights) else replace(votes, weights=equal)


def without_clusterings(votes: Votes) -> tuple[Votes, Array] | None:
    """The votes as if clusterings had said nothing, and which of the merged rows each row is now.

    None where no rows are equal.
    """
    silent = {m: model.n_groups for m, model in enumerate(votes.models) if not model.is_voter}
    hard = dict(votes.stores.hard)
    for m, size in silent.items():
        hard[m] = np.full(votes.n_rows, size, dtype=smallest_uint(size + 1))
    tables = {m: table for m, table in votes.stores.soft_tables.items() if m not in silent}
    by_number = dict(sorted(hard.items()))
    stores = replace(votes.stores, hard=by_number, soft=SoftShares.of(tables))
    rows = replace(
        votes,
        n_objects=votes.n_rows,
        index=None,
        object_ids=None,
        sample_weight=votes.counts,
        stores=stores,
    )
    merged = merge_equal_rows(rows)
    if merged.index is None or merged.n_rows == votes.n_rows:
        return None
    objects = replace(
        merged,
        n_objects=votes.n_objects,
        object_ids=votes.object_ids,
        sample_weight=votes.sample_weight,
        index=merged.index if votes.index is None else merged.index[votes.index],
    )
    return objects, merged.index


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
            top = (shares > 0) & (shares >= shares.max(axis=1, keepdims=True) - 1e-12)
            tables[m] = top / np.maximum(top.sum(axis=1, keepdims=True), 1)
    entries = stores.sparse
    if entries is not None:
        entries = _hardened_entries(entries, votes.models.group_model)
    return replace(votes, stores=stores.with_tables(stores.hard, tables, entries))


def _hardened_entries(entries: sparse.csr_array, group_model: Array) -> Any:
    """Give each vote to its largest share, shared evenly on a tie."""
    if (entries.data == 1).all():
        return entries
    row = np.repeat(np.arange(entries.shape[0]), np.diff(entries.indptr))
    pair = row * (int(group_model[-1]) + 1) + group_model[entries.indices]
    _, vote = np.unique(pair, return_inverse=True)
    largest = np.zeros(vote.max() + 1)
    np.maximum.at(largest, vote, entries.data)
    top = entries.data >= largest[vote] - 1e-12
    share = 1 / np.bincount(vote[top])[vote[top]]
    return entries_of_votes(row[top], entries.indices[top], entries.shape, share)
