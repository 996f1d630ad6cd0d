"""What the pages show runs."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SNIPPETS = [
    pytest.param(code, id=f"{page.name}-{i}")
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    for i, code in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.S))
]


@pytest.mark.parametrize("code", SNIPPETS)
def test_a_snippet_runs(code, capsys):
    exec(compile(code, "snippet", "exec"), {})
    assert capsys.readouterr().out


def test_functions_the_page_names_are_there():
    import importlib

    for module, name in re.findall(
        r"`(matrices|patterns|solvers|rules|problem)\.(\w+)`", (ROOT / "docs/how-it-works.md").read_text()
    ):
        assert hasattr(importlib.import_module(f"ec3learn.{module}"), name), f"{module}.{name}"


def test_the_demo_combines_the_digits_better_than_voting(capsys):
    runpy.run_path(str(ROOT / "examples" / "digits.py"), run_name="__main__")
    accuracy = dict(re.findall(r"^(.+?)  +(0\.\d+)", capsys.readouterr().out, flags=re.M))
    assert float(accuracy["EC3Classifier"]) > max(float(accuracy["majority vote"]), float(accuracy["soft vote"]))


def test_two_commands_are_all_the_set_up():
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(r"^demo: ", makefile, flags=re.M)
    assert re.search(r"^test: ", makefile, flags=re.M)
