"""Classifiers whose votes should not be trusted."""

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from ec3learn import MajorityVote, Votes
from ec3learn.diagnosis import doubts, kappa
from ec3learn.diagnosis.metrics import confusion

GOOD = np.tile(["a", "b"], 300)


def doubted(**said):
    votes = Votes.from_labels({f"good{m}": GOOD for m in range(5)} | said)
    return {row["model"]: (row["doubt"], row["says"]) for row in doubts(MajorityVote().solve(votes)).rows()}


def test_each_doubt_has_its_name():
    guess = np.random.default_rng(0).permutation(GOOD)
    turned = np.where(GOOD == "a", "b", "a")
    assert doubted(turned=turned, guess=guess, lazy=["b"] * 600) == {
        "turned": ("worse than chance", None),
        "guess": ("no better than chance", None),
        "lazy": ("always says the same", "b"),
    }


def test_good_classifiers_are_not_doubted():
    assert doubted() == {}


def test_nothing_is_said_of_few_votes():
    assert doubted(turned=[{"a": "b", "b": "a"}[x] for x in GOOD[:29]] + [None] * 571) == {}


def test_who_always_says_the_same_where_nearly_all_is_that_is_not_doubted():
    mostly = np.where(np.arange(60) < 3, "b", "a")
    votes = Votes.from_labels({"one": mostly, "two": mostly, "lazy": ["a"] * 60})
    assert len(doubts(MajorityVote().solve(votes))) == 0


def test_kappa_is_that_of_scikit_learn():
    ours, theirs = np.random.default_rng(0).integers(3, size=(2, 200))
    theirs = np.where(np.arange(200) % 2, ours, theirs)
    found = kappa(confusion(ours, theirs, 3, np.ones(200)), np.arange(3))
    assert found.kappa == pytest.approx(cohen_kappa_score(ours, theirs))


def test_a_guesser_is_called_worse_than_chance_once_in_a_hundred_times():
    rng = np.random.default_rng(0)
    truth = rng.choice(3, 200, p=[0.6, 0.3, 0.1])
    tables = (confusion(truth, rng.choice(3, 200, p=[0.5, 0.2, 0.3]), 3, np.ones(200)) for _ in range(4000))
    found = [kappa(table, np.arange(3)) for table in tables]
    assert 0.005 < np.mean([one.kappa < -one.noise for one in found]) < 0.016
