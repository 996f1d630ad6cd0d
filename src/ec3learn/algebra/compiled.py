"""A^m by compiled loops, for large tables of hard votes with up to a few thousand groups."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Array
from ..kernels import each_in_threads, in_threads
from ..votes import Votes
from .joint import JointMembership
from .linear import CHUNK, chunks

WIDTH = 6  # weights that `add_six` counts at a time


class CompiledMembership(JointMembership):
    """A^m as the numbers of each row's groups. A loop reads them row by row, since a table over groups fits the cache.

    A missing vote is one group more, for which tables have zeros.
    """

    _gram_codes = 1 << 14  # six counts of each fit the cache

    def __init__(self, votes: Votes, loops: Any) -> None:
        super().__init__(votes)
        self._loops = loops
        self._places = np.empty((self.n_rows, len(self._codes)), dtype=np.uint16)
        for rows in chunks(self.n_rows):
            for places, (m, codes) in zip(self._places[rows].T, self._codes.items(), strict=True):
                np.add(codes[rows], self._first_group[m], out=places, casting="unsafe")
                if self._n_codes[m] > self._n_groups_of[m]:
                    places[codes[rows] == self._n_groups_of[m]] = self.n_groups

    def gather_parts(self, table: Any) -> Iterator[tuple[slice, Array]]:
        """Return A^m table, some rows at a time; a sparse table is made dense, for there are few groups."""
        table = table.toarray() if sparse.issparse(table) else table
        padded = self._padded(table.reshape(len(table), math.prod(table.shape[1:])))
        for rows in chunks(self.n_rows, CHUNK // 8):
            out = np.empty((rows.stop - rows.start, padded.shape[1]))
            self._loops.gather_table(self._places[rows], padded, out, 0, len(out))
            yield rows, out.reshape(len(out), *table.shape[1:])

    def gather(self, table: Array) -> Array:
        """Return A^m table."""
        out, padded = np.empty((self.n_rows, *table.shape[1:])), self._padded(table)
        loop = self._loops.gather_column if table.ndim == 1 else self._loops.gather_table
        in_threads(lambda begin, end: loop(self._places, padded, out, begin, end), self.n_rows)
        return out

    def scatter(self, values: Array) -> Array:
        """Return A^m' values."""
        loop = self._loops.scatter_column if values.ndim == 1 else self._loops.scatter_table
        values = np.ascontiguousarray(values)

        def sums(begin: int, end: int) -> Array:
            out = np.zeros((self.n_groups + 1, *values.shape[1:]))
            loop(self._places, values, out, begin, end)
            return out[: self.n_groups]

        first, *others = in_threads(sums, self.n_rows)
        return np.asarray(sum(others, first))

    gather_shared, scatter_shared = gather, scatter

    def invert(self, column: Array, counts: Array) -> tuple[Array, Array] | None:
        """Return 1 over A^m column, and A^m' of that times the counts; see `Membership`."""
        out, padded = np.empty(self.n_rows), self._padded(column)

        def work(begin: int, end: int) -> Array:
            sums = np.zeros(self.n_groups + 1)
            self._loops.invert(self._places, padded, counts, out, sums, begin, end)
            return sums[: self.n_groups]

        first, *others = in_threads(work, self.n_rows)
        return out, np.asarray(sum(others, first))

    def posterior(self, table: Array, prior: Array, counts: Array, proba: Array) -> tuple[Array, float] | None:
        """Replace `proba` by the softmax of A^m table + prior; see `Membership`."""
        n_classes = proba.shape[1]
        flat = proba.reshape(self.n_rows, math.prod(proba.shape[1:]))
        padded, logs = self._padded(table), np.empty(self.n_rows)

        def work(begin: int, end: int) -> float:
            return float(self._loops.posterior(self._places, padded, prior, n_classes, counts, flat, logs, begin, end))

        return logs, sum(in_threads(work, self.n_rows))

    def mean_of_terms(
        self, tables: Sequence[Array], pulls: Sequence[float], fallback: Array, counts: Array, in_group: Array, target: int
    ) -> tuple[Array, Array, float, float] | None:
        """Return the mean of some terms for each row, which rows none reaches, and two sums for P; see `Membership`."""
        padded, strengths = self._padded(np.stack(tables, axis=1)), np.array(pulls, dtype=np.float64)
        proba, unanswered = np.empty((self.n_rows, len(fallback))), np.empty(self.n_rows, dtype=bool)
        given = (self._places, padded, strengths, fallback, counts, in_group, target, proba, unanswered)
        found = in_threads(lambda begin, end: self._loops.mean_of_terms(*given, begin, end), self.n_rows)
        squares, tension = (float(sum(part)) for part in zip(*found, strict=True))
        return proba, unanswered, squares, tension

    def _padded(self, table: Array) -> Array:
        """Return a table over groups with a line of zeros for missing votes."""
        return np.concatenate([table, np.zeros((1, *table.shape[1:]))])

    def _count(self, blocks: Sequence[Sequence[int]], rows: slice, columns: Array, counts: Sequence[Array]) -> None:
        """Add some rows' weights to the counts of the joint codes of each block, blocks in threads."""
        if columns.shape[1] != WIDTH:
            return super()._count(blocks, rows, columns, counts)

        def keys(block: Sequence[int], total: Array) -> Array:
            return self._joint_column(block, rows, np.dtype(np.uint16 if len(total) <= 1 << 16 else np.int32))

        def add(first: int) -> None:
            pair = [first, min(first + 1, len(blocks) - 1)]
            totals = [counts[k] for k in pair] if pair[0] < pair[1] else [counts[first], np.zeros_like(counts[first])]
            self._loops.add_six(*(keys(blocks[k], counts[k]) for k in pair), columns, *totals)

        each_in_threads(add, range(0, len(blocks), 2))
