"""The pools: models by name, ready for raw tables."""

import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone, is_classifier

from ec3learn.estimator import classifier_pool, clusterer_pool

CLASSIFIERS = [
    pytest.param(pool, name, id=f"{pool}-{name}")
    for pool in ("default", "paper")
    for name, _ in classifier_pool(pool)
]
CLUSTERINGS = [
    pytest.param(pool, name, id=f"{pool}-{name}")
    for pool in ("default", "paper")
    for name, _ in clusterer_pool(pool)
]


def classifier(pool, name, **options):
    if name == "cnn":
        pytest.importorskip("torch")
        pytest.importorskip("skorch")
    return dict(classifier_pool(pool, random_state=0, **options))[name]


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


@pytest.fixture(scope="module")
def raw(columns):
    table, said = columns
    return pd.DataFrame(table), said


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


def test_a_polars_table_is_read_as_one_of_pandas(columns, raw):
    (table, said), model = columns, classifier("default", "lr")
    expected = clone(model).fit(*raw).predict_proba(raw[0])
    assert_allclose(model.fit(pl.DataFrame(table), said).predict_proba(raw[0]), expected)


@pytest.mark.parametrize(("pool", "name"), CLASSIFIERS[:7])  # the default pool
def test_every_classifier_learns_from_a_sparse_matrix_and_follows_its_seed(numbers, pool, name):
    X, y = numbers
    X = sparse.csr_array(np.where(X > 2, X, 0))
    once, again = (classifier(pool, name).fit(X, y) for _ in range(2))
    assert once.score(X, y) > 0.7
    assert_allclose(once.predict_proba(X), again.predict_proba(X))


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


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
@pytest.mark.parametrize(("pool", "name"), CLUSTERINGS[5:])  # some of each pool
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
    ],
)
def test_what_is_not_there_is_named(act, error, message):
    with pytest.raises(error, match=re.escape(message)):
        act()
