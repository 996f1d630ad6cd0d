"""Any clustering at any size: cluster a sample of the rows, and give the other rows the cluster of the nearest."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils import check_random_state, get_tags

from ..._checks import InputTypeError, require_integer
from ..._typing import Array
from .base import Clustering

NOISE = -1


class Landmarks(Clustering):
    """Cluster landmarks, a sample of the rows, and extend the clusters to all rows and to new ones.

    Time and memory of the clustering depend on the number of landmarks only, so affinity propagation, mean shift and complete
    linkage, whose memory grows with the square of the rows, run on any number of rows. With no more rows than landmarks the
    result is that of the clustering itself.

    Parameters
    ----------
    clusterer : clusterer
        Any clustering with scikit-learn's interface. Its `n_clusters` or `n_components` is lowered to the number of distinct
        landmarks where these are fewer.
    n_landmarks : int
        Number of rows to cluster, drawn at random.
    random_state : int, RandomState instance, or None
        Seed of the draw, and of the clusterer if it has none of its own.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        The clusters of the rows; -1 is noise.
    clusterer_ : clusterer
        The clusterer fitted to the landmarks.
    landmarks_ : array of shape (n_landmarks, n_features), or None
        The rows that were clustered, where other rows get the cluster of the nearest of them.
    landmark_labels_ : array of shape (n_landmarks,)

    Notes
    -----
    Other rows get their cluster from the clusterer's own `predict` (the nearest centre for k-means, affinity propagation and mean
    shift). If it has none, or if it never predicts noise though some landmarks are noise, they get that of the nearest landmark;
    a row nearest to noise is noise.

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

    def _check(self) -> None:
        if not hasattr(self.clusterer, "fit_predict"):
            raise InputTypeError("clusterer", "must be a clustering with fit_predict", came=type(self.clusterer).__name__)
        require_integer("n_landmarks", self.n_landmarks, 1)

    def _fit(self, X: Any) -> None:
        n_rows = X.shape[0]
        random = check_random_state(self.random_state)
        use_all = n_rows <= self.n_landmarks
        rows = np.arange(n_rows) if use_all else np.sort(random.choice(n_rows, self.n_landmarks, replace=False))
        self.landmarks_ = X if use_all else X[rows]
        self.clusterer_ = self._prepare_clusterer(random)
        self.landmark_labels_ = np.asarray(self.clusterer_.fit_predict(self.landmarks_))
        self._predicts = self._predicts_noise()
        self.labels_ = self.landmark_labels_ if use_all else self._assign(X)
        if self._predicts:
            self.landmarks_ = None  # it would only make the model larger

    def _prepare_clusterer(self, random: np.random.RandomState) -> Any:
        """Return a seeded copy of the clusterer that looks for no more clusters than there are distinct landmarks."""
        clusterer = clone(self.clusterer)
        parameters = clusterer.get_params()
        changes: dict[str, Any] = {}
        if self.random_state is not None:
            seed = random.randint(np.iinfo(np.int32).max)
            unset = [name for name in parameters if name.endswith("random_state") and parameters[name] is None]
            changes.update(dict.fromkeys(unset, seed))
        for name in ("n_clusters", "n_components"):
            if isinstance(parameters.get(name), (int, np.integer)):
                changes[name] = min(parameters[name], count_distinct(self.landmarks_, parameters[name]))
        return clusterer.set_params(**changes)

    def _predicts_noise(self) -> bool:
        """Return whether the clusterer can predict, and predicts noise for the landmarks that are noise."""
        if not hasattr(self.clusterer_, "predict"):
            return False
        noise = np.flatnonzero(self.landmark_labels_ == NOISE)
        return not len(noise) or bool((self.clusterer_.predict(self.landmarks_[noise]) == NOISE).all())

    def _assign(self, X: Any) -> Array:
        if self._predicts:
            return np.asarray(self.clusterer_.predict(X)).astype(self.landmark_labels_.dtype, copy=False)
        return self.landmark_labels_[pairwise_distances_argmin(X, self.landmarks_)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self.clusterer).input_tags.sparse
        return tags


def count_distinct(X: Any, enough: int) -> int:
    """Return the number of distinct rows, or `enough` once there are that many."""
    seen: set[Any] = set()
    for row in X:
        dense = row.toarray() if sparse.issparse(row) else row
        seen.add((dense + 0.0).tobytes())  # -0 and 0 are equal
        if len(seen) >= enough:
            break
    return len(seen)
