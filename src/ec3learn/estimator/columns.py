"""A raw table as columns of numbers, with their scales, and columns of text, with the numbers they become.

A column of text becomes one 0/1 column per level, or the share of each class among the rows of the
level.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy.special import ndtr, ndtri

from .._checks import InputError, InputTypeError
from .._typing import Array
from ..votes.labels import is_missing

NUMBERS = (int, float, bool, np.number, np.bool_, Decimal)
MISSING = ("NoneType", "NAType", "NaTType")  # types all of whose values are missing
MICROSECONDS_PER_DAY = 86_400e6
KNOTS = 256  # values per column whose normal scores are kept; scores between them are interpolated
FOLDS = 5  # a row gets the shares of its level from the other folds
PRIOR_ROWS = 10.0  # weight of the overall shares of the classes in those of a level


@dataclass(frozen=True)
class Columns:
    """The columns of numbers as one array, and each column of text as a list."""

    numbers: Array
    text: list[list[Any]]


@dataclass(frozen=True)
class Column:
    """One column of the table: an array of floats, or a list of any values."""

    values: Array | list[Any]
    nominal: bool = False  # whether its type says that it holds categories

    def is_text(self, name: Any) -> bool:
        """Return whether the column holds text or categories; a column of missing values only does not."""
        return self.nominal or bool(self._other_types(name))

    def to_numbers(self, name: Any) -> Array:
        """Return the values as floats."""
        values = self.values
        if not isinstance(values, np.ndarray):
            if self._other_types(name):
                wrong = next(
                    value
                    for value in values
                    if not isinstance(value, NUMBERS) and not is_missing(value)
                )
                raise InputError("X", f"column {name!r} must hold numbers as in fit", got=wrong)
            values = np.array([np.nan if is_missing(value) else float(value) for value in values])
        if np.isinf(values).any():
            raise InputError(
                "X",
                f"column {name!r} must hold finite numbers or missing values",
                came="an infinite one",
            )
        return values

    def _other_types(self, name: Any) -> list[type]:
        """Return the types of the values that are neither numbers nor missing."""
        if isinstance(self.values, np.ndarray):
            return []
        types = [
            kind
            for kind in set(map(type, self.values))
            if not issubclass(kind, NUMBERS) and kind.__name__ not in MISSING
        ]
        for kind in types:
            if kind.__hash__ is None:
                must = f"column {name!r} must hold numbers, text, dates or missing values"
                raise InputTypeError("X", must, came=f"a {kind.__name__}")
        return types


def read_series(series: nw.Series[Any]) -> Column:
    """Read one column of a dataframe: dates and durations become days, true and false become 1 and 0."""
    dtype = series.dtype
    if dtype in (nw.Date, nw.Datetime):
        return Column(_to_floats(series.dt.timestamp("us")) / MICROSECONDS_PER_DAY)
    if dtype == nw.Duration:
        return Column(_to_floats(series.dt.total_microseconds()) / MICROSECONDS_PER_DAY)
    if dtype.is_numeric() or dtype == nw.Boolean:
        return Column(_to_floats(series))
    return Column(series.to_list(), nominal=dtype in (nw.Categorical, nw.Enum))


def _to_floats(series: nw.Series[Any]) -> Array:
    return series.cast(nw.Float64).to_numpy()


# ---- scales of columns of numbers, some of which may be missing ----------------------------------


def means_and_deviations(numbers: Array) -> tuple[Array, Array]:
    """Return mean and standard deviation of each column; the latter is 1 if the column is constant or has no number."""
    missing = np.isnan(numbers)
    n_known = np.maximum((~missing).sum(axis=0), 1)
    known = np.where(missing, 0, numbers).astype(np.float64, copy=False)
    mean = known.sum(axis=0) / n_known
    deviation = np.sqrt((np.where(missing, 0, known - mean) ** 2).sum(axis=0) / n_known)
    constant = deviation <= 10 * np.finfo(numbers.dtype).eps * np.abs(known).max(
        axis=0
    )  # up to rounding errors
    return mean.astype(numbers.dtype), np.where(constant, 1, deviation).astype(numbers.dtype)


def normal_scores(column: Array) -> tuple[Array, Array]:
    """Return values of the column, and the standard normal quantile at the share of rows below each; ties count half."""
    ordered = np.sort(column[~np.isnan(column)])
    if not len(ordered):
        return np.zeros(1), np.zeros(1)
    knots = np.unique(ordered)
    if len(knots) > KNOTS:
        furthest = ndtri(0.5 / len(ordered))
        ranks = (
            ndtr(np.linspace(furthest, -furthest, KNOTS)) * len(ordered) - 0.5
        )  # equidistant in the score
        knots = np.unique(ordered[ranks.round().astype(np.intp)])
    below, up_to = np.searchsorted(ordered, knots), np.searchsorted(ordered, knots, side="right")
    return knots, ndtri((below + up_to) / 2 / len(ordered))


# ---- columns of text -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Indicators:
    """One 0/1 column per level. Other levels share the column `other`, or are 0 in all columns if that is -1."""

    codes: dict[Any, int]  # the column of each level; None is the level of missing values
    labels: list[str]  # of the columns, after the name of the column of text
    other: int

    @classmethod
    def of(cls, values: list[Any], most: int) -> Indicators:
        """Give the most frequent levels columns of their own."""
        counts = Counter(values)
        levels = [level for level, _ in counts.most_common() if not is_missing(level)]
        codes: dict[Any, int] = {level: code for code, level in enumerate(levels[:most])}
        labels = [f"={level}" for level in codes]
        other = -1
        if len(levels) > most:
            other = len(labels)
            labels.append("=other")
        codes[None] = -1
        if any(map(is_missing, counts)):
            codes[None] = len(labels)
            labels.append(" missing")
        return cls(codes, labels, other)

    def write(
        self, values: list[Any], out: Array, fold: Array | None, classes: Array | None
    ) -> None:
        """Write the columns into `out`, which is 0."""
        codes = _encode(values, self.codes, self.other)
        known = np.flatnonzero(codes >= 0)
        out[known, codes[known]] = 1


@dataclass(frozen=True)
class Shares:
    """One column per class: its share among the rows of the level. Of two classes, only the second has a column."""

    codes: dict[Any, int]  # the number of each level; None is the level of missing values
    counts: Array  # levels x classes; the last row stands for new levels
    labels: list[str]
    shown: slice  # the classes that have a column

    @classmethod
    def of(cls, values: list[Any], classes: Array, codes: Array) -> Shares:
        """Count the classes of each level."""
        levels = {None if is_missing(level) else level: None for level in dict.fromkeys(values)}
        numbers = {level: number for number, level in enumerate(levels)}
        counts = _count(
            _encode(values, numbers, len(numbers)), codes, (len(numbers) + 1, len(classes))
        )
        shown = slice(1, None) if len(classes) == 2 else slice(None)
        return cls(numbers, counts, [f": share of {label}" for label in classes[shown]], shown)

    def write(
        self, values: list[Any], out: Array, fold: Array | None, classes: Array | None
    ) -> None:
        """Write the columns into `out`; rows whose fold and class are given do not count for their own shares."""
        levels = _encode(values, self.codes, len(self.codes))
        if fold is None or classes is None:
            out[:] = _smooth(self.counts)[levels, self.shown]
            return
        for number in range(FOLDS):
            rows = np.flatnonzero(fold == number)
            others = self.counts - _count(levels[rows], classes[rows], self.counts.shape)
            out[rows] = _smooth(others)[levels[rows], self.shown]


def _encode(values: list[Any], codes: dict[Any, int], other: int) -> Array:
    """Return the code of each value, `other` for those without one."""
    code_of = {
        value: codes.get(None if is_missing(value) else value, other) for value in set(values)
    }
    return np.fromiter(map(code_of.__getitem__, values), dtype=np.intp, count=len(values))


def _count(levels: Array, classes: Array, shape: tuple[int, ...]) -> Array:
    return (
        np.bincount(levels * shape[1] + classes, minlength=shape[0] * shape[1])
        .reshape(shape)
        .astype(float)
    )


def _smooth(counts: Array) -> Array:
    """Return (counts + PRIOR_ROWS overall shares) / (rows + PRIOR_ROWS) of each level."""
    overall = counts.sum(axis=0)
    overall = overall / overall.sum() if overall.any() else np.full(len(overall), 1 / len(overall))
    return (counts + PRIOR_ROWS * overall) / (counts.sum(axis=1, keepdims=True) + PRIOR_ROWS)
