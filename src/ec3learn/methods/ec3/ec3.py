"""EC3 and iEC3: an object agrees with its groups, with their other members and with its votes.

The class probabilities of objects (F^o) and of groups (F^g) minimise the convex function P of
`objective`, exactly. In EC3 every group counts by its size; iEC3 (`balanced=True`) divides by the
size first, so that small groups and rare classes count too.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..._checks import InputError, require_bool, require_seed
from ..._text import arg
from ..._typing import Array
from ...algebra.membership import Membership, membership, normalised
from ...answer.rule import KnownLabels, mean_votes
from ...votes import Votes
from ...votes.layout import frozen
from ...votes.operations import by_object
from ..base import Answer, Method, method_of, require_few_groups, require_votes, trusting_votes
from ..parameters import AT_LEAST_ONE, COUNT, NOT_NEGATIVE, POSITIVE, one_of, require_pull
from ..weights import Learned, ModelWeights, first_weights, learn_weights
from .objective import Minimum, Problem, Setting
from .parts import Parts, parts_of
from .solvers import block_descent, conjugate_gradients, direct

Solver = Literal["auto", "cg", "direct", "bcd"]

ROUNDS_WORTH = 600  # what the rounds of "cg" take per vote, in operations of a factorisation
FAR_APART = 1e8  # beyond this ratio of weights, double precision has too few digits for the answer


@dataclass(eq=False, repr=False)
class EC3(Method):
    """Combine classifiers and clusterings by EC3 or iEC3, the methods of the paper.

    They are right for repeating the paper, for one convex objective, and for models and clusterings
    of the same data: objects that share groups get similar answers. From votes alone, or if voters
    are biased, `Panel` answers better.

    Only the ratios of alpha, beta, gamma and delta matter.

    Parameters
    ----------
    alpha : float
        Pulls an object and its groups together.
    beta : float
        Pulls together objects that share groups.
    gamma : float
        Pulls an object to the mean of its votes.
    delta : float
        Pulls a group to the mean vote on its members.
    balanced : bool
        True is iEC3: small groups count as much as large ones. False is EC3.
    weights : "equal", "agreement", "labels", or one number per classifier (sequence, or dict of
    name -> number)
        How much each classifier counts, times its weight in the votes. "agreement" learns it
        without labels, from how often each classifier agrees with the consensus. "labels" learns it
        from the known labels. A classifier worse than chance gets 0 and is named in the notes of
        the result.
    towards : "votes", or another method or its name
        What gamma pulls an object to: the mean of its votes, or the class probabilities that
        another method finds, such as DawidSkene(). The clusterings then refine that method's
        answer.
    known_weight : float
        How hard a known label pulls its object, in units of alpha + beta + gamma + delta; infinity
        keeps it fixed.
    reweight_rounds : int
        The most times weights are learned anew from the consensus ("agreement").
    solver : "auto", "cg", "direct" or "bcd"
        "direct" solves a small dense system over groups; "cg" uses conjugate gradients over
        objects; "auto" chooses the cheaper one. "bcd" is the paper's loop from a random start
        (block coordinate descent).
    tol : float or None
        When a solver stops: for "cg" the relative residual (None: 1e-12), for "bcd" the paper's
        epsilon, the Frobenius norm of the change of F^o (None: 0.025).
    max_iter : int
        The most rounds of "cg" and "bcd".
    random_state : int, Generator or None
        Seeds the start of "bcd"; the other solvers are deterministic.

    Examples
    --------
    >>> from ec3learn import EC3, Votes
    >>> said = {"svm": ["a", "b", "b"], "knn": ["a", "a", "b"]}
    >>> votes = Votes.from_labels(said, {"kmeans": [0, 0, 1]})
    >>> consensus = EC3().solve(votes)
    >>> consensus.labels()
    array(['a', 'a', 'b'], dtype=object)
    """

    title = "EC3"
    allowed: ClassVar = {
        **dict.fromkeys(("alpha", "beta", "gamma", "delta"), NOT_NEGATIVE),
        "balanced": require_bool,
        "known_weight": require_pull,
        "reweight_rounds": COUNT,
        "solver": one_of("auto", "bcd", "cg", "direct"),
        "tol": POSITIVE,
        "max_iter": AT_LEAST_ONE,
        "random_state": require_seed,
    }
    admits_prior = True

    alpha: float = 0.25
    beta: float = 0.35
    gamma: float = 0.35
    delta: float = 0.05
    balanced: bool = True
    weights: ModelWeights = "equal"
    towards: str | Method = "votes"
    known_weight: float = np.inf
    reweight_rounds: int = 10
    solver: Solver = "auto"
    tol: float | None = None
    max_iter: int = 1000
    random_state: Any = None

    def _answer(self, votes: Votes, known: KnownLabels | None) -> Answer:
        start = first_weights(self.weights, votes, known)
        if known is None:
            require_votes(votes, start)
        targets = self._targets(replace(votes, weights=frozen(votes.weights * start)), known)
        return self.answer_towards(targets, votes, known, start)

    def answer_towards(
        self,
        targets: Answer | None,
        votes: Votes,
        known: KnownLabels | None = None,
        start: Array | None = None,
    ) -> Answer:
        """The answer in which objects are pulled to these targets; without any, to their votes."""
        groups = membership(votes)
        learned, (problem, minimum) = self._learn(targets, votes, groups, known, start)
        return Answer(
            minimum.object_proba,
            problem.unanswered,
            rule=None if targets is not None and targets.rule is None else problem.rule(minimum),
            group_table=(groups.order, _of_all_groups(problem, minimum)),
            weights=votes.weights * learned.weights,
            objective=float(problem.terms(minimum).sum()),
            n_iter=minimum.n_iter,
            converged=minimum.converged,
            history=minimum.history,
            notes=(*learned.notes, *(() if targets is None else targets.notes)),
            worse_than_chance=learned.worse_than_chance,
        )

    def parts(self, votes: Votes) -> Parts:
        """What the paper's symbols stand for, object by object: F^o, F^g, Y^o, Y^g, K^m, K^c, P.

        Examples
        --------
        >>> from ec3learn import EC3, Votes
        >>> votes = Votes.from_labels({"svm": [0, 1, 1], "knn": [0, 0, 1]}, {"kmeans": [0, 0, 1]})
        >>> parts = EC3().parts(votes)
        >>> len(parts.groups), parts.group_proba.shape
        (6, (6, 2))
        """
        self._check()
        votes = by_object(self._readable(votes)[0])
        votes = votes if votes.prior is None else trusting_votes(votes, None)
        start = first_weights(self.weights, votes, None)
        require_votes(votes, start)
        targets = self._targets(replace(votes, weights=frozen(votes.weights * start)), None)
        _, found = self._learn(targets, votes, membership(votes), None, start)
        return parts_of(votes, *found)

    def _learn(
        self,
        targets: Answer | None,
        votes: Votes,
        groups: Membership,
        known: KnownLabels | None,
        start: Array | None,
    ) -> tuple[Learned, tuple[Problem, Minimum]]:
        """The weights of the models, and the problem solved with them."""

        def solve(model_weights: Array) -> tuple[Array, tuple[Problem, Minimum]]:
            problem, minimum = self._minimise(votes, groups, model_weights, known, targets)
            return minimum.object_proba, (problem, minimum)

        start = np.ones(len(votes.models)) if start is None else start
        rounds = self.reweight_rounds
        return learn_weights(self.weights, votes, groups, start, known, rounds, solve)

    def _targets(self, votes: Votes, known: KnownLabels | None) -> Answer | None:
        """What pulls objects in place of their votes, if anything."""
        if isinstance(self.towards, str) and self.towards == "votes":
            if votes.prior is None:
                return None
            return Answer(*mean_votes(votes, membership(votes), votes.weights, None))
        other = method_of(self.towards, "towards", ("votes",))
        if known is not None:
            known = KnownLabels(known.codes, other._known_pull()) if other.admits_known else None
        answer = other.answer(votes, known)
        if not answer.converged:
            warnings.warn(other._not_converged(), ConvergenceWarning, stacklevel=5)
        return answer

    def _title(self, known: KnownLabels | None) -> str:
        name = "iEC3" if self.balanced else "EC3"
        if isinstance(self.towards, str) and self.towards == "votes":
            return name
        return f"{name} towards {method_of(self.towards, 'towards')._title(known)}"

    def _known_pull(self) -> float:
        return 2 * self.known_weight * sum(self._setting())

    def _setting(self) -> Setting:
        return self.alpha, self.beta, self.gamma, self.delta

    # ---- one minimisation ------------------------------------------------------------------------

    def _minimise(
        self,
        votes: Votes,
        groups: Membership,
        model_weights: Array,
        known: KnownLabels | None,
        targets: Answer | None,
    ) -> tuple[Problem, Minimum]:
        setting, weights = self._setting(), votes.weights * model_weights
        problem = Problem(votes, groups, weights, setting, bool(self.balanced), known, targets)
        solver = self._solver(problem, votes)
        if solver == "direct":
            minimum = direct(problem)
        elif solver == "cg":
            minimum = conjugate_gradients(problem, self._tolerance(), self.max_iter)
        else:
            start = np.random.default_rng(self.random_state).dirichlet(
                np.ones(votes.n_classes), votes.n_rows
            )
            minimum = block_descent(problem, self._tolerance(), self.max_iter, start)
        proba = np.maximum(minimum.object_proba, 0.0, out=minimum.object_proba)
        proba[problem.unanswered] = problem.mean_target
        if not problem.is_scaled:  # of which there is a warning
            minimum.object_proba = normalised(proba)
        return problem, minimum

    def _solver(self, problem: Problem, votes: Votes) -> str:
        """The solver asked for, or the one that is estimated to be faster."""
        n_live = len(problem.live)
        if self.solver == "direct":
            require_few_groups(n_live)
        if self.solver != "auto":
            return self.solver
        cost = ROUNDS_WORTH * votes.n_rows * len(votes.models) * (problem.n_classes - 1)
        few = votes.stores.sparse is None or votes.stores.soft
        return "direct" if few and n_live**3 <= cost else "cg"

    def _tolerance(self) -> float:
        return (0.025 if self.solver == "bcd" else 1e-12) if self.tol is None else self.tol

    # ---- checks ----------------------------------------------------------------------------------

    def _check(self) -> None:
        super()._check()
        for other, what in (("delta", "the consensus"), ("alpha", "the objects")):
            if self.gamma == 0 and getattr(self, other) == 0:
                came = f"0 and 0: nothing would tie {what} to the votes"
                raise InputError("gamma", f"and {arg(other)} must not both be 0", came=came)
        weights = [weight for weight in self._setting() if weight > 0]
        if max(weights) > FAR_APART * min(weights):
            allowed = f"must be 0 or at least {1 / FAR_APART:g} of the largest of them"
            came = f"{min(weights):.6g} beside {max(weights):.6g}"
            raise InputError("alpha, beta, gamma and delta", allowed, came=came)
        if not isinstance(self.towards, str) or self.towards != "votes":
            method_of(self.towards, "towards", ("votes",))._check()


def _of_all_groups(problem: Problem, minimum: Minimum) -> Array:
    """F^g of all groups: where nothing pulls a group, the mean of its members."""
    group_proba = np.zeros((problem.all_groups.n_groups, problem.n_classes))
    group_proba[problem.live] = np.maximum(minimum.group_proba, 0.0)
    idle = np.flatnonzero(~group_proba.any(axis=1))
    if len(idle):
        members = problem.all_groups.only(idle)
        means = normalised(*members.scatter_weighted([problem.counts], minimum.object_proba))
        group_proba[idle] = np.where(means.any(axis=1, keepdims=True), means, problem.mean_target)
    return group_proba
