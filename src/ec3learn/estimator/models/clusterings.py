"""Clusterings that find their own settings: eps, the number of clusters, a bandwidth.

`Landmarks` makes any clustering fit any number of rows: it clusters a sample, and other rows get
the cluster of the nearest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import DBSCAN, KMeans, MeanShift, estimate_bandwidth
from sklearn.metrics import (
    euclidean_distances,
    pairwise_distances,
    pairwise_distances_argmin,
    pairwise_distances_argmin_min,
    silhouette_score,
)
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state, get_tags

from ..._typing import Array
from .base import Clustering

BLOCK = 1000  # rows that climb at once in mean shift
MOST_STEPS = 300
STILL = 1e-3  # of the bandwidth: a row that moves less has arrived
NOISE = -1


@dataclass(eq=False, repr=False)
class KDistanceDBSCAN(Clustering):
    """DBSCAN whose radius is read off the k-distance curve.

    The distances of all rows to their k-th nearest neighbour, sorted, form a flat curve that rises
    at its end: rows beyond the elbow lie far from their neighbours and are noise. `eps` is the
    distance at the elbow, the point furthest below the straight line between the ends of the curve.

    Parameters
    ----------
    min_samples : int
        Number of rows within `eps`, itself included, that make a row a core of a cluster; k is one
        less.

    Attributes
    ----------
    eps_ : float
    labels_ : array of shape (n_samples,)
        The clusters of the rows; -1 is noise.
    core_sample_indices_ : array of shape (n_cores,)

    Examples
    --------
    >>> from ec3learn.estimator import KDistanceDBSCAN
    >>> KDistanceDBSCAN(min_samples=2).fit_predict([[0], [1], [2], [10], [11], [12], [99]])
    array([ 0,  0,  0,  1,  1,  1, -1])
    """

    min_samples: int = 5

    def _fit(self, X: Any) -> None:
        n_neighbors = min(max(self.min_samples, 2), X.shape[0])
        distances = np.sort(
            NearestNeighbors(n_neighbors=n_neighbors).fit(X).kneighbors(X)[0][:, -1]
        )
        self.eps_ = elbow(distances)
        model = DBSCAN(eps=self.eps_, min_samples=self.min_samples).fit(X)
        self.labels_, self.core_sample_indices_ = model.labels_, model.core_sample_indices_
        self._cores = X[self.core_sample_indices_]

    def _assign(self, X: Any) -> Array:
        """The cluster of the nearest core within `eps`, else noise."""
        if not len(self.core_sample_indices_):
            return np.full(X.shape[0], NOISE, dtype=self.labels_.dtype)
        nearest, distance = pairwise_distances_argmin_min(X, self._cores)
        return np.where(
            distance <= self.eps_, self.labels_[self.core_sample_indices_][nearest], NOISE
        )


@dataclass(eq=False, repr=False)
class SilhouetteKMeans(Clustering):
    """K-means with the number of clusters that has the best silhouette.

    Parameters
    ----------
    max_clusters : int
        All numbers of clusters from 2 to this are tried.
    sample_size : int
        Number of rows, drawn at random, to try them on. The best number then clusters all rows.
    random_state : int, RandomState instance, or None
        Seed of the draw and of k-means.

    Attributes
    ----------
    n_clusters_ : int
    silhouettes_ : dict
        The mean silhouette of each number tried.
    cluster_centers_ : array of shape (n_clusters, n_features)
    labels_ : array of shape (n_samples,)

    Examples
    --------
    >>> from ec3learn.estimator import SilhouetteKMeans
    >>> SilhouetteKMeans(random_state=0).fit([[0.0], [0.1], [5.0], [5.1], [9.0], [9.1]]).n_clusters_
    3
    """

    max_clusters: int = 20
    sample_size: int = 2000
    random_state: Any = None

    def _fit(self, X: Any) -> None:
        random = check_random_state(self.random_state)
        sample = X
        if X.shape[0] > self.sample_size:
            sample = X[random.choice(X.shape[0], self.sample_size, replace=False)]
        distances = pairwise_distances(sample)
        np.fill_diagonal(distances, 0)
        # Equal rows share a cluster, and a silhouette needs fewer clusters than rows.
        most = min(self.max_clusters, count_distinct(sample), sample.shape[0] - 1)
        self.silhouettes_: dict[int, float] = {}
        for n_clusters in range(2, most + 1):
            labels = KMeans(n_clusters, random_state=random).fit_predict(sample)
            if len(np.unique(labels)) > 1:
                self.silhouettes_[n_clusters] = float(
                    silhouette_score(distances, labels, metric="precomputed")
                )
        self.n_clusters_ = max(self.silhouettes_, key=self.silhouettes_.__getitem__, default=1)
        self._keep(KMeans(self.n_clusters_, random_state=random).fit(X))


@dataclass(eq=False, repr=False)
class QuantileMeanShift(Clustering):
    """Mean shift whose bandwidth is the mean distance to a neighbour.

    It is the neighbour that a share of all rows is nearer than.

    Parameters
    ----------
    quantile : float
        The share; a larger one gives fewer clusters.

    Attributes
    ----------
    bandwidth_ : float
    cluster_centers_ : array of shape (n_clusters, n_features)
    labels_ : array of shape (n_samples,)

    Notes
    -----
    Where so many rows are equal that this distance is 0, the share is doubled until it is not.

    Examples
    --------
    >>> from ec3learn.estimator import QuantileMeanShift
    >>> QuantileMeanShift(0.5).fit_predict([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    array([1, 1, 1, 0, 0, 0])
    """

    _sparse = False

    quantile: float = 0.1

    def _fit(self, X: Any) -> None:
        self.bandwidth_ = self._find_bandwidth(X)
        # scikit-learn moves one seed at a time. Started at the modes, which we find many rows at a
        # time, it has nothing to do.
        self._keep(
            MeanShift(bandwidth=self.bandwidth_, seeds=climb_to_modes(X, self.bandwidth_)).fit(X)
        )

    def _find_bandwidth(self, X: Array) -> float:
        quantile = float(self.quantile)
        while True:
            bandwidth = float(estimate_bandwidth(X, quantile=quantile))
            if bandwidth > 0:
                return bandwidth
            if quantile == 1:
                return 1.0  # all rows are equal
            quantile = min(1.0, 2 * quantile)


def elbow(curve: Array) -> float:
    """The value at the elbow of a rising curve: the point furthest below the line between its ends.

    A radius must be above 0: an elbow at 0 gives the first value above 0, or 1 if there is none.
    """
    height = curve[-1] - curve[0]
    below = np.linspace(0, 1, len(curve)) - (curve - curve[0]) / (height or 1.0)
    value = curve[below.argmax()]
    positive = curve[curve > 0]
    return float(value if value > 0 else positive[0] if len(positive) else 1.0)


def climb_to_modes(X: Array, bandwidth: float) -> Array:
    """The distinct ends of rows that move to the mean of rows within the bandwidth, repeatedly."""
    ends = []
    for start in range(0, len(X), BLOCK):
        places = X[start : start + BLOCK].astype(np.float64)
        climbing = np.arange(len(places))
        for _ in range(MOST_STEPS):
            near = (euclidean_distances(places[climbing], X) <= bandwidth).astype(X.dtype)
            means = (near @ X) / near.sum(axis=1, keepdims=True)
            moved = np.linalg.norm(means - places[climbing], axis=1) > STILL * bandwidth
            places[climbing] = means
            climbing = climbing[moved]
            if not len(climbing):
                break
        ends.append(places)
    found = np.vstack(ends)
    _, first = np.unique(np.round(found / (STILL * bandwidth)), axis=0, return_index=True)
    return found[first]


# ---- any clustering at any size ------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class Landmarks(Clustering):
    """Cluster landmarks, a sample of the rows, and extend the clusters to all rows and to new ones.

    Time and memory of the clustering depend on the number of landmarks only, so affinity
    propagation, mean shift and complete linkage, whose memory grows with the square of the rows,
    run on any number of rows. With no more rows than landmarks the result is that of the clustering
    itself.

    Parameters
    ----------
    clusterer : clusterer
        Any clustering with scikit-learn's interface. Its `n_clusters` or `n_components` is lowered
        to the number of distinct landmarks where these are fewer.
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
    Other rows get their cluster from the clusterer's own `predict` (the nearest centre for k-means,
    affinity propagation and mean shift). If it has none, or if it never predicts noise though some
    landmarks are noise, they get that of the nearest landmark; a row nearest to noise is noise.

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

    def _fit(self, X: Any) -> None:
        n_rows = X.shape[0]
        random = check_random_state(self.random_state)
        use_all = n_rows <= self.n_landmarks
        rows = (
            np.arange(n_rows)
            if use_all
            else np.sort(random.choice(n_rows, self.n_landmarks, replace=False))
        )
        self.landmarks_ = X if use_all else X[rows]
        self.clusterer_ = self._prepare_clusterer(random)
        self.landmark_labels_ = np.asarray(self.clusterer_.fit_predict(self.landmarks_))
        self._predicts = self._predicts_noise()
        self.labels_ = self.landmark_labels_ if use_all else self._assign(X)
        if self._predicts:
            self.landmarks_ = None  # it would only make the model larger

    def _prepare_clusterer(self, random: np.random.RandomState) -> Any:
        """A seeded copy that looks for no more clusters than there are distinct landmarks."""
        clusterer = clone(self.clusterer)
        parameters = clusterer.get_params()
        changes: dict[str, Any] = {}
        if self.random_state is not None:
            seed = random.randint(np.iinfo(np.int32).max)
            unset = [
                name
                for name in parameters
                if name.endswith("random_state") and parameters[name] is None
            ]
            changes.update(dict.fromkeys(unset, seed))
        for name in ("n_clusters", "n_components"):
            if isinstance(parameters.get(name), (int, np.integer)):
                changes[name] = min(parameters[name], count_distinct(self.landmarks_))
        return clusterer.set_params(**changes)

    def _predicts_noise(self) -> bool:
        """Whether the clusterer can predict, and predicts noise for landmarks that are noise."""
        if not hasattr(self.clusterer_, "predict"):
            return False
        noise = np.flatnonzero(self.landmark_labels_ == NOISE)
        return not len(noise) or bool(
            (self.clusterer_.predict(self.landmarks_[noise]) == NOISE).all()
        )

    def _assign(self, X: Any) -> Array:
        if self._predicts:
            return np.asarray(self.clusterer_.predict(X)).astype(
                self.landmark_labels_.dtype, copy=False
            )
        return self.landmark_labels_[pairwise_distances_argmin(X, self.landmarks_)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self.clusterer).input_tags.sparse
        return tags


def count_distinct(X: Any) -> int:
    """The number of distinct rows."""
    dense = X.toarray() if sparse.issparse(X) else X
    return len(np.unique(dense + 0.0, axis=0))  # -0 and 0 are equal
