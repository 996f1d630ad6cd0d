"""What is passed to `fit`: the rows of any table scikit-learn takes, and their labels.

`TableClassifier` is what our estimators of such tables share.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from .._checks import InputError, InputTypeError
from .._typing import Array
from ..answer.notes import Note
from ..consensus import Consensus
from ..votes.reading import frame_of, seen_by_narwhals, single_column

FLOATS = (np.float64, np.float32)


def take_rows(table: Any, rows: Array) -> Any:
    """Some rows, by their positions, of a table, which keeps its type, or of a column."""
    frame = frame_of(table)
    if frame is None:
        return table[rows] if sparse.issparse(table) else np.asarray(table)[rows]
    return frame[rows].to_native()


def check_weights(sample_weight: Any, X: Any) -> Array:
    """One weight >= 0 per row, all 1 for None."""
    if sample_weight is None:
        return np.ones(X.shape[0])
    weights = check_array(
        column_or_1d(sample_weight),
        ensure_2d=False,
        dtype=np.float64,
        input_name="sample_weight",
        ensure_non_negative=True,
    )
    check_consistent_length(weights, X)
    if not weights.any():
        raise InputError("sample_weight", "must hold a number > 0", came="zero for every row")
    return weights


def read_labels(y: Any, unlabelled: Any, weights: Array | None) -> tuple[Array, Array]:
    """The classes, sorted, and the number of each row's class, -1 where its label is missing.

    A row of weight 0 is a row without a label.
    """
    if not isinstance(nw.from_native(y, series_only=True, pass_through=True), nw.Series):
        y = column_or_1d(y, warn=True)
        if y.dtype.kind == "f":
            check_classification_targets(y[~np.isnan(y)])
    column = single_column(y, "y")
    codes = column.codes.astype(np.intp)
    missing = np.array([label == unlabelled for label in column.labels] + [True])[codes]
    if weights is not None:
        missing |= weights == 0
    if missing.all():
        raise InputError("y", "must hold at least one label", came=f"{len(codes)} missing ones")
    seen, codes[~missing] = np.unique(codes[~missing], return_inverse=True)
    codes[missing] = -1
    return np.array(column.labels)[seen], codes


def check_table(estimator: Any, X: Any, reset: bool) -> Any:
    """The features passed to an estimator, checked; dataframes stay as they are."""
    if isinstance(seen_by_narwhals(X, "X"), nw.LazyFrame):
        came = f"a {type(X).__name__}"
        raise InputTypeError("X", "must be held in memory", came=came, remedy="Collect it.")
    if frame_of(X) is None:
        mixed = isinstance(X, (list, tuple)) and np.array(X).dtype.kind == "U"
        X = np.array(X, dtype=object) if mixed else X
        return validate_data(
            estimator,
            X,
            reset=reset,
            dtype=None,
            accept_sparse=["csr", "csc"],
            ensure_all_finite="allow-nan",
        )
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    if 0 in X.shape:
        came = f"0 sample(s) (shape={X.shape}) while a minimum of 1 is required"
        raise InputError("X", "must have rows and columns", came=came)
    return X


class ProbableClass(ClassifierMixin):  # type: ignore[misc]
    """A classifier that predicts the most probable class, given its `predict_proba`."""

    classes_: Array

    def predict(self, X: Any) -> Array:
        """The most probable class of each row."""
        codes = self.predict_proba(X).argmax(axis=1)
        return self.classes_[codes]


class TableClassifier(ProbableClass):
    """A classifier of any table, with a consensus."""

    consensus_: Consensus
    notes_: list[Note]

    def report(
        self, path: Any, *, details: Mapping[str, Any] | None = None, **options: Any
    ) -> None:
        """Write a report on the consensus over the rows passed to `fit`: one HTML file.

        Parameters
        ----------
        path : path
            The file.
        details : dict of name -> value
            More to show about how it was made, besides `notes_`.
        **options
            Those of `Consensus.report`: `truth`, `title`, `overwrite` and so on.
        """
        check_is_fitted(self)
        notes = " ".join(map(str, self.notes_)) or "nothing"
        facts = {"made by": type(self).__name__, "what to know": notes}
        self.consensus_.report(path, details={**facts, **(details or {})}, **options)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        tags.input_tags.string = tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags


def with_warnings(notes: Iterable[Note], caught: Iterable[warnings.WarningMessage]) -> list[Note]:
    """Notes, and the warnings that were caught as notes, each once."""
    told = [Note("warning", str(warning.message)) for warning in caught]
    return list({str(note): note for note in [*notes, *told]}.values())


def limit_threads(X: Any) -> Any:
    """A context in which libraries use one thread each: with fewer rows they are faster so."""
    return threadpool_limits(1 if X.shape[0] < 10_000 else None)
