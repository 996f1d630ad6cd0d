"""The rows of any table scikit-learn takes: counted, picked, and weighted."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from .._checks import InputError, is_number
from .._typing import Array
from ..votes.reading import frame_of


def count_rows(X: Any) -> int:
    """Return the number of rows of a dataframe, array, sparse matrix or list."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def take_rows(table: Any, rows: Array) -> Any:
    """Return some rows, by their positions, of a table, which keeps its type, or of a column."""
    frame = frame_of(table)
    if frame is not None:
        return frame[rows].to_native()
    return table[rows] if sparse.issparse(table) else np.asarray(table)[rows]


def check_weights(sample_weight: Any, X: Any) -> Array:
    """Return one weight >= 0 per row; None and a single number stand for equal weights."""
    n_rows = count_rows(X)
    if sample_weight is None or is_number(sample_weight):
        return np.full(n_rows, 1.0 if sample_weight is None else float(sample_weight))
    weights = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if weights.shape != (n_rows,):
        raise InputError("sample_weight", f"must hold one number per row, {n_rows:,} in all", came=f"shape {weights.shape}")
    if (weights < 0).any():
        raise InputError("sample_weight", "must hold numbers >= 0", got=float(weights.min()))
    if not weights.any():
        raise InputError("sample_weight", "must hold a number > 0", came="zero for every row")
    return weights
