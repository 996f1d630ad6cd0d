"""Classifiers of scikit-learn that suit themselves to the table, and those of other libraries."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ..._checks import require_library
from ..._typing import Array

FEW_ROWS = 500
VERY_FEW_ROWS = 200
MOST_LEAVES = 10_000  # of a tree
MOST_NUMBERS = 30_000_000  # in the leaves of a forest: about half a gigabyte
LEAST_TREES = 30
MANY_ROWS = 1_000


@dataclass(eq=False, repr=False)
class Sized(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose settings follow the numbers of rows in `fit`.

    Parameters
    ----------
    estimator : classifier
        Any classifier of scikit-learn.
    settings : function of (estimator, rows per class)
        The parameters to change. Classes are seen as 0, 1, 2 and so on.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from ec3learn.estimator.models.classifiers import Sized, neighbours
    >>> model = Sized(KNeighborsClassifier(10), neighbours).fit([[0.0], [1.0]], ["a", "b"])
    >>> model.model_
    KNeighborsClassifier(n_neighbors=2)
    """

    estimator: Any
    settings: Callable[[Any, Array], dict[str, Any]]

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Sized:
        """Fit a copy of the classifier, with its settings changed."""
        check_classification_targets(y)
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
        check_is_fitted(self)
        return np.asarray(self.model_.predict_proba(X), dtype=float)

    def predict(self, X: Any) -> Array:
        """The most probable class of each row."""
        codes = self.predict_proba(X).argmax(axis=1)
        return self.classes_[codes]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags


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
    n_rows = int(counts.sum())
    leaf = {"min_samples_leaf": max(1, min(model.min_samples_leaf, n_rows // 20))}
    if n_rows >= FEW_ROWS:
        return leaf
    faster = {"max_iter": max(1, model.max_iter // 2), "learning_rate": 2 * model.learning_rate}
    return leaf | faster


def trees(model: Any, counts: Array) -> dict[str, Any]:
    """Half the trees for very few rows; fewer trees and larger leaves where memory would not do."""
    n_rows, n_trees, leaf = int(counts.sum()), model.n_estimators, model.min_samples_leaf
    if n_rows < VERY_FEW_ROWS:
        return {"n_estimators": max(n_trees // 2, 1)}
    leaf = max(leaf, n_rows // MOST_LEAVES)
    numbers = len(counts) * n_rows  # a leaf has a number per class, a tree has rows / leaf leaves
    n_trees = max(min(n_trees, LEAST_TREES), min(n_trees, MOST_NUMBERS * leaf // numbers))
    leaf = max(leaf, -(-n_trees * numbers // MOST_NUMBERS))
    return {"n_estimators": n_trees, "min_samples_leaf": leaf}


def penalty_and_stopping(model: Any, counts: Array) -> dict[str, Any]:
    """Many rows need less of a penalty; many of each class can spare a tenth for early stopping."""
    return {
        "alpha": model.alpha * min(1.0, MANY_ROWS / int(counts.sum())),
        "early_stopping": bool(counts.min() >= MANY_ROWS),
    }


# ---- of other libraries --------------------------------------------------------------------------

# The classifier of each library, and its settings. TabICL and TabPFN download their weights.
LIBRARIES: dict[str, tuple[str, dict[str, Any]]] = {
    "catboost": (
        "CatBoostClassifier",
        {"verbose": False, "allow_writing_files": False, "thread_count": 1},
    ),
    "lightgbm": ("LGBMClassifier", {"verbosity": -1, "n_jobs": 1}),
    "xgboost": ("XGBClassifier", {"verbosity": 0, "n_jobs": 1}),
    "tabicl": ("TabICLClassifier", {}),
    "tabpfn": ("TabPFNClassifier", {}),
}


def installed_classifier(library: str) -> Any:
    """The classifier of another library, as that library sets it up, on one thread."""
    require_library("This classifier", library)
    name, settings = LIBRARIES[library]
    model = getattr(import_module(library), name)(random_state=0, **settings)
    return Sized(model, as_it_is)


def as_it_is(model: Any, counts: Array) -> dict[str, Any]:
    """No settings to change: classes are numbered, which these libraries need."""
    return {}
