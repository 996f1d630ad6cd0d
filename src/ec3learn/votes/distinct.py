"""Distinct rows: a table of votes is solved once for each row that differs.

Two objects with the same votes and clusters get the same answer, so a table of millions of objects
is as large as its number of distinct rows ("patterns"). Each row is packed into one integer, with
one digit per model, and these integers are counted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Array
from ..kernels import compiled
from .reading import Column, smallest_uint

CHUNK = 1 << 16  # rows packed at a time: small enough to stay in the cache
SAMPLE = 20_000  # rows looked at to tell whether rows repeat at all
SORTING = 8  # numbers that are read in the time it takes to sort one
WIDEST_KEY = 1 << 62
ODD = np.uint64(0x9E3779B97F4A7C15)  # its multiples are spread over all 64-bit numbers


def distinct_rows(columns: Sequence[Column]) -> tuple[list[Array], Array, Array] | None:
    """Return the codes of the distinct rows, the number of each object's row, and how many objects each row has.

    None says that hardly any row repeats, so that finding the distinct ones would cost more than it
    saves.
    """
    n_objects = len(columns[0].raw)
    sizes = [column.n_codes for column in columns]
    if math.prod(sizes) <= max(1 << 16, n_objects // 4):
        return _count_all_cells(columns, sizes)
    if n_objects > SAMPLE and not _some_repeat(columns, sizes):
        return None
    values, index, counts = _numbered(_row_numbers(columns, slice(None)))
    if len(counts) == n_objects:
        return None
    if math.prod(sizes) <= WIDEST_KEY:  # the digits of a key are its codes
        return _digits(values, sizes), index, counts
    representative = np.empty(len(counts), dtype=np.int64)
    representative[index] = np.arange(n_objects)
    return [column.codes(representative) for column in columns], index, counts


def _digits(keys: Array, sizes: Sequence[int]) -> list[Array]:
    """Return the codes that `_pack` packed into each key."""
    codes = []
    for size in reversed(sizes):
        keys, digit = np.divmod(keys, keys.dtype.type(size))
        codes.append(digit.astype(smallest_uint(size)))
    return codes[::-1]


def _numbered(keys: Array) -> tuple[Array, Array, Array]:
    """Return the sorted distinct keys, the place of each key among them, and how often each of them occurs.

    That is `np.unique`, which sorts all keys; the compiled loop sorts the distinct ones only.
    """
    loops = compiled(SORTING * len(keys)) if len(keys) < 1 << 31 else None
    if loops is None:
        values, index, counts = np.unique(keys, return_inverse=True, return_counts=True)
        return values, index.astype(smallest_uint(len(counts))), counts
    first_seen = np.empty(len(keys), dtype=np.uint32)
    values = loops.number(keys.view(np.uint64), first_seen)
    order = np.argsort(values)
    place = np.empty(len(order), dtype=smallest_uint(len(order)))
    place[order] = np.arange(len(order))
    return (
        values[order].view(keys.dtype),
        expand_rows(place, first_seen),
        _count(first_seen, len(order))[order],
    )


def _count_all_cells(
    columns: Sequence[Column], sizes: Sequence[int]
) -> tuple[list[Array], Array, Array]:
    """Few possible rows: a key addresses its count directly, nothing is sorted."""
    n_cells = math.prod(sizes)
    keys = _pack(columns, slice(None), np.dtype(f"i{max(2, smallest_uint(n_cells).itemsize)}"))
    counts = _count(keys, n_cells)
    rows = np.flatnonzero(counts)
    codes = _digits(rows, sizes)
    if len(rows) < n_cells:
        number = np.zeros(n_cells, dtype=smallest_uint(len(rows)))
        number[rows] = np.arange(len(rows))
        keys = expand_rows(number, keys)
    return codes, keys, counts[rows]


def _count(keys: Array, n_cells: int) -> Array:
    """Return `np.bincount`, which takes wide copies of small keys."""
    loops = compiled(len(keys))
    if loops is None:
        return np.bincount(keys, minlength=n_cells)
    counts = np.zeros(n_cells, dtype=np.int64)
    loops.count(keys, counts)
    return counts


def distinct_entries(entries: sparse.csr_array) -> Column:
    """Return a number for each row of a sparse matrix, equal only where the rows are equal.

    Rows are compared by a hash of their entries, and then with the row that has their number; on a
    clash each row has its own.
    """
    mixed = (entries.indices.astype(np.uint64) + np.uint64(1)) * ODD
    mixed = (mixed ^ (mixed >> np.uint64(29)) ^ entries.data.view(np.uint64)) * ODD
    before = np.concatenate(
        [np.zeros(1, dtype=np.uint64), np.cumsum(mixed ^ (mixed >> np.uint64(32)), dtype=np.uint64)]
    )
    _, first, number = np.unique(
        before[entries.indptr[1:]] - before[entries.indptr[:-1]],
        return_index=True,
        return_inverse=True,
    )
    like, length = first[number], np.diff(entries.indptr)
    same = (length == length[like]).all()
    if same:
        place = np.arange(entries.nnz) + np.repeat(
            entries.indptr[like] - entries.indptr[:-1], length
        )
        same = (entries.indices == entries.indices[place]).all() and (
            entries.data == entries.data[place]
        ).all()
    if not same:
        first = number = np.arange(entries.shape[0])
    return Column("entries", number, 0, np.arange(len(first)))


def expand_rows(per_row: Array, index: Array) -> Array:
    """Return `per_row[index]`, some objects at a time: numpy makes wide copies of small indices."""
    out = np.empty((len(index), *per_row.shape[1:]), dtype=per_row.dtype)
    for begin in range(0, len(index), CHUNK):
        part = slice(begin, begin + CHUNK)
        np.take(per_row, index[part], axis=0, out=out[part], mode="clip")
    return out


def sampled_rows(n_objects: int) -> Array:
    """Return a row from each stretch of the same length, at random: a table may repeat itself at regular distances."""
    return (
        (np.arange(SAMPLE) + np.random.default_rng(0).random(SAMPLE)) * (n_objects / SAMPLE)
    ).astype(np.int64)


def rows_repeat(n_distinct: int, n_objects: int) -> bool:
    """Guess from the distinct ones of `sampled_rows` whether at most half of all rows are distinct (birthday problem)."""
    repeats = SAMPLE - n_distinct
    return repeats > 0 and SAMPLE**2 / (2 * repeats) < n_objects / 2


def _some_repeat(columns: Sequence[Column], sizes: Sequence[int]) -> bool:
    """Guess the same of columns: where the column with most codes says that rows differ, the others need not be looked at."""
    n_objects = len(columns[0].raw)
    rows, largest = sampled_rows(n_objects), columns[int(np.argmax(sizes))]
    some_columns = ([largest], columns)
    return all(
        rows_repeat(len(np.unique(_row_numbers(some, rows))), n_objects) for some in some_columns
    )


def _row_numbers(columns: Sequence[Column], rows: slice | Array) -> Array:
    """Return one integer per row, equal where the rows are equal; wide tables are folded word by word."""
    numbers: Array | None = None
    word: list[Column] = []
    for column in [*columns, None]:
        if column is not None and math.prod(c.n_codes for c in [*word, column]) <= WIDEST_KEY:
            word.append(column)
            continue
        keys = _pack(word, rows, np.dtype(np.int64))
        if numbers is not None:
            _, left, _ = _numbered(numbers)
            values, right, _ = _numbered(keys)
            keys = left.astype(np.int64) * len(values) + right
        numbers = keys
        word = [column] if column is not None else []
    assert numbers is not None
    return numbers


def _pack(columns: Sequence[Column], rows: slice | Array, dtype: np.dtype[Any]) -> Array:
    """Return each row as one number in mixed radix; wrap-around in signed integers is harmless, the result fits unsigned."""
    offset = 0
    for column in columns:
        offset = offset * column.n_codes + column.low
    keys = _pack_table(columns, offset, dtype) if isinstance(rows, slice) else None
    if keys is None:
        chosen = [column.raw[rows] for column in columns]
        keys = np.empty(len(chosen[0]), dtype=dtype)
        start = _wrapped(-offset, dtype)
        for begin in range(0, len(keys), CHUNK):
            part = keys[begin : begin + CHUNK]
            part[:] = 0
            for column, raw in zip(columns, chosen, strict=True):
                part *= _wrapped(column.n_codes, dtype)
                piece = raw[begin : begin + CHUNK]
                part += piece if np.can_cast(piece.dtype, dtype) else piece.astype(dtype)
            part += start
    return keys.view(dtype.str.replace("i", "u"))


def _pack_table(columns: Sequence[Column], offset: int, dtype: np.dtype[Any]) -> Array | None:
    """Return the same by a compiled loop, for all rows of columns that stand side by side in one row-major table."""
    table = _one_table(columns)
    loops = None if table is None else compiled(table.size)
    if table is None or loops is None:
        return None
    sizes = [column.n_codes for column in columns]
    places = np.array([math.prod(sizes[j + 1 :]) for j in range(len(sizes))], dtype=np.int64)
    keys, start = np.empty(len(table), dtype=dtype), int(_wrapped(offset, np.dtype(np.int64)))
    loops.pack(table, places, start, keys)
    return keys


def _wrapped(number: int, dtype: np.dtype[Any]) -> Any:
    """Return an integer of any size as a signed one of this type, without the digits that do not fit."""
    bits = 8 * dtype.itemsize
    return dtype.type((number + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1)))


def _one_table(columns: Sequence[Column]) -> Array | None:
    """Return the columns as a part of one row-major table, where they stand side by side in it."""
    base = columns[0].raw.base
    if (
        not isinstance(base, np.ndarray)
        or base.ndim != 2
        or base.dtype.kind not in "iu"
        or not base.flags.c_contiguous
    ):
        return None
    at = [column.raw.ctypes.data - base.ctypes.data for column in columns]
    first, step = at[0] // base.itemsize, base.itemsize
    for j, column in enumerate(columns):
        raw = column.raw
        if (
            raw.base is not base
            or raw.dtype != base.dtype
            or raw.shape != base.shape[:1]
            or raw.strides != base.strides[:1]
        ):
            return None
        if at[j] != at[0] + j * step:
            return None
    return base[:, first : first + len(columns)] if at[0] < base.strides[0] else None
