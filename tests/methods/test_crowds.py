"""Real annotators: two public crowds, where they are at hand."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ec3learn import EC3, Auto, DawidSkene, MajorityVote, Votes, WeightedVote

FOLDER = Path(os.environ.get("EC3LEARN_DATA", Path(__file__).parents[3] / "shared" / "data")) / "crowd"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the crowds are not at hand: set EC3LEARN_DATA to their folder")


@pytest.fixture(scope="module", params=["product", "dog"])
def crowd(request):
    answers = pd.read_parquet(FOLDER / f"{request.param}_answers.parquet")
    truth = pd.read_parquet(FOLDER / f"{request.param}_truth.parquet").set_index("question")["truth"]
    votes = Votes.from_long(answers["question"], answers["worker"], answers["answer"])
    return request.param, votes, truth.loc[list(votes.object_ids)].to_numpy()


def accuracy(method, crowd):
    _, votes, truth = crowd
    return float(np.mean(method.solve(votes).labels() == truth))


def test_majority_vote(crowd):
    assert accuracy(MajorityVote(), crowd) == pytest.approx({"product": 0.8966, "dog": 0.8116}[crowd[0]], abs=1e-4)


def test_dawid_skene_sees_through_biased_annotators(crowd):
    assert round(accuracy(DawidSkene(prior="uniform"), crowd), 4) >= {"product": 0.94, "dog": 0.84}[crowd[0]]


def test_one_coin_is_between_majority_and_tables(crowd):
    assert accuracy(DawidSkene(one_coin=True, prior="uniform"), crowd) == pytest.approx(
        {"product": 0.9084, "dog": 0.8302}[crowd[0]], abs=2e-3
    )


def test_iec3_with_agreement_weights(crowd):
    assert accuracy(EC3(weights="agreement"), crowd) >= {"product": 0.905, "dog": 0.825}[crowd[0]]


def test_iec3_towards_dawid_skene_keeps_what_it_has(crowd):
    assert accuracy(EC3(towards=DawidSkene()), crowd) >= accuracy(DawidSkene(), crowd) - 0.01


def test_the_default_is_nearly_as_good_as_the_best_method_on_this_crowd(crowd):
    rivals = (MajorityVote(), WeightedVote(), DawidSkene(prior="uniform"), DawidSkene(one_coin=True, prior="uniform"))
    assert accuracy(Auto(), crowd) >= max(accuracy(method, crowd) for method in rivals) - 0.015
