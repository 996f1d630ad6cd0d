"""How much voters agree beyond chance, with intervals: Krippendorff's alpha and Fleiss' kappa of all, Cohen's kappa of two.

The first two need only how many votes each answer got on each object, so the cost is linear in the votes. And how much of that
agreement is one opinion repeated: the correlation of the voters' errors, without labels. The errors of voters who see the same
surface of an object correlate, and then n votes are worth fewer. An answer made from all votes has absorbed what they have in
common, so the errors of one half of the voters are measured against the answer of the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import isfinite
from typing import Any, Literal

import numpy as np
from scipy import sparse

from .._checks import InputError, InputTypeError, is_number, require_choice, require_integer, require_seed
from .._table import Table
from .._text import arg
from .._typing import Array
from ..algebra.em import ConfusionModel
from ..algebra.linear import normalised, sample_rows
from ..algebra.membership import entries, membership, scatter_to_votes, votes_cast
from ..answer.rule import mean_votes
from ..votes import Votes
from ..votes.encoding import known_codes
from ..votes.labels import kind_of
from ..votes.layout import Stores, entries_of_votes
from .metrics import are_counts, cohen_kappa, counted_votes, votes_per_row
from .voters import labelled_rows

Level = Literal["nominal", "ordinal", "interval"]

LEVELS = ("nominal", "ordinal", "interval")
MOST_VOTERS = 100  # compared two by two: those with the most votes
KNOWN = "known labels"  # in the place of the second voter
SAMPLE = 3_000  # distinct rows that are enough to measure on
LEAST_VOTERS = 4  # two in each half
FEW_VOTERS = 6  # there are up to ten splits of them into halves, and all are measured
FEWEST_SPLITS, MOST_SPLITS, DRAWN = 4, 12, 50  # of more voters, and how many are drawn for each
ENOUGH = 100  # voters in all splits: the more there are, the less do splits differ
LEAST_LABELS = 20  # to measure by
LEAST_PAIR = 1.5  # votes on an object from which on there are two; their shares add up to integers, but for rounding
PSEUDO_VOTES = 1.0  # of the average voter, added to each voter's own: a voter with three votes shows little of its errors


def alpha(votes: Votes, level: Level = "nominal") -> float:
    """Return Krippendorff's alpha: 1 for voters who always agree, 0 for voters who agree as often as chance.

    Parameters
    ----------
    votes : Votes
        The votes for classes, or on one scale that all voters share; any may be missing. A soft vote counts for its most probable
        class; on a tie it is as if one of the tied classes had been drawn.
    level : "nominal", "ordinal" or "interval"
        How far two answers are apart: all alike, by the votes that lie between them, or by their difference (numbers only).

    Returns
    -------
    float
        NaN where no object has two votes, or all votes are alike.
    """
    return float(agreement(votes, level, draws=0)["value"][0])


def fleiss_kappa(votes: Votes) -> float:
    """Return Fleiss' kappa; objects may have different numbers of votes, and those with fewer than two are left out."""
    return float(agreement(votes, draws=0)["value"][1])


def agreement(votes: Votes, level: Level = "nominal", *, draws: int = 200, random_state: Any = 0) -> Table:
    """Return measures of agreement with 95 % intervals.

    Parameters
    ----------
    votes : Votes
        The votes, as in `alpha`.
    level : "nominal", "ordinal" or "interval"
        As in `alpha`.
    draws : int
        How many times objects are drawn anew for the intervals (bootstrap); 0 leaves them out.
    random_state : int, Generator or None
        Seeds the draws.

    Returns
    -------
    Table
        measure, value, low and high: Krippendorff's alpha, Fleiss' kappa, and the share of pairs of votes that agree.

    Examples
    --------
    >>> from ec3learn import Votes
    >>> agreement(Votes.from_labels({"a": [0, 0, 1, 1] * 5, "b": [0, 0, 1, 0] * 5}), draws=0)
    measure               value
    Krippendorff's alpha  0.480
    Fleiss' kappa         0.467
    pairs that agree      0.750
    """
    _require_votes(votes)
    require_choice("level", level, LEVELS)
    require_integer("draws", draws, 0)
    require_seed("random_state", random_state)
    tallies, labels = _tallies(votes)
    weight = counted_votes(votes).counts
    if not tallies.tied.nnz:
        counts, place = np.unique(tallies.counts, axis=0, return_inverse=True)  # objects with the same votes, whoever cast them
        weight = np.bincount(place.ravel(), weights=weight)
        tallies = _Tallies(counts, tallies.tied, tallies.tied_rows)
    places = _places(labels, level)

    def measured(weight: Array) -> list[float]:
        alike, by_chance = _pairs_alike(tallies, weight)
        fleiss = (alike - by_chance) / (1 - by_chance) if by_chance < 1 else float("nan")
        return [_alpha(tallies, weight, places, level), fleiss, alike]

    low, high = _interval(measured, weight, draws, random_state)
    names = ["Krippendorff's alpha", "Fleiss' kappa", "pairs that agree"]
    return Table({"measure": names, "value": measured(weight), "low": low, "high": high})


def kappas(votes: Votes, known: Any = None, *, draws: int = 200, random_state: Any = 0) -> Table:
    """Return Cohen's kappa of each two voters, or of each voter and known labels, with 95 % intervals.

    Parameters
    ----------
    votes : Votes
        The votes for classes, or on one scale that all voters share; a soft vote counts for its most probable class. Of more than
        100 voters, the 100 with the most votes are compared.
    known : array with missing values, dict of object -> label, or pair (objects, labels)
        Compare each voter with these instead.
    draws, random_state
        As in `agreement`.

    Returns
    -------
    Table
        voter; other, the second voter or "known labels"; objects, on how many both voted; kappa, low and high. Pairs without a
        common object are left out; kappa is None where both always say the same.
    """
    _require_votes(votes)
    require_integer("draws", draws, 0)
    require_seed("random_state", random_state)
    votes = counted_votes(votes.hardened())
    voters, labels = _comparable_voters(votes)
    if known is not None:
        votes, codes = _on_known(votes, known, labels)
    matrix = entries(votes)
    said = {m: matrix[:, votes.offsets[m] : votes.offsets[m + 1]] for m in voters}
    heads, rows = ("voter", "other", "objects", "kappa", "low", "high"), []

    def add(voter: int, other: str, table: Array) -> None:
        n = float(table.sum())
        if n >= 1:
            low, high = _interval(lambda drawn: [cohen_kappa(drawn.reshape(table.shape))], table.ravel(), draws, random_state)
            found = cohen_kappa(table)
            rows.append([votes.models[voter].name, other, round(n), None if np.isnan(found) else found, *low, *high])

    if known is not None:
        true = votes.counts[:, None] * np.eye(votes.n_classes)[codes]
        for m in voters:
            add(m, KNOWN, np.asarray(said[m].T @ true))
        return Table.of(heads, rows)
    kept = sorted(sorted(voters, key=lambda m: -votes.n_votes[m])[:MOST_VOTERS])
    weighted = {m: said[m].multiply(votes.counts[:, None]).tocsr() for m in kept}
    for i, m in enumerate(kept):
        for other in kept[i + 1 :]:
            add(m, votes.models[other].name, (said[m].T @ weighted[other]).toarray())
    return Table.of(heads, rows)


def _on_known(votes: Votes, known: Any, labels: list[Any]) -> tuple[Votes, Array]:
    """Return the votes on objects whose label is known, and the class of each row; voters must answer by naming classes."""
    if labels != votes.classes.tolist():
        remedy = "Use votes.as_class_votes()."
        raise InputError("votes", "must be votes for classes to be compared with known labels", came="a scale", remedy=remedy)
    return labelled_rows(votes, known_codes(known, votes.classes, votes.n_objects, votes.object_ids))


def _interval(
    measured: Callable[[Array], list[float]], weight: Array, draws: int, random_state: Any
) -> tuple[list[float | None], list[float | None]]:
    """Return the 95 % intervals of some measures, by drawing objects anew (bootstrap); `weight` counts objects that are alike."""
    nothing: list[float | None] = [None] * len(measured(weight))
    if not draws:
        return nothing, nothing
    rng = np.random.default_rng(random_state)
    total, shares = round(float(weight.sum())), weight / weight.sum()
    drawn = np.array([measured(rng.multinomial(total, shares).astype(np.float64)) for _ in range(draws)])
    defined = [values[~np.isnan(values)] for values in drawn.T]
    low, high = ([float(np.quantile(values, q)) if len(values) else None for values in defined] for q in (0.025, 0.975))
    return low, high


def _require_votes(votes: Any) -> None:
    """Refuse what are no votes, such as the answer that was made from them."""
    if not isinstance(votes, Votes):
        remedy = "Make one with Votes.from_labels; an answer has its own as consensus.votes."
        raise InputTypeError("votes", "must be a Votes", came=type(votes).__name__, remedy=remedy)


# ---- from counts -----------------------------------------------------------------------------------------------------


def _comparable_voters(votes: Votes) -> tuple[list[int], list[Any]]:
    """Return the voters and the answers that they all can give."""
    voters = [m for m, model in enumerate(votes.models) if model.is_voter]
    labels = votes.models[voters[0]].labels.tolist() if voters else []
    for m in voters:
        if votes.models[m].labels.tolist() != labels:
            raise InputError(
                "votes",
                "must be of voters with the same answers",
                came=f"other ones of {votes.models[m].name!r}",
                remedy="Use votes.as_class_votes(), or leave the others out with votes.drop.",
            )
    return voters, labels


@dataclass(frozen=True, eq=False)
class _Tallies:
    """How many votes each answer got in each distinct row, n_ic; and those votes that are tied between several answers."""

    counts: Array
    tied: sparse.csr_array  # tied votes x answers, their shares p
    tied_rows: Array

    @cached_property
    def n_votes(self) -> Array:
        """Return m_i, how many votes each row has."""
        return np.asarray(self.counts.sum(axis=1))

    @cached_property
    def paired(self) -> Array:
        """Return which rows have two votes or more."""
        return self.n_votes > LEAST_PAIR

    @cached_property
    def alike(self) -> Array:
        """Return the share of the pairs of votes on each row that agree; 0 where there is none."""
        same = (self.counts * (self.counts - 1)).sum(axis=1)
        # A pair is two different votes: what a vote and itself have in common, taken out above as 1, is p'p for a tied vote.
        same += np.bincount(self.tied_rows, 1 - self.tied.power(2).sum(axis=1), minlength=len(same))
        return np.divide(same, self.n_votes * (self.n_votes - 1), out=np.zeros(len(same)), where=self.paired)


def _tallies(votes: Votes) -> tuple[_Tallies, list[Any]]:
    """Return how many votes each answer got in each distinct row, and the answers."""
    voters, labels = _comparable_voters(votes)
    answer = np.full(votes.n_groups, -1)
    for m in voters:
        answer[votes.offsets[m] : votes.offsets[m + 1]] = np.arange(len(labels))
    matrix = entries(votes.hardened()).tocoo()
    (row, group), share = matrix.coords, matrix.data
    counts = np.zeros((votes.n_rows, len(labels)))
    voted = answer[group] >= 0
    np.add.at(counts, (row[voted], answer[group[voted]]), share[voted])
    tied = voted & (share < 1)
    n_models = len(votes.models)
    vote, number = np.unique(row[tied].astype(np.int64) * n_models + votes.group_model[group[tied]], return_inverse=True)
    shares = sparse.csr_array((share[tied], (number, answer[group[tied]])), shape=(len(vote), len(labels)))
    return _Tallies(counts, shares, vote // n_models), labels


def _places(labels: list[Any], level: str) -> Array:
    """Return where the answers lie, for interval distances."""
    if level == "interval" and not all(kind_of(label) == "int" for label in labels):
        raise InputError("level", "must be 'nominal' or 'ordinal' for answers that are not numbers", got=level)
    return np.array(labels, dtype=np.float64) if level == "interval" else np.arange(len(labels), dtype=np.float64)


def _alpha(tallies: _Tallies, weight: Array, places: Array, level: str) -> float:
    """Return 1 - D_o / D_e, with o_ck = sum_i n_ic (n_ik - [c = k]) / (m_i - 1) for the m_i votes on object i."""
    own, tied = tallies.counts, tallies.tied
    share = np.divide(weight, tallies.n_votes - 1, out=np.zeros(len(own)), where=tallies.paired)
    observed = own.T @ (share[:, None] * own) - np.diag(share @ own)
    if tied.nnz:  # a vote's pair with itself, taken out above as [c = k] p_c, is p_c p_k
        of_vote = share[tallies.tied_rows]
        observed += np.diag(of_vote @ tied) - (tied.T @ tied.multiply(of_vote[:, None])).toarray()
    totals = observed.sum(axis=1)  # n_c
    n = float(totals.sum())
    if level == "ordinal":
        between = np.cumsum(totals) - totals / 2
        distance = (between[:, None] - between[None, :]) ** 2
    else:
        distance = (places[:, None] - places[None, :]) ** 2 if level == "interval" else 1 - np.eye(len(totals))
    expected = float(totals @ distance @ totals) / max(n - 1, 1e-300)
    return 1 - float((observed * distance).sum()) / expected if expected > 0 else float("nan")


def _pairs_alike(tallies: _Tallies, weight: Array) -> tuple[float, float]:
    """Return the mean over objects of the share of pairs of votes that agree, and that share by chance."""
    weight = weight * tallies.paired
    total = float(weight.sum())
    shares = weight @ tallies.counts / max(float(weight @ tallies.n_votes), 1e-300)
    return float(weight @ tallies.alike) / total if total > 0 else float("nan"), float(shares @ shares)


# ---- one opinion repeated ---------------------------------------------------------------------------------------------


def error_correlation(votes: Votes, known: Any = None) -> float:
    """Return the mean correlation of two voters' errors on the same object.

    Parameters
    ----------
    votes : Votes
        The votes, for classes or on a scale. A soft vote counts for its most probable class; without labels, not at all on a tie.
    known : array with missing values, dict of object -> label, or pair (objects, labels)
        Labels to measure errors by, those of 20 objects or more. They also show the errors that all voters share.

    Returns
    -------
    float
        At most 1, and 0 for independent errors. Without labels, errors that all voters share cannot be told from the truth, so
        this is a lower bound: of the true correlation, simulated voters showed a quarter with six votes per object, a third with
        twelve and half of it with 24; twelve real language models showed 42 %. It takes four voters; fewer show nothing, and 0
        is returned.
    """
    _require_votes(votes)
    if known is not None:
        codes = known_codes(known, votes.classes, votes.n_objects, votes.object_ids)
        n_labels = count_labels(votes, codes)
        if n_labels < LEAST_LABELS:
            remedy = f"Leave {arg('known')} out to measure without labels."
            raise InputError("known", f"must have at least {LEAST_LABELS} labels", got=n_labels, remedy=remedy)
        labelled, row_codes = labelled_rows(votes, codes)
        return _excess(labelled.hardened(), np.eye(votes.n_classes)[row_codes])
    voters = erring_voters(votes)
    if len(voters) < LEAST_VOTERS or votes.n_classes < 2:
        return 0.0
    votes = votes.unweighted() if votes.prior is None else replace(votes.unweighted(), prior=None).merged()
    some, counts = sample_rows(votes.counts, SAMPLE)
    rows = _whole_votes(votes.only_rows(some))
    rows = replace(rows, sample_weight=counts, counts=counts)  # a row is one object that counts as often
    return float(np.mean([_correlation_of_halves(rows, *halves) for halves in _splits(_in_own_order(votes, voters))]))


def count_labels(votes: Votes, codes: Array) -> int:
    """Return how many objects have a known class (its number, -1 for none); a weight may say how often an object occurs."""
    weights = votes.sample_weight
    return round(float((codes >= 0) @ (weights if weights is not None and are_counts(weights) else np.ones(len(codes)))))


def erring_voters(votes: Votes) -> Array:
    """Return the voters whose errors could correlate: those with votes that count."""
    return np.flatnonzero(votes.is_voter & (votes.n_votes > 0) & (votes.weights > 0))


def _whole_votes(votes: Votes) -> Votes:
    """Return the votes as labels, without those that are tied between several.

    Shares of a vote leave half of the voters less sure of their answer than they can be, and what an unsure answer explains of
    the errors of the other half is then far too much.
    """
    votes = votes.hardened()
    if votes.stores.is_hard:
        return votes
    matrix = entries(votes).tocoo()
    (row, group), whole = matrix.coords, matrix.data == 1
    return replace(votes, stores=Stores(sparse=entries_of_votes(row[whole], group[whole], matrix.shape)))


def _splits(voters: Array) -> list[tuple[Array, Array]]:
    """Return all splits of up to six voters into halves; of more, such that any two are together in about half of the splits.

    Two splits with the signs s and t put as many pairs together in both as apart in one if s't = 0. So of some splits at random
    the one is taken whose s is closest to orthogonal to those before. Random splits alone would differ twice as much.
    """
    n, rng, signs = len(voters), np.random.default_rng(0), np.resize([1.0, -1.0], len(voters))
    if n <= FEW_VOTERS:
        halves = [list(half) for half in combinations(range(n), n // 2) if n % 2 or 0 in half]  # an even n finds each split twice
        return [(voters[half], np.delete(voters, half)) for half in halves]
    chosen = np.empty((0, n))
    for _ in range(max(FEWEST_SPLITS, min(MOST_SPLITS, ENOUGH // n))):
        drawn = np.stack([rng.permutation(signs) for _ in range(DRAWN)])
        chosen = np.vstack([chosen, drawn[((drawn @ chosen.T) ** 2).sum(axis=1).argmin()]])
    return [(voters[split > 0], voters[split < 0]) for split in chosen]


def _in_own_order(votes: Votes, voters: Array) -> Array:
    """Return voters ordered by how far they agree with the mean vote, whatever order they come in."""
    groups = membership(votes)
    mean = mean_votes(votes, groups, votes.weights, None)[0]
    agreed = votes.group_meaning.multiply(scatter_to_votes(votes, groups, votes.counts[:, None] * mean)).sum(axis=1)
    by_voter = np.bincount(votes.group_model, weights=agreed, minlength=len(votes.models))
    return np.asarray(voters[np.argsort(by_voter[voters].round(6), kind="stable")])


def _correlation_of_halves(rows: Votes, one: Array, other: Array) -> float:
    """Return the correlation of errors within each half of the voters, by the answer of the other half."""
    names = [model.name for model in rows.models]
    parts = [rows.drop(*(names[m] for m in set(range(len(names))).difference(half.tolist()))) for half in (one, other)]
    answers = []
    for part in parts:
        groups = membership(part)
        fitted = ConfusionModel(part, groups).fit(mean_votes(part, groups, part.weights, None)[0], 1e-3, 50).proba
        answers.append(fitted if part.index is None else fitted[part.index])
    # Both halves over the same rows again, as they were before equal rows were merged.
    apart = [part if part.index is None else replace(part.only_rows(part.index), counts=rows.counts) for part in parts]
    return float(np.mean([_excess(apart[0], answers[1]), _excess(apart[1], answers[0])]))


def effective_voters(votes: Votes, correlation: float | None = None) -> float:
    """Return how many independent voters the voters on an object are worth: J / (1 + (J - 1) r).

    J is the mean number of votes per object with a vote, and r the correlation of the voters' errors (`error_correlation`).
    Errors that all voters share cannot be seen without labels, so the true number is lower if anything.

    Parameters
    ----------
    votes : Votes
        The votes, for classes or on a scale.
    correlation : float
        The correlation of errors: by default `error_correlation(votes)`; where labels are known, pass what it finds by them.

    Examples
    --------
    >>> import numpy as np
    >>> from ec3learn import Votes
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(2, size=3000)
    >>> opinions = [truth ^ (rng.random(3000) < 0.2) for _ in range(4)]
    >>> twice = {f"v{j}": opinions[j % 4] for j in range(8)}
    >>> print(f"{effective_voters(Votes.from_labels(twice)):.1f} of 8")
    3.9 of 8
    """
    _require_votes(votes)
    if correlation is not None and not (is_number(correlation) and isfinite(correlation)):
        raise InputError("correlation", "must be a finite number", got=correlation, remedy="Leave it out to measure it.")
    per_row = votes_per_row(votes, (votes.is_voter & (votes.weights > 0))[votes.group_model])
    covered = float(votes.counts @ (per_row > 0))
    if covered <= 0:
        return 0.0
    n = float(votes.counts @ per_row) / covered
    correlation = error_correlation(votes) if correlation is None else correlation
    return n / (1 + (n - 1) * min(max(correlation, 0.0), 1.0))


def _excess(votes: Votes, proba: Array) -> float:
    """Return the mean correlation of residuals given an answer, less what the uncertainty of that answer explains.

    The residual of voter j on object i is e_ij = y_ij - sum_k z_ik mu_jk, with y the vote over classes and mu_jk the mean vote of
    j on class k, divided by its root mean square. Both are drawn to those of all voters by a pseudo-vote: otherwise the residuals
    of a voter with one vote per class are all 0. Sums over pairs follow from sums over objects:
    sum_{j != h} e_j e_h = (sum_j e_j)^2 - sum_j e_j^2.
    """
    rows, voters, said = votes_cast(votes)
    n_models, n_classes, weight = len(votes.models), votes.n_classes, votes.counts[rows]
    by_row, by_voter = (_sums_over(key, n) for key, n in ((rows, votes.n_rows), (voters, n_models)))
    mass = weight[:, None] * proba[rows]
    mean = np.stack([by_voter @ (mass[:, k, None] * said) for k in range(n_classes)], axis=1)  # mu: voters x classes x answers
    total = by_voter @ mass
    pooled = mean.sum(axis=0) / np.maximum(total.sum(axis=0), 1e-12)[:, None]
    mean = (mean + PSEUDO_VOTES * pooled) / (total + PSEUDO_VOTES)[:, :, None]
    # Averages weighted by unsure answers mix the classes, by the shares z'z; its inverse takes that out (least squares).
    n_votes = by_row @ np.ones(len(rows))
    mixed = normalised(proba.T @ ((votes.counts * (n_votes > 0))[:, None] * proba) + 1e-6 * np.eye(n_classes))
    mean = np.einsum("kl,jlc->jkc", np.linalg.inv(mixed), mean)
    expected = np.einsum("vk,vkc->vc", proba[rows], mean[voters])
    residual = said - expected
    size, cast = by_voter @ (weight * (residual**2).sum(axis=1)), by_voter @ weight
    typical = float(size.sum()) / max(float(cast.sum()), 1e-300)
    if typical < 1e-18:
        return 0.0  # nobody ever errs
    scale = np.sqrt((size + PSEUDO_VOTES * typical) / (cast + PSEUDO_VOTES))[voters][:, None]

    def products(values: Array) -> Array:
        """Return for each object the sum of products of two voters' values."""
        return np.asarray(((by_row @ values) ** 2).sum(axis=1) - by_row @ (values**2).sum(axis=1))

    found = products(residual / scale)
    for k in range(n_classes):
        found -= proba[:, k] * products((mean[voters, k] - expected) / scale)
    pairs = float(votes.counts @ (n_votes * (n_votes - 1)))
    if pairs <= 0:
        return 0.0
    return min(max(float(votes.counts @ found) / pairs, -1.0), 1.0)  # answers on few objects may tell the classes hardly apart


def _sums_over(key: Array, n: int) -> sparse.csc_array:
    """Return the matrix that sums a table over the rows that have the same key."""
    return sparse.csc_array((np.ones(len(key)), key, np.arange(len(key) + 1)), shape=(n, len(key)))
