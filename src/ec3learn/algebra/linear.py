"""Small steps of linear algebra: rows that sum to 1, slices that fit the cache, and conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse.linalg import LinearOperator, cg

Array = npt.NDArray[Any]

CHUNK = 1 << 16  # rows handled at a time


def chunks(n_rows: int, size: int = CHUNK) -> Iterator[slice]:
    """Return the slices that cut the rows into pieces which fit the cache."""
    return (slice(begin, min(begin + size, n_rows)) for begin in range(0, n_rows, size))


def normalised(sums: Array) -> Array:
    """Return rows divided by their sums; rows of zeros stay."""
    totals = sums.sum(axis=-1, keepdims=True)
    return np.divide(sums, totals, out=np.zeros_like(sums, dtype=np.float64), where=totals > 0)


def squared_norms(table: Array) -> Array:
    """Return the squared length of each row."""
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
    rounds = _Counter()
    solved, status = cg(operator, right, rtol=tol, atol=0.0, maxiter=max_iter, M=preconditioner, callback=rounds)
    return solved, rounds.n, status == 0


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
    """Solve apply(column) = right for the free rows of a table, one column after the other; all other rows stay as they are.

    The system must be symmetric in the inner product weighted by `counts`. So it is solved for sqrt(counts) x column, in which it
    is symmetric in the plain sense. Free rows must count. Returns the most rounds a column took, and whether all converged.
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


class _Counter:
    """Counts the rounds it is called back for."""

    n = 0

    def __call__(self, _: Array) -> None:
        self.n += 1
