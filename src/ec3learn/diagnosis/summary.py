"""An answer in a few lines: who agrees, what is contested, how good it is, what to beware of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._table import Table, first_rows
from .._text import count, listed, percent, printable
from ..algebra.membership import normalised
from ..answer.notes import Note, one_per_kind
from ..answer.solution import Solution, Solved, solution_of
from ..votes.labels import plain
from .contested import CLOSE, close_calls
from .estimate import LEAST_LABELS, Estimate, class_shares, estimate
from .labels import HARD, given_labels, label_weights, read_labels, taught_labels
from .metrics import are_counts, changed_share, given_weights, majority, row_weights
from .score import Score, Solver, cross_fit, enough_known, judge, score_of_hidden
from .voter_checks import worst_first
from .warnings import notes_of, score_notes

FIRST = ("choice", "calibration")  # notes that say whose answer it is and how sure


@dataclass(frozen=True, repr=False)
class Summary:
    """What a person wants to know first."""

    method: str
    n_objects: int  # by their weights
    n_distinct: int  # rows
    classes: Table  # class and share; where labels show it, the true share as estimated, low, high
    voters: Table  # as `Consensus.voters` has them, those in trouble first
    contested: float  # the share of objects that are close calls
    changed: float | None  # the share of labels that differ from the majority vote's
    held_out: Score | None  # by known labels that were hidden from the method
    judged: Score | None  # by true labels that the method was not given
    notes: tuple[Note, ...]  # those of the consensus, and what known and true labels show

    @property
    def warning(self) -> str | None:
        """The note that the majority vote is better on known labels, if it is."""
        worse = (note for note in self.notes if note.kind == "worse than majority")
        return next(map(str, worse), None)

    def as_dict(self) -> dict[str, Any]:
        """The same for machines."""
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
        """The notes that are not among the lines."""
        return tuple(note for note in self.notes if note.kind not in FIRST)

    @property
    def lines(self) -> list[str]:
        """What was solved by which method and why, and single numbers, in words."""
        distinct = "" if self.n_distinct == self.n_objects else f" ({self.n_distinct:,} distinct)"
        classes = (
            f"{count(len(self.classes), 'class', 'classes')} {listed(self.classes['class'], 5)}"
        )
        lines = [f"{self.method}: {count(self.n_objects, 'object')}{distinct}, {classes}"]
        lines += [str(note) for note in self.notes if note.kind in FIRST]
        lines.append(f"Contested: {percent(self.contested)} of the objects (margin below {CLOSE})")
        if self.changed:
            lines.append(f"Different from the majority vote: {percent(self.changed)} of the labels")
        return lines + [str(score) for score in (self.held_out, self.judged) if score is not None]

    def __repr__(self) -> str:
        tables = (first_rows(self.classes, "classes"), first_rows(self.voters, "base models"))
        notes = (f"Note: {note}" for note in one_per_kind(self.further_notes))
        return "\n\n".join(["\n".join(map(printable, self.lines)), *tables, *notes])


def summarise(
    consensus: Solved, method: Solver | None = None, *, truth: Any = None, fast: bool = False
) -> Summary:
    """Summarise an answer.

    Parameters
    ----------
    consensus : Consensus
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
    >>> said = {"svm": ["a", "b", "b"], "knn": ["a", "a", "b"], "tree": ["a", "a", "b"]}
    >>> votes = Votes.from_labels(said)
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
    solution = solution_of(consensus)
    votes, weight = solution.require_votes("summary"), row_weights(solution)
    held_out, shares = _by_known(solution, None if fast else method)
    judged = None if truth is None else judge(solution, truth)
    if judged is not None:
        shares = _by_truth(solution, truth) or shares
    notes = notes_of(solution, fast=True) if fast else consensus.notes
    by_class = np.bincount(solution.row_classes, weights=weight, minlength=len(solution.classes))
    return Summary(
        method=str(solution.settings["method"]),
        n_objects=round(float(weight.sum())),
        n_distinct=votes.n_rows,
        classes=_classes(solution, normalised(by_class.astype(np.float64)).tolist(), shares),
        voters=worst_first(solution),
        contested=float(weight @ close_calls(solution)) / max(float(weight.sum()), 1e-300),
        changed=changed_share(solution, majority(solution)),
        held_out=held_out,
        judged=judged,
        notes=tuple(
            dict.fromkeys(
                note
                for note in (*notes, *_label_notes(solution, truth, held_out, judged))
                if note.kind != "distinct rows"  # these are counted above
            )
        ),
    )


def _label_notes(
    solution: Solution, truth: Any, held_out: Score | None, judged: Score | None
) -> list[Note]:
    """What known and true labels show, or why they show nothing."""
    notes = [
        note for score in (held_out, judged) if score is not None for note in score_notes(score)
    ]
    true_labels = read_labels(solution, truth, "truth")
    if truth is not None and not true_labels.only(~given_labels(solution)).any:
        text = (
            "All true labels belong to objects whose labels the method was given, so nothing is "
            "judged by them."
        )
        notes.append(Note("not judged", text))
    if any(
        label_weights(solution, each) is None for each in (taught_labels(solution), true_labels)
    ):
        notes.append(Note("chosen labels", f"{HARD}."))
    return notes


def _by_known(solution: Solution, method: Solver | None) -> tuple[Score | None, list[Estimate]]:
    """What known labels say of the answer, by cross-validation, and of the shares of classes."""
    labels = taught_labels(solution)
    if not labels.any:
        return None, []
    if method is None or not enough_known(solution):
        return None, class_shares(solution, labels)
    proba, classes = cross_fit(solution, method)
    return score_of_hidden(solution, proba, classes), class_shares(solution, labels, proba)


def _by_truth(solution: Solution, truth: Any) -> list[Estimate]:
    """What labels that the method was not given say of the shares of the classes."""
    labels = read_labels(solution, truth, "truth").only(~given_labels(solution))
    if not are_counts(given_weights(solution)) or labels.n < LEAST_LABELS:
        return []
    rows = list(estimate(solution, None, labels).rows())[: len(solution.classes)]
    return [Estimate(row["value"], row["low"], row["high"], row["worth"]) for row in rows]


def _classes(solution: Solution, shares: list[float], estimates: Sequence[Estimate]) -> Table:
    classes = [plain(label) for label in solution.classes]
    if not estimates:
        return Table({"class": classes, "share": shares})
    rows = [
        (label, share, each.value, each.low, each.high)
        for label, share, each in zip(classes, shares, estimates, strict=True)
    ]
    return Table.of(("class", "share", "estimate", "low", "high"), rows)
