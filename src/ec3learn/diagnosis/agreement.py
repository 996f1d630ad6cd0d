"""How much voters agree beyond chance, with intervals: Krippendorff's alpha and Fleiss' kappa of all, Cohen's kappa of two.

The first two need only how many votes each answer got on each object, so the cost is linear in the
votes. How much of that agreement is one opinion repeated, `correlation` tells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy import sparse

from .._checks import InputError, require_choice, require_integer, require_seed
from .._table import Table
from .._typing import Array
from ..algebra.membership import entries
from ..votes import Votes, hardened, votes_per_model
from ..votes.encoding import known_codes
from ..votes.labels import kind_of
from ..votes.models import BaseModel
from .metrics import cohen_kappa, counted_votes, require_votes, wilson_interval
from .voters import labelled_rows

Level = Literal["nominal", "ordinal", "interval"]

LEVELS = ("nominal", "ordinal", "interval")
MOST_VOTERS = 100  # compared two by two: those with the most votes
KNOWN = "known labels"  # in the place of the second voter
LEAST_PAIR = 1.5  # votes on an object from which on there are two; their shares add up to integers, but for rounding


def alpha(votes: Votes, level: Level = "nominal") -> float:
    """Return Krippendorff's alpha: 1 for voters who always agree, 0 for voters who agree as often as chance.

    Parameters
    ----------
    votes : Votes
        The votes for classes, or on one scale that all voters share; any may be missing. A soft
        vote counts for its most probable class; on a tie it is as if one of the tied classes had
        been drawn.
    level : "nominal", "ordinal" or "interval"
        How far two answers are apart: all alike, by the votes that lie between them, or by their
        difference (numbers only). With the last two, answers of a scale that have no place on it
        ("unsure") are left out.

    Returns
    -------
    float
        NaN where no object has two votes, or all votes are alike.
    """
    return float(agreement(votes, level, draws=0)["value"][0])


def fleiss_kappa(votes: Votes) -> float:
    """Return Fleiss' kappa; objects may have different numbers of votes, and those with fewer than two are left out."""
    return float(agreement(votes, draws=0)["value"][1])


def agreement(
    votes: Votes, level: Level = "nominal", *, draws: int = 200, random_state: Any = 0
) -> Table:
    """Return measures of agreement with 95 % intervals.

    Parameters
    ----------
    votes : Votes
        The votes, as in `alpha`.
    level : "nominal", "ordinal" or "interval"
        As in `alpha`.
    draws : int
        How many times objects are drawn anew for the intervals (bootstrap); 0 leaves them out.
        Where all objects agree, the low end is by Wilson's interval.
    random_state : int, Generator or None
        Seeds the draws.

    Returns
    -------
    Table
        measure, value, low and high: Krippendorff's alpha, Fleiss' kappa, and the share of pairs of
        votes that agree.

    Examples
    --------
    >>> from ec3learn import Votes
    >>> agreement(Votes.from_labels({"a": [0, 0, 1, 1] * 5, "b": [0, 0, 1, 0] * 5}), draws=0)
    measure               value
    Krippendorff's alpha  0.480
    Fleiss' kappa         0.467
    pairs that agree      0.750
    """
    require_votes(votes)
    require_choice("level", level, LEVELS)
    require_integer("draws", draws, 0)
    require_seed("random_state", random_state)
    voters, labels = _comparable_voters(votes)
    places, weight = _places(votes.models[voters[0]], level), counted_votes(votes).counts
    every = _tallies(votes, voters, np.ones(len(labels), dtype=bool))
    placed = every if level == "nominal" else _tallies(votes, voters, ~np.isnan(places))
    if not every.tied.nnz:
        counts, row = np.unique(
            np.hstack([every.counts, placed.counts]), axis=0, return_inverse=True
        )  # whoever cast the votes
        weight = np.bincount(row.ravel(), weights=weight)
        every, placed = (
            replace(own, counts=part)
            for own, part in zip((every, placed), np.hsplit(counts, 2), strict=True)
        )

    def measured(weight: Array) -> list[float]:
        alike, by_chance = _pairs_alike(every, weight)
        fleiss = (alike - by_chance) / (1 - by_chance) if by_chance < 1 else float("nan")
        return [_alpha(placed, weight, places, level), fleiss, alike]

    n_objects = [float(weight @ own.paired) for own in (placed, every)]
    least = [
        _least(n, _pairs_alike(own, weight)[1])
        for n, own in zip(n_objects, (placed, every), strict=True)
    ]
    least.append(wilson_interval(n_objects[1], n_objects[1])[0])
    low, high = _interval(measured, weight, least, draws, random_state)
    names = ["Krippendorff's alpha", "Fleiss' kappa", "pairs that agree"]
    return Table({"measure": names, "value": measured(weight), "low": low, "high": high})


def kappas(
    votes: Votes,
    known: Any = None,
    level: Level = "nominal",
    *,
    draws: int = 200,
    random_state: Any = 0,
) -> Table:
    """Return Cohen's kappa of each two voters, or of each voter and known labels, with 95 % intervals.

    Parameters
    ----------
    votes : Votes
        The votes for classes, or on one scale that all voters share; a soft vote counts for its
        most probable class. Of more than 100 voters, the 100 with the most votes are compared.
    known : array with missing values, dict of object -> label, or pair (objects, labels)
        Compare each voter with these instead.
    level : "nominal", "ordinal" or "interval"
        Whether two answers agree or not, or how far they are apart: kappa is then weighted by the
        square of the answers between them, or of their difference (numbers only). Answers that have
        no place on a scale ("unsure") are left out, as in `alpha`.
    draws, random_state
        As in `agreement`.

    Returns
    -------
    Table
        voter; other, the second voter or "known labels"; objects, on how many both voted; kappa,
        low and high. Pairs without a common object are left out; kappa is None where both always
        say the same.
    """
    require_votes(votes)
    require_choice("level", level, LEVELS)
    require_integer("draws", draws, 0)
    require_seed("random_state", random_state)
    votes = counted_votes(hardened(votes))
    voters, labels = _comparable_voters(votes)
    places = _places(votes.models[voters[0]], level)
    if known is not None:
        votes, codes = _on_known(votes, known, labels)
    matrix = entries(votes).tocsc()
    if known is None:
        voters = sorted(sorted(voters, key=lambda m: -votes_per_model(votes)[m])[:MOST_VOTERS])
    said = {m: matrix[:, votes.models.offsets[m] : votes.models.offsets[m + 1]] for m in voters}
    heads, rows = ("voter", "other", "objects", "kappa", "low", "high"), []
    chosen = np.flatnonzero(~np.isnan(places))
    apart = None if level == "nominal" else _squares(places[chosen])

    def measured(counts: Array) -> list[float]:
        return [cohen_kappa(counts.reshape(len(chosen), -1), apart)]

    def add(voter: int, other: str, table: Array) -> None:
        both = table[np.ix_(chosen, chosen)]
        counts, n = both.ravel(), float(both.sum())
        if n >= 1:
            least = _least(n, float(both.sum(axis=1) @ both.sum(axis=0)) / n**2)
            (found,), (low, high) = (
                measured(counts),
                _interval(measured, counts, [least], draws, random_state),
            )
            rows.append(
                [
                    votes.models[voter].name,
                    other,
                    round(n),
                    None if np.isnan(found) else found,
                    *low,
                    *high,
                ]
            )

    if known is not None:
        true = votes.counts[:, None] * np.eye(votes.n_classes)[codes]
        for m in voters:
            add(m, KNOWN, np.asarray(said[m].T @ true))
        return Table.of(heads, rows)
    weighted = {m: said[m].multiply(votes.counts[:, None]).tocsr() for m in voters}
    for i, m in enumerate(voters):
        for other in voters[i + 1 :]:
            add(m, votes.models[other].name, (said[m].T @ weighted[other]).toarray())
    return Table.of(heads, rows)


def _on_known(votes: Votes, known: Any, labels: list[Any]) -> tuple[Votes, Array]:
    """Return the votes on objects whose label is known, and the class of each row; voters must answer by naming classes."""
    if labels != votes.classes.tolist():
        remedy = "Use as_class_votes(votes)."
        raise InputError(
            "votes",
            "must be votes for classes to be compared with known labels",
            came="a scale",
            remedy=remedy,
        )
    return labelled_rows(
        votes, known_codes(known, votes.classes, votes.n_objects, votes.object_ids)
    )


def _interval(
    measured: Callable[[Array], list[float]],
    weight: Array,
    least: list[float],
    draws: int,
    random_state: Any,
) -> tuple[list[float | None], list[float | None]]:
    """Return the 95 % intervals of some measures, by drawing objects anew (bootstrap); `weight` counts objects that are alike.

    Where all agree, so do all draws, and the low end is `least`.
    """
    found = measured(weight)
    nothing: list[float | None] = [None] * len(found)
    if not draws:
        return nothing, nothing
    rng = np.random.default_rng(random_state)
    total, shares = round(float(weight.sum())), weight / weight.sum()
    drawn = np.array(
        [measured(rng.multinomial(total, shares).astype(np.float64)) for _ in range(draws)]
    )
    defined = [values[~np.isnan(values)] for values in drawn.T]
    low, high = (
        [float(np.quantile(values, q)) if len(values) else None for values in defined]
        for q in (0.025, 0.975)
    )
    return [
        end if value < 1 - 1e-9 or end is None else at
        for value, end, at in zip(found, low, least, strict=True)
    ], high


def _least(n: float, by_chance: float) -> float:
    """Return the low end of the agreement beyond chance where all n objects agree.

    As many may disagree as Wilson's interval allows; votes on these are half for one answer, half
    for another.
    """
    apart = 1 - wilson_interval(n, n)[0]
    by_chance = (1 - apart) ** 2 * by_chance + apart - apart**2 / 2
    return 1 - apart / (1 - by_chance)


# ---- from counts ---------------------------------------------------------------------------------


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
                remedy="Use as_class_votes(votes), or leave the others out with votes.drop.",
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
        # A pair is two different votes: what a vote and itself have in common, taken out above as
        # 1, is p'p for a tied vote.
        same += np.bincount(self.tied_rows, 1 - self.tied.power(2).sum(axis=1), minlength=len(same))
        return np.divide(
            same, self.n_votes * (self.n_votes - 1), out=np.zeros(len(same)), where=self.paired
        )


def _tallies(votes: Votes, voters: Sequence[int], chosen: Array) -> _Tallies:
    """Return how many votes each answer got in each distinct row; only some answers count."""
    answer = np.full(votes.models.n_groups, -1)
    for m in voters:
        answer[votes.models.offsets[m] : votes.models.offsets[m + 1]] = np.where(
            chosen, np.arange(len(chosen)), -1
        )
    matrix = entries(hardened(votes)).tocoo()
    counted = answer[matrix.coords[1]] >= 0
    (row, group), share = (part[counted] for part in matrix.coords), matrix.data[counted]
    n_models, tied = len(votes.models), share < 1
    vote, number = np.unique(
        row[tied].astype(np.int64) * n_models + votes.models.group_model[group[tied]],
        return_inverse=True,
    )
    share[tied] /= np.bincount(number, share[tied])[
        number
    ]  # the other answers that a vote was tied with may not count
    shares = sparse.csr_array(
        (share[tied], (number, answer[group[tied]])), shape=(len(vote), len(chosen))
    )
    counts = np.zeros((votes.n_rows, len(chosen)))
    np.add.at(counts, (row, answer[group]), share)
    return _Tallies(counts, shares, vote // n_models)


def _places(model: BaseModel, level: str) -> Array:
    """Return where the answers lie, for their distances; NaN where an answer of a scale has no place on it."""
    n_labels = len(model.labels)
    placed = (
        np.ones(n_labels, dtype=bool)
        if model.positions is None or level == "nominal"
        else ~np.isnan(model.positions)
    )
    if level != "interval":
        return np.where(placed, np.arange(n_labels), np.nan)
    if not all(kind_of(label) == "int" for label in model.labels[placed].tolist()):
        raise InputError(
            "level", "must be 'nominal' or 'ordinal' for answers that are not numbers", got=level
        )
    places = np.full(n_labels, np.nan)
    places[placed] = model.labels[placed]
    return places


def _squares(places: Array) -> Array:
    return (places[:, None] - places[None, :]) ** 2


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
        distance = _squares(between)
    else:
        distance = (
            _squares(np.nan_to_num(places)) if level == "interval" else 1 - np.eye(len(totals))
        )
    expected = float(totals @ distance @ totals) / max(n - 1, 1e-300)
    return 1 - float((observed * distance).sum()) / expected if expected > 0 else float("nan")


def _pairs_alike(tallies: _Tallies, weight: Array) -> tuple[float, float]:
    """Return the mean over objects of the share of pairs of votes that agree, and that share by chance."""
    weight = weight * tallies.paired
    total = float(weight.sum())
    shares = weight @ tallies.counts / max(float(weight @ tallies.n_votes), 1e-300)
    return float(weight @ tallies.alike) / total if total > 0 else float("nan"), float(
        shares @ shares
    )
