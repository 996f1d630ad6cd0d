"""Pairwise judging: judges say which of two items is better, shown one way round or both.

A pair of items on one prompt is an object, and the classes are "first", "second" and "tie". A vote
on a pair that was shown the other way round is turned round. The consensus then says who won each
pair, and the strengths t of the items follow from all of them (Davidson's Bradley-Terry with ties):

    P(i beats j) : P(j beats i) : P(tie)  =  exp((ti - tj) / 2) : exp((tj - ti) / 2) : exp(u)

A winner that is not certain counts in part, by its probability. Intervals take prompts as drawn at
random, since all pairs of a prompt share its answers, and winners as drawn by their probability.
Davidson, "On extending the Bradley-Terry model to accommodate ties" (1970).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from scipy.sparse import csgraph
from scipy.special import log_softmax
from scipy.stats import norm

from ._checks import InputError, InputTypeError, unknown_name
from ._table import Table
from ._text import arg, count
from ._typing import Array
from .consensus import Consensus
from .diagnosis.metrics import Z95, wilson_ends
from .votes import Votes
from .votes.labels import is_missing, kind_of, labels_for_missing
from .votes.reading import seen_by_narwhals

__all__ = ["Comparisons"]

LABELS = {1: "first", -1: "second", 0: "tie"}  # of the item on the left, on the right, of neither
WORDS = {"a": 1, "left": 1, "model_a": 1, "b": -1, "right": -1, "model_b": -1}
WORDS |= dict.fromkeys(("tie", "draw", "both", "neither", "both bad", "tie (bothbad)"), 0)
# What each class says about the lead of the first item, and whether it is a tie.
SAYS = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])

Shown = tuple[str, str, str]  # a prompt, and the items on the left and on the right
Vote = tuple[int, str, int, bool]  # a pair, a judge, a side, and whether the pair was turned round


@dataclass(frozen=True, eq=False, repr=False)
class Comparisons:
    """Votes on pairs of items; make it with `from_table`.

    Attributes
    ----------
    votes : Votes
        One object per pair and prompt, named such as "q1: gpt or llama"; the item that is named
        first is "first".
    prompts, first, second : array
        The prompt and the items of each object.

    Examples
    --------
    >>> import ec3learn
    >>> from ec3learn.pairs import Comparisons
    >>> games = ec3learn.Table(
    ...     {
    ...         "question": [1, 1, 2, 2],
    ...         "a": ["x", "y", "x", "y"],
    ...         "b": ["y", "x", "y", "x"],
    ...         "judge": ["ann", "ann", "ann", "bob"],
    ...         "winner": ["a", "b", "a", "tie"],
    ...     }
    ... )
    >>> compared = Comparisons.from_table(
    ...     games.to_frame(), "a", "b", "judge", "winner", prompt="question"
    ... )
    >>> compared.votes
    Votes(2 objects, 3 classes, 2 annotators, 0 clusterings, 25.0 % missing)
    >>> consensus = ec3learn.MajorityVote().solve(compared.votes)
    >>> compared.strengths(consensus).select("item", "games", "win_rate")
    item  games  win_rate
    x         2     0.875
    y         2     0.125
    """

    votes: Votes
    prompts: Array
    first: Array
    second: Array
    cast: list[Vote]

    def __repr__(self) -> str:
        items = {*self.first, *self.second}
        return f"Comparisons({count(len(items), 'item')}, {count(len(self.first), 'pair')})"

    @classmethod
    def from_table(
        cls,
        table: Any,
        left: str,
        right: str,
        judge: str | None = None,
        winner: str = "winner",
        prompt: str | None = None,
        missing: Any = None,
    ) -> Comparisons:
        """Read a table with one row per vote.

        Parameters
        ----------
        table : dataframe
            Of pandas, polars or any other library narwhals reads.
        left, right, judge : str
            The columns of the items as they were shown, and of who judged them; without `judge`
            one judge did.
        winner : str
            The column of the winner: its name, or "A", "left" or "model_a" for the left item, "B",
            "right" or "model_b" for the right one, or "tie". A missing value is no vote.
        prompt : str
            The column that says on what the items were compared, such as the question. Without it a
            pair is one object: judges say which item is better at all.
        missing : label, or list of labels
            Winners that mean "no vote", such as "unsure".
        """
        rows = [
            row
            for row in _rows(table, left, right, judge, winner, prompt)
            if not (is_missing(row[3]) or (kind_of(row[3]), row[3]) in labels_for_missing(missing))
        ]
        shown = [(str(prompt), str(a), str(b)) for a, b, _, _, prompt in rows]
        pairs: dict[tuple[str, ...], Shown] = {}
        for way in shown:
            pairs[_pair(way)] = min(way, pairs.get(_pair(way), way), key=_shuffled)
        number = {pair: i for i, pair in enumerate(pairs)}
        cast = [
            (number[_pair(way)], str(row[2]), _side(row[3], way), way != pairs[_pair(way)])
            for way, row in zip(shown, rows, strict=True)
        ]
        prompts, first, second = np.array([*pairs.values()], dtype=object).reshape(-1, 3).T
        return cls(_votes(cast, [*pairs.values()]), prompts, first, second, cast)

    def position_bias(self) -> Table:
        """How often each judge prefers the item on the left, whatever it is.

        Returns
        -------
        Table
            For each judge: its votes; the pairs that it saw both ways round; how often it then
            named the same winner twice; and which share of these votes went to the left item, a tie
            as one half, with its 95 % interval. A judge without bias has .5. Of a judge who saw no
            pair both ways all votes count: that is bias only where chance chose the sides.
        """
        sides: dict[str, dict[int, tuple[list[int], list[int]]]] = {}
        for pair, judge, side, turned in self.cast:
            sides.setdefault(judge, {}).setdefault(pair, ([], []))[turned].append(side)
        heads = ("judge", "votes", "both_ways", "same_winner", "left", "low", "high")
        rows = []
        for judge, of_judge in sides.items():
            means = [[np.mean(way) for way in ways if way] for ways in of_judge.values()]
            both = [ways for ways in means if len(ways) == 2]
            same = float(np.mean([one == -other for one, other in both])) if both else None
            n_votes = sum(len(way) for ways in of_judge.values() for way in ways)
            left = _share_left(np.array([np.mean(ways) for ways in both or means]))
            rows.append([judge, n_votes, len(both), same, *left])
        return Table.of(heads, rows)

    def strengths(self, consensus: Consensus) -> Table:
        """How strong each item is, by the winners that a consensus names.

        Parameters
        ----------
        consensus : Consensus
            Made from `votes`, by any method.

        Returns
        -------
        Table
            The items, strongest first: the pairs each was in; its strength with a 95 % interval, in
            log-odds of winning rather than losing against an average item; how probable it is that
            it is stronger than the next one; and the share of its pairs that it wins, a tie as one
            half, with a 95 % interval. The note says whether items cannot be compared, since no
            pairs link them. All of it rests on the probabilities of the winners: too
            low ones pull items together, so pass `known` labels of some pairs when solving.
        """
        if not np.array_equal(np.asarray(consensus.object_ids), np.asarray(self.votes.object_ids)):
            must = "must be made from the votes of these comparisons"
            raise InputError("consensus", must, remedy="Solve their `votes`.")
        of_class = dict(zip(consensus.classes, consensus.proba.T, strict=True))
        silent = np.zeros(len(self.first))
        proba = np.column_stack([of_class.get(label, silent) for label in LABELS.values()])
        items, place = np.unique([self.first, self.second], return_inverse=True)
        first, second = (_members(which, len(items)) for which in place.reshape(2, -1))
        same = self._same_prompt()
        strength, covariance = _strengths(first, second, proba, same)
        rate, low, high = _win_rates(first, second, proba, same)
        half, order = Z95 * np.sqrt(covariance.diagonal()), np.argsort(-strength, kind="stable")
        shown = {
            "item": items,
            "games": (first + second).sum(axis=0).astype(int),
            "strength": strength,
            "low": strength - half,
            "high": strength + half,
            "above_next": np.full(len(items), None),
            "win_rate": rate,
            "win_low": low,
            "win_high": high,
        }
        shown["above_next"][order[:-1]] = _above_next(strength[order], covariance[:, order][order])
        n_groups, _ = csgraph.connected_components(first.T @ second, directed=False)
        note = f"No pairs link {n_groups} groups of items: compare items within a group only."
        columns = {name: values[order].tolist() for name, values in shown.items()}
        return Table(columns, note if n_groups > 1 else "")

    def _same_prompt(self) -> Any:
        """A table (prompts x objects); with one prompt, each object is drawn alone."""
        several = len({*self.prompts}) > 1
        _, number = np.unique(self.prompts, return_inverse=True)
        number = number if several else np.arange(len(number))
        return _members(number, number.max() + 1).T


def _rows(table: Any, left: str, right: str, *others: str | None) -> list[tuple[Any, ...]]:
    """The rows of some columns; one that has no name says nothing, for one judge or one prompt."""
    frame = seen_by_narwhals(table)
    if not hasattr(frame, "lazy"):
        remedy = "Read a file first, as with pandas.read_csv."
        raise InputTypeError(
            "table", "must be a dataframe", came=type(table).__name__, remedy=remedy
        )
    frame = frame.lazy().collect()
    for name in (left, right, *others):
        if name is not None and name not in frame.columns:
            raise unknown_name("column", name, frame.columns)
    nothing = [""] * len(frame)
    columns = [
        nothing if name is None else frame.get_column(name).to_list()
        for name in (left, right, *others)
    ]
    rows = [*zip(*columns, strict=True)]
    for number, (one, other, *_) in enumerate(rows):
        if one == other:
            came = f"{one!r} on both sides at row {number}"
            raise InputError("right", f"must name another item than {arg('left')}", came=came)
    return rows


def _pair(shown: Shown) -> tuple[str, ...]:
    """What both ways round have in common."""
    return shown[0], *sorted(shown[1:])


def _shuffled(shown: Shown) -> int:
    """A number by which one way round is chosen as if by chance, not by the names."""
    return crc32("\0".join(shown).encode())


def _side(said: Any, shown: Shown) -> int:
    """Which side a judge named: 1 for the left, -1 for the right, 0 for neither."""
    _, left, right = shown
    sides = WORDS | {right: -1, left: 1}
    word = str(said) if str(said) in sides else str(said).strip().lower()
    if word not in sides:
        must = f"must hold {left!r}, {right!r}, 'A', 'B', 'left', 'right' or 'tie'"
        remedy = f"Pass {arg('missing', said)} if it means no vote."
        raise InputError("winner", must, got=said, remedy=remedy)
    return sides[word]


def _votes(cast: Sequence[Vote], pairs: Sequence[Shown]) -> Votes:
    names = [f"{prompt}: {one} or {other}".removeprefix(": ") for prompt, one, other in pairs]
    labels = [LABELS[-side if turned else side] for _, _, side, turned in cast]
    classes = [label for label in LABELS.values() if label != "tie" or label in labels]
    objects, judges = [names[pair] for pair, *_ in cast], [judge for _, judge, *_ in cast]
    return Votes.from_long(objects, judges, labels, object_ids=names, classes=classes)


def _share_left(leans: Array) -> tuple[float, float, float]:
    """The share of votes for the left and its 95 % interval, from -1 to 1 per pair.

    Agresti and Min (2005) add half a pair each way and one that is even, for few pairs.
    """
    n = len(leans) + 2
    middle = leans.sum() / n
    half = Z95 * np.sqrt(((leans**2).sum() + 1) / n - middle**2) / np.sqrt(n)
    value, low, high = (1 + np.array([leans.mean(), middle - half, middle + half])) / 2
    return float(value), max(float(low), 0.0), min(float(high), 1.0)


# ---- strengths -----------------------------------------------------------------------------------


def _members(number: Array, n: int) -> Any:
    """A table (objects x things) with 1 where the object has the thing of this number."""
    cells = (np.arange(len(number)), number)
    return sparse.csr_array((np.ones(len(number)), cells), shape=(len(number), n))


def _few(same: Any) -> float:
    """By how much deviations of few prompts are too small."""
    return float(np.sqrt(same.shape[0] / max(same.shape[0] - 1, 1)))


def _strengths(first: Any, second: Any, proba: Array, same: Any) -> tuple[Array, Array]:
    """The strengths, which sum to 0, and their covariance."""
    lead = (first - second) / 2

    def log_chances(t: Array) -> Array:
        says = np.column_stack([lead @ t[:-1], np.full(len(proba), t[-1])])
        return log_softmax(says @ SAYS.T, axis=1)

    def scores(t: Array) -> Any:
        missed = (proba - np.exp(log_chances(t))) @ SAYS
        return sparse.hstack([lead * missed[:, :1], missed[:, 1:]], format="csr")

    def information(shares: Array) -> Array:
        mean = shares @ SAYS
        square = (shares @ SAYS**2 - mean**2).T
        corner = lead.T @ (mean[:, 0] * mean[:, 1])
        return np.block(
            [
                [(lead.T @ (lead * square[0][:, None])).toarray(), -corner[:, None]],
                [-corner[None], square[1].sum()[None, None]],
            ]
        )

    # A normal prior of strengths with a deviation of 2 is about as strong as one game. There may be
    # no ties at all, so that theirs is very weak.
    prior = np.diag([1 / 4] * lead.shape[1] + [1 / 4000])
    t = minimize(
        lambda t: -float((proba * log_chances(t)).sum()) + float(t @ prior @ t) / 2,
        np.zeros(len(prior)),
        jac=lambda t: prior @ t - scores(t).sum(axis=0),
        hess=lambda t: prior + information(np.exp(log_chances(t))),
        method="trust-exact",
        options={"gtol": 1e-8},
    ).x
    by_topic = (same @ scores(t)).toarray() * _few(same)
    inverse = np.linalg.inv(prior + information(np.exp(log_chances(t))))
    covariance = inverse @ (by_topic.T @ by_topic + information(proba)) @ inverse
    return t[:-1], covariance[:-1, :-1]


def _above_next(strength: Array, covariance: Array) -> Array:
    """How probable it is that each item is stronger than the next, of items in order."""
    spread = covariance.diagonal()
    variance = spread[:-1] + spread[1:] - 2 * covariance.diagonal(1)
    return norm.cdf(-np.diff(strength) / np.sqrt(np.maximum(variance, 1e-300)))


def _win_rates(first: Any, second: Any, proba: Array, same: Any) -> tuple[Array, Array, Array]:
    """The share of its pairs that each item wins, with the ends of its 95 % interval."""
    points = proba @ [1, 0, 0.5]
    games = (first + second).sum(axis=0)
    rate = (first.T @ points + second.T @ (1 - points)) / games
    beyond = first * (points[:, None] - rate) + second * (1 - points[:, None] - rate)
    drawn = (first + second).T @ (proba @ [1, 0, 0.25] - points**2)
    variance = (((same @ beyond) * _few(same)).power(2).sum(axis=0) + drawn) / games**2
    even = rate * (1 - rate)
    worth = np.where(variance > 0, even / np.maximum(variance, 1e-300), games)
    return rate, *np.clip(wilson_ends(rate, worth), 0, 1)
