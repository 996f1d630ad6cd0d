"""What is passed to `fit`: the rows of any table scikit-learn takes, counted, picked and weighted, and their labels.

`TableClassifier` is what our estimators of such tables share.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_array, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from .._checks import InputError, InputTypeError, is_integer, is_number
from .._typing import Array
from ..answer.notes import WARNING, Note
from ..consensus import Consensus
from ..votes.labels import is_missing, kind_of
from ..votes.reading import frame_of, seen_by_narwhals

ROWS_FOR_THREADS = 10_000  # with fewer, libraries are faster on one thread


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
    weights = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
    )
    if weights.shape != (n_rows,):
        raise InputError(
            "sample_weight",
            f"must hold one number per row, {n_rows:,} in all",
            came=f"shape {weights.shape}",
        )
    if (weights < 0).any():
        raise InputError("sample_weight", "must hold numbers >= 0", got=float(weights.min()))
    if not weights.any():
        raise InputError("sample_weight", "must hold a number > 0", came="zero for every row")
    return weights


# ---- labels --------------------------------------------------------------------------------------


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
        return (
            self.classes.tolist()
            if self.classes.dtype.kind in "iubU"
            else list(range(len(self.classes)))
        )

    @classmethod
    def read(cls, y: Any, unlabelled: Any, weights: Array, also: Sequence[Array] = ()) -> Target:
        """Read the labels; a row of weight 0 is a row without a label, and `also` are classes that may have no row here."""
        y = column_or_1d(_as_array(y), warn=True)
        if len(y) != len(weights):
            phrase = f"X and y must have the same number of rows, got inconsistent numbers of samples: {len(weights)} and {len(y)}"
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
    if isinstance(seen_by_narwhals(y, "y"), nw.LazyFrame):
        raise InputTypeError(
            "y", "must be held in memory", came=f"a {type(y).__name__}", remedy="Collect it first."
        )
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
        raise InputError(
            "y", "must hold labels of the kind that the classifiers were trained on", came=came
        )
    return parts[0] if len(parts) == 1 else np.unique(np.concatenate(plain))


def _find_missing(y: Array, unlabelled: Any) -> Array:
    """Return which labels are None, NaN or the value that stands for no label."""
    if y.dtype.kind == "f":
        missing = np.isnan(y)
    elif y.dtype == object:
        missing = np.array([is_missing(label) for label in y], dtype=bool)
    else:
        missing = np.zeros(len(y), dtype=bool)
    return (
        missing
        if unlabelled is None
        else missing | np.array([label == unlabelled for label in y.tolist()], dtype=bool)
    )


def make_folds(codes: Array, n_folds: int, seed: int) -> Array:
    """Return the fold of each object; a class with fewer labels than folds is in some of them only."""
    folds = StratifiedKFold(
        int(min(n_folds, np.bincount(codes).max())), shuffle=True, random_state=seed
    )
    fold_of = np.empty(len(codes), dtype=np.int64)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class")
        for f, (_, test) in enumerate(folds.split(codes, codes)):
            fold_of[test] = f
    return fold_of


# ---- estimators ----------------------------------------------------------------------------------


class TableClassifier(ClassifierMixin):  # type: ignore[misc]
    """A classifier of any table, given its `predict_proba`: it reads features and seeds, predicts, and writes a report."""

    classes_: Array
    consensus_: Consensus
    notes_: list[Note]
    n_jobs: int | None
    random_state: Any

    def predict(self, X: Any) -> Array:
        """Return the classes of new rows: the most probable ones."""
        codes = self.predict_proba(X).argmax(axis=1)
        return self.classes_[codes]

    def report(
        self, path: Any, *, details: Mapping[str, Any] | None = None, **options: Any
    ) -> None:
        """Write a report on the consensus over the rows passed to `fit`: one HTML file. Needs jinja2.

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
        own = {
            "made by": type(self).__name__,
            "what to know": " ".join(map(str, self.notes_)) or "nothing",
        }
        more = {} if details is None else details
        self.consensus_.report(
            path, details={**own, **more} if isinstance(more, Mapping) else more, **options
        )

    def _check_X(self, X: Any, reset: bool) -> Any:
        """Check the features; dataframes stay as they are."""
        if isinstance(seen_by_narwhals(X, "X"), nw.LazyFrame):
            raise InputTypeError(
                "X",
                "must be held in memory",
                came=f"a {type(X).__name__}",
                remedy="Collect it first.",
            )
        if frame_of(X) is None:
            return validate_data(
                self,
                X,
                reset=reset,
                dtype=None,
                accept_sparse=["csr", "csc"],
                ensure_all_finite="allow-nan",
            )
        validate_data(self, X, reset=reset, skip_check_array=True)
        if not count_rows(X):
            came = f"0 sample(s) (shape={X.shape}) while a minimum of 1 is required"
            raise InputError("X", "must have at least one row", came=came)
        return X

    def _check_n_jobs(self) -> None:
        if self.n_jobs is not None and (not is_integer(self.n_jobs) or self.n_jobs == 0):
            raise InputError("n_jobs", "must be an integer other than 0, or None", got=self.n_jobs)

    def _draw_seed(self) -> int:
        try:
            return int(check_random_state(self.random_state).randint(2**31 - 1))
        except ValueError:
            must = "must be an integer >= 0, a numpy RandomState or None"
            raise InputError("random_state", must, got=self.random_state) from None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        tags.input_tags.string = tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags


def with_warnings(notes: Iterable[Note], caught: Iterable[warnings.WarningMessage]) -> list[Note]:
    """Return notes and the warnings that were caught as notes; a warning that is a note already comes once."""
    by_text: dict[str, Note] = {}
    for note in [*notes, *(Note(WARNING, str(warning.message)) for warning in caught)]:
        by_text.setdefault(str(note), note)
    return list(by_text.values())


def limit_threads(X: Any) -> Any:
    """Return a context in which libraries use one thread each, if more would take longer to start than the work takes."""
    return threadpool_limits(1) if count_rows(X) < ROWS_FOR_THREADS else nullcontext()
