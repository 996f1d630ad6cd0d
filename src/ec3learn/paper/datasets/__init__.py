"""The data sets of the paper, by name: from a folder, the user's cache, or the network.

A data set is one Parquet file with the features and, as its last column, the class (`target`). Data sets that are not in a folder
are downloaded once from UCI or OpenML, checked, and kept in the cache in the same form. Two need no file: Iris comes with
scikit-learn, and Waveform is made from its published definition.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..._checks import InputTypeError, require_choice
from ..._text import arg
from ..._typing import Array
from .fetching import TARGET, DatasetError, fetch
from .registry import DATASETS, waveforms

__all__ = ["Dataset", "DatasetError", "at_hand", "cache_folder", "load", "names", "waveforms"]


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
        A folder with Parquet files; by default the one that the environment variable EC3LEARN_DATA names. A data set that is
        not there is looked up in the user's cache, then downloaded.
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
    if known.source is None:
        raise DatasetError("name", phrase=f"{name} is not published as a file that could be downloaded", remedy=remedy)
    if not download:
        phrase = f"{name} is neither in a folder nor in the cache, and {arg('download', False)}"
        raise DatasetError("name", phrase=phrase, remedy=remedy)
    frame = fetch(name, known.source, known.shape, cache_folder() / "datasets")
    return _dataset(name, frame, f"downloaded from {known.source.url}")


def names() -> list[str]:
    """Return the names of all data sets, in the paper's order."""
    return list(DATASETS)


def at_hand(folder: str | Path | None = None) -> list[str]:
    """Return the names of the data sets that need no network."""
    places = [place for place, _ in _folders(folder)]
    return [n for n, k in DATASETS.items() if k.make or any((place / f"{n}.parquet").is_file() for place in places)]


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
            raise InputTypeError("folder", "must be the name of a folder with Parquet files", got=given)
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
        raise DatasetError("name", phrase=phrase, remedy="Delete it, or replace it with a complete file.") from None
