"""Classifiers of scikit-learn that suit themselves to the number of rows and classes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold

from ..._typing import Array

FEW_ROWS = 500  # boosting gets fewer rounds
VERY_FEW_ROWS = 200  # forests get fewer trees
MANY_ROWS = 1_000  # of each class: a perceptron can spare some to know when to stop
MOST_TREES = 10_000  # of boosting: a round takes a tree per class
MOST_NUMBERS = 150_000  # in the leaves of a tree of a forest, a number per class each


@dataclass(eq=False, repr=False)
class Sized(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose settings follow the numbers of rows in `fit`.

    `settings` is a function of the classifier and of the number of rows per class; it gives the
    parameters to change. Classes are seen as 0, 1, 2 and so on.
    """

    estimator: Any
    settings: Callable[[Any, Array], dict[str, Any]]

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Sized:
        """Fit a copy of the classifier, with its settings changed."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        model = clone(self.estimator)
        model.set_params(**self.settings(model, np.bincount(codes)))
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        with warnings.catch_warnings():  # a limit of iterations is meant to be enough for a vote
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.model_ = model.fit(X, codes, **weights)
        return self

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities, rows x classes."""
        return np.asarray(self.model_.predict_proba(X), dtype=float)

    def predict(self, X: Any) -> Array:
        """The most probable class of each row."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def neighbours(model: Any, counts: Array) -> dict[str, Any]:
    """All rows are neighbours where there are fewer than asked for."""
    return {"n_neighbors": min(model.n_neighbors, int(counts.sum()))}


def folds_of_calibration(model: Any, counts: Array) -> dict[str, Any]:
    """As many folds as the smallest class has rows; none, but all rows, if it has a single one."""
    if counts.min() == 1:
        rows = np.arange(counts.sum())
        return {"cv": [(rows, rows)]}
    n_folds = min(model.cv, int(counts.min()))
    seed = model.estimator.random_state
    return {"cv": StratifiedKFold(n_folds, shuffle=True, random_state=seed)}


def leaves_and_rounds(model: Any, counts: Array) -> dict[str, Any]:
    """A leaf needs a twentieth of the rows at most; few rows get fewer rounds at a higher rate."""
    n_rows, n_rounds = int(counts.sum()), min(model.max_iter, max(1, MOST_TREES // len(counts)))
    leaf = max(1, min(model.min_samples_leaf, n_rows // 20))
    if n_rows >= FEW_ROWS:
        return {"min_samples_leaf": leaf, "max_iter": n_rounds}
    faster = {"max_iter": max(1, n_rounds // 2), "learning_rate": 2 * model.learning_rate}
    return {"min_samples_leaf": leaf, **faster}


def trees(model: Any, counts: Array) -> dict[str, Any]:
    """Half the trees for very few rows; larger leaves where memory would not do."""
    n_rows, n_trees = int(counts.sum()), model.n_estimators
    leaf = max(model.min_samples_leaf, n_rows * len(counts) // MOST_NUMBERS)
    n_trees = n_trees // 2 if n_rows < VERY_FEW_ROWS else n_trees
    return {"n_estimators": n_trees, "min_samples_leaf": leaf}


def penalty_and_stopping(model: Any, counts: Array) -> dict[str, Any]:
    """Many rows need less of a penalty; many of each class can spare a tenth for early stopping."""
    return {
        "alpha": model.alpha * min(1.0, MANY_ROWS / int(counts.sum())),
        "early_stopping": bool(counts.min() >= MANY_ROWS),
    }
