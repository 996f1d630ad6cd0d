"""From rows to the paper's tables: our numbers, the paper's, and the difference."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from ..datasets import DATASETS
from ..exhibits import Block, Exhibit, Frame, has, means, printed, select
from . import accuracy, studies

HEADS = ["rows", "features", "majority", "entropy"]
CUT = 0.011  # printed shares and entropies have two digits, most of them cut off


def datasets(rows: Frame) -> Exhibit:
    """Where each table is from, its size, classes and fingerprint, and what the paper's Table 3 has otherwise."""
    ours = means(rows, "datasets", "value", columns="setting").reindex(columns=HEADS)
    theirs = printed("datasets").reindex(index=ours.index, columns=HEADS)
    found, parts = [], select(rows, "datasets").groupby("dataset")
    for name, figures in ours.iterrows():
        counts = parts.get_group(name).query("metric == 'count'")["value"].astype(int)
        ends = dict.fromkeys([f"{counts.min():,}", f"{counts.max():,}"])
        other = theirs.loc[name][(figures - theirs.loc[name]).abs() > CUT]
        found.append(
            {
                "source": DATASETS[name].source,
                "rows": int(figures["rows"]),
                "features": int(figures["features"]),
                "class counts": f"{len(counts)} of {' to '.join(ends)}",
                "entropy": figures["entropy"],
                "printed": ", ".join(f"{head} {value:g}" for head, value in other.items()),
                "SHA-256": parts.get_group(name)["table"].iloc[0],
            }
        )
    caption = (
        "What is printed otherwise has a column. Majority and entropy of Waveform and Statlog are swapped in print. The SHA-256 is of "
        "a table's numbers, then its words."
    )
    table = pd.DataFrame(found, ours.index.rename("data set"))
    detail = {"ours": ours, "paper": theirs}
    return Exhibit("datasets", "Data sets (Table 3)", [Block(caption, table)], detail)


# The experiments each exhibit needs, and the function that makes it.
EXHIBITS: dict[str, tuple[tuple[str, ...], Callable[[Frame], Exhibit]]] = {
    "accuracy": (("accuracy",), accuracy.accuracy),
    "checks": (("accuracy",), accuracy.checks),
    "drop_classifier": (("drop_classifier", "accuracy"), studies.drop_classifier),
    "add_classifier": (("add_classifier",), studies.add_classifier),
    "clustering_nmi": (("clustering_nmi",), studies.clustering_nmi),
    "drop_clustering": (("drop_clustering",), studies.drop_clustering),
    "add_clustering": (("add_clustering",), studies.add_clustering),
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
