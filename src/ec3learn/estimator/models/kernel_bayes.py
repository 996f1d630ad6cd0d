"""Naive Bayes with kernel density estimates, at the cost of a histogram.

The probability of a value x of a feature in a class is what a Gaussian kernel estimate puts into a
window around x:

    P(x | class) = (n integral of the estimate from x - w/2 to x + w/2 + s u) / (n + s)

The window w is the mean gap between the distinct values of the feature. Where values repeat, the
result is a share of rows; where they do not, it is the density up to a constant. So numbers, counts
and 0/1 columns are treated alike. The s pseudo-rows of `smoothing` are spread evenly over the
feature (u is their share in the window) and keep an outlier from deciding alone.

The estimate is a lookup table: each row is split between the two nearest points of a grid, the grid
is smoothed by one short convolution, and logarithms are interpolated between its points. Fitting
and predicting take time proportional to rows x features.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import ndtr, softmax

from ..._checks import require_number
from ..._typing import Array
from ..rows import check_weights
from .base import ProbabilisticClassifier

POINTS_PER_BANDWIDTH = 10  # the error of linear interpolation is then about 1/800
MOST_POINTS = 1 << 14  # of one table; a bandwidth too small for that many points is widened
WINDOW_IN_BANDWIDTHS = 6  # at most
REACH = 8.5  # bandwidths beyond which a kernel counts as 0
LEAST = np.log(np.finfo(float).tiny)


@dataclass(eq=False, repr=False)
class KernelNaiveBayes(ProbabilisticClassifier):
    """Naive Bayes with Gaussian kernel density estimates.

    A missing value (NaN) is left out: the other features of the row decide. Features need no
    scaling.

    Parameters
    ----------
    bandwidth : "scott" or float
        Width of the kernel, as a multiple of the standard deviation of the feature in the class:
        Scott's rule is n ** (-1/5), where n is the number of rows of the class.
    smoothing : float
        Number of pseudo-rows, spread evenly over the values of the feature, added to each class.
        They also stabilise the standard deviation of small classes. 0 is the plain estimate.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    class_prior_ : array of shape (n_classes,)
    bandwidth_ : array of shape (n_classes, n_features)
        Widths of the kernels, in the units of the features.
    window_ : array of shape (n_features,)
        Widths of the windows; 0 for a constant feature, which is ignored.

    Notes
    -----
    A row of weight 2 counts as two rows.

    Examples
    --------
    >>> from ec3learn.estimator import KernelNaiveBayes
    >>> X, y = [[0.0], [0.2], [4.0], [5.0], [5.2]], ["low", "low", "high", "high", "high"]
    >>> model = KernelNaiveBayes().fit(X, y)
    >>> model.predict([[0.1], [4.8]])
    array(['low', 'high'], dtype='<U4')
    """

    _dtype, _sparse, _allow_nan = np.float64, False, True

    bandwidth: str | float = "scott"
    smoothing: float = 0.1

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelNaiveBayes:
        """Estimate the densities from rows, in which NaN is a missing value, and their classes."""
        if self.bandwidth != "scott":
            require_number("bandwidth", self.bandwidth, above=0)
        require_number("smoothing", self.smoothing, least=0)
        X, y = self._check_rows(X, y, reset=True)
        weight = np.ones(len(X)) if sample_weight is None else check_weights(sample_weight, X)
        X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
        codes = self._encode_classes(y)
        counts = np.bincount(codes, weights=weight)
        self.class_prior_ = counts / counts.sum()
        shape = len(self.classes_), X.shape[1]
        self.bandwidth_, self.window_ = np.zeros(shape), np.zeros(X.shape[1])
        self._tables: list[list[_Table]] = []
        # Rows in the order of their classes, so that each class is a slice.
        order = np.argsort(codes, kind="stable")
        X, weight = X[order], weight[order]
        ends = [0, *np.cumsum(np.bincount(codes))]
        slices = [slice(*pair) for pair in pairwise(ends)]
        for feature in range(X.shape[1]):
            self._tables.append(self._fit_feature(feature, X[:, feature], weight, slices))
        return self

    def _predict_proba(self, X: Array) -> Array:
        return softmax(np.log(self.class_prior_) + self._log_likelihood(X), axis=1)

    def _multiple(self, n_rows: float) -> float:
        """The bandwidth as a multiple of the standard deviation."""
        return float(n_rows**-0.2) if self.bandwidth == "scott" else float(self.bandwidth)

    def _fit_feature(
        self, feature: int, values: Array, weight: Array, slices: list[slice]
    ) -> list[_Table]:
        """One table per class; none if the feature is constant."""
        there = ~np.isnan(values)
        distinct = np.unique(values[there])
        if len(distinct) < 2:
            return []
        spread = distinct[-1] - distinct[0]
        window = self.window_[feature] = spread / (len(distinct) - 1)
        overall = weighted_variance(values[there], weight[there])
        even = window / (spread + window)  # u
        tables = []
        for number, rows in enumerate(slices):
            inside, counts = values[rows][there[rows]], weight[rows][there[rows]]
            n_rows = counts.sum()
            total = n_rows + self.smoothing
            variance = n_rows * weighted_variance(inside, counts) if len(inside) else 0.0
            variance = (variance + self.smoothing * overall) / total if total else overall
            # Kernels much narrower than the window give the same answer, but need longer tables.
            width = max(
                self._multiple(max(n_rows, 1)) * np.sqrt(variance), window / WINDOW_IN_BANDWIDTHS
            )
            self.bandwidth_[number, feature] = width
            tables.append(_Table.of(inside, counts, width, window, self.smoothing * even, total))
        return tables

    def _log_likelihood(self, X: Array) -> Array:
        joint = np.zeros((len(X), len(self.classes_)))
        for feature, tables in enumerate(self._tables):
            column = X[:, feature]
            missing = np.isnan(column)
            if missing.any():
                column = np.where(missing, 0.0, column)
            for number, table in enumerate(tables):
                found = table.read(column)
                found[missing] = 0
                joint[:, number] += found
        return joint


def weighted_variance(values: Array, weight: Array) -> float:
    """The weighted mean squared distance from the weighted mean."""
    if not len(values):
        return 0.0
    scale = np.abs(values).max() or 1.0  # squares of huge numbers would overflow
    values = values / scale
    mean = np.average(values, weights=weight)
    return float(np.average((values - mean) ** 2, weights=weight) * scale**2)


@dataclass(frozen=True)
class _Table:
    """Log probabilities of a feature in a class at `low`, `low + step` ...; constant beyond."""

    low: float
    step: float
    logs: Array

    @classmethod
    def of(
        cls, values: Array, counts: Array, width: float, window: float, even: float, total: float
    ) -> _Table:
        """Make the table of (counts of rows near a point + even) / total."""
        if not len(values):
            return cls(0.0, 1.0, np.full(2, np.log(even / total) if even else LEAST))
        reach = REACH * width + window / 2
        step = max(width / POINTS_PER_BANDWIDTH, (np.ptp(values) + 2 * reach) / MOST_POINTS)
        margin = int(np.ceil(reach / step)) + 1
        low = values.min() - margin * step
        at, part = np.divmod((values - low) / step, 1)
        at = at.astype(np.intp)
        n_points = at.max() + 2 + margin
        binned = np.bincount(at, counts * (1 - part), n_points) + np.bincount(
            at + 1, counts * part, n_points
        )
        # Splitting rows between two points adds a variance of step ** 2 / 6 on average.
        narrowed = np.sqrt(width**2 - step**2 / 6) if width > step else width
        offsets = np.arange(-margin, margin + 1) * step
        kernel = ndtr((offsets + window / 2) / narrowed) - ndtr((offsets - window / 2) / narrowed)
        smooth = np.convolve(binned, kernel)[margin : margin + n_points]
        with np.errstate(divide="ignore"):
            logs = np.maximum(np.log(smooth + even) - np.log(total), LEAST)
        return cls(low, step, logs)

    def read(self, values: Array) -> Array:
        """The log probabilities of the values, interpolated between the points."""
        last = len(self.logs) - 1
        place = np.clip((values - self.low) / self.step, 0, last)
        at = np.minimum(place.astype(np.intp), last - 1)
        found = self.logs[at]
        return found + (place - at) * (self.logs[at + 1] - found)
