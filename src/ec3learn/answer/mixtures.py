"""Rules that are no plain mean: subtypes of objects, precisions per class, logarithms of votes, and a panel of several rules.

Each gathers one table over an object's groups, like the rules in `rule`, and makes the answer from
the sums.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse
from scipy.special import softmax

from .._typing import Array
from ..algebra.linear import normalised
from ..algebra.membership import Membership, membership_of, places_in
from ..votes import Prior
from ..votes.prior import log_shares
from .rule import NOBODY, OWN, PRIOR, VOTES, Answers, Contributions, KnownLabels, Row, Rule, log_of

SUBTYPES, REST = "subtypes", "all else"
DOUBT = 0.1  # the share of equal probabilities in a pooled vote, lest one that is sure and wrong decides


@dataclass(frozen=True, eq=False)
class SumRule(Rule):
    """What rules share that make an answer from sums over groups: `groups` are numbers, with one row of `table` each."""

    groups: Array
    table: Array
    fallback: Array  # the answer for an object that none of the groups reaches

    @abstractmethod
    def finish(self, sums: Array, n_votes: Array, prior: Prior | None) -> Array:
        """Return the class probabilities of some rows from the sums of the table over their groups, and how many those are."""

    def answers(self, groups: Membership, known: KnownLabels | None = None) -> Answers:
        """Return the class probabilities and which rows no group reaches, some rows at a time."""
        groups, width = self.own_form(groups), self.table.shape[1]
        at = places_in(groups, self.groups)
        table = np.zeros(
            (groups.n_groups, width + 1)
        )  # the last column counts the groups that take part
        table[at[at >= 0], :width] = self.table[at >= 0]
        table[at[at >= 0], width] = 1.0
        for rows, sums in groups.gather_parts(table):
            unanswered = sums[:, width] <= 0
            prior = None if groups.prior is None else groups.prior.take(rows)
            if prior is not None:
                unanswered &= ~prior.given
            proba = self.finish(sums[:, :width], sums[:, width], prior)
            proba[unanswered] = self.fallback
            if known is not None:
                known.overwrite(proba, unanswered, rows)
            yield rows, proba, unanswered

    def parts(self, row: Row) -> Contributions:
        """Return what each (base model, term) gave to the classes of one object; the fallback where nothing reaches it."""
        places, shares = row.shares_of(self.groups, self.hard_votes)
        if len(places) or (row.prior is not None and row.prior.given[0]):
            return self.parts_of_reached(
                row, self.groups[places], shares[:, None] * self.table[places]
            )
        logs = log_of(self.fallback)
        return {
            (NOBODY, PRIOR): logs - logs.mean() if self.unit == "log evidence" else self.fallback
        }

    @abstractmethod
    def parts_of_reached(self, row: Row, groups: Array, given: Array) -> Contributions:
        """Return the same for an object with votes or a prior, from its groups and their rows of the table times its shares."""


@dataclass(frozen=True, eq=False)
class SubtypeRule(SumRule):
    """Evidence for each class and subtype adds up, and the subtypes of a class are summed: z_k ~ sum_m exp(prior + evidence).

    With one subtype per class that is the rule of Dawid and Skene: ln z_k = prior_k + sum_j ln
    P(vote of j | k), normalised. Voters whose errors correlate repeat each other: with n votes the
    answer is tempered, z_k^(1/T), T = 1 + (n - 1) correlation.
    """

    prior: Array  # classes x subtypes, flattened, logarithms
    correlation: float = 0.0
    hard_votes: bool = False

    unit: ClassVar[str] = "log evidence"

    def finish(self, sums: Array, n_votes: Array, prior: Prior | None) -> Array:
        """Return the posterior."""
        joint = np.ascontiguousarray(sums.T)  # few long rows are quicker than many short ones
        joint += self.prior[:, None]
        if prior is not None:
            joint += np.repeat(prior.evidence.T, len(joint) // len(self.fallback), axis=0)
        joint -= joint.max(
            axis=0
        )  # so that exp does not overflow; it cancels when the classes are normalised
        np.exp(joint, out=joint)
        proba = joint.reshape(len(self.fallback), -1, len(sums)).sum(axis=1)
        if self.correlation > 0:
            proba = tempered(proba, n_votes, self.correlation)
        return np.ascontiguousarray((proba / proba.sum(axis=0)).T)

    def parts_of_reached(self, row: Row, groups: Array, given: Array) -> Contributions:
        """Return the evidence for each class of the prior and of each base model, averaged over subtypes.

        ln sum_m exp(x_m) = sum_m r_m x_m + H(r), with r the shares of the subtypes and H their
        entropy. So the contributions, with H as the one of the subtypes, add up to the logarithms
        of the class probabilities, less their mean.
        """
        n_classes = len(self.fallback)
        total = self.prior + given.sum(axis=0)
        if row.prior is not None:
            total = total + np.repeat(row.prior.evidence[0], len(total) // n_classes)
        shares = softmax(total.reshape(n_classes, -1), axis=1)  # r
        averaged = (shares * given.reshape(-1, *shares.shape)).sum(axis=2)
        found = {(NOBODY, PRIOR): (shares * self.prior.reshape(n_classes, -1)).sum(axis=1)}
        found |= row.by_owner(groups, averaged, VOTES)
        if row.prior is not None:
            found[NOBODY, OWN] = row.prior.evidence[0]
        if shares.shape[1] > 1:
            found[NOBODY, SUBTYPES] = -(shares * log_of(shares)).sum(axis=1)
        heat = heat_of(row.shares_of(self.groups, self.hard_votes)[1].sum(), self.correlation)
        return {key: (part - part.mean()) / heat for key, part in found.items()}


def heat_of(n_votes: Array, correlation: float) -> Array:
    """Return T = 1 + (n - 1) correlation: how many votes out of n say what one has said."""
    return 1 + np.maximum(n_votes - 1, 0.0) * correlation


def tempered(by_class: Array, n_votes: Array, correlation: float) -> Array:
    """Return probabilities, classes x rows, made less sure by how many votes say what one has said; they do not sum to 1."""
    return np.exp(log_of(by_class) / heat_of(n_votes, correlation))


@dataclass(frozen=True, eq=False)
class PrecisionRule(SumRule):
    """A mean per class in which each voter has a precision, then normalised: z_k ~ (own_k + sum v y_k) / (ballast + sum v).

    The table has the precisions times what the group says in its first half, and the precisions in
    its second.
    """

    own: Array  # what the ballast says, one number per class
    ballast: float
    prior_precision: Array | None = (
        None  # of a row's own prior, which is one voter more; one number per class
    )

    def finish(self, sums: Array, n_votes: Array, prior: Prior | None) -> Array:
        """Return the normalised means."""
        return normalised(np.maximum(self.means(sums, prior), 1e-12))

    def means(self, sums: Array, prior: Prior | None) -> Array:
        """Return the mean of each class alone."""
        n_classes = len(self.fallback)
        said, total = (
            self.ballast * self.own + sums[:, :n_classes],
            self.ballast + sums[:, n_classes:],
        )
        if prior is not None and self.prior_precision is not None:
            precision = prior.given[:, None] * self.prior_precision
            said, total = said + precision * prior.trusted, total + precision
        return np.asarray(said / total)

    def parts_of_reached(self, row: Row, groups: Array, given: Array) -> Contributions:
        """Return what the ballast and each base model gave to each class; they add up to the class probabilities."""
        n_classes = len(self.fallback)
        sums, of_prior = given.sum(axis=0), np.zeros(n_classes)
        if row.prior is not None and self.prior_precision is not None:
            pull = row.prior.given[0] * self.prior_precision
            of_prior = pull * row.prior.trusted[0]
            sums = sums + np.concatenate([of_prior, pull])
        # z_k = said_k / total_k / norm: each part of said_k is divided by the same two numbers, so
        # the parts add up to z_k.
        scale = 1 / (self.ballast + sums[n_classes:])
        scale /= ((self.ballast * self.own + sums[:n_classes]) * scale).sum()
        found = {(NOBODY, PRIOR): self.ballast * self.own * scale}
        found |= row.by_owner(groups, given[:, :n_classes] * scale, VOTES)
        return found if row.prior is None else {**found, (NOBODY, OWN): of_prior * scale}


def doubted_logs(shares: Array) -> Array:
    """Return the logarithms of votes, ... x classes, a little less sure than they are; 0 where there is no vote."""
    doubted = (1 - DOUBT) * shares + DOUBT / shares.shape[-1]
    return np.where(shares.any(axis=-1, keepdims=True), np.log(doubted), 0.0)


@dataclass(frozen=True, eq=False)
class LogPoolRule(SumRule):
    """A pool of logarithms: ln z_k = prior_k + sum_j weight_j ln y_jk, for what voter j gives to class k, doubted.

    The table has a column for each voter and class, with a 1 for the group by which the voter says
    so: its sums are the y_jk. The prior is that of the fallback.
    """

    voter_weights: Array

    unit: ClassVar[str] = "log evidence"

    def finish(self, sums: Array, n_votes: Array, prior: Prior | None) -> Array:
        """Return the pooled answer."""
        evidence = log_of(self.fallback) + self._pooled(sums).sum(axis=1)
        return softmax(evidence if prior is None else evidence + prior.evidence, axis=1)

    def _pooled(self, sums: Array) -> Array:
        """Return what each voter adds to the logarithms, rows x voters x classes; 0 where it did not vote."""
        shares = sums.reshape(len(sums), len(self.voter_weights), len(self.fallback))
        return self.voter_weights[:, None] * doubted_logs(shares)

    def parts_of_reached(self, row: Row, groups: Array, given: Array) -> Contributions:
        """Return the evidence for each class, less its mean over classes, of the prior and of each base model."""
        found: Contributions = {(NOBODY, PRIOR): log_of(self.fallback)}
        pooled = self._pooled(given.sum(axis=0, keepdims=True))[0]
        for group, voter in zip(groups, given.argmax(axis=1) // len(self.fallback), strict=True):
            found[int(row.owner[group]), VOTES] = pooled[voter]
        if row.prior is not None:
            found[NOBODY, OWN] = row.prior.evidence[0]
        return {key: part - part.mean() for key, part in found.items()}


@dataclass(frozen=True, eq=False)
class PanelRule(Rule):
    """The mean of several rules' answers, by name; where none is reached, the fallback."""

    members: tuple[tuple[str, Rule], ...]
    fallback: Array
    shares: Array | None = None  # what each member counts; None: all alike

    unit: ClassVar[str] = "change of probability"

    @property
    def asked(self) -> tuple[Rule, ...]:
        """Return the members' rules."""
        return tuple(rule for _, rule in self.members)

    def answers(self, groups: Membership, known: KnownLabels | None = None) -> Answers:
        """Return the class probabilities and which rows no member answers, some rows at a time."""
        for parts in zip(*(rule.answers(groups, known) for rule in self.asked), strict=True):
            unanswered = np.logical_and.reduce([part[2] for part in parts])
            proba = np.average([part[1] for part in parts], axis=0, weights=self.shares)
            proba[unanswered] = self.fallback
            yield parts[0][0], proba, unanswered

    def parts(self, row: Row) -> Contributions:
        """Return by how much each base model moves the answer."""
        return moves_of_each(self, row)


@dataclass(frozen=True, eq=False)
class RegressionRule(Rule):
    """Another rule's answer z, corrected: ln P_k = offset_k + slope ln z_k + what each group of the object adds to class k."""

    base: Rule
    fallback: Array
    offsets: Array
    slope: float
    groups: Array
    table: Array  # one row per group

    unit: ClassVar[str] = "change of probability"

    @property
    def asked(self) -> tuple[Rule, ...]:
        """Return the rule that is corrected."""
        return (self.base,)

    def answers(self, groups: Membership, known: KnownLabels | None = None) -> Answers:
        """Return the class probabilities and which rows the other rule does not answer, some rows at a time."""
        for (rows, before, unanswered), (_, added) in zip(
            self.base.answers(groups), self.added(groups), strict=True
        ):
            proba = self.finish(before, unanswered, added)
            if known is not None:
                known.overwrite(proba, unanswered, rows)
            yield rows, proba, unanswered

    def added(self, groups: Membership) -> Iterator[tuple[slice, Array]]:
        """Return what the groups of some rows add to each class, some rows at a time."""
        at = places_in(groups, self.groups)
        table = np.zeros((groups.n_groups, len(self.fallback)))
        table[at[at >= 0]] = self.table[at >= 0]
        return groups.gather_parts(table)

    def finish(self, before: Array, unanswered: Array, added: Array) -> Array:
        """Return the class probabilities of some rows from those of the other rule."""
        proba = softmax(self.offsets + self.slope * log_shares(before) + added, axis=1)
        proba[unanswered] = self.fallback
        return proba

    def parts(self, row: Row) -> Contributions:
        """Return by how much each base model moves the answer."""
        return moves_of_each(self, row)


def moves_of_each(rule: Rule, row: Row) -> Contributions:
    """Return by how much each base model moves the answer: the answer less that without its vote; and what is left over."""
    # The row as it is, and under it once more for each base model that voted, without that vote:
    # all are answered in one go.
    models = np.unique(row.owner[row.entries.indices]).tolist()

    def with_each_left_out(one: sparse.csr_array) -> sparse.csr_array:
        left = [_without(one, row.owner[one.indices] == m) for m in models]
        return sparse.csr_array(sparse.vstack([one, *left], format="csr"))

    prior = None if row.prior is None else row.prior.take(np.zeros(1 + len(models), dtype=np.int64))
    hard = None if row.hard is None else with_each_left_out(row.hard)
    (answer, *without), _ = rule.all_answers(
        membership_of(with_each_left_out(row.entries), hard, prior)
    )
    found: Contributions = {
        (m, VOTES): answer - other for m, other in zip(models, without, strict=True)
    }
    return {**found, (NOBODY, REST): answer - sum(found.values(), np.zeros(len(rule.fallback)))}


def _without(one: sparse.csr_array, left_out: Array) -> sparse.csr_array:
    """Return one row without some of its entries."""
    kept = ~left_out
    return sparse.csr_array(
        (one.data[kept], one.indices[kept], np.array([0, int(kept.sum())])), shape=one.shape
    )
