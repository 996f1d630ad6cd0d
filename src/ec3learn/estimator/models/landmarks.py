"""Any clustering at any size: cluster some of the rows, and give the others the cluster of the nearest."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from ..._checks import require_integer

Array = npt.NDArray[Any]

NOISE = -1


class Landmarks(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Cluster landmark rows, and extend the clusters to all rows and to new ones.

    Time and memory of the clustering depend on the number of landmarks alone, so that affinity propagation, mean shift or
    complete linkage, whose memory grows with the square of the rows, run on any number of rows. With no more rows than landmarks
    the answer is that of the clustering itself.

    Parameters
    ----------
    clusterer : clusterer
        Any clustering of scikit-learn's kind. If it is told to find more clusters (`n_clusters` or `n_components`) than there are
        distinct landmarks, it is told to find that many.
    n_landmarks : int
        How many rows to cluster, drawn at random: the landmarks are then as dense as the rows are.
    random_state : int, RandomState instance, or None
        Seed of the draw, and of the clusterer if it has none of its own.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        The clusters of the rows; -1 is noise.
    clusterer_ : clusterer
        Fitted to the landmarks.
    landmarks_ : array of shape (n_landmarks, n_features)
    landmark_labels_ : array of shape (n_landmarks,)

    Notes
    -----
    A row that is no landmark gets what the clusterer's own `predict` says (k-means, affinity propagation and mean shift: the
    nearest centre). Where it has none, or where that never says noise though some landmarks are, the row gets the cluster of the
    nearest landmark; what is nearest to noise is noise.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.cluster import AgglomerativeClustering
    >>> from ec3learn.estimator import Landmarks
    >>> rows = np.random.default_rng(0).normal(size=(10_000, 2)) + np.repeat([[0, 0], [20, 20]], 5_000, axis=0)
    >>> model = Landmarks(AgglomerativeClustering(2, linkage="complete"), n_landmarks=100, random_state=0).fit(rows)
    >>> np.bincount(model.labels_)
    array([5000, 5000])
    >>> len(np.unique(model.predict([[0, 1], [1, 0]])))
    1
    """

    def __init__(self, clusterer: Any, n_landmarks: int = 2000, random_state: Any = None) -> None:
        self.clusterer = clusterer
        self.n_landmarks = n_landmarks
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Landmarks:
        """Cluster the landmarks, and give all rows their clusters.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Numbers.
        y : None
            Not used.

        Returns
        -------
        Landmarks
            Itself.

        Examples
        --------
        >>> from sklearn.cluster import AgglomerativeClustering
        >>> from ec3learn.estimator import Landmarks
        >>> model = Landmarks(AgglomerativeClustering(2), n_landmarks=4, random_state=0).fit([[0], [1], [2], [7], [8], [9]])
        >>> model.landmarks_.ravel()
        array([1., 2., 7., 9.])
        """
        self._check()
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        n_rows = X.shape[0]
        random = check_random_state(self.random_state)
        everybody = n_rows <= self.n_landmarks
        rows = np.arange(n_rows) if everybody else np.sort(random.choice(n_rows, self.n_landmarks, replace=False))
        self.landmarks_ = X if everybody else X[rows]
        self.clusterer_ = self._prepared(random)
        self.landmark_labels_ = np.asarray(self.clusterer_.fit_predict(self.landmarks_))
        self._own_predict = self._predicts_noise()
        self.labels_ = self.landmark_labels_ if everybody else self._extended(X)
        return self

    def predict(self, X: Any) -> Array:
        """Return the clusters of rows, new ones or old.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Numbers.

        Returns
        -------
        array of shape (n_samples,)
            -1 is noise.

        Examples
        --------
        >>> from sklearn.cluster import AgglomerativeClustering
        >>> from ec3learn.estimator import Landmarks
        >>> model = Landmarks(AgglomerativeClustering(2)).fit([[0], [1], [2], [7], [8], [9]])
        >>> model.predict([[3], [6]]) == model.labels_[[0, 5]]
        array([ True,  True])
        """
        check_is_fitted(self)
        return self._extended(validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False))

    def _check(self) -> None:
        if not hasattr(self.clusterer, "fit_predict"):
            raise TypeError(f"clusterer must be a clustering with fit_predict, got {type(self.clusterer).__name__}.")
        require_integer("n_landmarks", self.n_landmarks, 1)

    def _prepared(self, random: np.random.RandomState) -> Any:
        """Return a copy of the clusterer, seeded, that looks for no more clusters than landmarks differ."""
        clusterer = clone(self.clusterer)
        parameters = clusterer.get_params()
        changes: dict[str, Any] = {}
        if self.random_state is not None:
            seed = random.randint(np.iinfo(np.int32).max)
            unset = [name for name in parameters if name.endswith("random_state") and parameters[name] is None]
            changes.update(dict.fromkeys(unset, seed))
        for name in ("n_clusters", "n_components"):
            if isinstance(parameters.get(name), (int, np.integer)):
                changes[name] = min(parameters[name], n_distinct(self.landmarks_, parameters[name]))
        return clusterer.set_params(**changes)

    def _predicts_noise(self) -> bool:
        """Return whether the clusterer can predict, and calls the landmarks noise that are."""
        if not hasattr(self.clusterer_, "predict"):
            return False
        noise = np.flatnonzero(self.landmark_labels_ == NOISE)
        return not len(noise) or bool((self.clusterer_.predict(self.landmarks_[noise]) == NOISE).all())

    def _extended(self, X: Any) -> Array:
        if self._own_predict:
            return np.asarray(self.clusterer_.predict(X)).astype(self.landmark_labels_.dtype, copy=False)
        return self.landmark_labels_[pairwise_distances_argmin(X, self.landmarks_)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self.clusterer).input_tags.sparse
        return tags


def n_distinct(X: Any, enough: int) -> int:
    """Return how many rows differ, or `enough` if they are as many."""
    seen: set[Any] = set()
    for row in X:
        dense = row.toarray() if sparse.issparse(row) else row
        seen.add((dense + 0.0).tobytes())  # -0 and 0 are equal
        if len(seen) >= enough:
            break
    return len(seen)
