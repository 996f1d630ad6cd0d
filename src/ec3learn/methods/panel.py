"""The default: the mean of two methods that fail in different ways, corrected by known labels.

EBCC learns how each voter errs. It is far too sure where voters err together, which their votes do
not show. In a weighted vote each voter has one number. It cannot mend a bias, and is seldom too
sure. Their mean is right as often as the better of them, and about as sure as it is right:

    P_i = a E_i^(1 / T_i) + (1 - a) W_i      a = (1 - 1 / J) / 2      T_i = 1 + (n_i - 1) rho
    W_ik = (sum_j w_j y_ijk + 1 / K) / (sum_j w_j + 1)

E is the answer of EBCC and W the weighted vote. n_i votes of voters whose errors correlate by rho
are worth n_i / T_i independent ones. J voters judge each other: the fewer they are, the less do
they show, so E counts less and the weights w_j differ less from 1.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._checks import InputTypeError, require_choice
from .._text import listed
from .._typing import Array
from ..algebra.em import MOST_CONFUSIONS, n_confusions
from ..algebra.linear import normalised
from ..algebra.membership import membership
from ..answer.mixtures import PanelRule, PrecisionRule, SubtypeRule, tempered
from ..answer.notes import CALIBRATION, CHOICE, Note
from ..answer.rule import KnownLabels, Rule
from ..votes import (
    Votes,
    as_class_votes,
    group_meaning,
    hardened,
    has_clusterings,
    has_graders,
    voter_noun,
    without_clusterings,
)
from .base import Answer, Method, method_of
from .class_prior import require_class_prior, with_class_shares
from .crowds import EBCC
from .ec3.ec3 import EC3
from .regression import taught
from .voting import NO_VOTE, WeightedVote, weighted_answer
from .weights import relative_weights, votes_per_voter

USUAL = 0.2  # correlation of the errors of people who each saw some of the objects
ALIKE = 3.0  # rho is at least 3 / (J - 1): up to four voters are worth no more than one
CLASS_OBJECTS = (
    100  # the mean votes count as many objects in what is thought of the classes' shares
)
TO_GROUPS = (
    0.5,
    0.0,
    0.5,
    0.0,
)  # alpha, beta, gamma and delta of EC3 towards the answer from votes


@dataclass(eq=False, repr=False)
class Panel(Method):
    """Take the mean of the class probabilities of several methods; the default of `solve`.

    By default these are `EBCC`, made less sure by how much the voters' errors seem to correlate,
    and a weighted vote. Each object's votes count as they are: labels, probabilities, or answers on
    a scale. Known labels have no part in that. One regression learns from them how to correct the
    answer, so that a few shift it and make it more or less sure, and many weigh the votes anew.

    Weights of voters count in the answer, not in what is learned of voters, and only their ratios
    matter. A voter of weight 2 is believed twice as much; a copy of it would also seem to confirm
    it.

    Parameters
    ----------
    members : "default", or a sequence of methods or their names
        Whose mean is taken.
    clusterings : "join" or "ignore"
        "join" takes the mean of two answers where there are clusterings: that from the votes, and
        that of EC3 towards it, in which objects are pulled to their groups.
    class_prior : dict of class -> share
        Shares of the classes that are known otherwise. The answer gets them on average.

    Examples
    --------
    >>> from ec3learn import Panel, Votes
    >>> votes = Votes.from_labels({"a": [0, 0, 1, 1, 0], "b": [0, 0, 1, 1, 1], "c": [1, 0, 1, 0, 0]})
    >>> Panel().solve(votes).labels()
    array([0, 0, 1, 1, 0])
    """

    title = "Panel"
    admits_prior = True
    corrects = True

    members: Literal["default"] | Sequence[str | Method] = "default"
    clusterings: Literal["join", "ignore"] = "join"
    class_prior: Mapping[Any, float] | None = None

    @property
    def reads_grades(self) -> bool:  # type: ignore[override]
        """Return whether the members learn what each answer on a scale means."""
        return self._is_default() or all(member.reads_grades for member in self._given())

    def _is_default(self) -> bool:
        return isinstance(self.members, str) and self.members == "default"

    def _given(self) -> list[Method]:
        if (
            isinstance(self.members, str)
            or not isinstance(self.members, Sequence)
            or not self.members
        ):
            must = "must be 'default' or a sequence of methods or their names"
            raise InputTypeError("members", must, got=self.members)
        return [method_of(member, "members") for member in self.members]

    def _check(self) -> None:
        require_choice("clusterings", self.clusterings, ("join", "ignore"))
        if self.class_prior is not None:
            require_class_prior(self.class_prior)
        if not self._is_default():
            for member in self._given():
                member._check()

    def _answer(self, votes: Votes, known: KnownLabels | None) -> Answer:
        answer = self._from_votes(votes)
        if self.clusterings == "join" and has_clusterings(votes):
            refined = EC3(*TO_GROUPS, towards=_Solved(answer)).answer(votes, None)
            pulled = "The clusterings count: half of the answer is that of EC3, in which objects are pulled to their groups."
            notes = (*answer.notes, Note(CHOICE, pulled))
            answer = _mean({"votes": answer, "EC3 towards the votes": refined}, votes, notes)
        answer = answer if known is None else taught(answer, votes, known)
        return (
            answer
            if self.class_prior is None
            else with_class_shares(answer, votes, self.class_prior, known)
        )

    def _from_votes(self, votes: Votes) -> Answer:
        """Return the answer without labels; without clusterings far fewer rows may differ."""
        fewer = without_clusterings(votes)
        voters, row = (votes, None) if fewer is None else fewer
        if self._is_default():
            answer = default_answer(voters)
        else:
            members = {
                f"{m}": method.answer(voters, None) for m, method in enumerate(self._given(), 1)
            }
            names = listed([method.title for method in self._given()])
            answer = _mean(members, voters, (Note(CHOICE, f"The answer is the mean of {names}."),))
        if row is None:
            return answer
        return replace(answer, proba=answer.proba[row], unanswered=answer.unanswered[row])


@dataclass(eq=False, repr=False)
class _Solved(Method):
    """A method whose answer is there already."""

    title = "Panel"
    admits_prior = True

    found: Any

    def _answer(self, votes: Votes, known: KnownLabels | None) -> Answer:
        return self.found


def default_answer(votes: Votes) -> Answer:
    """Return the mean of EBCC and a weighted vote."""
    if votes.n_classes < 2 or n_confusions(votes) > MOST_CONFUSIONS:
        why = "The weighted vote was taken, because so many voters and classes leave no memory for EBCC."
        return replace(
            _agreement_vote(votes), notes=() if votes.n_classes < 2 else (Note(CHOICE, why),)
        )
    soft, n_voters = are_mostly_soft(votes), equal_voters(votes)
    weighted = _weighted_vote(votes, n_voters, soft)
    learned = _learned(votes, n_voters, soft)
    given = "probabilities" if soft else "votes"
    text = f"You gave {given}, so the mean of two methods was taken: EBCC and a weighted vote."
    noun = voter_noun(votes.models, votes.stores.sparse is not None)
    sure = f"Confidence was lowered, because {noun} usually share some mistakes."
    if n_voters < 2:
        sure = "Confidence rests on one voter."
    help = "30 known labels, drawn at random, would calibrate it."
    notes = Note(CHOICE, text), Note(CALIBRATION, f"{sure} {help}")
    share = (1 - 1 / n_voters) / 2
    return _mean(
        {"EBCC": learned, "weighted vote": weighted}, votes, notes, np.array([share, 1 - share])
    )


def _mean(
    answers: Mapping[str, Answer],
    votes: Votes,
    notes: tuple[Note, ...],
    shares: Array | None = None,
) -> Answer:
    """Return the mean of some answers."""
    for name, answer in answers.items():
        if not answer.converged:
            warnings.warn(f"{name} stopped before it converged.", ConvergenceWarning, stacklevel=6)
    unanswered = np.logical_and.reduce([answer.unanswered for answer in answers.values()])
    proba = np.average([answer.proba for answer in answers.values()], axis=0, weights=shares)
    fallback = normalised((votes.counts * ~unanswered) @ proba)
    proba[unanswered] = fallback
    rules = [(name, answer.rule) for name, answer in answers.items() if answer.rule is not None]
    rule = PanelRule(tuple(rules), fallback, shares) if len(rules) == len(answers) else None
    n_iter = max(answer.n_iter for answer in answers.values())
    return Answer(proba, unanswered, rule, n_iter=n_iter, notes=notes, lacking=NO_VOTE)


# ---- the two members -----------------------------------------------------------------------------


def equal_voters(votes: Votes) -> float:
    """Return how many voters there would be if each had as many votes: those with few votes hardly count."""
    cast = votes_per_voter(votes) * (votes.weights > 0)
    cast = cast / max(float(cast.max()), 1e-300)
    return max(float(cast.sum()) ** 2 / max(float(cast @ cast), 1e-300), 1.0)


def _learned(votes: Votes, n_voters: float, soft: bool) -> Answer:
    """Return EBCC's answer from labels, made less sure."""
    fewer = without_clusterings(hardened(votes)) if soft else None  # labels are alike more often
    labels, row = (hardened(votes) if soft else votes, None) if fewer is None else fewer
    n_objects = max(float(votes.counts.sum()), 1.0)
    found = EBCC(prior="learned", class_votes=min(1.0, CLASS_OBJECTS / n_objects)).answer(
        labels, None
    )
    assert isinstance(found.rule, SubtypeRule)
    correlation = min(max(USUAL, ALIKE / max(n_voters - 1, 1.0)), 1.0)
    rule = replace(found.rule, correlation=correlation, hard_votes=soft)
    groups = membership(labels)
    speaking = np.zeros(labels.models.n_groups)
    speaking[found.rule.groups] = 1.0
    n_votes = groups.gather(speaking[groups.order])
    proba = normalised(tempered(found.proba.T, n_votes, correlation).T)
    unanswered = found.unanswered
    if row is not None:
        proba, unanswered = proba[row], unanswered[row]
    return replace(found, proba=proba, unanswered=unanswered, rule=rule)


def _weighted_vote(votes: Votes, n_voters: float, soft: bool) -> Answer:
    """Return the vote with weights learned from agreement, and one vote of ignorance beside labels."""
    given, found = relative_weights(votes), _agreement_vote(votes)
    assert found.weights is not None
    cast = votes_per_voter(votes) * (given > 0)
    learned = np.divide(found.weights, given, out=np.zeros(len(given)), where=given > 0)
    learned = learned * cast.sum() / max(float(cast @ learned), 1e-300)
    weights = given * (1 + (learned - 1) * max(1 - 2 / n_voters, 0.0)) * votes.models.is_voter
    rule = _vote_rule(votes, weights, soft)
    return Answer(*rule.answers(membership(votes)), rule, weights=weights, lacking=NO_VOTE)


def _agreement_vote(votes: Votes) -> Answer:
    """Return the vote whose weights are learned from agreement."""
    labels = replace(
        as_class_votes(votes) if has_graders(votes) else votes, weights=relative_weights(votes)
    )
    rounds = WeightedVote.reweight_rounds
    return weighted_answer(
        "agreement", labels, np.ones(len(votes.models)), None, rounds, judge=False
    )


def _vote_rule(votes: Votes, weights: Array, soft: bool) -> Rule:
    speaking = np.flatnonzero((votes.models.is_voter & (weights > 0))[votes.models.group_model])
    weight, n_classes = weights[votes.models.group_model[speaking]][:, None], votes.n_classes
    table = np.hstack(
        [weight * group_meaning(votes)[speaking].toarray(), np.repeat(weight, n_classes, axis=1)]
    )
    even = np.full(n_classes, 1 / n_classes)
    ignorance = 1e-9 if soft else 1.0  # a probability says itself how unsure it is
    worth = None if votes.prior is None else np.full(n_classes, votes.prior.learned.weight)
    rule = PrecisionRule(speaking, table, even, even, ignorance, worth)
    mean, unanswered = rule.answers(membership(votes))
    if unanswered.all():
        return rule
    return replace(rule, fallback=normalised((votes.counts * ~unanswered) @ mean))


def are_mostly_soft(votes: Votes) -> bool:
    """Return whether at least half of the votes are probabilities; votes repeated by a voter are few."""
    if votes.stores.soft is None:
        return False
    n_soft = 0.0
    for model in votes.stores.soft.models:
        if votes.models.is_classifier[model.number] and votes.weights[model.number] > 0:
            largest = votes.stores.soft.shares_of(model).max(axis=1)
            n_soft += float(votes.counts @ ((largest > 0) & (largest < 1 - 1e-9)))
    return 2 * n_soft >= float(votes_per_voter(votes)[votes.weights > 0].sum()) * (1 - 1e-9) > 0
