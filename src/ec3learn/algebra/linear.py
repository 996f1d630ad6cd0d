"""Small steps of linear algebra."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse.linalg import LinearOperator, cg

Array = npt.NDArray[Any]


def normalised(sums: Array) -> Array:
    """Return rows divided by their sums; rows of zeros stay."""
    totals = sums.sum(axis=-1, keepdims=True)
    return np.divide(sums, totals, out=np.zeros_like(sums), where=totals > 0)


def solved_columns(
    apply: Callable[[Array], Array], diagonal: Array, columns: Iterable[Array], tol: float, max_iter: int
) -> Iterator[tuple[Array, int, bool]]:
    """Solve a positive definite system for one column after the other by conjugate gradients, scaled by its diagonal.

    Each comes with the rounds it took and whether it reached the tolerance.
    """
    shape = (len(diagonal), len(diagonal))
    operator = LinearOperator(shape, matvec=apply, dtype=np.float64)
    inverse = 1 / diagonal
    scaling = LinearOperator(shape, matvec=lambda vector: inverse * vector, dtype=np.float64)
    for column in columns:
        rounds = _Counter()
        solved, status = cg(operator, column, rtol=tol, atol=0.0, maxiter=max_iter, M=scaling, callback=rounds)
        yield solved, rounds.n, status == 0


class _Counter:
    """Counts the rounds it is called back for."""

    n = 0

    def __call__(self, _: Array) -> None:
        self.n += 1
