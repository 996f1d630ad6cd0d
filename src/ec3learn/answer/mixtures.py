"""Rules that are no plain mean: subtypes of objects, precisions per class, logarithms of votes, and a panel of several rules.

Each gathers one table over an object's groups, like the rules in `rule`, and makes the answer from the sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import softmax

from ..algebra.linear import normalised
from ..algebra.membership import Membership, SparseMembership
from ..votes import Prior
from .parts import LOOSE, Parts, number, require
from .rule import KNOWN, NOBODY, OWN, PRIOR, EvidenceRule, GroupRule, KnownLabels, Rule, Targets, Term

Array = npt.NDArray[Any]

SUBTYPES, REST = "subtypes", "all else"


@dataclass(frozen=True, eq=False)
class SumRule:
    """What rules share that make an answer from sums over groups: `groups` are numbers, with one row of `table` each."""

    groups: Array
    table: Array
    fallback: Array  # the answer for an object that none of the groups reaches

    unit: ClassVar[str] = "probability"
    kind: ClassVar[str]
    hard_votes: ClassVar[bool] = False
    towards: ClassVar[None] = None
    terms: ClassVar[tuple[Term, ...]] = ()

    def finish(self, sums: Array, n_votes: Array, prior: Prior | None) -> Array:
        """Return the class probabilities of some rows from the sums of the table over their groups, and how many those are."""
        raise NotImplementedError

    def answers(
        self, groups: Membership, known: KnownLabels | None = None, targets: Targets | None = None
    ) -> Iterator[tuple[slice, Array, Array]]:
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
                labelled = known.labelled[rows]
                proba[labelled] = known.one_hot(len(self.fallback), rows)[labelled]
                unanswered &= ~labelled
            yield rows, proba, unanswered

    def all_answers(
        self, groups: Membership, known: KnownLabels | None = None, targets: Targets | None = None
    ) -> tuple[Array, Array]:
        """Return the same for all rows at once."""
        return collected_answers(self, groups, known)

    def stored(self, prefix: str = "") -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the rule as plain facts and arrays."""
        arrays = {"groups": self.groups, "table": self.table, "fallback": self.fallback}
        return {"combine": self.kind}, {f"{prefix}{name}": array for name, array in arrays.items()}


def collected_answers(rule: Any, groups: Membership, known: KnownLabels | None) -> tuple[Array, Array]:
    """Return the answers of a rule for all rows at once."""
    proba, unanswered = np.empty((groups.n_rows, len(rule.fallback))), np.empty(groups.n_rows, dtype=bool)
    for rows, part, nothing in rule.answers(groups, known):
        proba[rows], unanswered[rows] = part, nothing
    return proba, unanswered


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

    def parts(
        self,
        one: sparse.csr_array,
        known: KnownLabels | None,
        owner: Array,
        hard: sparse.csr_array | None = None,
        prior: Prior | None = None,
    ) -> dict[tuple[int, str], Array]:
        """Return the evidence for each class of the prior and of each base model, averaged over subtypes.

        ln sum_m exp(x_m) = sum_m r_m x_m + H(r), with r the shares of the subtypes and H their entropy: so the parts, with H as
        the part of the subtypes, add up to the logarithms of the class probabilities, less their mean.
        """
        n_classes = len(self.fallback)
        if known is not None and known.codes[0] >= 0:
            return {(NOBODY, KNOWN): known.one_hot(n_classes)[0]}
        said = _said(self, one)
        total = self.prior + sum(said.values(), np.zeros_like(self.prior))
        if prior is not None:
            total = total + np.repeat(prior.evidence[0], len(total) // n_classes)
        shares = softmax(total.reshape(n_classes, -1), axis=1)

        def averaged(evidence: Array) -> Array:
            return (shares * evidence.reshape(n_classes, -1)).sum(axis=1)

        parts: dict[tuple[int, str], Array] = {(NOBODY, PRIOR): averaged(self.prior)}
        for group, evidence in said.items():
            key = (int(owner[group]), "votes")
            parts[key] = parts.get(key, np.zeros(n_classes)) + averaged(evidence)
        if prior is not None:
            parts[NOBODY, OWN] = prior.evidence[0]
        if shares.shape[1] > 1:
            parts[NOBODY, SUBTYPES] = -(shares * np.log(np.maximum(shares, 1e-300))).sum(axis=1)
        heat = 1 + max(sum(one.data[np.isin(one.indices, self.groups)]) - 1, 0.0) * self.correlation
        return {key: (part - part.mean()) / heat for key, part in parts.items()}

    def stored(self, prefix: str = "") -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the rule as plain facts and arrays."""
        facts, arrays = super().stored(prefix)
        return facts | {"correlation": float(self.correlation)}, arrays | {f"{prefix}prior": self.prior}


def tempered(proba: Array, n_votes: Array, correlation: float) -> Array:
    """Return answers made less sure where their votes repeat each other: z^(1/T), T = 1 + (n - 1) correlation for n votes."""
    if correlation <= 0:
        return proba
    heat = 1 + np.maximum(n_votes - 1, 0.0) * correlation
    return softmax(np.log(np.maximum(proba, 1e-300)) / heat[:, None], axis=1)


def sharpened(proba: Array, slope: float, offsets: Array | None = None) -> Array:
    """Return z^slope, normalised: more sure above 1, less sure below; offsets are added to the logarithms."""
    if slope == 1 and offsets is None:
        return proba
    return softmax(slope * np.log(np.maximum(proba, 1e-300)) + (0.0 if offsets is None else offsets), axis=1)


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

    def parts(
        self,
        one: sparse.csr_array,
        known: KnownLabels | None,
        owner: Array,
        hard: sparse.csr_array | None = None,
        prior: Prior | None = None,
    ) -> dict[tuple[int, str], Array]:
        """Return what the ballast and each base model gave to each class; they add up to the class probabilities."""
        n_classes = len(self.fallback)
        if known is not None and known.codes[0] >= 0:
            return {(NOBODY, KNOWN): known.one_hot(n_classes)[0]}
        said = _said(self, one)
        sums = sum(said.values(), np.zeros(2 * n_classes))
        pull = 0.0
        if prior is not None and self.prior_precision is not None:
            pull = prior.given[0] * self.prior_precision
            sums = sums + np.concatenate([pull * prior.trusted[0], pull])
        scale = 1 / (self.ballast + sums[n_classes:])
        scale /= ((self.ballast * self.own + sums[:n_classes]) * scale).sum()
        parts: dict[tuple[int, str], Array] = {(NOBODY, PRIOR): self.ballast * self.own * scale}
        for group, pulls in said.items():
            key = (int(owner[group]), "votes")
            parts[key] = parts.get(key, np.zeros(n_classes)) + pulls[:n_classes] * scale
        if prior is not None:
            parts[NOBODY, OWN] = pull * prior.trusted[0] * scale
        return parts

    def stored(self, prefix: str = "") -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the rule as plain facts and arrays."""
        facts, arrays = super().stored(prefix)
        arrays |= {f"{prefix}own": self.own}
        if self.prior_precision is not None:
            arrays |= {f"{prefix}prior_precision": self.prior_precision}
        return facts | {"ballast": float(self.ballast)}, arrays


def _said(rule: SumRule, one: sparse.csr_array) -> dict[int, Array]:
    """Return the rows of the table that one object's groups have, by group, times its memberships."""
    place = np.flatnonzero(np.isin(rule.groups, one.indices))
    share = dict(zip(one.indices.tolist(), one.data.tolist(), strict=True))
    return {int(group): share[int(group)] * rule.table[at] for at, group in zip(place, rule.groups[place], strict=True)}


@dataclass(frozen=True, eq=False)
class LogPoolRule:
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
    hard_votes: ClassVar[bool] = False
    towards: ClassVar[None] = None
    terms: ClassVar[tuple[Term, ...]] = ()

    def answers(
        self, groups: Membership, known: KnownLabels | None = None, targets: Targets | None = None
    ) -> Iterator[tuple[slice, Array, Array]]:
        """Return the class probabilities and which rows no voter answers, some rows at a time."""
        n_classes, n_groups = len(self.fallback), max(int(groups.order.max(initial=-1)), int(self.groups.max(initial=-1))) + 1
        tables = np.zeros((len(self.weights), n_groups, n_classes))
        tables[self.voters, self.groups, self.said] = 1.0
        for parts in zip(*(groups.gather_parts(table[groups.order]) for table in tables), strict=True):
            rows = parts[0][0]
            evidence, unanswered = (
                np.tile(_logarithm(self.fallback), (rows.stop - rows.start, 1)),
                np.ones(len(parts[0][1]), bool),
            )
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
                labelled = known.labelled[rows]
                proba[labelled] = known.one_hot(n_classes, rows)[labelled]
                unanswered &= ~labelled
            yield rows, proba, unanswered

    def all_answers(
        self, groups: Membership, known: KnownLabels | None = None, targets: Targets | None = None
    ) -> tuple[Array, Array]:
        """Return the same for all rows at once."""
        return collected_answers(self, groups, known)

    def parts(
        self,
        one: sparse.csr_array,
        known: KnownLabels | None,
        owner: Array,
        hard: sparse.csr_array | None = None,
        prior: Prior | None = None,
    ) -> dict[tuple[int, str], Array]:
        """Return the evidence for each class, less its mean over classes, of the prior and of each base model."""
        if known is not None and known.codes[0] >= 0:
            return {(NOBODY, KNOWN): known.one_hot(len(self.fallback))[0]}
        parts: dict[tuple[int, str], Array] = {(NOBODY, PRIOR): _logarithm(self.fallback)}
        share = dict(zip(one.indices.tolist(), one.data.tolist(), strict=True))
        for voter, weight in enumerate(self.weights):
            own = np.flatnonzero(self.voters == voter)
            shares = np.zeros(len(self.fallback))
            shares[self.said[own]] = [share.get(int(group), 0.0) for group in self.groups[own]]
            if shares.any():
                parts[int(owner[self.groups[own[0]]]), "votes"] = weight * log_shares(shares)
        if prior is not None:
            parts[NOBODY, OWN] = prior.evidence[0]
        return {key: part - part.mean() for key, part in parts.items()}

    def stored(self, prefix: str = "") -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the rule as plain facts and arrays."""
        arrays = {name: getattr(self, name) for name in ("groups", "voters", "said", "fallback")} | {
            "voter_weights": self.weights
        }
        return {"combine": self.kind}, {f"{prefix}{name}": array for name, array in arrays.items()}


LEAST_SHARE = 1e-3  # a probability below this counts as this much: no voter rules a class out


def log_shares(shares: Array) -> Array:
    """Return the logarithms of what a voter gives to the classes."""
    return np.asarray(np.log(np.maximum(shares, LEAST_SHARE)))


def _logarithm(proba: Array) -> Array:
    return np.log(np.maximum(proba, 1e-300))


@dataclass(frozen=True, eq=False)
class PanelRule:
    """The mean of several rules' answers, by name, made more or less sure; where none is reached, the fallback."""

    members: tuple[tuple[str, Rule], ...]
    fallback: Array
    slope: float = 1.0  # of the log-probabilities
    shares: Array | None = None  # what each member counts; None: all alike
    offsets: Array | None = None  # of the log-probabilities of the classes

    unit: ClassVar[str] = "change of probability"
    kind: ClassVar[str] = "panel"
    hard_votes: ClassVar[bool] = False
    towards: ClassVar[None] = None
    terms: ClassVar[tuple[Term, ...]] = ()

    def answers(
        self, groups: Membership, known: KnownLabels | None = None, targets: Targets | None = None
    ) -> Iterator[tuple[slice, Array, Array]]:
        """Return the class probabilities and which rows no member answers, some rows at a time."""
        for parts in zip(*(rule.answers(groups, known) for _, rule in self.members), strict=True):
            unanswered = np.logical_and.reduce([part[2] for part in parts])
            proba = sharpened(np.average([part[1] for part in parts], axis=0, weights=self.shares), self.slope, self.offsets)
            proba[unanswered] = self.fallback
            yield parts[0][0], proba, unanswered

    def all_answers(
        self, groups: Membership, known: KnownLabels | None = None, targets: Targets | None = None
    ) -> tuple[Array, Array]:
        """Return the same for all rows at once."""
        return collected_answers(self, groups, known)

    def parts(
        self,
        one: sparse.csr_array,
        known: KnownLabels | None,
        owner: Array,
        hard: sparse.csr_array | None = None,
        prior: Prior | None = None,
    ) -> dict[tuple[int, str], Array]:
        """Return by how much each base model moves the answer: the answer less that without its vote; and what is left over."""
        if known is not None and known.codes[0] >= 0:
            return {(NOBODY, KNOWN): known.one_hot(len(self.fallback))[0]}
        models = np.unique(owner[one.indices]).tolist()

        def with_each_left_out(row: sparse.csr_array) -> sparse.csr_array:
            return sparse.csr_array(sparse.vstack([row, *(_without(row, owner[row.indices] == m) for m in models)], format="csr"))

        own = None if prior is None else prior.take(np.zeros(1 + len(models), dtype=np.int64))
        groups = SparseMembership(with_each_left_out(one), None if hard is None else with_each_left_out(hard), own)
        (answer, *without), _ = self.all_answers(groups)
        parts: dict[tuple[int, str], Array] = {(m, "votes"): answer - other for m, other in zip(models, without, strict=True)}
        parts[NOBODY, REST] = answer - sum(parts.values(), np.zeros(len(self.fallback)))
        return parts

    def stored(self, prefix: str = "") -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the rule as plain facts and arrays."""
        facts: dict[str, Any] = {"combine": self.kind, "members": [], "slope": float(self.slope)}
        optional = {"fallback": self.fallback, "shares": self.shares, "offsets": self.offsets}
        arrays = {f"{prefix}{name}": array for name, array in optional.items() if array is not None}
        for place, (name, rule) in enumerate(self.members):
            inner, more = rule.stored(f"{prefix}member{place}_")
            facts["members"].append({"name": name, "rule": inner})
            arrays |= more
        return facts, arrays


def takes_hard_votes(rule: Rule) -> bool:
    """Return whether a rule, or one that it asks, takes a soft vote for its most probable class only."""
    asked = [own for _, own in rule.members] if isinstance(rule, PanelRule) else [rule.towards[1]] if rule.towards else []
    return rule.hard_votes or any(takes_hard_votes(own) for own in asked if own is not None)


def _without(one: sparse.csr_array, left_out: Array) -> sparse.csr_array:
    """Return one row without some of its entries."""
    kept = ~left_out
    return sparse.csr_array((one.data[kept], one.indices[kept], np.array([0, int(kept.sum())])), shape=one.shape)


# ---- from disk -------------------------------------------------------------------------------------------------------


def restored_rule(facts: Mapping[str, Any], parts: Parts, n_groups: int, n_classes: int, prefix: str = "") -> Rule:
    """Return the rule that was `stored`, for so many groups and classes; refuse what no rule stores."""
    kind = facts["combine"]
    fallback = parts.take_distributions(f"{prefix}fallback", n_classes, within=LOOSE)
    if kind == PanelRule.kind:
        require(facts["members"] and isinstance(facts["members"], list), "members")
        members = (
            (_text(member["name"]), restored_rule(member["rule"], parts, n_groups, n_classes, f"{prefix}member{place}_"))
            for place, member in enumerate(facts["members"])
        )
        shares, offsets = (f"{prefix}{name}" for name in ("shares", "offsets"))
        counts = parts.take(shares, "f", len(facts["members"]), low=0.0) if shares in parts else None
        require(counts is None or counts.any(), shares)
        moved = parts.take(offsets, "f", n_classes) if offsets in parts else None
        return PanelRule(tuple(members), fallback, number(facts["slope"], "slope", 0), counts, moved)
    if kind == LogPoolRule.kind:
        weights = parts.take(f"{prefix}voter_weights", "f", None)
        groups = parts.take_numbers_of(f"{prefix}groups", n_groups)
        voters = parts.take_numbers_of(f"{prefix}voters", len(weights), len(groups), once=False)
        said = parts.take_numbers_of(f"{prefix}said", n_classes, len(groups), once=False)
        return LogPoolRule(groups, voters, said, weights, fallback)
    if kind in (SubtypeRule.kind, PrecisionRule.kind):
        groups = parts.take_numbers_of(f"{prefix}groups", n_groups)
        if kind == PrecisionRule.kind:
            table = parts.take(f"{prefix}table", "f", len(groups), 2 * n_classes, low=0.0)
            own = parts.take(f"{prefix}own", "f", n_classes, low=0.0)
            ballast = number(facts["ballast"], "ballast", 0)
            require(ballast > 0, "ballast")
            name = f"{prefix}prior_precision"
            precision = parts.take(name, "f", n_classes, low=0.0) if name in parts else None
            return PrecisionRule(groups, table, fallback, own, ballast, precision)
        prior = parts.take(f"{prefix}prior", "f", None)
        require(len(prior) and len(prior) % n_classes == 0, "prior")
        table = parts.take(f"{prefix}table", "f", len(groups), len(prior))
        return SubtypeRule(groups, table, fallback, prior, number(facts["correlation"], "correlation", 0, 1))
    require(kind in (GroupRule.unit, EvidenceRule.unit), "the kind of a rule")
    require(isinstance(facts["hard_votes"], bool), "hard_votes")
    towards = None
    if "towards" in facts:
        inner = restored_rule(facts["towards"]["rule"], parts, n_groups, n_classes, f"{prefix}towards_")
        towards = (number(facts["towards"]["pull"], "pull", 0), inner)
    evidence = kind == EvidenceRule.unit
    terms = [
        _restored_term(term, parts, n_groups, n_classes, f"{prefix}term{t}_", evidence) for t, term in enumerate(facts["terms"])
    ]
    return (EvidenceRule if evidence else GroupRule)(tuple(terms), fallback, facts["hard_votes"], towards)


def _restored_term(facts: Mapping[str, Any], parts: Parts, n_groups: int, n_classes: int, prefix: str, evidence: bool) -> Term:
    """Return a term; in one of evidence, groups have logarithms instead of distributions."""
    groups = parts.take_numbers_of(f"{prefix}groups", n_groups)
    weight = parts.take(f"{prefix}weight", "f", len(groups), low=0.0)
    if evidence:
        proba: Any = parts.take(f"{prefix}proba", "f", len(groups), n_classes)
    elif f"{prefix}proba" in parts:
        proba = parts.take_distributions(f"{prefix}proba", len(groups), n_classes, within=LOOSE)
    else:
        starts = parts.take(f"{prefix}starts", "iu", len(groups) + 1, low=0)
        shares = parts.take(f"{prefix}shares", "f", None, low=0.0)
        classes = parts.take(f"{prefix}classes", "iu", len(shares), low=0, high=n_classes - 1)
        require(starts[0] == 0 and starts[-1] == len(shares) and (starts[1:] >= starts[:-1]).all(), f"{prefix}starts")
        proba = sparse.csr_array((shares, classes, starts), shape=(len(groups), n_classes))
        require(not len(groups) or np.abs(proba.sum(axis=1) - 1).max() <= LOOSE, f"{prefix}shares")
    require(isinstance(facts["by_total"], bool), "by_total")
    return Term(_text(facts["name"]), number(facts["pull"], "pull", 0), groups, weight, proba, facts["by_total"])


def _text(value: Any) -> str:
    require(isinstance(value, str), "a name")
    return str(value)
