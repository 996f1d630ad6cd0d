"""A saved consensus: a zip archive of JSON and plain numpy arrays, with checksums; nothing in it is ever executed."""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from .._checks import InputError
from .._files import path_of, place_for, whole_file
from .._text import Table
from ..answer.mixtures import restored_rule
from ..answer.notes import Note
from ..answer.outcome import Outcome
from ..diagnosis.voters import voters
from ..votes import BaseModel, Trust
from ..votes.labels import label_array, plain
from ..votes.layout import frozen

Array = npt.NDArray[Any]

FORMAT = "ec3learn consensus"
VERSION = 2


# ---- an outcome as plain facts and arrays ----------------------------------------------------------------------------


def stored(outcome: Outcome, objects: bool) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return an outcome as facts that JSON can hold, and arrays; with `objects`, their answers and names too."""
    has_voters = outcome.votes is not None or outcome.stored_voters is not None
    facts: dict[str, Any] = {
        "classes": _plain_list(outcome.classes),
        "models": [{"name": model.name, "kind": model.kind} for model in outcome.models],
        "settings": dict(outcome.settings),
        "made_by": outcome.made_by,
        "objective": outcome.objective,
        "n_iter": outcome.n_iter,
        "converged": outcome.converged,
        "notes": [{"kind": note.kind, "text": note.text} for note in outcome.notes],
        "worse_than_chance": list(outcome.worse_than_chance),
        "lacking": outcome.lacking,
        "rule": None,
        "labels": {},
        "voters": {name: list(values) for name, values in voters(outcome).columns.items()} if has_voters else None,
    }
    order, table = outcome.group_means
    arrays: dict[str, Array] = {"weights": outcome.weights, "group_order": order, "group_table": table}
    if outcome.tie_mass is not None:
        arrays["tie_mass"] = outcome.tie_mass
    if outcome.trust is not None:
        facts["trust"] = {name: getattr(outcome.trust, name) for name in ("slope", "weight", "likelihood")}
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
    """Return the fields of the outcome that was `stored`."""
    classes = frozen(label_array(facts["classes"]))
    models = []
    for m, model in enumerate(facts["models"]):
        labels = classes
        if model["kind"] != "classifier":
            labels = arrays[f"labels{m}"] if f"labels{m}" in arrays else _label_array(facts["labels"][str(m)])
        models.append(BaseModel(model["name"], model["kind"], labels, arrays.get(f"positions{m}")))
    same = ("settings", "made_by", "objective", "n_iter", "converged", "lacking")
    return {name: facts[name] for name in same} | {
        "classes": classes,
        "models": tuple(models),
        "rule": None if facts["rule"] is None else restored_rule(facts["rule"], arrays),
        "weights": arrays["weights"],
        "group_table": (arrays["group_order"], arrays["group_table"]),
        "solved_proba": arrays.get("row_proba"),
        "solved_counts": arrays.get("row_counts"),
        "unanswered_rows": arrays.get("unanswered"),
        "index": arrays.get("index"),
        "object_ids": label_array(facts["object_ids"]) if "object_ids" in facts else None,
        "notes": tuple(Note(note["kind"], note["text"]) for note in facts["notes"]),
        "worse_than_chance": tuple(facts["worse_than_chance"]),
        "trust": _restored_trust(facts, arrays),
        "stored_mass": arrays.get("tie_mass"),
        "stored_voters": None if facts["voters"] is None else Table(facts["voters"]),
    }


def _restored_trust(facts: Mapping[str, Any], arrays: Mapping[str, Array]) -> Trust | None:
    if "trust" not in facts:
        return None
    return Trust(offsets=arrays["trust_offsets"], shares=arrays["trust_shares"], **facts["trust"])


def _label_array(labels: list[Any]) -> Array:
    """Return labels as an array; the answers of a scale may be of several kinds."""
    if len({type(label) for label in labels}) <= 1:
        return label_array(labels)
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


def _plain_list(labels: Array) -> list[Any]:
    return [plain(label) for label in labels.tolist()]


# ---- the archive -----------------------------------------------------------------------------------------------------


def write_archive(path: str | os.PathLike[str], facts: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Write facts and arrays; the file appears whole or not at all."""
    target = place_for(path)
    contents = {"facts.json": json.dumps(facts, ensure_ascii=False, indent=1).encode()}
    for name, array in arrays.items():
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
        contents[f"{name}.npy"] = buffer.getvalue()
    checksums = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    manifest = {"format": FORMAT, "version": VERSION, "sha256": checksums}
    with whole_file(target) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("manifest.json", json.dumps(manifest, indent=1))
        for name, content in contents.items():
            archive.writestr(name, content)


def read_archive(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Read facts and arrays back, checked."""
    name = path_of(path)
    content = name.read_bytes()  # a file that is not there, or not ours to read, is told apart from a damaged one
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if "manifest.json" not in archive.namelist():
                raise _Foreign
            manifest = json.loads(archive.read("manifest.json"))
            if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
                raise _Foreign
            if manifest["version"] > VERSION:
                raise _Newer(manifest["version"])
            contents = {part: archive.read(part) for part in manifest["sha256"]}
        for part, stored in contents.items():
            if hashlib.sha256(stored).hexdigest() != manifest["sha256"][part]:
                raise ValueError(f"the checksum of {part} does not match")
        arrays = {}
        for part, stored in contents.items():
            if part.endswith(".npy"):
                arrays[part.removesuffix(".npy")] = np.lib.format.read_array(io.BytesIO(stored), allow_pickle=False)
        return json.loads(contents["facts.json"]), arrays
    except _Foreign:
        raise _not_ours(name) from None
    except _Newer as newer:
        raise InputError(
            "path",
            phrase=f"{name} has format version {newer}, this ec3learn reads up to {VERSION}",
            remedy="Update ec3learn to read it.",
        ) from None
    except Exception as error:
        if content[:2] != b"PK":
            raise _not_ours(name) from None
        reason = str(error).strip("'\"").rstrip(".") or type(error).__name__
        raise damaged(name, reason) from None


class _Foreign(Exception):
    """The file is a zip archive of somebody else's."""


class _Newer(Exception):
    """The file has a version that is not known yet."""


def damaged(name: Any, reason: str) -> InputError:
    """Return the error for a file that cannot be read as it was written."""
    return InputError("path", phrase=f"{os.fspath(name)} is damaged ({reason})", remedy="Save the consensus again.")


def _not_ours(name: Any) -> InputError:
    return InputError("path", phrase=f"{name} is not a consensus saved by ec3learn")
