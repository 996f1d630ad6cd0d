"""Three routes to the minimum of P: a dense system over groups, conjugate gradients over rows, and the paper's loop."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..._typing import Array
from ...algebra.linear import conjugate_gradients as iterate
from ...algebra.linear import solve_free_rows
from ...answer.rule import COMPANIONS, GROUPS, KNOWN, TOWARDS, VOTES, GroupRule
from .objective import Problem, Solution
from .system import ALPHA, BETA, LiveGroups, RowSums, solve_over_groups

# ---- the small system over groups ----------------------------------------------------------------


def direct(problem: Problem) -> Solution:
    """Return the solution of the dense system over groups that is left when F^o is eliminated: no rounds over rows at all."""
    return _from_groups(problem, *_solve_groups(problem))


def _from_groups(
    problem: Problem,
    group_proba: Array,
    companions: Array,
    group_votes: Array,
    n_iter: int = 0,
    converged: bool = True,
) -> Solution:
    """Return the solution that F^g, x and Y^g lead to."""
    proba, unanswered, squares, tension = _answers_and_sums(
        problem, problem.rule(group_proba, companions)
    )
    apart = problem.apart_from_sums(squares, tension, group_proba, group_votes)
    objective = max(0.0, apart - problem.together(companions))
    return Solution(proba, group_proba, companions, unanswered, objective, n_iter, converged)


def _answers_and_sums(problem: Problem, rule: GroupRule) -> tuple[Array, Array, float, float]:
    """Return F^o, the rows that no vote reaches, and the sums of `row_terms`."""
    if problem.known is None and problem.given is None and problem.is_scaled:
        inverses = {
            GROUPS: problem.inverse_rho,
            COMPANIONS: problem.d,
            VOTES: problem.inverse_votes,
        }
        found = rule.answers_and_sums(problem.groups, inverses, problem.counts, problem.in_group)
        if found is not None:
            return found
    n_rows = problem.groups.n_rows
    answers, unanswered = np.empty((n_rows, problem.n_classes)), np.empty(n_rows, dtype=bool)
    squares = tension = 0.0
    for rows, pulls in rule.pulls(problem.groups, problem.known, problem.given):
        proba, unanswered[rows] = rule.answer(pulls)
        np.maximum(proba, 0.0, out=proba)  # rounding may leave -1e-17
        targets = [
            (pull.strength, pull.mean) for pull in pulls if pull.name in (VOTES, TOWARDS, KNOWN)
        ]
        part = problem.row_terms(rows, proba, targets)
        squares, tension = squares + part[0], tension + part[1]
        answers[rows] = proba
    return answers, unanswered, squares, tension


def _solve_groups(problem: Problem) -> tuple[Array, Array, Array]:
    """Return F^g, x and Y^g."""
    live = np.flatnonzero(problem.live)
    if not len(live) or problem.setting.alpha == problem.setting.beta == 0:
        return problem.group_votes.copy(), np.zeros_like(problem.group_votes), problem.group_votes
    sums = RowSums.of(problem)
    right = (
        sums.votes
        if sums.labels is None
        else {a: votes + sums.labels[a] for a, votes in sums.votes.items()}
    )
    unknown = solve_over_groups(
        problem.setting, LiveGroups.of(problem, sums.group_votes), sums.grams, right
    )
    group_proba, companions = sums.group_votes.copy(), np.zeros_like(sums.group_votes)
    if ALPHA in unknown:
        group_proba[live] = unknown[ALPHA]
    if BETA in unknown:
        companions[live] = unknown[BETA]
    return group_proba, companions, sums.group_votes


# ---- conjugate gradients -------------------------------------------------------------------------


def conjugate_gradients(problem: Problem, tol: float, max_iter: int) -> Solution:
    """Return the solution by conjugate gradients: over groups where they are far fewer than rows, else over rows."""
    if 2 * problem.groups.n_groups <= problem.groups.n_rows:
        return _from_groups(problem, *_iterate_over_groups(problem, tol, max_iter))
    return _over_rows(problem, tol, max_iter)


def _iterate_over_groups(
    problem: Problem, tol: float, max_iter: int
) -> tuple[Array, Array, Array, int, bool]:
    """Return F^g, x and Y^g, the rounds it took, and whether it converged.

    It is the system of `system`, whose rows and columns are divided by sqrt(D), without its Gram
    matrices: a product with them goes over the rows and back. The last class follows from the
    others.
    """
    (alpha, beta, _, _), groups, live = problem.setting, problem.groups, problem.live[:, None]
    factors, weights = [problem.inverse_rho, problem.d], problem.counts * problem.share
    diagonal = np.stack([problem.total, 2 * beta * problem.w], axis=1)
    scale = np.divide(
        1.0, np.sqrt(diagonal), out=np.zeros_like(diagonal), where=live & (diagonal > 0)
    )
    factor = scale * np.stack([alpha * problem.u, 2 * beta * problem.w], axis=1)
    pull = problem.counts * np.where(problem.fixed, 1.0, problem.anchor * problem.share)
    group_votes = problem.group_votes
    group_proba, companions = group_votes.copy(order="F"), np.zeros(group_votes.shape, order="F")

    def apply(flat: Array) -> Array:
        table = flat.reshape(*factor.shape, -1)
        return (
            flat
            - (
                factor[:, :, None] * groups.couple(factor[:, :, None] * table, factors, weights)
            ).ravel()
        )

    n_iter, converged, n_solved = 0, True, problem.n_classes - 1
    step = max(1, groups.n_rows // (2 * groups.n_groups))  # classes at a time, for they take memory
    for some in (slice(begin, min(begin + step, n_solved)) for begin in range(0, n_solved, step)):
        pulled = np.hstack([(pull * own)[:, None] * problem.targets[:, some] for own in factors])
        right = factor[:, :, None] * groups.scatter(pulled).reshape(*factor.shape, -1)
        right[:, 0] += (scale[:, 0] * 2 * problem.delta)[:, None] * group_votes[:, some]
        solved, rounds, done = iterate(apply, np.ones(right.size), right.ravel(), tol, max_iter)
        unknown = scale[:, :, None] * solved.reshape(right.shape)
        if alpha > 0:
            group_proba[:, some] = np.where(live, unknown[:, 0], group_votes[:, some])
        companions[:, some] = unknown[:, 1]
        n_iter, converged = max(n_iter, rounds), converged and done
    if alpha > 0:
        group_proba[:, -1] = np.where(
            problem.live, 1 - group_proba[:, :-1].sum(axis=1), group_votes[:, -1]
        )
    if beta > 0:
        companions[:, -1] = np.where(problem.live, problem.y - companions[:, :-1].sum(axis=1), 0.0)
    return group_proba, companions, group_votes, n_iter, converged


def _over_rows(problem: Problem, tol: float, max_iter: int) -> Solution:
    """Return the solution of the system over rows that is left when F^g is eliminated, one class at a time.

    The last class follows from the others. Rows that are fixed, or count for nothing, are left out.
    """
    free = (problem.share > 0) & (problem.counts > 0)
    proba, n_iter, converged = _solve_rows(problem, free, tol, max_iter)
    group_proba = update_groups(problem, proba)
    apart = problem.apart(proba, group_proba)
    problem.forget("group_votes")
    companions = _companions(problem, proba)
    weightless = (problem.share > 0) & ~free
    if weightless.any():
        proba[weightless] = update_objects(problem, group_proba, companions)[weightless]
    unanswered = (problem.share <= 0) & ~problem.fixed
    objective = max(0.0, apart - problem.together(companions))
    proba[unanswered] = problem.mean_target
    return Solution(
        np.maximum(proba, 0.0, out=proba),
        group_proba,
        companions,
        unanswered,
        objective,
        n_iter,
        converged,
    )


def _solve_rows(
    problem: Problem, free: Array, tol: float, max_iter: int
) -> tuple[Array, int, bool]:
    """Return F^o of the free and the fixed rows, the most rounds a class took, and whether all converged."""
    proba = np.where(problem.fixed[:, None], problem.targets, 0.0)
    apply, diagonal = _row_operator(problem)
    rights = (_row_right(problem, z) for z in range(problem.n_classes - 1))
    n_iter, converged = solve_free_rows(
        apply, diagonal, rights, problem.counts, free, proba, tol, max_iter
    )
    proba[:, -1] = (free | problem.fixed) - proba[:, :-1].sum(axis=1)
    return proba, n_iter, converged


def _row_operator(problem: Problem) -> tuple[Callable[[Array], Array], Array]:
    """Return the system over rows as a function, and its diagonal as far as it is known.

        diag(alpha + 2 beta + 2 gamma) - diag(1/rho) A diag((alpha u)^2 / total) A' diag(s/rho)
                                       - diag(d) A diag(2 beta w) A' diag(s d)

    A group of a single row couples it with itself only: it goes into the diagonal.
    """
    setting, counts, groups = problem.setting, problem.counts, problem.groups
    n_shared = groups.n_shared
    middle = np.divide(
        (setting.alpha * problem.u) ** 2,
        problem.total,
        out=np.zeros_like(problem.u),
        where=problem.total > 0,
    )
    twice_w = 2 * setting.beta * problem.w
    diagonal = problem.row_total()
    if n_shared < groups.n_groups:
        solo = problem.inverse_rho**2 * groups.gather_solo_squares(middle[n_shared:])
        solo += problem.d**2 * groups.gather_solo_squares(twice_w[n_shared:])
        diagonal -= counts * solo
        middle, twice_w = (
            middle[:n_shared].copy(),
            twice_w[:n_shared].copy(),
        )  # views would keep the whole tables

    couplings = [(problem.inverse_rho, middle)] * (setting.alpha > 0) + [(problem.d, twice_w)] * (
        setting.beta > 0
    )
    factors, between = [factor for factor, _ in couplings], [own for _, own in couplings]

    def apply(column: Array) -> Array:
        out, counted = diagonal * column, counts * column
        for factor, coupled in zip(
            factors, groups.through((factor * counted for factor in factors), between), strict=True
        ):
            coupled *= factor
            out -= coupled
        return out

    return apply, diagonal


def _row_right(problem: Problem, z: int) -> Array:
    """Return the right-hand side of the system over rows: the pull of the targets of rows and of groups to class z."""
    alpha, _, _, delta = problem.setting
    right = problem.anchor * problem.targets[:, z]
    if alpha > 0 and delta > 0:
        pull = problem.u * problem.group_votes[:, z]
        pull *= 2 * alpha * delta
        pull *= problem.voted
        np.divide(pull, problem.total, out=pull, where=problem.total > 0)
        right += problem.inverse_rho * problem.groups.gather(pull)
    return right


# ---- the paper's loop ----------------------------------------------------------------------------


def block_descent(problem: Problem, tol: float, max_iter: int, start: Array) -> Solution:
    """Return where the paper's loop stops: F^g given F^o, then F^o given F^g, until F^o moves by at most `tol` (Frobenius).

    All objects move at once, each to the weighted mean of its groups, of the objects it is with
    (itself included, as they were before the move) and of its votes. Because K^c is positive
    semi-definite this never raises P. Objects with equal rows start alike; they would be alike
    after the first move anyway.
    """
    unanswered = (problem.share <= 0) & ~problem.fixed
    proba = np.where(problem.fixed[:, None], problem.targets, start)
    proba[unanswered] = 0.0
    solution = Solution(
        proba,
        update_groups(problem, proba),
        _companions(problem, proba),
        unanswered,
        converged=False,
    )
    for solution.n_iter in range(1, max_iter + 1):
        solution.history.append(
            problem.objective(solution.object_proba, solution.group_proba, solution.companions)
        )
        moved = update_objects(problem, solution.group_proba, solution.companions)
        change = float(np.sqrt(problem.counts @ ((moved - solution.object_proba) ** 2).sum(axis=1)))
        solution.object_proba = moved
        solution.group_proba, solution.companions = (
            update_groups(problem, moved),
            _companions(problem, moved),
        )
        if change <= tol:
            solution.converged = True
            break
    solution.objective = problem.objective(
        solution.object_proba, solution.group_proba, solution.companions
    )
    solution.object_proba[unanswered] = problem.mean_target
    return solution


def update_objects(problem: Problem, group_proba: Array, companions: Array) -> Array:
    """Return F^o given F^g and x: each object's weighted mean of its groups, its companions and its target."""
    (alpha, beta, _, _), target = problem.setting, problem.targets
    moved = problem.anchor[:, None] * target
    if alpha > 0:
        moved += (
            alpha
            * problem.inverse_rho[:, None]
            * problem.groups.gather(problem.u[:, None] * group_proba)
        )
    if beta > 0:
        moved += (
            2 * beta * problem.d[:, None] * problem.groups.gather(problem.w[:, None] * companions)
        )
    return np.where(problem.fixed[:, None], target, problem.share[:, None] * moved)


def update_groups(problem: Problem, proba: Array) -> Array:
    """Return F^g given F^o: each group's weighted mean of its members and its target.

    One class at a time and in place, for there may be millions of groups. The last class follows,
    since rows of F^o sum to 1.
    """
    (alpha, _, _, delta), live = problem.setting, problem.live
    group_proba = problem.group_votes.copy(order="F")
    if alpha == 0:
        return group_proba
    untied = np.flatnonzero(~(problem.voted & live))
    for z in range(problem.n_classes - 1):
        pulled = problem.groups.scatter(
            problem.counts * problem.inverse_rho * np.ascontiguousarray(proba[:, z])
        )
        pulled *= problem.u
        pulled *= alpha
        target = group_proba[:, z]
        target *= 2 * delta
        target[untied] = 0.0
        target += pulled
        np.divide(target, problem.total, out=target, where=live)
    group_proba[:, -1] = 1 - group_proba[:, :-1].sum(axis=1)
    return group_proba


def _companions(problem: Problem, proba: Array) -> Array:
    """Return x = A' (s d F^o)."""
    companions = np.zeros((problem.groups.n_groups, problem.n_classes), order="F")
    if problem.setting.beta > 0:
        for z in range(problem.n_classes - 1):
            companions[:, z] = problem.groups.scatter(problem.counts * problem.d * proba[:, z])
        companions[:, -1] = problem.y - companions[:, :-1].sum(axis=1)
        companions[~problem.live] = 0.0
    return companions
