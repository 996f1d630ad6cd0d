"""Base models are fitted, and vote on the rows; none votes on a labelled row that it has seen."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn import config_context
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from .._checks import InputError
from .._text import arg, count
from .._typing import Array
from ..algebra.linear import normalised
from ..answer.notes import FEW_LABELS, Note
from .models.classifiers import Sized
from .pools import Pool
from .rows import make_folds, take_rows

Fold = tuple[Array, Array]  # positions of rows to fit to, and to vote on
Fitted = tuple[Any, Array]  # a model, and its votes

RETRAINED_SHARE = 0.4  # of the unlabelled rows of each class, the most confident first
LABEL_REPEATS = 3  # how often each labelled row is repeated among them
ROWS_TO_JUDGE = 4_000  # where so many labelled rows are in some of the folds, these suffice
ROWS_OF_A_CLASS = 50  # among them, if it has as many
ROWS_FOR_BAGS = 10  # per class: with fewer, trees that have not seen a row lean to other classes


@dataclass
class Training:
    """The rows that base models are fitted to; classes are numbers, -1 where there is no label."""

    X: Any
    codes: Array
    weights: Array | None
    cv: Any
    groups: Any
    n_classes: int
    n_jobs: int | None
    seed: int
    judge_all: bool = False  # whether all labelled rows get votes, however many they are

    @cached_property
    def labelled(self) -> Array:
        """The positions of the rows with a label."""
        return np.flatnonzero(self.codes >= 0)

    @property
    def rest(self) -> Array:
        """The positions of the rows without one."""
        return np.flatnonzero(self.codes < 0)

    # ---- classifiers -----------------------------------------------------------------------------

    def fit_classifiers(self, pool: Pool) -> tuple[dict[str, list[Any]], dict[str, Array]]:
        """A list of one fitted model per classifier, and its votes on all rows.

        On labelled rows they are those of copies that were fitted to other folds, or of the trees
        of a forest that have not seen the row. Rows that are in no fold get no vote.
        """
        whole = (self.labelled, self.rest)
        parts = {
            name: [whole] if self._votes_out_of_bag(model) else [*self.folds, whole]
            for name, model in pool
        }
        models, votes = {}, {}
        for name, results in self._fit(pool, self.codes, parts).items():
            model, shares = results[-1]
            models[name] = [model]
            votes[name] = np.full((len(self.codes), self.n_classes), np.nan)
            votes[name][self.rest] = shares
            out_of_fold = results[:-1]
            if self.folds and not out_of_fold:
                bags = out_of_bag(model, self.n_classes)
                at = np.full(len(self.codes), -1)
                at[self.labelled] = np.arange(len(self.labelled))
                out_of_fold = [(model, bags[at[test]]) for _, test in self.folds]
            for (_, test), (_, shares) in zip(self.folds, out_of_fold, strict=True):
                votes[name][test] = shares
        return models, votes

    def retrain(self, pool: Pool, proba: Array) -> dict[str, Fitted]:
        """Two copies of each classifier, and their votes on the rows without labels.

        Each is fitted to one half of the rows of which the consensus `proba` is most confident, and
        to the labelled rows. No copy votes on a row that it was fitted to.
        """
        codes = np.where(self.codes < 0, proba.argmax(axis=1), self.codes)
        halves = self._confident_halves(proba)
        known = np.tile(self.labelled, LABEL_REPEATS)
        place = np.full(len(codes), -1)
        place[self.rest] = np.arange(len(self.rest))
        jobs = [(np.concatenate([known, half]), self.rest) for half in halves]
        answers = {}
        for name, results in self._fit(pool, codes, {name: jobs for name, _ in pool}).items():
            first, second = (shares for _, shares in results)
            mean = (first + second) / 2
            mean[place[halves[0]]] = second[place[halves[0]]]
            mean[place[halves[1]]] = first[place[halves[1]]]
            answers[name] = [model for model, _ in results], mean
        return answers

    def _confident_halves(self, proba: Array) -> tuple[Array, Array]:
        classes = np.where(self.codes < 0, proba.argmax(axis=1), -1)
        confident = []
        for z in range(self.n_classes):
            rows = np.flatnonzero(classes == z)
            n_kept = int(np.ceil(RETRAINED_SHARE * len(rows)))
            confident.append(rows[np.argsort(-proba[rows, z], kind="stable")[:n_kept]])
        rows = np.random.default_rng(self.seed).permutation(np.concatenate(confident))
        return rows[::2], rows[1::2]

    def _fit(
        self, pool: Pool, codes: Array, parts: dict[str, list[Fold]]
    ) -> dict[str, list[Fitted]]:
        jobs = [
            delayed(fit_and_vote)(name, model, self.X, codes, part, self.n_classes, self.weights)
            for name, model in pool
            for part in parts[name]
        ]
        results = iter(Parallel(self.n_jobs)(jobs))
        return {name: list(islice(results, len(parts[name]))) for name, _ in pool}

    def _votes_out_of_bag(self, model: Any) -> bool:
        """Whether the trees of a forest that have not seen a row vote on it."""
        enough = len(self.labelled) >= ROWS_FOR_BAGS * self.n_classes > ROWS_FOR_BAGS
        return enough and not self._has_own_folds() and is_forest(model)

    # ---- folds -----------------------------------------------------------------------------------

    def _has_own_folds(self) -> bool:
        """Whether the user says which rows are in one fold."""
        return self.groups is not None or hasattr(self.cv, "split")

    @cached_property
    def folds(self) -> list[Fold]:
        """The folds of the labelled rows."""
        codes = self.codes[self.labelled]
        if not self._has_own_folds():
            parts: Any = self._split(codes)
        else:
            groups = None if self.groups is None else take_rows(self.groups, self.labelled)
            splitter = self.cv
            if not hasattr(splitter, "split"):
                splitter = StratifiedGroupKFold(self.cv, shuffle=True, random_state=self.seed)
            parts = splitter.split(codes, codes, groups)
        return [(self.labelled[train], self.labelled[test]) for train, test in parts]

    def _split(self, codes: Array) -> list[Fold]:
        """Stratified folds, fewer than `cv` where every class has fewer rows.

        The only row of a class is always trained on, and gets no vote.
        """
        counts = np.bincount(codes)
        n_folds = int(min(self.cv, counts.max()))
        alone, several = np.flatnonzero(counts[codes] == 1), np.flatnonzero(counts[codes] > 1)
        if not len(several):
            return []
        fold_of = make_folds(codes[several], n_folds, self.seed)
        enough = n_folds if self.judge_all else _enough_folds(counts[counts > 1], n_folds)
        return [
            (np.concatenate([several[fold_of != f], alone]), several[fold_of == f])
            for f in range(enough)
        ]

    def notes(self) -> list[Note]:
        """What to know of the folds."""
        most = int(np.bincount(self.codes[self.labelled]).max())
        if self._has_own_folds() or most >= self.cv:
            return []
        none = "labelled rows get no votes to judge classifiers by"
        what = none if most == 1 else f"votes come from {most} folds"
        rows = f"No class has more than {count(most, 'labelled row')}"
        return [Note(FEW_LABELS, f"{rows}, fewer than {arg('cv', self.cv)} folds: {what}.")]

    # ---- clusterings -----------------------------------------------------------------------------

    def fit_clusterings(self, pool: Pool) -> tuple[dict[str, Any], dict[str, Array]]:
        """The fitted clusterings, and the cluster of each row."""
        jobs = (delayed(_fit_and_assign)(name, model, self.X) for name, model in pool)
        results = list(zip(pool, Parallel(self.n_jobs)(jobs), strict=True))
        models = {name: model for (name, _), (model, _) in results}
        return models, {name: labels for (name, _), (_, labels) in results}


def _enough_folds(counts: Array, n_folds: int) -> int:
    """How many of the folds hold enough rows to judge by, given the rows of each class."""
    of_a_class = float((np.minimum(ROWS_OF_A_CLASS, counts) / counts).max())
    share = max(ROWS_TO_JUDGE / counts.sum(), of_a_class)
    return min(n_folds, int(np.ceil(share * n_folds)))


# ---- single models -------------------------------------------------------------------------------


def fit_and_vote(
    name: str,
    model: Any,
    X: Any,
    codes: Array,
    part: Fold,
    n_classes: int,
    weights: Array | None = None,
) -> Fitted:
    """A copy fitted to some rows, and its votes on others, if any."""
    train, test = part
    place = None if weights is None else weight_parameter(model)
    params = {} if place is None or weights is None else {place: weights[train]}
    try:
        # Many classifiers refuse a single class, so that a constant one takes their place.
        several = len(np.unique(codes[train])) > 1
        copy = clone(model) if several else DummyClassifier()
        fitted = _fit_quietly(copy, take_rows(X, train), codes[train], **params if several else {})
        shares = np.zeros((0, n_classes))
        if len(test):
            shares = predict_shares(fitted, take_rows(X, test), n_classes)
    except Exception as error:
        phrase = f"The classifier {name!r} failed ({type(error).__name__}: {error})"
        raise InputError("classifiers", phrase=phrase, remedy="Fix or remove it.") from error
    return fitted, shares


def _fit_and_assign(name: str, model: Any, X: Any) -> tuple[Any, Array]:
    """A fitted clustering, and the cluster of each row."""
    try:
        fitted = _fit_quietly(clone(model), X)
        found = last_step(fitted)
        return fitted, np.asarray(found.labels_ if hasattr(found, "labels_") else fitted.predict(X))
    except Exception as error:
        phrase = f"The clustering {name!r} failed ({type(error).__name__}: {error})"
        raise InputError("clusterers", phrase=phrase, remedy="Fix or remove it.") from error


def _fit_quietly(model: Any, *data: Any, **params: Any) -> Any:
    with warnings.catch_warnings(), config_context(enable_metadata_routing=False):
        warnings.simplefilter("ignore")  # a fold is smaller than what the model was meant for
        return model.fit(*data, **params)


def last_step(model: Any) -> Any:
    """The model at the end of a pipeline, or the model itself."""
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def weight_parameter(model: Any) -> str | None:
    """What `fit` calls the weights of rows, in a pipeline those of its last step; None for none."""
    if isinstance(model, Pipeline):
        inner = weight_parameter(last_step(model))
        return None if inner is None else f"{model.steps[-1][0]}__{inner}"
    model = model.estimator if isinstance(model, Sized) else model
    return "sample_weight" if has_fit_parameter(model, "sample_weight") else None


def is_forest(model: Any) -> bool:
    """Whether a model of our pools, or a bare one, has trees that vote out of bag.

    Other steps of a user's pipeline may have seen the labels of all rows.
    """
    last = last_step(model)
    forest = last.estimator if isinstance(last, Sized) else last
    ours = not isinstance(model, Pipeline) or isinstance(last, Sized)
    return ours and bool(getattr(forest, "oob_score", False))


def out_of_bag(model: Any, n_classes: int) -> Array:
    """What the trees of a forest that have not seen a row say; NaN for rows that all have seen."""
    forest = last_step(model)
    classes = forest.classes_
    votes = getattr(forest, "model_", forest).oob_decision_function_
    shares = np.zeros((len(votes), n_classes))
    shares[:, classes] = votes
    shares[~(shares.sum(axis=1) > 0)] = np.nan
    return shares


def predict_shares(model: Any, X: Any, n_classes: int) -> Array:
    """Class probabilities, or 1 for the predicted class; 0 for classes the model never saw."""
    shares = np.zeros((X.shape[0], n_classes))
    if not hasattr(model, "predict_proba"):
        shares[np.arange(len(shares)), np.asarray(model.predict(X)).astype(np.intp)] = 1.0
        return shares
    shares[:, np.asarray(model.classes_).astype(np.intp)] = model.predict_proba(X)
    shares = np.where(np.isfinite(shares), np.maximum(shares, 0.0), 0.0)
    shares[~shares.any(axis=1)] = 1.0
    return normalised(shares)


def mean_shares(models: Sequence[Any], X: Any, n_classes: int) -> Array:
    """Class probabilities of a model; its retrained copies together count as much as the model."""
    first, *retrained = (predict_shares(model, X, n_classes) for model in models)
    return (first + sum(retrained) / len(retrained)) / 2 if retrained else first
