"""K^c, the doubly stochastic scaling of A^c.

K^c = diag(d) A diag(w) A' diag(d), where A is A^m and w weighs the groups. Its rows, weighted by
the counts s, sum to 1 where

    d_i (A w y)_i = 1    with    y = A' (s d)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import Array
from .membership import Membership

MEMORY = 8  # rounds that Anderson's mixing looks back on; more gain nothing


class Scaling(NamedTuple):
    """The diagonal d of K^c, the rounds it took, and the last change of its logarithms."""

    d: Array
    n_iter: int
    change: float


def co_occurrence_scaling(
    groups: Membership,
    weights: Array,
    counts: Array,
    sizes: Array,
    tol: float = 1e-11,
    max_iter: int = 200,
) -> Scaling:
    """Find d, for groups of these weights and sizes (A' s).

    The rounds go from y to d and back, on the logarithm of whichever is shorter. Near the solution
    a round multiplies the error by -K^c, whose eigenvalues lie in [0, 1]: that of a factor common
    to all entries is 1, and most others are near 0. So half of the mean step is taken, which
    settles the common factor, and nine tenths of the rest; steps are mixed with those before by
    Anderson's rule. The start is scaled so that the sum of w y^2 is that of the counts, as it is in
    the end.
    """

    def to_rows(y: Array) -> Array:
        total = groups.gather(weights * y)
        return np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)

    def to_groups(d: Array) -> Array:
        return groups.scatter(counts * d)

    by_group = groups.n_groups <= groups.n_rows
    y = np.where(weights > 0, sizes, 0.0)
    y *= np.sqrt(counts.sum() / max(weights @ y**2, 1e-300))
    state = y if by_group else to_rows(y)
    live = state > 0
    logs = np.log(state[live])
    rounds: list[tuple[Array, Array]] = []
    change, n_iter = np.inf, 0
    while change > tol and n_iter < max_iter:
        n_iter += 1
        state[live] = np.exp(logs)
        d = to_rows(state) if by_group else state
        image = to_groups(d) if by_group else to_rows(to_groups(d))
        move = np.log(image[live]) - logs
        change = float(np.abs(move).max(initial=0.0))
        rounds = [*rounds[-MEMORY:], (logs, 0.9 * move - 0.4 * move.mean())]
        logs = _mixed(rounds)
    return Scaling(d.copy(), n_iter, change)


def _mixed(rounds: list[tuple[Array, Array]]) -> Array:
    """The next point by Anderson's rule, from points x and their moves f(x), the latest last.

    It is the combination of the images x + f(x), with shares that sum to 1, for which the same
    combination of the moves is shortest.
    """
    *earlier, (point, move) = rounds
    image = point + move
    if not earlier:
        return image
    gaps = [move - other for _, other in earlier]
    products = np.array([[one @ other for one in gaps] for other in gaps])
    scale = 1 / np.sqrt(np.maximum(np.diag(products), 1e-300))
    right = scale * np.array([gap @ move for gap in gaps])
    mix = scale * np.linalg.lstsq(scale[:, None] * products * scale, right, rcond=1e-14)[0]
    return image + sum(
        share * (old + step - image) for share, (old, step) in zip(mix, earlier, strict=True)
    )
