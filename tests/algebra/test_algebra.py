"""A^m, K^c and conjugate gradients, each against plain dense algebra."""

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal

from ec3learn import Votes, kernels
from ec3learn.algebra.membership import (
    chunks,
    entries,
    membership,
    membership_of,
    normalised,
    reached_groups,
    scatter_to_votes,
    squares_of_votes,
)
from ec3learn.algebra.scaling import co_occurrence_scaling, solve_free_rows

from ..dense import _sinkhorn
from ..strategies import any_votes, random_table

CASES = {
    "hard": {"missing": 0.0},
    "missing": {"missing": 0.4},
    "soft": {"soft": True},
}


def dense_membership(votes):
    """A^m over the kept rows, read off what each base model is reported to have said."""
    first = np.arange(votes.n_objects)
    if votes.index is not None:
        first = np.array([np.flatnonzero(votes.index == row)[0] for row in range(votes.n_rows)])
    matrix = np.zeros((votes.n_rows, votes.models.n_groups))
    for row, i in enumerate(first):
        for m, said in enumerate(votes.said(int(i))):
            labels = votes.models[m].labels.tolist()
            for label, share in (
                said.items()
                if isinstance(said, dict)
                else [(said, 1.0)]
                if said is not None
                else []
            ):
                matrix[row, votes.models.offsets[m] + labels.index(label)] = share
    return matrix


@pytest.fixture(params=CASES)
def votes(request):
    return random_table(np.random.default_rng(5), **CASES[request.param]).votes()


@pytest.fixture(params=["votes", "loops", "matrix"])
def groups(request, votes, monkeypatch):
    if request.param == "loops":
        pytest.importorskip("numba")
        monkeypatch.setattr(kernels, "LEAST", 0)
    return membership_of(entries(votes)) if request.param == "matrix" else membership(votes)


@pytest.fixture
def matrix(votes, groups):
    """The dense matrix with its groups in the same order; groups without members may be left out of it."""
    return dense_membership(votes)[:, groups.order]


@pytest.mark.parametrize("n_columns", [3, 5])
def test_gather_sums_over_an_object_s_groups(groups, matrix, n_columns):
    table = np.random.default_rng(0).random((groups.n_groups, n_columns))
    assert_allclose(groups.gather(table), matrix @ table, atol=1e-12)


def test_what_is_gathered_is_scaled_and_added(groups, matrix):
    table, scale = np.random.default_rng(0).random((groups.n_groups, 5)), np.arange(groups.n_rows)
    sums = np.ones((groups.n_rows, 5))
    groups.add_gathered(table, scale, sums)
    assert_allclose(sums, 1 + scale[:, None] * (matrix @ table), atol=1e-10)


@pytest.mark.parametrize("n_columns", [3, 5])
def test_scatter_sums_over_a_group_s_objects(groups, matrix, n_columns):
    values = np.random.default_rng(0).random((groups.n_rows, n_columns))
    assert_allclose(groups.scatter(values), matrix.T @ values, atol=1e-12)


@pytest.mark.parametrize("n_columns", [3, 5])
def test_rows_are_weighed_where_they_are_scattered(groups, matrix, n_columns):
    values = np.random.default_rng(0).random((groups.n_rows, n_columns))
    weights = np.random.default_rng(1).random((2, groups.n_rows))
    expected = [matrix.T @ (weight[:, None] * values) for weight in weights]
    assert_allclose(groups.scatter_weighted(list(weights), values), expected, atol=1e-12)


def test_one_column_is_gathered_and_scattered_as_a_vector(groups, matrix):
    column = np.random.default_rng(0).random(groups.n_groups)
    values = np.random.default_rng(1).random(groups.n_rows)
    assert_allclose(groups.gather(column), matrix @ column, atol=1e-12)
    assert_allclose(groups.scatter(values), matrix.T @ values, atol=1e-12)


def test_the_matrix_itself_is_the_dense_one(groups, matrix):
    assert_allclose(groups.matrix.toarray(), matrix, atol=1e-12)


def test_every_group_with_members_is_in_the_order_once(votes, groups):
    members = np.flatnonzero(dense_membership(votes).any(axis=0))
    assert len(set(groups.order.tolist())) == groups.n_groups
    assert set(members.tolist()) <= set(groups.order.tolist())


def test_some_groups_keep_their_columns(groups, matrix):
    kept = np.arange(0, groups.n_groups, 2)
    assert_allclose(groups.only(kept).matrix.toarray(), matrix[:, kept], atol=1e-12)


@pytest.mark.parametrize("least", [0, 1 << 60])
def test_grams_are_the_weighted_products_of_the_matrix_with_itself(
    monkeypatch, groups, matrix, least
):
    monkeypatch.setattr(kernels, "LEAST", least)
    weights = list(np.random.default_rng(0).random((3, groups.n_rows)))
    expected = [matrix.T @ (weight[:, None] * matrix) for weight in weights]
    assert_allclose(groups.grams(weights), expected, atol=1e-12)


@given(any_votes())
def test_odd_tables_have_their_sums(votes):
    table = np.random.default_rng(0).random((votes.models.n_groups, 2))
    values = np.random.default_rng(1).random((votes.n_rows, 2))
    matrix = dense_membership(votes)
    for groups in (membership(votes), membership_of(entries(votes))):
        assert_allclose(groups.gather(table[groups.order]), matrix @ table, atol=1e-12)
        assert_allclose(scatter_to_votes(votes, groups, values), matrix.T @ values, atol=1e-12)


def test_many_rows_are_gathered_in_parts_like_in_one():
    rng = np.random.default_rng(0)
    columns = rng.integers(7, size=(70_000, 9))
    groups = membership(Votes.from_labels(columns[:, :2], columns[:, 2:]))
    table = rng.random((groups.n_groups, 2))
    assert groups.n_rows > 1 << 16
    parts = np.vstack([part for _, part in groups.gather_parts(table)])
    assert_allclose(parts, groups.matrix @ table, atol=1e-10)


@pytest.mark.parametrize("least", [0, 1 << 60])
def test_pairs_of_hundreds_of_groups_are_counted(monkeypatch, least):
    monkeypatch.setattr(kernels, "LEAST", least)
    rng = np.random.default_rng(0)
    votes = Votes.from_labels(rng.integers(3, size=(2000, 2)), rng.integers(220, size=(2000, 2)))
    groups, weight = membership(votes), rng.random(votes.n_rows)
    matrix = groups.matrix.toarray()
    assert_allclose(groups.grams([weight]), [matrix.T @ (weight[:, None] * matrix)], atol=1e-10)


def test_a_crowd_has_no_groups_without_votes(crowd):
    groups = membership(crowd)
    assert (groups.scatter(np.ones(crowd.n_rows)) > 0).all()


@pytest.mark.parametrize("seed", range(8))
def test_the_scaling_of_co_occurrence_is_that_of_plain_sinkhorn_rounds(seed):
    rng = np.random.default_rng(seed)
    votes = random_table(rng, soft=seed % 2 == 1, missing=0.2).votes()
    matrix = dense_membership(votes)
    weights, counts = rng.uniform(0.2, 3, votes.models.n_groups), rng.uniform(0.2, 3, votes.n_rows)
    expected = _sinkhorn((weights * matrix) @ matrix.T, counts)
    for groups in (membership(votes), membership_of(entries(votes))):
        assert_allclose(
            co_occurrence_scaling(groups, weights[groups.order], counts, groups.scatter(counts))[0],
            expected,
            atol=1e-10,
        )


def test_the_scaling_of_w8_has_the_numbers_of_the_specification(w8):
    groups = membership(w8)
    d = co_occurrence_scaling(
        groups, np.ones(groups.n_groups), w8.counts, groups.scatter(w8.counts)
    )[0]
    d = d if w8.index is None else d[w8.index]
    expected = [0.285586, 0.248801, 0.265116, 0.265661, 0.260140, 0.293806, 0.379217, 0.283098]
    assert_allclose(d, expected, atol=6e-7)


def test_the_scaled_matrix_is_doubly_stochastic(crowd):
    groups = membership(crowd)
    d = co_occurrence_scaling(
        groups, np.ones(groups.n_groups), crowd.counts, groups.scatter(crowd.counts)
    )[0]
    matrix = entries(crowd)
    row_sums = d * (matrix @ (matrix.T @ (crowd.counts * d)))
    assert_allclose(row_sums, 1, atol=1e-11)


# ---- conjugate gradients over some rows of a table, against a dense solution ---------------------


def test_free_rows_are_solved_while_the_others_stay():
    rng = np.random.default_rng(0)
    counts = rng.uniform(0.5, 3, 9)
    coupling = rng.uniform(size=(9, 9))
    coupling = (
        (coupling + coupling.T) / 40 * counts
    )  # symmetric in the inner product weighted by counts
    matrix = np.diag(rng.uniform(2, 3, 9)) - coupling
    right = rng.uniform(size=(9, 2))
    free = np.arange(9) < 6
    table = np.where(free[:, None], 0.0, rng.uniform(size=(9, 2)))
    held = table[~free].copy()
    expected = np.linalg.solve(matrix[:6, :6], right[:6] - matrix[:6, 6:] @ held)

    n_iter, converged = solve_free_rows(
        matrix.__matmul__,
        np.diag(matrix),
        lambda part: right[:, part],
        counts,
        free,
        table,
        1e-13,
        100,
    )

    assert converged
    assert 1 < n_iter <= 7
    assert_allclose(table[free], expected, rtol=1e-10)
    assert_array_equal(table[~free], held)


def test_chunks_cover_all_rows_once():
    assert [(part.start, part.stop) for part in chunks(7, 3)] == [(0, 3), (3, 6), (6, 7)]
    assert list(chunks(0)) == []


def test_counts_become_shares_and_zeros_stay():
    assert_array_equal(normalised(np.array([[1, 3], [0, 0]])), [[0.25, 0.75], [0, 0]])


def test_a_known_label_reaches_groups_at_the_end_of_a_long_chain():
    # Each cluster of one clustering shares one object with the next cluster of the other: 60 steps
    # from the label.
    places = np.arange(60)
    votes = Votes.from_labels(
        {"c": [None] * 60}, {"k": places // 2, "l": (places + 1) // 2}, classes=["a", "b"]
    )
    groups = membership(votes)
    clusters = votes.models.group_class[groups.order] < 0
    live, voted = (
        clusters & (groups.scatter(votes.counts) > 0),
        np.zeros(groups.n_groups, dtype=bool),
    )
    labelled = (groups.matrix[:, [int(np.flatnonzero(clusters)[0])]].toarray() > 0).ravel()
    assert reached_groups(groups, votes.counts, live, voted, labelled)[live].all()
    assert not reached_groups(
        groups, votes.counts, live, voted, np.zeros(groups.n_rows, dtype=bool)
    ).any()


@given(any_votes())
def test_squares_of_votes_are_those_of_the_matrix(votes):
    sums = scatter_to_votes(votes, membership(votes), votes.counts)
    assert_allclose(
        squares_of_votes(votes, sums), votes.counts @ dense_membership(votes) ** 2, atol=1e-12
    )
