"""Exhibits: tables made from rows."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from . import published
from .claims import by_unit

Frame = Any  # pandas.DataFrame

NOISE = 0.002  # smaller mean differences in AUC are not mentioned


Block = namedtuple("Block", "caption frame decimals", defaults=(3,))  # a table of the page


@dataclass(frozen=True, eq=False)
class Exhibit:
    """One of the paper's tables, or one beyond it."""

    name: str
    title: str
    blocks: list[Block] = field(default_factory=list)  # on the page
    detail: dict[str, Frame] = field(default_factory=dict)  # in the file of all tables

    def markdown(self) -> str:
        """The tables as Markdown."""
        return "\n\n".join(
            f"{block.caption}\n\n{markdown(block.frame, block.decimals)}" for block in self.blocks
        )


# ---- averages of rows ----------------------------------------------------------------------------


def has(rows: Frame, *experiments: str) -> bool:
    """Whether there are rows of all these experiments."""
    return set(experiments) <= set(rows["experiment"].unique())


def select(
    rows: Frame, experiment: str, metric: str | None = None, method: str | None = None
) -> Frame:
    """The rows of an experiment: of one metric, of one method."""
    chosen = rows["experiment"] == experiment
    for column, value in (("metric", metric), ("method", method)):
        if value is not None:
            chosen &= rows[column] == value
    return rows[chosen]


def cells(
    rows: Frame,
    experiment: str,
    metric: str,
    columns: str | list[str] = "method",
    method: str | None = None,
) -> Frame:
    """The values of an experiment, one row per data set and split and one column per method, setting or both."""
    own = select(rows, experiment, metric, method)
    return own.pivot_table(index=["dataset", "seed"], columns=columns, values="value", sort=False)


def means(
    rows: Frame, experiment: str, metric: str, columns: str = "method", method: str | None = None
) -> Frame:
    """The mean over splits of each data set, in the paper's order; the arguments are those of `cells`."""
    return ordered(by_unit(cells(rows, experiment, metric, columns, method)))


def kept(rows: Frame, experiment: str, metric: str, setting: str, first: str) -> Frame:
    """The score in a setting as a share of that in the first one, by data set and split."""
    last, start = (
        cells(rows[rows["setting"] == name], experiment, metric) for name in (setting, first)
    )
    return last / start


def ordered(frame: Frame) -> Frame:
    """A table with its data sets (the index) in the paper's order, others last."""
    order = [*published.DATASETS.values(), *published.STAND_INS]
    known = [name for name in order if name in frame.index]
    return frame.loc[[*known, *(name for name in frame.index if name not in known)]]


def printed(table: str) -> Frame:
    """A printed table (see `published.printed`) with our names of data sets."""
    return published.printed(table).rename(index=published.DATASETS, columns=published.DATASETS)


def printed_here(table: str, rows: Frame) -> Frame:
    """A printed table by our data sets, those that have rows."""
    frame = printed(table)
    frame = frame if "iris" in frame.index else frame.T
    return frame.loc[[name for name in comparable(frame.index) if name in set(rows["dataset"])]]


def rank_correlation(a: Any, b: Any) -> float:
    """Return Spearman's correlation, 0 if one of them is constant."""
    return float(spearmanr(a, b).statistic) if np.ptp(a) > 0 and np.ptp(b) > 0 else 0.0


def beside(ours: Frame, theirs: Frame) -> Frame:
    """Means over the data sets that both tables have, ours and the paper's, one row per column."""
    both = comparable(ours.index)
    columns = [name for name in theirs if name in ours]
    return pd.DataFrame(
        {"ours": ours.loc[both, columns].mean(), "paper": theirs.loc[both, columns].mean()}
    )


def long(exhibits: Iterable[Exhibit]) -> Frame:
    """The details of exhibits as one table with a line per number."""
    tables = {
        (exhibit.name, what): frame.rename_axis("row").rename_axis("column", axis=1).stack()
        for exhibit in exhibits
        for what, frame in exhibit.detail.items()
    }
    return pd.concat(tables, names=["table", "what"]).rename("value").reset_index()


def comparable(names: Iterable[str]) -> list[str]:
    """The data sets whose scores may be compared with the paper's."""
    return [name for name in names if name in published.DATASETS.values()]


def markdown(frame: Frame, decimals: int = 3) -> str:
    """A table with a named index as Markdown; missing values are empty cells."""
    table = frame.reset_index()

    def cell(value: Any) -> str:
        shape = "," if isinstance(value, (int, np.integer)) else ""
        word = f"{value:.{decimals}f}" if isinstance(value, float) else f"{value:{shape}}"
        return "" if pd.isna(value) else word

    lines = [[str(name) for name in table.columns], ["---"] * table.shape[1]]
    lines += [[cell(value) for value in row] for row in table.itertuples(index=False)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
