"""The compiled loops: each against its numpy form, whole methods with and without them, and when they are loaded at all."""

import subprocess
import sys

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import logsumexp, softmax
from threadpoolctl import threadpool_info, threadpool_limits

from ec3learn import EBCC, EC3, DawidSkene, MajorityVote, Panel, Votes, kernels, solve
from ec3learn.algebra import membership as module
from ec3learn.algebra.membership import (
    ColumnMembership,
    CompiledCrowd,
    CompiledMembership,
    CompiledSoft,
    JointMembership,
    Membership,
    SparseMembership,
    count_classes,
    entries,
    membership,
    scatter_to_votes,
)
from ec3learn.answer.rule import GroupRule, Term
from ec3learn.votes.distinct import distinct_rows
from ec3learn.votes.reading import encode

loops = pytest.importorskip(
    "ec3learn.kernels.loops", reason="numba is not installed", exc_type=ImportError
)
SEEDS = range(3)


@pytest.fixture
def always(monkeypatch):
    """Loops for tables of any size."""
    monkeypatch.setattr(kernels, "LEAST", 0)


def small_votes(seed, n=300, missing=0.1):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)
    classifiers = {
        f"c{m}": np.where(rng.random(n) < 0.6, truth, rng.integers(0, 3, n)) for m in range(4)
    }
    for column in classifiers.values():
        column[rng.random(n) < missing] = -1
    clusterings = {f"k{k}": rng.integers(0, k, n) for k in (5, 40, 90)}
    return Votes.from_labels(classifiers, clusterings, missing=-1)


def membership_numbers(seed, n=200, n_groups=30, width=4):
    """The groups of rows that have up to six of them (the first three none), and a table over groups."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 7, n)
    lengths[:3] = 0
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    places = rng.integers(0, n_groups + 1, starts[-1]).astype(np.uint16)
    matrix = sparse.csr_array(
        (np.ones(len(places)), places, starts), shape=(n, n_groups + 1)
    ).toarray()
    table = rng.random((n_groups + 1, width))
    return rng, (starts.astype(np.uint32), places), matrix, table


# ---- each loop, and the numpy form that defines it -----------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int64, np.uint8])
def test_ranges_are_least_and_greatest_numbers(seed, dtype):
    lines = np.random.default_rng(seed).integers(0, 100, (50, 7)).astype(dtype)
    low, high = np.empty(7, dtype), np.empty(7, dtype)
    loops.ranges(lines, low, high)
    assert_array_equal([low, high], [lines.min(axis=0), lines.max(axis=0)])


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64])
@pytest.mark.parametrize(
    ("n_digits", "n_after", "n_safe"),
    [(7, 0, 0), (12, 0, 49), (12, 9, 49), (3, 0, 45), (20, 1, 49), (16, 0, 50)],
)
def test_packed_rows_are_a_product(dtype, n_digits, n_after, n_safe):
    rng, n_places = np.random.default_rng(0), n_digits + -n_digits % loops.SIXTEEN
    table = rng.integers(0, 9, (50, n_digits + n_after)).astype(dtype)[:, :n_digits]
    places, keys = np.zeros(n_places, dtype=np.int64), np.empty(50, dtype=np.int64)
    places[:n_digits] = rng.integers(1, 1 << 40, n_digits)
    loops.pack(table, places, 17, keys, n_safe, 0, 50)
    assert_array_equal(keys, table.astype(np.int64) @ places[:n_digits] - 17)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n_values", [1, 50, 60_000])
def test_keys_are_numbered_as_they_first_occur(seed, n_values):
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, 1 << 63, n_values).astype(np.uint64)[rng.integers(0, n_values, 100_000)]
    index = np.empty(len(keys), dtype=np.uint32)
    values = loops.number(keys, index)
    assert_array_equal(values[index], keys)
    assert_array_equal(np.sort(values), np.unique(keys))
    assert_array_equal(
        np.unique(index, return_index=True)[1], np.sort(np.unique(keys, return_index=True)[1])
    )


def test_counts_are_those_of_bincount():
    keys, counts = (
        np.random.default_rng(0).integers(0, 9, 500).astype(np.uint8),
        np.zeros(12, dtype=np.int64),
    )
    loops.count(keys, counts, 0, len(keys))
    assert_array_equal(counts, np.bincount(keys, minlength=12))


@pytest.mark.parametrize("seed", SEEDS)
def test_votes_are_listed_row_by_row(seed):
    rng = np.random.default_rng(seed)
    table = rng.integers(-1, 3, (40, 9)).astype(np.int8)
    voted = table >= 0
    starts, room = np.zeros(41, dtype=np.int32), voted.sum() + 1
    voters, labels = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int8)
    loops.list_votes(table, voted, starts, voters, labels)
    assert_array_equal(starts[1:], np.cumsum(voted.sum(axis=1)))
    assert_array_equal(voters[:-1], np.nonzero(voted)[1])
    assert_array_equal(labels[:-1], table[voted])


@pytest.mark.parametrize("seed", SEEDS)
def test_gathering_sums_over_the_groups_of_a_row(seed):
    _, places, matrix, table = membership_numbers(seed)
    column = np.empty(len(matrix))
    loops.gather_column(*places, np.ascontiguousarray(table[:, 0]), column, 0, len(matrix))
    assert_allclose(column, matrix @ table[:, 0], rtol=1e-13)
    for width in (4, 3, 8):
        lines, own = np.empty((len(matrix), width)), np.hstack([table] * -(-width // 4))
        loops.gather_table(*places, own, lines, 0, len(matrix))
        assert_allclose(lines, (matrix @ own)[:, :width], rtol=1e-13)


@pytest.mark.parametrize("seed", SEEDS)
def test_scattering_sums_over_the_rows_of_a_group(seed):
    rng, places, matrix, table = membership_numbers(seed)
    values, column = rng.random((len(matrix), 8)), np.zeros(len(table))
    loops.scatter_column(*places, np.ascontiguousarray(values[:, 0]), column, 0, len(matrix))
    assert_allclose(column, matrix.T @ values[:, 0], rtol=1e-13)
    for width in (4, 3, 8):
        lines, own = np.zeros((len(table), -(-width // 4) * 4)), values[:, :width].copy()
        loops.scatter_table(*places, own, lines, 0, len(matrix))
        assert_allclose(lines[:, :width], matrix.T @ own, rtol=1e-13)
        assert not lines[:, width:].any()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_round_of_scaling_inverts_and_scatters(seed):
    rng, places, matrix, table = membership_numbers(seed)
    column, counts = table[:, 0].copy(), rng.random(len(matrix))
    out, sums = np.empty(len(matrix)), np.zeros(len(column))
    loops.invert(*places, column, counts, out, sums, 0, len(matrix))
    totals = matrix @ column
    inverse = np.divide(1, totals, out=np.zeros_like(totals), where=totals > 0)
    assert_allclose(out, inverse, rtol=1e-13)
    assert_allclose(sums, matrix.T @ (counts * inverse), rtol=1e-13)


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_couple_their_groups(seed):
    rng, places, matrix, table = membership_numbers(seed)
    one, other, weights = rng.random((3, len(matrix)))
    out = np.zeros_like(table)
    loops.couple(*places, one, other, weights, table, out, 0, len(matrix))
    one_means, other_means = np.split(matrix @ table, 2, axis=1)
    mean = weights[:, None] * (one[:, None] * one_means + other[:, None] * other_means)
    assert_allclose(
        out, matrix.T @ np.hstack([one[:, None] * mean, other[:, None] * mean]), rtol=1e-12
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_codes_beyond_the_last_count_as_the_last(seed):
    rng = np.random.default_rng(seed)
    codes, values, table = (
        rng.integers(0, 40, 300).astype(np.uint8),
        rng.random((300, 2)),
        rng.random((31, 2)),
    )
    at, columns = np.minimum(codes, 30), [np.ascontiguousarray(column) for column in values.T]
    one, pair, expected = np.zeros(31), np.zeros((31, 2)), np.zeros((31, 2))
    loops.scatter_code(codes, columns[0], one)
    loops.scatter_pair(codes, *columns, pair)
    np.add.at(expected, at, values)
    assert_allclose(one, expected[:, 0], rtol=1e-13)
    assert_allclose(pair, expected, rtol=1e-13)
    found = np.ones((3, 300))
    loops.gather_code(codes, np.ascontiguousarray(table[:, 0]), found[0])
    loops.gather_pair(codes, table, found[1], found[2])
    assert_allclose(found - 1, [table[at, 0], table[at, 0], table[at, 1]], rtol=1e-13)


def test_columns_are_multiplied():
    lines, out = np.random.default_rng(0).random((3, 700)), np.zeros((700, 4))
    loops.multiply(lines, np.array([0, 0, 2, 1]), np.array([0, 3, 4]), out)
    assert_allclose(out[:, :2], np.stack([lines[0] ** 2 * lines[2], lines[1]], axis=1), rtol=1e-15)
    assert not out[:, 2:].any()


def test_six_values_are_added_by_the_joint_codes_of_each_block():
    rng = np.random.default_rng(0)
    sizes, blocks, first = np.array([3, 4, 2]), [[1, 0], [2], [0, 1, 2]], np.array([0, 12, 14])
    codes, values = (
        np.stack([rng.integers(0, size, 2700).astype(np.uint16) for size in sizes]),
        rng.random((2700, 6)),
    )
    found, expected = np.zeros((38, 6)), np.zeros((38, 6))
    loops.add_six(
        codes, sizes, np.concatenate(blocks), np.array([0, 2, 3, 6]), first, values, found
    )
    for block, begin in zip(blocks, first, strict=True):
        np.add.at(expected, begin + np.ravel_multi_index(codes[block], sizes[block]), values)
    assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_the_mean_of_terms_follows_its_formula(seed, n_classes):
    rng, places, matrix, _ = membership_numbers(seed)
    weight, proba = rng.random((31, 2)), rng.dirichlet(np.ones(n_classes), (31, 2))
    weight[10:, 1] = weight[30] = 0.0
    pulls, fallback, counts = (
        np.array([0.5, 2.0]),
        np.full(n_classes, 1 / n_classes),
        rng.random(200),
    )
    in_group, found, unanswered = (
        rng.random(200) < 0.8,
        np.empty((200, n_classes)),
        np.empty(200, dtype=bool),
    )
    tables = (weight[:, :, None] * proba)[:, :, :-1].reshape(31, -1)
    tables = np.pad(tables, [(0, 0), (0, -tables.shape[1] % loops.FOUR)])
    totals = matrix @ weight
    inverses = tuple(np.divide(1, total, out=np.zeros(200), where=total > 0) for total in totals.T)
    given = (*places, tables, pulls, inverses, fallback, counts, in_group, 1, found, unanswered)
    squares, tension = loops.mean_of_terms(*given, 0, 200)
    strength = pulls * (totals > 0)
    means = np.stack(inverses, axis=1)[:, :, None] * np.tensordot(
        matrix, weight[:, :, None] * proba, axes=1
    )
    total = strength.sum(axis=1, keepdims=True)
    expected = np.where(
        total > 0,
        (strength[:, :, None] * means).sum(axis=1) / np.where(total > 0, total, 1.0),
        fallback,
    )
    assert_allclose(found, expected, rtol=1e-10)
    assert_array_equal(unanswered, total[:, 0] <= 0)
    assert unanswered.any()
    assert_allclose(squares, (counts * in_group) @ (expected**2).sum(axis=1), rtol=1e-12)
    assert_allclose(
        tension,
        (counts * strength[:, 1] / 2) @ ((expected - means[:, 1]) ** 2).sum(axis=1),
        rtol=1e-12,
    )


def soft_numbers(seed, n=1100, n_blocks=2, n_columns=5):
    """Joint columns of 20 codes each, as numbers and as a matrix, and a table of shares with ones in the first column."""
    rng = np.random.default_rng(seed)
    keys, first = rng.integers(0, 20, (n_blocks, n)).astype(np.uint16), 20 * np.arange(n_blocks + 1)
    ones = np.zeros((n, 20 * n_blocks))
    for line, begin in zip(keys, first, strict=False):
        ones[np.arange(n), begin + line] = 1
    return rng, keys, first, ones, np.hstack([np.ones((n, 1)), rng.random((n, n_columns - 1))])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n_blocks", [0, 2])
def test_weights_times_shares_are_summed_by_joint_code(seed, n_blocks):
    rng, keys, first, ones, table = soft_numbers(seed, n_blocks=n_blocks)
    weights, out, sums = (
        rng.random((len(table), 3)),
        np.empty((len(table), 15)),
        np.zeros((ones.shape[1], 15)),
    )
    loops.weigh(keys, first, table, weights, out, sums)
    expected = (weights[:, :, None] * table[:, None, :]).reshape(len(table), -1)
    assert_allclose(out, expected, rtol=1e-15)
    assert_allclose(sums, ones.T @ expected, rtol=1e-13)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n_blocks", [0, 2])
def test_a_round_of_scaling_with_soft_votes_inverts_and_scatters(seed, n_blocks):
    rng, keys, first, ones, table = soft_numbers(seed, n_blocks=n_blocks)
    joint, column, counts = rng.random(ones.shape[1]), rng.random(5), rng.random(len(table))
    column[0], table[:3, 1:] = 0.0, 0.0
    totals = ones @ joint + table @ column
    out, sums, lines = np.empty(len(table)), np.zeros(len(joint)), np.ascontiguousarray(table.T)
    found = loops.invert_soft(keys, first, lines, joint, column, counts, out, sums, 0, len(table))
    inverse = np.divide(1, totals, out=np.zeros_like(totals), where=totals > 0)
    assert_allclose(out, inverse, rtol=1e-11)
    assert_allclose(sums, ones.T @ (counts * inverse), rtol=1e-12)
    assert_allclose(found, table.T @ (counts * inverse), rtol=1e-11)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_posterior_is_a_softmax(seed):
    rng, places, matrix, table = membership_numbers(seed)
    prior, counts = rng.random(4), rng.random(len(matrix))
    proba, logs = softmax(rng.random((len(matrix), 4)), axis=1), np.empty(len(matrix))
    before = proba.copy()
    moved = loops.posterior(*places, table, prior, 2, counts, proba, logs, 0, len(matrix))
    sums = matrix @ table + prior
    assert_allclose(proba, softmax(sums, axis=1), rtol=1e-12)
    assert_allclose(logs, logsumexp(sums, axis=1), rtol=1e-12)
    change = (proba - before).reshape(len(matrix), 2, 2).sum(axis=2)
    assert_allclose(moved, counts @ np.abs(change).sum(axis=1), rtol=1e-12)


def test_exponentials_are_those_of_numpy_to_the_last_digits():
    rng = np.random.default_rng(0)
    numbers = np.concatenate(
        [
            -rng.exponential(30.0, 5000),
            [0.0, -1e-300, -0.34657, -707.9, -708.1, -1e9, -np.inf, np.nan],
        ]
    )
    found = numbers.copy()
    loops._exp(found, np.empty_like(found), np.empty_like(found))
    expected = np.where(numbers < -708, 0.0, np.exp(numbers))
    assert_allclose(found, expected, rtol=5e-16)


# ---- whole tables --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_membership_of_few_groups_agrees_with_joint_columns(always, seed):
    votes = small_votes(seed)
    fast, plain, rng = membership(votes), JointMembership(votes), np.random.default_rng(seed)
    assert isinstance(fast, CompiledMembership)
    one, *others = rng.random((6, votes.n_rows))
    weights = [(one, one, other) for other in others] + [(one,)]
    for shape in ((), (3,)):
        table, values = (
            rng.random((votes.models.n_groups, *shape)),
            rng.random((votes.n_rows, *shape)),
        )
        assert_allclose(fast.gather(table), plain.gather(table), rtol=1e-13)
        assert_allclose(fast.scatter(values), plain.scatter(values), rtol=1e-13)
        assert_allclose(
            np.concatenate([part for _, part in fast.gather_parts(table)]),
            plain.gather(table),
            rtol=1e-13,
        )
    some = np.flatnonzero(np.arange(votes.models.n_groups) % 3 > 0)
    for n in (2, 6):
        grams = [groups.grams(weights[:n], 2, some) for groups in (fast, plain)]
        for found, expected in zip(*grams, strict=True):
            assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("hard", [False, True])
def test_membership_of_soft_votes_agrees_with_joint_columns(always, seed, hard):
    rng = np.random.default_rng(seed)
    shares = {f"s{m}": rng.dirichlet(np.ones(3), 300) for m in range(3)}
    shares["s0"][:9] = np.nan
    votes = Votes.from_probabilities(
        shares, {"k": rng.integers(0, 5, 300), "j": rng.integers(0, 9, 300)} if hard else None
    )
    fast, plain = membership(votes), JointMembership(votes)
    assert type(fast) is CompiledSoft
    column, counts = rng.random(votes.models.n_groups), rng.random(votes.n_rows)
    weights = [(counts, weight) for weight in rng.random((6, votes.n_rows))]
    d, image = fast.invert(column, counts)
    assert_allclose(d, 1 / plain.gather(column), rtol=1e-12)
    assert_allclose(image, plain.scatter(counts * d), rtol=1e-12)
    grams = [groups.grams(weights, 2, np.arange(1, 6)) for groups in (fast, plain)]
    for found, expected in zip(*grams, strict=True):
        assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


def crowd_votes(seed, n=400, n_voters=30):
    """Few of the voters vote on each object; a third of them name the same class always."""
    rng = np.random.default_rng(seed)
    table = np.where(rng.random((n, n_voters)) < 0.2, rng.integers(0, 3, (n, n_voters)), -1)
    return Votes.from_labels(
        np.where(table < 0, -1, np.where(np.arange(n_voters) % 3, table, 1)), missing=-1
    )


def fine_votes(seed, n=300, missing=0.1):
    """Clusterings so fine that many clusters have a single object."""
    rng = np.random.default_rng(seed)
    clusterings = {f"k{k}": rng.integers(0, k, n) for k in (90, 1500, 2500, 4000)}
    for column in clusterings.values():
        column[rng.random(n) < missing] = -1
    return small_votes(seed, n, missing).add(
        clusterings={f"fine {name}": column for name, column in clusterings.items()}
    )


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("make", "form"), [(crowd_votes, CompiledCrowd), (fine_votes, ColumnMembership)]
)
def test_membership_of_many_groups_agrees_with_sparse_matrices(
    always, monkeypatch, seed, make, form
):
    monkeypatch.setattr(module, "MOST_JOINT_GROUPS", 100)
    votes, rng = make(seed), np.random.default_rng(seed)
    fast, plain = membership(votes), SparseMembership(entries(votes))
    assert type(fast) is form
    matrix = entries(votes).toarray()[:, fast.order]
    assert_allclose(fast.matrix.toarray(), matrix)
    for shape in ((), (3,)):
        table, values = (
            rng.random((votes.models.n_groups, *shape)),
            rng.random((votes.n_rows, *shape)),
        )
        assert_allclose(
            fast.gather(table[fast.order]), plain.gather(table[plain.order]), rtol=1e-13
        )
        assert_allclose(
            scatter_to_votes(votes, fast, values),
            scatter_to_votes(votes, plain, values),
            rtol=1e-13,
            atol=1e-15,
        )
        own = table[fast.order]
        for given in (own, *(sparse.csr_array(own) for _ in shape)):
            assert_allclose(
                np.concatenate([part for _, part in fast.gather_parts(given)]),
                matrix @ own,
                rtol=1e-13,
            )
    shared, values, between = (
        matrix[:, : fast.n_shared],
        rng.random((2, votes.n_rows)),
        rng.random((2, fast.n_shared)),
    )
    assert_allclose(fast.gather_shared(between[0]), shared @ between[0], rtol=1e-13)
    assert_allclose(fast.scatter_shared(values[0]), shared.T @ values[0], rtol=1e-13)
    solo = rng.random(fast.n_groups - fast.n_shared)
    assert_allclose(fast.gather_solo_squares(solo), matrix[:, fast.n_shared :] @ solo, rtol=1e-13)
    for n in (1, 2):
        expected = [
            shared @ (own * (shared.T @ column))
            for own, column in zip(between[:n], values[:n], strict=True)
        ]
        assert_allclose([*fast.through(values[:n], between[:n])], expected, rtol=1e-12)
    table, factors = rng.random((fast.n_groups, 2, 3)), [values[0], values[1]]
    assert_allclose(
        fast.couple(table, factors, values[0]),
        Membership.couple(fast, table, factors, values[0]),
        rtol=1e-12,
    )
    codes = rng.integers(0, 3, votes.n_rows)
    counted = [
        count_classes(votes, groups, codes, values[0], 3).toarray() for groups in (fast, plain)
    ]
    assert_allclose(*counted, rtol=1e-13)


@pytest.mark.parametrize("least", [0, 1 << 60])
def test_a_crowd_is_read_the_same_in_one_pass_as_by_column(monkeypatch, least):
    monkeypatch.setattr(kernels, "LEAST", least)
    rng = np.random.default_rng(0)
    table = np.where(rng.random((25_000, 20)) < 0.2, rng.integers(3, 6, (25_000, 20)), -1)
    ours = Votes.from_labels(table, missing=-1)
    theirs = Votes.from_labels(np.asfortranarray(table), missing=-1)
    assert_array_equal(ours.stores.sparse.indptr, theirs.stores.sparse.indptr)
    assert_array_equal(ours.stores.sparse.indices, theirs.stores.sparse.indices)
    assert [model.name for model in ours.models] == [model.name for model in theirs.models]
    assert_array_equal(ours.classes, [3, 4, 5])


@pytest.mark.parametrize("n_labels", [2, 9, 60_000])
def test_distinct_rows_are_the_same_to_the_bit(monkeypatch, n_labels):
    rng = np.random.default_rng(0)
    table = rng.integers(-1, n_labels, (400, 11))[rng.integers(0, 400, 3000)]
    columns = [encode(f"c{j}", column, "classifiers") for j, column in enumerate(table.T)]
    found = []
    for least in (0, 1 << 60):
        monkeypatch.setattr(kernels, "LEAST", least)
        found.append(distinct_rows(columns))
    for ours, theirs in zip(*found, strict=True):
        assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    "method",
    [EC3(), EC3(beta=0.0), DawidSkene(), DawidSkene(prior="uniform"), EBCC(), Panel()],
    ids=str,
)
@pytest.mark.parametrize("kind", ["hard", "soft", "crowd", "fine"])
def test_methods_answer_the_same_with_and_without_loops(monkeypatch, method, kind):
    votes, answers = {"crowd": crowd_votes, "fine": fine_votes}.get(kind, small_votes)(0), []
    if kind == "fine":
        monkeypatch.setattr(module, "MOST_JOINT_GROUPS", 100)
    if kind == "soft":
        votes = votes.add({"soft": np.random.default_rng(0).dirichlet(np.ones(3), votes.n_objects)})
    for least in (0, 1 << 60):
        monkeypatch.setattr(kernels, "LEAST", least)
        answers.append(method.solve(votes))
    assert_allclose(
        answers[0].proba, answers[1].proba, rtol=0, atol=1e-11
    )  # to which K^c is scaled
    if answers[0].solution.objective is not None:
        assert answers[0].solution.objective == pytest.approx(
            answers[1].solution.objective, rel=1e-11
        )


def test_many_groups_of_small_models_alone_are_solved_by_loops_too(monkeypatch):
    rng = np.random.default_rng(0)
    clusterings = {f"k{j}": rng.integers(0, 60, 300) for j in range(4)}
    votes, answers = (
        Votes.from_labels(
            {"a": rng.integers(0, 2, 300), "b": rng.integers(0, 2, 300)}, clusterings
        ),
        [],
    )
    monkeypatch.setattr(module, "MOST_JOINT_GROUPS", 100)
    for least in (0, 1 << 60):
        monkeypatch.setattr(kernels, "LEAST", least)
        answers.append(EC3().solve(votes).proba)
    assert_allclose(*answers, rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", [EC3(), DawidSkene()], ids=str)
def test_a_prior_counts_the_same_with_and_without_loops(monkeypatch, method):
    votes, answers = small_votes(0), []
    prior = np.where(
        MajorityVote().solve(votes).labels()[:, None] == votes.classes,
        0.8,
        0.2 / (len(votes.classes) - 1),
    )
    for least in (0, 1 << 60):
        monkeypatch.setattr(kernels, "LEAST", least)
        answers.append(method.solve(votes, prior=prior).proba)
    assert_allclose(*answers, rtol=0, atol=1e-9)
    assert np.abs(answers[0] - method.solve(votes).proba).max() > 1e-3


@pytest.mark.parametrize("total", [1.0, 1 - 1e-5])
def test_a_loop_does_not_hide_that_the_distributions_of_groups_lost_their_digits(always, total):
    votes = Votes.from_labels({"a": [0, 1, 1], "b": [0, 0, 1]})
    groups, each = membership(votes), np.ones(4)
    rule = GroupRule(
        (Term("groups", 1.0, groups.order, each, np.full((4, 2), total / 2)),), np.full(2, 0.5)
    )
    inverses = {"groups": np.full(votes.n_rows, 0.5)}
    found = rule.answers_and_sums(groups, inverses, votes.counts, np.ones(votes.n_rows, dtype=bool))
    assert (found is not None) == (total == 1)


def test_known_labels_and_empty_extensions_need_no_loop_of_their_own(always):
    votes = small_votes(1)
    consensus = DawidSkene().solve(votes, known={0: 1, 5: 2})
    assert consensus.labels()[0] == 1
    assert len(consensus.extend(votes[:0]).labels()) == 0


# ---- threads and loading -------------------------------------------------------------------------


@pytest.mark.parametrize("method", [EC3(), DawidSkene()], ids=str)
def test_threads_change_nothing_but_the_time(always, method):
    votes = small_votes(0)
    alone = method.solve(votes).proba
    with parallel_config("threading", n_jobs=2):
        assert kernels.n_threads() == 2
        assert_allclose(method.solve(votes).proba, alone, rtol=0, atol=1e-12)
    assert kernels.n_threads() == 1


def test_solve_takes_the_number_of_threads(monkeypatch):
    seen = []
    monkeypatch.setattr(
        DawidSkene,
        "_answer",
        lambda *args: seen.append(kernels.n_threads()) or MajorityVote()._answer(*args[1:]),
    )
    for n_jobs in (None, 2):
        solve(small_votes(0), method=DawidSkene(), n_jobs=n_jobs)
    assert seen == [1, 2]
    with pytest.raises(
        ValueError,
        match=r"n_jobs must be an integer other than 0, got 0\. -1 takes one thread per core\.",
    ):
        solve(small_votes(0), n_jobs=0)


def test_matrix_products_leave_the_cores_to_the_loops():
    with kernels.threads(2):
        assert {
            pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"
        } == {1}
        assert kernels.n_threads() == 2


def test_limits_that_overlap_leave_matrix_products_as_they_were():
    def blas():
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    with threadpool_limits(2):
        one, other = kernels.threads(2), kernels.threads(2)
        for step in (one.__enter__, other.__enter__, lambda: one.__exit__(None, None, None)):
            step()
        other.__exit__(None, None, None)
        assert blas() == {2}


def test_parts_of_rows_cover_all_of_them():
    with parallel_config("threading", n_jobs=3):
        parts = kernels.in_threads(lambda begin, end: list(range(begin, end)), 10)
    assert np.concatenate(parts).tolist() == list(range(10))
    assert len(parts) == 3


def test_small_tables_do_not_load_numba():
    program = (
        "import sys; from ec3learn import Votes, solve; solve(Votes.from_labels({'a': [0, 1], 'b': [0, 1]}), n_jobs=2); "
        "print('numba' in sys.modules)"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True
        ).stdout.strip()
        == "False"
    )


@pytest.fixture
def loaded_anew():
    """Loops that are looked for again, in this test and after it."""
    kernels._loops.cache_clear()
    yield
    kernels._loops.cache_clear()


@pytest.mark.parametrize("reason", ["missing", "switched off"])
def test_without_numba_everything_is_numpy(monkeypatch, loaded_anew, reason):
    if reason == "missing":
        monkeypatch.setattr(kernels, "find_spec", lambda name: None)
    else:
        monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert kernels.compiled(1 << 60) is None


@pytest.mark.parametrize(
    "error",
    [ImportError("numpy is too new"), OSError("no libllvmlite.so"), AttributeError()],
    ids=repr,
)
def test_with_a_numba_that_cannot_be_loaded_everything_is_numpy_and_one_warning_says_so(
    monkeypatch, loaded_anew, error
):
    monkeypatch.setattr(kernels, "import_module", lambda *_: (_ for _ in ()).throw(error))
    with pytest.warns(RuntimeWarning) as caught:
        assert [kernels.compiled(1 << 60) for _ in range(3)] == [None] * 3
    (warning,) = caught
    why = str(error) or "AttributeError"
    assert str(warning.message).startswith(
        f"numba is installed but cannot be loaded, so large tables take longer: {why}."
    )


def test_machine_code_is_not_kept_where_there_is_no_place_for_it(monkeypatch):
    def njit(cache=False, **_):
        if cache:
            raise RuntimeError("cannot cache function")
        return lambda function: "compiled"

    monkeypatch.setattr(loops.numba, "njit", njit)
    assert loops.loop(len) == "compiled"
