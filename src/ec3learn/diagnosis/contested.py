"""The objects a person should look at first: those to review, and those to ask about next.

A label from somebody who knows removes the chance that the answer is wrong. One vote more decides
less the more votes there are already: objects that stay open after many votes are hard, and the
next voter errs on them too. To estimate a share, objects must be drawn at random.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np

from .._checks import require_bool, require_choice, require_integer, require_seed
from .._table import Table
from .._text import number_text
from .._typing import Array
from ..algebra.membership import entries
from ..answer.solution import Solution, Solved, matching_labels, solution_of
from ..votes import BaseModel, Votes, group_ballot, has_clusterings, has_graders, n_alike, votes_on
from ..votes.labels import Label, plain
from .labels import taught_labels
from .metrics import votes_per_row

Goal = Literal["label", "vote", "share"]


def contested(consensus: Solved, n: int = 10, *, distinct: bool = True) -> Table:
    """The objects a person should review first: those whose two most probable classes are closest.

    Parameters
    ----------
    consensus : Consensus
        The answer.
    n : int
        How many objects.
    distinct : bool
        Show only the first of the objects with the same votes and clusters, and how many there are.

    Returns
    -------
    Table
        object, label, confidence, runner_up, margin, votes, alike and why. Objects with known
        labels are left out.
    """
    solution = solution_of(consensus)
    require_integer("n", n, 0)
    require_bool("distinct", distinct)
    votes = solution.require_votes("contested")
    row_of = solution.expand(np.arange(votes.n_rows))
    objects = np.unique(row_of, return_index=True)[1] if distinct else np.arange(len(row_of))
    if solution.known is not None:
        objects = objects[~solution.known.labelled[row_of[objects]]]
    margin = solution.row_margin.round(12)[row_of[objects]]
    objects = objects[np.lexsort((row_of[objects], margin))][:n]
    rows, labels = row_of[objects], [plain(label) for label in solution.classes]
    proba, best = solution.row_proba[rows], solution.row_classes[rows]
    others = np.where(np.arange(len(labels)) == best[:, None], -1, proba)
    tallies = (tally_of(votes_on(votes, i), votes.models) for i in objects.tolist())
    columns: dict[str, list[Any]] = {
        "object": [solution.name_of(i) for i in objects.tolist()],
        "label": [labels[z] for z in best],
        "confidence": proba.max(axis=1, initial=0.0).tolist(),
        "runner_up": [labels[z] if len(labels) > 1 else None for z in others.argmax(axis=1)],
        "margin": solution.row_margin[rows].tolist(),
        "votes": [tally_text(tally) for tally in tallies],
        "alike": [round(n) for n in n_alike(votes)[rows].tolist()],
        "why": _why(solution, votes, rows),
    }
    return Table(columns)


def _why(solution: Solution, votes: Votes, rows: Array) -> list[str]:
    """In a few words, why the answers of some rows are as they are."""
    labels, graded = [plain(label) for label in votes.classes], has_graders(votes)
    answers = matching_labels(solution.classes, votes.classes)[solution.row_classes[rows]]
    tallies = (entries(votes)[rows] @ group_ballot(votes)).toarray().round(9)
    others = ["known labels"] * (solution.known is not None)
    others += ["its clusters"] * has_clusterings(votes) + ["its prior"] * (votes.prior is not None)
    besides = f"{' and '.join(others)} count" if others else "how each voter errs counts"
    unanswered = solution.unanswered_rows
    empty_rows = np.zeros(votes.n_rows) if unanswered is None else unanswered
    return [
        f"it has {solution.lacking}"
        if empty
        else _why_contested(tally, labels, answer, graded, besides)
        for empty, tally, answer in zip(empty_rows[rows], tallies, answers.tolist(), strict=True)
    ]


def _why_contested(
    tally: Array, classes: Sequence[Label], answer: int, graded: bool, besides: str
) -> str:
    """In a few words why an object is contested, from the votes for each class and its answer.

    `graded` says that voters answered on a scale, and `besides` what counts beside the votes.
    """
    most, total = float(tally.max()), float(tally.sum())
    *others, last = (str(classes[z]) for z in np.flatnonzero(tally > most - 1e-9).tolist())
    said = f"{number_text(most)} of {number_text(total)} {'lean to' if graded else 'said'} {last}"
    if total == 0:
        return "nobody voted on it"
    if tally[answer] <= most - 1e-9:
        return f"{said}, but {besides} too"
    return f"the votes are tied between {', '.join(others)} and {last}" if others else said


def tally_of(answers: Mapping[int, Any], models: Sequence[BaseModel]) -> list[tuple[Label, float]]:
    """How many voters gave each answer, most votes first; soft votes count by their shares."""
    counts: Counter[Label] = Counter()
    for m, answer in answers.items():
        if models[m].is_voter:
            counts.update(answer if isinstance(answer, dict) else {answer: 1})
    return [(label, n) for label, n in counts.most_common() if n > 0]


def tally_text(tally: list[tuple[Label, float]], most: int = 5) -> str:
    """The first answers of a tally, and how many votes each has, as text."""
    shown = [f"{label} ({number_text(n)})" for label, n in tally[:most]]
    return ", ".join(shown if len(tally) <= most else [*shown, f"{len(tally) - most} more"])


# ---- whom to ask next ----------------------------------------------------------------------------


def ask(consensus: Solved, n: int = 10, goal: Goal = "label", *, random_state: Any = None) -> Table:
    """The objects to ask about next.

    Parameters
    ----------
    consensus : Consensus
        The answer so far. Pass the new labels as `known`, or solve all votes with the new
        ones among them.
    n : int
        How many objects.
    goal : "label", "vote" or "share"
        What will be asked for. "label": true labels, to correct as many answers as possible;
        objects come by the chance that their answer is wrong. "vote": one vote more from a voter
        like the others; objects with few votes come earlier. "share": true labels to estimate the
        shares of classes or the accuracy with `estimate`; objects are drawn at random.
        Those drawn that have a label already come with it, and are not counted in `n`.
    random_state : int, Generator or None
        Seeds the draws of "share".

    Returns
    -------
    Table
        object; label, to be filled in; answer, its confidence, votes (how many there are) and why
        the answer is as it is; gain, by which objects are sorted: the chance that the answer is
        wrong, less for objects with many votes ("vote"), and for the second and further of objects
        that have the same votes; for "share" instead: chance, the chance that the object had to be
        drawn; and goal. Filled in, the table may be passed wherever known labels may: it says how
        its objects were found.

    Examples
    --------
    >>> from ec3learn import DawidSkene, Votes
    >>> said = {"a": [0, 0, 1, 1, 0], "b": [0, 0, 1, 1, 1], "c": [0, None, 1, 0, None]}
    >>> votes = Votes.from_labels(said)
    >>> DawidSkene().solve(votes).ask(2).select("object", "answer", "why")
    object  answer  why
         4       1  the votes are tied between 0 and 1
         3       1  2 of 3 said 1
    """
    solution = solution_of(consensus)
    require_integer("n", n, 1)
    require_choice("goal", goal, get_args(Goal))
    require_seed("random_state", random_state)
    votes = solution.require_votes("ask")
    n_votes = votes_per_row(votes, np.diff(group_ballot(votes).indptr) > 0)
    known, row_of = taught_labels(solution).codes, solution.expand(np.arange(votes.n_rows))
    unknown = np.flatnonzero(known < 0)
    n, gain, chance = min(n, len(unknown)), np.full(len(known), -np.inf), None
    if goal == "share":
        rng, chance = np.random.default_rng(random_state), n / max(len(unknown), 1)
        again = (known >= 0) & (rng.random(len(known)) < chance)  # their labels are there already
        chosen = np.sort(np.append(rng.choice(unknown, n, replace=False), np.flatnonzero(again)))
    else:
        # The next object with the same votes is worth less, as is the next vote: by a fourth root.
        wrong = 1 - solution.row_proba.max(axis=1)
        gain[unknown] = wrong[row_of[unknown]] / _place_in_row(row_of[unknown]) ** 0.25
        if goal == "vote":
            gain /= np.maximum(n_votes[row_of], 1.0) ** 0.25
        chosen = np.argsort(-gain.round(12), kind="stable")[:n]
    rows, labels = row_of[chosen], [plain(label) for label in solution.classes]
    return Table(
        {
            "object": [solution.name_of(i) for i in chosen.tolist()],
            "label": [None if z < 0 else labels[z] for z in known[chosen]],
            "answer": [labels[z] for z in solution.row_classes[rows]],
            "confidence": solution.row_proba[rows].max(axis=1, initial=0.0).tolist(),
            "votes": [round(float(number)) for number in n_votes[rows]],
            "why": _why(solution, votes, rows),
            "gain": [None] * len(chosen) if goal == "share" else gain[chosen].tolist(),
            "chance": [chance] * len(chosen),
            "goal": [goal] * len(chosen),
        }
    )


def _place_in_row(row_of: Array) -> Array:
    """For each object which of the objects with the same votes it is, counted from 1."""
    order = np.argsort(row_of, kind="stable")
    in_order, place = row_of[order], np.empty(len(row_of))
    place[order] = np.arange(1, len(row_of) + 1) - np.searchsorted(in_order, in_order)
    return place
