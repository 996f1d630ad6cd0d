"""A table of votes that is made up, to try things on: emails that five classifiers and two clusterings have looked at."""

from __future__ import annotations

import csv
import os
from typing import Any

import numpy as np

from .._text import Table
from ..consensus import Consensus
from ..methods import EC3, MajorityVote
from ..votes import Votes
from ..votes.labels import label_array

CLASSES = ["ham", "news", "spam"]
RIGHT = {"svm": 0.62, "tree": 0.55, "bayes": 0.58, "knn": 0.52, "rules": 0.6}
FOLLOWS = {"kmeans": 0.85, "dbscan": 0.8}
N_OBJECTS = 600


def demo_votes() -> Table:
    """Return the votes, with gaps, some known labels (`gold`) and the truth.

    Examples
    --------
    >>> list(demo_votes().columns)
    ['id', 'svm', 'tree', 'bayes', 'knn', 'rules', 'kmeans', 'dbscan', 'gold', 'truth']
    """
    rng = np.random.default_rng(0)
    truth = rng.choice(3, N_OBJECTS, p=[0.5, 0.2, 0.3])

    def said(share: float, n: int) -> Any:
        return np.where(rng.random(N_OBJECTS) < share, truth, rng.integers(n, size=N_OBJECTS))

    columns: dict[str, list[Any]] = {"id": [f"mail-{i}" for i in range(N_OBJECTS)]}
    for name, share in RIGHT.items():
        gone = rng.random(N_OBJECTS) < 0.1
        columns[name] = [None if none else CLASSES[z] for z, none in zip(said(share - 0.1, 3), gone, strict=True)]
    for name, share in FOLLOWS.items():
        columns[name] = said(share, 5).tolist()
    columns["dbscan"] = [-1 if noise else z for z, noise in zip(columns["dbscan"], rng.random(N_OBJECTS) < 0.05, strict=True)]
    columns["gold"] = [CLASSES[z] if i % 10 == 0 else None for i, z in enumerate(truth)]
    columns["truth"] = [CLASSES[z] for z in truth]
    return Table(columns)


def write_demo(path: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Write the votes as a CSV file."""
    table = demo_votes()
    if os.path.lexists(path) and not overwrite:
        raise FileExistsError(f"{os.fspath(path)} exists already. Pass overwrite=True to replace it.")
    with open(path, "w" if overwrite else "x", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table.columns)
        writer.writerows(row.values() for row in table.rows())


def solve_demo() -> tuple[Table, Consensus]:
    """Return how often each is right, and the consensus."""
    table = demo_votes()
    classifiers, clusterings = {name: table[name] for name in RIGHT}, {name: table[name] for name in FOLLOWS}
    votes, alone = Votes.from_labels(classifiers, clusterings), Votes.from_labels(classifiers)
    consensus = EC3().solve(votes, table["gold"])
    answers = classifiers | {"majority vote": MajorityVote().solve(alone).labels(), "iEC3": consensus.labels()}
    truth = label_array(table["truth"])
    hidden = np.array([label is None for label in table["gold"]])
    right = {name: float(np.mean(label_array(said)[hidden] == truth[hidden])) for name, said in answers.items()}
    return Table({"model": list(right), "right": list(right.values())}), consensus
