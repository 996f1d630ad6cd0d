"""Class probabilities: those of soft votes, and those that come from elsewhere (`Prior`).

Of a prior are trusted not the probabilities p_i themselves but softmax(slope ln p_i + offsets):
`algebra.trust` learns these numbers from the votes. Everything else then asks for one of two
things: by how much that changes the odds of the classes (`evidence`), or how many votes it is worth
(`weight`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import log_softmax

from .._checks import InputError, InputRowsError, InputTypeError
from .._text import arg, count, listed
from .._typing import Array
from .encoding import require_width, rows_by_index, rows_by_name
from .labels import kind_of
from .layout import Frozen
from .reading import frame_of, index_of, named_columns

TOLERANCE = 1e-3  # by which a sum of shares may miss 1: three decimals
COARSE = 1e-2  # the same for floats of 16 or 32 bits: exp(-1000.0) has so few digits
LEAST = 1e-3  # a class of probability 0 is unlikely, not impossible
ROUNDING = 1e-6  # by which shares may be below 0
NAN_ROW = "A row of NaN is a missing vote."


def checked_shares(table: Array, argument: str, name: str, nan_row: str = NAN_ROW) -> Array:
    """A copy of a table of shares whose rows sum to 1, or are NaN for a missing vote."""
    where = "" if name == argument else f" in column {name!r}"
    try:
        shares = np.ma.filled(table.astype(np.float64, order="F"), np.nan)
    except (TypeError, ValueError):
        raise InputTypeError(
            argument,
            "must hold numbers, one row of probabilities per object",
            came=f"{table.dtype} values{where}",
        ) from None
    tolerance = COARSE if table.dtype in (np.float16, np.float32) else TOLERANCE
    is_wrong = ~(np.abs(shares.sum(axis=1) - 1) <= tolerance)
    is_wrong |= shares.min(axis=1, initial=0.0) < -ROUNDING
    is_wrong[is_wrong] = ~np.isnan(shares[is_wrong]).all(axis=1)
    if is_wrong.any():
        raise _not_shares(shares, np.flatnonzero(is_wrong), argument, where, nan_row)
    np.maximum(shares, 0.0, out=shares)
    shares /= shares.sum(axis=1, keepdims=True)
    return shares


def _not_shares(
    table: Array, rows: Array, argument: str, where: str, nan_row: str
) -> InputRowsError:
    """The error about rows that are no distributions, with what helps against its first."""

    def tell(row: int, place: str, n: int) -> tuple[str, str]:
        least, total = table[row].min(), table[row].sum()
        negative = f"the negative value {least:.6g} in " if least < 0 else ""
        more = f", and {n - 1:,} more" if n > 1 else ""
        came = f"{negative}a row that sums to {total:.6g} at {place}{where}{more}"
        remedy = "Divide each row by its sum."
        if argument == "probabilities":
            remedy = f"Pass {arg('normalize', True)} to divide each row by its sum."
        if not 0 < total < np.inf:
            remedy = nan_row
        if negative:
            remedy = "Turn logits into probabilities first, as scipy.special.softmax does."
        return came, remedy

    return InputRowsError(
        argument, "must have rows that are non-negative and sum to 1", rows.tolist(), tell
    )


def normalised(table: Any) -> Any:
    """A table whose rows are divided by their sums."""
    shares = np.asarray(table, dtype=np.float64)
    sums = shares.sum(axis=1, keepdims=True)
    return np.divide(shares, sums, out=shares.copy(), where=(sums > 0) & np.isfinite(sums))


def columns_by_class(
    tables: Mapping[str, Any], classes: Any, argument: str = "probabilities"
) -> tuple[dict[str, Any], Any]:
    """The tables, with the columns of dataframes in the order of the classes, and the classes."""
    ordered = dict(tables)
    for name, table in tables.items():
        frame = frame_of(table)
        if frame is None:
            continue
        columns = list(table.columns) if index_of(table) is not None else frame.columns
        classes = columns if classes is None else list(classes)
        place = {str(column): i for i, column in enumerate(columns)}
        if sorted(place) != sorted(map(str, classes)):
            absent = [label for label in classes if str(label) not in place]
            is_part = len(absent) + len(columns) == len(classes)
            raise InputError(
                argument,
                f"must have one column per class, named {listed(classes)}",
                came=f"{listed(columns)} for {name!r}",
                remedy=f"Add columns of 0 for {listed(absent)}." if is_part else "",
            )
        values = named_columns({name: table}, argument, "")[name]
        ordered[name] = values[:, [place[str(label)] for label in classes]]
    return ordered, classes


def both_classes(table: Any, classes: Any) -> Any:
    """The probabilities of the second of two classes as a table of both; other tables as they are.

    Numbers that are all 0 or 1 may be labels: they are probabilities only if no class is called so.
    """
    column, names = np.asarray(table), [0, 1] if classes is None else list(classes)
    if column.ndim != 1 or column.dtype.kind != "f" or len(names) != 2:
        return table
    is_fraction = ((column > 0) & (column < 1)).any()
    is_sure = np.isin(column[~np.isnan(column)], (0, 1)).all()
    is_table = is_fraction or (is_sure and not any(kind_of(label) == "int" for label in names))
    return np.stack([1 - column, column], axis=1) if is_table else table


# ---- priors --------------------------------------------------------------------------------------


def log_shares(proba: Array) -> Array:
    """The logarithms of class probabilities, of at least `LEAST`: nobody rules a class out."""
    return np.asarray(np.log(np.maximum(proba, LEAST)))


@dataclass(frozen=True, eq=False)
class Trust:
    """How far given class probabilities are trusted."""

    slope: float  # of their logarithms: 0 is not at all, 1 is as they are
    offsets: Array  # one number per class, added to the logarithms
    shares: Array  # of the classes, as far as the answer goes
    weight: float  # how many votes they are worth
    likelihood: float = 0.0  # of the votes on an object, with these: the logarithm, averaged

    def log_proba(self, proba: Array) -> Array:
        """The logarithms of what the probabilities mean; of the classes' shares without any."""
        given = ~np.isnan(proba).any(axis=1)
        logs = np.tile(np.log(self.shares), (len(proba), 1))
        logs[given] = log_softmax(self.slope * log_shares(proba[given]) + self.offsets, axis=1)
        return logs


@dataclass(frozen=True, eq=False)
class Prior(Frozen):
    """The class probabilities of each row, NaN where none are given, and how far to trust them."""

    proba: Array
    trust: Trust | None = None

    def take(self, rows: Any) -> Prior:
        """That of some rows."""
        return Prior(self.proba[rows], self.trust)

    @cached_property
    def given(self) -> Array:
        """Which rows have one."""
        return np.asarray(~np.isnan(self.proba).any(axis=1))

    @property
    def evidence(self) -> Array:
        """By how much it raises the log-odds of each class over its share; 0 without one."""
        return self.learned.log_proba(self.proba) - np.log(self.learned.shares)

    @property
    def trusted(self) -> Array:
        """The class probabilities that are left when it is trusted no further than it should be."""
        return np.exp(self.learned.log_proba(self.proba))

    @property
    def weight(self) -> Array:
        """How many votes that of each row is worth."""
        return self.learned.weight * self.given

    @property
    def learned(self) -> Trust:
        """How far to trust it; a method's `solve` learns that before anything asks."""
        assert self.trust is not None
        return self.trust


def read_prior(prior: Any, classes: Array, n_objects: int, object_ids: Array | None) -> Array:
    """The class probabilities of each object, NaN where none are given.

    `prior` is a table with one row per object and one column per class, in the order of the classes
    or, in a dataframe, called like them; or a dict of object -> row for some of the objects, or a
    pandas table whose index has their names.
    """
    if isinstance(prior, Mapping):
        rows: Array | None = rows_by_name(list(prior), n_objects, object_ids, "prior")
        prior = list(prior.values())
    else:
        rows = rows_by_index(prior, n_objects, object_ids, "prior")
    ordered, _ = columns_by_class({"prior": prior}, classes, "prior")
    table = named_columns(ordered, "prior", "")["prior"]
    require_width("prior", table, classes, "prior")
    nan_row = "A row of NaN is an object without a prior."
    shares = checked_shares(table, "prior", "prior", nan_row)
    if rows is not None:
        return np.where(rows[:, None] >= 0, shares[rows], np.nan)
    if len(shares) != n_objects:
        raise InputError(
            "prior",
            f"must have one row for each of the {n_objects} objects",
            came=count(len(shares), "row"),
        )
    return np.asarray(shares)
