"""Classifiers compared two by two: who agrees with whom, and which are redundant."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from .._typing import Array
from ..algebra.membership import entries, normalised
from ..answer.solution import Solved, matching_labels, solution_of
from ..votes import Votes, only_rows, votes_per_model
from .metrics import (
    FEW,
    HANDFUL,
    MOST_COMPARED,
    SAMPLE,
    row_weights,
    sampled,
    wilson_ends,
)

ALIKE = 0.98  # similarity from which two base models may be redundant


@dataclass(frozen=True)
class Pairs:
    """How similar classifiers are, ordered so that similar ones stand together."""

    names: list[str]
    similarity: Array  # the share of the objects both voted on with the same class; NaN for few
    common: Array  # how many objects both voted on, as estimated where a sample was looked at
    redundant: list[tuple[int, int]]  # places of pairs that say nearly the same: drop the second
    share_of_rows: float  # the share of the distinct rows that was looked at
    n_left_out: int  # classifiers with the fewest votes


def pairs(consensus: Solved) -> Pairs:
    """Compare the classifiers, two by two.

    Two are redundant if they nearly always agree, clearly more often than their class frequencies
    explain, and mostly so too where either departs from the answer (on 5 objects or more): two good
    classifiers agree as often, but not where they are wrong, and two that never depart show
    nothing.

    Examples
    --------
    >>> from ec3learn import EC3, Votes
    >>> said, others = [0, 1, 1] * 20, [0, 0, 1] * 20
    >>> table = {"a": said, "b": others, "c": others, "d": others, "copy of a": said}
    >>> found = pairs(EC3().solve(Votes.from_labels(table)))
    >>> [(found.names[i], found.names[j]) for i, j in found.redundant]
    [('a', 'copy of a')]
    """
    solution = solution_of(consensus)
    votes = solution.require_votes("pairs")
    n_votes = votes_per_model(votes) * votes.models.is_classifier
    chosen = np.sort(np.argsort(-n_votes, kind="stable")[: min((n_votes > 0).sum(), MOST_COMPARED)])
    rows, counts, times = sampled(votes, SAMPLE, counts=row_weights(solution))
    answers = _votes_by(only_rows(votes, rows), chosen)
    place = matching_labels(solution.classes, votes.classes)
    right = answers == np.where(place < 0, -2, place)[solution.row_classes[rows]]
    similarity, common, redundant = _agreements(answers, right, counts)
    redundant &= (common >= FEW) & (similarity >= ALIKE)
    similarity[common < FEW] = np.nan
    order = _order_by_similarity(similarity)
    similarity, common, redundant = (
        table[np.ix_(order, order)] for table in (similarity, common, redundant)
    )
    return Pairs(
        names=[votes.models[chosen[i]].name for i in order],
        similarity=similarity,
        common=times * common,
        redundant=[
            (a, b) if common[b, b] <= common[a, a] else (b, a)
            for a, b in np.argwhere(np.triu(redundant, k=1)).tolist()
        ],
        share_of_rows=len(rows) / max(votes.n_rows, 1),
        n_left_out=int((n_votes > 0).sum()) - len(chosen),
    )


def _votes_by(votes: Votes, models: Array) -> Array:
    """The votes of models, models x rows: the number of the class or cluster, -1 for none.

    A soft vote counts for its most probable class or cluster.
    """
    answers = np.full((len(models), votes.n_rows), -1, dtype=np.int32)
    by_group, offsets = entries(votes).tocsc(), votes.models.offsets
    for place, m in enumerate(models):
        shares = by_group[:, offsets[m] : offsets[m + 1]].toarray()
        answers[place] = np.where(shares.any(axis=1), shares.argmax(axis=1), -1)
    return answers


def _order_by_similarity(similarity: Array) -> Array:
    """An order of the models in which similar ones stand together; NaN counts as the mean."""
    if len(similarity) < 3 or np.isnan(similarity).all():
        return np.arange(len(similarity))
    known = np.where(np.isnan(similarity), np.nanmean(similarity), similarity)
    apart = np.clip(1 - (known + known.T) / 2, 0, None)
    np.fill_diagonal(apart, 0)
    return leaves_list(linkage(squareform(apart, checks=False), "average", optimal_ordering=True))


def _agreements(answers: Array, right: Array, counts: Array) -> tuple[Array, Array, Array]:
    """For each two classifiers how often they agree, of how many objects, and if they are copies.

    They may if they agree clearly more often than their class frequencies explain, and name the
    same class for half or more of the objects where either departs from the consensus.
    """
    n = len(answers)
    common, same, both_right = (np.zeros((n, n)) for _ in range(3))
    for a in range(n):
        both = (answers >= 0) & (answers[a] >= 0)
        common[a] = both @ counts
        same[a] = (both & (answers == answers[a])) @ counts
        both_right[a] = (right & right[a]) @ counts
    share = np.divide(same, common, out=np.zeros_like(same), where=common > 0)
    either_departs, depart_alike = common - both_right, same - both_right
    copies = (depart_alike >= 0.5 * either_departs) & (depart_alike >= HANDFUL)
    # Chance is how often they would agree if each gave its classes at random, as often as it does.
    classes = range(int(answers.max(initial=0)) + 1)
    shares = normalised(np.stack([(answers == z) @ counts for z in classes], axis=1))
    chance = np.minimum(shares @ shares.T, 1 - 1e-12)
    low, _ = wilson_ends(share, np.maximum(common, 1e-9))
    kappa = (low - chance) / (1 - chance)  # at the lower end of its 95 % interval
    return share, common, copies & (kappa >= 0.7)
