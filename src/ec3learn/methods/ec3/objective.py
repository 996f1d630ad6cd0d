"""The function P that EC3 minimises, for one table of votes.

    P = alpha/2 sum_ij K^m_ij |F^o_i - F^g_j|^2 + beta/2 sum_ik K^c_ik |F^o_i - F^o_k|^2
        + sum_i gamma_i |F^o_i - Y^o_i|^2 + sum_j delta_j |F^g_j - Y^g_j|^2

Both couplings have the form diag x membership x diag: K^m = diag(1/rho) A diag(u) and K^c = diag(d)
A diag(w) A' diag(d). So with x = A' (s d F^o), where s counts how often each row occurs in the
table, and c_j = u_j (A' s/rho)_j, the gradient is zero where

    (alpha + 2 beta + 2 gamma_i) F^o_i = alpha/rho_i (A u F^g)_i + 2 beta d_i (A w x)_i + 2 gamma_i
    Y^o_i
    (alpha c_j + 2 delta_j) F^g_j      = alpha u_j (A' s/rho F^o)_j + 2 delta_j Y^g_j

`ec3learn.methods.ec3.solvers` has the routes to that point.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..._typing import Array
from ...algebra.linear import chunks, normalised, squared_norms
from ...algebra.membership import Membership, reached_groups
from ...algebra.scaling import co_occurrence_scaling
from ...answer.rule import COMPANIONS, GROUPS, VOTES, GroupRule, KnownLabels, Targets, Term, one_hot
from ...votes import Votes
from ...votes.reading import smallest_uint


class Setting(NamedTuple):
    """The weights of the four terms of P."""

    alpha: float
    beta: float
    gamma: float
    delta: float


@dataclass
class Solution:
    """Where a route ended: F^o, F^g, x = A' (s d F^o), the rows no vote reaches, and how it went."""

    object_proba: Array
    group_proba: Array
    companions: Array
    unanswered: Array
    objective: float = 0.0
    n_iter: int = 0
    converged: bool = True
    history: list[float] = field(default_factory=list)


class Problem:
    """P: the diagonals of K^m and K^c, and the targets Y^o and Y^g.

    By row: `inverse_rho`, `d`, `anchor` (2 gamma_i), `share` (1 / (alpha + 2 beta + 2 gamma_i); 0
    where F^o_i is `fixed`, or where no vote reaches it) and `in_group`. By group, in the order of
    `groups`: `w`, `u`, `total` (alpha c_j + 2 delta_j), `voted` and `live`. A group without weight
    or members, or that no vote reaches, is not live and takes no part.

    `groups` is the A^m of the votes. `model_weights` include the weights of the votes. Known labels
    take the place of votes, and answers of another method (`given`) that of the mean votes.
    """

    def __init__(
        self,
        votes: Votes,
        groups: Membership,
        model_weights: Array,
        setting: Setting,
        balanced: bool = True,
        known: KnownLabels | None = None,
        given: Targets | None = None,
    ) -> None:
        self.groups, self.counts, self.setting, self.known, self.given = (
            groups,
            votes.counts,
            setting,
            known,
            given,
        )
        self.n_classes, self.model_weights = votes.n_classes, model_weights
        group_class = votes.models.group_class
        voting = np.flatnonzero((group_class >= 0) & (model_weights > 0)[votes.models.group_model])
        # Groups of classifiers, their weights and classes: of all votes to come, and of those that
        # occur here.
        self.all_voters = (
            voting,
            model_weights[votes.models.group_model[voting]],
            one_hot(group_class[voting], self.n_classes),
        )
        self.group_model = votes.models.group_model[groups.order].astype(
            smallest_uint(len(model_weights))
        )
        group_class = group_class[groups.order]
        weighty = (model_weights > 0)[self.group_model]
        self.voters = np.flatnonzero((group_class >= 0) & weighty)
        self.vote_weight = model_weights[self.group_model[self.voters]]
        self.vote_class = group_class[self.voters]
        self._find_live_groups(weighty)
        self._scale(balanced)
        self._anchor_rows()

    def _find_live_groups(self, weighty: Array) -> None:
        """Set the weight of each row's votes, and which groups have votes and take part."""
        groups = self.groups
        self.n_votes = groups.gather(self._of_voters(self.vote_weight))
        if self.given is not None:  # a row without votes may have a target too
            self.n_votes = np.where(
                self.given.proba.any(axis=1), np.where(self.n_votes > 0, self.n_votes, 1.0), 0.0
            )
        self.sizes = groups.scatter(self.counts)
        everywhere = bool((self.n_votes > 0).all())
        self.voted = (self.sizes if everywhere else groups.scatter(self.counts * self.n_votes)) > 0
        self.live = (self.sizes > 0) & weighty
        if (self.live & ~self.voted).any():
            labelled = (
                np.zeros(groups.n_rows, dtype=bool) if self.known is None else self.known.labelled
            )
            self.live &= reached_groups(groups, self.counts, self.live, self.voted, labelled)

    def _scale(self, balanced: bool) -> None:
        """Set the diagonals of K^m and K^c, and alpha c_j + 2 delta_j; arrays over groups are used again, there may be many."""
        sizes = self.__dict__.pop("sizes")
        self.is_scaled = True
        self.d = self._co_occurrence_diagonal(sizes)
        self.u = np.divide(self.w, sizes, out=sizes, where=self.live) if balanced else self.w
        self.u[~self.live] = 0.0
        rho = self.groups.gather(self.u)
        self.in_group = rho > 0
        self.inverse_rho = np.divide(1.0, rho, out=rho, where=self.in_group)
        self.total = self.groups.scatter(self.counts * self.inverse_rho)
        self.total *= self.u
        self.total *= self.setting.alpha
        self.total += 2 * self.delta

    def _co_occurrence_diagonal(self, sizes: Array) -> Array:
        """Return d, the diagonal of the doubly stochastic K^c."""
        if self.setting.beta == 0:
            return np.zeros(self.groups.n_rows)
        d, n_iter, change, y = co_occurrence_scaling(self.groups, self.w, self.counts, sizes)
        if y is not None:
            self.y = y
        self.is_scaled = change <= 1e-9
        if not self.is_scaled:
            warnings.warn(
                f"The scaling of K^c stopped after {n_iter} rounds with change {change:.1e}: it converges slowly when weights or "
                "sample weights differ by orders of magnitude.",
                stacklevel=6,
            )
        return d

    def _anchor_rows(self) -> None:
        """Set how hard each row is pulled to its target, and one over all that pulls it."""
        self.anchor = np.where(self.n_votes > 0, 2 * self.setting.gamma, 0.0)
        self.fixed = np.zeros(self.groups.n_rows, dtype=bool)
        if self.known is not None:
            self.fixed = self.known.labelled & self.known.fixed
            self.anchor[self.known.labelled] = 0.0 if self.known.fixed else self.known.pull
        total = self.row_total()
        self.share = np.divide(1.0, total, out=total, where=total > 0)
        self.share[self.fixed] = 0.0

    # ---- matrices --------------------------------------------------------------------------------

    @property
    def w(self) -> Array:
        """Return the weight of each group's model, 0 for groups that take no part."""
        weights = np.take(self.model_weights, self.group_model, mode="clip")  # which is quicker
        weights *= self.live
        return weights

    @cached_property
    def y(self) -> Array:
        """Return A' (s d)."""
        return self.groups.scatter(self.counts * self.d)

    @cached_property
    def inverse_votes(self) -> Array:
        """Return 1 over the weight of each row's votes, 0 where there are none."""
        return np.divide(1.0, self.n_votes, out=np.zeros_like(self.n_votes), where=self.n_votes > 0)

    @property
    def delta(self) -> Array:
        """Return delta_j: 0 where there is no Y^g_j."""
        return np.where(self.voted & self.live, self.setting.delta, 0.0)

    def row_total(self) -> Array:
        """Return alpha + 2 beta + 2 gamma_i, less what a row without groups or votes does not have."""
        return (self.setting.alpha + 2 * self.setting.beta) * self.in_group + self.anchor

    def _of_voters(self, values: Array) -> Array:
        """Return a table with one row per group: these values for the groups of classifiers, zeros for the others."""
        table = np.zeros((self.groups.n_groups, *values.shape[1:]))
        table[self.voters] = values
        return table

    # ---- targets ---------------------------------------------------------------------------------

    def vote_table(self) -> Array:
        """Return what a vote of each group adds to each class, groups x classes."""
        table = np.zeros((self.groups.n_groups, self.n_classes))
        table[self.voters, self.vote_class] = self.vote_weight
        return table

    def votes_for(self, z: int) -> Array:
        """Return the weight of the votes of each row for one class."""
        return self.groups.gather(self._of_voters(self.vote_weight * (self.vote_class == z)))

    @property
    def _few_groups(self) -> bool:
        """Return whether a table of groups and classes is no larger than one of rows and classes."""
        return self.groups.n_groups <= self.groups.n_rows

    @cached_property
    def targets(self) -> Array:
        """Return Y^o: the known label of each row, else its mean vote or what was given in its place."""
        if self.given is not None:
            target = self.given.proba.copy()
        else:
            by_class = (
                () if self._few_groups else [self.votes_for(z) for z in range(self.n_classes)]
            )
            target = normalised(
                np.stack(by_class, axis=1) if by_class else self.groups.gather(self.vote_table())
            )
        if self.known is not None:
            labelled = self.known.labelled
            target[labelled] = self.known.one_hot(self.n_classes)[labelled]
        return target

    @cached_property
    def mean_target(self) -> Array:
        """Return the mean of Y^o over the rows that have one."""
        voted = self.n_votes > 0
        sums = np.zeros(self.n_classes)
        if self.known is not None:
            labelled = self.known.labelled
            sums += np.bincount(
                self.known.codes[labelled], weights=self.counts[labelled], minlength=self.n_classes
            )
            voted &= ~labelled
        target = self.__dict__.get("targets") if self.given is None else self.given.proba
        if target is not None:
            sums += (self.counts * voted) @ target
        else:  # sums over the groups of classifiers, so that Y^o need not be there
            per_row = self.counts * self.inverse_votes * voted
            cast = self.groups.scatter(per_row)[self.voters] * self.vote_weight
            sums += np.bincount(self.vote_class, weights=cast, minlength=self.n_classes)
        return sums / sums.sum() if sums.any() else np.full(self.n_classes, 1 / self.n_classes)

    @cached_property
    def group_votes(self) -> Array:
        """Return Y^g, the share of the votes on a group's members that each class got. Known labels do not enter."""
        target = (
            self.given.proba
            if self.given is not None
            else self.targets
            if self.known is None
            else None
        )
        if target is not None and self._few_groups:
            sums = np.asfortranarray(
                self.groups.scatter((self.counts * self.n_votes)[:, None] * target)
            )
        else:
            sums = np.empty((self.groups.n_groups, self.n_classes), order="F")
            for z in range(self.n_classes):
                votes = self.votes_for(z) if target is None else target[:, z] * self.n_votes
                sums[:, z] = self.groups.scatter(self.counts * votes)
        totals = sum(sums.T, np.zeros(len(sums)))
        totals[totals <= 0] = 1.0
        sums /= totals[:, None]
        return sums

    def forget(self, *tables: str) -> None:
        """Free tables that are no longer needed; they would be made anew."""
        for name in tables:
            self.__dict__.pop(name, None)

    # ---- P itself, and the answers that follow from F^g and x ------------------------------------
    #
    # F^g and x follow from F^o, so both sums over pairs can be multiplied out: with sum_j K^m_ij =
    # sum_k s_k K^c_ik = 1
    #
    # alpha/2 sum_ij K^m_ij |F^o_i - F^g_j|^2 = alpha/2 sum_i s_i |F^o_i|^2 + sum_j (alpha/2 c_j
    # |F^g_j|^2 - alpha u_j (A' s/rho F^o)_j F^g_j)
    #     beta/2 sum_ik K^c_ik |F^o_i - F^o_k|^2  = beta (sum_i s_i |F^o_i|^2 - sum_j w_j |x_j|^2)

    def objective(self, object_proba: Array, group_proba: Array, companions: Array) -> float:
        """Return P where F^g and x follow from F^o."""
        return max(0.0, self.apart(object_proba, group_proba) - self.together(companions))

    def apart(self, object_proba: Array, group_proba: Array) -> float:
        """Return P without the products of F^o_i and F^o_k."""
        squares = tension = 0.0
        for rows in chunks(self.groups.n_rows):
            part = self.row_terms(
                rows, object_proba[rows], [(self.anchor[rows], self.targets[rows])]
            )
            squares, tension = squares + part[0], tension + part[1]
        return self.apart_from_sums(squares, tension, group_proba, self.group_votes)

    def row_terms(
        self, rows: slice, proba: Array, targets: list[tuple[Array, Array]]
    ) -> tuple[float, float]:
        """Return what some rows add to P: their squares, and their tension to targets that pull this hard."""
        counts = self.counts[rows]
        squares = float((counts * self.in_group[rows]) @ squared_norms(proba))
        tension = sum(
            float((counts * pull / 2) @ squared_norms(proba - target)) for pull, target in targets
        )
        return squares, tension

    def apart_from_sums(
        self, squares: float, tension: float, group_proba: Array, group_votes: Array
    ) -> float:
        """Return `apart` from the sums of `row_terms` over all rows, F^g and Y^g."""
        alpha, beta, _, delta = self.setting
        to_groups: Any = alpha / 2 * squares
        from_votes: Any = 0.0
        for part in chunks(self.groups.n_groups):
            tied = (self.voted & self.live)[part]
            own, vote = group_proba[part] * self.live[part, None], group_votes[part] * tied[:, None]
            square, between = squared_norms(own), np.einsum("jz,jz->", own, vote)
            # alpha c_j = total_j - 2 delta_j, and alpha u_j (A' s/rho F^o)_j = total_j F^g_j - 2
            # delta_j Y^g_j
            to_groups += (
                2 * delta * between - delta * (square @ tied) - self.total[part] @ square / 2
            )
            from_votes += delta * (square @ tied - 2 * between + np.einsum("jz,jz->", vote, vote))
        return float((to_groups if alpha else 0.0) + beta * squares + tension + from_votes)

    def together(self, companions: Array) -> float:
        """Return beta sum_ik s_i s_k K^c_ik F^o_i F^o_k."""
        w = self.w
        norms = sum(
            w[part] @ squared_norms(companions[part]) for part in chunks(self.groups.n_groups)
        )
        return self.setting.beta * float(norms)

    def rule(self, group_proba: Array, companions: Array, in_place: bool = False) -> GroupRule:
        """Return how an object's answer follows from its groups, for these rows and for new ones.

        `in_place` overwrites `companions`, which may be large.
        """
        order, (alpha, beta, gamma, _) = self.groups.order, self.setting
        live = slice(None) if self.live.all() else np.flatnonzero(self.live)
        y = self.y[live]
        per_member = companions[live]
        per_member = np.divide(
            per_member, np.where(y > 0, y, 1.0)[:, None], out=per_member if in_place else None
        )
        np.maximum(per_member, 0.0, out=per_member)  # rounding may leave -1e-17
        weight = self.w[live]
        weight *= y
        terms = (
            Term(GROUPS, alpha, order[live], self.u[live], group_proba[live]),
            Term(COMPANIONS, 2 * beta, order[live], weight, per_member),
            Term(VOTES, 2 * gamma, *self.all_voters),
        )
        towards = None if self.given is None else (2 * gamma, self.given.rule)
        pulling = tuple(
            term for term in terms if term.pull > 0 and not (towards and term.name == VOTES)
        )
        return GroupRule(pulling, self.mean_target, towards=towards)
