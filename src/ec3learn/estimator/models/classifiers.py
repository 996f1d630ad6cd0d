"""Classifiers of scikit-learn that do not stumble over a handful of rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from ..._checks import require_integer, require_number

Array = npt.NDArray[Any]
FLOATS = [np.float64, np.float32]
FEW_ROWS = 500
VERY_FEW_ROWS = 200


class Wrapped(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that answers through another one, `model_`, which it makes to fit the rows."""

    def fit(self, X: Any, y: Any) -> Wrapped:
        """Make and fit the classifier.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Numbers.
        y : array of shape (n_samples,)
            Classes.

        Returns
        -------
        Wrapped
            Itself.

        Examples
        --------
        >>> from ec3learn.estimator import NearestNeighbours
        >>> NearestNeighbours().fit([[0.0], [1.0], [4.0]], ["a", "a", "b"]).classes_
        array(['a', 'b'], dtype='<U1')
        """
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=FLOATS)
        check_classification_targets(y)
        self.classes_, counts = np.unique(y, return_counts=True)
        self.model_ = self._made(counts)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the rounds allowed are meant to be enough for a vote
            self.model_.fit(X, y)
        return self

    def predict_proba(self, X: Any) -> Array:
        """Return the class probabilities.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Numbers.

        Returns
        -------
        array of shape (n_samples, n_classes)

        Examples
        --------
        >>> from ec3learn.estimator import NearestNeighbours
        >>> model = NearestNeighbours(3, weights="uniform").fit([[0.0], [1.0], [4.0], [5.0]], ["a", "a", "b", "b"])
        >>> model.predict_proba([[3.0]]).round(2)
        array([[0.33, 0.67]])
        """
        check_is_fitted(self)
        return self.model_.predict_proba(validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=False))

    def predict(self, X: Any) -> Array:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Numbers.

        Returns
        -------
        array of shape (n_samples,)

        Examples
        --------
        >>> from ec3learn.estimator import NearestNeighbours
        >>> NearestNeighbours(3).fit([[0.0], [1.0], [4.0], [5.0]], ["a", "a", "b", "b"]).predict([[3.0]])
        array(['b'], dtype='<U1')
        """
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def _made(self, counts: Array) -> Any:
        """Return the classifier for classes with so many rows."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class NearestNeighbours(Wrapped):
    """K nearest neighbours, or all rows where there are fewer.

    Parameters
    ----------
    n_neighbors : int
        How many neighbours vote.
    weights : "distance" or "uniform"
        Whether nearer neighbours count more.
    n_jobs : int or None
        How many neighbours are looked up at once.

    Examples
    --------
    >>> from ec3learn.estimator import NearestNeighbours
    >>> NearestNeighbours(n_neighbors=5).fit([[0.0], [1.0], [4.0]], ["a", "a", "b"]).predict([[3.8]])
    array(['b'], dtype='<U1')
    """

    def __init__(self, n_neighbors: int = 10, weights: str = "distance", n_jobs: int | None = None) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.n_jobs = n_jobs

    def _made(self, counts: Array) -> Any:
        require_integer("n_neighbors", self.n_neighbors, 1)
        return KNeighborsClassifier(min(self.n_neighbors, int(counts.sum())), weights=self.weights, n_jobs=self.n_jobs)


class CalibratedLinearSVM(Wrapped):
    """A linear support vector machine with probabilities by Platt's method.

    The sigmoids are fitted to scores that rows got from models fitted to other rows, in as many folds as the smallest class has
    rows, but no more than `cv`. If a class has a single row, nothing can be left out, and the model's own scores have to do.

    Parameters
    ----------
    C : float
        Inverse strength of the penalty.
    cv : int
        Folds.
    random_state : int, RandomState instance, or None
        Seed of the folds and of the solver.

    Examples
    --------
    >>> from ec3learn.estimator import CalibratedLinearSVM
    >>> model = CalibratedLinearSVM(random_state=0).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> model.predict([[0.5], [2.5]])
    array([0, 1])
    """

    def __init__(self, C: float = 1.0, cv: int = 3, random_state: Any = None) -> None:
        self.C = C
        self.cv = cv
        self.random_state = random_state

    def _made(self, counts: Array) -> Any:
        require_number("C", self.C, above=0)
        require_integer("cv", self.cv, 2)
        svm = linear_svm(C=self.C, random_state=self.random_state)
        if len(counts) < 2:
            raise ValueError(f"y must hold at least 2 classes, got {len(counts)} class.")
        if counts.min() > 1:
            folds = StratifiedKFold(min(self.cv, int(counts.min())), shuffle=True, random_state=self.random_state)
            return CalibratedClassifierCV(svm, cv=folds, ensemble=False)
        everybody = np.arange(counts.sum())
        return CalibratedClassifierCV(svm, cv=[(everybody, everybody)], ensemble=False)


class Boosting(HistGradientBoostingClassifier):  # type: ignore[misc]
    """Histogram boosting that makes do with few rows.

    A leaf needs no more than a twentieth of the rows; below 500 rows there are half as many rounds, at twice the rate.

    Examples
    --------
    >>> from ec3learn.estimator import Boosting
    >>> Boosting(random_state=0).fit([[-1.0], [-2.0], [1.0], [2.0]], [0, 0, 1, 1]).predict([[-3.0], [3.0]])
    array([0, 1])
    """

    min_samples_leaf: int
    max_iter: int
    learning_rate: float

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Boosting:
        """Fit the trees.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Numbers, NaN where they are missing.
        y : array of shape (n_samples,)
            Classes.
        sample_weight : array of shape (n_samples,) or None
            How much each row counts.

        Returns
        -------
        Boosting
            Itself.

        Examples
        --------
        >>> from ec3learn.estimator import Boosting
        >>> model = Boosting(random_state=0).fit([[-1.0], [-2.0], [1.0], [2.0]], [0, 0, 1, 1])
        >>> model.n_iter_, model.max_iter
        (50, 100)
        """
        n_rows = _num_samples(X)
        asked = {name: getattr(self, name) for name in ("min_samples_leaf", "max_iter", "learning_rate")}
        self.min_samples_leaf = int(max(1, min(self.min_samples_leaf, n_rows // 20)))
        if n_rows < FEW_ROWS:
            self.max_iter, self.learning_rate = max(1, self.max_iter // 2), 2 * self.learning_rate
        try:
            super().fit(X, y, sample_weight)
        finally:
            self.set_params(**asked)
        return self


class _FewerTrees:
    """A forest that grows half of its trees where they have very few rows to differ by."""

    n_estimators: int

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the trees.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Numbers, NaN where they are missing.
        y : array of shape (n_samples,)
            Classes.
        sample_weight : array of shape (n_samples,) or None
            How much each row counts.

        Returns
        -------
        forest
            Itself.

        Examples
        --------
        >>> from ec3learn.estimator import RandomForest
        >>> model = RandomForest(100, random_state=0).fit([[-1.0], [-2.0], [1.0], [2.0]], [0, 0, 1, 1])
        >>> len(model.estimators_), model.n_estimators
        (50, 100)
        """
        asked = self.n_estimators
        if _num_samples(X) < VERY_FEW_ROWS and isinstance(asked, int):
            self.n_estimators = max(asked // 2, min(asked, 1))
        try:
            return super().fit(X, y, sample_weight)  # type: ignore[misc]
        finally:
            self.n_estimators = asked


class RandomForest(_FewerTrees, RandomForestClassifier):  # type: ignore[misc]
    """A random forest; below 200 rows it has half as many trees.

    Examples
    --------
    >>> from ec3learn.estimator import RandomForest
    >>> RandomForest(random_state=0).fit([[-1.0], [-2.0], [1.0], [2.0]], [0, 0, 1, 1]).predict([[-3.0], [3.0]])
    array([0, 1])
    """


class ExtraTrees(_FewerTrees, ExtraTreesClassifier):  # type: ignore[misc]
    """Extremely randomised trees; below 200 rows there are half as many.

    Examples
    --------
    >>> from ec3learn.estimator import ExtraTrees
    >>> ExtraTrees(random_state=0).fit([[-1.0], [-2.0], [1.0], [2.0]], [0, 0, 1, 1]).predict([[-3.0], [3.0]])
    array([0, 1])
    """


class Perceptron(Wrapped):
    """A network with one hidden layer, trained until rows kept back get no better, or, of few rows, for a number of rounds.

    Parameters
    ----------
    n_hidden : int
        Units of the hidden layer.
    alpha : float
        Strength of the penalty on large weights.
    max_iter : int
        Rounds over all rows, at most.
    min_kept_back : int
        How many rows of each class there must be for a tenth of the rows to be kept back.
    random_state : int, RandomState instance, or None
        Seed of the first weights, of the order of the rows and of those kept back.

    Examples
    --------
    >>> from ec3learn.estimator import Perceptron
    >>> Perceptron(random_state=0).fit([[-1.0], [-2.0], [1.0], [2.0]], [0, 0, 1, 1]).predict([[-3.0], [3.0]])
    array([0, 1])
    """

    def __init__(
        self, n_hidden: int = 100, alpha: float = 1e-4, max_iter: int = 100, min_kept_back: int = 100, random_state: Any = None
    ) -> None:
        self.n_hidden = n_hidden
        self.alpha = alpha
        self.max_iter = max_iter
        self.min_kept_back = min_kept_back
        self.random_state = random_state

    def _made(self, counts: Array) -> Any:
        require_integer("n_hidden", self.n_hidden, 1)
        return MLPClassifier(
            (self.n_hidden,),
            alpha=self.alpha,
            max_iter=self.max_iter,
            early_stopping=bool(counts.min() >= self.min_kept_back),
            random_state=self.random_state,
        )

    @property
    def n_iter_(self) -> int:
        """How many rounds there were."""
        return int(self.model_.n_iter_)


class KernelLogisticRegression(Wrapped):
    """Logistic regression on how like a row is to each of some rows drawn at random (Gaussian kernel, Nyström's method).

    Parameters
    ----------
    C : float
        Inverse strength of the penalty.
    n_components : int
        How many rows to draw; all rows where there are fewer.
    gamma : float or None
        Likeness is exp(-gamma distance ** 2); None stands for 1 / number of features.
    random_state : int, RandomState instance, or None
        Seed of the draw.

    Examples
    --------
    >>> from ec3learn.estimator import KernelLogisticRegression
    >>> rings = [[0.0, 0.1], [0.1, 0.0], [3.0, 0.0], [-3.0, 0.0], [0.0, 3.0], [0.0, -3.0]]
    >>> KernelLogisticRegression(random_state=0).fit(rings, [0, 0, 1, 1, 1, 1]).predict([[0, 0], [2, 2]])
    array([0, 1])
    """

    def __init__(self, C: float = 10.0, n_components: int = 300, gamma: float | None = None, random_state: Any = None) -> None:
        self.C = C
        self.n_components = n_components
        self.gamma = gamma
        self.random_state = random_state

    def _made(self, counts: Array) -> Any:
        require_number("C", self.C, above=0)
        require_integer("n_components", self.n_components, 1)
        likeness = Nystroem(
            gamma=self.gamma, n_components=min(self.n_components, int(counts.sum())), random_state=self.random_state
        )
        return make_pipeline(likeness, LogisticRegression(C=self.C, max_iter=300))


def linear_svm(**parameters: Any) -> LinearSVC:
    """Return a linear support vector machine with room to converge."""
    return LinearSVC(dual="auto", max_iter=10_000, **parameters)
