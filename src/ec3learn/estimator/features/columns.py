"""A raw table as columns of numbers and columns of text, and the scales of the former."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy.special import ndtr, ndtri

from ..._checks import InputError, InputTypeError
from ..._typing import Array
from ...votes.labels import is_missing

NUMBERS = (int, float, bool, np.number, np.bool_, Decimal)
MISSING = ("NoneType", "NAType", "NaTType")  # types all of whose values are missing
MICROSECONDS_PER_DAY = 86_400e6
KNOTS = 256  # values per column whose normal scores are kept; scores between them are interpolated


@dataclass(frozen=True)
class Columns:
    """The columns of numbers as one array, and each column of text as a list."""

    numbers: Array
    text: list[list[Any]]

    @classmethod
    def of(
        cls, columns: Sequence[Column], names: Sequence[Any], which_numbers: Sequence[int], which_text: Sequence[int]
    ) -> Columns:
        """Separate columns of numbers from columns of text, given which is which."""
        numbers = np.empty((len(columns[0].values), len(which_numbers)))
        for j, i in enumerate(which_numbers):
            numbers[:, j] = columns[i].to_numbers(names[i])
        return cls(numbers, [list(columns[i].values) for i in which_text])


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
                wrong = next(value for value in values if not isinstance(value, NUMBERS) and not is_missing(value))
                raise InputError("X", f"column {name!r} must hold numbers as in fit", got=wrong)
            values = np.array([np.nan if is_missing(value) else float(value) for value in values])
        if np.isinf(values).any():
            raise InputError("X", f"column {name!r} must hold finite numbers or missing values", came="an infinite one")
        return values

    def _other_types(self, name: Any) -> list[type]:
        """Return the types of the values that are neither numbers nor missing."""
        if isinstance(self.values, np.ndarray):
            return []
        types = [kind for kind in set(map(type, self.values)) if not issubclass(kind, NUMBERS) and kind.__name__ not in MISSING]
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


# ---- scales of columns of numbers, some of which may be missing -------------------------------------------------------


def means_and_deviations(numbers: Array) -> tuple[Array, Array]:
    """Return mean and standard deviation of each column; the latter is 1 if the column is constant or has no number."""
    missing = np.isnan(numbers)
    n_known = np.maximum((~missing).sum(axis=0), 1)
    known = np.where(missing, 0, numbers).astype(np.float64, copy=False)
    mean = known.sum(axis=0) / n_known
    deviation = np.sqrt((np.where(missing, 0, known - mean) ** 2).sum(axis=0) / n_known)
    constant = deviation <= 10 * np.finfo(numbers.dtype).eps * np.abs(known).max(axis=0)  # up to rounding errors
    return mean.astype(numbers.dtype), np.where(constant, 1, deviation).astype(numbers.dtype)


def normal_scores(column: Array) -> tuple[Array, Array]:
    """Return values of the column, and the standard normal quantile at the share of rows below each; ties count half."""
    ordered = np.sort(column[~np.isnan(column)])
    if not len(ordered):
        return np.zeros(1), np.zeros(1)
    knots = np.unique(ordered)
    if len(knots) > KNOTS:
        furthest = ndtri(0.5 / len(ordered))
        ranks = ndtr(np.linspace(furthest, -furthest, KNOTS)) * len(ordered) - 0.5  # equidistant in the score
        knots = np.unique(ordered[ranks.round().astype(np.intp)])
    below, up_to = np.searchsorted(ordered, knots), np.searchsorted(ordered, knots, side="right")
    return knots, ndtri((below + up_to) / 2 / len(ordered))
