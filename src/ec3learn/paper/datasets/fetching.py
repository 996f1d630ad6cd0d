"""Files on the network: fetched whole or not at all, and checked.

Where a checksum of the original file is known it is asked for. Otherwise that of the first download is kept beside the data set
and holds from then on, and rows, features and classes must be the published ones in any case.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen
from zipfile import BadZipFile

from ..._text import count

TARGET = "target"  # the column of the class
CHUNK = 1 << 18  # bytes
TIMEOUT = 30  # seconds without an answer


class DatasetError(Exception):
    """A data set that can't be had, or is not what it should be.

    Examples
    --------
    >>> from ec3learn.paper import datasets
    >>> try:
    ...     datasets.load("magic", folder="nowhere")
    ... except datasets.DatasetError as error:
    ...     print(error)
    folder must be a folder with Parquet files, got 'nowhere', which is none.
    """


@dataclass(frozen=True)
class Source:
    """A file on the network: its address, what is known of it, and how it becomes a table."""

    url: str
    read: Callable[[Path], Any]
    sha256: str | None = None
    size: int | None = None


def fetch(name: str, source: Source, shape: tuple[int, int, int] | None, folder: Path) -> Any:
    """Fetch a data set into a folder, whole or not at all, and return its table.

    A download that was cut off goes on where it stopped if the server can do that, and begins anew if not.

    Parameters
    ----------
    name : str
        The data set.
    source : Source
        Where it is, and what is known of the file.
    shape : tuple of int
        Rows, features and classes it must have.
    folder : Path
        Where it is kept.

    Returns
    -------
    pandas.DataFrame
    """
    folder.mkdir(parents=True, exist_ok=True)
    record = folder / f"{name}.json"
    first = json.loads(record.read_text()) if record.is_file() else {}
    url, md5 = _file_of(name, source.url)
    raw = folder / f"{name}.part"
    size = source.size or first.get("size")
    try:
        _download(name, url, raw)
    except (URLError, HTTPException, OSError) as error:
        raise DatasetError(_cannot_fetch(name, url, error)) from None
    _verify(name, url, raw, source.sha256 or first.get("sha256"), md5, size, pinned_here=source.sha256 is None)
    try:
        frame = source.read(raw)
        _check_shape(frame, shape)
    except (DatasetError, BadZipFile, ValueError) as error:
        raw.unlink()
        raise DatasetError(
            f"{name}: the file at {url} is not what it was ({error}), and was not kept. {_otherwise(name)}"
        ) from None
    unfinished = folder / f"{name}.{os.getpid()}"
    frame.to_parquet(unfinished, index=False, compression="zstd")
    record.write_text(json.dumps({"url": url, "sha256": _checksum(raw, "sha256"), "size": raw.stat().st_size}, indent=1))
    unfinished.replace(folder / f"{name}.parquet")
    raw.unlink()
    return frame


def _file_of(name: str, url: str) -> tuple[str, str | None]:
    """Return the address of a file, and its MD5 where OpenML's description of a data set states both."""
    if "/api/v1/json/data/" not in url:
        return url, None
    try:
        with urlopen(url, timeout=TIMEOUT) as answer:
            described = json.load(answer)["data_set_description"]
    except (URLError, HTTPException, OSError) as error:
        raise DatasetError(_cannot_fetch(name, url, error)) from None
    return described["url"], described.get("md5_checksum")


def _download(name: str, url: str, path: Path) -> None:
    have = path.stat().st_size if path.is_file() else 0
    try:
        answer = urlopen(Request(url, headers={"Range": f"bytes={have}-"} if have else {}), timeout=TIMEOUT)
    except HTTPError as error:
        if error.code != 416:  # 416: the server has no bytes beyond those at hand
            raise
        return
    with answer:
        goes_on = answer.status == 206
        rest = int(answer.headers.get("Content-Length") or 0)
        with path.open("ab" if goes_on else "wb") as file, _bar(name, have if goes_on else 0, rest) as step:
            while chunk := answer.read(CHUNK):
                file.write(chunk)
                step(len(chunk))
        if rest and path.stat().st_size != (have if goes_on else 0) + rest:
            raise OSError("the connection was cut off; another call goes on from here")


def _verify(name: str, url: str, path: Path, sha256: str | None, md5: str | None, size: int | None, pinned_here: bool) -> None:
    """Refuse, and delete, a file that is not the expected one."""
    expected: dict[str, tuple[Any, Any]] = {"size": (size, path.stat().st_size)}
    expected |= {kind: (given, _checksum(path, kind)) for kind, given in (("sha256", sha256), ("md5", md5)) if given}
    for what, (wanted, got) in expected.items():
        if wanted is not None and wanted != got:
            path.unlink()
            first = f"{name}.json has that of the first download. " if pinned_here and not md5 else ""
            raise DatasetError(
                f"{name}: the file at {url} has another {what} than expected ({got}, not {wanted}), and was not kept. "
                f"{first}{_otherwise(name)}"
            )


def _check_shape(frame: Any, shape: tuple[int, int, int] | None) -> None:
    got = (len(frame), frame.shape[1] - 1, frame[TARGET].nunique())
    if shape is not None and got != shape:
        raise DatasetError("it should have {} rows, {} features and {} classes, got {}, {} and {}".format(*shape, *got))


def _checksum(path: Path, kind: str) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, kind).hexdigest()


def _cannot_fetch(name: str, url: str, error: Exception) -> str:
    reason = getattr(error, "reason", None) or error
    return f"{name} could not be fetched from {url} ({reason}). {_otherwise(name)}"


def _otherwise(name: str) -> str:
    return f"Try again with a network, or put {name}.parquet into a folder and name it by EC3LEARN_DATA."


@contextmanager
def _bar(name: str, have: int, rest: int) -> Iterator[Callable[[int], None]]:
    """Show how far a download is, on a terminal."""
    done, shown, total = have, 0.0, have + rest

    def step(n_bytes: int) -> None:
        nonlocal done, shown
        done += n_bytes
        if sys.stderr.isatty() and (time.monotonic() - shown > 0.1 or done == total):
            shown = time.monotonic()
            share = f"[{'=' * round(20 * done / total):20s}] {done / total:4.0%}" if rest else f"{count(done, 'byte')}"
            sys.stderr.write(f"\r{name:14s} {share} {done / 1e6:8.1f} MB")

    yield step
    if sys.stderr.isatty():
        sys.stderr.write("\n")
