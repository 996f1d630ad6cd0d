"""What known labels teach the default."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression

from ec3learn import Consensus, Panel, StackedVote, Votes


def probabilities(seed, n=3000, n_voters=6):
    """Return the probabilities of voters who are much too sure or unsure, and the truth."""
    rng = np.random.default_rng(seed)
    truth, shared = rng.integers(2, size=n), rng.normal(size=(n, 2))
    voters = {}
    for v in range(n_voters):
        logs = 1.5 * rng.uniform(0.2, 1.2) * np.eye(2)[truth] + rng.normal(size=(n, 2))
        odds = np.exp(rng.uniform(0.5, 2.5) * (logs + rng.uniform(0.2, 0.8) * shared))
        voters[f"v{v}"] = odds / odds.sum(axis=1, keepdims=True)
    return voters, truth


def loss(proba, truth):
    return -np.log(proba[np.arange(len(truth)), truth]).mean()


@pytest.mark.parametrize("seed", range(3))
def test_probabilities_are_stacked_by_their_logarithms(seed):
    voters, truth = probabilities(seed)
    known = dict(enumerate(truth[:1000].tolist()))
    soft = Panel().solve(Votes.from_probabilities(voters), known).proba
    table = np.hstack(list(voters.values()))
    by_shares = LogisticRegression().fit(table[:1000], truth[:1000]).predict_proba(table)
    assert loss(soft[1000:], truth[1000:]) < loss(by_shares[1000:], truth[1000:]) - 0.002


@pytest.mark.parametrize("method", [Panel(), StackedVote()])
def test_the_answer_to_probabilities_is_extended_and_stored_as_it_is(method, tmp_path):
    voters, truth = probabilities(0, 300)
    voters["v0"][:50] = np.nan
    votes = Votes.from_probabilities(voters).add({"label": truth})
    consensus = method.solve(votes, dict(enumerate(truth[:60].tolist())))
    consensus.save(tmp_path / "c.ec3")
    for again in (consensus, Consensus.load(tmp_path / "c.ec3")):
        assert_allclose(again.extend(votes).proba[60:], consensus.proba[60:], rtol=0, atol=1e-12)
