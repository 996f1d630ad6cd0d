"""From rows to the paper's tables: our numbers, the paper's, and the difference."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ..exhibits import Block, Exhibit, Frame, has, means, printed
from . import accuracy, metric, studies

COUNTS = ["rows", "classes", "features"]
HEADS = [*COUNTS, "majority", "entropy"]


def datasets(rows: Frame) -> Exhibit:
    """Our figures of the data sets, and those of the paper's Table 3."""
    frame = _beside_printed(means(rows, "datasets", "value", columns="setting")).rename_axis(
        "dataset"
    )
    used = means(rows, "accuracy", "n_rows")
    if len(used):
        frame["rows used"] = used.iloc[:, 0].astype("Int64")
    block = Block("Our copies, and the figures the paper prints.", frame)
    return Exhibit("datasets", "Data sets (Table 3)", [block])


def _beside_printed(ours: Frame) -> Frame:
    """Our figures of data sets, and the paper's."""
    frame = ours.reindex(columns=HEADS).join(printed("datasets")[HEADS].add_suffix(", paper"))
    return frame.astype({name: "Int64" for name in frame if name.removesuffix(", paper") in COUNTS})


# The experiments each exhibit needs, and the function that makes it.
EXHIBITS: dict[str, tuple[tuple[str, ...], Callable[[Frame], Exhibit]]] = {
    "accuracy_auc": (("accuracy",), accuracy.accuracy),
    "accuracy_f": (("accuracy",), partial(accuracy.accuracy, metric="f")),
    "checks": (("accuracy",), metric.checks),
    "clustering_nmi": (("clustering_nmi",), studies.clustering_nmi),
    "drop_clustering": (("drop_clustering",), studies.drop_clustering),
    "add_clustering": (("add_clustering",), studies.add_clustering),
    "drop_classifier": (("drop_classifier", "accuracy"), studies.drop_classifier),
    "add_classifier": (("add_classifier",), studies.add_classifier),
    "drop_term": (("drop_term",), studies.drop_term),
    "parameters": (("parameters",), studies.parameters),
    "epsilon": (("epsilon",), studies.epsilon),
    "imbalance": (("imbalance",), studies.imbalance),
    "robustness": (("random_classifiers", "random_clusterings"), studies.robustness),
    "like_for_like": (("like_for_like",), studies.like_for_like),
    "runtime": (("runtime",), studies.runtime),
    "growth": (("growth_objects", "growth_models", "growth_classes"), studies.growth),
    "datasets": (("datasets",), datasets),
}


def exhibits(rows, names=EXHIBITS):
    """Make tables from rows: those of the names whose experiments have rows."""
    return [
        make(rows)
        for name, (needed, make) in EXHIBITS.items()
        if name in names and has(rows, *needed)
    ]
