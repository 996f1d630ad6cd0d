"""How much voters agree: all of them, any two beyond chance, and two who are redundant.

Krippendorff's alpha and Fleiss' kappa need only how many votes each answer got on each object, so
the cost is linear in the votes. How much of that agreement is one opinion repeated, `correlation`
tells.

Where a class is rare, a sample may show none of the objects that voters disagree on, and intervals
by a bootstrap alone are far too short. So two objects more are drawn with the others, one on which
all agree and one on which half do, whatever the class; the interval is 1.96 standard errors around
the measure that they are part of. That is Agresti and Coull's interval for agreement.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np
from scipy import sparse
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from .._checks import InputError, require_choice, require_integer, require_seed
from .._table import Table
from .._typing import Array
from ..algebra.membership import entries, normalised
from ..answer.solution import Solved, matching_labels, solution_of
from ..votes import Votes, as_class_votes, hardened, only_rows, votes_per_model
from ..votes.labels import kind_of
from ..votes.layout import BaseModel
from .correlation import whole_votes
from .metrics import (
    FEW,
    HANDFUL,
    MOST_COMPARED,
    SAMPLE,
    Z95,
    cohen_kappa,
    counted_votes,
    require_votes,
    row_weights,
    sampled,
    wilson_ends,
)

Level = Literal["nominal", "ordinal", "interval"]

ALIKE = 0.98  # similarity from which two base models may be redundant
MEASURES = ("Krippendorff's alpha", "Fleiss' kappa", "pairs that agree")


def agreement(
    votes: Votes, level: Level = "nominal", *, draws: int = 200, random_state: Any = 0
) -> Table:
    """Measures of agreement with 95 % intervals.

    Parameters
    ----------
    votes : Votes
        The votes for classes or on a scale; any may be missing. Answers on different scales count
        for the classes they fall into. A soft vote counts for its most probable class, and not at
        all on a tie.
    level : "nominal", "ordinal" or "interval"
        How far two answers are apart, for alpha: all alike, by the votes that lie between them, or
        by their difference (numbers only). With the last two, answers of a scale that have no place
        on it ("unsure") are left out.
    draws : int
        How many times objects are drawn anew for the intervals (bootstrap); 0 leaves them out.
    random_state : int, Generator or None
        Seeds the draws.

    Returns
    -------
    Table
        measure, value, low and high: Krippendorff's alpha, Fleiss' kappa, and the share of pairs of
        votes that agree. Objects with a single vote are left out. A value is NaN where no object
        has two votes, or all votes are alike.

    Examples
    --------
    >>> from ec3learn import Votes
    >>> agreement(Votes.from_labels({"a": [0, 0, 1, 1] * 5, "b": [0, 0, 1, 0] * 5}), draws=0)
    measure               value
    Krippendorff's alpha  0.480
    Fleiss' kappa         0.467
    pairs that agree      0.750
    """
    _check(votes, level, draws, random_state)
    votes, voters = _comparable(counted_votes(votes))
    labels, places = votes.models[voters[0]].labels, _places(votes.models[voters[0]], level)
    tallies, row = np.unique(_tallies(votes, voters, len(labels)), axis=0, return_inverse=True)
    weight = np.bincount(row.ravel(), weights=votes.counts, minlength=len(tallies))
    # The two objects more, one pair for each answer that occurs; only intervals count them.
    typical = max(float(weight @ tallies.sum(axis=1)) / max(float(weight.sum()), 1e-300), 2.0)
    used = np.flatnonzero(tallies.any(axis=0))
    agreed = typical * np.eye(len(labels))[used]
    tallies = np.vstack([tallies, agreed, (agreed + np.roll(agreed, 1, axis=0)) / 2])
    added = np.repeat([0.0, 1 / max(len(used), 1)], [len(weight), 2 * len(used)])
    weight = np.append(weight, np.zeros(2 * len(used)))

    def measured(weight: Array) -> list[float]:
        alike, by_chance = _pairs_alike(tallies, weight)
        fleiss = (alike - by_chance) / (1 - by_chance) if by_chance < 1 else float("nan")
        return [_alpha(tallies * ~np.isnan(places), weight, places, level), fleiss, alike]

    numbers = _with_limits(measured, weight, added, draws, random_state)
    rows = [(name, *row) for name, row in zip(MEASURES, numbers, strict=True)]
    return Table.of(("measure", "value", "low", "high"), rows)


def kappas(
    votes: Votes, level: Level = "nominal", *, draws: int = 200, random_state: Any = 0
) -> Table:
    """Cohen's kappa of each two voters, with 95 % intervals.

    Parameters
    ----------
    votes : Votes
        The votes for classes, or on one scale that all voters share; a soft vote counts for its
        most probable class. Of more than 100 voters, the 100 with the most votes are compared.
    level : "nominal", "ordinal" or "interval"
        Whether two answers agree or not, or how far they are apart: kappa is then weighted by the
        square of the answers between them, or of their difference (numbers only). Answers that have
        no place on a scale ("unsure") are left out.
    draws, random_state
        As in `agreement`.

    Returns
    -------
    Table
        voter; other, the second voter; objects, on how many both voted; kappa, low and high. Pairs
        without a common object are left out; kappa is None where both always say the same.
    """
    _check(votes, level, draws, random_state)
    votes, voters = _comparable(counted_votes(votes))
    votes = hardened(votes)
    places = _places(votes.models[voters[0]], level)
    chosen = np.flatnonzero(~np.isnan(places))
    apart = None if level == "nominal" else np.subtract.outer(places[chosen], places[chosen]) ** 2
    size, offsets = len(chosen), votes.models.offsets
    n_votes = votes_per_model(votes)
    voters = sorted(sorted(voters, key=lambda m: -n_votes[m])[:MOST_COMPARED])
    matrix = entries(votes).tocsc()
    said = {m: matrix[:, offsets[m] : offsets[m + 1]].tocsr()[:, chosen] for m in voters}
    same = np.eye(size).ravel()
    added = same / size + (1 - same) / max(size * (size - 1), 1)

    def measured(counts: Array) -> list[float]:
        return [cohen_kappa(counts.reshape(size, size), apart)]

    rows = []
    for one, other in combinations(voters, 2):
        counts = (said[one].T @ (votes.counts[:, None] * said[other].toarray())).ravel()
        if counts.sum() >= 1:
            ((value, low, high),) = _with_limits(measured, counts, added, draws, random_state)
            names = votes.models[one].name, votes.models[other].name
            kappa = None if np.isnan(value) else value
            rows.append((*names, round(counts.sum()), kappa, low, high))
    return Table.of(("voter", "other", "objects", "kappa", "low", "high"), rows)


def _check(votes: Votes, level: str, draws: int, random_state: Any) -> None:
    require_votes(votes)
    require_choice("level", level, get_args(Level))
    require_integer("draws", draws, 0)
    require_seed("random_state", random_state)


def _with_limits(
    measured: Callable[[Array], list[float]],
    weight: Array,
    added: Array,
    draws: int,
    random_state: Any,
) -> list[tuple[float, float | None, float | None]]:
    """Each measure with the ends of its 95 % interval; `added` are the two objects more."""
    values = measured(weight)
    if not draws:
        return [(value, None, None) for value in values]
    rng, weight = np.random.default_rng(random_state), weight + added
    total, shares = round(float(weight.sum())), weight / weight.sum()
    drawn = np.array([measured(rng.multinomial(total, shares) * 1.0) for _ in range(draws)])
    rows: list[tuple[float, float | None, float | None]] = []
    for value, middle, column in zip(values, measured(weight), drawn.T, strict=True):
        exists = column[~np.isnan(column)]
        half = Z95 * float(exists.std()) if len(exists) else 0.0
        low, high = min(middle - half, value), min(max(middle + half, value), 1.0)
        rows.append((value, None, None) if np.isnan(value) else (value, low, high))
    return rows


# ---- from counts ---------------------------------------------------------------------------------


def _comparable(votes: Votes) -> tuple[Votes, list[int]]:
    """The votes and their voters; answers on different scales become votes for classes."""
    voters = np.flatnonzero(votes.models.is_voter).tolist()
    answers = {tuple(votes.models[m].labels.tolist()) for m in voters}
    return (votes if len(answers) == 1 else as_class_votes(votes)), voters


def _tallies(votes: Votes, voters: list[int], n_labels: int) -> Array:
    """How many votes each answer got in each distinct row, n_ic."""
    matrix, models = entries(whole_votes(votes)), votes.models
    groups = np.concatenate([np.arange(*models.offsets[m : m + 2]) for m in voters])
    answers = groups - models.offsets[models.group_model[groups]]
    of_answer = sparse.csr_array(
        (np.ones(len(groups)), (groups, answers)), shape=(models.n_groups, n_labels)
    )
    return np.asarray((matrix @ of_answer).toarray())


def _places(model: BaseModel, level: str) -> Array:
    """Where the answers lie, for their distances; NaN for those that have no place on a scale."""
    numbers = np.arange(len(model.labels), dtype=np.float64)
    if model.positions is not None and level != "nominal":
        numbers[np.isnan(model.positions)] = np.nan
    if level != "interval":
        return numbers
    placed = ~np.isnan(numbers)
    if not all(kind_of(label) == "int" for label in model.labels[placed].tolist()):
        must = "must be 'nominal' or 'ordinal' for answers that are not numbers"
        raise InputError("level", must, got=level)
    numbers[placed] = model.labels[placed]
    return numbers


def _alpha(tallies: Array, weight: Array, places: Array, level: str) -> float:
    """1 - D_o / D_e, with o_ck = sum_i n_ic (n_ik - [c = k]) / (m_i - 1), m_i votes on object i."""
    n_votes = tallies.sum(axis=1)
    share = np.divide(weight, n_votes - 1, out=np.zeros(len(tallies)), where=n_votes > 1)
    observed = tallies.T @ (share[:, None] * tallies) - np.diag(share @ tallies)
    totals = observed.sum(axis=1)  # n_c
    if level == "nominal":
        distance = 1 - np.eye(len(totals))
    else:
        between = np.cumsum(totals) - totals / 2
        at = between if level == "ordinal" else np.nan_to_num(places)
        distance = np.subtract.outer(at, at) ** 2
    expected = float(totals @ distance @ totals) / max(float(totals.sum()) - 1, 1e-300)
    return 1 - float((observed * distance).sum()) / expected if expected > 0 else float("nan")


def _pairs_alike(tallies: Array, weight: Array) -> tuple[float, float]:
    """The mean over objects of the share of pairs of votes that agree, and that share by chance."""
    n_votes = tallies.sum(axis=1)
    weight, n_pairs = weight * (n_votes > 1), np.maximum(n_votes * (n_votes - 1), 1.0)
    total = float(weight.sum())
    if total <= 0:
        return float("nan"), 0.0
    alike = (tallies * (tallies - 1)).sum(axis=1) / n_pairs
    shares = weight @ tallies / float(weight @ n_votes)
    return float(weight @ alike) / total, float(shares @ shares)


# ---- who is redundant ----------------------------------------------------------------------------


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
