"""How memberships are kept that are not one whole number an object: soft votes, and votes that are nearly all missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

Array = npt.NDArray[Any]


def frozen(array: Array) -> Array:
    """Make an array of our own unwritable and return it."""
    array.flags.writeable = False
    return array


@dataclass(frozen=True, eq=False)
class SoftShares:
    """Soft votes of several models without the column that follows from the others.

    `table` has a first column of ones, and for each model its shares but the last, then (only where votes are missing) a
    column that is 0 where the model did not vote. `last_column` is the number of that column, or 0, for the one of ones.
    """

    models: tuple[int, ...]
    first_column: tuple[int, ...]
    last_column: tuple[int, ...]
    table: Array

    @classmethod
    def stacked(cls, tables: Mapping[int, Array]) -> SoftShares:
        """Stack tables of shares (rows of NaN are missing votes), given by the number of their model."""
        absent = {m: np.isnan(table[:, 0]) for m, table in tables.items()}
        n_rows = len(next(iter(tables.values())))
        widths = {m: table.shape[1] - 1 + bool(absent[m].any()) for m, table in tables.items()}
        stacked = np.empty((n_rows, 1 + sum(widths.values())), order="F")
        stacked[:, 0] = 1
        first, last, column = [], [], 1
        for m, table in tables.items():
            end = column + table.shape[1] - 1
            stacked[:, column:end] = table[:, :-1]
            first.append(column)
            last.append(end if absent[m].any() else 0)
            if absent[m].any():
                stacked[absent[m], column:end] = 0
                stacked[:, end] = ~absent[m]
            column += widths[m]
        return cls(tuple(tables), tuple(first), tuple(last), frozen(stacked))

    def basis(self, n_groups: Sequence[int]) -> Array:
        """Return the matrix B with `table @ B` = the shares of all the groups of these models, side by side."""
        blocks = []
        for first, last, size in zip(self.first_column, self.last_column, n_groups, strict=True):
            block = np.zeros((self.table.shape[1], size))
            block[first : first + size - 1, : size - 1] = np.eye(size - 1)
            block[first : first + size - 1, -1] = -1
            block[last, -1] = 1
            blocks.append(block)
        return np.hstack(blocks)

    def take(self, rows: Array) -> SoftShares:
        """Return the shares of some rows."""
        return replace(self, table=frozen(np.asfortranarray(self.table[rows])))

    def joined(self, other: SoftShares, shift: int) -> SoftShares:
        """Return these models beside others, whose numbers are moved by `shift`; the column of ones is shared."""
        more = self.table.shape[1] - 1
        return SoftShares(
            self.models + tuple(m + shift for m in other.models),
            self.first_column + tuple(column + more for column in other.first_column),
            self.last_column + tuple(column + more if column else 0 for column in other.last_column),
            frozen(np.asfortranarray(np.hstack([self.table, other.table[:, 1:]]))),
        )

    def only(self, number: Mapping[int, int], n_groups: Sequence[int]) -> SoftShares | None:
        """Return the shares of the models that are keys of `number`, renumbered; `n_groups` is by the old numbers."""
        kept = [i for i, m in enumerate(self.models) if m in number]
        columns, first, last = [0], [], []
        for i in kept:
            begin, end = self.first_column[i], self.first_column[i] + n_groups[self.models[i]] - 1
            first.append(len(columns))
            columns += range(begin, end)
            last.append(len(columns) if self.last_column[i] else 0)
            columns += [self.last_column[i]] if self.last_column[i] else []
        models = tuple(number[self.models[i]] for i in kept)
        return SoftShares(models, tuple(first), tuple(last), frozen(self.table[:, columns])) if kept else None


def entries_of_votes(objects: Array, groups: Array, shape: tuple[int, int]) -> sparse.csr_array:
    """Return one entry a vote from votes sorted by object."""
    width = np.int32 if max(*shape, len(groups)) < 1 << 31 else np.int64
    starts = np.concatenate([[0], np.cumsum(np.bincount(objects, minlength=shape[0]))])
    return sparse.csr_array((np.ones(len(groups)), groups.astype(width), starts.astype(width)), shape=shape)


def entries_of_columns(columns: Mapping[int, Array], offsets: Array, missing: Sequence[int]) -> sparse.csr_array:
    """Return one entry a vote from columns of codes by the number of their model; a code of `missing[m]` is no vote."""
    models = list(columns)
    n_rows = len(columns[models[0]])
    first_group, no_vote = offsets[models], np.array([missing[m] for m in models])
    objects, groups = [], []
    step = max(1, (1 << 20) // len(models))
    for begin in range(0, n_rows, step):
        codes = np.stack([columns[m][begin : begin + step] for m in models], axis=1)
        row, column = np.nonzero(codes != no_vote)
        objects.append((row + begin).astype(np.int32))
        groups.append((codes[row, column] + first_group[column]).astype(np.int32 if offsets[-1] < 1 << 31 else np.int64))
    return entries_of_votes(np.concatenate(objects), np.concatenate(groups), (n_rows, int(offsets[-1])))


def joined_entries(left: sparse.csr_array, right: sparse.csr_array) -> sparse.csr_array:
    """Return the entries of both, right's groups after left's."""
    return sparse.hstack([left, right], format="csr")


def widened_entries(entries: sparse.csr_array, before: int, after: int) -> sparse.csr_array:
    """Return the entries with empty groups before and after them."""
    shape = (entries.shape[0], before + entries.shape[1] + after)
    return sparse.csr_array((entries.data, entries.indices + entries.indices.dtype.type(before), entries.indptr), shape=shape)
