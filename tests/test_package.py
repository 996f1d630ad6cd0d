"""What users import by name, what pyproject.toml promises about it, and the example votes."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import ec3learn
from ec3learn.demo import demo_votes, solve_demo

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


# ---- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ec3learn.__all__)
def test_every_public_name_is_there(name):
    assert getattr(ec3learn, name) is not None


def test_every_public_name_is_listed():
    assert set(ec3learn.__all__) <= set(dir(ec3learn))


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'ec3learn' has no attribute 'EC4'"):
        _ = ec3learn.EC4


def test_the_import_alone_loads_nothing_heavy():
    program = "import sys, ec3learn; print(sorted({'numpy', 'scipy', 'sklearn', 'narwhals', 'pandas'} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_combine_needs_no_base_models():
    program = "import sys; from ec3learn import combine; print('sklearn.ensemble' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


# ---- dependencies --------------------------------------------------------------------------------

FOR_DEVELOPERS = {"bench", "dev", "docs", "paper"}  # extras that users do not install
ROOMS_WITH_AN_EXTRA = (
    "cli",
    "kernels/loops.py",
    "report",
    "tables/files.py",
    "tables/formats.py",
    "tables/spreadsheets.py",
)  # others import extras in functions
DISTRIBUTIONS = {"sklearn": "scikit-learn"}  # where the name to import is not the name to install


def _names(requirements: list[str]) -> set[str]:
    """Return the distributions that requirements name."""
    return {re.match(r"[\w-]+", requirement).group() for requirement in requirements} - {"ec3learn"}


REQUIRED = _names(PROJECT["dependencies"])
EXTRAS = {
    name: _names(needs)
    for name, needs in PROJECT["optional-dependencies"].items()
    if name not in FOR_DEVELOPERS
}


def _imported(node: ast.AST) -> list[str]:
    """Return the modules that one statement or call imports."""
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=str(module), level=0):
            return [module]
        case ast.Call(
            func=ast.Name(id="import_module"), args=[ast.Constant(value=str(module)), *_]
        ) if not module.startswith("."):
            return [module]
    return []


def _third_party(nodes: list[ast.AST]) -> set[str]:
    """Return the distributions that statements import, without the standard library's."""
    packages = {
        module.split(".")[0] for node in nodes for module in _imported(node)
    } - sys.stdlib_module_names
    return {DISTRIBUTIONS.get(package, package) for package in packages}


SOURCES = {
    path.relative_to(ROOT / "src/ec3learn").as_posix(): path
    for path in (ROOT / "src/ec3learn").rglob("*.py")
}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in SOURCES.items()}


def test_every_package_that_is_imported_is_declared():
    imported = {
        package for tree in TREES.values() for package in _third_party(list(ast.walk(tree)))
    }
    assert imported - REQUIRED - set().union(*EXTRAS.values()) == set()


@pytest.mark.parametrize(
    "name", [name for name in TREES if not name.startswith(ROOMS_WITH_AN_EXTRA)]
)
def test_a_module_for_everybody_loads_with_the_required_packages_alone(name):
    assert _third_party(TREES[name].body) - REQUIRED == set()


def test_every_required_package_is_imported():
    imported = {
        package for tree in TREES.values() for package in _third_party(list(ast.walk(tree)))
    }
    assert imported >= REQUIRED


def test_the_extra_all_has_every_extra_for_users():
    (everything,) = PROJECT["optional-dependencies"]["all"]
    assert everything == f"ec3learn[{','.join(sorted(set(EXTRAS) - {'all'}))}]"


# ---- the same fact in two files ------------------------------------------------------------------


def test_the_tests_run_on_the_oldest_and_the_newest_python_of_the_classifiers():
    listed = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    matrix = re.search(
        r"python: \[(.*?)\]", (ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8")
    ).group(1)
    assert matrix == f'"{listed[0]}", "{listed[-1]}"'
    assert PROJECT["requires-python"] == f">={listed[0]}"


def test_the_version_is_the_same_everywhere():
    assert ec3learn.__version__ == PROJECT["version"]
    assert f"\nversion: {PROJECT['version']}\n" in (ROOT / "CITATION.cff").read_text(
        encoding="utf-8"
    )


# ---- the example votes ---------------------------------------------------------------------------


def test_a_missing_vote_is_neither_right_nor_wrong():
    table = demo_votes()
    cast = [
        (row["svm"], row["truth"])
        for row in table.rows()
        if row["gold"] is None and row["svm"] is not None
    ]
    scores = dict(zip(*solve_demo()[0].columns.values(), strict=True))
    assert scores["svm"] == np.mean([vote == truth for vote, truth in cast])
    assert scores["iEC3"] > scores["majority vote"]
