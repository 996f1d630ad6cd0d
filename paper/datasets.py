"""The data sets of the paper, by name: from a folder, the user's cache, or the network.

A data set is one Parquet file with the features and, as its last column, the class. Those that are
not in the folder EC3LEARN_DATA are downloaded once, and kept in the cache in this form. Copies of a
data set differ: rows name the table they are from by its fingerprint.
"""

import hashlib
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
    """Load a data set; one that is neither in the folder nor in the cache is downloaded."""
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
            f"Set EC3LEARN_DATA to a folder with {name}.parquet; the table is from {known.source}."
        )
    return Dataset(name, download(name, known))


def fingerprint(frame):
    """The SHA-256 of a table's values: its numbers, then its words; names of columns do not count.

    Examples
    --------
    >>> table = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    >>> fingerprint(table) == fingerprint(table.rename(columns={"a": "c"}).astype({"c": float}))
    True
    """
    numbers = frame.select_dtypes("number").to_numpy("<f8")
    words = frame.select_dtypes(exclude="number").astype(str).to_numpy()
    text = "\n".join("\t".join(line) for line in words)
    return hashlib.sha256(numbers.tobytes() + text.encode()).hexdigest()


def at_hand(folder=None):
    """The names of the data sets that need no network."""
    return [
        name
        for name, known in DATASETS.items()
        if known.make or any((place / f"{name}.parquet").is_file() for place in places(folder))
    ]


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
    """Download a data set into the cache."""
    path = cache_folder() / "datasets" / f"{name}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    raw, _ = urlretrieve(known.url, path.with_suffix(".part"))
    frame = known.read(raw)
    frame.to_parquet(path, index=False, compression="zstd")
    raw.unlink()
    return frame
