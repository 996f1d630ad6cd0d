"""Each script of the gallery runs, draws, and what it says about its own numbers holds."""

import re
import runpy
import sys
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

matplotlib.use("Agg")
EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def run(monkeypatch):
    """Run a script as from the command line; return its names and how many figures it drew."""
    monkeypatch.setattr(plt, "show", lambda: None)
    plt.close("all")

    def run_script(name, *words):
        monkeypatch.setattr(sys, "argv", [name, *words])
        return runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__") | {"n_figures": len(plt.get_fignums())}

    yield run_script
    plt.close("all")


def test_annotators_are_judged_by_their_votes_alone(run, capsys):
    names = run("annotators")
    assert names["n_figures"] == 2
    assert max(abs(names["estimated"](name) - names["actual"](name)) for name in names["skill"]) < 0.05
    voted, by_skill, copies, with_labels = (
        float(x) for x in re.findall(r"(?:right|Hal|labels): (0\.\d+)", capsys.readouterr().out)
    )
    assert by_skill > voted + 0.04
    assert copies < with_labels < 0.7


def test_annotators_and_embeddings_together_are_better_than_votes(run, capsys):
    names = run("embeddings")
    assert names["n_figures"] == 1
    right = names["right"]
    assert right["votes alone"] < 0.8 and right["votes and embeddings"] > 0.95
    out = capsys.readouterr().out
    without, with_one = (float(x) for x in re.findall(r"new images with.*: (0\.\d+)", out))
    assert 0.9 < without < with_one
    assert np.mean(names["gaps"]) < 0.06
    assert "the answer is that of the votes alone" in out


def test_clusterings_help_with_few_labels_and_not_with_many(run):
    names = run("few_labels")
    assert names["n_figures"] == 2
    alone, with_clusters, as_voters = names["results"]["handwritten digits"].T
    assert alone[1] + 0.01 < with_clusters[1] < as_voters[1]
    assert max(with_clusters[-1], as_voters[-1]) < alone[-1] + 0.002
    alone, with_clusters, as_voters = names["results"]["breast cancer"].T
    assert as_voters[0] > alone[0] and as_voters[-1] < alone[-1]
    assert abs(with_clusters - alone).max() < 0.015


def test_answers_of_the_offices_get_more_than_half_of_the_way(run, capsys):
    names = run("private_models")
    assert names["n_figures"] == 1
    right = names["right"]
    best_office = max(right[name] for name in names["models"])
    assert right["majority vote"] < right["iEC3"] < right["Dawid-Skene with groups"] < right["all data in one place"]
    assert right["Dawid-Skene with groups"] - best_office > (right["all data in one place"] - best_office) / 2
    assert float(re.search(r"later digits: (0\.\d+)", capsys.readouterr().out)[1]) > right["iEC3"]


def test_fifty_labels_make_a_jury_of_judges_honest(run):
    names = run("llm_judges")
    assert names["n_figures"] == 1
    true, rest = names["good"].mean(), names["rest"]
    for table in (names["pass_rate"], names["by_200"]):
        assert table["low"][0] < true < table["high"][0]
        assert table["worth"][0] > table["labels"][0]
    right, before, after = (
        np.mean(names["consensus"].labels()[rest] == names["truth"][rest]),
        names["unlabelled"].confidence[rest].mean(),
        names["consensus"].confidence[rest].mean(),
    )
    assert abs(after - right) < 0.05 < before - right
    assert names["shared"] > 0.2  # of six judges, three are left


def test_a_parquet_file_is_answered_row_by_row(run, capsys):
    names = run("parquet", "30_000")
    assert names["n_figures"] == 1
    assert "30000 rows" in capsys.readouterr().out
    assert names["distinct"] == sorted(names["distinct"]) and names["distinct"][-1] < 30_000


def test_the_demo_combines_the_digits_better_than_voting(run, capsys):
    run("digits")
    accuracy = dict(re.findall(r"^(.+?)  +(0\.\d+)", capsys.readouterr().out, flags=re.M))
    assert float(accuracy["EC3Classifier"]) > max(float(accuracy["majority vote"]), float(accuracy["soft vote"]))


def test_the_pictures_of_the_pages_are_small_and_up_to_date(tmp_path):
    runpy.run_path(str(EXAMPLES / "readme_picture.py"))["draw"](tmp_path)
    for drawn in sorted(tmp_path.iterdir()):
        now, stored = plt.imread(drawn), plt.imread(EXAMPLES.parent / "docs" / "images" / drawn.name)
        assert drawn.stat().st_size < 150_000
        assert now.shape == stored.shape
        assert np.abs(now - stored).mean() < 0.02  # fonts differ from machine to machine


def test_every_script_is_tested():
    tested = set(re.findall(r'(?:run\(|/ )"(\w+)(?:\.py)?"', Path(__file__).read_text()))
    assert {path.stem for path in EXAMPLES.glob("*.py")} <= tested
