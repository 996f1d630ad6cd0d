"""Learning from known labels how to combine votes: greedy selection of voters, and a logistic regression over their votes.

Both use the votes on objects with known labels, so those votes must not come from models that were trained on these labels
(`EC3Classifier` takes care of that with out-of-fold votes).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from .._checks import InputError, require_number
from .._text import arg
from ..algebra.membership import entries, membership
from ..answer.rule import VOTES, EvidenceRule, KnownLabels, Term
from ..votes import Votes
from .base import Answer, Method

Array = npt.NDArray[Any]


class StackedVote(Method):
    """Learn from known labels what each vote says about the classes, by a logistic regression (stacking).

    Parameters
    ----------
    C : float
        The inverse of the penalty: larger values fit the labels more closely.

    Examples
    --------
    >>> from ec3learn import StackedVote, Votes
    >>> votes = Votes.from_labels({"good": [0, 1, 0, 1, 0], "liar": [1, 0, 1, 0, 1]})
    >>> StackedVote().solve(votes, known={0: 0, 1: 1, 2: 0, 3: 1}).labels()
    array([0, 1, 0, 1, 0])
    """

    title = "Stacked vote"

    def __init__(self, C: float = 1.0) -> None:
        self.C = C

    def _check(self) -> None:
        require_number("C", self.C, above=0)

    def _answer(self, votes: Votes, known: KnownLabels | None) -> Answer:
        if known is None:
            raise InputError(
                "known",
                phrase=f"{self.title} needs known labels, got none",
                remedy=f"Pass {arg('known')}, or take a method that learns without labels.",
            )
        voting = np.flatnonzero(votes.is_classifier[votes.group_model])
        shares = entries(votes)[:, voting]
        labelled = np.flatnonzero(known.labelled)
        coefficients, intercept = _regression(
            shares[labelled], known.codes[labelled], votes.counts[labelled], votes.n_classes, self.C
        )
        term = Term(VOTES, 1.0, voting, np.ones(len(voting)), coefficients)
        rule = EvidenceRule((term,), softmax(intercept))
        proba, unanswered = rule.all_answers(membership(votes), known)
        return Answer(proba, unanswered, rule, lacking="no vote and got the shares of the known labels")


def _regression(shares: Any, codes: Array, counts: Array, n_classes: int, C: float) -> tuple[Array, Array]:
    """Return the evidence of each group for each class, groups x classes, and the intercepts; unlabelled classes get none."""
    found = np.unique(codes)
    coefficients, intercept = np.zeros((shares.shape[1], n_classes)), np.full(n_classes, -30.0)
    if len(found) == 1:
        intercept[found] = 0.0
        return coefficients, intercept
    from sklearn.linear_model import LogisticRegression  # slow to load, and only this needs it

    model = LogisticRegression(C=C, max_iter=1000).fit(shares, codes, sample_weight=counts)
    if len(found) == 2:
        coefficients[:, found[1]] = model.coef_[0]
        intercept[found] = [0.0, model.intercept_[0]]
    else:
        coefficients[:, found] = model.coef_.T
        intercept[found] = model.intercept_
    return coefficients, intercept


def greedy_weights(shares: Array, codes: Array, score: Any, n_rounds: int = 50, patience: int = 10) -> tuple[Array, list[float]]:
    """Return how often each model is taken by greedy forward selection with replacement, and the score after each round.

    `shares` are models x objects x classes. Each round takes the model that raises the score of the mean most, beginning with the
    best model alone. `patience` rounds without a new best score end the selection, and are undone.
    """
    n_models = len(shares)
    taken: list[int] = []
    total = np.zeros(shares.shape[1:])
    history: list[float] = []
    best_round = 0
    for n_taken in range(n_rounds):
        scores = [score((total + own) / (n_taken + 1), codes) for own in shares]
        m = int(np.argmax(scores))
        taken.append(m)
        total = total + shares[m]
        history.append(float(scores[m]))
        if history[-1] > history[best_round] + 1e-9 or n_taken == 0:
            best_round = n_taken
        elif n_taken - best_round >= patience:
            break
    counts = np.bincount(taken[: best_round + 1], minlength=n_models)
    return counts / counts.sum() * n_models, history[: best_round + 1]
