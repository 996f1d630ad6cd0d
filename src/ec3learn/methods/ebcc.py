"""EBCC: voters who err together, because some objects are hard for all of them.

Li, Rubinstein and Cohn, "Exploiting worker correlation for label aggregation in crowdsourcing" (ICML 2019). Every class has a few
subtypes of objects, and every voter a confusion matrix per subtype; `algebra.bayes` has the formulas.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from .._checks import require_choice, require_integer, require_number, require_seed
from ..algebra.bayes import SubtypeModel
from ..algebra.membership import membership
from ..answer.mixtures import PanelRule
from ..answer.rule import KnownLabels, Rule, mean_votes
from ..votes import Votes
from .base import Answer, Method
from .dawid_skene import NO_VOTE, subtype_rule

BUDGET = 2e8  # memberships x classes x subtypes x rounds
LEAST_ROUNDS, MOST_ROUNDS = 30, 200


class EBCC(Method):
    """Combine voters by EBCC: Dawid-Skene with subtypes of objects, on which voters may err together.

    Parameters
    ----------
    subtypes : int
        The number of subtypes of each class; two (easy and hard objects) did as well as more on real crowds.
    prior : "diagonal" or "learned"
        What is thought of a voter before it votes, as in `DawidSkene`; the paper has the diagonal one.
    starts : int
        The first start divides the objects by how much their votes agree. Further ones are random, and the answers are averaged.
    tol : float
        Stop when the probabilities move by less on average.
    max_iter : int or None
        The most rounds; None takes 200, or fewer (at least 30) for large tables.
    random_state : int, Generator or None
        Seeds the further starts.

    Examples
    --------
    >>> from ec3learn import EBCC, Votes
    >>> votes = Votes.from_labels({"a": [0, 0, 1, 1, 0], "b": [0, 0, 1, 1, 1], "c": [1, 0, 1, 0, 0]})
    >>> EBCC().solve(votes).labels()
    array([0, 0, 1, 1, 0])
    """

    title = "EBCC"
    admits_prior = True
    reads_grades = True

    def __init__(
        self,
        subtypes: int = 2,
        prior: Literal["diagonal", "learned"] = "diagonal",
        starts: int = 1,
        tol: float = 1e-4,
        max_iter: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.subtypes = subtypes
        self.prior = prior
        self.starts = starts
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _check(self) -> None:
        require_integer("subtypes", self.subtypes, 1)
        require_choice("prior", self.prior, ("diagonal", "learned"))
        require_integer("starts", self.starts, 1)
        require_number("tol", self.tol, above=0)
        if self.max_iter is not None:
            require_integer("max_iter", self.max_iter, 1)
        require_seed("random_state", self.random_state)

    def _title(self, known: KnownLabels | None) -> str:
        return "EBCC with learned priors" if self.prior == "learned" else self.title

    def _answer(self, votes: Votes, known: KnownLabels | None) -> Answer:
        groups = membership(votes)
        model = SubtypeModel(
            votes, groups, None if known is None else known.codes, subtypes=self.subtypes, pooled=self.prior == "learned"
        )
        start, _, _ = mean_votes(votes, groups, votes.weights, known)
        rounds = self.max_iter
        if rounds is None:
            size = max(float(groups.gather(np.ones(groups.n_groups)).sum()), 1.0) * votes.n_classes * self.subtypes
            rounds = int(np.clip(BUDGET / size, LEAST_ROUNDS, MOST_ROUNDS))
        rng = np.random.default_rng(self.random_state)
        seeds = [None, *(rng.normal(size=(votes.n_groups, self.subtypes)) for _ in range(self.starts - 1))]
        fits = [model.fit(start, self.tol, rounds, tilt) for tilt in seeds]
        rules = [(f"start {s + 1}", subtype_rule(model, fit)) for s, fit in enumerate(fits)]
        rule: Rule = rules[0][1] if len(rules) == 1 else PanelRule(tuple(rules), rules[0][1].fallback)
        return Answer(
            np.mean([fit.proba for fit in fits], axis=0) if len(fits) > 1 else fits[0].proba,
            ~model.answered,
            rule,
            n_iter=max(fit.n_iter for fit in fits),
            converged=self.max_iter is None or all(fit.converged for fit in fits),
            lacking=NO_VOTE,
        )
