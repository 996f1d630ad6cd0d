"""Weights learned from agreement: by class, and with a warning where they should not be trusted."""

import warnings

import numpy as np
import pytest
from scipy.stats import norm

from ec3learn import EC3, DawidSkene, MajorityVote, ReliabilityWarning, Votes, WeightedVote
from ec3learn.answer.notes import WEIGHTS


def annotators(seed, *, threshold, spread, n_objects=108, n_annotators=39):
    """Yes-or-no questions; annotators see the truth through noise and say yes above thresholds of their own."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n_objects) < 0.45
    seen = rng.normal(size=(n_objects, n_annotators)) + np.where(truth, 0.65, -0.65)[:, None]
    said = seen > rng.normal(threshold, spread, n_annotators)
    return Votes.from_labels({f"a{j}": said[:, j] for j in range(n_annotators)}), truth


def accuracy(method, votes, truth):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReliabilityWarning)
        return (method.solve(votes).labels() == truth).mean()


@pytest.mark.filterwarnings("ignore::ec3learn.ReliabilityWarning")  # that one is biased indeed
def test_an_annotator_who_always_says_the_same_gets_no_weight():
    rng = np.random.default_rng(0)
    truth = rng.random(1000) < 0.2
    right = rng.random((1000, 4)) < 0.8
    said = np.where(right, truth[:, None], ~truth[:, None])
    votes = Votes.from_labels({**{f"a{j}": said[:, j] for j in range(4)}, "no": np.zeros(1000, dtype=bool)})
    weights = WeightedVote().solve(votes).weights
    assert weights[4] < 0.01
    assert (weights[:4] > 0.5).all()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("method", [EC3(weights="agreement"), WeightedVote()])
def test_bias_that_weights_cannot_fix_is_warned_about(method, seed):
    votes, truth = annotators(seed, threshold=0.9, spread=0.5)
    assert accuracy(DawidSkene(), votes, truth) > accuracy(method, votes, truth) + 0.05
    with pytest.warns(ReliabilityWarning, match=r"^The voters look biased, .*, and one weight each cannot fix that:"):
        consensus = method.solve(votes)
    assert any("compare with method='dawid-skene' or towards='dawid-skene'" in str(note) for note in consensus.notes)


@pytest.mark.parametrize("seed", range(5))
def test_towards_dawid_skene_is_the_remedy(seed):
    votes, truth = annotators(seed, threshold=0.9, spread=0.5)
    best = accuracy(DawidSkene(), votes, truth)
    assert accuracy(EC3(towards=DawidSkene()), votes, truth) > best - 0.01
    assert accuracy(MajorityVote(), votes, truth) < best - 0.05


@pytest.mark.parametrize("seed", range(5))
def test_unbiased_annotators_raise_no_doubt(seed):
    votes, _ = annotators(seed, threshold=0.0, spread=0.1)
    for method in (EC3(weights="agreement"), WeightedVote()):
        assert not [note for note in method.solve(votes).notes if note.kind == WEIGHTS]


def test_agreement_by_class_loses_less_where_annotators_are_biased():
    by_class, by_majority = [], []
    for seed in range(8):
        votes, truth = annotators(seed, threshold=0.4, spread=0.9)
        by_class.append(accuracy(WeightedVote(), votes, truth))
        by_majority.append(accuracy(MajorityVote(), votes, truth))
    assert np.mean(by_class) > np.mean(by_majority)


def test_weights_that_do_not_settle_are_warned_about():
    # Two camps of equal strength: the weights drift to one of them, slowly at first; two rounds are too few.
    rng = np.random.default_rng(3)
    truth = rng.integers(2, size=300)
    skill = norm.cdf(np.linspace(-0.2, 0.9, 9))
    said = np.where(rng.random((300, 9)) < skill, truth[:, None], 1 - truth[:, None])
    with pytest.warns(ReliabilityWarning, match=r"^Weights from agreement did not settle in 1 round\. Raise reweight_rounds, "):
        WeightedVote(reweight_rounds=1).solve(Votes.from_labels(said))
