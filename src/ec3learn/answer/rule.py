"""How an object's class probabilities follow from its groups.

Nearly every answer here is a weighted mean of a few terms, and every term a weighted mean of the
distributions of the object's groups. For EC3 the terms are alpha (the groups' own distributions),
beta (the other members of its groups) and gamma (its votes):

    F^o_i = sum_t pull_t mean_t(i) / sum_t pull_t
    mean_t(i) = sum_j a_ij v^t_j T^t_j / sum_j a_ij v^t_j

Voting and BGCM have one term. Dawid-Skene adds up logarithms instead: the evidence of each vote for
each class. Either way one table with one row per group answers for the objects that were solved and
for new ones, and shows which voter moved what.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy import sparse

from .._typing import Array
from ..algebra.membership import Membership, Table, places_in
from ..votes import Votes, group_meaning

# (base model or NOBODY, term) -> one number per class
Contributions = dict[tuple[int | None, str], Array]

GROUPS, COMPANIONS, VOTES = "groups", "companions", "votes"  # the terms of alpha, beta and gamma
KNOWN, TOWARDS, PRIOR, OWN = "known label", "towards", "prior", "own prior"  # what else may pull
REST = "all else"
DENSE = 1_000_000  # entries up to which a table over groups is dense in any case
NOBODY = None  # in the place of a base model's number


@dataclass(frozen=True, eq=False)
class KnownLabels:
    """Known labels, one class number per row (-1: none), in the place of the row's votes."""

    codes: Array
    pull: float  # infinite: held fixed

    @property
    def labelled(self) -> Array:
        """Which rows have a known label."""
        return self.codes >= 0

    @property
    def fixed(self) -> bool:
        """Whether the labels are held fixed."""
        return bool(np.isinf(self.pull))

    def overwrite(self, proba: Array, unanswered: Array, rows: slice = slice(None)) -> None:
        """Put the known labels of some rows in the place of their answers."""
        labelled = self.labelled[rows]
        proba[labelled] = self.one_hot(proba.shape[1], rows)[labelled]
        unanswered &= ~labelled

    def one_hot(self, n_classes: int, rows: slice = slice(None)) -> Array:
        """The labels as distributions, rows of zeros where there is none."""
        codes = self.codes[rows]
        out = np.zeros((len(codes), n_classes))
        labelled = np.flatnonzero(codes >= 0)
        out[labelled, codes[labelled]] = 1
        return out


class Rule(ABC):
    """How an object's answer follows from its groups, whether it was solved or is new."""

    unit: ClassVar[str] = "change of probability"  # what contributions are measured in
    fallback: Array  # the answer for an object that no group reaches
    hard_votes: bool = False  # whether a soft vote counts for its most probable class only

    @abstractmethod
    def answers(self, groups: Membership, known: KnownLabels | None = None) -> tuple[Array, Array]:
        """The class probabilities of each row, and which rows nothing reaches."""

    def with_known(
        self, proba: Array, unanswered: Array, known: KnownLabels | None
    ) -> tuple[Array, Array]:
        """The same answers with the fallback where nothing reaches a row, and with known labels."""
        proba[unanswered] = self.fallback
        if known is not None:
            known.overwrite(proba, unanswered)
        return proba, unanswered

    @property
    def asked(self) -> tuple[Rule, ...]:
        """The rules whose answers it uses."""
        return ()

    def answers_of_asked(self, groups: Membership) -> list[tuple[Array, Array]]:
        """The answers of these rules; one that several rules ask answers once."""
        for rule in self.asked:
            if rule not in groups.answered:
                groups.answered[rule] = rule.answers(groups)
        return [groups.answered[rule] for rule in self.asked]

    @property
    def takes_hard_votes(self) -> bool:
        """Whether it, or a rule that it asks, takes of a soft vote the most probable class only."""
        return self.hard_votes or any(rule.takes_hard_votes for rule in self.asked)

    def own_form(self, groups: Membership) -> Membership:
        """The rows with their votes as the rule takes them."""
        return groups.hard if self.hard_votes and groups.hard is not None else groups

    def contributions(
        self, groups: Membership, owner: Array, known: KnownLabels | None = None
    ) -> Contributions:
        """What each (base model, term) gave to the classes of one object, in `unit`.

        Parameters
        ----------
        groups : Membership
            That of the object alone.
        owner : array
            The number of each group's base model.
        known : KnownLabels or None
            The label of the object, if it is known.
        """
        if known is not None and known.fixed and known.labelled[0]:
            return {(NOBODY, KNOWN): known.one_hot(len(self.fallback))[0]}
        # By how much a base model moves the answer: the answer less that without its vote.
        models = np.unique(owner[groups.order])

        def each_left_out(one: Membership) -> Membership:
            votes = np.tile(one.matrix.toarray(), (1 + len(models), 1))
            votes[1:][owner[one.order] == models[:, None]] = 0.0
            same = np.zeros(len(votes), dtype=np.int64)
            prior = None if groups.prior is None else groups.prior.take(same)
            return Membership(sparse.csr_array(votes), one.order, prior=prior)

        rows = each_left_out(groups)
        rows.hard = None if groups.hard is None else each_left_out(groups.hard)
        answer, *without = self._in_units(self.answers(rows)[0])
        moves: Contributions = {
            (m, VOTES): answer - other for m, other in zip(models.tolist(), without, strict=True)
        }
        if rows.prior is not None:
            hard = None if rows.hard is None else replace(rows.hard, prior=None)
            alone = replace(rows, hard=hard, prior=None)
            moves[NOBODY, OWN] = answer - self._in_units(self.answers(alone)[0])[0]
        rest = PRIOR if self.unit == "log evidence" else REST
        return {**moves, (NOBODY, rest): answer - sum(moves.values(), np.zeros(len(answer)))}

    def _in_units(self, proba: Array) -> Array:
        """Probabilities, or the evidence of which they are made: logarithms less their mean."""
        logs = log_of(proba)
        return logs - logs.mean(axis=1, keepdims=True) if self.unit == "log evidence" else proba


def spread(groups: Membership, numbers: Array, values: Array) -> Array:
    """A table over all groups of a membership, from rows for groups of these numbers."""
    at = places_in(groups, numbers)
    table = np.zeros((groups.n_groups, values.shape[1]))
    table[at[at >= 0]] = values[at >= 0]
    return table


def log_of(proba: Array) -> Array:
    """Logarithms, of 0 a very low one."""
    return np.log(np.maximum(proba, 1e-300))


# ---- a mean of terms -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Term:
    """One term: its name, how hard it pulls, and its groups with their weights and distributions.

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
        """The weights of its groups, or of some, times their distributions, dense."""
        proba = self.group_proba[places]
        dense = proba.toarray() if sparse.issparse(proba) else proba
        return self.group_weight[places, None] * dense

    def table_for(self, groups: Membership, dense: bool) -> Table:
        """[v | v T]: the weight and the weighted distribution of each group."""
        at = places_in(groups, self.groups)
        here = np.flatnonzero(at >= 0)
        weight = self.group_weight[here, None]
        if dense or not sparse.issparse(self.group_proba):
            return spread(groups, self.groups[here], np.hstack([weight, self.weighted(here)]))
        weighted = sparse.diags_array(weight[:, 0]) @ self.group_proba[here]
        rows = sparse.csr_array(sparse.hstack([sparse.csr_array(weight), weighted]))
        places, shape = (at[here], np.arange(len(here))), (groups.n_groups, len(here))
        return sparse.csr_array(sparse.csr_array((np.ones(len(here)), places), shape=shape) @ rows)


# A term's name, how hard it pulls some rows (0 where it has no group of the row), and where to.
Pull = tuple[str, Array, Array]


@dataclass(frozen=True, eq=False)
class GroupRule(Rule):
    """A weighted mean of terms, each a weighted mean over the object's groups."""

    terms: tuple[Term, ...]
    fallback: Array
    hard_votes: bool = False
    # How hard the answers of another method pull in place of the votes, and that method's rule.
    towards: tuple[float, Rule | None] | None = None

    unit: ClassVar[str] = "probability"

    @property
    def asked(self) -> tuple[Rule, ...]:
        """The rule of the method towards which this one pulls."""
        return () if self.towards is None or self.towards[1] is None else (self.towards[1],)

    def answers(self, groups: Membership, known: KnownLabels | None = None) -> tuple[Array, Array]:
        """The mean of the terms for each row, and which rows no term reaches."""
        proba = np.zeros((groups.n_rows, len(self.fallback)))
        unanswered = np.empty(groups.n_rows, dtype=bool)
        for rows, pulls in self._pulls(groups, known):
            # sum_t pull_t mean_t / sum_t pull_t
            total = np.sum([strength for _, strength, _ in pulls], axis=0)
            unanswered[rows] = total <= 0
            total[total <= 0] = 1.0
            for _, strength, mean in pulls:
                proba[rows] += (strength / total)[:, None] * mean
        return self.with_known(proba, unanswered, None)

    def _pulls(
        self, groups: Membership, known: KnownLabels | None
    ) -> Iterator[tuple[slice, list[Pull]]]:
        """Each term's pull, some rows at a time; a term without any group of the row's has none."""
        others = self.answers_of_asked(groups)
        groups, width = self.own_form(groups), len(self.fallback) + 1
        dense = groups.n_groups * width <= max(DENSE, groups.n_rows * width)
        tables = [term.table_for(groups, dense) for term in self.terms]
        # Side by side, so that one pass over the rows sums them all.
        stack = (
            np.hstack(tables)
            if dense
            else sparse.csr_array(sparse.hstack(list(map(sparse.csr_array, tables))))
        )
        for rows, sums in groups.gather_parts(stack):
            pulls: list[Pull] = []
            for term, part in zip(self.terms, np.hsplit(sums, len(self.terms)), strict=True):
                total = part[:, 0]
                strength = term.pull * (total if term.by_total else (total > 0))
                mean = part[:, 1:] / np.where(total > 0, total, 1.0)[:, None]
                if groups.prior is not None and term.name == VOTES and self.towards is None:
                    # A prior worth w votes beside n takes the share w / (n + w) of their pull.
                    prior = groups.prior.take(rows)
                    sums_up = np.maximum(total + prior.weight, 1e-300)
                    pulls.append((OWN, term.pull * prior.weight / sums_up, prior.trusted))
                    strength = strength * total / sums_up
                pulls.append((term.name, strength, mean))
            for proba, unanswered in others:
                assert self.towards is not None
                pulls.append((TOWARDS, self.towards[0] * ~unanswered[rows], proba[rows]))
            yield rows, pulls if known is None else _with_known(pulls, known, rows)

    def contributions(
        self, groups: Membership, owner: Array, known: KnownLabels | None = None
    ) -> Contributions:
        """What each (base model, term) gave to the classes; it adds up to the probabilities."""
        _, pulls = next(self._pulls(groups, known))
        total = sum(float(strength[0]) for _, strength, _ in pulls)
        if total <= 0:
            return {(NOBODY, "mean vote of all"): self.fallback}
        terms = {term.name: term for term in self.terms}
        gave: Contributions = {}
        one = self.own_form(groups)
        for name, strength, mean in pulls:
            share = float(strength[0]) / total
            if share > 0 and name in terms:
                table = one.matrix.toarray().T * terms[name].table_for(one, dense=True)
                each = share * table[:, 1:] / table[:, 0].sum()
                for g in np.flatnonzero(table[:, 0]):
                    who = int(owner[one.order[g]]), name
                    gave[who] = gave.get(who, 0.0) + each[g]
            elif share > 0:
                gave[NOBODY, name] = share * mean[0]
        return gave


def _with_known(pulls: list[Pull], known: KnownLabels, rows: slice) -> list[Pull]:
    """The pulls with that of known labels, in the place of what is said about the object itself.

    One that is held fixed takes the place of all that pulls it.
    """
    labelled = known.labelled[rows]
    replaced = [known.fixed or name in (VOTES, TOWARDS, OWN) for name, _, _ in pulls]
    kept = [
        (name, np.where(labelled & gone, 0.0, strength), mean)
        for gone, (name, strength, mean) in zip(replaced, pulls, strict=True)
    ]
    strength = labelled * (1.0 if known.fixed else known.pull)
    return [*kept, (KNOWN, strength, known.one_hot(pulls[0][2].shape[1], rows))]


def mean_votes(
    votes: Votes, groups: Membership, weights: Array, known: KnownLabels | None, hard: bool = False
) -> tuple[Array, Array, GroupRule]:
    """The weighted mean vote on each row, which rows have none, and the rule for new objects.

    A known label is the answer where there is one; a row without votes gets the mean vote of all. A
    row's own prior counts as some votes more.
    """
    # One term: y_i = sum_j a_ij w_j T_j / sum_j a_ij w_j over the groups j of voters, with T_j the
    # class that the group names.
    said, weight = group_meaning(votes), weights[votes.models.group_model]
    speaking = np.flatnonzero((np.diff(said.indptr) > 0) & (weight > 0))
    term = Term(VOTES, 1.0, speaking, weight[speaking], said[speaking])
    proba, unanswered = GroupRule((term,), np.zeros(votes.n_classes), hard).answers(groups, known)
    mass = votes.counts @ proba
    fallback = mass / mass.sum() if mass.any() else np.full(votes.n_classes, 1 / votes.n_classes)
    proba[unanswered] = fallback
    return proba, unanswered, GroupRule((term,), fallback, hard)


def one_hot(codes: Array, n_classes: int) -> sparse.csr_array:
    """Classes as distributions, one entry each."""
    return sparse.csr_array(
        (np.ones(len(codes)), codes, np.arange(len(codes) + 1)), shape=(len(codes), n_classes)
    )
