"""Pooled vote: what `consensus="auto"` does with the votes of base models.

Each classifier has a weight w_j, and each class a number b_k, that labelled rows teach:

    ln P_k = b_k + sum_j w_j ln((1 - d) y_jk + d / K) + const

y are the votes and d is a doubt: nobody who is sure and wrong decides alone. The numbers have
normal priors, so that a few labels change little: w_j near 1 / (number of classifiers) and b_k near
0.
Where clusterings are, the answer is the mean of this one and of EC3's, in which rows are pulled to
their groups. The more labels there are, the less does EC3 count.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from .._text import count
from .._typing import Array
from ..algebra.membership import entries, membership
from ..answer.mixtures import LogPoolRule, PanelRule, doubted_logs
from ..answer.notes import Note
from ..answer.rule import KnownLabels
from ..methods.base import Answer, Method
from ..methods.ec3.ec3 import EC3
from ..methods.voting import NO_VOTE
from ..votes import Votes, has_clusterings

# Measured on 15 data sets with 5, 20 and all labels per class (`benchmarks/estimator.py`).
WEIGHT_PRECISION, OFFSET_PRECISION = 20.0, 10.0  # of the priors of w and b
LABELS_FOR_HALF = 5.0  # labels per class with which EC3 has half of the answer at most


@dataclass(eq=False, repr=False)
class PooledVote(Method):
    """Pool the logarithms of votes, each classifier with a weight that known labels teach.

    The classifiers must not have been trained on the objects with known labels: their votes on
    these must be out of fold. Without known labels all classifiers count alike.

    Parameters
    ----------
    clusterings : bool
        Whether clusterings count, by EC3, where there are some.

    Examples
    --------
    >>> import numpy as np
    >>> from ec3learn import Votes
    >>> from ec3learn.estimator import PooledVote
    >>> truth = np.arange(200) % 2
    >>> good = np.where(truth == 1, 0.7, 0.3)
    >>> guess = np.random.default_rng(0).random(200)
    >>> votes = Votes.from_probabilities({"good": good, "guess": guess})
    >>> consensus = PooledVote().solve(votes, known=([*range(100)], truth[:100]))
    >>> consensus.score(truth)
    1.0
    """

    title = "Pooled vote"

    clusterings: bool = True

    def _answer(self, votes: Votes, known: KnownLabels | None) -> Answer:
        voters = np.flatnonzero(votes.models.is_classifier & (votes.weights > 0))
        rule, n_labels = _learned(votes, voters, known)
        weights = votes.weights.copy()
        weights[voters] *= np.maximum(len(voters) * rule.voter_weights, 0.0)
        answer = rule.answers(membership(votes), known)
        largest = np.argsort(-rule.voter_weights, kind="stable")[:3]
        names = [f"{votes.models[voters[j]].name} {rule.voter_weights[j]:.2f}" for j in largest]
        taught = f"{count(round(n_labels), 'label')} taught a weight per classifier, the largest"
        note = Note("choice", f"The votes were pooled: {taught} {', '.join(names)}.")
        notes = () if known is None else (note,)
        pooled = Answer(*answer, rule, weights=weights, lacking=NO_VOTE, notes=notes)
        if not self.clusterings or not has_clusterings(votes):
            return pooled
        alone = PooledVote(clusterings=False)
        smooth = EC3(alpha=0.5, beta=0.0, gamma=0.5, delta=0.0, towards=alone)
        refined = smooth.answer(votes, known)
        assert refined.rule is not None
        share = 1 / (1 + max(n_labels / votes.n_classes / LABELS_FOR_HALF, 1))
        shares = np.array([1 - share, share])
        both = PanelRule((("pool", rule), ("EC3", refined.rule)), rule.fallback, shares)
        proba, unanswered = both.answers(membership(votes), known)
        return replace(pooled, proba=proba, unanswered=unanswered, rule=both)


def _learned(votes: Votes, voters: Array, known: KnownLabels | None) -> tuple[LogPoolRule, float]:
    """The pool, and how many labels taught it."""
    groups = np.flatnonzero(np.isin(votes.models.group_model, voters))
    codes = np.full(len(votes.counts), -1) if known is None else known.codes
    rows = np.flatnonzero((codes >= 0) & (votes.counts > 0))
    shares = (
        entries(votes)[rows][:, groups].toarray().reshape(len(rows), len(voters), votes.n_classes)
    )
    voted = shares.any(axis=(1, 2))
    counts = votes.counts[rows][voted]
    weights, offsets = learn_pool(doubted_logs(shares[voted]), codes[rows][voted], counts)
    rule = LogPoolRule(groups, np.eye(len(groups)), softmax(offsets), weights)
    return rule, float(counts.sum())


def learn_pool(logs: Array, codes: Array, counts: Array) -> tuple[Array, Array]:
    """The weights of voters and numbers of classes that explain the classes of rows best.

    `logs` are rows x voters x classes.
    """
    n_rows, n_voters, n_classes = logs.shape
    truth, centre = np.eye(n_classes)[codes], np.repeat([1 / n_voters, 0.0], [n_voters, n_classes])
    precision = np.repeat([WEIGHT_PRECISION, OFFSET_PRECISION], [n_voters, n_classes])

    def cost(numbers: Array) -> tuple[float, Array]:
        weights, offsets = numbers[:n_voters], numbers[n_voters:]
        fit = log_softmax(np.einsum("j,ijk->ik", weights, logs) + offsets, axis=1)
        residual = counts[:, None] * (np.exp(fit) - truth)
        gradient = np.r_[np.einsum("ijk,ik->j", logs, residual), residual.sum(axis=0)]
        away = numbers - centre
        lost = precision @ away**2 / 2 - counts @ fit[np.arange(n_rows), codes]
        return float(lost), gradient + precision * away

    found = minimize(cost, centre, jac=True, method="L-BFGS-B").x
    return found[:n_voters], found[n_voters:]
