"""Exhibits: tables made from rows, and what they say about claims."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from . import published as paper

Frame = Any  # pandas.DataFrame

NOISE = 0.002  # a mean difference in AUC below this is not worth a word


@dataclass(frozen=True)
class Finding:
    """A claim of the paper or a question of ours, whether it held here (None: it can't be said), and what was measured."""

    claim: str
    held: bool | None
    measured: str
    ours: bool = False

    def __str__(self) -> str:
        return f"**{self.verdict.capitalize()}**: {self.claim} Here: {self.measured}"

    @property
    def verdict(self) -> str:
        """Whether it held, in words; a question is answered yes or no."""
        words = ("yes", "no") if self.ours else ("held", "did not hold")
        return "can't be told" if self.held is None else words[0 if self.held else 1]


@dataclass(frozen=True, eq=False)
class Block:
    """A table and what it shows."""

    caption: str
    frame: Frame
    decimals: int = 3


@dataclass(frozen=True, eq=False)
class Exhibit:
    """One of the paper's tables, or one beyond it."""

    name: str
    title: str
    blocks: list[Block] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def markdown(self) -> str:
        """Return the tables and the findings as Markdown.

        Returns
        -------
        str
        """
        parts = [part for block in self.blocks for part in (block.caption, markdown(block.frame, block.decimals))]
        return "\n\n".join([*parts, *("- " + str(finding) for finding in self.findings)]).replace(
            "\n\n- ", "\n- ", len(self.findings)
        )

    def write(self, folder: Path) -> list[Path]:
        """Write the tables as CSV files.

        Parameters
        ----------
        folder : Path
            Where they go.

        Returns
        -------
        list of Path
            The files.
        """
        folder.mkdir(parents=True, exist_ok=True)
        paths = [folder / (f"{self.name}.csv" if k == 0 else f"{self.name}_{k + 1}.csv") for k in range(len(self.blocks))]
        for path, block in zip(paths, self.blocks, strict=True):
            block.frame.to_csv(path, float_format="%.6g", lineterminator="\n")
        return paths


# ---- rows, meaned ----------------------------------------------------------------------------------------------------


def means(
    rows: Frame, experiment: str, metric: str, columns: str = "method", method: str | None = None, how: str = "mean"
) -> Frame:
    """Return the mean over repeats, data sets x methods or settings, in the paper's order of data sets.

    Parameters
    ----------
    rows : DataFrame
        As `rows.read` returns them.
    experiment, metric : str
        Which of them.
    columns : "method" or "setting"
        What the columns are.
    method : str, optional
        Of one method alone.
    how : "mean" or "std"
        The spread in place of the mean.

    Returns
    -------
    DataFrame
    """
    own = rows[(rows["experiment"] == experiment) & (rows["metric"] == metric)]
    if method is not None:
        own = own[own["method"] == method]
    return ordered(own.pivot_table(index="dataset", columns=columns, values="value", aggfunc=how, sort=False, dropna=False))


def ordered(frame: Frame) -> Frame:
    """Return the data sets in the paper's order, others behind.

    Parameters
    ----------
    frame : DataFrame
        With data sets as index.

    Returns
    -------
    DataFrame
    """
    order = [*paper.DATASETS.values(), *paper.STAND_INS]
    known = [name for name in order if name in frame.index]
    return frame.loc[[*known, *(name for name in frame.index if name not in known)]]


def printed(table: str, index: str = "dataset") -> Frame:
    """Return a printed table under our names of data sets.

    Parameters
    ----------
    table : str
        As in `paper.printed`.
    index : str
        Which column names the rows.

    Returns
    -------
    DataFrame
    """
    import pandas as pd

    frame = pd.DataFrame(paper.printed(table)).set_index(index)
    return frame.rename(index=paper.DATASETS, columns=paper.DATASETS)


def some_of(n: int, total: int) -> str:
    """Return so many of so many, in words."""
    return f"{n} of {total}"


def numbers(series: Any) -> str:
    """Return names and numbers in words."""
    return ", ".join(f"{name} {value:.3f}" for name, value in series.items())


def rank_correlation(a: Any, b: Any) -> float:
    """Return Spearman's correlation, 0 where one of them is constant."""
    return float(spearmanr(a, b).statistic) if np.ptp(a) > 0 and np.ptp(b) > 0 else 0.0


def comparable(names: Iterable[str]) -> list[str]:
    """Return the data sets whose scores may stand beside the paper's."""
    return [name for name in names if name in paper.DATASETS.values()]


def markdown(frame: Frame, decimals: int = 3) -> str:
    """Return a table as Markdown, numbers with so many decimals, nothing where nothing is known.

    Parameters
    ----------
    frame : DataFrame
        With a named index.
    decimals : int
        Of numbers.

    Returns
    -------
    str
    """
    table = frame.reset_index()

    def cell(value: Any) -> str:
        if isinstance(value, float) or value is None or str(value) == "<NA>":
            return "" if value is None or str(value) == "<NA>" or np.isnan(value) else f"{value:.{decimals}f}"
        return f"{value:,}" if isinstance(value, (int, np.integer)) else str(value)

    lines = [[str(name) for name in table.columns], ["---"] * table.shape[1]]
    lines += [[cell(value) for value in row] for row in table.itertuples(index=False)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
