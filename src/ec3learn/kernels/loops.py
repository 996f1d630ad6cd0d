"""The loops that numba compiles, each for the rows from `begin` to `end` so that threads can share the work.

Only `kernels.compiled` loads this module. Every docstring gives the numpy form that defines the
loop; `tests/kernels` checks that both agree. `places` has the groups of all rows, one after the
other, and `starts` says where those of each row begin: below, A is
`scipy.sparse.csr_array((np.ones(len(places)), places, starts))`. Both are unsigned, for numba asks
of every signed number whether it is negative.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

SIXTEEN, FOUR = 16, 4  # digits that are packed, and columns that are summed, at a time
SIX = 6  # weights with which pairs of groups are counted
FEW_ROWS, ROWS, MANY_ROWS = (
    256,
    512,
    1024,
)  # whose numbers stay in the cache from one loop to the next
NO_DIGITS, PER_LN_2 = 1.5 * 2.0**52, 1.4426950408889634  # 1 / ln 2
LN_2, LN_2_REST = (
    0.693147180369123816,
    1.90821492927058770e-10,
)  # ln 2: digits that n has room for, and the rest
LEAST_EXPONENT = -708.0  # of which exp is not yet 0
TAYLOR = tuple(
    1 / math.factorial(n) for n in range(12, -1, -1)
)  # of exp(r); the next term is less than 2e-16
tools: Any = cgutils  # without types
ODD = np.uint64(0x9E3779B97F4A7C15)  # its multiples are spread over all 64-bit numbers


def loop(function: Any) -> Any:
    """Compile a function when it is first called, and keep the machine code on disk where there is a place for it."""
    try:
        return numba.njit(nogil=True, error_model="numpy", cache=True)(function)
    except RuntimeError:  # numba found no folder to write to
        return numba.njit(nogil=True, error_model="numpy")(function)


# ---- distinct rows -------------------------------------------------------------------------------


@loop
def ranges(lines: Any, low: Any, high: Any) -> None:
    """Set low, high = lines.min(axis=0), lines.max(axis=0)."""
    low[:] = lines[0]
    high[:] = lines[0]
    for i in range(1, len(lines)):
        for j in range(lines.shape[1]):
            low[j] = min(low[j], lines[i, j])
            high[j] = max(high[j], lines[i, j])


@loop
def list_votes(table: Any, voted: Any, starts: Any, voters: Any, labels: Any) -> None:
    """Set starts[1:] = np.cumsum(voted.sum(axis=1)); voters, labels = np.nonzero(voted)[1], table[voted].

    Both have room for one more, so that every cell can be written without asking.
    """
    k = 0
    for i in range(len(table)):
        for j in range(table.shape[1]):
            voters[k] = j
            labels[k] = table[i, j]
            k += voted[i, j]
        starts[i + 1] = k


def _dot_of_sixteen(typing: Any, table: Any, i: Any, j: Any, places: Any) -> Any:
    """Return a loop for table[i, j:][:SIXTEEN] @ places[j:][:SIXTEEN], of integers that stand side by side."""
    digit, number = table.dtype, places.dtype

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        lines, factors = (
            context.make_array(signature.args[k])(context, builder, args[k]) for k in (0, 3)
        )
        digits, numbers = (
            ir.VectorType(ir.IntType(kind.bitwidth), SIXTEEN) for kind in (digit, number)
        )
        begin = builder.mul(args[1], builder.extract_value(lines.strides, 0))
        begin = builder.add(begin, builder.mul(args[2], args[2].type(digit.bitwidth // 8)))
        line = builder.gep(builder.bitcast(lines.data, ir.IntType(8).as_pointer()), [begin])
        given = builder.load(builder.bitcast(line, digits.as_pointer()), align=digit.bitwidth // 8)
        if digit.bitwidth < number.bitwidth:
            given = (builder.sext if digit.signed else builder.zext)(given, numbers)
        weights = builder.bitcast(builder.gep(factors.data, [args[2]]), numbers.as_pointer())
        found = builder.mul(given, builder.load(weights, align=number.bitwidth // 8))
        while found.type.count > 1:  # one half is added to the other
            n = found.type.count // 2
            low, high = (
                ir.Constant(ir.VectorType(ir.IntType(32), n), list(range(k, k + n))) for k in (0, n)
            )
            found = builder.add(
                builder.shuffle_vector(found, found, low),
                builder.shuffle_vector(found, found, high),
            )
        return builder.extract_element(found, ir.IntType(32)(0))

    return number(table, types.intp, types.intp, places), generate


_dot_sixteen: Any = intrinsic(_dot_of_sixteen)


@loop
def pack(
    table: Any, places: Any, offset: int, keys: Any, n_safe: int, begin: int, end: int
) -> None:
    """Set keys = table @ places[: table.shape[1]] - offset.

    There are a multiple of SIXTEEN places; the first `n_safe` rows have as many digits or others
    after them to read instead.
    """
    for i in range(begin, min(end, n_safe)):
        key = -offset
        for j in range(0, len(places), SIXTEEN):
            key += _dot_sixteen(table, i, j, places)
        keys[i] = key
    for i in range(max(begin, n_safe), end):
        key = -offset
        for j in range(table.shape[1]):
            key += places[j] * table[i, j]
        keys[i] = key


@loop
def count(keys: Any, counts: Any, begin: int, end: int) -> None:
    """Add np.bincount(keys, minlength=len(counts)) to counts."""
    for i in range(begin, end):
        counts[keys[i]] += 1


@loop
def number(keys: Any, index: Any) -> Any:
    """Set values, index[:] = np.unique(keys, return_inverse=True), numbered as they first occur; returns the values.

    A slot holds the number of a value, not the value: so the slots are small, and frequent values
    stand side by side.
    """
    n, bits = 0, 14
    shift, mask = np.uint64(64 - bits), (1 << bits) - 1
    slots, values = (
        np.full(1 << bits, -1, dtype=np.int32),
        np.empty(1 << (bits - 1), dtype=np.uint64),
    )
    for i in range(len(keys)):
        key = np.uint64(keys[i])
        at = np.int64((key * ODD) >> shift)
        while True:
            found = slots[at]
            if found < 0:
                if n == len(values):  # twice the room, and everyone moves
                    bits += 1
                    shift, mask = np.uint64(64 - bits), (1 << bits) - 1
                    slots, values = (
                        np.full(1 << bits, -1, dtype=np.int32),
                        np.append(values, np.empty_like(values)),
                    )
                    for k in range(n):
                        at = np.int64((values[k] * ODD) >> shift)
                        while slots[at] >= 0:
                            at = (at + 1) & mask
                        slots[at] = k
                    at = np.int64((key * ODD) >> shift)
                    while slots[at] >= 0:
                        at = (at + 1) & mask
                slots[at], values[n], found = n, key, n
                n += 1
                break
            if values[found] == key:
                break
            at = (at + 1) & mask
        index[i] = found
    return values[:n].copy()


# ---- lines of a table ----------------------------------------------------------------------------
#
# numba adds single numbers that stand side by side one after the other. So these say it in the
# words of LLVM: some at once.


def _in_lines(length: int, into_table: bool) -> Any:
    """Return a loop that does table[places[begin:end], z:][:, :length] += line[z:][:length], or the reverse.

    The reverse sets line[z:][:length] = table[places[begin:end], z:][:, :length].sum(axis=0).
    """

    @intrinsic
    def add(typing: Any, table: Any, places: Any, begin: Any, end: Any, line: Any, z: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            arrays = [
                context.make_array(signature.args[k])(context, builder, args[k]) for k in (0, 1, 4)
            ]
            kind, (begin, end, z) = (
                ir.VectorType(ir.DoubleType(), length),
                (args[k] for k in (2, 3, 5)),
            )
            width = builder.extract_value(arrays[0].shape, 1)

            def numbers(array: Any, at: Any) -> Any:
                return builder.bitcast(builder.gep(array.data, [at]), kind.as_pointer())

            def added(one: Any, other: Any) -> Any:
                return builder.fadd(builder.load(one, align=8), builder.load(other, align=8))

            own = numbers(arrays[2], z)
            total = tools.alloca_once_value(
                builder, builder.load(own, align=8) if into_table else kind(None)
            )
            with tools.for_range_slice(builder, begin, end, begin.type(1), inc=True) as (k, _):
                place = context.cast(
                    builder,
                    builder.load(builder.gep(arrays[1].data, [k])),
                    signature.args[1].dtype,
                    types.intp,
                )
                entry = numbers(arrays[0], builder.add(builder.mul(place, width), z))
                builder.store(added(total, entry), entry if into_table else total, align=8)
            if not into_table:
                builder.store(builder.load(total), own, align=8)
            return context.get_dummy_value()

        return types.void(table, places, types.intp, types.intp, line, types.intp), generate

    return add


_sum_four, _sum_sixteen = _in_lines(FOUR, False), _in_lines(SIXTEEN, False)
_add_four, _add_six = _in_lines(FOUR, True), _in_lines(SIX, True)


def _in_terms(length: int) -> Any:
    """Return a loop for some classes of a row, in which a is sums[i, :terms * n].reshape(terms, n)[:, z:][:, :length].

    Here n is the number of classes but one. It sets own = proba[i, z:][:length] = np.maximum(shares
    @ a, 0), and does moments[:, :length] += own, aimed * a[aim], one * own^2, other * (own - aimed
    * a[aim])^2.
    """
    numbers, integer, number = ir.VectorType(ir.DoubleType(), length), types.intp, types.float64

    @intrinsic
    def mean(
        typing: Any,
        sums: Any,
        i: Any,
        z: Any,
        shares: Any,
        aim: Any,
        aimed: Any,
        one: Any,
        other: Any,
        proba: Any,
        moments: Any,
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            given, shares, proba, moments = (
                context.make_array(signature.args[k])(context, builder, args[k])
                for k in (0, 3, 8, 9)
            )
            i, z, aim, aimed, one, other = (args[k] for k in (1, 2, 4, 5, 6, 7))
            (_, width), (_, n_classes) = (
                tools.unpack_tuple(builder, array.shape) for array in (given, proba)
            )
            step = builder.sub(n_classes, n_classes.type(1))
            first = builder.add(builder.mul(i, width), z)

            def at(array: Any, place: Any) -> Any:
                return builder.bitcast(builder.gep(array.data, [place]), numbers.as_pointer())

            def of_term(t: Any, factor: Any) -> Any:
                place = builder.add(first, builder.mul(t, step))
                return builder.fmul(spread(factor), builder.load(at(given, place), align=8))

            def spread(value: Any) -> Any:
                zeros = ir.Constant(ir.VectorType(ir.IntType(32), length), [0] * length)
                return builder.shuffle_vector(
                    builder.insert_element(numbers(None), value, zeros.type.element(0)),
                    numbers(None),
                    zeros,
                )

            total = tools.alloca_once_value(builder, numbers(None))
            with tools.for_range(builder, builder.extract_value(shares.shape, 0)) as term:
                part = of_term(term.index, builder.load(builder.gep(shares.data, [term.index])))
                builder.store(builder.fadd(builder.load(total), part), total)
            own, target = builder.load(total), of_term(aim, aimed)
            own = builder.select(builder.fcmp_ordered("<", own, numbers(None)), numbers(None), own)
            builder.store(own, at(proba, builder.add(builder.mul(i, n_classes), z)), align=8)
            gap = builder.fsub(own, target)
            more = (own, target, builder.fmul(spread(one), builder.fmul(own, own)))
            for line, part in enumerate(
                (*more, builder.fmul(spread(other), builder.fmul(gap, gap)))
            ):
                place = at(moments, n_classes.type(FOUR * line))
                builder.store(builder.fadd(builder.load(place, align=8), part), place, align=8)
            return context.get_dummy_value()

        arguments = (
            sums,
            integer,
            integer,
            shares,
            integer,
            number,
            number,
            number,
            proba,
            moments,
        )
        return types.void(*arguments), generate

    return mean


_mean_of_four, _mean_of_one = _in_terms(FOUR), _in_terms(1)


@loop
def _sum_lines(table: Any, places: Any, begin: int, end: int, line: Any) -> None:
    """Set line = table[places[begin:end]].sum(axis=0)."""
    sixteens = table.shape[1] // SIXTEEN * SIXTEEN
    for z in range(0, sixteens, SIXTEEN):
        _sum_sixteen(table, places, begin, end, line, z)
    for z in range(sixteens, table.shape[1], FOUR):
        _sum_four(table, places, begin, end, line, z)


@loop
def _add_to_lines(table: Any, places: Any, begin: int, end: int, line: Any) -> None:
    """Do np.add.at(table, places[begin:end], line)."""
    for z in range(0, table.shape[1], FOUR):
        _add_four(table, places, begin, end, line, z)


@loop
def multiply(lines: Any, factors: Any, ends: Any, out: Any) -> None:
    """Set out[:, k] = lines[factors[ends[k]:ends[k + 1]]].prod(axis=0) for each k."""
    product = np.empty(FEW_ROWS)
    for low in range(0, len(out), FEW_ROWS):
        n = min(FEW_ROWS, len(out) - low)
        for k in range(len(ends) - 1):
            product[:] = 1.0
            for j in range(ends[k], ends[k + 1]):
                own = lines[factors[j], low : low + n]
                for i in range(n):
                    product[i] *= own[i]
            for i in range(n):
                out[low + i, k] = product[i]


@loop
def add_six(
    codes: Any, sizes: Any, models: Any, ends: Any, first: Any, values: Any, out: Any
) -> None:
    """Do np.add.at(out, first[b] + np.ravel_multi_index(codes[own], sizes[own]), values) for SIX columns and each block b.

    Here own = models[ends[b]:ends[b + 1]]. Some rows at a time are counted for all blocks, while
    their values are in the cache.
    """
    places = np.empty(MANY_ROWS, dtype=np.uint32)
    for low in range(0, len(values), MANY_ROWS):
        n = min(MANY_ROWS, len(values) - low)
        for b in range(len(first)):
            places[:] = 0
            for k in range(ends[b], ends[b + 1]):
                line, size = codes[models[k], low : low + n], np.uint32(sizes[models[k]])
                for i in range(n):
                    places[i] = places[i] * size + np.uint32(line[i])
            places += np.uint32(first[b])
            for i in range(n):
                _add_six(out, places, i, i + 1, values[low + i], 0)


# ---- membership ----------------------------------------------------------------------------------
#
# Tables over groups that have columns have a multiple of FOUR of them; those over rows may have
# fewer, and lack the last ones.


@loop
def gather_column(starts: Any, places: Any, column: Any, out: Any, begin: int, end: int) -> None:
    """Set out = A @ column."""
    for i in range(begin, end):
        total = 0.0
        for k in range(starts[i], starts[i + 1]):
            total += column[places[k]]
        out[i] = total


@loop
def gather_table(starts: Any, places: Any, table: Any, out: Any, begin: int, end: int) -> None:
    """Set out = A @ table."""
    sums = np.empty(table.shape[1])
    for i in range(begin, end):
        _sum_lines(table, places, starts[i], starts[i + 1], sums)
        for z in range(out.shape[1]):
            out[i, z] = sums[z]


@loop
def scatter_column(starts: Any, places: Any, values: Any, out: Any, begin: int, end: int) -> None:
    """Do out += A.T @ values."""
    for i in range(begin, end):
        value = values[i]
        for k in range(starts[i], starts[i + 1]):
            out[places[k]] += value


@loop
def scatter_table(starts: Any, places: Any, values: Any, out: Any, begin: int, end: int) -> None:
    """Do out += A.T @ values."""
    line = np.zeros(out.shape[1])
    for i in range(begin, end):
        for z in range(values.shape[1]):
            line[z] = values[i, z]
        _add_to_lines(out, places, starts[i], starts[i + 1], line)


@loop
def invert(
    starts: Any, places: Any, column: Any, counts: Any, out: Any, sums: Any, begin: int, end: int
) -> None:
    """Set out = 1 / (A @ column), 0 where that is 0, and do sums += A.T @ (counts * out)."""
    for i in range(begin, end):
        total = 0.0
        for k in range(starts[i], starts[i + 1]):
            total += column[places[k]]
        out[i] = 1.0 / total if total > 0 else 0.0
        value = counts[i] * out[i]
        for k in range(starts[i], starts[i + 1]):
            sums[places[k]] += value


@loop
def couple(
    starts: Any,
    places: Any,
    one: Any,
    other: Any,
    weights: Any,
    table: Any,
    out: Any,
    begin: int,
    end: int,
) -> None:
    """Set one_means, other_means = np.split(A @ table, 2, axis=1); mean = weights * (one * one_means + other * other_means).

    And do out += A.T @ np.hstack([one * mean, other * mean]). Tables have two columns for each of
    the two factors.
    """
    line = np.empty(FOUR)
    for i in range(begin, end):
        _sum_four(table, places, starts[i], starts[i + 1], line, 0)
        first = weights[i] * (one[i] * line[0] + other[i] * line[2])
        second = weights[i] * (one[i] * line[1] + other[i] * line[3])
        line[0], line[1], line[2], line[3] = (
            one[i] * first,
            one[i] * second,
            other[i] * first,
            other[i] * second,
        )
        _add_four(out, places, starts[i], starts[i + 1], line, 0)


@loop
def gather_code(codes: Any, column: Any, out: Any) -> None:
    """Do out += column[np.minimum(codes, len(column) - 1)]."""
    last = len(column) - 1
    for i in range(len(codes)):
        out[i] += column[min(codes[i], last)]


@loop
def gather_pair(codes: Any, pairs: Any, one: Any, other: Any) -> None:
    """Do the same for two columns: one, other += pairs[np.minimum(codes, len(pairs) - 1)].T."""
    last = len(pairs) - 1
    for i in range(len(codes)):
        code = min(codes[i], last)
        one[i] += pairs[code, 0]
        other[i] += pairs[code, 1]


@loop
def scatter_code(codes: Any, values: Any, out: Any) -> None:
    """Do np.add.at(out, np.minimum(codes, len(out) - 1), values)."""
    last = len(out) - 1
    for i in range(len(codes)):
        out[min(codes[i], last)] += values[i]


@loop
def scatter_pair(codes: Any, one: Any, other: Any, out: Any) -> None:
    """Do the same for two columns: np.add.at(out, np.minimum(codes, len(out) - 1), np.stack([one, other], axis=1))."""
    last = len(out) - 1
    for i in range(len(codes)):
        code = min(codes[i], last)
        out[code, 0] += one[i]
        out[code, 1] += other[i]


@loop
def mean_of_terms(
    starts: Any,
    places: Any,
    tables: Any,
    pulls: Any,
    inverses: Any,
    fallback: Any,
    counts: Any,
    in_group: Any,
    target: int,
    proba: Any,
    unanswered: Any,
    begin: int,
    end: int,
) -> Any:
    """Return mean_of_sums(A @ tables, ...), some rows at a time."""
    sums = np.empty((ROWS, tables.shape[1]))
    squares, tension = 0.0, 0.0
    for low in range(begin, end, ROWS):
        high = min(low + ROWS, end)
        part = sums[: high - low]
        for i in range(low, high):
            _sum_lines(tables, places, starts[i], starts[i + 1], part[i - low])
        square, distance = mean_of_sums(
            part, pulls, inverses, fallback, counts, in_group, target, proba, unanswered, low
        )
        squares += square
        tension += distance
    return squares, tension


@loop
def _sum_of_four(moments: Any, k: int) -> float:
    """Return moments[k].sum()."""
    return (moments[k, 0] + moments[k, 1]) + (moments[k, 2] + moments[k, 3])


@loop
def mean_of_sums(
    sums: Any,
    pulls: Any,
    inverses: Any,
    fallback: Any,
    counts: Any,
    in_group: Any,
    target: int,
    proba: Any,
    unanswered: Any,
    begin: int,
) -> Any:
    """Set means = inverses.T[:, :, None] * sums.reshape(n, len(pulls), -1); strength = pulls * (inverses.T > 0).

    Further columns are not looked at. Here there are n rows from `begin` on, and the last class is
    missing in the sums: what it lacks is 1 less the others. proba is the mean of the means,
    weighted by strength and at least 0; rows without any strength get the fallback. Returns (counts
    * in_group) @ |proba|^2 and, for the term `target` (-1: none), (counts * strength / 2) @ |proba
    - mean|^2.
    """
    n_solved, aim, known, per_strength = len(fallback) - 1, max(target, 0), 0.0, 0.0
    shares, moments, squares, tension = np.empty(len(pulls)), np.zeros((4, FOUR)), 0.0, 0.0
    fours, own = n_solved // FOUR * FOUR, proba[begin:]
    for k in range(len(sums)):
        i, strength = begin + k, 0.0
        for t in range(len(pulls)):
            strength += pulls[t] if inverses[t][i] > 0 else 0.0
        if strength != known:  # it is the same for most rows, and divisions are slow
            known, per_strength = strength, 1 / strength if strength > 0 else 0.0
        for t in range(len(pulls)):
            shares[t] = pulls[t] * per_strength * inverses[t][i]
        aimed = inverses[aim][i] if target >= 0 else 0.0
        one, other = (
            counts[i] if in_group[i] else 0.0,
            counts[i] * pulls[aim] / 2 if aimed > 0 else 0.0,
        )
        moments[:] = 0.0
        for z in range(0, fours, FOUR):
            _mean_of_four(sums, k, z, shares, aim, aimed, one, other, own, moments)
        for z in range(fours, n_solved):
            _mean_of_one(sums, k, z, shares, aim, aimed, one, other, own, moments)
        last = max(0.0, 1 - _sum_of_four(moments, 0))
        proba[i, n_solved] = last
        squares += _sum_of_four(moments, 2) + one * last**2
        tension += _sum_of_four(moments, 3) + other * (last - 1 + _sum_of_four(moments, 1)) ** 2
        unanswered[i] = strength <= 0
        if strength <= 0:
            for z in range(n_solved + 1):
                squares += one * (fallback[z] ** 2 - proba[i, z] ** 2)
                proba[i, z] = fallback[z]
    return squares, tension


# ---- soft votes ----------------------------------------------------------------------------------
#
# Hard votes beside soft ones are joint columns: `keys` has a line for each, and `first` says where
# its codes begin in a table of the codes of all. B below is the matrix with ones at the places of a
# row's codes.


@loop
def weigh(keys: Any, first: Any, table: Any, weights: Any, out: Any, sums: Any) -> None:
    """Set out = (weights[:, :, None] * table[:, None, :]).reshape(len(table), -1), and do sums += B.T @ out."""
    n_columns = table.shape[1]
    for i in range(len(table)):
        own = out[i]
        for k in range(weights.shape[1]):
            for j in range(n_columns):
                own[k * n_columns + j] = weights[i, k] * table[i, j]
        for b in range(len(keys)):
            line = sums[first[b] + keys[b, i]]
            for j in range(len(own)):
                line[j] += own[j]


@loop
def invert_soft(
    keys: Any,
    first: Any,
    table: Any,
    joint: Any,
    column: Any,
    counts: Any,
    out: Any,
    sums: Any,
    begin: int,
    end: int,
) -> Any:
    """Set out = 1 / (B @ joint + column @ table), 0 where that is 0, and do sums += B.T @ (counts * out).

    Returns table @ (counts * out). Here the table has a line for each column of shares, the first
    of them ones; some rows at a time are read line by line.
    """
    soft_sums, values, ones = np.zeros(len(column)), np.empty(ROWS), np.ones(ROWS)
    for low in range(begin, end, ROWS):
        n = min(ROWS, end - low)
        total = out[low : low + n]
        total[:] = column[0]
        for b in range(len(keys)):
            for i in range(n):
                total[i] += joint[first[b] + keys[b, low + i]]
        for j in range(1, len(column)):
            own, factor = table[j, low : low + n], column[j]
            for i in range(n):
                total[i] += factor * own[i]
        for i in range(n):
            total[i] = 1.0 / total[i] if total[i] > 0 else 0.0
            values[i] = counts[low + i] * total[i]
        soft_sums[0] += _dot(ones[:n], values)
        for b in range(len(keys)):
            for i in range(n):
                sums[first[b] + keys[b, low + i]] += values[i]
        for j in range(1, len(column)):
            soft_sums[j] += _dot(table[j, low : low + n], values)
    return soft_sums


@numba.njit(nogil=True, fastmath={"reassoc"})
def _dot(one: Any, other: Any) -> float:
    """Return one @ other[:len(one)], in any order, so that several numbers are added at a time."""
    total = 0.0
    for i in range(len(one)):
        total += one[i] * other[i]
    return total


# ---- EM ------------------------------------------------------------------------------------------


@numba.njit(nogil=True, error_model="numpy")
def _exp(values: Any, rounded: Any, power: Any) -> None:
    """Replace numbers of at most 0 by `np.exp` of them, several at a time: numba would call the one of C for each.

    With n = round(x / ln 2) and r = x - n ln 2, exp(x) = 2^n exp(r). A sum with 1.5 * 2^52 has no
    room for digits after the point: its last bits are n, and become the exponent of 2^n.
    """
    for k in range(len(values)):
        rounded[k] = values[k] * PER_LN_2 + NO_DIGITS
    bits, exponent = rounded.view(np.int64), power.view(np.int64)
    for k in range(len(values)):
        exponent[k] = (bits[k] + 1023) << 52
    for k in range(len(values)):
        n = rounded[k] - NO_DIGITS
        r = (values[k] - n * LN_2) - n * LN_2_REST
        series = 0.0
        for factor in TAYLOR:
            series = series * r + factor
        values[k] = 0.0 if values[k] < LEAST_EXPONENT else series * power[k]


@loop
def posterior(
    starts: Any,
    places: Any,
    table: Any,
    prior: Any,
    n_classes: int,
    counts: Any,
    proba: Any,
    logs: Any,
    begin: int,
    end: int,
) -> Any:
    """Set sums = A @ table + prior; logs = logsumexp(sums); proba, before = softmax(sums), proba.

    Columns are classes, or subtypes of classes side by side. Returns counts @ abs((proba - before)
    summed by class).
    """
    width, moved = len(prior), 0.0
    per_class = width // n_classes
    line, sums = np.empty(table.shape[1]), np.empty(FEW_ROWS * width)
    rounded, power = np.empty(FEW_ROWS * width), np.empty(FEW_ROWS * width)
    for low in range(begin, end, FEW_ROWS):
        high = min(low + FEW_ROWS, end)
        for i in range(low, high):
            _sum_lines(table, places, starts[i], starts[i + 1], line)
            top = -np.inf
            for z in range(width):
                line[z] += prior[z]
                top = max(top, line[z])
            own = sums[(i - low) * width : (i - low + 1) * width]
            for z in range(width):
                own[z] = line[z] - top
            logs[i] = top
        _exp(sums[: (high - low) * width], rounded, power)
        for i in range(low, high):
            own = sums[(i - low) * width : (i - low + 1) * width]
            total = 0.0
            for z in range(width):
                total += own[z]
            logs[i] += np.log(total)
            now, change = proba[i], 0.0
            for z in range(width):
                share = own[z] / total
                own[z] = share - now[z]
                now[z] = share
            for z in range(0, width, per_class):
                more = 0.0
                for t in range(z, z + per_class):
                    more += own[t]
                change += abs(more)
            moved += counts[i] * change
    return moved
