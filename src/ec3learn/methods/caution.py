"""Caution: how sure the panel may be of what few voters, or voters who err together, seem to show.

Methods that learn who is good take voters for independent, and what they learn for the truth. Two things keep their answers
honest. With few voters, the plain vote has a share of the answer, since so few tell little about each other. And where voters
form a jury, answers that add up evidence are tempered by how much the voters' errors seem to correlate: voters who err together
say the same thing twice.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._text import percent
from .._typing import Array
from ..algebra.linear import normalised
from ..algebra.membership import membership
from ..answer.mixtures import PanelRule, PrecisionRule
from ..answer.notes import PANEL, Note
from ..answer.outcome import PanelMember, class_preference, highest_classes
from ..answer.rule import KnownLabels, Rule
from ..diagnosis.correlation import effective_voters, error_correlation, shows_correlation
from ..votes import Votes
from ..votes.reading import smallest_uint
from .base import Answer
from .weights import votes_per_voter

IGNORANCE = 1.0  # votes that say nothing, added to a weighted vote: a single vote is no certainty
MOST_PLAIN, PLAIN, LEAST_PLAIN = 0.5, 4.5, 0.05  # with J voters the plain vote has a share of 4.5 / J^2 in the answer
UNSEEN = 30.0  # what J voters show of the correlation of their errors is multiplied by 1 + 30 / J, for errors that all share
USUAL, HARDLY_SEEN = 0.5, 20.0  # J voters show 1 / (1 + 20 / J^2) of it; for the rest, what is usual is assumed

# ---- few voters ------------------------------------------------------------------------------------------------------


def with_plain_vote(panel: Answer, votes: Votes, known: KnownLabels | None) -> Answer:
    """Return the answer with a share of the plain vote: the fewer voters there are, the less they tell about each other.

    Two voters who disagree do not show who is right, and of three each is judged by two. What is learned of them is then mostly
    noise, and the answer too sure. The share is the one with the least log loss for simulated voters, and for voters drawn from
    real crowds; it suits real language models that score, too.
    """
    n_voters = equivalent_voters(votes)
    # A single voter decides anyway, unless it scores: what its scores mean cannot be learned from them.
    share = min(MOST_PLAIN, PLAIN / n_voters**2) if n_voters > 1 else float(votes.has_graders)
    if share < LEAST_PLAIN:
        return panel
    assert isinstance(panel.rule, PanelRule)
    plain = cautious_vote(votes, votes.weights, panel.rule.fallback)
    seated = _mix(panel, plain, share, votes, known)
    fallback = normalised((votes.counts * ~panel.unanswered) @ panel.proba)
    panel.proba[panel.unanswered] = fallback
    n = len(panel.rule.members)
    rules, shares = (*panel.rule.members, (seated.name, plain)), np.array([*[(1 - share) / n] * n, share])
    return replace(
        panel,
        rule=replace(panel.rule, members=rules, shares=shares, fallback=fallback),
        members=(*(replace(member, share=(1 - share) * member.share) for member in panel.members), seated),
        notes=(*(panel.notes if share < 1 else ()), _plain_note(share)),
    )


def _mix(panel: Answer, plain: Rule, share: float, votes: Votes, known: KnownLabels | None) -> PanelMember:
    """Give the plain vote its share of the panel's answer, in place; return it as a member of the panel.

    Where its classes are tied and the panel's is among them, it is shown to agree.
    """
    order, total = class_preference(votes.counts @ panel.proba), max(float(votes.counts.sum()), 1e-300)
    classes, distance = np.empty(votes.n_rows, dtype=smallest_uint(votes.n_classes)), 0.0
    for rows, own, _ in plain.answers(membership(votes), known):
        others = panel.proba[rows]
        top = highest_classes(own.T)
        common = top & highest_classes(others.T)
        alike = common.any(axis=0)
        distance += float(votes.counts[rows] @ ~alike) / total
        classes[rows] = order[np.where(alike, common, top)[order].argmax(axis=0)]
        panel.proba[rows] = (1 - share) * others + share * own
    return PanelMember("plain vote", share, distance, classes)


def _plain_note(share: float) -> Note:
    few = "So few voters show little of how good each of them is"
    why = few if share < 1 else "A single voter does not show what its scores mean"
    return Note(PANEL, f"{why}: the plain vote makes up {percent(share)} of the panel's answer.")


def equivalent_voters(votes: Votes) -> float:
    """Return how many voters there are, or would be with as many votes each: those with few votes hardly count.

    Beyond 100 it no longer matters.
    """
    cast = votes_per_voter(votes)
    voting = (votes.weights > 0) & (cast > 0)
    if voting.sum() < 2:
        return float(voting.sum())
    cast = cast[voting] / cast.max()
    total = float(cast.sum())
    return min(total / max(float((cast**2).sum()), 1e-300) * total, 100.0)


def cautious_vote(votes: Votes, weights: Array, fallback: Array) -> Rule:
    """Return the weighted vote with a vote of ignorance: (sum_j w_j y_ij + s / K) / (sum_j w_j + s)."""
    speaking = np.flatnonzero((votes.is_voter & (weights > 0))[votes.group_model])
    weight = weights[votes.group_model[speaking]][:, None]
    table = np.hstack([weight * votes.group_meaning[speaking].toarray(), np.repeat(weight, votes.n_classes, axis=1)])
    return PrecisionRule(speaking, table, fallback, np.full(votes.n_classes, 1 / votes.n_classes), IGNORANCE)


# ---- voters who err together -----------------------------------------------------------------------------------------


def assumed_correlation(votes: Votes) -> float:
    """Return the correlation of the voters' errors by which answers that add up evidence are made less sure.

    Errors that all voters share look like the truth, so more is assumed than is seen, the fewer voters there are. That holds for
    juries, in which everyone votes on everything. In a crowd every object has other voters, and their errors hardly add up.
    """
    n_voters = equivalent_voters(votes)
    correlation = USUAL
    if shows_correlation(votes):
        seen = float(np.clip((1 + UNSEEN / n_voters) * error_correlation(votes), 0.0, 1.0))
        correlation += (seen - USUAL) / (1 + HARDLY_SEEN / n_voters**2)
    per_object = effective_voters(votes, 0.0)
    return correlation * min(1.0, per_object / max(n_voters, 1.0))
