"""From rows to the paper's tables: our numbers, the paper's, and the difference."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from ..datasets import DATASETS
from ..exhibits import Block, Exhibit, Frame, has, means, ordered, printed, select
from . import accuracy, studies

COUNTS = ["rows", "features"]
HEADS = [*COUNTS, "majority", "entropy"]


def datasets(rows: Frame) -> Exhibit:
    """Our figures of the data sets, and those of the paper's Table 3."""
    ours = means(rows, "datasets", "value", columns="setting").reindex(columns=HEADS)
    theirs = printed("datasets")[HEADS].add_suffix(", paper")
    frame = ours.join(theirs)[[name for head in HEADS for name in (head, f"{head}, paper")]]
    frame = frame.astype({name: "Int64" for name in frame if name.split(",")[0] in COUNTS})
    caption = "Our copies, and the figures the paper prints. Those of Waveform and Statlog are swapped in print."
    return Exhibit(
        "datasets", "Data sets (Table 3)", [Block(caption, frame.rename_axis("dataset"))]
    )


def provenance(rows: Frame) -> Frame:
    """Where each table is from, its size and its fingerprint."""
    found = []
    for name, own in ordered(select(rows, "datasets").set_index("dataset")).groupby(
        level=0, sort=False
    ):
        size = own[own["metric"] == "value"].set_index("setting")["value"]
        counts = own.loc[own["metric"] == "count", "value"].astype(int)
        low, high = counts.min(), counts.max()
        several = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        found.append(
            {
                "data set": name,
                "source": DATASETS[name].source,
                "rows": int(size["rows"]),
                "columns": int(size["features"]) + 1,
                "class counts": f"{len(counts)} of {several}" if len(counts) else "",
                "SHA-256": own["table"].iloc[0],
            }
        )
    return pd.DataFrame(found).set_index("data set")


# The experiments each exhibit needs, and the function that makes it.
EXHIBITS: dict[str, tuple[tuple[str, ...], Callable[[Frame], Exhibit]]] = {
    "accuracy": (("accuracy",), accuracy.accuracy),
    "checks": (("accuracy",), accuracy.checks),
    "clustering_nmi": (("clustering_nmi",), studies.clustering_nmi),
    "drop_clustering": (("drop_clustering",), studies.drop_clustering),
    "add_clustering": (("add_clustering",), studies.add_clustering),
    "drop_classifier": (("drop_classifier", "accuracy"), studies.drop_classifier),
    "add_classifier": (("add_classifier",), studies.add_classifier),
    "drop_term": (("drop_term",), studies.drop_term),
    "parameters": (("parameters",), studies.parameters),
    "epsilon": (("epsilon",), studies.epsilon),
    "imbalance": (("imbalance", "imbalance_large"), studies.imbalance),
    "robustness": (("random_classifiers", "random_clusterings"), studies.robustness),
    "like_for_like": (("like_for_like",), studies.like_for_like),
    "runtime": (("runtime",), studies.runtime),
    "synthetic": (("synthetic",), studies.synthetic),
    "datasets": (("datasets",), datasets),
}


def exhibits(rows, names=EXHIBITS):
    """Make tables from rows: those of the names whose experiments have rows."""
    return [
        make(rows)
        for name, (needed, make) in EXHIBITS.items()
        if name in names and has(rows, *needed)
    ]
