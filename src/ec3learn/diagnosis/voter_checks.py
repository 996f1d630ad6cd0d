"""Voters who should not be trusted: no better than chance, or biased.

Dawid-Skene judges whether voters are biased, not only unreliable, since it allows for bias: the
confusion matrix of a voter shows that it mistakes one class for another. One number per voter, such
as a weight, cannot. The Bayesian information criterion decides which of the two explains the votes
better; how much that matters is the share of objects for which Dawid-Skene answers otherwise.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
from scipy.special import ndtri

from .._table import Table
from .._text import arg, percent
from .._typing import Array
from ..algebra.em import MOST_CONFUSIONS, ConfusionModel, n_confusions
from ..algebra.membership import count_classes, membership
from ..answer.extension import matching_labels
from ..answer.mixtures import PanelRule, SubtypeRule
from ..answer.notes import Note
from ..answer.rule import GroupRule, KnownLabels, mean_votes
from ..answer.solution import Solution, Solved, solution_of, top_classes
from ..votes import BaseModel, Votes, hardened, only_rows, unweighted
from ..votes.labels import Label, plain
from .metrics import (
    CLEARLY,
    FEW,
    HANDFUL,
    SAMPLE,
    counted_votes,
    kappa,
    row_weights,
    sampled,
    wilson_interval,
)
from .voters import voters

Doubt = Literal["worse than chance", "no better than chance", "always says the same"]

ORDER: tuple[Doubt, ...] = get_args(Doubt)  # the weightiest first

RULE = (
    f"Each voter with {FEW} votes or more is compared with random votes of the same class "
    f"frequencies. Worse than chance: {100 * CLEARLY:.0f} % of such random votes agree with the "
    "consensus more often. No better than chance: they agree "
    "about as often. Of those who score, it counts whether their scores rise with the answer."
)
QUALITIES = {  # of voters, the one that says most first
    "estimated": "estimated accuracy",
    "accuracy": "accuracy",
    "agreement": "agreement",
}
WORTH_SOMETHING = 0.2  # a kappa or correlation which noise could hide


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
    votes, doubts = (
        solution.votes,
        dict.fromkeys(solution.worse_than_chance, ("worse than chance", None)),
    )
    if votes is not None and solution.has_objects and len(solution.classes) > 1:
        hard, offsets, weights = hardened(votes), votes.models.offsets, row_weights(solution)
        n_classes = len(solution.classes)
        counts = count_classes(hard, membership(hard), solution.row_classes, weights, n_classes)
        n_votes = np.bincount(votes.models.group_model, counts.sum(axis=1), len(votes.models))
        for m in np.flatnonzero(votes.models.is_voter & (n_votes >= FEW)).tolist():
            table = counts[offsets[m] : offsets[m + 1]].toarray()
            doubt = _doubt(table, votes.models[m], solution.classes, votes.classes)
            doubts = ({} if doubt is None else {votes.models[m].name: doubt}) | doubts
    models = solution.models if votes is None else votes.models
    rows = [
        (model.name, *doubts[model.name])
        for model in models
        if model.is_voter and model.name in doubts
    ]
    return Table.of(("model", "doubt", "says"), rows)


def _doubt(
    table: Array, model: BaseModel, classes: Array, vote_classes: Array
) -> tuple[Doubt, Label] | None:
    """What is wrong with a voter, if anything.

    `table` has how many objects of each class of the consensus (columns) it gave each of its
    labels (rows).
    """
    labelled, occurs = table.any(axis=1), table.any(axis=0)
    if model.positions is not None:
        labelled &= ~np.isnan(model.positions)
    table, labels, classes = (
        table[np.ix_(labelled, occurs)],
        model.labels[labelled],
        classes[occurs],
    )
    n, by_class, by_label = float(table.sum()), table.sum(axis=0), table.sum(axis=1)
    if n < FEW or (by_class > 0).sum() < 2:
        return None
    constant: tuple[Doubt, Label] = ("always says the same", plain(labels[by_label.argmax()]))
    if len(labels) == 1:
        right = (
            by_class.max() if model.positions is not None else by_class[classes == labels[0]].sum()
        )
        return constant if n - right >= HANDFUL else None
    if model.positions is None:
        agreed, noise = kappa(table, matching_labels(labels, classes))
    else:
        agreed = _correlation(
            table, model.positions[labelled], matching_labels(classes, vote_classes)
        )
        noise = float(ndtri(CLEARLY)) / np.sqrt(n - 1)  # by chance, its variance is 1 / (n - 1)
    if agreed < -noise:
        return "worse than chance", None
    if agreed >= noise or agreed + noise >= WORTH_SOMETHING:
        return None
    return constant if by_label.max() >= 0.99 * n else ("no better than chance", None)


def _correlation(table: Array, rows: Array, columns: Array) -> float:
    """The correlation of the places of the rows of a table of counts and those of its columns."""
    one, other = np.nonzero(table)
    spread = np.cov(rows[one], columns[other], aweights=table[one, other])
    return float(spread[0, 1] / np.sqrt(spread[0, 0] * spread[1, 1]))


def worst_first(consensus: Solved, known: Any = None) -> Table:
    """The table of `voters` with those in trouble first.

    First come voters that `voter_checks` names, then those whose `estimated` is least, even at best
    (by the upper end of a 95 % interval); where the method has none, their accuracy on known labels
    or else their agreement with the answer. Clusterings follow, the one that says least about the
    classes first.
    """
    solution, table = solution_of(consensus), voters(consensus, known)
    doubts = {row["model"]: ORDER.index(row["doubt"]) for row in voter_checks(consensus).rows()}
    total = float(row_weights(solution).sum()) if solution.has_objects else solution.stored_total

    by = next(name for name in QUALITIES if name == "agreement" or any(table[name]))

    def trouble(row: dict[str, Any]) -> tuple[bool, int, float]:
        if row["kind"] == "clustering":
            return True, 0, row.get("nmi") or 0.0
        best, n_votes = row[by] or 0.0, row["coverage"] * (total or 0.0)
        if by == "accuracy":
            n_votes = row["labels"] or 0
        if n_votes or total is not None:
            best = wilson_interval(best * n_votes, n_votes)[1] if n_votes else 1.0
        return False, doubts.get(row["model"], len(ORDER)), best

    rows = [list(row.values()) for row in sorted(table.rows(), key=trouble)]
    n_voters = sum(row["kind"] != "clustering" for row in table.rows())
    order = f"The lowest {QUALITIES[by]} comes first, allowing for chance." if n_voters > 1 else ""
    return Table.of(tuple(table.columns), rows, order)


# ---- bias ----------------------------------------------------------------------------------------


def bias_notes(solution: Solution) -> list[Note]:
    """A note if voters look biased, the answer suffers, and the method does not allow for it."""
    votes, rule = solution.require_votes("bias"), solution.rule
    if isinstance(rule, GroupRule) and rule.asked:
        (rule,) = rule.asked
    confuses = isinstance(rule, (PanelRule, SubtypeRule)) and not solution.settings.get("one_coin")
    if confuses or votes.n_classes > FEW or any(note.kind == "bias" for note in solution.notes):
        return []
    return notes_on_bias(votes, solution.known, solution.row_proba)


def notes_on_bias(votes: Votes, known: KnownLabels | None, proba: Array) -> list[Note]:
    """A note if voters look biased, and Dawid-Skene answers otherwise for many objects.

    None where there are too few classifiers, classes or objects to tell, or too many for a quick
    answer.
    """
    votes = unweighted(counted_votes(votes))
    n_voters = int((votes.models.is_classifier & (votes.weights > 0)).sum())
    too_few = n_voters < 3 or votes.n_classes < 2 or votes.counts.sum() < FEW
    if too_few or n_confusions(votes) > MOST_CONFUSIONS:
        return []
    if votes.n_rows > SAMPLE:
        labelled = None if known is None or known.labelled.sum() > SAMPLE else known.labelled
        rows, counts, _ = sampled(votes, SAMPLE, labelled)
        votes = replace(only_rows(votes, rows), sample_weight=counts, counts=counts)
        proba, known = proba[rows], known and KnownLabels(known.codes[rows], known.pull)
    evidence, answer = _evidence_of_bias(votes, known)
    ours, theirs = (top_classes(table, votes.counts @ table) for table in (proba, answer))
    apart = float(votes.counts @ (ours != theirs)) / float(votes.counts.sum())
    if evidence <= 1 or apart < 0.1:
        return []
    text = (
        "The voters look biased, not only unreliable, and one weight each cannot fix that: "
        "Dawid-Skene explains the votes better and answers otherwise for "
        f"{percent(apart)} of the objects. Check some of them, and compare with "
        f"{arg('method', 'dawid-skene')} or {arg('towards', 'dawid-skene')}."
    )
    return [Note("bias", text)]


def _evidence_of_bias(votes: Votes, known: KnownLabels | None) -> tuple[float, Array]:
    """The evidence for confusion matrices (above 1: they explain more), and their answer."""
    groups, codes = membership(votes), None
    if known is not None and known.labelled.any():
        codes, known = known.codes, KnownLabels(known.codes, np.inf)
    start, _, _ = mean_votes(votes, groups, votes.weights, known)
    matrices, coins = (
        ConfusionModel(votes, groups, codes, one_coin=one_coin, with_clusterings=True).fit(
            start, tol=1e-6, max_iter=100
        )
        for one_coin in (False, True)
    )
    n_voters = int((votes.models.is_classifier & (votes.weights > 0)).sum())
    more_numbers = n_voters * (votes.n_classes * (votes.n_classes - 1) - 1)
    needed = more_numbers * np.log(max(float(votes.counts.sum()), 2.0))
    gain = matrices.likelihoods[-1] - coins.likelihoods[-1]
    return 2 * gain / max(needed, 1e-300), matrices.proba
