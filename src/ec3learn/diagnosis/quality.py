"""How good an answer is by true classes, and which of two is better; classes are numbers here.

scikit-learn is imported where it is used: it takes longer than a small answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest

from .._typing import Array

UNLIKELY = 0.05  # a p-value below which a difference is not put down to chance
BINS = 10  # of confidence, in the calibration curve


@dataclass(frozen=True)
class Quality:
    """How good one answer is."""

    accuracy: float
    confidence: float  # the mean probability of the labels
    log_loss: float  # of the probabilities, none below 1e-12
    f_score: float  # averaged over classes
    auc: float | None  # the mean over classes; None where only one occurs
    calibration: list[tuple[float, float, float]]  # by bin: confidence, share right, objects
    calibration_error: float  # the mean gap between confidence and the share that is right


def quality(
    proba: Array, labels: Array, truth: Array, weight: Array, right: Array | None = None
) -> Quality:
    """Judge class probabilities and labels by the true classes.

    Parameters
    ----------
    proba : array of shape (n_objects, n_classes)
        The class probabilities.
    labels, truth : arrays of shape (n_objects,)
        The number of the class that each object got, and of the one it has.
    weight : array of shape (n_objects,)
        How many objects each counts for.
    right : array of shape (n_objects,)
        How far each label is right, where that is not all or nothing.
    """
    from sklearn.metrics import f1_score

    right, n = labels == truth if right is None else right, float(weight.sum())
    bins = calibration(proba.max(axis=1), right, weight)
    rows, classes = np.arange(len(labels)), np.unique(truth[weight > 0])
    losses = -np.log(np.maximum(proba[rows, truth], 1e-12))
    f_score = f1_score(
        truth, labels, labels=classes, average="macro", sample_weight=weight, zero_division=0.0
    )
    return Quality(
        accuracy=float(weight @ right) / n,
        confidence=float(weight @ proba[rows, labels]) / n,
        log_loss=float(weight @ losses) / n,
        f_score=float(f_score),
        auc=mean_auc(proba, truth, weight) if len(classes) > 1 else None,
        calibration=bins,
        calibration_error=float(sum(m * abs(sure - share) for sure, share, m in bins) / n),
    )


def mean_auc(proba: Array, truth: Array, weight: Array | None = None) -> float:
    """The area under the ROC curve of each class against all others, averaged over the classes that occur.

    It is 0.5, as by chance, where only one class occurs.

    Examples
    --------
    >>> import numpy as np
    >>> mean_auc(np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]]), np.array([0, 0, 1]))
    1.0
    """
    from sklearn.metrics import roc_auc_score

    classes = np.unique(truth if weight is None else truth[weight > 0])
    if len(classes) < 2:
        return 0.5
    areas = [roc_auc_score(truth == z, proba[:, z], sample_weight=weight) for z in classes]
    return float(np.mean(areas))


def calibration(confidence: Array, right: Array, weight: Array) -> list[tuple[float, float, float]]:
    """The mean confidence of each bin of confidence that occurs, the share that is right, and the number of objects."""
    bins = np.minimum((confidence * BINS + 1e-9).astype(np.int64), BINS - 1)
    n, sure, correct = (
        np.bincount(bins, weights=weight * values, minlength=BINS)
        for values in (1, confidence, right)
    )
    return [
        (float(sure[b] / n[b]), float(correct[b] / n[b]), float(n[b])) for b in np.flatnonzero(n)
    ]


@dataclass(frozen=True)
class Difference:
    """Where two answers differ: how often only the first is right, and how often only the second.

    Examples
    --------
    >>> import numpy as np
    >>> Difference.of(np.array([True, True, False]), np.array([True, False, True]), np.array([1, 4, 3]))
    Difference(first=4, second=3)
    """

    first: int
    second: int

    @classmethod
    def of(cls, first: Array, second: Array, weight: Array) -> Difference:
        """Count from how far each answer is right on each object."""
        return cls(
            round(float(weight @ (first * (1.0 - second)))),
            round(float(weight @ (second * (1.0 - first)))),
        )

    @property
    def p_value(self) -> float:
        """How likely two equally good answers are to differ this much or more (McNemar's exact test)."""
        n = self.first + self.second
        return 1.0 if n == 0 else float(binomtest(self.first, n).pvalue)

    @property
    def inconclusive(self) -> bool:
        """Whether they differ, but no more than by chance."""
        return self.first != self.second and self.p_value > UNLIKELY

    @property
    def second_is_better(self) -> bool:
        """Whether the second answer is right more often, beyond chance."""
        return self.second > self.first and self.p_value <= UNLIKELY
