"""The dense system over groups that is left of EC3's equations when F^o is eliminated.

There are two couplings: alpha's with the unknown F^g, and beta's with the unknown x. Write f for
their factors by row (1/rho, d), g for those by group (alpha u, 2 beta w), and D for their diagonals
(alpha c + 2 delta, 2 beta w). Then

    F^o_i = share_i (sum_b f_b,i (A g_b X_b)_i + 2 gamma_i Y^o_i)

and putting this into the equations of F^g and x leaves for each coupling a

    D_a X_a - sum_b g_a G_ab g_b X_b = g_a R_a  (+ 2 delta Y^g for F^g)
    G_ab = A' diag(s share f_a f_b) A,    R_a = A' (s share f_a 2 gamma Y^o)

Only G and R depend on rows. `RowSums` takes them in one pass, and `solve_over_groups` does the
rest. Where all rows have the same share, the same sums serve every setting of alpha, beta, gamma
and delta.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations_with_replacement, product
from typing import NamedTuple

import numpy as np
from scipy import linalg

from ..._typing import Array
from ...algebra.linear import (
    FAR_APART,
    MOST_ELIMINATED,
    conjugate_gradients,
    normalised,
    solve_by_elimination,
    spread_of,
)
from ...algebra.membership import Membership, entries
from ...kernels import each_in_threads
from ...votes import Votes
from .objective import Problem, Setting

ALPHA, BETA = 0, 1  # the couplings
ALIKE = 1e4  # how far unknowns may be apart for rounds that end by the length of all
ROUNDS_PAY = 60  # unknowns per class from which a few products are faster than a factorisation
MOST_ROUNDS = 20  # which take about as long
SOFT_VOTE = Setting(0.0, 0.0, 1.0, 0.0)
UNIT = Setting(1.0, 1.0, 1.0, 1.0)


class LiveGroups(NamedTuple):
    """What the system needs of the groups, those that take part."""

    u: Array
    w: Array
    total: Array  # alpha c_j + 2 delta_j
    delta: Array  # delta_j, 0 where there is no Y^g_j
    votes: Array  # Y^g
    y: Array  # A' (s d)

    @classmethod
    def of(cls, problem: Problem, group_votes: Array) -> LiveGroups:
        """Take from a problem, and from the Y^g of all groups, the groups that take part."""
        live = np.flatnonzero(problem.live)
        taken = (problem.u, problem.w, problem.total, problem.delta, group_votes, problem.y)
        return cls(*(of_groups[live] for of_groups in taken))


@dataclass(frozen=True)
class RowSums:
    """What the system needs of the rows: sums over them for the groups that take part, by coupling."""

    grams: Mapping[tuple[int, int], Array]  # G_ab for a <= b
    votes: Mapping[int, Array]  # R_a of the rows whose labels are not known
    labels: Mapping[int, Array] | None  # R_a of the others
    group_votes: Array  # Y^g of all groups

    @classmethod
    def of(cls, problem: Problem) -> RowSums:
        """Sum over the rows of a problem, for the couplings whose weight is above 0.

        Where Y^o is the mean vote its sums are sums over pairs of groups too. So one pass that
        counts pairs of groups, weighted in several ways, gives everything.
        """
        live, factors, given = np.flatnonzero(problem.live), _row_factors(problem), problem.given
        pairs = list(combinations_with_replacement(factors, 2))

        shared = (problem.counts, problem.share)
        weights: list[tuple[Array, ...]] = [(*shared, factors[a], factors[b]) for a, b in pairs]
        if given is None:
            pull = (*shared, _anchor_of_votes(problem), problem.inverse_votes)
            weights += [*((*pull, factor) for factor in factors.values()), (problem.counts,)]
        counted, of_voters = problem.groups.grams(weights, len(pairs), problem.voters)
        every = len(live) == len(problem.live)
        grams = {
            pair: gram if every else gram[live][:, live]
            for pair, gram in zip(pairs, counted, strict=True)
        }
        labels = None if problem.known is None else _label_sums(problem, factors, live)
        if given is not None:
            return cls(grams, _target_sums(problem, factors, live), labels, problem.group_votes)
        table = problem.vote_table()[problem.voters]
        *by_factor, by_count = (gram.T @ table for gram in of_voters)
        votes = {a: sums[live] for a, sums in zip(factors, by_factor, strict=True)}
        return cls(grams, votes, labels, normalised(np.maximum(by_count, 0.0)))


def _row_factors(problem: Problem) -> dict[int, Array]:
    """Return f of the couplings whose weight is above 0."""
    factors = {}
    if problem.setting.alpha > 0:
        factors[ALPHA] = problem.inverse_rho
    if problem.setting.beta > 0:
        factors[BETA] = problem.d
    return factors


def _anchor_of_votes(problem: Problem) -> Array:
    """Return how hard its votes pull each row: a known label replaces them."""
    return (
        problem.anchor
        if problem.known is None
        else np.where(problem.known.labelled, 0.0, problem.anchor)
    )


def _target_sums(problem: Problem, factors: Mapping[int, Array], live: Array) -> dict[int, Array]:
    """Return R_a where other targets than the votes are given; known labels replace them."""
    assert problem.given is not None
    pull = problem.counts * problem.anchor * problem.share
    if problem.known is not None:
        pull = np.where(problem.known.labelled, 0.0, pull)
    return {
        a: problem.groups.scatter((pull * f)[:, None] * problem.given.proba)[live]
        for a, f in factors.items()
    }


def _label_sums(problem: Problem, factors: Mapping[int, Array], live: Array) -> dict[int, Array]:
    """Return R_a of the rows with known labels; the F^o of a fixed one is its label, whatever the shares."""
    assert problem.known is not None
    pull = problem.counts * np.where(problem.fixed, 1.0, problem.anchor * problem.share)
    one_hot = problem.known.one_hot(problem.n_classes)
    return {
        a: problem.groups.scatter((pull * f)[:, None] * one_hot)[live] for a, f in factors.items()
    }


def solve_over_groups(
    setting: Setting,
    groups: LiveGroups,
    grams: Mapping[tuple[int, int], Array],
    right: Mapping[int, Array],
    share: float = 1.0,
) -> dict[int, Array]:
    """Return the unknowns F^g and x, those of couplings whose weight is above 0.

    `right` are the R_a; `share` multiplies the Gram matrices. Rows and columns are divided by
    sqrt(D), so that the matrix is the identity less the couplings.
    """
    factor = {}
    if setting.alpha > 0:
        factor[ALPHA] = setting.alpha * groups.u
    if setting.beta > 0:
        factor[BETA] = 2 * setting.beta * groups.w
    if (
        max(spread_of(np.array(setting)), spread_of(groups.w)) >= FAR_APART
        and len(factor) * len(groups.u) <= MOST_ELIMINATED
    ):
        return _eliminate(factor, groups, grams, right, share)
    diagonal = {**factor, ALPHA: groups.total}
    scale = {a: 1 / np.sqrt(np.maximum(diagonal[a], 1e-300)) for a in factor}
    pull = {a: scale[a] * factor[a] for a in factor}
    sides = {a: pull[a][:, None] * right[a] for a in factor}
    if ALPHA in factor:
        sides[ALPHA] += (scale[ALPHA] * 2 * groups.delta)[:, None] * groups.votes
    rights = np.vstack(list(sides.values()))
    lengths = np.concatenate(
        [(groups.y if a == BETA else 1.0) / scale[a] for a in factor]
    )  # of the unknowns
    many = len(rights) > ROUNDS_PAY * rights.shape[1] and spread_of(lengths) < ALIKE
    unknown = _iterate(pull, grams, rights, share) if many else None
    if unknown is None:
        unknown = _factor(pull, grams, rights, share)
    return {
        a: scale[a][:, None] * own
        for a, own in zip(factor, np.split(unknown, len(factor)), strict=True)
    }


def _factor(
    pull: Mapping[int, Array], grams: Mapping[tuple[int, int], Array], rights: Array, share: float
) -> Array:
    """Return the unknowns by a dense Cholesky factorisation, overwriting the right-hand sides."""
    n = len(rights) // len(pull)
    place = {a: slice(i * n, (i + 1) * n) for i, a in enumerate(pull)}
    system = np.empty((len(rights), len(rights)), order="F")  # as LAPACK takes it, without a copy
    for a, b in combinations_with_replacement(pull, 2):
        block = system[place[a], place[b]]
        np.multiply(grams[a, b], (-share * pull[a])[:, None], out=block)
        block *= pull[b]
        if a != b:
            system[place[b], place[a]] = block.T
    system.flat[:: len(system) + 1] += 1
    return np.asarray(
        linalg.solve(
            system, rights, assume_a="pos", overwrite_a=True, overwrite_b=True, check_finite=False
        )
    )


def _iterate(
    pull: Mapping[int, Array], grams: Mapping[tuple[int, int], Array], rights: Array, share: float
) -> Array | None:
    """Return the same by conjugate gradients; None where they take long, which they do if little ties objects to their votes.

    All classes at a time, one per row, which suits products with a large matrix best.
    """
    shape = (rights.shape[1], len(pull), len(rights) // len(pull))

    def apply(flat: Array) -> Array:
        given = flat.reshape(shape)
        out = given.copy()
        pulled = {b: own * given[:, i] for i, (b, own) in enumerate(pull.items())}
        products = each_in_threads(
            lambda a, b: pulled[b] @ (grams[a, b].T if a < b else grams[b, a]),
            *zip(*pairs, strict=True),
        )
        for (a, _), product_of_pair in zip(pairs, products, strict=True):
            out[:, place[a]] -= share * pull[a] * product_of_pair
        return out.ravel()

    place, pairs = {a: i for i, a in enumerate(pull)}, list(product(pull, repeat=2))
    right = np.ascontiguousarray(rights.T).ravel()
    solved, _, done = conjugate_gradients(apply, np.ones(len(right)), right, 1e-15, MOST_ROUNDS)
    return solved.reshape(rights.shape[::-1]).T if done else None


def _eliminate(
    factor: Mapping[int, Array],
    groups: LiveGroups,
    grams: Mapping[tuple[int, int], Array],
    right: Mapping[int, Array],
    share: float,
) -> dict[int, Array]:
    """Return the same where weights are far apart.

    With x = y X' both unknowns are distributions, so that a row's diagonal is the sum of what pulls
    it: its couplings and its right-hand side.
    """
    n = len(groups.u)
    column = {ALPHA: np.ones(n), BETA: groups.y}
    rows = [
        np.hstack(
            [
                factor[a][:, None]
                * (grams[a, b] if a <= b else grams[b, a].T)
                * (share * factor[b] * column[b])
                for b in factor
            ]
        )
        for a in factor
    ]
    rights = {a: factor[a][:, None] * right[a] for a in factor}
    if ALPHA in factor:
        rights[ALPHA] = rights[ALPHA] + 2 * groups.delta[:, None] * groups.votes
    solved = solve_by_elimination(
        np.vstack(rows), np.maximum(np.vstack(list(rights.values())), 0.0)
    )
    return {a: column[a][:, None] * solved[i * n : (i + 1) * n] for i, a in enumerate(factor)}


# ---- the whole grid of settings ------------------------------------------------------------------


def grid(step: float = 0.05) -> list[Setting]:
    """Return all settings with alpha + beta + gamma + delta = 1 in these steps that tie the answer to the votes."""
    n = round(1 / step)
    parts = (
        (a, b, c, n - a - b - c) for a, b, c in product(range(n + 1), repeat=3) if a + b + c <= n
    )
    return [
        Setting(*(x / n for x in part))
        for part in parts
        if part[2] > 0 or (part[0] > 0 and part[3] > 0)
    ]


class AnySetting:
    """EC3's answers for some votes with any setting, no label known; every row must have a class vote.

    Then all rows have the same share, 1 / (alpha + 2 beta + 2 gamma). So the sums over rows are
    taken once, and a setting costs one small system.
    """

    def __init__(self, votes: Votes, groups: Membership, model_weights: Array) -> None:
        problem = Problem(votes, groups, model_weights, UNIT)
        live = np.flatnonzero(problem.live)
        self._sums = RowSums.of(problem)
        self._groups = LiveGroups.of(problem, self._sums.group_votes)
        self._mass = (
            problem.u[live] * groups.scatter(problem.counts * problem.inverse_rho)[live]
        )  # c_j
        shares = entries(votes)[:, groups.order[live]].toarray()
        self._to_groups = problem.inverse_rho[:, None] * shares * self._groups.u
        self._to_companions = problem.d[:, None] * shares * self._groups.w
        self._targets = problem.targets

    def proba(self, setting: tuple[float, float, float, float]) -> Array:
        """Return the class probabilities of the rows."""
        alpha, beta, gamma, _ = setting
        share = 1 / (alpha + 2 * beta + 2 * gamma)
        answer = 2 * gamma * self._targets
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
        right = {a: pull * votes for a, votes in self._sums.votes.items()}
        return solve_over_groups(setting, groups, self._sums.grams, right, share / unit_share)
