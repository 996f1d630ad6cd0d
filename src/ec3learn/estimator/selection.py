"""How `consensus="auto"` chooses a method: by AUC on labels that are hidden fold by fold.

Nothing that a hidden label had a part in may be used to guess it. The votes on other rows had: they come from models that were
trained on it. So only rows with labels take part, whose labels are used in place of their votes, and delta, which pulls clusters
to the votes on their members, stays 0.

Each candidate weighs the classifiers in its own way, and EC3 may refine its answer. EC3's whole grid of settings costs little
more than one solution (`methods.ec3.grid`). The best of many settings is best by chance too, so it must be clearly ahead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from .._text import count
from ..answer.notes import CHOICE, Note
from ..diagnosis.drop_one import drop_one_auc
from ..diagnosis.metrics import macro_f, mean_auc, sharpened_log_loss
from ..methods.base import Method
from ..methods.ec3.ec3 import EC3
from ..methods.ec3.grid import SOFT_VOTE, grid
from ..methods.ec3.objective import Setting
from ..methods.voting import SoftVote
from ..votes import Votes
from .candidates import Candidate, Split, affordable_grid, make_candidates, make_folds, without_delta

Array = npt.NDArray[Any]

FEW_LABELS = 25  # per class on average: below, there is no choice
WITH_FEW_LABELS = (0.5, 0.0, 0.5, 0.0)  # alpha, beta, gamma, delta that measured best with few labels
MOST_ROWS = 20_000  # with labels, that the choice is made on
LEAST_ROWS = 10  # of a rare class that stay in a sample
LABELS_FOR_STACKING = 100  # per class: with fewer, stacked votes are judged in twice as many folds
CLEAR_GAIN = 0.008  # of macro F, for offsets of the classes to be used
DROP_ONE_ROWS = 2_000


@dataclass(frozen=True)
class Choice:
    """The method chosen for some votes, and why.

    `offsets`, one per class, are added to the probabilities before the label is taken. `hard` means that each classifier votes
    for its most probable class only. `scores` is what each candidate claims, its AUC on hidden labels.
    """

    method: Method
    offsets: Array | None = None
    notes: tuple[Note, ...] = ()
    hard: bool = False
    scores: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Finalist:
    """A candidate with a setting, its answer for the labelled objects, and its AUC."""

    candidate: Candidate
    setting: Setting
    answer: Array
    auc: float


def choose(votes: Votes, codes: Array, n_folds: int, seed: int) -> Choice:
    """Choose a method by the votes on labelled objects, which must be out of fold.

    Stacking is chosen if it beats plain soft voting in AUC or in log loss. Anything else must be clearly ahead of both.

    Parameters
    ----------
    votes : Votes
        The votes on all objects.
    codes : array
        The number of each object's class, -1 where the label is not known.
    n_folds : int
        Number of folds whose labels are hidden in turn.
    seed : int
        Seed of the folds.

    Returns
    -------
    Choice
    """
    counts = np.bincount(codes[codes >= 0], minlength=votes.n_classes)
    if votes.n_classes < 2:
        return Choice(SoftVote(), notes=(Note(CHOICE, "There is only one class: plain soft voting is used."),))
    if (counts > 1).sum() < 2 or counts.mean() < FEW_LABELS:
        few = count(int(counts.sum()), "label is", "labels are")
        text = f"{few} too few to choose by: iEC3 with the settings that measured best with few labels is used."
        return Choice(EC3(*WITH_FEW_LABELS, weights="agreement"), notes=(Note(CHOICE, text),))
    with threadpool_limits(1):
        return _choose_by_auc(*_sample(votes, codes, seed, MOST_ROWS), n_folds, seed)


def _choose_by_auc(votes: Votes, codes: Array, n_folds: int, seed: int) -> Choice:
    fold_of = make_folds(codes, n_folds, seed)
    candidates = make_candidates(votes, codes, fold_of)
    for candidate in candidates:
        candidate.search([SOFT_VOTE, *without_delta(grid(0.25))], codes)
    best = max(candidates, key=lambda candidate: candidate.score)
    best.search(affordable_grid(best.folds), codes)
    # With few labels, a stacked vote learned from four fifths of them looks worse than one learned from all.
    many = codes.size >= LABELS_FOR_STACKING * votes.n_classes
    split = Split.of(votes, codes, fold_of if many else make_folds(codes, 2 * n_folds, seed))
    answer = candidates[0].answer(SOFT_VOTE, codes)
    soft = Finalist(candidates[0], SOFT_VOTE, answer, mean_auc(answer, codes))
    winner = _stacking_or(soft, candidates, split, codes)
    if best.score > winner.auc + _margin(winner.auc, codes):
        winner = Finalist(best, best.best, best.answer(best.best, codes), best.score)
    if winner.candidate is soft.candidate and winner.setting == SOFT_VOTE:
        method: Method = SoftVote()
        why = "Nothing is clearly better than plain soft voting, so it is used: "
        why += f"AUC {soft.auc:.4f} on held-out labels, the best other candidate {best.score:.4f}."
    else:
        method = winner.candidate.method(winner.setting, votes)
        why = f"{winner.candidate.name}{_describe(winner.setting)}: "
        why += f"AUC {winner.auc:.4f} on held-out labels, plain soft voting {soft.auc:.4f}."
    offsets, more = _choose_offsets(winner.answer, codes, fold_of)
    scores = {candidate.name: candidate.claim for candidate in candidates}
    return Choice(method, offsets, (Note(CHOICE, why), *more), winner.candidate.hard, scores)


def _stacking_or(soft: Finalist, candidates: list[Candidate], split: Split, labels: Array) -> Finalist:
    """Return the stacked vote with the least log loss if it beats soft voting in log loss or in AUC, else soft voting."""
    finalists = []
    for candidate in candidates:
        if candidate.stacked is not None:
            answer = split.answer_stacked(candidate.stacked)
            finalists.append(Finalist(candidate, SOFT_VOTE, answer, mean_auc(answer, labels)))
    losses = [sharpened_log_loss(finalist.answer, labels) for finalist in finalists]
    i = int(np.argmin(losses))
    better = finalists[i].auc > soft.auc or losses[i] < sharpened_log_loss(soft.answer, labels)
    return finalists[i] if better else soft


def _margin(auc: float, labels: Array) -> float:
    """Return by how much the best of very many settings must be ahead, since one of them is so by chance."""
    counts = np.bincount(labels)
    # The standard error of one AUC, roughly; two AUCs on the same labels differ by less.
    error = np.sqrt(auc * (1 - auc) / counts[counts > 0].min())
    return 0.002 + 0.4 * float(error)


def _describe(setting: Setting) -> str:
    if setting == SOFT_VOTE:
        return ""
    return " refined by iEC3 (alpha {:g}, beta {:g}, gamma {:g}, delta {:g})".format(*(round(x, 3) for x in setting))


def _sample(votes: Votes, codes: Array, seed: int, most: int) -> tuple[Votes, Array]:
    """Return about so many objects with labels, and their classes; the only label of a class is left out."""
    rng = np.random.default_rng(seed)
    counts = np.bincount(codes[codes >= 0])
    share = min(1.0, most / counts.sum())
    kept = []
    for z in np.flatnonzero(counts > 1):
        n_kept = max(min(LEAST_ROWS, counts[z]), round(share * counts[z]))
        kept.append(rng.permutation(np.flatnonzero(codes == z))[:n_kept])
    rows = np.sort(np.concatenate(kept))
    return votes[rows], codes[rows]


# ---- offsets ---------------------------------------------------------------------------------------------------------


def _choose_offsets(proba: Array, codes: Array, fold: Array) -> tuple[Array | None, tuple[Note, ...]]:
    """Return offsets of the classes if they clearly raise the macro F of labels they were not found on.

    They are found on all folds but one, and judged on that one, in turn; the offsets of all turns are averaged.
    """
    n_classes = proba.shape[1]
    found, shifted = [], np.empty_like(proba)
    for f in range(int(fold.max()) + 1):
        found.append(_best_offsets(proba[fold != f], codes[fold != f]))
        shifted[fold == f] = proba[fold == f] + found[-1]
    without, score = (macro_f(table.argmax(axis=1), codes, n_classes) for table in (proba, shifted))
    if score < without + CLEAR_GAIN:
        return None, ()
    why = f"Labels are taken after adding offsets to the classes: macro F {score:.4f} on held-out labels, {without:.4f} without."
    return np.mean(found, axis=0), (Note(CHOICE, why),)


def _best_offsets(proba: Array, codes: Array) -> Array:
    """Return offsets of the classes that raise the macro F, found by coordinate search in smaller and smaller steps."""
    n_classes = proba.shape[1]
    offsets, best = np.zeros(n_classes), macro_f(proba.argmax(axis=1), codes, n_classes)
    for size, z, sign in product((0.2, 0.1, 0.05, 0.02), range(n_classes), (1, -1)):
        tried = offsets.copy()
        tried[z] += sign * size
        score = macro_f((proba + tried).argmax(axis=1), codes, n_classes)
        if score > best + 1e-4:
            offsets, best = tried, score
    return offsets


# ---- what each base model adds ---------------------------------------------------------------------------------------


def measure_base_models(method: Method, votes: Votes, codes: Array, n_folds: int, seed: int) -> list[float | None]:
    """Return what each base model adds (`drop_one_auc`), on a sample; None for all if only one class has two labels or more."""
    if (np.bincount(codes[codes >= 0]) > 1).sum() < 2:
        return [None] * len(votes.models)
    votes, codes = _sample(votes, codes, seed, DROP_ONE_ROWS)
    return drop_one_auc(method, votes, codes, make_folds(codes, n_folds, seed))
