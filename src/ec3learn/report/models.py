"""Facts about the base models: how each did, who agrees with whom, what clusters contain."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .._text import isolated
from .._typing import Array
from ..diagnosis import pairs, voter_checks
from ..diagnosis.metrics import FEW
from ..diagnosis.pairs import ALIKE
from ..diagnosis.voters import RULE, contingency, worst_first
from ..votes.labels import plain
from .answers import Facts, Subject, largest

MOST_MODELS = 200  # in the table
FOLDED_FROM = 15  # rows of the table that are shown at first; style.css has this number too


def model_facts(subject: Subject) -> Facts | None:
    """The table of base models, those in trouble first, and what to say about them."""
    consensus = subject.consensus
    if subject.votes is None and consensus.stored_voters is None:
        return None
    labels = subject.judged if subject.votes is not None and subject.judged.any else None
    table, source = worst_first(consensus, labels), None
    if any(n is not None for n in table["labels"]):
        source = "the labels the method was given" if labels is None else "the held-out labels"
    remarks = {
        row["model"]: row["doubt"]
        if row["says"] is None
        else f"always says {isolated(row['says'])}"
        for row in voter_checks(consensus).rows()
    }
    classifiers = [
        row | {"remark": remarks.get(row["model"])}
        for row in table.rows()
        if row["kind"] != "clustering"
    ]
    # Those in trouble are named above the table, so it has them all.
    shown = sorted(classifiers, key=lambda row: (not row["remark"], -row["coverage"]))[:MOST_MODELS]
    kept = {row["model"] for row in shown}
    left_out = " The method itself left out some for this reason."
    return {
        "rows": [row for row in classifiers if row["model"] in kept],
        "n_left_out": len(classifiers) - len(shown),
        "n_folded": max(0, len(shown) - FOLDED_FROM) if len(shown) > FOLDED_FROM + 5 else 0,
        "noun": f"{consensus.voter_noun}s",
        "varies": {  # a column of ones says nothing
            "coverage": any(abs(row["coverage"] - 1) >= 5e-4 for row in shown),
            "weight": any(row["weight"] is not None for row in shown),
        },
        "accuracy_by": source,
        "estimated": any(row["estimated"] is not None for row in classifiers),
        "leans": any(row["leans_to"] is not None for row in classifiers),
        "worse": [row["model"] for row in classifiers if row["remark"] == "worse than chance"],
        "empty": [
            (row["model"], row["remark"])
            for row in classifiers
            if row["remark"] not in (None, "worse than chance")
        ],
        "order": table.note,
        "rule": RULE + (left_out if consensus.worse_than_chance else ""),
        "clusterings": [row for row in table.rows() if row["kind"] == "clustering"],
    }


def pair_facts(subject: Subject) -> Facts | None:
    """Which classifiers agree with which; None where there are fewer than two."""
    found = None if subject.votes is None or not subject.has_objects else pairs(subject.consensus)
    if found is None or len(found.names) < 2:
        return None
    names = found.names
    shown = np.sort(largest(np.diag(found.common), 60))  # those with the most votes
    similarity = found.similarity[np.ix_(shown, shown)]
    closest_first = sorted(found.redundant, key=lambda pair: -found.similarity[pair])
    return {
        "names": [names[i] for i in shown],
        "any": bool((~np.isnan(similarity)).sum() > len(shown)),  # each is compared with itself
        "cells": [
            [None if np.isnan(value) else float(value) for value in row] for row in similarity
        ],
        "redundant": [
            (names[a], names[b], float(found.similarity[a, b]), round(float(found.common[a, b])))
            for a, b in closest_first[:50]
        ],
        "n_redundant": len(found.redundant),
        "rule": f"the same label on at least {100 * ALIKE:.0f} % of {FEW} objects or more, even "
        "where they depart from the answer",
        "n_left_out": found.n_left_out + len(names) - len(shown),
        "share_of_rows": found.share_of_rows,
    }


def clustering_facts(subject: Subject) -> Facts | None:
    """Which classes each cluster contains, by the consensus."""
    consensus, votes = subject.consensus, subject.votes
    if votes is None or not subject.has_objects:
        return None
    clusterings = [m for m, model in enumerate(votes.models) if model.kind == "clustering"]
    colours = {int(z): i for i, z in enumerate(largest(subject.class_shares, 8))}
    counts = contingency(consensus)
    blocks = [
        {"name": votes.models[m].name}
        | _clusters(
            votes.models[m].labels,
            counts[votes.models.offsets[m] : votes.models.offsets[m + 1]].toarray(),
            subject.names,
            colours,
        )
        for m in clusterings[:20]
    ]
    return {
        "blocks": blocks,
        "n_left_out": len(clusterings) - len(blocks),
        "largest_class": float(subject.class_shares.max()),
    }


def _clusters(labels: Array, counts: Array, names: list[str], colours: Mapping[int, int]) -> Facts:
    """The largest clusters of one clustering, from counts of clusters x classes."""
    sizes = counts.sum(axis=1)
    rows: list[Facts] = [
        {
            "name": str(plain(labels[j])),
            "size": float(sizes[j]),
            "share": float(sizes[j] / sizes.sum()),
            "holds": [
                (names[z], colours.get(int(z), -1), float(counts[j, z] / sizes[j]))
                for z in largest(counts[j], 5)
                if counts[j, z] > 0
            ],
        }
        for j in largest(sizes, 12)
        if sizes[j] > 0
    ]
    return {
        "rows": rows,
        "n_clusters": int((sizes > 0).sum()),
        "rest": 1 - sum(row["share"] for row in rows),
        "median_size": float(np.median(sizes[sizes > 0])) if rows else 0.0,
    }
