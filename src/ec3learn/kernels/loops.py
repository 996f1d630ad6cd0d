"""The loops that numba compiles. Only `kernels.compiled` loads this module.

Every docstring gives the numpy form that defines the loop, and a test checks that both agree.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

FEW_COLUMNS = 3  # are read one by one
ROWS = 1024  # whose numbers stay in the cache from one loop to the next
SLOT_BITS = 14  # of the table that `number` begins with
ODD = np.uint64(0x9E3779B97F4A7C15)  # its multiples are spread over all 64-bit numbers


def loop(function: Any) -> Any:
    """Compile a function when it is first called; the machine code is kept on disk if it can be."""
    try:
        return numba.njit(nogil=True, error_model="numpy", cache=True)(function)
    except RuntimeError:  # numba found no folder to write to
        return numba.njit(nogil=True, error_model="numpy")(function)


# ---- distinct rows -------------------------------------------------------------------------------


@loop
def _slot(slots: Any, values: Any, key: Any, shift: Any) -> Any:
    """Find the slot that has the number of a key, or the free one where it belongs."""
    at = np.int64((key * ODD) >> shift)
    while slots[at] >= 0 and values[slots[at]] != key:
        at = (at + 1) & (len(slots) - 1)
    return at


@loop
def number(keys: Any, index: Any) -> Any:
    """Set values, index[:] = np.unique(keys, return_inverse=True), in the order they first occur.

    Returns the values.

    A slot holds the number of a value, not the value: so the slots are small, and frequent values
    stand side by side.
    """
    n, bits = 0, SLOT_BITS
    slots = np.full(1 << bits, -1, dtype=np.int32)
    values = np.empty(1 << (bits - 1), dtype=np.uint64)
    for i in range(len(keys)):
        key = np.uint64(keys[i])
        at = _slot(slots, values, key, np.uint64(64 - bits))
        if slots[at] < 0:
            if n == len(values):  # twice the room, and everyone moves
                bits += 1
                values = np.append(values, np.empty_like(values))
                slots = np.full(1 << bits, -1, dtype=np.int32)
                for k in range(n):
                    slots[_slot(slots, values, values[k], np.uint64(64 - bits))] = k
                at = _slot(slots, values, key, np.uint64(64 - bits))
            slots[at], values[n] = n, key
            n += 1
        index[i] = slots[at]
    return values[:n].copy()


# ---- products with codes -------------------------------------------------------------------------
# `codes` has a row per model: the group of each object. A code beyond the table is no vote.


@loop
def gather(codes: Any, table: Any, out: Any) -> None:
    """Do out += table[codes].sum(axis=0) for a table with one number per group."""
    step = max(ROWS, len(table) // len(codes))  # many groups: those of one model after another
    for low in range(0, len(out), step):
        for m in range(len(codes)):
            for i in range(low, min(low + step, len(out))):
                if codes[m, i] < len(table):
                    out[i] += table[codes[m, i]]


@loop
def scatter(codes: Any, values: Any, out: Any) -> None:
    """Do np.add.at(out, codes, values) for one value per object."""
    step = max(ROWS, len(out) // len(codes))
    for low in range(0, len(values), step):
        for m in range(len(codes)):
            for i in range(low, min(low + step, len(values))):
                out[codes[m, i]] += values[i]


@loop
def gather_columns(codes: Any, table: Any, scale: Any, out: Any) -> None:
    """Do out += scale[:, None] * table[codes].sum(axis=0)."""
    for low in range(0, len(out), ROWS):
        for m in range(len(codes)):
            for i in range(low, min(low + ROWS, len(out))):
                group = codes[m, i]
                if group < len(table):
                    for z in range(out.shape[1]):
                        out[i, z] += scale[i] * table[group, z]


@loop
def scatter_columns(codes: Any, values: Any, weight: Any, out: Any) -> None:
    """Do np.add.at(out, codes, weight[:, None] * values)."""
    for low in range(0, len(values), ROWS):
        for m in range(len(codes)):
            for i in range(low, min(low + ROWS, len(values))):
                group = codes[m, i]
                for z in range(out.shape[1]):
                    out[group, z] += weight[i] * values[i, z]


def add_gathered(codes: Any, table: Any, scale: Any, sums: Any) -> None:
    """Do sums += scale[:, None] * table[codes].sum(axis=0)."""
    table = np.asarray(table, dtype=np.float64, order="C")
    if table.size > FEW_COLUMNS * len(table):
        gather_columns(codes, table, scale, sums)
        return
    columns = np.ascontiguousarray(table.T).reshape(-1, len(table))
    for column, out in zip(columns, sums.reshape(len(sums), -1).T, strict=True):
        gathered = np.zeros(len(sums))
        gather(codes, column, gathered)
        out += scale * gathered


def scattered(codes: Any, n_groups: int, values: Any, weight: Any) -> Any:
    """The sums of weight[:, None] * values over the objects of each group."""
    if values.size > FEW_COLUMNS * len(values):
        table = np.zeros((n_groups + 1, values.shape[1]))
        scatter_columns(codes, values, weight, table)
        return table[:-1]
    sums = np.zeros((values.size // len(values), n_groups + 1))
    for column, out in zip(values.T.reshape(-1, len(values)), sums, strict=True):
        scatter(codes, weight * column, out)
    return sums[:, :-1].T.reshape(-1, *values.shape[1:])


@loop
def count_pairs(codes: Any, weights: Any, out: Any) -> None:
    """Do np.add.at(out[..., k], (codes[a], codes[b]), weights[k]) for all a <= b and all k.

    The weights are a tuple, so that the number of them is known when this is compiled.
    """
    for a in range(len(codes)):
        for b in range(a, len(codes)):
            for i in range(codes.shape[1]):
                cell = out[codes[a, i], codes[b, i]]
                for k in range(len(weights)):
                    cell[k] += weights[k][i]
