"""The whole grid of settings of EC3 on held-out labels."""

from __future__ import annotations

from itertools import product

import numpy as np

from ..._typing import Array
from ...algebra.membership import Membership, entries
from ...answer.rule import KnownLabels, Targets
from ...votes import Votes
from .objective import Problem, Setting
from .system import ALPHA, BETA, LiveGroups, RowSums, solve_over_groups

SOFT_VOTE = Setting(0.0, 0.0, 1.0, 0.0)
UNIT = Setting(1.0, 1.0, 1.0, 1.0)


def grid(step: float = 0.05) -> list[Setting]:
    """Return all settings with alpha + beta + gamma + delta = 1 in these steps that tie the answer to the votes."""
    n = round(1 / step)
    parts = ((a, b, c, n - a - b - c) for a, b, c in product(range(n + 1), repeat=3) if a + b + c <= n)
    return [Setting(*(x / n for x in part)) for part in parts if part[2] > 0 or (part[0] > 0 and part[3] > 0)]


class HeldOutFold:
    """EC3's answers for rows whose labels are hidden, for any setting; every row must have a class vote or a target.

    Then all rows whose labels are not known have the same share, 1 / (alpha + 2 beta + 2 gamma). So the sums over rows are taken
    once, and a setting costs one small system. `rows` are the hidden ones; `objects` are the objects they stand for, and `places`
    says which of the rows each of these objects is.
    """

    def __init__(
        self,
        votes: Votes,
        groups: Membership,
        model_weights: Array,
        codes: Array,
        hidden: Array,
        given: Targets | None = None,
        balanced: bool = True,
    ) -> None:
        known = KnownLabels(np.where(hidden, -1, codes), np.inf)
        problem = Problem(votes, groups, model_weights, UNIT, balanced, known, given)
        self.live = live = np.flatnonzero(problem.live)
        self._sums = RowSums.of(problem)
        self._groups = LiveGroups.of(problem, self._sums.group_votes)
        self._mass = problem.u[live] * groups.scatter(problem.counts * problem.inverse_rho)[live]  # c_j
        self.rows = np.flatnonzero(hidden)
        shares = entries(votes)[self.rows][:, groups.order[live]].toarray()
        self._to_groups = problem.inverse_rho[self.rows, None] * shares * self._groups.u
        self._to_companions = problem.d[self.rows, None] * shares * self._groups.w
        self.target = problem.targets[self.rows]
        self.objects = self.places = np.arange(len(self.rows))

    def proba(self, setting: tuple[float, float, float, float]) -> Array:
        """Return the class probabilities of the hidden rows."""
        alpha, beta, gamma, _ = setting
        share = 1 / (alpha + 2 * beta + 2 * gamma)
        answer = 2 * gamma * self.target
        if alpha > 0 or beta > 0:
            unknown = self._solve(Setting(*setting), share)
            if alpha > 0:
                answer = answer + alpha * (self._to_groups @ unknown[ALPHA])
            if beta > 0:
                answer = answer + 2 * beta * (self._to_companions @ unknown[BETA])
        return np.asarray(share * answer)

    def _solve(self, setting: Setting, share: float) -> dict[int, Array]:
        """Return F^g and x: the sums over rows were taken with the share and the pull of the unit setting."""
        unit_share = 1 / (UNIT.alpha + 2 * UNIT.beta + 2 * UNIT.gamma)
        delta = setting.delta * self._groups.delta
        groups = self._groups._replace(total=setting.alpha * self._mass + 2 * delta, delta=delta)
        pull = setting.gamma * share / (UNIT.gamma * unit_share)
        assert self._sums.labels is not None
        right = {a: pull * votes + self._sums.labels[a] for a, votes in self._sums.votes.items()}
        return solve_over_groups(setting, groups, self._sums.grams, right, share / unit_share)
