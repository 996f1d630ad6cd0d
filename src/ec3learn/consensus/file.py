"""A saved consensus: a zip archive of JSON and plain numpy arrays, with checksums; nothing in it is ever executed."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any, get_args

import numpy as np

from .._checks import InputError
from .._files import path_of, place_for, whole_file
from .._table import Table
from .._typing import Array
from ..answer.notes import Note
from ..answer.solution import Solution
from ..answer.stored import LOOSE, Stored, number, require, restored_rule
from ..diagnosis.metrics import row_weights
from ..diagnosis.voters import COLUMNS, voters
from ..votes import BaseModel, Kind, Trust
from ..votes.labels import fits_one_integer_type, kind_of, label_array, plain
from ..votes.layout import frozen

FORMAT = "ec3learn consensus"
VERSION = 4
FACTS = {
    "classes",
    "models",
    "settings",
    "made_by",
    "objective",
    "n_iter",
    "converged",
    "notes",
    "worse_than_chance",
    "lacking",
}
FACTS |= {"rule", "labels", "voters"}
OPTIONAL = {"object_ids", "trust", "total"}
NOUNS = {
    "classifier",
    "annotator",
    "judge",
    "clustering",
    *get_args(Kind),
}  # for base models in the table of voters


# ---- an outcome as plain facts and arrays --------------------------------------------------------


def stored(
    outcome: Solution, notes: Sequence[Note], objects: bool
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return an outcome as facts that JSON can hold, and arrays; with `objects`, their answers and names too."""
    has_voters = outcome.votes is not None or outcome.stored_voters is not None
    facts: dict[str, Any] = {
        "classes": _plain_list(outcome.classes),
        "models": [{"name": model.name, "kind": model.kind} for model in outcome.models],
        "settings": dict(outcome.settings),
        "made_by": outcome.made_by,
        "objective": outcome.objective
        if outcome.objective is None or np.isfinite(outcome.objective)
        else None,
        "n_iter": outcome.n_iter,
        "converged": outcome.converged,
        "notes": [{"kind": note.kind, "text": note.marked} for note in notes],
        "worse_than_chance": list(outcome.worse_than_chance),
        "lacking": outcome.lacking,
        "rule": None,
        "labels": {},
        "voters": {name: list(values) for name, values in voters(outcome).columns.items()}
        if has_voters
        else None,
    }
    total = float(row_weights(outcome).sum()) if outcome.has_objects else outcome.stored_total
    if total is not None:
        facts["total"] = total
    order, table = outcome.group_means
    arrays: dict[str, Array] = {
        "weights": outcome.weights,
        "group_order": order,
        "group_table": table,
    }
    if outcome.tie_mass is not None:
        arrays["tie_mass"] = outcome.tie_mass
    if outcome.trust is not None:
        facts["trust"] = {
            name: getattr(outcome.trust, name) for name in ("slope", "weight", "likelihood")
        }
        arrays |= {"trust_offsets": outcome.trust.offsets, "trust_shares": outcome.trust.shares}
    if outcome.rule is not None:
        facts["rule"], of_rule = outcome.rule.stored()
        arrays |= of_rule
    for m, model in enumerate(outcome.models):
        if model.kind != "classifier" and model.labels.dtype.kind in "iu":
            arrays[f"labels{m}"] = model.labels
        elif model.kind != "classifier":
            facts["labels"][str(m)] = _plain_list(model.labels)
        if model.positions is not None:
            arrays[f"positions{m}"] = model.positions
    if objects:
        kept = {"row_proba": outcome.row_proba, "row_counts": outcome.row_counts}
        kept |= {"unanswered": outcome.unanswered_rows, "index": outcome.index}  # type: ignore[dict-item]
        arrays |= {name: array for name, array in kept.items() if array is not None}
        if outcome.object_ids is not None:
            facts["object_ids"] = _plain_list(outcome.object_ids)
    return facts, arrays


def restored(facts: Mapping[str, Any], arrays: Mapping[str, Array]) -> dict[str, Any]:
    """Return the fields of the outcome that was `stored`; refuse what `stored` would not have written."""
    held = Stored(dict(arrays))
    require(isinstance(facts, dict) and set(facts) - OPTIONAL == FACTS, "facts.json")
    classes = frozen(_restored_labels(facts["classes"], "classes"))
    models = _restored_models(facts, held, classes)
    n_groups, n_classes = sum(model.n_groups for model in models), len(classes)
    _check_facts(facts, [model.name for model in models])
    order = held.take_numbers_of("group_order", n_groups)
    table = held.take_distributions("group_table", len(order), n_classes, within=LOOSE)
    rule = (
        None if facts["rule"] is None else restored_rule(facts["rule"], held, n_groups, n_classes)
    )
    fields = {
        name: facts[name]
        for name in ("settings", "made_by", "objective", "n_iter", "converged", "lacking")
    } | {
        "classes": classes,
        "models": tuple(models),
        "rule": rule,
        "weights": held.take("weights", "f", len(models), low=0.0),
        "group_table": (order, table),
        "notes": tuple(Note(note["kind"], note["text"]) for note in facts["notes"]),
        "worse_than_chance": tuple(facts["worse_than_chance"]),
        "trust": _restored_trust(facts["trust"], held, n_classes) if "trust" in facts else None,
        "stored_mass": held.take("tie_mass", "f", n_classes, low=0.0)
        if "tie_mass" in held
        else None,
        "stored_voters": None if facts["voters"] is None else Table(facts["voters"]),
        "stored_total": number(facts["total"], "total", 0.0) if "total" in facts else None,
        **_restored_objects(facts, held, n_classes),
    }
    held.require_empty()
    return fields


def _restored_trust(facts: Mapping[str, Any], held: Stored, n_classes: int) -> Trust:
    """Return how far a prior is trusted."""
    offsets = held.take("trust_offsets", "f", n_classes)
    shares = held.take_distributions("trust_shares", n_classes, within=LOOSE)
    low = {"slope": -np.inf, "weight": 0.0, "likelihood": -np.inf}
    require(set(facts) == set(low), "trust")
    return Trust(
        offsets=offsets,
        shares=shares,
        **{name: number(facts[name], name, least) for name, least in low.items()},
    )


def _restored_models(facts: Mapping[str, Any], held: Stored, classes: Array) -> list[BaseModel]:
    """Return the base models with their labels."""
    models = []
    for m, model in enumerate(facts["models"]):
        name, kind, own = model["name"], model["kind"], str(m)
        require(isinstance(name, str) and kind in get_args(Kind), "models")
        labels, positions = classes, None
        if kind != "classifier":
            given = f"labels{m}" in held
            require(given != (own in facts["labels"]), "labels")
            labels = (
                held.take(f"labels{m}", "iu", None)
                if given
                else _restored_labels(facts["labels"][own], "labels", kind)
            )
        if kind == "grader":
            positions = frozen(held.take_nullable(f"positions{m}", len(labels), 0.0, 1.0))
        require(len(set(labels.tolist())) == len(labels), "labels")
        models.append(BaseModel(name, kind, labels, positions))
    require(models and len({model.name for model in models}) == len(models), "models")
    require(
        all(place.isdigit() and int(place) < len(models) for place in facts["labels"]), "labels"
    )
    return models


def _restored_objects(facts: Mapping[str, Any], held: Stored, n_classes: int) -> dict[str, Any]:
    """Return the answers and names of objects, where the file has them."""
    if "row_proba" not in held:
        require("object_ids" not in facts, "object_ids")
        return {}
    proba = held.take_distributions("row_proba", None, n_classes)
    n_rows = n_objects = len(proba)
    found: dict[str, Any] = {
        "solved_proba": proba,
        "solved_counts": held.take("row_counts", "f", n_rows, low=0.0),
    }
    if "unanswered" in held:
        found["unanswered_rows"] = held.take("unanswered", "b", n_rows)
    if "index" in held:
        found["index"] = held.take_numbers_of("index", n_rows, once=False)
        n_objects = len(found["index"])
    if "object_ids" in facts:
        found["object_ids"] = _restored_labels(facts["object_ids"], "object_ids")
        require(len(found["object_ids"]) == n_objects, "object_ids")
    return found


def _check_facts(facts: Mapping[str, Any], names: list[str]) -> None:
    """Refuse facts that are of another kind than `stored` writes."""
    require(
        isinstance(facts["settings"], dict) and isinstance(facts["settings"].get("method"), str),
        "settings",
    )
    require(isinstance(facts["made_by"], str) and isinstance(facts["lacking"], str), "made_by")
    require(
        type(facts["n_iter"]) is int
        and facts["n_iter"] >= 0
        and isinstance(facts["converged"], bool),
        "n_iter",
    )
    if facts["objective"] is not None:
        number(facts["objective"], "objective")
    require(
        all(
            isinstance(text, str)
            for note in facts["notes"]
            for text in (note["kind"], note["text"])
        ),
        "notes",
    )
    require(all(name in names for name in facts["worse_than_chance"]), "worse_than_chance")
    if facts["voters"] is not None:
        _check_voters(facts["voters"], facts["classes"])


def _check_voters(columns: Any, classes: list[Any]) -> None:
    """Refuse a table of voters that is no such table. If the answer was extended, they are those of the new objects."""
    require(isinstance(columns, dict) and set(columns) == set(COLUMNS), "voters")
    names = columns["model"]
    require(
        all(isinstance(column, list) and len(column) == len(names) for column in columns.values()),
        "voters",
    )
    require(
        all(isinstance(name, str) for name in names) and len(set(names)) == len(names), "voters"
    )
    require(all(kind in NOUNS for kind in columns["kind"]), "voters")
    require(all(label is None or label in classes for label in columns["leans_to"]), "voters")
    require(None not in columns["coverage"] and None not in columns["weight"], "voters")
    for name in set(COLUMNS) - {"model", "kind", "leans_to"}:
        high = np.inf if name in ("weight", "labels") else 1 + LOOSE
        for value in columns[name]:
            if value is not None:
                number(value, "voters", -LOOSE, high)


def _restored_labels(labels: Any, what: str, kind: str = "") -> Array:
    """Return labels as an array: of one kind and none twice, except that answers of a scale may be of several kinds."""
    require(isinstance(labels, list) and (labels or kind == "clustering"), what)
    kinds = {kind_of(label) for label in labels}
    require(kinds <= {"int", "bool", "str"} and fits_one_integer_type(labels), what)
    require(len({(kind_of(label), label) for label in labels}) == len(labels), what)
    if len(kinds) <= 1:
        return label_array(labels)
    require(kind == "grader", what)
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


def _plain_list(labels: Array) -> list[Any]:
    return [plain(label) for label in labels.tolist()]


# ---- the archive ---------------------------------------------------------------------------------


def write_archive(
    path: str | os.PathLike[str],
    facts: Mapping[str, Any],
    arrays: Mapping[str, Array],
    overwrite: bool = False,
) -> None:
    """Write facts and arrays; the file appears whole or not at all."""
    target = place_for(path, overwrite)
    contents = {"facts.json": _json_bytes(facts)}
    for name, array in arrays.items():
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, np.ascontiguousarray(array), (1, 0), allow_pickle=False)
        contents[f"{name}.npy"] = buffer.getvalue()
    checksums = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    manifest = {"format": FORMAT, "version": VERSION, "sha256": checksums}
    contents = {"manifest.json": json.dumps(manifest, indent=1).encode(), **contents}
    archive = _zipped(contents, zipfile.ZIP_DEFLATED)
    if sum(map(len, contents.values())) > _most_bytes(
        len(archive)
    ):  # so empty that it would look like a trap
        archive = _zipped(contents, zipfile.ZIP_STORED)
    with whole_file(target) as file:
        file.write(archive)


def _zipped(contents: Mapping[str, bytes], compression: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression, compresslevel=1) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def _json_bytes(facts: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(facts, ensure_ascii=False, indent=1, allow_nan=False).encode()
    except UnicodeEncodeError:  # half of a pair of surrogates can only be written as an escape
        return json.dumps(facts, indent=1, allow_nan=False).encode()


def _most_bytes(size: int) -> int:
    """Return how many bytes a file of some size may unfold into."""
    return (64 << 20) + 100 * size


def read_archive(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Read facts and arrays back, checked."""
    name = path_of(path)
    content = (
        name.read_bytes()
    )  # a file that is not there, or not ours to read, is told apart from a damaged one
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            contents = _contents(archive, len(content), name)
        arrays = {
            part.removesuffix(".npy"): _array(stored)
            for part, stored in contents.items()
            if part.endswith(".npy")
        }
        return json.loads(contents["facts.json"], parse_constant=_refuse_constant), arrays
    except InputError:
        raise
    except Exception as error:
        if content[:2] != b"PK":
            raise _not_ours(name) from None
        raise damaged(name, error) from None


def _contents(archive: zipfile.ZipFile, size: int, path: Any) -> dict[str, bytes]:
    """Return the parts of an archive, each with its checksum; refuse other parts, and more bytes than `save` would pack."""
    names = archive.namelist()
    if "manifest.json" not in names:
        raise _not_ours(path)
    if sum(part.file_size for part in archive.infolist()) > _most_bytes(
        size
    ):  # zipfile unfolds no more than this says
        raise ValueError(f"it would unfold into more than {_most_bytes(size) >> 20:,} MB")
    manifest = json.loads(archive.read("manifest.json"))
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise _not_ours(path)
    version = manifest["version"]
    require(type(version) is int, "manifest.json")
    if version != VERSION:
        remedy = "Update ec3learn to read it." if version > VERSION else "Save the consensus again."
        phrase = f"{path} has format version {version}, this ec3learn reads version {VERSION}"
        raise InputError("path", phrase=phrase, remedy=remedy)
    checksums = manifest["sha256"]
    for part in checksums:
        require(part in names, f"{part}, which is missing,")
    require(sorted(names) == sorted([*checksums, "manifest.json"]), "the list of parts")
    contents = {part: archive.read(part) for part in checksums}
    for part, stored in contents.items():
        if hashlib.sha256(stored).hexdigest() != checksums[part]:
            raise ValueError(f"the checksum of {part} does not match")
    return contents


def _array(stored: bytes) -> Array:
    """Return a plain array of numbers from the bytes of a npy file."""
    buffer = io.BytesIO(stored)
    require(np.lib.format.read_magic(buffer) == (1, 0), "an array")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(buffer)
    require(dtype.kind in "biuf" and dtype.isnative and dtype.itemsize <= 8, "an array")
    require(len(stored) - buffer.tell() == math.prod(shape) * dtype.itemsize, "an array")
    return (
        np.frombuffer(stored, dtype, offset=buffer.tell())
        .reshape(shape, order="F" if fortran else "C")
        .copy()
    )


def _refuse_constant(text: str) -> None:
    require(False, f"the number {text}")


def damaged(name: Any, error: Exception) -> InputError:
    """Return the error for a file that cannot be read as it was written."""
    reason = str(error).strip("'\"").rstrip(".") or type(error).__name__
    if isinstance(error, KeyError):
        reason = f"{error.args[0]} is missing"
    return InputError(
        "path",
        phrase=f"{os.fspath(name)} is damaged ({reason})",
        remedy="Save the consensus again.",
    )


def _not_ours(name: Any) -> InputError:
    return InputError("path", phrase=f"{name} is not a consensus saved by ec3learn")
