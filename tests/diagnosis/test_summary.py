"""What a person is told first: counts, who is right on hidden labels, and which votes should not be believed."""

import numpy as np
import pandas as pd
import pytest

from ec3learn import EC3, DawidSkene, Votes, WeightedVote
from ec3learn.answer.notes import BIAS
from ec3learn.diagnosis import summarise


def crowd(order):
    """Return a crowd of eight annotators on 200 tasks, and the truth of some; `order` names the tasks."""
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=200)
    voters = np.repeat(np.arange(8), 200)
    right = rng.random(1600) < np.repeat([0.9, 0.9, 0.85, 0.6, 0.55, 0.5, 0.5, 0.5], 200)
    labels = np.where(right, np.tile(truth, 8), 1 - np.tile(truth, 8))
    names = np.asarray(order)
    known = {names[i]: int(truth[i]) for i in range(60)}
    return Votes.from_long(np.tile(names, 8).tolist(), [f"w{v}" for v in voters], labels), known


@pytest.mark.parametrize("names", [[f"task {i}" for i in range(200)], list(range(200, 0, -1)), list(range(200))])
def test_known_labels_are_hidden_in_turn_whatever_objects_are_called(names):
    votes, known = crowd(names)
    method = WeightedVote(weights="labels")
    held_out = summarise(method.solve(votes, known), method).held_out
    assert held_out.n_labels == 60
    assert held_out.accuracy >= 0.85


def judges(n=2000):
    """Return three fair judges, one that always says "good", one that turns the first two classes around, and biased ones."""
    rng = np.random.default_rng(1)
    truth = rng.choice(["good", "bad", "unsure"], n, p=[0.5, 0.35, 0.15])
    said = {}
    for j in range(3):
        said[f"fair {j}"] = np.where(rng.random(n) < 0.8, truth, rng.choice(["good", "bad", "unsure"], n))
    said["always"] = np.full(n, "good")
    turned = pd.Series(truth).map({"good": "bad", "bad": "good", "unsure": "unsure"}).to_numpy()
    for j in range(2):
        said[f"turned {j}"] = np.where(rng.random(n) < 0.9, turned, rng.choice(["good", "bad", "unsure"], n))
    return Votes.from_labels(said)


def test_votes_that_tell_nothing_and_bias_are_noted():
    notes = summarise(EC3().solve(judges())).notes
    assert notes[0].text.startswith("Always the same label: always ('good'). Such votes carry no information about an object.")
    assert any(note.kind == BIAS for note in notes)


def test_a_method_that_allows_for_bias_has_no_such_note():
    assert not any(note.kind == BIAS for note in summarise(DawidSkene().solve(judges())).notes)


def test_good_votes_have_no_notes():
    votes = Votes.from_labels({name: ["a", "b"] * 50 for name in ("svm", "knn", "tree")})
    assert summarise(EC3().solve(votes)).notes == ()
