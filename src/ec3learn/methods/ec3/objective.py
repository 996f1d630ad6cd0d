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
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from ..._typing import Array
from ...algebra.membership import Membership, chunks, normalised, reached_groups, squared_norms
from ...algebra.scaling import co_occurrence_scaling, inverse
from ...answer.rule import COMPANIONS, GROUPS, VOTES, GroupRule, KnownLabels, Term, one_hot
from ...answer.solution import Answer
from ...votes import Votes

Setting = tuple[float, float, float, float]  # alpha, beta, gamma, delta


class Coupling(NamedTuple):
    """What ties rows to an unknown X of the groups, F^g or x.

    The gradient is zero where total X = g A' (s f F^o) + pull, and F^o_i gets f_i (A g X)_i.
    """

    f: Array
    g: Array
    total: Array
    pull: Array


@dataclass
class Minimum:
    """Where a route ended: F^o, F^g and x = A' (s d F^o), and how it went."""

    object_proba: Array
    group_proba: Array
    companions: Array
    n_iter: int = 0
    converged: bool = True
    history: list[float] = field(default_factory=list)  # P before each round of the paper's loop
    changes: list[float] = field(default_factory=list)  # of F^o in each of them


class Problem:
    """P: the diagonals of K^m and K^c, and the targets Y^o and Y^g.

    `groups` is A^m of the groups that take part: those with weight and members that a vote or a
    known label reaches, by their places `live` among `all_groups`. Of each of them `w`, `u`, `c`,
    `y` (A' (s d)), `voted` and `group_votes` (Y^g) are kept; of each row `inverse_rho`, `d`,
    `targets` (Y^o), `anchor` (2 gamma_i) and `share` (1 / (alpha + 2 beta + 2 gamma_i), 0 where F^o
    is `fixed` or nothing reaches it). The last two depend on a row's `kind` alone: whether it has
    votes, a known label and groups.

    `model_weights` include the weights of the votes. Known labels take the place of votes, and
    another method's answer (`goal`) that of the mean votes.
    """

    def __init__(
        self,
        votes: Votes,
        groups: Membership,
        model_weights: Array,
        setting: Setting,
        balanced: bool = True,
        known: KnownLabels | None = None,
        goal: Answer | None = None,
    ) -> None:
        self.counts, self.known, self.goal = votes.counts, known, goal
        self.n_classes = votes.n_classes
        self.labelled = np.zeros(votes.n_rows, dtype=bool) if known is None else known.labelled
        self.fixed = self.labelled & (known is not None and known.fixed)
        self._find_targets(votes, groups, model_weights)
        self._find_live_groups(groups, model_weights[votes.models.group_model[groups.order]])
        self._scale(balanced, setting[1] > 0)
        in_group = self.inverse_rho > 0
        self.kind = (self.n_votes > 0) + 2 * self.labelled + 4 * in_group
        self.pull(setting)

    def _find_targets(self, votes: Votes, groups: Membership, model_weights: Array) -> None:
        """Set Y^o, known labels aside, and the weight of each row's votes."""
        classes, weights = votes.models.group_class, model_weights[votes.models.group_model]
        voting = np.flatnonzero((classes >= 0) & (weights > 0))
        named = one_hot(classes[voting], self.n_classes)
        self.voters = Term(VOTES, 0.0, voting, weights[voting], named)
        # A table of groups and classes may be larger than one of rows and classes.
        table = self.voters.table_for(groups, groups.n_groups <= groups.n_rows)
        n_rows, n_classes = groups.n_rows, self.n_classes
        self.n_votes, self.targets = np.empty(n_rows), np.empty((n_rows, n_classes))
        for rows, cast in groups.gather_parts(table):
            self.n_votes[rows], self.targets[rows] = cast[:, 0], normalised(cast[:, 1:])
        if self.goal is not None:  # which may have an answer for a row without votes
            self.targets = np.where(self.goal.unanswered[:, None], 0.0, self.goal.proba)
            n_votes = np.where(self.n_votes > 0, self.n_votes, 1.0)
            self.n_votes = np.where(self.targets.any(axis=1), n_votes, 0.0)

    def _find_live_groups(self, groups: Membership, weights: Array) -> None:
        """Set which groups take part, and their Y^g; then let known labels enter Y^o."""
        sizes, cast = groups.scatter(self.counts), self.counts * self.n_votes
        voted = groups.scatter(cast) > 0
        live = (sizes > 0) & (weights > 0)
        if (live & ~voted).any():
            live &= reached_groups(groups, self.counts, live, voted, self.labelled)
        self.live, self.all_groups = np.flatnonzero(live), groups
        self.groups = groups if live.all() else groups.only(self.live)
        self.w, self.sizes, self.voted = weights[live], sizes[live], voted[live]
        self.group_votes = normalised(*self.groups.scatter_weighted([cast], self.targets))
        if self.known is not None:
            labels = self.known.one_hot(self.n_classes)
            self.targets[self.labelled] = labels[self.labelled]
        mean = self.counts @ self.targets
        self.mean_target = normalised(mean if mean.any() else np.ones(self.n_classes))

    def _scale(self, balanced: bool, coupled: bool) -> None:
        """Set the diagonals of K^m, and those of K^c if objects are `coupled` by it."""
        groups, self.is_scaled = self.groups, True
        self.u = self.w / self.sizes if balanced else self.w
        self.inverse_rho = inverse(groups.gather(self.u))
        self.c = self.u * groups.scatter(self.counts * self.inverse_rho)
        self.d = np.zeros(groups.n_rows)
        if coupled:
            self.d, n_iter, change = co_occurrence_scaling(groups, self.w, self.counts, self.sizes)
            self.is_scaled = change <= 1e-9
            if not self.is_scaled:
                warnings.warn(
                    f"The scaling of K^c stopped after {n_iter} rounds with change {change:.1e}: "
                    "it converges slowly when weights or sample weights differ by orders of "
                    "magnitude.",
                    stacklevel=6,
                )
        self.y = groups.scatter(self.counts * self.d)

    def pull(self, setting: Setting) -> None:
        """Set what depends on the weights of the terms.

        Alpha couples rows with F^g and beta with x, if they pull at all.
        """
        self.setting = alpha, beta, gamma, delta = setting
        voted, labelled, in_group = (np.arange(8) >> bit & 1 for bit in range(3))
        fixed = (labelled > 0) & (self.known is not None and self.known.fixed)
        held = 0.0 if self.known is None or self.known.fixed else self.known.pull
        anchor = np.where(labelled, held, 2 * gamma * voted)
        total = (alpha + 2 * beta) * in_group + anchor
        share = np.where(fixed, 0.0, inverse(total))
        # The F^o of a fixed row is its label, whatever the shares.
        pulled = np.where(fixed, 1.0, anchor * share)
        self.by_kind = np.stack([anchor, total, share, pulled])
        self.anchor, self.row_total, self.share, self.pulled = self.by_kind[:, self.kind]
        self.couplings = {}
        if alpha > 0:
            to_votes = 2 * delta * self.voted
            pull, total = to_votes[:, None] * self.group_votes, alpha * self.c + to_votes
            self.couplings[GROUPS] = Coupling(self.inverse_rho, alpha * self.u, total, pull)
        if beta > 0:
            g, pull = 2 * beta * self.w, np.broadcast_to(0.0, self.group_votes.shape)
            self.couplings[COMPANIONS] = Coupling(self.d, g, g, pull)

    def only_rows(self, rows: Array) -> Problem:
        """The same problem where only the answers of some rows are asked for."""
        part = copy(self)
        for name in ("counts", "targets", "kind", "fixed", "inverse_rho", "d"):
            setattr(part, name, getattr(self, name)[rows])
        part.groups = Membership(self.groups.matrix[rows], self.groups.order)
        return part

    @property
    def unanswered(self) -> Array:
        """Which rows nothing reaches."""
        return (self.share <= 0) & ~self.fixed

    # ---- each side, given the other --------------------------------------------------------------

    def update_objects(self, unknowns: Mapping[str, Array]) -> Array:
        """F^o given F^g and x: the weighted mean of an object's groups, companions and target."""
        proba = self.pulled[:, None] * self.targets
        for x, one in self.couplings.items():
            self.groups.add_gathered(one.g[:, None] * unknowns[x], self.share * one.f, proba)
        return proba

    def update_groups(self, proba: Array) -> dict[str, Array]:
        """F^g and x given F^o; F^g is each group's weighted mean of its members and its target."""
        couplings = self.couplings.values()
        sums = self.groups.scatter_weighted([self.counts * one.f for one in couplings], proba)
        return {
            x: (one.g[:, None] * own + one.pull) / one.total[:, None]
            for (x, one), own in zip(self.couplings.items(), sums, strict=True)
        }

    def minimum(self, proba: Array, unknowns: Mapping[str, Array]) -> Minimum:
        """F^o with F^g and x; what no coupling asks for is Y^g, and 0."""
        group_proba = unknowns.get(GROUPS, self.group_votes)
        companions = unknowns.get(COMPANIONS, np.zeros_like(self.group_votes))
        return Minimum(proba, group_proba, companions)

    # ---- P itself, and the answers that follow from F^g and x ------------------------------------

    def terms(self, minimum: Minimum) -> Array:
        """The four terms of P where F^g and x follow from F^o.

        Both sums over pairs are multiplied out: with sum_j K^m_ij = sum_k s_k K^c_ik = 1,

            alpha/2 sum_ij K^m_ij |F^o_i - F^g_j|^2
                = alpha/2 (sum_i s_i |F^o_i|^2 + sum_j c_j |F^g_j|^2)
                  - alpha sum_j u_j (A' s/rho F^o)_j F^g_j
            beta/2 sum_ik K^c_ik |F^o_i - F^o_k|^2
                = beta (sum_i s_i |F^o_i|^2 - sum_j w_j |x_j|^2)

        and alpha u_j (A' s/rho F^o)_j = total_j F^g_j - 2 delta_j Y^g_j.
        """
        alpha, beta, _, delta = self.setting
        squares = tension = 0.0
        in_group = self.inverse_rho > 0
        for rows in chunks(self.groups.n_rows):
            proba, counts = minimum.object_proba[rows], self.counts[rows]
            squares += float((counts * in_group[rows]) @ squared_norms(proba))
            gaps = proba - self.targets[rows]
            tension += float((counts * self.anchor[rows] / 2) @ squared_norms(gaps))
        group_proba, tied = minimum.group_proba, delta * self.voted
        norms, gaps = squared_norms(group_proba), group_proba - self.group_votes
        total = alpha * self.c + 2 * tied
        crossed = total @ norms - 2 * tied @ np.einsum("jz,jz->j", group_proba, self.group_votes)
        to_groups = alpha / 2 * (squares + self.c @ norms) - crossed if alpha > 0 else 0.0
        together = self.w @ squared_norms(minimum.companions)
        to_votes = tied @ squared_norms(gaps)
        terms = np.array([to_groups, beta * (squares - together), tension, to_votes])
        return np.maximum(terms, 0.0)

    def rule(self, minimum: Minimum) -> GroupRule:
        """How an object's answer follows from its groups, for these rows and for new ones."""
        alpha, beta, gamma, _ = self.setting
        order, y = self.groups.order, self.y[:, None]
        # Rounding may leave -1e-17.
        per_member = np.maximum(minimum.companions / np.where(y > 0, y, 1.0), 0.0)
        terms = [
            Term(GROUPS, alpha, order, self.u, np.maximum(minimum.group_proba, 0.0)),
            Term(COMPANIONS, 2 * beta, order, self.w * self.y, per_member),
        ]
        if self.goal is None:
            terms.append(replace(self.voters, pull=2 * gamma))
        pulling = tuple(term for term in terms if term.pull > 0)
        towards = None if self.goal is None else (2 * gamma, self.goal.rule)
        return GroupRule(pulling, self.mean_target, towards=towards)
