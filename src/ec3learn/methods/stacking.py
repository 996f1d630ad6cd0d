"""Learning from known labels how to combine votes: weights of voters, a logistic regression over votes, and a blend of methods.

All use the votes on objects with known labels, so those votes must not come from models that were trained on these labels
(`EC3Classifier` takes care of that with out-of-fold votes).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from .._checks import InputError, require_choice, require_number
from .._text import arg
from .._typing import Array
from ..algebra.linear import evenly, normalised
from ..algebra.membership import entries, membership
from ..answer.mixtures import LogPoolRule, PanelRule, SubtypeRule, sharpened
from ..answer.rule import KnownLabels, Rule
from ..votes import Votes
from ..votes.prior import log_shares
from .base import Answer, Method

NO_VOTE = "no vote and got the shares of the known labels"
MOST_LABELS = 20_000  # to learn a few numbers from
PRIOR_PENALTY = 0.1  # of the numbers of the classes, in units of that of the voters
SIMPLEX_ROUNDS = 200


@dataclass(eq=False, repr=False)
class StackedVote(Method):
    """Learn from known labels what each vote says about the classes, by a logistic regression (stacking).

    Parameters
    ----------
    C : float
        The inverse of the penalty: larger values fit the labels more closely.
    on : "votes", "labels" or "log-odds"
        What the regression is on. "votes" learns a number for each voter, class it says, and class. "labels" does the same, but
        takes a soft vote for its most probable class only. "log-odds" learns one weight per voter, for the logarithms of its
        probabilities, and one number per class: it needs fewer labels, and suits soft votes.

    Examples
    --------
    >>> from ec3learn import StackedVote, Votes
    >>> votes = Votes.from_labels({"good": [0, 1, 0, 1, 0], "liar": [1, 0, 1, 0, 1]})
    >>> StackedVote().solve(votes, known={0: 0, 1: 1, 2: 0, 3: 1}).labels()
    array([0, 1, 0, 1, 0])
    """

    title = "Stacked vote"

    C: float = 1.0
    on: Literal["votes", "labels", "log-odds"] = "votes"

    def _check(self) -> None:
        require_number("C", self.C, above=0)
        require_choice("on", self.on, ("votes", "labels", "log-odds"))

    def _title(self, known: KnownLabels | None) -> str:
        return self.title if self.on == "votes" else f"{self.title} on {self.on}"

    def _answer(self, votes: Votes, known: KnownLabels | None) -> Answer:
        if known is None:
            raise InputError(
                "known",
                phrase=f"{self.title} needs known labels, got none",
                remedy=f"Pass {arg('known')}, or take a method that learns without labels.",
            )
        voting = np.flatnonzero(_taking_part(votes)[votes.group_model])
        labelled = _with_votes(votes, voting, np.flatnonzero(known.labelled))
        if self.on == "log-odds":
            rule: Rule = self._learn_pool(votes, voting, labelled, known.codes[labelled])
            return Answer(*rule.all_answers(membership(votes), known), rule, lacking=NO_VOTE)
        hard = self.on == "labels" and not votes.is_hard
        votes = votes.hardened() if hard else votes
        shares = entries(votes)[:, voting]
        coefficients, intercept = _regression(
            shares[labelled], known.codes[labelled], votes.counts[labelled], votes.n_classes, self.C
        )
        rule = SubtypeRule(voting, coefficients, softmax(intercept), log_softmax(intercept), hard_votes=hard)
        return Answer(*rule.all_answers(membership(votes), known), rule, lacking=NO_VOTE)

    def _learn_pool(self, votes: Votes, voting: Array, labelled: Array, codes: Array) -> LogPoolRule:
        """Return the pool of logarithms with the least penalised log loss on labelled rows."""
        models = np.flatnonzero(_taking_part(votes))
        some = evenly(len(labelled), MOST_LABELS)
        rows, codes, counts = labelled[some], codes[some], votes.counts[labelled[some]]
        matrix = entries(votes)[rows]
        logs = np.empty((len(models), len(rows), votes.n_classes))
        for j, m in enumerate(models):
            shares = matrix[:, votes.offsets[m] : votes.offsets[m + 1]].toarray()
            logs[j] = shares.any(axis=1)[:, None] * log_shares(shares)
        weights, prior = _pool_weights(logs, codes, counts, self.C)
        says = np.eye(len(voting))  # each group is what one voter says, one class after the other
        return LogPoolRule(voting, says, softmax(prior), weights)


def _taking_part(votes: Votes) -> Array:
    """Return which base models are classifiers with a weight above 0."""
    return np.asarray(votes.is_classifier & (votes.weights > 0))


def _with_votes(votes: Votes, voting: Array, rows: Array) -> Array:
    """Return the rows that have votes, or all if none has: what others are says nothing about the voters."""
    voted = np.asarray(entries(votes)[rows][:, voting].sum(axis=1)).ravel() > 0
    return rows[voted] if voted.any() else rows


def _regression(shares: Any, codes: Array, counts: Array, n_classes: int, C: float) -> tuple[Array, Array]:
    """Return the evidence of each group for each class, groups x classes, and the intercepts; unlabelled classes get none."""
    found = np.unique(codes)
    coefficients, intercept = np.zeros((shares.shape[1], n_classes)), np.full(n_classes, -30.0)
    if len(found) == 1 or not shares.shape[1]:  # nothing to tell the classes apart by
        intercept[found] = np.log(np.maximum(normalised(np.bincount(codes, weights=counts)[found]), 1e-12))
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


def _pool_weights(logs: Array, codes: Array, counts: Array, C: float) -> tuple[Array, Array]:
    """Return one weight per voter, held near their mean vote by the penalty, and one number per class, held near 0.

    `logs` are voters x rows x classes.
    """
    n_voters, n_rows, n_classes = logs.shape
    one_hot = np.eye(n_classes)[codes]
    even, penalty = 1 / max(n_voters, 1), np.repeat([1 / C, PRIOR_PENALTY / C], [n_voters, n_classes])
    centre = np.repeat([even, 0.0], [n_voters, n_classes])

    def cost(numbers: Array) -> tuple[float, Array]:
        logits = log_softmax(np.tensordot(numbers[:n_voters], logs, 1) + numbers[n_voters:], axis=1)
        residual = counts[:, None] * (np.exp(logits) - one_hot)
        away = numbers - centre
        slope = np.concatenate([np.tensordot(logs, residual, 2), residual.sum(axis=0)])
        return float(-counts @ logits[np.arange(n_rows), codes] + penalty @ away**2 / 2), slope + penalty * away

    found = minimize(cost, centre, jac=True, method="L-BFGS-B").x
    return found[:n_voters], found[n_voters:]


def true_shares(votes: Votes, known: KnownLabels) -> tuple[Array, Array]:
    """Return what each classifier gives to the known labels of at most `MOST_LABELS` rows, and how often each row occurs."""
    rows = np.flatnonzero(known.labelled)
    rows = rows[evenly(len(rows), MOST_LABELS)]
    matrix = entries(votes)[rows]
    columns = [votes.offsets[m] + known.codes[rows] for m in np.flatnonzero(votes.is_classifier)]
    return np.stack([np.asarray(matrix[np.arange(len(rows)), own]).ravel() for own in columns]), votes.counts[rows]


def simplex_weights(shares: Array, counts: Array) -> Array:
    """Return the weights, which sum to 1, of the weighted mean with the least log loss.

    `shares` are what each model gives to the true class, models x objects. The weights are found by expectation and maximisation,
    beginning with equal ones, with one object's worth of equal weights added.
    """
    weights, shares = np.full(len(shares), 1 / len(shares)), np.maximum(shares, 1e-12)
    for _ in range(SIMPLEX_ROUNDS):
        new = weights * (shares @ (counts / (weights @ shares))) + 1 / len(shares)
        new /= new.sum()
        moved, weights = np.abs(new - weights).max(), new
        if moved < 1e-4:
            break
    return weights


@dataclass(eq=False, repr=False)
class Blend(Method):
    """Take the weighted mean of other methods' probabilities, made more or less sure.

    The members count by `shares`, or all alike. The logarithms of the mean are multiplied by `slope` (above 1 the answer is more
    sure, below 1 less), and `offsets` are added to them, one per class.
    """

    title = "Blend"

    members: list[Method]
    shares: list[float] | None = None
    slope: float = 1.0
    offsets: list[float] | None = None

    def _check(self) -> None:
        for member in self.members:
            member._check()
        require_number("slope", self.slope, above=0)

    def _title(self, known: KnownLabels | None) -> str:
        names = [member._title(known) for member in self.members]
        return names[0] if len(names) == 1 else f"{self.title} of {', '.join(dict.fromkeys(names))}"

    def _answer(self, votes: Votes, known: KnownLabels | None) -> Answer:
        answers = [member.answer(votes, known if member.admits_known else None) for member in self.members]
        shares = normalised(np.ones(len(answers)) if self.shares is None else np.asarray(self.shares, dtype=float))
        offsets = None if self.offsets is None else np.asarray(self.offsets, dtype=float)
        rules = tuple((member._title(known), own.rule) for member, own in zip(self.members, answers, strict=True) if own.rule)
        unanswered = np.logical_and.reduce([own.unanswered for own in answers])
        proba = sharpened(np.average([own.proba for own in answers], axis=0, weights=shares), self.slope, offsets)
        fallback = normalised((votes.counts * ~unanswered) @ proba)
        proba[unanswered] = fallback
        weights = [votes.weights if own.weights is None else own.weights for own in answers]
        return Answer(
            proba,
            unanswered,
            PanelRule(rules, fallback, self.slope, shares, offsets) if len(rules) == len(answers) else None,
            weights=np.average(weights, axis=0, weights=shares),
            n_iter=max(own.n_iter for own in answers),
            notes=tuple(dict.fromkeys(note for own in answers for note in own.notes)),
            worse_than_chance=tuple(dict.fromkeys(name for own in answers for name in own.worse_than_chance)),
            lacking=NO_VOTE,
        )


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
