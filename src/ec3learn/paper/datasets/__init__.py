"""The data sets of the paper, by name: from a folder, the user's cache, or the network.

A data set is one Parquet file with the features and, as its last column, the class (`target`). Data
sets that are not in a folder are downloaded once from UCI or OpenML, checked, and kept in the cache
in the same form, whole or not at all. Two need no file: Iris comes with scikit-learn, and Waveform
is made from its published definition.

Where the checksum of the original file is known, the file must have it. Otherwise that of the first
download is recorded beside the data set and must stay the same. Rows, features and classes must be
the published ones in any case.

Unlike pooch, this resumes a download that was cut off (Susy has 880 MB): of a file of 20 MB cut off
in the middle pooch 1.9 transfers 30 MB, this 20. Pooch also brings seven packages with it and does
not record the checksum of a first download.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen
from zipfile import BadZipFile

import numpy as np
import pandas as pd

from ..._checks import InputError, InputTypeError, MissingExtraError, require_choice
from ..._files import whole_file
from ..._progress import progress
from ..._text import arg
from ..._typing import Array
from .registry import DATASETS, TARGET, Known, waveforms

__all__ = ["Dataset", "DatasetError", "at_hand", "cache_folder", "load", "names", "waveforms"]

CHUNK = 1 << 18  # bytes
TIMEOUT = 30  # seconds without an answer


class DatasetError(InputError):
    """A data set that is not available, or is not what it should be."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set: features, classes, and where they come from.

    Attributes
    ----------
    name, description : str
        What it is called, and what it is about.
    X : pandas.DataFrame
        The features; nominal ones are categories.
    y : pandas.Series
        The class of each row.
    source : str
        Where it came from: a file, the network, or how it was made.

    Examples
    --------
    >>> from ec3learn.paper import datasets
    >>> iris = datasets.load("iris", folder=None)
    >>> iris.X.shape, iris.n_classes
    ((150, 4), 3)
    """

    name: str
    X: Any
    y: Any
    description: str
    source: str

    @cached_property
    def classes(self) -> Array:
        """The classes, sorted."""
        return np.unique(np.asarray(self.y, dtype=str))

    @cached_property
    def codes(self) -> Array:
        """The class of each row as an integer, its position in `classes`."""
        return np.searchsorted(self.classes, np.asarray(self.y, dtype=str))

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.classes)

    @cached_property
    def content(self) -> str:
        """A checksum of features and classes."""
        digest = hashlib.sha256(repr([str(name) for name in self.X.columns]).encode())
        digest.update(pd.util.hash_pandas_object(self.X, index=False).to_numpy().tobytes())
        digest.update("\n".join(map(str, self.y)).encode())
        return digest.hexdigest()


def load(name: str, folder: str | Path | None = None, *, download: bool = True) -> Dataset:
    """Load a data set.

    Parameters
    ----------
    name : str
        Such as "magic"; `datasets.names()` lists all.
    folder : path
        A folder with Parquet files; by default the one that the environment variable EC3LEARN_DATA
        names. A data set that is not there is looked up in the user's cache, then downloaded.
    download : bool
        Whether it may be downloaded.
    """
    require_choice("data set", name, DATASETS)
    known = DATASETS[name]
    for place, what in _folders(folder):
        path = place / f"{name}.parquet"
        if path.is_file():
            return _dataset(name, _read_parquet(path), f"{what} ({path})")
    if known.make is not None:
        frame, source = known.make()
        return _dataset(name, frame, source)
    remedy = f"Set EC3LEARN_DATA to a folder with {name}.parquet."
    if known.url is None:
        raise DatasetError(
            "name",
            phrase=f"{name} is not published as a file that could be downloaded",
            remedy=remedy,
        )
    if not download:
        phrase = f"{name} is neither in a folder nor in the cache, and {arg('download', False)}"
        raise DatasetError("name", phrase=phrase, remedy=remedy)
    return _dataset(
        name,
        fetch(name, known, known.url, cache_folder() / "datasets"),
        f"downloaded from {known.url}",
    )


def names() -> list[str]:
    """Return the names of all data sets, in the paper's order."""
    return list(DATASETS)


def at_hand(folder: str | Path | None = None) -> list[str]:
    """Return the names of the data sets that need no network."""
    places = [place for place, _ in _folders(folder)]
    return [
        n
        for n, k in DATASETS.items()
        if k.make or any((place / f"{n}.parquet").is_file() for place in places)
    ]


def cache_folder() -> Path:
    """Return where downloads and base outputs are kept: EC3LEARN_CACHE, or ec3learn in the user's cache."""
    if given := os.environ.get("EC3LEARN_CACHE"):
        return Path(given)
    windows = os.environ.get("LOCALAPPDATA") if sys.platform == "win32" else None
    return Path(windows or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ec3learn"


def _folders(folder: str | Path | None) -> Iterator[tuple[Path, str]]:
    given = folder if folder is not None else os.environ.get("EC3LEARN_DATA")
    if given is not None:
        if not isinstance(given, (str, os.PathLike)):
            raise InputTypeError(
                "folder", "must be the name of a folder with Parquet files", got=given
            )
        if not Path(given).is_dir():
            what = "folder" if folder is not None else "EC3LEARN_DATA"
            raise DatasetError(what, "must be a folder with Parquet files", got=str(given))
        yield Path(given), "folder"
    yield cache_folder() / "datasets", "cache"


def _dataset(name: str, frame: Any, source: str) -> Dataset:
    if frame.columns[-1] != TARGET:
        phrase = f"The last column of {name} must be {TARGET!r}, the class, got {frame.columns[-1]!r} ({source})"
        raise DatasetError("name", phrase=phrase)
    return Dataset(name, frame.iloc[:, :-1], frame[TARGET], DATASETS[name].description, source)


def _read_parquet(path: Path) -> Any:
    try:
        return pd.read_parquet(path)
    except (OSError, ValueError) as error:
        phrase = f"{path} cannot be read as Parquet ({error})"
        raise DatasetError(
            "name", phrase=phrase, remedy="Delete it, or replace it with a complete file."
        ) from None


# ---- from the network ----------------------------------------------------------------------------


def fetch(name: str, known: Known, url: str, folder: Path) -> Any:
    """Download a data set into a folder and return its table, which must have as many rows, features and classes as is known.

    A download that was cut off is resumed if the server supports it, and starts again if not.
    """
    folder.mkdir(parents=True, exist_ok=True)
    raw, record = folder / f"{name}.part", folder / f"{name}.json"
    first = json.loads(record.read_text())["sha256"] if record.is_file() else None
    md5 = None
    try:
        url, md5 = _locate(url)
        _download(name, url, raw)
    except (HTTPException, OSError) as error:
        reason = getattr(error, "reason", None) or error
        raise _failed(name, f"{name} could not be downloaded from {url} ({reason})") from None
    more = "" if known.sha256 else f"{name}.json records that of the first download. "
    sha256 = _verify(name, url, raw, "sha256", known.sha256 or first, more)
    if md5:
        _verify(name, url, raw, "md5", md5)
    try:
        frame = known.read(raw)
        shape = (len(frame), frame.shape[1] - 1, frame[TARGET].nunique())
        if known.shape not in (None, shape):
            raise ValueError(
                "it must have {} rows, {} features and {} classes, got {}, {} and {}".format(
                    *known.shape, *shape
                )
            )
    except MissingExtraError:
        raise
    except (BadZipFile, ValueError) as error:
        raw.unlink()
        raise _failed(
            name,
            f"{name}: the file at {url} cannot be used and was deleted: {str(error).rstrip('.')}",
        ) from None
    with whole_file(folder / f"{name}.parquet") as file:
        frame.to_parquet(file, index=False, compression="zstd")
    with whole_file(record) as file:
        file.write(json.dumps({"url": url, "sha256": sha256}, indent=1).encode())
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
        answer = urlopen(
            Request(url, headers={"Range": f"bytes={have}-"} if have else {}), timeout=TIMEOUT
        )
    except HTTPError as error:
        if error.code != 416:  # 416: there are no bytes beyond those we have
            raise
        return
    with answer:
        have = have if answer.status == 206 else 0  # 206: the server sends the rest only
        rest = int(answer.headers.get("Content-Length") or 0)
        with (
            path.open("ab" if have else "wb") as file,
            progress(f"Downloading {name}", have + rest if rest else None) as bar,
        ):
            while chunk := answer.read(CHUNK):
                file.write(chunk)
                bar.update(done=file.tell())
        if rest and path.stat().st_size != have + rest:
            raise OSError("the connection was cut off; the next call resumes from here")


def _verify(name: str, url: str, raw: Path, kind: str, expected: str | None, more: str = "") -> str:
    """Return a checksum of a file; delete it, and raise an error, if it is not the expected one."""
    with raw.open("rb") as file:
        found = hashlib.file_digest(file, kind).hexdigest()
    if expected not in (None, found):
        raw.unlink()
        raise _failed(
            name,
            f"{name}: the file at {url} must have the {kind} {expected}, got {found}; it was deleted",
            more,
        )
    return found


def _failed(name: str, phrase: str, more: str = "") -> DatasetError:
    remedy = f"{more}Try again when the network is up, or set EC3LEARN_DATA to a folder with {name}.parquet."
    return DatasetError("name", phrase=phrase, remedy=remedy)
