"""All experiments; each is a function of a `Case` that yields rows.

A row is (method, setting, metric, value); `rows.run` prepends experiment, data set and seed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from . import accuracy, answer, runtime

# Three features are too few for scores that mean anything; the other has no features.
UNSCORED = ("sensor_3feat", "susy_synthetic")


@dataclass(frozen=True)
class Experiment:
    """An experiment: its function, its data sets (none: all that fit) and the repeats that suffice."""

    study: Callable
    datasets: Sequence[str] = ()
    repeats: int | None = None  # None: all
    never: Sequence[str] = UNSCORED

    def takes(self, name):
        """Whether the experiment runs on a data set without being asked to by name."""
        return name in self.datasets or (not self.datasets and name not in self.never)


# The paper's two, and two substitutes where these are not available
LARGEST = ("susy", "sensor", "magic", "sensor_sample")
SEVERAL = ("letter", "sensor", "sensor_3feat")  # the largest with many classes
# Those with 19,000 rows or more that are available
LARGER = ("magic", "creditcard", "adults", "diabetes", "letter")
# Two classes; Susy is missing
LARGE_BINARY = ("magic", "creditcard", "adults", "diabetes")

EXPERIMENTS = {
    "datasets": Experiment(accuracy.datasets, repeats=1, never=UNSCORED[1:]),
    "accuracy": Experiment(accuracy.accuracy),
    "accuracy_large": Experiment(accuracy.accuracy_large, LARGER),
    "parameters": Experiment(answer.parameters),
    "epsilon": Experiment(answer.epsilon),
    "drop_classifier": Experiment(partial(answer.drop_one, kind="proba")),
    "add_classifier": Experiment(partial(answer.add_one_by_one, kind="proba", first=1)),
    "clustering_nmi": Experiment(accuracy.clustering_nmi),
    "drop_clustering": Experiment(partial(answer.drop_one, kind="clusters")),
    "add_clustering": Experiment(partial(answer.add_one_by_one, kind="clusters", first=0)),
    "drop_term": Experiment(answer.drop_term),
    "imbalance": Experiment(answer.imbalance, LARGEST),
    "imbalance_large": Experiment(answer.imbalance_large, LARGE_BINARY, repeats=10),
    "random_classifiers": Experiment(answer.random_classifiers),
    "random_clusterings": Experiment(answer.random_clusterings),
    "runtime": Experiment(runtime.runtime, never=UNSCORED[1:]),
    "like_for_like": Experiment(runtime.like_for_like, SEVERAL),
    "synthetic": Experiment(runtime.synthetic, ("susy_synthetic",), repeats=3),
    "growth_models": Experiment(runtime.growth_models, SEVERAL),
    "growth_classes": Experiment(runtime.growth_classes, SEVERAL),
}
