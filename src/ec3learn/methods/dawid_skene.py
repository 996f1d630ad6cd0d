"""Dawid-Skene: each voter has its own way of being wrong, and the true classes are what explains all votes best.

A voter says g when the truth is z with probability C_gz, independently of the others. EM finds the most likely C, the shares p of
the classes, and the distribution q_i of each object's truth:

    E:  q_iz ~ p_z prod_g C_gz^(w a_ig)        M:  C_gz ~ t + sum_i s_i q_iz a_ig,    p_z ~ sum_i s_i q_iz

Everything is in logarithms and over distinct rows: a step gathers one table over an object's groups and scatters it back. A soft
vote a_ig counts by its shares, a model's weight w as that many equal votes, and the smoothing t is a prior that keeps C above 0.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .._checks import require_bool, require_choice, require_integer, require_number
from ..algebra.membership import Membership, membership, scatter_to_votes
from ..answer.rule import VOTES, EvidenceRule, KnownLabels, Term, mean_votes
from ..votes import Votes
from .base import Answer, Method

Array = npt.NDArray[Any]


class DawidSkene(Method):
    """Combine voters by Dawid-Skene: the confusions of each voter and the true classes are found together.

    It fits annotators who are biased, not only unreliable, and needs enough votes a voter to learn a table of its confusions. It
    takes voters to err independently of each other given the class: models trained on the same data hardly do, so it grows too
    sure of them.

    Parameters
    ----------
    one_coin : bool
        One number a classifier instead of a table: it is right with that probability, and wrong in every way alike.
    clusterings : "ignore" or "voters"
        "voters" takes clusterings as voters whose labels have no names: each cluster has its own distribution over the classes.
        That assumes that clusterings too err independently of all others given the class. Clusterings of the same features do
        not, and several of them can outvote the classifiers.
    smoothing : float
        Votes added to each count of how often a voter says what, so that none is thought impossible.
    tol : float
        Stop when the mean log-likelihood of an object rises by less.
    max_iter : int
        How many rounds at most.

    Examples
    --------
    >>> from ec3learn import DawidSkene, Votes
    >>> votes = Votes.from_labels({"a": [0, 0, 1, 1, 0], "b": [0, 0, 1, 1, 1], "c": [1, 1, 0, 0, 1]})
    >>> DawidSkene().solve(votes).labels()
    array([0, 0, 1, 1, 0])
    """

    title = "Dawid-Skene"

    def __init__(
        self,
        one_coin: bool = False,
        clusterings: Literal["ignore", "voters"] = "ignore",
        smoothing: float = 0.01,
        tol: float = 1e-8,
        max_iter: int = 1000,
    ) -> None:
        self.one_coin = one_coin
        self.clusterings = clusterings
        self.smoothing = smoothing
        self.tol = tol
        self.max_iter = max_iter

    def _check(self) -> None:
        require_bool("one_coin", self.one_coin)
        require_choice("clusterings", self.clusterings, ("ignore", "voters"))
        require_number("smoothing", self.smoothing, above=0)
        require_number("tol", self.tol, above=0)
        require_integer("max_iter", self.max_iter, 1)

    def _title(self, known: KnownLabels | None) -> str:
        return "Dawid-Skene, one coin" if self.one_coin else self.title

    def _answer(self, votes: Votes, known: KnownLabels | None) -> Answer:
        voters = Voters(votes, membership(votes), known, self)
        proba, _, _ = mean_votes(votes, voters.groups, votes.weights, known)
        history: list[float] = []
        converged = False
        while not converged and len(history) < self.max_iter:
            evidence, prior = voters.learn(proba)
            proba, likelihood = voters.judge(evidence, prior)
            history.append(likelihood)
            converged = len(history) > 1 and history[-1] - history[-2] < self.tol * voters.total
        rule = EvidenceRule((voters.term(evidence),), np.exp(prior))
        silent = voters.weight_of_rows <= 0
        if known is not None:
            silent &= ~known.labelled
        return Answer(
            proba,
            silent,
            rule,
            objective=-history[-1],
            n_iter=len(history),
            converged=converged,
            history=[-value for value in history],
            lacking="no vote and got the shares of the classes",
        )


class Voters:
    """The steps of EM for some votes."""

    def __init__(self, votes: Votes, groups: Membership, known: KnownLabels | None, method: DawidSkene) -> None:
        self.votes, self.groups, self.known, self.method = votes, groups, known, method
        self.classifier = votes.is_classifier
        speaks = votes.weights > 0
        if method.clusterings == "ignore":
            speaks &= self.classifier
        self.group_model, self.group_class = votes.group_model, votes.group_class  # also of groups nobody is in, for new votes
        self.weight = np.where(speaks, votes.weights, 0.0)[self.group_model]
        self.size = np.array([model.n_groups for model in votes.models])[self.group_model]
        self.weight_of_rows = groups.gather(self.weight[groups.order])
        self.total = max(float(votes.counts.sum()), 1e-300)
        spoken_about = self.weight_of_rows > 0
        self.counted = votes.counts * (spoken_about if known is None else spoken_about | known.labelled)

    def learn(self, proba: Array) -> tuple[Array, Array]:
        """Return the logarithms of the confusions C and of the shares of the classes that fit the truth best (M)."""
        smoothing, n_classes = self.method.smoothing, self.votes.n_classes
        heard = np.maximum(scatter_to_votes(self.votes, self.groups, self.votes.counts[:, None] * proba), 0.0)
        mass = self.counted @ proba
        prior = np.log(np.maximum(mass + 1e-12, 1e-12)) - np.log(mass.sum() + 1e-12 * n_classes)
        totals = self._by_model(heard)
        evidence = np.log((heard + smoothing) / (totals + smoothing * self.size[:, None]))
        if self.method.one_coin:
            coins = np.flatnonzero(self.classifier[self.group_model])
            evidence[coins] = self._coins(heard)[coins]
        return evidence, prior

    def _by_model(self, per_group: Array) -> Array:
        """Return for each group the sum over its model's groups."""
        sums = np.zeros((len(self.votes.models), per_group.shape[1]))
        np.add.at(sums, self.group_model, per_group)
        return sums[self.group_model]

    def _coins(self, heard: Array) -> Array:
        """Return the logarithms of C where each classifier has one number, its skill."""
        smoothing, n_classes = self.method.smoothing, self.votes.n_classes
        own = np.maximum(self.group_class, 0)
        right = heard[np.arange(len(own)), own][:, None]
        skill = (self._by_model(right) + smoothing) / (
            self._by_model(heard).sum(axis=1, keepdims=True) + smoothing * min(n_classes, 2)
        )
        wrong = (1 - skill) / max(n_classes - 1, 1)
        return np.log(np.where(np.arange(n_classes) == own[:, None], skill, np.maximum(wrong, 1e-300)))

    def judge(self, evidence: Array, prior: Array) -> tuple[Array, float]:
        """Return the distribution of each row's truth (E), and the log-likelihood of all votes with the prior of C."""
        proba = np.empty((self.groups.n_rows, self.votes.n_classes))
        likelihood = self._log_prior(evidence)
        for rows, sums in self.groups.gather_parts((self.weight[:, None] * evidence)[self.groups.order]):
            joint = np.ascontiguousarray(sums.T)  # classes x rows: few long rows are quicker than many short ones
            joint += prior[:, None]
            if self.known is not None:
                hidden = self.known.one_hot(self.votes.n_classes, rows).T == 0
                joint[hidden & self.known.labelled[rows]] = -np.inf
            top = joint.max(axis=0)
            joint -= top
            np.exp(joint, out=joint)
            total = joint.sum(axis=0)
            joint /= total
            likelihood += float(self.votes.counts[rows] @ (np.log(total) + top))
            proba[rows] = joint.T
        return proba, likelihood

    def _log_prior(self, evidence: Array) -> float:
        """Return the logarithm of the prior that the smoothing stands for, up to a constant."""
        per_group = evidence.sum(axis=1)
        if self.method.one_coin:
            coins = self.classifier[self.group_model]
            own = np.maximum(self.group_class, 0)
            right = evidence[np.arange(len(own)), own]
            other = evidence[np.arange(len(own)), (own + 1) % evidence.shape[1]] + np.log(max(evidence.shape[1] - 1, 1))
            # one number a classifier: it stands in each of its groups, and is counted once
            once = np.unique(self.group_model, return_index=True)[1]
            counted = np.zeros(len(own), dtype=bool)
            counted[once] = True
            per_group = np.where(coins, np.where(counted, right + other, 0.0), per_group)
        return self.method.smoothing * float(self.weight @ per_group)

    def term(self, evidence: Array) -> Term:
        """Return what each group says for each class."""
        speaking = np.flatnonzero(self.weight > 0)
        return Term(VOTES, 1.0, speaking, self.weight[speaking], evidence[speaking])
