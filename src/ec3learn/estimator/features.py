"""From a raw table to numbers: what the models of the pools do before they learn.

Numbers stay numbers (scaled or not), true and false become 1 and 0, dates become days, and text becomes one 0/1 column a level or
the share of each class among the rows of the level. An array of numbers takes a short way: it is scaled, and that is all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import ndtr, ndtri
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from .._checks import require_integer
from ..votes.labels import is_missing
from ..votes.reading import frame_of

Array = npt.NDArray[Any]

KNOTS = 256  # values of a column whose normal scores are kept; between them lie straight lines
DENSE_COLUMNS = 256  # a sparse table with more columns is projected before it is made dense
PROJECTED_COLUMNS = 100
FOLDS = 5  # rows learn the shares of their levels from the other folds
PRIOR_ROWS = 10.0  # rows of the overall mix that each level's shares start from
NUMBERS = (int, float, bool, np.number, np.bool_, Decimal)
MISSING = ("NoneType", "NAType", "NaTType")  # types whose values are all missing
MICROSECONDS_A_DAY = 86_400e6
CHOICES: dict[str, tuple[str | None, ...]] = {
    "scale": ("standard", "normal", None),
    "text": ("columns", "shares"),
    "missing": ("fill", "keep"),
}


class Features(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turn a raw table into numbers.

    The table is a dataframe (pandas, polars, Arrow), an array or a sparse matrix; its columns hold numbers, true and false,
    dates, text, categories, and missing values. Levels and missing values that were not there in `fit` are no error.

    Parameters
    ----------
    scale : "standard", "normal", or None
        "standard" makes mean 0 and standard deviation 1 of each column of numbers; "normal" gives each number the quantile of the
        standard normal distribution at its rank, so that no shape of a column and no far value matters. Neither touches 0/1
        columns made from text. Sparse matrices are not centred: each column is divided by its largest number.
    text : "columns" or "shares"
        What a column of text becomes: a 0/1 column for each of its levels, or the share of each class among the rows of its level
        (this needs `y`; in `fit_transform` a row's shares come from other rows than itself).
    missing : "fill" or "keep"
        "fill" puts the middle of the column and adds a 0/1 column that says where; "keep" leaves NaN, except in columns
        without a single number in `fit`, which are 0. In text, missing is a level.
    max_levels : int
        How many levels of a column of text get 0/1 columns of their own, the most frequent first; the others share one.
    dense : bool
        Whether a sparse matrix is made dense: as it is up to 256 columns, projected to 100 (truncated SVD) beyond.
    random_state : int, RandomState instance, or None
        Seed of the folds of "shares" and of the projection.

    Attributes
    ----------
    text_columns_ : list
        Names (numbers for an array) of the columns that were taken for text.

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

    _sparse: bool  # whether fit saw a sparse matrix
    _texts: list[int]  # where the columns of text are
    _levels: Sequence[_Indicators | _Shares]

    def __init__(
        self,
        scale: str | None = "standard",
        text: str = "columns",
        missing: str = "fill",
        max_levels: int = 30,
        dense: bool = False,
        random_state: Any = None,
    ) -> None:
        self.scale = scale
        self.text = text
        self.missing = missing
        self.max_levels = max_levels
        self.dense = dense
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Features:
        """Learn the scales and levels.

        Parameters
        ----------
        X : dataframe, array or sparse matrix of shape (n_samples, n_features)
            The table.
        y : array of shape (n_samples,), or None
            Classes; only text="shares" looks at them.

        Returns
        -------
        Features
            Itself.
        """
        self._learn(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn from the table and turn it into numbers.

        Parameters
        ----------
        X : dataframe, array or sparse matrix of shape (n_samples, n_features)
            The table.
        y : array of shape (n_samples,), or None
            Classes; only text="shares" looks at them.

        Returns
        -------
        array or sparse matrix of shape (n_samples, n_columns)
        """
        table = self._learn(X, y)
        if not isinstance(table, _Columns):
            return self._scaled_sparse(table)
        fold = None
        if self.text == "shares" and table.text:
            fold = check_random_state(self.random_state).permutation(len(table.numbers)) % FOLDS
        return self._converted(table, fold, None if fold is None else np.unique(y, return_inverse=True)[1])

    def transform(self, X: Any) -> Any:
        """Turn a table into numbers.

        Parameters
        ----------
        X : dataframe, array or sparse matrix of shape (n_samples, n_features)
            The table.

        Returns
        -------
        array or sparse matrix of shape (n_samples, n_columns)
        """
        check_is_fitted(self)
        table = self._read(X, reset=False)
        return self._converted(table) if isinstance(table, _Columns) else self._scaled_sparse(table)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the columns that `transform` makes.

        Parameters
        ----------
        input_features : sequence of str, or None
            Names of the columns of the table, if it had none.

        Returns
        -------
        array of str
        """
        check_is_fitted(self)
        names = list(_check_feature_names_in(self, input_features))
        if self._projection is not None:
            return np.array([f"component_{i}" for i in range(self._projection.n_components)], dtype=object)
        out = [names[i] for i in self._numbers]
        out += [f"{names[self._numbers[i]]} missing" for i in self._holes]
        for column, levels in zip(self._texts, self._levels, strict=True):
            out += levels.names(names[column])
        return np.array(out, dtype=object)

    # ---- learning ----------------------------------------------------------------------------------------------------

    def _learn(self, X: Any, y: Any) -> Any:
        self._check()
        table = self._read(X, reset=True)
        self._projection: Any = None
        if not isinstance(table, _Columns):
            self._learn_sparse(table)
            return table
        if self.text == "shares" and table.text and y is None:
            raise ValueError("y must hold the classes where text='shares', got None. Pass y, or take text='columns'.")
        self._centre, self._width = _means_and_deviations(table.numbers)
        self._scores = [_normal_scores(column) for column in table.numbers.T] if self.scale == "normal" else []
        missing = np.isnan(table.numbers)
        self._empty = missing.all(axis=0)
        self._holes = np.flatnonzero(missing.any(axis=0)) if self.missing == "fill" else np.empty(0, dtype=np.intp)
        self._levels = self._levels_of(table.text, y)
        return table

    def _check(self) -> None:
        for name, allowed in CHOICES.items():
            value = getattr(self, name)
            if value not in allowed:
                raise ValueError(f"Unknown {name} {value!r}. Choose from: {', '.join(map(str, allowed))}.")
        require_integer("max_levels", self.max_levels, 1)

    def _levels_of(self, text: list[list[Any]], y: Any) -> Sequence[_Indicators | _Shares]:
        if self.text == "columns" or not text:
            return [_Indicators.of(values, self.max_levels) for values in text]
        classes, codes = np.unique(y, return_inverse=True)
        return [_Shares.of(values, classes, codes) for values in text]

    def _learn_sparse(self, X: Any) -> None:
        self._numbers, self._texts, self._levels = np.arange(X.shape[1]), [], []
        self._holes = np.empty(0, dtype=np.intp)
        self.text_columns_: list[Any] = []
        largest = abs(X).max(axis=0).toarray().ravel()
        self._width = np.where(largest > 0, largest, 1.0).astype(X.dtype)
        if self.dense and X.shape[1] > DENSE_COLUMNS:
            n_columns = min(PROJECTED_COLUMNS, X.shape[0])
            self._projection = TruncatedSVD(n_columns, algorithm="randomized", random_state=self.random_state)
            self._projection.fit(self._divided(X))

    # ---- reading -----------------------------------------------------------------------------------------------------

    def _read(self, X: Any, reset: bool) -> Any:
        """Return the table as columns of numbers and of text, or as a sparse matrix."""
        if not reset and sparse.issparse(X) != self._sparse:
            kinds = ("a dense table", "a sparse matrix")
            raise TypeError(f"X must be {kinds[self._sparse]} as in fit, got {kinds[not self._sparse]}.")
        if reset:
            self._sparse = sparse.issparse(X)
        if self._sparse:
            return validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=reset)
        frame = frame_of(X)
        if frame is not None:
            validate_data(self, X, skip_check_array=True, reset=reset)
            if 0 in frame.shape:
                raise ValueError(f"X must have at least one row and one column, got shape {frame.shape}.")
            return self._sorted_out([_column_of(series) for series in frame.iter_columns()], reset)
        array = np.asarray(X)
        if array.dtype.kind in "OUS":
            if not isinstance(X, np.ndarray):
                array = np.array(X, dtype=object)  # numpy makes text of numbers beside text
            array = validate_data(self, array, dtype=None, ensure_all_finite=False, reset=reset)
            return self._sorted_out([_Column(column.tolist()) for column in array.T], reset)
        numbers = validate_data(self, X, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan", reset=reset)
        if reset:
            self._numbers, self._texts, self.text_columns_ = np.arange(numbers.shape[1]), [], []
        if self._texts:
            return self._sorted_out([_Column(column) for column in numbers.T], reset)
        return _Columns(numbers, [])

    def _sorted_out(self, columns: list[_Column], reset: bool) -> _Columns:
        """Return columns of numbers and of text apart; which is which is decided in fit."""
        names = list(getattr(self, "feature_names_in_", range(len(columns))))
        if reset:
            text = [column.is_text(name) for column, name in zip(columns, names, strict=True)]
            self._numbers, self._texts = np.flatnonzero(~np.array(text)), np.flatnonzero(text).tolist()
            self.text_columns_ = [names[i] for i in self._texts]
        numbers = np.empty((len(columns[0].values), len(self._numbers)))
        for j, i in enumerate(self._numbers):
            numbers[:, j] = columns[i].numbers(names[i])
        return _Columns(numbers, [list(columns[i].values) for i in self._texts])

    # ---- converting --------------------------------------------------------------------------------------------------

    def _converted(self, table: _Columns, fold: Array | None = None, classes: Array | None = None) -> Array:
        """Return numbers, where they were missing, and text; folds and classes are given for rows learned from."""
        numbers = self._scaled(table.numbers)
        holes = np.isnan(table.numbers[:, self._holes])
        if not table.text and not holes.shape[1]:
            return numbers
        n_columns = numbers.shape[1] + holes.shape[1] + sum(levels.n_columns for levels in self._levels)
        out = np.zeros((len(numbers), n_columns), dtype=numbers.dtype)
        out[:, : numbers.shape[1]] = numbers
        start: int = numbers.shape[1] + holes.shape[1]
        out[:, numbers.shape[1] : start] = holes
        for levels, values in zip(self._levels, table.text, strict=True):
            levels.write(values, out[:, start : start + levels.n_columns], fold, classes)
            start += levels.n_columns
        return out

    def _scaled(self, numbers: Array) -> Array:
        if self.scale == "standard":
            numbers = (numbers - self._centre) / self._width
        elif self.scale == "normal":
            scaled = np.empty_like(numbers)
            for j, (knots, scores) in enumerate(self._scores):
                scaled[:, j] = np.interp(numbers[:, j], knots, scores)
            numbers = scaled
        missing = np.isnan(numbers)
        if self.missing == "keep":
            missing &= self._empty  # a column that never held a number is 0: trees would stumble over it
        if missing.any():
            numbers = np.where(missing, np.zeros_like(self._centre) if self.scale else self._centre, numbers)
        return numbers

    def _scaled_sparse(self, X: Any) -> Any:
        X = self._divided(X)
        if self._projection is not None:
            return self._projection.transform(X)
        return X.toarray() if self.dense else X

    def _divided(self, X: Any) -> Any:
        return X if self.scale is None else (X @ sparse.diags_array(1 / self._width, dtype=X.dtype)).tocsr()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        tags.input_tags.string = tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


@dataclass(frozen=True)
class _Columns:
    """A table apart: its numbers as one array, and each column of text as a list."""

    numbers: Array
    text: list[list[Any]]


# ---- columns of text -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Indicators:
    """A 0/1 column a level; a level that has none of its own falls to `other`, if there is such a column, or to no column."""

    codes: dict[Any, int]  # None is the level of missing values
    labels: list[str]
    other: int

    @classmethod
    def of(cls, values: list[Any], most: int) -> _Indicators:
        counts = Counter(values)
        levels = [level for level, _ in counts.most_common() if not is_missing(level)]
        codes: dict[Any, int] = {level: code for code, level in enumerate(levels[:most])}
        labels = [f"={level}" for level in codes]
        other = -1
        if len(levels) > most:
            other = len(labels)
            labels.append("=other")
        codes[None] = -1
        if any(map(is_missing, counts)):
            codes[None] = len(labels)
            labels.append(" missing")
        return cls(codes, labels, other)

    @property
    def n_columns(self) -> int:
        return len(self.labels)

    def names(self, column: str) -> list[str]:
        return [f"{column}{label}" for label in self.labels]

    def write(self, values: list[Any], out: Array, fold: Array | None, classes: Array | None) -> None:
        codes = _coded(values, self.codes, self.other)
        known = np.flatnonzero(codes >= 0)
        out[known, codes[known]] = 1


@dataclass(frozen=True)
class _Shares:
    """The share of each class among the rows of a level; of two classes, the second's."""

    codes: dict[Any, int]  # None is the level of missing values
    counts: Array  # levels x classes; the last row is of levels that were not there
    classes: Array

    @classmethod
    def of(cls, values: list[Any], classes: Array, codes: Array) -> _Shares:
        levels = {None if is_missing(level) else level: None for level in dict.fromkeys(values)}
        numbers = {level: number for number, level in enumerate(levels)}
        counts = _counted(_coded(values, numbers, len(numbers)), codes, (len(numbers) + 1, len(classes)))
        return cls(numbers, counts, classes)

    @property
    def n_columns(self) -> int:
        return len(self.classes[self._shown])

    @property
    def _shown(self) -> slice:
        return slice(1, None) if len(self.classes) == 2 else slice(None)

    def names(self, column: str) -> list[str]:
        return [f"{column}: share of {label}" for label in self.classes[self._shown]]

    def write(self, values: list[Any], out: Array, fold: Array | None, classes: Array | None) -> None:
        levels = _coded(values, self.codes, len(self.codes))
        if fold is None or classes is None:
            out[:] = _smoothed(self.counts)[levels, self._shown]
            return
        for number in range(FOLDS):  # what a row says about its level is kept from itself
            rows = np.flatnonzero(fold == number)
            others = self.counts - _counted(levels[rows], classes[rows], self.counts.shape)
            out[rows] = _smoothed(others)[levels[rows], self._shown]


def _coded(values: list[Any], codes: dict[Any, int], other: int) -> Array:
    """Return the code of each value, `other` for those without one."""
    code_of = {value: codes.get(None if is_missing(value) else value, other) for value in set(values)}
    return np.fromiter(map(code_of.__getitem__, values), dtype=np.intp, count=len(values))


def _counted(levels: Array, classes: Array, shape: tuple[int, ...]) -> Array:
    return np.bincount(levels * shape[1] + classes, minlength=shape[0] * shape[1]).reshape(shape).astype(float)


def _smoothed(counts: Array) -> Array:
    mix = counts.sum(axis=0)
    mix = mix / mix.sum() if mix.any() else np.full(len(mix), 1 / len(mix))
    return (counts + PRIOR_ROWS * mix) / (counts.sum(axis=1, keepdims=True) + PRIOR_ROWS)


# ---- columns of numbers ----------------------------------------------------------------------------------------------


def _means_and_deviations(numbers: Array) -> tuple[Array, Array]:
    """Return the mean and the standard deviation of each column: 1 if it is constant, 0 and 1 if it has no number at all."""
    missing = np.isnan(numbers)
    there = np.maximum((~missing).sum(axis=0), 1)
    known = np.where(missing, 0, numbers).astype(np.float64, copy=False)
    mean = known.sum(axis=0) / there
    deviation = np.sqrt((np.where(missing, 0, known - mean) ** 2).sum(axis=0) / there)
    constant = deviation <= 10 * np.finfo(numbers.dtype).eps * np.abs(known).max(axis=0)  # but for rounding
    return mean.astype(numbers.dtype), np.where(constant, 1, deviation).astype(numbers.dtype)


def _normal_scores(column: Array) -> tuple[Array, Array]:
    """Return values of the column and the normal quantile at the share of rows below each, equal ones counted half."""
    ordered = np.sort(column[~np.isnan(column)])
    if not len(ordered):
        return np.zeros(1), np.zeros(1)
    knots = np.unique(ordered)
    if len(knots) > KNOTS:
        furthest = ndtri(0.5 / len(ordered))
        ranks = ndtr(np.linspace(furthest, -furthest, KNOTS)) * len(ordered) - 0.5  # steps of equal height
        knots = np.unique(ordered[ranks.round().astype(np.intp)])
    below, up_to = np.searchsorted(ordered, knots), np.searchsorted(ordered, knots, side="right")
    return knots, ndtri((below + up_to) / 2 / len(ordered))


# ---- reading columns -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Column:
    """One column as it came: floats, or a list of anything."""

    values: Array | list[Any]
    nominal: bool = False  # said to be so by the type of the column

    def is_text(self, name: Any) -> bool:
        """Return whether the column has to be taken for text; one without any value is not."""
        return self.nominal or bool(self._strange_kinds(name))

    def numbers(self, name: Any) -> Array:
        """Return the values as floats."""
        values = self.values
        if not isinstance(values, np.ndarray):
            if self._strange_kinds(name):
                strange = next(value for value in values if not isinstance(value, NUMBERS) and not is_missing(value))
                raise ValueError(f"X column {name!r} must hold numbers as in fit, got {strange!r}.")
            values = np.array([np.nan if is_missing(value) else float(value) for value in values])
        if np.isinf(values).any():
            raise ValueError(f"X column {name!r} must hold finite numbers or missing values, got an infinite one.")
        return values

    def _strange_kinds(self, name: Any) -> list[type]:
        """Return the types of values that are neither numbers nor missing."""
        if isinstance(self.values, np.ndarray):
            return []
        kinds = [kind for kind in set(map(type, self.values)) if not issubclass(kind, NUMBERS) and kind.__name__ not in MISSING]
        for kind in kinds:
            if kind.__hash__ is None:
                raise TypeError(f"X column {name!r} must hold numbers, text, dates or missing values, got a {kind.__name__}.")
        return kinds


def _column_of(series: nw.Series[Any]) -> _Column:
    """Read one column of a dataframe."""
    dtype = series.dtype
    if dtype in (nw.Date, nw.Datetime):
        return _Column(_floats(series.dt.timestamp("us")) / MICROSECONDS_A_DAY)
    if dtype == nw.Duration:
        return _Column(_floats(series.dt.total_microseconds()) / MICROSECONDS_A_DAY)
    if dtype.is_numeric() or dtype == nw.Boolean:
        return _Column(_floats(series))
    return _Column(series.to_list(), nominal=dtype in (nw.Categorical, nw.Enum))


def _floats(series: nw.Series[Any]) -> Array:
    return series.cast(nw.Float64).to_numpy()
