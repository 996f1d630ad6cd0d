"""The numbers of a consensus that MLflow logs."""

import numpy as np
import pytest

from ec3learn import MajorityVote, Votes
from ec3learn.compat.mlflow import metrics
from ec3learn.diagnosis import agreement, effective_voters


def jury(labels=("pass it", "fail")):
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=400)
    said = {f"j{j}": np.where(rng.random(400) < 0.8, truth, 1 - truth) for j in range(5)}
    names = np.array(labels, dtype=object)
    return Votes.from_labels({name: names[codes] for name, codes in said.items()}), names[truth]


def test_metrics_are_those_of_the_diagnosis():
    votes, truth = jury()
    consensus = MajorityVote().solve(votes)
    known = {i: truth[i] for i in range(60)}
    logged, estimated = metrics(consensus, known), consensus.estimate(known=known)
    assert logged["agreement"] == agreement(votes, draws=0)["value"][0]
    assert logged["effective_judges"] == effective_voters(votes)
    assert logged["share_of_pass_it_low"] == estimated["low"][1]
    assert logged["accuracy_of_the_answer"] == estimated["value"][2]
    assert all(type(value) is float for value in logged.values())
    assert len(metrics(consensus)) == 3


@pytest.mark.filterwarnings("ignore")  # of its own libraries
def test_names_are_those_that_mlflow_takes(tmp_path):
    votes, truth = jury(("très bon? 100 %", "c++"))
    logged = metrics(MajorityVote().solve(votes), {i: truth[i] for i in range(60)})
    mlflow = pytest.importorskip("mlflow")
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    with mlflow.start_run() as run:
        mlflow.log_metrics(logged)
    assert mlflow.get_run(run.info.run_id).data.metrics == pytest.approx(logged)
