"""Who is in which group, row by row, in the form in which it came: integers, a table of shares, or entries where most are none.

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

SAMPLE = 10_000  # rows that tell which group is large


def frozen(array: Array) -> Array:
    """Make an array of our own unwritable and return it."""
    array.flags.writeable = False
    return array


class Frozen:
    """What has arrays that cannot be changed once it is made: a base class of dataclasses."""

    def __post_init__(self) -> None:
        """Make every array among the fields unwritable, those of a sparse matrix or a dict too."""
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                frozen(value)
            elif isinstance(value, dict):
                for codes in value.values():
                    frozen(codes)
            elif isinstance(value, sparse.csr_array):
                for part in (value.data, value.indices, value.indptr):
                    frozen(part)


@dataclass(frozen=True, eq=False)
class SoftModel:
    """Where a soft model's shares stand in the table of `SoftShares`.

    The shares of all groups but `derived` stand from column `first` on. `cover` is the column that
    is 0 where the model did not vote: the column 0 of ones if it always did.
    """

    number: int
    n_groups: int
    first: int
    derived: int
    cover: int


@dataclass(frozen=True, eq=False)
class SoftShares(Frozen):
    """Soft votes of several models; of each the shares of a large group are left out, since they follow from the others.

    Deriving a large group's shares costs no precision; a small group's would be lost in rounding.
    It is the largest one in a sample of the rows.
    """

    models: tuple[SoftModel, ...]
    table: Array

    @classmethod
    def of(cls, tables: Mapping[int, Array]) -> SoftShares | None:
        """Stack tables of shares, by the number of their model; a row of zeros or of NaN is a missing vote. None: no tables."""
        if not tables:
            return None
        n_rows = len(next(iter(tables.values())))
        stacked = np.empty(
            (n_rows, 1 + sum(table.shape[1] for table in tables.values())), order="F"
        )  # that is room enough
        stacked[:, 0] = 1
        models, first, some = (
            [],
            1,
            np.linspace(0, n_rows - 1, min(n_rows, SAMPLE)).astype(np.int64),
        )
        for m, table in sorted(tables.items()):
            size, voted = table.shape[1], table @ np.ones(table.shape[1]) > 0
            everywhere, end = bool(voted.all()), first + size - 1
            derived = int(np.argmax(np.nansum(table[some], axis=0)))
            models.append(SoftModel(m, size, first, derived, 0 if everywhere else end))
            for place, group in enumerate(group for group in range(size) if group != derived):
                stacked[:, first + place] = table[:, group]
            if not everywhere:
                stacked[~voted, first:end] = 0
                stacked[:, end] = voted
            first = end if everywhere else end + 1
        return cls(tuple(models), stacked[:, :first])

    def basis(self) -> Array:
        """Return the matrix B with `table @ B` = the shares of all the groups of these models, side by side."""
        blocks = []
        for model in self.models:
            block = np.zeros((self.table.shape[1], model.n_groups))
            others = [group for group in range(model.n_groups) if group != model.derived]
            own = np.arange(model.first, model.first + len(others))
            block[own, others] = 1
            block[own, model.derived] = -1
            block[model.cover, model.derived] = 1
            blocks.append(block)
        return np.hstack(blocks)

    def shares_of(self, model: SoftModel, rows: Array | slice = slice(None)) -> Array:
        """Return one model's shares, rows x groups; a row of zeros where it did not vote. Few long columns are quick to read."""
        shares = np.empty((len(self.table[rows, 0]), model.n_groups), order="F")
        others = [group for group in range(model.n_groups) if group != model.derived]
        shares[:, others] = self.table[rows, model.first : model.first + len(others)]
        rest = self.table[rows, model.cover] - shares[:, others].sum(axis=1)
        shares[:, model.derived] = np.where(rest > 1e-14, rest, 0.0)
        return shares

    def tables(self) -> dict[int, Array]:
        """Return the shares of all models, by number."""
        return {model.number: self.shares_of(model) for model in self.models}

    def take(self, rows: Array) -> SoftShares:
        """Return the shares of some rows."""
        return replace(self, table=np.asfortranarray(self.table[rows]))


def entries_of_votes(
    objects: Array, groups: Array, shape: tuple[int, int], share: Array | None = None
) -> sparse.csr_array:
    """Return one entry per vote, from votes sorted by object; a vote may count for a `share` of one only."""
    width = np.int32 if max(*shape, len(groups)) < 1 << 31 else np.int64
    starts = np.concatenate([[0], np.cumsum(np.bincount(objects, minlength=shape[0]))])
    return entries_from(starts.astype(width), groups.astype(width), shape, share)


def entries_from(
    starts: Array, groups: Array, shape: tuple[int, int], share: Array | None = None
) -> sparse.csr_array:
    """Return the same where it is known at which place the votes on each object begin."""
    return sparse.csr_array(
        (np.ones(len(groups)) if share is None else share, groups, starts), shape=shape
    )


def entries_of_columns(
    columns: Mapping[int, Array], offsets: Array, missing: Sequence[int]
) -> sparse.csr_array:
    """Return one entry per vote, from columns of codes by the number of their model; a code of `missing[m]` is no vote."""
    n_rows = len(next(iter(columns.values())))
    width = np.int32 if max(offsets[-1], n_rows * len(columns)) < 1 << 31 else np.int64
    shape = (n_rows, int(offsets[-1]))
    if not any((codes == missing[m]).any() for m, codes in columns.items()):
        table = np.empty((n_rows, len(columns)), dtype=width)
        for place, (m, codes) in enumerate(columns.items()):
            np.add(codes, offsets[m], out=table[:, place], casting="unsafe")
        starts = np.arange(0, table.size + 1, len(columns), dtype=width)
        return sparse.csr_array((np.ones(table.size), table.ravel(), starts), shape=shape)
    rows, groups = [], []
    for m, codes in columns.items():
        voted = np.flatnonzero(codes != missing[m])
        rows.append(voted.astype(width))
        own: Array = (codes if len(voted) == n_rows else codes[voted]).astype(width)
        groups.append(own + width(offsets[m]))
    starts = np.concatenate([[0], np.cumsum([len(part) for part in rows])]).astype(width)
    by_model = sparse.csc_array(
        (np.concatenate(groups), np.concatenate(rows), starts), shape=(n_rows, len(columns))
    )
    del rows, groups
    by_row = by_model.tocsr()  # its data are the groups
    return sparse.csr_array((np.ones(by_row.nnz), by_row.data, by_row.indptr), shape=shape)


# ---- all of them together ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Stores(Frozen):
    """The memberships of rows in groups; each model is in one of the three."""

    # One code per row, by the number of the model; a code of the model's `n_groups` is a missing vote.
    hard: dict[int, Array] = field(default_factory=dict)
    soft: SoftShares | None = None  # a table of shares
    sparse: sparse.csr_array | None = None  # rows x groups, where nearly all votes are missing
    n_repeated: int = 0  # further votes of a voter on one object, merged into one or left out

    @property
    def is_hard(self) -> bool:
        """Return whether every vote is whole: there are no soft or repeated ones."""
        return self.soft is None and (self.sparse is None or bool((self.sparse.data == 1).all()))

    @property
    def soft_tables(self) -> dict[int, Array]:
        """Return the shares of soft models, by number; rows of zeros are missing votes."""
        return {} if self.soft is None else self.soft.tables()

    @cached_property
    def by_group(self) -> Any:
        """Return the sparse entries, one group after the other, if there are any."""
        return None if self.sparse is None else self.sparse.tocsc()

    # ---- other stores from these -----------------------------------------------------------------

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
        tables = self.soft_tables | {m + n: table for m, table in other.soft_tables.items()}
        entries = None
        if self.sparse is not None or other.sparse is not None:
            n_rows = (other if self.sparse is None else self).sparse.shape[0]  # type: ignore[union-attr]
            parts = [
                sparse.csr_array((n_rows, groups.n_groups)) if part is None else part
                for part, groups in ((self.sparse, models), (other.sparse, other_models))
            ]
            entries = sparse.hstack(parts, format="csr")
        return Stores(
            self.hard | {m + n: codes for m, codes in other.hard.items()},
            SoftShares.of(tables),
            entries,
            self.n_repeated + other.n_repeated,
        )

    def with_tables(self, hard: dict[int, Array], tables: dict[int, Array], entries: Any) -> Stores:
        """The same with some models given by their shares, as codes where every vote is whole."""
        codes, shared = dict(hard), {}
        for m, table in tables.items():
            size = table.shape[1]
            if ((table == 0) | (table == 1)).all():
                codes[m] = np.full(len(table), size, dtype=smallest_uint(size + 1))
                for group, share in enumerate(table.T):
                    codes[m][share == 1] = group
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
