"""Example data: what five classifiers and two clusterings say about made-up emails."""

from __future__ import annotations

import csv
import io
import os
from statistics import fmean
from typing import Any

import numpy as np

from ._files import place_for, whole_file
from ._table import Table
from ._typing import Array
from .consensus import Consensus
from .methods import EC3, MajorityVote, solve
from .votes import Votes

__all__ = ["demo_votes"]  # the others are for the command


CLASSES = ["ham", "news", "spam"]
# How often each knows the class.
CLASSIFIERS = {"svm": 0.52, "tree": 0.45, "bayes": 0.48, "knn": 0.42, "rules": 0.5}
CLUSTERINGS = {"kmeans": 0.85, "dbscan": 0.8}


def demo_votes() -> Table:
    """The votes, with gaps, a few known labels (`gold`) and the true classes (`truth`).

    Examples
    --------
    >>> list(demo_votes().columns)
    ['id', 'svm', 'tree', 'bayes', 'knn', 'rules', 'kmeans', 'dbscan', 'gold', 'truth']
    """
    n_mails, rng = 600, np.random.default_rng(0)
    truth = rng.choice(3, n_mails, p=[0.5, 0.2, 0.3])

    def guess(knows: float, n: int) -> Array:
        return np.where(rng.random(n_mails) < knows, truth, rng.integers(n, size=n_mails))

    columns: dict[str, list[Any]] = {"id": [f"mail-{i}" for i in range(n_mails)]}
    for name, knows in CLASSIFIERS.items():
        missing = rng.random(n_mails) < 0.1
        columns[name] = [
            None if gap else CLASSES[z] for z, gap in zip(guess(knows, 3), missing, strict=True)
        ]
    for name, knows in CLUSTERINGS.items():
        columns[name] = guess(knows, 5).tolist()
    columns["dbscan"] = [
        -1 if noise else z
        for z, noise in zip(columns["dbscan"], rng.random(n_mails) < 0.05, strict=True)
    ]
    columns["gold"] = [CLASSES[z] if i % 10 == 0 else None for i, z in enumerate(truth)]
    columns["truth"] = [CLASSES[z] for z in truth]
    return Table(columns)


def write_demo(path: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Write the votes as a CSV file."""
    target = place_for(path, overwrite, "votes")
    table = demo_votes()
    text = io.StringIO(newline="")
    rows = (row.values() for row in table.rows())
    csv.writer(text, lineterminator="\n").writerows([table.columns, *rows])
    with whole_file(target) as file:
        file.write(text.getvalue().encode())


def solve_demo() -> tuple[Table, Consensus]:
    """How often each base model and consensus is right where it votes; and the consensus."""
    table = demo_votes()
    classifiers = {name: table[name] for name in CLASSIFIERS}
    votes = Votes.from_labels(classifiers, {name: table[name] for name in CLUSTERINGS})
    consensus = solve(votes, table["gold"])
    answers = classifiers | {
        "majority vote": MajorityVote().solve(Votes.from_labels(classifiers)).labels(),
        "iEC3": EC3().solve(votes, table["gold"]).labels(),
        "the default": consensus.labels(),
    }
    asked = [i for i, gold in enumerate(table["gold"]) if not gold]
    right = [
        fmean(labels[i] == table["truth"][i] for i in asked if labels[i])
        for labels in answers.values()
    ]
    return Table({"model": list(answers), "right": right}), consensus
