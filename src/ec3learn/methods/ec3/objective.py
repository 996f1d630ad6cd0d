"""The function P that EC3 minimises, for one table of votes.

    P = alpha/2 sum_ij K^m_ij |F^o_i - F^g_j|^2 + beta/2 sum_ik K^c_ik |F^o_i - F^o_k|^2
        + sum_i gamma_i |F^o_i - Y^o_i|^2 + sum_j delta_j |F^g_j - Y^g_j|^2

Both couplings have the form diag x membership x diag: K^m = diag(1/rho) A diag(u) and K^c = diag(d) A diag(w) A' diag(d). So with
x = A' (s d F^o), where s counts how often each row stands in the table, the gradient is zero where

    (alpha + 2 beta + 2 gamma_i) F^o_i = alpha/rho_i (A u F^g)_i + 2 beta d_i (A w x)_i + 2 gamma_i Y^o_i
    (alpha c_j + 2 delta_j) F^g_j      = alpha u_j (A' s/rho F^o)_j + 2 delta_j Y^g_j

`ec3learn.methods.ec3.solvers` has the routes to that point.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ...algebra.linear import normalised
from ...algebra.membership import JointMembership, SparseMembership, chunks, reached_groups
from ...algebra.scaling import co_occurrence_scaling
from ...answer.rule import COMPANIONS, GROUPS, VOTES, GroupRule, KnownLabels, Targets, Term
from ...votes.reading import smallest_uint

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
    silent: Array
    objective: float = 0.0
    n_iter: int = 0
    converged: bool = True
    history: list[float] = field(default_factory=list)


class Problem:
    """P: the diagonals of K^m and K^c, and the targets Y^o and Y^g.

    By row: `inverse_rho`, `d`, `anchor` (2 gamma_i), `share` (1 / (alpha + 2 beta + 2 gamma_i), 0 where F^o_i is `fixed` or
    nothing is known of it) and `in_group`. By group, in the order of `groups`: `w`, `u`, `total` (alpha c_j + 2 delta_j),
    `voted` and `live`; a group without weight or members, or that no vote reaches, is not live and takes no part.
    """

    def __init__(
        self,
        groups: JointMembership | SparseMembership,
        counts: Array,
        model_weights: Array,
        group_model: Array,
        group_class: Array,
        n_classes: int,
        weights: Weights,
        known: KnownLabels | None = None,
        given: Targets | None = None,
    ) -> None:
        self.groups, self.counts, self.weights, self.known, self.given = groups, counts, weights, known, given
        self.n_classes = n_classes
        self.model_weights = model_weights
        spoken = np.flatnonzero((group_class >= 0) & (model_weights > 0)[group_model])
        self.all_voters = (spoken, model_weights[group_model[spoken]], np.eye(n_classes)[group_class[spoken]])
        self.group_model = group_model[groups.order].astype(smallest_uint(len(model_weights)))
        group_class = group_class[groups.order]
        weighty = (model_weights > 0)[self.group_model]
        self.voters = np.flatnonzero((group_class >= 0) & weighty)
        self.vote_weight = model_weights[self.group_model[self.voters]]
        self.vote_class = np.eye(n_classes)[group_class[self.voters]]

        self.n_votes = groups.gather(self._of_voters(self.vote_weight))
        if given is not None:  # a row without votes may have a target too
            self.n_votes = np.where(given.proba.any(axis=1), np.where(self.n_votes > 0, self.n_votes, 1.0), 0.0)
        self.voted = groups.scatter(counts * self.n_votes) > 0
        sizes = groups.scatter(counts)
        self.live = (sizes > 0) & weighty
        if (self.live & ~self.voted).any():
            self.live &= self._reached()
        self.u = np.divide(self.w, sizes, out=sizes, where=self.live) if weights.balanced else self.w
        self.u[~self.live] = 0.0
        rho = groups.gather(self.u)
        self.in_group = rho > 0
        self.inverse_rho = np.divide(1.0, rho, out=rho, where=self.in_group)
        self.d = self._scaling()
        self.total = groups.scatter(counts * self.inverse_rho)  # c_j u_j^-1, then alpha c_j + 2 delta_j
        self.total *= self.u
        self.total *= weights.alpha
        self.total += 2 * self.delta

        self.anchor = np.where(self.n_votes > 0, 2 * weights.gamma, 0.0)
        self.fixed = np.zeros(groups.n_rows, dtype=bool)
        if known is not None:
            self.fixed = known.labelled & known.fixed
            self.anchor[known.labelled] = 0.0 if known.fixed else known.pull
        total = self.row_total()
        self.share = np.divide(1.0, total, out=total, where=total > 0)
        self.share[self.fixed] = 0.0

    # ---- matrices ----------------------------------------------------------------------------------------------------

    @property
    def w(self) -> Array:
        """Return the weight of each group's model, 0 for groups that take no part."""
        return self.model_weights[self.group_model] * self.live

    @cached_property
    def y(self) -> Array:
        """Return A' (s d)."""
        return self.groups.scatter(self.counts * self.d)

    def _scaling(self) -> Array:
        """Return d, the diagonal of the doubly stochastic K^c."""
        if self.weights.beta == 0:
            return np.zeros_like(self.inverse_rho)
        d, n_iter, change = co_occurrence_scaling(self.groups, self.w, self.counts)
        if change > 1e-9:
            warnings.warn(
                f"The scaling of K^c stopped after {n_iter} rounds with change {change:.1e}; weights or sample weights of very "
                "different size slow it down.",
                stacklevel=5,
            )
        return d

    def _reached(self) -> Array:
        """Return which groups are connected, over any number of shared rows that count, with a vote or a known label."""
        labelled = np.zeros(self.groups.n_rows, dtype=bool) if self.known is None else self.known.labelled
        return reached_groups(self.groups, self.counts, self.live, self.voted, labelled)

    def row_total(self) -> Array:
        """Return alpha + 2 beta + 2 gamma_i, less what a row without groups or votes does not have."""
        return (self.weights.alpha + 2 * self.weights.beta) * self.in_group + self.anchor

    @property
    def delta(self) -> Array:
        """Return delta_j: 0 where there is no Y^g_j."""
        return np.where(self.voted & self.live, self.weights.delta, 0.0)

    def _of_voters(self, values: Array) -> Array:
        """Return a table with a row a group that has these values for the groups of classifiers, zeros for the others."""
        table = np.zeros((self.groups.n_groups, *values.shape[1:]))
        table[self.voters] = values
        return table

    # ---- targets -----------------------------------------------------------------------------------------------------

    def vote_table(self) -> Array:
        """Return what a vote of each group says: groups x classes."""
        return self._of_voters(self.vote_weight[:, None] * self.vote_class)

    def targets(self) -> Iterator[tuple[slice, Array]]:
        """Return Y^o, the mean vote (or the known label) of each row, some rows at a time."""
        if self.given is not None or isinstance(self.groups, SparseMembership):
            yield from ((rows, self.all_targets[rows]) for rows in chunks(self.groups.n_rows))
            return
        for rows, votes in self.groups.gather_parts(self.vote_table()):
            yield rows, self._with_labels(rows, normalised(votes))

    @cached_property
    def all_targets(self) -> Array:
        """Return Y^o of all rows at once."""
        if self.given is not None:
            return self._with_labels(slice(None), self.given.proba.copy())
        columns = (self._of_voters(self.vote_weight * one_class) for one_class in self.vote_class.T)
        votes = np.stack([self.groups.gather(column) for column in columns], axis=1)
        return self._with_labels(slice(None), normalised(votes))

    def _with_labels(self, rows: slice, target: Array) -> Array:
        if self.known is not None:
            labelled = self.known.labelled[rows]
            target[labelled] = self.known.one_hot(self.n_classes, rows)[labelled]
        return target

    @cached_property
    def mean_target(self) -> Array:
        """Return the mean of Y^o over the rows that have one."""
        voted = self.n_votes > 0
        sums = np.zeros(self.n_classes)
        if self.known is not None:
            labelled = self.known.labelled
            sums += np.bincount(self.known.codes[labelled], weights=self.counts[labelled], minlength=self.n_classes)
            voted &= ~labelled
        if self.given is not None or isinstance(self.groups, SparseMembership):
            sums += (self.counts * voted) @ self.all_targets
        else:
            per_row = np.divide(self.counts, self.n_votes, out=np.zeros_like(self.n_votes), where=voted)
            sums += (self.groups.scatter(per_row)[self.voters] * self.vote_weight) @ self.vote_class
        return sums / sums.sum() if sums.any() else np.full(self.n_classes, 1 / self.n_classes)

    @cached_property
    def group_votes(self) -> Array:
        """Return Y^g, the share of the votes on a group's members that each class got."""
        if self.given is not None:
            votes = self.given.proba * self.n_votes[:, None]
        elif self.known is None:
            votes = self.all_targets * self.n_votes[:, None]
        else:
            votes = self.groups.gather(self.vote_table())
        sums = np.empty((self.groups.n_groups, self.n_classes), order="F")
        for z in range(self.n_classes):
            sums[:, z] = self.groups.scatter(self.counts * votes[:, z])
        totals = sum(sums.T, np.zeros(len(sums)))
        totals[totals <= 0] = 1.0
        sums /= totals[:, None]
        return sums

    # ---- P itself, and the answers that follow from F^g and x --------------------------------------------------------

    def objective(self, object_proba: Array, group_proba: Array, companions: Array) -> float:
        """Return P where F^g and x follow from F^o; both sums over pairs are multiplied out."""
        return max(0.0, self.apart(object_proba, group_proba) - self.together(companions))

    def apart(self, object_proba: Array, group_proba: Array) -> float:
        """Return P without the products of F^o_i and F^o_k."""
        squares = tension = 0.0
        for rows, target in self.targets():
            part = self.row_terms(rows, object_proba[rows], [(self.anchor[rows], target)])
            squares, tension = squares + part[0], tension + part[1]
        return self.apart_of(squares, tension, group_proba)

    def row_terms(self, rows: slice, proba: Array, targets: list[tuple[Array, Array]]) -> tuple[float, float]:
        """Return what some rows add to P: their squares, and their tension to targets that pull this hard."""
        counts = self.counts[rows]
        squares = float((counts * self.in_group[rows]) @ _squared_norms(proba))
        tension = sum(float((counts * pull / 2) @ _squared_norms(proba - target)) for pull, target in targets)
        return squares, tension

    def together(self, companions: Array) -> float:
        """Return beta sum_ik s_i s_k K^c_ik F^o_i F^o_k."""
        w = self.w
        norms = sum(w[part] @ _squared_norms(companions[part]) for part in chunks(self.groups.n_groups))
        return self.weights.beta * float(norms)

    def apart_of(self, squares: float, tension: float, groups: Array) -> float:
        """Return `apart` from the sums of `row_terms` over all rows, and F^g."""
        alpha, beta, delta = self.weights.alpha, self.weights.beta, self.weights.delta
        to_groups: Any = alpha / 2 * squares
        from_votes: Any = 0.0
        for part in chunks(self.groups.n_groups):
            tied = (self.voted & self.live)[part]
            own, vote = groups[part] * self.live[part, None], self.group_votes[part] * tied[:, None]
            square, between = _squared_norms(own), np.einsum("jz,jz->", own, vote)
            # alpha c_j = total_j - 2 delta_j, and alpha u_j (A' s/rho F^o)_j = total_j F^g_j - 2 delta_j Y^g_j
            to_groups += 2 * delta * between - delta * (square @ tied) - self.total[part] @ square / 2
            from_votes += delta * (square @ tied - 2 * between + np.einsum("jz,jz->", vote, vote))
        return float((to_groups if alpha else 0.0) + beta * squares + tension + from_votes)

    def forget(self, *tables: str) -> None:
        """Free tables that are no longer needed; they would be made anew."""
        for name in tables:
            self.__dict__.pop(name, None)

    def rule(self, group_proba: Array, companions: Array, last_use: bool = False) -> GroupRule:
        """Return how an object's answer follows from its groups, for these rows and for new ones.

        On the last use of `companions` its memory is used again.
        """
        weights, order = self.weights, self.groups.order
        live = slice(None) if self.live.all() else np.flatnonzero(self.live)
        y = self.y[live]
        per_member = companions[live]
        per_member = np.divide(per_member, np.where(y > 0, y, 1.0)[:, None], out=per_member if last_use else None)
        weights_of = self.w[live]
        weights_of *= y
        terms = (
            Term(GROUPS, weights.alpha, order[live], self.u[live], group_proba[live]),
            Term(COMPANIONS, 2 * weights.beta, order[live], weights_of, per_member),
            Term(VOTES, 2 * weights.gamma, *self.all_voters),
        )
        towards = None if self.given is None else (2 * weights.gamma, self.given.rule)
        spoken = tuple(term for term in terms if term.pull > 0 and not (towards and term.name == VOTES))
        return GroupRule(spoken, self.mean_target, towards=towards)


def _squared_norms(table: Array) -> Array:
    return np.einsum("iz,iz->i", table, table)
