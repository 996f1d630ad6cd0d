"""The function P that EC3 minimises, and its minimiser by three routes.

    P = alpha/2 sum_ij K^m_ij |F^o_i - F^g_j|^2 + beta/2 sum_ik K^c_ik |F^o_i - F^o_k|^2
        + sum_i gamma_i |F^o_i - Y^o_i|^2 + sum_j delta_j |F^g_j - Y^g_j|^2

Both couplings have the form diag x membership x diag: K^m = diag(1/rho) A diag(u) and K^c = diag(d) A diag(w) A' diag(d). So with
x = A' (s d F^o), where s counts how often each row stands in the table, setting the gradient to zero gives

    (alpha + 2 beta + 2 gamma_i) F^o_i = alpha/rho_i (A u F^g)_i + 2 beta d_i (A w x)_i + 2 gamma_i Y^o_i
    (alpha c_j + 2 delta_j) F^g_j      = alpha u_j (A' s/rho F^o)_j + 2 delta_j Y^g_j

and eliminating F^o leaves a small system over groups (`direct`), eliminating F^g one over rows (`conjugate_gradients`).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, cg

from .matrices import JointMembership, SparseMembership, co_occurrence_scaling
from .rules import COMPANIONS, GROUPS, VOTES, GroupRule, KnownLabels, Term, normalised

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Weights:
    """The weights of the four terms of P, and whether small groups count as much as large ones (iEC3)."""

    alpha: float
    beta: float
    gamma: float
    delta: float
    balanced: bool


@dataclass
class Solution:
    """Where a route ended: F^o, F^g, x = A' (s d F^o), the rows no vote reaches, and how it went."""

    object_proba: Array
    group_proba: Array
    companions: Array
    silent: Array  # rows that no term says anything about
    objective: float = 0.0
    n_iter: int = 0
    converged: bool = True
    history: list[float] = field(default_factory=list)


class Problem:
    """P for one table of votes: the diagonals of K^m and K^c, and the targets Y^o and Y^g."""

    def __init__(
        self,
        groups: JointMembership | SparseMembership,
        counts: Array,
        group_weights: Array,
        group_class: Array,
        n_classes: int,
        weights: Weights,
        known: KnownLabels | None = None,
    ) -> None:
        self.groups, self.counts, self.weights, self.known = groups, counts, weights, known
        self.n_classes = n_classes
        classifier = group_class >= 0
        self.vote_weight = np.where(classifier, group_weights, 0.0)
        self.vote_class = np.zeros((groups.n_groups, n_classes))
        self.vote_class[classifier, group_class[classifier]] = 1

        self.sizes = groups.scatter(counts)
        self.n_votes = groups.gather(self.vote_weight)
        voted = groups.scatter(counts * self.n_votes) > 0
        live = (self.sizes > 0) & (group_weights > 0)
        if (live & ~voted).any():
            live &= self._tied_to_a_vote(voted)
        self.live = live
        self.w = np.where(live, group_weights, 0.0)
        size = np.where(live, self.sizes, 1.0)
        self.u = self.w / size if weights.balanced else self.w
        rho = groups.gather(self.u)
        self.in_group = rho > 0
        self.inverse_rho = np.divide(1.0, rho, out=rho, where=self.in_group)

        self.shared, self.alone = _without_solo_groups(groups, live) if isinstance(groups, SparseMembership) else (groups, None)
        self._scale()
        self.group_pull = self.u * groups.scatter(counts * self.inverse_rho)  # c
        self.delta = np.where(voted & live, weights.delta, 0.0)
        self.group_total = weights.alpha * self.group_pull + 2 * self.delta

        self.anchor = np.where(self.n_votes > 0, 2 * weights.gamma, 0.0)  # 2 gamma_i
        self.fixed = np.zeros(groups.n_rows, dtype=bool)
        if known is not None:
            labelled = known.codes >= 0
            self.fixed = labelled & np.isinf(known.pull)
            self.anchor[labelled] = 0.0 if np.isinf(known.pull) else known.pull
        total = self._total()
        self.share = np.divide(1.0, total, out=total, where=total > 0)
        self.share[self.fixed] = 0.0

    # ---- the pieces of P ---------------------------------------------------------------------------------------------

    def _total(self) -> Array:
        """Return alpha + 2 beta + 2 gamma_i, less what a row without groups or votes does not have."""
        return (self.weights.alpha + 2 * self.weights.beta) * self.in_group + self.anchor

    def _scale(self) -> None:
        """Find d, the diagonal of the doubly stochastic K^c, and y = A' (s d)."""
        if self.weights.beta == 0:
            self.d = np.zeros_like(self.inverse_rho)
            self.y = np.zeros_like(self.w)
            return
        alone = None if self.alone is None else self.alone.rows_sum(self.w[self.alone.groups] * self.alone.values**2)
        w = self.w if self.alone is None else self.w[self.alone.kept]
        self.d, _, n_iter, change = co_occurrence_scaling(self.shared, w, self.counts, alone)
        self.y = self.groups.scatter(self.counts * self.d)
        if change > 1e-9:
            warnings.warn(
                f"The scaling of K^c stopped after {n_iter} rounds with change {change:.1e}; weights or sample weights of very "
                "different size slow it down.",
                stacklevel=4,
            )

    @cached_property
    def mean_vote(self) -> Array:
        """Return the mean of Y^o over the rows that were voted on."""
        per_row = np.divide(self.counts, self.n_votes, out=np.zeros_like(self.n_votes), where=self.n_votes > 0)
        total = (self.groups.scatter(per_row) * self.vote_weight) @ self.vote_class
        if self.known is not None and not total.any():
            total = np.bincount(self.known.codes[self.known.codes >= 0], minlength=self.n_classes).astype(np.float64)
        return normalised(total)

    @cached_property
    def group_votes(self) -> Array:
        """Return Y^g, the share of the votes on a group's members that each class got."""
        weighted = ((rows, self.counts[rows, None] * votes) for rows, votes in self.groups.gather_parts(self._vote_table()))
        return normalised(self.groups.scatter_parts(weighted, self.n_classes))

    def _vote_table(self) -> Array:
        return self.vote_weight[:, None] * self.vote_class

    def _tied_to_a_vote(self, voted: Array) -> Array:
        """Return which groups are connected, over any number of shared rows, with a vote or a known label."""
        matrix = self.groups.matrix
        graph = sparse.bmat([[None, matrix], [matrix.T, None]], format="csr")
        _, component = connected_components(graph, directed=False)
        n_rows = self.groups.n_rows
        tied = np.zeros(component.max() + 1, dtype=bool)
        tied[component[n_rows:][voted]] = True
        if self.known is not None:
            tied[component[:n_rows][self.known.codes >= 0]] = True
        return tied[component[n_rows:]]

    def targets(self) -> Iterator[tuple[slice, Array]]:
        """Return Y^o, the mean vote (or the known label) of each row, some rows at a time."""
        for rows, votes in self.groups.gather_parts(self._vote_table()):
            target = normalised(votes)
            if self.known is not None:
                codes = self.known.codes[rows]
                target[codes >= 0] = np.eye(self.n_classes)[codes[codes >= 0]]
            yield rows, target

    def _all_targets(self) -> Array:
        target = np.empty((self.groups.n_rows, self.n_classes))
        for rows, part in self.targets():
            target[rows] = part
        return target

    def objective(self, solution: Solution) -> float:
        """Return P where F^g and x follow from F^o; both sums over pairs are multiplied out."""
        squares = tension = 0.0
        for rows, target in self.targets():
            part = self.row_terms(rows, solution.object_proba[rows], [(self.anchor[rows], target)])
            squares, tension = squares + part[0], tension + part[1]
        return self.objective_of(squares, tension, solution.group_proba, solution.companions)

    def row_terms(self, rows: slice, proba: Array, targets: list[tuple[Array, Array]]) -> tuple[float, float]:
        """Return what some rows add to P: their squares, and their tension to targets that pull this hard."""
        counts = self.counts[rows]
        squares = float((counts * self.in_group[rows]) @ np.einsum("iz,iz->i", proba, proba))
        tension = 0.0
        for pull, target in targets:
            gap = proba - target
            tension += float((counts * pull / 2) @ np.einsum("iz,iz->i", gap, gap))
        return squares, tension

    def objective_of(self, squares: float, tension: float, groups: Array, companions: Array) -> float:
        """Return P from the sums of `row_terms` over all rows."""
        alpha, beta = self.weights.alpha, self.weights.beta
        pulled = self.group_total[:, None] * groups - 2 * self.delta[:, None] * self.group_votes  # alpha u A' s/rho F^o
        to_groups = alpha / 2 * (squares + self.group_pull @ (groups**2).sum(axis=1)) - (groups * pulled).sum()
        to_companions = beta * (squares - self.w @ (companions**2).sum(axis=1))
        from_votes = self.delta @ ((groups - self.group_votes) ** 2).sum(axis=1)
        return max(0.0, float((to_groups if alpha else 0.0) + to_companions + tension + from_votes))

    def rule(self, group_proba: Array, companions: Array) -> GroupRule:
        """Return how an object's answer follows from its groups, for these rows and for new ones."""
        weights = self.weights
        per_member = np.divide(companions, self.y[:, None], out=np.zeros_like(companions), where=self.y[:, None] > 0)
        terms = (
            Term(GROUPS, weights.alpha, self.u, group_proba),
            Term(COMPANIONS, 2 * weights.beta, self.w * self.y, per_member),
            Term(VOTES, 2 * weights.gamma, self.vote_weight, self.vote_class),
        )
        return GroupRule(terms, self.mean_vote)

    # ---- route 1: the small system over groups -----------------------------------------------------------------------

    def direct(self) -> Solution:
        """Return the solution of the dense system over groups that is left when F^o is eliminated."""
        group_proba, companions = self._group_system()
        rule = self.rule(group_proba, companions)
        n_rows = self.groups.n_rows
        solution = Solution(np.empty((n_rows, self.n_classes)), group_proba, companions, np.empty(n_rows, dtype=bool))
        squares = tension = 0.0
        for rows, pulls in rule.pulls(self.groups, self.known):
            proba, solution.silent[rows] = rule.answer(pulls)
            targets = [(pull.strength, pull.mean) for pull in pulls if pull.name in (VOTES, KnownLabels.name)]
            part = self.row_terms(rows, proba, targets)
            squares, tension = squares + part[0], tension + part[1]
            solution.object_proba[rows] = proba
        solution.objective = self.objective_of(squares, tension, group_proba, companions)
        return solution

    def _group_system(self) -> tuple[Array, Array]:
        """Return F^g and x."""
        weights, live = self.weights, np.flatnonzero(self.live)
        sides = []  # of alpha and of beta: each row's and each group's factor of the coupling, and the diagonal
        if weights.alpha > 0:
            sides.append((self.inverse_rho, weights.alpha * self.u[live], self.group_total[live]))
        if weights.beta > 0:
            sides.append((self.d, 2 * weights.beta * self.w[live], 2 * weights.beta * self.w[live]))
        if not sides or not len(live):
            return self.group_votes.copy(), np.zeros_like(self.group_votes)
        pairs = [(a, b) for a in range(len(sides)) for b in range(a, len(sides))]

        def row_weights(rows: slice) -> Array:
            counts = self.counts[rows]
            factors = [side[0][rows] for side in sides]
            coupled = counts * self.share[rows]
            couplings = [coupled * factors[a] * factors[b] for a, b in pairs]
            to_votes = counts * self._vote_pull(rows)
            return np.stack([*couplings, *[to_votes * factor for factor in factors], counts], axis=1)

        *grams, on_groups = self.groups.grams(row_weights, len(pairs) + len(sides) + 1)
        n_live = len(live)
        scale = [1 / np.sqrt(diagonal) for _, _, diagonal in sides]
        factor = [own * side[1] for own, side in zip(scale, sides, strict=True)]
        system = np.empty((len(sides) * n_live, len(sides) * n_live))  # scaled to a diagonal of 1 less the couplings
        place = [slice(i * n_live, (i + 1) * n_live) for i in range(len(sides))]
        for (a, b), gram in zip(pairs, grams, strict=False):
            np.multiply(gram[live][:, live], -factor[a][:, None], out=system[place[a], place[b]])
            system[place[a], place[b]] *= factor[b]
            if a != b:
                system[place[b], place[a]] = system[place[a], place[b]].T
        system.flat[:: len(system) + 1] += 1

        vote_table = self._vote_table()
        self.group_votes = normalised(np.maximum(on_groups @ vote_table, 0.0))
        sums = [gram @ vote_table for gram in grams[len(pairs) :]]
        if self.known is not None:
            sums = [both + label for both, label in zip(sums, self._label_sums(sides), strict=True)]
        right = np.vstack([own[:, None] * both[live] for own, both in zip(factor, sums, strict=True)])
        if weights.alpha > 0:
            right[place[0]] += (scale[0] * 2 * self.delta[live])[:, None] * self.group_votes[live]
        unknown = linalg.solve(system, right, assume_a="pos", overwrite_a=True, overwrite_b=True)
        unknown *= np.concatenate(scale)[:, None]
        group_proba, companions = self.group_votes.copy(), np.zeros_like(self.group_votes)
        if weights.alpha > 0:
            group_proba[live] = unknown[: len(live)]
        if weights.beta > 0:
            companions[live] = unknown[-len(live) :]
        return group_proba, companions

    def _vote_pull(self, rows: slice) -> Array:
        """Return how hard a single vote pulls each row; a known label replaces the votes."""
        n_votes = self.n_votes[rows]
        pull = np.divide(self.anchor[rows] * self.share[rows], n_votes, out=np.zeros_like(n_votes), where=n_votes > 0)
        return pull if self.known is None else np.where(self.known.codes[rows] >= 0, 0.0, pull)

    def _label_sums(self, sides: list[Any]) -> list[Array]:
        """Return what the known labels add to the right-hand side."""
        assert self.known is not None
        labelled = np.flatnonzero(self.known.codes >= 0)
        pull = self.counts * np.where(self.fixed, 1.0, self.anchor * self.share)
        one_hot = np.zeros((self.groups.n_rows, self.n_classes))
        sums = []
        for side in sides:
            one_hot[labelled, self.known.codes[labelled]] = (pull * side[0])[labelled]
            sums.append(self.groups.scatter(one_hot))
        return sums

    # ---- route 2: conjugate gradients over rows ----------------------------------------------------------------------

    def conjugate_gradients(self, tol: float, max_iter: int) -> Solution:
        """Return the solution of the system over rows that is left when F^g is eliminated, a class at a time."""
        counts, target = self.counts, self._all_targets()
        free = (self.share > 0) & (counts > 0)
        root, start = np.sqrt(counts), np.where(self.fixed[:, None], target, 0.0)
        apply, diagonal, given = self._row_operator(target)

        def masked(vector: Array) -> Array:
            inner = np.where(free, vector, 0.0)
            plain = np.divide(inner, root, out=np.zeros_like(inner), where=free)
            return np.where(free, root * apply(plain), vector)

        n_rows = self.groups.n_rows
        operator = LinearOperator((n_rows, n_rows), matvec=masked, dtype=np.float64)
        inverse = np.where(free, 1 / np.where(free, diagonal, 1.0), 1.0)
        preconditioner = LinearOperator((n_rows, n_rows), matvec=lambda v: inverse * v, dtype=np.float64)
        proba = np.zeros_like(target)
        n_iter, converged = 0, True
        for z in range(self.n_classes - 1):
            right = given(z) - (apply(start[:, z]) if self.fixed.any() else 0.0)
            rounds: list[None] = []
            solved, status = cg(
                operator,
                np.where(free, root * right, 0.0),
                rtol=tol,
                atol=0.0,
                maxiter=max_iter,
                M=preconditioner,
                callback=lambda _, rounds=rounds: rounds.append(None),
            )
            proba[:, z] = np.where(free, np.divide(solved, root, out=np.zeros_like(solved), where=free), start[:, z])
            n_iter, converged = max(n_iter, len(rounds)), converged and status == 0
        proba[:, -1] = (free | self.fixed) - proba[:, :-1].sum(axis=1)
        group_proba, companions = self._follow(proba)
        weightless = (self.share > 0) & ~free  # rows that count for nothing but want an answer
        if weightless.any():
            proba[weightless] = self._moved(group_proba, companions, target)[weightless]
        silent = (self.share <= 0) & ~self.fixed
        solution = Solution(proba, group_proba, companions, silent, n_iter=n_iter, converged=converged)
        solution.objective = self.objective(solution)
        proba[silent] = self.mean_vote
        return solution

    def _row_operator(self, target: Array) -> Any:
        """Return the system over rows as a function, its diagonal, and its right-hand side by class.

        A group of one row couples the row with nobody but itself: it goes into the diagonal.
        """
        weights, counts, alone = self.weights, self.counts, self.alone
        kept = slice(None) if alone is None else alone.kept
        u, w = self.u[kept], self.w[kept]
        middle = np.divide(weights.alpha**2 * u**2, self.group_total[kept], out=np.zeros_like(u), where=self.live[kept])
        from_group = np.divide(
            2 * weights.alpha * self.delta * self.u, self.group_total, out=np.zeros_like(self.u), where=self.live
        )
        diagonal = self._total()
        if alone is not None:
            own_u, own_w = self.u[alone.groups] * alone.values, self.w[alone.groups] * alone.values**2
            part = np.divide(
                (weights.alpha * own_u) ** 2, self.group_total[alone.groups], out=np.zeros_like(own_u), where=own_u > 0
            )
            diagonal -= counts * self.inverse_rho**2 * alone.rows_sum(part)
            diagonal -= 2 * weights.beta * counts * self.d**2 * alone.rows_sum(own_w)

        def apply(column: Array) -> Array:
            out = diagonal * column
            if weights.alpha > 0:
                out -= self.inverse_rho * self.shared.gather(middle * self.shared.scatter(counts * self.inverse_rho * column))
            if weights.beta > 0:
                out -= self.d * self.shared.gather(2 * weights.beta * w * self.shared.scatter(counts * self.d * column))
            return out

        def given(z: int) -> Array:
            right = self.anchor * target[:, z]
            if weights.alpha > 0 and weights.delta > 0:
                right = right + self.inverse_rho * self.groups.gather(from_group * self.group_votes[:, z])
            return right

        return apply, diagonal, given

    # ---- route 3: the paper's loop -----------------------------------------------------------------------------------

    def block_descent(self, tol: float, max_iter: int, start: Array) -> Solution:
        """Return where the paper's loop stops: F^g given F^o, then F^o given F^g, until F^o moves by at most `tol` (Frobenius).

        All objects move at once, each to the weighted mean of its groups, of the objects it is with (itself included, as
        they were before) and of its votes. Because K^c is positive semi-definite this never raises P.
        """
        target = self._all_targets()
        proba = np.where(self.fixed[:, None], target, np.where(self.share[:, None] > 0, start, 0.0))
        silent = (self.share <= 0) & ~self.fixed
        solution = Solution(proba, *self._follow(proba), silent, converged=False)
        for solution.n_iter in range(1, max_iter + 1):
            solution.history.append(self.objective(solution))
            moved = self._moved(solution.group_proba, solution.companions, target)
            change = float(np.sqrt(self.counts @ ((moved - solution.object_proba) ** 2).sum(axis=1)))
            solution.object_proba = moved
            solution.group_proba, solution.companions = self._follow(moved)
            if change <= tol:
                solution.converged = True
                break
        solution.objective = self.objective(solution)
        solution.object_proba[silent] = self.mean_vote
        return solution

    def _follow(self, proba: Array) -> tuple[Array, Array]:
        """Return the best F^g given F^o, and x; a class at a time, which sparse products are fastest at."""
        weights, live = self.weights, self.live
        group_proba, companions = self.group_votes.copy(), np.zeros_like(self.group_votes)
        for z in range(self.n_classes):
            column = np.ascontiguousarray(proba[:, z])
            if weights.alpha > 0:
                pulled = weights.alpha * self.u * self.groups.scatter(self.counts * self.inverse_rho * column)
                pulled += 2 * self.delta * self.group_votes[:, z]
                np.divide(pulled, self.group_total, out=group_proba[:, z], where=live)
            if weights.beta > 0:
                companions[:, z] = np.where(live, self.groups.scatter(self.counts * self.d * column), 0.0)
        return group_proba, companions

    def _moved(self, group_proba: Array, companions: Array, target: Array) -> Array:
        """Return each object's weighted mean of its groups, its companions and its target."""
        moved = self.anchor[:, None] * target
        if self.weights.alpha > 0:
            moved += self.weights.alpha * self.inverse_rho[:, None] * self.groups.gather(self.u[:, None] * group_proba)
        if self.weights.beta > 0:
            moved += 2 * self.weights.beta * self.d[:, None] * self.groups.gather(self.w[:, None] * companions)
        return np.where(self.fixed[:, None], target, self.share[:, None] * moved)


@dataclass(frozen=True, eq=False)
class _Alone:
    """Groups of one row: their row, their number, the row's share in them; and the groups that are left."""

    rows: Array
    groups: Array
    values: Array
    kept: Array
    n_rows: int

    def rows_sum(self, values: Array) -> Array:
        return np.bincount(self.rows, weights=values, minlength=self.n_rows)


def _without_solo_groups(groups: SparseMembership, live: Array) -> tuple[SparseMembership, _Alone]:
    """Take out the groups of one row, which fine clusterings have many of, and those without weight."""
    matrix = groups.matrix
    members = np.bincount(matrix.indices, minlength=groups.n_groups)
    several = (members > 1) & live
    number = np.cumsum(several, dtype=matrix.indices.dtype) - 1
    stays = several[matrix.indices]
    row_of = np.repeat(np.arange(groups.n_rows, dtype=matrix.indices.dtype), np.diff(matrix.indptr))
    starts = np.concatenate([[0], np.cumsum(np.bincount(row_of[stays], minlength=groups.n_rows))]).astype(matrix.indptr.dtype)
    kept = np.flatnonzero(several)
    shared = sparse.csr_array((matrix.data[stays], number[matrix.indices[stays]], starts), shape=(groups.n_rows, len(kept)))
    solo = ~stays & live[matrix.indices]
    alone = _Alone(row_of[solo], matrix.indices[solo], matrix.data[solo], kept, groups.n_rows)
    return SparseMembership(shared), alone
