"""The experiments on a small data set: one repeat, each study, and the loop that writes rows."""

from dataclasses import fields, replace

import numpy as np
import pytest
from sklearn.metrics import f1_score

from ec3learn import EC3, MajorityVote, Votes
from paper import published as paper
from paper.__main__ import main
from paper.datasets import Dataset, random_outputs
from paper.experiments import EXPERIMENTS, runtime
from paper.protocol import Outputs, Setup, split
from paper.rows import COLUMNS, compare, finished, read, run, units
from paper.scores import mean_auc, scores
from paper.training import Case, base_outputs

from .conftest import SMALL, blobs

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
    assert set(finished(first)) == set(units(FEW, ["iris", "image"], 2))
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


def test_rows_of_another_table_or_other_models_are_kept_apart(folder, tmp_path):
    out, options = tmp_path / "rows", {"folder": folder, "protocol": SMALL}
    run(FEW[:1], ["iris"], 1, out=out, **options)
    with pytest.raises(ValueError, match=r"rows of iris from table .* choose another folder"):
        run(FEW, ["iris"], 1, out=out, folder=folder, protocol=replace(SMALL, without=()))
    blobs(90).to_parquet(folder / "iris.parquet")
    with pytest.raises(ValueError, match=r"rows of iris from table .* choose another folder"):
        run(FEW, ["iris"], 1, out=out, **options)


def test_scores_of_two_folders_are_compared_where_both_have_them(folder, tmp_path):
    for place, repeats in (("mine", 1), ("theirs", 2)):
        run(FEW, ["iris"], repeats, out=tmp_path / place, folder=folder, protocol=SMALL)
    mine, theirs = read(tmp_path / "mine"), read(tmp_path / "theirs")
    changed = theirs.assign(value=theirs["value"] + 0.25 * (theirs["method"] == "EC3"))
    found = compare(mine, changed).set_index(["method", "metric"])
    assert found.loc["EC3", "largest difference"].tolist() == pytest.approx([0.25, 0.25])
    assert found.loc["iEC3", "largest difference"].tolist() == [0, 0]
    assert set(found["splits"]) == {1}
    assert found["same table"].str.startswith("yes without nb without svm").all()
    assert set(compare(mine, changed.assign(table="other"))["same table"]) == {"no"}


def test_somebody_who_repeats_a_run_gets_rows_of_their_own(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    main(["run", "datasets", "--data", str(folder), "--datasets", "iris", "--without", "cnn"])
    assert "1 units run; all rows are in paper-rows." in capsys.readouterr().out
    main(["compare"])
    assert "| dataset | same table |" in capsys.readouterr().out
    rows = read("paper-rows")
    assert rows["table"].str.endswith(" without cnn").all()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "accurcy"], "Unknown name 'accurcy'. Choose from: datasets, accuracy,"),
        (["page", "--rows", "nowhere"], "nowhere holds no rows. Make some: python -m paper run."),
        (["run", "accuracy", "--without", "knm"], "Unknown name 'knm'. Choose from: dt, nb, knn,"),
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


OWN = ("accuracy", "imbalance", "like_for_like", "synthetic")


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
        "iEC3, as published",
        "iEC3, the paper's loop",
        "K^c F^o",
        "G N l",
        "BGCM",
        "UPE",
        "iEC3, exact",
        "BGCM, exact",
    }
    votes = Votes.from_labels({"a": [0, 1, 0, 0], "b": [0, 1, 0, 1]})
    apart = runtime.unmerged(votes)
    assert (votes.n_rows, apart.n_rows) == (3, 4)
    np.testing.assert_allclose(EC3().solve(apart).proba, EC3().solve(votes).proba)


def test_the_table_in_the_size_of_susy_is_timed_whole_and_by_a_fifth():
    data = Dataset("susy_synthetic", random_outputs(10_000))
    found = {row[:3]: row[3] for row in EXPERIMENTS["synthetic"].study(Case(data, 0))}
    assert {size for _, size, _ in found} == {"1000", "2000", "10000"}
    assert found["", "2000", "distinct_rows"] <= 2000
    assert not EXPERIMENTS["accuracy"].takes("susy_synthetic")
    assert EXPERIMENTS["synthetic"].takes("susy_synthetic")


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
