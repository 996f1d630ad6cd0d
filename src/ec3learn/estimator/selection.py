"""How `consensus="auto"` chooses a method: by AUC on labels that are hidden fold by fold.

Each candidate weighs the classifiers in its own way, and EC3 may refine its answer. EC3's whole grid of settings costs little
more than one solution (`methods.ec3.grid`). The best of many settings is best by chance too, so it must be clearly ahead.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from .._text import count
from ..algebra.membership import Membership, entries, membership
from ..answer.notes import CHOICE, Note
from ..answer.rule import KnownLabels, Targets
from ..diagnosis.metrics import macro_f, mean_auc, sharpened_log_loss
from ..methods.base import Method
from ..methods.ec3.ec3 import EC3
from ..methods.ec3.grid import SOFT_VOTE, HeldOutFold, grid
from ..methods.ec3.objective import Setting
from ..methods.stacking import StackedVote, greedy_weights
from ..methods.voting import SoftVote, WeightedVote
from ..methods.weights import weights_from_labels
from ..votes import Votes
from ..votes.labels import plain

Array = npt.NDArray[Any]

FEW_LABELS = 25  # per class on average: below, there is no choice
WITH_FEW_LABELS = (0.5, 0.0, 0.5, 0.0)  # alpha, beta, gamma, delta that measured best with few labels
MOST_ROWS = 20_000  # with labels, and as many without, that the choice is made on
LABELS_FOR_STEP = {0.05: 2_000, 0.1: 500}  # labels needed for a grid with these steps
STACKED_C = (1.0, 10.0)
LABELS_FOR_STACKING = 100  # per class: with fewer, stacked votes are judged in twice as many folds
BUDGET = 100e9  # operations of the small systems, roughly: the grid is coarser where these are large
CLEAR_GAIN = 0.008  # of macro F, for offsets of the classes to be used
MOST_SHARES = 50_000_000  # entries of the table of class shares that greedy selection works on
GREEDY_ROWS = 5_000
DROP_ONE_ROWS = 2_000  # with labels, and as many without


@dataclass(frozen=True)
class Choice:
    """The method chosen for some votes, and why.

    `offsets`, one per class, are added to the probabilities before the label is taken. `hard` means that each classifier votes
    for its most probable class only.
    """

    method: Method
    offsets: Array | None = None
    notes: tuple[Note, ...] = ()
    hard: bool = False


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

    def answer(self, setting: Setting, codes: Array) -> Array:
        """Return the class probabilities of the labelled objects, each with the labels of its own fold hidden."""
        out = np.empty((len(codes), self.folds[0].target.shape[1]))
        for fold in self.folds:
            out[fold.objects] = fold.proba(setting)[fold.places]
        return out[codes >= 0]

    def search(self, settings: list[Setting], codes: Array) -> None:
        """Find the best of some settings."""
        for setting in settings:
            score = mean_auc(self.answer(setting, codes), codes[codes >= 0])
            if score > self.score + 1e-6:
                self.best, self.score = setting, score

    def method(self, setting: Setting, votes: Votes) -> Method:
        """Return the method that answers as this candidate does."""
        weights = {votes.models[m].name: float(self.weights[m]) for m in np.flatnonzero(votes.is_classifier)}
        if setting == SOFT_VOTE:
            return self.stacked or WeightedVote(weights)
        return EC3(*setting, weights=weights, towards=self.stacked or "votes")


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
    if counts.min() < 2 or counts.mean() < FEW_LABELS:
        few = count(int(counts.sum()), "label is", "labels are")
        text = f"{few} too few to choose by: iEC3 with the settings that measured best with few labels is used."
        return Choice(EC3(*WITH_FEW_LABELS, weights="agreement"), notes=(Note(CHOICE, text),))
    with threadpool_limits(1):
        return _choose_by_auc(*_sample(votes, codes, seed), n_folds, seed)


def _choose_by_auc(votes: Votes, codes: Array, n_folds: int, seed: int) -> Choice:
    fold_of = make_folds(codes, n_folds, seed)
    labels = codes[codes >= 0]
    candidates = _make_candidates(votes, codes, fold_of)
    for candidate in candidates:
        candidate.search([SOFT_VOTE, *grid(0.25)], codes)
    best = max(candidates, key=lambda candidate: candidate.score)
    best.search(_affordable_grid(best.folds), codes)
    # With few labels, a stacked vote learned from four fifths of them looks worse than one learned from all.
    many = labels.size >= LABELS_FOR_STACKING * votes.n_classes
    split = Split.of(votes, codes, fold_of if many else make_folds(codes, 2 * n_folds, seed))
    answer = candidates[0].answer(SOFT_VOTE, codes)
    soft = Finalist(candidates[0], SOFT_VOTE, answer, mean_auc(answer, labels))
    winner = _stacking_or(soft, candidates, split, labels)
    if best.score > winner.auc + _margin(winner.auc, labels):
        winner = Finalist(best, best.best, best.answer(best.best, codes), best.score)
    if winner is soft:
        method: Method = SoftVote()
        why = (
            f"Nothing is clearly better than plain soft voting (AUC {soft.auc:.4f} on held-out labels, the best other candidate "
        )
        why += f"{best.score:.4f}), so it is used."
    else:
        method = winner.candidate.method(winner.setting, votes)
        why = f"{winner.candidate.name}{_describe(winner.setting)}: AUC {winner.auc:.4f} on held-out labels, "
        why += f"plain soft voting {soft.auc:.4f}."
    offsets, more = _choose_offsets(winner.answer, labels, fold_of[codes >= 0])
    return Choice(method, offsets, (Note(CHOICE, why), *more), winner.candidate.hard)


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


# ---- folds -----------------------------------------------------------------------------------------------------------


def _sample(votes: Votes, codes: Array, seed: int, most: int = MOST_ROWS) -> tuple[Votes, Array]:
    """Return at most so many objects with labels, and as many without."""
    rng = np.random.default_rng(seed)
    parts = [np.flatnonzero(codes >= 0), np.flatnonzero(codes < 0)]
    kept = np.sort(np.concatenate([rng.permutation(part)[:most] for part in parts]))
    return (votes, codes) if len(kept) == len(codes) else (votes[kept], codes[kept])


def make_folds(codes: Array, n_folds: int, seed: int) -> Array:
    """Return the fold of each labelled object, -1 for the others."""
    labelled = np.flatnonzero(codes >= 0)
    n_folds = int(min(n_folds, np.bincount(codes[labelled]).min()))
    fold_of = np.full(len(codes), -1)
    for f, (_, test) in enumerate(StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(labelled, codes[labelled])):
        fold_of[labelled[test]] = f
    return fold_of


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
        return out[self.fold_of >= 0]

    def equal_weights(self, known: KnownLabels) -> Array:
        """Return 1 for every base model."""
        return np.ones(len(self.rows.models))

    def learned_weights(self, known: KnownLabels) -> Array:
        """Return weights learned from known labels."""
        return weights_from_labels(self.rows, known).weights


# ---- candidates ------------------------------------------------------------------------------------------------------


def _make_candidates(votes: Votes, codes: Array, fold_of: Array) -> list[Candidate]:
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


def _affordable_grid(folds: list[HeldOutFold]) -> list[Setting]:
    """Return the finest grid that there are enough labels and time for."""
    n_live = len(folds[0].live)
    n_rows = sum(len(fold.rows) for fold in folds)
    n_objects = sum(len(fold.objects) for fold in folds)
    n_classes = folds[0].target.shape[1]
    each = len(folds) * (2 * n_live) ** 3 / 3 + n_rows * n_classes * (4.0 * n_live + 500)  # operations per setting
    for step, n_needed in LABELS_FOR_STEP.items():
        settings = grid(step)
        if n_objects >= n_needed and len(settings) * each < BUDGET:
            return settings
    return [setting for setting in grid(0.25) if setting[1] == 0]


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


def drop_one_auc(method: Method, votes: Votes, codes: Array, n_folds: int, seed: int) -> list[float | None]:
    """Return by how much the AUC on held-out labels falls when a base model is left out, for each of them.

    None where that cannot be measured: for the only classifier, or if a class has a single label.
    """
    if np.bincount(codes[codes >= 0], minlength=votes.n_classes).min() < 2:
        return [None] * len(votes.models)
    votes, codes = _sample(votes, codes, seed, DROP_ONE_ROWS)
    fold_of = make_folds(codes, n_folds, seed)
    with_all = _held_out_auc(method, votes, codes, fold_of)
    classifiers = [votes.models[m].name for m in np.flatnonzero(votes.is_classifier)]
    adds: list[float | None] = []
    for model in votes.models:
        if [model.name] == classifiers:
            adds.append(None)
        else:
            others = _without(method, model.name, classifiers)
            adds.append(with_all - _held_out_auc(others, votes.drop(model.name), codes, fold_of))
    return adds


def _held_out_auc(method: Method, votes: Votes, codes: Array, fold_of: Array) -> float:
    proba = np.empty((len(codes), votes.n_classes))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the consensus on all votes has given them already
        if not method.admits_known:
            proba = method.solve(votes).proba
        else:
            for f in range(int(fold_of.max()) + 1):
                shown = np.flatnonzero((codes >= 0) & (fold_of != f))
                known = {int(i): plain(votes.classes[codes[i]]) for i in shown}
                proba[fold_of == f] = method.solve(votes, known=known).proba[fold_of == f]
    return mean_auc(proba[codes >= 0], codes[codes >= 0])


def _without(method: Method, name: str, classifiers: list[str]) -> Method:
    """Return the method without the weight of one base model; if no other had one, all others get equal weights."""
    weights = method.get_params().get("weights")
    if weights is None or isinstance(weights, str):
        return method
    given = weights if isinstance(weights, Mapping) else dict(zip(classifiers, weights, strict=True))
    rest = {own: weight for own, weight in given.items() if own != name}
    return clone(method).set_params(weights=rest if any(rest.values()) else "equal")
