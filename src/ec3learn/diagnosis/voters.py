"""The voters and clusterings: how good each is, what it confuses, and whom not to trust."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from scipy import sparse
from scipy.special import betainc, ndtri

from .._checks import unknown_name
from .._table import Table
from .._typing import Array
from ..algebra.membership import count_classes, entries, membership, normalised
from ..answer.mixtures import PanelRule, SubtypeRule
from ..answer.solution import Solution, Solved, matching_labels, solution_of
from ..votes import BaseModel, Votes, group_ballot, hardened
from ..votes.labels import Label, plain
from .labels import HARD, labelled_rows, measuring, read_labels, taught_labels, uncorrected
from .metrics import (
    CLEARLY,
    FEW,
    HANDFUL,
    counted_votes,
    kappa,
    mutual_information,
    row_weights,
    wilson_interval,
)

ABOUT_VOTES = ("coverage", "agreement", "estimated", "leans_to", "bias")
ABOUT_LABELS = ("labels", "accuracy", "low", "high")
COLUMNS = ("model", "kind", *ABOUT_VOTES, "weight", *ABOUT_LABELS, "purity", "nmi")


def voters(consensus: Solved, known: Any = None) -> Table:
    """A table of the base models.

    Parameters
    ----------
    consensus : Consensus
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
    solution = solution_of(consensus)
    if solution.stored_voters is not None and known is None:
        kinds = [solution.called(kind) for kind in solution.stored_voters["kind"]]
        return Table(dict(solution.stored_voters.columns) | {"kind": kinds})
    votes = counted_votes(
        solution.require_votes("voters" if known is None else "voters with known labels")
    )
    labels = taught_labels(solution) if known is None else read_labels(solution, known)
    drawn = measuring(solution, labels)
    models = zip(solution.models, solution.weights.tolist(), strict=True)
    weight_of = {(model.name, model.kind): weight for model, weight in models}
    cast = ballots(votes, solution.classes)
    columns: dict[str, Sequence[Any]] = {name: [None] * len(votes.models) for name in COLUMNS}
    columns["model"] = [model.name for model in votes.models]
    columns["kind"] = [solution.called(model.kind) for model in votes.models]
    weights = [weight_of.get((model.name, model.kind), 0.0) for model in votes.models]
    if any(abs(weight - 1) >= 5e-4 for weight in weights):  # a column of ones says nothing
        columns["weight"] = weights
    columns["coverage"] = (cast.n_answered / max(float(votes.counts.sum()), 1e-300)).tolist()
    columns["agreement"] = cast.means(cast.classes == solution.row_classes[cast.rows])
    rule = None if solution.rule is None else uncorrected(solution.rule)
    if isinstance(rule, PanelRule | SubtypeRule):  # they have a model of the voters
        columns["estimated"] = cast.means(cast.proba_of_class(solution.row_proba))
        columns["leans_to"], columns["bias"] = _leans(cast, solution)
    if drawn is not None and drawn.n:
        columns |= _by_labels(votes, drawn.codes, solution.classes)
    if not votes.models.is_voter.all():
        columns |= _of_clusterings(solution, votes)
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


def _of_clusterings(solution: Solution, votes: Votes) -> dict[str, Sequence[Any]]:
    """How much clusters say about the classes, as columns."""
    counts, offsets = contingency(solution), votes.models.offsets
    purity: list[float | None] = [None] * len(votes.models)
    information = purity.copy()
    for m in np.flatnonzero(~votes.models.is_voter).tolist():
        table = counts[offsets[m] : offsets[m + 1]]
        if table.sum() > 0:
            purity[m] = float(table.max(axis=1).sum() / table.sum())
            information[m] = mutual_information(table)
    return {"purity": purity, "nmi": information}


def _leans(cast: Ballots, solution: Solution) -> tuple[list[Label], list[float | None]]:
    """The class that each voter names too often, and by what share of its votes; None within noise.

    Noise is binomial (mid-p), about the share of the class among the objects, or what it would be
    with errors spread over all classes if that is more. The limit, two standard deviations, is
    divided by the number of classes that could have stood out.
    """
    n_classes, n = len(solution.classes), np.maximum(cast.totals, 1e-300)
    named = np.zeros((len(n), n_classes))  # how often each voter named each class
    is_class = cast.classes >= 0
    np.add.at(named, (cast.voters[is_class], cast.classes[is_class]), cast.weights[is_class])
    # How often each class was right where the voter voted.
    shape = len(n), len(solution.row_proba)
    voted = sparse.csr_array((cast.weights, (cast.voters, cast.rows)), shape=shape)
    expected = voted @ solution.row_proba
    excess = (named - expected) / n[:, None]
    top = excess.argmax(axis=1)
    times, share, most = (table[np.arange(len(n)), top] for table in (named, expected, excess))
    share, accuracy = share / n, cast.sums(cast.proba_of_class(solution.row_proba)) / n
    fair = np.minimum(np.maximum(share, accuracy * share + (1 - accuracy) / n_classes), 1.0)
    tail = betainc(times + 0.5, np.maximum(n - times, 0.0) + 0.5, fair)
    leans = (most > 0) & (tail < 0.0455 / n_classes) & (cast.totals >= HANDFUL)
    labels = map(plain, solution.classes[top])
    return (
        [label if is_so else None for label, is_so in zip(labels, leans, strict=True)],
        [float(by) if is_so else None for by, is_so in zip(most, leans, strict=True)],
    )


def confusion_of(consensus: Solved, model: str, known: Any = None) -> Table:
    """The confusion matrix of one base model, by the answer or by known labels.

    Parameters
    ----------
    consensus : Consensus
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
    solution = solution_of(consensus)
    votes, proba = solution.require_votes("confusion"), solution.row_proba
    if known is not None:
        votes, codes = labelled_rows(votes, read_labels(solution, known).codes)
        proba = np.eye(len(solution.classes))[codes]
    names = [each.name for each in votes.models]
    if model not in names:
        raise unknown_name("base model", model, names)
    groups = slice(*votes.models.offsets[names.index(model) :][:2])
    table = (entries(votes).T @ (votes.counts[:, None] * proba))[groups].T  # classes x answers
    columns: dict[str, Sequence[Any]] = {
        "class": [plain(label) for label in solution.classes],
        "share": normalised(table.sum(axis=1)).tolist(),
    }
    said = zip(votes.models[names.index(model)].labels, normalised(table).T, strict=True)
    return Table(columns | {f"says {plain(label)}": shares.tolist() for label, shares in said})


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
        return np.bincount(self.voters, self.weights * values, len(self.n_answered))

    def means(self, values: Array) -> list[float | None]:
        """The mean of a value of each vote, by base model; None for those without votes."""
        sums = zip(self.sums(values).tolist(), self.totals.tolist(), strict=True)
        return [part / n if n > 0 else None for part, n in sums]

    def proba_of_class(self, proba: Array) -> Array:
        """The probability of the class of each vote, by the class probabilities of rows."""
        return np.where(self.classes >= 0, proba[self.rows, self.classes], 0.0)


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


def contingency(solution: Solution, hard: bool = False) -> sparse.csr_array:
    """How many objects of each class of the answer each group has, groups x classes, sparse.

    With `hard`, a soft vote counts for its most probable class.
    """
    votes = solution.require_votes("voters")
    votes = hardened(votes) if hard else votes
    weights, n_classes = row_weights(solution), len(solution.classes)
    return count_classes(votes, membership(votes), solution.row_classes, weights, n_classes)


# ---- whom not to trust ---------------------------------------------------------------------------

Doubt = Literal["worse than chance", "no better than chance", "always says the same"]

ORDER: tuple[Doubt, ...] = get_args(Doubt)  # the weightiest first

RULE = (
    f"Each voter with {FEW} votes or more is compared with random votes of the same class "
    f"frequencies. Worse than chance: {100 * CLEARLY:.0f} % of such random votes agree with the "
    "consensus more often. No better than chance: they agree "
    "about as often. Of those who score, it counts whether their scores rise with the answer."
)


def voter_checks(consensus: Solved) -> Table:
    """The voters who should not be trusted, and why.

    Returns
    -------
    Table
        model; doubt: "worse than chance" (Cohen's kappa with the answer is below 0, beyond noise,
        or the method left the classifier out for this reason), "no better than chance" (kappa is
        within noise of 0 and cannot be large), or "always says the same" (at least 99 % of its
        votes); and says, the label that it always gives. Of scores, the correlation with the answer
        takes the place of kappa, so that lenient judges are not doubted.

    Examples
    --------
    >>> from ec3learn import MajorityVote, Votes
    >>> good = ["a", "b"] * 20
    >>> votes = Votes.from_labels({"one": good, "two": good, "lazy": ["a"] * 40})
    >>> voter_checks(MajorityVote().solve(votes))
    model  doubt                 says
    lazy   always says the same  a
    """
    solution = solution_of(consensus)
    if solution.stored_doubts is not None:
        return solution.stored_doubts
    votes, doubts = solution.votes, dict[str, tuple[Doubt, Label] | None]()
    if votes is not None and solution.has_objects and len(solution.classes) > 1:
        counts, offsets = contingency(solution, hard=True), votes.models.offsets
        n_votes = np.bincount(votes.models.group_model, counts.sum(axis=1), len(votes.models))
        for m in np.flatnonzero(votes.models.is_voter & (n_votes >= FEW)).tolist():
            table = counts[offsets[m] : offsets[m + 1]].toarray()
            model = votes.models[m]
            doubts[model.name] = _doubt(table, model, solution.classes, votes.classes)
    doubts |= dict.fromkeys(solution.worse_than_chance, ("worse than chance", None))
    models = solution.models if votes is None else votes.models
    found = [(model.name, doubts.get(model.name)) for model in models if model.is_voter]
    rows = [(name, *doubt) for name, doubt in found if doubt is not None]
    return Table.of(("model", "doubt", "says"), rows)


def _doubt(
    table: Array, model: BaseModel, classes: Array, vote_classes: Array
) -> tuple[Doubt, Label] | None:
    """What is wrong with a voter, if anything.

    `table` has how many objects of each class of the consensus (columns) it gave each of its
    labels (rows).
    """
    scale, said, occurs = model.positions, table.any(axis=1), table.any(axis=0)
    if scale is not None:
        said &= ~np.isnan(scale)
    table, labels, classes = table[np.ix_(said, occurs)], model.labels[said], classes[occurs]
    n, by_class, by_label = float(table.sum()), table.sum(axis=0), table.sum(axis=1)
    if n < FEW or (by_class > 0).sum() < 2:
        return None
    constant: tuple[Doubt, Label] = ("always says the same", plain(labels[by_label.argmax()]))
    if len(labels) == 1:
        right = by_class[classes == labels[0]].sum() if scale is None else by_class.max()
        return constant if n - right >= HANDFUL else None
    if scale is None:
        agreed, noise = kappa(table, matching_labels(labels, classes))
    else:
        # The correlation of the answers' places and those of the classes.
        one, other = np.nonzero(table)
        places = matching_labels(classes, vote_classes)[other]
        spread = np.cov(scale[said][one], places, aweights=table[one, other])
        agreed = float(spread[0, 1] / np.sqrt(spread[0, 0] * spread[1, 1]))
        noise = float(ndtri(CLEARLY)) / np.sqrt(n - 1)  # by chance, its variance is 1 / (n - 1)
    if agreed < -noise:
        return "worse than chance", None
    if agreed >= noise or agreed + noise >= 0.2:  # noise may hide that it is worth something
        return None
    return constant if by_label.max() >= 0.99 * n else ("no better than chance", None)


def worst_first(consensus: Solved, known: Any = None) -> Table:
    """The table of `voters` with those in trouble first.

    First come voters that `voter_checks` names, then those whose `estimated` is least, even at best
    (by the upper end of a 95 % interval); where the method has none, their accuracy on known labels
    or else their agreement with the answer. Clusterings follow, the one that says least about the
    classes first.
    """
    solution, table = solution_of(consensus), voters(consensus, known)
    doubts = {row["model"]: ORDER.index(row["doubt"]) for row in voter_checks(consensus).rows()}
    n_objects = solution.stored_total or float(row_weights(solution).sum())
    measured = [name for name in ("estimated", "accuracy") if any(table[name])]
    by = [*measured, "agreement"][0]

    def trouble(row: dict[str, Any]) -> tuple[bool, int, float]:
        if row["kind"] == "clustering":
            return True, 0, row["nmi"] or 0.0
        n = row["labels"] if by == "accuracy" else row["coverage"] * n_objects
        best = wilson_interval((row[by] or 0.0) * n, n)[1] if n else 1.0
        return False, doubts.get(row["model"], len(ORDER)), best

    rows = [list(row.values()) for row in sorted(table.rows(), key=trouble)]
    kinds = [kind for kind in table["kind"] if kind != "clustering"]
    what = "estimated accuracy" if by == "estimated" else by
    order = f"The lowest 95 % upper bound of the {what} comes first." if len(kinds) > 1 else ""
    middle = (
        "A score counts here for the class on its side of the middle of the scale, so a lenient or "
        "strict judge looks worse than it is: see leans_to before you leave one out."
    )
    notes = [order, middle] if "judge" in kinds else [order]
    return Table.of(tuple(table.columns), rows, "\n".join(filter(None, notes)))
