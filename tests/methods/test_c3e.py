"""C3E: golden numbers, and the similarity written out in full."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from ec3learn import C3EKL, C3ESL, SoftVote, Votes
from ec3learn.methods.c3e import CoAssociation

from ..strategies import random_table

GOLDEN = {"rtol": 0, "atol": 6e-7}
W8_DEGREE = 1.5  # the mean of sum_j s_ij on W8: alpha is given over it
KL = """
0.936575 0.062838 0.000587  0.798494 0.200919 0.000587  0.793197 0.196837 0.009966  0.000000 0.907104 0.092896
0.000000 0.776020 0.223980  0.000000 0.776020 0.223980  0.022995 0.000532 0.976473  0.363525 0.008312 0.628163"""
KL_ONE_SWEEP = """
0.804300 0.126786 0.068914  0.670966 0.260120 0.068914  0.639007 0.266351 0.094642  0.079095 0.774440 0.146465
0.079095 0.646235 0.274670  0.079095 0.646235 0.274670  0.067753 0.047062 0.885185  0.331906 0.086018 0.582077"""
SL = """
0.929095 0.066364 0.004541  0.706873 0.288586 0.004541  0.664487 0.285559 0.049955  0.000000 0.916667 0.083333
0.000000 0.708333 0.291667  0.000000 0.708333 0.291667  0.030518 0.002180 0.967302  0.335695 0.023978 0.640327"""


def table(numbers):
    return np.array(numbers.split(), dtype=float).reshape(-1, 3)


def similarity(raw):
    """S in full: the (weighted) share of the clusterings that cover two objects which put them together, and s_ii."""
    n_objects = raw.n_objects
    together, covering = np.zeros((n_objects, n_objects)), np.zeros((n_objects, n_objects))
    for name, column in raw.clusterings.items():
        weight = raw.weights.get(name, 1.0)
        if isinstance(column, np.ndarray):
            shares = np.nan_to_num(column)
        else:
            shares = np.array(
                [[float(v == own) for own in set(column) - {None, -1}] for v in column]
            ).reshape(n_objects, -1)
        covered = shares.sum(axis=1) > 0.5
        together += weight * shares @ shares.T
        covering += weight * np.outer(covered, covered)
    return np.divide(together, covering, out=np.zeros_like(together), where=covering > 0)


def test_the_golden_numbers_of_the_squared_loss(w8):
    assert_allclose(C3ESL(alpha=0.1 * W8_DEGREE).solve(w8).proba, table(SL), **GOLDEN)


def test_the_golden_numbers_of_the_divergence(w8):
    consensus = C3EKL(alpha=0.1 * W8_DEGREE, tol=1e-12).solve(w8)
    assert_allclose(consensus.proba, table(KL), **GOLDEN)
    with pytest.warns(ConvergenceWarning):
        one_sweep = C3EKL(alpha=0.1 * W8_DEGREE, max_iter=1).solve(w8)
    assert_allclose(one_sweep.proba, table(KL_ONE_SWEEP), **GOLDEN)


@pytest.mark.parametrize("seed", range(6))
def test_products_with_the_similarity_are_those_of_the_full_matrix(seed):
    rng = np.random.default_rng([seed, 2])
    raw = random_table(rng, soft=seed % 2 == 0, weighted=seed % 3 == 0, missing=0.3)
    full = similarity(raw)
    values = rng.normal(size=(raw.n_objects, 2))
    votes = raw.votes()
    similar = CoAssociation(votes)
    index = np.arange(raw.n_objects) if votes.index is None else votes.index
    summed = np.zeros((votes.n_rows, 2))
    np.add.at(summed, index, values)
    whole = similar.whole_product(summed / similar.counts[:, None])
    assert_allclose(whole[index], full @ values, rtol=0, atol=1e-10)
    assert_allclose(similar.degree[index], full.sum(axis=1) - np.diag(full), rtol=0, atol=1e-10)


@pytest.mark.parametrize("seed", range(6))
def test_an_independent_dense_solution_of_the_squared_loss_agrees(seed):
    rng = np.random.default_rng([seed, 3])
    raw = random_table(rng, soft=seed % 2 == 0, weighted=seed % 3 == 0)
    votes = raw.votes()
    full = similarity(raw)
    np.fill_diagonal(full, 0)
    degree = full.sum(axis=1)
    alpha = 0.3 / degree.mean() if degree.any() else 0.0
    voted = SoftVote().solve(votes)
    pi = np.where(voted.unanswered[:, None], 1 / votes.n_classes, voted.proba)
    wanted = np.linalg.solve(np.eye(len(pi)) + 2 * alpha * (np.diag(degree) - full), pi)
    consensus = C3ESL(alpha=0.3).solve(votes)
    answered = ~consensus.unanswered
    assert_allclose(consensus.proba[answered], wanted[answered], rtol=0, atol=1e-9)


def test_the_published_passes_over_objects_end_at_the_answer(w8, w8_table):
    full = similarity(w8_table)
    np.fill_diagonal(full, 0)
    pi, answer = SoftVote().solve(w8).proba, np.full((8, 3), 1 / 3)
    for _ in range(200):
        for i, companions in enumerate(
            full
        ):  # y_i = (pi_i + 2 alpha sum_j s_ij y_j) / (1 + 2 alpha sum_j s_ij)
            answer[i] = (pi[i] + 0.2 * companions @ answer) / (1 + 0.2 * companions.sum())
    assert_allclose(C3ESL(alpha=0.1 * W8_DEGREE).solve(w8).proba, answer, rtol=0, atol=1e-9)


def test_without_clusterings_the_squared_loss_is_the_mean_vote(w8):
    alone = w8.drop("k0", "k1")
    assert_allclose(C3ESL().solve(alone).proba, SoftVote().solve(alone).proba, rtol=0, atol=1e-12)


def test_alpha_means_the_same_at_any_size(w8_table):
    # 40 copies of each object: the copies add their own companions, so compare two sizes that are
    # both large
    small, large = (
        C3ESL().solve(w8_table.taken(np.repeat(np.arange(8), n)).votes()).proba[::n]
        for n in (200, 20_000)
    )
    assert_allclose(small, large, rtol=0, atol=2e-3)


def test_known_labels_are_held_and_pull_their_companions(w8):
    for method in (C3ESL(), C3EKL()):
        before, after = method.solve(w8), method.solve(w8, known={3: 0})
        assert after.proba[3].tolist() == [1, 0, 0]
        assert after.proba[4, 0] > before.proba[4, 0]


def test_too_many_ways_of_having_gaps_are_refused():
    rng = np.random.default_rng(0)
    clusters = np.where(rng.random((6000, 20)) < 0.5, -1, rng.integers(3, size=(6000, 20)))
    votes = Votes.from_labels(rng.integers(2, size=(6000, 1)), clusters)
    with pytest.raises(
        ValueError,
        match=r"^C3E supports at most 4,096 different sets of clusterings that objects are missing from, got 5,9\d\d\. ",
    ):
        C3ESL().solve(votes)


REFUSED = {
    "alpha must be a finite number >= 0, got -1.": (C3ESL, {"alpha": -1}),
    "agreement must be a finite number > 0, got 0.": (C3EKL, {"agreement": 0}),
    "max_iter must be an integer >= 1, got True.": (C3EKL, {"max_iter": True}),
}


@pytest.mark.parametrize("message", REFUSED)
def test_settings_that_make_no_sense_are_refused(w8, message):
    method, settings = REFUSED[message]
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        method(**settings).solve(w8)
