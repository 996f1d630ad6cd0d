"""`ec3learn paper` and `ec3learn datasets`."""

import re

import pytest

typer = pytest.importorskip("typer")
from typer.testing import CliRunner  # noqa: E402

from ec3learn.cli.paper import app, datasets  # noqa: E402
from ec3learn.paper.studies import EXPERIMENTS  # noqa: E402


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
