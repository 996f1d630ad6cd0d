"""The experiments: what they return on a small data set, and what scores are."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import f1_score, normalized_mutual_info_score

from ec3learn import EC3, MajorityVote, Votes
from ec3learn.paper import clustering_studies, timing
from ec3learn.paper import published as paper
from ec3learn.paper.clustering_studies import noisy_truth
from ec3learn.paper.protocol import Case, Outputs, split
from ec3learn.paper.run import EXPERIMENTS
from ec3learn.paper.studies import class_f, scores
from ec3learn.paper.timing import unmerged

from .conftest import SMALL


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return tmp_path_factory.mktemp("outputs")


def test_scores_of_a_small_answer():
    test = Outputs(np.array([0, 0, 1, 1]), np.zeros(4, dtype=bool), 2, rare=1, n_rows=4)
    proba = np.array([[0.9, 0.1], [0.4, 0.6], [0.3, 0.7], [0.8, 0.2]])
    found = {metric: value for _, _, metric, value in scores("m", "s", proba, test)}
    assert found == pytest.approx({"auc": 0.75, "auc_hard": 0.5, "f": 0.5, "f_macro": 0.5, "accuracy": 0.5})


def test_the_class_f_two_classes_is_that_of_the_rare_one():
    test = Outputs(np.array([0, 0, 0, 1]), np.zeros(4, dtype=bool), 2, rare=1, n_rows=4)
    found = {metric: value for _, _, metric, value in scores("m", "s", np.eye(2)[[0, 0, 1, 1]], test)}
    assert found["f"] == pytest.approx(2 / 3)
    assert found["f_macro"] == pytest.approx((2 / 3 + 4 / 5) / 2)


def test_class_f_a_class_nobody_names_is_0():
    assert class_f(1, np.array([0, 0]), np.array([0, 0])) == 0.0


SLOW = ("nmi_bound", "noisy_truth", "like_for_like")  # tested by themselves, or on fewer sizes
QUICK = [
    name for name in EXPERIMENTS if name not in ("accuracy", "labels_5", "labels_20", "imbalance", "random_clusterings", *SLOW)
]


@pytest.mark.parametrize("name", QUICK)
def test_an_experiment_returns_rows(name, data, kept, monkeypatch):
    monkeypatch.setattr(paper, "STEP", 0.25)
    monkeypatch.setattr(paper, "MOST_RANDOM", 5)
    rows = EXPERIMENTS[name].study(Case(data, 0, SMALL, kept))
    assert rows
    for method, setting, metric, value in rows:
        assert (type(method), type(setting), type(metric)) == (str, str, str)
        assert np.isfinite(value)
    assert len({row[:3] for row in rows}) == len(rows)


@pytest.mark.parametrize("name", ["accuracy", "labels_5"])
def test_accuracy_has_the_methods_of_the_paper_and_ours_without_clusterings_too(name, data, kept):
    rows = EXPERIMENTS[name].study(Case(data, 0, SMALL, kept))
    here = {method for method, _, metric, _ in rows if metric == "auc"}
    assert here >= set(paper.METHODS) - {"NB", "SVM", "SGD", "CNN", "BAG", "BOO", "XGB"}
    assert {setting for method, setting, *_ in rows if method == "iEC3"} == {"none", "paper", "both"}
    assert all(0 <= value <= 1 for _, _, metric, value in rows if not metric.startswith("n_"))


def test_imbalance_names_the_class_that_was_touched(data, kept, monkeypatch):
    monkeypatch.setattr(paper, "REMOVED", (0.0, 0.3))
    case = Case(data, 0, SMALL, kept)
    rows = {(method, setting, metric): value for method, setting, metric, value in EXPERIMENTS["imbalance"].study(case)}
    assert {setting for _, setting, _ in rows} == {f"{share:.2f}" for share in paper.REMOVED}
    outputs = case.outputs(tuned=False, removed=0.3)
    full, left = (np.bincount(case.outputs(tuned=False, removed=share).test.truth) for share in paper.REMOVED)
    assert np.flatnonzero(full != left).tolist() == [outputs.touched]
    labels = MajorityVote().solve(outputs.test.votes()).labels()
    (by_hand,) = f1_score(outputs.test.truth, labels, labels=[outputs.touched], average=None)
    assert rows["majority vote", "0.30", "f_touched"] == pytest.approx(by_hand)


def test_random_base_models_are_added_one_by_one(data, kept, monkeypatch):
    monkeypatch.setattr(paper, "MOST_RANDOM", 3)
    rows = EXPERIMENTS["random_clusterings"].study(Case(data, 1, SMALL, kept))
    assert sum(method == "iEC3" for method, *_ in rows) == 1 + paper.MOST_RANDOM
    majority = {value for method, _, _, value in rows if method == "majority vote"}
    assert len(majority) == 1  # clusterings have no vote there


def test_noisy_copies_match_the_classes_as_asked(monkeypatch, data, kept):
    monkeypatch.setattr(clustering_studies, "LEVELS", (0.0, 0.3))
    rows = noisy_truth(Case(data, 0, SMALL, kept))
    nmi = {setting: value for method, setting, metric, value in rows if metric == "nmi"}
    assert nmi["all independent 0.30"] == pytest.approx(0.3, abs=0.05)
    assert nmi["5 same 0.30"] == pytest.approx(0.3, abs=0.02)
    auc = {(method, setting): value for method, setting, metric, value in rows if metric == "auc"}
    assert auc["iEC3", "all independent 0.30"] > auc["iEC3", "all none"]


def test_tuned_clusterings_are_those_that_match_the_validation_set_best(data, kept):
    rows = {row[:3]: row[3] for row in EXPERIMENTS["tuned_clusterings"].study(Case(data, 0, SMALL, kept))}
    assert rows["K-Means", "NMI", "nmi"] > 0.1
    assert {way for _, way, _ in rows} == {"none", "NMI", "silhouette"}


def test_no_clustering_of_few_distinct_rows_is_above_the_bound(data):
    few = replace(data, X=data.X[["kind"]])
    bound = {setting: value for _, setting, _, value in EXPERIMENTS["nmi_bound"].study(Case(few, 0, SMALL))}
    test = split(len(few.codes), 0, SMALL.max_rows).test
    own = normalized_mutual_info_score(few.codes[test], few.X["kind"].iloc[test] == "other")
    assert own <= bound["mean"] <= bound["smaller"] <= 1


def test_published_loops_are_timed_on_one_row_per_object(monkeypatch, data, kept):
    monkeypatch.setattr(timing, "SIZES", (20, 40))
    rows = EXPERIMENTS["like_for_like"].study(Case(data, 0, SMALL, kept))
    assert {(method, setting) for method, setting, *_ in rows} == {
        (method, size) for method in ("iEC3", "BGCM", "UPE", "iEC3, exact", "BGCM, exact") for size in ("20", "40")
    }
    votes = Votes.from_labels({"a": [0, 1, 0, 0], "b": [0, 1, 0, 1]})
    apart = unmerged(votes)
    assert (votes.n_rows, apart.n_rows) == (3, 4)
    np.testing.assert_allclose(EC3().solve(apart).proba, EC3().solve(votes).proba)
