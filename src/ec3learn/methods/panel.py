"""The default: the mean of methods that fail in different ways, corrected by known labels.

Dawid-Skene and EBCC learn how each voter errs. They are far too sure where voters err together. The
plain vote learns nothing of the voters, and is seldom too sure. Their mean is right as often as the
best of them, and about as sure as it is right:

    P_i = a mean(D_i^(1 / T_i), E_i^(1 / T_i)) + (1 - a) V_i      a = .85 (1 - 2 / J)
    V_ik = (sum_j y_ijk + 1 / K) / (n_i + 1)                      T_i = 1 + (n_i - 1) (1 / n + 3 r)

D is the answer of Dawid-Skene, E that of EBCC and V the vote, with one vote of ignorance. n_i votes
are worth n_i / T_i independent ones. That is about half where the errors of voters do not seem to
correlate, and less where they do (r); n is the mean number of votes per object. J voters judge each
other. Of two none is known to be better, so the vote decides.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._checks import InputTypeError
from .._text import listed, some
from .._typing import Array
from ..algebra.bayes import ENOUGH, SAMPLE, sample_of
from ..algebra.em import MOST_CONFUSIONS, n_confusions
from ..algebra.membership import membership, membership_parts, normalised
from ..answer.mixtures import PanelRule, PrecisionRule, SubtypeRule, mean_of
from ..answer.notes import DRAW_LABELS, Note
from ..answer.rule import KnownLabels
from ..diagnosis.correlation import error_correlation, shows_correlation
from ..votes import (
    Votes,
    as_class_votes,
    group_meaning,
    hardened,
    has_clusterings,
    has_graders,
    relative_weights,
    voter_noun,
    votes_per_voter,
    without_clusterings,
)
from .base import Answer, Method, method_of
from .class_prior import require_class_prior, with_class_shares
from .dawid_skene import EBCC, DawidSkene
from .ec3.ec3 import EC3
from .parameters import one_of
from .regression import taught
from .voting import NO_VOTE, WeightedVote, weighted_answer

LEARNED = 0.85  # share of the answers that learn how each voter errs, where voters are many
UNSEEN = 3.0  # errors that voters share correlate by three times what their votes show of it
CLASS_OBJECTS = 100  # the mean votes count as so many objects in what is thought of the classes


@dataclass(eq=False, repr=False)
class Panel(Method):
    """Take the mean of the class probabilities of several methods; the default of `solve`.

    By default these are `EBCC` and `DawidSkene`, made less sure by how much the voters' errors seem
    to correlate, and the plain vote. Each object's votes count as they are: labels, probabilities,
    or answers on a scale. Known labels have no part in that. One regression learns from them how to
    correct the answer, so that a few shift it and make it more or less sure, and many weigh the
    votes anew.

    Weights of voters count in the answer, not in what is learned of voters, and only their ratios
    matter. A voter of weight 2 is believed twice as much; a copy of it would also seem to confirm
    it.

    Parameters
    ----------
    members : "default", or a sequence of methods or their names
        Whose mean is taken.
    clusterings : "join" or "ignore"
        "join" takes the mean of three answers where there are clusterings: that from the votes,
        that of EC3 towards it, in which objects are pulled to their groups, and that of Dawid-Skene
        with the clusterings as voters. The last is left out where votes are probabilities.
    class_prior : dict of class -> share
        Shares of the classes that are known otherwise. The answer gets them on average.

    Examples
    --------
    >>> from ec3learn import Panel, Votes
    >>> voters = {"a": [0, 0, 1, 1, 0], "b": [0, 0, 1, 1, 1], "c": [1, 0, 1, 0, 0]}
    >>> votes = Votes.from_labels(voters)
    >>> Panel().solve(votes).labels()
    array([0, 0, 1, 1, 0])
    """

    title = "Panel"
    allowed: ClassVar = {
        "clusterings": one_of("join", "ignore"),
        "class_prior": require_class_prior,
    }
    admits_prior = True
    corrects = True

    members: Literal["default"] | Sequence[str | Method] = "default"
    clusterings: Literal["join", "ignore"] = "join"
    class_prior: Mapping[Any, float] | None = None

    @property
    def reads_grades(self) -> bool:  # type: ignore[override]
        """Whether the members learn what each answer on a scale means."""
        return self.members == "default" or all(member.reads_grades for member in self._given())

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
        super()._check()
        if self.members != "default":
            for member in self._given():
                member._check()

    def _answer(self, votes: Votes, known: KnownLabels | None) -> Answer:
        sample = self._sample(votes, known)
        if sample is None:
            answer = self._learned_from(votes, known)
        else:
            part, rows = sample
            labels = None if known is None else replace(known, codes=known.codes[rows])
            answer = _answered(self._learned_from(part, labels), votes, known)
        if self.class_prior is not None:
            answer = with_class_shares(answer, votes, self.class_prior, known)
        return answer

    def _sample(self, votes: Votes, known: KnownLabels | None) -> tuple[Votes, Array] | None:
        """Rows to learn from where they are very many, and all voters and clusters in enough."""
        largest = max((model.n_groups for model in votes.models if not model.is_voter), default=0)
        if self.members != "default" or largest * ENOUGH > SAMPLE:
            return None
        return sample_of(votes, None if known is None else known.labelled)

    def _learned_from(self, votes: Votes, known: KnownLabels | None) -> Answer:
        """The answer for all of these rows, corrected by labels."""
        answer = self._from_votes(votes)
        if self.clusterings == "join" and has_clusterings(votes):
            answer = _joined(answer, votes)
        return answer if known is None else taught(answer, votes, known)

    def _from_votes(self, votes: Votes) -> Answer:
        """The answer without labels; without clusterings far fewer rows may differ."""
        fewer = without_clusterings(votes) if has_clusterings(votes) else None
        voters, row = (votes, None) if fewer is None else fewer
        if self.members == "default":
            answer = default_answer(voters)
        else:
            members = self._given()
            names = listed([method.title for method in members])
            answers = {
                f"{each.title} {m}": each.answer(voters, None) for m, each in enumerate(members, 1)
            }
            answer = _mean(
                answers, voters, (Note("choice", f"The answer is the mean of {names}."),)
            )
        if row is None:
            return answer
        return replace(answer, proba=answer.proba[row], unanswered=answer.unanswered[row])


def _answered(learned: Answer, votes: Votes, known: KnownLabels | None) -> Answer:
    """The answer for all rows by the rule that was learned from some of them."""
    assert learned.rule is not None
    proba = np.empty((votes.n_rows, votes.n_classes))
    unanswered = np.empty(votes.n_rows, dtype=bool)
    for rows, groups in membership_parts(votes, learned.rule.takes_hard_votes):
        proba[rows], unanswered[rows] = learned.rule.answers(groups)
    if known is not None:
        known.overwrite(proba, unanswered)
    return replace(learned, proba=proba, unanswered=unanswered)


def _joined(answer: Answer, votes: Votes) -> Answer:
    """The mean of the answer from votes and of answers in which the clusterings count."""
    # Half of the pull is to the answer from the votes, half to the groups.
    to_groups = EC3(alpha=0.5, beta=0.0, gamma=0.5, delta=0.0)
    answers = {
        "that from the votes": answer,
        "EC3 towards it": to_groups.answer_towards(answer, votes),
    }
    if not are_mostly_soft(votes):  # clusters add less than probabilities know already
        by_clusters = DawidSkene(clusterings="voters").answer(votes, None)
        answers["Dawid-Skene with clusterings"] = by_clusters
    who = f"the mean of {len(answers)} answers was taken: {some(list(answers))}"
    how_sure = [note for note in answer.notes if note.kind != "choice"]
    text = f"You gave clusterings too, so {who}."
    return _mean(answers, votes, (Note("choice", text), *how_sure))


def default_answer(votes: Votes) -> Answer:
    """The mean of the plain vote, Dawid-Skene and EBCC."""
    if votes.n_classes < 2 or n_confusions(votes) > MOST_CONFUSIONS:
        return _agreement_vote(votes)
    soft, cast = are_mostly_soft(votes), votes_per_voter(votes) * (votes.weights > 0)
    vote = _plain_vote(votes, soft)
    answers = {"the plain vote": vote}
    per_object = float(cast.sum()) / max(float(votes.counts @ ~vote.unanswered), 1e-300)
    share, seen = LEARNED * max(1 - 2 / equal_voters(cast), 0.0), 0.0
    if share > 0:
        # Fewer than four voters show nothing.
        seen = UNSEEN * max(error_correlation(votes), 0.0) if shows_correlation(votes) else 1.0
        correlation = min(1 / max(per_object, 1.0) + seen, 1.0)
        answers["Dawid-Skene"] = _learned(votes, 1, correlation, soft)
        answers["EBCC"] = _learned(votes, 2, correlation, soft)
    shares = np.array([1 - share, share / 2, share / 2])[: len(answers)]
    together = 1 / max(per_object, 1.0) < seen < 1
    return _mean(answers, votes, _notes(votes, answers, together, soft), shares)


def _notes(
    votes: Votes, answers: Mapping[str, Answer], together: bool, soft: bool
) -> tuple[Note, ...]:
    """Who answered, how sure the answer is and why, and what would help."""
    who = f"the mean of {len(answers)} methods was taken: {some(list(answers))}"
    if len(answers) == 1:
        who = "the plain vote was taken, because one or two voters show little of each other"
    noun = voter_noun(votes.models, votes.stores.sparse is not None)
    seems = "seem to" if together else "usually"
    sure = f"Confidence was lowered, because {noun}s {seems} share some mistakes."
    if len(answers) == 1 and soft:
        sure = "Confidence is that of the probabilities."
    help = f"30 known labels, drawn with {DRAW_LABELS}, would calibrate it."
    return (
        Note("choice", f"You gave only {'probabilities' if soft else 'votes'}, so {who}."),
        Note("calibration", f"{sure} {help}"),
    )


def _mean(
    answers: Mapping[str, Answer],
    votes: Votes,
    notes: tuple[Note, ...],
    shares: Array | None = None,
) -> Answer:
    """The mean of the answers, each by its share."""
    for name, answer in answers.items():
        if not answer.converged:
            warnings.warn(f"{name} stopped before it converged.", ConvergenceWarning, stacklevel=6)
    unanswered = np.logical_and.reduce([answer.unanswered for answer in answers.values()])
    proba = mean_of([answer.proba for answer in answers.values()], shares)
    fallback = normalised((votes.counts * ~unanswered) @ proba)
    proba[unanswered] = fallback
    rules = [(name, answer.rule) for name, answer in answers.items() if answer.rule is not None]
    rule = PanelRule(tuple(rules), fallback, shares) if len(rules) == len(answers) else None
    n_iter = max(answer.n_iter for answer in answers.values())
    return Answer(proba, unanswered, rule, n_iter=n_iter, notes=notes, lacking=NO_VOTE)


# ---- the members ---------------------------------------------------------------------------------


def equal_voters(cast: Array) -> float:
    """How many voters there would be if each had as many votes: few votes hardly count."""
    cast = cast / max(float(cast.max()), 1e-300)
    return max(float(cast.sum()) ** 2 / max(float(cast @ cast), 1e-300), 1.0)


def _learned(votes: Votes, subtypes: int, correlation: float, soft: bool) -> Answer:
    """The answer of EBCC, or with one subtype of Dawid-Skene, from labels, made less sure."""
    fewer = without_clusterings(hardened(votes)) if soft else None  # labels are alike more often
    labels, row = (hardened(votes) if soft else votes, None) if fewer is None else fewer
    class_votes = min(1.0, CLASS_OBJECTS / max(float(votes.counts.sum()), 1.0))
    answer = EBCC(subtypes, prior="learned", class_votes=class_votes).answer(labels, None)
    assert isinstance(answer.rule, SubtypeRule)
    rule = replace(answer.rule, correlation=correlation, hard_votes=soft)
    proba, unanswered = rule.answers(membership(labels))
    if row is not None:
        proba, unanswered = proba[row], unanswered[row]
    return replace(answer, proba=proba, unanswered=unanswered, rule=rule)


def _plain_vote(votes: Votes, soft: bool) -> Answer:
    """The mean vote, by the weights of voters, with one vote of ignorance beside labels."""
    weights, models = relative_weights(votes) * votes.models.is_voter, votes.models.group_model
    speaking = np.flatnonzero(weights[models] > 0)
    weight, n_classes = weights[models[speaking]][:, None], votes.n_classes
    table = np.hstack(
        [weight * group_meaning(votes)[speaking].toarray(), np.repeat(weight, n_classes, axis=1)]
    )
    even = np.full(n_classes, 1 / n_classes)
    ignorance = 1e-9 if soft else 1.0  # a probability says itself how unsure it is
    rule = PrecisionRule(speaking, table, even, even, ignorance)
    proba, unanswered = rule.answers(membership(votes))
    if not unanswered.all():
        fallback = normalised((votes.counts * ~unanswered) @ proba)
        proba[unanswered], rule = fallback, replace(rule, fallback=fallback)
    return Answer(proba, unanswered, rule, weights=weights, lacking=NO_VOTE)


def _agreement_vote(votes: Votes) -> Answer:
    """The vote weighted by agreement, where confusion matrices would not fit into memory."""
    labels = as_class_votes(votes) if has_graders(votes) else votes
    labels = replace(labels, weights=relative_weights(votes))
    even, rounds = np.ones(len(votes.models)), WeightedVote.reweight_rounds
    answer = weighted_answer("agreement", labels, even, None, rounds, judge=False)
    if votes.n_classes < 2:
        return answer
    why = "The weighted vote was taken, because so many voters and classes fill the memory."
    return replace(answer, notes=(Note("choice", why),))


def are_mostly_soft(votes: Votes) -> bool:
    """Whether at least half of the votes are probabilities; votes repeated by a voter are few."""
    if not votes.stores.soft:
        return False
    n_soft = 0.0
    for m, shares in votes.stores.soft.items():
        if votes.models.is_classifier[m] and votes.weights[m] > 0:
            largest = shares.max(axis=1)
            n_soft += float(votes.counts @ ((largest > 0) & (largest < 1 - 1e-9)))
    return 2 * n_soft >= float(votes_per_voter(votes)[votes.weights > 0].sum()) * (1 - 1e-9) > 0
