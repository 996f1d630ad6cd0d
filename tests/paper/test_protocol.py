"""One repeat: who sees which rows and which labels."""

from dataclasses import fields

import numpy as np
import pytest

from ec3learn.paper.datasets import Dataset
from ec3learn.paper.protocol import Case, Setup, base_outputs, ensembles, split

from .conftest import SMALL, blobs


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
