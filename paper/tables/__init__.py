"""From rows to the paper's tables: our numbers, the paper's, the difference, and whether the paper's claims held.

An exhibit is made from rows only; its findings are computed, never typed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pandas as pd

from ..datasets import at_hand, load
from ..exhibits import Block, Exhibit, Finding, Frame, has, means, printed
from ..registry import DATASETS
from . import accuracy, clusterings, metric, studies

COUNTS = ["rows", "classes", "features"]
HEADS = [*COUNTS, "majority", "entropy"]


def datasets(rows: Frame) -> Exhibit:
    """Return our figures of the data sets, and those of the paper's Table 2."""
    frame = _beside_printed(means(rows, "datasets", "value", columns="setting")).rename_axis(
        "dataset"
    )
    used = means(rows, "accuracy", "n_rows")
    if len(used):
        frame["rows used"] = used.iloc[:, 0].astype("Int64")
    differing = differing_entropies(frame)
    finding = Finding(
        "Do the printed figures match the data sets?", not differing, differing or "they do."
    )
    return Exhibit(
        "datasets",
        "Data sets (Table 2)",
        [Block("Our copies, and the figures the paper prints.", frame)],
        [finding],
    )


def _beside_printed(ours: Frame) -> Frame:
    """Return our figures of data sets, and the paper's."""
    frame = ours.reindex(columns=HEADS).join(printed("datasets")[HEADS].add_suffix(", paper"))
    return frame.astype({name: "Int64" for name in frame if name.removesuffix(", paper") in COUNTS})


def differing_entropies(frame: Frame) -> str:
    """Return a sentence on the data sets whose printed entropies differ from ours; an empty string if there are none."""
    both = frame[["entropy", "entropy, paper"]].dropna().astype(float)
    off = both[(both["entropy"] - both["entropy, paper"]).abs() > 0.1]
    swapped = (
        len(off) == 2
        and (off["entropy"] - off["entropy, paper"].to_numpy()[::-1]).abs().max() < 0.15
    )
    how = ", as if their rows were swapped" if swapped else ""
    return (
        f"majority share and entropy of {' and '.join(off.index)} differ from the printed ones{how}."
        if len(off)
        else ""
    )


# The experiments each exhibit needs, and the function that makes it.
EXHIBITS: dict[str, tuple[tuple[str, ...], Callable[[Frame], Exhibit]]] = {
    "accuracy_auc": (("accuracy",), accuracy.accuracy),
    "accuracy_f": (("accuracy",), partial(accuracy.accuracy, metric="f")),
    "ranks": (("accuracy",), accuracy.ranks),
    "metric": (("accuracy",), metric.metric),
    "checks": (("accuracy",), metric.checks),
    "size": (("accuracy", "accuracy_large"), accuracy.size),
    "clustering_nmi": (("clustering_nmi",), studies.clustering_nmi),
    "tuned": (("tuned_clusterings", "accuracy"), clusterings.tuned),
    "quality": (("noisy_truth",), clusterings.quality),
    "labels": (("labels_5", "labels_20", "accuracy"), accuracy.labels),
    "where": (("labels_5", "labels_20", "accuracy", "clustering_nmi"), accuracy.where),
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


def datasets_at_hand(folder=None):
    """Return all data sets with the paper's figures, and ours for those that need no download."""
    from ..experiments.accuracy import describe

    present, found = at_hand(folder), {}
    for name, known in DATASETS.items():
        found[name] = {"source": known.url or "not available"}
        if name in present:
            data = load(name, folder)
            found[name] = {"source": data.source} | {
                setting: value for _, setting, _, value in describe(data)
            }
    ours = pd.DataFrame.from_dict(found, orient="index")
    return _beside_printed(ours).assign(source=ours["source"])
