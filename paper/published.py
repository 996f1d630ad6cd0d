"""What the paper ran and the numbers it printed, and whether these can be.

T. Chakraborty, "EC3: Combining Clustering and Classification for Ensemble Learning". `printed.csv`
has the printed tables, exactly as in the paper; averages there are the paper's own.

The checks need no experiment, only arithmetic: with two classes, AUC and F of labels both follow
from the share of each class that is found, so not every pair of them exists.
"""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.spatial import ConvexHull

# The paper's names of its data sets, in its order, and our names.
DATASETS = {
    name.capitalize(): name
    for name in (
        *(
            "titanic",
            "spambase",
            "magic",
            "creditcard",
            "adults",
            "diabetes",
            "susy",
        ),  # two classes
        *("iris", "image", "waveform", "statlog", "letter", "sensor"),  # more classes
    )
}

# Parts of a data set that is not available as a whole. No printed score stands beside theirs.
STAND_INS = {"sensor_sample": "sensor", "sensor_3feat": "sensor"}

CLASSIFIERS = ["DT", "NB", "K-NN", "LR", "SVM", "SGD", "CNN"]
ENSEMBLES = ["STA", "BAG", "BOO", "XGB", "RF"]
ALONE = [*CLASSIFIERS, *ENSEMBLES]
COMBINERS = ["BGCM", "UPE", "EC3", "iEC3"]
METHODS = [*ALONE, *COMBINERS]
BASELINES = METHODS[:-2]  # all but the paper's own
CLUSTERINGS = ["DBSCAN", "Hierarchical", "Affinity", "K-Means", "Mean-Shift"]
TABLES = {
    "auc": ("AUC", "accuracy_auc"),
    "f": ("F", "accuracy_fscore"),
}  # the word and the printed table of each score

STEP = 0.05  # of the grid of weights
TOP_SHARE = 0.10  # of the settings by AUC count as good
SUGGESTED = {
    "alpha": (0.10, 0.40),
    "beta": (0.30, 0.60),
    "gamma": (0.30, 0.60),
    "delta": (0.0, 0.20),
}
EPSILONS = (0.030, 0.025, 0.020, 0.015, 0.010, 0.005)
EPSILON_AUC = {0.030: 0.84, 0.025: 0.90, 0.020: 0.93}  # share of the AUC at epsilon 0.005
EPSILON_SECONDS = {0.030: 0.74, 0.025: 0.82, 0.020: 0.89}  # share of the time
REMOVED = (0.0, 0.05, 0.10, 0.15, 0.20, 0.25, 0.30)  # share of one class
MOST_RANDOM = 15  # base models added

# Shares of AUC and F kept with 30 % of a class removed, and of AUC with 10 random base models
# added.
IMBALANCE_AUC = {"susy": {"iEC3": 0.87}, "sensor": {"iEC3": 0.89}}
IMBALANCE_UPE = 0.71  # share of its AUC that UPE keeps on Susy
IMBALANCE_F = {
    "susy": {"iEC3": 0.82, "EC3": 0.73, "UPE": 0.67},
    "sensor": {"iEC3": 0.88, "EC3": 0.82, "UPE": 0.77},
}
RANDOM_AUC = {"iEC3": 0.88, "UPE": 0.58}
ROUNDING = 0.005  # of the printed shares of classes, which moves F by about as much


def printed(table: str) -> Any:
    """A table of `printed.csv` as a dataframe, its first column as the index.

    Examples
    --------
    >>> print(printed("accuracy_auc")["iEC3"]["Titanic"])
    0.687
    """
    text = Path(__file__).with_name("printed.csv").read_text(encoding="utf-8")
    tables = dict(block.split("\n", 1) for block in text.split("\n\n"))
    return pd.read_csv(StringIO(tables[f"# {table}"]), index_col=0)


# ---- can the printed numbers be? -----------------------------------------------------------------


def f_range(auc: float, share: float) -> tuple[float, float]:
    """The smallest and the largest F of a class that labels with this AUC can have.

    With t of the class found and u of the others mistaken for it, AUC = (1 + t - u) / 2, and F = 2
    share t / (share + share t + (1 - share) u), which is monotone in t if AUC is kept; `share` is
    that of the class.
    """
    gain = 2 * auc - 1
    ends = (max(0.0, gain), min(1.0, 1 + gain))
    rates = [
        0.0 if t == 0 else 2 * share * t / (share + share * t + (1 - share) * (t - gain))
        for t in ends
    ]
    return min(rates), max(rates)


def averaged_f_range(auc: float, share: float) -> tuple[float, float]:
    """The same for averages over splits: whatever a mixture of possible pairs can give."""
    grid = np.linspace(0, 1, 401)
    ranges = np.array([f_range(a, share) for a in grid])
    hull = ConvexHull(np.concatenate([np.column_stack([grid, ranges[:, k]]) for k in (0, 1)]))
    across, up, offset = hull.equations.T  # across x + up y + offset <= 0 inside
    with np.errstate(divide="ignore"):
        bounds = -(across * auc + offset) / up
    return float(bounds[up < -1e-12].max()), float(bounds[up > 1e-12].min())


def impossible_pairs() -> dict[str, dict[str, list[str]]]:
    """The methods whose printed AUC and F cannot both be of labels, by reading of F and data set with two classes.

    F is read as that of the rarer or of the larger class, each of a single split or of averages
    over splits; "any" has the pairs that are impossible in all four readings.
    """
    readings = {
        f"{word} class, {how}": _outside(rare, limits)
        for word, rare in (("rarer", True), ("larger", False))
        for how, limits in (("one split", f_range), ("averages", averaged_f_range))
    }
    names = next(iter(readings.values()))
    every = {
        name: [m for m in METHODS if all(m in found[name] for found in readings.values())]
        for name in names
    }
    return readings | {"any": every}


def _outside(rare: bool, limits: Any) -> dict[str, list[str]]:
    """The methods whose printed F is outside the range for their printed AUC."""
    auc, f = (printed(table).drop(index="Average") for _, table in TABLES.values())
    found = {}
    for name, majority in printed("datasets").query("classes == 2")["majority"].items():
        share = 1 - majority if rare else majority
        ranges = {method: limits(auc.loc[name, method], share) for method in METHODS}
        found[name] = [
            m
            for m, (low, high) in ranges.items()
            if not low - ROUNDING <= f.loc[name, m] <= high + ROUNDING
        ]
    return found


# Statements of the paper's text that its own tables contradict, and what the tables say.
CONTRADICTIONS = [
    (
        "iEC3 is at least 3 % and at most 10 % better than UPE.",
        "1.4% (Iris) to 9.9% (Creditcard); below 3 % on Spambase, Iris, Statlog, Sensor.",
    ),
    (
        "Combining clusterings and classifiers is always better than classifiers or their "
        "ensembles.",
        "25 of 52 cells of BGCM and UPE are below the best of the twelve, such as BGCM on Titanic "
        "(AUC).",
    ),
    ("iEC3 is superior to EC3.", "EC3 is ahead on Statlog (AUC), Sensor (F)."),
    ("Each classifier adds to the whole.", "AUC is higher without CNN on Letter."),
    (
        "With 30 % of a class removed iEC3 keeps 89 % of its AUC on Susy (contributions).",
        "87 % in Table 1 and in the section on imbalance, where 89 % is that of Sensor.",
    ),
    (
        "Statlog is the most imbalanced of the data sets with more than two classes.",
        "Its MAJ and ENT, .34 and 1.48, are about those of Waveform (.34, 1.58), and Waveform's its own.",
    ),
]
