"""How often an answer is right: cross-validated on known labels, and by labels it was not given."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import roc_auc_score

from ec3learn import EC3, MajorityVote, Panel, SoftVote, Votes, WeightedVote, combine, solve
from ec3learn.demo import demo_votes
from ec3learn.diagnosis import cross_validate, judge
from ec3learn.diagnosis.score import cross_fit, quality
from ec3learn.diagnosis.summary import score_notes

TRUTH = np.tile([0, 1], 30)
VOTES = Votes.from_labels({"good": TRUTH, "too": TRUTH, "bad": np.zeros(60, dtype=int)})


def test_a_hidden_label_is_not_known_to_the_answer_that_is_judged():
    votes = Votes.from_labels({"lies": 1 - TRUTH, "too": 1 - TRUTH})
    found = cross_validate(SoftVote().solve(votes, known=TRUTH), SoftVote())
    assert (found.n_labels, found.accuracy, found.by_majority) == (60, 0, 0)


class Spy(EC3):
    """A method that remembers the known labels it was given."""

    asked: ClassVar[list] = []

    def solve(self, votes, known=None, **options):
        self.asked.append(known)
        return super().solve(votes, known, **options)


def test_every_label_is_hidden_once_and_the_others_are_known():
    consensus = EC3().solve(VOTES, known=TRUTH)
    cross_fit(consensus.solution, Spy())
    hidden = np.array([[label is None for label in known] for known in Spy.asked])
    assert hidden.sum(axis=0).tolist() == [1] * 60


@pytest.mark.parametrize(("method", "said"), [(MajorityVote(), None), (EC3(), 1.0)])
def test_the_majority_vote_is_not_compared_with_itself(method, said):
    found = cross_validate(method.solve(VOTES, known=TRUTH), method)
    assert found.by_majority == said
    assert ("by majority vote" in str(found)) == (said is not None)


def test_too_few_labels_say_nothing():
    assert cross_validate(EC3().solve(VOTES, known={i: TRUTH[i] for i in range(19)}), EC3()) is None
    assert cross_validate(EC3().solve(VOTES), EC3()) is None


def test_a_better_majority_vote_is_told_from_chance():
    method = WeightedVote(weights=[0.1, 0.1, 9])
    found = cross_validate(method.solve(VOTES, known=TRUTH), method)
    assert (found.accuracy, found.by_majority, score_notes(found)[0].kind) == (
        0.5,
        1.0,
        "worse than majority",
    )
    assert "it is right on 30 objects and the consensus on 0 (p =" in str(score_notes(found)[0])
    few = cross_validate(
        method.solve(VOTES, known={i: TRUTH[i] for i in (*range(0, 40, 2), 1, 3, 5, 7)}), method
    )
    assert few.wins == (0, 4)
    assert "worse than majority" not in {note.kind for note in score_notes(few)}
    assert str(few).endswith("100.0 % by majority vote (inconclusive)")


def test_an_answer_that_is_surer_than_right_is_overconfident():
    votes = Votes.from_labels(
        {"a": np.zeros(60, dtype=int), "b": np.zeros(60, dtype=int)}, classes=[0, 1]
    )
    assert cross_validate(MajorityVote().solve(votes, known=TRUTH), MajorityVote()).overconfident
    assert not cross_validate(
        MajorityVote().solve(VOTES, known=TRUTH), MajorityVote()
    ).overconfident


def test_the_interval_is_that_of_wilson():
    found = cross_validate(
        MajorityVote().solve(VOTES, known=np.where(np.arange(60) < 50, TRUTH, 1 - TRUTH)),
        MajorityVote(),
    )
    z, p, n = 1.959964, 50 / 60, 60
    middle, half = p + z * z / (2 * n), z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    assert found.interval == pytest.approx(
        ((middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)), abs=1e-6
    )


def test_labels_the_method_was_given_do_not_judge_it():
    consensus = EC3().solve(VOTES, known={0: 1, 1: 0})
    assert judge(consensus, {0: 1, 1: 0}) is None
    found = judge(consensus, TRUTH)
    assert (found.n_labels, found.accuracy) == (58, 1.0)
    assert found.confusion.tolist() == [[29, 0], [0, 29]]


@pytest.mark.filterwarnings("ignore::ec3learn.answer.ExtendWarning")
def test_a_vote_for_a_class_the_answer_does_not_have_is_wrong():
    consensus = EC3().solve(Votes.from_labels({"a": ["x", "y"]}))
    new = consensus.extend(Votes.from_labels({"a": ["x", "y"], "b": ["z", "z"], "c": ["z", "z"]}))
    found = judge(new, ["x", "y"])
    assert (found.consensus.accuracy, found.majority.accuracy) == (1.0, 0.0)


# ---- is the majority vote better? ----------------------------------------------------------------


def better_than_majority():
    """400 objects, of which weights by skill answer 91 % correctly and the majority vote 89 %; and the truth."""
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=400)
    skills = np.array([0.9, 0.7, 0.7, 0.7, 0.7])
    said = np.where(rng.random((400, 5)) < skills, truth[:, None], 1 - truth[:, None])
    return Votes.from_labels(said), truth


def test_with_50_labels_a_better_method_is_hardly_ever_called_worse():
    votes, truth = better_than_majority()
    consensus = WeightedVote(weights=[4, 1, 1, 1, 1]).solve(votes)
    gap = np.mean(consensus.labels() == truth) - np.mean(
        MajorityVote().solve(votes).labels() == truth
    )
    rng, found = np.random.default_rng(0), []
    for _ in range(100):
        some = rng.choice(400, 50, replace=False)
        found.append(judge(consensus, (some, truth[some])))
    assert gap > 0.02
    assert sum(score.wins[1] > score.wins[0] for score in found) > 10  # by chance
    assert (
        sum(s.wins[1] > s.wins[0] and not s.inconclusive for s in found) <= 5
    )  # the level of the test, 5 %


@pytest.mark.parametrize(
    ("method", "compared"), [(MajorityVote(), False), (SoftVote(), True), (EC3(), True)]
)
def test_nothing_is_said_of_the_majority_vote_itself_or_of_ties(method, compared):
    rng = np.random.default_rng(0)
    said = np.where(rng.random((60, 3)) < 0.7, TRUTH[:, None], 1 - TRUTH[:, None])
    consensus = method.solve(Votes.from_labels(said), known=TRUTH)
    summary = consensus.summary(method)
    assert summary.held_out is not None
    assert summary.held_out.by_majority == (summary.held_out.accuracy if compared else None)
    assert summary.warning is None
    assert method.solve(Votes.from_labels(said)).summary(truth=TRUTH).warning is None


# ---- measures ------------------------------------------------------------------------------------


def test_the_measures_of_quality_by_hand():
    labels, truth = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])
    measured = quality(np.eye(3)[labels], labels, truth, np.ones(4))
    assert measured.f_score == pytest.approx((2 / 3 + 4 / 5) / 2)
    proba = np.array([[0.1, 0.9], [0.0, 1.0], [0.5, 0.5]])
    measured = quality(proba, np.array([1, 1, 0]), np.array([1, 0, 0]), np.ones(3))
    assert measured.calibration == [(0.5, 1.0, 1), (0.95, 0.5, 2)]
    assert measured.calibration_error == pytest.approx((0.5 + 0.9) / 3)
    assert measured.auc == 0.5


def test_a_difference_is_judged_by_the_test_of_mcnemar():
    # 2 / 2**5 > 0.05 > 2 / 2**6
    found = judge(EC3().solve(VOTES), TRUTH)
    scores = [replace(found, wins=(0, n)) for n in (0, 5, 6)]
    assert [score.inconclusive for score in scores] == [False, True, False]
    assert scores[1].p_value == pytest.approx(2 / 32)


def test_the_mean_area_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(3), 200).round(2)  # with ties
    proba[:, 2] = 1 - proba[:, 0] - proba[:, 1]
    codes = rng.integers(3, size=200)
    assert quality(proba, codes, codes, np.ones(200)).auc == pytest.approx(
        roc_auc_score(codes, np.abs(proba), multi_class="ovr"), abs=1e-6
    )


def test_quality_by_weights_is_that_of_repeated_objects():
    rng = np.random.default_rng(0)
    proba, truth, weight = (
        rng.dirichlet(np.ones(3), 50).round(1),
        rng.integers(3, size=50),
        rng.integers(4, size=50),
    )
    labels = proba.argmax(axis=1)
    one, other = (
        quality(proba[chosen], labels[chosen], truth[chosen], counts)
        for chosen, counts in (
            (slice(None), weight),
            (np.repeat(np.arange(50), weight), np.ones(weight.sum())),
        )
    )
    assert (one.accuracy, one.f_score, one.auc) == pytest.approx(
        (other.accuracy, other.f_score, other.auc)
    )
    assert one.calibration_error == pytest.approx(other.calibration_error)


def test_objects_without_weight_do_not_make_a_class_occur():
    proba = np.array([[0.9, 0.1], [0.2, 0.8]])
    assert quality(proba, np.array([0, 1]), np.array([0, 1]), np.array([1, 0])).auc is None


# ---- one number by every route -------------------------------------------------------------------


def by_every_route(table, tmp_path, method):
    """The answer for one table: in memory, in another order, lazily, and from a file."""
    table.write_csv(tmp_path / "votes.csv")
    mixed = table.sample(fraction=1.0, shuffle=True, seed=1)
    lazy = pl.scan_csv(tmp_path / "votes.csv")
    options = {
        "classifiers": ["svm", "tree", "bayes"],
        "clusterings": "kmeans",
        "known": "gold",
        "method": method,
    }
    for each in (table, mixed, table.lazy(), lazy):
        yield combine(each, **options, return_consensus=True)[1]


@pytest.mark.parametrize("method", [Panel(), SoftVote(), EC3()])
def test_the_same_votes_and_labels_give_the_same_numbers_by_every_route(tmp_path, method):
    names = ("svm", "tree", "bayes", "kmeans", "gold")
    table = pl.DataFrame({name: list(demo_votes()[name]) for name in names})
    scores, shares = [], []
    for consensus in by_every_route(table, tmp_path, method):
        score = cross_validate(consensus, method)
        scores.append((score.accuracy, score.by_majority, score.consensus.log_loss))
        shares.append(consensus.summary(method).classes["estimate"])
        assert consensus.summary().classes["estimate"] == shares[-1]
    for score, share in zip(scores, shares, strict=True):
        assert score == pytest.approx(scores[0], abs=1e-9)
        assert share == pytest.approx(shares[0], abs=1e-9)


def test_the_summary_estimates_what_estimate_does_by_the_answer_without_the_labels():
    votes = Votes.from_labels({m: demo_votes()[m] for m in ("svm", "knn", "tree")})
    gold = {i: label for i, label in enumerate(demo_votes()["gold"]) if label is not None}
    table = solve(votes).estimate(known=gold)
    shown = solve(votes, known=gold).summary().classes
    for name, column in (("value", "estimate"), ("low", "low"), ("high", "high")):
        assert shown[column] == pytest.approx(table[name][:-1])


def test_the_quality_of_three_answers_by_hand():
    proba = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    found = quality(proba, np.array([0, 1, 0]), np.array([0, 1, 1]), np.array([1.0, 2, 1]))
    assert found.accuracy == 3 / 4
    assert found.confidence == pytest.approx((0.9 + 2 * 0.8 + 0.6) / 4)
    assert found.log_loss == pytest.approx(-(np.log(0.9) + 2 * np.log(0.8) + np.log(0.4)) / 4)
    assert found.calibration_error == pytest.approx((0.1 + 2 * 0.2 + 0.6) / 4)
