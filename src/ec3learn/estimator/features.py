"""Features: a transformer that turns any raw table into numbers.

Numbers stay numbers (scaled or not), true and false become 1 and 0, dates become days, and text
becomes one 0/1 column per level or one column with the number of the level.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Number
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse
from scipy.special import ndtri
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import check_is_fitted

from .._checks import require_choice
from .._typing import Array
from ..votes.labels import is_missing
from ..votes.reading import frame_of
from .rows import FLOATS, check_table

DENSE_COLUMNS = 100  # a sparse matrix with more columns is projected to so many
NUMBERS = (Number, np.bool_, type(None))


@dataclass(eq=False, repr=False)
class Features(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turn a raw table into numbers.

    The table is a dataframe (pandas, polars, Arrow), an array or a sparse matrix. Its columns hold
    numbers, booleans, dates, text, categories and missing values. Levels and missing values that
    did not occur in `fit` are no error. Columns without any value are left out.

    Parameters
    ----------
    scale : "standard", "normal", or None
        "standard" scales each column of numbers to mean 0 and standard deviation 1. "normal"
        replaces each number by the standard normal quantile at its rank, so neither outliers nor
        the shape of the distribution matter. Both replace a missing number by 0, and add a 0/1
        column that marks it. None leaves numbers, and NaN, as they are. Columns of sparse matrices
        are divided by their largest absolute value.
    text : "columns" or "codes"
        What a column of text becomes: one 0/1 column per level (30 at most, the others share one),
        or the numbers of its levels in the order of the alphabet, which suits trees; -1 is a level
        that `fit` did not see.
    dense : bool
        Make a sparse matrix dense: directly up to 100 columns, else by a projection to 100
        (truncated SVD).
    random_state : int, RandomState instance, or None
        Seed of the projection.

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

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the scales and levels of a table; `y` is ignored."""
        if self.scale is not None:
            require_choice("scale", self.scale, ("normal", "standard"))
        require_choice("text", self.text, ("columns", "codes"))
        self._sparse = sparse.issparse(X)
        numbers, texts = self._read(X, reset=True)
        encoder = OneHotEncoder(
            max_categories=31, handle_unknown="infrequent_if_exist", sparse_output=False
        )
        if self.text == "codes":
            encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
        self._steps = [self._scaler(numbers), encoder]
        for step, part in zip(self._steps, (numbers, texts), strict=True):
            if part.shape[1]:
                step.fit(part)
        return self

    def transform(self, X: Any) -> Any:
        """A table like the one passed to `fit` as numbers: an array or a sparse matrix."""
        check_is_fitted(self)
        pairs = zip(self._steps, self._read(X), strict=True)
        parts = [step.transform(part) for step, part in pairs if part.shape[1]]
        if self._sparse:
            return parts[0].toarray() if self.dense and sparse.issparse(parts[0]) else parts[0]
        return np.hstack(parts, dtype=parts[0].dtype, casting="unsafe")

    def _scaler(self, numbers: Any) -> Any:
        """What becomes of the numbers."""
        if self._sparse:
            steps = [FunctionTransformer() if self.scale is None else MaxAbsScaler()]
            if self.dense and numbers.shape[1] > DENSE_COLUMNS:
                most = min(DENSE_COLUMNS, numbers.shape[0])
                steps.append(TruncatedSVD(most, random_state=self.random_state))
            return make_pipeline(*steps)
        if self.scale is None:
            return FunctionTransformer()
        scaler = StandardScaler()
        if self.scale == "normal":
            knots = [normal_knots(column[~np.isnan(column)]) for column in numbers.T]
            scaler = FunctionTransformer(normal_scores, kw_args={"knots": knots})
        fill = SimpleImputer(strategy="constant", fill_value=0, add_indicator=True)
        return make_pipeline(scaler, fill)

    def _read(self, X: Any, reset: bool = False) -> tuple[Any, Array]:
        """The columns of numbers, and those of text; `fit` decides which is what."""
        X = check_table(self, X, reset)
        if self._sparse:
            dtype = X.dtype if X.dtype in FLOATS else float
            return sparse.csr_array(X, dtype=dtype), np.empty((X.shape[0], 0))
        columns = read_columns(X.toarray() if sparse.issparse(X) else X)
        if reset:
            is_text = np.array([column.dtype == object for column in columns])
            self._texts = np.flatnonzero(is_text)
            self._numbers = [j for j in np.flatnonzero(~is_text) if not np.isnan(columns[j]).all()]
        numbers = np.array([columns[j] for j in self._numbers])
        assert_all_finite(numbers, allow_nan=True, input_name="X")
        texts = np.array([columns[j] for j in self._texts], dtype=object)
        n_rows = X.shape[0]
        return numbers.reshape(-1, n_rows).T, texts.reshape(-1, n_rows).T

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        tags.input_tags.string = tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


# ---- columns of a table --------------------------------------------------------------------------


def read_columns(X: Any) -> list[Array]:
    """Each column as floats, NaN where one is missing, or as text, None where it is missing."""
    frame = frame_of(X)
    if frame is not None:
        return [_read_series(series) for series in frame.iter_columns()]
    if X.dtype.kind in "OUS":
        return [_floats_or_text(column.tolist()) for column in X.T]
    return list(X.T.astype(X.dtype if X.dtype in FLOATS else float))


def _read_series(series: nw.Series[Any]) -> Array:
    """One column of a dataframe: dates and durations become days, true and false become 1 and 0."""
    dtype = series.dtype
    if dtype in (nw.Date, nw.Datetime):
        return series.dt.timestamp("us").cast(nw.Float64).to_numpy() / 86_400e6
    if dtype == nw.Duration:
        return series.dt.total_microseconds().cast(nw.Float64).to_numpy() / 86_400e6
    if dtype.is_numeric() or dtype == nw.Boolean:
        return series.cast(nw.Float64).to_numpy()
    values = series.to_list()
    has_text = dtype == nw.String and not series.is_null().all()
    if has_text or dtype in (nw.Categorical, nw.Enum):
        texts = {value: None if is_missing(value) else str(value) for value in set(values)}
        return np.array([texts[value] for value in values], dtype=object)
    return _floats_or_text(values)


def _floats_or_text(values: list[Any]) -> Array:
    """Floats, unless a value is neither a number nor missing."""
    values = [None if is_missing(value) else value for value in values]
    if not all(isinstance(value, NUMBERS) for value in values):
        return np.array([None if value is None else str(value) for value in values], dtype=object)
    return np.array(values, dtype=float)  # None becomes NaN


def normal_knots(values: Array) -> tuple[Array, Array]:
    """Up to 256 values, and the normal quantiles at the shares of rows below; ties count half."""
    knots, counts = np.unique(values, return_counts=True)
    scores = ndtri((counts.cumsum() - counts / 2) / counts.sum())
    if len(knots) <= 256:
        return knots, scores
    kept = np.unique(scores.searchsorted(np.linspace(scores[0], scores[-1], 256)))
    return knots[kept], scores[kept]


def normal_scores(X: Array, knots: list[tuple[Array, Array]]) -> Array:
    """The scores of numbers, interpolated between the knots of their columns."""
    columns = [np.interp(column, *pair) for column, pair in zip(X.T, knots, strict=True)]
    return np.stack(columns, axis=1).astype(X.dtype)
