"""A^m, which row is in which group, as a few products: no matrix here is ever larger than the votes.

A^c = A^m A^m', which says how many groups two objects share, is never formed: a product with it is
two products with A^m.

All forms of A^m answer alike. `JointMembership` codes several models into one joint column, so that
one pass over the rows serves them all; it suits hard and soft votes with up to a few thousand
groups. `SparseMembership` suits crowds and very many groups. For large tables there are compiled
loops: in place of the first `CompiledMembership`, or `CompiledSoft` if votes are soft; in place of
the second, if votes are hard, `CompiledCrowd` where there are far fewer groups than rows, and
`ColumnMembership` elsewhere.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from .._typing import Array
from ..kernels import compiled
from ..votes import Votes
from .compiled import ColumnMembership, CompiledCrowd, CompiledMembership, CompiledSoft
from .joint import JointMembership
from .linear import chunks
from .sparse import Membership, SparseMembership, Table, Terms, entries, votes_cast

__all__ = [
    "ColumnMembership",
    "CompiledCrowd",
    "CompiledMembership",
    "CompiledSoft",
    "JointMembership",
    "Membership",
    "SparseMembership",
    "Table",
    "Terms",
    "chunks",
    "count_classes",
    "entries",
    "membership",
    "places_in",
    "reached_groups",
    "scatter_to_votes",
    "squares_of_votes",
    "votes_cast",
]

SPARSE_COST = 8  # numbers of a joint column that are read in the time it takes for one entry of a sparse matrix
MOST_JOINT_GROUPS = 3_000  # beyond this a dense groups x groups matrix is no longer small


def membership(votes: Votes, passes: int = 1) -> Membership:
    """Return A^m in the form that suits the votes, and how many times they will be read at least."""
    n_votes = passes * (
        votes.n_rows * len(votes.stores.hard)
        + (0 if votes.stores.sparse is None else votes.stores.sparse.nnz)
    )
    if votes.stores.sparse is None and votes.models.n_groups <= MOST_JOINT_GROUPS:
        loops = compiled(
            n_votes if votes.stores.soft is None else passes * votes.n_rows * len(votes.models)
        )
        if loops is None:
            return JointMembership(votes)
        return (
            CompiledMembership(votes, loops)
            if votes.stores.soft is None
            else CompiledSoft(votes, loops)
        )
    loops = compiled(SPARSE_COST * n_votes) if votes.stores.is_hard else None
    if loops is not None and 2 * votes.models.n_groups <= votes.n_rows:
        return CompiledCrowd(votes, loops)
    if loops is not None and votes.stores.sparse is None:
        return ColumnMembership(votes, loops)
    return SparseMembership(entries(votes), prior=votes.prior)


def places_in(groups: Membership, numbers: Array) -> Array:
    """Return the place that each of these groups of the votes has in `groups`, -1 for none."""
    place = np.full(max(int(groups.order.max(initial=-1)), int(numbers.max(initial=-1))) + 1, -1)
    place[groups.order] = np.arange(groups.n_groups)
    return place[numbers]


def scatter_to_votes(votes: Votes, groups: Membership, values: Array) -> Array:
    """Return `groups.scatter(values)` in the order the votes have their groups in, empty ones included."""
    out = np.zeros((votes.models.n_groups, *values.shape[1:]))
    out[groups.order] = groups.scatter(values)
    return out


def squares_of_votes(votes: Votes, sums: Array) -> Array:
    """Return the sum of the squares of the votes for each group, from the sums of the votes themselves (A^m' s)."""
    if votes.stores.is_hard:
        return sums
    squares = sums.copy()
    for model in () if votes.stores.soft is None else votes.stores.soft.models:
        own = votes.models.offsets[model.number]
        squares[own : own + model.n_groups] = votes.counts @ votes.stores.soft.shares_of(model) ** 2  # type: ignore[union-attr]
    if votes.stores.sparse is not None:
        share, counts = (
            votes.stores.sparse.data,
            np.repeat(votes.counts, np.diff(votes.stores.sparse.indptr)),
        )
        squares -= np.bincount(
            votes.stores.sparse.indices,
            weights=counts * share * (1 - share),
            minlength=votes.models.n_groups,
        )
    return squares


def count_classes(
    votes: Votes, groups: Membership, codes: Array, counts: Array, n_classes: int
) -> sparse.csr_array:
    """Return `groups.count_classes` in the order the votes have their groups in: one entry per group and class that occur."""
    found = groups.count_classes(codes, counts, n_classes).tocoo()
    group, of_class = found.coords
    return sparse.csr_array(
        (found.data, (groups.order[group], of_class)), shape=(votes.models.n_groups, n_classes)
    )


def reached_groups(
    groups: Membership, counts: Array, live: Array, voted: Array, labelled: Array
) -> Array:
    """Return which groups are connected, over any number of shared rows that count, with a `voted` group or `labelled` row."""
    reached = voted & live
    for _ in range(10):  # a few passes reach everything but long chains
        rows = (counts > 0) & ((groups.gather(reached.astype(np.float64)) > 0) | labelled)
        further = live & (voted | (groups.scatter(rows.astype(np.float64)) > 0))
        if (further == reached).all():
            return reached
        reached = further
    return _connected_groups(groups, counts, live, voted, labelled)


def _connected_groups(
    groups: Membership, counts: Array, live: Array, voted: Array, labelled: Array
) -> Array:
    """Return the same from the components of the graph of rows and groups: slower, and however long the chains are."""
    matrix = groups.matrix.tocoo()
    kept = (counts[matrix.coords[0]] > 0) & live[matrix.coords[1]]
    coords = tuple(place[kept] for place in matrix.coords)
    matrix = sparse.csr_array((matrix.data[kept], coords), shape=matrix.shape)
    graph = sparse.block_array([[None, matrix], [matrix.T, None]], format="csr")
    _, component = connected_components(graph, directed=False)
    of_rows, of_groups = np.split(component, [groups.n_rows])
    reached = np.zeros(component.max() + 1, dtype=bool)
    reached[of_groups[voted]] = True
    reached[of_rows[labelled]] = True
    return reached[of_groups]
