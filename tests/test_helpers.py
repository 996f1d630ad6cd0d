"""What every room uses: checks of arguments and what they say, tables, and files that appear whole or not at all."""

import os
import pickle
import re
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from ec3learn import Table
from ec3learn._checks import (
    InputError,
    InputTypeError,
    require_bool,
    require_choice,
    require_integer,
    require_number,
    require_seed,
)
from ec3learn._files import place_for, temporary_folder, whole_file
from ec3learn._text import shown

PASS = [
    lambda: require_number("x", 0, least=0),
    lambda: require_number("x", np.float32(0.5), above=0),
    lambda: require_integer("x", np.int8(3), 3),
    lambda: require_choice("x", "b", ("a", "b")),
    lambda: require_bool("x", np.True_),
    *[
        lambda seed=seed: require_seed("x", seed)
        for seed in (None, 0, np.int64(5), np.random.default_rng(0))
    ],
]
REFUSE = {
    "x must be a finite number >= 0, got -1.": lambda: require_number("x", -1, least=0),
    "x must be a finite number > 0, got 0.": lambda: require_number("x", 0, above=0),
    "x must be a finite number > 0, got inf.": lambda: require_number("x", np.inf, above=0),
    "x must be a finite number > 0, got True.": lambda: require_number("x", True, above=0),
    "x must be an integer >= 1, got 2.5.": lambda: require_integer("x", 2.5, 1),
    "x must be an integer >= 1, got True.": lambda: require_integer("x", True, 1),
    "x must be an integer >= 1, got '2'.": lambda: require_integer("x", "2", 1),
    "Unknown x 'c'. Choose from: a, b.": lambda: require_choice("x", "c", ("a", "b")),
    "Unknown x array(['a', 'b'], dtype='<U1'). Choose from: a, b.": lambda: require_choice(
        "x", np.array(["a", "b"]), ("a", "b")
    ),
    "x must be True or False, got 1.": lambda: require_bool("x", 1),
    "x must be an integer >= 0, a numpy Generator or None, got 'x'.": lambda: require_seed(
        "x", "x"
    ),
    "x must be an integer >= 0, a numpy Generator or None, got -1.": lambda: require_seed("x", -1),
}


@pytest.mark.parametrize("check", PASS)
def test_what_is_allowed_passes(check):
    check()


@pytest.mark.parametrize("message", REFUSE)
def test_what_is_not_allowed_is_refused(message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        REFUSE[message]()


# ---- errors --------------------------------------------------------------------------------------


def test_an_error_survives_pickling():
    error = InputTypeError("known", "must be a column", got="x", remedy="Leave it out.")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.argument) == (InputTypeError, "known")
    assert str(again) == str(error) == "known must be a column, got 'x'. Leave it out."


def test_what_came_is_not_shown_at_any_length():
    assert len(str(InputError("x", "must be short", got="y" * 1_000_000))) < 400


# ---- tables: columns by name, as text, HTML and any dataframe ------------------------------------


@pytest.fixture
def table():
    return Table({"model": ["svm", "k<nn"], "weight": [1.25, None], "n": [3, 10]})


def test_text_aligns_numbers_to_the_right(table):
    assert repr(table).splitlines() == [
        "model  weight   n",
        "svm     1.250   3",
        "k<nn           10",
    ]


def test_a_little_is_not_shown_as_nothing():
    shares = [0.25, 1 / 8315, -0.0004, 1e-5, 1e-17, 0.0]
    assert repr(Table({"share": shares})).split()[1:] == [
        "0.250",
        "0.00012",
        "-0.0004",
        "0.00001",
        "0.000",
        "0.000",
    ]


def test_a_table_without_rows_shows_its_heads():
    assert repr(Table({"a": [], "b": []})) == "a  b"


def test_a_table_without_columns_is_empty():
    assert len(Table({})) == 0
    assert list(Table({}).rows()) == []


def test_rows_are_dicts(table):
    assert list(table.rows())[1] == {"model": "k<nn", "weight": None, "n": 10}
    assert len(table) == 2


def test_html_is_escaped():
    html = Table({"<b>": ["<script>alert(1)</script>"]})._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "<b>" not in html


@pytest.mark.parametrize(
    ("backend", "frame"),
    [("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("pyarrow", pa.Table)],
)
def test_it_becomes_any_dataframe(table, backend, frame):
    made = table.to_frame(backend)
    assert isinstance(made, frame)
    assert list(made["model"]) == ["svm", "k<nn"] or made["model"].to_pylist() == ["svm", "k<nn"]


def test_a_dataframe_library_that_is_not_there_is_named(table):
    message = (
        "backend must be 'pandas', 'polars', 'pyarrow' or the like, and installed, got 'modin'."
    )
    with pytest.raises(InputError, match=re.escape(message)):
        table.to_frame("modin")


def test_a_table_of_an_unknown_library_is_refused_in_one_line():
    with pytest.raises(
        InputError,
        match=r"^backend must be 'pandas', 'polars', 'pyarrow' or the like, and installed, got 'foo'\.$",
    ):
        Table({"model": ["svm"]}).to_frame("foo")


# ---- files that appear whole or not at all -------------------------------------------------------


def written(target, content=b"new"):
    with whole_file(target) as file:
        file.write(content)


@pytest.mark.posix
def test_what_a_killed_process_left_is_cleared_away_and_what_is_in_use_stays(tmp_path):
    program = "import sys, time; from ec3learn._files import temporary_folder, whole_file; from pathlib import Path\n"
    program += "with temporary_folder(sys.argv[1]), whole_file(Path(sys.argv[1]) / 'x'): print(flush=True); time.sleep(100)"
    with subprocess.Popen(
        [sys.executable, "-c", program, tmp_path], stdout=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        (tmp_path / ".ec3learn-other").mkdir()  # without a lock: not ours, or just being made
        (tmp_path / "own").mkdir()  # with something in it that is called like our locks
        (tmp_path / "own" / "lock").touch()
        left = set(os.listdir(tmp_path))
        for name in left:
            os.utime(tmp_path / name, (0, 0))
        with temporary_folder(str(tmp_path)):
            written(tmp_path / "x")
        assert set(os.listdir(tmp_path)) == left | {"x"}
        process.kill()
    with temporary_folder(str(tmp_path)):
        written(tmp_path / "x")
    assert set(os.listdir(tmp_path)) == {"x", ".ec3learn-other", "own"}


def test_a_name_with_nul_is_refused(tmp_path):
    with pytest.raises(
        ValueError, match=re.escape("path must be the name of a file, without NUL, got 'a\\x00b'.")
    ):
        place_for("a\0b")


def test_an_error_prints_no_control_characters(tmp_path):
    with pytest.raises(FileNotFoundError) as refused:
        place_for(tmp_path / "\x1b[31m\u202e" / "x\ny")
    assert str(refused.value).endswith("/�[31m�/x⏎y.")


def test_a_file_appears_when_it_is_whole(tmp_path):
    target = tmp_path / "x"
    target.write_text("old")
    with pytest.raises(RuntimeError), whole_file(target) as file:
        file.write(b"half")
        raise RuntimeError
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["x"]
    written(target)
    assert target.read_text() == "new"
    assert os.listdir(tmp_path) == ["x"]


@pytest.mark.posix
def test_an_existing_file_keeps_its_mode_and_a_new_one_gets_the_usual(tmp_path):
    for name, mode in (("mine", 0o600), ("new", None)):
        target = tmp_path / name
        if mode is not None:
            target.touch(mode)
        umask = os.umask(0o027)
        try:
            written(target)
        finally:
            os.umask(umask)
        assert target.stat().st_mode & 0o777 == (mode or 0o640)


@pytest.mark.posix
def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "real")
    written(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "folder" / "real").read_bytes() == b"new"


@pytest.mark.posix
def test_a_pipe_gets_the_bytes_and_stays_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    written(pipe)
    reader.join()
    assert read == [b"new"]
    assert pipe.is_fifo()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "path must be a file, got the folder "),
        ("none/x", "path must lie in a folder that exists, got "),
        ("here", "here exists already. Pass overwrite=True to replace it."),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path, name, words):
    (tmp_path / "here").touch()
    with pytest.raises(ValueError, match=re.escape(words)) as refused:
        place_for(tmp_path / name, overwrite=False)
    assert isinstance(refused.value, OSError)
    assert place_for(tmp_path / "here", overwrite=True) == tmp_path / "here"


@pytest.mark.parametrize(
    "sign", ["\x1b", "\x00", "\x7f", "\x9b", "\u200f", "\u202e", "\u2066", "\ufeff", "\u00ad"]
)
def test_signs_that_hide_or_turn_text_are_not_shown(sign):
    assert shown(f"a{sign}b") == "a\ufffdb"
