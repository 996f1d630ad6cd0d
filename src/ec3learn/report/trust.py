"""The facts of the section "Can I trust it?": confidence, agreement, shares with intervals, and what to ask next."""

from __future__ import annotations

from typing import Any

from .._checks import InputError
from .._typing import Array
from ..answer.notes import CALIBRATION
from ..answer.outcome import Outcome
from ..diagnosis import agreement, ask, effective_voters, error_correlation, estimate
from ..diagnosis.contested import close_calls
from ..diagnosis.correlation import LEAST_LABELS
from ..diagnosis.counting import row_weights

ASKED = 50  # objects to ask about
DRAWS = 100  # for the intervals of agreement


def trust_facts(consensus: Outcome, judged: Array) -> dict[str, Any] | None:
    """Return what the section shows; None for a consensus without votes, or with a single class.

    `judged` has the classes of objects by labels that the method was not given, -1 for none.
    """
    votes = consensus.votes
    if votes is None or not consensus.has_objects or len(consensus.classes) < 2:
        return None
    codes = judged if (judged >= 0).any() or consensus.known is None else consensus.expand(consensus.known.codes)
    by_labels = int((codes >= 0).sum()) >= LEAST_LABELS
    correlation = error_correlation(votes, _labels(consensus, codes) if by_labels else None)
    n_votes = float(votes.n_votes[votes.is_voter].sum()) / max(votes.n_objects, 1)
    return {
        "calibration": [str(note) for note in consensus.solved_notes if note.kind == CALIBRATION],
        "agreement": _agreement(consensus),
        "n_votes": n_votes,
        "effective": effective_voters(votes, correlation) if votes.is_voter.sum() > 1 else None,
        "correlation": correlation,
        "by_labels": by_labels,
        "estimates": _estimates(consensus, judged),
        "ask": list(ask(consensus, ASKED).rows()),
        "n_close": round(float(row_weights(consensus) @ close_calls(consensus))),
    }


def _agreement(consensus: Outcome) -> list[dict[str, Any]]:
    """Return measures of agreement; none where voters answer on scales of their own."""
    assert consensus.votes is not None
    scores = any(model.kind == "grader" for model in consensus.models)
    try:
        rows = agreement(consensus.votes, "ordinal" if scores else "nominal", draws=DRAWS).rows()
        return [row for row in rows if row["value"] == row["value"]]
    except InputError:
        return []


def _estimates(consensus: Outcome, judged: Array) -> list[dict[str, Any]]:
    """Return shares and the accuracy from labels that the method did not see; none where they cannot be had."""
    try:
        return list(estimate(consensus, None, _labels(consensus, judged)).rows())
    except InputError:
        return []


def _labels(consensus: Outcome, codes: Array) -> Array:
    """Return classes as labels, None for none."""
    labels = consensus.classes.astype(object)[codes]
    labels[codes < 0] = None
    return labels
