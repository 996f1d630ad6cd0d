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
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from ec3learn.estimator import Features
from ec3learn.estimator.rows import check_weights, count_rows, take_rows

TREES = {"scale": None, "text": "shares", "missing": "keep"}
VALUES = np.arange(6.0).reshape(3, 2)
TABLES = {
    "array": VALUES,
    "list": VALUES.tolist(),
    "sparse": sparse.csr_array(VALUES),
    "pandas": pd.DataFrame(VALUES, columns=["a", "b"], index=[7, 8, 9]),
    "polars": pl.DataFrame(VALUES, schema=["a", "b"]),
    "arrow": pa.table({"a": VALUES[:, 0], "b": VALUES[:, 1]}),
}


@parametrize_with_checks([Features(), Features(scale="normal"), Features(**TREES, dense=True)])
def test_scikit_learn_accepts_the_transformer(estimator, check):
    check(estimator)


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
FRAMES = [pd.DataFrame, pl.DataFrame, pa.table]


def named(features, table):
    return dict(
        zip(
            features.get_feature_names_out(),
            np.asarray(features.transform(table)).T.tolist(),
            strict=True,
        )
    )


@pytest.mark.parametrize("frame", FRAMES)
def test_every_kind_of_column_becomes_numbers(frame):
    columns = dict(COLUMNS)
    if frame is pd.DataFrame:
        columns["since"] = pd.to_datetime(columns["since"])
    table = frame(columns)
    assert named(Features(scale=None).fit(table), table) == {
        "age": [20, 40, 40, 60],
        "member": [1, 0, 1, pytest.approx(2 / 3)],
        "since": [18262, 18264, 18263, 18263],
        "nothing": [0, 0, 0, 0],
        "age missing": [0, 0, 1, 0],
        "member missing": [0, 0, 0, 1],
        "since missing": [0, 0, 1, 0],
        "nothing missing": [1, 1, 1, 1],
        "job=cook": [1, 0, 1, 0],
        "job=clerk": [0, 0, 0, 1],
        "job missing": [0, 1, 0, 0],
    }


def test_pandas_and_polars_give_the_same_numbers():
    columns = {name: COLUMNS[name] for name in ("age", "job", "nothing")}
    assert_allclose(
        Features().fit_transform(pd.DataFrame(columns)),
        Features().fit_transform(pl.DataFrame(columns)),
    )


def test_arrays_of_objects_are_read_column_by_column():
    table = np.array([[1, "a"], [3, "b"], [None, "a"]], dtype=object)
    assert_allclose(Features().fit_transform(table), [[-1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0]])


def test_numbers_beside_text_in_a_list_stay_numbers():
    assert_allclose(Features().fit_transform([["a", 1.5], ["b", 2.5]]), [[-1, 1, 0], [1, 0, 1]])


@pytest.mark.parametrize(
    "make", [pd.Categorical, lambda values: pl.Series(map(str, values), dtype=pl.Categorical)]
)
def test_categories_are_text_even_if_they_are_numbers(make):
    frame = pd.DataFrame if make is pd.Categorical else pl.DataFrame
    assert Features().fit(frame({"code": make([1, 2, 1])})).text_columns_ == ["code"]


def test_pandas_nullable_numbers_are_numbers():
    table = pd.DataFrame(
        {
            "n": pd.array([1, None, 3], dtype="Int64"),
            "b": pd.array([True, None, False], dtype="boolean"),
        }
    )
    assert_allclose(
        Features(scale=None, missing="keep").fit_transform(table),
        [[1, 1], [np.nan, np.nan], [3, 0]],
    )


def test_columns_may_have_numbers_for_names():
    found = Features().fit_transform(pd.DataFrame({0: [1, 2], 1: ["a", "b"]}))
    assert_allclose(found, Features().fit_transform(pd.DataFrame({"n": [1, 2], "s": ["a", "b"]})))
    assert_allclose(
        np.sort(np.abs(found), axis=1), [[0, 1, 1]] * 2
    )  # a standard number, and a column per label


# ---- scales --------------------------------------------------------------------------------------


def test_standard_numbers_are_those_of_scikit_learn():
    X = np.random.default_rng(0).normal(3, 5, size=(50, 4))
    X[:, 1] = 0.1  # a constant that has no exact mean
    assert_allclose(Features().fit_transform(X), StandardScaler().fit_transform(X), atol=1e-12)


def test_normal_scores_are_quantiles_at_ranks():
    X = np.array([[1.0], [2.0], [2.0], [1000.0]])
    shares_below = np.array([0.5, 2, 2, 3.5]) / 4  # equal ones count half
    assert_allclose(Features(scale="normal").fit_transform(X)[:, 0], ndtri(shares_below))


def test_normal_scores_of_many_rows_are_nearly_normal():
    X = np.random.default_rng(0).lognormal(sigma=3, size=(5000, 1))
    scores = Features(scale="normal").fit_transform(X)[:, 0]
    assert_allclose(np.sort(scores), ndtri((np.arange(5000) + 0.5) / 5000), atol=0.1)
    assert_allclose(
        Features(scale="normal").fit(X).transform([[-5.0], [1e9]])[:, 0],
        [scores.min(), scores.max()],
    )


def test_without_scale_numbers_pass_through_untouched():
    X = np.random.default_rng(0).normal(size=(5, 2))
    assert Features(**TREES).fit_transform(X) is X


def test_float32_stays_float32():
    X = np.random.default_rng(0).normal(size=(5, 2)).astype(np.float32)
    assert all(
        Features(scale=scale).fit_transform(X).dtype == np.float32
        for scale in ("standard", "normal", None)
    )


def test_missing_numbers_are_kept_if_so_asked():
    X = np.array([[1.0, np.nan, np.nan], [np.nan, 2.0, np.nan], [3.0, 4.0, np.nan]])
    kept = Features(**TREES).fit_transform(X)
    assert_allclose(
        kept, np.column_stack([X[:, :2], np.zeros(3)])
    )  # no number at all is no number to miss


# ---- text ----------------------------------------------------------------------------------------


def test_rare_levels_share_a_column_and_new_ones_join_it():
    table = pd.DataFrame({"town": ["a", "a", "a", "b", "b", "c", "d"]})
    features = Features(max_levels=2).fit(table)
    assert features.get_feature_names_out().tolist() == ["town=a", "town=b", "town=other"]
    assert_allclose(
        features.transform(pd.DataFrame({"town": ["b", "d", "new", None]})),
        [[0, 1, 0], [0, 0, 1], [0, 0, 1], [0, 0, 0]],
    )


def test_a_new_level_is_in_no_column_where_all_had_one():
    features = Features().fit(pd.DataFrame({"town": ["a", "b"]}))
    assert_allclose(features.transform(pd.DataFrame({"town": ["new", None]})), 0)


def test_a_column_of_names_makes_no_more_columns_than_allowed():
    table = pl.DataFrame({"name": [f"person {i}" for i in range(1000)]})
    assert Features(max_levels=20).fit_transform(table).shape == (1000, 21)


def test_shares_start_from_the_overall_mix():
    table = pd.DataFrame({"town": ["a"] * 10 + ["b"] * 10})
    y = np.repeat([0, 1, 0], [8, 10, 2])  # 8 of 10 in town a are 0, 2 of 10 in b
    features = Features(**TREES).fit(table, y)
    assert features.get_feature_names_out().tolist() == ["town: share of 1"]
    # Ten rows of the overall mix, half and half, are added to each level; a new level is that mix.
    assert_allclose(
        features.transform(pd.DataFrame({"town": ["a", "b", "new"]})), [[7 / 20], [13 / 20], [0.5]]
    )


def test_of_many_classes_each_has_its_share():
    table = pd.DataFrame({"town": ["a", "b", "c"] * 4})
    shares = Features(**TREES, random_state=0).fit(table, ["x", "y", "z"] * 4).transform(table)
    assert shares.shape == (12, 3)
    assert_allclose(shares.sum(axis=1), 1)


def test_no_row_learns_its_own_class_through_its_level():
    # Each level stands once, so that its share would be the class itself.
    table = pd.DataFrame({"name": [f"person {i}" for i in range(400)]})
    y = np.random.default_rng(0).integers(0, 2, 400)
    model = make_pipeline(Features(**TREES, random_state=0), DecisionTreeClassifier(max_depth=1))
    assert model.fit(table, y).score(table, y) < 0.6


def test_one_seed_one_answer():
    table, y = (
        pd.DataFrame({"town": list("abcd") * 10}),
        np.random.default_rng(0).integers(0, 2, 40),
    )
    once, again, other = (
        Features(**TREES, random_state=seed).fit_transform(table, y) for seed in (1, 1, 2)
    )
    assert (once == again).all()
    assert (once != other).any()


# ---- sparse --------------------------------------------------------------------------------------


def test_sparse_matrices_stay_sparse_and_are_not_centred():
    X = sparse.csr_array(np.array([[0.0, 4.0], [2.0, 0.0], [1.0, 0.0]]))
    scaled = Features().fit_transform(X)
    assert sparse.issparse(scaled)
    assert_allclose(scaled.toarray(), [[0, 1], [1, 0], [0.5, 0]])


def test_narrow_sparse_matrices_are_made_dense_as_they_are():
    X = sparse.random_array((20, 200), density=0.1, rng=np.random.default_rng(0), format="csr")
    assert_allclose(Features(None, dense=True).fit_transform(X), X.toarray())


def test_wide_sparse_matrices_are_projected():
    X = sparse.random_array((300, 5000), density=0.01, rng=np.random.default_rng(0), format="csr")
    features = Features(dense=True, random_state=0)
    assert features.fit_transform(X).shape == (300, 100)
    assert len(features.get_feature_names_out()) == 100


# ---- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"scale": "minmax"}, "Unknown scale 'minmax'. Choose from: standard, normal, None."),
        ({"scale": "None"}, "Unknown scale 'None'."),
        ({"dense": "yes"}, "dense must be True or False, got 'yes'."),
        ({"text": "hash"}, "Unknown text 'hash'. Choose from: columns, shares."),
        ({"missing": "drop"}, "Unknown missing 'drop'. Choose from: fill, keep."),
        ({"max_levels": 0}, "max_levels must be an integer >= 1, got 0."),
    ],
)
def test_parameters_that_are_not_allowed_are_refused(parameters, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Features(**parameters).fit([[0.0], [1.0]])


def test_text_where_numbers_were_is_refused():
    features = Features().fit(pd.DataFrame({"age": [1, 2]}))
    with pytest.raises(
        ValueError, match=re.escape("X column 'age' must hold numbers as in fit, got 'old'.")
    ):
        features.transform(pd.DataFrame({"age": [None, "old"]}))


def test_numbers_that_were_text_are_levels():
    features = Features().fit(pd.DataFrame({"code": ["a", 1, 2]}, dtype=object))
    assert_allclose(features.transform(pd.DataFrame({"code": [1.0, 2.0]})), [[0, 1, 0], [0, 0, 1]])


def test_a_column_without_values_may_come_later():
    features = Features().fit(pd.DataFrame({"age": [1.0, 3.0], "job": ["cook", "clerk"]}))
    assert_allclose(
        features.transform(pd.DataFrame({"age": [None], "job": [None]}, dtype=object)), [[0, 0, 0]]
    )


def test_infinite_numbers_in_a_frame_are_refused():
    message = "X column 'age' must hold finite numbers or missing values, got an infinite one."
    with pytest.raises(ValueError, match=re.escape(message)):
        Features().fit(pd.DataFrame({"age": [1.0, np.inf]}))


def test_lists_in_a_column_are_refused():
    message = "X column 'tags' must hold numbers, text, dates or missing values, got a list."
    with pytest.raises(TypeError, match=re.escape(message)):
        Features().fit(pd.DataFrame({"tags": [["a"], ["b"]]}))


def test_shares_need_classes():
    message = (
        "y must hold the classes where text='shares', got None. Pass y, or take text='columns'."
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        Features(text="shares").fit(pd.DataFrame({"job": ["cook", "clerk"]}))


def test_an_empty_frame_is_refused():
    with pytest.raises(
        ValueError,
        match=re.escape("X must have at least one row and one column, got shape (0, 1)."),
    ):
        Features().fit(pd.DataFrame({"age": []}))


def test_a_sparse_matrix_after_a_dense_table_is_refused():
    with pytest.raises(
        TypeError, match=re.escape("X must be a dense table as in fit, got a sparse matrix.")
    ):
        Features().fit([[0.0], [1.0]]).transform(sparse.csr_array([[0.0]]))


# ---- rows ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", TABLES)
def test_rows_are_picked_by_position_and_the_table_keeps_its_type(kind):
    table = TABLES[kind]
    picked = take_rows(table, np.array([2, 0]))
    assert kind == "list" or type(picked) is type(table)
    if kind == "arrow":
        picked = picked.to_pandas()
    dense = picked.toarray() if kind == "sparse" else np.asarray(picked)
    assert dense.tolist() == [[4, 5], [0, 1]]
    assert (count_rows(table), count_rows(picked)) == (3, 2)


def test_a_column_with_an_index_is_picked_by_position():
    assert take_rows(pd.Series([1, 2, 3], index=[2, 1, 0]), np.array([0])).tolist() == [1]


@pytest.mark.parametrize(
    ("given", "weights"), [(None, [1, 1, 1]), (2, [2, 2, 2]), ([0, 1, 2], [0, 1, 2])]
)
def test_weights_are_one_number_per_row(given, weights):
    assert check_weights(given, VALUES).tolist() == weights


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1, 1], "sample_weight must hold one number per row, 3 in all, got shape (2,)."),
        (
            [[1], [1], [1]],
            "sample_weight must hold one number per row, 3 in all, got shape (3, 1).",
        ),
        ([1, -2, 1], "sample_weight must hold numbers >= 0, got -2.0."),
        ([0, 0, 0], "sample_weight must hold a number > 0, got zero for every row."),
        ([1, np.nan, 1], "Input sample_weight contains NaN."),
    ],
)
def test_weights_that_make_no_sense_are_refused(given, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        check_weights(given, VALUES)
