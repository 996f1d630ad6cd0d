"""How votes are kept: base models with their groups, and who is in which group, row by row.

Each (classifier, class), (grader, answer) and (clustering, cluster) is a *group*. Groups are
numbered model after model.

Two objects with the same votes and clusters get the same answer, so a table of millions of objects
is as large as its number of distinct rows. Each row is packed into one integer, with one digit per
model, and these integers are counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy import sparse

from .. import kernels
from .._typing import Array
from .labels import Scale

Kind = Literal["classifier", "clustering", "grader"]
CHUNK = 1 << 16  # rows that are packed at a time: they stay in the cache
SAMPLE = 20_000  # rows looked at to tell whether rows repeat at all
SORTING = 8  # numbers that are read in the time it takes to sort one
FEW_CELLS = 1 << 16  # possible rows that are counted one by one instead of sorted
WIDEST_KEY = 1 << 63

Codes = tuple[Array, int]  # a column of integers, and how many different ones there may be


def frozen(array: Array) -> Array:
    """Make an array of our own unwritable and return it."""
    array.flags.writeable = False
    return array


class Frozen:
    """What has arrays that cannot be changed once it is made: a base class of dataclasses."""

    def __post_init__(self) -> None:
        """Make every array among the fields unwritable, those of a sparse matrix or a dict too."""
        for value in vars(self).values():
            parts = value.values() if isinstance(value, dict) else [value]
            if isinstance(value, sparse.csr_array):
                parts = [value.data, value.indices, value.indptr]
            for part in parts:
                if isinstance(part, np.ndarray):
                    frozen(part)


def smallest_uint(n_codes: int) -> np.dtype[Any]:
    """The smallest unsigned type that holds the codes 0 .. n_codes - 1."""
    return np.min_scalar_type(max(n_codes - 1, 0))


# ---- base models ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class BaseModel(Frozen):
    """A base model: its name, its kind, and the labels of its groups.

    `labels` are the classes of a classifier, the clusters of a clustering or the answers of a
    grader, who has a `scale`.
    """

    name: str
    kind: Kind
    labels: Array
    scale: Scale | None = None

    @property
    def positions(self) -> Array | None:
        """Where each answer of a grader lies from the first class to the last (`Scale`)."""
        return None if self.scale is None else self.scale.positions

    @property
    def is_voter(self) -> bool:
        """Whether the model votes, for classes or on a scale, rather than clusters."""
        return self.kind != "clustering"

    @property
    def n_groups(self) -> int:
        """How many groups the model can put an object into."""
        return len(self.labels)


class Models(Sequence[BaseModel]):
    """The base models of votes, in their order, with the numbers of their groups.

    It is no tuple: libraries that save estimators make a plain one of it.
    """

    def __init__(self, models: Iterable[BaseModel]) -> None:
        self._models = tuple(models)

    def __len__(self) -> int:
        return len(self._models)

    def __getitem__(self, at: Any) -> Any:
        return self._models[at]

    @cached_property
    def offsets(self) -> Array:
        """The number of each model's first group, and at the end the number of groups."""
        return np.cumsum([0, *(model.n_groups for model in self)], dtype=np.int64)

    @property
    def n_groups(self) -> int:
        """How many groups there are, empty ones included."""
        return int(self.offsets[-1])

    @cached_property
    def group_model(self) -> Array:
        """The number of the model of each group."""
        return np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.offsets))

    @cached_property
    def group_class(self) -> Array:
        """The number of the class of each classifier's group; -1 for other groups."""
        code = (np.arange(self.n_groups) - self.offsets[self.group_model]).astype(np.int32)
        return np.where(self.is_classifier[self.group_model], code, np.int32(-1))

    @cached_property
    def is_classifier(self) -> Array:
        """Which base models vote for classes."""
        return np.array([model.kind == "classifier" for model in self], dtype=bool)

    @cached_property
    def is_voter(self) -> Array:
        """Which base models vote, for classes or on a scale, rather than cluster."""
        return np.array([model.is_voter for model in self], dtype=bool)


def voter_noun(models: Iterable[BaseModel], is_crowd: bool) -> str:
    """What voters are called: judges if all score, annotators in a crowd, or classifiers."""
    if {model.kind for model in models if model.is_voter} == {"grader"}:
        return "judge"
    return "annotator" if is_crowd else "classifier"


# ---- memberships ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Stores(Frozen):
    """The memberships of rows in groups; each model is in one of the three."""

    # One code per row, by the number of the model; the model's `n_groups` is a missing vote.
    hard: dict[int, Array] = field(default_factory=dict)
    # Shares, rows x groups, by the number of the model; a row of zeros is a missing vote.
    soft: dict[int, Array] = field(default_factory=dict)
    sparse: sparse.csr_array | None = None  # rows x groups, where nearly all votes are missing
    n_repeated: int = 0  # further votes of a voter on one object, merged into one or left out
    n_outside: float = 0.0  # answers off a scale that are taken as missing

    @property
    def is_hard(self) -> bool:
        """Whether every vote is whole: there are no soft or repeated ones."""
        return not self.soft and (self.sparse is None or bool((self.sparse.data == 1).all()))

    def take(self, rows: Array) -> Stores:
        """Some of the rows."""
        return replace(
            self,
            hard={m: codes[rows] for m, codes in self.hard.items()},
            soft={m: np.asfortranarray(table[rows]) for m, table in self.soft.items()},
            sparse=None if self.sparse is None else self.sparse[rows],
        )

    def only(self, kept: Sequence[int], group_model: Array) -> Stores:
        """Some of the models, numbered anew."""
        number = {m: new for new, m in enumerate(kept)}
        groups = np.flatnonzero(np.isin(group_model, kept))
        return replace(
            self,
            hard={number[m]: codes for m, codes in self.hard.items() if m in number},
            soft={number[m]: table for m, table in self.soft.items() if m in number},
            sparse=None if self.sparse is None else self.sparse[:, groups],
        )

    def beside(self, other: Stores, models: Models, other_models: Models) -> Stores:
        """These models, and after them those of other stores of the same rows."""
        n, entries = len(models), self.sparse if other.sparse is None else other.sparse
        if entries is not None:
            parts = [
                sparse.csr_array((entries.shape[0], m.n_groups)) if s.sparse is None else s.sparse
                for s, m in ((self, models), (other, other_models))
            ]
            entries = sparse.hstack(parts, format="csr")
        return Stores(
            self.hard | {m + n: codes for m, codes in other.hard.items()},
            self.soft | {m + n: table for m, table in other.soft.items()},
            entries,
            self.n_repeated + other.n_repeated,
            self.n_outside + other.n_outside,
        )

    def with_tables(self, hard: dict[int, Array], tables: dict[int, Array], entries: Any) -> Stores:
        """The same with some models given by their shares, as codes where every vote is whole."""
        whole = {m: ((table == 0) | (table == 1)).all() for m, table in tables.items()}
        codes = {
            m: np.where(table.any(axis=1), table.argmax(axis=1), table.shape[1]).astype(
                smallest_uint(table.shape[1] + 1)
            )
            for m, table in tables.items()
            if whole[m]
        }
        soft = {m: table for m, table in tables.items() if not whole[m]}
        return replace(self, hard=dict(sorted((hard | codes).items())), soft=soft, sparse=entries)


# ---- sparse entries ------------------------------------------------------------------------------


def entries_of_votes(objects: Array, groups: Array, shape: tuple[int, int]) -> sparse.csr_array:
    """How often each object is put into each group, one pair of them per vote."""
    return sparse.coo_array((np.ones(len(groups)), (objects, groups)), shape=shape).tocsr()


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


# ---- distinct rows -------------------------------------------------------------------------------


def distinct_rows(columns: Sequence[Codes]) -> tuple[Array, Array, Array] | None:
    """An object of each distinct row of some columns, the row of each object, and the rows' counts.

    None says that hardly any row repeats, so that finding the distinct ones would cost more than it
    saves.
    """
    n_objects, n_cells = len(columns[0][0]), math.prod(size for _, size in columns)
    if n_cells > max(FEW_CELLS, n_objects // 4) and not _repeat(columns, n_objects):
        return None
    keys, n_keys = _row_keys(columns)
    if n_keys > max(FEW_CELLS, n_objects // 4):
        keys, n_keys = _numbered(keys)  # else a key addresses its count: nothing is sorted
    objects, counts = np.empty(n_keys, dtype=np.int64), np.zeros(n_keys, dtype=np.int64)
    for begin in range(0, n_objects, 4 * CHUNK):
        part = keys[begin : begin + 4 * CHUNK].astype(np.int64)
        objects[part] = np.arange(begin, begin + len(part))
        counts += np.bincount(part, minlength=n_keys)
    values = np.flatnonzero(counts)
    if len(values) == n_objects:
        return None
    if len(values) < n_keys:
        number = np.zeros(n_keys, dtype=smallest_uint(len(values)))
        number[values] = np.arange(len(values))
        keys = expand_rows(number, keys)
    return objects[values], keys, counts[values]


def _repeat(columns: Sequence[Codes], n_objects: int) -> bool:
    """Guess from a sample whether at most half of all rows are distinct (birthday problem)."""
    if n_objects <= SAMPLE:
        return True
    # One row from each stretch, at random: a table may repeat itself at regular distances.
    stretch = np.arange(SAMPLE) + np.random.default_rng(0).random(SAMPLE)
    rows = (stretch * (n_objects / SAMPLE)).astype(np.int64)
    keys, _ = _row_keys([(codes[rows], size) for codes, size in columns])
    n_repeats = SAMPLE - len(np.unique(keys))
    return n_repeats > 0 and SAMPLE**2 / (2 * n_repeats) < n_objects / 2


def _row_keys(columns: Sequence[Codes]) -> tuple[Array, int]:
    """One integer per row, equal where the rows are equal, and how many there may be."""
    word: list[Codes] = []
    for codes, size in columns:
        if size * math.prod(other for _, other in word) > WIDEST_KEY:
            word = [_numbered(_packed(word)[0])]
        word.append((codes, size))
    return _packed(word)


def _packed(columns: Sequence[Codes]) -> tuple[Array, int]:
    """Each row as one number in mixed radix, some rows at a time."""
    n_keys = math.prod(size for _, size in columns)
    keys = np.zeros(len(columns[0][0]), dtype=smallest_uint(n_keys + 1))
    for begin in range(0, len(keys), CHUNK):
        part = keys[begin : begin + CHUNK]
        for codes, size in columns:
            part *= part.dtype.type(size)
            part += codes[begin : begin + CHUNK].astype(part.dtype, copy=False)
    return keys, n_keys


def _numbered(keys: Array) -> tuple[Array, int]:
    """Keys numbered in the order in which they first occur, and how many differ."""
    pays = kernels.LEAST <= SORTING * len(keys) < SORTING << 31
    if pays and (loops := kernels.compiled()) is not None:
        number = np.empty(len(keys), dtype=np.uint32)
        return number, len(loops.number(keys, number))
    values, first, index = np.unique(keys, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[index].astype(smallest_uint(len(values))), len(values)


def row_numbers(entries: sparse.csr_array) -> Codes:
    """A number for each row of a sparse matrix, equal where the rows are equal.

    Rows are compared by two random sums of their entries, which agree by chance once in 2^100.
    """
    drawn = np.random.default_rng(0).random((entries.shape[1], 2))
    sums = np.ascontiguousarray(entries @ drawn).view(np.complex128).ravel()
    values, number = np.unique(sums, return_inverse=True)
    return number, len(values)


def expand_rows(per_row: Array, index: Array) -> Array:
    """`per_row[index]`, some objects at a time: numpy makes wide copies of small indices."""
    out = np.empty((len(index), *per_row.shape[1:]), dtype=per_row.dtype)
    for begin in range(0, len(index), CHUNK):
        part = slice(begin, begin + CHUNK)
        np.take(per_row, index[part], axis=0, out=out[part], mode="clip")
    return out
