"""Classifiers that do not stumble over a handful of rows, and the network of the extra `cnn`."""

import pickle
import re
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import gaussian_kde
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import check_estimator

from ec3learn.estimator import KernelNaiveBayes, classifier_pool
from ec3learn.estimator.models.classifiers import Sized, leaves_and_rounds, neighbours, trees
from ec3learn.estimator.models.convolution import ConvolutionalNetwork

KNN = Sized(KNeighborsClassifier(10, weights="distance"), neighbours)
FEW = [dict(classifier_pool("paper", random_state=0))[n] for n in ("knn", "svm")]
FEW += [dict(classifier_pool(random_state=0))["mlp"]]


@pytest.mark.parametrize("model", FEW)
def test_one_row_a_class_is_enough(model):
    rows = [[0.0, 0.0], [5.0, 5.0], [0.0, 9.0]]
    proba = model.fit(rows, ["a", "b", "c"]).predict_proba(rows[:2])
    assert proba.shape == (2, 3)
    assert_allclose(proba.sum(axis=1), 1)


@pytest.fixture
def rows():
    return make_classification(300, 6, random_state=0)


def test_with_enough_rows_neighbours_are_those_of_scikit_learn(rows):
    expected = KNeighborsClassifier(10, weights="distance").fit(*rows).predict_proba(rows[0])
    assert_allclose(KNN.fit(*rows).predict_proba(rows[0]), expected)


def test_a_calibrated_machine_says_how_sure_it_is(rows):
    X, y = rows
    wrong = np.random.default_rng(0).random(len(y)) < 0.2  # nobody can be surer than 80 %
    flipped = np.where(wrong, 1 - y, y)
    proba = FEW[1].fit(X, flipped).predict_proba(X)
    right = (proba.argmax(axis=1) == flipped).mean()
    assert proba.max(axis=1).mean() == pytest.approx(right, abs=0.08)


def test_few_rows_get_half_the_rounds_at_twice_the_rate_and_the_settings_stay(rows):
    boosting = HistGradientBoostingClassifier(random_state=0)
    sized = Sized(boosting, leaves_and_rounds).fit(rows[0][:100], rows[1][:100]).model_
    assert (sized.n_iter_, sized.learning_rate, sized.min_samples_leaf) == (50, 0.2, 5)
    assert (boosting.max_iter, boosting.learning_rate, boosting.min_samples_leaf) == (100, 0.1, 20)


def test_many_classes_get_fewer_rounds_of_boosting():
    sized = Sized(HistGradientBoostingClassifier(), leaves_and_rounds)
    assert leaves_and_rounds(sized, np.full(500, 10))["max_iter"] == 20  # of 500 trees each


@pytest.mark.parametrize(("n_rows", "n_rounds", "rate"), [(100, 25, 0.4), (600, 50, 0.2)])
def test_a_light_one_has_half_the_rounds_at_twice_the_rate(n_rows, n_rounds, rate):
    light = Sized(HistGradientBoostingClassifier(), leaves_and_rounds, light=True)
    settings = leaves_and_rounds(light, np.full(2, n_rows // 2))
    assert (settings["max_iter"], settings["learning_rate"]) == (n_rounds, rate)


@pytest.mark.parametrize(
    ("n_rows", "n_classes", "size"),
    [
        (100, 2, (100, 1)),
        (15_000, 2, (200, 1)),
        (20_000, 26, (200, 3)),
    ],
)
def test_forests_are_sized_to_the_table(n_rows, n_classes, size):
    forest = Sized(RandomForestClassifier(200), trees)
    settings = trees(forest, np.bincount(np.arange(n_rows) % n_classes))
    assert (settings["n_estimators"], settings["min_samples_leaf"]) == size


# ---- ConvolutionalNetwork: what the extra cnn brings, and the sentence without it ----------------


def test_without_the_extra_a_sentence_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    words = "The convolutional network needs torch: pip install 'ec3learn[cnn]'."
    with pytest.raises(ModuleNotFoundError, match=re.escape(words)):
        ConvolutionalNetwork().fit(np.eye(2), [0, 1])


@pytest.fixture
def flowers():
    pytest.importorskip("torch")
    pytest.importorskip("skorch")
    X, y = load_iris(return_X_y=True)
    return scale(X), np.array(["setosa", "versicolor", "virginica"])[y]


def test_it_learns_to_tell_flowers_apart(flowers):
    X, y = flowers
    model = ConvolutionalNetwork(max_epochs=200, lr=0.01, random_state=0).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.9


def test_one_seed_one_answer_and_nobody_elses_seed_is_touched(flowers):
    import torch

    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    once, again = (
        ConvolutionalNetwork(max_epochs=2, random_state=0).fit(*flowers).predict_proba(flowers[0])
        for _ in range(2)
    )
    assert_allclose(once, again)
    assert (torch.random.get_rng_state() == before).all()


def test_a_pickled_network_answers_alike(flowers):
    model = ConvolutionalNetwork(max_epochs=2, random_state=0).fit(*flowers)
    assert_allclose(
        pickle.loads(pickle.dumps(model)).predict_proba(flowers[0]), model.predict_proba(flowers[0])
    )


# ---- naive Bayes with kernel density estimates ---------------------------------------------------


def test_scikit_learn_accepts_naive_bayes():
    check_estimator(KernelNaiveBayes(), on_skip=None)


@pytest.fixture
def table():
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
            estimate = gaussian_kde(
                own, bw_method=width / own.std(ddof=1)
            )  # scipy's unit is the other deviation
            window = np.ptp(X[:, j]) / (len(np.unique(X[:, j])) - 1)
            logs[:, c] += np.log(
                [estimate.integrate_box_1d(x - window / 2, x + window / 2) for x in new[:, j]]
            )
    proba = np.exp(logs - logs.max(axis=1, keepdims=True))
    return proba / proba.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(("bandwidth", "multiple"), [("scott", None), (0.4, 0.4)])
def test_it_agrees_with_estimates_of_scipy(table, bandwidth, multiple):
    X, y = table
    new = np.random.default_rng(1).uniform(-2, 4, size=(50, 2))
    proba = KernelNaiveBayes(bandwidth, smoothing=0).fit(X, y).predict_proba(new)
    assert_allclose(proba, direct(X, y, new, multiple), atol=2e-3)


def test_shares_of_rows_are_the_answer_where_values_repeat():
    # 3 of 4 rows of class 0 are 0, and 1 of 4 of class 1: the odds at 0 are 3 to 1.
    X = np.repeat([[0.0], [1.0], [0.0], [1.0]], [300, 100, 100, 300], axis=0)
    y = np.repeat([0, 1], 400)
    proba = KernelNaiveBayes(bandwidth=0.01, smoothing=0).fit(X, y).predict_proba([[0.0], [1.0]])
    assert_allclose(proba, [[0.75, 0.25], [0.25, 0.75]], atol=1e-3)


def test_a_value_missing_leaves_the_other_features_to_speak(table):
    X, y = table
    both = KernelNaiveBayes().fit(X, y)
    first = KernelNaiveBayes().fit(X[:, :1], y)
    new = np.array([[0.5, np.nan], [2.0, np.nan]])
    assert_allclose(both.predict_proba(new), first.predict_proba(new[:, :1]))


def test_a_feature_missing_in_a_whole_class_is_no_error():
    model = KernelNaiveBayes().fit(
        [[0.0, np.nan], [0.1, np.nan], [3.0, 1.0], [3.1, 2.0]], [0, 0, 1, 1]
    )
    assert model.predict([[0.0, np.nan], [3.0, 1.5]]).tolist() == [0, 1]


def test_a_constant_feature_says_nothing(table):
    X, y = table
    constant = np.column_stack([X, np.full(len(X), 7.0)])
    model = KernelNaiveBayes().fit(constant, y)
    new = np.column_stack([X, np.full(len(X), 9.0)])
    assert_allclose(model.predict_proba(new), KernelNaiveBayes().fit(X, y).predict_proba(X))


@pytest.mark.parametrize("smoothing", [0, 0.1])
def test_a_feature_that_is_constant_in_one_class_is_no_error(smoothing):
    X = np.array([[0.0], [0.0], [0.0], [1.0], [2.0], [3.0]])
    model = KernelNaiveBayes(smoothing=smoothing).fit(X, [0, 0, 0, 1, 1, 1])
    assert model.predict([[0.0], [2.5]]).tolist() == [0, 1]


def test_one_row_a_class_is_enough_for_naive_bayes():
    model = KernelNaiveBayes().fit([[0.0, 5.0], [1.0, 5.0]], ["a", "b"])
    assert model.predict([[0.1, 5.0], [0.9, 5.0]]).tolist() == ["a", "b"]


def test_values_far_from_all_rows_give_finite_probabilities(table):
    proba = KernelNaiveBayes().fit(*table).predict_proba([[1e9, -1e9], [-1e300, 0.0]])
    assert np.isfinite(proba).all()
    assert_allclose(proba.sum(axis=1), 1)


def test_a_value_that_one_class_never_had_does_not_decide_alone():
    random = np.random.default_rng(0)
    y = np.repeat([0, 1], 100)
    X = random.normal(size=(200, 3)) + 4 * y[:, None] * [1, 1, 0]
    X[-1, 2] = 50  # one stray row
    plain, smoothed = (
        KernelNaiveBayes(smoothing=rows).fit(X, y).predict([[0, 0, 50]]) for rows in (0, 0.1)
    )
    assert (plain.item(), smoothed.item()) == (1, 0)


def test_a_weight_of_two_is_the_row_twice(table):
    X, y = table
    weight = np.random.default_rng(2).integers(0, 3, len(y))
    weighted = KernelNaiveBayes().fit(X, y, sample_weight=weight)
    repeated = KernelNaiveBayes().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X))


def test_shifting_and_stretching_a_feature_changes_nothing(table):
    X, y = table
    plain = KernelNaiveBayes().fit(X, y).predict_proba(X)
    assert_allclose(
        KernelNaiveBayes().fit(1e6 * X - 3e6, y).predict_proba(1e6 * X - 3e6), plain, atol=1e-6
    )
