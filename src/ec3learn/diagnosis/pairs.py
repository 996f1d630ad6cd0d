"""Base models compared two by two: who agrees with whom, and which are redundant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from .._typing import Array
from ..algebra.linear import chunks, normalised
from ..algebra.membership import membership
from ..answer.extension import matching_labels
from ..answer.rule import mean_votes
from ..answer.solution import Solution, Solved, solution_of, top_classes
from ..votes import Kind, Votes, entries_of, hardened, only_rows, votes_per_model
from .metrics import (
    FEW,
    HANDFUL,
    MOST_COMPARED,
    entropy,
    row_weights,
    sampled,
    shared_information,
    wilson_ends,
)

BUDGET = 5e8  # comparisons of two votes: beyond them only a sample of the rows is looked at
ALIKE = 0.98  # similarity from which two base models may be redundant
BEYOND_CHANCE = (
    0.7  # what Cohen's kappa of two classifiers must reach, at the lower end of its 95 % interval
)


@dataclass(frozen=True)
class Pairs:
    """How similar base models of one kind are; they are ordered so that similar ones stand together.

    Two classifiers are as similar as the share of the objects both voted on where they name the
    same class, two clusterings as their normalised mutual information; NaN with too few objects in
    common.
    """

    names: list[str]
    similarity: Array
    common: Array  # how many objects both voted on, as estimated where a sample was looked at
    redundant: list[
        tuple[int, int]
    ]  # places of pairs that say nearly the same; of classifiers, the second could be dropped
    share_of_rows: float  # the share of the distinct rows that was looked at
    n_left_out: int  # base models with the fewest votes


def pairs(outcome: Solved, kind: Kind = "classifier") -> Pairs:
    """Compare the base models of one kind, two by two.

    Two classifiers are redundant if they nearly always agree, clearly more often than their class
    frequencies explain, and mostly so too where either departs from the answer (on 5 objects or
    more): two good classifiers agree as often, but not where they are wrong, and two that never
    depart show nothing. `without` shows what dropping one would do, and how many objects would be
    left without a vote.

    Examples
    --------
    >>> from ec3learn import EC3, Votes
    >>> said, others = [0, 1, 1] * 20, [0, 0, 1] * 20
    >>> found = pairs(EC3().solve(Votes.from_labels({"a": said, "b": others, "c": others, "d": others, "copy of a": said})))
    >>> [(found.names[i], found.names[j]) for i, j in found.redundant]
    [('a', 'copy of a')]
    """
    outcome = solution_of(outcome)
    votes = outcome.require_votes("pairs")
    own = [
        m
        for m, model in enumerate(votes.models)
        if model.kind == kind and votes_per_model(votes)[m] > 0
    ]
    chosen = sorted(sorted(own, key=lambda m: -votes_per_model(votes)[m])[:MOST_COMPARED])
    rows, counts, times = sampled(
        row_weights(outcome), max(1000, int(BUDGET / max(len(chosen), 1) ** 2))
    )
    said = votes_by(only_rows(votes, rows), chosen)
    if kind == "classifier":
        similarity, common, alike = _agreements(said, _answers(outcome, votes)[rows], counts)
    else:
        similarity, common = _shared_information(said, counts)
        alike = np.ones_like(similarity, dtype=bool)
    np.fill_diagonal(similarity, 1.0)
    similarity[common < FEW] = np.nan
    if kind == "classifier":
        alike &= _kappa_at_least(said, counts, np.nan_to_num(similarity), common) >= BEYOND_CHANCE
    order = order_by_similarity(similarity)
    similarity, common, alike = (
        table[np.ix_(order, order)]
        for table in (similarity, common, alike & (np.nan_to_num(similarity) >= ALIKE))
    )
    n_votes, redundant = np.diag(common), []
    for a, b in np.argwhere(np.triu(alike, k=1)).tolist():
        redundant.append((a, b) if n_votes[b] <= n_votes[a] else (b, a))
    return Pairs(
        names=[votes.models[chosen[i]].name for i in order],
        similarity=similarity,
        common=times * common,
        redundant=redundant,
        share_of_rows=len(rows) / max(votes.n_rows, 1),
        n_left_out=len(own) - len(chosen),
    )


def _answers(outcome: Solution, votes: Votes) -> Array:
    """The answer for each distinct row, as the number of a class of the votes (-2: none of theirs)."""
    place = matching_labels(outcome.classes, votes.classes)
    return np.where(place < 0, -2, place)[outcome.row_classes]


def without(outcome: Solved, model: str) -> tuple[float, float]:
    """What dropping a classifier would do to the majority vote.

    Returns
    -------
    (float, float)
        How many objects would get another label, and how many would have no vote left.
    """
    outcome = solution_of(outcome)
    votes = hardened(outcome.require_votes("without"))
    groups, weight = membership(votes), row_weights(outcome)
    others = votes.weights * np.array([own.name != model for own in votes.models])
    (before, nobody, _), (after, silent, _) = (
        mean_votes(votes, groups, weights, None) for weights in (votes.weights, others)
    )
    labels = (top_classes(answer, votes.counts @ answer) for answer in (before, after))
    lost = silent & ~nobody
    return float(weight @ (np.not_equal(*labels) & ~lost)), float(weight @ lost)


def _kappa_at_least(said: Array, counts: Array, share: Array, common: Array) -> Array:
    """The lower end of the 95 % interval (Wilson's) of Cohen's kappa of each two classifiers.

    Chance is how often they would agree if each gave its classes at random, as often as it does.
    """
    n_classes = int(said.max(initial=0)) + 1
    given = np.array(
        [np.bincount(own[own >= 0], weights=counts[own >= 0], minlength=n_classes) for own in said]
    )
    shares = normalised(given)
    chance = np.minimum(shares @ shares.T, 1 - 1e-12)
    low, _ = wilson_ends(share, np.maximum(common, 1e-9))
    return np.asarray((low - chance) / (1 - chance))


def votes_by(votes: Votes, models: Sequence[int]) -> Array:
    """The votes of some base models, models x rows: the number of the class or cluster, -1 for none.

    A soft vote counts for its most probable class or cluster.
    """
    said = np.full((len(models), votes.n_rows), -1, dtype=np.int32)
    owner, rows, groups, shares = entries_of(votes, np.array(models, dtype=np.int64))
    order = np.lexsort(
        (-groups, shares)
    )  # of several entries for one place the last counts: the largest, on a tie the first
    said[owner[order], rows[order]] = (
        groups - votes.models.offsets[votes.models.group_model[groups]]
    )[order]
    return said


def order_by_similarity(similarity: Array) -> Array:
    """An order of the models in which similar ones stand together; NaN counts as the mean."""
    if len(similarity) < 3 or np.isnan(similarity).all():
        return np.arange(len(similarity))
    known = np.where(np.isnan(similarity), np.nanmean(similarity), similarity)
    apart = np.clip(1 - (known + known.T) / 2, 0, None)
    np.fill_diagonal(apart, 0)
    return leaves_list(linkage(squareform(apart, checks=False), "average", optimal_ordering=True))


def _agreements(said: Array, answers: Array, counts: Array) -> tuple[Array, Array, Array]:
    """For each two classifiers how often they agree, on how many objects, and whether they mostly depart together.

    That is so if, of the objects where either departs from the answer, both name the same class for
    half or more.
    """
    n = len(said)
    common, same, right = (
        np.zeros((n, n)) for _ in range(3)
    )  # objects that both voted on, alike, and as the answer has it
    for part in chunks(said.shape[1]):
        own, weight = said[:, part], counts[part]
        for table, is_so in ((common, own >= 0), (right, own == answers[part])):
            table += (is_so * weight) @ is_so.T.astype(np.float64)
        for a in range(n):
            same[a] += ((own == own[a]) & (own[a] >= 0)) @ weight
    either, both = (
        common - right,
        same - right,
    )  # objects on which either departs from the answer, and both alike
    share = np.divide(same, common, out=np.zeros_like(same), where=common > 0)
    return share, common, (both >= 0.5 * either) & (both >= HANDFUL)


def _shared_information(said: Array, counts: Array) -> tuple[Array, Array]:
    """For each two clusterings their normalised mutual information, and on how many objects."""
    n = len(said)
    information, common = np.zeros((n, n)), np.zeros((n, n))
    for a in range(n):
        for b in range(a + 1, n):
            two = np.flatnonzero((said[a] >= 0) & (said[b] >= 0))
            weight = counts[two]
            joint = said[a, two].astype(np.int64) * (int(said[b].max(initial=0)) + 1) + said[b, two]
            entropies = (
                entropy(_sums(labels, weight)) for labels in (said[a, two], said[b, two], joint)
            )
            information[a, b] = information[b, a] = shared_information(*entropies)
            common[a, b] = common[b, a] = weight.sum()
        common[a, a] = counts @ (said[a] >= 0)
    return information, common


def _sums(labels: Array, weight: Array) -> Array:
    """The weight of each label; labels that are large numbers are renumbered first."""
    small = labels.max(initial=0) < 4 * len(labels) + 1000
    return np.bincount(
        labels if small else np.unique(labels, return_inverse=True)[1], weights=weight
    )
