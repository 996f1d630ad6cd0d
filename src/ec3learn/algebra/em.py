"""The EM algorithm of Dawid and Skene: voters' confusion matrices and true classes from votes.

A voter says g when the truth is z with probability C_gz, independently of the others. EM finds the
most likely C, the shares p of the classes, and the distribution q_i of each object's truth:

    E:  q_iz ~ p_z prod_g C_gz^(w a_ig)
    M:  C_gz ~ t + sum_i s_i q_iz a_ig,    p_z ~ sum_i s_i q_iz

Everything is in logarithms and over distinct rows: a step gathers one table over an object's groups
and scatters it back. A soft vote a_ig counts by its shares, a model's weight w as that many equal
votes, and the smoothing t is a prior that keeps C above 0. Methods pass votes in which each w is 0
or 1, since who counts twice agrees with itself (`methods.weights`). A prior r_i of an object itself
multiplies q_iz by r_iz over the share of z.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .._checks import InputError
from .._text import arg
from .._typing import Array
from ..votes import Votes
from .membership import Membership, scatter_to_votes

# Entries of all confusion matrices together; a fit takes about ten times as much memory.
MOST_CONFUSIONS = 10_000_000


@dataclass(frozen=True, eq=False)
class Fit:
    """Where the rounds ended: q by row, ln C and ln p, with a column per class and subtype."""

    proba: Array
    evidence: Array
    prior: Array
    n_iter: int
    converged: bool
    likelihoods: Sequence[float] = ()  # after each round, logarithms, where they are what rises


def n_confusions(votes: Votes) -> int:
    """How many entries the confusion matrices of all voters have together."""
    return sum(model.n_groups for model in votes.models if model.is_voter) * votes.n_classes


def require_small(votes: Votes) -> None:
    """Refuse so many voters and classes that their confusion matrices would fill the memory."""
    if n_confusions(votes) > MOST_CONFUSIONS:
        raise InputError(
            "votes",
            f"must have voters whose confusion matrices have at most {MOST_CONFUSIONS:,} entries",
            came=f"{n_confusions(votes):,}",
            remedy=f"Take {arg('method', 'weighted-vote')} or {arg('method', 'ec3')}, which need "
            "no confusion matrices.",
        )


class ConfusionModel:
    """The steps of EM for some votes.

    Parameters
    ----------
    votes, groups
        The votes and their A^m.
    known
        The class of each row whose label is known, -1 for the others; None where there is none.
    one_coin
        Give each classifier one number instead of a confusion matrix: the probability of being
        right. It is wrong in every way alike.
    with_clusterings
        Take clusterings as voters too, whose labels have no names.
    smoothing
        The votes t that are added to each count.
    """

    subtypes = 1  # of each class

    def __init__(
        self,
        votes: Votes,
        groups: Membership,
        known: Array | None = None,
        *,
        one_coin: bool = False,
        with_clusterings: bool = False,
        smoothing: float = 0.01,
    ) -> None:
        require_small(votes)
        self.votes, self.groups, self.known, self.smoothing = votes, groups, known, smoothing
        self.n_classes, self.offsets = votes.n_classes, votes.models.offsets
        # Also of groups nobody is in, for votes to come.
        self.group_model = votes.models.group_model
        takes_part = votes.models.is_voter | with_clusterings
        self.weight = (takes_part * votes.weights)[self.group_model]
        self.size = np.diff(self.offsets)[self.group_model]
        self.own_class = np.maximum(votes.models.group_class, 0)
        self.coins = np.flatnonzero(votes.models.is_classifier[self.group_model] & one_coin)
        self.answered = groups.gather(self.weight[groups.order]) > 0
        if known is not None:
            self.answered |= known >= 0
        self.total = max(float(votes.counts.sum()), 1e-300)
        self.own_evidence: Array | None = None  # of each row, besides its votes
        if votes.prior is not None and votes.prior.trust is not None:
            self.answered |= votes.prior.given
            self.own_evidence = votes.prior.evidence
        self.counted = votes.counts * self.answered

    def fit(self, start: Array, tol: float, max_iter: int) -> Fit:
        """Alternate the steps until an object's mean log-likelihood rises by less than `tol`."""
        likelihoods: list[float] = []
        proba, converged = start, False
        while not converged and len(likelihoods) < max_iter:
            evidence, prior = self.m_step(proba)
            proba, by_row = self.e_step(evidence, prior)
            likelihood = self._log_prior(evidence) + float(self.votes.counts @ by_row)
            likelihoods.append(likelihood)
            risen = np.diff(likelihoods[-2:])
            converged = bool((risen < tol * self.total).any())
        return Fit(proba, evidence, prior, len(likelihoods), converged, likelihoods)

    def m_step(self, proba: Array) -> tuple[Array, Array]:
        """The logarithms of the C and the p that fit the truth best."""
        n_classes, smoothing = self.n_classes, self.smoothing
        sums = np.maximum(
            scatter_to_votes(self.votes, self.groups, self.votes.counts[:, None] * proba), 0.0
        )
        mass = self.counted @ proba
        prior = np.log(np.maximum(mass + 1e-12, 1e-12)) - np.log(mass.sum() + 1e-12 * n_classes)
        totals = self._by_model(sums)
        evidence = np.log((sums + smoothing) / (totals + smoothing * self.size[:, None]))
        if len(self.coins):
            evidence[self.coins] = self._one_coin(sums, totals)[self.coins]
        return evidence, prior

    def e_step(self, evidence: Array, prior: Array) -> tuple[Array, Array]:
        """Q, and the log-likelihood of the votes on each row."""
        n_rows, n_classes = self.groups.n_rows, self.n_classes
        proba, likelihood = np.empty((n_rows, n_classes)), np.empty(n_rows)
        for rows, joint, top, total in self._posterior(evidence, prior):
            likelihood[rows] = np.log(total) + top
            proba[rows] = joint.reshape(n_classes, self.subtypes, -1).sum(axis=1).T
        return proba, likelihood

    def _posterior(
        self, evidence: Array, prior: Array
    ) -> Iterator[tuple[slice, Array, Array, Array]]:
        """Q, some rows at a time, class-major for speed.

        With it come the two parts of each row's likelihood: the logarithm of its largest term, and
        the sum of all terms over it.
        """
        n_classes = self.n_classes
        table = (self.weight[:, None] * evidence)[self.groups.order]
        for rows, sums in self.groups.gather_parts(table):
            joint = np.ascontiguousarray(sums.T)
            joint += prior[:, None]
            if self.own_evidence is not None:
                joint += np.repeat(self.own_evidence[rows].T, self.subtypes, axis=0)
            if self.known is not None:
                codes = self.known[rows]
                other = (np.arange(n_classes)[:, None] != codes) & (codes >= 0)
                joint[np.repeat(other, self.subtypes, axis=0)] = -np.inf
            top = joint.max(axis=0)
            joint -= top
            np.exp(joint, out=joint)
            total = joint.sum(axis=0)
            joint /= total
            yield rows, joint, top, total

    def _by_model(self, per_group: Array) -> Array:
        """For each group the sum over its model's groups."""
        filled = np.flatnonzero(np.diff(self.offsets))  # a clustering may have no cluster
        sums = np.zeros((len(self.offsets) - 1, per_group.shape[1]))
        sums[filled] = np.add.reduceat(per_group, self.offsets[filled], axis=0)
        return sums[self.group_model]

    def _one_coin(self, sums: Array, totals: Array) -> Array:
        """The evidence where each classifier has one number, the probability of being right."""
        n_classes, smoothing = self.n_classes, self.smoothing
        right = self._by_model(sums[np.arange(len(sums)), self.own_class][:, None])
        of_all = totals.sum(axis=1, keepdims=True) + smoothing * min(n_classes, 2)
        skill = (right + smoothing) / of_all
        wrong = np.maximum((1 - skill) / max(n_classes - 1, 1), 1e-300)
        is_own = np.arange(n_classes) == self.own_class[:, None]
        return np.log(np.where(is_own, skill, wrong))

    def _log_prior(self, evidence: Array) -> float:
        """The logarithm of the prior that the smoothing stands for, up to a constant."""
        per_group = evidence.sum(axis=1)
        if len(self.coins):
            n_classes, own = evidence.shape[1], self.own_class
            right = evidence[np.arange(len(own)), own]
            wrong = evidence[np.arange(len(own)), (own + 1) % n_classes] + np.log(
                max(n_classes - 1, 1)
            )
            per_group[self.coins] = 0.0
            # The one number of a classifier occurs in each of its groups, and is counted in the
            # first only.
            first = self.coins[np.diff(self.group_model[self.coins], prepend=-1) != 0]
            per_group[first] = (right + wrong)[first]
        return self.smoothing * float(self.weight @ per_group)
