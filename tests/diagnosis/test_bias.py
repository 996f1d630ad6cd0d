"""Biased voters are told from unreliable ones, and an answer that suffers from bias is noted."""

import numpy as np
import pytest

from ec3learn import DawidSkene, MajorityVote, Votes
from ec3learn.answer.notes import BIAS
from ec3learn.diagnosis.bias import bias_of, judge_bias


def annotators(threshold, n_objects=300, n_annotators=15):
    """Yes-or-no questions; annotators see the truth through noise and say yes above a threshold."""
    rng = np.random.default_rng(0)
    truth = rng.random(n_objects) < 0.45
    seen = rng.normal(size=(n_objects, n_annotators)) + np.where(truth, 0.65, -0.65)[:, None]
    said = seen > threshold + rng.normal(0, 0.3, n_annotators)
    return Votes.from_labels({f"a{j}": said[:, j] for j in range(n_annotators)})


def test_annotators_who_say_yes_too_rarely_are_biased_and_the_majority_suffers():
    consensus = MajorityVote().solve(annotators(1.0))
    bias = judge_bias(consensus.votes, None, [consensus.row_proba])
    assert bias.biased
    assert bias.apart[0] > 0.1
    note = bias_of(consensus)
    assert note.kind == BIAS
    assert f"answers otherwise for {bias.apart[0]:.0%} of the objects" in note.text


def test_dawid_skene_itself_has_no_such_note():
    assert bias_of(DawidSkene().solve(annotators(1.0))) is None


def test_unreliable_annotators_are_not_biased():
    votes = annotators(0.0)
    assert bias_of(MajorityVote().solve(votes)) is None


def test_a_sample_of_many_rows_is_judged(monkeypatch):
    consensus = MajorityVote().solve(annotators(1.0))
    monkeypatch.setattr("ec3learn.diagnosis.bias.SAMPLE", 100)
    assert consensus.votes.n_rows > 100
    assert judge_bias(consensus.votes, None, [consensus.row_proba]).biased


@pytest.mark.parametrize("table", [{"a": [0, 1], "b": [1, 1]}, {"a": [0, 0], "b": [0, 0], "c": [0, 0]}])
def test_two_voters_or_one_class_are_too_few_to_tell(table):
    votes = Votes.from_labels(table)
    assert judge_bias(votes, None, [MajorityVote().solve(votes).row_proba]) is None
