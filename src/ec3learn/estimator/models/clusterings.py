"""Clusterings of any number of rows, and those of the paper, which choose their own settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.cluster import DBSCAN, KMeans, MeanShift, estimate_bandwidth
from sklearn.metrics import (
    euclidean_distances,
    pairwise_distances_argmin,
    pairwise_distances_argmin_min,
    silhouette_score,
)
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from ..._typing import Array
from ..rows import FLOATS


@dataclass(eq=False, repr=False)
class Landmarks(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Cluster landmarks, a sample of the rows, and extend the clusters to all rows and to new ones.

    Time and memory of the clustering depend on the number of landmarks only, so affinity
    propagation, mean shift and complete linkage, whose memory grows with the square of the rows,
    run on any number of rows. With no more rows than landmarks the result is that of the clustering
    itself.

    Parameters
    ----------
    clusterer : clusterer
        Any clustering with scikit-learn's interface. Its `n_clusters` or `n_components` is lowered
        to the number of landmarks where these are fewer.
    n_landmarks : int
        Number of rows to cluster, drawn at random.
    random_state : int, RandomState instance, or None
        Seed of the draw.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        The clusters of the rows; -1 is noise.
    clusterer_ : clusterer
        The clusterer fitted to the landmarks.
    landmarks_ : array of shape (n_landmarks, n_features)
        The rows that were clustered, if the clusterer cannot `predict`.
    landmark_labels_ : array of shape (n_landmarks,)

    Notes
    -----
    Other rows get their cluster from the clusterer's own `predict` (the nearest centre for k-means,
    affinity propagation and mean shift). If it has none, they get that of the nearest landmark; a
    row nearest to noise is noise.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.cluster import AgglomerativeClustering
    >>> from ec3learn.estimator import Landmarks
    >>> rows = np.random.default_rng(0).normal(size=(10_000, 2))
    >>> rows[5_000:] += 20
    >>> complete = AgglomerativeClustering(2, linkage="complete")
    >>> model = Landmarks(complete, n_landmarks=100, random_state=0).fit(rows)
    >>> np.bincount(model.labels_)
    array([5000, 5000])
    >>> len(np.unique(model.predict([[0, 1], [1, 0]])))
    1
    """

    clusterer: Any
    n_landmarks: int = 2000
    random_state: Any = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clusters of rows of numbers, an array or sparse matrix; `y` is ignored."""
        X = landmarks = validate_data(self, X, accept_sparse="csr", dtype=FLOATS)
        if X.shape[0] > self.n_landmarks:
            random = check_random_state(self.random_state)
            landmarks = X[np.sort(random.choice(X.shape[0], self.n_landmarks, replace=False))]
        self.clusterer_ = clone(self.clusterer)
        sizes, n_rows = self.clusterer_.get_params(), landmarks.shape[0]
        names = [name for name in ("n_clusters", "n_components") if sizes.get(name) is not None]
        self.clusterer_.set_params(**{name: min(sizes[name], n_rows) for name in names})
        self.landmark_labels_ = self.clusterer_.fit_predict(landmarks)
        if not hasattr(self.clusterer_, "predict"):
            self.landmarks_ = landmarks
        self.labels_ = self.landmark_labels_ if landmarks is X else self._assign(X)
        return self

    def predict(self, X: Any) -> Array:
        """The cluster of each row; -1 is noise."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)
        return self._assign(X)

    def _assign(self, X: Any) -> Array:
        if hasattr(self.clusterer_, "predict"):
            return np.asarray(self.clusterer_.predict(X))
        return self.landmark_labels_[pairwise_distances_argmin(X, self.landmarks_)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self.clusterer).input_tags.sparse
        return tags


# ---- of the paper: they are fitted to arrays of numbers, as the pools make them ------------------


@dataclass(eq=False, repr=False)
class KDistanceDBSCAN(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """DBSCAN whose radius is read off the k-distance curve.

    The distances of all rows to their k-th nearest neighbour, sorted, form a flat curve that rises
    at its end: rows beyond the elbow lie far from their neighbours and are noise. `eps_` is the
    distance at the elbow, the point furthest below the straight line between the ends of the curve.
    """

    min_samples: int = 5

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clusters of the rows, `labels_`; -1 is noise."""
        n_neighbors = min(self.min_samples, X.shape[0])
        distances = NearestNeighbors(n_neighbors=n_neighbors).fit(X).kneighbors(X)[0][:, -1]
        self.eps_ = elbow(np.sort(distances))
        model = DBSCAN(eps=self.eps_, min_samples=self.min_samples).fit(X)
        self.labels_, core = model.labels_, model.core_sample_indices_
        self._cores, self._core_labels = X[core], model.labels_[core]
        return self

    def predict(self, X: Any) -> Array:
        """The cluster of the nearest core within `eps_`, else noise."""
        if not len(self._cores):
            return np.full(X.shape[0], -1)
        nearest, distance = pairwise_distances_argmin_min(X, self._cores)
        return np.where(distance <= self.eps_, self._core_labels[nearest], -1)


def elbow(curve: Array) -> float:
    """The value at the elbow of a rising curve: the point furthest below the line between its ends.

    A radius must be above 0: an elbow at 0 gives the first value above 0, or 1 if there is none.
    """
    height = curve[-1] - curve[0]
    below = np.linspace(0, 1, len(curve)) - (curve - curve[0]) / (height or 1.0)
    candidates = np.array([curve[below.argmax()], *curve, 1.0])
    return float(candidates[candidates > 0][0])


@dataclass(eq=False, repr=False)
class ChosenClustering(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """A clustering that a function of the rows and of the random state chooses and fits."""

    choose: Callable[[Array, np.random.RandomState], Any]
    random_state: Any = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clusters of the rows, `labels_`."""
        self._model = self.choose(X, check_random_state(self.random_state))
        self.labels_ = self._model.labels_
        return self

    def predict(self, X: Any) -> Array:
        """The cluster whose centre is nearest."""
        return self._model.predict(X)


def best_kmeans(X: Array, random: np.random.RandomState, sample_size: int = 2000) -> KMeans:
    """K-means with the number of clusters, from 2 to 20, that has the best silhouette.

    The numbers are tried on a sample of the rows; the best one clusters all rows.
    """
    sample = X
    if X.shape[0] > sample_size:
        sample = X[random.choice(X.shape[0], sample_size, replace=False)]
    # Equal rows share a cluster, and a silhouette needs fewer clusters than rows.
    most = min(20, len(np.unique(sample, axis=0)), len(sample) - 1)
    silhouettes = {1: -1.0}
    for n_clusters in range(2, most + 1):
        labels = KMeans(n_clusters, random_state=random).fit_predict(sample)
        silhouettes[n_clusters] = silhouette_score(sample, labels)
    best = max(silhouettes, key=lambda n_clusters: silhouettes[n_clusters])
    return KMeans(best, random_state=random).fit(X)


def mean_shift(X: Array, random: Any = None, quantile: float = 0.1) -> MeanShift:
    """Mean shift whose bandwidth is the mean distance to the neighbour at a quantile of the rows.

    Where so many rows are equal that this distance is 0, the quantile is doubled until it is not.
    """
    quantiles = np.minimum(quantile * 2.0 ** np.arange(20), 1)
    bandwidths = (estimate_bandwidth(X, quantile=quantile) for quantile in quantiles)
    bandwidth = next((width for width in bandwidths if width > 0), 1.0)
    # scikit-learn moves one seed at a time. Started at the modes, which we find many rows at a
    # time, it has nothing to do.
    return MeanShift(bandwidth=bandwidth, seeds=climb_to_modes(X, bandwidth)).fit(X)


def climb_to_modes(X: Array, bandwidth: float) -> Array:
    """The distinct ends of rows that move to the mean of rows within the bandwidth, repeatedly."""
    ends, still = X.astype(np.float64), bandwidth / 1000  # a row that moves less has arrived
    for block in np.array_split(np.arange(len(X)), -(-len(X) // 1000)):  # bounds memory
        climbing = block
        for _ in range(300):  # as many steps as scikit-learn's
            near = (euclidean_distances(ends[climbing], X) <= bandwidth).astype(X.dtype)
            means = (near @ X) / near.sum(axis=1, keepdims=True)
            moved = np.linalg.norm(means - ends[climbing], axis=1) > still
            ends[climbing] = means
            climbing = climbing[moved]
            if not len(climbing):
                break
    _, first = np.unique(np.round(ends / still), axis=0, return_index=True)
    return ends[first]
