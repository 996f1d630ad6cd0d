"""Distinct rows: which rows are equal, which object has which, and how many there are."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from ec3learn import kernels
from ec3learn.votes.layout import distinct_rows, expand_rows, row_numbers


def columns_of(table):
    return [(column, int(column.max()) + 1) for column in np.asarray(table).T]


def rebuilt(table):
    """The table put together again from its distinct rows, and how many objects each row has."""
    objects, index, counts = distinct_rows(columns_of(table))
    assert_array_equal(np.bincount(index, minlength=len(counts)), counts)
    rows = np.asarray(table)[objects].astype(np.int64)
    assert len(np.unique(rows, axis=0)) == len(rows)
    return rows[index]


@pytest.mark.parametrize(
    ("n_models", "n_labels", "n_objects"),
    [(2, 3, 50), (3, 300, 1000), (12, 2, 5000), (70, 5, 300), (6, 1000, 400), (1, 256, 900)],
)
@pytest.mark.parametrize("dtype", [np.uint16, np.uint64])
def test_a_table_is_its_distinct_rows_spread_out(n_models, n_labels, n_objects, dtype):
    rng = np.random.default_rng(0)
    some = rng.integers(n_labels, size=(n_objects // 4, n_models)).astype(dtype)
    table = some[rng.integers(len(some), size=n_objects)]
    assert_array_equal(rebuilt(table), table)


def test_the_compiled_loop_finds_the_same_rows(monkeypatch):
    table = np.random.default_rng(0).integers(40, size=(5000, 5))[np.arange(20_000) % 5000]
    plain = distinct_rows(columns_of(table))
    monkeypatch.setattr(kernels, "LEAST", 0)
    for one, other in zip(distinct_rows(columns_of(table)), plain, strict=True):
        assert_array_equal(one, other)


def test_rows_that_repeat_at_regular_distances_are_found():
    table = np.random.default_rng(0).integers(200, size=(50_000, 4), dtype=np.int16)
    packed = distinct_rows(columns_of(np.tile(table, (20, 1))))
    assert packed is not None
    assert len(packed[2]) == len(np.unique(table, axis=0))


@pytest.mark.parametrize("n_objects", [50, 30_000])
def test_hardly_any_repeated_row_is_told_by_none(n_objects):
    table = np.random.default_rng(0).integers(1000, size=(n_objects, 4))
    assert distinct_rows(columns_of(table)) is None


def test_repeats_are_found_even_where_the_sample_is_small():
    rng = np.random.default_rng(0)
    table = rng.integers(1000, size=(5000, 4))[rng.integers(5000, size=60_000)]
    assert_array_equal(rebuilt(table), table)


def test_spread_is_plain_indexing():
    rng = np.random.default_rng(0)
    values, index = rng.random((10, 3)), rng.integers(10, size=200_000).astype(np.uint8)
    assert_array_equal(expand_rows(values, index), values[index])


@pytest.mark.parametrize("n_groups", [1, 3, 40])
def test_rows_of_a_sparse_matrix_have_the_same_number_where_all_their_entries_are_equal(n_groups):
    rng = np.random.default_rng(0)
    table = rng.choice([0, 0, 0, 0.5, 1], size=(60, n_groups))[rng.integers(60, size=500)]
    number, n_distinct = row_numbers(sparse.csr_array(table))
    expected = (table[:, None] == table[None, :]).all(axis=2)
    assert_array_equal(number[:, None] == number[None, :], expected)
    assert n_distinct == len(np.unique(table, axis=0))
