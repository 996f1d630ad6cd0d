"""`ec3learn paper` and `ec3learn datasets`."""

import re

import pytest

typer = pytest.importorskip("typer")
from typer.testing import CliRunner  # noqa: E402

from ec3learn.cli import main  # noqa: E402
from ec3learn.cli.paper import app, datasets  # noqa: E402
from ec3learn.paper.run import EXPERIMENTS  # noqa: E402


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
