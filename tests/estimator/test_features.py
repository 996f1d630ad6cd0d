"""Features: a raw table becomes numbers."""

import datetime
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.special import ndtri
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from ec3learn.estimator import Features
from ec3learn.estimator.rows import take_rows

TREES = {"scale": None, "text": "codes"}
VALUES = np.arange(6.0).reshape(3, 2)
TABLES = {
    "array": VALUES,
    "sparse": sparse.csr_array(VALUES),
    "pandas": pd.DataFrame(VALUES, columns=["a", "b"], index=[7, 8, 9]),
    "polars": pl.DataFrame(VALUES, schema=["a", "b"]),
    "arrow": pa.table({"a": VALUES[:, 0], "b": VALUES[:, 1]}),
}


def test_scikit_learn_accepts_the_transformer():
    check_estimator(Features(**TREES, dense=True), on_skip=None)


COLUMNS = {
    "age": [20.0, 40.0, None, 60.0],
    "job": ["cook", None, "cook", "clerk"],
    "member": [True, False, True, None],
    "since": [
        datetime.date(2020, 1, 1),
        datetime.date(2020, 1, 3),
        None,
        datetime.date(2020, 1, 2),
    ],
    "nothing": [None, None, None, None],
}


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_every_kind_of_column_becomes_numbers(frame):
    columns = dict(COLUMNS)
    if frame is pd.DataFrame:
        columns["since"] = pd.to_datetime(columns["since"])
    day, nan = 18262, np.nan  # days since 1970
    numbers = [[20, 1, day], [40, 0, day + 2], [nan, 1, nan], [60, nan, day + 1]]
    levels = [[0, 1, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]]  # clerk, cook, missing
    assert_allclose(
        Features(scale=None).fit_transform(frame(columns)), np.hstack([numbers, levels])
    )
    scaled = Features().fit_transform(frame(columns))
    assert_allclose(scaled[2, :6], [0, scaled[0, 1], 0, 1, 0, 1])  # 0, and marks of missing
    assert_allclose(scaled[:, 6:], levels)


def test_arrays_and_lists_are_read_column_by_column():
    table = np.array([[1, "a"], [3, "b"], [None, "a"]], dtype=object)
    assert_allclose(Features().fit_transform(table), [[-1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0]])
    assert_allclose(Features().fit_transform([["a", 1.5], ["b", 2.5]]), [[-1, 1, 0], [1, 0, 1]])


@pytest.mark.parametrize(
    "column", [pd.Categorical([1, 2, 1]), pl.Series(["1", "2", "1"], dtype=pl.Categorical)]
)
def test_categories_are_text_even_if_they_are_numbers(column):
    frame = pd.DataFrame if isinstance(column, pd.Categorical) else pl.DataFrame
    assert_allclose(Features().fit_transform(frame({"code": column})), [[1, 0], [0, 1], [1, 0]])


def test_pandas_nullable_numbers_are_numbers():
    numbers = pd.array([1, None, 3], dtype="Int64")
    flags = pd.array([True, None, False], dtype="boolean")
    table = pd.DataFrame({"n": numbers, "b": flags})
    expected = [[1, 1], [np.nan, np.nan], [3, 0]]
    assert_allclose(Features(scale=None).fit_transform(table), expected)


def test_standard_numbers_are_those_of_scikit_learn():
    X = np.random.default_rng(0).normal(5, 3, size=(50, 2))
    assert_allclose(Features().fit_transform(X), StandardScaler().fit_transform(X))


def test_normal_scores_are_quantiles_at_ranks():
    X = np.array([[1.0], [2.0], [2.0], [1000.0]])
    shares_below = np.array([0.5, 2, 2, 3.5]) / 4  # equal ones count half
    assert_allclose(Features(scale="normal").fit_transform(X)[:, 0], ndtri(shares_below))


def test_normal_scores_of_many_rows_are_nearly_normal():
    X = np.random.default_rng(0).lognormal(sigma=3, size=(5000, 1))
    features = Features(scale="normal")
    scores = features.fit_transform(X)[:, 0]
    assert_allclose(np.sort(scores), ndtri((np.arange(5000) + 0.5) / 5000), atol=0.1)
    beyond = features.transform([[-5.0], [1e9]])[:, 0]
    assert_allclose(beyond, [scores.min(), scores.max()])


def test_float32_stays_float32():
    X = np.random.default_rng(0).normal(size=(5, 2)).astype(np.float32)
    for scale in ("standard", "normal", None):
        assert Features(scale=scale).fit_transform(X).dtype == np.float32


# ---- text ----------------------------------------------------------------------------------------


def test_rare_levels_share_a_column_and_new_ones_join_it():
    common = [f"town {i}" for i in range(30)]
    features = Features().fit(pd.DataFrame({"town": common * 2 + ["hamlet", "farm"]}))
    found = features.transform(pd.DataFrame({"town": ["town 3", "farm", "new", None]}))
    assert found.shape == (4, 31)
    assert [row.nonzero()[0].tolist() for row in found] == [[23], [30], [30], [30]]


def test_a_new_level_is_in_no_column_where_all_had_one():
    features = Features().fit(pd.DataFrame({"town": ["a", "b"]}))
    assert_allclose(features.transform(pd.DataFrame({"town": ["new", None]})), 0)


def test_trees_get_numbers_of_levels():
    features = Features(**TREES).fit(pd.DataFrame({"town": ["b", "a", None, "b"]}))
    new = pd.DataFrame({"town": ["a", "b", None, "new"]})
    assert_allclose(features.transform(new), [[0], [1], [2], [-1]])


# ---- sparse --------------------------------------------------------------------------------------


def test_sparse_matrices_stay_sparse_and_are_not_centred():
    X = sparse.csr_array(np.array([[0.0, 4.0], [2.0, 0.0], [1.0, 0.0]]))
    scaled = Features().fit_transform(X)
    assert sparse.issparse(scaled)
    assert_allclose(scaled.toarray(), [[0, 1], [1, 0], [0.5, 0]])


@pytest.mark.parametrize(("wide", "n_columns"), [(80, 80), (5000, 100)])
def test_sparse_matrices_are_made_dense_the_wide_ones_by_a_projection(wide, n_columns):
    X = sparse.random_array((120, wide), density=0.1, rng=np.random.default_rng(0), format="csr")
    found = Features(None, dense=True, random_state=0).fit_transform(X)
    assert found.shape == (120, n_columns)
    assert wide > 80 or (found == X.toarray()).all()


# ---- errors --------------------------------------------------------------------------------------


def test_a_column_without_values_may_come_later():
    features = Features().fit(pd.DataFrame({"age": [1.0, 3.0], "job": ["cook", "clerk"]}))
    later = pd.DataFrame({"age": [None], "job": [None]}, dtype=object)
    assert_allclose(features.transform(later), [[0, 0, 0]])


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: Features("minmax").fit([[0.0]]), "Unknown scale 'minmax'."),
        (lambda: Features(text="hash").fit([[0.0]]), "Unknown text 'hash'."),
        (lambda: Features().fit([[1], [2]]).transform([["old"], [1]]), "convert string to float"),
        (lambda: Features().fit(pd.DataFrame({"age": [1, np.inf]})), "X contains infinity"),
        (lambda: Features().fit(pd.DataFrame({"age": []})), "X must have rows and columns"),
    ],
)
def test_what_makes_no_sense_is_refused(act, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        act()


# ---- rows ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", TABLES)
def test_rows_are_picked_by_position_and_the_table_keeps_its_type(kind):
    picked = take_rows(TABLES[kind], np.array([2, 0]))
    assert isinstance(picked, type(TABLES[kind]))
    dense = picked.toarray() if kind == "sparse" else np.asarray(picked)
    assert dense.tolist() == [[4, 5], [0, 1]]


def test_a_column_with_an_index_is_picked_by_position():
    assert take_rows(pd.Series([5, 6], index=[1, 0]), np.array([0])).tolist() == [5]
