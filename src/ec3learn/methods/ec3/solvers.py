"""Three routes to the minimum of P: a dense system, conjugate gradients and the paper's loop."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
from scipy import linalg

from ..._typing import Array
from ...algebra.linear import solve_free_rows
from ...answer.rule import COMPANIONS, GROUPS
from .objective import Minimum, Problem


def direct(problem: Problem) -> Minimum:
    """Solve the dense system over groups that is left when F^o is eliminated."""
    solved = _solve_over_groups(problem)
    group_proba = solved.get(GROUPS, problem.group_votes)
    companions = solved.get(COMPANIONS, np.zeros_like(problem.group_votes))
    return Minimum(problem.update_objects(group_proba, companions), group_proba, companions)


def _solve_over_groups(problem: Problem) -> dict[str, Array]:
    """The X of each coupling.

    Putting F^o_i = share_i (sum_b f_b,i (A g_b X_b)_i + 2 gamma_i Y^o_i) into the equations of F^g
    and x leaves for each coupling a

        D_a X_a - sum_b g_a G_ab g_b X_b = g_a R_a + pull_a
        G_ab = A' diag(s share f_a f_b) A,    R_a = A' (s share f_a 2 gamma Y^o)

    Rows and columns are divided by sqrt(D): the matrix is the identity less the couplings.
    """
    couplings, n = problem.couplings(), len(problem.live)
    if not couplings or not n:
        return {}
    pairs = list(combinations_with_replacement(enumerate(couplings.values()), 2))
    counted = problem.counts * problem.share
    grams = problem.all_groups.grams([counted * one.f * other.f for (_, one), (_, other) in pairs])
    system, live = np.eye(n * len(couplings)), np.ix_(problem.live, problem.live)
    for ((a, one), (b, other)), gram in zip(pairs, grams, strict=True):
        block = gram[live] * (one.g / one.root)[:, None] * (other.g / other.root)
        # Cholesky's factorisation reads the upper triangle only.
        system[a * n : (a + 1) * n, b * n : (b + 1) * n] -= block
    # The F^o of a fixed row is its label, whatever the shares.
    pull = problem.counts * np.where(problem.fixed, 1.0, problem.anchor * problem.share)
    rights = []
    for coupling in couplings.values():
        from_rows = problem.groups.scatter_weighted(pull * coupling.f, problem.targets)
        right = coupling.g[:, None] * from_rows + coupling.pull
        rights.append(right / coupling.root[:, None])
    solved = linalg.cho_solve(linalg.cho_factor(system, overwrite_a=True), np.vstack(rights))
    return {
        name: part / coupling.root[:, None]
        for (name, coupling), part in zip(
            couplings.items(), np.split(solved, len(couplings)), strict=True
        )
    }


def conjugate_gradients(problem: Problem, tol: float, max_iter: int) -> Minimum:
    """Solve the system over rows that is left when F^g is eliminated, one class at a time.

        diag(alpha + 2 beta + 2 gamma) - sum_b diag(f_b) A diag(g_b^2 / D_b) A' diag(s f_b)

    The last class follows from the others. Rows that count for nothing follow from their groups.
    """
    groups, counts, couplings = problem.groups, problem.counts, problem.couplings().values()

    def apply(column: Array) -> Array:
        out = problem.row_total * column
        for one in couplings:
            between = one.g**2 / one.diagonal
            out -= one.f * groups.gather(between * groups.scatter(one.f * counts * column))
        return out

    def right(z: int) -> Array:
        out = problem.anchor * problem.targets[:, z]
        for one in couplings:
            out += one.f * groups.gather(one.g / one.diagonal * one.pull[:, z])
        return out

    free = (problem.share > 0) & (counts > 0)
    proba = np.where(problem.fixed[:, None], problem.targets, 0.0)
    n_iter, converged = solve_free_rows(
        apply,
        problem.row_total,
        (right(z) for z in range(problem.n_classes - 1)),
        counts,
        free,
        proba,
        tol,
        max_iter,
    )
    proba[:, -1] = (free | problem.fixed) - proba[:, :-1].sum(axis=1)
    group_proba, companions = problem.update_groups(proba), problem.update_companions(proba)
    weightless = (problem.share > 0) & ~free
    if weightless.any():
        proba[weightless] = problem.update_objects(group_proba, companions)[weightless]
    return Minimum(proba, group_proba, companions, n_iter, converged)


def block_descent(problem: Problem, tol: float, max_iter: int, start: Array) -> Minimum:
    """Run the paper's loop: F^g given F^o, then F^o given F^g.

    It stops once F^o moves by at most `tol`, in the Frobenius norm.
    All objects move at once, each to the weighted mean of its groups, of the objects it is with
    (itself included, as they were before the move) and of its votes. Because K^c is positive
    semi-definite this never raises P. Objects with equal rows start alike; they would be alike
    after the first move anyway.
    """
    proba = np.where(problem.fixed[:, None], problem.targets, start)
    proba[problem.unanswered] = 0.0
    here = _with_groups(problem, proba)
    history: list[float] = []
    change = np.inf
    while change > tol and len(history) < max_iter:
        history.append(problem.objective(here))
        moved = problem.update_objects(here.group_proba, here.companions)
        squares = ((moved - here.object_proba) ** 2).sum(axis=1)
        change = float(np.sqrt(problem.counts @ squares))
        here = _with_groups(problem, moved)
    here.n_iter, here.history, here.converged = len(history), history, change <= tol
    return here


def _with_groups(problem: Problem, proba: Array) -> Minimum:
    return Minimum(proba, problem.update_groups(proba), problem.update_companions(proba))
