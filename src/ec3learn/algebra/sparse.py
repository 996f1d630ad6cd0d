"""What all forms of A^m answer; and A^m as sparse matrices, for crowds and for very many groups."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._typing import Array
from ..votes import Prior, Votes, group_meaning
from ..votes.layout import entries_of_columns
from .linear import chunks

Table = Any  # a dense array, or a sparse one
Weights = Sequence[Sequence[Array]]  # of rows; each weight is the product of some columns


def entries(votes: Votes) -> sparse.csr_array:
    """Return A^m as one sparse matrix, its groups in the order of the votes."""
    sizes = [model.n_groups for model in votes.models]
    shape = (votes.n_rows, votes.models.n_groups)
    parts = [] if votes.stores.sparse is None else [votes.stores.sparse]
    if votes.stores.hard:
        parts.append(entries_of_columns(votes.stores.hard, votes.models.offsets, sizes))
    if votes.stores.soft is not None:
        soft = votes.stores.soft
        shares = sparse.csr_array(np.hstack([soft.shares_of(model) for model in soft.models]))
        columns = np.concatenate(
            [
                votes.models.offsets[model.number] + np.arange(model.n_groups)
                for model in soft.models
            ]
        )
        parts.append(
            sparse.csr_array((shares.data, columns[shares.indices], shares.indptr), shape=shape)
        )
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return sparse.csr_array(total)


def votes_cast(votes: Votes) -> tuple[Array, Array, Array]:
    """Return the votes of those whose votes count, one by one: the row, the voter, and what it gives to each class."""
    matrix = entries(votes).tocoo()
    counted = (votes.models.is_voter & (votes.weights > 0))[
        votes.models.group_model[matrix.coords[1]]
    ]
    (row, group), share = (place[counted] for place in matrix.coords), matrix.data[counted]
    n_models = len(votes.models)
    pair, vote = np.unique(
        row.astype(np.int64) * n_models + votes.models.group_model[group], return_inverse=True
    )
    said = np.zeros((len(pair), votes.n_classes))
    np.add.at(said, vote, share[:, None] * group_meaning(votes)[group].toarray())
    rows, voters = np.divmod(pair, n_models)
    return rows, voters, said


class Terms(NamedTuple):
    """Terms of which a row's answer is the mean, each itself a mean over the row's groups."""

    table: Array  # the groups' weighted distributions without the last class, one term beside the other
    pulls: Array  # how hard each term pulls
    inverses: tuple[
        Array, ...
    ]  # for each term, 1 over the weights of each row's groups; 0 where it has none
    fallback: Array  # the answer for rows that no term reaches
    counts: Array
    in_group: Array
    target: int  # the number of the term to which distances are taken; -1 for none


class Membership(ABC):
    """A^m: which row is in which group, by how much.

    `order` says which group of the votes each of its groups is. The first `n_shared` groups may
    have several rows; each of those after them has a single row, which it couples with nobody.
    `product_cost` is what a product with A^m and back takes, in nanoseconds as measured, and
    `gram_cost` what `grams` takes: infinite where it would need too much memory. `hard` has the
    same rows with soft votes hardened, for rules that take them so; None where there is nothing to
    harden. `prior` are class probabilities of the rows from elsewhere, where there are any.
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
    @abstractmethod
    def matrix(self) -> sparse.csr_array:
        """Return A^m as one sparse matrix."""

    @abstractmethod
    def gather(self, table: Array) -> Array:
        """Return A^m table: for each row the sum over its groups."""

    @abstractmethod
    def gather_parts(self, table: Table) -> Iterator[tuple[slice, Array]]:
        """Return the same, some rows at a time; the table may be sparse."""

    @abstractmethod
    def scatter(self, values: Array) -> Array:
        """Return A^m' values: for each group the sum over its rows."""

    @abstractmethod
    def count_classes(self, codes: Array, counts: Array, n_classes: int) -> sparse.csr_array:
        """Return how much of each class each group has, groups x classes: rows have these classes and counts."""

    @abstractmethod
    def gather_shared(self, table: Array) -> Array:
        """Return for each row the sum over its shared groups."""

    @abstractmethod
    def scatter_shared(self, values: Array) -> Array:
        """Return for each shared group the sum over its rows."""

    def gather_solo_squares(self, column: Array) -> Array:
        """Return for each row the sum over the groups that have no other row, by the squares of A^m; 0 if none is set apart."""
        return np.zeros(self.n_rows)

    def invert(self, column: Array, counts: Array) -> tuple[Array, Array] | None:
        """Return d = 1 / A^m column (0 where that is 0) and A^m' (counts d), if a compiled loop does it in one go; else None."""
        return None

    def couple(self, table: Array, factors: Sequence[Array], weights: Array) -> Array:
        """Return what rows that are means of their groups give back to them: A^m' (factor_a m) for each of two couplings a.

        Here m = weights x sum_b factor_b A^m table_b. The table and what is returned are groups x
        couplings x classes.
        """
        out = np.empty_like(table)
        for z in range(table.shape[2]):
            mean = weights * sum(
                factor * self.gather(table[:, a, z].copy()) for a, factor in enumerate(factors)
            )
            for a, factor in enumerate(factors):
                out[:, a, z] = self.scatter(factor * mean)
        return out

    def through(self, values: Iterable[Array], between: Sequence[Array]) -> Iterable[Array]:
        """Return A^m (between x A^m' values) over the shared groups, for each of one or two columns of values."""
        return (
            self.gather_shared(factor * self.scatter_shared(column))
            for column, factor in zip(values, between, strict=True)
        )

    def posterior(
        self, table: Array, prior: Array, counts: Array, proba: Array
    ) -> tuple[Array, float] | None:
        """Replace `proba` by the softmax of A^m table + prior, where a compiled loop does it in one go; else return None.

        Returns the logarithm of each row's sum, and by how much the probabilities moved, rows
        counted by `counts`. The table may have several columns per class, side by side; their moves
        are taken together where `proba` is 3-dimensional.
        """
        return None

    def mean_of_terms(self, terms: Terms) -> tuple[Array, Array, float, float] | None:
        """Return the mean of some terms for each row, where a compiled loop does it in one go; else None.

        Returns the answers, which rows got the fallback, the squared length of the answers (of rows
        `in_group`), and their squared distance to the mean of the target term times half its pull;
        both counted by `counts`.
        """
        return None

    @abstractmethod
    def grams(self, weights: Weights, n_whole: int, rows: Array) -> tuple[Array, Array]:
        """Return A^m' W A^m for each of some weights, dense.

        For the first `n_whole` weights they are groups x groups; for the others there are only the
        rows of some groups.
        """


class SparseMembership(Membership):
    """A^m as two sparse matrices: of the groups that rows share, and of those with a single row, which fine clusterings have.

    Its groups have an order of their own, shared ones first, so that a table over groups is cut in
    two instead of picked from: `order` says which group of the votes each is. Groups without
    members are left out.
    """

    gram_cost = math.inf

    def __init__(
        self,
        matrix: sparse.csr_array,
        hard: sparse.csr_array | None = None,
        prior: Prior | None = None,
    ) -> None:
        self.hard = None if hard is None else SparseMembership(hard, prior=prior)
        self.prior = prior
        n_rows, n_groups = matrix.shape
        number_type = matrix.indices.dtype
        is_shared = np.bincount(matrix.indices, minlength=n_groups) > 1
        stays = is_shared[matrix.indices]  # of each entry
        starts = _counts_before(stays, matrix.indptr)
        shared_groups = np.flatnonzero(is_shared).astype(number_type)
        number = np.cumsum(is_shared, dtype=number_type) - number_type.type(1)
        shared = (_pick(matrix.data, stays), number[matrix.indices[stays]], starts)
        np.logical_not(stays, out=stays)
        solo_groups = matrix.indices[
            stays
        ]  # each has one entry, so the order of the entries will do
        solo = (
            _pick(matrix.data, stays),
            np.arange(len(solo_groups), dtype=number_type),
            matrix.indptr - starts,
        )
        self.shared = sparse.csr_array(shared, shape=(n_rows, len(shared_groups)))
        self.solo = sparse.csr_array(solo, shape=(n_rows, len(solo_groups)))
        self.order = np.concatenate([shared_groups, solo_groups])
        self.n_rows, self.n_groups, self.n_shared = n_rows, len(self.order), len(shared_groups)
        self.product_cost = 3.0 * matrix.nnz

    @property
    def matrix(self) -> sparse.csr_array:
        """Return A^m as one sparse matrix."""
        return sparse.hstack([self.shared, self.solo], format="csr")

    def gather_parts(self, table: Any) -> Iterator[tuple[slice, Array]]:
        """Return A^m table, some rows at a time; the table may be sparse."""
        shared, solo = table[: self.n_shared], table[self.n_shared :]
        for rows in chunks(self.n_rows):
            sums = self.shared[rows] @ shared + self.solo[rows] @ solo
            yield rows, sums.toarray() if sparse.issparse(sums) else np.asarray(sums)

    def gather(self, table: Array) -> Array:
        """Return A^m table."""
        return _by_columns(self.shared, table[: self.n_shared]) + _by_columns(
            self.solo, table[self.n_shared :]
        )

    def scatter(self, values: Array) -> Array:
        """Return A^m' values."""
        out = np.empty((self.n_groups, *values.shape[1:]))
        out[: self.n_shared] = _by_columns(self.shared.T, values)
        out[self.n_shared :] = _by_columns(self.solo.T, values)
        return out

    def count_classes(self, codes: Array, counts: Array, n_classes: int) -> sparse.csr_array:
        """Return how much of each class each group has: rows have these classes and counts."""
        rows = sparse.csr_array(
            (counts, codes, np.arange(self.n_rows + 1)), shape=(self.n_rows, n_classes)
        )
        return sparse.csr_array(sparse.vstack([self.shared.T @ rows, self.solo.T @ rows]))

    def gather_shared(self, column: Array) -> Array:
        """Return the sum over each row's shared groups."""
        return np.asarray(self.shared @ column)

    def scatter_shared(self, values: Array) -> Array:
        """Return the sum over each shared group's rows."""
        return np.asarray(self.shared.T @ values)

    def gather_solo_squares(self, column: Array) -> Array:
        """Return the sum over each row's own groups, weighted by the squares of A^m."""
        return np.asarray(self.solo.power(2) @ column)

    def grams(self, weights: Weights, n_whole: int, rows: Array) -> tuple[Array, Array]:
        """Return A^m' W A^m for each of some weights, groups x groups, dense; see `Membership`."""
        matrix, columns = self.matrix, [np.asarray(math.prod(weight)) for weight in weights]
        found = np.stack(
            [(matrix.T @ matrix.multiply(column[:, None]).tocsr()).toarray() for column in columns]
        )
        return found[:n_whole], found[n_whole:, rows]


def _counts_before(chosen: Array, places: Array) -> Array:
    """Return how many entries are chosen before each of some places."""
    before = np.zeros(len(chosen) + 1, dtype=places.dtype)
    np.cumsum(chosen, out=before[1:])
    return before[places]


def _pick(data: Array, chosen: Array) -> Array:
    """Return the chosen entries; hard votes are all 1, and need no picking."""
    if data.size and (data.min() != 1 or data.max() != 1):
        return data[chosen]
    return np.ones(np.count_nonzero(chosen))


def _by_columns(matrix: Any, values: Array) -> Array:
    """Return the product with a table, one column at a time where there are few: that is faster."""
    if values.ndim == 1 or not 1 <= values.shape[1] <= 4:
        return np.asarray(matrix @ values)
    return np.stack([matrix @ np.ascontiguousarray(column) for column in values.T], axis=1)
