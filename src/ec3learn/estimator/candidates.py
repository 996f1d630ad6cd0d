"""The candidates of `consensus="auto"`: ways to weigh classifiers, each refined by EC3 with any setting.

The labels of each fold are hidden in turn. Weights, and stacked votes, are learned from the labels of the other folds.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import StratifiedKFold

from ..algebra.membership import Membership, entries, membership
from ..answer.rule import KnownLabels, Targets
from ..diagnosis.metrics import mean_auc
from ..methods.base import Method
from ..methods.ec3.ec3 import EC3
from ..methods.ec3.grid import SOFT_VOTE, HeldOutFold, grid
from ..methods.ec3.objective import Setting
from ..methods.stacking import StackedVote, greedy_weights
from ..methods.voting import WeightedVote
from ..methods.weights import weights_from_labels
from ..votes import Votes

Array = npt.NDArray[Any]

LABELS_FOR_STEP = {0.05: 2_000, 0.1: 500}  # labels needed for a grid with these steps
STACKED_C = (1.0, 10.0)
BUDGET = 100e9  # operations of the small systems, roughly: the grid is coarser where these are large
MOST_SHARES = 50_000_000  # entries of the table of class shares that greedy selection works on
GREEDY_ROWS = 5_000


def make_folds(codes: Array, n_folds: int, seed: int) -> Array:
    """Return the fold of each object; a class with fewer labels than folds is in some of them only."""
    folds = StratifiedKFold(int(min(n_folds, np.bincount(codes).max())), shuffle=True, random_state=seed)
    fold_of = np.empty(len(codes), dtype=np.int64)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class")
        for f, (_, test) in enumerate(folds.split(codes, codes)):
            fold_of[test] = f
    return fold_of


def without_delta(settings: list[Setting]) -> list[Setting]:
    """Return the settings by which hidden labels can be guessed honestly: delta lets the votes on other rows speak."""
    return [setting for setting in settings if setting.delta == 0]


@dataclass
class Candidate:
    """A way to weigh classifiers, with what EC3 needs to answer for each fold; `best` is its best setting of EC3."""

    name: str
    weights: Array
    folds: list[HeldOutFold]
    stacked: StackedVote | None = None
    hard: bool = False
    best: Setting = SOFT_VOTE
    score: float = -1.0
    by_fold: dict[Setting, list[float]] = field(default_factory=dict)

    def answer(self, setting: Setting, codes: Array) -> Array:
        """Return the class probabilities of the objects, each with the labels of its own fold hidden."""
        out = np.empty((len(codes), self.folds[0].target.shape[1]))
        for fold in self.folds:
            out[fold.objects] = fold.proba(setting)[fold.places]
        return out

    def search(self, settings: list[Setting], codes: Array) -> None:
        """Find the best of some settings."""
        for setting in settings:
            answer = self.answer(setting, codes)
            self.by_fold[setting] = [mean_auc(answer[fold.objects], codes[fold.objects]) for fold in self.folds]
            score = mean_auc(answer, codes)
            if score > self.score + 1e-6:
                self.best, self.score = setting, score

    @property
    def claim(self) -> float:
        """The score on labels that had no part in the choice of the setting: it is chosen by the other folds, in turn."""
        by_fold = np.array(list(self.by_fold.values()))
        others = by_fold.sum(axis=1, keepdims=True) - by_fold
        return float(by_fold[others.argmax(axis=0), np.arange(len(self.folds))].mean())

    def method(self, setting: Setting, votes: Votes) -> Method:
        """Return the method that answers as this candidate does."""
        weights = {votes.models[m].name: float(self.weights[m]) for m in np.flatnonzero(votes.is_classifier)}
        if setting == SOFT_VOTE:
            return self.stacked or WeightedVote(weights)
        return EC3(*setting, weights=weights, towards=self.stacked or "votes")


@dataclass(frozen=True)
class Split:
    """Votes split into distinct rows that have one class and one fold each."""

    rows: Votes
    groups: Membership
    codes: Array  # of each row
    fold: Array  # of each row
    fold_of: Array  # of each object

    @classmethod
    def of(cls, votes: Votes, codes: Array, fold_of: Array) -> Split:
        """Split votes by the classes and folds of their objects."""
        n_folds = int(fold_of.max()) + 1
        rows, both = votes.split_by(np.where(codes >= 0, codes * n_folds + fold_of, -1))
        row_codes, row_fold = (np.where(both >= 0, part, -1) for part in (both // n_folds, both % n_folds))
        return cls(rows, membership(rows), row_codes, row_fold, fold_of)

    @property
    def n_folds(self) -> int:
        """The number of folds."""
        return int(self.fold_of.max()) + 1

    def known(self, fold: int) -> KnownLabels:
        """Return the labels with those of one fold hidden."""
        return KnownLabels(np.where(self.fold == fold, -1, self.codes), np.inf)

    def members(self, fold: int) -> tuple[Array, Array]:
        """Return the objects of a fold, and their rows."""
        objects = np.flatnonzero(self.fold_of == fold)
        return objects, objects if self.rows.index is None else self.rows.index[objects]

    def candidate(
        self, name: str, weights_of: Callable[[KnownLabels], Array], stacked: StackedVote | None = None, hard: bool = False
    ) -> Candidate:
        """Return a candidate whose weights, and stacked vote, come from the labels of the other folds."""
        folds = []
        for f in range(self.n_folds):
            target = None
            if stacked is not None:
                answer = stacked.answer(self.rows, self.known(f))
                target = Targets(answer.proba, answer.rule)
            weights = self.rows.weights * weights_of(self.known(f))
            fold = HeldOutFold(self.rows, self.groups, weights, self.codes, self.fold == f, target)
            fold.objects, rows = self.members(f)
            fold.places = np.searchsorted(fold.rows, rows)
            folds.append(fold)
        return Candidate(name, weights_of(KnownLabels(self.codes, np.inf)), folds, stacked, hard)

    def answer_stacked(self, stacked: StackedVote) -> Array:
        """Return the answer of a stacked vote for labelled objects, learned from the other folds."""
        out = np.empty((len(self.fold_of), self.rows.n_classes))
        for f in range(self.n_folds):
            objects, rows = self.members(f)
            out[objects] = stacked.answer(self.rows, self.known(f)).proba[rows]
        return out

    def equal_weights(self, known: KnownLabels) -> Array:
        """Return 1 for every base model."""
        return np.ones(len(self.rows.models))

    def learned_weights(self, known: KnownLabels) -> Array:
        """Return weights learned from known labels."""
        return weights_from_labels(self.rows, known).weights


def make_candidates(votes: Votes, codes: Array, fold_of: Array) -> list[Candidate]:
    """Return all ways to weigh classifiers; the first is plain soft voting."""
    soft = Split.of(votes, codes, fold_of)
    candidates = [
        soft.candidate("Equal weights", soft.equal_weights),
        soft.candidate("Learned weights", soft.learned_weights),
        *(soft.candidate("A stacked vote", soft.equal_weights, stacked=StackedVote(C)) for C in STACKED_C),
    ]
    shares = _classifier_shares(soft.rows)
    if shares is not None:
        candidates.append(soft.candidate("Greedy selection", lambda known: _greedy_weights(soft.rows, shares, known)))
    if votes.soft is not None:
        hard = Split.of(votes.hardened(), codes, fold_of)
        candidates.append(hard.candidate("Equal weights of hard votes", hard.equal_weights, hard=True))
        candidates.append(hard.candidate("Learned weights of hard votes", hard.learned_weights, hard=True))
    return candidates


def affordable_grid(folds: list[HeldOutFold]) -> list[Setting]:
    """Return the finest grid that there are enough labels and time for."""
    n_live = len(folds[0].live)
    n_rows = sum(len(fold.rows) for fold in folds)
    n_objects = sum(len(fold.objects) for fold in folds)
    n_classes = folds[0].target.shape[1]
    each = len(folds) * (2 * n_live) ** 3 / 3 + n_rows * n_classes * (4.0 * n_live + 500)  # operations per setting
    for step, n_needed in LABELS_FOR_STEP.items():
        settings = without_delta(grid(step))
        if n_objects >= n_needed and len(settings) * each < BUDGET:
            return settings
    return [setting for setting in without_delta(grid(0.25)) if setting.beta == 0]


def _classifier_shares(votes: Votes) -> Array | None:
    """Return the votes of the classifiers, models x rows x classes, or None if the table would be large."""
    classifiers = np.flatnonzero(votes.is_classifier)
    if len(classifiers) * votes.n_rows * votes.n_classes > MOST_SHARES:
        return None
    matrix = entries(votes)
    return np.stack([matrix[:, votes.offsets[m] : votes.offsets[m + 1]].toarray() for m in classifiers])


def _greedy_weights(votes: Votes, shares: Array, known: KnownLabels) -> Array:
    rows = np.flatnonzero(known.labelled)
    if len(rows) > GREEDY_ROWS:
        rows = rows[np.linspace(0, len(rows) - 1, GREEDY_ROWS).astype(np.int64)]
    taken, _ = greedy_weights(shares[:, rows], known.codes[rows], mean_auc, n_rounds=25, patience=5)
    weights = np.ones(len(votes.models))
    weights[votes.is_classifier] = taken
    return weights
