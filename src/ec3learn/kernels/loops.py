"""The loops that numba compiles. Only `kernels.compiled` loads this module.

Every docstring gives the numpy form that defines the loop, and a test checks that both agree.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

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


# ---- pairs of groups -----------------------------------------------------------------------------


@loop
def count_pairs(groups: Any, weights: Any, out: Any) -> None:
    """Do np.add.at(out, (groups[a], groups[b]), weights) for all a <= b.

    The groups of one model stand in a row of `groups`, its weights in a row of `weights`.
    """
    for low in range(0, len(weights), ROWS):
        high = min(low + ROWS, len(weights))
        for a in range(len(groups)):
            for b in range(a, len(groups)):
                for i in range(low, high):
                    cell = out[groups[a, i], groups[b, i]]
                    for k in range(weights.shape[1]):
                        cell[k] += weights[i, k]
