"""What the pages show runs, prints what they say it prints, and leads where they say."""

import importlib
import inspect
import re
import runpy
import sys
from operator import attrgetter
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

import ec3learn

matplotlib.use("Agg")
ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SNIPPET = re.compile(r"^```python\n(.*?)^```$(?:\n\n^```text\n(.*?)^```$)?", flags=re.S | re.M)


# ---- snippets ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "page", [page for page in PAGES if "```python" in page.read_text()], ids=lambda page: page.name
)
def test_snippets_of_a_page_run_one_after_the_other_and_print_what_it_shows(
    page, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for code, shown in SNIPPET.findall(page.read_text()):
        exec(compile(code, page.name, "exec"), names)
        printed = [line.rstrip() for line in capsys.readouterr().out.rstrip("\n").split("\n")]
        assert printed != [""]
        if shown:
            assert printed == shown.rstrip("\n").split("\n")
    plt.close("all")


def test_every_python_block_of_the_pages_is_taken_for_a_snippet():
    for page in PAGES:
        assert len(SNIPPET.findall(page.read_text())) == page.read_text().count("```python")


# ---- links ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "page", [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"], ids=lambda page: page.name
)
def test_a_relative_link_leads_to_a_file_of_the_repository(page):
    targets = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text())
    assert [target for target in targets if not (page.parent / target).is_file()] == []


def test_every_page_is_on_the_site():
    listed = {
        entry
        for page in PAGES
        for tree in re.findall(r"^```{toctree}\n(.*?)^```$", page.read_text(), flags=re.S | re.M)
        for entry in re.findall(r"^(?:.*<)?([\w/-]+)>?$", tree, flags=re.M)
    }
    assert listed == {page.stem for page in PAGES[1:]} - {"index"} | {"gallery/index"}


def test_functions_the_page_names_are_there():
    rooms = r"`((?:algebra|answer|votes|methods\.ec3)\.\w+)\.(\w+)`"
    named = re.findall(rooms, (ROOT / "docs/how-it-works.md").read_text())
    assert named
    for module, name in named:
        assert hasattr(importlib.import_module(f"ec3learn.{module}"), name), f"{module}.{name}"


def test_every_promise_has_a_test_that_is_there():
    promises = [
        line
        for line in (ROOT / "docs/reliability.md").read_text().splitlines()
        if line.startswith("| ")
    ][1:]
    assert len(promises) > 10
    for promise in promises:
        tests = re.findall(r"`([\w/]+\.py)::(\w+)`", promise)
        assert tests, promise
        for path, name in tests:
            assert f"\ndef {name}(" in (ROOT / "tests" / path).read_text(), name


CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
STOPS = re.findall(r"^(\d+)\. `([\w/]+)\.py`, `([\w.]+)`", CONTRIBUTING, flags=re.M)


def test_one_vote_goes_through_the_house_in_ten_stops():
    assert 5 < len(STOPS) <= 10
    assert [int(number) for number, _, _ in STOPS] == list(range(1, len(STOPS) + 1))
    assert len(re.findall(r"^\d+\. ", CONTRIBUTING, flags=re.M)) == len(STOPS)


@pytest.mark.parametrize(("path", "name"), [(path, name) for _, path, name in STOPS])
def test_a_stop_of_the_vote_is_there(path, name):
    assert attrgetter(name)(importlib.import_module(f"ec3learn.{path.replace('/', '.')}"))


@pytest.mark.parametrize("path", re.findall(r"`((?:\w+/)+\w+\.\w+)`", CONTRIBUTING))
def test_a_file_that_contributors_are_sent_to_is_there(path):
    assert (ROOT / path).is_file() or (ROOT / "src/ec3learn" / path).is_file()


def test_two_commands_are_all_the_set_up():
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(r"^demo: ", makefile, flags=re.M)
    assert re.search(r"^test: ", makefile, flags=re.M)


# ---- reference -----------------------------------------------------------------------------------

EXAMPLE = "Examples\n--------\n>>> "


def _public() -> dict[str, object]:
    """Return everything that users import by name."""
    found: dict[str, object] = {
        name: getattr(ec3learn, name) for name in ec3learn.__all__ if name != "__version__"
    }
    for part in ("diagnosis", "demo", "estimator", "pairs", "report.plots"):
        module = importlib.import_module(f"ec3learn.{part}")
        own = [
            n
            for n, value in vars(module).items()
            if inspect.isfunction(value) and value.__module__ == module.__name__
        ]
        names = getattr(module, "__all__", [name for name in own if not name.startswith("_")])
        found |= {f"{part}.{name}": getattr(module, name) for name in names if name not in found}
    return found


PUBLIC = _public()
ERRORS = {
    name
    for name, value in PUBLIC.items()
    if inspect.isclass(value) and issubclass(value, Exception)
}
SHOWN = {name: value for name, value in PUBLIC.items() if callable(value) and name not in ERRORS}


def _has_example(value: object) -> bool:
    return EXAMPLE in (inspect.getdoc(value) or "")


@pytest.mark.parametrize("name", [name for name in SHOWN if "." not in name])
def test_what_the_package_itself_offers_has_an_example(name):
    assert _has_example(SHOWN[name])


@pytest.mark.parametrize("module", sorted({value.__module__ for value in SHOWN.values()}))
def test_a_module_with_public_names_has_an_example(module):
    assert any(_has_example(value) for value in SHOWN.values() if value.__module__ == module)


@pytest.mark.parametrize("name", SHOWN)
def test_no_example_is_skipped(name):
    assert "+SKIP" not in (inspect.getdoc(SHOWN[name]) or "")


def test_the_reference_has_every_public_name():
    page = (ROOT / "docs/api.md").read_text()
    listed = set()
    for block in re.split(r"\.\. currentmodule:: ", page)[1:]:
        prefix = block.split("\n", 1)[0].removeprefix("ec3learn").removeprefix(".")
        names = re.findall(r"^   (\w+)$|^\.\. py:data:: (\w+)$", block, flags=re.M)
        listed |= {f"{prefix}.{a or b}".removeprefix(".") for a, b in names}
    assert listed == set(PUBLIC)


# ---- examples ------------------------------------------------------------------------------------


matplotlib.use("Agg")
EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def run(monkeypatch):
    """Run a script as from the command line; return its names and how many figures it drew."""
    monkeypatch.setattr(plt, "show", lambda: None)
    plt.close("all")

    def run_script(name, *words):
        monkeypatch.setattr(sys, "argv", [name, *words])
        return runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__") | {
            "n_figures": len(plt.get_fignums())
        }

    yield run_script
    plt.close("all")


def test_annotators_are_judged_by_their_votes_alone(run, capsys):
    names = run("annotators")
    assert names["n_figures"] == 2
    assert (
        max(abs(names["estimated"](name) - names["actual"](name)) for name in names["skill"]) < 0.05
    )
    voted, by_skill, copies, with_labels = (
        float(x) for x in re.findall(r"(?:right|Hal|labels): (0\.\d+)", capsys.readouterr().out)
    )
    assert by_skill > voted + 0.04
    assert copies + 0.1 < with_labels < by_skill


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
    assert (
        right["majority vote"]
        < right["iEC3"]
        < right["Dawid-Skene with groups"]
        < right["all data in one place"]
    )
    assert (
        right["Dawid-Skene with groups"] - best_office
        > (right["all data in one place"] - best_office) / 2
    )
    assert float(re.search(r"later digits: (0\.\d+)", capsys.readouterr().out)[1]) > right["iEC3"]


def test_fifty_labels_make_a_jury_of_judges_more_honest(run):
    names = run("llm_judges")
    assert names["n_figures"] == 1
    true, rest = names["good"].mean(), names["rest"]
    for table in (names["pass_rate"], names["by_200"]):
        assert table["low"][0] < true < table["high"][0]
        assert table["worth"][0] > table["labels"][0]
    before, after = (
        (np.mean(answer.labels()[rest] == names["truth"][rest]), answer.confidence[rest].mean())
        for answer in (names["unlabelled"], names["consensus"])
    )
    assert after[0] > before[0] + 0.01
    assert abs(after[1] - after[0]) < abs(before[1] - before[0])
    assert names["shared"] > 0.3  # of six judges, two are left


def test_a_parquet_file_is_answered_row_by_row(run, capsys):
    names = run("parquet", "30_000")
    assert names["n_figures"] == 1
    assert "30000 rows" in capsys.readouterr().out
    assert names["distinct"] == sorted(names["distinct"]) and names["distinct"][-1] < 30_000


def test_the_demo_combines_the_digits_better_than_voting(run, capsys):
    run("digits")
    accuracy = dict(re.findall(r"^(.+?)  +(0\.\d+)", capsys.readouterr().out, flags=re.M))
    assert float(accuracy["EC3Classifier"]) > max(
        float(accuracy["majority vote"]), float(accuracy["soft vote"])
    )


def test_the_pictures_of_the_pages_are_small_and_up_to_date(tmp_path):
    runpy.run_path(str(EXAMPLES / "readme_picture.py"))["draw"](tmp_path)
    for drawn in sorted(tmp_path.iterdir()):
        now, stored = (
            plt.imread(drawn),
            plt.imread(EXAMPLES.parent / "docs" / "images" / drawn.name),
        )
        assert drawn.stat().st_size < 150_000
        assert now.shape == stored.shape
        assert np.abs(now - stored).mean() < 0.02  # fonts differ from machine to machine


def test_every_script_is_tested():
    tested = set(re.findall(r'(?:run\(|/ )"(\w+)(?:\.py)?"', Path(__file__).read_text()))
    assert {path.stem for path in EXAMPLES.glob("*.py")} <= tested
