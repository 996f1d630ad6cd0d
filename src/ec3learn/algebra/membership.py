"""A^m, which row is in which group, as products with a sparse matrix.

A^c = A^m A^m', which says how many groups two objects share, is never formed: a product with it is
two products with A^m. Tables of soft votes stay dense: they are shares x basis, where the basis
says what each column of the shares adds to each group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations_with_replacement, pairwise
from typing import Any

import numpy as np
from scipy import sparse

from .. import kernels
from .._typing import Array
from ..votes import Prior, Votes, group_meaning, hardened, only_rows, soft_shares

CHUNK = 1 << 16  # rows handled at a time
Table = Any  # a dense array, or a sparse one
Columns = Mapping[tuple[int, int], Array]  # codes by where a model's groups begin and end


@dataclass(eq=False)
class Membership:
    """A^m: which row is in which group, by how much.

    The votes that are in no table of soft votes are in `entries`. In a large table they are in
    `codes`, models x rows, with the group of each vote and `n_groups` for a missing one; `loops`
    read them, and `entries` are made when asked for. `soft` is the table of soft votes, and its
    basis. `order` says which group of the votes each of its groups is. `columns` are the codes of
    models, where there are no other votes but soft ones. `hard` has the same rows with soft votes
    hardened, for rules that take them so; None where there is nothing to harden. `prior` are class
    probabilities of the rows from elsewhere, where there are any.
    """

    given: sparse.csr_array | None
    order: Array
    hard: Membership | None = None
    prior: Prior | None = None
    soft: tuple[Array, Array] | None = None
    columns: Columns = field(default_factory=dict)
    answered: dict[Any, Any] = field(default_factory=dict, init=False)  # by the rule that answered
    codes: Array | None = None
    loops: Any = None

    @cached_property
    def entries(self) -> sparse.csr_array:
        """The votes that are in no table of soft votes, as a sparse matrix."""
        return self.given if self.codes is None else entries_of_codes(self.codes, self.n_groups)

    @property
    def n_rows(self) -> int:
        """How many distinct rows there are."""
        return int(self.entries.shape[0] if self.codes is None else self.codes.shape[1])

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return len(self.order)

    @property
    def matrix(self) -> sparse.csr_array:
        """All of A^m as one sparse matrix."""
        if self.soft is None:
            return self.entries
        table = self.soft[0] @ self.soft[1]
        table[table <= 1e-14] = 0.0  # what rounding leaves of a share of 0
        return sparse.csr_array(self.entries + sparse.csr_array(table))

    @cached_property
    def _transposed(self) -> sparse.csc_array:
        return self.entries.T

    def only(self, kept: Array) -> Membership:
        """The same rows in some of the groups."""
        soft = None if self.soft is None else (self.soft[0], self.soft[1][:, kept])
        part = replace(self, order=self.order[kept], soft=soft, columns={})
        if self.codes is None:
            return replace(part, given=self.entries[:, kept])
        place = np.full(self.n_groups + 1, len(kept), dtype=self.codes.dtype)
        place[kept] = np.arange(len(kept))
        return replace(part, codes=place[self.codes])

    def gather(self, table: Table) -> Array:
        """A^m table, dense: for each row the sum over its groups."""
        if self.codes is None or sparse.issparse(table):
            sums = self.entries @ table
        else:
            sums = np.zeros((self.n_rows, *table.shape[1:]))
            self.loops.add_gathered(self.codes, table, np.ones(self.n_rows), sums)
        if self.soft is not None:
            sums = sums + self.soft[0] @ (self.soft[1] @ table)
        return sums.toarray() if sparse.issparse(sums) else np.asarray(sums)

    def gather_parts(self, table: Table) -> Iterator[tuple[slice, Array]]:
        """The same, some rows at a time."""
        for rows in chunks(self.n_rows, CHUNK // 8):
            yield rows, self._part(rows).gather(table)

    def add_gathered(self, table: Array, scale: Array, sums: Array) -> None:
        """Add diag(scale) A^m table to some sums."""
        if self.codes is not None and self.soft is None:
            self.loops.add_gathered(self.codes, table, scale, sums)
            return
        for rows, gathered in self.gather_parts(table):
            sums[rows] += scale[rows, None] * gathered

    def _part(self, rows: slice) -> Membership:
        """Some of the rows."""
        if rows.stop - rows.start == self.n_rows:
            return self
        soft = None if self.soft is None else (self.soft[0][rows], self.soft[1])
        if self.codes is None:
            return replace(self, given=self.entries[rows], soft=soft)
        return replace(self, codes=np.ascontiguousarray(self.codes[:, rows]), soft=soft)

    def parts(self) -> Iterator[tuple[slice, Membership]]:
        """The rows in pieces that fit the cache, with all that rules ask for."""
        for rows in chunks(self.n_rows):
            hard = None if self.hard is None else self.hard._part(rows)
            prior = None if self.prior is None else self.prior.take(rows)
            yield rows, replace(self._part(rows), hard=hard, prior=prior, columns={})

    def scatter(self, values: Array) -> Array:
        """A^m' values: for each group the sum over its rows."""
        if self.codes is None:
            sums = np.asarray(self._transposed @ values)
        else:
            sums = self.loops.scattered(self.codes, self.n_groups, values, np.ones(self.n_rows))
        if self.soft is not None:
            sums += self.soft[1].T @ (self.soft[0].T @ values)
        return sums

    def scatter_weighted(self, weights: Sequence[Array], values: Array) -> list[Array]:
        """A^m' diag(weight) values for each weight, in pieces: larger ones if the sums are."""
        if self.codes is not None and self.soft is None:
            return [
                self.loops.scattered(self.codes, self.n_groups, values, weight)
                for weight in weights
            ]
        if not weights:
            return []
        sums = np.zeros((self.n_groups, len(weights) * values.shape[1]))
        for rows in chunks(self.n_rows, max(CHUNK // 8, 8 * self.n_groups)):
            weighted = [weight[rows, None] * values[rows] for weight in weights]
            sums += self._part(rows).scatter(np.hstack(weighted))
        return np.hsplit(sums, len(weights))

    # ---- pairs of groups -------------------------------------------------------------------------

    def grams(self, weights: Sequence[Array]) -> list[Array]:
        """A^m' diag(weight) A^m for each weight of the rows, groups x groups, dense."""
        if self.columns:
            grams = _count_pairs(self.columns, self.n_groups, weights)
        else:
            by_group, rows = self.entries.T.tocsr(), self.entries
            grams = [
                (by_group @ rows.multiply(weight[:, None]).tocsr()).toarray() for weight in weights
            ]
        if self.soft is not None and weights:
            (shares, basis), hard = self.soft, replace(self, soft=None)
            mixed = np.zeros((self.n_groups, len(weights) * len(basis)))
            inner = np.zeros((len(basis), len(weights) * len(basis)))
            for rows in chunks(self.n_rows, CHUNK // 8):
                weighted = np.hstack([shares[rows] * weight[rows, None] for weight in weights])
                mixed += hard._part(rows).scatter(weighted)
                inner += shares[rows].T @ weighted
            for k, gram in enumerate(grams):
                columns = slice(k * len(basis), (k + 1) * len(basis))
                half = mixed[:, columns] @ basis
                gram += half + half.T + basis.T @ inner[:, columns] @ basis
        return grams


# ---- of votes ------------------------------------------------------------------------------------


def membership(votes: Votes) -> Membership:
    """A^m of votes."""
    order, stores, columns = np.arange(votes.models.n_groups), votes.stores, _columns_of(votes)
    if stores.sparse is not None:
        columns = {}
        if not stores.soft:
            return membership_of(_entries_in_order(votes), prior=votes.prior)
    pays = votes.n_rows * len(columns) >= kernels.LEAST and columns
    loops = kernels.compiled() if pays else None
    matrix = _entries_in_order(votes) if loops is None else None
    codes = None if loops is None else codes_of_columns(columns, len(order))
    return Membership(matrix, order, None, votes.prior, soft_shares(votes), columns, codes, loops)


def _columns_of(votes: Votes) -> Columns:
    """The codes of models, by where their groups begin and end."""
    ends = list(pairwise(votes.models.offsets.tolist()))
    return {ends[m]: codes for m, codes in sorted(votes.stores.hard.items())}


def codes_of_columns(columns: Columns, n_groups: int) -> Array:
    """The group of each vote, models x rows; `n_groups` for a missing one."""
    n_rows, number = len(next(iter(columns.values()))), np.min_scalar_type(n_groups).type
    groups = np.empty((len(columns), n_rows), dtype=number)
    for line, ((first, end), codes) in zip(groups, columns.items(), strict=True):
        line[:] = codes
        line += number(first)
        line[codes >= end - first] = n_groups
    return groups


def entries_of_codes(codes: Array, n_groups: int) -> sparse.csr_array:
    """One entry per vote."""
    groups: Array = codes.T.astype(np.int32, order="C")
    voted = groups < n_groups
    starts = np.concatenate([[0], np.cumsum(np.count_nonzero(voted, axis=1))])
    cast = groups.ravel() if voted.all() else groups[voted]
    return sparse.csr_array((np.ones(len(cast)), cast, starts), shape=(len(groups), n_groups))


def membership_parts(votes: Votes, hard: bool) -> Iterator[tuple[slice, Membership]]:
    """A^m of some rows at a time, which stays in the cache; also of hardened votes if asked."""
    for rows in chunks(votes.n_rows, CHUNK // 8):
        part = only_rows(votes, np.arange(rows.start, rows.stop))
        groups = membership(part)
        if hard and not part.stores.is_hard:
            groups.hard = membership(hardened(part))
        yield rows, groups


def membership_of(
    matrix: sparse.csr_array, hard: sparse.csr_array | None = None, prior: Prior | None = None
) -> Membership:
    """A^m as a matrix; groups without rows are left out, for a crowd may have many."""
    order = np.flatnonzero(np.bincount(matrix.indices, minlength=matrix.shape[1]))
    entries = matrix if len(order) == matrix.shape[1] else matrix[:, order]
    return Membership(entries, order, None if hard is None else membership_of(hard), prior)


def entries(votes: Votes) -> sparse.csr_array:
    """A^m as one sparse matrix, with all groups of the votes."""
    matrix, order = _entries_in_order(votes), np.arange(votes.models.n_groups)
    return Membership(matrix, order, soft=soft_shares(votes)).matrix


def _entries_in_order(votes: Votes) -> sparse.csr_array:
    """The votes that are not in a table of soft votes."""
    stores, n_groups = votes.stores, votes.models.n_groups
    if not stores.hard:
        nothing = sparse.csr_array((votes.n_rows, n_groups))
        return nothing if stores.sparse is None else stores.sparse
    entries = entries_of_codes(codes_of_columns(_columns_of(votes), n_groups), n_groups)
    return entries if stores.sparse is None else sparse.csr_array(entries + stores.sparse)


def votes_cast(votes: Votes) -> tuple[Array, Array, Array]:
    """Each vote that counts: its row, its voter, and what it gives to each class."""
    matrix = entries(votes).tocoo()
    counts = votes.models.is_voter & (votes.weights > 0)
    counted, n_models = counts[votes.models.group_model[matrix.coords[1]]], len(counts)
    (row, group), share = (place[counted] for place in matrix.coords), matrix.data[counted]
    pair = row.astype(np.int64) * n_models + votes.models.group_model[group]
    pair, vote = np.unique(pair, return_inverse=True)
    cast = np.zeros((len(pair), votes.n_classes))
    np.add.at(cast, vote, share[:, None] * group_meaning(votes)[group].toarray())
    rows, voters = np.divmod(pair, n_models)
    return rows, voters, cast


# ---- groups by their numbers in the votes --------------------------------------------------------


def places_in(groups: Membership, numbers: Array) -> Array:
    """The place that each of these groups of the votes has in `groups`, -1 for none."""
    place = np.full(max(int(groups.order.max(initial=-1)), int(numbers.max(initial=-1))) + 1, -1)
    place[groups.order] = np.arange(groups.n_groups)
    return place[numbers]


def scatter_to_votes(votes: Votes, groups: Membership, values: Array) -> Array:
    """`groups.scatter(values)` in the order the votes have their groups in, empty ones included."""
    out = np.zeros((votes.models.n_groups, *values.shape[1:]))
    out[groups.order] = groups.scatter(values)
    return out


def squares_of_votes(votes: Votes, sums: Array) -> Array:
    """The sum of the squares of the votes for each group; `sums` are those of the votes."""
    return sums if votes.stores.is_hard else entries(votes).power(2).T @ votes.counts


def count_classes(
    votes: Votes, groups: Membership, codes: Array, counts: Array, n_classes: int
) -> sparse.csr_array:
    """How much of each class each group of the votes has, if rows have these classes and counts."""
    of_rows = sparse.csr_array(
        (counts, codes, np.arange(groups.n_rows + 1)), shape=(groups.n_rows, n_classes)
    )
    sums = (groups.matrix.T @ of_rows).tocoo()
    group, of_class = sums.coords
    return sparse.csr_array(
        (sums.data, (groups.order[group], of_class)), shape=(votes.models.n_groups, n_classes)
    )


def reached_groups(
    groups: Membership, counts: Array, live: Array, voted: Array, labelled: Array
) -> Array:
    """Which groups are connected with a `voted` group or `labelled` row by rows that count."""
    before, reached = None, voted & live
    while before is None or (reached != before).any():
        before = reached
        rows = (counts > 0) & ((groups.gather(before.astype(np.float64)) > 0) | labelled)
        reached = live & (voted | (groups.scatter(rows.astype(np.float64)) > 0))
    return reached


# ---- counts of pairs -----------------------------------------------------------------------------


def _count_pairs(columns: Columns, n_groups: int, weights: Sequence[Array]) -> list[Array]:
    """How much weight each two groups have in common, from the codes of models.

    A missing vote is a code beyond the groups of its model.
    """
    n_rows = len(next(iter(columns.values())))
    pays = len(weights) * n_rows * len(columns) ** 2 // 2 >= kernels.LEAST
    if pays and (loops := kernels.compiled()) is not None:
        counts = np.zeros((n_groups + 1, n_groups + 1, len(weights)))
        loops.count_pairs(codes_of_columns(columns, n_groups), tuple(weights), counts)
        upper = (np.ascontiguousarray(counts[:-1, :-1, k]) for k in range(len(weights)))
        return [gram + np.triu(gram, 1).T for gram in upper]
    grams = [np.zeros((n_groups, n_groups)) for _ in weights]
    for one, other in combinations_with_replacement(columns, 2):
        sizes = one[1] - one[0], other[1] - other[0]
        pairs = columns[one].astype(np.int64) * (sizes[1] + 1) + columns[other]
        for gram, weight in zip(grams, weights, strict=True):
            both = np.bincount(pairs, weights=weight, minlength=(sizes[0] + 1) * (sizes[1] + 1))
            both = both.reshape(sizes[0] + 1, sizes[1] + 1)[:-1, :-1]
            gram[slice(*one), slice(*other)] = both
            gram[slice(*other), slice(*one)] = both.T
    return grams


# ---- small steps --------------------------------------------------------------------------------


def chunks(n_rows: int, size: int = CHUNK) -> Iterator[slice]:
    """The slices that cut the rows into pieces which fit the cache."""
    return (slice(begin, min(begin + size, n_rows)) for begin in range(0, n_rows, size))


def normalised(sums: Array) -> Array:
    """Rows divided by their sums; rows of zeros stay."""
    totals = sums.sum(axis=-1, keepdims=True)
    return np.divide(sums, totals, out=np.zeros_like(sums, dtype=np.float64), where=totals > 0)


def row_marks(votes: Votes) -> Array:
    """A number for each distinct row that depends on its votes alone, to put rows in order."""
    weights = np.random.default_rng(0).random(votes.models.n_groups)
    marks, stores = np.zeros(votes.n_rows), votes.stores
    for m, (begin, end) in enumerate(pairwise(votes.models.offsets.tolist())):
        if m in stores.hard:  # the last code is that of a missing vote
            marks += np.append(weights[begin:end], 0.0)[stores.hard[m]]
        elif m in stores.soft:
            marks += stores.soft[m] @ weights[begin:end]
    return marks if stores.sparse is None else marks + stores.sparse @ weights


def sample_rows(
    votes: Votes, size: int, kept: Array | None = None, counts: Array | None = None
) -> tuple[Array, Array]:
    """Rows that stand for all, and how often each counts; frequent and kept ones are among them.

    The draw depends on the votes of a row, not on its place: all engines draw the same rows.
    """
    counts = votes.counts if counts is None else counts
    frequent = counts > counts.sum() / size
    if kept is not None:
        frequent |= kept
    rest = drawn = np.flatnonzero(~frequent)
    if len(rest) > size:
        chance = np.modf(1e6 * row_marks(votes)[rest])[0]  # the last digits are as good as random
        drawn = rest[np.argpartition(chance, size)[:size]]
    rows = np.sort(np.concatenate([np.flatnonzero(frequent), drawn]))
    more = float(counts[rest].sum()) / max(float(counts[drawn].sum()), 1e-300)
    return rows, np.where(frequent[rows], 1.0, more) * counts[rows]


def squared_norms(table: Array) -> Array:
    """The squared length of each row."""
    return np.einsum("iz,iz->i", table, table)
