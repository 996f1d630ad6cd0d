"""Clusterings that find their own settings."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import (
    DBSCAN,
    AffinityPropagation,
    AgglomerativeClustering,
    KMeans,
    MeanShift,
)
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.estimator_checks import check_estimator

from ec3learn.estimator import Landmarks
from ec3learn.estimator.models.clusterings import (
    ChosenClustering,
    KDistanceDBSCAN,
    best_kmeans,
    elbow,
    mean_shift,
)

COMPLETE = AgglomerativeClustering(3, linkage="complete")


@pytest.fixture
def rows():
    """Four round clusters of 50 rows each, far apart."""
    random = np.random.default_rng(0)
    return random.normal(size=(200, 2)) + np.repeat(
        [[0, 0], [30, 0], [0, 30], [30, 30]], 50, axis=0
    )


TRUTH = np.repeat([0, 1, 2, 3], 50)


# ---- eps -----------------------------------------------------------------------------------------


def test_the_elbow_is_where_the_curve_leaves_the_line_most():
    assert elbow(np.array([0.0, 0.1, 0.2, 0.3, 5.0])) == 0.3


@pytest.mark.parametrize(
    ("curve", "value"), [([0.0, 0.0, 0.0, 2.0], 2.0), ([0.0, 0.0], 1.0), ([3.0, 3.0, 3.0], 3.0)]
)
def test_the_elbow_is_above_zero(curve, value):
    assert elbow(np.array(curve)) == value


def test_a_lonely_row_is_noise(rows):
    labels = KDistanceDBSCAN().fit_predict(np.vstack([rows, [[500.0, 500.0]]]))
    assert labels[-1] == -1
    assert len(np.unique(labels[labels >= 0])) == 4


def test_noise_is_noise_again_in_predict(rows):
    model = KDistanceDBSCAN().fit(rows)
    noise = model.labels_ == -1
    assert ((model.predict(rows) == -1) == noise).all()


@pytest.mark.parametrize("rows", [np.zeros((9, 2)), np.arange(3.0)[:, None]])
def test_equal_rows_and_few_rows_are_no_error(rows):
    assert len(KDistanceDBSCAN().fit_predict(rows)) == len(rows)


# ---- the number of clusters ----------------------------------------------------------------------


def test_the_best_silhouette_finds_the_number_of_clusters(rows):
    model = ChosenClustering(best_kmeans, random_state=0).fit(rows)
    assert adjusted_rand_score(TRUTH, model.labels_) == 1


def test_a_sample_is_enough_to_choose(rows):
    model = best_kmeans(np.repeat(rows, 10, axis=0), np.random.RandomState(0), sample_size=60)
    assert np.bincount(model.labels_).tolist() == [500] * 4


@pytest.mark.parametrize("rows", [np.zeros((5, 2)), np.array([[0.0], [1.0]])])
def test_rows_that_allow_no_choice_are_one_cluster(rows):
    assert ChosenClustering(best_kmeans).fit_predict(rows).tolist() == [0] * len(rows)


# ---- the bandwidth -------------------------------------------------------------------------------


def test_many_equal_rows_leave_a_bandwidth_above_zero():
    rows = np.repeat([[0.0], [9.0]], [90, 10], axis=0)
    assert len(set(mean_shift(rows, quantile=0.05).labels_)) == 2


def test_equal_rows_are_one_cluster():
    assert ChosenClustering(mean_shift).fit_predict(np.zeros((4, 2))).tolist() == [0, 0, 0, 0]


# ---- landmarks -----------------------------------------------------------------------------------


def test_scikit_learn_accepts_landmarks():
    complete = AgglomerativeClustering(2)
    check_estimator(Landmarks(complete, n_landmarks=10, random_state=0), on_skip=None)


@pytest.fixture
def many_rows():
    """Three round clusters of 400 many_rows each, far apart."""
    random = np.random.default_rng(0)
    return random.normal(size=(1200, 2)) + np.repeat([[0, 0], [30, 0], [0, 30]], 400, axis=0)


MANY_TRUE = np.repeat([0, 1, 2], 400)
INNER = [
    COMPLETE,
    AffinityPropagation(damping=0.9, random_state=0),
    MeanShift(),
    DBSCAN(eps=2),
    KMeans(3, random_state=0),
    GaussianMixture(3, random_state=0),
]


@pytest.mark.parametrize("inner", INNER[:2])
def test_with_no_more_rows_than_landmarks_the_clusterer_answers(many_rows, inner):
    some = many_rows[::12]
    assert (
        Landmarks(inner, n_landmarks=len(some)).fit(some).labels_ == clone(inner).fit_predict(some)
    ).all()


@pytest.mark.parametrize("inner", [COMPLETE, MeanShift(), DBSCAN(eps=5), GaussianMixture(3)])
def test_clusters_of_a_few_landmarks_reach_all_rows(many_rows, inner):
    labels = Landmarks(inner, n_landmarks=100, random_state=0).fit_predict(many_rows)
    assert adjusted_rand_score(MANY_TRUE, labels) == 1


@pytest.mark.parametrize("inner", INNER[-2:])
def test_predict_gives_the_rows_of_fit_the_labels_of_fit(many_rows, inner):
    model = Landmarks(inner, n_landmarks=100, random_state=0).fit(many_rows)
    assert (model.predict(many_rows) == model.labels_).all()


def test_a_row_gets_the_cluster_of_the_nearest_landmark(many_rows):
    model = Landmarks(COMPLETE, n_landmarks=50, random_state=0).fit(many_rows)
    nearest = (
        NearestNeighbors(n_neighbors=1)
        .fit(model.landmarks_)
        .kneighbors(many_rows, return_distance=False)[:, 0]
    )
    assert (model.labels_ == model.landmark_labels_[nearest]).all()


@pytest.mark.parametrize("inner", [DBSCAN(eps=2), KDistanceDBSCAN()])
def test_noise_stays_noise(inner):
    lonely = np.array([[200.0, 200.0], [-200.0, 200.0]])
    many_rows = np.vstack([np.random.default_rng(0).normal(size=(50, 2)), lonely])
    model = Landmarks(inner, random_state=0).fit(many_rows)
    assert model.labels_[-2:].tolist() == [-1, -1]
    assert model.predict(lonely + 0.5).tolist() == [-1, -1]
    assert model.predict([[0.0, 0.0]]).tolist() == [model.labels_[0]] != [-1]


def test_one_seed_one_answer(many_rows):
    answers = [
        Landmarks(KMeans(5, random_state=0), n_landmarks=60, random_state=seed).fit_predict(
            many_rows
        )
        for seed in (3, 3, 4)
    ]
    assert (answers[0] == answers[1]).all()
    assert (answers[0] != answers[2]).any()


@pytest.mark.parametrize("inner", [AgglomerativeClustering(5), KMeans(5), GaussianMixture(5)])
def test_more_clusters_than_rows_are_no_error(inner):
    model = Landmarks(inner, random_state=0).fit([[0.0], [1.0], [5.0]])
    assert len(set(model.labels_.tolist())) == 3


def test_sparse_rows_are_clustered_as_dense_ones(many_rows):
    model = Landmarks(KMeans(3, random_state=0), n_landmarks=100, random_state=0)
    dense = clone(model).fit_predict(many_rows)
    assert adjusted_rand_score(dense, model.fit_predict(sparse.csr_array(many_rows))) == 1


def test_memory_does_not_grow_with_the_square_of_the_rows():
    many_rows = np.random.default_rng(0).normal(
        size=(100_000, 3)
    )  # a matrix of all distances would take 75 GiB
    labels = Landmarks(COMPLETE, n_landmarks=200, random_state=0).fit_predict(many_rows)
    assert np.unique(labels).tolist() == [0, 1, 2]
