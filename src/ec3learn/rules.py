"""How an object's class probabilities follow from its groups.

Every answer here is a weighted mean of a few terms, and every term a weighted mean of the distributions of the object's groups.
For EC3 the terms are alpha (the groups' own distributions), beta (the other members of its groups) and gamma (its votes):

    F^o_i = sum_t pull_t mean_t(i) / sum_t pull_t,    mean_t(i) = sum_j a_ij v^t_j T^t_j / sum_j a_ij v^t_j

So one table with a row a group answers for the objects that were solved, for new ones, and says who moved what.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .matrices import Membership

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Term:
    """One term: what it is called, how hard it pulls, and the groups that speak in it with their weights and distributions."""

    name: str
    pull: float
    groups: Array
    group_weight: Array
    group_proba: Array


@dataclass(frozen=True, eq=False)
class KnownLabels:
    """Labels known beforehand: a class number a row (-1: none). They take the place of the row's votes and pull this hard."""

    codes: Array
    pull: float  # infinite: held fixed

    name = "known label"


@dataclass(frozen=True, eq=False)
class Pull:
    """What one term does to some rows: how hard it pulls each (0 where the term says nothing), and where to."""

    name: str
    strength: Array
    total: Array  # the sum of the weights of the row's groups
    weighted: Array  # the weighted sum of their distributions

    @property
    def mean(self) -> Array:
        """Return where the term pulls each row to."""
        return self.weighted / np.where(self.total > 0, self.total, 1.0)[:, None]


@dataclass(frozen=True, eq=False)
class GroupRule:
    """The terms, and the answer for an object that no term says anything about."""

    terms: tuple[Term, ...]
    fallback: Array

    def pulls(self, groups: Membership, known: KnownLabels | None = None) -> Iterator[tuple[slice, list[Pull]]]:
        """Return each term's pull, some rows at a time; a term without any group of the row's has none."""
        n_classes = len(self.fallback)
        starts = range(0, len(self.terms) * (n_classes + 1), n_classes + 1)
        table = np.zeros(
            (max(int(groups.order.max(initial=-1)), *(int(t.groups.max(initial=-1)) for t in self.terms)) + 1, starts.stop)
        )
        for term, begin in zip(self.terms, starts, strict=True):
            table[term.groups, begin] = term.group_weight
            table[term.groups, begin + 1 : begin + 1 + n_classes] = term.group_weight[:, None] * term.group_proba
        for rows, sums in groups.gather_parts(table[groups.order]):
            found = []
            for term, begin in zip(self.terms, starts, strict=True):
                total = np.ascontiguousarray(sums[:, begin])
                found.append(Pull(term.name, term.pull * (total > 0), total, sums[:, begin + 1 : begin + 1 + n_classes]))
            yield rows, found if known is None else _with_known(found, known, rows, n_classes)

    def answer(self, pulls: Sequence[Pull]) -> tuple[Array, Array]:
        """Return the mean of the terms, and which rows no term said anything about."""
        strength = sum((pull.strength for pull in pulls), np.zeros(len(pulls[0].strength)))
        silent = strength <= 0
        strength[silent] = 1.0
        proba = np.zeros((len(strength), len(self.fallback)))
        for pull in pulls:
            share = pull.strength / (strength * np.where(pull.total > 0, pull.total, 1.0))
            proba += share[:, None] * pull.weighted
        proba[silent] = self.fallback
        return proba, silent


def _with_known(found: list[Pull], known: KnownLabels, rows: slice, n_classes: int) -> list[Pull]:
    codes = known.codes[rows]
    labelled = codes >= 0
    fixed = np.isinf(known.pull)
    kept = [
        replace(pull, strength=np.where(labelled, 0.0, pull.strength)) if fixed or pull.name == VOTES else pull for pull in found
    ]
    one_hot = np.zeros((len(codes), n_classes))
    one_hot[labelled, codes[labelled]] = 1
    return [*kept, Pull(known.name, labelled * (1.0 if fixed else known.pull), np.ones(len(codes)), one_hot)]


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
    return np.array(sorted(range(len(mass)), key=lambda z: (-round(float(mass[z]) / scale / tol), z)))


def mass_classes(proba: Array, counts: Array, mass: Sequence[float] | Array) -> Array:
    """Return classes whose shares match the mass, and among such labellings (nearly) one with the highest probability.

    Row i gets argmax_z (proba_iz + b_z). The offsets b minimise the convex sum_i max_z (proba_iz + b_z) - mass b, whose
    minimum is where the shares match; the maximum is smoothed less and less. Equal rows get equal classes.
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
