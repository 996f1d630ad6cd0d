"""BWA by Li, Rubinstein and Cohn (ICML 2019): voters who lie near the others weigh more.

Every voter has a precision per class, learned from how far it lies from the others. Class by class,
one against the rest, with y_ij = 1 where voter j names the class:

    v_j = (a + N_j) / (b + sum_i (z_i - y_ij)^2)
    z_i = (L mean(z) + sum_j v_j y_ij) / (L + sum_j v_j)

N_j counts the votes of j. b = a 4 (1 - 1/K) sum_i W_i z_i (1 - z_i) / votes is taken at the mean
vote, with W_i votes on i. The results of the classes are normalised. An object's own prior counts
as some votes more. A soft vote counts by its shares, in the squares too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._typing import Array
from ..algebra.bayes import mean_moves
from ..algebra.em import require_small
from ..algebra.membership import (
    Membership,
    membership,
    normalised,
    scatter_to_votes,
    squares_of_votes,
)
from ..answer.mixtures import PrecisionRule
from ..answer.rule import KnownLabels, mean_votes
from ..votes import Votes, group_meaning
from .base import Answer, Method
from .parameters import AT_LEAST_ONE, POSITIVE
from .voting import NO_VOTE


@dataclass(eq=False, repr=False)
class BWA(Method):
    """Combine voters by Bayesian weighted averaging: voters who lie near the others weigh more.

    Parameters
    ----------
    prior_votes : float
        a: how many votes the prior of a voter's precision is worth.
    ballast : float
        L: how hard the mean answer of all objects pulls each object.
    tol : float
        Stop when the answers of every class move by less on average.
    max_iter : int
        The most rounds.

    Examples
    --------
    >>> from ec3learn import BWA, Votes
    >>> said = {"a": [0, 0, 1, 1, 0], "b": [0, 0, 1, 1, 1], "c": [1, 0, 1, 0, 1]}
    >>> votes = Votes.from_labels(said)
    >>> BWA().solve(votes).labels()
    array([0, 0, 1, 1, 1])
    """

    title = "BWA"
    admits_prior = True
    learns_voters = True
    allowed: ClassVar = {
        "prior_votes": POSITIVE,
        "ballast": POSITIVE,
        "tol": POSITIVE,
        "max_iter": AT_LEAST_ONE,
    }

    prior_votes: float = 15.0
    ballast: float = 1.0
    tol: float = 1e-4
    max_iter: int = 100

    def _answer(self, votes: Votes, known: KnownLabels | None) -> Answer:
        groups = membership(votes)
        means, _, _ = mean_votes(votes, groups, votes.weights, known)
        model = _Precisions(votes, groups, means, float(self.prior_votes), float(self.ballast))
        converged, n_iter = False, 0
        while not converged and n_iter < self.max_iter:
            n_iter += 1
            before, rule = means, model.rule(means)
            means = model.means(rule)
            if known is not None:
                means[known.labelled] = known.one_hot(votes.n_classes)[known.labelled]
            converged = float(mean_moves(votes.counts, before, means).max()) < self.tol
        proba, unanswered = rule.answers(groups, known)
        return Answer(proba, unanswered, rule, n_iter=n_iter, converged=converged, lacking=NO_VOTE)


class _Precisions:
    """The steps, all classes at once; `speaking` are the groups of voters that take part."""

    def __init__(
        self, votes: Votes, groups: Membership, means: Array, prior_votes: float, ballast: float
    ) -> None:
        require_small(votes)
        self.votes, self.groups = votes, groups
        self.prior_votes, self.ballast = prior_votes, ballast
        weight = (votes.models.is_classifier * votes.weights)[votes.models.group_model]
        self.speaking = np.flatnonzero(weight > 0)
        self.said = group_meaning(votes)[self.speaking].toarray()
        self.voter = votes.models.group_model[self.speaking]
        sums = scatter_to_votes(votes, groups, votes.counts)
        self.squares = squares_of_votes(votes, sums)[self.speaking, None]
        self.n_votes = self._of_voter(sums[self.speaking, None])  # N_j
        cast = votes.counts * groups.gather(weight[groups.order])  # W_i
        spread = cast @ (means * (1 - means)) / max(float(cast.sum()), 1e-300)
        rate = prior_votes * 4 * (1 - 1 / votes.n_classes) * spread
        self.rate = np.maximum(rate, 1e-3 * prior_votes)  # b, above 0 where all votes agree

    def rule(self, means: Array) -> PrecisionRule:
        """The weighted means by the precisions of the voters, given the means so far."""
        near, far = self.said * self._scatter(means), self._scatter(means**2)
        # sum_i (z_i - y_ij)^2
        distance = self._of_voter(far - 2 * near + self.squares * self.said)
        precision = (self.prior_votes + self.n_votes) / (self.rate + np.maximum(distance, 0.0))
        pull = self.votes.weights[self.voter][:, None] * precision[self.voter]
        own = self.votes.counts @ means / max(float(self.votes.counts.sum()), 1e-300)
        fallback = normalised(np.maximum(own, 1e-12))
        return PrecisionRule(
            self.speaking,
            np.hstack([pull * self.said, pull]),
            fallback,
            own,
            self.ballast,
            self._prior_precision(precision),
        )

    def _prior_precision(self, precision: Array) -> Array | None:
        """The precision of the rows' own priors: that of as many mean votes as they are worth."""
        if self.votes.prior is None:
            return None
        cast = self.n_votes[:, 0] * self.votes.weights
        return self.votes.prior.learned.weight * (cast @ precision) / max(float(cast.sum()), 1e-300)

    def means(self, rule: PrecisionRule) -> Array:
        """Z of each class alone, not yet normalised."""
        table = np.zeros((self.votes.models.n_groups, rule.table.shape[1]))
        table[rule.groups] = rule.table
        means = np.empty((self.votes.n_rows, self.votes.n_classes))
        prior = self.votes.prior
        for rows, sums in self.groups.gather_parts(table[self.groups.order]):
            means[rows] = rule.means(sums, None if prior is None else prior.take(rows))
        return means

    def _scatter(self, values: Array) -> Array:
        counted = self.votes.counts[:, None] * values
        return scatter_to_votes(self.votes, self.groups, counted)[self.speaking]

    def _of_voter(self, per_group: Array) -> Array:
        sums = np.zeros((len(self.votes.models), per_group.shape[1]))
        np.add.at(sums, self.voter, per_group)
        return sums
