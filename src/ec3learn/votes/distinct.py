"""Distinct rows: a table of votes is solved once for each row that differs.

Two objects with the same votes and clusters get the same answer, so a table of millions of objects
is as large as its number of distinct rows. Each row is packed into one integer, with one digit per
model, and these integers are counted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import sparse

from .._typing import Array
from ..kernels import compiled
from .reading import smallest_uint

CHUNK = 1 << 16  # rows that are packed at a time: they stay in the cache
SAMPLE = 20_000  # rows looked at to tell whether rows repeat at all
SORTING = 8  # numbers that are read in the time it takes to sort one
FEW_CELLS = (
    1 << 16
)  # possible rows that are counted one by one, instead of sorting those that occur
WIDEST_KEY = 1 << 63

Codes = tuple[Array, int]  # a column of integers, and how many different ones there may be


DistinctRows = tuple[
    Sequence[Array], Array, Array
]  # their codes by column, each object's row, counts


def distinct_rows(columns: Sequence[Codes]) -> DistinctRows | None:
    """The distinct rows of some columns.

    None says that hardly any row repeats, so that finding the distinct ones would cost more than it
    saves.
    """
    n_objects, sizes = len(columns[0][0]), [size for _, size in columns]
    n_cells = math.prod(sizes)
    if n_cells > max(FEW_CELLS, n_objects // 4) and not _repeat(columns, n_objects):
        return None
    values, index, counts = _numbered(*_row_keys(columns))
    if len(values) == n_objects:
        return None
    if n_cells <= WIDEST_KEY:  # the digits of a key are its codes
        return np.unravel_index(values.astype(np.int64), sizes), index, counts
    objects = one_of_each(index, len(values))
    return [codes[objects] for codes, _ in columns], index, counts


def one_of_each(index: Array, n_rows: int) -> Array:
    """An object of each row."""
    objects = np.empty(n_rows, dtype=np.int64)
    objects[index] = np.arange(len(index))
    return objects


def _repeat(columns: Sequence[Codes], n_objects: int) -> bool:
    """Guess from a sample whether at most half of all rows are distinct (birthday problem)."""
    if n_objects <= SAMPLE:
        return True
    # One row from each stretch, at random: a table may repeat itself at regular distances.
    place = np.arange(SAMPLE) + np.random.default_rng(0).random(SAMPLE)
    rows = (place * (n_objects / SAMPLE)).astype(np.int64)
    keys, _ = _row_keys([(codes[rows], size) for codes, size in columns])
    n_repeats = SAMPLE - len(np.unique(keys))
    return n_repeats > 0 and SAMPLE**2 / (2 * n_repeats) < n_objects / 2


def _row_keys(columns: Sequence[Codes]) -> tuple[Array, int]:
    """One integer per row, equal where the rows are equal, and how many there may be."""
    word: list[Codes] = []
    for codes, size in columns:
        if size * math.prod(other for _, other in word) > WIDEST_KEY:
            values, keys, _ = _numbered(*_packed(word))
            word = [(keys, len(values))]
        word.append((codes, size))
    return _packed(word)


def _packed(columns: Sequence[Codes]) -> tuple[Array, int]:
    """Each row as one number in mixed radix, some rows at a time."""
    n_keys = math.prod(size for _, size in columns)
    keys = np.zeros(len(columns[0][0]), dtype=smallest_uint(n_keys + 1))
    for begin in range(0, len(keys), CHUNK):
        part = keys[begin : begin + CHUNK]
        for codes, size in columns:
            part *= part.dtype.type(size)
            part += codes[begin : begin + CHUNK].astype(part.dtype, copy=False)
    return keys, n_keys


def _numbered(keys: Array, n_keys: int) -> tuple[Array, Array, Array]:
    """The distinct keys in their order, the number of each key among them, and their counts."""
    if n_keys <= max(FEW_CELLS, len(keys) // 4):  # a key addresses its count: nothing is sorted
        cells = np.bincount(keys, minlength=n_keys)
        values = np.flatnonzero(cells)
        number = np.zeros(n_keys, dtype=smallest_uint(len(values)))
        number[values] = np.arange(len(values))
        return values, expand_rows(number, keys), cells[values]
    loops = compiled(SORTING * len(keys)) if len(keys) < 1 << 31 else None
    if loops is None:
        values, index, counts = np.unique(keys, return_inverse=True, return_counts=True)
        return values, index.astype(smallest_uint(len(values))), counts
    first_seen = np.empty(len(keys), dtype=np.uint32)
    values = loops.number(keys.astype(np.uint64, copy=False), first_seen)
    order = np.argsort(values)
    number = np.empty(len(order), dtype=smallest_uint(len(order)))
    number[order] = np.arange(len(order))
    counts = np.bincount(first_seen, minlength=len(order))
    return values[order], expand_rows(number, first_seen), counts[order]


def row_numbers(entries: sparse.csr_array) -> Codes:
    """A number for each row of a sparse matrix, equal where the rows are equal.

    Rows are compared by two random sums of their entries, which agree by chance once in 2^100.
    """
    drawn = np.random.default_rng(0).random((entries.shape[1], 2))
    sums = np.ascontiguousarray(entries @ drawn).view(np.complex128).ravel()
    values, number = np.unique(sums, return_inverse=True)
    return number, len(values)


def expand_rows(per_row: Array, index: Array) -> Array:
    """`per_row[index]`, some objects at a time: numpy makes wide copies of small indices."""
    out = np.empty((len(index), *per_row.shape[1:]), dtype=per_row.dtype)
    for begin in range(0, len(index), CHUNK):
        part = slice(begin, begin + CHUNK)
        np.take(per_row, index[part], axis=0, out=out[part], mode="clip")
    return out
