"""Labels become integers: arrays, dicts and dataframes become `Column`s.

A `Column` keeps whatever integers it was given and says where they start, so that millions of small
integers are never copied. Strings and mixed tables are numbered through a dict. Labels come back
exactly as they were given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from typing import Any

import numpy as np

from .._checks import InputError, InputTypeError
from .._text import arg, count
from .._typing import Array
from ..kernels import compiled
from .labels import KINDS, Label, fits_one_integer_type, is_missing, kind_of, plain

TABLE = "an array, a list, a dict of name -> column or a dataframe held in memory"
COLUMN = "an array, a list or a column of a dataframe held in memory"
LABELS = "must hold labels (ints, bools or strings)"
NAMED = ("objects", "voters", "object_ids")  # arguments that hold names
INTEGERS = "must hold integers from -2**63 to 2**63 - 1, or from 0 to 2**64 - 1"
INEXACT = "Floats of this size may have lost digits. Pass integers or strings (pandas: the dtype 'Int64' or 'UInt64')."
EXACT = (
    1 << 53
)  # floats from here on may stand for several integers; those of 16 and 32 bits from 2^11 and 2^24 on
FIRST_ROWS = 1 << 14
WIDE = (
    64  # columns from which a row-major table is copied to column-major before it is read by column
)
DENSE_RANGE = (
    1 << 16
)  # integers within this range (or within 4 N) are used as codes without sorting them


@dataclass(frozen=True, eq=False)
class Column:
    """What one base model said: `raw - low` is a code, `values[code]` its label, None a missing vote."""

    name: str
    raw: Array
    low: int
    values: Sequence[Label | None] | Array
    ndim = 1

    def __len__(self) -> int:
        return len(self.raw)

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape, as arrays have it."""
        return self.raw.shape

    @property
    def n_codes(self) -> int:
        """How many codes there may be, missing included."""
        return len(self.values)

    def codes(self, rows: slice | Array = slice(None)) -> Array:
        """Return the codes as the smallest unsigned integers that hold them."""
        raw = self.raw[rows]
        if (
            raw.dtype.kind == "i"
        ):  # wrap-around is harmless: the difference fits the unsigned type of the same width
            raw = np.subtract(raw, raw.dtype.type(self.low)).view(raw.dtype.str.replace("i", "u"))
        elif self.low:
            raw = raw - raw.dtype.type(self.low)
        return raw.astype(smallest_uint(self.n_codes), copy=raw.base is not None)

    @cached_property
    def seen(self) -> Array:
        """Return the codes that occur; often the first rows have them all."""
        if self.n_codes <= FIRST_ROWS:
            first = np.zeros(self.n_codes, dtype=bool)
            first[self.codes(slice(FIRST_ROWS))] = True
            if first.all():
                return np.arange(self.n_codes)
        codes = self.codes()
        if self.n_codes <= 32:
            return np.array(
                [code for code in range(self.n_codes) if (codes == code).any()], dtype=np.int64
            )
        return np.flatnonzero(np.bincount(codes, minlength=self.n_codes))


def smallest_uint(n_codes: int) -> np.dtype[Any]:
    """Return the smallest unsigned type that holds the codes 0 .. n_codes - 1."""
    return np.min_scalar_type(max(n_codes - 1, 0))


# ---- reading what the user passed ----------------------------------------------------------------


def named_columns(data: Any, argument: str, prefix: str, first: int = 0) -> dict[str, Any]:
    """Split a 2-D array-like, a dict or a dataframe into named columns (a dict's values may themselves be 2-D).

    The columns of an array are called `prefix_0`, `prefix_1` and so on, counted from `first`.
    """
    frame = None if isinstance(data, Mapping) else frame_of(data)
    if frame is not None:
        data = {name: frame[name].to_native() for name in frame.columns}
    if isinstance(data, Mapping):
        columns = {
            str(name): _as_array(values, f"{argument}[{name!r}]", COLUMN)
            for name, values in data.items()
        }
        if len(columns) < len(data):
            raise InputError(argument, "must have names that differ as text", got=list(data))
    else:
        table = _as_array(data, argument, TABLE)
        if table.ndim != 2:
            raise InputError(
                argument,
                "must be 2-dimensional (objects x models), a dict of name -> column or a dataframe",
                came=f"shape {table.shape}",
                remedy="Pass {'name': column} for a single model.",
            )
        if table.shape[1] > WIDE and table.dtype.kind in "iub":
            table = _column_major(table)
        columns = {f"{prefix}_{first + j}": table[:, j] for j in range(table.shape[1])}
        if table.dtype.kind in "iu" and not isinstance(table, np.ma.MaskedArray) and table.size:
            lows, highs = _column_ranges(table)
            columns = {
                name: _encode_integers(name, column, int(low), int(high))
                for (name, column), low, high in zip(columns.items(), lows, highs, strict=True)
            }
    for name, column in columns.items():
        if not 1 <= column.ndim <= 2:
            raise InputError(
                argument,
                "must have columns of 1 or 2 dimensions",
                came=f"shape {column.shape} for {name!r}",
            )
    if not columns or any(len(column) == 0 for column in columns.values()):
        hint = "Leave it out if there is nothing to pass." if argument == "clusterings" else ""
        raise InputError(
            argument, "must hold at least one object and one model", came="none", remedy=hint
        )
    lengths = {name: len(column) for name, column in columns.items()}
    one = next(iter(lengths))
    for name, length in lengths.items():
        if length != lengths[one]:
            came = f"{count(lengths[one], 'row')} for {one!r} and {length:,} for {name!r}"
            raise InputError(
                argument, "must have columns that describe the same objects", came=came
            )
    return columns


def single_column(values: Any, argument: str, allowed: str = COLUMN, mixed: bool = False) -> Column:
    """Turn a column that is an argument by itself into codes."""
    column = _as_array(values, argument, allowed)
    if column.ndim != 1:
        raise InputError(
            argument, "must have one dimension, one value per row", came=f"shape {column.shape}"
        )
    if not len(column):
        raise InputError(argument, "must hold at least one value", came="none")
    return encode(argument, column, argument, mixed)


def _column_major(table: Array) -> Array:
    """Copy a row-major table to column-major, some rows at a time: read by column, its entries lie far apart in memory."""
    out = np.empty(table.shape, dtype=table.dtype, order="F")
    for begin in range(0, len(table), 1024):
        out[begin : begin + 1024] = table[begin : begin + 1024]
    return out


@dataclass(frozen=True)
class Where:
    """Where a value stands: an argument, and its column unless the argument is one column by itself."""

    argument: str
    column: str | None = None

    def error(
        self, must: str, came: str, remedy: str = "", kind: type[InputError] = InputError
    ) -> InputError:
        """Return the error about a value that stands here."""
        return kind(self.argument, must, came=f"{came}{self.in_column}", remedy=remedy)

    @property
    def must(self) -> str:
        """Return what must stand here, in words."""
        return LABELS.replace("labels", "names") if self.argument in NAMED else LABELS

    @property
    def in_column(self) -> str:
        """Return the column in words."""
        return "" if self.column is None else f" in column {self.column!r}"


def encode(name: str, values: Any, argument: str, mixed: bool = False) -> Column:
    """Turn one column of labels into codes; a column may be an argument of its own, and hold `mixed` kinds of labels."""
    if isinstance(values, Column):
        return replace(values, name=name)
    where = Where(argument, None if name == argument else name)
    absent = None
    if isinstance(values, np.ma.MaskedArray):
        absent, values = np.ma.getmaskarray(values), values.data
    if values.dtype.kind == "b":
        column = Column(name, values.view(np.uint8), 0, [False, True])
    elif values.dtype.kind in "iu":
        column = _encode_integers(name, values, int(values.min()), int(values.max()))
    elif values.dtype.kind == "f":
        absent = np.isnan(values) if absent is None else absent | np.isnan(values)
        column = _encode_integers_of_floats(name, values, absent, where)
    else:
        plain_values = list(values) if values.dtype.kind in "mM" else values.astype(object).tolist()
        column = _encode_objects(name, plain_values, where, absent, mixed)
        absent = None
    if absent is None or not absent.any():
        return column
    codes = column.raw.astype(np.int64) - column.low
    codes[absent] = column.n_codes  # one code more, for a missing vote
    return Column(
        name, codes.astype(smallest_uint(column.n_codes + 1)), 0, [*list(column.values), None]
    )


def _column_ranges(table: Array) -> tuple[Array, Array]:
    """Return the least and the greatest value of each column.

    numpy reduces short rows slowly, so of a row-major table 64 rows are read as one, with whatever
    stands between them.
    """
    n_rows, n_columns = table.shape
    width = table.strides[0] // table.itemsize
    fold = 64
    whole = (n_rows - 1) // fold
    if (
        table.strides[1] != table.itemsize
        or table.strides[0] % table.itemsize
        or width < n_columns
        or whole < 2
    ):
        return table.min(axis=0), table.max(axis=0)
    folded = np.lib.stride_tricks.as_strided(
        table, (whole, fold * width), (fold * table.strides[0], table.itemsize), writeable=False
    )
    rest = table[whole * fold :]
    lows, highs = _ranges(folded)
    low = lows.reshape(fold, width)[:, :n_columns].min(axis=0)
    high = highs.reshape(fold, width)[:, :n_columns].max(axis=0)
    return np.minimum(low, rest.min(axis=0)), np.maximum(high, rest.max(axis=0))


def _ranges(lines: Array) -> tuple[Array, Array]:
    """Return the least and the greatest number in each place."""
    loops = compiled(lines.size)
    if loops is None:
        return lines.min(axis=0), lines.max(axis=0)
    low, high = (
        np.empty(lines.shape[1], dtype=lines.dtype),
        np.empty(lines.shape[1], dtype=lines.dtype),
    )
    loops.ranges(lines, low, high)
    return low, high


def _encode_integers(name: str, raw: Array, low: int, high: int) -> Column:
    if high - low < max(DENSE_RANGE, 4 * len(raw)) and high + 1 < 1 << 63:
        return Column(name, raw, low, np.arange(low, high + 1).astype(raw.dtype))
    values, codes = np.unique(raw, return_inverse=True)
    return Column(name, codes, 0, values)


def _encode_integers_of_floats(name: str, values: Array, absent: Array, where: Where) -> Column:
    present = values[~absent]
    broken = ~absent & ~(np.floor(values) == values)
    if broken.any() or (present.size and not np.isfinite(present).all()):
        row = int(np.argmax(broken | np.isinf(values)))
        raise where.error(
            where.must, f"{values[row]} at row {row}", _hint(values[row], where.argument)
        )
    inexact = ~absent & (
        np.abs(values) >= np.float64(min(EXACT, 2 << np.finfo(values.dtype).nmant))
    )
    if inexact.any():
        row = int(np.argmax(inexact))
        raise where.error(where.must, f"the float {int(values[row])} at row {row}", INEXACT)
    whole = np.where(absent, present[0] if present.size else 0, values).astype(np.int64)
    return _encode_integers(name, whole, int(whole.min()), int(whole.max()))


def _encode_objects(
    name: str, values: list[Any], where: Where, absent: Array | None, mixed: bool
) -> Column:
    if absent is not None:
        values = [
            None if gone else value for value, gone in zip(values, absent.tolist(), strict=True)
        ]
    known: dict[Any, int] = {}  # keyed by (kind, label) so that True and 1 stay apart
    try:
        codes = np.fromiter(
            (known.setdefault(_key(value), len(known)) for value in values),
            dtype=np.int64,
            count=len(values),
        )
    except TypeError:  # lists and dicts can't be keys
        row = next(i for i, value in enumerate(values) if type(value).__hash__ is None)
        raise where.error(
            where.must,
            f"{values[row]!r} of type {kind_of(values[row])} at row {row}",
            kind=InputTypeError,
        ) from None
    labels = [None if key is None else key[1] for key in known]
    _require_labels(labels, lambda label: int(np.argmax(codes == known[_key(label)])), where, mixed)
    return Column(name, codes, 0, labels)


def _key(value: Any) -> tuple[str, Any] | None:
    if isinstance(value, str):
        return ("str", str.__str__(value))  # a subclass may print two values alike
    if is_missing(value):
        return None
    if (
        isinstance(value, (float, np.floating))
        and float(value).is_integer()
        and abs(float(value)) < EXACT
    ):
        value = int(value)
    return (kind_of(value), plain(value))


def _require_labels(labels: list[Any], row_of: Any, where: Where, mixed: bool) -> None:
    kinds: dict[str, Any] = {}
    for label in labels:
        if label is not None:
            kinds.setdefault(kind_of(label), label)
    for kind, label in kinds.items():
        if kind not in KINDS:
            came = f"{label!r} of type {kind} at row {row_of(label)}"
            raise where.error(where.must, came, _hint(label, where.argument), kind=InputTypeError)
    if not fits_one_integer_type(labels):
        whole = [label for label in labels if kind_of(label) == "int"]
        raise where.error(INTEGERS, f"{min(whole)} and {max(whole)}", "Pass strings instead.")
    if len(kinds) > 1 and not mixed:
        (one, _), (other, label) = list(kinds.items())[:2]
        came = f"{one} and {other} labels, the first {other} at row {row_of(label)}: {label!r}"
        raise where.error(
            "must hold labels of one kind: all ints, all bools or all strings",
            came,
            kind=InputTypeError,
        )


def _hint(label: Any, argument: str) -> str:
    """Return what to do about a value that is no label."""
    if isinstance(label, (date, np.datetime64)):
        return "Pass dates as strings."
    if not isinstance(label, (float, np.floating)):
        return ""
    if np.isinf(label):
        return "Infinity is no label; a missing one is None or NaN."
    if abs(float(label)) >= EXACT:
        return INEXACT
    hints = {  # numbers that look like probabilities
        "classifiers": f"For probabilities use {arg('Votes.from_probabilities')}.",
        "probabilities": "Pass probabilities as a table, objects x classes.",
        "clusterings": "Pass shares as a table, objects x clusters.",
    }
    return hints.get(argument, "")


def _as_array(values: Any, where: str, allowed: str) -> Any:
    """Return array-likes as an array in which nothing was cast; a column with nulls becomes a masked or object array."""
    if isinstance(values, np.ndarray):
        return values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))
    if isinstance(values, (list, tuple, range)):
        nested = [isinstance(row, (list, tuple, np.ndarray)) for row in values]
        lengths = (
            sorted({len(row) if hasattr(row, "__len__") else 1 for row in values})
            if any(nested)
            else []
        )
        if any(nested) and (not all(nested) or len(lengths) > 1):
            raise InputError(
                where, "must have rows of equal length", came=f"rows of {lengths} values"
            )
        return np.array(values, dtype=object)
    return _series_array(values, where, allowed)


def _series_array(values: Any, where: str, allowed: str) -> Any:
    import narwhals.stable.v2 as nw  # costs a tenth of our import time; most calls pass arrays

    native = seen_by_narwhals(values, allow_series=True, eager_only=True)
    if isinstance(native, nw.DataFrame):
        return native.to_numpy()
    if not isinstance(native, nw.Series):
        if hasattr(values, "__array__"):
            return np.asarray(values)
        raise InputTypeError(where, f"must be {allowed}", came=type(values).__name__)
    if (
        native.dtype.is_integer() and native.dtype not in (nw.Int128, nw.UInt128)
    ) or native.dtype == nw.Boolean:
        absent = native.is_null().to_numpy()
        if not absent.any():
            return native.to_numpy()
        filled = native.drop_nulls().to_numpy()
        dense = (
            np.resize(filled, len(native)) if len(filled) else np.zeros(len(native), dtype=np.int64)
        )
        dense[~absent] = filled
        return np.ma.MaskedArray(dense, mask=absent)
    if native.dtype.is_float():
        return native.to_numpy()
    if isinstance(native.dtype, (nw.String, nw.Categorical, nw.Enum)):
        coded = _coded_strings(native)
        if coded is not None:
            return coded
    return np.array([None, *native.to_list()], dtype=object)[
        1:
    ]  # the None keeps numpy from looking into the values


def _coded_strings(native: Any) -> Column | None:
    """Let the dataframe library number strings, ten times as fast as our dict; None if there are other labels too."""
    import narwhals.stable.v2 as nw

    if native.implementation.is_pandas_like():
        native = native.cast(
            nw.Categorical()
        )  # pandas replaces few categories much faster than many strings
    labels = native.drop_nulls().unique().to_list()
    if not labels or not all(isinstance(label, str) for label in labels):
        return None
    labels.sort()
    numbered = native.alias("labels").replace_strict(
        labels, range(len(labels)), return_dtype=nw.Float64
    )
    codes = numbered.to_numpy()  # NaN where missing
    return Column("", np.where(np.isnan(codes), -1, codes).astype(np.int32), -1, [None, *labels])


def seen_by_narwhals(data: Any, argument: str = "table", **options: bool) -> Any:
    """Return a table or a column as narwhals sees it, and anything else as it is; refuse two columns of one name."""
    import narwhals.stable.v2 as nw
    from narwhals.exceptions import DuplicateError

    try:
        return nw.from_native(data, pass_through=True, **options)
    except DuplicateError as error:
        came = str(error).splitlines()[-1].lstrip("- ")
        raise InputError(
            argument, "must have columns of different names", came=came, remedy="Rename them."
        ) from None


def frame_of(data: Any) -> Any:
    """Return a dataframe held in memory as narwhals sees it, and None for anything else."""
    if isinstance(data, (np.ndarray, list, tuple)):
        return None
    import narwhals.stable.v2 as nw

    frame = seen_by_narwhals(data, eager_only=True)
    return frame if isinstance(frame, nw.DataFrame) else None


def is_pandas(data: Any) -> bool:
    """Tell whether a dataframe is one of pandas, whose column names may be of any type."""
    import narwhals.stable.v2 as nw

    return bool(nw.dependencies.is_pandas_dataframe(data))


def has_index(table: Any) -> bool:
    """Tell whether a column or table is one of pandas whose rows have names."""
    import narwhals.stable.v2 as nw

    of_pandas = nw.dependencies.is_pandas_series(table) or nw.dependencies.is_pandas_dataframe(
        table
    )
    return of_pandas and type(table.index).__name__ != "RangeIndex"
