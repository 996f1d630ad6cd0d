"""Classifiers of scikit-learn that also work on a handful of rows, and those of libraries that may be installed."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import LinearSVC

from ..._checks import InputError, require_choice, require_integer, require_library, require_number
from ..._typing import Array
from ..rows import count_rows
from .base import ProbabilisticClassifier

FEW_ROWS = 500
VERY_FEW_ROWS = 200
MOST_LEAVES = 10_000  # of a tree
MOST_NUMBERS = 30_000_000  # in the leaves of a forest: about half a gigabyte
LEAST_TREES = 30
ROWS_FOR_ALPHA = 1_000
LEARNING_RATE = 0.005  # of a perceptron, which sees few batches per epoch where rows are few


class Wrapped(ProbabilisticClassifier):
    """A classifier that delegates to another one, which its `_make_model` returns, given the number of rows per class."""

    def _fit(self, X: Any, codes: Array) -> None:
        self.model_ = self._make_model(np.bincount(codes))
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", ConvergenceWarning
            )  # max_iter is meant to be enough for a vote
            self.model_.fit(X, codes)

    def _predict_proba(self, X: Any) -> Array:
        return np.asarray(self.model_.predict_proba(X), dtype=float)


@dataclass(eq=False, repr=False)
class NearestNeighbours(Wrapped):
    """K nearest neighbours; all rows are neighbours where there are fewer than k.

    Parameters
    ----------
    n_neighbors : int
        Number of neighbours that vote.
    weights : "distance" or "uniform"
        Whether nearer neighbours count more.
    n_jobs : int or None
        Number of parallel searches.

    Examples
    --------
    >>> from ec3learn.estimator import NearestNeighbours
    >>> NearestNeighbours(n_neighbors=5).fit([[0.0], [1.0], [4.0]], ["a", "a", "b"]).predict([[3.8]])
    array(['b'], dtype='<U1')
    """

    n_neighbors: int = 10
    weights: str = "distance"
    n_jobs: int | None = None

    def _make_model(self, counts: Array) -> Any:
        require_integer("n_neighbors", self.n_neighbors, 1)
        return KNeighborsClassifier(
            min(self.n_neighbors, int(counts.sum())), weights=self.weights, n_jobs=self.n_jobs
        )


@dataclass(eq=False, repr=False)
class CalibratedLinearSVM(Wrapped):
    """A linear support vector machine with probabilities by Platt scaling.

    The sigmoids are fitted to out-of-fold scores. There are `cv` folds, or as many as the smallest
    class has rows if those are fewer. If a class has a single row, nothing can be held out, and the
    sigmoids are fitted to in-sample scores.

    Parameters
    ----------
    C : float
        Inverse strength of the penalty.
    cv : int
        Number of folds.
    random_state : int, RandomState instance, or None
        Seed of the folds and of the solver.
    """

    C: float = 1.0
    cv: int = 3
    random_state: Any = None

    def _make_model(self, counts: Array) -> Any:
        require_number("C", self.C, above=0)
        require_integer("cv", self.cv, 2)
        svm = linear_svm(C=self.C, random_state=self.random_state)
        if len(counts) < 2:
            raise InputError("y", "must hold at least 2 classes", came=f"{len(counts)} class")
        if counts.min() > 1:
            folds = StratifiedKFold(
                min(self.cv, int(counts.min())), shuffle=True, random_state=self.random_state
            )
            return CalibratedClassifierCV(svm, cv=folds, ensemble=False)
        all_rows = np.arange(counts.sum())
        return CalibratedClassifierCV(svm, cv=[(all_rows, all_rows)], ensemble=False)


class _Sized:
    """A classifier of scikit-learn that suits itself to the table: `_sized(n_rows, y)` has the parameters that `fit` changes."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the trees, as scikit-learn's own classifier does."""
        asked = self.get_params(deep=False)  # type: ignore[attr-defined]
        vars(self).update(self._sized(count_rows(X), y))  # type: ignore[attr-defined]
        try:
            return super().fit(X, y, sample_weight)  # type: ignore[misc]
        finally:
            vars(self).update(asked)


class Boosting(_Sized, HistGradientBoostingClassifier):  # type: ignore[misc]
    """Histogram gradient boosting for small tables too.

    A leaf needs no more than a twentieth of the rows. Below 500 rows there are half as many rounds,
    at twice the learning rate.

    Examples
    --------
    >>> from ec3learn.estimator import Boosting
    >>> Boosting(random_state=0).fit([[-1.0], [-2.0], [1.0], [2.0]], [0, 0, 1, 1]).predict([[-3.0], [3.0]])
    array([0, 1])
    """

    def _sized(self, n_rows: int, y: Any) -> dict[str, Any]:
        leaf = {"min_samples_leaf": int(max(1, min(self.min_samples_leaf, n_rows // 20)))}
        if n_rows >= FEW_ROWS:
            return leaf
        return leaf | {
            "max_iter": max(1, self.max_iter // 2),
            "learning_rate": 2 * self.learning_rate,
        }


class _SizedForest(_Sized):
    """A forest whose size follows the table: fewer trees for very few rows or many classes, and larger leaves for many rows."""

    n_estimators: int
    min_samples_leaf: int | float

    def _sized(self, n_rows: int, y: Any) -> dict[str, Any]:
        n_trees, leaf = self.n_estimators, self.min_samples_leaf
        if not isinstance(n_trees, int) or not isinstance(leaf, int):
            return {}
        if n_rows < VERY_FEW_ROWS:
            return {"n_estimators": max(n_trees // 2, min(n_trees, 1))}
        leaf = max(leaf, n_rows // MOST_LEAVES)
        numbers = (
            len(np.unique(y)) * n_rows
        )  # of a forest: times its trees, by the rows of a leaf, which has a number per class
        n_trees = max(min(n_trees, LEAST_TREES), min(n_trees, MOST_NUMBERS * leaf // numbers))
        return {
            "n_estimators": n_trees,
            "min_samples_leaf": max(leaf, -(-n_trees * numbers // MOST_NUMBERS)),
        }


class RandomForest(_SizedForest, RandomForestClassifier):  # type: ignore[misc]
    """A random forest sized to the table.

    There are half as many trees below 200 rows, and larger leaves from 20,000 rows on: about 10,000
    leaves per tree at most. With many classes there are fewer trees, and with hundreds larger
    leaves, so that they fit into memory.
    """


class ExtraTrees(_SizedForest, ExtraTreesClassifier):  # type: ignore[misc]
    """Extremely randomised trees, sized to the table as `RandomForest` is."""


@dataclass(eq=False, repr=False)
class Perceptron(Wrapped):
    """A network with one hidden layer, trained with early stopping unless a class has too few rows for that.

    Parameters
    ----------
    n_hidden : int
        Units of the hidden layer.
    alpha : float
        Strength of the penalty on large weights. Above 1,000 rows it falls as their number grows.
    max_iter : int
        Maximum number of epochs.
    min_kept_back : int
        Rows each class must have for early stopping, which holds out a tenth of the rows.
    random_state : int, RandomState instance, or None
        Seed of the initial weights, of the order of the rows and of those held out.
    """

    n_hidden: int = 100
    alpha: float = 1.0
    max_iter: int = 100
    min_kept_back: int = 1000
    random_state: Any = None

    def _make_model(self, counts: Array) -> Any:
        require_integer("n_hidden", self.n_hidden, 1)
        return MLPClassifier(
            (self.n_hidden,),
            alpha=self.alpha * min(1.0, ROWS_FOR_ALPHA / int(counts.sum())),
            learning_rate_init=LEARNING_RATE,
            max_iter=self.max_iter,
            early_stopping=bool(counts.min() >= self.min_kept_back),
            random_state=self.random_state,
        )

    @property
    def n_iter_(self) -> int:
        """The number of epochs trained."""
        return int(self.model_.n_iter_)


def linear_svm(**parameters: Any) -> LinearSVC:
    """Return a linear support vector machine with enough iterations to converge."""
    return LinearSVC(dual="auto", max_iter=10_000, **parameters)


# ---- of other libraries --------------------------------------------------------------------------

# The classifier of each library, the name of its number of threads, and what keeps it quiet.
LIBRARIES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "catboost": (
        "CatBoostClassifier",
        "thread_count",
        {"verbose": False, "allow_writing_files": False},
    ),
    "lightgbm": ("LGBMClassifier", "n_jobs", {"verbosity": -1}),
    "xgboost": ("XGBClassifier", "n_jobs", {"verbosity": 0}),
    "tabicl": ("TabICLClassifier", "", {}),
    "tabpfn": ("TabPFNClassifier", "", {}),
}


@dataclass(eq=False, repr=False)
class InstalledClassifier(Wrapped):
    """The classifier of another library, as that library sets it up.

    Parameters
    ----------
    library : "catboost", "lightgbm", "xgboost", "tabicl" or "tabpfn"
        The library. TabICL and TabPFN download their weights when they are first used.
    n_jobs : int or None
        Number of threads of the first three; None is 1.
    random_state : int or None
        The seed.
    """

    _sparse, _allow_nan = False, True

    library: str = "xgboost"
    n_jobs: int | None = None
    random_state: Any = None

    def _make_model(self, counts: Array) -> Any:
        require_choice("library", self.library, tuple(LIBRARIES))
        require_library("This classifier", self.library)
        name, threads, settings = LIBRARIES[self.library]
        if threads:
            settings = {**settings, threads: self.n_jobs or 1}
        return getattr(import_module(self.library), name)(
            random_state=self.random_state, **settings
        )
