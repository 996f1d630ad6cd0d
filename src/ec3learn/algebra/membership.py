"""The matrices of the paper, as products: none of them is ever larger than the votes.

`membership(votes)` is A^m (rows x groups). It is asked for three things only: `gather` sums a table over an object's groups,
`scatter` sums objects' values into their groups, and `grams` are the weighted A^m' W A^m. A^c = A^m A^m' is never formed.

Two forms of it answer alike. `JointMembership` codes several models into one joint column, so that a pass over the rows serves
them all; it suits hard and soft votes with up to a few thousand groups. `SparseMembership` suits crowds and very many groups.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from ..votes import Votes
from ..votes.layout import SoftShares, entries_of_columns

Array = npt.NDArray[Any]

MOST_JOINT_GROUPS = 3_000  # beyond this a dense groups x groups matrix is no longer small
JOINT_CODES = 1 << 12  # codes of a joint column in gather and scatter: a table of them stays in the cache
GRAM_CODES = 1 << 16  # codes of a joint column in grams: fewer passes matter more
CHUNK = 1 << 16  # rows handled at a time


Part = tuple[slice, Array]  # some rows and what belongs to them
RowWeights = Callable[[slice], Array]  # some rows' weights, rows x weights


class Membership(Protocol):
    """A^m: which row is in which group, by how much. `order` says which group of the votes each of its groups is."""

    n_rows: int
    n_groups: int
    order: Array

    @property
    def matrix(self) -> sparse.csr_array:
        """Return A^m as one sparse matrix."""
        ...

    def gather_parts(self, table: Array) -> Iterator[Part]:
        """Return A^m table, for each row the sum over its groups, some rows at a time."""
        ...

    def gather(self, table: Array) -> Array:
        """Return A^m table: for each row the sum over its groups."""
        ...

    def scatter(self, values: Array) -> Array:
        """Return A^m' values: for each group the sum over its rows."""
        ...

    def grams(self, weights: RowWeights, n_weights: int) -> Array:
        """Return A^m' W A^m for each column of weights, groups x groups, dense."""
        ...


def membership(votes: Votes) -> JointMembership | SparseMembership:
    """Return A^m in the form that suits the votes."""
    if votes.sparse is None and votes.n_groups <= MOST_JOINT_GROUPS:
        return JointMembership(votes)
    return SparseMembership(entries(votes))


def chunks(n_rows: int, size: int = CHUNK) -> Iterator[slice]:
    """Return the slices that cut the rows into pieces which fit the cache."""
    return (slice(begin, min(begin + size, n_rows)) for begin in range(0, n_rows, size))


def scatter_to_votes(votes: Votes, groups: Membership, values: Array) -> Array:
    """Return `groups.scatter(values)` in the order the votes have their groups in, empty ones included."""
    out = np.zeros((votes.n_groups, *values.shape[1:]))
    out[groups.order] = groups.scatter(values)
    return out


def entries(votes: Votes) -> sparse.csr_array:
    """Return A^m as one sparse matrix."""
    sizes = [model.n_groups for model in votes.models]
    shape = (votes.n_rows, votes.n_groups)
    parts = [] if votes.sparse is None else [votes.sparse]
    if votes.hard:
        parts.append(entries_of_columns(votes.hard, votes.offsets, sizes))
    if votes.soft is not None:
        soft = votes.soft
        shares = sparse.csr_array(np.hstack([soft.shares_of(model) for model in soft.models]))
        columns = np.concatenate([votes.offsets[model.number] + np.arange(model.n_groups) for model in soft.models])
        parts.append(sparse.csr_array((shares.data, columns[shares.indices], shares.indptr), shape=shape))
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return sparse.csr_array(total)


def reached_groups(groups: Membership, counts: Array, live: Array, voted: Array, labelled: Array) -> Array:
    """Return which groups are connected, over any number of shared rows that count, with a `voted` group or `labelled` row."""
    reached = voted & live
    for _ in range(10):  # a few passes reach everything but long chains
        rows = (counts > 0) & ((groups.gather(reached.astype(np.float64)) > 0) | labelled)
        further = live & (voted | (groups.scatter(rows.astype(np.float64)) > 0))
        if (further == reached).all():
            return reached
        reached = further
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


class SparseMembership:
    """A^m as two sparse matrices: groups that rows share, and groups of a single row, which fine clusterings have many of.

    Its groups have an order of their own, shared ones first, so that a table over groups is cut in two instead of picked from:
    `order` says which group of the votes each is. Groups without members are left out.
    """

    def __init__(self, matrix: sparse.csr_array) -> None:
        n_rows, n_groups = matrix.shape
        several = np.bincount(matrix.indices, minlength=n_groups) > 1
        stays = several[matrix.indices]
        width = matrix.indices.dtype
        shared_groups = np.flatnonzero(several)
        number = np.cumsum(several, dtype=width) - width.type(1)
        before = np.zeros(matrix.nnz + 1, dtype=width)
        np.cumsum(stays, out=before[1:])
        starts = before[matrix.indptr]
        del before
        hard = matrix.data.size == 0 or (matrix.data.min() == 1 and matrix.data.max() == 1)
        kept = matrix.indices[stays]
        shared = (np.ones(len(kept)) if hard else matrix.data[stays], number[kept], starts)
        self.shared = sparse.csr_array(shared, shape=(n_rows, len(shared_groups)))
        alone = ~stays
        solo_groups = matrix.indices[alone]
        solo = (
            np.ones(len(solo_groups)) if hard else matrix.data[alone],
            np.arange(len(solo_groups), dtype=width),
            matrix.indptr - starts,
        )
        self.solo = sparse.csr_array(solo, shape=(n_rows, len(solo_groups)))
        self.order = np.concatenate([shared_groups.astype(width), solo_groups])
        self.n_rows, self.n_groups = n_rows, len(self.order)

    @property
    def matrix(self) -> sparse.csr_array:
        """Return A^m as one sparse matrix."""
        return sparse.hstack([self.shared, self.solo], format="csr")

    def gather_parts(self, table: Array) -> Iterator[Part]:
        """Return A^m table, for each row the sum over its groups, some rows at a time."""
        shared, solo = self.split(table)
        for rows in chunks(self.n_rows):
            yield rows, np.asarray(self.shared[rows] @ shared) + np.asarray(self.solo[rows] @ solo)

    def gather(self, table: Array) -> Array:
        """Return A^m table: for each row the sum over its groups."""
        shared, solo = self.split(table)
        return _by_columns(self.shared, shared) + _by_columns(self.solo, solo)

    def scatter(self, values: Array) -> Array:
        """Return A^m' values: for each group the sum over its rows."""
        out = np.empty((self.n_groups, *values.shape[1:]))
        shared, solo = self.split(out)
        shared[:] = _by_columns(self.shared.T, values)
        solo[:] = _by_columns(self.solo.T, values)
        return out

    def split(self, table: Array) -> tuple[Array, Array]:
        """Return a table over groups in two: of the shared ones, and of those with a single row."""
        return table[: self.shared.shape[1]], table[self.shared.shape[1] :]

    def grams(self, weights: RowWeights, n_weights: int) -> Array:
        """Return A^m' W A^m for each column of weights, groups x groups, dense."""
        matrix, columns = self.matrix, weights(slice(0, self.n_rows)).T
        return np.stack([(matrix.T @ matrix.multiply(column[:, None]).tocsr()).toarray() for column in columns])


def _by_columns(matrix: Any, values: Array) -> Array:
    """Return the product with a table a column at a time, which is faster for few columns."""
    if values.ndim == 1 or not 1 <= values.shape[1] <= 4:
        return np.asarray(matrix @ values)
    return np.stack([matrix @ np.ascontiguousarray(column) for column in values.T], axis=1)


class JointMembership:
    """A^m as joint columns: one whole number a row says the groups of several models at once."""

    def __init__(self, votes: Votes) -> None:
        self._votes = votes
        self.n_rows, self.n_groups = votes.n_rows, votes.n_groups
        self.order = np.arange(self.n_groups)
        self._codes = dict(votes.hard)
        self._first_group = votes.offsets
        # A missing vote is a code of its own behind the groups, which no table has an entry for.
        self._n_groups_of = [model.n_groups for model in votes.models]
        self._n_codes = {m: self._n_groups_of[m] + bool((codes == self._n_groups_of[m]).any()) for m, codes in votes.hard.items()}
        self._blocks = _blocks(self._n_codes, JOINT_CODES)
        self._keys = [self._joint_column(block, slice(None), np.dtype(np.uint16)) for block in self._blocks]
        self.n_columns = len(self._blocks) + (votes.soft is not None)
        self._soft = votes.soft
        if votes.soft is not None:
            self._soft_groups = np.concatenate([self._groups(model.number) for model in votes.soft.models])
            self._basis = votes.soft.basis()

    def gather_parts(self, table: Array) -> Iterator[Part]:
        """Return A^m table, for each row the sum over its groups, some rows at a time."""
        joint_tables = [self._joint_table(block, table) for block in self._blocks]
        soft_table = None if self._soft is None else self._basis @ table[self._soft_groups]
        for rows in chunks(self.n_rows, CHUNK if table.ndim == 1 else CHUNK // 8):
            if self._soft is None:
                out = np.zeros((rows.stop - rows.start, *table.shape[1:]))
            else:
                out = self._soft.table[rows] @ soft_table
            for keys, joint in zip(self._keys, joint_tables, strict=True):
                out += np.take(joint, keys[rows], axis=0)
            yield rows, out

    def gather(self, table: Array) -> Array:
        """Return A^m table: for each row the sum over its groups."""
        out = np.empty((self.n_rows, *table.shape[1:]))
        for rows, values in self.gather_parts(table):
            out[rows] = values
        return out

    def scatter(self, values: Array) -> Array:
        """Return A^m' values: for each group the sum over its rows."""
        columns = values.reshape(self.n_rows, math.prod(values.shape[1:]))
        width = columns.shape[1]
        sums = self.empty_blocks(width)
        soft_sums = np.zeros((0 if self._soft is None else self._soft.table.shape[1], width))
        for rows in chunks(self.n_rows):
            self.add_to_blocks(rows, columns[rows], sums)
            if self._soft is not None:
                soft_sums += self._soft.table[rows].T @ columns[rows]
        out = self.fold_blocks(sums, width)
        if self._soft is not None:
            out[self._soft_groups] = self._basis.T @ soft_sums
        return out.reshape(self.n_groups, *values.shape[1:])

    def grams(self, weights: RowWeights, n_weights: int) -> Array:
        """Return A^m' W A^m for each column of weights, groups x groups, dense."""
        out = np.zeros((n_weights, self.n_groups, self.n_groups))
        blocks = _pair_cover(self._n_codes, min(GRAM_CODES, max(JOINT_CODES, self.n_rows // 4)))
        sizes = [[self._n_codes[m] for m in block] for block in blocks]
        counts = [np.zeros((math.prod(size), n_weights)) for size in sizes]
        soft = None if self._soft is None else _SoftGrams(self, self._soft, self._basis, n_weights)
        for rows in chunks(self.n_rows, 4 * CHUNK if soft is None else CHUNK // 8):
            columns = weights(rows)
            for block, total in zip(blocks, counts, strict=True):
                total += _sums_by_key(self._joint_column(block, rows, np.dtype(np.int32)), columns, len(total))
            if soft is not None:
                soft.add(rows, columns)
        for block, size, total in zip(blocks, sizes, counts, strict=True):
            self._read_pairs(block, np.ascontiguousarray(total.T).reshape(n_weights, *size), out)
        if soft is not None:
            soft.write(self._soft_groups, out)
        return out

    @property
    def matrix(self) -> sparse.csr_array:
        """Return A^m as a sparse matrix."""
        return entries(self._votes)

    # ---- hard votes --------------------------------------------------------------------------------------------------

    def _span(self, m: int) -> slice:
        return slice(int(self._first_group[m]), int(self._first_group[m + 1]))

    def _groups(self, m: int) -> Array:
        return np.arange(self._first_group[m], self._first_group[m + 1])

    def _joint_column(self, block: Sequence[int], rows: slice, dtype: np.dtype[Any]) -> Array:
        """Return one number a row for the codes of several models, the last model's digit changing fastest."""
        joint = self._codes[block[0]][rows].astype(dtype)
        for m in block[1:]:
            joint *= dtype.type(self._n_codes[m])
            joint += self._codes[m][rows].astype(dtype, copy=False)
        return joint

    def _joint_table(self, block: Sequence[int], table: Array) -> Array:
        """Return for each joint code the sum of the tables of its groups."""
        joint = np.zeros((1, *table.shape[1:]))
        for m in block:
            own = np.zeros((self._n_codes[m], *table.shape[1:]))
            own[: self._n_groups_of[m]] = table[self._span(m)]
            joint = (joint[:, None] + own[None, :]).reshape(len(joint) * len(own), *table.shape[1:])
        return joint

    def _fold(self, block: Sequence[int], sums: Array, out: Array) -> None:
        """Add the sums by joint code up for each model's groups."""
        cube = sums.reshape(*[self._n_codes[m] for m in block], *sums.shape[1:])
        for axis, m in enumerate(block):
            own = cube.sum(axis=tuple(a for a in range(len(block)) if a != axis))
            out[self._span(m)] = own[: self._n_groups_of[m]]

    def _read_pairs(self, block: Sequence[int], cube: Array, out: Array) -> None:
        """Read the counts of all pairs of groups off the counts of a joint column: the last model's pairs, then without it."""
        while block:
            *others, last = block
            with_last = cube
            for m in reversed(others):  # pairs (first model, last) are read from the smallest cube
                both = with_last.sum(axis=tuple(range(1, with_last.ndim - 2)))
                first, second = self._span(m), self._span(last)
                out[:, first, second] = both[:, : self._n_groups_of[m], : self._n_groups_of[last]]
                out[:, second, first] = out[:, first, second].transpose(0, 2, 1)
                with_last = with_last.sum(axis=-2)
            groups = self._groups(last)
            out[:, groups, groups] = with_last[:, : len(groups)]
            block, cube = others, cube.sum(axis=-1)

    def add_to_blocks(self, rows: slice, values: Array, sums: Sequence[Array]) -> None:
        """Add some rows' values up by joint code, a table of sums a block."""
        for keys, total in zip(self._keys, sums, strict=True):
            total += _sums_by_key(keys[rows], values, len(total))

    def empty_blocks(self, width: int) -> list[Array]:
        """Return a table of zeros for each block."""
        return [np.zeros((math.prod(self._n_codes[m] for m in block), width)) for block in self._blocks]

    def fold_blocks(self, sums: Sequence[Array], width: int) -> Array:
        """Return the sums by joint code added up for each group."""
        out = np.zeros((self.n_groups, width))
        for block, total in zip(self._blocks, sums, strict=True):
            self._fold(block, total, out)
        return out


class _SoftGrams:
    """The part of the Gram matrices that soft votes have a hand in: among themselves, and with hard votes."""

    def __init__(self, groups: JointMembership, soft: SoftShares, basis: Array, n_weights: int) -> None:
        self.groups, self.table, self.basis, self.n_weights = groups, soft.table, basis, n_weights
        self.width = basis.shape[0]
        self.inner = np.zeros((self.width, n_weights * self.width))
        self.across = groups.empty_blocks(n_weights * self.width)

    def add(self, rows: slice, weights: Array) -> None:
        table = np.ascontiguousarray(self.table[rows])
        weighted = (weights[:, :, None] * table[:, None, :]).reshape(len(table), -1)
        self.inner += table.T @ weighted
        self.groups.add_to_blocks(rows, weighted, self.across)

    def write(self, soft_groups: Array, out: Array) -> None:
        across = self.groups.fold_blocks(self.across, self.n_weights * self.width)
        for i in range(self.n_weights):
            columns = slice(i * self.width, (i + 1) * self.width)
            mixed = across[:, columns] @ self.basis
            out[i][:, soft_groups] += mixed
            out[i][soft_groups] += mixed.T
            out[i][np.ix_(soft_groups, soft_groups)] = self.basis.T @ self.inner[:, columns] @ self.basis


def _sums_by_key(keys: Array, values: Array, n_keys: int) -> Array:
    """Return for each key the sum of the values that have it."""
    if values.shape[1] == 1:
        return np.bincount(keys, weights=values[:, 0], minlength=n_keys)[:, None]
    index = keys.astype(np.int32, copy=False)
    one_hot = sparse.csc_array(
        (np.ones(len(index)), index, np.arange(len(index) + 1, dtype=np.int32)), shape=(n_keys, len(index))
    )
    return np.asarray(one_hot @ values)


def _blocks(n_codes: dict[int, int], most: int) -> list[list[int]]:
    """Put models into as few blocks as first-fit finds, none with more than `most` joint codes (a model alone may have)."""
    blocks: list[list[int]] = []
    for m in sorted(n_codes, key=lambda m: -n_codes[m]):
        for block in blocks:
            if math.prod(n_codes[k] for k in block) * n_codes[m] <= most:
                block.append(m)
                break
        else:
            blocks.append([m])
    return blocks


def _pair_cover(n_codes: dict[int, int], most: int) -> list[list[int]]:
    """Return blocks of models so that any two models meet in one: each starts with an open pair and takes in who closes most."""
    models = sorted(n_codes, key=lambda m: -n_codes[m])
    if len(models) == 1:
        return [models]
    open_pairs = {frozenset(pair) for pair in combinations(models, 2)}
    cover = []
    while open_pairs:
        block = list(max(open_pairs, key=lambda pair: (math.prod(n_codes[m] for m in pair), sorted(pair))))
        while True:
            room = most // math.prod(n_codes[m] for m in block)
            gains = {
                m: sum(frozenset((m, k)) in open_pairs for k in block) for m in models if m not in block and n_codes[m] <= room
            }
            if not any(gains.values()):
                break
            block.append(max(gains, key=lambda m: (gains[m], -n_codes[m])))
        open_pairs -= {frozenset(pair) for pair in combinations(block, 2)}
        cover.append(block)
    return cover
