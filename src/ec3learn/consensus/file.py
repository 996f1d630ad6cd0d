"""A consensus on disk: a zip archive of JSON and plain numpy arrays, with checksums; nothing in it is executed.

`whole_file` writes this and every other single file of ours: it appears whole or not at all.
"""

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

from .._files import path_of, place_for, whole_file

Array = npt.NDArray[Any]

FORMAT = "ec3learn consensus"
VERSION = 1


def write(path: str | os.PathLike[str], facts: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
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


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
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
        raise ValueError(f"{name} is not a consensus saved by ec3learn.") from None
    except _Newer as newer:
        raise ValueError(
            f"{name} has format version {newer}, this ec3learn reads up to {VERSION}. Update ec3learn to read it."
        ) from None
    except Exception as error:
        if content[:2] != b"PK":
            raise ValueError(f"{name} is not a consensus saved by ec3learn.") from None
        reason = str(error).strip("'\"").rstrip(".") or type(error).__name__
        raise ValueError(f"{name} is damaged ({reason}). Save the consensus again.") from None


class _Foreign(Exception):
    """The file is a zip archive of somebody else's."""


class _Newer(Exception):
    """The file has a version that is not known yet."""
