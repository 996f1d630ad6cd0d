"""Conjugate gradients over some rows of a table, against a dense solution."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from ec3learn.algebra.linear import chunks, normalised, solve_free_rows


def test_free_rows_are_solved_while_the_others_stay():
    rng = np.random.default_rng(0)
    counts = rng.uniform(0.5, 3, 9)
    coupling = rng.uniform(size=(9, 9))
    coupling = (coupling + coupling.T) / 40 * counts  # symmetric in the inner product weighted by counts
    matrix = np.diag(rng.uniform(2, 3, 9)) - coupling
    right = rng.uniform(size=(9, 2))
    free = np.arange(9) < 6
    table = np.where(free[:, None], 0.0, rng.uniform(size=(9, 2)))
    held = table[~free].copy()
    expected = np.linalg.solve(matrix[:6, :6], right[:6] - matrix[:6, 6:] @ held)

    n_iter, converged = solve_free_rows(matrix.__matmul__, np.diag(matrix), iter(right.T), counts, free, table, 1e-13, 100)

    assert converged
    assert 1 < n_iter <= 7
    assert_allclose(table[free], expected, rtol=1e-10)
    assert_array_equal(table[~free], held)


def test_chunks_cover_all_rows_once():
    assert [(part.start, part.stop) for part in chunks(7, 3)] == [(0, 3), (3, 6), (6, 7)]
    assert list(chunks(0)) == []


def test_counts_become_shares_and_zeros_stay():
    assert_array_equal(normalised(np.array([[1, 3], [0, 0]])), [[0.25, 0.75], [0, 0]])
