"""Odd tables for hypothesis: missing votes, empty groups, one object, one class seen, soft votes, weights, repeated rows."""

import datetime
import os
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import settings
from hypothesis import strategies as st

from ec3learn import Scale, Votes

WEIGHTS = [0.0, 0.5, 1.0, 1.0, 3.0]
SAMPLE_WEIGHTS = [0.0, 0.5, 1.0, 2.0]
TERMS = [0.05, 0.25, 0.35, 1.0]

TIMES = int(os.environ.get("EC3LEARN_FUZZ", "1"))  # as many examples; `make fuzz` sets it


def fuzzed(examples):
    """Let hypothesis try so many examples of a property in the tests, and more in `make fuzz`."""
    return settings(max_examples=examples * TIMES)


@st.composite
def any_tables(draw, *, known=True, weights=True, sample_weight=True, soft=True, min_objects=1):
    """A table that is valid but may be odd in any way; at least one class vote counts."""
    n_classes = draw(st.integers(1, 4))
    classes = [f"class {z}" for z in range(n_classes)]
    n_rows = draw(st.integers(1, 7))
    labels = st.sampled_from([None, *classes])
    clusters = st.sampled_from([None, -1, 0, 1, 2, 7])
    classifiers = {
        f"c{m}": draw(
            _shares(n_rows, n_classes) | _column(labels, n_rows)
            if soft
            else _column(labels, n_rows)
        )
        for m in range(draw(st.integers(1, 3)))
    }
    clusterings = {
        f"k{m}": draw(
            _column(clusters, n_rows) | _shares(n_rows, 2) if soft else _column(clusters, n_rows)
        )
        for m in range(draw(st.integers(0, 2)))
    }
    classifiers["sure"] = [
        classes[draw(st.integers(0, n_classes - 1))],
        *draw(_column(labels, n_rows - 1)),
    ]
    table = RawTable(classifiers, clusterings, classes)
    if weights and draw(st.booleans()):
        table.weights = {
            name: draw(st.sampled_from(WEIGHTS)) for name in [*classifiers, *clusterings]
        } | {"sure": 1.0}
    if sample_weight and draw(st.booleans()):
        table.sample_weight = [
            1.0,
            *draw(
                st.lists(st.sampled_from(SAMPLE_WEIGHTS), min_size=n_rows - 1, max_size=n_rows - 1)
            ),
        ]
    if known:
        table.known = draw(
            st.dictionaries(st.integers(0, n_rows - 1), st.sampled_from(classes), max_size=2)
        )
    at_least = max(0, min_objects - n_rows)
    repeats = draw(
        st.lists(st.integers(0, n_rows - 1), min_size=at_least, max_size=max(at_least, 6))
    )
    return table.taken([*range(n_rows), *repeats])


def any_votes(**kwargs):
    """The same as `Votes`; hard tables sometimes come through a long table, where each vote is a row."""
    return st.tuples(any_tables(known=False, **kwargs), st.booleans()).map(_as_votes)


@st.composite
def graded_votes(draw):
    """Votes on one or two scales, some of them unordered or missing, beside plain votes and perhaps a clustering."""
    n_rows, classes = draw(st.integers(1, 8)), ["low", "middle", "high"][: draw(st.integers(2, 3))]
    scores = Scale(range(4), unordered=["unsure"], direction=draw(st.sampled_from(["up", "down"])))
    said = {
        f"g{m}": [
            draw(st.integers(0, 3)),
            *draw(_column(st.sampled_from([None, 0, 1, 2, 3, "unsure"]), n_rows - 1)),
        ]
        for m in range(2)
    }
    votes = Votes.from_labels(
        said, classes=classes, scale=scores, weights=draw(st.sampled_from([None, [0.5, 1], [1, 0]]))
    )
    if draw(st.booleans()):
        votes = votes.add(
            {"stars": draw(_column(st.sampled_from([None, 1, 5]), n_rows))}, scale=[1, 2, 3, 4, 5]
        )
    if draw(st.booleans()):
        votes = votes.add({"plain": draw(_column(st.sampled_from([None, *classes]), n_rows))})
    if draw(st.booleans()):
        votes = votes.add(clusterings={"k": draw(_column(st.sampled_from([None, 0, 1]), n_rows))})
    return votes


@st.composite
def any_settings(draw):
    """Parameters of EC3 that leave something to go by; a term may be left out."""
    alpha, beta, delta = (draw(st.sampled_from([0.0, *TERMS])) for _ in range(3))
    gamma = draw(st.sampled_from(TERMS if alpha == 0 or delta == 0 else [0.0, *TERMS]))
    return {
        "alpha": alpha,
        "beta": beta,
        "gamma": gamma,
        "delta": delta,
        "balanced": draw(st.booleans()),
        "known_weight": draw(st.sampled_from([0.5, 4.0, np.inf])),
    }


NEAR = [0, 2**11, 2**24, 2**31, 2**53, 2**63, 2**64, 2**100]
ODD_LABELS = [
    [sign * (near + step) for near in NEAR for sign in (1, -1) for step in (-1, 0, 1)],
    [sign * float(near + step) for near in NEAR for sign in (1, -1) for step in (-1, 0, 1, 2048)]
    + [1.5, float("inf")],
    ["", "a", "a\0", "A", " a", "1", "1.0", "e\u0301", "\u00e9", "None", "nan", "\ud800", "\ud801"],
    [True, False],
    [np.datetime64(n, unit) for n in (1, 2) for unit in ("ns", "us", "D")]
    + [np.timedelta64(1, "ns"), np.timedelta64(2, "s")],
    [
        datetime.date(2020, 1, 1),
        datetime.datetime(2020, 1, 1),
        datetime.timedelta(1),
        datetime.time(1),
    ],
    [
        Decimal("1"),
        Decimal("1.0"),
        Decimal("1.5"),
        b"a",
        b"b",
        1j,
        (1, 2),
        np.float16(3),
        np.int8(3),
        np.uint64(2**64 - 1),
    ],
]
CONTAINERS = [
    list,
    lambda values: np.array(values, dtype=object),
    lambda values: np.array([value for value in values if value is not None]),
    *(lambda values, t=t: np.array(values, dtype=t) for t in "?bBhHiIqQefdgFUS"),
    *(
        lambda values, t=t: np.array(values, dtype=t)
        for t in ("M8[ns]", "M8[D]", "m8[ns]", np.dtypes.StringDType())
    ),
    lambda values: np.ma.array(
        [0 if v is None else v for v in values], mask=[v is None for v in values]
    ),
    pd.Series,
    *(
        lambda values, t=t: pd.Series(values, dtype=t)
        for t in ("Int64", "UInt64", "Float64", "boolean", "string", "category")
    ),
    pl.Series,
    *(
        lambda values, t=t: pl.Series(values, dtype=t)
        for t in (pl.Int64, pl.UInt64, pl.Int128, pl.Float32, pl.Categorical)
    ),
    lambda values: pa.chunked_array([pa.array(values)]),
    *(
        lambda values, t=t: pa.chunked_array([pa.array(values, t)])
        for t in (pa.uint64(), pa.float32(), pa.decimal128(38, 2))
    ),
]


def any_columns():
    """A column of odd labels with gaps, in any container that takes them."""
    labels = st.sampled_from(ODD_LABELS).flatmap(
        lambda pool: st.lists(st.sampled_from([None, *pool]), min_size=1, max_size=6)
    )
    return (
        st.tuples(labels, st.sampled_from(CONTAINERS))
        .map(_contained)
        .filter(lambda column: column is not None)
    )


def _contained(pair):
    values, container = pair
    try:
        with np.errstate(all="ignore"):
            column = container(values)
    except Exception:  # the library that owns the container refuses
        return None
    return column if len(column) else None


def _column(labels, n_rows):
    return st.lists(labels, min_size=n_rows, max_size=n_rows)


def _shares(n_rows, n_columns):
    """Rows of shares; a row of zeros stands for a missing vote."""
    row = st.lists(st.integers(0, 4), min_size=n_columns, max_size=n_columns)
    return st.lists(row, min_size=n_rows, max_size=n_rows).map(_divided)


def _divided(rows):
    counts = np.array(rows, dtype=float)
    totals = counts.sum(axis=1, keepdims=True)
    return np.where(totals > 0, counts / np.where(totals > 0, totals, 1), np.nan)


def _as_votes(pair):
    table, long = pair
    hard = not any(isinstance(column, np.ndarray) for column in table.classifiers.values())
    return table.long_votes() if long and hard else table.votes()


# ---- raw tables ----------------------------------------------------------------------------------


@dataclass
class RawTable:
    """What each base model said: a list of labels (None: no vote), or a 2-D array of shares (a row of NaN: no vote)."""

    classifiers: dict[str, Any]
    clusterings: dict[str, Any]
    classes: list[Any]
    weights: dict[str, float] = field(default_factory=dict)
    sample_weight: list[float] | None = None
    known: dict[int, Any] = field(default_factory=dict)  # object -> label

    @property
    def n_objects(self) -> int:
        return len(next(iter(self.classifiers.values())))

    def votes(self) -> Votes:
        return Votes.from_labels(
            self.classifiers,
            self.clusterings or None,
            classes=self.classes,
            weights=self.weights or None,
            sample_weight=self.sample_weight,
        )

    def long_votes(self) -> Votes:
        """The same votes, made from a table with one row a vote (hard classifiers only)."""
        said = [
            (i, name, label)
            for name, column in self.classifiers.items()
            for i, label in enumerate(column)
        ]
        objects, voters, labels = zip(*said, strict=True)
        return Votes.from_long(
            objects,
            voters,
            labels,
            self.clusterings or None,
            object_ids=list(range(self.n_objects)),
            classes=self.classes,
            weights=self.weights or None,
            sample_weight=self.sample_weight,
        )

    def taken(self, rows: Any) -> "RawTable":
        """The same table with some of its objects, in this order."""
        numbers = np.arange(self.n_objects)[rows].tolist()

        def column(values: Any) -> Any:
            return (
                values[numbers] if isinstance(values, np.ndarray) else [values[i] for i in numbers]
            )

        return RawTable(
            {name: column(values) for name, values in self.classifiers.items()},
            {name: column(values) for name, values in self.clusterings.items()},
            self.classes,
            self.weights,
            None if self.sample_weight is None else column(self.sample_weight),
            {new: self.known[old] for new, old in enumerate(numbers) if old in self.known},
        )


def random_table(
    rng: np.random.Generator,
    *,
    soft: bool = False,
    weighted: bool = False,
    sample_weighted: bool = False,
    known: bool = False,
    missing: float = 0.2,
) -> RawTable:
    """A small random table; every kind of oddity is switched on by its own argument."""
    n_objects, n_classes = int(rng.integers(2, 25)), int(rng.integers(2, 5))
    n_classifiers, n_clusterings = int(rng.integers(1, 5)), int(rng.integers(0, 4))
    classifiers = {
        f"c{m}": _raw_column(rng, n_objects, n_classes, missing, soft and bool(rng.random() < 0.6))
        for m in range(n_classifiers)
    }
    clusterings = {
        f"k{m}": _raw_column(
            rng,
            n_objects,
            int(rng.integers(1, n_objects + 1)),
            missing,
            soft and bool(rng.random() < 0.3),
        )
        for m in range(n_clusterings)
    }
    if not any(_has_vote(column) for column in classifiers.values()):
        classifiers["c0"] = [0] * n_objects
    table = RawTable(classifiers, clusterings, list(range(n_classes)))
    if weighted:
        table.weights = {name: float(rng.uniform(0.2, 3)) for name in [*classifiers, *clusterings]}
    if sample_weighted:
        table.sample_weight = rng.uniform(0.2, 3, n_objects).round(2).tolist()
    if known:
        objects = rng.choice(
            n_objects, size=int(rng.integers(1, max(2, n_objects // 3))), replace=False
        )
        table.known = {int(i): int(rng.integers(n_classes)) for i in objects}
    return table


def _raw_column(
    rng: np.random.Generator, n_objects: int, n_labels: int, missing: float, soft: bool
) -> Any:
    absent = rng.random(n_objects) < missing
    if soft:
        shares = rng.dirichlet(np.ones(n_labels), n_objects)
        shares[absent] = np.nan
        return shares
    labels = rng.integers(n_labels, size=n_objects)
    return [None if gone else int(label) for label, gone in zip(labels, absent, strict=True)]


def _has_vote(column: Any) -> bool:
    return (
        bool((~np.isnan(column)).any())
        if isinstance(column, np.ndarray)
        else any(label is not None for label in column)
    )
