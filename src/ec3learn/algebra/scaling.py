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


class Scaling(NamedTuple):
    """The diagonal d of K^c, the rounds it took, the last change, and y where it was found on the way."""

    d: Array
    n_iter: int
    change: float
    y: Array | None


def co_occurrence_scaling(
    groups: Membership,
    group_weights: Array,
    counts: Array,
    sizes: Array,
    tol: float = 1e-11,
    max_iter: int = 200,
) -> Scaling:
    """Return d, for groups of these sizes (A' s).

    The rounds go from y to d and back, on the logarithm of whichever is shorter. Near the solution
    a round multiplies the error by -K^c, whose eigenvalues lie in [0, 1]: that of a factor common
    to all entries is 1, and most others are near 0. So half of the mean step is taken, which
    settles the common factor, and nine tenths of the rest; steps are mixed with those before by
    Anderson's rule. The start is scaled so that the sum of w y^2 is that of the counts, as it is in
    the end. Groups of a single row lie on the diagonal of A^c: for given y of the shared groups, d
    solves the quadratic equation d_i ((A w y)_i + own_i d_i) = 1.
    """
    n_shared = groups.n_shared
    weights = group_weights[:n_shared]
    own = None
    if n_shared < groups.n_groups:
        own = counts * groups.gather_solo_squares(group_weights[n_shared:])

    def inverse(total: Array) -> Array:
        if own is not None:
            total = (total + np.sqrt(total**2 + 4 * own)) / 2
        return np.divide(1.0, total, out=total, where=total > 0)

    def to_rows(y: Array) -> Array:
        return inverse(groups.gather_shared(weights * y))

    by_group = n_shared <= groups.n_rows
    y = np.where(weights > 0, sizes[:n_shared], 0.0)
    y *= np.sqrt(counts.sum() / max(weights @ y**2, 1e-300))
    state = y if by_group else to_rows(y)
    dead = np.flatnonzero(state <= 0)
    logs = _logs(state, dead)
    mixing, change, n_iter = _Anderson(), np.inf, 0
    while change > tol and n_iter < max_iter:
        n_iter += 1
        state = np.exp(logs)
        state[dead] = 0.0
        at_once = groups.invert(weights * state, counts) if by_group and own is None else None
        if at_once is not None:
            d, image = at_once
        else:
            d = (
                to_rows(state)
                if by_group
                else inverse(*groups.through([counts * state], [weights]))
            )
            image = groups.scatter_shared(counts * d) if by_group else d
        move = _logs(image, dead)
        move -= logs
        change = float(max(move.max(initial=0.0), -move.min(initial=0.0)))
        if change > tol:
            common = move.sum() / max(len(move) - len(dead), 1)
            move *= 0.9
            move -= 0.4 * common
            move[dead] = 0.0
            logs = mixing(logs, move)
    return Scaling(d, n_iter, change, image if by_group and own is None else None)


def _logs(values: Array, dead: Array) -> Array:
    """Return logarithms, 0 for the entries that take no part."""
    values = values.copy() if len(dead) else values
    values[dead] = 1.0
    return np.log(values)


class _Anderson:
    """Anderson's mixing for a fixed-point iteration x <- x + f(x).

    The next point is the combination of the last images x + f(x), with shares that sum to 1, for
    which the same combination of the moves f(x) is shortest.
    """

    def __init__(self) -> None:
        self.rounds: list[tuple[Array, Array]] = []  # x + f(x) and f(x), the latest last

    def __call__(self, point: Array, move: Array) -> Array:
        memory = 8 if len(point) < 400_000 else 3  # long ones take too much memory
        earlier = self.rounds[-memory:]
        image = point + move
        self.rounds = [*earlier, (image, move)]
        if not earlier:
            return image.copy()
        gaps = [move - old for _, old in earlier]
        products = np.array([[a @ b for b in gaps] for a in gaps])
        scale = 1 / np.sqrt(np.maximum(np.diag(products), 1e-300))
        right = scale * np.array([gap @ move for gap in gaps])
        mix = scale * np.linalg.lstsq(scale[:, None] * products * scale, right, rcond=1e-14)[0]
        out = image * (1 - mix.sum())
        for share, (old, _), spare in zip(mix, earlier, gaps, strict=True):
            out += np.multiply(old, share, out=spare)
        return out
