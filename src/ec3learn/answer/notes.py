"""Notes: what a user should know about an answer, each with a kind that programs can go by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from .._text import count, printable

NoteKind = Literal[
    "always says the same",  # voters
    "bias",  # voters that are biased, not only unreliable
    "calibration",  # what the confidence rests on
    "choice",  # which method was chosen, and why
    "class prior",  # shares of the classes that were known otherwise
    "chosen labels",  # known or true labels that were not drawn at random
    "collapse",  # an answer that is far from every other
    "contradiction",  # known labels that contradict the votes
    "distinct rows",  # the objects are the distinct rows of a table
    "features",  # what the features of the objects added to the votes
    "few labels",  # classes with fewer labels than folds
    "free text",  # columns of text that base models would take for categories
    "grades",  # answers on a scale that were taken as votes for classes
    "long table",  # one voter alone, or columns exchanged: perhaps one row per vote
    "look alike",  # labels or voters that differ only in case, spaces or how a number is written
    "no answer",  # a label that may mean that a voter did not answer
    "no better than chance",  # voters that agree with the answer as often as random votes would
    "not converged",  # the solver stopped early
    "not judged",  # true labels that judge nothing
    "no votes",  # voters that said nothing that can be read
    "one class",  # all objects got the same class
    "one voter",  # nobody to compare a voter with
    "outside",  # answers off a scale that were taken as missing
    "overconfident",  # more confident than right, on labels that the method did not see
    "prior",  # how far class probabilities from elsewhere were trusted
    "repeats",  # several votes of a voter on one object
    "same as majority",  # no label differs from the majority vote's
    "sample",  # only the most frequent rows were solved
    "two voters",  # who disagree, and nothing shows who of them is right
    "unanswered",  # objects that no vote reaches
    "unused labels",  # known labels that the method does not support
    "warning",  # a warning of the method
    "weights",  # learned weights that should not be believed
    "worse than chance",  # voters that got no weight
    "worse than majority",  # on labels that the method did not see
]

# How to draw labels that calibrate; the command has its own form of it.
DRAW_LABELS = "consensus.ask(30, goal='share')"
LEAVE_OUT = "votes.drop"  # voters, likewise

# Kinds that say: look twice before you use the answer. The others only say how it came about.
WARNINGS: set[NoteKind] = {
    "always says the same",
    "bias",
    "collapse",
    "contradiction",
    "long table",
    "look alike",
    "no better than chance",
    "not converged",
    "one class",
    "one voter",
    "overconfident",
    "two voters",
    "weights",
    "worse than chance",
    "worse than majority",
}


@dataclass(frozen=True)
class Note:
    """A note: its kind, and its text.

    Examples
    --------
    >>> print(Note("unanswered", "1 object has no vote."))
    1 object has no vote.
    """

    kind: NoteKind
    text: str

    def __str__(self) -> str:
        """The text without what a terminal would obey."""
        return printable(self.text)


def one_per_kind(notes: Iterable[Note]) -> list[Note]:
    """The notes with those of one kind as one, of which the first three are shown in full.

    Examples
    --------
    >>> failed = [Note("warning", f"{name} failed.") for name in ("svm", "knn", "tree", "bayes")]
    >>> one_per_kind([*failed, Note("repeats", "2 votes were repeated.")])[0].text
    'svm failed. knn failed. tree failed. And 1 more note of this kind.'
    """
    by_kind: dict[NoteKind, list[str]] = {}
    for note in notes:
        by_kind.setdefault(note.kind, []).append(note.text)
    shown = []
    for kind, texts in by_kind.items():
        rest = len(texts) - 3
        more = [] if rest <= 0 else [f"And {count(rest, 'more note', 'more notes')} of this kind."]
        shown.append(Note(kind, " ".join([*texts[:3], *more])))
    return shown
