"""What votes alone show of voters: how far their errors correlate, and whether they are biased.

The errors of voters who see the same surface of an object correlate, and then n votes are worth
fewer. An answer made from all votes has absorbed what they have in common, so the errors of one
half of the voters are measured against the answer of the other. With few votes on an object that
answer is worse than it seems to be, and makes even independent errors look alike: what independent
voters would show is found by drawing their votes, and taken off.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse

from .._checks import InputError, require_number
from .._text import arg, percent
from .._typing import Array
from ..algebra.bayes import SubtypeModel
from ..algebra.em import MOST_CONFUSIONS, ConfusionModel, n_confusions
from ..algebra.membership import (
    entries,
    membership,
    normalised,
    sample_rows,
    squared_norms,
    votes_cast,
)
from ..answer.mixtures import PanelRule, SubtypeRule
from ..answer.notes import Note
from ..answer.rule import GroupRule, KnownLabels, mean_votes
from ..answer.solution import Solution, top_classes
from ..votes import Votes, hardened, only_rows, unweighted, votes_per_model
from ..votes.layout import Stores, entries_of_votes
from .labels import labelled_rows, labels_of
from .metrics import (
    FEW,
    LEAST_LABELS,
    SAMPLE,
    counted_votes,
    require_votes,
    sampled,
    votes_per_row,
)

MOST_ROWS = 3_000  # distinct rows that are enough to measure correlation on
LEAST_VOTERS = 4  # two in each half


def error_correlation(votes: Votes, known: Any = None) -> float:
    """The mean correlation of two voters' errors on the same object.

    Parameters
    ----------
    votes : Votes
        The votes, for classes or on a scale. A soft vote counts for its most probable class;
        without labels, not at all on a tie.
    known : array with missing values, dict of object -> label, or pair (objects, labels)
        Labels to measure errors by, those of 20 objects or more. They also show the errors that all
        voters share.

    Returns
    -------
    float
        At most 1, and about 0 for independent errors. Without labels, errors that all voters share
        cannot be told from the truth, so this is a lower bound: of the true correlation, simulated
        voters showed a quarter with six votes per object, a third with twelve and half of it with
        24; twelve real language models showed 42 %. It takes four voters; fewer show nothing, and 0
        is returned.
    """
    require_votes(votes)
    if known is not None:
        return _by_labels(votes, known)
    votes = counted_votes(votes)
    if not shows_correlation(votes):
        return 0.0
    silent = np.setdiff1d(np.arange(len(votes.models)), erring_voters(votes))
    votes = votes.drop(*(votes.models[m].name for m in silent)) if len(silent) else votes
    chosen, counts = sample_rows(votes, MOST_ROWS)
    rows = whole_votes(only_rows(replace(unweighted(votes), prior=None), chosen))
    rows, matrix = replace(rows, counts=counts), entries(rows)
    if not matrix.nnz:
        return 0.0  # all votes are tied
    # In an order that depends on the votes alone: equal tables are drawn alike.
    said = [sorted(groups) for groups in np.split(matrix.indices, matrix.indptr[1:-1])]
    rows = only_rows(rows, np.array(sorted(range(rows.n_rows), key=said.__getitem__)))
    rng = np.random.default_rng(0)
    halves = _halves(len(votes.models), rng)
    by_chance = _correlation_of_halves(_independent(rows, rng), halves)
    return max(_correlation_of_halves(rows, halves) - max(by_chance, 0.0), -1.0)


def _halves(n: int, rng: np.random.Generator) -> Array:
    """Which of n voters are in the first half, splits x voters: all splits if they are few.

    Otherwise the best of some sets of splits: any two voters are together about as often.
    """
    half = n // 2
    if n <= 6:  # three or ten splits
        chosen = np.array([c for c in combinations(range(n), half) if n % 2 or 0 in c])
        return (np.arange(n) == chosen[:, :, None]).any(axis=1)
    sets = np.tile(np.arange(n) < half, (max(1, 1_000 // n), 7, 1))  # of seven splits each
    sets = rng.permuted(sets, axis=2)
    signs = np.where(sets, 1.0, -1.0)
    alike = np.einsum("dsj,dtj->dst", signs, signs)  # as uneven as how often two are together
    return np.asarray(sets[(alike**2).sum(axis=(1, 2)).argmin()])


def _by_labels(votes: Votes, known: Any) -> float:
    codes = labels_of(known, votes.classes, votes.n_objects, votes.object_ids).codes
    n_labels = _count_labels(votes, codes)
    if n_labels < LEAST_LABELS:
        remedy = f"Leave {arg('known')} out to measure without labels."
        must = f"must have at least {LEAST_LABELS} labels"
        raise InputError("known", must, got=n_labels, remedy=remedy)
    labelled, row_codes = labelled_rows(counted_votes(votes), codes)
    answer = np.eye(votes.n_classes)[row_codes]
    return _excess(*votes_cast(hardened(labelled)), labelled.counts, answer)


def _count_labels(votes: Votes, codes: Array) -> int:
    """How many objects have a known class (its number, -1 for none); weights may be counts."""
    weights = counted_votes(votes).sample_weight
    return round(float((codes >= 0) @ (np.ones(len(codes)) if weights is None else weights)))


def independent_votes(votes: Votes, known: Any = None) -> dict[str, Any]:
    """How many independent votes those on an object are worth, and how that was measured.

    Labels that were chosen because their objects are hard measure nothing.
    """
    labels = labels_of(known, votes.classes, votes.n_objects, votes.object_ids)
    labels, correlation = labels.only(labels.chances != 0), None
    by_labels = _count_labels(votes, labels.codes) >= LEAST_LABELS
    if shows_correlation(votes, by_labels):
        correlation = error_correlation(votes, labels if by_labels else None)
    return {
        "by_labels": by_labels,
        "effective_voters": None if correlation is None else effective_voters(votes, correlation),
        "error_correlation": correlation,
    }


def erring_voters(votes: Votes) -> Array:
    """The voters whose errors could correlate: those with votes that count."""
    return np.flatnonzero(
        votes.models.is_voter & (votes_per_model(votes) > 0) & (votes.weights > 0)
    )


def shows_correlation(votes: Votes, by_labels: bool = False) -> bool:
    """Whether voters are enough, and classes few enough, to measure the correlation of errors."""
    least = 2 if by_labels else LEAST_VOTERS
    enough = len(erring_voters(votes)) >= least and votes.n_classes > 1
    return enough and n_confusions(votes) <= MOST_CONFUSIONS


def whole_votes(votes: Votes) -> Votes:
    """The votes as labels, without ties, whose shares would seem to explain errors."""
    votes = hardened(votes)
    if votes.stores.is_hard:
        return votes
    matrix = entries(votes).tocoo()
    (row, group), whole = matrix.coords, matrix.data == 1
    return replace(
        votes, stores=Stores(sparse=entries_of_votes(row[whole], group[whole], matrix.shape))
    )


def _independent(votes: Votes, rng: np.random.Generator) -> Votes:
    """Votes of the same voters on the same objects, as they would be if errors were independent.

    They are drawn from what Dawid-Skene finds: a class for each object, and for each vote an answer
    given that class. A row is drawn as often as it counts, but at most `MOST_ROWS` objects are.
    """
    groups, offsets = membership(votes), votes.models.offsets
    start, _, _ = mean_votes(votes, groups, votes.weights, None)
    fit = SubtypeModel(votes, groups).fit(start, 1e-3, 50)
    total = float(votes.counts.sum())
    n = min(MOST_ROWS, max(1, round(total)))
    objects = np.searchsorted(np.cumsum(votes.counts), total * (np.arange(n) + 0.5) / n)
    ends = np.cumsum(normalised(fit.proba[objects]), axis=1)
    truth = (rng.random((n, 1)) > ends[:, :-1]).sum(axis=1)
    row, group = entries(votes)[objects].tocoo().coords
    # An answer is drawn where a number falls among the sums of the voter's shares given the class.
    shares = np.exp(fit.evidence)
    ends = np.vstack([np.zeros(shares.shape[1]), np.cumsum(shares, axis=0)])
    begin, end = (offsets[votes.models.group_model[group] + one] for one in (0, 1))
    low, high = ends[begin, truth[row]], ends[end, truth[row]]
    place, drawn = low + rng.random(len(row)) * (high - low), np.empty_like(group)
    for k in range(shares.shape[1]):
        of_class = truth[row] == k
        drawn[of_class] = np.searchsorted(ends[:, k], place[of_class], side="right") - 1
    drawn = np.clip(drawn, begin, end - 1)
    stores = Stores(sparse=entries_of_votes(row, drawn, (n, votes.models.n_groups)))
    return replace(only_rows(votes, objects), stores=stores, sample_weight=None, counts=np.ones(n))


def _correlation_of_halves(votes: Votes, halves: Array) -> float:
    """The mean correlation of errors within half of the voters, by the answer of the others."""
    (rows, voters, cast), groups = votes_cast(votes), membership(votes)
    measured = []
    for inside in np.concatenate([halves, ~halves]):
        ours = inside[voters]
        others = replace(votes, weights=~inside * votes.weights)
        start = _sums_over(rows[~ours], votes.n_rows) @ cast[~ours]
        start[~start.any(axis=1)] = votes.counts @ start
        answer = ConfusionModel(others, groups).fit(normalised(start), 1e-3, 50).proba
        measured.append(_excess(rows[ours], voters[ours], cast[ours], votes.counts, answer))
    return float(np.mean(measured))


def effective_voters(votes: Votes, correlation: float | None = None) -> float:
    """How many independent voters the voters on an object are worth: J / (1 + (J - 1) r).

    J is the mean number of votes per object with a vote, and r the correlation of the voters'
    errors (`error_correlation`). Errors that all voters share cannot be seen without labels, so the
    true number is lower if anything.

    Parameters
    ----------
    votes : Votes
        The votes, for classes or on a scale.
    correlation : float
        The correlation of errors: by default `error_correlation(votes)`; where labels are known,
        pass what it finds by them.

    Examples
    --------
    >>> import numpy as np
    >>> from ec3learn import Votes
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(2, size=1000)
    >>> opinions = [truth ^ (rng.random(1000) < 0.2) for _ in range(8)]
    >>> twice = {f"v{j}": opinions[j % 8] for j in range(16)}
    >>> print(f"{effective_voters(Votes.from_labels(twice)):.1f} of 16")
    7.5 of 16
    """
    require_votes(votes)
    correlation = error_correlation(votes) if correlation is None else correlation
    require_number("correlation", correlation, least=-1)
    counted = (votes.models.is_voter & (votes.weights > 0))[votes.models.group_model]
    per_row = votes_per_row(votes, counted)
    covered = float(votes.counts @ (per_row > 0))
    if covered <= 0:
        return 0.0
    n = float(votes.counts @ per_row) / covered
    return n / (1 + (n - 1) * min(max(correlation, 0.0), 1.0))


def _excess(rows: Array, voters: Array, cast: Array, counts: Array, proba: Array) -> float:
    """The mean correlation of residuals given an answer, less what its uncertainty explains.

    The residual of voter j on object i is e_ij = y_ij - sum_k z_ik mu_jk, with y the vote over
    classes and mu_jk the mean vote of j on class k, divided by its root mean square. Both are drawn
    to those of all voters by a pseudo-vote: otherwise the residuals of a voter with one vote per
    class are all 0. Sums over pairs follow from sums over objects: sum_{j != h} e_j e_h = (sum_j
    e_j)^2 - sum_j e_j^2.

    Votes come one by one: the row, the voter and what it gives to each class; and how often each
    row counts.
    """
    n_classes, weight = cast.shape[1], counts[rows]
    by_row = _sums_over(rows, len(counts))
    by_voter = _sums_over(voters, voters.max(initial=-1) + 1)
    n_votes = by_row @ np.ones(len(rows))
    pairs = float(counts @ (n_votes * (n_votes - 1)))
    # The mean votes mu (voter, class, answer).
    mass = weight[:, None] * proba[rows]
    sums = np.stack([by_voter @ (mass[:, [k]] * cast) for k in range(n_classes)], axis=1)
    total = by_voter @ mass
    pooled = sums.sum(axis=0) / np.maximum(total.sum(axis=0), 1e-12)[:, None]
    mean = (sums + pooled) / (total + 1)[:, :, None]
    # Averages weighted by unsure answers mix the classes, by the shares z'z; its inverse takes that
    # out (least squares).
    shares = (counts * (n_votes > 0))[:, None] * proba
    mixed = normalised(proba.T @ shares + 1e-6 * np.eye(n_classes))
    # The least singular value is 1 for a sure answer, 0 for one that is the same for all objects.
    if pairs <= 0 or np.linalg.norm(mixed, -2) < 1e-4:
        return 0.0
    mean = np.einsum("kl,jlc->jkc", np.linalg.inv(mixed), mean)
    expected = sum(proba[rows, k, None] * mean[voters, k] for k in range(n_classes))
    residual = cast - expected
    size, n_cast = by_voter @ (weight * (residual**2).sum(axis=1)), by_voter @ weight
    typical = float(size.sum()) / max(float(n_cast.sum()), 1e-300)
    if typical < 1e-18:
        return 0.0  # nobody ever errs
    scale = np.sqrt((size + typical) / (n_cast + 1))
    residual, expected = residual / scale[voters, None], expected / scale[voters, None]
    # Sums over the voters of each object: of residuals, and of how voters differ between classes.
    excess = _sums_of_pairs(by_row @ residual, by_row @ squared_norms(residual))
    excess += _sums_of_pairs(by_row @ expected, by_row @ squared_norms(expected))
    voted = sparse.csr_array((np.ones(len(rows)), (rows, voters)), shape=(len(counts), len(scale)))
    for k in range(n_classes):
        of_class = mean[:, k] / scale[:, None]
        sums = _sums_of_pairs(voted @ of_class, voted @ squared_norms(of_class))
        excess -= proba[:, k] * sums
    return float(np.clip(counts @ excess / pairs, -1.0, 1.0))  # few objects hardly show classes


def _sums_of_pairs(sums: Array, squares: Array) -> Array:
    """The sum of e_j e_h over pairs of voters, from those of e_j and of its squares."""
    return np.asarray(squared_norms(sums) - squares)


def _sums_over(key: Array, n: int) -> sparse.csc_array:
    """The matrix that sums a table over the rows that have the same key."""
    return sparse.csc_array((np.ones(len(key)), key, np.arange(len(key) + 1)), shape=(n, len(key)))


# ---- bias ----------------------------------------------------------------------------------------
#
# Dawid-Skene judges whether voters are biased, not only unreliable, since it allows for bias: the
# confusion matrix of a voter shows that it mistakes one class for another. One number per voter,
# such as a weight, cannot. The Bayesian information criterion decides which of the two explains the
# votes better; how much that matters is the share of objects for which Dawid-Skene answers
# otherwise.


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
