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

    `settings` is a function of this object and of the number of rows per class; it gives the
    parameters to change. Classes are seen as 0, 1, 2 and so on. A `light` one has fewer trees, as
    suffice for a fold and for a retrained copy.
    """

    estimator: Any
    settings: Callable[[Sized, Array], dict[str, Any]]
    light: bool = False

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Sized:
        """Fit a copy of the classifier, with its settings changed."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        model = clone(self.estimator).set_params(**self.settings(self, np.bincount(codes)))
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        with warnings.catch_warnings():  # a limit of iterations is meant to be enough for a vote
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.model_ = model.fit(X, codes, **weights)
        return self

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities, rows x classes."""
        return np.asarray(self.model_.predict_proba(X), dtype=float)


def neighbours(sized: Sized, counts: Array) -> dict[str, Any]:
    """All rows are neighbours where there are fewer than asked for."""
    return {"n_neighbors": min(sized.estimator.n_neighbors, int(counts.sum()))}


def folds_of_calibration(sized: Sized, counts: Array) -> dict[str, Any]:
    """As many folds as the smallest class has rows; none, but all rows, if it has a single one."""
    if counts.min() == 1:
        rows = np.arange(counts.sum())
        return {"cv": [(rows, rows)]}
    n_folds = min(sized.estimator.cv, int(counts.min()))
    seed = sized.estimator.estimator.random_state
    return {"cv": StratifiedKFold(n_folds, shuffle=True, random_state=seed)}


def leaves_and_rounds(sized: Sized, counts: Array) -> dict[str, Any]:
    """A leaf has a twentieth of the rows at most, and all rounds have 10,000 trees, one per class.

    Below 500 rows half the rounds learn twice as fast. A light one has half of these, and learns
    twice as fast again.
    """
    model, n_rows = sized.estimator, int(counts.sum())
    pace = (2 if n_rows < 500 else 1) * (2 if sized.light else 1)
    return {
        "min_samples_leaf": max(1, min(model.min_samples_leaf, n_rows // 20)),
        "max_iter": max(1, min(model.max_iter, 10_000 // len(counts)) // pace),
        "learning_rate": pace * model.learning_rate,
    }


def trees(sized: Sized, counts: Array) -> dict[str, Any]:
    """Half the trees below 200 rows; leaves so large that a tree holds 150,000 numbers at most.

    If it is light, a quarter of the trees, but at least 25 and four per class.
    """
    model, n_rows, n_trees = sized.estimator, int(counts.sum()), sized.estimator.n_estimators
    if sized.light:
        n_trees = max(n_trees // 4, min(n_trees, max(25, 4 * len(counts))))
    leaf = max(model.min_samples_leaf, n_rows * len(counts) // 150_000)
    n_trees = n_trees // 2 if n_rows < 200 else n_trees
    return {"n_estimators": n_trees, "min_samples_leaf": leaf}


def penalty_and_stopping(sized: Sized, counts: Array) -> dict[str, Any]:
    """Many rows need less of a penalty; 1,000 of each class can spare some to know when to stop."""
    return {
        "alpha": sized.estimator.alpha * min(1.0, 1_000 / int(counts.sum())),
        "early_stopping": bool(counts.min() >= 1_000),
    }
