"""Three routes to the minimum of P: a dense system, conjugate gradients and the paper's loop."""

from __future__ import annotations

import numpy as np

from ..._typing import Array
from ...algebra.linear import solve_free_rows
from .objective import Minimum, Problem
from .system import RowSums, solve_over_groups


def direct(problem: Problem) -> Minimum:
    """Solve the dense system over groups that is left when F^o is eliminated."""
    if problem.setting.alpha == problem.setting.beta == 0 or not len(problem.live):
        group_proba, companions = problem.group_votes, np.zeros_like(problem.group_votes)
    else:
        group_proba, companions = solve_over_groups(problem, RowSums.of(problem))
    return Minimum(problem.update_objects(group_proba, companions), group_proba, companions)


def conjugate_gradients(problem: Problem, tol: float, max_iter: int) -> Minimum:
    """Solve the system over rows that is left when F^g is eliminated, one class at a time.

        diag(alpha + 2 beta + 2 gamma) - diag(1/rho) A diag((alpha u)^2 / total) A' diag(s/rho)
                                       - diag(d) A diag(2 beta w) A' diag(s d)

    The last class follows from the others. Rows that count for nothing follow from their groups.
    """
    (alpha, beta, _, delta), groups, counts = problem.setting, problem.groups, problem.counts
    per_total = np.divide(
        1.0, problem.group_total, out=np.zeros_like(problem.c), where=problem.group_total > 0
    )
    couplings = []
    if alpha > 0:
        couplings.append((problem.inverse_rho, (alpha * problem.u) ** 2 * per_total))
    if beta > 0:
        couplings.append((problem.d, 2 * beta * problem.w))

    def apply(column: Array) -> Array:
        out = problem.row_total * column
        for factor, between in couplings:
            out -= factor * groups.gather(between * groups.scatter(factor * counts * column))
        return out

    def right(z: int) -> Array:
        pull = 2 * alpha * delta * problem.u * problem.voted * per_total
        from_groups = groups.gather(pull * problem.group_votes[:, z])
        return problem.anchor * problem.targets[:, z] + problem.inverse_rho * from_groups

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
