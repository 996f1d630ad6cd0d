"""Theorem 1, the matrix form of J1, both algorithms and what they count, written out in full."""

import numpy as np
import pytest

from ec3learn import EC3
from paper.experiments.runtime import algorithm_1, as_published, matrices
from paper.protocol import Outputs


@pytest.fixture
def outputs():
    """Forty objects, three classes: three classifiers that are often right, two clusterings, one with noise."""
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=40)
    wrong = rng.random((3, 40)) < 0.3
    codes = {k: np.where(wrong[k], rng.integers(3, size=40), truth) for k in range(3)}
    clusters = {"a": truth // 2 + 2 * rng.integers(2, size=40), "b": rng.integers(-1, 4, size=40)}
    proba = {name: np.eye(3)[code] for name, code in codes.items()}
    return Outputs(truth, np.zeros(40, dtype=bool), 3, 0, 40, proba=proba, clusters=clusters)


def divergence(scaled, similarity):
    return np.sum(scaled * np.log(scaled / similarity) - scaled + similarity)


def doubly_stochastic(rng, n=5):
    return algorithm_1((lambda a: a + a.T)(rng.random((n, n))), 1e-12)


def test_the_divergence_is_convex():
    rng = np.random.default_rng(1)
    similarity = rng.random((5, 5)) + 0.1
    for _ in range(50):
        one, two, share = doubly_stochastic(rng), doubly_stochastic(rng), rng.random()
        between = share * divergence(one, similarity) + (1 - share) * divergence(two, similarity)
        assert divergence(share * one + (1 - share) * two, similarity) <= between + 1e-12


def test_algorithm_1_ends_at_the_minimum_of_the_divergence():
    rng = np.random.default_rng(2)
    similarity = rng.random((5, 5))
    similarity += similarity.T
    scaled = algorithm_1(similarity, 1e-12)
    np.testing.assert_allclose(scaled.sum(axis=1), 1)
    for _ in range(50):
        assert divergence(scaled, similarity) <= divergence(doubly_stochastic(rng), similarity)


def test_the_matrix_form_of_j1_is_a_misprint():
    rng = np.random.default_rng(3)
    k_m, f_o, f_g = rng.dirichlet(np.ones(4), 6), *(rng.dirichlet(np.ones(3), n) for n in (6, 4))
    gaps = ((f_o[:, None] - f_g) ** 2).sum(axis=2)
    j1 = (k_m * gaps).sum() / 2
    columns = np.diag(k_m.sum(axis=0))
    crossed = np.trace(f_o.T @ k_m @ f_g)
    mended = np.trace(f_o.T @ f_o) + np.trace(f_g.T @ columns @ f_g) - 2 * crossed
    assert j1 == pytest.approx(mended / 2)
    with pytest.raises(ValueError, match="mismatch"):
        k_m @ f_o


def test_both_algorithms_end_at_our_answer(outputs):
    exact = EC3().solve(outputs.votes()).proba
    np.testing.assert_allclose(as_published(outputs, tol=1e-10), exact, atol=1e-8)
    assert np.abs(as_published(outputs) - exact).max() > 1e-8  # epsilon .025 stops earlier


def test_k_c_has_more_entries_than_the_paper_counts(outputs):
    members, _ = matrices(outputs)
    assert members.shape[1] == 9 + 4 + 4  # noise is no group
    assert np.count_nonzero(members @ members.T) > members.size
