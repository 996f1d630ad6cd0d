"""How an object's class probabilities follow from its groups.

Nearly every answer here is a weighted mean of a few terms, and every term a weighted mean of the
distributions of the object's groups. For EC3 the terms are alpha (the groups' own distributions),
beta (the other members of its groups) and gamma (its votes):

    F^o_i = sum_t pull_t mean_t(i) / sum_t pull_t,    mean_t(i) = sum_j a_ij v^t_j T^t_j / sum_j a_ij v^t_j

Voting and BGCM have one term. Dawid-Skene adds up logarithms instead: the evidence of each vote for
each class. Either way one table with one row per group answers for the objects that were solved and
for new ones, and shows which voter moved what.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy import sparse

from .._checks import InputError
from .._typing import Array
from ..algebra.linear import scale_of
from ..algebra.membership import Membership, Table, membership_of, places_in
from ..votes import Prior, Votes, group_meaning

Answers = Iterator[
    tuple[slice, Array, Array]
]  # rows, their class probabilities, and which of them nothing reaches
Contributions = dict[tuple[int, str], Array]  # (base model or NOBODY, term) -> one number per class

GROUPS, COMPANIONS, VOTES = "groups", "companions", "votes"  # the terms of alpha, beta and gamma
KNOWN, TOWARDS, PRIOR, OWN = "known label", "towards", "prior", "own prior"  # what else may pull
DENSE = 1_000_000  # entries up to which a table over groups is dense in any case
LEAST_RATIO = 1e-60  # of two weights: beyond it their products would overflow
SUMS_WITHIN = (
    1e-8  # by how much the sum of a distribution may differ from 1; rounding leaves about 1e-12
)
NOBODY = -1  # in the place of a base model's number


@dataclass(frozen=True, eq=False)
class Term:
    """One term: its name, how hard it pulls, and the groups that take part in it with their weights and distributions.

    With `by_total` it pulls harder the more the row's groups weigh together. Distributions may be
    sparse: those of the groups of classifiers, which name one class each, and of which there are
    many where annotators choose among many classes.
    """

    name: str
    pull: float
    groups: Array
    group_weight: Array
    group_proba: Table
    by_total: bool = False

    def weighted(self, places: Array | slice = slice(None)) -> Array:
        """Return the weights of some groups times their distributions, dense."""
        proba = self.group_proba[places]
        return self.group_weight[places, None] * (
            proba.toarray() if sparse.issparse(proba) else proba
        )

    def table_for(self, groups: Membership, dense: bool) -> Table:
        """Return the weight and the weighted distribution of each group, sparse only if the distributions are."""
        at, n_groups, n_classes = (
            places_in(groups, self.groups),
            groups.n_groups,
            self.group_proba.shape[1],
        )
        here = np.flatnonzero(at >= 0)
        if dense or not sparse.issparse(self.group_proba):
            table = np.zeros((n_groups, n_classes + 1))
            table[at[here], 0] = self.group_weight[here]
            table[at[here], 1:] = self.weighted(here)
            return table
        own = self.group_proba[here].tocoo()
        rows, columns = (
            np.concatenate([at[here], at[here][own.coords[0]]]),
            np.concatenate([0 * here, own.coords[1] + 1]),
        )
        values = np.concatenate(
            [self.group_weight[here], self.group_weight[here][own.coords[0]] * own.data]
        )
        return sparse.csr_array((values, (rows, columns)), shape=(n_groups, n_classes + 1))


@dataclass(frozen=True, eq=False)
class KnownLabels:
    """Known labels: one class number per row (-1: none). They take the place of the row's votes and pull this hard."""

    codes: Array
    pull: float  # infinite: held fixed

    @property
    def labelled(self) -> Array:
        """Return which rows have a known label."""
        return self.codes >= 0

    @property
    def fixed(self) -> bool:
        """Return whether the labels are held fixed."""
        return bool(np.isinf(self.pull))

    def overwrite(self, proba: Array, unanswered: Array, rows: slice) -> None:
        """Put the known labels of some rows in the place of their answers."""
        labelled = self.labelled[rows]
        proba[labelled] = self.one_hot(proba.shape[1], rows)[labelled]
        unanswered &= ~labelled

    def one_hot(self, n_classes: int, rows: slice = slice(None)) -> Array:
        """Return the labels as distributions, rows of zeros where there is none."""
        codes = self.codes[rows]
        out = np.zeros((len(codes), n_classes))
        labelled = np.flatnonzero(codes >= 0)
        out[labelled, codes[labelled]] = 1
        return out


@dataclass(frozen=True, eq=False)
class Row:
    """One object as a rule sees it: its entries (groups and shares), and what else is known about it."""

    entries: sparse.csr_array
    owner: Array  # the number of each group's base model
    hard: sparse.csr_array | None = (
        None  # the entries with soft votes hardened, where some are soft
    )
    known: KnownLabels | None = None
    prior: Prior | None = None

    def shares_of(self, groups: Array, hard: bool = False) -> tuple[Array, Array]:
        """Return which of these groups the object is in, by their places, and its share in each."""
        entries = self.hard if hard and self.hard is not None else self.entries
        order = np.argsort(entries.indices)
        places = np.flatnonzero(np.isin(groups, entries.indices))
        return places, entries.data[order[np.searchsorted(entries.indices[order], groups[places])]]

    def by_owner(self, groups: Array, given: Array, name: str) -> Contributions:
        """Return what the groups' base models gave: the sums of rows of `given`, one row per group."""
        found: Contributions = {}
        for m, part in zip(self.owner[groups].tolist(), given, strict=True):
            found[m, name] = found[m, name] + part if (m, name) in found else part
        return found


class Rule(ABC):
    """How an object's answer follows from its groups: for the objects that were solved, and for new ones."""

    unit: ClassVar[str] = "probability"  # what contributions are measured in
    fallback: Array  # the answer for an object that no group reaches
    hard_votes: bool = False  # whether a soft vote counts for its most probable class only

    @abstractmethod
    def answers(self, groups: Membership, known: KnownLabels | None = None) -> Answers:
        """Return the class probabilities and which rows nothing reaches, some rows at a time."""

    @abstractmethod
    def parts(self, row: Row) -> Contributions:
        """Return what each (base model, term) gave to the classes of one object whose label is not held fixed."""

    def contributions(self, row: Row) -> Contributions:
        """Return what each (base model, term) gave to the classes of one object, in `unit`."""
        if row.known is not None and row.known.fixed and row.known.labelled[0]:
            return {(NOBODY, KNOWN): row.known.one_hot(len(self.fallback))[0]}
        return self.parts(row)

    @property
    def asked(self) -> tuple[Rule, ...]:
        """Return the rules whose answers it uses."""
        return ()

    @property
    def takes_hard_votes(self) -> bool:
        """Return whether it, or a rule that it asks, takes a soft vote for its most probable class only."""
        return self.hard_votes or any(rule.takes_hard_votes for rule in self.asked)

    def own_form(self, groups: Membership) -> Membership:
        """Return the rows with their votes as the rule takes them."""
        return groups.hard if self.hard_votes and groups.hard is not None else groups

    def all_answers(
        self, groups: Membership, known: KnownLabels | None = None
    ) -> tuple[Array, Array]:
        """Return `answers` for all rows at once."""
        proba, unanswered = (
            np.empty((groups.n_rows, len(self.fallback))),
            np.empty(groups.n_rows, dtype=bool),
        )
        for rows, part, nothing in self.answers(groups, known):
            proba[rows], unanswered[rows] = part, nothing
        return proba, unanswered


@dataclass(frozen=True, eq=False)
class Targets:
    """The answers of another method, which pull objects in place of their votes; rows of zeros do not pull."""

    proba: Array
    rule: Rule | None  # the other method's own, for new objects

    @classmethod
    def of(cls, proba: Array, unanswered: Array, rule: Rule | None) -> Targets:
        """Return the answers, without those for rows that no vote reaches."""
        return cls(np.where(unanswered[:, None], 0.0, proba), rule)


@dataclass(frozen=True, eq=False)
class Pull:
    """What one term does to some rows: how hard it pulls each (0 where it has no group of the row), and where to."""

    name: str
    strength: Array
    total: Array  # the sum of the weights of the row's groups
    weighted: Array  # the weighted sum of their distributions

    @property
    def mean(self) -> Array:
        """Return where the term pulls each row to."""
        return self.weighted / np.where(self.total > 0, self.total, 1.0)[:, None]


@dataclass(frozen=True, eq=False)
class GroupRule(Rule):
    """A weighted mean of terms, each a weighted mean over the object's groups."""

    terms: tuple[Term, ...]
    fallback: Array
    hard_votes: bool = False
    # How hard the answers of another method pull in place of the votes, and that method's rule.
    towards: tuple[float, Rule | None] | None = None

    @property
    def asked(self) -> tuple[Rule, ...]:
        """Return the rule of the method towards which this one pulls."""
        return () if self.towards is None or self.towards[1] is None else (self.towards[1],)

    def pulls(
        self, groups: Membership, known: KnownLabels | None = None, targets: Targets | None = None
    ) -> Iterator[tuple[slice, list[Pull]]]:
        """Return each term's pull, some rows at a time; a term without any group of the row's has none.

        `targets` are the answers of `towards`, where they have been computed already.
        """
        n_classes = len(self.fallback)
        strength_towards, other = (0.0, None) if self.towards is None else self.towards
        others = None if other is None or targets is not None else other.answers(groups)
        groups = self.own_form(groups)
        for rows, sums in self._sums_of_terms(groups):
            found = []
            for term, (total, weighted) in zip(self.terms, sums, strict=True):
                strength = term.pull * (total if term.by_total else (total > 0))
                found.append(Pull(term.name, strength, total, weighted))
            if groups.prior is not None and self.towards is None:  # which has taken it into account
                found = self._with_prior(found, groups.prior.take(rows))
            if targets is not None:
                found.append(_whole_pull(TOWARDS, strength_towards, targets.proba[rows]))
            elif others is not None:
                _, answer, unanswered = next(others)
                found.append(
                    _whole_pull(
                        TOWARDS, strength_towards, np.where(unanswered[:, None], 0.0, answer)
                    )
                )
            yield rows, found if known is None else _with_known(found, known, rows, n_classes)

    def _with_prior(self, found: list[Pull], prior: Prior) -> list[Pull]:
        """Return the pulls with that of the rows' own priors, which share the pull of the votes as some votes more."""
        # A prior worth w votes beside n votes: of the pull of the votes it takes the share w / (n +
        # w), they keep n / (n + w).
        at = next(t for t, term in enumerate(self.terms) if term.name == VOTES)
        n_votes, worth = found[at].total, prior.weight
        share = np.divide(worth, n_votes + worth, out=np.zeros(len(worth)), where=worth > 0)
        pull = self.terms[at].pull
        votes = replace(found[at], strength=pull * (1 - share) * (n_votes > 0))
        return [
            *found[:at],
            votes,
            *found[at + 1 :],
            Pull(OWN, pull * share, np.ones(len(share)), prior.trusted),
        ]

    def _sums_of_terms(
        self, groups: Membership
    ) -> Iterator[tuple[slice, list[tuple[Array, Array]]]]:
        """Return for each term the weights of the rows' groups and their weighted distributions, summed, some rows at a time."""
        # Terms side by side, [v^1 | v^1 T^1 | v^2 | v^2 T^2 ...], so that one pass over the rows
        # sums them all; those that are sparse in a stack of their own.
        width, tables = len(self.fallback) + 1, self._tables(groups)
        together = [
            [table for table in tables if sparse.issparse(table) == kind] for kind in (False, True)
        ]
        stacks = [np.hstack(together[0]) if together[0] else np.zeros((groups.n_groups, 0))]
        stacks += [sparse.csr_array(sparse.hstack(together[1]))] if together[1] else []
        for parts in zip(*(groups.gather_parts(stack) for stack in stacks), strict=True):
            left = [0, 0]  # columns used so far of either stack
            found = []
            for table in tables:
                kind = int(sparse.issparse(table))
                begin, sums = left[kind], parts[kind][1]
                found.append(
                    (np.ascontiguousarray(sums[:, begin]), sums[:, begin + 1 : begin + width])
                )
                left[kind] += width
            yield parts[0][0], found

    def _tables(self, groups: Membership) -> list[Table]:
        """Return each term as a table over groups; sparse where dense ones would be larger than the answers themselves."""
        width = len(self.fallback) + 1
        dense = groups.n_groups * width <= max(DENSE, groups.n_rows * width)
        return [term.table_for(groups, dense) for term in self.terms]

    def answer(self, pulls: Sequence[Pull]) -> tuple[Array, Array]:
        """Return the mean of the terms, and which rows no term reaches."""
        # sum_t pull_t mean_t / sum_t pull_t
        strength = sum((pull.strength for pull in pulls), np.zeros(len(pulls[0].strength)))
        unanswered = strength <= 0
        strength[unanswered] = 1.0
        proba = np.zeros((len(strength), len(self.fallback)))
        for pull in pulls:
            share = (
                pull.strength / strength / np.where(pull.total > 0, pull.total, 1.0)
            )  # their product may overflow
            proba += share[:, None] * pull.weighted
        proba[unanswered] = self.fallback
        return proba, unanswered

    def answers(self, groups: Membership, known: KnownLabels | None = None) -> Answers:
        """Return the class probabilities and which rows no term reaches, some rows at a time."""
        for rows, pulls in self.pulls(groups, known):
            yield rows, *self.answer(pulls)

    def parts(self, row: Row) -> Contributions:
        """Return what each (base model, term) gave to the object's classes; they add up to its class probabilities."""
        _, pulls = next(self.pulls(membership_of(row.entries, row.hard, row.prior), row.known))
        total = sum(float(pull.strength[0]) for pull in pulls)
        if total <= 0:
            return {(NOBODY, "mean vote of all"): self.fallback}
        terms = {term.name: term for term in self.terms}
        found: Contributions = {}
        for pull in pulls:
            share = float(pull.strength[0]) / total
            if share > 0 and pull.name in terms:
                term = terms[pull.name]
                places, shares = row.shares_of(term.groups, self.hard_votes)
                given = share / pull.total[0] * (shares[:, None] * term.weighted(places))
                found |= row.by_owner(term.groups[places], given, pull.name)
            elif share > 0:
                found[NOBODY, pull.name] = share * pull.mean[0]
        return found


def mean_votes(
    votes: Votes, groups: Membership, weights: Array, known: KnownLabels | None, hard: bool = False
) -> tuple[Array, Array, GroupRule]:
    """Return the weighted mean vote on each row, which rows have none, and the rule that gives the same for new objects.

    A known label is the answer where there is one; a row without votes gets the mean vote of all. A
    row's own prior counts as some votes more.
    """
    # One term: y_i = sum_j a_ij w_j T_j / sum_j a_ij w_j over the groups j of voters, with T_j the
    # class that the group names.
    weights = weights / weight_scale(weights)
    group_weight = np.where(
        np.diff(group_meaning(votes).indptr) > 0, weights[votes.models.group_model], 0.0
    )
    speaking = np.flatnonzero(group_weight > 0)
    said = group_meaning(votes)[speaking]
    term = Term(VOTES, 1.0, speaking, group_weight[speaking], said)
    proba, unanswered = GroupRule((term,), np.zeros(votes.n_classes), hard).all_answers(
        groups, known
    )
    mass = votes.counts @ proba
    fallback = mass / mass.sum() if mass.any() else np.full(votes.n_classes, 1 / votes.n_classes)
    proba[unanswered] = fallback
    return proba, unanswered, GroupRule((term,), fallback, hard)


def weight_scale(weights: Array) -> float:
    """Return what to divide weights of base models by, of which only ratios matter; refuse ratios that would overflow.

    That is 1 unless they are extreme, for beside a prior or known labels they count as they are.
    """
    top, lowest = (
        float(np.max(weights, initial=0.0)),
        float(np.min(weights[weights > 0], initial=np.inf)),
    )
    if lowest < LEAST_RATIO * top:
        raise InputError(
            "weights",
            f"must be 0 or at least {LEAST_RATIO:g} of the largest",
            came=f"{lowest:.6g} beside {top:.6g}",
            remedy="Give weights that count for nothing as 0.",
        )
    return 1.0 if LEAST_RATIO <= top <= 1 / LEAST_RATIO else scale_of(weights)


def one_hot(codes: Array, n_classes: int) -> sparse.csr_array:
    """Return classes as distributions, one entry each."""
    return sparse.csr_array(
        (np.ones(len(codes)), codes, np.arange(len(codes) + 1)), shape=(len(codes), n_classes)
    )


def _whole_pull(name: str, pull: float, proba: Array) -> Pull:
    """Return the pull of given distributions; rows of zeros do not pull."""
    total = proba.sum(axis=1)
    return Pull(name, pull * (total > 0), total, proba)


def log_of(proba: Array) -> Array:
    """Return logarithms, of 0 a very low one."""
    return np.log(np.maximum(proba, 1e-300))


def _with_known(found: list[Pull], known: KnownLabels, rows: slice, n_classes: int) -> list[Pull]:
    # A known label takes the place of what is said about the object itself; one that is held fixed,
    # of all that pulls it.
    labelled = known.labelled[rows]
    kept = [
        replace(pull, strength=np.where(labelled, 0.0, pull.strength))
        if known.fixed or pull.name in (VOTES, TOWARDS, OWN)
        else pull
        for pull in found
    ]
    strength = labelled * (1.0 if known.fixed else known.pull)
    return [*kept, Pull(KNOWN, strength, np.ones(len(labelled)), known.one_hot(n_classes, rows))]
