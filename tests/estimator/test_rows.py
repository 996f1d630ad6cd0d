"""Rows of any table are counted, picked and weighted alike."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from ec3learn.estimator.rows import check_weights, count_rows, take_rows

VALUES = np.arange(6.0).reshape(3, 2)
TABLES = {
    "array": VALUES,
    "list": VALUES.tolist(),
    "sparse": sparse.csr_array(VALUES),
    "pandas": pd.DataFrame(VALUES, columns=["a", "b"], index=[7, 8, 9]),
    "polars": pl.DataFrame(VALUES, schema=["a", "b"]),
    "arrow": pa.table({"a": VALUES[:, 0], "b": VALUES[:, 1]}),
}


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


@pytest.mark.parametrize(("given", "weights"), [(None, [1, 1, 1]), (2, [2, 2, 2]), ([0, 1, 2], [0, 1, 2])])
def test_weights_are_one_number_per_row(given, weights):
    assert check_weights(given, VALUES).tolist() == weights


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1, 1], "sample_weight must hold one number per row, 3 in all, got shape (2,)."),
        ([[1], [1], [1]], "sample_weight must hold one number per row, 3 in all, got shape (3, 1)."),
        ([1, -2, 1], "sample_weight must hold numbers >= 0, got -2.0."),
        ([0, 0, 0], "sample_weight must hold a number > 0, got zero for every row."),
        ([1, np.nan, 1], "Input sample_weight contains NaN."),
    ],
)
def test_weights_that_make_no_sense_are_refused(given, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        check_weights(given, VALUES)
