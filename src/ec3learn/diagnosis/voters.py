"""The base models by the answer and by known labels: how good each is, and what it confuses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import betainc

from .._checks import unknown_name
from .._table import Table
from .._typing import Array
from ..algebra.membership import count_classes, entries, membership, normalised
from ..answer.extension import matching_labels
from ..answer.mixtures import PanelRule, SubtypeRule
from ..answer.solution import Solution, Solved, solution_of
from ..votes import Votes, group_ballot, hardened, only_rows, split_by
from ..votes.labels import Label, plain
from .labels import HARD, measuring, read_labels, taught_labels, uncorrected
from .metrics import HANDFUL, counted_votes, mutual_information, wilson_interval

ABOUT_VOTES = ("coverage", "agreement", "estimated", "leans_to", "bias")
ABOUT_LABELS = ("labels", "accuracy", "low", "high")
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
        (who scores) or "clustering"; coverage, the share of objects it voted on; and weight, where
        they are not all 1.

        Of voters: agreement, the share of these objects where its (most probable) class is that of
        the consensus, answers on a scale counting for the class that they fall into if it is
        divided evenly among the classes; estimated, its accuracy as the answer shows it: the mean
        probability that the consensus gives to what it said; leans_to and bias, the class that
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
    model   kind        coverage  agreement  purity    nmi
    svm     classifier     1.000      1.000
    knn     classifier     0.667      0.500
    kmeans  clustering     1.000              1.000  1.000
    """
    outcome = solution_of(outcome)
    if outcome.stored_voters is not None and known is None:
        kinds = [outcome.called(kind) for kind in outcome.stored_voters["kind"]]
        return Table(dict(outcome.stored_voters.columns) | {"kind": kinds})
    votes = counted_votes(
        outcome.require_votes("voters" if known is None else "voters with known labels")
    )
    labels = taught_labels(outcome) if known is None else read_labels(outcome, known)
    drawn = measuring(outcome, labels)
    models = zip(outcome.models, outcome.weights.tolist(), strict=True)
    weight_of = {(model.name, model.kind): weight for model, weight in models}
    cast = ballots(votes, outcome.classes)
    columns: dict[str, Sequence[Any]] = {name: [None] * len(votes.models) for name in COLUMNS}
    columns["model"] = [model.name for model in votes.models]
    columns["kind"] = [outcome.called(model.kind) for model in votes.models]
    weights = [weight_of.get((model.name, model.kind), 0.0) for model in votes.models]
    if any(abs(weight - 1) >= 5e-4 for weight in weights):  # a column of ones says nothing
        columns["weight"] = weights
    columns["coverage"] = (cast.n_answered / max(float(votes.counts.sum()), 1e-300)).tolist()
    columns["agreement"] = cast.means(cast.classes == outcome.row_classes[cast.rows])
    rule = None if outcome.rule is None else uncorrected(outcome.rule)
    if isinstance(rule, PanelRule | SubtypeRule):  # they have a model of the voters
        columns["estimated"] = cast.means(cast.proba_of_class(outcome.row_proba))
        columns["leans_to"], columns["bias"] = _leans(cast, outcome)
    if drawn is not None and drawn.any:
        columns |= _by_labels(votes, drawn.codes, outcome.classes)
    if not votes.models.is_voter.all():
        columns |= _of_clusterings(outcome, votes)
    return Table(columns, f"{HARD}." if drawn is None else "")


def _by_labels(votes: Votes, codes: Array, classes: Array) -> dict[str, Sequence[Any]]:
    """How often each voter is right where labels are known, with the intervals, as columns."""
    labelled, row_codes = labelled_rows(votes, codes)
    cast = ballots(labelled, classes)
    right = cast.sums(cast.classes == row_codes[cast.rows])
    rows = [
        (round(n), hits / n, *wilson_interval(hits, n)) if n > 0 else (None,) * 4
        for hits, n in zip(right.tolist(), cast.totals.tolist(), strict=True)
    ]
    return dict(zip(ABOUT_LABELS, map(list, zip(*rows, strict=True)), strict=True))


def _of_clusterings(outcome: Solution, votes: Votes) -> dict[str, Sequence[Any]]:
    """How much clusters say about the classes, as columns."""
    counts, offsets = contingency(outcome), votes.models.offsets
    purity: list[float | None] = [None] * len(votes.models)
    information = purity.copy()
    for m in np.flatnonzero(~votes.models.is_voter).tolist():
        table = counts[offsets[m] : offsets[m + 1]]
        if table.sum() > 0:
            purity[m] = float(table.max(axis=1).sum() / table.sum())
            information[m] = mutual_information(table)
    return {"purity": purity, "nmi": information}


def _leans(cast: Ballots, outcome: Solution) -> tuple[list[Label], list[float | None]]:
    """The class that each voter names too often, and by what share of its votes; None within noise.

    Noise is binomial (mid-p), about the share of the class among the objects, or what it would be
    with errors spread over all classes if that is more. The limit, two standard deviations, is
    divided by the number of classes that could have stood out.
    """
    n_classes, n = len(outcome.classes), np.maximum(cast.totals, 1e-300)
    named, expected = cast.named(n_classes), cast.on_class(outcome.row_proba)
    excess = (named - expected) / n[:, None]
    top = excess.argmax(axis=1)
    times, share, most = (table[np.arange(len(n)), top] for table in (named, expected, excess))
    share, accuracy = share / n, cast.sums(cast.proba_of_class(outcome.row_proba)) / n
    fair = np.minimum(np.maximum(share, accuracy * share + (1 - accuracy) / n_classes), 1.0)
    tail = betainc(times + 0.5, np.maximum(n - times, 0.0) + 0.5, fair)
    leans = (most > 0) & (tail < 0.0455 / n_classes) & (cast.totals >= HANDFUL)
    return (
        [plain(outcome.classes[z]) if is_so else None for z, is_so in zip(top, leans, strict=True)],
        [float(by) if is_so else None for by, is_so in zip(most, leans, strict=True)],
    )


def confusion_of(outcome: Solved, model: str, known: Any = None) -> Table:
    """The confusion matrix of one base model, by the answer or by known labels.

    Parameters
    ----------
    outcome : Consensus
        The answer. Objects count by their class probabilities.
    model : str
        The name of the base model.
    known : array with missing values, dict of object -> label, or pair (objects, labels)
        Labels to judge it by instead; other objects do not count.

    Returns
    -------
    Table
        One row per class: its share of the objects the model voted on, and how often the model
        gives each of its labels there. A biased annotator has large shares off the diagonal.

    Examples
    --------
    >>> from ec3learn import DawidSkene, Votes
    >>> good, biased = [0, 0, 1, 1] * 9, [0, 0, 0, 1] * 9
    >>> votes = Votes.from_labels({"a": good, "b": good, "biased": biased})
    >>> DawidSkene().solve(votes).confusion("biased")
    class  share  says 0  says 1
        0  0.500   1.000   0.000
        1  0.500   0.500   0.500
    """
    outcome = solution_of(outcome)
    votes, proba = outcome.require_votes("confusion"), outcome.row_proba
    if known is not None:
        votes, codes = labelled_rows(votes, read_labels(outcome, known).codes)
        proba = np.eye(len(outcome.classes))[codes]
    names = [each.name for each in votes.models]
    if model not in names:
        raise unknown_name("base model", model, names)
    groups = slice(*votes.models.offsets[names.index(model) :][:2])
    table = (entries(votes).T @ (votes.counts[:, None] * proba))[groups].T  # classes x answers
    columns: dict[str, Sequence[Any]] = {
        "class": [plain(label) for label in outcome.classes],
        "share": normalised(table.sum(axis=1)).tolist(),
    }
    for label, shares in zip(
        votes.models[names.index(model)].labels, normalised(table).T, strict=True
    ):
        columns[f"says {plain(label)}"] = shares.tolist()
    return Table(columns)


# ---- what a voter said ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Ballots:
    """The votes: voter, distinct row, class in the answer (-1: none) and weight of each.

    A soft vote counts for its most probable class. So does an answer on a scale, which is divided
    evenly among the classes: half a vote each for two classes where it lies on their border, and
    none where it has no order.
    """

    voters: Array
    rows: Array
    classes: Array
    weights: Array
    n_answered: Array  # by base model and by weight, answers that stand for no class included

    @cached_property
    def totals(self) -> Array:
        """How many votes for classes each base model cast, by weight."""
        return self.sums(1.0)

    def sums(self, values: Array | float) -> Array:
        """The sum of a value of each vote, by base model."""
        return np.bincount(
            self.voters, weights=self.weights * values, minlength=len(self.n_answered)
        )

    def means(self, values: Array) -> list[float | None]:
        """The mean of a value of each vote, by base model; None for those without votes."""
        sums = zip(self.sums(values).tolist(), self.totals.tolist(), strict=True)
        return [part / n if n > 0 else None for part, n in sums]

    def proba_of_class(self, proba: Array) -> Array:
        """The probability of the class of each vote, by the class probabilities of rows."""
        return np.where(self.classes >= 0, proba[self.rows, self.classes], 0.0)

    def named(self, n_classes: int, values: Array | float = 1.0) -> Array:
        """The sum of a value over votes for each class, base models x classes."""
        is_class, shape = self.classes >= 0, (len(self.n_answered), n_classes)
        cells = (self.voters * n_classes + self.classes)[is_class]
        weights = (self.weights * values)[is_class]
        return np.bincount(cells, weights=weights, minlength=shape[0] * n_classes).reshape(shape)

    def on_class(self, proba: Array) -> Array:
        """How many votes of each base model are on each class, by class probabilities of rows."""
        shape = len(self.n_answered), len(proba)
        return np.asarray(
            sparse.csr_array((self.weights, (self.voters, self.rows)), shape=shape) @ proba
        )


def ballots(votes: Votes, classes: Array) -> Ballots:
    """The votes of all voters one by one."""
    matrix, models = entries(hardened(votes)).tocoo(), votes.models
    rows, groups = matrix.coords
    weights, voters = matrix.data * votes.counts[rows], models.group_model[groups]
    n_answered = np.bincount(voters, weights=weights, minlength=len(models))
    ballot = group_ballot(votes)[groups]
    each = np.repeat(np.arange(len(groups)), np.diff(ballot.indptr))
    return Ballots(
        voters[each].astype(np.int64),
        rows[each],
        matching_labels(votes.classes, classes)[ballot.indices],
        weights[each] * ballot.data,
        n_answered,
    )


def labelled_rows(votes: Votes, codes: Array) -> tuple[Votes, Array]:
    """The votes on objects with a label, and the number of the class of each of their rows."""
    split, row_codes = split_by(votes, codes)
    rows = np.flatnonzero(row_codes >= 0)
    return only_rows(split, rows), row_codes[rows]


def contingency(outcome: Solution) -> sparse.csr_array:
    """How many objects of each class of the answer each group has, groups x classes, sparse."""
    votes = outcome.require_votes("voters")
    return count_classes(
        votes, membership(votes), outcome.row_classes, votes.counts, len(outcome.classes)
    )
