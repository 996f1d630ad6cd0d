"""The pools: models by name, ready for raw tables."""

import pickle
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LogisticRegression

from ec3learn import EC3Classifier
from ec3learn.estimator import (
    classifier_pool,
    clusterer_pool,
    pools,
)
from ec3learn.estimator.models import classifiers, convolution

HAS_CNN = all(convolution.find_spec(name) for name in convolution.NEEDS)
POOLS = {"default": (), "paper": () if HAS_CNN else ("cnn",)}
CLASSIFIERS = [
    pytest.param(pool, name, id=f"{pool}-{name}")
    for pool, missing in POOLS.items()
    for name, _ in classifier_pool(pool, without=missing)
]
CLUSTERINGS = [
    pytest.param(pool, name, id=f"{pool}-{name}")
    for pool in POOLS
    for name, _ in clusterer_pool(pool)
]


def classifier(pool, name, **options):
    return dict(classifier_pool(pool, without=POOLS[pool], random_state=0, **options))[name]


def clusterer(pool, name, **options):
    return dict(clusterer_pool(pool, random_state=0, **options))[name]


@pytest.fixture(scope="module")
def columns():
    """Sixty people: numbers, text, categories and holes; who is older than 40 or a clerk says yes."""
    random = np.random.default_rng(0)
    age, job = random.uniform(20, 60, 60), random.choice(["cook", "clerk", "smith"], 60)
    said = np.where((age > 40) | (job == "clerk"), "yes", "no")
    table = {
        "age": np.where(random.random(60) < 0.1, np.nan, age),
        "job": [
            None if hole else str(level)
            for level, hole in zip(job, random.random(60) < 0.1, strict=True)
        ],
        "name": [f"person {i}" for i in range(60)],
        "member": random.random(60) < 0.5,
        "nothing": [None] * 60,
        "same": [1] * 60,
    }
    return table, said


@pytest.fixture(scope="module", params=["pandas", "polars"])
def raw(request, columns):
    table, said = columns
    return (pd.DataFrame if request.param == "pandas" else pl.DataFrame)(table), said


@pytest.fixture(scope="module")
def numbers():
    random = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 20)
    return random.normal(size=(60, 4)) + 4 * (y[:, None] == ["a", "b", "c", "d"]), y


# ---- classifiers ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("pool", "name"), CLASSIFIERS)
def test_every_classifier_learns_from_a_raw_table(raw, pool, name):
    table, said = raw
    model = classifier(pool, name).fit(table[:50], said[:50])
    proba = model.predict_proba(table[50:])
    assert_allclose(proba.sum(axis=1), 1)
    assert set(model.predict(table[50:])) <= {"yes", "no"}
    assert is_classifier(model)


@pytest.mark.parametrize(("pool", "name"), CLASSIFIERS)
def test_every_classifier_learns_from_a_sparse_matrix(numbers, pool, name):
    X, y = numbers
    X = sparse.csr_array(np.where(X > 2, X, 0))
    assert classifier(pool, name).fit(X, y).score(X, y) > 0.7


@pytest.mark.parametrize(("pool", "name"), CLASSIFIERS)
def test_one_row_a_class_is_enough_for_every_classifier(pool, name):
    model = classifier(pool, name).fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"])
    assert model.predict_proba([[0.0, 1.0]]).shape == (1, 2)


@pytest.mark.parametrize(("pool", "name"), CLASSIFIERS)
def test_one_seed_one_answer(numbers, pool, name):
    X, y = numbers
    once, again = (classifier(pool, name).fit(X, y).predict_proba(X) for _ in range(2))
    assert_allclose(once, again)


@pytest.mark.parametrize("library", ["catboost", "lightgbm", "xgboost"])
def test_installed_boosting_joins_the_strong_pool(library, numbers):
    pytest.importorskip(library)
    X, y = numbers
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.05, np.nan, X)
    model = dict(classifier_pool("strong", random_state=0))[library]
    few = np.flatnonzero(y != "b")  # a fold may lack a class
    once, again = (clone(model).fit(X[few], y[few]).predict_proba(X) for _ in range(2))
    assert (once == again).all()
    assert (model.fit(X, y).predict(X) == y).mean() > 0.95


def test_the_strong_pool_says_what_it_takes(numbers, monkeypatch):
    monkeypatch.setattr(
        pools, "find_spec", lambda library: library if library == "xgboost" else None
    )
    monkeypatch.setattr(pools, "installed_classifier", lambda library: LogisticRegression())
    monkeypatch.setattr(pools, "_default", list)
    model = EC3Classifier("strong", [], random_state=0)
    assert [name for name, _ in classifier_pool("strong")] == ["xgboost"]
    taken = "The pool 'strong' takes xgboost; not installed: catboost, lightgbm, tabicl, tabpfn."
    assert model.fit(*numbers).notes_[0].text == taken
    monkeypatch.setattr(pools, "find_spec", lambda library: None)
    with pytest.raises(
        ImportError,
        match=re.escape(
            "needs one or more of catboost, lightgbm, xgboost, tabicl, tabpfn: pip install"
        ),
    ):
        classifier_pool("strong")


def test_boosting_is_left_out_where_classes_are_too_many():
    y = np.arange(240) % 120
    model = EC3Classifier("fast", [], consensus="soft-vote", cv=2, random_state=0).fit(
        np.stack([y, -y], axis=1) + 0.0, y
    )
    assert list(model.estimators_) == ["extra", "lr", "nb"]
    assert (
        str(model.notes_[0])
        == "Left out of the pool, because they take too long with 120 classes: boosting."
    )


def test_a_library_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setattr("ec3learn._checks.find_spec", lambda library: None)
    with pytest.raises(ImportError, match="This classifier needs xgboost: pip install xgboost"):
        classifiers.installed_classifier("xgboost")


def test_any_library_with_the_usual_interface_will_do(monkeypatch):
    made = SimpleNamespace(
        TabICLClassifier=lambda random_state: LogisticRegression(random_state=random_state)
    )
    monkeypatch.setattr("ec3learn._checks.find_spec", lambda library: library)
    monkeypatch.setattr(classifiers, "import_module", {"tabicl": made}.__getitem__)
    model = classifiers.installed_classifier("tabicl").fit([[0.0], [1.0]], ["a", "b"])
    assert model.predict([[5.0]]) == "b"


def test_every_model_of_a_pool_gets_a_seed():
    models = dict(classifier_pool("default", random_state=3))
    assert models["forest"]["model"].estimator.random_state is not None
    assert dict(classifier_pool("default"))["forest"]["model"].estimator.random_state is None


def test_a_model_of_a_pool_can_be_cloned_and_pickled(numbers):
    X, y = numbers
    model = clone(classifier("default", "lr")).fit(X, y)
    assert_allclose(pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X))


# ---- clusterings ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("pool", "name"), CLUSTERINGS)
def test_every_clustering_takes_raw_tables_and_new_rows(raw, pool, name):
    table, _ = raw
    model = clusterer(pool, name, n_classes=2)
    labels = model.fit_predict(table[:50])
    assert (labels == model["model"].labels_).all()
    assert set(model.predict(table[50:])) <= {-1, *labels}


@pytest.mark.parametrize(("pool", "name"), CLUSTERINGS)
def test_every_clustering_takes_sparse_matrices(numbers, pool, name):
    X = sparse.csr_array(np.where(numbers[0] > 2, numbers[0], 0))
    assert len(clusterer(pool, name, n_classes=2).fit_predict(X)) == 60


@pytest.mark.parametrize(("pool", "name"), CLUSTERINGS)
def test_every_clustering_takes_a_handful_of_rows_and_equal_ones(pool, name):
    assert (
        len(clusterer(pool, name, n_classes=3).fit_predict([[0.0, 1.0], [1.0, 0.0], [5.0, 5.0]]))
        == 3
    )
    assert (
        len(
            clusterer(pool, name, n_classes=3).fit_predict(
                np.repeat([[0.0, 1.0], [1.0, 0.0]], 20, axis=0)
            )
        )
        == 40
    )


def test_the_numbers_of_clusters_follow_the_number_of_classes():
    assert clusterer("default", "kmeans_2", n_classes=7)["model"].clusterer.n_clusters == 14


# ---- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        (
            lambda: classifier_pool("papers"),
            ValueError,
            "Unknown pool of classifiers 'papers'. Did you mean 'paper'?",
        ),
        (
            lambda: clusterer_pool("papers"),
            ValueError,
            "Unknown pool of clusterings 'papers'. Did you mean 'paper'?",
        ),
        (
            lambda: classifier_pool("paper", without=["cnn", "rf"]),
            ValueError,
            "without must be a list of names of models of the pool (dt, nb, knn, lr, svm, sgd, cnn), got 'rf'.",
        ),
    ],
)
def test_what_is_not_there_is_named(act, error, message):
    with pytest.raises(error, match=re.escape(message)):
        act()
