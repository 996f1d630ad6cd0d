"""EC3 and iEC3: an object agrees with its groups, with the objects it shares them with, and with its votes.

The class probabilities of objects (F^o) and of groups (F^g) minimise the convex function P of `ec3learn.problem`, exactly. EC3
lets every group count by its size; iEC3 (`balanced=True`) divides by the size first, so that small groups and rare classes are
heard.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from ..coding import known_codes
from ..consensus import Consensus, agreement, silent_notes
from ..matrices import JointMembership, SparseMembership, membership, scatter_to_votes
from ..problem import Problem, Solution, Weights
from ..rules import KnownLabels, top_classes
from ..solvers import block_descent, conjugate_gradients, direct
from ..stores import frozen
from ..votes import Votes, non_negative

Array = npt.NDArray[Any]
Solver = Literal["auto", "cg", "direct", "bcd"]

SOLVERS = ("auto", "bcd", "cg", "direct")
LEARNED = ("agreement", "equal", "labels")
MOST_DIRECT_GROUPS = 10_000


class EC3(BaseEstimator):  # type: ignore[misc]
    """Combine classifiers and clusterings by EC3 or iEC3.

    Only the ratios of alpha, beta, gamma and delta matter.

    Parameters
    ----------
    alpha : float
        Pulls an object and its groups together.
    beta : float
        Pulls objects together that share groups.
    gamma : float
        Pulls an object to the mean of its votes.
    delta : float
        Pulls a group to the mean vote on its members.
    balanced : bool
        True is iEC3: small groups count as much as large ones. False is EC3.
    weights : "equal", "agreement", "labels", or one number a classifier (sequence, or dict of name -> number)
        How much each classifier counts, times the weight it has in the votes. "agreement" learns it without labels: from how
        often each classifier agrees with the consensus. "labels" learns it from the known labels. A classifier worse than
        chance gets 0 and is named in the result.
    known_weight : float
        How hard a known label pulls its object, in units of alpha + beta + gamma + delta; infinite holds it fixed.
    reweight_rounds : int
        How often at most weights are learned anew from the consensus ("agreement").
    solver : "auto", "cg", "direct" or "bcd"
        "direct" solves a small dense system over groups; "cg" takes conjugate gradients over objects; "auto" takes the
        cheaper one. "bcd" is the paper's loop from a random start.
    tol : float or None
        When a solver stops: for "cg" the relative residual (None: 1e-12), for "bcd" the paper's epsilon, the Frobenius norm of
        the change of F^o (None: 0.025).
    max_iter : int
        How many rounds "cg" and "bcd" may take.
    random_state : int, Generator or None
        Seeds the start of "bcd"; the other solvers have no randomness.

    Examples
    --------
    >>> from ec3learn import EC3, Votes
    >>> votes = Votes.from_labels({"svm": ["a", "b", "b"], "knn": ["a", "a", "b"]}, {"kmeans": [0, 0, 1]})
    >>> consensus = EC3().solve(votes)
    >>> consensus.labels()
    array(['a', 'a', 'b'], dtype=object)
    """

    def __init__(
        self,
        alpha: float = 0.25,
        beta: float = 0.35,
        gamma: float = 0.35,
        delta: float = 0.05,
        balanced: bool = True,
        weights: Literal["equal", "agreement", "labels"] | Sequence[float] | Mapping[str, float] | Array = "equal",
        known_weight: float = np.inf,
        reweight_rounds: int = 10,
        solver: Solver = "auto",
        tol: float | None = None,
        max_iter: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
        self.delta = delta
        self.balanced = balanced
        self.weights = weights
        self.known_weight = known_weight
        self.reweight_rounds = reweight_rounds
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def solve(self, votes: Votes, known: Any = None) -> Consensus:
        """Combine the votes.

        Parameters
        ----------
        votes : Votes
            What the base models said.
        known : array with missing values, dict of object -> label, or pair (objects, labels)
            Labels of a few objects.

        Returns
        -------
        Consensus
        """
        self._check()
        if not isinstance(votes, Votes):
            raise TypeError(f"votes must be a Votes, got {type(votes).__name__}. Make one with Votes.from_labels.")
        votes, labels = self._split_known(votes, known)
        start = self._first_weights(votes, labels)
        if labels is None:
            _require_votes(votes, start)
        learned, problem, solution = self._learn(votes, start, labels)
        _fill_idle_groups(problem, solution)
        if not solution.converged:
            warnings.warn(
                f"EC3 stopped at max_iter={self.max_iter} before reaching tol={self._tolerance()}. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return Consensus(
            classes=votes.classes,
            models=votes.models,
            rule=problem.rule(solution.group_proba, solution.companions, last_use=True),
            weights=frozen(votes.weights * learned.weights),
            group_table=(problem.groups.order, solution.group_proba),
            settings={"method": "iEC3" if self.balanced else "EC3", **_plain_parameters(self.get_params())},
            votes=votes,
            row_proba=frozen(solution.object_proba),
            index=votes.index,
            object_ids=votes.object_ids,
            known=labels,
            silent=frozen(solution.silent),
            objective=solution.objective,
            n_iter=solution.n_iter,
            converged=solution.converged,
            history=solution.history,
            notes=(*learned.notes, *silent_notes(solution.silent, votes)),
            worse_than_chance=learned.worse_than_chance,
        )

    def _split_known(self, votes: Votes, known: Any) -> tuple[Votes, KnownLabels | None]:
        """Return the votes with rows of their own for objects whose labels are known, and these labels."""
        if known is None:
            return votes, None
        codes = known_codes(known, votes.classes, votes.n_objects, votes.object_ids)
        if not (codes >= 0).any():
            return votes, None
        votes, row_codes = votes.split_by(codes)
        pull = 2 * self.known_weight * (self.alpha + self.beta + self.gamma + self.delta)
        return votes, KnownLabels(row_codes, pull)

    def _learn(self, votes: Votes, start: Array, known: KnownLabels | None) -> tuple[Learned, Problem, Solution]:
        """Minimise with the weights asked for; weights from agreement are learned and used again until they settle."""
        groups = membership(votes)
        asked = self.weights if isinstance(self.weights, str) else "given"
        learned = Learned(start)
        if asked == "labels":
            learned = _learned_weights(votes, start, *_agreement_with_known(votes, known))
        problem, solution = self._minimise(votes, groups, learned.weights, known)
        for _ in range(self.reweight_rounds if asked == "agreement" else 0):
            updated = _learned_weights(votes, start, *_agreement_with_consensus(votes, groups, solution))
            if np.allclose(updated.weights, learned.weights, rtol=1e-3, atol=1e-3):
                return replace(updated, weights=learned.weights), problem, solution
            learned = updated
            problem, solution = self._minimise(votes, groups, learned.weights, known)
        return learned, problem, solution

    # ---- one minimisation --------------------------------------------------------------------------------------------

    def _minimise(
        self, votes: Votes, groups: JointMembership | SparseMembership, model_weights: Array, known: KnownLabels | None
    ) -> tuple[Problem, Solution]:
        weights = Weights(float(self.alpha), float(self.beta), float(self.gamma), float(self.delta), bool(self.balanced))
        by_model = votes.weights * model_weights
        problem = Problem(groups, votes.counts, by_model, votes.group_model, votes.group_class, votes.n_classes, weights, known)
        solver = self._solver(votes, groups, problem)
        if solver == "direct":
            solution = direct(problem)
        elif solver == "cg":
            solution = conjugate_gradients(problem, self._tolerance(), self.max_iter)
        else:
            start = np.random.default_rng(self.random_state).dirichlet(np.ones(votes.n_classes), votes.n_rows)
            solution = block_descent(problem, self._tolerance(), self.max_iter, start)
        np.maximum(solution.object_proba, 0.0, out=solution.object_proba)  # rounding may leave -1e-17
        problem.forget("all_targets", "group_votes")
        return problem, solution

    def _solver(self, votes: Votes, groups: JointMembership | SparseMembership, problem: Problem) -> str:
        """Return the solver asked for, or the one that needs fewer operations."""
        n_live = int(problem.live.sum())
        if self.solver == "direct" and n_live > MOST_DIRECT_GROUPS:
            raise ValueError(
                f"solver='direct' needs a dense matrix over groups, at most {MOST_DIRECT_GROUPS:,} of them, got {n_live:,}. "
                "Take solver='cg' or 'auto'."
            )
        if self.solver != "auto":
            return self.solver
        if isinstance(groups, SparseMembership):
            return "cg"
        # In nanoseconds, as measured: counting pairs of groups and factoring, against about eight rounds a class.
        counting = 15.0 * votes.n_rows * groups.n_columns**2
        factoring = (2.0 * n_live) ** 3 / 60
        rounds = 40.0 * votes.n_rows * groups.n_columns * (votes.n_classes - 1)
        return "direct" if counting + factoring < rounds + 1e7 else "cg"

    def _tolerance(self) -> float:
        return (0.025 if self.solver == "bcd" else 1e-12) if self.tol is None else self.tol

    # ---- weights and checks ------------------------------------------------------------------------------------------

    def _first_weights(self, votes: Votes, known: KnownLabels | None) -> Array:
        """Return one weight a base model before any is learned; clusterings have 1."""
        weights = np.ones(len(votes.models))
        if isinstance(self.weights, str):
            if self.weights not in LEARNED:
                raise ValueError(
                    f"Unknown weights {self.weights!r}. Choose from: {', '.join(LEARNED)}, or pass one number a classifier."
                )
            if self.weights == "labels" and known is None:
                raise ValueError("weights='labels' needs known labels, got none. Pass known=, or take weights='agreement'.")
            return weights
        classifiers = [m for m, model in enumerate(votes.models) if model.kind == "classifier"]
        given = self.weights
        if isinstance(given, Mapping):
            names = [votes.models[m].name for m in classifiers]
            for name in given:
                if name not in names:
                    raise ValueError(f"weights names the unknown classifier {name!r}. Choose from: {', '.join(names)}.")
            given = [given.get(name, 1.0) for name in names]
        weights[classifiers] = non_negative(given, "weights", len(classifiers), "classifiers")
        return weights

    def _check(self) -> None:
        for name in ("alpha", "beta", "gamma", "delta"):
            value = getattr(self, name)
            if not _is_number(value) or not 0 <= value < np.inf:
                raise ValueError(f"{name} must be a finite number of at least 0, got {value!r}.")
        if self.gamma == 0 and self.delta == 0:
            raise ValueError("gamma and delta must not both be 0, got 0 and 0: nothing would tie the consensus to the votes.")
        if self.gamma == 0 and self.alpha == 0:
            raise ValueError("gamma and alpha must not both be 0, got 0 and 0: nothing would tie the objects to the votes.")
        if not _is_number(self.known_weight) or not self.known_weight > 0:
            raise ValueError(
                f"known_weight must be above 0, got {self.known_weight!r}. Use numpy.inf to hold known labels fixed."
            )
        if self.solver not in SOLVERS:
            raise ValueError(f"Unknown solver {self.solver!r}. Choose from: {', '.join(SOLVERS)}.")
        if self.tol is not None and (not _is_number(self.tol) or not self.tol > 0):
            raise ValueError(f"tol must be a number above 0, got {self.tol!r}.")
        for name, least in (("max_iter", 1), ("reweight_rounds", 0)):
            value = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
                raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}.")


def _require_votes(votes: Votes, model_weights: Array) -> None:
    counted = votes if votes.sample_weight is None else votes.only_rows(np.flatnonzero(votes.counts > 0))
    classifier = np.array([model.kind == "classifier" for model in votes.models])
    if not (counted.n_votes * votes.weights * model_weights)[classifier].any():
        raise ValueError("votes must hold at least one class vote whose classifier and object have a weight above 0, got none.")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


# ---- learned weights -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Learned:
    """Weights of base models, and what there is to say about how they were learned."""

    weights: Array
    notes: tuple[str, ...] = ()
    worse_than_chance: tuple[str, ...] = ()


def _agreement_with_consensus(
    votes: Votes, groups: JointMembership | SparseMembership, solution: Solution
) -> tuple[Array, Array]:
    """Return for each base model the share of its votes that agree with the consensus, and how many votes there are."""
    proba = solution.object_proba
    return _agreement_with(votes, groups, top_classes(proba, votes.counts @ proba), votes.counts)


def _agreement_with_known(votes: Votes, known: KnownLabels | None) -> tuple[Array, Array]:
    """Return the same for the known labels."""
    assert known is not None
    rows = np.flatnonzero(known.codes >= 0)
    labelled = votes.only_rows(rows)
    return _agreement_with(labelled, membership(labelled), known.codes[rows], labelled.counts)


def _agreement_with(votes: Votes, groups: JointMembership | SparseMembership, codes: Array, counts: Array) -> tuple[Array, Array]:
    one_hot = np.zeros((votes.n_rows, votes.n_classes))
    one_hot[np.arange(votes.n_rows), codes] = counts
    contingency = scatter_to_votes(votes, groups, one_hot)
    n_votes = np.bincount(votes.group_model, weights=contingency.sum(axis=1), minlength=len(votes.models))
    shares = np.zeros(len(votes.models))
    for m, share in agreement(votes, codes, contingency, np.arange(votes.n_classes)).items():
        shares[m] = 0.0 if share is None else share
    return shares, n_votes


def _learned_weights(votes: Votes, start: Array, shares: Array, n_votes: Array) -> Learned:
    """Return log-odds of agreement over chance, with mean 1 over votes so that clusterings count as before.

    One vote's worth of chance is added to each classifier, so that a few votes in agreement don't make it infallible.
    """
    n_classes = votes.n_classes
    classifier = np.array([model.kind == "classifier" for model in votes.models])
    judged = classifier & (n_votes > 0)
    if n_classes < 2 or not judged.any():
        return Learned(start)
    smoothed = np.divide(shares * n_votes + 1 / n_classes, n_votes + 1)
    odds = np.log(np.maximum((n_classes - 1) * smoothed, 1e-300) / (1 - smoothed))
    gained = np.maximum(odds, 0.0)
    if not gained[judged].any():
        return Learned(start, ("No classifier is better than chance, so all were weighted equally.",))
    worse = tuple(votes.models[m].name for m in np.flatnonzero(judged & (odds < -1e-12)))
    more = f" and {len(worse) - 10} more" if len(worse) > 10 else ""
    notes = (f"Worse than chance and left out: {', '.join(worse[:10])}{more}.",) if worse else ()
    weights = start.copy()
    weights[judged] = gained[judged] * n_votes[judged].sum() / (n_votes[judged] @ gained[judged])
    return Learned(weights, notes, worse)


def _fill_idle_groups(problem: Problem, solution: Solution) -> None:
    """Give groups that nothing pulls (no weight, or no vote and alpha 0) the mean of their members for F^g."""
    np.maximum(solution.group_proba, 0.0, out=solution.group_proba)
    idle = np.flatnonzero(~problem.live | (solution.group_proba.sum(axis=1) < 0.5))
    if len(idle):
        members = np.hstack([problem.counts[:, None], problem.counts[:, None] * solution.object_proba])
        sums = problem.groups.scatter(members)[idle]
        empty = sums[:, :1] <= 0
        solution.group_proba[idle] = np.where(empty, problem.mean_target, sums[:, 1:] / np.where(empty, 1.0, sums[:, :1]))


def _plain_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for name, value in parameters.items():
        if isinstance(value, np.ndarray):
            value = value.tolist()
        if isinstance(value, Mapping):
            value = {str(key): float(number) for key, number in value.items()}
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, float) and np.isinf(value):
            value = "inf"  # JSON has no infinity
        plain[name] = value if value is None or isinstance(value, (str, bool, int, float, list, dict)) else str(value)
    return plain
