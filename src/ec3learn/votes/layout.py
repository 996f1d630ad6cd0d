"""How memberships are kept: integers for hard votes, a table of shares for soft ones, entries where most are missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy import sparse

from .._typing import Array

Kind = Literal["classifier", "clustering", "grader"]


def frozen(array: Array) -> Array:
    """Make an array of our own unwritable and return it."""
    array.flags.writeable = False
    return array


@dataclass(frozen=True, eq=False)
class BaseModel:
    """A base model: its name, its kind, and the labels of its groups: the classes, its clusters, or the answers of its scale.

    `positions` of a grader says where each answer lies between the first class (0) and the last (1), NaN for answers without an
    order; `oriented` is False where known labels are to say which end is which.
    """

    name: str
    kind: Kind
    labels: Array
    positions: Array | None = None
    oriented: bool = True

    @property
    def is_voter(self) -> bool:
        """Return whether the model votes, for classes or on a scale, rather than clusters."""
        return self.kind != "clustering"

    @property
    def n_groups(self) -> int:
        """Return how many groups the model can put an object into."""
        return len(self.labels)


class Codes(dict[int, Array]):
    """Hard votes: a column of codes by the number of its model; it cannot be changed."""

    def __setitem__(self, *_: Any) -> None:
        raise TypeError("Votes cannot be changed. Use drop and add to make other ones.")

    __delitem__ = clear = pop = popitem = setdefault = update = __ior__ = __setitem__  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return Codes, (dict(self),)


def frozen_entries(entries: sparse.csr_array) -> sparse.csr_array:
    """Make the arrays of a sparse matrix unwritable and return it."""
    for part in (entries.data, entries.indices, entries.indptr):
        frozen(part)
    return entries


@dataclass(frozen=True, eq=False)
class SoftModel:
    """Where a soft model's shares stand in the table of `SoftShares`.

    The shares of all groups but `derived` stand from column `first` on. `cover` is the column that is 0 where the model did not
    vote: the column 0 of ones if it always did.
    """

    number: int
    n_groups: int
    first: int
    derived: int
    cover: int


@dataclass(frozen=True, eq=False)
class SoftShares:
    """Soft votes of several models; of each the shares of its largest group are left out, since they follow from the others.

    Deriving a large group's shares costs no precision; a small group's would be lost in rounding.
    """

    models: tuple[SoftModel, ...]
    table: Array

    @classmethod
    def of(cls, tables: Mapping[int, Array]) -> SoftShares | None:
        """Return tables in which rows of zeros are missing votes; None where there are none."""
        voted = {m: tables[m].any(axis=1, keepdims=True) for m in sorted(tables)}
        return cls.stacked({m: np.where(own, tables[m], np.nan) for m, own in voted.items()}) if tables else None

    @classmethod
    def stacked(cls, tables: Mapping[int, Array]) -> SoftShares:
        """Stack tables of shares (rows of NaN are missing votes), given by the number of their model."""
        absent = {m: np.isnan(table[:, 0]) for m, table in tables.items()}
        n_rows = len(next(iter(tables.values())))
        n_columns = 1 + sum(table.shape[1] - 1 + bool(absent[m].any()) for m, table in tables.items())
        stacked = np.empty((n_rows, n_columns), order="F")
        stacked[:, 0] = 1
        models, column = [], 1
        for m, table in tables.items():
            size, incomplete = table.shape[1], bool(absent[m].any())
            derived = int(np.argmax([np.nansum(column) if incomplete else column.sum() for column in table.T]))
            models.append(SoftModel(m, size, column, derived, column + size - 1 if incomplete else 0))
            for place, group in enumerate(group for group in range(size) if group != derived):
                stacked[:, column + place] = table[:, group]
            if incomplete:
                stacked[absent[m], column : column + size - 1] = 0
                stacked[:, column + size - 1] = ~absent[m]
            column += size - 1 + incomplete
        return cls(tuple(models), frozen(stacked))

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
        """Return one model's shares, rows x groups; a row of zeros where it did not vote."""
        shares = np.empty((len(self.table[rows, 0]), model.n_groups))
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
        return replace(self, table=frozen(np.asfortranarray(self.table[rows])))


def entries_of_votes(objects: Array, groups: Array, shape: tuple[int, int], share: Array | None = None) -> sparse.csr_array:
    """Return one entry per vote, from votes sorted by object; a vote may count for a `share` of one only."""
    width = np.int32 if max(*shape, len(groups)) < 1 << 31 else np.int64
    starts = np.concatenate([[0], np.cumsum(np.bincount(objects, minlength=shape[0]))])
    return entries_from(starts.astype(width), groups.astype(width), shape, share)


def entries_from(starts: Array, groups: Array, shape: tuple[int, int], share: Array | None = None) -> sparse.csr_array:
    """Return the same where it is known at which place the votes on each object begin."""
    return frozen_entries(sparse.csr_array((np.ones(len(groups)) if share is None else share, groups, starts), shape=shape))


def entries_of_columns(columns: Mapping[int, Array], offsets: Array, missing: Sequence[int]) -> sparse.csr_array:
    """Return one entry per vote, from columns of codes by the number of their model; a code of `missing[m]` is no vote."""
    n_rows = len(next(iter(columns.values())))
    width = np.int32 if max(offsets[-1], n_rows * len(columns)) < 1 << 31 else np.int64
    shape = (n_rows, int(offsets[-1]))
    if not any((codes == missing[m]).any() for m, codes in columns.items()):
        table = np.empty((n_rows, len(columns)), dtype=width)
        for place, (m, codes) in enumerate(columns.items()):
            np.add(codes, offsets[m], out=table[:, place], casting="unsafe")
        starts = np.arange(0, table.size + 1, len(columns), dtype=width)
        return frozen_entries(sparse.csr_array((np.ones(table.size), table.ravel(), starts), shape=shape))
    rows, groups = [], []
    for m, codes in columns.items():
        voted = np.flatnonzero(codes != missing[m])
        rows.append(voted.astype(width))
        own: Array = (codes if len(voted) == n_rows else codes[voted]).astype(width)
        groups.append(own + width(offsets[m]))
    starts = np.concatenate([[0], np.cumsum([len(part) for part in rows])]).astype(width)
    by_model = sparse.csc_array((np.concatenate(groups), np.concatenate(rows), starts), shape=(n_rows, len(columns)))
    del rows, groups
    by_row = by_model.tocsr()  # its data are the groups
    return frozen_entries(sparse.csr_array((np.ones(by_row.nnz), by_row.data, by_row.indptr), shape=shape))
