"""What to be careful about: notes on the answer, on the voters, and on what labels show."""

from __future__ import annotations

from .._text import arg, count, percent, shown, some
from ..answer.notes import LEAVE_OUT, Note
from ..answer.solution import Solution
from ..votes import has_clusterings
from ..votes.labels import plain
from .correlation import erring_voters
from .labels import HARD, measuring, taught_labels
from .metrics import Majority, changed_rows, changed_share, majority, row_weights
from .score import Score
from .voter_checks import ORDER, Doubt, bias_notes, voter_checks

OFTEN = 0.05  # the share of labels that must differ before it is worth a note


def notes_of(solution: Solution, *, fast: bool = False) -> tuple[Note, ...]:
    """The notes of the method, and what is odd about the answer and the voters.

    `fast` leaves out whether the voters are biased.
    """
    notes = list(solution.notes)
    if solution.votes is None or not solution.has_objects:
        return solution.notes
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
        remedy = f"raise {arg('max_iter')} or {arg('tol')} and solve again."
        text = f"The solver stopped before it reached its tolerance: {remedy}"
        notes.append(Note("not converged", text))
    if len(solution.classes) == 1:
        notes.append(Note("one class", "There is only one class, so every object has it."))
    if votes is None or len(solution.classes) == 1:
        return notes
    weight = row_weights(solution)
    others = float(weight @ (votes.classes != classes)) / max(float(weight.sum()), 1e-300)
    if (classes == classes[0]).all() and others >= OFTEN:
        label = shown(plain(solution.classes[classes[0]]))
        though = f"though most votes name another for {percent(others)} of them"
        text = f"All objects got the class {label}, {though}. Compare with another method."
        notes.append(Note("one class", text))
    elif _only_decides_ties(solution, votes) and _disagree(solution, votes):
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


def _only_decides_ties(solution: Solution, votes: Majority) -> bool:
    """Whether every label that the method chose is among those with the most votes."""
    against = row_weights(solution) @ (changed_rows(solution, votes) == 1)
    return changed_share(solution, votes) is not None and not against


def _disagree(solution: Solution, votes: Majority) -> bool:
    """Whether voters disagree on an object that counts."""
    return bool(row_weights(solution) @ (votes.proba.max(axis=1) < 1 - 1e-9))


HINT = f"Try it without them ({LEAVE_OUT})."
WHAT_VOTES_DO: dict[Doubt, str] = {
    "worse than chance": "agree with the answer less often than random ones would.",
    "no better than chance": "agree with the answer no more often than random ones would.",
    "always says the same": "carry no information about an object.",
}


def _voter_notes(solution: Solution) -> list[Note]:
    """A note per kind of doubt about voters."""
    names: dict[Doubt, list[str]] = {doubt: [] for doubt in ORDER}
    for row in voter_checks(solution).rows():
        if row["model"] not in solution.worse_than_chance:  # the method has a note on these
            label = "" if row["says"] is None else f" ({row['says']!r})"
            names[row["doubt"]].append(shown(row["model"]) + label)
    return [
        Note(
            doubt, f"{doubt.capitalize()}: {some(voters)}. Such votes {WHAT_VOTES_DO[doubt]} {HINT}"
        )
        for doubt, voters in names.items()
        if voters
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
