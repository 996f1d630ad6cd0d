"""Rules that are no plain mean: subtypes of objects, precisions per class, logarithms of votes, and a panel of several rules.

Each gathers one table over an object's groups, like the rules in `rule`, and makes the answer from the sums.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.special import softmax

from .._typing import Array
from ..algebra.linear import normalised
from ..algebra.membership import Membership, SparseMembership
from ..votes import Prior
from .rule import NOBODY, OWN, PRIOR, VOTES, Answers, Contributions, KnownLabels, Row, Rule, log_of

SUBTYPES, REST = "subtypes", "all else"


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
        width = self.table.shape[1]
        table = np.zeros((max(int(groups.order.max(initial=-1)), int(self.groups.max(initial=-1))) + 1, width + 1))
        table[self.groups, :width] = self.table
        table[self.groups, width] = 1.0
        for rows, sums in groups.gather_parts(table[groups.order]):
            unanswered = sums[:, width] <= 0
            prior = None if groups.prior is None else groups.prior.take(rows)
            if prior is not None:
                unanswered &= ~prior.given
            proba = self.finish(sums[:, :width], sums[:, width], prior)
            proba[unanswered] = self.fallback
            if known is not None:
                known.overwrite(proba, unanswered, rows)
            yield rows, proba, unanswered

    def of_row(self, row: Row) -> tuple[Array, Array]:
        """Return the groups that a row is in, and their rows of the table times its shares."""
        places, shares = row.shares_of(self.groups)
        return self.groups[places], shares[:, None] * self.table[places]

    def stored(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the rule as plain facts and arrays."""
        return {"combine": self.kind}, {"groups": self.groups, "table": self.table, "fallback": self.fallback}


@dataclass(frozen=True, eq=False)
class SubtypeRule(SumRule):
    """Evidence for each class and subtype adds up, and the subtypes of a class are summed: z_k ~ sum_m exp(prior + evidence).

    Voters whose errors correlate repeat each other: with n votes the answer is tempered, z_k^(1/T), T = 1 + (n - 1) correlation.
    """

    prior: Array  # classes x subtypes, flattened, logarithms
    correlation: float = 0.0

    unit: ClassVar[str] = "log evidence"
    kind: ClassVar[str] = "subtypes"

    def finish(self, sums: Array, n_votes: Array, prior: Prior | None) -> Array:
        """Return the posterior."""
        joint = np.ascontiguousarray(sums.T)  # few long rows are quicker than many short ones
        joint += self.prior[:, None]
        if prior is not None:
            joint += np.repeat(prior.evidence.T, len(joint) // len(self.fallback), axis=0)
        joint -= joint.max(axis=0)
        np.exp(joint, out=joint)
        proba = joint.reshape(len(self.fallback), -1, len(sums)).sum(axis=1)
        return tempered(np.ascontiguousarray((proba / proba.sum(axis=0)).T), n_votes, self.correlation)

    def contributions(self, row: Row) -> Contributions:
        """Return the evidence for each class of the prior and of each base model, averaged over subtypes.

        ln sum_m exp(x_m) = sum_m r_m x_m + H(r), with r the shares of the subtypes and H their entropy. So the contributions,
        with H as the one of the subtypes, add up to the logarithms of the class probabilities, less their mean.
        """
        if row.known is not None and row.is_labelled:
            return self.known_contribution(row.known)
        n_classes = len(self.fallback)
        groups, given = self.of_row(row)
        total = self.prior + given.sum(axis=0)
        if row.prior is not None:
            total = total + np.repeat(row.prior.evidence[0], len(total) // n_classes)
        shares = softmax(total.reshape(n_classes, -1), axis=1)  # r
        averaged = (shares * given.reshape(len(given), n_classes, -1)).sum(axis=2)
        found = {(NOBODY, PRIOR): (shares * self.prior.reshape(n_classes, -1)).sum(axis=1)}
        found |= row.by_owner(groups, averaged, VOTES)
        if row.prior is not None:
            found[NOBODY, OWN] = row.prior.evidence[0]
        if shares.shape[1] > 1:
            found[NOBODY, SUBTYPES] = -(shares * log_of(shares)).sum(axis=1)
        heat = heat_of(row.shares_of(self.groups)[1].sum(), self.correlation)
        return {key: (part - part.mean()) / heat for key, part in found.items()}

    def stored(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the rule as plain facts and arrays."""
        facts, arrays = super().stored()
        return facts | {"correlation": float(self.correlation)}, arrays | {"prior": self.prior}


def tempered(proba: Array, n_votes: Array, correlation: float) -> Array:
    """Return answers made less sure where their votes repeat each other: z^(1/T), T = 1 + (n - 1) correlation for n votes."""
    if correlation <= 0:
        return proba
    return softmax(log_of(proba) / heat_of(n_votes, correlation)[:, None], axis=1)


def heat_of(n_votes: Array, correlation: float) -> Array:
    """Return T = 1 + (n - 1) correlation: how many votes out of n say what one has said."""
    return 1 + np.maximum(n_votes - 1, 0.0) * correlation


def sharpened(proba: Array, slope: float, offsets: Array | None = None) -> Array:
    """Return z^slope, normalised: more sure above 1, less sure below; offsets are added to the logarithms."""
    if slope == 1 and offsets is None:
        return proba
    return softmax(slope * log_of(proba) + (0.0 if offsets is None else offsets), axis=1)


@dataclass(frozen=True, eq=False)
class PrecisionRule(SumRule):
    """A mean per class in which each voter has a precision, then normalised: z_k ~ (own_k + sum v y_k) / (ballast + sum v).

    The table has the precisions times what the group says in its first half, and the precisions in its second.
    """

    own: Array  # what the ballast says, one number per class
    ballast: float
    prior_precision: Array | None = None  # of a row's own prior, which is one voter more; one number per class

    kind: ClassVar[str] = "precision"

    def finish(self, sums: Array, n_votes: Array, prior: Prior | None) -> Array:
        """Return the normalised means."""
        return normalised(np.maximum(self.means(sums, prior), 1e-12))

    def means(self, sums: Array, prior: Prior | None) -> Array:
        """Return the mean of each class alone."""
        n_classes = len(self.fallback)
        said, total = self.ballast * self.own + sums[:, :n_classes], self.ballast + sums[:, n_classes:]
        if prior is not None and self.prior_precision is not None:
            precision = prior.given[:, None] * self.prior_precision
            said, total = said + precision * prior.trusted, total + precision
        return np.asarray(said / total)

    def contributions(self, row: Row) -> Contributions:
        """Return what the ballast and each base model gave to each class; they add up to the class probabilities."""
        if row.known is not None and row.is_labelled:
            return self.known_contribution(row.known)
        n_classes = len(self.fallback)
        groups, given = self.of_row(row)
        sums, of_prior = given.sum(axis=0), np.zeros(n_classes)
        if row.prior is not None and self.prior_precision is not None:
            pull = row.prior.given[0] * self.prior_precision
            of_prior = pull * row.prior.trusted[0]
            sums = sums + np.concatenate([of_prior, pull])
        scale = 1 / (self.ballast + sums[n_classes:])
        scale /= ((self.ballast * self.own + sums[:n_classes]) * scale).sum()
        found = {(NOBODY, PRIOR): self.ballast * self.own * scale}
        found |= row.by_owner(groups, given[:, :n_classes] * scale, VOTES)
        return found if row.prior is None else {**found, (NOBODY, OWN): of_prior * scale}

    def stored(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the rule as plain facts and arrays."""
        facts, arrays = super().stored()
        arrays |= {"own": self.own}
        if self.prior_precision is not None:
            arrays |= {"prior_precision": self.prior_precision}
        return facts | {"ballast": float(self.ballast)}, arrays


@dataclass(frozen=True, eq=False)
class LogPoolRule(Rule):
    """A pool of logarithms: ln z_k = prior_k + sum_j weight_j ln y_jk, for what voter j gives to class k, `LEAST_SHARE` at least.

    Voter `voters[g]` (a number from 0) says class `said[g]` by the group `groups[g]`.
    """

    groups: Array
    voters: Array
    said: Array
    weights: Array
    fallback: Array  # the prior

    unit: ClassVar[str] = "log evidence"
    kind: ClassVar[str] = "log pool"

    def answers(self, groups: Membership, known: KnownLabels | None = None) -> Answers:
        """Return the class probabilities and which rows no voter answers, some rows at a time."""
        n_classes, n_groups = len(self.fallback), max(int(groups.order.max(initial=-1)), int(self.groups.max(initial=-1))) + 1
        tables = np.zeros((len(self.weights), n_groups, n_classes))
        tables[self.voters, self.groups, self.said] = 1.0
        for parts in zip(*(groups.gather_parts(table[groups.order]) for table in tables), strict=True):
            rows = parts[0][0]
            n_rows = len(parts[0][1])
            evidence, unanswered = np.tile(log_of(self.fallback), (n_rows, 1)), np.ones(n_rows, dtype=bool)
            for weight, (_, shares) in zip(self.weights, parts, strict=True):
                voted = shares.any(axis=1)
                evidence += weight * voted[:, None] * log_shares(shares)
                unanswered &= ~voted
            if groups.prior is not None:
                prior = groups.prior.take(rows)
                evidence += prior.evidence
                unanswered &= ~prior.given
            proba = softmax(evidence, axis=1)
            proba[unanswered] = self.fallback
            if known is not None:
                known.overwrite(proba, unanswered, rows)
            yield rows, proba, unanswered

    def contributions(self, row: Row) -> Contributions:
        """Return the evidence for each class, less its mean over classes, of the prior and of each base model."""
        if row.known is not None and row.is_labelled:
            return self.known_contribution(row.known)
        found: Contributions = {(NOBODY, PRIOR): log_of(self.fallback)}
        places, own = row.shares_of(self.groups)
        for voter in np.unique(self.voters[places]):
            here = self.voters[places] == voter
            shares = np.zeros(len(self.fallback))
            shares[self.said[places[here]]] = own[here]
            found[int(row.owner[self.groups[places[here][0]]]), VOTES] = self.weights[voter] * log_shares(shares)
        if row.prior is not None:
            found[NOBODY, OWN] = row.prior.evidence[0]
        return {key: part - part.mean() for key, part in found.items()}

    def stored(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the rule as plain facts and arrays."""
        arrays = {name: getattr(self, name) for name in ("groups", "voters", "said", "fallback")}
        return {"combine": self.kind}, arrays | {"voter_weights": self.weights}


LEAST_SHARE = 1e-3  # a probability below this counts as this much: no voter rules a class out


def log_shares(shares: Array) -> Array:
    """Return the logarithms of what a voter gives to the classes."""
    return np.asarray(np.log(np.maximum(shares, LEAST_SHARE)))


@dataclass(frozen=True, eq=False)
class PanelRule(Rule):
    """The mean of several rules' answers, by name, made more or less sure; where none is reached, the fallback."""

    members: tuple[tuple[str, Rule], ...]
    fallback: Array
    slope: float = 1.0  # of the log-probabilities
    shares: Array | None = None  # what each member counts; None: all alike
    offsets: Array | None = None  # of the log-probabilities of the classes
    hard_votes: bool = False  # whether the members take a soft vote for its most probable class only

    kind: ClassVar[str] = "panel"
    unit: ClassVar[str] = "change of probability"

    @property
    def asked(self) -> tuple[Rule, ...]:
        """Return the members' rules."""
        return tuple(rule for _, rule in self.members)

    @property
    def takes_hard_votes(self) -> bool:
        """Return whether it, or one of its members, takes a soft vote for its most probable class only."""
        return self.hard_votes or super().takes_hard_votes

    def answers(self, groups: Membership, known: KnownLabels | None = None) -> Answers:
        """Return the class probabilities and which rows no member answers, some rows at a time."""
        groups = groups.hard if self.hard_votes and groups.hard is not None else groups
        for parts in zip(*(rule.answers(groups, known) for _, rule in self.members), strict=True):
            unanswered = np.logical_and.reduce([part[2] for part in parts])
            proba = sharpened(np.average([part[1] for part in parts], axis=0, weights=self.shares), self.slope, self.offsets)
            proba[unanswered] = self.fallback
            yield parts[0][0], proba, unanswered

    def contributions(self, row: Row) -> Contributions:
        """Return by how much each base model moves the answer: the answer less that without its vote; and what is left over."""
        if row.known is not None and row.is_labelled:
            return self.known_contribution(row.known)
        models = np.unique(row.owner[row.entries.indices]).tolist()

        def with_each_left_out(one: sparse.csr_array) -> sparse.csr_array:
            left = [_without(one, row.owner[one.indices] == m) for m in models]
            return sparse.csr_array(sparse.vstack([one, *left], format="csr"))

        prior = None if row.prior is None else row.prior.take(np.zeros(1 + len(models), dtype=np.int64))
        hard = None if row.hard is None else with_each_left_out(row.hard)
        (answer, *without), _ = self.all_answers(SparseMembership(with_each_left_out(row.entries), hard, prior))
        found: Contributions = {(m, VOTES): answer - other for m, other in zip(models, without, strict=True)}
        return {**found, (NOBODY, REST): answer - sum(found.values(), np.zeros(len(self.fallback)))}

    def stored(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the rule as plain facts and arrays."""
        facts: dict[str, Any] = {"combine": self.kind, "members": [], "slope": float(self.slope), "hard_votes": self.hard_votes}
        optional = {"fallback": self.fallback, "shares": self.shares, "offsets": self.offsets}
        arrays = {name: array for name, array in optional.items() if array is not None}
        for place, (name, rule) in enumerate(self.members):
            inner, more = rule.stored()
            facts["members"].append({"name": name, "rule": inner})
            arrays |= {f"member{place}_{own}": array for own, array in more.items()}
        return facts, arrays


def _without(one: sparse.csr_array, left_out: Array) -> sparse.csr_array:
    """Return one row without some of its entries."""
    kept = ~left_out
    return sparse.csr_array((one.data[kept], one.indices[kept], np.array([0, int(kept.sum())])), shape=one.shape)
