"""KernelNaiveBayes: the probabilities of scipy's kernel estimates, read from tables."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import gaussian_kde
from sklearn.utils.estimator_checks import parametrize_with_checks

from ec3learn.estimator import KernelNaiveBayes


@parametrize_with_checks([KernelNaiveBayes(), KernelNaiveBayes(bandwidth=0.3, smoothing=0)])
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


@pytest.fixture
def rows():
    random = np.random.default_rng(0)
    y = random.integers(0, 3, 80)
    return random.normal(size=(80, 2)) + y[:, None], y


def direct(X, y, new, multiple=None):
    """The class probabilities by definition, with an integral of scipy's estimate for each value."""
    classes = np.unique(y)
    logs = np.zeros((len(new), len(classes)))
    for c, label in enumerate(classes):
        logs[:, c] = np.log(np.mean(y == label))
        for j in range(X.shape[1]):
            own = X[y == label, j]
            width = own.std() * (multiple or len(own) ** -0.2)
            estimate = gaussian_kde(own, bw_method=width / own.std(ddof=1))  # scipy's unit is the other deviation
            window = np.ptp(X[:, j]) / (len(np.unique(X[:, j])) - 1)
            logs[:, c] += np.log([estimate.integrate_box_1d(x - window / 2, x + window / 2) for x in new[:, j]])
    proba = np.exp(logs - logs.max(axis=1, keepdims=True))
    return proba / proba.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(("bandwidth", "multiple"), [("scott", None), (0.4, 0.4)])
def test_it_agrees_with_estimates_of_scipy(rows, bandwidth, multiple):
    X, y = rows
    new = np.random.default_rng(1).uniform(-2, 4, size=(50, 2))
    proba = KernelNaiveBayes(bandwidth, smoothing=0).fit(X, y).predict_proba(new)
    assert_allclose(proba, direct(X, y, new, multiple), atol=2e-3)


def test_silverman_is_a_little_wider_than_scott(rows):
    scott, silverman = (KernelNaiveBayes(rule, smoothing=0).fit(*rows).bandwidth_ for rule in ("scott", "silverman"))
    assert_allclose(silverman / scott, 0.75**-0.2)


def test_shares_of_rows_are_the_answer_where_values_repeat():
    # 3 of 4 rows of class 0 are 0, and 1 of 4 of class 1: the odds at 0 are 3 to 1.
    X = np.repeat([[0.0], [1.0], [0.0], [1.0]], [300, 100, 100, 300], axis=0)
    y = np.repeat([0, 1], 400)
    proba = KernelNaiveBayes(bandwidth=0.01, smoothing=0).fit(X, y).predict_proba([[0.0], [1.0]])
    assert_allclose(proba, [[0.75, 0.25], [0.25, 0.75]], atol=1e-3)


def test_a_value_missing_leaves_the_other_features_to_speak(rows):
    X, y = rows
    both = KernelNaiveBayes().fit(X, y)
    first = KernelNaiveBayes().fit(X[:, :1], y)
    new = np.array([[0.5, np.nan], [2.0, np.nan]])
    assert_allclose(both.predict_proba(new), first.predict_proba(new[:, :1]))


def test_a_row_without_values_gets_the_priors(rows):
    model = KernelNaiveBayes(priors=[0.5, 0.3, 0.2]).fit(*rows)
    assert_allclose(model.predict_proba([[np.nan, np.nan]]), [[0.5, 0.3, 0.2]])


def test_a_feature_missing_in_a_whole_class_is_no_error():
    model = KernelNaiveBayes().fit([[0.0, np.nan], [0.1, np.nan], [3.0, 1.0], [3.1, 2.0]], [0, 0, 1, 1])
    assert model.predict([[0.0, np.nan], [3.0, 1.5]]).tolist() == [0, 1]


def test_a_constant_feature_says_nothing(rows):
    X, y = rows
    constant = np.column_stack([X, np.full(len(X), 7.0)])
    model = KernelNaiveBayes().fit(constant, y)
    assert model.window_[2] == 0
    new = np.column_stack([X, np.full(len(X), 9.0)])
    assert_allclose(model.predict_proba(new), KernelNaiveBayes().fit(X, y).predict_proba(X))


@pytest.mark.parametrize("smoothing", [0, 0.1])
def test_a_feature_that_is_constant_in_one_class_is_no_error(smoothing):
    X = np.array([[0.0], [0.0], [0.0], [1.0], [2.0], [3.0]])
    model = KernelNaiveBayes(smoothing=smoothing).fit(X, [0, 0, 0, 1, 1, 1])
    assert model.predict([[0.0], [2.5]]).tolist() == [0, 1]


def test_one_row_a_class_is_enough():
    model = KernelNaiveBayes().fit([[0.0, 5.0], [1.0, 5.0]], ["a", "b"])
    assert model.predict([[0.1, 5.0], [0.9, 5.0]]).tolist() == ["a", "b"]


def test_values_far_from_all_rows_give_finite_probabilities(rows):
    proba = KernelNaiveBayes().fit(*rows).predict_proba([[1e9, -1e9], [-1e300, 0.0]])
    assert np.isfinite(proba).all()
    assert_allclose(proba.sum(axis=1), 1)


def test_a_value_that_one_class_never_had_does_not_decide_alone():
    random = np.random.default_rng(0)
    y = np.repeat([0, 1], 100)
    X = random.normal(size=(200, 3)) + 4 * y[:, None] * [1, 1, 0]
    X[-1, 2] = 50  # one stray row
    plain, smoothed = (KernelNaiveBayes(smoothing=rows).fit(X, y).predict([[0, 0, 50]]) for rows in (0, 0.1))
    assert (plain.item(), smoothed.item()) == (1, 0)


def test_a_weight_of_two_is_the_row_twice(rows):
    X, y = rows
    weight = np.random.default_rng(2).integers(0, 3, len(y))
    weighted = KernelNaiveBayes().fit(X, y, sample_weight=weight)
    repeated = KernelNaiveBayes().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X))


def test_shifting_and_stretching_a_feature_changes_nothing(rows):
    X, y = rows
    plain = KernelNaiveBayes().fit(X, y).predict_proba(X)
    assert_allclose(KernelNaiveBayes().fit(1e6 * X - 3e6, y).predict_proba(1e6 * X - 3e6), plain, atol=1e-6)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"bandwidth": "scot"}, "bandwidth must be 'scott', 'silverman' or a finite number > 0, got 'scot'."),
        ({"bandwidth": 0}, "bandwidth must be 'scott', 'silverman' or a finite number > 0, got 0."),
        ({"smoothing": -1}, "smoothing must be a finite number >= 0, got -1."),
        ({"priors": [0.5, 0.6]}, "priors must hold 2 numbers >= 0 that sum to 1, got [0.5, 0.6]."),
    ],
)
def test_parameters_that_are_not_allowed_are_refused(parameters, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        KernelNaiveBayes(**parameters).fit([[0.0], [1.0]], [0, 1])
