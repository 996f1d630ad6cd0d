"""How far to trust class probabilities from elsewhere, learned with the voters' confusions.

Dawid-Skene with r_i = softmax(s ln p_i + b) in the place of the classes' shares. After each round s
and b are fitted to the answers z, so a p that the votes contradict ends at s = 0, which is
Dawid-Skene alone, and one that is too sure of itself below 1:

    C, as in `bayes`
    s, b = argmax sum_i c_i sum_k z_ik ln r_ik     z_ik ~ r_ik prod_j C_j,y_ij,k

The C that an object is answered by comes from other objects: with few votes, C would else fit
whatever p says.

The rounds begin half way between p and the mean votes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from .._typing import Array
from ..votes import Prior, Trust, Votes, group_meaning, only_rows
from ..votes.shares import LEAST, log_shares
from .bayes import SubtypeModel, mean_moves
from .membership import Membership, membership, normalised, sample_rows, scatter_to_votes

FOLDS = 4  # of the rows
LEAST_SKILL = 0.2  # log-odds of a vote's being right over chance, below which votes show nothing
LITTLE, MOST = 0.25, 20.0  # votes: a prior worth less is not used, and none is worth more
LEAST_LABELS = 30  # to calibrate on


def learn_trust(
    votes: Votes, start: Array, known: Array | None = None, sample: int = 20_000
) -> Trust:
    """How far to trust the prior of the votes.

    Parameters
    ----------
    votes : Votes
        Votes with a prior.
    start : array
        The mean vote on each row.
    known : array or None
        The class of each row whose label is known, -1 for the others. From 30 of them on, the slope
        is calibrated on them.
    sample : int
        About how many distinct rows a handful of numbers is learned from, besides labelled ones.
    """
    assert votes.prior is not None
    if votes.n_classes < 2 or not votes.prior.given.any():
        return _no_trust(np.full(votes.n_classes, 1 / votes.n_classes))
    known = np.full(votes.n_rows, -1) if known is None else known
    if votes.n_rows > sample:
        rows, counts = sample_rows(votes, sample, known >= 0)
        votes = replace(only_rows(votes, rows), counts=counts)
        start, known = start[rows], known[rows]
    model = TrustModel(votes, known, start)
    given, proba = model.prior.given, model.prior.proba
    trust = model.learn(np.where(given[:, None], (proba + start) / 2, start))
    if trust.weight < LITTLE:
        return replace(_no_trust(trust.shares), likelihood=trust.likelihood)
    labelled = np.flatnonzero(given & (known >= 0))
    if len(labelled) < LEAST_LABELS:
        return trust
    logs, truth = trust.log_proba(proba[labelled]), np.eye(votes.n_classes)[known[labelled]]
    first = np.append(1.0, np.zeros(votes.n_classes))
    held = (6.0, 1e9)  # the slope is thought to be near 1, and the offsets stay 0
    factor = fit_slope_and_offsets(logs, truth, votes.counts[labelled], first, held)[0]
    return replace(trust, slope=factor * trust.slope, offsets=factor * trust.offsets)


class TrustModel(SubtypeModel):
    """Dawid-Skene with a prior per row, whose slope and offsets are learned; `folds` by row."""

    def __init__(self, votes: Votes, known: Array, start: Array) -> None:
        super().__init__(votes, membership(votes), known)
        assert votes.prior is not None
        self.prior: Prior = votes.prior
        self.folds = _folds(votes, self.groups, start, np.nan_to_num(self.prior.proba))
        self.logs = log_shares(self.prior.proba[self.prior.given])
        self.counted = votes.counts * (self.answered | self.prior.given)

    def learn(self, proba: Array, tol: float = 1e-4, max_iter: int = 50) -> Trust:
        """The trust, from a first answer.

        Its likelihood is that of votes which had no part in the confusion matrices.
        """
        votes, given = self.votes, self.prior.given
        numbers = np.append(1.0, np.zeros(votes.n_classes))
        for _ in range(max_iter):
            numbers = fit_slope_and_offsets(
                self.logs, proba[given], votes.counts[given], numbers, (0.0, 1.0)
            )
            meant = log_softmax(numbers[0] * self.logs + numbers[1:], axis=1)
            answer, likelihood = np.empty_like(proba), 0.0
            for f in range(FOLDS):
                own = self.folds == f
                kept = np.where(own[:, None], 0.0, proba)
                evidence, log_shares = self.variational_step(kept, self.counted @ kept)
                self.own_evidence = np.zeros_like(proba)
                self.own_evidence[given] = meant - log_shares
                answer[own], by_row = (part[own] for part in self.e_step(evidence, log_shares))
                likelihood += float(votes.counts[own] @ by_row)
            moved = float(mean_moves(votes.counts, proba, answer).sum()) / 2
            proba = answer
            if moved < tol:
                break
        shares = normalised(np.maximum(self.counted @ proba, LEAST))
        trust = Trust(float(numbers[0]), numbers[1:], shares, 1.0)
        worth = self._worth(proba, trust)
        return replace(trust, weight=worth, likelihood=likelihood / self.total)

    def _worth(self, proba: Array, trust: Trust) -> float:
        """How many votes the prior is worth, by the log-odds of being right over chance."""
        votes, given = self.votes, self.prior.given
        top = trust.log_proba(self.prior.proba[given]).argmax(axis=1)
        mass = votes.counts[given, None] * proba[given]
        right = np.bincount(top, mass[np.arange(len(top)), top], votes.n_classes)
        meaning = group_meaning(votes)
        cast = scatter_to_votes(votes, self.groups, votes.counts[:, None] * proba)
        cast *= (self.weight * (np.diff(meaning.indptr) > 0))[:, None]
        skill = _log_odds(meaning.multiply(cast).sum(axis=0), cast.sum(axis=0))
        # Voters who are no better than chance, judged by the answer, bear out nothing: they would
        # fit another answer as well.
        worth = _log_odds(right, mass.sum(axis=0)) / max(skill, LEAST_SKILL)
        return min(worth, MOST) if skill > LEAST_SKILL else 0.0


def _folds(votes: Votes, groups: Membership, start: Array, given: Array) -> Array:
    """The number of each row's fold, which does not depend on the order of rows, voters or classes.

    Rows are ordered by how sure the prior (`given`) and the mean vote (`start`) are and agree, by
    how far their voters agree with mean votes elsewhere, and by how common their classes are. So
    the folds are alike.
    """
    meaning, shares = group_meaning(votes), normalised(votes.counts @ start)
    sums = scatter_to_votes(votes, groups, votes.counts[:, None] * start)
    agreed = np.bincount(votes.models.group_model, meaning.multiply(sums).sum(axis=1))
    weight = normalised(agreed)[votes.models.group_model][:, None]
    cast = groups.gather((weight * meaning.toarray())[groups.order])
    alike = ((cast, start), (cast, given), (start, start), (start, given), (given, given))
    keys = [table @ shares for table in (cast, start, given)]
    keys += [np.einsum("iz,iz->i", *pair) for pair in alike]
    folds = np.empty(votes.n_rows, dtype=np.int64)
    folds[np.lexsort([key.round(9) for key in keys])] = np.arange(votes.n_rows) % FOLDS
    return folds


def _no_trust(shares: Array) -> Trust:
    """The trust that changes nothing: every prior is the shares of the classes."""
    return Trust(0.0, np.log(shares), shares, 0.0)


def _log_odds(right: Array, total: Array) -> float:
    """The log-odds of being right over chance, averaged over classes; at least 0."""
    n_classes = len(total)
    share = float(((right + 1 / n_classes) / (total + 1)).mean())
    return max(float(np.log((n_classes - 1) * share / max(1 - share, 1e-3))), 0.0)


def fit_slope_and_offsets(
    logs: Array, targets: Array, counts: Array, start: Array, prior: tuple[float, float]
) -> Array:
    """The slope and the offsets of log-probabilities that fit soft targets best.

    `prior` holds the slope near 1 and the offsets near 0: the inverse variances of what is thought
    of them beforehand.
    """
    # A few long lines.
    by_class = np.array(logs.T, order="C")
    weighted = np.array((counts[:, None] * targets).T, order="C")
    n_classes = len(start) - 1
    held, middle = np.repeat(prior, [1, n_classes]), np.repeat([1.0, 0.0], [1, n_classes])

    def cost(numbers: Array) -> tuple[float, Array]:
        fit = log_softmax(numbers[0] * by_class + numbers[1:, None], axis=0)
        gap, pull = counts * np.exp(fit) - weighted, held * (numbers - middle)
        slopes = np.append(np.vdot(gap, by_class), gap.sum(axis=1)) + pull
        return float(-np.vdot(weighted, fit) + pull @ (numbers - middle) / 2), slopes

    bounds = [(0.0, 5.0), *[(None, None)] * n_classes]
    settings = {"bounds": bounds, "options": {"maxiter": 10}}
    return np.asarray(minimize(cost, start, jac=True, method="L-BFGS-B", **settings).x)
