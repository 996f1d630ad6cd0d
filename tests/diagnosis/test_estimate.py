"""Shares and accuracies with intervals, from few labels."""

import re

import numpy as np
import pytest

from ec3learn import MajorityVote, Votes
from ec3learn.diagnosis.estimate import prediction_powered


def jury(seed=0, n=3000):
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < 0.3).astype(int)
    said = np.where(rng.random((n, 5)) < np.where(truth, 0.7, 0.85)[:, None], truth[:, None], 1 - truth[:, None])
    return MajorityVote().solve(Votes.from_labels(said)), truth


def test_by_hand():
    # w = Cov(y, f) / ((1 + 4/4) Var f) = (1/3) / (2 x 2/7) = 7/12, with all eight f for the variance
    y, f, rest = np.array([0.0, 0, 1, 1]), np.array([0.0, 0, 1, 1]), np.array([0.0, 0, 1, 1])
    found = prediction_powered(y, f, rest)
    assert found.value == pytest.approx(0.5)
    w, spread = 7 / 12, 2 / 7
    variance = np.var(y - w * f, ddof=1) / 4 + w**2 * spread / 4
    assert found.high - found.value == pytest.approx(min(1.959964 * np.sqrt(variance), 0.5), abs=1e-6)


def test_useless_answers_leave_the_labels_alone():
    rng = np.random.default_rng(0)
    y = (rng.random(200) < 0.4).astype(float)
    found = prediction_powered(y, np.full(200, 0.5), np.full(5000, 0.5))
    assert found.value == pytest.approx(y.mean())
    assert found.worth == pytest.approx(200)


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    consensus, truth = jury()
    answers = consensus.labels()
    held = []
    for draw in range(300):
        chosen = np.random.default_rng(draw).choice(len(truth), 100, replace=False)
        table = consensus.estimate(1, known={int(i): int(truth[i]) for i in chosen})
        wanted = [truth.mean(), (answers == truth).mean()]
        held.append([low <= value <= high for low, value, high in zip(table["low"], wanted, table["high"], strict=True)])
    assert np.all((np.mean(held, axis=0) > 0.91) & (np.mean(held, axis=0) < 0.985))


def test_answers_make_labels_worth_more():
    consensus, truth = jury()
    table = consensus.estimate(1, known={i: int(truth[i]) for i in range(200)})
    assert table["labels"] == [200, 200]
    assert table["worth"][0] > 300
    assert table["high"][0] - table["low"][0] < table["plain_high"][0] - table["plain_low"][0]


@pytest.mark.parametrize(
    ("label", "known", "message"),
    [
        (7, dict.fromkeys(range(20), 0), "Unknown label 7. Choose from: 0, 1."),
        (1, {0: 0}, "known must have at least 10 labels, got 1."),
    ],
)
def test_what_cannot_be_estimated_is_refused(label, known, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        jury()[0].estimate(label, known)


def test_labels_that_the_answer_was_given_are_refused():
    votes = Votes.from_labels({"a": [0, 1] * 20, "b": [0, 1] * 20})
    known = {i: i % 2 for i in range(15)}
    with pytest.raises(ValueError, match=r"^known must be labels that the answer was made without, got some that it was given\."):
        MajorityVote().solve(votes, known=known).estimate(1, known)
