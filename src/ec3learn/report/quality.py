"""How good an answer is, by labels it was not given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import binomtest

from ..tuning import mean_auc

Array = npt.NDArray[Any]

MOST_RANKED = 200_000  # objects that the AUC is measured on, evenly spaced: ranking a million takes longer than all the rest
BINS = 10  # of confidence, in the calibration curve


@dataclass(frozen=True)
class Quality:
    """What one answer is worth: shares of objects, each counted once.

    `calibration` has, for each bin of confidence that occurs, its mean confidence, the share that is right, and the objects.
    """

    accuracy: float
    f_score: float
    auc: float | None
    calibration: list[tuple[float, float, int]]
    calibration_error: float


def quality_of(proba: Array, labels: Array, truth: Array) -> Quality:
    """Judge class probabilities and labels (numbers of classes) by the true classes.

    Parameters
    ----------
    proba : array
        Objects x classes.
    labels, truth : arrays
        The class each object got, and the one it has.

    Returns
    -------
    Quality

    Examples
    --------
    >>> import numpy as np
    >>> quality_of(np.array([[0.9, 0.1], [0.4, 0.6]]), np.array([0, 1]), np.array([0, 0])).accuracy
    0.5
    """
    right = labels == truth
    bins = calibration(proba.max(axis=1), right)
    error = sum(n * abs(sure - share) for sure, share, n in bins) / len(truth)
    some = slice(None, None, -(-len(truth) // MOST_RANKED))
    auc = mean_auc(proba[some], truth[some]) if len(np.unique(truth[some])) > 1 else None
    return Quality(float(right.mean()), macro_f(confusion(labels, truth, proba.shape[1])), auc, bins, float(error))


def confusion(labels: Array, truth: Array, n_classes: int) -> Array:
    """Return how many objects of each class (rows) got each label (columns)."""
    return np.bincount(truth * n_classes + labels, minlength=n_classes * n_classes).reshape(n_classes, n_classes)


def macro_f(table: Array) -> float:
    """Return the mean F-score of the classes that are true or said somewhere."""
    total = table.sum(axis=0) + table.sum(axis=1)
    seen = total > 0
    return float((2 * np.diag(table)[seen] / total[seen]).mean())


def calibration(confidence: Array, right: Array) -> list[tuple[float, float, int]]:
    """Return for each bin of confidence that occurs its mean confidence, the share that is right, and the number of objects."""
    bins = np.minimum((confidence * BINS + 1e-9).astype(np.int64), BINS - 1)
    n = np.bincount(bins, minlength=BINS)
    sure, correct = (np.bincount(bins, weights=values, minlength=BINS) for values in (confidence, right))
    return [(float(sure[b] / n[b]), float(correct[b] / n[b]), int(n[b])) for b in np.flatnonzero(n)]


def chance_of_difference(only_one_right: int, only_other_right: int) -> float:
    """Return how likely two equally good answers are to differ this much or more (the exact test of McNemar)."""
    n = only_one_right + only_other_right
    return 1.0 if n == 0 else float(binomtest(only_one_right, n).pvalue)
