"""Who is in which group, row by row, in the form in which it came: integers, a table of shares, or entries where most are none.

Models are known by their numbers, and groups are numbered model after model, as in `Votes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy import sparse

from .._typing import Array
from .labels import Label, plain
from .reading import smallest_uint

Kind = Literal["classifier", "clustering", "grader"]
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
            elif isinstance(value, Codes):
                for codes in value.values():
                    frozen(codes)
            elif isinstance(value, sparse.csr_array):
                for part in (value.data, value.indices, value.indptr):
                    frozen(part)


@dataclass(frozen=True, eq=False)
class BaseModel:
    """A base model: its name, its kind, and the labels of its groups: the classes, its clusters, or the answers of its scale.

    `positions` of a grader says where each answer lies between the first class (0) and the last
    (1), NaN for answers without an order; `oriented` is False where known labels are to say which
    end is which.
    """

    name: str
    kind: Kind
    labels: Array
    positions: Array | None = None
    oriented: bool = True

    def __post_init__(self) -> None:
        self.labels.flags.writeable = False
        if self.positions is not None:
            self.positions.flags.writeable = False

    @property
    def is_voter(self) -> bool:
        """Return whether the model votes, for classes or on a scale, rather than clusters."""
        return self.kind != "clustering"

    @property
    def n_groups(self) -> int:
        """Return how many groups the model can put an object into."""
        return len(self.labels)


def voter_noun(models: Iterable[BaseModel], crowd: bool) -> str:
    """Return what voters are called: judges if all score, annotators in a crowd (each saw few objects), or classifiers."""
    if {model.kind for model in models if model.is_voter} == {"grader"}:
        return "judge"
    return "annotator" if crowd else "classifier"


def group_offsets(models: Iterable[BaseModel]) -> Array:
    """Return the number of each model's first group, and at the end the number of groups."""
    return np.cumsum([0, *(model.n_groups for model in models)], dtype=np.int64)


class Codes(dict[int, Array]):
    """Hard votes: a column of codes by the number of its model; it cannot be changed."""

    def __setitem__(self, *_: Any) -> None:
        raise TypeError("Votes cannot be changed. Use drop and add to make other ones.")

    __delitem__ = clear = pop = popitem = setdefault = update = __ior__ = __setitem__  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return Codes, (dict(self),)


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

    hard: Codes = field(
        default_factory=Codes
    )  # one code per row; a code of the model's `n_groups` is a missing vote
    soft: SoftShares | None = None  # a table of shares
    sparse: sparse.csr_array | None = None  # rows x groups, where nearly all votes are missing

    @property
    def is_hard(self) -> bool:
        """Return whether every vote is whole: there are no soft or repeated ones."""
        return self.soft is None and (self.sparse is None or bool((self.sparse.data == 1).all()))

    @property
    def soft_tables(self) -> dict[int, Array]:
        """Return the shares of soft models, by number; rows of zeros are missing votes."""
        return {} if self.soft is None else self.soft.tables()

    # ---- what one row, or some models, said ------------------------------------------------------

    def said(
        self, row: int, models: Sequence[BaseModel], offsets: Array
    ) -> dict[int, Label | dict[Label, float]]:
        """Return what was said about a row, by the number of each model that said something."""
        answers: dict[int, Any] = {}
        for m, codes in self.hard.items():
            code = int(codes[row])
            if code < models[m].n_groups:
                answers[m] = plain(models[m].labels[code])
        for soft in () if self.soft is None else self.soft.models:
            shares = self.soft.shares_of(soft, np.array([row]))[0]  # type: ignore[union-attr]
            if shares.any():
                labels = models[soft.number].labels
                answers[soft.number] = {
                    plain(label): float(p) for label, p in zip(labels, shares, strict=True)
                }
        if self.sparse is not None:
            own = slice(self.sparse.indptr[row], self.sparse.indptr[row + 1])
            for group, share in zip(
                self.sparse.indices[own].tolist(), self.sparse.data[own].tolist(), strict=True
            ):
                m = int(np.searchsorted(offsets, group, side="right")) - 1
                label = plain(models[m].labels[group - offsets[m]])
                answers[m] = label if share == 1 else {**answers.get(m, {}), label: share}
        return dict(sorted(answers.items()))

    def entries_of(
        self, chosen: Array, models: Sequence[BaseModel], offsets: Array
    ) -> tuple[Array, Array, Array, Array]:
        """Return what some models said: of each entry the place of its model among them, its row, its group, and its share."""
        place = {m: i for i, m in enumerate(chosen.tolist())}
        none = np.empty(0, dtype=np.int64)
        parts = [(none, none, none, np.empty(0))]
        for m, codes in self.hard.items():
            if m in place:
                rows = np.flatnonzero(codes != models[m].n_groups)
                parts.append(
                    (
                        np.full(len(rows), place[m]),
                        rows,
                        offsets[m] + codes[rows],
                        np.ones(len(rows)),
                    )
                )
        for m, shares in self.soft_tables.items():
            if m in place:
                rows, groups = np.nonzero(shares)
                parts.append(
                    (np.full(len(rows), place[m]), rows, offsets[m] + groups, shares[rows, groups])
                )
        if self.by_group is not None:
            starts = self.by_group.indptr
            own = [np.arange(starts[offsets[m]], starts[offsets[m + 1]]) for m in place]
            at = np.concatenate([none, *own])
            groups = np.searchsorted(starts, at, side="right") - 1
            owner = np.repeat(np.arange(len(own)), [len(part) for part in own])
            parts.append((owner, self.by_group.indices[at], groups, self.by_group.data[at]))
        owner, rows, groups, shares = (
            np.concatenate(column) for column in zip(*parts, strict=True)
        )
        return owner, rows, groups, shares

    @cached_property
    def by_group(self) -> Any:
        """Return the sparse entries, one group after the other, if there are any."""
        return None if self.sparse is None else self.sparse.tocsc()

    def n_votes(
        self, models: Sequence[BaseModel], offsets: Array, per_row: Array, repeated: bool
    ) -> Array:
        """Return how many objects each model said something about: `per_row` of them have each row, or one if not `repeated`."""
        totals = np.zeros(len(models))
        for m, codes in self.hard.items():
            voted = codes != models[m].n_groups
            totals[m] = per_row[voted].sum() if repeated else np.count_nonzero(voted)
        if self.soft is not None:
            table, models_of = self.soft.table, self.soft.models
            covered = {
                cover: table[:, cover] @ per_row for cover in {model.cover for model in models_of}
            }
            for model in models_of:
                totals[model.number] = covered[model.cover]
        if self.sparse is not None:
            per_vote = self.sparse.data
            if repeated:
                per_vote = per_vote * np.repeat(per_row, np.diff(self.sparse.indptr))
            per_group = np.bincount(
                self.sparse.indices, weights=per_vote, minlength=int(offsets[-1])
            )
            sums = np.concatenate([[0.0], np.cumsum(per_group)])
            totals += np.round(
                np.diff(sums[offsets]), 6
            )  # shares of one vote add up to 1 but for rounding
        return totals

    # ---- other stores from these -----------------------------------------------------------------

    def take(self, rows: Array) -> Stores:
        """Return some rows."""
        return Stores(
            Codes({m: codes[rows] for m, codes in self.hard.items()}),
            None if self.soft is None else self.soft.take(rows),
            None if self.sparse is None else self.sparse[rows],
        )

    def only(self, kept: Sequence[int], group_model: Array) -> Stores:
        """Return some of the models, numbered anew."""
        number = {m: new for new, m in enumerate(kept)}
        groups = np.flatnonzero(np.isin(group_model, kept))
        return Stores(
            Codes({number[m]: codes for m, codes in self.hard.items() if m in number}),
            SoftShares.of(
                {number[m]: table for m, table in self.soft_tables.items() if m in number}
            ),
            None if self.sparse is None else self.sparse[:, groups],
        )

    def silenced(self, silent: Sequence[int], models: Sequence[BaseModel], n_rows: int) -> Stores:
        """Return these models, of which some said nothing: they are not in `sparse`."""
        sizes = {m: models[m].n_groups for m in silent}
        nothing = {
            m: np.full(n_rows, size, dtype=smallest_uint(size + 1)) for m, size in sizes.items()
        }
        soft = SoftShares.of({m: table for m, table in self.soft_tables.items() if m not in sizes})
        return Stores(Codes(sorted({**self.hard, **nothing}.items())), soft, self.sparse)

    def beside(self, other: Stores, n_models: int, n_groups: int, n_other_groups: int) -> Stores:
        """Return these models, so many with so many groups, and after them those of other stores of the same rows."""
        soft = SoftShares.of(
            self.soft_tables | {m + n_models: table for m, table in other.soft_tables.items()}
        )
        both, entries = ((self.sparse, n_groups), (other.sparse, n_other_groups)), None
        n_rows = [own.shape[0] for own, _ in both if own is not None]
        if n_rows:
            whole = [sparse.csr_array((n_rows[0], n)) if own is None else own for own, n in both]
            entries = sparse.hstack(whole, format="csr")
        return Stores(
            Codes({**self.hard, **{m + n_models: codes for m, codes in other.hard.items()}}),
            soft,
            entries,
        )

    def hardened(self, models: Sequence[BaseModel], group_model: Array) -> Stores:
        """Return each soft vote as one for its most probable class or answer, shared on a tie; clusterings stay as they are.

        Only voters are in `sparse`.
        """
        if self.is_hard:
            return self
        tables = self.soft_tables
        for m, shares in tables.items():
            if models[m].is_voter:
                top = (shares > 0) & (shares >= shares.max(axis=1, keepdims=True) - 1e-12)
                tables[m] = top / np.maximum(top.sum(axis=1, keepdims=True), 1)
        return Stores.of_shares(
            self.hard,
            tables,
            None if self.sparse is None else _hardened_entries(self.sparse, group_model),
        )

    @classmethod
    def of_shares(
        cls, hard: Mapping[int, Array], tables: Mapping[int, Array], entries: Any
    ) -> Stores:
        """Return stores in which some models are given by their shares: they become codes where every vote is whole."""
        codes, shared = dict(hard), {}
        for m, table in tables.items():
            size = table.shape[1]
            if ((table == 0) | (table == 1)).all():
                codes[m] = np.full(len(table), size, dtype=smallest_uint(size + 1))
                for group, share in enumerate(table.T):
                    codes[m][share == 1] = group
            else:
                shared[m] = table
        return cls(Codes(sorted(codes.items())), SoftShares.of(shared), entries)

    def with_entries_of(
        self, crowd: Sequence[int], models: Sequence[BaseModel], offsets: Array
    ) -> Stores:
        """Return the hard votes of some models as entries, for voters who hardly vote."""
        sizes = [model.n_groups for model in models]
        entries = entries_of_columns({m: self.hard[m] for m in crowd}, offsets, sizes)
        moved = set(crowd)
        return replace(
            self,
            hard=Codes({m: codes for m, codes in self.hard.items() if m not in moved}),
            sparse=entries,
        )


def _hardened_entries(entries: sparse.csr_array, group_model: Array) -> sparse.csr_array:
    """Return entries in which the largest share of each vote is the whole of it, shared evenly on a tie."""
    if (entries.data == 1).all():
        return entries
    row = np.repeat(np.arange(entries.shape[0]), np.diff(entries.indptr))
    vote = (
        np.cumsum(
            (np.diff(row, prepend=-1) != 0)
            | (np.diff(group_model[entries.indices], prepend=-1) != 0)
        )
        - 1
    )
    largest = np.zeros(vote[-1] + 1)
    np.maximum.at(largest, vote, entries.data)
    top = entries.data >= largest[vote] - 1e-12
    share = 1 / np.bincount(vote[top])[vote[top]]
    return entries_of_votes(row[top], entries.indices[top], entries.shape, share)
