"""Landmarks: any clustering at any size."""

import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import DBSCAN, AffinityPropagation, AgglomerativeClustering, KMeans, MeanShift
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.estimator_checks import parametrize_with_checks

from ec3learn.estimator import KDistanceDBSCAN, Landmarks

COMPLETE = AgglomerativeClustering(3, linkage="complete")


@parametrize_with_checks(
    [Landmarks(AgglomerativeClustering(2), n_landmarks=10, random_state=0), Landmarks(KMeans(2), random_state=0)]
)
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


@pytest.fixture
def rows():
    """Three round clusters of 400 rows each, far apart."""
    random = np.random.default_rng(0)
    return random.normal(size=(1200, 2)) + np.repeat([[0, 0], [30, 0], [0, 30]], 400, axis=0)


TRUTH = np.repeat([0, 1, 2], 400)
INNER = [
    COMPLETE,
    AffinityPropagation(damping=0.9, random_state=0),
    MeanShift(),
    DBSCAN(eps=2),
    KMeans(3, random_state=0),
    GaussianMixture(3, random_state=0),
]


@pytest.mark.parametrize("inner", INNER)
def test_with_no_more_rows_than_landmarks_the_clusterer_answers(rows, inner):
    some = rows[::12]
    assert (Landmarks(inner, n_landmarks=len(some)).fit(some).labels_ == clone(inner).fit_predict(some)).all()


@pytest.mark.parametrize("inner", [COMPLETE, MeanShift(), DBSCAN(eps=5), GaussianMixture(3)])
def test_clusters_of_a_few_landmarks_reach_all_rows(rows, inner):
    labels = Landmarks(inner, n_landmarks=100, random_state=0).fit_predict(rows)
    assert adjusted_rand_score(TRUTH, labels) == 1


@pytest.mark.parametrize("inner", INNER)
def test_predict_gives_the_rows_of_fit_the_labels_of_fit(rows, inner):
    model = Landmarks(inner, n_landmarks=100, random_state=0).fit(rows)
    assert (model.predict(rows) == model.labels_).all()


def test_landmarks_are_kept_only_where_they_are_needed(rows):
    assert Landmarks(KMeans(3), n_landmarks=50, random_state=0).fit(rows).landmarks_ is None
    assert len(Landmarks(COMPLETE, n_landmarks=50, random_state=0).fit(rows).landmarks_) == 50


def test_a_row_gets_the_cluster_of_the_nearest_landmark(rows):
    model = Landmarks(COMPLETE, n_landmarks=50, random_state=0).fit(rows)
    nearest = NearestNeighbors(n_neighbors=1).fit(model.landmarks_).kneighbors(rows, return_distance=False)[:, 0]
    assert (model.labels_ == model.landmark_labels_[nearest]).all()


@pytest.mark.parametrize("inner", [DBSCAN(eps=2), KDistanceDBSCAN(), MeanShift(bandwidth=3, cluster_all=False)])
def test_noise_stays_noise(inner):
    lonely = np.array([[200.0, 200.0], [-200.0, 200.0]])
    rows = np.vstack([np.random.default_rng(0).normal(size=(50, 2)), lonely])
    if isinstance(inner, MeanShift):
        inner.set_params(seeds=[[0.0, 0.0]])  # what no seed reaches is noise
    model = Landmarks(inner, random_state=0).fit(rows)
    assert model.labels_[-2:].tolist() == [-1, -1]
    assert model.predict(lonely + 0.5).tolist() == [-1, -1]
    assert model.predict([[0.0, 0.0]]).tolist() == [model.labels_[0]] != [-1]


def test_one_seed_one_answer(rows):
    answers = [Landmarks(KMeans(5), n_landmarks=60, random_state=seed).fit_predict(rows) for seed in (3, 3, 4)]
    assert (answers[0] == answers[1]).all()
    assert (answers[0] != answers[2]).any()


def test_a_clusterer_with_a_seed_of_its_own_keeps_it(rows):
    model = Landmarks(KMeans(5, random_state=7), random_state=0).fit(rows)
    assert model.clusterer_.random_state == 7


def test_the_clusterer_passed_in_stays_unfitted(rows):
    inner = KMeans(3)
    Landmarks(inner, n_landmarks=50).fit(rows)
    assert not hasattr(inner, "labels_")
    assert inner.random_state is None


@pytest.mark.parametrize("inner", [AgglomerativeClustering(5), KMeans(5), GaussianMixture(5)])
def test_more_clusters_than_rows_are_no_error(inner):
    model = Landmarks(inner, random_state=0).fit([[0.0], [1.0], [5.0]])
    assert len(set(model.labels_.tolist())) == 3


def test_one_landmark_is_enough():
    assert Landmarks(KMeans(2), n_landmarks=1, random_state=0).fit_predict([[0.0], [1.0], [2.0]]).tolist() == [0, 0, 0]


def test_sparse_rows_are_clustered_as_dense_ones(rows):
    model = Landmarks(KMeans(3, random_state=0), n_landmarks=100, random_state=0)
    dense = clone(model).fit_predict(rows)
    assert adjusted_rand_score(dense, model.fit_predict(sparse.csr_array(rows))) == 1


def test_memory_does_not_grow_with_the_square_of_the_rows():
    rows = np.random.default_rng(0).normal(size=(100_000, 3))  # a matrix of all distances would take 75 GiB
    labels = Landmarks(COMPLETE, n_landmarks=200, random_state=0).fit_predict(rows)
    assert np.unique(labels).tolist() == [0, 1, 2]


def test_what_cannot_cluster_is_refused():
    with pytest.raises(TypeError, match=re.escape("clusterer must be a clustering with fit_predict, got NearestNeighbors.")):
        Landmarks(NearestNeighbors()).fit([[0.0], [1.0]])


@pytest.mark.parametrize("n_landmarks", [0, 2.5, True])
def test_n_landmarks_that_count_nothing_are_refused(n_landmarks):
    message = f"n_landmarks must be an integer >= 1, got {n_landmarks!r}."
    with pytest.raises(ValueError, match=re.escape(message)):
        Landmarks(KMeans(2), n_landmarks=n_landmarks).fit([[0.0], [1.0]])
