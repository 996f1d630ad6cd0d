"""The paper's protocol: which rows are drawn, how they are split, and the outputs that are combined.

What the paper leaves open is decided here and in `training.py`:

- At most `max_rows` rows of a data set are drawn at random, then split 60/20/20 into training,
  validation and test set. Both depend on the seed and the number of rows only.
- Classifiers are trained on the training set. Each setting of a small grid is scored by its AUC on
  the validation set, and the best one votes without being trained again. Clusterings are fitted to
  the features of all drawn rows. Affinity propagation, mean shift, DBSCAN and complete linkage
  cluster `n_landmarks` of them and extend the clusters to the others.
- Linear stacking is trained on the votes on the validation set. Bagging, AdaBoost, XGBoost and the
  random forest are trained on the training set and not tuned.
- The network is trained for as many epochs as give it 200 steps or more.
- No base model sees the label of a test row: such labels are set to -1 before training begins.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ec3learn import Votes

MOST_ROWS = 20_000  # of a data set, in the study of size
MOST_UPE_OBJECTS = 4000  # with more it takes minutes


@dataclass(frozen=True)
class Protocol:
    """How one repeat is made."""

    max_rows: int = 2500  # of a data set
    n_landmarks: int = 1000  # rows to cluster where memory grows with the square of the rows
    without: tuple[str, ...] = ()  # base models and ensembles to leave out, such as "cnn" or "XGB"


@dataclass(frozen=True)
class Setup:
    """Which outputs to make: from which seed, labels and rows."""

    seed: int
    tuned: bool = True
    removed: float | None = None  # share of the rows of one random class to remove
    everywhere: bool = False  # vote on all rows outside the training and validation set


@dataclass(frozen=True, eq=False)
class Outputs:
    """The outputs of base models for a set of objects, and the objects' true classes.

    Only scores use the truth and, for known objects, the methods that learn from labels.
    """

    truth: Any  # the true class of each object as an integer
    known: Any  # whether methods may see the object's label; the others are the test set
    n_classes: int
    rare: int  # the rarest class; the F score of two classes is that of this one
    n_rows: int  # drawn
    touched: int = -1  # the class that rows were removed from, or -1
    proba: dict[str, Any] = field(default_factory=dict)  # objects x classes, by classifier
    clusters: dict[str, Any] = field(default_factory=dict)  # by the paper's five clusterings
    rivals: dict[str, Any] = field(default_factory=dict)  # test set x classes, by ensemble

    @cached_property
    def test(self):
        """The test set only."""
        return self.part(~self.known)

    def part(self, rows):
        """The outputs for some of the objects."""
        tables = {
            name: {key: table[rows] for key, table in getattr(self, name).items()}
            for name in ("proba", "clusters")
        }
        return replace(self, truth=self.truth[rows], known=self.known[rows], **tables)

    def votes(self, *, soft=False, clusterings=True):
        """Hard or soft votes, with or without the paper's clusterings."""
        clusters, classes = self.clusters if clusterings else None, list(range(self.n_classes))
        if soft:
            return Votes.from_probabilities(self.proba, clusters, classes=classes)
        labels = {name: table.argmax(axis=1) for name, table in self.proba.items()}
        return Votes.from_labels(labels, clusters, classes=classes)


def split(n_rows, seed, max_rows):
    """Draw at most `max_rows` rows and split them 60/20/20, whatever their labels.

    Examples
    --------
    >>> [len(part) for part in split(1000, seed=0, max_rows=100)]
    [60, 20, 20]
    """
    drawn = np.random.default_rng(seed).permutation(n_rows)[:max_rows]
    first, second = round(0.6 * len(drawn)), round(0.8 * len(drawn))
    return [np.sort(part) for part in np.split(drawn, [first, second])]
