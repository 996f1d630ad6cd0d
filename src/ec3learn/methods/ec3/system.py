"""The dense system over groups that is left of EC3's equations when F^o is eliminated.

There are two couplings: alpha's with the unknown F^g, and beta's with the unknown x. Write f for
their factors by row (1/rho, d), g for those by group (alpha u, 2 beta w), and D for their diagonals
(alpha c + 2 delta, 2 beta w). Then

    F^o_i = share_i (sum_b f_b,i (A g_b X_b)_i + 2 gamma_i Y^o_i)

and putting this into the equations of F^g and x leaves for each coupling a

    D_a X_a - sum_b g_a G_ab g_b X_b = g_a R_a  (+ 2 delta Y^g for F^g)
    G_ab = A' diag(s share f_a f_b) A,    R_a = A' (s share f_a 2 gamma Y^o)

Only G and R depend on rows. Where all rows have the same share, they serve every setting of alpha,
beta, gamma and delta.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from scipy import linalg

from ..._typing import Array
from ...algebra.membership import Membership
from ...votes import Votes
from .objective import Problem, Setting

ALPHA, BETA = 0, 1  # the couplings


@dataclass(frozen=True)
class RowSums:
    """Sums over rows, G_ab for a <= b and R_a, of the couplings whose weight is above 0."""

    grams: Mapping[tuple[int, int], Array]
    rights: Mapping[int, Array]

    @classmethod
    def of(cls, problem: Problem) -> RowSums:
        """Take the sums over rows."""
        factors = {}
        if problem.setting.alpha > 0:
            factors[ALPHA] = problem.inverse_rho
        if problem.setting.beta > 0:
            factors[BETA] = problem.d
        pairs = list(combinations_with_replacement(factors, 2))
        counted = problem.counts * problem.share
        weights = [counted * factors[a] * factors[b] for a, b in pairs]
        live = np.ix_(problem.live, problem.live)
        grams = [gram[live] for gram in problem.all_groups.grams(weights)]
        # The F^o of a fixed row is its label, whatever the shares.
        pull = problem.counts * np.where(problem.fixed, 1.0, problem.anchor * problem.share)
        rights = {
            a: problem.groups.scatter_weighted(pull * factor, problem.targets)
            for a, factor in factors.items()
        }
        return cls(dict(zip(pairs, grams, strict=True)), rights)

    def times(self, share: float, pull: float) -> RowSums:
        """The sums where G_ab are `share` times larger, and R_a `pull` times."""
        return RowSums(
            {pair: share * gram for pair, gram in self.grams.items()},
            {a: pull * right for a, right in self.rights.items()},
        )


def solve_over_groups(problem: Problem, sums: RowSums) -> tuple[Array, Array]:
    """Find F^g and x.

    Rows and columns are divided by sqrt(D): the matrix is the identity less the couplings.
    """
    alpha, beta, _, delta = problem.setting
    unknown = {ALPHA: problem.group_votes, BETA: np.zeros_like(problem.group_votes)}
    factor, diagonal, rights = {}, {}, {}
    if alpha > 0:
        factor[ALPHA], diagonal[ALPHA] = alpha * problem.u, problem.group_total
        to_votes = (2 * delta * problem.voted)[:, None] * problem.group_votes
        rights[ALPHA] = factor[ALPHA][:, None] * sums.rights[ALPHA] + to_votes
    if beta > 0:
        factor[BETA] = diagonal[BETA] = 2 * beta * problem.w
        rights[BETA] = factor[BETA][:, None] * sums.rights[BETA]
    scale = {a: 1 / np.sqrt(diagonal[a]) for a in factor}
    n, place = len(problem.live), {a: i for i, a in enumerate(factor)}
    system = np.eye(n * len(factor))
    for a, b in combinations_with_replacement(factor, 2):
        block = sums.grams[a, b] * (scale[a] * factor[a])[:, None] * (scale[b] * factor[b])
        rows, columns = (slice(place[c] * n, (place[c] + 1) * n) for c in (a, b))
        system[rows, columns] -= block  # Cholesky's factorisation reads the upper triangle only
    right = np.vstack([scale[a][:, None] * rights[a] for a in factor])
    solved = linalg.cho_solve(linalg.cho_factor(system, overwrite_a=True), right)
    for a, part in zip(factor, np.split(solved, len(factor)), strict=True):
        unknown[a] = scale[a][:, None] * part
    return unknown[ALPHA], unknown[BETA]


class AnySetting:
    """EC3's answers for the same votes with any setting, no label known.

    Every row must have a class vote. Then all rows have the same share, 1 / (alpha + 2 beta + 2
    gamma). So the sums over rows are taken once, and a setting costs one small system.
    """

    def __init__(self, votes: Votes, groups: Membership, model_weights: Array) -> None:
        unit = Problem(votes, groups, model_weights, Setting(1.0, 1.0, 1.0, 1.0))
        self._problem, self._sums = unit, RowSums.of(unit)

    def proba(self, setting: tuple[float, float, float, float]) -> Array:
        """The class probabilities of the rows."""
        problem = self._problem.at(Setting(*setting))
        share = float(problem.share[0] / self._problem.share[0])
        if problem.setting.alpha == problem.setting.beta == 0:
            return problem.targets
        sums = self._sums.times(share, share * problem.setting.gamma)
        return problem.update_objects(*solve_over_groups(problem, sums))
