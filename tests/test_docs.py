"""What the pages show runs, prints what they say it prints, and leads where they say."""

import importlib
import inspect
import re
from operator import attrgetter
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import pytest

import ec3learn

matplotlib.use("Agg")
ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SNIPPET = re.compile(r"^```python\n(.*?)^```$(?:\n\n^```text\n(.*?)^```$)?", flags=re.S | re.M)


# ---- snippets --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", [page for page in PAGES if "```python" in page.read_text()], ids=lambda page: page.name)
def test_snippets_of_a_page_run_one_after_the_other_and_print_what_it_shows(page, tmp_path, monkeypatch, capsys):
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


# ---- links -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"], ids=lambda page: page.name)
def test_a_relative_link_leads_to_a_file_of_the_repository(page):
    targets = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text())
    assert [target for target in targets if not (page.parent / target).is_file()] == []


def test_every_page_is_on_the_site():
    listed = {
        entry
        for page in PAGES
        for tree in re.findall(r"^```{toctree}\n(.*?)^```$", page.read_text(), flags=re.S | re.M)
        for entry in re.findall(r"^[\w/-]+$", tree, flags=re.M)
    }
    assert listed == {page.stem for page in PAGES[1:]} - {"index"} | {"gallery/index"}


def test_functions_the_page_names_are_there():
    rooms = r"`((?:algebra|answer|votes|methods\.ec3)\.\w+)\.(\w+)`"
    named = re.findall(rooms, (ROOT / "docs/how-it-works.md").read_text())
    assert named
    for module, name in named:
        assert hasattr(importlib.import_module(f"ec3learn.{module}"), name), f"{module}.{name}"


def test_every_promise_has_a_test_that_is_there():
    promises = [line for line in (ROOT / "docs/reliability.md").read_text().splitlines() if line.startswith("| ")][1:]
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


# ---- reference -------------------------------------------------------------------------------------------------------

EXAMPLE = "Examples\n--------\n>>> "


def _public() -> dict[str, object]:
    """Return everything that users import by name."""
    found: dict[str, object] = {name: getattr(ec3learn, name) for name in ec3learn.__all__ if name != "__version__"}
    for part in ("diagnosis", "demo", "estimator", "report.plots", "paper.datasets"):
        module = importlib.import_module(f"ec3learn.{part}")
        own = [n for n, value in vars(module).items() if inspect.isfunction(value) and value.__module__ == module.__name__]
        names = getattr(module, "__all__", [name for name in own if not name.startswith("_")])
        found |= {f"{part}.{name}": getattr(module, name) for name in names if name not in found}
    return found


PUBLIC = _public()
SHOWN = {name: value for name, value in PUBLIC.items() if callable(value)}


@pytest.mark.parametrize("name", SHOWN)
def test_what_the_reference_shows_has_an_example_that_runs(name):
    text = inspect.getdoc(SHOWN[name]) or ""
    assert EXAMPLE in text
    assert "+SKIP" not in text


def test_the_reference_has_every_public_name():
    page = (ROOT / "docs/api.md").read_text()
    listed = set()
    for block in re.split(r"\.\. currentmodule:: ", page)[1:]:
        prefix = block.split("\n", 1)[0].removeprefix("ec3learn").removeprefix(".")
        names = re.findall(r"^   (\w+)$|^\.\. py:data:: (\w+)$", block, flags=re.M)
        listed |= {f"{prefix}.{a or b}".removeprefix(".") for a, b in names}
    assert listed == set(PUBLIC)
