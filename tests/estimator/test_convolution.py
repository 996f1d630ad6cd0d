"""ConvolutionalNetwork: what the extra `cnn` brings, and the sentence without it."""

import pickle
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from ec3learn.estimator import ConvolutionalNetwork, classifier_pool, grids
from ec3learn.estimator.models import convolution

needs_torch = pytest.mark.skipif(
    any(convolution.find_spec(name) is None for name in convolution.NEEDS), reason="torch and skorch are not installed"
)
MESSAGE = (
    "The convolutional network needs torch and skorch: pip install 'ec3learn[cnn]'. "
    "Or leave it out: classifier_pool('paper', without=['cnn'])."
)


@pytest.fixture
def without_torch(monkeypatch):
    monkeypatch.setattr(convolution, "find_spec", lambda name: None)


@pytest.mark.parametrize("act", [lambda: classifier_pool("paper"), lambda: ConvolutionalNetwork().fit([[0.0], [1.0]], [0, 1])])
def test_without_the_extra_a_sentence_says_so(without_torch, act):
    with pytest.raises(ModuleNotFoundError, match=re.escape(MESSAGE)):
        act()


def test_the_other_classifiers_do_without_the_extra(without_torch):
    assert [name for name, _ in classifier_pool("paper", without=["cnn"])] == ["dt", "nb", "knn", "lr", "svm", "sgd"]
    assert "cnn" in grids("paper")


@needs_torch
@parametrize_with_checks([ConvolutionalNetwork(max_epochs=10, lr=0.01, batch_size=32, random_state=0)])
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


@pytest.fixture
def flowers():
    X, y = load_iris(return_X_y=True)
    return scale(X), np.array(["setosa", "versicolor", "virginica"])[y]


@needs_torch
def test_it_learns_to_tell_flowers_apart(flowers):
    X, y = flowers
    assert ConvolutionalNetwork(max_epochs=50, batch_size=16, random_state=0).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9


@needs_torch
def test_one_seed_one_answer_and_nobody_elses_seed_is_touched(flowers):
    import torch

    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    once, again = (ConvolutionalNetwork(max_epochs=2, random_state=0).fit(*flowers).predict_proba(flowers[0]) for _ in range(2))
    assert_allclose(once, again)
    assert (torch.random.get_rng_state() == before).all()


@needs_torch
def test_a_pickled_network_answers_alike(flowers):
    model = ConvolutionalNetwork(max_epochs=2, random_state=0).fit(*flowers)
    assert_allclose(pickle.loads(pickle.dumps(model)).predict_proba(flowers[0]), model.predict_proba(flowers[0]))


@needs_torch
def test_parameters_that_are_not_allowed_are_refused(flowers):
    with pytest.raises(ValueError, match=re.escape("n_filters must be an integer >= 1, got 0.")):
        ConvolutionalNetwork(n_filters=0).fit(*flowers)
