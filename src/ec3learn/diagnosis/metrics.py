"""What every answer is measured with: weights of objects, the majority vote, intervals, kappas."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import entr, ndtri

from .._checks import require_kind
from .._typing import Array
from ..algebra.membership import entries, membership, normalised, sample_rows
from ..answer.solution import Solution, Solved, matching_labels, solution_of, top_classes
from ..votes import Votes, group_ballot, hardened

FEW = 30  # objects, or votes, below which a voter is not judged
HANDFUL = 5  # objects that are too few to be more than chance
LEAST_LABELS = 20  # to measure by: with fewer, intervals say nothing
MOST_COMPARED = 100  # voters that are compared two by two: those with the most votes
SAMPLE = 20_000  # distinct rows that are enough to judge voters by
CLEARLY = 0.99  # of random votes do better than what is called worse than chance
Z95 = float(ndtri(0.975))
CLOSE = 0.1  # the margin below which an object is a close call


def require_votes(votes: Any) -> None:
    """Refuse what are no votes, such as the answer that was made from them."""
    remedy = "Make one with Votes.from_labels; an answer has its own as consensus.solution.votes."
    require_kind("votes", votes, Votes, remedy)


def given_weights(solution: Solution) -> Array:
    """The weight of each object as it was given, 1 where none was."""
    if solution.votes is not None:
        weights = solution.votes.sample_weight
        return np.ones(solution.n_objects) if weights is None else weights
    row_of = solution.expand(np.arange(len(solution.row_proba)))
    return (solution.row_counts / np.maximum(np.bincount(row_of), 1))[row_of]


def are_counts(weights: Array) -> bool:
    """Whether all weights are integers: then they say how often each object occurs."""
    return bool((weights == np.round(weights)).all())


def object_weights(solution: Solution) -> Array:
    """How many objects each object counts for.

    Weights that are no counts are scaled to add up to the number of objects, so that noise can be
    judged by them.
    """
    weights = given_weights(solution)
    return weights * _scale(weights)


def row_weights(solution: Solution) -> Array:
    """How many objects each distinct row counts for."""
    return solution.row_counts * _scale(given_weights(solution))


def counted_votes(votes: Votes) -> Votes:
    """Votes whose objects count for as many objects as in `object_weights`."""
    if votes.sample_weight is None:
        return votes
    scale = _scale(votes.sample_weight)
    return replace(votes, sample_weight=votes.sample_weight * scale, counts=votes.counts * scale)


def _scale(weights: Array) -> float:
    return 1.0 if are_counts(weights) else len(weights) / max(float(weights.sum()), 1e-300)


def sampled(
    votes: Votes, size: int, kept: Array | None = None, counts: Array | None = None
) -> tuple[Array, Array, float]:
    """Some distinct rows, how often each counts in a sample, and how many samples make all rows.

    Rows that are rare in the table are as rare in the sample. No row counts more often than it does
    in the table: otherwise a sample would be evidence for more objects than it holds.
    """
    counts = votes.counts if counts is None else counts
    rows, weights = sample_rows(votes, size, kept, counts)
    occurs = counts[rows] > 0
    times = float((weights[occurs] / counts[rows][occurs]).max(initial=1.0))
    return rows, weights / times, times


def open_rows(solution: Solution) -> Array:
    """Which distinct rows the method had to answer: all without a label that is held fixed."""
    known = solution.known
    if known is None or not known.fixed:
        return np.ones(len(solution.row_proba), dtype=bool)
    return ~known.labelled


def close_calls(solution: Solution) -> Array:
    """Which rows are close calls: without a known label, top classes less than 0.1 apart."""
    close = solution.row_margin < CLOSE
    return close if solution.known is None else close & ~solution.known.labelled


def votes_per_row(votes: Votes, counted: Array) -> Array:
    """How many votes each distinct row has, of the groups that are `counted`."""
    groups = membership(votes)
    return groups.gather(counted[groups.order].astype(np.float64))


# ---- the majority vote ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Majority:
    """The majority vote on each distinct row, in the classes of another answer.

    Tied classes share a row, in whatever is counted. A soft vote is for its most probable class.
    """

    proba: Array  # rows x classes: shares of the votes
    classes: Array  # that most votes name; -1 for a class that the other answer does not have

    @property
    def most_votes(self) -> Array:
        """Which classes have the most votes, rows x classes: several on a tie."""
        return self.proba >= self.proba.max(axis=1, keepdims=True) - 1e-9

    def share_of(self, rows: Array, classes: Array) -> Array:
        """How far the vote on some rows is for these classes: 1/2 for one of two tied classes."""
        most = self.most_votes[rows]
        named = most[np.arange(len(rows)), classes] & (self.classes[rows] >= 0)
        return named / most.sum(axis=1)


def majority(consensus: Solved) -> Majority | None:
    """The majority vote on the objects of an answer.

    Returns
    -------
    Majority or None
        None where there are no votes, or no objects.

    Examples
    --------
    >>> from ec3learn import EC3, Votes
    >>> consensus = EC3().solve(Votes.from_labels({"a": [0, 1, 1], "b": [0, 1, 0], "c": [1, 1, 0]}))
    >>> consensus.solution.expand(majority(consensus).classes)
    array([0, 1, 0])
    """
    solution = solution_of(consensus)
    if solution.votes is None or not solution.has_objects:
        return None
    votes = hardened(solution.votes)
    weights = sparse.diags_array(votes.weights[votes.models.group_model])
    shares = normalised((entries(votes) @ weights @ group_ballot(votes)).toarray())
    mass = votes.counts @ shares
    if not mass.any():  # no vote that counts
        return None
    shares[~shares.any(axis=1)] = normalised(mass)
    number = matching_labels(votes.classes, solution.classes)
    proba = np.zeros((len(shares), len(solution.classes)))
    proba[:, number[number >= 0]] = shares[:, number >= 0]
    return Majority(proba, number[top_classes(shares, mass)])


def is_majority(solution: Solution) -> bool:
    """Whether an answer is the majority vote itself."""
    return solution.made_by == "MajorityVote"


def changed_rows(solution: Solution, votes: Majority) -> Array:
    """How far each distinct row's label, unless held fixed, differs from the majority vote's."""
    rows = np.arange(len(solution.row_classes))
    return open_rows(solution) * (1 - votes.share_of(rows, solution.row_classes))


def changed_share(solution: Solution, votes: Majority | None) -> float | None:
    """The share of labels, of those not held fixed, that differ from the majority vote's."""
    weight = row_weights(solution)
    total = float(weight @ open_rows(solution))
    if votes is None or is_majority(solution) or total <= 0:
        return None
    return float(weight @ changed_rows(solution, votes)) / total


# ---- measures ------------------------------------------------------------------------------------


def wilson_interval(right: float, n: float) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson's).

    Examples
    --------
    >>> [round(end, 3) for end in wilson_interval(8, 10)]
    [0.49, 0.943]
    """
    # Sums of weights may miss 0 and 1 by rounding.
    share = min(round(right / max(n, 1e-300), 12), 1.0)
    low, high = wilson_ends(share, max(round(n), 1))
    return (0.0 if share == 0 else low), (1.0 if share == 1 else high)


def wilson_ends(share: Any, n: Any) -> tuple[Any, Any]:
    """Both ends for one share or an array of them.

    In closed form: scipy's test takes milliseconds, and there may be thousands of voters.
    """
    z2 = Z95**2
    middle, half = share + z2 / (2 * n), (z2 * (share * (1 - share) / n + z2 / (4 * n**2))) ** 0.5
    return (middle - half) / (1 + z2 / n), (middle + half) / (1 + z2 / n)


def kappa(counts: Array, number: Array) -> tuple[float, float]:
    """Cohen's kappa of a classifier and an answer, and how large it is by chance.

    It is 0 for random votes with the same class frequencies, and 1 for votes that always agree. The
    kappa of random votes is below minus the second number once in a hundred times, and above it as
    often.

    Parameters
    ----------
    counts : array
        How many objects of each class of the answer (columns), two or more of which occur, it put
        into each of its classes (rows).
    number : array
        Which class of the answer each of its classes is, -1 for none.
    """
    n_classes = counts.shape[1]
    table = np.zeros((n_classes + 1, n_classes + 1))  # the last class: none of the answer's
    np.add.at(table[:, :-1], number, counts)
    n = float(table.sum())
    ours, theirs = table.sum(axis=0) / n, table.sum(axis=1) / n
    by_chance = float(ours @ theirs)
    # The variance of kappa for random votes: Fleiss, Cohen and Everitt (1969).
    variance = max(by_chance + by_chance**2 - float((ours * theirs) @ (ours + theirs)), 0.0) / n
    return cohen_kappa(table), float(ndtri(CLEARLY) * np.sqrt(variance)) / (1 - by_chance)


def cohen_kappa(table: Array, apart: Array | None = None) -> float:
    """Cohen's kappa of a contingency table; NaN where chance alone would always agree.

    It may be weighted by how far two labels are `apart`, labels x labels; by default 0 or 1.

    Examples
    --------
    >>> import numpy as np
    >>> cohen_kappa(np.array([[30, 10], [10, 30]]))
    0.5
    """
    n = float(table.sum())
    apart = 1 - np.eye(len(table)) if apart is None else apart / max(apart.max(initial=0), 1e-300)
    by_chance = float(table.sum(axis=1) @ apart @ table.sum(axis=0)) / n**2 if n else 0.0
    return 1 - float((apart * table).sum()) / n / by_chance if by_chance > 1e-12 else float("nan")


def mutual_information(counts: Any) -> float:
    """The mutual information of rows and columns of counts over the mean of their entropies.

    It is 1 where both are constant.
    The table may be sparse.
    """
    counts = sparse.csr_array(counts)
    one, other, both = (
        float(entr(part / part.sum()).sum())
        for part in (counts.sum(axis=1), counts.sum(axis=0), counts.data)
    )
    mean = (one + other) / 2
    return 1.0 if mean == 0 else min(1.0, max(0.0, (one + other - both) / mean))
