"""The data sets of the paper, by name: from a folder, the user's cache, or the network.

A data set is one Parquet file with the features and, as its last column, the class. Those that are
not in the folder EC3LEARN_DATA are downloaded once, checked, and kept in the cache in this form.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlretrieve

import numpy as np
import pandas as pd

from .registry import DATASETS, TARGET


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set: its name and its table."""

    name: str
    frame: Any  # pandas.DataFrame: the features, nominal ones as categories, and the class

    @property
    def X(self):
        """The features."""
        return self.frame.drop(columns=TARGET)

    @property
    def codes(self):
        """The class of each row as an integer, its position among the sorted classes."""
        return np.unique(self.frame[TARGET].astype(str), return_inverse=True)[1]

    @property
    def n_classes(self):
        """The number of classes."""
        return int(self.codes.max()) + 1


def load(name, folder=None):
    """Load a data set; one that is neither in the folder nor in the cache is downloaded.

    Examples
    --------
    >>> iris = load("iris")
    >>> iris.X.shape, iris.n_classes
    ((150, 4), 3)
    """
    known = DATASETS[name]
    for place in places(folder):
        path = place / f"{name}.parquet"
        if path.is_file():
            return Dataset(name, pd.read_parquet(path))
    if known.make is not None:
        return Dataset(name, known.make())
    if known.url is None:
        raise ValueError(
            f"{name} is not published as a file that could be downloaded. "
            f"Set EC3LEARN_DATA to a folder with {name}.parquet."
        )
    return Dataset(name, download(name, known))


def at_hand(folder=None):
    """The names of the data sets that need no network."""
    files = [place / f"{name}.parquet" for place in places(folder) for name in DATASETS]
    here = {path.stem for path in files if path.is_file()} | {"iris", "waveform"}
    return [name for name in DATASETS if name in here]


def cache_folder():
    """Where downloads and base outputs are kept."""
    return Path(os.environ.get("EC3LEARN_CACHE") or Path.home() / ".cache" / "ec3learn")


def places(folder=None):
    """The folders that may have data sets: the one named, or else EC3LEARN_DATA, the cache."""
    named = folder or os.environ.get("EC3LEARN_DATA")
    if named and not Path(named).is_dir():
        raise ValueError(f"EC3LEARN_DATA must be a folder with Parquet files, got {str(named)!r}.")
    return [*([Path(named)] if named else []), cache_folder() / "datasets"]


def download(name, known):
    """Download a data set into the cache; rows, features and classes must be the published ones."""
    path = cache_folder() / "datasets" / f"{name}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    raw, _ = urlretrieve(known.url, path.with_suffix(".part"))
    frame = known.read(raw)
    shape = (len(frame), frame.shape[1] - 1, frame[TARGET].nunique())
    if shape != known.shape:
        raise ValueError(f"{name} must have {known.shape} rows, features and classes, got {shape}.")
    frame.to_parquet(path, index=False, compression="zstd")
    raw.unlink()
    return frame
