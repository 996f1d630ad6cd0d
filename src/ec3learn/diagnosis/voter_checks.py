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
from .metrics import (
    CLEARLY,
    FEW,
    HANDFUL,
    counted_votes,
    kappa,
    row_weights,
    sampled,
    wilson_interval,
)
from .voters import voters

WORSE, NO_BETTER, ALWAYS = ORDER = (
    "worse than chance",
    "no better than chance",
    "always says the same",
)

RULE = (
    f"Each voter with {FEW} votes or more is compared with random votes of the same class frequencies. Worse than "
    f"chance: {100 * CLEARLY:.0f} % of such random votes agree with the consensus more often. No better than chance: they agree "
    "about as often. Of those who score, it counts whether their scores rise with the answer."
)
SAMPLE = 20_000  # distinct rows that are enough to judge by
MOST_CONFUSIONS = 1_000_000  # entries of all confusion matrices that are learned quickly
MUCH_APART = 0.1  # a share of objects that is too large to ignore


def voter_checks(consensus: Solved) -> Table:
    """The voters who should not be trusted, and why.

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
    >>> voter_checks(MajorityVote().solve(Votes.from_labels({"one": good, "two": good, "lazy": ["a"] * 40})))
    model  doubt                 says
    lazy   always says the same  a
    """
    solution = solution_of(consensus)
    votes = solution.votes
    models = solution.models if votes is None else votes.models
    doubts: list[tuple[str, str, Label]] = []
    tables = _voter_tables(solution)
    for m, model in enumerate(models):
        if model.is_voter and model.name in solution.worse_than_chance:
            doubts.append((model.name, WORSE, None))
        elif m in tables and votes is not None:
            doubt = _doubt(*tables[m], solution, votes, m)
            doubts += [] if doubt is None else [(model.name, *doubt)]
    return Table.of(("model", "doubt", "says"), doubts)


def _voter_tables(solution: Solution) -> dict[int, tuple[Array, Array, Array]]:
    """How many objects of each class of the answer (columns) each voter with enough votes gave each label (rows).

    With the numbers of the labels and classes that occur.
    """
    votes, n_classes = solution.votes, len(solution.classes)
    if votes is None or not solution.has_objects or n_classes < 2:
        return {}
    hard = hardened(votes)
    weights = row_weights(solution)
    counts = count_classes(hard, membership(hard), solution.row_classes, weights, n_classes)
    tables = {}
    for m in np.flatnonzero(votes.models.is_voter).tolist():
        # Cut by hand: there may be thousands of voters, and a sparse matrix is slow to cut.
        starts = counts.indptr[votes.models.offsets[m] : votes.models.offsets[m + 1] + 1]
        cells, number = slice(starts[0], starts[-1]), np.arange(len(starts) - 1)
        if counts.data[cells].sum() >= FEW:
            labels, row = np.unique(np.repeat(number, np.diff(starts)), return_inverse=True)
            classes, column = np.unique(counts.indices[cells], return_inverse=True)
            table = np.zeros((len(labels), len(classes)))
            table[row, column] = counts.data[cells]
            tables[m] = table, labels, classes
    return tables


def _doubt(
    table: Array, answers: Array, columns: Array, solution: Solution, votes: Votes, m: int
) -> tuple[str, Label] | None:
    """What is wrong with a voter, if anything."""
    model, classes = votes.models[m], solution.classes[columns]
    if model.positions is None:
        return _doubt_labels(table, model.labels[answers], classes)
    positions = model.positions[answers]
    ordered = ~np.isnan(positions)
    number = matching_labels(classes, votes.classes)
    return _doubt_scores(table[ordered], model.labels[answers[ordered]], positions[ordered], number)


def _doubt_labels(table: Array, labels: Array, classes: Array) -> tuple[str, Label] | None:
    number = matching_labels(labels, classes)
    agreed = kappa(table, number)
    if agreed is None:
        return None
    if len(labels) == 1:
        right = table[0, number[0]] if number[0] >= 0 else 0
        return (ALWAYS, plain(labels[0])) if table.sum() - right >= HANDFUL else None
    return _beside_chance(agreed.kappa, agreed.noise)


def _doubt_scores(
    table: Array, labels: Array, positions: Array, number: Array
) -> tuple[str, Label] | None:
    """What is wrong with a voter who answers on a scale: its answers should rise with the class, whatever each one means.

    `positions` says where each of its answers (rows) lies on the scale, `number` which class of the
    votes each column is. By chance the correlation of the two has the variance 1 / (n - 1).
    """
    n, by_answer, by_class = float(table.sum()), table.sum(axis=1), table.sum(axis=0)
    if n < FEW or (by_class > 0).sum() < 2:
        return None
    if len(labels) == 1:
        return (ALWAYS, plain(labels[0])) if n - by_class.max() >= HANDFUL else None
    place = positions - np.average(positions, weights=by_answer)
    late = number - np.average(number, weights=by_class)
    spread = float(np.sqrt((by_answer @ place**2) * (by_class @ late**2)))
    return _beside_chance(float(place @ table @ late) / spread, norm.ppf(CLEARLY) / np.sqrt(n - 1))


def _beside_chance(agreed: float, noise: float) -> tuple[str, Label] | None:
    """The doubt about votes whose kappa or correlation with the answer this is, given how large it is by chance."""
    if agreed < -noise:
        return WORSE, None
    worth_something = 0.2  # which noise could hide
    return (NO_BETTER, None) if agreed < noise and agreed + noise < worth_something else None


def worst_first(consensus: Solved, known: Any = None) -> Table:
    """The table of `voters` with those in trouble first.

    First come voters that `voter_checks` names, then those that are right least often, even at
    best: by the upper end of a 95 % interval of their accuracy on known labels, or else of their
    agreement with the answer. Clusterings follow, the one that says least about the classes first.
    """
    solution, table = solution_of(consensus), voters(consensus, known)
    doubts = {row["model"]: ORDER.index(row["doubt"]) for row in voter_checks(consensus).rows()}
    total = solution.stored_total
    if solution.has_objects:
        total = float(row_weights(solution).sum())

    def trouble(row: dict[str, Any]) -> tuple[bool, int, float]:
        if row["kind"] == "clustering":
            return True, 0, row.get("nmi") or 0.0
        best = row.get("high")
        if best is None:
            best = row["agreement"] or 0.0
            if total is not None:
                n_votes = row["coverage"] * total
                best = wilson_interval(best * n_votes, n_votes)[1] if n_votes else 1.0
        return False, doubts.get(row["model"], len(ORDER)), best

    rows = sorted(table.rows(), key=trouble)
    columns = {name: [row[name] for row in rows] for name in table.columns}
    return Table(columns, table.note)


# ---- bias ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bias:
    """How the voters look to Dawid-Skene."""

    evidence: float  # for confusion matrices, over what it takes for them to explain the votes better than one number each
    apart: tuple[
        float, ...
    ]  # for each answer, the share of objects for which Dawid-Skene's differs

    @property
    def biased(self) -> bool:
        """Whether confusion matrices explain the votes better than one number per classifier."""
        return bool(self.evidence > 1)


def judge_bias(votes: Votes, known: KnownLabels | None, answers: Sequence[Array]) -> Bias | None:
    """Compare confusion matrices with one number per classifier, and Dawid-Skene's answer for distinct rows with some others.

    None where there are too few classifiers, classes or objects to tell, or too many for a quick
    answer.
    """
    votes = counted_votes(votes)
    n_classifiers = int((votes.models.is_classifier & (votes.weights > 0)).sum())
    if n_classifiers < 3 or votes.n_classes < 2:
        return None  # nothing shows who is wrong
    if n_confusions(votes) > MOST_CONFUSIONS or votes.counts.sum() < FEW:
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
    """The note on biased voters, where Dawid-Skene answers otherwise for this share of the objects."""
    return Note(
        BIAS,
        "The voters look biased, not only unreliable, and one weight each cannot fix that: Dawid-Skene explains the votes "
        f"better and answers otherwise for {percent(apart)} of the objects. Check some of them, and compare with "
        f"{arg('method', 'dawid-skene')} or {arg('towards', 'dawid-skene')}.",
    )


def bias_of(solution: Solution) -> Note | None:
    """A note if the voters look biased and the answer suffers from it; None too where the method itself allows for bias."""
    votes = solution.require_votes("bias")
    if votes.n_classes > FEW or _allows_for_bias(solution):
        return None
    bias = judge_bias(votes, solution.known, [solution.row_proba])
    if bias is None or not bias.biased or bias.apart[0] < MUCH_APART:
        return None
    return bias_note(bias.apart[0])


def _allows_for_bias(solution: Solution) -> bool:
    """Whether the method, or the one it goes towards, learns how each voter mistakes one class for another."""
    rule = solution.rule
    if isinstance(rule, GroupRule) and rule.asked:
        (rule,) = rule.asked
    return isinstance(rule, (PanelRule, SubtypeRule)) and not solution.settings.get("one_coin")
