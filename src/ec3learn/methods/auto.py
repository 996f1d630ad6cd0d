"""The default: the method that suits what there is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .._text import arg
from ..algebra.em import MOST_CONFUSIONS, n_confusions
from ..answer.notes import CHOICE, Note
from ..answer.rule import KnownLabels
from ..consensus import Consensus
from ..kernels import threads
from ..votes import Votes
from .base import Answer, Method, method_of
from .dawid_skene import DawidSkene
from .ec3.ec3 import EC3
from .panel import TO_GROUPS, Panel, are_mostly_soft
from .voting import SoftVote, WeightedVote


class Auto(Method):
    """Take the method that suits what there is: votes alone go to the panel, votes and clusterings to a panel that uses both.

    Examples
    --------
    >>> from ec3learn import Auto, Votes
    >>> consensus = Auto().solve(Votes.from_labels({"a": [0, 0, 1, 1, 0], "b": [0, 0, 1, 1, 1], "c": [1, 0, 1, 0, 0]}))
    >>> print(consensus.notes[0])
    Panel was chosen because there are votes alone, and several methods together answer best from those.
    """

    title = "Auto"
    reads_grades = True
    admits_prior = True

    def solve(self, votes: Votes, known: Any = None, prior: Any = None) -> Consensus:
        """Combine the votes; see `Method.solve`. The first note of the consensus says which method was taken, and why."""
        if not isinstance(votes, Votes):
            return super().solve(votes, known, prior)  # which refuses it
        method, why = self.choose(votes)
        consensus = method.solve(votes, known, prior)
        choice = Note(CHOICE, f"{consensus.settings['method']} was chosen because {why}")
        return replace(consensus, solved_notes=(choice, *consensus.solved_notes))

    def _answer(self, votes: Votes, known: KnownLabels | None) -> Answer:
        return self.choose(votes)[0].answer(votes, known)

    def _title(self, known: KnownLabels | None) -> str:
        return "Panel"

    def choose(self, votes: Votes) -> tuple[Method, str]:
        """Return the method that suits the votes, and why."""
        if votes.n_classes < 2:
            return SoftVote(), "there is only one class."
        if n_confusions(votes) > MOST_CONFUSIONS:
            why = "there are so many voters and classes that confusion matrices would fill the memory."
            return (EC3() if votes.has_clusterings else WeightedVote()), why
        if not votes.has_clusterings:
            return Panel(), "there are votes alone, and several methods together answer best from those."
        return Panel(clusterings="join"), "there are clusterings too, and several methods together answer best from both."


class AutoForJoins(Auto):
    """The default for tables too large to solve, whose other rows an engine answers by joins; a panel cannot be."""

    def choose(self, votes: Votes) -> tuple[Method, str]:
        """Return a method whose answers are sums over groups, and why."""
        if votes.n_classes < 2 or n_confusions(votes) > MOST_CONFUSIONS:
            return super().choose(votes)
        why = f"there are more distinct rows than {arg('max_rows')}, and the engine can answer for the others by it, not a panel."
        by_votes = WeightedVote() if are_mostly_soft(votes) else DawidSkene()
        return (EC3(*TO_GROUPS, towards=by_votes) if votes.has_clusterings else by_votes), why


def solve(
    votes: Votes, known: Any = None, method: str | Method = "auto", prior: Any = None, n_jobs: int | None = None
) -> Consensus:
    """Combine votes into one classification, in one call.

    Parameters
    ----------
    votes : Votes
        What classifiers, annotators or judges said, and clusterings if there are any.
    known : array with missing values, dict of object -> label, or pair (objects, labels)
        Labels of a few objects.
    method : str or method
        By default the one that suits what there is: `Auto`. A name in `METHODS`, or a method with parameters of your own.
    prior : table with one row per object and one column per class, or dict of object -> row
        Class probabilities that the object's own votes had no part in, such as those of a classifier of its features, out of
        fold. How far to trust them is learned from the votes, and from 30 known labels or more.
    n_jobs : int or None
        How many threads the compiled loops of the extra `fast` use on large tables: None is 1, or what joblib's
        `parallel_config` says; -1 is one per core.

    Examples
    --------
    >>> import ec3learn
    >>> votes = ec3learn.Votes.from_labels({"ann": ["a", "b", "b"], "bob": ["a", "a", "b"], "cy": ["a", "b", None]})
    >>> ec3learn.solve(votes).labels()
    array(['a', 'b', 'b'], dtype=object)
    """
    chosen = method_of(method, "method")
    if n_jobs is None:
        return chosen.solve(votes, known, prior)
    with threads(n_jobs):
        return chosen.solve(votes, known, prior)
