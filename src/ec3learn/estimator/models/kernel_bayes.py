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
from typing import Any

import numpy as np
from scipy.special import ndtr, softmax
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ..._checks import require_number
from ..._typing import Array
from ..rows import ProbableClass, check_weights

LEAST = np.log(np.finfo(float).tiny)

Points = tuple[Array, Array]  # values of a feature, and their log probabilities in a class


@dataclass(eq=False, repr=False)
class KernelNaiveBayes(ProbableClass, BaseEstimator):  # type: ignore[misc]
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

    bandwidth: str | float = "scott"
    smoothing: float = 0.1

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelNaiveBayes:
        """Estimate the densities from rows, in which NaN is a missing value, and their classes."""
        if self.bandwidth != "scott":
            require_number("bandwidth", self.bandwidth, above=0)
        require_number("smoothing", self.smoothing, least=0)
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan")
        check_classification_targets(y)
        weight = check_weights(sample_weight, X)
        X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
        self.classes_, codes = np.unique(y, return_inverse=True)
        counts = np.bincount(codes, weights=weight)
        self.class_prior_ = counts / counts.sum()
        self._points = [self._fit_feature(column, weight, codes) for column in X.T]
        return self

    def _fit_feature(self, values: Array, weight: Array, codes: Array) -> list[Points]:
        """The points of each class; none if the feature is constant."""
        there = ~np.isnan(values)
        values, weight, codes = values[there], weight[there], codes[there]
        n_distinct = len(np.unique(values))
        if n_distinct < 2:
            return []
        spread = np.ptp(values)
        window = spread / (n_distinct - 1)
        pseudo_rows = self.smoothing * window / (spread + window)  # s u
        overall = self.smoothing * np.cov(values, aweights=weight, ddof=0)
        points = []
        for z in range(len(self.classes_)):
            inside, counts = values[codes == z], weight[codes == z]
            n_rows = counts.sum()
            total = n_rows + self.smoothing
            variance = np.cov(inside, aweights=counts, ddof=0) if len(inside) else 0.0
            variance = (n_rows * variance + overall) / max(total, np.finfo(float).tiny)
            multiple = max(n_rows, 1) ** -0.2 if self.bandwidth == "scott" else self.bandwidth
            # Kernels narrower than a sixth of the window give the same answer, but longer tables.
            width = max(multiple * np.sqrt(variance), window / 6)
            at, near = rows_near(inside, counts, width, window)
            with np.errstate(divide="ignore", invalid="ignore"):
                points.append((at, np.fmax(np.log((near + pseudo_rows) / total), LEAST)))
        return points

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities of rows, rows x classes."""
        check_is_fitted(self)
        finite: Any = "allow-nan"
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite=finite, reset=False)
        joint = np.tile(np.log(self.class_prior_), (len(X), 1))
        for column, points in zip(X.T, self._points, strict=True):
            for z, (at, logs) in enumerate(points):
                joint[:, z] += np.nan_to_num(np.interp(column, at, logs))  # 0 where it is missing
        return softmax(joint, axis=1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def rows_near(values: Array, counts: Array, width: float, window: float) -> Points:
    """Points of a grid, and how many rows the kernel estimate has in the window around each."""
    if not len(values):
        return np.zeros(1), np.zeros(1)
    reach = 8.5 * width + window / 2  # a kernel counts as 0 beyond it
    # With ten points per bandwidth linear interpolation errs by 1/800. Tables have 2^14 at most.
    step = max(width / 10, (np.ptp(values) + 2 * reach) / 2**14)
    margin = int(np.ceil(reach / step)) + 1
    low = values.min() - margin * step
    part, left = np.modf((values - low) / step)
    left = left.astype(np.intp)
    n_points = left.max() + 2 + margin
    binned = np.bincount(left, counts * (1 - part), n_points)
    binned += np.bincount(left + 1, counts * part, n_points)
    # Splitting rows between two points adds a variance of step ** 2 / 6 on average.
    narrowed = np.sqrt(width**2 - step**2 / 6) if width > step else width
    offsets = np.arange(-margin, margin + 1) * step
    kernel = ndtr((offsets + window / 2) / narrowed) - ndtr((offsets - window / 2) / narrowed)
    smooth = np.convolve(binned, kernel)[margin : margin + n_points]
    return low + step * np.arange(n_points), smooth
