"""Two kinds of rounds: the scaling of K^c, and conjugate gradients.

K^c = diag(d) A diag(w) A' diag(d), where A is A^m and w weighs the groups. Its rows, weighted by
the counts s, sum to 1 where

    d_i (A w y)_i = 1    with    y = A' (s d)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._typing import Array
from .membership import CHUNK, Membership, chunks

MEMORY = 8  # rounds that Anderson's mixing looks back on; more gain nothing


def co_occurrence_scaling(
    groups: Membership,
    weights: Array,
    counts: Array,
    sizes: Array,
    tol: float = 1e-11,
    max_iter: int = 200,
) -> tuple[Array, int, float]:
    """The diagonal d of K^c, the rounds it took, and the last change of its logarithms.

    The rounds go from y to d and back, on the logarithm of whichever is shorter. Near the solution
    a round multiplies the error by -K^c, whose eigenvalues lie in [0, 1]: that of a factor common
    to all entries is 1, and most others are near 0. So half of the mean step is taken, which
    settles the common factor, and nine tenths of the rest; steps are mixed with those before by
    Anderson's rule. The start is scaled so that the sum of w y^2 is that of the counts, as it is in
    the end. All weights and sizes (A' s) are above 0.
    """
    by_group = groups.n_groups <= groups.n_rows
    y = sizes * np.sqrt(counts.sum() / max(weights @ sizes**2, 1e-300))
    state = y if by_group else inverse(groups.gather(weights * y))
    live = state > 0  # not the rows in no group
    points: list[Array] = []
    moves: list[Array] = []
    logs, change, n_iter = np.log(state[live]), np.inf, 0
    while change > tol and n_iter < max_iter:
        n_iter += 1
        state[live] = np.exp(logs)
        d = inverse(groups.gather(weights * state)) if by_group else state.copy()
        image = groups.scatter(counts * d)
        image = image if by_group else inverse(groups.gather(weights * image))
        move = np.log(image[live]) - logs
        change = float(np.abs(move).max(initial=0.0))
        points, moves = (
            [*points[-MEMORY:], logs],
            [*moves[-MEMORY:], 0.9 * move - 0.4 * move.mean()],
        )
        logs = _mixed(np.array(points), np.array(moves))
    return d, n_iter, change


def _mixed(points: Array, moves: Array) -> Array:
    """The next point by Anderson's rule, from points x and their moves f(x), the latest last.

    It is the combination of the images x + f(x), with shares that sum to 1, for which the same
    combination of the moves is shortest.
    """
    images, gaps = points + moves, moves[-1] - moves[:-1]
    products = gaps @ gaps.T
    scale = 1 / np.sqrt(np.maximum(np.diag(products), 1e-300))
    scaled = scale[:, None] * products * scale
    mix = scale * np.linalg.lstsq(scaled, scale * (gaps @ moves[-1]), rcond=1e-14)[0]
    return np.asarray(images[-1] + mix @ (images[:-1] - images[-1]))


def inverse(values: Array) -> Array:
    """One over each value, 0 for those not above 0."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)


# ---- conjugate gradients -------------------------------------------------------------------------


def conjugate_gradients(
    apply: Callable[[Array], Array], diagonal: Array, right: Array, tol: float, max_iter: int
) -> tuple[Array, int, bool]:
    """Solve a positive definite system for each column, preconditioned by its diagonal.

    Returns the solution, the rounds it took, and whether all relative residuals fell below `tol`.
    """
    solved, residual, direction = np.zeros_like(right), right.copy(), np.zeros_like(right)
    least, before = tol * np.linalg.norm(right, axis=0), np.ones(right.shape[1])
    for n_iter in range(max_iter + 1):
        if (np.linalg.norm(residual, axis=0) <= least).all():
            return solved, n_iter, True
        scaled = residual / diagonal[:, None]
        square = np.einsum("iz,iz->z", residual, scaled)
        direction = scaled + square * inverse(before) * direction
        image = apply(direction)
        length = square * inverse(np.einsum("iz,iz->z", direction, image))
        solved += length * direction
        residual -= length * image
        before = square
    return solved, max_iter, False


def solve_free_rows(
    apply: Callable[[Array], Array],
    diagonal: Array,
    right: Callable[[slice], Array],
    counts: Array,
    free: Array,
    table: Array,
    tol: float,
    max_iter: int,
) -> tuple[int, bool]:
    """Solve apply(columns) = right(places) for the free rows of a table; its other rows stay.

    The system must be symmetric in the inner product weighted by `counts`. So it is solved for
    sqrt(counts) x columns, in which it is symmetric in the plain sense. Free rows must count.
    Returns the most rounds it took, and whether all columns converged.
    """
    free, root = free[:, None], np.sqrt(counts)[:, None]
    inverse_root = inverse(root)
    free_diagonal = np.where(free[:, 0], diagonal, 1.0)

    def masked(columns: Array) -> Array:
        return np.where(free, root * apply(inverse_root * columns), columns)

    n_iter, converged = 0, True
    for part in chunks(table.shape[1], 1 + 8 * CHUNK // max(len(table), 1)):
        begun = apply(table[:, part]) if table.any() else 0.0
        gap = np.where(free, root * (right(part) - begun), 0.0)
        solved, rounds, done = conjugate_gradients(masked, free_diagonal, gap, tol, max_iter)
        table[:, part] += np.where(free, inverse_root * solved, 0.0)
        n_iter, converged = max(n_iter, rounds), converged and done
    return n_iter, converged
