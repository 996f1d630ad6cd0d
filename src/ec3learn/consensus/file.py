"""A saved consensus: a zip archive of JSON and numpy arrays, of which nothing is ever executed.

A solution is a tree of small classes. Each becomes a JSON object with its fields, and `@` names its
class. Arrays are files of their own, which the JSON mentions by name.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np
from scipy import sparse

from .._checks import InputError
from .._files import path_of, place_for, whole_file
from .._table import Table
from .._typing import Array
from ..answer.mixtures import LogPoolRule, PanelRule, PrecisionRule, RegressionRule, SubtypeRule
from ..answer.notes import Note
from ..answer.rule import GroupRule, Term
from ..answer.solution import Solution
from ..diagnosis.metrics import row_weights
from ..diagnosis.voters import voters
from ..votes import BaseModel, Trust
from ..votes.labels import kind_of, label_array, plain
from ..votes.layout import frozen

FORMAT, VERSION = "ec3learn consensus", 5
# The axes of the arrays of each class. K is the number of classes; other letters stand for any
# length, the same within a class.
AXES: dict[type, dict[str, str]] = {
    Solution: {
        "classes": "K",
        "weights": "m",
        "solved_proba": "rK",
        "solved_counts": "r",
        "unanswered_rows": "r",
        "stored_mass": "K",
    },
    BaseModel: {"labels": "g", "positions": "g"},
    GroupRule: {"fallback": "K"},
    Term: {"groups": "g", "group_weight": "g", "group_proba": "gK"},
    SubtypeRule: {"groups": "g", "table": "gt", "prior": "t", "fallback": "K"},
    PrecisionRule: {
        "groups": "g",
        "table": "gt",
        "own": "K",
        "prior_precision": "K",
        "fallback": "K",
    },
    LogPoolRule: {"groups": "g", "table": "gt", "fallback": "K"},
    PanelRule: {"shares": "m", "fallback": "K"},
    RegressionRule: {"groups": "g", "table": "gK", "offsets": "K", "fallback": "K"},
    Trust: {"offsets": "K", "shares": "K"},
    Note: {},
    Table: {},
}
CLASSES = {kind.__name__: kind for kind in AXES}


def write(
    path: str | os.PathLike[str],
    solution: Solution,
    notes: tuple[Note, ...],
    objects: bool,
    overwrite: bool,
) -> None:
    """Save a solution; the file appears whole or not at all."""
    target = place_for(path, overwrite)
    packer = _Packer()
    tree = packer.packed(_without_votes(solution, notes, objects), "solution")
    facts = {"format": FORMAT, "version": VERSION, "labels": packer.labels, "solution": tree}
    with whole_file(target) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("facts.json", json.dumps(facts, indent=1, allow_nan=False))
        for name, array in packer.arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as part:
                np.lib.format.write_array(part, array, allow_pickle=False)


def _without_votes(solution: Solution, notes: tuple[Note, ...], objects: bool) -> Solution:
    """The solution with what follows from the votes in their place."""
    has_voters = solution.votes is not None or solution.stored_voters is not None
    finite = solution.objective is not None and np.isfinite(solution.objective)
    kept: dict[str, Any] = dict.fromkeys(
        ("solved_proba", "solved_counts", "unanswered_rows", "index", "object_ids")
    )
    if objects:
        kept = {name: getattr(solution, name) for name in kept}
        kept |= {"solved_proba": solution.row_proba, "solved_counts": solution.row_counts}
    return replace(
        solution,
        votes=None,
        known=None,
        label_chances=None,
        history=(),
        notes=notes,
        objective=solution.objective if finite else None,
        group_table=solution.group_means,
        stored_mass=solution.tie_mass,
        stored_voters=voters(solution) if has_voters else None,
        stored_total=float(row_weights(solution).sum())
        if solution.has_objects
        else solution.stored_total,
        **kept,
    )


class _Packer:
    """Makes JSON of a tree of classes; an array in several places is kept once."""

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}
        self.labels: dict[str, list[Any]] = {}
        self.names: dict[int, str] = {}

    def packed(self, value: Any, name: str) -> Any:
        if isinstance(value, np.ndarray):
            return {"@": "array", "name": self._named(value, name)}
        if sparse.issparse(value):
            parts = (value.data, value.indices, value.indptr)
            return {"@": "sparse", "parts": self.packed(parts, name), "shape": value.shape}
        if isinstance(value, (list, tuple)):
            return [self.packed(item, f"{name}.{i}") for i, item in enumerate(value)]
        if isinstance(value, Mapping):
            return {"@": "json", "value": dict(value)}
        if type(value) in AXES:
            made: dict[str, Any] = {"@": type(value).__name__}
            for part in fields(value):
                made[part.name] = self.packed(getattr(value, part.name), f"{name}.{part.name}")
            return made
        return plain(value)

    def _named(self, array: Array, name: str) -> str:
        name = self.names.setdefault(id(array), name)
        if array.dtype.kind in "biuf":
            self.arrays[name] = array
        else:
            self.labels[name] = [plain(label) for label in array.tolist()]
        return name


def read(path: str | os.PathLike[str]) -> Solution:
    """The solution of a saved consensus; a file that is damaged, or none of ours, is refused."""
    name = path_of(path)
    content = name.read_bytes()
    if not content.startswith(b"PK"):
        raise _not_ours(name)
    try:
        archive = np.load(io.BytesIO(content), allow_pickle=False)
        facts = json.loads(archive["facts.json"]) if "facts.json" in archive else {}
    except Exception as error:
        raise _damaged(name, error) from None
    if facts.get("format") != FORMAT:
        raise _not_ours(name)
    if facts["version"] != VERSION:
        came = f"{name} has format version {facts['version']}"
        remedy = "Save the consensus again with this version, or update ec3learn."
        raise InputError(
            "path", phrase=f"{came}, this ec3learn reads version {VERSION}", remedy=remedy
        )
    try:
        solution = _Reader(archive, facts["labels"]).unpacked(facts["solution"])
        _require(isinstance(solution, Solution), "the solution")
        return solution
    except Exception as error:
        raise _damaged(name, error) from None


class _Reader:
    """Makes classes again from JSON, each with arrays of the axes it must have."""

    def __init__(self, archive: Any, labels: Mapping[str, list[Any]]) -> None:
        self.archive = archive
        self.arrays = {name: _label_array(values) for name, values in labels.items()}
        self.n_classes: dict[str, int] = {}  # K, once an array has shown it
        self.groups: list[Array] = []

    def unpacked(self, value: Any) -> Any:
        if isinstance(value, list):
            return tuple(self.unpacked(item) for item in value)
        if not isinstance(value, dict):
            return value
        kind = value["@"]
        if kind == "json":
            return value["value"]
        if kind == "array":
            return self._array(value["name"])
        if kind == "sparse":
            return sparse.csr_array(self.unpacked(value["parts"]), shape=tuple(value["shape"]))
        made = {name: self.unpacked(part) for name, part in value.items() if name != "@"}
        self._check(CLASSES[kind], made)
        return CLASSES[kind](**made)

    def _array(self, name: str) -> Array:
        if name not in self.arrays:
            array = self.archive[name]
            _require(name.endswith("positions") or np.isfinite(array).all(), name)
            self.arrays[name] = frozen(array)
        return self.arrays[name]

    def _check(self, kind: type, made: Mapping[str, Any]) -> None:
        """Refuse arrays of other shapes than `AXES` has, and numbers of what is not there."""
        lengths = dict(self.n_classes)
        for name, axes in AXES[kind].items():
            if made[name] is not None:
                _require(len(made[name].shape) == len(axes), name)
                for axis, length in zip(axes, made[name].shape, strict=True):
                    _require(lengths.setdefault(axis, length) == length, name)
        self.n_classes = {axis: lengths[axis] for axis in lengths if axis == "K"}
        if "groups" in made:
            self.groups.append(made["groups"])
        if kind is Solution:
            n_groups = sum(model.n_groups for model in made["models"])
            for groups in (*self.groups, made["group_table"][0]):
                _require_below(groups, n_groups, "groups")
            if made["index"] is not None:
                _require_below(made["index"], len(made["solved_proba"]), "index")


def _label_array(labels: list[Any]) -> Array:
    if len({kind_of(label) for label in labels}) == 1:
        return label_array(labels)
    array = np.empty(len(labels), dtype=object)  # the answers of a scale may be of several kinds
    array[:] = labels
    return array


def _require(holds: Any, what: str) -> None:
    if not holds:
        raise ValueError(f"{what} is not what ec3learn writes")


def _require_below(numbers: Array, n: int, what: str) -> None:
    _require(numbers.dtype.kind in "iu", what)
    _require(not numbers.size or (numbers.min() >= 0 and numbers.max() < n), what)


def _damaged(name: Any, error: Exception) -> InputError:
    reason = str(error).strip("'\"").rstrip(".") or type(error).__name__
    return InputError(
        "path", phrase=f"{name} is damaged ({reason})", remedy="Save the consensus again."
    )


def _not_ours(name: Any) -> InputError:
    return InputError("path", phrase=f"{name} is not a consensus saved by ec3learn")
