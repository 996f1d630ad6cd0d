"""What the paper ran and the numbers it printed: data only.

T. Chakraborty, "EC3: Combining Clustering and Classification for Ensemble Learning". `printed.csv` has the printed
tables, exactly as in the paper; averages there are the paper's own.
"""

from __future__ import annotations

import csv
from importlib.resources import files
from typing import Any

# The paper's names of its data sets, in its order, and our names.
DATASETS = {
    name.capitalize(): name
    for name in (
        *("titanic", "spambase", "magic", "creditcard", "adults", "diabetes", "susy"),  # two classes
        *("iris", "image", "waveform", "statlog", "letter", "sensor"),  # more classes
    )
}

# Parts of a data set that is not available as a whole. Their scores are never compared with the paper's.
STAND_INS = {"sensor_sample": "sensor", "sensor_3feat": "sensor"}

CLASSIFIERS = ("DT", "NB", "K-NN", "LR", "SVM", "SGD", "CNN")
ENSEMBLES = ("STA", "BAG", "BOO", "XGB", "RF")
COMBINERS = ("BGCM", "UPE", "EC3", "iEC3")
METHODS = (*CLASSIFIERS, *ENSEMBLES, *COMBINERS)
CLUSTERINGS = ("DBSCAN", "Hierarchical", "Affinity", "K-Means", "Mean-Shift")

STEP = 0.05  # of the grid of weights
TOP_SHARE = 0.10  # of the settings by AUC count as good
SUGGESTED = {"alpha": (0.10, 0.40), "beta": (0.30, 0.60), "gamma": (0.30, 0.60), "delta": (0.0, 0.20)}
EPSILONS = (0.030, 0.025, 0.020, 0.015, 0.010, 0.005)
EPSILON_AUC = {0.030: 0.84, 0.025: 0.90, 0.020: 0.93}  # share of the AUC at epsilon 0.005
EPSILON_SECONDS = {0.030: 0.74, 0.025: 0.82, 0.020: 0.89}  # share of the time
REMOVED = (0.0, 0.05, 0.10, 0.15, 0.20, 0.25, 0.30)  # share of one class
MOST_RANDOM = 15  # base models added

# Shares of AUC and F kept with 30 % of a class removed, and of AUC with 10 random base models added.
IMBALANCE_AUC = {"susy": {"iEC3": 0.87}, "sensor": {"iEC3": 0.89}}
IMBALANCE_UPE = 0.71  # share of its AUC that UPE keeps on Susy
IMBALANCE_F = {"susy": {"iEC3": 0.82, "EC3": 0.73, "UPE": 0.67}, "sensor": {"iEC3": 0.88, "EC3": 0.82, "UPE": 0.77}}
RANDOM_AUC = {"iEC3": 0.88, "UPE": 0.58}


def printed(table: str) -> list[dict[str, Any]]:
    """Return a table of `printed.csv` as one dict (column -> value) per row.

    Examples
    --------
    >>> printed("accuracy_auc")[0]["iEC3"]
    0.687
    """
    tables = (files(__package__) / "printed.csv").read_text(encoding="utf-8").split("\n\n")
    lines = next(lines for title, *lines in map(str.splitlines, tables) if title == f"# {table}")
    return [{name: _number(cell) for name, cell in row.items()} for row in csv.DictReader(lines)]


def _number(cell: str) -> Any:
    try:
        return float(cell) if "." in cell else int(cell)
    except ValueError:
        return cell
