"""Classifiers that do not stumble over a handful of rows."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_classification
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from ec3learn.estimator import (
    Boosting,
    CalibratedLinearSVM,
    ExtraTrees,
    KernelLogisticRegression,
    NearestNeighbours,
    Perceptron,
    RandomForest,
)

FEW = [
    NearestNeighbours(),
    CalibratedLinearSVM(random_state=0),
    Perceptron(max_iter=20, random_state=0),
    KernelLogisticRegression(random_state=0),
]


@parametrize_with_checks(FEW)
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


@pytest.mark.parametrize("model", FEW)
def test_one_row_a_class_is_enough(model):
    proba = model.fit([[0.0, 0.0], [5.0, 5.0], [0.0, 9.0]], ["a", "b", "c"]).predict_proba([[0.0, 0.0], [5.0, 5.0]])
    assert proba.shape == (2, 3)
    assert_allclose(proba.sum(axis=1), 1)


@pytest.fixture
def rows():
    return make_classification(300, 6, random_state=0)


def test_with_enough_rows_neighbours_are_those_of_scikit_learn(rows):
    expected = KNeighborsClassifier(7, weights="distance").fit(*rows).predict_proba(rows[0])
    assert_allclose(NearestNeighbours(7).fit(*rows).predict_proba(rows[0]), expected)


def test_a_calibrated_machine_says_how_sure_it_is(rows):
    X, y = rows
    flipped = np.where(np.random.default_rng(0).random(len(y)) < 0.2, 1 - y, y)  # nobody can be surer than 80 %
    proba = CalibratedLinearSVM(random_state=0).fit(X, flipped).predict_proba(X)
    assert proba.max(axis=1).mean() == pytest.approx((proba.argmax(axis=1) == flipped).mean(), abs=0.08)


def test_likeness_finds_a_ring():
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 2))
    y = np.linalg.norm(X, axis=1) > 1.2
    model = KernelLogisticRegression(n_components=50, random_state=0).fit(X[:200], y[:200])
    assert model.model_[0].components_.shape == (50, 2)
    assert model.score(X[200:], y[200:]) > 0.9


def test_rows_are_kept_back_only_of_large_classes(rows):
    few, many = (Perceptron(max_iter=3, min_kept_back=least, random_state=0).fit(*rows) for least in (1000, 100))
    assert not few.model_.early_stopping
    assert many.model_.early_stopping


def test_few_rows_get_half_the_rounds_and_trees_and_the_settings_stay(rows):
    X, y = rows[0][:100], rows[1][:100]
    boosting = Boosting(random_state=0).fit(X, y)
    assert (boosting.n_iter_, boosting.max_iter, boosting.learning_rate, boosting.min_samples_leaf) == (50, 100, 0.1, 20)
    for forest in (RandomForest(20, random_state=0), ExtraTrees(20, random_state=0)):
        assert (len(forest.fit(X, y).estimators_), forest.n_estimators) == (10, 20)


@pytest.mark.parametrize("model", FEW[1:])
def test_one_seed_one_answer(rows, model):
    once, again = (model.fit(*rows).predict_proba(rows[0]) for _ in range(2))
    assert (once == again).all()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (NearestNeighbours(0), "n_neighbors must be an integer >= 1, got 0."),
        (CalibratedLinearSVM(C=0), "C must be a finite number > 0, got 0."),
        (CalibratedLinearSVM(cv=1), "cv must be an integer >= 2, got 1."),
        (KernelLogisticRegression(C=-1), "C must be a finite number > 0, got -1."),
        (KernelLogisticRegression(n_components=0), "n_components must be an integer >= 1, got 0."),
        (Perceptron(n_hidden=0), "n_hidden must be an integer >= 1, got 0."),
    ],
)
def test_parameters_that_are_not_allowed_are_refused(model, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        model.fit([[0.0], [1.0]], [0, 1])
