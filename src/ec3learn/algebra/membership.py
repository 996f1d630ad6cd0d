"""A^m, which row is in which group, as a few products: no matrix here is ever larger than the votes.

A^c = A^m A^m', which says how many groups two objects share, is never formed: a product with it is two products with A^m.

All forms of A^m answer alike. `JointMembership` codes several models into one joint column, so that one pass over the rows serves
them all; it suits hard and soft votes with up to a few thousand groups. `SparseMembership` suits crowds and very many groups. For
large tables there are compiled loops: in place of the first `CompiledMembership`, or `CompiledSoft` if votes are soft; in place
of the second, if votes are hard, `CompiledCrowd` where there are far fewer groups than rows, and `ColumnMembership` elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from .._typing import Array
from ..kernels import compiled
from ..votes import Prior, Votes
from .compiled import ColumnMembership, CompiledCrowd, CompiledMembership, CompiledSoft
from .joint import JointMembership
from .linear import chunks
from .sparse import SparseMembership, entries

__all__ = [
    "ColumnMembership",
    "CompiledCrowd",
    "CompiledMembership",
    "CompiledSoft",
    "JointMembership",
    "Membership",
    "SparseMembership",
    "Table",
    "chunks",
    "count_classes",
    "entries",
    "membership",
    "reached_groups",
    "scatter_to_votes",
]

Table = Any  # a dense array, or a sparse one

SPARSE_COST = 8  # numbers of a joint column that are read in the time it takes for one entry of a sparse matrix
MOST_JOINT_GROUPS = 3_000  # beyond this a dense groups x groups matrix is no longer small


class Membership(Protocol):
    """A^m: which row is in which group, by how much.

    `order` says which group of the votes each of its groups is. The first `n_shared` groups may have several rows; each of those
    after them has a single row, which it couples with nobody. `product_cost` is what a product with A^m and back takes, in
    nanoseconds as measured, and `gram_cost` what `grams` takes: infinite where it would need too much memory. `hard` has the same
    rows with soft votes hardened, for rules that take them so; None where there is nothing to harden. `prior` are class
    probabilities of the rows from elsewhere, where there are any.
    """

    n_rows: int
    n_groups: int
    n_shared: int
    order: Array
    gram_cost: float
    product_cost: float
    hard: Any
    prior: Prior | None

    @property
    def matrix(self) -> sparse.csr_array:
        """Return A^m as one sparse matrix."""
        ...

    def gather(self, table: Array) -> Array:
        """Return A^m table: for each row the sum over its groups."""
        ...

    def gather_parts(self, table: Table) -> Iterator[tuple[slice, Array]]:
        """Return the same, some rows at a time; the table may be sparse."""
        ...

    def scatter(self, values: Array) -> Array:
        """Return A^m' values: for each group the sum over its rows."""
        ...

    def count_classes(self, codes: Array, counts: Array, n_classes: int) -> sparse.csr_array:
        """Return how much of each class each group has, groups x classes: rows have these classes and counts."""
        ...

    def gather_shared(self, column: Array) -> Array:
        """Return for each row the sum over its shared groups."""
        ...

    def scatter_shared(self, values: Array) -> Array:
        """Return for each shared group the sum over its rows."""
        ...

    def gather_solo_squares(self, column: Array) -> Array:
        """Return for each row the sum over the groups that have no other row, weighted by the squares of A^m."""
        ...

    def invert(self, column: Array, counts: Array) -> tuple[Array, Array] | None:
        """Return d = 1 / A^m column (0 where that is 0) and A^m' (counts d), if a compiled loop does it in one go; else None."""
        ...

    def couple(self, table: Array, factors: Sequence[Array], weights: Array) -> Array:
        """Return what rows that are means of their groups give back to them: A^m' (factor_a m) for each of two couplings a.

        Here m = weights x sum_b factor_b A^m table_b. The table and what is returned are groups x couplings x classes.
        """
        ...

    def through(self, values: Iterable[Array], between: Sequence[Array]) -> Iterable[Array]:
        """Return A^m (between x A^m' values) over the shared groups, for each of one or two columns of values."""
        ...

    def posterior(self, table: Array, prior: Array, counts: Array, proba: Array) -> tuple[Array, float] | None:
        """Replace `proba` by the softmax of A^m table + prior, where a compiled loop does it in one go; else return None.

        Returns the logarithm of each row's sum, and by how much the probabilities moved, rows counted by `counts`. The table may
        have several columns per class, side by side; their moves are taken together where `proba` is 3-dimensional.
        """
        ...

    def mean_of_terms(
        self, tables: Sequence[Array], pulls: Sequence[float], fallback: Array, counts: Array, in_group: Array, target: int
    ) -> tuple[Array, Array, float, float] | None:
        """Return the mean of some terms for each row, where a compiled loop does it in one go; else None.

        A term's table has one row per group, its weight and its weighted distribution; rows that no term reaches get the
        fallback. Returns the answers, which rows got the fallback, the squared length of the answers (of rows `in_group`), and
        their squared distance to the mean of the term number `target` (-1: none) times half its pull; both counted by `counts`.
        """
        ...

    def grams(
        self, weights: Callable[[slice], Sequence[Array]], n_weights: int, n_whole: int, rows: Array
    ) -> tuple[Array, Array]:
        """Return A^m' W A^m for each of some weights, dense; `weights` returns those of some rows.

        For the first `n_whole` weights they are groups x groups; for the others there are only the rows of some groups.
        """
        ...


def membership(votes: Votes, passes: int = 1) -> Membership:
    """Return A^m in the form that suits the votes, and how many times they will be read at least."""
    n_votes = passes * (votes.n_rows * len(votes.hard) + (0 if votes.sparse is None else votes.sparse.nnz))
    if votes.sparse is None and votes.n_groups <= MOST_JOINT_GROUPS:
        loops = compiled(n_votes if votes.soft is None else passes * votes.n_rows * len(votes.models))
        if loops is None:
            return JointMembership(votes)
        return CompiledMembership(votes, loops) if votes.soft is None else CompiledSoft(votes, loops)
    loops = compiled(SPARSE_COST * n_votes) if votes.is_hard else None
    if loops is not None and 2 * votes.n_groups <= votes.n_rows:
        return CompiledCrowd(votes, loops)
    if loops is not None and votes.sparse is None:
        return ColumnMembership(votes, loops)
    return SparseMembership(entries(votes), prior=votes.prior)


def scatter_to_votes(votes: Votes, groups: Membership, values: Array) -> Array:
    """Return `groups.scatter(values)` in the order the votes have their groups in, empty ones included."""
    out = np.zeros((votes.n_groups, *values.shape[1:]))
    out[groups.order] = groups.scatter(values)
    return out


def count_classes(votes: Votes, groups: Membership, codes: Array, counts: Array, n_classes: int) -> sparse.csr_array:
    """Return `groups.count_classes` in the order the votes have their groups in: one entry per group and class that occur."""
    found = groups.count_classes(codes, counts, n_classes).tocoo()
    group, of_class = found.coords
    return sparse.csr_array((found.data, (groups.order[group], of_class)), shape=(votes.n_groups, n_classes))


def reached_groups(groups: Membership, counts: Array, live: Array, voted: Array, labelled: Array) -> Array:
    """Return which groups are connected, over any number of shared rows that count, with a `voted` group or `labelled` row."""
    reached = voted & live
    for _ in range(10):  # a few passes reach everything but long chains
        rows = (counts > 0) & ((groups.gather(reached.astype(np.float64)) > 0) | labelled)
        further = live & (voted | (groups.scatter(rows.astype(np.float64)) > 0))
        if (further == reached).all():
            return reached
        reached = further
    return _connected_groups(groups, counts, live, voted, labelled)


def _connected_groups(groups: Membership, counts: Array, live: Array, voted: Array, labelled: Array) -> Array:
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
