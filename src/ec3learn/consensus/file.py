"""A saved consensus: an archive of numpy arrays, one of which is JSON. Nothing in it is executed.

A solution is a tree of small classes. Each becomes a JSON object with its fields, and `@` names its
class. Arrays are files of their own, which the JSON mentions by name.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np
from scipy import sparse

from .._checks import InputError
from .._files import path_of, place_for, whole_file
from .._table import Table
from .._text import first_line
from .._typing import Array
from ..answer.mixtures import LogPoolRule, PanelRule, PrecisionRule, RegressionRule, SubtypeRule
from ..answer.notes import Note
from ..answer.rule import GroupRule, Term
from ..answer.solution import Solution
from ..diagnosis.metrics import row_weights
from ..diagnosis.voters import voter_checks, voters
from ..votes import BaseModel, Scale, Trust
from ..votes.labels import object_array, plain
from ..votes.layout import frozen

VERSION = 6
# What a file may hold.
RULES = (GroupRule, Term, SubtypeRule, PrecisionRule, LogPoolRule, PanelRule, RegressionRule)
CLASSES = {kind.__name__: kind for kind in (Solution, BaseModel, Scale, *RULES, Trust, Note, Table)}


def write(
    path: str | os.PathLike[str],
    solution: Solution,
    notes: tuple[Note, ...],
    objects: bool,
    overwrite: bool,
) -> None:
    """Save a solution; the file appears whole or not at all."""
    target, names, arrays = place_for(path, overwrite), dict[int, str](), dict[str, Array]()

    def packed(value: Any) -> Any:
        """What stands in JSON for a value that it does not know."""
        if isinstance(value, np.ndarray):  # kept once, though several voters may share it
            name = names.setdefault(id(value), f"array{len(names)}")
            numeric = value.dtype.kind in "biuf"
            arrays[name] = value if numeric else _text(list(map(plain, value)))
            return {"@": "array" if numeric else "labels", "name": name}
        if sparse.issparse(value):
            parts = (value.data, value.indices, value.indptr)
            return {"@": "sparse", "parts": parts, "shape": value.shape}
        kind = type(value).__name__
        if kind in CLASSES:
            return {"@": kind} | {part.name: getattr(value, part.name) for part in fields(value)}
        return dict(value) if isinstance(value, Mapping) else plain(value)

    kept = _without_votes(solution, notes, objects)
    facts = _text({"version": VERSION, "solution": kept}, packed)
    with whole_file(target) as file:
        np.savez_compressed(file, allow_pickle=False, facts=facts, **arrays)


def _text(content: Any, default: Any = None) -> Array:
    return np.frombuffer(json.dumps(content, allow_nan=False, default=default).encode(), np.uint8)


def _without_votes(solution: Solution, notes: tuple[Note, ...], objects: bool) -> Solution:
    """The solution with what follows from the votes in their place."""
    finite = solution.objective is not None and np.isfinite(solution.objective)
    changes: dict[str, Any] = dict.fromkeys(
        ("solved_proba", "solved_counts", "unanswered_rows", "index", "object_ids")
    )
    if objects:
        changes = {"solved_proba": solution.row_proba, "solved_counts": solution.row_counts}
    if solution.votes is not None:
        changes["stored_voters"] = voters(solution)
        changes["stored_doubts"] = voter_checks(solution)
    if solution.has_objects:
        changes["stored_total"] = float(row_weights(solution).sum())
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
        **changes,
    )


def read(path: str | os.PathLike[str]) -> Solution:
    """The solution of a saved consensus; a file that is damaged, or none of ours, is refused."""
    name, arrays = path_of(path), dict[str, Array]()

    def unpacked(value: dict[str, Any]) -> Any:
        """What a JSON object stands for, once its parts are unpacked."""
        kind = value.pop("@", None)
        if kind is None:
            return value
        parts: dict[str, Any] = {
            key: tuple(part) if isinstance(part, list) else part for key, part in value.items()
        }
        if kind in CLASSES:
            return CLASSES[kind](**parts)
        if kind == "sparse":
            return sparse.csr_array(parts["parts"], shape=parts["shape"])
        if value["name"] not in arrays:
            array = archive[value["name"]]
            labels = object_array(json.loads(bytes(array))) if kind == "labels" else array
            arrays[value["name"]] = frozen(labels)
        return arrays[value["name"]]

    with open(name, "rb") as file:
        try:
            archive = np.lib.npyio.NpzFile(file, allow_pickle=False)
            facts = json.loads(bytes(archive["facts"]), object_hook=unpacked)
            if facts["version"] != VERSION:
                raise ValueError(f"its format is {facts['version']}, not {VERSION}")
        except Exception as error:
            phrase = f"{name} is not a consensus that this version of ec3learn can load"
            reason = first_line(error).strip("'\"")
            remedy = "Save the consensus again."
            raise InputError("path", phrase=f"{phrase}: {reason}", remedy=remedy) from None
    solution: Solution = facts["solution"]
    return solution
