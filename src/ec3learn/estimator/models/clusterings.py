"""Clusterings that find their own settings: eps from distances, k by silhouette, a bandwidth that is never 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import DBSCAN, KMeans, MeanShift, estimate_bandwidth
from sklearn.metrics import euclidean_distances, pairwise_distances, pairwise_distances_argmin_min, silhouette_score
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ..._checks import require_integer
from .landmarks import NOISE, n_distinct

Array = npt.NDArray[Any]

CLIMBERS = 1000  # rows that climb at once in mean shift
MOST_STEPS = 300
STILL = 1e-3  # of the bandwidth: who moves less has arrived


class KDistanceDBSCAN(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """DBSCAN whose radius is read off the k-distance curve.

    The distances of all rows to their k-th nearest neighbours, in order, are a flat curve that rises at its end: rows beyond the
    bend lie far from their neighbours and are noise. `eps` is the distance at the bend, the point furthest below the straight
    line between the ends of the curve.

    Parameters
    ----------
    min_samples : int
        How many rows, itself included, a row needs within `eps` to be a core of a cluster; k is one less.

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

    def __init__(self, min_samples: int = 5) -> None:
        self.min_samples = min_samples

    def fit(self, X: Any, y: Any = None) -> KDistanceDBSCAN:
        """Find eps, and the clusters.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Numbers.
        y : None
            Not used.

        Returns
        -------
        KDistanceDBSCAN
            Itself.

        Examples
        --------
        >>> from ec3learn.estimator import KDistanceDBSCAN
        >>> KDistanceDBSCAN(min_samples=2).fit([[0], [1], [2], [10], [11], [12], [99]]).eps_
        1.0
        """
        require_integer("min_samples", self.min_samples, 1)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        n_neighbors = min(max(self.min_samples, 2), X.shape[0])
        distances = np.sort(NearestNeighbors(n_neighbors=n_neighbors).fit(X).kneighbors(X)[0][:, -1])
        self.eps_ = bend(distances)
        model = DBSCAN(eps=self.eps_, min_samples=self.min_samples).fit(X)
        self.labels_, self.core_sample_indices_ = model.labels_, model.core_sample_indices_
        self._cores = X[self.core_sample_indices_]
        return self

    def predict(self, X: Any) -> Array:
        """Return the cluster of the nearest core within eps; -1 where there is none.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Numbers.

        Returns
        -------
        array of shape (n_samples,)

        Examples
        --------
        >>> from ec3learn.estimator import KDistanceDBSCAN
        >>> KDistanceDBSCAN(min_samples=2).fit([[0], [1], [2], [10], [11], [12], [99]]).predict([[3], [5], [9]])
        array([ 0, -1,  1])
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        if not len(self.core_sample_indices_):
            return np.full(X.shape[0], NOISE, dtype=self.labels_.dtype)
        nearest, distance = pairwise_distances_argmin_min(X, self._cores)
        return np.where(distance <= self.eps_, self.labels_[self.core_sample_indices_][nearest], NOISE)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class SilhouetteKMeans(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """K-means with the number of clusters that has the best silhouette.

    Parameters
    ----------
    max_clusters : int
        The numbers from 2 to this are tried.
    sample_size : int
        How many rows, drawn at random, the numbers are tried on; the best one then clusters all rows.
    random_state : int, RandomState instance, or None
        Seed of the draw and of k-means.

    Attributes
    ----------
    n_clusters_ : int
    silhouettes_ : dict
        The mean silhouette of each number tried.
    cluster_centers_ : array of shape (clusters, features)
    labels_ : array of shape (n_samples,)

    Examples
    --------
    >>> from ec3learn.estimator import SilhouetteKMeans
    >>> SilhouetteKMeans(random_state=0).fit([[0.0], [0.1], [5.0], [5.1], [9.0], [9.1]]).n_clusters_
    3
    """

    def __init__(self, max_clusters: int = 20, sample_size: int = 2000, random_state: Any = None) -> None:
        self.max_clusters = max_clusters
        self.sample_size = sample_size
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> SilhouetteKMeans:
        """Choose the number of clusters, and find them.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Numbers.
        y : None
            Not used.

        Returns
        -------
        SilhouetteKMeans
            Itself.

        Examples
        --------
        >>> from ec3learn.estimator import SilhouetteKMeans
        >>> model = SilhouetteKMeans(random_state=0).fit([[0.0], [0.1], [5.0], [5.1]])
        >>> {k: round(mean, 2) for k, mean in model.silhouettes_.items()}
        {2: 0.98, 3: 0.49}
        """
        require_integer("max_clusters", self.max_clusters, 2)
        require_integer("sample_size", self.sample_size, 2)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        random = check_random_state(self.random_state)
        sample = X
        if X.shape[0] > self.sample_size:
            sample = X[random.choice(X.shape[0], self.sample_size, replace=False)]
        distances = pairwise_distances(sample)
        np.fill_diagonal(distances, 0)
        # Equal rows cannot be told apart, and a silhouette needs fewer clusters than rows.
        most = min(self.max_clusters, n_distinct(sample, self.max_clusters), sample.shape[0] - 1)
        self.silhouettes_: dict[int, float] = {}
        for n_clusters in range(2, most + 1):
            labels = KMeans(n_clusters, random_state=random).fit_predict(sample)
            if len(np.unique(labels)) > 1:
                self.silhouettes_[n_clusters] = float(silhouette_score(distances, labels, metric="precomputed"))
        self.n_clusters_ = max(self.silhouettes_, key=self.silhouettes_.__getitem__, default=1)
        self._model = KMeans(self.n_clusters_, random_state=random).fit(X)
        self.labels_, self.cluster_centers_ = self._model.labels_, self._model.cluster_centers_
        return self

    def predict(self, X: Any) -> Array:
        """Return the cluster whose centre is nearest.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Numbers.

        Returns
        -------
        array of shape (n_samples,)

        Examples
        --------
        >>> from ec3learn.estimator import SilhouetteKMeans
        >>> model = SilhouetteKMeans(random_state=0).fit([[0.0], [0.1], [5.0], [5.1]])
        >>> model.predict([[0.4], [4.4]]) == model.labels_[[0, 2]]
        array([ True,  True])
        """
        check_is_fitted(self)
        return self._model.predict(validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class QuantileMeanShift(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Mean shift whose bandwidth is the mean distance to the neighbour that a share of all rows is nearer than.

    Parameters
    ----------
    quantile : float
        The share; more gives fewer clusters.

    Attributes
    ----------
    bandwidth_ : float
    cluster_centers_ : array of shape (n_clusters, n_features)
    labels_ : array of shape (n_samples,)

    Notes
    -----
    Where so many rows are equal that this distance is 0, the share is raised until it is not.

    Examples
    --------
    >>> from ec3learn.estimator import QuantileMeanShift
    >>> QuantileMeanShift(0.5).fit_predict([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    array([1, 1, 1, 0, 0, 0])
    """

    def __init__(self, quantile: float = 0.1) -> None:
        self.quantile = quantile

    def fit(self, X: Any, y: Any = None) -> QuantileMeanShift:
        """Find the bandwidth, and the clusters.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Numbers.
        y : None
            Not used.

        Returns
        -------
        QuantileMeanShift
            Itself.

        Examples
        --------
        >>> from ec3learn.estimator import QuantileMeanShift
        >>> QuantileMeanShift(0.5).fit([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]).cluster_centers_.round(2)
        array([[5.1],
               [0.1]])
        """
        if not 0 < self.quantile <= 1:
            raise ValueError(f"quantile must be above 0 and at most 1, got {self.quantile!r}.")
        X = validate_data(self, X, dtype=[np.float64, np.float32])
        self.bandwidth_ = self._bandwidth(X)
        # From where all rows have climbed to already, scikit-learn, which takes them one at a time, has no way left to go.
        self._model = MeanShift(bandwidth=self.bandwidth_, seeds=tops(X, self.bandwidth_)).fit(X)
        self.labels_, self.cluster_centers_ = self._model.labels_, self._model.cluster_centers_
        return self

    def predict(self, X: Any) -> Array:
        """Return the cluster whose centre is nearest.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Numbers.

        Returns
        -------
        array of shape (n_samples,)

        Examples
        --------
        >>> from ec3learn.estimator import QuantileMeanShift
        >>> QuantileMeanShift(0.5).fit([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]).predict([[1.0], [4.0]])
        array([1, 0])
        """
        check_is_fitted(self)
        return self._model.predict(validate_data(self, X, dtype=[np.float64, np.float32], reset=False))

    def _bandwidth(self, X: Array) -> float:
        quantile = float(self.quantile)
        while True:
            bandwidth = float(estimate_bandwidth(X, quantile=quantile))
            if bandwidth > 0:
                return bandwidth
            if quantile == 1:
                return 1.0  # all rows are equal
            quantile = min(1.0, 2 * quantile)


def bend(curve: Array) -> float:
    """Return the value at the bend of a rising curve: the point furthest below the line between its ends.

    Where the curve is flat there, at 0, it is the first value above 0, and 1 if there is none: a radius has to be above 0.
    """
    height = curve[-1] - curve[0]
    below = np.linspace(0, 1, len(curve)) - (curve - curve[0]) / (height or 1.0)
    value = curve[below.argmax()]
    positive = curve[curve > 0]
    return float(value if value > 0 else positive[0] if len(positive) else 1.0)


def tops(X: Array, bandwidth: float) -> Array:
    """Return where rows end that move to the mean of all rows within the bandwidth, again and again; each place once."""
    ends = []
    for start in range(0, len(X), CLIMBERS):
        places = X[start : start + CLIMBERS].astype(np.float64)
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
