"""How accurate the methods are: the paper's 16 and ours, with many and few labels, with and without clusterings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import published
from ..exhibits import (
    Block,
    Exhibit,
    Frame,
    cells,
    difference,
    means,
    printed,
)

WITH_CLUSTERINGS = ["iEC3", "iEC3, soft votes", "iEC3, learned weights"]
VOTES = ["majority vote", "soft vote"]
OURS = [*VOTES, "weighted vote", "Dawid-Skene", "C3E-SL", *WITH_CLUSTERINGS[1:]]
EVERY = [*published.METHODS, *OURS]


def with_clusterings(rows: Frame) -> Frame:
    """The scores with the paper's clusterings, or without for methods that use none."""
    without = (rows["setting"] == "none") & rows["method"].isin(WITH_CLUSTERINGS)
    return rows[~without]


def scored_cells(rows: Frame, metric: str, experiment: str = "accuracy") -> Frame:
    """These scores by data set and split."""
    return cells(with_clusterings(rows), experiment, metric)


def scored(
    rows: Frame, experiment: str, metric: str, methods: Sequence[str] = published.METHODS
) -> Frame:
    """The mean of these scores by data set."""
    return means(with_clusterings(rows), experiment, metric)[list(methods)]


def accuracy(rows: Frame, metric: str = "auc") -> Exhibit:
    """The scores of the paper's 16 methods, and their difference from the paper's."""
    word, table = published.TABLES[metric]
    ours, sd = scored(rows, "accuracy", metric), scored_cells(rows, metric).groupby(level=0).std()
    shown = ours.map("{:.3f}".format) + sd.loc[ours.index, ours.columns].map(
        lambda x: "" if np.isnan(x) else f" ± {x:.3f}"
    )
    gap = difference(ours, printed(table)).T.assign(mean=lambda own: own.mean(axis=1))
    blocks = [
        Block(f"{word}, mean ± standard deviation over repeats.", shown.T.rename_axis("method")),
        Block(
            f"{word}, ours minus the paper's, on data sets the paper has.",
            gap.rename_axis("method"),
        ),
    ]
    part = "a" if metric == "auc" else "b"
    return Exhibit(f"accuracy_{metric}", f"{word} of all methods (Table 4{part})", blocks)


# ---- few labels, and what clusterings add --------------------------------------------------------
