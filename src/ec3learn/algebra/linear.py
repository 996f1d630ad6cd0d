"""Small steps of linear algebra: shares, slices that fit the cache, and conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from .._typing import Array

CHUNK = 1 << 16  # rows handled at a time


def chunks(n_rows: int, size: int = CHUNK) -> Iterator[slice]:
    """The slices that cut the rows into pieces which fit the cache."""
    return (slice(begin, min(begin + size, n_rows)) for begin in range(0, n_rows, size))


def evenly(n: int, most: int) -> Array:
    """At most so many numbers below n, one at random from each stretch of equal length."""
    if n <= most:
        return np.arange(n)
    ends = np.arange(most + 1) * n // most
    return ends[:-1] + np.random.default_rng(0).integers(np.diff(ends))


def sample_rows(counts: Array, size: int, kept: Array | None = None) -> tuple[Array, Array]:
    """Rows that stand for all, and how often each counts; frequent and kept ones are among them."""
    frequent = counts > counts.sum() / size
    if kept is not None:
        frequent |= kept
    rest = np.flatnonzero(~frequent)
    drawn = rest[evenly(len(rest), size)]
    rows = np.sort(np.concatenate([np.flatnonzero(frequent), drawn]))
    more = float(counts[rest].sum()) / max(float(counts[drawn].sum()), 1e-300)
    return rows, np.where(frequent[rows], 1.0, more) * counts[rows]


def normalised(sums: Array) -> Array:
    """Rows divided by their sums; rows of zeros stay."""
    totals = sums.sum(axis=-1, keepdims=True)
    return np.divide(sums, totals, out=np.zeros_like(sums, dtype=np.float64), where=totals > 0)


def squared_norms(table: Array) -> Array:
    """The squared length of each row."""
    return np.einsum("iz,iz->i", table, table)


def conjugate_gradients(
    apply: Callable[[Array], Array], diagonal: Array, right: Array, tol: float, max_iter: int
) -> tuple[Array, int, bool]:
    """Solve a positive definite system, preconditioned by its diagonal.

    Returns the solution, the rounds it took, and whether the relative residual fell below `tol`.
    """
    shape = (len(diagonal), len(diagonal))
    operator = LinearOperator(shape, matvec=apply, dtype=np.float64)
    inverse = 1 / diagonal
    preconditioner = LinearOperator(shape, matvec=lambda vector: inverse * vector, dtype=np.float64)
    rounds: list[Array] = []  # the solution so far, which is one vector all along
    solved, status = cg(
        operator,
        right,
        rtol=tol,
        atol=0.0,
        maxiter=max_iter,
        M=preconditioner,
        callback=rounds.append,
    )
    return solved, len(rounds), status == 0


def solve_free_rows(
    apply: Callable[[Array], Array],
    diagonal: Array,
    rights: Iterator[Array],
    counts: Array,
    free: Array,
    table: Array,
    tol: float,
    max_iter: int,
) -> tuple[int, bool]:
    """Solve apply(column) = right for the free rows of each column of a table; other rows stay.

    The system must be symmetric in the inner product weighted by `counts`. So it is solved for
    sqrt(counts) x column, in which it is symmetric in the plain sense. Free rows must count.
    Returns the most rounds a column took, and whether all converged.
    """
    root = np.sqrt(counts)
    inverse_root = np.divide(1.0, root, out=np.zeros_like(root), where=free)
    held = bool(table.any())

    def masked(vector: Array) -> Array:
        return np.where(free, root * apply(inverse_root * vector), vector)

    n_iter, converged = 0, True
    free_diagonal = np.where(free, diagonal, 1.0)
    for z, right in enumerate(rights):
        right = np.where(free, root * (right - apply(table[:, z]) if held else right), 0.0)
        solved, rounds, done = conjugate_gradients(masked, free_diagonal, right, tol, max_iter)
        table[free, z] = (inverse_root * solved)[free]
        n_iter, converged = max(n_iter, rounds), converged and done
    return n_iter, converged
