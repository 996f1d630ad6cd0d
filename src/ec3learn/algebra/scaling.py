"""K^c, the doubly stochastic scaling of A^c."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from .membership import JointMembership, SparseMembership

Array = npt.NDArray[Any]


# ---- K^c: the doubly stochastic scaling ------------------------------------------------------------------------------


def co_occurrence_scaling(
    groups: JointMembership | SparseMembership, group_weights: Array, counts: Array, tol: float = 1e-11, max_iter: int = 200
) -> tuple[Array, int, float]:
    """Return d with K^c = diag(d) A^c diag(d) doubly stochastic, the rounds it took and the last change.

    A^c is weighted by `group_weights`, rows by `counts`. With y = A^m' (counts d), d = 1 / A^m (weights y): the rounds go there
    and back on the logarithm of d or of y, whichever is shorter, and take half of each step, mixed by Anderson's rule. Groups of
    a single row lie on the diagonal of A^c; for given y of the others their part of d follows from a quadratic equation.
    """
    own = None
    gather: Callable[[Array], Array] = groups.gather
    scatter: Callable[[Array], Array] = groups.scatter
    if isinstance(groups, SparseMembership):
        gather, scatter = groups.shared.__matmul__, groups.shared.T.__matmul__
        group_weights, solo_weights = groups.split(group_weights)
        own = counts * (groups.solo.power(2) @ solo_weights)

    def to_rows(y: Array) -> Array:
        total = gather(group_weights * y)
        if own is not None:  # d (total + own d) = 1
            total = (total + np.sqrt(total**2 + 4 * own)) / 2
        return np.divide(1.0, total, out=total, where=total > 0)

    def to_groups(d: Array) -> Array:
        return scatter(counts * d)

    by_group = len(group_weights) <= groups.n_rows
    y = scatter(counts)
    y[group_weights <= 0] = 0.0
    state = y if by_group else to_rows(y)
    dead = np.flatnonzero(state <= 0)
    logs = _logs(state, dead)
    mixing, change, n_iter = _Anderson(), np.inf, 0
    while change > tol and n_iter < max_iter:
        n_iter += 1
        state = np.exp(logs)
        state[dead] = 0.0
        d = to_rows(state) if by_group else to_rows(to_groups(state))
        move = _logs(to_groups(d) if by_group else d, dead)
        move -= logs
        change = float(max(move.max(initial=0.0), -move.min(initial=0.0)))
        if n_iter == 1:  # a step turns a common factor around: half of it settles that at once
            logs += move.sum() / max(len(move) - len(dead), 1) / 2
        elif change > tol:
            move *= 0.5
            logs = mixing(logs, move)
    return d, n_iter, change


def _logs(values: Array, dead: Array) -> Array:
    """Return logarithms, 0 for the entries that take no part."""
    values = values.copy() if len(dead) else values
    values[dead] = 1.0
    return np.log(values)


class _Anderson:
    """Anderson's mixing of the last rounds of a fixed-point iteration x <- x + f(x)."""

    def __init__(self) -> None:
        self.rounds: list[tuple[Array, Array]] = []  # x + f(x) and f(x), the latest last

    def __call__(self, point: Array, move: Array) -> Array:
        memory = 8 if len(point) < 400_000 else 3  # they take memory
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
