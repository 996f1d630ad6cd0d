"""Real annotators: two public crowds, where they are at hand; and the answers of crowd-kit, where it is installed."""

import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ec3learn import EC3, DawidSkene, MajorityVote, Panel, Votes, WeightedVote

FOLDER = (
    Path(os.environ.get("EC3LEARN_DATA", Path(__file__).parents[3] / "shared" / "data")) / "crowd"
)


@pytest.fixture(scope="module", params=["product", "dog"])
def crowd(request):
    if not FOLDER.is_dir():
        pytest.skip("the crowds are not at hand: set EC3LEARN_DATA to their folder")
    answers = pd.read_parquet(FOLDER / f"{request.param}_answers.parquet")
    truth = pd.read_parquet(FOLDER / f"{request.param}_truth.parquet").set_index("question")[
        "truth"
    ]
    votes = Votes.from_long(answers["question"], answers["worker"], answers["answer"])
    return request.param, votes, truth.loc[list(votes.object_ids)].to_numpy()


def accuracy(method, crowd):
    _, votes, truth = crowd
    return float(np.mean(method.solve(votes).labels() == truth))


def test_majority_vote(crowd):
    assert accuracy(MajorityVote(), crowd) == pytest.approx(
        {"product": 0.8966, "dog": 0.8116}[crowd[0]], abs=1e-4
    )


def test_dawid_skene_sees_through_biased_annotators(crowd):
    assert (
        round(accuracy(DawidSkene(prior="uniform"), crowd), 4)
        >= {"product": 0.94, "dog": 0.84}[crowd[0]]
    )


def test_one_coin_is_between_majority_and_tables(crowd):
    assert accuracy(DawidSkene(one_coin=True, prior="uniform"), crowd) == pytest.approx(
        {"product": 0.9084, "dog": 0.8302}[crowd[0]], abs=2e-3
    )


def test_iec3_with_agreement_weights(crowd):
    assert accuracy(EC3(weights="agreement"), crowd) >= {"product": 0.905, "dog": 0.825}[crowd[0]]


def test_iec3_towards_dawid_skene_keeps_what_it_has(crowd):
    assert accuracy(EC3(towards=DawidSkene()), crowd) >= accuracy(DawidSkene(), crowd) - 0.01


def test_the_default_is_nearly_as_good_as_the_best_method_on_this_crowd(crowd):
    rivals = (
        MajorityVote(),
        WeightedVote(),
        DawidSkene(prior="uniform"),
        DawidSkene(one_coin=True, prior="uniform"),
    )
    assert accuracy(Panel(), crowd) >= max(accuracy(method, crowd) for method in rivals) - 0.015


# ---- the recipe for users of crowd-kit (docs/tables.md) ------------------------------------------

THEIRS = pytest.mark.filterwarnings("ignore")  # it uses what pandas deprecates


@pytest.fixture(scope="module")
def crowdkit():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(
            "crowdkit.aggregation", reason="crowd-kit is not installed (extra bench)"
        )


@pytest.fixture(scope="module")
def answers():
    """Return a crowd as crowd-kit takes it: 25 workers who each confuse three classes in their own way, 7 on each task."""
    rng = np.random.default_rng(0)
    confusion = 0.4 * rng.dirichlet(np.ones(3), size=(25, 3)) + 0.6 * np.eye(3)
    rows = [
        (f"q{task:03d}", f"w{worker:02d}", "abc"[rng.choice(3, p=confusion[worker, task % 3])])
        for task in range(300)
        for worker in rng.choice(25, 7, replace=False)
    ]
    return pd.DataFrame(rows, columns=["task", "worker", "label"])


def solved(method, answers):
    return method.solve(Votes.from_long(answers["task"], answers["worker"], answers["label"]))


def proba(consensus):
    return pd.DataFrame(consensus.proba, consensus.object_ids, consensus.classes)


@THEIRS
def test_the_majority_vote_is_that_of_crowd_kit_except_on_ties(crowdkit, answers):
    theirs, consensus = crowdkit.MajorityVote().fit(answers), solved(MajorityVote(), answers)
    ours = proba(consensus)
    np.testing.assert_allclose(ours, theirs.probas_.loc[ours.index, ours.columns], atol=1e-12)
    untied = consensus.margin > 1e-9
    assert 200 < untied.sum() < 300
    assert (consensus.labels() == theirs.labels_[ours.index])[untied].all()
    voters = consensus.voters()
    np.testing.assert_allclose(
        voters["agreement"], theirs.skills_[voters["model"]], atol=0.05
    )  # which count the ties


@THEIRS
def test_dawid_skene_is_that_of_crowd_kit_where_both_have_converged(crowdkit, answers):
    theirs = crowdkit.DawidSkene(n_iter=2000, tol=1e-12).fit(answers)
    consensus = solved(DawidSkene(prior="uniform", smoothing=1e-9, tol=1e-12), answers)
    ours = proba(consensus)
    assert (consensus.labels() == theirs.labels_[ours.index]).all()
    np.testing.assert_allclose(ours, theirs.probas_.loc[ours.index, ours.columns], atol=1e-3)
    errors = (
        theirs.errors_.loc["w03"].loc[list("abc"), list("abc")].to_numpy()
    )  # rows: what it says
    confusion = consensus.confusion("w03")
    np.testing.assert_allclose(
        np.array([confusion[f"says {label}"] for label in "abc"]), errors, atol=0.05
    )


@THEIRS
def test_known_labels_are_the_true_labels_of_crowd_kit(crowdkit, answers):
    true = pd.Series({"q000": "c", "q001": "a"})
    theirs = crowdkit.DawidSkene(n_iter=2000, tol=1e-12).fit(answers, true_labels=true)
    votes = Votes.from_long(answers["task"], answers["worker"], answers["label"])
    ours = proba(
        DawidSkene(prior="uniform", smoothing=1e-9, tol=1e-12).solve(votes, known=true.to_dict())
    )
    assert (ours.idxmax(axis=1) == theirs.labels_[ours.index]).all()
