"""Notes: what a user should know about an answer, each with a kind that programs can go by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .._text import count, printable

DISTINCT_ROWS = "distinct rows"  # the objects are the distinct rows of a table
SAMPLE = "sample"  # only the most frequent rows were solved
UNANSWERED = "unanswered"  # objects that no vote reaches
WORSE_THAN_CHANCE = "worse than chance"  # voters that got no weight
WEIGHTS = "weights"  # learned weights that should not be believed
BIAS = "bias"  # voters that are biased, not only unreliable
CONSTANT = "constant"  # voters that always say the same
NO_BETTER_THAN_CHANCE = (
    "no better than chance"  # voters that agree with the answer as often as random votes would
)
CHOSEN_LABELS = "chosen labels"  # known or true labels that were not drawn at random
NOT_JUDGED = "not judged"  # true labels that judge nothing
NOT_CONVERGED = "not converged"  # the solver stopped early
ONE_CLASS = "one class"  # all objects got the same class
SAME_AS_MAJORITY = "same as majority"  # no label differs from the majority vote's
WORSE_THAN_MAJORITY = "worse than majority"  # on labels that the method did not see
OVERCONFIDENT = "overconfident"  # more confident than right, on labels that the method did not see
COLLAPSE = "collapse"  # an answer that is far from every other
CALIBRATION = "calibration"  # what the confidence rests on
CONTRADICTION = "contradiction"  # known labels that contradict the votes
CHOICE = "choice"  # which method was chosen, and why
FEATURES = "features"  # what the features of the objects added to the votes
PRIOR = "prior"  # how far class probabilities from elsewhere were trusted
REPEATS = "repeats"  # several votes of a voter on one object
LOOK_ALIKE = (
    "look alike"  # labels or voters that differ only in case, spaces or how a number is written
)
NO_ANSWER = "no answer"  # a label that may mean that a voter did not answer
DECIDED_ALONE = "decided alone"  # voters whom the answer follows on every object, though most votes often name another class
ONE_VOTER = "one voter"  # nobody to compare a voter with
TWO_VOTERS = "two voters"  # who disagree, and nothing shows who of them is right
LONG_TABLE = "long table"  # one voter and nothing else, as where a table with one row per vote is read as one per object
GRADES = "grades"  # answers on a scale that were taken as votes for classes
LEFT_OUT = "left out"  # base models that failed or were not selected
FEW_LABELS = "few labels"  # classes with fewer labels than folds
FREE_TEXT = "free text"  # columns of text that base models would take for categories
UNUSED_LABELS = "unused labels"  # known labels that the method does not support
WARNING = "warning"  # a warning of the method

# Kinds that say: look twice before you use the answer. The others only say how it came about.
ABOUT_VOTERS = {
    WORSE_THAN_CHANCE,
    WEIGHTS,
    BIAS,
    CONSTANT,
    NO_BETTER_THAN_CHANCE,
    ONE_VOTER,
    TWO_VOTERS,
    DECIDED_ALONE,
}
ABOUT_LABELS = {LOOK_ALIKE, LONG_TABLE, CONTRADICTION}
ABOUT_THE_ANSWER = {
    NOT_CONVERGED,
    ONE_CLASS,
    SAME_AS_MAJORITY,
    WORSE_THAN_MAJORITY,
    OVERCONFIDENT,
    COLLAPSE,
}
WARNINGS = ABOUT_VOTERS | ABOUT_LABELS | ABOUT_THE_ANSWER

MOST_OF_A_KIND = 3  # notes that are shown in full


@dataclass(frozen=True, repr=False)
class Note:
    """A note: its kind, and the text to show.

    Examples
    --------
    >>> print(Note("unanswered", "1 object has no vote."))
    1 object has no vote.
    """

    kind: str
    marked: str

    @property
    def text(self) -> str:
        """The text, as it can be printed."""
        return printable(self.marked)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Note(kind={self.kind!r}, text={self.text!r})"


def one_per_kind(notes: Iterable[Note]) -> list[Note]:
    """Return the notes with those of one kind as one, of which the first are shown in full.

    Examples
    --------
    >>> failed = [Note("left out", f"{name} failed.") for name in ("svm", "knn", "tree", "bayes")]
    >>> one_per_kind([*failed, Note("repeats", "2 votes were repeated.")])[0].text
    'svm failed. knn failed. tree failed. And 1 more note of this kind.'
    """
    by_kind: dict[str, list[str]] = {}
    for note in notes:
        by_kind.setdefault(note.kind, []).append(note.marked)
    shown = []
    for kind, texts in by_kind.items():
        rest = len(texts) - MOST_OF_A_KIND
        more = [] if rest <= 0 else [f"And {count(rest, 'more note', 'more notes')} of this kind."]
        shown.append(Note(kind, " ".join([*texts[:MOST_OF_A_KIND], *more])))
    return shown
