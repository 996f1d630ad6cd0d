"""Dawid-Skene: each voter errs in a way of its own, and the true classes explain all votes best.

`algebra.em` has the model and the steps of EM, `algebra.bayes` those with a prior for the voters.

EBCC by Li, Rubinstein and Cohn (ICML 2019, "Exploiting worker correlation for label aggregation in
crowdsourcing") is for voters who err together, because some objects are hard for all of them. Each
class has a few subtypes of objects, and each voter a confusion matrix per subtype.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy.special import softmax

from .._checks import require_bool
from .._text import arg, percent
from .._typing import Array
from ..algebra.bayes import CoinModel, SubtypeModel
from ..algebra.em import ConfusionModel, Fit
from ..algebra.membership import Membership, membership, normalised
from ..answer.mixtures import SubtypeRule
from ..answer.notes import Note
from ..answer.rule import KnownLabels, mean_votes
from ..answer.solution import top_classes
from ..votes import Votes
from .base import Answer, Method
from .parameters import AT_LEAST_ONE, NOT_NEGATIVE, POSITIVE, one_of

NO_VOTE = "no vote and got the shares of the classes"
FAR = 0.25  # the share of objects from which an answer is far from another
NEARLY_ALL = 0.9
BUDGET = 2e8  # memberships x classes x subtypes x rounds of EBCC


@dataclass(eq=False, repr=False)
class DawidSkene(Method):
    """Combine voters by Dawid-Skene: their confusion matrices and the true classes together.

    It fits annotators who are biased, not only unreliable. It assumes that voters err independently
    of each other given the class. Models trained on the same data hardly do, so it grows too sure
    of them. Of voters who answer on a scale it learns what each answer means.

    Parameters
    ----------
    one_coin : bool
        Learn one number per classifier instead of a confusion matrix: it is right with that
        probability, and wrong in every way alike.
    prior : "learned", "diagonal" or "uniform"
        What is thought of a voter before it votes. "learned" takes it from all voters, shifted by
        the voter's own skill: one with three votes is judged like the average voter, one with three
        thousand by its own. "diagonal" takes four votes for the true class and one for each other.
        "uniform" is plain Dawid-Skene, whose `smoothing` keeps probabilities above 0.
    clusterings : "ignore" or "voters"
        "voters" takes clusterings as voters whose labels have no names: each cluster has its own
        distribution over the classes. That assumes that clusterings too err independently of all
        others given the class. Clusterings of the same features do not, and several of them can
        outvote the classifiers.
    smoothing : float
        With the uniform prior: votes added to each count of how often a voter says what, so that
        nothing counts as impossible.
    tol : float or None
        Stop when the mean log-likelihood of an object rises by less (uniform prior; None: 1e-8), or
        when the probabilities move by less on average (None: 1e-5).
    max_iter : int
        The most rounds.

    Examples
    --------
    >>> from ec3learn import DawidSkene, Votes
    >>> said = {"a": [0, 0, 1, 1, 0], "b": [0, 0, 1, 1, 1], "c": [1, 1, 0, 0, 1]}
    >>> votes = Votes.from_labels(said)
    >>> DawidSkene().solve(votes).labels()
    array([0, 0, 1, 1, 0])
    """

    title = "Dawid-Skene"
    admits_prior = True
    learns_voters = True
    allowed: ClassVar = {
        "one_coin": require_bool,
        "prior": one_of("learned", "diagonal", "uniform"),
        "clusterings": one_of("ignore", "voters"),
        "smoothing": POSITIVE,
        "tol": POSITIVE,
        "max_iter": AT_LEAST_ONE,
    }

    one_coin: bool = False
    prior: Literal["learned", "diagonal", "uniform"] = "learned"
    clusterings: Literal["ignore", "voters"] = "ignore"
    smoothing: float = 0.01
    tol: float | None = None
    max_iter: int = 1000

    @property
    def reads_grades(self) -> bool:  # type: ignore[override]
        """Whether it learns what each answer on a scale means; one number per voter cannot."""
        return not self.one_coin

    def _title(self, known: KnownLabels | None) -> str:
        return "Dawid-Skene, one coin" if self.one_coin else self.title

    def _tolerance(self) -> float:
        return (1e-8 if self.prior == "uniform" else 1e-5) if self.tol is None else self.tol

    def _answer(self, votes: Votes, known: KnownLabels | None) -> Answer:
        groups = membership(votes)
        codes = None if known is None else known.codes
        start, _, _ = mean_votes(votes, groups, votes.weights, known)
        voters = self.clusterings == "voters"
        model: ConfusionModel
        if self.prior == "uniform":
            model = ConfusionModel(
                votes,
                groups,
                codes,
                one_coin=bool(self.one_coin),
                with_clusterings=voters,
                smoothing=self.smoothing,
            )
        elif self.one_coin:
            model = CoinModel(
                votes, groups, codes, with_clusterings=voters, learned=self.prior == "learned"
            )
        else:
            model = SubtypeModel(
                votes, groups, codes, pooled=self.prior == "learned", with_clusterings=voters
            )
        fit = model.fit(start, self._tolerance(), self.max_iter)
        history = [-likelihood for likelihood in fit.likelihoods]
        by_shares = self.one_coin and self.prior != "uniform"
        fallback = None if by_shares else softmax(fit.prior)
        return Answer(
            fit.proba,
            ~model.answered,
            subtype_rule(model, fit, fallback),
            objective=history[-1] if history else None,
            n_iter=fit.n_iter,
            converged=fit.converged,
            history=history,
            notes=collapse_notes(votes, groups, codes, start, fit.proba) if self.one_coin else (),
            lacking=NO_VOTE,
        )


def subtype_rule(model: ConfusionModel, fit: Fit, fallback: Array | None = None) -> SubtypeRule:
    """How a fit answers new objects; those without votes get the class shares, here too."""
    shares = normalised(model.counted @ fit.proba) if fallback is None else fallback
    fit.proba[~model.answered] = shares
    voting = np.flatnonzero(model.weight > 0)
    table = model.weight[voting, None] * fit.evidence[voting]
    return SubtypeRule(voting, table, shares, fit.prior)


def collapse_notes(
    votes: Votes, groups: Membership, known: Array | None, start: Array, proba: Array
) -> tuple[Note, ...]:
    """A note if an answer is far from that of full confusion matrices.

    They are fitted only if there is a suspicion: one class has nearly all objects, or many have
    another class than by mean vote.
    """
    ours, mean = (top_classes(answer, votes.counts @ answer) for answer in (proba, start))
    total = max(float(votes.counts.sum()), 1e-300)
    largest = np.bincount(ours, weights=votes.counts, minlength=votes.n_classes).max() / total
    if largest < NEARLY_ALL and float(votes.counts @ (ours != mean)) / total <= FAR:
        return ()
    other = SubtypeModel(votes, groups, known).fit(start, 1e-4, 50).proba
    far = float(votes.counts @ (ours != top_classes(other, votes.counts @ other))) / total
    if far <= FAR:
        return ()
    text = (
        "One number per voter may have collapsed: full confusion matrices answer otherwise for "
        f"{percent(far)} of the objects."
    )
    return (
        Note(
            "collapse",
            f"{text} Check some of them, or take {arg('method', 'dawid-skene')} or the default.",
        ),
    )


# ---- EBCC ----------------------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class EBCC(Method):
    """Combine voters by EBCC: Dawid-Skene with subtypes of objects, on which voters err together.

    Parameters
    ----------
    subtypes : int
        The number of subtypes of each class; two (easy and hard objects) did as well as more on
        real crowds.
    prior : "diagonal" or "learned"
        What is thought of a voter before it votes, as in `DawidSkene`; the paper has the diagonal
        one.
    class_votes : float
        How many times the votes, counted by class, count as what is thought of the shares of the
        classes beforehand. 1 as in the paper. Where voters are noisy, rare classes get more votes
        than they have objects; a smaller number undoes that.
    tol : float
        Stop when the probabilities move by less on average.
    max_iter : int or None
        The most rounds; None takes 200, or fewer (at least 30) for large tables.

    Examples
    --------
    >>> from ec3learn import EBCC, Votes
    >>> said = {"a": [0, 0, 1, 1, 0], "b": [0, 0, 1, 1, 1], "c": [1, 0, 1, 0, 0]}
    >>> votes = Votes.from_labels(said)
    >>> EBCC().solve(votes).labels()
    array([0, 0, 1, 1, 0])
    """

    title = "EBCC"
    admits_prior = True
    learns_voters = True
    reads_grades = True
    allowed: ClassVar = {
        "subtypes": AT_LEAST_ONE,
        "prior": one_of("diagonal", "learned"),
        "class_votes": NOT_NEGATIVE,
        "tol": POSITIVE,
        "max_iter": AT_LEAST_ONE,
    }

    subtypes: int = 2
    prior: Literal["diagonal", "learned"] = "diagonal"
    class_votes: float = 1.0
    tol: float = 1e-4
    max_iter: int | None = None

    def _title(self, known: KnownLabels | None) -> str:
        return "EBCC with learned priors" if self.prior == "learned" else self.title

    def _answer(self, votes: Votes, known: KnownLabels | None) -> Answer:
        groups = membership(votes)
        model = SubtypeModel(
            votes,
            groups,
            None if known is None else known.codes,
            subtypes=self.subtypes,
            pooled=self.prior == "learned",
            class_votes=float(self.class_votes),
        )
        start, _, _ = mean_votes(votes, groups, votes.weights, known)
        rounds = self.max_iter
        if rounds is None:
            n_memberships = max(float(groups.gather(np.ones(groups.n_groups)).sum()), 1.0)
            size = n_memberships * votes.n_classes * self.subtypes
            rounds = int(np.clip(BUDGET / size, 30, 200))
        fit = model.fit(start, self.tol, rounds)
        return Answer(
            fit.proba,
            ~model.answered,
            subtype_rule(model, fit),
            n_iter=fit.n_iter,
            converged=self.max_iter is None or fit.converged,
            lacking=NO_VOTE,
        )
