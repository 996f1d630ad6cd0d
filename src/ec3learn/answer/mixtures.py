"""Rules that are no plain mean: subtypes, precisions per class, logarithms, and rules of rules.

Most gather one table over an object's groups, like the rules in `rule`, and make the answer from
the sums.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import softmax

from .._typing import Array
from ..algebra.membership import Membership, normalised
from ..votes import Prior
from ..votes.shares import log_shares
from .rule import KnownLabels, Rule, log_of, spread

# The share of equal probabilities in a pooled vote, lest one that is sure and wrong decides.
DOUBT = 0.1


@dataclass(frozen=True, eq=False)
class SumRule(Rule):
    """Answers from sums over groups: each of the `groups` has a row of `table`."""

    groups: Array
    table: Array
    fallback: Array  # the answer for an object that none of the groups reaches

    @abstractmethod
    def finish(self, sums: Array, n_votes: Array, prior: Prior | None) -> Array:
        """The class probabilities of some rows, from sums of the table over so many groups."""

    def answers(self, groups: Membership, known: KnownLabels | None = None) -> tuple[Array, Array]:
        """The class probabilities of each row, and which rows no group reaches."""
        groups = self.own_form(groups)
        proba = np.empty((groups.n_rows, len(self.fallback)))
        unanswered = np.empty(groups.n_rows, dtype=bool)
        counted = np.hstack([self.table, np.ones((len(self.groups), 1))])
        for rows, sums in groups.gather_parts(spread(groups, self.groups, counted)):
            n_votes, prior = sums[:, -1], None
            unanswered[rows] = n_votes <= 0
            if groups.prior is not None:
                prior = groups.prior.take(rows)
                unanswered[rows] &= ~prior.given
            proba[rows] = self.finish(sums[:, :-1], n_votes, prior)
        return self.with_known(proba, unanswered, known)


@dataclass(frozen=True, eq=False)
class SubtypeRule(SumRule):
    """Evidence adds up per class and subtype, then subtypes: z_k ~ sum_m exp(prior + evidence).

    With one subtype per class that is the rule of Dawid and Skene: ln z_k = prior_k + sum_j ln
    P(vote of j | k), normalised. Voters whose errors correlate repeat each other: with n votes the
    answer is tempered, z_k^(1/T), T = 1 + (n - 1) correlation.
    """

    prior: Array  # classes x subtypes, flattened, logarithms
    correlation: float = 0.0
    hard_votes: bool = False

    unit: ClassVar[str] = "log evidence"

    def finish(self, sums: Array, n_votes: Array, prior: Prior | None) -> Array:
        """The posterior."""
        joint = np.ascontiguousarray(sums.T)  # class-major for speed
        joint += self.prior[:, None]
        joint -= joint.max(axis=0)  # so that exp does not overflow
        np.exp(joint, out=joint)
        proba = joint.reshape(len(self.fallback), -1, len(sums)).sum(axis=1)
        if self.correlation > 0:
            heat = 1 + np.maximum(n_votes - 1, 0.0) * self.correlation
            proba = np.exp(log_of(proba) / heat)
        if prior is not None:  # it does not repeat the votes
            proba = np.exp(log_of(proba) + prior.evidence.T)
        return np.ascontiguousarray((proba / proba.sum(axis=0)).T)


@dataclass(frozen=True, eq=False)
class PrecisionRule(SumRule):
    """A mean per class, voters weighed by precision: z_k ~ (own_k + sum v y_k) / (ballast + sum v).

    The table has the precisions times what the group says in its first half, and the precisions in
    its second.
    """

    own: Array  # what the ballast says, one number per class
    ballast: float
    # Of a row's own prior, as one voter more; None: it is evidence beside the mean.
    prior_precision: Array | None = None

    def finish(self, sums: Array, n_votes: Array, prior: Prior | None) -> Array:
        """The normalised means."""
        means = np.maximum(self.means(sums, prior), 1e-12)
        if prior is not None and self.prior_precision is None:
            means = means * np.exp(prior.evidence)
        return normalised(means)

    def means(self, sums: Array, prior: Prior | None) -> Array:
        """The mean of each class alone."""
        weighted, total = np.hsplit(sums, 2)
        weighted, total = self.ballast * self.own + weighted, self.ballast + total
        if prior is not None and self.prior_precision is not None:
            precision = prior.given[:, None] * self.prior_precision
            weighted, total = weighted + precision * prior.trusted, total + precision
        return np.asarray(weighted / total)


def doubted_logs(shares: Array) -> Array:
    """The logarithms of votes, ... x classes, a little less sure than they are; 0 for no vote."""
    doubted = (1 - DOUBT) * shares + DOUBT / shares.shape[-1]
    return np.where(shares.any(axis=-1, keepdims=True), np.log(doubted), 0.0)


def centred_logs(sums: Array, n_classes: int) -> Array:
    """The same for rows of votes, voters x classes side by side, about their mean over classes."""
    logs = doubted_logs(sums.reshape(len(sums), -1, n_classes))
    return (logs - logs.mean(axis=2, keepdims=True)).reshape(sums.shape)


@dataclass(frozen=True, eq=False)
class LogPoolRule(SumRule):
    """A pool of logarithms: ln z_k = prior_k + sum_j weight_j ln y_jk.

    y_jk is what voter j gives to class k, doubted.

    The table has a column for each voter and class, with a 1 for the group by which the voter says
    so: its sums are the y_jk. The prior is that of the fallback.
    """

    voter_weights: Array

    unit: ClassVar[str] = "log evidence"

    def finish(self, sums: Array, n_votes: Array, prior: Prior | None) -> Array:
        """The pooled answer."""
        shares = sums.reshape(len(sums), len(self.voter_weights), len(self.fallback))
        pooled = self.voter_weights[:, None] * doubted_logs(shares)
        evidence = log_of(self.fallback) + pooled.sum(axis=1)
        return softmax(evidence if prior is None else evidence + prior.evidence, axis=1)


@dataclass(frozen=True, eq=False)
class PanelRule(Rule):
    """The mean of several rules' answers, by name; where none is reached, the fallback."""

    members: tuple[tuple[str, Rule], ...]
    fallback: Array
    shares: Array | None = None  # what each member counts; None: all alike

    @property
    def asked(self) -> tuple[Rule, ...]:
        """The members' rules."""
        return tuple(rule for _, rule in self.members)

    def answers(self, groups: Membership, known: KnownLabels | None = None) -> tuple[Array, Array]:
        """The class probabilities of each row, and which rows no member answers."""
        proba = np.empty((groups.n_rows, len(self.fallback)))
        unanswered = np.empty(groups.n_rows, dtype=bool)
        for rows, part in groups.parts():
            answers = self.answers_of_asked(part)
            proba[rows] = mean_of([answer for answer, _ in answers], self.shares)
            unanswered[rows] = np.all([nothing for _, nothing in answers], axis=0)
        return self.with_known(proba, unanswered, known)


def mean_of(tables: Sequence[Array], shares: Array | None) -> Array:
    """The mean of tables, each by its share; None: all alike."""
    each = np.full(len(tables), 1 / len(tables)) if shares is None else normalised(shares)
    mean = each[0] * tables[0]
    for share, table in zip(each[1:], tables[1:], strict=True):
        mean += share * table
    return mean


@dataclass(frozen=True, eq=False)
class RegressionRule(Rule):
    """Another rule's answer z, corrected: ln P_k = offset_k + slope ln z_k + sum_g table_gk.

    The table of `soft` groups, those of voters who give probabilities, is for the logarithms.
    """

    base: Rule
    fallback: Array
    offsets: Array
    slope: float
    groups: Array
    table: Array  # one row per group
    soft: Array

    @property
    def asked(self) -> tuple[Rule, ...]:
        """The rule that is corrected."""
        return (self.base,)

    def answers(self, groups: Membership, known: KnownLabels | None = None) -> tuple[Array, Array]:
        """The class probabilities of each row, and which rows the other rule does not answer."""
        proba, unanswered = self.base.answers(groups)
        for rows, added in self.added(groups):
            proba[rows] = self.finish(proba[rows], unanswered[rows], added)
        return self.with_known(proba, unanswered, known)

    def added(self, groups: Membership) -> Iterator[tuple[slice, Array]]:
        """What the groups of some rows add to each class, some rows at a time."""
        n_classes, labels = len(self.fallback), self.table.copy()
        labels[self.soft], own = 0.0, np.zeros((len(self.groups), len(self.soft)))
        own[self.soft, np.arange(len(self.soft))] = 1.0
        for rows, sums in groups.gather_parts(
            spread(groups, self.groups, np.hstack([labels, own]))
        ):
            logs = centred_logs(sums[:, n_classes:], n_classes)
            yield rows, sums[:, :n_classes] + logs @ self.table[self.soft]

    def finish(self, before: Array, unanswered: Array, added: Array) -> Array:
        """The class probabilities of some rows from those of the other rule."""
        proba = softmax(self.offsets + self.slope * log_shares(before) + added, axis=1)
        proba[unanswered] = self.fallback
        return proba
