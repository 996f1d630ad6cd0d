"""Clusterings that find their own settings."""

import re

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, MeanShift, estimate_bandwidth
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from ec3learn.estimator import KDistanceDBSCAN, QuantileMeanShift, SilhouetteKMeans
from ec3learn.estimator.models.clusterings import elbow


@parametrize_with_checks([KDistanceDBSCAN(), SilhouetteKMeans(max_clusters=4, random_state=0), QuantileMeanShift()])
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


@pytest.fixture
def rows():
    """Four round clusters of 50 rows each, far apart."""
    random = np.random.default_rng(0)
    return random.normal(size=(200, 2)) + np.repeat([[0, 0], [30, 0], [0, 30], [30, 30]], 50, axis=0)


TRUTH = np.repeat([0, 1, 2, 3], 50)


# ---- eps -------------------------------------------------------------------------------------------------------------


def test_the_elbow_is_where_the_curve_leaves_the_line_most():
    assert elbow(np.array([0.0, 0.1, 0.2, 0.3, 5.0])) == 0.3


@pytest.mark.parametrize(("curve", "value"), [([0.0, 0.0, 0.0, 2.0], 2.0), ([0.0, 0.0], 1.0), ([3.0, 3.0, 3.0], 3.0)])
def test_the_elbow_is_above_zero(curve, value):
    assert elbow(np.array(curve)) == value


def test_a_lonely_row_is_noise(rows):
    labels = KDistanceDBSCAN().fit_predict(np.vstack([rows, [[500.0, 500.0]]]))
    assert labels[-1] == -1
    assert len(np.unique(labels[labels >= 0])) == 4


def test_it_is_dbscan_at_the_eps_found(rows):
    model = KDistanceDBSCAN(min_samples=4).fit(rows)
    assert (model.labels_ == DBSCAN(eps=model.eps_, min_samples=4).fit_predict(rows)).all()


def test_new_rows_belong_to_cores_within_eps(rows):
    model = KDistanceDBSCAN().fit(rows)
    core = model.core_sample_indices_[0]
    beside, far = rows[core] + [model.eps_ / 2, 0], rows[core] + [0, -100]
    assert model.predict([beside, far]).tolist() == [model.labels_[core], -1]


def test_noise_is_noise_again_in_predict(rows):
    model = KDistanceDBSCAN().fit(rows)
    noise = model.labels_ == -1
    assert ((model.predict(rows) == -1) == noise).all()


@pytest.mark.parametrize("rows", [np.zeros((9, 2)), np.arange(3.0)[:, None]])
def test_equal_rows_and_few_rows_are_no_error(rows):
    assert len(KDistanceDBSCAN().fit_predict(rows)) == len(rows)


# ---- the number of clusters --------------------------------------------------------------------------------------------


def test_the_best_silhouette_finds_the_number_of_clusters(rows):
    model = SilhouetteKMeans(random_state=0).fit(rows)
    assert model.n_clusters_ == 4
    assert max(model.silhouettes_, key=model.silhouettes_.get) == 4
    assert adjusted_rand_score(TRUTH, model.labels_) == 1


def test_a_sample_is_enough_to_choose(rows):
    model = SilhouetteKMeans(sample_size=60, random_state=0).fit(np.repeat(rows, 10, axis=0))
    assert model.n_clusters_ == 4
    assert len(model.labels_) == 2000


def test_no_more_clusters_are_tried_than_rows_differ():
    model = SilhouetteKMeans(random_state=0).fit(np.repeat([[0.0], [1.0], [5.0]], 10, axis=0))
    assert list(model.silhouettes_) == [2, 3]
    assert model.n_clusters_ == 3


@pytest.mark.parametrize("rows", [np.zeros((5, 2)), np.array([[0.0], [1.0]])])
def test_rows_that_allow_no_choice_are_one_cluster(rows):
    assert SilhouetteKMeans().fit_predict(rows).tolist() == [0] * len(rows)


# ---- the bandwidth -----------------------------------------------------------------------------------------------------


def test_it_is_mean_shift_at_the_bandwidth_found(rows):
    model = QuantileMeanShift(0.2).fit(rows)
    assert model.bandwidth_ == pytest.approx(estimate_bandwidth(rows, quantile=0.2))
    assert (model.labels_ == MeanShift(bandwidth=model.bandwidth_).fit_predict(rows)).all()
    assert adjusted_rand_score(TRUTH, model.labels_) == 1


def test_many_equal_rows_leave_a_bandwidth_above_zero():
    rows = np.repeat([[0.0], [9.0]], [90, 10], axis=0)
    model = QuantileMeanShift(0.05).fit(rows)
    assert model.bandwidth_ > 0
    assert len(set(model.labels_)) >= 1


def test_equal_rows_are_one_cluster():
    assert QuantileMeanShift().fit_predict(np.zeros((4, 2))).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (KDistanceDBSCAN(min_samples=0), "min_samples must be an integer >= 1, got 0."),
        (SilhouetteKMeans(max_clusters=1), "max_clusters must be an integer >= 2, got 1."),
        (SilhouetteKMeans(sample_size=1), "sample_size must be an integer >= 2, got 1."),
        (QuantileMeanShift(quantile=0), "quantile must be > 0 and <= 1, got 0."),
    ],
)
def test_parameters_that_are_not_allowed_are_refused(model, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        model.fit([[0.0], [1.0]])
