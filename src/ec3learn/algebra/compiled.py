"""A^m by compiled loops, for large tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Array
from ..kernels import each_in_threads, in_threads
from ..votes import Models, Votes
from ..votes.reading import smallest_uint
from .joint import JointMembership, blocks_of
from .linear import CHUNK, chunks
from .sparse import SparseMembership, Terms, Weights, entries

CACHED = 1 << 15  # numbers
FEW = 64  # groups up to which models are joined in a table with very many


class RowLoops:
    """Products with A^m, by loops that read the codes of one row after the other: a table over codes is to fit the cache.

    A code stands for a group, or for several groups that a row has together.
    """

    n_rows: int
    n_groups: int
    _loops: Any
    _starts: Array
    _places: Array

    def _by_code(self, table: Array) -> Array:
        """Return the sum over the groups of each code of a table over groups, with as many columns as loops take at a time."""
        more = [(0, 0)] * (table.ndim - 1) + [(0, -table.shape[-1] % self._loops.FOUR)]
        return (
            np.pad(table, more) if table.ndim > 1 and more[-1][1] else np.ascontiguousarray(table)
        )

    def _by_group(self, sums: Array) -> Array:
        """Return the sum over the codes of each group of a table over codes."""
        return sums

    @property
    def _n_codes_in_all(self) -> int:
        return self.n_groups

    def gather_parts(self, table: Any) -> Iterator[tuple[slice, Array]]:
        """Return A^m table, some rows at a time."""
        by_code = self._by_code(table.reshape(len(table), math.prod(table.shape[1:])))
        for rows in chunks(self.n_rows, CHUNK // 8):
            out = np.empty((rows.stop - rows.start, math.prod(table.shape[1:])))
            self._loops.gather_table(
                self._starts[rows.start : rows.stop + 1], self._places, by_code, out, 0, len(out)
            )
            yield rows, out.reshape(len(out), *table.shape[1:])

    def gather(self, table: Array) -> Array:
        """Return A^m table."""
        out, by_code = np.empty((self.n_rows, *table.shape[1:])), self._by_code(table)
        loop = self._loops.gather_column if table.ndim == 1 else self._loops.gather_table
        in_threads(
            lambda begin, end: loop(self._starts, self._places, by_code, out, begin, end),
            self.n_rows,
        )
        return out

    def scatter(self, values: Array) -> Array:
        """Return A^m' values."""
        loop = self._loops.scatter_column if values.ndim == 1 else self._loops.scatter_table
        values = np.ascontiguousarray(values)
        return self._sums(
            values.shape[1:],
            lambda sums, *rows: loop(self._starts, self._places, values, sums, *rows),
        )

    gather_shared, scatter_shared = gather, scatter

    def _sums(self, shape: tuple[int, ...], add: Callable[[Array, int, int], None]) -> Array:
        """Return the sums by group that `add` adds up by code for the rows of each thread."""

        def work(begin: int, end: int) -> Array:
            sums = np.zeros((self._n_codes_in_all, *(n + -n % self._loops.FOUR for n in shape)))
            add(sums, begin, end)
            return sums

        first, *others = in_threads(work, self.n_rows)
        found = self._by_group(np.asarray(sum(others, first)))
        return found[:, : shape[0]] if shape else found

    def couple(self, table: Array, factors: Sequence[Array], weights: Array) -> Array:
        """Return what the rows make of a table over groups; see `Membership`. Two classes at a time."""
        out = np.empty_like(table)
        for begin in range(0, table.shape[2], 2):
            some = slice(begin, min(begin + 2, table.shape[2]))
            quads = np.zeros((self.n_groups, 2, 2))
            quads[:, :, : some.stop - begin] = table[:, :, some]
            given = (
                self._starts,
                self._places,
                *factors,
                weights,
                self._by_code(quads.reshape(-1, 4)),
            )
            found = self._sums(
                (4,), lambda sums, *rows, given=given: self._loops.couple(*given, sums, *rows)
            )
            out[:, :, some] = found.reshape(-1, 2, 2)[:, :, : some.stop - begin]
        return out

    def invert(self, column: Array, counts: Array) -> tuple[Array, Array] | None:
        """Return 1 over A^m column, and A^m' of that times the counts; see `Membership`."""
        out = np.empty(self.n_rows)
        given = (self._starts, self._places, self._by_code(column), counts, out)
        return out, self._sums((), lambda sums, *rows: self._loops.invert(*given, sums, *rows))

    def posterior(
        self, table: Array, prior: Array, counts: Array, proba: Array
    ) -> tuple[Array, float] | None:
        """Replace `proba` by the softmax of A^m table + prior; see `Membership`."""
        n_classes = proba.shape[1]
        flat = proba.reshape(self.n_rows, math.prod(proba.shape[1:]))
        logs = np.empty(self.n_rows)
        given = (
            self._starts,
            self._places,
            self._by_code(table),
            prior,
            n_classes,
            counts,
            flat,
            logs,
        )
        return logs, sum(
            in_threads(
                lambda begin, end: float(self._loops.posterior(*given, begin, end)), self.n_rows
            )
        )

    def mean_of_terms(self, terms: Terms) -> tuple[Array, Array, float, float] | None:
        """Return the mean of some terms for each row, which rows none reaches, and two sums for P; see `Membership`."""
        by_code, loop = self._by_code(terms.table), self._loops.mean_of_terms
        proba, unanswered = (
            np.empty((self.n_rows, len(terms.fallback))),
            np.empty(self.n_rows, dtype=bool),
        )
        given = (*terms[1:], proba, unanswered)
        found = in_threads(
            lambda *rows: loop(self._starts, self._places, by_code, *given, *rows), self.n_rows
        )
        squares, tension = (float(sum(part)) for part in zip(*found, strict=True))
        return proba, unanswered, squares, tension


class CountedPairs(JointMembership):
    """A^m whose pairs of groups are counted by a loop."""

    _gram_codes = 1 << 14
    _counted_together = 1 << 16  # codes

    def __init__(self, votes: Votes, loops: Any) -> None:
        super().__init__(votes)
        self._loops = loops

    def _multiply(self, weights: Weights, rows: slice, out: Array) -> None:
        """Set the columns of a table to the weights of some rows, in threads."""
        columns = {id(column): column for weight in weights for column in weight}
        number = {key: j for j, key in enumerate(columns)}
        factors = np.array([number[id(column)] for weight in weights for column in weight])
        ends = np.cumsum([0, *map(len, weights)])

        def work(begin: int, end: int) -> None:
            for part in chunks(end - begin, CHUNK // 8):
                own = slice(begin + part.start, begin + part.stop)
                lines = np.stack([column[rows][own] for column in columns.values()])
                self._loops.multiply(lines, factors, ends, out[own])

        in_threads(work, len(out))

    def _count(
        self,
        blocks: Sequence[Sequence[int]],
        first: Array,
        rows: slice,
        columns: Array,
        counts: Array,
    ) -> None:
        """Add some rows' weights to the counts of the joint codes of all blocks, in threads.

        Some blocks at a time, whose counts fit the cache together: so the weights need not be read
        for each of them.
        """
        if not blocks or columns.shape[1] != self._loops.SIX:
            return super()._count(blocks, first, rows, columns, counts)
        codes = np.empty((len(self._codes), len(columns)), dtype=np.uint16)
        sizes, line = (
            np.array([self._n_codes[m] for m in self._codes]),
            {m: k for k, m in enumerate(self._codes)},
        )
        for own, m in zip(codes, self._codes, strict=True):
            own[:] = self._codes[m][rows]

        def add(begin: int, end: int) -> None:
            models = np.array([line[m] for block in blocks[begin:end] for m in block])
            ends = np.cumsum([0, *map(len, blocks[begin:end])])
            self._loops.add_six(codes, sizes, models, ends, first[begin:end], columns, counts)

        ends = [0]
        for k in range(1, len(blocks)):
            if first[k + 1] - first[ends[-1]] > self._counted_together:
                ends.append(k)
        each_in_threads(add, ends, [*ends[1:], len(blocks)])


class CompiledMembership(RowLoops, CountedPairs):
    """A^m for up to a few thousand groups, of which pairs can be counted."""

    def __init__(self, votes: Votes, loops: Any) -> None:
        super().__init__(votes, loops)
        n_codes = int(self._first_code[-1])
        table = np.empty((self.n_rows, len(self._blocks)), dtype=smallest_uint(n_codes))

        def fill(rows: slice) -> None:
            for places, block, first in zip(
                table[rows].T, self._blocks, self._first_code.tolist(), strict=False
            ):
                np.add(
                    self._joint_column(block, rows, np.dtype(np.uint16)),
                    first,
                    out=places,
                    casting="unsafe",
                )

        each_in_threads(fill, list(chunks(self.n_rows)))
        self._places, width = table.ravel(), np.uint32 if table.size < 1 << 32 else np.uint64
        self._starts = np.arange(0, table.size + 1, max(1, len(self._blocks)), dtype=width)

    def _joined(self, n_classes: int) -> list[list[int]]:
        """Join as many models as leave a table with a number for each code and class in the cache."""
        for most in (256, 64, 16):
            blocks = blocks_of(self._n_codes, most)
            if (
                n_classes * sum(math.prod(self._n_codes[m] for m in block) for block in blocks)
                <= CACHED
            ):
                return blocks
        return [[m] for m in self._n_codes]

    @property
    def _n_codes_in_all(self) -> int:
        return int(self._first_code[-1])

    def _by_code(self, table: Array) -> Array:
        table = super()._by_code(table)
        return np.concatenate(self.joint_tables(table))

    def _by_group(self, sums: Array) -> Array:
        by_block = np.split(
            sums.reshape(len(sums), math.prod(sums.shape[1:])), self._first_code[1:-1]
        )
        return self.fold_sums(by_block, by_block[0].shape[1]).reshape(
            self.n_groups, *sums.shape[1:]
        )

    def gather_parts(self, table: Any) -> Iterator[tuple[slice, Array]]:
        """Return A^m table, some rows at a time; a sparse table is made dense, for there are few groups."""
        return super().gather_parts(table.toarray() if sparse.issparse(table) else table)


class CompiledSoft(CountedPairs):
    """A^m for soft votes, with hard ones beside them as joint columns."""

    n_weighed = 1 << 10  # their products stay in the cache

    def empty_sums(self, width: int) -> list[Array]:
        """Return a table of zeros for each joint column, parts of one table."""
        return (
            np.split(np.zeros((self._first_code[-1], width)), self._first_code[1:-1])
            if self._blocks
            else []
        )

    def invert(self, column: Array, counts: Array) -> tuple[Array, Array] | None:
        """Return 1 over A^m column, and A^m' of that times the counts; see `Membership`."""
        assert self._soft is not None
        joint = np.concatenate([np.zeros(0), *self.joint_tables(column)])
        out, soft_column = np.empty(self.n_rows), self._basis @ column[self._soft_groups]
        given = (self.keys, self._first_code, self._soft.table.T, joint, soft_column, counts, out)

        def work(begin: int, end: int) -> tuple[Array, Array]:
            sums = np.zeros(len(joint))
            return sums, self._loops.invert_soft(*given, sums, begin, end)

        joint_sums, soft_sums = (
            sum(parts[1:], parts[0]) for parts in zip(*in_threads(work, self.n_rows), strict=True)
        )
        by_block = np.split(joint_sums[:, None], self._first_code[1:-1]) if self._blocks else []
        found = self.fold_sums(by_block, 1)[:, 0]
        found[self._soft_groups] = self._basis.T @ soft_sums
        return out, found

    def mean_of_terms(self, terms: Terms) -> tuple[Array, Array, float, float] | None:
        """Return the mean of some terms for each row, which rows none reaches, and two sums for P; see `Membership`."""
        proba, unanswered = (
            np.empty((self.n_rows, len(terms.fallback))),
            np.empty(self.n_rows, dtype=bool),
        )
        squares = tension = 0.0
        for rows, sums in self.gather_parts(terms.table):
            part = self._loops.mean_of_sums(sums, *terms[1:], proba, unanswered, rows.start)
            squares, tension = squares + part[0], tension + part[1]
        return proba, unanswered, squares, tension

    def weigh(
        self, rows: slice, table: Array, weights: Array, out: Array, sums: Sequence[Array]
    ) -> None:
        """Set `out` to each weight times each column of a table of some rows, and add it to the sums by joint code."""
        total = sums[0].base if self._blocks else np.empty((0, out.shape[1]))
        keys = np.ascontiguousarray(
            self.keys[:, rows]
        )  # one kind of array, so that one kind of loop is compiled
        self._loops.weigh(keys, self._first_code, table, weights, out, total)


class _ManyGroups(SparseMembership):
    """What crowds and very many groups have in common: the sparse matrix is made when it is asked for."""

    def __init__(self, votes: Votes, loops: Any) -> None:
        self._votes, self._loops, self.hard, self.prior, self.n_rows = (
            votes,
            loops,
            None,
            votes.prior,
            votes.n_rows,
        )

    @property
    def matrix(self) -> sparse.csr_array:
        """Return A^m as one sparse matrix."""
        return entries(self._votes)[:, self.order]

    def _sparse_parts(self, table: sparse.csr_array) -> Iterator[tuple[slice, Array]]:
        """Return A^m table, some rows at a time."""
        matrix = self.matrix
        return ((rows, (matrix[rows] @ table).toarray()) for rows in chunks(self.n_rows))

    def count_classes(self, codes: Array, counts: Array, n_classes: int) -> sparse.csr_array:
        """Return how much of each class each group has: rows have these classes and counts."""
        rows = sparse.csr_array(
            (counts, codes, np.arange(self.n_rows + 1)), shape=(self.n_rows, n_classes)
        )
        return sparse.csr_array(self.matrix.T @ rows)


class CompiledCrowd(RowLoops, _ManyGroups):
    """A^m for crowds, and for more groups than pairs can be counted of, where there are far more rows. No group is set apart."""

    def __init__(self, votes: Votes, loops: Any) -> None:
        super().__init__(votes, loops)
        matrix = entries(votes)
        self.n_groups = self.n_shared = votes.models.n_groups
        self.order = np.arange(self.n_groups)
        self._starts = matrix.indptr.view(matrix.indptr.dtype.str.replace("i", "u"))
        self._places = matrix.indices.astype(smallest_uint(self.n_groups + 1))
        self.product_cost = 2.0 * matrix.nnz

    def gather_parts(self, table: Any) -> Iterator[tuple[slice, Array]]:
        """Return A^m table, some rows at a time; the table may be sparse."""
        return self._sparse_parts(table) if sparse.issparse(table) else super().gather_parts(table)

    def gather_solo_squares(self, column: Array) -> Array:
        """Return zeros: all groups are among the shared ones."""
        return np.zeros(self.n_rows)


class ColumnMembership(_ManyGroups):
    """A^m for very many groups, as one column of codes per model: the groups of one model at a time are to fit the cache.

    The codes of a model's shared groups come first, then those of its groups of a single row, then
    that of a missing vote. Models with few groups are joined.
    """

    def __init__(self, votes: Votes, loops: Any) -> None:
        super().__init__(votes, loops)
        is_large = np.array([model.n_groups > FEW for model in votes.models])
        small, large = (np.flatnonzero(chosen).tolist() for chosen in (~is_large, is_large))
        few = np.flatnonzero(~is_large[votes.models.group_model])
        joined = replace(
            votes,
            models=Models(votes.models[m] for m in small),
            stores=votes.stores.only(small, votes.models.group_model),
        )
        self._few = JointMembership(joined) if small else None
        numbered = [_shared_first(votes.stores.hard[m], votes.models[m].n_groups) for m in large]
        self._columns = [codes for codes, _, _ in numbered]
        groups = [
            own[at] + votes.models.offsets[m]
            for at in (1, 2)
            for m, own in zip(large, numbered, strict=True)
        ]
        self.order = np.concatenate([few, *groups])
        ends = np.cumsum([len(few), *map(len, groups)]).tolist()
        spans = [slice(*both) for both in pairwise(ends)]
        self._shared, self._solo = spans[: len(large)], spans[len(large) :]
        self.n_groups, self.n_shared, self._n_few = len(self.order), ends[len(large)], len(few)
        self.product_cost = 2.0 * self.n_rows * len(votes.models)

    def gather_parts(self, table: Any) -> Iterator[tuple[slice, Array]]:
        """Return A^m table, some rows at a time; the table may be sparse."""
        return self._sparse_parts(table) if sparse.issparse(table) else self._dense_parts(table)

    def _dense_parts(self, table: Array) -> Iterator[tuple[slice, Array]]:
        pieces = [self._piece(table, m) for m in range(len(self._columns))]
        joint = None if self._few is None else self._few.gather(table[: self._n_few])
        for rows in chunks(self.n_rows):
            out = (
                np.zeros((rows.stop - rows.start, *table.shape[1:]))
                if joint is None
                else joint[rows]
            )
            for piece, codes in zip(pieces, self._columns, strict=True):
                out += np.take(piece, codes[rows], axis=0)
            yield rows, out

    def gather(self, table: Array) -> Array:
        """Return A^m table."""
        if table.ndim > 1:
            return np.stack([self.gather(column) for column in table.T], axis=-1)
        return self._gathered(table, self._piece)

    def gather_shared(self, column: Array) -> Array:
        """Return the sum over each row's shared groups."""
        return self._gathered(column, lambda _, m: np.append(column[self._shared[m]], 0.0))

    def gather_solo_squares(self, column: Array) -> Array:
        """Return the sum over each row's own groups."""
        return self.gather(np.concatenate([np.zeros(self.n_shared), column]))

    def scatter(self, values: Array) -> Array:
        """Return A^m' values."""
        if values.ndim > 1:
            return np.stack([self.scatter(column) for column in values.T], axis=-1)
        out, values = np.empty(self.n_groups), np.ascontiguousarray(values)
        if self._few is not None:
            out[: self._n_few] = self._few.scatter(values)
        for codes, shared, solo in zip(self._columns, self._shared, self._solo, strict=True):
            n_shared = shared.stop - shared.start
            sums = np.zeros(n_shared + solo.stop - solo.start + 1)
            self._loops.scatter_code(codes, values, sums)
            out[shared], out[solo] = sums[:n_shared], sums[n_shared:-1]
        return out

    def scatter_shared(self, values: Array) -> Array:
        """Return the sum over each shared group's rows."""
        return self.scatter(values)[: self.n_shared]

    def through(self, values: Iterable[Array], between: Sequence[Array]) -> Iterable[Array]:
        """Return A^m (between x A^m' values) over the shared groups, one model after the other; see `Membership`."""
        values, paired = list(values), len(between) == 2
        scatter = self._loops.scatter_pair if paired else self._loops.scatter_code
        gather = self._loops.gather_pair if paired else self._loops.gather_code

        def work(begin: int, end: int) -> Array:
            out = np.zeros((len(values), self.n_rows))
            sizes = [shared.stop - shared.start + 1 for shared in self._shared[begin:end]]
            most = max(sizes, default=0)
            room = np.empty((most, 2) if paired else most)  # used again, for new memory is slow
            for codes, shared, size in zip(
                self._columns[begin:end], self._shared[begin:end], sizes, strict=True
            ):
                sums = room[:size]
                sums[:] = 0.0
                scatter(codes, *values, sums)
                for own, factor in zip(
                    sums[:-1].T if paired else [sums[:-1]], between, strict=True
                ):
                    own *= factor[shared]
                sums[-1] = 0.0
                gather(codes, sums, *out)
            return out

        first, *others = in_threads(work, len(self._columns))
        found = sum(others, first)
        if self._few is not None:
            sums = self._few.empty_sums(len(values))
            for keys, own in zip(self._few.keys, sums, strict=True):
                scatter(keys, *values, own if paired else own[:, 0])
            coupled = self._few.fold_sums(sums, len(values)) * np.stack(
                [own[: self._n_few] for own in between], axis=1
            )
            for keys, own in zip(self._few.keys, self._few.joint_tables(coupled), strict=True):
                gather(keys, own if paired else own[:, 0], *found)
        return iter(found)

    def _piece(self, table: Array, m: int) -> Array:
        """Return the rows of a table that one column's codes stand for, and zeros for a missing vote."""
        return np.concatenate(
            [table[self._shared[m]], table[self._solo[m]], np.zeros((1, *table.shape[1:]))]
        )

    def _gathered(self, table: Array, piece_of: Callable[[Array, int], Array]) -> Array:
        """Return the sums over rows of one number for each code, by column; those of a column may all be 0."""
        out = np.zeros(self.n_rows) if self._few is None else self._few.gather(table[: self._n_few])
        for m, codes in enumerate(self._columns):
            piece = piece_of(table, m)
            if piece.any():
                self._loops.gather_code(codes, piece, out)
        return out


def _shared_first(codes: Array, n_groups: int) -> tuple[Array, Array, Array]:
    """Return codes numbered anew, with the groups of several rows first, and the old numbers of these and of the others.

    Groups without rows have no number; a missing vote, which has the code `n_groups`, has the last
    one.
    """
    size = np.bincount(codes, minlength=n_groups)[:n_groups]
    shared, solo = np.flatnonzero(size > 1), np.flatnonzero(size == 1)
    n_used = len(shared) + len(solo)
    number = np.full(n_groups + 1, n_used, dtype=smallest_uint(n_used + 1))
    number[shared], number[solo] = np.arange(len(shared)), np.arange(len(shared), n_used)
    return np.take(number, codes), shared, solo
