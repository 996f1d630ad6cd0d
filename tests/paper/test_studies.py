"""One repeat (who sees which rows and labels), the experiments on a small data set, and what scores are."""

from dataclasses import fields, replace

import numpy as np
import pytest
from sklearn.metrics import f1_score, normalized_mutual_info_score

from ec3learn import EC3, MajorityVote, Votes
from ec3learn.paper import clustering_studies, timing
from ec3learn.paper import published as paper
from ec3learn.paper.clustering_studies import noisy_truth
from ec3learn.paper.datasets import Dataset
from ec3learn.paper.protocol import Case, Outputs, Setup, base_outputs, ensembles, split
from ec3learn.paper.run import EXPERIMENTS
from ec3learn.paper.studies import class_f, scores
from ec3learn.paper.timing import unmerged

from .conftest import SMALL, blobs


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


# ---- one repeat ------------------------------------------------------------------------------------------------------


def tables(outputs):
    return {
        (table.name, name): values
        for table in fields(outputs)
        if isinstance(getattr(outputs, table.name), dict)
        for name, values in getattr(outputs, table.name).items()
    }


def assert_equal_outputs(ours, theirs):
    assert tables(ours).keys() == tables(theirs).keys()
    for key, values in tables(ours).items():
        np.testing.assert_array_equal(values, tables(theirs)[key], err_msg=str(key))


def relabelled(data, rows, seed=1):
    """The data set with the labels of some rows shuffled among them."""
    y = data.y.astype(str).to_numpy().copy()
    y[rows] = np.random.default_rng(seed).permutation(y[rows])
    return Dataset(data.name, data.X, y, "", "")


@pytest.mark.parametrize("labels", [None, 5])
def test_no_label_of_the_test_part_reaches_any_output(data, labels):
    setup = Setup(0, labels=labels)
    parts = split(len(data.y), 0, SMALL.max_rows)
    hidden = parts.test if labels is None else np.concatenate([parts.valid, parts.test])
    shuffled = relabelled(data, hidden)
    ours, theirs = base_outputs(data, setup, SMALL), base_outputs(shuffled, setup, SMALL)
    assert (ours.truth != theirs.truth).any()
    assert_equal_outputs(ours, theirs)


def test_labels_of_the_training_part_do_reach_the_outputs(data):
    shuffled = relabelled(data, split(len(data.y), 0, SMALL.max_rows).train)
    ours, theirs = base_outputs(data, Setup(0, tuned=False), SMALL), base_outputs(shuffled, Setup(0, tuned=False), SMALL)
    assert (ours.proba["LR"] != theirs.proba["LR"]).any()
    np.testing.assert_array_equal(ours.clusters["DBSCAN"], theirs.clusters["DBSCAN"])


def test_a_split_follows_from_its_seed():
    parts = [split(1000, seed, 500) for seed in (0, 0, 1)]
    assert [len(rows) for rows in vars(parts[0]).values()] == [300, 100, 100]
    assert len(np.unique(np.concatenate(list(vars(parts[0]).values())))) == 500
    np.testing.assert_array_equal(parts[0].test, parts[1].test)
    assert (parts[0].test != parts[2].test).any()


def test_few_labels_are_so_many_a_class_and_all_others_are_tested(data):
    outputs = base_outputs(data, Setup(0, labels=5), SMALL)
    assert np.bincount(outputs.truth[outputs.known]).tolist() == [5, 5, 5]
    assert len(outputs.test.truth) == 150 - 15
    assert len(outputs.rivals["RF"]) == len(outputs.test.truth)


def test_a_share_of_one_class_is_taken_out_and_less_of_it_is_part_of_more(data):
    def left(removed):
        return base_outputs(data, Setup(0, tuned=False, removed=removed), SMALL)

    none, some, more = left(0.0), left(0.2), left(0.4)
    assert none.touched == some.touched == more.touched >= 0
    assert none.n_rows > some.n_rows > more.n_rows
    others = [np.sum(outputs.truth != none.touched) for outputs in (none, more)]
    assert others[0] == others[1]


def test_everywhere_votes_on_all_rows_that_no_model_has_seen(data):
    outputs = base_outputs(data, Setup(0, tuned=False, everywhere=True), SMALL)
    assert len(outputs.test.truth) == 200 - 90 - 30
    assert set(map(len, outputs.test.proba.values())) == {80}
    assert set(map(len, outputs.test.clusters.values())) == {80}


def test_outputs_are_kept_and_come_back_the_same(data, tmp_path, monkeypatch):
    case = Case(data, 0, SMALL, tmp_path)
    first = case.outputs(tuned=False)
    monkeypatch.setattr("ec3learn.paper.protocol.base_outputs", None)
    again = case.outputs(tuned=False)
    assert_equal_outputs(first, again)
    np.testing.assert_array_equal(first.truth, again.truth)
    assert (first.rare, first.n_rows) == (again.rare, again.n_rows)


def test_outputs_of_other_rows_are_not_taken_for_these(data, tmp_path):
    first = Case(data, 0, SMALL, tmp_path).outputs(tuned=False)
    frame = blobs(seed=5)
    other = Dataset(data.name, frame.drop(columns="target"), frame["target"], "", "")
    again = Case(other, 0, SMALL, tmp_path).outputs(tuned=False)
    assert (first.proba["LR"] != again.proba["LR"]).any()
    assert (first.clusters["DBSCAN"] != again.clusters["DBSCAN"]).any()


def test_votes_are_hard_or_soft_with_the_clusterings_asked_for(data):
    outputs = base_outputs(data, Setup(0), SMALL).test
    assert len(outputs.votes().models) == 3 + 3
    assert len(outputs.votes(clusterings="both").models) == 3 + 3 + 6
    assert len(outputs.votes(clusterings="none", classifiers=["DT", "LR"]).models) == 2
    assert outputs.votes(soft=True).soft is not None


def test_without_xgboost_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr("ec3learn.paper.protocol.find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r"needs xgboost: pip install 'ec3learn\[paper\]'\."):
        ensembles(without=())["XGB"]()
