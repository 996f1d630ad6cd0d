"""Bayesian relatives of Dawid-Skene: voters with few votes are judged by what all voters do.

Every voter has a prior b over what it says when the truth is k (counts of votes it seems to have
cast already), and every class may have M subtypes of objects, easy ones and hard ones, on which
voters err differently (EBCC; M = 1 is iBCC). With E ln x = psi(x) - psi(sum of x), psi the digamma
function, and the mean votes counted by class as the prior a of the classes:

    mu_jkml = b_jkl + sum_i s_i q_ikm a_i,jl
    nu_k = a_k + sum_im s_i q_ikm     eta_km = .1/M + sum_i s_i q_ikm
    q_ikm ~ exp( E ln nu_k + E ln eta_km + sum_jl w_j a_i,jl E ln mu_jkml )

The rounds end when the answers z_ik = sum_m q_ikm move by less than `tol` on average.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy.special import digamma, expit, logit

from .._typing import Array
from ..votes import Votes, has_graders, only_rows, votes_per_model
from .em import ConfusionModel, Fit
from .membership import Membership, chunks, membership, sample_rows, scatter_to_votes

ON, OFF = 4.0, 1.0  # votes a voter seems to have cast for the true class, and for each other one
SAMPLE = 100_000  # rows that subtypes are learned from, where there are more than twice as many
ENOUGH = 1_000  # votes by which half of the voters or more are still to be judged in such a sample


class SubtypeModel(ConfusionModel):
    """iBCC and EBCC for some votes.

    Parameters
    ----------
    votes, groups, known, with_clusterings
        As for `ConfusionModel`.
    subtypes
        M, the number of subtypes of each class.
    pooled
        Take the prior of each voter from what all voters say, shifted by how much better or worse
        it is than they are; else it is strong on the diagonal.
    class_votes
        How many times the mean votes count as the prior a of the classes.
    """

    def __init__(
        self,
        votes: Votes,
        groups: Membership,
        known: Array | None = None,
        *,
        subtypes: int = 1,
        pooled: bool = True,
        with_clusterings: bool = False,
        class_votes: float = 1.0,
    ) -> None:
        super().__init__(votes, groups, known, with_clusterings=with_clusterings)
        self.subtypes, self.pooled, self.class_votes = subtypes, pooled, class_votes
        self.fixed = np.ones((votes.models.n_groups, votes.n_classes))
        self.classifiers = self._blocks("classifier")
        for block in self.classifiers:
            self.fixed[block] = _diagonal(votes.n_classes)
        self.graders = self._blocks("grader") if pooled else []

    def fit(self, start: Array, tol: float, max_iter: int) -> Fit:
        """Alternate the steps from a first answer until it moves by less than `tol` on average.

        At first the subtypes of an object are divided by how much its votes agree. With subtypes
        and very many distinct rows, voters with many votes are learned from a sample of the rows.
        """
        n_classes = self.n_classes
        labelled = None if self.known is None else self.known >= 0
        sample = sample_of(self.votes, labelled) if self.subtypes > 1 else None
        if sample is not None:
            learned = self._of_sample(*sample).fit(start[sample[1]], tol, max_iter)
            return replace(learned, proba=self.e_step(learned.evidence, learned.prior)[0])
        class_votes = (
            np.ones(n_classes)
            if has_graders(self.votes)
            else self.class_votes * (self.counted @ start)
        )
        kinds = _easy_and_hard(start, self.subtypes)
        mass = (start[:, :, None] * kinds[:, None, :]).reshape(len(start), -1)
        converged, n_iter = False, 0
        while not converged and n_iter < max_iter:
            n_iter += 1
            evidence, prior = self.variational_step(mass, class_votes)
            converged = self._update(mass, evidence, prior) < tol
        proba = mass.reshape(len(mass), n_classes, -1).sum(axis=2)
        return Fit(proba, evidence, prior, n_iter, converged)

    def variational_step(self, mass: Array, class_votes: Array) -> tuple[Array, Array]:
        """E ln of what each group says about each class and subtype, and E ln of their shares."""
        n_classes, subtypes = self.n_classes, self.subtypes
        counts = self.votes.counts
        sums = scatter_to_votes(self.votes, self.groups, counts[:, None] * mass)
        np.maximum(sums, 0.0, out=sums)
        by_class = sums.reshape(len(sums), n_classes, subtypes).sum(axis=2)
        posterior = sums + np.repeat(self._prior(by_class), subtypes, axis=1)
        totals = self._by_model(posterior)
        shares = (self.counted @ mass).reshape(n_classes, subtypes)
        # A class without any vote is unlikely, not impossible.
        class_mass = np.maximum(class_votes + shares.sum(axis=1), 0.01)
        type_mass = 0.1 / subtypes + shares
        if self.pooled and subtypes == 1:  # the posterior mean judges rare answers less harshly
            return np.log(posterior / totals), np.log(class_mass / class_mass.sum())
        prior = digamma(class_mass) - digamma(class_mass.sum())
        kinds = digamma(type_mass) - digamma(type_mass.sum(axis=1, keepdims=True))
        return digamma(posterior) - digamma(totals), (prior[:, None] + kinds).ravel()

    def _update(self, mass: Array, evidence: Array, prior: Array) -> float:
        """Replace q by the best one, some rows at a time; return by how much z moves on average."""
        moved, n_classes = 0.0, self.n_classes
        for rows, joint, *_ in self._posterior(evidence, prior):
            change = (joint - mass[rows].T).reshape(n_classes, self.subtypes, -1).sum(axis=1)
            moved += float(np.abs(change).sum(axis=0) @ self.votes.counts[rows])
            mass[rows] = joint.T
        return moved / self.total / 2

    def _of_sample(self, votes: Votes, rows: Array) -> SubtypeModel:
        """The same model of some rows."""
        clusterings = bool((self.weight[~self.votes.models.is_voter[self.group_model]] > 0).any())
        return SubtypeModel(
            votes,
            membership(votes),
            None if self.known is None else self.known[rows],
            with_clusterings=clusterings,
            subtypes=self.subtypes,
            pooled=self.pooled,
            class_votes=self.class_votes,
        )

    # ---- priors ----------------------------------------------------------------------------------

    def _blocks(self, kind: str) -> list[Array]:
        """The groups of voters of a kind, voters x answers, one table per set of answers."""
        voters: dict[tuple[Any, ...], list[int]] = {}
        for m, model in enumerate(self.votes.models):
            if model.kind == kind and self.votes.weights[m] > 0:
                voters.setdefault(tuple(model.labels.tolist()), []).append(m)
        return [
            self.offsets[numbers][:, None] + np.arange(len(labels))
            for labels, numbers in voters.items()
        ]

    def _prior(self, sums: Array) -> Array:
        """B, groups x classes, from the expected votes of each group on each class."""
        if not self.pooled:
            return self.fixed
        prior = self.fixed.copy()
        for block in self.classifiers:
            prior[block] = _pooled_prior(sums[block], self.weight[block[:, 0]])
            prior[block] += 1 / self.n_classes if self.subtypes > 1 else 0.0
        for block in self.graders:
            together = np.tensordot(self.weight[block[:, 0]], sums[block], axes=1)
            together += 1 / block.shape[1]
            prior[block] = (ON + OFF) * together / together.sum(axis=0)
        return prior


def sample_of(votes: Votes, kept: Array | None = None) -> tuple[Votes, Array] | None:
    """Rows that are enough to learn voters from: frequent and kept ones, and some for the rest.

    None where rows are few, or most voters have few votes.
    """
    share = SAMPLE / max(votes.n_rows, 1)
    voters = votes.models.is_voter & (votes.weights > 0)
    if share >= 0.5 or float(np.median(votes_per_model(votes)[voters])) * share < ENOUGH:
        return None
    rows, counts = sample_rows(votes, SAMPLE, kept)
    return replace(only_rows(votes, rows), counts=counts), rows


def _diagonal(n_classes: int) -> Array:
    return np.where(np.eye(n_classes, dtype=bool), ON, OFF)


def _easy_and_hard(start: Array, subtypes: int) -> Array:
    """How each object is divided among subtypes at first: by how much its votes agree."""
    if subtypes == 1:
        return np.ones((len(start), 1))
    n_classes = start.shape[1]
    easy = 0.1 + 0.8 * (n_classes * start.max(axis=1) - 1) / max(n_classes - 1, 1)
    return np.column_stack([easy, *[(1 - easy) / (subtypes - 1)] * (subtypes - 1)])


def _pooled_prior(sums: Array, weight: Array) -> Array:
    """The prior of each voter, voters x answers x classes, from their expected votes.

    It is the crowd's confusion matrix with the odds of being right multiplied by rho_j, by which
    the voter is right more often than the crowd would be on the same classes; a few votes of the
    crowd keep rho_j of a voter with few votes near 1.
    """
    n_voters, n_classes = len(sums), sums.shape[2]
    crowd = np.tensordot(weight, sums, axes=1) + _diagonal(n_classes)
    crowd /= crowd.sum(axis=0)
    own = np.arange(n_classes)
    hit = np.clip(crowd[own, own], 1e-6, 1 - 1e-6)
    votes = sums.sum(axis=1)  # voters x classes
    right, total = sums[:, own, own].sum(axis=1), votes.sum(axis=1)
    expected = votes @ hit
    mean = np.clip(weight @ expected / max(float(weight @ total), 1e-300), 1e-6, 1 - 1e-6)

    def odds(hits: Array) -> Array:
        return (hits + ON * mean) / (np.maximum(total - hits, 0.0) + ON * (1 - mean))

    skill = expit(logit(hit) + np.log(odds(right) / odds(expected))[:, None])  # voters x classes
    wrong = np.where(np.eye(n_classes, dtype=bool), 0.0, crowd) / (1 - hit)
    prior = wrong * (1 - skill)[:, None, :]
    prior[:, own, own] = skill
    return (ON + (n_classes - 1) * OFF) * prior.reshape(n_voters, n_classes, n_classes)


class CoinModel(ConfusionModel):
    """One skill per voter with a prior Beta(b) that is learned from all voters.

    The classes are equally likely beforehand. After a few rounds b moves by one step of Minka's
    fixed point per round, with one voter more whose votes are the first b. Clusters name no class,
    so a clustering that takes part has a distribution over its clusters for each class.
    """

    def __init__(self, *args: Any, learned: bool = True, **options: Any) -> None:
        super().__init__(*args, **options)
        self.learned = learned

    def fit(self, start: Array, tol: float, max_iter: int) -> Fit:
        """Alternate the steps from a first answer until it moves by less than `tol` on average."""
        n_classes, votes = self.n_classes, self.votes
        first = np.array([ON, max(n_classes - 1.0, OFF)])
        beta, proba, prior = first, start, np.full(n_classes, -np.log(n_classes))
        voters = np.flatnonzero(
            (votes_per_model(votes) > 0) & votes.models.is_classifier & (votes.weights > 0)
        )
        weight = np.append(votes.weights[voters], 1.0)
        clusters = np.flatnonzero((self.weight > 0) & ~votes.models.is_classifier[self.group_model])
        of_model = partial(np.bincount, self.group_model, minlength=len(votes.models))
        is_own = np.arange(n_classes) == self.own_class[:, None]
        converged, n_iter = False, 0
        while not converged and n_iter < max_iter:
            sums = scatter_to_votes(votes, self.groups, votes.counts[:, None] * proba)
            np.maximum(sums, 0.0, out=sums)
            right = of_model(sums[np.arange(len(sums)), self.own_class])
            wrong = np.maximum(of_model(sums.sum(axis=1)) - right, 0.0)
            counts = np.column_stack([right, wrong])
            if self.learned and n_iter >= 3:
                beta = _minka_step(beta, np.vstack([counts[voters], first]), weight)
            skill = digamma(counts + beta) - digamma((counts + beta).sum(axis=1, keepdims=True))
            skill[:, 1] -= np.log(max(n_classes - 1, 1))
            hit, miss = skill[self.group_model].T[:, :, None]
            evidence = np.where(is_own, hit, miss)
            if len(clusters):
                said = digamma(sums + OFF) - digamma(self._by_model(sums + OFF))
                evidence[clusters] = said[clusters]
            n_iter += 1
            before, (proba, _) = proba, self.e_step(evidence, prior)
            converged = float(mean_moves(votes.counts, before, proba).sum()) / 2 < tol
        return Fit(proba, evidence, prior, n_iter, converged)


def mean_moves(counts: Array, before: Array, after: Array) -> Array:
    """By how much the probability of each class moves on average, some rows at a time."""
    moves = np.zeros(before.shape[1])
    for rows in chunks(len(before)):
        moves += counts[rows] @ np.abs(after[rows] - before[rows])
    return moves / max(float(counts.sum()), 1e-300)


def _minka_step(beta: Array, counts: Array, weight: Array) -> Array:
    """The prior after one step towards the most likely one for these counts, voters x outcomes."""
    total = counts.sum(axis=1)
    up = weight @ (digamma(counts + beta) - digamma(beta))
    down = weight @ (digamma(total + beta.sum()) - digamma(beta.sum()))
    return np.maximum(beta * up / max(float(down), 1e-300), 0.01)
