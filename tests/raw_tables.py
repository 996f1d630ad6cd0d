"""Tables of votes as plain Python, from which both the library's `Votes` and the dense matrices of `dense.py` are made."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ec3learn import Votes


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
        said = [(i, name, label) for name, column in self.classifiers.items() for i, label in enumerate(column)]
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
            return values[numbers] if isinstance(values, np.ndarray) else [values[i] for i in numbers]

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
        f"c{m}": _column(rng, n_objects, n_classes, missing, soft and bool(rng.random() < 0.6)) for m in range(n_classifiers)
    }
    clusterings = {
        f"k{m}": _column(rng, n_objects, int(rng.integers(1, n_objects + 1)), missing, soft and bool(rng.random() < 0.3))
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
        objects = rng.choice(n_objects, size=int(rng.integers(1, max(2, n_objects // 3))), replace=False)
        table.known = {int(i): int(rng.integers(n_classes)) for i in objects}
    return table


def _column(rng: np.random.Generator, n_objects: int, n_labels: int, missing: float, soft: bool) -> Any:
    absent = rng.random(n_objects) < missing
    if soft:
        shares = rng.dirichlet(np.ones(n_labels), n_objects)
        shares[absent] = np.nan
        return shares
    labels = rng.integers(n_labels, size=n_objects)
    return [None if gone else int(label) for label, gone in zip(labels, absent, strict=True)]


def _has_vote(column: Any) -> bool:
    return bool((~np.isnan(column)).any()) if isinstance(column, np.ndarray) else any(label is not None for label in column)
