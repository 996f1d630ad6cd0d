"""The experiments on a small data set: one repeat, each study, and the loop that writes rows."""

from dataclasses import fields

import numpy as np
import pytest
from sklearn.metrics import f1_score

from ec3learn import EC3, MajorityVote, Votes
from paper import published as paper
from paper.__main__ import main
from paper.datasets import Dataset
from paper.experiments import EXPERIMENTS, runtime
from paper.protocol import Outputs, Setup, split
from paper.rows import COLUMNS, finished, read, run, units
from paper.scores import mean_auc, scores
from paper.training import Case, base_outputs

from .conftest import SMALL

# ---- rows ----------------------------------------------------------------------------------------

FEW = ["clustering_nmi", "drop_term"]


def sorted_rows(folder):
    return read(folder).sort_values(COLUMNS).reset_index(drop=True)


def test_a_run_goes_on_where_it_stopped_and_several_processes_give_the_same_rows(folder, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    options = {"repeats": 2, "folder": folder, "protocol": SMALL}
    assert run(FEW[:1], ["iris"], out=first, **options) == 2
    assert run(FEW, ["iris", "image"], out=first, **options) == 6
    assert run(FEW, ["iris", "image"], out=first, **options) == 0
    run(FEW, ["iris", "image"], out=second, n_jobs=2, **options)
    assert sorted_rows(first).equals(sorted_rows(second))
    assert finished(first) == set(units(FEW, ["iris", "image"], 2))
    assert not sorted_rows(first).duplicated(COLUMNS[:-1]).any()


def test_seeds_come_in_turn_and_an_experiment_keeps_to_its_data_sets_unless_they_are_named():
    order = units(["datasets", "drop_term", "growth_models"], ["iris", "letter"], 2)
    assert order == [
        ("datasets", "iris", 0),
        ("drop_term", "iris", 0),
        ("datasets", "letter", 0),
        ("drop_term", "letter", 0),
        ("growth_models", "letter", 0),
        ("drop_term", "iris", 1),
        ("drop_term", "letter", 1),
        ("growth_models", "letter", 1),
    ]
    assert units(["growth_models"], ["iris"], 1, named=True) == [("growth_models", "iris", 0)]


def test_the_command_goes_from_a_run_to_a_table(folder, tmp_path, capsys):
    out = ["--rows", str(tmp_path / "rows")]
    main(["run", "datasets", "--data", str(folder), "--datasets", "iris", "waveform", *out])
    main(["tables", "datasets", *out])
    assert "2 units run" in (printed := capsys.readouterr().out)
    assert "| iris | 120 | 3 | 4 |" in printed


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "accurcy"], "Unknown name 'accurcy'. Choose from: datasets, accuracy,"),
        (["tables", "--rows", "nowhere"], "nowhere holds no rows. Make some: python -m paper run."),
    ],
)
def test_wrong_names_are_refused_in_one_line(words, message, capsys):
    with pytest.raises(SystemExit):
        main(words)
    assert message in capsys.readouterr().err


# ---- studies -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return tmp_path_factory.mktemp("outputs")


@pytest.fixture
def study(data, kept):
    """Run an experiment on the small data set, its rows as a dict."""

    def act(name, seed=0):
        rows = list(EXPERIMENTS[name].study(Case(data, seed, SMALL, kept)))
        found = {row[:3]: row[3] for row in rows}
        assert len(found) == len(rows)
        return found

    return act


def test_scores_of_a_small_answer():
    test = Outputs(np.array([0, 0, 0, 1]), np.zeros(4, dtype=bool), 2, rare=1, n_rows=4)
    found = {
        metric: value for _, _, metric, value in scores("m", "s", np.eye(2)[[0, 0, 1, 1]], test)
    }
    macro = (2 / 3 + 4 / 5) / 2
    assert found == pytest.approx(
        {"auc": 5 / 6, "auc_hard": 5 / 6, "f": 2 / 3, "f_macro": macro, "accuracy": 0.75}
    )


def test_a_class_that_does_not_occur_has_no_auc():
    proba = np.array([[0.9, 0.1, 0], [0.4, 0.6, 0], [0.2, 0.8, 0]])
    assert mean_auc(proba, np.array([0, 0, 1])) == 1.0
    assert mean_auc(proba, np.array([0, 0, 0])) == 0.5


OWN = ("accuracy", "imbalance", "like_for_like")


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name not in OWN])
def test_an_experiment_returns_rows(name, study, monkeypatch):
    monkeypatch.setattr(paper, "STEP", 0.25)
    monkeypatch.setattr(paper, "MOST_RANDOM", 2)
    monkeypatch.setattr(paper, "EPSILONS", (0.03,))
    rows = study(name)
    assert rows
    assert np.isfinite(list(rows.values())).all()


def test_accuracy_has_the_methods_of_the_paper_and_ours_without_clusterings_too(study):
    rows = study("accuracy")
    here = {method for method, _, metric in rows if metric == "auc"}
    assert here >= set(paper.METHODS) - {"NB", "SVM", "SGD", "CNN", "BAG", "BOO", "XGB"}
    assert {setting for method, setting, _ in rows if method == "iEC3"} == {"none", "paper"}
    assert all(
        0 <= value <= 1 for (*_, metric), value in rows.items() if not metric.startswith("n_")
    )


def test_imbalance_names_the_class_that_was_touched(data, kept, study, monkeypatch):
    monkeypatch.setattr(paper, "REMOVED", (0.0, 0.3))
    rows, case = study("imbalance"), Case(data, 0, SMALL, kept)
    full, less = (case.outputs(tuned=False, removed=share).test for share in paper.REMOVED)
    assert np.flatnonzero(np.bincount(full.truth) != np.bincount(less.truth)).tolist() == [
        less.touched
    ]
    labels = MajorityVote().solve(less.votes()).labels()
    (by_hand,) = f1_score(less.truth, labels, labels=[less.touched], average=None)
    assert rows["majority vote", "0.30", "f_touched"] == pytest.approx(by_hand)


def test_published_loops_are_timed_on_one_row_per_object(study, monkeypatch):
    monkeypatch.setattr(runtime, "SIZES", (20,))
    assert {method for method, *_ in study("like_for_like")} == {
        "iEC3",
        "BGCM",
        "UPE",
        "iEC3, exact",
        "BGCM, exact",
    }
    votes = Votes.from_labels({"a": [0, 1, 0, 0], "b": [0, 1, 0, 1]})
    apart = runtime.unmerged(votes)
    assert (votes.n_rows, apart.n_rows) == (3, 4)
    np.testing.assert_allclose(EC3().solve(apart).proba, EC3().solve(votes).proba)


# ---- one repeat ----------------------------------------------------------------------------------


def assert_equal_outputs(ours, theirs):
    for table in fields(ours):
        first, second = getattr(ours, table.name), getattr(theirs, table.name)
        if isinstance(first, dict):
            assert first.keys() == second.keys()
            for name, values in first.items():
                np.testing.assert_array_equal(values, second[name], err_msg=name)


def relabelled(data, rows):
    """The data set with the labels of some rows shuffled among them."""
    frame = data.frame.copy()
    frame.loc[rows, "target"] = np.random.default_rng(1).permutation(frame.loc[rows, "target"])
    return Dataset(data.name, frame)


def test_no_label_of_the_test_part_reaches_any_output(data):
    shuffled = relabelled(data, split(len(data.codes), 0, SMALL.max_rows)[2])
    ours, theirs = (base_outputs(each, Setup(0), SMALL) for each in (data, shuffled))
    assert (ours.truth != theirs.truth).any()
    assert_equal_outputs(ours, theirs)


def test_labels_of_the_training_part_do_reach_the_outputs(data):
    shuffled = relabelled(data, split(len(data.codes), 0, SMALL.max_rows)[0])
    ours, theirs = (base_outputs(each, Setup(0, tuned=False), SMALL) for each in (data, shuffled))
    assert (ours.proba["LR"] != theirs.proba["LR"]).any()
    np.testing.assert_array_equal(ours.clusters["DBSCAN"], theirs.clusters["DBSCAN"])


def test_everywhere_votes_on_all_rows_that_no_model_has_seen(data):
    test = base_outputs(data, Setup(0, tuned=False, everywhere=True), SMALL).test
    assert {
        len(table) for table in (test.truth, *test.proba.values(), *test.clusters.values())
    } == {80}


def test_outputs_are_kept_and_come_back_the_same(data, tmp_path, monkeypatch):
    case = Case(data, 0, SMALL, tmp_path)
    first = case.outputs(tuned=False)
    monkeypatch.setattr("paper.training._Work", None)
    assert_equal_outputs(first, case.outputs(tuned=False))
