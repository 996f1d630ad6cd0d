"""Features: a transformer that turns any raw table into numbers.

Numbers stay numbers (scaled or not), true and false become 1 and 0, dates become days, and text
becomes one 0/1 column per level or the share of each class among the rows of the level.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse
from scipy.special import ndtr, ndtri
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from .._checks import InputError, InputTypeError, require_choice
from .._typing import Array
from ..votes.labels import is_missing
from ..votes.reading import frame_of

FLOATS = [np.float64, np.float32]
NUMBERS = (int, float, bool, np.number, np.bool_, Decimal)
MOST_LEVELS = 30  # of a column of text that get a 0/1 column; the others share one
KNOTS = 256  # values per column whose normal scores are kept; scores between them are interpolated
FOLDS = 5  # a row gets the shares of its level from the other folds
PRIOR_ROWS = 10.0  # weight of the overall shares of the classes in those of a level
DENSE_COLUMNS = 100  # a sparse matrix with more columns is projected to so many


@dataclass(eq=False, repr=False)
class Features(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turn a raw table into numbers.

    The table is a dataframe (pandas, polars, Arrow), an array or a sparse matrix. Its columns hold
    numbers, booleans, dates, text, categories and missing values. Levels and missing values that
    did not occur in `fit` are no error.

    Parameters
    ----------
    scale : "standard", "normal", or None
        "standard" scales each column of numbers to mean 0 and standard deviation 1. "normal"
        replaces each number by the standard normal quantile at its rank, so neither outliers nor
        the shape of the distribution matter. Both replace a missing number by 0, and add a 0/1
        column that marks it. None leaves numbers, and NaN, as they are. Columns of sparse matrices
        are divided by their largest absolute value.
    text : "columns" or "shares"
        What a column of text becomes: one 0/1 column per level (30 at most, the others share one),
        or the share of each class among the rows of the level. The latter needs `y`; in
        `fit_transform` a row does not count for its own shares.
    dense : bool
        Make a sparse matrix dense: directly up to 100 columns, else by a projection to 100
        (truncated SVD).
    random_state : int, RandomState instance, or None
        Seed of the folds of "shares" and of the projection.

    Examples
    --------
    >>> import pandas as pd
    >>> from ec3learn.estimator import Features
    >>> table = pd.DataFrame({"age": [20, 40, None], "job": ["cook", None, "cook"]})
    >>> features = Features().fit(table)
    >>> features.transform(pd.DataFrame({"age": [30.0, None], "job": ["cook", "clerk"]}))
    array([[0., 0., 1., 0.],
           [0., 1., 0., 0.]])
    """

    scale: str | None = "standard"
    text: str = "columns"
    dense: bool = False
    random_state: Any = None

    def fit(self, X: Any, y: Any = None) -> Features:
        """Learn the scales and levels of a table; text="shares" needs its rows' classes `y`."""
        if self.scale is not None:
            require_choice("scale", self.scale, ("normal", "standard"))
        require_choice("text", self.text, ("columns", "shares"))
        self._sparse = sparse.issparse(X)
        if self._sparse:
            self._fit_sparse(X)
            return self
        numbers, texts = self._read(X, reset=True)
        missing = np.isnan(numbers)
        self._empty = missing.all(axis=0)
        self._marked = missing.any(axis=0) & (self.scale is not None)
        scalers = {None: None, "standard": StandardScaler(), "normal": NormalScores()}
        self._scaler = scalers[self.scale] if numbers.shape[1] else None
        if self._scaler is not None:
            self._scaler.fit(np.where(self._empty, 0, numbers))
        if self.text == "columns":
            self._levels: list[Any] = [Indicators(values) for values in texts]
        else:
            classes = _membership(y, len(numbers), texts)
            self._levels = [Shares(values, classes) for values in texts]
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Do `fit` and `transform` at once; a row does not count for its own shares."""
        self.fit(X, y)
        if self._sparse or self.text == "columns":
            return self.transform(X)
        numbers, texts = self._read(X, reset=False)
        classes = _membership(y, len(numbers), texts)
        fold = check_random_state(self.random_state).permutation(len(numbers)) % FOLDS
        shares = [np.empty((len(numbers), _n_columns(classes))) for _ in texts]
        for values, columns in zip(texts, shares, strict=True):
            for others, rows in ((fold != f, fold == f) for f in range(FOLDS)):
                columns[rows] = Shares(values[others], classes[others]).of_rows(values[rows])
        return self._convert(numbers, shares)

    def transform(self, X: Any) -> Any:
        """A table like the one passed to `fit` as numbers: an array or a sparse matrix."""
        check_is_fitted(self)
        if sparse.issparse(X) != self._sparse:
            kinds = ("a dense table", "a sparse matrix")
            must = f"must be {kinds[self._sparse]} as in fit"
            raise InputTypeError("X", must, came=kinds[not self._sparse])
        if self._sparse:
            X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)
            numbers = self._steps.transform(X)
            return numbers.toarray() if self.dense and sparse.issparse(numbers) else numbers
        numbers, texts = self._read(X, reset=False)
        pairs = zip(self._levels, texts, strict=True)
        return self._convert(numbers, [levels.of_rows(values) for levels, values in pairs])

    def _fit_sparse(self, X: Any) -> None:
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS)
        steps: list[Any] = ["passthrough" if self.scale is None else MaxAbsScaler()]
        if self.dense and X.shape[1] > DENSE_COLUMNS:
            n_components = min(DENSE_COLUMNS, X.shape[0])
            steps.append(TruncatedSVD(n_components, random_state=self.random_state))
        self._steps = make_pipeline(*steps).fit(X)

    def _convert(self, numbers: Array, of_texts: list[Array]) -> Array:
        """Numbers, marks of missing ones, and what became of text, side by side."""
        scaled = numbers if self._scaler is None else self._scaler.transform(numbers)
        missing = np.isnan(numbers)
        # Without a scale NaN stays, except in columns of nothing else: an error in trees.
        scaled = np.where(missing & (self._empty | (self.scale is not None)), 0, scaled)
        marks = missing[:, self._marked]
        return np.hstack([scaled, marks, *of_texts], dtype=scaled.dtype, casting="unsafe")

    def _read(self, X: Any, reset: bool) -> tuple[Array, list[Array]]:
        """Columns of numbers as one array, and each column of text; `fit` decides which is what."""
        frame = frame_of(X)
        if frame is None and np.asarray(X).dtype.kind not in "OUS":
            finite: Any = "allow-nan"
            X = validate_data(self, X, dtype=FLOATS, ensure_all_finite=finite, reset=reset)
            if reset:
                self._is_text = np.zeros(X.shape[1], dtype=bool)
            if not self._is_text.any():
                return X, []
            columns = list(X.T)
        elif frame is None:
            array = X if isinstance(X, np.ndarray) else np.array(X, dtype=object)
            array = validate_data(self, array, dtype=None, ensure_all_finite=False, reset=reset)
            columns = [_floats_or_objects(column.tolist()) for column in array.T]
        else:
            validate_data(self, X, skip_check_array=True, reset=reset)
            if 0 in frame.shape:
                came = f"0 sample(s) (shape={frame.shape}) while a minimum of 1 is required"
                raise InputError("X", "must have rows and columns", came=came)
            columns = [_read_series(series) for series in frame.iter_columns()]
        if reset:
            self._is_text = np.array([column.dtype == object for column in columns])
        return self._apart(columns)

    def _apart(self, columns: list[Array]) -> tuple[Array, list[Array]]:
        numbers = np.empty((len(columns[0]), int((~self._is_text).sum())))
        for at, i in enumerate(np.flatnonzero(~self._is_text)):
            if columns[i].dtype == object:
                name = getattr(self, "feature_names_in_", range(len(columns)))[i]
                raise InputError("X", f"column {name!r} must hold numbers as in fit", came="text")
            numbers[:, at] = columns[i]
        assert_all_finite(numbers, allow_nan=True, input_name="X")
        return numbers, [_objects(columns[i]) for i in np.flatnonzero(self._is_text)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        tags.input_tags.string = tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _read_series(series: nw.Series[Any]) -> Array:
    """One column of a dataframe: dates and durations become days, true and false become 1 and 0."""
    dtype = series.dtype
    if dtype in (nw.Date, nw.Datetime):
        return _floats(series.dt.timestamp("us")) / 86_400e6
    if dtype == nw.Duration:
        return _floats(series.dt.total_microseconds()) / 86_400e6
    if dtype.is_numeric() or dtype == nw.Boolean:
        return _floats(series)
    return _floats_or_objects(series.to_list(), dtype in (nw.Categorical, nw.Enum))


def _floats(series: nw.Series[Any]) -> Array:
    return series.cast(nw.Float64).to_numpy()


def _floats_or_objects(values: list[Any], nominal: bool = False) -> Array:
    """Floats, unless a value is neither a number nor missing."""
    levels = _objects(values)
    if nominal or not all(value is None or isinstance(value, NUMBERS) for value in levels):
        return levels
    return levels.astype(float)  # None becomes NaN


def _objects(values: Any) -> Array:
    """Values as objects, None where one is missing."""
    levels = (None if is_missing(value) else value for value in values)
    return np.fromiter(levels, dtype=object, count=len(values))


def _membership(y: Any, n_rows: int, texts: list[Array]) -> Array:
    """Rows x classes, 1 where the row has the class."""
    if y is None and texts:
        raise InputError("y", "must hold the classes where text='shares'", got=None)
    codes = np.zeros(n_rows, int) if y is None else np.unique(np.asarray(y), return_inverse=True)[1]
    return np.eye(codes.max() + 1)[codes]


# ---- columns of numbers and of text --------------------------------------------------------------


class NormalScores:
    """Numbers as standard normal quantiles at the share of rows below; ties count half."""

    def fit(self, numbers: Array) -> None:
        """Keep up to `KNOTS` values of each column with their scores."""
        self._columns = [self._knots(np.sort(column[~np.isnan(column)])) for column in numbers.T]

    def _knots(self, ordered: Array) -> tuple[Array, Array]:
        if not len(ordered):
            return np.zeros(1), np.zeros(1)
        knots = np.unique(ordered)
        if len(knots) > KNOTS:  # equidistant in the score
            furthest = ndtri(0.5 / len(ordered))
            ranks = ndtr(np.linspace(furthest, -furthest, KNOTS)) * len(ordered) - 0.5
            knots = np.unique(ordered[ranks.round().astype(np.intp)])
        below = np.searchsorted(ordered, knots)
        up_to = np.searchsorted(ordered, knots, side="right")
        return knots, ndtri((below + up_to) / 2 / len(ordered))

    def transform(self, numbers: Array) -> Array:
        """Scores of new numbers, interpolated."""
        pairs = zip(numbers.T, self._columns, strict=True)
        scores = [np.interp(column, knots, scores) for column, (knots, scores) in pairs]
        return np.stack(scores, axis=1).astype(numbers.dtype)


class Indicators:
    """One 0/1 column per frequent level, one for the others and one for missing values, if any."""

    def __init__(self, values: Array) -> None:
        counts = Counter(values)
        n_missing = counts.pop(None, 0)
        levels = [level for level, _ in counts.most_common(MOST_LEVELS)]
        self._codes: dict[Any, int] = dict(zip(levels, range(len(levels)), strict=True))
        n_columns = len(levels)
        self._other = n_columns if len(counts) > n_columns else -1  # -1 is no column
        n_columns += len(counts) > n_columns
        self._codes[None] = n_columns if n_missing else -1
        self._columns = np.eye(n_columns + (n_missing > 0) + 1)[:, :-1]

    def of_rows(self, values: Array) -> Array:
        """The columns of some rows."""
        return self._columns[[self._codes.get(value, self._other) for value in values]]


class Shares:
    """The share of each class among the rows of the level; of two classes, only the second's.

    A level has (counts + PRIOR_ROWS overall shares) / (rows + PRIOR_ROWS).
    """

    def __init__(self, values: Array, classes: Array) -> None:
        self._codes = {level: code for code, level in enumerate(dict.fromkeys(values))}
        counts = np.zeros((len(self._codes) + 1, classes.shape[1]))  # the last is for new levels
        np.add.at(counts, np.array([self._codes[value] for value in values], dtype=int), classes)
        overall = PRIOR_ROWS * classes.sum(axis=0) / max(len(classes), 1)
        shares = (counts + overall) / (counts.sum(axis=1, keepdims=True) + PRIOR_ROWS)
        self._shares = shares[:, -_n_columns(classes) :]

    def of_rows(self, values: Array) -> Array:
        """The columns of some rows."""
        return self._shares[[self._codes.get(value, len(self._codes)) for value in values]]


def _n_columns(classes: Array) -> int:
    return 1 if classes.shape[1] == 2 else classes.shape[1]
