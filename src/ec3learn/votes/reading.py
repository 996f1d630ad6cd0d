"""What users pass becomes columns: arrays, lists, dicts and dataframes are read here.

A `Column` has one integer per object, and the labels that these integers stand for. Labels come
back exactly as they were given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from typing import Any

import numpy as np

from .._checks import InputError, InputTypeError
from .._text import arg, count
from .._typing import Array
from .labels import KINDS, Label, is_missing, kind_of, plain

TABLE = "an array, a list, a dict of name -> column or a dataframe held in memory"
COLUMN = "an array, a list or a column of a dataframe held in memory"
NAMED = ("objects", "voters", "object_ids")  # arguments that hold names instead of labels
EXACT = 1 << 53  # floats from here on may stand for several integers
DENSE = 1 << 16  # integers within this range (or 4 per object) are codes without being sorted


@dataclass(frozen=True, eq=False)
class Column:
    """One label per object: `labels[code]`, where a code beyond the labels is a missing one."""

    name: str
    codes: Array
    labels: list[Label] | Array  # sorted, each once; some may not occur
    n_codes: int  # one more than there are labels if some are missing

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def seen(self) -> Array:
        """The codes of the labels that occur."""
        return np.flatnonzero(np.bincount(self.codes, minlength=self.n_codes)[: len(self.labels)])

    def take(self, rows: Array) -> Column:
        """Some of the rows."""
        return replace(self, codes=self.codes[rows])


def smallest_uint(n_codes: int) -> np.dtype[Any]:
    """The smallest unsigned type that holds the codes 0 .. n_codes - 1."""
    return np.min_scalar_type(max(n_codes - 1, 0))


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
            str(name): _as_array(values, f"{argument}[{name!r}]", COLUMN)
            for name, values in data.items()
        }
    else:
        table = _as_array(data, argument, TABLE)
        if table.ndim != 2:
            raise InputError(
                argument,
                "must be 2-dimensional (objects x models), a dict of name -> column or a dataframe",
                came=f"shape {table.shape}",
                remedy="Pass {'name': column} for a single model.",
            )
        by_column = _column_major(table)
        columns = {f"{prefix}_{first + j}": by_column[:, j] for j in range(table.shape[1])}
    if not columns or any(column.shape[:1] == (0,) for column in columns.values()):
        hint = "Leave it out if there is nothing to pass." if argument == "clusterings" else ""
        raise InputError(
            argument, "must hold at least one object and one model", came="none", remedy=hint
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


def _column_major(table: Array) -> Array:
    """The table with the entries of a column side by side, copied some rows at a time."""
    if type(table) is not np.ndarray or table.flags.f_contiguous:
        return table
    out = np.empty(table.shape, dtype=table.dtype, order="F")
    for begin in range(0, len(table), 8192):
        out[begin : begin + 8192] = table[begin : begin + 8192]
    return out


def _as_array(values: Any, where: str, allowed: str) -> Array:
    """An array-like as an array in which nothing was cast."""
    if isinstance(values, np.ndarray):
        return values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))
    if isinstance(values, (list, tuple, range)):
        array = np.array(values, dtype=object)
        nested = [row for row in values if isinstance(row, (list, tuple, np.ndarray))]
        if nested and array.ndim == 1:
            raise InputError(
                where,
                "must have rows of equal length",
                came=f"rows of {sorted({len(row) for row in nested})} values",
            )
        return array
    import narwhals.stable.v2 as nw  # costs a tenth of our import time; most calls pass arrays

    native = seen_by_narwhals(values, allow_series=True, eager_only=True)
    if isinstance(native, nw.DataFrame):
        return native.to_numpy()
    if not isinstance(native, nw.Series):
        if hasattr(values, "__array__"):
            return np.asarray(values)
        raise InputTypeError(where, f"must be {allowed}", came=type(values).__name__)
    whole = native.dtype.is_integer() or native.dtype == nw.Boolean
    whole = whole and native.dtype not in (nw.Int128, nw.UInt128)
    if native.dtype.is_float() or (whole and not native.is_null().any()):
        return native.to_numpy()
    objects = np.empty(len(native), dtype=object)
    objects[:] = native.to_list()
    return objects


# ---- columns -------------------------------------------------------------------------------------


def single_column(values: Any, argument: str, allowed: str = COLUMN, mixed: bool = False) -> Column:
    """A column that is an argument by itself, with its labels numbered."""
    column = _as_array(values, argument, allowed)
    if column.ndim != 1 or not len(column):
        raise InputError(
            argument,
            "must have one dimension, one value per row, and at least one row",
            came=f"shape {column.shape}",
        )
    return encode(argument, column, argument, mixed)


def encode(name: str, values: Array, argument: str, mixed: bool = False) -> Column:
    """Number the labels of a column; `mixed` ones may be of several kinds."""
    is_gap = np.ma.getmaskarray(values) if np.ma.isMaskedArray(values) else None
    values = np.ma.getdata(values)
    if values.dtype.kind == "f":
        is_gap = np.isnan(values) if is_gap is None else is_gap | np.isnan(values)
    present = values if is_gap is None else values[~is_gap]
    if present.dtype.kind == "f" and (present == np.floor(present)).all():
        exact = np.abs(present.astype(np.float64)) < EXACT
        present = present.astype(np.int64) if exact.all() else present
    labels: list[Label] | Array
    if present.dtype.kind in "iu":
        codes, labels = _numbered_integers(present)
    elif present.dtype.kind == "b":
        codes, labels = present.view(np.uint8), [False, True]
    else:
        listed = list(values) if values.dtype.kind in "mM" else values.astype(object).tolist()
        if is_gap is not None:
            listed = [None if gap else value for value, gap in zip(listed, is_gap, strict=True)]
        codes, labels = _numbered_objects(listed, name, argument, mixed)
        return Column(name, codes, labels, len(labels) + bool((codes == len(labels)).any()))
    if is_gap is None or not is_gap.any():
        return Column(name, codes, labels, len(labels))
    all_codes = np.full(len(values), len(labels), dtype=smallest_uint(len(labels) + 1))
    all_codes[~is_gap] = codes
    return Column(name, all_codes, labels, len(labels) + 1)


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
    if isinstance(value, str):
        return ("str", str.__str__(value))
    if is_missing(value):
        return None
    value = plain(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < EXACT:
        return ("int", int(value))
    return (kind_of(value), value)


def _require_labels(keys: list[Any], name: str, argument: str, mixed: bool) -> None:
    """Refuse values that are no labels, and labels of several kinds."""
    where = "" if name == argument else f" in column {name!r}"
    first = None
    for row, key in enumerate(keys):
        if key is None:
            continue
        kind, label = key
        if kind not in KINDS:
            raise InputTypeError(
                argument,
                f"must hold {'names' if argument in NAMED else 'labels'} (ints, bools or strings)",
                came=f"{label!r} of type {kind} at row {row}{where}",
                remedy=_remedy(label, argument),
            )
        first = first or kind
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
    if not isinstance(label, float):
        return ""
    if abs(label) >= EXACT:
        return "Floats of this size may have lost digits. Pass integers or strings."
    probabilities = f"For probabilities use {arg('Votes.from_probabilities')}"
    return {
        "classifiers": f"{probabilities}; round measurements, and pass {arg('scale')} with them.",
        "labels": f"Round measurements to whole numbers, and pass {arg('scale')} with them.",
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


def is_pandas(data: Any) -> bool:
    """Whether a dataframe is one of pandas, whose column names may be of any type."""
    import narwhals.stable.v2 as nw

    return bool(nw.dependencies.is_pandas_dataframe(data))


def has_index(table: Any) -> bool:
    """Whether a column or table is one of pandas whose rows have names."""
    import narwhals.stable.v2 as nw

    of_pandas = nw.dependencies.is_pandas_series(table) or is_pandas(table)
    return of_pandas and type(table.index).__name__ != "RangeIndex"
