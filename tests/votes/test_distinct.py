"""Distinct rows: which rows are equal, which object has which, and how many there are."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from ec3learn.votes import distinct
from ec3learn.votes.distinct import distinct_entries, distinct_rows, expand_rows
from ec3learn.votes.reading import Column


def columns_of(table, low=0):
    return [
        Column(f"m{j}", column, low, np.arange(low, int(column.max()) + 1))
        for j, column in enumerate(np.asarray(table).T)
    ]


def rebuilt(columns):
    """The table put together again from its distinct rows, and how many objects each row has."""
    codes, index, counts = distinct_rows(columns)
    assert_array_equal(np.bincount(index, minlength=len(counts)), counts)
    rows = np.stack([code.astype(np.int64) for code in codes], axis=1)
    assert len(np.unique(rows, axis=0)) == len(rows)
    return rows[index]


@pytest.mark.parametrize(
    ("n_models", "n_labels", "n_objects"),
    [
        (1, 2, 1),
        (2, 3, 50),
        (3, 300, 1000),
        (12, 2, 5000),
        (30, 3, 200),
        (70, 5, 300),
        (6, 1000, 400),
    ],
)
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int64, np.uint64])
def test_a_table_is_its_distinct_rows_spread_out(n_models, n_labels, n_objects, dtype):
    rng = np.random.default_rng(0)
    some = rng.integers(
        min(n_labels, np.iinfo(dtype).max), size=(max(1, n_objects // 4), n_models)
    ).astype(dtype)
    table = some[rng.integers(len(some), size=n_objects)]
    assert_array_equal(rebuilt(columns_of(table)), table)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_labels_may_start_below_zero(dtype):
    table = np.random.default_rng(0).integers(-5, 3, size=(500, 3)).astype(dtype)
    assert_array_equal(rebuilt(columns_of(table, low=-5)), table.astype(np.int64) + 5)


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_layout_in_memory_does_not_matter(order):
    table = np.asarray(np.random.default_rng(0).integers(3, size=(400, 4)), order=order)
    assert_array_equal(rebuilt(columns_of(table)), table)


def test_rows_that_repeat_at_regular_distances_are_found():
    table = np.random.default_rng(0).integers(200, size=(50_000, 4), dtype=np.int16)
    packed = distinct_rows(columns_of(np.tile(table, (20, 1))))
    assert packed is not None
    assert len(packed[2]) == len(np.unique(table, axis=0))


def test_hardly_any_repeated_row_is_told_by_none():
    table = np.random.default_rng(0).integers(1000, size=(30_000, 4))
    assert distinct_rows(columns_of(table)) is None


def test_no_repeated_row_in_a_small_wide_table_is_told_by_none():
    table = np.random.default_rng(0).integers(1000, size=(50, 4))
    assert distinct_rows(columns_of(table)) is None


def test_repeats_are_found_even_where_the_sample_is_small():
    rng = np.random.default_rng(0)
    some = rng.integers(1000, size=(5000, 4))
    table = some[rng.integers(5000, size=60_000)]
    assert_array_equal(rebuilt(columns_of(table)), table)


def test_spread_is_plain_indexing():
    rng = np.random.default_rng(0)
    values, index = rng.random((10, 3)), rng.integers(10, size=200_000).astype(np.uint8)
    assert_array_equal(expand_rows(values, index), values[index])


@pytest.mark.parametrize("n_groups", [1, 3, 40])
def test_rows_of_a_sparse_matrix_have_the_same_number_where_all_their_entries_are_equal(n_groups):
    rng = np.random.default_rng(0)
    table = rng.choice([0, 0, 0, 0.5, 1], size=(60, n_groups))[rng.integers(60, size=500)]
    number = distinct_entries(sparse.csr_array(table))
    expected = (table[:, None] == table[None, :]).all(axis=2)
    assert_array_equal(number.raw[:, None] == number.raw[None, :], expected)
    assert number.n_codes == len(np.unique(table, axis=0))


def test_rows_whose_hashes_clash_have_numbers_of_their_own(monkeypatch):
    monkeypatch.setattr(distinct, "ODD", np.uint64(0))  # every hash is 0
    table = sparse.csr_array(np.array([[1, 0], [0, 1], [1, 0]], dtype=float))
    assert_array_equal(distinct_entries(table).raw, [0, 1, 2])


def test_columns_are_one_table_only_where_they_are_all_of_its_rows():
    table = np.random.default_rng(0).integers(3, size=(40, 4))
    every_other = table[::2]
    columns = [
        Column(f"m{j}", table[::2, j], 0, np.arange(3)) for j in range(4)
    ]  # views that begin where the columns do
    assert distinct._one_table(columns) is None
    assert_array_equal(rebuilt(columns), every_other)
    assert_array_equal(
        distinct._one_table([Column(f"m{j}", table[:, j], 0, np.arange(3)) for j in (1, 2)]),
        table[:, 1:3],
    )
