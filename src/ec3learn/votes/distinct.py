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
from .layout import smallest_uint

CHUNK = 1 << 16  # rows that are packed at a time: they stay in the cache
SAMPLE = 20_000  # rows looked at to tell whether rows repeat at all
SORTING = 8  # numbers that are read in the time it takes to sort one
FEW_CELLS = 1 << 16  # possible rows that are counted one by one instead of sorted
WIDEST_KEY = 1 << 63

Codes = tuple[Array, int]  # a column of integers, and how many different ones there may be


def distinct_rows(columns: Sequence[Codes]) -> tuple[Array, Array, Array] | None:
    """An object of each distinct row of some columns, the row of each object, and the rows' counts.

    None says that hardly any row repeats, so that finding the distinct ones would cost more than it
    saves.
    """
    n_objects, n_cells = len(columns[0][0]), math.prod(size for _, size in columns)
    if n_cells > max(FEW_CELLS, n_objects // 4) and not _repeat(columns, n_objects):
        return None
    keys, n_keys = _row_keys(columns)
    if n_keys > max(FEW_CELLS, n_objects // 4):
        keys, n_keys = _numbered(keys)  # else a key addresses its count: nothing is sorted
    objects, counts = np.empty(n_keys, dtype=np.int64), np.zeros(n_keys, dtype=np.int64)
    for begin in range(0, n_objects, 4 * CHUNK):
        part = keys[begin : begin + 4 * CHUNK].astype(np.int64)
        objects[part] = np.arange(begin, begin + len(part))
        counts += np.bincount(part, minlength=n_keys)
    values = np.flatnonzero(counts)
    if len(values) == n_objects:
        return None
    if len(values) < n_keys:
        number = np.zeros(n_keys, dtype=smallest_uint(len(values)))
        number[values] = np.arange(len(values))
        keys = expand_rows(number, keys)
    return objects[values], keys, counts[values]


def _repeat(columns: Sequence[Codes], n_objects: int) -> bool:
    """Guess from a sample whether at most half of all rows are distinct (birthday problem)."""
    if n_objects <= SAMPLE:
        return True
    # One row from each stretch, at random: a table may repeat itself at regular distances.
    stretch = np.arange(SAMPLE) + np.random.default_rng(0).random(SAMPLE)
    rows = (stretch * (n_objects / SAMPLE)).astype(np.int64)
    keys, _ = _row_keys([(codes[rows], size) for codes, size in columns])
    n_repeats = SAMPLE - len(np.unique(keys))
    return n_repeats > 0 and SAMPLE**2 / (2 * n_repeats) < n_objects / 2


def _row_keys(columns: Sequence[Codes]) -> tuple[Array, int]:
    """One integer per row, equal where the rows are equal, and how many there may be."""
    word: list[Codes] = []
    for codes, size in columns:
        if size * math.prod(other for _, other in word) > WIDEST_KEY:
            word = [_numbered(_packed(word)[0])]
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


def _numbered(keys: Array) -> tuple[Array, int]:
    """Keys numbered in the order in which they first occur, and how many differ."""
    loops = compiled(SORTING * len(keys)) if len(keys) < 1 << 31 else None
    if loops is not None:
        number = np.empty(len(keys), dtype=np.uint32)
        return number, len(loops.number(keys, number))
    values, first, index = np.unique(keys, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[index].astype(smallest_uint(len(values))), len(values)


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
