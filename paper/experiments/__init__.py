"""All experiments; each is a function of a `Case` that yields rows.

A row is (method, setting, metric, value); `rows.run` prepends experiment, data set and seed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from ..protocol import MOST_ROWS
from . import accuracy, answer, runtime


@dataclass(frozen=True)
class Experiment:
    """An experiment: its function, its data sets (none: all that fit) and the repeats that suffice."""

    study: Callable
    title: str
    datasets: Sequence[str] = ()
    repeats: int | None = None  # None: all
    timed: bool = False

    def takes(self, name):
        """Whether the experiment runs on a data set without being asked to by name."""
        return name in self.datasets if self.datasets else self.timed or name not in TIMED_ONLY


TIMED_ONLY = ("sensor_3feat",)  # three features are too few for scores that mean anything
# The paper's two, and two substitutes where these are not available
LARGEST = ("susy", "sensor", "magic", "sensor_sample")
SEVERAL = ("letter", "sensor", "sensor_3feat")  # the largest with many classes
# Those with 19,000 rows or more that are available
LARGER = ("magic", "creditcard", "adults", "diabetes", "letter")

drop, add = answer.drop_one, answer.add_one_by_one

EXPERIMENTS = {
    "datasets": Experiment(accuracy.datasets, "The data sets", repeats=1, timed=True),
    "accuracy": Experiment(accuracy.accuracy, "Accuracy of all methods"),
    "accuracy_large": Experiment(
        accuracy.accuracy_large, f"Accuracy with up to {MOST_ROWS:,} rows", LARGER
    ),
    "parameters": Experiment(answer.parameters, "Weights of the four terms"),
    "epsilon": Experiment(answer.epsilon, "Tolerance of the paper's loop"),
    "drop_classifier": Experiment(partial(drop, kind="proba"), "One classifier left out"),
    "add_classifier": Experiment(partial(add, kind="proba", first=1), "Classifiers one by one"),
    "clustering_nmi": Experiment(accuracy.clustering_nmi, "How clusterings match the classes"),
    "drop_clustering": Experiment(partial(drop, kind="clusters"), "One clustering left out"),
    "add_clustering": Experiment(partial(add, kind="clusters", first=0), "Clusterings one by one"),
    "drop_term": Experiment(answer.drop_term, "One term left out"),
    "imbalance": Experiment(answer.imbalance, "A class made rare", LARGEST),
    "random_classifiers": Experiment(answer.random_classifiers, "Random classifiers"),
    "random_clusterings": Experiment(answer.random_clusterings, "Random clusterings"),
    "runtime": Experiment(runtime.runtime, "Runtime of the combination", timed=True),
    "like_for_like": Experiment(runtime.like_for_like, "Runtime of the published loops", SEVERAL),
    "growth_objects": Experiment(runtime.growth_objects, "Runtime and objects", SEVERAL),
    "growth_models": Experiment(runtime.growth_models, "Runtime and base models", SEVERAL),
    "growth_classes": Experiment(runtime.growth_classes, "Runtime and classes", SEVERAL),
}
