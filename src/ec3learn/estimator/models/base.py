"""What our classifiers, and our clusterings, share: checking rows, `fit`, `predict`, and tags."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, ClusterMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ..._typing import Array


class _RowModel(BaseEstimator):  # type: ignore[misc]
    """A model of rows of numbers; it says which rows it accepts."""

    _dtype: ClassVar[Any] = [np.float64, np.float32]
    _sparse: ClassVar[bool] = True  # whether sparse matrices are accepted
    _allow_nan: ClassVar[bool] = False

    def _check_rows(self, *data: Any, reset: bool) -> Any:
        """X, or X and y, checked."""
        finite: Any = "allow-nan" if self._allow_nan else True
        accept = "csr" if self._sparse else False
        options = {"dtype": self._dtype, "ensure_all_finite": finite, "reset": reset}
        return validate_data(self, *data, accept_sparse=accept, **options)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._sparse
        tags.input_tags.allow_nan = self._allow_nan
        return tags


class ProbabilisticClassifier(ClassifierMixin, _RowModel):  # type: ignore[misc]
    """A classifier with `_predict_proba(X)`, for rows that have been checked."""

    classes_: Array

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities of rows, rows x classes."""
        check_is_fitted(self)
        return self._predict_proba(self._check_rows(X, reset=False))

    def predict(self, X: Any) -> Array:
        """The most probable class of each row."""
        codes = self.predict_proba(X).argmax(axis=1)
        return self.classes_[codes]

    def _encode_classes(self, y: Array) -> Array:
        """Set `classes_`, and return the number of each row's class."""
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        return codes


class Clustering(ClusterMixin, _RowModel):  # type: ignore[misc]
    """A clustering with `_fit(X)`, which sets `labels_`, for rows that have been checked."""

    labels_: Array

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clusters of rows of numbers, an array or sparse matrix; `y` is ignored."""
        self._fit(self._check_rows(X, reset=True))
        return self

    def predict(self, X: Any) -> Array:
        """The cluster of each row; -1 is noise."""
        check_is_fitted(self)
        return self._assign(self._check_rows(X, reset=False))

    def _assign(self, X: Any) -> Array:
        return self._model.predict(X)

    def _keep(self, model: Any) -> None:
        """Take the clusters and centres of a model, which assigns new rows to the nearest."""
        self._model, self.labels_ = model, model.labels_
        self.cluster_centers_ = model.cluster_centers_
