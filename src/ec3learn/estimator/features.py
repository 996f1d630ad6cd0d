"""Features: a transformer that turns any raw table into numbers.

Numbers stay numbers (scaled or not), true and false become 1 and 0, dates become days, and text
becomes one 0/1 column per level or the share of each class among the rows of the level. An array of
numbers takes a short cut: it is only scaled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from .._checks import (
    InputError,
    InputTypeError,
    require_bool,
    require_choice,
    require_integer,
    unknown_name,
)
from .._text import arg
from .._typing import Array
from ..votes.reading import frame_of
from .columns import (
    FOLDS,
    Column,
    Columns,
    Indicators,
    Shares,
    means_and_deviations,
    normal_scores,
    read_series,
)

FLOATS = [np.float64, np.float32]
DENSE_COLUMNS = 256  # a sparse matrix with more columns is projected before it is made dense
PROJECTED_COLUMNS = 100


@dataclass(eq=False, repr=False)
class Features(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turn a raw table into numbers.

    The table is a dataframe (pandas, polars, Arrow), an array or a sparse matrix. Its columns hold
    numbers, booleans, dates, text, categories and missing values. Levels and missing values that
    did not occur in `fit` are no error.

    Parameters
    ----------
    scale : "standard", "normal", or None
        "standard" scales each column of numbers to mean 0 and standard deviation 1. "normal"
        replaces each number by the standard normal quantile at its rank, so neither outliers nor
        the shape of the distribution matter. Columns made from text are not scaled. Columns of
        sparse matrices are not centred but divided by their largest absolute value.
    text : "columns" or "shares"
        What a column of text becomes: one 0/1 column per level, or the share of each class among
        the rows of the level. The latter needs `y`; in `fit_transform` a row does not count for its
        own shares.
    missing : "fill" or "keep"
        "fill" replaces a missing number by the centre of its column and adds a 0/1 column that
        marks it. "keep" leaves NaN, except in columns without a single number in `fit`, which
        become 0. In text, missing is a level of its own.
    max_levels : int
        How many levels of a column of text, the most frequent ones, get a 0/1 column each; the
        others share one.
    dense : bool
        Make a sparse matrix dense: directly up to 256 columns, else by a projection to 100
        (truncated SVD).
    random_state : int, RandomState instance, or None
        Seed of the folds of "shares" and of the projection.

    Attributes
    ----------
    text_columns_ : list
        Names (positions in an array) of the columns that were taken for text.

    Notes
    -----
    A `ColumnTransformer` of `SimpleImputer`, `StandardScaler` or `QuantileTransformer`, and
    `OneHotEncoder` or `TargetEncoder` does much the same once it is told which columns are which.
    `Features` finds that out by itself, and also reads dates, booleans, Arrow tables and columns of
    mixed values. On six of the paper's data sets, 4,000 rows each, it is as accurate (AUC within
    .004; "normal" is ahead on five) and takes half the time (`benchmarks/features.py`).

    Examples
    --------
    >>> import pandas as pd
    >>> from ec3learn.estimator import Features
    >>> table = pd.DataFrame({"age": [20, 40, None], "job": ["cook", None, "cook"]})
    >>> features = Features().fit(table)
    >>> features.get_feature_names_out().tolist()
    ['age', 'age missing', 'job=cook', 'job missing']
    >>> features.transform(pd.DataFrame({"age": [30.0, None], "job": ["cook", "clerk"]}))
    array([[0., 0., 1., 0.],
           [0., 1., 0., 0.]])
    """

    scale: str | None = "standard"
    text: str = "columns"
    missing: str = "fill"
    max_levels: int = 30
    dense: bool = False
    random_state: Any = None

    def fit(self, X: Any, y: Any = None) -> Features:
        """Learn the scales and levels of a table; with text="shares", from the classes `y` of its rows."""
        self._learn(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Do `fit` and `transform` at once; with text="shares", a row does not count for its own shares."""
        table = self._learn(X, y)
        fold = classes = None
        if self.text == "shares" and isinstance(table, Columns) and table.text:
            fold = check_random_state(self.random_state).permutation(len(table.numbers)) % FOLDS
            classes = np.unique(y, return_inverse=True)[1]
        return self._convert(table, fold, classes)

    def transform(self, X: Any) -> Any:
        """Return a table like the one passed to `fit` as numbers: an array or a sparse matrix."""
        check_is_fitted(self)
        return self._convert(self._read(X, reset=False))

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the columns that `transform` makes; `input_features` names those of a table without names."""
        check_is_fitted(self)
        names = list(super().get_feature_names_out(input_features))  # those of the table
        if self._n_components:
            return np.array([f"component_{i}" for i in range(self._n_components)], dtype=object)
        out = [names[i] for i in self._numbers]
        out += [f"{names[self._numbers[i]]} missing" for i in self._marked]
        for column, levels in zip(self._texts, self._levels, strict=True):
            out += [f"{names[column]}{label}" for label in levels.labels]
        return np.array(out, dtype=object)

    # ---- learning --------------------------------------------------------------------------------

    def _learn(self, X: Any, y: Any) -> Any:
        self._check()
        table = self._read(X, reset=True)
        self._n_components = 0
        if not isinstance(table, Columns):
            self._learn_sparse(table)
            return table
        if self.text == "shares" and table.text and y is None:
            remedy = f"Pass y, or take {arg('text', 'columns')}."
            raise InputError(
                "y", f"must hold the classes where {arg('text', 'shares')}", got=None, remedy=remedy
            )
        self._centre, self._width = means_and_deviations(table.numbers)
        self._scores = (
            [normal_scores(column) for column in table.numbers.T] if self.scale == "normal" else []
        )
        missing = np.isnan(table.numbers)
        self._empty = missing.all(axis=0)
        self._marked = np.flatnonzero(
            missing.any(axis=0) & (self.missing == "fill")
        )  # columns with a 0/1 column for missing
        self._levels = self._learn_levels(table.text, y)
        return table

    def _check(self) -> None:
        if self.scale is not None and self.scale not in ("standard", "normal"):
            raise unknown_name("scale", self.scale, ("standard", "normal", "None"))
        require_choice("text", self.text, ("columns", "shares"))
        require_choice("missing", self.missing, ("fill", "keep"))
        require_integer("max_levels", self.max_levels, 1)
        require_bool("dense", self.dense)

    def _learn_levels(self, text: list[list[Any]], y: Any) -> Sequence[Indicators | Shares]:
        if self.text == "columns" or not text:
            return [Indicators.of(values, self.max_levels) for values in text]
        classes, codes = np.unique(y, return_inverse=True)
        return [Shares.of(values, classes, codes) for values in text]

    def _learn_sparse(self, X: Any) -> None:
        self._set_kinds(np.zeros(X.shape[1], dtype=bool))
        self._levels, self._marked = [], np.empty(0, dtype=np.intp)
        steps: list[Any] = [] if self.scale is None else [MaxAbsScaler()]
        if self.dense and X.shape[1] > DENSE_COLUMNS:
            self._n_components = min(PROJECTED_COLUMNS, X.shape[0])
            steps.append(TruncatedSVD(self._n_components, random_state=self.random_state))
        self._of_sparse = make_pipeline(*steps or ["passthrough"]).fit(X)

    # ---- reading ---------------------------------------------------------------------------------

    def _read(self, X: Any, reset: bool) -> Any:
        """Return the table as `Columns`, or a sparse matrix."""
        if reset:
            self._sparse: bool = sparse.issparse(X)
        elif sparse.issparse(X) != self._sparse:
            kinds = ("a dense table", "a sparse matrix")
            raise InputTypeError(
                "X", f"must be {kinds[self._sparse]} as in fit", came=kinds[not self._sparse]
            )
        if self._sparse:
            return validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=reset)
        frame = frame_of(X)
        if frame is not None:
            validate_data(self, X, skip_check_array=True, reset=reset)
            if 0 in frame.shape:
                raise InputError(
                    "X", "must have at least one row and one column", came=f"shape {frame.shape}"
                )
            return self._separate([read_series(series) for series in frame.iter_columns()], reset)
        array = np.asarray(X)
        if array.dtype.kind in "OUS":
            if not isinstance(X, np.ndarray):
                array = np.array(X, dtype=object)  # beside text, numpy turns numbers into text
            array = validate_data(self, array, dtype=None, ensure_all_finite=False, reset=reset)
            return self._separate([Column(column.tolist()) for column in array.T], reset)
        numbers = validate_data(self, X, dtype=FLOATS, ensure_all_finite="allow-nan", reset=reset)
        if reset:
            self._set_kinds(np.zeros(numbers.shape[1], dtype=bool))
        if self._texts:
            return self._separate([Column(column) for column in numbers.T], reset)
        return Columns(numbers, [])

    def _separate(self, columns: list[Column], reset: bool) -> Columns:
        """Return columns of numbers and of text apart; `fit` decides which is which."""
        names = list(getattr(self, "feature_names_in_", range(len(columns))))
        if reset:
            self._set_kinds(
                np.array(
                    [column.is_text(name) for column, name in zip(columns, names, strict=True)]
                )
            )
        numbers = np.empty((len(columns[0].values), len(self._numbers)))
        for j, i in enumerate(self._numbers):
            numbers[:, j] = columns[i].to_numbers(names[i])
        return Columns(numbers, [list(columns[i].values) for i in self._texts])

    def _set_kinds(self, is_text: Array) -> None:
        self._numbers, self._texts = (
            np.flatnonzero(~is_text),
            np.flatnonzero(is_text).tolist(),
        )  # positions of columns
        names = getattr(self, "feature_names_in_", range(len(is_text)))
        self.text_columns_ = [names[i] for i in self._texts]

    # ---- converting ------------------------------------------------------------------------------

    def _convert(self, table: Any, fold: Array | None = None, classes: Array | None = None) -> Any:
        """Return numbers, marks of missing ones, and columns made from text; folds and classes are those of rows in `fit`."""
        if not isinstance(table, Columns):
            numbers = self._of_sparse.transform(table)
            return numbers.toarray() if self.dense and sparse.issparse(numbers) else numbers
        numbers = self._scale(table.numbers)
        marks = np.isnan(table.numbers[:, self._marked])
        if not table.text and not marks.shape[1]:
            return numbers
        start: int = numbers.shape[1] + marks.shape[1]
        out = np.zeros(
            (len(numbers), start + sum(len(levels.labels) for levels in self._levels)),
            dtype=numbers.dtype,
        )
        out[:, : numbers.shape[1]] = numbers
        out[:, numbers.shape[1] : start] = marks
        for levels, values in zip(self._levels, table.text, strict=True):
            levels.write(values, out[:, start : start + len(levels.labels)], fold, classes)
            start += len(levels.labels)
        return out

    def _scale(self, numbers: Array) -> Array:
        if self.scale == "standard":
            numbers = (numbers - self._centre) / self._width
        elif self.scale == "normal":
            scaled = np.empty_like(numbers)
            for j, (knots, scores) in enumerate(self._scores):
                scaled[:, j] = np.interp(numbers[:, j], knots, scores)
            numbers = scaled
        missing = np.isnan(numbers)
        if self.missing == "keep":
            missing &= self._empty  # NaN in all rows would be an error in trees
        if missing.any():
            numbers = np.where(
                missing, np.zeros_like(self._centre) if self.scale else self._centre, numbers
            )
        return numbers

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        tags.input_tags.string = tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
