"""Dawid-Skene: golden numbers, EM that never goes down, an EM written out in full, and what it is good for."""

import re
import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from ec3learn import Consensus, DawidSkene, MajorityVote, Votes
from ec3learn.algebra.em import ConfusionModel

from ..strategies import any_tables

W8_ONE_COIN = """
0.999033 0.000691 0.000276  0.011053 0.987850 0.001097  0.993720 0.005504 0.000776  0.000175 0.999686 0.000139
0.000494 0.998399 0.001107  0.000494 0.998396 0.001110  0.107173 0.213070 0.679757  0.003482 0.002450 0.994068"""


def em_in_full(labels, n_classes, smoothing, rounds):
    """EM over single objects with probabilities, not logarithms; labels are objects x voters, -1 for no vote."""
    n_objects, n_voters = labels.shape
    truth = np.zeros((n_objects, n_classes))
    for i, j in np.argwhere(labels >= 0):
        truth[i, labels[i, j]] += 1
    truth /= truth.sum(axis=1, keepdims=True)
    for _ in range(rounds):
        shares = truth.mean(axis=0)
        confusion = np.full((n_voters, n_classes, n_classes), smoothing)  # voter, said, true
        for i, j in np.argwhere(labels >= 0):
            confusion[j, labels[i, j]] += truth[i]
        confusion /= confusion.sum(axis=1, keepdims=True)
        truth = np.tile(shares, (n_objects, 1))
        for i, j in np.argwhere(labels >= 0):
            truth[i] *= confusion[j, labels[i, j]]
        truth /= truth.sum(axis=1, keepdims=True)
    return truth, confusion


@pytest.fixture
def biased():
    """100 questions, 25 annotators who answer all; most of them say "no" far too readily."""
    rng = np.random.default_rng(0)
    truth = rng.random(400) < 0.45
    finds, knows = rng.uniform(0.2, 0.7, 25), rng.uniform(0.85, 0.98, 25)
    said = np.where(truth[:, None], rng.random((400, 25)) < finds, rng.random((400, 25)) > knows)
    return Votes.from_labels({f"a{j}": said[:, j] for j in range(25)}), truth


def test_the_golden_numbers_of_one_coin(w8):
    consensus = DawidSkene(one_coin=True, prior="uniform", tol=1e-15).solve(w8)
    assert_allclose(
        consensus.proba.ravel(), np.array(W8_ONE_COIN.split(), dtype=float), rtol=0, atol=2e-6
    )
    skills = [0.585862, 0.585565, 0.994466]
    prior = (
        0.01 * (np.log(skills) + np.log1p(-np.array(skills))).sum()
    )  # the smoothing, as a prior of each skill
    assert -consensus.solution.objective == pytest.approx(-22.774319 + prior, abs=1e-5)


def test_one_coin_gives_each_classifier_one_skill(w8):
    rule = DawidSkene(one_coin=True, prior="uniform", tol=1e-15).solve(w8).solution.rule
    confusions = np.exp(rule.table).reshape(3, 3, 3)
    for confusion, skill in zip(confusions, [0.585862, 0.585565, 0.994466], strict=True):
        assert_allclose(np.diag(confusion), skill, rtol=0, atol=1e-5)
        assert_allclose(confusion.sum(axis=0), 1, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_em_written_out_in_full_agrees(seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=60)
    labels = np.where(rng.random((60, 6)) < 0.7, truth[:, None], rng.integers(3, size=(60, 6)))
    labels[rng.random((60, 6)) < 0.2] = -1
    labels[:, 0] = np.where(labels[:, 0] < 0, truth, labels[:, 0])
    votes = Votes.from_labels(labels, classes=[0, 1, 2], missing=-1)
    with pytest.warns(ConvergenceWarning):
        ours = DawidSkene(prior="uniform", smoothing=0.1, tol=1e-300, max_iter=7).solve(votes)
    theirs, confusion = em_in_full(labels, 3, 0.1, 7)
    assert_allclose(ours.proba, theirs, rtol=0, atol=1e-9)
    assert_allclose(np.exp(ours.solution.rule.table).reshape(6, 3, 3), confusion, rtol=0, atol=1e-9)


@pytest.mark.parametrize("one_coin", [False, True])
@pytest.mark.parametrize("clusterings", ["ignore", "voters"])
@given(table=any_tables(), smoothing=st.sampled_from([0.01, 0.5]))
@hypothesis_settings(max_examples=25)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_likelihood_never_falls(one_coin, clusterings, table, smoothing):
    method = DawidSkene(
        one_coin=one_coin,
        prior="uniform",
        clusterings=clusterings,
        smoothing=smoothing,
        max_iter=60,
    )
    consensus = method.solve(table.votes(), known=table.known or None)
    scale = 1e-9 * (1 + abs(consensus.solution.objective))
    assert all(later <= earlier + scale for earlier, later in pairwise(consensus.solution.history))


def test_biased_annotators_are_seen_through(biased):
    votes, truth = biased
    assert (MajorityVote().solve(votes).labels() == truth).mean() < 0.8
    assert (DawidSkene().solve(votes).labels() == truth).mean() > 0.95


def test_the_confusion_of_a_biased_annotator_is_found(biased):
    votes, truth = biased
    consensus = DawidSkene().solve(votes)
    column = np.array([votes.said(i)[3] for i in range(400)])
    found = consensus.confusion("a3").columns
    assert found["class"] == [False, True]
    assert found["says True"][1] == pytest.approx(column[truth].mean(), abs=0.08)


def test_clusterings_as_voters_decide_what_classifiers_leave_open():
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=600)
    weak = [np.where(rng.random(600) < 0.5, truth, rng.integers(3, size=600)) for _ in range(3)]
    good = [
        np.where(rng.random(600) < 0.9, truth, rng.integers(3, size=600)) + 10 for _ in range(2)
    ]
    votes = Votes.from_labels(np.stack(weak, axis=1), np.stack(good, axis=1))
    accuracy = {
        c: (DawidSkene(clusterings=c).solve(votes).labels() == truth).mean()
        for c in ("ignore", "voters")
    }
    assert accuracy["voters"] > accuracy["ignore"] + 0.1


def test_ignored_clusterings_change_nothing(w8):
    assert_allclose(
        DawidSkene().solve(w8).proba,
        DawidSkene().solve(w8.drop("k0", "k1")).proba,
        rtol=0,
        atol=1e-12,
    )


def test_known_labels_are_held_and_teach_the_confusions():
    truth = np.array([0, 1] * 20)
    liar = 1 - truth
    votes = Votes.from_labels({"liar": liar, "another": liar, "honest": truth})
    free, taught = (
        DawidSkene().solve(votes),
        DawidSkene().solve(votes, known={i: truth[i] for i in range(10)}),
    )
    assert (free.labels() == liar).all()  # the majority lies
    assert (taught.labels() == truth).all()


def test_a_soft_vote_counts_by_its_shares(w8_table):
    hard = w8_table.votes()
    one_hot = {
        name: np.array([[np.nan] * 3 if z is None else np.eye(3)[z] for z in column])
        for name, column in w8_table.classifiers.items()
    }
    soft = Votes.from_probabilities(one_hot, w8_table.clusterings)
    assert_allclose(
        DawidSkene().solve(soft).proba, DawidSkene().solve(hard).proba, rtol=0, atol=1e-9
    )


def test_evidence_adds_up_to_the_odds(biased):
    consensus = DawidSkene().solve(biased[0])
    explanation = consensus.explain(7)
    total = sum(explanation.parts.values())
    assert explanation.unit == "log evidence"
    assert total[1] - total[0] == pytest.approx(
        np.log(consensus.proba[7, 1] / consensus.proba[7, 0]), abs=1e-6
    )
    assert "In units of log evidence" in repr(explanation)


def test_a_known_label_is_explained_by_itself(w8):
    explanation = DawidSkene().solve(w8, known={0: 2}).explain(0)
    assert list(explanation.parts) == [("known label", "known label")]


REFUSED = {
    "one_coin must be True or False, got 'no'.": {"one_coin": "no"},
    "Unknown clusterings 'votes'. Did you mean 'voters'? Choose from: ignore, voters.": {
        "clusterings": "votes"
    },
    "smoothing must be a finite number > 0, got 0.": {"smoothing": 0},
    "tol must be a finite number > 0, got 0.": {"tol": 0},
    "Unknown prior 'flat'. Choose from: learned, diagonal, uniform.": {"prior": "flat"},
    "max_iter must be an integer >= 1, got 1.5.": {"max_iter": 1.5},
}


@pytest.mark.parametrize("message", REFUSED)
def test_settings_that_make_no_sense_are_refused(w8, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        DawidSkene(**REFUSED[message]).solve(w8)


def test_a_run_that_is_cut_off_says_so(w8):
    wanted = "Dawid-Skene stopped at max_iter=3 before reaching tol=1e-05. Raise max_iter or tol."
    with pytest.warns(ConvergenceWarning, match=f"^{re.escape(wanted)}$"):
        DawidSkene(max_iter=3).solve(w8)


def test_rounds_on_a_crowd_with_one_vote_per_object_cost_the_different_votes_not_the_objects(
    monkeypatch,
):
    rng = np.random.default_rng(0)
    votes = Votes.from_long(
        np.arange(30_000), rng.integers(20, size=30_000), rng.integers(3, size=30_000)
    )
    seen, step = set(), ConfusionModel.e_step
    monkeypatch.setattr(
        ConfusionModel,
        "e_step",
        lambda model, *given: seen.add(model.groups.n_rows) or step(model, *given),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # nothing tells the voters apart
        DawidSkene(prior="uniform", max_iter=20).solve(votes)
    assert seen == {60}


@pytest.mark.parametrize("one_coin", [False, True])
@pytest.mark.parametrize("prior", ["learned", "diagonal", "uniform"])
def test_what_it_learned_can_be_saved_and_answers_for_an_object_without_votes(
    tmp_path, prior, one_coin
):
    votes = Votes.from_labels({"a": [0, 0, 1, 1, 2], "b": [0, 0, 1, 2, 2], "c": [0, 1, 1, 1, 2]})
    consensus = DawidSkene(prior=prior, one_coin=one_coin).solve(votes)
    nothing = Votes.from_labels({"a": [None]}, classes=[0, 1, 2])
    assert_allclose(consensus.extend(nothing).proba.sum(axis=1), 1, rtol=0, atol=1e-12)
    consensus.save(tmp_path / "saved.ec3")
    assert_allclose(
        Consensus.load(tmp_path / "saved.ec3").extend(votes).proba,
        consensus.proba,
        rtol=0,
        atol=1e-9,
    )
