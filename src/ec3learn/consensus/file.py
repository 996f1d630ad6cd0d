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
# What a file may hold.
CLASSES = {
    kind.__name__: kind
    for kind in (
        Solution,
        BaseModel,
        GroupRule,
        Term,
        SubtypeRule,
        PrecisionRule,
        LogPoolRule,
        PanelRule,
        RegressionRule,
        Trust,
        Note,
        Table,
    )
}


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
        kind = type(value).__name__
        if kind in CLASSES:
            content = {part.name: getattr(value, part.name) for part in fields(value)}
            packed = {key: self.packed(part, f"{name}.{key}") for key, part in content.items()}
            return {"@": kind, **packed}
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
        return _Reader(archive, facts["labels"]).unpacked(facts["solution"])
    except Exception as error:
        raise _damaged(name, error) from None


class _Reader:
    """Makes classes again from JSON."""

    def __init__(self, archive: Any, labels: Mapping[str, list[Any]]) -> None:
        self.archive = archive
        self.arrays = {name: _label_array(values) for name, values in labels.items()}

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
        parts = {name: self.unpacked(part) for name, part in value.items() if name != "@"}
        return CLASSES[kind](**parts)

    def _array(self, name: str) -> Array:
        if name not in self.arrays:
            self.arrays[name] = frozen(self.archive[name])
        return self.arrays[name]


def _label_array(labels: list[Any]) -> Array:
    if len({kind_of(label) for label in labels}) == 1:
        return label_array(labels)
    array = np.empty(len(labels), dtype=object)  # the answers of a scale may be of several kinds
    array[:] = labels
    return array


def _damaged(name: Any, error: Exception) -> InputError:
    reason = str(error).strip("'\"").rstrip(".") or type(error).__name__
    return InputError(
        "path", phrase=f"{name} is damaged ({reason})", remedy="Save the consensus again."
    )


def _not_ours(name: Any) -> InputError:
    return InputError("path", phrase=f"{name} is not a consensus saved by ec3learn")
