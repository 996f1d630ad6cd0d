"""Three routes to the minimum of P: a dense system, conjugate gradients and the paper's loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np
from scipy import linalg

from ..._typing import Array
from ...algebra.scaling import solve_free_rows
from ...answer.rule import GROUPS
from .objective import Minimum, Problem


def direct(problem: Problem) -> Minimum:
    """Solve the dense system over groups that is left when F^o is eliminated."""
    couplings, live = problem.couplings.values(), np.ix_(problem.live, problem.live)
    counted = problem.counts * problem.share
    pairs = combinations_with_replacement(couplings, 2)
    grams = problem.all_groups.grams([counted * one.f * other.f for one, other in pairs])
    pulled = problem.counts * problem.pulled
    rights = problem.groups.scatter_weighted([pulled * x.f for x in couplings], problem.targets)
    solved = solve_over_groups(problem, [gram[live] for gram in grams], rights)
    return problem.minimum(problem.update_objects(solved), solved)


def solve_over_groups(
    problem: Problem, grams: Sequence[Array], rights: Sequence[Array]
) -> dict[str, Array]:
    """The X of each coupling.

    Putting F^o_i = share_i (sum_b f_b,i (A g_b X_b)_i + 2 gamma_i Y^o_i) into the equations of F^g
    and x leaves for each coupling a

        total_a X_a - sum_b g_a G_ab g_b X_b = g_a R_a + pull_a
        G_ab = A' diag(s share f_a f_b) A,    R_a = A' (s share f_a 2 gamma Y^o)

    Rows and columns are divided by sqrt(total): the matrix is the identity less the couplings.
    """
    couplings, n = problem.couplings, len(problem.live)
    if not couplings or not n:
        return {}
    roots = [np.sqrt(one.total) for one in couplings.values()]
    scales = [one.g / root for one, root in zip(couplings.values(), roots, strict=True)]
    system, right = np.eye(n * len(couplings)), np.empty((n * len(couplings), problem.n_classes))
    pairs = combinations_with_replacement(range(len(couplings)), 2)
    for (a, b), gram in zip(pairs, grams, strict=True):
        # Cholesky's factorisation reads the upper triangle only.
        system[a * n : (a + 1) * n, b * n : (b + 1) * n] -= gram * scales[a][:, None] * scales[b]
    for a, one in enumerate(couplings.values()):
        pulled = one.g[:, None] * rights[a] + one.pull
        right[a * n : (a + 1) * n] = pulled / roots[a][:, None]
    factored = linalg.cho_factor(system, overwrite_a=True, check_finite=False)
    solved = linalg.cho_solve(factored, right) / np.concatenate(roots)[:, None]
    return dict(zip(couplings, np.split(solved, len(couplings)), strict=True))


def conjugate_gradients(problem: Problem, tol: float, max_iter: int) -> Minimum:
    """Solve the system over rows that is left when F^g and x are eliminated."""
    proba = np.where(problem.fixed[:, None], problem.targets, 0.0)
    n_iter, converged = _solve_over_rows(problem, {}, proba, tol, max_iter)
    return replace(_with_groups(problem, proba), n_iter=n_iter, converged=converged)


def _with_groups(problem: Problem, proba: Array) -> Minimum:
    """F^o with the F^g and x that follow; rows that count for nothing follow from these in turn."""
    unknowns = problem.update_groups(proba)
    weightless = (problem.share > 0) & (problem.counts <= 0)
    if weightless.any():
        proba[weightless] = problem.update_objects(unknowns)[weightless]
    return problem.minimum(proba, unknowns)


def _solve_over_rows(
    problem: Problem, held: Mapping[str, Array], proba: Array, tol: float, max_iter: int
) -> tuple[int, bool]:
    """Move F^o to the minimum; also says how many rounds it took, and whether it converged.

    What is `held` of F^g and x stays; the couplings with the others are eliminated:

        diag(alpha + 2 beta + 2 gamma) - sum_b diag(f_b) A diag(g_b^2 / total_b) A' diag(s f_b)

    The last class follows from the others. Rows that count for nothing stay.
    """
    groups, counts, couplings = problem.groups, problem.counts, problem.couplings
    moving = [
        (one.f[:, None], one.g**2 / one.total) for x, one in couplings.items() if x not in held
    ]
    pulls = [
        (one.f, one.g, held[x]) if x in held else (one.f, one.g / one.total, one.pull)
        for x, one in couplings.items()
    ]

    def apply(columns: Array) -> Array:
        out = problem.row_total[:, None] * columns
        for f, between in moving:
            sums = groups.scatter(counts[:, None] * f * columns)
            out -= f * groups.gather(between[:, None] * sums)
        return out

    def right(classes: slice) -> Array:
        out = problem.anchor[:, None] * problem.targets[:, classes]
        for f, factor, pull in pulls:
            out += f[:, None] * groups.gather(factor[:, None] * pull[:, classes])
        return out

    free, others = (problem.share > 0) & (counts > 0), proba[:, :-1]
    how = solve_free_rows(apply, problem.row_total, right, counts, free, others, tol, max_iter)
    proba[:, -1] = (free | problem.fixed) - others.sum(axis=1)
    return how


def block_descent(problem: Problem, tol: float, max_iter: int, start: Array) -> Minimum:
    """Run the paper's Algorithm 2: the best F^g given F^o, then the best F^o given F^g.

    It stops once F^o moves by at most `tol`, in the Frobenius norm. Line 6 inverts a matrix over
    objects; here conjugate gradients solve the same system, to all digits. Objects with equal rows
    start alike; they would be alike after the first round anyway.
    """
    proba = np.where(problem.fixed[:, None], problem.targets, start)
    proba[problem.unanswered] = 0.0
    history: list[float] = []
    changes = [np.inf]
    here = _with_groups(problem, proba)
    while changes[-1] > tol and len(history) < max_iter:
        history.append(float(problem.terms(here).sum()))
        moved = here.object_proba.copy()
        _solve_over_rows(problem, {GROUPS: here.group_proba}, moved, 1e-12, max_iter=1000)
        squares = ((moved - here.object_proba) ** 2).sum(axis=1)
        changes.append(float(np.sqrt(problem.counts @ squares)))
        here = _with_groups(problem, moved)
    converged, moves = changes[-1] <= tol, changes[1:]
    return replace(here, n_iter=len(history), converged=converged, history=history, changes=moves)
