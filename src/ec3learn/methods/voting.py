"""Voting: the baseline to compare everything with. Clusterings do not vote.

Ties are common here: tied classes have equal probabilities, and `Consensus.labels` breaks ties (the
class with the larger mass over all objects wins, then the first of `classes`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .._typing import Array
from ..algebra.membership import membership
from ..answer.rule import GroupRule, KnownLabels, mean_votes
from ..votes import Votes, hardened
from .base import Answer, Method, require_votes
from .parameters import COUNT
from .weights import ModelWeights, first_weights, learn_weights

NO_VOTE = "no vote and got the mean vote of all"


class MajorityVote(Method):
    """Take the class most classifiers voted for.

    The probabilities are shares of the votes. A soft vote counts for its most probable class, and
    is shared evenly where that is tied. Model weights, if the votes have any, count as that many
    votes.

    Examples
    --------
    >>> from ec3learn import MajorityVote, Votes
    >>> MajorityVote().solve(Votes.from_labels({"a": [0, 1], "b": [0, 1], "c": [1, 1]})).labels()
    array([0, 1])
    """

    title = "Majority vote"

    def _answer(self, votes: Votes, known: KnownLabels | None) -> Answer:
        votes = hardened(votes)
        return Answer(
            *mean_votes(votes, membership(votes), votes.weights, known, hard=True), lacking=NO_VOTE
        )


class SoftVote(Method):
    """Take the class with the highest mean probability over the votes; a label has probability 1.

    Examples
    --------
    >>> from ec3learn import SoftVote, Votes
    >>> votes = Votes.from_probabilities({"lr": [[0.9, 0.1]], "svm": [[0.4, 0.6]]})
    >>> SoftVote().solve(votes).proba
    array([[0.65, 0.35]])
    """

    title = "Soft vote"
    admits_prior = True

    def _answer(self, votes: Votes, known: KnownLabels | None) -> Answer:
        return Answer(*mean_votes(votes, membership(votes), votes.weights, known), lacking=NO_VOTE)


@dataclass(eq=False, repr=False)
class WeightedVote(Method):
    """Take the weighted mean of the votes, each classifier with its own weight.

    Parameters
    ----------
    weights : "agreement", "labels", "equal", or one number per classifier (sequence, or dict of
    name -> number)
        "agreement" learns them without labels, from how often each classifier agrees with the vote
        so far; "labels" learns them from the known labels. A classifier worse than chance gets 0. A
        learned weight is the log-odds of being right, which is the best weight for classifiers that
        err independently and without bias.
    reweight_rounds : int
        The most times weights are learned anew from the vote ("agreement").

    Examples
    --------
    >>> from ec3learn import Votes, WeightedVote
    >>> votes = Votes.from_labels({"good": [0, 1, 0], "fair": [0, 1, 1], "poor": [1, 0, 1]})
    >>> WeightedVote({"good": 3}).solve(votes).labels()
    array([0, 1, 0])
    """

    title = "Weighted vote"
    admits_prior = True
    allowed: ClassVar = {"reweight_rounds": COUNT}

    weights: ModelWeights = "agreement"
    reweight_rounds: int = 10

    def _answer(self, votes: Votes, known: KnownLabels | None) -> Answer:
        start = first_weights(self.weights, votes, known)
        if known is None:
            require_votes(votes, start)
        return weighted_answer(self.weights, votes, start, known, self.reweight_rounds)


def weighted_answer(
    asked: ModelWeights,
    votes: Votes,
    start: Array,
    known: KnownLabels | None,
    rounds: int,
    judge: bool = True,
) -> Answer:
    """The weighted mean vote; with `judge`, notes say if its weights should not be trusted."""
    groups = membership(votes)

    def solve(weights: Array) -> tuple[Array, tuple[Array, Array, GroupRule]]:
        found = mean_votes(votes, groups, votes.weights * weights, known)
        return found[0], found

    learned, found = learn_weights(asked, votes, groups, start, known, rounds, solve, judge)
    return Answer(
        *found,
        weights=votes.weights * learned.weights,
        notes=learned.notes,
        worse_than_chance=learned.worse_than_chance,
        lacking=NO_VOTE,
    )
