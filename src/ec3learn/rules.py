"""How an object's class probabilities follow from its groups.

Every answer here is a weighted mean of a few terms, and every term a weighted mean of the distributions of the object's groups.
For EC3 the terms are alpha (the groups' own distributions), beta (the other members of its groups) and gamma (its votes):

    F^o_i = sum_t pull_t mean_t(i) / sum_t pull_t,    mean_t(i) = sum_j a_ij v^t_j T^t_j / sum_j a_ij v^t_j

So one table with a row a group answers for the objects that were solved, for new ones, and says who moved what.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .matrices import Membership

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Term:
    """One term: what it is called, how hard it pulls, and each group's weight and class distribution."""

    name: str
    pull: float
    group_weight: Array
    group_proba: Array


@dataclass(frozen=True, eq=False)
class KnownLabels:
    """Labels known beforehand: a class number a row (-1: none). They take the place of the row's votes and pull this hard."""

    codes: Array
    pull: float  # infinite: held fixed

    name = "known label"


Pulls = list[tuple[str, Array, Array]]  # of each term: its name, each row's pull, each row's mean


@dataclass(frozen=True, eq=False)
class GroupRule:
    """The terms, and the answer for an object that no term says anything about."""

    terms: tuple[Term, ...]
    fallback: Array

    def pulls(self, groups: Membership, known: KnownLabels | None = None) -> Iterator[tuple[slice, Pulls]]:
        """Return each term's pull and mean, some rows at a time; a term without any group of the row's has no pull."""
        n_classes = len(self.fallback)
        terms = [term for term in self.terms if term.pull > 0]
        weights = [term.group_weight[:, None] for term in terms]
        table = np.hstack([np.hstack([w, w * term.group_proba]) for w, term in zip(weights, terms, strict=True)])
        for rows, sums in groups.gather_parts(table):
            found: Pulls = []
            for term, (total, weighted) in zip(terms, _split(sums, n_classes), strict=True):
                present = total > 0
                mean = np.divide(weighted, total, out=np.zeros_like(weighted), where=present)
                found.append((term.name, term.pull * present[:, 0], mean))
            yield rows, found if known is None else _with_known(found, known, rows, n_classes)

    def answer(self, pulls: Pulls) -> tuple[Array, Array]:
        """Return the mean of the terms, and which rows no term said anything about."""
        total = sum(pull for _, pull, _ in pulls)
        silent = total <= 0
        scale = np.where(silent, 1.0, total)
        proba = np.zeros((len(scale), len(self.fallback)))
        for _, pull, mean in pulls:
            proba += (pull / scale)[:, None] * mean
        proba[silent] = self.fallback
        return proba, silent


def _split(sums: Array, n_classes: int) -> Iterator[tuple[Array, Array]]:
    for begin in range(0, sums.shape[1], n_classes + 1):
        yield sums[:, begin : begin + 1], sums[:, begin + 1 : begin + 1 + n_classes]


def _with_known(found: Pulls, known: KnownLabels, rows: slice, n_classes: int) -> Pulls:
    codes = known.codes[rows]
    labelled = codes >= 0
    fixed = np.isinf(known.pull)
    kept: Pulls = []
    for name, pull, mean in found:
        silenced = labelled if fixed or name == VOTES else np.zeros_like(labelled)
        kept.append((name, np.where(silenced, 0.0, pull), mean))
    one_hot = np.zeros((len(codes), n_classes))
    one_hot[labelled, codes[labelled]] = 1
    return [*kept, (known.name, labelled * (1.0 if fixed else known.pull), one_hot)]


GROUPS, COMPANIONS, VOTES = "groups", "companions", "votes"  # the terms of alpha, beta and gamma


def normalised(sums: Array) -> Array:
    """Return rows divided by their sums; rows of zeros stay."""
    totals = sums.sum(axis=-1, keepdims=True)
    return np.divide(sums, totals, out=np.zeros_like(sums), where=totals > 0)


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
        preference = _preference(mass, tol)
        candidates = proba[tied] >= high[tied, None] - tol
        best[tied] = preference[candidates[:, preference].argmax(axis=1)]
    return best


def _preference(mass: Array, tol: float) -> Array:
    """Return the classes by falling mass; masses that differ by rounding only keep the order of the classes."""
    scale = max(float(mass.sum()), 1e-300)
    return np.array(sorted(range(len(mass)), key=lambda z: (-round(mass[z] / scale / tol), z)))


def mass_classes(proba: Array, counts: Array, mass: Sequence[float] | Array) -> Array:
    """Return classes whose shares match the mass, and among such labellings (nearly) one with the highest probability.

    Row i gets argmax_z (proba_iz + b_z). The offsets b minimise the convex sum_i max_z (proba_iz + b_z) - mass b, whose
    minimum is where the shares match; the maximum is smoothed less and less. Equal rows get equal classes.
    """
    target = np.asarray(mass, dtype=np.float64)
    target = target / target.sum()
    share = counts / counts.sum()
    offsets = np.zeros(proba.shape[1])
    for temperature in 0.3 * 0.5 ** np.arange(10):
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
