"""An answer in a few lines, and notes: what to be careful about, in the answer and in the votes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._table import Table, first_rows
from .._text import arg, count, listed, percent, printable, shown, some
from ..algebra.membership import normalised
from ..answer.notes import LEAVE_OUT, Note, NoteKind, one_per_kind
from ..answer.solution import Solution, Solved, solution_of
from ..votes import Votes, has_clusterings, n_alike
from ..votes.labels import plain
from .correlation import bias_notes, erring_voters
from .estimate import LEAST_DRAWN, class_shares, estimate
from .labels import HARD, Labels, given_labels, measuring, read_labels, taught_labels
from .metrics import (
    CLOSE,
    Majority,
    are_counts,
    changed_rows,
    changed_share,
    close_calls,
    given_weights,
    majority,
    row_weights,
)
from .score import Score, cross_validate, judge
from .voters import ORDER, Doubt, voter_checks, worst_first

if TYPE_CHECKING:
    from ..methods import Method

FIRST = ("choice", "calibration")  # notes that say whose answer it is and how sure


@dataclass(frozen=True, repr=False)
class Summary:
    """What a person wants to know first."""

    method: str
    n_objects: int  # by their weights
    n_distinct: int  # rows
    classes: Table  # class, share; where labels show it, an estimate of the true one, low, high
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
        names, n_classes = self.classes["class"], count(len(self.classes), "class", "classes")
        size = f"{count(self.n_objects, 'object')}{distinct}"
        lines = [f"{self.method}: {size}, {n_classes} {listed(names, 5)}"]
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
    consensus: Solved, method: Method | None = None, *, truth: Any = None, fast: bool = False
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
    The lowest 95 % upper bound of the agreement comes first.
    <BLANKLINE>
    Note: Wherever one class has the most votes, the answer names it: only ties were decided.
    """
    solution = solution_of(consensus)
    votes, weight = solution.require_votes("summary"), row_weights(solution)
    taught, true_labels = taught_labels(solution), read_labels(solution, truth, "truth")
    unseen = true_labels.only(~given_labels(solution))
    held_out = None
    if method is not None and taught.n and not fast:
        held_out = cross_validate(solution, method)
    judged = judge(solution, unseen) if unseen.n else None
    notes = list(notes_of(solution, fast=True) if fast else consensus.notes)
    notes += [note for score in (held_out, judged) if score for note in score_notes(score)]
    if true_labels.n and not unseen.n:
        text = "The method was given all of the true labels, so nothing is judged by them."
        notes.append(Note("not judged", text))
    if any(measuring(solution, labels) is None for labels in (taught, true_labels)):
        notes.append(Note("chosen labels", f"{HARD}."))
    return Summary(
        method=str(solution.settings["method"]),
        n_objects=round(float(weight.sum())),
        n_distinct=votes.n_rows,
        classes=_classes(solution, unseen, taught),
        voters=worst_first(solution),
        contested=float(weight @ close_calls(solution)) / max(float(weight.sum()), 1e-300),
        changed=changed_share(solution, majority(solution)),
        held_out=held_out,
        judged=judged,
        # Distinct rows are counted above.
        notes=tuple(dict.fromkeys(note for note in notes if note.kind != "distinct rows")),
    )


def _classes(solution: Solution, unseen: Labels, taught: Labels) -> Table:
    """Each class with its share of the answers, and the true share where labels show it."""
    names = [plain(label) for label in solution.classes]
    counts = np.bincount(solution.row_classes, row_weights(solution), len(names))
    columns: dict[str, Sequence[Any]] = {"class": names, "share": normalised(counts).tolist()}
    estimates = Table({})
    if unseen.n >= LEAST_DRAWN and are_counts(given_weights(solution)):
        estimates = estimate(solution, None, unseen)
    if taught.n and not len(estimates):
        estimates = class_shares(solution, taught)
    if len(estimates):
        of_classes = {"estimate": "value", "low": "low", "high": "high"}
        columns |= {name: estimates[end][: len(names)] for name, end in of_classes.items()}
    return Table(columns)


# ---- notes on the answer -------------------------------------------------------------------------


def notes_of(solution: Solution, *, fast: bool = False) -> tuple[Note, ...]:
    """The notes of the method, and what is odd about the votes, the answer and the voters.

    `fast` leaves out whether the voters are biased.
    """
    if solution.votes is None or not solution.has_objects:
        return solution.notes
    notes = [*solution.notes, *table_notes(solution.votes)]
    if measuring(solution, taught_labels(solution)) is None:  # what they would measure is wrong
        notes = [note for note in notes if note.kind != "calibration"]
        notes.append(Note("chosen labels", f"{HARD}."))
    notes += _answer_notes(solution, majority(solution))
    notes += [*two_voter_notes(solution), *_voter_notes(solution)]
    notes += [] if fast else bias_notes(solution)
    return tuple(dict.fromkeys(notes))


def _answer_notes(solution: Solution, votes: Majority | None) -> list[Note]:
    """What is odd about the answer itself."""
    notes, classes = [], solution.row_classes
    if not solution.converged:
        text = (
            "The solver stopped before it reached its tolerance: "
            f"raise {arg('max_iter')} or {arg('tol')} and solve again."
        )
        notes.append(Note("not converged", text))
    if len(solution.classes) == 1:
        notes.append(Note("one class", "There is only one class, so every object has it."))
    if votes is None or len(solution.classes) == 1:
        return notes
    weight = row_weights(solution)
    others = float(weight @ (votes.classes != classes)) / max(float(weight.sum()), 1e-300)
    if (classes == classes[0]).all() and others >= 0.05:
        text = (
            f"All objects got the class {shown(plain(solution.classes[classes[0]]))}, though most "
            f"votes name another for {percent(others)} of them. Compare with another method."
        )
        return [*notes, Note("one class", text)]
    chose = changed_share(solution, votes) is not None  # and is no majority vote itself
    against = weight @ (changed_rows(solution, votes) == 1)  # labels without the most votes
    if chose and not against and _disagree(solution, votes):
        text = "Wherever one class has the most votes, the answer names it: only ties were decided."
        notes.append(Note("same as majority", text))
    return notes


def two_voter_notes(solution: Solution) -> list[Note]:
    """A note that two voters who disagree do not show who is right, unless something else could."""
    votes, shares = solution.require_votes("notes"), majority(solution)
    if solution.known is not None or votes.prior is not None or has_clusterings(votes):
        return []
    if shares is None or len(erring_voters(votes)) != 2 or not _disagree(solution, shares):
        return []
    text = (
        "With two voters, nothing shows who is right where they disagree. What the tables say of "
        f"each tells whom the answer follows. Add a third voter, or pass {arg('known')}."
    )
    return [Note("two voters", text)]


def _disagree(solution: Solution, votes: Majority) -> bool:
    """Whether voters disagree on an object that counts."""
    return bool(row_weights(solution) @ (votes.proba.max(axis=1) < 1 - 1e-9))


WHAT_VOTES_DO: dict[Doubt, str] = {
    "worse than chance": "agree with the answer less often than random ones would.",
    "no better than chance": "agree with the answer no more often than random ones would.",
    "always says the same": "carry no information about an object.",
}
TRY = f"Try it without them ({LEAVE_OUT})."


def _voter_notes(solution: Solution) -> list[Note]:
    """A note per kind of doubt about voters."""
    names: dict[Doubt, list[str]] = {doubt: [] for doubt in ORDER}
    for row in voter_checks(solution).rows():
        if row["model"] not in solution.worse_than_chance:  # the method has a note on these
            label = "" if row["says"] is None else f" ({row['says']!r})"
            names[row["doubt"]].append(shown(row["model"]) + label)
    return [
        Note(doubt, f"{doubt.capitalize()}: {some(who)}. Such votes {WHAT_VOTES_DO[doubt]} {TRY}")
        for doubt, who in names.items()
        if who
    ]


def score_notes(score: Score) -> list[Note]:
    """Notes that the majority vote is better, or the answer too sure, by unseen labels."""
    labels, notes = "the held-out labels", []
    if score.cross_validated:
        labels = "known labels that were hidden from the method"
    first, second = score.wins
    if second > first and not score.inconclusive:
        text = (
            f"The majority vote is better on {labels}: where the two differ, it is right on "
            f"{count(second, 'object')} and the consensus on {first:,} (p = {score.p_value:.1g}). "
            "Try another method, or take the majority vote."
        )
        notes.append(Note("worse than majority", text))
    if score.overconfident:
        text = (
            f"The answer is overconfident: on {labels} the mean confidence is "
            f"{score.consensus.confidence:.3f}, but only {percent(score.accuracy)} are correct."
        )
        notes.append(Note("overconfident", text))
    return notes


# ---- notes on tables that may not be what they seem ----------------------------------------------

LONG = 200  # objects from which a table with a single column of labels is more likely a long one
NO_ANSWERS = {
    "",
    "#n/a",
    "--",
    "<na>",
    "?",
    "abstain",
    "don't know",
    "n.a.",
    "n/a",
    "na",
    "nan",
    "no answer",
    "not sure",
    "null",
    "skip",
    "skipped",
    "unknown",
    "unsure",
}


def table_notes(votes: Votes) -> list[Note]:
    """Notes on look-alikes, labels for no answer, a single voter, and columns that seem wrong."""
    notes, labels = [], votes.classes.tolist()
    voters = [model.name for model in votes.models if model.is_voter]
    differ = "differ only in case, spaces or how a number is written, and count as different"
    for names, what, mean in ((labels, "labels", "mean"), (voters, "voters", "are")):
        alike = look_alike(names)
        if alike:
            different = "classes" if what == "labels" else what
            remedy = f"Write them alike if they {mean} the same."
            notes.append(Note("look alike", f"Some {what} {differ} {different}: {alike}. {remedy}"))
    for label in labels:
        if is_no_answer(label, labels):
            remedy = f"If it means that a voter did not answer, pass {arg('missing', label)}."
            notes.append(Note("no answer", f"The label {label!r} counts as a class. {remedy}"))
    n_repeated, n_classes = votes.stores.n_repeated, len(labels)
    repeated = n_repeated > n_alike(votes).sum() and n_classes > max(len(voters), LONG // 4)
    if repeated or len(voters) > max(votes.n_objects, LONG):
        sizes = f"{len(voters):,} voters, {count(votes.n_objects, 'object')} and {n_classes} labels"
        notes.append(Note("long table", f"Perhaps columns are exchanged, for there are {sizes}."))
    if int(votes.models.is_voter.sum()) == 1:
        text = "There is only one voter, so nothing tells where it is wrong."
        columns = f"{arg('objects')} and {arg('voters')}"
        remedy = f"If the table has one row per vote, name its columns of {columns}."
        wide = len(votes.models) == 1 and votes.stores.sparse is None and not votes.stores.soft
        kind: NoteKind = "long table" if wide and votes.n_objects >= LONG else "one voter"
        notes.append(Note(kind, f"{text} {remedy}" if wide else text))
    return notes


def is_no_answer(label: Any, labels: Sequence[Any]) -> bool:
    """Whether a label looks as if it meant that somebody did not answer.

    -1 does where the classes are numbered from 0 to 2 or more; -1, 0 and 1 may be opinions. "none"
    may be a class, "None" is not.
    """
    if isinstance(label, str) and (label == "None" or label.casefold().strip() in NO_ANSWERS):
        return True
    return (
        str(label) == "-1"
        and {"-1", "0", "1", "2"} <= set(map(str, labels))
        and "-2" not in map(str, labels)
    )


def look_alike(labels: Sequence[Any]) -> str:
    """The first few labels that differ only in case, spaces or how a number is written."""
    meant: dict[str, list[str]] = {}
    for label in labels:
        if isinstance(label, str):
            text = " ".join(label.casefold().split())
            meant.setdefault(re.sub(r"^([+-]?[0-9]+)\.0+$", r"\1", text), []).append(label)
    found = [" and ".join(map(repr, own)) for own in meant.values() if len(own) > 1]
    return some(found, 3)
