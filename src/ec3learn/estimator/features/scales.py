"""Scales of columns of numbers that may hold missing values."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

Array = npt.NDArray[Any]

KNOTS = 256  # values per column whose normal scores are kept; scores between them are interpolated


def means_and_deviations(numbers: Array) -> tuple[Array, Array]:
    """Return mean and standard deviation of each column; the latter is 1 if the column is constant or has no number."""
    missing = np.isnan(numbers)
    n_known = np.maximum((~missing).sum(axis=0), 1)
    known = np.where(missing, 0, numbers).astype(np.float64, copy=False)
    mean = known.sum(axis=0) / n_known
    deviation = np.sqrt((np.where(missing, 0, known - mean) ** 2).sum(axis=0) / n_known)
    constant = deviation <= 10 * np.finfo(numbers.dtype).eps * np.abs(known).max(axis=0)  # up to rounding errors
    return mean.astype(numbers.dtype), np.where(constant, 1, deviation).astype(numbers.dtype)


def normal_scores(column: Array) -> tuple[Array, Array]:
    """Return values of the column, and the standard normal quantile at the share of rows below each; ties count half."""
    ordered = np.sort(column[~np.isnan(column)])
    if not len(ordered):
        return np.zeros(1), np.zeros(1)
    knots = np.unique(ordered)
    if len(knots) > KNOTS:
        furthest = ndtri(0.5 / len(ordered))
        ranks = ndtr(np.linspace(furthest, -furthest, KNOTS)) * len(ordered) - 0.5  # equidistant in the score
        knots = np.unique(ordered[ranks.round().astype(np.intp)])
    below, up_to = np.searchsorted(ordered, knots), np.searchsorted(ordered, knots, side="right")
    return knots, ndtri((below + up_to) / 2 / len(ordered))
