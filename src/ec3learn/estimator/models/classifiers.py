"""Classifiers of scikit-learn that suit themselves to the number of rows and classes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold

from ..._typing import Array
from ..rows import ProbableClass


@dataclass(eq=False, repr=False)
class Sized(ProbableClass, BaseEstimator):  # type: ignore[misc]
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
    """A leaf has a twentieth of the rows at most, and all rounds have 10,000 trees, one per class.

    Below 500 rows half the rounds learn twice as fast.
    """
    n_rows, n_rounds = int(counts.sum()), max(1, min(model.max_iter, 10_000 // len(counts)))
    settings = {"min_samples_leaf": max(1, min(model.min_samples_leaf, n_rows // 20))}
    if n_rows >= 500:
        return settings | {"max_iter": n_rounds}
    faster = {"max_iter": max(1, n_rounds // 2), "learning_rate": 2 * model.learning_rate}
    return settings | faster


def trees(model: Any, counts: Array) -> dict[str, Any]:
    """Half the trees below 200 rows; leaves so large that a tree holds 150,000 numbers at most."""
    n_rows, n_trees = int(counts.sum()), model.n_estimators
    leaf = max(model.min_samples_leaf, n_rows * len(counts) // 150_000)
    n_trees = n_trees // 2 if n_rows < 200 else n_trees
    return {"n_estimators": n_trees, "min_samples_leaf": leaf}


def penalty_and_stopping(model: Any, counts: Array) -> dict[str, Any]:
    """Many rows need less of a penalty; 1,000 of each class can spare some to know when to stop."""
    return {
        "alpha": model.alpha * min(1.0, 1_000 / int(counts.sum())),
        "early_stopping": bool(counts.min() >= 1_000),
    }
