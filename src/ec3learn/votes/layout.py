"""Who is in which group, row by row: one code per row, a table of shares, or sparse entries.

Models are known by their numbers, and groups are numbered model after model, as in `Votes`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Array
from .models import Models
from .reading import smallest_uint

LEAST_SHARE = 1e-14  # what is left of 1 below that is rounding


def frozen(array: Array) -> Array:
    """Make an array of our own unwritable and return it."""
    array.flags.writeable = False
    return array


class Frozen:
    """What has arrays that cannot be changed once it is made: a base class of dataclasses."""

    def __post_init__(self) -> None:
        """Make every array among the fields unwritable, those of a sparse matrix or a dict too."""
        for value in vars(self).values():
            parts = [value]
            if isinstance(value, dict):
                parts = list(value.values())
            elif isinstance(value, sparse.csr_array):
                parts = [value.data, value.indices, value.indptr]
            for part in parts:
                if isinstance(part, np.ndarray):
                    frozen(part)


@dataclass(frozen=True, eq=False)
class SoftModel:
    """Where a soft model's shares stand in the table of `SoftShares`.

    Those of all groups but `derived` stand from column `first` on. `cover` is the column that is 0
    where the model did not vote: the column 0 of ones if it always did.
    """

    number: int
    n_groups: int
    first: int
    derived: int
    cover: int

    @property
    def others(self) -> list[int]:
        """The groups whose shares stand in the table."""
        return [group for group in range(self.n_groups) if group != self.derived]


@dataclass(frozen=True, eq=False)
class SoftShares(Frozen):
    """Soft votes of several models in one table; of each the largest group follows from the others.

    A small group's shares would be lost in rounding.
    """

    models: tuple[SoftModel, ...]
    table: Array

    @classmethod
    def of(cls, tables: Mapping[int, Array]) -> SoftShares | None:
        """Stack tables of shares by model; a row of zeros or NaN is a missing vote. None: none."""
        if not tables:
            return None
        models, columns = [], [np.ones(len(next(iter(tables.values()))))]
        for m, table in sorted(tables.items()):
            voted, cover = table @ np.ones(table.shape[1]) > 0, 0
            if not voted.all():
                cover, table = len(columns), np.where(voted[:, None], table, 0.0)
                columns.append(voted.astype(np.float64))
            derived = int(np.argmax(columns[cover] @ table))
            models.append(SoftModel(m, table.shape[1], len(columns), derived, cover))
            columns += [table[:, group] for group in models[-1].others]
        return cls(tuple(models), np.array(columns).T)

    def basis(self) -> Array:
        """The matrix B with `table @ B` = the shares of all groups of these models."""
        blocks = []
        for model in self.models:
            block = np.zeros((self.table.shape[1], model.n_groups))
            places = model.first + np.arange(model.n_groups - 1)
            block[places, model.others] = 1
            block[places, model.derived] = -1
            block[model.cover, model.derived] = 1
            blocks.append(block)
        return np.hstack(blocks)

    def shares_of(self, model: SoftModel) -> Array:
        """One model's shares, rows x groups; a row of zeros where it did not vote."""
        others = self.table[:, model.first : model.first + model.n_groups - 1]
        rest = self.table[:, model.cover] - others.sum(axis=1)
        columns = list(others.T)
        columns.insert(model.derived, np.where(rest > LEAST_SHARE, rest, 0.0))
        return np.array(columns).T

    def tables(self) -> dict[int, Array]:
        """The shares of all models, by number."""
        return {model.number: self.shares_of(model) for model in self.models}

    def take(self, rows: Array) -> SoftShares:
        """The shares of some rows."""
        return replace(self, table=np.asfortranarray(self.table[rows]))


@dataclass(frozen=True, eq=False)
class Stores(Frozen):
    """The memberships of rows in groups; each model is in one of the three."""

    # One code per row, by the number of the model; the model's `n_groups` is a missing vote.
    hard: dict[int, Array] = field(default_factory=dict)
    soft: SoftShares | None = None  # a table of shares
    sparse: sparse.csr_array | None = None  # rows x groups, where nearly all votes are missing
    n_repeated: int = 0  # further votes of a voter on one object, merged into one or left out

    @property
    def is_hard(self) -> bool:
        """Whether every vote is whole: there are no soft or repeated ones."""
        return self.soft is None and (self.sparse is None or bool((self.sparse.data == 1).all()))

    @property
    def soft_tables(self) -> dict[int, Array]:
        """The shares of soft models, by number; rows of zeros are missing votes."""
        return {} if self.soft is None else self.soft.tables()

    @cached_property
    def by_group(self) -> Any:
        """The sparse entries, one group after the other, if there are any."""
        return None if self.sparse is None else self.sparse.tocsc()

    def take(self, rows: Array) -> Stores:
        """Some of the rows."""
        return replace(
            self,
            hard={m: codes[rows] for m, codes in self.hard.items()},
            soft=None if self.soft is None else self.soft.take(rows),
            sparse=None if self.sparse is None else self.sparse[rows],
        )

    def only(self, kept: Sequence[int], group_model: Array) -> Stores:
        """Some of the models, numbered anew."""
        number = {m: new for new, m in enumerate(kept)}
        groups = np.flatnonzero(np.isin(group_model, kept))
        tables = {number[m]: table for m, table in self.soft_tables.items() if m in number}
        return replace(
            self,
            hard={number[m]: codes for m, codes in self.hard.items() if m in number},
            soft=SoftShares.of(tables),
            sparse=None if self.sparse is None else self.sparse[:, groups],
        )

    def beside(self, other: Stores, models: Models, other_models: Models) -> Stores:
        """These models, and after them those of other stores of the same rows."""
        n = len(models)
        entries = None
        parts = [self.sparse, other.sparse]
        n_rows = [part.shape[0] for part in parts if part is not None]
        if n_rows:
            widths = (models.n_groups, other_models.n_groups)
            blocks = [
                sparse.csr_array((n_rows[0], width)) if part is None else part
                for part, width in zip(parts, widths, strict=True)
            ]
            entries = sparse.hstack(blocks, format="csr")
        return Stores(
            self.hard | {m + n: codes for m, codes in other.hard.items()},
            SoftShares.of(
                self.soft_tables | {m + n: table for m, table in other.soft_tables.items()}
            ),
            entries,
            self.n_repeated + other.n_repeated,
        )

    def with_tables(self, hard: dict[int, Array], tables: dict[int, Array], entries: Any) -> Stores:
        """The same with some models given by their shares, as codes where every vote is whole."""
        codes, shared = dict(hard), {}
        for m, table in tables.items():
            if ((table == 0) | (table == 1)).all():
                size = table.shape[1]
                code = np.where(table.any(axis=1), table.argmax(axis=1), size)
                codes[m] = code.astype(smallest_uint(size + 1))
            else:
                shared[m] = table
        by_number = dict(sorted(codes.items()))
        return replace(self, hard=by_number, soft=SoftShares.of(shared), sparse=entries)

    def with_entries_of(self, crowd: Sequence[int], models: Models) -> Stores:
        """The hard votes of some models as entries, for voters who hardly vote."""
        sizes = [model.n_groups for model in models]
        entries = entries_of_columns({m: self.hard[m] for m in crowd}, models.offsets, sizes)
        others = {m: codes for m, codes in self.hard.items() if m not in set(crowd)}
        return replace(self, hard=others, sparse=entries)


# ---- sparse entries ------------------------------------------------------------------------------


def entries_of_votes(objects: Array, groups: Array, shape: tuple[int, int]) -> sparse.csr_array:
    """How often each object is put into each group, one pair of them per vote."""
    return sparse.coo_array((np.ones(len(groups)), (objects, groups)), shape=shape).tocsr()


def entries_of_columns(
    columns: Mapping[int, Array], offsets: Array, missing: Sequence[int]
) -> sparse.csr_array:
    """One entry per vote, from columns of codes by model; a code of `missing[m]` is no vote."""
    n_rows = len(next(iter(columns.values())))
    width = np.int32 if max(offsets[-1], n_rows * len(columns)) < 1 << 31 else np.int64
    groups = np.empty((n_rows, len(columns)), dtype=width)
    voted = np.empty(groups.shape, dtype=bool)
    for place, (m, codes) in enumerate(columns.items()):
        groups[:, place] = codes
        groups[:, place] += width(offsets[m])
        voted[:, place] = codes != missing[m]
    starts = np.concatenate([[0], np.cumsum(np.count_nonzero(voted, axis=1))]).astype(width)
    cast = groups.ravel() if voted.all() else groups[voted]
    return sparse.csr_array((np.ones(len(cast)), cast, starts), shape=(n_rows, int(offsets[-1])))


def vote_numbers(entries: sparse.csr_array, models: Models) -> Array:
    """The number of the vote of each entry: those of one model on one row are one vote."""
    row = np.repeat(np.arange(entries.shape[0]), np.diff(entries.indptr))
    pair = row * len(models) + models.group_model[entries.indices]
    return np.asarray(np.cumsum(np.diff(pair, prepend=-1) != 0) - 1)


def whole_votes(entries: sparse.csr_array, models: Models) -> sparse.csr_array:
    """The entries divided so that those of one vote sum to 1."""
    vote = vote_numbers(entries, models)
    shares = entries.data / np.bincount(vote, weights=entries.data)[vote]
    return sparse.csr_array((shares, entries.indices, entries.indptr), shape=entries.shape)
