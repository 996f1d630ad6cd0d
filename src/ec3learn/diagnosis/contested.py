"""The objects a person should review first, and why."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._checks import require_bool, require_integer
from .._text import Table
from .._typing import Array
from ..answer.outcome import Outcome
from ..answer.rule import COMPANIONS, GROUPS, EvidenceRule, GroupRule
from ..votes.labels import plain
from .explanation import tally_of, tally_text, why_contested

CLOSE = 0.1  # the margin below which an object is a close call


def close_calls(outcome: Outcome) -> Array:
    """Return which distinct rows are close calls: their label is not known, and the two top classes are less than 0.1 apart.

    Examples
    --------
    >>> from ec3learn import SoftVote, Votes
    >>> votes = Votes.from_labels({"a": ["x", "x"], "b": ["x", "y"]})
    >>> close_calls(SoftVote().solve(votes)), close_calls(SoftVote().solve(votes, known={1: "y"}))
    (array([False,  True]), array([False, False]))
    """
    close = outcome.row_margin < CLOSE
    return close if outcome.known is None else close & ~outcome.known.labelled


def contested(outcome: Outcome, n: int = 10, *, distinct: bool = True) -> Table:
    """Return the objects a person should review first: those whose two most probable classes are closest.

    Parameters
    ----------
    outcome : Consensus
        The answer.
    n : int
        How many objects.
    distinct : bool
        Show only the first of the objects with the same votes and clusters, and how many there are.

    Returns
    -------
    Table
        object, label, confidence, runner_up, margin, votes, alike and why. Objects with known labels are left out.

    Examples
    --------
    >>> from ec3learn import MajorityVote, Votes
    >>> votes = Votes.from_labels({"svm": ["a", "b"], "knn": ["a", "a"], "tree": ["a", "a"]})
    >>> next(MajorityVote().solve(votes).contested(1).rows())["why"]
    'the votes are split: 2 of 3 said a'
    """
    require_integer("n", n, 0)
    require_bool("distinct", distinct)
    votes = outcome.require_votes("contested")
    objects, rows = _closest(outcome, n, distinct)
    proba, best = outcome.row_proba[rows], outcome.row_classes[rows]
    others = proba.copy()
    others[np.arange(len(rows)), best] = -1
    second = others.argmax(axis=1)
    alike = np.ones(len(outcome.row_proba)) if outcome.index is None else np.bincount(outcome.index)
    columns: dict[str, list[Any]] = {
        "object": [outcome.name_of(i) for i in objects],
        "label": [plain(outcome.classes[z]) for z in best],
        "confidence": proba.max(axis=1, initial=0.0).tolist(),
        "runner_up": [plain(outcome.classes[z]) if len(outcome.classes) > 1 else None for z in second],
        "margin": outcome.row_margin[rows].tolist(),
    }
    tallies = [tally_of(votes.spoken(i), votes.models) for i in objects]
    columns["votes"] = [tally_text(tally) for tally in tallies]
    columns["alike"] = [int(alike[row]) for row in rows]
    nothing = np.zeros(len(rows), dtype=bool) if outcome.unanswered_rows is None else outcome.unanswered_rows[rows]
    columns["why"] = [
        f"it has {outcome.lacking}" if unanswered else why_contested(tally, label, _decided_by(outcome))
        for tally, label, unanswered in zip(tallies, columns["label"], nothing, strict=True)
    ]
    return Table(columns)


def _closest(outcome: Outcome, n: int, distinct: bool) -> tuple[list[int], Array]:
    """Return the objects with the smallest margins whose label is not known, and the distinct row of each."""
    margin = outcome.row_margin
    order = np.lexsort((np.arange(len(margin)), np.round(margin, 12)))
    if outcome.known is not None:
        order = order[~outcome.known.labelled[order]]
    found: list[tuple[int, int]] = []
    for row in order[:n].tolist():
        members = [row] if outcome.index is None else np.flatnonzero(outcome.index == row)[: 1 if distinct else n]
        found += [(int(member), row) for member in members]
    return [i for i, _ in found[:n]], np.array([row for _, row in found[:n]], dtype=int)


def _decided_by(outcome: Outcome) -> str:
    """Return what decides an answer, besides the number of votes."""
    if isinstance(outcome.rule, EvidenceRule) or not isinstance(outcome.rule, GroupRule | None):
        return "who said it"
    terms = set() if outcome.rule is None else {term.name for term in outcome.rule.terms}
    equal = len(set(outcome.weights.tolist())) == 1
    if outcome.rule is None or terms & {GROUPS, COMPANIONS}:
        return "its groups" if equal else "weights and groups"
    return "the more common class" if equal else "weights"
