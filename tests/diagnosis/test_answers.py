"""Close calls, how objects count, and the majority vote beside the answer."""

import numpy as np
import pytest

from ec3learn import EC3, MajorityVote, SoftVote, Votes, WeightedVote
from ec3learn.diagnosis import close_calls, majority, summarise
from ec3learn.diagnosis.majority import changed_rows, object_weights, row_weights

SAID = {"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}


def test_one_threshold_holds_for_the_summary_and_the_report(tmp_path):
    consensus = SoftVote().solve(Votes.from_labels(SAID))
    assert consensus.expand(close_calls(consensus)).tolist() == [False, True, True, False]
    assert summarise(consensus).contested == 0.5
    consensus.report(tmp_path / "page.html")
    assert "50.0 % of all objects are close calls" in (tmp_path / "page.html").read_text("utf-8")


def test_known_labels_are_no_close_calls():
    consensus = EC3(known_weight=0.01).solve(Votes.from_labels(SAID), known={1: 0})
    assert consensus.expand(close_calls(consensus)).tolist()[1] is False


def test_weights_that_are_counts_stay_and_others_add_up_to_the_objects():
    counts, shares = ([2, 1, 3, 1], [0.2, 0.1, 0.3, 0.4])
    one, other = (EC3().solve(Votes.from_labels(SAID, sample_weight=weight)) for weight in (counts, shares))
    assert object_weights(one).tolist() == counts
    assert np.allclose(object_weights(other), np.array(shares) * 4)
    assert row_weights(one).sum() == 7


# ---- the majority vote beside the answer -----------------------------------------------------------------------------


def test_it_is_the_answer_of_the_method():
    rng = np.random.default_rng(0)
    votes = Votes.from_labels({f"m{m}": rng.integers(4, size=200) for m in range(5)}, {"k": rng.integers(3, size=200)})
    consensus = EC3().solve(votes, known={3: 1, 8: 2})
    labels = consensus.classes[consensus.expand(majority(consensus).classes)]
    assert np.array_equal(labels, MajorityVote().solve(votes).labels())


def test_ties_are_found():
    consensus = MajorityVote().solve(Votes.from_labels({"a": [0, 0, 1], "b": [0, 1, 1]}))
    assert consensus.expand(majority(consensus).tied).tolist() == [False, True, False]


@pytest.mark.filterwarnings("ignore::ec3learn.ExtendWarning")
def test_a_class_that_the_answer_does_not_have_is_marked():
    consensus = MajorityVote().solve(Votes.from_labels({"a": ["x", "y"]}))
    new = consensus.extend(Votes.from_labels({"a": ["x", "y"], "new": ["z", "z"], "newer": ["z", "z"]}))
    assert majority(new).classes.tolist() == [-1, -1]


def test_labels_that_were_held_fixed_are_not_counted_as_changed():
    votes = Votes.from_labels({"a": [0, 0, 1], "b": [0, 1, 1], "c": [1, 1, 1]})
    consensus = WeightedVote(weights=[1, 1, 9]).solve(votes, known={1: 0})
    assert consensus.expand(changed_rows(consensus, majority(consensus))).tolist() == [True, False, False]


def test_without_votes_there_is_none(tmp_path):
    consensus = MajorityVote().solve(Votes.from_labels({"a": [0, 1]}))
    consensus.save(tmp_path / "saved", objects=True)
    assert majority(type(consensus).load(tmp_path / "saved")) is None
