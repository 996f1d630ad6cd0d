"""Labels from class probabilities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._typing import Array


def top_classes(proba: Array, mass: Array, tol: float = 1e-9) -> Array:
    """Return each row's class with the highest probability.

    Classes within `tol` of the highest are tied: the one with the larger mass overall wins, then the first of `classes`.
    """
    best = proba.argmax(axis=1)
    if proba.shape[1] == 1:
        return best
    high = proba[np.arange(len(proba)), best]
    tied = np.flatnonzero((proba >= high[:, None] - tol).sum(axis=1) > 1)
    if len(tied):
        preference = class_preference(mass, tol)
        candidates = proba[tied] >= high[tied, None] - tol
        best[tied] = preference[candidates[:, preference].argmax(axis=1)]
    return best


def class_preference(mass: Array, tol: float = 1e-9) -> Array:
    """Return the classes by falling mass; masses that differ by rounding only keep the order of the classes."""
    scale = max(float(mass.sum()), 1e-300)
    return np.array(sorted(range(len(mass)), key=lambda z: (-round(float(mass[z]) / scale / tol), z)))


def mass_classes(proba: Array, counts: Array, mass: Sequence[float] | Array) -> Array:
    """Return classes whose shares match the mass, and among such labellings (nearly) one with the highest probability.

    Row i gets argmax_z (proba_iz + b_z). The offsets b minimise the convex function sum_i max_z (proba_iz + b_z) - mass b, whose
    gradient is the difference between the shares and the mass. Its maximum is smoothed (a softmax at a falling temperature), so
    that Newton's method applies. Equal rows get equal classes.
    """
    target = np.asarray(mass, dtype=np.float64)
    target = target / target.sum()
    share = counts / counts.sum()
    offsets = np.zeros(proba.shape[1])
    for temperature in 0.3 * 0.25 ** np.arange(8):
        for _ in range(20):
            scaled = (proba + offsets) / temperature
            soft = np.exp(scaled - scaled.max(axis=1, keepdims=True))
            soft /= soft.sum(axis=1, keepdims=True)
            excess = share @ soft - target
            if np.abs(excess).max() < 1e-3 * temperature + 1e-9:
                break
            curvature = (np.diag(share @ soft) - (soft * share[:, None]).T @ soft) / temperature
            curvature += 1e-6 * np.eye(len(target)) / temperature
            move = np.linalg.solve(curvature, excess)
            offsets -= move * min(1.0, 2 * temperature / max(np.abs(move).max(), 1e-300))
            offsets -= offsets.mean()
    return (proba + offsets).argmax(axis=1)
