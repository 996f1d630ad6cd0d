"""The data sets: what is known of each, and how to read the published files into tables."""

import gzip
import io
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import fetch_openml, load_iris

TARGET = "target"  # the column of the class


@dataclass(frozen=True)
class Known:
    """What is known of a data set before it is loaded."""

    description: str
    shape: tuple[int, int, int]  # rows, features, classes of the original
    url: str | None = None  # of the published file
    read: Any = None  # the function that reads this file into a table
    make: Callable[[], Any] | None = None  # a table that needs no file of ours


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


# ---- without a file of ours ----------------------------------------------------------------------


def _titanic():
    frame = fetch_openml(data_id=40704, as_frame=True).frame
    return _categories(frame.rename(columns={frame.columns[-1]: TARGET}), [])


def _iris():
    bunch = load_iris(as_frame=True)
    return _categories(bunch.data.assign(**{TARGET: bunch.target_names[bunch.target]}), [])


def waveforms(n_rows=5000, seed=0):
    """Make waveform data: mixtures of two of three triangular waves at 21 points, with noise.

    The definition is that of Breiman et al. (1984).

    Examples
    --------
    >>> waveforms(10).columns[[0, 20, 21]].tolist()
    ['x1', 'x21', 'target']
    """
    rng = np.random.default_rng(seed)
    waves = np.maximum(6 - np.abs(np.arange(1, 22) - np.array([[7], [15], [11]])), 0)
    codes = rng.integers(3, size=n_rows)
    first, second = np.array([[0, 1], [0, 2], [1, 2]])[codes].T
    share = rng.random((n_rows, 1))
    points = share * waves[first] + (1 - share) * waves[second] + rng.normal(size=(n_rows, 21))
    frame = pd.DataFrame(points, columns=[f"x{i}" for i in range(1, 22)])
    return frame.assign(**{TARGET: pd.Categorical(codes.astype(str))})


# ---- the data sets -------------------------------------------------------------------------------

UCI = "https://archive.ics.uci.edu/static/public"

# fmt: off
ADULT_COLUMNS = [
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation",
    "relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country",
    "class",
]
MAGIC_COLUMNS = [
    "fLength", "fWidth", "fSize", "fConc", "fConc1", "fAsym", "fM3Long", "fM3Trans", "fAlpha", "fDist",
    "class",
]
# fmt: on

DATASETS = {
    "titanic": Known(
        "Who survived the sinking of the Titanic: class, age and sex of 2,201 people.",
        (2201, 3, 2),
        make=_titanic,
        # OpenML's copy
    ),
    "spambase": Known(
        "Emails, spam or not: frequencies of 54 words and characters, and three lengths. KEEL's copy lacks 4 of 4,601 rows.",
        (4601, 57, 2),
        f"{UCI}/94/spambase.zip",
        partial(_table, members=["spambase.data"], rename={"0": "nonspam", "1": "spam"}),
    ),
    "magic": Known(
        "Simulated showers in a gamma telescope, caused by gamma rays or hadrons: ten measures of their images.",
        (19020, 10, 2),
        f"{UCI}/159/magic+gamma+telescope.zip",
        partial(_table, members=["magic04.data"], columns=MAGIC_COLUMNS),
    ),
    "creditcard": Known(
        "Credit card holders in Taiwan who default next month or not: limit, person, six months of bills and payments.",
        (30000, 23, 2),
        f"{UCI}/350/default+of+credit+card+clients.zip",
        _credit_cards,
    ),
    "adults": Known(
        "Who earns more than 50,000 dollars, from a census; rows with missing values are left out.",
        (45222, 14, 2),
        f"{UCI}/2/adult.zip",
        _adults,
    ),
    "diabetes": Known(
        "Hospital stays of diabetic patients: who is readmitted. The two identifiers are left out.",
        (101766, 47, 2),
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
        "Simulated collisions that do or do not produce supersymmetric particles: 18 measures of 5,000,000 collisions.",
        (5000000, 18, 2),
        f"{UCI}/279/susy.zip",
        partial(_table, members=["SUSY.csv.gz"], target=0),
    ),
    "iris": Known(
        "Fisher's irises: two lengths and two widths of 150 flowers of three species.",
        (150, 4, 3),
        make=_iris,
        # scikit-learn's copy (two rows differ from UCI's)
    ),
    "image": Known(
        "Segments of outdoor images, 3 x 3 pixels each: 19 measures, seven kinds of surface.",
        (2310, 19, 7),
        f"{UCI}/50/image+segmentation.zip",
        partial(_table, members=["segmentation.data", "segmentation.test"], target=0, skiprows=5),
    ),
    "waveform": Known(
        "Three classes of mixtures of waves at 21 points, with noise.",
        (5000, 21, 3),
        make=waveforms,
        # made from the published definition (seed 0), not UCI's own 5,000 rows
    ),
    "statlog": Known(
        "Landsat pixels: four spectral bands of 3 x 3 neighbourhoods, six kinds of ground.",
        (6435, 36, 6),
        f"{UCI}/146/statlog+landsat+satellite.zip",
        partial(_table, members=["sat.trn", "sat.tst"], sep=" "),
    ),
    "letter": Known(
        "Printed capital letters in many fonts: 16 measures of their images.",
        (20000, 16, 26),
        f"{UCI}/59/letter+recognition.zip",
        partial(_table, members=["letter-recognition.data"], target=0),
    ),
    "sensor": Known(
        "Currents of a drive in eleven states, intact or damaged: 48 features of 58,509 measurements.",
        (58509, 48, 11),
        f"{UCI}/325/dataset+for+sensorless+drive+diagnosis.zip",
        partial(_table, members=["Sensorless_drive_diagnosis.txt"], sep=" "),
    ),
    "sensor_sample": Known(
        "200 rows per class of sensor, with all 48 features. Scores are not those of sensor.",
        (2200, 48, 11),
    ),
    "sensor_3feat": Known(
        "All rows of sensor, with 3 of its 48 features. Scores are not those of sensor.",
        (58509, 3, 11),
    ),
}
