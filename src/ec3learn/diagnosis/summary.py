"""An answer in a few lines: what there is, who agrees, what is contested, how good it is, and what to be careful about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._table import Table, first_rows
from .._text import arg, count, listed, percent, printable, shown, some
from .._typing import Array
from ..algebra.linear import normalised
from ..answer import notes as kinds
from ..answer.notes import Note, one_per_kind
from ..answer.solution import Solution, Solved, solution_of
from ..votes import has_clusterings
from ..votes.labels import plain
from .contested import CLOSE, close_calls
from .correlation import erring_voters
from .doubts import ALWAYS, NO_BETTER, WORSE, bias_of, by_trouble, doubts
from .estimate import LEAST_LABELS, Estimate, class_shares, estimate
from .labels import HARD, given_labels, label_weights, read_labels, taught_labels
from .metrics import (
    Majority,
    are_counts,
    changed_rows,
    given_weights,
    is_majority,
    majority,
    open_rows,
    row_weights,
)
from .score import Score, Solver, cross_fit, enough_known, judge, score_of_hidden
from .voters import voters

FIRST = (
    kinds.CHOICE,
    kinds.CALIBRATION,
)  # notes that say whose answer it is and how sure, at the beginning


@dataclass(frozen=True, repr=False)
class Summary:
    """What a person wants to know first."""

    method: str
    n_objects: int  # by their weights
    n_distinct: int  # rows
    classes: Table  # class; share, the share of the objects that got it; and where labels show it, the true share as estimated, with low and high
    voters: Table  # as `Consensus.voters` has them, those in trouble first
    contested: float  # the share of objects that are close calls
    changed: (
        float | None
    )  # the share of labels, of those not held fixed, that differ from the majority vote's, if it is another
    held_out: Score | None  # how often the method is right on known labels that were hidden from it
    judged: Score | None  # how good the answer is by true labels that the method was not given
    notes: tuple[
        Note, ...
    ]  # what to be careful about: the notes of the consensus, and what known and true labels show

    @property
    def warning(self) -> str | None:
        """Return the note that the majority vote is better on known labels, if it is."""
        return next(
            (str(note) for note in self.notes if note.kind == kinds.WORSE_THAN_MAJORITY), None
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the same for machines."""
        return {
            "method": self.method,
            "objects": self.n_objects,
            "distinct": self.n_distinct,
            "classes": list(self.classes.rows()),
            "voters": list(self.voters.rows()),
            "contested": self.contested,
            "changed": self.changed,
            "held_out": None if self.held_out is None else self.held_out.as_dict(),
            "judged": None if self.judged is None else self.judged.as_dict(),
            "warning": self.warning,
            "notes": [str(note) for note in self.notes],
        }

    @property
    def further_notes(self) -> tuple[Note, ...]:
        """Return the notes that are not among the lines."""
        return tuple(note for note in self.notes if note.kind not in FIRST)

    @property
    def lines(self) -> list[str]:
        """Return what was solved by which method and why, and the facts that are single numbers, in words."""
        distinct = "" if self.n_distinct == self.n_objects else f" ({self.n_distinct:,} distinct)"
        names = listed(self.classes["class"], 5)
        lines = [
            f"{self.method}: {count(self.n_objects, 'object')}{distinct}, {count(len(self.classes), 'class', 'classes')} {names}",
            *(str(note) for note in self.notes if note.kind in FIRST),
            f"Contested: {percent(self.contested)} of the objects (margin below {CLOSE})",
        ]
        if self.changed:
            lines.append(f"Different from the majority vote: {percent(self.changed)} of the labels")
        return [
            *lines,
            *(str(score) for score in (self.held_out, self.judged) if score is not None),
        ]

    def __repr__(self) -> str:
        tables = (first_rows(self.classes, "classes"), first_rows(self.voters, "base models"))
        notes = (f"Note: {note}" for note in one_per_kind(self.further_notes))
        return "\n\n".join(["\n".join(map(printable, self.lines)), *tables, *notes])


OFTEN = (
    0.05  # the share of labels that must differ from the majority vote's before it is worth a note
)
FEW, LEAST_VOTERS, MOST_LEADERS = (
    30,
    3,
    3,
)  # objects, voters, and voters followed: below, and above, it is not said


def summarise(
    outcome: Solved, method: Solver | None = None, *, truth: Any = None, fast: bool = False
) -> Summary:
    """Summarise an answer.

    Parameters
    ----------
    outcome : Consensus
        One that holds its votes.
    method : Method
        What made it. It solves again five times, each time with a fifth of the known labels hidden,
        if there are 20 or more.
    truth : array with missing values, dict of object -> label, or pair (objects, labels)
        True labels to judge the answer by, as in `judge`.
    fast : bool
        Leave out what takes long: neither cross-validate `method`, nor ask Dawid-Skene whether the
        voters are biased.

    Examples
    --------
    >>> from ec3learn import EC3, Votes
    >>> votes = Votes.from_labels({"svm": ["a", "b", "b"], "knn": ["a", "a", "b"], "tree": ["a", "a", "b"]})
    >>> print(summarise(EC3().solve(votes)))
    iEC3: 3 objects, 2 classes ['a', 'b']
    Contested: 0.0 % of the objects (margin below 0.1)
    <BLANKLINE>
    class  share
    a      0.667
    b      0.333
    <BLANKLINE>
    model  kind        coverage  agreement  weight
    svm    classifier     1.000      0.667   1.000
    knn    classifier     1.000      1.000   1.000
    tree   classifier     1.000      1.000   1.000
    <BLANKLINE>
    Note: No label differs from the majority vote's. What may differ is how confident the answer is.
    """
    consensus, outcome = outcome, solution_of(outcome)
    votes = outcome.require_votes("summary")
    facts = _Facts(outcome)
    score, shares = _by_known(outcome, None if fast else method)
    judged = None if truth is None else judge(outcome, truth)
    if judged is not None:
        shares = _by_truth(outcome, truth) or shares
    found = notes_of(outcome, fast=True) if fast else consensus.notes
    notes = [note for note in found if note.kind != kinds.DISTINCT_ROWS]  # these are counted above
    notes += [
        note
        for by_labels in (score, judged)
        if by_labels is not None
        for note in score_notes(by_labels)
    ]
    if truth is not None and judged is None:
        text = "All true labels belong to objects whose labels the method was given, so nothing is judged by them."
        notes.append(Note(kinds.NOT_JUDGED, text))
    chosen = [taught_labels(outcome), read_labels(outcome, truth, "truth")]
    if any(label_weights(outcome, labels) is None for labels in chosen):
        notes.append(Note(kinds.CHOSEN_LABELS, f"{HARD}."))
    weight = facts.weight
    sums = np.bincount(outcome.row_classes, weights=weight, minlength=len(outcome.classes))
    return Summary(
        str(outcome.settings["method"]),
        round(float(weight.sum())),
        votes.n_rows,
        Table(
            {
                "class": [plain(label) for label in outcome.classes],
                "share": normalised(sums.astype(np.float64)).tolist(),
                **_columns(shares),
            }
        ),
        by_trouble(outcome),
        facts.share(close_calls(outcome)),
        facts.changed,
        score,
        judged,
        tuple(dict.fromkeys(notes)),
    )


def _by_known(outcome: Solution, method: Solver | None) -> tuple[Score | None, list[Estimate]]:
    """What known labels say of the answer and of the shares of the classes, with `method` by cross-validation."""
    labels = taught_labels(outcome)
    if not labels.any:
        return None, []
    if method is None or not enough_known(outcome):
        return None, class_shares(outcome, labels)
    proba, classes = cross_fit(outcome, method)
    return score_of_hidden(outcome, proba, classes), class_shares(outcome, labels, proba)


def _by_truth(outcome: Solution, truth: Any) -> list[Estimate]:
    """What labels that the method was not given say of the shares of the classes."""
    labels = read_labels(outcome, truth, "truth").only(~given_labels(outcome))
    if not are_counts(given_weights(outcome)) or labels.n < LEAST_LABELS:
        return []
    rows = list(estimate(outcome, None, labels).rows())[: len(outcome.classes)]
    return [Estimate(row["value"], row["low"], row["high"], row["worth"]) for row in rows]


def _columns(shares: Sequence[Estimate]) -> dict[str, list[float]]:
    """Estimated shares as columns; none where there are none."""
    heads = {"estimate": "value", "low": "low", "high": "high"} if shares else {}
    return {head: [getattr(share, name) for share in shares] for head, name in heads.items()}


def notes_of(outcome: Solution, *, fast: bool = False) -> tuple[Note, ...]:
    """Return the notes of the method, and where there are votes, what is odd about the answer and the voters.

    `fast` leaves out whether the voters are biased.
    """
    notes = list(outcome.notes)
    if outcome.votes is None or not outcome.has_objects:
        return tuple(notes)
    notes += [*_Facts(outcome).notes(), *([] if fast else bias_notes(outcome))]
    return tuple(dict.fromkeys(notes))


def bias_notes(outcome: Solution) -> list[Note]:
    """Return the note that the voters look biased, unless the method has it already."""
    bias = None if any(note.kind == kinds.BIAS for note in outcome.notes) else bias_of(outcome)
    return [] if bias is None else [bias]


@dataclass(frozen=True, eq=False)
class _Facts:
    """What several notes look at."""

    outcome: Solution

    @cached_property
    def weight(self) -> Array:
        return row_weights(self.outcome)

    @cached_property
    def majority(self) -> Majority | None:
        return majority(self.outcome)

    def share(self, rows: Array) -> float:
        return float(self.weight @ rows) / max(float(self.weight.sum()), 1e-300)

    @cached_property
    def changed(self) -> float | None:
        """Return the share of labels that differ from the majority vote's, of those that were not held fixed."""
        votes = None if is_majority(self.outcome) else self.majority
        total = float(self.weight @ open_rows(self.outcome))
        if votes is None or total <= 0:
            return None
        return float(self.weight @ changed_rows(self.outcome, votes)) / total

    def notes(self) -> list[Note]:
        return [
            *self._answer_notes(),
            *self._leader_notes(),
            *two_voter_notes(self.outcome),
            *_voter_notes(self.outcome),
        ]

    def _leader_notes(self) -> list[Note]:
        """Return a note on voters whom the answer always follows, though most votes often name another class.

        A pair of copies does this. So does a pair that is never wrong: nothing in the votes tells
        the two apart.
        """
        n_voters = sum(model.kind == "classifier" for model in self.outcome.models)
        if (
            self.changed is None
            or self.majority is None
            or self.weight.sum() < FEW
            or n_voters < LEAST_VOTERS
        ):
            return []
        outvoted = self.share(changed_rows(self.outcome, self.majority) & ~self.majority.tied)
        if outvoted < OFTEN:
            return []
        rows = voters(self.outcome).rows()
        leaders = [
            shown(row["model"]) for row in rows if row["agreement"] == 1 and row["coverage"] >= 0.5
        ]
        if not leaders or len(leaders) > MOST_LEADERS:
            return []
        apart = f"though most votes name another class for {percent(outvoted)} of the objects"
        remedy = (
            "If they copy each other, drop all but one."
            if len(leaders) > 1
            else "Make sure that it is that good."
        )
        return [
            Note(
                kinds.DECIDED_ALONE, f"The answer always follows {some(leaders)}, {apart}. {remedy}"
            )
        ]

    def _answer_notes(self) -> list[Note]:
        """Return what is odd about the answer itself."""
        outcome, notes = self.outcome, []
        if not outcome.converged:
            remedy = f"raise {arg('max_iter')} or {arg('tol')} and solve again"
            notes.append(
                Note(
                    kinds.NOT_CONVERGED,
                    f"The solver stopped before it reached its tolerance: {remedy}.",
                )
            )
        votes, classes = self.majority, outcome.row_classes
        if len(outcome.classes) == 1:
            notes.append(Note(kinds.ONE_CLASS, "There is only one class, so every object has it."))
        elif (
            votes is not None
            and (classes == classes[0]).all()
            and self.share(votes.classes != classes) >= OFTEN
        ):
            label, others = (
                shown(plain(outcome.classes[classes[0]])),
                percent(self.share(votes.classes != classes)),
            )
            text = f"All objects got the class {label}, though most votes name another for {others} of them."
            notes.append(Note(kinds.ONE_CLASS, f"{text} Compare with another method."))
        elif votes is not None and self.changed == 0 and (votes.proba.max(axis=1) < 1 - 1e-9).any():
            text = "No label differs from the majority vote's. What may differ is how confident the answer is."
            notes.append(Note(kinds.SAME_AS_MAJORITY, text))
        return notes


OF_DOUBTS = {  # the kind of note and its text, for each kind of doubt about voters
    WORSE: (
        kinds.WORSE_THAN_CHANCE,
        "Worse than chance: {}. Such votes agree with the answer less often than random ones would.",
    ),
    NO_BETTER: (
        kinds.NO_BETTER_THAN_CHANCE,
        "No better than chance: {}. Such votes agree with the answer no more often than random ones would.",
    ),
    ALWAYS: (
        kinds.CONSTANT,
        "Always the same label: {}. Such votes carry no information about an object. Leave them out.",
    ),
}


def two_voter_notes(outcome: Solution) -> list[Note]:
    """Return a note that two voters who disagree do not show who of them is right, unless something else could."""
    votes = outcome.votes
    if votes is None:
        return [
            note for note in outcome.notes if note.kind == kinds.TWO_VOTERS
        ]  # as they were saved
    if outcome.known is not None or votes.prior is not None or has_clusterings(votes):
        return []
    shares = majority(outcome) if len(erring_voters(votes)) == 2 else None
    if shares is None or not (row_weights(outcome) @ (shares.proba.max(axis=1) < 1 - 1e-9)):
        return []
    text = "Two voters do not show which of them is right where they disagree: what is said of each tells whom the answer follows"
    return [Note(kinds.TWO_VOTERS, f"{text}. Add a third voter, or pass {arg('known')}.")]


def _voter_notes(outcome: Solution) -> list[Note]:
    """Return a note per kind of doubt about voters."""
    doubted: dict[str, list[str]] = {doubt: [] for doubt in OF_DOUBTS}
    for row in doubts(outcome).rows():
        if row["model"] not in outcome.worse_than_chance:  # the method has a note on these
            label = f" ({row['says']!r})" if row["doubt"] == ALWAYS else ""
            doubted[row["doubt"]].append(shown(row["model"]) + label)
    return [
        Note(kind, text.format(some(doubted[doubt])))
        for doubt, (kind, text) in OF_DOUBTS.items()
        if doubted[doubt]
    ]


def score_notes(score: Score) -> list[Note]:
    """The notes that the majority vote is better, or the answer too sure, by labels that the method did not see."""
    hidden, notes = score.cross_validated, []
    if score.difference is not None and score.difference.second_is_better:
        labels = (
            "known labels that were hidden from the method" if hidden else "the held-out labels"
        )
        first, second, p = score.difference.first, score.difference.second, score.difference.p_value
        text = f"The majority vote is better on {labels}: where the two differ, it is right on {count(second, 'object')} and"
        remedy = "Try another method, or take the majority vote."
        notes.append(
            Note(
                kinds.WORSE_THAN_MAJORITY,
                f"{text} the consensus on {first:,} (p = {p:.1g}). {remedy}",
            )
        )
    if score.overconfident:
        labels = "hidden known labels" if hidden else "the held-out labels"
        text = f"The answer is overconfident: on {labels} the mean confidence is {score.consensus.confidence:.3f}, but only"
        notes.append(Note(kinds.OVERCONFIDENT, f"{text} {percent(score.accuracy)} are correct."))
    return notes
