"""Three routes to the minimum of P: a dense system over groups, conjugate gradients over rows, and the paper's loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg

from ...algebra.linear import normalised, solved_columns
from ...algebra.membership import JointMembership, SparseMembership
from ...answer.rule import KNOWN, TOWARDS, VOTES, Targets
from .objective import Problem, Solution

Array = npt.NDArray[Any]
Side = tuple[Array, Array, Array]  # of the alpha or the beta coupling: each row's factor, each live group's, the diagonal


# ---- the small system over groups ------------------------------------------------------------------------------------


def direct(problem: Problem) -> Solution:
    """Return the solution of the dense system over groups that is left when F^o is eliminated: no rounds over rows at all."""
    group_proba, companions = _group_system(problem)
    rule = problem.rule(group_proba, companions)
    n_rows = problem.groups.n_rows
    solution = Solution(np.empty((n_rows, problem.n_classes)), group_proba, companions, np.empty(n_rows, dtype=bool))
    squares = tension = 0.0
    for rows, pulls in rule.pulls(problem.groups, problem.known, problem.given):
        proba, solution.silent[rows] = rule.answer(pulls)
        targets = [(pull.strength, pull.mean) for pull in pulls if pull.name in (VOTES, TOWARDS, KNOWN)]
        part = problem.row_terms(rows, proba, targets)
        squares, tension = squares + part[0], tension + part[1]
        solution.object_proba[rows] = proba
    solution.objective = max(0.0, problem.apart_of(squares, tension, group_proba) - problem.together(companions))
    return solution


def _group_system(problem: Problem) -> tuple[Array, Array]:
    """Return F^g and x.

    Putting F^o into the equations of F^g and x leaves, for the couplings a and b of alpha and beta with the factors f of rows
    and g of groups, the blocks diag - g_a A' diag(s f_a f_b share) A g_b; the targets on the right are sums over pairs of groups
    too. So one pass that counts pairs of groups, weighted in up to six ways, gives the whole system.
    """
    live, sides = np.flatnonzero(problem.live), _sides(problem)
    if not sides or not len(live):
        return problem.group_votes.copy(), np.zeros_like(problem.group_votes)
    pairs = [(a, b) for a in range(len(sides)) for b in range(a, len(sides))]

    def row_weights(rows: slice) -> Array:
        counts = problem.counts[rows]
        factors = [side[0][rows] for side in sides]
        coupled, to_votes = counts * problem.share[rows], counts * _vote_pull(problem, rows)
        couplings = [coupled * factors[a] * factors[b] for a, b in pairs]
        return np.stack([*couplings, *[to_votes * factor for factor in factors], counts], axis=1)

    *grams, plain_counts = problem.groups.grams(row_weights, len(pairs) + len(sides) + 1)
    if problem.given is None:
        vote_table = problem.vote_table()
        problem.group_votes = normalised(np.maximum(plain_counts @ vote_table, 0.0))
        sums = [gram @ vote_table for gram in grams[len(pairs) :]]
    else:
        sums = _target_sums(problem, problem.given, sides)
    if problem.known is not None:
        sums = [votes + labels for votes, labels in zip(sums, _label_sums(problem, sides), strict=True)]

    n_live = len(live)
    place = [slice(i * n_live, (i + 1) * n_live) for i in range(len(sides))]
    scale = [1 / np.sqrt(diagonal) for _, _, diagonal in sides]
    factor = [own * side[1] for own, side in zip(scale, sides, strict=True)]
    system = np.empty((len(sides) * n_live, len(sides) * n_live))  # scaled so that its diagonal is 1 less the couplings
    for (a, b), gram in zip(pairs, grams, strict=False):
        np.multiply(gram[live][:, live], -factor[a][:, None], out=system[place[a], place[b]])
        system[place[a], place[b]] *= factor[b]
        if a != b:
            system[place[b], place[a]] = system[place[a], place[b]].T
    system.flat[:: len(system) + 1] += 1
    right = np.vstack([own[:, None] * both[live] for own, both in zip(factor, sums, strict=True)])
    if problem.weights.alpha > 0:
        right[place[0]] += (scale[0] * 2 * problem.delta[live])[:, None] * problem.group_votes[live]
    unknown = linalg.solve(system, right, assume_a="pos", overwrite_a=True, overwrite_b=True)
    unknown = unknown * np.concatenate(scale)[:, None]

    group_proba, companions = problem.group_votes.copy(), np.zeros_like(problem.group_votes)
    if problem.weights.alpha > 0:
        group_proba[live] = unknown[place[0]]
    if problem.weights.beta > 0:
        companions[live] = unknown[place[-1]]
    return group_proba, companions


def _sides(problem: Problem) -> list[Side]:
    weights, live = problem.weights, problem.live
    sides = []
    if weights.alpha > 0:
        sides.append((problem.inverse_rho, weights.alpha * problem.u[live], problem.total[live]))
    if weights.beta > 0:
        twice_w = 2 * weights.beta * problem.w[live]
        sides.append((problem.d, twice_w, twice_w))
    return sides


def _vote_pull(problem: Problem, rows: slice) -> Array:
    """Return how hard a single vote pulls each row; a known label replaces the votes."""
    n_votes = problem.n_votes[rows]
    pull = np.divide(problem.anchor[rows] * problem.share[rows], n_votes, out=np.zeros_like(n_votes), where=n_votes > 0)
    return pull if problem.known is None else np.where(problem.known.codes[rows] >= 0, 0.0, pull)


def _target_sums(problem: Problem, given: Targets, sides: list[Side]) -> list[Array]:
    """Return what targets that are given, rather than the votes, add to the right-hand side; known labels replace them."""
    pull = problem.counts * problem.anchor * problem.share
    if problem.known is not None:
        pull = np.where(problem.known.labelled, 0.0, pull)
    return [problem.groups.scatter((pull * side[0])[:, None] * given.proba) for side in sides]


def _label_sums(problem: Problem, sides: list[Side]) -> list[Array]:
    """Return what the known labels add to the right-hand side."""
    assert problem.known is not None
    pull = problem.counts * np.where(problem.fixed, 1.0, problem.anchor * problem.share)
    one_hot = problem.known.one_hot(problem.n_classes)
    return [problem.groups.scatter((pull * side[0])[:, None] * one_hot) for side in sides]


# ---- conjugate gradients over rows -----------------------------------------------------------------------------------


def conjugate_gradients(problem: Problem, tol: float, max_iter: int) -> Solution:
    """Return the solution of the system over rows that is left when F^g is eliminated, a class at a time.

    The last class follows from the others. The system is symmetric in the inner product weighted by counts, so it is solved
    for sqrt(s) F^o; rows that are fixed, or count for nothing, are left out.
    """
    free = (problem.share > 0) & (problem.counts > 0)
    proba, n_iter, converged = _row_system(problem, free, tol, max_iter)
    group_proba = _best_groups(problem, proba)
    apart = problem.apart(proba, group_proba)
    problem.forget("group_votes")
    companions = _companions(problem, proba)
    weightless = (problem.share > 0) & ~free
    if weightless.any():
        proba[weightless] = _moved(problem, group_proba, companions)[weightless]
    silent = (problem.share <= 0) & ~problem.fixed
    objective = max(0.0, apart - problem.together(companions))
    proba[silent] = problem.mean_target
    return Solution(proba, group_proba, companions, silent, objective, n_iter, converged)


def _row_system(problem: Problem, free: Array, tol: float, max_iter: int) -> tuple[Array, int, bool]:
    """Return F^o of the free and the fixed rows, the most rounds a class took, and whether all converged."""
    root = np.sqrt(problem.counts)
    inverse_root = np.divide(1.0, root, out=np.zeros_like(root), where=free)
    proba = np.where(problem.fixed[:, None], problem.all_targets, 0.0)
    apply, diagonal = _row_operator(problem)

    def masked(vector: Array) -> Array:
        return np.where(free, root * apply(inverse_root * vector), vector)

    def right(z: int) -> Array:
        column = _row_right(problem, z)
        if problem.fixed.any():
            column -= apply(proba[:, z])
        return np.where(free, root * column, 0.0)

    columns = (right(z) for z in range(problem.n_classes - 1))
    n_iter, converged = 0, True
    for z, (solved, rounds, done) in enumerate(solved_columns(masked, np.where(free, diagonal, 1.0), columns, tol, max_iter)):
        proba[free, z] = (inverse_root * solved)[free]
        n_iter, converged = max(n_iter, rounds), converged and done
    proba[:, -1] = (free | problem.fixed) - proba[:, :-1].sum(axis=1)
    return proba, n_iter, converged


def _row_operator(problem: Problem) -> tuple[Callable[[Array], Array], Array]:
    """Return the system over rows as a function, and its diagonal as far as it is known.

    A group of one row couples the row with nobody but itself: it goes into the diagonal.
    """
    weights, counts, groups = problem.weights, problem.counts, problem.groups
    middle = np.divide((weights.alpha * problem.u) ** 2, problem.total, out=np.zeros_like(problem.u), where=problem.total > 0)
    twice_w = 2 * weights.beta * problem.w
    diagonal = problem.row_total()
    if isinstance(groups, SparseMembership):
        shared, squares = groups.shared, groups.solo.power(2)
        (middle, solo_middle), (twice_w, solo_w) = groups.split(middle), groups.split(twice_w)
        diagonal -= counts * (problem.inverse_rho**2 * (squares @ solo_middle) + problem.d**2 * (squares @ solo_w))
        middle, twice_w = middle.copy(), twice_w.copy()  # views would keep the whole tables

    def through_groups(factor: Array, between: Array, column: Array) -> Array:
        if isinstance(groups, JointMembership):
            return factor * groups.gather(between * groups.scatter(counts * factor * column))
        return factor * (shared @ (between * (shared.T @ (counts * factor * column))))

    def apply(column: Array) -> Array:
        out = diagonal * column
        if weights.alpha > 0:
            out -= through_groups(problem.inverse_rho, middle, column)
        if weights.beta > 0:
            out -= through_groups(problem.d, twice_w, column)
        return out

    return apply, diagonal


def _row_right(problem: Problem, z: int) -> Array:
    """Return the right-hand side of the system over rows: what the targets of rows and of groups ask of class z."""
    right = problem.anchor * problem.all_targets[:, z]
    if problem.weights.alpha > 0 and problem.weights.delta > 0:
        pull = problem.u * problem.group_votes[:, z]
        pull *= 2 * problem.weights.alpha * problem.weights.delta
        pull *= problem.voted
        np.divide(pull, problem.total, out=pull, where=problem.total > 0)
        right += problem.inverse_rho * problem.groups.gather(pull)
    return right


def _best_groups(problem: Problem, proba: Array) -> Array:
    """Return the best F^g given F^o."""
    weights, live = problem.weights, problem.live
    untied = np.flatnonzero(~(problem.voted & live))
    group_proba = problem.group_votes.copy(order="F")
    for z in range(problem.n_classes - 1):
        column = np.ascontiguousarray(proba[:, z])
        if weights.alpha > 0:
            pulled = problem.groups.scatter(problem.counts * problem.inverse_rho * column)
            pulled *= problem.u
            pulled *= weights.alpha
            target = group_proba[:, z]
            target *= 2 * weights.delta
            target[untied] = 0.0
            target += pulled
            np.divide(target, problem.total, out=target, where=live)
    if weights.alpha > 0:  # the last class follows, since rows of F^o sum to 1
        group_proba[:, -1] = 1 - group_proba[:, :-1].sum(axis=1)
    return group_proba


def _companions(problem: Problem, proba: Array) -> Array:
    """Return x = A' (s d F^o)."""
    companions = np.zeros((problem.groups.n_groups, problem.n_classes), order="F")
    if problem.weights.beta > 0:
        for z in range(problem.n_classes - 1):
            companions[:, z] = problem.groups.scatter(problem.counts * problem.d * proba[:, z])
        companions[:, -1] = problem.y - companions[:, :-1].sum(axis=1)
        companions[~problem.live] = 0.0
    return companions


# ---- the paper's loop ------------------------------------------------------------------------------------------------


def block_descent(problem: Problem, tol: float, max_iter: int, start: Array) -> Solution:
    """Return where the paper's loop stops: F^g given F^o, then F^o given F^g, until F^o moves by at most `tol` (Frobenius).

    All objects move at once, each to the weighted mean of its groups, of the objects it is with (itself included, as they
    were before the move) and of its votes. Because K^c is positive semi-definite this never raises P. Objects with equal rows
    start alike; they would be alike after the first move anyway.
    """
    silent = (problem.share <= 0) & ~problem.fixed
    proba = np.where(problem.fixed[:, None], problem.all_targets, start)
    proba[silent] = 0.0
    solution = Solution(proba, _best_groups(problem, proba), _companions(problem, proba), silent, converged=False)
    for solution.n_iter in range(1, max_iter + 1):
        solution.history.append(problem.objective(solution.object_proba, solution.group_proba, solution.companions))
        moved = _moved(problem, solution.group_proba, solution.companions)
        change = float(np.sqrt(problem.counts @ ((moved - solution.object_proba) ** 2).sum(axis=1)))
        solution.object_proba = moved
        solution.group_proba, solution.companions = _best_groups(problem, moved), _companions(problem, moved)
        if change <= tol:
            solution.converged = True
            break
    solution.objective = problem.objective(solution.object_proba, solution.group_proba, solution.companions)
    solution.object_proba[silent] = problem.mean_target
    return solution


def _moved(problem: Problem, group_proba: Array, companions: Array) -> Array:
    """Return each object's weighted mean of its groups, its companions and its target."""
    weights, target = problem.weights, problem.all_targets
    moved = problem.anchor[:, None] * target
    if weights.alpha > 0:
        moved += weights.alpha * problem.inverse_rho[:, None] * problem.groups.gather(problem.u[:, None] * group_proba)
    if weights.beta > 0:
        moved += 2 * weights.beta * problem.d[:, None] * problem.groups.gather(problem.w[:, None] * companions)
    return np.where(problem.fixed[:, None], target, problem.share[:, None] * moved)
