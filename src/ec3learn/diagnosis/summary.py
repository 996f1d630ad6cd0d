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
from .labels import HARD, Labels, given_labels, measuring, read_labels, taught_labels
from .metrics import are_counts, changed_share, given_weights, majority, row_weights
from .score import Score, Solver, cross_validate, judge
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
    changed: float | None  # the share of labels not of the majority vote; ties count in part
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

    def __repr__(self) -> str:
        distinct = "" if self.n_distinct == self.n_objects else f" ({self.n_distinct:,} distinct)"
        classes = (
            f"{count(len(self.classes), 'class', 'classes')} {listed(self.classes['class'], 5)}"
        )
        lines = [f"{self.method}: {count(self.n_objects, 'object')}{distinct}, {classes}"]
        lines += [str(note) for note in self.notes if note.kind in FIRST]
        lines.append(f"Contested: {percent(self.contested)} of the objects (margin below {CLOSE})")
        if self.changed:
            share = f"{percent(self.changed)} of the labels (ties count in part)"
            lines.append(f"Different from the majority vote: {share}")
        lines += [str(score) for score in (self.held_out, self.judged) if score is not None]
        voters = f"{first_rows(self.voters, 'base models')}\n{self.voters.note}".rstrip()
        tables = (first_rows(self.classes, "classes"), voters)
        further = one_per_kind(note for note in self.notes if note.kind not in FIRST)
        notes = (f"Note: {note}" for note in further)
        return "\n\n".join(["\n".join(map(printable, lines)), *tables, *notes])


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
    model  kind        coverage  agreement
    svm    classifier     1.000      0.667
    knn    classifier     1.000      1.000
    tree   classifier     1.000      1.000
    The lowest agreement comes first, allowing for chance.
    <BLANKLINE>
    Note: Wherever one class has the most votes, the answer names it: only ties were decided.
    """
    solution = solution_of(consensus)
    votes, weight = solution.require_votes("summary"), row_weights(solution)
    taught, true_labels = taught_labels(solution), read_labels(solution, truth, "truth")
    unseen = true_labels.only(~given_labels(solution))
    held_out = None if method is None or fast else cross_validate(solution, method)
    judged = judge(solution, unseen)
    notes = list(notes_of(solution, fast=True) if fast else consensus.notes)
    notes += [note for score in (held_out, judged) if score for note in score_notes(score)]
    if true_labels.any and not unseen.any:
        text = "The method was given all of the true labels, so nothing is judged by them."
        notes.append(Note("not judged", text))
    if any(measuring(solution, labels) is None for labels in (taught, true_labels)):
        notes.append(Note("chosen labels", f"{HARD}."))
    estimates = _by_truth(solution, unseen) or class_shares(solution, taught)
    by_class = np.bincount(solution.row_classes, weights=weight, minlength=len(solution.classes))
    return Summary(
        method=str(solution.settings["method"]),
        n_objects=round(float(weight.sum())),
        n_distinct=votes.n_rows,
        classes=_classes(solution, normalised(by_class.astype(np.float64)).tolist(), estimates),
        voters=worst_first(solution),
        contested=float(weight @ close_calls(solution)) / max(float(weight.sum()), 1e-300),
        changed=changed_share(solution, majority(solution)),
        held_out=held_out,
        judged=judged,
        # Distinct rows are counted above.
        notes=tuple(dict.fromkeys(note for note in notes if note.kind != "distinct rows")),
    )


def _by_truth(solution: Solution, unseen: Labels) -> list[Estimate]:
    """What labels that the method was not given say of the shares of the classes."""
    if not are_counts(given_weights(solution)) or unseen.n < LEAST_LABELS:
        return []
    rows = list(estimate(solution, None, unseen).rows())[: len(solution.classes)]
    return [Estimate(row["value"], row["low"], row["high"], row["worth"]) for row in rows]


def _classes(solution: Solution, shares: list[float], estimates: Sequence[Estimate]) -> Table:
    """Each class with its share of the answers, and the true share where labels show it."""
    names = [plain(label) for label in solution.classes]
    columns: dict[str, Sequence[Any]] = {"class": names, "share": shares}
    if estimates:
        columns["estimate"] = [each.value for each in estimates]
        columns["low"] = [each.low for each in estimates]
        columns["high"] = [each.high for each in estimates]
    return Table(columns)
