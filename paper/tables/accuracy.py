"""How accurate the methods are: the paper's 16 and plain votes."""

from __future__ import annotations

import pandas as pd

from .. import published
from ..claims import by_unit, mean_ranks
from ..exhibits import Block, Exhibit, Frame, cells, comparable, ordered, printed_here

WITH_CLUSTERINGS = ["iEC3", "iEC3, soft votes", "iEC3, learned weights"]
VOTES = ["majority vote", "soft vote", "weighted vote"]
OURS = [*VOTES, "Dawid-Skene", "C3E-SL", *WITH_CLUSTERINGS[1:]]
EVERY = [*published.METHODS, *OURS]


def with_clusterings(rows: Frame) -> Frame:
    """The scores with the paper's clusterings, or without for methods that use none."""
    without = (rows["setting"] == "none") & rows["method"].isin(WITH_CLUSTERINGS)
    return rows[~without]


def scored_cells(rows: Frame, metric: str, experiment: str = "accuracy") -> Frame:
    """These scores by data set and split."""
    return cells(with_clusterings(rows), experiment, metric)


def scored(rows: Frame, metric: str) -> Frame:
    """The mean of these scores by data set, of all methods."""
    return ordered(by_unit(scored_cells(rows, metric)))[EVERY]


def accuracy(rows: Frame) -> Exhibit:
    """The scores of the paper's 16 methods and of plain votes, and the paper's."""
    found, detail = {}, {}
    for metric, (word, table) in published.TABLES.items():
        ours, theirs = scored(rows, metric), printed_here(table, rows)
        spread = scored_cells(rows, metric)[EVERY].groupby(level=0).std()
        detail |= {word: ours, f"{word}, deviation": spread, f"{word}, paper": theirs}
        common = ours.loc[comparable(ours.index)]
        found |= {word: common.mean(), f"{word}, paper": theirs.mean()}
    found["mean rank, AUC"] = mean_ranks(detail["AUC"].loc[common.index]).map("{:.1f}".format)
    shown = pd.DataFrame(found).loc[[*published.METHODS, *VOTES]].rename_axis("method")
    caption = f"Means over {len(common)} data sets that the paper has too, AUC by probabilities. Ranks are among {len(EVERY)} methods, 1 the best."
    return Exhibit("accuracy", "Accuracy of all methods (Table 4)", [Block(caption, shown)], detail)
