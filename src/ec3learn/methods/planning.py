"""How long a run will take, and how much memory: small tables of the same make are solved here, and what they take is scaled up.

Time and memory grow in proportion to the rows for reading and answering, and to the distinct rows
for solving.
"""

from __future__ import annotations

import time
import tracemalloc
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from .._checks import InputError, require_integer
from .._text import count
from .._typing import Array
from ..kernels import compiled
from ..votes import Votes
from .base import Method, method_of

MOST_VOTES = 5_000_000  # of the table that is solved: compiled loops, if they are there, are used from fewer on
MOST_READ = 20_000_000  # of the table that is read, which is quicker
MANY_CLASSES, MOST_WORK = (
    10,
    3e8,
)  # above so many classes, the square of their number times the votes that are solved
LEAST_ROWS = 20_000  # to solve and to read; a quarter of it where there are many classes
SLOW = 4  # seconds: what takes longer is run once
MOST_DIFFERENT = 0.4  # of the rows that are read, as a share
FILLING = (
    1e9  # bytes per second of memory that is used for the first time, which small tables do without
)
LOADING = (0.5, 1e8)  # seconds and bytes that it takes to load the compiled loops


@dataclass(frozen=True)
class Plan:
    """What a run is expected to take: seconds of one processor, and gigabytes besides the table itself."""

    rows: int
    distinct_rows: int
    seconds: float
    gigabytes: float
    solved_rows: int | None = None  # if not all distinct rows are

    def __str__(self) -> str:
        size = f"{count(self.rows, 'row')}, {self.distinct_rows:,} of them distinct"
        seconds = f"about {_two_digits(self.seconds)}" if self.seconds >= 0.1 else "less than 0.1"
        memory = (
            f"{_two_digits(self.gigabytes)} GB"
            if self.gigabytes >= 1
            else f"{_two_digits(self.gigabytes * 1000)} MB"
        )
        says = f"{size}: {seconds} seconds and {memory if self.gigabytes >= 0.001 else 'less than 1 MB'}."
        if self.solved_rows is None:
            return says
        solved = f"Only the {count(self.solved_rows, 'most frequent distinct row')} would be solved"
        return f"{says} {solved}; answering for the others is taken to need as long as counting."


def plan(
    n_rows: int,
    n_distinct: int | None = None,
    *,
    n_classifiers: int = 7,
    n_clusterings: int = 0,
    n_classes: int = 2,
    n_clusters: int = 10,
    method: str | Method = "auto",
) -> Plan:
    """Predict how long combining a table in memory takes on this machine, and how much memory, within a factor of about two.

    It solves random tables of the same make with up to five million votes, fewer if there are more
    than ten classes, which takes seconds, and scales up what they took.

    Parameters
    ----------
    n_rows : int
        How many objects there are.
    n_distinct : int or None
        How many of the rows differ. None takes as many as random votes would have.
    n_classifiers, n_clusterings, n_classes, n_clusters : int
        How many voters and clusterings there are, how many classes, and how many clusters each
        clustering has.
    method : str or method
        As in `solve`.

    Examples
    --------
    >>> import ec3learn
    >>> expected = ec3learn.plan(2_000, n_classifiers=3)
    >>> expected.seconds < 60, expected.gigabytes < 1
    (True, True)
    """
    sizes = {
        "n_rows": n_rows,
        "n_classifiers": n_classifiers,
        "n_classes": n_classes,
        "n_clusters": n_clusters,
    }
    for name, value in (
        sizes if n_distinct is None else {**sizes, "n_distinct": n_distinct}
    ).items():
        require_integer(name, value, 1)
    require_integer("n_clusterings", n_clusterings, 0)
    _require_possible(n_distinct, (n_classes, n_classifiers), (n_clusters, n_clusterings))
    chosen = method_of(method, "method")
    n_models = n_classifiers + n_clusterings
    n_sample, n_read = (
        min(n_rows, _most_rows(n_models, n_classes)),
        min(n_rows, max(LEAST_ROWS, MOST_READ // n_models)),
    )
    loads = compiled(n_rows * n_models) is not None  # now, for what is measured does not include it
    table = _random_table(n_sample, n_classifiers, n_clusterings, n_classes, n_clusters)
    if n_distinct is not None and n_distinct < n_sample:
        table = table[np.arange(n_sample) % n_distinct]
    votes = _votes(table, n_classifiers)
    if n_distinct is None:
        n_distinct = (
            votes.n_rows if 2 * votes.n_rows < n_sample else round(n_rows * votes.n_rows / n_sample)
        )
    n_distinct = min(n_distinct, n_rows)
    read, n_different = table, n_sample
    if n_distinct < n_rows:
        n_different = _n_different(n_rows, n_distinct, n_sample, n_read)
        if n_different > n_sample:
            table = _random_table(n_different, n_classifiers, n_clusterings, n_classes, n_clusters)
        read = table[np.random.default_rng(0).integers(0, n_different, n_read)]
    reading = _Cost.of(lambda: _votes(read, n_classifiers))
    solving = solving_cost(votes, chosen.solve, n_distinct)
    answers = n_rows * n_classes * 8 if n_distinct < n_rows else 0
    more = max(n_rows / len(read), n_distinct / n_different)
    seconds = reading.seconds * more + answers / FILLING + solving.seconds
    size = max(reading.bytes * more, solving.bytes + answers)
    if loads:
        seconds, size = seconds + LOADING[0], size + LOADING[1]
    return Plan(n_rows, n_distinct, seconds, size / 1e9)


def plan_votes(votes: Votes, method: str | Method = "auto", fast: bool = False) -> Plan:
    """Predict what it takes to solve votes that exist and to sum up the answer (`fast`: without a diagnosis).

    Up to five million of the votes are solved, fewer if there are many classes, and what they took
    is scaled up.
    """
    chosen, most = method_of(method, "method"), _most_rows(len(votes.models), votes.n_classes)
    rows = (
        np.arange(votes.n_rows)
        if votes.n_rows <= most
        else np.random.default_rng(0).permutation(votes.n_rows)[:most]
    )
    cost = solving_cost(
        votes.only_rows(rows),
        lambda part: chosen.solve(part).summary(chosen, fast=fast),
        votes.n_rows,
    )
    return Plan(round(votes.counts.sum()), votes.n_rows, cost.seconds, cost.bytes / 1e9)


@dataclass(frozen=True)
class _Cost:
    seconds: float
    bytes: float

    @classmethod
    def of(cls, work: Callable[[], Any]) -> _Cost:
        """Return what some work takes: one run if that is slow, else the better of two, as the first may load something."""
        first = cls._traced(work)
        if first.seconds > SLOW:
            return first
        again = cls._traced(work)
        if again.seconds < 1:  # following its memory may have taken much of that
            begin = time.process_time()
            work()
            again = cls(time.process_time() - begin, again.bytes)
        return cls(min(first.seconds, again.seconds), again.bytes)

    @classmethod
    def _traced(cls, work: Callable[[], Any]) -> _Cost:
        """Return what one run takes, in which memory is followed, which makes it a little slower."""
        traced = tracemalloc.is_tracing()
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        begin = time.process_time()  # other work on the machine does not count
        work()
        seconds = time.process_time() - begin
        peak = tracemalloc.get_traced_memory()[1] - before
        if not traced:
            tracemalloc.stop()
        return cls(seconds, peak)


def solving_cost(votes: Votes, solve: Callable[[Votes], Any], n_distinct: int) -> _Cost:
    """Return what solving so many distinct rows takes, from solving those of some votes and a quarter of them.

    Of many classes that are slow to solve the quarter is left out, and further rows are taken to
    need a third of the time: the confusion of classes takes as long for few rows, and more rounds.
    """

    def cost(rows: Array) -> _Cost:
        part = votes.only_rows(rows)
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # what there is to say about a sample says nothing about the table
            return _Cost.of(lambda: solve(part))

    rows = np.arange(votes.n_rows)
    whole = cost(rows)
    if n_distinct <= votes.n_rows:
        return whole
    if whole.seconds > SLOW and votes.n_classes > MANY_CLASSES:
        growth = n_distinct / votes.n_rows - 1
        return _Cost(whole.seconds * (1 + growth / 3), whole.bytes * (1 + growth))
    part = cost(rows[::4])
    growth = (n_distinct - votes.n_rows) / max(votes.n_rows - len(rows[::4]), 1)
    seconds, size = (
        max(whole.seconds - part.seconds, whole.seconds / 2) * growth,
        (whole.bytes - part.bytes) * growth,
    )
    return _Cost(whole.seconds + seconds + size / FILLING, whole.bytes + size)


def _most_rows(n_models: int, n_classes: int) -> int:
    """Return how many rows to solve at most, so that it takes seconds."""
    if n_classes <= MANY_CLASSES:
        return max(LEAST_ROWS, MOST_VOTES // n_models)
    return max(LEAST_ROWS // 4, int(MOST_WORK / n_classes**2) // n_models)


def _require_possible(n_distinct: int | None, *models: tuple[int, int]) -> None:
    """Refuse more distinct rows than so many models with so many labels each, and gaps, can have."""
    most = prod((n_labels + 1) ** min(n_models, 64) for n_labels, n_models in models)
    if n_distinct is not None and n_distinct > most:
        must = f"must be at most {most:,}, the rows that differ in so few votes and clusters, with missing ones"
        raise InputError("n_distinct", must, came=f"{n_distinct:,}")


def _n_different(n_rows: int, n_distinct: int, n_sample: int, n_read: int) -> int:
    """Return how many rows differ in the table that is read: as large a share as in all, for finding them takes longer then.

    It stays below a half, above which distinct rows are not looked for.
    """
    share = min(n_distinct / n_rows, MOST_DIFFERENT)
    return min(n_distinct, max(n_sample, int(share * n_read)))


def _random_table(
    n_rows: int, n_classifiers: int, n_clusterings: int, n_classes: int, n_clusters: int
) -> Array:
    """Return votes that are right more often than not, and clusters that follow the classes noisily."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, n_classes, n_rows)
    table = np.empty(
        (n_rows, n_classifiers + n_clusterings),
        dtype=np.min_scalar_type(-max(n_classes, n_clusters)),
    )
    for m in range(n_classifiers):
        table[:, m] = np.where(rng.random(n_rows) < 0.5, truth, rng.integers(0, n_classes, n_rows))
    for m in range(n_clusterings):
        own = (
            truth + n_classes * rng.integers(0, max(n_clusters // n_classes, 1), n_rows)
        ) % n_clusters
        table[:, n_classifiers + m] = np.where(
            rng.random(n_rows) < 0.5, own, rng.integers(0, n_clusters, n_rows)
        )
    return table


def _votes(table: Array, n_classifiers: int) -> Votes:
    return Votes.from_labels(
        table[:, :n_classifiers],
        table[:, n_classifiers:] if n_classifiers < table.shape[1] else None,
    )


def _two_digits(number: float) -> str:
    return f"{number:.0f}" if number >= 10 else f"{number:.2g}"
