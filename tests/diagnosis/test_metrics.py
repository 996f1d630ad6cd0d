"""Measures of quality: by hand, as scikit-learn has them, and by weights as by repeated objects."""

import numpy as np
import pytest
from sklearn.metrics import f1_score, log_loss, roc_auc_score

from ec3learn.diagnosis.metrics import (
    Difference,
    calibration,
    confusion,
    macro_f,
    mean_auc,
    quality,
    sharpened_log_loss,
)


def test_the_measures_of_quality_by_hand():
    labels, truth = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])
    assert confusion(labels, truth, 3, np.ones(4)).tolist() == [[1, 0, 0], [1, 2, 0], [0, 0, 0]]
    assert macro_f(labels, truth, 3) == pytest.approx((2 / 3 + 4 / 5) / 2)
    assert calibration(np.array([0.9, 1.0, 0.5]), np.array([True, False, True]), np.ones(3)) == [(0.5, 1.0, 1), (0.95, 0.5, 2)]
    assert Difference(0, 5).p_value == pytest.approx(2 / 32)
    assert mean_auc(np.array([[0.2, 0.8], [0.5, 0.5], [0.5, 0.5]]), np.array([1, 1, 0])) == 0.75


def test_a_difference_is_judged_by_the_test_of_mcnemar():
    assert [Difference(0, n).second_is_better for n in (0, 5, 6)] == [False, False, True]  # 2 / 2**5 > 0.05 > 2 / 2**6
    assert [Difference(0, n).inconclusive for n in (0, 5, 6)] == [False, True, False]
    assert not Difference(9, 0).second_is_better


def test_the_mean_area_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(3), 200).round(2)  # with ties
    proba[:, 2] = 1 - proba[:, 0] - proba[:, 1]
    codes = rng.integers(3, size=200)
    assert mean_auc(proba, codes) == pytest.approx(roc_auc_score(codes, np.abs(proba), multi_class="ovr"), abs=1e-6)


def test_the_area_is_chance_where_one_class_occurs_alone():
    assert mean_auc(np.array([[0.2, 0.8], [0.5, 0.5]]), np.array([1, 1])) == 0.5


def test_the_mean_f_is_that_of_scikit_learn_over_the_classes_that_occur():
    rng = np.random.default_rng(0)
    truth, said = rng.integers(4, size=300), rng.integers(5, size=300)
    assert macro_f(said, truth, 6) == pytest.approx(f1_score(truth, said, average="macro", labels=range(4)))


def test_sharpening_finds_a_power_that_was_taken_away():
    rng = np.random.default_rng(0)
    sure = rng.dirichlet(np.ones(3), 500)
    truth = np.array([rng.choice(3, p=p) for p in sure])
    dull = np.sqrt(sure) / np.sqrt(sure).sum(axis=1, keepdims=True)
    assert sharpened_log_loss(dull, truth) == pytest.approx(log_loss(truth, sure), abs=1e-6)
    assert log_loss(truth, sure) < log_loss(truth, dull)


def test_quality_by_weights_is_that_of_repeated_objects():
    rng = np.random.default_rng(0)
    proba, truth, weight = rng.dirichlet(np.ones(3), 50).round(1), rng.integers(3, size=50), rng.integers(4, size=50)
    labels = proba.argmax(axis=1)
    one, other = (
        quality(proba[chosen], labels[chosen], truth[chosen], counts)
        for chosen, counts in ((slice(None), weight), (np.repeat(np.arange(50), weight), np.ones(weight.sum())))
    )
    assert (one.accuracy, one.f_score, one.auc) == pytest.approx((other.accuracy, other.f_score, other.auc))
    assert one.calibration_error == pytest.approx(other.calibration_error)


def test_objects_without_weight_do_not_make_a_class_occur():
    proba = np.array([[0.9, 0.1], [0.2, 0.8]])
    assert quality(proba, np.array([0, 1]), np.array([0, 1]), np.array([1, 0])).auc is None
