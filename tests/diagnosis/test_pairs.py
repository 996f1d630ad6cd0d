"""Base models compared two by two."""

import numpy as np
import pytest
from sklearn.metrics import normalized_mutual_info_score

from ec3learn import EC3, MajorityVote, Votes
from ec3learn.diagnosis import normalised_mutual_information, pairs


def test_agreement_is_the_share_of_objects_both_voted_on():
    votes = Votes.from_labels({"a": [0, 1] * 20, "b": [0, 0] * 15 + [None] * 10})
    found = pairs(MajorityVote().solve(votes))
    assert found.similarity[0, 1] == 0.5
    assert found.common[0, 1] == 30


def test_nothing_is_said_of_few_objects_in_common():
    votes = Votes.from_labels({"a": [0, 1] * 20, "b": [0, 1] * 14 + [None] * 12})
    found = pairs(MajorityVote().solve(votes))
    assert np.isnan(found.similarity[0, 1])
    assert found.redundant == []


def test_clusterings_are_compared_by_the_mutual_information_of_scikit_learn():
    one, other = np.random.default_rng(0).integers(4, size=(2, 300))
    other = np.where(np.arange(300) % 3, one, other)
    found = pairs(EC3().solve(Votes.from_labels({"a": one}, {"k": one, "l": other})), "clustering")
    expected = normalized_mutual_info_score(one, other)
    assert found.similarity[0, 1] == pytest.approx(expected)
    assert normalised_mutual_information(np.histogram2d(one, other, bins=4)[0]) == pytest.approx(expected)


def test_similar_models_are_next_to_each_other():
    rng = np.random.default_rng(0)
    one, other = rng.integers(2, size=(2, 300))
    said = {
        f"{'ab'[m % 2]}{m}": np.where(rng.random(300) < 0.9, (one, other)[m % 2], rng.integers(2, size=300)) for m in range(8)
    }
    families = [name[0] for name in pairs(MajorityVote().solve(Votes.from_labels(said))).names]
    assert sorted(families[:4]) in (["a"] * 4, ["b"] * 4)


def redundant(said, **options):
    found = pairs(MajorityVote().solve(Votes.from_labels(said)), **options)
    return [{found.names[i], found.names[j]} for i, j in found.redundant]


def test_two_that_never_depart_from_the_answer_are_not_redundant():
    mostly = np.where(np.arange(100) < 5, "b", "a")
    assert redundant({"one": mostly, "two": mostly, "three": mostly}) == []


def test_a_copy_is_redundant_but_not_where_others_do_not_replace_its_votes():
    good, own = np.tile(["a", "b"], 100), np.tile(["a", "b", "a", "a"], 50)
    said = {f"good{m}": good for m in range(4)} | {"own": own.astype(object), "copy": own.astype(object)}
    assert redundant(said) == [{"own", "copy"}]
    said["own"][:60], said["copy"][140:] = None, None  # each alone has votes on 60 objects
    assert redundant(said) == []
