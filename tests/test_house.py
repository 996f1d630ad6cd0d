"""The rooms of the package: imports go one way, and nobody reads what is private to another room.

Imports inside functions count as well; those under `if TYPE_CHECKING` do not, since they never run.
"""

import ast
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src/ec3learn"
HELPERS = ("_checks", "_files", "_table", "_text", "_typing")
# A room imports from the rooms on lines above its own. CONTRIBUTING.md draws this.
STOREYS = [
    ["helpers"],
    ["kernels"],
    ["votes"],
    ["algebra"],
    ["answer"],
    ["diagnosis"],
    ["report"],
    ["consensus"],
    ["methods"],
    ["tables", "estimator", "demo", "pairs", "compat"],
    ["cli"],
]
LEVEL = {room: level for level, rooms in enumerate(STOREYS) for room in rooms}
FACADE = "ec3learn"  # __init__ and __main__: the door to all rooms, which loads them on demand
PUBLIC = {
    "_repr_html_",
    "_asdict",
    "_exit",
    "_fields",
    "_make",
    "_replace",
}  # documented, though they start with an underscore


@dataclass
class Module:
    """A file of the package: what it imports, defines and reads."""

    name: str
    tree: ast.Module
    is_package: bool = False
    statements: list[ast.AST] = field(default_factory=list)

    def __post_init__(self):
        self.statements = list(_running(self.tree))

    @cached_property
    def room(self) -> str:
        """Return the room it is in."""
        first = self.name.split(".")[1] if "." in self.name else FACADE
        return "helpers" if first in HELPERS else FACADE if first == "__main__" else first

    def absolute(self, node: ast.ImportFrom) -> str:
        """Return the full name of the module that a statement imports from."""
        parts = self.name.split(".")
        base = parts[: len(parts) - node.level + self.is_package] if node.level else []
        return ".".join([*base, *([node.module] if node.module else [])])

    def imports(self) -> Iterator[tuple[str, str | None]]:
        """Return pairs (module, name): what is imported from where; without a name, the module itself."""
        for node in self.statements:
            if isinstance(node, ast.Import):
                yield from ((alias.name, None) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield from ((self.absolute(node), alias.name) for alias in node.names)

    def private_definitions(self) -> set[str]:
        """Return the private names that are functions, classes, variables or attributes of its classes."""
        found = set()
        for node in self.statements:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.add(node.name)
            elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
                found.add(node.id if isinstance(node, ast.Name) else node.attr)
        return {name for name in found if _private(name)}

    def private_reads(self) -> Iterator[str]:
        """Return the private members read of anything but the object itself and its class."""
        for node in self.statements:
            if isinstance(node, ast.Attribute) and _private(node.attr) and not _is_own(node.value):
                yield node.attr


def _running(node: ast.AST) -> Iterator[ast.AST]:
    """Return all nodes below one, without those that only a type checker sees."""
    is_for_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
    for child in node.orelse if is_for_types else ast.iter_child_nodes(node):
        yield child
        yield from _running(child)


def _private(name: str) -> bool:
    return (
        name.startswith("_")
        and not (name.startswith("__") and name.endswith("__"))
        and name not in PUBLIC
        and name != "_"
    )


def _is_own(value: ast.expr) -> bool:
    """Return whether an expression is self, cls, super() or type(self)."""
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id in ("super", "type")
    return isinstance(value, ast.Name) and value.id in ("self", "cls")


def _read() -> dict[str, Module]:
    modules = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        modules[name] = Module(name, ast.parse(path.read_text(encoding="utf-8")), is_package)
    return modules


MODULES = _read()
EDGES = {
    name: {
        f"{source}.{what}" if f"{source}.{what}" in MODULES else source
        for source, what in module.imports()
    }
    & set(MODULES)
    for name, module in MODULES.items()
}


def _cycle(edges: dict[str, set[str]]) -> list[str]:
    """Return a cycle of a graph, or an empty list."""
    try:
        TopologicalSorter({node: targets - {node} for node, targets in edges.items()}).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_every_room_has_its_place():
    assert {module.room for module in MODULES.values()} - {FACADE} == set(LEVEL)


def test_every_room_has_its_line_for_contributors():
    text = (PACKAGE.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.split("| room |")[1].split("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, flags=re.M) == list(LEVEL)


def test_modules_do_not_import_each_other_in_a_circle():
    assert _cycle(EDGES) == []


def test_rooms_do_not_import_each_other_in_a_circle():
    rooms = defaultdict(set)
    for name, targets in EDGES.items():
        rooms[MODULES[name].room] |= {MODULES[target].room for target in targets}
    assert (
        _cycle({room: targets - {FACADE} for room, targets in rooms.items() if room != FACADE})
        == []
    )


def test_a_room_imports_from_the_rooms_above_it_only():
    against = [
        f"{name} imports {target}"
        for name, targets in EDGES.items()
        for target in targets
        if (here := MODULES[name].room) != FACADE
        and (there := MODULES[target].room) not in (FACADE, here)
        if LEVEL[there] >= LEVEL[here]
    ]
    assert not against, "\n".join(against)


def test_nobody_imports_a_private_name_of_another_room():
    taken = [
        f"{name} imports {what} from {source}"
        for name, module in MODULES.items()
        for source, what in module.imports()
        if source in MODULES and MODULES[source].room != module.room
        if what and _private(what) and f"{source}.{what}" not in MODULES
    ]
    assert not taken, "\n".join(taken)


def test_nobody_reads_a_private_member_of_another_room():
    own = defaultdict(set)
    for module in MODULES.values():
        own[module.room] |= module.private_definitions()
    read = [
        f"{name} reads {attribute}"
        for name, module in MODULES.items()
        for attribute in module.private_reads()
        if attribute not in own[module.room]
    ]
    assert not read, "\n".join(read)


def test_nobody_imports_a_private_module_or_name_of_another_library():
    taken = [
        f"{name} imports {what or ''} from {source}"
        for name, module in MODULES.items()
        for source, what in module.imports()
        if not source.startswith(FACADE) and any(map(_private, [*source.split("."), what or ""]))
    ]
    assert not taken, "\n".join(taken)


def test_the_house_is_read_with_imports_in_functions_and_without_those_for_types():
    program = "if TYPE_CHECKING:\n    import a\nelse:\n    import b\ndef f():\n    from .c import _d\n    return x._e, self._f\n"
    module = Module("ec3learn.votes.some", ast.parse(program))
    assert list(module.imports()) == [("b", None), ("ec3learn.votes.c", "_d")]
    assert list(module.private_reads()) == ["_e"]


# What the package may grow to; whoever makes it smaller lowers the number.
LIMITS = {
    "nodes": 92_000,
    "statements": 8_900,
    "functions": 1_080,
    "classes": 108,
    "raises": 185,
    "constants": 80,
    "lines": 400,
}


def test_the_house_does_not_grow():
    nodes = [node for module in MODULES.values() for node in ast.walk(module.tree)]
    imports, functions = (ast.Import, ast.ImportFrom), (ast.FunctionDef, ast.AsyncFunctionDef)
    texts = [
        node
        for node in nodes
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)  # docstrings
    ]
    statements = sum(isinstance(node, ast.stmt) and not isinstance(node, imports) for node in nodes)
    parts = (ast.expr, ast.stmt, ast.comprehension, ast.keyword)
    size = {
        "nodes": sum(isinstance(node, parts) for node in nodes),
        "statements": statements - len(texts),
        "functions": sum(isinstance(node, functions) for node in nodes),
        "classes": sum(isinstance(node, ast.ClassDef) for node in nodes),
        "raises": sum(isinstance(node, ast.Raise) for node in nodes),
        "constants": sum(map(_constants, MODULES.values())),
        "lines": max(_length(module) for module in MODULES.values()),
    }
    assert {what: n for what, n in size.items() if n > LIMITS[what]} == {}


def _constants(module: Module) -> int:
    """Return how many numbers a module gives a name."""
    named = [node.value for node in module.tree.body if isinstance(node, ast.Assign)]
    values = [each for value in named for each in getattr(value, "elts", [value])]
    numbers = [value.value for value in values if isinstance(value, ast.Constant)]
    return sum(type(number) in (int, float) for number in numbers)


def _length(module: Module) -> int:
    return max((getattr(node, "end_lineno", 0) for node in module.tree.body), default=0)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_experiments_have_one_file_each_and_the_repository_has_fewer_than_300():
    listed = subprocess.run(
        ["git", "ls-files"], cwd=PACKAGE.parents[1], capture_output=True, text=True
    )
    if listed.returncode or not listed.stdout:
        pytest.skip("this is not a clone")
    files = listed.stdout.splitlines()
    assert len(files) < 300
    assert sum(file.startswith("paper/results/") for file in files) < 30
