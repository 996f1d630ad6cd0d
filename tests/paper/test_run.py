"""The loop over units: what is there stays, what is missing is run, whatever happens in between; and the commands."""

import os
import re
import subprocess
import sys
import time
from dataclasses import replace

import pandas as pd
import pytest
import typer
from joblib import parallel_config
from typer.testing import CliRunner

from ec3learn._checks import InputError
from ec3learn.cli import main
from ec3learn.cli.paper import app, datasets
from ec3learn.paper.protocol import Protocol
from ec3learn.paper.rows import COLUMNS, Unit, finished, hours, merge, read, write
from ec3learn.paper.run import EXPERIMENTS, run, units

FEW = ["clustering_nmi", "drop_clustering", "drop_term"]
LEFT_OUT = ("nb", "knn", "svm", "sgd", "cnn", "affinity", "kmeans", "meanshift", "BAG", "BOO", "XGB", "RF")
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
    environment = {**os.environ, "EC3LEARN_CACHE": str(tmp_path / "other cache"), "OMP_NUM_THREADS": "1"}
    root = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    process = subprocess.Popen([sys.executable, "-c", program], env=environment, cwd=root, stderr=subprocess.DEVNULL)
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
    assert len((out / "cost.csv").read_text().splitlines()) in (11, 12)  # the kill may fall between a unit and its line
    assert 0 < hours(out) < 0.1
    kept = read(out).merge(before[list(COLUMNS[:3])].drop_duplicates())
    pd.testing.assert_frame_equal(kept.sort_values(list(COLUMNS)).reset_index(drop=True), before)
    assert run(FEW, ["iris", "image"], repeats=2, out=out, folder=folder, protocol=TINY) == 0
    run(FEW, ["iris", "image"], repeats=2, out=tmp_path / "at once", folder=folder, protocol=TINY)
    pd.testing.assert_frame_equal(sorted_rows(out), sorted_rows(tmp_path / "at once"))


def test_several_at_a_time_give_the_same_rows(folder, tmp_path):
    for n_jobs in (1, 2):
        with parallel_config(backend="threading"):  # processes do the same, but take seconds to start
            run(FEW[:1], ["iris", "image"], repeats=1, n_jobs=n_jobs, out=tmp_path / str(n_jobs), folder=folder, protocol=TINY)
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
    assert [(unit.seed, unit.dataset) for unit in order[::2]] == [(0, "iris"), (0, "magic"), (1, "iris"), (1, "magic")]


def test_an_experiment_keeps_to_its_data_sets_unless_both_are_named():
    assert {unit.dataset for unit in units(["imbalance"], ["iris", "magic"], 1)} == {"magic"}
    assert {unit.dataset for unit in units(["imbalance"], ["iris", "magic"], 1, named=True)} == {"iris", "magic"}


def test_unknown_names_are_refused_before_anything_is_run(tmp_path):
    with pytest.raises(ValueError, match=r"Unknown experiment 'acuracy'. Did you mean 'accuracy'\?"):
        run(["acuracy"], out=tmp_path)
    with pytest.raises(ValueError, match=r"Unknown data set 'irsi'. Did you mean 'iris'\?"):
        run(["accuracy"], ["irsi"], out=tmp_path)


def test_rows_of_two_protocols_do_not_mix(folder, tmp_path):
    run(FEW[:1], ["iris"], repeats=1, out=tmp_path / "out", folder=folder, protocol=TINY)
    with pytest.raises(ValueError, match=r"same protocol, got .*out, whose rows have max_rows 60, not 70\. Choose"):
        run(FEW[:1], ["iris"], repeats=2, out=tmp_path / "out", folder=folder, protocol=replace(TINY, max_rows=70))


def test_no_rows_says_how_to_make_some(tmp_path):
    with pytest.raises(InputError, match=re.escape(f"{tmp_path} holds no rows. Make some: ec3learn paper run --out {tmp_path}.")):
        read(tmp_path)


def test_rows_of_another_kind_are_refused(tmp_path):
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "drop_term.parquet")
    with pytest.raises(
        InputError, match="must have the columns experiment, dataset, seed, method, setting, metric, value, got a"
    ):
        read(tmp_path)


def test_without_a_terminal_a_log_gets_a_line_per_unit(folder, tmp_path, capsys):
    run(FEW, ["iris"], repeats=1, out=tmp_path / "out", folder=folder, protocol=TINY)
    lines = capsys.readouterr().err.splitlines()
    assert [re.sub(r": \d+\.\d s$", "", line) for line in lines] == [f"iris 0 {name}" for name in FEW]


def test_a_bar_says_how_far_it_is_on_a_terminal(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    run(FEW, ["iris"], repeats=1, out=tmp_path / "out", folder=folder, protocol=TINY)
    assert "iris 0 drop_term" in capsys.readouterr().err


# ---- the commands ----------------------------------------------------------------------------------------------------


def called(*words, of=app):
    result = CliRunner().invoke(of, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_from_a_run_to_a_table(folder, tmp_path):
    words = ("datasets", "--datasets", "iris, image", "--repeats", 1, "--data", folder, "--out", tmp_path / "out")
    assert "2 units run; all rows are in" in called("run", *words)
    assert "Nothing left to run" in called("run", *words)
    text = called("tables", "datasets", "--rows", tmp_path / "out")
    assert re.search(r"^\| iris \| 120 \| 3 \| 4 \|", text, flags=re.M)


def test_tables_go_to_files(rows, tmp_path, monkeypatch):
    monkeypatch.setattr("ec3learn.paper.rows.read", lambda folder: rows)
    text = called("tables", "drop_term", "--out", tmp_path)
    assert text == f"Written: {tmp_path / 'drop_term.csv'}\n"


def test_a_figure_by_name(rows, tmp_path, monkeypatch):
    monkeypatch.setattr("ec3learn.paper.rows.read", lambda folder: rows)
    assert called("figures", "epsilon", "--out", tmp_path) == f"Written: {tmp_path / 'epsilon.png'}\n"


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
    assert capsys.readouterr().err.startswith("ec3learn: --data must be a folder with Parquet files, got '")


def test_rows_of_another_protocol_are_refused_by_the_option(folder, tmp_path, capsys):
    words = ["paper", "run", "datasets", "--datasets", "iris", "--data", str(folder), "--out", str(tmp_path / "out")]
    assert main(words) == 0
    assert main([*words, "--max-rows", "100"]) == 2
    sentence = r"^ec3learn: --out must be a folder with rows of the same protocol, got .*max_rows 2500, not 100\."
    assert re.search(sentence, capsys.readouterr().err, flags=re.M)
