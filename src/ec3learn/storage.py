"""A consensus on disk: a zip archive of JSON and plain numpy arrays, with checksums; nothing in it is executed."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

FORMAT = "ec3learn consensus"
VERSION = 1


def write(path: str | os.PathLike[str], facts: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Write facts and arrays; the file appears whole or not at all."""
    target = Path(path)
    contents = {"facts.json": json.dumps(facts, ensure_ascii=False, indent=1).encode()}
    for name, array in arrays.items():
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
        contents[f"{name}.npy"] = buffer.getvalue()
    checksums = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    manifest = {"format": FORMAT, "version": VERSION, "sha256": checksums}
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("manifest.json", json.dumps(manifest, indent=1))
            for name, content in contents.items():
                archive.writestr(name, content)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)  # as an ordinary file would have been made
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Read facts and arrays back, checked."""
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = json.loads(archive.read("manifest.json"))
            if manifest.get("format") != FORMAT:
                raise _Foreign
            if manifest["version"] > VERSION:
                raise ValueError(
                    f"{os.fspath(path)} has format version {manifest['version']}, this ec3learn reads up to {VERSION}. "
                    "Update ec3learn to read it."
                )
            contents = {name: archive.read(name) for name in manifest["sha256"]}
    except (_Foreign, KeyError, AttributeError, TypeError):
        raise ValueError(f"{os.fspath(path)} is not a consensus saved by ec3learn.") from None
    except (zipfile.BadZipFile, EOFError, json.JSONDecodeError, NotImplementedError, zipfile.zlib.error) as error:  # type: ignore[attr-defined]
        kind = "is damaged" if _looks_like_zip(path) else "is not a consensus saved by ec3learn"
        raise ValueError(f"{os.fspath(path)} {kind} ({str(error).rstrip('.') or type(error).__name__}).") from None
    for name, content in contents.items():
        if hashlib.sha256(content).hexdigest() != manifest["sha256"][name]:
            raise ValueError(f"{os.fspath(path)} is damaged (the checksum of {name} does not match). Save the consensus again.")
    arrays = {}
    for name, content in contents.items():
        if name.endswith(".npy"):
            arrays[name.removesuffix(".npy")] = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    return json.loads(contents["facts.json"]), arrays


class _Foreign(Exception):
    """The file is a zip archive of somebody else's."""


def _looks_like_zip(path: str | os.PathLike[str]) -> bool:
    with open(path, "rb") as file:
        return file.read(2) == b"PK"
