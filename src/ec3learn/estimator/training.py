"""Base models are fitted, and vote on the rows; none votes on a labelled row that it has seen."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from .._checks import InputError
from .._text import arg, count
from .._typing import Array
from ..algebra.membership import normalised
from ..answer.notes import Note
from .features import Features
from .models.classifiers import Sized
from .pools import Pool
from .rows import take_rows

Fold = tuple[Array, Array]  # positions of rows to fit to, and to vote on
Fitted = tuple[Any, Array]  # a model, and its votes

ROWS_TO_JUDGE = 4_000  # where so many labelled rows are in some of the folds, these suffice


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

    def __post_init__(self) -> None:
        self.has_own_folds = self.groups is not None or hasattr(self.cv, "split")
        self.order = np.arange(len(self.codes))
        if not self.has_own_folds:  # an order of their content: that of the table changes no answer
            numbers = Features().fit_transform(self.X)
            mixed = numbers @ np.random.default_rng(0).random(numbers.shape[1])
            self.order = np.lexsort((self.codes, mixed))
        self.labelled = self.order[self.codes[self.order] >= 0]  # positions of rows
        self.rest = self.order[self.codes[self.order] < 0]

    # ---- classifiers -----------------------------------------------------------------------------

    def fit_classifiers(self, pool: Pool) -> tuple[dict[str, list[Any]], dict[str, Array]]:
        """A list of one fitted model per classifier, and its votes on all rows.

        On labelled rows they are those of copies that were fitted to other folds, or of the trees
        of a forest that have not seen the row. Rows that are in no fold get no vote.
        """
        whole = (self.labelled, self.rest)
        # With fewer than ten rows per class trees lean to other classes out of bag.
        enough = len(self.labelled) >= 10 * self.n_classes > 10 and not self.has_own_folds
        parts = {
            name: [whole] if enough and is_forest(model) else [whole, *self.folds]
            for name, model in pool
        }
        models, votes = {}, {}
        for name, [(model, shares), *out_of_fold] in self._fit(pool, self.codes, parts).items():
            table = np.full((len(self.codes), self.n_classes), np.nan)
            table[self.rest] = shares
            if not out_of_fold and self.folds:
                unseen = np.full_like(table, np.nan)
                unseen[self.labelled] = out_of_bag(model, self.n_classes)
                out_of_fold = [(model, unseen[test]) for _, test in self.folds]
            for (_, test), (_, said) in zip(self.folds, out_of_fold, strict=True):
                table[test] = said
            models[name], votes[name] = [model], table
        return models, votes

    def retrain(self, pool: Pool, proba: Array) -> dict[str, tuple[list[Any], Array]]:
        """Two copies of each classifier, and their votes on the rows without labels.

        Each is fitted to one half of the rows of which the consensus `proba` is most confident, and
        to the labelled rows, which count three times. No copy votes on a row it was fitted to.
        """
        codes = np.where(self.codes < 0, proba.argmax(axis=1), self.codes)
        halves = self._confident_halves(proba)
        known = np.tile(self.labelled, 3)
        jobs = [(np.concatenate([known, half]), self.rest) for half in halves]
        seen = [np.isin(self.rest, half) for half in halves]
        share = np.select(seen, [0.0, 1.0], 0.5)[:, None]  # of the first copy in the votes
        return {
            name: ([one, two], share * first + (1 - share) * second)
            for name, [(one, first), (two, second)] in self._fit(
                pool, codes, {name: jobs for name, _ in pool}
            ).items()
        }

    def _confident_halves(self, proba: Array) -> tuple[Array, Array]:
        """Two fifths of the rows without a label of each class, in two halves."""
        classes = proba[self.rest].argmax(axis=1)
        confident = []
        for z, rows in enumerate(self.rest[classes == z] for z in range(self.n_classes)):
            best = np.argsort(-proba[rows, z], kind="stable")
            confident.append(rows[best[: int(np.ceil(0.4 * len(rows)))]])
        rows = np.random.default_rng(self.seed).permutation(np.concatenate(confident))
        return rows[::2], rows[1::2]

    def _fit(
        self, pool: Pool, codes: Array, parts: dict[str, list[Fold]]
    ) -> dict[str, list[Fitted]]:
        jobs = [
            delayed(fit_and_vote)(
                name,
                model if part[0] is self.labelled else lighter(model),
                self.X,
                codes,
                part,
                self.n_classes,
                self.weights,
            )
            for name, model in pool
            for part in parts[name]
        ]
        results = iter(Parallel(self.n_jobs)(jobs))
        return {name: list(islice(results, len(parts[name]))) for name, _ in pool}

    # ---- folds -----------------------------------------------------------------------------------

    @cached_property
    def folds(self) -> list[Fold]:
        """The folds of the labelled rows."""
        codes = self.codes[self.labelled]
        if not self.has_own_folds:
            return self._stratified(codes)
        groups = None if self.groups is None else take_rows(self.groups, self.labelled)
        splitter = self.cv
        if not hasattr(splitter, "split"):
            splitter = StratifiedGroupKFold(self.cv, shuffle=True, random_state=self.seed)
        parts = splitter.split(codes, codes, groups)
        return [(self.labelled[train], self.labelled[test]) for train, test in parts]

    def _stratified(self, codes: Array) -> list[Fold]:
        """Folds, fewer than `cv` where every class has fewer rows.

        The only row of a class is always trained on, and gets no vote.
        """
        counts = np.bincount(codes)
        n_folds = int(min(self.cv, counts.max()))
        if n_folds < 2:
            return []
        alone = self.labelled[counts[codes] == 1]
        several = self.labelled[counts[codes] > 1]
        enough = n_folds if self.judge_all else -(-ROWS_TO_JUDGE * n_folds // len(several))
        splitter = StratifiedKFold(n_folds, shuffle=True, random_state=self.seed)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The least populated class")
            parts = list(splitter.split(several, self.codes[several]))
        return [(np.r_[several[train], alone], several[test]) for train, test in parts[:enough]]

    def notes(self) -> list[Note]:
        """What to know of the folds."""
        most = int(np.bincount(self.codes[self.labelled]).max())
        if self.has_own_folds or most >= self.cv:
            return []
        none = "labelled rows get no votes to judge classifiers by"
        what = none if most == 1 else f"votes come from {most} folds"
        rows = f"No class has more than {count(most, 'labelled row')}"
        return [Note("few labels", f"{rows}, fewer than {arg('cv', self.cv)} folds: {what}.")]

    # ---- clusterings -----------------------------------------------------------------------------

    def fit_clusterings(self, pool: Pool) -> tuple[dict[str, Any], dict[str, Array]]:
        """The fitted clusterings, and the cluster of each row."""
        X, places = take_rows(self.X, self.order), np.argsort(self.order)
        jobs = (delayed(_fit_and_assign)(name, model, X) for name, model in pool)
        models, clusters = {}, {}
        for (name, _), (model, labels) in zip(pool, Parallel(self.n_jobs)(jobs), strict=True):
            models[name], clusters[name] = model, labels[places]
        return models, clusters


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
    place = weight_parameter(model)
    params = {} if place is None or weights is None else {place: weights[train]}
    with _errors_of("classifiers", f"classifier {name!r}"):
        if len(np.unique(codes[train])) == 1:
            # Many classifiers refuse a single class, so that a constant one takes their place.
            model, params = DummyClassifier(), {}
        fitted = clone(model).fit(take_rows(X, train), codes[train], **params)
        if not len(test):
            return fitted, np.zeros((0, n_classes))
        return fitted, predict_shares(fitted, take_rows(X, test), n_classes)


def _fit_and_assign(name: str, model: Any, X: Any) -> Fitted:
    """A fitted clustering, and the cluster of each row."""
    with _errors_of("clusterers", f"clustering {name!r}"):
        fitted = clone(model).fit(X)
        labels = getattr(last_step(fitted), "labels_", None)
        return fitted, np.asarray(fitted.predict(X) if labels is None else labels)


@contextmanager
def _errors_of(argument: str, model: str) -> Iterator[None]:
    """Name the model that fails, and ignore warnings: a fold is smaller than it was meant for."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except Exception as error:
        phrase = f"The {model} failed ({type(error).__name__}: {error})"
        raise InputError(argument, phrase=phrase, remedy="Fix or remove it.") from error


def last_step(model: Any) -> Any:
    """The model at the end of a pipeline, or the model itself."""
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def weight_parameter(model: Any) -> str | None:
    """What `fit` calls the weights of rows, in a pipeline those of its last step; None for none."""
    last = last_step(model)
    inner = last.estimator if isinstance(last, Sized) else last
    if not has_fit_parameter(inner, "sample_weight"):
        return None
    return "sample_weight" if last is model else f"{model.steps[-1][0]}__sample_weight"


def lighter(model: Any) -> Any:
    """A model of our pools as it suffices for a fold, or for a copy that is retrained."""
    is_ours = isinstance(last_step(model), Sized)
    return clone(model).set_params(model__light=True) if is_ours else model


def is_forest(model: Any) -> bool:
    """Whether a model of our pools, or a bare one, has trees that vote out of bag.

    Other steps of a user's pipeline may have seen the labels of all rows.
    """
    last = last_step(model)
    forest = last.estimator if isinstance(last, Sized) else model
    return bool(getattr(forest, "oob_score", False))


def out_of_bag(model: Any, n_classes: int) -> Array:
    """What the trees of a forest that have not seen a row say; NaN for rows that all have seen."""
    forest = last_step(model)
    votes = getattr(forest, "model_", forest).oob_decision_function_
    shares = np.zeros((len(votes), n_classes))
    shares[:, forest.classes_] = votes
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
