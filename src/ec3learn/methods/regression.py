"""What known labels teach: one regression on the answer made without them, and on the votes.

    ln P_k = b_k + s ln z_k + sum_g x_g w_gk + const

z is the answer without labels and x the votes, probabilities by their logarithms. All numbers have
normal priors: b near 0, s near 1 and w near 0. So few labels shift the answer and make it more or
less sure, and many labels weigh the votes anew, as stacking does. The w are let further from 0
where this clearly predicts labels better that were hidden.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from .._text import count, percent
from .._typing import Array
from ..algebra.membership import entries, membership
from ..answer.mixtures import RegressionRule, centred_logs
from ..answer.notes import Note
from ..answer.rule import KnownLabels
from ..diagnosis.metrics import LEAST_LABELS
from ..votes import Votes, n_alike, only_rows
from ..votes.shares import log_shares
from .base import Answer, Method, method_of

# What is thought before a label is seen: b is N(0, 1), s is N(1, 1/3), w is N(0, 1/30).
OFFSET_PRECISION, SLOPE_PRECISION, VOTE_PRECISION = 1.0, 3.0, 30.0
LOOSE = 3.0  # the precision of w where the votes have much to add, as models of unequal skill do
CLEARLY = 5.0  # log-odds by which hidden labels must prefer that: 150 to 1
FOLDS = 5  # in which labels are hidden to judge what they teach


@dataclass(eq=False, repr=False)
class StackedVote(Method):
    """Learn from known labels what an answer made without them and each vote say about the classes.

    Without known labels it is that answer. The default does the same with an answer of its own.

    Parameters
    ----------
    base : str or method
        Who answers without labels.

    Examples
    --------
    >>> from ec3learn import StackedVote, Votes
    >>> votes = Votes.from_labels({"good": [0, 1, 0, 1] * 5, "liar": [1, 0, 1, 0] * 5})
    >>> StackedVote().solve(votes, known={i: i % 2 for i in range(16)}).labels()[-4:]
    array([0, 1, 0, 1])
    """

    title = "Stacked vote"
    corrects = True

    base: str | Method = "soft-vote"

    @property
    def reads_grades(self) -> bool:  # type: ignore[override]
        """Whether the method that answers without labels reads answers on a scale."""
        return method_of(self.base, "base").reads_grades

    @property
    def admits_prior(self) -> bool:  # type: ignore[override]
        """Whether that method does."""
        return method_of(self.base, "base").admits_prior

    def _check(self) -> None:
        method_of(self.base, "base")._check()

    def _answer(self, votes: Votes, known: KnownLabels | None) -> Answer:
        answer = method_of(self.base, "base").answer(votes, None)
        return answer if known is None else taught(answer, votes, known)


def taught(answer: Answer, votes: Votes, known: KnownLabels) -> Answer:
    """An answer that was made without labels, corrected by what these teach."""
    logs = log_shares(answer.proba)
    rows = np.flatnonzero(known.labelled & ~answer.unanswered & (votes.counts > 0))
    # The order of the rows must not matter: neither to the folds nor to the last digit.
    rows = rows[np.lexsort([known.codes[rows], *logs[rows].round(9).T])]
    if not len(rows) or votes.n_classes < 2 or answer.rule is None:
        proba, unanswered = answer.proba.copy(), answer.unanswered.copy()
        known.overwrite(proba, unanswered, slice(None))
        return replace(answer, proba=proba, unanswered=unanswered)
    columns = vote_columns(votes)
    lesson = Lesson(logs[rows], columns.of_rows(votes, rows), known.codes[rows])
    weights = votes.counts[rows]
    number = n_alike(votes)[rows]
    learned, losses = lesson.cross_validated(weights, number, VOTE_PRECISION)
    freer, freer_losses = lesson.cross_validated(weights, number, LOOSE)
    if weights @ (losses - freer_losses) > CLEARLY:
        learned, losses = freer, freer_losses
    offsets, slope, loads = lesson.unpacked(learned)
    fallback = softmax(offsets + slope * log_shares(answer.rule.fallback))
    table = columns.scale @ loads
    rule = RegressionRule(
        answer.rule, fallback, offsets, slope, columns.groups, table, columns.soft
    )
    earlier = tuple(note for note in answer.notes if note.kind != "calibration")
    notes = (*earlier, *lesson.notes(weights, losses))
    return replace(corrected(answer, rule, votes, known), notes=notes)


def corrected(
    answer: Answer, rule: RegressionRule, votes: Votes, known: KnownLabels | None
) -> Answer:
    """An answer that was made without labels, and the rule that corrects it."""
    proba, unanswered = answer.proba.copy(), answer.unanswered.copy()
    for rows, added in rule.added(membership(votes)):
        proba[rows] = rule.finish(answer.proba[rows], answer.unanswered[rows], added)
        if known is not None:
            known.overwrite(proba[rows], unanswered[rows], rows)
    return replace(answer, proba=proba, unanswered=unanswered, rule=rule)


class VoteColumns(NamedTuple):
    """How the groups of voters make the columns of the regression."""

    groups: Array
    soft: Array  # which of the groups are classes of voters who give probabilities
    scale: sparse.csr_array  # groups x columns

    def of_rows(self, votes: Votes, rows: Array) -> sparse.csr_array:
        """The columns of some rows: logarithms of probabilities, and other votes by the scale."""
        voted = entries(only_rows(votes, rows))[:, self.groups]
        logs = centred_logs(voted[:, self.soft].toarray(), votes.n_classes)
        place = (np.arange(len(self.soft)), self.soft)
        to_columns = sparse.csr_array(
            (np.ones(len(self.soft)), place), shape=logs.shape[1:] + self.groups.shape
        )
        linear = np.ones(len(self.groups))
        linear[self.soft] = 0
        return sparse.csr_array((voted * linear) @ self.scale + sparse.csr_array(logs) @ to_columns)


def vote_columns(votes: Votes) -> VoteColumns:
    """The columns: zeros and ones of labels, probabilities, and scores that vary by 1."""
    groups = np.flatnonzero((votes.models.is_voter & (votes.weights > 0))[votes.models.group_model])
    column, value = np.arange(len(groups)), np.ones(len(groups))
    tables = votes.stores.soft
    graded = any(votes.models[m].positions is not None for m in tables)
    others = votes if graded else replace(votes, stores=replace(votes.stores, soft={}))
    matrix = entries(others)[:, groups]
    mass, squares = votes.counts @ matrix, votes.counts @ matrix.power(2)
    owner = votes.models.group_model[groups]
    soft = np.flatnonzero(np.isin(owner, list(tables)) & votes.models.is_classifier[owner])
    for m in np.unique(owner):
        own, positions = np.flatnonzero(owner == m), votes.models[m].positions
        total = max(float(mass[own].sum()), 1e-300)
        if positions is not None:
            place = np.nan_to_num(positions, nan=np.nanmean(positions))
            place = place - mass[own] @ place / total
            column[own] = own[0]
            value[own] = place * _scale(mass[own] @ place**2 / total)
        elif m not in tables and squares[own].sum() < mass[own].sum():
            value[own] = _scale(np.mean(squares[own] / total - (mass[own] / total) ** 2))
    shape = (len(groups),) * 2
    return VoteColumns(
        groups, soft, sparse.csr_array((value, (np.arange(len(groups)), column)), shape=shape)
    )


def _scale(variance: float) -> float:
    """By what numbers with this variance are multiplied to vary by 1; all alike stay finite."""
    return 1 / np.sqrt(max(float(variance), 1e-6))


class Lesson:
    """Labelled rows: ln z, the votes, and the number of each row's class."""

    def __init__(self, logs: Array, votes: sparse.csr_array, codes: Array) -> None:
        self.logs, self.codes = logs, codes
        self.used = np.unique(votes.indices)  # most voters of a crowd have no labelled object
        self.votes, self.n_columns = sparse.csr_array(votes[:, self.used]), votes.shape[1]
        if 2 * self.votes.nnz > np.prod(self.votes.shape):
            self.votes = self.votes.toarray()
        self.truth = np.eye(logs.shape[1])[codes]

    def learn(self, weights: Array, vote_precision: float, start: Array | None = None) -> Array:
        """B, s and w in one row, where each row of the votes counts as often as its weight says."""
        n_classes, n_loads = self.logs.shape[1], len(self.used) * self.logs.shape[1]
        centre = np.r_[np.zeros(n_classes), 1.0, np.zeros(n_loads)]
        precision = np.repeat(
            [OFFSET_PRECISION, SLOPE_PRECISION, vote_precision], (n_classes, 1, n_loads)
        )
        by_column = sparse.csr_array(self.votes.T) if sparse.issparse(self.votes) else self.votes.T

        def cost(numbers: Array) -> tuple[float, Array]:
            fit = self._log_proba(numbers)
            residual = weights[:, None] * (np.exp(fit) - self.truth)
            pull = precision * (numbers - centre)
            gradient = [
                residual.sum(axis=0),
                [np.vdot(residual, self.logs)],
                (by_column @ residual).ravel(),
            ]
            lost = -weights @ fit[np.arange(len(fit)), self.codes]
            return float(lost + pull @ (numbers - centre) / 2), np.concatenate(gradient) + pull

        start = centre if start is None else start
        return minimize(
            cost, start, jac=True, method="L-BFGS-B", options={"gtol": 1e-6, "maxcor": 30}
        ).x

    def cross_validated(
        self, weights: Array, n_alike: Array, vote_precision: float
    ) -> tuple[Array, Array]:
        """What is learned, and the mean log loss of each row's objects by labels of other folds."""
        learned = self.learn(weights, vote_precision)
        number, rows = n_alike.round().astype(np.int64), np.arange(len(self.codes))
        first, loss = np.cumsum(number) - number, np.zeros(len(rows))
        for fold in range(FOLDS):
            # Of the objects of a row, numbered on from those of the row before, every fifth is in
            # the fold.
            hidden = number // FOLDS + ((fold - first) % FOLDS < number % FOLDS)
            share = hidden / np.maximum(number, 1)
            fit = self._log_proba(self.learn(weights * (1 - share), vote_precision, learned))
            loss -= share * fit[rows, self.codes]
        return learned, loss

    def notes(self, weights: Array, after: Array) -> list[Note]:
        """What the labels say of the answer: how much they improve it, if they contradict it."""
        total, rows = weights.sum(), np.arange(len(self.logs))
        before = -log_softmax(self.logs, axis=1)[rows, self.codes]
        n = round(float(total))
        text = f"{count(n, 'known label')} corrected the answer"
        if n >= LEAST_LABELS:
            losses = f"{weights @ after / total:.3f} with them and {weights @ before / total:.3f}"
            text += f": cross-validated log loss {losses} without"
            text += f": {n:,} labels show no difference" * bool(weights @ (after - before) >= 0)
        found = [Note("calibration", f"{text}.")]
        named = np.eye(self.logs.shape[1])[self.logs.argmax(axis=1)]
        agreed = float(weights @ (named * self.truth).sum(axis=1) / total)
        by_chance = float((weights @ self.truth) @ (weights @ named) / total**2)
        if agreed < by_chance - 2 * np.sqrt(by_chance * (1 - by_chance) / total):
            text = (
                f"The known labels contradict the votes: they agree with {percent(agreed)} of the "
                f"answers made without labels, and would with {percent(by_chance)} by chance. "
                "Check whether labels or votes are reversed."
            )
            found.append(Note("contradiction", text))
        return found

    def unpacked(self, numbers: Array) -> tuple[Array, float, Array]:
        """B, s and w, columns x classes."""
        n_classes = self.logs.shape[1]
        loads = np.zeros((self.n_columns, n_classes))
        loads[self.used] = numbers[n_classes + 1 :].reshape(-1, n_classes)
        return numbers[:n_classes], float(numbers[n_classes]), loads

    def _log_proba(self, numbers: Array) -> Array:
        n_classes = self.logs.shape[1]
        added = self.votes @ numbers[n_classes + 1 :].reshape(-1, n_classes)
        return log_softmax(numbers[:n_classes] + numbers[n_classes] * self.logs + added, axis=1)
