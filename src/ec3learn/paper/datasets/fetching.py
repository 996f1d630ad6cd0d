"""Files on the network: downloaded, checked, and kept as Parquet, whole or not at all.

Where the checksum of the original file is known, the file must have it. Otherwise that of the first download is recorded beside
the data set and must stay the same. Rows, features and classes must be the published ones in any case.

Unlike pooch, this resumes a download that was cut off (Susy has 880 MB): of a file of 20 MB cut off in the middle pooch 1.9
transfers 30 MB, this 20. Pooch also brings seven packages with it and does not record the checksum of a first download.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen
from zipfile import BadZipFile

from ..._checks import InputError, MissingExtraError
from ..._files import whole_file
from ..._progress import progress

TARGET = "target"  # the column of the class
CHUNK = 1 << 18  # bytes
TIMEOUT = 30  # seconds without an answer


class DatasetError(InputError):
    """A data set that is not available, or is not what it should be."""


@dataclass(frozen=True)
class Source:
    """A file on the network: its address, what is known of it, and the function that reads it into a table."""

    url: str
    read: Callable[[Path], Any]
    sha256: str | None = None
    size: int | None = None


def fetch(name: str, source: Source, shape: tuple[int, int, int] | None, folder: Path) -> Any:
    """Download a data set into a folder and return its table, which must have so many rows, features and classes.

    A download that was cut off is resumed if the server supports it, and starts again if not.
    """
    folder.mkdir(parents=True, exist_ok=True)
    raw, record = folder / f"{name}.part", folder / f"{name}.json"
    first = json.loads(record.read_text()) if record.is_file() else {}
    url, md5 = source.url, None
    try:
        url, md5 = _locate(url)
        _download(name, url, raw)
    except (HTTPException, OSError) as error:
        reason = getattr(error, "reason", None) or error
        raise _failed(name, f"{name} could not be downloaded from {url} ({reason})") from None
    checked = _verify(name, source, first, md5, url, raw)
    try:
        frame = source.read(raw)
        _check_shape(frame, shape)
    except MissingExtraError:
        raise
    except (BadZipFile, ValueError) as error:
        raw.unlink()
        raise _failed(name, f"{name}: the file at {url} cannot be used and was deleted: {str(error).rstrip('.')}") from None
    with whole_file(folder / f"{name}.parquet") as file:
        frame.to_parquet(file, index=False, compression="zstd")
    with whole_file(record) as file:
        file.write(json.dumps({"url": url, **checked}, indent=1).encode())
    raw.unlink()
    return frame


def _locate(url: str) -> tuple[str, str | None]:
    """Return the address of a file, and its MD5 where OpenML's description of a data set states both."""
    if "/api/v1/json/data/" not in url:
        return url, None
    with urlopen(url, timeout=TIMEOUT) as answer:
        described = json.load(answer)["data_set_description"]
    return described["url"], described.get("md5_checksum")


def _download(name: str, url: str, path: Path) -> None:
    have = path.stat().st_size if path.is_file() else 0
    try:
        answer = urlopen(Request(url, headers={"Range": f"bytes={have}-"} if have else {}), timeout=TIMEOUT)
    except HTTPError as error:
        if error.code != 416:  # 416: there are no bytes beyond those we have
            raise
        return
    with answer:
        have = have if answer.status == 206 else 0  # 206: the server sends the rest only
        rest = int(answer.headers.get("Content-Length") or 0)
        with path.open("ab" if have else "wb") as file, progress(f"Downloading {name}", have + rest if rest else None) as bar:
            while chunk := answer.read(CHUNK):
                file.write(chunk)
                bar.update(done=file.tell())
        if rest and path.stat().st_size != have + rest:
            raise OSError("the connection was cut off; the next call resumes from here")


def _verify(name: str, source: Source, first: dict[str, Any], md5: str | None, url: str, raw: Path) -> dict[str, Any]:
    """Return size and checksum of a file; delete it, and raise an error, if it is not the expected one."""
    found = {"size": raw.stat().st_size, "sha256": _checksum(raw, "sha256"), "md5": _checksum(raw, "md5") if md5 else None}
    recorded = {key: first.get(key) for key in ("size", "sha256") if getattr(source, key) is None}
    expected = {"size": source.size, "sha256": source.sha256, "md5": md5} | recorded
    for key, known in expected.items():
        if known not in (None, found[key]):
            raw.unlink()
            more = f"{name}.json records that of the first download. " if key in recorded else ""
            raise _failed(name, f"{name}: the file at {url} must have the {key} {known}, got {found[key]}; it was deleted", more)
    return {"sha256": found["sha256"], "size": found["size"]}


def _check_shape(frame: Any, shape: tuple[int, int, int] | None) -> None:
    got = (len(frame), frame.shape[1] - 1, frame[TARGET].nunique())
    if shape is not None and got != shape:
        raise ValueError("it must have {} rows, {} features and {} classes, got {}, {} and {}".format(*shape, *got))


def _checksum(path: Path, kind: str) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, kind).hexdigest()


def _failed(name: str, phrase: str, more: str = "") -> DatasetError:
    remedy = f"{more}Try again when the network is up, or set EC3LEARN_DATA to a folder with {name}.parquet."
    return DatasetError("name", phrase=phrase, remedy=remedy)
