"""The loop over units: what is there stays, what is missing is run, whatever happens in between; and the commands."""

import os
import re
import subprocess
import sys
import time
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest
import typer
from joblib import parallel_config
from sklearn.metrics import f1_score, normalized_mutual_info_score
from typer.testing import CliRunner

from ec3learn import EC3, MajorityVote, Votes
from ec3learn._checks import InputError
from ec3learn.cli import main
from ec3learn.cli.paper import app, datasets
from ec3learn.paper import clustering_studies, studies
from ec3learn.paper import published as paper
from ec3learn.paper.clustering_studies import noisy_truth
from ec3learn.paper.datasets import Dataset
from ec3learn.paper.protocol import Case, Outputs, Protocol, Setup, base_outputs, ensembles, split
from ec3learn.paper.run import (
    COLUMNS,
    EXPERIMENTS,
    Unit,
    finished,
    hours,
    merge,
    read,
    run,
    units,
    write,
)
from ec3learn.paper.studies import class_f, scores, unmerged

from .conftest import SMALL, blobs

FEW = ["clustering_nmi", "drop_clustering", "drop_term"]
LEFT_OUT = (
    "nb",
    "knn",
    "svm",
    "sgd",
    "cnn",
    "affinity",
    "kmeans",
    "meanshift",
    "BAG",
    "BOO",
    "XGB",
    "RF",
)
TINY = Protocol(max_rows=60, n_landmarks=40, without=LEFT_OUT)
PROGRAM = """
from ec3learn.paper.run import run
from tests.paper.test_run import FEW, TINY
run(FEW, ["iris", "image"], repeats=2, out={out!r}, folder={folder!r}, protocol=TINY)
"""


def sorted_rows(folder):
    return read(folder).sort_values(list(COLUMNS)).reset_index(drop=True)


def test_rows_have_one_schema(folder, tmp_path):
    assert run(FEW, ["iris"], repeats=1, out=tmp_path / "out", folder=folder, protocol=TINY) == 3
    rows = read(tmp_path / "out")
    assert tuple(rows.columns) == COLUMNS
    assert set(rows["experiment"]) == set(FEW)
    assert set(rows["dataset"]) == {"iris"}
    assert rows["value"].notna().all()


def test_killed_at_any_time_it_goes_on_and_no_row_is_lost_or_doubled(folder, tmp_path):
    out = tmp_path / "out"
    program = PROGRAM.format(out=str(out), folder=str(folder))
    environment = {
        **os.environ,
        "EC3LEARN_CACHE": str(tmp_path / "other cache"),
        "OMP_NUM_THREADS": "1",
    }
    root = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    process = subprocess.Popen(
        [sys.executable, "-c", program], env=environment, cwd=root, stderr=subprocess.DEVNULL
    )
    until = time.monotonic() + 60
    while len(finished(out)) < 4 and process.poll() is None and time.monotonic() < until:
        time.sleep(0.005)
    process.kill()
    process.wait()
    there = finished(out)
    assert 4 <= len(there) < 12, "it was to be killed on the way"
    before = sorted_rows(out)

    n_run = run(FEW, ["iris", "image"], repeats=2, out=out, folder=folder, protocol=TINY)
    assert n_run == 12 - len(there)
    assert sorted(path.name for path in out.iterdir()) == sorted(
        [*(f"{name}.parquet" for name in FEW), "cost.csv", "protocol.json"]
    )
    assert len((out / "cost.csv").read_text().splitlines()) in (
        11,
        12,
    )  # the kill may fall between a unit and its line
    assert 0 < hours(out) < 0.1
    kept = read(out).merge(before[list(COLUMNS[:3])].drop_duplicates())
    pd.testing.assert_frame_equal(kept.sort_values(list(COLUMNS)).reset_index(drop=True), before)
    assert run(FEW, ["iris", "image"], repeats=2, out=out, folder=folder, protocol=TINY) == 0
    run(FEW, ["iris", "image"], repeats=2, out=tmp_path / "at once", folder=folder, protocol=TINY)
    pd.testing.assert_frame_equal(sorted_rows(out), sorted_rows(tmp_path / "at once"))


def test_several_at_a_time_give_the_same_rows(folder, tmp_path):
    for n_jobs in (1, 2):
        with parallel_config(
            backend="threading"
        ):  # processes do the same, but take seconds to start
            run(
                FEW[:1],
                ["iris", "image"],
                repeats=1,
                n_jobs=n_jobs,
                out=tmp_path / str(n_jobs),
                folder=folder,
                protocol=TINY,
            )
    pd.testing.assert_frame_equal(sorted_rows(tmp_path / "1"), sorted_rows(tmp_path / "2"))


ROW = ("iEC3", "none", "auc", 0.5)
UNIT = Unit("drop_term", "iris", 0)


def test_a_unit_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    def cut_off(table, file, **options):
        file.write(b"half of it")
        raise OSError("no space left")

    monkeypatch.setattr("pyarrow.parquet.write_table", cut_off)
    with pytest.raises(OSError, match="no space left"):
        write(tmp_path, UNIT, [ROW])
    assert finished(tmp_path) == set()


def test_a_file_that_was_not_finished_is_not_read(tmp_path):
    write(tmp_path, UNIT, [ROW])
    (UNIT.path(tmp_path).parent / ".iris-1.parquet.abc.part").write_bytes(b"half of it")
    assert len(read(tmp_path)) == 1
    merge(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["drop_term.parquet"]


def test_merging_changes_no_row_and_its_order_is_that_of_data_sets_and_seeds(tmp_path):
    others = [Unit("drop_term", "iris", 10), Unit("drop_term", "adults", 2)]
    for unit in others:
        write(tmp_path, unit, [ROW, ("iEC3", "J1", "auc", 0.25)])
    merge(tmp_path)
    write(tmp_path, UNIT, [ROW])
    before = read(tmp_path)
    merge(tmp_path)
    pd.testing.assert_frame_equal(read(tmp_path), before)
    assert finished(tmp_path) == {UNIT, *others}
    assert before[["dataset", "seed", "setting"]].apply(tuple, axis=1).tolist() == [
        ("adults", 2, "none"),
        ("adults", 2, "J1"),
        ("iris", 0, "none"),
        ("iris", 10, "none"),
        ("iris", 10, "J1"),
    ]


def test_a_merge_that_was_cut_off_doubles_no_row(tmp_path, monkeypatch):
    def cut_off(path, missing_ok=False):
        if path == UNIT.path(tmp_path):
            raise KeyboardInterrupt

    write(tmp_path, UNIT, [ROW])
    with monkeypatch.context() as patched:
        patched.setattr("pathlib.Path.unlink", cut_off)
        with pytest.raises(KeyboardInterrupt):
            merge(tmp_path)
    assert UNIT.path(tmp_path).is_file()
    assert (tmp_path / "drop_term.parquet").is_file()
    assert len(read(tmp_path)) == 1
    merge(tmp_path)
    assert len(read(tmp_path)) == 1


def test_seeds_come_in_turn_so_that_all_data_sets_are_there_early():
    order = list(units(["accuracy", "drop_term"], ["iris", "magic"], repeats=2))
    assert [(unit.seed, unit.dataset) for unit in order[::2]] == [
        (0, "iris"),
        (0, "magic"),
        (1, "iris"),
        (1, "magic"),
    ]


def test_an_experiment_keeps_to_its_data_sets_unless_both_are_named():
    assert {unit.dataset for unit in units(["imbalance"], ["iris", "magic"], 1)} == {"magic"}
    assert {unit.dataset for unit in units(["imbalance"], ["iris", "magic"], 1, named=True)} == {
        "iris",
        "magic",
    }


def test_unknown_names_are_refused_before_anything_is_run(tmp_path):
    with pytest.raises(
        ValueError, match=r"Unknown experiment 'acuracy'. Did you mean 'accuracy'\?"
    ):
        run(["acuracy"], out=tmp_path)
    with pytest.raises(ValueError, match=r"Unknown data set 'irsi'. Did you mean 'iris'\?"):
        run(["accuracy"], ["irsi"], out=tmp_path)


def test_rows_of_two_protocols_do_not_mix(folder, tmp_path):
    run(FEW[:1], ["iris"], repeats=1, out=tmp_path / "out", folder=folder, protocol=TINY)
    with pytest.raises(
        ValueError, match=r"same protocol, got .*out, whose rows have max_rows 60, not 70\. Choose"
    ):
        run(
            FEW[:1],
            ["iris"],
            repeats=2,
            out=tmp_path / "out",
            folder=folder,
            protocol=replace(TINY, max_rows=70),
        )


def test_no_rows_says_how_to_make_some(tmp_path):
    with pytest.raises(
        InputError,
        match=re.escape(
            f"{tmp_path} holds no rows. Make some: ec3learn paper run --out {tmp_path}."
        ),
    ):
        read(tmp_path)


def test_rows_of_another_kind_are_refused(tmp_path):
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "drop_term.parquet")
    with pytest.raises(
        InputError,
        match="must have the columns experiment, dataset, seed, method, setting, metric, value, got a",
    ):
        read(tmp_path)


def test_without_a_terminal_a_log_gets_a_line_per_unit(folder, tmp_path, capsys):
    run(FEW, ["iris"], repeats=1, out=tmp_path / "out", folder=folder, protocol=TINY)
    lines = capsys.readouterr().err.splitlines()
    assert [re.sub(r": \d+\.\d s$", "", line) for line in lines] == [
        f"iris 0 {name}" for name in FEW
    ]


def test_a_bar_says_how_far_it_is_on_a_terminal(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    run(FEW, ["iris"], repeats=1, out=tmp_path / "out", folder=folder, protocol=TINY)
    assert "iris 0 drop_term" in capsys.readouterr().err


# ---- the commands --------------------------------------------------------------------------------


def called(*words, of=app):
    result = CliRunner().invoke(of, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_from_a_run_to_a_table(folder, tmp_path):
    words = (
        "datasets",
        "--datasets",
        "iris, image",
        "--repeats",
        1,
        "--data",
        folder,
        "--out",
        tmp_path / "out",
    )
    assert "2 units run; all rows are in" in called("run", *words)
    assert "Nothing left to run" in called("run", *words)
    text = called("tables", "datasets", "--rows", tmp_path / "out")
    assert re.search(r"^\| iris \| 120 \| 3 \| 4 \|", text, flags=re.M)


def test_tables_go_to_files(rows, tmp_path, monkeypatch):
    monkeypatch.setattr("ec3learn.paper.run.read", lambda folder: rows)
    text = called("tables", "drop_term", "--out", tmp_path)
    assert text == f"Written: {tmp_path / 'drop_term.csv'}\n"


def test_a_figure_by_name(rows, tmp_path, monkeypatch):
    monkeypatch.setattr("ec3learn.paper.run.read", lambda folder: rows)
    assert (
        called("figures", "epsilon", "--out", tmp_path) == f"Written: {tmp_path / 'epsilon.png'}\n"
    )


def test_experiments_are_listed():
    text = called("experiments")
    assert all(re.search(rf"^{name} ", text, flags=re.M) for name in EXPERIMENTS)


def test_data_sets_are_listed(folder):
    single = typer.Typer()
    single.command()(datasets)
    text = called("--data", folder, of=single)
    assert re.search(r"^iris +120 +3 +4 ", text, flags=re.M)
    assert re.search(r"^susy .*5000000.*not available; load\(\) downloads it$", text, flags=re.M)


def test_an_error_names_the_option(tmp_path, capsys):
    assert main(["datasets", "--data", str(tmp_path / "nowhere")]) == 2
    assert capsys.readouterr().err.startswith(
        "ec3learn: --data must be a folder with Parquet files, got '"
    )


def test_rows_of_another_protocol_are_refused_by_the_option(folder, tmp_path, capsys):
    words = [
        "paper",
        "run",
        "datasets",
        "--datasets",
        "iris",
        "--data",
        str(folder),
        "--out",
        str(tmp_path / "out"),
    ]
    assert main(words) == 0
    assert main([*words, "--max-rows", "100"]) == 2
    sentence = r"^ec3learn: --out must be a folder with rows of the same protocol, got .*max_rows 2500, not 100\."
    assert re.search(sentence, capsys.readouterr().err, flags=re.M)


# ---- studies -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return tmp_path_factory.mktemp("outputs")


def test_scores_of_a_small_answer():
    test = Outputs(np.array([0, 0, 1, 1]), np.zeros(4, dtype=bool), 2, rare=1, n_rows=4)
    proba = np.array([[0.9, 0.1], [0.4, 0.6], [0.3, 0.7], [0.8, 0.2]])
    found = {metric: value for _, _, metric, value in scores("m", "s", proba, test)}
    assert found == pytest.approx(
        {"auc": 0.75, "auc_hard": 0.5, "f": 0.5, "f_macro": 0.5, "accuracy": 0.5}
    )


def test_the_class_f_two_classes_is_that_of_the_rare_one():
    test = Outputs(np.array([0, 0, 0, 1]), np.zeros(4, dtype=bool), 2, rare=1, n_rows=4)
    found = {
        metric: value for _, _, metric, value in scores("m", "s", np.eye(2)[[0, 0, 1, 1]], test)
    }
    assert found["f"] == pytest.approx(2 / 3)
    assert found["f_macro"] == pytest.approx((2 / 3 + 4 / 5) / 2)


def test_class_f_a_class_nobody_names_is_0():
    assert class_f(1, np.array([0, 0]), np.array([0, 0])) == 0.0


SLOW = ("nmi_bound", "noisy_truth", "like_for_like")  # tested by themselves, or on fewer sizes
QUICK = [
    name
    for name in EXPERIMENTS
    if name not in ("accuracy", "labels_5", "labels_20", "imbalance", "random_clusterings", *SLOW)
]


@pytest.mark.parametrize("name", QUICK)
def test_an_experiment_returns_rows(name, data, kept, monkeypatch):
    monkeypatch.setattr(paper, "STEP", 0.25)
    monkeypatch.setattr(paper, "MOST_RANDOM", 5)
    rows = list(EXPERIMENTS[name].study(Case(data, 0, SMALL, kept)))
    assert rows
    for method, setting, metric, value in rows:
        assert (type(method), type(setting), type(metric)) == (str, str, str)
        assert np.isfinite(value)
    assert len({row[:3] for row in rows}) == len(rows)


@pytest.mark.parametrize("name", ["accuracy", "labels_5"])
def test_accuracy_has_the_methods_of_the_paper_and_ours_without_clusterings_too(name, data, kept):
    rows = list(EXPERIMENTS[name].study(Case(data, 0, SMALL, kept)))
    here = {method for method, _, metric, _ in rows if metric == "auc"}
    assert here >= set(paper.METHODS) - {"NB", "SVM", "SGD", "CNN", "BAG", "BOO", "XGB"}
    assert {setting for method, setting, *_ in rows if method == "iEC3"} == {
        "none",
        "paper",
        "both",
    }
    assert all(0 <= value <= 1 for _, _, metric, value in rows if not metric.startswith("n_"))


def test_imbalance_names_the_class_that_was_touched(data, kept, monkeypatch):
    monkeypatch.setattr(paper, "REMOVED", (0.0, 0.3))
    case = Case(data, 0, SMALL, kept)
    rows = {
        (method, setting, metric): value
        for method, setting, metric, value in EXPERIMENTS["imbalance"].study(case)
    }
    assert {setting for _, setting, _ in rows} == {f"{share:.2f}" for share in paper.REMOVED}
    outputs = case.outputs(tuned=False, removed=0.3)
    full, left = (
        np.bincount(case.outputs(tuned=False, removed=share).test.truth) for share in paper.REMOVED
    )
    assert np.flatnonzero(full != left).tolist() == [outputs.touched]
    labels = MajorityVote().solve(outputs.test.votes()).labels()
    (by_hand,) = f1_score(outputs.test.truth, labels, labels=[outputs.touched], average=None)
    assert rows["majority vote", "0.30", "f_touched"] == pytest.approx(by_hand)


def test_random_base_models_are_added_one_by_one(data, kept, monkeypatch):
    monkeypatch.setattr(paper, "MOST_RANDOM", 3)
    rows = list(EXPERIMENTS["random_clusterings"].study(Case(data, 1, SMALL, kept)))
    assert sum(method == "iEC3" for method, *_ in rows) == 1 + paper.MOST_RANDOM
    majority = {value for method, _, _, value in rows if method == "majority vote"}
    assert len(majority) == 1  # clusterings have no vote there


def test_noisy_copies_match_the_classes_as_asked(monkeypatch, data, kept):
    monkeypatch.setattr(clustering_studies, "LEVELS", (0.0, 0.3))
    rows = list(noisy_truth(Case(data, 0, SMALL, kept)))
    nmi = {setting: value for method, setting, metric, value in rows if metric == "nmi"}
    assert nmi["all independent 0.30"] == pytest.approx(0.3, abs=0.05)
    assert nmi["5 same 0.30"] == pytest.approx(0.3, abs=0.02)
    auc = {(method, setting): value for method, setting, metric, value in rows if metric == "auc"}
    assert auc["iEC3", "all independent 0.30"] > auc["iEC3", "all none"]


def test_tuned_clusterings_are_those_that_match_the_validation_set_best(data, kept):
    rows = {
        row[:3]: row[3]
        for row in EXPERIMENTS["tuned_clusterings"].study(Case(data, 0, SMALL, kept))
    }
    assert rows["K-Means", "NMI", "nmi"] > 0.1
    assert {way for _, way, _ in rows} == {"none", "NMI", "silhouette"}


def test_no_clustering_of_few_distinct_rows_is_above_the_bound(data):
    few = replace(data, X=data.X[["kind"]])
    bound = {
        setting: value
        for _, setting, _, value in EXPERIMENTS["nmi_bound"].study(Case(few, 0, SMALL))
    }
    test = split(len(few.codes), 0, SMALL.max_rows).test
    own = normalized_mutual_info_score(few.codes[test], few.X["kind"].iloc[test] == "other")
    assert own <= bound["mean"] <= bound["smaller"] <= 1


def test_published_loops_are_timed_on_one_row_per_object(monkeypatch, data, kept):
    monkeypatch.setattr(studies, "SIZES", (20, 40))
    rows = EXPERIMENTS["like_for_like"].study(Case(data, 0, SMALL, kept))
    assert {(method, setting) for method, setting, *_ in rows} == {
        (method, size)
        for method in ("iEC3", "BGCM", "UPE", "iEC3, exact", "BGCM, exact")
        for size in ("20", "40")
    }
    votes = Votes.from_labels({"a": [0, 1, 0, 0], "b": [0, 1, 0, 1]})
    apart = unmerged(votes)
    assert (votes.n_rows, apart.n_rows) == (3, 4)
    np.testing.assert_allclose(EC3().solve(apart).proba, EC3().solve(votes).proba)


# ---- one repeat ----------------------------------------------------------------------------------


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
    ours, theirs = (
        base_outputs(data, Setup(0, tuned=False), SMALL),
        base_outputs(shuffled, Setup(0, tuned=False), SMALL),
    )
    assert (ours.proba["LR"] != theirs.proba["LR"]).any()
    np.testing.assert_array_equal(ours.clusters["DBSCAN"], theirs.clusters["DBSCAN"])


def test_a_split_follows_from_its_seed():
    parts = [split(1000, seed, 500) for seed in (0, 0, 1)]
    assert [len(rows) for rows in parts[0]] == [300, 100, 100]
    assert len(np.unique(np.concatenate(parts[0]))) == 500
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
    assert len(outputs.votes(clusterings="none").models) == 3
    assert outputs.votes(soft=True).stores.soft is not None


def test_without_torch_it_says_what_to_install_and_nothing_that_the_command_lacks(
    folder, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr("ec3learn._checks.find_spec", lambda name: None)
    words = [
        "paper",
        "run",
        "drop_term",
        "--datasets",
        "iris",
        "--data",
        str(folder),
        "--out",
        str(tmp_path / "out"),
    ]
    assert main(words) == 2
    message = (
        "ec3learn: The paper's convolutional network needs torch: pip install 'ec3learn[paper]'."
    )
    assert capsys.readouterr().err.splitlines()[-1] == message


def test_without_xgboost_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr("ec3learn._checks.find_spec", lambda name: None)
    with pytest.raises(
        ModuleNotFoundError, match=r"needs xgboost: pip install 'ec3learn\[paper\]'\."
    ):
        ensembles(without=())
