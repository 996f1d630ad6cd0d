"""The base models, judged by the answer: how many objects each voted on, how often it agrees, what it confuses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .._checks import unknown_name
from .._text import Table
from ..algebra.linear import normalised
from ..algebra.membership import membership, scatter_to_votes
from ..answer.extension import matching_labels
from ..answer.outcome import Outcome
from ..votes import Votes
from ..votes.labels import plain
from .metrics import normalised_mutual_information

Array = npt.NDArray[Any]


def voters(outcome: Outcome) -> Table:
    """Return a table of the base models.

    Parameters
    ----------
    outcome : Consensus
        The answer that they are judged by.

    Returns
    -------
    Table
        model; kind; coverage, the share of objects it voted on; agreement, the share of these where its (most probable) class
        is that of the consensus; weight; and for clusterings purity, the share of objects in the majority class of their
        cluster, and nmi, the normalised mutual information with the consensus.

    Examples
    --------
    >>> from ec3learn import EC3, Votes
    >>> EC3().solve(Votes.from_labels({"svm": [0, 1, 1], "knn": [0, None, 0]}, {"kmeans": [5, 6, 6]})).voters()
    model   kind        coverage  agreement  weight  purity    nmi
    svm     classifier     1.000      1.000   1.000
    knn     classifier     0.667      0.500   1.000
    kmeans  clustering     1.000              1.000   1.000  1.000
    """
    if outcome.stored_voters is not None:
        return outcome.stored_voters
    votes = outcome.require_votes("voters")
    counts = contingency(outcome)
    agreed = agreement_with(votes, outcome.row_classes, counts, matching_labels(votes.classes, outcome.classes))
    weight_of = {(model.name, model.kind): float(weight) for model, weight in zip(outcome.models, outcome.weights, strict=True)}
    total = max(float(outcome.row_counts.sum()), 1e-300)
    columns: dict[str, list[Any]] = {n: [] for n in ("model", "kind", "coverage", "agreement", "weight", "purity", "nmi")}
    for m, model in enumerate(votes.models):
        own = counts[votes.offsets[m] : votes.offsets[m + 1]]
        covered = float(own.sum())
        clustered = model.kind == "clustering" and covered > 0
        columns["model"].append(model.name)
        columns["kind"].append(model.kind)
        columns["coverage"].append(covered / total)
        columns["agreement"].append(agreed.get(m))
        columns["weight"].append(weight_of.get((model.name, model.kind), 0.0))
        columns["purity"].append(float(own.max(axis=1).sum()) / covered if clustered else None)
        columns["nmi"].append(normalised_mutual_information(own) if clustered else None)
    return Table(columns)


def confusion_of(outcome: Outcome, model: str) -> Table:
    """Return the confusion matrix of one base model, by the answer.

    Parameters
    ----------
    outcome : Consensus
        The answer.
    model : str
        The base model's name.

    Returns
    -------
    Table
        One row per class: its share of the objects the model voted on, and how often the model gives each of its labels there.
        Objects count by their class probabilities. A biased annotator has large shares off the diagonal.

    Examples
    --------
    >>> from ec3learn import DawidSkene, Votes
    >>> votes = Votes.from_labels({"a": [0, 0, 1, 1] * 9, "b": [0, 0, 1, 1] * 9, "biased": [0, 0, 0, 1] * 9})
    >>> DawidSkene().solve(votes).confusion("biased")
    class  share  says 0  says 1
        0  0.500   1.000   0.000
        1  0.500   0.500   0.500
    """
    votes = outcome.require_votes("confusion")
    names = [own.name for own in votes.models]
    if model not in names:
        raise unknown_name("base model", model, names)
    m = names.index(model)
    sums = scatter_to_votes(votes, membership(votes), votes.counts[:, None] * outcome.row_proba)
    own = sums[votes.offsets[m] : votes.offsets[m + 1]]
    columns: dict[str, Sequence[Any]] = {
        "class": [plain(label) for label in outcome.classes],
        "share": normalised(own.sum(axis=0)).tolist(),
    }
    said = zip(votes.models[m].labels.tolist(), normalised(own.T).T, strict=True)
    return Table(columns | {f"says {plain(label)}": shares.tolist() for label, shares in said})


def contingency(outcome: Outcome) -> Array:
    """Return how many objects of each class of the answer each group of the votes has, groups x classes."""
    return count_by_group(outcome.require_votes("voters"), outcome.row_classes, len(outcome.classes))


def count_by_group(votes: Votes, codes: Array, n_classes: int, counts: Array | None = None) -> Array:
    """Return how many objects of each class each group has, from the class number (and the count) of each distinct row."""
    one_hot = np.zeros((votes.n_rows, n_classes))
    one_hot[np.arange(votes.n_rows), codes] = votes.counts if counts is None else counts
    return scatter_to_votes(votes, membership(votes), one_hot)


def voter_accuracy(outcome: Outcome, codes: Array) -> dict[int, float | None]:
    """Return for each classifier, by its number, the share of its votes that name the class of the object.

    `codes` has the number of each object's class, -1 where it is not known.
    """
    votes = outcome.votes
    if votes is None:
        return {}
    split, row_codes = votes.split_by(codes)
    rows = np.flatnonzero(row_codes >= 0)
    labelled, codes = split.only_rows(rows), row_codes[rows]
    counts = count_by_group(labelled, codes, len(outcome.classes))
    return agreement_with(labelled, codes, counts, matching_labels(votes.classes, outcome.classes))


def agreement_with(votes: Votes, row_classes: Array, counts: Array, number: Array) -> dict[int, float | None]:
    """Return for each classifier the share of its votes whose (most probable) class is that of the row; None without votes.

    `counts` has the objects of each class in each group; `number` has the number of each class of the votes among these
    classes, -1 for none.
    """
    shares: dict[int, float | None] = {}
    same = np.flatnonzero(number >= 0)
    for m, model in enumerate(votes.models):
        if model.kind == "classifier":
            own = counts[votes.offsets[m] : votes.offsets[m + 1]]
            covered = float(own.sum())
            shares[m] = float(own[same, number[same]].sum()) / covered if covered > 0 else None
    for soft in votes.soft.models if votes.soft is not None else ():
        if votes.models[soft.number].kind == "classifier":
            table = votes.soft.shares_of(soft)  # type: ignore[union-attr]
            highest = table.max(axis=1)
            voted = votes.counts * (highest > 0)
            top = table >= highest[:, None] - 1e-12
            right = (top & (number == row_classes[:, None])).any(axis=1) / top.sum(axis=1)
            shares[soft.number] = float(voted @ right / voted.sum()) if voted.any() else None
    return shares
