"""What to be careful about: notes on the answer, on the voters, and on what labels show."""

from __future__ import annotations

from .._text import arg, count, percent, shown, some
from ..answer.notes import Note, NoteKind
from ..answer.solution import Solution
from ..votes import has_clusterings
from ..votes.labels import plain
from .correlation import erring_voters
from .labels import HARD, label_weights, taught_labels
from .metrics import FEW, Majority, changed_rows, changed_share, is_majority, majority, row_weights
from .score import Score
from .voter_checks import ALWAYS, NO_BETTER, WORSE, bias_of, voter_checks
from .voters import voters

OFTEN = 0.05  # the share of labels that must differ before it is worth a note
LEAST_VOTERS = MOST_LEADERS = 3  # voters below which, and leaders above which, it is not said


def notes_of(solution: Solution, *, fast: bool = False) -> tuple[Note, ...]:
    """The notes of the method, and what is odd about the answer and the voters.

    `fast` leaves out whether the voters are biased.
    """
    notes = list(solution.notes)
    if solution.votes is None or not solution.has_objects:
        return tuple(notes)
    if label_weights(solution, taught_labels(solution)) is None:  # what they would measure is wrong
        notes = [note for note in notes if note.kind != "calibration"]
        notes.append(Note("chosen labels", f"{HARD}."))
    votes = majority(solution)
    notes += _answer_notes(solution, votes)
    notes += [] if votes is None or is_majority(solution) else _leader_notes(solution, votes)
    notes += [*two_voter_notes(solution), *_voter_notes(solution)]
    notes += [] if fast else bias_notes(solution)
    return tuple(dict.fromkeys(notes))


def bias_notes(solution: Solution) -> list[Note]:
    """The note that the voters look biased, unless the method has it already."""
    if any(note.kind == "bias" for note in solution.notes):
        return []
    bias = bias_of(solution)
    return [] if bias is None else [bias]


def _leader_notes(solution: Solution, votes: Majority) -> list[Note]:
    """A note on voters whom the answer always follows, though most votes often name another class.

    A pair of copies does this. So does a pair that is never wrong: nothing in the votes tells the
    two apart.
    """
    n_voters = sum(model.kind == "classifier" for model in solution.models)
    weight = row_weights(solution)
    outvoted = float(weight @ changed_rows(solution, votes)) / max(float(weight.sum()), 1e-300)
    if weight.sum() < FEW or n_voters < LEAST_VOTERS or outvoted < OFTEN:
        return []
    followed = (row for row in voters(solution).rows() if row["agreement"] == 1)
    leaders = [shown(row["model"]) for row in followed if row["coverage"] >= 0.5]
    if not 0 < len(leaders) <= MOST_LEADERS:
        return []
    apart = f"though most votes name another class for {percent(outvoted)} of the objects"
    copies = "If they copy each other, drop all but one."
    remedy = copies if len(leaders) > 1 else "Make sure that it is that good."
    text = f"The answer always follows {some(leaders)}, {apart}. {remedy}"
    return [Note("decided alone", text)]


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
    elif changed_share(solution, votes) == 0 and (votes.proba.max(axis=1) < 1 - 1e-9).any():
        but = "What may differ is how confident the answer is."
        text = f"No label differs from the majority vote's. {but}"
        notes.append(Note("same as majority", text))
    return notes


OF_DOUBTS: dict[str, tuple[NoteKind, str]] = {
    WORSE: (
        "worse than chance",
        "Worse than chance: {}. Such votes agree with the answer less often than random ones "
        "would.",
    ),
    NO_BETTER: (
        "no better than chance",
        "No better than chance: {}. Such votes agree with the answer no more often than random "
        "ones would.",
    ),
    ALWAYS: (
        "constant",
        "Always the same label: {}. Such votes carry no information about an object. Leave them "
        "out.",
    ),
}


def two_voter_notes(solution: Solution) -> list[Note]:
    """A note that two voters who disagree do not show who is right, unless something else could."""
    votes = solution.votes
    if votes is None:
        return [note for note in solution.notes if note.kind == "two voters"]
    if solution.known is not None or votes.prior is not None or has_clusterings(votes):
        return []
    shares = majority(solution) if len(erring_voters(votes)) == 2 else None
    if shares is None or not (row_weights(solution) @ (shares.proba.max(axis=1) < 1 - 1e-9)):
        return []
    text = (
        "Two voters do not show which of them is right where they disagree: what is said of each "
        "tells whom the answer follows"
    )
    return [Note("two voters", f"{text}. Add a third voter, or pass {arg('known')}.")]


def _voter_notes(solution: Solution) -> list[Note]:
    """A note per kind of doubt about voters."""
    names: dict[str, list[str]] = {doubt: [] for doubt in OF_DOUBTS}
    for row in voter_checks(solution).rows():
        if row["model"] not in solution.worse_than_chance:  # the method has a note on these
            label = f" ({row['says']!r})" if row["doubt"] == ALWAYS else ""
            names[row["doubt"]].append(shown(row["model"]) + label)
    return [
        Note(kind, text.format(some(names[doubt])))
        for doubt, (kind, text) in OF_DOUBTS.items()
        if names[doubt]
    ]


def score_notes(score: Score) -> list[Note]:
    """Notes that the majority vote is better, or the answer too sure, by unseen labels."""
    hidden, notes = score.cross_validated, []
    differ = score.difference
    if differ is not None and differ.second > differ.first and not differ.inconclusive:
        labels = (
            "known labels that were hidden from the method" if hidden else "the held-out labels"
        )
        first, second, p = differ.first, differ.second, differ.p_value
        text = (
            f"The majority vote is better on {labels}: where the two differ, it is right on "
            f"{count(second, 'object')} and"
        )
        remedy = "Try another method, or take the majority vote."
        notes.append(
            Note(
                "worse than majority",
                f"{text} the consensus on {first:,} (p = {p:.1g}). {remedy}",
            )
        )
    if score.overconfident:
        labels = "hidden known labels" if hidden else "the held-out labels"
        sure = f"the mean confidence is {score.consensus.confidence:.3f}, but only"
        text = f"The answer is overconfident: on {labels} {sure}"
        notes.append(Note("overconfident", f"{text} {percent(score.accuracy)} are correct."))
    return notes
