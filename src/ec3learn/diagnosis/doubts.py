"""Voters who should not be trusted: they agree with the answer less often than chance, or no more often, or are biased.

Dawid-Skene judges whether voters are biased, not only unreliable, since it allows for bias: the
confusion matrix of a voter shows that it mistakes one class for another. One number per voter, such
as a weight, cannot. The Bayesian information criterion decides which of the two explains the votes
better; how much that matters is the share of objects for which Dawid-Skene answers otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import norm

from .._table import Table
from .._text import arg, percent
from .._typing import Array
from ..algebra.em import ConfusionModel, n_confusions
from ..algebra.membership import count_classes, membership
from ..answer.extension import matching_labels
from ..answer.mixtures import PanelRule, SubtypeRule
from ..answer.notes import BIAS, Note
from ..answer.rule import GroupRule, KnownLabels, mean_votes
from ..answer.solution import Solution, Solved, solution_of, top_classes
from ..votes import Votes, hardened, only_rows, unweighted
from ..votes.labels import Label, plain
from .metrics import CLEARLY, counted_votes, kappa, row_weights, sampled, wilson_interval
from .voters import voters

FEW_VOTES = 30  # below which a classifier is not judged
FEW_OTHERS = 5  # objects of other classes that a classifier must miss before its constant votes count against it
SOME = 0.2  # a kappa, or correlation, that would be worth something
WORSE, NO_BETTER, ALWAYS = ORDER = (
    "worse than chance",
    "no better than chance",
    "always says the same",
)

RULE = (
    f"Each voter with {FEW_VOTES} votes or more is compared with random votes of the same class frequencies. Worse than "
    f"chance: {100 * CLEARLY:.0f} % of such random votes agree with the consensus more often. No better than chance: they agree "
    "about as often. Of those who score, it counts whether their scores rise with the answer."
)
SAMPLE = 20_000  # distinct rows that are enough to judge by
MOST_CLASSES = 30  # for which a confusion matrix per classifier is learned quickly
MOST_CONFUSIONS = 1_000_000  # entries of all confusion matrices that are learned quickly
LEAST_CLASSIFIERS = 3  # with fewer it is unknown who is wrong
LEAST_OBJECTS = 30  # with fewer the criterion finds bias in chance
MUCH_APART = 0.1  # a share of objects, or of votes, that is too large to ignore


def doubts(outcome: Solved) -> Table:
    """Return the voters who should not be trusted, and why.

    Returns
    -------
    Table
        model; doubt: "worse than chance" (Cohen's kappa with the answer is below 0, beyond noise,
        or the method left the classifier out for this reason), "no better than chance" (kappa is
        within noise of 0 and cannot be large), or "always says the same"; and says, the label that
        it always gives. Of scores, the correlation with the answer takes the place of kappa, so
        that lenient judges are not doubted.

    Examples
    --------
    >>> from ec3learn import MajorityVote, Votes
    >>> good = ["a", "b"] * 20
    >>> doubts(MajorityVote().solve(Votes.from_labels({"one": good, "two": good, "lazy": ["a"] * 40})))
    model  doubt                 says
    lazy   always says the same  a
    """
    outcome = solution_of(outcome)
    votes, left_out = outcome.votes, set(outcome.worse_than_chance)
    models = outcome.models if votes is None else votes.models
    found = (
        {}
        if votes is None or not outcome.has_objects or len(outcome.classes) < 2
        else _doubts_by_answer(outcome, votes)
    )
    found |= {
        m: (WORSE, None)
        for m, model in enumerate(models)
        if model.is_voter and model.name in left_out
    }
    return Table.of(
        ("model", "doubt", "says"), [(models[m].name, *found[m]) for m in sorted(found)]
    )


def _doubts_by_answer(outcome: Solution, votes: Votes) -> dict[int, tuple[str, Label]]:
    """Return what is wrong with voters who voted often enough to be judged, if anything, by their numbers."""
    hard = hardened(votes)
    counts = count_classes(
        hard, membership(hard), outcome.row_classes, row_weights(outcome), len(outcome.classes)
    )
    n_votes = np.bincount(
        votes.models.group_model, weights=counts.sum(axis=1), minlength=len(votes.models)
    )
    found = {}
    for m in np.flatnonzero(votes.models.is_voter & (n_votes >= FEW_VOTES)).tolist():
        said, answers, columns = _occurring(counts, votes, m)
        labels, classes, positions = (
            votes.models[m].labels[answers],
            outcome.classes[columns],
            votes.models[m].positions,
        )
        if positions is None:
            doubt = _doubt(said, labels, classes)
        else:
            doubt = _doubt_scores(
                said, labels, positions[answers], matching_labels(classes, votes.classes)
            )
        if doubt is not None:
            found[m] = doubt
    return found


def by_trouble(outcome: Solved, known: Any = None) -> Table:
    """Return the table of `voters` with those in trouble first.

    First come voters that `doubts` names, then those that are right least often, even at best: by
    the upper end of a 95 % interval of their accuracy on known labels, or else of their agreement
    with the answer. Clusterings follow, the one that says least about the classes first.

    Returns
    -------
    Table
        As `voters` has it.
    """
    outcome = solution_of(outcome)
    table = voters(outcome, known)
    doubted = {row["model"]: ORDER.index(row["doubt"]) for row in doubts(outcome).rows()}
    total = float(row_weights(outcome).sum()) if outcome.has_objects else outcome.stored_total

    def trouble(row: dict[str, Any]) -> tuple[bool, int, float]:
        if row["kind"] == "clustering":
            return True, 0, row.get("nmi") or 0.0
        best = row.get("high")
        if best is None:
            agreed = row["agreement"] or 0.0
            n_votes = 0.0 if total is None else row["coverage"] * total
            best = (
                agreed
                if total is None
                else wilson_interval(agreed * n_votes, n_votes)[1]
                if n_votes
                else 1.0
            )
        return False, doubted.get(row["model"], len(ORDER)), best

    rows = sorted(table.rows(), key=trouble)
    return Table({name: [row[name] for row in rows] for name in table.columns})


def _occurring(counts: sparse.csr_array, votes: Votes, m: int) -> tuple[Array, Array, Array]:
    """Return the counts of the labels a voter gave (rows) and of the classes that occur (columns), with their numbers."""
    starts = counts.indptr[votes.models.offsets[m] : votes.models.offsets[m + 1] + 1]
    own = slice(
        starts[0], starts[-1]
    )  # cut by hand: there may be thousands of voters, and a sparse matrix is slow to cut
    rows, row = np.unique(
        np.repeat(np.arange(len(starts) - 1), np.diff(starts)), return_inverse=True
    )
    columns, column = np.unique(counts.indices[own], return_inverse=True)
    said = np.zeros((len(rows), len(columns)))
    said[row, column] = counts.data[own]
    return said, rows, columns


def _doubt(said: Array, labels: Array, classes: Array) -> tuple[str, Label] | None:
    """Return what is wrong with a classifier that gave its labels (rows) to objects of each class of the answer (columns)."""
    number = matching_labels(labels, classes)
    found = kappa(said, number)
    if found is None:
        return None
    spoken = np.flatnonzero(said.sum(axis=1))
    if len(spoken) == 1:
        only = spoken[0]
        right = said[only, number[only]] if number[only] >= 0 else 0
        return (ALWAYS, plain(labels[only])) if said.sum() - right >= FEW_OTHERS else None
    return _beside_chance(found.kappa, found.noise)


def _doubt_scores(
    said: Array, labels: Array, positions: Array, number: Array
) -> tuple[str, Label] | None:
    """Return what is wrong with a voter who answers on a scale: its answers should rise with the class, whatever each one means.

    `positions` says where each of its answers (rows) lies on the scale, `number` which class of the
    votes each column is. By chance the correlation of the two has the variance 1 / (n - 1).
    """
    ordered = ~np.isnan(positions)
    said, labels, positions = said[ordered], labels[ordered], positions[ordered]
    n, per_class = float(said.sum()), said.sum(axis=0)
    if n < FEW_VOTES or (per_class > 0).sum() < 2:
        return None
    if (said.sum(axis=1) > 0).sum() == 1:
        return (
            (ALWAYS, plain(labels[said.sum(axis=1).argmax()]))
            if n - per_class.max() >= FEW_OTHERS
            else None
        )
    place, late = (
        values - np.average(values, weights=n_of)
        for values, n_of in ((positions, said.sum(axis=1)), (number, per_class))
    )
    spread = float(np.sqrt((said.sum(axis=1) @ place**2) * (per_class @ late**2)))
    return _beside_chance(
        float(place @ said @ late) / spread, float(norm.ppf(CLEARLY)) / np.sqrt(n - 1)
    )


def _beside_chance(found: float, noise: float) -> tuple[str, Label] | None:
    """Return the doubt about votes whose kappa or correlation with the answer this is, given how large it is by chance."""
    if found < -noise:
        return WORSE, None
    return (NO_BETTER, None) if found < noise and found + noise < SOME else None


# ---- bias ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bias:
    """How the voters look to Dawid-Skene."""

    evidence: float  # for confusion matrices, over what it takes for them to explain the votes better than one number each
    apart: tuple[
        float, ...
    ]  # for each of some answers, the share of objects for which Dawid-Skene's differs

    @property
    def biased(self) -> bool:
        """Return whether confusion matrices explain the votes better than one number per classifier."""
        return bool(self.evidence > 1)


def judge_bias(votes: Votes, known: KnownLabels | None, answers: Sequence[Array]) -> Bias | None:
    """Compare confusion matrices with one number per classifier, and Dawid-Skene's answer for distinct rows with some others.

    None where there are too few classifiers, classes or objects to tell, or too many for a quick
    answer.
    """
    votes = counted_votes(votes)
    n_classifiers = int((votes.models.is_classifier & (votes.weights > 0)).sum())
    if n_classifiers < LEAST_CLASSIFIERS or votes.n_classes < 2:
        return None
    if n_confusions(votes) > MOST_CONFUSIONS or votes.counts.sum() < LEAST_OBJECTS:
        return None
    if votes.n_rows > SAMPLE:
        labelled = None if known is None or known.labelled.sum() > SAMPLE else known.labelled
        rows, counts, _ = sampled(votes.counts, SAMPLE, labelled)
        votes = replace(only_rows(votes, rows), sample_weight=counts, counts=counts)
        answers = [answer[rows] for answer in answers]
        known = None if known is None else KnownLabels(known.codes[rows], known.pull)
    known = None if known is None or not known.labelled.any() else KnownLabels(known.codes, np.inf)
    votes = unweighted(votes)  # of whom one counts twice is no less biased for that
    groups = membership(votes)
    start, _, _ = mean_votes(votes, groups, votes.weights, known)
    codes = None if known is None else known.codes
    matrices, coins = (
        ConfusionModel(votes, groups, codes, one_coin=one_coin, with_clusterings=True).fit(
            start, tol=1e-6, max_iter=100
        )
        for one_coin in (False, True)
    )
    total = float(votes.counts.sum())
    more_numbers = n_classifiers * (votes.n_classes * (votes.n_classes - 1) - 1)
    gain = matrices.likelihoods[-1] - coins.likelihoods[-1]
    theirs, *ours = (
        top_classes(answer, votes.counts @ answer) for answer in (matrices.proba, *answers)
    )
    apart = tuple(float(votes.counts @ (own != theirs)) / max(total, 1e-300) for own in ours)
    return Bias(2 * gain / max(more_numbers * np.log(max(total, 2.0)), 1e-300), apart)


def bias_note(apart: float) -> Note:
    """Return the note on biased voters, where Dawid-Skene answers otherwise for this share of the objects."""
    return Note(
        BIAS,
        "The voters look biased, not only unreliable, and one weight each cannot fix that: Dawid-Skene explains the votes "
        f"better and answers otherwise for {percent(apart)} of the objects. Check some of them, and compare with "
        f"{arg('method', 'dawid-skene')} or {arg('towards', 'dawid-skene')}.",
    )


def bias_of(outcome: Solved) -> Note | None:
    """Return a note if the voters look biased and the answer suffers from it, whatever method made it.

    Returns
    -------
    Note or None
        None too where the method itself allows for bias, as the panel and Dawid-Skene do.
    """
    outcome = solution_of(outcome)
    votes = outcome.require_votes("bias")
    if votes.n_classes > MOST_CLASSES or _allows_for_bias(outcome):
        return None
    bias = judge_bias(votes, outcome.known, [outcome.row_proba])
    return (
        bias_note(bias.apart[0])
        if bias is not None and bias.biased and bias.apart[0] >= MUCH_APART
        else None
    )


def _allows_for_bias(outcome: Solution) -> bool:
    """Return whether the method, or the one it goes towards, learns how each voter mistakes one class for another."""
    rule = outcome.rule
    if isinstance(rule, GroupRule) and rule.asked:
        (rule,) = rule.asked
    return isinstance(rule, (PanelRule, SubtypeRule)) and not outcome.settings.get("one_coin")
