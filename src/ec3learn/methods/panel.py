"""The default: the mean of two methods that fail in different ways, corrected by known labels.

EBCC learns how each voter errs. Where voters seem to agree on everything, or err together in a way
that the votes do not show, it is far too sure. A vote in which each voter has one weight cannot mend
a bias, and is never too sure. Their mean is right as often as the better of them, and about as sure
as it is right:

    P_i = (E_i^(1 / T_i) + W_i) / 2         T_i = 1 + (n_i - 1) rho
    W_ik = (sum_j w_j y_ijk + 1 / K) / (sum_j w_j + 1)

n_i votes of voters whose errors correlate by rho are worth n_i / T_i independent ones.
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
from ..diagnosis.correlation import error_correlation
from ..votes import Votes
from .base import Answer, Method, method_of
from .crowds import EBCC
from .ec3.ec3 import EC3
from .regression import taught
from .voting import NO_VOTE, weighted_answer
from .weights import relative_weights, votes_per_voter

USUAL = 0.2  # the correlation of the errors of people who each saw some of the objects
UNSEEN = 3.0  # a jury's votes show about a third of the correlation of its errors
ENOUGH_VOTERS = 7  # with fewer in a jury, nothing can be measured: one error in three is shared by all
CLASS_OBJECTS = 100  # the mean votes count as many objects in what is thought of the classes' shares
REWEIGHT_ROUNDS = 10
TO_GROUPS = (0.5, 0.0, 0.5, 0.0)  # alpha, beta, gamma and delta of EC3 towards the answer from votes


@dataclass(eq=False, repr=False)
class Panel(Method):
    """Take the mean of the class probabilities of several methods; the default of `solve`.

    By default these are `EBCC`, made less sure by how much the voters' errors seem to correlate, and
    a weighted vote. Each object's votes count as they are: labels, probabilities, or answers on a
    scale. Known labels have no part in that. One regression learns from them how to correct the
    answer, so that a few shift it and make it more or less sure, and many weigh the votes anew.

    Weights of voters count in the answer, not in what is learned of voters, and only their ratios
    matter. A voter of weight 2 is believed twice as much; a copy of it would also seem to confirm it.

    Parameters
    ----------
    members : "default", or a sequence of methods or their names
        Whose mean is taken.
    clusterings : "join" or "ignore"
        "join" takes the mean of two answers where there are clusterings: that from the votes, and
        that of EC3 towards it, in which objects are pulled to their groups.

    Examples
    --------
    >>> from ec3learn import Panel, Votes
    >>> votes = Votes.from_labels({"a": [0, 0, 1, 1, 0], "b": [0, 0, 1, 1, 1], "c": [1, 0, 1, 0, 0]})
    >>> Panel().solve(votes).labels()
    array([0, 0, 1, 1, 0])
    """

    title = "Panel"
    admits_prior = True

    members: Literal["default"] | Sequence[str | Method] = "default"
    clusterings: Literal["join", "ignore"] = "join"

    @property
    def reads_grades(self) -> bool:  # type: ignore[override]
        """Return whether the members learn what each answer on a scale means."""
        return self._is_default() or all(member.reads_grades for member in self._given())

    def _is_default(self) -> bool:
        return isinstance(self.members, str) and self.members == "default"

    def _given(self) -> list[Method]:
        if isinstance(self.members, str) or not isinstance(self.members, Sequence) or not self.members:
            must = "must be 'default' or a sequence of methods or their names"
            raise InputTypeError("members", must, got=self.members)
        return [method_of(member, "members") for member in self.members]

    def _check(self) -> None:
        require_choice("clusterings", self.clusterings, ("join", "ignore"))
        if not self._is_default():
            for member in self._given():
                member._check()

    def _answer(self, votes: Votes, known: KnownLabels | None) -> Answer:
        answer = self._from_votes(votes)
        if self.clusterings == "join" and votes.has_clusterings:
            refined = EC3(*TO_GROUPS, towards=_Solved(answer)).answer(votes, None)
            answer = _mean({"votes": answer, "EC3 towards the votes": refined}, votes, answer.notes)
        return answer if known is None else taught(answer, votes, known)

    def _from_votes(self, votes: Votes) -> Answer:
        """Return the answer without labels; without clusterings far fewer rows may differ."""
        fewer = votes.voters_alone()
        voters, row = (votes, None) if fewer is None else fewer
        if self._is_default():
            answer = default_answer(voters)
        else:
            members = {f"{m}": method.answer(voters, None) for m, method in enumerate(self._given(), 1)}
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
    soft = are_mostly_soft(votes)
    weighted = _weighted_vote(votes, soft)
    if n_confusions(votes) > MOST_CONFUSIONS or votes.n_classes < 2:
        return weighted
    learned, why = _learned(votes, soft)
    text = "You gave only votes, so the mean of two methods was taken: EBCC and a weighted vote."
    help = "30 known labels, drawn at random, would calibrate it."
    return _mean({"EBCC": learned, "weighted vote": weighted}, votes, (Note(CHOICE, text), Note(CALIBRATION, f"{why} {help}")))


def _mean(answers: Mapping[str, Answer], votes: Votes, notes: tuple[Note, ...]) -> Answer:
    """Return the mean of some answers."""
    for name, answer in answers.items():
        if not answer.converged:
            warnings.warn(f"{name} stopped before it converged.", ConvergenceWarning, stacklevel=6)
    unanswered = np.logical_and.reduce([answer.unanswered for answer in answers.values()])
    proba = np.mean([answer.proba for answer in answers.values()], axis=0)
    shares = normalised((votes.counts * ~unanswered) @ proba)
    proba[unanswered] = shares
    rules = [(name, answer.rule) for name, answer in answers.items() if answer.rule is not None]
    rule = PanelRule(tuple(rules), shares) if len(rules) == len(answers) else None
    n_iter = max(answer.n_iter for answer in answers.values())
    return Answer(proba, unanswered, rule, n_iter=n_iter, notes=notes, lacking=NO_VOTE)


# ---- the two members ---------------------------------------------------------------------------------


def _learned(votes: Votes, soft: bool) -> tuple[Answer, str]:
    """Return EBCC's answer from labels, made less sure, and a sentence on why."""
    fewer = votes.hardened().voters_alone() if soft else None  # labels are alike more often
    labels, row = (votes.hardened() if soft else votes, None) if fewer is None else fewer
    n_objects = max(float(votes.counts.sum()), 1.0)
    found = EBCC(prior="learned", class_votes=min(1.0, CLASS_OBJECTS / n_objects)).answer(labels, None)
    assert isinstance(found.rule, SubtypeRule)
    correlation, why = shared_errors(votes)
    rule = replace(found.rule, correlation=correlation, hard_votes=soft)
    n_votes = membership(labels).gather(votes.is_voter[votes.group_model][membership(labels).order].astype(float))
    proba = normalised(tempered(found.proba.T, n_votes, correlation).T)
    unanswered = found.unanswered
    if row is not None:
        proba, unanswered = proba[row], unanswered[row]
    return replace(found, proba=proba, unanswered=unanswered, rule=rule), why


def shared_errors(votes: Votes) -> tuple[float, str]:
    """Return the correlation of the voters' errors by which EBCC is made less sure, and why."""
    if votes.prior is not None and votes.prior.learned.weight > 0:
        return 0.0, "Confidence also rests on the prior."
    cast = votes_per_voter(votes)
    n_voters = int((cast > 0).sum())
    is_jury = cast.sum() > n_voters * votes.counts.sum() / 2
    if is_jury and n_voters >= ENOUGH_VOTERS:
        correlation = float(np.clip(UNSEEN * error_correlation(votes), 0.0, 1.0))
        seems = "seem to share mistakes" if correlation > 0 else "do not seem to share mistakes"
        verb = "lowered" if correlation > 0 else "not lowered"
        return correlation, f"Confidence was {verb}, because voters {seems}."
    if n_voters < 2:
        return 0.0, "Confidence rests on one voter."
    why = "few voters cannot show the mistakes that all of them share" if is_jury else "voters usually share some mistakes"
    return min(max(USUAL, UNSEEN / (n_voters - 1)), 1.0), f"Confidence was lowered, because {why}."


def _weighted_vote(votes: Votes, soft: bool) -> Answer:
    """Return the vote with weights learned from agreement, and one vote of ignorance beside labels.

    Two voters show nothing of each other: the fewer there are, the less do weights differ from 1.
    """
    labels = votes.as_class_votes() if votes.has_graders else votes
    given = relative_weights(votes)
    found = weighted_answer("agreement", replace(labels, weights=given), np.ones(len(votes.models)), None, REWEIGHT_ROUNDS, judge=False)
    cast = votes_per_voter(votes)
    learned = np.divide(found.weights, given, out=np.zeros(len(given)), where=given > 0)
    learned = learned * cast.sum() / max(float(cast @ learned), 1e-300)
    n_voters = max(int((cast > 0).sum()), 2)
    weights = given * (1 + (learned - 1) * (1 - 2 / n_voters)) * votes.is_voter
    rule = _vote_rule(votes, weights, soft)
    return Answer(*rule.all_answers(membership(votes)), rule, weights=weights, lacking=NO_VOTE)


def _vote_rule(votes: Votes, weights: Array, soft: bool) -> Rule:
    speaking = np.flatnonzero((votes.is_voter & (weights > 0))[votes.group_model])
    weight, n_classes = weights[votes.group_model[speaking]][:, None], votes.n_classes
    table = np.hstack([weight * votes.group_meaning[speaking].toarray(), np.repeat(weight, n_classes, axis=1)])
    even = np.full(n_classes, 1 / n_classes)
    ignorance = 1e-9 if soft else 1.0  # a probability says itself how unsure it is
    worth = None if votes.prior is None else np.full(n_classes, votes.prior.learned.weight)
    rule = PrecisionRule(speaking, table, even, even, ignorance, worth)
    mean, unanswered = rule.all_answers(membership(votes))
    return replace(rule, fallback=normalised((votes.counts * ~unanswered) @ mean)) if not unanswered.all() else rule


def are_mostly_soft(votes: Votes) -> bool:
    """Return whether at least half of the votes are probabilities; votes repeated by a voter are few."""
    if votes.soft is None:
        return False
    n_soft = 0.0
    for model in votes.soft.models:
        if votes.is_classifier[model.number] and votes.weights[model.number] > 0:
            largest = votes.soft.shares_of(model).max(axis=1)
            n_soft += float(votes.counts @ ((largest > 0) & (largest < 1 - 1e-9)))
    return 2 * n_soft >= float(votes_per_voter(votes)[votes.weights > 0].sum()) * (1 - 1e-9) > 0
