"""The labels passed to `fit`: which rows have one, and which classes there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from .._checks import InputError, InputTypeError
from .._typing import Array
from ..votes.labels import is_missing, kind_of


@dataclass(frozen=True)
class Target:
    """The classes, sorted, and the position of each row's class among them, -1 where the label is missing."""

    classes: Array
    codes: Array

    @property
    def labelled(self) -> Array:
        """Which rows have a label."""
        return self.codes >= 0

    @property
    def names(self) -> list[Any]:
        """The classes as votes name them: positions where they are neither integers, booleans nor text."""
        return self.classes.tolist() if self.classes.dtype.kind in "iubU" else list(range(len(self.classes)))

    @classmethod
    def read(cls, y: Any, unlabelled: Any, weights: Array, also: Sequence[Array] = ()) -> Target:
        """Read the labels; a row of weight 0 is a row without a label, and `also` are classes that may have no row here."""
        y = column_or_1d(_as_array(y), warn=True)
        if len(y) != len(weights):
            phrase = (
                f"X and y must have the same number of rows, got inconsistent numbers of samples: {len(weights)} and {len(y)}"
            )
            raise InputError("y", phrase=phrase)
        missing = _find_missing(y, unlabelled) | (weights == 0)
        if missing.all():
            raise InputError("y", "must hold at least one label", came=f"{len(y)} missing ones")
        given = y[~missing]
        if given.dtype == object:
            kinds = sorted({kind_of(label) for label in given.tolist()})
            if len(kinds) > 1:
                raise InputError("y", "must hold labels of one kind", came=" and ".join(kinds))
            given = np.array(given.tolist())
        if given.dtype.kind == "f" and missing.any() and (given == given.astype(np.int64)).all():
            given = given.astype(np.int64)  # integers that became floats because of NaN
        check_classification_targets(given)
        classes = _joined([np.unique(given), *also])
        codes = np.full(len(y), -1)
        codes[~missing] = np.searchsorted(classes, given)
        return cls(classes, codes)


def _as_array(y: Any) -> Any:
    """Return labels as they are, except booleans of which some are missing: numpy would make numbers of them."""
    if isinstance(nw.from_native(y, pass_through=True), nw.LazyFrame):
        raise InputTypeError("y", "must be held in memory", came=f"a {type(y).__name__}", remedy="Collect it first.")
    series = nw.from_native(y, series_only=True, pass_through=True)
    if isinstance(series, nw.Series) and series.dtype == nw.Boolean and series.null_count():
        return np.array(series.to_list(), dtype=object)
    return y


def _joined(parts: list[Array]) -> Array:
    """Return all classes, sorted."""
    plain = [np.array(part.tolist()) for part in parts]
    kinds = sorted({kind_of(part[0]) for part in plain if len(part)})
    if len(kinds) > 1:
        came = " and ".join(kinds)
        raise InputError("y", "must hold labels of the kind that the classifiers were trained on", came=came)
    return parts[0] if len(parts) == 1 else np.unique(np.concatenate(plain))


def _find_missing(y: Array, unlabelled: Any) -> Array:
    """Return which labels are None, NaN or the value that stands for no label."""
    if y.dtype.kind == "f":
        missing = np.isnan(y)
    elif y.dtype == object:
        missing = np.array([is_missing(label) for label in y], dtype=bool)
    else:
        missing = np.zeros(len(y), dtype=bool)
    return missing if unlabelled is None else missing | np.array([label == unlabelled for label in y.tolist()], dtype=bool)
