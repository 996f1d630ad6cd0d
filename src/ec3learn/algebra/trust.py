"""How far to trust class probabilities from elsewhere, learned with the voters' confusions.

Dawid-Skene with r_i = softmax(s ln p_i + b) in the place of the classes' shares. After each round s
and b are fitted to the answers z, so a p that the votes contradict ends at s = 0, which is
Dawid-Skene alone, and one that is too sure of itself below 1:

    C, as in `bayes`
    s, b = argmax sum_i c_i sum_k z_ik ln r_ik     z_ik ~ r_ik prod_j C_j,y_ij,k

The C that an object is answered by comes from other objects: with few votes, C would else fit
whatever p says.

It is solved twice, from p and from the mean votes, and the solution is taken that explains the
votes better. C may have adapted to errors of p, and then r is too sure. So r is made no surer than
p is right, judged by how often votes agree with p and with each other.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.special import log_softmax

from .._typing import Array
from ..votes import Prior, Trust, Votes, group_meaning, only_rows
from ..votes.prior import LEAST
from .bayes import OFF, ON, SubtypeModel, mean_moves
from .linear import evenly, normalised
from .membership import Membership, membership, scatter_to_votes, votes_cast

MOST_SLOPE = 5.0
SAMPLE = 20_000  # distinct rows that a handful of numbers is learned from, where there are more
TOL, MOST_ROUNDS = 1e-4, 50
FOLDS = 4  # of the rows
LEAST_SKILL = 0.2  # log-odds of a vote's being right over chance
LITTLE, MOST_VOTES = (
    0.25,
    20.0,
)  # votes: a prior that is worth less is not used, and none is worth more
LEAST_LABELS = 30  # to calibrate on
SLOPE_PRECISION = 6.0  # inverse variance of the slope, before any label is seen
OFFSETS_FIXED = 1e9  # inverse variance of offsets that stay 0


def learn_trust(votes: Votes, start: Array, known: Array | None = None) -> Trust:
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
    """
    assert votes.prior is not None
    if votes.n_classes < 2 or not votes.prior.given.any():
        return _no_trust(np.full(votes.n_classes, 1 / votes.n_classes))
    if votes.n_rows > SAMPLE:
        labelled = np.zeros(votes.n_rows, dtype=bool) if known is None else known >= 0
        rest = np.flatnonzero(~labelled)
        drawn = rest[evenly(len(rest), SAMPLE)]
        rows = np.union1d(np.flatnonzero(labelled), drawn)
        votes, start, known = (
            only_rows(votes, rows),
            start[rows],
            None if known is None else known[rows],
        )
    assert votes.prior is not None
    groups = membership(votes)
    model = TrustModel(votes, groups, known, _folds(votes, groups, start))
    starts = (np.where(model.prior.given[:, None], model.prior.proba, start), start)
    trust, _ = max((model.learn(first) for first in starts), key=lambda found: found[1])
    if trust.weight < LITTLE:
        return replace(_no_trust(trust.shares), likelihood=trust.likelihood)
    trust = _no_surer_than_right(trust, votes)
    labelled = (
        np.flatnonzero(model.prior.given & (known >= 0))
        if known is not None
        else np.empty(0, dtype=np.int64)
    )
    if known is None or len(labelled) < LEAST_LABELS:
        return trust
    logs, truth = trust.log_proba(model.prior.proba[labelled]), np.eye(votes.n_classes)
    start, held = np.append(1.0, np.zeros(votes.n_classes)), (SLOPE_PRECISION, OFFSETS_FIXED)
    factor = fit_slope_and_offsets(
        logs, truth[known[labelled]], votes.counts[labelled], start, held
    )[0]
    return replace(trust, slope=factor * trust.slope, offsets=factor * trust.offsets)


class TrustModel(SubtypeModel):
    """Dawid-Skene with a prior per row, whose slope and offsets are learned; `folds` by row."""

    def __init__(self, votes: Votes, groups: Membership, known: Array | None, folds: Array) -> None:
        super().__init__(votes, groups, known)
        self.folds = folds
        assert votes.prior is not None
        self.prior: Prior = votes.prior
        self.logs = np.log(np.maximum(self.prior.proba[self.prior.given], LEAST))
        self.answered = self.answered | self.prior.given
        self.counted = votes.counts * self.answered

    def learn(self, proba: Array) -> tuple[Trust, float]:
        """The trust, and its likelihood with the prior of the voters, from a first answer.

        The likelihood is that of votes which had no part in the confusion matrices. Alone it cannot
        tell a solution from one in which classes have changed places, so it is the prior of the
        voters that decides between those.
        """
        votes, given = self.votes, self.prior.given
        numbers = np.append(1.0, np.zeros(votes.n_classes))
        for _ in range(MOST_ROUNDS):
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
                answer[own], by_row = (
                    part[own] for part in self.e_step_by_row(evidence, log_shares)
                )
                likelihood += float(votes.counts[own] @ by_row)
            moved = float(mean_moves(votes.counts, proba, answer).sum()) / 2
            proba = answer
            if moved < TOL:
                break
        trust = Trust(
            float(numbers[0]), numbers[1:], normalised(np.maximum(self.counted @ proba, LEAST)), 1.0
        )
        worth = self._worth(proba, trust)
        named = np.flatnonzero(
            (votes.models.group_class >= 0) & (self.weight > 0)
        )  # a voter is thought to be right more often than not
        diagonal = (ON - OFF) * float(evidence[named, votes.models.group_class[named]].sum())
        return replace(
            trust, weight=worth, likelihood=likelihood / self.total
        ), likelihood + diagonal

    def _worth(self, proba: Array, trust: Trust) -> float:
        """How many votes the prior is worth, by the log-odds of being right over chance."""
        votes, given = self.votes, self.prior.given
        top = trust.log_proba(self.prior.proba[given]).argmax(axis=1)
        mass = votes.counts[given, None] * proba[given]
        right = np.bincount(top, weights=mass[np.arange(len(top)), top], minlength=votes.n_classes)
        sums = self.weight[:, None] * scatter_to_votes(
            votes, self.groups, votes.counts[:, None] * proba
        )
        voter = np.flatnonzero(np.diff(group_meaning(votes).indptr))
        # Voters who are no better than chance, judged by the answer, bear out nothing: they would
        # fit another answer as well.
        by_votes = _log_odds(
            group_meaning(votes)[voter].multiply(sums[voter]).sum(axis=0), sums[voter].sum(axis=0)
        )
        return (
            min(_log_odds(right, mass.sum(axis=0)) / by_votes, MOST_VOTES)
            if by_votes > LEAST_SKILL
            else 0.0
        )


def _folds(votes: Votes, groups: Membership, start: Array) -> Array:
    """The number of each row's fold: folds are alike in how sure priors are."""
    assert votes.prior is not None
    folds = np.empty(votes.n_rows, dtype=np.int64)
    folds[rows_in_own_order(votes, groups, start, np.nan_to_num(votes.prior.proba))] = (
        np.arange(len(folds)) % FOLDS
    )
    return folds


def rows_in_own_order(votes: Votes, groups: Membership, start: Array, given: Array) -> Array:
    """The rows in an order that does not depend on that of rows, voters and classes.

    Neighbours are alike: rows are ordered by how sure what is given is, by how far the mean vote
    (`start`) agrees with it and is sure itself, by how far their voters agree with mean votes
    elsewhere, and by how common their classes are.
    """
    shares = normalised(votes.counts @ start)
    by_voter = normalised(agreement_by_voter(votes, groups, start))
    said = groups.gather(
        (by_voter[votes.models.group_model][:, None] * group_meaning(votes).toarray())[groups.order]
    )
    alike = ((said, start), (said, given), (start, start), (start, given), (given, given))
    keys = [
        *(table @ shares for table in (said, start, given)),
        *(np.einsum("iz,iz->i", *pair) for pair in alike),
    ]
    return np.lexsort([key.round(9) for key in keys])


def agreement_by_voter(votes: Votes, groups: Membership, start: Array) -> Array:
    """How far each voter agrees with the mean vote (`start`), in votes."""
    agreed = (
        group_meaning(votes)
        .multiply(scatter_to_votes(votes, groups, votes.counts[:, None] * start))
        .sum(axis=1)
    )
    return np.bincount(votes.models.group_model, weights=agreed, minlength=len(votes.models))


def _no_trust(shares: Array) -> Trust:
    """The trust that changes nothing: every prior is the shares of the classes."""
    return Trust(0.0, np.log(shares), shares, 0.0)


def _no_surer_than_right(trust: Trust, votes: Votes) -> Trust:
    """The trust, smaller if it is surer of its classes than they are right by the votes."""
    assert votes.prior is not None
    rows = np.flatnonzero(votes.prior.given)
    proba, counts = votes.prior.proba[rows], votes.counts[rows] / votes.counts[rows].sum()
    top = trust.log_proba(proba).argmax(axis=1)
    right = share_right(only_rows(votes, rows), top)

    def scaled(factor: float) -> Trust:
        return replace(
            trust,
            slope=factor * trust.slope,
            offsets=factor * trust.offsets,
            weight=factor * trust.weight,
        )

    def too_sure(factor: float) -> float:
        return (
            float(counts @ np.exp(scaled(factor).log_proba(proba))[np.arange(len(top)), top])
            - right
        )

    if too_sure(1.0) <= 0:
        return trust
    return scaled(float(brentq(too_sure, 0.0, 1.0, xtol=1e-3)) if too_sure(0.0) < 0 else 0.0)


def share_right(votes: Votes, classes: Array) -> float:
    """The share of classes that are right, by how often votes agree with them and each other.

    Let two votes on an object be right independently of each other and of its class here, but for
    the truth. With y centred, the covariance of two votes is a^2 s, and that of a vote and the
    class a b s, where s = 1 - sum_k share_k^2 is that of the truth itself. So b = cov(vote, class)
    / sqrt(s cov(vote, vote)), and b + (1 - b) (1 - s) are right: those by chance too.

    Parameters
    ----------
    votes : Votes
        Votes that had no part in these classes.
    classes : array
        The class of each row.

    Returns
    -------
    float
        1 where no object has two votes, or where votes do not agree more than by chance.
    """
    row, _, said = votes_cast(votes)
    weight, n_classes = votes.counts[row], votes.n_classes
    n_votes = np.bincount(row, minlength=votes.n_rows)
    pairs = float(votes.counts @ (n_votes * (n_votes - 1)))
    named = np.eye(n_classes)[classes]
    shares = votes.counts @ named / votes.counts.sum()
    said -= weight @ said / max(float(weight.sum()), 1e-300)
    sums = np.zeros((votes.n_rows, n_classes))
    np.add.at(sums, row, said)
    by_pairs = float(
        votes.counts @ (sums**2).sum(axis=1) - weight @ (said**2).sum(axis=1)
    )  # cov(vote, vote) x pairs
    spread = 1 - float(shares @ shares)  # s
    if by_pairs <= 0 or spread <= 0:
        return 1.0
    with_class = float(weight @ (said * (named - shares)[row]).sum(axis=1)) / float(weight.sum())
    skill = float(np.clip(with_class / np.sqrt(spread * by_pairs / pairs), 0.0, 1.0))  # b
    return skill + (1 - skill) * (1 - spread)


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
    by_class, weighted = (
        np.ascontiguousarray(logs.T),
        np.ascontiguousarray((counts[:, None] * targets).T),
    )  # a few long lines
    held, middle = (
        np.append(prior[0], np.full(len(start) - 1, prior[1])),
        np.append(1.0, np.zeros(len(start) - 1)),
    )

    def cost(numbers: Array) -> tuple[float, Array]:
        fit = log_softmax(numbers[0] * by_class + numbers[1:, None], axis=0)
        gap, pull = counts * np.exp(fit) - weighted, held * (numbers - middle)
        slopes = np.append(np.vdot(gap, by_class), gap.sum(axis=1)) + pull
        return float(-np.vdot(weighted, fit) + pull @ (numbers - middle) / 2), slopes

    bounds = [(0.0, MOST_SLOPE), *[(None, None)] * (len(start) - 1)]
    return np.asarray(
        minimize(cost, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 10}).x
    )
