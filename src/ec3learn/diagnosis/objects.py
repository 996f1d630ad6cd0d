"""Single objects: which to look at first, which to ask about next, and why one got its answer.

A label from somebody who knows removes the chance that the answer is wrong. One vote more decides
less the more votes there are already: objects that stay open after many votes are hard, and the
next voter errs on them too. To estimate a share, objects must be drawn at random.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from .._checks import require_choice, require_integer, require_seed
from .._table import Table
from .._text import clipped, count, number_text, printable, shown
from .._typing import Array
from ..algebra.membership import entries
from ..answer.extension import aligned_membership
from ..answer.rule import REST, KnownLabels
from ..answer.solution import Solution, Solved, matching_labels, solution_of
from ..votes import BaseModel, Votes, group_ballot, has_clusterings, has_graders, n_alike, votes_on
from ..votes.labels import Label, plain
from .labels import taught_labels
from .metrics import votes_per_row

Goal = Literal["label", "vote", "share"]
NO_PARTS = "The answer of this method is not a sum of parts."
UNITS = {
    "probability": "",
    "log evidence": "In units of log evidence:",
    "change of probability": "How far each vote moved the probabilities: take its numbers away to "
    f"have them without it.\n{REST.capitalize()}: the shares of the classes, and what votes say "
    "only together.",
}


def contested(consensus: Solved, n: int = 10) -> Table:
    """The objects a person should review first: those whose two most probable classes are closest.

    Parameters
    ----------
    consensus : Consensus
        The answer.
    n : int
        How many objects.

    Returns
    -------
    Table
        object, label, confidence, runner_up, margin, votes, alike (how many objects have the same
        votes and clusters, of which this is the first) and why. Objects with known labels are left
        out.
    """
    solution = solution_of(consensus)
    require_integer("n", n, 0)
    votes = solution.require_votes("contested")
    row_of = solution.expand(np.arange(votes.n_rows))
    objects = np.unique(row_of, return_index=True)[1]
    if solution.known is not None:
        objects = objects[~solution.known.labelled[row_of[objects]]]
    margin = solution.row_margin.round(12)[row_of[objects]]
    objects = objects[np.lexsort((row_of[objects], margin))][:n]
    rows, labels = row_of[objects], [plain(label) for label in solution.classes]
    proba, best = solution.row_proba[rows], solution.row_classes[rows]
    others = np.where(np.arange(len(labels)) == best[:, None], -1, proba)
    columns: dict[str, list[Any]] = {
        "object": [solution.name_of(i) for i in objects.tolist()],
        "label": [labels[z] for z in best],
        "confidence": proba.max(axis=1, initial=0.0).tolist(),
        "runner_up": [labels[z] if len(labels) > 1 else None for z in others.argmax(axis=1)],
        "margin": solution.row_margin[rows].tolist(),
        "votes": [_tally_text(votes, i) for i in objects.tolist()],
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


def _tally_text(votes: Votes, i: int) -> str:
    """The first five answers to an object, and how many votes each has, as text."""
    tally = tally_of(votes_on(votes, i), votes.models)
    more = [f"{len(tally) - 5} more"] * (len(tally) > 5)
    return ", ".join([*(f"{label} ({number_text(n)})" for label, n in tally[:5]), *more])


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


# ---- why an object got its answer ----------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Why one object got its answer: parts that add up to its class probabilities.

    Attributes
    ----------
    label, proba
        The answer and the class probabilities.
    by_model : Table
        The vote of each base model, and how much it gave to each class.
    by_term : Table
        How much each term gave to each class: the distributions of its groups, the objects it
        shares groups with, its own votes, its known label.
    parts : dict of (base model, term) -> array
        The parts themselves, one number per class; they add up to `proba`. Where `unit` is "log
        evidence" (Dawid-Skene) they add up to the logarithms of `proba`, less their mean: +1 for
        one class over another means 2.7 times as likely. Of a panel, the part of a base model is
        how far its vote moves the answer.
    unit : "probability", "log evidence" or "change of probability"
        What the parts are measured in.
    """

    object: Label
    label: Label
    classes: Array
    proba: Array
    parts: Mapping[tuple[str, str], Array]
    unit: str
    by_model: Table
    by_term: Table
    silent: int  # how many base models said nothing about the object, and gave nothing to any class

    def as_dict(self) -> dict[str, Any]:
        """The explanation as JSON can hold it."""
        return {
            "object": self.object,
            "label": self.label,
            "proba": dict(zip(map(str, self.classes), self.proba.tolist(), strict=True)),
            "unit": self.unit,
            "by_model": list(self.by_model.rows()),
            "silent": self.silent,
            "by_term": list(self.by_term.rows()),
        }

    def __repr__(self) -> str:
        classes = zip(self.classes, self.proba, strict=True)
        shares = ", ".join(f"{shown(plain(label))} {p:.3f}" for label, p in classes)
        name, label = clipped(repr(self.object)), clipped(repr(self.label))
        models = str(self.by_model)
        if self.silent:
            models += f"\n{count(self.silent, 'other base model')} said nothing about it."
        head = printable(f"Object {name} is {label} ({shares})")
        parts = [UNITS[self.unit], models, str(self.by_term)] if self.parts else [models, NO_PARTS]
        return "\n\n".join(filter(None, [head, *parts]))


def explain(consensus: Solved, i: Any) -> Explanation:
    """Explain one object: what each base model said, and it and each term gave to each class.

    The object is given by its number, or by its name where the votes came from a long table.

    Returns
    -------
    Explanation
        Its parts add up to the object's class probabilities (of Dawid-Skene: to their logarithms,
        less the mean). C3E and UPE have no such parts: there it shows the votes only.

    Examples
    --------
    >>> from ec3learn import SoftVote, Votes
    >>> SoftVote().solve(Votes.from_labels({"svm": ["a", "b"], "knn": ["a", "a"]})).explain(1)
    Object 1 is 'a' (a 0.500, b 0.500)
    <BLANKLINE>
    model  kind        said  weight   to a   to b
    svm    classifier  b      0.500  0.000  0.500
    knn    classifier  a      0.500  0.500  0.000
    <BLANKLINE>
    term   weight   to a   to b
    votes   1.000  0.500  0.500
    """
    solution = solution_of(consensus)
    votes = solution.require_votes("explain")
    position = solution.position_of(i)
    row = position if votes.index is None else int(votes.index[position])
    parts: dict[tuple[str, str], Array] = {}
    if solution.rule is not None:
        known = solution.known
        if known is not None:
            known = KnownLabels(known.codes[row : row + 1], known.pull)
        owner = np.repeat(np.arange(len(solution.models)), np.diff(solution.group_offsets))
        groups = aligned_membership(solution, votes[position], warn=False)
        for (m, term), part in solution.rule.contributions(groups, owner, known).items():
            parts[term if m is None else solution.models[m].name, term] = part
    unit = "probability" if solution.rule is None else solution.rule.unit
    said = dict(zip([model.name for model in votes.models], votes.said(position), strict=True))
    kinds = {model.name: solution.called(model.kind) for model in votes.models}
    by_model, by_term = _sums(parts, 0), _sums(parts, 1)
    nothing = np.zeros(len(solution.classes))
    names = [
        name
        for name in said | by_model
        if said.get(name) is not None or by_model.get(name, nothing).any()
    ]
    gave = [by_model.get(name, nothing) for name in names]
    models: dict[str, Sequence[Any]] = {
        "model": names,
        "kind": [kinds.get(name, "") for name in names],
        "said": [_said_text(said.get(name)) for name in names],
    }
    return Explanation(
        object=solution.name_of(position),
        label=plain(solution.classes[solution.row_classes[row]]),
        classes=solution.classes,
        proba=solution.row_proba[row],
        parts=parts,
        unit=unit,
        by_model=Table(models | (_columns(gave, solution.classes, unit) if parts else {})),
        by_term=Table(
            {"term": list(by_term)} | _columns(list(by_term.values()), solution.classes, unit)
        ),
        silent=len(said) - sum(name in said for name in names),
    )


def _sums(parts: Mapping[tuple[str, str], Array], place: int) -> dict[str, Array]:
    """The sum of the parts of each base model (place 0) or term (place 1)."""
    sums: dict[str, Array] = {}
    for names, part in parts.items():
        sums[names[place]] = sums.get(names[place], 0.0) + part
    return sums


def _columns(parts: list[Array], classes: Array, unit: str) -> dict[str, Sequence[Any]]:
    """How much each of these parts counted, and what it gave to each class.

    What counts is its share of the answer, or how far its evidence sets the classes apart.
    """
    table = np.reshape(parts, (len(parts), len(classes)))
    weight = table.sum(axis=1) if unit == "probability" else np.ptp(table, axis=1)
    gave = zip(classes, table.T.tolist(), strict=True)
    return {"weight": weight.tolist(), **{f"to {plain(label)}": part for label, part in gave}}


def _said_text(answer: Any) -> str:
    if isinstance(answer, dict):
        return ", ".join(f"{label} {share:.2f}" for label, share in answer.items())
    return "" if answer is None else str(answer)
