"""Which settings of EC3 suit these votes: the whole grid on held-out labels, at little more than the cost of one solution.

A fold's labels are hidden, the others are held fixed, and the answer for the fold is compared with its labels. With K^m and K^c
given, the couplings between groups are sums over rows whose weights do not depend on alpha, beta, gamma and delta but for one
common factor. So they are summed once for a fold, and each setting costs one small system over groups.
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

from ..algebra.membership import JointMembership, SparseMembership, entries, membership
from ..answer.rule import KnownLabels, Targets
from ..diagnosis.metrics import macro_f, mean_auc, sharpened_log_loss
from ..methods.base import Method
from ..methods.ec3.ec3 import EC3
from ..methods.ec3.grid import SOFT_VOTE, HeldOutFold, Setting, grid
from ..methods.stacking import StackedVote, greedy_weights
from ..methods.voting import SoftVote, WeightedVote
from ..methods.weights import learned_from_labels
from ..votes import Votes
from ..votes.labels import plain

Array = npt.NDArray[Any]


# ---- the choice ------------------------------------------------------------------------------------------------------

FEW_LABELS = 25  # of a class, on average: below this the settings that measured best are taken as they are
MOST_ROWS = 20_000  # rows with labels, and as many without, that the choice is made on
LABELS_FOR_STEP = {0.05: 2_000, 0.1: 500}  # how many labels it takes to choose among settings in these steps
STACKED_C = (1.0, 10.0)
LABELS_FOR_STACKING = 100  # of a class: with fewer, a stacked vote is judged in twice as many folds
BUDGET = 100e9  # operations of the small systems, about: the grid is coarser where they are large
MOST_FOR_ADDED = 2_000  # rows with labels, and as many without, that tell what each base model adds
CLEAR_GAIN = 0.008  # of macro F, for offsets of the classes to be worth it
WITH_FEW_LABELS: Setting = (0.5, 0.0, 0.5, 0.0)


@dataclass(frozen=True)
class Choice:
    """A method for some votes, and why it was chosen.

    `offsets`, one a class, are added to the probabilities before the highest is taken; `hard` says that each classifier's vote
    is to be its most probable class.
    """

    method: Method
    offsets: Array | None = None
    notes: tuple[str, ...] = ()
    hard: bool = False


@dataclass
class Candidate:
    """One way to weigh classifiers and to aim, with what is held out in each fold."""

    name: str
    weights: Array
    folds: list[HeldOutFold]
    stacked: StackedVote | None = None
    hard: bool = False
    best: Setting = SOFT_VOTE
    score: float = -1.0


def choose(votes: Votes, codes: Array, n_folds: int, seed: int) -> Choice:
    """Choose a method on the votes on objects with labels (`codes`: the number of an object's class, -1 for none).

    The votes on labelled objects must be out of fold. Each fold's labels are hidden in turn, and the candidates compared by the
    mean area under the curve of their answers for it: soft and hard votes with equal and learned weights, greedy selection, a
    stacked vote, and EC3 on top of each, over the whole grid. Stacking is taken if it beats plain soft voting in the area or in
    the log loss; the best of all others must be clearly ahead, since the best of many is so by chance too.
    """
    labelled = codes >= 0
    counts = np.bincount(codes[labelled], minlength=votes.n_classes)
    if votes.n_classes < 2:
        return Choice(SoftVote(), notes=("There is one class only: plain voting.",))
    if counts.min() < 2 or counts.mean() < FEW_LABELS:
        alpha, beta, gamma, delta = WITH_FEW_LABELS
        why = f"{labelled.sum()} labels are too few to choose on: iEC3 with the settings that measured best with few labels."
        return Choice(EC3(alpha, beta, gamma, delta, weights="agreement"), notes=(why,))
    with threadpool_limits(1):
        return _chosen(*_sample(votes, codes, seed), n_folds, seed)


def _chosen(votes: Votes, codes: Array, n_folds: int, seed: int) -> Choice:
    fold_of = _folds(codes, n_folds, seed)
    candidates = _candidates(votes, codes, fold_of)
    labels = codes[codes >= 0]
    plain = candidates[0]

    def search(candidate: Candidate, settings: list[Setting]) -> None:
        for setting in settings:
            score = mean_auc(_held_out(candidate, setting, fold_of, codes), labels)
            if score > candidate.score + 1e-6:
                candidate.best, candidate.score = setting, score

    for candidate in candidates:
        search(candidate, [SOFT_VOTE, *grid(0.25)])
    best = max(candidates, key=lambda candidate: candidate.score)
    search(best, _grid_for(best.folds))
    simple = [plain, *(candidate for candidate in candidates if candidate.stacked)]
    # Learned from four fifths of a handful of labels a class, a stacked vote looks worse than it will be.
    many = labels.size >= LABELS_FOR_STACKING * votes.n_classes
    split = _Split.of(votes, codes, fold_of if many else _folds(codes, 2 * n_folds, seed))
    answers = [_held_out(plain, SOFT_VOTE, fold_of, codes), *(split.stacked(own.stacked) for own in simple[1:])]
    areas, losses = ([score(answer, labels) for answer in answers] for score in (mean_auc, sharpened_log_loss))
    i = min(range(1, len(simple)), key=lambda i: losses[i])
    if areas[0] >= areas[i] and losses[0] <= losses[i]:  # stacking beats soft voting in nothing
        i = 0
    chosen, setting, answer, area = simple[i], SOFT_VOTE, answers[i], areas[i]
    if best.score > area + _clear(area, labels):
        chosen, setting, answer, area = best, best.best, _held_out(best, best.best, fold_of, codes), best.score
    if chosen is plain and setting == SOFT_VOTE:
        method: Method = SoftVote()
        why = (
            f"Nothing clearly beats plain soft voting (held-out AUC {area:.4f}, the best rival {best.score:.4f}), so it is used."
        )
    else:
        method = _method(chosen, setting, votes)
        why = f"{chosen.name}{_described(setting)}: AUC {area:.4f} on held-out labels, plain soft voting {areas[0]:.4f}."
    offsets, note = _offsets(answer, labels, fold_of[codes >= 0])
    return Choice(method, offsets, (why, *note), chosen.hard)


def _clear(area: float, labels: Array) -> float:
    """Return by how much the best of very many settings must be ahead of what has none, since the best is so by chance too."""
    counts = np.bincount(labels)
    error = np.sqrt(area * (1 - area) / counts[counts > 0].min())  # of an area, roughly; two on the same labels differ by less
    return 0.002 + 0.4 * float(error)


def _method(best: Candidate, setting: Setting, votes: Votes) -> Method:
    classifiers = np.flatnonzero(votes.is_classifier)
    given = {votes.models[m].name: float(best.weights[m]) for m in classifiers}
    if setting == SOFT_VOTE:
        return best.stacked or WeightedVote(given)
    return EC3(*setting, weights=given, towards=best.stacked or "votes")


def _described(setting: Setting) -> str:
    if setting == SOFT_VOTE:
        return ""
    return " refined by iEC3 (alpha {:g}, beta {:g}, gamma {:g}, delta {:g})".format(*(round(x, 3) for x in setting))


def _sample(votes: Votes, codes: Array, seed: int, most: int = MOST_ROWS) -> tuple[Votes, Array]:
    rng = np.random.default_rng(seed)
    parts = [np.flatnonzero(codes >= 0), np.flatnonzero(codes < 0)]
    kept = np.sort(np.concatenate([rng.permutation(part)[:most] for part in parts]))
    if len(kept) == len(codes):
        return votes, codes
    return votes[kept], codes[kept]


def _folds(codes: Array, n_folds: int, seed: int) -> Array:
    """Return the fold of each labelled object, -1 for the others."""
    labelled = np.flatnonzero(codes >= 0)
    n_folds = int(min(n_folds, np.bincount(codes[labelled]).min()))
    fold_of = np.full(len(codes), -1)
    for f, (_, test) in enumerate(StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(labelled, codes[labelled])):
        fold_of[labelled[test]] = f
    return fold_of


def _candidates(votes: Votes, codes: Array, fold_of: Array) -> list[Candidate]:
    """Return the ways to weigh classifiers and to aim; weights and stacked votes of a fold come from the others' labels."""
    soft = _Split.of(votes, codes, fold_of)
    candidates = [
        soft.candidate("Equal weights", soft.equal),
        soft.candidate("Learned weights", soft.learned),
        *(soft.candidate("A stacked vote", soft.equal, stacked=StackedVote(C)) for C in STACKED_C),
    ]
    shares = _classifier_shares(soft.rows)
    if shares is not None:
        candidates.append(soft.candidate("Greedy selection", lambda known: _greedy(soft.rows, shares, known)))
    if votes.soft is not None:
        hard = _Split.of(votes.hardened(), codes, fold_of)
        candidates.append(hard.candidate("Equal weights of hard votes", hard.equal, hard=True))
        candidates.append(hard.candidate("Learned weights of hard votes", hard.learned, hard=True))
    return candidates


@dataclass(frozen=True)
class _Split:
    """Votes whose rows have one class and one fold each."""

    rows: Votes
    groups: JointMembership | SparseMembership
    codes: Array
    fold: Array
    fold_of: Array  # of each object

    @classmethod
    def of(cls, votes: Votes, codes: Array, fold_of: Array) -> _Split:
        n_folds = int(fold_of.max()) + 1
        rows, both = votes.split_by(np.where(codes >= 0, codes * n_folds + fold_of, -1))
        row_codes, row_fold = (np.where(both >= 0, part, -1) for part in (both // n_folds, both % n_folds))
        return cls(rows, membership(rows), row_codes, row_fold, fold_of)

    def candidate(
        self, name: str, weights_of: Callable[[KnownLabels], Array], stacked: StackedVote | None = None, hard: bool = False
    ) -> Candidate:
        folds = []
        for f in range(int(self.fold_of.max()) + 1):
            hidden = self.fold == f
            known = KnownLabels(np.where(hidden, -1, self.codes), np.inf)
            target = None
            if stacked is not None:
                answer = stacked.answer(self.rows, known)
                target = Targets(answer.proba, answer.rule)
            weights = self.rows.weights * weights_of(known)
            folds.append(HeldOutFold(self.rows, self.groups, weights, self.codes, hidden, target))
        everything = KnownLabels(self.codes, np.inf)
        return Candidate(name, weights_of(everything), _spread(folds, self.rows, self.fold_of), stacked, hard)

    def stacked(self, vote: StackedVote | None) -> Array:
        """Return what a stacked vote says about labelled objects, each learned from the other folds."""
        assert vote is not None
        out = np.empty((len(self.fold_of), self.rows.n_classes))
        for f in range(int(self.fold_of.max()) + 1):
            answer = vote.answer(self.rows, KnownLabels(np.where(self.fold == f, -1, self.codes), np.inf)).proba
            objects = np.flatnonzero(self.fold_of == f)
            out[objects] = answer[objects if self.rows.index is None else self.rows.index[objects]]
        return out[self.fold_of >= 0]

    def equal(self, known: KnownLabels) -> Array:
        return np.ones(len(self.rows.models))

    def learned(self, known: KnownLabels) -> Array:
        return learned_from_labels(self.rows, known)


def _spread(folds: list[HeldOutFold], rows: Votes, fold_of: Array) -> list[HeldOutFold]:
    """Let each fold know which of its rows each of its objects is."""
    for f, fold in enumerate(folds):
        objects = np.flatnonzero(fold_of == f)
        own_rows = objects if rows.index is None else rows.index[objects]
        fold.objects, fold.places = objects, np.searchsorted(fold.rows, own_rows)
    return folds


def _held_out(candidate: Candidate, setting: Setting, fold_of: Array, codes: Array) -> Array:
    """Return the class probabilities of all labelled objects, in their order, each from the fold that did not know its label."""
    out = np.empty((len(codes), candidate.folds[0].target.shape[1]))
    for fold in candidate.folds:
        out[fold.objects] = fold.proba(setting)[fold.places]
    return out[codes >= 0]


def _grid_for(folds: list[HeldOutFold]) -> list[Setting]:
    """Return the finest grid that the labels can tell apart, and that is affordable."""
    n_live = len(folds[0].live)
    n_rows = sum(len(fold.rows) for fold in folds)
    n_objects = sum(len(fold.objects) for fold in folds)
    n_classes = folds[0].target.shape[1]
    each = len(folds) * (2 * n_live) ** 3 / 3 + n_rows * n_classes * (4.0 * n_live + 500)
    for step, n_needed in LABELS_FOR_STEP.items():
        settings = grid(step)
        if n_objects >= n_needed and len(settings) * each < BUDGET:
            return settings
    return [setting for setting in grid(0.25) if setting[1] == 0]


def _classifier_shares(votes: Votes) -> Array | None:
    """Return models x rows x classes, or None where the table would be large."""
    classifiers = np.flatnonzero(votes.is_classifier)
    if len(classifiers) * votes.n_rows * votes.n_classes > 50_000_000:
        return None
    matrix = entries(votes)
    spans = [slice(int(votes.offsets[m]), int(votes.offsets[m + 1])) for m in classifiers]
    return np.stack([matrix[:, span].toarray() for span in spans])


def _greedy(votes: Votes, shares: Array, known: KnownLabels) -> Array:
    rows = np.flatnonzero(known.labelled)
    if len(rows) > 5_000:
        rows = rows[np.linspace(0, len(rows) - 1, 5_000).astype(np.int64)]
    taken, _ = greedy_weights(shares[:, rows], known.codes[rows], mean_auc, n_rounds=25, patience=5)
    weights = np.ones(len(votes.models))
    weights[votes.is_classifier] = taken
    return weights


def _offsets(proba: Array, codes: Array, fold: Array) -> tuple[Array | None, tuple[str, ...]]:
    """Return offsets of the classes that raise the macro F of labels they were not found on, if they do so clearly.

    They are found on all folds but one, in turn, and judged on that one; the mean of those of all turns is taken.
    """
    n_classes = proba.shape[1]
    found, shifted = [], np.empty_like(proba)
    for f in range(int(fold.max()) + 1):
        found.append(_best_offsets(proba[fold != f], codes[fold != f]))
        shifted[fold == f] = proba[fold == f] + found[-1]
    plain, score = (macro_f(table.argmax(axis=1), codes, n_classes) for table in (proba, shifted))
    if score < plain + CLEAR_GAIN:
        return None, ()
    why = (
        f"Labels are taken after offsets of the classes, macro F {score:.4f} on held-out labels instead of {plain:.4f} by argmax."
    )
    return np.mean(found, axis=0), (why,)


def _best_offsets(proba: Array, codes: Array) -> Array:
    """Return offsets of the classes that raise the macro F, in smaller and smaller steps."""
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


def added(method: Method, votes: Votes, codes: Array, n_folds: int, seed: int) -> list[float | None]:
    """Return by how much the area under the curve on held-out labels falls when a base model is left out, for each of them.

    None where that can't be told: for the only classifier, or with a class that has a single label.
    """
    if np.bincount(codes[codes >= 0], minlength=votes.n_classes).min() < 2:
        return [None] * len(votes.models)
    votes, codes = _sample(votes, codes, seed, MOST_FOR_ADDED)
    fold_of = _folds(codes, n_folds, seed)
    everyone = _held_out_score(method, votes, codes, fold_of)
    classifiers = [votes.models[m].name for m in np.flatnonzero(votes.is_classifier)]
    adds: list[float | None] = []
    for model in votes.models:
        if [model.name] == classifiers:
            adds.append(None)
        else:
            others = _without(method, model.name, classifiers)
            adds.append(everyone - _held_out_score(others, votes.drop(model.name), codes, fold_of))
    return adds


def _held_out_score(method: Method, votes: Votes, codes: Array, fold_of: Array) -> float:
    proba = np.empty((len(codes), votes.n_classes))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the whole consensus has told of them
        if not method.admits_known:
            proba = method.solve(votes).proba
        else:
            for f in range(int(fold_of.max()) + 1):
                shown = np.flatnonzero((codes >= 0) & (fold_of != f))
                known = {int(i): plain(votes.classes[codes[i]]) for i in shown}
                proba[fold_of == f] = method.solve(votes, known=known).proba[fold_of == f]
    return mean_auc(proba[codes >= 0], codes[codes >= 0])


def _without(method: Method, name: str, classifiers: list[str]) -> Method:
    """Return the method for votes that lack a base model; where only that one had a weight, the others have equal ones."""
    weights = method.get_params().get("weights")
    if weights is None or isinstance(weights, str):
        return method
    given = weights if isinstance(weights, Mapping) else dict(zip(classifiers, weights, strict=True))
    rest = {own: weight for own, weight in given.items() if own != name}
    return clone(method).set_params(weights=rest if any(rest.values()) else "equal")
