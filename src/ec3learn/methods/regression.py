"""What known labels teach: one regression on the answer that was made without them, and on the votes.

    ln P_k = b_k + s ln z_k + sum_g x_g w_gk + const

z is the answer without labels and x the votes. All numbers have normal priors: b near 0, s near 1
and w near 0. So few labels shift the answer and make it more or less sure, and many labels weigh
the votes anew, as stacking does.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from .._text import count, percent
from .._typing import Array
from ..algebra.membership import entries, membership
from ..answer.mixtures import RegressionRule
from ..answer.notes import CALIBRATION, CONTRADICTION, Note
from ..answer.rule import KnownLabels
from ..votes import Votes, n_alike
from ..votes.prior import log_shares
from .base import Answer

# What is thought before a label is seen: b is N(0, 1), s is N(1, 1), w is N(0, 1/10).
OFFSET_PRECISION, SLOPE_PRECISION, VOTE_PRECISION = 1.0, 1.0, 10.0
FOLDS = 5  # in which labels are hidden to judge what they teach
CLEARLY = 2.0  # standard errors


def taught(answer: Answer, votes: Votes, known: KnownLabels) -> Answer:
    """Return an answer that was made without labels, corrected by what these teach."""
    logs = log_shares(answer.proba)
    rows = np.flatnonzero(known.labelled & ~answer.unanswered & (votes.counts > 0))
    # The order of the rows must not matter: neither to the folds nor to the last digit.
    rows = rows[np.lexsort([known.codes[rows], *logs[rows].round(9).T])]
    if not len(rows) or votes.n_classes < 2 or answer.rule is None:
        proba, unanswered = answer.proba.copy(), answer.unanswered.copy()
        known.overwrite(proba, unanswered, slice(None))
        return replace(answer, proba=proba, unanswered=unanswered)
    groups, columns = vote_columns(votes)
    lesson = Lesson(logs[rows], entries(votes)[rows][:, groups] @ columns, known.codes[rows])
    weights = votes.counts[rows]
    offsets, slope, loads = lesson.learn(weights)
    fallback = softmax(offsets + slope * log_shares(answer.rule.fallback))
    rule = RegressionRule(answer.rule, fallback, offsets, slope, groups, columns @ loads)
    earlier = tuple(note for note in answer.notes if note.kind != CALIBRATION)
    notes = (*earlier, *lesson.notes(weights, n_alike(votes)[rows]))
    return replace(corrected(answer, rule, votes, known), notes=notes)


def corrected(
    answer: Answer, rule: RegressionRule, votes: Votes, known: KnownLabels | None
) -> Answer:
    """Return an answer, made without labels, with the rule that corrects it."""
    proba, unanswered = answer.proba.copy(), answer.unanswered.copy()
    for rows, added in rule.added(membership(votes)):
        proba[rows] = rule.finish(answer.proba[rows], answer.unanswered[rows], added)
        if known is not None:
            known.overwrite(proba[rows], unanswered[rows], rows)
    return replace(answer, proba=proba, unanswered=unanswered, rule=rule)


def vote_columns(votes: Votes) -> tuple[Array, sparse.csr_array]:
    """Return the groups of voters, and how they make the columns of the regression, groups x columns.

    A label is a column of zeros and ones, a probability or a score one that varies by 1.
    """
    groups = np.flatnonzero((votes.models.is_voter & (votes.weights > 0))[votes.models.group_model])
    matrix = entries(votes)[:, groups]
    column, value = np.arange(len(groups)), np.ones(len(groups))
    owner = votes.models.group_model[groups]
    for m in np.unique(owner):
        own, positions = np.flatnonzero(owner == m), votes.models[m].positions
        shares = matrix[:, own]
        if positions is not None:
            place = np.nan_to_num(positions, nan=np.nanmean(positions))
            mass = votes.counts @ shares
            mean = mass @ place / max(mass.sum(), 1e-300)
            spread = np.sqrt(mass @ (place - mean) ** 2 / max(mass.sum(), 1e-300))
            column[own], value[own] = own[0], (place - mean) / max(spread, 1e-9)
        elif (shares.data != 1).any():
            value[own] = 1 / max(float(np.sqrt(np.mean(shares.toarray().var(axis=0)))), 1e-9)
    return groups, sparse.csr_array(
        (value, (np.arange(len(groups)), column)), shape=(len(groups),) * 2
    )


class Lesson:
    """Labelled rows: ln z, the votes, and the number of each row's class."""

    def __init__(self, logs: Array, votes: sparse.csr_array, codes: Array) -> None:
        self.logs, self.codes = logs, codes
        self.used = np.unique(votes.indices)  # most voters of a crowd have no labelled object
        self.votes, self.n_columns = sparse.csr_array(votes[:, self.used]), votes.shape[1]
        self.truth = np.eye(logs.shape[1])[codes]

    def learn(self, weights: Array) -> tuple[Array, float, Array]:
        """Return b, s and w, columns x classes, where each row counts as often as its weight says."""
        n_classes, n_used = self.logs.shape[1], len(self.used)
        centre = np.r_[np.zeros(n_classes), 1.0, np.zeros(n_used * n_classes)]
        sizes = (n_classes, 1, n_used * n_classes)
        precision = np.repeat([OFFSET_PRECISION, SLOPE_PRECISION, VOTE_PRECISION], sizes)
        by_column = self.votes.T.tocsr()

        def cost(numbers: Array) -> tuple[float, Array]:
            fit = self._log_proba(*_unpacked(numbers, n_classes))
            residual = weights[:, None] * (np.exp(fit) - self.truth)
            pull = precision * (numbers - centre)
            gradient = [
                residual.sum(axis=0),
                [np.vdot(residual, self.logs)],
                (by_column @ residual).ravel(),
            ]
            lost = -weights @ fit[np.arange(len(fit)), self.codes]
            return float(lost + pull @ (numbers - centre) / 2), np.concatenate(gradient) + pull

        found = minimize(cost, centre, jac=True, method="L-BFGS-B", options={"gtol": 1e-6}).x
        offsets, slope, own = _unpacked(found, n_classes)
        loads = np.zeros((self.n_columns, n_classes))
        loads[self.used] = own
        return offsets, slope, loads

    def notes(self, weights: Array, n_alike: Array) -> list[Note]:
        """Return what the labels say of the answer: whether they contradict it, and how much they improved it."""
        total, right = (
            weights.sum(),
            self.truth[np.arange(len(self.logs)), self.logs.argmax(axis=1)],
        )
        before, after = self._held_out(weights, n_alike)
        labels = count(round(float(total)), "known label")
        text = (
            f"{labels} corrected the answer: cross-validated log loss {weights @ after / total:.3f}, "
            f"{weights @ before / total:.3f} without them."
        )
        found = [Note(CALIBRATION, text)]
        named = np.eye(self.logs.shape[1])[self.logs.argmax(axis=1)]
        by_chance = float((weights @ self.truth) @ (weights @ named) / total**2)
        agreed = float(weights @ right / total)
        if agreed < by_chance - CLEARLY * np.sqrt(by_chance * (1 - by_chance) / total):
            text = (
                f"The known labels contradict the votes: they agree with {percent(agreed)} of the answers made without "
                f"labels, and would with {percent(by_chance)} by chance. Check whether labels or votes are reversed."
            )
            found.append(Note(CONTRADICTION, text))
        return found

    def _held_out(self, weights: Array, n_alike: Array) -> tuple[Array, Array]:
        """Return the mean log loss of each row without labels, and with the labels of the other folds."""
        number, rows = n_alike.round().astype(np.int64), np.arange(len(self.codes))
        first, after = np.cumsum(number) - number, np.zeros(len(rows))
        for fold in range(FOLDS):
            # Of the objects of a row, numbered on from those of the row before, every fifth is in
            # the fold.
            hidden = number // FOLDS + ((fold - first) % FOLDS < number % FOLDS)
            share = hidden / np.maximum(number, 1)
            offsets, slope, loads = self.learn(weights * (1 - share))
            after -= share * self._log_proba(offsets, slope, loads[self.used])[rows, self.codes]
        return -log_softmax(self.logs, axis=1)[rows, self.codes], after

    def _log_proba(self, offsets: Array, slope: float, loads: Array) -> Array:
        return log_softmax(offsets + slope * self.logs + self.votes @ loads, axis=1)


def _unpacked(numbers: Array, n_classes: int) -> tuple[Array, float, Array]:
    return (
        numbers[:n_classes],
        float(numbers[n_classes]),
        numbers[n_classes + 1 :].reshape(-1, n_classes),
    )
