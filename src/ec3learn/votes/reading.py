"""What users pass becomes columns: arrays, lists, dicts and dataframes are read here.

A `Column` has one integer per object, and the labels that these integers stand for. Labels come
back exactly as they were given.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from typing import Any

import numpy as np

from .._checks import InputError, InputTypeError
from .._text import arg, count
from .._typing import Array
from .labels import KINDS, Label, Missing, is_missing, kind_of, object_array, plain
from .layout import smallest_uint

TABLE = "an array, a list, a dict of name -> column or a dataframe held in memory"
COLUMN = "an array, a list or a column of a dataframe held in memory"
NAMED = ("objects", "voters", "object_ids")  # arguments that hold names instead of labels
EXACT = 1 << 53  # floats from here on may stand for several integers
FIRST = 1 << 10  # rows in which all of a few labels occur
ROWS = 1 << 13  # of a table, copied column by column at a time
DENSE = 1 << 16  # integers within this range (or 4 per object) are codes without being sorted


@dataclass(frozen=True, eq=False)
class Column:
    """One label per object: `labels[code]`, where a code beyond the labels is a missing one."""

    name: str
    codes: Array
    labels: list[Label] | Array  # sorted, each once; some may not occur
    n_codes: int  # one more than there are labels if some are missing
    missing: Missing = frozenset()  # labels that are no votes

    @cached_property
    def seen(self) -> Array:
        """The codes of the labels that occur and are votes."""
        occurs = np.zeros(self.n_codes, dtype=bool)
        for rows in (slice(FIRST), slice(FIRST, None)):  # few labels occur among the first rows
            if not occurs.all():
                occurs[self.codes[rows]] = True
        seen = np.flatnonzero(occurs[: len(self.labels)])
        if isinstance(self.labels, np.ndarray):
            absent = [label for kind, label in self.missing if kind == "int"]
            return seen[(self.labels[seen, None] != absent).all(axis=1)]
        if not self.missing:
            return seen
        keys = [(kind_of(self.labels[code]), self.labels[code]) for code in seen]
        return seen[np.array([key not in self.missing for key in keys], dtype=bool)]

    def take(self, rows: Array) -> Column:
        """Some of the rows."""
        return replace(self, codes=self.codes[rows])


# ---- tables --------------------------------------------------------------------------------------


def named_columns(data: Any, argument: str, prefix: str, first: int = 0) -> dict[str, Array]:
    """Split a 2-D array-like, a dict or a dataframe into arrays by name; a dict's may be 2-D.

    The columns of an array are called `prefix_0`, `prefix_1` and so on, counted from `first`.
    None has no columns.
    """
    if data is None:
        return {}
    frame = None if isinstance(data, Mapping) else frame_of(data)
    if frame is not None:
        data = {name: frame[name].to_native() for name in frame.columns}
    if isinstance(data, Mapping):
        columns = {
            str(name): as_array(values, f"{argument}[{name!r}]", COLUMN)
            for name, values in data.items()
        }
    else:
        table = as_array(data, argument, TABLE)
        if table.ndim != 2:
            raise InputError(
                argument,
                "must be 2-dimensional (objects x models), a dict of name -> column or a dataframe",
                came=f"shape {table.shape}",
                remedy="Pass {'name': column} for a single model.",
            )
        by_column = table
        if type(table) is np.ndarray and not table.flags.f_contiguous:
            by_column = np.empty(table.shape, dtype=table.dtype, order="F")
            for begin in range(0, len(table), ROWS):  # they stay in the cache
                by_column[begin : begin + ROWS] = table[begin : begin + ROWS]
        columns = {f"{prefix}_{first + j}": by_column[:, j] for j in range(table.shape[1])}
    if not columns or any(column.shape[:1] == (0,) for column in columns.values()):
        raise InputError(
            argument,
            "must hold at least one object and one model",
            came="none",
            remedy="Leave it out if there is nothing to pass." * (argument == "clusterings"),
        )
    return columns


def require_same_objects(columns: Mapping[str, Array], argument: str) -> None:
    """Refuse columns of different lengths, and what is neither a column nor a table."""
    first, length = next((name, len(column)) for name, column in columns.items())
    for name, column in columns.items():
        if not 1 <= column.ndim <= 2 or len(column) != length:
            came = f"{count(length, 'row')} for {first!r} and {len(column):,} for {name!r}"
            raise InputError(
                argument,
                "must have columns that describe the same objects",
                came=came if len(column) != length else f"shape {column.shape} for {name!r}",
            )


def as_array(values: Any, where: str, allowed: str = COLUMN) -> Array:
    """An array-like as an array in which nothing was cast."""
    if isinstance(values, np.ndarray):
        return values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))
    if isinstance(values, (list, tuple, range)):
        return np.array(values, dtype=object)
    import narwhals.stable.v2 as nw  # costs a tenth of our import time; most calls pass arrays

    native = seen_by_narwhals(values, allow_series=True, eager_only=True)
    if isinstance(native, nw.DataFrame):
        return native.to_numpy()
    if not isinstance(native, nw.Series):
        if hasattr(values, "__array__"):
            return np.asarray(values)
        raise InputTypeError(where, f"must be {allowed}", came=type(values).__name__)
    is_wide = native.dtype in (nw.Int128, nw.UInt128)
    whole = native.dtype == nw.Boolean or (native.dtype.is_integer() and not is_wide)
    if native.dtype.is_float() or (whole and not native.is_null().any()):
        return native.to_numpy()
    return object_array(native.to_list())


# ---- columns -------------------------------------------------------------------------------------


def single_column(values: Any, argument: str, allowed: str = COLUMN, **how: Any) -> Column:
    """A column that is an argument by itself, with its labels numbered, as in `encode`."""
    column = as_array(values, argument, allowed)
    if column.ndim != 1 or not len(column):
        raise InputError(
            argument,
            "must have one dimension, one value per row, and at least one row",
            came=f"shape {column.shape}",
        )
    return encode(argument, column, argument, **how)


def encode(
    name: str,
    values: Array,
    argument: str,
    mixed: bool = False,
    missing: Missing = frozenset(),
) -> Column:
    """Number the labels of a column; `mixed` ones may be of several kinds."""
    labels: list[Label] | Array
    if np.ma.isMaskedArray(values):
        pairs = zip(np.ma.getmaskarray(values), np.ma.getdata(values), strict=True)
        values = np.array([None if is_gap else value for is_gap, value in pairs], dtype=object)
    if values.dtype.kind == "b":
        return Column(name, values.view(np.uint8), [False, True], 2, missing)
    if values.dtype.kind in "iu":
        codes, labels = _numbered_integers(values)
        return Column(name, codes, labels, len(labels), missing)
    if values.dtype.kind == "f":
        is_gap = np.isnan(values)
        present = values[~is_gap].astype(np.float64)
        if (np.abs(present) < EXACT).all() and (present == np.floor(present)).all():
            numbers, labels = _numbered_integers(present.astype(np.int64))
            codes = np.full(len(values), len(labels), dtype=smallest_uint(len(labels) + 1))
            codes[~is_gap] = numbers
            return Column(name, codes, labels, len(labels) + bool(is_gap.any()), missing)
    listed = list(values) if values.dtype.kind in "mM" else values.tolist()
    codes, labels = _numbered_objects(listed, name, argument, mixed)
    return Column(name, codes, labels, len(labels) + bool((codes == len(labels)).any()), missing)


def _numbered_integers(values: Array) -> tuple[Array, Array]:
    """The number of each value, and what each number stands for; small ones are not copied."""
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, -1)
    n = high - low + 1
    if n > max(DENSE, 4 * len(values)):
        labels, codes = np.unique(values, return_inverse=True)
        return codes.astype(smallest_uint(len(labels))), labels
    # Sums that leave the type's range come back into it: codes are unsigned, labels are not.
    first = values.dtype.type(low)
    codes = (values - first if low else values).view(f"u{values.dtype.itemsize}")
    return codes.astype(smallest_uint(n), copy=False), np.arange(n).astype(values.dtype) + first


def _numbered_objects(
    values: list[Any], name: str, argument: str, mixed: bool
) -> tuple[Array, list[Label]]:
    """The number of each value, behind all of them where it is missing, and the labels, sorted."""
    keys: list[Any] = values
    if set(map(type, values)) <= {str, type(None)}:
        numbered = labels = sorted(set(values) - {None})
    else:
        keys = [_key(value) for value in values]
        _require_labels(keys, name, argument, mixed)
        numbered = sorted(set(keys) - {None})
        labels = [label for _, label in numbered]
    place = {key: code for code, key in enumerate(numbered)} | {None: len(numbered)}
    dtype = smallest_uint(len(place))
    return np.fromiter(map(place.__getitem__, keys), dtype=dtype, count=len(keys)), labels


def _key(value: Any) -> tuple[str, Any] | None:
    """The kind of a label and the label, for True and 1 are two; None where it is missing."""
    if is_missing(value):
        return None
    value = str.__str__(value) if isinstance(value, str) else plain(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < EXACT:
        value = int(value)
    return (kind_of(value), value)


def _require_labels(keys: list[Any], name: str, argument: str, mixed: bool) -> None:
    """Refuse values that are no labels, and labels of several kinds."""
    where = "" if name == argument else f" in column {name!r}"
    first = next((kind for kind, _ in filter(None, keys)), None)
    for row, (kind, label) in ((row, key) for row, key in enumerate(keys) if key is not None):
        if kind not in KINDS:
            raise InputTypeError(
                argument,
                f"must hold {'names' if argument in NAMED else 'labels'} (ints, bools or strings)",
                came=f"{label!r} of type {kind} at row {row}{where}",
                remedy=_remedy(label, argument),
            )
        if kind != first and not mixed:
            raise InputTypeError(
                argument,
                "must hold labels of one kind: all ints, all bools or all strings",
                came=f"{first} and {kind} labels, the first {kind} at row {row}: {label!r}{where}",
            )


def _remedy(label: Any, argument: str) -> str:
    """What to do about a value that is no label."""
    if isinstance(label, (date, np.datetime64)):
        return "Pass dates as strings."
    if isinstance(label, list) and argument == "classifiers":
        return f"For several labels per answer pass {arg('separator', ';')} to ec3learn.combine."
    if not isinstance(label, float):
        return ""
    if abs(label) >= EXACT:
        return "Floats of this size may have lost digits. Pass integers or strings."
    scale = f"For measurements pass their lowest and highest value as {arg('scale')}."
    return {
        "classifiers": f"For probabilities use {arg('Votes.from_probabilities')}. {scale}",
        "labels": scale,
        "probabilities": "Pass probabilities as a table, objects x classes.",
        "clusterings": "Pass shares as a table, objects x clusters.",
    }.get(argument, "")


# ---- dataframes ----------------------------------------------------------------------------------


def seen_by_narwhals(data: Any, argument: str = "table", **options: bool) -> Any:
    """A table or column as narwhals sees it; columns of one name are refused."""
    import narwhals.stable.v2 as nw
    from narwhals.exceptions import DuplicateError

    try:
        return nw.from_native(data, pass_through=True, **options)
    except DuplicateError as error:
        raise InputError(
            argument,
            "must have columns of different names",
            came=str(error).splitlines()[-1].lstrip("- "),
            remedy="Rename them.",
        ) from None


def frame_of(data: Any) -> Any:
    """A dataframe held in memory as narwhals sees it, and None for anything else."""
    if isinstance(data, (np.ndarray, list, tuple)):
        return None
    import narwhals.stable.v2 as nw

    frame = seen_by_narwhals(data, eager_only=True)
    return frame if isinstance(frame, nw.DataFrame) else None


def index_of(table: Any) -> Any:
    """The index of a pandas column or table; None for anything else."""
    pandas = sys.modules.get("pandas")
    return table.index if pandas and isinstance(table, (pandas.Series, pandas.DataFrame)) else None


def index_names(index: Any, object_ids: Array | None = None) -> list[Any] | None:
    """What an index calls its rows; None if it numbers them from 0, unless objects are so called.

    Dates and pairs become text.
    """
    if index is None:
        return None
    numbers = range(len(index))
    if index.equals(sys.modules["pandas"].RangeIndex(len(index))) and (
        object_ids is None or not set(numbers) <= set(object_ids.tolist())
    ):
        return None
    names = [plain(name) for name in index.tolist()]
    return names if all(kind_of(name) in KINDS for name in names) else [str(name) for name in names]
