"""The pool of votes: labels teach a weight per classifier."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import log_softmax, softmax

from ec3learn import EC3, Votes
from ec3learn.answer.mixtures import DOUBT
from ec3learn.estimator import PooledVote
from ec3learn.estimator.pooling import OFFSET_PRECISION, WEIGHT_PRECISION, learn_pool

TRUTH = np.arange(300) % 3
KNOWN = ([*range(200)], TRUTH[:200])


def shares(right, seed):
    """Votes of a classifier that is right so often, about as sure as it should be."""
    rng = np.random.default_rng(seed)
    named = np.where(rng.random(300) < right, TRUTH, rng.integers(3, size=300))
    return softmax(2 * np.eye(3)[named] + rng.normal(size=(300, 3)) / 2, axis=1)


TABLES = {"good": shares(0.8, 0), "guess": shares(0.0, 1)}


@pytest.fixture
def votes():
    """A good classifier, and one that guesses."""
    return Votes.from_probabilities(TABLES, classes=[0, 1, 2])


@pytest.fixture
def clustered(votes):
    """The same, and clusters of three objects each, all of one class."""
    return votes.add(clusterings={"triples": TRUTH + 3 * (np.arange(300) // 9)})


def test_without_labels_it_is_the_geometric_mean(votes):
    logs = [np.log((1 - DOUBT) * table + DOUBT / 3) for table in TABLES.values()]
    assert_allclose(PooledVote().solve(votes).proba, softmax(np.mean(logs, axis=0), axis=1))


def test_weights_minimise_the_penalised_log_loss():
    logs = np.log(np.random.default_rng(0).dirichlet(np.ones(3), size=(40, 2)))
    codes, counts = TRUTH[:40], np.linspace(0.5, 2, 40)

    def cost(weights, offsets):
        fit = log_softmax(np.einsum("j,ijk->ik", weights, logs) + offsets, axis=1)
        prior = WEIGHT_PRECISION * (weights - 0.5) @ (weights - 0.5)
        prior += OFFSET_PRECISION * offsets @ offsets
        return prior / 2 - counts @ fit[np.arange(40), codes]

    weights, offsets = learn_pool(logs, codes, counts)
    for step in 1e-2 * np.random.default_rng(1).normal(size=(20, 5)):
        assert cost(weights, offsets) < cost(weights + step[:2], offsets + step[2:])


def test_labels_tell_a_good_classifier_from_one_that_guesses(votes):
    consensus = PooledVote().solve(votes, known=KNOWN)
    good, guess = consensus.voters()["weight"]
    assert good > 4 * guess
    words = "The votes were pooled: 200 labels taught a weight per classifier, the largest good "
    assert str(consensus.notes[0]).startswith(words)


def test_on_objects_it_did_not_see_the_pool_is_better_than_its_classifiers_and_their_mean(votes):
    rest = np.arange(200, 300)

    def loss(proba):
        return -np.log(proba[rest, TRUTH[rest]]).mean()

    rivals = [*TABLES.values(), PooledVote().solve(votes).proba]
    assert loss(PooledVote().solve(votes, known=KNOWN).proba) < min(map(loss, rivals))


def test_clusterings_count_less_the_more_labels_there_are(clustered):
    alone = PooledVote(clusterings=False)
    for n_labels, share in ((9, 1 / 2), (60, 5 / 25)):
        known = (range(n_labels), TRUTH[:n_labels])
        pulled = EC3(0.5, 0, 0.5, 0, towards=alone)
        parts = [method.solve(clustered, known=known).proba for method in (alone, pulled)]
        mean = (1 - share) * parts[0] + share * parts[1]
        assert_allclose(PooledVote().solve(clustered, known=known).proba, mean)


def test_new_objects_are_answered_as_those_that_were_solved(clustered):
    consensus = PooledVote().solve(clustered, known=KNOWN)
    assert_allclose(consensus.extend(clustered).proba[200:], consensus.proba[200:])


def test_an_object_without_votes_gets_the_shares_of_the_classes():
    votes = Votes.from_labels({"only": ["a", "a", "b", None]})
    proba = PooledVote().solve(votes, known={0: "a", 1: "a", 2: "b"}).proba
    assert 0.5 < proba[3, 0] < 0.7


def test_a_label_weighs_as_much_as_its_object(votes):
    twice = np.where(np.arange(300) < 50, 2.0, 1.0)
    weighed = Votes.from_probabilities(TABLES, classes=[0, 1, 2], sample_weight=twice)
    rows = np.r_[np.arange(300), np.arange(50)]
    repeated = PooledVote().solve(votes[rows], known=TRUTH[rows]).voters()["weight"]
    learned = PooledVote().solve(weighed, known=TRUTH).voters()["weight"]
    assert_allclose(learned, repeated, atol=1e-3)
