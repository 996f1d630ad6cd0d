"""The loop over units: what is there stays, what is missing is run, whatever happens in between."""

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pandas as pd
import pytest
from joblib import parallel_config

from ec3learn.paper.datasets import DatasetError
from ec3learn.paper.protocol import Protocol
from ec3learn.paper.rows import COLUMNS, Unit, read, write
from ec3learn.paper.run import run, units

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
    while len(list(out.glob("*/*.parquet"))) < 4 and process.poll() is None and time.monotonic() < until:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    there = set(out.glob("*/*.parquet"))
    assert 4 <= len(there) < 12, "it was to be killed on the way"
    before = {path: path.read_bytes() for path in there}

    n_run = run(FEW, ["iris", "image"], repeats=2, out=out, folder=folder, protocol=TINY)
    assert n_run == 12 - len(there)
    assert {path: path.read_bytes() for path in there} == before
    assert run(FEW, ["iris", "image"], repeats=2, out=out, folder=folder, protocol=TINY) == 0
    run(FEW, ["iris", "image"], repeats=2, out=tmp_path / "at once", folder=folder, protocol=TINY)
    pd.testing.assert_frame_equal(sorted_rows(out), sorted_rows(tmp_path / "at once"))


def test_several_at_a_time_give_the_same_rows(folder, tmp_path):
    for n_jobs in (1, 2):
        with parallel_config(backend="threading"):  # processes do the same, but take seconds to start
            run(FEW[:1], ["iris", "image"], repeats=1, n_jobs=n_jobs, out=tmp_path / str(n_jobs), folder=folder, protocol=TINY)
    pd.testing.assert_frame_equal(sorted_rows(tmp_path / "1"), sorted_rows(tmp_path / "2"))


def test_a_unit_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    def cut_off(table, path, **options):
        path.write_bytes(b"half of it")
        raise OSError("no space left")

    monkeypatch.setattr("pyarrow.parquet.write_table", cut_off)
    unit = Unit("drop_term", "iris", 0)
    with pytest.raises(OSError, match="no space left"):
        write(tmp_path, unit, [("iEC3", "none", "auc", 0.5)])
    assert not unit.path(tmp_path).exists()


def test_a_file_that_was_not_finished_is_not_read(tmp_path):
    unit = Unit("drop_term", "iris", 0)
    write(tmp_path, unit, [("iEC3", "none", "auc", 0.5)])
    (tmp_path / "drop_term" / ".iris-1.parquet.99").write_bytes(b"half of it")
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
    with pytest.raises(ValueError, match=r"of one protocol, but those in .* have max_rows 60 and not 70\. Take"):
        run(FEW[:1], ["iris"], repeats=2, out=tmp_path / "out", folder=folder, protocol=replace(TINY, max_rows=70))


def test_no_rows_says_how_to_make_some(tmp_path):
    with pytest.raises(
        DatasetError, match=re.escape(f"{tmp_path} holds no rows. Make some: ec3learn paper run --out {tmp_path}.")
    ):
        read(tmp_path)


def test_rows_of_another_kind_are_refused(tmp_path):
    (tmp_path / "drop_term").mkdir()
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "drop_term" / "iris-0.parquet")
    with pytest.raises(
        DatasetError, match="must have the columns experiment, dataset, seed, method, setting, metric, value, got a"
    ):
        read(tmp_path)


def test_lines_say_how_far_it_is(folder, tmp_path, capsys):
    run(FEW, ["iris"], repeats=1, out=tmp_path / "out", folder=folder, protocol=TINY)
    assert re.search(r"^3/3 units, 0:\d\d gone, about 0:00 left  iris 0 drop_term$", capsys.readouterr().err, flags=re.M)


def test_a_bar_says_how_far_it_is_on_a_terminal(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    run(FEW, ["iris"], repeats=1, out=tmp_path / "out", folder=folder, protocol=TINY)
    assert re.search(r"\r\[={20}\] 3/3 units", capsys.readouterr().err)
