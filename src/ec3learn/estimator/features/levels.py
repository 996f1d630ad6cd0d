"""A column of text as numbers: one 0/1 column per level, or the share of each class among the rows of the level."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._typing import Array
from ...votes.labels import is_missing

FOLDS = 5  # a row gets the shares of its level from the other folds
PRIOR_ROWS = 10.0  # weight of the overall shares of the classes in those of a level


@dataclass(frozen=True)
class Indicators:
    """One 0/1 column per level. Other levels share the column `other`, or are 0 in all columns if that is -1."""

    codes: dict[Any, int]  # the column of each level; None is the level of missing values
    labels: list[str]
    other: int

    @classmethod
    def of(cls, values: list[Any], most: int) -> Indicators:
        """Give the most frequent levels columns of their own."""
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
        """The number of columns."""
        return len(self.labels)

    def names(self, column: str) -> list[str]:
        """Return the names of the columns."""
        return [f"{column}{label}" for label in self.labels]

    def write(self, values: list[Any], out: Array, fold: Array | None, classes: Array | None) -> None:
        """Write the columns into `out`, which is 0."""
        codes = _encode(values, self.codes, self.other)
        known = np.flatnonzero(codes >= 0)
        out[known, codes[known]] = 1


@dataclass(frozen=True)
class Shares:
    """One column per class: its share among the rows of the level. Of two classes, only the second has a column."""

    codes: dict[Any, int]  # the number of each level; None is the level of missing values
    counts: Array  # levels x classes; the last row stands for new levels
    classes: Array

    @classmethod
    def of(cls, values: list[Any], classes: Array, codes: Array) -> Shares:
        """Count the classes of each level."""
        levels = {None if is_missing(level) else level: None for level in dict.fromkeys(values)}
        numbers = {level: number for number, level in enumerate(levels)}
        counts = _count(_encode(values, numbers, len(numbers)), codes, (len(numbers) + 1, len(classes)))
        return cls(numbers, counts, classes)

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.classes[self._shown])

    @property
    def _shown(self) -> slice:
        return slice(1, None) if len(self.classes) == 2 else slice(None)

    def names(self, column: str) -> list[str]:
        """Return the names of the columns."""
        return [f"{column}: share of {label}" for label in self.classes[self._shown]]

    def write(self, values: list[Any], out: Array, fold: Array | None, classes: Array | None) -> None:
        """Write the columns into `out`; rows whose fold and class are given do not count for their own shares."""
        levels = _encode(values, self.codes, len(self.codes))
        if fold is None or classes is None:
            out[:] = _smooth(self.counts)[levels, self._shown]
            return
        for number in range(FOLDS):
            rows = np.flatnonzero(fold == number)
            others = self.counts - _count(levels[rows], classes[rows], self.counts.shape)
            out[rows] = _smooth(others)[levels[rows], self._shown]


def _encode(values: list[Any], codes: dict[Any, int], other: int) -> Array:
    """Return the code of each value, `other` for those without one."""
    code_of = {value: codes.get(None if is_missing(value) else value, other) for value in set(values)}
    return np.fromiter(map(code_of.__getitem__, values), dtype=np.intp, count=len(values))


def _count(levels: Array, classes: Array, shape: tuple[int, ...]) -> Array:
    return np.bincount(levels * shape[1] + classes, minlength=shape[0] * shape[1]).reshape(shape).astype(float)


def _smooth(counts: Array) -> Array:
    """Return (counts + PRIOR_ROWS overall shares) / (rows + PRIOR_ROWS) of each level."""
    overall = counts.sum(axis=0)
    overall = overall / overall.sum() if overall.any() else np.full(len(overall), 1 / len(overall))
    return (counts + PRIOR_ROWS * overall) / (counts.sum(axis=1, keepdims=True) + PRIOR_ROWS)
