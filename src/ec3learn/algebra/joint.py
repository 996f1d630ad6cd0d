"""A^m as joint columns, for hard and soft votes with up to a few thousand groups.

Three voters with 4 classes each have 64 joint codes. So one integer per row holds what all three
voted, and one look-up in a table of 64 entries sums over the row's three groups: a pass over the
rows serves several models. Pairs of groups are counted the same way: the count of any pair follows
from the counts of all joint codes by addition.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Array
from ..votes import Votes
from ..votes.layout import SoftShares
from .linear import CHUNK, chunks
from .sparse import Membership, Weights, entries

JOINT_CODES = (
    1 << 12
)  # codes of a joint column in gather and scatter: a table of them stays in the cache
GRAM_CODES = 1 << 16  # codes of a joint column in grams: fewer passes matter more


class JointMembership(Membership):
    """A^m as joint columns of hard votes, and as the table of the soft ones. No group is set apart for having a single row."""

    hard = None
    n_weighed = CHUNK // 8  # rows with soft votes that are weighed at a time
    _gram_codes = GRAM_CODES

    def __init__(self, votes: Votes) -> None:
        self._votes = votes
        self.n_rows, self.n_groups, self.prior = votes.n_rows, votes.models.n_groups, votes.prior
        self.n_shared, self.order = self.n_groups, np.arange(self.n_groups)
        self._codes = dict(votes.stores.hard)
        self._first_group = votes.models.offsets
        # A missing vote is one more code after those of the groups, for which no table has an
        # entry.
        self._n_groups_of = [model.n_groups for model in votes.models]
        self._n_codes = {
            m: self._n_groups_of[m] + bool((codes == self._n_groups_of[m]).any())
            for m, codes in votes.stores.hard.items()
        }
        self._blocks = self._joined(votes.n_classes)
        self._first_code = np.cumsum(
            [0, *(math.prod(self._n_codes[m] for m in block) for block in self._blocks)]
        )
        self._soft = votes.stores.soft
        if votes.stores.soft is not None:
            self._soft_groups = np.concatenate(
                [self._groups(model.number) for model in votes.stores.soft.models]
            )
            self._basis = votes.stores.soft.basis()
        n_columns = len(self._blocks) + (votes.stores.soft is not None)
        self.gram_cost, self.product_cost = (
            15.0 * self.n_rows * n_columns**2,
            5.0 * self.n_rows * n_columns,
        )

    def _joined(self, n_classes: int) -> list[list[int]]:
        """Return the models of each joint column."""
        return blocks_of(self._n_codes, JOINT_CODES)

    @property
    def matrix(self) -> sparse.csr_array:
        """Return A^m as one sparse matrix."""
        return entries(self._votes)

    @cached_property
    def keys(self) -> Array:
        """Return the joint column of each block, one after the other."""
        keys = np.empty((len(self._blocks), self.n_rows), dtype=np.uint16)
        for column, block in zip(keys, self._blocks, strict=True):
            column[:] = self._joint_column(block, slice(None), np.dtype(np.uint16))
        return keys

    def gather_parts(self, table: Any) -> Iterator[tuple[slice, Array]]:
        """Return A^m table, some rows at a time; a sparse table is made dense, for there are few groups."""
        if sparse.issparse(table):
            table = table.toarray()
        joint_tables = self.joint_tables(table)
        soft_table = None if self._soft is None else self._basis @ table[self._soft_groups]
        for rows in chunks(self.n_rows, CHUNK if table.ndim == 1 else CHUNK // 8):
            if self._soft is None:
                out = np.zeros((rows.stop - rows.start, *table.shape[1:]))
            else:
                out = self._soft.table[rows] @ soft_table
            for keys, joint in zip(self.keys, joint_tables, strict=True):
                out += np.take(joint, keys[rows], axis=0)
            yield rows, out

    def gather(self, table: Array) -> Array:
        """Return A^m table."""
        out = np.empty((self.n_rows, *table.shape[1:]))
        for rows, values in self.gather_parts(table):
            out[rows] = values
        return out

    def scatter(self, values: Array) -> Array:
        """Return A^m' values."""
        columns = values.reshape(self.n_rows, math.prod(values.shape[1:]))
        width = columns.shape[1]
        sums = self.empty_sums(width)
        soft_sums = np.zeros((0 if self._soft is None else self._soft.table.shape[1], width))
        for rows in chunks(self.n_rows):
            self.add_to_sums(rows, columns[rows], sums)
            if self._soft is not None:
                soft_sums += self._soft.table[rows].T @ columns[rows]
        out = self.fold_sums(sums, width)
        if self._soft is not None:
            out[self._soft_groups] = self._basis.T @ soft_sums
        return out.reshape(self.n_groups, *values.shape[1:])

    def count_classes(self, codes: Array, counts: Array, n_classes: int) -> sparse.csr_array:
        """Return how much of each class each group has: rows have these classes and counts."""
        one_hot = np.zeros((self.n_rows, n_classes))
        one_hot[np.arange(self.n_rows), codes] = counts
        return sparse.csr_array(self.scatter(one_hot))

    gather_shared, scatter_shared = gather, scatter

    def grams(self, weights: Weights, n_whole: int, rows: Array) -> tuple[Array, Array]:
        """Return A^m' W A^m for each of some weights, groups x groups, dense; see `Membership`."""
        n_weights = len(weights)
        blocks = _pair_cover(
            self._n_codes, min(self._gram_codes, max(JOINT_CODES, self.n_rows // 4))
        )
        sizes = [[self._n_codes[m] for m in block] for block in blocks]
        first = np.cumsum([0, *map(math.prod, sizes)])
        counts = np.zeros((first[-1], n_weights))
        together = (
            8 * CHUNK if self._soft is None else CHUNK // 8
        )  # counts are read and written once for each
        columns = np.empty((min(self.n_rows, together), n_weights))
        soft = None if self._soft is None else _SoftGrams(self, self._soft, self._basis, n_weights)
        for part in chunks(self.n_rows, together):
            own = columns[: part.stop - part.start]
            self._multiply(weights, part, own)
            self._count(blocks, first, part, own, counts)
            if soft is not None:
                soft.add(part, own)
        pairs = _Pairs(self.n_groups, n_weights, n_whole if soft is None else n_weights, rows)
        for block, size, begin, end in zip(blocks, sizes, first, first[1:], strict=False):
            asked = n_weights if any(pairs.asks(self._span(m)) for m in block) else pairs.n_whole
            cube = np.ascontiguousarray(counts[begin:end, :asked].T)
            self._read_pairs(block, cube.reshape(-1, *size), pairs)
        if soft is None:
            return pairs.whole, pairs.rows
        soft.write(self._soft_groups, pairs.whole)
        return pairs.whole[:n_whole], pairs.whole[n_whole:, rows]

    def _multiply(self, weights: Weights, rows: slice, out: Array) -> None:
        """Set the columns of a table to the weights of some rows."""
        for part in chunks(len(out), CHUNK // 8):
            some = slice(rows.start + part.start, rows.start + part.stop)
            for k, weight in enumerate(weights):
                out[part, k] = math.prod(column[some] for column in weight)

    def _count(
        self,
        blocks: Sequence[Sequence[int]],
        first: Array,
        rows: slice,
        columns: Array,
        counts: Array,
    ) -> None:
        """Add some rows' weights to the counts of the joint codes of all blocks, which stand one after the other."""
        for block, begin, end in zip(blocks, first, first[1:], strict=False):
            counts[begin:end] += _sums_by_key(
                self._joint_column(block, rows, np.dtype(np.int32)), columns, end - begin
            )

    # ---- sums by joint code ----------------------------------------------------------------------

    def empty_sums(self, width: int) -> list[Array]:
        """Return a table of zeros for each joint column, with one row per code."""
        return [
            np.zeros((math.prod(self._n_codes[m] for m in block), width)) for block in self._blocks
        ]

    def add_to_sums(self, rows: slice, values: Array, sums: Sequence[Array]) -> None:
        """Add some rows' values to the sums by joint code."""
        for keys, total in zip(self.keys, sums, strict=True):
            total += _sums_by_key(keys[rows], values, len(total))

    def weigh(
        self, rows: slice, table: Array, weights: Array, out: Array, sums: Sequence[Array]
    ) -> None:
        """Set `out` to each weight times each column of a table of some rows, and add it to the sums by joint code."""
        n, n_columns = table.shape
        np.multiply(weights[:, :, None], table[:, None, :], out=out.reshape(n, -1, n_columns))
        self.add_to_sums(rows, out, sums)

    def fold_sums(self, sums: Sequence[Array], width: int) -> Array:
        """Return the sums by group: over all joint codes in which the group occurs."""
        out = np.zeros((self.n_groups, width))
        for block, total in zip(self._blocks, sums, strict=True):
            cube = total.reshape(*[self._n_codes[m] for m in block], width)
            for axis, m in enumerate(block):
                own = cube.sum(axis=tuple(a for a in range(len(block)) if a != axis))
                out[self._span(m)] = own[: self._n_groups_of[m]]
        return out

    # ---- joint columns ---------------------------------------------------------------------------

    def _span(self, m: int) -> slice:
        return slice(int(self._first_group[m]), int(self._first_group[m + 1]))

    def _groups(self, m: int) -> Array:
        return np.arange(self._first_group[m], self._first_group[m + 1])

    def _joint_column(self, block: Sequence[int], rows: slice, dtype: np.dtype[Any]) -> Array:
        """Return one integer per row for the codes of several models, the last model's digit changing fastest."""
        joint = self._codes[block[0]][rows].astype(dtype)
        for m in block[1:]:
            joint *= dtype.type(self._n_codes[m])
            joint += self._codes[m][rows].astype(dtype, copy=False)
        return joint

    def joint_tables(self, table: Array) -> list[Array]:
        """Return for each joint column a table with one row per code: the sum of a table over groups for its groups."""
        return [self._joint_table(block, table) for block in self._blocks]

    def _joint_table(self, block: Sequence[int], table: Array) -> Array:
        """Return for each joint code the sum of the table's rows for its groups."""
        joint = np.zeros((1, *table.shape[1:]))
        for m in block:
            own = np.zeros((self._n_codes[m], *table.shape[1:]))
            own[: self._n_groups_of[m]] = table[self._span(m)]
            joint = (joint[:, None] + own[None, :]).reshape(len(joint) * len(own), *table.shape[1:])
        return joint

    def _read_pairs(self, block: Sequence[int], cube: Array, pairs: _Pairs) -> None:
        """Read the counts of all pairs of groups off the counts of joint codes: the last model's pairs, then without it."""
        while block:
            *others, last = block
            with_last = cube
            for m in reversed(others):  # pairs (first model, last) are read from the smallest cube
                both = with_last.sum(axis=tuple(range(1, with_last.ndim - 2)))
                pairs.write(
                    self._span(m),
                    self._span(last),
                    both[:, : self._n_groups_of[m], : self._n_groups_of[last]],
                )
                with_last = with_last.sum(axis=-2)
            pairs.write_own(self._groups(last), with_last[:, : self._n_groups_of[last]])
            block, cube = others, cube.sum(axis=-1)


class _Pairs:
    """Gram matrices as they are filled: whole ones for the first weights, and of the others only some rows."""

    def __init__(self, n_groups: int, n_weights: int, n_whole: int, rows: Array) -> None:
        self.whole = np.zeros((n_whole, n_groups, n_groups))
        self.rows = np.zeros((n_weights - n_whole, len(rows), n_groups))
        self.n_whole, self.row_of = n_whole, np.full(n_groups, -1)
        self.row_of[rows] = np.arange(len(rows))

    def asks(self, groups: slice) -> bool:
        """Return whether there are rows for some of these groups."""
        return bool((self.row_of[groups] >= 0).any())

    def write(self, first: slice, second: slice, both: Array) -> None:
        """Write the counts of the pairs of two models, for the weights that were counted."""
        for one, other, table in ((first, second, both), (second, first, both.transpose(0, 2, 1))):
            self.whole[:, one, other] = table[: self.n_whole]
            asked = np.flatnonzero(self.row_of[one] >= 0)
            if len(asked):
                self.rows[:, self.row_of[one][asked], other] = table[self.n_whole :, asked]

    def write_own(self, groups: Array, counted: Array) -> None:
        """Write how much each group of a model was counted."""
        self.whole[:, groups, groups] = counted[: self.n_whole]
        asked = np.flatnonzero(self.row_of[groups] >= 0)
        if len(asked):
            self.rows[:, self.row_of[groups[asked]], groups[asked]] = counted[self.n_whole :, asked]


class _SoftGrams:
    """The part of the Gram matrices that involves soft votes: among themselves, and with hard votes.

    Soft shares are table x basis, so their Gram matrix is basis' (table' W table) basis.
    """

    def __init__(
        self, groups: JointMembership, soft: SoftShares, basis: Array, n_weights: int
    ) -> None:
        self.groups, self.table, self.basis, self.n_weights = groups, soft.table, basis, n_weights
        self.width = basis.shape[0]
        self.inner = np.zeros((self.width, n_weights * self.width))
        self.across = groups.empty_sums(n_weights * self.width)
        self.weighted = np.empty((groups.n_weighed, n_weights * self.width))

    def add(self, rows: slice, weights: Array) -> None:
        for part in chunks(len(weights), self.groups.n_weighed):
            own = slice(rows.start + part.start, rows.start + part.stop)
            table = np.ascontiguousarray(self.table[own])
            weighted = self.weighted[: len(table)]
            self.groups.weigh(own, table, weights[part], weighted, self.across)
            self.inner += table.T @ weighted

    def write(self, soft_groups: Array, out: Array) -> None:
        across = self.groups.fold_sums(self.across, self.n_weights * self.width)
        for i in range(self.n_weights):
            columns = slice(i * self.width, (i + 1) * self.width)
            mixed = across[:, columns] @ self.basis
            out[i][:, soft_groups] += mixed
            out[i][soft_groups] += mixed.T
            out[i][np.ix_(soft_groups, soft_groups)] = (
                self.basis.T @ self.inner[:, columns] @ self.basis
            )


def _sums_by_key(keys: Array, values: Array, n_keys: int) -> Array:
    """Return for each key the sum of the values that have it."""
    if values.shape[1] == 1:
        return np.bincount(keys, weights=values[:, 0], minlength=n_keys)[:, None]
    index = keys.astype(np.int32, copy=False)
    one_hot = sparse.csc_array(
        (np.ones(len(index)), index, np.arange(len(index) + 1, dtype=np.int32)),
        shape=(n_keys, len(index)),
    )
    return np.asarray(one_hot @ values)


def blocks_of(n_codes: dict[int, int], most: int) -> list[list[int]]:
    """Put models into as few blocks as first-fit finds, none with more than `most` joint codes unless it is a single model."""
    blocks: list[list[int]] = []
    sizes: list[int] = []
    for m in sorted(n_codes, key=lambda m: -n_codes[m]):
        fitting = (b for b, size in enumerate(sizes) if size * n_codes[m] <= most)
        b = next(fitting, len(blocks))
        if b == len(blocks):
            blocks.append([])
            sizes.append(1)
        blocks[b].append(m)
        sizes[b] *= n_codes[m]
    return blocks


def _pair_cover(n_codes: dict[int, int], most: int) -> list[list[int]]:
    """Return blocks of models such that any two models meet in one of them.

    Greedily: each block starts with a pair that has not met yet, and takes in whoever completes
    most such pairs.
    """
    models = sorted(n_codes, key=lambda m: -n_codes[m])
    if len(models) == 1:
        return [models]
    unmet = {m: set(models) - {m} for m in models}
    cover = []
    for pair in sorted(
        combinations(models, 2),
        key=lambda pair: (n_codes[pair[0]] * n_codes[pair[1]], sorted(pair)),
        reverse=True,
    ):
        if pair[1] not in unmet[pair[0]]:
            continue
        block, size = set(pair), n_codes[pair[0]] * n_codes[pair[1]]
        while gains := {
            m: len(unmet[m] & block) for m in models if m not in block and n_codes[m] * size <= most
        }:
            best = max(gains, key=lambda m: (gains[m], -n_codes[m]))
            if not gains[best]:
                break
            block.add(best)
            size *= n_codes[best]
        for m in block:
            unmet[m] -= block
        cover.append(sorted(block, key=models.index))
    return cover
