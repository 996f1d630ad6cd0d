"""Prior: class probabilities of objects that come from elsewhere, and how far to trust them.

What is trusted are not the probabilities p_i themselves but softmax(slope ln p_i + offsets):
`algebra.trust` learns these numbers from the votes. Everything else then asks for one of two
things: by how much that changes the odds of the classes (`evidence`), or how many votes it is worth
(`weight`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import log_softmax

from .._checks import InputError
from .._text import count
from .._typing import Array
from .encoding import require_width, rows_by_index, rows_by_name
from .layout import Frozen
from .reading import named_columns
from .shares import checked_shares, columns_by_class

LEAST = 1e-3  # a class of probability 0 is unlikely, not impossible


def log_shares(proba: Array) -> Array:
    """The logarithms of class probabilities, of at least `LEAST`: nobody rules a class out."""
    return np.asarray(np.log(np.maximum(proba, LEAST)))


@dataclass(frozen=True, eq=False)
class Trust:
    """How far given class probabilities are trusted."""

    slope: float  # of their logarithms: 0 is not at all, 1 is as they are
    offsets: Array  # one number per class, added to the logarithms
    shares: Array  # of the classes, as far as the answer goes
    weight: float  # how many votes they are worth
    likelihood: float = 0.0  # of the votes on an object, with these: the logarithm, averaged

    def log_proba(self, proba: Array) -> Array:
        """The logarithms of what the probabilities mean; of the classes' shares without any."""
        given = ~np.isnan(proba).any(axis=1)
        logs = np.tile(np.log(self.shares), (len(proba), 1))
        logs[given] = log_softmax(self.slope * log_shares(proba[given]) + self.offsets, axis=1)
        return logs


@dataclass(frozen=True, eq=False)
class Prior(Frozen):
    """The class probabilities of each row, NaN where none are given, and how far to trust them."""

    proba: Array
    trust: Trust | None = None

    def take(self, rows: Any) -> Prior:
        """That of some rows."""
        return Prior(self.proba[rows], self.trust)

    @cached_property
    def given(self) -> Array:
        """Which rows have one."""
        return np.asarray(~np.isnan(self.proba).any(axis=1))

    @property
    def evidence(self) -> Array:
        """By how much it raises the log-odds of each class over its share; 0 without one."""
        return self.learned.log_proba(self.proba) - np.log(self.learned.shares)

    @property
    def trusted(self) -> Array:
        """The class probabilities that are left when it is trusted no further than it should be."""
        return np.exp(self.learned.log_proba(self.proba))

    @property
    def weight(self) -> Array:
        """How many votes that of each row is worth."""
        return self.learned.weight * self.given

    @property
    def learned(self) -> Trust:
        """How far to trust it; a method's `solve` learns that before anything asks."""
        assert self.trust is not None
        return self.trust


def read_prior(prior: Any, classes: Array, n_objects: int, object_ids: Array | None) -> Array:
    """The class probabilities of each object, NaN where none are given.

    `prior` is a table with one row per object and one column per class, in the order of the classes
    or, in a dataframe, called like them; or a dict of object -> row for some of the objects, or a
    pandas table whose index has their names.
    """
    if isinstance(prior, Mapping):
        rows: Array | None = rows_by_name(list(prior), n_objects, object_ids, "prior")
        prior = list(prior.values())
    else:
        rows = rows_by_index(prior, n_objects, object_ids, "prior")
    ordered, _ = columns_by_class({"prior": prior}, classes, "prior")
    table = named_columns(ordered, "prior", "")["prior"]
    require_width("prior", table, classes, "prior")
    nan_row = "A row of NaN is an object without a prior."
    shares = checked_shares(table, "prior", "prior", nan_row)
    if rows is not None:
        return np.where(rows[:, None] >= 0, shares[rows], np.nan)
    if len(shares) != n_objects:
        raise InputError(
            "prior",
            f"must have one row for each of the {n_objects} objects",
            came=count(len(shares), "row"),
        )
    return np.asarray(shares)
