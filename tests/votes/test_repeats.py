"""Several votes of a voter on one object."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ec3learn import EC3, DawidSkene, MajorityVote, SoftVote, Votes
from ec3learn.answer.notes import REPEATS

OBJECTS = ["q1", "q1", "q1", "q1", "q2"]
VOTERS = ["ann", "ann", "ann", "bob", "bob"]
LABELS = ["a", "b", "a", "b", "b"]


def test_repeated_votes_are_one_soft_vote():
    votes = Votes.from_long(OBJECTS, VOTERS, LABELS)
    ann, bob = votes.said(0)
    assert ann == pytest.approx({"a": 2 / 3, "b": 1 / 3})
    assert bob == "b"
    assert votes.n_repeated == 2
    assert_array_equal(votes.n_votes, [1, 2])


@pytest.mark.parametrize(("repeats", "said"), [("first", "a"), ("last", "b")])
def test_the_first_or_the_last_of_repeated_votes_is_kept(repeats, said):
    votes = Votes.from_long(["q1", "q1"], ["ann", "ann"], ["a", "b"], classes=["a", "b"], repeats=repeats)
    assert votes.said(0) == [said]


def test_a_repeat_of_the_same_label_is_one_whole_vote():
    votes = Votes.from_long(["q1", "q1", "q2"], ["ann"] * 3, ["a", "a", "b"])
    assert [votes.said(0), votes.said(1)] == [["a"], ["b"]]


def test_a_note_counts_repeated_votes():
    (note,) = MajorityVote().solve(Votes.from_long(OBJECTS, VOTERS, LABELS)).notes
    assert note.kind == REPEATS
    assert str(note) == (
        "2 votes repeated a voter's vote on the same object: repeats says what becomes of them, by default one soft vote."
    )


def test_a_repeated_vote_counts_for_its_most_frequent_label_in_the_majority_vote():
    votes = Votes.from_long(OBJECTS, VOTERS, LABELS)
    assert_allclose(MajorityVote().solve(votes).proba, [[0.5, 0.5], [0, 1]])
    assert_allclose(SoftVote().solve(votes).proba, [[1 / 3, 2 / 3], [0, 1]])


@pytest.mark.parametrize("method", [SoftVote(), MajorityVote(), EC3(), DawidSkene()])
def test_repeated_votes_give_the_answer_of_the_same_soft_votes(method):
    rng = np.random.default_rng(0)
    shares = rng.multinomial(3, [0.5, 0.3, 0.2], size=(40, 5)) / 3  # three votes of each of five voters
    soft = Votes.from_probabilities({f"v{v}": shares[:, v] for v in range(5)})
    objects, voters, classes = np.nonzero(shares)
    times = np.rint(3 * shares[objects, voters, classes]).astype(int)
    long = Votes.from_long(np.repeat(objects, times), [f"v{v}" for v in np.repeat(voters, times)], np.repeat(classes, times))
    assert_allclose(method.solve(long).proba, method.solve(soft).proba, atol=1e-9)
