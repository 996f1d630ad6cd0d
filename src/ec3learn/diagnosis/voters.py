"""The base models, judged by the answer and by known labels: how good each is, how sure that is, and what it confuses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import betainc

from .._checks import unknown_name
from .._table import Table
from .._typing import Array
from ..algebra.linear import normalised
from ..algebra.membership import count_classes, membership
from ..answer.extension import matching_labels
from ..answer.mixtures import PanelRule, SubtypeRule
from ..answer.solution import Solution, Solved, solution_of
from ..votes import Votes, entries_of, group_ballot, hardened, only_rows, split_by, votes_per_model
from ..votes.labels import Label, plain
from .labels import HARD, Labels, label_weights, read_labels, taught_labels
from .metrics import (
    HANDFUL,
    counted_votes,
    normalised_mutual_information,
    row_weights,
    wilson_interval,
)

CHANCE = 0.0455  # that a fair voter is said to lean: two standard deviations
TOGETHER = 100_000  # votes, and voters x classes, that are judged at a time

SKILL_COLUMNS = (
    "model",
    "class",
    "votes",
    "sensitivity",
    "low",
    "high",
    "specificity",
    "specificity_low",
    "specificity_high",
)
ABOUT_VOTES, ABOUT_LABELS = (
    ("coverage", "agreement", "estimated", "leans_to", "bias"),
    ("labels", "accuracy", "low", "high"),
)
COLUMNS = ("model", "kind", *ABOUT_VOTES, "weight", *ABOUT_LABELS, "purity", "nmi")


def voters(outcome: Solved, known: Any = None) -> Table:
    """A table of the base models.

    Parameters
    ----------
    outcome : Consensus
        The answer that they are judged by.
    known : array with missing values, dict of object -> label, or pair (objects, labels)
        Labels to judge them by; by default those that the method was given.

    Returns
    -------
    Table
        model; kind: "classifier", "annotator" (in a crowd, of whom each saw few objects), "judge"
        (who scores) or "clustering"; coverage, the share of objects it voted on; and weight.

        Of voters: agreement, the share of these objects where its (most probable) class is that of
        the consensus, answers on a scale counting for the class that they fall into if it is
        divided evenly among the classes; estimated, its accuracy as estimated without labels: the
        mean probability that the consensus gives to what it said; leans_to and bias, the class that
        it names too often, if any, and by what share of its votes. The last three rest on the
        confidence of the consensus, so they are given only for methods with a model of the voters:
        the default, Dawid-Skene and EBCC. Where labels are known: on how many of them it voted
        (labels), and its accuracy with a 95 % interval (low, high).

        Of clusterings: purity, the share of objects in the majority class of their cluster; and
        nmi, the normalised mutual information with the consensus.

    Examples
    --------
    >>> from ec3learn import EC3, Votes
    >>> votes = Votes.from_labels({"svm": [0, 1, 1], "knn": [0, None, 0]}, {"kmeans": [5, 6, 6]})
    >>> EC3().solve(votes).voters()
    model   kind        coverage  agreement  weight  purity    nmi
    svm     classifier     1.000      1.000   1.000
    knn     classifier     0.667      0.500   1.000
    kmeans  clustering     1.000              1.000   1.000  1.000
    """
    outcome = solution_of(outcome)
    if outcome.stored_voters is not None and known is None:
        kinds = [outcome.called(kind) for kind in outcome.stored_voters["kind"]]
        return Table(dict(outcome.stored_voters.columns) | {"kind": kinds})
    votes = counted_votes(
        outcome.require_votes("voters" if known is None else "voters with known labels")
    )
    columns: dict[str, list[Any]] = {name: [None] * len(votes.models) for name in COLUMNS}
    weight_of = {
        (model.name, model.kind): float(weight)
        for model, weight in zip(outcome.models, outcome.weights, strict=True)
    }
    columns["model"] = [model.name for model in votes.models]
    columns["kind"] = [outcome.called(model.kind) for model in votes.models]
    columns["weight"] = [weight_of.get((model.name, model.kind), 0.0) for model in votes.models]
    for cast in ballots(votes, outcome.classes):
        for name, values in _voter_facts(cast, outcome).items():
            for m, value in zip(cast.voters.tolist(), values, strict=True):
                columns[name][m] = value
    labels = _labels_for_voters(outcome, known)
    weights = label_weights(outcome, labels)
    if weights is not None and weights.any():
        worth = float(weights.sum() ** 2 / (weights @ weights) / (weights > 0).sum())
        labelled, row_codes = labelled_rows(votes, labels.codes, weights)
        for cast in ballots(labelled, outcome.classes):
            right = cast.sums(cast.classes == row_codes[cast.rows])
            for m, hits, n in zip(
                cast.voters.tolist(), right.tolist(), cast.totals.tolist(), strict=True
            ):
                if n > 0:
                    columns["labels"][m], columns["accuracy"][m] = round(n), hits / n
                    columns["low"][m], columns["high"][m] = wilson_interval(hits * worth, n * worth)
    clusterings = np.flatnonzero(~votes.models.is_voter).tolist()
    counts = contingency(outcome) if clusterings else sparse.csr_array((0, 0))
    for m in clusterings:
        own = counts[votes.models.offsets[m] : votes.models.offsets[m + 1]].toarray()
        covered = float(own.sum())
        columns["coverage"][m] = covered / max(float(outcome.row_counts.sum()), 1e-300)
        if covered > 0:
            columns["purity"][m] = float(own.max(axis=1).sum()) / covered
            columns["nmi"][m] = normalised_mutual_information(own)
    return Table(columns, f"{HARD}." if weights is None else "")


def _voter_facts(cast: Ballots, outcome: Solution) -> dict[str, list[Any]]:
    """How the votes of some voters compare with the answer, as columns; None for voters whose votes name no class."""
    n_objects = max(float(row_weights(outcome).sum()), 1e-300)
    facts: dict[str, list[Any]] = {"coverage": (cast.n_answered / n_objects).tolist()}
    facts["agreement"] = cast.means(cast.classes == outcome.row_classes[cast.rows])
    if isinstance(
        outcome.rule, PanelRule | SubtypeRule
    ):  # probabilities by a model of the voters, not shares of votes
        facts["estimated"] = cast.means(
            np.where(cast.classes >= 0, outcome.row_proba[cast.rows, cast.classes], 0.0)
        )
        facts["leans_to"], facts["bias"] = _leans(cast, outcome)
    return facts


def _leans(cast: Ballots, outcome: Solution) -> tuple[list[Label], list[float | None]]:
    """The class that each voter names too often, and by what share of its votes; None within noise.

    Noise is binomial (mid-p), about the share of the class among the objects, or what it would be
    with errors spread over all classes if that is more. The limit is divided by the number of
    classes that could have stood out.
    """
    n_classes, voter = len(outcome.classes), np.arange(len(cast.voters))
    said, is_so = cast.named(n_classes), cast.on_class(outcome.row_proba)
    right = cast.named(n_classes, outcome.row_proba[cast.rows, cast.classes]).sum(axis=1)
    n = np.maximum(cast.totals, 1e-300)
    excess = (said - is_so) / n[:, None]
    top = excess.argmax(axis=1)
    share, accuracy, times, most = (
        is_so[voter, top] / n,
        right / n,
        said[voter, top],
        excess[voter, top],
    )
    fair = np.minimum(np.maximum(share, accuracy * share + (1 - accuracy) / n_classes), 1.0)
    tail = betainc(times + 0.5, n - times + 0.5, fair)
    leans = (most > 0) & (tail < CHANCE / n_classes) & (cast.totals >= HANDFUL)
    labels = [plain(label) for label in outcome.classes]
    chosen = list(zip(leans.tolist(), top.tolist(), most.tolist(), strict=True))
    return [labels[z] if so else None for so, z, _ in chosen], [
        by if so else None for so, _, by in chosen
    ]


def skills(outcome: Solved, known: Any = None) -> Table:
    """How well each voter recognises each class.

    Parameters
    ----------
    outcome : Consensus
        The answer. Without known labels, voters are judged by its class probabilities.
    known : array with missing values, dict of object -> label, or pair (objects, labels)
        Labels to judge them by; by default those that the method was given.

    Returns
    -------
    Table
        One row per voter and class: model; class; votes, how many votes it is judged by;
        sensitivity, the share of the objects of the class that it names so, and specificity, the
        share of the other objects that it does not name so; with their 95 % intervals. None where
        there is no such object.
    """
    outcome = solution_of(outcome)
    votes = counted_votes(outcome.require_votes("skills"))
    labels_known = _labels_for_voters(outcome, known)
    weights = label_weights(outcome, labels_known)
    proba = outcome.row_proba
    if weights is not None and weights.any():
        votes, codes = labelled_rows(votes, labels_known.codes, weights)
        proba = np.eye(len(outcome.classes))[codes]
    rows: list[list[Any]] = []
    labels = [plain(label) for label in outcome.classes]
    for cast in ballots(votes, outcome.classes):
        named, of_class = cast.named(len(labels)), cast.on_class(proba)
        hits = cast.named(len(labels), proba[cast.rows, cast.classes])
        others = of_class.sum(axis=1, keepdims=True) - of_class
        for v, m in enumerate(cast.voters.tolist()):
            for z, label in enumerate(labels):
                sensitivity = _share(hits[v, z], of_class[v, z])
                specificity = _share(
                    max(others[v, z] - (named[v, z] - hits[v, z]), 0.0), others[v, z]
                )
                rows.append(
                    [
                        votes.models[m].name,
                        label,
                        round(float(cast.totals[v])),
                        *sensitivity,
                        *specificity,
                    ]
                )
    return Table.of(SKILL_COLUMNS, rows, f"{HARD}." if weights is None else "")


def _share(part: float, whole: float) -> tuple[float | None, float | None, float | None]:
    """A share with its 95 % interval; None for a share of nothing."""
    if whole < 0.5:
        return None, None, None
    return (float(part / whole), *wilson_interval(part, whole))


def _labels_for_voters(outcome: Solution, known: Any) -> Labels:
    """The labels to judge voters by: by default those the method was given."""
    return taught_labels(outcome) if known is None else read_labels(outcome, known)


def confusion_of(outcome: Solved, model: str) -> Table:
    """The confusion matrix of one base model, by the answer.

    Returns
    -------
    Table
        One row per class: its share of the objects the model voted on, and how often the model
        gives each of its labels there. Objects count by their class probabilities. A biased
        annotator has large shares off the diagonal.

    Examples
    --------
    >>> from ec3learn import DawidSkene, Votes
    >>> votes = Votes.from_labels({"a": [0, 0, 1, 1] * 9, "b": [0, 0, 1, 1] * 9, "biased": [0, 0, 0, 1] * 9})
    >>> DawidSkene().solve(votes).confusion("biased")
    class  share  says 0  says 1
        0  0.500   1.000   0.000
        1  0.500   0.500   0.500
    """
    outcome = solution_of(outcome)
    votes = outcome.require_votes("confusion")
    names = [own.name for own in votes.models]
    if model not in names:
        raise unknown_name("base model", model, names)
    m = names.index(model)
    groups, begin = membership(votes), int(votes.models.offsets[m])
    place = np.flatnonzero((groups.order >= begin) & (groups.order < votes.models.offsets[m + 1]))
    own = np.zeros((votes.models[m].n_groups, len(outcome.classes)))
    own[groups.order[place] - begin] = groups.scatter(votes.counts[:, None] * outcome.row_proba)[
        place
    ]
    columns: dict[str, Sequence[Any]] = {
        "class": [plain(label) for label in outcome.classes],
        "share": normalised(own.sum(axis=0)).tolist(),
    }
    said = zip(votes.models[m].labels.tolist(), normalised(own.T).T, strict=True)
    return Table(columns | {f"says {plain(label)}": shares.tolist() for label, shares in said})


# ---- what a voter said ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Ballots:
    """The votes of some voters: of each the place of its voter, its distinct row, its class in the answer (-1: none), its weight.

    A soft vote counts for its most probable class. So does an answer on a scale, which is divided
    evenly among the classes: half a vote each for two classes where it lies on their border, and
    none where it has no order.
    """

    voters: Array  # their numbers
    owner: Array
    rows: Array
    classes: Array
    weights: Array
    n_answered: Array  # by voter and by weight, answers that stand for no class included

    @cached_property
    def totals(self) -> Array:
        """How many votes for classes each voter cast, by weight."""
        return self.sums(1.0)

    def sums(self, values: Array | float) -> Array:
        """The sum of a value of each vote, by voter."""
        return np.bincount(self.owner, weights=self.weights * values, minlength=len(self.voters))

    def means(self, values: Array) -> list[float | None]:
        """The mean of a value of each vote, by voter; None for voters without votes."""
        sums = self.sums(values).tolist()
        return [
            part / n if n > 0 else None for part, n in zip(sums, self.totals.tolist(), strict=True)
        ]

    def named(self, n_classes: int, values: Array | float = 1.0) -> Array:
        """The sum of a value over each voter's votes for each class, voters x classes."""
        some = self.classes >= 0
        cells = self.owner[some] * n_classes + self.classes[some]
        sums = np.bincount(
            cells, weights=(self.weights * values)[some], minlength=len(self.voters) * n_classes
        )
        return sums.reshape(-1, n_classes)

    def on_class(self, proba: Array) -> Array:
        """How many of each voter's votes are on objects of each class, by the class probabilities of rows."""
        shape = len(self.voters), len(self.rows)
        return np.asarray(
            sparse.csr_array((self.weights, (self.owner, np.arange(shape[1]))), shape=shape)
            @ proba[self.rows]
        )


def ballots(votes: Votes, classes: Array) -> Iterator[Ballots]:
    """The votes, some voters at a time, of whom a crowd may have hundreds of thousands."""
    number, hard = matching_labels(votes.classes, classes), hardened(votes)
    voters = np.flatnonzero(votes.models.is_voter)
    parts = np.cumsum(np.maximum(votes_per_model(votes)[voters], len(classes))) // TOGETHER
    for chosen in np.split(voters, np.flatnonzero(np.diff(parts)) + 1):
        owner, rows, groups, shares = entries_of(hard, chosen)
        weights = shares * votes.counts[rows]
        n_answered = np.bincount(owner, weights=weights, minlength=len(chosen))
        vote_classes = votes.models.group_class[groups]
        if (vote_classes < 0).any():  # answers on a scale
            ballot = group_ballot(votes)[groups]
            each = np.repeat(np.arange(len(groups)), np.diff(ballot.indptr))
            owner, rows, weights, vote_classes = (
                owner[each],
                rows[each],
                weights[each] * ballot.data,
                ballot.indices,
            )
        yield Ballots(chosen, owner, rows, number[vote_classes], weights, n_answered)


def labelled_rows(votes: Votes, codes: Array, weights: Array | None = None) -> tuple[Votes, Array]:
    """The votes on the objects with a label, and the label of each of their rows, as the number of a class.

    Objects may count by `weights`; those of weight 0 are left out.
    """
    if weights is None:
        weights = (codes >= 0).astype(np.float64)
    kinds, kind = np.unique(np.column_stack([codes, weights]), axis=0, return_inverse=True)
    split, row_kind = split_by(votes, np.where(weights > 0, kind.ravel(), -1))
    rows = np.flatnonzero(row_kind >= 0)
    row_codes, row_weights = kinds[row_kind[rows]].T
    labelled = only_rows(split, rows)
    if (row_weights != 1).any():
        labelled = replace(labelled, counts=labelled.counts * row_weights)
    return labelled, row_codes.astype(np.int64)


def contingency(outcome: Solution) -> sparse.csr_array:
    """How many objects of each class of the answer each group of the votes has, groups x classes, sparse."""
    votes = outcome.require_votes("voters")
    return count_classes(
        votes, membership(votes), outcome.row_classes, votes.counts, len(outcome.classes)
    )
