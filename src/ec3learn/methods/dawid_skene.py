"""Dawid-Skene: each voter has its own way of being wrong, and the true classes are what explains all votes best.

`ec3learn.algebra.em` has the model and the steps of EM.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from .._checks import require_bool, require_choice, require_integer, require_number
from ..algebra.em import ConfusionModel
from ..algebra.membership import membership
from ..answer.rule import VOTES, EvidenceRule, KnownLabels, Term, mean_votes
from ..votes import Votes
from .base import Answer, Method


class DawidSkene(Method):
    """Combine voters by Dawid-Skene: the confusion matrix of each voter and the true classes are found together.

    It fits annotators who are biased, not only unreliable, and needs enough votes per voter to learn a confusion matrix. It
    assumes that voters err independently of each other given the class. Models trained on the same data hardly do, so it grows
    too sure of them.

    Parameters
    ----------
    one_coin : bool
        Learn one number per classifier instead of a confusion matrix: it is right with that probability, and wrong in every way
        alike.
    clusterings : "ignore" or "voters"
        "voters" takes clusterings as voters whose labels have no names: each cluster has its own distribution over the classes.
        That assumes that clusterings too err independently of all others given the class. Clusterings of the same features do
        not, and several of them can outvote the classifiers.
    smoothing : float
        Votes added to each count of how often a voter says what, so that nothing counts as impossible.
    tol : float
        Stop when the mean log-likelihood of an object rises by less.
    max_iter : int
        The most rounds of EM.

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
        groups = membership(votes)
        model = ConfusionModel(
            votes,
            groups,
            None if known is None else known.codes,
            one_coin=bool(self.one_coin),
            with_clusterings=self.clusterings == "voters",
            smoothing=self.smoothing,
        )
        fit = model.fit(mean_votes(votes, groups, votes.weights, known)[0], self.tol, self.max_iter)
        voting = np.flatnonzero(model.weight > 0)
        term = Term(VOTES, 1.0, voting, model.weight[voting], fit.evidence[voting])
        return Answer(
            fit.proba,
            ~model.answered,
            EvidenceRule((term,), np.exp(fit.prior)),
            objective=-fit.likelihoods[-1],
            n_iter=len(fit.likelihoods),
            converged=fit.converged,
            history=[-value for value in fit.likelihoods],
            lacking="no vote and got the shares of the classes",
        )
