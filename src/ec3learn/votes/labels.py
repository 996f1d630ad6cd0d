"""Labels as the user gave them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .._typing import Array

Label = Any  # an int, a bool or a str, as the user gave it
KINDS = {"int", "bool", "str"}


def kind_of(label: Label) -> str:
    """Return 'bool', 'int' or 'str', or the type's own name for what is no label."""
    if isinstance(label, (bool, np.bool_)):
        return "bool"
    if isinstance(label, (int, np.integer)) and not isinstance(label, np.timedelta64):
        return "int"
    return "str" if isinstance(label, str) else type(label).__name__


def is_missing(value: object) -> bool:
    """Tell whether a single value stands for no vote: None, NaN, pandas' NA, NaT, numpy's masked."""
    if value is None or type(value).__name__ in {"NAType", "NaTType", "MaskedConstant"}:
        return True
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


def fits_one_integer_type(labels: Iterable[Label]) -> bool:
    """Tell whether labels can be kept in one array: integers must fit int64, or all of them uint64."""
    whole = [int(label) for label in labels if kind_of(label) == "int"]
    return not whole or (
        min(whole) >= -(1 << 63) and max(whole) < (1 << (63 if min(whole) < 0 else 64))
    )


def label_array(labels: Sequence[Label] | Array) -> Array:
    """Return labels of one kind as an array that gives them back as they were (strings as `str`)."""
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "iub":
        return labels
    if not len(labels):
        return np.empty(0, dtype=np.int64)
    kind = kind_of(labels[0])
    whole = np.int64 if kind != "int" or max(labels) < 1 << 63 else np.uint64
    return np.array(list(labels), dtype={"int": whole, "bool": np.bool_}.get(kind, object))


def plain(label: Any) -> Label:
    """Return numpy's scalars as Python's own; its dates stay, since those of nanoseconds would become integers."""
    return label.item() if isinstance(label, np.generic) and label.dtype.kind not in "mM" else label
