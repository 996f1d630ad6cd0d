"""Close calls, and how objects count."""

import numpy as np

from ec3learn import EC3, SoftVote, Votes
from ec3learn.diagnosis import close_calls, summarise
from ec3learn.diagnosis.counting import object_weights, row_weights

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
