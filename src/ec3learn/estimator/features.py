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
MICROSECONDS_PER_DAY = 86_400e6
MOST_LEVELS = 30  # of a column of text that get a 0/1 column; the others share one
KNOTS = 256  # values per column whose normal scores are kept; scores between them are interpolated
FOLDS = 5  # a row gets the shares of its level from the other folds
PRIOR_ROWS = 10.0  # weight of the overall shares of the classes in those of a level
DENSE_COLUMNS = 256  # a sparse matrix with more columns is projected before it is made dense
PROJECTED_COLUMNS = 100


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
        Make a sparse matrix dense: directly up to 256 columns, else by a projection to 100
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
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Do `fit` and `transform` at once; a row does not count for its own shares."""
        if self.scale is not None:
            require_choice("scale", self.scale, ("normal", "standard"))
        require_choice("text", self.text, ("columns", "shares"))
        self._sparse = sparse.issparse(X)
        if self._sparse:
            return self._fit_sparse(X)
        numbers, texts = self._read(X, reset=True)
        missing = np.isnan(numbers)
        self._empty = missing.all(axis=0)
        self._marked = missing.any(axis=0) & (self.scale is not None)
        scalers = {None: None, "standard": StandardScaler(), "normal": NormalScores()}
        self._scaler = scalers[self.scale] if numbers.shape[1] else None
        if self._scaler is not None:
            self._scaler.fit(np.where(self._empty, 0, numbers))
        if self.text == "columns" or not texts:
            self._levels: list[Any] = [Indicators.of(values) for values in texts]
            return self._convert(numbers, [levels.of_rows(v) for levels, v in self._pairs(texts)])
        if y is None:
            raise InputError("y", "must hold the classes where text='shares'", got=None)
        fold = check_random_state(self.random_state).permutation(len(numbers)) % FOLDS
        codes = np.unique(y, return_inverse=True)[1]
        self._levels = [Shares.of(values, codes) for values in texts]
        shares = [levels.held_out(v, codes, fold) for levels, v in self._pairs(texts)]
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
            return self._of_sparse(X)
        numbers, texts = self._read(X, reset=False)
        return self._convert(numbers, [levels.of_rows(v) for levels, v in self._pairs(texts)])

    def _pairs(self, texts: list[Any]) -> Any:
        return zip(self._levels, texts, strict=True)

    def _fit_sparse(self, X: Any) -> Any:
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS)
        steps: list[Any] = ["passthrough"] if self.scale is None else [MaxAbsScaler()]
        if self.dense and X.shape[1] > DENSE_COLUMNS:
            n_components = min(PROJECTED_COLUMNS, X.shape[0])
            steps.append(TruncatedSVD(n_components, random_state=self.random_state))
        self._steps = make_pipeline(*steps).fit(X)
        return self._of_sparse(X)

    def _of_sparse(self, X: Any) -> Any:
        numbers = self._steps.transform(X)
        return numbers.toarray() if self.dense and sparse.issparse(numbers) else numbers

    def _convert(self, numbers: Array, of_texts: list[Array]) -> Array:
        """Numbers, marks of missing ones, and what became of text, side by side."""
        scaled = numbers if self._scaler is None else self._scaler.transform(numbers)
        missing = np.isnan(numbers)
        # Without a scale NaN stays, except in columns of nothing else: an error in trees.
        scaled = np.where(missing & (self._empty | (self.scale is not None)), 0, scaled)
        marks = missing[:, self._marked]
        return np.hstack([scaled, marks, *of_texts], dtype=scaled.dtype, casting="unsafe")

    # ---- reading ---------------------------------------------------------------------------------

    def _read(self, X: Any, reset: bool) -> tuple[Array, list[Any]]:
        """Columns of numbers as one array, and each column of text; `fit` decides which is what."""
        frame = frame_of(X)
        if frame is None and np.asarray(X).dtype.kind not in "OUS":
            finite: Any = "allow-nan"
            numbers = validate_data(self, X, dtype=FLOATS, ensure_all_finite=finite, reset=reset)
            if reset:
                self._is_text = np.zeros(numbers.shape[1], dtype=bool)
            if not self._is_text.any():
                return numbers, []
            columns = list(numbers.T)
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

    def _apart(self, columns: list[Array]) -> tuple[Array, list[Any]]:
        numbers = np.empty((len(columns[0]), int((~self._is_text).sum())))
        for at, i in enumerate(np.flatnonzero(~self._is_text)):
            if columns[i].dtype == object:
                name = getattr(self, "feature_names_in_", range(len(columns)))[i]
                raise InputError("X", f"column {name!r} must hold numbers as in fit", came="text")
            numbers[:, at] = columns[i]
        assert_all_finite(numbers, allow_nan=True, input_name="X")
        return numbers, [_levels_of(columns[i]) for i in np.flatnonzero(self._is_text)]

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
        return _floats(series.dt.timestamp("us")) / MICROSECONDS_PER_DAY
    if dtype == nw.Duration:
        return _floats(series.dt.total_microseconds()) / MICROSECONDS_PER_DAY
    if dtype.is_numeric() or dtype == nw.Boolean:
        return _floats(series)
    return _floats_or_objects(series.to_list(), dtype in (nw.Categorical, nw.Enum))


def _floats(series: nw.Series[Any]) -> Array:
    return series.cast(nw.Float64).to_numpy()


def _floats_or_objects(values: list[Any], nominal: bool = False) -> Array:
    """Floats, unless a value is neither a number nor missing."""
    levels = _levels_of(values)
    if nominal or not all(value is None or isinstance(value, NUMBERS) for value in levels):
        return np.fromiter(levels, dtype=object, count=len(levels))
    return np.array([np.nan if value is None else float(value) for value in levels])


def _levels_of(values: Any) -> list[Any]:
    return [None if is_missing(value) else value for value in values]


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


@dataclass(frozen=True)
class Indicators:
    """One 0/1 column per level; the others share the column `other`, or have none (-1)."""

    codes: dict[Any, int]  # the column of each level; None is the level of missing values
    other: int
    n_columns: int

    @classmethod
    def of(cls, values: list[Any]) -> Indicators:
        """Give the most frequent levels columns of their own."""
        counts = Counter(values)
        n_missing = counts.pop(None, 0)
        codes: dict[Any, int] = {
            level: code for code, (level, _) in enumerate(counts.most_common(MOST_LEVELS))
        }
        other = len(codes) if len(counts) > len(codes) else -1
        n_columns = len(codes) + (other >= 0)
        codes[None] = n_columns if n_missing else -1
        return cls(codes, other, n_columns + (n_missing > 0))

    def of_rows(self, values: list[Any]) -> Array:
        """The columns of some rows."""
        codes = [self.codes.get(value, self.other) for value in values]
        return np.eye(self.n_columns + 1)[codes][:, :-1]  # -1 is the last row


@dataclass(frozen=True)
class Shares:
    """The share of each class among the rows of the level; of two classes, only the second's."""

    codes: dict[Any, int]
    counts: Array  # levels x classes; the last row stands for new levels

    @classmethod
    def of(cls, values: list[Any], classes: Array) -> Shares:
        """Count the classes of each level."""
        codes = {level: code for code, level in enumerate(dict.fromkeys(values))}
        counts = np.zeros((len(codes) + 1, int(classes.max()) + 1))
        np.add.at(counts, (np.array([codes[value] for value in values]), classes), 1)
        return cls(codes, counts)

    def of_rows(self, values: list[Any]) -> Array:
        """The columns of some rows."""
        return _smooth(self.counts)[self._encode(values)]

    def held_out(self, values: list[Any], classes: Array, fold: Array) -> Array:
        """The columns of rows in `fit`, each from the other folds."""
        levels, columns = self._encode(values), _smooth(self.counts)
        out = np.empty((len(levels), columns.shape[1]))
        for number in range(FOLDS):
            rows = np.flatnonzero(fold == number)
            others = self.counts.copy()
            np.subtract.at(others, (levels[rows], classes[rows]), 1)
            out[rows] = _smooth(others)[levels[rows]]
        return out

    def _encode(self, values: list[Any]) -> Array:
        return np.array([self.codes.get(value, len(self.codes)) for value in values])


def _smooth(counts: Array) -> Array:
    """(counts + PRIOR_ROWS overall shares) / (rows + PRIOR_ROWS) of each level."""
    overall = counts.sum(axis=0)
    overall = overall / overall.sum() if overall.any() else np.full(len(overall), 1 / len(overall))
    shares = (counts + PRIOR_ROWS * overall) / (counts.sum(axis=1, keepdims=True) + PRIOR_ROWS)
    return shares[:, 1:] if shares.shape[1] == 2 else shares
