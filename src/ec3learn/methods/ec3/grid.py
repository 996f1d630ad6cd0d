"""The whole grid of settings of EC3 on held-out labels."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg

from ...algebra.membership import JointMembership, SparseMembership, entries
from ...answer.rule import KnownLabels, Targets
from ...votes import Votes
from .objective import Problem, Weights

Array = npt.NDArray[Any]
Setting = tuple[float, float, float, float]  # alpha, beta, gamma, delta

SOFT_VOTE: Setting = (0.0, 0.0, 1.0, 0.0)


def grid(step: float = 0.05) -> list[Setting]:
    """Return all settings with alpha + beta + gamma + delta = 1 in these steps that leave something to go by."""
    n = round(1 / step)
    parts = ((a, b, c, n - a - b - c) for a, b, c in product(range(n + 1), repeat=3) if a + b + c <= n)
    return [tuple(x / n for x in part) for part in parts if part[2] > 0 or (part[0] > 0 and part[3] > 0)]  # type: ignore[misc]


class HeldOutFold:
    """The system over groups for votes of which some rows' labels are hidden; every row must have a class vote or a target."""

    def __init__(
        self,
        votes: Votes,
        groups: JointMembership | SparseMembership,
        model_weights: Array,
        codes: Array,
        hidden: Array,
        given: Targets | None = None,
        balanced: bool = True,
    ) -> None:
        known = KnownLabels(np.where(hidden, -1, codes), np.inf)
        unit = Weights(1.0, 1.0, 1.0, 1.0, balanced)
        problem = Problem(
            groups, votes.counts, model_weights, votes.group_model, votes.group_class, votes.n_classes, unit, known, given
        )
        self.live = live = np.flatnonzero(problem.live)
        free, fixed = np.flatnonzero(~problem.fixed), np.flatnonzero(problem.fixed)
        factors = [problem.inverse_rho, problem.d]
        pairs = [(0, 0), (0, 1), (1, 1)]

        def row_weights(rows: slice) -> Array:
            counts = problem.counts[rows] * ~problem.fixed[rows]
            return np.stack([counts * factors[a][rows] * factors[b][rows] for a, b in pairs], axis=1)

        grams = groups.grams(row_weights, 3)
        self.grams = {pair: gram[np.ix_(live, live)] for pair, gram in zip(pairs, grams, strict=True)}
        target = problem.all_targets
        hit = [np.zeros_like(target), np.zeros_like(target)]
        self.votes, self.labels = [], []
        for factor in factors:
            hit[0][:], hit[1][:] = 0.0, 0.0
            hit[0][free] = (problem.counts * factor)[free, None] * target[free]
            hit[1][fixed] = (problem.counts * factor)[fixed, None] * target[fixed]
            self.votes.append(groups.scatter(hit[0])[live])
            self.labels.append(groups.scatter(hit[1])[live])
        self.u, self.w = problem.u[live], problem.w[live]
        self.mass = (problem.u * groups.scatter(problem.counts * problem.inverse_rho))[live]  # c_j
        self.group_votes = problem.group_votes[live]
        self.tied = problem.voted[live]
        self.rows = np.flatnonzero(hidden)
        shares = entries(votes)[self.rows][:, groups.order[live]].toarray()
        self.to_groups = problem.inverse_rho[self.rows, None] * shares * self.u
        self.to_companions = problem.d[self.rows, None] * shares * self.w
        self.target = target[self.rows]
        self.objects = self.places = np.arange(len(self.rows))  # which objects the rows stand for, and which row is each one's

    def proba(self, setting: Setting) -> Array:
        """Return the class probabilities of the hidden rows."""
        alpha, beta, gamma, delta = setting
        share = 1 / (alpha + 2 * beta + 2 * gamma)
        answer = 2 * gamma * self.target
        weight = {0: alpha, 1: 2 * beta}
        sides = [a for a in (0, 1) if weight[a] > 0]
        if sides:
            unknown = self._solved(sides, weight, delta, share, 2 * gamma * share)
            for a, table in zip(sides, unknown, strict=True):
                answer = answer + weight[a] * (self.to_groups, self.to_companions)[a] @ table
        return np.asarray(share * answer)

    def _solved(self, sides: list[int], weight: dict[int, float], delta: float, share: float, pull: float) -> list[Array]:
        """Return F^g and x, those of them that couple anything."""
        n = len(self.live)
        pulled = np.where(self.tied, 2 * delta, 0.0)
        diagonal = {0: weight[0] * self.mass + pulled, 1: weight[1] * self.w}
        factor = {0: weight[0] * self.u, 1: weight[1] * self.w}
        scale = {a: 1 / np.sqrt(np.maximum(diagonal[a], 1e-300)) for a in sides}
        system = np.empty((len(sides) * n, len(sides) * n))
        right = np.empty((len(sides) * n, self.target.shape[1]))
        for i, a in enumerate(sides):
            rows = slice(i * n, (i + 1) * n)
            own = scale[a] * factor[a]
            for j, b in enumerate(sides):
                gram = self.grams[min(a, b), max(a, b)]
                system[rows, j * n : (j + 1) * n] = -share * own[:, None] * gram * (scale[b] * factor[b])
            right[rows] = own[:, None] * (pull * self.votes[a] + self.labels[a])
            if a == 0:
                right[rows] += (scale[a] * pulled)[:, None] * self.group_votes
        system.flat[:: len(system) + 1] += 1
        solved = linalg.solve(system, right, assume_a="pos", overwrite_a=True, overwrite_b=True, check_finite=False)
        return [scale[a][:, None] * solved[i * n : (i + 1) * n] for i, a in enumerate(sides)]
