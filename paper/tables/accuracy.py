"""How accurate the methods are, which AUC was printed, and which printed numbers cannot be.

If EC3 and iEC3 are scored by probabilities and the 14 baselines by labels, the paper's main claim
comes true. This was noticed on the first splits, then fixed and tested on splits that nobody had
looked at.
"""

from __future__ import annotations

import pandas as pd

from .. import published
from ..claims import by_unit, mean_ranks
from ..exhibits import Block, Exhibit, Frame, cells, comparable, has, ordered, printed, printed_here
from ..published import BASELINES, CONTRADICTIONS, METHODS, impossible_pairs

WITH_CLUSTERINGS = ["iEC3", "iEC3, soft votes", "iEC3, learned weights"]
VOTES = ["majority vote", "soft vote", "weighted vote"]
OURS = [*VOTES, "Dawid-Skene", "C3E-SL", *WITH_CLUSTERINGS[1:]]
EVERY = [*METHODS, *OURS]


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
    shown = pd.DataFrame(found).loc[[*METHODS, *VOTES]].rename_axis("method")
    caption = f"{len(common)} data sets, AUC by probabilities; ranks among {len(EVERY)} methods."
    return Exhibit("accuracy", "Accuracy of all methods (Table 4)", [Block(caption, shown)], detail)


# ---- which AUC was printed, and can the numbers be? ----------------------------------------------

EXPLORED = 5  # the first splits, on which the rule was found
CHANCE = 0.6  # where no printed AUC of a baseline is above this, nothing tells the scorings apart


def new_splits(rows: Frame) -> Frame:
    """The rows of splits on which the rule was not found; all rows if there are no others."""
    new = rows[rows["seed"] >= EXPLORED]
    return new if has(new, "accuracy") else rows


def by_scoring(part: Frame) -> dict[str, Frame]:
    """The scores by probabilities and by labels, averaged over splits."""
    return {
        word: by_unit(scored_cells(part, name))
        for word, name in (("probabilities", "auc"), ("labels", "auc_hard"))
    }


def distances(part: Frame) -> Frame:
    """How far the printed AUC of each method is from ours by each scoring, away from chance."""
    theirs = printed("accuracy_auc")
    clear = theirs.index[theirs[BASELINES].max(axis=1) > CHANCE]
    return pd.DataFrame(
        {
            word: (ours.loc[here, METHODS] - theirs.loc[here]).abs().mean()
            for word, ours in by_scoring(part).items()
            for here in [[name for name in comparable(ours.index) if name in clear]]
        }
    )


def checks(rows: Frame) -> Exhibit:
    """An audit of the printed tables."""
    pairs = pd.DataFrame(impossible_pairs()).map(len)
    pairs.loc["all"] = pairs.sum()
    texts = pd.DataFrame(CONTRADICTIONS, columns=["the text", "its tables"])
    far = distances(new_splits(rows)).rename_axis("method")
    block = Block("Both are the paper's.", texts.set_index("the text"))
    title = "Where the text and its own tables differ"
    return Exhibit("checks", title, [block], {"distance": far, "impossible pairs": pairs})
