"""The interface of crowd-kit: its contract, and its own answers where it is installed."""

import importlib

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import ec3learn
from ec3learn.compat import crowdkit

AGGREGATORS = [getattr(crowdkit, name) for name in crowdkit.__all__]


@pytest.fixture(scope="module")
def crowd() -> pd.DataFrame:
    """120 tasks of three classes, five votes each by 15 workers, who are right in 50 to 95 %."""
    rng, rows = np.random.default_rng(0), []
    right = rng.uniform(0.5, 0.95, 15)
    for task, truth in enumerate(rng.integers(3, size=120)):
        for worker in rng.choice(15, 5, replace=False):
            said = truth if rng.random() < right[worker] else rng.integers(3)
            rows.append((f"t{task}", f"w{worker}", "abc"[said]))
    return pd.DataFrame(rows, columns=["task", "worker", "label"])


@pytest.mark.parametrize("aggregator", AGGREGATORS, ids=lambda each: each.__name__)
def test_an_aggregator_keeps_the_contract_of_crowd_kit(aggregator, crowd):
    fitted = aggregator()
    assert fitted.fit(crowd) is fitted
    assert fitted.fit_predict(crowd) is fitted.labels_
    assert fitted.fit_predict_proba(crowd) is fitted.probas_
    assert (fitted.labels_.name, fitted.labels_.index.name) == ("agg_label", "task")
    assert (fitted.skills_.name, fitted.skills_.index.name) == ("skill", "worker")
    assert (fitted.probas_.columns.name, fitted.probas_.index.name) == ("label", "task")
    assert set(fitted.labels_.index) == set(crowd["task"])
    assert set(fitted.skills_.index) == set(crowd["worker"])
    assert_allclose(fitted.probas_.sum(axis=1), 1)
    assert (fitted.probas_.idxmax(axis=1) == fitted.labels_).mean() > 0.98  # but for ties
    assert fitted.labels_.tolist() == fitted.consensus_.labels().tolist()


@pytest.mark.parametrize("column", ["task", "worker", "label"])
def test_a_table_without_a_column_is_a_key_error_as_there(column, crowd):
    with pytest.raises(KeyError, match=column):
        crowdkit.MajorityVote().fit_predict(crowd.drop(columns=column))


def test_an_aggregator_does_what_solve_does(crowd):
    votes = ec3learn.Votes.from_long(crowd["task"], crowd["worker"], crowd["label"])
    assert_allclose(crowdkit.Aggregator().fit_predict_proba(crowd), ec3learn.solve(votes).proba)


def test_known_labels_and_skills_reach_the_method(crowd):
    known = pd.Series({"t0": "c", "t1": "a"})
    assert crowdkit.DawidSkene().fit_predict(crowd, true_labels=known)[["t0", "t1"]].tolist() == [
        "c",
        "a",
    ]
    three = crowd[crowd["worker"].isin(["w0", "w1", "w2"])]
    skills = pd.Series({"w0": 9.0, "w1": 1.0, "w2": 1.0})
    labels = crowdkit.MajorityVote().fit_predict(three, skills=skills)
    of_w0 = three[three["worker"] == "w0"].set_index("task")["label"]
    assert (labels[of_w0.index] == of_w0).all()


def test_settings_are_those_of_crowd_kit_or_of_the_method():
    assert (
        crowdkit.DawidSkene(50, 1e-3, prior="uniform").solver.get_params().items()
        >= {"max_iter": 50, "tol": 1e-3, "prior": "uniform"}.items()
    )
    assert crowdkit.OneCoinDawidSkene(n_iter=7).solver.get_params()["one_coin"] is True


@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning", "ignore:The inplace keyword")
@pytest.mark.parametrize(
    ("name", "ours", "theirs", "apart"),
    [
        ("MajorityVote", {}, {}, 1e-12),
        ("DawidSkene", {"prior": "uniform"}, {"n_iter": 1000, "tol": 1e-12}, 0.1),
        ("OneCoinDawidSkene", {"prior": "uniform"}, {"n_iter": 1000, "tol": 1e-12}, 0.1),
    ],
)
def test_answers_are_those_of_crowd_kit(name, ours, theirs, apart, crowd):
    pytest.importorskip("crowdkit", reason="crowd-kit, which brings transformers, is not installed")
    other = getattr(importlib.import_module("crowdkit.aggregation"), name)(**theirs)
    mine, expected = getattr(crowdkit, name)(**ours), other.fit_predict_proba(crowd)
    proba = mine.fit_predict_proba(crowd)
    assert_allclose(proba, expected.loc[proba.index, proba.columns], atol=apart)
    top = np.sort(expected.loc[proba.index].to_numpy(), axis=1)
    untied = top[:, -1] - top[:, -2] > 1e-6
    assert (mine.labels_ == other.labels_[proba.index])[untied].mean() > 0.99
    assert type(mine.labels_) is type(other.labels_) and mine.labels_.name == other.labels_.name
    assert proba.columns.name == expected.columns.name
