"""BGCM: objects and groups are the two sides of a graph, and probabilities flow along its edges.

Over the class distributions of objects (U) and of groups (Q) it minimises

    f = sum_ij a_ij |u_i - q_j|^2 + alpha sum_j k_j |q_j - y_j|^2 + beta sum_i h_i |u_i - f_i|^2

where k_j is 1 for the groups of classifiers, with class y_j, and h_i is 1 for objects with a known
label f_i (BGCM-L). Given Q each u_i is a weighted mean; putting that in leaves one positive
definite system over groups, which is solved exactly.

The published loop goes back and forth between U and Q from a random start. A round shrinks its
slowest error only by a factor of about 1 - alpha r c / (n M), for n objects, M models, r
classifiers among them, and c classes. So the rounds it needs grow like n, and its stopping rule
fires long before: beyond a few hundred objects it returns noise. `solver="loop"` is that loop.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy import linalg, sparse

from .._checks import require_bool, require_choice, require_integer, require_number, require_seed
from .._typing import Array
from ..algebra.linear import (
    FAR_APART,
    MOST_ELIMINATED,
    conjugate_gradients,
    solve_by_elimination,
    spread_of,
    squared_norms,
)
from ..algebra.membership import Membership, Table, membership, reached_groups
from ..answer.rule import GROUPS, GroupRule, KnownLabels, Term, mean_votes, one_hot, weight_scale
from ..votes import Votes
from ..votes.layout import frozen
from .base import Answer, Method, require_few_groups, require_pull

SOLVERS = ("auto", "cg", "direct", "loop")


@dataclass(eq=False, repr=False)
class BGCM(Method):
    """Combine classifiers and clusterings by BGCM (bipartite graph-based consensus maximisation), exactly.

    Parameters
    ----------
    alpha : float
        How hard a classifier's group is pulled to its class.
    beta : float
        How hard a known label pulls its object (BGCM-L); infinity keeps it fixed.
    normalize : bool
        Divide each group's edges by its size first, so that small groups count as much as large
        ones. This is a different objective: its probabilities are spread out, whereas the plain
        ones approach 1 / number of classes as objects get more.
    solver : "auto", "direct", "cg" or "loop"
        "direct" factors the system over groups, "cg" uses conjugate gradients, "auto" the first up
        to 3,000 groups. "loop" is the published loop from a random start, with its stopping rule:
        it fails beyond a few hundred objects.
    tol : float or None
        When to stop: for "cg" the relative residual (None: 1e-12), for "loop" the largest change in
        U (None: 1e-3).
    max_iter : int
        The most rounds of "cg" and "loop".
    random_state : int, Generator or None
        Seeds the start of "loop".

    Examples
    --------
    >>> from ec3learn import BGCM, Votes
    >>> votes = Votes.from_labels({"svm": ["a", "b", "b"], "knn": ["a", "a", "b"]}, {"kmeans": [0, 0, 1]})
    >>> BGCM().solve(votes).labels()
    array(['a', 'a', 'b'], dtype=object)
    """

    title = "BGCM"

    alpha: float = 2.0
    beta: float = 8.0
    normalize: bool = False
    solver: Literal["auto", "cg", "direct", "loop"] = "auto"
    tol: float | None = None
    max_iter: int = 1000
    random_state: Any = None

    def _check(self) -> None:
        require_number("alpha", self.alpha, above=0)
        require_pull("beta", self.beta)
        require_bool("normalize", self.normalize)
        require_choice("solver", self.solver, SOLVERS)
        if self.tol is not None:
            require_number("tol", self.tol, above=0)
        require_integer("max_iter", self.max_iter, 1)
        require_seed("random_state", self.random_state)

    def _known_pull(self) -> float:
        return self.beta

    def _title(self, known: KnownLabels | None) -> str:
        return self.title if known is None else "BGCM-L"

    def _tolerance(self) -> float:
        return (1e-3 if self.solver == "loop" else 1e-12) if self.tol is None else self.tol

    def _answer(self, votes: Votes, known: KnownLabels | None) -> Answer:
        groups = membership(votes)
        scale = weight_scale(votes.weights)
        votes = replace(votes, weights=frozen(votes.weights / scale))
        scaled = None if known is None else KnownLabels(known.codes, known.pull / scale)
        graph = Graph.of(votes, groups, scaled, float(self.alpha), bool(self.normalize))
        solver = self._solver(graph)
        n_iter, converged = 0, True
        history: list[float] = []
        if solver == "direct":
            group_proba = graph.solve_directly()
        elif solver == "cg":
            group_proba, n_iter, converged = graph.solve_by_conjugate_gradients(
                self._tolerance(), self.max_iter
            )
        else:
            start = np.random.default_rng(self.random_state).dirichlet(
                np.ones(votes.n_classes), votes.n_rows
            )
            group_proba, history, converged = graph.run_loop(
                start, self._tolerance(), self.max_iter
            )
            n_iter = len(history)
        _, _, votes_alone = mean_votes(votes, groups, votes.weights, known)
        rule = graph.rule(votes, group_proba, votes_alone.fallback, scale)
        proba, unanswered = rule.all_answers(groups, known)
        live = np.flatnonzero(graph.live)
        return Answer(
            proba,
            unanswered,
            rule,
            group_table=(groups.order[live], group_proba[live]),
            weights=votes.weights * scale,
            objective=scale
            * graph.objective(np.where(unanswered[:, None], 0.0, proba), group_proba),
            n_iter=n_iter,
            converged=converged,
            history=[scale * value for value in history],
        )

    def _solver(self, graph: Graph) -> str:
        if self.solver == "direct":
            require_few_groups(int(graph.live.sum()))
        if self.solver != "auto":
            return self.solver
        return "direct" if np.isfinite(graph.groups.gram_cost) else "cg"


@dataclass(eq=False)
class Graph:
    """The edges a_ij v_j between rows and groups, and the labels on either side.

    `weight` is v_j, the weight of a group's edges: that of its model, divided by its size if groups
    are normalised. `label_pull` is alpha k_j, likewise weighted, and `label` is y_j. Groups that no
    vote reaches are not `live` and have no weight.
    """

    groups: Membership
    counts: Array
    weight: Array
    label_pull: Array
    label: Array
    live: Array
    known: KnownLabels | None

    @classmethod
    def of(
        cls,
        votes: Votes,
        groups: Membership,
        known: KnownLabels | None,
        alpha: float,
        normalize: bool,
    ) -> Graph:
        """Return the graph of some votes."""
        weight = votes.weights[votes.models.group_model[groups.order]]
        group_class = votes.models.group_class[groups.order]
        sizes = groups.scatter(votes.counts)
        live = (sizes > 0) & (weight > 0)
        labelled = np.zeros(votes.n_rows, dtype=bool) if known is None else known.labelled
        if (live & (group_class < 0)).any():
            live &= reached_groups(groups, votes.counts, live, live & (group_class >= 0), labelled)
        pull = np.where(live & (group_class >= 0), alpha * weight, 0.0)
        label = np.zeros((groups.n_groups, votes.n_classes))
        voting = np.flatnonzero(pull > 0)
        label[voting, group_class[voting]] = 1
        edge = np.where(live, weight / np.where(normalize & live, sizes, 1.0), 0.0)
        return cls(groups, votes.counts, edge, pull, label, live, known)

    @cached_property
    def diagonal(self) -> Array:
        """Return Dv + alpha K, 1 for groups that take no part."""
        return np.where(
            self.live, self.weight * self.groups.scatter(self.counts) + self.label_pull, 1.0
        )

    @cached_property
    def share(self) -> Array:
        """Return 1 / (Dn + beta H): 0 for rows that are fixed, or have no edge and no label."""
        total = self.groups.gather(self.weight)
        if self.known is not None:
            total[self.known.labelled] += self.known.pull
        return np.divide(
            1.0, total, out=np.zeros_like(total), where=(total > 0) & np.isfinite(total)
        )

    @cached_property
    def labels_of_objects(self) -> Array | None:
        """Return what known labels give to U, whatever Q is."""
        if self.known is None:
            return None
        pull = 1.0 if self.known.fixed else self.known.pull * self.share
        return np.reshape(pull, (-1, 1)) * self.known.one_hot(self.label.shape[1])

    # ---- one side, given the other ---------------------------------------------------------------

    def update_objects(self, group_proba: Array) -> Array:
        """Return the best U given Q, rows of zeros where a row has no edge."""
        means = self.share[:, None] * self.groups.gather(self.weight[:, None] * group_proba)
        return means if self.labels_of_objects is None else means + self.labels_of_objects

    def update_groups(self, object_proba: Array) -> Array:
        """Return the best Q given U, rows of zeros for groups that take no part."""
        sums = self.weight[:, None] * self.groups.scatter(self.counts[:, None] * object_proba)
        return (sums + self.label_pull[:, None] * self.label) / self.diagonal[:, None]

    # ---- the system over groups ------------------------------------------------------------------

    def right(self) -> Array:
        """Return the right-hand side: the classes of groups, and the known labels of their members."""
        right = self.label_pull[:, None] * self.label
        if self.labels_of_objects is not None:
            right += self.weight[:, None] * self.groups.scatter(
                self.counts[:, None] * self.labels_of_objects
            )
        return right

    def solve_directly(self) -> Array:
        """Return Q by a dense Cholesky factorisation over the groups that take part."""
        live = np.flatnonzero(self.live)
        (gram,), _ = self.groups.grams([(self.counts, self.share)], 1, live)
        couplings = self.weight[live, None] * gram[np.ix_(live, live)] * self.weight[live]
        group_proba = np.zeros_like(self.label)
        if not len(live):
            return group_proba
        right, diagonal = self.right()[live], self.diagonal[live]
        far = (
            max(spread_of(diagonal), float(diagonal.max() / max(right.sum(axis=1).max(), 1e-300)))
            >= FAR_APART
        )
        if far and len(live) <= MOST_ELIMINATED:
            group_proba[live] = solve_by_elimination(np.maximum(couplings, 0.0), right)
        else:
            group_proba[live] = linalg.solve(np.diag(diagonal) - couplings, right, assume_a="pos")
        return np.maximum(group_proba, 0.0)

    def solve_by_conjugate_gradients(self, tol: float, max_iter: int) -> tuple[Array, int, bool]:
        """Return Q, found one class at a time, the most rounds a class took, and whether all converged."""

        def apply(column: Array) -> Array:
            through_rows = self.groups.gather(self.weight * column)
            return self.diagonal * column - self.weight * self.groups.scatter(
                self.counts * self.share * through_rows
            )

        group_proba, n_iter, converged = np.zeros_like(self.label), 0, True
        for z, right in enumerate(self.right().T):
            group_proba[:, z], rounds, done = conjugate_gradients(
                apply, self.diagonal, right, tol, max_iter
            )
            n_iter, converged = max(n_iter, rounds), converged and done
        return np.maximum(group_proba, 0.0), n_iter, converged

    def run_loop(
        self, object_proba: Array, tol: float, max_iter: int
    ) -> tuple[Array, list[float], bool]:
        """Return Q where the published loop stops, the objective after each round, and whether it reached the tolerance."""
        history: list[float] = []
        group_proba = self.update_groups(object_proba)
        for _ in range(max_iter):
            moved = self.update_objects(group_proba)
            history.append(self.objective(moved, group_proba))
            change = float(np.abs(moved - object_proba).max(initial=0.0))
            object_proba = moved
            if change <= tol:
                return group_proba, history, True
            group_proba = self.update_groups(object_proba)
        return group_proba, history, False

    # ---- the answer ------------------------------------------------------------------------------

    def objective(self, object_proba: Array, group_proba: Array) -> float:
        """Return f, its squares multiplied out."""
        of_groups, of_labels = squared_norms(group_proba), squared_norms(group_proba - self.label)
        sizes = self.groups.scatter(self.counts)
        crossed = self.groups.scatter(self.counts[:, None] * object_proba)
        total = float((self.counts * self.groups.gather(self.weight)) @ squared_norms(object_proba))
        total += float(
            self.weight @ (sizes * of_groups - 2 * np.einsum("jz,jz->j", crossed, group_proba))
        )
        total += float(self.label_pull @ of_labels)
        if self.known is not None and not self.known.fixed:
            apart = squared_norms(object_proba - self.known.one_hot(self.label.shape[1]))
            total += self.known.pull * float((self.counts * self.known.labelled) @ apart)
        return max(total, 0.0)

    def rule(self, votes: Votes, group_proba: Array, fallback: Array, scale: float) -> GroupRule:
        """Return how an object's answer follows from its groups; its weights are `scale` times those here."""
        live = np.flatnonzero(self.live)
        order = self.groups.order[live]
        empty = np.setdiff1d(
            np.flatnonzero(
                (votes.models.group_class >= 0) & (votes.weights > 0)[votes.models.group_model]
            ),
            order,
        )
        groups = np.concatenate(
            [order, empty]
        )  # an empty group of a classifier is its class, for votes to come
        weight = scale * np.concatenate(
            [self.weight[live], votes.weights[votes.models.group_model[empty]]]
        )
        proba: Table = group_proba[live]
        if len(empty):
            proba = sparse.csr_array(
                sparse.vstack([proba, one_hot(votes.models.group_class[empty], votes.n_classes)])
            )
        return GroupRule((Term(GROUPS, 1.0, groups, weight, proba, by_total=True),), fallback)
